"""Special functions and the two-class likelihoods against mpmath, out to the last tail."""

import mpmath
import numpy as np
import pytest
from scipy.special import expit, log_expit

from laconism.likelihoods import Logistic, Probit
from laconism.special import (
    jaakkola_weight,
    log_probit,
    logistic_normal_logit,
    probit_parts,
    probit_ratio,
)

# Both tails, the neighbourhood of zero, and the points where formulas are switched.
POINTS = np.unique(
    np.concatenate(
        [
            sign * np.array([0.0, 1e-300, 1e-8, 9e-5, 1.1e-4, 0.01, 0.3, 1.0, 2.0, 3.7, 5.0, 7.0])
            for sign in (-1, 1)
        ]
        + [sign * np.array([8.3, 11.9, 12.0, 12.1, 20.0, 25.0, 30.0, 37.0]) for sign in (-1, 1)]
        + [sign * np.array([38.0, 50.0, 100.0, 700.0, 745.0, 1e3, 1e4]) for sign in (-1, 1)]
    )
)
LEAST = float(np.finfo(float).tiny)  # below it a double has lost digits, and then becomes zero


@pytest.fixture(autouse=True)
def _digits():
    with mpmath.workdps(60):
        yield


def normal_cdf(t):
    return mpmath.erfc(-t / mpmath.sqrt(2)) / 2


def exact_ratio(t):
    return mpmath.exp(-t * t / 2) / mpmath.sqrt(2 * mpmath.pi) / normal_cdf(t)


def exact_curvature(t):
    # rho + t cancels about 2 log10 |t| digits of the sixty, and then again
    rho = exact_ratio(t)
    return rho * (rho + t)


def exact_log_cdf(t):
    return mpmath.log1p(-normal_cdf(-t)) if t > 0 else mpmath.log(normal_cdf(t))


def exact_expit(t):
    return 1 / (1 + mpmath.exp(-t)) if t > 0 else mpmath.exp(t) / (1 + mpmath.exp(t))


def exact_log_expit(t):
    return -mpmath.log1p(mpmath.exp(-t)) if t > 0 else t - mpmath.log1p(mpmath.exp(t))


def exact_jaakkola(xi):
    return mpmath.mpf(1) / 4 if xi == 0 else mpmath.tanh(xi / 2) / (2 * xi)


def check_close(function, exact, rtol, points=POINTS):
    got = np.asarray(function(points))
    assert got.shape == points.shape
    for t, value in zip(points, got, strict=True):
        expected = exact(mpmath.mpf(float(t)))
        if abs(expected) < LEAST:
            assert abs(value) <= LEAST, (t, value, float(expected))
        else:
            error = abs((mpmath.mpf(float(value)) - expected) / expected)
            assert error <= rtol, (float(t), float(value), float(expected), float(error))


# The exponent t^2/2 is rounded before exp makes its absolute error a relative one: eps t^2/2, which
# is 1.5e-13 at t = 37, where the density leaves the doubles.
EXPONENT = 5e-13


def probit_curvature(t):
    return probit_parts(t)[2]


@pytest.mark.parametrize(
    ("function", "exact", "rtol"),
    [
        (probit_ratio, exact_ratio, EXPONENT),
        (log_probit, exact_log_cdf, EXPONENT),
        (expit, exact_expit, 1e-12),
        (log_expit, exact_log_expit, 1e-12),
        (jaakkola_weight, exact_jaakkola, 1e-15),
        (lambda t: probit_parts(t)[0], exact_log_cdf, EXPONENT),
        (lambda t: probit_parts(t)[1], exact_ratio, EXPONENT),
        (lambda t: probit_parts(t)[2], exact_curvature, EXPONENT),
    ],
    ids=[
        "probit_ratio",
        "log_probit",
        "expit",
        "log_expit",
        "jaakkola_weight",
        "parts_log_p",
        "parts_ratio",
        "parts_curvature",
    ],
)
def test_tail_table(function, exact, rtol):
    check_close(function, exact, rtol)


def test_parts_of_a_hopeless_row_are_finite():
    log_p, ratio, curvature = probit_parts(np.array([-1e20, 1e20]))
    np.testing.assert_allclose(log_p, [-5e39, 0.0])
    np.testing.assert_allclose(ratio, [1e20, 0.0])
    np.testing.assert_allclose(curvature, [1.0, 0.0])


@pytest.mark.parametrize(
    "function", [probit_ratio, probit_curvature, log_probit], ids=lambda f: f.__name__
)
def test_the_left_tail_has_twelve_digits(function):
    exact = {
        probit_ratio: exact_ratio,
        probit_curvature: exact_curvature,
        log_probit: exact_log_cdf,
    }[function]
    check_close(function, exact, 1e-12, -np.geomspace(1.0, 1e4, 60))


@pytest.mark.parametrize("y", [-1.0, 1.0])
@pytest.mark.parametrize(
    ("likelihood", "log_cdf", "ratio", "curvature", "rtol"),
    [
        (Probit(), exact_log_cdf, exact_ratio, exact_curvature, EXPONENT),
        (
            Logistic(),
            exact_log_expit,
            lambda t: exact_expit(-t),
            lambda t: exact_expit(t) * exact_expit(-t),
            1e-12,
        ),
    ],
    ids=["probit", "logistic"],
)
def test_likelihood_tail_tables(likelihood, log_cdf, ratio, curvature, rtol, y):
    labels = np.full_like(POINTS, y)
    check_close(lambda f: likelihood.log_prob(labels, f), lambda f: log_cdf(y * f), rtol)
    check_close(lambda f: likelihood.derivatives(labels, f)[0], lambda f: y * ratio(y * f), rtol)
    check_close(lambda f: likelihood.derivatives(labels, f)[1], lambda f: curvature(y * f), rtol)
    check_close(lambda f: likelihood.evaluate(labels, f)[0], lambda f: log_cdf(y * f), rtol)
    check_close(lambda f: likelihood.evaluate(labels, f)[1], lambda f: y * ratio(y * f), rtol)
    check_close(lambda f: likelihood.evaluate(labels, f)[2], lambda f: curvature(y * f), rtol)


def test_scalars_lists_and_shapes():
    for function in (probit_ratio, probit_curvature, log_probit, jaakkola_weight):
        assert np.shape(function(0.5)) == ()
        assert np.shape(function([0.5, -1.0])) == (2,)
        assert np.shape(function(np.zeros((2, 3)))) == (2, 3)
    assert logistic_normal_logit(np.zeros((2, 1)), np.ones(3)).shape == (2, 3)
    assert logistic_normal_logit(np.zeros(0), 1.0).shape == (0,)


def test_curvature_stays_within_its_bounds():
    t = np.linspace(-200.0, 200.0, 20_001)
    c = probit_curvature(t)
    assert ((c >= 0) & (c <= 1)).all()
    assert (np.diff(c) <= 1e-12).all()


def exact_logit(m, v):
    """Log-odds of the integral of the logistic over N(m, v), by quadrature of both tails."""
    m, v = mpmath.mpf(m), mpmath.mpf(v)
    s = mpmath.sqrt(v)

    def tail(sign):
        # the integrand peaks between m and the mean of the tilted Gaussian, and bends at zero
        centres = sorted({m, m - sign * v, mpmath.mpf(0)})
        spread = 14 * s + 60
        low, high = centres[0] - spread, centres[-1] + spread
        marks = sorted({low, high, *(c + k * s for c in centres for k in (-8, -4, -2, 0, 2, 4, 8))})
        marks = [mark for mark in marks if low <= mark <= high]
        peak = max(-((c - m) ** 2) / (2 * v) + exact_log_expit(sign * c) for c in centres)

        def integrand(f):
            return mpmath.exp(exact_log_expit(sign * f) - (f - m) ** 2 / (2 * v) - peak)

        return mpmath.log(mpmath.quad(integrand, marks)) + peak

    with mpmath.workdps(25):
        return float(tail(1) - tail(-1))


MODERATE = [(0.0, 1.0), (0.5, 0.1), (-1.0, 1.0), (3.0, 4.0), (-2.0, 9.0)]
WIDE = [(0.0, 100.0), (1.0, 9.1), (3.0, 25.0), (-5.0, 400.0), (2.0, 1e4), (40.0, 1e6)]
FAR = [
    (30.0, 1.0),
    (-30.0, 5.0),
    (30.0, 20.0),
    (-60.0, 20.0),
    (200.0, 25.0),
    (100.0, 100.0),
    (1e4, 50.0),
]


@pytest.mark.slow
@pytest.mark.parametrize(("m", "v"), MODERATE + WIDE + FAR)
def test_logistic_normal_logit(m, v):
    expected = exact_logit(m, v)
    got = float(logistic_normal_logit(m, v))
    assert got == pytest.approx(expected, rel=1e-6, abs=1e-6)
    assert float(logistic_normal_logit(-m, v)) == pytest.approx(-got, rel=1e-10, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(("m", "v"), MODERATE)
def test_logistic_normal_logit_has_nine_digits_where_it_matters(m, v):
    assert float(logistic_normal_logit(m, v)) == pytest.approx(exact_logit(m, v), rel=1e-9, abs=1e-12)


def test_logistic_normal_logit_without_variance_and_at_the_extremes():
    m = np.array([-1e4, -3.0, 0.0, 2.0, 1e4])
    np.testing.assert_array_equal(logistic_normal_logit(m, 0.0), m)
    wild = logistic_normal_logit(m[:, None], [1e-12, 1.0, 1e4, 1e8, 1e12])
    assert np.isfinite(wild).all()
    assert (np.abs(wild) <= np.abs(m)[:, None] * (1 + 1e-12)).all()
    assert (np.sign(wild) == np.sign(m)[:, None]).all()
    assert (np.diff(wild, axis=0) > 0).all()


def test_logistic_normal_logit_is_continuous_where_the_rule_changes():
    m = np.array([0.5, 3.0, 10.0])
    below, above = logistic_normal_logit(m, 9.0), logistic_normal_logit(m, 9.0 * (1 + 1e-9))
    np.testing.assert_allclose(below, above, rtol=1e-6)


def test_logistic_normal_logit_in_blocks():
    m = np.random.default_rng(0).normal(size=10_000)
    whole = logistic_normal_logit(m, 2.0)
    np.testing.assert_allclose(whole[4000:4200], logistic_normal_logit(m[4000:4200], 2.0), rtol=1e-12)
