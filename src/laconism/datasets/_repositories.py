"""Loaders of collections with published splits or a published preprocessing."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from ._loaders import PUBLISHED, load_npz


def load_ida(name: str) -> Bunch:
    """Load a data set of the IDA benchmark repository with its splits.

    Needs the file ``ida_<name>.npz``; :func:`find_data_file` tells where to put it. Table 2 of [1]_ uses
    flare_solar, german, thyroid and titanic.

    Parameters
    ----------
    name : str
        Name of the data set, such as ``"titanic"``.

    Returns
    -------
    data : Bunch
        ``data``, ``target`` (-1 or 1), ``splits`` (a list of training and test indices), ``original``,
        ``feature_names``, ``target_names``, ``DESCR``. ``original`` is False if the file lacks the
        splits of the repository; ``splits`` are then random ones of the same sizes, with a fixed seed.
        Mark results on them as such.

    References
    ----------
    .. [1] G. Liu, J. Wu and S. Zhou, "Probit classifiers with a generalized Gaussian scale mixture
       prior", IJCAI 2013.

    Examples
    --------
    >>> from laconism.datasets import load_ida
    >>> load_ida("titanic").data.shape  # doctest: +SKIP
    (2201, 3)
    """
    arrays = load_npz(f"ida_{name}")
    X = arrays["X"].astype(np.float64)
    original = len(arrays["train_idx"]) > 0
    train = arrays["train_idx" if original else "substitute_train_idx"].astype(np.intp)
    # Some training sets of the repository repeat rows; the test set is all rows that are not in them.
    every = np.arange(len(X))
    tests = arrays["test_idx"].astype(np.intp) if original else [np.setdiff1d(every, t) for t in train]
    return Bunch(
        data=X,
        target=arrays["y"].astype(np.int64),
        splits=list(zip(train, tests, strict=True)),
        original=original,
        feature_names=[f"x{k + 1}" for k in range(X.shape[1])],
        target_names=np.array(["-1", "1"]),
        DESCR=f"Two classes. Source: {PUBLISHED.get(f'ida_{name}', 'the IDA benchmark repository')}.",
    )


def load_leukemia() -> Bunch:
    """Load the leukemia gene expressions: 72 patients, 7129 genes, two kinds of the disease.

    Needs the file ``golub_leukemia.npz``; :func:`find_data_file` tells where to put it. Returns the
    logarithm (base 10) of the intensities, which are clipped to [20, 16,000]. Each row is processed by
    itself, so cross-validation stays valid.

    Returns
    -------
    data : Bunch
        ``data`` (72, 7129), ``target`` (0 = ALL, 47 patients, 1 = AML, 25), ``feature_names``,
        ``target_names``, ``DESCR``.

    Examples
    --------
    >>> from laconism.datasets import load_leukemia
    >>> load_leukemia().data.shape  # doctest: +SKIP
    (72, 7129)
    """
    arrays = load_npz("golub_leukemia")
    # Below is noise, above the scanner saturates (Dudoit, Fridlyand and Speed, JASA 97, 2002).
    intensities = np.clip(arrays["X"].astype(np.float64), 20, 16_000)
    return _genes(arrays, np.log10(intensities), ["ALL", "AML"], PUBLISHED["golub_leukemia"])


def load_colon() -> Bunch:
    """Load the colon gene expressions: 62 tissues, 2000 genes, tumour or normal.

    Needs the file ``alon_colon.npz``; :func:`find_data_file` tells where to put it. Returns the
    logarithm (base 10) of the intensities.

    Returns
    -------
    data : Bunch
        ``data`` (62, 2000), ``target`` (0 = normal, 22 tissues, 1 = tumour, 40), ``feature_names``,
        ``target_names``, ``DESCR``.

    Examples
    --------
    >>> from laconism.datasets import load_colon
    >>> load_colon().data.shape  # doctest: +SKIP
    (62, 2000)
    """
    arrays = load_npz("alon_colon")
    return _genes(arrays, np.log10(arrays["X"]), ["normal", "tumour"], PUBLISHED["alon_colon"])


def _genes(
    arrays: dict[str, NDArray[Any]], X: NDArray[np.float64], classes: list[str], source: str
) -> Bunch:
    return Bunch(
        data=X,
        target=arrays["y"].astype(np.int64),
        feature_names=[str(name) for name in arrays["gene"]],
        target_names=np.array(classes),
        DESCR=f"Gene expressions, logarithms of intensities. Source: {source}.",
    )
