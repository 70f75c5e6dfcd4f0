"""Kernels and features together: figure 1, XOR, ring, moons among noise, EM, many rows, many columns."""

import numpy as np
from sklearn.datasets import make_moons
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from laconism import JCFOClassifier
from laconism.datasets import load_breast_cancer, load_crabs, load_pima, load_ripley
from laconism.jcfo.em import expectation_maximisation
from laconism.jcfo.variable_projection import variable_projection

from ._harness import Bar, Cell, difference, ratio
from ._rivals import scores

METRICS = ("error", "log_loss", "features", "exact", "found", "objective", "residual")

FIGURE = (2, 10, 50, 100, 200)
MOONS = {"moons of 20": (200, 20), "moons of 50": (400, 50)}
SHAPES = ("xor", "ring")
SETS = ("ripley", "pima", "wbc", "crabs", "figure 1")
BIG = {"tall": (20_000, 50), "wide": (200, 10_000)}
TEST, DRAWS, SEEDS, EM_STEPS = 2000, 20, 10, 2000


# ---- problems ------------------------------------------------------------------------------------


def two_classes(n, p, rng):
    """Figure 1 of the paper: two Gaussians whose means differ in two features."""
    X, y = rng.normal(size=(n, p)), np.arange(n) % 2
    X[:, :2] += np.where(y == 1, 1, -1)[:, None] / np.sqrt(2)
    return X, y


def shape(case, n, p, rng):
    X = rng.normal(size=(n, p))
    if case == "xor":
        return X, X[:, 0] * X[:, 1] > 0
    return X, X[:, 0] ** 2 + X[:, 1] ** 2 > 2 * np.log(2)


def moons(n, p, seed):
    X, y = make_moons(n, noise=0.25, random_state=seed)
    noise = np.random.default_rng(seed).normal(size=(n, p - 2))
    return np.hstack([X, noise]), y


def five(case, n, p, rng):
    """Five features matter: in a curved way where there are many rows, in a straight one otherwise."""
    X = rng.normal(size=(n, p))
    bent = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + X[:, 3] ** 2 - 1 + X[:, 4]
    straight = X[:, :5] @ np.array([1.0, -1.0, 1.0, -1.0, 1.0])
    return X, (bent if case == "tall" else 2 * straight) + 0.5 * rng.normal(size=n) > 0


def real(case):
    if case == "figure 1":
        return two_classes(200, 50, np.random.default_rng(0))
    loaders = {"ripley": load_ripley, "pima": load_pima, "crabs": load_crabs, "wbc": load_breast_cancer}
    data = loaders[case]()
    rows = data.get("train_idx", np.arange(len(data.target)))[:300]
    return np.asarray(data.data, dtype=float)[rows], data.target[rows]


# ---- methods -------------------------------------------------------------------------------------


def process(p):
    return GaussianProcessClassifier(ConstantKernel(1.0) * RBF(np.full(p, np.sqrt(p))), random_state=0)


def selecting(kernel="rbf", **settings):
    return JCFOClassifier(kernel, selection_rate="auto", **settings)


def cells(quick):
    few = 1 if quick else DRAWS
    found = []
    for p in FIGURE[:2] if quick else FIGURE:
        found += [Cell("figure 1", name, 200, p, tuple(range(few))) for name in ("laconism", "SVC")]
    for case in SHAPES:
        found += [Cell(case, name, 400, 100, tuple(range(few))) for name in ("laconism", "SVC")]
    for case, (n, p) in list(MOONS.items())[: 1 if quick else None]:
        seeds = tuple(range(1 if quick else SEEDS))
        found += [Cell(case, "laconism", n, p, seeds)]
        found += [Cell(case, "GP", n, p, (seed,), limit=3600.0) for seed in seeds]
    for case in SETS[:1] if quick else SETS:
        steps = {"steps": 20 if quick else EM_STEPS}
        found += [Cell(f"EM {case}", name, 0, 0, options=steps) for name in ("varpro", "em")]
    for case, (n, p) in () if quick else BIG.items():
        found += [Cell(case, "laconism", n, p, tuple(range(1 if case == "tall" else 5)))]
    return found


def run(cell, watch):
    if cell.case.startswith("EM "):
        yield from run_em(cell, watch)
        return
    watch.repeats = 1
    for seed in cell.seeds:
        X, y, X_test, y_test = problem(cell, seed)
        model, row = watch(lambda X=X, y=y: method(cell).fit(X, y))
        told = {}
        if hasattr(model, "get_support"):
            kept = model.get_support(indices=True)
            relevant = 5 if cell.case in BIG else 2
            told = {"features": kept.size, "exact": float(np.array_equal(kept, np.arange(relevant)))}
            told["found"] = float(set(range(relevant)) <= set(kept))
        yield {"seed": seed, **row, **scores(model, X_test, y_test), **told}


def problem(cell, seed):
    rng, test = np.random.default_rng(seed), 1000 if cell.case == "figure 1" else TEST
    if cell.case == "figure 1":
        X, y = two_classes(cell.n + test, cell.p, rng)
    elif cell.case in MOONS:
        X, y = moons(cell.n + test, cell.p, seed)
    elif cell.case in BIG:
        X, y = five(cell.case, cell.n + test, cell.p, rng)
    else:
        X, y = shape(cell.case, cell.n + test, cell.p, rng)
    frame = StandardScaler().fit(X[: cell.n])
    X = frame.transform(X)
    return X[: cell.n], y[: cell.n], X[cell.n :], y[cell.n :]


def method(cell):
    if cell.method == "SVC":
        return SVC(kernel="linear" if cell.case == "figure 1" else "rbf")
    if cell.method == "GP":
        return process(cell.p)
    if cell.case == "wide":
        return selecting("linear", screening="auto")
    return selecting("linear" if cell.case == "figure 1" else "rbf")


def run_em(cell, watch):
    """The same problem from the same start: objective and CPU time."""
    X, y = real(cell.case.removeprefix("EM "))
    model = JCFOClassifier("linear" if cell.case == "EM figure 1" else "rbf", penalize_intercept=True)
    problem = model._prepare(model._fit_data(X, y, None)).problems[0]
    p = problem.X.shape[1]
    watch.repeats = 1

    def solve():
        if cell.method == "em":
            steps = cell.options["steps"]
            return expectation_maximisation(problem, np.full(p, 1 / p), max_iter=steps, tol=1e-12)
        return variable_projection(problem, np.full(p, 1 / p), max_iter=1000, tol=1e-6)

    found, row = watch(solve)
    told = {"features": int(np.count_nonzero(found.theta)), "residual": found.violation}
    yield {"seed": 0, **row, "objective": found.value, **told}


def bars(rows):
    return [*bars_figure(rows), *bars_gp(rows), *bars_em(rows), *bars_big(rows)]


def bars_figure(rows):
    mine = {"case": "figure 1", "method": "laconism"}
    found = []
    for p in FIGURE:
        at = {**mine, "p": p}
        svm = rows.mean("error", case="figure 1", method="SVC", p=p)
        found.append(Bar(f"figure 1, p = {p}: error / SVC's", ratio(rows.mean("error", **at), svm)))
    found.append(Bar("figure 1, p = 100: mean error", rows.mean("error", **mine, p=100), "<=", 0.17))
    exact = rows.mean("exact", **mine, p=100)
    found.append(Bar("figure 1, p = 100: exactly the two, part of the draws", exact, ">=", 0.8))
    for case in SHAPES:
        exact = rows.mean("exact", case=case, method="laconism")
        found.append(Bar(f"{case}: exactly the two, part of the draws", exact, ">=", 0.9))
        errors = [rows.mean("error", case=case, method=name) for name in ("laconism", "SVC")]
        found.append(Bar(f"{case}: error / SVC's", ratio(*errors)))
    return found


def bars_gp(rows):
    found = []
    for case in MOONS:
        error = rows.paired("error", "laconism", "GP", case=case)
        loss = rows.paired("log_loss", "laconism", "GP", case=case)
        time = rows.paired("cpu_seconds", "GP", "laconism", case=case)
        found.append(Bar(f"{case}: error / the Gaussian process's", ratio(*error), "<=", 1))
        found.append(Bar(f"{case}: log-loss above it", difference(*loss), "<=", 0.02))
        least = 10 if case.endswith("50") else None
        found.append(Bar(f"{case}: times faster", ratio(*time), ">=", least, "x"))
        exact = rows.mean("exact", case=case, method="laconism")
        found.append(Bar(f"{case}: only the two kept, part of the draws", exact, ">=", 1))
    return found


def bars_em(rows):
    found = []
    for case in SETS:
        value = [rows.mean("objective", case=f"EM {case}", method=name) for name in ("varpro", "em")]
        time = [rows.mean("cpu_seconds", case=f"EM {case}", method=name) for name in ("varpro", "em")]
        found.append(Bar(f"{case}: objective above EM's", difference(*value), "<=", 0.0))
        found.append(Bar(f"{case}: part of EM's CPU time", ratio(*time), "<=", 0.1))
        residual = rows.mean("residual", case=f"EM {case}", method="varpro")
        found.append(Bar(f"{case}: optimality, in units of the rates", residual, "<=", 1e-6))
    return found


def bars_big(rows):
    found = []
    for case, (n, p) in BIG.items():
        where, what = {"case": case, "method": "laconism"}, f"n = {n:,}, p = {p:,}"
        peak = rows.mean("peak_mib", **where)
        found.append(Bar(f"{what}: peak memory", ratio(peak, 1024), "<=", 4, " GiB"))
        found.append(
            Bar(f"{what}: the five found, part of the draws", rows.mean("found", **where), ">=", 1)
        )
        found.append(Bar(f"{what}: features kept", rows.mean("features", **where)))
        found.append(Bar(f"{what}: CPU time", rows.mean("cpu_seconds", **where), unit=" s"))
    return found
