"""Likelihoods of a target given its latent, one small file each."""

from .._component import snake_case
from ._base import Likelihood
from ._binary import Binary
from ._noise import Noise
from .gaussian import Gaussian
from .logistic import Logistic
from .probit import Probit
from .student import Student

__all__ = ["Binary", "Gaussian", "Likelihood", "Logistic", "Noise", "Probit", "Student"]

REGISTRY: dict[str, type[Likelihood]] = {
    snake_case(likelihood.__name__): likelihood for likelihood in (Gaussian, Logistic, Probit, Student)
}
