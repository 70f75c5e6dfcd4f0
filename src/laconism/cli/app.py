"""The commands and their options; what they do is in the files beside this one."""

# Annotations are read by typer at run time, so they are not postponed here.

from typing import Annotated, Any

from .console import Terminal
from .data import Source
from .fit import run_fit
from .models import KERNELS, MODELS, TASKS

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


def _version() -> str:
    from importlib.metadata import version

    return f"laconism {version('laconism')}"


def build() -> Any:
    """Return the typer application.

    Returns
    -------
    typer.Typer
    """
    import typer

    app = typer.Typer(
        help=_EXAMPLES,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
    )

    def one_of(choices: tuple[str, ...]) -> Any:
        def check(value: str | None) -> str | None:
            if value is not None and value not in choices:
                raise typer.BadParameter(f"{value!r} is none of {', '.join(choices)}.")
            return value

        return check

    def models(value: str | None) -> str | None:
        from .rivals import NAMES

        unknown = [name for name in (value or "").split(",") if name and name not in NAMES]
        if unknown:
            raise typer.BadParameter(f"{unknown[0]!r} is none of {', '.join(NAMES)}.")
        return value

    def show_version(value: bool) -> None:
        if value:
            typer.echo(_version())
            raise typer.Exit

    Table = Annotated[str, typer.Argument(metavar="TABLE", help="CSV, TSV or Parquet; - is stdin.")]
    Target = Annotated[str, typer.Option("--target", "-t", help="The column to predict.")]
    Model = Annotated[
        str,
        typer.Option(help=f"One of {', '.join(MODELS)}.", callback=one_of(MODELS), metavar="NAME"),
    ]
    Kernel = Annotated[
        str | None,
        typer.Option(
            help=f"One of {', '.join(KERNELS)} (none: the features themselves).",
            callback=one_of(KERNELS),
            metavar="NAME",
        ),
    ]
    Task = Annotated[
        str,
        typer.Option(help=f"One of {', '.join(TASKS)}.", callback=one_of(TASKS), metavar="NAME"),
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
        typer.Option(metavar="NAMES", callback=models, help="What to compare, such as auto,svc,linear."),
    ]
    Seed = Annotated[int, typer.Option(min=0, help="Of everything that is drawn at random.")]
    Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No notes and no progress.")]
    Json = Annotated[bool, typer.Option("--json", help="Write one JSON document to stdout.")]
    Debug = Annotated[bool, typer.Option("--debug", help="Show where an error comes from.")]

    @app.callback()
    def start(
        version: Annotated[
            bool,
            typer.Option("--version", callback=show_version, is_eager=True, help="Show the version."),
        ] = False,
    ) -> None:
        pass

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
            run_fit(
                Source(table, target, task, missing or (), drop or (), keep or ()),
                out,
                terminal,
                model=model,
                kernel=kernel,
                grid_shape=grid_shape,
                settings=settings or (),
                max_rows=max_rows,
                seed=seed,
            )

    @app.command()
    def predict(
        model: Annotated[str, typer.Argument(metavar="MODEL", help="What `laconism fit` has saved.")],
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
        from .predict import run_predict

        terminal = Terminal(quiet=quiet, as_json=as_json, debug=debug)
        with terminal.guard():
            run_predict(model, table, out, terminal, missing=missing or ())

    @app.command()
    def inspect(
        model: Annotated[str, typer.Argument(metavar="MODEL", help="What `laconism fit` has saved.")],
        top: Annotated[int, typer.Option(min=1, help="Most bars to draw.")] = 15,
        quiet: Quiet = False,
        as_json: Json = False,
        debug: Debug = False,
    ) -> None:
        """Show what a model kept, in words and as bars."""
        from .inspect import run_inspect

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
        from .evaluate import run_evaluate

        terminal = Terminal(quiet=quiet, as_json=as_json, debug=debug)
        with terminal.guard():
            source = Source(table, target, task, missing or (), drop or (), keep or ())
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
        from .report import run_report

        terminal = Terminal(quiet=quiet, as_json=as_json, debug=debug)
        with terminal.guard():
            run_report(
                Source(table, target, task, missing or (), drop or (), keep or ()),
                out,
                terminal,
                model=model,
                kernel=kernel,
                grid_shape=grid_shape,
                settings=settings or (),
                folds=folds,
                models=models,
                max_rows=max_rows,
                seed=seed,
            )

    return app
