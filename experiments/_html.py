"""HTML of the report: tables that sort, pictures inside the file, light and dark, no network."""

import re
from html import escape

from ._declare import HERE
from ._judge import MISSING, estimate

PAGE = HERE / "_page"
OURS_TO_ASK = ' <span class="soft">(our question, not the paper\'s)</span>'

NAMES = {
    "errors": "errors", "error": "error rate", "kernels": "kernels", "features": "features",
    "nonzero": "non-zeros", "improvement": "improvement, %", "mse": "mean squared error",
    "rmse": "root mean squared error", "log_loss": "log-loss", "accuracy": "accuracy, %",
    "percent": "error, %", "train_percent": "training error, %",
}  # fmt: skip
METHODS_OF_OURS = ("laconism", "Laconic")
HOW_TO_READ = (
    "<p>In the tables below the rows of this library are shaded, and a click on the title of a column "
    "sorts by it. Means have standard errors (±). In the small pictures a dot is the mean, the line two "
    "standard errors to each side, the upright stroke the paper's number.</p>"
)
VERDICTS_ON_CLAIMS = ("holds", "fails", "cannot be told")


def page(papers, pictures, *, rules):
    """Return the whole file."""
    style, script = ((PAGE / name).read_text(encoding="utf-8") for name in ("report.css", "report.js"))
    head = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>laconism: the papers, run again</title><style>{style}</style></head><body>"
        "<h1>The papers, run again</h1>"
        "<p>laconism implements five papers. Here is which of their claims hold, with all methods "
        "on the same splits of the data, and then every table and figure beside the paper's "
        "numbers.</p>"
    )
    body = [head, claims_of(papers), overview(papers), HOW_TO_READ]
    for paper in papers:
        body.append(f'<h2 id="{paper["name"]}">{escape(paper["title"])}</h2>')
        body.append(f'<p class="soft">{escape(paper["paper"])}</p>')
        body += [place_section(paper, place, told, pictures) for place, told in paper["places"].items()]
        body.append(
            f"<details><summary>Assumptions and notes</summary>{prose(paper['readme'])}</details>"
        )
    body.append(f'<h2 id="rules">The rules of the verdicts</h2><pre>{escape(rules.strip())}</pre>')
    body.append(f'<p class="soft">{escape(versions(papers))}</p><script>{script}</script></body></html>')
    return "\n".join(body)


def claims_of(papers):
    """Return what the papers state, each sentence with its verdict: a count, then a table per paper."""
    every = [one for paper in papers for one in paper["sentences"]]
    told = [one for one in every if one["verdict"] != MISSING]
    counts = {word: sum(one["verdict"] == word for one in told) for word in VERDICTS_ON_CLAIMS}
    parts = [
        "<h2>Claims</h2>",
        f"<p>Of {len(told)} claims <b>{counts['holds']} hold</b>, <b>{counts['fails']} fail</b> and "
        f"<b>{counts['cannot be told']} cannot be told</b>. A claim holds if every comparison behind it "
        "holds by more than two standard errors, and fails if at least one is reversed by as much "
        '(<a href="#rules">the rules</a>).</p>',
    ]
    for paper in papers:
        if not paper["sentences"]:
            continue
        parts.append(f'<h3><a href="#{paper["name"]}">{escape(paper["title"])}</a></h3>')
        rows = []
        for one in paper["sentences"]:
            link = f'<a href="#{anchor(paper, one["place"])}">{escape(one["place"])}</a>'
            why = f'<div class="soft">{escape(one["why"])}</div>' if one["why"] else ""
            share = one["holds"] / one["comparisons"] if one["comparisons"] else None
            rows.append(
                [
                    (escape(one["text"]) + why, one["text"]),
                    (badge(one["verdict"]), one["verdict"]),
                    (f"{one['holds']} of {one['comparisons']}", share),
                    (str(one["reversed"]) if one["reversed"] else "", one["reversed"]),
                    (link, one["place"]),
                ]
            )
        head = ["claim", "verdict", "comparisons that hold", "reversed", "place"]
        parts.append(table(head, rows, numeric=(2, 3), kind="claims"))
    return "\n".join(parts)


def overview(papers):
    """Return the table of all places and their verdicts; the reasons are further down."""
    rows = []
    for paper in papers:
        for place, told in paper["places"].items():
            link = f'<a href="#{anchor(paper, place)}">{escape(place)}</a>'
            rows.append(
                [
                    (
                        f'<a href="#{paper["name"]}">{escape(paper["name"].replace("_", " "))}</a>',
                        paper["order"],
                    ),
                    (link, place),
                    (badge(told["verdict"]), told["verdict"]),
                    (f'<span class="wide">{escape(told["caption"])}</span>', told["caption"]),
                ]
            )
    words = [told["verdict"] for paper in papers for told in paper["places"].values()]
    good, none = (
        sum(word in kind for word in words) for kind in (("reproduced", "better"), ("not reproduced",))
    )
    count = f"<p>Of {len(words)} tables and figures {good} are reproduced or better, {none} are not, "
    count += "of the others some numbers and claims are.</p>"
    return "<h2>Tables and figures</h2>" + count + table(["paper", "place", "verdict", "what"], rows)


def place_section(paper, place, told, pictures):
    """Return one table or figure: picture, numbers, claims."""
    parts = [
        f'<h3 id="{anchor(paper, place)}">{escape(place.capitalize())}. {escape(told["caption"])}</h3>'
    ]
    parts.append(f'<p class="verdict">{badge(told["verdict"])}{because(told)}</p>')
    stem = place.replace(" ", "_")
    for name, data in pictures.get(paper["name"], {}).items():
        if name == stem or name.startswith(stem + "_"):
            label = escape(f"{place}: {told['caption']}")
            parts.append(f'<img alt="{label}" src="data:image/png;base64,{data}">')
    parts.append(number_table(paper, place, told))
    if told["claims"]:
        parts.append(claim_table(told["claims"]))
    return "\n".join(part for part in parts if part)


def number_table(paper, place, told):
    """Return every measured mean beside the paper's, or nothing."""
    rows = [row for row in paper["rows"] if row["place"] == place]
    printed = {(one.data, one.method, one.metric): (one, verdict) for one, verdict in told["numbers"]}
    keys = dict.fromkeys([(row["data"], row["method"]) for row in rows])
    keys |= dict.fromkeys((data, method) for data, method, _ in printed)
    lines = []
    spans = {}
    found = {}
    for data, method in keys:
        for metric in paper["metrics"]:
            here = estimate(rows, metric, data=data, method=method)
            number, judged = printed.get((data, method, metric), (None, None))
            if here is None and number is None:
                continue
            found[data, method, metric] = here, number, judged
            values = [float(number.value)] if number else []
            values += [here.mean + k * 2 * (here.error or 0.0) for k in (-1, 1)] if here else []
            low, high = spans.get((data, metric), (values[0], values[0]))
            spans[data, metric] = min(low, *values), max(high, *values)
    for (data, method, metric), (here, number, judged) in found.items():
        value = float(number.value) if number else None
        word = judged.verdict if judged and judged.verdict != MISSING else ""
        cells = [
            (escape(data), data),
            (escape(method), method),
            (NAMES.get(metric, metric), metric),
            (escape(str(number.value)) if number else "", value),
            (digits(here.mean) if here else "", here.mean if here else None),
            (
                digits(here.error) if here and here.error is not None else "",
                here.error if here else None,
            ),
            (str(here.draws) if here else "", here.draws if here else None),
            (mark(here, value, spans[data, metric]), here.mean if here else None),
            (badge(word), word),
        ]
        lines.append((cells, method.startswith(METHODS_OF_OURS)))
    if not lines:
        return ""
    head = ["data", "method", "metric", "paper", "here", "±", "draws", "", "verdict"]
    return table(
        head,
        [cells for cells, _ in lines],
        [ours for _, ours in lines],
        numeric=(3, 4, 5, 6),
        kind="numbers",
    )


def claim_table(claims):
    """Return the paired comparisons."""
    rows = []
    for claim, told in claims:
        gain = told.difference
        against = claim.theirs or f"{claim.value:g}"
        rows.append(
            [
                (escape(claim.text) + ("" if claim.counts else OURS_TO_ASK), claim.text),
                (escape(claim.data), claim.data),
                (escape(f"{claim.ours} against {against}"), claim.ours),
                (NAMES.get(claim.metric, claim.metric), claim.metric),
                (digits(gain.mean) if gain else "", gain.mean if gain else None),
                (
                    digits(gain.error) if gain and gain.error is not None else "",
                    gain.error if gain else None,
                ),
                (str(gain.draws) if gain else "", gain.draws if gain else None),
                (badge(told.verdict), told.verdict),
            ]
        )
    head = ["claim", "data", "who", "metric", "advantage", "±", "draws", "verdict"]
    return table(head, rows, numeric=(4, 5, 6))


def table(head, rows, ours=None, numeric=(), kind=""):
    """Return a table that sorts; a cell is its HTML and the value it sorts by."""
    titles = "".join(
        f"<th><button type=button>{escape(title)}</button></th>" if title else "<th></th>"
        for title in head
    )
    lines = []
    for k, row in enumerate(rows):
        cells = "".join(
            f'<td{" class=n" if column in numeric else ""} data-v="{key(value)}">{text}</td>'
            for column, (text, value) in enumerate(row)
        )
        lines.append(f"<tr{' class=ours' if ours and ours[k] else ''}>{cells}</tr>")
    return (
        f'<div class="scroll"><table class="{f"sort {kind}".strip()}"><thead><tr>{titles}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )


def key(value):
    """Return what a cell is sorted by."""
    return "" if value is None else escape(f"{value:.8g}" if isinstance(value, float) else str(value))


def mark(here, paper, span):
    """Return a small picture of mean, two standard errors and the paper's number."""
    low, high = span
    width = (high - low) or 1.0

    def place(value):
        return 6 + 108 * (value - low) / width

    parts = []
    if here:
        reach = 2 * (here.error or 0.0)
        parts.append(
            f'<line x1="{place(here.mean - reach):.1f}" x2="{place(here.mean + reach):.1f}" '
            'y1="8" y2="8" stroke="var(--dot)" stroke-width="2"/>'
            f'<circle cx="{place(here.mean):.1f}" cy="8" r="3.5" fill="var(--dot)"/>'
        )
    if paper is not None:
        x = f"{place(paper):.1f}"
        parts.append(f'<line x1="{x}" x2="{x}" y1="1" y2="15" stroke="var(--mark)" stroke-width="2"/>')
    return f'<svg width="120" height="16" aria-hidden="true">{"".join(parts)}</svg>'


def badge(word):
    """Return a verdict in its colour."""
    if word in ("reproduced", "better", "holds"):
        kind = "good"
    elif word in ("not reproduced", "reversed", "fails"):
        kind = "bad"
    else:
        kind = "mid"
    return f'<span class="{kind}">{escape(word)}</span>'


def because(told):
    """Return the sentences about what is different."""
    return f' <span class="soft">{escape(" ".join(told["why"]))}</span>' if told["why"] else ""


def anchor(paper, place):
    """Return the name of a place within the page."""
    return f"{paper['name']}-{place.replace(' ', '-')}"


def digits(value):
    """Return a number short enough to read."""
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def prose(markdown):
    """Return the few kinds of Markdown that our READMEs use as HTML; the page has the tables already."""
    blocks = []
    for block in re.split(r"\n\s*\n", markdown.strip()):
        lines = block.splitlines()
        if lines[0].startswith("|"):
            continue
        if lines[0].startswith("#"):
            blocks.append(f"<p><b>{inline(lines[0].lstrip('# '))}</b></p>")
            lines = lines[1:]
        if not lines:
            continue
        if lines[0].startswith("- "):
            items = re.split(r"\n(?=- )", "\n".join(lines))
            blocks.append("<ul>" + "".join(f"<li>{inline(item[2:])}</li>" for item in items) + "</ul>")
        else:
            blocks.append(f"<p>{inline(' '.join(lines))}</p>")
    return "".join(blocks)


def inline(text):
    """Return text with its code marked; links to files of the repository become their words."""
    words = re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", text)
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(words))


def versions(papers):
    """Return what the numbers were measured with."""
    found = sorted({row["versions"] for paper in papers for row in paper["rows"] if row.get("versions")})
    return "Measured with " + " / ".join(found) if found else "Nothing measured yet."
