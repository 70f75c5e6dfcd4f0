"""laconic: sparse Bayesian learning. Models that say only what matters."""

from .estimators import SparseBayesClassifier, SparseBayesRegressor

__version__ = "0.1.0.dev0"

__all__ = ["SparseBayesClassifier", "SparseBayesRegressor", "__version__"]
