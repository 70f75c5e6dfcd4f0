"""Sparse Bayesian classifiers and regressors, and the searches for their prior and kernel width.

``classifier``, ``regressor`` and ``cv`` hold the public classes. ``base`` is the fit, ``design`` turns
settings into columns, prior, solver and design. ``search`` chooses among ``candidates``, which
``fold_path`` fits on one fold.
"""

from .classifier import SparseBayesClassifier
from .cv import SparseBayesClassifierCV, SparseBayesRegressorCV
from .regressor import SparseBayesRegressor

__all__ = [
    "SparseBayesClassifier",
    "SparseBayesClassifierCV",
    "SparseBayesRegressor",
    "SparseBayesRegressorCV",
]
