"""Additive kernels: sums over small sets of features of products of one-dimensional kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from .._component import is_count, is_number, is_positive, require
from .._protocols import Array
from ..linalg import BLOCK_ENTRIES, CACHED_ENTRIES, as_dense, row_blocks
from ._category_term import CategoryPairs, CategoryTerm, as_codes
from ._pairwise import as_pair
from ._term import Pairs, ParameterGradients, Term
from .base import Kernel

AnyTerm: TypeAlias = Term | CategoryTerm
AnyPairs: TypeAlias = Pairs | CategoryPairs


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
        Inverse squared widths, positive; not used for categories.
    weights : array-like of shape (p,) or None, default=None
        Weights of the features, not negative; zero removes a feature, ``None`` is one for all.
    variances : array-like of shape (order,) or None, default=None
        Variances of the orders, not negative; ``None`` is one for all.
    mean, deviation : array-like of shape (p,) or None, default=None
        Normal distribution of each feature under which its functions have mean zero; ``None`` does not
        centre. Categories are centred under their frequencies.
    categories : dict or None, default=None
        For the index of each feature that holds codes of categories, a dict with the frequency of each
        code. The kernel of the feature is one if two codes are equal, and zero otherwise.

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
        categories: Mapping[int, Mapping[float, float]] | None = None,
    ) -> None:
        self.order = order
        self.gamma = gamma
        self.weights = weights
        self.variances = variances
        self.mean = mean
        self.deviation = deviation
        self.categories = categories

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
        categories: Any = {} if self.categories is None else self.categories
        require(
            isinstance(categories, Mapping) and all(_is_category(*each) for each in categories.items()),
            self,
            "categories must give the index of each feature a dict of codes, numbers that differ in "
            "single precision, and their positive frequencies",
            categories,
        )
        given = (self.gamma, self.weights, self.mean, self.deviation)
        lengths = {np.size(each) for each in given if each is not None and np.ndim(each) == 1}
        require(len(lengths) <= 1, self, "lists must have one entry per feature", lengths)

    def __call__(self, X: Any, C: Any) -> Array:
        """Return the sum of the elementary symmetric polynomials for every pair of rows."""
        terms, A, B = self._prepared(X, C)
        pairs = [term.pairs(A[:, term.feature], B[:, term.feature]) for term in terms]
        return self._matrix(pairs, (A.shape[0], B.shape[0]), symmetric=A is B)[0]

    def diag(self, X: Any) -> Array:
        """Return the diagonal: that of each one-dimensional kernel, combined."""
        terms, A, _ = self._prepared(X, X)
        v = self.order_variances()
        each = [term.diagonal(A[:, term.feature]) for term in terms]
        return _combined(_polynomials(each, v.size, (A.shape[0],)), v)

    def scale_gradient(self, X: Any, C: Any, theta: Any, W: Any) -> Array:
        """Return the gradient in feature scales that multiply ``gamma``; not of a centred kernel."""
        if self.mean is not None:
            raise ValueError("Additive: no scales fit on top of a mean; leave mean and deviation out.")
        gamma = np.broadcast_to(np.asarray(self.gamma, dtype=np.float64), np.shape(theta))
        scaled: Additive = clone(self).set_params(gamma=gamma * np.asarray(theta))
        return gamma * scaled.parameter_gradients(X, C, W).gamma

    def parameter_gradients(self, X: Any, C: Any, W: Array) -> ParameterGradients:
        """Return the gradients of ``sum_ij W_ij K(x_i, c_j)`` in weights, gamma and variances.

        Those of features of weight zero are zero, but for the weight's own.
        """
        return self.with_gradients(X, C)[1](W)

    def with_gradients(self, X: Any, C: Any) -> tuple[Array, Callable[[Array], ParameterGradients]]:
        """Return the kernel matrix, and ``parameter_gradients`` as a function of ``W``.

        One-dimensional kernels are evaluated once for both, if they are not too large to keep.
        """
        terms, A, B = self._prepared(X, C, every=True)
        pairs = [term.pairs(A[:, term.feature], B[:, term.feature]) for term in terms]
        used = [each for each in pairs if each.term.weight > 0]
        keep = len(used) * A.shape[0] * B.shape[0] <= 8 * BLOCK_ENTRIES
        K, blocks = self._matrix(used, (A.shape[0], B.shape[0]), symmetric=A is B, keep=keep)

        def gradients(W: Array) -> ParameterGradients:
            v = self.order_variances()
            slopes, by_order = np.zeros((2, A.shape[1])), np.zeros(v.size)
            for block in blocks:
                G = block.of(W, symmetric=A is B)
                sums = block.sums or _polynomials(block.terms(used), v.size, G.shape)
                by_order += [np.vdot(G, each) for each in sums]
                rest = _without_terms(sums, v, G)
                terms = iter(block.terms(used))
                for each in pairs:
                    t = next(terms) if each.term.weight > 0 else None
                    slopes[:, each.term.feature] += each.slopes(rest, t, block.rows, block.columns)
            return ParameterGradients(slopes[0], slopes[1], by_order)

        return K, gradients

    def pair_gradients(self, X: Any, W: Array) -> Array:
        """Return the gradients of ``sum_ij W_ij K(x_i, x_j)`` in the variance of each pair's effect.

        ``W`` is symmetric. The result has an entry for each pair of features; the diagonal is zero.
        """
        terms, A, B = self._prepared(X, X, every=True)
        unit = [term._replace(weight=1.0) for term in terms]
        pairs = [term.pairs(A[:, term.feature], B[:, term.feature]) for term in unit]
        found = np.zeros((len(pairs),) * 2)
        for rows in row_blocks(len(A), len(A), CACHED_ENTRIES):
            block = _Block(rows, slice(rows.start, None))
            each = np.stack([term.ravel() for term in block.terms(pairs)])
            found += (each * block.of(W, symmetric=True).ravel()) @ each.T
        np.fill_diagonal(found, 0.0)
        return found

    def _matrix(
        self,
        pairs: Sequence[AnyPairs],
        shape: tuple[int, int],
        *,
        symmetric: bool,
        keep: bool = False,
    ) -> tuple[Array, list[_Block]]:
        """Return the kernel matrix, and its blocks; of a symmetric matrix those of one triangle."""
        v = self.order_variances()
        K, blocks = np.zeros(shape), list[_Block]()
        for rows in row_blocks(*shape, CACHED_ENTRIES):
            block = _Block(rows, slice(rows.start if symmetric else 0, None))
            columns, terms = block.columns, block.terms(pairs)
            if keep:
                terms = list(terms)
            sums = _polynomials(terms, v.size, K[rows, columns].shape)
            K[rows, columns] = _combined(sums, v)
            if symmetric:
                K[columns, rows] = K[rows, columns].T
            blocks.append(replace(block, sums=sums, kept=list(terms)) if keep else block)
        return K, blocks

    def effect(self, X: Any, C: Any, features: Sequence[int]) -> Array:
        """Return the part of the kernel that belongs to one set of features, such as one or a pair."""
        terms, A, B = self._prepared(X, C, every=True)
        found = np.full((A.shape[0], B.shape[0]), self.order_variances()[len(features) - 1])
        for feature in features:
            term, every = terms[feature], slice(None)
            pairs = term.pairs(A[:, feature], B[:, feature])
            found *= pairs.block(every, every) if term.weight > 0 else 0.0
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

    def terms(self, n_features: int, *, every: bool = False) -> list[AnyTerm]:
        """Return the kernel of each feature of positive weight, or of every feature."""
        for name in ("gamma", "weights", "mean", "deviation"):
            value = getattr(self, name)
            if np.ndim(value) == 1 and np.size(value) != n_features:
                raise ValueError(
                    f"Additive: {name} must have one entry per feature ({n_features}), got "
                    f"{np.size(value)}."
                )
        is_centred, known = self.mean is not None, self.categories or {}
        if not all(0 <= j < n_features for j in known):
            raise ValueError(
                f"Additive: categories must name features from 0 to {n_features - 1}, got {[*known]}."
            )
        given: list[Any] = [self.gamma, 1.0 if self.weights is None else self.weights]
        given += [self.mean, self.deviation] if is_centred else [0.0, 1.0]
        each = (np.broadcast_to(np.asarray(value, dtype=np.float64), n_features) for value in given)
        return [
            CategoryTerm.of(j, known[j], float(weight), centred=is_centred)
            if j in known
            else Term(j, float(gamma * unit**2), float(weight), float(mean), float(unit), is_centred)
            for j, (gamma, weight, mean, unit) in enumerate(zip(*each, strict=True))
            if every or weight > 0
        ]

    def _prepared(self, X: Any, C: Any, *, every: bool = False) -> tuple[list[AnyTerm], Array, Array]:
        """Return the terms and both matrices, standardised but for categories."""
        A, B = as_pair(X, C)
        same = A is B
        A = as_dense(A)
        B = A if same else as_dense(B)
        if not (np.isfinite(A).all() and (same or np.isfinite(B).all())):
            raise ValueError("A kernel needs finite numbers, got NaN or infinity.")
        terms = self.terms(A.shape[1], every=every)
        codes = [*(self.categories or {})]
        X, C = A[:, codes], B[:, codes]
        if self.mean is not None:
            A = (A - self.mean) / self.deviation
            B = A if same else (B - self.mean) / self.deviation
        if codes:
            A = A.copy()
            A[:, codes] = as_codes(X)
            B = A if same else B.copy()
            B[:, codes] = as_codes(C)
        return terms, A, B


@dataclass(frozen=True)
class _Block:
    """A block of a kernel matrix, with its polynomials and its terms if they are kept."""

    rows: slice
    columns: slice
    sums: list[Array] | None = None
    kept: list[Array] | None = None

    def terms(self, pairs: Sequence[AnyPairs]) -> Iterable[Array]:
        """Return the weighted kernel of each feature."""
        return self.kept or (each.block(self.rows, self.columns) for each in pairs)

    def of(self, W: Array, *, symmetric: bool) -> Array:
        """Return the block of a matrix, that of the other triangle included if this is one."""
        if not symmetric:
            return W[self.rows, self.columns]
        G = W[self.rows, self.columns] + W[self.columns, self.rows].T
        G[:, : self.rows.stop - self.rows.start] /= 2
        return G


def _is_category(feature: Any, frequencies: Any) -> bool:
    """Whether this is the index of a feature, and these are frequencies of different codes."""
    if not (feature == 0 or is_count(feature)) or isinstance(feature, bool):
        return False
    if not isinstance(frequencies, Mapping) or not frequencies:
        return False
    if not all(is_number(code) and is_positive(share) for code, share in frequencies.items()):
        return False
    codes = as_codes(np.array([*frequencies], dtype=np.float64))
    return bool(np.unique(codes).size == codes.size)


def _all_finite(value: Any, *, positive: bool) -> bool:
    array = np.asarray(value)
    return bool(
        array.dtype.kind in "fiu"
        and np.isfinite(array).all()
        and (array > 0 if positive else array >= 0).all()
    )


def _polynomials(terms: Iterable[Array], order: int, shape: tuple[int, ...]) -> list[Array]:
    """Return the elementary symmetric polynomials of orders one to ``order``."""
    sums: list[Array] = [np.zeros(shape) for _ in range(order)]
    product = np.empty(shape)
    for term in terms:
        for o in range(order - 1, 0, -1):
            sums[o] += np.multiply(term, sums[o - 1], out=product)
        sums[0] += term
    return sums


def _combined(sums: Sequence[Array], variances: Array) -> Array:
    """Return the sum of the orders with their variances."""
    found = variances[0] * sums[0]
    for variance, each in zip(variances[1:], sums[1:], strict=True):
        found += variance * each
    return np.asarray(found)


def _without_terms(sums: Sequence[Array], variances: Array, G: Array) -> list[Array]:
    """Return the coefficients of the derivative in a term t, times ``G``, as a polynomial in ``-t``.

    The derivative is the combination of all other terms, whose polynomials are
    :math:`e_o - t e_{o - 1} + t^2 e_{o - 2} - ...`.
    """
    found = []
    for k in range(variances.size):
        whole = variances[k] * G  # e_0 is one
        for o in range(k + 1, variances.size):
            whole += variances[o] * (G * sums[o - k - 1])
        found.append(whole)
    return found
