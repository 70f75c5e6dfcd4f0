"""Labels as Gaussians that have their moments: where Laplace's approximation is far too timid."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import numpy as np

from .._protocols import Array
from ..likelihoods import Binary
from .mode import Mode, Solve

# Sweeps at the most, how far each goes towards what it asks for (all rows move at once, and the whole
# way may overshoot), and the change, in deviations of a latent, at which there is none left.
_SWEEPS, _PACE, _SETTLED = 200, 0.8, 1e-8
# The same where modes are only compared.
_NEAR = 1e-3
# The least that a row says, as a part of the one that says most, or of its variance that others leave.
_LEAST = 1e-10


def match_moments(mode: Mode, solve: Solve, *, exact: bool) -> Mode:
    r"""Return the Gaussian posterior whose rows have the moments that their labels give them.

    Expectation propagation [M01]_, begun at Laplace's approximation. Where columns outnumber rows, a
    label hardly says more than the sign of its row's latent. The mode of such a posterior is close to
    zero and its mean is not: Laplace's approximation is far too timid [KR05]_.

    Each row is the Gaussian of precision :math:`r_i` and target :math:`z_i` under which its latent has
    the mean and the variance that its label gives it beside all other rows. With their say
    :math:`\mathcal N(m_{-i}, v_{-i})` and
    :math:`\log Z_i(m) = \log\int p(y_i \mid f)\,\mathcal N(f \mid m, v_{-i})\,df` at :math:`m_{-i}`,

    .. math:: z_i = m_{-i} - \frac{(\log Z_i)'}{(\log Z_i)''}, \qquad
              \frac1{r_i} = -\frac1{(\log Z_i)''} - v_{-i},

    so a sweep is one ridge problem, as every step is. ``objective`` is the log evidence that goes with
    it, and leaving a row out by its Gaussian leaves out its label.

    Parameters
    ----------
    mode : Mode
        Of labels.
    solve : callable
        What solves its ridge problems.
    exact : bool
        Whether it is to the last digits, or to be compared.

    References
    ----------
    .. [M01] T. Minka, Expectation propagation for approximate Bayesian inference, UAI 2001.
    .. [KR05] M. Kuss, C. Rasmussen, Assessing approximate inference for binary Gaussian process
       classification, Journal of Machine Learning Research 6 (2005).
    """
    problem, r, z = mode.problem, mode.r, mode.target
    for _ in range(_SWEEPS):
        answer = solve(problem.design, r, z, 1 / mode.alpha, intercept=problem.intercept)
        f = problem.latent(answer.weights, answer.intercept)
        v = answer.latent_variance(problem.design, r)
        asked, pull, said = _ask(mode, r, z, f, v)
        moved = np.abs(pull - r * z - (asked - r) * f) * np.sqrt(v) + np.abs(asked - r) * v
        if moved.max() <= (_SETTLED if exact else _NEAR):
            break
        pull = r * z + _PACE * (pull - r * z)
        r = r + _PACE * (asked - r)
        z = pull / r
    penalty = float(r @ (z - f) ** 2) + float(mode.alpha @ answer.weights**2)
    evidence = said - 0.5 * (penalty + answer.log_det)
    if problem.intercept:
        # Flat in units of the latent: all that labels may tell is signs, and those know no unit.
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


def _ask(mode: Mode, r: Array, z: Array, f: Array, v: Array) -> tuple[Array, Array, float]:
    """Return precision, and precision times target, that labels ask for, and what they say in nats.

    That is for each row, of each copy of it, the log of the integrated probability over the integral of
    its Gaussian, both under what the others say of its latent.
    """
    weight, binary = mode.problem.weight, cast(Binary, mode.likelihood)
    own = r / np.maximum(weight, 1.0)
    left = np.maximum(1 - v * own, _LEAST)
    m_left, v_left = (f - v * own * z) / left, v / left
    log_p, slope, curvature = binary.integrated(mode.problem.y, m_left, v_left)
    away = (z - m_left) ** 2 / (v_left + 1 / own)
    said = float(weight @ (log_p + 0.5 * np.log1p(own * v_left) + 0.5 * away))
    curvature = np.maximum(curvature, _LEAST / (1 + v_left))
    asked = weight * curvature / np.maximum(1 - v_left * curvature, _LEAST)
    asked = np.maximum(asked, _LEAST * asked.max())
    return asked, asked * (m_left + slope / curvature), said
