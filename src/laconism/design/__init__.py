"""Designs: matrices known by what they do."""

from .build import Built, build_design
from .dense import DenseDesign
from .factored import FactoredDesign
from .sparse import SparseDesign

__all__ = ["Built", "DenseDesign", "FactoredDesign", "SparseDesign", "build_design"]
