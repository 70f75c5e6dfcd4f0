"""Ridge problems by rows, by columns and by explicit inverses, on every design."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

import reference_rvm as naive
from laconism.design import DenseDesign, FactoredDesign, SparseDesign, factored
from laconism.linalg import ridge_dual, ridge_primal
from rvm_problems import few, seeds


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
