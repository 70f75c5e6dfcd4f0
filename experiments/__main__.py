"""Every table and figure of the five papers, re-run.

python -m experiments list                            what there is, and how much of it has results
python -m experiments run NAME... [--quick]           run what has no result yet; NAME may be "all"
python -m experiments claims [NAME...]                which claims hold, as Markdown
python -m experiments report                          build/report/index.html and the figures

An interrupted run goes on where it stopped. --quick is small and keeps its results in build/quick.
"""

import argparse
import sys
from pathlib import Path

from . import _run, _store
from ._declare import HERE, RESULTS, load, names
from ._screen import Screen

BUILD = HERE.parent / "build"


def main(argv=None):
    """Do what the command line says; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "command", nargs="?", default="list", choices=["list", "run", "claims", "report"]
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="experiments; all of them is 'all'")
    parser.add_argument("--quick", action="store_true", help="small sizes, few draws")
    parser.add_argument("--jobs", type=int, default=1, help="cells at a time")
    parser.add_argument("--results", type=Path, help="folder of the results")
    parser.add_argument("--output", type=Path, help="folder of the report, build/report by default")
    options = parser.parse_args(argv)

    there = names()
    unknown = sorted(set(options.names) - {*there, "all"})
    if unknown:
        parser.error(f"no such experiment: {', '.join(unknown)}; there are {', '.join(there)}")
    if options.command == "run" and not options.names:
        parser.error("run needs the name of an experiment, or all")
    if options.jobs < 1:
        parser.error("--jobs must be at least 1")
    chosen = there if "all" in options.names or not options.names else list(dict.fromkeys(options.names))
    folder = options.results or (BUILD / "quick" if options.quick else RESULTS)
    screen = Screen()

    if options.command == "list":
        for name in chosen:
            experiment = load(name)
            keys = {cell.key for cell in experiment.cells(options.quick)}
            done = len(keys & _store.finished(_store.read(folder / f"{name}.csv")))
            screen.line(f"{name:<22} {done:>5} of {len(keys):>5} cells  {experiment.TITLE}")
        return 0
    if options.command == "run":
        settings = {"quick": options.quick, "jobs": options.jobs, "folder": folder, "report": screen}
        try:
            failed = sum(_run.run(name, **settings) for name in chosen)
        except KeyboardInterrupt:
            screen.line("Interrupted; what is finished is kept: the same command goes on from here.")
            return 130
        return 1 if failed else 0
    from . import _report

    if options.command == "claims":
        papers = _report.gather_all(chosen, folder, quick=options.quick)
        screen.line(_report.summary_markdown(papers))
        for paper in papers:
            screen.line(f"\n{paper['title']}\n\n{_report.claims_markdown(paper)}")
        return 0
    output = options.output or BUILD / "report"
    for line in _report.write(chosen, folder, output, quick=options.quick):
        screen.line(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
