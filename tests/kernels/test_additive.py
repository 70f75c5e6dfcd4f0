"""Additive kernels: sums over sets of features, their gradients, and the effects of features."""

from itertools import combinations

import numpy as np
import pytest

from laconism import SparseBayesClassifier
from laconism.basis import KernelBasis
from laconism.kernels import RBF, Additive

P = 4


def rows(n, seed=0):
    return np.random.default_rng(seed).normal(size=(n, P))


def kernel(order, *, centred, seed=1):
    rng = np.random.default_rng(seed)
    gamma, weights = rng.uniform(0.1, 2.0, P), rng.uniform(0.1, 1.0, P)
    variances = rng.uniform(0.1, 1.0, order)
    measure = (np.full(P, 0.3), np.full(P, 1.7)) if centred else (None, None)
    return Additive(order, gamma, weights, variances, *measure)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_it_is_the_sum_over_all_sets_of_features(order):
    X, C, k = rows(7), rows(5, 1), kernel(order, centred=False)
    expected = np.zeros((7, 5))
    for size in range(1, order + 1):
        for chosen in combinations(range(P), size):
            each = [k.weights[j] * RBF(gamma=k.gamma[j])(X[:, [j]], C[:, [j]]) for j in chosen]
            expected += k.variances[size - 1] * np.prod(each, axis=0)
    np.testing.assert_allclose(k(X, C), expected, rtol=1e-12)


def coded(n, seed=0):
    """Return rows whose first and third feature are codes."""
    rng, X = np.random.default_rng(seed), rows(n, seed)
    X[:, 0], X[:, 2] = rng.choice([-3.0, 0.5, 7.0], n), rng.integers(2, size=n)
    return X


CODES = {0: {-3.0: 0.5, 0.5: 0.2, 7.0: 0.3}, 2: {0.0: 2.0, 1.0: 6.0}}


def test_codes_of_categories_are_equal_or_not():
    X = np.random.default_rng(0).integers(3, size=(20, 2)).astype(float)
    same = [(X[:, [j]] == X[:, j]).astype(float) for j in range(2)]
    shares = {0.0: 0.2, 1.0: 0.3, 2.0: 0.5}
    K = Additive(2, weights=[2.0, 3.0], categories={0: shares, 1: shares})(X, X)
    np.testing.assert_allclose(K, 2 * same[0] + 3 * same[1] + 6 * same[0] * same[1], atol=1e-12)


def test_a_centred_category_has_mean_zero_and_unit_variance_and_a_new_code_no_effect():
    k = Additive(1, mean=[0.0], deviation=[1.0], categories={0: CODES[0]})
    S, p = np.array([[-3.0], [0.5], [7.0]]), np.array([0.5, 0.2, 0.3])
    np.testing.assert_allclose(p @ k(S, S), 0.0, atol=1e-15)
    assert p @ k.diag(S) == pytest.approx(1.0)
    np.testing.assert_allclose(k.diag(S), k(S, S).diagonal(), rtol=1e-12)
    np.testing.assert_allclose(k.effect_products(S, [0]), k(S, S).T @ (p[:, None] * k(S, S)))
    assert not k([[2.0]], S).any()
    alone = Additive(1, mean=[0.0], deviation=[1.0], categories={0: {4.0: 1.0}})
    assert not alone([[4.0]], [[4.0]]).any()


def test_codes_are_those_of_single_precision_and_rows_are_not_changed():
    X = np.array([[0.1, 1.0], [0.3, 2.0], [1e300, 0.0]])
    before, k = X.copy(), Additive(2, categories={0: {0.1: 1.0, 0.3: 1.0}})
    with np.errstate(over="ignore"):
        single = np.minimum(X, 1e38).astype(np.float32)
    np.testing.assert_allclose(k(single, single[:2]), k(X, X[:2]), rtol=1e-6)
    np.testing.assert_array_equal(X, before)


def test_a_code_that_hardly_occurs_has_a_finite_kernel():
    k = Additive(1, mean=[0.0], deviation=[1.0], categories={0: {0.0: 1.0, 1.0: 1e-300}})
    K = k([[0.0], [1.0]], [[0.0], [1.0]])
    assert np.isfinite(K).all()
    assert np.linalg.eigvalsh(K).min() > -1e-6 * K.max()
    share = np.array([1.0, 1e-8]) / (1 + 1e-8)
    assert share @ K.diagonal() == pytest.approx(1.0, rel=1e-6)


def test_effects_of_categories_explain_the_variance():
    rng = np.random.default_rng(3)
    k = Additive(2, 0.4, mean=np.zeros(P), deviation=np.ones(P), categories=CODES)
    C, a = coded(6, 1), np.array([1.0, -2.0, 0.5, 1.0, 0.3, -1.0])
    S = rng.normal(size=(200_000, P))
    for j, shares in CODES.items():
        p = np.array([*shares.values()])
        S[:, j] = rng.choice([*shares], len(S), p=p / p.sum())
    sets = [each for size in (1, 2) for each in combinations(range(P), size)]
    explained = sum(float(a @ k.effect_products(C, each) @ a) for each in sets)
    assert explained == pytest.approx(np.var(k(S, C) @ a), rel=0.03)


def test_of_the_highest_order_it_is_the_product_kernel():
    X, C = rows(6), rows(5, 1)
    each = [1 + RBF(gamma=0.7)(X[:, [j]], C[:, [j]]) for j in range(P)]
    np.testing.assert_allclose(Additive(P, 0.7)(X, C), np.prod(each, axis=0) - 1, rtol=1e-12)


@pytest.mark.parametrize("categories", [None, CODES])
@pytest.mark.parametrize("centred", [False, True])
def test_symmetric_matrices_and_diagonals(centred, categories):
    X, k = coded(40), kernel(3, centred=centred).set_params(categories=categories)
    K = k(X, X)
    np.testing.assert_allclose(K, k(X, X.copy()), rtol=1e-12)
    np.testing.assert_allclose(k.diag(X), K.diagonal(), rtol=1e-12)
    assert np.linalg.eigvalsh(K).min() > -1e-10


@pytest.mark.parametrize("categories", [None, CODES])
@pytest.mark.parametrize("same", [False, True])
@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_gradients_are_those_of_finite_differences(order, centred, same, categories):
    made = rows if categories is None else coded
    X, k = made(12), kernel(order, centred=centred).set_params(categories=categories)
    C = X if same else made(9, 1)
    W = np.random.default_rng(2).normal(size=(12, C.shape[0]))
    found = k.parameter_gradients(X, C, W)
    for name in ("weights", "gamma", "variances"):
        value, slopes = np.asarray(getattr(k, name)), []
        for unit in np.eye(value.size):
            h = 1e-5 * unit
            ahead, behind = (
                Additive(**{**k.get_params(), name: value + step})(X, C) for step in (h, -h)
            )
            slopes.append(np.vdot(W, ahead - behind) / 2e-5)
        np.testing.assert_allclose(getattr(found, name), slopes, rtol=1e-7, atol=1e-7)


def test_functions_of_a_centred_kernel_have_mean_zero_and_unit_variance():
    nodes, weight = np.polynomial.hermite_e.hermegauss(80)
    share = weight / weight.sum()
    k = Additive(1, 0.4, mean=[0.5], deviation=[2.0])
    S, centres = (0.5 + 2.0 * nodes)[:, None], np.array([[-1.0], [0.0], [3.0]])
    np.testing.assert_allclose(share @ k(S, centres), 0.0, atol=1e-10)
    assert share @ k.diag(S) == pytest.approx(1.0)
    products = k(S, centres).T @ (share[:, None] * k(S, centres))
    np.testing.assert_allclose(k.effect_products(centres, [0]), products, atol=1e-10)


def test_a_wide_centred_kernel_is_linear():
    x, c = np.linspace(-2, 2, 9)[:, None], np.array([[1.0], [-0.5]])
    k = Additive(1, 1e-6, mean=[0.0], deviation=[1.0])
    np.testing.assert_allclose(k(x, c), x * c.T, atol=1e-4)


def test_effects_add_up_to_the_kernel_and_their_variances_to_its_own():
    k, X, C = kernel(2, centred=True), rows(20), rows(6, 1)
    sets = [each for size in (1, 2) for each in combinations(range(P), size)]
    np.testing.assert_allclose(sum(k.effect(X, C, each) for each in sets), k(X, C), rtol=1e-10)
    a, rng = np.array([1.0, -2.0, 0.5, 1.0, 0.3, -1.0]), np.random.default_rng(3)
    S = 0.3 + 1.7 * rng.normal(size=(200_000, P))
    explained = sum(float(a @ k.effect_products(C, each) @ a) for each in sets)
    assert explained == pytest.approx(np.var(k(S, C) @ a), rel=0.03)
    with pytest.raises(ValueError, match="give mean and deviation"):
        kernel(2, centred=False).effect_products(C, [0])


def test_factors_give_the_kernel_matrix():
    X, k = rows(60), kernel(2, centred=True)
    factors = KernelBasis.on_rows(k, X).factors(tol=1e-12, max_rank=60)
    np.testing.assert_allclose(factors.G.T @ factors.G, k(X, X), atol=1e-6)


def test_a_classifier_takes_it_by_name():
    X = rows(80)
    y = X[:, 0] ** 2 + X[:, 1] > 0.8
    assert SparseBayesClassifier(kernel="additive", gamma=0.5).fit(X, y).score(X, y) > 0.85


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"order": 0}, "order must be a positive whole number"),
        ({"gamma": -1.0}, "gamma must be positive"),
        ({"weights": [1.0, -1.0]}, "weights must be a list of finite numbers"),
        ({"variances": [1.0]}, "variances must be a list of finite numbers"),
        ({"mean": [0.0]}, "mean and deviation must be given together"),
        ({"mean": [0.0], "deviation": [0.0]}, "mean must be finite and deviation positive"),
        ({"gamma": [1.0, 2.0], "weights": [1.0]}, "one entry per feature"),
        *(
            ({"categories": wrong}, "categories must give the index of each feature a dict of codes")
            for wrong in (
                {0: {}},
                {0: {1.0: -1.0}},
                {0: {"a": 1.0}},
                {0: {1.0: 1.0, 1.0 + 1e-12: 1.0}},
                {"x": {0.0: 1.0}},
                {0.5: {0.0: 1.0}},
                {True: {0.0: 1.0}},
                [1],
                "a",
            )
        ),
    ],
)
def test_settings_that_make_no_sense(settings, message):
    with pytest.raises(ValueError, match=message):
        Additive(**settings).check()


def test_a_mean_may_be_one_number():
    many = Additive(mean=np.full(P, 0.2), deviation=np.full(P, 1.5))
    one = Additive(mean=0.2, deviation=1.5)
    np.testing.assert_array_equal(one(rows(5), rows(3)), many(rows(5), rows(3)))


def test_rows_of_another_width_are_a_sentence():
    with pytest.raises(ValueError, match="weights must have one entry per feature"):
        Additive(1, 1.0, [1.0, 2.0])(rows(3), rows(3))
    with pytest.raises(ValueError, match="categories must name features from 0 to 3"):
        Additive(1, categories={7: {1.0: 1.0}})(rows(3), rows(3))
