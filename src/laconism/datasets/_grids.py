"""Seeded generators of problems with tables and tensors of features, and the mixture of their paper."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._protocols import Seed
from ._generators import Floats, Labels, balanced_labels

Target: TypeAlias = Floats | Labels


def mixture_means(random_state: Seed = None) -> Floats:
    """Draw the means of :func:`make_mixture`: ten per class, in the plane.

    Those of class 0 come from N((1, 0), I), those of class 1 from N((0, 1), I). The means of the
    published draw are in :func:`load_esl_mixture`.

    Parameters
    ----------
    random_state : int, Generator or None (a new draw each time), default=None

    Returns
    -------
    means : ndarray of shape (2, 10, 2), by class
    """
    centres = np.array([[[1.0, 0.0]], [[0.0, 1.0]]])
    return centres + np.random.default_rng(random_state).standard_normal((2, 10, 2))


def make_mixture(
    n_samples: int = 200,
    *,
    n_noise: int = 0,
    means: ArrayLike | None = None,
    random_state: Seed = None,
) -> tuple[Floats, Labels]:
    r"""Draw from the mixture of The Elements of Statistical Learning, with optional noise features.

    The density of class c is :math:`\frac{1}{10} \sum_{k=1}^{10} N(x \mid m_{ck}, I/5)` in the plane
    (Hastie, Tibshirani and Friedman, 2001, section 2.3.3). Table 1 of the gridRVM paper has rows without
    and with 2 and 15 features of standard normal noise (``n_noise``). The Bayes error depends on the
    means only; for the published ones it is 20.8 %.

    Parameters
    ----------
    n_samples : int, default=200
    n_noise : int, noise features after the two relevant ones, which do not depend on it, default=0
    means : array-like of shape (2, n_components, 2) or None, default=None
        The means by class. Pass the same means to draw training and test points of one problem. None
        draws them as ``mixture_means(random_state)`` does.
    random_state : int, Generator or None (a new draw each time), default=None

    Returns
    -------
    X, y : ndarrays of shape (n_samples, 2 + n_noise) and (n_samples,), balanced classes 0, 1, shuffled

    Examples
    --------
    >>> from laconism.datasets import make_mixture, mixture_means
    >>> means = mixture_means(random_state=0)
    >>> X, y = make_mixture(200, n_noise=15, means=means, random_state=1)
    >>> X_test, y_test = make_mixture(5000, n_noise=15, means=means, random_state=2)
    >>> X.shape, X_test.shape, int(y.sum())
    ((200, 17), (5000, 17), 100)
    """
    if n_noise < 0:
        raise ValueError(f"n_noise must not be negative, got {n_noise}.")
    rng = np.random.default_rng(random_state)
    centres = mixture_means(rng) if means is None else np.asarray(means, dtype=np.float64)
    if centres.ndim != 3 or centres.shape[::2] != (2, 2) or centres.shape[1] == 0:
        raise ValueError(f"means must have shape (2, n_components, 2), got {centres.shape}.")
    y = balanced_labels(n_samples, rng)
    component = rng.integers(centres.shape[1], size=n_samples)
    X = centres[y, component] + np.sqrt(0.2) * rng.standard_normal((n_samples, 2))
    return np.hstack([X, rng.standard_normal((n_samples, n_noise))]), y


def make_grid(
    n_samples: int = 100,
    shape: Sequence[int] = (10, 8),
    *,
    relevant: Sequence[int | Sequence[int]],
    kind: Literal["regression", "classification"] = "regression",
    noise: float = 0.5,
    random_state: Seed = None,
) -> tuple[Floats, Target, Floats]:
    r"""Draw a linear problem whose features form a table or a tensor with few relevant slices.

    .. math:: f_i = \sum_k x_{ik} c_k, \qquad k = (k_1, \ldots, k_d), \qquad
              c_k \neq 0 \iff k_1 \in R_1, \ldots, k_d \in R_d

    Features are independent N(0, 1). The coefficients that are not zero have random signs and sizes
    uniform on [1, 3), normalised so that :math:`\sum_k c_k^2 = 1` and the signal f has variance 1. A
    regression target is f plus ``noise`` times N(0, 1). A class is 1 where that is positive (a probit
    model), so the Bayes error is :math:`\arctan(\mathrm{noise}) / \pi`.

    Parameters
    ----------
    n_samples : int, default=100
    shape : sequence of int, the shape of each observation, with any number of modes, default=(10, 8)
    relevant : sequence of int or of sequences of int
        For each mode the number of relevant slices, which are then placed at random, or their indices.
    kind : {"regression", "classification"}, numbers or classes, default="regression"
    noise : float, the noise's standard deviation as a fraction of the signal's, default=0.5
    random_state : int, Generator or None (a new draw each time), default=None

    Returns
    -------
    X, y, coef : ndarrays of shape (n_samples, M1, M2, ...), (n_samples,) and (M1, M2, ...)
        The tables, the responses or classes 0 and 1, whose numbers are random, and the coefficients.

    Examples
    --------
    >>> import numpy as np
    >>> from laconism.datasets import make_grid
    >>> X, y, coef = make_grid(50, (6, 4), relevant=(3, [0, 2]), random_state=0)
    >>> X.shape, coef.shape, int(np.count_nonzero(coef))
    ((50, 6, 4), (6, 4), 6)
    >>> np.flatnonzero(coef.any(axis=0))
    array([0, 2])
    """
    if kind not in ("regression", "classification"):
        raise ValueError(f"kind must be 'regression' or 'classification', got {kind!r}.")
    if len(relevant) != len(shape) or not len(shape):
        raise ValueError(
            f"relevant must have one entry for each of the {len(shape)} modes, got {len(relevant)}."
        )
    rng = np.random.default_rng(random_state)
    slices = [_slices(which, size, rng) for which, size in zip(relevant, shape, strict=True)]
    coef = np.zeros(tuple(shape))
    inside = coef[np.ix_(*slices)].shape
    coef[np.ix_(*slices)] = rng.choice([-1.0, 1.0], size=inside) * rng.uniform(1.0, 3.0, size=inside)
    coef /= np.sqrt(np.sum(coef**2))
    X = rng.standard_normal((n_samples, *shape))
    latent = X.reshape(n_samples, -1) @ coef.ravel() + noise * rng.standard_normal(n_samples)
    y: Target = latent if kind == "regression" else (latent > 0).astype(np.int64)
    return X, y, coef


def _slices(which: Any, size: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Return the given indices, or a given number of random ones."""
    if np.ndim(which) == 0:
        count = index(which)
        if not 1 <= count <= size:
            raise ValueError(f"A mode of {size} slices has 1 to {size} relevant ones, got {count}.")
        return np.sort(rng.choice(size, size=count, replace=False)).astype(np.intp)
    given = np.array([index(i) for i in which], dtype=np.intp)
    if not given.size or len(np.unique(given)) < given.size or not np.all((given >= 0) & (given < size)):
        raise ValueError(
            f"The relevant slices of a mode must be different indices from 0 to {size - 1}, "
            f"at least one; got {given.tolist()}."
        )
    return given
