"""Relevance vector machines, on rows and on grids of features: every weight has a learnt precision.

Estimators, and their fit from validated rows to the published model:

- ``estimators``: ``RVMClassifier`` and ``RVMRegressor``; ``base``: their fit;
  ``inference``: their solvers
- ``grid_estimators``: ``GridRVMClassifier`` and ``GridRVMRegressor``; ``grid_base``: their fit;
  ``grid``: the grid and its columns
- ``fit``: all outputs on one shared design; ``output``: one of them

Type-II maximum likelihood, the precisions being parameters:

- ``sequential``: the solver that starts from the empty model; ``bottom_up``: its state and its add step
- ``evidence``: the solver that starts from the full model; ``full_model``: its start;
  ``top_down``: its prune step
- ``directions``: the better of the two on small problems
- ``maximize_precisions``: Newton's method for the precisions of a quadratic log-likelihood
- ``qr_compress``: a regression on many rows as one on few
- ``evidence_test``: Akaike's test of what was found

Variational Bayes, the precisions having distributions:

- ``variational``: the solver; ``variational_state``: q(w), q(alpha) and the bound on the evidence
- ``precisions``: gamma distributions of the slices of a grid, combined by product or sum
- ``rprop``: step sizes of its fixed-point iteration
"""

from .estimators import RVMClassifier, RVMRegressor
from .grid_estimators import GridRVMClassifier, GridRVMRegressor

__all__ = ["GridRVMClassifier", "GridRVMRegressor", "RVMClassifier", "RVMRegressor"]
