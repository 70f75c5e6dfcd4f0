"""Kernels as ONNX nodes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ..kernels import RBF, Additive, Linear, Matern, Polynomial, Product, Scaled, Sum
from ..kernels._category_term import CategoryTerm, as_codes
from ..kernels.matern import MAX_SCALED_DISTANCE
from ._onnx_graph import Tensor, tensor_type, zeros
from ._onnx_rows import Rows, power

# Rows of a table of centres.
Centres = np.ndarray[Any, Any]


def kernel_columns(kernel: Any, X: Rows, centres: Centres) -> Rows:
    """Return the kernel between the rows of ``X`` and the centres."""
    return writer_of(_KERNELS, kernel, "kernel")(kernel, X, centres)


def kernel_diagonal(kernel: Any, X: Rows, n_features: int) -> Rows:
    """Return the kernel of each row with itself, as a column."""
    if isinstance(kernel, Scaled):
        root = np.sqrt(np.asarray(kernel.scales, dtype=np.float64))
        return kernel_diagonal(kernel.kernel, _transformed(kernel, X).times(root), n_features)
    if isinstance(kernel, Sum | Product):
        left, right = (kernel_diagonal(part, X, n_features) for part in (kernel.left, kernel.right))
        return (_sum if isinstance(kernel, Sum) else _product)(left, right)
    if isinstance(kernel, RBF | Matern):
        return Rows(zeros(X.values) + 1.0)
    if isinstance(kernel, Additive):
        x, terms = X.plain(), kernel.terms(n_features)
        return Rows(_combined(kernel, [_additive_diagonal(term, x) for term in terms]))
    squares = (X.settled().values * X.settled().values).sum() * float(getattr(kernel, "gamma", 1.0))
    return _of_products(kernel, Rows(squares, X.root, 2 * X.degree))


def growth(kernel: Any) -> Any:
    """Return the degree of the polynomial as which a kernel grows, for each feature or for all alike."""
    if isinstance(kernel, Scaled):
        return growth(kernel.kernel) * np.sign(kernel.scales) * (kernel.spread is None)
    if isinstance(kernel, Sum | Product):
        left, right = growth(kernel.left), growth(kernel.right)
        if isinstance(kernel, Sum):
            return np.maximum(left, right)
        return (left + right) * (not _vanishes(kernel))  # an exponential outweighs a power
    return np.array(getattr(kernel, "degree", 1) if isinstance(kernel, Linear | Polynomial) else 0)


def _vanishes(kernel: Any) -> bool:
    """Return whether a kernel vanishes where any feature is far away."""
    if isinstance(kernel, Scaled):
        return kernel.spread is None and bool(np.all(kernel.scales)) and _vanishes(kernel.kernel)
    if isinstance(kernel, Product):
        return _vanishes(kernel.left) or _vanishes(kernel.right)
    return isinstance(kernel, RBF | Matern)


def _sum(left: Rows, right: Rows) -> Rows:
    low, high = sorted((left, right), key=lambda each: 0 if each.root is None else each.degree)
    more = high.degree - (0 if low.root is None else low.degree)
    if high.root is None or more == 0:
        return replace(high, values=left.values + right.values)
    return replace(high, values=low.values * power(high.root, more) + high.values)


def _product(left: Rows, right: Rows) -> Rows:
    shrunk = [each for each in (left, right) if each.root is not None]
    values = left.values * right.values
    return Rows(values, shrunk[0].root, sum(each.degree for each in shrunk)) if shrunk else Rows(values)


def _product_columns(kernel: Product, X: Rows, centres: Centres) -> Rows:
    bounded = _vanishes(kernel) and X.values.graph.dtype == np.float32
    X = Rows(X.plain()) if bounded else X
    left, right = (kernel_columns(part, X, centres) for part in (kernel.left, kernel.right))
    if bounded:  # zero times infinity would be NaN
        largest = float(np.finfo(np.float32).max)
        left, right = (Rows(each.values.at_least(-largest).at_most(largest)) for each in (left, right))
    return _product(left, right)


def _stationary(kernel: Any, X: Rows, centres: Centres, scales: Centres | None = None) -> Rows:
    profile = _rbf if isinstance(kernel, RBF) else _matern
    return Rows(profile(kernel, _squared_distances(X.plain(), centres, scales)))


def _dot_product(kernel: Any, X: Rows, centres: Centres) -> Rows:
    # gamma belongs to the centres: a runtime may fuse a product with a number into the product of
    # matrices before it, and keep that number in single precision.
    return _of_products(kernel, X.dot(centres.T * float(getattr(kernel, "gamma", 1.0))))


def _of_products(kernel: Any, s: Rows) -> Rows:
    """Return the kernel of inner products that have ``gamma`` in them."""
    if type(kernel) is Linear:
        return s
    base, degree = s.plus(float(kernel.coef0)), int(kernel.degree)
    return Rows(power(base.values, degree), s.root, s.degree * degree)


def _squared_distances(X: Tensor, centres: Centres, scales: Centres | None) -> Tensor:
    """Return squared distances as the kernels do: from the mean of the centres, zero for equal rows.

    Scales are applied after the shift, since scaled features might lose the digits in which rows differ.
    """
    graph, shift = X.graph, centres.mean(axis=0).astype(X.graph.dtype).astype(np.float64)
    A, B = X - shift, centres - shift
    if graph.dtype == np.float32:  # the expanded square would lose too many digits
        apart: Tensor = graph.op("Unsqueeze", A, np.array([1])) - B[None]
        if scales is not None:
            apart = apart * np.sqrt(scales)
        return (apart * apart).sum(keep=False)
    squares, weighted = (A * A, B) if scales is None else (A * A * scales, B * scales)
    norms = (B * weighted).sum(axis=1)
    sq: Tensor = squares.sum() + norms - A @ (2 * weighted.T)
    rounding = 8 * float(np.finfo(np.float64).eps)
    return sq.below(rounding * norms).where(0.0, sq)


def _matern(kernel: Matern, sq: Tensor) -> Tensor:
    a = (sq.sqrt() * float(2 * np.sqrt(kernel.nu) * np.sqrt(kernel.gamma))).at_most(MAX_SCALED_DISTANCE)
    decay = (-a).exp()
    if kernel.nu == 0.5:
        return decay
    return (1.0 + a if kernel.nu == 1.5 else 1.0 + a + a * a / 3.0) * decay


def _rbf(kernel: RBF, sq: Tensor) -> Tensor:
    return (sq * -float(kernel.gamma)).exp()


def _transformed(kernel: Scaled, X: Rows) -> Rows:
    """Return ``asinh((x - origin) / spread)`` by logarithms: runtimes lack it in double precision."""
    X = X if kernel.origin is None else X.away(kernel.origin)
    if kernel.spread is None:
        return X
    x, spread = X.plain(), np.asarray(kernel.spread, dtype=np.float64)
    largest = float(np.sqrt(np.finfo(x.graph.dtype).max)) / 2  # its square does not overflow
    u = x / spread
    size = u.abs().at_most(largest)
    log = (size + (size * size + 1.0).sqrt()).log()
    if x.graph.dtype == np.float32:  # beyond it asinh is a logarithm
        log = log + (x.abs() * (1 / (largest * spread))).at_least(1.0).log()
    return Rows(u.below(0.0).where(-log, log))


def _scaled(kernel: Scaled, X: Rows, centres: Centres) -> Rows:
    """Apply the scales to the features, and leave out features of scale zero."""
    inner, scales = kernel.kernel, np.asarray(kernel.scales, dtype=np.float64)
    X, centres = _transformed(kernel, X), kernel.transformed(centres)
    if type(inner) is Scaled and inner.origin is None and inner.spread is None:
        return _scaled(Scaled(inner.kernel, scales * np.asarray(inner.scales)), X, centres)
    if type(inner) in (Sum, Product):
        parts = (Scaled(part, scales) for part in (inner.left, inner.right))
        return kernel_columns(type(inner)(*parts), X, centres)
    used = np.flatnonzero(scales)
    if 0 < used.size < scales.size and type(inner) is not Scaled:  # which is about all features
        X, centres, scales = X.columns(used), centres[:, used], scales[used]
    if type(inner) in (RBF, Matern):
        return _stationary(inner, X, centres, scales)
    root = np.sqrt(scales)
    return kernel_columns(inner, X.times(root), centres * root)


def _additive(kernel: Additive, rows: Rows, centres: Centres) -> Rows:
    """Return the sum of products of kernels of one feature, by the recursion of the Python code."""
    X, terms = rows.plain(), []
    for term in kernel.terms(centres.shape[1]):
        if isinstance(term, CategoryTerm):
            terms.append(_category(term, X, as_codes(centres[:, term.feature])))
            continue
        x, c = _standardised(term, X), (centres[:, term.feature] - term.mean) / term.deviation
        apart = x - c
        each = (apart * apart * -term.gamma).exp()
        if term.is_centred:
            each = (each - _mean_at(term, x) * (term.mean_at(c) / term.grand_mean)) * (1 / term.height)
        terms.append(each * term.weight)
    return Rows(_combined(kernel, terms))


def _category(term: CategoryTerm, X: Tensor, c: Centres) -> Tensor:
    """Return the comparison of codes."""
    found, factor = _equal(term, X, c), term.weight / term.height
    if term.is_centred:
        found = found - _share_of(term, X) * (term.share_of(c) / term.grand_mean)
    return found * factor


def _equal(term: CategoryTerm, X: Tensor, codes: Centres) -> Tensor:
    """Return one where the code of a row is that of a column, and zero elsewhere."""
    single = np.dtype(np.float32)
    x = X.graph.op("Cast", X.columns([term.feature]), to=tensor_type(single))
    return X.graph.op("Equal", x, X.graph.verbatim(codes[None].astype(single))).where(1.0, 0.0)


def _share_of(term: CategoryTerm, X: Tensor) -> Tensor:
    """Return the share of the code of each row, as a column."""
    found: Tensor = _equal(term, X, term.codes) @ term.shares[:, None]
    return found


def _standardised(term: Any, X: Tensor) -> Tensor:
    """Return the feature of a term, less its mean, in units of its deviation."""
    x: Tensor = X.columns(np.array([term.feature])).away(np.array([term.mean]))
    found: Tensor = x * (1 / term.deviation)
    return found


def _mean_at(term: Any, x: Tensor) -> Tensor:
    """Return the mean of the Gaussian kernel of one feature over its inputs."""
    spread = 1 + 2 * term.gamma
    exponent: Tensor = x * x * (-term.gamma / spread)
    found: Tensor = exponent.exp() * float(1 / np.sqrt(spread))
    return found


def _additive_diagonal(term: Any, X: Tensor) -> Tensor:
    """Return the weighted kernel of one feature with itself."""
    if isinstance(term, CategoryTerm):
        share = _share_of(term, X) if term.is_centred else zeros(X)
        return (1.0 - share * share * (1 / term.grand_mean)) * (term.weight / term.height)
    x = _standardised(term, X)
    found: Tensor = zeros(X) + term.weight
    if term.is_centred:
        m = _mean_at(term, x)
        found = (1.0 - m * m * (1 / term.grand_mean)) * (term.weight / term.height)
    return found


def _combined(kernel: Additive, terms: list[Tensor]) -> Tensor:
    """Return the elementary symmetric polynomials of the terms, times the variances of their orders."""
    variances = kernel.order_variances()
    sums: list[Tensor | None] = [None] * variances.size
    for term in terms:
        for o in range(variances.size - 1, 0, -1):
            below, here = sums[o - 1], sums[o]
            if below is not None:
                sums[o] = term * below if here is None else here + term * below
        sums[0] = term if sums[0] is None else sums[0] + term
    parts = [each * float(v) for each, v in zip(sums, variances, strict=True) if each is not None]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


_KERNELS: dict[type, Callable[..., Rows]] = {
    RBF: _stationary,
    Matern: _stationary,
    Linear: _dot_product,
    Polynomial: _dot_product,
    Scaled: _scaled,
    Additive: _additive,
    Sum: lambda k, X, C: _sum(kernel_columns(k.left, X, C), kernel_columns(k.right, X, C)),
    Product: _product_columns,
}


def writer_of(table: dict[type, Callable[..., Rows]], thing: Any, what: str) -> Callable[..., Rows]:
    """Return the function that writes an object; subclasses may differ, so the type must be exact."""
    if type(thing) not in table:
        raise ValueError(
            f"to_onnx knows no graph for the {what} {type(thing).__name__}: use one of laconism's own, "
            "not a function or a class of yours."
        )
    return table[type(thing)]
