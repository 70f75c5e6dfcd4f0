"""The laws, over every class that is found: nothing is listed, so nothing is forgotten."""

import importlib
import inspect
import pkgutil

import numpy as np
import pytest
from sklearn.metrics.pairwise import laplacian_kernel

import laconism.design
import laconism.kernels
import laconism.likelihoods
import laconism.priors
import laconism.solvers
from laconism.design import DenseDesign
from laconism.kernels import RBF, FunctionKernel, Linear, Matern, Polynomial, Product, Scaled, Sum
from laconism.likelihoods import Gaussian as GaussianNoise
from laconism.likelihoods import Student
from laconism.priors import REGISTRY as NAMED_PRIORS
from laconism.priors import Gaussian, GeneralizedGaussian, Jeffreys, Laplace, StudentT
from laconism.solvers import EM, Newton, Problem, Proximal, choose_solver, solve
from laconism.testing import check_design, check_kernel, check_likelihood, check_prior, check_solver


def low_rank(n, p, rank, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(rank, n)), rng.normal(size=(rank, p))


def factored(n, p):
    from laconism.design import FactoredDesign

    G, C = low_rank(n, p, 4)
    return FactoredDesign(G, C, lambda index: G.T @ C[:, index]), G.T @ C


def dense(n, p):
    matrix = np.random.default_rng(0).normal(size=(n, p))
    return DenseDesign(matrix), matrix


# More than the default instance, or what has none. A class that is not here is tried as `Class()`,
# a design as `Class(matrix)`; if that fails, so does its test.
EXAMPLES = {
    "priors.Gaussian": [Gaussian(), Gaussian(width=0.1), Gaussian(width=30.0)],
    "priors.GeneralizedGaussian": [
        GeneralizedGaussian(q=q, scale=scale) for q in (0.1, 0.5, 1.0, 1.5, 2.0) for scale in (0.2, 5.0)
    ],
    "priors.Jeffreys": [Jeffreys(), Jeffreys("universal"), Jeffreys(strength=1), Jeffreys(2.5)],
    "priors.Laplace": [Laplace(), Laplace(rate=0.01), Laplace(rate=50.0)],
    "priors.StudentT": [StudentT(), StudentT(a=0.5, b=0.1), StudentT(a=2.0, b=10.0)],
    "likelihoods.Student": [Student(), Student(1.0, 2.0), Student(30.0, 1.5, estimate_df=False)],
    "likelihoods.Gaussian": [GaussianNoise(), GaussianNoise(0.3), GaussianNoise(2.0, estimate=False)],
    "kernels.FunctionKernel": [FunctionKernel(laplacian_kernel)],
    "kernels.Matern": [Matern(nu) for nu in (0.5, 1.5, 2.5)],
    "kernels.Polynomial": [Polynomial(degree) for degree in (1, 2, 3)],
    "kernels.Product": [Product(RBF(gamma=0.3), Linear())],
    "kernels.Scaled": [Scaled(RBF(gamma=0.3), [0.5, 2.0, 0.0])],
    "kernels.Sum": [Sum(RBF(gamma=0.3), Polynomial(2))],
    "solvers.EM": [EM(), EM(stop="weights"), EM(ridge=1.0)],
    "solvers.Newton": [Newton(), Newton(start="ridge"), Newton(start="l1")],
    "solvers.Proximal": [Proximal(), Proximal(fit_noise=False)],
    "design.DenseDesign": [dense(20, 6), dense(6, 20), dense(5, 1)],
    "design.FactoredDesign": [factored(20, 9), factored(9, 20)],
}
CHECKS = {
    "priors": check_prior,
    "likelihoods": check_likelihood,
    "kernels": check_kernel,
    "solvers": check_solver,
    "design": lambda pair: check_design(*pair),
}


def is_concrete(cls):
    parts = (getattr(cls, name, None) for name in dir(cls))
    abstract = any(getattr(part, "__isabstractmethod__", False) for part in parts)
    return not abstract and not getattr(cls, "_is_protocol", False)


def is_data(kind, cls):
    """Whether this is a problem, a state, an answer: a class without the methods of its kind."""
    method = {"solvers": "step", "design": "matvec"}.get(kind)
    return method is not None and not hasattr(cls, method)


def discover(kind):
    """Every public concrete class defined in a module of the package."""
    package = importlib.import_module(f"laconism.{kind}")
    for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if info.name.rpartition(".")[2].startswith("_"):
            continue  # a private module holds parts, not components
        module = importlib.import_module(info.name)
        for name, cls in inspect.getmembers(module, inspect.isclass):
            own = cls.__module__ == info.name and not name.startswith("_")
            if own and is_concrete(cls) and not is_data(kind, cls):
                yield name, cls


def examples(kind, name, cls):
    if f"{kind}.{name}" in EXAMPLES:
        return EXAMPLES[f"{kind}.{name}"]
    if kind == "design":
        matrix = np.random.default_rng(0).normal(size=(12, 5))
        return [(cls(matrix), matrix)]
    return [cls()]


FOUND = [(kind, name, cls) for kind in CHECKS for name, cls in discover(kind)]


def instances():
    for kind, name, cls in FOUND:
        try:
            made = examples(kind, name, cls)
        except Exception as error:  # whatever a constructor does, it is this class that failed
            made = [error]
        for number, instance in enumerate(made):
            yield pytest.param(kind, name, instance, id=f"{kind}.{name}-{number}")


def test_something_is_found_for_every_kind():
    assert {kind for kind, _, _ in FOUND} == set(CHECKS)
    names = {f"{kind}.{name}" for kind, name, _ in FOUND}
    assert not set(EXAMPLES) - names, "an example for a class that is gone"


@pytest.mark.parametrize("kind", ["priors", "likelihoods", "solvers"])
def test_what_has_a_name_is_found(kind):
    package = importlib.import_module(f"laconism.{kind}")
    assert set(package.REGISTRY.values()) <= {cls for _, _, cls in FOUND}


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "name", "instance"), list(instances()))
def test_laws(kind, name, instance):
    if isinstance(instance, Exception):
        pytest.fail(f"laconism.{kind}: {name} cannot be constructed, give an example: {instance}")
    CHECKS[kind](instance)


SOLVERS = [
    solver for kind, name, cls in FOUND if kind == "solvers" for solver in examples(kind, name, cls)
]
PRIORS = [
    Laplace(rate=3.0),
    Jeffreys(strength=1.0),
    GeneralizedGaussian(q=0.5, scale=1.0),
    StudentT(),
    Gaussian(),
]


@pytest.mark.slow
@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
@pytest.mark.parametrize("prior", PRIORS, ids=repr)
def test_history_never_drops(solver, prior):
    # through the loop, where weights are pruned and brought back between the steps
    try:
        solver = choose_solver(solver, prior)
    except ValueError:
        return  # check_solver sees to it that a solver accepts some prior
    for _, cls in discover("likelihoods"):
        for intercept in (False, True):
            rng = np.random.default_rng(3)
            matrix = rng.normal(size=(60, 8)) * np.linspace(0.5, 2.0, 8)
            y = cls().sample(matrix @ [1.5, 0.0, -1.0, 0.0, 0.0, 0.8, 0.0, 0.0], rng)
            problem = Problem(DenseDesign(matrix), y, cls(), prior, np.ones(60), intercept)
            history = solve(problem, solver, max_iter=2000, tol=1e-12).history
            objective = np.array([record.objective for record in history])
            drop = -np.diff(objective) / np.maximum(1.0, np.abs(objective[1:]))
            assert drop.max(initial=0.0) <= 1e-10, (cls.__name__, intercept, int(drop.argmax()) + 2)


class Wrong(Laplace):
    """Breaks one law at a time."""

    def __init__(self, rate=1.0, law="variance"):
        super().__init__(rate)
        self.law = law

    def variance(self, u):
        return super().variance(u) * (1.01 if self.law == "variance" else 1.0)

    @property
    def kink(self):
        return {"kink": 2.0, "inf": np.inf, "zero": 0.0}.get(self.law, self.rate)

    @property
    def is_l1(self):
        return self.law != "is_l1"


@pytest.mark.parametrize(
    ("law", "message"),
    [("variance", "variance"), ("kink", "kink"), ("inf", "kink"), ("zero", "kink"), ("is_l1", "is_l1")],
)
def test_a_broken_prior_is_told_so(law, message):
    with pytest.raises(AssertionError, match=message):
        check_prior(Wrong(law=law))


class Shifted(laconism.likelihoods.Probit):
    """The surrogate of another likelihood."""

    def surrogate(self, y, m, v):
        z, r = super().surrogate(y, m, v)
        return z + 1e-3, r


class Loud(laconism.likelihoods.Logistic):
    """Too high a bound."""

    def bound(self, y, m, v):
        return self.log_prob(y, m) - v / 16

    def surrogate(self, y, m, v):
        first, _ = self.derivatives(y, m)
        return m + 8 * first, np.full_like(m, 1 / 8)


@pytest.mark.parametrize(("cls", "message"), [(Shifted, "d bound/dm"), (Loud, "bound <= E")])
def test_a_broken_likelihood_is_told_so(cls, message):
    with pytest.raises(AssertionError, match=message):
        check_likelihood(cls())


class Crooked(RBF):
    """Not symmetric."""

    def __call__(self, X, C):
        return super().__call__(X, C) * (1 + 0.1 * np.asarray(X)[:, :1])


def test_a_broken_kernel_is_told_so():
    with pytest.raises(AssertionError, match="K\\(X, X\\)'"):
        check_kernel(Crooked())
    with pytest.raises(AssertionError, match="positive semi-definite"):
        check_kernel(FunctionKernel(lambda X, C: -laplacian_kernel(X, C)))


class Lazy(EM):
    """Goes half of the way and calls it a day."""

    def done(self, problem, old, new, tol):
        return "tired"


class Downhill(Newton):
    """Shrinks the weights after every step."""

    def step(self, problem, state):
        new = super().step(problem, state)
        return problem.state(0.9 * new.w, new.b, new.likelihood, new.offset)


@pytest.mark.parametrize(("cls", "message"), [(Lazy, "slope"), (Downhill, "lower")])
def test_a_broken_solver_is_told_so(cls, message):
    with pytest.raises(AssertionError, match=message):
        check_solver(cls())


def test_a_broken_design_is_told_so():
    matrix = np.random.default_rng(0).normal(size=(6, 3))
    with pytest.raises(AssertionError, match="matvec"):
        check_design(DenseDesign(matrix), 2 * matrix)


class Reversed(DenseDesign):
    def rows(self, index):
        return DenseDesign(self.matrix[index[::-1]])


class Sharing(DenseDesign):
    def share(self):
        return DenseDesign(2 * self.matrix)


class Low(DenseDesign):
    height = 2


@pytest.mark.parametrize(("cls", "message"), [(Reversed, "rows"), (Sharing, "share"), (Low, "height")])
def test_a_design_is_itself_for_fewer_rows_and_for_others(cls, message):
    matrix = np.random.default_rng(0).normal(size=(6, 3))
    with pytest.raises(AssertionError, match=message):
        check_design(cls(matrix), matrix)


@pytest.mark.parametrize("name", sorted(NAMED_PRIORS))
def test_convex_is_what_it_says(name):
    prior = NAMED_PRIORS[name]()
    w = np.linspace(1e-3, 3, 200)
    bends = np.diff(prior.penalty(w**2), 2)
    assert prior.convex == bool((bends >= -1e-12).all())
