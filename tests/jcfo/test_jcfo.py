"""Weights and feature scales together."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning

from laconism import JCFOClassifier, JCFORegressor
from laconism.jcfo import search as joint_search
from laconism.jcfo.em import expectation_maximisation
from laconism.jcfo.newton import _SmoothObjective
from laconism.jcfo.problem import JointProblem
from laconism.jcfo.trials import exchange_features, short_descent, with_few_centres
from laconism.jcfo.variable_projection import minimize_nonnegative, variable_projection
from laconism.jcfo.weights import project
from laconism.kernels import RBF, Linear, Polynomial, Scaled
from laconism.likelihoods import Gaussian, Logistic, Probit

KERNELS = [RBF(gamma=1.0), Polynomial(degree=2), Polynomial(degree=3), Linear()]


def product_of_two(n, p, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, p))
    return X, np.where(X[:, 0] * X[:, 1] > 0, 1.0, -1.0)


def joint_problem(kernel, n=30, p=4, likelihood=None, **settings):
    X, y = product_of_two(n, p)
    settings = {"weight_rate": 0.5, "scale_rate": 0.7, "intercept": True} | settings
    weight = np.random.default_rng(1).uniform(0.5, 2.0, n)
    return JointProblem(kernel, X, X, [y], likelihood or Probit(), weight, **settings)


def prepared(X, y, weight=None, **settings):
    """Return the joint problem of a classifier."""
    model = JCFOClassifier(**settings)
    return model._prepare(model._fit_data(X, y, weight))


def derivative(function, at, h=1e-3):
    """Differences of fourth order: exact to about 1e-11 of a function of order one."""
    steps = h * np.eye(at.size)
    near = np.array([function(at + d) - function(at - d) for d in steps])
    far = np.array([function(at + 2 * d) - function(at - 2 * d) for d in steps])
    return (8 * near - far) / (12 * h)


# ---- mathematics ----------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("likelihood", [Probit(), Logistic(), Gaussian(0.5, estimate=False)], ids=repr)
@pytest.mark.parametrize("constant", [False, True])
def test_the_gradient_in_the_scales_is_exact(kernel, likelihood, constant):
    problem = joint_problem(kernel, likelihood=likelihood, intercept=not constant, constant=constant)
    theta = np.array([0.4, 0.3, 0.1, 0.2])
    found = project(problem, theta).outputs[0]
    assert found.w.any(), "there is something to differentiate"

    def value(scales):
        f = problem.columns(scales) @ found.w + found.b
        at = problem.output_at(problem.targets[0], found.w, found.b, f, found.likelihood)
        return at.value + problem.scale_rate * scales.sum()

    expected = derivative(value, theta)
    slope = problem.scale_gradient(theta, [found])
    np.testing.assert_allclose(slope, expected, rtol=1e-8, atol=1e-8 * np.abs(expected).max())


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("likelihood", [Probit(), Gaussian()], ids=repr)
def test_newtons_gradient_and_hessian_are_exact(kernel, likelihood):
    problem = joint_problem(kernel, likelihood=likelihood)
    smooth = _SmoothObjective(problem, project(problem, np.array([0.4, 0.3, 0.1, 0.2])))
    here = smooth.at(smooth.start, with_hessian=True)
    gradient = derivative(lambda v: smooth.at(v, with_hessian=False).value, smooth.start, 1e-4)
    np.testing.assert_allclose(here.gradient, gradient, atol=1e-6 * np.abs(gradient).max() + 1e-6)
    hessian = derivative(lambda v: smooth.at(v, with_hessian=False).gradient, smooth.start, 1e-4)
    np.testing.assert_allclose(here.hessian, hessian, atol=1e-7 * np.abs(hessian).max())


def test_blocks_of_features_change_nothing(monkeypatch):
    problem = joint_problem(RBF(gamma=1.0), p=7)
    theta = np.full(7, 0.2)
    found = project(problem, theta)
    whole = problem.scale_gradient(theta, found.outputs)
    monkeypatch.setattr("laconism.linalg.BLOCK_ENTRIES", 60)  # two features at a time
    np.testing.assert_allclose(problem.scale_gradient(theta, found.outputs), whole, rtol=1e-12)


@pytest.mark.parametrize("likelihood", [Probit(), Logistic(), Gaussian()], ids=repr)
@pytest.mark.parametrize("kernel", [RBF(gamma=1.0), Polynomial(degree=2), Linear()], ids=repr)
def test_the_answer_is_optimal(kernel, likelihood):
    problem = joint_problem(kernel, n=80, p=6, likelihood=likelihood)
    found = variable_projection(problem, np.full(6, 1 / 6), max_iter=200, tol=1e-8)
    assert found.converged
    assert problem.violation(found.theta, found.outputs) <= 1e-8
    assert (np.diff(found.values) <= 1e-9 * abs(found.value)).all(), "no iteration ends higher"


def test_no_scale_falls_below_zero_by_a_rounding():
    # Nothing pays: all scales fall together, and L-BFGS-B's step to zero misses it by 5e-32.
    start = 1 + np.random.default_rng(32).integers(-3, 4, size=20) * 2.0**-52
    price, lowest = 1 + 2.0**-52, []

    def value_and_slope(x):
        lowest.append(x.min())
        return 103.9 + price * float(x.sum()), np.full(x.size, price)

    end, _ = minimize_nonnegative(value_and_slope, start, {})
    assert min(lowest) >= 0
    assert (end >= 0).all()


@pytest.mark.parametrize("kernel", [RBF(gamma=1.0), Linear()], ids=repr)
def test_variable_projection_ends_no_higher_than_em(kernel):
    problem = joint_problem(kernel, n=60)
    start = np.full(4, 0.25)
    quick = variable_projection(problem, start, max_iter=200, tol=1e-8)
    slow = expectation_maximisation(problem, start, max_iter=100, tol=1e-9)
    assert quick.value <= slow.value + 1e-6
    assert (np.diff(slow.values) <= 1e-6).all(), "EM never raises the objective"


def test_em_agrees_where_there_is_one_optimum():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 1))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=80) > 0, 1.0, -1.0)
    problem = JointProblem(Linear(), X, X, [y], Probit(), np.ones(80), 1.0, 1.0, intercept=True)
    quick = variable_projection(problem, np.ones(1), max_iter=200, tol=1e-8)
    slow = expectation_maximisation(problem, np.ones(1), max_iter=500, tol=1e-12)
    assert slow.value == pytest.approx(quick.value, rel=1e-4)


def test_weight_two_is_a_row_written_twice():
    X, y = product_of_two(60, 5)
    weight = np.random.default_rng(0).integers(0, 3, 60)
    weighted = JCFOClassifier().fit(X, y, sample_weight=weight)
    repeated = JCFOClassifier().fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    scales = weighted.feature_scales_
    np.testing.assert_allclose(scales, repeated.feature_scales_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), rtol=1e-8)


# ---- what it finds --------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_two_features_that_matter_only_together_are_found(seed):
    X, y = product_of_two(250, 30, seed)
    model = JCFOClassifier(selection_rate="auto").fit(X, y)
    np.testing.assert_array_equal(model.get_support(indices=True), [0, 1])
    assert model.transform(X).shape == (250, 2)
    new, labels = product_of_two(1000, 30, 77)
    assert model.score(new, labels) > 0.93
    assert model.status_.converged


@pytest.mark.slow
def test_classes_share_their_features_or_do_not():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 6))
    y = np.where(X[:, 4] > 0.7, 2, np.where(X[:, 1] > 0.3, 1, 0))
    shared = JCFOClassifier(selection_rate="auto").fit(X, y)
    own = JCFOClassifier(selection_rate="auto", share_features=False).fit(X, y)
    for model in (shared, own):
        np.testing.assert_array_equal(model.get_support(indices=True), [1, 4])
        assert model.score(X, y) > 0.9
        np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert shared.feature_scales_.shape == (6,)
    assert own.feature_scales_.shape == (3, 6)
    # the last class hangs on one feature alone
    np.testing.assert_array_equal(own.feature_scales_[2].nonzero()[0], [4])
    assert len(own.kernel_) == 3


@pytest.mark.slow
def test_regression_finds_its_noise_and_is_equivariant():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 6))
    y = 3 + np.sin(2 * X[:, 2]) + 0.2 * rng.normal(size=120)
    model = JCFORegressor(selection_rate="auto").fit(X, y)
    np.testing.assert_array_equal(model.get_support(indices=True), [2])
    assert model.noise_variance_ == pytest.approx(0.04, rel=0.4)
    far = JCFORegressor(selection_rate="auto").fit(X, 1e3 * y - 5e4)
    np.testing.assert_allclose(far.predict(X), 1e3 * model.predict(X) - 5e4, rtol=1e-6)
    np.testing.assert_allclose(far.feature_scales_, model.feature_scales_, rtol=1e-6)
    held = JCFORegressor(likelihood=Gaussian(0.04, estimate=False)).fit(X, y)
    assert held.noise_variance_ == 0.04


def test_a_regression_without_noise_is_not_followed_to_its_end():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 5))
    y = X[:, 0] * X[:, 1]
    model = JCFORegressor("poly", degree=2).fit(X, y)
    assert 0 < model.likelihoods_[0].noise <= 0.01 * y.var()
    assert model.score(X, y) > 0.99


@pytest.mark.parametrize("kernel", ["linear", "poly"])
def test_units_and_origin_do_not_matter(kernel):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 5))
    y = X[:, 1] + 0.5 * rng.normal(size=100) > 0
    unit, origin = 10.0 ** np.arange(-2, 3), np.array([5.0, -3.0, 0.0, 100.0, 7.0])
    here = JCFOClassifier(kernel).fit(X, y)
    there = JCFOClassifier(kernel).fit(X * unit + origin, y)
    np.testing.assert_allclose(there.feature_scales_, here.feature_scales_, rtol=1e-5, atol=1e-9)
    proba = there.predict_proba(X * unit + origin)
    np.testing.assert_allclose(proba, here.predict_proba(X), rtol=1e-5)


@pytest.fixture
def starts(monkeypatch):
    """Return the scales at which full searches begin."""
    found = []

    def spy(problem, theta, **options):
        found.append(theta)
        return variable_projection(problem, theta, **options)

    monkeypatch.setitem(joint_search.SOLVERS, "varpro", spy)
    return found


@pytest.mark.parametrize("Model", [JCFOClassifier, JCFORegressor])
def test_a_search_begins_at_the_scales_that_are_given(starts, Model):
    X, y = product_of_two(60, 3)
    X = X * [1.0, 10.0, 0.1]
    given = np.array([2.0, 0.01, 0.0])
    once = {"calibrate": False} if Model is JCFORegressor else {}
    model = Model(initial_scales=given, **once).fit(X, y)
    np.testing.assert_allclose(starts, [given * X.var(axis=0)])
    Model(initial_scales=given, standardize=False, **once).fit(X, y)
    np.testing.assert_allclose(starts[1], given)
    # The same kernel in other units is the same model.
    other = Model(initial_scales=given / 9, **once).fit(3 * X, y)
    np.testing.assert_allclose(starts[2], starts[0])
    np.testing.assert_allclose(other.predict(3 * X), model.predict(X), rtol=1e-6)
    screened = Model(initial_scales=0.5, screening=2, selection_rate=3.0, **once).fit(X, y)
    np.testing.assert_allclose(
        starts[3], 0.5 * X.var(axis=0)[screened._prepare(screened._fit_data(X, y, None)).features]
    )


def test_from_scales_that_are_given_there_is_no_restart(starts):
    X, y = product_of_two(60, 4)
    model = JCFOClassifier(initial_scales=1e-3, weight_rate=1e4).fit(X, y)
    assert len(starts) == 1
    assert "from these initial_scales" in model.status_.message


@pytest.mark.slow
@pytest.mark.parametrize("seed", [100, 103, 108])
def test_a_smooth_model_does_not_hide_a_feature_that_bends_the_boundary(seed):
    # Among noise two moons are nearly a line in the second feature: a smooth optimum, far from the best.
    X, y = make_moons(200, noise=0.25, random_state=seed)
    X = np.hstack([X, np.random.default_rng(seed).normal(size=(200, 18))])
    known = np.where(np.arange(20) < 2, 1.0, 1e-3)
    informed = JCFOClassifier(weight_rate=1.0, initial_scales=known / X.var(axis=0)).fit(X, y)
    assert JCFOClassifier(weight_rate=1.0).fit(X, y).objective_ < informed.objective_ + 3


def test_a_weight_is_cheaper_where_rows_are_few():
    def rate(n, p, **settings):
        X, y = product_of_two(n, p)
        return prepared(X, y, **settings).problems[0].weight_rate

    # A tenth of the price that leaves out noise, and one at the most.
    X, y = product_of_two(100, 8)
    noise = prepared(X, y).selection_rate()
    assert rate(100, 8) == pytest.approx(noise / 10)
    assert rate(25, 8) == pytest.approx(noise / 20)
    assert rate(1000, 8) == 1
    # Features that were selected are few; inner products let scales trade with weights.
    assert rate(100, 8, selection_rate="auto") == rate(100, 3)
    assert rate(100, 8, kernel="linear") == 1
    assert rate(100, 8, weight_rate=0.7) == 0.7
    # A weight is a repeated row, and neither constants nor copies count.
    again = prepared(X[:50], y[:50], np.full(50, 2.0)).problems[0]
    assert again.weight_rate == pytest.approx(noise / 10)
    wide = np.column_stack([X, X[:, 0], np.ones(100)])
    assert prepared(wide, y).problems[0].weight_rate == rate(100, 8)
    with pytest.raises(ValueError, match="weight_rate must be a positive number"):
        JCFORegressor(weight_rate="auto").fit(X, y)


@pytest.mark.slow
def test_screening_happens_inside_and_finds_the_linear_features():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 300))
    y = X[:, 7] - X[:, 200] > 0
    model = JCFOClassifier("linear", screening=20, selection_rate="auto").fit(X, y)
    assert {7, 200} <= set(model.get_support(indices=True))
    assert np.count_nonzero(model.feature_scales_) <= 20
    auto = JCFOClassifier("linear", screening="auto", selection_rate="auto").fit(X, y)
    assert {7, 200} <= set(auto.get_support(indices=True))


@pytest.mark.slow
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_five_of_many_more_features_than_rows_are_found(kernel):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2000))
    y = X[:, :5] @ [1, -1, 1, -1, 1] + 0.25 * rng.normal(size=200) > 0
    model = JCFOClassifier(kernel, selection_rate="auto", screening="auto").fit(X, y)
    np.testing.assert_array_equal(model.get_support(indices=True), np.arange(5))


@pytest.mark.slow
def test_features_stay_that_are_worth_their_price():
    X, y = product_of_two(200, 8)
    settings = {"weight_rate": 0.1, "penalize_intercept": False}
    low = JCFOClassifier(**settings).fit(X, y)
    assert low.get_support().sum() > 2  # noise is let in
    model = JCFOClassifier(**settings, selection_rate=0.1000001).fit(X, y)
    np.testing.assert_array_equal(model.get_support(indices=True), [0, 1])
    price = np.log(8) + 0.5 * np.log(200)
    assert model.objective_ - low.objective_ < price * (low.get_support().sum() - 2)
    for kept in (0, 1):  # neither can do without the other
        alone = JCFOClassifier(**settings).fit(X[:, [kept]], y)
        assert alone.objective_ - model.objective_ > price


@pytest.mark.slow
def test_a_product_is_found_beside_a_feature_that_speaks_for_itself():
    rng = np.random.default_rng(1002)
    X = rng.normal(size=(200, 12))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.2 * rng.normal(size=200)
    model = JCFORegressor(selection_rate="auto").fit(X, y)
    np.testing.assert_array_equal(model.get_support(indices=True), [0, 1, 2])


def test_features_come_in_where_the_selection_left_none():
    X = np.random.default_rng(0).normal(size=(100, 6))
    model = JCFOClassifier("linear", selection_rate=1e5).fit(X, X[:, 2] > 0)
    np.testing.assert_array_equal(model.get_support(indices=True), [2])
    assert model.status_.message.endswith("features were added later.")
    noise = JCFOClassifier("linear", selection_rate=1e5).fit(X, np.arange(100) % 2)
    assert "No feature is worth its price" in noise.status_.message


def test_nothing_is_a_beginning_with_other_centres_too():
    # A kernel of no width may stand in for the intercept, at a row that the trials do not look at.
    X = np.random.default_rng(0).normal(size=(150, 3))
    whole = prepared(X, X[:, 2] > 0.5, penalize_intercept=True)
    problem = whole.problems[0]
    nothing = project(problem, np.zeros(3))
    output = nothing.outputs[0]
    moved = replace(output, w=np.append(np.zeros(150), output.w.sum()))
    assert moved.w.any()
    few = with_few_centres(problem, whole.trial_order)
    found = exchange_features(few, replace(nothing, outputs=[moved]), price=3.0)
    np.testing.assert_array_equal(found.features, [2])


def test_a_trial_gives_up_that_would_not_lead_below():
    problem = joint_problem(RBF(gamma=1.0), n=80)
    start = np.full(4, 0.25)
    full = short_descent(problem, start, 20)
    assert not full.stopped
    assert short_descent(problem, start, 20, below=full.value + 1e-3).value == full.value
    hopeless = short_descent(problem, start, 20, below=full.value - 10)
    assert hopeless.stopped
    assert len(hopeless.values) < len(full.values)
    again = short_descent(problem, full.theta, 20, warm=full.outputs)
    assert again.value <= full.value


@pytest.mark.slow
def test_the_intercept_of_two_classes_on_kernels_pays_its_price():
    X, y = product_of_two(60, 2)
    y[:10] = 1.0
    auto, paid = JCFOClassifier().fit(X, y), JCFOClassifier(penalize_intercept=True).fit(X, y)
    assert auto.objective_ == paid.objective_
    free = JCFOClassifier(penalize_intercept=False).fit(X, y)
    assert free.objective_ < paid.objective_
    # Inner products and several classes have a free one.
    for settings, labels in (({"kernel": "linear"}, y), ({}, np.where(X[:, 0] > 1, 2, y))):
        auto = JCFOClassifier(**settings).fit(X, labels)
        free = JCFOClassifier(**settings, penalize_intercept=False).fit(X, labels)
        assert auto.objective_ == free.objective_
    values = JCFORegressor().fit(X, y)
    assert values.objective_ == JCFORegressor(penalize_intercept=False).fit(X, y).objective_
    with pytest.raises(ValueError, match="penalize_intercept must be True or False"):
        JCFORegressor(penalize_intercept="auto").fit(X, y)


def test_few_centres_and_sparse_rows():
    X, y = product_of_two(150, 4)
    model = JCFOClassifier(n_centres=20).fit(X, y)
    assert model.n_relevant_ <= 20
    assert model.score(X, y) > 0.85
    again = JCFOClassifier(n_centres=20).fit(sparse.csr_matrix(X), y)
    np.testing.assert_allclose(again.predict_proba(X), model.predict_proba(X))
    shuffled = np.random.default_rng(0).permutation(150)
    same = JCFOClassifier(n_centres=20).fit(X[shuffled], y[shuffled])
    assert set(shuffled[same.relevance_]) == set(model.relevance_), "the draw is not of positions"


def test_names_of_features():
    X, y = product_of_two(100, 4)
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    model = JCFOClassifier(selection_rate="auto").set_output(transform="pandas").fit(frame, y)
    assert list(model.get_feature_names_out()) == ["a", "b"]
    assert list(model.transform(frame).columns) == ["a", "b"]


def test_the_origin_of_a_scaled_kernel():
    X = np.random.default_rng(0).normal(size=(5, 3))
    origin, scales = np.array([1.0, 2.0, 3.0]), [0.5, 0.0, 2.0]
    moved = Scaled(Polynomial(degree=2), scales, origin)
    plain = Scaled(Polynomial(degree=2), scales)
    np.testing.assert_allclose(moved(X, X[:2]), plain(X - origin, X[:2] - origin))
    np.testing.assert_allclose(moved(sparse.csr_matrix(X), X[:2]), moved(X, X[:2]))
    np.testing.assert_allclose(moved.diag(X), np.diag(moved(X, X)))
    with pytest.raises(ValueError, match="origin must be as many finite numbers"):
        Scaled(Linear(), [1.0, 2.0], [0.0]).check()


# ---- bad input ------------------------------------------------------------------------------


@pytest.mark.slow
def test_constant_and_copied_features_are_out():
    X, y = product_of_two(150, 4)
    wide = np.column_stack([np.full(150, 7.0), X, X[:, 0], 3 - 2 * X[:, 1], np.zeros(150)])
    model = JCFOClassifier(selection_rate="auto").fit(wide, y)
    np.testing.assert_array_equal(model.get_support(indices=True), [1, 2])
    plain = JCFOClassifier(selection_rate="auto").fit(X, y)
    np.testing.assert_allclose(model.predict_proba(wide), plain.predict_proba(X), rtol=1e-5)


def test_nothing_but_constants():
    X, y = np.ones((40, 3)), np.arange(40) % 4 == 0
    model = JCFOClassifier().fit(X, y)
    assert not model.get_support().any()
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], 0.25, atol=0.02)
    assert "No feature is worth its price" in model.status_.message


def test_prices_that_leave_nothing_are_said():
    X, y = product_of_two(60, 4)
    model = JCFOClassifier(weight_rate=1e4).fit(X, y)
    assert not model.get_support().any()
    assert "also after a restart from lower rates" in model.status_.message


@pytest.mark.parametrize("degree", [2, 8])
def test_polynomials_of_large_features_stay_in_range(degree):
    X, y = product_of_two(60, 40)
    model = JCFOClassifier("poly", degree=degree, max_iter=30, tol=1e-2)
    assert np.isfinite(model.fit(1e6 * X, y).decision_function(1e6 * X)).all()


def test_polynomials_out_of_range_are_said():
    X, y = product_of_two(40, 5)
    with pytest.raises(ValueError, match="overflows"):
        JCFOClassifier("poly", degree=8, standardize=False).fit(1e40 * X, y)


def test_too_few_iterations_are_said():
    X, y = product_of_two(100, 10)
    with pytest.warns(ConvergenceWarning, match="raise max_iter or tol"):
        JCFOClassifier(solver="em", max_iter=2, tol=1e-12).fit(X, y)


def test_a_callback_stops_the_fit():
    X, y = product_of_two(100, 5)
    model = JCFOClassifier(callbacks=lambda record: True).fit(X, y)
    assert model.status_.stopped
    assert len(model.history_) == 1


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"kernel": "matern"}, "kernel must be"),
        ({"weight_rate": 0}, "weight_rate must be a positive number or 'auto'"),
        ({"weight_rate": -1.0}, "weight_rate must be a positive number or 'auto'"),
        ({"weight_rate": "none"}, "weight_rate must be a positive number or 'auto'"),
        ({"scale_rate": 0.0}, "scale_rate must be a positive number or 'auto'"),
        ({"scale_rate": "none"}, "scale_rate must be a positive number or 'auto'"),
        ({"initial_scales": "none"}, "initial_scales must be 'auto', a positive number or one"),
        ({"initial_scales": 0.0}, "initial_scales must be"),
        ({"initial_scales": [0.0, 0.0, 0.0]}, "initial_scales must be"),
        ({"initial_scales": [1.0, -1.0, 0.0]}, "initial_scales must be"),
        ({"initial_scales": [[1.0, 1.0], [1.0]]}, "initial_scales must be"),
        ({"initial_scales": [1.0, 1.0]}, "initial_scales has 2 numbers, but X has 3 features"),
        ({"selection_rate": -2}, "selection_rate must be None, 'auto' or a positive number"),
        ({"solver": "newton"}, "Unknown solver"),
        ({"solver": []}, "Unknown solver"),
        ({"standardize": "no"}, "standardize must be True or False, got 'no'"),
        ({"share_features": "no"}, "share_features must be True or False"),
        ({"penalize_intercept": "no"}, "penalize_intercept must be True, False or 'auto'"),
        ({"screening": -1}, "screening must be"),
        ({"n_centres": 0}, "n_centres must be"),
    ],
)
def test_bad_settings_are_refused_in_a_sentence(settings, sentence):
    X, y = product_of_two(30, 3)
    model = JCFOClassifier(**settings)
    with pytest.raises(ValueError, match=sentence):
        model.fit(X, y)
    assert not hasattr(model, "feature_scales_")
