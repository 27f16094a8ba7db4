"""Lines in, lines out: what `seqlearn translate` reads and writes. Memory holds one chunk of lines at a time.

A line with more tokens than --max-source is refused. (`Translator.search` has `max_length`, for the translation.)
"""

from __future__ import annotations

import gzip
import io
import os
import stat
import sys
import zlib
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING

import typer

from ..data.large.files import LONGEST, open_bytes
from ..runtime.ownership import naming, replacing
from .errors import printable
from .search import SearchOptions, check_characters, check_tokens

if TYPE_CHECKING:
    from ..data.pairs import Link
    from ..search.hypotheses import Hypothesis
    from ..translator.translator import Translator

MOST_WORDS = 10  # how many unknown words are named at most
BATCHES = 64  # in a chunk: a batch holds sentences of similar length, so a chunk is far larger than a batch
# What would end a column or a line, and all else that controls a terminal: a space stands for each.
_BREAKS = str.maketrans(dict.fromkeys([*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029], " "))


@dataclass(frozen=True)
class Line:
    """A line of the input: where it stands (for errors), its number (from 1) and its text."""

    where: str
    number: int
    text: str


@dataclass(frozen=True)
class Sentence:
    """A line that was split into tokens. A line without tokens gets an empty translation."""

    number: int
    text: str
    tokens: list[str]


@dataclass(frozen=True)
class Columns:
    """What is written for each line besides its translation.

    Args:
        n_best: write this many translations, each after the number of its line; None: one, without the number.
        scores: write the beam score.
        alignments: write the links of the tokens.
        tokens: write the tokens of both sides.
    """

    n_best: int | None = None
    scores: bool = False
    alignments: bool = False
    tokens: bool = False


@dataclass
class UnknownWords:
    """Words that were read as <unk>: the first few of them, and how many lines have such words."""

    words: dict[str, None] = field(default_factory=dict)
    lines: int = 0

    def add(self, words: Iterable[str]) -> None:
        """Count the unknown words of one line."""
        words = list(words)
        self.lines += bool(words)
        for word in words:
            if len(self.words) <= MOST_WORDS:
                self.words[word] = None

    def say(self, lines: int) -> None:
        """Show a warning if there were any. `lines`: how many lines were read."""
        if self.words:
            names = ", ".join(list(self.words)[:MOST_WORDS]) + (", ..." if len(self.words) > MOST_WORDS else "")
            where = f" (in {self.lines:,} of {lines:,} lines)" if lines > 1 else ""
            typer.secho(f"not in the vocabulary, read as <unk>: {printable(names)}{where}", fg="yellow", err=True)


def one_line(text: str) -> Iterator[Line]:
    """The sentence of the command line, as the only line."""
    yield Line("the sentence", 1, text.encode("utf-8", "replace").decode())  # a shell may pass half a character


def lines_of(path: Path | None) -> Iterator[Line]:
    """The lines of a UTF-8 file, plain or gzip, or of standard input. The file is opened at once.

    Raises:
        ValueError: the path is a folder, or standard input is closed. Later, while lines are read: a line is not
            UTF-8, or longer than 16 MB.
        FileNotFoundError: there is no such file.
    """
    if path is None and sys.stdin is None:
        raise ValueError("standard input is closed: give a sentence, or --file")
    if path is None:
        return _read(sys.stdin.buffer.readline, "standard input")
    return _read_and_close(open_bytes(path), str(path))


def _read_and_close(file: io.BufferedIOBase, name: str) -> Iterator[Line]:
    with file:
        yield from _read(file.readline, name)


def _read(readline: Callable[[int], bytes], name: str) -> Iterator[Line]:
    number = 0
    while raw := _next_line(readline, name):
        number += 1
        where = f"{name}, line {number}"
        if len(raw) > LONGEST:
            raise ValueError(f"{where}: longer than {LONGEST:,} bytes; is this a text file?")
        try:
            text = raw.removeprefix(BOM_UTF8 if number == 1 else b"").decode("utf-8")
        except UnicodeDecodeError as error:
            raise ValueError(f"{where}: not UTF-8 ({error.reason})") from None
        yield Line(where, number, text.removesuffix("\n").rstrip("\r"))


def _next_line(readline: Callable[[int], bytes], name: str) -> bytes:
    try:
        with naming(name):
            return readline(LONGEST + 1)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(f"{name}: not a whole gzip file ({error})") from None


def sentences_of(lines: Iterable[Line], translator: Translator, max_source: int) -> Iterator[Sentence]:
    """The lines, split into tokens.

    Raises:
        ValueError: a line has more than `max_source` tokens.
    """
    for line in lines:
        check_characters(line.text, line.where, max_source)
        tokens = translator.source.tokenizer.tokenize(line.text)
        check_tokens(len(tokens), line.where, max_source)
        yield Sentence(line.number, line.text, tokens)


def chunks(sentences: Iterable[Sentence], size: int) -> Iterator[list[Sentence]]:
    """Lists of `size` sentences, in order. An error in a line comes after the sentences before it."""
    chunk: list[Sentence] = []
    fault = None
    try:
        for sentence in sentences:
            chunk.append(sentence)
            if len(chunk) == size:
                yield chunk
                chunk = []
    except ValueError as error:
        fault = error
    if chunk:
        yield chunk
    if fault:
        raise fault


def translate_lines(
    translator: Translator,
    lines: Iterable[Line],
    output: IO[str],
    options: SearchOptions,
    columns: Columns,
    *,
    batch_size: int,
    max_source: int,
    chunk: int,
) -> None:
    """Write the translation of each line, in order, chunk by chunk; then warn of unknown words.

    Args:
        options: of the search.
        chunk: how many lines are searched together.

    Raises:
        ValueError: a line cannot be read or has too many tokens. The lines before it have been written.
    """
    unknown, read = UnknownWords(), 0
    try:
        for sentences in chunks(sentences_of(lines, translator, max_source), chunk):
            read += len(sentences)
            for sentence in sentences:
                unknown.add(token for token in dict.fromkeys(sentence.tokens) if token not in translator.source.vocab)
            output.writelines(row + "\n" for row in rows(translator, sentences, options, columns, batch_size))
            output.flush()
    finally:
        unknown.say(read)


@contextmanager
def output_to(path: Path | None, check: Callable[[], None] | None = None) -> Iterator[IO[str]]:
    """What translations are written to: standard output, or a file that is there when the block has ended well."""
    if path is None:
        yield _utf8_output()
        return
    with replacing(path, check) as new, new.open("w", encoding="utf-8", errors="replace", newline="\n") as file:
        yield file


def check_streams(file: Path | None, out: Path | None) -> None:
    """Refuse to read the file that is written to: `translate --file a.txt >> a.txt` would never end.

    Args:
        file: that is read; None: standard input is.
        out: that is written to; None: standard output is.

    Raises:
        ValueError: both are the same file.
    """
    ends = (file, sys.stdin), (out, sys.stdout)
    try:
        read, written = (os.stat(path) if path else os.fstat(stream.fileno()) for path, stream in ends)
    except (OSError, ValueError, AttributeError):  # one of them does not exist, or is not a file
        return
    if stat.S_ISREG(read.st_mode) and os.path.samestat(read, written):
        raise ValueError(f"{file or 'standard input'} is read and written to at once: write to another file")


def _utf8_output() -> IO[str]:
    """Standard output. A file or a pipe gets UTF-8, whatever the language of the system; a terminal knows its own."""
    if isinstance(sys.stdout, io.TextIOWrapper) and not sys.stdout.isatty():
        sys.stdout.reconfigure(encoding="utf-8", errors="replace")
    return sys.stdout


def rows(
    translator: Translator, sentences: Sequence[Sentence], options: SearchOptions, columns: Columns, batch_size: int
) -> Iterator[str]:
    """The lines to write for these sentences: one for each, or `columns.n_best`. Columns are joined by tabs."""
    full = [sentence.text for sentence in sentences if sentence.tokens]
    progress = None if sys.stderr.isatty() else False
    found = translator.search(full, batch_size, n_best=columns.n_best or 1, progress=progress, **options)
    pairs = [(text, each) for text, several in zip(full, found, strict=True) for each in several]
    links = iter(translator.links(pairs, batch_size) if columns.alignments else [])
    hypotheses = iter(found)
    for sentence in sentences:
        for hypothesis in next(hypotheses) if sentence.tokens else [None]:
            linked = next(links, ()) if hypothesis else ()
            yield "\t".join(_cells(translator, sentence, hypothesis, linked, columns))


def _cells(
    translator: Translator, sentence: Sentence, hypothesis: Hypothesis | None, links: Iterable[Link], columns: Columns
) -> list[str]:
    """The columns of one line. A sentence without tokens has no hypothesis, and its columns are empty."""
    ids = hypothesis.tokens if hypothesis else []
    cells = [str(sentence.number)] if columns.n_best else []
    cells.append(translator.target.decode(ids))
    if columns.scores:
        cells.append(f"{hypothesis.score:.4f}" if hypothesis else "")
    if columns.alignments:
        cells.append(" ".join(f"{source}-{target}" for source, target in sorted(links)))
    if columns.tokens:
        cells += [" ".join(sentence.tokens), " ".join(translator.target.vocab.decode(ids))]
    return [on_one_line(cell) for cell in cells]


def on_one_line(text: str) -> str:
    """The text, with a space for each character that would end its line or its column, or control a terminal."""
    return text.translate(_BREAKS)
