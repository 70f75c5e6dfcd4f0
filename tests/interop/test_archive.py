"""Files that take more than they say, or than a reader allows, are refused before they are unpacked."""

import io
import json
import os
import struct
import tracemalloc
import warnings
import zipfile
from collections import Counter

import numpy as np
import pytest
from scipy.sparse import csr_matrix, save_npz
from sklearn.ensemble import VotingClassifier
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import laconism
from laconism import JCFOClassifier, SparseBayesClassifier
from laconism.cli.console import UserError
from laconism.datasets import make_ripley
from laconism.interop._archive import Archive
from laconism.kernels import RBF

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

X, Y = make_ripley(60, random_state=0)
MUCH = 2**25  # bytes that a crafted file unpacks to
LITTLE = 2**20  # bytes that its reader allows
DAMAGED = "is damaged and was not loaded|is not a model that laconism.save has written"


@pytest.fixture
def good(tmp_path):
    path = tmp_path / "good.skops"
    laconism.save(SparseBayesClassifier(kernel="rbf").fit(csr_matrix(X), Y), path)
    return path


def members(path):
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name) for name in file.namelist()}


def write(path, content):
    with warnings.catch_warnings(), zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        warnings.simplefilter("ignore")  # two members of one name
        for name, data in content.items() if isinstance(content, dict) else content:
            file.writestr(name, data)
    return path


def planted(path, node, **more):
    """Write a copy of a model whose width is what a node describes."""
    content = members(path) | more
    schema = json.loads(content["schema.json"])
    schema["content"]["content"]["gamma"] = node
    return write(path.with_name("bad"), content | {"schema.json": json.dumps(schema)})


def node(kind, name, content=None, **more):
    module, name = name.rsplit(".", 1)
    return {"__class__": name, "__module__": module, "__loader__": kind, "content": content} | more


def say(value):
    return node("JsonNode", "builtins.str", json.dumps(value))


def several(*parts, kind="List", **more):
    return node(f"{kind}Node", f"builtins.{kind.lower()}", list(parts), **more)


def refused(path, match, **settings):
    """The file is refused with one sentence, and little memory is used."""
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=match) as caught:
            laconism.load(path, **settings)
        assert tracemalloc.get_traced_memory()[1] < MUCH / 4
    finally:
        tracemalloc.stop()
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(str(path))


def npy(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def header(text, rest=b"", version=1):
    length = struct.pack("<H" if version == 1 else "<I", len(text))
    return b"\x93NUMPY" + bytes([version, 0]) + length + text.encode() + rest


def array(file="planted.npy", name="numpy.ndarray", **more):
    return node("NdArrayNode", name, type="numpy", file=file, **{"__id__": 99} | more)


def npz(**arrays):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in arrays.items():
            file.writestr(f"{name}.npy", npy(content))
    return buffer.getvalue()


# ---- too large ----------------------------------------------------------------------------------


def zeros(good):
    return planted(good, array(), **{"planted.npy": npy(np.zeros(MUCH // 8))})


def padded(good):
    content = members(good)
    content["schema.json"] += b" " * MUCH
    return write(good.with_name("bad"), content)


def long_label(good):
    return write(good.with_name("bad"), members(good) | {"laconism.json": b" " * MUCH})


def many_values(good):
    return planted(good, [[]] * 100_000)


def many_members(good):
    return planted(good, say(1), **{f"{k}.npy": b"" for k in range(2000)})


def archive_within(good):
    bomb = npz(data=np.zeros(MUCH // 8), format=np.array(b"csr"))
    return planted(
        good, array("planted.npz") | {"__loader__": "SparseMatrixNode"}, **{"planted.npz": bomb}
    )


def huge(good):
    path = good.with_name("bad")
    path.write_bytes(good.read_bytes())
    os.truncate(path, 2**36)  # no block of it is written
    return path


@pytest.mark.parametrize(
    "make", [zeros, padded, many_values, many_members, archive_within, huge, long_label]
)
def test_a_file_that_takes_too_much_is_refused_before_it_is_unpacked(good, make):
    sentence = (
        r" was not loaded: it takes [\d,]+ bytes or more once unpacked, and max_bytes=1,048,576; if"
    )
    refused(make(good), sentence, max_bytes=LITTLE)


def test_what_a_file_declares_is_refused_by_default(good):
    path = zeros(good)
    data = path.read_bytes().replace(struct.pack("<I", MUCH + 128), struct.pack("<I", 1_500_000_000))
    path.write_bytes(data)
    refused(path, r"it takes 1,500,\d\d\d,\d\d\d bytes or more once unpacked, and max_bytes=536,870,912")


@pytest.mark.parametrize("name", ["planted.npy", "schema.json"])
@pytest.mark.parametrize("said", [100, 1_000_000])
def test_a_member_that_unpacks_to_more_than_it_says(good, name, said):
    path = zeros(good) if name == "planted.npy" else padded(good)
    with zipfile.ZipFile(path) as file:
        real = file.getinfo(name).file_size
    path.write_bytes(path.read_bytes().replace(struct.pack("<I", real), struct.pack("<I", said)))
    refused(path, DAMAGED, max_bytes=16 * LITTLE)


@pytest.mark.skipif(os.name == "nt", reason="there is no such device")
def test_a_device_without_end(good):
    refused("/dev/zero", "is not a model that")


def test_other_compressions_and_two_members_of_one_name(good):
    content = members(good)
    path = good.with_name("bad")
    for kind in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        with zipfile.ZipFile(path, "w", kind) as file:
            for name, data in content.items():
                file.writestr(name, data)
        refused(path, DAMAGED)
    for name in content:
        refused(write(path, [*content.items(), (name, content[name])]), DAMAGED)


def test_what_save_says_is_what_load_needs(tmp_path, good, monkeypatch):
    model = laconism.load(good)
    monkeypatch.setattr(Archive, "max_bytes", 10_000)
    with pytest.warns(UserWarning, match=r"^The file takes [\d,]+ bytes once unpacked: load") as said:
        laconism.save(model, tmp_path / "m")
    needed = int(str(said[0].message).rsplit("=", 1)[1].rstrip(")."))
    np.testing.assert_array_equal(
        laconism.load(tmp_path / "m", max_bytes=needed).predict(X), model.predict(X)
    )
    refused(tmp_path / "m", f"max_bytes={needed - 1:,}; if you know", max_bytes=needed - 1)
    for wrong in (0, -1, 1.5, "1", None):
        with pytest.raises(ValueError, match=r"^max_bytes must be a whole number above zero, got"):
            laconism.load(good, max_bytes=wrong)


def test_the_command_says_the_same(good):
    predict = pytest.importorskip("laconism.cli.predict", reason="the command line needs its packages")
    path = zeros(good)
    data = path.read_bytes().replace(struct.pack("<I", MUCH + 128), struct.pack("<I", 1_500_000_000))
    path.write_bytes(data)
    with pytest.raises(UserError, match=r"bytes or more once unpacked, and max_bytes=536,870,912; if"):
        predict.load_pipeline(str(path))


# ---- more steps than values ---------------------------------------------------------------------


def chain(reference, n=14):
    """Lists of two, each of which holds the next one and a reference to it."""
    inner = several(say(0), __id__=1000)
    for number in range(1001, 1000 + n):
        inner = several(inner, reference(inner), __id__=number)
    return inner


REFERENCES = {
    "bare": lambda part: {"__id__": part["__id__"]},
    "cached": lambda part: node("CachedNode", "builtins.list", __id__=part["__id__"]),
    "shorter": lambda part: part | {"content": []},
    "other": lambda part: several(say(1), say(1), __id__=part["__id__"]),
}


@pytest.fixture
def visits(monkeypatch):
    from skops.io import _audit

    count, visit = Counter(), _audit.Node.get_unsafe_set

    def counted(self):
        count["visits"] += 1
        return visit(self)

    monkeypatch.setattr(_audit.Node, "get_unsafe_set", counted)
    return count


@pytest.mark.parametrize("reference", REFERENCES)
def test_references_are_not_followed(good, visits, reference):
    refused(planted(good, chain(REFERENCES[reference])), "is damaged|it names builtins.list")
    table = chain(REFERENCES[reference])["content"]
    shape = several(say(2), say(2), kind="Tuple")
    path = planted(good, node("NdArrayNode", "numpy.ndarray", table, type="json", shape=shape))
    refused(path, "is damaged|it names builtins.list")
    assert visits["visits"] < 2000


def test_a_part_within_itself(good):
    refused(planted(good, several(several({"__id__": 7}, __id__=8), __id__=7)), "is damaged")


def test_an_array_is_read_once(good):
    many = [array(__id__=number) for number in range(1, 100)]
    refused(planted(good, several(*many), **{"planted.npy": npy(np.zeros(10**4))}), "is damaged")
    many = [array(__id__=0)] * 99
    refused(planted(good, several(*many), **{"planted.npy": npy(np.zeros(10**4))}), "is damaged")


def test_depth_and_long_numbers(good):
    for n, match in ((10, "cannot|."), (300, "is damaged"), (100_000, "is damaged")):
        deep = "[" * n + "]" * n
        content = members(good)
        schema = json.loads(content["schema.json"])
        schema["unread"] = "HERE"
        text = json.dumps(schema).replace('"HERE"', deep)
        path = write(good.with_name("bad"), content | {"schema.json": text})
        if n == 10:
            laconism.load(path)
        elif n > 500:
            refused(path, match)
        refused(planted(good, node("JsonNode", "builtins.str", deep)), "is damaged")
    refused(planted(good, node("JsonNode", "builtins.str", "9" * 10**5)), "is damaged")


def test_brackets_in_names_are_no_depth(tmp_path):
    pd = pytest.importorskip("pandas")
    names = ["[" * 1000 + '\\"', '{"' * 1000 + "\\"]
    model = SparseBayesClassifier().fit(pd.DataFrame(X, columns=names), Y)
    laconism.save(model, tmp_path / "m")
    assert list(laconism.load(tmp_path / "m").feature_names_in_) == names


# ---- arrays that say more than they hold, and numbers that say how much to make -------------------

HEAD = "{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}\n"
HEADERS = {
    "a giant": header(HEAD.format("<f8", (10**12,)), bytes(80)),
    "a giant of nothing": header(HEAD.format("<U0", (10**12,))),
    "a giant product": header(HEAD.format("<f8", (10**6, 10**6)), bytes(80)),
    "more than 64 bits": header(HEAD.format("<f8", (2**32, 2**32)), bytes(80)),
    "below zero": header(HEAD.format("<f8", (-2, -5)), bytes(80)),
    "too short": header(HEAD.format("<f8", (10,)), bytes(79)),
    "too long": header(HEAD.format("<f8", (10,)), bytes(81)),
    "objects": header(HEAD.format("|O", (10,)), bytes(80)),
    "a wide type": header(HEAD.format("<U1000000000", (1,)), bytes(80)),
    "a long header": b"\x93NUMPY\x02\x00" + struct.pack("<I", 2**32 - 1) + b" " * 100,
    "a deep header": header("(" * 9000 + ")" * 9000, version=2),
    "an archive": npz(data=np.zeros(3)),
    "nothing": b"",
}


@pytest.mark.parametrize("lie", HEADERS)
def test_arrays_that_are_not_what_they_say(good, lie):
    refused(planted(good, array(), **{"planted.npy": HEADERS[lie]}), "is damaged")


def test_versions_of_the_format_of_arrays(good):
    text = HEAD.format("<f8", (10,))
    for version in (1, 2, 3):
        data = header(text, np.arange(10.0).tobytes(), version)
        model = laconism.load(planted(good, array(), **{"planted.npy": data}))
        assert model.gamma[-1] == 9.0


def sparse(rows, columns, indices, indptr, kind=b"csr"):
    return npz(
        data=np.ones(len(indices)), indices=np.array(indices), indptr=np.array(indptr),
        shape=np.array([rows, columns]), format=np.array(kind),
    )  # fmt: skip


@pytest.mark.parametrize(
    "matrix",
    [
        sparse(2, 3, [0, 10**6], [0, 1, 2]),
        sparse(2, 3, [0, -1], [0, 1, 2]),
        sparse(2, 3, [0, 1], [0, 9, 2]),
        sparse(10**12, 3, [0, 1], [0, 1, 2]),
        sparse(2, 3, [0, 1], [0, 1, 2], b"dia"),
        npz(data=np.zeros(3)),
        npy(np.zeros(3)),
    ],
)
def test_sparse_matrices_that_point_elsewhere(good, matrix):
    at = array("planted.npz", "scipy.sparse._csr.csr_matrix")
    at |= {"__loader__": "SparseMatrixNode", "type": "scipy"}
    refused(planted(good, at, **{"planted.npz": matrix}), "is damaged")
    buffer = io.BytesIO()
    save_npz(buffer, csr_matrix(X))
    assert laconism.load(planted(good, at, **{"planted.npz": buffer.getvalue()})).gamma.shape == X.shape


def generator(pool_size):
    def table(**held):
        kinds = several(*(node("TypeNode", "builtins.str") for _ in held))
        return node("DictNode", "builtins.dict", held, key_types=kinds)

    inner = table(state=say(1), inc=say(1))
    bits = table(bit_generator=say("PCG64"), state=inner, has_uint32=say(0), uinteger=say(0))
    seed = table(entropy=say(1), pool_size=say(pool_size))
    content = {"bit_generator": bits, "seed_seq": seed}
    return node("RandomGeneratorNode", "numpy.random._generator.Generator", content)


def test_numbers_that_say_how_much_to_make(good):
    number = {"planted.npy": npy(np.array(MUCH))}
    refused(planted(good, array(name="numpy.void"), **number), "it names numpy.void, which")
    refused(planted(good, generator(MUCH)), "it names numpy.random._generator.Generator, which")
    shape = several(several(say(MUCH), say(1), kind="Tuple"), kind="Tuple")
    call = node("ConstructorFromReduceNode", "scipy.sparse._csr.csr_matrix", shape)
    refused(planted(good, call), "it names scipy.sparse._csr.csr_matrix, which")
    row = {"planted.npy": npy(np.zeros(1000, np.int8))}
    refused(planted(good, array(name="numpy.clongdouble"), **row), "is damaged")
    table = [array(), several(say(1))]
    two = several(say(2), say(2), kind="Tuple")
    objects = node("NdArrayNode", "numpy.ndarray", table, type="json", shape=two)
    refused(planted(good, objects, **row), "is damaged")
    masked = {"data": several(array()), "mask": several(say(1))}
    refused(planted(good, node("MaskedArrayNode", "numpy.ma.MaskedArray", masked), **row), "is damaged")


# ---- what is no lie -----------------------------------------------------------------------------


def test_what_models_share_comes_back(tmp_path):
    table = np.array([["a", 1], ["b", 2]] * 30, dtype=object)
    encoder = make_pipeline(OneHotEncoder(dtype=np.dtype(np.float32)), SGDClassifier(random_state=0))
    model = VotingClassifier([("a", encoder), ("b", encoder)]).fit(table, table[:, 0])
    model.shared = [table, table, table[:, 0], table[:, 0], Y.dtype, Y.dtype, model.classes_]
    laconism.save(model, tmp_path / "m")
    again = laconism.load(tmp_path / "m")
    assert list(again.predict(table)) == list(table[:, 0])
    for mine, theirs in zip(model.shared, again.shared, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    kernel = RBF()
    for width in range(50):
        kernel = kernel + RBF(gamma=1.0 + width)
    state = np.random.RandomState(0)
    laconism.save(JCFOClassifier(kernel=kernel, random_state=state), tmp_path / "m")
    again = laconism.load(tmp_path / "m")
    np.testing.assert_array_equal(again.kernel(X, X), kernel(X, X))
    assert again.random_state.uniform() == state.uniform()


def changed(data, rng):
    """Return a file with bytes changed, left out or repeated, or with members repeated or mixed up."""
    kind, data = rng.integers(5), bytearray(data)
    at, to = np.sort(rng.integers(len(data), size=2))
    if kind == 0:
        for place in rng.integers(len(data), size=rng.integers(1, 4)):
            data[place] ^= 1 << rng.integers(8)
    elif kind == 1:
        del data[at : min(to, at + rng.integers(1, 200))]
    elif kind == 2:
        data[at:at] = data[at:to]
    else:
        with zipfile.ZipFile(io.BytesIO(data)) as file:
            content = [(name, file.read(name)) for name in file.namelist()]
        first, second = rng.integers(len(content), size=2)
        if kind == 3:
            content.append((content[first][0], content[second][1]))
        else:
            inner = bytearray(content[first][1])
            inner[rng.integers(len(inner))] ^= 1 << rng.integers(8)
            content[first] = (content[first][0], bytes(inner))
        buffer = io.BytesIO()
        write(buffer, content)
        data = buffer.getvalue()
    return bytes(data)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_changed_files_are_refused_in_a_sentence_or_hold_a_model(good, visits):
    rng = np.random.default_rng(0)
    data, path = good.read_bytes(), good.with_name("bad")
    loaded = 0
    for _ in range(200):
        path.write_bytes(changed(data, rng))
        visits.clear()
        said = f"{path} "
        try:
            laconism.load(path)
            loaded += 1
        except ValueError as error:
            said = str(error)
        assert said.startswith(str(path))
        assert "\n" not in said
        assert visits["visits"] < 2000
    assert loaded < 60
