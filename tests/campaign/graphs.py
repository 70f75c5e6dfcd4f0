"""ONNX graphs beside their models, at ordinary and at extreme rows."""

import warnings

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import RobustScaler, StandardScaler

import laconism
from campaign.draw import ESTIMATORS
from campaign.fuzz import require_sentence
from campaign.runner import Failed

KERNELS = [None, "rbf", "matern", "linear", "poly", "additive"]
TOLERANCE = {"float64": 1e-6, "float32": 1e-3}


def run(seed):
    rng = np.random.default_rng(seed)
    names = [name for name in ESTIMATORS if not name.endswith("CV")]
    name, dtype = str(rng.choice(names)), str(rng.choice(["float64", "float32"]))
    params = {"kernel": KERNELS[rng.integers(len(KERNELS))]} if rng.random() < 0.6 else {}
    if "Grid" in name:
        params = {}
    if "JCFO" in name and params:
        params = {"kernel": str(rng.choice(["rbf", "poly", "linear"]))}
    n, p = int(rng.integers(20, 50)), int(rng.integers(1, 6))
    X = rng.normal(size=(n, p)) * 10.0 ** rng.choice([0, 0, 0, -3, 3, 6], size=p) + rng.choice(
        [0.0, 10.0]
    )
    f = X / np.abs(X).max(axis=0) @ rng.normal(size=p)
    classifies = "Classifier" in name
    cuts = np.quantile(f, [0.5] if rng.random() < 0.6 else [0.3, 0.7])
    y = np.searchsorted(cuts, f + 0.1 * rng.normal(size=n)) if classifies else 3 * f + rng.normal(size=n)
    model, around = ESTIMATORS[name](**params), str(rng.choice(["nothing", "scaler", "robust"]))
    if around != "nothing":
        model = make_pipeline(StandardScaler() if around == "scaler" else RobustScaler(), model)
    about = f"{name}({params}) in {around}, {dtype}, {n} x {p}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model.fit(X, y)
        except ValueError as error:
            require_sentence(error)
            return
        session = started(laconism.to_onnx(model, dtype=dtype), about)
        for power in (
            0,
            0,
            rng.uniform(1, 8),
            rng.uniform(8, 20),
            rng.uniform(20, 150),
            -rng.uniform(1, 300),
        ):
            rows = rows_at(rng, X, power, dtype)
            compare(model, session, rows, dtype, classifies, f"{about}, rows times 1e{power:.0f}")


def rows_at(rng, X, power, dtype):
    """Return rows near the training rows, some entries of which are multiplied by a power of ten."""
    with np.errstate(all="ignore"):
        rows = X[rng.integers(len(X), size=12)] * (1 + 0.1 * rng.normal(size=(12, X.shape[1])))
        rows = np.where(rng.random(rows.shape) < 0.7, rows * 10.0**power, rows)
        largest = np.finfo(dtype).max
        return np.clip(rows, -largest, largest).astype(dtype)


def started(graph, about):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 3
    try:
        return onnxruntime.InferenceSession(graph.SerializeToString(), options)
    except Exception as error:
        raise Failed("graph", f"the runtime refuses it: {error}", about) from error


def compare(model, session, rows, dtype, classifies, about):
    """The graph's answers are those of the model in double, wherever the model answers."""
    names = [each.name for each in session.get_outputs()]
    said = dict(zip(names, session.run(None, {"X": rows}), strict=True))
    try:
        X = rows.astype(float)
        expected = model.predict_proba(X) if classifies else model.predict(X)
    except ValueError:
        return  # too large for the model
    found, tolerance = said["probabilities" if classifies else "mean"], TOLERANCE[dtype]
    seen = f"{dtype} says {'probabilities' if classifies else 'means'}"
    with np.errstate(all="ignore"):
        representable = np.abs(expected) <= np.finfo(dtype).max / 10
        unit = 1.0 if classifies else np.abs(expected) + noise_of(model)
        off = np.where(representable, np.abs(found - expected) / unit, 0.0)
    if not np.isfinite(off).all():
        row = int(np.argwhere(~np.isfinite(off))[0][0])
        raise Failed("not finite", f"{seen} {found[row]} where Python says {expected[row]}", about)
    if off.max() > tolerance:
        row = int(np.argwhere(off == off.max())[0][0])
        raise Failed("graph", f"{seen} {found[row]} where Python says {expected[row]}", about)
    if classifies:
        first, second = np.sort(expected, axis=1)[:, [-1, -2]].T
        clear = first - second > 2 * tolerance
        if (said["label"] != model.predict(X))[clear].any():
            raise Failed("label", f"{dtype} says another label", about)


def noise_of(model):
    last = model[-1] if hasattr(model, "steps") else model
    return float(np.sqrt(last.noise_variance_))
