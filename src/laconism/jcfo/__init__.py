"""Joint classifier and feature optimisation: kernel weights and feature scales are found together.

- ``estimators``: JCFOClassifier and JCFORegressor, and their fit: prepare, search, publish.
- ``prepare``: from validated rows to the joint problem; ``screen``: standardised and screened features.
- ``search``: the whole search; ``trials``: the best start, and features exchanged by their price.
- ``problem``: the objective, its gradient and its optimality conditions.
- ``variable_projection``, ``em``: the solvers; ``weights``: the convex inner problem; ``newton``: the
  last digits.
- ``columns``, ``posteriors``: what is published of a fit.
- ``cv``: JCFOClassifierCV and JCFORegressorCV; ``rate_path``: their candidates and the fits of those,
  each started from the one before it.
"""

from .cv import JCFOClassifierCV, JCFORegressorCV
from .estimators import JCFOClassifier, JCFORegressor

__all__ = ["JCFOClassifier", "JCFOClassifierCV", "JCFORegressor", "JCFORegressorCV"]
