"""Choosing the degree of sparsity, the scale and the width of a kernel, and the prices of features."""

from .cv import SparseBayesClassifierCV, SparseBayesRegressorCV
from .jcfo import JCFOClassifierCV, JCFORegressorCV

__all__ = ["JCFOClassifierCV", "JCFORegressorCV", "SparseBayesClassifierCV", "SparseBayesRegressorCV"]
