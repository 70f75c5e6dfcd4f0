"""What is recorded of a fitted model, where it is kept, and how two records are compared."""

import json
from pathlib import Path

import numpy as np
from scipy.sparse import issparse

FILE = Path(__file__).with_name("golden.json")
DIGITS = 12
TOLERANCE = 1e-7  # relative, and absolute in units of the largest number of an array
MOST = 60  # numbers of an array that are kept; of a longer one, those at even steps

# Recorded name: public attribute. Numbers of these are compared to the tolerance.
NAMES = {
    "intercept": "intercept_",
    "dual_coef": "dual_coef_",
    "coef": "coef_",
    "noise_variance": "noise_variance_",
    "gamma": "gamma_",
    "tolerance": "tolerance_",
    "coupling": "coupling_",
    "feature_scales": "feature_scales_",
    "objective": "objective_",
    "variance_factor": "variance_factor_",
    "best_score": "best_score_",
    "mode_relevance": "mode_relevance_",
    "mode_precision": "mode_precision_",
}
# These are compared exactly.
EXACT_NAMES = {
    "relevance": "relevance_",
    "n_relevant": "n_relevant_",
    "best_params": "best_params_",
    "best_index": "best_index_",
    "grid_shape": "grid_shape_",
}


def reference_numbers(model):
    """Return what dense references say, of the flagships only."""
    found = {}
    for k, reference in enumerate(getattr(model, "reference_", [])):
        found[f"reference{k}.left_out_mean"] = reference.left_out_m[:12]
        found[f"reference{k}.left_out_variance"] = reference.left_out_v[:12]
        found[f"reference{k}.mean"] = reference.m[:12]
        found[f"reference{k}.variance"] = reference.v[:12]
        found[f"reference{k}.stretch"] = reference.mean_scale
    return found


def reference_at(model, X, y, new):
    """Return the latent of the dense reference at new rows."""
    mean, variance = model.reference_[0].latent(new)
    return {"reference0.latent_mean": mean, "reference0.latent_variance": variance}


def squashes(model, X, y, new):
    """Return whether features are squashed."""
    return {"squashes": model.kernel_.spread is not None}


def kind_of_kernel(model, X, y, new):
    """Return which kernel was taken."""
    return {"kernel": type(getattr(model.kernel_, "kernel", model.kernel_)).__name__}


def kind_of_noise(model, X, y, new):
    """Return which noise was taken."""
    return {"noise": type(model.likelihoods_[0]).__name__}


def path_numbers(model):
    """Return what models up to the size of this one lose, of the flagships only.

    Of larger ones rounding may say which kernel is next.
    """
    if not hasattr(model, "path_"):
        return {}, {}
    path = [point for point in model.path_ if point.kernels <= model.n_relevant_]
    sizes = [[point.kernels, point.output] for point in path]
    return {"path.nats": [point.nats for point in path]}, {"path.sizes": sizes[-10:]}


def search_numbers(model):
    """Return the scores of all candidates, of searches only."""
    if not hasattr(model, "cv_results_"):
        return {}
    return {"mean_test_score": model.cv_results_["mean_test_score"]}


def support(model):
    """Return the features in use, of models that select them."""
    if not hasattr(model, "get_support"):
        return {}
    try:
        return {"support": model.get_support(indices=True)}
    except (AttributeError, ValueError):
        return {}


def predictions(model, X, y):
    """Return everything that a model says of rows."""
    found, exact = {}, {}
    said = model.predict(X)
    if hasattr(model, "classes_"):
        exact["predict"] = said
        found["predict_proba"] = model.predict_proba(X)
        found["decision_function"] = model.decision_function(X)
    else:
        found["predict"] = said
        found["predict_dist.mean"], found["predict_dist.std"] = model.predict_dist(X)
        found["predict_interval.low"], found["predict_interval.high"] = model.predict_interval(X)
        found["log_density"] = model.log_density(X, y)
    return found, exact


def record(model, X, y):
    """Return what is known of a fitted model and of these rows, by "exact" and "near"."""
    near, exact = predictions(model, X, y)
    chosen = getattr(model, "best_estimator_", model)  # of a search
    for names, kind in ((NAMES, near), (EXACT_NAMES, exact)):
        for name, attribute in names.items():
            for each in (model, chosen):
                if name not in kind and hasattr(each, attribute):
                    kind[name] = getattr(each, attribute)
    exact["converged"] = bool(chosen.status_.converged)
    nats, sizes = path_numbers(model)
    near |= reference_numbers(model) | nats | search_numbers(model)
    exact |= sizes | support(model)
    return {
        "exact": {name: plain(value) for name, value in exact.items()},
        "near": {name: flat(value) for name, value in near.items()},
    }


def flat(value):
    """Return numbers in one row: zeros of weights by their places, and not too many."""
    if isinstance(value, list | tuple) and any(np.ndim(part) for part in value):
        return [number for part in value for number in flat(part)]
    if issparse(value):
        value = value.toarray()
    numbers = np.asarray(value, dtype=float).ravel()
    if numbers.size > MOST and 2 * np.count_nonzero(numbers) < numbers.size:
        places = np.flatnonzero(numbers)
        numbers = np.concatenate([[numbers.size, places.size], places, numbers[places]])
    if numbers.size > MOST:
        numbers = numbers[np.linspace(0, numbers.size - 1, MOST).astype(int)]
    return [float(f"%.{DIGITS}g" % number) for number in numbers]


def plain(value):
    """Return a value as JSON has it."""
    if isinstance(value, dict):
        return {str(key): plain(part) for key, part in sorted(value.items())}
    if isinstance(value, np.ndarray | list | tuple):
        return [plain(part) for part in value]
    if isinstance(value, np.generic):
        value = value.item()
    return float(f"%.{DIGITS}g" % value) if isinstance(value, float) else value


def apart(stored, now):
    """Return the largest relative difference of two rows of numbers; infinite if they do not compare."""
    a, b = np.asarray(stored, dtype=float), np.asarray(now, dtype=float)
    if a.shape != b.shape:
        return np.inf
    finite = np.isfinite(a)
    if not np.array_equal(a[~finite], b[~finite], equal_nan=True) or not np.isfinite(b[finite]).all():
        return np.inf
    a, b = a[finite], b[finite]
    if a.size == 0:
        return 0.0
    floor = max(float(np.abs(a).max()), 1e-300)
    return float((np.abs(a - b) / (floor + np.abs(a))).max())


def differences(stored, now, tolerance=TOLERANCE):
    """Return a sentence for each quantity that is not the same."""
    found = [
        f"{name}: {'missing' if name in stored[kind] else 'not recorded'}"
        for kind in ("exact", "near")
        for name in stored[kind].keys() ^ now[kind].keys()
    ]
    found += [
        f"{name}: {stored['exact'][name]} has become {now['exact'][name]}"
        for name in stored["exact"].keys() & now["exact"].keys()
        if stored["exact"][name] != now["exact"][name]
    ]
    for name in stored["near"].keys() & now["near"].keys():
        by = apart(stored["near"][name], now["near"][name])
        if not by <= tolerance:
            shapes = f" ({len(stored['near'][name])} numbers, {len(now['near'][name])} now)"
            found.append(f"{name}: largest relative difference {by:.1e}{shapes if np.isinf(by) else ''}")
    return sorted(found)


def compare(stored, now):
    """Fail with the names of all quantities that are not the same."""
    found = differences(stored, now)
    assert not found, "; ".join(found)


def read():
    """Return all entries."""
    return json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}


def write(entries):
    """Write all entries, one quantity a line."""
    lines = []
    for name in sorted(entries):
        kinds = []
        for kind in ("exact", "near"):
            rows = [f"{json.dumps(k)}: {json.dumps(v)}" for k, v in sorted(entries[name][kind].items())]
            kinds.append(f'"{kind}": {{\n' + ",\n".join(rows) + "}")
        lines.append(f"{json.dumps(name)}: {{" + ",\n".join(kinds) + "}")
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
