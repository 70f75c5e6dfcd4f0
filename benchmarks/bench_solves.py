"""Linear solves to the optimum from one start: plain EM beside the other solvers."""

import math
import time

import numpy as np
from scipy.linalg import lapack
from sklearn.preprocessing import StandardScaler

import laconism
from laconism.basis import Features, KernelBasis
from laconism.datasets import make_sparse_classification
from laconism.design import build_design
from laconism.kernels import RBF
from laconism.likelihoods import Probit
from laconism.linalg import Factor
from laconism.priors import GeneralizedGaussian, Jeffreys, Laplace
from laconism.solvers import REGISTRY, Accelerated, Newton, Problem, choose_solver, solve

from ._harness import Bar, Cell, Skip

METRICS = ("solves", "steps", "iterations", "objective", "gap", "kept", "agrees")
CLOSE = 1e-6  # nats per observation from the best objective
SAME = 1e-3  # nats: answers further apart are other optima
MOST = 20_000
AUTO = "auto, from its own start"
PRIORS = {
    "laplace": lambda: Laplace(rate=1.0),
    "jeffreys": lambda: Jeffreys(),
    "q=0.5": lambda: GeneralizedGaussian(q=0.5, scale=1.0),
}
# name: loader, width h of the kernel (None: the features themselves)
PROBLEMS = {
    "Ripley, kernels": ("load_ripley", 0.5),
    "Pima, kernels": ("load_pima", 4.0),
    "breast cancer, kernels": ("load_breast_cancer", 12.0),
    "breast cancer, features": ("load_breast_cancer", None),
    "wide, features": ((150, 500, 5), None),
    "tall, features": ((1_000, 100, 20), None),
}
QUICK = ("Ripley, kernels", "wide, features")


def cells(quick):
    # The rows of the data are known once it is loaded; until then a cell says 0.
    found = []
    for name in QUICK if quick else PROBLEMS:
        for prior in PRIORS:
            # Where zeros absorb, the lasso is the library's start; the lasso itself starts from a ridge.
            for start in ("ridge",) if prior == "laplace" else ("ridge", "l1"):
                options = {"problem": name, "prior": prior, "start": start}
                found.append(Cell(f"{name}: {prior} from {start}", "all", 0, 0, options=options))
    return found


def run(cell, watch):
    problem, X = pose(cell.options["problem"], PRIORS[cell.options["prior"]](), cell.seeds[0])
    start = Newton(start=cell.options["start"]).init(problem)
    # What a user gets, the start and its solves included.
    traces = {AUTO: trace(problem, choose_solver("auto", problem.prior), None)}
    for name in [*REGISTRY, "accelerated newton"]:
        try:
            solver = Accelerated(Newton()) if " " in name else choose_solver(name, problem.prior)
        except ValueError:  # this solver is not for this prior
            continue
        traces[name] = trace(problem, solver, start)
    best = max(level for *_, level, _ in traces.values())
    n = problem.y.size
    for name, (objectives, solves, kept, level, seconds) in traces.items():
        # Pruning shifts an improper prior's level, so a trace is measured from its own end. If that
        # is the best optimum, its distance from the best counts too.
        same = abs(level - traces["em"][3]) <= SAME or problem.prior.is_l1
        end = max(level, traces["em"][3]) if same else level
        gaps = (end - level) + (objectives[-1] - objectives)
        there = np.flatnonzero(gaps <= CLOSE * n)
        first = int(there[0]) if there.size else -1
        yield {
            "method": name,
            "n": n,
            "p": X.shape[1],
            "seconds": seconds,
            "solves": solves[first],
            "steps": first + 1 if there.size else len(objectives),
            "iterations": len(objectives),
            "objective": level,
            "gap": best - level,
            "kept": kept,
            "agrees": int(same),
        }


def pose(name, prior, seed):
    """Return the problem as the estimators pose it, and its rows."""
    source, h = PROBLEMS[name]
    if isinstance(source, str):
        try:
            data = getattr(laconism.datasets, source)()
        except ImportError as error:
            raise Skip(str(error)) from None
        X, y = data.data, data.target
        X = X if source == "load_ripley" else StandardScaler().fit_transform(X)
    else:
        X, y, _ = make_sparse_classification(*source, weight=1.0, random_state=seed)
    basis = Features(np.arange(X.shape[1])) if h is None else KernelBasis.on_rows(RBF(0.5 / h**2), X)
    ones = np.ones(len(X))
    design = build_design(basis, X, ones, centre=True, tol=1e-8, max_rank=1000).design
    prior = prior.bind(basis.n_columns, kernel=h is not None)
    return Problem(
        design, np.where(y == 1, 1.0, -1.0), Probit(), prior, ones, True, h is not None, h is not None
    ), X


def trace(problem, solver, start):
    """Return objectives, solves so far, columns kept, the last objective on its own level, seconds."""
    objectives, solves = [], []
    with Counter() as counter:

        def note(record):
            objectives.append(record.objective)
            solves.append(counter.count)

        began = time.perf_counter()
        answer = solve(problem, solver, start=start, max_iter=MOST, tol=1e-13, callback=note)
        seconds = time.perf_counter() - began
    state = answer.state
    w = state.w[state.w != 0]
    level = float(state.likelihood.evaluate(problem.y, state.f)[0].sum() - problem.penalty(w))
    return np.array(objectives), solves, w.size, level, seconds


class Counter:
    """Counts the factorisations of all solvers while it is open: one a linear solve."""

    places = ((Factor, "__init__"), (lapack, "dposv"))

    def __enter__(self):
        self.count, self.before = 0, [getattr(*place) for place in self.places]
        for (owner, name), function in zip(self.places, self.before, strict=True):
            setattr(owner, name, self._counted(function))
        return self

    def _counted(self, function):
        def counted(*arguments, **options):
            self.count += 1
            return function(*arguments, **options)

        return counted

    def __exit__(self, *error):
        for place, function in zip(self.places, self.before, strict=True):
            setattr(*place, function)


def bars(rows):
    best = "accelerated newton"
    found = [compare(rows, best, bar=20), *(compare(rows, best, of=prior) for prior in PRIORS)]
    others = sorted({row["method"] for row in rows.where()} - {"em", best})
    return found + [compare(rows, name) for name in others]


def compare(rows, name, of="", bar=None):
    """Return by how much fewer solves a method came to EM's optimum, in the geometric mean."""
    ratios, left_out = [], 0
    for row in rows.where(method=name):
        if of and f": {of} from" not in row["case"]:
            continue
        em = rows.where(method="em", case=row["case"])
        # Another optimum is another problem, and an empty model is none.
        if em and row["agrees"] and row["kept"]:
            ratios.append(em[0]["solves"] / row["solves"])
        else:
            left_out += 1
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else None
    of = f", {of}" if of else ""
    what = f"{name}{of}: times fewer solves than EM ({len(ratios)} problems; {left_out} left out)"
    return Bar(what, mean, ">=", bar, "x")
