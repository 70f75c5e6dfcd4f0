"""The inner problem of a joint model: the best weights for given scales, which is convex.

A regression measures its weights in units of the noise, ``|w| / s``: so the noise ``s`` can be found
with them. In ``w / s`` and ``1 / s`` the problem is jointly convex, and no interpolation drives ``s`` to
zero (T. Park, G. Casella, The Bayesian lasso, JASA 103, 2008).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._protocols import Array, Index, Likelihood
from ..likelihoods import Gaussian
from ..solvers.line_search import backtrack
from ..solvers.problem import floor_curvature
from ..solvers.proximal import lasso_quadratic

if TYPE_CHECKING:
    from .problem import JointProblem

# Newton steps, at the most.
_STEPS = 100
# Columns that join the working set at once: a part of those in it, but so many at the least; none of
# them more alike (as a cosine) than this, since the neighbours of the worst violate as much as it does.
_PICKS, _PART, _ALIKE = 6, 0.25, 0.5
# The least variation of a column around its mean, as a part of its square.
_LEAST_VARIATION = 1e-12
# The least noise that is believed, as a part of the target's variance: polynomials of many features pass
# through any data, and then there is no evidence of how little noise there is.
_LEAST_NOISE = 1e-4
# A decrease below this part of the objective is lost in its rounding.
_LAST_DIGIT = 1e-15


@dataclass(frozen=True)
class Weights:
    """Weights and intercept of one output, and what the next step needs."""

    w: Array
    b: float
    f: Array
    likelihood: Likelihood
    slope: Array  # of the log-likelihood in f
    curvature: Array  # minus its second derivative
    value: float  # minus the log posterior

    def violation(self, question: JointProblem, g: Array) -> float:
        """Return how far it is from optimal, in units of the rate; ``g`` is the slope in each weight."""
        g = g / rate_of(question, self.likelihood)
        off = np.maximum(np.abs(g) - 1, 0.0)
        worst = float(np.where(self.w != 0, np.abs(g - np.sign(self.w)), off).max(initial=0.0))
        if question.intercept:  # in standard errors
            information = max(float(question.weight @ self.curvature), np.finfo(float).tiny)
            worst = max(worst, abs(float(question.weight @ self.slope)) / np.sqrt(information))
        return worst


def rate_of(question: JointProblem, likelihood: Likelihood) -> float:
    """Return the price of a weight in the units of the latent."""
    if isinstance(likelihood, Gaussian):
        return float(question.weight_rate / np.sqrt(likelihood.noise))
    return float(question.weight_rate)


def weights_at(
    question: JointProblem, y: Array, w: Array, b: float, f: Array, likelihood: Likelihood
) -> Weights:
    """Return everything about these weights."""
    log_p, slope, curvature = likelihood.evaluate(y, f)
    price = rate_of(question, likelihood) * float(np.abs(w).sum())
    return Weights(w, b, f, likelihood, slope, curvature, price - float(question.weight @ log_p))


def with_noise(question: JointProblem, y: Array, here: Weights) -> Weights:
    """Return it with the noise that suits its residuals: ``n s^2 - rate |w| s - |y - f|^2 = 0``."""
    if not question.learns_noise:
        return here
    likelihood: Any = here.likelihood.refit(y, here.f, question.weight, 0)
    half = question.weight_rate * float(np.abs(here.w).sum()) / (2 * question.weight.sum())
    noise = float(half + np.sqrt(half**2 + likelihood.noise)) ** 2
    likelihood = gaussian(likelihood, max(noise, least_noise(question, y)))
    return weights_at(question, y, here.w, here.b, here.f, likelihood)


def least_noise(question: JointProblem, y: Array) -> float:
    """Return the least noise variance that is believed."""
    share = question.weight / question.weight.sum()
    return float(_LEAST_NOISE * (share @ (y - share @ y) ** 2))


def gaussian(likelihood: Any, noise: float) -> Likelihood:
    """Return the likelihood with another noise variance."""
    return type(likelihood)(noise, likelihood.estimate, likelihood.floor)  # type: ignore[no-any-return]


def empty_weights(question: JointProblem, y: Array, m: int) -> Weights:
    """Return the model without columns: the best intercept, where it is free."""
    b = 0.0
    here = weights_at(question, y, np.zeros(m), b, np.zeros(y.size), question.likelihood)
    for _ in range(_STEPS if question.intercept else 0):  # Newton's method on one number
        information = max(float(question.weight @ here.curvature), np.finfo(float).tiny)
        step = float(question.weight @ here.slope) / information
        b += step
        here = weights_at(question, y, here.w, b, np.full(y.size, b), question.likelihood)
        if abs(step) * np.sqrt(information) < 1e-6:  # the next would be its square
            break
    return with_noise(question, y, here)


def best_weights(
    question: JointProblem, Phi: Array, y: Array, warm: Weights | None, tol: float
) -> Weights:
    """Return the minimiser, its slopes within ``tol`` of what the rate allows.

    Newton's method on a working set of columns: the lasso of the quadratic that osculates the
    likelihood is solved exactly, then the columns that violate optimality most join the set.
    """
    if warm is None:
        here = empty_weights(question, y, Phi.shape[1])
    else:
        kept = np.flatnonzero(warm.w)
        f = Phi[:, kept] @ warm.w[kept] + warm.b
        here = with_noise(question, y, weights_at(question, y, warm.w, warm.b, f, warm.likelihood))
    lengths: Array | None = None
    for _ in range(_STEPS):
        g = Phi.T @ (question.weight * here.slope)
        if here.violation(question, g) <= tol:
            break
        rate = rate_of(question, here.likelihood)
        excess = np.where(here.w != 0, 0.0, np.maximum(np.abs(g) - rate, 0.0))
        working = here.w != 0
        if excess.any():
            lengths = np.sqrt(np.einsum("ij,ij->j", Phi, Phi)) if lengths is None else lengths
            working[_apart(Phi, lengths, excess, int(working.sum()))] = True
        new = _step(question, Phi, y, here, g, np.flatnonzero(working), 0.1 * tol)
        done = new.value >= here.value - _LAST_DIGIT * abs(here.value)
        here = new if new.value <= here.value else here
        if done:
            break
    return here


def _apart(Phi: Array, lengths: Array, excess: Array, size: int) -> Index:
    """Return the worst column, the worst that is unlike it, and so on."""
    picked: list[int] = []
    excess = excess.copy()
    while len(picked) < max(_PICKS, int(_PART * size)) and excess.any():
        worst = int(np.argmax(excess))
        picked.append(worst)
        rest = np.flatnonzero(excess)
        cosine = np.abs(Phi[:, worst] @ Phi[:, rest]) / (lengths[rest] * lengths[worst])
        excess[rest[cosine > _ALIKE]] = 0.0
        excess[worst] = 0.0
    return np.array(picked)


def _step(
    question: JointProblem, Phi: Array, y: Array, here: Weights, g: Array, working: Index, tol: float
) -> Weights:
    """Return the state after a Newton step on the working set."""
    P, start = Phi[:, working], here.w[working]
    r = question.weight * floor_curvature(here.curvature)
    H, slope = (P * r[:, None]).T @ P, g[working]
    long = np.diag(H).copy()
    total, centre, push = 1.0, np.zeros(working.size), 0.0
    if question.intercept:
        total, push = float(r.sum()), float(question.weight @ here.slope)
        centre = r @ P / total
        H -= total * np.outer(centre, centre)
        slope = slope - push * centre
    # A column that does not vary is the intercept's business, or nobody's.
    varies = np.flatnonzero(np.diag(H) > _LEAST_VARIATION * np.maximum(long, np.finfo(float).tiny))
    rate, target = np.full(varies.size, rate_of(question, here.likelihood)), np.zeros_like(start)
    part = H[np.ix_(varies, varies)]
    target[varies] = lasso_quadratic(part, (slope + H @ start)[varies], rate, start[varies], tol)
    dw = target - start
    db = push / total - float(centre @ dw)
    df = P @ dw + db

    def at(t: float) -> Weights:
        w = np.zeros_like(here.w)
        # The whole step lands on exact zeros, which start + (target - start) would miss by a rounding.
        w[working] = target if t == 1 else start + t * dw
        return weights_at(question, y, w, here.b + t * db, here.f + t * df, here.likelihood)

    found = backtrack(at, lambda new, _: new.value < here.value)
    return here if found is None else with_noise(question, y, found[0])
