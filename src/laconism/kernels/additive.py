"""Additive kernels: sums over small sets of features of products of one-dimensional kernels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .._component import is_count, is_positive, require
from .._protocols import Array
from ..linalg import CACHED_ENTRIES, as_dense, row_blocks
from ._pairwise import as_pair
from .base import Kernel


class Additive(Kernel):
    r"""A sum over all sets of up to ``order`` features of products of one-dimensional kernels.

    .. math:: K(x, c) = \sum_{o=1}^{d} v_o\, e_o\bigl(w_1k_1(x_1, c_1), \dots, w_pk_p(x_p, c_p)\bigr)

    with the elementary symmetric polynomial :math:`e_o`, the sum of all products of :math:`o` different
    terms (Duvenaud, Nickisch and Rasmussen 2011). It takes O(p d) operations for a pair of rows.

    The one-dimensional kernel is :math:`\exp(-\gamma_j(x_j - c_j)^2)`. With ``mean`` and ``deviation``
    it is centred: functions of one feature have mean zero if that feature has this normal distribution,
    and variance one on average. Then no order can imitate a lower one, so main effects and interactions
    are identified (orthogonal additive kernels; Durrande et al. 2013, Lu, Boukouvalas and Hensman 2022).

    Parameters
    ----------
    order : int, default=2
        Largest number of features in a product. With ``order = p`` and all weights and variances one,
        the kernel is the product of :math:`1 + k_j`, less one.
    gamma : float or array-like of shape (p,), default=1.0
        Inverse squared widths, positive.
    weights : array-like of shape (p,) or None, default=None
        Weights of the features, not negative; zero removes a feature, ``None`` is one for all.
    variances : array-like of shape (order,) or None, default=None
        Variances of the orders, not negative; ``None`` is one for all.
    mean, deviation : array-like of shape (p,) or None, default=None
        Normal distribution of each feature under which its functions have mean zero; ``None`` does not
        centre.

    Examples
    --------
    >>> from laconism.kernels import Additive
    >>> kernel = Additive(order=2, gamma=0.5)
    >>> kernel([[0.0, 0.0], [1.0, 2.0]], [[0.0, 0.0]]).round(3)
    array([[3.   ],
           [0.824]])
    """

    def __init__(
        self,
        order: int = 2,
        gamma: float | ArrayLike = 1.0,
        weights: ArrayLike | None = None,
        variances: ArrayLike | None = None,
        mean: ArrayLike | None = None,
        deviation: ArrayLike | None = None,
    ) -> None:
        self.order = order
        self.gamma = gamma
        self.weights = weights
        self.variances = variances
        self.mean = mean
        self.deviation = deviation

    def check(self) -> None:
        """Raise ``ValueError`` unless all parameters are finite and their lengths agree."""
        require(is_count(self.order), self, "order must be a positive whole number", self.order)
        gamma = self.gamma
        allowed = is_positive(gamma) or (np.ndim(gamma) == 1 and _all_finite(gamma, positive=True))
        require(allowed, self, "gamma must be positive, one number or one per feature", gamma)
        for name, n in (("weights", None), ("variances", self.order)):
            value = getattr(self, name)
            allowed = value is None or (np.ndim(value) == 1 and n in (None, np.size(value)))
            allowed = allowed and (value is None or _all_finite(value, positive=False))
            require(allowed, self, f"{name} must be a list of finite numbers, not negative", value)
        require(
            (self.mean is None) == (self.deviation is None),
            self,
            "mean and deviation must be given together",
            self.mean,
        )
        if self.mean is not None:
            allowed = bool(np.isfinite(self.mean).all()) and _all_finite(self.deviation, positive=True)
            require(allowed, self, "mean must be finite and deviation positive", self.deviation)
        given = (self.gamma, self.weights, self.mean, self.deviation)
        lengths = {np.size(each) for each in given if each is not None and np.ndim(each) == 1}
        require(len(lengths) <= 1, self, "lists must have one entry per feature", lengths)

    def __call__(self, X: Any, C: Any) -> Array:
        """Return the sum of the elementary symmetric polynomials for every pair of rows."""
        terms, A, B = self._prepared(X, C)
        v = self.order_variances()
        K = np.zeros((A.shape[0], B.shape[0]))
        for rows in row_blocks(A.shape[0], B.shape[0], CACHED_ENTRIES):
            columns = slice(rows.start if A is B else 0, None)  # of a symmetric matrix one triangle
            part = K[rows, columns]
            part[:] = _combined(
                _polynomials(self._each(terms, A[rows], B[columns]), v.size, part.shape), v
            )
            if A is B:
                K[columns, rows] = part.T
        return K

    def diag(self, X: Any) -> Array:
        """Return the diagonal: that of each one-dimensional kernel, combined."""
        terms, A, _ = self._prepared(X, X)
        v = self.order_variances()
        each = (term.diagonal(A[:, term.feature]) for term in terms)
        return _combined(_polynomials(each, v.size, (A.shape[0],)), v)

    def scale_gradient(self, X: Any, C: Any, theta: Any, W: Any) -> Array:
        """Return the gradient in feature scales that multiply ``gamma``; not of a centred kernel."""
        if self.mean is not None:
            raise ValueError("Additive: no scales fit on top of a mean; leave mean and deviation out.")
        gamma = np.broadcast_to(np.asarray(self.gamma, dtype=np.float64), np.shape(theta))
        scaled = Additive(self.order, gamma * np.asarray(theta), self.weights, self.variances)
        return gamma * scaled.parameter_gradients(X, C, W).gamma

    def parameter_gradients(self, X: Any, C: Any, W: Array) -> _ParameterGradients:
        """Return the gradients of ``sum_ij W_ij K(x_i, c_j)`` in weights, gamma and variances.

        Those of features of weight zero are zero, but for the weight's own.
        """
        terms, A, B = self._prepared(X, C, every=True)
        v, p = self.order_variances(), A.shape[1]
        by_weight, by_gamma, by_order = np.zeros(p), np.zeros(p), np.zeros(v.size)
        for rows in row_blocks(A.shape[0], B.shape[0], CACHED_ENTRIES):
            columns, G = slice(rows.start if A is B else 0, None), W[rows]
            if A is B:  # of a symmetric matrix one triangle
                G = (G + W[:, rows].T)[:, columns]
                G[:, : rows.stop - rows.start] /= 2
            part, other = A[rows], B[columns]
            sums = _polynomials(self._each(terms, part, other), v.size, G.shape)
            by_order += [np.vdot(G, each) for each in sums]
            for term in terms:
                x, c = part[:, term.feature], other[:, term.feature]
                sq = np.square(x[:, None] - c)
                E = np.exp(-term.gamma * sq)
                k = term.centred(E, x, c)
                H = G * _without(sums, v, term.weight * k)
                by_weight[term.feature] += np.vdot(H, k)
                if term.weight > 0:
                    by_gamma[term.feature] += term.weight * term.slope(H, H * E, sq, x, c)
        return _ParameterGradients(by_weight, by_gamma, by_order)

    def effect(self, X: Any, C: Any, features: Sequence[int]) -> Array:
        """Return the part of the kernel that belongs to one set of features, such as one or a pair."""
        terms, A, B = self._prepared(X, C, every=True)
        found = np.full((A.shape[0], B.shape[0]), self.order_variances()[len(features) - 1])
        for feature in features:
            term = terms[feature]
            found *= term.weight * term.of(A[:, feature], B[:, feature])
        return found

    def effect_products(self, C: Any, features: Sequence[int]) -> Array:
        """Return the products of the effects of a set of features at centres, averaged over the inputs.

        The inputs have the normal distribution under which the kernel is centred, so the variance of the
        effect of a function ``sum_j a_j K(x, c_j)`` is ``a' L a`` with this matrix ``L``.
        """
        if self.mean is None:
            raise ValueError("Additive: effects need a centred kernel; give mean and deviation.")
        terms, B, _ = self._prepared(C, C, every=True)
        found = np.full((B.shape[0],) * 2, self.order_variances()[len(features) - 1] ** 2)
        for feature in features:
            term = terms[feature]
            found *= term.weight**2 * term.mean_product(B[:, feature])
        return found

    def order_variances(self) -> Array:
        """Return the variance of each order."""
        if self.variances is None:
            return np.ones(self.order)
        return np.asarray(self.variances, dtype=np.float64)

    def terms(self, n_features: int, *, every: bool = False) -> list[_Term]:
        """Return the kernel of each feature of positive weight, or of every feature."""
        for name in ("gamma", "weights", "mean", "deviation"):
            value = getattr(self, name)
            if np.ndim(value) == 1 and np.size(value) != n_features:
                raise ValueError(
                    f"Additive: {name} must have one entry per feature ({n_features}), got "
                    f"{np.size(value)}."
                )
        is_centred = self.mean is not None
        given: list[Any] = [self.gamma, 1.0 if self.weights is None else self.weights]
        given += [self.mean, self.deviation] if is_centred else [0.0, 1.0]
        each = (np.broadcast_to(np.asarray(value, dtype=np.float64), n_features) for value in given)
        return [
            _Term(j, float(gamma * unit**2), float(weight), float(mean), float(unit), is_centred)
            for j, (gamma, weight, mean, unit) in enumerate(zip(*each, strict=True))
            if every or weight > 0
        ]

    def _prepared(self, X: Any, C: Any, *, every: bool = False) -> tuple[list[_Term], Array, Array]:
        """Return the terms and both matrices, standardised."""
        A, B = as_pair(X, C)
        same = A is B
        A = as_dense(A)
        B = A if same else as_dense(B)
        if not (np.isfinite(A).all() and (same or np.isfinite(B).all())):
            raise ValueError("A kernel needs finite numbers, got NaN or infinity.")
        terms = self.terms(A.shape[1], every=every)
        if self.mean is not None:
            A = (A - self.mean) / self.deviation
            B = A if same else (B - self.mean) / self.deviation
        return terms, A, B

    @staticmethod
    def _each(terms: Sequence[_Term], A: Array, B: Array) -> Iterator[Array]:
        """Yield the weighted one-dimensional kernel of each feature."""
        for term in terms:
            if term.weight > 0:
                yield term.weight * term.of(A[:, term.feature], B[:, term.feature])


class _ParameterGradients(NamedTuple):
    """The gradients of a weighted sum of kernel values in the parameters of an additive kernel."""

    weights: Array
    gamma: Array
    variances: Array


class _Term(NamedTuple):
    """The kernel of one feature, in standardised units if it is centred."""

    feature: int
    gamma: float
    weight: float
    mean: float
    deviation: float
    is_centred: bool

    def of(self, x: Array, c: Array) -> Array:
        """Return the kernel for every pair of values."""
        sq = np.subtract.outer(x, c)
        np.multiply(sq, sq, out=sq)
        sq *= -self.gamma
        return self.centred(np.exp(sq, out=sq), x, c)

    def centred(self, E: Array, x: Array, c: Array) -> Array:
        """Return the kernel, given the Gaussian one, which is overwritten unless it is the kernel."""
        if not self.is_centred:
            return E
        mean = np.multiply.outer(self.mean_at(x), self.mean_at(c) / self.grand_mean)
        return np.asarray((E - mean) / self.height)

    def diagonal(self, x: Array) -> Array:
        """Return the weighted kernel of each value with itself."""
        if not self.is_centred:
            return np.full(x.size, self.weight)
        return self.weight * (1 - self.mean_at(x) ** 2 / self.grand_mean) / self.height

    def slope(self, H: Array, HE: Array, sq: Array, x: Array, c: Array) -> float:
        """Return ``sum H dk/dgamma``; ``HE`` is ``H`` times the Gaussian kernel."""
        moved = -float(np.vdot(HE, sq))
        if self.is_centred:
            a = self.gamma
            mx, mc = self.mean_at(x), self.mean_at(c)
            change_x, change_c = (mx * self._mean_slope(x), mc * self._mean_slope(c))
            Hm = H @ mc
            outer = float(mx @ Hm)
            change = float(change_x @ Hm) + float(mx @ (H @ change_c)) + 2 / (1 + 4 * a) * outer
            g = 1 - self.height
            height_slope = -g * (2 / (1 + 4 * a) - 1 / (1 + 2 * a) - 3 / (1 + 6 * a))
            value = (float(HE.sum()) - outer / self.grand_mean) / self.height
            moved = (moved - change / self.grand_mean - height_slope * value) / self.height
        return moved * self.deviation**2

    def mean_product(self, c: Array) -> Array:
        """Return ``E[k(S, c_i) k(S, c_j)]`` for a standard normal ``S``."""
        a, M = self.gamma, self.grand_mean
        middle, apart = np.add.outer(c, c) / 2, np.subtract.outer(c, c)
        both = np.exp(-2 * a * middle**2 / (1 + 4 * a) - a * apart**2 / 2) / np.sqrt(1 + 4 * a)
        b = a / (1 + 2 * a)
        total = 1 + 2 * (a + b)
        one = np.exp(-a * c**2 + 2 * (a * c) ** 2 / total) / np.sqrt(total * (1 + 2 * a))
        m = self.mean_at(c) / M
        square = 1 / ((1 + 2 * a) * np.sqrt(1 + 4 * b))
        cross = np.multiply.outer(one, m)
        return np.asarray((both - cross - cross.T + square * np.multiply.outer(m, m)) / self.height**2)

    def mean_at(self, x: Array) -> Array:
        """Return ``E[exp(-a (x - S)^2)]`` for a standard normal ``S``."""
        spread = 1 + 2 * self.gamma
        return np.asarray(np.exp(-self.gamma * x**2 / spread) / np.sqrt(spread))

    def _mean_slope(self, x: Array) -> Array:
        """Return the derivative of its logarithm in ``a``."""
        spread = 1 + 2 * self.gamma
        return np.asarray(-1 / spread - (x / spread) ** 2)

    @property
    def grand_mean(self) -> float:
        """``E[exp(-a (S - T)^2)]`` for independent standard normal ``S`` and ``T``."""
        return float(1 / np.sqrt(1 + 4 * self.gamma))

    @property
    def height(self) -> float:
        """The mean over a standard normal ``S`` of the centred kernel of ``S`` with itself."""
        a = self.gamma
        # 1 - sqrt(1 + 4a) / sqrt((1 + 2a)(1 + 6a)), without cancellation for small a.
        inner, outer = 1 + 4 * a, (1 + 2 * a) * (1 + 6 * a)
        root = np.sqrt(outer)
        return float((outer - inner) / (root * (root + np.sqrt(inner))))


def _all_finite(value: Any, *, positive: bool) -> bool:
    array = np.asarray(value)
    return bool(
        array.dtype.kind in "fiu"
        and np.isfinite(array).all()
        and (array > 0 if positive else array >= 0).all()
    )


def _polynomials(terms: Iterator[Array], order: int, shape: tuple[int, ...]) -> list[Array]:
    """Return the elementary symmetric polynomials of orders one to ``order``."""
    sums: list[Array] = [np.zeros(shape) for _ in range(order)]
    for term in terms:
        for o in range(order - 1, 0, -1):
            sums[o] += term * sums[o - 1]
        sums[0] += term
    return sums


def _combined(sums: Sequence[Array], variances: Array) -> Array:
    """Return the sum of the orders with their variances."""
    found = variances[0] * sums[0]
    for variance, each in zip(variances[1:], sums[1:], strict=True):
        found += variance * each
    return np.asarray(found)


def _without(sums: Sequence[Array], variances: Array, term: Array) -> Array:
    """Return the derivative of the combination in one term: the polynomials of all others."""
    found, rest = variances[0], None
    for variance, each in zip(variances[1:], sums[:-1], strict=True):
        rest = each - term if rest is None else each - term * rest
        found = found + variance * rest
    return np.asarray(found)
