"""Seeded generators of the papers' synthetic problems."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.signal import lfilter

from .._protocols import Seed

Floats: TypeAlias = NDArray[np.float64]
Labels: TypeAlias = NDArray[np.int64]

# Rows are classes, columns the two components of the mixture.
RIPLEY_CENTRES = np.array([[[-0.7, 0.3], [0.3, 0.3]], [[-0.3, 0.7], [0.4, 0.7]]])

# Coefficients and standard deviation of the noise, section 7 of Tibshirani (1996).
_TIBSHIRANI: dict[str, tuple[tuple[float, ...], float]] = {
    "few": ((3.0, 1.5, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0), 3.0),
    "dense": ((0.85,) * 8, 3.0),
    "one": ((5.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0), 2.0),
}


def make_ripley(n_samples: int = 250, random_state: Seed = None) -> tuple[Floats, Labels]:
    """Draw from the density of Ripley's synthetic problem.

    Two classes in the plane, each an equal mixture of two round Gaussians of variance 0.03: class 0
    around (-0.7, 0.3) and (0.3, 0.3), class 1 around (-0.3, 0.7) and (0.4, 0.7) (Ripley, Pattern
    Recognition and Neural Networks, 1996). The Bayes error is 8.9 %; the 8 % that is often quoted is the
    error of the Bayes rule on the 1000 published test points, see :func:`load_ripley`.

    Parameters
    ----------
    n_samples : int, default=250
    random_state : int, Generator or None (a new draw each time), default=None

    Returns
    -------
    X, y : ndarrays of shape (n_samples, 2) and (n_samples,), balanced classes 0 and 1, shuffled
    """
    rng = np.random.default_rng(random_state)
    y = balanced_labels(n_samples, rng)
    component = rng.integers(2, size=n_samples)
    return RIPLEY_CENTRES[y, component] + np.sqrt(0.03) * rng.standard_normal((n_samples, 2)), y


def make_gaussian_classes(
    n_samples: int = 200, n_features: int = 2, random_state: Seed = None
) -> tuple[Floats, Labels]:
    """Draw two Gaussian classes that differ in their first two features only.

    Class 1 has mean (1/√2, 1/√2, 0, ..., 0), class 0 the opposite, both the identity covariance, so
    the Bayes error is Φ(-1) = 0.1587 for any number of features. Section 4.1 of Figueiredo and Jain
    (CVPR 2001) and figure 1 of Krishnapuram et al. (TPAMI 2004) show the error as noise features are
    added.

    Parameters
    ----------
    n_samples : int, default=200
    n_features : int, at least 2, default=2
    random_state : int, Generator or None (a new draw each time), default=None

    Returns
    -------
    X, y : ndarrays of shape (n_samples, n_features) and (n_samples,), balanced classes 0 and 1, shuffled
    """
    if n_features < 2:
        raise ValueError(f"n_features must be at least 2, the informative ones; got {n_features}.")
    rng = np.random.default_rng(random_state)
    y = balanced_labels(n_samples, rng)
    X = rng.standard_normal((n_samples, n_features))
    X[:, :2] += ((2 * y - 1) / np.sqrt(2.0))[:, None]
    return X, y


def make_tibshirani(
    n_samples: int = 20,
    coef: Literal["few", "dense", "one"] | ArrayLike = "few",
    sigma: float | None = None,
    rho: float = 0.5,
    random_state: Seed = None,
) -> tuple[Floats, Floats, Floats]:
    """Draw the regression problems on which the lasso was introduced.

    y = X coef + sigma N(0, 1), with rows of X Gaussian, unit variances and correlation
    ``rho**abs(i - j)`` between features i and j (Tibshirani, JRSS B 58, 1996, section 7). Table 1 of
    Figueiredo (NIPS 2001) uses "few" and "one"; its figure 1 (a) uses vectors of 20 coefficients of
    which 1 to 20 are not zero (pass the array).

    Parameters
    ----------
    n_samples : int, default=20
    coef : {"few", "dense", "one"} or array-like of shape (n_features,), default="few"
        "few" is (3, 1.5, 0, 0, 2, 0, 0, 0), example 1; "dense" is 0.85 eight times,
        example 2; "one" is (5, 0, 0, 0, 0, 0, 0, 0), example 3.
    sigma : float, the noise's standard deviation, or None (2 for "one", else 3), default=None
    rho : float between -1 and 1, the correlation of neighbouring features, default=0.5
    random_state : int, Generator or None (a new draw each time), default=None

    Returns
    -------
    X, y, coef : ndarrays of shape (n_samples, n_features), (n_samples,) and (n_features,)
    """
    values: Any = coef
    published_sigma = 3.0
    if isinstance(coef, str):
        if coef not in _TIBSHIRANI:
            names = ", ".join(map(repr, _TIBSHIRANI))
            raise ValueError(f"coef must be one of {names} or an array, got {coef!r}.")
        values, published_sigma = _TIBSHIRANI[coef]
    true_coef = np.array(values, dtype=np.float64)
    if true_coef.ndim != 1:
        raise ValueError(f"coef must have one dimension, got shape {true_coef.shape}.")
    rng = np.random.default_rng(random_state)
    X = _correlated_rows(n_samples, true_coef.size, rho, rng)
    noise = (published_sigma if sigma is None else sigma) * rng.standard_normal(n_samples)
    return X, X @ true_coef + noise, true_coef


def make_sinc(
    n_samples: int = 50, noise: float = 0.1, random_state: Seed = None
) -> tuple[Floats, Floats]:
    """Draw noisy values of sin(x) / x at random points between -10 and 10.

    The kernel regression example of Tipping (NIPS 12, 2000), and figure 1 (b) and table 2 of Figueiredo
    (NIPS 2001). The true function is ``np.sinc(X / np.pi)``; ``noise=0`` returns its values.

    Parameters
    ----------
    n_samples : int, default=50
    noise : float, the standard deviation of the noise, default=0.1
    random_state : int, Generator or None (a new draw each time), default=None

    Returns
    -------
    X, y : ndarrays of shape (n_samples, 1) and (n_samples,), points uniform on [-10, 10), noisy values
    """
    rng = np.random.default_rng(random_state)
    x = rng.uniform(-10.0, 10.0, size=n_samples)
    return x[:, None], np.sinc(x / np.pi) + noise * rng.standard_normal(n_samples)


def make_sparse_regression(
    n_samples: int = 150,
    n_features: int = 500,
    n_relevant: int = 10,
    rho: float = 0.0,
    noise: float = 1.0,
    random_state: Seed = None,
) -> tuple[Floats, Floats, Floats]:
    """Draw a linear regression problem with more features than observations, few of them relevant.

    y = X coef + noise N(0, 1). Relevant features are placed at random; each coefficient has a random
    sign and a magnitude uniform on [1, 3). Rows of X are Gaussian with unit variances and correlation
    ``rho**abs(i - j)``.

    Parameters
    ----------
    n_samples, n_features : int, default=150 and 500
    n_relevant : int, the number of coefficients that are not zero, default=10
    rho : float between -1 and 1, the correlation of neighbouring features, default=0.0
    noise : float, the standard deviation of the noise, default=1.0
    random_state : int, Generator or None (a new draw each time), default=None

    Returns
    -------
    X, y, coef : ndarrays of shape (n_samples, n_features), (n_samples,) and (n_features,)
    """
    rng = np.random.default_rng(random_state)
    coef = _random_signs(n_features, n_relevant, rng)
    coef *= rng.uniform(1.0, 3.0, size=n_features)
    X = _correlated_rows(n_samples, n_features, rho, rng)
    return X, X @ coef + noise * rng.standard_normal(n_samples), coef


def make_sparse_classification(
    n_samples: int = 150,
    n_features: int = 1000,
    n_relevant: int = 5,
    weight: float = 2.0,
    rho: float = 0.0,
    random_state: Seed = None,
) -> tuple[Floats, Labels, Floats]:
    """Draw a probit classification problem with many features, few of them relevant.

    y = 1 where X coef + N(0, 1) > 0. Relevant features are placed at random; each coefficient is
    ``weight`` with a random sign. Rows of X are as in :func:`make_sparse_regression`. With 50 features,
    2 to 50 of them relevant, and ``weight=3`` these are the problems of figure 3 of Liu et al. (IJCAI
    2013), up to the signs and the order of the features.

    Parameters
    ----------
    n_samples, n_features : int, default=150 and 1000
    n_relevant : int, the number of coefficients that are not zero, default=5
    weight : float, their magnitude in standard deviations of the latent noise, default=2.0
    rho : float between -1 and 1, the correlation of neighbouring features, default=0.0
    random_state : int, Generator or None (a new draw each time), default=None

    Returns
    -------
    X, y, coef : ndarrays of shape (n_samples, n_features), (n_samples,) and (n_features,)
        The design, the classes 0 and 1, whose numbers are random, and the true coefficients.
    """
    rng = np.random.default_rng(random_state)
    coef = weight * _random_signs(n_features, n_relevant, rng)
    X = _correlated_rows(n_samples, n_features, rho, rng)
    y = (X @ coef + rng.standard_normal(n_samples) > 0).astype(np.int64)
    return X, y, coef


def make_spiral(
    n_samples: int = 200, turns: float = 2.0, noise: float = 0.03, random_state: Seed = None
) -> tuple[Floats, Labels]:
    r"""Draw two interleaved spirals.

    Class 0 lies along :math:`(\rho\cos t, \rho\sin t)` with :math:`t = 2\pi\,\mathrm{turns}\,\rho` and
    :math:`\rho` such that the points fill the unit disc evenly, class 1 along the same curve turned
    by half a circle; both with Gaussian noise. Neighbouring arms are ``1 / (2 * turns)`` apart. Kernels
    are needed all along the arms, so that very sparse priors fail. (The spirals of Liu et al., IJCAI
    2013, are :func:`make_offset_spirals`.)

    Parameters
    ----------
    n_samples : int, default=200
    turns : float, how often each arm goes around, default=2.0
    noise : float, the standard deviation of the noise, default=0.03
    random_state : int, Generator or None (a new draw each time), default=None

    Returns
    -------
    X, y : ndarrays of shape (n_samples, 2) and (n_samples,), balanced classes 0 and 1, shuffled
    """
    rng = np.random.default_rng(random_state)
    y = balanced_labels(n_samples, rng)
    radius = np.sqrt(rng.uniform(size=n_samples))
    angle = 2 * np.pi * turns * radius + np.pi * y
    curve = radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    return curve + noise * rng.standard_normal((n_samples, 2)), y


def make_offset_spirals(
    n_samples: int = 400, turns: float = 2.0, noise: float = 0.35, random_state: Seed = None
) -> tuple[Floats, Labels]:
    r"""Draw two spirals of which one lies outside the other, as the Spider toolbox does.

    Class 0 lies along :math:`t\,(\cos t, \sin t)` with :math:`t` uniform between 0 and
    :math:`2\pi\,\mathrm{turns}`, class 1 along :math:`(1 + t)(\cos t, \sin t)` at the same values of
    :math:`t`; to each coordinate uniform noise between 0 and ``noise`` is added. The arms are 1 and
    :math:`2\pi - 1` apart in turn, and up to a ``noise`` of 0.46 the classes do not overlap. The spirals
    of Liu et al. (IJCAI 2013) were drawn with this toolbox (Weston et al., The Spider 1.71, 2006). The
    defaults are those of its examples, since the paper does not give its settings.

    Parameters
    ----------
    n_samples : int, default=400
    turns : float, how often each arm goes around, default=2.0
    noise : float, the width of the uniform noise, default=0.35
    random_state : int, Generator or None (a new draw each time), default=None

    Returns
    -------
    X, y : ndarrays of shape (n_samples, 2) and (n_samples,), balanced classes 0 and 1, shuffled
    """
    rng = np.random.default_rng(random_state)
    y = balanced_labels(n_samples, rng)
    place = rng.uniform(0, 2 * np.pi * turns, size=n_samples - n_samples // 2)
    angle = np.empty(n_samples)
    for label in (0, 1):  # the same values of t for both
        angle[y == label] = place[: np.count_nonzero(y == label)]
    curve = (angle + y)[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    return curve + noise * rng.uniform(size=(n_samples, 2)), y


def make_cross(
    n_samples: int = 200, ratio: float = 7.0, random_state: Seed = None
) -> tuple[Floats, Labels]:
    r"""Draw two long Gaussians that cross at right angles.

    Class 0 is centred Gaussian with standard deviations 1 and ``1 / ratio``, class 1 the same turned
    by 90 degrees. The best boundary is an X and the Bayes error is
    :math:`\tfrac2\pi\arctan(1/\mathrm{ratio})`, 9.0 % for the default. Few kernels suffice. Liu et al.
    (IJCAI 2013) compare it with spirals, but do not give the ``ratio``.

    Parameters
    ----------
    n_samples : int, default=200
    ratio : float, length over width of each class, default=7.0
    random_state : int, Generator or None (a new draw each time), default=None

    Returns
    -------
    X, y : ndarrays of shape (n_samples, 2) and (n_samples,), balanced classes 0 and 1, shuffled
    """
    rng = np.random.default_rng(random_state)
    y = balanced_labels(n_samples, rng)
    X = rng.standard_normal((n_samples, 2)) * [1.0, 1 / ratio]
    return np.where(y[:, None] == 1, X[:, ::-1], X), y


def balanced_labels(n_samples: int, rng: np.random.Generator) -> Labels:
    """Return half zeros, half ones, in random order."""
    return rng.permutation((np.arange(n_samples) >= n_samples // 2).astype(np.int64))


def _random_signs(n_features: int, n_relevant: int, rng: np.random.Generator) -> Floats:
    """Return zeros, but for ``n_relevant`` entries of -1 or 1 at random places."""
    if not 0 <= n_relevant <= n_features:
        raise ValueError(f"n_relevant must be between 0 and {n_features}, got {n_relevant}.")
    signs = np.zeros(n_features)
    places = rng.choice(n_features, size=n_relevant, replace=False)
    signs[places] = rng.choice([-1.0, 1.0], size=n_relevant)
    return signs


def _correlated_rows(n: int, p: int, rho: float, rng: np.random.Generator) -> Floats:
    """Return Gaussian rows with unit variances and correlation rho^|i-j|, in O(n p)."""
    if not -1.0 < rho < 1.0:
        raise ValueError(f"rho must be between -1 and 1, got {rho}.")
    X = rng.standard_normal((n, p))
    if rho == 0.0:
        return X
    # x_j = rho x_{j-1} + sqrt(1 - rho^2) e_j has that covariance if x_0 has unit variance.
    innovation = np.sqrt(1.0 - rho**2)
    X[:, 1:] *= innovation
    return np.asarray(lfilter([1.0], [1.0, -rho], X, axis=1), dtype=np.float64)
