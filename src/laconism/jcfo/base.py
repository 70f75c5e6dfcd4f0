"""What the joint estimators share: kernels and feature scales found together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import check_random_state

from .._component import is_count, is_name, is_number, is_positive, is_rate, unknown
from .._protocols import Array, Index
from ..basis import KernelBasis, WithConstant
from ..basis.rows import distinct_rows
from ..design import DenseDesign
from ..kernels import RBF, Kernel, Linear, Polynomial, Scaled, Stationary
from ..model.callbacks import begin_reports
from ..model.kernel_model import KernelModel
from ..model.output import Fit
from ..model.tasks import FitData
from ..posterior import GaussianPosterior
from ..priors import Laplace
from ..solvers import Problem, Status
from .problem import Joint, JointProblem
from .screen import standardise, strongest
from .search import SOLVERS, JointFit, Settings, search
from .weights import rate_of

_KERNELS = ["linear", "poly", "rbf"]
# All distinct rows are centres up to this many; of more rows this many are drawn.
_ALL_CENTRES, _DRAWN_CENTRES = 1000, 300
# The price of a weight that leaves what noise alone would bring outside. Slopes of noise grow with the
# root of the rows and, the largest of p, of log p. Inner products, unlike kernels of distances, let
# scales trade with weights, so that only the product of the rates counts: it has the square of that.
_NOISE_DISTANCES, _NOISE_PRODUCTS = 0.4, 0.4
# Parts of it that are tried where it leaves nothing: few rows cannot prove much.
_PARTS = (1.0, 0.7, 0.5, 0.35)
# Part of it that a weight costs if nobody says, and the most that it costs then: few rows have to speak
# gently, and where there are many the latent's own noise is the unit.
_GENTLE, _MOST = 0.1, 1.0
# The price of a scale if nobody says: as much as two nats for all features together at the start.
_SCALE_RATE = 2.0


@dataclass(frozen=True)
class Asked:
    """The joint problems of a fit, and how their features come from those of ``X``."""

    questions: Sequence[JointProblem]  # one, or one for each class
    few: Index  # centres through which the search looks for its start
    X: Array
    centres: Index
    features: Index
    unit: Array
    origin: Array
    start: Array | None  # scales of these features to begin with, where somebody says so

    def at_rates(self, weight_rate: float, scale_rate: float) -> Self:
        """Return the same with other rates."""
        rates: dict[str, Any] = {"weight_rate": weight_rate, "scale_rate": scale_rate}
        return replace(self, questions=[replace(each, **rates) for each in self.questions])

    def selection_rate(self, part: float = 1.0) -> float:
        """Return the rate of the weights at which features of noise stay out, or a part of it.

        Those that screening left out count too: what is left is the strongest of all.
        """
        question = self.questions[0]
        noise = _noise(question.weight, self.X.shape[1])
        if isinstance(question.kernel, Stationary):
            return part * _NOISE_DISTANCES * noise
        return part**2 * _NOISE_PRODUCTS * noise**2 * _SCALE_RATE / question.scale_rate

    @property
    def feature_price(self) -> float:
        """What a selected feature must be worth, in nats: the extended Bayesian information criterion.

        The best of p features of noise raises the likelihood by about log p.
        """
        question = self.questions[0]
        rows, features = float(question.weight.sum()), self.X.shape[1]
        return float(np.log(features) + 0.5 * len(question.targets) * np.log(rows))

    def scales(self, theta: Array) -> Array:
        """Return the scales of all features, standardised where they are."""
        scales = np.zeros(self.X.shape[1])
        scales[self.features] = theta
        return scales


class JCFOBase(KernelModel):
    """Shared by classifier and regressor; they add the targets and the predictions."""

    weight_rate: Any
    scale_rate: Any
    initial_scales: Any
    selection_rate: Any
    screening: Any
    solver: Any
    n_centres: int | None
    standardize: bool
    penalize_intercept: Any
    random_state: Any

    # What belongs to other families.
    gamma = 1.0
    coef0 = 1.0
    rank_tol = 1e-8
    max_rank = 1000

    def _rules(self) -> dict[str, tuple[bool, str]]:
        return {
            "tol": (is_positive(self.tol), "a positive number"),
            "max_iter": (is_count(self.max_iter), "a positive whole number"),
            "weight_rate": (is_positive(self.weight_rate), "a positive number"),
            "scale_rate": (
                is_name(self.scale_rate, "auto") or is_rate(self.scale_rate),
                "a positive number or 'auto' (up to 1e100)",
            ),
            "selection_rate": (
                self.selection_rate is None
                or is_name(self.selection_rate, "auto")
                or is_positive(self.selection_rate),
                "None, 'auto' or a positive number",
            ),
            "initial_scales": (
                is_name(self.initial_scales, "auto") or _are_scales(self.initial_scales),
                "'auto', a positive number or one number per feature, none negative, one positive (up "
                "to 1e100)",
            ),
            "n_centres": (self.n_centres is None or is_count(self.n_centres), "None or a count"),
            "screening": (
                self.screening is None or is_name(self.screening, "auto") or is_count(self.screening),
                "None, 'auto' or a positive whole number",
            ),
            "kernel": (is_name(self.kernel, *_KERNELS), "'rbf', 'poly' or 'linear'"),
            "degree": (is_count(self.degree), "a positive whole number"),
        }

    # ---- what is asked --------------------------------------------------------------------

    def _inner_kernel(self) -> Kernel:
        if self.kernel == "rbf":
            return RBF(gamma=1.0)
        return Linear() if self.kernel == "linear" else Polynomial(degree=int(self.degree))

    def _ask(self, data: FitData) -> Asked:
        """Return the joint problem in standardised features, or one for each output."""
        X, weight, targets, likelihood, _ = data
        shared = bool(getattr(self, "share_features", True))
        if str(self.solver) not in SOLVERS:
            raise unknown("solver", str(self.solver), sorted(SOLVERS))
        sparse: bool = issparse(X)
        X = np.asarray(X.toarray() if sparse else X, dtype=np.float64)
        origin, unit = standardise(X, weight, units=self.standardize)
        features = strongest((X - origin) * unit, targets, weight, likelihood, self.screening)
        Z = (X[:, features] - origin[features]) * unit[features]
        centres, few = self._choose_centres(X)
        scale_rate = _SCALE_RATE if self.scale_rate == "auto" else float(self.scale_rate)
        free = self.fit_intercept and not self._penalises(len(targets))
        rates = (self._weight_rate(weight, features.size), scale_rate)
        question = JointProblem(
            self._inner_kernel(), Z, Z[centres], targets, likelihood, weight, *rates,
            free, bool(self.fit_intercept and not free),
        )  # fmt: skip
        questions = [question] if shared else [replace(question, targets=[y]) for y in targets]
        start = self._start(unit)
        start = None if start is None else start[features]
        return Asked(questions, few, X, centres, features, unit, origin, start)

    def _start(self, unit: Array) -> Array | None:
        """Return the scales to begin with, as standardised features see them: times their variances."""
        if is_name(self.initial_scales, "auto"):
            return None
        given = np.asarray(self.initial_scales, dtype=np.float64)
        if given.ndim and given.size != unit.size:
            raise ValueError(f"initial_scales has {given.size} numbers, but X has {unit.size} features.")
        return np.asarray(given / np.where(unit > 0, unit, 1.0) ** 2)

    def _penalises(self, outputs: int) -> bool:
        """Return whether the intercept pays the price of a weight."""
        return bool(self.penalize_intercept)

    def _weight_rate(self, weight: Array, n_features: int) -> float:
        """Return the price of a weight; features that were selected are few."""
        if not is_name(self.weight_rate, "auto"):
            return float(self.weight_rate)
        noise = _noise(weight, n_features if self.selection_rate is None else 0)
        return min(_GENTLE * _NOISE_DISTANCES * noise, _MOST) if self.kernel == "rbf" else _MOST

    def _choose_centres(self, X: Array) -> tuple[Index, Index]:
        """Return the rows that may carry a kernel, and an order in which a few of them are many.

        Both are draws from the distinct rows in an order of their own: neither repeating a row nor
        shuffling all of them changes the set.
        """
        source, _ = distinct_rows(X)
        direction = np.random.default_rng(0).normal(size=X.shape[1])
        source = source[np.argsort(np.einsum("ij,j->i", X[source], direction), kind="stable")]
        drawn = source[check_random_state(self.random_state).permutation(source.size)]
        most = self.n_centres
        if most is None:
            most = source.size if source.size <= _ALL_CENTRES else _DRAWN_CENTRES
        drawn = drawn[: int(most)]
        order = np.argsort(drawn)
        return drawn[order], np.argsort(order)

    def _settings(self, asked: Asked) -> Settings:
        return Settings(self.solver, int(self.max_iter), float(self.tol), asked.start)

    # ---- solve ----------------------------------------------------------------------------

    def _fit_rows(self, data: FitData) -> None:
        """Find weights and scales together and publish both."""
        asked = self._ask(data)
        reports, end_reports = begin_reports(self, len(asked.questions))
        found = []
        for question, report in zip(asked.questions, reports, strict=True):
            report.begin()
            rates: tuple[float, ...] = ()
            if self.selection_rate == "auto":
                rates = tuple(asked.selection_rate(part) for part in _PARTS)
            elif self.selection_rate is not None:
                rates = (float(self.selection_rate),)
            price = asked.feature_price
            found.append(search(question, asked.few, self._settings(asked), report, rates, price))
            report.end()
        end_reports()
        self._publish_joint(asked, found)

    # ---- publish --------------------------------------------------------------------------

    def _publish_joint(self, asked: Asked, found: Sequence[JointFit]) -> None:
        scales = np.array([asked.scales(each.answer.theta) for each in found])
        moved = self.standardize and self.kernel != "rbf"  # distances do not know where zero is
        kernels = [
            Scaled(self._inner_kernel(), each * asked.unit**2, asked.origin if moved else None)
            for each in scales
        ]
        self.feature_scales_ = scales[0] if len(found) == 1 else scales
        self.kernel_: Any = kernels[0] if len(found) == 1 else kernels
        self._support: Any = (scales > 0).any(axis=0)
        self.objective_ = float(sum(each.answer.value for each in found))
        bases, fits, first = [], [], 0
        for kernel, question, each in zip(kernels, asked.questions, found, strict=True):
            basis: Any = KernelBasis(kernel, asked.X[asked.centres], asked.centres)
            bases.append(WithConstant(basis) if question.constant else basis)
            fits += _fits(question, each, first, int(np.count_nonzero(each.answer.theta)))
            first += bases[-1].n_columns
        joined: Any = bases[0] if len(bases) == 1 else SideBySide(bases)
        self._publish(fits, joined, np.zeros(first), "")

    # A joint model selects features although it has a kernel.
    transform = SelectorMixin.transform
    fit_transform = SelectorMixin.fit_transform
    inverse_transform = SelectorMixin.inverse_transform
    get_support = SelectorMixin.get_support
    get_feature_names_out = SelectorMixin.get_feature_names_out


def _noise(weight: Array, n_features: int) -> float:
    """Return what the largest slope of so many features of noise grows with."""
    return float(np.sqrt(weight.sum() * np.log(max(n_features, 3))))


def _are_scales(value: Any) -> bool:
    """Whether ``value`` is a positive number, or numbers of which one is and none is negative."""
    if is_number(value):
        return is_rate(value)
    values = list(value) if np.iterable(value) else []
    return all(is_rate(each) or (is_number(each) and each == 0) for each in values) and any(values)


def _fits(question: JointProblem, found: JointFit, first: int, n_features: int) -> list[Fit]:
    """Return the posteriors of the kept weights, the scales taken as known."""
    answer, fits = found.answer, []
    status = _status(found, n_features)
    for y, output in zip(question.targets, answer.outputs, strict=True):
        kept = np.flatnonzero(output.w)
        design = DenseDesign(question.columns(answer.theta, kept))
        prior = Laplace(rate=rate_of(question, output.likelihood))
        part = Problem(design, y, output.likelihood, prior, question.weight, question.intercept)
        at = part.state(output.w[kept], output.b, output.likelihood)
        touching = part.ridge(*part.laplace_targets(at), at.w)
        posterior = GaussianPosterior.from_ridge(replace(touching, weights=at.w, intercept=at.b))
        fits.append(Fit(first + kept, posterior, output.likelihood, status, found.history))
    return fits


def _status(found: JointFit, n_features: int) -> Status:
    """Say how the search went."""
    answer: Joint = found.answer
    if answer.converged:
        message = f"Converged: optimal to {answer.residual:.1e} of the rates"
    elif answer.stopped:
        message = "Stopped by a callback"
    else:
        message = f"Stopped at {answer.residual:.1e} of the rates; raise max_iter or tol"
    message += f" ({len(found.history)} iterations, {n_features} features kept)."
    return Status(answer.converged, message + found.note, answer.stopped)


@dataclass(frozen=True)
class SideBySide:
    """The columns of several bases: classes that each have scales of their own."""

    bases: Sequence[Any]

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return sum(basis.n_columns for basis in self.bases)

    @property
    def source(self) -> Index:
        """The training row of each column; classes may use one row twice."""
        return np.concatenate([basis.source for basis in self.bases])

    @property
    def centres(self) -> Array:
        """The centres, one after the other."""
        rests: list[Any] = [
            basis.rest if isinstance(basis, WithConstant) else basis for basis in self.bases
        ]
        return np.concatenate([rest.centres for rest in rests])

    def columns(self, X: Any) -> Array:
        """Return the kernels between the rows of ``X`` and the centres of each class."""
        return np.hstack([basis.columns(X) for basis in self.bases])

    def keep(self, active: Index) -> Self:
        """Return the basis of these columns only."""
        ends = np.cumsum([basis.n_columns for basis in self.bases])
        parts, first = [], 0
        for basis, end in zip(self.bases, ends, strict=True):
            parts.append(basis.keep(active[(active >= first) & (active < end)] - first))
            first = int(end)
        return type(self)(parts)
