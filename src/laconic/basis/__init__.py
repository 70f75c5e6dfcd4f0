"""Bases: how rows become columns."""

from .constant import WithConstant
from .features import Features, Monomials
from .kernel import KernelBasis

__all__ = ["Features", "KernelBasis", "Monomials", "WithConstant"]
