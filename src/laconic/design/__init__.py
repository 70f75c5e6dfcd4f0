"""Designs: matrices known by what they do."""

from .dense import DenseDesign

__all__ = ["DenseDesign"]
