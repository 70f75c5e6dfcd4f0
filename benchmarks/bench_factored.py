"""Factored kernels give the weights of the whole matrix, in memory that grows like n."""

import numpy as np
from scipy.special import log_ndtr

from laconism import SparseBayesClassifier
from laconism.datasets import make_ripley
from laconism.kernels import RBF, Matern, Polynomial
from laconism.solvers import EM

from ._harness import Bar, Cell, slope

METRICS = ("dense_difference", "em_dense_difference", "textbook_difference", "iterations", "kept")
PICTURES = [("memory", "beyond_mib", "memory"), ("time", "seconds", "memory")]

KERNELS = {
    "rbf": lambda gamma: RBF(gamma=gamma),
    "poly": lambda gamma: Polynomial(degree=3, gamma=gamma),
    "matern": lambda gamma: Matern(gamma=gamma),
}
WIDTHS = (0.125, 0.5, 2.0, 8.0)
SIZES = (5_000, 10_000, 20_000, 40_000)
# Iterations of the textbook's loop that are compared, at the most.
ITERATIONS = 300


def cells(quick):
    n, sizes, widths = (80, (1_000, 2_000, 4_000), (0.5, 2.0)) if quick else (250, SIZES, WIDTHS)
    agreement = [
        Cell("agreement", f"{kernel} gamma={gamma:g}", n, 2, options={"kernel": kernel, "gamma": gamma})
        for kernel in KERNELS
        for gamma in widths
    ]
    return agreement + [Cell("memory", "laconism", n, 2) for n in sizes]


def run(cell, watch):
    X, y = make_ripley(cell.n, random_state=cell.seeds[0])
    if cell.case == "memory":
        model, row = watch(lambda: SparseBayesClassifier(kernel="rbf", gamma=2.0).fit(X, y))
        yield {**row, "kept": model.n_relevant_}
        return
    kernel = KERNELS[cell.options["kernel"]](cell.options["gamma"])
    K = kernel(X, X)
    factored, row = watch(lambda: SparseBayesClassifier(kernel=kernel).fit(X, y))
    dense = SparseBayesClassifier(kernel="precomputed").fit(K, y)
    papers = {
        "solver": EM(stop="weights"),
        "penalize_intercept": True,
        "tol": 1e-3,
        "max_iter": ITERATIONS,
    }
    em = SparseBayesClassifier(kernel=kernel, **papers).fit(X, y)
    em_dense = SparseBayesClassifier(kernel="precomputed", **papers).fit(K, y)
    book = textbook(np.column_stack([np.ones(cell.n), K]), y, em.n_iter_)
    yield {
        **row,
        "kept": factored.n_relevant_,
        "iterations": em.n_iter_,
        "dense_difference": distance(weights(factored, cell.n), weights(dense, cell.n)),
        "em_dense_difference": distance(weights(em, cell.n), weights(em_dense, cell.n)),
        "textbook_difference": distance(weights(em, cell.n), book),
    }


def weights(model, n):
    """Return intercept and weights of all rows as one vector."""
    w = np.zeros(n + 1)
    w[0] = model.intercept_[0]
    w[1 + model.relevance_] = model.dual_coef_[0]
    return w


def distance(a, b):
    return float(np.linalg.norm(a - b) / np.linalg.norm(b))


def textbook(Phi, y, iterations):
    """Section 3.3 of Figueiredo & Jain (2001) for the Jeffreys prior; no code of laconism's."""
    s = 2.0 * y - 1.0

    def ridge(A, z, damping):
        U, d, Vt = np.linalg.svd(A, full_matrices=False)
        return Vt.T @ (d / (d**2 + damping) * (U.T @ z))

    beta = ridge(Phi, y.astype(float), 1e-6)
    for _ in range(iterations):
        t = s * (Phi @ beta)
        z = s * t + s * np.exp(-0.5 * t**2 - 0.5 * np.log(2 * np.pi) - log_ndtr(t))
        beta = np.abs(beta) * ridge(Phi * np.abs(beta), z, 1.0)
    return beta


def bars(rows):
    names = {
        "dense_difference": "weights, factored against dense, at most",
        "em_dense_difference": "weights, factored EM against dense EM, at most",
        "textbook_difference": "weights, factored EM against the textbook, at most",
    }
    found = []
    for column, what in names.items():
        values = rows.values(column, case="agreement")
        found.append(Bar(what, max(values) if values else None, "<=", 1e-5))
    memory = [(n, rows.median("beyond_mib", case="memory", n=n)) for n in rows.sizes(case="memory")]
    memory = [(n, mib) for n, mib in memory if mib]
    power = slope(*zip(*memory, strict=True))[0] if len(memory) > 1 else None
    return [*found, Bar("memory against n, power", power, "<=", 1.2)]
