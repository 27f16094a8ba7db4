"""The pieces of a SentencePiece model, a `.spm` file, without its library: a reader, its characters, and its splitting.

A unigram model (Kudo, 2018) gives each piece a log-probability, and splits a text into the pieces with the largest sum;
Hugging Face `tokenizers` finds them. Before that, the text gets the spelling of the file: a table in it says which
characters become which. `tokenizers` can apply this table, too (`Precompiled`), but it looks at letters with all their
accents where SentencePiece looks for the longest entry, so one text in seven with rare accents came out different.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from ..runtime.ownership import reading

if TYPE_CHECKING:
    import tokenizers

T = TypeVar("T")
NORMAL, UNKNOWN, CONTROL, UNUSED = 1, 2, 3, 5  # types of pieces; a text never holds the last three
UNIGRAM = 1  # the type of a model
SPACE = "▁"  # stands for a space in a piece
SETTINGS = {3: "add_dummy_prefix", 4: "remove_extra_whitespaces", 5: "escape_whitespaces"}


class Unigram:
    """Splits texts as a SentencePiece unigram model does.

    Args:
        pieces: with their log-probabilities.
        characters: the table of characters in the file, `precompiled_charsmap`; empty: characters stay as they are.
    """

    def __init__(self, pieces: list[tuple[str, float]], characters: bytes = b""):
        self.pieces, self.characters = pieces, characters
        size = int.from_bytes(characters[:4], "little")
        if not pieces or not all(piece and math.isfinite(score) for piece, score in pieces):
            raise ValueError("it has no pieces, or one without text or probability")
        if size % 4 or 4 + size > max(4, len(characters)):
            raise ValueError("its table of characters is cut off")
        self._units = struct.unpack_from(f"<{size // 4}I", characters, 4) if size else ()
        self._texts = characters[4 + size :]

    @classmethod
    def read(cls, content: bytes) -> Unigram:
        """Read a `.spm` file: a `ModelProto` of `sentencepiece_model.proto`, in the wire format of protocol buffers.

        Raises:
            ValueError: it is damaged, or a model of another kind.
        """
        pieces: list[tuple[str, float]] = []
        characters = b""
        with reading("it"):
            for field, value in _fields(content):
                if field == 1:
                    piece = dict(_fields(value))
                    kind = piece.get(3, NORMAL)
                    if kind not in (NORMAL, UNKNOWN, CONTROL, UNUSED):
                        raise ValueError(f"it has a piece of type {kind}: bytes, or a symbol that somebody defined")
                    if kind == NORMAL:
                        pieces.append((piece[1].decode(), _of(float, piece.get(2, 0.0))))
                elif field == 2 and dict(_fields(value)).get(3, UNIGRAM) != UNIGRAM:
                    raise ValueError("it is not a unigram model")
                elif field == 3:
                    stored = dict(_fields(value))
                    if off := [name for number, name in SETTINGS.items() if not stored.get(number, 1)]:
                        raise ValueError(f"its setting {off[0]} is off")
                    characters = _of(bytes, stored.get(2, b""))
        return cls(pieces, characters)

    def normalize(self, text: str) -> str:
        """The spelling that the pieces have: characters by the table, and no more than one space."""
        whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # no half characters
        return re.sub(" +", " ", self._spelled(whole.encode()).strip(" "))

    def split(self, text: str) -> list[str]:
        """The pieces of a text, "▁" for a space and before the first word; a run of unknown characters is one."""
        text = self.normalize(text)
        return self._backend.encode((SPACE + text.replace(" ", SPACE)).rstrip(SPACE)).tokens if text else []

    @cached_property
    def _backend(self) -> tokenizers.Tokenizer:
        from tokenizers import Tokenizer, models

        return Tokenizer(models.Unigram([(" ", 0.0), *self.pieces], unk_id=0))  # no text that is split holds a space

    def _spelled(self, text: bytes) -> str:
        found, start = bytearray(), 0
        while start < len(text):
            end, at = self._longest(text, start)
            if at is None:
                end = next((i for i in range(start + 1, len(text)) if text[i] & 0xC0 != 0x80), len(text))
                found += text[start:end]  # a character that is not in the table
            else:
                found += self._texts[at:].partition(b"\0")[0]
            start = end
        return found.decode(errors="replace")

    def _longest(self, text: bytes, start: int) -> tuple[int, int | None]:
        """The end of the longest entry of the table that the text has here, and where its new text stands."""
        units, node, end, at = self._units, 0, start, None
        unit = units[0] if units else 0
        for i in range(start, len(text) if units else start):
            node ^= unit >> 10 << ((unit & 1 << 9) >> 6)  # a trie as a double array, as Darts-clone packs it
            node ^= text[i]
            unit = units[node] if node < len(units) else 0
            if unit & (1 << 31 | 255) != text[i]:
                break
            value = node ^ unit >> 10 << ((unit & 1 << 9) >> 6)
            if unit >> 8 & 1 and value < len(units):
                end, at = i + 1, units[value] & 0x7FFFFFFF
        return end, at


def _fields(message: bytes) -> Iterator[tuple[int, Any]]:  # Any: int, float or bytes, as the message says
    """The fields of a protobuf message: number and value, a text or a message inside as bytes."""
    at = 0
    while at < len(message):
        key, at = _number(message, at)
        kind, field = key & 7, key >> 3
        if kind == 0:
            value, at = _number(message, at)
            yield field, value
            continue
        if kind not in (1, 2, 5):
            raise ValueError("it is damaged: it is not a protobuf message")
        size, at = _number(message, at) if kind == 2 else ({1: 8, 5: 4}[kind], at)
        content, at = message[at : at + size], at + size
        if at > len(message):
            raise ValueError("it is damaged: it is cut off")
        yield field, struct.unpack("<f", content)[0] if kind == 5 else content


def _of(kind: type[T], value: object) -> T:
    if not isinstance(value, kind):
        raise TypeError(f"a field is {value!r}")
    return value


def _number(message: bytes, at: int) -> tuple[int, int]:
    """A whole number, seven bits in a byte, and where it ends."""
    value = shift = 0
    while True:
        if shift == 70:
            raise ValueError("it is damaged: a whole number has 10 bytes at most")
        byte = message[at]
        value, shift, at = value | (byte & 127) << shift, shift + 7, at + 1
        if byte < 128:
            return value, at
