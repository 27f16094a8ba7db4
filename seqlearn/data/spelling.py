"""`normalize`: one spelling for texts that look the same to a reader (characters, quotes, spaces, case)."""

from __future__ import annotations

import itertools
import unicodedata
from typing import NamedTuple

import regex

# Control characters, soft hyphens, zero-width characters and byte-order marks. Nobody sees them, and they give one word
# two spellings. The two zero-width joiners shape words in some scripts (Persian, Hindi) and emoji, which keep them.
INVISIBLE = regex.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff]"
)
# The Unicode blocks of these scripts and of emoji, without the spaces in the blocks.
_JOINED = "[\u0590-\u167f\u1681-\u1cff\u2190-\u2fff\u3001-\U0010ffff]"
JOINER = regex.compile(rf"(?<!{_JOINED})[\u200c\u200d]|[\u200c\u200d](?!{_JOINED})")
_MANY_MARKS = regex.compile(r"\p{M}{32,}")
UNUSABLE = str.maketrans(
    {"\u2581": "_"}  # BPETokenizer writes "▁" for a space
    | dict.fromkeys(range(0xD800, 0xE000), "\ufffd")  # a lone surrogate is half a character; no UTF-8 file can hold it
)
SPELLINGS = UNUSABLE | str.maketrans(
    dict.fromkeys("\u2018\u2019\u201a\u201b\u02bc", "'") | dict.fromkeys("\u201c\u201d\u201e\u201f«»‹›", '"')
)
NO_BREAK = ("\u00a0", "\u202f")  # the spaces before ? and inside « », where a line must not end
_SPACES = regex.compile(r"[\s\x1c-\x1f]+")  # what `str.split` takes for space
# All characters that leave no ink: every kind of space, and the invisible characters.
BLANK = "".join(chr(i) for i in range(0x3001) if chr(i).isspace() or INVISIBLE.match(chr(i))) + "\u200c\u200d\ufeff"

ELISION = r"\b(?:jusqu|lorsqu|puisqu|quoiqu|qu|[cdjlmnst])'"
CLOSE_UP = {"fr": ".,)…", "": ".,;:!?)…%"}  # marks with no space before them
STAND_OFF = {"fr": "?!;:"}  # marks with a space before them, but not between two of them
OPENING = {"en": "($£€"}  # marks with no space after them

QUOTED = regex.compile(r'"\s*([^"]*?)\s*"')
_END = r"""(?=[\s"'.,;:!?…)]|$)"""  # not a mark inside a word or a number (3.5, 14:30, a.b): such marks stay


class _Rule(NamedTuple):
    """Replaces a pattern. A text with none of the `triggers` cannot match, and a search for triggers is faster."""

    triggers: list[str]
    pattern: regex.Pattern[str]
    replacement: str


def _spacing(language: str) -> list[_Rule]:
    """The rules for spaces around punctuation marks."""
    close_up = CLOSE_UP.get(language, CLOSE_UP[""])
    rules = [
        (["( "], r"\( ", "("),
        ([" " + mark for mark in close_up], rf" (?=[{close_up}]+{_END})", ""),
    ]
    if language == "fr":
        rules += [
            (list("?!;:"), r"(?<=[?!;:]) (?=[?!;:])", ""),
            (list("?!;:"), rf"(?<=[^\s?!;:(]) ?(?=[?!;:]+{_END})", " "),
            (["%"], r"(?<=\d) ?(?=%)", " "),
            (["' "], rf"({ELISION}) (?=\p{{L}})", r"\1"),
        ]
    return [_Rule(triggers, regex.compile(pattern), replacement) for triggers, pattern, replacement in rules]


SPACING = {language: _spacing(language) for language in ("", "fr")}


def normalize(text: str, language: str = "", cased: bool = False) -> str:
    """One spelling for texts that look the same to a reader: composed characters (NFC), plain spaces, lower case.

    Every kind of space becomes one plain space, invisible characters vanish, and curly quotes and guillemets become
    straight quotes. The spaces around punctuation marks follow the language: "Où ?" in French, "Where?" elsewhere.

    Args:
        language: "fr" has rules of its own; all other languages share theirs.
        cased: keep what people have typed: capital letters, quotes, no-break spaces, spaces around marks. Characters
            are still composed, invisible ones vanish, and a run of spaces becomes one.

    >>> normalize("«\\u00a0L\\u2019été\\u202f!\\u00a0»", "fr")
    '"l\\'été !"'

    Raises:
        TypeError: the text is not a str.
    """
    if not isinstance(text, str):
        raise TypeError(f"a text is a str, not {text!r} ({type(text).__name__})")
    if cased:
        text = _composed(INVISIBLE.sub("", text.translate(UNUSABLE)))
        return _SPACES.sub(_one_space, _composed(JOINER.sub("", text)).strip())
    if not text.isascii():
        text = INVISIBLE.sub("", text.translate(SPELLINGS))
        text = _composed(_composed(text).lower())  # again, because some letters compose only in lower case
        if "\u200c" in text or "\u200d" in text:
            text = _composed(JOINER.sub("", text))
    elif not text.isprintable():
        text = INVISIBLE.sub("", text)
    text = " ".join(text.lower().split())
    if '"' in text:
        text = QUOTED.sub(r'"\1"', text)
    for triggers, pattern, replacement in SPACING.get(language, SPACING[""]):
        if any(trigger in text for trigger in triggers):
            text = pattern.sub(replacement, text)
    return text


def _one_space(spaces: regex.Match[str]) -> str:
    """A no-break space alone as it is; any other run of spaces as a plain one."""
    return spaces[0] if spaces[0] in NO_BREAK else " "


def _composed(text: str) -> str:
    """The text in Unicode's normal form C.

    Python needs quadratic time to sort the marks (accents) on one letter. So a long run of marks is sorted here first.
    """
    return unicodedata.normalize("NFC", _MANY_MARKS.sub(_sorted, text))


def _sorted(marks: regex.Match[str]) -> str:
    """Marks in canonical order (Unicode, section 3.11): sorted by class, but no mark moves across one of class 0."""
    parts = (part for mark in marks[0] for part in unicodedata.normalize("NFD", mark))
    groups = itertools.groupby(parts, key=lambda mark: unicodedata.combining(mark) > 0)
    return "".join(mark for _, group in groups for mark in sorted(group, key=unicodedata.combining))
