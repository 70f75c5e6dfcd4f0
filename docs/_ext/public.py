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
    """Draw the front page's picture: a boundary that a handful of kernels draw."""
    import matplotlib as mpl

    mpl.use("agg")
    import matplotlib.pyplot as plt

    from laconism import SparseBayesClassifier
    from laconism.datasets import make_ripley
    from laconism.inspection import BoundaryDisplay

    X, y = make_ripley(250, random_state=0)
    model = SparseBayesClassifier(kernel="rbf", gamma=2.0).fit(X, y)
    display = BoundaryDisplay.from_estimator(model, X, y)
    display.ax_.set_title(f"250 rows, {model.n_relevant_} kernels kept")
    display.figure_.savefig(path, dpi=120)
    plt.close(display.figure_)


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
