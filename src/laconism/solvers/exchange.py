"""Exchange kept kernels for better ones."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .._protocols import Array, Index
from ..judging.price import prior_price
from ..linalg import remainder, solve_semidefinite
from .loop import Callback, Solution, Solver, resume
from .problem import Problem

# The gain that the quadratic must promise for an exchange; the refitted model must have a tenth of it
# (record 008).
_MIN_PROMISED_NATS = 0.5


@dataclass
class _Table:
    """The log-likelihood to second order, between kept columns and candidates."""

    kept: Index
    rows: Array  # of the Gram matrix, one for each kept column
    slope: Array  # of the quadratic at zero, for each candidate
    own: Array  # the diagonal of the Gram matrix

    def __post_init__(self) -> None:
        gram = self.rows[:, self.kept]
        self.covariance = solve_semidefinite(gram, np.eye(self.kept.size))
        self.w = self.covariance @ self.slope[self.kept]
        self.part = self.covariance @ self.rows  # regression of each candidate on the kept columns
        self.missed = self.slope - self.w @ self.rows  # its slope at the maximum
        left = remainder(self.own, np.einsum("ij,ij->j", self.rows, self.part), 1e-4)
        self.left = left + np.finfo(float).tiny

    def swaps(self) -> Array:
        """Return the nats that each exchange would gain, kept columns by candidates."""
        variance = np.diag(self.covariance)[:, None]
        slope = self.missed + self.part * (self.w[:, None] / variance)
        gains = slope**2 / (self.left + self.part**2 / variance)
        gains = (gains - self.w[:, None] ** 2 / variance) / 2
        gains[:, self.kept] = -np.inf
        return np.asarray(gains)

    def after(self, out: int, candidate: int, row: Array) -> _Table:
        """Return the table after an exchange, given the candidate's row of the Gram matrix."""
        kept, rows = self.kept.copy(), self.rows.copy()
        kept[out], rows[out] = candidate, row
        return replace(self, kept=kept, rows=rows)


class _Candidates:
    """All columns as candidates for the place of a kept one."""

    def __init__(self, full: Problem, answer: Solution) -> None:
        self.design, self.r = full.design, full.weight * answer.state.curvature
        self.total = float(self.r.sum()) if full.intercept else 0.0
        self.table = self._of_all(full, answer)

    def _of_all(self, full: Problem, answer: Solution) -> _Table:
        """Return the table of all columns; a free intercept is eliminated, by their weighted means."""
        state, active, k = answer.state, answer.active, answer.active.size
        push = full.weight * state.slope
        columns = answer.problem.design.matvec(np.eye(k))
        products = full.design.rmatvec(np.column_stack([self.r[:, None] * columns, push, self.r])).T
        rows, slope, own = products[:k], products[k], full.design.square_rmatvec(self.r)
        self.centre, self.level = np.zeros_like(own), state.b
        if full.intercept:
            self.centre = products[k + 1] / self.total
            self.level += float(self.centre[active] @ state.w) + float(push.sum()) / self.total
            rows = rows - self.total * np.outer(self.centre[active], self.centre)
            slope = slope - push.sum() * self.centre
            own = np.maximum(own - self.total * self.centre**2, 0.0)
        return _Table(active, rows, slope + state.w @ rows, own)

    def row(self, candidate: int) -> Array:
        """Return a candidate's row of the Gram matrix."""
        (row,) = self.design.gram_rows(np.array([candidate]), self.r)
        return np.asarray(row - self.total * self.centre[candidate] * self.centre)

    def exchanged(self, max_moves: int = 20) -> tuple[Index, Array, float] | None:
        """Return columns, weights and intercept after all exchanges that pay; nothing if none does."""
        table = self.table
        for _ in range(max_moves):
            gains = table.swaps()
            out, candidate = map(int, np.unravel_index(int(np.argmax(gains)), gains.shape))
            if not _MIN_PROMISED_NATS <= gains[out, candidate] < np.inf:  # too little, or overflow
                break
            table = table.after(out, candidate, self.row(candidate))
        if table is self.table:
            return None
        order = np.argsort(table.kept)
        b = self.level - float(self.centre[table.kept] @ table.w)
        return table.kept[order], table.w[order], b


def exchange(
    full: Problem,
    answer: Solution,
    solver: Solver,
    *,
    max_iter: int,
    tol: float,
    callback: Callback | None,
    max_rounds: int = 6,
) -> Solution:
    """Return a solution that no exchange of a kept column for another improves.

    Under a prior that absorbs zeros the kept columns keep their near duplicates out, even better ones.
    """
    price = prior_price(full.prior)
    for _ in range(max_rounds):
        left = max_iter - len(answer.history)
        if not (answer.active.size and answer.status.converged and left > 0):
            break
        with np.errstate(over="ignore", invalid="ignore"):  # a gain that overflows does not count
            found = _Candidates(full, answer).exchanged()
        if found is None:
            break
        columns, w, b = found
        few = full.keep(columns)
        start = few.state(w, b, answer.state.likelihood)
        here = replace(answer, active=columns)
        new = resume(here, few, start, solver, max_iter=left, tol=tol)
        gain = new.state.worth(price) - answer.state.worth(price)
        if not (new.status.converged and gain > _MIN_PROMISED_NATS / 10):
            break
        told, answer = len(answer.history), new
        # These iterations are reported once the exchange is accepted.
        asked = [callback is not None and callback(record) for record in new.history[told:]]
        if any(asked) or gain < price:  # the next exchange would gain less still
            break
    return answer


def may_exchange(problem: Problem, answer: Solution, solver: Solver) -> bool:
    """Return whether kernels may be exchanged: near duplicates, an unbounded penalty, known noise.

    Noise that is learnt with the weights changes with the columns, and likelihoods would not compare.
    """
    known = answer.state.likelihood is problem.likelihood
    return problem.allows_exchange and known and getattr(solver, "exchanges", False)
