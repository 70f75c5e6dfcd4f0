"""Estimators, with scikit-learn's contract."""

from .classifier import SparseBayesClassifier
from .grid_rvm import GridRVMClassifier, GridRVMRegressor
from .regressor import SparseBayesRegressor
from .rvm import RVMClassifier, RVMRegressor

__all__ = [
    "GridRVMClassifier",
    "GridRVMRegressor",
    "RVMClassifier",
    "RVMRegressor",
    "SparseBayesClassifier",
    "SparseBayesRegressor",
]
