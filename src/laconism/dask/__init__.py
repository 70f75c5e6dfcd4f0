"""Estimators for Dask collections: more rows than one machine holds.

The parameters are those of the local estimators, plus ``client`` and ``sample_rows``. A sample of the
rows chooses kernels, features and prior; their weights come from sums over all rows. Data stay in their
partitions. ``to_local()`` returns the ordinary estimator.

- ``estimators``: the public classes.
- ``model``: what they share: fit, lazy predictions, score.
- ``cluster``: passes over partitions that lie on workers.
- ``collections``: partitions from Dask arrays and dataframes.
- ``frames``: dataframes as matrices, categories as columns of zeros and ones.
- ``law``: what every one of them must satisfy.
"""

try:
    import distributed as _distributed  # noqa: F401
except ImportError as error:
    raise ImportError('laconism.dask needs the package dask: pip install "laconism[dask]".') from error

from .estimators import (
    DaskLaconicClassifier,
    DaskLaconicRegressor,
    DaskRVMClassifier,
    DaskRVMRegressor,
    DaskSparseBayesClassifier,
    DaskSparseBayesRegressor,
)
from .frames import encode_categories

__all__ = [
    "DaskLaconicClassifier",
    "DaskLaconicRegressor",
    "DaskRVMClassifier",
    "DaskRVMRegressor",
    "DaskSparseBayesClassifier",
    "DaskSparseBayesRegressor",
    "encode_categories",
]
