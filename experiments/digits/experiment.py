"""Handwritten digits: what papers 000 and 001 leave to future work.

The fit of all 60,000 digits takes a quarter of an hour and belongs to the benchmarks, which keep what
they measured; its rows are shown here. Only the quick run fits anything, a few hundred digits.
"""

import numpy as np
from benchmarks._runner import read as read_benchmark
from sklearn.svm import SVC

from laconism import SparseBayesClassifier
from laconism.datasets import load_npz
from laconism.priors import Laplace

from .._declare import HERE, Cell
from .._methods import kept
from .._splits import published

TITLE = "Handwritten digits: MNIST, all 60,000"
METRICS = ("error", "kernels", "kernels_per_class", "log_loss", "minutes")
BANDS = {"error": (0.0, 0.4), "kernels": (1, 1000), "kernels_per_class": (1, 1000)}

MEASURED = HERE.parent / "benchmarks" / "results" / "mnist.csv"
# As in benchmarks/bench_mnist.py, where they were chosen on held-out training rows.
GAMMA, PRIOR = 0.02, Laplace(rate=0.1)
FEW, TESTED = 600, 1000


def cells(quick):
    return [Cell("mnist", f"{FEW} digits", method) for method in ("laconism", "SVC") if quick]


def run(cell):
    arrays = published(load_npz, "mnist")
    X, X_test = (
        arrays[name][:size].reshape(size, -1).astype(np.float32) / 255
        for name, size in (("x_train", FEW), ("x_test", TESTED))
    )
    models = {
        "laconism": SparseBayesClassifier(PRIOR, kernel="rbf", gamma=GAMMA),
        "SVC": SVC(C=10.0, gamma=GAMMA),
    }
    model = models[cell.method].fit(X, arrays["y_train"][:FEW])
    wrong = model.predict(X_test) != arrays["y_test"][:TESTED]
    found = {"error": float(wrong.mean()), "kernels": kept(model)}
    if cell.method == "laconism":
        found["kernels_per_class"] = float(np.count_nonzero(model.dual_coef_, axis=1).mean())
    return found


def derive(rows):
    """Add what the benchmark measured, with the binomial standard error that 10,000 test digits have."""
    for row in read_benchmark(MEASURED):
        if row["status"] == "ok":
            yield {
                "key": "benchmark",
                "place": "mnist",
                "data": "10,000 test digits",
                "method": f"{row['method']} on {row['n']:,}",
                "seed": 0,
                "status": "ok",
                "seconds": row["seconds"],
                "error": row["error"],
                "wrong": f"10000:{(1 << round(10_000 * row['error'])) - 1:x}",
                "kernels": float(row["kept"]),
                "kernels_per_class": row["kept_per_class"],
                "log_loss": row["log_loss"],
                "minutes": row["seconds"] / 60,
                "versions": row["versions"],
            }
