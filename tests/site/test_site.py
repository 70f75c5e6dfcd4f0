"""The site: its code runs, its tables come from files, it builds without a warning, it can be read."""

import doctest
import functools
import html
import http.server
import inspect
import json
import re
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

import laconism
from browser import browse

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md")) if DOCS.exists() else []
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# What the code of a page needs beyond the library itself.
NEEDS = {
    "persistence": ["skops"],
    "onnx": ["onnx", "onnxruntime"],
    "start": ["matplotlib"],
    "displays": ["matplotlib"],
    "dask": ["dask.dataframe", "distributed"],
}
OFFERS = {"persistence": "save", "onnx": "to_onnx"}


@pytest.fixture(scope="module")
def extensions():
    """The site's own extensions, importable while they are tested."""
    if not DOCS.exists():
        pytest.skip("The site is not part of this copy of the sources.")
    pytest.importorskip("sphinx", reason="The site needs sphinx: pip install --group docs.")
    places = [str(DOCS / "_ext"), str(ROOT)]
    sys.path[:0] = places
    yield
    for place in places:
        sys.path.remove(place)


# ---- code ----------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", [p for p in PAGES if BLOCK.search(p.read_text(encoding="utf-8"))], ids=lambda p: p.stem
)
def test_the_code_of_a_page_runs_and_prints_what_it_says(page, monkeypatch):
    for package in NEEDS.get(page.stem, []):
        pytest.importorskip(package, reason=f"The code of this page needs {package}.")
    if not hasattr(laconism, OFFERS.get(page.stem, "__all__")):
        pytest.skip("This version has no such function.")
    monkeypatch.setenv("MPLBACKEND", "agg")
    text = page.read_text(encoding="utf-8")
    names = {"__name__": "page"}
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    ran = 0
    for found in BLOCK.finditer(text):
        line = text[: found.start()].count("\n") + 1
        test = doctest.DocTestParser().get_doctest(found[1], names, page.stem, str(page), line)
        assert test.examples, f"{page.name}, line {line}: code in a page has prompts, so that it is run"
        runner.run(test, out=sys.stdout.write, clear_globs=False)
        names = test.globs
        ran += len(test.examples)
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
    assert ran
    assert runner.failures == 0


def test_no_page_leaves_code_that_is_not_run():
    for page in PAGES:
        for language in re.findall(r"^```(\w+)$", page.read_text(encoding="utf-8"), re.MULTILINE):
            assert language in ("python", "sh"), f"{page.name} has a block of {language}"


# ---- tables --------------------------------------------------------------------------------------


@pytest.mark.slow
def test_every_table_comes_from_the_files(extensions, monkeypatch, tmp_path):
    import measured
    import tradeoffs

    told = {name: table() for name, table in measured.TABLES.items()}
    assert all("|" in told[name] for name in tradeoffs.__all__)
    for path in (ROOT / "benchmarks" / "results").glob("*.csv"):
        rows = path.read_text(encoding="utf-8").splitlines()
        head = rows[0].split(",")
        spoilt = [rows[0]]
        for row in rows[1:]:  # every measurement a little different
            cells = row.split(",")
            for k, name in enumerate(head):
                if name in ("error", "log_loss", "seconds", "cpu_seconds", "coef_error") and cells[k]:
                    cells[k] = _altered(cells[k])
            spoilt.append(",".join(cells))
        (tmp_path / path.name).write_text("\n".join(spoilt), encoding="utf-8")
    monkeypatch.setattr(tradeoffs, "BENCH", tmp_path)
    for name in tradeoffs.__all__:
        assert measured.TABLES[name]() != told[name], f"{name} does not look at the files"


def _altered(cell):
    try:
        return str(1.37 * float(cell))
    except ValueError:
        return cell  # part of a sentence with commas


def test_without_results_a_sentence_says_how_to_make_them(extensions, monkeypatch, tmp_path):
    import measured
    import tradeoffs

    monkeypatch.setattr(tradeoffs, "BENCH", tmp_path)
    monkeypatch.setattr(measured, "BENCH", tmp_path)
    monkeypatch.setattr(measured, "EXPERIMENTS", tmp_path)
    for name in {*measured.TABLES} - {"decisions"}:
        assert re.fullmatch(r"\*There are no .* yet: .*`.*\*", measured.TABLES[name]()), name
    table = measured.TABLES["decisions"]()
    assert "LaconicClassifier" in table  # advice remains, numbers are dashes
    assert tradeoffs.NOTHING in table


def test_a_benchmark_that_is_half_done_has_its_tables(extensions, monkeypatch, tmp_path):
    import measured

    monkeypatch.setattr(measured, "BENCH", tmp_path)
    head = (
        "taken,case,method,n,p,seed,threads,status,cpu_seconds,rmse,log_density,coverage,kept,versions"
    )
    row = "2026-01-01T00:00:00Z,yacht,laconism,277,6,0,1,ok,1.5,0.31,-0.07,0.94,104,numpy"
    other = "2026-01-01T00:00:00Z,yacht,explainable boosting,277,6,0,1,skipped,,,,,,numpy"
    file = tmp_path / "uci.csv"
    file.write_text(f"{head}\n{other}\n", encoding="utf-8")
    assert measured.TABLES["regression"]().startswith("*There are no results yet")
    file.write_text(f"{head}\n{row}\n{other}\n", encoding="utf-8")
    told = measured.TABLES["regression"]()
    assert "| RMSE | laconism | MC dropout | sparse GP |" in told
    assert "| yacht | 0.310 (0.000) | 0.670 | 0.660 |" in told
    assert "explainable" not in told


def test_a_paper_is_told_by_its_verdicts(extensions, tmp_path):
    import measured

    def judged(verdict, mean=None):
        ours = None if mean is None else SimpleNamespace(mean=mean, error=0.0123)
        return SimpleNamespace(verdict=verdict, ours=ours)

    number = SimpleNamespace(data="Ripley", method="EM", metric="errors", value=94)
    claims = [
        SimpleNamespace(text="fewer | errors", data=data, metric="errors", theirs="SVC")
        for data in ("Ripley", "Pima", "crabs")
    ]
    place = {
        "caption": "Errors",
        "verdict": "partly: 2 of 4",
        "why": ["The split was not published."],
        "numbers": [(number, judged("reproduced", 95.5)), (number, judged("not measured"))],
        "claims": list(zip(claims, map(judged, ["holds", "holds", "reversed"]), strict=True)),
    }
    sentence = {"text": "fewer | errors", "place": "table 1", "verdict": "fails"}
    paper = {
        "title": "A title",
        "paper": "A paper",
        "name": "a",
        "sentences": [sentence | {"comparisons": 3, "holds": 2, "reversed": 1}],
        "places": {"table 1": place},
    }
    told = measured._paper(paper, tmp_path)
    assert "## A title\n" in told
    assert r"| fewer \| errors | table 1 | **fails** | 2 hold, 1 reversed of 3 |" in told
    assert told.index("**fails**") < told.index("partly: 2 of 4")
    assert "| table 1 | Errors | partly: 2 of 4 |" in told
    assert "| Ripley | EM | errors | 94 | 95.5 | 0.0123 | reproduced |" in told
    assert r"| fewer \| errors | errors | SVC | Ripley; Pima | holds |" in told
    assert r"| fewer \| errors | errors | SVC | crabs | reversed |" in told
    assert "The split was not published." in told


def test_numbers_are_rounded_to_what_counts(extensions):
    from tradeoffs import NOTHING, count, number, percent

    assert [number(x, 2) for x in (3108.4, 0.01234, 1.0, 0.0)] == ["3,100", "0.012", "1.0", "0"]
    assert [number(x) for x in (None, float("nan"))] == [NOTHING] * 2
    assert [count(x) for x in (9.0, 19.94, 11309.0, None)] == ["9", "19.9", "11,309", NOTHING]
    assert percent(0.0953) == "9.5 %"


def test_measurements_are_not_typed_into_pages():
    for name in ("which", "performance", "tables", "papers", "index"):
        path = DOCS / f"{name}.md"
        if path.exists():
            text = re.sub(r"\$[^$]*\$", "", path.read_text(encoding="utf-8"))
            typed = re.findall(r"\d[\d.,]*\s?(?:%|x\b|times|s\b|seconds|MiB|GiB|nats)", text)
            assert not typed, f"{path.name} says {typed}"


# ---- interface -----------------------------------------------------------------------------------


def test_everything_public_has_its_page(extensions):
    from public import page, units

    listed = {id(getattr(module, name)) for module, names in units().items() for name in names}
    for module in units():
        for name in module.__all__:
            thing = getattr(module, name)
            if inspect.isclass(thing) or inspect.isfunction(thing):
                assert id(thing) in listed, f"{module.__name__}.{name}"
    text = page()
    for name in laconism.__all__:
        if not name.startswith("_"):
            assert f"   {name}\n" in text
    assert len(listed) == sum(len(names) for names in units().values())  # none of them twice


def test_formulas_become_mathml(extensions):
    from docutils import nodes
    from mathml import convert

    half = convert(nodes.math(text=r"\frac12 \sum_i r_i"), block=True)
    assert re.search(r"<mfrac>\s*<mn>1</mn>\s*<mn>2</mn>", half)
    assert 'display="block"' in half
    assert "⇔" in convert(nodes.math(text=r"a \iff b"), block=False)


# ---- the site ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def site(extensions):
    """The site, built here; warnings are errors. What has not changed since the last time stays."""
    built = ROOT / "build" / "docs"
    sphinx = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html"]
    done = subprocess.run(
        [*sphinx, str(DOCS), str(built)], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return built


@pytest.mark.slow
def test_the_site_builds_and_can_be_read(site, look):
    """One test, so that one worker builds the site and no other waits for it."""
    asks_nobody_for_anything(site)
    has_what_it_promises(site)
    for page, heading in PAGES_TO_OPEN.items():
        can_be_read(look, page, heading)


def asks_nobody_for_anything(site):
    """No script, style, font or picture comes from another host."""
    fetched = re.compile(
        r"<(?:script|img|iframe|source|embed|object)\b[^>]*?\b(?:src|data)=\"(?:https?:)?//", re.I
    )
    linked = re.compile(
        r"<link\b(?=[^>]*\brel=\"(?!canonical|license|author))[^>]*\bhref=\"(?:https?:)?//", re.I
    )
    styled = re.compile(r"url\(\s*['\"]?(?:https?:)?//|@import\s+['\"](?:https?:)?//", re.I)
    pages = list(site.rglob("*.html"))
    assert len(pages) > 10
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert not fetched.search(text), page.name
        assert not linked.search(text), page.name
    for sheet in site.rglob("*.css"):
        assert not styled.search(sheet.read_text(encoding="utf-8")), sheet.name


def has_what_it_promises(site):
    which = (site / "which.html").read_text(encoding="utf-8")
    assert "decisions" in which
    assert len(re.findall(r"<tr", which)) > 30
    start = (site / "guide" / "idea.html").read_text(encoding="utf-8")
    assert "<math" in start
    assert "<mfrac>" in start
    extending = (site / "extending.html").read_text(encoding="utf-8")
    assert "src/laconism/priors/laplace.py" in extending
    gallery = (site / "gallery" / "index.html").read_text(encoding="utf-8")
    assert gallery.count("sphx-glr-thumbcontainer") >= 12


# ---- in a browser --------------------------------------------------------------------------------

# A page in a frame of each width: a small screen is what its style sheets see, whatever the window.
WIDTHS = (1280, 400)
PROBE = """<!doctype html><title>probe</title><body style="margin:0">%s<script>
document.querySelectorAll("iframe").forEach(frame => { frame.onload = function () {
  var page = frame.contentDocument, view = frame.contentWindow, root = page.documentElement;
  var text = Array.from(page.querySelectorAll("article p, article li")).filter(e => e.offsetParent);
  var out = {
    heading: page.querySelector("h1").textContent, scroll: root.scrollWidth, width: view.innerWidth,
    least: Math.min(...text.map(e => parseFloat(view.getComputedStyle(e).fontSize))),
    images: page.images.length,
    broken: Array.from(page.images).filter(i => i.complete && !i.naturalWidth).map(i => i.src),
    styles: page.styleSheets.length, height: root.scrollHeight
  };
  document.body.insertAdjacentHTML("beforeend", "<pre class='seen'>" + JSON.stringify(out) + "</pre>");
}; });
</script>"""
FRAME = '<iframe style="border:0;width:{width}px;height:900px" src="/{page}"></iframe>'


@pytest.fixture(scope="module")
def look(site, tmp_path_factory):
    """Open a page in a browser without network; return what is seen at each width."""
    missed = []

    class Server(http.server.SimpleHTTPRequestHandler):
        def do_GET(self):
            if self.path.startswith("/probe/"):
                page = self.path.removeprefix("/probe/")
                frames = "".join(FRAME.format(width=width, page=page) for width in WIDTHS)
                body = (PROBE % frames).encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(body)
            else:
                super().do_GET()

        def log_request(self, code="-", size="-"):
            if str(code) not in ("200", "304", "301"):
                missed.append((self.path, str(code)))

        def log_message(self, *arguments):
            pass

    handler = functools.partial(Server, directory=str(site))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()

    def see(page):
        missed.clear()
        address = f"http://127.0.0.1:{server.server_port}/probe/{page}"
        # Nobody is at the proxy: what is not on this machine cannot be had.
        closed = ("--proxy-server=127.0.0.1:9", "--window-size=1400,1000")
        done = browse(address, tmp_path_factory.mktemp("browser"), *closed, time_ms=10_000)
        found = [
            json.loads(html.unescape(text))
            for text in re.findall(r'<pre class="seen">(.*?)</pre>', done.stdout)
        ]
        assert len(found) == len(WIDTHS), f"{page} did not load: {done.stderr[-500:]}"
        # The theme tells the console, as a note, which of its modes it takes.
        said = [line for line in done.stderr.splitlines() if "CONSOLE" in line and "[PST]: " not in line]
        lost = [path for path in missed if "favicon" not in path[0]]
        return found, said, lost

    yield see
    server.shutdown()
    server.server_close()


PAGES_TO_OPEN = {
    "index.html": "laconism",
    "which.html": "Which model",
    "guide/priors.html": "Priors",
    "gallery/plot_prior_shrinkage.html": "What a prior",
}


def can_be_read(look, page, heading):
    found, console, lost = look(page)
    assert console == []
    assert lost == []
    assert {seen["width"] for seen in found} == set(WIDTHS)
    for seen in found:
        assert seen["heading"].startswith(heading)
        assert seen["broken"] == []
        assert seen["styles"] >= 2
        assert seen["scroll"] <= seen["width"], "the page must not scroll sideways"
        assert seen["least"] >= 12
        assert seen["height"] > 600
        assert seen["images"] >= 1  # the sign of the site, if nothing else
