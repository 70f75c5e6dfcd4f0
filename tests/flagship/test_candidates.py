"""What the flagship does if nobody says whether kernels or features: ``kernel="auto"``."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest
from sklearn.datasets import make_classification, make_moons

from laconism import LaconicClassifier, LaconicRegressor
from laconism.basis import KernelBasis
from laconism.cli.rivals import contenders
from laconism.design import DenseDesign
from laconism.flagship.candidate import Fits
from laconism.flagship.candidates import candidates_for
from laconism.flagship.rows import TrainingRows
from laconism.flagship.settings import Settings
from laconism.flagship.sparse_prior import fit_sparse
from laconism.flagship.tasks import projection_task
from laconism.interop import load, save
from laconism.judging.ablate import SWITCHES, recording, without
from laconism.judging.compare import Rule, Trial
from laconism.judging.left_out import leave_one_out
from laconism.kernels import RBF, Matern
from laconism.laplace.shared_precision import fit_shared, row_products
from laconism.likelihoods import Logistic, Probit
from laconism.priors import Jeffreys
from laconism.solvers import Problem


def few_of_many(kind, *, n=50, p=110, n_classes=2, seed=0):
    """Return few rows of many features, three of which matter, and as many times ten rows for a test."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(11 * n, p))
    if kind is LaconicRegressor:
        y = X[:, :3] @ [2.0, -2.0, 1.0] + 0.5 * rng.normal(size=11 * n)
    elif n_classes == 2:
        y = (X[:, :3] @ [2.0, -2.0, 1.0] + 0.3 * rng.normal(size=11 * n) > 0).astype(int)
    else:
        y = (X[:, :n_classes] + 0.1 * rng.normal(size=(11 * n, n_classes))).argmax(axis=1)
    return X[:n], y[:n], X[n:], y[n:]


def shells(n=50, p=60, seed=0):
    """Return rows whose class is how far from the middle they are: no feature tells it by itself."""
    rng = np.random.default_rng(seed)
    far = rng.random(11 * n) < 0.5
    X = rng.normal(size=(11 * n, p)) * np.where(far, 1.4, 1.0)[:, None]
    return X[:n], far[:n].astype(int), X[n:], far[n:].astype(int)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [LaconicClassifier, LaconicRegressor])
def test_features_are_preferred_where_rows_are_few_for_them(kind):
    X, y, X_new, y_new = few_of_many(kind)
    model, kernels = kind().fit(X, y), kind(kernel="rbf").fit(X, y)
    assert model.score(X_new, y_new) > 0.8 > 0.7 > kernels.score(X_new, y_new)
    assert not hasattr(model, "dual_coef_")
    assert not hasattr(model, "kernel_")
    assert {0, 1} <= set(np.flatnonzero(model.get_support()))
    assert model.transform(X).shape[1] == model.n_relevant_ < 15
    assert "features" in model.status_.message
    np.testing.assert_array_equal(model.predict(X_new), kind(kernel=None).fit(X, y).predict(X_new))


@pytest.mark.slow
def test_what_few_features_lose_is_part_of_their_score():
    """Every word of a document says a little: fewer of them predict left-out and new rows less well."""
    rng = np.random.default_rng(1)
    n, p = 650, 300
    frequent = 1 / np.arange(3, p + 3) ** 0.9
    tilt = np.exp(0.3 * rng.normal(size=p))
    y = rng.integers(0, 2, n)
    chances = frequent * np.where(y[:, None] == 1, tilt, 1 / tilt)
    X = np.sqrt([rng.multinomial(60, chance / chance.sum()) for chance in chances])
    model = LaconicClassifier().fit(X[:150], y[:150])
    tried = {trial.name: trial for trial in model.candidates_}
    assert tried["64 features"].log_density < tried["300 features"].log_density
    (won,) = (trial for trial in model.candidates_ if trial.won)
    assert won.size >= 64
    new = model.predict_log_proba(X[150:])[np.arange(500), y[150:]]
    assert abs(new.mean() - won.log_density) < 0.05
    by_kernels = LaconicClassifier("rbf").fit(X[:150], y[:150])
    assert new.mean() > by_kernels.predict_log_proba(X[150:])[np.arange(500), y[150:]].mean() - 0.02


@pytest.mark.slow
def test_features_are_preferred_by_several_classes():
    X, y, X_new, y_new = few_of_many(LaconicClassifier, n=60, p=40, n_classes=3)
    model = LaconicClassifier().fit(X, y)
    assert model.coef_.shape == (3, 40)
    plain = LaconicClassifier("rbf", weigh_features=False).fit(X, y)
    assert model.score(X_new, y_new) > 0.7 > plain.score(X_new, y_new)


def test_kernels_are_taken_where_they_are_clearly_better():
    X, y, X_new, y_new = shells()
    model = LaconicClassifier().fit(X, y)
    assert hasattr(model, "dual_coef_")
    assert not hasattr(model, "coef_")
    assert not hasattr(model, "transform")
    assert model.score(X_new, y_new) > 0.8
    by_name = LaconicClassifier("rbf").fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X_new), by_name.predict_proba(X_new))


@pytest.mark.slow
def test_who_is_not_the_first_choice_has_to_be_clearly_better(monkeypatch):
    X, y, _, _ = few_of_many(LaconicClassifier, n=60, p=40, seed=2)
    assert hasattr(LaconicClassifier(weigh_features=False).fit(X, y), "coef_")
    monkeypatch.setattr("laconism.flagship.fit.FAMILY_RULE", Rule(nats=np.inf))
    assert hasattr(LaconicClassifier().fit(X, y), "dual_coef_")
    X, y, _, _ = shells(n=20, p=50)
    assert hasattr(LaconicClassifier().fit(X, y), "coef_")


@pytest.mark.parametrize("kind", [LaconicClassifier, LaconicRegressor])
def test_features_do_not_compete_where_rows_suffice_or_a_width_was_given(kind):
    X, y = make_moons(60, noise=0.2, random_state=0)
    y = y if kind is LaconicClassifier else np.sin(X[:, 0])  # without a corner
    auto, by_name = (kind(k, weigh_features=False).fit(X, y) for k in ("auto", "rbf"))
    np.testing.assert_array_equal(auto.predict(X), by_name.predict(X))
    wide, z, _, _ = few_of_many(kind)
    assert hasattr(kind(gamma=0.01).fit(wide, z), "dual_coef_")


@pytest.mark.slow
def test_corners_ask_for_a_rough_kernel(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1150, 2))
    noise = 0.1 * rng.normal(size=1150)
    corner = np.abs(X[:, 0]) + np.maximum(X[:, 1], 0) + noise
    train, test = slice(150), slice(150, None)
    free = LaconicRegressor("matern").fit(X[train], corner[train])
    told = LaconicRegressor("rbf").fit(X[train], corner[train])
    assert isinstance(free.kernel_.kernel, Matern)
    assert isinstance(told.kernel_.kernel, RBF)
    gained = free.log_density(X[test], corner[test]) - told.log_density(X[test], corner[test])
    assert gained.mean() > 0.02
    trials = {trial.name: trial for trial in LaconicRegressor().fit(X[train], corner[train]).candidates_}
    assert trials["matern kernel"].gain > trials["matern kernel"].gain_error
    # Rough kernels have no low rank: they need all of it.
    capped = LaconicRegressor(max_rank=100).fit(X[train], corner[train])
    assert "matern kernel" not in {trial.name for trial in capped.candidates_}
    save(free, tmp_path / "rough.skops")
    np.testing.assert_array_equal(load(tmp_path / "rough.skops").predict(X[test]), free.predict(X[test]))


@pytest.mark.slow
@pytest.mark.parametrize("kind", [LaconicClassifier, LaconicRegressor])
def test_a_model_of_features_does_what_others_do(kind, tmp_path):
    X, y, X_new, _ = few_of_many(kind, n=40, p=90)
    model = kind().fit(X, y)
    said = model.predict(X_new)
    save(model, tmp_path / "model.skops")
    for other in (
        pickle.loads(pickle.dumps(model)),
        load(tmp_path / "model.skops"),
        model.slim(),
        model.with_kernels(model.n_relevant_),
    ):
        np.testing.assert_array_equal(other.predict(X_new), said)
        np.testing.assert_array_equal(other.get_support(), model.get_support())
    assert model.with_kernels(1).n_relevant_ == 1


@pytest.mark.slow
@pytest.mark.parametrize("kind", [LaconicClassifier, LaconicRegressor])
def test_a_weight_is_a_repetition_where_features_compete(kind):
    X, y, X_new, _ = few_of_many(kind, n=40, p=90)
    times = np.random.default_rng(1).integers(1, 3, size=40)
    weighted = kind().fit(X, y, sample_weight=times)
    repeated = kind().fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    says = "decision_function" if kind is LaconicClassifier else "predict"
    one, other = (getattr(model, says)(X_new) for model in (weighted, repeated))
    np.testing.assert_allclose(one, other, rtol=1e-7)


def test_another_fit_leaves_nothing_of_the_last():
    X, y, _, _ = few_of_many(LaconicClassifier, n=40, p=90)
    model = LaconicClassifier()
    assert not hasattr(model, "transform")
    assert hasattr(model.fit(X, y), "transform")
    model.fit(*make_moons(60, noise=0.2, random_state=0))
    assert not hasattr(model, "transform")
    assert not hasattr(model, "coef_")


@pytest.mark.slow
def test_left_out_rows_are_predicted_like_new_rows_under_feature_weights():
    """By the leave-one-out formula alone they were predicted with half of the nats of new rows."""
    left_out, new = [], []
    for n_features, seed in itertools.product((60, 90), range(3)):
        X, y = make_classification(1100, n_features, n_informative=5, n_redundant=2, random_state=seed)
        model = LaconicClassifier("rbf").fit(X[:100], y[:100])
        if model.feature_scales_.std() == 0:
            continue
        reference, (won,) = model.reference_[0], (trial for trial in model.candidates_ if trial.won)
        assert won.name.endswith("with feature weights")
        left_out.append(won.log_density)
        new.append(reference.likelihood.predictive(2.0 * y[100:] - 1, *reference.latent(X[100:])).mean())
    assert len(new) >= 4
    assert abs(np.mean(left_out) - np.mean(new)) < 0.05


def test_tables_count_what_a_model_keeps():
    (ours,) = contenders("classification", ("auto",), 0)
    X, y, _, _ = few_of_many(LaconicClassifier, n=40, p=90)
    assert ours.counted(ours.make().fit(X, y)) == "features"
    assert ours.counted(ours.make().fit(*make_moons(60, noise=0.2, random_state=0))) == "kernels"


def test_kernels_of_few_rows_with_many_features_are_evaluated_at_once(monkeypatch):
    X = np.random.default_rng(0).normal(size=(120, 150))
    calls, evaluate = [], RBF.__call__
    monkeypatch.setattr(RBF, "__call__", lambda *rows: calls.append(rows) or evaluate(*rows))
    kernel = RBF(gamma=1 / 150)
    found = KernelBasis.on_rows(kernel, X).factors(tol=1e-10, max_rank=120)
    assert len(calls) == 1
    np.testing.assert_allclose(found.G.T @ found.G, kernel(X, X), atol=1e-8)


# ---- the table of candidates --------------------------------------------------------------------


def small(task, n=30):
    """Return an estimator without its settings, and a small problem for it."""
    X, y, X_wide = (small_rows(n)[k] for k in range(3))
    return {
        "classification": (LaconicClassifier, X, (y > 0).astype(int)),
        "regression": (LaconicRegressor, X, y),
        "wide classification": (LaconicClassifier, X_wide, (y > 0).astype(int)),
        "wide regression": (LaconicRegressor, X_wide, y),
        "several classes": (LaconicClassifier, X, np.digitize(y, [-0.7, 0.7])),
    }[task]


def small_rows(n):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    y = X[:, 0] + X[:, 1] ** 2 - 1 + 0.3 * rng.standard_t(2, size=n)
    return X, y, np.column_stack([X, rng.normal(size=(n, 37))])


TASKS = ["classification", "regression", "wide classification", "wide regression", "several classes"]


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
def test_every_candidate_that_was_tried_is_in_the_table(task):
    kind, X, y = small(task)
    model = kind(**({"likelihood": "auto"} if kind is LaconicRegressor else {}))
    data = model._fit_data(X, y, None)
    rows, _ = TrainingRows.of(data, projection_task(data), intercept=True)
    candidates = candidates_for(Fits(rows, Settings.of(model), fit_sparse))
    trials = model.fit(X, y).candidates_
    assert [trial.name for trial in trials] == [each.name for each in candidates]
    assert all(isinstance(trial, Trial) and trial.seconds >= 0 for trial in trials)
    assert sum(trial.won for trial in trials) == 1
    champion = trials[0]
    assert champion.taken
    assert champion.against == ""
    for trial in trials[1:]:
        if np.isnan(trial.log_density):  # does not apply, or cannot win
            assert not trial.taken
            continue
        assert trial.against == champion.name
        assert trial.gain == pytest.approx(trial.log_density - champion.log_density)
        needed = max(np.log(20) / rows.total, trial.gain_error)
        assert trial.taken == (trial.gain > needed)
        champion = trial if trial.taken else champion
    assert champion.won
    # Student's noise is that of the candidate before it.
    name = champion.against if champion.name == "student noise" else champion.name
    assert hasattr(model, "coef_") == (name.endswith("features") and name != "squashed features")


def fit_small(task):
    kind, X, y = small(task, 24)
    return kind(**({"likelihood": "auto"} if kind is LaconicRegressor else {})).fit(X, y), X


# The candidates that are not tried if a switch is off.
NOT_TRIED = {
    "additive": {"additive kernel of order 1", "additive kernel of order 2"},
    "feature_weights": {"rbf kernel with feature weights"},
    "features": {"40 features", "sparse features"},
    "heavy_tails": {"student noise"},
    "matern": {"matern kernel"},
    "sparse_features": {"sparse features"},
    "squashed": {"squashed features"},
}


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("switch", SWITCHES)
def test_every_switch_can_be_turned_off(switch, task):
    with without(switch):
        model, X = fit_small(task)
    assert np.isfinite(model.predict(X)).all()
    assert not {trial.name for trial in model.candidates_} & NOT_TRIED.get(switch, set())


@pytest.mark.slow
def test_every_switch_has_an_effect_on_some_fit():
    with recording() as asked:
        tried = {trial.name for task in TASKS for trial in fit_small(task)[0].candidates_}
    assert asked == SWITCHES.keys()
    assert set().union(*NOT_TRIED.values()) <= tried


@pytest.mark.parametrize("kind", [LaconicClassifier, LaconicRegressor])
def test_few_features_are_kept_where_features_outnumber_rows(kind):
    X, y, X_new, y_new = few_of_many(kind, n=60, p=300)
    model = kind().fit(X, y)
    assert model.n_relevant_ <= 64
    assert {0, 1} <= set(model.relevance_)
    assert model.score(X_new, y_new) > 0.8


# ---- labels that are few for their features ---------------------------------------------------


def tilted(likelihood, y, m, v):
    """Return nats, mean and variance of a latent N(m, v) with its label, by sums on a fine grid."""
    f = m + np.sqrt(v) * np.linspace(-12, 12, 20_001)
    log_q = likelihood.log_prob(np.full_like(f, y), f) - 0.5 * (f - m) ** 2 / v
    q = np.exp(log_q)
    mean = q @ f / q.sum()
    log_p = np.log(q.sum() * (f[1] - f[0]) / np.sqrt(2 * np.pi * v))
    return log_p, mean, q @ (f - mean) ** 2 / q.sum()


def labels_of(Phi, y, likelihood, weight=None, *, intercept=True):
    weight = np.ones(len(y)) if weight is None else weight
    return Problem(DenseDesign(Phi), y, likelihood, Jeffreys(), weight, intercept)


@pytest.mark.parametrize("likelihood", [Probit(), Logistic()], ids=str)
def test_integrated_labels_have_the_derivatives_of_their_probability(likelihood):
    y, m, v = (
        grid.ravel() for grid in np.meshgrid([-1.0, 1.0], [-6.0, -0.5, 0.0, 2.0], [0.1, 3.0, 400.0])
    )
    log_p, slope, curvature = likelihood.integrated(y, m, v)
    moments = np.array([tilted(likelihood, *row) for row in zip(y, m, v, strict=True)])
    np.testing.assert_allclose(log_p, moments[:, 0], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(m + v * slope, moments[:, 1], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(v - v**2 * curvature, moments[:, 2], rtol=1e-4)


@pytest.mark.parametrize("likelihood", [Probit(), Logistic()], ids=str)
def test_moments_of_rows_that_share_nothing_are_exact(likelihood):
    # Then the posterior is a product. Its mean is several times as far from zero as its mode.
    y = np.array([1.0, -1.0, 1.0])
    problem = labels_of(20.0 * np.eye(3), y, likelihood, intercept=False)
    mode, mean = (fit_shared(problem, 0.01, moments=moments) for moments in (False, True))
    variance = 400 / mode.alpha[0]
    log_p, m, v = np.array([tilted(likelihood, label, 0.0, variance) for label in y]).T
    np.testing.assert_allclose(mean.f, m, rtol=1e-5)
    np.testing.assert_allclose(mean.ridge.latent_variance(problem.design, mean.r), v, rtol=1e-4)
    np.testing.assert_allclose(mean.objective, log_p.sum(), rtol=1e-6)
    np.testing.assert_allclose(leave_one_out(mean)[0], 0, atol=1e-6)
    assert (np.abs(mean.f) > 2 * np.abs(mode.f)).all()


@pytest.mark.parametrize("intercept", [True, False])
def test_each_row_has_the_moments_that_its_label_gives_it(intercept):
    rng = np.random.default_rng(0)
    Phi = 1 + rng.normal(size=(12, 30))
    y = np.where(rng.random(12) < 0.6, 1.0, -1.0)
    problem = labels_of(Phi, y, Probit(), intercept=intercept)
    mean = fit_shared(problem, 0.03, moments=True)
    moments = np.array([tilted(Probit(), *row) for row in zip(y, *leave_one_out(mean), strict=True)])
    np.testing.assert_allclose(mean.f, moments[:, 1], rtol=1e-6)
    np.testing.assert_allclose(
        mean.ridge.latent_variance(problem.design, mean.r), moments[:, 2], rtol=1e-6
    )
    products = row_products(problem.design, intercept=problem.intercept)
    near = fit_shared(problem, 0.03, gain=1e-3, products=products, moments=True)
    np.testing.assert_allclose(near.f, mean.f, rtol=1e-2)
    np.testing.assert_allclose(near.objective, mean.objective, rtol=1e-4)


def test_a_weight_is_a_repetition_of_moments():
    rng = np.random.default_rng(1)
    Phi, y = rng.normal(size=(10, 20)), np.where(np.arange(10) < 6, 1.0, -1.0)
    times = rng.integers(1, 4, size=10)
    weighted = fit_shared(labels_of(Phi, y, Probit(), times.astype(float)), 0.1, moments=True)
    repeated = labels_of(np.repeat(Phi, times, axis=0), np.repeat(y, times), Probit())
    repeated = fit_shared(
        repeated, 0.1 * weighted.alpha[0] / fit_shared(repeated, 0.1).alpha[0], moments=True
    )
    np.testing.assert_allclose(weighted.w, repeated.w, rtol=1e-5, atol=1e-9)
    np.testing.assert_allclose(weighted.objective, repeated.objective, rtol=1e-6)


def weak_signals(n, p=400, shift=0.2, n_classes=2, seed=0):
    """Return rows whose classes differ by little in half of all features."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n + 1000) % n_classes)
    y[: n // 5] = 0  # the rows seen are not as many of each class
    X = rng.normal(size=(n + 1000, p))
    X[:, : p // 2] += shift * rng.normal(size=(n_classes, p // 2))[y]
    return X[:n], y[:n], X[n:], y[n:]


@pytest.mark.slow
def test_many_weak_features_are_not_shrugged_at():
    # Laplace's mode is close to zero beside its deviation, and beside its intercept.
    X, y, X_new, y_new = weak_signals(50, shift=0.3)
    model = LaconicClassifier(kernel=None).fit(X, y)
    reference = model.reference_[0]
    assert reference.relative_precision is not None
    m, v = reference.latent(X_new)
    assert -Probit().predictive(2.0 * y_new - 1, m, v).mean() < 0.2
    assert ((m > 0) == y_new).mean() > 0.9


@pytest.mark.slow
def test_classes_have_one_prior():
    # Each chose its own, by few rows: one that was unlucky spoiled what the others said.
    X, y, _, _ = weak_signals(45, p=120, shift=0.5, n_classes=3)
    references = LaconicClassifier(kernel=None).fit(X, y).reference_
    assert len({reference.relative_precision is None for reference in references}) == 1


def test_few_features_of_a_sparse_reference_say_the_same_of_new_rows():
    # A third of its features agreed with it at the rows, and not at others.
    X, y, X_new, y_new = few_of_many(LaconicClassifier, n=40, p=300, seed=3)
    model = LaconicClassifier(kernel=None).fit(X, y)
    assert model.reference_[0].relative_precision is None
    m, v = model.reference_[0].latent(X_new)
    log_p = Probit().predictive(2.0 * y_new - 1, m, v)
    few = model.predict_log_proba(X_new)[np.arange(y_new.size), y_new]
    assert abs(few.mean() - log_p.mean()) < 0.01
