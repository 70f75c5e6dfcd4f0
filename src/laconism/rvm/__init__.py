"""Relevance vector machines, on rows and on grids of features: every weight has a learnt precision.

Estimators, and their fit from validated rows to the published model:

- ``estimators``: ``RVMClassifier`` and ``RVMRegressor``
- ``grid_estimators``: ``GridRVMClassifier`` and ``GridRVMRegressor``; ``grid``: the grid and its columns
- ``fit``: all outputs on one shared design; ``output``: one of them

Type-II maximum likelihood, the precisions being parameters:

- ``evidence``: the solvers that start from the empty and from the full model, the better of the two on
  small problems, and Akaike's test of what was found
- ``evidence_steps``: the state, the add step and the prune step
- ``maximize_precisions``: Newton's method for the precisions of a quadratic log-likelihood
- ``qr_compress``: a regression on many rows as one on few

Variational Bayes, the precisions having distributions:

- ``variational``: the state with q(w), q(alpha) and the bound on the evidence, and the solver
- ``precisions``: gamma distributions of the slices of a grid, combined by product or sum
"""

from .estimators import RVMClassifier, RVMRegressor
from .grid_estimators import GridRVMClassifier, GridRVMRegressor

__all__ = ["GridRVMClassifier", "GridRVMRegressor", "RVMClassifier", "RVMRegressor"]
