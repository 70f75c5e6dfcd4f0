"""Priors over one weight: ``penalty(u)`` and ``variance(u)`` of ``u = w^2``.

The law ``2 * d penalty/du * variance(u) == 1`` is tested for every class.

- ``_base``: the base class, and what ``bind`` does.
- ``gaussian``: ridge, no sparsity.
- ``laplace``: the lasso penalty; ``laplace_mixture``: the reweighted lasso.
- ``jeffreys``: scale free and sparse; ``student_t``: the same with a proper hyper-prior.
- ``generalized_gaussian``: ``|w|^q``, from ridge to best subset, with an estimated scale.
"""

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
