"""A race over folds: who is dropped, and what every job gets."""

from dataclasses import dataclass

import numpy as np

from laconism.judging.compare import Rule
from laconism.judging.race import Candidate, Race, choose_candidate
from laconism.judging.row_scores import UNIT_FACTOR, RowScores
from laconism.judging.trials import FoldResult

MORE_KERNELS = Rule(nats=np.log(5))


@dataclass(eq=False)
class Numbered(Candidate):
    """A candidate with a number for a name."""

    number: int

    @property
    def params(self):
        """The number."""
        return {"number": self.number}


def result(log_p, kept, weight):
    return FoldResult(RowScores(np.asarray(log_p)[None], weight), kept, 0.0, 0.0)


def candidates(rows, kept, weight):
    found = enumerate(zip(rows, kept, strict=True))
    return [Numbered(number, tried=[result(*each, weight)]) for number, each in found]


def race(rows, kept, weight, least=0.0):
    """Return who goes on, of candidates with these log probabilities and numbers of kernels."""
    found = candidates(rows, kept, weight)
    total = 2 * float(weight.sum())
    Race(None, [], total, UNIT_FACTOR, True, MORE_KERNELS, None, min_error_nats=least).drop(found)
    return [each.runs for each in found]


def test_the_choice_is_the_same_rule_for_rows_and_folds():
    rows = np.array([[-1.0, -1.0, -1.0, -1.0], [-0.9, -0.8, -0.9, -0.8], [-0.6, -1.2, -0.6, -1.2]])
    kept, weight = [1, 2, 3], np.ones(4)
    for rule, best in ((Rule(), 1), (Rule(errors=1.0), 1), (Rule(nats=0.7), 0)):
        found = candidates(rows, kept, weight)
        winner, trials = choose_candidate(found, UNIT_FACTOR, rule)
        assert winner is found[best]
        assert [trial.won for trial in trials] == [k == best for k in range(3)]
    # Of candidates of one size the best comes first, and needs no clear gain.
    found = candidates(rows, [2, 2, 2], weight)
    assert choose_candidate(found, UNIT_FACTOR, Rule(errors=1.0))[0] is found[1]
    # One that was not tried on all folds is not chosen, but listed.
    found[1].tried.clear()
    found[0].tried.append(found[0].tried[0])
    winner, trials = choose_candidate([found[0], found[1]], UNIT_FACTOR, Rule())
    assert winner is found[0]
    assert len(trials) == 2
    assert np.isnan(trials[1].log_density)


def test_who_is_out_of_the_race():
    noise = np.random.default_rng(0).normal(size=100)
    base = -0.3 - 0.1 * np.abs(noise)
    rows = np.array(
        [
            base,  # the leader, ahead of the smallest by less than log 5 on all rows
            base - 0.1 + 0.1 * noise,  # clearly behind
            base - 0.03 + 0.5 * (noise - noise.mean()),  # behind, and nobody knows
            base - 0.002,  # not ahead of the smallest
            base - 0.005,  # the smallest
        ]
    )
    kept, weight = [10, 5, 20, 30, 4], np.ones(100)
    assert race(rows, kept, weight) == [False, False, True, False, True]
    ahead = rows + 0.02 * (np.arange(5) == 0)[:, None]  # by more than log 5
    assert race(ahead, kept, weight) == [True, False, True, False, False]
    assert race(rows, kept, weight, least=10.0) == 5 * [True]
    twice = np.tile(rows, 2)
    assert race(twice, kept, np.ones(200)) == race(rows, kept, np.full(100, 2.0))


def test_a_charge_counts_in_the_race_and_in_the_choice():
    rows, weight = np.array([np.full(20, -0.5), np.full(20, -0.4)]), np.ones(20)
    for charge, best in ((0.0, 1), (0.09, 1), (0.11, 0)):
        one, other = candidates(rows, [2, 2], weight)
        other.charge = charge
        assert choose_candidate([one, other], UNIT_FACTOR, Rule())[0] is [one, other][best]
        Race(None, [], 40.0, UNIT_FACTOR, True, Rule(), None).drop([one, other])
        assert [one.runs, other.runs] == [best == 0, best == 1]


def test_of_two_with_the_same_scores_one_goes_on():
    rows = np.tile(-0.5 - np.arange(10) / 100, (3, 1))
    rows[2, 0] += 0.1
    assert race(rows, [2, 2, 3], np.ones(10), least=10.0) == [True, False, True]


def test_candidates_that_are_out_are_not_tried_again():
    """Of two candidates the second is worse by a nat a row; a third stops itself on the first fold."""
    folds = [(np.arange(10), np.arange(10)) for _ in range(3)]
    tried_on = []

    def try_path(path, fold):
        tried_on.append([candidate.runs for candidate in path])
        log_p = np.array([np.zeros(10), -1 - np.linspace(0, 0.1, 10)])
        found = [result(own, 3.0, np.ones(10)) for own in log_p]
        return [each if one.runs else None for each, one in zip([*found, None], path, strict=True)]

    path, done = [Numbered(number) for number in range(3)], []
    race = Race(
        try_path,
        rounds=[[fold] for fold in folds],
        weight=30.0,
        factors=UNIT_FACTOR,
        drops=True,
        rule=Rule(),
        n_jobs=None,
        on_done=done.append,
    )
    path[2].tried.append(result(np.zeros(10), 3.0, np.ones(10)))
    race.run([path])
    assert tried_on == [[True, True, True], [True, False, False], [True, False, False]]
    assert [len(candidate.tried) for candidate in path[:2]] == [3, 1]
    np.testing.assert_allclose(path[0].mean_score(UNIT_FACTOR), 0.0)
    assert len(done) == 3
