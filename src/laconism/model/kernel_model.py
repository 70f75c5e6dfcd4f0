"""The template of every fit: validate the data, then fit the rows by the method of the subclass."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import assert_all_finite
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from .._component import is_count, is_jobs, is_name, is_positive, is_switch, resolve
from .._protocols import Array, Basis
from ..magnitude import in_double, squares_safely
from .bases import kernel_basis
from .callbacks import CallbackSupportMixin, with_callbacks
from .effects import additive_latents
from .published import PublishedModel
from .tasks import FitData
from .threads import one_blas_thread
from .validation import (
    ROWS,
    all_or_nothing,
    check_weight,
    entries_once,
    naming_columns,
    unfold,
    weight_of_classes,
)

_SWITCHES = (
    "calibrate fit_intercept penalize_intercept share_features standardize warm_start weigh_features"
)
# Rules for the parameters of any estimator that has them.
_RULES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "n_jobs": (is_jobs, "None or a whole number other than zero"),
    **dict.fromkeys(_SWITCHES.split(), (is_switch, "True or False")),
    "tol": (is_positive, "a positive number"),
    "max_iter": (is_count, "a positive whole number"),
    "rank_tol": (lambda tol: is_positive(tol) or is_name(tol, "auto"), "a positive number or 'auto'"),
    "max_rank": (is_count, "a positive whole number"),
}


class KernelModel(CallbackSupportMixin, PublishedModel):  # type: ignore[misc]
    """A linear model of features or kernels; subclasses add its solver and its predictions."""

    kernel: Any
    gamma: Any
    degree: int
    coef0: float
    fit_intercept: bool
    max_iter: int
    tol: float
    n_jobs: int | None
    callbacks: Any
    likelihood: Any
    _no_precomputed = ""  # why kernel="precomputed" is refused, if it is

    # ---- fit ------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows, or the square kernel matrix with ``kernel="precomputed"``.
        y : array-like of shape (n_samples,)
            Labels of a classifier, targets of a regressor.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight 2 is equivalent to repeating a row, weight 0 to omitting it.

        Returns
        -------
        self
        """
        with all_or_nothing(self), one_blas_thread():
            self._fit(X, y, sample_weight)
            if not (self.status_.converged or self.status_.stopped):
                warnings.warn(self.status_.message, ConvergenceWarning, stacklevel=2)
        return self

    @with_callbacks  # type: ignore[untyped-decorator]
    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        self._fit_rows(self._fit_data(X, y, sample_weight))
        return self

    def _fit_data(self, X: Any, y: Any, sample_weight: Any) -> FitData:
        """Return the rows of positive weight, the targets of each output and their likelihood."""
        X, sample_shape = unfold(X) if self._takes_grids else (X, None)
        X, y, weight = self._validate(X, y, sample_weight)
        likelihood = resolve("likelihood", self.likelihood, self._task.named, self._task.kind)
        targets, classes = self._task.encode(y)
        if classes is not None:
            self.classes_ = classes
        data = FitData(X, weight, targets, likelihood, sample_shape)
        if not self._sorts_rows:
            return data
        order = data.canonical_order()
        self._rows = self._rows[order]
        return data.on(order)

    @abstractmethod
    def _fit_rows(self, data: FitData) -> None:
        """Fit the model to validated rows and publish it."""

    # ---- validate -------------------------------------------------------------------------

    def _validate(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
        """Return data, targets and weights of the rows of positive weight, and store their indices."""
        numeric = not self._task.classifies
        with naming_columns(X, y, numeric):
            X, y = validate_data(self, X, y, ensure_all_finite=False, y_numeric=numeric, **ROWS)
        X = entries_once(X)
        self._check_settings(X)
        if not squares_safely(X):
            with np.errstate(invalid="ignore"):  # its sum may overflow in both directions
                assert_all_finite(X, input_name="X", estimator_name=type(self).__name__)
            X = in_double(X, "features")
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, copy=True)
        check_weight(weight, "sample_weight")
        class_weight = getattr(self, "class_weight", None)
        if class_weight is not None:
            weight = weight * weight_of_classes(class_weight, y)
            check_weight(weight, "class_weight times sample_weight")
        self._rows = np.flatnonzero(weight > 0)
        if self._rows.size < weight.size:
            X, y, weight = X[self._rows], y[self._rows], weight[self._rows]
        return X, y, weight

    def _check_settings(self, X: Any) -> None:
        rules = {
            name: (holds(getattr(self, name)), rule)
            for name, (holds, rule) in _RULES.items()
            if hasattr(self, name)
        }
        rules |= getattr(self, "_own_rules", dict)()  # of parameters that only one family has
        for name, (holds, rule) in rules.items():
            if not holds:
                raise ValueError(f"{name} must be {rule}, got {getattr(self, name)!r}.")
        if self._precomputed and self._no_precomputed:
            raise ValueError(self._no_precomputed)
        if self._precomputed and X.shape[0] != X.shape[1]:
            raise ValueError(
                f"kernel='precomputed' needs the square matrix of similarities between the "
                f"training rows, got shape {X.shape}."
            )

    def set_params(self, **params: Any) -> Self:
        """Set parameters, including those of a prior, kernel or solver object.

        Parameters
        ----------
        **params : dict
            ``prior__rate`` is the rate of ``prior``.

        Returns
        -------
        self
        """
        for name in params:
            owner, nested, _ = name.partition("__")
            value = params.get(owner, getattr(self, owner, None))
            if nested and isinstance(value, str):
                raise ValueError(
                    f"{name} cannot be set: {owner}={value!r} is a name, without parameters; give the "
                    f"object itself, such as prior=Laplace()."
                )
        return super().set_params(**params)  # type: ignore[no-any-return]

    # ---- basis and design -----------------------------------------------------------------

    def _make_basis(self, X: Array, weight: Array) -> Basis:
        """Return the columns of the settings."""
        kernel = (self.kernel, self.gamma, self.degree, self.coef0)
        return kernel_basis(*kernel, X, weight, self._rows)

    # ---- effects --------------------------------------------------------------------------

    @property
    def effects_(self) -> Any:
        """The variance that each feature and each set of features explains, largest first.

        Only with a centred :class:`~laconism.kernels.Additive` kernel. A list of ``features, names,
        variance, share``: the features of a set and their names, the variance of the latent that they
        explain together beyond their subsets, and its share of the whole (the Sobol index). Features are
        independent and normal, as the kernel has them. For more than two classes one list for each.
        """
        check_is_fitted(self)
        latents = additive_latents(self.basis_, self._columns, self.posteriors_)
        if not latents:
            raise AttributeError(
                f"{type(self).__name__} has effects_ only if its kernel is an Additive one that is "
                "centred, by mean and deviation."
            )
        found = [latent.effects(getattr(self, "feature_names_in_", None)) for latent in latents]
        return found[0] if len(found) == 1 else found
