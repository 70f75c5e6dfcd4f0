"""Models that select columns from many know how much they know: fits without parts of the rows."""

import numpy as np
import pytest
from sklearn.metrics import log_loss
from sklearn.metrics.pairwise import rbf_kernel

from laconism import JCFORegressor, RVMClassifier


def labels(seed, n=100, p=30):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n + 500, p))
    y = X[:, :4].sum(axis=1) + rng.normal(size=n + 500) > 0
    return X[:n], y[:n], X[n:], y[n:]


def values(seed, n=60, p=30):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n + 500, p))
    y = X[:, 0] + np.sin(2 * X[:, 1]) + X[:, 2] * X[:, 3] / 2 + 0.5 * rng.normal(size=n + 500)
    return X[:n], y[:n], X[n:], y[n:]


@pytest.mark.parametrize("kernel", ["rbf", None])
def test_probabilities_of_many_features(kernel):
    """New labels are more probable, by more than three standard errors over the draws with kernels."""
    gains = []
    for seed in range(6):
        X, y, X_new, y_new = labels(seed)
        plain, calibrated = (RVMClassifier(kernel, calibrate=each).fit(X, y) for each in (False, True))
        losses = [log_loss(y_new, model.predict_proba(X_new)) for model in (plain, calibrated)]
        gains.append(losses[0] - losses[1])
    error = np.std(gains, ddof=1) / np.sqrt(len(gains))
    assert np.mean(gains) > (3 * error if kernel else -error)


def test_intervals_of_many_features():
    inside = {False: [], True: []}
    for seed in range(4):
        X, y, X_new, y_new = values(seed)
        for calibrate, covered in inside.items():
            low, high = JCFORegressor(calibrate=calibrate).fit(X, y).predict_interval(X_new)
            covered.append(np.mean((low <= y_new) & (y_new <= high)))
    assert np.mean(inside[False]) < 0.9 < 0.92 < np.mean(inside[True]) < 0.98


@pytest.mark.parametrize("kernel", ["rbf", None])
def test_only_scale_and_shift_change(kernel):
    X, y, X_new, _ = labels(0, n=60, p=5)
    plain, calibrated = (RVMClassifier(kernel, calibrate=each).fit(X, y) for each in (False, True))
    np.testing.assert_array_equal(calibrated.relevance_, plain.relevance_)
    (m, v), (moved, same) = plain._latents(X_new), calibrated._latents(X_new)
    np.testing.assert_allclose(same, v, rtol=1e-10)
    line = np.polyfit(m[:, 0], moved[:, 0], 1)
    np.testing.assert_allclose(np.polyval(line, m[:, 0]), moved[:, 0], atol=1e-10)
    assert line[0] > 0


def test_rows_of_a_precomputed_matrix():
    """The columns of the matrix are left out with their rows, also where some have no weight."""
    X, y, X_new, _ = labels(0, n=60, p=3)
    weight = (np.arange(60) % 5 > 0).astype(float)
    model = RVMClassifier(gamma=0.3).fit(X, y, weight)
    other = RVMClassifier("precomputed").fit(rbf_kernel(X, gamma=0.3), y, weight)
    near = other.predict_proba(rbf_kernel(X_new, X, gamma=0.3))
    # Their factors differ; the folds do too, as they are drawn by distances between the rows given.
    np.testing.assert_allclose(near, model.predict_proba(X_new), atol=0.1)


def test_a_class_of_one_row():
    X, y, *_ = labels(0, n=20, p=2)
    y[:] = False
    y[3] = True
    assert np.isfinite(RVMClassifier().fit(X, y).predict_proba(X)).all()
    assert np.isfinite(RVMClassifier().fit(X[2:4], y[2:4]).predict_proba(X)).all()
