"""Effects under a centred additive kernel: their sum, their variances and their error bars."""

from functools import partialmethod

import numpy as np
import pytest
from numpy.polynomial.hermite_e import hermegauss
from sklearn.exceptions import NotFittedError

from laconism import RVMRegressor, SparseBayesClassifier, SparseBayesRegressor
from laconism.kernels import RBF, Additive
from laconism.model import effects
from laconism.model.effects import additive_latents
from laconism.priors import Laplace

MEAN, DEVIATION = np.array([0.5, -1.0, 0.0, 2.0]), np.array([1.0, 2.0, 0.5, 1.5])
GAMMA = np.array([0.5, 0.2, 2.0, 0.3])


def kernel_of(order, weights=(1.0, 0.7, 1.3, 0.0)):
    """A centred kernel of four features, without the last one."""
    return Additive(order, GAMMA, weights, 0.5 ** np.arange(order), MEAN, DEVIATION)


def latents(model):
    return additive_latents(model.basis_, model._columns, model.posteriors_)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = MEAN + DEVIATION * rng.normal(size=(70, 4))
    z = (X - MEAN) / DEVIATION
    y = np.sin(z[:, 0]) + 0.5 * z[:, 1] ** 2 + z[:, 0] * z[:, 2] + 0.1 * rng.normal(size=70)
    return X, y


@pytest.fixture(scope="module", params=[1, 2, 3])
def fitted(request, data):
    return SparseBayesRegressor(kernel=kernel_of(request.param)).fit(*data)


# ---- references that share no code ---------------------------------------------------------------


def one_dimensional(x, c, j):
    """The centred kernel of one feature, its means by quadrature."""
    nodes, share = hermegauss(80)
    share = share / share.sum()
    s = MEAN[j] + DEVIATION[j] * nodes

    def k(a, b):
        return np.exp(-GAMMA[j] * np.subtract.outer(a, b) ** 2)

    def centred(a, b):
        return k(a, b) - np.outer(k(a, s) @ share, k(b, s) @ share) / (share @ k(s, s) @ share)

    return centred(x, c) / (share @ np.diag(centred(s, s)))


def effect_kernel(kernel, X, C, features):
    found = kernel.variances[len(features) - 1]
    for j in features:
        found = found * kernel.weights[j] * one_dimensional(X[:, j], C[:, j], j)
    return found


# ---- effects -------------------------------------------------------------------------------------


def test_shares_are_sorted_and_sum_to_one(fitted):
    found = fitted.effects_
    assert found[0]._fields == ("features", "names", "variance", "share")
    shares = [each.share for each in found]
    assert shares == sorted(shares, reverse=True)
    assert sum(shares) == pytest.approx(1.0)
    assert {len(each.features) for each in found} == set(range(1, fitted.kernel.order + 1))
    assert all(each.names is None for each in found)


def test_a_feature_of_weight_zero_has_no_effect(fitted):
    assert not any(3 in each.features for each in fitted.effects_)


def test_variances_are_those_of_draws(fitted):
    """Sobol's estimate: the covariance of two latents that share some features."""
    rng = np.random.default_rng(1)
    first, second = (MEAN + DEVIATION * rng.normal(size=(40_000, 4)) for _ in range(2))
    f = fitted.predict(first)
    variance = {each.features: each.variance for each in fitted.effects_}
    assert sum(variance.values()) == pytest.approx(f.var(), rel=0.06)

    def shared(*features):
        mixed = second.copy()
        mixed[:, features] = first[:, features]
        return np.cov(f, fitted.predict(mixed))[0, 1]

    for j in range(3):
        assert variance[j,] == pytest.approx(shared(j), abs=0.03 * f.var())
    inside = [found for features, found in variance.items() if set(features) <= {0, 2}]
    assert sum(inside) == pytest.approx(shared(0, 2), abs=0.04 * f.var())


def test_effects_sum_to_the_latent_up_to_a_constant(fitted, data):
    X, _ = data
    (latent,) = latents(fitted)
    effects_at_rows = [latent.effect(X, each.features)[0] for each in fitted.effects_]
    np.testing.assert_allclose(latent.constant + sum(effects_at_rows), fitted.predict(X), atol=1e-8)


def test_effects_have_the_mean_and_deviation_of_posterior_draws(fitted, data):
    X, kernel = data[0][:20], fitted.kernel
    (latent,) = latents(fitted)
    weights, _ = fitted.posteriors_[0].sample(20_000, random_state=0)
    for features in [(0,), (0, 2)][: kernel.order]:
        K = effect_kernel(kernel, X, fitted.relevance_vectors_, features)
        drawn = K @ weights.T
        mean, deviation = latent.effect(X, features)
        np.testing.assert_allclose(mean, K @ fitted.posteriors_[0].mean, atol=1e-8)
        np.testing.assert_allclose(deviation, drawn.std(axis=1), rtol=0.04)


def test_sets_that_are_too_many_are_summed(data, monkeypatch):
    model = SparseBayesRegressor(kernel=kernel_of(3)).fit(*data)
    whole = model.effects_
    none = partialmethod(effects.AdditiveLatent._variances, max_products=0)
    monkeypatch.setattr(effects.AdditiveLatent, "_variances", none)
    some = {each.features: each.variance for each in model.effects_}
    assert set(some) == {(0,), (1,), (2,), ()}
    rest = sum(each.variance for each in whole if len(each.features) > 1)
    assert some[()] == pytest.approx(rest)
    assert sum(some.values()) == pytest.approx(sum(each.variance for each in whole))


# ---- which models have them ----------------------------------------------------------------------


def test_names_are_those_of_fit(data):
    pd = pytest.importorskip("pandas", reason="Data frames need pandas.")
    X, y = data
    frame = pd.DataFrame(X, columns=["age", "height", "dose", "noise"])
    found = RVMRegressor(kernel=kernel_of(2)).fit(frame, y).effects_
    by_features = {each.features: each.names for each in found}
    assert by_features[0, 2] == ("age", "dose")


def test_classes_have_a_list_each_and_the_constant_column_is_no_effect(data):
    X, y = data
    labels = np.digitize(y, np.quantile(y, [0.3, 0.7]))
    papers = {"solver": "em", "penalize_intercept": True}
    model = SparseBayesClassifier("laplace", kernel=kernel_of(2), **papers).fit(X, labels)
    found = model.effects_
    assert len(found) == 3
    m, _ = model._latents(X)
    for k, (latent, each) in enumerate(zip(latents(model), found, strict=True)):
        total = sum(latent.effect(X, effect.features)[0] for effect in each)
        np.testing.assert_allclose(latent.constant + total, m[:, k], atol=1e-8)
    two = SparseBayesClassifier(kernel=kernel_of(1)).fit(X, labels > 0)
    assert two.effects_[0].share <= 1


def test_a_model_of_nothing_has_no_effects(data):
    X, _ = data
    model = SparseBayesRegressor(Laplace(rate=1e6), kernel=kernel_of(1)).fit(X, np.eye(70)[0])
    assert model.n_relevant_ == 0
    assert model.effects_ == []


@pytest.mark.parametrize("kernel", [None, RBF(0.5), Additive(2, GAMMA)], ids=["none", "rbf", "plain"])
def test_other_models_say_what_is_missing(data, kernel):
    model = SparseBayesRegressor(kernel=kernel).fit(*data)
    assert not hasattr(model, "effects_")
    with pytest.raises(AttributeError, match=r"^SparseBayesRegressor has effects_ only if its kernel"):
        _ = model.effects_
    with pytest.raises(NotFittedError):
        _ = SparseBayesRegressor(kernel=kernel_of(1)).effects_
