"""Kernels against scikit-learn, finite differences and their own laws."""

import importlib
import inspect
import math
import pkgutil
import re

import numpy as np
import pytest
from scipy.sparse import csc_array, csr_array, csr_matrix
from sklearn.base import clone
from sklearn.gaussian_process.kernels import Matern as SklearnMatern
from sklearn.metrics.pairwise import laplacian_kernel, polynomial_kernel, rbf_kernel

import laconism.kernels
from laconism.kernels import (
    RBF,
    REGISTRY,
    Additive,
    FunctionKernel,
    Kernel,
    Linear,
    Matern,
    Polynomial,
    Product,
    Scaled,
    Sum,
    resolve_kernel,
)

PACKAGE = laconism.kernels.__path__
SCALES = np.array([0.5, 2.0, 0.0, 1.0])

DIFFERENTIABLE = [
    RBF(gamma=0.3),
    Linear(),
    Polynomial(degree=1, gamma=0.7, coef0=0.0),
    Polynomial(degree=3, gamma=0.4, coef0=0.5),
    Additive(order=2, gamma=0.4),
    Matern(nu=0.5, gamma=0.2),
    Matern(nu=1.5, gamma=0.2),
    Matern(nu=2.5, gamma=0.2),
    Sum(RBF(gamma=0.3), Linear()),
    Product(Polynomial(degree=2), RBF(gamma=0.3)),
    Sum(Matern(nu=1.5), Product(Linear(), Linear())),
    Scaled(RBF(gamma=0.3), SCALES),
    Scaled(Polynomial(degree=2) * Matern(nu=2.5), SCALES),
    Scaled(Scaled(Linear(), SCALES), SCALES),
    Sum(Scaled(RBF(), SCALES), Polynomial()),
]
KERNELS = [*DIFFERENTIABLE, FunctionKernel(laplacian_kernel)]
BOUNDED = [RBF, *(lambda gamma, nu=nu: Matern(nu, gamma) for nu in (0.5, 1.5, 2.5))]


def short(kernel):
    # no address of a function: pytest-xdist wants the same names in every process
    return re.sub("at0x[0-9a-f]+", "", "".join(repr(kernel).split()))


def data(n=12, m=7, p=4):
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, p)), rng.normal(size=(m, p)), rng.normal(size=(n, m))


def difference_weights(nodes):
    """Weights whose sum over ``f(x + h * nodes)`` is ``h f'(x)``, exact for polynomials."""
    powers = np.vander(nodes, increasing=True).T
    return np.linalg.solve(powers, np.eye(len(nodes))[1])


def finite_difference(f, theta, k):
    # 0 is the edge of the domain: a one-sided difference there, a central one elsewhere.
    # Its step is small because pairs that differ in little else bend sharply there.
    nodes, step = (np.arange(8.0), 5e-4) if theta[k] == 0 else (np.arange(-3.0, 4.0), 5e-3)
    values = [f(theta + node * step * np.eye(theta.size)[k]) for node in nodes]
    return difference_weights(nodes) @ values / step


def test_every_kernel_is_in_the_lists():
    # by module and not by __subclasses__, which would see the classes of doctests too
    names = [f"laconism.kernels.{module.name}" for module in pkgutil.iter_modules(PACKAGE)]
    found = {
        cls
        for name in names
        for _, cls in inspect.getmembers(importlib.import_module(name), inspect.isclass)
        if issubclass(cls, Kernel) and cls.__module__ == name and not inspect.isabstract(cls)
    }
    assert {type(kernel) for kernel in KERNELS} == found
    assert found - {type(kernel) for kernel in DIFFERENTIABLE} == {FunctionKernel}
    assert set(REGISTRY.values()) <= found


@pytest.mark.parametrize("kernel", DIFFERENTIABLE, ids=short)
def test_scale_gradient_is_the_derivative(kernel):
    X, C, W = data()
    theta = np.array([0.8, 0.0, 1.7, 0.3])
    gradient = kernel.scale_gradient(X, C, theta, W)

    def weighted(t):
        return float(np.sum(W * kernel(X * np.sqrt(t), C * np.sqrt(t))))

    expected = [finite_difference(weighted, theta, k) for k in range(theta.size)]
    assert gradient.shape == theta.shape
    np.testing.assert_allclose(gradient, expected, rtol=1e-8, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("kernel", DIFFERENTIABLE, ids=short)
def test_scale_gradient_where_points_coincide(kernel):
    X, _, _ = data()
    C = X[:5].copy()
    W = np.random.default_rng(1).normal(size=(len(X), len(C)))
    theta = np.array([0.8, 0.4, 1.7, 0.3])
    gradient = kernel.scale_gradient(X, C, theta, W)
    away = W * (np.arange(len(X))[:, None] != np.arange(len(C)))
    # the two parts have to add up, also where the cusp of nu = 0.5 sits
    apart = kernel.scale_gradient(X, C, theta, away)
    together = sum(
        kernel.scale_gradient(X[[i]], C[[i]], theta, W[[i], i : i + 1]) for i in range(len(C))
    )
    np.testing.assert_allclose(gradient, apart + together, rtol=1e-10, atol=1e-12)
    if isinstance(kernel, Matern):
        np.testing.assert_allclose(together, 0, atol=1e-12)


def test_scale_gradient_of_the_rough_matern_is_finite_when_all_scales_are_zero():
    X, C, W = data()
    for nu in (0.5, 1.5, 2.5):
        assert np.isfinite(Matern(nu).scale_gradient(X, C, np.zeros(4), W)).all()
        assert np.isfinite(Matern(nu).scale_gradient(X, X, np.ones(4), np.ones((12, 12)))).all()


def test_gradient_of_scaled_is_taken_at_its_scales():
    X, C, W = data()
    kernel = RBF(gamma=0.3)
    expected = kernel.scale_gradient(X, C, SCALES, W)
    np.testing.assert_array_equal(Scaled(kernel, SCALES).gradient(X, C, W), expected)


def test_scaled_scales_the_features():
    X, C, _ = data()
    root = np.sqrt(SCALES)
    kernel = Polynomial()
    np.testing.assert_allclose(Scaled(kernel, SCALES)(X, C), kernel(X * root, C * root))
    np.testing.assert_allclose(Scaled(kernel, np.ones(4))(X, C), kernel(X, C))


def test_values_of_scikit_learn():
    X, C, _ = data()
    np.testing.assert_allclose(RBF(0.3)(X, C), rbf_kernel(X, C, gamma=0.3), rtol=1e-12)
    for degree in range(1, 10):
        poly = polynomial_kernel(X, C, degree=degree, gamma=0.4, coef0=0.5)
        np.testing.assert_allclose(Polynomial(degree, 0.4, 0.5)(X, C), poly, rtol=1e-12)
    np.testing.assert_allclose(Linear()(X, C), X @ C.T, rtol=1e-12)


@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5])
def test_matern_of_scikit_learn(nu):
    X, C, _ = data()
    gamma = 0.3
    peer = SklearnMatern(length_scale=1 / math.sqrt(2 * gamma), nu=nu)
    np.testing.assert_allclose(Matern(nu, gamma)(X, C), peer(X, C), rtol=1e-12)
    np.testing.assert_allclose(Matern(nu, gamma)(X, X.copy()), peer(X), rtol=1e-12)


def test_operators():
    X, C, _ = data()
    rbf, linear = RBF(), Linear()
    np.testing.assert_allclose((rbf + linear)(X, C), rbf(X, C) + linear(X, C))
    np.testing.assert_allclose((rbf * linear)(X, C), rbf(X, C) * linear(X, C))
    with pytest.raises(TypeError):
        rbf + 1
    with pytest.raises(TypeError):
        rbf * "linear"


@pytest.mark.parametrize("kernel", KERNELS, ids=short)
def test_laws_of_a_kernel(kernel):
    X, C, _ = data(n=150)
    K = kernel(X, X)
    size = np.abs(K).max()
    np.testing.assert_allclose(K, K.T, rtol=0, atol=1e-14 * size)
    np.testing.assert_allclose(kernel.diag(X), np.diag(K), rtol=1e-12)
    assert kernel.diag(X).shape == (150,)
    assert np.linalg.eigvalsh((K + K.T) / 2).min() >= -1e-10 * len(X) * max(size, 1)
    np.testing.assert_allclose(kernel(C, X), kernel(X, C).T, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(kernel(X, X.copy()), K, rtol=1e-12, atol=1e-12)
    kernel.check()


@pytest.mark.parametrize("kernel", KERNELS, ids=short)
def test_float32(kernel):
    X, C, _ = data()
    small = kernel(X.astype(np.float32), C.astype(np.float32))
    assert small.dtype in (np.float32, np.float64)
    assert np.isfinite(small).all()
    np.testing.assert_allclose(small, kernel(X, C), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(kernel.diag(X.astype(np.float32)), kernel.diag(X), rtol=1e-4)


@pytest.mark.parametrize("kernel", [RBF(np.float64(0.3)), Polynomial(), Matern(), Scaled(RBF(), SCALES)])
def test_float32_stays_float32(kernel):
    X = data()[0].astype(np.float32)
    assert kernel(X, X).dtype == np.float32
    assert kernel.diag(X).dtype == np.float32


@pytest.mark.parametrize("layout", [csr_matrix, csr_array, csc_array])
@pytest.mark.parametrize("kernel", KERNELS, ids=short)
def test_sparse_equals_dense(kernel, layout):
    if isinstance(kernel, FunctionKernel):
        kernel = FunctionKernel(lambda X, C: X @ C.T)
    X, C, _ = data()
    X, C = X * (X > 0), C * (C > 0)
    expected = kernel(X, C)
    for A, B in [(layout(X), layout(C)), (layout(X), C), (X, layout(C))]:
        if isinstance(kernel, FunctionKernel) and isinstance(A, np.ndarray):
            continue
        K = kernel(A, B)
        assert type(K) is np.ndarray
        np.testing.assert_allclose(K, expected, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(kernel(layout(X), layout(X)), kernel(X, X), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(kernel.diag(layout(X)), kernel.diag(X), rtol=1e-12)


@pytest.mark.parametrize(
    "kernel", [RBF(), Linear(), Polynomial(), Matern(), RBF() + Linear()], ids=short
)
def test_input_may_be_lists_integers_or_no_centres(kernel):
    X = np.arange(6).reshape(3, 2)
    np.testing.assert_allclose(kernel(X.tolist(), X), kernel(X * 1.0, X * 1.0))
    assert kernel(X, X[:0]).shape == (3, 0)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("gamma", [1e-300, 1e-9, 1e9, 1e300, 1e308])
@pytest.mark.parametrize("make", BOUNDED)
def test_extreme_widths(make, gamma, dtype):
    X, C, _ = data()
    kernel = make(gamma)
    for A in (X.astype(dtype), (X * 1e18).astype(dtype)):
        K = kernel(A, A)
        assert np.isfinite(K).all()
        assert np.isfinite(kernel(A, C.astype(dtype))).all()
        np.testing.assert_array_equal(np.diag(K), 1)
        np.testing.assert_array_equal(np.diag(kernel(A, A.copy())), 1)
        np.testing.assert_array_equal(kernel.diag(A), 1)


@pytest.mark.parametrize("size", [1e-200, 1e100, 1e160, 1e300, 1.7e308])
@pytest.mark.parametrize("make", BOUNDED)
def test_extreme_features(make, size):
    X, C, W = data()
    X, C = np.tanh(X) * size, np.tanh(C) * size
    for gamma in (1e-9, 1.0, 1e9):
        K = make(gamma)(X, C)
        expected = 1.0 if size < 1 else 0.0
        np.testing.assert_array_equal(K, expected)
        np.testing.assert_array_equal(np.diag(make(gamma)(X, X)), 1)
        assert np.isfinite(make(gamma)(csr_array(X), csr_array(C))).all()
        assert np.isfinite(make(gamma).scale_gradient(X, C, np.ones(4), W)).all()


@pytest.mark.parametrize("make", BOUNDED)
def test_a_common_offset_changes_nothing(make):
    X, C, W = data()
    X, C = np.round(X, 2), np.round(C, 2)
    offset = np.array([0.0, 1.7e9, -3e7, 1e6])
    kernel = make(0.3)
    np.testing.assert_allclose(kernel(X + offset, C + offset), kernel(X, C), atol=1e-5)
    theta = np.array([0.8, 0.4, 1.7, 0.3])
    expected = kernel.scale_gradient(X, C, theta, W)
    moved = kernel.scale_gradient(X + offset, C + offset, theta, W)
    np.testing.assert_allclose(moved, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("kernel", "remedy"),
    [
        (Polynomial(degree=3), "scale the features or lower the degree"),
        (Linear(), "scale the features"),
        (Polynomial(degree=1) * Polynomial(degree=1), "scale the features"),
    ],
)
def test_overflow_is_a_sentence(kernel, remedy):
    X = np.array([[1e120, -1e120], [1e120, 1e120]]) * (1 if remedy.endswith("degree") else 1e80)
    if isinstance(kernel, Product):
        X = X * 1e-100
    for call in (lambda: kernel(X, X), lambda: kernel.diag(X)):
        with pytest.raises(ValueError, match=f"overflows; {remedy}.$"):
            call()


def test_parameters_are_nested_cloned_compared_and_printed():
    kernel = RBF(gamma=0.5) + Scaled(Polynomial(degree=2), [1.0, 0.0])
    parameters = kernel.get_params()
    assert parameters["left__gamma"] == 0.5
    assert parameters["right__kernel__degree"] == 2
    copy = clone(kernel)
    assert copy == kernel
    assert copy is not kernel
    assert copy.left is not kernel.left
    copy.set_params(left__gamma=2.0)
    assert copy != kernel
    assert kernel.left.gamma == 0.5
    expected = "Sum(left=RBF(gamma=0.5),right=Scaled(kernel=Polynomial(degree=2),scales=[1.0,0.0]))"
    assert "".join(repr(kernel).split()) == expected


@pytest.mark.parametrize("kernel", KERNELS, ids=short)
def test_clone_is_equal_and_prints_the_same(kernel):
    assert clone(kernel) == kernel
    assert repr(clone(kernel)) == repr(kernel)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (RBF(gamma=0), "RBF: gamma must be a positive number, got 0."),
        (RBF(gamma=math.inf), "RBF: gamma must be a positive number, got inf."),
        (RBF(gamma="wide"), "RBF: gamma must be a positive number, got 'wide'."),
        (Matern(gamma=-1), "Matern: gamma must be a positive number, got -1."),
        (Matern(nu=1), "Matern: nu must be 0.5, 1.5 or 2.5, got 1."),
        (Matern(nu=None), "Matern: nu must be 0.5, 1.5 or 2.5, got None."),
        (Polynomial(degree=2.0), "Polynomial: degree must be a positive integer, got 2.0."),
        (Polynomial(degree=0), "Polynomial: degree must be a positive integer, got 0."),
        (Polynomial(degree=True), "Polynomial: degree must be a positive integer, got True."),
        (Polynomial(gamma=None), "Polynomial: gamma must be a positive number, got None."),
        (
            Polynomial(coef0=-1),
            "Polynomial: coef0 must be a number that is not negative, got -1.",
        ),
        (Sum(RBF(), Matern(nu=2)), "Matern: nu must be 0.5, 1.5 or 2.5, got 2."),
        (Product(RBF(gamma=-1), RBF()), "RBF: gamma must be a positive number, got -1."),
        (Sum("rbf", RBF()), "Sum: left must be a kernel, got 'rbf'."),
        (Product(RBF(), 2), "Product: right must be a kernel, got 2."),
        (Scaled("rbf", [1.0]), "Scaled: kernel must be a kernel, got 'rbf'."),
        (Scaled(RBF(gamma=-1), [1.0]), "RBF: gamma must be a positive number, got -1."),
        *(
            (
                Scaled(RBF(), bad),
                f"Scaled: scales must be a list of finite numbers that are not negative, got {bad!r}.",
            )
            for bad in ([-1.0], [math.nan], 1.0, [[1.0]], ["a"])
        ),
        *(
            (
                Scaled(RBF(), [1.0], spread=bad),
                f"Scaled: spread must be as many positive numbers as there are scales, got {bad!r}.",
            )
            for bad in ([0.0], [-1.0], [math.inf], [1.0, 1.0], 1.0)
        ),
        (FunctionKernel(3), "FunctionKernel: function must be callable, got 3."),
    ],
)
def test_check_says_it_in_a_sentence(kernel, message):
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the whole message is compared
        kernel.check()
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda X: RBF()(X, X[:, :2]), "same number of features, got 4 and 2"),
        (lambda X: Linear()(X, X[:, :2]), "same number of features, got 4 and 2"),
        (lambda X: RBF()(X[0], X), "two-dimensional"),
        (lambda X: Scaled(RBF(), [1.0])(X, X), r"one scale per feature \(4\), got shape \(1,\)"),
        (lambda X: FunctionKernel(lambda X, C: X)(X, X), r"shape \(12, 12\), got \(12, 4\)"),
        (lambda X: FunctionKernel(lambda X, C: X @ C.T * 1j)(X, X), "real numbers"),
        (lambda X: FunctionKernel(lambda X, C: X @ C.T + np.nan)(X, X), "not finite"),
        (lambda X: RBF()(X + np.nan, X), "NaN"),
        (lambda X: RBF()(X + np.inf, X), "infinity"),
    ],
)
def test_wrong_input_is_a_value_error(call, message):
    with pytest.raises(ValueError, match=message):
        call(data()[0])


def test_a_function_has_no_gradient():
    X, C, W = data()
    with pytest.raises(TypeError, match="no derivative with respect to feature scales"):
        FunctionKernel(laplacian_kernel).scale_gradient(X, C, np.ones(4), W)


def test_a_function_may_return_integers_or_a_sparse_matrix():
    X = np.arange(6).reshape(3, 2)
    for function in (lambda X, C: X @ C.T, lambda X, C: csr_array(X @ C.T)):
        K = FunctionKernel(function)(X, X)
        assert K.dtype == np.float64
        np.testing.assert_array_equal(K, X @ X.T)


SETTINGS = {"gamma": 0.25, "degree": 2, "coef0": 0.5}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("linear", Linear()),
        ("poly", Polynomial(degree=2, gamma=0.25, coef0=0.5)),
        ("rbf", RBF(gamma=0.25)),
        ("matern", Matern(gamma=0.25)),
        ("additive", Additive(gamma=0.25)),
    ],
)
def test_resolve_a_name(name, expected):
    assert set(REGISTRY) == {"additive", "linear", "poly", "rbf", "matern"}
    assert resolve_kernel(name, **SETTINGS) == expected


def test_resolve_an_instance_clones_and_checks_it():
    kernel = RBF(gamma=3.0) + Linear()
    resolved = resolve_kernel(kernel, **SETTINGS)
    assert resolved == kernel
    assert resolved is not kernel
    with pytest.raises(ValueError, match="gamma must be a positive number, got -1"):
        resolve_kernel(RBF(gamma=-1) * Linear(), **SETTINGS)


def test_resolve_a_function():
    assert resolve_kernel(rbf_kernel, **SETTINGS) == FunctionKernel(rbf_kernel)


def test_resolve_checks_the_settings():
    with pytest.raises(ValueError, match="RBF: gamma must be a positive number, got -1"):
        resolve_kernel("rbf", **{**SETTINGS, "gamma": -1})


@pytest.mark.parametrize("name", ["rbff", "polynomial", "nothing"])
def test_resolve_an_unknown_name(name):
    known = "Known: 'additive', 'linear', 'matern', 'poly', 'rbf', 'precomputed'.$"
    hint = {"rbff": "Did you mean 'rbf'. ", "polynomial": "Did you mean 'poly'. ", "nothing": ""}
    with pytest.raises(ValueError, match=f"^Unknown kernel '{name}'. {hint[name]}{known}"):
        resolve_kernel(name, **SETTINGS)


def test_precomputed_is_no_kernel():
    with pytest.raises(ValueError, match="no kernel to evaluate"):
        resolve_kernel("precomputed", **SETTINGS)


@pytest.mark.parametrize("value", [3, None, RBF])
def test_resolve_something_else(value):
    with pytest.raises(TypeError, match=r"^kernel must be one of 'additive'.*'precomputed'.* got "):
        resolve_kernel(value, **SETTINGS)


def test_squashed_features_are_those_that_a_user_would_squash():
    rng = np.random.default_rng(0)
    X, origin, spread = rng.standard_cauchy(size=(6, 4)), rng.normal(size=4), rng.random(4) + 0.1
    squashed, by_hand = Scaled(RBF(), SCALES, origin, spread), np.arcsinh((X - origin) / spread)
    np.testing.assert_allclose(squashed(X, X[:2]), Scaled(RBF(), SCALES)(by_hand, by_hand[:2]))
    np.testing.assert_allclose(squashed(csr_array(X), X[:2]), squashed(X, X[:2]))
    np.testing.assert_allclose(squashed.diag(X), np.ones(6))
    from_zero = Scaled(Linear(), SCALES, spread=spread)
    np.testing.assert_allclose(from_zero.diag(X), np.diag(from_zero(X, X)))
    with pytest.raises(ValueError, match="no scales fit on top of a spread"):
        from_zero.scale_gradient(X, X, np.ones(4), np.ones((6, 6)))
