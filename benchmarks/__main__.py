"""Benchmarks of laconism beside its rivals.

python -m benchmarks list                     what there is
python -m benchmarks run ripley moons         some of it
python -m benchmarks all [--quick]            everything; --quick is small and goes to results/quick
python -m benchmarks table                    the ratios as a Markdown table, from the results
python -m benchmarks report                   the table of ratios and the pictures, from the results

Every cell runs in a process of its own with explicit thread limits.
"""

import argparse
import sys
from pathlib import Path

from . import _report, _runner
from ._harness import RESULTS, registry


def main(argv=None):
    argv = sys.argv[1:] if argv is None else argv
    if argv[:1] == ["_cell"]:
        _runner.child(*argv[1:])
        return 0
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = ["list", "run", "all", "table", "report"]
    parser.add_argument("command", nargs="?", default="list", choices=commands)
    parser.add_argument("names", nargs="*", help="benchmarks, for run, table and report")
    parser.add_argument("--quick", action="store_true", help="small sizes, one repeat")
    parser.add_argument(
        "--threads", type=int, choices=[1, 2], help="only the cells that use so many threads"
    )
    parser.add_argument("--only", metavar="TEXT", help="only the cells whose description has this text")
    parser.add_argument(
        "--missing", action="store_true", help="only the cells of which the results lack a row"
    )
    parser.add_argument("--limit", type=float, help="seconds a cell may take at the most")
    parser.add_argument("--results", type=Path, help="folder of the results")
    options = parser.parse_args(argv)

    benches = registry()
    unknown = sorted(set(options.names) - set(benches))
    if unknown:
        parser.error(f"no such benchmark: {', '.join(unknown)}; there are {', '.join(benches)}")
    if options.command == "run" and not options.names:
        parser.error("run needs the name of a benchmark")
    folder = options.results or (RESULTS / "quick" if options.quick else RESULTS)
    chosen = {name: benches[name] for name in options.names or benches}
    report = _report.Report()

    if options.command == "list":
        for name, bench in benches.items():
            cells = len(bench.cells(options.quick))
            report.line(f"{name:<12} {cells:>3} cells  {bench.__doc__.splitlines()[0]}")
        return 0
    if options.command == "table":
        print(_report.markdown(chosen, folder))
        return 0
    if options.command in ("run", "all"):
        for name, bench in chosen.items():
            cells = _runner.choose(name, bench, folder, options)
            _runner.run(name, bench, cells, folder=folder, report=report)
    report.line(_report.table(chosen, folder))
    for path in _report.pictures(chosen, folder):
        report.line(f"picture: {path.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
