"""Designs: matrices known by their products, so that solvers do not know how they are stored.

- ``build``: from a basis and rows to the design that suits them; centring.
- ``dense``: an array; ``sparse``: a scipy matrix.
- ``factored``: all columns of a kernel matrix by its factors, without the matrix.
- ``_memory``: the last Gram matrix with its weights.
"""

from .build import Built, build_design
from .dense import DenseDesign
from .factored import FactoredDesign
from .sparse import SparseDesign

__all__ = ["Built", "DenseDesign", "FactoredDesign", "SparseDesign", "build_design"]
