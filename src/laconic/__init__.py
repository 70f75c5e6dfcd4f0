"""laconic: sparse Bayesian learning. Models that say only what matters."""

from .estimators import (
    GridRVMClassifier,
    GridRVMRegressor,
    JCFOClassifier,
    JCFORegressor,
    LaconicClassifier,
    LaconicRegressor,
    RVMClassifier,
    RVMRegressor,
    SparseBayesClassifier,
    SparseBayesRegressor,
)
from .selection import SparseBayesClassifierCV, SparseBayesRegressorCV

__version__ = "0.1.0.dev0"

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
    "SparseBayesClassifierCV",
    "SparseBayesRegressor",
    "SparseBayesRegressorCV",
    "__version__",
]
