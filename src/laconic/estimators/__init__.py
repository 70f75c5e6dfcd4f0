"""Estimators, with scikit-learn's contract."""

from .classifier import SparseBayesClassifier
from .grid_rvm import GridRVMClassifier, GridRVMRegressor
from .jcfo import JCFOClassifier, JCFORegressor
from .laconic import LaconicClassifier, LaconicRegressor
from .regressor import SparseBayesRegressor
from .rvm import RVMClassifier, RVMRegressor

__all__ = [
    "GridRVMClassifier",
    "GridRVMRegressor",
    "JCFOClassifier",
    "JCFORegressor",
    "LaconicClassifier",
    "LaconicRegressor",
    "RVMClassifier",
    "RVMRegressor",
    "SparseBayesClassifier",
    "SparseBayesRegressor",
]
