"""The settings of a flagship, read once from the estimator's parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from .._component import is_name, is_positive
from .._protocols import Array
from .kernel_family import KernelFamily

# The degree and the offset of a polynomial kernel that is given by name.
POLYNOMIAL_DEGREE = 3
POLYNOMIAL_OFFSET = 1.0
# The kernel of "auto".
_DEFAULT_KERNEL = "rbf"


@dataclass(frozen=True)
class Settings:
    """The settings of a user; ``None`` where the fit chooses."""

    kernel: Any = "auto"  # None means the features themselves; see any_kernel
    any_kernel: bool = True  # whether the fit chooses the kernel
    gamma: float | None = None
    tolerance: float | None = None
    max_columns: int | None = None
    weigh_features: bool = True
    any_noise: bool = False  # whether the fit chooses the noise
    fit_intercept: bool = True
    max_rank: int = 1000
    free_centres: bool = False
    n_jobs: int | None = None
    categories: frozenset[int] = frozenset()  # the features that hold codes of categories

    @classmethod
    def of(cls, estimator: Any) -> Self:
        """Read the parameters of an estimator."""
        gamma = estimator.gamma
        if not is_name(gamma, "auto") and not is_positive(gamma):
            raise ValueError(f"gamma must be a positive number or 'auto', got {gamma!r}.")
        return cls(
            kernel=estimator.kernel,
            any_kernel=is_name(estimator.kernel, "auto"),
            gamma=_given(gamma),
            tolerance=_given(estimator.tolerance),
            max_columns=None if estimator.max_kernels is None else int(estimator.max_kernels),
            weigh_features=estimator.weigh_features,
            any_noise=is_name(estimator.likelihood, "auto"),
            fit_intercept=estimator.fit_intercept,
            max_rank=int(estimator.max_rank),
            free_centres=estimator.centres == "free",
            n_jobs=estimator.n_jobs,
            categories=_categories(estimator),
        )

    @property
    def first_kernel(self) -> Any:
        """The kernel that is tried first."""
        return _DEFAULT_KERNEL if self.any_kernel else self.kernel

    def kernel_family(self, kernel: Any, X: Any, weight: Array) -> KernelFamily:
        """Return the family of a kernel for features like these."""
        searched = self.gamma is None and isinstance(kernel, str) and kernel != "linear"
        gamma = None if searched else self.gamma or 1.0
        return KernelFamily.of(kernel, POLYNOMIAL_DEGREE, POLYNOMIAL_OFFSET, gamma, X, weight)


def _given(value: Any) -> float | None:
    return None if is_name(value, "auto") else float(value)


def _categories(estimator: Any) -> frozenset[int]:
    """Return the features that hold codes of categories, given by a mask, by indices or by names."""
    given, names = estimator.categorical_features, [*getattr(estimator, "feature_names_in_", ())]
    if given is None:
        return frozenset()
    p = estimator.n_features_in_
    each = [*given] if np.iterable(given) and not isinstance(given, str) else [given]
    if len(each) == p and all(isinstance(one, bool | np.bool_) for one in each):
        return frozenset(np.flatnonzero(each).tolist())
    found = [names.index(one) if isinstance(one, str) and one in names else one for one in each]
    kinds = all(isinstance(one, int | np.integer) and not isinstance(one, bool) for one in found)
    if not (kinds and all(0 <= one < p for one in found)):
        raise ValueError(
            f"categorical_features must be names of features, indices from 0 to {p - 1} or a mask of "
            f"{p} features, got {given!r}."
        )
    return frozenset(int(one) for one in found)
