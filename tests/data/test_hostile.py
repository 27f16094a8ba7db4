"""What a hostile user may feed to the data code: odd bytes, odd text, odd lengths. No traceback, no hang, no loss."""

import gzip
import io
import itertools
import os
import random
import subprocess
import sys
import unicodedata
import zipfile
from collections import Counter
from pathlib import Path

import pytest
import torch
from hypothesis import example, given, settings, strategies as st
from typer.testing import CliRunner

from fuzzing.files import (
    ENDS,
    GOOD,
    MALFORMED,
    NOT_UTF8,
    Refused,
    check,
    expected_lines,
    expected_pairs,
    expected_parallel,
    fit,
    outcome,
)
from fuzzing.texts import (
    ANY,
    DENSE,
    HOSTILE_LINES,
    LANGUAGES,
    PARTS,
    cased_text_is_clean,
    ids_give_the_text_back,
    normalized_text_is_clean,
    tokens_stay,
)
from seqlearn.cli import app
from seqlearn.data.batches import BATCHINGS, Batches, pad
from seqlearn.data.corpus import from_files, from_tsv
from seqlearn.data.large import files
from seqlearn.data.pairs import Pair
from seqlearn.data.text import SPECIALS, Language, WordTokenizer, normalize

pytestmark = pytest.mark.slow

robust = settings(derandomize=True, max_examples=300)

# ---------------------------------------------------------------- files: what is in them


def text_files(rng):
    """Seeded contents of some hundred text files, most of them bad somewhere."""
    for count in range(220):
        kinds = [GOOD] * 12 + [MALFORMED] * (count % 3) + [NOT_UTF8] * (count % 7 == 0)
        lines = [rng.choice(rng.choice(kinds)) for _ in range(rng.choice([1, 2, 3, 8, 30]))]
        ends = [rng.choice(ENDS if count % 4 else ENDS[:1]) for _ in lines]
        if count % 5 == 0:
            ends[-1] = b""
        yield rng.choice([b"", b"", b"\xef\xbb\xbf"]) + b"".join(itertools.chain(*zip(lines, ends, strict=True)))
    for bad in [*MALFORMED, *NOT_UTF8]:  # each alone, and in the middle
        yield bad
        yield b"a\tb\n" + bad + b"\nc\td\n"
    text = "Où ?\tLà !\n" * 3
    yield from (text.encode(code) for code in ("latin-1", "utf-16", "utf-16-le", "utf-16-be", "utf-32"))
    yield from (b"", b"\n", b"\r\n", b"\xef\xbb\xbf", b"\xef\xbb\xbf\n", b"\n" * 500, b"\0" * 5000, b"\r" * 500)
    yield from (
        b"\xef\xbb\xbf" * 2 + b"a\tb",
        b"a\tb\n\xef\xbb\xbfc\td\n",
        b"\xef\xbb",
        b"\xff\xfe",
        b"\x1f",
        b"\x1f\x8b",
    )
    yield b"a\tb\rc\td\r" * 1000  # an old Mac's line ends
    yield b"a\tb " * 250_000  # 1 MB, no line ends at all
    yield b"x " * 250_000 + b"\t" + b"y" * 500_000 + b"\na\tb\n"  # 1 MB, and well-formed
    yield b"q\tr\n" + b"z" * 1_000_000 + b"\n"
    yield b"i\tj\n" * 3000 + b"k\n" + b"l\tm\n" * 10
    yield b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"
    with zipfile.ZipFile(packed := io.BytesIO(), "w") as archive:
        archive.writestr("fra.txt", text)
    yield packed.getvalue()


def all_files():
    """(name, content): the texts plain, as gzip, as gzip that is broken, and with the wrong suffix."""
    rng = random.Random(0)
    for number, text in enumerate(text_files(rng)):
        yield "a.tsv", text
        if number % 3 and len(text) < 10**5:
            continue
        packed = gzip.compress(text, 1, mtime=0)
        yield rng.choice(["a.tsv.gz", "a.tsv"]), packed
        yield from [("a.tsv.gz", text)] * (number % 9 == 0)  # packed, it says
        broken = [
            packed[: rng.randrange(1, len(packed))],
            packed[:-8] + bytes([packed[-8] ^ 1]) + packed[-7:],
            packed[:10] + b"\xff" * 5 + packed[15:],
            packed + rng.choice([b"garbage", b"\0" * 9, packed, packed[:7]]),
            gzip.compress(packed, 1, mtime=0),
        ]
        yield "a.tsv.gz", broken[number // 3 % len(broken)]


# ---------------------------------------------------------------- files: what must come of them


def test_some_hundred_hostile_files(tmp_path):
    tried = Counter()
    for number, (name, content) in enumerate(all_files()):
        path = tmp_path / name
        path.write_bytes(content)
        try:
            pairs, bad = expected_pairs(expected_lines(name, content))
        except Refused as refused:
            pairs, bad = refused, []
        for skip in (False, True):
            try:
                check(outcome(from_tsv, path, skip_malformed=skip), pairs, bad, [str(path)], skip)
            except Exception as error:
                error.add_note(f"file {number}, {name}, skip_malformed={skip}: {content[:300]!r}")
                raise
        tried["refused" if isinstance(pairs, Refused) else "malformed" if bad else "good"] += 1
    assert min(tried.values()) > 50 and tried.total() > 400, tried


def test_hostile_files_side_by_side(tmp_path):
    rng = random.Random(1)
    sides = [b"a", b"b c", b"a\ttab", "\u2028é".encode(), b"\0", b"", b" ", b"x\ry", b"\xff", "\ufeff".encode() + b"a"]
    for number in range(150):
        count, contents, expected = rng.choice([1, 2, 5, 20]), [], []
        for side in range(2):
            lines = rng.choices(sides, [40, 40, 9, 9, 1, 1, 1, 1, 0.3, 1], k=count + (number % 10 == 0) * side)
            contents.append(b"".join(line + rng.choice(ENDS) for line in lines))
        paths = [tmp_path / "a.en", tmp_path / "a.fr.gz"]
        paths[0].write_bytes(contents[0])
        paths[1].write_bytes(gzip.compress(contents[1], 1))
        try:
            for content in contents:
                expected.append(expected_lines("", content))
            if len(expected[0]) != len(expected[1]):
                raise Refused("must be parallel")
            pairs, bad = expected_parallel(*expected)
        except Refused as refused:
            pairs, bad = refused, []
        names = [str(path) for path in paths]
        if bad:
            names = names[1:] if fit(expected[0][bad[0] - 1]) else names[:1]
        for skip in (False, True):
            try:
                check(outcome(from_files, *paths, skip_malformed=skip), pairs, bad, names, skip)
            except Exception as error:
                error.add_note(f"files {number}, skip_malformed={skip}: {contents!r}")
                raise


def test_a_line_that_fills_the_memory_is_refused_before(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "LONGEST", 1000)
    for name, pack in (("a.tsv", bytes), ("a.gz", gzip.compress)):
        path = tmp_path / name
        path.write_bytes(pack(b"a\t" + b"b" * 997 + b"\n"))  # 1000 bytes
        assert len(from_tsv(path)) == 1
        path.write_bytes(pack(b"a\tb\n\xc3\xa9\t" + b"b" * 998))
        with pytest.raises(ValueError, match="line 2: longer than 1,000 bytes"):
            from_tsv(path)


# ---------------------------------------------------------------- text


@pytest.mark.parametrize("language", LANGUAGES)
@given(text=ANY | DENSE)
@example("中\u200d\u061c\u200d中")  # what stands between two joiners goes
@example("中\u200d\u2c62")  # a letter whose lower-case form is of another block
@example("👩\u200d\u1680\u200d👩")
@example("J\u030c")  # composes only in lower case
@robust
def test_normalized_text_is_clean_stays_so_and_its_words_lose_nothing(language, text):
    normalized_text_is_clean(text, language)
    cased_text_is_clean(text, language)


def test_very_many_marks_on_a_letter_keep_their_canonical_order():
    marks = [chr(code) for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code))[0] == "M"]
    rng = random.Random(0)
    for _ in range(500):
        text = "e" + "".join(rng.choices([*rng.sample(marks, 4), "\u0300", "\u0323", "\u0344", "\u0f73"], k=60)) + "a"
        assert normalize(text) == unicodedata.normalize("NFC", text)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_character_there_is_but_most_ideographs(language):
    codes = map(chr, range(sys.maxunicode + 1))
    some = [each for each in codes if unicodedata.category(each) not in ("Cn", "Co", "Lo", "Cs") or ord(each) % 64 == 0]
    text = " ".join(f"a{each}b{each}\u200d中" for each in some)
    found = normalize(text, language)
    again = normalize(found, language)
    changed = [both for both in zip(found.split(" "), again.split(" "), strict=False) if both[0] != both[1]]
    assert again == found, ascii(changed[:3])
    assert "".join(WordTokenizer(language).tokenize(found)) == found.replace(" ", "")


@pytest.mark.parametrize("language", LANGUAGES)
def test_tokens_shown_as_text_are_the_same_tokens_again(language):
    """All short texts of letters, digits and marks; a mark (accent) with no letter before it is no text."""
    tokenizer = WordTokenizer(language)
    for length in (1, 2, 3):
        for chosen in itertools.product(PARTS, repeat=length):
            tokens_stay(tokenizer, "".join(chosen))
    rng = random.Random(0)
    for _ in range(2000):
        tokens_stay(tokenizer, "".join(rng.choices(PARTS, k=rng.randrange(4, 12))))


@pytest.fixture(scope="module", params=["word", "bpe", "cased bpe"])
def language(request, tmp_path_factory):
    """A language of hostile lines, and the same after a stay in a file."""
    cased, tokens = request.param.startswith("cased"), request.param.removeprefix("cased ")
    made = Language.learn("fr", HOSTILE_LINES, tokens=tokens, size=300, cased=cased)
    path = tmp_path_factory.mktemp("language") / "fr.json"
    made.save(path)
    loaded = Language.load(path)
    assert loaded.vocab.tokens == made.vocab.tokens and loaded.tokenizer.state() == made.tokenizer.state()
    return made, loaded


@given(
    text=ANY | DENSE | st.text(st.sampled_from(sorted(set("".join(HOSTILE_LINES))))) | st.sampled_from([*SPECIALS, "▁"])
)
@robust
def test_ids_of_any_text(language, text):
    ids_give_the_text_back(*language, text)


@pytest.mark.parametrize("kind", ["en", "fr", "general", "bpe"])
def test_no_long_line_hangs(kind):
    """Linear time for lines of 100,000 and of a million characters. See `long_lines.py` on the guard against hanging.

    Nothing here depends on how fast the machine is: a line that takes about a second may take 30 seconds of processor
    time, and in quadratic time it would take minutes or hours. The ten minutes are for systems without such limits.
    """
    script = Path(__file__).with_name("long_lines.py")
    paths = os.pathsep.join([str(script.parents[2]), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, str(script), kind],
        capture_output=True, text=True, timeout=600, env=os.environ | {"PYTHONPATH": paths},
    )  # fmt: skip
    last = done.stdout.splitlines()[-1:]
    assert done.returncode == 0 and last == ["done"], f"exit {done.returncode} at {last}: {done.stderr[-2000:]}"


# ---------------------------------------------------------------- batches


def make_batches(lengths, batch_size, seed, batching, max_length=None):
    pairs = [Pair(" ".join([f"s{n}", *["s"] * a]), " ".join([f"t{n}", *["t"] * b])) for n, (a, b) in enumerate(lengths)]
    sides = [Language.learn("", [getattr(pair, side) for pair in pairs]) for side in ("source", "target")]
    batches = Batches(pairs, *sides, batch_size, seed, batching=batching, max_length=max_length)
    return batches, pairs, *sides


def shown(batches, source, target):
    """The pairs of each batch as text; all beyond the valid lengths is padding."""
    for batch in batches:
        rows = []
        for left, width, right, other in zip(*(part.tolist() for part in batch), strict=True):
            assert set(left[width:]) <= {source.vocab.pad} and set(right[other:]) <= {target.vocab.pad}
            assert left[width - 1] == source.vocab.eos and right[other - 1] == target.vocab.eos
            rows.append((source.decode(left[:width]), target.decode(right[:other])))
        yield rows


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=200),
    st.integers(1, 70),
    st.integers(0, 3),
    st.sampled_from(BATCHINGS),
)
@settings(robust, max_examples=50)
def test_each_pair_once_an_epoch_in_an_order_of_seed_and_epoch_alone(lengths, batch_size, seed, batching):
    made = [make_batches(lengths, batch_size, seed, batching) for _ in range(2)]
    (first, pairs, *sides), (second, *_) = made
    expected = Counter((pair.source, pair.target) for pair in pairs)
    epochs = [list(shown(first.epoch(number), *sides)) for number in range(2)]
    for epoch in (*epochs, list(shown(first, *sides))):
        assert Counter(itertools.chain(*epoch)) == expected
        assert len(epoch) == len(first) and max(map(len, epoch)) == min(batch_size, len(pairs))
    assert list(shown(second.epoch(1), *sides)) == epochs[1]  # though it never saw epoch 0
    assert 0 <= first.padding(1) < 1 and first.cut == 0
    for batch in first.epoch(0):
        if batching != "fixed":
            assert batch.source.shape[1] == batch.source_lens.max() and batch.target.shape[1] == batch.target_lens.max()


@pytest.mark.parametrize("batching", BATCHINGS)
@pytest.mark.parametrize("side", [0, 1])
def test_a_line_of_a_megabyte_is_left_out_and_counted(batching, side):
    lengths = [(n % 4, n % 3) for n in range(20)]
    lengths[7] = [(500_000, 1), (1, 500_000)][side]
    batches, pairs, *sides = make_batches(lengths, 8, 0, batching, max_length=256)
    assert batches.left_out == 1
    expected = Counter((pair.source, pair.target) for pair in pairs if len(pair.source + pair.target) < 1000)
    assert Counter(itertools.chain(*shown(batches.epoch(0), *sides))) == expected and expected.total() == 19
    assert all(max(batch.source.shape[1], batch.target.shape[1]) < 10 for batch in batches)
    with pytest.raises(ValueError, match="all 1 are longer than 256 tokens"):
        Batches([pairs[7]], *sides, max_length=256)


@given(st.lists(st.lists(st.integers(0, 9), max_size=6), min_size=1, max_size=9), st.integers(1, 9))
@robust
def test_pad_cuts_and_fills(sentences, steps):
    ids, lengths = pad(sentences, 7, steps)
    assert ids.shape == (len(sentences), steps) and ids.dtype == torch.long
    for row, length, sentence in zip(ids.tolist(), lengths.tolist(), sentences, strict=True):
        assert row[:length] == sentence[:steps] and length == min(len(sentence), steps)
        assert row[length:] == [7] * (steps - length)


# ---------------------------------------------------------------- the command line

run = CliRunner().invoke
SMALL = "--epochs 1 --embed-size 4 --hidden 4 --batch-size 16 --held-out 0.2 --device cpu".split()


@pytest.fixture(autouse=True)
def on_the_cpu(monkeypatch):
    monkeypatch.setenv("SEQLEARN_DEVICE", "cpu")  # and put back what --device sets


def test_hostile_files_are_one_sentence_on_the_command_line(tmp_path):
    tried = 0
    for name, content in [*all_files()][::7]:
        path, out = tmp_path / name, tmp_path / "model"
        path.write_bytes(content)
        try:
            if not expected_pairs(expected_lines(name, content))[1]:
                continue
        except Refused:
            pass
        result = run(app, ["train", "--corpus", str(path), "--out", str(out), *SMALL])
        note = f"{name}: {content[:200]!r}\n{result.output}"
        assert result.exit_code == 1 and isinstance(result.exception, SystemExit), note
        assert result.stderr.startswith("seqlearn: ") and result.stderr.rstrip("\n").isprintable(), note
        assert str(path) in result.stderr and not result.stdout and not out.exists(), note
        path.unlink()
        tried += 1
    assert tried > 30


@pytest.fixture(scope="module", params=["word", "bpe"])
def trained(request, tmp_path_factory):
    """Trained on what is well-formed of a hostile file; the rest is counted."""
    folder = tmp_path_factory.mktemp("trained")
    lines = [f"{a} {b}\t{b} {a} !".encode() for a in "red green blue".split() for b in "one two three four".split()]
    lines += [line for line in [*GOOD, *MALFORMED] if b"\xcc" not in line]
    (folder / "a.tsv").write_bytes(b"\n".join([*lines, b"z " * 100_000 + b"\tz"]))
    options = ["--tokens", request.param, "--skip-malformed", *SMALL]
    options += ["--vocab-size", "200"] if request.param == "bpe" else []
    result = run(app, ["train", "--corpus", str(folder / "a.tsv"), "--out", str(folder / "model"), *options])
    assert result.exit_code == 0, result.output
    assert f"{len(MALFORMED)} malformed lines" in result.stderr and "left out" in result.stderr
    return folder / "model"


def test_a_hostile_sentence_is_translated_all_the_same(trained):
    sentences = [
        "",
        " ",
        "\0",
        "\ud800 red",
        "\u0301" * 50,
        "<unk> <pad>",
        "▁",
        "red\none\ttwo",
        "a-" * 50,
        "👩\u200d👧",
        "'",
    ]
    for sentence in [*sentences, *(line.decode() for line in GOOD if len(line) < 999)]:
        result = run(app, ["translate", str(trained), "--", sentence])
        assert result.exit_code == 0, f"{sentence[:50]!r}: {result.output} {result.exception!r}"
        assert "Traceback" not in result.output
