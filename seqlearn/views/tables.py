"""Tables of what a cell measured: as HTML, as a picture for places without HTML, and as text.

A trained model gives slightly different numbers on another processor. The bounds inside which the tests accept a number
stand beside the tests (`tests/lessons/judge.py`).
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence
from html import escape
from typing import SupportsFloat

from matplotlib.figure import Figure

from .shared.fonts import any_script, drawable, literal
from .shared.sharp import sharp_png

Cell = SupportsFloat | str | None  # a number may be a tensor with one element

FRACTION = "{:.3f}"
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
PADDING = "padding: 0.25em 0.8em"


class Table:
    """A table that Jupyter shows: HTML for people, plain text for the comparison, and a picture.

    Args:
        head: a heading for each column.
        rows: the texts of each row, as many as headings.
        plain: the table as text.
        title: what the table says, in one line above it.
        text: whether the columns after the first hold texts rather than numbers.
    """

    def __init__(
        self,
        head: Sequence[str],
        rows: Sequence[Sequence[str]],
        plain: str,
        *,
        title: str = "",
        text: bool = False,
    ):
        self.head, self.rows, self.plain = list(head), [list(row) for row in rows], plain
        self.title, self.text = title, text

    def __repr__(self) -> str:
        return self.plain

    def _repr_mimebundle_(
        self, include: object = None, exclude: object = None
    ) -> tuple[dict[str, object], dict[str, object]]:
        """What Jupyter shows, and the size of the picture. A front end chooses HTML before the picture."""
        picture, size = sharp_png(self.figure())
        shown: dict[str, object] = {"text/plain": self.plain, "text/html": self.to_html(), "image/png": picture}
        return shown, {"image/png": size}

    def to_html(self) -> str:
        """The table as HTML, its texts escaped. `tests/lessons/judge.py` compares it, which knows it by its class."""

        def cell(tag: str, text: str, column: int, scope: str = "") -> str:
            side = "left" if column == 0 or self.text else "right"
            return f'<{tag}{scope} style="text-align: {side}; {PADDING}">{escape(text)}</{tag}>'

        lines = ['<table class="seqlearn-table">']
        if self.title:
            lines.append(f'<caption style="text-align: left; {PADDING}"><b>{escape(self.title)}</b></caption>')
        heads = "".join(cell("th", text, column, ' scope="col"') for column, text in enumerate(self.head))
        lines.append(f"<thead><tr>{heads}</tr></thead>" if any(self.head) else "")
        lines.append("<tbody>")
        for first, *others in self.rows:
            row = cell("td" if self.text else "th", first, 0, "" if self.text else ' scope="row"')
            lines.append("<tr>" + row + "".join(cell("td", text, 1) for text in others) + "</tr>")
        lines.append("</tbody>")
        return "\n".join(filter(None, [*lines, "</table>"]))

    @any_script
    def figure(self, width: int = 110) -> Figure:
        """The table as a figure of matplotlib, `width` letters wide at most."""
        head, rows = list(map(drawable, self.head)), [list(map(drawable, row)) for row in self.rows]
        longest = [max(3, *(len(row[column]) for row in [head, *rows])) + 2 for column in range(len(head))]
        narrow = [length for length in longest if length * len(longest) <= width]  # they get the room that they want
        wide, room = sum(longest) - sum(narrow), width - sum(narrow)
        shares = [length if length in narrow or wide <= room else length * room // wide for length in longest]
        wrapped = [
            [textwrap.wrap(text, max(6, share - 2)) or [""] for text, share in zip(row, shares, strict=True)]
            for row in [head, *rows]
        ]
        above = [drawable(self.title)] if self.title else []
        heights = [0.5 + max(map(len, row)) for row in wrapped]
        letters = max([sum(shares), *(len(line) + 2 for line in above)])
        across, down = letters * 0.085, 0.2 * (sum(heights) + len(above) * 1.3 + 0.5)
        figure = Figure(figsize=(across, down))
        figure.set_layout_engine("none")
        ax = figure.add_axes((0, 0, 1, 1))
        ax.set(xlim=(0, across), ylim=(down, 0))
        ax.axis("off")
        y = 0.05
        for line in above:
            ax.text(0.08, y + 0.04, literal(line), va="top", weight="bold", fontsize=10)
            y += 0.26
        for number, (row, height) in enumerate(zip(wrapped, heights, strict=True)):
            x = 0.08
            for column, (lines, share) in enumerate(zip(row, shares, strict=True)):
                right = column > 0 and not self.text
                at = x + (share - 1.5) * 0.085 if right else x
                ax.text(
                    at,
                    y + 0.04,
                    literal("\n".join(lines)),
                    va="top",
                    ha="right" if right else "left",
                    fontsize=10,
                    weight="bold" if number == 0 else "normal",
                    linespacing=1.25,
                )
                x += share * 0.085
            y += 0.2 * height
            ax.axhline(y, color="#999999" if number == 0 else "#dddddd", linewidth=0.8)
        return figure


def measured(
    values: Mapping[str, Cell | Mapping[str, Cell]],
    *,
    unit: str = "measured",
    title: str = "",
    form: str | Mapping[str, str] = FRACTION,
) -> Table:
    """A table of what a cell measured, as the value of its last line.

    Args:
        values: a number or a text by name; or, for several columns, a mapping from heading to number or text.
        unit: the heading of a single column of values, with the unit: "error (°C)".
        title: what the table says, in one line above it.
        form: the format of fractions (whole numbers are shown as they are), one for all, or by name of row or column.

    Raises:
        ValueError: no values, rows with different columns, or a form for something that is not there.
    """
    nested = {name: dict(row) if isinstance(row, Mapping) else {unit: row} for name, row in values.items()}
    columns = list(next(iter(nested.values()), {}))
    if not columns:
        raise ValueError("a table of measured values needs at least one value")
    for name, row in nested.items():
        if list(row) != columns:
            raise ValueError(f"row {name!r} has the columns {list(row)}, and the first row has {columns}")
    if unknown := set(form) - set(nested) - set(columns) if isinstance(form, Mapping) else ():
        raise ValueError(f"there is no row or column {sorted(unknown)[0]!r}")
    rows = []
    for name, row in nested.items():
        styles = [form if isinstance(form, str) else form.get(name, form.get(column, FRACTION)) for column in row]
        rows.append([name, *map(_write, row.values(), styles)])
    head = ["", *columns]
    return Table(head, rows, "\n".join([title] * bool(title) + _align([head, *rows])), title=title)


def text_table(rows: Sequence[Sequence[str]], columns: Sequence[str], *, title: str = "") -> Table:
    """A table of texts, such as the output of a trained model, which may differ on another machine.

    Its plain text, which the tests compare, has its headings alone.

    Raises:
        ValueError: a row has more or fewer texts than there are columns.
    """
    for row in rows:
        if len(row) != len(columns):
            raise ValueError(f"the row {list(row)} has {len(row)} texts for {len(columns)} columns")
    plain = f"Table of {len(rows)} rows: {', '.join(columns)}"
    return Table(columns, rows, plain, title=title, text=True)


def _write(value: Cell, style: str) -> str:
    """A value as a text: fractions in the given style, whole numbers with commas, with true minus signs."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    number: SupportsFloat = getattr(value, "item", lambda: value)()  # of a tensor, or of a number of NumPy
    if isinstance(number, bool):
        return "yes" if number else "no"
    text = f"{number:,}" if isinstance(number, int) and style == FRACTION else style.format(number)
    if found := re.fullmatch(r"(.*\d)e([+-]\d+)(.*)", text):  # as a person writes it: 3 × 10⁻⁸
        power = str(int(found[2])).translate(RAISED)
        text = "0" if number == 0 else f"{found[1]} × 10{power}{found[3]}"
    text = text.replace("-", "−") if text.startswith("-") else text
    return text.lstrip("−") if not text.strip("−0.,%") else text  # no "−0.000"


def _align(rows: Sequence[Sequence[str]]) -> list[str]:
    """The rows as lines with columns below each other."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            text.ljust(width) if number == 0 else text.rjust(width)
            for number, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
