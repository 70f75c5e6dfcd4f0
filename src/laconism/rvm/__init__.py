"""Relevance vector machines, on rows and on grids of features: every weight has a learnt precision.

- ``estimators``, ``grid_estimators``: the public classes; ``grid``: the grid and its columns.
- ``fit``: all outputs on one shared design; ``output``: one of them.
- ``evidence``: type-II maximum likelihood from the empty or the full model; ``evidence_steps``: its add
  step and prune step; ``maximize_precisions``: the precisions of a quadratic log-likelihood.
- ``qr_compress``: a regression on many rows as one on few; ``partitioned``: rows in partitions.
- ``variational``: variational Bayes; ``precisions``: gamma distributions of the slices of a grid.
"""

from .estimators import RVMClassifier, RVMRegressor
from .grid_estimators import GridRVMClassifier, GridRVMRegressor

__all__ = ["GridRVMClassifier", "GridRVMRegressor", "RVMClassifier", "RVMRegressor"]
