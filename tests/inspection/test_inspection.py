"""Every Display is drawn, shows the numbers of the model, and says in a sentence what it cannot draw."""

import re
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize_scalar
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC

import laconism.inspection
from laconism import (
    GridRVMClassifier,
    GridRVMRegressor,
    JCFOClassifier,
    LaconicClassifier,
    RVMRegressor,
    SparseBayesClassifier,
    SparseBayesClassifierCV,
    SparseBayesRegressor,
)
from laconism.datasets import make_grid, make_ripley, make_sinc, make_sparse_regression
from laconism.inspection import (
    BoundaryDisplay,
    CalibrationDisplay,
    ConvergenceDisplay,
    GridRelevanceDisplay,
    ImageRelevanceDisplay,
    PriorDisplay,
    ProjectionDisplay,
    RegressionBandDisplay,
    RelevanceDisplay,
    ShapeDisplay,
    SparsityPathDisplay,
)
from laconism.inspection.priors import shrink
from laconism.kernels import Additive
from laconism.priors import Gaussian, GeneralizedGaussian, Jeffreys, Laplace, LaplaceMixture, StudentT


@pytest.fixture(autouse=True)
def plt():
    matplotlib = pytest.importorskip("matplotlib", reason="Drawing needs matplotlib.")
    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    yield plt
    plt.close("all")


@pytest.fixture(scope="module")
def ripley():
    X, y = make_ripley(100, random_state=0)
    return X, y, SparseBayesClassifier(kernel="rbf", gamma=2.0).fit(X, y)


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return X, y, SparseBayesClassifier("laplace").fit(X, y)


@pytest.fixture(scope="module")
def sinc():
    X, y = make_sinc(60, random_state=0)
    return X, y, RVMRegressor(gamma=1 / 18).fit(X, y)


@pytest.fixture(scope="module")
def grid():
    X, y, _ = make_grid(120, (9, 6), relevant=([1, 4], [2]), random_state=0)
    return X, y, GridRVMRegressor().fit(X, y)


@pytest.fixture(scope="module")
def linear():
    X, y, coef = make_sparse_regression(80, 30, n_relevant=3, random_state=0)
    return X, y, coef, SparseBayesRegressor().fit(X, y)


@pytest.fixture(scope="module")
def flagship():
    X, y = make_ripley(80, random_state=0)
    return LaconicClassifier(gamma=1.0).fit(X, y)


@pytest.fixture(scope="module")
def additive():
    X = np.random.default_rng(0).normal(size=(60, 3))
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2]
    kernel = Additive(2, gamma=0.3, mean=np.zeros(3), deviation=np.ones(3))
    return X, SparseBayesRegressor(kernel=kernel).fit(X, y)


@pytest.fixture(scope="module")
def searched():
    X, y = make_ripley(60, random_state=0)
    return SparseBayesClassifierCV(kernel="rbf", gammas=[2.0], shapes=[0.5, 1.0, 2.0], cv=2).fit(X, y)


# ---- what all of them do -------------------------------------------------------------------------


@pytest.fixture(
    params=[name for name in laconism.inspection.__all__ if name.endswith("Display")], ids=str
)
def draw(request, ripley, sinc, grid, linear, flagship, additive, searched):
    """How to draw each Display on given axes, by its name; a new one must be added here."""
    X, y, model = ripley
    ways = {
        "BoundaryDisplay": lambda ax: BoundaryDisplay.from_estimator(
            model, X, y, grid_resolution=20, ax=ax
        ),
        "CalibrationDisplay": lambda ax: CalibrationDisplay.from_estimator(model, X, y, ax=ax),
        "ConvergenceDisplay": lambda ax: ConvergenceDisplay.from_estimator(model, ax=ax),
        "GridRelevanceDisplay": lambda ax: GridRelevanceDisplay.from_estimator(grid[2], ax=ax),
        "ImageRelevanceDisplay": lambda ax: ImageRelevanceDisplay.from_estimator(
            linear[3], (5, 6), image=np.arange(30.0), ax=ax
        ),
        "PriorDisplay": lambda ax: PriorDisplay.from_priors(["laplace", "jeffreys"], ax=ax),
        "ProjectionDisplay": lambda ax: ProjectionDisplay.from_estimator(flagship, ax=ax),
        "RegressionBandDisplay": lambda ax: RegressionBandDisplay.from_estimator(
            sinc[2], sinc[0], sinc[1], ax=ax
        ),
        "RelevanceDisplay": lambda ax: RelevanceDisplay.from_estimator(linear[3], ax=ax),
        "ShapeDisplay": lambda ax: ShapeDisplay.from_estimator(additive[1], additive[0], ax=ax),
        "SparsityPathDisplay": lambda ax: SparsityPathDisplay.from_estimator(searched, ax=ax),
    }
    return ways[request.param]


def drawn_axes(display):
    """The axes with a frame: the divided ones are only a place."""
    found = [ax for ax in vars(display).values() if hasattr(ax, "get_xlabel")]
    return {id(ax): ax for ax in found}.values()


def test_axes_are_made_or_taken_and_labelled(draw, plt):
    display = draw(None)
    assert display.ax_.figure is display.figure_
    figure, ax = plt.subplots()
    other = draw(ax)
    assert other.figure_ is figure
    for made in drawn_axes(other):
        assert made.figure is figure
        assert made.get_ylabel() or made.get_yticklabels() or made.get_yticks().size == 0
    labels = [made.get_xlabel() for made in drawn_axes(other)]
    assert any(labels)
    assert len(plt.get_fignums()) == 2


def test_it_can_be_drawn_again(draw, plt):
    display = draw(None)
    before = display.figure_
    assert display.plot() is display
    assert display.figure_ is not before


def shown_texts(figure):
    """Return what is written, with the place it takes; ticks beyond the limits are not written."""
    from matplotlib.text import Text

    every = [*figure.axes, *(inset for ax in figure.axes for inset in ax.child_axes)]
    shown = {id(text): text for text in figure.findobj(Text) if text.get_text().strip()}
    for ax in every:
        for axis in (ax.xaxis, ax.yaxis):
            low, high = sorted(axis.get_view_interval())
            slack = 1e-9 * (high - low)
            for tick in [*axis.get_major_ticks(), *axis.get_minor_ticks()]:
                there = ax.axison and low - slack <= tick.get_loc() <= high + slack
                for label in (tick.label1, tick.label2):
                    if not (there and label.get_visible()):
                        shown.pop(id(label), None)
    return [(text.get_text(), text.get_window_extent().shrunk(0.9, 0.8)) for text in shown.values()]


@pytest.mark.slow
def test_no_text_covers_another_and_all_is_on_the_page(draw):
    figure = draw(None).figure_
    figure.canvas.draw()
    texts = shown_texts(figure)
    assert len(texts) > 3
    for k, (name, box) in enumerate(texts):
        on_page = box.x0 >= 0 and box.y0 >= 0 and box.x1 <= figure.bbox.x1 and box.y1 <= figure.bbox.y1
        assert on_page, f"{name!r} is off the page"
        for other, there in texts[:k]:
            assert not box.overlaps(there), f"{name!r} covers {other!r}"


def test_without_matplotlib_a_sentence_says_what_to_install(draw, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r'^\w+Display needs the package matplotlib: pip install "lac'):
        draw(None)


def test_every_display_says_so_when_the_model_is_not_fitted():
    X = np.zeros((3, 2))
    calls = {
        BoundaryDisplay: (SparseBayesClassifier(), X),
        CalibrationDisplay: (SparseBayesClassifier(), X, [0, 1, 0]),
        ConvergenceDisplay: (SparseBayesClassifier(),),
        GridRelevanceDisplay: (GridRVMRegressor(),),
        ImageRelevanceDisplay: (SparseBayesRegressor(), (1, 2)),
        ProjectionDisplay: (LaconicClassifier(),),
        RegressionBandDisplay: (RVMRegressor(), X[:, :1]),
        RelevanceDisplay: (SparseBayesRegressor(),),
        ShapeDisplay: (SparseBayesRegressor(), X),
        SparsityPathDisplay: (SparseBayesClassifierCV(),),
    }
    names = {cls.__name__ for cls in calls} | {"PriorDisplay"}
    assert names == set(laconism.inspection.__all__)
    for cls, arguments in calls.items():
        with pytest.raises(NotFittedError):
            cls.from_estimator(*arguments)


def test_the_wrong_kind_of_model_is_named(ripley, plt):
    X, y, model = ripley
    plain = LogisticRegression().fit(X, y)
    machine = SVC().fit(X, y)
    cases = [
        (CalibrationDisplay, (machine, X, y), "a classifier with predict_proba, got SVC"),
        (ConvergenceDisplay, (plain,), "a model with a history_, got LogisticRegression"),
        (GridRelevanceDisplay, (model,), "a GridRVMClassifier or GridRVMRegressor, got SparseBayes"),
        (ImageRelevanceDisplay, (model, (1, 2)), "a weight for each feature, got SparseBayesClass"),
        (ProjectionDisplay, (model,), "a LaconicClassifier or LaconicRegressor, got SparseBayesC"),
        (RegressionBandDisplay, (model, X[:, :1]), "a regressor with predict_dist, got SparseBayesC"),
        (RelevanceDisplay, (StandardScaler().fit(X),), "a model with weights, got StandardScaler"),
        (ShapeDisplay, (model, X), "a model with a centred Additive kernel, got SparseBayesClassifier"),
        (ShapeDisplay, (plain, X), "a model with a centred Additive kernel, got LogisticRegression"),
        (SparsityPathDisplay, (model,), "a SparseBayesClassifierCV or SparseBayesRegressorCV, got"),
    ]
    for cls, arguments, sentence in cases:
        with pytest.raises(TypeError, match=rf"^{cls.__name__} needs .*{re.escape(sentence)}"):
            cls.from_estimator(*arguments)
    assert plt.get_fignums() == []  # nothing was half drawn


def test_data_that_do_not_fit_the_model_are_refused(ripley, sinc, linear, plt):
    X, y, model = ripley
    cases = [
        (
            BoundaryDisplay,
            (model, X[:, [0, 1, 1]], y),
            {},
            r"exactly two features, got data of shape \(100, 3\)",
        ),
        (
            BoundaryDisplay,
            (model, X[:0], y[:0]),
            {},
            r"exactly two features, got data of shape \(0, 2\)",
        ),
        (
            BoundaryDisplay,
            (model, X, y[1:]),
            {},
            r"^y must have one label for each of the 100 rows, got",
        ),
        (
            BoundaryDisplay,
            (model, X, np.where(y == 1, 7, y)),
            {},
            r"^y has the label .*7.*, which the model",
        ),
        (
            RegressionBandDisplay,
            (sinc[2], sinc[0], sinc[1][1:]),
            {},
            r"^y must have one target for each of",
        ),
        (
            RegressionBandDisplay,
            (sinc[2], sinc[0][:0]),
            {},
            r"exactly one feature, got data of shape \(0, 1\)",
        ),
        (
            RelevanceDisplay,
            (linear[3],),
            {"max_bars": 0},
            r"^max_bars must be a positive whole number, got 0",
        ),
        (
            ImageRelevanceDisplay,
            (linear[3], (5, 6)),
            {"output": 1},
            r"^output must be one of 0 to 0, got 1",
        ),
    ]
    for cls, arguments, settings, sentence in cases:
        with pytest.raises(ValueError, match=sentence):
            cls.from_estimator(*arguments, **settings)
    assert plt.get_fignums() == []


# ---- relevance -----------------------------------------------------------------------------------


def test_bars_are_the_weights_with_the_deviations_of_the_posterior(linear):
    _, _, _, model = linear
    display = RelevanceDisplay.from_estimator(model)
    order = np.argsort(-np.abs(model.coef_))[: model.n_relevant_]
    widths = [bar.get_width() for bar in display.bars_]
    np.testing.assert_array_equal(widths, model.coef_[order])
    labels = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert labels == [f"feature {k}" for k in order]
    draws, _ = model.posteriors_[0].sample(20_000, random_state=0)
    by_column = dict(zip(model.relevance_, draws.std(axis=0), strict=True))
    np.testing.assert_allclose(display.deviations, [by_column[k] for k in order], rtol=0.03)
    assert display.ax_.get_ylim()[0] > display.ax_.get_ylim()[1]  # the largest on top
    negative = [bar.get_hatch() == "////" for bar in display.bars_]
    assert negative == [width < 0 for width in widths]


def test_names_come_from_the_frame_through_a_pipeline(linear):
    pd = pytest.importorskip("pandas", reason="Data frames need pandas.")
    X, y, coef, _ = linear
    frame = pd.DataFrame(X, columns=[f"gene {k}" for k in range(30)])
    model = make_pipeline(StandardScaler(), SparseBayesRegressor()).fit(frame, y)
    display = RelevanceDisplay.from_estimator(model)
    assert {f"gene {k}" for k in coef.nonzero()[0]} <= set(display.names)
    with pytest.raises(ValueError, match=r"^feature_names must have 30 names, got 2\.$"):
        RelevanceDisplay.from_estimator(model, feature_names=["a", "b"])


def test_bars_of_kernels_scales_classes_and_searches(ripley, iris, linear):
    _, _, model = ripley
    display = RelevanceDisplay.from_estimator(model)
    assert set(display.names) == {f"row {k}" for k in model.relevance_}
    assert display.ax_.get_title() == f"{model.n_relevant_} kernels kept"
    X, y, three = iris
    shown = RelevanceDisplay.from_estimator(three)
    np.testing.assert_array_equal(np.sort(shown.values), np.sort(np.abs(three.coef_).max(axis=0)))
    one = RelevanceDisplay.from_estimator(three, output=2)
    assert set(one.values) == set(three.coef_[2][three.coef_[2] != 0])
    with pytest.raises(ValueError, match=r"^output must be one of 0 to 2, got 3\.$"):
        RelevanceDisplay.from_estimator(three, output=3)
    X, y, _, _ = linear
    search = GridSearchCV(SparseBayesRegressor(Laplace()), {"prior__rate": [5.0]}, cv=2).fit(X, y)
    many = RelevanceDisplay.from_estimator(search, max_bars=2)
    assert len(many.bars_) == 2
    assert re.fullmatch(r"\d+ of 30 kept, the 2 largest", many.ax_.get_title())
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    joint = JCFOClassifier().fit(X, X[:, 1] ** 2 > 0.5)
    scales = RelevanceDisplay.from_estimator(joint)
    assert max(scales.values) == joint.feature_scales_.max()
    assert scales.ax_.get_xlabel() == "scale of the feature"


def test_scales_of_classes_that_do_not_share_features():
    X = np.random.default_rng(0).normal(size=(60, 4))
    y = np.select([X[:, 1] > 0.4, X[:, 2] > 0], [1, 2], 0)
    model = JCFOClassifier(share_features=False).fit(X, y)
    assert model.feature_scales_.shape == (3, 4)
    largest = RelevanceDisplay.from_estimator(model)
    assert largest.ax_.get_xlabel() == "largest |scale| over the classes of the feature"
    kept = model.feature_scales_.max(axis=0)
    np.testing.assert_array_equal(largest.values, np.sort(kept[kept > 0])[::-1])
    second = RelevanceDisplay.from_estimator(model, output=1)
    assert second.values[0] == model.feature_scales_[1].max()
    assert second.names[0] == f"feature {model.feature_scales_[1].argmax()}"


def test_a_model_of_nothing_is_drawn_too():
    X, y = np.random.default_rng(0).normal(size=(30, 3)), np.zeros(30)
    y[0] = 1.0
    model = SparseBayesRegressor(Laplace(rate=1e6)).fit(X, y)
    assert model.n_relevant_ == 0
    display = RelevanceDisplay.from_estimator(model)
    assert len(display.bars_) == 0
    assert display.ax_.get_title() == "0 of 3 kept"
    assert not ImageRelevanceDisplay.from_estimator(model, (1, 3)).weights.any()


# ---- grids and images ----------------------------------------------------------------------------


def test_the_map_has_the_weights_and_the_bars_the_relevances(grid):
    _, _, model = grid
    names = ([f"r{k}" for k in range(9)], None)
    display = GridRelevanceDisplay.from_estimator(model, names=names, labels=("sensor", "hour"))
    shown = display.mesh_.get_array()
    np.testing.assert_array_equal(np.reshape(shown.filled(0.0), (9, 6)), np.abs(model.coef_))
    np.testing.assert_array_equal(np.reshape(np.ma.getmaskarray(shown), (9, 6)), model.coef_ == 0)
    rows = [bar.get_width() for bar in display.row_bars_]
    columns = [bar.get_height() for bar in display.column_bars_]
    np.testing.assert_array_equal(rows, model.mode_relevance_[0])
    np.testing.assert_array_equal(columns, model.mode_relevance_[1])
    assert display.ax_.get_ylabel() == "sensor"
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == names[0]
    # row k of the bars is beside row k of the map
    assert display.row_ax_.get_ylim() == display.ax_.get_ylim()
    assert display.column_ax_.get_xlim() == display.ax_.get_xlim()


def test_any_two_modes_of_a_tensor_can_be_drawn():
    X, y, _ = make_grid(80, (4, 3, 2), relevant=(2, 1, 1), random_state=0)
    model = GridRVMRegressor(combine="sum").fit(X, y)
    display = GridRelevanceDisplay.from_estimator(model, modes=(2, 0))
    np.testing.assert_allclose(display.weights, np.sqrt((model.coef_**2).sum(axis=1)).T)
    assert display.ax_.get_xlabel() == "mode 0"
    with pytest.raises(ValueError, match=r"^modes must be two different ones of 0 to 2, got \(1, 1\)"):
        GridRelevanceDisplay.from_estimator(model, modes=(1, 1))
    with pytest.raises(ValueError, match=r"^names of mode 0 must be 4, got 1\.$"):
        GridRelevanceDisplay.from_estimator(model, names=(["a"], None))


def test_grids_of_classes(grid):
    X, y, _ = grid
    model = GridRVMClassifier().fit(X[:60], np.digitize(y[:60], np.quantile(y[:60], [0.33, 0.66])))
    display = GridRelevanceDisplay.from_estimator(model, output=1)
    np.testing.assert_array_equal(display.weights, np.abs(model.coef_[1]))
    np.testing.assert_array_equal(display.relevances[0], model.mode_relevance_[0][1])
    with pytest.raises(ValueError, match=r"^output must be one of 0 to 2, got 9\.$"):
        GridRelevanceDisplay.from_estimator(model, output=9)
    with pytest.raises(TypeError, match=r"draw it with GridRelevanceDisplay\.$"):
        RelevanceDisplay.from_estimator(model)


def test_marks_lie_on_the_pixels_they_belong_to():
    X, y = load_digits(n_class=2, return_X_y=True)
    model = SparseBayesClassifier("laplace").fit(X, y)
    display = ImageRelevanceDisplay.from_estimator(model, (8, 8), image=X[0])
    weights = model.coef_.reshape(8, 8)
    for marks, sign in ((display.positive_, 1), (display.negative_, -1)):
        pixels = {(int(row), int(column)) for column, row in marks.get_offsets()}
        assert pixels == {tuple(map(int, p)) for p in np.argwhere(sign * weights > 0)}
    assert display.positive_.get_sizes().max() <= display.negative_.get_sizes().max() or (
        weights.max() > -weights.min()
    )
    shade = display.image_.get_array()
    assert np.argmax(shade) == np.argmax(X[0])
    assert shade.max() <= 0.6  # marks stand out on it
    with pytest.raises(ValueError, match=r"^shape=\(7, 9\) has 63 pixels, but the model has weights"):
        ImageRelevanceDisplay.from_estimator(model, (7, 9))
    with pytest.raises(ValueError, match=r"^image must have 64 pixels, got 63\.$"):
        ImageRelevanceDisplay.from_estimator(model, (8, 8), image=X[0][1:])


# ---- convergence, paths --------------------------------------------------------------------------


def test_convergence_shows_the_history(ripley, iris):
    _, _, model = ripley
    display = ConvergenceDisplay.from_estimator(model)
    (line,), (active,) = display.lines_, display.active_lines_
    np.testing.assert_array_equal(line.get_ydata(), [r.objective for r in model.history_])
    np.testing.assert_array_equal(active.get_ydata(), [r.active for r in model.history_])
    np.testing.assert_array_equal(line.get_xdata(), range(1, len(model.history_) + 1))
    assert display.ax_.get_title() == "converged"
    _, _, three = iris
    several = ConvergenceDisplay.from_estimator(three)
    assert len(several.lines_) == 3
    assert len({line.get_linestyle() for line in several.lines_}) == 3
    assert len({line.get_marker() for line in several.lines_}) == 3
    for k, line in enumerate(several.lines_):
        expected = [r.objective for r in three.history_ if r.output == k]
        np.testing.assert_array_equal(line.get_ydata(), expected)
    legend = [text.get_text() for text in several.ax_.get_legend().get_texts()]
    assert legend == ["0", "1", "2"]


def test_a_fit_that_did_not_converge_says_so(ripley):
    X, y, _ = ripley
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SparseBayesClassifier(max_iter=1, solver="em").fit(X, y)
    assert ConvergenceDisplay.from_estimator(model).ax_.get_title() == "not converged"


def test_the_elbow_shows_the_path_and_the_choice(flagship):
    display = ProjectionDisplay.from_estimator(flagship)
    nats = np.array([point.nats for point in flagship.path_])
    least = 1e-2 * flagship.tolerance_
    np.testing.assert_array_equal(display.lines_[0].get_ydata(), np.maximum(nats, least))
    chosen = display.ax_.lines[1]
    assert chosen.get_xdata() == [flagship.n_relevant_]
    levels = [line.get_ydata()[0] for line in display.ax_.lines if len(set(line.get_ydata())) == 1]
    assert flagship.tolerance_ in levels


def test_the_sparsity_path_shows_the_search(searched):
    display = SparsityPathDisplay.from_estimator(searched)
    np.testing.assert_array_equal(display.line_.get_xdata(), [0.5, 1.0, 2.0])
    results = searched.cv_results_
    order = np.argsort(np.array(results["param_prior__q"].tolist()))
    np.testing.assert_array_equal(display.line_.get_ydata(), results["mean_test_score"][order])
    np.testing.assert_array_equal(display.kept_line_.get_ydata(), results["mean_n_relevant"][order])
    assert display.line_.get_linestyle() != display.kept_line_.get_linestyle()


# ---- priors --------------------------------------------------------------------------------------

ESTIMATES = np.linspace(-6.0, 6.0, 241)


def test_shrinkage_has_its_closed_forms():
    t = np.abs(ESTIMATES)
    sign = np.sign(ESTIMATES)
    np.testing.assert_allclose(shrink(Gaussian(width=2.0), ESTIMATES), ESTIMATES * 0.8, atol=1e-6)
    np.testing.assert_allclose(
        shrink(Laplace(rate=1.5), ESTIMATES), sign * np.maximum(t - 1.5, 0), atol=1e-6
    )
    root = np.sqrt(np.maximum(t**2 - 4 * 2.0, 0))  # w^2 - t w + s = 0
    jeffreys = np.where(t > 2 * np.sqrt(2.0), sign * (t + root) / 2, 0)
    np.testing.assert_allclose(shrink(Jeffreys(strength=2.0), ESTIMATES), jeffreys, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(
    "prior",
    [
        GeneralizedGaussian(q=0.5, scale=0.7),
        GeneralizedGaussian(q=1.5, scale=0.7),
        StudentT(a=1.0, b=0.05),
        StudentT(a=0.2, b=2.0),
        LaplaceMixture(a=0.5, b=0.3),
    ],
    ids=repr,
)
def test_shrinkage_is_the_mode_that_an_ascent_reaches(prior):
    """The papers' EM in one dimension, run to its end, from the least-squares estimate."""
    w = ESTIMATES.copy()
    for _ in range(30_000):
        v = prior.variance(w**2)
        w = ESTIMATES * v / (1 + v)
    found = shrink(prior, ESTIMATES)
    settled = np.abs(np.abs(np.gradient(w))) < 0.5  # EM crawls where a weight is about to let go
    np.testing.assert_allclose(found[settled], w[settled], atol=2e-4)
    assert settled.mean() > 0.9


def test_shrinkage_of_a_convex_prior_is_the_minimum():
    prior = GeneralizedGaussian(q=1.2, scale=0.5)
    for t in (0.3, 1.0, 4.0):
        best = minimize_scalar(
            lambda w, t=t: (w - t) ** 2 / 2 + prior.penalty(w**2),
            bounds=(0, t),
            method="bounded",
            options={"xatol": 1e-10},
        ).x
        assert shrink(prior, np.array([t]))[0] == pytest.approx(best, abs=1e-5)


def test_curves_are_drawn_with_styles_and_names():
    priors = {"ridge": Gaussian(), "lasso": Laplace(), "Jeffreys": Jeffreys(strength=1.0)}
    display = PriorDisplay.from_priors(priors, limit=3.0)
    assert [line.get_label() for line in display.lines_] == list(priors)
    assert len({line.get_linestyle() for line in display.lines_}) == 3
    for line, prior in zip(display.lines_, priors.values(), strict=True):
        np.testing.assert_array_equal(line.get_ydata(), shrink(prior, display.w))
    penalties = PriorDisplay.from_priors(priors, kind="penalty", limit=3.0)
    w = penalties.w
    np.testing.assert_allclose(penalties.lines_[1].get_ydata(), np.abs(w) - 1)
    jeffreys = penalties.lines_[2].get_ydata()
    assert np.isnan(jeffreys[w == 0]).all()
    np.testing.assert_allclose(jeffreys[w != 0], np.log(np.abs(w[w != 0])))


@pytest.mark.parametrize(
    ("arguments", "error", "sentence"),
    [
        ({"priors": ["lasso"]}, ValueError, r"^Unknown prior 'lasso'\..* Known: 'gaussian', "),
        ({"priors": [3]}, TypeError, r"^prior must be one of 'gaussian', .* got 3\.$"),
        ({"priors": []}, ValueError, "^priors is empty"),
        ({"priors": [Laplace(rate=-1)]}, ValueError, "rate"),
        ({"priors": ["laplace"], "kind": "both"}, ValueError, "^kind must be 'shrinkage' or"),
        ({"priors": ["laplace"], "limit": 0}, ValueError, "^limit must be a positive number, got 0"),
    ],
)
def test_what_is_no_prior_is_refused(arguments, error, sentence):
    with pytest.raises(error, match=sentence):
        PriorDisplay.from_priors(arguments.pop("priors"), **arguments)


# ---- calibration ---------------------------------------------------------------------------------


def test_calibration_counts_what_fell_into_each_bin():
    p = np.array([0.0, 0.05, 0.1, 0.5, 0.55, 0.55, 0.99, 1.0])
    y = np.array([0, 0, 1, 1, 0, 1, 1, 1])
    display = CalibrationDisplay.from_predictions(y, p, n_bins=10)
    np.testing.assert_array_equal(display.counts, [2, 1, 0, 0, 0, 3, 0, 0, 0, 2])
    assert [bar.get_height() for bar in display.bars_] == list(display.counts)
    line = display.points_.lines[0]
    np.testing.assert_allclose(line.get_xdata(), [0.025, 0.1, 1.6 / 3, 0.995])
    np.testing.assert_allclose(line.get_ydata(), [0, 1, 2 / 3, 1])
    low, high = display.interval
    assert low[0] == 0
    assert 0.5 < high[0] < 1  # two misses leave much open
    assert high[9] == 1
    assert np.isnan(low[2])


def test_intervals_cover_what_they_say(plt):
    rng = np.random.default_rng(0)
    p = np.repeat((np.arange(200) + 0.5) / 200, 12)  # each bin is an experiment of its own
    display = CalibrationDisplay.from_predictions(rng.uniform(size=p.size) < p, p, n_bins=200)
    low, high = display.interval
    covered = (low <= display.predicted) & (display.predicted <= high)
    assert 0.95 < covered.mean() < 1.0


def test_calibration_writes_its_legend_beside_the_intervals():
    rng = np.random.default_rng(0)
    display = CalibrationDisplay.from_predictions(rng.random(40) < 0.5, rng.random(40))
    display.figure_.draw_without_rendering()
    legend = display.ax_.get_legend().get_window_extent()
    for ax in (display.ax_, display.counts_ax_):
        assert not legend.overlaps(ax.get_window_extent())


def test_calibration_of_a_model(iris):
    X, y, model = iris
    with pytest.raises(ValueError, match=r"^The model has 3 classes: say with pos_label which one"):
        CalibrationDisplay.from_estimator(model, X, y)
    with pytest.raises(ValueError, match=r"^pos_label must be one of .*, got 7\.$"):
        CalibrationDisplay.from_estimator(model, X, y, pos_label=7)
    display = CalibrationDisplay.from_estimator(model, X, y, pos_label=2, n_bins=4)
    p = model.predict_proba(X)[:, 2]
    np.testing.assert_array_equal(display.counts, np.histogram(p, bins=4, range=(0, 1))[0])
    assert display.counts_ax_.get_xlabel() == "predicted probability of 2"
    for bad in ([0.5, 1.5], [np.nan, 0.5], [[0.5], [0.5]], []):
        with pytest.raises(ValueError, match=r"y_prob|inconsistent"):
            CalibrationDisplay.from_predictions([0, 1], bad)
    with pytest.raises(ValueError, match=r"^n_bins must be a positive whole number, got 0\.$"):
        CalibrationDisplay.from_predictions([0, 1], [0.2, 0.3], n_bins=0)


# ---- band ----------------------------------------------------------------------------------------


def test_the_band_is_two_deviations_wide(sinc):
    X, y, model = sinc
    display = RegressionBandDisplay.from_estimator(model, X, y, margin=0.5)
    mean, std = model.predict_dist(display.x[:, None])
    np.testing.assert_array_equal(display.line_.get_ydata(), mean)
    outline = display.band_.get_paths()[0].vertices
    at = outline[np.isclose(outline[:, 0], display.x[7])][:, 1]
    np.testing.assert_allclose([at.min(), at.max()], [mean[7] - 2 * std[7], mean[7] + 2 * std[7]])
    np.testing.assert_array_equal(display.points_.get_offsets(), np.column_stack([X[:, 0], y]))
    squares = display.squares_.get_offsets()
    np.testing.assert_array_equal(squares, np.column_stack([X[:, 0], y])[model.relevance_])
    assert display.x.max() > X.max()
    assert display.ax_.get_title() == f"{model.n_relevant_} kernels kept"


def test_the_band_of_a_pipeline_is_in_the_units_of_the_data(sinc):
    pd = pytest.importorskip("pandas", reason="Data frames need pandas.")
    X, y, _ = sinc
    frame = pd.DataFrame({"metres": 100 + 3 * X[:, 0]})
    model = make_pipeline(StandardScaler(), RVMRegressor(gamma=2.0)).fit(frame, y)
    display = RegressionBandDisplay.from_estimator(model, frame, y)
    assert display.ax_.get_xlabel() == "metres"
    kept = frame.to_numpy()[model[-1].relevance_, 0]
    np.testing.assert_allclose(display.squares_.get_offsets()[:, 0], kept)
    blind = make_pipeline(FunctionTransformer(np.tanh), RVMRegressor(gamma=2.0)).fit(X / 10, y)
    other = RegressionBandDisplay.from_estimator(blind, X / 10)
    assert other.points_ is None
    with pytest.raises(ValueError, match=r"exactly one feature, got data of shape \(60, 2\)"):
        RegressionBandDisplay.from_estimator(model, np.column_stack([X, X]), y)


def test_new_targets_put_the_squares_on_the_mean(sinc):
    X, y, model = sinc
    display = RegressionBandDisplay.from_estimator(model, X[::-1], y[::-1])
    heights = display.squares_.get_offsets()[:, 1]
    np.testing.assert_allclose(heights, model.predict(model.relevance_vectors_), atol=2e-2)


# ---- names that are long, and styles that are dark ------------------------------------------


def test_long_names_leave_room_for_the_picture(plt):
    names = [
        f"a question that fills a line and more, number {k} (in units of {k} mm)" for k in range(30)
    ]
    X, y, _ = make_sparse_regression(60, 30, n_relevant=5, random_state=0)
    model = SparseBayesRegressor().fit(pd.DataFrame(X, columns=names), y)
    display = RelevanceDisplay.from_estimator(model)
    display.figure_.canvas.draw()
    assert set(display.names) <= set(names)  # whole, for who asks
    written = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert all(len(text) == 32 and text.endswith(" mm)") for text in written)
    assert min(label.get_window_extent().x0 for label in display.ax_.get_yticklabels()) >= 0


def test_what_is_drawn_dark_is_drawn_on_light(plt):
    from matplotlib.colors import to_hex

    X, y = make_ripley(60, random_state=0)
    model = LaconicClassifier().fit(X, y)
    with plt.style.context("dark_background"):
        display = BoundaryDisplay.from_estimator(model, X, y)
        panels = CalibrationDisplay.from_estimator(model, X, y)
    for ax in (display.ax_, panels.ax_, panels.counts_ax_):
        assert ax.get_facecolor() == (1.0, 1.0, 1.0, 1.0)
    for ax in (display.ax_, panels.ax_):
        assert ax.get_legend().get_frame().get_facecolor() == (1.0, 1.0, 1.0, 1.0)
        assert {to_hex(text.get_color()) for text in ax.get_legend().get_texts()} == {"#000000"}
    assert not BoundaryDisplay.from_estimator(model, X, y).ax_.get_legend().get_frame_on()
