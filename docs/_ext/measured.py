"""Tables that are made of the files of measurements at the moment the pages are built.

A page writes ``{measured} name`` and gets what the function of that name returns, as Markdown: those of
``tradeoffs.py``, and those below, which show whole folders. No measurement is typed into a page.
"""

import importlib.util
import re

import tradeoffs
from benchmarks import _report
from benchmarks._harness import registry
from benchmarks._runner import read
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective
from tradeoffs import BENCH, NOTHING, ROOT, markdown, number, source

EXPERIMENTS = ROOT / "experiments"

# The gallery in the order in which it is best read; what is not named here comes last.
LESSONS = [
    "sparse_regression",
    "ripley_boundary",
    "prior_shrinkage",
    "charge_for_search",
    "scale_invariance",
    "feature_selection",
    "digits_pixels",
    "projection_elbow",
    "shapes",
    "degree_of_sparsity",
    "calibration",
    "error_bars",
    "three_machines",
    "noisy_features",
    "grid_heatmap",
    "joint_features",
    "rows_and_kernels",
    "dask",
    "em_and_newton",
    "own_prior",
]


def lesson(filename):
    """Return the place of an example in the gallery."""
    name = filename.removeprefix("plot_").removesuffix(".py")
    return (LESSONS.index(name) if name in LESSONS else len(LESSONS), name)


def figure(path, caption):
    """Return a picture as Markdown; its path is seen from the folder of the pages."""
    place = f"../{path.relative_to(ROOT).as_posix()}"
    return f"```{{figure}} {place}\n:alt: {caption}\n:width: 520px\n\n{caption}\n```\n"


# ---- performance ---------------------------------------------------------------------------------


def bars():
    """Everything that is required of the speed, beside what was measured."""
    benches = registry()
    found = _report.bars_of(benches, BENCH)
    if not found:
        return "*There are no results yet: `make bench` makes them.*"
    asked = [bar for lines in found.values() for bar in lines if bar.bar is not None]
    reached = sum(bar.verdict == "pass" for bar in asked)
    parts = [f"{reached} of {len(asked)} requirements are reached; the others are shown as they are.\n"]
    for name, lines in found.items():
        table = markdown(("what", "measured", "required", "verdict"), [bar.cells() for bar in lines])
        about = benches[name].__doc__.splitlines()[0]
        parts.append(f"### {name}\n\n{about}\n\n{table}{source(read(BENCH / f'{name}.csv'), name)}")
    return "\n".join(parts)


def pictures():
    """The pictures that the benchmarks have drawn."""
    parts = []
    for path in sorted(BENCH.glob("*.png")):
        bench, what = path.stem.rsplit("_", 1)
        parts.append(figure(path, f"{bench}: {what} against the number of training rows"))
    return "\n".join(parts) or "*There are no pictures yet: `python -m benchmarks report` draws them.*"


def ablation():
    """What each candidate and rule of the flagship is worth, before and after rules were deleted."""
    from benchmarks import bench_ablation

    parts = []
    for title, file in (("Now", "ablation.csv"), ("Before", bench_ablation.BEFORE)):
        rows = read(BENCH / file)
        if rows:
            shown = [words(head, body) for head, body in bench_ablation.tables(rows) if body]
            parts.append(f"### {title}\n\n" + "\n".join(shown) + source(rows, file.removesuffix(".csv")))
    return "\n".join(parts) or tradeoffs.missing("ablation")


# ---- methods on sets -----------------------------------------------------------------------------


def regression():
    """Every method on every regression set, published numbers beside."""
    return _methods_on_sets("uci")


def classification():
    """Every method on every two-class set."""
    return _methods_on_sets("ida")


def thousands_of_rows():
    """Every method on two-class sets with thousands of rows."""
    return _methods_on_sets("rows")


def _methods_on_sets(name):
    """Return the tables that a benchmark prints, of what has been measured so far."""
    rows = read(BENCH / f"{name}.csv").where()
    if not rows:
        return tradeoffs.missing(name)
    return "\n\n".join(markdown(*table) for table in registry()[name].tables(rows)) + source(rows, name)


# ---- papers --------------------------------------------------------------------------------------


NO_RESULTS = (
    "*There are no results yet: `python -m experiments run all` repeats the papers' experiments "
    "and writes what it finds to `experiments/results`.*"
)


def any_results(folder):
    """Return whether there is something to show of the papers."""
    return importlib.util.find_spec("experiments") is not None and any(folder.glob("*.csv"))


def papers():
    """What the papers say and what is measured here, from the folder of experiments."""
    results = EXPERIMENTS / "results"
    if not any_results(results):
        return NO_RESULTS
    from experiments._declare import names
    from experiments._report import gather_all

    return "\n".join(_paper(one, results / "figures") for one in gather_all(names(), results))


def claims():
    """How many claims of each paper hold, fail, or cannot be told."""
    if not any_results(EXPERIMENTS / "results"):
        return NO_RESULTS
    from experiments._declare import names
    from experiments._report import gather_all, summary_markdown

    table = summary_markdown(gather_all(names(), EXPERIMENTS / "results"))
    return re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", table)  # the links are for the folder


def _paper(told, folder):
    from experiments._report import claims_markdown

    parts = [f"## {told['title']}\n\n{told['paper']}\n"]
    if told["sentences"]:
        parts.append(f"### Claims\n\n{claims_markdown(told)}\n\n### Tables and figures\n")
    body = [[place, about["caption"], about["verdict"]] for place, about in told["places"].items()]
    parts.append(words(("place", "what", "verdict"), body))
    for place, about in told["places"].items():
        rows = [
            [
                one.data,
                one.method,
                one.metric,
                one.value,
                NOTHING if judged.ours is None else number(judged.ours.mean),
                NOTHING if judged.ours is None else number(judged.ours.error),
                judged.verdict,
            ]
            for one, judged in about["numbers"]
        ]
        claims = {}
        for claim, judged in about["claims"]:  # those that differ in the data alone are one row
            key = (claim.text, claim.metric, getattr(claim, "theirs", None) or NOTHING, judged.verdict)
            claims.setdefault(key, []).append(str(claim.data))
        if rows or claims or about["why"]:
            parts.append(f"### {place.capitalize()}\n")
        if rows:
            head = ("data", "method", "metric", "paper", "here", "standard error", "verdict")
            parts.append(words(head, rows))
        if claims:
            body = [[*key[:3], "; ".join(data), key[3]] for key, data in claims.items()]
            parts.append(words(("claim", "metric", "beside", "data", "verdict"), body))
        parts += [f"{why}\n" for why in about["why"]]
    drawn = sorted(folder.glob(f"{told['name']}_*.png"))
    parts += [figure(path, path.stem.replace("_", " ")) for path in drawn]
    return "\n".join(parts)


def words(head, rows):
    """Return a table of text."""
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    cells = [[str(cell).replace("|", "\\|") for cell in row] for row in rows]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in cells)]) + "\n"


# ---- the directive -------------------------------------------------------------------------------

TABLES = {
    **{name: getattr(tradeoffs, name) for name in tradeoffs.__all__},
    "ablation": ablation,
    "bars": bars,
    "classification": classification,
    "pictures": pictures,
    "claims": claims,
    "thousands_of_rows": thousands_of_rows,
    "papers": papers,
    "regression": regression,
}


class Measured(SphinxDirective):
    """``{measured} name``: a table of ``TABLES``."""

    required_arguments = 1
    option_spec = {"class": directives.class_option}  # noqa: RUF012  (docutils wants it so)

    def run(self):
        """Return the nodes of the Markdown that the function gives."""
        (name,) = self.arguments
        if name not in TABLES:
            raise self.error(f"There is no table {name!r}: choose one of {', '.join(TABLES)}.")
        for folder in (BENCH, EXPERIMENTS):  # a page is built again when its numbers change
            for path in folder.rglob("*.csv"):
                self.env.note_dependency(str(path))
        nodes = self.parse_text_to_nodes(TABLES[name](), allow_section_headings=True)
        kind = {"decisions": "decisions", "papers": "told"}.get(name, "measured")
        for node in nodes:
            for table in node.findall(lambda n: n.tagname == "table"):
                table["classes"].append(kind)
        return nodes


def setup(app):
    """Tell sphinx."""
    app.add_directive("measured", Measured)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
