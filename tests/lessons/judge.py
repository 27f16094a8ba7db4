"""What a lesson claims of its numbers: bounds and sentences, by the id of a cell, in `claims/NN.toml`.

A trained model gives slightly different numbers on another processor. A learner sees a number; the tests look whether
it lies inside its bounds, in the stored output and in a new run. All other numbers of a table are compared as they are
shown. The claims stand here, and not in the lesson: there they would answer its predictions.

    ["l09-77"]
    bounds = { "post-norm" = [2.9, 3.2], "seconds" = [] }    # of rows and columns, or "*"; []: anything
    holds = ["without[-1] > 3"]                              # Python, in the lesson's kernel after the cell
    varies = "the tree of a model that was trained here"     # why nothing that the cell shows is compared

All that a run may show otherwise than the stored lesson stands here and in the claims: what differs by nature
(`NATURE`), numbers with bounds, texts of a text table (its headings are compared), and cells that vary. All other texts
have to be equal. nbval runs the notebook, and does not compare pictures; `notebooks/conftest.py` puts these functions
into nbval and asks `holds` after each cell.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

from nbformat import NotebookNode, from_dict

CLAIMS = Path(__file__).with_name("claims")
LOWERED = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
NUMBER = re.compile(r"[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?")
TABLE = '<table class="seqlearn-table">'
NATURE = {  # differs from run to run although the lesson is the same: pattern -> what is compared
    r"0x[0-9a-fA-F]{6,}": "0xADDRESS",  # as in <object at 0x7f21c4>
    r"Figure size [\d.]+x[\d.]+": "Figure size WxH",  # follows the words that a trained model chose
}


@dataclass(frozen=True)
class Claims:
    """What is claimed of one cell: see the example above."""

    bounds: dict[str, list[float]] = field(default_factory=dict)
    holds: list[str] = field(default_factory=list)
    varies: str = ""


@cache
def claims_of(lesson: str) -> dict[str, Claims]:
    """The claims of a lesson by the id of the cell; `lesson` is "09"."""
    file = CLAIMS / f"{lesson}.toml"
    found = tomllib.loads(file.read_text("utf-8")) if file.exists() else {}
    return {cell: Claims(**one) for cell, one in found.items()}


def judged(html: str, claims: Claims) -> str:
    """What is compared of a table: its texts, but the bounds of a number that lies inside them.

    Raises:
        ValueError: the claims name a row or a column that no table has, or a bound is of something that is no number.
    """
    root = ElementTree.fromstring(html)
    rows = [["".join(cell.itertext()) for cell in row] for row in root.iter("tr")]
    heads = rows.pop(0) if root.find("thead") is not None else []
    title = root.findtext("caption/b", "")
    names = {"*", *heads, *(row[0] for row in rows)}
    if unknown := set(claims.bounds) - names:
        raise ValueError(f"there is no row or column {sorted(unknown)[0]!r}")
    lines = [title, " | ".join(heads)]
    for name, *texts in rows:
        columns = heads[1:] or [""] * len(texts)
        kept = [_kept(text, _bounds(claims, name, column)) for text, column in zip(texts, columns, strict=True)]
        lines.append(" | ".join([name, *kept]))
    return "\n".join(lines)


def _bounds(claims: Claims, row: str, column: str) -> list[float] | None:
    found = (claims.bounds.get(name) for name in (row, column, "*"))
    return next((one for one in found if one is not None), None)


def _kept(text: str, bounds: list[float] | None) -> str:
    """A text without bounds as it is; else the bounds, and the number too if it is outside."""
    if bounds is None:
        return text
    if not bounds:
        return "varies"
    if not text:  # an empty cell of a row with bounds
        return text
    low, high = bounds
    plain = re.sub(r" × 10(\S+)", lambda power: f"e{power[1].translate(LOWERED)}", text)
    found = NUMBER.search(plain.replace("−", "-"))
    if found is None:
        raise ValueError(f"bounds are for numbers, and {text!r} is none")
    number = float(found[0].replace(",", "")) / (100 if "%" in text else 1)
    span = f"{low:g} to {high:g}"
    return span if low <= number <= high else f"{text}, which is not {span}"


def compared(outputs: Sequence[NotebookNode], claims: Claims) -> list[NotebookNode]:
    """The outputs of a cell as they are compared: tables of numbers as `judged` says, those of texts by their heads."""
    found = []
    if claims.varies:
        return found
    for output in outputs:
        html = output.get("data", {}).get("text/html", "")
        if html.startswith(TABLE):
            of_numbers = '<th scope="row"' in html
            plain = judged(html, claims) if of_numbers else output["data"]["text/plain"]
            output = from_dict({**output, "data": {"text/plain": plain}})
        found.append(_without_nature(output))
    return found


def _without_nature(output: NotebookNode) -> NotebookNode:
    """The output, its texts without what differs by nature."""
    output = from_dict({**output, "data": dict(output.get("data", {}))} if "data" in output else output)
    for holder, key in ((output, "text"), *((output.get("data", {}), kind) for kind in ("text/plain", "text/html"))):
        if isinstance(holder.get(key), str):
            for pattern, replacement in NATURE.items():
                holder[key] = re.sub(pattern, replacement, holder[key])
    return output
