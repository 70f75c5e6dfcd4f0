"""Student-t noise: regression that is robust to outliers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.optimize import brentq, minimize
from scipy.special import digamma, erf, gammaln, lambertw, logsumexp, ndtri
from scipy.stats import norm
from scipy.stats import t as student

from .._component import is_positive, require
from .._protocols import Array, Seed
from ._noise import MAX_NOISE_PER_RESIDUAL, Noise, least_noise, median, robust_spread

# Bounds of the degrees of freedom. Below: finite variance, and tails heavy enough for Cauchy noise.
_MIN_DEGREES = 2.5
# Above: not distinguishable from a Gaussian.
_MAX_DEGREES = 100.0
# With fewer rows per column a fit may interpolate some rows, so that others look like outliers.
_MIN_ROWS_PER_COLUMN = 8
# The degrees of freedom are then at least this.
_MIN_DEGREES_FEW_ROWS = 4.0
# Nodes of the integral over the precision.
_PRECISION_NODES = 160


@dataclass(eq=False, repr=False)
class Student(Noise):
    r"""Student-t likelihood, :math:`y = f + \sigma t_\nu`, robust to outliers.

    A Gaussian whose precision differs from row to row, :math:`y \sim \mathcal N(f, \sigma^2/\tau)`,
    :math:`\tau \sim \mathrm{Gamma}(\nu/2, \nu/2)`. The touching Gaussian has the row's expected
    precision, :math:`(\nu + 1)/(\nu\sigma^2 + (y - m)^2 + v)` (Lange, Little and Taylor, JASA 84, 1989),
    so a target counts less the larger its residual. Scale and degrees of freedom are estimated together
    by maximum likelihood; without outliers the estimate is close to a Gaussian.

    Parameters
    ----------
    df : float, default=4.0
        Degrees of freedom :math:`\nu`, positive. 1 is Cauchy noise; large values approach a Gaussian.
    noise : float, default=1.0
        The squared scale :math:`\sigma^2`.
    estimate : bool, default=True
        Whether :meth:`refit` re-estimates the scale; ``False`` keeps scale and ``df`` as given.
    estimate_df : bool, default=True
        Whether :meth:`refit` also re-estimates the degrees of freedom, between 2.5 (or ``df``, if less)
        and 100; with few rows per column at least 4 (or ``df``, if less).
    floor : float, default=1e-12
        Lower bound of the estimate of ``noise``, as a fraction of the target's variance.

    Examples
    --------
    >>> import numpy as np
    >>> from laconism.likelihoods import Student
    >>> y, f = np.array([0.1, -0.2, 0.1, 40.0]), np.zeros(4)
    >>> _, r = Student(df=3.0).surrogate(y, f, np.zeros(4))
    >>> r.round(3)
    array([1.329, 1.316, 1.329, 0.002])
    """

    concave = False

    df: float = 4.0
    noise: float = 1.0
    estimate: bool = True
    estimate_df: bool = True
    floor: float = 1e-12

    def check(self) -> None:
        """Raise unless ``df`` and ``noise`` are positive."""
        super().check()
        require(is_positive(self.df), self, "df must be a positive number", self.df)

    @property
    def variance(self) -> float:
        """Variance of the Gaussian with the same probability within two deviations as the noise."""
        return float(self.noise * (student.isf(norm.sf(2.0), self.df) / 2) ** 2)

    @property
    def information(self) -> float:
        """Fisher information of a target about its latent."""
        return float((self.df + 1) / (self.df + 3) / self.noise)

    def squares(self, y: Array, f: Array) -> Array:
        """Return the squared residuals, each times its relative precision."""
        away = np.asarray(y - f) ** 2
        return np.asarray((self.df + 1) * away / (self.df + away / self.noise))

    def refit(self, y: Array, f: Array, weight: Array, n_columns: float, v: float = 0.0) -> Self:
        """Return the likelihood with scale and degrees of freedom at the maximum of its bound."""
        if not self.estimate:
            return self
        total, spread = float(weight.sum()), robust_spread(y, weight)
        least = least_noise(spread, median(np.abs(y), weight), self.floor, 2 * n_columns >= total)
        # In units of the target's variance nothing overflows.
        unit = max(spread, least)
        known = min(v, MAX_NOISE_PER_RESIDUAL * unit)
        q = np.maximum(((y - f) / np.sqrt(unit)) ** 2 + known / unit, 0.0)
        share = weight / total
        df, start = float(self.df), self.noise / unit
        if self.estimate_df:
            few_rows = _MIN_ROWS_PER_COLUMN * n_columns > total
            # The bounds include the present value, so that the likelihood never falls.
            heaviest = _MIN_DEGREES_FEW_ROWS if few_rows else _MIN_DEGREES
            df = _best_df(q, share, start, (min(heaviest, df), max(_MAX_DEGREES, df)))
        noise = max(_best_scale(q, share, df, start) * unit, least)
        if max(abs(df / self.df - 1), abs(noise / self.noise - 1)) < 1e-8:
            df, noise = self.df, self.noise  # a fixed point must not drift by rounding
        return type(self)(df, float(noise), True, self.estimate_df, self.floor)

    def calibrated(
        self,
        y: Array,
        m: Array,
        v: Array,
        weight: Array,
        resolution: float = 0.02,
        largest: float = 5.0,
    ) -> Self:
        """Return the likelihood with scale and degrees of freedom that fit left-out targets best.

        ``m`` and ``v`` are mean and variance of each row's latent as if the row had not been seen. The
        logarithms of the factors by which both change are rounded to multiples of ``resolution``, so
        that rounding errors do not move them, and that of the scale is at most ``largest``.
        """
        if not self.estimate:
            return self

        def at(log: Array) -> Any:
            df, noise = np.exp(log)
            df = np.clip(self.df * df, *ends) if self.estimate_df else self.df
            return type(self)(float(df), float(self.noise * noise), True, self.estimate_df, self.floor)

        def cost(log: Array) -> float:
            return -float(weight @ at(log).predictive(y, m, v))

        ends = min(_MIN_DEGREES, self.df), max(_MAX_DEGREES, self.df)
        by_df = np.log(ends) - np.log(self.df) if self.estimate_df else np.zeros(2)
        bounds = [tuple(by_df), (-largest, largest)]
        found: Any = minimize(cost, np.zeros(2), method="L-BFGS-B", bounds=bounds)
        best: Self = at(np.round(found.x / resolution) * resolution)
        return best

    def hold(self) -> Self:
        """Return the likelihood with scale and degrees of freedom fixed at their present values."""
        return type(self)(self.df, self.noise, estimate=False)

    def log_prob(self, y: Array, f: Array) -> Array:
        """Return the log density."""
        return self.bound(y, f, np.zeros(()))

    def bound(self, y: Array, m: Array, v: Array) -> Array:
        """Return the log density at the root mean squared residual (by Jensen's inequality)."""
        half, away = self.df / 2, np.asarray((y - m) ** 2 + v)
        level = gammaln(half + 0.5) - gammaln(half) - 0.5 * np.log(np.pi * self.df * self.noise)
        return np.asarray(level - (half + 0.5) * np.log1p(away / (self.df * self.noise)))

    def surrogate(self, y: Array, m: Array, v: Array) -> tuple[Array, Array]:
        """Return the target itself and its expected precision."""
        away = np.asarray((y - m) ** 2 + v)
        r = (self.df + 1) / (self.df * self.noise + away)
        return np.broadcast_to(y, away.shape).astype(float), r

    def derivatives(self, y: Array, f: Array) -> tuple[Array, Array]:
        """Return both; the second is negative at outliers, where the log density is not concave."""
        away = np.asarray(y - f)
        near = self.df * self.noise
        r = (self.df + 1) / (near + away**2)
        return np.asarray(r * away), np.asarray(r * ((near - away**2) / (near + away**2)))

    def predictive(self, y: Array, m: Array, v: Array) -> Array:
        r"""Return the log density of each target, latent and precision integrated out.

        Given :math:`\tau` the target is Gaussian with the variance :math:`v + \sigma^2/\tau`; the
        integral over :math:`\log\tau` is computed by the trapezoidal rule between points where the
        integrand is negligible.
        """
        y, m, v = np.broadcast_arrays(*(np.asarray(part, dtype=float) for part in (y, m, v)))
        away, half = (y - m) ** 2, self.df / 2
        far = v <= 1e-10 * (away + self.noise)  # the latent's variance changes no digit
        density = self.log_prob(y, m)
        if far.all():
            return density
        q, v = away[~far], v[~far]
        # Below low the posterior of tau at v = 0 is negligible, above high its prior is.
        low = np.log((self.df + 1) / (self.df + q / self.noise)) + _end(half + 0.5, 0)
        high = _end(half, -1)
        x, step = np.linspace(low, high, _PRECISION_NODES, axis=-1, retstep=True)
        s2 = v[:, None] + self.noise * np.exp(-x)
        log_p = half * (x - np.exp(x)) - 0.5 * (np.log(2 * np.pi * s2) + q[:, None] / s2)
        level = half * np.log(half) - gammaln(half)
        out = np.array(density)
        out[~far] = logsumexp(log_p, axis=1) + np.log(step) + level
        return out

    def half_width(self, v: Array, coverage: float) -> Array:
        """Return the quantile of the sum of latent and noise, by bisection."""
        half = self.df / 2
        x = np.linspace(_end(half, 0), _end(half, -1), _PRECISION_NODES)
        part = np.exp(half * (x - np.exp(x)) - logsumexp(half * (x - np.exp(x))))
        scale = np.sqrt(2 * (np.asarray(v, dtype=float)[..., None] + self.noise * np.exp(-x)))
        # An upper bound: quantiles of noise and latent with half of the probability outside each.
        unit = np.sqrt(self.noise + np.asarray(v, dtype=float))
        widest = student.isf((1 - coverage) / 4, self.df) + ndtri(0.75 + coverage / 4)
        low, high = np.zeros_like(unit), np.full_like(unit, widest)
        for _ in range(50):  # enough for double precision
            middle = 0.5 * (low + high)
            inside = (part * erf((middle * unit)[..., None] / scale)).sum(axis=-1) < coverage
            low, high = np.where(inside, middle, low), np.where(inside, high, middle)
        return np.asarray(0.5 * (low + high) * unit)

    def sample(self, f: Array, rng: Seed) -> Array:
        """Draw a target for each latent."""
        generator = np.random.default_rng(rng)
        return np.asarray(f + np.sqrt(self.noise) * generator.standard_t(self.df, size=np.shape(f)))


def _end(shape: float, branch: int, depth: float = 34.0) -> float:
    """Return the x, left or right of zero, at which ``shape * (x + 1 - exp(x))`` is minus the depth.

    An integrand that is 34 nats below its maximum is lost in rounding.
    """
    below = 1 + depth / shape
    if below > 700:  # exp(-below) underflows: asymptotic forms
        return -below if branch == 0 else float(np.log(below + np.log(below)))
    return float(-below - lambertw(-np.exp(-below), branch).real)


def _best_scale(q: Array, share: Array, df: float, start: float, max_steps: int = 100) -> float:
    r"""Return the squared scale of squared residuals for given degrees of freedom.

    The root s of :math:`\overline{(\nu+1)q/(\nu s + q)} = 1`. The left side decreases in s from
    :math:`(\nu + 1)` times the fraction of residuals that are not zero; if that is less than one, the
    result is zero.
    """
    some = q > 0
    if (df + 1) * float(share[some].sum()) <= 1:
        return 0.0
    q, share = q[some], share[some]
    # In log s it is decreasing and bounded: Newton's method, safeguarded by a bracket.
    low, high = np.log(q.min() / df) - 40.0, np.log(q.max()) + 40.0
    x = float(np.clip(np.log(max(start, np.finfo(float).tiny)), low, high))
    for _ in range(max_steps):
        part = q / (df * np.exp(x) + q)
        over = (df + 1) * float(share @ part) - 1
        low, high = (x, high) if over > 0 else (low, x)
        slope = (df + 1) * float(share @ (part * (1 - part)))
        new = x + over / slope if slope > 0 else np.inf
        if not low < new < high:
            new = 0.5 * (low + high)
        x, moved = float(new), abs(new - x)
        if moved <= 1e-12:
            break
    return float(np.exp(x))


def _best_df(q: Array, share: Array, start: float, ends: tuple[float, float]) -> float:
    """Return the degrees of freedom between ``ends`` of largest likelihood, each with its best scale."""
    scale = start

    def slope(log_df: float) -> float:
        # By the envelope theorem the derivative of the best scale drops out.
        nonlocal scale
        df = float(np.exp(log_df))
        best = _best_scale(q, share, df, scale)
        if best <= 0:
            return 1.0  # most residuals are zero and the scale is too: try larger df
        scale = best
        away = q / (df * best)
        level = digamma((df + 1) / 2) - digamma(df / 2) - 1 / df
        return float(level + share @ ((df + 1) / df * away / (1 + away) - np.log1p(away)))

    low, high = float(np.log(ends[0])), float(np.log(ends[1]))
    if slope(high) >= 0:
        return ends[1]
    if slope(low) <= 0:
        return ends[0]
    return float(np.exp(brentq(slope, low, high, xtol=1e-9)))
