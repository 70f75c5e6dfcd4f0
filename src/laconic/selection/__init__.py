"""Choosing the degree of sparsity, the scale and the width of a kernel."""

from .cv import SparseBayesClassifierCV, SparseBayesRegressorCV

__all__ = ["SparseBayesClassifierCV", "SparseBayesRegressorCV"]
