"""Saving and loading models: the files hold only data, and loading executes no code from them."""

from __future__ import annotations

import importlib
import io
import json
import os
import pkgutil
import sys
import warnings
from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
from sklearn.base import BaseEstimator

from .._component import is_count
from ._archive import LABEL, SCHEMA, Archive, TooLarge, content_of
from .whole_file import write_whole

# Packages and modules whose classes a model may hold.
_MODEL_PACKAGES = (
    "basis",
    "design",
    "flagship",
    "jcfo",
    "judging",
    "kernels",
    "laplace",
    "likelihoods",
    "linalg",
    "model",
    "partitions",
    "posterior",
    "priors",
    "rvm",
    "solvers",
    "sparse",
)
# Classes and functions of other packages that pipelines, calibrations and searches around a model hold,
# beside the public estimators of scikit-learn, which skops knows. They only hold or compute numbers.
_TRUSTED_OTHERS = (
    "numpy.dtype",
    "scipy.sparse._csr.csr_array",
    "scipy.sparse._csr.csr_matrix",
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration",
    "sklearn.calibration._TemperatureScaling",
    "sklearn.compose._column_transformer._RemainderColsList",
    "sklearn.compose._column_transformer.make_column_selector",
    "sklearn.feature_selection._univariate_selection.chi2",
    "sklearn.feature_selection._univariate_selection.f_classif",
    "sklearn.feature_selection._univariate_selection.f_regression",
    "sklearn.metrics._scorer._PassthroughScorer",
    "sklearn.metrics._scorer._Scorer",
    "sklearn.utils._bunch.Bunch",
)
# Attributes that hold the callbacks of an estimator: our parameter, and scikit-learn's.
_CALLBACKS = ("callbacks", "_skl_callbacks", "_skl_callbacks_to_teardown", "_callback_fit_ctx")
# The member with the version that wrote the archive, under the former name of the library.
_FORMER_LABEL = "laconic.json"


def save(model: BaseEstimator, path: str | os.PathLike[str], *, slim: bool = False) -> None:
    """Save a model, or a pipeline around one, to a file without pickle.

    The file is a zip archive of arrays and of a description in JSON, in the format of
    `skops <https://skops.readthedocs.io>`_. An existing file is replaced only when the new one is
    complete. Of an unfitted model the parameters are saved. Functions, such as a user-defined kernel,
    and classes of other packages are refused, because loading them would execute code. Callbacks are
    left out, with a warning.

    Needs ``pip install "laconism[save]"``.

    Parameters
    ----------
    model : estimator of laconism, or a pipeline or search of scikit-learn around one
    path : str or path of the file to write; its name conventionally ends in ``.skops``
    slim : bool, default=False
        Whether to leave out the parts of each Laconic model that predictions do not need, as its method
        ``slim`` does: the reference, and the training rows without a kernel.

    Examples
    --------
    >>> import os, tempfile
    >>> import laconism
    >>> from laconism.datasets import make_ripley
    >>> X, y = make_ripley(100, random_state=0)
    >>> model = laconism.RVMClassifier().fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.skops")
    ...     laconism.save(model, path)
    ...     again = laconism.load(path)
    >>> bool((again.predict_proba(X) == model.predict_proba(X)).all())
    True
    """
    sio = _skops()
    if not isinstance(model, BaseEstimator) or isinstance(model, type):
        raise TypeError(f"save needs a model, got {type(model).__name__}.")
    folder = Path(os.path.realpath(path)).parent
    if Path(path).is_dir():
        raise IsADirectoryError(f"{path} is a folder: give the file's name too.")
    if not folder.is_dir():
        raise FileNotFoundError(f"There is no folder {folder} to save in.")
    stripped = _without_callbacks(_slim(model) if slim else model)
    try:
        buffer = io.BytesIO(sio.dumps(stripped, compression=ZIP_DEFLATED))
        with ZipFile(buffer, "a", ZIP_DEFLATED) as file:
            file.writestr(LABEL, json.dumps({"laconism": _version()}))
        data, archive = buffer.getvalue(), Archive(str(path), sys.maxsize)
        untrusted = _untrusted(data) or archive.check(data)
    except Exception as error:
        raise ValueError(
            "The model cannot be saved: something in it, such as a method or a generator, is no data."
        ) from error
    if untrusted:
        raise ValueError(
            f"The model holds {', '.join(untrusted)}, which a file must not name: save models made of "
            "what laconism and scikit-learn offer, without functions and classes of your own."
        )
    if archive.taken > Archive.max_bytes:
        warnings.warn(
            f"The file takes {archive.taken:,} bytes once unpacked: load it with "
            f"laconism.load(path, max_bytes={archive.taken}).",
            stacklevel=2,
        )
    write_whole(data, path)


def load(path: str | os.PathLike[str], *, max_bytes: int = Archive.max_bytes) -> Any:
    """Load a model that :func:`save` has written.

    No code in the file is executed. A file is refused if it is damaged, if it names anything but
    classes of laconism, estimators of scikit-learn and arrays of numpy and scipy, or if it takes too
    much; this is checked before anything in it is constructed. Files are not signed: numbers that
    somebody changed on purpose are not detected. There is a warning if a newer version of laconism has
    written the file.

    Needs ``pip install "laconism[save]"``.

    Parameters
    ----------
    path : str or path of the file
    max_bytes : int, default=536870912
        The most that the file may take once it is unpacked: the bytes of its arrays, 8 for each byte of
        its description and 1,024 for each value in that. Loading takes about twice as much memory.
        :func:`save` warns if a file takes more than the default.
    """
    sio = _skops()
    if Path(path).is_dir():
        raise IsADirectoryError(f"{path} is a folder: give the file's name too.")
    if not Path(path).exists():
        raise FileNotFoundError(f"There is no file {path}.")
    if not is_count(max_bytes):
        raise ValueError(f"max_bytes must be a whole number above zero, got {max_bytes!r}.")
    archive = Archive(str(path), int(max_bytes))
    data = _read(path, archive)  # once, so that the checked bytes are the loaded ones
    written = _version_of(data, path, archive)
    newer = _is_newer(written)
    by = f" It was saved by laconism {written}, this is {_version()}: upgrade." if newer else ""
    model = None
    try:
        untrusted = archive.check(data) or _untrusted(data)
        if not untrusted:  # skops holds the list of names in every node: those of this file are few
            model = sio.loads(data, trusted=sorted(archive.names.intersection(_trusted())))
    except TooLarge:
        raise
    except Exception as error:
        raise ValueError(f"{path} is damaged and was not loaded.{by}") from error
    if untrusted:
        raise ValueError(
            f"{path} was not loaded: it names {', '.join(untrusted)}, which is no part of a model.{by}"
        )
    if not isinstance(model, BaseEstimator):
        raise ValueError(f"{path} was not loaded: it holds a {type(model).__name__}, not a model.")
    if newer:
        warnings.warn(
            f"{path} was saved by laconism {written}, which is newer than this one ({_version()}): "
            "upgrade if its predictions matter.",
            stacklevel=2,
        )
    return model


def _read(path: str | os.PathLike[str], archive: Archive) -> bytes:
    """Return the bytes of a file, or raise if they are too many; a pipe is read no further than that."""
    with open(path, "rb") as file:
        start = file.read(4)
        if start != b"PK\3\4":
            raise ValueError(f"{path} is not a model that laconism.save has written.")
        archive.take(os.fstat(file.fileno()).st_size)  # of a pipe 0
        archive.taken, blocks = 0, [start]
        while block := file.read(2**20):
            archive.take(len(block))
            blocks.append(block)
        archive.taken = 0
        return b"".join(blocks)


def _version_of(data: bytes, path: str | os.PathLike[str], archive: Archive) -> str:
    """Return the version of laconism that wrote an archive, or raise unless :func:`save` wrote it."""
    written = ""
    try:
        with archive.open(data) as file:
            if _FORMER_LABEL not in file.namelist():
                written = str(json.loads(content_of(file, LABEL, 1000))["laconism"])
                _is_newer(written)  # raises unless it is a version
                file.getinfo(SCHEMA)
    except TooLarge:
        raise
    except Exception as error:
        raise ValueError(f"{path} is not a model that laconism.save has written.") from error
    if not written:
        raise ValueError(
            f"{path} was saved by laconic, the former name of this library: fit the model again and "
            "save it."
        )
    return written


def _skops() -> Any:
    try:
        import skops.io
    except ImportError as error:
        raise ImportError(
            'Saving and loading models needs the package skops: pip install "laconism[save]".'
        ) from error
    return skops.io


# ---- which names a file may hold ----------------------------------------------------------------


@cache
def _trusted() -> list[str]:
    """Return the names of the classes that a file may refer to."""
    from sklearn import model_selection
    from sklearn.metrics import get_scorer, get_scorer_names

    splitters = (each for each in vars(model_selection).values() if hasattr(each, "get_n_splits"))
    names = {*_TRUSTED_OTHERS, *(f"{each.__module__}.{each.__name__}" for each in splitters)}
    for module in _modules():
        names.update(
            f"{module.__name__}.{name}"
            for name, thing in vars(module).items()
            if isinstance(thing, type) and thing.__module__ == module.__name__ and thing.__name__ == name
        )
    for name in get_scorer_names():
        score = get_scorer(name)._score_func
        names.add(f"{score.__module__}.{score.__name__}")
    return sorted(names)


def _modules() -> Iterator[Any]:
    """Yield every module of laconism in which parts of models are defined."""
    package = __package__.split(".")[0]
    for unit in _MODEL_PACKAGES:
        module = importlib.import_module(f"{package}.{unit}")
        yield module
        for info in pkgutil.walk_packages(getattr(module, "__path__", ()), f"{module.__name__}."):
            yield importlib.import_module(info.name)


def _untrusted(data: bytes) -> list[str]:
    """Return the names in an archive that are not trusted; nothing is imported or constructed."""
    return sorted(set(_skops().get_untrusted_types(data=data)) - set(_trusted()))


# ---- what is saved ------------------------------------------------------------------------


def _slim(model: BaseEstimator) -> BaseEstimator:
    """Return a copy of the model in which every fitted Laconic model is slim."""
    parts = [part for part in _parts(model, set()) if isinstance(part, BaseEstimator)]
    slimmer = {
        id(part): part.slim() for part in parts if hasattr(part, "slim") and hasattr(part, "status_")
    }
    return deepcopy(model, slimmer) if slimmer else model


def _without_callbacks(model: BaseEstimator) -> BaseEstimator:
    """Return the model, or a copy of it without callbacks."""
    callbacks = []
    for part in _parts(model, set()):
        if isinstance(part, BaseEstimator):
            held = (vars(part).get(name) for name in _CALLBACKS)
            callbacks += [callback for callback in held if callback is not None]
        elif isinstance(part, dict) and any(isinstance(key, bool | np.bool_) for key in part):
            raise ValueError(
                "A dictionary of the model has True or False as a key, which a file does not tell from "
                "each other: write 1 and 0."
            )
    if not callbacks:
        return model
    warnings.warn("The model's callbacks are not saved: they are no part of it.", stacklevel=3)
    # Through the memo of deepcopy each callback is replaced by None.
    return deepcopy(model, {id(callback): None for callback in callbacks})


def _parts(thing: Any, seen: set[int]) -> Iterator[Any]:
    """Yield an object and all objects that it holds, each once, without callbacks."""
    if id(thing) in seen:
        return
    seen.add(id(thing))
    yield thing
    if isinstance(thing, dict):
        held = list(thing.values())
    elif isinstance(thing, list | tuple):
        held = list(thing)
    else:
        state = getattr(thing, "__dict__", None)
        state = state if isinstance(state, dict) and not isinstance(thing, type) else {}
        held = [part for name, part in state.items() if name not in _CALLBACKS]
    for part in held:
        yield from _parts(part, seen)


# ---- versions -----------------------------------------------------------------------------


def _version() -> str:
    """Return the version of laconism; looked up late, since its ``__init__`` imports this module."""
    return str(importlib.import_module(__package__.split(".")[0]).__version__)


def _is_newer(written: str) -> bool:
    from packaging.version import Version  # skops brings it

    return bool(Version(written) > Version(_version()))
