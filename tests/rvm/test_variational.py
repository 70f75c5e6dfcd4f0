"""Variational Bayes against naive sweeps, explicit matrices and its own bound."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.special import log_ndtr

import reference_rvm as naive
from laconism import GridRVMRegressor
from laconism.datasets import make_grid
from laconism.design import DenseDesign, FactoredDesign, SparseDesign
from laconism.laplace.first_precision import first_precision
from laconism.likelihoods import Gaussian, Logistic, Probit
from laconism.priors import Jeffreys
from laconism.rvm.variational import Variational, VariationalState
from laconism.solvers import Problem, solve
from rvm_problems import (
    COMBINE,
    GRIDS,
    LIKELIHOODS,
    make_problem,
    seeds,
    solve_with_objectives,
    some,
    worst_drop,
)


@st.composite
def problems(draw):
    modes = draw(st.integers(1, 4))
    grid = tuple(draw(st.integers(1, (30, 8, 5, 4)[modes - 1])) for _ in range(modes))
    problem = make_problem(
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


@pytest.mark.slow
@pytest.mark.parametrize("method", ["fast", "vb"])
@given(problems())
@some
def test_the_bound_never_drops(method, case):
    problem, solver = case
    answer, objectives = solve_with_objectives(problem, solver.set_params(solver=method), max_iter=40)
    assert np.isfinite(objectives).all()
    assert worst_drop(objectives) <= 1e-9
    assert np.isfinite(answer.state.w).all()


@pytest.mark.slow
@pytest.mark.parametrize("method", ["fast", "vb"])
@pytest.mark.parametrize("kind", LIKELIHOODS)
@pytest.mark.parametrize("combine", COMBINE)
@pytest.mark.parametrize("n", [8, 60], ids=["wide", "tall"])
def test_the_bound_never_drops_wide_or_tall(n, combine, kind, method):
    problem = make_problem(kind, n, 24, weight="uneven", seed=3)
    _, objectives = solve_with_objectives(problem, Variational((4, 6), combine, method), max_iter=100)
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
    _, objectives = solve_with_objectives(problem, Variational(solver=method))
    assert worst_drop(objectives) <= 1e-9


@pytest.mark.slow
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
            _, objectives = solve_with_objectives(problem, Variational((4, 6), combine, method))
            assert worst_drop(objectives) <= 1e-9


def naive_bound(problem, state):
    """Return the bound at our q(w), q(alpha), and what an explicit inverse says of q(w) itself."""
    Phi = problem.design.matrix[:, state.active]
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


@pytest.mark.slow
@pytest.mark.parametrize("grid", GRIDS, ids=str)
@pytest.mark.parametrize("combine", COMBINE)
@pytest.mark.parametrize("kind", LIKELIHOODS)
@pytest.mark.parametrize("n", [9, 40], ids=["wide", "tall"])
def test_the_bound_is_the_naive_one_with_all_constants(n, kind, combine, grid):
    for intercept in (False, True):
        problem = make_problem(kind, n, int(np.prod(grid)), intercept=intercept, weight="uneven", seed=n)
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


@pytest.mark.slow
@pytest.mark.parametrize("grid", GRIDS, ids=str)
@pytest.mark.parametrize("kind", ["gaussian", "fixed", "logistic"])
@pytest.mark.parametrize("intercept", [False, True])
def test_vb_of_a_product_is_the_papers_sweep_by_sweep(intercept, kind, grid):
    problem = make_problem(kind, 25, int(np.prod(grid)), intercept=intercept, weight="uneven", seed=1)
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


@pytest.mark.slow
@pytest.mark.parametrize("combine", COMBINE)
@pytest.mark.parametrize("grid", GRIDS, ids=str)
@pytest.mark.parametrize("kind", ["gaussian", "logistic"])
def test_vb_ends_at_the_papers_bound(kind, grid, combine):
    """Ours settles the shares of the sum within a sweep, the paper's one round at a time: same end."""
    problem = make_problem(kind, 30, int(np.prod(grid)), weight="counts", seed=2, scale=0.3)
    solver = Variational(grid, combine, "vb", shape=0.5, rate=0.5)
    answer, objectives = solve_with_objectives(problem, solver, max_iter=250, tol=0.0)
    theirs = naive_sweeps(problem, solver, objectives.size if combine == "product" else 400)
    assert objectives[-1] == pytest.approx(theirs.bounds[-1], rel=1e-8, abs=1e-7)
    np.testing.assert_allclose(answer.state.w, theirs.mu[:-1], rtol=0, atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("grid", GRIDS[:3], ids=str)
@pytest.mark.parametrize("combine", COMBINE)
@pytest.mark.parametrize("kind", ["gaussian", "logistic", "probit"])
def test_the_papers_update_stays_where_the_fast_one_ends(kind, combine, grid):
    """A mode of the sum that is switched off (parts in 1e6 of any precision) may go on falling."""
    problem = make_problem(kind, 40, int(np.prod(grid)), weight="uneven", seed=4)
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
    problem = make_problem(kind, 40, 12, seed=6, scale=0.3)
    ends = {}
    for method in ("fast", "vb"):
        solver = Variational((3, 4), combine, method, shape=0.5, rate=0.5)
        answer, objectives = solve_with_objectives(problem, solver, max_iter=1000, tol=0.0)
        assert answer.state.precisions.grid == (3, 4)
        ends[method] = objectives[-1], answer.state.w
    assert ends["fast"][0] == pytest.approx(ends["vb"][0], rel=1e-9)
    np.testing.assert_allclose(ends["fast"][1], ends["vb"][1], rtol=0, atol=1e-5)


@pytest.mark.parametrize("kind", ["logistic", "probit"])
def test_predictions_have_the_curvature_of_the_likelihood_not_of_its_bound(kind):
    problem = make_problem(kind, 60, 8, weight="counts")
    state = solve(problem, Variational(), max_iter=200, tol=1e-8).state
    _, _, curvature = problem.likelihood.evaluate(problem.y, state.m)
    D = naive.with_ones(problem.design.matrix[:, state.active], True)
    r = problem.weight * curvature
    Sigma = naive.inverse(D.T @ np.diag(r) @ D + np.diag(np.r_[state.precisions.precision.ravel(), 0]))
    posterior, design = state.posterior, problem.keep(state.active).design
    v = posterior.latent_variance(design, r)
    np.testing.assert_allclose(v, np.einsum("ij,jk,ik->i", D, Sigma, D), rtol=1e-6)
    assert (v > state.v).all()  # the bound is surer than the likelihood
    np.testing.assert_array_equal(posterior.weights, state.ridge.weights)


def test_with_gaussian_noise_the_posterior_is_q():
    state = solve(make_problem("gaussian", 60, 8), Variational(), max_iter=200, tol=1e-8).state
    assert state.posterior is state.ridge


@pytest.mark.slow
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
