"""Relevance vector machines for tables and tensors of features: the weights lie on a grid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from .._protocols import Array
from ..model.kernel_model import KernelModel
from ..model.output import Fit
from ..model.predictions import BinaryPredictions, GaussianPredictions
from ..model.tasks import FitData, Labels, Values
from .fit import fit_outputs
from .grid import grid_basis, resolve_grid
from .variational import Variational

# Share of every summed precision below which a mode's own precisions do not matter.
_SWITCHED_OFF_SHARE = 0.01


def _precision_and_relevance(
    fits: Sequence[Fit], grid: tuple[int, ...]
) -> tuple[list[Array], list[Array]]:
    """Return precision and relevance of every slice, one array per mode; one row for each output."""
    tables = []
    for mode, size in enumerate(grid):
        table = np.stack([np.full((len(fits), size), np.inf), np.zeros((len(fits), size))])
        for k, fit in enumerate(fits):
            means = fit.state.precisions.means[mode]
            table[:, k, fit.state.kept[mode]] = means, fit.state.relevance(mode)
        tables.append(table[:, 0] if len(fits) == 1 else table)
    return [table[0] for table in tables], [table[1] for table in tables]


def _switched_off(state: Any, mode: int) -> bool:
    """Whether a mode dropped no slice and has no part in any summed precision."""
    if not state.w.any() or state.precisions.grid[mode] != state.full_grid[mode]:
        return False
    return bool(state.precisions.largest_shares()[mode] < _SWITCHED_OFF_SHARE)


@dataclass(eq=False, repr=False)
class GridRVMBase(KernelModel):
    """Shared by classifier and regressor; they add the task, the likelihood and the predictions."""

    grid_shape: Any = None
    _: KW_ONLY
    combine: Any = "product"
    basis: Any = None
    gamma: Any = "scale"
    solver: Any = "fast"
    fit_intercept: bool = True
    shape: float = 1e-12
    rate: float = 1e-12
    max_iter: int = 1000
    tol: float = 1e-6
    n_jobs: int | None = None
    callbacks: Any = None

    _takes_grids = True

    def _fit_rows(self, data: FitData) -> None:
        """Learn the precisions of the slices and publish weights, precisions and noise."""
        grid, sample_shape = resolve_grid(self.grid_shape, self.basis, data)
        basis = grid_basis(self.basis, self.gamma, data.X, data.weight)
        solver = Variational(grid, self.combine, self.solver, self.shape, self.rate)
        built, fits = fit_outputs(self, solver, basis, data, kernels=False)
        note = built.note + self._note(fits, grid)
        self.solver_ = solver
        self.grid_shape_, self._sample_shape = grid, sample_shape
        self._publish(fits, built.basis, built.centre, note, coef_shape=grid)
        del self._rows  # one number per training row, which no prediction needs
        self.mode_precision_, self.mode_relevance_ = _precision_and_relevance(fits, grid)
        if not self._task.classifies:
            X, weight, (y,) = data.X, data.weight, data.targets
            self.noise_variance_ = self._noise_variance(X, y, weight, built.basis)

    def _note(self, fits: Sequence[Fit], grid: tuple[int, ...]) -> str:
        """Return a sentence about each mode that the sum has switched off."""
        if self.combine != "sum" or len(grid) == 1:
            return ""
        return "".join(
            f" Mode {mode} is switched off: its precisions are negligible beside the others, so "
            "they do not tell its slices apart."
            for mode in range(len(grid))
            if all(_switched_off(fit.state, mode) for fit in fits)
        )


@dataclass(eq=False, repr=False, kw_only=True)
class GridRVMClassifier(BinaryPredictions, GridRVMBase):
    r"""Relevance vector machine for samples that are tables or tensors of features [GRID]_.

    Each slice of the grid (each row and each column of a table) has one precision. The precision of a
    weight is the product :math:`\alpha_i\beta_j` or the sum :math:`\alpha_i + \beta_j` of those of its
    slices. So M1 + M2 precisions are learnt instead of M1 M2, which needs fewer samples and shows which
    rows and which columns matter. Weights and precisions have variational posteriors; probabilities are
    integrated over that of the weights.

    Parameters
    ----------
    grid_shape : tuple of int or None, default=None
        Shape of a sample if ``X`` has two dimensions. ``None`` takes it from an ``X`` of shape
        ``(n_samples, M1, M2, ...)``; an ``X`` of two dimensions then has one mode, which is the plain
        variational relevance vector machine.
    combine : {"product", "sum"}, default="product"
        How the precisions of its slices give that of a weight, eqs. (2) and (5) of [GRID]_. The product
        is sparser. The sum prunes whole slices and is more stable with few samples.
    basis : None or "per_feature_rbf", default=None
        ``"per_feature_rbf"`` puts a one-dimensional kernel on each feature of each distinct row of an
        ``X`` of two dimensions, eq. (26) of [GRID]_. The grid is then features by rows, and the kernels
        of irrelevant features are pruned.
    gamma : float or {"scale", "auto"}, default="scale"
        Parameter of those kernels; a width h is ``gamma = 1 / (2 * h**2)``. ``"scale"`` and ``"auto"``
        are scikit-learn's, for a single feature.
    likelihood : {"logistic", "probit"} or Binary, default="logistic"
        Distribution of the label, replaced by a quadratic bound (Jaakkola and Jordan's for the
        logistic). ``"probit"`` is more confident if a few samples separate the classes widely: there the
        curvature of the logistic vanishes, and its weights remain as uncertain as their prior.
    fit_intercept : bool, default=True
        Whether there is an intercept, outside the grid, with a flat prior.
    tol : float, default=1e-6
        The fit stops after an iteration that raises the bound by less than this many nats per
        observation.
    solver, shape, rate, max_iter, class_weight, n_jobs, callbacks
        As in :class:`RVMClassifier` with ``inference="variational"``.

    Attributes
    ----------
    grid_shape_ : tuple of int
    coef_ : ndarray of shape (1 or n_classes, M1, M2, ...)
        Weights, zero where a slice was pruned.
    mode_relevance_ : list of ndarrays
        For each mode, the effective number of parameters of every slice. With more than two classes,
        one row per class.
    mode_precision_ : list of ndarrays
        For each mode, the expected precisions; infinite where a slice was pruned. Under ``"product"`` a
        factor can move from one mode to another, so only precisions of one mode are comparable.
    relevance_ : ndarray
        Flat indices of the weights that were kept.
    history_ : list of Record
        ``iteration, objective, active, seconds, output``; the objective is the evidence lower bound,
        continued without a jump when slices are pruned.
    status_ : Status
        Whether the fit converged, and a message; it names modes that ``"sum"`` has switched off.
    classes_, intercept_, n_relevant_, posteriors_, n_iter_
        As in :class:`RVMClassifier`.

    Examples
    --------
    >>> from laconism import GridRVMClassifier
    >>> from laconism.datasets import make_grid
    >>> X, y, coef = make_grid(300, (8, 6), relevant=(2, 2), kind="classification", random_state=0)
    >>> model = GridRVMClassifier().fit(X, y)
    >>> found, true = (model.coef_[0] ** 2).sum(axis=1), (coef**2).sum(axis=1)  # row by row
    >>> bool(set(found.argsort()[-2:]) == set(true.argsort()[-2:]))
    True

    References
    ----------
    .. [GRID] Bayesian logistic regression for classification of tabular data (gridRVM).
    """

    _task = Labels()

    likelihood: Any = "logistic"
    class_weight: Any = None


@dataclass(eq=False, repr=False, kw_only=True)
class GridRVMRegressor(GaussianPredictions, GridRVMBase):
    r"""Relevance vector regression on samples that are tables or tensors of features.

    The model of :class:`GridRVMClassifier` with Gaussian noise, which its paper mentions but does not
    work out. The noise variance maximises the bound on the evidence.

    Parameters
    ----------
    grid_shape, combine, basis, gamma, solver, fit_intercept, shape, rate, max_iter, tol, callbacks
        As in :class:`GridRVMClassifier`.
    likelihood, n_jobs
        As in :class:`SparseBayesRegressor`.

    Attributes
    ----------
    grid_shape_ : tuple of int
    coef_ : ndarray of shape grid_shape
        Weights, zero where a slice was pruned.
    intercept_ : float
    noise_variance_ : float
        As in :class:`RVMRegressor`.
    mode_relevance_, mode_precision_, relevance_, n_relevant_, posteriors_, history_, status_, n_iter_
        As in :class:`GridRVMClassifier`.

    Examples
    --------
    >>> from laconism import GridRVMRegressor
    >>> from laconism.datasets import make_grid
    >>> X, y, coef = make_grid(100, (6, 5, 4), relevant=(2, 2, 1), random_state=0)
    >>> model = GridRVMRegressor(combine="sum").fit(X, y)
    >>> bool(((model.coef_ - coef) ** 2).sum() < 0.1 * (coef**2).sum())
    True
    """

    _task = Values()

    likelihood: Any = "gaussian"
