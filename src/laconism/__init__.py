"""laconism: sparse Bayesian learning. Models that say only what matters."""

from typing import TYPE_CHECKING

from ._lazy import lazy as _lazy

if TYPE_CHECKING:
    from .flagship import LaconicClassifier, LaconicRegressor
    from .interop import load, save, to_onnx
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

_HOMES = {
    "flagship": "LaconicClassifier LaconicRegressor",
    "interop": "load save to_onnx",
    "jcfo": "JCFOClassifier JCFOClassifierCV JCFORegressor JCFORegressorCV",
    "rvm": "GridRVMClassifier GridRVMRegressor RVMClassifier RVMRegressor",
    "sparse": "SparseBayesClassifier SparseBayesClassifierCV "
    "SparseBayesRegressor SparseBayesRegressorCV",
    "": "basis datasets design flagship inspection interop jcfo judging kernels laplace likelihoods "
    "linalg magnitude model partitions posterior priors rvm solvers sparse special testing",
}
if not TYPE_CHECKING:  # to type checkers every name would be right
    __getattr__, __dir__ = _lazy(__name__, _HOMES)
