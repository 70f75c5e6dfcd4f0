"""Pairs of faces as tables: descriptors by blocks of the face."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter
from sklearn.utils import Bunch

from laconism.datasets._loaders import PUBLISHED, load_npz

# The paper's grid in the middle of an image, rows and columns of blocks.
BLOCKS = (9, 7)
# Pixels of the side of a block: these images are smaller than the paper's.
BLOCK_SIDE = 6

Images = NDArray[np.float32]
Codes = NDArray[np.uint8]
Shift = tuple[int, int]


def load_lfw_pairs(*, one_shot: int | None = None, per_fold: int | None = None) -> Bunch:
    """Load the pairs of Labeled Faces in the Wild as tables of distances: descriptors by blocks.

    Needs the file ``lfw_pairs_62x47.npz``; :func:`find_data_file` tells where to put it. Every image is
    described by histograms of four descriptors, LBP (uniform, 59 codes), CSLBP (16), TPLBP (256) and
    FPLBP (16), in 63 blocks of the face. A pair is the table of distances between the histograms of its
    two images, as in section 6.2 of the gridRVM paper. The images are smaller than the paper's (62 x 47
    pixels), so blocks are 6 x 6 pixels instead of 23 x 18. Takes up to a minute.

    Parameters
    ----------
    one_shot : int or None, default=None
        A fold whose images are the negative set of the one-shot similarity (Wolf, Hassner and Taigman,
        2008), which adds eight rows to the tables. Do not train or test on pairs of that fold.
    per_fold : int or None, default=None
        The number of pairs of each fold, evenly spaced; ``None`` is all 600.

    Returns
    -------
    data : Bunch
        ``data`` (6000 or fewer, 8 or 16, 63), ``target`` (1 = the same person), ``fold`` 0 to 9,
        ``row_names``, ``block_shape`` (9, 7), ``DESCR``.
    """
    arrays = load_npz("lfw_pairs_62x47")
    folds = arrays["fold"].astype(np.int64)
    if one_shot is not None and one_shot not in folds:
        raise ValueError(f"one_shot must be a fold from 0 to {folds.max()} or None, got {one_shot}.")
    rows = _at_even_steps(folds, per_fold)
    folds = folds[rows]
    used, pairs = np.unique(arrays["pairs"][rows], return_inverse=True)
    pairs = pairs.reshape(-1, 2)
    negative = None if one_shot is None else np.unique(pairs[folds == one_shot])
    images = (arrays["images"][used] / np.float32(255)).astype(np.float32)
    tables, names = pair_tables(images, pairs, negative)
    return Bunch(
        data=tables,
        target=arrays["pair_same"][rows].astype(np.int64),
        fold=folds,
        row_names=names,
        block_shape=BLOCKS,
        DESCR="Pairs of faces, distances of descriptors by blocks. "
        f"Source: {PUBLISHED['lfw_pairs_62x47']}.",
    )


def _at_even_steps(folds: NDArray[np.int64], per_fold: int | None) -> NDArray[np.intp]:
    """Return this number of rows of each fold, ascending."""
    if per_fold is None:
        return np.arange(folds.size)
    members = [np.flatnonzero(folds == fold) for fold in np.unique(folds)]
    most = min(map(len, members))
    if not 1 <= per_fold <= most:
        raise ValueError(f"per_fold must be a number from 1 to {most} or None, got {per_fold}.")
    taken = [rows[np.linspace(0, len(rows) - 1, per_fold).astype(np.intp)] for rows in members]
    return np.sort(np.concatenate(taken))


def pair_tables(
    images: Images, pairs: NDArray[np.intp], negative: NDArray[np.intp] | None = None, batch: int = 500
) -> tuple[NDArray[np.float32], list[str]]:
    """Return for every pair of images the distances of descriptors, kinds by blocks, and the kinds."""
    rows: list[NDArray[np.float32]] = []
    names: list[str] = []
    for name, (describe, n_codes) in DESCRIPTORS.items():
        starts = range(0, len(images), batch)  # one batch at a time, to bound the memory
        codes = np.concatenate([describe(images[start : start + batch]) for start in starts])
        kinds = [f"{name} L2", f"{name} Hellinger"]
        kinds += [f"{name} one-shot", f"{name} one-shot of roots"] if negative is not None else []
        table = np.empty((len(kinds), prod(BLOCKS), len(pairs)), dtype=np.float32)
        for block, histograms in enumerate(_histograms(codes, n_codes)):
            for k, values in enumerate((histograms, np.sqrt(histograms))):
                left, right = values[pairs[:, 0]], values[pairs[:, 1]]
                table[k, block] = np.sqrt(((left - right) ** 2).sum(axis=1))
                if negative is not None:
                    table[2 + k, block] = _one_shot(left, right, values[negative])
        rows.extend(table)
        names += kinds
    return np.ascontiguousarray(np.stack(rows).transpose(2, 0, 1)), names


def _one_shot(
    left: NDArray[np.float32],
    right: NDArray[np.float32],
    negative: NDArray[np.float32],
    shrinkage: float = 0.1,
) -> NDArray[np.float32]:
    """Return the one-shot similarities: each of a pair against the negative set, by LDA.

    The covariance of the negative set is singular, so it gets a fraction of its mean variance.
    """
    mean = negative.mean(axis=0)
    centred = negative - mean
    covariance = (centred.T @ centred / len(negative)).astype(np.float64)
    size = len(covariance)
    covariance += (shrinkage * np.trace(covariance) / size + 1e-12) * np.eye(size)
    root = np.linalg.inv(np.linalg.cholesky(covariance))
    x, y = (((side - mean) @ root.T) for side in (left, right))  # whitened, negative mean at zero
    # The discriminant of {x} against the negative set, at y, and of {y} at x; their mean.
    return np.asarray((x * y - (x**2 + y**2) / 4).sum(axis=1), dtype=np.float32)


def _histograms(codes: Codes, n_codes: int) -> list[NDArray[np.float32]]:
    """Return for every block the relative frequencies of the codes, images by codes."""
    height, width = codes.shape[1:]
    top, left = (height - BLOCKS[0] * BLOCK_SIDE) // 2, (width - BLOCKS[1] * BLOCK_SIDE) // 2
    if top < 0 or left < 0:
        raise ValueError(f"Images must hold 9 x 7 blocks of 6 x 6 pixels, got {height} x {width}.")
    found = []
    for row, column in np.ndindex(BLOCKS):
        y, x = top + row * BLOCK_SIDE, left + column * BLOCK_SIDE
        block = codes[:, y : y + BLOCK_SIDE, x : x + BLOCK_SIDE].reshape(len(codes), -1)
        flat = block + n_codes * np.arange(len(codes))[:, None]
        counts = np.bincount(flat.ravel(), minlength=n_codes * len(codes))
        found.append((counts.reshape(len(codes), n_codes) / block.shape[1]).astype(np.float32))
    return found


def _shifted(images: Images, shift: Shift) -> Images:
    """Return the images moved so that a pixel holds its neighbour at this place; edges are repeated."""
    dy, dx = shift
    reach = max(abs(dy), abs(dx))
    padded = np.pad(images, ((0, 0), (reach, reach), (reach, reach)), mode="edge")
    height, width = images.shape[1:]
    return padded[:, reach + dy : reach + dy + height, reach + dx : reach + dx + width]


def _ring(radius: int) -> list[Shift]:
    """Return eight places around a pixel."""
    angles = np.arange(8) * np.pi / 4
    return [(round(radius * float(np.sin(a))), round(radius * float(np.cos(a)))) for a in angles]


def _patch_distance(images: Images, first: Shift, second: Shift) -> Images:
    """Return for every pixel the squared distance between two patches of 3 x 3 pixels near it."""
    difference = (_shifted(images, first) - _shifted(images, second)) ** 2
    return np.asarray(uniform_filter(difference, (0, 3, 3), mode="nearest"), dtype=np.float32)


def _pack(bits: list[NDArray[np.bool_]]) -> Codes:
    """Return the code whose k-th binary digit is the k-th of at most eight bits."""
    return np.asarray(np.packbits(np.stack(bits), axis=0, bitorder="little")[0])


def _pack_clear(differences: list[Images], threshold: float = 0.01) -> Codes:
    """Return which differences of intensities in [0, 1] are clear, by the descriptors' own default."""
    return _pack([difference > threshold for difference in differences])


def _uniform_codes() -> Codes:
    """Return the map of 256 patterns to 58 with at most two changes around the ring, and the rest."""
    patterns = np.arange(256, dtype=np.uint8)
    rotated = (patterns << np.uint8(1)) | (patterns >> np.uint8(7))
    changes = np.array([int(pattern).bit_count() for pattern in patterns ^ rotated])
    codes = np.full(256, 58, dtype=np.uint8)
    codes[changes <= 2] = np.arange(58)
    return codes


_UNIFORM = _uniform_codes()


def lbp(images: Images) -> Codes:
    """Return uniform local binary patterns: which of eight neighbours are as bright as the centre."""
    return _UNIFORM[_pack([_shifted(images, place) >= images for place in _ring(1)])]


def cslbp(images: Images) -> Codes:
    """Return centre-symmetric patterns: which of four opposite neighbours is the brighter."""
    ring = _ring(1)
    opposite = zip(ring[:4], ring[4:], strict=True)
    return _pack_clear([_shifted(images, a) - _shifted(images, b) for a, b in opposite])


def tplbp(images: Images, radius: int = 2, step: int = 5) -> Codes:
    """Return three-patch patterns: which of two patches on the ring is less like the middle one."""
    near = [_patch_distance(images, place, (0, 0)) for place in _ring(radius)]
    return _pack_clear([near[k] - near[(k + step) % 8] for k in range(8)])


def fplbp(images: Images, radii: tuple[int, int] = (2, 3), step: int = 1) -> Codes:
    """Return four-patch patterns: pairs of patches on two rings, against the pairs opposite."""
    inner, outer = (_ring(radius) for radius in radii)
    across = [_patch_distance(images, inner[k], outer[(k + step) % 8]) for k in range(8)]
    return _pack_clear([across[k] - across[k + 4] for k in range(4)])


DESCRIPTORS: dict[str, tuple[Callable[[Images], Codes], int]] = {
    "LBP": (lbp, 59),
    "CSLBP": (cslbp, 16),
    "TPLBP": (tplbp, 256),
    "FPLBP": (fplbp, 16),
}
