"""Starts of Newton's method: the lasso, the likelihood alone, and which of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.special import ndtri

from .._protocols import Array
from ..judging.compare import Rule
from ..judging.price import JEFFREYS_NATS, prior_price
from ..priors import Gaussian, Laplace
from .loop import Solver, solve
from .problem import Metric, Problem, State, objective_converged
from .proximal import Proximal
from .steps import newton_step

# Part of the universal threshold sqrt(2 log p) at which the lasso start is solved: low enough that a
# feature worth having is in, high enough that noise has not filled the model. A regression brings its
# threshold down by itself as it learns its noise, so it starts higher. Kernels are many views of few
# directions; there the start may only just tell a useful kernel from its neighbours.
# Chosen on draws of generated problems: by the recovery of known supports, by the log-loss of kernel
# classifiers (within 1 % from .02 to .05) and the error of kernel regressions. The papers' problems
# were looked at as well, test sets included: they are no blind test of these numbers.
_START_RATE = {"features": 0.3, "features and noise": 0.5, "kernels": 0.02, "kernels and noise": 0.005}
# The two that are tried for kernels on few rows, where a start can lose its way.
_KERNEL_RATES = (0.03, 0.005)
# Columns of noise that may enter the start of a problem with very many columns.
_CROWD = 500
# Rows on which a tall problem starts: at the least; for each column, so that they determine it; and as a
# multiple of sqrt(n p), so that a step by their curvature is right to half a standard error.
_ENOUGH_ROWS = 5_000
_ROWS_PER_COLUMN = 50
_ROWS_PER_ROOT = 2.0
# The old rule of ten events per variable: a part with fewer of the rarer class knows too little.
_EVENTS_PER_COLUMN = 10
# The width of its prior in standard errors: wide enough to be no prior, narrow enough that separable
# classes do not run away.
_FLAT = 100.0
# The noise of a regression (or the curvature of a classifier) and the lasso at that noise are found
# in turn, this often or until the curvature stays the same to this part: standard errors to half of it.
_SWEEPS = 3
_SAME = 0.1
# When the start from all features replaces the lasso's: the lasso errs less often.
_REPLACES_LASSO = Rule(nats=10.0)
# The part of its square that a column varies by, below which it is constant.
_CONSTANT = 1e-12
# A start need not be exact: the last step brought less than this many nats per observation, and
# less than this many in all.
_START_GAIN, _MOST_GAIN = 5e-4, 2.0
# The same where kernels are exchanged in the end for better ones.
_ROUGH_GAIN, _MOST_ROUGH = 5e-3, 20.0


class _PlainNewton:
    """Newton's method and nothing else, for starts."""

    prunes = False

    def init(self, problem: Problem) -> State:
        return problem.empty()

    def step(self, problem: Problem, state: State) -> State:
        return newton_step(problem, state)

    def done(self, problem: Problem, old: State, new: State, tol: float) -> str | None:
        return objective_converged(problem, old, new, tol)


def _start_tol(problem: Problem, rough: bool = False) -> float:
    """Return the tolerance of a start, in nats per observation."""
    gain, most = (_ROUGH_GAIN, _MOST_ROUGH) if rough else (_START_GAIN, _MOST_GAIN)
    return min(gain, most / float(problem.weight.sum()))


def smooth_start(problem: Problem) -> State:
    """Return weights with next to no prior, found on a part of the rows if there are many.

    One row in so many knows the weights to a few standard errors of the whole, and the curvature to a
    few hundredths. One step by that curvature and the slope of all rows is nearly there; so are those
    that follow, until few columns are left and the curvature of all rows costs little.
    """
    n, p = problem.design.shape
    stride = int(n // max(_ENOUGH_ROWS, _ROWS_PER_COLUMN * p, _ROWS_PER_ROOT * np.sqrt(n * p)))
    part = problem if stride <= 1 else problem.rows(np.arange(0, n, stride))
    if _events(part) < _EVENTS_PER_COLUMN * p:
        part = problem
    empty = part.empty()
    free = _flat_prior(part, part.curvature(empty))
    answer = solve(free, _PlainNewton(), start=free.seen(empty), max_iter=20, tol=_start_tol(part)).state
    if _looks_worthless(problem, part, empty, answer):
        return l1_start(problem)
    state = problem.refit(answer.w, answer.b, answer.likelihood)
    if part is problem:
        return state
    metric = _of_all_rows(problem, part, answer, state)
    free = _flat_prior(problem, np.diag(metric.gram))
    return problem.seen(newton_step(free, free.seen(replace(state, metric=metric))))


def _looks_worthless(problem: Problem, part: Problem, empty: State, found: State) -> bool:
    """Return whether weights that a prior would drop all at once are worth keeping all the same.

    Where classes are nearly separable next to no row has curvature, weights have large standard errors,
    and none of them seems to differ from zero, however much they explain (Hauck and Donner). So a prior
    is seen to err where that quadratic has less than its price for each, and less than half of what the
    likelihood has.
    """
    weight = part.weight * found.curvature
    level = weight @ found.f / max(weight.sum(), np.finfo(float).tiny) if part.intercept else 0.0
    seeming = float(weight @ (found.f - level) ** 2) / 2
    scale = float(problem.weight.sum() / part.weight.sum())
    return (
        seeming * scale < found.w.size * prior_price(problem.prior)
        and 2 * seeming < found.fit - empty.fit
    )


def _events(problem: Problem) -> float:
    """Return how many rows tell the target from its mean: those of the rarer class, or about all."""
    away = (problem.y - problem.weight @ problem.y / problem.weight.sum()) ** 2
    return float(problem.weight @ away / max(away.max(), np.finfo(float).tiny))


def _flat_prior(problem: Problem, curvature: Array) -> Problem:
    """Return the problem with next to no prior, given the curvature along each weight."""
    scale = np.sqrt(np.where(curvature > 0, curvature, 1.0))
    return replace(problem, prior=Gaussian(width=_FLAT), scale=scale)


def _of_all_rows(problem: Problem, part: Problem, found: State, state: State) -> Metric:
    """Return the metric found on a part of the rows, brought to the size it has on all of them.

    All columns by the same factor, so that those which repeat each other still do; one that the part
    has not seen at all is taken to be unlike the others.
    """
    metric = part.metric(found) if found.metric is None else found.metric
    factor = float(problem.weight.sum() / part.weight.sum())
    gram = factor * metric.gram
    unseen = np.flatnonzero(part.squares == 0)
    if unseen.size:
        gram[unseen, unseen] = problem.keep(unseen).squares * state.curvature.mean()
    return Metric(state.curvature, gram, metric.centre, metric.spread / factor)


def _spread(problem: Problem, state: State) -> Array:
    """Return the curvature along each weight about the mean of its column.

    A wide kernel is nearly constant; what it says is in the little it varies, whether or not there is
    a free intercept to take the rest. A constant column has nothing but its mean: beside an intercept,
    nothing but rounding.
    """
    if not problem.kernels:
        return problem.curvature(state)
    raw, about_mean = (replace(problem, intercept=free).curvature(state) for free in (False, True))
    return np.where(about_mean > _CONSTANT * raw, about_mean, 0.0 if problem.intercept else raw)


def best_start(problem: Problem, solver: Solver) -> State:
    """Return the lasso start that leads to the best model of its size.

    A prior that absorbs zeros has many optima, and its level compares sparse ones badly. But it keeps
    what exceeds about two standard errors, that is two nats: so a model is worth its fit less two nats
    a kernel.
    """
    if problem.empty().likelihood is not problem.likelihood:
        return l1_start(problem)  # a regression's own start has not been seen to lose its way
    found, start = [], None
    for rate in _KERNEL_RATES:  # descending: each lasso goes on from the last
        start = l1_start(problem, rate, start)
        answer = solve(problem, solver, start=start, max_iter=100, tol=1e-6)
        found.append((answer.state.fit - JEFFREYS_NATS * answer.active.size, start))
    return max(found, key=lambda pair: pair[0])[1]


def better_start(problem: Problem, solver: Solver) -> State:
    """Return the lasso's start or that of the likelihood alone, whichever leads to more for its size.

    Where features repeat each other, as the wavelengths of a spectrum do, none of them says much alone
    and their differences say all: a lasso sees little of that, and a start from there ends with next to
    nothing. A model is worth its fit less what the prior asks for each feature.
    """
    price = prior_price(problem.prior)

    def worth(start: State) -> float:
        answer = solve(problem, solver, start=start, max_iter=100, tol=1e-6)
        return answer.state.fit - price * answer.active.size

    few = l1_start(problem)
    if problem.empty().likelihood is problem.likelihood:
        return few  # of labels, or of values whose noise is known
    all_of_them = smooth_start(problem)
    gain = worth(all_of_them) - worth(few)
    return all_of_them if _REPLACES_LASSO.prefers_total(gain) else few


def l1_start(problem: Problem, rate: float | None = None, begin: State | None = None) -> State:
    r"""Return the lasso solution at the noise's own level, in the columns' own units.

    Each weight is measured in standard errors, :math:`s_j = \sqrt{\phi_j^T R \phi_j}` at the empty
    model, and penalised at a fixed part of :math:`\sqrt{2\log p}`, so neither the units of a column
    nor those of the target matter. The standard errors are found together with the lasso (for a
    regression this is the scaled lasso), starting from above. The lasso is convex: ``begin`` only saves
    the way there.
    """
    state = problem.empty()
    learns_noise = state.likelihood is not problem.likelihood
    kind = "kernels" if problem.kernels else "features"
    part = _START_RATE[f"{kind} and noise" if learns_noise else kind] if rate is None else rate
    rough = problem.exchangeable and not learns_noise
    for _ in range(_SWEEPS):
        scale = np.sqrt(_spread(problem, state))
        candidates = max(int(np.count_nonzero(scale)), 2)  # a constant column is none
        level = part * float(np.sqrt(2 * np.log(candidates)))
        if not problem.kernels:
            # Of p columns of noise, at most so many exceed this threshold on average.
            level = max(level, float(ndtri(1 - min(_CROWD / (2 * candidates), 0.5))))
        fixed = replace(problem, prior=Laplace(rate=level), scale=np.where(scale > 0, scale, 1.0))
        lasso = Proximal(fit_noise=False, certify=False)
        start = fixed.seen(state if begin is None else begin)
        answer = solve(fixed, lasso, start=start, max_iter=100, tol=_start_tol(problem, rough)).state
        if rough and answer.fit <= state.fit + _MOST_GAIN:  # the first of wide kernels bring nothing
            answer = solve(fixed, lasso, start=answer, max_iter=100, tol=_start_tol(problem)).state
        before, state = state, problem.relearn(answer)
        if problem.kernels and state.likelihood is answer.likelihood:
            break
        change = abs(problem.weight @ (state.curvature - before.curvature))
        if not problem.kernels and change <= _SAME * (problem.weight @ state.curvature):
            break
    return state
