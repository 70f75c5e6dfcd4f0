"""The settings of a flagship, read once from the estimator's parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from .._component import is_name, is_positive
from .._protocols import Array
from .kernel_family import KernelFamily, ReferenceFeatures
from .wide import can_refit_folds

# The degree and the offset of a polynomial kernel that is given by name.
POLYNOMIAL_DEGREE = 3
POLYNOMIAL_OFFSET = 1.0
# The default tolerance of features.
_FEATURE_TOLERANCE_NATS_PER_ROW = 0.002
# The default tolerance of kernels.
_KERNEL_TOLERANCE_NATS_PER_ROW = 0.004
# Beyond the default tolerance a kernel must gain this much.
_KERNEL_PRICE_NATS_PER_ROW = 0.0002
# The kernel of "auto".
_DEFAULT_KERNEL = "rbf"


@dataclass(frozen=True)
class Settings:
    """The settings of a user; ``None`` where the fit chooses."""

    kernel: Any  # None means the features themselves; see any_kernel
    any_kernel: bool  # whether the fit chooses the kernel
    gamma: float | None
    tolerance: float | None
    max_columns: int | None
    weigh_features: bool
    any_noise: bool  # whether the fit chooses the noise
    fit_intercept: bool
    max_rank: int
    n_jobs: int | None

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
            n_jobs=estimator.n_jobs,
        )

    def kernels(self, n_rows: int, n_features: int) -> list[Any]:
        """Return the candidates, the default first: a kernel, or ``None`` for the features themselves.

        If features outnumber rows, they come first: few kernels that agree with their reference at the
        rows may differ from it between them.
        """
        if not self.any_kernel:
            return [self.kernel]
        if self.gamma is not None or not can_refit_folds(n_rows, n_features):
            return [_DEFAULT_KERNEL]
        return [None, _DEFAULT_KERNEL] if n_features > n_rows else [_DEFAULT_KERNEL, None]

    def tolerance_and_price(self, kernel: Any) -> tuple[float, float]:
        """Return the tolerance, and the gain of each column beyond it, in nats per row."""
        if self.tolerance is not None:
            return self.tolerance, 0.0
        if kernel is None:
            return _FEATURE_TOLERANCE_NATS_PER_ROW, 0.0
        return _KERNEL_TOLERANCE_NATS_PER_ROW, _KERNEL_PRICE_NATS_PER_ROW

    def reference_features(self, kernel: Any, X: Any, weight: Array) -> ReferenceFeatures:
        """Return the features of references for a kernel, or for ``None``."""
        if kernel is None:
            return ReferenceFeatures(None, self.max_rank)
        searched = self.gamma is None and isinstance(kernel, str) and kernel != "linear"
        gamma = None if searched else self.gamma or 1.0
        family = KernelFamily.of(kernel, POLYNOMIAL_DEGREE, POLYNOMIAL_OFFSET, gamma, X, weight)
        return ReferenceFeatures(family, self.max_rank)


def _given(value: Any) -> float | None:
    return None if is_name(value, "auto") else float(value)
