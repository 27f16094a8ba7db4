"""Files of pairs: what is in them, what has to come of them, and random ones."""

from __future__ import annotations

import gzip
import tempfile
import warnings
import zlib
from pathlib import Path

from hypothesis import strategies as st

from seqlearn.data.corpus import from_files, from_tsv
from seqlearn.data.text import normalize

GOOD = [
    b"Go.\tVa !",
    b"Hi.\tSalut\xe2\x80\xaf!\tCC-BY somebody",
    "the cat\u2028sat\tle chat\x85assis\x0b".encode(),
    ("e" + "\u0301\u0323" * 3000 + "\té").encode(),
    "\u202eright to left\u202c\t\u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627".encode(),
    "a\u200bb\u200cc\u200dd\ufeff\t👩\u200d👩\u200d👧\u200d👦 🏳\ufe0f\u200d🌈".encode(),
    b"<pad>\t<unk> <eos>\t",
    " \u00a0x\t\x1cy\x1d".encode(),
    b'"\t"',
    b"'=cmd|' /C calc'!A0\t$(rm -rf /) `id`",
    "\U0010ffff\t\ufffe".encode(),
]
MALFORMED = [
    b"only one column",
    b"a\tb\tc\td",
    b"a\tb\tc\td\te",
    b"\t" * 1000,
    b"",
    b" ",
    b"\tb",
    b"a\t",
    b"a\t\tthird",
    "\u00a0\u2028\tb".encode(),
    b"a\t \x0b\x0c",
    b"\x1a\tb",
    b"nul\0\tb",
    b"a\tb\tnul in the third\0",
    b"a\tb\rc\td\re\tf",
    b"\ra\tb",
    b"\r",
]
NOT_UTF8 = [
    b"caf\xe9\tcaf\xe9",
    b"\xed\xa0\x80\tlone surrogate",
    b"a\t\xed\xa0\xbd\xed\xb8\x80",
    b"\xc0\xaf\toverlong",
    b"a\t\xf4\x90\x80\x80",
    b"half a character\t\xe2\x80",
    b"\x89PNG",
]
ENDS = [b"\n", b"\r\n"]


class Refused(Exception):
    """What the message has to hold, as far as that is certain."""


def expected_lines(name, raw):
    """The lines of a file, by a reading of its bytes that shares nothing with the package's."""
    if raw[:2] == b"\x1f\x8b" or name.endswith(".gz"):
        try:
            raw = gzip.decompress(raw)
        except (OSError, EOFError, zlib.error):
            raise Refused("") from None  # or its beginning is refused for another reason
    if raw in (b"", b"\xef\xbb\xbf"):
        raise Refused("is empty")
    lines = raw.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    decoded = []
    for number, line in enumerate(lines, 1):
        try:
            text = line.decode()
        except UnicodeDecodeError:
            raise Refused(f"line {number}: not UTF-8") from None
        while text.endswith("\r"):
            text = text[:-1]
        decoded.append(text[1:] if number == 1 and text[:1] == "\ufeff" else text)
    return decoded


def fit(text):
    """Whether a text has something to read in it: characters that leave no ink, such as \\x1a, are not enough."""
    return normalize(text) != "" and not set("\0\r\t") & set(text)


def expected_pairs(lines):
    """The well-formed pairs of a file's lines, and the numbers of the malformed lines."""
    pairs, bad = [], []
    for number, line in enumerate(lines, 1):
        columns = line.split("\t")
        if len(columns) in (2, 3) and fit(columns[0]) and fit(columns[1]) and fit(line.replace("\t", " ")):
            pairs.append((columns[0], columns[1]))
        else:
            bad.append(number)
    return pairs, bad


def expected_parallel(sources, targets):
    """The well-formed pairs of two lists of lines, and the numbers of the malformed pairs."""
    pairs, bad = [], []
    for number, pair in enumerate(zip(sources, targets, strict=True), 1):
        if fit(pair[0]) and fit(pair[1]):
            pairs.append(pair)
        else:
            bad.append(number)
    return pairs, bad


def counted(bad):
    return ["only malformed line"] if len(bad) == 1 else [f"{len(bad):,} malformed lines in all"]


def outcome(read, *paths, **options):
    """(pairs or None, what was said): the error or the warnings. Any error but ValueError is a traceback."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            corpus = read(*paths, **options)
        except ValueError as error:
            assert not isinstance(error, UnicodeError), f"a bare {error!r}"
            return None, [str(error)]
    return [(pair.source, pair.target) for pair in corpus.pairs], [str(found.message) for found in caught]


def check(found, pairs, bad, names, skip):
    """The outcome is the right one, in one short printable sentence where something is said."""
    got, said = found
    for message in said:
        assert len(message) < 500 and message.isprintable(), message[:2000]
        assert any(name in message for name in names), message
    if isinstance(pairs, Refused):
        assert got is None and str(pairs) in said[0], said
    elif not bad:
        assert got == pairs and not said
    else:
        assert len(said) == 1 and f"line {bad[0]}:" in said[0], said
        assert all(part in said[0] for part in counted(bad)), said
        assert got == (pairs if skip and pairs else None)
        assert got is None or f"{len(pairs):,} pairs remain" in said[0], said


# ---------------------------------------------------------------- random files

LINES = st.one_of(
    st.sampled_from(GOOD), st.sampled_from(GOOD), st.sampled_from(MALFORMED), st.sampled_from(NOT_UTF8),
    st.binary(max_size=30), st.text(max_size=20).map(lambda text: text.encode("utf-8", "surrogatepass")),
)  # fmt: skip
TEXTS = st.builds(
    lambda mark, lines, ends: mark + b"".join(part for both in zip(lines, ends, strict=False) for part in both),
    st.sampled_from([b"", b"", b"", b"\xef\xbb\xbf", b"\xff\xfe", b"\xff\xfe\0\0", b"\0\0\xfe\xff"]),
    st.lists(LINES, max_size=8),
    st.lists(st.sampled_from([*ENDS, b"\n", b""]), min_size=8, max_size=8),
)


@st.composite
def content(draw):
    """The bytes of a file: plain or gzip, whole or damaged."""
    raw = draw(TEXTS)
    if draw(st.integers(0, 2)) == 0:
        raw = gzip.compress(raw, 1, mtime=0)
        if draw(st.booleans()) and len(raw) > 1:
            place = draw(st.integers(0, len(raw) - 1))
            changed = draw(st.sampled_from([b"", bytes([raw[place] ^ 1]), b"\0\0"]))
            raw = raw[:place] + changed + raw[place + 1 :] if draw(st.booleans()) else raw[:place]
    return raw


NAMES = ["a.tsv", "a.tsv", "a.tsv.gz", "a.txt"]
CASES = st.tuples(st.sampled_from(NAMES), content(), st.one_of(st.none(), content()), st.booleans())


def read_files(case):
    """A TSV file, or two parallel files: the right pairs, or one sentence that names the first fault."""
    name, first, second, skip = case
    with tempfile.TemporaryDirectory() as folder:
        path, other = Path(folder) / name, Path(folder) / "b"
        path.write_bytes(first)
        if second is None:
            try:
                pairs, bad = expected_pairs(expected_lines(name, first))
            except Refused as refused:
                pairs, bad = refused, []
            check(outcome(from_tsv, path, skip_malformed=skip), pairs, bad, [str(path)], skip)
            return
        other.write_bytes(second)
        try:
            lines = [expected_lines(name, first), expected_lines("b", second)]
            if len(lines[0]) != len(lines[1]):
                raise Refused("must be parallel")
            pairs, bad = expected_parallel(*lines)
        except Refused as refused:
            pairs, bad = refused, []
        names = [str(path), str(other)]
        if bad:
            names = names[1:] if fit(lines[0][bad[0] - 1]) else names[:1]
        check(outcome(from_files, path, other, skip_malformed=skip), pairs, bad, names, skip)
