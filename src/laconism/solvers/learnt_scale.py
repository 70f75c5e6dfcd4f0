"""A prior whose scale is learnt: alternate between the weights and the scale."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from .._protocols import Array
from ..laplace.first_precision import first_precision
from ..laplace.mode import COMPARISON_NATS, Mode, find_mode, refit_by_degrees
from ..laplace.signal_to_noise import signal_to_noise
from ..likelihoods import Likelihood
from ..linalg import remainder, ridge
from ..priors import GeneralizedGaussian
from . import Callback, Problem, Proximal, Record, Solution, Solver, State, Status, solve

_UNSETTLED = "did not converge: the scale went on changing; raise max_iter, or take scale='evidence'"


class Start(NamedTuple):
    """Where a fit starts, for a warm start: state, effective parameters and scale, or none of them."""

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
    callback: Callback | None,
) -> Solution:
    """Return the weights under the scale that is estimated with them; the solution's problem has it.

    The history has one record a round: the log-likelihood less ``rule.marginal``.
    """
    search = _ScaleSearch(problem, solver, rule, max_iter, tol, callback)
    return search.follow_paper(start.state) if rule.scale == "paper" else search.maximize_evidence(start)


@dataclass
class RoundHistory:
    """The history of the rounds."""

    callback: Callback | None
    began: float = field(default_factory=time.perf_counter)
    records: list[Record] = field(default_factory=list)

    def write(self, objective: float, active: int) -> bool:
        """Record one round; return whether the callback stops the fit."""
        number, seconds = len(self.records) + 1, time.perf_counter() - self.began
        self.records.append(Record(number, objective, active, seconds))
        return self.callback is not None and bool(self.callback(self.records[-1]))

    def close(
        self, answer: Solution, likelihood: Likelihood, message: str | None, stopped: bool
    ) -> Solution:
        """Return the solution with this history and a sentence about how it ended."""
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


@dataclass(frozen=True)
class _ScaleSearch:
    """A problem, how it is solved, and the rule by which the scale of its prior is learnt."""

    problem: Problem
    solver: Solver
    rule: GeneralizedGaussian
    max_iter: int
    tol: float
    callback: Callback | None

    @cached_property
    def unit(self) -> GeneralizedGaussian:
        """The prior under which the variance of the latent is the noise variance of a row."""
        return self.rule.of_variance(1 / first_precision(self.problem, self.problem.empty()))

    def maximize_evidence(self, known: Start) -> Solution:
        """Return the fit from a small scale, or from that of a dense model if it fits better."""
        answer = self._alternate(known)
        if known != Start() or not self.rule.is_l1 or not self.problem.kernels:
            return answer
        scale = self._scale_of_dense_model(answer)
        if scale is None:
            return answer
        again = self._alternate(Start(scale=scale))
        return again if again.state.fit > answer.state.fit else answer

    def _scale_of_dense_model(self, answer: Solution) -> float | None:
        """Return the scale of the best dense model, if its evidence exceeds the sparse one's likelihood.

        For labels only: the signal of very wide kernels is in their differences, with large weights.
        """
        problem, empty = self.problem, self.problem.empty()
        # A gain of half of the labels' entropy shows that the sparse model has missed nothing.
        enough = 0.5 * math.log(2) * float(problem.weight.sum())
        if empty.likelihood is not problem.likelihood or answer.state.fit - empty.fit > enough:
            return None
        mode = _dense_mode(problem)
        if mode is None or mode.objective <= answer.state.fit:
            return None
        return self.rule.learn(mode.w, float(mode.well_determined.sum()), self.unit.level).level

    def _alternate(self, known: Start) -> Solution:
        """Alternate weights, effective number of parameters and scale until the scale converges.

        Noise is re-estimated between rounds, by its degrees of freedom: it would shrink to zero.
        """
        problem, rule, tol, unit = self.problem, self.rule, self.tol, self.unit.level
        history = RoundHistory(self.callback)
        likelihood, start, prior = self._initial_values(known)
        scale_tol = 10 * math.sqrt(tol)  # the objective is quadratic in their error
        before: tuple[float, float] | None = None
        message, stopped, left = None, False, self.max_iter
        while True:
            subproblem = replace(problem, prior=prior, likelihood=likelihood.hold())
            here = None if start is None else subproblem.state(start.w, start.b, subproblem.likelihood)
            answer = solve(subproblem, self.solver, start=here, max_iter=left, tol=tol)
            left -= len(answer.history)
            effective = _effective_parameters(answer.problem, answer.state, rule.q)
            wanted = rule.learn(answer.state.w, effective, unit)
            objective = answer.state.fit - rule.marginal(answer.state.w, effective, unit)
            stopped = history.write(objective, int(np.count_nonzero(answer.state.w)))
            noise = refit_by_degrees(problem, likelihood, answer.state.f, effective)
            now, then = math.log(prior.level), math.log(wanted.level)
            change = _aitken_step(before, now, then)
            # Likelihoods of labels have no noise.
            ratio = getattr(noise, "noise", 1.0) / getattr(likelihood, "noise", 1.0)
            step = max(abs(change), abs(math.log(ratio)))
            if not answer.state.w.any():
                message = "converged: no weight is worth its price"
            elif step <= scale_tol and answer.status.converged:
                message = "converged: scale and weights agree"
            if message or stopped or left <= 0:
                return history.close(answer, likelihood, message, stopped)
            start, before = _embed(problem, answer), (now, then)
            likelihood, prior = noise, rule.at(math.exp(now + change))

    def _initial_values(self, known: Start) -> tuple[Likelihood, State | None, GeneralizedGaussian]:
        """Return likelihood, weights (None for the solver's own start) and prior of the first round."""
        problem, rule, unit, empty = self.problem, self.rule, self.unit, self.problem.empty()
        start = known.state
        if start is None and np.isinf(rule.kink):
            start = self._lasso_weights()
        if known.scale is not None:
            prior = rule.at(known.scale)
        elif start is None and problem.kernels and not rule.is_l1:
            start, variance = _dense_start(problem)
            prior = rule.of_variance(variance)
        elif start is not None:
            prior = self._scale_at_weights(start, known.effective)
        elif rule.is_l1:
            steepest = float(np.abs(problem.gradient(empty)).max(initial=0.0))
            # At most a tenth of the rate at which the first column enters.
            prior = unit.at(max(unit.level, 1 / max(0.1 * steepest, 1e-100)))
        else:
            prior = unit
        likelihood = empty.likelihood if start is None else start.likelihood
        if start is not None and rule.is_l1 and 2 * np.count_nonzero(start.w) > start.w.size:
            start = None  # a sparse model is found faster from the empty one
        return likelihood, start, prior

    def _lasso_weights(self) -> State:
        """Return the start of a prior that absorbs zeros: the convex l1 model, or the solver's own.

        A poor first scale would set weights to zero that could not come back.
        """
        if getattr(self.solver, "start", "auto") != "auto":
            return self.solver.init(self.problem)
        rule = type(self.rule)(q=1.0, a=self.rule.a, b=self.rule.b)
        convex = replace(self, solver=Proximal(certify=False), rule=rule, tol=1e-8, callback=None)
        return _embed(self.problem, convex.maximize_evidence(Start()))

    def _scale_at_weights(
        self, state: State, effective: float | None, rounds: int = 5
    ) -> GeneralizedGaussian:
        """Return the prior with the scale estimated at fixed weights."""
        rule, unit = self.rule, self.unit.level
        if effective is not None:
            return rule.learn(state.w, effective, unit)
        kept = np.flatnonzero(state.w)
        part, here = self.problem.keep(kept), replace(state, w=state.w[kept])
        effective = kept.size / 2  # a first guess
        for _ in range(rounds):
            prior = rule.learn(here.w, effective, unit)
            effective = _effective_parameters(replace(part, prior=prior), here, rule.q)
        return prior

    def follow_paper(self, start: State | None) -> Solution:
        """Update the scale at every iteration, eq. (9) of [GGIG]."""
        problem, rule, tol = self.problem, self.rule, self.tol
        history = RoundHistory(self.callback)
        state = self.solver.init(problem) if start is None else start
        message, stopped, objective = None, False, -math.inf
        for _ in range(self.max_iter):
            subproblem = replace(problem, prior=rule.learn(state.w, 0.0))
            here = subproblem.state(state.w, state.b, state.likelihood)
            answer = solve(subproblem, self.solver, start=here, max_iter=1, tol=tol)
            state, old = _embed(problem, answer), objective
            objective = state.fit - rule.marginal(state.w, 0.0)
            stopped = history.write(objective, int(np.count_nonzero(state.w)))
            if abs(objective - old) <= tol * problem.weight.sum():
                message = f"converged: the objective changed by at most {tol:g} nats per observation"
            if message or stopped:
                break
        return history.close(answer, state.likelihood, message, stopped)


def _dense_start(problem: Problem) -> tuple[State | None, float]:
    """Return dense weights (None if the empty model is better) and the variance of their prior."""
    empty = problem.empty()
    if empty.likelihood is problem.likelihood:
        mode = _dense_mode(problem)
        if mode is None:
            return None, 1 / first_precision(problem, empty)
        return problem.state(mode.w, mode.b, mode.likelihood), float(1 / mode.alpha[0])
    ratios, evidence, _ = signal_to_noise(problem)  # exact for a regression
    ratio, weight = float(ratios[np.argmax(evidence)]), problem.weight
    target = problem.likelihood.first_target(problem.y)
    variance = np.full(problem.design.shape[1], ratio)
    answer = ridge(problem.design, weight, target, variance, intercept=problem.intercept)
    f = problem.latent(answer.weights, answer.intercept)
    likelihood = refit_by_degrees(problem, empty.likelihood, f, answer.n_well_determined)
    state = problem.state(answer.weights, answer.intercept, likelihood)
    return state, ratio * float(weight.sum()) / float(weight @ state.curvature)


def _dense_mode(problem: Problem) -> Mode | None:
    """Return the mode of largest evidence under one precision for all weights.

    The candidates are the peaks of the evidence of labels taken as targets; where none is better than
    the empty model, a few ratios in between.
    """
    empty, (ratios, evidence, _) = problem.empty(), signal_to_noise(problem)
    peaks = 1 + np.flatnonzero((evidence[1:-1] > evidence[:-2]) & (evidence[1:-1] > evidence[2:]))
    known = float(problem.weight @ empty.curvature) / float(problem.weight.sum())
    zero, alike = np.zeros(problem.design.shape[1]), np.ones(problem.design.shape[1])

    def best(ratios: Array) -> Mode | None:
        modes = (
            find_mode(problem, known / ratio * alike, empty.likelihood, zero, empty.b, COMPARISON_NATS)
            for ratio in ratios
        )
        return max(modes, key=lambda mode: mode.objective, default=None)

    peak = best(ratios[peaks])
    if peak is not None and peak.objective > empty.fit:
        return peak
    between = best(ratios[12:61:12])  # from 1 to 1e8 for the strongest direction, two decades apart
    return between if between is not None and between.objective > empty.fit else peak


def _effective_parameters(problem: Problem, state: State, q: float) -> float:
    r"""Return the effective number of parameters, corrected for the change of the curvature.

    With the scale :math:`s` Laplace's evidence changes by :math:`\sum_j|w_j|^q/s - \gamma/q -
    \tfrac12\sum_i v_i\,(dr_i/df_i)\,df_i/d\log s`, where the mode moves by
    :math:`dw/d\log s = w - (G + V^{-1})^{-1}Gw` (eq. 5.23 of Rasmussen and Williams). The last term is
    zero for a Gaussian; for labels, larger weights leave rows that are classified well less curvature.
    """
    kept = np.flatnonzero(state.w)
    part = problem if kept.size == state.w.size else problem.keep(kept)
    r, _ = problem.laplace_targets(state)
    shrunk = part.ridge(r, state.f, state.w[kept])
    moved = state.f - part.design.matvec(shrunk.weights) - shrunk.intercept
    # The step of the finite difference: no latent changes by more than this.
    step = 1e-3 / max(float(np.abs(moved).max(initial=0.0)), np.finfo(float).tiny)
    _, _, ahead = state.likelihood.evaluate(problem.y, state.f + step * moved)
    _, _, behind = state.likelihood.evaluate(problem.y, state.f - step * moved)
    if np.array_equal(ahead, behind):
        return shrunk.n_well_determined
    variance = shrunk.latent_variance(part.design, r)
    correction = -0.5 * float((problem.weight * variance) @ (ahead - behind)) / (2 * step)
    fixed = shrunk.n_well_determined  # at fixed curvature
    return float(remainder(fixed, q * correction))


def _embed(problem: Problem, answer: Solution) -> State:
    """Return the state of a solution with weights of all columns, those not kept being zero."""
    w = np.zeros(problem.design.shape[1])
    w[answer.active] = answer.state.w
    return replace(answer.state, w=w, metric=None, gradient=None)


def _aitken_step(
    before: tuple[float, float] | None, now: float, then: float, limit: float = 10.0
) -> float:
    """Return the change of the log scale, extrapolated from the last two rounds (Aitken).

    A step is extrapolated by at most the factor ``limit``, and the scale changes by no more.
    """
    change, factor = then - now, 1.0
    if before is not None and now != before[0]:
        slope = (then - before[1]) / (now - before[0])
        factor = 1 / max(1 - slope, 1 / limit)
    bound = math.log(limit)
    return float(np.clip(factor * change, -bound, bound))
