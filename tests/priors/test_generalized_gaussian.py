"""The generalized Gaussian prior with a scale that is learnt: no collapse, and the paper's relatives."""

import warnings

import numpy as np
import pytest
from scipy.special import expit, ndtr
from scipy.stats import norm
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import BayesianRidge
from sklearn.metrics import log_loss
from sklearn.metrics.pairwise import rbf_kernel

from laconism import SparseBayesClassifier, SparseBayesRegressor
from laconism.datasets import (
    make_cross,
    make_offset_spirals,
    make_ripley,
    make_sinc,
    make_sparse_classification,
    make_spiral,
)
from laconism.kernels import Matern
from laconism.likelihoods import Gaussian as Noise
from laconism.priors import Gaussian, GeneralizedGaussian, Jeffreys, Laplace, LaplaceMixture, StudentT
from laconism.solvers import EM, Newton
from reference import lasso_gaussian

SHAPES = [0.1, 0.5, 1.0, 1.5, 2.0]
PROBLEMS = {
    "spiral": (lambda n, seed: make_spiral(n, random_state=seed), 40.0),
    "cross": (lambda n, seed: make_cross(n, random_state=seed), 2.0),
    "ripley": (lambda n, seed: make_ripley(n, random_state=seed), 2.0),
    "moons": (lambda n, seed: make_moons(n, noise=0.3, random_state=seed), 1.0),
}


def draw(name, n, seed, share=None):
    """Return a problem, with that share of class 1 if one is given."""
    X, y = PROBLEMS[name][0](n, seed)
    if share is not None:
        zeros, ones = np.flatnonzero(y == 0), np.flatnonzero(y == 1)
        keep = np.sort(np.concatenate([zeros, ones[: int(zeros.size * share / (1 - share))]]))
        X, y = X[keep], y[keep]
    return X, y


# ---- no collapse -------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("likelihood", ["probit", "logistic"])
@pytest.mark.parametrize("share", [None, 0.2], ids=["balanced", "80/20"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_no_degree_of_sparsity_collapses(name, share, likelihood):
    (X, y), (new, truth) = draw(name, 200, 0, share), draw(name, 1000, 1, share)
    settings = {"kernel": "rbf", "gamma": PROBLEMS[name][1], "likelihood": likelihood}
    lap = SparseBayesClassifier(Laplace(), **settings).fit(X, y)
    frequencies = np.full(truth.size, y.mean())
    nothing, signal = log_loss(truth, frequencies), log_loss(truth, lap.predict_proba(new))
    assert signal < nothing - 0.03
    for q in SHAPES:
        model = SparseBayesClassifier(GeneralizedGaussian(q), **settings).fit(X, y)
        assert model.status_.converged
        assert model.n_relevant_ > 0
        assert np.ptp(model.decision_function(new)) > 1
        assert log_loss(truth, model.predict_proba(new)) < (nothing + signal) / 2


@pytest.mark.slow
@pytest.mark.parametrize("q", [1.0, 1.5, 2.0])
def test_the_papers_rule_collapses(q):
    # Any stationary point has m S / (S + b) <= 0.2945 n: with as many weights as rows, none at all.
    X, y = make_ripley(200, random_state=0)
    settings = {"kernel": "rbf", "gamma": 2.0, "penalize_intercept": True, "max_iter": 300}
    paper = SparseBayesClassifier(GeneralizedGaussian(q, "paper"), solver="em", **settings)
    with pytest.warns(ConvergenceWarning, match="the scale went on changing"):  # it even cycles
        paper.fit(X, y)
    assert np.ptp(paper.predict_proba(X)[:, 1]) < 0.01
    cured = SparseBayesClassifier(GeneralizedGaussian(q), **settings).fit(X, y)
    assert np.ptp(cured.predict_proba(X)[:, 1]) > 0.9


def test_sparser_shapes_keep_less():
    X, y = make_cross(200, random_state=0)
    kept = [
        SparseBayesClassifier(GeneralizedGaussian(q), kernel="rbf", gamma=2.0).fit(X, y).n_relevant_
        for q in SHAPES
    ]
    assert kept == sorted(kept)
    assert kept[0] <= 8
    assert kept[-1] == 200


def test_where_sparsity_hurts_the_dense_end_is_best():
    (X, y), (new, truth) = draw("spiral", 200, 0), draw("spiral", 1000, 1)
    sparse, dense = (
        SparseBayesClassifier(GeneralizedGaussian(q), kernel="rbf", gamma=40.0).fit(X, y)
        for q in (0.1, 2.0)
    )
    assert dense.score(new, truth) > sparse.score(new, truth) + 0.02


@pytest.mark.parametrize("gamma", [0.005, 0.001])
@pytest.mark.parametrize("q", [1.5, 2.0])
def test_a_wide_kernel_is_not_underrated(q, gamma):
    # The eigenvalues of a smooth kernel lie decades apart, and the evidence has an optimum between
    # them: from a small scale the fixed point ends there, with 54 % of the labels right.
    X, y = make_cross(200, random_state=0)
    model = SparseBayesClassifier(GeneralizedGaussian(q), kernel="rbf", gamma=gamma).fit(X, y)
    assert model.score(X, y) > 0.9


@pytest.mark.parametrize("q", SHAPES)
@pytest.mark.parametrize("noise", [0.1, 0.3])
def test_a_regression_keeps_its_noise(q, noise):
    # A dense model could follow the data; the degrees of freedom tell it that it does.
    X, y = make_sinc(100, noise=noise, random_state=0)[:2]
    model = SparseBayesRegressor(GeneralizedGaussian(q), kernel="rbf", gamma=0.1).fit(X, y)
    assert np.sqrt(model.noise_variance_) == pytest.approx(noise, rel=0.25)
    assert model.status_.converged


def test_pure_noise_is_not_explained():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100, 20)), rng.integers(2, size=100)
    for q in SHAPES:
        model = SparseBayesClassifier(GeneralizedGaussian(q)).fit(X, y)
        assert model.posteriors_[0].effective < 10


@pytest.mark.parametrize("q", SHAPES)
def test_the_units_of_the_features_do_not_matter(q):
    X, y, _ = make_sparse_classification(150, 30, n_relevant=5, weight=3.0, random_state=0)
    plain = SparseBayesClassifier(GeneralizedGaussian(q)).fit(X, y)
    for unit in (1e-4, 1e5):
        other = SparseBayesClassifier(GeneralizedGaussian(q)).fit(unit * X, y)
        np.testing.assert_array_equal(other.relevance_, plain.relevance_)
        np.testing.assert_allclose(unit * other.coef_, plain.coef_, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("q", SHAPES)
def test_the_units_of_the_target_do_not_matter(q):
    X, y = make_sinc(60, random_state=0)[:2]
    model = SparseBayesRegressor(GeneralizedGaussian(q), kernel="rbf", gamma=0.1)
    plain, large = model.fit(X, y).predict(X), model.fit(X, 1e4 * y).predict(X)
    np.testing.assert_allclose(large / 1e4, plain, rtol=1e-3, atol=1e-4)


# ---- the fixed point ---------------------------------------------------------------------------


def effective_by_matrices(model, X, y):
    """The trace of G (G + V^-1)^-1, and what of it the scale answers for, with explicit matrices."""
    Phi = X[:, model.relevance_]
    f = Phi @ model.coef_[0, model.relevance_] + model.intercept_[0]
    t = np.where(y == 1, f, -f)
    ratio = norm.pdf(t) / ndtr(t)
    r = ratio * (ratio + t)
    centred = Phi - r @ Phi / r.sum()
    G = centred.T @ (r[:, None] * centred)
    w, prior = model.coef_[0, model.relevance_], model.prior_
    precision = np.diag(prior.q * np.abs(w) ** (prior.q - 2) / prior.scale)
    effective = np.trace(np.linalg.solve(G + precision, G))
    moved = centred @ np.linalg.solve(G + precision, precision @ w)
    variance = np.sum(centred * np.linalg.solve(G + precision, centred.T).T, axis=1) + 1 / r.sum()
    slope = np.where(y == 1, 1, -1) * (ratio * (1 - r) - r * (ratio + t))
    return effective, effective + prior.q / 2 * np.sum(variance * slope * moved), w


@pytest.mark.parametrize("q", SHAPES)
def test_the_scale_is_what_the_weights_call_for(q):
    X, y, _ = make_sparse_classification(200, 30, n_relevant=8, weight=2.0, random_state=1)
    prior = GeneralizedGaussian(q, a=1e-9, b=1e-9)
    model = SparseBayesClassifier(prior).fit(X, y)
    effective, answered, w = effective_by_matrices(model, X, y)
    assert answered < effective
    assert 1 / model.prior_.scale == pytest.approx(answered / q / np.sum(np.abs(w) ** q), rel=5e-3)
    assert model.posteriors_[0].effective == pytest.approx(effective, rel=1e-6)


@pytest.mark.parametrize("likelihood", ["probit", "logistic"])
@pytest.mark.parametrize("problem", ["linear", "kernel"])
def test_with_q_2_no_other_scale_has_a_larger_evidence(problem, likelihood):
    if problem == "linear":
        X, y, _ = make_sparse_classification(200, 30, n_relevant=8, weight=2.0, random_state=1)
        Phi, kernel = X, {}
    else:
        X, y = make_spiral(120, random_state=0)
        Phi, kernel = rbf_kernel(X, gamma=10.0), {"kernel": "rbf", "gamma": 10.0, "rank_tol": 1e-12}
    sign = np.where(y == 1, 1, -1)

    def fit(scale):
        prior = GeneralizedGaussian(2.0, scale, a=1e-9, b=1e-9)
        return SparseBayesClassifier(prior, likelihood=likelihood, fit_intercept=False, **kernel).fit(
            X, y
        )

    def evidence(scale):
        """Laplace's, by the definition."""
        model = fit(scale)
        w = model.coef_[0] if problem == "linear" else np.zeros(len(X))
        if problem == "kernel":
            w[model.relevance_] = model.dual_coef_[0]
        t = sign * (Phi @ w)
        if likelihood == "probit":
            ratio = norm.pdf(t) / ndtr(t)
            log_p, r = np.log(ndtr(t)), ratio * (ratio + t)
        else:
            log_p, r = -np.logaddexp(0, -t), expit(t) * expit(-t)
        root = np.sqrt(r)[:, None] * Phi
        _, log_det = np.linalg.slogdet(np.eye(len(y)) + scale / 2 * root @ root.T)
        return log_p.sum() - w @ w / scale - log_det / 2

    best = fit("evidence").prior_.scale
    assert np.argmax([evidence(best * factor) for factor in (0.9, 1.0, 1.1)]) == 1


def test_with_q_2_it_is_the_bayesian_ridge():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 30))
    y = X @ rng.normal(size=30) + 2 * rng.normal(size=80)
    # Without intercept: scikit-learn does not count it among the parameters.
    model = SparseBayesRegressor(GeneralizedGaussian(2.0, a=1e-9, b=1e-9), fit_intercept=False)
    ridge = BayesianRidge(tol=1e-10, max_iter=1000, fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(model.fit(X, y).coef_, ridge.coef_, rtol=1e-3, atol=1e-3)
    assert 2 / model.prior_.scale == pytest.approx(ridge.lambda_, rel=5e-3)
    assert 1 / model.noise_variance_ == pytest.approx(ridge.alpha_, rel=5e-3)


@pytest.mark.parametrize("q", SHAPES)
def test_the_answer_is_that_of_its_own_scale(q):
    # What is published is a stationary point under the prior that is published with it.
    X, y = make_ripley(100, random_state=0)
    model = SparseBayesClassifier(GeneralizedGaussian(q), kernel="rbf", gamma=2.0, warm_start=True)
    before = model.fit(X, y).decision_function(X)
    model.set_params(prior=model.prior_).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), before, atol=2e-3)


@pytest.mark.parametrize("q", SHAPES)
def test_history_is_the_marginal_objective(q):
    X, y, _ = make_sparse_classification(200, 30, n_relevant=8, weight=2.0, random_state=1)
    model = SparseBayesClassifier(GeneralizedGaussian(q, a=1e-9, b=1e-9)).fit(X, y)
    _, answered, w = effective_by_matrices(model, X, y)
    f = X @ model.coef_[0] + model.intercept_[0]
    log_p = np.log(ndtr(np.where(y == 1, f, -f))).sum()
    expected = log_p - answered / q * np.log(np.sum(np.abs(w) ** q))
    assert model.history_[-1].objective == pytest.approx(expected, rel=1e-4)
    assert [record.iteration for record in model.history_] == list(range(1, model.n_iter_ + 1))


def test_a_callback_stops_between_rounds():
    X, y = make_ripley(100, random_state=0)
    seen = []
    model = SparseBayesClassifier(
        GeneralizedGaussian(2.0), kernel="rbf", callbacks=lambda record: seen.append(record) or True
    ).fit(X, y)
    assert len(seen) == 1
    assert model.status_.stopped


@pytest.mark.parametrize("q", [0.5, 1.0, 1.5])
def test_every_class_has_a_scale_of_its_own(q):
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=150)
    X = rng.normal(size=(150, 2)) + np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 6.0]])[y]
    model = SparseBayesClassifier(GeneralizedGaussian(q), kernel="rbf").fit(X, y)
    assert len({prior.scale for prior in model.priors_}) == 3
    assert model.prior_ == model.priors_[0]
    assert model.score(X, y) > 0.85


@pytest.mark.parametrize("solver", [EM(), Newton(start="ridge"), Newton(start="l1"), "newton"])
def test_solvers_and_starts_of_a_sparse_shape(solver):
    (X, y), (new, truth) = draw("ripley", 100, 0), draw("ripley", 1000, 1)
    prior = GeneralizedGaussian(0.5)
    model = SparseBayesClassifier(prior, kernel="rbf", gamma=2.0, solver=solver, max_iter=20_000)
    assert model.fit(X, y).score(new, truth) > 0.88
    assert 0 < model.n_relevant_ < 20


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["em", "newton"])
def test_the_convex_shapes_do_not_depend_on_the_solver(solver):
    X, y, _ = make_sparse_classification(150, 20, n_relevant=5, random_state=0)
    for q in (1.0, 1.5, 2.0):
        prior = GeneralizedGaussian(q)
        one = SparseBayesClassifier(prior).fit(X, y)
        other = SparseBayesClassifier(prior, solver=solver, max_iter=100_000).fit(X, y)
        np.testing.assert_allclose(other.coef_, one.coef_, rtol=1e-2, atol=1e-2)


def test_a_warm_start_goes_on_from_the_last_answer():
    X, y = make_ripley(150, random_state=0)
    model = SparseBayesClassifier(GeneralizedGaussian(1.5), kernel="rbf", warm_start=True).fit(X, y)
    cold, first = model.n_iter_, model.decision_function(X)
    assert model.fit(X, y).n_iter_ < cold
    np.testing.assert_allclose(model.decision_function(X), first, atol=1e-2)


# ---- the paper's relatives, section 5 ----------------------------------------------------------


def papers_algorithm(Phi, y01, q, a, b, steps):
    """Eqs. (9), (10) and (12) of the paper, from the ridge start of [FJ01], with explicit matrices."""
    sign = np.where(y01 == 1, 1.0, -1.0)
    w = np.linalg.solve(Phi.T @ Phi + 1e-6 * np.eye(Phi.shape[1]), Phi.T @ y01)
    for _ in range(steps):
        large = np.abs(w[np.abs(w) > 1e-4])
        inverse_scale = (large.size / q + a) / (np.sum(large**q) + b)
        t = sign * (Phi @ w)
        z = Phi @ w + sign * norm.pdf(t) / ndtr(t)
        U = np.diag(np.abs(w) ** (2 - q))
        w = U @ np.linalg.solve(inverse_scale * q * np.eye(w.size) + Phi.T @ Phi @ U, Phi.T @ z)
    return w


@pytest.mark.parametrize("q", SHAPES)
@pytest.mark.parametrize("steps", [1, 7])
def test_the_papers_rule_to_the_letter(q, steps):
    X, y, _ = make_sparse_classification(120, 6, n_relevant=3, random_state=0)
    model = SparseBayesClassifier(
        GeneralizedGaussian(q, "paper"), solver="em", penalize_intercept=True, max_iter=steps
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    w = papers_algorithm(np.column_stack([np.ones(120), X]), y, q, 1e-3, 1e-3, steps)
    np.testing.assert_allclose(np.append(model.intercept_, model.coef_[0]), w, rtol=1e-5, atol=1e-6)


def test_a_certain_hyper_prior_is_the_laplace_prior():
    # Section 5.1: q = 1, a >> n, b = a / rate.
    X, y = make_ripley(100, random_state=0)
    settings = {"kernel": "rbf", "gamma": 2.0, "fit_intercept": False}  # which only one of them spares
    lap = SparseBayesClassifier(Laplace(rate=0.5), **settings).fit(X, y)
    for a, atol in ((1e4, 0.02), (1e7, 1e-4)):
        prior = GeneralizedGaussian(1.0, "paper", a=a, b=a / 0.5)
        model = SparseBayesClassifier(prior, **settings).fit(X, y)
        np.testing.assert_allclose(model.decision_function(X), lap.decision_function(X), atol=atol)


@pytest.mark.parametrize(
    "prior",
    [GeneralizedGaussian(1e-4, "paper", a=1e-9, b=1e-9), StudentT(a=1e-9, b=1e-12)],
    ids=["GGIG", "STU"],
)
def test_the_jeffreys_prior_is_a_limit(prior):
    # Eq. (18): q -> 0 and b << n; and the Student-t prior of Chen et al. with a, b -> 0.
    X, y, _ = make_sparse_classification(200, 8, n_relevant=3, random_state=0)
    settings = {"solver": "em", "max_iter": 5000}
    limit = SparseBayesClassifier(prior, **settings).fit(X, y)
    jeffreys = SparseBayesClassifier(Jeffreys(strength=1.0), **settings).fit(X, y)
    np.testing.assert_allclose(limit.coef_, jeffreys.coef_, rtol=5e-3, atol=1e-3)


@pytest.mark.parametrize(("q", "special"), [(1.0, Laplace), (2.0, Gaussian)])
def test_shared_scales_of_a_learnt_prior(q, special):
    # The factorial Laplacian scale mixture is q = 1, section 5.2; q = 2 the Gaussian one.
    X, y = make_ripley(100, random_state=0)
    settings = {"kernel": "rbf", "gamma": 2.0, "fit_intercept": False}  # which only one of them spares
    model = SparseBayesClassifier(GeneralizedGaussian(q), **settings).fit(X, y)
    scale = model.prior_.scale
    fixed = special(rate=1 / scale) if q == 1 else special(width=np.sqrt(scale / 2))
    same = SparseBayesClassifier(fixed, **settings).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), same.decision_function(X), atol=1e-3)


@pytest.mark.slow
def test_scales_of_its_own_are_the_reweighted_lasso():
    # Section 5.3: w <- argmin |y - Phi w|^2 / 2 + sum (1 + a) / (|w_j| + b) |w_j|.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 6))
    y = X @ [2.0, -1.0, 0.0, 0.0, 0.5, 0.0] + rng.normal(size=60)
    a, b, w = 0.5, 0.1, np.ones(6)
    for _ in range(200):
        rates = (1 + a) / (np.abs(w) + b)
        w = lasso_gaussian(X / rates, y, 1.0, 1.0, False)[0] / rates
    model = SparseBayesRegressor(
        LaplaceMixture(a, b), likelihood=Noise(noise=1.0, estimate=False), fit_intercept=False
    ).fit(X, y)
    np.testing.assert_allclose(model.coef_, w, atol=1e-4)


@pytest.mark.slow
def test_the_kernel_matrix_is_not_needed():
    # The factored design and explicit columns give the same learnt scale.
    X, y = make_ripley(150, random_state=0)
    for q in (0.5, 2.0):
        factored = SparseBayesClassifier(GeneralizedGaussian(q), kernel="rbf", gamma=2.0).fit(X, y)
        explicit = SparseBayesClassifier(GeneralizedGaussian(q), kernel="precomputed")
        explicit.fit(rbf_kernel(X, gamma=2.0), y)
        assert factored.prior_.scale == pytest.approx(explicit.prior_.scale, rel=2e-3)


@pytest.mark.slow
@pytest.mark.parametrize("gamma", [5e-4, 5e-3, 5e-2, 0.5, 5.0])
@pytest.mark.parametrize("q", [0.1, 0.5, 1.0, 1.5, 2.0])
def test_no_width_collapses(q, gamma):
    """The cross is in differences of wide kernels: their weights are huge, and nothing enters before."""
    # The widest kernels take a second where those of 200 rows take ten, and collapse as easily.
    X, y = make_cross(160 if gamma < 1e-3 else 200, random_state=0)
    model = SparseBayesClassifier(GeneralizedGaussian(q), kernel="rbf", gamma=gamma).fit(X, y)
    assert model.score(*make_cross(500, random_state=1)) > 0.85
    assert q > 1 or model.n_relevant_ < 40


@pytest.mark.parametrize("h", [4.0, 8.0])
def test_labels_without_noise_are_believed_on_rough_wide_kernels(h):
    # As targets without noise they have no peak of the evidence between next to none and all of it.
    X, y = make_offset_spirals(200, random_state=0)
    X_test, y_test = make_offset_spirals(1000, random_state=1)
    kernel = Matern(nu=0.5, gamma=1 / (2 * h**2))
    model = SparseBayesClassifier(GeneralizedGaussian(2.0), kernel=kernel, fit_intercept=False)
    assert model.fit(X, y).score(X_test, y_test) > 0.9


def test_labels_that_say_nothing_stay_unsaid_by_wide_kernels():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100, 2)), rng.permutation(np.arange(100) % 2)
    for gamma in (5e-3, 0.5):
        model = SparseBayesClassifier(GeneralizedGaussian(1.0), kernel="rbf", gamma=gamma).fit(X, y)
        assert model.n_relevant_ < 10
