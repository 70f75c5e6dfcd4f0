"""Estimators, with scikit-learn's contract."""

from .classifier import SparseBayesClassifier
from .regressor import SparseBayesRegressor

__all__ = ["SparseBayesClassifier", "SparseBayesRegressor"]
