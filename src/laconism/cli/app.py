"""The commands: each reads its options and calls the module of its name. Needs typer."""

# typer reads annotations at run time, so they are not postponed here.

from importlib.metadata import version
from typing import Annotated

import typer

from .console import Terminal
from .data import Source
from .evaluate import run_evaluate
from .fit import run_fit
from .inspect import run_inspect
from .models import Choice
from .options import (
    Debug,
    Drop,
    Folds,
    GridShape,
    Json,
    Keep,
    Kernel,
    MaxRows,
    Missing,
    Model,
    ModelFile,
    Models,
    Quiet,
    Seed,
    Set,
    Table,
    Target,
    Task,
)
from .predict import run_predict
from .report import run_report

_EXAMPLES = """Sparse Bayesian classification and regression of tables.

\b
  laconism evaluate data.csv --target y        should I use this?
  laconism fit data.csv --target y             a model, saved as model.skops
  laconism inspect model.skops                 what it kept
  laconism predict model.skops new.csv         its predictions
  laconism report data.csv --target y          a page to pass on

Tables are CSV (also with tabs or blanks, also packed) or Parquet, with a line of
names; - is stdin.
"""


app = typer.Typer(
    help=_EXAMPLES,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
)


def _show_version(value: bool) -> None:
    if value:
        typer.echo(f"laconism {version('laconism')}")
        raise typer.Exit


@app.callback()
def start(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Read the options that come before a command."""


@app.command()
def fit(
    table: Table,
    target: Target,
    model: Model = "auto",
    kernel: Kernel = None,
    task: Task = "auto",
    out: Annotated[str, typer.Option("--out", "-o", help="The file to write.")] = "model.skops",
    grid_shape: GridShape = None,
    settings: Set = None,
    missing: Missing = None,
    drop: Drop = None,
    keep: Keep = None,
    max_rows: MaxRows = None,
    seed: Seed = 0,
    quiet: Quiet = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Fit a model to a table and save it as one file.

    Categories become 0 and 1, missing values are filled in, numbers are standardised: all of that
    is saved with the model. auto is the flagship, which needs no settings; sparse selects columns.
    """
    terminal = Terminal(quiet=quiet, as_json=as_json, debug=debug)
    with terminal.guard():
        source = Source(table, target, task, missing, drop, keep)
        choice = Choice(model, kernel, grid_shape, settings or (), seed)
        run_fit(source, choice, out, terminal, max_rows=max_rows)


@app.command()
def predict(
    model: ModelFile,
    table: Table,
    out: Annotated[
        str | None, typer.Option("--out", "-o", help="The table to write; otherwise stdout.")
    ] = None,
    missing: Missing = None,
    quiet: Quiet = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Predict every row of a table.

    Classes come with their probabilities, numbers with a standard deviation.
    """
    terminal = Terminal(quiet=quiet, as_json=as_json, debug=debug)
    with terminal.guard():
        run_predict(model, table, out, terminal, missing=missing or ())


@app.command()
def inspect(
    model: ModelFile,
    top: Annotated[int, typer.Option(min=1, help="Most bars to draw.")] = 15,
    quiet: Quiet = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Show what a model kept, in words and as bars."""
    terminal = Terminal(quiet=quiet, as_json=as_json, debug=debug)
    with terminal.guard():
        run_inspect(model, terminal, top=top)


@app.command()
def evaluate(
    table: Table,
    target: Target,
    task: Task = "auto",
    folds: Folds = 5,
    models: Models = None,
    missing: Missing = None,
    drop: Drop = None,
    keep: Keep = None,
    max_rows: MaxRows = None,
    seed: Seed = 0,
    quiet: Quiet = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Compare our models with their rivals on your own data.

    Cross-validated on the same folds, everything fitted inside them.
    """
    terminal = Terminal(quiet=quiet, as_json=as_json, debug=debug)
    with terminal.guard():
        source = Source(table, target, task, missing, drop, keep)
        run_evaluate(source, terminal, folds=folds, models=models, max_rows=max_rows, seed=seed)


@app.command()
def report(
    table: Table,
    target: Target,
    out: Annotated[str, typer.Option("--out", "-o", help="The page to write.")] = "report.html",
    model: Model = "auto",
    kernel: Kernel = None,
    task: Task = "auto",
    folds: Folds = 5,
    models: Models = None,
    grid_shape: GridShape = None,
    settings: Set = None,
    missing: Missing = None,
    drop: Drop = None,
    keep: Keep = None,
    max_rows: MaxRows = None,
    seed: Seed = 0,
    quiet: Quiet = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Write a page about a model and its rivals.

    Errors, calibration, what was kept and how the fit went, in one file that needs no network.
    """
    terminal = Terminal(quiet=quiet, as_json=as_json, debug=debug)
    with terminal.guard():
        source = Source(table, target, task, missing, drop, keep)
        choice = Choice(model, kernel, grid_shape, settings or (), seed)
        run_report(source, choice, out, terminal, folds=folds, models=models, max_rows=max_rows)
