"""The command line: seqlearn train | translate | evaluate | view | gallery."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from .errors import DEBUG, sentence_for_errors
from .use import evaluate, gallery, translate, view

__all__ = ["app"]

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # a thread that waits sleeps; read when PyTorch is imported

ABOUT = "Train a translator, translate with it, score it, look inside."
TRAIN = "Train a translator and write it to a folder. The test part of the corpus is kept for `seqlearn evaluate`."


class Commands(TyperGroup):
    """Makes the options of `train` only for a call of `train`: they come from the models, which are slow to import."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:  # typer has no public name for the types
        """Find the command that was called."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, _train() if name == "train" else command, rest


@sentence_for_errors
def _train() -> Any:  # a command of typer
    from .train import train_command

    train_app = typer.Typer(add_completion=False)
    train_app.command("train", help=TRAIN)(train_command())
    return typer.main.get_command(train_app)


def _set_debug(debug: bool) -> bool:
    DEBUG.set(debug)  # while the options are read, before any command is looked up
    return debug


def _say_version(wanted: bool) -> bool:
    if wanted:
        typer.echo(
            f"seqlearn {version('seqlearn')} with PyTorch {version('torch')}, Python {platform.python_version()}"
        )
        raise typer.Exit
    return wanted


_DEBUG = typer.Option(
    "--debug", envvar="SEQLEARN_DEBUG", callback=_set_debug, help="Show the traceback of an error, too."
)
_VERSION = typer.Option("--version", callback=_say_version, is_eager=True, help="Show the versions and end.")

app = typer.Typer(cls=Commands, help=ABOUT, no_args_is_help=True, add_completion=False)
app.command("train", help=TRAIN)(lambda: None)  # `Commands` puts the real one in its place
for _command in (translate, evaluate, view, gallery):
    app.command()(_command)


@app.callback(help=ABOUT)
def _options(debug: Annotated[bool, _DEBUG] = False, version: Annotated[bool, _VERSION] = False) -> None:
    """The options of all commands."""
