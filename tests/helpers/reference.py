"""Naive references: numpy and scipy only, never laconism: no code path is shared with src.

``Phi`` is the whole design (the caller adds a column of ones if wanted), ``y01`` holds labels
0 / 1, ``weight_of(beta)`` returns variances 1 / E[1/tau_j], ``penalty(w)`` minus the log prior:

    prior                             weight_of                      penalty
    Jeffreys                          beta^2                         log|w|
    Laplace                           |beta| / rate                  rate |w|
    Gaussian                          constant                       w^2 / (2 constant)
    Student-t (a, b)                  (b + beta^2 / 2) / (a + 1/2)   (a + 1/2) log(b + w^2 / 2)
    generalized Gaussian (q, scale)   scale |beta|^(2 - q) / q       |w|^q / scale

[FJ01] Figueiredo & Jain, Bayesian learning of sparse classifiers, CVPR 2001.
[F01]  Figueiredo, Adaptive sparseness using Jeffreys prior, NIPS 2001.
"""

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_ndtr


def probit_ratio(t):
    """N(t|0,1) / Phi(t): in logarithms, and by Laplace's continued fraction in the far tail."""
    near, x = np.maximum(t, -30.0), np.maximum(-t, 30.0)
    tail = x
    for k in range(10, 0, -1):  # x + 1/(x + 2/(x + 3/(x + ...)))
        tail = x + k / tail
    ratio = np.exp(-0.5 * near**2 - 0.5 * np.log(2 * np.pi) - log_ndtr(near))
    return np.where(t < -30.0, tail, ratio)


def ridge_solution(A, y, ridge):
    """argmin |A a - y|^2 + ridge |a|^2 through the SVD: never squares the condition number of A."""
    U, s, Vt = np.linalg.svd(A, full_matrices=False)
    return Vt.T @ (s / (s**2 + ridge) * (U.T @ y))


def _iterate(update, beta, Phi, tol, max_iter, stop):
    iterates = [beta]
    for _ in range(max_iter):
        old, beta = beta, update(beta)
        iterates.append(beta)
        if stop == "weights":  # Step 4 of [FJ01]; a model that has vanished has converged too
            done = np.linalg.norm(beta - old) <= tol * np.linalg.norm(old)
        elif stop == "latent":  # stricter: no latent value moves by more than tol
            done = np.max(np.abs(Phi @ (beta - old))) <= tol
        else:
            raise ValueError(f"stop must be 'weights' or 'latent', got {stop!r}")
        if done:
            break
    return iterates


def textbook_em_classification(
    Phi, y01, weight_of, *, ridge=1e-6, tol=1e-3, max_iter=1000, stop="weights", start=None
):
    """Section 3.3 of [FJ01], every column penalised, nothing pruned: (beta, all iterates)."""
    sign = 2.0 * np.asarray(y01) - 1.0

    def update(beta):
        f = Phi @ beta
        v = f + sign * probit_ratio(sign * f)  # eq. (6)
        theta = np.sqrt(weight_of(beta))  # eq. (15)
        return theta * ridge_solution(Phi * theta, v, 1.0)  # eq. (16)

    beta = ridge_solution(Phi, np.asarray(y01, float), ridge) if start is None else start  # Step 2
    iterates = _iterate(update, beta, Phi, tol, max_iter, stop)
    return iterates[-1], iterates


def textbook_em_regression(
    Phi,
    y,
    weight_of,
    *,
    sigma2=None,
    ridge=1e-6,
    tol=1e-3,
    max_iter=1000,
    stop="weights",
    start=None,
):
    """Section 2 of [F01], nothing pruned: (beta, its noise, all iterates); ``sigma2`` fixes it."""

    def noise(beta):
        return np.mean((y - Phi @ beta) ** 2) if sigma2 is None else sigma2  # eq. (3)

    def update(beta):
        theta = np.sqrt(weight_of(beta))
        return theta * ridge_solution(Phi * theta, y, noise(beta))  # eq. (4)

    beta = ridge_solution(Phi, y, ridge) if start is None else start
    iterates = _iterate(update, beta, Phi, tol, max_iter, stop)
    return iterates[-1], noise(iterates[-1]), iterates


def log_posterior_classification(Phi, y01, beta, penalty):
    """Log p(y|beta) - sum_j penalty(beta_j) under the probit likelihood."""
    return np.sum(log_ndtr((2.0 * np.asarray(y01) - 1.0) * (Phi @ beta))) - np.sum(penalty(beta))


def log_posterior_regression(Phi, y, beta, sigma2, penalty):
    """Log N(y | Phi beta, sigma2 I) - sum_j penalty(beta_j)."""
    residual = y - Phi @ beta
    normaliser = -0.5 * len(y) * np.log(2 * np.pi * sigma2)
    return normaliser - residual @ residual / (2 * sigma2) - np.sum(penalty(beta))


def lasso_probit(Phi, y01, rate, free_intercept):
    """Maximise sum log Phi(s f) - rate |w|_1, f = Phi w + b, s = 2 y01 - 1: (w, b)."""
    s = 2.0 * np.asarray(y01) - 1.0

    def loss(f):
        h = probit_ratio(s * f)
        return -np.sum(log_ndtr(s * f)), -s * h, h * (h + s * f)

    return _lasso(Phi, loss, rate, free_intercept)


def lasso_logistic(Phi, y01, rate, free_intercept):
    """Maximise sum log expit(s f) - rate |w|_1: (w, b)."""
    s = 2.0 * np.asarray(y01) - 1.0

    def loss(f):
        return np.sum(np.logaddexp(0, -s * f)), -s * expit(-s * f), expit(f) * expit(-f)

    return _lasso(Phi, loss, rate, free_intercept)


def lasso_gaussian(Phi, y, rate, sigma2, free_intercept):
    """Minimise |y - f|^2 / (2 sigma2) + rate |w|_1: (w, b)."""

    def loss(f):
        return np.sum((y - f) ** 2) / (2 * sigma2), (f - y) / sigma2, np.full(len(y), 1 / sigma2)

    return _lasso(Phi, loss, rate, free_intercept)


def _lasso(Phi, loss, rate, free_intercept):
    """L-BFGS-B on w = w+ - w-, then Newton on the support it found; asserts the KKT conditions.

    Where the minimiser is not unique (repeated columns) this returns one of them.
    """
    n, p = Phi.shape
    A = np.column_stack([Phi, np.ones(n)]) if free_intercept else Phi
    rates = np.r_[np.full(p, float(rate)), np.zeros(A.shape[1] - p)]

    def split(x):
        value, slope, _ = loss(A @ (x[: len(rates)] - x[len(rates) :]))
        g = A.T @ slope
        return value + np.r_[rates, rates] @ x, np.r_[g + rates, rates - g]

    options = {"maxiter": 20_000, "maxfun": 40_000, "ftol": 1e-15, "gtol": 1e-9, "maxcor": 30}
    start, box = np.zeros(2 * len(rates)), [(0, None)] * (2 * len(rates))
    x = minimize(split, start, jac=True, method="L-BFGS-B", bounds=box, options=options).x
    w = x[: len(rates)] - x[len(rates) :]
    w[(np.abs(w) < 1e-4 * np.max(np.abs(w))) & (rates > 0)] = 0.0
    w = _polish(A, loss, rates, w)
    g = A.T @ loss(A @ w)[1]
    assert np.all(np.abs(g) <= rates + 1e-7 * rate), "KKT: a zero weight wants to move"
    assert np.all(np.abs(g + rates * np.sign(w))[w != 0] <= 1e-7 * rate), "KKT: not stationary"
    return w[:p], float(w[p]) if free_intercept else 0.0


def _polish(A, loss, rates, w):
    """Newton on the weights with a sign; one that reaches zero leaves, the worst outside joins."""
    sign = np.sign(w) * (rates > 0)
    for _ in range(100 * len(w)):
        on = (sign != 0) | (rates == 0)
        B, linear, a = A[:, on], (rates * sign)[on], w[on]
        value, slope, curvature = loss(B @ a)
        _, d, Vt = np.linalg.svd(np.sqrt(curvature)[:, None] * B)  # the Hessian is Vt' d^2 Vt
        d2 = np.zeros(len(a))
        d2[: len(d)] = d**2
        d2 += 1e-22 * np.max(d2, initial=1e-300)  # along a flat direction: far, to the next zero
        step = Vt.T @ (Vt @ (B.T @ slope + linear) / d2)
        scale, rounding = 1.0, 1e-12 * (1 + abs(value))  # near the answer the value cannot judge
        crossing = (a - step) * sign[on] < 0
        if crossing.any():
            scale = np.min(a[crossing] / step[crossing])  # no further than the first zero
        while loss(B @ (a - scale * step))[0] - value > scale * linear @ step + rounding:
            scale /= 2
        w[on] = a - scale * step
        gone = (np.abs(w) <= 1e-12 * np.max(np.abs(w))) & (sign != 0)
        w[gone], sign[gone] = 0.0, 0.0
        if gone.any() or np.any(np.abs(scale * step) > 1e-13 * (1 + np.abs(a))):
            continue
        g = A.T @ loss(A @ w)[1]
        outside = np.where((sign == 0) & (rates > 0), np.abs(g) - rates, -np.inf)
        worst = np.argmax(outside)
        if outside[worst] <= 1e-9 * rates[worst]:
            break
        sign[worst] = -np.sign(g[worst])
    return w


def gauss_hermite_expectation(function, m, v, n=200):
    """E[function(f)], f ~ N(m, v); ``m`` and ``v`` broadcast, ``function`` is elementwise."""
    t, weight = np.polynomial.hermite.hermgauss(n)
    m, v = np.broadcast_arrays(np.asarray(m, float), np.asarray(v, float))
    return function(m[..., None] + np.sqrt(2 * v)[..., None] * t) @ weight / np.sqrt(np.pi)


def numerical_derivative(function, x, h=1e-3):
    """Central differences of fourth order: error h^4 / 30 times the fifth derivative."""
    near, far = function(x + h) - function(x - h), function(x + 2 * h) - function(x - 2 * h)
    return (8 * near - far) / (12 * h)
