"""Display objects, in the style of scikit-learn; matplotlib is imported only when they draw.

- ``boundary``: decision boundary and relevance vectors of a classifier of two features.
- ``band``: mean and error band of a regressor of one feature.
- ``calibration``: predicted probabilities or intervals against what was observed.
- ``convergence``: the objective and the number of kept columns over the iterations.
- ``path``: score and size of the candidates of a search.
- ``projection``: loss and size of the models on the path of a Laconic model.
- ``relevance``, ``image``, ``grid``: weights of features, of pixels, and of the modes of a grid.
- ``priors``: penalties and shrinkage rules of priors.
- ``_draw``: colours, axes and names that all displays share.
"""

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
