"""Estimators, with scikit-learn's contract."""

from .classifier import SparseBayesClassifier
from .grid_rvm import GridRVMClassifier, GridRVMRegressor
from .laconic import LaconicClassifier, LaconicRegressor
from .regressor import SparseBayesRegressor
from .rvm import RVMClassifier, RVMRegressor

__all__ = [
    "GridRVMClassifier",
    "GridRVMRegressor",
    "LaconicClassifier",
    "LaconicRegressor",
    "RVMClassifier",
    "RVMRegressor",
    "SparseBayesClassifier",
    "SparseBayesRegressor",
]
