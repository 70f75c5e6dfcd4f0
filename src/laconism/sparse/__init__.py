"""Sparse Bayesian classifiers and regressors, and the searches for their prior and kernel width."""
