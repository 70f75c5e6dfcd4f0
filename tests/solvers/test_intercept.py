"""An intercept beside kernels of classes is there only where it is missed."""

import numpy as np
import pytest
from scipy.special import expit, ndtr
from sklearn.datasets import make_moons
from sklearn.metrics import log_loss

from laconism import RVMClassifier, RVMRegressor, SparseBayesClassifier, SparseBayesRegressor
from laconism.priors import GeneralizedGaussian, Laplace

MODELS = {
    "sparse": lambda **options: SparseBayesClassifier(kernel="rbf", **options),
    "sequential": lambda **options: RVMClassifier(**options),
    "variational": lambda **options: RVMClassifier(inference="variational", **options),
}
each_model = pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)


def surrounded(n=200, seed=0):
    """As many rows of each class, one of them all around the other."""
    rng = np.random.default_rng(seed)
    y = np.tile([0, 1], n // 2)
    return rng.normal(size=(n, 4)) * np.where(y == 1, 0.5, 1.5)[:, None], y


@each_model
def test_classes_as_frequent_as_each_other_need_none(make):
    X, y = make_moons(200, noise=0.25, random_state=2001)
    model, without = make(gamma=1.0).fit(X, y), make(gamma=1.0, fit_intercept=False).fit(X, y)
    assert model.intercept_ == 0
    np.testing.assert_array_equal(model.relevance_, without.relevance_)
    np.testing.assert_array_equal(model.predict_proba(X), without.predict_proba(X))
    assert (model.predict_proba([[99.0, 99.0]]) == 0.5).all()  # no kernel reaches there


@each_model
def test_it_stands_for_the_class_that_surrounds_the_other(make):
    X, y = surrounded()
    model, without = make(gamma=0.25).fit(X, y), make(gamma=0.25, fit_intercept=False).fit(X, y)
    assert model.intercept_ < 0
    assert model.n_relevant_ < without.n_relevant_
    assert model.predict_proba(np.full((1, 4), 99.0))[0, 0] > 0.9


@each_model
def test_labels_that_nothing_explains_keep_their_frequency(make):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 3)), (np.arange(300) % 10 > 0).astype(int)
    model = make(gamma=1.0).fit(X, y)
    link = ndtr if isinstance(model, SparseBayesClassifier) else expit
    assert link(model.intercept_) > 0.85  # where no kernel reaches


@pytest.mark.slow
@each_model
@pytest.mark.parametrize("draw", [surrounded, lambda: make_moons(60, noise=0.2, random_state=1)])
def test_weights_are_repetitions_with_and_without(make, draw):
    X, y = draw()
    weighted = make(gamma=0.25).fit(X, y, sample_weight=np.full(y.size, 2.0))
    repeated = make(gamma=0.25).fit(np.repeat(X, 2, axis=0), np.repeat(y, 2))
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), rtol=1e-4)


def test_each_class_against_the_rest_decides_for_itself():
    X, y = surrounded(300)
    y = np.where((y == 0) & (X[:, 0] > 0), 2, y)  # the outer one cut in two
    intercepts = SparseBayesClassifier(kernel="rbf", gamma=0.25).fit(X, y).intercept_
    assert 0 < np.count_nonzero(intercepts) < 3


@pytest.mark.parametrize("kind", [RVMRegressor, SparseBayesRegressor])
def test_targets_always_have_one(kind):
    x = np.linspace(-3, 3, 60)
    y = np.sin(x) + 0.1 * np.random.default_rng(0).normal(size=60)
    model = kind(kernel="rbf", gamma=1.0).fit(x[:, None], y)
    higher = kind(kernel="rbf", gamma=1.0).fit(x[:, None], y + 5)
    assert model.intercept_ != 0
    np.testing.assert_allclose(higher.predict(x[:, None]), model.predict(x[:, None]) + 5, atol=1e-6)


@pytest.mark.parametrize(
    "model",
    [SparseBayesClassifier(), SparseBayesClassifier(Laplace(), kernel="rbf"), RVMClassifier(None)],
    ids=["features", "Laplace", "features of the RVM"],
)
def test_features_and_other_priors_always_have_one(model):
    assert model.fit(*make_moons(100, noise=0.25, random_state=0)).intercept_ != 0


@pytest.mark.slow
@pytest.mark.parametrize("scale", ["evidence", 1.0])
@pytest.mark.parametrize("q", [0.1, 1.0, 2.0])
def test_so_it_is_with_every_degree_of_sparsity(q, scale):
    prior = GeneralizedGaussian(q, scale)
    model = SparseBayesClassifier(prior, kernel="rbf", gamma=1.0)
    assert model.fit(*make_moons(200, noise=0.25, random_state=2001)).intercept_ == 0
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 3)), (np.arange(300) % 10 > 0).astype(int)
    assert ndtr(model.fit(X, y).intercept_) > 0.8  # labels that nothing explains


def test_inner_products_have_no_constant_in_them():
    X, y = make_moons(200, noise=0.25, random_state=2001)
    X = X + 10
    model = SparseBayesClassifier(GeneralizedGaussian(2.0), kernel="linear").fit(X, y)
    assert model.intercept_ != 0
    assert model.score(X, y) > 0.8


def test_a_warm_start_stays_with_what_was_settled():
    for X, y in (surrounded(), make_moons(200, noise=0.25, random_state=2001)):
        model = SparseBayesClassifier(kernel="rbf", gamma=0.5, warm_start=True).fit(X, y)
        before = model.intercept_.copy()
        np.testing.assert_allclose(model.fit(X, y).intercept_, before, atol=1e-3)
        assert (model.intercept_ == 0) == (before == 0)


@each_model
def test_the_records_are_those_of_the_search_that_counts(make):
    X, y = surrounded()
    seen = []
    model = make(gamma=0.25, callbacks=seen.append).fit(X, y)
    assert len(model.history_) < len(seen)
    assert seen[-len(model.history_) :] == model.history_
    assert [record.iteration for record in model.history_] == list(range(1, model.n_iter_ + 1))
    stopped = make(gamma=0.25, callbacks=lambda record: True).fit(X, y)
    assert stopped.status_.stopped
    assert stopped.intercept_ == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "model",
    [
        RVMClassifier(),
        RVMClassifier(inference="evidence"),
        RVMClassifier(inference="variational"),
        SparseBayesClassifier(kernel="rbf"),
        SparseBayesClassifier(),
    ],
    ids=str,
)
def test_a_class_of_a_handful_of_rows(model):
    # Laplace's variances were so large that far from it all rows were even odds, nearly: a log-loss of
    # up to 0.3 where the frequencies alone have 0.014.
    rng = np.random.default_rng(4)

    def draw(few, many):
        X = rng.normal(size=(few + many, 2)) + np.repeat([4.0, 0.0], [few, many])[:, None]
        return X, np.repeat([1, 0], [few, many])

    (X, y), (new, truth) = draw(4, 1_996), draw(40, 19_960)
    p = model.fit(X, y).predict_proba(new)[:, 1]
    share = y.mean()
    alone = -(share * np.log(share) + (1 - share) * np.log1p(-share))
    assert log_loss(truth, p) < 0.7 * alone
    assert p.mean() < 3 * share
