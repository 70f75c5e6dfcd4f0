"""The order of cases, the time of each campaign, and what is printed of a failure."""

import importlib
import signal
import threading
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

# Share of the time of each campaign: the fuzzer has most to try.
SHARES = {"fuzz": 6, "files": 1, "kills": 1, "tables": 2, "graphs": 2}
SEEDS_PER_RUN = 1_000_000
LONGEST_SCRIPT_LINES = 10


class Failed(AssertionError):
    """A property that does not hold: its name, what was seen, the case, and how to see it again."""

    def __init__(self, law, seen, about="", script=None):
        super().__init__(f"{law}: {seen}")
        self.law, self.seen, self.about, self.script = law, seen, about, script


@dataclass
class Tally:
    name: str
    cases: int = 0
    seconds: float = 0.0
    failures: Counter = field(default_factory=Counter)

    def __str__(self):
        failures = sum(self.failures.values())
        distinct = f" ({len(self.failures)} distinct)" if failures else ""
        return (
            f"{self.name}: {self.cases} cases, {failures} failures{distinct}, {self.seconds:.0f} seconds"
        )


def case(name, seed):
    """Do one case again; raise ``Failed`` if a property does not hold."""
    importlib.import_module(f"campaign.{name}").run(seed)


class _Late(BaseException):
    """No error, which somebody might catch."""


@contextmanager
def within(seconds, law="time"):
    """Raise ``Failed`` if the block takes more seconds of the processor, or 20 times as many in all.

    Only the main thread is interrupted, and only by systems that have these signals.
    """
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "SIGPROF"):
        yield
        return

    def ring(number, frame):
        raise _Late

    clocks = {signal.SIGPROF: (signal.ITIMER_PROF, 1), signal.SIGALRM: (signal.ITIMER_REAL, 20)}
    before = {number: signal.signal(number, ring) for number in clocks}
    try:
        for clock, factor in clocks.values():
            signal.setitimer(clock, factor * seconds, seconds)  # and again, if it is not heard
        yield
    except _Late:
        raise Failed(law, f"it takes more than {seconds:g} seconds") from None
    finally:
        for clock, _ in clocks.values():
            signal.setitimer(clock, 0)
        for number, handler in before.items():
            signal.signal(number, handler)


def run(names, seed=0, *, seconds=None, cases=None, say=None):
    """Run campaigns for that long, or that many cases of each, and return their tallies."""
    say = say or partial(print, flush=True)
    tallies, began = [Tally(name) for name in names], time.perf_counter()
    say(f"seed {seed}: case k of every campaign has the seed {SEEDS_PER_RUN * seed} + k")
    while seconds is None or time.perf_counter() - began < seconds:
        left = [tally for tally in tallies if cases is None or tally.cases < cases]
        if not left:
            break
        # The campaign that had least of its share goes on.
        tally = min(left, key=lambda each: each.seconds / SHARES[each.name])
        _one(tally, SEEDS_PER_RUN * seed + tally.cases, say)
    for tally in tallies:
        say(str(tally))
    return tallies


def _one(tally, seed, say):
    began = time.perf_counter()
    try:
        case(tally.name, seed)
    except Exception as error:
        failed = error if isinstance(error, Failed) else Failed(type(error).__name__, str(error))
        kind = f"{failed.about.split('(')[0]} {failed.law}".strip()
        tally.failures[kind] += 1
        say(f"FAILED {tally.name}, seed {seed}: {failed}".replace("\n", " "))
        if tally.failures[kind] == 1:  # of each kind the first one in full
            say(reproducer(tally.name, seed, failed))
    tally.cases += 1
    tally.seconds += time.perf_counter() - began


def reproducer(name, seed, failed):
    """Return what a person pastes, ten lines at most."""
    script = failed.script or f'from campaign import case\ncase("{name}", seed={seed})'
    about = " ".join(failed.about.split())
    text = f"# {about}\n{script}" if about else script
    lines = text.splitlines()
    assert len(lines) <= LONGEST_SCRIPT_LINES, lines
    return "\n".join(f"    {line}" for line in lines)
