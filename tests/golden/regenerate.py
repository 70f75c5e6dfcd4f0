"""Make entries anew: ``PYTHONPATH=tests python -m golden.regenerate [--stability] [NAME ...]``."""

import argparse
import sys
import time

sys.modules["sparse"] = None  # dask looks for a package of that name, and would find tests/sparse

from golden.cases import CASES, run  # noqa: E402
from golden.store import apart, differences, read, write  # noqa: E402

SHAKE, FRAGILE = 1e-13, 1e-8


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="cases; all if there are none")
    parser.add_argument(
        "--stability", action="store_true", help="write nothing; say what rows that differ by 1e-13 move"
    )
    asked = parser.parse_args()
    unknown = set(asked.names) - CASES.keys()
    if unknown:
        parser.error(f"no case {', '.join(sorted(unknown))}")
    names = asked.names or list(CASES)
    if asked.stability:
        stability(names)
    else:
        regenerate(names)


def stability(names):
    """Print every quantity that moves by more than it should where rows move by rounding."""
    fragile = 0
    for name in names:
        still = run(name)
        worst = {}
        for phase in (1.0, 2.0):
            moved = run(name, shake=SHAKE, phase=phase)
            for kind, tolerance in (("exact", 0.0), ("near", FRAGILE)):
                for each in still[kind].keys() | moved[kind].keys():
                    a, b = still[kind].get(each), moved[kind].get(each)
                    by = apart(a, b) if kind == "near" and a and b else float(a != b)
                    if by > tolerance:
                        worst[each] = max(by, worst.get(each, 0.0))
        fragile += bool(worst)
        said = ", ".join(f"{each} {by:.0e}" for each, by in sorted(worst.items()))
        print(f"{name}: {'FRAGILE ' + said if worst else 'steady'}", flush=True)
    raise SystemExit(fragile > 0)


def regenerate(names):
    """Write the entries, and print what has changed."""
    entries = read()
    for name in names:
        began = time.perf_counter()
        now = run(name)
        seconds = time.perf_counter() - began
        found = differences(entries[name], now) if name in entries else ["new"]
        entries[name] = now
        print(f"{name} ({seconds:.2f} s): {'; '.join(found) or 'as before'}", flush=True)
    write({name: entry for name, entry in entries.items() if name in CASES})


if __name__ == "__main__":
    main()
