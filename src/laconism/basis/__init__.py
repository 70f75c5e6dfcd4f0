"""Bases: how rows become columns.

- ``features``: the features themselves, or monomials of them.
- ``kernel``: kernels on rows; ``per_feature``: kernels of one feature each.
- ``constant``: a column of ones in front of another basis.
- ``rows``: which rows are equal, and a key for a canonical order.
- ``_pivots``: pivoted Cholesky, the factors of a kernel matrix.
"""

from .constant import WithConstant
from .features import Features, Monomials
from .kernel import KernelBasis
from .per_feature import PerFeature

__all__ = ["Features", "KernelBasis", "Monomials", "PerFeature", "WithConstant"]
