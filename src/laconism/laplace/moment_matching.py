"""Expectation propagation for labels, where Laplace's approximation shrinks too much."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

import numpy as np

from .._protocols import Array
from ..likelihoods import Binary
from ..linalg import RELATIVE_JITTER, remainder
from ..solvers.problem import floor_curvature

if TYPE_CHECKING:
    from .mode import Mode, Solve


def match_moments(
    mode: Mode, solve: Solve, *, tol: float = 1e-8, max_sweeps: int = 200, damping: float = 0.8
) -> Mode:
    r"""Return the Gaussian posterior whose rows match the moments given by their labels.

    Expectation propagation (T. Minka, UAI 2001), started at Laplace's approximation: where columns
    outnumber rows, the posterior's mode is close to zero and its mean is not (M. Kuss, C. Rasmussen,
    JMLR 6, 2005). Each row is the Gaussian of precision :math:`r_i` and target :math:`z_i` under which
    its latent has the mean and the variance given by its label and all other rows. With the distribution
    given those, :math:`\mathcal N(m_{-i}, v_{-i})`, and
    :math:`\log Z_i(m) = \log\int p(y_i \mid f)\,\mathcal N(f \mid m, v_{-i})\,df` at :math:`m_{-i}`,

    .. math:: z_i = m_{-i} - \frac{(\log Z_i)'}{(\log Z_i)''}, \qquad
              \frac1{r_i} = -\frac1{(\log Z_i)''} - v_{-i},

    so a sweep is one ridge problem; sweeps end when no row changes by more than ``tol`` deviations of
    its latent. Only the fraction ``damping`` of each update is made, since whole ones may oscillate.
    """
    problem, r, z = mode.problem, mode.r, mode.target
    for _ in range(max_sweeps):
        answer = solve(problem.design, r, z, 1 / mode.alpha, intercept=problem.intercept)
        f = problem.latent(answer.weights, answer.intercept)
        v = answer.latent_variance(problem.design, r)
        matched, pull, row_evidence = _match_rows(mode, r, z, f, v)
        moved = np.abs(pull - r * z - (matched - r) * f) * np.sqrt(v) + np.abs(matched - r) * v
        if moved.max() <= tol:
            break
        pull = r * z + damping * (pull - r * z)
        r = r + damping * (matched - r)
        z = pull / r
    penalty = float(r @ (z - f) ** 2) + float(mode.alpha @ answer.weights**2)
    evidence = row_evidence - 0.5 * (penalty + answer.log_det)
    if problem.intercept:
        # A flat prior in units of the latent, as signs have no unit.
        evidence += 0.5 * float(np.log(2 * np.pi * mode.alpha.mean()) - np.log(r.sum()))
    return replace(
        mode,
        w=answer.weights,
        b=answer.intercept,
        f=f,
        slope=r * (z - f) / problem.weight,
        r=r,
        ridge=answer,
        objective=evidence,
    )


def _match_rows(mode: Mode, r: Array, z: Array, f: Array, v: Array) -> tuple[Array, Array, float]:
    """Return the matched precisions, precisions times targets, and the rows' part of the log evidence.

    For each row that is the log of its integrated probability less that of the integral of its Gaussian,
    both under the distribution given the other rows.
    """
    weight, binary = mode.problem.weight, cast(Binary, mode.likelihood)
    own = r / np.maximum(weight, 1.0)
    left = remainder(1.0, v * own, RELATIVE_JITTER)
    m_left, v_left = (f - v * own * z) / left, v / left
    log_p, slope, curvature = binary.integrated(mode.problem.y, m_left, v_left)
    away = (z - m_left) ** 2 / (v_left + 1 / own)
    row_evidence = float(weight @ (log_p + 0.5 * np.log1p(own * v_left) + 0.5 * away))
    curvature = np.maximum(curvature, RELATIVE_JITTER / (1 + v_left))
    matched = floor_curvature(weight * curvature / remainder(1.0, v_left * curvature, RELATIVE_JITTER))
    return matched, matched * (m_left + slope / curvature), row_evidence
