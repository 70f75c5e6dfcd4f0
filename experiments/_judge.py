"""Verdicts, by rules that are stated here and printed in the report.

A number     is a mean over draws with the standard error s of that mean; where there is one split only,
             s is that of a count of errors (binomial). The paper's own number was measured on about as
             many draws that we do not have, so the two may differ by 2 sqrt(2) s and the rounding of the
             print; where the paper has one draw only, by 2 sqrt(s^2 + the variance of a draw). Within
             that it is "reproduced", beyond it "better" or "not reproduced". Where that is more than a
             quarter of the number, agreement says nothing: "too noisy to tell".
A claim      "A is better than B" is a paired comparison on the same draws: the mean of the differences d
             and its standard error s; with one split only, of the test cases on which just one of them
             errs (McNemar). It "holds" if d > 2 s, is "reversed" if d < -2 s, otherwise "no difference
             seen". "A is comparable to B" is reversed if d < -2 s, holds if d - 2 s is above minus a
             quarter of what B has, and otherwise it is "too noisy to tell". "Within" holds if A is on
             the right side of a value and the slack beside it, is reversed if it is on the wrong side by
             more than 2 s, and otherwise it is "too noisy to tell".
             (A quarter of an accuracy is a quarter of what it lacks to 100. Where one draw has no
             standard error, as for a count of kernels, the bare difference decides.)
A sentence   of the paper is often about several data sets and rivals: one comparison for each. It
             "holds" if it holds in every comparison, "fails" if at least one is reversed, and otherwise
             it "cannot be told": the draws do not suffice to see the difference.
A place      (a table or a figure) is judged by the numbers of the paper's own method and the claims of
             the paper: "reproduced" if every number is reproduced or better and every claim holds,
             "better" if at least half of its numbers are better besides, "not reproduced" if nothing is,
             and otherwise "partly", with the counts.
"""

import math
from dataclasses import dataclass
from statistics import fmean, stdev

REPRODUCED, BETTER, NOT = "reproduced", "better", "not reproduced"
HOLDS, UNSEEN, REVERSED = "holds", "no difference seen", "reversed"
NOISY = "too noisy to tell"
FAILS, OPEN = "fails", "cannot be told"
MISSING = "not measured"
# Two standard errors: nineteen times of twenty.
WIDTH = 2.0
# Uncertainty beyond this part of a number makes agreement with it worthless.
PART = 0.25
# Metrics that count the cases of the column "wrong"; no other has a standard error on one split.
COUNTS = ("errors", "error", "percent")


@dataclass(frozen=True)
class Estimate:
    """A mean over draws, its standard error (None where there is no telling) and their number."""

    mean: float
    error: float | None
    draws: int


@dataclass(frozen=True)
class Judgement:
    """A verdict and what it was made of."""

    verdict: str
    ours: Estimate | None = None
    difference: Estimate | None = None


def select(rows, **wanted):
    """Return the rows with these values, by seed."""
    chosen = [row for row in rows if all(row[key] == value for key, value in wanted.items())]
    return {row["seed"]: row for row in chosen if row["status"] == "ok"}


def estimate(rows, metric, **wanted):
    """Return mean and standard error of a metric, or None where nothing was measured."""
    chosen = select(rows, **wanted)
    values = [row[metric] for row in chosen.values() if isinstance(row.get(metric), int | float)]
    if not values:
        return None
    if len(values) > 1:
        return Estimate(fmean(values), stdev(values) / math.sqrt(len(values)), len(values))
    (row,) = chosen.values()
    return Estimate(values[0], _binomial(row, metric), 1)


def judge_number(number, rows):
    """Return the verdict on a number of the paper."""
    ours = estimate(rows, number.metric, place=number.place, data=number.data, method=number.method)
    if ours is None:
        return Judgement(MISSING)
    rounding = 0.5 * 10.0 ** min(number.value.as_tuple().exponent, 0)
    paper_draws = number.draws or ours.draws
    room = WIDTH * math.sqrt(1 + ours.draws / paper_draws) * (ours.error or 0.0) + rounding
    excess = _worse(number.better, ours.mean, float(number.value))
    if abs(excess) > room:
        return Judgement(NOT if excess > 0 else BETTER, ours)
    told = room - rounding <= PART * _size(number.metric, float(number.value))
    return Judgement(REPRODUCED if told else NOISY, ours)


def judge_claim(claim, rows):
    """Return the verdict on a claim of the paper; the difference is positive where ours is better."""
    where = {"place": claim.place, "data": claim.data}
    ours = estimate(rows, claim.metric, method=claim.ours, **where)
    if ours is None:
        return Judgement(MISSING)
    if claim.kind == "within":
        gain = -_worse(claim.better, ours.mean, claim.value)
        spare = gain + claim.slack
        verdict = HOLDS if spare >= 0 else REVERSED if spare < -WIDTH * (ours.error or 0.0) else NOISY
        return Judgement(verdict, ours, Estimate(gain, ours.error, ours.draws))
    gain = paired(
        select(rows, method=claim.ours, **where),
        select(rows, method=claim.theirs, **where),
        claim.metric,
        claim.better,
    )
    if gain is None:
        return Judgement(MISSING, ours)
    room = WIDTH * (gain.error or 0.0)
    if gain.mean < -room:
        return Judgement(REVERSED, ours, gain)
    if claim.kind == "better":
        return Judgement(HOLDS if gain.mean > room else UNSEEN, ours, gain)
    theirs = estimate(rows, claim.metric, method=claim.theirs, **where)
    margin = PART * _size(claim.metric, theirs.mean)
    return Judgement(HOLDS if gain.mean - room >= -margin else NOISY, ours, gain)


def paired(ours, theirs, metric, better="smaller"):
    """Return the mean advantage of ours on the draws both have seen, with its standard error."""
    seeds = [
        seed
        for seed in sorted(ours.keys() & theirs.keys())
        if all(isinstance(side[seed].get(metric), int | float) for side in (ours, theirs))
    ]
    if not seeds:
        return None
    gains = [-_worse(better, ours[seed][metric], theirs[seed][metric]) for seed in seeds]
    if len(gains) > 1:
        return Estimate(fmean(gains), stdev(gains) / math.sqrt(len(gains)), len(gains))
    return Estimate(gains[0], _mcnemar(ours[seeds[0]], theirs[seeds[0]], metric), 1)


def judge_sentence(claims):
    """Return the verdict on a sentence of the paper from those on its comparisons."""
    words = [one.verdict for one in claims if one.verdict != MISSING]
    if not words:
        return MISSING
    if REVERSED in words:
        return FAILS
    return HOLDS if set(words) == {HOLDS} else OPEN


def judge_place(numbers, claims):
    """Return the verdict on a table or figure from those on what it holds."""
    words = [one.verdict for one in (*numbers, *claims) if one.verdict != MISSING]
    good = sum(word in (REPRODUCED, BETTER, HOLDS) for word in words)
    better = sum(one.verdict == BETTER for one in numbers)
    if not words:
        return MISSING
    if good == len(words):
        return BETTER if better and 2 * better >= len(numbers) else REPRODUCED
    if not good:
        return NOISY if set(words) == {NOISY} else NOT
    return f"partly: {good} of {len(words)}"


def _worse(better, ours, reference):
    """Return by how much ours is worse."""
    return ours - reference if better == "smaller" else reference - ours


def _size(metric, value):
    """Return what a quarter is taken of."""
    return 100 - value if metric == "accuracy" else abs(value)


def bits(wrong):
    """Return which test cases were wrong as text for a table: the first case is the last bit."""
    return f"{len(wrong)}:{sum(1 << i for i, bad in enumerate(wrong) if bad):x}"


def _cases(row):
    size, _, digits = str(row.get("wrong") or "").partition(":")
    return (int(size), int(digits, 16)) if digits else None


def _binomial(row, metric):
    """Return the standard error of one count (or rate) of errors; None if the cases are not known."""
    cases = _cases(row)
    if cases is None or metric not in COUNTS:
        return None
    size, mask = cases
    count = mask.bit_count()
    return row[metric] / count * math.sqrt(count * (1 - count / size)) if count else 0.0


def _mcnemar(ours, theirs, metric):
    """Return the standard error of a difference of two counts of errors on the same cases."""
    mine, other = _cases(ours), _cases(theirs)
    if mine is None or other is None or mine[0] != other[0] or metric not in COUNTS:
        return None
    known = [(row[metric], cases[1].bit_count()) for row, cases in ((ours, mine), (theirs, other))]
    unit = next((value / count for value, count in known if count), 0.0)  # 1, or 1 / cases for a rate
    return unit * math.sqrt((mine[1] ^ other[1]).bit_count())
