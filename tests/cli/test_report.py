"""The page of ``laconism report``: what is in it, and how a browser shows it."""

import json
import re
from html import escape, unescape
from html.parser import HTMLParser

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
pytest.importorskip("typer", reason="the command line needs typer")
pytest.importorskip("skops", reason="the command line needs skops")
pytest.importorskip("matplotlib", reason="the report needs matplotlib")

from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402

from browser import browse  # noqa: E402
from cli.test_cli import laconism_many, no_driver_survives, people  # noqa: E402, F401
from laconism import SparseBayesRegressor  # noqa: E402
from laconism.cli import figures  # noqa: E402
from laconism.kernels import Additive  # noqa: E402

# Of a phone, and of a screen.
WIDTHS = (400, 1200)


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The pages of two classes, of three with a model of features, and of a regression."""
    folder = tmp_path_factory.mktemp("report")
    table = people(80)
    table["客"] = table["客"].replace({"nein": "<b>nein</b> & $x$"})
    table.to_csv(folder / "two.csv", index=False)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3)).round(3)
    names = ["a", "a column with a rather long name_that_goes_on_and_on_without_a_break", "c"]
    table = pd.DataFrame(X, columns=names).assign(k=np.digitize(X[:, 0] + 0.3 * X[:, 1], [-0.5, 0.5]))
    table.to_csv(folder / "three.csv", index=False)
    table["y"] = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=90)
    table.drop(columns="k").to_csv(folder / "number.csv", index=False)
    few = ["--folds", "2", "--models", "linear,baseline"]
    runs = laconism_many(
        folder,
        ["report", "two.csv", "-t", "客", "-o", "two.html", *few, "--json"],
        ["report", "three.csv", "-t", "k", "-o", "three.html", *few, "--model", "sparse"],
        ["report", "number.csv", "-t", "y", "-o", "number.html", *few, "-q"],
    )
    for code, _, err in runs:
        assert code == 0, err
    said = json.loads(runs[0][1])
    assert [row["model"] for row in said["models"]] == ["auto", "linear", "baseline"]
    assert "wrote three.html" in runs[1][2]
    assert runs[2][1:] == ["", ""]
    found = {name: (folder / f"{name}.html").read_text(encoding="utf-8") for name in ("two", "three")}
    return {**found, "number": (folder / "number.html").read_text(encoding="utf-8")}


class Balance(HTMLParser):
    """Every tag that opens closes."""

    VOID = frozenset({"meta", "link", "br", "hr", "img"})

    def __init__(self):
        super().__init__()
        self.open, self.headings, self.last = [], [], ""

    def handle_starttag(self, tag, attrs):
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "h2":
            self.headings.append(data)


def headings(page):
    parser = Balance()
    parser.feed(page)
    parser.close()
    assert parser.open == []
    return parser.headings


SHARED = {"Errors", "Which columns matter", "What the model keeps", "What was done to the data"}


@pytest.mark.slow
def test_each_page_has_its_parts(pages):
    two, three, number = (set(headings(pages[name])) for name in ("two", "three", "number"))
    assert two >= SHARED | {"Calibration", "Confusion", "From few kernels to many"}
    assert "Rows that carry the kernels" in two
    assert three >= SHARED | {"Calibration", "Confusion", "How the fit went"}
    assert number >= SHARED | {"Predicted and true", "Residuals", "From few kernels to many"}
    assert "left out nothing: all missing." in pages["two"]


def test_pages_stand_alone(pages):
    for page in pages.values():
        addresses = set(re.findall(r"\w+://[^\s\"'<)]+", page))
        assert all(address.startswith("http://www.w3.org/") for address in addresses)  # names of XML
        assert not re.search(r"<script|<iframe|\ssrc=|@import|url\((?!#)", page)
        assert "prefers-color-scheme: dark" in page
        assert "#111111" not in page  # every ink is the page's own
        ids = re.findall(r'<g id="', page)
        assert not ids


def test_what_users_wrote_is_text(pages):
    assert "<b>nein" not in pages["two"]
    assert escape("<b>nein</b> & $x$") in pages["two"]


def test_confusion_counts_every_row_once(pages):
    counts = re.findall(r'<td class="cell"[^>]*>([\d,]+)</td>', pages["three"])
    assert len(counts) == 9
    assert sum(int(count.replace(",", "")) for count in counts) == 90


def test_each_effect_of_an_additive_model_is_a_figure():
    X = np.random.default_rng(0).normal(size=(50, 2))
    table = pd.DataFrame(X, columns=["age", "dose"])
    kernel = Additive(2, 0.3, mean=np.zeros(2), deviation=np.ones(2))
    model = make_pipeline(StandardScaler(), SparseBayesRegressor(kernel=kernel)).fit(
        table, X[:, 0] + np.prod(X, axis=1)
    )
    drawn = figures.shapes(model, table, ["age", "dose"])
    assert len(drawn) == 3
    for svg in drawn:
        assert svg.startswith(
            '<svg role="img" aria-label="effect of a feature or of a pair of features"'
        )
        assert "var(--ink)" in svg
        assert "#08306b" not in svg  # the colours are the page's


PROBE = """<!doctype html><html><body><pre id="found"></pre>FRAMES<script>
function look(frame) {
  const page = frame.contentDocument, box = (e) => e.getBoundingClientRect();
  const wide = page.documentElement.clientWidth;
  const out = [...page.querySelectorAll("h1,h2,p,section,figure,.bars,.cards,li,svg")]
    .filter((e) => !e.closest(".scroll") && box(e).right > wide + 1).map((e) => e.tagName);
  const rows = [...page.querySelectorAll(".bars")].flatMap((bars) => {
    const cells = [...bars.children].map(box), bad = [];
    for (let k = 0; k + 1 < cells.length; k += 1)
      if (k % 3 < 2 && cells[k].right > cells[k + 1].left + 1) bad.push(k);
    return bad;
  });
  return {
    title: page.title, width: wide, scroll: page.documentElement.scrollWidth, out, rows,
    drawn: [...page.querySelectorAll("svg")].map((e) => [box(e).width, box(e).height]),
    small: [...page.querySelectorAll("p,td,li,figcaption,span")]
      .filter((e) => parseFloat(frame.contentWindow.getComputedStyle(e).fontSize) < 12).length,
    text: page.body.innerText.length,
    paper: frame.contentWindow.getComputedStyle(page.body).backgroundColor,
  };
}
addEventListener("load", () => {
  const found = [...document.querySelectorAll("iframe")].map(look);
  document.getElementById("found").textContent = JSON.stringify(found);
});
</script></body></html>"""


@pytest.mark.slow
def test_a_browser_shows_the_pages(pages, tmp_path):
    frames = [
        f'<iframe width="{width}" height="900" srcdoc="{escape(page)}"></iframe>'
        for page in pages.values()
        for width in WIDTHS
    ]
    (tmp_path / "probe.html").write_text(PROBE.replace("FRAMES", "".join(frames)), encoding="utf-8")
    run = browse((tmp_path / "probe.html").as_uri(), tmp_path / "profile", "--window-size=1300,900")
    text = re.search(r'<pre id="found">(.*?)</pre>', run.stdout, re.DOTALL)
    assert text, run.stderr
    assert not [line for line in run.stderr.splitlines() if "CONSOLE" in line]
    found = json.loads(unescape(text.group(1)))
    assert len(found) == len(frames)
    for page in found:
        where = f"{page['title']} at {page['width']}"
        assert page["text"] > 500, where
        assert page["scroll"] <= page["width"], where  # nothing to scroll sideways
        assert page["out"] == [], where
        assert page["rows"] == [], where  # names, bars and numbers beside, not over each other
        assert page["small"] == 0, where
        assert len(page["drawn"]) >= 2, where
        for width, height in page["drawn"]:
            assert min(width, 600) > 300, where
            assert height > 200, where
        assert page["paper"] in ("rgb(255, 255, 255)", "rgb(20, 23, 27)"), where
