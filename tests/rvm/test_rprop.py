"""Step sizes of the fixed-point iteration."""

import numpy as np

from laconism.rvm.variational import RpropStep


def test_a_precision_goes_faster_ahead_and_slower_when_it_turns():
    pace = RpropStep(np.array([1.0, -1.0, 1.0]), np.ones(3))
    pace = pace.next(np.array([0.5, 0.5, 0.0])).keep(np.array([0, 1]))
    assert pace.multiple[0] > 1 > pace.multiple[1]
    for _ in range(20):
        pace = pace.next(-pace.change * [-1, 1])
    np.testing.assert_allclose(pace.multiple, [2.0, 0.7])
