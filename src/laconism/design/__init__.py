"""Designs: matrices accessed by their products, so that solvers do not depend on how they are stored.

- ``build``: from a basis and rows to a dense, sparse or factored design; centring.
- ``dense``: an array, and the last Gram matrix of a design; ``sparse``: a scipy matrix.
- ``factored``: a kernel matrix by its low-rank factors, without the matrix.
"""

from .build import Built, build_design
from .dense import DenseDesign
from .factored import FactoredDesign
from .sparse import SparseDesign

__all__ = ["Built", "DenseDesign", "FactoredDesign", "SparseDesign", "build_design"]
