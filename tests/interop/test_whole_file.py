"""Files that are written completely or not at all, also by a process that is killed."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import laconism
from laconism.interop.whole_file import whole_file, write_whole

A_DAY_SECONDS = 86_400
KILLED = """
import os, signal
from laconism.interop.whole_file import whole_file, write_whole
write_whole(b"old", "m.skops")
os.chmod("m.skops", 0o600)
{before}
with whole_file("m.skops") as file:
    file.write(bytes(1_000_000))
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def kill(folder, before=""):
    environment = {**os.environ, "PYTHONPATH": str(Path(laconism.__file__).parents[1])}
    run = subprocess.run(
        [sys.executable, "-c", KILLED.format(before=before)], cwd=folder, env=environment
    )
    assert run.returncode == -signal.SIGKILL
    assert (folder / "m.skops").read_bytes() == b"old"


@pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="every file has a name there")
def test_who_is_killed_while_writing_leaves_the_old_file_and_nothing_else(tmp_path):
    kill(tmp_path)
    assert [each.name for each in tmp_path.iterdir()] == ["m.skops"]


@pytest.mark.skipif(os.name == "nt", reason="nothing is killed there")
def test_a_draft_that_stays_is_removed_later(tmp_path):
    """Until then only those may read it who may read the file."""
    kill(tmp_path, "vars(os).pop('O_TMPFILE', None)")
    (draft,) = set(tmp_path.iterdir()) - {tmp_path / "m.skops"}
    assert draft.stat().st_mode & 0o777 == 0o600
    others = {tmp_path / name for name in (".m.skops", ".m.skops.old", f".n.skops.{'0' * 32}")}
    for other in others:
        other.write_bytes(b"")
        os.utime(other, (0, 0))
    write_whole(b"new", tmp_path / "m.skops")
    assert draft.exists()  # somebody may be writing it
    old = draft.stat().st_mtime - 2 * A_DAY_SECONDS
    os.utime(draft, (old, old))
    write_whole(b"new", tmp_path / "m.skops")
    assert set(tmp_path.iterdir()) == {tmp_path / "m.skops", *others}


@pytest.mark.parametrize("named", [False, True])
def test_an_error_in_between_leaves_the_old_file(tmp_path, monkeypatch, named):
    if named:
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    path = tmp_path / "m.skops"
    write_whole(b"old", path)

    def fail():
        with whole_file(path) as file:
            file.write(b"new")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert path.read_bytes() == b"old"
    write_whole(b"new", path)
    assert path.read_bytes() == b"new"
    assert [each.name for each in tmp_path.iterdir()] == ["m.skops"]


def test_errors_name_the_file_and_not_its_draft(tmp_path):
    missing = tmp_path / "nothing" / "m.skops"
    with pytest.raises(FileNotFoundError) as caught:
        write_whole(b"", missing)
    assert str(caught.value).endswith(f"{str(missing)!r}")
