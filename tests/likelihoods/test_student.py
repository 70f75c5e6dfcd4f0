"""Student's noise: a few wild targets do not decide what a regression says."""

import numpy as np
import pytest
from scipy import integrate, stats

from laconism import (
    GridRVMRegressor,
    LaconicRegressor,
    RVMRegressor,
    SparseBayesRegressor,
    SparseBayesRegressorCV,
)
from laconism.design import DenseDesign
from laconism.interop import load, save, to_onnx
from laconism.likelihoods import Gaussian, Student
from laconism.likelihoods._noise import median
from laconism.priors import GeneralizedGaussian, Jeffreys, Laplace
from laconism.solvers import EM, Newton, Problem, Proximal, solve

GRID = np.linspace(-10, 10, 201)[:, None]
TRUTH = np.sinc(GRID[:, 0] / np.pi)


def sinc(seed, wild=0.0, n=150, noise=0.1):
    """Rows of the sinc with noise, a part of them ten deviations off; and the same without."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-10, 10, size=(n, 1))
    clean = np.sinc(X[:, 0] / np.pi) + noise * rng.normal(size=n)
    off = rng.uniform(size=n) < wild
    return X, clean + 10 * noise * off * rng.choice([-1.0, 1.0], size=n), clean


def sparse_truth(seed, wild=0.1, n=150, p=50):
    rng = np.random.default_rng(seed)
    X, coef = rng.normal(size=(n, p)), np.zeros(p)
    coef[rng.choice(p, 5, replace=False)] = rng.choice([-1.0, 1.0], 5) * rng.uniform(0.5, 2.0, 5)
    off = rng.uniform(size=n) < wild
    return X, 3 + X @ coef + 0.5 * rng.normal(size=n) + 5 * off * rng.choice([-1.0, 1.0], size=n), coef


def error(model):
    return float(np.sqrt(np.mean((model.predict(GRID) - TRUTH) ** 2)))


# ---- the likelihood -------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("df", [1.0, 2.5, 100.0])
@pytest.mark.parametrize("v", [1e-4, 0.3, 1.0, 100.0])
def test_predictive_is_the_integral(df, v):
    likelihood, scale = Student(df, noise=0.5), np.sqrt(0.5)
    for y in (0.0, 0.7, 4.0, 50.0):

        def density(f, y=y):
            return stats.t.pdf((y - f) / scale, df) / scale * stats.norm.pdf(f, 0, np.sqrt(v))

        ends = np.sqrt(v) * 12
        breaks = [at for at in (y - scale, y, y + scale) if abs(at) < ends]
        expected = integrate.quad(density, -ends, ends, points=[0.0, *breaks], limit=500, epsabs=0)[0]
        got = float(likelihood.predictive(np.array([y]), np.zeros(1), np.array([v]))[0])
        assert got == pytest.approx(np.log(expected), abs=1e-6)


def test_predictive_far_out_is_finite():
    y = np.array([1e150, -1e150, 1e8])
    for df in (1.0, 3.0, 100.0):
        likelihood = Student(df)
        said = likelihood.predictive(y, np.zeros(3), np.ones(3))
        np.testing.assert_allclose(said, likelihood.log_prob(y, np.zeros(3)), rtol=1e-6)
        assert np.isfinite(
            [*likelihood.evaluate(y, np.zeros(3)), likelihood.squares(y, np.zeros(3))]
        ).all()


@pytest.mark.parametrize("likelihood", [Gaussian(2.0), Student(2.5, 2.0), Student(40.0, 0.1)], ids=repr)
def test_interval_holds_what_it_says(likelihood):
    rng, v = np.random.default_rng(0), 0.7
    drawn = likelihood.sample(np.sqrt(v) * rng.normal(size=200_000), rng)
    for coverage in (0.5, 0.9, 0.99):
        half = likelihood.half_width(np.array([v]), coverage)
        inside = np.mean(np.abs(drawn) < half)
        assert inside == pytest.approx(coverage, abs=4 * np.sqrt(coverage * (1 - coverage) / 200_000))
    alone = likelihood.half_width(np.zeros(1), 2 * stats.norm.cdf(2.0) - 1)
    assert 2 * np.sqrt(likelihood.variance) == pytest.approx(float(alone[0]), rel=1e-6)


@pytest.mark.parametrize("df", [3.0, 8.0])
def test_refit_is_the_maximum(df):
    y = np.random.default_rng(1).standard_t(df, size=400)
    none, one = np.zeros(400), np.ones(400)
    found = Student().refit(y, none, one, 1)
    best = found.log_prob(y, none).sum()
    for other in (
        Student(1.02 * found.df, found.noise),
        Student(0.98 * found.df, found.noise),
        Student(found.df, 1.02 * found.noise),
        Student(found.df, 0.98 * found.noise),
    ):
        assert other.log_prob(y, none).sum() < best
    again = found.refit(y, none, one, 1)
    assert (again.df, again.noise) == (found.df, found.noise)


def test_refit_has_no_units_and_survives_equal_targets():
    y = np.random.default_rng(2).standard_t(3, size=60)
    one, none = np.ones(60), np.zeros(60)
    for unit in (1e-60, 1e60):
        found, scaled = (Student().refit(u * y, none, one, 1) for u in (1.0, unit))
        assert scaled.noise == pytest.approx(unit**2 * found.noise, rel=1e-6)
        assert scaled.df == pytest.approx(found.df, rel=1e-6)
    for target in (0.0, 3.0):
        same = np.full(60, target)
        for f in (none, same):
            found = Student().refit(same, f, one, 1)
            assert found.noise > 0
            assert np.isfinite(found.log_prob(same, f)).all()


def test_refit_counts_with_and_without_estimates():
    y, none, one = np.arange(20.0), np.zeros(20), np.ones(20)
    assert Student(3.0, estimate_df=False).refit(y, none, one, 1).df == 3.0
    held = Student(3.0, 0.5).hold()
    assert held.refit(y, none, one, 1) is held
    # So many columns pass through some of the targets, and the others are no outliers for that.
    cauchy = np.random.default_rng(0).standard_cauchy(100)
    assert Student().refit(cauchy, 0 * cauchy, np.ones(100), 1).df == 2.5
    assert Student().refit(cauchy, 0 * cauchy, np.ones(100), 30).df == 4.0


def test_parameters_may_change():
    likelihood, y, f = Student(), np.array([2.0]), np.zeros(1)
    likelihood.log_prob(y, f), likelihood.variance
    likelihood.set_params(df=9.0, noise=0.3)
    other = Student(9.0, 0.3)
    assert likelihood.log_prob(y, f) == other.log_prob(y, f)
    assert likelihood.variance == other.variance


def test_median_takes_a_weight_for_repetitions():
    rng = np.random.default_rng(0)
    values, weight = rng.normal(size=31), rng.integers(1, 4, size=31)
    assert median(values, weight.astype(float)) == pytest.approx(np.median(np.repeat(values, weight)))


@pytest.mark.parametrize("df", [-1.0, 0.0, "four"])
def test_nonsense_is_refused(df):
    with pytest.raises(ValueError, match="df must be a positive number"):
        SparseBayesRegressor(likelihood=Student(df)).fit(np.eye(5), np.arange(5.0))


# ---- the solvers ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("solver", "prior"),
    [
        (EM(), Jeffreys(1.0)),
        (Newton(), Jeffreys(1.0)),
        (Newton(), GeneralizedGaussian(0.5, 1.0)),
        (Proximal(), Laplace(3.0)),
    ],
    ids=repr,
)
def test_objective_rises_to_where_the_slope_is_zero(solver, prior):
    X, y, coef = sparse_truth(11, p=12)
    problem = Problem(DenseDesign(X), y, Student(), prior, np.ones(150), True)
    answer = solve(problem, solver, max_iter=5000, tol=1e-12)
    assert answer.status.converged
    objective = np.array([record.objective for record in answer.history])
    assert (np.diff(objective) >= -1e-9 * np.abs(objective[1:])).all()
    kept = answer.state.w != 0
    w, Phi = answer.state.w[kept], X[:, answer.active[kept]]
    slope, _ = answer.state.likelihood.derivatives(y, Phi @ w + answer.state.b)
    np.testing.assert_allclose(slope @ Phi, w / prior.variance(w**2), atol=2e-3)
    assert abs(slope.sum()) < 2e-3
    assert set(np.flatnonzero(coef)) <= set(answer.active[kept])


def test_a_wild_target_hardly_pulls():
    X, y, _ = sparse_truth(12, wild=0.0)
    model = SparseBayesRegressor(likelihood="student").fit(X, y)
    for size in (1e3, 1e30):
        y[3] = size
        other = SparseBayesRegressor(likelihood="student").fit(X, y)
        np.testing.assert_allclose(other.coef_, model.coef_, atol=0.05)


# ---- the estimators -------------------------------------------------------------------------


def test_sparse_truth_among_outliers():
    found, lost = [], []
    for seed in range(300, 306):
        X, y, coef = sparse_truth(seed)
        model = SparseBayesRegressor(likelihood="student").fit(X, y)
        plain = SparseBayesRegressor().fit(X, y)
        found.append(set(model.relevance_) == set(np.flatnonzero(coef)))
        lost.append([np.linalg.norm(each.coef_ - coef) for each in (model, plain)])
    assert np.mean(found) >= 5 / 6
    robust, plain = np.mean(lost, axis=0)
    assert robust < 0.4 * plain


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [
        lambda noise: SparseBayesRegressor(kernel="rbf", gamma=0.2, likelihood=noise),
        lambda noise: SparseBayesRegressor("laplace", kernel="rbf", gamma=0.2, likelihood=noise),
        lambda noise: RVMRegressor(kernel="rbf", gamma=0.2, likelihood=noise),
        lambda noise: RVMRegressor(kernel="rbf", gamma=0.2, inference="variational", likelihood=noise),
        lambda noise: LaconicRegressor(likelihood=noise),
    ],
    ids=["jeffreys", "laplace", "sequential", "variational", "flagship"],
)
def test_outliers_cost_little_and_nothing_is_lost_without(make):
    wild, clean, plain = [], [], []
    for seed in range(400, 404):
        X, y, without = sinc(seed, wild=0.1)
        wild.append(error(make("student").fit(X, y)))
        clean.append([error(make(noise).fit(X, without)) for noise in ("student", "gaussian")])
        plain.append(error(make("gaussian").fit(X, y)))
    student, gaussian = np.mean(clean, axis=0)
    assert student < 1.03 * gaussian
    assert np.mean(wild) < 0.5 * np.mean(plain)
    assert np.mean(wild) < 1.35 * gaussian  # a tenth of the rows say nothing


def test_search_is_judged_by_its_own_density():
    X, y, _ = sinc(500, wild=0.1, n=100)
    settings = {"kernel": "rbf", "shapes": [0.5, 2.0], "gammas": [0.05, 0.2, 5.0], "cv": 5}
    robust = SparseBayesRegressorCV(likelihood="student", **settings).fit(X, y)
    plain = SparseBayesRegressorCV(**settings).fit(X, y)
    assert error(robust) < 0.6 * error(plain)
    low, high = robust.predict_interval(GRID, 0.9)
    assert (low < robust.predict(GRID)).all()
    assert (robust.predict(GRID) < high).all()
    np.testing.assert_array_equal(
        robust.log_density(GRID, TRUTH), robust.best_estimator_.log_density(GRID, TRUTH)
    )


@pytest.mark.slow
@pytest.mark.parametrize("kind", [SparseBayesRegressor, RVMRegressor, LaconicRegressor])
def test_intervals_are_honest(kind):
    X, y, _ = sinc(501, wild=0.1, n=300)
    new, target, _ = sinc(502, wild=0.1, n=2000)
    settings = {} if kind is LaconicRegressor else {"kernel": "rbf", "gamma": 0.2}
    model = kind(likelihood="student", **settings).fit(X, y)
    for coverage in (0.5, 0.8, 0.9):
        low, high = model.predict_interval(new, coverage)
        assert np.mean((low < target) & (target < high)) == pytest.approx(coverage, abs=0.06)
    plain = kind(likelihood="gaussian", **settings).fit(X, y)
    assert model.log_density(new, target).mean() > plain.log_density(new, target).mean() + 0.2


def test_density_and_interval_of_gaussian_noise_are_those_of_the_deviation():
    X, y, _ = sinc(503)
    model = SparseBayesRegressor(kernel="rbf").fit(X, y)
    mean, std = model.predict_dist(GRID)
    np.testing.assert_allclose(model.log_density(GRID, TRUTH), stats.norm.logpdf(TRUTH, mean, std))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.log_density(GRID, TRUTH[:1])
    with pytest.raises(ValueError, match="should be a 1d array"):
        model.log_density(GRID, np.column_stack([TRUTH, TRUTH]))
    low, high = model.predict_interval(GRID, 0.6827)
    np.testing.assert_allclose((high - low) / 2, std, rtol=1e-4)
    with pytest.raises(ValueError, match="coverage must be a number between 0 and 1"):
        model.predict_interval(GRID, 1.5)


def test_grid_of_features_with_outliers():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(120, 4, 5))
    truth = 2 * X[:, 1, 2] - X[:, 1, 3]
    y = truth + 0.1 * rng.normal(size=120)
    y[::12] += 10.0
    lost = [
        np.mean((GridRVMRegressor(likelihood=noise).fit(X, y).predict(X) - truth) ** 2)
        for noise in ("student", "gaussian")
    ]
    assert lost[0] < 0.05 * lost[1]


# ---- the flagship ---------------------------------------------------------------------------


@pytest.mark.slow
def test_auto_takes_the_noise_that_rows_left_out_ask_for():
    X, y, clean = sinc(600, wild=0.1)
    wild, student = (LaconicRegressor(likelihood=noise).fit(X, y) for noise in ("auto", "student"))
    assert isinstance(wild.likelihoods_[0], Student)
    means = [each.reference_[0].latent(GRID)[0] for each in (wild, student)]
    np.testing.assert_allclose(*means, atol=1e-3)
    calm, gaussian = (LaconicRegressor(likelihood=noise).fit(X, clean) for noise in ("auto", "gaussian"))
    assert isinstance(calm.likelihoods_[0], Gaussian)
    np.testing.assert_allclose(calm.predict(GRID), gaussian.predict(GRID))


def test_status_says_where_student_should_be_tried():
    X, y, clean = sinc(601, wild=0.1)
    model = LaconicRegressor(likelihood="gaussian")
    assert "likelihood='student'" in str(model.fit(X, y).status_)
    assert "likelihood='student'" not in str(model.fit(X, clean).status_)


def test_calibrated_noise_fits_left_out_targets_best():
    rng = np.random.default_rng(604)
    y, v, weight = 0.5 * rng.standard_t(4.0, size=4_000), np.full(4_000, 0.01), np.ones(4_000)
    found = Student(noise=1.0).calibrated(y, np.zeros(4_000), v, weight)
    assert found.df == pytest.approx(4.0, rel=0.25)
    assert found.noise == pytest.approx(0.25, rel=0.1)
    best = weight @ found.predictive(y, np.zeros(4_000), v)
    for df, noise in ((1.2, 1.0), (0.8, 1.0), (1.0, 1.1), (1.0, 0.9)):
        other = Student(df=found.df * df, noise=found.noise * noise)
        assert weight @ other.predictive(y, np.zeros(4_000), v) < best
    fixed = Student(df=3.0, noise=2.0, estimate=False)
    assert fixed.calibrated(y, np.zeros(4_000), v, weight) is fixed
    held = Student(df=3.0, estimate_df=False).calibrated(y, np.zeros(4_000), v, weight)
    assert held.df == 3.0
    larger = Student(noise=100.0).calibrated(10 * y, np.zeros(4_000), 100 * v, weight)  # other units
    assert larger.df == pytest.approx(found.df, rel=1e-12)
    assert larger.noise == pytest.approx(100 * found.noise, rel=1e-12)
    zero = np.zeros(20)
    exact = Student().calibrated(zero, zero, zero, np.ones(20))  # no residual at all
    assert 0 < exact.noise < 0.01


@pytest.mark.slow
def test_flagship_on_features_finds_them_among_outliers():
    X, y, coef = sparse_truth(602)
    model = LaconicRegressor(None, likelihood="student").fit(X, y)
    assert set(np.flatnonzero(coef)) <= set(model.relevance_)
    assert np.linalg.norm(model.coef_ - coef) < 0.25


@pytest.mark.slow
def test_weight_two_is_a_row_written_twice():
    X, y, _ = sinc(603, wild=0.1, n=60)
    weight = np.where(np.arange(60) % 3 == 0, 2.0, 1.0)
    twice = np.repeat(np.arange(60), weight.astype(int))
    for model in (
        LaconicRegressor(likelihood="student"),
        SparseBayesRegressor(kernel="rbf", gamma=0.2, likelihood="student"),
        RVMRegressor(kernel="rbf", gamma=0.2, likelihood="student"),
    ):
        weighted = model.fit(X, y, sample_weight=weight).predict(GRID)
        repeated = model.fit(X[twice], y[twice]).predict(GRID)
        np.testing.assert_allclose(weighted, repeated, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("kind", [LaconicRegressor, RVMRegressor, SparseBayesRegressor])
def test_in_another_runtime(kind):
    runtime = pytest.importorskip("onnxruntime")
    X, y, _ = sinc(605, wild=0.1, n=80)
    settings = {} if kind is LaconicRegressor else {"kernel": "rbf", "gamma": 0.2}
    model = kind(likelihood="student", **settings).fit(X, y)
    session = runtime.InferenceSession(to_onnx(model).SerializeToString())
    mean, std = session.run(["mean", "std"], {session.get_inputs()[0].name: GRID})
    np.testing.assert_allclose(np.ravel(mean), model.predict(GRID), atol=1e-9)
    np.testing.assert_allclose(np.ravel(std), model.predict_dist(GRID)[1], rtol=1e-7)


def test_saved_and_loaded(tmp_path):
    X, y, _ = sinc(604, wild=0.1, n=80)
    model = LaconicRegressor(likelihood="student").fit(X, y)
    save(model, tmp_path / "model.skops")
    other = load(tmp_path / "model.skops")
    for one, two in zip(model.predict_interval(GRID), other.predict_interval(GRID), strict=True):
        np.testing.assert_array_equal(one, two)
