"""The law of candidates: left-out scores of the flagship beside those of brute-force refits.

Each row of a small problem is left out by fitting the candidate again without it: width, precision,
noise, calibration, feature weights and selected features are found anew. ``score`` is the mean left-out
log density that the candidate has, ``refit`` that of the refits, in nats per row.
"""

import statistics

import numpy as np

from laconism.flagship.candidates import candidates_for
from laconism.flagship.law import candidate_fits, check_candidate

from ._harness import Bar, Cell

METRICS = ("excess",)
MAX_EXCESS = 0.02
N, P, WIDE_P = 40, 3, 70
DRAWS = 5
# Features with long tails and labels are the only case of squashed features.
DRAWS_OF = {"long tails labels": 24}


def smooth(rng, n, p):
    X = rng.normal(size=(n, p))
    return X, np.sin(2 * X[:, 0]) + X[:, 1]


def linear(rng, n, p):
    X = rng.normal(size=(n, p))
    return X, 1.5 * X[:, :3].sum(axis=1)


def nothing(rng, n, p):
    return rng.normal(size=(n, p)), np.zeros(n)


def long_tails(rng, n, p):
    X = np.exp(rng.normal(size=(n, p)))
    return X, np.log(X[:, 0]) + np.log(X[:, 1])


# case: the function, the number of features, labels or values
CASES = {
    f"{name} {target}": (function, p, target)
    for name, function, p in (
        ("smooth", smooth, P),
        ("noise", nothing, P),
        ("long tails", long_tails, P),
        ("wide", linear, WIDE_P),
        ("wide noise", nothing, WIDE_P),
    )
    for target in ("labels", "values")
}


def cells(quick):
    found = [
        (case, p, draw)
        for case, (_, p, _) in CASES.items()
        for draw in range(1 if quick else DRAWS_OF.get(case, DRAWS))
    ]
    return [Cell(case, "refits", N, p, seeds=(draw,)) for case, p, draw in found[: 2 if quick else None]]


def run(cell, watch):
    watch.repeats = 1
    function, p, target = CASES[cell.case]
    rng = np.random.default_rng([cell.seeds[0], p])
    X, latent = function(rng, cell.n, p)
    y = latent + 0.5 * rng.normal(size=cell.n)
    y = np.where(y > 0, 1.0, -1.0) if target == "labels" else y
    for candidate in candidates_for(candidate_fits(X, y, np.ones(cell.n))):
        try:
            excess, row = watch(lambda each=candidate: check_candidate(each, X, y))
        except AssertionError as error:
            yield {"method": candidate.name, "status": "failed", "message": str(error)}
            continue
        if np.isfinite(excess):
            yield {**row, "method": candidate.name, "seed": cell.seeds[0], "excess": excess}


def bars(rows):
    found = []
    for method in dict.fromkeys(row["method"] for row in rows.where()):
        values = [row["excess"] for row in rows.where(method=method)]
        error = statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else None
        what = f"{method}: score above refits, nats per row, {len(values)} problems"
        found.append(Bar(what, statistics.fmean(values), "<=", MAX_EXCESS, error=error))
    failed = sum(row["status"] == "failed" for row in rows)
    return [*found, Bar("laws of order, weights and duplicates that fail", failed, "<=", 0)]
