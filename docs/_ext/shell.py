"""Commands of the shell with what they really print: they are run while the page is built.

    ```{shell}
    laconism fit wine.csv --target cultivar
    ```

All commands of a page share a folder, which holds ``wine.csv``. A command that fails is a warning, and
so an error. Where the packages of the command line are not installed the commands are shown alone.
"""

import importlib.util
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from docutils import nodes
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

logger = logging.getLogger(__name__)
NEEDED = ("typer", "rich", "pandas", "skops", "laconism.cli")
# Wide enough for every table of the command line, narrow enough for a page.
WIDTH = 70


def installed():
    """Return whether there is a command to run."""
    return all(importlib.util.find_spec(name) is not None for name in NEEDED)


def wine(folder):
    """Write the table that the commands of a page are about."""
    from sklearn.datasets import load_wine

    bunch = load_wine()
    names = [re.sub(r"\W+", "_", name) for name in bunch.feature_names]
    lines = [",".join([*names, "cultivar"])]
    for row, label in zip(bunch.data, bunch.target, strict=True):
        lines.append(",".join([*(f"{value:g}" for value in row), "ABC"[label]]))
    (folder / "wine.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")


def run(command, folder):
    """Return exit code and what a command writes to the terminal."""
    program, *arguments = shlex.split(command)
    if program != "laconism":
        raise ValueError(f"Only the command laconism is run in a page, not {program}.")
    source = str(Path(__file__).resolve().parents[2] / "src")
    environment = {**os.environ, "COLUMNS": str(WIDTH), "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"}
    environment["PYTHONPATH"] = os.pathsep.join([source, os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-m", "laconism", *arguments],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    )
    return done.returncode, done.stdout


class Shell(SphinxDirective):
    """``{shell}``: one command a line."""

    has_content = True

    def run(self):
        """Return a literal block of commands and what they print."""
        parts = []
        for command in self.content:
            parts.append(f"$ {command}")
            if installed():
                code, printed = run(command, self.folder())
                if code:
                    logger.warning(
                        "%s ended with %d: %s", command, code, printed, location=self.get_location()
                    )
                parts.append(printed.rstrip() + "\n")
        block = nodes.literal_block("\n".join(parts), "\n".join(parts).rstrip())
        block["language"] = "console"
        return [block]

    def folder(self):
        """Return the folder of this page; it goes when the build ends."""
        made = self.env.app.shell_folders
        if self.env.docname not in made:
            made[self.env.docname] = tempfile.TemporaryDirectory()
            wine(Path(made[self.env.docname].name))
        return made[self.env.docname].name


def setup(app):
    """Tell sphinx."""
    app.shell_folders = {}
    app.add_directive("shell", Shell)
    app.connect("build-finished", lambda app, _: [d.cleanup() for d in app.shell_folders.values()])
    return {"parallel_read_safe": False, "parallel_write_safe": True}
