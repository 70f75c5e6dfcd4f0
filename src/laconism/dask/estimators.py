"""The estimators for Dask collections."""

from __future__ import annotations

from typing import Any

from sklearn.base import ClassifierMixin, RegressorMixin

from ..flagship import LaconicClassifier, LaconicRegressor
from ..flagship.estimators import fit_laconic_partitions
from ..flagship.many_rows import SAMPLE_ROWS
from ..rvm import RVMClassifier, RVMRegressor
from ..rvm.partitioned import fit_rvm_partitions
from ..sparse import SparseBayesClassifier, SparseBayesRegressor
from ..sparse.partitioned import fit_sparse_partitions
from .model import DaskModel, accuracy_sums, squares_sums

# Rows of the sample of sparse models and relevance vector machines.
_SAMPLE_ROWS = 20_000


class _DaskClassifier(ClassifierMixin, DaskModel):  # type: ignore[misc]
    """Lazy predictions of classes."""

    def predict(self, X: Any) -> Any:
        """Return the most probable class of each row, in the partitions of ``X``.

        Parameters
        ----------
        X : dask array of shape (n_samples, n_features), or dask dataframe

        Returns
        -------
        dask array or series, not yet computed
        """
        return self._lazily("predict", X, 0, self.classes_.dtype)

    def predict_proba(self, X: Any) -> Any:
        """Return the probabilities of the classes, in the partitions of ``X``.

        Parameters
        ----------
        X : dask array of shape (n_samples, n_features), or dask dataframe

        Returns
        -------
        dask array or dataframe of shape (n_samples, n_classes), not yet computed
        """
        return self._lazily("predict_proba", X, self.classes_.size, float, self.classes_)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy over all partitions.

        Parameters
        ----------
        X : dask array of shape (n_samples, n_features), or dask dataframe
        y : dask array or series of shape (n_samples,)
        sample_weight : dask array or series of shape (n_samples,), default=None

        Returns
        -------
        float
        """
        right, total = self._mean_of_parts(X, y, sample_weight, accuracy_sums)
        return float(right / total)


class _DaskRegressor(RegressorMixin, DaskModel):  # type: ignore[misc]
    """Lazy predictions of values."""

    def predict(self, X: Any) -> Any:
        """Return the posterior mean at each row, in the partitions of ``X``.

        Parameters
        ----------
        X : dask array of shape (n_samples, n_features), or dask dataframe

        Returns
        -------
        dask array or series, not yet computed
        """
        return self._lazily("predict", X, 0, float)

    def predict_dist(self, X: Any) -> tuple[Any, Any]:
        """Return mean and standard deviation of a new observation at each row.

        Parameters
        ----------
        X : dask array of shape (n_samples, n_features), or dask dataframe

        Returns
        -------
        mean, std : dask arrays or series, not yet computed
        """
        both = self._lazily("predict_dist", X, 2, float, ["mean", "std"])
        return (both[:, 0], both[:, 1]) if hasattr(both, "chunks") else (both["mean"], both["std"])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the coefficient of determination R2 over all partitions.

        Parameters
        ----------
        X : dask array of shape (n_samples, n_features), or dask dataframe
        y : dask array or series of shape (n_samples,)
        sample_weight : dask array or series of shape (n_samples,), default=None

        Returns
        -------
        float
        """
        errors, squares, level, total = self._mean_of_parts(X, y, sample_weight, squares_sums)
        return float(1 - errors / (squares - level**2 / total))


class DaskSparseBayesClassifier(_DaskClassifier):
    """:class:`~laconism.SparseBayesClassifier` for Dask collections.

    A sample of the rows chooses columns, kernel width and prior. Newton's method weighs the columns on
    all rows, by sums over partitions, and all rows are asked whether a column is missing. Under the
    Laplace and the Gaussian prior on features the weights are those of a local fit of all rows.

    Parameters
    ----------
    client : distributed.Client, default=None
        The cluster; ``None`` is the current client. It is not pickled.
    sample_rows : int or "auto", default="auto"
        Size of the sample; ``"auto"`` is 20,000 rows.
    **params
        All others are those of the local estimator.

    Attributes
    ----------
    local_ : SparseBayesClassifier
        The fitted local estimator, whose attributes are also those of this one.
    history_ : list of Pass
        Every pass over the partitions: its kind, bytes and seconds.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from laconism.dask import DaskSparseBayesClassifier
    >>> client = Client(processes=False, dashboard_address=None)  # doctest: +SKIP
    >>> X = da.random.normal(size=(100_000, 5), chunks=(10_000, 5))  # doctest: +SKIP
    >>> model = DaskSparseBayesClassifier().fit(X, X[:, 0] > 0)  # doctest: +SKIP
    >>> model.predict(X).compute()  # doctest: +SKIP
    """

    _twin = SparseBayesClassifier
    _fit_partitions = staticmethod(fit_sparse_partitions)
    _auto_rows = _SAMPLE_ROWS


class DaskSparseBayesRegressor(_DaskRegressor):
    """:class:`~laconism.SparseBayesRegressor` for Dask collections.

    With Gaussian noise, one pass over the partitions determines the weights of the chosen columns.

    Parameters
    ----------
    client, sample_rows
        As in :class:`DaskSparseBayesClassifier`.
    **params
        All others are those of the local estimator; the noise must be Gaussian.

    Attributes
    ----------
    local_ : SparseBayesRegressor
        The fitted local estimator, whose attributes are also those of this one.
    history_ : list of Pass
        Every pass over the partitions: its kind, bytes and seconds.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from laconism.dask import DaskSparseBayesRegressor
    >>> client = Client(processes=False, dashboard_address=None)  # doctest: +SKIP
    >>> X = da.random.normal(size=(100_000, 5), chunks=(10_000, 5))  # doctest: +SKIP
    >>> model = DaskSparseBayesRegressor().fit(X, X[:, 0])  # doctest: +SKIP
    >>> model.predict(X).compute()  # doctest: +SKIP
    """

    _twin = SparseBayesRegressor
    _fit_partitions = staticmethod(fit_sparse_partitions)
    _auto_rows = _SAMPLE_ROWS


class DaskRVMClassifier(_DaskClassifier):
    """:class:`~laconism.RVMClassifier` for Dask collections.

    A sample chooses candidates; the evidence of their precisions is maximised on all rows.

    Parameters
    ----------
    client, sample_rows
        As in :class:`DaskSparseBayesClassifier`.
    **params
        All others are those of the local estimator; ``inference="variational"`` is refused.

    Attributes
    ----------
    local_ : RVMClassifier
        The fitted local estimator, whose attributes are also those of this one.
    history_ : list of Pass
        Every pass over the partitions: its kind, bytes and seconds.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from laconism.dask import DaskRVMClassifier
    >>> client = Client(processes=False, dashboard_address=None)  # doctest: +SKIP
    >>> X = da.random.normal(size=(100_000, 5), chunks=(10_000, 5))  # doctest: +SKIP
    >>> model = DaskRVMClassifier().fit(X, X[:, 0] > 0)  # doctest: +SKIP
    >>> model.predict(X).compute()  # doctest: +SKIP
    """

    _twin = RVMClassifier
    _fit_partitions = staticmethod(fit_rvm_partitions)
    _auto_rows = _SAMPLE_ROWS


class DaskRVMRegressor(_DaskRegressor):
    """:class:`~laconism.RVMRegressor` for Dask collections.

    Parameters
    ----------
    client, sample_rows
        As in :class:`DaskSparseBayesClassifier`.
    **params
        All others are those of the local estimator; the noise must be Gaussian.

    Attributes
    ----------
    local_ : RVMRegressor
        The fitted local estimator, whose attributes are also those of this one.
    history_ : list of Pass
        Every pass over the partitions: its kind, bytes and seconds.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from laconism.dask import DaskRVMRegressor
    >>> client = Client(processes=False, dashboard_address=None)  # doctest: +SKIP
    >>> X = da.random.normal(size=(100_000, 5), chunks=(10_000, 5))  # doctest: +SKIP
    >>> model = DaskRVMRegressor().fit(X, X[:, 0])  # doctest: +SKIP
    >>> model.predict(X).compute()  # doctest: +SKIP
    """

    _twin = RVMRegressor
    _fit_partitions = staticmethod(fit_rvm_partitions)
    _auto_rows = _SAMPLE_ROWS


class DaskLaconicClassifier(_DaskClassifier):
    """:class:`~laconism.LaconicClassifier` for Dask collections.

    The candidates are compared on a sample, which also gives the inducing rows, the calibration and the
    projection. The posterior of the winner comes from sums over all rows.

    Parameters
    ----------
    client : distributed.Client, default=None
        The cluster; ``None`` is the current client. It is not pickled.
    sample_rows : int or "auto", default="auto"
        Size of the sample; ``"auto"`` is 10,000 rows.
    **params
        All others are those of the local estimator.

    Attributes
    ----------
    local_ : LaconicClassifier
        The fitted local estimator, whose attributes are also those of this one.
    history_ : list of Pass
        Every pass over the partitions: its kind, bytes and seconds.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from laconism.dask import DaskLaconicClassifier
    >>> client = Client(processes=False, dashboard_address=None)  # doctest: +SKIP
    >>> X = da.random.normal(size=(100_000, 5), chunks=(10_000, 5))  # doctest: +SKIP
    >>> model = DaskLaconicClassifier().fit(X, X[:, 0] > 0)  # doctest: +SKIP
    >>> model.predict(X).compute()  # doctest: +SKIP
    """

    _twin = LaconicClassifier
    _fit_partitions = staticmethod(fit_laconic_partitions)
    _auto_rows = SAMPLE_ROWS


class DaskLaconicRegressor(_DaskRegressor):
    """:class:`~laconism.LaconicRegressor` for Dask collections.

    Parameters
    ----------
    client, sample_rows
        As in :class:`DaskLaconicClassifier`.
    **params
        All others are those of the local estimator; the noise must be Gaussian.

    Attributes
    ----------
    local_ : LaconicRegressor
        The fitted local estimator, whose attributes are also those of this one.
    history_ : list of Pass
        Every pass over the partitions: its kind, bytes and seconds.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from laconism.dask import DaskLaconicRegressor
    >>> client = Client(processes=False, dashboard_address=None)  # doctest: +SKIP
    >>> X = da.random.normal(size=(100_000, 5), chunks=(10_000, 5))  # doctest: +SKIP
    >>> model = DaskLaconicRegressor().fit(X, X[:, 0])  # doctest: +SKIP
    >>> model.predict(X).compute()  # doctest: +SKIP
    """

    _twin = LaconicRegressor
    _fit_partitions = staticmethod(fit_laconic_partitions)
    _auto_rows = SAMPLE_ROWS
