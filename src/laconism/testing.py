"""Checks for user-defined priors, likelihoods, kernels, solvers and designs.

Each function raises ``AssertionError`` if the component breaks one of its laws; the message says which
law and where. The references are finite differences, quadrature and explicit matrices, never the
component's closed forms.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone

from . import likelihoods, priors
from ._protocols import Array, Design
from .design import DenseDesign
from .flagship.law import check_candidate
from .kernels import Kernel
from .likelihoods import Binary, Likelihood
from .priors import Prior
from .solvers import Problem, Solver, State, choose_solver, solve

__all__ = [
    "check_candidate",
    "check_dask_estimator",
    "check_design",
    "check_kernel",
    "check_likelihood",
    "check_prior",
    "check_solver",
]

_MACHINE_EPSILON = float(np.finfo(float).eps)
_CENTRAL_NODES = np.arange(-4.0, 5.0)
_FORWARD_NODES = np.arange(0.0, 9.0)  # at the edge of a domain


def _demand(holds: bool | np.bool_, owner: object, sentence: str) -> None:
    if not holds:
        name = owner.__name__ if isinstance(owner, type) else repr(owner)
        raise AssertionError(f"{name}: {sentence}.")


def _agree(
    owner: object,
    law: str,
    got: Any,
    expected: Any,
    *,
    rtol: Any = 1e-6,
    slack: Any = 0.0,
    **where: Any,
) -> None:
    """Raise at the first entry where ``got`` and ``expected`` differ, naming the law and the place."""
    got, expected, slack = np.broadcast_arrays(got, expected, slack)
    bad = ~(np.abs(got - expected) <= rtol * np.abs(expected) + slack)  # NaN agrees with nothing
    if bad.any():
        at = tuple(map(int, np.argwhere(bad)[0]))
        place = ", ".join(f"{k} = {np.broadcast_to(v, bad.shape)[at]:g}" for k, v in where.items())
        values = f"{got[at]:.9g} instead of {expected[at]:.9g} at {place or f'entry {at}'}"
        _demand(False, owner, f"{law} is broken: {values}")


def _derivative(
    function: Callable[[Array], Array], x: Array, step: Any, nodes: Array = _CENTRAL_NODES
) -> tuple[Array, Array]:
    """Return the derivative by differences of eighth order, and a bound of its rounding error."""
    weights = np.linalg.solve(np.vander(nodes, increasing=True).T, np.eye(nodes.size)[1])
    values = np.stack([np.asarray(function(x + node * step)) for node in nodes])
    rounding = 8 * _MACHINE_EPSILON * np.abs(values).max(axis=0) * np.abs(weights).sum() / step
    return np.asarray(np.tensordot(weights, values, 1) / step), np.asarray(rounding)


def _expectation(function: Callable[[Array], Array], m: Array, v: Array) -> Array:
    """Return ``E[function(f)]`` for ``f ~ N(m, v)`` by Gauss-Hermite quadrature."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(128)
    values = np.stack([np.asarray(function(m + np.sqrt(v) * node)) for node in nodes])
    return np.asarray(np.tensordot(weights / weights.sum(), values, 1))


def _check_parameters(component: Any) -> None:
    """Check that ``clone`` and ``set_params`` keep the constructor's arguments."""
    for copy in (clone(component), clone(component).set_params(**component.get_params(deep=False))):
        same = type(copy) is type(component) and repr(copy) == repr(component)
        _demand(same, component, f"clone and set_params must give the same component, got {copy!r}")


def check_prior(prior: Prior) -> None:
    """Check a prior: the law ``2 * d penalty/du * variance(u) == 1`` and its properties.

    Also: penalty and variance never decrease in ``u``, as for every scale mixture of Gaussians;
    ``kink`` is the slope of the penalty in ``|w|`` at 0+, and ``variance(0)`` is zero if it is
    positive; ``is_l1`` is right; and the prior that ``bind`` returns keeps the law.

    Examples
    --------
    >>> from laconism.priors import Laplace
    >>> from laconism.testing import check_prior
    >>> check_prior(Laplace(rate=0.5))
    >>> class Mistaken(Laplace):
    ...     def variance(self, u):
    ...         return super().variance(u) / 2
    >>> check_prior(Mistaken())
    Traceback (most recent call last):
        ...
    AssertionError: Mistaken(): 2 * d penalty/du * variance(u) == 1 is broken: 0.5 instead of 1 at ...
    """
    prior.check()
    _check_parameters(prior)
    for shape in ((), (1,), (3,), (2, 3), (0,)):
        for function in (prior.penalty, prior.variance):
            got = np.shape(function(np.full(shape, 0.5)))
            _demand(got == shape, prior, f"{function.__name__} must keep shape {shape}, got {got}")
    for bound in (prior, *(prior.bind(size, kernel=k) for size in (1, 1000) for k in (False, True))):
        _demand(isinstance(bound, type(prior)), prior, f"bind must return its own kind, got {bound!r}")
        _check_prior_law(bound)
        _check_kink(bound)


def _check_prior_law(prior: Prior) -> None:
    u = np.logspace(-8, 8, 97)
    penalty, variance = prior.penalty(u), prior.variance(u)
    fine = np.isfinite(penalty) & np.isfinite(variance) & (variance >= 0)
    sentence = f"penalty and variance must be finite, variance >= 0, at u = {u[np.argmin(fine)]:g}"
    _demand(fine.all(), prior, sentence)
    # In log u every penalty is smooth on the scale of one, for any u.
    slope, rounding = _derivative(lambda t: prior.penalty(np.exp(t)), np.log(u), 0.1)
    law, factor = "2 * d penalty/du * variance(u) == 1", 2 * variance / u
    _agree(prior, law, factor * slope, 1.0, slack=factor * rounding, u=u)
    for name, values in (("penalty", penalty), ("variance", variance)):
        falls = np.diff(values) < -8 * _MACHINE_EPSILON * np.abs(values[1:])
        _demand(not falls.any(), prior, f"{name} must not fall, it does at u = {u[np.argmax(falls)]:g}")


def _check_kink(prior: Prior) -> None:
    """Compare with ``w / variance(w^2)``, the slope in ``|w|`` by the law, without cancellation."""
    w = np.array([1e-75, 1e-150])
    kink, at_zero = prior.kink, float(prior.variance(np.zeros(1))[0])
    with np.errstate(divide="ignore"):
        far, near = w / prior.variance(w**2)
    # Even for |w|^0.999 the slope changes by a fifth between the two.
    growth = near / far
    told = growth < 0.95 if kink == 0 else growth > 1.05 if np.isinf(kink) else np.isclose(near, kink)
    sentence = f"kink == {kink:g} is broken: the slope of the penalty is {near:g} at |w| = 1e-150"
    _demand(told, prior, sentence)
    fits = 0 <= at_zero <= prior.variance(np.full(1, 1e-300))[0] and (kink == 0 or at_zero == 0)
    _demand(fits, prior, f"variance(0) must be the limit, and 0 where the kink is not, got {at_zero:g}")
    size = np.logspace(-4, 4, 17)
    rise = prior.penalty(size**2) - prior.penalty(size[:1] ** 2)
    truth = 0 < kink < np.inf and np.allclose(rise, kink * (size - size[0]), rtol=1e-9)
    _demand(truth == prior.is_l1, prior, f"is_l1 must tell if the penalty is kink * |w|: {truth}")


def check_likelihood(likelihood: Likelihood) -> None:
    """Check a likelihood: the laws that tie bound, surrogate and log probability together.

    ``d bound/dm == r (z - m)``, ``d bound/dv == -r/2``, ``bound(y, m, 0) == log_prob(y, m)``,
    ``bound <= E[log p]``; ``derivatives`` are those of ``log_prob``; everything is finite out to
    ``|f| = 1e4``; ``refit`` never lowers the likelihood and treats a weight of 2 as a repeated row. For
    a :class:`~laconism.likelihoods.Binary` the link is normalised and its integral is right.

    Examples
    --------
    >>> from laconism.likelihoods import Probit
    >>> from laconism.testing import check_likelihood
    >>> check_likelihood(Probit())
    """
    likelihood.check()
    _check_parameters(likelihood)
    drawn = likelihood.sample(np.repeat(np.linspace(-3.0, 3.0, 5), 3), 0)
    moments = (drawn, [-30.0, -5.0, -1.0, -0.1, 0.0, 0.3, 2.0, 30.0], [0.0, 0.1, 1.0, 10.0])
    y, m, v = (grid.ravel() for grid in np.meshgrid(*moments))
    where = {"y": y, "m": m, "v": v}
    z, r = likelihood.surrogate(y, m, v)
    fits = np.shape(z) == np.shape(r) == y.shape and bool((r > 0).all())
    _demand(fits, likelihood, "z and r must have the shape of y, and r must be positive")
    step = 0.05 / np.maximum(1.0, np.abs(m))  # in the tails the curvature varies on the scale of 1/|m|
    slope, slack = _derivative(lambda t: likelihood.bound(y, t, v), m, step)
    slack = slack + 4 * _MACHINE_EPSILON * r * np.abs(m)  # z - m cancels where the gradient is small
    _agree(likelihood, "d bound/dm == r (z - m)", r * (z - m), slope, slack=slack, **where)
    slope, slack = _derivative(lambda t: likelihood.bound(y, m, t), v, 5e-3, _FORWARD_NODES)
    _agree(likelihood, "d bound/dv == -r/2", -r / 2, slope, slack=slack, **where)
    prob = likelihood.log_prob(y, m)
    point, bound = likelihood.bound(y, m, 0 * v), likelihood.bound(y, m, v)
    _agree(likelihood, "bound(y, m, 0) == log_prob(y, m)", point, prob, rtol=1e-9, slack=1e-12, **where)
    cap = _expectation(lambda f: likelihood.log_prob(y, f), m, v)
    _agree(likelihood, "bound <= E[log p]", np.maximum(bound, cap), cap, rtol=1e-8, slack=1e-8, **where)
    _check_derivatives(likelihood, y, m, step)
    _check_tails(likelihood, drawn)
    _check_refit(likelihood)
    if isinstance(likelihood, Binary):
        _check_link(likelihood)


def _check_derivatives(likelihood: Likelihood, y: Array, m: Array, step: Array) -> None:
    """Check slope and curvature of the log probability against finite differences."""
    first, second = likelihood.derivatives(y, m)
    slope, slack = _derivative(lambda f: likelihood.log_prob(y, f), m, step)
    _agree(likelihood, "derivatives()[0] == log_prob'", first, slope, slack=slack, y=y, f=m)
    slope, slack = _derivative(lambda f: likelihood.derivatives(y, f)[0], m, step)
    _agree(likelihood, "derivatives()[1] == -log_prob''", second, -slope, slack=slack, f=m)
    together, apart = likelihood.evaluate(y, m), (likelihood.log_prob(y, m), first, second)
    _agree(likelihood, "evaluate() == log_prob(), derivatives()", together, apart, rtol=1e-9, y=y, f=m)


def _check_tails(likelihood: Likelihood, drawn: Array) -> None:
    """Check that everything is finite far out."""
    for far in (-1e4, 1e4):
        f, one = np.full_like(drawn, far), np.ones_like(drawn)
        answers = [likelihood.bound(drawn, f, one), *likelihood.surrogate(drawn, f, one)]
        answers += [*likelihood.evaluate(drawn, f), *likelihood.derivatives(drawn, f)]
        _demand(bool(np.isfinite(answers).all()), likelihood, f"all must be finite at f = {far:g}")


def _check_refit(likelihood: Likelihood) -> None:
    rng = np.random.default_rng(1)
    for spread in (0.3, 1.0, 3.0):
        f, weight = rng.normal(size=60) * spread, rng.uniform(0.5, 2.0, size=60)
        y = likelihood.sample(f, rng)
        after = likelihood.refit(y, f, weight, 2)
        gain = float(weight @ (after.log_prob(y, f) - likelihood.log_prob(y, f)))
        _demand(gain >= -1e-9, likelihood, f"refit must not lower the likelihood, it loses {-gain:g}")
        repeated = likelihood.refit(np.tile(y, 2), np.tile(f, 2), np.ones(120), 2).log_prob(y, f)
        weighted = likelihood.refit(y, f, np.full(60, 2.0), 2).log_prob(y, f)
        _agree(likelihood, "weight 2 == a repeated row in refit", weighted, repeated, rtol=1e-9)


def _check_link(likelihood: Binary) -> None:
    t = np.linspace(-30.0, 30.0, 121)
    total = np.exp(likelihood.log_link(t)) + np.exp(likelihood.log_link(-t))
    _agree(likelihood, "link(t) + link(-t) == 1", total, 1.0, rtol=1e-12, t=t)
    y, law = np.where(np.arange(t.size) % 2, 1.0, -1.0), "log_prob(y, f) == log_link(y f)"
    _agree(likelihood, law, likelihood.log_prob(y, t), likelihood.log_link(y * t), rtol=1e-12, y=y, f=t)
    m, v = (grid.ravel() for grid in np.meshgrid(np.linspace(-6.0, 6.0, 25), [0.0, 0.1, 1.0, 10.0]))
    got = np.exp(likelihood.log_link(likelihood.moderate(m, v)))
    expected = _expectation(lambda f: np.exp(likelihood.log_link(f)), m, v)
    _agree(likelihood, "link(moderate(m, v)) == E[link(f)]", got, expected, m=m, v=v)


def check_kernel(kernel: Kernel, n_features: int = 3) -> None:
    """Check that a kernel is symmetric, positive semi-definite and consistent with itself.

    ``diag`` is the diagonal, every entry depends on its own two rows only, and ``scale_gradient`` is
    the derivative in the feature scales (a kernel without one raises ``TypeError`` there).

    Parameters
    ----------
    kernel : Kernel
    n_features : int, default=3
        Number of features of the test rows.

    Examples
    --------
    >>> from laconism.kernels import RBF, Linear
    >>> from laconism.testing import check_kernel
    >>> check_kernel(RBF(gamma=0.3) * Linear())
    """
    kernel.check()
    _check_parameters(kernel)
    rng = np.random.default_rng(0)
    X, C = rng.normal(size=(12, n_features)), rng.normal(size=(7, n_features))
    K, cross = kernel(X, X), kernel(X, C)
    _demand(cross.shape == (12, 7), kernel, f"K(X, C) must have shape (12, 7), got {cross.shape}")
    slack = 1e-12 * np.abs(K).max()
    _agree(kernel, "K(X, X) == K(X, X)'", K, K.T, rtol=0.0, slack=slack)
    _agree(kernel, "K(X, C) == K(C, X)'", cross, kernel(C, X).T, rtol=1e-12, slack=slack)
    _agree(kernel, "an entry of K hangs on two rows", kernel(X[2:5], C[:2]), cross[2:5, :2], rtol=1e-9)
    _agree(kernel, "diag(X) == K(X, X)_ii", kernel.diag(X), np.diag(K), rtol=1e-12, slack=slack)
    least, *_, largest = np.linalg.eigvalsh((K + K.T) / 2)
    positive = bool(least >= -1e-10 * largest)
    _demand(positive, kernel, f"K must be positive semi-definite, but has the eigenvalue {least:g}")
    theta, W = rng.uniform(0.3, 1.7, size=n_features), rng.normal(size=(12, 7))
    try:
        gradient = kernel.scale_gradient(X, C, theta, W)
    except TypeError:
        return

    def along(steps: Array) -> Array:
        scaled = np.sqrt(theta + np.diag(steps))
        return np.array([np.sum(W * kernel(X * root, C * root)) for root in scaled])

    expected, slack = _derivative(along, np.zeros(n_features), 0.01)
    slack = 1e-8 * np.abs(expected).max() + 10 * slack
    _agree(kernel, "scale_gradient == d sum(W K)/d theta", gradient, expected, slack=slack)


def check_solver(solver: Solver) -> None:
    """Check that a solver never lowers the objective and stops at a stationary point.

    A small problem is solved for each likelihood and each prior that the solver accepts, with and
    without a free intercept. At the solution the gradient of the log-likelihood equals the slope of the
    penalty, ``w / variance(w**2)``, for each kept weight, and is at most the prior's kink for each
    dropped one.

    Examples
    --------
    >>> from laconism.solvers import Newton
    >>> from laconism.testing import check_solver
    >>> check_solver(Newton())
    """
    given: list[Prior] = [priors.Gaussian(width=2.0), priors.StudentT(a=0.5, b=0.1)]
    given += [priors.Laplace(rate=3.0), priors.Jeffreys(strength=1.0)]
    given += [priors.GeneralizedGaussian(q, 1.0) for q in (0.5, 1.5)]
    accepted = 0
    for prior in given:
        try:
            chosen = choose_solver(solver, prior)
        except ValueError:  # the solver does not accept this prior
            continue
        accepted += 1
        for name in ("Gaussian", "Probit", "Logistic", "Student"):
            for intercept in (False, True):
                _check_answer(chosen, prior, getattr(likelihoods, name)(), intercept)
    _demand(accepted > 0, solver, "it accepts none of the priors")


class _Watched:
    """A solver that records the largest relative drop of the objective in one step."""

    def __init__(self, solver: Solver) -> None:
        self.prunes, self.init, self.done = solver.prunes, solver.init, solver.done
        self._solver, self.drop = solver, 0.0

    def step(self, problem: Problem, state: State) -> State:
        new = self._solver.step(problem, state)
        self.drop = max(self.drop, (state.objective - new.objective) / max(1.0, abs(new.objective)))
        return new


def _check_answer(solver: Solver, prior: Prior, likelihood: Likelihood, intercept: bool) -> None:
    rng = np.random.default_rng(3)
    matrix = rng.normal(size=(60, 8)) * np.linspace(0.5, 2.0, 8)
    truth = np.array([1.5, 0.0, -1.0, 0.0, 0.0, 0.8, 0.0, 0.0])
    y, weight = likelihood.sample(matrix @ truth + 0.5 * intercept, rng), rng.uniform(0.5, 1.5, size=60)
    problem = Problem(DenseDesign(matrix), y, likelihood, prior, weight, intercept)
    answer = solve(problem, watched := _Watched(solver), max_iter=20_000, tol=1e-13)
    case = f"under {prior!r} and {likelihood!r} with{'' if intercept else 'out'} an intercept"
    _demand(answer.status.converged, solver, f"it must converge {case}")
    sentence = f"no step may lower the objective {case}, one does by {watched.drop:.1e}"
    _demand(watched.drop <= 1e-10, solver, sentence)
    state, kept = answer.state, answer.state.w != 0
    w, Phi = state.w[kept], matrix[:, answer.active[kept]]
    slope, curvature = state.likelihood.derivatives(y, Phi @ w + state.b)
    # In standard errors: the possible gain along a weight is half the square of this.
    error = np.sqrt((weight * curvature) @ Phi**2)
    residual = np.abs((weight * slope) @ Phi - w / prior.variance(w**2)) / error
    if intercept:
        residual = np.append(residual, abs(weight @ slope) / np.sqrt(weight @ curvature))
    worst = residual.max(initial=0.0)
    _demand(worst <= 1e-4, solver, f"the slope at the answer must be zero {case}, it is {worst:.1e}")
    dropped = np.setdiff1d(np.arange(matrix.shape[1]), answer.active[kept])
    steep = np.abs((weight * slope) @ matrix[:, dropped]).max(initial=0.0)
    fits = steep <= prior.kink * (1 + 1e-5)
    _demand(fits, solver, f"no dropped weight may want back {case}, one has slope {steep:.1e}")


def check_dask_estimator(estimator: Any, client: Any) -> None:
    """Check an estimator of :mod:`laconism.dask` on a running cluster.

    Predictions do not depend on how rows are partitioned, are lazy, in the partitions of the rows, and
    equal those of ``to_local()``. The client is neither pickled nor copied. Faulty data are refused by a
    sentence that names the partition, and leave a fitted model as it was. Needs
    ``pip install "laconism[dask]"``.

    Parameters
    ----------
    estimator : object
        Not fitted; it is not changed.
    client : distributed.Client

    Examples
    --------
    >>> from distributed import Client
    >>> from laconism.dask import DaskSparseBayesRegressor
    >>> from laconism.testing import check_dask_estimator
    >>> check_dask_estimator(DaskSparseBayesRegressor(), Client(processes=False))  # doctest: +SKIP
    """
    from .dask.law import check_dask_estimator as check

    check(estimator, client)


def check_design(design: Design, matrix: Array) -> None:
    """Check every operation of a design against the explicit matrix.

    Parameters
    ----------
    design : Design
    matrix : ndarray of shape (n, p)
        The matrix that the design represents.

    Examples
    --------
    >>> import numpy as np
    >>> from laconism.design import DenseDesign
    >>> from laconism.testing import check_design
    >>> matrix = np.arange(6.0).reshape(3, 2)
    >>> check_design(DenseDesign(matrix), matrix)
    """
    matrix, owner, every = np.asarray(matrix, dtype=float), type(design), np.arange(matrix.shape[1])
    _check_operations(design, matrix)
    for active in (every, every[::2], every[:1], every[:0], every, every[::-1]):  # twice all: no change
        _check_operations(design.keep(active), matrix[:, active], f" after keep({active.tolist()})")
    _check_operations(design.share(), matrix, " after share()")
    _check_operations(design.rows(np.arange(0, len(matrix), 2)), matrix[::2], " after rows([0, 2, ...])")
    r, gram = np.full(matrix.shape[0], 3.0), matrix.T @ matrix
    design.gram(r)
    r *= 2.0
    _agree(owner, "gram(r) == Phi' R Phi, for r as it is now", design.gram(r), 6 * gram, rtol=1e-9)


def _check_operations(design: Design, matrix: Array, when: str = "") -> None:
    owner, (n, p), rng = type(design), matrix.shape, np.random.default_rng(0)
    _demand(design.shape == (n, p), owner, f"shape must be {(n, p)}, got {design.shape}")
    z, w, some = np.asarray(rng.normal(size=n)), np.asarray(rng.normal(size=p)), np.arange(p)[::-2]
    slack = 1e-9 * max(1.0, np.abs(matrix).max(initial=0.0)) ** 2 * max(n, p)
    for r in (np.asarray(rng.uniform(0.1, 2.0, size=n)), np.ones(n)):
        (T, t, one, U), gram = design.compress(r, z), matrix.T @ (r[:, None] * matrix)
        _demand(len(T) <= design.height, owner, f"compress{when} must have at most height rows")
        pairs: dict[str, tuple[Any, Any]] = {
            "matvec(w) == Phi w": (design.matvec(w), matrix @ w),
            "rmatvec(z) == Phi' z": (design.rmatvec(z), matrix.T @ z),
            "square_rmatvec(r) == (Phi * Phi)' r": (design.square_rmatvec(r), (matrix**2).T @ r),
            "gram(r) == Phi' R Phi": (design.gram(r), gram),
            "gram_rows(k, r) == gram(r)[k]": (design.gram_rows(some, r), gram[some]),
            "T'T == Phi' R Phi": (T.T @ T, gram),
            "T't == Phi' R z": (T.T @ t, matrix.T @ (r * z)),
            "T'one == Phi' R 1": (T.T @ one, matrix.T @ r),
            "one'one == sum(r)": (one @ one, r.sum()),
            "one't == r'z": (one @ t, r @ z),
            "U T == R^(1/2) Phi": (T if U is None else U() @ T, np.sqrt(r)[:, None] * matrix),
            "matvec of a matrix": (design.matvec(w[:, None]), matrix @ w[:, None]),
            "rmatvec of a matrix": (design.rmatvec(z[:, None]), matrix.T @ z[:, None]),
        }
        for law, (got, expected) in pairs.items():
            same = np.shape(got) == np.shape(expected)
            _demand(same, owner, f"{law}{when} is broken: the shape is {np.shape(got)}")
            _agree(owner, law + when, got, expected, rtol=1e-9, slack=slack)
