"""Priors over one weight, one small file each."""

from .._component import snake_case
from ._base import Prior
from .gaussian import Gaussian
from .generalized_gaussian import GeneralizedGaussian
from .jeffreys import Jeffreys
from .laplace import Laplace
from .laplace_mixture import LaplaceMixture
from .student_t import StudentT

__all__ = [
    "Gaussian",
    "GeneralizedGaussian",
    "Jeffreys",
    "Laplace",
    "LaplaceMixture",
    "Prior",
    "StudentT",
]

REGISTRY: dict[str, type[Prior]] = {
    snake_case(prior.__name__): prior
    for prior in (Gaussian, GeneralizedGaussian, Jeffreys, Laplace, LaplaceMixture, StudentT)
}
