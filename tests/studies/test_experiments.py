"""The papers' experiments: found, run in small, remembered, judged by their rules, and reported."""

import csv
import importlib.util
import math
import re
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
if not (ROOT / "experiments").is_dir():
    pytest.skip("The experiments are not part of this copy of the sources.", allow_module_level=True)
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from experiments import __main__ as command  # noqa: E402
from experiments import _html, _judge, _report, _run, _store  # noqa: E402
from experiments._declare import Cell, Claim, Number, expected, load, names  # noqa: E402
from experiments._screen import Screen  # noqa: E402

from browser import browse  # noqa: E402

NAMES = ["adaptive_sparseness", "digits", "generalized_gaussian", "grid_rvm", "jcfo", "sparse_probit"]
# Every table and figure that has to have a verdict.
PLACES = {
    "sparse_probit": ["figure 1", "figure 2", "figure 3", "figure 4", "table 1", "table 2", "table 3"],
    "adaptive_sparseness": ["figure 1", "table 1", "table 2", "table 3"],
    "jcfo": ["figure 1", "table 1", "table 2"],
    "generalized_gaussian": ["figure 1", "figure 2", "figure 3", "table 1", "table 2"],
    "grid_rvm": ["figure 1", "figure 3", "table 1"],
    "digits": ["mnist"],
}


def experiments(*arguments):
    command = [sys.executable, "-m", "experiments", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """Results of the quick run of every experiment, and its report."""
    folder = tmp_path_factory.mktemp("quick")
    done = experiments("run", "all", "--quick", "--jobs", 2, "--results", folder)
    assert done.returncode == 0, done.stdout + done.stderr
    told = experiments("report", "--quick", "--results", folder, "--output", folder / "report")
    assert told.returncode == 0, told.stderr
    return folder


# ---- the registry ----------------------------------------------------------------------------------


def test_the_folder_is_the_registry(capsys):
    assert names() == NAMES
    assert command.main(["list"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == NAMES


def test_an_unknown_experiment_is_refused_with_those_there_are(capsys):
    with pytest.raises(SystemExit, match="2"):
        command.main(["run", "no_such"])
    told = capsys.readouterr().err
    assert "no such experiment: no_such; there are adaptive_sparseness, digits" in told


@pytest.mark.parametrize("name", NAMES)
def test_every_table_and_figure_is_declared(name):
    assert sorted(expected(name).places) == sorted(PLACES[name])
    readme = (ROOT / "experiments" / name / "README.md").read_text()
    headings = ["## Claims", "## Assumptions", "## Changed after results were seen"]
    assert re.findall(r"^## .*$", readme, re.MULTILINE) == headings


@pytest.mark.parametrize("name", NAMES)
def test_cells_are_different_and_numbers_and_claims_are_about_them(name):
    experiment, paper = load(name), expected(name)
    for small in (False, True):
        cells = experiment.cells(small)
        assert len({cell.key for cell in cells}) == len(cells)
        assert {cell.place for cell in cells} <= set(paper.places)
    known = {(cell.place, cell.data, cell.method) for cell in experiment.cells(False)}
    for loan in paper.borrowed:
        lent = load(loan.experiment).cells(False)
        known |= {(loan.place, cell.data, cell.method) for cell in lent if cell.place == loan.source}
    if hasattr(experiment, "derive"):
        rows = _report.current(name, ROOT / "experiments" / "results")
        known |= {(row["place"], row["data"], row["method"]) for row in rows}
    for number in paper.numbers:
        assert (number.place, number.data, number.method) in known, number
        assert number.metric in _report.metrics(experiment, paper)
    for claim in paper.claims:
        assert (claim.place, claim.data, claim.ours) in known, claim
        assert claim.metric in _report.metrics(experiment, paper)
        assert claim.kind in ("better", "comparable", "within")
        assert (claim.kind == "within") == (claim.value is not None) == (not claim.theirs)
        if claim.theirs:
            assert (claim.place, claim.data, claim.theirs) in known, claim


@pytest.mark.slow
def test_the_documents_open_with_the_claims_as_they_are_judged():
    papers = _report.gather_all(NAMES, ROOT / "experiments" / "results")
    for paper in papers:
        readme = (ROOT / "experiments" / paper["name"] / "README.md").read_text(encoding="utf-8")
        assert _report.claims_markdown(paper) in readme, "python -m experiments claims prints the table"
    readme = (ROOT / "experiments" / "README.md").read_text(encoding="utf-8")
    assert _report.summary_markdown(papers) in readme


@pytest.mark.parametrize("name", NAMES)
def test_rivals_see_the_same_draws(name):
    """For the same table, data and seed no method has a configuration of its own."""
    for small in (False, True):
        configs = {}
        for cell in load(name).cells(small):
            assert configs.setdefault((cell.place, cell.data, cell.seed), cell.config) == cell.config


# ---- quick runs ------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_quick_run_and_its_report(quick, tmp_path):
    """One test, so that one worker makes the run and no other repeats it."""
    end_within_their_bands(quick)
    a_finished_cell_is_never_run_again(quick)
    rows_say_what_they_hang_on(quick)
    the_report_needs_nothing_but_itself(quick)
    for width, scheme in ((1200, "light"), (400, "dark")):
        opens_in_a_browser(quick, tmp_path / scheme, width, scheme)


def end_within_their_bands(quick):
    for name in NAMES:
        experiment = load(name)
        path = quick / f"{name}.csv"
        if not path.exists():  # every cell was skipped for want of data
            continue
        rows = _store.read(path)
        assert {row["status"] for row in rows} == {"ok"}
        for row in rows:
            for metric, (low, high) in experiment.BANDS.items():
                if row[metric] != "":
                    assert math.isfinite(row[metric]), row
                    assert low <= row[metric] <= high, (name, row)


def test_every_number_has_a_band():
    for name in NAMES:
        experiment = load(name)
        told = {"wrong", "curve", "minutes", "log_loss"}
        assert set(experiment.METRICS) - told <= set(experiment.BANDS) | told


def a_finished_cell_is_never_run_again(quick):
    before = {path.name: path.read_bytes() for path in quick.glob("*.csv")}
    assert command.main(["run", "digits", "--quick", "--results", str(quick)]) == 0
    assert {path.name: path.read_bytes() for path in quick.glob("*.csv")} == before


def rows_say_what_they_hang_on(quick):
    with (quick / "sparse_probit.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        assert re.fullmatch(r"[0-9a-f]{12}", row["key"])
        assert re.match(r"python \d.*laconism .*numpy .*scikit-learn ", row["versions"])
        assert row["config"].startswith("{")
        assert "/" not in row["message"]


def test_a_cell_is_a_pure_function():
    experiment = load("sparse_probit")
    cell = next(cell for cell in experiment.cells(True) if cell.place == "figure 3" and cell.seed == 1)
    assert experiment.run(cell) == experiment.run(cell)


# ---- durable, resumable ----------------------------------------------------------------------------

TOY = [Cell("table 1", "toy", "laconism", seed, {"n": 3}) for seed in range(4)]


class Toy:
    """An experiment that counts how often it is asked."""

    METRICS = ("error",)
    asked: list

    def cells(self, quick):
        return TOY

    def run(self, cell):
        self.asked.append(cell.seed)
        if cell.seed == 2 and self.breaks:
            raise RuntimeError("no luck at /home/somebody/secret/file.py")
        return {"error": 0.5 * cell.seed}


@pytest.fixture
def toy(monkeypatch):
    experiment = Toy()
    experiment.asked, experiment.breaks = [], False
    monkeypatch.setattr(_run, "load", lambda name: experiment)
    return experiment


def start(folder):
    return _run.run("toy", quick=False, jobs=1, folder=folder, report=Screen())


def test_a_run_goes_on_where_it_stopped(toy, tmp_path):
    for cell in TOY[:2]:
        _store.append(
            tmp_path / "toy.csv",
            _store.columns(Toy.METRICS),
            {**_store.describe(cell, "ok", 0.1), "error": 1.0},
        )
    assert start(tmp_path) == 0
    assert toy.asked == [2, 3]
    assert start(tmp_path) == 0
    assert toy.asked == [2, 3]
    assert [row["error"] for row in _store.read(tmp_path / "toy.csv")] == [1.0, 1.0, 1.0, 1.5]


def test_a_torn_last_line_is_run_again_and_hurts_nobody(toy, tmp_path):
    start(tmp_path)
    path = tmp_path / "toy.csv"
    whole = path.read_bytes()
    lines = whole.splitlines(keepends=True)
    for cut in (1, 20, len(lines[-1]) // 2, len(lines[-1]) - 8):  # even within the last column
        path.write_bytes(b"".join(lines[:-1]) + lines[-1][:cut])
        assert [row["seed"] for row in _store.read(path)][:3] == [0, 1, 2]
        toy.asked.clear()
        start(tmp_path)
        assert toy.asked in ([3], [])
        rows = _store.read(path)
        assert [row["seed"] for row in rows] == [0, 1, 2, 3]
        assert rows[3]["error"] == 1.5


def test_a_failure_is_kept_as_a_sentence_and_tried_again(toy, tmp_path, capsys):
    toy.breaks = True
    assert start(tmp_path) == 1
    row = next(row for row in _store.read(tmp_path / "toy.csv") if row["seed"] == 2)
    assert row["status"] == "failed"
    assert row["message"] == "RuntimeError: no luck at .../file.py"
    toy.breaks = False
    toy.asked.clear()
    assert start(tmp_path) == 0
    assert toy.asked == [2]
    assert {row["status"] for row in _store.read(tmp_path / "toy.csv")} == {"ok"}


def test_an_interrupted_run_keeps_what_is_finished(toy, tmp_path, monkeypatch, capsys):
    def interrupted(cell):
        if cell.seed == 2:
            raise KeyboardInterrupt
        return {"error": 0.5}

    monkeypatch.setattr(toy, "run", interrupted)
    monkeypatch.setattr(command, "names", lambda: ["toy"])
    assert command.main(["run", "toy", "--results", str(tmp_path)]) == 130
    assert "the same command goes on from here" in capsys.readouterr().out
    assert [row["seed"] for row in _store.read(tmp_path / "toy.csv")] == [0, 1]


def test_another_configuration_is_another_cell():
    cell = TOY[0]
    assert cell.key == Cell("table 1", "toy", "laconism", 0, {"n": 3}).key
    assert cell.key != Cell("table 1", "toy", "laconism", 0, {"n": 4}).key
    assert cell.key != Cell("table 1", "toy", "laconism", 1, {"n": 3}).key


def test_a_new_column_keeps_the_old_rows(tmp_path):
    path = tmp_path / "toy.csv"
    row = {**_store.describe(TOY[0], "ok", 0.1), "error": 0.25}
    _store.append(path, _store.columns(["error"]), row)
    _store.append(path, _store.columns(["error", "kernels"]), {**row, "key": "other", "kernels": 3})
    assert [(row["error"], row["kernels"]) for row in _store.read(path)] == [(0.25, ""), (0.25, 3.0)]


def test_missing_data_is_a_skip_with_a_sentence(tmp_path, monkeypatch):
    monkeypatch.setenv("LACONISM_DATA", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    experiment = load("generalized_gaussian")
    experiment._ida.cache_clear()
    cell = next(cell for cell in experiment.cells(True) if cell.data == "titanic")
    row = _run.run_cell("generalized_gaussian", cell)
    assert row["status"] == "skipped"
    assert re.match(r"The data file ida_titanic.npz is missing: .* published by", row["message"])


# ---- what an experiment does by itself -------------------------------------------------------------


def test_folds_do_not_part_the_two_points_of_a_place_on_the_spirals():
    split, _, folds = load("generalized_gaussian").toy("spiral", 0)
    inner, outer = split.X[split.y == 0], split.X[split.y == 1]
    assert np.linalg.norm(inner - outer, axis=1).max() < 1.5  # the k-th of one class and of the other
    for train, test in folds:
        held = np.isin(np.arange(200), test)
        assert np.array_equal(held[split.y == 0], held[split.y == 1])
        assert train.size == 160
        assert not held[train].any()


def test_all_of_paper_003_is_chosen_by_the_default_of_the_library():
    experiment = load("generalized_gaussian")
    widths, folds = experiment.toy("cross", 0)[1:]
    for method, sparsest in (
        ("laconism GGIG", False),
        ("laconism LAP", False),
        ("laconism GGIG, sparsest", True),
    ):
        for model in (experiment.kernel(method, widths), experiment.kernel(method, widths, folds)):
            assert (model.scoring, model.criterion, model.one_standard_error) == (None, "cv", sparsest)


def test_the_mean_of_all_cases_is_of_draws_that_have_them_all():
    experiment = load("generalized_gaussian")
    cases = [f"n = {n}, {k} of 50" for n in experiment.SIZES for k in experiment.RELEVANT]
    common = {"place": "figure 3", "method": "laconism GJ", "status": "ok", "features": 3, "q": ""}
    rows = [{**common, "data": case, "seed": 0, "percent": float(i)} for i, case in enumerate(cases)]
    rows += [{**common, "data": case, "seed": 1, "percent": 1.0} for case in cases[1:]]
    (mean,) = experiment.derive(rows)
    assert (mean["data"], mean["seed"], mean["percent"]) == ("mean of all cases", 0, 5.5)


# ---- the rules of the verdicts ---------------------------------------------------------------------


def rows_of(method, values, **more):
    return [
        {
            "place": "table 1",
            "data": "d",
            "method": method,
            "seed": k,
            "status": "ok",
            "error": v,
            **more,
        }
        for k, v in enumerate(values)
    ]


@pytest.mark.parametrize(
    ("value", "verdict"),
    [("0.20", "reproduced"), ("0.23", "reproduced"), ("0.15", "not reproduced"), ("0.26", "better")],
)
def test_a_number_is_judged_by_its_standard_error(value, verdict):
    # mean .2, deviation .02, standard error .01: room for .028 and the rounding of .005
    rows = rows_of("A", [0.18, 0.22, 0.18, 0.22, 0.2])
    number = Number("table 1", "d", "A", "error", Decimal(value))
    judged = _judge.judge_number(number, rows)
    assert judged.verdict == verdict
    assert judged.ours.error == pytest.approx(
        np.std([0.18, 0.22, 0.18, 0.22, 0.2], ddof=1) / math.sqrt(5)
    )


@pytest.mark.parametrize(
    ("gains", "better", "comparable"),
    [
        ([0.02, 0.03, 0.02, 0.03], "holds", "holds"),
        ([0.02, -0.03, 0.02, -0.01], "no difference seen", "holds"),
        ([0.4, -0.4, 0.4, -0.4], "no difference seen", "too noisy to tell"),
        ([-0.02, -0.03, -0.02, -0.03], "reversed", "reversed"),
    ],
)
def test_a_claim_is_a_paired_comparison(gains, better, comparable):
    base = np.array([0.1, 0.9, 0.4, 0.6])  # draws differ far more than methods
    rows = rows_of("A", base) + rows_of("B", base + gains)
    for kind, verdict in (("better", better), ("comparable", comparable)):
        claim = Claim("table 1", "A beats B", "d", "error", "A", "B", kind)
        assert _judge.judge_claim(claim, rows).verdict == verdict
    larger = Claim("table 1", "B is larger", "d", "error", "B", "A", better="larger")
    assert _judge.judge_claim(larger, rows).verdict == better


def test_one_split_is_judged_by_the_cases():
    ours, theirs = np.zeros(100, bool), np.zeros(100, bool)
    ours[:10] = theirs[5:25] = True  # 10 and 20 errors; 20 cases on which just one of them errs
    sides = {
        name: rows_of(name, [float(wrong.sum())], errors=float(wrong.sum()), wrong=_judge.bits(wrong))
        for name, wrong in (("A", ours), ("B", theirs))
    }
    rows = sides["A"] + sides["B"]
    told = _judge.judge_claim(Claim("table 1", "", "d", "errors", "A", "B"), rows)
    assert (told.difference.mean, told.difference.error) == (10.0, pytest.approx(math.sqrt(20)))
    assert told.verdict == "holds"
    assert _judge.estimate(rows, "errors", method="A").error == pytest.approx(math.sqrt(10 * 0.9))


def test_a_bound_is_judged_on_its_wrong_side_only():
    rows = rows_of("A", [0.30, 0.32, 0.34])
    for value, slack, verdict in (
        (0.4, 0.0, "holds"),
        (0.2, 0.0, "reversed"),
        (0.2, 0.15, "holds"),
        (0.31, 0.0, "too noisy to tell"),
    ):
        claim = Claim("table 1", "", "d", "error", "A", kind="within", value=value, slack=slack)
        assert _judge.judge_claim(claim, rows).verdict == verdict


def test_a_place_is_judged_by_all_it_holds():
    def told(*words):
        return [_judge.Judgement(word) for word in words]

    assert _judge.judge_place(told("reproduced", "better", "reproduced"), told("holds")) == "reproduced"
    assert _judge.judge_place(told("better", "reproduced"), told("holds")) == "better"
    assert _judge.judge_place(told("reproduced"), told("no difference seen")) == "partly: 1 of 2"
    assert _judge.judge_place(told("not reproduced"), told("reversed")) == "not reproduced"
    assert _judge.judge_place(told("not measured"), []) == "not measured"
    assert _judge.judge_place(told("too noisy to tell"), []) == "too noisy to tell"
    assert _judge.judge_place(told("reproduced"), told("too noisy to tell")) == "partly: 1 of 2"


@pytest.mark.parametrize(
    ("words", "verdict"),
    [
        (["holds", "holds"], "holds"),
        (["holds", "reversed", "no difference seen"], "fails"),
        (["holds", "too noisy to tell"], "cannot be told"),
        (["not measured", "holds"], "holds"),
        (["not measured"], "not measured"),
    ],
)
def test_a_sentence_is_judged_by_all_its_comparisons(words, verdict):
    assert _judge.judge_sentence([_judge.Judgement(word) for word in words]) == verdict


def test_one_draw_of_the_paper_may_be_far_from_our_mean():
    rows = rows_of("A", [0.19, 0.21, 0.19, 0.21, 0.2])  # standard error .0045, deviation .01
    number = Number("table 1", "d", "A", "error", Decimal("0.185"))
    assert _judge.judge_number(number, rows).verdict == "not reproduced"
    alone = Number("table 1", "d", "A", "error", Decimal("0.185"), draws=1)
    assert _judge.judge_number(alone, rows).verdict == "reproduced"


def test_noise_is_no_agreement():
    number = Number("table 1", "d", "A", "error", Decimal("0.30"))
    assert _judge.judge_number(number, rows_of("A", [0.05, 0.95, 0.1])).verdict == "too noisy to tell"
    lacking = Number("table 1", "d", "A", "accuracy", Decimal("98.0"), "larger")
    rows = [
        {**row, "accuracy": value}
        for row, value in zip(rows_of("A", [0] * 3), (96, 98, 99), strict=True)
    ]
    assert _judge.judge_number(lacking, rows).verdict == "too noisy to tell"


def test_what_was_not_measured_says_so():
    claim = Claim("table 1", "", "d", "error", "A", "B")
    assert _judge.judge_claim(claim, []).verdict == "not measured"
    assert _judge.judge_claim(claim, rows_of("A", [0.1])).verdict == "not measured"


# ---- the tracked results and the report ------------------------------------------------------------


@pytest.mark.slow
def test_every_place_has_a_verdict_from_the_tracked_results(tmp_path):
    for name in NAMES:
        paper = _report.gather(name, ROOT / "experiments" / "results")
        for place, told in paper["places"].items():
            assert told["verdict"] != "not measured", (name, place)
            assert told["claims"] or told["numbers"]


def the_report_needs_nothing_but_itself(quick):
    page = (quick / "report" / "index.html").read_text(encoding="utf-8")
    for name, places in PLACES.items():
        for place in places:
            assert f'id="{name}-{place.replace(" ", "-")}"' in page
    assert "prefers-color-scheme: dark" in page
    assert not re.search(r"""(src|href)=["']?(https?:|//)|@import|url\(""", page)
    assert 'src="data:image/png;base64,' in page


def test_text_of_the_results_cannot_become_markup():
    assert "<b>" not in _html.inline("a <b> `c`")
    assert "&lt;b&gt;" in _html.badge("<b>")


def opens_in_a_browser(quick, folder, width, scheme):
    folder.mkdir()
    page = quick / "report" / "index.html"
    # A copy that sorts a table, looks for what sticks out, and leaves what it found in the document.
    probe = folder / "probe.html"
    script = """<script>
    window.addEventListener('error', function (e) { document.body.dataset.error = e.message; });
    window.addEventListener('load', function () {
      var table = document.querySelector('table.numbers');
      var button = table.querySelectorAll('th')[4].querySelector('button');
      button.click();
      button.click();
      var seen = Array.from(table.tBodies[0].rows).map(function (r) { return r.cells[4].dataset.v; });
      document.body.dataset.sorted = seen.filter(function (v) { return v !== ''; }).join(' ');
      document.body.dataset.wide = document.documentElement.scrollWidth - window.innerWidth;
      var drawn = Array.from(document.images).every(function (image) { return image.naturalWidth > 0; });
      document.body.dataset.images = drawn;
    });</script>"""
    text = page.read_text(encoding="utf-8")
    probe.write_text(text.replace("<style>", script + "<style>", 1), encoding="utf-8")
    dark = ["--force-dark-mode"] if scheme == "dark" else []
    done = browse(probe.as_uri(), folder / "profile", f"--window-size={width},900", *dark)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "CONSOLE" not in done.stderr
    body = re.search(r"<body([^>]*)>", done.stdout)[1]
    assert "data-error" not in body
    assert 'data-images="true"' in body
    values = [float(value) for value in re.search(r'data-sorted="([^"]*)"', body)[1].split()]
    assert values
    assert values == sorted(values, reverse=True)
    assert int(re.search(r'data-wide="(-?\d+)"', body)[1]) <= 0


@pytest.mark.skipif(importlib.util.find_spec("rich") is None, reason="rich is not installed.")
def test_progress_is_shown_where_somebody_looks(monkeypatch):
    import io

    from rich.console import Console

    screen = Screen()
    screen.console = Console(file=io.StringIO(), force_terminal=True, width=100)
    with screen.progress("toy", 4, 1) as advance:
        advance("table 1")
    assert "toy" in screen.console.file.getvalue()
