"""More than two classes: from one-against-rest probabilities to those of the classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import logsumexp

from .._protocols import Array, Index


def answers(likelihood: Any, latents: Sequence[tuple[Array, Array]]) -> tuple[Array, Array]:
    """Return the log probabilities of each class and of the rest, a column for each latent."""
    yes, no = (
        np.column_stack([likelihood.predictive(np.full_like(m, sign), m, v) for m, v in latents])
        for sign in (1.0, -1.0)
    )
    return yes, no


def couple(yes: Array, no: Array, coupling: float) -> Array:
    r"""Return the log probabilities of the classes.

    From the probabilities :math:`p_k` of each class against the rest,

    .. math:: q_k \propto p_k\,(1 - p_k)^{-c}.

    With :math:`c = 0` they are only normalised. With :math:`c = 1` the one-against-rest labels are
    independent, given that exactly one is positive: :math:`q_k \propto p_k\prod_{j\ne k}(1 - p_j)`.
    ``yes`` and ``no`` are the logarithms of :math:`p_k` and :math:`1 - p_k`, ``coupling`` is c.
    """
    score = yes - coupling * no
    return np.asarray(score - logsumexp(score, axis=1, keepdims=True))


def log_proba_of(codes: Index, classes: Array) -> Array:
    """Return the log probability of each row's class, from those of all."""
    return np.asarray(np.take_along_axis(classes, codes[:, None], axis=1)[:, 0])
