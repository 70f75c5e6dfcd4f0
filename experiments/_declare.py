"""What an experiment is made of.

An experiment is one folder with

    experiment.py     TITLE      one line
                      METRICS    names of its own columns in the results
                      BANDS      (low, high) for each metric of a quick run: wide, to catch nonsense
                      cells      cells(quick): what there is to run
                      run        run(cell): a dict of numbers, the same whenever it is called
                      derive     optional, derive(rows): more rows, made from those measured
                      figures    optional, figures(rows): pictures by file stem, drawn by matplotlib
    expected.toml     the paper's numbers and its claims, with their places
    README.md         what was assumed, what was found

The folder is the registry: nothing else has to be told of a new one.
"""

import hashlib
import importlib
import json
import tomllib
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from pathlib import Path

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"


class Skip(Exception):
    """What a cell raises, with a sentence, when it cannot run here."""


@dataclass(frozen=True)
class Cell:
    """One method on one draw of one problem: the unit that is run once and remembered.

    Methods that are to be compared have cells with the same ``data`` and ``seed``: a seed means the
    same split for all of them.
    """

    place: str
    data: str
    method: str
    seed: int = 0
    config: dict = field(default_factory=dict)

    @property
    def key(self):
        """A short name of everything that decides the result."""
        text = json.dumps(asdict(self), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def __str__(self):
        return f"{self.place}, {self.data}, {self.method}, {self.seed}"


@dataclass(frozen=True)
class Number:
    """A number that a paper prints: where, for which data and method, and why ours may differ.

    ``draws`` is on how many draws the paper measured it, about as many as we did if it is not given.
    ``counts`` is false for rivals and for methods that the paper does not have: they are judged and
    shown, but the verdict on the place is about the paper's own method.
    """

    place: str
    data: str
    method: str
    metric: str
    value: Decimal
    better: str = "smaller"
    counts: bool = True
    draws: int | None = None
    source: str = ""
    why: str = ""


@dataclass(frozen=True)
class Claim:
    """What a paper says about two methods (``theirs``) or a method and a number (``value``).

    ``kind`` is "better", "comparable" or "within": the last compares with ``value`` and demands to be no
    more than ``slack`` on the wrong side of it. ``counts`` is false for what the paper does not say
    itself: it is judged and shown, and left out of the verdict on the place.
    """

    place: str
    text: str
    data: str
    metric: str
    ours: str
    theirs: str = ""
    kind: str = "better"
    better: str = "smaller"
    value: float | None = None
    slack: float = 0.0
    counts: bool = True
    why: str = ""


@dataclass(frozen=True)
class Borrowed:
    """Rows of another experiment that a table shows too, measured on the same splits."""

    place: str
    experiment: str
    source: str


@dataclass(frozen=True)
class Expected:
    """What ``expected.toml`` holds; ``order`` is the paper's place in the report."""

    order: int
    paper: str
    places: dict
    numbers: list
    claims: list
    borrowed: list


def names():
    """Return the experiments there are, by the folders that hold one."""
    return sorted(path.parent.name for path in HERE.glob("*/experiment.py"))


def load(name):
    """Import an experiment."""
    return importlib.import_module(f"experiments.{name}.experiment")


def expected(name, folder=HERE):
    """Return the paper's numbers and claims; lists of data or rivals become one entry each."""
    with (folder / name / "expected.toml").open("rb") as file:
        text = tomllib.load(file, parse_float=Decimal)
    numbers = [
        Number(**{**entry, "value": Decimal(entry["value"])})
        for entry in _spread(text.get("number", []), "data", "method")
    ]
    claims = [
        Claim(**{**entry, **{key: float(entry[key]) for key in ("value", "slack") if key in entry}})
        for entry in _spread(text.get("claim", []), "data", "ours", "theirs")
    ]
    borrowed = [Borrowed(**entry) for entry in _spread(text.get("borrowed", []), "source")]
    return Expected(text["order"], text["paper"], text["places"], numbers, claims, borrowed)


def _spread(entries, *keys):
    """Return one entry for each combination of values where an entry gives a list."""
    for key in keys:
        entries = [
            {**entry, key: value} if key in entry else entry
            for entry in entries
            for value in (entry[key] if isinstance(entry.get(key), list) else [entry.get(key)])
        ]
    return entries
