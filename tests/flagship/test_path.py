"""Models of every size: what they lose, their error bars, and slim copies."""

import pickle

import numpy as np
import pytest
from numpy.polynomial.hermite_e import hermegauss
from sklearn.base import clone
from sklearn.datasets import (
    make_friedman1,
    make_regression,
)
from sklearn.exceptions import NotFittedError

from flagship_cases import (
    alpha_of,
    both,
    check_survives,
    data,
    fitted,
    integrated,
    kernel_matrix,
    nats,
    nats_at_rows,
    path_builder,
    says,
    sizes,
)
from laconism import LaconicClassifier, LaconicRegressor
from laconism.flagship.build_path import PathBuilder
from laconism.flagship.path import Path, path_sizes
from laconism.judging.folds import balanced_folds
from laconism.likelihoods import Gaussian, Probit


def test_nats_of_a_classifier_are_the_divergence():
    X, y, model = fitted(LaconicClassifier)
    p = integrated(model.reference_[0], X)
    for k, lost in enumerate(nats_at_rows(model, X, y)):
        log_q = model.with_kernels(k).predict_log_proba(X)
        entropy = np.where(p > 0, p * np.log(p), 0) + (1 - p) * np.log1p(-p)
        kl = entropy - p * log_q[:, 1] - (1 - p) * log_q[:, 0]
        np.testing.assert_allclose(lost, kl.mean(), rtol=1e-4, atol=1e-8)


def test_nats_of_a_logistic_classifier_are_the_divergence():
    X, y = data(LaconicClassifier)
    model = LaconicClassifier(likelihood="logistic").fit(X, y)
    m, v = model.reference_[0].latent(X)
    nodes, weights = hermegauss(60)
    latent = m[:, None] + np.sqrt(v)[:, None] * nodes
    p = (1 / (1 + np.exp(-latent))) @ weights / weights.sum()
    log_q = model.predict_log_proba(X)
    kl = p * (np.log(p) - log_q[:, 1]) + (1 - p) * (np.log(1 - p) - log_q[:, 0])
    lost = nats_at_rows(model, X, y)[model.n_relevant_]
    np.testing.assert_allclose(lost, kl.mean(), rtol=0.05, atol=1e-4)


def test_nats_of_a_regressor_are_what_the_docstring_says():
    X, y, model = fitted(LaconicRegressor)
    (reference,), rows = model.reference_, X[model._rows]
    m = reference.latent(rows)[0]
    variance = model.noise_variance_ + reference.left_out_v
    for k, lost in enumerate(nats_at_rows(model, X, y)):
        away = model.with_kernels(k).predict(rows) - m
        np.testing.assert_allclose(lost, (away**2 / (2 * variance)).mean(), rtol=1e-5, atol=1e-10)


@both
def test_errors_of_a_path_are_those_of_projections_without_each_fold(kind):
    """Written with explicit matrices: the process without the fold, and the nearest sum of kernels."""
    X, y, model = fitted(kind)
    builder = path_builder(model, X, y)
    (at_rows, found), seen = builder._left_out_errors([0, 3, 8]), np.zeros(len(X), dtype=int)
    rows, features = builder.fitted.rows, builder.features
    Phi = builder.fitted.built.design.matvec(np.eye(len(X)))
    C = builder.priors()[0].coordinates
    codes = np.unique(rows.targets[0], return_inverse=True)[1].astype(float)
    for out in balanced_folds(rows.X, codes, 5):
        stay = np.setdiff1d(np.arange(len(X)), out)
        seen[out] += 1
        part = PathBuilder.of(builder.fitted.on(stay), [0], 0.0, builder.tolerance)
        (reference,), (r,) = part.references, part.loss.seen
        columns = part._columns(8)
        half = np.sqrt(np.concatenate([r, np.full(features.shape[1], 1 / reference.weight_variance)]))
        for step, k in enumerate([0, 3, 8]):
            one = np.r_[np.ones(stay.size), np.zeros(features.shape[1])]
            A = np.column_stack([np.vstack([Phi[stay], C.T])[:, columns[k]], one])
            target = np.concatenate([reference.m, reference.posterior.mean])
            w = np.linalg.lstsq(half[:, None] * A, half * target, rcond=None)[0]
            m = features[out] @ reference.posterior.mean + reference.posterior.intercept
            error = Phi[np.ix_(out, columns[k])] @ w[:-1] + w[-1] - m
            np.testing.assert_allclose(found[step, 0, out], error, rtol=1e-3, atol=1e-3)
    assert (seen == 1).all()
    np.testing.assert_array_equal(at_rows, np.arange(len(X)))


@pytest.mark.slow
def test_nats_of_spirals_are_those_at_new_rows():
    """A path that is measured on the rows that chose it says .002 here, and loses .006 at new rows."""
    ratios = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        y = rng.integers(2, size=1_200)
        angle = 0.5 + 3 * np.pi * np.sqrt(rng.uniform(size=1_200))
        turned = angle + np.pi * y
        X = angle[:, None] * np.column_stack([np.cos(turned), np.sin(turned)])
        X += 0.5 * rng.normal(size=X.shape)
        model = LaconicClassifier("rbf", weigh_features=False).fit(X[:200], y[:200])
        for k in (model.n_relevant_ - 8, model.n_relevant_):
            p = integrated(model.reference_[0], X[200:])
            log_q = model.with_kernels(k).predict_log_proba(X[200:])
            entropy = p * np.log(p) + (1 - p) * np.log1p(-p)
            lost = (entropy - p * log_q[:, 1] - (1 - p) * log_q[:, 0]).mean()
            ratios.append(np.log(nats(model)[k] / lost))
    assert abs(np.mean(ratios)) < np.log(2)


def test_values_that_are_observed_many_times_are_not_left_out():
    """Without them a model and its reference are both constant, and any size would lose nothing."""
    rng = np.random.default_rng(0)
    value = rng.integers(20, size=1_000)
    chance = rng.uniform(0.05, 0.95, 20)[value]
    y = (rng.uniform(size=1_000) < chance).astype(int)
    model = LaconicClassifier().fit(value[:, None].astype(float), y)
    assert nats(model)[0] > 0.1
    proba = model.predict_proba(value[:, None])[:, 1]
    kl = chance * np.log(chance / proba) + (1 - chance) * np.log((1 - chance) / (1 - proba))
    assert kl.mean() < 0.02


@pytest.mark.parametrize("weight", [1.0, 50.0, 1e4])
@pytest.mark.parametrize("likelihood", ["probit", "logistic"])
def test_a_fold_without_which_one_class_is_left_is_not_left_out(likelihood, weight):
    X = np.random.default_rng(0).normal(size=(20, 3))
    y = (np.arange(20) == 3).astype(int)
    model = LaconicClassifier("rbf", likelihood=likelihood)
    check_survives(model, X, y, sample_weight=np.where(y == 1, weight, 1.0))


@both
def test_the_reference_on_some_rows_is_that_of_a_fit_to_them(kind):
    """All rows: the reference itself. The features and the precision are kept."""
    X, y, model = fitted(kind)
    fit = path_builder(model, X, y).fitted
    again = fit.on(np.arange(len(X)))
    (old,), (new,) = fit.references, again.references
    np.testing.assert_allclose(new.posterior.mean, old.posterior.mean, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(new.v, old.v, rtol=1e-3)
    assert new.mean_scale == old.mean_scale


def divergence(model, X):
    """Between the whole predictive distributions of reference and model, means and deviations."""
    m, v = model.reference_[0].latent(X)
    v = v + model.noise_variance_
    mean, std = model.predict_dist(X)
    return (0.5 * (np.log(std**2 / v) + (v + (mean - m) ** 2) / std**2 - 1)).mean()


def test_deviations_of_a_regressor_are_the_reference_s_too():
    X, _, model = fitted(LaconicRegressor)
    assert divergence(model, X) <= 2 * model.tolerance_


@pytest.mark.slow
@pytest.mark.parametrize("n_features", [20, 100, 1000])
def test_deviations_of_a_regressor_are_the_reference_s_at_rows_not_seen(n_features):
    """With many features the reference is certain of the rows it has seen, and of no others."""
    X, y = make_regression(1060, n_features, n_informative=5, noise=5.0, random_state=2)
    model = LaconicRegressor().fit(X[:60], y[:60])
    assert divergence(model, X[60:]) < 0.25


def explicit_process(model, X, y, new):
    """Prior variance, and latent mean and variance at new rows, of the dense process by its matrices."""
    K = kernel_matrix(model, X, X)
    reference, noise = model.reference_[0], Gaussian(model.noise_variance_, estimate=False)
    root = np.linalg.cholesky(K + 1e-9 * np.eye(len(X)))
    height = 1 / alpha_of(reference.relative_precision, root, y, noise)
    k = kernel_matrix(model, new, X, X.std(axis=0)).T
    flat = 1e6 * height  # of the intercept
    S = height * K + flat + model.noise_variance_ * np.eye(len(X))
    seen = np.linalg.solve(S, np.column_stack([y, (height * k + flat).T]))
    v = height + flat - np.einsum("ij,ji->i", height * k + flat, seen[:, 1:])
    return height, (height * k + flat) @ seen[:, 0], v


@pytest.mark.parametrize("weigh_features", [True, False])
def test_far_from_its_kernels_a_regression_is_as_unsure_as_a_dense_process(weigh_features):
    """The weights on kept kernels say nothing there: they were surest where nothing is known."""
    X, y = data(LaconicRegressor, 80)
    model = LaconicRegressor("rbf", weigh_features=weigh_features).fit(X, y)
    assert (model.feature_scales_.std() > 0) == weigh_features
    far = np.array([[100.0, 0.0], [0.0, -100.0], [30.0, 30.0]])
    height, _, v = explicit_process(model, X, y, np.concatenate([X, far]))
    np.testing.assert_allclose(v[model._rows], model.reference_[0].v, rtol=0.01)
    dense, std = np.sqrt(v[len(X) :] + model.noise_variance_), model.predict_dist(far)[1]
    assert (std > 0.9 * dense).all()
    assert (std < 1.3 * dense).all()
    assert (std**2 > height).all()
    low, high = model.predict_interval(far)
    np.testing.assert_allclose(high - low, 2 * 1.959964 * std, rtol=1e-6)
    for k in (model.n_relevant_ // 2, model.n_relevant_ + 3):
        assert (model.with_kernels(k).predict_dist(far)[1] ** 2 > height).all()


def test_what_is_added_is_the_prior_s_variance_given_the_kept_rows():
    X, y = data(LaconicRegressor)
    model = LaconicRegressor("rbf").fit(X, y)
    new = np.random.default_rng(2).normal(size=(50, 2)) * 2
    unit = X.std(axis=0)
    M, far = model.relevance_vectors_, model._far_variance
    K, k = kernel_matrix(model, M, M, unit), kernel_matrix(model, new, M, unit)
    given = 1 - np.einsum("ji,ji->i", k, np.linalg.solve(K + 1e-6 * np.eye(len(M)), k))
    added = far.apply(new, model.basis_.columns(new)[:, model._columns[0]], 0.0, 0.0)[1]
    np.testing.assert_allclose(added, far.height * given**far.power, rtol=1e-4, atol=1e-9 * far.height)
    assert (
        far.apply(M, model.basis_.columns(M)[:, model._columns[0]], 0.0, 0.0)[1].max()
        < 1e-4 * far.height
    )


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_rows_far_from_the_others_do_not_surprise_a_regression(seed):
    """Where features have long tails many new rows are far from all kept kernels."""
    rng = np.random.default_rng(seed)
    X = rng.standard_t(2, size=(1150, 3))
    y = np.tanh(X[:, 0]) + np.sin(X[:, 1]) + 0.3 * rng.normal(size=1150)
    model = LaconicRegressor().fit(X[:150], y[:150])
    m, v = model.reference_[0].latent(X[150:])
    dense = model.likelihoods_[0].predictive(y[150:], m, v).mean()
    assert model.log_density(X[150:], y[150:]).mean() > dense - 0.05


def test_among_the_rows_a_regression_is_no_less_sure_than_it_was():
    X, y = make_friedman1(1200, noise=1.0, random_state=0)
    model = LaconicRegressor().fit(X[:200], y[:200])
    said = model.log_density(X[200:], y[200:]).mean()
    model._far_variance = None
    assert said > model.log_density(X[200:], y[200:]).mean() - 0.005


@both
def test_longer_paths_lose_less(kind):
    X, _, model = fitted(kind)
    lost = nats(model)
    assert [point.kernels for point in model.path_] == list(range(len(lost)))
    # A classifier's variances cost nats too, and columns are chosen by the mean alone.
    slack = 1e-7 if kind is LaconicRegressor else model.tolerance_
    assert (lost[1:] <= 1.02 * lost[:-1] + slack).all()
    assert lost[-1] < 0.01 * lost[0]
    objective = [record.objective for record in model.history_]
    np.testing.assert_allclose(objective, -lost)
    assert [record.active for record in model.history_] == list(range(len(lost)))
    assert len(X) >= model.n_relevant_


@pytest.mark.slow
@both
@pytest.mark.parametrize("tolerance", [0.1, 0.01, 0.001, 1e-4])
def test_the_smallest_model_within_the_tolerance(kind, tolerance):
    X, y, _ = fitted(kind)
    model = kind(tolerance=tolerance).fit(X, y)
    lost, k = nats(model), model.n_relevant_
    if (lost > tolerance).all():  # the kernels of all rows do not reach it
        assert "No larger set of kernels comes closer" in model.status_.message
        assert k == np.argmin(lost)
        assert len(lost) <= min(64, len(X))
    else:
        assert lost[k] <= tolerance
    assert (lost[:k] > tolerance).all()
    assert model.tolerance_ == tolerance
    assert model.status_.message.startswith("1 kernel loses" if k == 1 else f"{k} kernels lose")


@both
def test_a_kernel_beyond_the_tolerance_has_its_price(kind):
    X, y, model = fitted(kind)
    lost, k = nats(model), model.n_relevant_
    least = np.flatnonzero(lost <= model.tolerance_)[0]
    assert k == least + np.argmin(lost[least:] + model._price * np.arange(len(lost) - least))
    assert kind(tolerance=model.tolerance_).fit(X, y).n_relevant_ == least
    assert kind(None).fit(X, y)._price == 0
    slim = model.slim()
    assert (slim.n_relevant_, slim.with_kernels(k).n_relevant_) == (k, k)


def test_what_more_is_worth_its_price():
    columns = [np.arange(k) for k in range(6)]
    path = Path([], [Probit()], columns, [], np.array([9.0, 1.0, 0.5, 0.4, 0.05, 0.04]))
    assert path.select(1.0) == 1
    assert path.select(1.0, 0.2) == 4  # two steps win less, but three win enough together
    assert path.select(1.0, 0.6) == 1
    assert path.select(0.01, 0.2) == 5  # nothing is within it: the best
    # At the end of a long path a step adds several columns, and pays for each.
    steep = Path([], [Probit()], [*columns[:5], np.arange(8)], [], np.array([9.0, 1, 0.5, 0.4, 0.3, 0]))
    assert steep.select(0.3, 0.05) == 5
    assert steep.select(0.3, 0.1) == 4


def test_long_paths_grow_by_five_percent():
    assert path_sizes(10) == list(range(11))
    assert path_sizes(0) == [0]
    found = path_sizes(500)
    assert found[:65] == list(range(65))
    assert found[-1] == 500
    growth = np.diff(found[64:]) / found[64:-1]
    assert (growth[:-1] > 0.04).all()
    assert (growth < 0.07).all()


@both
def test_features_of_many_rows_are_as_many_as_the_loss_needs(kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 100))
    f = X @ rng.choice([-1.0, 1.0], size=100)
    model = kind(None).fit(X, (f > 0).astype(int) if kind is LaconicClassifier else f)
    assert model.n_relevant_ > 64
    assert nats(model)[sizes(model).index(model.n_relevant_)] <= model.tolerance_


@both
def test_max_kernels(kind):
    X, y, whole = fitted(kind)
    for most in (1, 3):
        model = kind(max_kernels=most).fit(X, y)
        assert len(model.path_) == most + 1
        assert model.n_relevant_ <= most
    assert "max_kernels" in model.status_.message
    assert whole.n_relevant_ > 3


def state(model):
    """What with_kernels might spoil."""
    return pickle.dumps({name: value for name, value in vars(model).items() if name != "callbacks"})


@both
def test_with_kernels(kind):
    X, _, model = fitted(kind)
    before, said, names = state(model), says(model, X), sorted(vars(model))
    for k in range(len(model.path_)):
        other = model.with_kernels(k)
        assert other is not model
        assert type(other) is kind
        assert other.n_relevant_ == k
        assert len(other.relevance_vectors_) == k
        np.testing.assert_array_equal(X[other.relevance_], other.relevance_vectors_)
        assert other.status_.message.startswith("1 kernel loses" if k == 1 else f"{k} kernels lose")
        assert sorted(vars(other)) == names
        says(other, X)
    np.testing.assert_array_equal(says(model, X), said)
    assert state(model) == before
    np.testing.assert_array_equal(says(model.with_kernels(model.n_relevant_), X), said)
    # and from a copy one gets back
    np.testing.assert_array_equal(says(model.with_kernels(1).with_kernels(model.n_relevant_), X), said)
    assert clone(other).get_params() == clone(model).get_params()


@both
def test_with_kernels_is_what_a_fit_finds(kind):
    """A tolerance that the model of k kernels just meets gives the model of k kernels."""
    X, y, model = fitted(kind)
    lost = nats(model)
    for k in (1, 3, 5):
        assert lost[k] < lost[k - 1]
        fresh = kind(tolerance=lost[k] * (1 + 1e-6)).fit(X, y)
        smaller = min(fresh.n_relevant_, len(model.path_) - 1)
        np.testing.assert_allclose(
            says(fresh, X), says(fresh.with_kernels(fresh.n_relevant_), X), rtol=1e-10
        )
        # the way there differs with the tolerance, so the kernels may; what is lost may not by much
        assert smaller <= k + 1
        assert nats(fresh)[fresh.n_relevant_] <= lost[k] * (1 + 1e-5)


@both
@pytest.mark.parametrize("k", [-1, 1.5, "2", None, True, 10**6, np.nan])
def test_sizes_that_make_no_sense(kind, k):
    model = fitted(kind)[2]
    with pytest.raises(ValueError, match=f"k must be a whole number from 0 to {len(model.path_) - 1}"):
        model.with_kernels(k)


@both
def test_with_kernels_before_fit(kind):
    with pytest.raises(NotFittedError):
        kind().with_kernels(1)


@both
def test_a_callback_ends_the_path(kind):
    X, y, _ = fitted(kind)
    seen = []

    def stop(record):
        seen.append(record)
        return record.active >= 2

    model = kind(callbacks=stop).fit(X, y)
    assert [record.active for record in seen] == [0, 1, 2]
    assert len(model.path_) == 3
    assert model.n_relevant_ == 2
    np.testing.assert_allclose([-record.objective for record in seen], nats(model), atol=1e-12)
    says(model, X)
    with pytest.raises(ValueError, match="from 0 to 2"):
        model.with_kernels(3)
    nothing = kind(callbacks=[lambda record: True]).fit(X, y)
    assert nothing.n_relevant_ == 0
    assert np.ptp(nothing.predict(X)) == 0


@both
@pytest.mark.parametrize("kernel", ["rbf", None])
def test_a_slim_model_says_the_same(kind, kernel):
    X, y = data(kind, 60)
    if kind is LaconicClassifier:
        y = y + (X[:, 1] > 1)  # three classes, so three paths
    weight = np.append(0.0, np.ones(59))  # a row that is no row
    model = kind(kernel).fit(X, y, sample_weight=weight)
    slim = pickle.loads(pickle.dumps(model.slim()))
    X = np.concatenate([X, 10 * X])
    np.testing.assert_array_equal(says(slim, X), says(model, X))
    np.testing.assert_array_equal(slim.relevance_, model.relevance_)
    assert slim.status_ == model.status_
    assert not slim.reference_
    assert model.reference_
    size = max(columns.size for columns in model._columns)
    assert max(point.kernels for point in slim.path_) == size
    for k in range(size + 1):
        few, same = slim.with_kernels(k), model.with_kernels(k)
        if k < size:  # the other outputs are no longer than they are
            short = [columns.size < k for columns in model._columns]
            if not any(short):
                np.testing.assert_array_equal(says(few, X), says(same, X))
                np.testing.assert_array_equal(few.relevance_, same.relevance_)
    with pytest.raises(ValueError, match=f"from 0 to {size}, got {size + 1}"):
        slim.with_kernels(size + 1)
    np.testing.assert_array_equal(says(slim.slim(), X), says(model, X))


@pytest.mark.slow
def test_a_slim_model_is_small():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 5))
    model = LaconicClassifier("rbf", tolerance=0.03).fit(
        X, X[:, 0] + np.sin(2 * X[:, 1]) > rng.normal(size=500)
    )
    whole, slim = (len(pickle.dumps(one)) for one in (model, model.slim()))
    assert slim < 40_000 < 1_000_000 < whole


def test_who_asks_for_fewer_kernels_is_not_told_that_there_are_none():
    _, _, model = fitted(LaconicClassifier)
    assert "comes closer" not in model.with_kernels(1).status_.message
