"""Paper 004: relevance vector machines for tables of features (gridRVM)."""

import json
from functools import cache
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr
from sklearn.linear_model import LogisticRegressionCV
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from laconism import GridRVMClassifier
from laconism.datasets import find_data_file, load_esl_mixture, make_mixture

from .._declare import HERE, Cell
from .._judge import estimate
from .._splits import gamma, published
from .faces import load_lfw_pairs

TITLE = "Bayesian logistic regression for tables of features: gridRVM"
METRICS = ("percent", "train_percent", "weights", "accuracy", "agreement", "curve")
BANDS = {
    "percent": (0.0, 60.0),
    "train_percent": (0.0, 60.0),
    "weights": (0, 3400),
    "accuracy": (40.0, 100.0),
    "agreement": (-1.0, 1.0),
}

# Table 1: numbers of features, sigma on standardised inputs, draws: the published one and nine more.
DIMENSIONS, SIGMA, DRAWS, N_TEST = (2, 4, 17), 0.3, 10, 5000
BASES = ("linear", "rbf", "table")
# What matches the training errors of the paper.
PAPER = {"fit_intercept": False, "shape": 1e-6, "rate": 1e-6}
OURS = ("laconism RVM", "laconism p-gridRVM", "laconism s-gridRVM")
RIVALS = {"linear": ("LogisticRegression",), "rbf": ("SVC", "kNN"), "table": ("LogisticRegression",)}
# A weight counts as relevant beyond this, as in table 1.
RELEVANT = 0.01

# Figure 3: pairs to train on, in per cent of nine folds; the paper's own steps are not legible in print.
PERCENT = (1, 5, 20, 100)
FACE_METHODS = (*OURS, "linear SVM, C = 1", "linear SVM, tuned")
# Folds that are tested: all ten of the distances; with one-shot similarities four, to save time, and the
# last fold is the negative set, so it is neither tested nor learnt from.
TESTED, NEGATIVE = {"distances": 10, "with one-shot": 4}, 9
# With all of the training folds half of those.
ALL = 100
# Pairs of each fold in a quick run.
FEW = 30
CACHE = HERE.parent / "build" / "cache"


def cells(quick):
    found = [
        Cell("table 1", f"d = {d}, {basis}", method, seed, {"d": d, "basis": basis})
        for d in ((2, 4) if quick else DIMENSIONS)
        for basis in (BASES[2:] if quick and d > 2 else BASES)
        for seed in range(1 if quick else DRAWS)
        for method in (OURS if quick else (*OURS, *RIVALS[basis]))
    ]
    if quick:
        few = {"per_fold": FEW}  # describing all 7,701 faces takes longer than a quick run may
        data, config = f"distances, {ALL} %", {"kind": "distances", "percent": ALL, **few}
        found += [Cell("figure 3", data, method, 0, config) for method in FACE_METHODS]
        return [*found, *(Cell("figure 1", "faces", method, 0, few) for method in OURS[1:])]
    for kind, folds in TESTED.items():
        found += [
            Cell("figure 3", f"{kind}, {percent} %", method, fold, {"kind": kind, "percent": percent})
            for percent in PERCENT
            for fold in range(folds // 2 if percent == ALL else folds)
            for method in FACE_METHODS
        ]
    found += [Cell("figure 1", "faces", method, 0) for method in OURS[1:]]
    return found


def run(cell):
    if cell.place == "table 1":
        return mixture(cell)
    return relevance(cell) if cell.place == "figure 1" else faces(cell)


# ---- table 1 ---------------------------------------------------------------------------------------


def mixture(cell):
    X, y, X_test, y_test = draw(cell.config["d"], cell.seed)
    scaler = StandardScaler().fit(X)
    X, X_test = scaler.transform(X), scaler.transform(X_test)
    if cell.method in RIVALS["rbf"]:
        model = rival(cell.method).fit(X, y)
        return {"percent": _percent(model, X_test, y_test), "train_percent": _percent(model, X, y)}
    A, B = (expand(cell.config["basis"], rows, X) for rows in (X, X_test))
    if cell.method in ("LogisticRegression", "laconism RVM"):
        A, B = A.reshape(len(A), -1), B.reshape(len(B), -1)
    model = (grid_machine if cell.method in OURS else rival)(cell.method).fit(A, y)
    return {
        "percent": _percent(model, B, y_test),
        "train_percent": _percent(model, A, y),
        "weights": float((np.abs(model.coef_) > RELEVANT).sum()),
    }


def draw(d, seed):
    """Return 200 points to learn from and 5000 to be judged by, from the published density."""
    published_draw = published(load_esl_mixture)
    rng = np.random.default_rng([seed, d])
    if seed:
        X, y = make_mixture(200, n_noise=d - 2, means=published_draw.means, random_state=rng)
    else:
        noise = rng.standard_normal((len(published_draw.data), d - 2))
        X, y = np.column_stack([published_draw.data, noise]), published_draw.target
    X_test, y_test = make_mixture(N_TEST, n_noise=d - 2, means=published_draw.means, random_state=rng)
    return X, y, X_test, y_test


def expand(basis, rows, centres):
    """Return features as a grid: themselves, kernels of all of them (25), or kernels of each (26)."""
    if basis == "linear":
        return rows[:, :, None]
    sq = (rows[:, :, None] - centres.T[None]) ** 2
    if basis == "rbf":
        sq = sq.sum(axis=1, keepdims=True).transpose(0, 2, 1)
    return np.exp(-gamma(SIGMA) * sq)


def grid_machine(method, **options):
    combine = "sum" if method == "laconism s-gridRVM" else "product"
    return GridRVMClassifier(combine=combine, **(options or PAPER))


def rival(method):
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    if method == "SVC":
        grid = {"C": 10.0 ** np.arange(-1, 4), "gamma": [0.03, 0.1, 0.3, 1.0, 3.0, 10.0]}
        return GridSearchCV(SVC(), grid, cv=folds)
    if method == "kNN":
        return GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [1, 3, 7, 15, 31]}, cv=folds)
    # With the penalty L2: liblinear's L1 needs minutes on 3,400 columns that are so much alike.
    return LogisticRegressionCV(
        Cs=8, cv=folds, l1_ratios=(0.0,), max_iter=300, use_legacy_attributes=False
    )


def _percent(model, X, y):
    return 100 * float(np.mean(model.predict(X) != y))


# ---- faces -----------------------------------------------------------------------------------------


@cache
def tables(kind, per_fold=None):
    """Return tables, classes and folds of the pairs; kept in build/cache once all were made."""
    path = CACHE / f"lfw_{kind.replace(' ', '_')}.npz"
    published(find_data_file, "lfw_pairs_62x47.npz")
    if per_fold is not None:
        bunch = load_lfw_pairs(per_fold=per_fold)
        return bunch.data, bunch.target, bunch.fold, bunch.row_names
    if path.exists():
        with np.load(path, allow_pickle=False) as arrays:
            return arrays["X"], arrays["y"], arrays["fold"], arrays["names"].tolist()
    bunch = load_lfw_pairs(one_shot=NEGATIVE if kind == "with one-shot" else None)
    CACHE.mkdir(parents=True, exist_ok=True)
    fresh = Path(f"{path}.{id(bunch)}.npz")
    np.savez(fresh, X=bunch.data, y=bunch.target, fold=bunch.fold, names=np.array(bunch.row_names))
    fresh.replace(path)
    return bunch.data, bunch.target, bunch.fold, bunch.row_names


def faces(cell):
    """Return the accuracy on one fold of a method that was trained on some of the others."""
    X, y, fold, _ = tables(cell.config["kind"], cell.config.get("per_fold"))
    others = fold != cell.seed
    if cell.config["kind"] == "with one-shot":
        others &= fold != NEGATIVE  # its images are the negative set
    train = np.random.default_rng(cell.seed).permutation(np.flatnonzero(others))
    train = train[: round(len(train) * cell.config["percent"] / 100)]
    A, B = _standard(X[train], X[fold == cell.seed])
    if cell.method not in OURS[1:]:
        A, B = A.reshape(len(A), -1), B.reshape(len(B), -1)
    model = face_machine(cell.method).fit(A, y[train])
    return {"accuracy": 100 * float(np.mean(model.predict(B) == y[fold == cell.seed]))}


def _standard(A, B):
    mean, scale = A.mean(axis=0, dtype=float), A.std(axis=0, dtype=float)
    scale[scale == 0] = 1.0
    return (A - mean) / scale, (B - mean) / scale


def face_machine(method):
    if method in OURS:
        return grid_machine(method, fit_intercept=True)
    svm = LinearSVC(random_state=0)
    if method == "linear SVM, C = 1":
        return svm
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    return GridSearchCV(svm, {"C": 10.0 ** np.arange(-5, 0)}, cv=folds)


def relevance(cell):
    """Return what each block and descriptor contributes on half of the pairs, and how halves agree."""
    X, y, fold, names = tables("distances", cell.config.get("per_fold"))
    shares = []
    for half in (cell.seed, 1 - cell.seed):
        A, _ = _standard(X[fold % 2 == half], X[:1])
        model = grid_machine(cell.method, fit_intercept=True).fit(A, y[fold % 2 == half])
        weight = model.coef_[0] ** 2
        shares.append((weight.sum(axis=0), weight.sum(axis=1)))
    agreement = spearmanr(shares[0][0], shares[1][0]).statistic
    drawn = {
        "blocks": (shares[0][0] / shares[0][0].sum()).round(5).tolist(),
        "rows": (shares[0][1] / shares[0][1].sum()).round(5).tolist(),
        "names": names,
    }
    return {"agreement": float(agreement), "curve": json.dumps(drawn)}


# ---- figures ---------------------------------------------------------------------------------------


def figures(rows):
    """Draw the maps of figure 1 and the curves of figure 3."""
    import matplotlib.pyplot as plt

    found = {}
    maps = {
        row["method"]: json.loads(row["curve"])
        for row in rows
        if row["place"] == "figure 1" and row["seed"] == 0 and row.get("curve")
    }
    if maps:
        figure, axes = plt.subplots(2, len(maps), figsize=(4 * len(maps), 6), layout="constrained")
        for (method, drawn), (top, low) in zip(maps.items(), axes.reshape(2, -1).T, strict=True):
            top.imshow(np.reshape(drawn["blocks"], (9, 7)), cmap="Greys")
            top.set(xticks=[], yticks=[])
            top.set_title(f"{method}: blocks of the face", fontsize=9)
            low.barh(drawn["names"], drawn["rows"])
            low.set(xlabel="share of the squared weights")
        found["figure_1"] = figure
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained", sharey=True)
    drawn_any = False
    for ax, kind in zip(axes, ("distances", "with one-shot"), strict=True):
        for method in FACE_METHODS:
            known = [
                (percent, one)
                for percent in PERCENT
                if (one := estimate(rows, "accuracy", data=f"{kind}, {percent} %", method=method))
            ]
            if known:
                drawn_any = True
                ax.errorbar(
                    [percent for percent, _ in known],
                    [one.mean for _, one in known],
                    [one.error or 0 for _, one in known],
                    fmt="o-",
                    markersize=3,
                    capsize=2,
                    label=method,
                )
        ax.set(xscale="log", xlabel="per cent of the training folds", title=kind)
    if drawn_any:
        axes[0].set_ylabel("accuracy, %")
        axes[0].legend(frameon=False, fontsize=7)
        found["figure_3"] = figure
    else:
        plt.close(figure)
    return found
