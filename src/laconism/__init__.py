"""laconism: sparse Bayesian learning. Models that say only what matters."""

from .flagship import LaconicClassifier, LaconicRegressor
from .interop.onnx import to_onnx
from .interop.persistence import load, save
from .jcfo import JCFOClassifier, JCFOClassifierCV, JCFORegressor, JCFORegressorCV
from .rvm import GridRVMClassifier, GridRVMRegressor, RVMClassifier, RVMRegressor
from .sparse import (
    SparseBayesClassifier,
    SparseBayesClassifierCV,
    SparseBayesRegressor,
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
