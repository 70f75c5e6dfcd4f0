"""Likelihoods of a target given its latent ``f ~ N(m, v)``.

The laws ``d bound/dm == r (z - m)`` and ``d bound/dv == -r / 2`` are tested for every class.

- ``_base``: the base class, and what the likelihoods of two classes share.
- ``_noise``: what the likelihoods of regression share, such as the lower bound of the noise.
- ``probit``, ``logistic``: two classes.
- ``gaussian``: regression; ``student``: regression with heavy tails.
"""

from .._component import snake_case
from ._base import Binary, Likelihood
from ._noise import Noise
from .gaussian import Gaussian
from .logistic import Logistic
from .probit import Probit
from .student import Student

__all__ = ["Binary", "Gaussian", "Likelihood", "Logistic", "Noise", "Probit", "Student"]

REGISTRY: dict[str, type[Likelihood]] = {
    snake_case(likelihood.__name__): likelihood for likelihood in (Gaussian, Logistic, Probit, Student)
}
