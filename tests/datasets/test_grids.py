"""The mixture and the tables draw what they say."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from laconism.datasets import load_esl_mixture, make_grid, make_mixture, mixture_means


def grid(**changes):
    return make_grid(**({"relevant": (3, 2), "random_state": 3} | changes))


@pytest.mark.parametrize(
    "make", [make_mixture, lambda **seed: grid(**seed), lambda **seed: (mixture_means(**seed),)]
)
def test_a_seed_fixes_the_draw(make):
    first, again = make(random_state=3), make(random_state=np.random.default_rng(3))
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not np.array_equal(first[0], make(random_state=4)[0])
    assert not np.array_equal(make(random_state=None)[0], make(random_state=None)[0])


# ---- the mixture ---------------------------------------------------------------------------------


def mixture_density(X, means):
    """p(x | class), one column per class."""
    return np.transpose(
        [np.mean([multivariate_normal(m, 0.2).pdf(X) for m in of_class], axis=0) for of_class in means]
    )


def bayes_error(means):
    """By summing the smaller of the two densities over a fine grid."""
    low, high = means.min(axis=(0, 1)) - 3, means.max(axis=(0, 1)) + 3
    axes = [np.arange(a, b, 0.03) for a, b in zip(low, high, strict=True)]
    points = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2)
    return mixture_density(points, means).min(axis=1).sum() * 0.03**2 / 2


def published():
    try:
        return load_esl_mixture()
    except FileNotFoundError as error:
        pytest.skip(str(error))


def test_means_are_drawn_around_the_centres_of_the_classes():
    means = np.array([mixture_means(random_state=seed) for seed in range(2000)])
    np.testing.assert_allclose(means.mean(axis=(0, 2)), [[1, 0], [0, 1]], atol=0.03)
    np.testing.assert_allclose(means.std(axis=(0, 2)), np.ones((2, 2)), atol=0.03)


def test_mixture_shapes_and_classes():
    X, y = make_mixture(101, n_noise=3, random_state=0)
    assert X.shape == (101, 5)
    assert X.dtype == np.float64
    assert y.dtype == np.int64
    assert y.sum() == 51
    assert 0 < y[:50].sum() < 50


def test_noise_is_noise_and_leaves_the_others_alone():
    (plain, y), (noisy, again) = (make_mixture(20_000, n_noise=k, random_state=0) for k in (0, 2))
    np.testing.assert_array_equal(y, again)
    np.testing.assert_array_equal(noisy[:, :2], plain)
    for label in (0, 1):
        np.testing.assert_allclose(noisy[y == label, 2:].mean(axis=0), 0, atol=0.04)
    np.testing.assert_allclose(np.cov(noisy.T)[2:], np.eye(4)[2:], atol=0.05)


def test_training_and_test_points_share_their_means():
    means = mixture_means(random_state=7)
    X, y = make_mixture(40_000, means=means, random_state=1)
    for label in (0, 1):
        centres, of_class = means[label], X[y == label]
        np.testing.assert_allclose(of_class.mean(axis=0), centres.mean(axis=0), atol=0.03)
        expected = np.cov(centres.T, bias=True) + 0.2 * np.eye(2)
        np.testing.assert_allclose(np.cov(of_class.T), expected, atol=0.05)
    error = np.mean(mixture_density(X, means).argmax(axis=1) != y)
    assert error == pytest.approx(bayes_error(means), abs=0.007)


def test_without_means_they_are_drawn_first():
    rng = np.random.default_rng(5)
    X, y = make_mixture(30, means=mixture_means(rng), random_state=rng)
    drawn, labels = make_mixture(30, random_state=5)
    np.testing.assert_array_equal(X, drawn)
    np.testing.assert_array_equal(y, labels)


def test_the_published_mixture_has_a_best_error_of_20_8_percent():
    bunch = published()
    assert bunch.data.shape == (200, 2)
    assert bunch.means.shape == (2, 10, 2)
    assert bunch.target.sum() == 100
    assert "Source:" in bunch.DESCR
    assert bayes_error(bunch.means) == pytest.approx(0.208, abs=5e-4)
    X, y = make_mixture(100_000, means=bunch.means, random_state=0)
    assert np.mean(mixture_density(X, bunch.means).argmax(axis=1) != y) == pytest.approx(
        0.208, abs=0.004
    )
    at_home = mixture_density(bunch.data, bunch.means)
    assert np.mean(at_home.argmax(axis=1) != bunch.target) < 0.25  # the means are of the right classes


def test_a_missing_mixture_is_named_with_its_source(tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("LACONISM_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"esl_mixture.npz .*LACONISM_DATA.*Elements"):
        load_esl_mixture()


# ---- tables and tensors --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "relevant"),
    [((9,), (2,)), ((7, 5), (3, 2)), ((4, 5, 3), (2, 5, 1)), ((3, 2, 4, 2), (1, 2, 3, 1))],
)
@pytest.mark.parametrize("kind", ["regression", "classification"])
def test_what_is_not_zero_is_a_box(shape, relevant, kind):
    X, y, coef = make_grid(20, shape, relevant=relevant, kind=kind, random_state=0)
    assert X.shape == (20, *shape)
    assert y.shape == (20,)
    assert y.dtype == (np.float64 if kind == "regression" else np.int64)
    assert coef.shape == shape
    assert np.count_nonzero(coef) == np.prod(relevant)
    for mode, count in enumerate(relevant):
        others = tuple(axis for axis in range(len(shape)) if axis != mode)
        assert np.count_nonzero(coef.any(axis=others)) == count
    assert np.sum(coef**2) == pytest.approx(1)
    sizes = np.abs(coef[coef != 0])
    assert sizes.max() < 3 * sizes.min()


def test_slices_can_be_named():
    _, _, coef = make_grid(5, (6, 5), relevant=((4, 1), np.array([0, 3])), random_state=0)
    rows, columns = np.nonzero(coef)
    assert set(zip(rows.tolist(), columns.tolist(), strict=True)) == {(1, 0), (1, 3), (4, 0), (4, 3)}
    mixed = make_grid(5, (6, 5), relevant=(2, [0]), random_state=0)[2]
    assert mixed[:, 0].any()
    assert not mixed[:, 1:].any()


def test_signal_and_noise_have_the_sizes_they_say():
    X, y, coef = make_grid(20_000, (4, 5), relevant=(2, 3), noise=0.3, random_state=0)
    signal = X.reshape(len(X), -1) @ coef.ravel()
    np.testing.assert_allclose(np.cov(X.reshape(len(X), -1).T), np.eye(20), atol=0.05)
    assert np.std(signal) == pytest.approx(1, rel=0.03)
    assert np.std(y - signal) == pytest.approx(0.3, rel=0.03)
    assert np.corrcoef(signal, y - signal)[0, 1] == pytest.approx(0, abs=0.03)
    np.testing.assert_allclose(*(grid(noise=0.0)[1], np.einsum("nij,ij->n", *grid(noise=0.0)[::2])))


@pytest.mark.parametrize("noise", [0.0, 0.5, 2.0])
def test_classes_have_the_best_error_they_say(noise):
    X, y, coef = make_grid(
        20_000, (5, 3), relevant=(2, 2), kind="classification", noise=noise, random_state=0
    )
    error = np.mean((np.einsum("nij,ij->n", X, coef) > 0) != y)
    assert error == pytest.approx(np.arctan(noise) / np.pi, abs=0.01)


def test_the_kind_changes_the_target_alone():
    (X, f, coef), (same, y, coef_too) = grid(), grid(kind="classification")
    np.testing.assert_array_equal(X, same)
    np.testing.assert_array_equal(coef, coef_too)
    np.testing.assert_array_equal(y, f > 0)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: make_mixture(10, n_noise=-1), "not be negative"),
        (lambda: make_mixture(10, means=np.zeros((20, 2))), r"shape \(2, n_components, 2\)"),
        (lambda: grid(kind="ranking"), "'regression' or 'classification'"),
        (lambda: grid(relevant=(3,)), "each of the 2 modes, got 1"),
        (lambda: grid(relevant=(3, 0)), "1 to 8 relevant ones, got 0"),
        (lambda: grid(relevant=(11, 1)), "1 to 10 relevant ones, got 11"),
        (lambda: grid(relevant=(3, [0, 8])), r"from 0 to 7, at least one; got \[0, 8\]"),
        (lambda: grid(relevant=(3, [2, 2])), "different indices"),
        (lambda: grid(relevant=([], 2)), "at least one"),
    ],
)
def test_impossible_requests_are_refused_in_a_sentence(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()
