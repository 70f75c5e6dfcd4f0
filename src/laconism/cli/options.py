"""The options of the commands, each written once. Needs typer, as :mod:`laconism.cli.app` does."""

from collections.abc import Callable
from typing import Annotated

import typer

from .models import KERNELS, MODELS, TASKS
from .rivals import NAMES


def _one_of(choices: tuple[str, ...]) -> Callable[[str | None], str | None]:
    """Return a check that a value is one of the choices."""

    def check(value: str | None) -> str | None:
        if value is not None and value not in choices:
            raise typer.BadParameter(f"{value!r} is none of {', '.join(choices)}.")
        return value

    return check


def _known_models(value: str | None) -> str | None:
    """Check that all models of a list are known."""
    unknown = [name for name in (value or "").split(",") if name and name not in NAMES]
    if unknown:
        raise typer.BadParameter(f"{unknown[0]!r} is none of {', '.join(NAMES)}.")
    return value


Table = Annotated[str, typer.Argument(metavar="TABLE", help="CSV, TSV or Parquet; - is stdin.")]
Target = Annotated[str, typer.Option("--target", "-t", help="The column to predict.")]
Model = Annotated[
    str,
    typer.Option(help=f"One of {', '.join(MODELS)}.", callback=_one_of(MODELS), metavar="NAME"),
]
Kernel = Annotated[
    str | None,
    typer.Option(
        help=f"One of {', '.join(KERNELS)} (none: the features themselves).",
        callback=_one_of(KERNELS),
        metavar="NAME",
    ),
]
Task = Annotated[
    str,
    typer.Option(help=f"One of {', '.join(TASKS)}.", callback=_one_of(TASKS), metavar="NAME"),
]
GridShape = Annotated[
    str | None, typer.Option(help="Shape of a row's numbers, such as 8x8; for --model grid.")
]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="A setting of the estimator; may be repeated."),
]
Missing = Annotated[
    list[str] | None,
    typer.Option(metavar="TEXT", help="Another way to write a missing value; may be repeated."),
]
Drop = Annotated[
    list[str] | None, typer.Option(metavar="COLUMN", help="A column to leave out; may be repeated.")
]
Keep = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN", help="A column to use even if it looks like names of rows."),
]
MaxRows = Annotated[
    int | None, typer.Option(min=10, help="Most rows that a model is fitted on; more are sampled.")
]
Folds = Annotated[int, typer.Option(min=2, help="Folds of the cross-validation.")]
Models = Annotated[
    str | None,
    typer.Option(
        metavar="NAMES", callback=_known_models, help="What to compare, such as auto,svc,linear."
    ),
]
Seed = Annotated[int, typer.Option(min=0, help="Of everything that is drawn at random.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No notes and no progress.")]
Json = Annotated[bool, typer.Option("--json", help="Write one JSON document to stdout.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show where an error comes from.")]
ModelFile = Annotated[str, typer.Argument(metavar="MODEL", help="What `laconism fit` has saved.")]
