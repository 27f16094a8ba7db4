"""Tables of what a cell measured: every number for the learner, and for the comparison of outputs what is claimed.

A trained model gives slightly different numbers on another processor. `measured` shows them in full, as HTML (with a
picture for places without HTML), while its plain text, which the tests compare, has the bounds and the claims.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from html import escape
from typing import SupportsFloat

from matplotlib.figure import Figure

from .shared.fonts import any_script, drawable, literal
from .shared.sharp import sharp_png

Cell = SupportsFloat | str | None  # a number may be a tensor with one element
Bounds = tuple[float | None, float | None] | None

NONE: Bounds = (float("inf"), float("-inf"))  # marks a value without bounds, which is compared as it is shown
FRACTION = "{:.3f}"
VARIES = "varies"
MARKS = {True: "✓ holds", False: "✗ does not hold"}
PADDING = "padding: 0.25em 0.8em"


class Table:
    """A table that Jupyter shows: HTML for people, plain text for the comparison, and a picture.

    Args:
        head: a heading for each column.
        rows: the texts of each row, as many as headings.
        plain: what the tests compare, the same on every machine.
        claims: sentences, and whether each one holds.
        title: what the table says, in one line above it.
        text: whether the columns after the first hold texts rather than numbers.
    """

    def __init__(
        self,
        head: Sequence[str],
        rows: Sequence[Sequence[str]],
        plain: str,
        *,
        claims: Mapping[str, bool] | None = None,
        title: str = "",
        text: bool = False,
    ):
        self.head, self.rows, self.plain = list(head), [list(row) for row in rows], plain
        self.claims, self.title, self.text = dict(claims or {}), title, text

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
        """The table as HTML, its texts escaped. `tests/nbval.cfg` leaves it out of the comparison by its class."""

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
        if self.claims:
            lines.append("<tfoot>")
            for sentence, holds in self.claims.items():
                style = f"text-align: left; {PADDING}"
                both = f"<b>{MARKS[holds]}</b>: {escape(sentence)}"
                lines.append(f'<tr><td colspan="{len(self.head)}" style="{style}">{both}</td></tr>')
            lines.append("</tfoot>")
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
        claims = [f"{MARKS[holds]}: {drawable(sentence)}" for sentence, holds in self.claims.items()]
        below = [line for text in claims for line in textwrap.wrap(text, max(40, sum(shares)))]
        above = [drawable(self.title)] if self.title else []
        heights = [0.5 + max(map(len, row)) for row in wrapped]
        letters = max([sum(shares), *(len(line) + 2 for line in [*above, *below])])
        across, down = letters * 0.085, 0.2 * (sum(heights) + len(above) * 1.3 + len(below) * 1.3 + 0.5)
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
                    at, y + 0.04, literal("\n".join(lines)), va="top", ha="right" if right else "left", fontsize=10,
                    weight="bold" if number == 0 else "normal", linespacing=1.25,
                )  # fmt: skip
                x += share * 0.085
            y += 0.2 * height
            ax.axhline(y, color="#999999" if number == 0 else "#dddddd", linewidth=0.8)
        for line in below:
            ax.text(0.08, y + 0.06, literal(line), va="top", fontsize=10)
            y += 0.26
        return figure


def measured(
    values: Mapping[str, Cell | Mapping[str, Cell]],
    *,
    unit: str = "measured",
    title: str = "",
    form: str | Mapping[str, str] = FRACTION,
    bounds: Bounds | Mapping[str, Bounds] = {},  # noqa: B006 (it is not changed)
    claims: Mapping[str, bool] | None = None,
) -> Table:
    """A table of what a cell measured, as the value of its last line.

    Whoever runs the cell sees every number. The tests compare the plain text: numbers without bounds as they are shown,
    the bounds of the others, and the claims. A number outside its bounds is named there, so that the test fails.

    Args:
        values: a number or a text by name; or, for several columns, a mapping from heading to number or text.
        unit: the heading of a single column of values, with the unit: "error (°C)".
        title: what the table says, in one line above it.
        form: the format of fractions (whole numbers are shown as they are), one for all, or by name of row or column.
        bounds: (lowest, highest), both included, for numbers that depend on the processor; `None` for one side: there
            is no bound. `None` for both: the value varies, and nothing is claimed of it. For all values, or by name of
            row or column.
        claims: sentences, and whether each one holds.

    Raises:
        ValueError: no values, rows with different columns, or a bound, a form for something that is not there.
    """
    nested = {name: dict(row) if isinstance(row, Mapping) else {unit: row} for name, row in values.items()}
    columns = list(next(iter(nested.values()), {}))
    if not columns:
        raise ValueError("a table of measured values needs at least one value")
    for name, row in nested.items():
        if list(row) != columns:
            raise ValueError(f"row {name!r} has the columns {list(row)}, and the first row has {columns}")
    for setting in (form, bounds):
        unknown = set(setting) - set(nested) - set(columns) if isinstance(setting, Mapping) else ()
        if unknown:
            raise ValueError(f"there is no row or column {sorted(unknown)[0]!r}")

    shown, plain, ranges = [], [], []
    for name, row in nested.items():
        texts, compared, span = [name], [], ""
        for column, value in row.items():
            style = form if isinstance(form, str) else form.get(name, form.get(column, FRACTION))
            text = _write(value, style)
            limits = bounds.get(name, bounds.get(column, NONE)) if isinstance(bounds, Mapping) else bounds
            texts.append(text)
            kept, span = (text, span) if limits is NONE else _judge(value, text, limits, style)
            compared.append(kept)
        shown.append(texts)
        ranges.append(span)
        plain.append([name, *compared])
    head = ["", *columns]
    if len(columns) == 1 and set(ranges) - {"", VARIES}:  # a column of nothing but "varies" would read as a claim
        head.append("the lesson claims")
        shown = [[*texts, span] for texts, span in zip(shown, ranges, strict=True)]
    claimed = {sentence: bool(holds) for sentence, holds in (claims or {}).items()}
    lines = _align([["", *columns], *plain]) + [f"{MARKS[holds]}: {sentence}" for sentence, holds in claimed.items()]
    return Table(head, shown, "\n".join([title] * bool(title) + lines), claims=claimed, title=title)


def text_table(rows: Sequence[Sequence[str]], columns: Sequence[str], *, title: str = "") -> Table:
    """A table of texts, such as the output of a trained model, which may differ on another machine.

    The tests compare its headings alone.

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
    text = text.replace("-", "−") if text.startswith("-") else text
    return text.lstrip("−") if not text.strip("−0.,%") else text  # no "−0.000"


def _judge(value: Cell, text: str, limits: Bounds, style: str) -> tuple[str, str]:
    """What is compared of a value with bounds, and the bounds as a text."""
    if limits is None:
        return VARIES, VARIES
    low, high = limits
    whole = isinstance(getattr(value, "item", lambda: value)(), int)
    ends = ["" if end is None else _write(int(end) if whole else float(end), style) for end in limits]
    span = f"at least {ends[0]}" if high is None else f"at most {ends[1]}" if low is None else " to ".join(ends)
    if value is None or isinstance(value, str):
        raise ValueError(f"bounds are for numbers, and {value!r} is none; for a text that varies, give None")
    number = float(getattr(value, "item", lambda: value)())  # of a tensor with a gradient, too
    inside = (low is None or number >= low) and (high is None or number <= high)
    return (span if inside else f"{text}, which is not {span}"), span


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
