"""Display objects, in the style of scikit-learn; matplotlib is imported only when they draw.

- ``predictions``: decision boundary of a classifier of two features, error band of a regressor of one.
- ``weights``: weights of features, of pixels, and of the modes of a grid.
- ``calibration``: predicted probabilities or intervals against what was observed.
- ``paths``: iterations of a fit, sizes of a Laconic model, candidates of a search.
- ``shapes``: effects of features and of pairs of features.
- ``priors``: penalties and shrinkage rules of priors.
- ``_draw``: colours, axes and names that all displays share.
"""

from typing import TYPE_CHECKING

from .._lazy import lazy as _lazy

if TYPE_CHECKING:
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

_HOMES = {
    "calibration": "CalibrationDisplay",
    "paths": "ConvergenceDisplay ProjectionDisplay SparsityPathDisplay",
    "predictions": "BoundaryDisplay RegressionBandDisplay",
    "priors": "PriorDisplay",
    "shapes": "ShapeDisplay",
    "weights": "GridRelevanceDisplay ImageRelevanceDisplay RelevanceDisplay",
}
if not TYPE_CHECKING:  # to type checkers every name would be right
    __getattr__, __dir__ = _lazy(__name__, _HOMES)
