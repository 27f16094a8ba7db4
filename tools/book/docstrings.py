"""Docstrings for Sphinx: they are written in Markdown (tables, indented code), and Sphinx reads reStructuredText."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from sphinx.application import Sphinx

NAME = re.compile(r"^`[A-Za-z_]\w*(\.\w+)*`$")


def as_rst(lines: Sequence[str]) -> Iterator[str]:
    """The lines of a docstring, with its Markdown tables and its indented code as reStructuredText has them."""
    before, is_code = "", False
    for is_table, group in groupby(lines, lambda line: line.startswith("|")):
        if is_table:
            rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in group]
            yield from table([rows[0], *rows[2:]])
            continue
        for line in group:
            if line and not line.startswith("    "):
                is_code = line.startswith(">>>")
            elif line and before.endswith("\n") and not before.startswith("    "):  # after a text and a blank line
                is_code = True
                yield from ["::", ""]
            yield line if is_code else escaped(line)
            before = line or f"{before.rstrip()}\n"


def table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """A table, whose first row is its head."""
    yield from ["", ".. list-table::", "   :header-rows: 1", ""]
    for row in rows:
        yield from [f"   {'  -' if column else '* -'} {escaped(cell)}" for column, cell in enumerate(row)]
    yield ""


def escaped(line: str) -> str:
    """A line in which `code` and *emphasis* are the only markup: no |substitution| and no **strong** text.

    The `name` of something that the book describes becomes a link to it.
    """
    pieces = re.split(r"(`[^`]*`)", line)
    return "".join(
        NAME.sub(r":py:obj:\g<0>", piece) if index % 2 else piece.replace("|", r"\|").replace("**", r"\*\*")
        for index, piece in enumerate(pieces)
    )


def setup(app: Sphinx) -> dict[str, bool]:
    """Read docstrings this way, before napoleon reads their sections."""

    def process(app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
        renamed = {"Returns:": ":returns:"}  # else napoleon takes what stands before the first colon for a type
        lines[:] = as_rst(["Traits:" if line.startswith("Traits, ") else renamed.get(line, line) for line in lines])

    app.connect("autodoc-process-docstring", process, priority=400)
    return {"parallel_read_safe": True}
