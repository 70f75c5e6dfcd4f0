"""Every example of the gallery runs, says what it found, draws it, and writes nothing."""

import re
import runpy
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("plot_*.py"))
# What an example needs beside the library and matplotlib.
NEEDS = {"plot_dask": {"dask", "distributed"}}


@pytest.fixture
def plt(monkeypatch):
    matplotlib = pytest.importorskip("matplotlib", reason="The examples draw with matplotlib.")
    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    monkeypatch.setattr(plt, "show", lambda: None)  # nothing can be shown without a display
    yield plt
    plt.close("all")


def test_there_is_a_gallery():
    if not (ROOT / "examples").exists():
        pytest.skip("The examples are not part of this copy of the sources.")
    assert len(EXAMPLES) >= 12


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs_says_what_it_found_and_draws_it(path, plt, tmp_path, monkeypatch, capsys):
    for package in NEEDS.get(path.stem, ()):
        pytest.importorskip(package, reason=f"This example needs {package}.")
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out.strip(), "an example says what it found"
    assert plt.get_fignums(), "an example draws what it found"
    assert not list(tmp_path.iterdir())
    for number in plt.get_fignums():
        figure = plt.figure(number)
        figure.canvas.draw()  # warnings are errors here, also those of the layout
        axes = [*figure.axes, *(inset for ax in figure.axes for inset in ax.child_axes)]
        assert any(ax.get_xlabel() for ax in axes), "axes have labels"


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_has_a_heading_and_needs_no_extra_but_matplotlib(path):
    text = path.read_text(encoding="utf-8")
    heading = re.match(r'r?"""(.+)\n(=+)\n\n\S', text)
    assert heading, "an example begins with a heading, underlined, and a sentence"
    assert len(heading[1]) == len(heading[2])
    packages = set(re.findall(r"^(?:from|import) (\w+)", text, re.MULTILINE))
    usual = {"laconism", "matplotlib", "numpy", "sklearn", "scipy"}
    assert packages <= usual | NEEDS.get(path.stem, set())


@pytest.mark.slow
def test_units_do_not_matter_to_us_and_do_to_ard(plt):
    """What the README and the example claim."""
    path = ROOT / "examples" / "plot_scale_invariance.py"
    if not path.exists():
        pytest.skip("The examples are not part of this copy of the sources.")
    true, kept = runpy.run_path(str(path))["measure"]()
    first = kept["as drawn"]
    assert set(true) <= set(first["laconism"])
    assert set(true) <= set(first["ARDRegression"])
    for units, row in kept.items():
        np.testing.assert_array_equal(row["laconism"], first["laconism"], err_msg=units)
    assert kept["X * 1000"]["ARDRegression"].size == 0
    assert kept["y * 1e-4"]["ARDRegression"].size == 0
