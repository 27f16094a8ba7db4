"""The program `seqlearn`, also as `python -m seqlearn`: what holds before the command line is imported.

Ctrl-C while Python imports ends the program with a sentence. Standard error may be closed or full: what cannot be said
is lost, and no work with it. Standard output may not.
"""

from __future__ import annotations

import io
import os
import signal
import sys
from types import FrameType
from typing import IO, NoReturn

FAILED, INTERRUPTED = 1, 130  # as in `cli.errors`
ENDS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


class Output(io.FileIO):
    """A file that takes what it is given. The first write that fails raises an OSError if `name` is not empty."""

    def __init__(self, descriptor: int, named: str):
        super().__init__(descriptor, "w", closefd=False)
        self.named = named

    def write(self, data, /) -> int:
        """Write what can be written; see the class."""
        try:
            return super().write(data)
        except OSError as error:
            named, self.named = self.named, ""  # Python flushes once more at the end, and would show a traceback
            if named:
                raise OSError(error.errno, error.strerror, named) from None
            return memoryview(data).nbytes


def main() -> None:
    """Run the command line."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # under `nohup ... &` it is ignored
        signal.signal(signal.SIGINT, _interrupt)
    for each in ENDS:
        if signal.getsignal(each) is signal.SIG_DFL:
            signal.signal(each, _leave)
    for descriptor in (0, 1, 2):
        _keep_open(descriptor)
    if sys.stdout is None:
        _end("standard output is closed", FAILED)
    try:
        os.getcwd()
    except OSError:
        _end("the current folder is gone: change to another one, and try again", FAILED)
    sys.stdout, sys.stderr = _guarded(sys.stdout, 1, "standard output"), _guarded(sys.stderr, 2, "")
    try:
        from .cli import app

        app(prog_name="python -m seqlearn" if __name__ == "__main__" else "seqlearn")
    except OSError as error:  # from `--help`: commands catch their own
        _end(f"{error.filename}: {error.strerror}", FAILED)


def _leave(number: int, frame: FrameType | None) -> NoReturn:
    """End, but first remove what is half-written."""
    sys.exit(128 + number)


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Raise KeyboardInterrupt, if a command runs that can say so; else just end.

    An import is no such place: libraries swallow the exception there, or turn it into another.
    """
    stack = []
    while frame is not None:
        stack.append(frame)
        frame = frame.f_back
    imports = any(each.f_code.co_filename == "<frozen importlib._bootstrap>" for each in stack)
    if imports or all(each.f_globals.get("__name__") != "seqlearn.cli.errors" for each in stack):
        _end("interrupted", INTERRUPTED)
    raise KeyboardInterrupt


def _end(said: str, status: int) -> NoReturn:
    """End at once, with a sentence."""
    try:
        os.write(2, f"seqlearn: {said}\n".encode())
    finally:
        os._exit(status)


def _keep_open(descriptor: int) -> None:
    """Give a closed descriptor to nobody: else the next file would get it, and what libraries say would be in it."""
    try:
        os.fstat(descriptor)
    except OSError:
        os.open(os.devnull, os.O_RDWR)  # takes the lowest that is free


def _guarded(stream: IO[str] | None, descriptor: int, named: str) -> IO[str]:
    """The stream, through `Output`. A terminal stays as it is."""
    if stream is None:
        return open(os.devnull, "w", encoding="utf-8")
    if not isinstance(stream, io.TextIOWrapper) or stream.isatty():
        return stream
    settings = {name: getattr(stream, name) for name in ("encoding", "errors", "line_buffering", "write_through")}
    return io.TextIOWrapper(io.BufferedWriter(Output(descriptor, named)), **settings)


if __name__ == "__main__":
    main()
