"""Rivals that need more than a constructor, and scores that all methods share."""

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

# Numbers of weights that differ by less than this part count as the same sparsity.
CLOSE = 0.05
BISECTIONS = 25


def scores(model, X, y):
    """Return error and log-loss; the log-loss only where there are probabilities."""
    found = {"error": float(np.mean(model.predict(X) != y))}
    if hasattr(model, "predict_proba"):
        proba = np.asarray(model.predict_proba(X), dtype=float)
        proba = np.column_stack([1 - proba, proba]) if proba.ndim == 1 else proba
        found["log_loss"] = float(log_loss(y, proba, labels=np.unique(y)))
    return found


def l1_logistic(C):
    """Return liblinear's L1 logistic regression, in scikit-learn's spelling of today."""
    return LogisticRegression(l1_ratio=1.0, solver="liblinear", C=C, max_iter=1000, random_state=0)


def l1_logistic_with(X, y, kept):
    """Return liblinear's estimator whose C keeps about so many weights, found by bisection."""
    low, high, best = 1e-5, 1e4, None
    for _ in range(BISECTIONS):
        C = float(np.sqrt(low * high))
        count = int(np.count_nonzero(l1_logistic(C).fit(X, y).coef_))
        if best is None or abs(count - kept) < best[0]:
            best = abs(count - kept), C
        if abs(count - kept) <= CLOSE * kept:
            break
        low, high = (C, high) if count < kept else (low, C)
    return l1_logistic(best[1])
