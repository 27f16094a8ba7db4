"""One spelling for each text: characters, quotes, spaces."""

from __future__ import annotations

import itertools
import unicodedata

import regex

# Controls, soft hyphens, zero-width characters and byte-order marks: invisible, and they split one word into two
# spellings. The two joiners shape words in some scripts (Persian, Hindi) and emoji: there they stay.
_INVISIBLE = regex.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff]"
)
_JOINED = "[\u0590-\u167f\u1681-\u1cff\u2190-\u2fff\u3001-\U0010ffff]"  # no spaces
_JOINER = regex.compile(rf"(?<!{_JOINED})[\u200c\u200d]|[\u200c\u200d](?!{_JOINED})")
_MANY_MARKS = regex.compile(r"\p{M}{32,}")
_SPELLINGS = str.maketrans(
    dict.fromkeys("\u2018\u2019\u201a\u201b\u02bc", "'")
    | dict.fromkeys("\u201c\u201d\u201e\u201f«»‹›", '"')
    | {"\u2581": "_"}  # BPETokenizer writes a space so
    | dict.fromkeys(range(0xD800, 0xE000), "\ufffd")  # half a character, which no file can hold
)
# Blank to the eye, at the ends of a text: every kind of space, and the invisible.
BLANK = "".join(chr(i) for i in range(0x3001) if chr(i).isspace() or _INVISIBLE.match(chr(i))) + "\u200c\u200d\ufeff"

ELISION = r"\b(?:jusqu|lorsqu|puisqu|quoiqu|qu|[cdjlmnst])'"
CLOSE_UP = {"fr": ".,)…", "": ".,;:!?)…%"}  # marks with no space before them
STAND_OFF = {"fr": "?!;:"}  # marks with a space before them, but not between two of them
OPENING = {"en": "($£€"}  # marks with no space after them

_QUOTED = regex.compile(r'"\s*([^"]*?)\s*"')
_END = r"""(?=[\s"'.,;:!?…)]|$)"""  # a mark inside a word or number (3.5, 14:30, a.b) stays where it is


def _spacing(language: str) -> list[tuple[list[str], regex.Pattern, str]]:
    """What to replace, by what, and the strings without one of which there is nothing to replace."""
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
    return [(needed, regex.compile(pattern), replacement) for needed, pattern, replacement in rules]


_SPACING = {language: _spacing(language) for language in ("", "fr")}


def normalize(text: str, language: str = "") -> str:
    """One spelling for what a reader takes to be the same text: composed characters, plain spaces, lower case.

    Every kind of space becomes one plain space, invisible characters vanish, curly quotes and guillemets become
    straight ones. Marks are spaced as the language has it, however they were: "Où ?" in French, "Where?" elsewhere.

    >>> normalize("«\\u00a0L\\u2019été\\u202f!\\u00a0»", "fr")
    '"l\\'été !"'
    """
    if not text.isascii():
        text = _INVISIBLE.sub("", text.translate(_SPELLINGS))
        text = _composed(_composed(text).lower())  # some lower-case letters compose anew
        if "\u200c" in text or "\u200d" in text:
            text = _composed(_JOINER.sub("", text))
    elif not text.isprintable():
        text = _INVISIBLE.sub("", text)
    text = " ".join(text.lower().split())
    if '"' in text:
        text = _QUOTED.sub(r'"\1"', text)
    for needed, pattern, replacement in _SPACING.get(language, _SPACING[""]):
        if any(marks in text for marks in needed):
            text = pattern.sub(replacement, text)
    return text


def _composed(text: str) -> str:
    """NFC. Python sorts the marks on one letter in quadratic time, so very many of them are sorted here before."""
    return unicodedata.normalize("NFC", _MANY_MARKS.sub(_sorted, text))


def _sorted(marks: regex.Match) -> str:
    """The same marks in canonical order (Unicode, section 3.11): by class, but none moves across one of class 0."""
    parts = (part for mark in marks[0] for part in unicodedata.normalize("NFD", mark))
    groups = itertools.groupby(parts, key=lambda mark: unicodedata.combining(mark) > 0)
    return "".join(mark for _, group in groups for mark in sorted(group, key=unicodedata.combining))
