"""Tables of data sets by methods: means with standard errors, and mean ranks."""

import math
import statistics


def by_case(rows, column, method):
    """Return mean and standard error of a column for each set."""
    found = {}
    for case in dict.fromkeys(row["case"] for row in rows):
        values = rows.values(column, case=case, method=method)
        if values:
            error = statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else 0.0
            found[case] = statistics.fmean(values), error
    return found


def mean_ranks(values):
    """Return the mean rank of each method over the sets that all of them finished; the least is first.

    ``values`` is a dict of dicts: the value of each method on each set. Ties share their ranks.
    """
    common = set.intersection(*(set(cases) for cases in values.values())) if values else set()
    total = dict.fromkeys(values, 0.0)
    for case in common:
        for method in values:
            mine = values[method][case]
            others = [values[other][case] for other in values if other != method]
            total[method] += 1 + sum(o < mine for o in others) + 0.5 * sum(o == mine for o in others)
    return {method: total[method] / len(common) for method in total} if common else {}


def grid(what, found, cases, show):
    """Return head and rows of a table: ``found[method][case]`` as ``show`` writes it, or nothing."""
    body = [[case, *(show(*of[case]) if case in of else "" for of in found.values())] for case in cases]
    return [what, *found], body


def three_digits(mean, error=None):
    """Return a mean with three digits that count, and its standard error with as many places."""
    places = max(0, 2 - math.floor(math.log10(abs(mean)))) if mean else 0
    return f"{mean:,.{places}f}" + ("" if error is None else f" ({error:,.{places}f})")


def plain(head, body):
    """Return a table for the terminal."""
    texts = [list(head), *body]
    widths = [max(len(row[k]) for row in texts) for k in range(len(head))]
    lines = []
    for row in texts:
        padded = [text.rjust(width) for text, width in zip(row[1:], widths[1:], strict=True)]
        lines.append(("  " + "  ".join([row[0].ljust(widths[0]), *padded])).rstrip())
    return "\n".join(lines)
