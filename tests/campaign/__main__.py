"""Run the campaigns: ``PYTHONPATH=src:tests python -m campaign --minutes 30 --seed 1 [--only NAME]``."""

import argparse

from campaign.runner import SHARES, run


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--minutes", type=float, default=30.0, help="wall time of all campaigns together"
    )
    parser.add_argument("--seed", type=int, default=0, help="case k has the seed 1,000,000 * SEED + k")
    parser.add_argument("--only", choices=SHARES, action="append", help="may be repeated")
    asked = parser.parse_args()
    tallies = run(asked.only or list(SHARES), asked.seed, seconds=60 * asked.minutes)
    raise SystemExit(any(tally.failures for tally in tallies))


if __name__ == "__main__":
    main()
