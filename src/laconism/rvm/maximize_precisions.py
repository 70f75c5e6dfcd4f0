"""The precisions of greatest evidence for a quadratic log-likelihood, by Newton's method."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._protocols import Array, Index
from ..linalg import Quadratic, Ridge, Triangle, symmetric_eigen
from ..solvers.line_search import backtrack


@dataclass(frozen=True)
class LocalEvidence:
    r"""Evidence of the precisions, its slope and its curvature, where the likelihood is quadratic.

    :math:`\mathcal L(\alpha) = \tfrac12 c^T\Sigma c - \tfrac12\log|I + DGD|` with
    :math:`\Sigma = (G + \mathrm{diag}\,\alpha)^{-1}` and :math:`c = \Phi^T R z`, up to a constant.
    """

    alpha: Array
    answer: Ridge
    value: float

    @classmethod
    def at(cls, quadratic: Quadratic, alpha: Array) -> LocalEvidence:
        """Return the evidence at these precisions."""
        answer = quadratic.ridge(1 / alpha)
        value = 0.5 * (float(quadratic.slope @ answer.weights) - answer.log_det)
        return cls(alpha, answer, value)

    @cached_property
    def well_determined(self) -> Array:
        """``gamma = 1 - alpha Sigma_kk``, kept below one so that it can be divided by."""
        return np.clip(self.answer.well_determined(), 0.0, 1 - 1e-12)

    @cached_property
    def scaled(self) -> Array:
        """The weights in units of their prior's deviations, so that their squares do not overflow."""
        return np.asarray(self.answer.weights / self.answer.root)

    def prunable(self, price: float = 0.0) -> Index:
        r"""Return the columns whose best precision, the others given, is infinite; the worst first.

        The evidence of a column is :math:`\tfrac12[\log(1-\gamma) + \alpha w^2/(1-\gamma)]`; those worth
        less than ``price`` nats are included.
        """
        used = self.scaled**2 / (1 - self.well_determined)
        worth = 0.5 * (np.log1p(-self.well_determined) + used)
        order = np.argsort(worth)
        gone = used <= self.well_determined
        if price:  # a value below zero alone may mean that its precision is far from the best
            gone |= worth < price
        return order[gone[order]]

    def newton(self, longest: float = 3.0) -> Array:
        """Return Newton's step in the logarithms of the precisions, none of them longer than this."""
        # S = Sigma in units of the prior's deviations, so between 0 and 1.
        root, u2 = self.answer.factor.inverse_root, self.scaled**2
        S = root.T @ root
        slope = 0.5 * (self.well_determined - u2)
        H = (0.5 * S + np.outer(self.scaled, self.scaled)) * S
        H.flat[:: u2.size + 1] -= 0.5 * (S.diagonal() + u2)
        step = _ascend(-H, slope)
        return np.asarray(step * (longest / max(np.abs(step).max(initial=0.0), longest)))


def _ascend(curvature: Array, slope: Array, least: float = 1e-3) -> Array:
    """Return Newton's step, with a least curvature in every direction, relative to the largest.

    Eigenvalues, which cost much more than a Cholesky factor, serve where the evidence is not concave.
    """
    largest = np.abs(curvature).sum(axis=0).max(initial=0.0)  # at least that of the eigenvalues
    flat = max(least * largest, 1e-12)
    triangle = Triangle.of_positive(curvature)
    if triangle is not None and Triangle.of_positive(curvature - flat * np.eye(slope.size)) is not None:
        return triangle.solve_transposed(triangle.solve(slope))
    values, vectors = symmetric_eigen(curvature)
    values = np.abs(values)  # an ascent also where the evidence is not concave
    values = np.maximum(values, max(least * float(values.max(initial=0.0)), 1e-12))
    return np.asarray(vectors @ ((vectors.T @ slope) / values))


def maximize_precisions(
    quadratic: Quadratic, alpha: Array, *, tol: float, price: float = 0.0, max_rounds: int = 200
) -> tuple[Array, Index]:
    """Return the precisions of greatest evidence and the columns that keep a finite one.

    Newton's method from ``alpha`` until a step gains less than ``tol`` nats. A column of infinite best
    precision is deleted at once; one worth less than ``price`` nats once a step would be the last.
    """
    kept, here, gain = np.arange(alpha.size), LocalEvidence.at(quadratic, alpha), np.inf
    for _ in range(max_rounds):
        converged = gain <= tol
        # A tenth at a time: others may be worth keeping once these are gone.
        gone = here.prunable(price if converged else 0.0)[: max(1, here.alpha.size // 10)]
        if converged and not (price and gone.size):
            break
        if gone.size:
            gain = np.inf
            stay = np.delete(np.arange(here.alpha.size), gone)
            quadratic, kept = quadratic.keep(stay), kept[stay]
            here = LocalEvidence.at(quadratic, here.alpha[stay])
            continue
        if not kept.size:
            break
        there = _line_search(quadratic, here)
        if there is None:
            break
        gain, here = there.value - here.value, there
    return here.alpha, kept


def _line_search(quadratic: Quadratic, here: LocalEvidence) -> LocalEvidence | None:
    """Return the evidence after a Newton step that does not lower it, or None."""
    direction = here.newton()

    def at(step: float) -> LocalEvidence:
        return LocalEvidence.at(quadratic, here.alpha * np.exp(step * direction))

    found = backtrack(at, lambda new, _: new.value >= here.value, shrink=0.25)
    return None if found is None else found[0]
