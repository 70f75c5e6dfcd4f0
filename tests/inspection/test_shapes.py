"""The display of effects: its panels, their numbers, their units, and what it refuses."""

import re

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from laconism import RVMRegressor, SparseBayesClassifier, SparseBayesRegressor
from laconism.inspection import ShapeDisplay
from laconism.kernels import RBF, Additive
from laconism.model.effects import additive_latents
from laconism.priors import Laplace


@pytest.fixture(autouse=True)
def plt():
    matplotlib = pytest.importorskip("matplotlib", reason="Drawing needs matplotlib.")
    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    yield plt
    plt.close("all")


def kernel_of(p, weights=None):
    return Additive(2, 0.3, weights, None, np.zeros(p), np.ones(p))


@pytest.fixture(scope="module")
def data():
    X = np.random.default_rng(0).normal(size=(60, 5))
    X[:, 3] = np.round(X[:, 3] > 0)
    return X, np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * X[:, 3]


@pytest.fixture(scope="module")
def fitted(data):
    """A model that knows four of the five features."""
    return SparseBayesRegressor(kernel=kernel_of(5, [1.0, 1.0, 1.0, 1.0, 0.0])).fit(*data)


def test_there_is_a_panel_for_each_effect_and_none_of_weight_zero(fitted, data):
    display = ShapeDisplay.from_estimator(fitted, data[0])
    names = [curve.name for curve in display.curves]
    assert sorted(names) == [f"feature {k}" for k in range(4)]
    assert display.surfaces[0].names == ("feature 1", "feature 2")
    assert 1 <= len(display.surfaces) <= 2
    assert len(display.axes_) == len(display.curves) + len(display.surfaces)
    assert len(display.lines_) == 4
    shares = [curve.share for curve in display.curves]
    assert shares == sorted(shares, reverse=True)
    alone = re.match(r"(\d+)% of the variance by features alone", display.title)
    assert int(alone[1]) == round(100 * sum(shares))
    few = ShapeDisplay.from_estimator(fitted, data[0], max_features=2, max_pairs=0)
    assert [curve.name for curve in few.curves] == names[:2]
    assert few.surfaces == []
    assert len(few.axes_) == 2


def test_curves_and_maps_are_the_effects_on_shared_scales(fitted, data):
    X, _ = data
    display = ShapeDisplay.from_estimator(fitted, X, features=[0, 3, (1, 2)])
    assert display.title == ""
    (latent,) = additive_latents(fitted.basis_, fitted._columns, fitted.posteriors_)
    curve = display.curves[0]
    assert (curve.values[0], curve.values[-1]) == (X[:, 0].min(), X[:, 0].max())
    at = np.zeros((curve.values.size, 5))
    at[:, 0] = curve.values
    mean, deviation = latent.effect(at, [0])
    np.testing.assert_array_equal(display.lines_[0].get_ydata(), mean)
    outline = display.axes_[0].collections[0].get_paths()[0].vertices
    ends = outline[np.isclose(outline[:, 0], curve.values[7])][:, 1]
    wanted = [mean[7] - 2 * deviation[7], mean[7] + 2 * deviation[7]]
    np.testing.assert_allclose([ends.min(), ends.max()], wanted)
    np.testing.assert_array_equal(display.curves[1].values, [0, 1])  # points, not a line
    surface, mesh = display.surfaces[0], display.meshes_[0]
    at = np.array([[0, surface.values[0][5], surface.values[1][9], 0, 0]])
    assert surface.mean[9, 5] == pytest.approx(latent.effect(at, [1, 2])[0][0])
    assert mesh.norm.vmin == -mesh.norm.vmax
    limits = {panel.get_ylim() for panel in display.axes_[:2]}
    assert len(limits) == 1
    assert {each.limits for each in display.each()} == limits
    assert [len(each.curves) for each in display.each()] == [1, 1, 0]


def test_categories_are_drawn_at_their_codes_alone(plt):
    X = np.random.default_rng(0).normal(size=(120, 2))
    X[:, 0] = np.arange(120) % 9
    y = (X[:, 0] % 3) * X[:, 1] + X[:, 0] % 2
    categories = {0: {float(code): 1.0 for code in range(9)}}
    kernel = Additive(2, 0.3, mean=np.zeros(2), deviation=np.ones(2), categories=categories)
    display = ShapeDisplay.from_estimator(SparseBayesRegressor(kernel=kernel).fit(X, y), X)
    (curve,) = (each for each in display.curves if each.name == "feature 0")
    np.testing.assert_array_equal(curve.values, np.arange(9))
    assert curve.discrete
    (surface,) = display.surfaces
    np.testing.assert_array_equal(surface.values[0], np.arange(9))
    assert surface.mean.shape == (60, 9)
    assert surface.discrete


def test_rows_are_marked_and_of_many_only_some(fitted, data):
    X, _ = data
    display = ShapeDisplay.from_estimator(fitted, X, features=[0])
    np.testing.assert_array_equal(display.curves[0].rows, X[:, 0])
    many = ShapeDisplay.from_estimator(fitted, np.repeat(X, 20, axis=0), features=[0])
    assert set(many.curves[0].rows) <= set(X[:, 0])
    assert many.curves[0].rows.size == 500


def test_pipelines_are_drawn_in_the_units_of_the_data(data, plt):
    pd = pytest.importorskip("pandas", reason="Data frames need pandas.")
    X, y = data
    frame = pd.DataFrame({"metres": 100 + 3 * X[:, 0], "dose": X[:, 1], "town": X[:, 3].astype(str)})
    steps = [("n", StandardScaler(), ["metres", "dose"]), ("t", OneHotEncoder(), ["town"])]
    model = make_pipeline(ColumnTransformer(steps), RVMRegressor(kernel=kernel_of(4))).fit(frame, y)
    display = ShapeDisplay.from_estimator(model, frame, features=["n__metres", ("n__dose", "n__metres")])
    curve, surface = display.curves[0], display.surfaces[0]
    assert curve.name == "n__metres"
    assert (curve.values[0], curve.values[-1]) == pytest.approx((frame.metres.min(), frame.metres.max()))
    np.testing.assert_allclose(surface.rows, frame[["dose", "metres"]])
    turned = make_pipeline(PCA(3), RVMRegressor(kernel=kernel_of(3))).fit(X[:, :3], y)
    other = ShapeDisplay.from_estimator(turned, X[:, :3], features=[0])
    np.testing.assert_allclose(other.curves[0].rows, turned[:-1].transform(X[:, :3])[:, 0])


def test_classes_have_a_latent_each(data):
    X, y = data
    labels = np.array(["low", "middle", "high"])[np.digitize(y, np.quantile(y, [0.3, 0.7]))]
    model = SparseBayesClassifier(kernel=kernel_of(5)).fit(X, labels)
    display = ShapeDisplay.from_estimator(model, X, output=1)
    assert display.axes_[0].get_ylabel() == "effect on the latent of low"
    assert display.curves[0].share == max(
        each.share for each in model.effects_[1] if len(each.features) == 1
    )


def test_a_model_of_nothing_is_drawn_too(data):
    X, _ = data
    model = SparseBayesRegressor(Laplace(rate=1e6), kernel=kernel_of(5)).fit(X, np.eye(60)[0])
    display = ShapeDisplay.from_estimator(model, X)
    assert display.axes_ == []
    assert display.ax_.get_xlabel() == "no feature has an effect"


def test_what_cannot_be_drawn_is_said_in_a_sentence(fitted, data, plt):
    X, y = data
    plain = SparseBayesRegressor(kernel=RBF(0.3)).fit(X, y)
    with pytest.raises(
        TypeError, match=r"^ShapeDisplay needs a model with a centred Additive kernel, got"
    ):
        ShapeDisplay.from_estimator(plain, X)
    cases = [
        ({"max_features": -1}, r"^max_features must be zero or a positive whole number, got -1\.$"),
        ({"features": ["age"]}, r"^features must be names, or indices from 0 to 4, got 'age'\.$"),
        ({"features": [5]}, r"^features must be names, or indices from 0 to 4, got 5\.$"),
        (
            {"features": [(1, 1)]},
            r"^features must be single ones or pairs of different ones, got \(1, 1\)",
        ),
        ({"output": 1}, r"^output must be one of 0 to 0, got 1\.$"),
        ({"feature_names": ["a"]}, r"^feature_names must have 5 names, got 1\.$"),
    ]
    for settings, sentence in cases:
        with pytest.raises(ValueError, match=sentence):
            ShapeDisplay.from_estimator(fitted, X, **settings)
    with pytest.raises(
        ValueError, match=r"^X must have rows of 5 features, got data of shape \(60, 4\)"
    ):
        ShapeDisplay.from_estimator(fitted, X[:, :4])
    assert plt.get_fignums() == []


def test_panels_take_the_place_of_given_axes(fitted, data, plt):
    figure = plt.figure()
    display = ShapeDisplay.from_estimator(fitted, data[0], ax=figure.add_axes((0.1, 0.1, 0.8, 0.8)))
    figure.canvas.draw()
    for panel in display.axes_:
        box = panel.get_position()
        assert box.x0 >= 0.09
        assert box.x1 <= 0.91
        assert box.y0 >= 0.09
        assert box.y1 <= 0.91
