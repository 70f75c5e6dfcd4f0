"""Shapes of effects: what each feature, and each pair of features, adds to the prediction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.pipeline import Pipeline

from .._component import is_count
from .._protocols import Array
from ..linalg import as_dense
from ..model.effects import AdditiveLatent, Effect, additive_latents
from ._draw import (
    ASIDE,
    FIRST,
    Display,
    brief,
    grid_of_panels,
    names_of_features,
    need,
    one_of,
    unwrap,
)

# A feature of at most this many values is drawn as points.
_MAX_DISCRETE_VALUES = 5


class Curve(NamedTuple):
    """The effect of one feature: its values, mean and standard deviation of the effect there."""

    name: str
    values: Array
    mean: Array
    deviation: Array
    share: float  # of the variance of the latent
    rows: Array  # values of the rows
    discrete: bool = False  # whether there are no values between these


class Surface(NamedTuple):
    """The effect of two features beyond those of each, on a grid of their values."""

    names: tuple[str, str]
    values: tuple[Array, Array]
    mean: Array  # of shape (values of the second, values of the first)
    share: float
    rows: Array  # of shape (rows, 2)
    discrete: bool = False  # whether there are no values between those of a feature


@dataclass(eq=False, repr=False)
class ShapeDisplay(Display):
    """The effects of features and of pairs of features, each in a panel.

    Use :meth:`from_estimator` to create one. A model with a centred
    :class:`~laconism.kernels.Additive` kernel is a constant and a sum of effects. The effect of a
    feature is a curve with two standard deviations of the posterior, given the kept kernels. All curves
    have one vertical scale, and the marks below are the values of the rows. The effect of a pair,
    beyond those of its features, is a map, red above zero and blue below. All maps have one scale of
    colours, and the dots are the rows.

    Parameters
    ----------
    curves : sequence of Curve
        ``name, values, mean, deviation, share, rows`` of each feature.
    surfaces : sequence of Surface, default=()
        ``names, values, mean, share, rows`` of each pair of features.
    label : str (label of the vertical axes), default="effect"
    title : str, default=""
    limits : (float, float) or None (those of all curves), limits of the vertical axes, default=None

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes of the first panel, and Figure
    axes_ : list of matplotlib Axes, one per panel: first the curves, then the maps
    lines_, meshes_ : lists of matplotlib artists: Line2D or ErrorbarContainer, and QuadMesh

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from laconism import SparseBayesRegressor, inspection, kernels
    >>> X, y = make_friedman1(100, n_features=5, random_state=0)
    >>> kernel = kernels.Additive(2, gamma=2.0, mean=X.mean(axis=0), deviation=X.std(axis=0))
    >>> model = SparseBayesRegressor(kernel=kernel).fit(X, y)
    >>> display = inspection.ShapeDisplay.from_estimator(model, X, max_pairs=1)
    >>> [(curve.name, round(curve.share, 1)) for curve in display.curves[:1]]
    [('feature 3', 0.3)]
    >>> display.surfaces[0].names
    ('feature 0', 'feature 1')
    """

    curves: Sequence[Curve]
    surfaces: Sequence[Surface] = ()
    label: str = "effect"
    title: str = ""
    limits: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        rows, columns = self._grid
        one = rows * columns == 1
        self._size = (5.0, 3.6) if one else (0.5 + 2.9 * columns, 0.4 + 2.5 * rows)  # inches
        if self.limits is None and self.curves:
            low = min(float((curve.mean - 2 * curve.deviation).min()) for curve in self.curves)
            high = max(float((curve.mean + 2 * curve.deviation).max()) for curve in self.curves)
            room = (high - low) or 1.0
            self.limits = low - 0.12 * room, high + 0.05 * room  # the marks of the rows are below

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        features: Sequence[Any] | None = None,
        max_features: int = 9,
        max_pairs: int = 2,
        output: int = 0,
        feature_names: Sequence[str] | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw the effects of a fitted model over the range of some rows.

        A pipeline is drawn in the units of the data, where its steps have only scaled or moved them.

        Parameters
        ----------
        estimator : estimator with a centred ``Additive`` kernel, or Pipeline ending in one
        X : array-like or data frame of shape (n_samples, n_features), rows such as those of ``fit``
        features : sequence of int, str or pairs of them, default=None
            What to draw. ``None`` draws the features that explain most of the variance, and the pairs
            that explain most and at least one percent.
        max_features, max_pairs : int, default=9 and 2
            Largest number of features and of pairs, with ``features=None``.
        output : int (index of one of several classes), default=0
        feature_names : sequence of str or None, default=None
            Names of the features; None uses those seen in ``fit``, else numbers.
        ax : matplotlib Axes or None (a new figure), divided into panels, default=None
        """
        estimator, model = unwrap(estimator)
        latents = _latents(model)
        need(bool(latents), cls, "a model with a centred Additive kernel", model)
        latent = one_of(latents, output)
        for name, most in (("max_features", max_features), ("max_pairs", max_pairs)):
            if not (most == 0 or is_count(most)):
                raise ValueError(f"{name} must be zero or a positive whole number, got {most!r}.")
        names = names_of_features(estimator, feature_names, model.n_features_in_)
        rows = _Rows.of(estimator, X, names)
        effects = latent.effects()
        sets = (
            # A pair that explains less is drawn only where it is asked for.
            _strongest(effects, 1, max_features) + _strongest(effects, 2, max_pairs, min_share=0.01)
            if features is None
            else [_set_of(each, names) for each in features]
        )
        shares = {effect.features: effect.share for effect in effects}
        return cls(
            [_curve(latent, rows, each, shares.get(each, 0.0)) for each in sets if len(each) == 1],
            [_surface(latent, rows, each, shares.get(each, 0.0)) for each in sets if len(each) == 2],
            _label(model, output),
            _title(effects) if features is None else "",
        ).plot(ax=ax)

    def each(self) -> list[Self]:
        """Return a display of each panel alone, with the same vertical axes."""
        curves = [replace(self, curves=[curve], surfaces=[], title="") for curve in self.curves]
        return curves + [replace(self, curves=[], surfaces=[each], title="") for each in self.surfaces]

    @property
    def _grid(self) -> tuple[int, int]:
        """The numbers of rows and columns of panels."""
        n = max(len(self.curves) + len(self.surfaces), 1)
        columns = 2 if n == 4 else min(n, 3)
        return -(-n // columns), columns

    def _draw(self, ax: Any) -> None:
        count = len(self.curves) + len(self.surfaces)
        if count == 0:
            self.axes_: list[Any] = []
            ax.set(xlabel="no feature has an effect", ylabel=self.label, xticks=[], yticks=[])
            return
        rows, columns = self._grid
        every = grid_of_panels(ax, rows, columns, self.title)
        for empty in every[count:]:
            empty.remove()
        self.axes_ = every[:count]
        self.ax_ = self.axes_[0]
        drawn = self.axes_[: len(self.curves)]
        self.lines_ = [_draw_curve(*pair) for pair in zip(drawn, self.curves, strict=True)]
        for k, panel in enumerate(drawn):
            panel.set_ylim(self.limits)
            if k % columns:
                panel.tick_params(labelleft=False)
            else:
                panel.set_ylabel(self.label)
        top = max((float(np.abs(each.mean).max()) for each in self.surfaces), default=0.0) or 1.0
        maps = zip(self.axes_[len(self.curves) :], self.surfaces, strict=True)
        self.meshes_ = [_draw_surface(panel, surface, top) for panel, surface in maps]
        for panel, mesh in zip(self.axes_[len(self.curves) :], self.meshes_, strict=True):
            self.figure_.colorbar(mesh, ax=panel).set_label(self.label)


# ---- what is drawn ------------------------------------------------------------------------


@dataclass(frozen=True)
class _Rows:
    """Rows as the model has them, and the units of the data: ``origin + slope * value``."""

    Z: Array
    slope: Array
    origin: Array
    names: Sequence[str]

    @classmethod
    def of(cls, estimator: Any, X: Any, names: Sequence[str]) -> Self:
        """Return rows of the data for the last step of a pipeline, or the estimator itself."""
        p = len(names)
        slope, origin = np.ones(p), np.zeros(p)
        scaled = isinstance(estimator, Pipeline) and len(estimator) > 1
        Z: Any = estimator[:-1].transform(X) if scaled else X
        Z = np.asarray(as_dense(Z), dtype=np.float64)
        if Z.ndim != 2 or Z.shape[1] != p or not len(Z):
            raise ValueError(f"X must have rows of {p} features, got data of shape {Z.shape}.")
        for j in range(p) if scaled else ():
            slope[j], origin[j] = _units(_column(X, j, names), Z[:, j])
        return cls(Z, slope, origin, names)

    def in_units(self, values: Array, j: int) -> Array:
        """Return values of a feature in the units of the data."""
        return np.asarray(self.origin[j] + self.slope[j] * values)

    def marked(self, features: Sequence[int], most: int = 500) -> Array:
        """Return features of the rows, or of a random subset, in the units of the data."""
        n = len(self.Z)
        rng = np.random.default_rng(0)
        some = np.arange(n) if n <= most else rng.choice(n, most, replace=False)
        return np.column_stack([self.in_units(self.Z[some, j], j) for j in features])


def _column(X: Any, j: int, names: Sequence[str]) -> Array | None:
    """Return the column of the data that a feature has the name or the place of, if it has numbers."""
    if hasattr(X, "columns"):
        known = [name for name in (names[j], names[j].split("__", 1)[-1]) if name in X.columns]
        if not known:
            return None
        found = X[known[0]]
    else:
        table = as_dense(X) if hasattr(X, "shape") else np.asarray(X)
        if table.shape[1] != len(names):
            return None
        found = table[:, j]
    try:
        return np.asarray(found, dtype=np.float64)
    except (TypeError, ValueError):
        return None


def _units(x: Array | None, z: Array) -> tuple[float, float]:
    """Return slope and origin of a column in its feature; one and zero if it is no line."""
    if x is None or x.shape != z.shape:
        return 1.0, 0.0
    known = np.isfinite(x)  # missing values were imputed
    x, z = x[known], z[known]
    if not x.size or np.ptp(z) == 0:
        return 1.0, 0.0
    low, high = int(z.argmin()), int(z.argmax())
    slope = float((x[high] - x[low]) / (z[high] - z[low]))
    origin = float(x[low] - slope * z[low])
    is_line = slope > 0 and np.allclose(origin + slope * z, x, rtol=0, atol=1e-5 * np.ptp(x))
    return (slope, origin) if is_line else (1.0, 0.0)


def _latents(model: Any) -> list[AdditiveLatent]:
    """Return the latents of a model as sums of effects; none if they are not."""
    if not (hasattr(model, "posteriors_") and hasattr(model, "basis_")):
        return []
    return additive_latents(model.basis_, model._columns, model.posteriors_)


def _strongest(
    effects: Sequence[Effect], order: int, most: int, min_share: float = 0.0
) -> list[tuple[int, ...]]:
    """Return the sets of features of one order that explain most."""
    found = [each for each in effects if len(each.features) == order and each.share >= min_share]
    return [each.features for each in found[:most]]


def _set_of(given: Any, names: Sequence[str]) -> tuple[int, ...]:
    """Return the indices of a feature or of a pair of features."""
    each = (given,) if isinstance(given, str) or not np.iterable(given) else tuple(given)
    found = []
    for feature in each:
        place = names.index(feature) if isinstance(feature, str) and feature in names else feature
        if isinstance(place, str) or not 0 <= place < len(names):
            raise ValueError(
                f"features must be names, or indices from 0 to {len(names) - 1}, got {feature!r}."
            )
        found.append(int(place))
    if len(found) not in (1, 2) or len(set(found)) < len(found):
        raise ValueError(f"features must be single ones or pairs of different ones, got {given!r}.")
    return tuple(found)


def _curve(
    latent: AdditiveLatent, rows: _Rows, features: tuple[int, ...], share: float, points: int = 200
) -> Curve:
    """Return the effect of one feature over the range of the rows."""
    (j,) = features
    values, discrete = _values(latent, rows, j, points)
    at = np.zeros((values.size, len(rows.names)))
    at[:, j] = values
    mean, deviation = latent.effect(at, features)
    marked = rows.marked(features)[:, 0]
    return Curve(rows.names[j], rows.in_units(values, j), mean, deviation, share, marked, discrete)


def _values(
    latent: AdditiveLatent, rows: _Rows, j: int, points: int, most: int = _MAX_DISCRETE_VALUES
) -> tuple[Array, bool]:
    """Return values of a feature, and whether these are all: those of few values, or of categories."""
    values = np.unique(rows.Z[:, j])
    if values.size <= most or j in (latent.kernel.categories or {}):
        return values, True
    return np.linspace(values[0], values[-1], points), False


def _surface(
    latent: AdditiveLatent, rows: _Rows, features: tuple[int, ...], share: float, points: int = 60
) -> Surface:
    """Return the effect of a pair of features over the range of the rows."""
    i, j = features
    (first, some), (second, others) = (_values(latent, rows, k, points, most=1) for k in features)
    at = np.zeros((first.size * second.size, len(rows.names)))
    at[:, i], at[:, j] = (each.ravel() for each in np.meshgrid(first, second))
    mean = latent.effect(at, features)[0].reshape(second.size, first.size)
    values, names = (rows.in_units(first, i), rows.in_units(second, j)), (rows.names[i], rows.names[j])
    return Surface(names, values, mean, share, rows.marked(features), some or others)


def _label(model: Any, output: int) -> str:
    """Return what the effects are added to."""
    classes = getattr(model, "classes_", None)
    if classes is None:
        return "effect on the target"
    return (
        f"effect on the latent of {brief(classes[1] if len(classes) == 2 else classes[output], 12, 4)}"
    )


def _title(effects: Sequence[Effect]) -> str:
    """Return what is explained by features alone, and what by sets of them."""
    if not effects:
        return ""
    alone = sum(effect.share for effect in effects if len(effect.features) == 1)
    text = f"{_percent(alone)} of the variance by features alone"
    interacts = any(len(effect.features) != 1 for effect in effects)
    return f"{text}, {_percent(1 - alone)} by interactions" if interacts else text


def _percent(share: float) -> str:
    return "<1%" if 0 < share < 0.01 else f"{share:.0%}"


# ---- how it is drawn ----------------------------------------------------------------------


def _draw_curve(ax: Any, curve: Curve) -> Any:
    """Draw an effect with two standard deviations, and the values of the rows."""
    low, high = curve.mean - 2 * curve.deviation, curve.mean + 2 * curve.deviation
    ax.axhline(0, color=ASIDE, linewidth=0.8, linestyle="dotted")
    if not curve.discrete:
        ax.fill_between(curve.values, low, high, color=FIRST, alpha=0.18, linewidth=0)
        (drawn,) = ax.plot(curve.values, curve.mean, color=FIRST, linewidth=1.8)
        place = ax.get_xaxis_transform()
        ax.plot(
            curve.rows, np.full(curve.rows.size, 0.035), "|", transform=place, color=ASIDE, ms=6, mew=0.5
        )
    else:
        look = {"color": FIRST, "capsize": 3, "linestyle": "none"}
        drawn = ax.errorbar(curve.values, curve.mean, 2 * curve.deviation, marker="o", **look)
        ax.set_xticks(curve.values[:: -(-curve.values.size // 8)])  # eight labels at the most
        ax.margins(x=0.3)
    ax.set(xlabel=brief(curve.name, 28, 8))
    ax.set_title(f"{_percent(curve.share)} of the variance", fontsize="medium")
    return drawn


def _draw_surface(ax: Any, surface: Surface, top: float) -> Any:
    """Draw the effect of a pair, with lines of equal effect that are dashed below zero."""
    shading = "nearest" if surface.discrete else "gouraud"
    look = {"cmap": "RdBu_r", "vmin": -top, "vmax": top, "shading": shading, "rasterized": True}
    mesh = ax.pcolormesh(*surface.values, surface.mean, **look)
    if np.ptp(surface.mean) > 0 and not surface.discrete:
        ax.contour(*surface.values, surface.mean, levels=6, colors="black", linewidths=0.5)
    ax.plot(*surface.rows.T, "o", color="black", alpha=0.35, markersize=1.8, markeredgewidth=0)
    ax.set(xlabel=brief(surface.names[0], 28, 8), ylabel=brief(surface.names[1], 28, 8))
    ax.set_title(f"interaction: {_percent(surface.share)} of the variance", fontsize="medium")
    return mesh
