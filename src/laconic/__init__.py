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
from .interop.onnx import to_onnx
from .interop.persistence import load, save
from .selection import (
    JCFOClassifierCV,
    JCFORegressorCV,
    SparseBayesClassifierCV,
    SparseBayesRegressorCV,
)

__version__ = "0.1.0.dev0"

__all__ = [
    "GridRVMClassifier",
    "GridRVMRegressor",
    "JCFOClassifier",
    "JCFOClassifierCV",
    "JCFORegressor",
    "JCFORegressorCV",
    "LaconicClassifier",
    "LaconicRegressor",
    "RVMClassifier",
    "RVMRegressor",
    "SparseBayesClassifier",
    "SparseBayesClassifierCV",
    "SparseBayesRegressor",
    "SparseBayesRegressorCV",
    "__version__",
    "load",
    "save",
    "to_onnx",
]
