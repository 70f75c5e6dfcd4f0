"""Display objects, in the style of scikit-learn; matplotlib is imported only when they draw.

- ``predictions``: decision boundary of a classifier of two features, error band of a regressor of one.
- ``weights``: weights of features, of pixels, and of the modes of a grid.
- ``calibration``: predicted probabilities or intervals against what was observed.
- ``paths``: iterations of a fit, sizes of a Laconic model, candidates of a search.
- ``shapes``: effects of features and of pairs of features.
- ``priors``: penalties and shrinkage rules of priors.
- ``_draw``: colours, axes and names that all displays share.
"""

from .calibration import CalibrationDisplay
from .paths import ConvergenceDisplay, ProjectionDisplay, SparsityPathDisplay
from .predictions import BoundaryDisplay, RegressionBandDisplay
from .priors import PriorDisplay
from .shapes import ShapeDisplay
from .weights import GridRelevanceDisplay, ImageRelevanceDisplay, RelevanceDisplay

__all__ = [
    "BoundaryDisplay",
    "CalibrationDisplay",
    "ConvergenceDisplay",
    "GridRelevanceDisplay",
    "ImageRelevanceDisplay",
    "PriorDisplay",
    "ProjectionDisplay",
    "RegressionBandDisplay",
    "RelevanceDisplay",
    "ShapeDisplay",
    "SparsityPathDisplay",
]
