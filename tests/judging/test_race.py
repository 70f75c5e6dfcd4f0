"""A race over folds: who is dropped, and what every job gets."""

import numpy as np

from laconism.judging.race import Candidate, Race, drop_dominated
from laconism.judging.row_scores import UNIT_FACTOR, RowScores, Scoring, score_values
from laconism.judging.trials import Trial, Tried


def race(rows, kept, weight, unseen=0.0):
    """Return who goes on, of candidates with these log probabilities and numbers of kernels."""
    runners = [Candidate() for _ in rows]
    for runner, own, many in zip(runners, rows, kept, strict=True):
        runner.tried.append(Tried(RowScores(own[None], weight), Trial(0.0, many, 0.0, 0.0), []))
    drop_dominated(runners, UNIT_FACTOR, 2 * weight.sum(), np.log(5), unseen)
    return [runner.runs for runner in runners]


def test_who_is_out_of_the_race():
    noise = np.random.default_rng(0).normal(size=100)
    base = -0.3 - 0.1 * np.abs(noise)
    rows = np.array(
        [
            base,  # the leader
            base - 0.1 + 0.1 * noise,  # clearly behind
            base - 0.03 + 0.5 * (noise - noise.mean()),  # behind, and nobody knows
            base - 0.002,  # not ahead of the leader, which is sparser
            base - 0.005,  # sparser than that, and hardly worse
        ]
    )
    kept, weight = [10, 5, 20, 30, 4], np.ones(100)
    assert race(rows, kept, weight) == [True, False, True, False, True]
    assert race(rows, kept, weight, unseen=10.0) == 5 * [True]
    twice = np.tile(rows, 2)
    assert race(twice, kept, np.ones(200)) == race(rows, kept, np.full(100, 2.0))


def test_candidates_that_are_out_are_not_tried_again():
    """Of two candidates the second is worse by a nat a row; a third stops itself on the first fold."""
    folds = [(np.arange(10), np.arange(10)) for _ in range(3)]
    tried_on = []

    def try_path(path, fold):
        tried_on.append([candidate.runs for candidate in path])
        log_p = np.array([np.zeros(10), -1 - np.linspace(0, 0.1, 10)])
        trial = Trial(0.0, 3.0, 0.0, 0.0)
        found = [Tried(RowScores(own[None], np.ones(10)), trial, []) for own in log_p]
        return [each if one.runs else None for each, one in zip([*found, None], path, strict=True)]

    path, done = [Candidate() for _ in range(3)], []
    race = Race(
        try_path,
        rounds=[[fold] for fold in folds],
        weights=[10.0, 10.0, 10.0],
        scoring=Scoring(score_values, UNIT_FACTOR),
        drops=True,
        required=0.0,
        n_jobs=None,
        on_done=done.append,
    )
    path[2].tried.append(Tried(RowScores(np.zeros((1, 10)), np.ones(10)), Trial(), []))
    race.run([path])
    assert tried_on == [[True, True, True], [True, False, False], [True, False, False]]
    assert [len(candidate.tried) for candidate in path[:2]] == [3, 1]
    scores = [[trial.score for trial in race.trials(candidate)] for candidate in path[:2]]
    np.testing.assert_allclose(scores[0], 0.0)
    assert np.isnan(scores[1][1:]).all()
    assert len(done) == 3
