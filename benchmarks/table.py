"""What benchmarks find, as rows of a table in Markdown, and the figures that the README takes from it.

In RESULTS.md a comment with its key stands behind each figure that is the main one of its row. `FIRST_PAGE` names the
rows of the README's table with their keys: a test compares the figures, and `bench --readme` writes them.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Sequence
from typing import NamedTuple

HEAD = ("what", "ours", "beside", "theirs", "ours is ... times as fast")
RATES = ("tokens/s",)  # units of which more is better
KEY = r"[a-z0-9-]+"
FIGURE = re.compile(rf"(\d[\d,.]*)<!-- ({KEY}) -->")  # in RESULTS.md
FIRST_PAGE = {
    "BLEU of the small Transformer, on unseen sentences of the built-in corpus": "quality-transformer",
    "BLEU of recurrent nets with attention, on the same sentences": "quality-bahdanau",
    "training: times as fast as d2l's layers, on equal batches": "training-course-transformer-d2l",
    "training: times as fast as `nn.Transformer`, on equal batches": "training-course-transformer-torch-nn",
    "training: times as fast as d2l, each with its own batches and updates": "training-course-transformer-d2l-own",
    "beam search: times as fast as `generate` of Hugging Face": "decoding-beam-4-transformers",
    "beam search: times as fast as CTranslate2, which is made for speed": "decoding-beam-4-ctranslate2",
    "in a page: milliseconds until the model is ready": "pages-ready",
    "in a page: milliseconds for a translation": "pages-greedy",
}  # the rows of the README's table, and their keys in RESULTS.md


class LeftOut(Exception):
    """Something that is not measured on this machine; one sentence says what, and how to get it."""


class Failure(NamedTuple):
    """A part that ended with an error, as a row of the table."""

    part: str
    sentence: str
    peer: str = ""

    def cells(self) -> list[str]:
        """The texts of the columns."""
        return [f"the part {self.part}", "failed", "", "", "", self.sentence.replace("|", "/")]


class Measured(NamedTuple):
    """The median of some values; half of the values lie between `low` and `high`."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Measured:
        """The median and the quartiles of at least one value."""
        low, median, high = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else values * 3
        return cls(median, low, high)


class Row(NamedTuple):
    """One measurement.

    Attributes:
        key: names the figure of this row: the ratio, or `ours` where there is no ratio.
        what: what was measured.
        unit: of `ours` and `theirs`.
        ours, theirs: of this package, and of another library, named `peer`.
        ratio: how many times as fast ours is, round by round.
        equal: what was equal for both; without a peer, under which conditions it was measured.
    """

    key: str
    what: str
    unit: str
    ours: Measured
    equal: str
    peer: str = ""
    theirs: Measured | None = None
    ratio: Measured | None = None

    @classmethod
    def alone(cls, key: str, what: str, unit: str, values: Sequence[float], conditions: str) -> Row:
        """A row without a peer."""
        return cls(key, what, unit, Measured.of(values), conditions)

    @classmethod
    def beside(
        cls, key: str, what: str, unit: str, ours: Sequence[float], peer: str, theirs: Sequence[float], equal: str
    ) -> Row:
        """A row from rounds in which both took their turn: the ratio is that of each round.

        Raises:
            ValueError: the two have not measured the same number of rounds.
        """
        pairs = list(zip(ours, theirs, strict=True))
        ratios = [mine / other if unit in RATES else other / mine for mine, other in pairs]
        return cls(key, what, unit, Measured.of(ours), equal, peer, Measured.of(theirs), Measured.of(ratios))

    def cells(self) -> list[str]:
        """The texts of the columns, as in `HEAD` and one more; the figure is followed by its key."""
        mark = f"<!-- {self.key} -->"
        if self.theirs is None or self.ratio is None:
            return [self.what, value(self.ours, self.unit, mark), "", "", "", self.equal]
        theirs, ratio = value(self.theirs, self.unit), value(self.ratio, mark=mark, digits=2)
        return [self.what, value(self.ours, self.unit), self.peer, theirs, ratio, self.equal]


def number(x: float, digits: int = 3) -> str:
    """With so many digits that count, and commas: 12,300, 99.0, 1.93, 0.0512."""
    if not x:
        return "0"
    rounded = float(f"{x:.{digits - 1}e}")
    after = max(0, digits - len(str(int(rounded)))) if rounded >= 1 else digits - int(f"{rounded:e}"[-3:]) - 1
    return f"{rounded:,.{after}f}"


def value(found: Measured, unit: str = "", mark: str = "", digits: int = 3) -> str:
    """The median with its key and unit; in brackets the two values between which half of all lie, if they differ."""
    median, low, high = (number(each, digits) for each in found)
    spread = "" if low == high else f" ({low} to {high})"
    return f"{median}{mark}{unit and ' '}{unit}{spread}"


def markdown(rows: Sequence[Row | Failure], keys: bool = True) -> str:
    """A table, whose columns are as wide as their longest text. A column without a text is left out.

    Args:
        keys: whether figures are followed by their keys, which a terminal would show.
    """
    if not rows:
        return ""
    last = {(True, False): "what was equal", (False, True): "how it was measured"}
    ends = any(row.peer for row in rows), not all(row.peer for row in rows)
    lines = [[*HEAD, last.get(ends, "what was equal, or how it was measured")], *(row.cells() for row in rows)]
    if not keys:
        lines = [[re.sub(f"<!-- {KEY} -->", "", text) for text in line] for line in lines]
    columns = [column for column in zip(*lines, strict=True) if any(column[1:])]
    padded = [[text.ljust(max(map(len, column))) for text in column] for column in columns]
    padded = [[column[0], "-" * len(column[0]), *column[1:]] for column in padded]
    return "".join(f"| {' | '.join(line)} |\n" for line in zip(*padded, strict=True))


def slug(text: str) -> str:
    """A text as a part of a key."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def figures(results: str) -> dict[str, str]:
    """key -> figure, as in the text of RESULTS.md."""
    return {key: figure for figure, key in FIGURE.findall(results)}


def rows_of(text: str) -> dict[str, str]:
    """what -> figure, as in the README's table."""
    return dict(re.findall(r"^\| (.+?) +\| ([\d,.]+) \|$", text, re.MULTILINE))


def wrong_figures(text: str, results: str) -> list[str]:
    """A sentence for each row of `FIRST_PAGE` whose figure in a text, the README, is not the one in RESULTS.md."""
    known, said = figures(results), rows_of(text)
    return [
        f"{what}: the text says {said.get(what, 'nothing')}, and docs/RESULTS.md says {known.get(key, 'nothing')}."
        for what, key in FIRST_PAGE.items()
        if what not in said or said[what] != known.get(key)
    ]


def with_figures(text: str, results: str) -> str:
    """A text, the README, with the figures that RESULTS.md has now; a row that was not measured keeps its figure."""
    known = figures(results)
    for what, key in FIRST_PAGE.items():
        row = rf"^(\| {re.escape(what)} +\| )[\d,.]+(?= \|$)"
        if key in known:
            text = re.sub(row, rf"\g<1>{known[key]}", text, flags=re.MULTILINE)
    return text
