"""The page of the interface: everything public, found by itself, and the picture of the front page.

Both are written into folders that are not kept, before sphinx looks for its sources.
"""

import importlib
import inspect
import pkgutil
import re
from pathlib import Path

from docutils import nodes

import laconism

DOCS = Path(__file__).resolve().parents[1]
# What a user needs first comes first; all other units follow by name.
FIRST = (
    "laconism",
    "priors",
    "likelihoods",
    "kernels",
    "inspection",
    "interop",
    "datasets",
    "testing",
    "solvers",
)


def units():
    """Return the public modules with their public classes and functions, none of them twice."""
    names = [m.name for m in pkgutil.iter_modules(laconism.__path__) if not m.name.startswith("_")]
    names = sorted(set(names) - {"cli"}, key=lambda n: (FIRST.index(n) if n in FIRST else len(FIRST), n))
    seen, found = set(), {}
    for name in ["laconism", *(f"laconism.{n}" for n in names)]:
        module = importlib.import_module(name)
        things = {key: getattr(module, key) for key in getattr(module, "__all__", ())}
        new = {
            key: thing
            for key, thing in things.items()
            if (inspect.isclass(thing) or inspect.isfunction(thing)) and id(thing) not in seen
        }
        if new:
            found[module] = sorted(new, key=str.lower)
            seen |= {id(thing) for thing in new.values()}
    return found


def page():
    """Return the text of the page."""
    lines = [
        "Interface",
        "=========",
        "",
        "Everything public. Names that begin with an underscore may change.",
    ]
    for module, names in units().items():
        about = inspect.getdoc(module).splitlines()[0]
        lines += ["", module.__name__, "-" * len(module.__name__), "", about, ""]
        lines += [
            f".. currentmodule:: {module.__name__}",
            "",
            ".. autosummary::",
            "   :toctree: generated",
            "   :nosignatures:",
            "",
        ]
        lines += [f"   {name}" for name in names]
    return "\n".join(lines) + "\n"


def draw(path):
    """Draw the front page's picture: a boundary of a few kernels, and the features that were found."""
    import matplotlib as mpl

    mpl.use("agg")
    import matplotlib.pyplot as plt
    import numpy as np

    from laconism import LaconicClassifier, SparseBayesRegressor
    from laconism.datasets import make_ripley, make_sparse_regression
    from laconism.inspection import BoundaryDisplay

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
    X, y = make_ripley(250, random_state=0)
    model = LaconicClassifier().fit(X, y)
    BoundaryDisplay.from_estimator(model, X, y, ax=left)
    left.set_title(f"LaconicClassifier: {model.n_relevant_} of 250 kernels kept")

    X, y, coef = make_sparse_regression(150, 500, n_relevant=10, random_state=0)
    model = SparseBayesRegressor().fit(X, y)
    kept = model.relevance_
    error = 2 * np.sqrt(np.diag(model.posteriors_[0].covariance_dot(np.eye(len(kept)))))
    dropped = np.flatnonzero(model.coef_ == 0)
    right.plot(dropped, np.zeros(len(dropped)), "|", color="0.7", label="exactly zero")
    right.plot(coef.nonzero()[0], coef[coef != 0], "s", mfc="none", mec="0.3", ms=9, label="true weight")
    right.errorbar(
        kept, model.coef_[kept], error, fmt="o", color="#08306b", ms=4, label="kept, two deviations"
    )
    right.set(
        xlim=(0, 500), xlabel="feature", ylabel="weight",
        title=f"SparseBayesRegressor: {len(kept)} of 500 features kept",
    )  # fmt: skip
    right.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=3, frameon=False)
    figure.savefig(path, dpi=100, metadata={"Software": None})
    plt.close(figure)


def write(app, config):
    """Write both, and touch nothing that has not changed."""
    (DOCS / "api").mkdir(exist_ok=True)
    target, text = DOCS / "api" / "index.rst", page()
    if not target.exists() or target.read_text(encoding="utf-8") != text:
        target.write_text(text, encoding="utf-8")
    (DOCS / "drawn").mkdir(exist_ok=True)
    draw(DOCS / "drawn" / "front.png")


def shorten(app, doctree, name):
    """Take the prefix that numpydoc makes citations unique with out of the summaries."""
    if name == "api/index":
        for text in list(doctree.findall(nodes.Text)):
            short = re.sub(r"\bR[0-9a-f]{12}-", "", text)
            if short != text:
                text.parent.replace(text, nodes.Text(short))


def setup(app):
    """Tell sphinx."""
    app.connect("config-inited", write)
    app.connect("doctree-resolved", shorten)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


if __name__ == "__main__":  # the README's copy of the picture
    draw(DOCS / "_static" / "front.png")
