"""Which model when, in numbers: what the results of the benchmarks say about each choice."""

import math
import statistics
from pathlib import Path

from benchmarks._harness import ratio, registry
from benchmarks._runner import read

__all__ = ["decisions", "features", "grids", "inference", "machines", "many_rows", "search"]

ROOT = Path(__file__).resolve().parents[2]
BENCH = ROOT / "benchmarks" / "results"
NOTHING = "\N{EN DASH}"

# ---- numbers -------------------------------------------------------------------------------------


def number(value, digits=3):
    """Return a number with so many digits that count, or a dash."""
    if value is None or math.isnan(value):
        return NOTHING
    if value == 0:
        return "0"
    places = digits - 1 - math.floor(math.log10(abs(value)))
    return f"{round(value, places):,.{max(places, 0)}f}"


def count(value):
    """Return a number of things, with a decimal where it is a mean of few."""
    if value is None:
        return NOTHING
    return f"{value:,.1f}" if value < 100 and value != round(value) else f"{value:,.0f}"


def percent(value):
    """Return a share in percent."""
    return NOTHING if value is None else f"{100 * value:.1f} %"


def triple(measure, things, seconds):
    """Return a measure, a number of things and seconds as one cell, or a dash."""
    if None in (measure, things, seconds):
        return NOTHING
    return f"{number(measure)}, {count(things)}, {number(seconds, 2)}"


def mean_over(rows, column, **description):
    """Return the mean over the cases of the mean over seeds, or None where a case is missing."""
    cases = dict.fromkeys(row["case"] for row in rows)
    means = [rows.mean(column, case=case, **description) for case in cases]
    return None if not means or None in means else statistics.fmean(means)


def markdown(head, rows):
    """Return a table; the first column is text, the others are numbers."""
    lines = ["| " + " | ".join(head) + " |", "|---|" + "--:|" * (len(head) - 1)]
    return "\n".join([*lines, *("| " + " | ".join(map(str, row)) + " |" for row in rows)])


def source(rows, name):
    """Return where the numbers come from."""
    days = sorted({row["taken"][:10] for row in rows})
    when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    return f"\n\nFrom `benchmarks/results/{name}.csv`, {when}; {rows[-1]['versions']}.\n"


def missing(name):
    """Return the sentence that stands in for a table."""
    return f"*There are no results yet: `python -m benchmarks run {name}` makes them.*"


# ---- tables --------------------------------------------------------------------------------------

MACHINES = {
    "laconism": "{class}`~laconism.LaconicClassifier`",
    "Jeffreys": '{class}`~laconism.SparseBayesClassifier`, `kernel="rbf"`',
    "RVM": "{class}`~laconism.RVMClassifier`",
    "SVC tuned": "SVC, tuned and calibrated",
    "GP": "Gaussian process",
    "L1 logistic CV": "logistic regression, L1, tuned",
    "fastrvm": "fastrvm",
}
SELECTORS = {
    "laconism": "{class}`~laconism.SparseBayesRegressor`",
    "abess": "abess",
    "LassoCV": "LassoCV",
    "OMPCV": "OrthogonalMatchingPursuitCV",
    "ARDRegression": "ARDRegression",
}
GRIDS = {
    "plain": "{class}`~laconism.RVMClassifier`, kernel of all features",
    "product": '{class}`~laconism.GridRVMClassifier`, `combine="product"`',
    "sum": '{class}`~laconism.GridRVMClassifier`, `combine="sum"`',
}


def machines():
    """Kernel machines on the sets of the ida repository: errors, log-loss, size, time."""
    rows = read(BENCH / "ida.csv")
    if not rows:
        return missing("ida")
    places = registry()["ida"].ranks(rows, "log_loss")
    body = [
        [
            name,
            percent(mean_over(rows, "error", method=method)),
            number(mean_over(rows, "log_loss", method=method)),
            number(places.get(method)),
            count(mean_over(rows, "kept", method=method)),
            number(mean_over(rows, "cpu_seconds", method=method)),
        ]
        for method, name in MACHINES.items()
    ]
    head = ("", "errors", "log-loss", "mean rank in log-loss", "kernels (features)", "CPU seconds")
    cases = list(dict.fromkeys(row["case"] for row in rows))
    about = (
        f"Means over {len(cases)} data sets ({', '.join(cases)}), several splits of each. Times include "
        "the whole search of what has to be tuned."
    )
    return f"{markdown(head, body)}\n\n{about}{source(rows, 'ida')}"


def features():
    """Finding few of many features."""
    rows = read(BENCH / "recovery.csv")
    if not rows:
        return missing("recovery")
    cases = [case for case in dict.fromkeys(row["case"] for row in rows) if case.startswith("p=")]
    columns = ("coef_error", "kept", "seconds")
    body = [
        [name, *(triple(*(rows.mean(c, case=k, method=method) for c in columns)) for k in cases)]
        for method, name in SELECTORS.items()
    ]
    about = (
        "Each cell: relative error of the weights, features kept, seconds. 10 of 500 features matter "
        "among 150 rows, 20 of 5,000 among 500."
    )
    return f"{markdown(('', *cases), body)}\n\n{about}{source(rows, 'recovery')}"


def many_rows():
    """Ripley's problem as it grows, beside SVC."""
    rows = read(BENCH / "ripley.csv").where(case="ripley", threads=1)
    if not rows:
        return missing("ripley")

    def cells(**this):
        return (
            number(rows.median("seconds", **this), 2),
            number(rows.median("predict_seconds", **this), 2),
            count(rows.median("kept", **this)),
            percent(rows.mean("error", **this)),
        )

    sides = ("laconism", "SVC")
    body = [[f"{n:,}", *(c for m in sides for c in cells(method=m, n=n))] for n in rows.sizes()]
    what = ("fit, s", "predict, s", "kernels", "errors")
    head = ("rows", *(f"{side}: {one}" for side in sides for one in what))
    about = (
        '`SparseBayesClassifier(kernel="rbf", gamma=2)` and `SVC(gamma=2)` on one core; predictions of '
        "20,000 new points."
    )
    return f"{markdown(head, body)}\n\n{about}{source(rows, 'ripley')}"


def grids():
    """The mixture with noisy features: kernels on all features, or a grid."""
    rows = read(BENCH / "grid.csv").where(case="paper")
    if not rows:
        return missing("grid")
    body = [
        [name, percent(rows.mean("error", method=m)), count(rows.mean("kept", method=m))]
        for m, name in GRIDS.items()
    ]
    about = "Two features of 17 carry signal, 200 training rows, ten draws of the mixture of [GRID]."
    return f"{markdown(('', 'errors', 'weights kept'), body)}\n\n{about}{source(rows, 'grid')}"


def search():
    """The price of choosing q and the width, beside GridSearchCV."""
    rows = read(BENCH / "selection.csv")
    if not rows:
        return missing("selection")
    body = []
    for case in dict.fromkeys(row["case"] for row in rows):
        both = [{"case": case, "method": method} for method in ("laconism", "GridSearchCV")]
        body.append(
            [
                case,
                *(number(rows.mean("cpu_seconds", **this), 2) for this in both),
                *(number(rows.mean("log_loss", **this)) for this in both),
                number(rows.mean("q", **both[0]), 2),
                count(rows.mean("kept", **both[0])),
            ]
        )
    names = ("CPU s", "GridSearchCV: CPU s", "log-loss", "GridSearchCV: log-loss", "q", "kernels")
    return markdown(("", *names), body) + source(rows, "selection")


def inference():
    """Three ways to a relevance vector machine."""
    rows = read(BENCH / "rvm.csv")
    if not rows:
        return missing("rvm")
    tried = rows.where(case="moons", method="variational")
    n = max(tried.sizes(), default=0)
    columns = ("log_loss", "kept", "seconds")
    body = []
    for method in ("sequential", "evidence", "variational", "fastrvm"):
        name = method if method == "fastrvm" else f'`inference="{method}"`'
        places = ({"case": "moons", "n": n}, {"case": "breast cancer"})
        cells = [triple(*(rows.mean(c, method=method, **at) for c in columns)) for at in places]
        body.append([name, *cells])
    table = markdown(("", f"moons, {n:,} rows", "breast cancer"), body)
    return f"{table}\n\nEach cell: log-loss, columns kept, seconds.{source(rows, 'rvm')}"


# ---- decisions -----------------------------------------------------------------------------------


def decisions():
    """Which model when: the words are ours, the numbers those of the files."""
    body = [
        [
            "good probabilities and no decisions; the size of the model may be chosen afterwards",
            "{class}`~laconism.LaconicClassifier`, {class}`~laconism.LaconicRegressor`",
            _flagship(),
        ],
        [
            "to know which features matter, also with more features than rows",
            "{class}`~laconism.SparseBayesRegressor`, {class}`~laconism.SparseBayesClassifier`",
            _selector(),
        ],
        [
            "the sparsest kernel model, or many rows, or a small device",
            '{class}`~laconism.SparseBayesClassifier` with `kernel="rbf"`',
            _sparse_kernels(),
        ],
        [
            "the degree of sparsity and the kernel's width chosen by cross-validation",
            "{class}`~laconism.SparseBayesClassifierCV`, {class}`~laconism.SparseBayesRegressorCV`",
            _chooser(),
        ],
        [
            "a relevance vector machine; error bars that grow away from the data",
            "{class}`~laconism.RVMClassifier`, {class}`~laconism.RVMRegressor`",
            _relevance(),
        ],
        [
            "samples that are tables or tensors, or few of many features that matter in a nonlinear way",
            "{class}`~laconism.GridRVMClassifier`, {class}`~laconism.GridRVMRegressor`",
            _tables(),
        ],
        [
            "features that matter only together, chosen while the classifier is learnt",
            "{class}`~laconism.JCFOClassifier`, {class}`~laconism.JCFORegressor`",
            "see [the papers](papers.md) and [the example](gallery/plot_joint_features)",
        ],
    ]
    lines = ["| you want | choose | measured |", "|---|---|---|"]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in body)]) + "\n"


def _ida(column, method, show=number):
    return show(mean_over(read(BENCH / "ida.csv"), column, method=method))


def _flagship():
    def size(method):
        return f"{_ida('log_loss', method)} with {_ida('kept', method, count)}"

    return (
        f"log-loss {size('laconism')} kernels; tuned SVC {size('SVC tuned')}, Gaussian process "
        f"{size('GP')}; errors {_ida('error', 'laconism', percent)} against "
        f"{_ida('error', 'SVC tuned', percent)} and {_ida('error', 'GP', percent)}"
    )


def _selector():
    rows = read(BENCH / "recovery.csv").where(case="p=500")
    kept, error = (
        {m: rows.mean(column, method=m) for m in ("laconism", "LassoCV")}
        for column in ("kept", "coef_error")
    )
    return (
        f"10 of 500 features matter: {count(kept['laconism'])} kept, relative error of the weights "
        f"{number(error['laconism'], 2)}; LassoCV keeps {count(kept['LassoCV'])}, error "
        f"{number(error['LassoCV'], 2)}"
    )


def _sparse_kernels():
    rows = read(BENCH / "ripley.csv").where(case="ripley", threads=1)
    n = max(rows.where(method="SVC").sizes(), default=0)
    ours, theirs = (
        {c: rows.median(c, method=m, n=n) for c in ("seconds", "predict_seconds", "kept")}
        for m in ("laconism", "SVC")
    )
    return (
        f"{n:,} rows: {count(ours['kept'])} kernels instead of {count(theirs['kept'])} support vectors, "
        f"fitted {number(ratio(theirs['seconds'], ours['seconds']), 2)} times faster, predicts "
        f"{number(ratio(theirs['predict_seconds'], ours['predict_seconds']), 2)} times faster; on small "
        f"sets errors {_ida('error', 'Jeffreys', percent)} against "
        f"{_ida('error', 'SVC tuned', percent)} "
        "of a tuned SVC"
    )


def _chooser():
    rows = read(BENCH / "selection.csv")
    both = ("laconism", "GridSearchCV")
    ours, theirs = (sum(rows.values("cpu_seconds", method=m)) or None for m in both)
    loss = [number(rows.mean("log_loss", method=m)) for m in both]
    return (
        f"{number(ratio(theirs, ours), 2)} times cheaper than `GridSearchCV` over the same candidates; "
        f"mean log-loss {loss[0]} against {loss[1]}"
    )


def _relevance():
    rows = read(BENCH / "rvm.csv").where(case="moons")
    n = max(rows.where(method="fastrvm").sizes(), default=0)
    speed = registry()["rvm"].faster(rows, "fastrvm", "sequential", n=n) if n else None
    return (
        f"errors {_ida('error', 'RVM', percent)}, log-loss {_ida('log_loss', 'RVM')}, "
        f"{_ida('kept', 'RVM', count)} kernels; {number(speed, 2)} times faster than fastrvm "
        f"on {n:,} rows"
    )


def _tables():
    rows = read(BENCH / "grid.csv").where(case="paper")
    error = {m: percent(rows.mean("error", method=m)) for m in GRIDS}
    return (
        f"15 of 17 features are noise: errors {error['product']} (product), {error['sum']} (sum); "
        f"kernels on all features {error['plain']}"
    )
