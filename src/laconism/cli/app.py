"""The commands and the table of their options. Needs typer."""

# typer reads annotations at run time, so they are not postponed here.

from collections.abc import Callable
from dataclasses import is_dataclass
from importlib.metadata import version
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, get_type_hints

import typer

from . import dask, dask_evaluate, dask_predict
from .evaluate import evaluate
from .fit import fit
from .inspect import inspect
from .models import KERNELS, MODELS, TASKS
from .predict import predict
from .report import report
from .rivals import NAMES

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


# Where the work is done.
ENGINES = ("local", "dask")

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


def _named(known: tuple[str, ...], text: str, several: bool = False) -> Any:
    """Return an option that takes a known name, or several of them with commas in between."""

    def check(value: str | None) -> str | None:
        given = [value] if not several else [name for name in (value or "").split(",") if name]
        unknown = [name for name in given if name is not None and name not in known]
        if unknown:
            raise typer.BadParameter(f"{unknown[0]!r} is none of {', '.join(known)}.")
        return value

    return typer.Option(metavar="NAMES" if several else "NAME", help=text, callback=check)


# Arguments and options by the name of the parameter they set, in the order in which help lists them.
_OPTIONS: dict[str, Any] = {
    "model_file": typer.Argument(metavar="MODEL", help="What `laconism fit` has saved."),
    "path": typer.Argument(metavar="TABLE", help="CSV, TSV or Parquet; - is stdin."),
    "target": typer.Option("--target", "-t", help="The column to predict."),
    "page": typer.Option("--out", "-o", help="The page to write."),
    "model": _named(MODELS, f"One of {', '.join(MODELS)}."),
    "kernel": _named(KERNELS, f"One of {', '.join(KERNELS)} (none: the features themselves)."),
    "task": _named(TASKS, f"One of {', '.join(TASKS)}."),
    "out": typer.Option("--out", "-o", help="The file to write."),
    "predictions": typer.Option("--out", "-o", help="The table to write; otherwise stdout."),
    "engine": _named(ENGINES, "local, or dask: many files, on many processes or machines."),
    "scheduler": typer.Option(metavar="ADDRESS", help="The Dask scheduler; otherwise one is started."),
    "workers": typer.Option(min=1, help="Dask processes to start; otherwise one for each core."),
    "saved": typer.Option(metavar="MODEL", help="With dask: a saved model to score on all rows."),
    "top": typer.Option(min=1, help="Most bars to draw."),
    "folds": typer.Option(min=2, help="Folds of the cross-validation."),
    "models": _named(NAMES, "What to compare, such as auto,svc,linear.", several=True),
    "grid_shape": typer.Option(help="Shape of a row's numbers, such as 8x8; for --model grid."),
    "settings": typer.Option(
        "--set", metavar="NAME=VALUE", help="A setting of the estimator; may be repeated."
    ),
    "missing": typer.Option(
        metavar="TEXT", help="Another way to write a missing value; may be repeated."
    ),
    "drop": typer.Option(metavar="COLUMN", help="A column to leave out; may be repeated."),
    "keep": typer.Option(metavar="COLUMN", help="A column to use even if it looks like names of rows."),
    "max_rows": typer.Option(min=10, help="Most rows that a model is fitted on; more are sampled."),
    "seed": typer.Option(min=0, help="Of everything that is drawn at random."),
    "quiet": typer.Option("--quiet", "-q", help="No notes and no progress."),
    "as_json": typer.Option("--json", help="Write one JSON document to stdout."),
    "debug": typer.Option("--debug", help="Show where an error comes from."),
}


def _groups_of(run: Callable[..., None]) -> dict[str, Any]:
    """Return the parameters of a function that are dataclasses, which stand for their fields."""
    return {name: kind for name, kind in get_type_hints(run).items() if is_dataclass(kind)}


def _options_of(run: Callable[..., None]) -> dict[str, Parameter]:
    """Return the options of a function."""
    options: dict[str, Parameter] = {}
    owners: tuple[Any, ...] = (run, *_groups_of(run).values())
    for owner in owners:
        hints = get_type_hints(owner)
        for name, parameter in signature(owner).parameters.items():
            if name in _OPTIONS:
                hint = Annotated[hints[name], _OPTIONS[name]]  # type: ignore[valid-type]
                options[name] = parameter.replace(kind=Parameter.KEYWORD_ONLY, annotation=hint)
    return options


def _add_command(local: Callable[..., None], on_dask: Callable[..., None] | None = None) -> None:
    """Make a command of a function, and of another one that does the same with ``--engine dask``."""
    runs = {"local": local} if on_dask is None else {"local": local, "dask": on_dask}
    own = {engine: _options_of(run) for engine, run in runs.items()}
    options = {name: option for each in own.values() for name, option in each.items()}
    if on_dask is not None:
        hint = Annotated[str, _OPTIONS["engine"]]
        options["engine"] = Parameter("engine", Parameter.KEYWORD_ONLY, default="local", annotation=hint)

    def command(**given: Any) -> None:
        engine = given.pop("engine", "local")
        for name in given.keys() - own[engine].keys():
            if given.pop(name) != options[name].default:
                raise typer.BadParameter(f"--{name.replace('_', '-')} is not for --engine {engine}.")
        made: dict[str, Any] = {
            name: kind(**{option: given.pop(option) for option in signature(kind).parameters})
            for name, kind in _groups_of(runs[engine]).items()
        }
        with made["terminal"].guard():
            runs[engine](**made, **given)

    listed = [options[name] for name in _OPTIONS if name in options]
    command.__signature__ = Signature(listed)  # type: ignore[attr-defined]
    app.command(local.__name__, help=local.__doc__)(command)


_add_command(fit, dask.fit)
_add_command(predict, dask_predict.predict)
_add_command(inspect)
_add_command(evaluate, dask_evaluate.evaluate)
_add_command(report)
