"""Sparse Bayesian classifiers and regressors, and the searches for their prior and kernel width.

``classifier``, ``regressor`` and ``cv`` hold the public classes. ``base`` is the fit; ``prior`` and
``design`` turn settings into prior, solver, columns and design. ``search`` chooses among ``candidates``,
which ``fold_path`` fits on one fold; ``evidence`` scores them without folds. ``partitioned`` fits rows
in partitions.
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
