"""A prior whose scale is learnt together with the weights: solve, re-estimate, go on from there."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from .._protocols import Array, Likelihood
from ..laplace.first_precision import first_precision
from ..laplace.mode import Mode, find_mode, refit_by_degrees
from ..laplace.signal_to_noise import signal_to_noise
from ..linalg import ridge
from ..priors import GeneralizedGaussian
from . import Problem, Proximal, Record, Solution, Solver, State, Status, solve

# The scale (and the noise) are found when another round would change them by less than this part of
# sqrt(tol), 1e-3 for the default: what the fit knows of them is quadratic in their error.
_SAME = 10.0
# Rounds that this may take, at the most; ten are the rule.
_ROUNDS = 100
# Nats per observation to which a round is solved; the last one goes on to the tolerance asked for. A
# slow solver that gains less in a step may still be far away, and the scale goes by where it stands.
_ROUGH = 1e-8
# No round changes the scale by more than this factor, nor goes further than so many times what the
# fixed point alone would.
_LEAP, _STRETCH = 10.0, 10.0
# The first l1 model is solved at no more than this part of the rate at which its first column enters.
_ENTRY = 0.1
# Nats per observation, half of what there is to know of a label, at which nothing can have been missed.
_MUCH = 0.5 * math.log(2)
# Nats to which the mode is found where the evidence of several is compared, and a fit begins.
_CLOSE = 1e-2
# Ratios of signal to noise, of those of `signal_to_noise`, that labels without noise may ask for: of the
# strongest direction 1 to 1e8, two magnitudes apart; an optimum of the evidence is wider than that.
_BETWEEN = slice(12, 61, 12)
# Difference of latents by which the slope of a curvature is measured.
_STEP = 1e-3
# No less than this part of the parameters that the data settle is answered for; where the curvature
# gives way faster than that, the scale grows as far as a round lets it.
_PART = 0.1
# How often scale and effective number of parameters take turns at weights that stay where they are.
_TURNS = 5

_UNSETTLED = "did not converge: the scale went on changing; raise max_iter, or take scale='evidence'"

Report = Callable[[Record], object]


class Start(NamedTuple):
    """Where a fit begins: what is known of the answer, all of it or nothing."""

    state: State | None = None
    effective: float | None = None  # number of parameters that the data determine
    scale: float | None = None  # of the prior


def learn_scale(
    problem: Problem,
    solver: Solver,
    rule: GeneralizedGaussian,
    start: Start,
    *,
    max_iter: int,
    tol: float,
    callback: Report | None,
) -> Solution:
    """Return the weights under the scale that they call for; the solution's problem has it.

    The history has one record a round: the log-likelihood less ``rule.marginal``.
    """
    if rule.scale == "paper":
        return _by_the_paper(problem, solver, rule, start.state, max_iter, tol, callback)
    return _by_the_evidence(problem, solver, rule, start, max_iter, tol, callback)


@dataclass
class RoundHistory:
    """The history of the rounds."""

    callback: Report | None
    began: float = field(default_factory=time.perf_counter)
    records: list[Record] = field(default_factory=list)

    def write(self, objective: float, active: int) -> bool:
        """Note one round; return whether the callback asks to stop."""
        number, seconds = len(self.records) + 1, time.perf_counter() - self.began
        self.records.append(Record(number, objective, active, seconds))
        return self.callback is not None and bool(self.callback(self.records[-1]))

    def close(
        self, answer: Solution, likelihood: Likelihood, message: str | None, stopped: bool
    ) -> Solution:
        """Return the answer with this history and a sentence about how it was reached."""
        converged = message is not None
        if message is None:
            message = "stopped by a callback" if stopped else _UNSETTLED
        kept = np.count_nonzero(answer.state.w)
        sentence = f"{message[0].upper()}{message[1:]} ({len(self.records)} rounds, {kept} kept)."
        return replace(
            answer,
            state=replace(answer.state, likelihood=likelihood),
            problem=replace(answer.problem, likelihood=likelihood),
            status=Status(converged, sentence, stopped and not converged),
            history=self.records,
        )


def _by_the_evidence(
    problem: Problem,
    solver: Solver,
    rule: GeneralizedGaussian,
    known: Start,
    max_iter: int,
    tol: float,
    callback: Report | None,
) -> Solution:
    """Find the scale from below; and from above, if that has surely missed something."""
    answer = _rounds(problem, solver, rule, known, max_iter, tol, callback)
    if known != Start() or not rule.is_l1 or not problem.kernels:
        return answer
    above = _above(problem, rule, answer)
    if above is None:
        return answer
    again = _rounds(problem, solver, rule, Start(scale=above), max_iter, tol, callback)
    return again if again.state.fit > answer.state.fit else answer


def _above(problem: Problem, rule: GeneralizedGaussian, answer: Solution) -> float | None:
    """Return the scale that the best dense weights call for, if few weights have missed something.

    Labels on smooth kernels only: the signal of very wide ones is in differences of kernels, with
    weights of any size, and a scale that begins small may settle where nothing has entered. That is so
    if the evidence of a dense model, which has paid for all its weights, is larger than the likelihood
    of the sparse one, which has paid for none.
    """
    empty = problem.empty()
    gained = (answer.state.fit - empty.fit) / float(problem.weight.sum())
    if empty.likelihood is not problem.likelihood or gained > _MUCH:
        return None
    mode = _dense_mode(problem, empty)
    if mode is None or mode.objective <= answer.state.fit:
        return None
    unit = rule.of_variance(1 / first_precision(problem, empty))
    return rule.learn(mode.w, float(mode.well_determined.sum()), unit.level).level


def _rounds(
    problem: Problem,
    solver: Solver,
    rule: GeneralizedGaussian,
    known: Start,
    max_iter: int,
    tol: float,
    callback: Report | None,
) -> Solution:
    """Solve, count what the data determine, take the scale that fits, until it stays the same.

    The noise of a regression is held within a round and re-estimated between them from its degrees
    of freedom: a dense model that may follow the data would otherwise talk itself into having none.
    """
    diary, empty = RoundHistory(callback), problem.empty()
    unit = rule.of_variance(1 / first_precision(problem, empty))
    likelihood, start, prior = _begin(problem, solver, rule, unit, known, empty, max_iter)
    same, step = _SAME * math.sqrt(tol), math.inf
    before: tuple[float, float] | None = None
    message, stopped, left = None, False, max_iter
    while True:
        question = replace(problem, prior=prior, likelihood=likelihood.hold())
        here = None if start is None else question.state(start.w, start.b, question.likelihood)
        enough = tol if step <= same else max(tol, _ROUGH)
        answer = solve(question, solver, start=here, max_iter=left, tol=enough)
        left -= len(answer.history)
        effective = _well_determined(answer.problem, answer.state, rule.q)
        wanted = rule.learn(answer.state.w, effective, unit.level)
        objective = answer.state.fit - rule.marginal(answer.state.w, effective, unit.level)
        stopped = diary.write(objective, int(np.count_nonzero(answer.state.w)))
        noise = refit_by_degrees(problem, likelihood, answer.state.f, effective)
        now, then = math.log(prior.level), math.log(wanted.level)
        change = _extrapolated(before, now, then)
        step = min(step, max(abs(change), _changed(likelihood, noise)))
        if not answer.state.w.any():
            message = "converged: no weight is worth its price"
        elif step <= same and enough == tol and answer.status.converged:
            message = "converged: the scale is what the weights call for"
        if message or stopped or left <= 0 or len(diary.records) >= _ROUNDS:
            return diary.close(answer, likelihood, message, stopped)
        start = _on_all(problem, answer)
        if step > same:  # otherwise the last round polishes what is there
            before, step = (now, then), math.inf
            likelihood, prior = noise, rule.at(math.exp(now + change))


def _begin(
    problem: Problem,
    solver: Solver,
    rule: GeneralizedGaussian,
    unit: GeneralizedGaussian,
    known: Start,
    empty: State,
    max_iter: int,
) -> tuple[Likelihood, State | None, GeneralizedGaussian]:
    """Return likelihood, weights (if there is better than the solver's own start) and prior."""
    start = known.state
    if start is None and np.isinf(rule.kink):
        start = _first_weights(problem, solver, rule, max_iter)
    if known.scale is not None:
        prior = rule.at(known.scale)
    elif start is None and problem.kernels and not rule.is_l1:
        start, variance = _least_squares(problem, empty)
        prior = rule.of_variance(variance)
    elif start is not None:
        prior = _settled(problem, rule, unit.level, start, known.effective)
    elif rule.is_l1:
        steepest = float(np.abs(problem.gradient(empty)).max(initial=0.0))
        prior = unit.at(max(unit.level, 1 / max(_ENTRY * steepest, 1e-100)))
    else:
        prior = unit
    likelihood = empty.likelihood if start is None else start.likelihood
    if start is not None and rule.is_l1 and 2 * np.count_nonzero(start.w) > start.w.size:
        start = None  # most weights are about to go, and few are sooner found from below
    return likelihood, start, prior


def _by_the_paper(
    problem: Problem,
    solver: Solver,
    rule: GeneralizedGaussian,
    start: State | None,
    max_iter: int,
    tol: float,
    callback: Report | None,
) -> Solution:
    """Update the scale at every iteration, eq. (9) of [GGIG]."""
    diary = RoundHistory(callback)
    state = solver.init(problem) if start is None else start
    message, stopped, objective = None, False, -math.inf
    for _ in range(max_iter):
        question = replace(problem, prior=rule.learn(state.w, 0.0))
        here = question.state(state.w, state.b, state.likelihood)
        answer = solve(question, solver, start=here, max_iter=1, tol=tol)
        state, old = _on_all(problem, answer), objective
        objective = state.fit - rule.marginal(state.w, 0.0)
        stopped = diary.write(objective, int(np.count_nonzero(state.w)))
        if abs(objective - old) <= tol * problem.weight.sum():
            message = f"converged: the objective changed by at most {tol:g} nats per observation"
        if message or stopped:
            break
    return diary.close(answer, state.likelihood, message, stopped)


def _least_squares(problem: Problem, empty: State) -> tuple[State | None, float]:
    """Return dense weights (if any are better than none) and the variance of their prior."""
    if empty.likelihood is problem.likelihood:
        mode = _dense_mode(problem, empty)
        if mode is None:
            return None, 1 / first_precision(problem, empty)
        return problem.state(mode.w, mode.b, mode.likelihood), float(1 / mode.alpha[0])
    ratios, evidence, _ = signal_to_noise(problem)  # a regression: this is its evidence
    ratio, weight = float(ratios[np.argmax(evidence)]), problem.weight
    target = problem.likelihood.first_target(problem.y)
    variance = np.full(problem.design.shape[1], ratio)
    answer = ridge(problem.design, weight, target, variance, intercept=problem.intercept)
    f = problem.latent(answer.weights, answer.intercept)
    likelihood = refit_by_degrees(problem, empty.likelihood, f, answer.n_well_determined)
    state = problem.state(answer.weights, answer.intercept, likelihood)
    return state, ratio * float(weight.sum()) / float(weight @ state.curvature)


def _dense_mode(problem: Problem, empty: State) -> Mode | None:
    """Return the mode under one precision for all weights that has the largest evidence, if any has.

    Labels are no targets: of several optima the true likelihood tells which is the best. At the far end
    every label is believed, which is none. Labels without noise may have their only peaks there or next
    to nothing, and the largest evidence in between: where no peak is better than no weights, that is
    looked at.
    """
    ratios, evidence, _ = signal_to_noise(problem)
    peaks = 1 + np.flatnonzero((evidence[1:-1] > evidence[:-2]) & (evidence[1:-1] > evidence[2:]))
    known = float(problem.weight @ empty.curvature) / float(problem.weight.sum())
    zero = np.zeros(problem.design.shape[1])

    def best(ratios: Array) -> Mode | None:
        precisions = [np.full(zero.size, known / ratio) for ratio in ratios]
        modes = [
            find_mode(problem, alpha, empty.likelihood, zero, empty.b, _CLOSE) for alpha in precisions
        ]
        return max(modes, key=lambda mode: mode.objective, default=None)

    peak = best(ratios[peaks])
    if peak is not None and peak.objective > empty.fit:
        return peak
    between = best(ratios[_BETWEEN])
    return between if between is not None and between.objective > empty.fit else peak


def _first_weights(problem: Problem, solver: Solver, rule: GeneralizedGaussian, max_iter: int) -> State:
    """Return where a prior that absorbs zeros begins: nothing may be lost to a bad first scale.

    That is the l1 model of the evidence's own scale, which is convex; or what the solver was told.
    """
    if getattr(solver, "start", "auto") != "auto":
        return solver.init(problem)
    convex = type(rule)(q=1.0, a=rule.a, b=rule.b)
    answer = _by_the_evidence(problem, Proximal(certify=False), convex, Start(), max_iter, _ROUGH, None)
    return _on_all(problem, answer)


def _settled(
    problem: Problem, rule: GeneralizedGaussian, unit: float, state: State, effective: float | None
) -> GeneralizedGaussian:
    """Return the prior whose scale the weights call for where they stand."""
    if effective is not None:
        return rule.learn(state.w, effective, unit)
    kept = np.flatnonzero(state.w)
    part, here = problem.keep(kept), replace(state, w=state.w[kept])
    effective = kept.size / 2  # a guess that the turns forget
    for _ in range(_TURNS):
        prior = rule.learn(here.w, effective, unit)
        effective = _well_determined(replace(part, prior=prior), here, rule.q)
    return prior


def _well_determined(problem: Problem, state: State, q: float) -> float:
    r"""Return how many parameters the scale is to answer for, of the weights that are not zero.

    Those that the data settle, :math:`\gamma`, less what the curvature gives way. With the scale
    :math:`s` Laplace's evidence changes by

    .. math:: \frac{d}{d\log s} = \frac{\sum_j|w_j|^q}s - \frac\gamma q
        - \frac12\sum_i v_i\,\frac{dr_i}{df_i}\,\frac{df_i}{d\log s},

    :math:`v` the variances of the latents and :math:`r` the curvatures, where the mode moves by
    :math:`dw/d\log s = w - (G + V^{-1})^{-1}Gw` (eq. 5.23 of Rasmussen and Williams). Labels leave the
    last term out at a price: rows that are classified well have less curvature the larger the weights
    are, and without it the scale stays up to ten times too small. A Gaussian's is zero.
    """
    kept = np.flatnonzero(state.w)
    part = problem if kept.size == state.w.size else problem.keep(kept)
    r, _ = problem.laplace_targets(state)
    shrunk = part.ridge(r, state.f, state.w[kept])
    moved = state.f - part.design.matvec(shrunk.weights) - shrunk.intercept
    step = _STEP / max(float(np.abs(moved).max(initial=0.0)), np.finfo(float).tiny)
    _, _, ahead = state.likelihood.evaluate(problem.y, state.f + step * moved)
    _, _, behind = state.likelihood.evaluate(problem.y, state.f - step * moved)
    if np.array_equal(ahead, behind):
        return shrunk.n_well_determined
    variance = shrunk.latent_variance(part.design, r)
    given = -0.5 * float((problem.weight * variance) @ (ahead - behind)) / (2 * step)
    return max(shrunk.n_well_determined - q * given, _PART * shrunk.n_well_determined)


def _on_all(problem: Problem, answer: Solution) -> State:
    """Return the answer's state with its weights on all columns."""
    w = np.zeros(problem.design.shape[1])
    w[answer.active] = answer.state.w
    return replace(answer.state, w=w, metric=None, gradient=None)


def _extrapolated(before: tuple[float, float] | None, now: float, then: float) -> float:
    """Return the change of the log scale: to where the last two rounds lead (Aitken)."""
    change, stretch = then - now, 1.0
    if before is not None and now != before[0]:
        slope = (then - before[1]) / (now - before[0])
        stretch = 1 / max(1 - slope, 1 / _STRETCH)
    leap = math.log(_LEAP)
    return float(np.clip(stretch * change, -leap, leap))


def _changed(old: Likelihood, new: Likelihood) -> float:
    """Return the part by which the noise has changed, where there is any."""
    return abs(math.log(getattr(new, "noise", 1.0) / getattr(old, "noise", 1.0)))
