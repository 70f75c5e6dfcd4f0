"""Two classes in the plane: spirals, which need many kernels, and a cross, which needs few."""

from __future__ import annotations

import numpy as np

from .._protocols import Seed
from ._generators import Floats, Labels, balanced_labels


def make_spiral(
    n_samples: int = 200, turns: float = 2.0, noise: float = 0.03, random_state: Seed = None
) -> tuple[Floats, Labels]:
    r"""Draw two interleaved spirals.

    Class 0 lies along :math:`(\rho\cos t, \rho\sin t)` with :math:`t = 2\pi\,\mathrm{turns}\,\rho` and
    :math:`\rho` such that the points fill the unit disc evenly, class 1 along the same curve turned
    by half a circle; both with Gaussian noise. Neighbouring arms are ``1 / (2 * turns)`` apart. Kernels
    are needed all along the arms: sections 2.1 and 6.2 of [1]_ show that very sparse priors fail here.
    (The spirals of that paper are :func:`make_offset_spirals`.)

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
    >>> from laconism.datasets import make_spiral
    >>> X, y = make_spiral(n_samples=100, random_state=0)
    >>> X.shape, int(y.sum())
    ((100, 2), 50)
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
    of figure 1 and table 1 of [1]_ were drawn with this toolbox [2]_. The defaults are those of the
    toolbox's examples (200 points per class), since [1]_ does not give its settings.

    Parameters
    ----------
    n_samples : int, default=400
        Number of points; the classes are balanced (class 1 has the odd one) and shuffled.
    turns : float, default=2.0
        How often each arm goes around.
    noise : float, default=0.35
        Width of the uniform noise.
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
    .. [2] J. Weston, A. Elisseeff, G. BakIr and F. Sinz, "The Spider", version 1.71, 2006.

    Examples
    --------
    >>> import numpy as np
    >>> from laconism.datasets import make_offset_spirals
    >>> X, y = make_offset_spirals(100, noise=0.0, random_state=0)
    >>> radius = np.sort(np.linalg.norm(X, axis=1)[y == 1]), np.sort(np.linalg.norm(X, axis=1)[y == 0])
    >>> bool(np.allclose(radius[0] - radius[1], 1.0))
    True
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
    :math:`\tfrac2\pi\arctan(1/\mathrm{ratio})`, 9.0 % for the default. Few kernels suffice. Sections 2.1
    and 6.2 of [1]_ compare it with spirals (:func:`make_spiral`) but do not give the ``ratio``.

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
    >>> from laconism.datasets import make_cross
    >>> X, y = make_cross(n_samples=100, random_state=0)
    >>> X[y == 0].std(axis=0).round(1)
    array([1.1, 0.1])
    """
    rng = np.random.default_rng(random_state)
    y = balanced_labels(n_samples, rng)
    X = rng.standard_normal((n_samples, 2)) * [1.0, 1 / ratio]
    return np.where(y[:, None] == 1, X[:, ::-1], X), y
