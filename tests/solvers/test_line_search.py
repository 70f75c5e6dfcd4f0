"""The one line search."""

from laconism.solvers.line_search import backtrack, lengthen


def test_a_step_shrinks_until_it_is_accepted():
    tried = []

    def at(step):
        tried.append(step)
        return -(step**2) + 0.3 * step

    point, step = backtrack(at, lambda value, _: value > 0)
    assert tried == [1.0, 0.5, 0.25]
    assert (point, step) == (at(0.25), 0.25)


def test_first_step_and_factor_are_the_callers():
    tried = []

    def accepts(point, step):
        tried.append(step)
        return step < 0.1

    assert backtrack(lambda step: 3 * step, accepts, first_step=0.8, shrink=0.25) == (3 * 0.05, 0.05)
    assert tried == [0.8, 0.2, 0.05]


def test_the_condition_may_depend_on_the_length_as_armijos_does():
    # From x = 1 along -gradient of x^4: a decrease of half of what the slope promises.
    point, step = backtrack(
        lambda step: (1 - 4 * step) ** 4, lambda value, step: value <= 1 - 0.5 * 16 * step
    )
    assert step == 0.0625
    assert point <= 1 - 0.5 * 16 * step


def test_nothing_is_returned_when_no_step_is_accepted():
    tried = []
    assert backtrack(tried.append, lambda *_: False, max_trials=5) is None
    assert tried == [1.0, 0.5, 0.25, 0.125, 0.0625]


def test_a_step_is_doubled_while_it_improves():
    def at(step):
        return -abs(step - 5)

    def improves(new, old):
        return new > old

    assert lengthen(at, improves, at(1.0), 1.0, max_step=16) == (at(4.0), 4.0)
    assert lengthen(at, improves, at(1.0), 1.0, max_step=2) == (at(2.0), 2.0)
    assert lengthen(at, improves, at(8.0), 8.0, max_step=16) == (at(8.0), 8.0)


def test_a_doubled_step_never_exceeds_its_bound():
    assert lengthen(lambda step: step, lambda new, old: new > old, 1.0, 1.0, max_step=16) == (16.0, 16.0)
