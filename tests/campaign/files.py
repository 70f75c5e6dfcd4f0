"""Damaged and crafted model files: refused in a sentence and soon, or the very model that was saved."""

import copy
import io
import json
import resource
import tempfile
import time
import warnings
import zipfile
from functools import cache
from pathlib import Path

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import laconism
from campaign.fuzz import require_sentence
from campaign.runner import Failed, within
from laconism.datasets import make_ripley, make_sinc

LONGEST_LOAD_SECONDS = 3
MOST_MEGABYTES = 300
LABELS, VALUES = make_ripley(40, random_state=0), make_sinc(40, random_state=0)


@cache
def saved():
    """Return files of several models, and what they say."""
    models = [
        laconism.RVMClassifier().fit(*LABELS),
        laconism.SparseBayesRegressor(kernel="rbf").fit(*VALUES),
        laconism.LaconicClassifier(max_kernels=5).fit(*LABELS),
        make_pipeline(StandardScaler(), laconism.GridRVMRegressor()).fit(*VALUES),
        laconism.JCFORegressor(max_iter=5),  # without a fit
    ]
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for model in models:
            path = Path(folder) / "model.skops"
            laconism.save(model, path)
            found.append((path.read_bytes(), said_by(model)))
    return found


def said_by(model):
    if not hasattr(model, "n_features_in_"):
        return repr(model)
    X = LABELS[0] if model.n_features_in_ == 2 else VALUES[0]
    return (model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)).tobytes()


def run(seed):
    rng = np.random.default_rng(seed)
    data, said = saved()[rng.integers(len(saved()))]
    name = str(rng.choice(list(DAMAGES) * 5 + list(CRAFTS) * 6 + ["bomb"]))
    with tempfile.TemporaryDirectory() as folder:
        canary = Path(folder) / "canary"
        crafted = CRAFTS | BOMBS
        made = DAMAGES[name](rng, data) if name in DAMAGES else crafted[name](rng, data, canary)
        path = Path(folder) / "model.skops"
        path.write_bytes(made)
        model = loaded(path, name)
        if canary.exists():
            raise Failed("code", f"loading a file ({name}) executes what it names", name)
        if model is not None and name in DAMAGES and said_by(model) != said:
            raise Failed(
                "damage", f"a damaged file ({name}) gives a model that says something else", name
            )


def loaded(path, name):
    """Return the model of a file, or None if it is refused."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    began = time.perf_counter()
    model = None
    with warnings.catch_warnings(), within(LONGEST_LOAD_SECONDS, f"time of loading ({name})"):
        warnings.simplefilter("ignore")
        try:
            model = laconism.load(path)
        except Exception as error:
            require_sentence(error)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024 - before
    if grown > MOST_MEGABYTES:
        seconds = time.perf_counter() - began
        raise Failed("memory", f"loading takes {grown:.0f} MB more, {seconds:.1f} s ({name})", name)
    return model


# ---- damage -------------------------------------------------------------------------------------


def flip(rng, data):
    made = bytearray(data)
    for place in rng.integers(0, len(made), size=rng.integers(1, 9)):
        made[place] ^= int(rng.integers(1, 256))
    return bytes(made)


def flip_at_the_end(rng, data):
    tail = min(len(data), 400)
    return data[:-tail] + flip(rng, data[-tail:])


def cut(rng, data):
    return data[: rng.integers(0, len(data))]


def lose(rng, data):
    start = rng.integers(0, len(data))
    return data[:start] + data[start + rng.integers(1, 300) :]


def gain(rng, data):
    start = rng.integers(0, len(data) + 1)
    return data[:start] + rng.bytes(int(rng.integers(1, 300))) + data[start:]


def noise(rng, data):
    return rng.bytes(int(rng.integers(0, 2000)))


DAMAGES = {each.__name__: each for each in (flip, flip_at_the_end, cut, lose, gain, noise)}


# ---- crafted ------------------------------------------------------------------------------------


def members(data):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def archive(files, compression=zipfile.ZIP_DEFLATED):
    made = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(made, "w", compression) as written:
        warnings.simplefilter("ignore")  # of members with one name
        for name, content in files:
            written.writestr(name or "_", content)  # a member needs a name
    return made.getvalue()


def exchange(rng, data, canary):
    """Members of one file in another, or of random bytes, missing, twice or under another name."""
    files = list(members(data).items())
    k = int(rng.integers(len(files)))
    others = list(members(saved()[rng.integers(len(saved()))][0]).items())
    how = rng.integers(5)
    if how == 0:
        files[k] = files[k][0], others[rng.integers(len(others))][1]
    elif how == 1:
        files[k] = files[k][0], rng.bytes(int(rng.integers(0, 500)))
    elif how == 2:
        del files[k]
    elif how == 3:
        files.append(others[rng.integers(len(others))])
    else:
        files[k] = str(rng.choice(["../../x", "/tmp/x", "schema.json", "", "a" * 3_000])), files[k][1]
    return archive(files)


LEAVES = [
    *(None, -1, 0, 1e308, 2**70, "", "nan", True, [], {}, [[]], "\ud800", "os", "system", "builtins"),
    *(
        "laconism.rvm.estimators",
        "RVMClassifier",
        "numpy",
        "ndarray",
        "../x",
        "0.npy",
        "json",
        "NoneType",
    ),
]


def edit(rng, data, canary):
    """Some places of the description hold something else, or another part of it."""
    files = members(data)
    schema = json.loads(files["schema.json"])
    for _ in range(rng.integers(1, 4)):
        parts = list(places(schema))
        holder, key = parts[rng.integers(len(parts))]
        other, its = parts[rng.integers(len(parts))]
        how = rng.integers(4)
        if how == 0 and isinstance(holder, dict):
            del holder[key]
        elif how == 1:
            holder[key] = copy.deepcopy(other[its])
        else:
            holder[key] = LEAVES[rng.integers(len(LEAVES))]
    files["schema.json"] = json.dumps(schema).encode()
    return archive(files.items())


def places(part):
    """Yield each holder of a description with the key of each of its parts."""
    for key in list(part) if isinstance(part, dict) else range(len(part)):
        yield part, key
        if isinstance(part[key], dict | list):
            yield from places(part[key])


def name_code(rng, data, canary):
    """A part that names a function or a class which writes the canary."""
    files = members(data)
    schema = json.loads(files["schema.json"])
    module, name = [("os", "mkdir"), ("builtins", "exec"), ("pathlib", "Path"), ("os", "system")][
        rng.integers(4)
    ]
    argument = {"exec": f"open({str(canary)!r}, 'w')", "system": f"touch {canary}"}.get(
        name, str(canary)
    )
    loader = ["FunctionNode", "TypeNode", "ObjectNode", "ReduceNode", "PartialNode", "MethodNode"]
    inner = {"__class__": "tuple", "__module__": "builtins", "__loader__": "TupleNode", "__id__": 7}
    inner["content"] = [{"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode"}]
    inner["content"][0] |= {"content": json.dumps(argument), "is_json": True, "__id__": 8}
    made = {"__class__": name, "__module__": module, "__loader__": str(rng.choice(loader)), "__id__": 9}
    made |= {"content": inner, "args": inner, "reduce": inner, "constructor": name}
    parts = [(holder, key) for holder, key in places(schema) if isinstance(holder[key], dict)]
    holder, key = parts[rng.integers(len(parts))]
    holder[key] = made
    files["schema.json"] = json.dumps(schema).encode()
    return archive(files.items())


def bomb(rng, data, canary):
    """Few bytes that become many, deep or without an end; the same few for every seed."""
    return bombs()[rng.integers(len(bombs()))]


@cache
def bombs():
    files = members(saved()[0][0])
    array, schema = (
        next(name for name in files if name.endswith(".npy")),
        json.loads(files["schema.json"]),
    )
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (100000, 1000000), }\n"
    huge = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header
    # Lists of the same lists: two to the power of 25 steps.
    part = {"__class__": "list", "__module__": "builtins", "__loader__": "ListNode", "__id__": 10**6}
    part["content"] = []
    for k in range(1, 26):
        again = {**part, "__loader__": "CachedNode", "content": None}
        part = {**part, "__id__": 10**6 + k, "content": [part, again]}
    schema["content"]["content"]["callbacks"] = part
    changes = [
        {array: files[array] + b"\0" * 300_000_000},
        {"schema.json": files["schema.json"] + b" " * 300_000_000},
        {"schema.json": b"[" * 200_000 + b"]" * 200_000},
        {array: huge},
        {"schema.json": json.dumps(schema).encode()},
        {f"{k}.npy": b"" for k in range(20_000)},
    ]
    return [archive((files | change).items()) for change in changes]


CRAFTS = {each.__name__: each for each in (exchange, edit, name_code)}
# Bombs take seconds: they are one case in fifty.
BOMBS = {"bomb": bomb}
