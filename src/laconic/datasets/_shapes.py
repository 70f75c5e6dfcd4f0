"""Shapes in the plane: where sparsity hurts, and where it pays."""

from __future__ import annotations

import numpy as np

from laconic.datasets._generators import Floats, Labels, Seed, _balanced_labels


def make_spiral(
    n_samples: int = 200, turns: float = 2.0, noise: float = 0.03, random_state: Seed = None
) -> tuple[Floats, Labels]:
    r"""Draw two interleaved spirals.

    Class 0 lies along :math:`(\rho\cos t, \rho\sin t)` with :math:`t = 2\pi\,\mathrm{turns}\,\rho` and
    :math:`\rho` such that the points fill the unit disc evenly, class 1 along the same curve turned
    by half a circle; both with Gaussian noise. Neighbouring arms are ``1 / (2 * turns)`` apart. Every
    kernel is needed somewhere: sections 2.1 and 6.2 of [1]_ show that sparse priors lose their way
    here. (The paper draws its spirals with a toolbox whose settings it does not give.)

    Parameters
    ----------
    n_samples : int, default=200
        Number of points; the classes are balanced (class 1 has the odd one) and shuffled.
    turns : float, default=2.0
        How often each arm goes around.
    noise : float, default=0.03
        Standard deviation of the noise.
    random_state : int, Generator or None, default=None
        Seed; None draws a new problem each time.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
        The points.
    y : ndarray of shape (n_samples,)
        The classes, 0 or 1.

    References
    ----------
    .. [1] G. Liu, J. Wu and S. Zhou, "Probit classifiers with a generalized Gaussian scale mixture
       prior", IJCAI 2013.

    Examples
    --------
    >>> from laconic.datasets import make_spiral
    >>> X, y = make_spiral(n_samples=100, random_state=0)
    >>> X.shape, int(y.sum())
    ((100, 2), 50)
    """
    rng = np.random.default_rng(random_state)
    y = _balanced_labels(n_samples, rng)
    radius = np.sqrt(rng.uniform(size=n_samples))
    angle = 2 * np.pi * turns * radius + np.pi * y
    curve = radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    return curve + noise * rng.standard_normal((n_samples, 2)), y


def make_cross(
    n_samples: int = 200, ratio: float = 7.0, random_state: Seed = None
) -> tuple[Floats, Labels]:
    r"""Draw two long Gaussians that cross at right angles.

    Class 0 is centred Gaussian with standard deviations 1 and ``1 / ratio``, class 1 the same turned
    by 90 degrees, so the best boundary is an X and the best possible error
    :math:`\tfrac2\pi\arctan(1/\mathrm{ratio})`, 9.0 % for the default. Few kernels suffice: the sparse
    counterpart of :func:`make_spiral` in sections 2.1 and 6.2 of [1]_, which does not give its
    ``ratio``.

    Parameters
    ----------
    n_samples : int, default=200
        Number of points; the classes are balanced (class 1 has the odd one) and shuffled.
    ratio : float, default=7.0
        Length over width of each class.
    random_state : int, Generator or None, default=None
        Seed; None draws a new problem each time.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
        The points.
    y : ndarray of shape (n_samples,)
        The classes, 0 or 1.

    References
    ----------
    .. [1] G. Liu, J. Wu and S. Zhou, "Probit classifiers with a generalized Gaussian scale mixture
       prior", IJCAI 2013.

    Examples
    --------
    >>> from laconic.datasets import make_cross
    >>> X, y = make_cross(n_samples=100, random_state=0)
    >>> X[y == 0].std(axis=0).round(1)
    array([1.1, 0.1])
    """
    rng = np.random.default_rng(random_state)
    y = _balanced_labels(n_samples, rng)
    X = rng.standard_normal((n_samples, 2)) * [1.0, 1 / ratio]
    return np.where(y[:, None] == 1, X[:, ::-1], X), y
