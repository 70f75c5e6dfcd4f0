"""Progress on the terminal, the table of ratios, the pictures and the table in Markdown."""

import contextlib
import statistics

from ._harness import slope
from ._runner import read

HEAD = ("what", "measured", "required", "")
LABELS = {"seconds": "seconds", "beyond_mib": "MiB beyond the data", "cpu_seconds": "CPU seconds"}


class Report:
    """Progress by rich where it is there and somebody looks, in plain lines otherwise."""

    def __init__(self):
        try:
            from rich.console import Console
        except ImportError:
            self.console = None
        else:
            self.console = Console(highlight=False)

    def busy(self, text):
        """Return a context that shows what is being done."""
        if self.console is None or not self.console.is_terminal:
            return contextlib.nullcontext()
        return self.console.status(text)

    def line(self, text):
        """Write a line that stays."""
        if self.console is None:
            print(text, flush=True)
        else:
            self.console.print(text, markup=False, soft_wrap=True)


def bars_of(benches, folder):
    """Return the bars of every benchmark that has results, by name."""
    found = {name: read(folder / f"{name}.csv") for name in benches}
    return {name: benches[name].bars(rows) for name, rows in found.items() if rows}


def table(benches, folder):
    """Return the plain table of ratios."""
    lines = []
    for name, bars in bars_of(benches, folder).items():
        texts = [HEAD, *(bar.cells() for bar in bars)]
        widths = [max(len(row[k]) for row in texts) for k in range(4)]
        lines.append(f"\n{name}")
        for row in texts:
            cells = [row[0].ljust(widths[0]), row[1].rjust(widths[1]), row[2].ljust(widths[2]), row[3]]
            lines.append(("  " + "  ".join(cells)).rstrip())
        if hasattr(benches[name], "details"):
            lines += ["", benches[name].details(read(folder / f"{name}.csv"))]
    return "\n".join(lines)


def markdown(benches, folder):
    """Return the table in Markdown, from the results alone."""
    lines = ["| benchmark | what | measured | required | |", "|---|---|---|---|---|"]
    for name, bars in bars_of(benches, folder).items():
        lines += [f"| {name} | " + " | ".join(bar.cells()) + " |" for bar in bars]
    return "\n".join(lines)


def pictures(benches, folder):
    """Draw what benchmarks want drawn against n, with the fitted slope; return the files."""
    try:
        import matplotlib as mpl
    except ImportError:
        return []
    mpl.use("agg")
    import matplotlib.pyplot as plt

    written = []
    for name, bench in benches.items():
        rows = read(folder / f"{name}.csv")
        for stem, column, case in getattr(bench, "PICTURES", ()):
            lines = curves(rows.where(case=case), column)
            if not lines:
                continue
            crowded = len(lines) > 4  # the names of so many would lie upon them
            fig, ax = plt.subplots(figsize=(9 if crowded else 6, 4), layout="constrained")
            for label, (n, y) in lines.items():
                power, level = slope(n, y)
                (dots,) = ax.loglog(n, y, "o", label=f"{label}: slope {power:.2f}")
                fitted = [2.718281828459045**level * size**power for size in n]
                ax.loglog(n, fitted, "-", color=dots.get_color(), linewidth=1)
            # The sizes that were run, not the powers of ten and a crowd between them.
            sizes = sorted({size for n, _ in lines.values() for size in n})
            ax.set_xticks(sizes, [f"{size:,}" for size in sizes])
            ax.set_xticks([], minor=True)
            ax.set(xlabel="training rows", ylabel=LABELS.get(column, column), title=f"{name}: {case}")
            ax.grid(True, which="both", alpha=0.2)
            beside = {"loc": "center left", "bbox_to_anchor": (1, 0.5)} if crowded else {}
            ax.legend(frameon=False, **beside)
            path = folder / f"{name}_{stem}.png"
            fig.savefig(path, dpi=150)
            plt.close(fig)
            written.append(path)
    return written


def curves(rows, column):
    """Return n and medians of each method and thread count that was run at two sizes or more."""
    groups = {}
    for row in rows:
        if isinstance(row.get(column), int | float) and row[column] > 0:
            groups.setdefault((row["method"], row["threads"]), {}).setdefault(row["n"], []).append(
                row[column]
            )
    lines = {}
    for (method, threads), by_n in groups.items():
        if len(by_n) > 1:
            n = sorted(by_n)
            label = f"{method}, {threads} thread" + "s" * (threads > 1)
            lines[label] = n, [statistics.median(by_n[size]) for size in n]
    return lines
