"""Tables of pairs of faces, gene expressions and the IDA splits: against definitions written out."""

import sys
from pathlib import Path

import numpy as np
import pytest

from laconism import datasets

ROOT = Path(__file__).resolve().parents[2]
if not (ROOT / "experiments").is_dir():
    pytest.skip("The experiments are not part of this copy of the sources.", allow_module_level=True)
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from experiments.grid_rvm import faces as _faces  # noqa: E402


@pytest.fixture
def images():
    return np.random.default_rng(0).random((3, 54, 42)).astype(np.float32)


def at(image, y, x):
    height, width = image.shape
    return image[min(max(y, 0), height - 1), min(max(x, 0), width - 1)]


RING = [(0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1), (-1, 0), (-1, 1)]


def test_lbp_is_its_definition(images):
    codes = _faces.lbp(images)
    patterns = {}
    for y in range(54):
        for x in range(42):
            bits = [at(images[0], y + dy, x + dx) >= images[0, y, x] for dy, dx in RING]
            changes = sum(bits[k] != bits[k - 1] for k in range(8))
            key = tuple(bits) if changes <= 2 else "other"
            assert patterns.setdefault(key, codes[0, y, x]) == codes[0, y, x]
    assert patterns["other"] == 58
    assert len(set(patterns.values())) == len(patterns)
    assert len(np.unique(_faces._UNIFORM)) == 59


def test_cslbp_is_its_definition(images):
    codes = _faces.cslbp(images)
    for y, x in ((0, 0), (20, 11), (53, 41), (7, 30)):
        bits = [
            at(images[1], y + a[0], x + a[1]) - at(images[1], y + b[0], x + b[1]) > 0.01
            for a, b in zip(RING[:4], RING[4:], strict=True)
        ]
        assert codes[1, y, x] == sum(bit << k for k, bit in enumerate(bits))


def patch(image, y, x):
    return np.array([[at(image, y + dy, x + dx) for dx in (-1, 0, 1)] for dy in (-1, 0, 1)])


def test_patch_descriptors_are_their_definitions(images):
    two, three = _faces.tplbp(images), _faces.fplbp(images)
    image = images[2]

    def distance(y, x, a, b):
        first, second = patch(image, y + a[0], x + a[1]), patch(image, y + b[0], x + b[1])
        return ((first - second) ** 2).mean()

    ring, outer = _faces._ring(2), _faces._ring(3)
    for y, x in ((20, 11), (30, 30), (12, 25)):
        near = [distance(y, x, place, (0, 0)) for place in ring]
        bits = [near[k] - near[(k + 5) % 8] > 0.01 for k in range(8)]
        assert two[2, y, x] == sum(bit << k for k, bit in enumerate(bits))
        across = [distance(y, x, ring[k], outer[(k + 1) % 8]) for k in range(8)]
        bits = [across[k] - across[k + 4] > 0.01 for k in range(4)]
        assert three[2, y, x] == sum(bit << k for k, bit in enumerate(bits))


@pytest.mark.parametrize("name", _faces.DESCRIPTORS)
def test_descriptors_do_not_see_brightness_and_stay_within_their_codes(name, images):
    describe, n_codes = _faces.DESCRIPTORS[name]
    codes = describe(images)
    assert codes.shape == images.shape
    assert codes.max() < n_codes
    steps = np.round(images * 64) / 64  # sums that are exact, so that nothing hangs on a rounding
    np.testing.assert_array_equal(describe(steps), describe(steps + np.float32(2)))


def test_pairs_are_compared_block_by_block(images):
    pairs = np.array([[0, 1], [1, 0], [2, 2]])
    tables, kinds = _faces.pair_tables(images, pairs)
    assert tables.shape == (3, 8, 63)
    assert kinds[:2] == ["LBP L2", "LBP Hellinger"]
    np.testing.assert_array_equal(tables[0], tables[1])
    assert not tables[2].any()
    codes = _faces.lbp(images)
    # The second row of blocks, the sixth column; images of 54 x 42 pixels have no margin.
    left, right = (np.bincount(codes[k, 6:12, 30:36].ravel(), minlength=59) / 36 for k in (0, 1))
    assert tables[0, 0, 7 + 5] == pytest.approx(np.linalg.norm(left - right), rel=1e-5)
    assert tables[0, 1, 7 + 5] == pytest.approx(np.linalg.norm(np.sqrt(left) - np.sqrt(right)), rel=1e-5)


def test_changing_a_block_changes_its_column_alone(images):
    other = images.copy()
    other[1, 26:28, 20:22] = 0.0  # the middle of row 4, column 3; descriptors reach no further than 5
    pairs = np.array([[0, 1]])
    before, after = (_faces.pair_tables(each, pairs)[0][0] for each in (images, other))
    changed = np.flatnonzero((before != after).any(axis=0))
    rows, columns = np.divmod(changed, 7)
    assert 4 * 7 + 3 in changed
    assert set(rows) <= {3, 4, 5}
    assert set(columns) <= {2, 3, 4}


def test_one_shot_similarity_is_linear_discriminant_analysis():
    rng = np.random.default_rng(0)
    negative, left, right = (rng.random((n, 5)).astype(np.float32) for n in (40, 3, 3))
    found = _faces._one_shot(left, right, negative)
    mean, covariance = negative.mean(axis=0), np.cov(negative.T, bias=True)
    covariance = covariance + 0.1 * np.trace(covariance) / 5 * np.eye(5)
    inverse = np.linalg.inv(covariance)
    for k in range(3):
        x, y = left[k], right[k]
        one = (x - mean) @ inverse @ (y - (x + mean) / 2)
        other = (y - mean) @ inverse @ (x - (y + mean) / 2)
        assert found[k] == pytest.approx((one + other) / 2, rel=1e-4, abs=1e-5)
    np.testing.assert_allclose(found, _faces._one_shot(right, left, negative), rtol=1e-4)


def test_images_that_are_too_small_are_refused_in_a_sentence():
    with pytest.raises(ValueError, match="Images must hold 9 x 7 blocks of 6 x 6 pixels, got 20 x 20"):
        _faces.pair_tables(np.zeros((2, 20, 20), np.float32), np.array([[0, 1]]))


def write(folder, name, **arrays):
    np.savez(folder / f"{name}.npz", **arrays)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("LACONISM_DATA", str(tmp_path))
    return tmp_path


def test_lfw_pairs_from_a_file(folder):
    rng = np.random.default_rng(0)
    write(
        folder,
        "lfw_pairs_62x47",
        images=rng.integers(0, 256, (12, 62, 47)).astype(np.uint8),
        pairs=np.array([[0, 3], [3, 5], [7, 9], [9, 11]], dtype=np.uint16),
        pair_same=np.array([1, 0, 1, 0], dtype=np.int8),
        fold=np.array([0, 0, 1, 1], dtype=np.int8),
    )
    bunch = _faces.load_lfw_pairs()
    assert bunch.data.shape == (4, 8, 63)
    assert bunch.target.tolist() == [1, 0, 1, 0]
    more = _faces.load_lfw_pairs(one_shot=1)
    assert more.data.shape == (4, 16, 63)
    assert np.isfinite(more.data).all()
    assert not hasattr(bunch, "images")
    with pytest.raises(ValueError, match="one_shot must be a fold from 0 to 1 or None, got 7"):
        _faces.load_lfw_pairs(one_shot=7)
    few = _faces.load_lfw_pairs(per_fold=1)
    assert few.fold.tolist() == [0, 1]
    np.testing.assert_array_equal(few.data, bunch.data[[0, 2]])
    with pytest.raises(ValueError, match="per_fold must be a number from 1 to 2 or None, got 3"):
        _faces.load_lfw_pairs(per_fold=3)


def test_ida_splits_are_the_originals_or_say_that_they_are_not(folder):
    X, y = np.arange(12).reshape(6, 2), np.array([-1, 1, 1, -1, 1, -1], dtype=np.int8)
    drawn, left = np.array([[0, 1, 2, 3]]), np.array([[4, 5]])
    substitute = np.array([[5, 3, 1, 0], [0, 1, 2, 4]])
    write(folder, "ida_a", X=X, y=y, train_idx=drawn, test_idx=left, substitute_train_idx=substitute)
    write(
        folder,
        "ida_b",
        X=X,
        y=y,
        train_idx=drawn[:0],
        test_idx=left[:0],
        substitute_train_idx=substitute,
    )
    original, other = datasets.load_ida("a"), datasets.load_ida("b")
    assert (original.original, other.original) == (True, False)
    assert len(original.splits) == 1
    assert [test.tolist() for _, test in other.splits] == [[2, 4], [3, 5]]
    assert other.data.dtype == float
    for train, test in (*original.splits, *other.splits):
        assert not set(train) & set(test)


def test_gene_expressions_are_logarithms_row_by_row(folder):
    X = np.array([[5, 100, 1_000_000], [20, 1000, 16_000]])
    genes = np.array(["a", "b", "c"])
    write(folder, "golub_leukemia", X=X, y=np.array([0, 1]), gene=genes)
    write(folder, "alon_colon", X=X.astype(float), y=np.array([1, 0]), gene=genes)
    bunch = datasets.load_leukemia()
    np.testing.assert_allclose(bunch.data[0], np.log10([20, 100, 16_000]))
    assert bunch.feature_names == ["a", "b", "c"]
    np.testing.assert_allclose(datasets.load_colon().data, np.log10(X))
