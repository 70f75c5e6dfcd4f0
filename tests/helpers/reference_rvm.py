"""Naive references for the relevance vector machines: numpy and scipy only, never laconism.

Everything is an explicit matrix, an explicit inverse or a numerical integral.

    latent        f = Phi w + b          ``Phi`` (n, M), M = prod(shape), C order; b only if asked for
    prior         w_k ~ N(0, 1 / A_k)    A_k the product or the sum of the precisions alpha of its slices
    hyperprior    alpha ~ Gamma(a0, b0)  shape and rate, the same for all; both 0: p(alpha) = 1 / alpha
    intercept     p(b) = 1               flat and improper, not divided by anything
    likelihoods   log expit(y f), y = -1 / +1, or log N(y | f, noise); row i counts ``weight[i]`` times

With an intercept, joint vectors and matrices have it last. All values are in nats, and nothing is
dropped: no log 2 pi, no lgamma(a0), no a0 log b0 (but an improper hyperprior has none to include).

[GRID] Bayesian logistic regression for classification of tabular data, the paper of the gridRVM.
[JJ00] Jaakkola and Jordan, Bayesian parameter estimation through variational methods, 2000.
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import digamma, expit, gammaln, log_expit, log_softmax, logsumexp

PRUNED = 1e12  # the precision at which a weight is as good as gone


class GridVB(NamedTuple):
    """What ``naive_grid_vb`` returns."""

    bounds: list  # after each solve for q(w, b) and its optimal xi or noise
    mu: np.ndarray  # mean of q(w, b) of the last solve
    Sigma: np.ndarray  # its covariance
    gammas: list  # (shape, rate) arrays of q(alpha) per mode, after the last sweep
    local: object  # xi, shape (n,), or the noise variance


def expected_alpha(gammas):
    return [a / b for a, b in gammas]


def expected_log_alpha(gammas):
    return [digamma(a) - np.log(b) for a, b in gammas]


def outer_stack(vectors):
    """Stack one table of the whole shape per mode; entry (mode, i, j, ...) is that mode's own."""
    return np.stack(np.meshgrid(*vectors, indexing="ij"))


def precisions(gammas, combine):
    """E[A] as a table: the modes are independent under q, so a product of means or a sum of means."""
    tables = outer_stack(expected_alpha(gammas))
    return tables.prod(axis=0) if combine == "product" else tables.sum(axis=0)


def slice_sums(table, mode):
    return table.sum(axis=tuple(axis for axis in range(table.ndim) if axis != mode))


def jj_lambda(xi):
    """tanh(xi / 2) / (4 xi), and its limit 1/8."""
    safe = np.where(np.abs(xi) < 1e-4, 1.0, xi)
    return np.where(np.abs(xi) < 1e-4, 1 / 8 - xi**2 / 96, np.tanh(safe / 2) / (4 * safe))


def with_ones(Phi, intercept):
    return np.column_stack([Phi, np.ones(len(Phi))]) if intercept else np.asarray(Phi, float)


def inverse(P):
    """Inverse of a positive definite matrix, rows and columns brought to unit diagonal before."""
    s = 1 / np.sqrt(np.diag(P))
    inv = np.linalg.inv(P * np.outer(s, s)) * np.outer(s, s)
    return (inv + inv.T) / 2


def log_det(P):
    d = np.diag(P)
    s = 1 / np.sqrt(d)
    sign, value = np.linalg.slogdet(P * np.outer(s, s))
    assert sign > 0
    return value + np.sum(np.log(d))


def solve_weights(Phi, y, A, likelihood, local, intercept, weight):
    """q(w, b) given E[A] (flat) and xi or the noise: (mu, Sigma)."""
    D = with_ones(Phi, intercept)
    P = np.diag(np.r_[A, np.zeros(D.shape[1] - len(A))])
    if likelihood == "logistic":  # after (16) of [GRID]
        P = P + D.T @ np.diag(2 * weight * jj_lambda(local)) @ D
        h = D.T @ (weight * y / 2)
    else:
        P = P + D.T @ np.diag(weight / local) @ D
        h = D.T @ (weight * y / local)
    Sigma = inverse(P)
    return Sigma @ h, Sigma


def optimal_local(Phi, y, mu, Sigma, likelihood, intercept, weight):
    """xi = sqrt(m^2 + v), or the noise variance: the (weighted) mean of (y - m)^2 + v."""
    D = with_ones(Phi, intercept)
    m, v = D @ mu, np.einsum("ij,jk,ik->i", D, Sigma, D)
    if likelihood == "logistic":
        return np.sqrt(m**2 + v)
    return np.sum(weight * ((y - m) ** 2 + v)) / np.sum(weight)


def grid_bound(Phi, y, mu, Sigma, gammas, combine, likelihood, a0, b0, local, intercept, weight=None):
    """Return the lower bound on log p(y) for any Gaussian q(w, b), any Gamma q(alpha), any xi or noise.

    E log F(y | w, b, xi)  +  E log p(w | alpha)  +  E log p(alpha)  +  entropies of q(w, b), q(alpha)

    Of an improper hyperprior (a0 or b0 is 0) E log p(alpha) is (a0 - 1) E log alpha - b0 E alpha; with
    a0 = 0 the sum's bound has no maximum: it grows without end as a mode is switched off.

    F is [JJ00]'s bound, or the Gaussian likelihood itself. For the sum, E log p(w | alpha) has
    log sum_m exp(E log alpha_m) for E log sum_m alpha_m: (23) of [GRID] at its optimal eta, zeta.
    """
    weight = np.ones(len(y)) if weight is None else np.asarray(weight, float)
    D = with_ones(Phi, intercept)
    m, v = D @ mu, np.einsum("ij,jk,ik->i", D, Sigma, D)
    if likelihood == "logistic":
        rows = log_expit(local) + (y * m - local) / 2 - jj_lambda(local) * (m**2 + v - local**2)
    else:
        rows = -0.5 * np.log(2 * np.pi * local) - ((y - m) ** 2 + v) / (2 * local)

    M = Phi.shape[1]
    second = mu[:M] ** 2 + np.diag(Sigma)[:M]
    logs = outer_stack(expected_log_alpha(gammas))
    log_A = logs.sum(axis=0) if combine == "product" else logsumexp(logs, axis=0)
    A = precisions(gammas, combine).ravel()
    weights = 0.5 * np.sum(log_A) - 0.5 * np.sum(A * second) - 0.5 * M * np.log(2 * np.pi)
    entropy = 0.5 * len(mu) * (1 + np.log(2 * np.pi)) + 0.5 * log_det(Sigma)

    hyper = (
        0.0  # E log p(alpha) - E log q(alpha), with E log alpha = digamma(a) - log b, terms collected
    )
    for a, b in gammas:
        hyper += np.sum((a0 - a) * digamma(a) - a0 * np.log(b) - b0 * a / b + a + gammaln(a))
        if a0 > 0 and b0 > 0:
            hyper += len(a) * (a0 * np.log(b0) - gammaln(a0))
    return float(np.sum(weight * rows) + weights + entropy + hyper)


def update_gammas(second, gammas, combine, a0, b0):
    """q(alpha) of every mode given E[w^2] as a table: after (16) and (24) of [GRID]."""
    gammas = list(gammas)
    if combine == "product":
        for mode in range(second.ndim):  # one after the other, each with the newest others
            tables = outer_stack(expected_alpha(gammas))
            others = np.delete(tables, mode, axis=0).prod(axis=0)  # ones if there is no other
            count = slice_sums(np.ones_like(second), mode)
            gammas[mode] = (a0 + 0.5 * count, b0 + 0.5 * slice_sums(others * second, mode))
        return gammas
    share = np.exp(log_softmax(outer_stack(expected_log_alpha(gammas)), axis=0))
    return [
        (a0 + 0.5 * slice_sums(share[mode], mode), b0 + 0.5 * slice_sums(second, mode))
        for mode in range(second.ndim)
    ]


def start_gammas(shape, combine, a0, start):
    """q(alpha) with the means ``start`` and the shape that an update gives (sum: with equal shares)."""
    gammas = []
    for mode, mean in enumerate(start):
        count = np.prod(shape) / shape[mode]
        a = a0 + 0.5 * count / (1 if combine == "product" else len(shape))
        a, mean = np.full(shape[mode], a), np.broadcast_to(np.asarray(mean, float), shape[mode])
        gammas.append((a, a / mean))
    return gammas


def naive_grid_vb(
    Phi,
    y,
    shape,
    combine,
    likelihood,
    a0,
    b0,
    start,
    sweeps,
    intercept,
    noise=None,
    weight=None,
    estimate=None,
    xi=None,
):
    """Plain variational Bayes of [GRID] for 1 or more modes; one mode is the ordinary RVM.

    A sweep: q(w, b); then xi or the noise; then q(alpha). ``bounds[t]`` is the bound in sweep t
    before q(alpha) moves: of the new q(w, b), of the xi or noise that is best for it (a fixed noise
    is itself), of the q(alpha) that made it. ``mu``, ``Sigma``, ``local`` belong to ``bounds[-1]``,
    ``gammas`` is one update further. To have the bound anywhere else: ``grid_bound``.

    ``start`` holds the first E[alpha] of each mode, arrays or numbers. The first xi is 0 if not given.
    A given ``noise`` is fixed, with ``estimate=True`` it is where the estimate begins; no noise begins
    at the (weighted) variance of y, or at its mean square without an intercept.
    """
    y = np.asarray(y, float)
    shape = tuple(np.atleast_1d(shape))
    weight = np.ones(len(y)) if weight is None else np.asarray(weight, float)
    assert combine in ("product", "sum")
    assert likelihood in ("logistic", "gaussian")
    assert Phi.shape[1] == np.prod(shape)
    assert len(start) == len(shape)
    if likelihood == "logistic":
        assert set(np.unique(y)) <= {-1.0, 1.0}
        local, moves = np.zeros(len(y)) if xi is None else np.asarray(xi, float), True
    else:
        centre = np.average(y, weights=weight) if intercept else 0.0
        local = np.average((y - centre) ** 2, weights=weight) if noise is None else float(noise)
        moves = noise is None if estimate is None else estimate

    gammas, bounds = start_gammas(shape, combine, a0, start), []
    for _ in range(sweeps):
        A = precisions(gammas, combine).ravel()
        mu, Sigma = solve_weights(Phi, y, A, likelihood, local, intercept, weight)
        if moves:
            local = optimal_local(Phi, y, mu, Sigma, likelihood, intercept, weight)
        bounds.append(
            grid_bound(Phi, y, mu, Sigma, gammas, combine, likelihood, a0, b0, local, intercept, weight)
        )
        M = Phi.shape[1]
        second = (mu[:M] ** 2 + np.diag(Sigma)[:M]).reshape(shape)
        gammas = update_gammas(second, gammas, combine, a0, b0)
    return GridVB(bounds, mu, Sigma, gammas, local)


# ---- evidence --------------------------------------------------------------------------------------


def log_evidence_gaussian(Phi, y, alpha, noise, intercept):
    """Return log of the integral of N(y | Phi w + b, noise I) prod_k N(w_k | 0, 1 / alpha_k) dw db.

    Without an intercept log N(y | 0, C), C = noise I + Phi diag(1 / alpha) Phi'. With one, p(b) = 1 and
    the integral over b is done, its sqrt(2 pi / 1'C^-1 1) included: (n - 1) / 2 times log 2 pi remains.
    ``alpha`` may be infinite: a weight that is not there.
    """
    C, P = _covariance(Phi, alpha, noise, intercept)
    value = -0.5 * (len(y) * np.log(2 * np.pi) + log_det(C) + y @ P @ y)
    if intercept:
        one = np.ones(len(y))
        value += 0.5 * np.log(2 * np.pi) - 0.5 * np.log(one @ np.linalg.solve(C, one))
    return float(value)


def _covariance(Phi, alpha, noise, intercept):
    """C, and P: its inverse, less what the free intercept explains."""
    n, M = Phi.shape
    C = noise * np.eye(n) + (Phi / np.broadcast_to(np.asarray(alpha, float), M)) @ Phi.T
    P = inverse(C)
    if intercept:
        c = P.sum(axis=0)
        P = P - np.outer(c, c) / c.sum()
    return C, P


def laplace_mode(Phi, y, alpha, intercept):
    """Maximise sum log expit(y f) - sum alpha w^2 / 2 by Newton: (joint weights, minus Hessian)."""
    D = with_ones(Phi, intercept)
    A = np.r_[np.broadcast_to(np.asarray(alpha, float), Phi.shape[1]), np.zeros(int(intercept))]
    w = np.zeros(D.shape[1])

    def objective(w):
        return np.sum(log_expit(y * (D @ w))) - 0.5 * np.sum(A * w**2)

    for _ in range(500):
        f = D @ w
        H = D.T @ np.diag(expit(f) * expit(-f)) @ D + np.diag(A)
        slope = D.T @ (y * expit(-y * f)) - A * w
        move, step = inverse(H) @ slope, 1.0
        if slope @ move < 1e-24:  # twice the distance to the top
            return w, H
        while objective(w + step * move) < objective(w) and step > 1e-10:
            step /= 2
        w = w + step * move
    return w, H


def laplace_log_evidence(Phi, y, alpha, intercept):
    """Laplace's approximation of log of the integral of prod expit(y f) prod N(w | 0, 1 / alpha) dw db.

    log p(y | w*, b*) - sum alpha w*^2 / 2 + sum log alpha / 2 - log|H| / 2, and + log(2 pi) / 2 for
    the intercept, whose p(b) = 1 and which is in H: the log 2 pi of the weights' prior and of their
    integral cancel. An infinite ``alpha`` takes its weight out.
    """
    alpha = np.broadcast_to(np.asarray(alpha, float), Phi.shape[1])
    Phi, alpha = Phi[:, np.isfinite(alpha)], alpha[np.isfinite(alpha)]
    w, H = laplace_mode(Phi, y, alpha, intercept)
    value = np.sum(log_expit(y * (with_ones(Phi, intercept) @ w)))
    value += 0.5 * np.sum(np.log(alpha)) - 0.5 * np.sum(alpha * w[: len(alpha)] ** 2)
    if H.size:
        value -= 0.5 * log_det(H)
    return float(value + 0.5 * np.log(2 * np.pi) * bool(intercept))


def maximise_evidence_gaussian(Phi, y, intercept, starts=6, seed=0):
    """Maximise ``log_evidence_gaussian`` over every alpha and the noise: (alpha, noise, value).

    L-BFGS on the logarithms from several starts; between its runs each alpha goes to its exact best
    given all else, which may be infinite. An alpha of ``PRUNED`` (1e12) is one that is gone. Phi and y
    are expected to have scales near 1: alpha >= 1e-5, noise >= 1e-7 var(y).
    """
    rng = np.random.default_rng(seed)
    M = Phi.shape[1]
    firsts = [np.full(M, 1e-2), np.full(M, 1.0), np.full(M, 1e3), np.full(M, PRUNED)]
    firsts += [10 ** rng.uniform(-2, 4, size=M) for _ in range(max(starts - 4, 0))]
    best = None
    for first in firsts[:starts]:
        for part in (0.5, 0.01):
            found = _climb(Phi, y, intercept, first, part * np.var(y))
            if best is None or found[2] > best[2]:
                best = found
    return best


def _climb(Phi, y, intercept, alpha, noise):
    value = -np.inf
    for _ in range(200):
        alpha = _best_alphas(Phi, y, alpha, noise, intercept)
        alpha, noise = _lbfgs(Phi, y, alpha, noise, intercept)
        old, value = value, log_evidence_gaussian(Phi, y, alpha, noise, intercept)
        if value - old < 1e-11 * max(1.0, abs(value)):
            break
    return alpha, noise, value


def _best_alphas(Phi, y, alpha, noise, intercept):
    """Each alpha in turn: s^2 / (q^2 - s) with the others' P, or gone if q^2 <= s."""
    alpha = alpha.copy()
    for j in range(len(alpha)):
        alpha[j] = np.inf
        _, P = _covariance(Phi, alpha, noise, intercept)
        q, s = Phi[:, j] @ P @ y, Phi[:, j] @ P @ Phi[:, j]
        alpha[j] = min(s**2 / (q**2 - s), PRUNED) if q**2 > s else PRUNED
    return alpha


def _lbfgs(Phi, y, alpha, noise, intercept):
    kept = alpha < PRUNED

    def unpack(x):
        full = np.full(len(alpha), PRUNED)
        full[kept] = np.exp(x[:-1])
        return full, np.exp(x[-1])

    def minus(x):
        a, s2 = unpack(x)
        _, P = _covariance(Phi, a, s2, intercept)
        Py = P @ y
        by_C = 0.5 * (np.outer(Py, Py) - P)  # d log evidence / d C
        slope = -np.einsum("ij,ik,kj->j", Phi, by_C, Phi) / a
        return -log_evidence_gaussian(Phi, y, a, s2, intercept), -np.r_[slope[kept], s2 * np.trace(by_C)]

    bounds = [(np.log(1e-5), np.log(PRUNED))] * kept.sum()
    bounds += [(np.log(1e-7 * np.var(y)), np.log(10 * np.mean(y**2)))]
    x = np.r_[np.log(alpha[kept]), np.log(noise)]
    found = minimize(
        minus, x, jac=True, method="L-BFGS-B", bounds=bounds, options={"ftol": 1e-15, "gtol": 1e-10}
    )
    return unpack(found.x)


# ---- prediction ------------------------------------------------------------------------------------


def predictive_logistic(m, v):
    """E expit(f), f ~ N(m, v), by the trapezoid rule, which for this integrand is exact to rounding.

    Its error is exp(-2 pi d / h), d = pi / sqrt(v) the distance of expit's poles from the real line.
    """
    m, v = np.broadcast_arrays(np.asarray(m, float), np.asarray(v, float))
    result = np.empty(m.shape)
    for index in np.ndindex(m.shape):
        sd = np.sqrt(v[index])
        h = min(0.05, 0.5 / sd) if sd > 0 else 0.05
        z = np.arange(np.ceil(-38 / h), np.floor(38 / h) + 1) * h
        log_terms = log_expit(m[index] + sd * z) - z**2 / 2 - 0.5 * np.log(2 * np.pi) + np.log(h)
        result[index] = np.exp(logsumexp(log_terms))
    return result
