"""A few cases of each campaign, so that they do not rot; ``make campaign`` runs as many as one likes."""

import contextlib
import itertools
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import laconism
from campaign import case, fuzz
from campaign.draw import ESTIMATORS, VALUES, draw
from campaign.fuzz import require_sentence
from campaign.runner import SHARES, Failed, Tally, reproducer, run, within
from laconism.model.predictions import BinaryPredictions

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]
NEEDS = {"files": ["skops"], "fuzz": ["skops"], "kills": ["skops"], "graphs": ["onnx", "onnxruntime"]}
NEEDS["tables"] = ["typer", "rich", "pandas", "pyarrow", "skops"]
# Cases that take little time: of kills those that end ``laconism.save``.
SEEDS = {
    "files": range(20),
    "fuzz": [0, 1, 3, 4, 5],
    "graphs": [1, 2, 3],
    "kills": [1, 2, 3],
    "tables": [1, 2, 3, 5],
}


@pytest.mark.parametrize("name", SHARES)
def test_cases(name):
    for package in NEEDS[name]:
        pytest.importorskip(package)
    for seed in SEEDS[name]:
        case(name, seed)


def test_every_setting_is_drawn():
    settings = {each for cls in ESTIMATORS.values() for each in cls().get_params(deep=False)}
    assert settings == VALUES.keys() | {"kernel"}


def test_a_seed_makes_one_case():
    for seed in range(50):
        one, two = draw(seed), draw(seed)
        assert str(one) == str(two)
        np.testing.assert_array_equal(one.X, two.X)
        assert type(one.rows()) is type(two.rows())


def test_a_fault_is_reported_with_a_script_that_shows_it(monkeypatch):
    """A fault of every classifier: probabilities that do not sum to one."""
    monkeypatch.setattr(fuzz, "LONGEST_SHRINK_SECONDS", 1.0)
    honest = BinaryPredictions.predict_proba
    monkeypatch.setattr(BinaryPredictions, "predict_proba", lambda self, X: 1.01 * honest(self, X))
    said = []
    (tally,) = run(["fuzz"], seed=51, cases=1, say=said.append)
    assert sum(tally.failures.values()) == 1
    assert tally.cases == 1
    assert str(tally) == said[-1]
    script = next(text for text in said if "import" in text)
    assert len(script.splitlines()) <= 10
    assert any("sums to one but for" in text for text in said)
    code = "\n".join(line.strip() for line in script.splitlines())
    with pytest.raises(Failed, match="probabilities"):
        exec(code, {})
    monkeypatch.undo()
    exec(code, {})  # the fault is in the library, not in the case


def test_an_error_that_nobody_wrote_is_a_failure():
    def broken():
        np.zeros(3) + np.zeros(2)

    for raise_it in (broken, lambda: {}["x"], lambda: int("x")):
        with pytest.raises(Exception) as caught:  # noqa: PT011
            raise_it()
        with pytest.raises(Failed):
            require_sentence(caught.value)
    with pytest.raises(ValueError, match="max_iter") as caught:
        laconism.RVMClassifier(max_iter=-1).fit([[1.0], [2.0]], [0, 1])
    require_sentence(caught.value)


def test_a_failure_of_any_kind_has_a_script():
    assert reproducer("files", 7, Failed("law", "seen")).split("\n") == [
        "    from campaign import case",
        '    case("files", seed=7)',
    ]
    assert str(Tally("files", 3, 1.2)) == "files: 3 cases, 0 failures, 1 seconds"


def test_what_takes_too_long_is_ended():
    def forever():
        with contextlib.suppress(Exception):  # as a load that takes every error for damage
            sum(1 for _ in itertools.count())

    with pytest.raises(Failed, match="time"), within(0.05):
        forever()


def test_the_module_ends_with_an_exit_code():
    words = [sys.executable, "-m", "campaign", "--minutes", "0", "--only", "files"]
    paths = [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    paths = {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
    ended = subprocess.run(words, capture_output=True, text=True, env=os.environ | paths)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.splitlines()[-1] == "files: 0 cases, 0 failures, 0 seconds"
