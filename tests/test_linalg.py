"""Ridge, factor and posterior against dense normal equations."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from laconism.basis._pivots import pivoted_cholesky, spread
from laconism.design import DenseDesign, SparseDesign
from laconism.design import sparse as sparse_module
from laconism.linalg import (
    Factor,
    damped_least_squares,
    ridge,
    ridge_dual,
    ridge_primal,
    solve_semidefinite,
    upper_root,
)
from laconism.posterior import GaussianPosterior

SHAPES = [(30, 8), (8, 30), (12, 12), (5, 1)]
INTERCEPT = [False, True]


def problem(n, p, seed=0):
    """Design, weights, target and prior variances over four decades, a third of them exactly zero."""
    rng = np.random.default_rng(seed)
    Phi = rng.normal(size=(n, p)) * rng.uniform(0.1, 3.0, size=p)
    variance = 10.0 ** rng.uniform(-2, 2, size=p)
    variance[::3] = 0.0 if p > 1 else 1.0
    return Phi, rng.uniform(0.05, 4.0, size=n), rng.normal(size=n) + 2.0, variance


def naive(Phi, r, z, variance, intercept):
    """Weights, intercept, and joint covariance, by the bordered normal equations in extended form.

    With multipliers e = R (z - b - Phi w) and w = V a no variance is inverted, so zeros may stay:

        [ R^-1   1   Phi ] [e]   [z]
        [ 1'     0   0   ] [b] = [0]
        [ Phi'   0   -I  ] [a]   [0]     with Phi w = Phi V a
    """
    n, p = Phi.shape
    k = int(intercept)
    one = np.ones((n, k))
    system = np.zeros((n + k + p, n + k + p))
    system[:n, :n] = np.diag(1 / r)
    system[:n, n : n + k] = one
    system[n : n + k, :n] = one.T
    system[:n, n + k :] = Phi * variance
    system[n + k :, :n] = Phi.T
    system[n + k :, n + k :] = -np.eye(p)
    answer = np.linalg.solve(system, np.r_[z, np.zeros(k + p)])
    return variance * answer[n + k :], float(answer[n]) if intercept else 0.0


def covariance(Phi, r, variance, intercept):
    """Covariance of (b, w) or w: the inverse of the explicit Hessian, on the weights that can move."""
    live = variance > 0
    A = np.column_stack([np.ones((len(r), int(intercept))), Phi[:, live]])
    precision = np.r_[np.zeros(int(intercept)), 1 / variance[live]]
    inner = np.linalg.inv(A.T @ (r[:, None] * A) + np.diag(precision))
    keep = np.r_[np.ones(int(intercept), dtype=bool), live]
    full = np.zeros((keep.size, keep.size))
    full[np.ix_(keep, keep)] = inner
    return full


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("intercept", INTERCEPT)
@pytest.mark.parametrize("solve", [ridge, ridge_primal, ridge_dual])
def test_ridge_is_the_extended_normal_equations(solve, shape, intercept):
    Phi, r, z, variance = problem(*shape)
    answer = solve(DenseDesign(Phi), r, z, variance, intercept=intercept)
    w, b = naive(Phi, r, z, variance, intercept)
    np.testing.assert_allclose(answer.weights, w, rtol=1e-8, atol=1e-10)
    assert answer.intercept == pytest.approx(b, rel=1e-8, abs=1e-10)
    assert (answer.weights[variance == 0] == 0).all()


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("intercept", INTERCEPT)
def test_primal_is_dual(shape, intercept, seed):
    Phi, r, z, variance = problem(*shape, seed=seed)
    primal = ridge_primal(DenseDesign(Phi), r, z, variance, intercept=intercept)
    dual = ridge_dual(DenseDesign(Phi), r, z, variance, intercept=intercept)
    np.testing.assert_allclose(primal.weights, dual.weights, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(primal.centre, dual.centre, rtol=1e-12)
    assert primal.intercept == pytest.approx(dual.intercept, rel=1e-8, abs=1e-10)
    assert primal.spread == dual.spread
    assert primal.log_det == pytest.approx(dual.log_det, rel=1e-10)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("intercept", INTERCEPT)
def test_sparse_rows_are_solved_without_a_dense_matrix(intercept, seed):
    # Rare words, a few that nearly every row has, and variances of which some are zero.
    n, p, rng = 60, 3000, np.random.default_rng(seed)
    Phi = rng.normal(size=(n, p)) * (
        rng.uniform(size=(n, p)) < np.r_[np.full(20, 0.9), np.full(p - 20, 0.01)]
    )
    _, r, z, variance = problem(n, p, seed=seed)
    sparse, asked = SparseDesign(csr_array(Phi)), []
    sparse.compress = lambda *args: asked.append(args) or DenseDesign(Phi).compress(*args)
    answer = ridge_dual(sparse, r, z, variance, intercept=intercept)
    expected = ridge_dual(DenseDesign(Phi), r, z, variance, intercept=intercept)
    np.testing.assert_allclose(answer.weights, expected.weights, rtol=1e-8, atol=1e-10)
    assert answer.intercept == pytest.approx(expected.intercept, rel=1e-8, abs=1e-10)
    assert answer.log_det == pytest.approx(expected.log_det, rel=1e-10)
    assert answer.n_well_determined == pytest.approx(expected.n_well_determined, rel=1e-10)
    np.testing.assert_allclose(
        answer.latent_variance(sparse, r), expected.latent_variance(DenseDesign(Phi), r), rtol=1e-8
    )
    assert not asked
    np.testing.assert_allclose(answer.dual, expected.dual, rtol=1e-10, atol=1e-12)
    assert len(asked) == 1


def test_products_of_sparse_rows_are_made_once_for_all_precisions(monkeypatch):
    calls = []
    made = sparse_module._outer
    monkeypatch.setattr(sparse_module, "_outer", lambda *args: calls.append(1) or made(*args))
    rng = np.random.default_rng(0)
    design = SparseDesign(csr_array(rng.normal(size=(40, 2000)) * (rng.uniform(size=(40, 2000)) < 0.02)))
    for variance, r in ((1.0, 1.0), (0.3, 2.0), (7.0, 0.1)):
        ridge(
            design,
            r * rng.uniform(size=40),
            rng.normal(size=40),
            np.full(2000, variance),
            intercept=True,
        )
    assert len(calls) == 1
    ridge(design, np.ones(40), rng.normal(size=40), rng.uniform(size=2000), intercept=True)
    assert len(calls) == 2


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("intercept", INTERCEPT)
def test_log_determinant(shape, intercept):
    Phi, r, z, variance = problem(*shape)
    centred = Phi - (r @ Phi / r.sum() if intercept else 0.0)
    inner = np.sqrt(np.outer(variance, variance)) * (centred.T @ (r[:, None] * centred))
    _, expected = np.linalg.slogdet(np.eye(shape[1]) + inner)
    answer = ridge(DenseDesign(Phi), r, z, variance, intercept=intercept)
    assert answer.log_det == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("solve", [ridge_primal, ridge_dual])
def test_a_free_intercept_is_a_column_with_an_enormous_variance(solve):
    Phi, r, z, variance = problem(30, 8)
    free = solve(DenseDesign(Phi), r, z, variance, intercept=True)
    column = np.column_stack([np.ones(30), Phi])
    fixed = solve(DenseDesign(column), r, z, np.r_[1e6, variance], intercept=False)
    np.testing.assert_allclose(fixed.weights[1:], free.weights, rtol=1e-5, atol=1e-7)
    assert fixed.weights[0] == pytest.approx(free.intercept, rel=1e-5)


@pytest.mark.parametrize("solve", [ridge_primal, ridge_dual])
@pytest.mark.parametrize("intercept", INTERCEPT)
def test_no_columns_and_no_variance(solve, intercept):
    Phi, r, z, _ = problem(10, 4)
    level = r @ z / r.sum() if intercept else 0.0
    empty = solve(DenseDesign(Phi[:, :0]), r, z, np.zeros(0), intercept=intercept)
    dead = solve(DenseDesign(Phi), r, z, np.zeros(4), intercept=intercept)
    assert empty.weights.shape == (0,)
    assert (dead.weights == 0).all()
    assert empty.intercept == pytest.approx(level)
    assert dead.intercept == pytest.approx(level)


@pytest.mark.parametrize("solve", [ridge_primal, ridge_dual])
@pytest.mark.parametrize("intercept", INTERCEPT)
@pytest.mark.parametrize("shape", [(20, 12), (12, 20)], ids=str)
def test_enormous_variances_on_a_deficient_design(solve, intercept, shape):
    rng = np.random.default_rng(0)
    Phi = rng.normal(size=(shape[0], 3)) @ rng.normal(size=(3, shape[1]))
    r, z = np.ones(shape[0]), rng.normal(size=shape[0])
    answer = solve(DenseDesign(Phi), r, z, np.full(shape[1], 1e20), intercept=intercept)
    A = np.column_stack([Phi, np.ones((shape[0], int(intercept)))])
    best = A @ np.linalg.lstsq(A, z, rcond=1e-10)[0]
    assert np.isfinite(answer.weights).all()
    assert np.isfinite(answer.log_det)
    if solve is ridge_primal:  # the weights are not unique, the fit is
        np.testing.assert_allclose(Phi @ answer.weights + answer.intercept, best, atol=1e-4)
    else:  # rounding of the part of z that no column explains grows with the variance: 1e-16 times it
        answer = solve(DenseDesign(Phi), r, z, np.full(shape[1], 1e8), intercept=intercept)
        np.testing.assert_allclose(Phi @ answer.weights + answer.intercept, best, atol=1e-4)
    posterior = GaussianPosterior.from_ridge(answer)
    m, v = posterior.latent(Phi)
    assert np.isfinite(m).all()
    assert np.isfinite(v).all()


def test_factor_of_an_indefinite_matrix():
    # I + rank one of 1e20: eigenvalues 1, ..., 1, 3e20, and rounding makes some of them negative
    v = np.random.default_rng(1).normal(size=6)
    matrix = 1e20 * np.outer(v, v)
    matrix.flat[::7] += 1.0
    matrix -= 1e6 * np.eye(6)  # whatever rounding might do, and more
    factor = Factor(matrix)
    b = np.random.default_rng(2).normal(size=(6, 2))
    assert np.isfinite(factor.solve(b)).all()
    np.testing.assert_allclose((factor.whiten(b) ** 2).sum(axis=0), (b * factor.solve(b)).sum(axis=0))
    assert factor.log_det == pytest.approx(np.log(1e20 * v @ v), rel=1e-6)


@pytest.mark.parametrize("scale", [1.0, 1e5])
def test_squares_of_many_columns_in_the_metric_of_a_factor(scale):
    """Through the inverse of the root or, where that could cancel, through solves; in blocks."""
    rng = np.random.default_rng(0)
    T = scale * rng.normal(size=(60, 30_000))
    before = T.copy()
    M = np.eye(60) + T @ T.T / 1_000
    expected = np.einsum("ij,ij->j", T, np.linalg.solve(M, T))
    np.testing.assert_allclose(Factor(M).squares(T), expected, rtol=1e-9)
    np.testing.assert_array_equal(T, before)


def test_factor_of_a_definite_matrix():
    A = np.random.default_rng(0).normal(size=(5, 5))
    M, b = A @ A.T + np.eye(5), np.arange(10.0).reshape(5, 2)
    factor = Factor(M)
    np.testing.assert_allclose(factor.solve(b), np.linalg.solve(M, b))
    np.testing.assert_allclose(factor.solve(b[:, 0]), np.linalg.solve(M, b[:, 0]))
    h = factor.whiten(b)
    np.testing.assert_allclose(h.T @ h, b.T @ np.linalg.solve(M, b))
    assert factor.log_det == pytest.approx(np.linalg.slogdet(M)[1])


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("damping", [1e-8, 1e-2, 10.0])
def test_damped_least_squares(shape, damping):
    rng = np.random.default_rng(0)
    A, b = rng.normal(size=shape), rng.normal(size=shape[0])
    augmented = np.vstack([A, np.sqrt(damping) * np.eye(shape[1])])
    expected = np.linalg.lstsq(augmented, np.r_[b, np.zeros(shape[1])], rcond=None)[0]
    np.testing.assert_allclose(damped_least_squares(A, b, damping), expected, rtol=1e-7, atol=1e-9)


def test_solve_semidefinite():
    Phi, r, z, _ = problem(40, 6)
    H = Phi.T @ (r[:, None] * Phi)
    # every diagonal element is raised by 1e-10 of itself
    np.testing.assert_allclose(
        solve_semidefinite(H, Phi.T @ z), np.linalg.solve(H, Phi.T @ z), rtol=1e-7
    )


def test_solve_semidefinite_shares_between_twins():
    Phi, _, z, _ = problem(40, 3)
    twice = np.column_stack([Phi, Phi[:, 0]])
    x = solve_semidefinite(twice.T @ twice, twice.T @ z)
    alone = solve_semidefinite(Phi.T @ Phi, Phi.T @ z)
    assert x[0] == pytest.approx(x[3], rel=1e-4)
    assert x[0] + x[3] == pytest.approx(alone[0], rel=1e-4)


@pytest.mark.parametrize("tol", [1e-3, 1e-8])
def test_pivoted_cholesky_reaches_its_tolerance(tol):
    x = np.linspace(0, 1, 300)[:, None]
    K = np.exp(-20 * (x - x.T) ** 2)
    fetched = []

    def rows(index, columns):
        if columns is not None:
            return K[np.ix_(index, columns)]
        fetched.append(index.size)
        return K[index]

    G, pivots, left = pivoted_cholesky(rows, np.ones(300), tol=tol, max_rank=300)
    assert left <= tol
    assert np.unique(pivots).size == G.shape[0]
    # A positive semi-definite rest is bounded by its diagonal.
    assert np.abs(K - G.T @ G).max() <= tol + 1e-12
    assert sum(fetched) == G.shape[0], "one whole row is evaluated for each pivot"


def test_pivoted_cholesky_stops_at_its_cap_and_says_what_is_left():
    K = np.eye(50)
    G, _, left = pivoted_cholesky(
        lambda index, columns: K[index] if columns is None else K[np.ix_(index, columns)],
        np.ones(50),
        tol=1e-8,
        max_rank=20,
    )
    assert G.shape == (20, 50)
    assert left == 1.0


def test_pivoted_cholesky_of_nothing():
    G, _, left = pivoted_cholesky(
        lambda index, columns: np.zeros((index.size, 4)), np.zeros(4), tol=1e-8, max_rank=4
    )
    assert G.shape == (0, 4)
    assert left == 0.0


def test_spread_takes_the_largest_and_others_in_proportion():
    index = spread(np.array([0.0, 5.0, 0.0, 1.0, 0.0, 4.0]), 4)
    assert 1 in index
    assert set(index) <= {1, 3, 5}


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("intercept", INTERCEPT)
@pytest.mark.parametrize("solve", [ridge_primal, ridge_dual])
def test_posterior_latent(solve, shape, intercept):
    Phi, r, z, variance = problem(*shape)
    answer = solve(DenseDesign(Phi), r, z, variance, intercept=intercept)
    posterior = GaussianPosterior.from_ridge(answer)
    Sigma = covariance(Phi, r, variance, intercept)
    new = np.random.default_rng(5).normal(size=(7, shape[1])) * 3
    rows = np.column_stack([np.ones((7, int(intercept))), new])
    m, v = posterior.latent(new)
    np.testing.assert_allclose(m, new @ answer.weights + answer.intercept)
    np.testing.assert_allclose(v, np.einsum("ij,jk,ik->i", rows, Sigma, rows), rtol=1e-7)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("intercept", INTERCEPT)
@pytest.mark.parametrize("solve", [ridge_primal, ridge_dual])
def test_effective_number_of_parameters(solve, shape, intercept):
    Phi, r, z, variance = problem(*shape)
    answer = solve(DenseDesign(Phi), r, z, variance, intercept=intercept)
    centred = Phi - (r @ Phi / r.sum() if intercept else 0.0)
    Sigma = covariance(Phi, r, variance, intercept)[int(intercept) :, int(intercept) :]
    expected = np.trace(centred.T @ (r[:, None] * centred) @ Sigma)
    assert GaussianPosterior.from_ridge(answer).effective == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("solve", [ridge_primal, ridge_dual])
@pytest.mark.parametrize("shape", [(12, 4), (4, 9)], ids=str)
@pytest.mark.parametrize("intercept", INTERCEPT)
def test_samples_have_the_moments(solve, shape, intercept):
    Phi, r, z, variance = problem(*shape)
    variance = np.minimum(variance, 2.0)
    posterior = GaussianPosterior.from_ridge(
        solve(DenseDesign(Phi), r, z, variance, intercept=intercept)
    )
    n = 200_000
    w, b = posterior.sample(n, random_state=0)
    assert w.shape == (n, shape[1])
    assert b.shape == (n,)
    joint = np.column_stack([b, w])
    mean = np.r_[posterior.intercept, posterior.mean]
    Sigma = covariance(Phi, r, variance, intercept)
    if not intercept:
        Sigma = np.pad(Sigma, ((1, 0), (1, 0)))
    error = np.sqrt(np.diag(Sigma))
    # six standard errors of a mean and of a covariance
    assert (np.abs(joint.mean(axis=0) - mean) <= 6 * error / np.sqrt(n) + 1e-9).all()
    spread = np.outer(error, error) * np.sqrt(2) + 1e-12
    assert (np.abs(np.cov(joint.T) - Sigma) <= 6 * spread / np.sqrt(n) + 1e-9).all()
    assert (w[:, variance == 0] == 0).all()
    again, _ = posterior.sample(3, random_state=1)
    same, _ = posterior.sample(3, random_state=1)
    np.testing.assert_array_equal(again, same)


@pytest.mark.parametrize("solve", [ridge_primal, ridge_dual])
@pytest.mark.parametrize("intercept", INTERCEPT)
def test_shift_undoes_centring(solve, intercept):
    Phi, r, z, variance = problem(15, 5)
    offset = np.linspace(-2.0, 3.0, 5)
    answer = solve(DenseDesign(Phi - offset), r, z, variance, intercept=intercept)
    centred = GaussianPosterior.from_ridge(answer)
    shifted = centred.shift(offset)
    new = np.random.default_rng(5).normal(size=(7, 5))
    m, v = centred.latent(new - offset)
    m_shifted, v_shifted = shifted.latent(new)
    np.testing.assert_allclose(m_shifted, m)
    np.testing.assert_allclose(v_shifted, v)
    assert shifted.effective == centred.effective


def test_solve_semidefinite_leaves_an_empty_column_alone():
    Phi, _, z, _ = problem(40, 3)
    with_nothing = np.column_stack([Phi, np.zeros(40)])
    x = solve_semidefinite(with_nothing.T @ with_nothing, with_nothing.T @ z)
    np.testing.assert_allclose(x, [*solve_semidefinite(Phi.T @ Phi, Phi.T @ z), 0.0], rtol=1e-9)


@pytest.mark.parametrize("columns", [3, 4])
def test_solve_semidefinite_of_several_sides(columns):
    Phi, _, z, _ = problem(40, 3)
    Phi = np.column_stack([Phi, np.zeros(40)])[:, :columns]  # the fourth takes the way of singular ones
    b = Phi.T @ np.column_stack([z, z**2])
    one_by_one = [solve_semidefinite(Phi.T @ Phi, side) for side in b.T]
    np.testing.assert_allclose(solve_semidefinite(Phi.T @ Phi, b), np.transpose(one_by_one), rtol=1e-9)


def test_variances_of_latents_are_the_same_a_few_columns_at_a_time(monkeypatch):
    Phi, r, z, variance = problem(30, 8)
    design = DenseDesign(Phi)
    answer = ridge_primal(design, r, z, variance, intercept=True)
    whole = answer.latent_variance(design, r)
    monkeypatch.setattr("laconism.linalg.BLOCK_ENTRIES", 90)
    widths, matvec = [], DenseDesign.matvec
    monkeypatch.setattr(
        DenseDesign, "matvec", lambda self, w: widths.append(w.shape[1]) or matvec(self, w)
    )
    np.testing.assert_allclose(answer.latent_variance(design, r), whole, rtol=1e-12)
    assert widths == [3, 3, 2]


@pytest.mark.parametrize("columns", [4, 30])
def test_the_root_of_a_posterior_is_one_of_its_covariance(columns):
    rng = np.random.default_rng(0)
    design = DenseDesign(rng.normal(size=(12, columns)))
    answer = ridge(design, np.full(12, 3.0), rng.normal(size=12), np.ones(columns), intercept=True)
    posterior = GaussianPosterior.from_ridge(answer)
    assert (posterior.prior_root is None) == (columns == 4)
    A = rng.normal(size=(columns, 5))
    H = posterior.root_dot(A)
    np.testing.assert_allclose(H.T @ H, A.T @ posterior.covariance_dot(A), atol=1e-12)
    R = upper_root(H)
    assert R.shape[1] == 5
    np.testing.assert_allclose(R.T @ R, H.T @ H, atol=1e-12)


@pytest.mark.parametrize("columns", [4, 30])
def test_a_wider_posterior_has_the_variances_that_it_says(columns):
    rng = np.random.default_rng(0)
    Phi, r = rng.normal(size=(12, columns)), rng.uniform(0.5, 2.0, size=12)
    answer = ridge(DenseDesign(Phi), r, rng.normal(size=12), np.ones(columns), intercept=True)
    posterior = GaussianPosterior.from_ridge(answer)
    v = posterior.latent(Phi)[1]
    wider, expected = posterior.as_wide_as(3 * v + 0.2, v, r)
    np.testing.assert_allclose(expected, 3 * v + 0.2)
    np.testing.assert_allclose(wider.latent(Phi)[1], expected)
