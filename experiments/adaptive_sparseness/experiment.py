"""Paper 001: regression with the Jeffreys prior; its classification table is that of paper 000."""

import json
from functools import cache

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.compose import TransformedTargetRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.linear_model import ARDRegression, LassoCV, LinearRegression, lasso_path
from sklearn.model_selection import GridSearchCV, KFold, train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

from laconism import LaconicRegressor, RVMRegressor, SparseBayesRegressor
from laconism.datasets import load_boston, make_sinc, make_tibshirani
from laconism.priors import Jeffreys

from .._declare import Cell, Skip
from .._judge import estimate
from .._methods import LETTER
from .._splits import Split, gamma, published, standardised

TITLE = "Adaptive sparseness using Jeffreys prior"
METRICS = ("nonzero", "miss", "improvement", "rmse", "mse", "kernels", "curve")
BANDS = {
    "nonzero": (0, 20),
    "miss": (0, 20),
    "improvement": (-400, 100),
    "rmse": (0.0, 1.0),
    "mse": (0.0, 200.0),
    "kernels": (0, 500),
}

# Figure 1 (a): 50 observations of 20 features, coefficients of 3, noise of variance 1; 100 draws of each
# as ten blocks of ten.
COUNTED, FEATURES, OBSERVATIONS, SIZE = tuple(range(1, 21)), 20, 50, 3.0
BLOCKS, BLOCK = 10, 10
# EM comes near zero and stops when weights move by less than this part: below it they count as zero.
ZERO = 1e-3
# Table 1: 20 observations of 8 features; 500 draws as ten blocks of 50, on which errors are averaged.
DESIGNS = {"few": "(3, 1.5, 0, 0, 2, 0, 0, 0)", "one": "(5, 0, 0, 0, 0, 0, 0, 0)"}
ERROR_BLOCK = 50
# Table 2: widths h, chosen as in the trial that the README tells of, and numbers of draws.
WIDTHS, DRAWS = {"sinc": 3.0, "boston": 5.0}, {"sinc": 25, "boston": 20}

LINEAR = ("laconism EM", "laconism", "LassoCV", "ARDRegression")
SHRINKERS = ("laconism EM", "laconism", "LassoCV", "Lasso, GCV", "best subset", "ARDRegression")
MACHINES = (
    "laconism EM", "laconism", "LaconicRegressor", "laconism RVM", "laconism VRVM", "SVR",
    "GaussianProcess",
)  # fmt: skip


def cells(quick):
    found = [
        Cell("figure 1", f"{k} of 20", method, block, {"draws": 2 if quick else BLOCK, "zero": ZERO})
        for k in ((2, 10) if quick else COUNTED)
        for block in range(2 if quick else BLOCKS)
        for method in LINEAR
    ]
    found.append(Cell("figure 1", "sinc", "laconism EM", 0))
    found += [
        Cell("table 1", name, method, block, {"draws": 5 if quick else ERROR_BLOCK})
        for name in DESIGNS
        for block in range(2 if quick else BLOCKS)
        for method in SHRINKERS
    ]
    found += [
        Cell("table 2", name, method, seed, {"h": WIDTHS[name]})
        for name in DRAWS
        for seed in range((2 if name == "sinc" else 1) if quick else DRAWS[name])
        for method in (("laconism EM", "laconism", "laconism RVM", "SVR") if quick else MACHINES)
    ]
    return found


def run(cell):
    if cell.place == "table 1":
        return model_errors(cell)
    if cell.place == "table 2":
        return kernel_regression(cell)
    return sinc_picture() if cell.data == "sinc" else nonzeros(cell)


def letter(**options):
    """Return the paper's regression by the paper's algorithm."""
    return SparseBayesRegressor(Jeffreys(strength=1.0), penalize_intercept=True, **LETTER, **options)


class GCVLasso(RegressorMixin, BaseEstimator):
    """The lasso at the point of scikit-learn's path that generalised cross-validation chooses."""

    def fit(self, X, y):
        _, coefs, _ = lasso_path(X, y)
        residual = ((y[:, None] - X @ coefs) ** 2).sum(axis=0)
        freedom = np.minimum(np.count_nonzero(coefs, axis=0), len(y) - 1)
        self.coef_ = coefs[:, np.argmin(residual / (1 - freedom / len(y)) ** 2)]
        return self


def best_subset(X, y):
    try:
        from abess import LinearRegression as Subset
    except ImportError:
        raise Skip("abess is not installed: pip install --group bench.") from None
    return Subset(support_size=range(X.shape[1] + 1), cv=5, fit_intercept=False).fit(X, y)


def linear(method, X, y):
    """Fit a linear model without an intercept, which the designs do not have either."""
    if method == "best subset":
        return best_subset(X, y)
    makers = {
        "laconism EM": lambda: SparseBayesRegressor(Jeffreys(1.0), fit_intercept=False, **LETTER),
        "laconism": lambda: SparseBayesRegressor(fit_intercept=False),
        "LassoCV": lambda: LassoCV(cv=5, fit_intercept=False),
        "Lasso, GCV": GCVLasso,
        "ARDRegression": lambda: ARDRegression(fit_intercept=False),
        "least squares": lambda: LinearRegression(fit_intercept=False),
    }
    return makers[method]().fit(X, y)


def nonzeros(cell):
    """Return the mean number of coefficients that a block of draws keeps."""
    true = int(cell.data.split()[0])
    coef = np.where(np.arange(FEATURES) < true, SIZE, 0.0)
    counts = []
    for draw in range(cell.config["draws"]):
        rng = np.random.default_rng([cell.seed, draw, true])
        X, y, _ = make_tibshirani(OBSERVATIONS, coef, sigma=1.0, random_state=rng)
        size = np.abs(linear(cell.method, X, y).coef_)
        counts.append(np.count_nonzero(size > ZERO * size.max()))
    return {"nonzero": float(np.mean(counts)), "miss": abs(float(np.mean(counts)) - true)}


def model_errors(cell):
    """Return by how much the mean model error of a block is below that of least squares, in per cent."""
    correlation = 0.5 ** np.abs(np.subtract.outer(np.arange(8), np.arange(8)))
    total = {cell.method: 0.0, "least squares": 0.0}
    counts = []
    for draw in range(cell.config["draws"]):
        rng = np.random.default_rng([cell.seed, draw])
        X, y, coef = make_tibshirani(20, cell.data, random_state=rng)
        for method in total:
            found = np.ravel(linear(method, X, y).coef_)
            total[method] += (found - coef) @ correlation @ (found - coef)
            if method == cell.method:
                counts.append(np.count_nonzero(found))
    gain = 100 * (1 - total[cell.method] / total["least squares"])
    return {"improvement": float(gain), "nonzero": float(np.mean(counts))}


def regressors(width):
    rbf = {"kernel": "rbf", "gamma": gamma(width)}
    process = ConstantKernel(1.0, (1e-3, 1e4)) * RBF(1.0, (1e-2, 1e3)) + WhiteKernel(0.1, (1e-6, 1e2))
    svr = {"C": [0.1, 1.0, 10.0, 100.0], "epsilon": [0.01, 0.1, 0.3]}
    return {
        "laconism EM": lambda: letter(**rbf),
        "laconism": lambda: SparseBayesRegressor(penalize_intercept=True, **rbf),
        "LaconicRegressor": LaconicRegressor,
        "laconism RVM": lambda: RVMRegressor(**rbf),
        "laconism VRVM": lambda: RVMRegressor(inference="variational", **rbf),
        # C and epsilon have the units of the target; with unit variance one grid suits both problems.
        "SVR": lambda: TransformedTargetRegressor(
            GridSearchCV(SVR(gamma=gamma(width)), svr, cv=KFold(5, shuffle=True, random_state=0)),
            transformer=StandardScaler(),
        ),
        "GaussianProcess": lambda: GaussianProcessRegressor(process, normalize_y=True, random_state=0),
    }


def kernel_regression(cell):
    split = sinc(cell.seed) if cell.data == "sinc" else boston(cell.seed)
    model = regressors(WIDTHS[cell.data])[cell.method]()
    model.fit(split.X, split.y)
    mse = float(np.mean((split.y_test - model.predict(split.X_test)) ** 2))
    found = {"rmse": mse**0.5} if cell.data == "sinc" else {"mse": mse}
    if hasattr(model, "n_relevant_"):
        found["kernels"] = float(model.n_relevant_)
    elif cell.method == "SVR":
        found["kernels"] = float(len(model.regressor_.best_estimator_.support_))
    return found


def sinc(seed):
    """Return 50 noisy values of sin(x) / x, and the truth at 1000 places to be judged by."""
    X, y = make_sinc(50, noise=0.1, random_state=seed)
    grid = np.linspace(-10, 10, 1000)
    return Split(X, y, grid[:, None], np.sinc(grid / np.pi))


@cache
def _boston():
    return published(load_boston)


def boston(seed):
    """Return one of the random partitions into 481 and 25."""
    bunch = _boston()
    X, X_test, y, y_test = train_test_split(bunch.data, bunch.target, test_size=25, random_state=seed)
    return standardised(Split(X, y, X_test, y_test))


def sinc_picture():
    split = sinc(0)
    model = letter(kernel="rbf", gamma=gamma(WIDTHS["sinc"])).fit(split.X, split.y)
    curve = model.predict(split.X_test[::10])
    drawn = {
        "x": split.X[:, 0].round(3).tolist(),
        "y": split.y.round(3).tolist(),
        "kept": model.relevance_.tolist(),
        "curve": curve.round(4).tolist(),
    }
    miss = model.predict(split.X_test) - split.y_test
    found = {"kernels": float(model.n_relevant_), "rmse": float(np.sqrt(np.mean(miss**2)))}
    return {**found, "curve": json.dumps(drawn)}


def figures(rows):
    """Draw both parts of figure 1."""
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(5, 3.6), layout="constrained")
    ax.plot([0, 20], [0, 20], ":", color="grey", label="the truth")
    for method in LINEAR:
        curve = [
            estimate(rows, "nonzero", place="figure 1", data=f"{k} of 20", method=method)
            for k in COUNTED
        ]
        known = [(k, one.mean) for k, one in zip(COUNTED, curve, strict=True) if one]
        if known:
            ax.plot(*zip(*known, strict=True), "o-", markersize=3, label=method)
    ax.set(xlabel="coefficients that are not zero", ylabel="mean number found")
    ax.legend(frameon=False)
    found = {"figure_1_a": figure}
    for row in rows:
        if row["place"] == "figure 1" and row.get("curve"):
            drawn = json.loads(row["curve"])
            x, y = np.array(drawn["x"]), np.array(drawn["y"])
            grid = np.linspace(-10, 10, 1000)
            figure, ax = plt.subplots(figsize=(5, 3.4), layout="constrained")
            ax.plot(grid, np.sinc(grid / np.pi), ":", label="sin(x) / x")
            ax.plot(grid[::10], drawn["curve"], label="estimate")
            ax.plot(x, y, ".", color="grey", label="observations")
            ax.plot(
                x[drawn["kept"]], y[drawn["kept"]], "o", markerfacecolor="none", label="kernels kept"
            )
            ax.legend(frameon=False, fontsize=8)
            found["figure_1_b"] = figure
    return found
