"""Display objects, in the style of scikit-learn; matplotlib is imported only when they draw."""

from .boundary import BoundaryDisplay
from .path import SparsityPathDisplay
from .projection import ProjectionDisplay

__all__ = ["BoundaryDisplay", "ProjectionDisplay", "SparsityPathDisplay"]
