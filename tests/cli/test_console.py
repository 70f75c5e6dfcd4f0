"""What is written reaches the reader or is an error; what is refused is refused at once."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("rich", reason="the command line needs rich")
pytest.importorskip("typer", reason="the command line needs typer")

import laconism
from laconism.cli.console import whole_output

COMMANDS = ("--help", "--version", "fit --help", "inspect m.skops", "inspect m.skops --json")
COMMANDS += ("predict m.skops t.csv", "predict m.skops t.csv --json")
COMMANDS += ("evaluate t.csv -t y --models baseline --folds 2 -q",)


def environment(**more):
    source = str(Path(laconism.__file__).parents[1])
    return {**os.environ, "PYTHONPATH": source, "COLUMNS": "80", **more}


def test_a_pipe_that_takes_a_part_is_an_error():
    read, write = os.pipe()
    os.set_blocking(write, False)
    with open(write, "wb", buffering=0) as raw, open(read, "rb") as reader:
        plain = io.TextIOWrapper(raw, "utf-8", write_through=True)
        stream = whole_output(plain)
        stream.write("a line of text\n")
        assert reader.read(15) == b"a line of text\n"
        with pytest.raises(BlockingIOError):
            stream.write("a line of text\n" * 100_000)
        os.set_blocking(read, False)
        assert len(reader.read()) < 1_500_000
        stream.buffer.detach()


def test_a_stream_in_memory_stays():
    for stream in (io.StringIO(), io.TextIOWrapper(io.BytesIO())):
        assert whole_output(stream) is stream


# Every command in a process of its own, forked from one that has run all of them; its stdout is a file
# for which the disk has no room, with and without the buffer of Python.
FORKS = """
import contextlib, io, json, os, resource, signal, sys
from laconism.cli import main

def run(words):
    sys.argv = ["laconism", *words.split()]
    try:
        main()
    except SystemExit as end:
        return end.code

def fork(words, room, buffered):
    read, write = os.pipe()
    with open("out", "wb") as out, os.fdopen(read) as err:
        child = os.fork()
        if not child:
            os.dup2(out.fileno(), 1)
            os.dup2(write, 2)
            raw = io.FileIO(1, "w", closefd=False)
            stream = io.BufferedWriter(raw) if buffered else raw
            sys.stdout = io.TextIOWrapper(stream, "utf-8", write_through=not buffered)
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))
            os._exit(run(words))  # the end of the interpreter takes seconds
        os.close(write)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        return code, os.path.getsize("out"), err.read()

commands = json.loads(sys.argv[1])
with contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO())):
    for words in ("fit t.csv -t y --model sparse --kernel none -q -o m.skops", *commands):
        assert run(words) == 0, words
for words in commands:
    whole = fork(words, 1_000_000, False)
    cut = [fork(words, whole[1] - 3, buffered) for buffered in (True, False)]
    sys.stdout.write(json.dumps([words, whole, cut]) + "\\n")
    sys.stdout.flush()
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are made otherwise there")
def test_output_is_whole_or_an_error(tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("skops")
    table = pandas.DataFrame({"a": range(30), "b": [0, 1, 2] * 10, "y": [0, 1] * 15})
    table.to_csv(tmp_path / "t.csv", index=False)
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKS, json.dumps(COMMANDS)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment(),
    )
    results = [json.loads(line) for line in run.stdout.splitlines()]
    assert [words for words, *_ in results] == list(COMMANDS), run.stderr
    for words, (code, size, err), cut in results:
        assert (code, err) == (0, ""), words
        for part in cut:
            assert part == [1, size - 3, "error: stdout: file too large.\n"], words


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no disk is always full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_no_room_for_a_line(unbuffered):
    with Path("/dev/full").open("wb") as full:
        run = subprocess.run(
            [sys.executable, "-m", "laconism", "--version"],
            stdout=full,
            stderr=subprocess.PIPE,
            env=environment(PYTHONUNBUFFERED=unbuffered),
        )
    assert (run.returncode, run.stderr) == (1, b"error: stdout: no space left on device.\n")


REFUSED = [
    ("fit none.csv -t y", "error: none.csv: no such file or directory."),
    ("fit empty.csv -t y", "error: empty.csv is empty."),
    ("fit table.csv -t z", "error: table.csv has no column 'z'; it has a, b, y."),
    ("fit table.csv -t y --colour red", "Error: No such option: --colour"),
    ("fit table.csv -t y --model best", "'best' is none of auto, sparse, rvm, grid, jcfo."),
    ("predict none.skops table.csv", "error: none.skops: no such file."),
    ("inspect none.skops", "error: none.skops: no such file."),
    ("evaluate empty.csv -t y", "error: empty.csv is empty."),
    ("report none.csv -t y", "error: none.csv: no such file or directory."),
    ("fit none.csv -t y --engine dask", "error: none.csv: no such file."),
    ("evaluate empty.csv -t y --engine dask", "error: empty.csv is empty."),
]
SLOW = ("dask", "distributed", "joblib", "matplotlib", "pandas", "pyarrow", "scipy", "sklearn", "skops")
TOLD = f"""
import json, sys
from laconism.cli import main
for words in json.loads(sys.argv[1]):
    sys.argv = ["laconism", *words.split()]
    try:
        main()
    except SystemExit as end:
        loaded = set({SLOW!r}) & set(sys.modules)
        sys.stderr.write(f"{{words}}: {{end.code}} {{sorted(loaded)}}\\n")
"""


def test_help_and_refusals_import_nothing_slow(tmp_path):
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "table.csv").write_text("a,b,y\n1,2,0\n3,4,1\n")
    words = ["--help", "--version", "fit --help", *(words for words, _ in REFUSED)]
    run = subprocess.run(
        [sys.executable, "-c", TOLD, json.dumps(words)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment(),
    )
    for each in words[:3]:
        assert f"{each}: 0 []\n" in run.stderr
    for each, sentence in REFUSED:
        code = 2 if sentence.startswith(("Error", "'")) else 1
        assert f"{each}: {code} []\n" in run.stderr
        assert sentence in run.stderr, run.stderr
    assert "laconism evaluate data.csv --target y" in run.stdout


def test_the_package_is_a_command(tmp_path):
    run = subprocess.run(
        [sys.executable, "-m", "laconism", "--help"], capture_output=True, text=True, env=environment()
    )
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.startswith("Usage: laconism [OPTIONS] COMMAND")
