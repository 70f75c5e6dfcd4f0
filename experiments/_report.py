"""The report: one HTML file that needs nothing else, made from the results alone."""

import base64
import re

from . import _html, _judge, _store
from ._declare import HERE, RESULTS, expected, load


def write(names, folder, output, *, quick=False):
    """Write ``index.html`` and the figures; return lines for the terminal."""
    papers = gather_all(names, folder, quick=quick)
    figures = (folder if folder == RESULTS else output) / "figures"
    pictures = {paper["name"]: draw(paper, figures) for paper in papers}
    output.mkdir(parents=True, exist_ok=True)
    page = output / "index.html"
    page.write_text(_html.page(papers, pictures, rules=_judge.__doc__), encoding="utf-8")
    return [*(line for paper in papers for line in lines(paper)), f"report: {page}"]


def gather_all(names, folder, *, quick=False):
    """Return what the report says about each experiment, in the order of the papers."""
    return sorted((gather(name, folder, quick=quick) for name in names), key=lambda one: one["order"])


def gather(name, folder, *, quick=False):
    """Return everything the report says about one experiment, judged."""
    experiment, paper = load(name), expected(name)
    rows = current(name, folder, quick=quick)
    for loan in paper.borrowed:
        lent = [
            row for row in current(loan.experiment, folder, quick=quick) if row["place"] == loan.source
        ]
        rows += [{**row, "place": loan.place} for row in lent]
    numbers = [(number, _judge.judge_number(number, rows)) for number in paper.numbers]
    claims = [(claim, _judge.judge_claim(claim, rows)) for claim in paper.claims]
    places = {}
    for place, caption in paper.places.items():
        own_numbers = [(one, told) for one, told in numbers if one.place == place and one.counts]
        own_claims = [(one, told) for one, told in claims if one.place == place]
        counted = [(one, told) for one, told in own_claims if one.counts]
        verdict = _judge.judge_place([told for _, told in own_numbers], [told for _, told in counted])
        bad = [one.why for one, told in (*own_numbers, *own_claims) if _failed(told) and one.why]
        places[place] = {
            "caption": caption,
            "verdict": verdict,
            "why": list(dict.fromkeys(bad)),
            "numbers": [pair for pair in numbers if pair[0].place == place],
            "claims": own_claims,
        }
    return {
        "name": name,
        "order": paper.order,
        "title": experiment.TITLE,
        "paper": paper.paper,
        "sentences": sentences(claims),
        "places": places,
        "rows": rows,
        "metrics": metrics(experiment, paper),
        "experiment": experiment,
        "readme": (HERE / name / "README.md").read_text(encoding="utf-8"),
    }


def sentences(claims):
    """Return what the paper states, sentence by sentence, each with its verdict and comparisons."""
    grouped = {}
    for claim, told in claims:
        if claim.counts:
            grouped.setdefault((claim.place, claim.text), []).append((claim, told))
    found = []
    for (place, text), pairs in grouped.items():
        words = [told.verdict for _, told in pairs]
        failed = [claim.why for claim, told in pairs if _failed(told) and claim.why]
        found.append(
            {
                "place": place,
                "text": text,
                "verdict": _judge.judge_sentence([told for _, told in pairs]),
                "holds": words.count(_judge.HOLDS),
                "reversed": words.count(_judge.REVERSED),
                "comparisons": len(words) - words.count(_judge.MISSING),
                "why": " ".join(dict.fromkeys(failed)),
            }
        )
    return found


def claims_markdown(paper):
    """Return the table of claims that opens the README of an experiment."""
    lines = ["| claim | place | verdict | comparisons |", "|---|---|---|---|"]
    lines += [
        f"| {escaped(one['text'])} | {one['place']} | **{one['verdict']}** | {comparisons(one)} |"
        for one in paper["sentences"]
    ]
    return "\n".join(lines)


def escaped(text):
    """Return text for a cell of a Markdown table."""
    return text.replace("|", "\\|")


def summary_markdown(papers):
    """Return how many claims of each paper hold: the table that opens the README of the folder."""
    words = (_judge.HOLDS, _judge.FAILS, _judge.OPEN)
    lines = ["| paper | claims | hold | fail | cannot be told |", "|---|---|---|---|---|"]
    for paper in papers:
        verdicts = [one["verdict"] for one in paper["sentences"]]
        counts = " | ".join(str(verdicts.count(word)) for word in words)
        lines.append(f"| [{paper['title']}]({paper['name']}/README.md) | {len(verdicts)} | {counts} |")
    return "\n".join(lines)


def comparisons(sentence):
    """Return in words what the verdict on a sentence was made of."""
    total, good, bad = (sentence[key] for key in ("comparisons", "holds", "reversed"))
    rest = total - good - bad
    parts = [(good, "hold" if good > 1 else "holds"), (bad, "reversed"), (rest, "undecided")]
    if total <= 1:
        return ""
    return ", ".join(f"{count} {word}" for count, word in parts if count) + f" of {total}"


def metrics(experiment, paper):
    """Return the metrics that tables show, those of borrowed rows too."""
    modules = [experiment, *(load(loan.experiment) for loan in paper.borrowed)]
    every = dict.fromkeys(metric for module in modules for metric in module.METRICS)
    return [metric for metric in every if metric not in ("wrong", "curve")]


def current(name, folder, *, quick=False):
    """Return the rows of the cells as they are declared now, and what is derived from them."""
    experiment = load(name)
    keys = {cell.key for cell in experiment.cells(quick)}
    rows = [row for row in _store.read(folder / f"{name}.csv") if row["key"] in keys]
    good = [row for row in rows if row["status"] == "ok"]
    return good + (list(experiment.derive(good)) if hasattr(experiment, "derive") else [])


def draw(paper, figures):
    """Draw the figures of a paper; return them as data for the page, by stem."""
    if not hasattr(paper["experiment"], "figures") or not paper["rows"]:
        return {}
    try:
        import matplotlib as mpl
    except ImportError:
        return {}
    mpl.use("agg")
    import matplotlib.pyplot as plt

    figures.mkdir(parents=True, exist_ok=True)
    found = {}
    for stem, figure in paper["experiment"].figures(paper["rows"]).items():
        path = figures / f"{paper['name']}_{stem}.png"
        figure.savefig(path, dpi=110, metadata={"Software": None})
        plt.close(figure)
        found[stem] = base64.b64encode(path.read_bytes()).decode()
    return found


def lines(paper):
    """Return one line per claim, then one per table or figure."""
    name = paper["name"]
    claims = [f"{name:<22} {one['verdict']:<15} {one['text']}" for one in paper["sentences"]]
    places = [f"{name:<22} {place:<15} {told['verdict']}" for place, told in paper["places"].items()]
    return [*claims, *places]


def place_of(stem):
    """Return the place that a figure's file stem names: figure_2 or table_1_boston."""
    found = re.match(r"(figure|table)_(\d+)", stem)
    return f"{found[1]} {found[2]}" if found else ""


def _failed(told):
    return told.verdict in (_judge.NOT, _judge.REVERSED, _judge.UNSEEN, _judge.NOISY)
