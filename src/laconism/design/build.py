"""From a basis and rows to a dense, sparse or factored design."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._protocols import Array, Basis, Design, Index
from ..linalg import is_sparse
from ..magnitude import check_largest
from .dense import DenseDesign
from .factored import FactoredDesign
from .sparse import SparseDesign


class Built(NamedTuple):
    """A design, its basis, the centre subtracted from its columns, and a note for the user."""

    design: Design
    basis: Basis
    centre: Array
    note: str = ""
    chosen: bool = False  # whether the columns are a subset of all possible ones
    pivots: Index | None = None  # columns that span the others, where they are known

    def keep(self, active: Index) -> Built:
        """Return these columns only."""
        basis = self.basis.keep(active)
        return self._replace(
            design=self.design.keep(active), basis=basis, centre=self.centre[active], pivots=None
        )


def build_design(
    basis: Basis, X: Any, weight: Array, *, centre: bool, tol: float, max_rank: int
) -> Built:
    """Return the columns of the basis at the training rows as a design.

    Positive semi-definite kernels of less than half of the full rank are factored, up to ``tol`` and
    ``max_rank``; sparse features stay sparse, the rest is dense. ``centre`` subtracts the weighted mean
    from each column that is not sparse, for accuracy: with a free intercept it makes no difference.
    """
    factors = basis.factors(tol=tol, max_rank=max_rank)
    if factors is None:
        return _whole(basis, X, weight, centre)
    if factors.left > tol:
        note = (
            f" The kernel matrix needs more than rank {max_rank} (max_rank): the kernels are those of "
            f"{max_rank} rows that leave at most {factors.left:.1e} of it: a Nystrom approximation."
        )
        whole = _whole(basis.keep(np.sort(factors.pivots)), X, weight, centre)
        return whole._replace(note=note, chosen=True, pivots=np.arange(max_rank))
    G, C = factors.G, factors.C
    if 2 * C.shape[0] >= C.shape[1]:  # the exact columns take no more memory than both factors
        return _whole(basis, X, weight, centre)._replace(pivots=factors.pivots)
    share = weight / weight.sum()

    def evaluate(index: Index) -> Array:
        Phi = np.asarray(basis.keep(index).columns(X), dtype=np.float64)
        return Phi - share @ Phi if centre else Phi

    if not centre:
        nothing = np.zeros(C.shape[1])
        return Built(FactoredDesign(G, C, evaluate), basis, nothing, pivots=factors.pivots)
    middle = G @ share
    design = FactoredDesign(G - middle[:, None].astype(G.dtype), C, evaluate)
    shift = np.asarray(middle @ C, dtype=np.float64)
    return Built(design, basis, shift, pivots=factors.pivots)


def _near_centre(Phi: Array, rows: int = 1000) -> bool:
    """Whether the means of the columns are within ten deviations, by a sample of the rows."""
    sample = Phi[:: max(1, Phi.shape[0] // rows)]
    return bool((np.abs(sample.mean(axis=0)) <= 10 * sample.std(axis=0)).all())


def _whole(basis: Basis, X: Any, weight: Array, centre: bool, large: int = 1_000_000) -> Built:
    """Return all columns; those of a large matrix are centred only if accuracy needs it."""
    Phi: Any = basis.columns(X)
    if Phi is not X:
        check_largest(Phi)
    nothing = np.zeros(Phi.shape[1])
    if is_sparse(Phi):
        return Built(SparseDesign(Phi), basis, nothing)
    design = DenseDesign(Phi)
    if not centre:
        return Built(design, basis, nothing)
    if Phi.size >= large and _near_centre(Phi):
        return Built(design, basis, nothing)  # a centred copy would be slow and hardly more accurate
    middle = design.rmatvec(weight) / weight.sum()
    centred = Phi - middle.astype(Phi.dtype)
    # A constant column is only rounding after centring.
    noise = 8 * np.finfo(Phi.dtype).eps * np.abs(middle)
    centred[:, np.maximum(centred.max(axis=0), -centred.min(axis=0)) <= noise] = 0.0
    return Built(DenseDesign(centred), basis, middle)
