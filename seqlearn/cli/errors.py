"""An error is shown as one sentence, without a traceback. `seqlearn --debug` shows the traceback, too."""

from __future__ import annotations

import functools
import traceback
import warnings
from collections.abc import Callable
from contextvars import ContextVar
from typing import NoReturn, ParamSpec, TypeVar

import typer

P = ParamSpec("P")
R = TypeVar("R")

LONGEST = 1000  # characters at the beginning, and at the end, of a long sentence
FAILED, INTERRUPTED = 1, 130  # exit statuses; 130 is what a shell reports after Ctrl-C
DEBUG: ContextVar[bool] = ContextVar("debug", default=False)  # whether to show tracebacks; set by --debug


def sentence_for_errors(function: Callable[P, R]) -> Callable[P, R]:
    """Show any error of a command as one sentence, and end with exit status 1; after Ctrl-C, with 130."""

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        """Run the command, and show its warnings and its error as sentences."""
        try:
            with warnings.catch_warnings():
                warnings.showwarning = _show_warning
                return function(*args, **kwargs)
        except (typer.Exit, typer.Abort, typer.BadParameter):
            raise  # typer ends the program without a traceback
        except BrokenPipeError as error:
            if not getattr(error, "__notes__", None):
                raise  # in a filter, silence is right: `seqlearn translate ... | head`
            _end(sentence(error), FAILED)
        except KeyboardInterrupt:
            _end("interrupted", INTERRUPTED)
        except Exception as error:  # whatever a library raises: a traceback helps no user
            _end(sentence(error), FAILED)

    return run


def sentence(error: Exception) -> str:
    """What an error says, as one line of printable characters.

    A ValueError or an OSError is a fault in the input, and its message says what to do. (ConnectionError and
    FileNotFoundError are OSErrors.) Any other error comes with its type, and the hint to --debug. The notes that were
    added to the error follow.
    """
    said = printable("; ".join([_said(error), *getattr(error, "__notes__", [])]))
    said = said if len(said) <= 2 * LONGEST else f"{said[:LONGEST]} ... {said[-LONGEST:]}"  # it may quote a whole file
    known = isinstance(error, ValueError | OSError | MemoryError) or _is_memory(error)
    return said if known else f"{said} (`seqlearn --debug ...` shows where)"


def _said(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:  # without its number
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    if isinstance(error, ValueError | OSError):
        return str(error)
    if isinstance(error, MemoryError) or _is_memory(error):
        return "there is not enough memory"
    first, *others = [line for line in str(error).splitlines() if line.strip()] or [""]
    said = " ... ".join([first, *others[-1:]])  # between them, PyTorch may list the frames of C++
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def _is_memory(error: Exception) -> bool:
    """Whether a library could not be loaded, because there is no memory left for it."""
    return isinstance(error, ImportError) and any(words in str(error) for words in ("map segment", "allocate memory"))


def printable(text: str) -> str:
    """The text on one line. Escape codes, which a file name or a corpus may hold, do not reach the terminal."""
    line = " ".join(text.split())
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in line)


def _end(said: str, status: int) -> NoReturn:
    if DEBUG.get():
        traceback.print_exc()
    typer.secho(f"seqlearn: {said}", fg="red", err=True)
    raise typer.Exit(status) from None


def _show_warning(message: Warning | str, category: type[Warning], *args: object, **kwargs: object) -> None:
    """Show a warning of ours as one sentence. Warnings of libraries are not shown: a user cannot act on them."""
    if category is UserWarning:
        typer.secho(f"seqlearn: {printable(str(message))}", fg="yellow", err=True)
