"""Solvers against independent references and against each other."""

import re
import warnings
from itertools import pairwise

import numpy as np
import pytest
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning

import reference
from laconism import SparseBayesClassifier, SparseBayesRegressor
from laconism.datasets import make_ripley
from laconism.kernels import RBF, Matern, Polynomial
from laconism.likelihoods import Gaussian as GaussianLikelihood
from laconism.priors import Gaussian, GeneralizedGaussian, Jeffreys, Laplace, StudentT
from laconism.solvers import EM, Accelerated, Newton, rank_tolerance

# Prior, the reference's variance of the touching Gaussian, slope of the penalty in w.
PRIORS = {
    "gaussian": (Gaussian(width=1.5), lambda w: np.full_like(w, 2.25), lambda w: w / 2.25),
    "laplace": (Laplace(rate=2.0), lambda w: np.abs(w) / 2, lambda w: 2 * np.sign(w)),
    "jeffreys": (Jeffreys(strength=1), lambda w: w**2, lambda w: 1 / w),
    "student_t": (
        StudentT(a=0.5, b=0.1),
        lambda w: 0.1 + w**2 / 2,
        lambda w: w / (0.1 + w**2 / 2),
    ),
    "generalized_0.5": (
        GeneralizedGaussian(q=0.5, scale=0.8),
        lambda w: 1.6 * np.abs(w) ** 1.5,
        lambda w: 0.625 * np.sign(w) / np.sqrt(np.abs(w)),
    ),
    "generalized_1": (
        GeneralizedGaussian(q=1.0, scale=0.5),
        lambda w: 0.5 * np.abs(w),
        lambda w: 2 * np.sign(w),
    ),
    "generalized_1.5": (
        GeneralizedGaussian(q=1.5, scale=0.5),
        lambda w: np.sqrt(np.abs(w)) / 3,
        lambda w: 3 * np.sign(w) * np.sqrt(np.abs(w)),
    ),
}
CONVEX = ["gaussian", "laplace", "generalized_1", "generalized_1.5"]
SMOOTH = ["gaussian", "student_t", "generalized_1.5"]
# The papers start from a ridge of 1e-6, which is sharp for singular values above 1e-3 and blind below.
# exp(-.3 |x - c|^2) on 50 points of the plane has 24 of those and weights of some hundreds: 1e-6 of
# them is far above rounding (measured: 1e-7 and less), and the start does not pass through all points,
# so a regression's noise stays clear of its floor. exp(-4 |x - c|^2) has 47.
DESIGNS = {
    "linear": (3, {}, lambda X: X),
    "quadratic": (3, {"expansion": 2}, lambda X: np.column_stack([X, monomials(X)])),
    "rbf": (2, {"kernel": "rbf", "gamma": 0.3}, lambda X: rbf(X, X, 0.3)),
    "narrow": (2, {"kernel": "rbf", "gamma": 4.0}, lambda X: rbf(X, X, 4.0)),
}
CASES = [("classification", design) for design in DESIGNS]
CASES += [("regression", design) for design in DESIGNS if design != "narrow"]


def draw(n=50, p=3, seed=0):
    """Return rows, labels 0 / 1 and targets that hang on two features, and noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    f = 1.5 * X[:, 0] - X[:, 1] ** 2 + 0.5
    return X, (f + rng.normal(size=n) > 0).astype(int), f + 0.5 * rng.normal(size=n)


def monomials(X):
    p = X.shape[1]
    return np.column_stack([X[:, i] * X[:, j] for i in range(p) for j in range(i, p)])


def rbf(X, C, gamma):
    return np.exp(-gamma * ((X[:, None] - C) ** 2).sum(axis=2))


def with_ones(Phi):
    return np.column_stack([np.ones(len(Phi)), Phi])


def weights_of(model, n_columns):
    """Return intercept and weights of all columns as one vector."""
    w = np.zeros(n_columns)
    w[0] = np.ravel(model.intercept_)[0]
    if model.kernel is None:
        w[1:] = np.ravel(model.coef_)
    else:
        w[1 + model.relevance_] = np.ravel(model.dual_coef_)
    return w


def distance(w, truth):
    return np.linalg.norm(w - truth) / np.linalg.norm(truth)


def quietly(model, *data):
    """Fit, however few iterations it is given."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(*data)


# ---- EM is the textbook's ----------------------------------------------------------------------


def em_and_textbook(task, prior, X, columns, options, *, tol=1e-3, max_iter=1000):
    """Return the model, its weights and the textbook's iterates, as many as the model took."""
    component, weight_of, _ = PRIORS[prior]
    _, labels, targets = draw(p=X.shape[1])
    Phi = with_ones(columns(X))
    papers = {"penalize_intercept": True, "solver": EM(stop="weights"), "tol": tol}
    # EM weighs every kernel, so to compare with the whole matrix it must be factored to the last digit.
    papers["rank_tol"] = 1e-14
    if task == "classification":
        estimator, y, textbook = SparseBayesClassifier, labels, reference.textbook_em_classification
    else:
        estimator, y, textbook = SparseBayesRegressor, targets, reference.textbook_em_regression
    model = estimator(prior=component, max_iter=max_iter, **papers, **options).fit(X, y)
    iterates = textbook(Phi, y, weight_of, tol=0.0, max_iter=model.n_iter_)[-1]
    return model, weights_of(model, Phi.shape[1]), iterates


def papers_stop(iterates, tol):
    """Return after how many steps the textbook stops: step 4 of [FJ01]."""
    for k, (old, new) in enumerate(pairwise(iterates), start=1):
        if np.linalg.norm(new - old) <= tol * np.linalg.norm(old):
            return k
    return np.inf


@pytest.mark.slow
@pytest.mark.parametrize(("task", "design"), CASES)
@pytest.mark.parametrize("prior", PRIORS)
def test_em_is_the_textbook_loop(prior, task, design):
    p, options, columns = DESIGNS[design]
    X = draw(p=p)[0]
    model, w, iterates = em_and_textbook(task, prior, X, columns, options)
    assert distance(w, iterates[-1]) < 1e-6
    # Steps that prune are not judged, so at most a few more are taken than the papers would take.
    assert model.n_iter_ - 3 <= papers_stop(iterates, 1e-3) <= model.n_iter_


@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("prior", CONVEX)
@pytest.mark.parametrize("design", ["linear", "quadratic"])
def test_em_is_the_textbook_loop_at_convergence(design, prior, task):
    p, options, columns = DESIGNS[design]
    X = draw(p=p)[0]
    model, w, iterates = em_and_textbook(task, prior, X, columns, options, tol=1e-9, max_iter=5000)
    assert model.status_.converged
    assert papers_stop(iterates, 2e-9) <= model.n_iter_
    assert distance(w, iterates[-1]) < 1e-6


@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("prior", PRIORS)
def test_em_has_the_textbook_latents_when_ill_conditioned(prior, task):
    # A condition of 1e18: weights are arbitrary along the many directions the data cannot see, the
    # latents are not.
    gamma, X = 0.01, draw(p=2)[0]
    Phi = with_ones(rbf(X, X, gamma))
    assert np.linalg.cond(Phi) > 1e16
    options = {"kernel": "rbf", "gamma": gamma}
    _, w, iterates = em_and_textbook(task, prior, X, lambda X: rbf(X, X, gamma), options)
    assert distance(Phi @ w, Phi @ iterates[-1]) < 1e-6


def test_the_objective_of_em_is_the_log_posterior():
    X, labels, _ = draw()
    model, w, _ = em_and_textbook("classification", "gaussian", X, lambda X: X, {})
    expected = reference.log_posterior_classification(with_ones(X), labels, w, lambda w: w**2 / 4.5)
    assert model.history_[-1].objective == pytest.approx(expected, rel=1e-12)


# ---- the factors of a kernel matrix are as exact as the solver needs -----------------------------


@pytest.mark.parametrize(
    "kernel", [RBF(0.5), RBF(2.0), Matern(gamma=0.5), Polynomial(degree=3)], ids=repr
)
@pytest.mark.parametrize("solver", [EM(stop="weights"), Newton()], ids=["em", "newton"])
def test_factored_weights_are_those_of_the_full_matrix_by_default(solver, kernel):
    X, y = make_ripley(250, random_state=4)
    settings = {"solver": solver, "penalize_intercept": True, "tol": 1e-3, "max_iter": 300}
    if isinstance(solver, Newton):
        settings["tol"] = 1e-8
    factored = quietly(SparseBayesClassifier(kernel=kernel, **settings), X, y)
    full = quietly(SparseBayesClassifier(kernel="precomputed", **settings), kernel(X, X), y)
    assert distance(weights_of(factored, 251), weights_of(full, 251)) < 1e-5


def test_the_solver_says_how_exact_the_factors_must_be():
    absorbing, smooth = Jeffreys(strength=1), Gaussian()
    assert rank_tolerance(Newton(), absorbing) > rank_tolerance(Newton(start="ridge"), absorbing)
    assert rank_tolerance(Newton(), absorbing) > rank_tolerance(Newton(), smooth)
    # A solver that does not say is taken to weigh every kernel to the end, as EM does.
    assert rank_tolerance(EM(), absorbing) < rank_tolerance(Newton(), smooth)
    # An accelerated one needs what it needs by itself.
    for solver in (EM(), Newton()):
        assert rank_tolerance(Accelerated(solver), smooth) == rank_tolerance(solver, smooth)


def test_factors_give_em_seven_digits():
    X, y = make_ripley(250, random_state=1006)
    kernel = RBF(gamma=2.0)
    settings = {"solver": EM(stop="weights"), "penalize_intercept": True, "tol": 1e-3}
    factored = SparseBayesClassifier(kernel=kernel, **settings).fit(X, y)
    full = SparseBayesClassifier(kernel="precomputed", **settings).fit(kernel(X, X), y)
    assert distance(weights_of(factored, 251), weights_of(full, 251)) < 1e-7


@pytest.mark.parametrize("value", [0.0, -1e-8, "exact", None])
def test_a_tolerance_that_is_none_is_said_in_a_sentence(value):
    X, y = make_ripley(30, random_state=0)
    with pytest.raises(ValueError, match="rank_tol must be a positive number or 'auto'"):
        SparseBayesClassifier(kernel="rbf", rank_tol=value).fit(X, y)


# ---- the objective never drops -----------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("penalize_intercept", [False, True])
@pytest.mark.parametrize("design", ["linear", "wide", "rbf"])
@pytest.mark.parametrize("likelihood", ["probit", "logistic", "gaussian"])
@pytest.mark.parametrize("prior", [*PRIORS, "jeffreys_auto"])
@pytest.mark.parametrize("solver", ["em", "newton"])
def test_the_objective_never_drops(solver, prior, likelihood, design, penalize_intercept):
    component = Jeffreys() if prior == "jeffreys_auto" else PRIORS[prior][0]
    p, options, _ = (60, {}, None) if design == "wide" else DESIGNS[design]
    X, labels, targets = draw(n=40, p=p, seed=3)
    estimator, y = SparseBayesClassifier, labels
    if likelihood == "gaussian":
        estimator, y = SparseBayesRegressor, targets
    model = estimator(
        prior=component,
        likelihood=likelihood,
        solver=solver,
        penalize_intercept=penalize_intercept,
        max_iter=150,
        **options,
    )
    objective = np.array([record.objective for record in quietly(model, X, y).history_])
    assert np.isfinite(objective).all()
    assert (np.diff(objective) >= -1e-10 * np.abs(objective[1:])).all()


# ---- the convex case: everybody agrees ---------------------------------------------------------

NOISE = 0.5
# n, p, options, columns, rate (of a classifier and of a regression). The kernels are narrow, so that
# the curvature pins the weights to 1e-5 long before the objective's last digit.
SHAPES = {
    "tall": (60, 6, {}, lambda X: X, (3.0, 16.0)),
    "wide": (25, 60, {}, lambda X: X, (4.0, 8.0)),
    "rbf": (40, 2, {"kernel": "rbf", "gamma": 4.0}, lambda X: rbf(X, X, 4.0), (0.8, 1.6)),
}
LASSO = {
    "probit": lambda Phi, y, rate, free: reference.lasso_probit(Phi, y, rate, free),
    "logistic": lambda Phi, y, rate, free: reference.lasso_logistic(Phi, y, rate, free),
    "gaussian": lambda Phi, y, rate, free: reference.lasso_gaussian(Phi, y, rate, NOISE, free),
}


def laplace_model(likelihood, rate, free, solver, options, **settings):
    estimator = SparseBayesClassifier
    if likelihood == "gaussian":
        estimator, likelihood = SparseBayesRegressor, GaussianLikelihood(noise=NOISE, estimate=False)
    return estimator(
        prior=Laplace(rate=rate),
        likelihood=likelihood,
        penalize_intercept=not free,
        solver=solver,
        **settings,
        **options,
    )


def lasso_problem(likelihood, shape, seed):
    n, p, options, columns, rates = SHAPES[shape]
    X, labels, targets = draw(n=n, p=p, seed=seed)
    if likelihood == "gaussian":
        return X, targets, columns(X), options, rates[1]
    return X, labels, columns(X), options, rates[0]


def lasso_reference(likelihood, Phi, y, rate, free):
    """Return intercept and weights as one vector."""
    if free:
        w, b = LASSO[likelihood](Phi, y, rate, True)
        return np.r_[b, w]
    return LASSO[likelihood](with_ones(Phi), y, rate, False)[0]


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["auto", "proximal", "newton", "em"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("free", [True, False], ids=["free", "penalised"])
@pytest.mark.parametrize("likelihood", LASSO)
def test_all_solvers_find_the_lasso(likelihood, free, shape, solver):
    X, y, Phi, options, rate = lasso_problem(likelihood, shape, seed=1)
    truth = lasso_reference(likelihood, Phi, y, rate, free)
    assert 1 < np.count_nonzero(truth) < truth.size
    # The papers' rule lets EM go on where the objective no longer tells.
    chosen, tol = (EM(stop="weights"), 1e-10) if solver == "em" else (solver, 1e-15)
    model = laplace_model(likelihood, rate, free, chosen, options, tol=tol, max_iter=50_000)
    w = weights_of(model.fit(X, y), truth.size)
    np.testing.assert_allclose(w, truth, rtol=0, atol=1e-5 * np.abs(truth).max())


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["auto", "newton", "em"])
@pytest.mark.parametrize("likelihood", LASSO)
def test_all_solvers_find_the_latents_of_the_lasso_of_wide_kernels(likelihood, solver):
    X, labels, targets = draw(n=40, p=2, seed=1)
    y = targets if likelihood == "gaussian" else labels
    Phi = rbf(X, X, 0.3)
    truth = lasso_reference(likelihood, Phi, y, 1.0, True)
    options = {"kernel": "rbf", "gamma": 0.3}
    model = laplace_model(likelihood, 1.0, True, solver, options, tol=1e-14, max_iter=50_000)
    f = with_ones(Phi) @ weights_of(model.fit(X, y), truth.size)
    assert distance(f, with_ones(Phi) @ truth) < 1e-5


# ---- the answers are answers -------------------------------------------------------------------


def slope_of(likelihood, y, f, noise):
    """Return the derivative of the log-likelihood in f; labels are 0 / 1."""
    s = 2.0 * y - 1.0
    if likelihood == "probit":
        return s * reference.probit_ratio(s * f)
    return s * expit(-s * f) if likelihood == "logistic" else (y - f) / noise


@pytest.mark.slow
@pytest.mark.parametrize("free", [True, False], ids=["free", "penalised"])
@pytest.mark.parametrize("design", ["linear", "quadratic", "rbf"])
@pytest.mark.parametrize("likelihood", ["probit", "logistic", "gaussian"])
@pytest.mark.parametrize("prior", SMOOTH)
def test_newton_ends_where_the_gradient_is_zero(prior, likelihood, design, free):
    component, _, penalty_slope = PRIORS[prior]
    p, options, columns = DESIGNS[design]
    X, labels, targets = draw(p=p)
    estimator, y = SparseBayesClassifier, labels
    if likelihood == "gaussian":
        estimator, y = SparseBayesRegressor, targets
    model = estimator(
        prior=component,
        likelihood=likelihood,
        solver=Newton(),
        penalize_intercept=not free,
        tol=1e-15,
        max_iter=5000,
        **options,
    ).fit(X, y)
    Phi = with_ones(columns(X))
    w = weights_of(model, Phi.shape[1])
    f = Phi @ w
    # The noise variance maximises the likelihood as well, eq. (3) of [F01].
    noise = np.mean((targets - f) ** 2)
    if likelihood == "gaussian":
        assert model.likelihoods_[0].noise == pytest.approx(noise, rel=1e-6)
    slope = slope_of(likelihood, y, f, noise)
    prior_slope = penalty_slope(w)
    if free:
        prior_slope[0] = 0.0
    size = np.abs(Phi).T @ np.abs(slope)  # what the gradient would be if nothing cancelled
    gradient = Phi.T @ slope - prior_slope
    first = 1 if free and w[0] == 0 else 0  # an intercept that was spared may have a slope
    np.testing.assert_array_less(np.abs(gradient[first:]), 1e-6 * size[first:])


@pytest.mark.parametrize("prior", ["jeffreys", "generalized_0.5"])
@pytest.mark.parametrize("likelihood", ["probit", "logistic", "gaussian"])
def test_newton_ends_where_the_gradient_of_the_kept_weights_is_zero(prior, likelihood):
    component, _, penalty_slope = PRIORS[prior]
    X, labels, targets = draw(n=80, p=10)
    estimator, y = SparseBayesClassifier, labels
    if likelihood == "gaussian":
        estimator, y = SparseBayesRegressor, targets
    model = estimator(prior=component, likelihood=likelihood, tol=1e-15).fit(X, y)
    kept = model.relevance_
    assert 0 < kept.size < 10
    w = np.ravel(model.coef_)[kept]
    f = X[:, kept] @ w + model.intercept_
    slope = slope_of(likelihood, y, f, np.mean((targets - f) ** 2))
    size = np.abs(X[:, kept]).T @ np.abs(slope)
    np.testing.assert_array_less(np.abs(X[:, kept].T @ slope - penalty_slope(w)), 1e-6 * size)
    assert abs(slope.sum()) < 1e-6 * np.abs(slope).sum()


@pytest.mark.slow
@pytest.mark.parametrize("tol", [1e-4, 1e-8, 1e-12])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("free", [True, False], ids=["free", "penalised"])
@pytest.mark.parametrize("likelihood", LASSO)
def test_the_certificate_is_honest(likelihood, free, shape, weighted, tol):
    X, y, Phi, options, rate = lasso_problem(likelihood, shape, seed=2)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, size=len(y)) if weighted else np.ones(len(y))
    model = laplace_model(likelihood, rate, free, "proximal", options, tol=tol).fit(X, y, weight)
    Phi = with_ones(Phi)
    w = weights_of(model, Phi.shape[1])
    slope = weight * slope_of(likelihood, y, Phi @ w, NOISE)
    gradient = Phi.T @ slope / rate
    residual = np.where(w == 0, np.maximum(np.abs(gradient) - 1, 0), np.abs(gradient - np.sign(w)))
    rounding = 1e-9  # the sums of the two computations round differently
    if free:
        assert abs(slope.sum()) < 1e-6 * np.abs(slope).sum()
        residual[0] = 0.0
        # The certificate is of centred columns; these differ by the slope of the intercept.
        rounding += np.abs(weight @ Phi / weight.sum()).max() * abs(slope.sum()) / rate
    claimed = float(re.search(r"optimal to (\S+) of the rate", str(model.status_)).group(1))
    assert model.status_.converged
    assert residual.max() <= 1.05 * claimed + rounding  # two digits are printed
    if "last digit" not in str(model.status_):
        assert claimed <= 1e-3 * np.sqrt(tol)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_certificate_is_honest_about_an_estimated_noise(shape):
    X, y, Phi, options, rate = lasso_problem("gaussian", shape, seed=2)
    model = SparseBayesRegressor(prior=Laplace(rate=rate), **options).fit(X, y)
    w = weights_of(model, Phi.shape[1] + 1)
    residual = y - with_ones(Phi) @ w
    noise, seen = model.likelihoods_[0].noise, np.mean(residual**2)
    if (
        shape == "wide"
    ):  # it would pass through the data: the noise is the one that a dense model expects
        assert seen < noise < y.var()
    else:
        assert noise == pytest.approx(seen, rel=1e-9)
    gradient, w = Phi.T @ residual / noise / rate, w[1:]
    off, on = np.maximum(np.abs(gradient) - 1, 0), np.abs(gradient - np.sign(w))
    assert np.where(w == 0, off, on).max() < 1e-7 + 1e-3 * np.sqrt(model.tol)
    assert abs(residual.sum()) < 1e-6 * np.abs(residual).sum()
