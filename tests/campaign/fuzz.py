"""Drawn estimators on drawn rows: a sentence or a finite answer, and what must hold of every answer."""

import linecache
import pickle
import re
import tempfile
import time
import traceback
import warnings
from functools import partial
from pathlib import Path

import numpy as np
from scipy.stats import norm
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import laconism
from campaign.draw import draw
from campaign.runner import Failed, within

LONGEST_FIT_SECONDS = 60
LONGEST_SHRINK_SECONDS = 45
MOST_NUMBERS_PRINTED = 80
ORDER_TOLERANCE = 1e-6
# Words of an error that nobody wrote for a person.
TECHNICAL = re.compile(
    r"Traceback|object has no attribute|not subscriptable|broadcast|<class|\bndarray\b"
)


def run(seed):
    """Fit the case of a seed and check everything; a failure is first made small."""
    case = draw(seed)
    try:
        check(case)
    except Failed as failed:
        raise explain(case, failed) from failed


# ---- a sentence ---------------------------------------------------------------------------------


def require_sentence(error):
    """Fail unless somebody wrote this error for a person: a raise statement of ours or a check's."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    seen = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
    if not isinstance(error, ValueError | TypeError):
        raise Failed("error", seen) from error
    line = linecache.getline(last.filename, last.lineno).strip()
    where = f"{Path(last.filename).parent.name}/{Path(last.filename).name}"
    if "sklearn" in last.filename and line.startswith("raise"):
        return
    if "laconism" not in last.filename or not line.startswith("raise"):
        raise Failed("error", f"{seen} (not raised by a check, but at {line!r} of {where})") from error
    text = re.sub(r"it names .*, which", "it names this, which", str(error))  # what a file names
    if not text.endswith((".", "?")) or TECHNICAL.search(text) or "\n" in text:
        raise Failed("sentence", f"{seen} (no sentence for a person)") from error


def answered(law, call, *args, **options):
    """Return what a call returns, or None after a sentence; only convergence may be warned of."""
    with warnings.catch_warnings(record=True) as seen, within(LONGEST_FIT_SECONDS):
        warnings.simplefilter("always")
        try:
            found = call(*args, **options)
        except Failed:
            raise
        except Exception as error:
            require_sentence(error)
            found = None
    wrong = [each for each in seen if not issubclass(each.category, ConvergenceWarning)]
    if wrong:
        each = wrong[0]
        place = f"{Path(each.filename).name}:{each.lineno}"
        raise Failed("warning", f"{each.category.__name__} in {law}: {each.message} ({place})")
    return found


# ---- the laws -----------------------------------------------------------------------------------


def check(case):
    """Fit and check all laws."""
    model = fitted(case)
    if model is None:
        return
    said = say(case, model)
    for law in LAWS:
        law(case, model, said)


def fitted(case):
    model, X = case.model(), case.rows()
    y, weight = case.y.copy(), None if case.weight is None else case.weight.copy()
    before = model.get_params()
    found = answered("fit", model.fit, X, y, **weighed(weight))
    if found is None:
        left = [each for each in vars(model) if each.endswith("_") and not each.startswith("_")]
        if left:
            raise Failed("half a model", f"a refused fit leaves {left}")
        return None
    if not np.array_equal(y, case.y) or (weight is not None and not np.array_equal(weight, case.weight)):
        raise Failed("inputs", "fit changes y or the weights")
    changed = [
        k for k, v in model.get_params().items() if v is not before[k] and repr(v) != repr(before[k])
    ]
    if changed:
        raise Failed("inputs", f"fit changes {changed}")
    return model


def weighed(weight):
    return {} if weight is None else {"sample_weight": weight}


METHODS = {
    True: ("predict", "predict_proba", "predict_log_proba", "decision_function"),
    False: ("predict", "predict_dist", "predict_interval", "log_density"),
}


def say(case, model, X=None):
    """Return what a model says of rows, by the name of the method; None for what it refuses."""
    rows, found = case.rows(X), {}
    for name in METHODS[case.labels]:
        # The training targets, or as many others.
        more = (np.resize(case.y, len(case.X if X is None else X)),) if name == "log_density" else ()
        found[name] = answered(name, getattr(model, name), rows, *more)
    refused = [name for name, answer in found.items() if answer is None]
    if refused and len(refused) < len(found):
        raise Failed("refusal", f"{refused} refuse rows that others answer")
    return None if refused else found


def finite(case, model, said):
    """All that is said is finite, at the rows of the fit, beside them and far away."""
    rng = np.random.default_rng(case.seed)
    precomputed = case.params.get("kernel") == "precomputed"
    places = {"at its own rows": said}
    if not precomputed:
        with np.errstate(all="ignore"):
            places["beside its rows"] = say(
                case, model, case.X * (1 + 0.1 * rng.normal(size=case.X.shape))
            )
            places["far away"] = say(case, model, case.X * 1e6)
            places["at zero"] = say(case, model, np.zeros_like(case.X[:1]))
    for place, answers in places.items():
        for name, answer in (answers or {}).items():
            for part in answer if isinstance(answer, tuple) else (answer,):
                # Nothing else than a certain label has an infinite log probability.
                numbers = np.asarray(part)
                bad = numbers.dtype.kind == "f" and not np.isfinite(numbers).all()
                if bad and not (name == "predict_log_proba" and not np.isnan(numbers).any()):
                    raise Failed("finite", f"{name} {place} has {numbers[~np.isfinite(numbers)][0]}")
        if answers and case.labels:
            probabilities(case, model, answers)
        if answers and not case.labels:
            distributions(case, model, answers)


def probabilities(case, model, said):
    proba, labels = said["predict_proba"], said["predict"]
    if proba.shape != (len(labels), len(model.classes_)):
        raise Failed("shape", f"predict_proba has the shape {proba.shape}")
    if (proba < 0).any() or (proba > 1 + 1e-12).any():
        raise Failed("probabilities", f"they are between {proba.min()} and {proba.max()}")
    off = np.abs(proba.sum(axis=1) - 1).max()
    if off > 1e-9:
        raise Failed("probabilities", f"a row sums to one but for {off:.1e}")
    first, second = np.sort(proba, axis=1)[:, [-1, -2]].T
    clear = first - second > 1e-12
    if (labels != model.classes_[proba.argmax(axis=1)])[clear].any():
        raise Failed("argmax", "predict is not the class of the largest probability")
    with np.errstate(divide="ignore"):
        off = np.abs(np.exp(said["predict_log_proba"]) - proba).max()
    if off > 1e-12:
        raise Failed("log probabilities", f"predict_log_proba is another one by {off:.1e}")
    latent = said["decision_function"]
    if latent.ndim == 1 and ((latent > 0) != (labels == model.classes_[1]))[clear].any():
        raise Failed("decision", "the sign of decision_function is not the label")
    if latent.ndim == 1 and (np.diff(proba[np.argsort(latent), 1]) < -1e-12).any():
        raise Failed("decision", "probabilities do not rise with decision_function")


def distributions(case, model, said):
    (mean, std), (low, high) = said["predict_dist"], said["predict_interval"]
    scale = np.abs(mean).max() + std.max()
    if (std < 0).any() or (low > high).any():
        raise Failed("distribution", "a deviation or an interval is negative")
    if (np.abs((low + high) / 2 - mean) > 1e-9 * scale).any():
        raise Failed("distribution", "the interval is not around the mean")
    gaussian = type(model_inside(model).likelihoods_[0]).__name__ == "Gaussian"
    if gaussian and (np.abs((high - low) / 2 - norm.ppf(0.975) * std) > 1e-6 * scale).any():
        raise Failed("distribution", "the interval of Gaussian noise is not that of its deviation")
    if gaussian and std.min() > 0:
        y = np.resize(case.y, len(mean)).astype(float)
        with np.errstate(all="ignore"):
            expected = norm.logpdf(y, mean, std)
            off = np.abs(said["log_density"] - expected) / (1 + np.abs(expected))
        if np.isfinite(expected).all() and off.max() > 1e-5:
            raise Failed("distribution", f"log_density is not that of predict_dist, by {off.max():.1e}")


def model_inside(model):
    return getattr(model, "best_estimator_", model)


def same(a, b):
    """Whether two lots of answers are the same to the bit."""
    if a is None or b is None:
        return a is b
    for name in a:
        for one, other in zip(np.atleast_1d(a[name]), np.atleast_1d(b[name]), strict=True):
            if not np.array_equal(one, other, equal_nan=np.asarray(one).dtype.kind == "f"):
                return False
    return True


def again(case, model, said):
    """A second fit says the same to the bit, and so does a second fit of the same object."""
    if not same(said, say(case, fitted(case.but(params=clone(model).get_params(deep=False))))):
        raise Failed("determinism", "a clone that is fitted to the same rows says something else")
    if not case.params.get("warm_start"):
        refit = answered("fit", model.fit, case.rows(), case.y, **weighed(case.weight))
        if not same(said, say(case, refit)):
            raise Failed("determinism", "a second fit of the same object says something else")


def files(case, model, said):
    """A pickle and a file of ours say the same to the bit."""
    if not same(said, say(case, pickle.loads(pickle.dumps(model)))):
        raise Failed("pickle", "a pickle says something else")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.skops"
        laconism.save(model, path)
        if not same(said, say(case, laconism.load(path))):
            raise Failed("file", "laconism.load says something else than what was saved")


# ---- the same question in another way -----------------------------------------------------------


def ordinary(case):
    """Whether an answer does not hang on the last digits: scales are ordinary, and nothing rounds."""
    rounds = case.container in ("float32", "csr32", "mixed frame", "float16")
    unfinished = case.params.get("max_iter", 1000) < 1000 if isinstance(case.params, dict) else False
    return case.tame and not rounds and not unfinished and not case.params.get("warm_start")


def same_question(law, transform, case, model, said):
    """The answers of a transformed case are those of the case, to the tolerance."""
    if not ordinary(case) or said is None:
        return
    made = transform(case)
    if made is None:
        return
    other, back = made
    twin = fitted(other)
    if twin is None:
        raise Failed(law, "it is refused where the other is not")
    # Rows of the first case, in the other's columns.
    answers = say(other, twin, back(case.X))
    unit = 1.0 if case.labels else max(float(np.std(case.y.astype(float))), 1e-12)
    for name in ("predict_proba",) if case.labels else ("predict", "predict_dist"):
        for one, two in zip(np.atleast_2d(said[name]), np.atleast_2d(answers[name]), strict=True):
            off = float(np.abs(np.asarray(one) - np.asarray(two)).max()) / unit
            if off > ORDER_TOLERANCE:
                raise Failed(law, f"{name} differs by {off:.1e}")


def other_rows(case):
    if case.params.get("kernel") == "precomputed" or case.params.get("cv") is not None:
        return None
    order = np.random.default_rng(case.seed).permutation(len(case.X))
    weight = None if case.weight is None else case.weight[order]
    return case.but(X=case.X[order], y=case.y[order], weight=weight), lambda X: X


def other_columns(case):
    named = case.params.get("categorical_features") or case.params.get("cv") is not None
    if case.params.get("kernel") == "precomputed" or case.X.shape[1] < 2 or named:
        return None
    order = np.random.default_rng(case.seed).permutation(case.X.shape[1])
    return case.but(X=case.X[:, order]), lambda X: X[:, order]


def repeated_rows(case):
    counted = case.weight is None or (case.weight == np.rint(case.weight)).all()
    searches = "CV" in case.name  # folds are of rows
    if case.params.get("kernel") == "precomputed" or not counted or searches:
        return None
    weight = np.ones(len(case.X)) if case.weight is None else case.weight
    count = weight.astype(int)
    if case.weight is None:  # give some rows a weight of two instead
        return None
    X, y = np.repeat(case.X, count, axis=0), np.repeat(case.y, count)
    return case.but(X=X, y=y, weight=None), lambda rows: rows


LAWS = (
    finite,
    again,
    files,
    partial(same_question, "order of rows", other_rows),
    partial(same_question, "order of columns", other_columns),
    partial(same_question, "repeated rows", repeated_rows),
)


# ---- making a failure small ---------------------------------------------------------------------


def explain(case, failed):
    """Return the failure of a smaller case, with a script that shows it."""
    deadline = time.perf_counter() + LONGEST_SHRINK_SECONDS
    smaller = case
    if failed.law != "time":
        smaller, failed = shrink(case, failed, deadline)
    return Failed(failed.law, failed.seen, str(smaller), script_of(smaller, failed.law))


def shrink(case, failed, deadline):
    """Leave out settings, weights, rows and columns while the same law fails."""
    changed = True
    while changed and time.perf_counter() < deadline:
        changed = False
        for smaller in smaller_cases(case):
            if time.perf_counter() > deadline:
                break
            try:
                check(smaller)
            except Failed as found:
                if found.law == failed.law:
                    case, failed, changed = smaller, found, True
                    break
            except Exception:
                continue
    return case, failed


def smaller_cases(case):
    n, p = case.X.shape
    for name in case.params:
        yield case.but(params={k: v for k, v in case.params.items() if k != name})
    if case.container != "float64":
        yield case.but(container="float64")
    if case.weight is not None:
        yield case.but(weight=None)
    if case.params.get("kernel") == "precomputed":
        return
    for share in (2, 4, 8, 16):
        if n >= share:
            for k in range(share):
                kept = np.arange(n) % share != k if share > 2 else np.arange(n) % 2 == k
                weight = None if case.weight is None else case.weight[kept]
                yield case.but(X=case.X[kept], y=case.y[kept], weight=weight)
    for k in range(p if 1 < p < 10 else 0):
        yield case.but(X=np.delete(case.X, k, axis=1))
    for digits in (2, 4):
        rounded = np.array([[float(f"%.{digits}g" % x) for x in row] for row in case.X])
        if not np.array_equal(rounded, case.X):
            yield case.but(X=rounded)


def script_of(case, law):
    """Return a script that stands alone if the rows are few."""
    if case.X.size > MOST_NUMBERS_PRINTED:
        return f'from campaign import case\ncase("fuzz", seed={case.seed})'
    settings = repr(case.params)
    names = sorted(set(re.findall(r"(\w+)\(", settings)) - {"array"})
    priors = [f"from laconism.priors import {', '.join(names)}"] if names else []
    weight = None if case.weight is None else f"np.array({case.weight.tolist()})"
    y = f"np.array({case.y.tolist()}, dtype={str(case.y.dtype)!r})"
    lines = [
        "import numpy as np",
        "from campaign.draw import Case",
        "from campaign.fuzz import check",
        *priors,
        f"X = np.array({case.X.tolist()})",
        f"y, weight = {y}, {weight}",
        f"kind = {case.container!r}, {case.tame}",
        f"case = Case({case.seed}, {case.name!r}, {settings}, X, y, weight, *kind)",
        f"check(case)  # {law} of {case.name}(**case.params).fit(X, y, sample_weight=weight)",
    ]
    return "\n".join(lines)
