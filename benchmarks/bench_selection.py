"""Choosing shape and width on the ida sets: our search beside GridSearchCV of the same estimator."""

import numpy as np
from sklearn.model_selection import GridSearchCV

from laconism import SparseBayesClassifier, SparseBayesClassifierCV
from laconism.priors import GeneralizedGaussian
from laconism.sparse.candidates import width_grid

from ._harness import Bar, Cell, data_file, difference, ratio
from ._rivals import scores

METRICS = ("error", "log_loss", "kept", "q")

SETS = ("banana", "flare_solar", "german", "splice", "thyroid", "titanic", "twonorm", "waveform")
SHAPES = [0.1, 0.5, 1.0, 1.5, 2.0]
SPLITS = 3  # of one split the thyroid's 75 test rows alone decide
MOST = 500  # training rows: GridSearchCV takes minutes beyond


def ours(gammas):
    return SparseBayesClassifierCV(SHAPES, kernel="rbf", gammas=gammas)


def plain(gammas):
    model = SparseBayesClassifier(GeneralizedGaussian(), kernel="rbf")
    grid = {"prior__q": SHAPES, "gamma": gammas}
    return GridSearchCV(model, grid, scoring="neg_log_loss", cv=5)


METHODS = {"laconism": ours, "GridSearchCV": plain}


def cells(quick):
    names, splits = (("titanic",), 1) if quick else (SETS, SPLITS)
    return [
        Cell(name, method, 0, 0, seeds=(split,))
        for name in names
        for split in range(splits)
        for method in METHODS
    ]


def split_of(name, split):
    """Return standardised training and test rows of a published split, or of one in its manner."""
    data = data_file(f"ida_{name}")
    published = data["train_idx"]
    train = (published if len(published) else data["substitute_train_idx"])[split][:MOST]
    X, y = np.asarray(data["X"], dtype=float), data["y"]
    test = np.setdiff1d(np.arange(len(y)), train)
    spread = X[train].std(axis=0)
    X = (X - X[train].mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return X[train], y[train], X[test], y[test]


def run(cell, watch):
    X, y, X_test, y_test = split_of(cell.case, cell.seeds[0])
    gammas = width_grid(X, 3) if cell.quick else width_grid(X)
    watch.repeats = 1  # the ratio is over eight sets
    model, row = watch(lambda: METHODS[cell.method](gammas).fit(X, y))
    best = model.best_estimator_
    told = {"kept": best.n_relevant_, "q": best.prior_.q}
    yield {"seed": cell.seeds[0], **row, **scores(model, X_test, y_test), **told}


def bars(rows):
    found, both = [], ("laconism", "GridSearchCV")
    seconds, losses = [], []
    for name in SETS:
        time = [rows.mean("cpu_seconds", case=name, method=method) for method in both]
        loss = [rows.mean("log_loss", case=name, method=method) for method in both]
        if None in time or None in loss:
            continue
        seconds.append(time)
        losses.append(loss)
        found.append(Bar(f"{name}: times cheaper", ratio(*time[::-1]), unit="x"))
        found.append(Bar(f"{name}: log-loss above GridSearchCV's", difference(*loss), unit=""))
    if not seconds:
        return [Bar("all sets together: times cheaper", None, ">=", 3, "x")]
    total, mean = np.sum(seconds, axis=0), np.mean(losses, axis=0)
    each = float(np.exp(np.mean(np.log(np.array(seconds)[:, 1] / np.array(seconds)[:, 0]))))
    return [
        *found,
        Bar("all sets together: times cheaper", ratio(float(total[1]), float(total[0])), ">=", 3, "x"),
        Bar("geometric mean over sets: times cheaper", each, ">=", 3, "x"),
        Bar("mean log-loss above GridSearchCV's", float(mean[0] - mean[1]), "<=", 0.0, ""),
    ]
