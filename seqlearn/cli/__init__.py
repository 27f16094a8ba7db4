"""The command line: seqlearn train | translate | evaluate | view | gallery."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

from .use import evaluate, gallery, translate, view

__all__ = ["app"]

ABOUT = "Train a translator, translate with it, score it, look inside."
TRAIN = "Train a translator and write it to a folder. The test part of the corpus is kept for `seqlearn evaluate`."


class Commands(TyperGroup):
    """Makes the options of `train` only for a call of `train`: they come from the models, which are slow to import."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:  # typer has no public name for the types
        """Find the command that was called."""
        name, command, rest = super().resolve_command(ctx, args)
        if name == "train":
            from .train import train_command

            train_app = typer.Typer(add_completion=False)
            train_app.command("train", help=TRAIN)(train_command())
            command = typer.main.get_command(train_app)
        return name, command, rest


app = typer.Typer(cls=Commands, help=ABOUT, no_args_is_help=True, add_completion=False)
app.command("train", help=TRAIN)(lambda: None)  # `Commands` puts the real one in its place
for _command in (translate, evaluate, view, gallery):
    app.command()(_command)
