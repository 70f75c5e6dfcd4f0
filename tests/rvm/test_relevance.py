"""Relevance vector machines against explicit matrices, finite differences and each other."""

from dataclasses import replace

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.special import log_ndtr
from sklearn.base import clone
from sklearn.linear_model import ARDRegression
from threadpoolctl import threadpool_limits

import reference_rvm as naive
from laconism import GridRVMClassifier, GridRVMRegressor, RVMClassifier, RVMRegressor
from laconism.datasets import make_grid, make_ripley, make_sinc
from laconism.design import DenseDesign, FactoredDesign, SparseDesign, factored
from laconism.design.build import _Recent
from laconism.laplace.first_precision import first_precision, own_precisions
from laconism.laplace.mode import find_mode
from laconism.likelihoods import Gaussian, Logistic, Probit
from laconism.linalg import Quadratic, ridge, ridge_dual, ridge_primal
from laconism.priors import Jeffreys
from laconism.rvm import maximize_precisions as _settle
from laconism.rvm import top_down as _top_down
from laconism.rvm.bottom_up import _dissimilar, evidence_gains
from laconism.rvm.evidence import TopDownEvidence
from laconism.rvm.maximize_precisions import LocalEvidence, maximize_precisions
from laconism.rvm.qr_compress import qr_compress
from laconism.rvm.rprop import RpropStep
from laconism.rvm.sequential import Sequential
from laconism.rvm.variational import Variational
from laconism.rvm.variational_state import VariationalState
from laconism.solvers import Problem, solve

LIKELIHOODS = {
    "gaussian": Gaussian(),
    "fixed": Gaussian(0.3, estimate=False),
    "logistic": Logistic(),
    "probit": Probit(),
}
COMBINE = ["product", "sum"]
GRIDS = [(7,), (3, 4), (2, 3, 2), (2, 2, 2, 2)]
some = settings(max_examples=30, deadline=None, derandomize=True)
few = settings(max_examples=15, deadline=None, derandomize=True)
seeds = st.integers(0, 10_000)


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """Matrices are small here: more threads only wait for each other."""
    with threadpool_limits(1):
        yield


def ask(kind, n, p, *, intercept=True, seed=0, noise=0.3, weight=None, scale=1.0):
    """Return a problem in which every fourth column or so matters; columns have scales of their own."""
    rng = np.random.default_rng(seed)
    Phi = rng.normal(size=(n, p)) * 10 ** (scale * rng.uniform(-1, 1, size=p))
    f = Phi @ (rng.normal(size=p) * (rng.uniform(size=p) < 0.25))
    f = f / max(f.std(), 0.1) + 0.5
    if kind in ("gaussian", "fixed"):
        y = f + noise * rng.normal(size=n)
    else:
        y = np.where(f + noise * rng.logistic(size=n) > 0, 1.0, -1.0)
        y[:2] = 1.0, -1.0
    weight = {
        None: np.ones(n),
        "counts": rng.integers(1, 4, size=n).astype(float),
        "uneven": rng.uniform(0.1, 3.0, size=n),
    }[weight]
    return Problem(DenseDesign(Phi), y, LIKELIHOODS[kind], Jeffreys(), weight, intercept)


def coordinate_ascent(problem, solver, *, max_iter=60, tol=1e-12):
    """Return the answer and its objectives, that of the start included."""
    first = solver.init(problem).objective
    answer = solve(problem, solver, max_iter=max_iter, tol=tol)
    return answer, np.array([first, *(record.objective for record in answer.history)])


def worst_drop(objectives):
    """Return the largest drop from one step to the next, as a part of the objective (at least 1 nat)."""
    return float(np.max(-np.diff(objectives) / np.maximum(np.abs(objectives[:-1]), 1.0), initial=0.0))


# ---- 1. the bound never drops --------------------------------------------------------------------


@st.composite
def questions(draw):
    modes = draw(st.integers(1, 4))
    grid = tuple(draw(st.integers(1, (30, 8, 5, 4)[modes - 1])) for _ in range(modes))
    problem = ask(
        draw(st.sampled_from(sorted(LIKELIHOODS))),
        draw(st.integers(3, 50)),
        int(np.prod(grid)),
        intercept=draw(st.booleans()),
        seed=draw(seeds),
        noise=draw(st.sampled_from([0.2, 1.0])),
        weight=draw(st.sampled_from([None, "counts", "uneven"])),
    )
    shape, rate = draw(st.sampled_from([(1e-12, 1e-12), (1e-2, 1e-2), (1.0, 0.1)]))
    return problem, Variational(grid, draw(st.sampled_from(COMBINE)), shape=shape, rate=rate)


@pytest.mark.parametrize("method", ["fast", "vb"])
@given(questions())
@some
def test_the_bound_never_drops(method, question):
    problem, solver = question
    answer, objectives = coordinate_ascent(problem, solver.set_params(solver=method), max_iter=40)
    assert np.isfinite(objectives).all()
    assert worst_drop(objectives) <= 1e-9
    assert np.isfinite(answer.state.w).all()


@pytest.mark.parametrize("method", ["fast", "vb"])
@pytest.mark.parametrize("kind", LIKELIHOODS)
@pytest.mark.parametrize("combine", COMBINE)
@pytest.mark.parametrize("n", [8, 60], ids=["wide", "tall"])
def test_the_bound_never_drops_wide_or_tall(n, combine, kind, method):
    problem = ask(kind, n, 24, weight="uneven", seed=3)
    _, objectives = coordinate_ascent(problem, Variational((4, 6), combine, method), max_iter=100)
    assert worst_drop(objectives) <= 1e-9
    assert objectives[-1] > objectives[0]


@pytest.mark.parametrize("method", ["fast", "vb"])
@pytest.mark.parametrize("seed", range(3))
def test_the_bound_never_drops_where_the_noise_is_small(seed, method):
    """Weak columns are learnt late, when the noise is already below the floor of a starved model."""
    rng = np.random.default_rng(seed)
    Phi = rng.normal(size=(30, 17))
    y = Phi @ np.r_[np.ones(5), 0.01 * np.ones(12)] + 1e-4 * rng.normal(size=30)
    problem = Problem(DenseDesign(Phi), y, Gaussian(), Jeffreys(), np.ones(30), True)
    _, objectives = coordinate_ascent(problem, Variational(solver=method))
    assert worst_drop(objectives) <= 1e-9


@pytest.mark.parametrize("kind", ["gaussian", "logistic"])
@pytest.mark.parametrize("method", ["fast", "vb"])
def test_the_bound_never_drops_on_sparse_and_factored_designs(method, kind):
    rng = np.random.default_rng(5)
    G, C = rng.normal(size=(4, 30)), rng.normal(size=(4, 24))
    thin = rng.normal(size=(30, 24)) * (rng.uniform(size=(30, 24)) < 0.2)
    y = np.where(G[0] > 0, 1.0, -1.0) + (0.0 if kind == "logistic" else 0.3) * rng.normal(size=30)
    for design in (FactoredDesign(G, C, lambda i: G.T @ C[:, i]), SparseDesign(csr_array(thin))):
        problem = Problem(design, y, LIKELIHOODS[kind], Jeffreys(), np.ones(30), True)
        for combine in COMBINE:
            _, objectives = coordinate_ascent(problem, Variational((4, 6), combine, method))
            assert worst_drop(objectives) <= 1e-9


# ---- 2. the bound is the bound, and the updates are the paper's -------------------------------------


def naive_bound(problem, state):
    """Return the bound at our q(w), q(alpha), and what an explicit inverse says of q(w) itself."""
    Phi = problem.design.matrix[:, state.columns]
    D = naive.with_ones(Phi, problem.intercept)
    gammas = list(zip(state.precisions.a, state.precisions.b, strict=True))
    A = naive.precisions(gammas, state.precisions.combine).ravel()
    P = D.T @ (state.r[:, None] * D) + np.diag(np.r_[A, np.zeros(int(problem.intercept))])
    Sigma = naive.inverse(P)
    mu = np.r_[state.mean.ravel(), [state.b] * problem.intercept]
    m, v = D @ mu, np.einsum("ij,jk,ik->i", D, Sigma, D)
    prior = state.precisions.shape0, state.precisions.rate0
    arguments = (Phi, problem.y, mu, Sigma, gammas, state.precisions.combine)
    if isinstance(problem.likelihood, Probit):  # the rows by hand, the rest from the reference
        rows = log_ndtr(problem.y * m) - v / 2
        rest = naive.grid_bound(
            *arguments, "gaussian", *prior, 1.0, problem.intercept, np.zeros(len(problem.y))
        )
        return problem.weight @ rows + rest, m, v
    if isinstance(problem.likelihood, Logistic):
        local = ("logistic", *prior, np.sqrt(m**2 + v))
    else:
        local = ("gaussian", *prior, state.likelihood.noise)
    return naive.grid_bound(*arguments, *local, problem.intercept, problem.weight), m, v


@pytest.mark.parametrize("grid", GRIDS, ids=str)
@pytest.mark.parametrize("combine", COMBINE)
@pytest.mark.parametrize("kind", LIKELIHOODS)
@pytest.mark.parametrize("n", [9, 40], ids=["wide", "tall"])
def test_the_bound_is_the_naive_one_with_all_constants(n, kind, combine, grid):
    for intercept in (False, True):
        problem = ask(kind, n, int(np.prod(grid)), intercept=intercept, weight="uneven", seed=n)
        for method, shape, rate in (("vb", 1e-12, 1e-12), ("vb", 0.5, 0.2), ("fast", 1e-3, 1e-3)):
            solver = Variational(grid, combine, method, shape, rate)
            state = solver.init(problem)
            for _ in range(4):
                value, m, v = naive_bound(problem, state)
                assert state.objective + state.offset == pytest.approx(value, rel=1e-8)
                np.testing.assert_allclose(state.m, m, rtol=1e-8, atol=1e-8)
                np.testing.assert_allclose(state.v, v, rtol=1e-7, atol=1e-10)
                state = solver.step(problem, state)


def naive_sweeps(problem, solver, sweeps):
    """Run the reference from where our solver starts."""
    empty = problem.empty()
    A, modes = first_precision(problem, empty), len(solver.grid)
    mean = A ** (1 / modes) if solver.combine == "product" else A / modes
    start = [mean] * modes
    if modes == 1:  # every column as if all were in its units
        Phi, share = problem.design.matrix, problem.weight / problem.weight.sum()
        away = Phi - share @ Phi if problem.intercept else Phi
        start = [Phi.shape[1] * (share @ empty.curvature) * (share @ away**2)]
    return naive.naive_grid_vb(
        problem.design.matrix,
        problem.y,
        solver.grid,
        solver.combine,
        "gaussian" if isinstance(problem.likelihood, Gaussian) else "logistic",
        solver.shape,
        solver.rate / mean,
        start,
        sweeps,
        problem.intercept,
        noise=getattr(empty.likelihood, "noise", None),
        weight=problem.weight,
        estimate=getattr(empty.likelihood, "estimate", None),
        xi=np.sqrt(empty.f**2 + 1 / empty.curvature),
    )


@pytest.mark.parametrize("grid", GRIDS, ids=str)
@pytest.mark.parametrize("kind", ["gaussian", "fixed", "logistic"])
@pytest.mark.parametrize("intercept", [False, True])
def test_vb_of_a_product_is_the_papers_sweep_by_sweep(intercept, kind, grid):
    problem = ask(kind, 25, int(np.prod(grid)), intercept=intercept, weight="uneven", seed=1)
    solver = Variational(grid, "product", "vb", shape=1e-3, rate=1e-3)
    state = solver.init(problem)
    for sweep in range(1, 31):
        if sweep in (1, 2, 5, 30):
            theirs = naive_sweeps(problem, solver, sweep)
            if kind == "logistic":  # the reference has the noise after the sweep, we before it
                assert state.objective == pytest.approx(theirs.bounds[-1], rel=1e-8)
            np.testing.assert_allclose(state.w, theirs.mu[: state.w.size], rtol=1e-6, atol=1e-9)
            means = naive.expected_alpha(theirs.gammas)
            after = solver.step(problem, state)
            for ours, other in zip(after.precisions.means, means, strict=True):
                np.testing.assert_allclose(ours, other, rtol=1e-6)
            if kind == "gaussian":
                assert after.likelihood.noise == pytest.approx(theirs.local, rel=1e-8)
        state = solver.step(problem, state)


@pytest.mark.parametrize("combine", COMBINE)
@pytest.mark.parametrize("grid", GRIDS, ids=str)
@pytest.mark.parametrize("kind", ["gaussian", "logistic"])
def test_vb_ends_at_the_papers_bound(kind, grid, combine):
    """Ours settles the shares of the sum within a sweep, the paper's one round at a time: same end."""
    problem = ask(kind, 30, int(np.prod(grid)), weight="counts", seed=2, scale=0.3)
    solver = Variational(grid, combine, "vb", shape=0.5, rate=0.5)
    answer, objectives = coordinate_ascent(problem, solver, max_iter=250, tol=0.0)
    theirs = naive_sweeps(problem, solver, objectives.size if combine == "product" else 400)
    assert objectives[-1] == pytest.approx(theirs.bounds[-1], rel=1e-8, abs=1e-7)
    np.testing.assert_allclose(answer.state.w, theirs.mu[:-1], rtol=0, atol=1e-4)


# ---- 3. both methods have the same fixed points ------------------------------------------------------


@pytest.mark.parametrize("grid", GRIDS[:3], ids=str)
@pytest.mark.parametrize("combine", COMBINE)
@pytest.mark.parametrize("kind", ["gaussian", "logistic", "probit"])
def test_the_papers_update_stays_where_the_fast_one_ends(kind, combine, grid):
    """A mode of the sum that is switched off (parts in 1e6 of any precision) may go on falling."""
    problem = ask(kind, 40, int(np.prod(grid)), weight="uneven", seed=4)
    for shape, rate in ((1e-12, 1e-12), (0.1, 0.1)):
        solver = Variational(grid, combine, shape=shape, rate=rate)
        state = solve(problem, solver, max_iter=1000, tol=1e-15).state
        after = state.precisions.variational(state.second_moment)
        np.testing.assert_allclose(after.precision, state.precisions.precision, rtol=1e-4)
        off = 1e-6 * state.precisions.precision.min() * (combine == "sum")
        for old, new in zip(state.precisions.means, after.means, strict=True):
            np.testing.assert_allclose(new, old, rtol=1e-4, atol=off)


@pytest.mark.parametrize("combine", COMBINE)
@pytest.mark.parametrize("kind", ["gaussian", "logistic", "probit"])
def test_both_methods_end_at_the_same_bound_where_nothing_is_dropped(kind, combine):
    problem = ask(kind, 40, 12, seed=6, scale=0.3)
    ends = {}
    for method in ("fast", "vb"):
        solver = Variational((3, 4), combine, method, shape=0.5, rate=0.5)
        answer, objectives = coordinate_ascent(problem, solver, max_iter=1000, tol=0.0)
        assert answer.state.precisions.grid == (3, 4)
        ends[method] = objectives[-1], answer.state.w
    assert ends["fast"][0] == pytest.approx(ends["vb"][0], rel=1e-9)
    np.testing.assert_allclose(ends["fast"][1], ends["vb"][1], rtol=0, atol=1e-5)


# ---- 4. dual = primal = explicit inverses ------------------------------------------------------------


@pytest.mark.parametrize("kind", ["logistic", "probit"])
def test_predictions_have_the_curvature_of_the_likelihood_not_of_its_bound(kind):
    problem = ask(kind, 60, 8, weight="counts")
    state = solve(problem, Variational(), max_iter=200, tol=1e-8).state
    _, _, curvature = problem.likelihood.evaluate(problem.y, state.m)
    D = naive.with_ones(problem.design.matrix[:, state.columns], True)
    r = problem.weight * curvature
    Sigma = naive.inverse(D.T @ np.diag(r) @ D + np.diag(np.r_[state.precisions.precision.ravel(), 0]))
    posterior, design = state.posterior, problem.keep(state.columns).design
    v = posterior.latent_variance(design, r)
    np.testing.assert_allclose(v, np.einsum("ij,jk,ik->i", D, Sigma, D), rtol=1e-6)
    assert (v > state.v).all()  # the bound is surer than the likelihood
    np.testing.assert_array_equal(posterior.weights, state.ridge.weights)


def test_with_gaussian_noise_the_posterior_is_q():
    state = solve(ask("gaussian", 60, 8), Variational(), max_iter=200, tol=1e-8).state
    assert state.posterior is state.ridge


def test_a_precision_goes_faster_ahead_and_slower_when_it_turns():
    pace = RpropStep.first(np.array([1.0, -1.0, 1.0]))
    assert (pace.multiple == 1).all()
    pace = pace.next(np.array([0.5, 0.5, 0.0])).keep(np.array([0, 1]))
    assert pace.multiple[0] > 1 > pace.multiple[1]
    for _ in range(20):
        pace = pace.next(-pace.change * [-1, 1])
    np.testing.assert_allclose(pace.multiple, [2.0, 0.7])


@pytest.mark.parametrize("combine", COMBINE)
def test_a_wide_grid_needs_few_passes_over_its_columns(combine, monkeypatch):
    """What a fit costs is the columns of all its solves; striking a slice at a time takes more."""
    X, y, _ = make_grid(150, (60, 25), relevant=(5, 3), kind="regression", random_state=1_006)
    seen, of = [], VariationalState.of.__func__

    def count(cls, problem, *args, **kwargs):
        seen.append(problem.design.shape[1] / 1_500)
        return of(cls, problem, *args, **kwargs)

    searches = []

    def search(*args, **kwargs):
        searches.append(args)
        return solve(*args, **kwargs)

    monkeypatch.setattr(VariationalState, "of", classmethod(count))
    monkeypatch.setattr("laconism.rvm.output.solve", search)
    model = GridRVMRegressor(combine=combine).fit(X, y)
    assert model.status_.converged
    assert len(searches) <= 4  # one that finds no noise, and others from above
    assert sum(seen) < 60 * len(searches)
    searches.clear()
    monkeypatch.setattr("laconism.model.noise_search._MAX_ENTRIES_TO_LOWER_NOISE", X.size - 1)
    assert GridRVMRegressor(combine=combine).fit(X, y).noise_variance_ >= model.noise_variance_
    assert len(searches) == 2


def designs(n, p, seed):
    """Return each kind of design beside its matrix."""
    rng = np.random.default_rng(seed)
    Phi = rng.normal(size=(n, p)) + 0.5
    thin = np.where(rng.uniform(size=(n, p)) < 0.3, Phi, 0.0)
    G, C = rng.normal(size=(3, n)), rng.normal(size=(3, p))
    return {
        "dense": (DenseDesign(Phi), Phi),
        "sparse": (SparseDesign(csr_array(thin)), thin),
        "factored": (FactoredDesign(G, C, lambda index: G.T @ C[:, index]), G.T @ C),
    }


@given(
    n=st.integers(2, 25),
    p=st.integers(1, 25),
    intercept=st.booleans(),
    decades=st.sampled_from([0.5, 2.0]),
    seed=seeds,
)
@few
def test_dual_and_primal_are_the_explicit_inverse(n, p, intercept, decades, seed):
    rng = np.random.default_rng(seed)
    r, z = rng.uniform(0.1, 4.0, size=n), rng.normal(size=n) + 1.0
    variance = 10 ** rng.uniform(-decades, decades, size=p)
    for name, (design, Phi) in designs(n, p, seed).items():
        D = naive.with_ones(Phi, intercept)
        H = D.T @ np.diag(r) @ D
        P = H + np.diag(np.r_[1 / variance, np.zeros(int(intercept))])
        Sigma = naive.inverse(P)
        mu = Sigma @ (D.T @ (r * z))
        root = np.sqrt(variance)
        centred = Phi - (r @ Phi / r.sum()) * intercept
        whole = np.eye(p) + np.outer(root, root) * (centred.T @ np.diag(r) @ centred)
        for solver in (ridge_primal, ridge_dual):
            answer = solver(design, r, z, variance, intercept=intercept)
            case = f"{name} {solver.__name__}"
            np.testing.assert_allclose(answer.weights, mu[:p], rtol=1e-8, atol=1e-8, err_msg=case)
            assert answer.intercept == pytest.approx(mu[p] if intercept else 0.0, rel=1e-8, abs=1e-8)
            well_determined = 1 - np.diag(Sigma)[:p] / variance
            np.testing.assert_allclose(
                answer.well_determined(), well_determined, rtol=1e-8, atol=1e-8, err_msg=case
            )
            assert answer.n_well_determined == pytest.approx(well_determined.sum(), rel=1e-8, abs=1e-8)
            assert answer.log_det == pytest.approx(naive.log_det(whole), rel=1e-8, abs=1e-8)
            v = np.einsum("ij,jk,ik->i", D, Sigma, D)
            ours = answer.latent_variance(design, r)
            np.testing.assert_allclose(ours, v, rtol=1e-8, atol=1e-8, err_msg=case)


def test_the_factored_dual_goes_through_the_directions_of_its_factor():
    design, _ = designs(20, 12, 0)["factored"]
    answer = ridge_dual(design, np.ones(20), np.arange(20.0), np.ones(12), intercept=True)
    assert answer.dual.shape == (4, 12)
    U = answer.rows()
    assert U.shape == (20, 4)
    np.testing.assert_allclose(U.T @ U, np.eye(4), atol=1e-12)


@pytest.mark.parametrize(
    ("least", "reflected"), [(1.0, False), (1e-4, False), (1e-12, True), (0.0, True)]
)
def test_the_factored_problem_keeps_its_digits_where_rows_have_no_weight(monkeypatch, least, reflected):
    made, rng = [], np.random.default_rng(0)
    G, C = rng.normal(size=(5, 40)), rng.normal(size=(5, 12))
    design = FactoredDesign(G, C, lambda index: (G.T @ C)[:, index])
    design.compress(np.ones(40), np.ones(40))
    monkeypatch.setattr(factored, "thin_qr", lambda A: made.append(A.shape) or np.linalg.qr(A))
    r, z = np.where(np.arange(40) < 4, 1.0, least), rng.normal(size=40)
    T, t, _, U = design.compress(r, z)
    assert bool(made) == reflected
    np.testing.assert_allclose(U().T @ U(), np.eye(6), atol=1e-9)
    np.testing.assert_allclose(T.T @ T, C.T @ (G * r) @ G.T @ C, atol=1e-12)
    np.testing.assert_allclose(T.T @ t, C.T @ (G @ (r * z)), atol=1e-12)


def test_all_sets_of_columns_share_one_basis_of_their_rows(monkeypatch):
    made = []
    monkeypatch.setattr(factored, "thin_qr", lambda A: made.append(A.shape) or np.linalg.qr(A))
    design, _ = designs(20, 12, 0)["factored"]
    for part in (design, design.keep(np.arange(9)), design.keep(np.arange(9)).keep(np.arange(7))):
        part.compress(np.ones(20), np.arange(20.0))
    assert made == [(20, 4)]


def test_the_full_model_is_left_without_the_last_digits_of_its_weights(monkeypatch):
    X, y = make_ripley(320, random_state=1)
    solved, compress = [], FactoredDesign.compress
    monkeypatch.setattr(FactoredDesign, "compress", lambda *args: solved.append(1) or compress(*args))
    evidence, count = [], []
    for gain in (_top_down._ROUGH_NATS, 1e-16):
        monkeypatch.setattr(_top_down, "_ROUGH_NATS", gain)
        solved.clear()
        model = RVMClassifier(gamma=2.0, inference="evidence").fit(X, y)
        evidence.append(model.history_[-1].objective)
        count.append(len(solved))
    assert count[0] < 0.85 * count[1]
    assert evidence[0] == pytest.approx(evidence[1], abs=0.02)


def test_calm_updates_do_without_the_rows(monkeypatch):
    X, y = make_ripley(320, random_state=1)
    evidence, steps = [], []
    for updates in (_top_down._MAX_UPDATES_PER_CURVATURE, 1):
        monkeypatch.setattr(_top_down, "_MAX_UPDATES_PER_CURVATURE", updates)
        model = RVMClassifier(gamma=2.0, inference="evidence").fit(X, y)
        evidence.append(model.history_[-1].objective)
        steps.append(model.n_iter_)
    assert steps[0] < steps[1]
    assert evidence[0] == pytest.approx(evidence[1], abs=0.02)


def test_very_many_columns_begin_with_those_at_even_steps(monkeypatch):
    X, y = make_ripley(320, random_state=1)
    whole = RVMClassifier(gamma=2.0, inference="evidence").fit(X, y)
    monkeypatch.setattr(_top_down, "_ENOUGH", 150)
    part = RVMClassifier(gamma=2.0, inference="evidence").fit(X, y)
    assert part.history_[0].active <= 107 < whole.history_[0].active  # every third of 320
    assert (part.relevance_ % 3).any()  # the others come in later
    assert part.history_[-1].objective == pytest.approx(whole.history_[-1].objective, abs=1.0)


# ---- 5. the evidence ---------------------------------------------------------------------------------


def all_alphas(state):
    """Return the precision of every column, infinite where it is out."""
    alpha = np.full(state.w.size, np.inf)
    alpha[state.active] = state.mode.alpha
    return alpha


def naive_evidence(problem, state):
    """Return the reference's log evidence at our precisions; a row of weight k is k rows."""
    rows = np.repeat(np.arange(len(problem.y)), problem.weight.astype(int))
    Phi, y, alpha = problem.design.matrix[rows], problem.y[rows], all_alphas(state)
    if isinstance(problem.likelihood, Logistic):
        return naive.laplace_log_evidence(Phi, y, alpha, problem.intercept)
    return naive.log_evidence_gaussian(Phi, y, alpha, state.likelihood.noise, problem.intercept)


TOP = {"max_iter": 200, "tol": 1e-9}


@pytest.mark.parametrize("solver", [Sequential(), TopDownEvidence()], ids=["sequential", "evidence"])
@pytest.mark.parametrize("kind", ["gaussian", "fixed", "logistic"])
@pytest.mark.parametrize("shape", [(60, 10), (15, 40)], ids=["tall", "wide"])
def test_the_objective_is_the_log_evidence(shape, kind, solver):
    for seed in range(3):
        for intercept in (False, True):
            weight = None if kind == "gaussian" and shape[0] < shape[1] else "counts"
            problem = ask(kind, *shape, intercept=intercept, weight=weight, seed=seed)
            state = solve(problem, solver, **TOP).state
            assert state.objective == pytest.approx(naive_evidence(problem, state), rel=1e-8)
            first = solver.init(problem)
            assert first.objective == pytest.approx(naive_evidence(problem, first), rel=1e-8)


@pytest.mark.parametrize("intercept", [False, True])
def test_the_log_evidence_of_next_to_no_noise(intercept):
    """Rows that repeat themselves exactly: the noise is at its floor, and doubles lose four digits."""
    problem = ask("gaussian", 10, 20, intercept=intercept, weight="counts")
    state = solve(problem, Sequential(), **TOP).state
    assert state.likelihood.noise < 1e-9
    rows = np.repeat(np.arange(10), problem.weight.astype(int))
    with mpmath.workdps(50):
        Phi = mpmath.matrix(problem.design.matrix[np.ix_(rows, state.active)].tolist())
        y, one = mpmath.matrix(problem.y[rows].tolist()), mpmath.ones(rows.size, 1)
        C = Phi * mpmath.diag([1 / mpmath.mpf(a) for a in state.mode.alpha]) * Phi.T
        C += mpmath.mpf(state.likelihood.noise) * mpmath.eye(rows.size)
        inverse = C**-1
        value = -(rows.size * mpmath.log(2 * mpmath.pi) + mpmath.log(mpmath.det(C))) / 2
        value -= (y.T * inverse * y)[0] / 2
        if intercept:
            total = (one.T * inverse * one)[0]
            value += (one.T * inverse * y)[0] ** 2 / total / 2 + mpmath.log(2 * mpmath.pi / total) / 2
        assert state.objective == pytest.approx(float(value), rel=1e-8)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_the_evidence_is_at_its_maximum(seed, intercept):
    problem = ask("gaussian", 40, 6, intercept=intercept, seed=seed, scale=0.3)
    _, _, best = naive.maximise_evidence_gaussian(problem.design.matrix, problem.y, intercept, starts=4)
    for solver in (Sequential(), TopDownEvidence()):
        state = solve(problem, solver, **TOP).state
        assert abs(state.objective - best) <= 1e-3 * max(1.0, abs(best))


@pytest.mark.parametrize("kind", ["gaussian", "logistic", "probit"])
@pytest.mark.parametrize("seed", range(6))
def test_sequential_and_evidence_agree_on_features(seed, kind):
    problem = ask(kind, 80, 12, seed=seed, scale=0.3)
    up, down = (solve(problem, solver, **TOP).state for solver in (Sequential(), TopDownEvidence()))
    assert up.objective == pytest.approx(down.objective, rel=1e-3)
    assert set(up.active) == set(down.active)
    np.testing.assert_allclose(up.w, down.w, rtol=0, atol=5e-2 * np.abs(up.w).max())


@pytest.mark.parametrize("seed", range(3_000, 3_004))
@pytest.mark.parametrize("n", [50, 100])
@pytest.mark.parametrize("kind", ["sinc", "ripley"])
def test_sequential_and_evidence_agree_on_a_small_problem_with_kernels(kind, n, seed):
    """Each way has its own maxima, up to 17 nats apart; a small problem is solved from both ends."""
    make, table = (make_sinc, RVMRegressor) if kind == "sinc" else (make_ripley, RVMClassifier)
    X, y = make(n, random_state=seed)
    gamma = 1 / 18 if kind == "sinc" else 2.0
    up, down = (table(gamma=gamma, inference=how).fit(X, y) for how in ("sequential", "evidence"))
    assert abs(up.history_[-1].objective - down.history_[-1].objective) <= 1e-3


def test_more_columns_than_observations_are_not_searched_from_both_ends(monkeypatch):
    """The other end of such a problem may be a model without noise, of boundless evidence."""
    monkeypatch.setattr("laconism.rvm.sequential.full_model", None)
    state = solve(ask("gaussian", 10, 20), Sequential(), **TOP).state
    assert not state.compared


def test_evidence_does_not_end_with_hundreds_of_kernels():
    """Seven say what they say, and the evidence of hundreds was a maximum that no deletion left."""
    X, y = make_sinc(2_000, random_state=1_025)
    model = RVMRegressor(gamma=1 / 18, inference="evidence").fit(X, y)
    assert model.n_relevant_ < 20


@pytest.mark.parametrize("solver", [Sequential(), TopDownEvidence()], ids=["sequential", "evidence"])
@pytest.mark.parametrize("kind", ["gaussian", "logistic"])
def test_no_column_would_pay_for_itself_in_the_end(kind, solver):
    """With kernels there are many maxima; either way ends at one."""
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(-4, 4, size=60))
    f = np.sinc(x) * 3
    y = f + 0.3 * rng.normal(size=60) if kind == "gaussian" else np.where(f > 0.3, 1.0, -1.0)
    K = np.exp(-0.5 * (x[:, None] - x) ** 2)
    problem = Problem(DenseDesign(K), y, LIKELIHOODS[kind], Jeffreys(), np.ones(60), True)
    state = solve(problem, solver, **TOP).state
    gain, _, _ = evidence_gains(state.mode, state.active, problem.design)
    gain[state.active] = 0.0
    assert gain.max() <= 0.5
    assert LocalEvidence.at(state.mode.quadratic(), state.mode.alpha).prunable().size == 0


@pytest.mark.parametrize("seed", range(4))
def test_ard_regression_of_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(100, 10))
    w = np.r_[2.0, -1.5, 1.0, np.zeros(7)]
    y = X @ w + 0.7 + 0.5 * rng.normal(size=100)
    theirs = ARDRegression(max_iter=1000, tol=1e-8).fit(X, y)
    at_theirs = naive.log_evidence_gaussian(X, y, theirs.lambda_, 1 / theirs.alpha_, True)
    for solver in (Sequential(), TopDownEvidence()):
        problem = Problem(DenseDesign(X), y, Gaussian(), Jeffreys(), np.ones(100), True)
        state = solve(problem, solver, **TOP).state
        assert state.objective >= at_theirs - 1e-6
        np.testing.assert_allclose(state.w[:3], theirs.coef_[:3], atol=0.02)
        np.testing.assert_allclose(X @ state.w + state.b, theirs.predict(X), atol=0.1)
        assert state.likelihood.noise == pytest.approx(1 / theirs.alpha_, rel=0.02)


def quadratic_of(n=40, p=5, seed=0):
    """Return a quadratic with all columns well determined, and its best precisions."""
    rng = np.random.default_rng(seed)
    Phi = rng.normal(size=(n, p))
    y = Phi @ rng.uniform(0.5, 2.0, size=p) + 0.5 * rng.normal(size=n)
    quadratic = Quadratic.of(DenseDesign(Phi), np.full(n, 4.0), y, intercept=True)
    alpha, kept = maximize_precisions(quadratic, np.ones(p), tol=1e-12)
    assert kept.size == p
    return quadratic, alpha


def central(function, at, h):
    """Return the derivative of a function of a vector by central differences, last axis the vector's."""
    steps = h * np.eye(at.size)
    return np.stack([(function(at + e) - function(at - e)) / (2 * h) for e in steps], axis=-1)


@pytest.mark.parametrize("seed", range(4))
def test_the_slope_of_the_evidence(seed):
    rng = np.random.default_rng(seed)
    quadratic, alpha = quadratic_of(seed=seed)
    at = np.log(alpha) + rng.normal(size=alpha.size)
    here = LocalEvidence.at(quadratic, np.exp(at))
    slope = 0.5 * (here.well_determined - here.alpha * here.answer.weights**2)
    numeric = central(lambda t: LocalEvidence.at(quadratic, np.exp(t)).value, at, 1e-5)
    np.testing.assert_allclose(slope, numeric, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("seed", range(4))
def test_newtons_step_is_that_of_finite_differences(seed):
    rng = np.random.default_rng(seed)
    quadratic, best = quadratic_of(seed=seed)
    at = np.log(best) + 0.03 * rng.normal(size=best.size)

    def slope(t):
        return central(lambda u: LocalEvidence.at(quadratic, np.exp(u)).value, t, 1e-4)

    H = central(slope, at, 1e-3)
    values = np.linalg.eigvalsh(-H)
    assert values.min() > 1e-3 * values.max()  # no direction has the least curvature
    step = LocalEvidence.at(quadratic, np.exp(at)).newton()
    np.testing.assert_allclose(step, np.linalg.solve(-H, slope(at)), rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(at + step, np.log(best), atol=0.01)  # the error squares


@pytest.mark.parametrize("seed", range(4))
def test_newtons_step_goes_uphill_anywhere(seed):
    rng = np.random.default_rng(seed)
    quadratic, best = quadratic_of(seed=seed)
    here = LocalEvidence.at(quadratic, best * np.exp(rng.uniform(-8, 8, size=best.size)))
    slope = 0.5 * (here.well_determined - here.alpha * here.answer.weights**2)
    assert slope @ here.newton() > 0
    assert np.abs(here.newton()).max() <= 3 + 1e-12


@pytest.mark.parametrize("seed", range(4))
def test_prunable_columns_are_those_that_are_better_gone(seed):
    """Their evidence rises all the way to an infinite precision, that of the others does not."""
    problem = ask("fixed", 30, 8, seed=seed, scale=0.3)
    quadratic = Quadratic.of(problem.design, np.full(30, 1 / 0.3), problem.y, intercept=True)
    alpha = np.full(8, 3.0)
    here = LocalEvidence.at(quadratic, alpha)
    prunable = set(here.prunable())
    for k in range(8):
        gone = LocalEvidence.at(quadratic, np.where(np.arange(8) == k, 1e12, alpha)).value
        values = [
            LocalEvidence.at(quadratic, np.where(np.arange(8) == k, 10.0**e, alpha)).value
            for e in np.linspace(-4, 8, 49)
        ]
        assert (k in prunable) == (max(values) <= gone + 1e-9)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("inside", [0, 1, 4])
@pytest.mark.parametrize("seed", range(3))
def test_worth_is_what_a_column_adds_to_the_evidence(seed, inside, intercept):
    problem = ask("fixed", 25, 12, intercept=intercept, weight="counts", seed=seed, scale=0.5)
    rows = np.repeat(np.arange(25), problem.weight.astype(int))
    Phi, y = problem.design.matrix[rows], problem.y[rows]
    rng = np.random.default_rng(seed)
    alpha = np.full(12, np.inf)
    alpha[:inside] = 10 ** rng.uniform(-1, 1, size=inside)
    mode = find_mode(
        problem.keep(np.arange(inside)), alpha[:inside], problem.likelihood, np.zeros(inside), 0.0
    )

    def evidence(k, value):
        changed = np.where(np.arange(12) == k, value, alpha)
        return naive.log_evidence_gaussian(Phi, y, changed, 0.3, intercept)

    gain, best, _ = evidence_gains(mode, np.arange(inside), problem.design)
    now = evidence(0, alpha[0])
    assert mode.objective == pytest.approx(now, rel=1e-8)
    paid = 0
    for k in range(inside, 12):
        if np.isfinite(best[k]):
            paid += 1
            added = evidence(k, best[k])
            assert added - now == pytest.approx(gain[k], rel=1e-8, abs=1e-8 * abs(now))
            assert max(evidence(k, best[k] * 1.1), evidence(k, best[k] / 1.1)) < added
        else:
            assert gain[k] == 0
            assert max(evidence(k, 10.0**e) for e in range(-3, 6)) <= now + 1e-9
    assert paid or inside


# ---- 6. degenerate questions -------------------------------------------------------------------------

REGRESSORS = {
    "sequential": RVMRegressor(None, inference="sequential"),
    "evidence": RVMRegressor(None, inference="evidence"),
    "variational": RVMRegressor(None, inference="variational"),
    "vb": RVMRegressor(None, inference="variational", solver="vb"),
    "product": GridRVMRegressor((2, 3)),
    "sum": GridRVMRegressor((2, 3), combine="sum"),
    "kernel": RVMRegressor(gamma=0.3),
    "variational kernel": RVMRegressor(gamma=0.3, inference="variational"),
}
CLASSIFIERS = {
    "sequential": RVMClassifier(None, inference="sequential"),
    "evidence": RVMClassifier(None, inference="evidence"),
    "variational": RVMClassifier(None, inference="variational"),
    "vb": RVMClassifier(None, inference="variational", solver="vb"),
    "probit": RVMClassifier(None, likelihood="probit"),
    "variational probit": RVMClassifier(None, likelihood="probit", inference="variational"),
    "product": GridRVMClassifier((2, 3)),
    "sum": GridRVMClassifier((2, 3), combine="sum"),
    "kernel": RVMClassifier(gamma=0.3),
    "variational kernel": RVMClassifier(gamma=0.3, inference="variational"),
}


def take(table, name, **changes):
    return clone(table[name]).set_params(**changes)


def is_fine(model, X):
    """Everything that is published or predicted is finite."""
    for name in ("coef_", "dual_coef_", "intercept_"):
        assert np.isfinite(getattr(model, name, 0.0)).all()
    assert all(np.isfinite(record.objective) for record in model.history_)
    if hasattr(model, "predict_proba"):
        P = model.predict_proba(X)
        np.testing.assert_allclose(P.sum(axis=1), 1.0)
        assert (P >= 0).all()
    else:
        mean, std = model.predict_dist(X)
        assert np.isfinite(mean).all()
        assert np.isfinite(std).all()
        assert (std >= 0).all()


def data(n=30, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    return X, X[:, 0] - 2 * X[:, 4] + 0.3 * rng.normal(size=n)


def odd(name):
    """Return rows and targets that break something if anything can be broken."""
    X, y = data()
    if name == "zero columns":
        X[:, [1, 3]] = 0.0
    elif name == "nothing but zeros":
        X[:] = 0.0
    elif name == "constant columns":
        X[:, [1, 3]] = 7.0
    elif name == "duplicated columns":
        X[:, 3:] = X[:, :3]
        y = X[:, 0] - X[:, 1] + 0.3 * data(seed=1)[1]
    elif name == "duplicated rows":
        X, y = np.tile(X[:5], (6, 1)), np.tile(y[:5], 6)
    elif name == "two rows":
        X, y = X[:2], np.array([-1.0, 1.0])
    elif name == "three rows":
        X, y = X[:3], np.array([-1.0, 1.0, 0.5])
    elif name == "separable":
        y = X[:, 0].copy()
    elif name == "scarcely separable":
        X[:, 0] = np.where(X[:, 0] > 0, 1.0, -1.0)
        y = X[:, 0].copy()
    elif name == "noise":
        y = np.random.default_rng(9).normal(size=30)
    elif name == "far away":
        X = X + 1e6
    elif name == "one is different":
        y = np.r_[np.ones(1), -np.ones(29)]
    return X, y


ODD = [
    "zero columns",
    "nothing but zeros",
    "constant columns",
    "duplicated columns",
    "duplicated rows",
    "two rows",
    "three rows",
    "separable",
    "scarcely separable",
    "noise",
    "far away",
    "one is different",
]


@pytest.mark.parametrize("case", ODD)
@pytest.mark.parametrize("name", REGRESSORS)
def test_odd_regressions(name, case):
    X, y = odd(case)
    is_fine(take(REGRESSORS, name).fit(X, y), X)


@pytest.mark.parametrize("case", ODD)
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_odd_classifications(name, case):
    X, y = odd(case)
    is_fine(take(CLASSIFIERS, name).fit(X, y > 0), X)


@pytest.mark.parametrize("value", [0.0, 3.0, -1e8, 1e-8])
@pytest.mark.parametrize("name", REGRESSORS)
def test_a_constant_target_is_predicted(name, value):
    X, _ = data()
    model = take(REGRESSORS, name).fit(X, np.full(30, value))
    is_fine(model, X)
    np.testing.assert_allclose(model.predict(X), value, rtol=1e-5, atol=1e-300)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("name", ["sequential", "evidence", "variational", "vb", "product", "sum"])
def test_one_column(name, intercept):
    X, y = data()
    X = X[:, [4]]
    changes = {"fit_intercept": intercept}
    if name in COMBINE:
        changes["grid_shape"] = (1, 1)
    model = take(REGRESSORS, name, **changes).fit(X, y)
    is_fine(model, X)
    assert np.ravel(model.coef_)[0] == pytest.approx(-2.0, abs=0.5)
    is_fine(take(CLASSIFIERS, name, **changes).fit(X, y > 0), X)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_one_row_per_class(name):
    X, _ = data(n=3)
    model = take(CLASSIFIERS, name).fit(X, ["a", "b", "c"])
    is_fine(model, X)


@pytest.mark.parametrize(
    "solver", [Variational(), Variational(solver="vb"), TopDownEvidence(), Sequential()]
)
@pytest.mark.parametrize("kind", ["logistic", "probit"])
def test_labels_of_one_kind_without_an_intercept_are_finite(kind, solver):
    problem = ask(kind, 20, 4, intercept=False)
    y = np.ones(20)
    state = solve(
        Problem(problem.design, y, problem.likelihood, Jeffreys(), np.ones(20), False),
        solver,
        max_iter=100,
        tol=1e-6,
    ).state
    assert np.isfinite(state.w).all()
    assert np.isfinite(state.objective)


def tight(name):
    """Return how to end; the paper's update would take too long, but takes the same way in any units."""
    return {"tol": 1e-5 if name == "vb" else 1e-10, "max_iter": 3000}


SCALES = [1e-8, 1e8]


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", ["sequential", "evidence", "variational", "vb", "product", "sum"])
def test_units_of_the_target_do_not_matter(name, scale):
    X, y = data()
    plain, scaled = (take(REGRESSORS, name, **tight(name)).fit(X, c * y) for c in (1.0, scale))
    coef = np.ravel(plain.coef_)
    np.testing.assert_allclose(
        np.ravel(scaled.coef_) / scale, coef, rtol=1e-6, atol=1e-6 * np.abs(coef).max()
    )
    assert scaled.intercept_ / scale == pytest.approx(plain.intercept_, rel=1e-6, abs=1e-6)
    assert scaled.noise_variance_ / scale**2 == pytest.approx(plain.noise_variance_, rel=1e-6)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("table", [REGRESSORS, CLASSIFIERS], ids=["regression", "classes"])
@pytest.mark.parametrize("name", ["sequential", "evidence", "variational", "vb", "product", "sum"])
def test_units_of_the_columns_do_not_matter(name, table, scale):
    X, y = data()
    y = y if table is REGRESSORS else y + 2 * np.random.default_rng(1).normal(size=30) > 0
    plain, scaled = (take(table, name, **tight(name)).fit(c * X, y) for c in (1.0, scale))
    coef = np.ravel(plain.coef_)
    np.testing.assert_allclose(
        np.ravel(scaled.coef_) * scale, coef, rtol=1e-6, atol=1e-6 * np.abs(coef).max()
    )
    np.testing.assert_allclose(scaled.intercept_, plain.intercept_, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", ["variational", "vb"])
@pytest.mark.parametrize("table", [REGRESSORS, CLASSIFIERS], ids=["regression", "classes"])
def test_units_of_single_columns_do_not_matter(name, table):
    """Features 1e16 apart: under one first precision for all, those in large units are never heard."""
    X, y = data()
    y = y if table is REGRESSORS else y + 2 * np.random.default_rng(1).normal(size=30) > 0
    units = np.logspace(-8, 8, X.shape[1])
    plain, scaled = (take(table, name, **tight(name)).fit(c * X, y) for c in (1.0, units))
    coef = np.ravel(plain.coef_)
    assert np.abs(coef).max() > 0.1
    np.testing.assert_allclose(
        np.ravel(scaled.coef_) * units, coef, rtol=1e-6, atol=1e-6 * np.abs(coef).max()
    )


def test_many_classes_of_features_in_different_units():
    rng = np.random.default_rng(0)
    y = rng.integers(10, size=300)
    X = rng.normal(size=(300, 6)) + 3 * rng.normal(size=(10, 6))[y]
    plain, scaled = (
        RVMClassifier(None, inference="variational")
        .fit(units * X[:150], y[:150])
        .score(units * X[150:], y[150:])
        for units in (1.0, np.logspace(-8, 8, 6))
    )
    assert plain > 0.85
    assert scaled == pytest.approx(plain, abs=0.01)


def test_a_column_that_never_changes_has_a_first_precision():
    X = np.column_stack([np.random.default_rng(0).normal(size=30), np.full(30, 1e8)])
    problem = Problem(DenseDesign(X), X[:, 0], Gaussian(), Jeffreys(), np.ones(30), True)
    found = own_precisions(problem, problem.empty())
    assert found[0] == pytest.approx(
        1.0
    )  # the target is the column: its variance over that of the noise
    assert found[1] == pytest.approx(first_precision(problem, problem.empty()))


# ---- work that is not done twice ---------------------------------------------------------------


def test_the_mode_of_a_quadratic_takes_one_solve():
    rng = np.random.default_rng(0)
    Phi, y = rng.normal(size=(30, 4)), rng.normal(size=30)
    problem = Problem(DenseDesign(Phi), y, Gaussian(0.5), Jeffreys(), np.ones(30), False)
    alpha, solves = np.array([0.5, 1.0, 2.0, 4.0]), []

    def counted(*args, **kwargs):
        solves.append(0)
        return ridge_primal(*args, **kwargs)

    mode = find_mode(problem, alpha, problem.likelihood, np.zeros(4), 0.0, solve=counted)
    explicit = np.linalg.solve(Phi.T @ Phi / 0.5 + np.diag(alpha), Phi.T @ y / 0.5)
    np.testing.assert_allclose(mode.w, explicit, rtol=1e-12)
    np.testing.assert_allclose(mode.f, Phi @ explicit, rtol=1e-12)
    assert len(solves) == 1


def test_columns_that_promise_nothing_are_not_tried():
    design, r = DenseDesign(np.eye(5)), np.ones(5)
    chosen = _dissimilar(design, r, np.array([0.0, 1e-4, 3.0, 0.5, 1e-5]), np.ones(5), 5)
    np.testing.assert_array_equal(chosen, [2, 3])


def test_a_column_looked_at_in_passing_does_not_displace_the_working_set():
    asked = []
    recent = _Recent(lambda index: (asked.append(list(index)), np.outer(np.ones(3), index * 1.0))[1])
    for index in ([3, 5, 8], [7], [5, 8, 9, 3]):
        np.testing.assert_array_equal(recent(np.array(index))[0], index)
    assert asked == [[3, 5, 8], [7], [9]]


def check_turned(problem, few):
    """Check that nothing that a regression is told about its rows has changed."""
    assert few.y.size == problem.design.shape[1] + 2
    one = [np.ones_like(each.y) for each in (problem, few)]
    for old, new in ((one[0], one[1]), (problem.y, few.y)):
        np.testing.assert_allclose(few.weight @ new**2, problem.weight @ old**2)
        seen = problem.design.rmatvec(problem.weight * old)
        atol = 1e-10 * np.abs(seen).max()
        np.testing.assert_allclose(few.design.rmatvec(few.weight * new), seen, atol=atol)
    np.testing.assert_allclose(few.weight @ few.y, problem.weight @ problem.y)
    gram = problem.design.gram(problem.weight)
    matrix = few.design.matrix
    np.testing.assert_allclose(
        matrix.T @ (few.weight[:, None] * matrix), gram, atol=1e-10 * np.abs(gram).max()
    )
    np.testing.assert_array_equal(few.design.gram(few.weight), gram)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("weight", [None, "counts"])
@pytest.mark.parametrize("solver", [Sequential(), TopDownEvidence(), Variational()])
def test_rows_of_a_regression_are_turned_into_few_that_say_the_same(solver, weight, intercept):
    problem = ask("gaussian", 90, 12, intercept=intercept, weight=weight)
    few = qr_compress(problem)
    check_turned(problem, few)
    many, other = (solve(each, solver, **TOP).state for each in (problem, few))
    assert other.objective == pytest.approx(many.objective, abs=1e-6)
    np.testing.assert_allclose(other.w, many.w, atol=1e-4 * np.abs(many.w).max())
    assert other.likelihood.noise == pytest.approx(many.likelihood.noise, rel=1e-4)


def test_columns_that_repeat_each_other_are_turned_by_reflections():
    problem = ask("gaussian", 60, 5)
    twice = np.column_stack([problem.design.matrix, problem.design.matrix[:, :2], np.zeros(60)])
    problem = replace(problem, design=DenseDesign(twice))
    check_turned(problem, qr_compress(problem))


@pytest.mark.parametrize(("kind", "n"), [("logistic", 90), ("gaussian", 20), ("gaussian", 10)])
def test_rows_stay_as_they_are_where_turning_is_wrong_or_wins_nothing(kind, n):
    problem = ask(kind, n, 12)
    assert qr_compress(problem) is problem


@pytest.mark.parametrize("seed", range(4))
def test_newtons_step_is_a_triangle_where_the_evidence_is_concave(seed, monkeypatch):
    quadratic, best = quadratic_of(seed=seed)
    here, there = LocalEvidence.at(quadratic, best), LocalEvidence.at(quadratic, best * 1e4)
    step = there.newton()
    assert np.isfinite(step).all()

    def no_eigenvalues(matrix):
        raise AssertionError

    monkeypatch.setattr(_settle, "symmetric_eigen", no_eigenvalues)
    assert np.abs(here.newton()).max() < 1e-2
    with pytest.raises(AssertionError):
        there.newton()


def test_worth_of_more_columns_than_rows_span():
    """The solution is then known by the rows; what the others would add is the same."""
    problem = ask("fixed", 12, 30)
    inside = np.arange(20)
    mode = find_mode(problem.keep(inside), np.full(20, 0.5), problem.likelihood, np.zeros(20), 0.0)
    assert mode.ridge.dual is not None
    primal = mode.quadratic().ridge(1 / mode.alpha)
    gain, alpha, _ = evidence_gains(mode, inside, problem.design)
    by_columns, alpha_by_columns, _ = evidence_gains(replace(mode, ridge=primal), inside, problem.design)
    np.testing.assert_allclose(gain, by_columns)
    np.testing.assert_allclose(alpha, alpha_by_columns)


def test_a_regression_starts_with_room_but_not_without_noise():
    """All columns under less than the best precision, as long as what they leave tells of the noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 8))
    y = X[:, 0] + np.sin(2 * X[:, 1]) + 0.3 * rng.normal(size=60)
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2) / 16)
    problem = Problem(DenseDesign(K), y, Gaussian(), Jeffreys(), np.ones(60), True, True)
    start = TopDownEvidence().init(problem).mode
    assert not start.noise_unidentified
    assert TopDownEvidence().init(replace(problem, kernels=False)).mode.alpha[0] < start.alpha[0]


def hills(n, seed=0):
    """Return rows, values and true values of a surface that few wide kernels make only together."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, size=(n, 2))
    f = np.sin(X[:, 0]) * np.cos(1.5 * X[:, 1])
    return X, f + 0.1 * rng.normal(size=n), f


@pytest.mark.parametrize("seed", range(3))
def test_weights_that_are_large_only_together_find_each_other(seed):
    X, y, f = hills(320, seed)
    model = RVMRegressor(inference="evidence").fit(X, y)
    assert np.sqrt(np.mean((model.predict(X) - f) ** 2)) < 0.05
    assert model.noise_variance_ == pytest.approx(0.01, rel=0.3)


def test_hundreds_of_columns_come_to_rest_too(monkeypatch):
    monkeypatch.setattr(_top_down, "_FEW", 2)
    X, y, _ = hills(120)
    model = RVMRegressor(inference="evidence", max_iter=150).fit(X, y)
    assert model.status_.converged
    assert model.n_relevant_ > 2


@pytest.mark.parametrize("likelihood", [Probit(), Logistic()], ids=lambda each: type(each).__name__)
def test_a_mode_far_out_is_reached_in_few_solves(likelihood):
    # Separable labels under a weak prior: the curvature gives way, and plain Newton steps are short.
    rng, solves = np.random.default_rng(0), []
    Phi = rng.normal(size=(80, 60))
    y, alpha = np.where(Phi[:, 0] > 0, 1.0, -1.0), np.full(60, 1e-3)
    problem = Problem(DenseDesign(Phi), y, likelihood, Jeffreys(), np.ones(80), True)

    def counted(*args, **kwargs):
        solves.append(1)
        return ridge(*args, **kwargs)

    mode = find_mode(problem, alpha, likelihood, np.zeros(60), 0.0, solve=counted)
    slope = likelihood.evaluate(y, mode.f)[1]
    np.testing.assert_allclose(Phi.T @ slope, alpha * mode.w, rtol=0, atol=1e-8)
    assert len(solves) <= 13  # plain steps: 16 of the probit, 15 of the logistic likelihood
