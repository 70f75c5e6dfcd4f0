"""Bases: how rows become columns."""

from .constant import WithConstant
from .features import Features, Monomials
from .kernel import KernelBasis
from .per_feature import PerFeature

__all__ = ["Features", "KernelBasis", "Monomials", "PerFeature", "WithConstant"]
