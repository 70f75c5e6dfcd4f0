"""Likelihoods of a target given its latent, one small file each."""

from .._component import snake_case
from ._base import Likelihood
from ._binary import Binary
from .gaussian import Gaussian
from .logistic import Logistic
from .probit import Probit

__all__ = ["Binary", "Gaussian", "Likelihood", "Logistic", "Probit"]

REGISTRY: dict[str, type[Likelihood]] = {
    snake_case(likelihood.__name__): likelihood for likelihood in (Gaussian, Logistic, Probit)
}
