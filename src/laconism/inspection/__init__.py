"""Display objects, in the style of scikit-learn; matplotlib is imported only when they draw."""

from .band import RegressionBandDisplay
from .boundary import BoundaryDisplay
from .calibration import CalibrationDisplay
from .convergence import ConvergenceDisplay
from .grid import GridRelevanceDisplay
from .image import ImageRelevanceDisplay
from .path import SparsityPathDisplay
from .priors import PriorDisplay
from .projection import ProjectionDisplay
from .relevance import RelevanceDisplay

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
    "SparsityPathDisplay",
]
