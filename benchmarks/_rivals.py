"""Rivals that need more than a constructor, and scores that all methods share."""

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV

from ._harness import rival

# Numbers of weights that differ by less than this part count as the same sparsity.
CLOSE = 0.05
# Whose L1 logistic regression is fitted at the sparsity of ours.
L1_LIBRARIES = ("liblinear", "skglm")
BISECTIONS = 25


def scores(model, X, y, least=0.0):
    """Return error and log-loss; the log-loss only where there are probabilities.

    Probabilities below ``least`` count as ``least``.
    """
    found = {"error": float(np.mean(model.predict(X) != y))}
    if hasattr(model, "predict_proba"):
        proba = np.asarray(model.predict_proba(X), dtype=float)
        proba = np.column_stack([1 - proba, proba]) if proba.ndim == 1 else proba
        if least:
            proba = np.maximum(proba, least)
            proba /= proba.sum(axis=1, keepdims=True)
        found["log_loss"] = float(log_loss(y, proba, labels=np.unique(y)))
    return found


def leaves(model):
    """Return the number of leaves of a forest, or of trees that were boosted."""
    if hasattr(model, "estimators_"):
        return int(sum(tree.get_n_leaves() for tree in model.estimators_))
    trees = (tree for of_round in model._predictors for tree in of_round)
    return int(sum(tree.get_n_leaf_nodes() for tree in trees))


def l1_logistic(C):
    """Return liblinear's L1 logistic regression, in scikit-learn's spelling of today."""
    return LogisticRegression(l1_ratio=1.0, solver="liblinear", C=C, max_iter=1000, random_state=0)


def l1_skglm(C, n):
    """Return skglm's L1 logistic regression of the same objective: a mean of the losses, not a sum."""
    return rival("skglm").SparseLogisticRegression(alpha=1 / (C * n))


def mcp_skglm():
    """Return skglm's minimax concave penalty, its price by 5-fold cross-validation (unit columns)."""
    grid = {"alpha": np.geomspace(3, 3e-3, 20)}
    return GridSearchCV(rival("skglm").MCPRegression(), grid, scoring="neg_mean_squared_error")


def beside(prior):
    """Return the methods of a comparison: ours, and each library at the sparsity of ours."""
    return (f"laconism {prior}", *(f"{library} as sparse as {prior}" for library in L1_LIBRARIES))


def l1_as_sparse(library, X, y, kept):
    """Return the library's L1 logistic regression that keeps about so many weights, and its C."""
    make = l1_logistic if library == "liblinear" else lambda C: l1_skglm(C, X.shape[0])
    low, high, best = 1e-5, 1e4, None
    for _ in range(BISECTIONS):
        C = float(np.sqrt(low * high))
        count = int(np.count_nonzero(make(C).fit(X, y).coef_))
        if best is None or abs(count - kept) < best[0]:
            best = abs(count - kept), C
        if abs(count - kept) <= CLOSE * kept:
            break
        low, high = (C, high) if count < kept else (low, C)
    return make(best[1]), best[1]
