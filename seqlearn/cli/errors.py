"""An error that a user can fix is shown as one sentence, without a traceback."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import typer

P = ParamSpec("P")
R = TypeVar("R")


def sentence_for_errors(function: Callable[P, R]) -> Callable[P, R]:
    """Show a ValueError or OSError of a command as one sentence, and end with exit status 1."""

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            with warnings.catch_warnings():
                warnings.showwarning = _show_warning
                return function(*args, **kwargs)
        except (ValueError, OSError) as error:  # ConnectionError and FileNotFoundError are OSErrors
            typer.secho(f"seqlearn: {error}", fg="red", err=True)
            raise typer.Exit(1) from None

    return run


def _show_warning(message: Warning | str, category: type[Warning], *args: object, **kwargs: object) -> None:
    """Show a warning of ours as one sentence. Warnings of libraries are not shown: a user cannot act on them."""
    if category is UserWarning:
        typer.secho(f"seqlearn: {message}", fg="yellow", err=True)
