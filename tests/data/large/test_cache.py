"""The ids of a large corpus in files: the same batches as from memory, whatever happens to the files."""

import json
import os
import subprocess
import sys
import time
from itertools import chain
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings, strategies as st

from seqlearn.data.batches import BATCHINGS, Batches
from seqlearn.data.corpus import Corpus, builtin, from_files, from_tsv
from seqlearn.data.large import cache as caches
from seqlearn.data.text import Language, Vocab, WordTokenizer

PAIRS = builtin(300).pairs
SOURCE = Language.learn("en", [pair.source for pair in PAIRS])
TARGET = Language.learn("fr", [pair.target for pair in PAIRS])


@pytest.fixture(autouse=True)
def _written_in_many_parts(monkeypatch):
    monkeypatch.setattr(caches, "BUFFER", 7)


def assert_same(one, other):
    """The same batches in the same order, bit for bit."""
    for number in (0, 1):
        for batch, expected in zip(one.epoch(number), other.epoch(number), strict=True):
            assert all(
                torch.equal(*both) and both[0].dtype == both[1].dtype for both in zip(batch, expected, strict=True)
            )
    for batch, expected in zip(one, other, strict=True):
        assert all(map(torch.equal, batch, expected))
    assert one.fingerprint() == other.fingerprint() and one.left_out == other.left_out
    assert one.padding() == other.padding() and one.cut == other.cut


def written(folder):
    """The folders of ids in a cache."""
    return sorted(path for path in Path(folder).iterdir() if path.is_dir())


@pytest.fixture(scope="module")
def corpora(tmp_path_factory):
    """The same pairs in a list, in a file and in two files; and corpora that are made from these."""
    folder = tmp_path_factory.mktemp("corpora")
    for name in ("tsv", "en", "fr"):
        lines = [{"tsv": f"{pair.source}\t{pair.target}", "en": pair.source, "fr": pair.target}[name] for pair in PAIRS]
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    tsv = from_tsv(folder / "tsv", ("en", "fr"))
    return {
        "list": Corpus("list", ("en", "fr"), PAIRS).pairs,
        "tsv": tsv.pairs,
        "files": from_files(folder / "en", folder / "fr", ("en", "fr")).pairs,
        "train": tsv.split(0.2, 0.2).train,
        "valid": tsv.split(0.2, 0.2).valid,
        "other valid": tsv.split(0.2, 0.2, seed=1).valid,
        "limited": tsv.limited(200).pairs,
        "other limited": tsv.limited(200, seed=1).pairs,
        "reversed": tsv.reversed().pairs,
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", "list tsv files train valid limited reversed".split())
def test_batches_from_the_cache_are_those_from_memory(corpora, tmp_path, name):
    sides = (TARGET, SOURCE) if name == "reversed" else (SOURCE, TARGET)
    for options in ({}, {"max_length": 8}):
        cached = Batches(corpora[name], *sides, 16, 3, **options, cache=tmp_path)
        assert_same(cached, Batches(corpora[name], *sides, 16, 3, **options))
    assert cached.left_out > 0 and len(written(tmp_path)) == 2


def test_pairs_that_come_only_once_are_read_twice(tmp_path):
    assert_same(Batches(iter(PAIRS), SOURCE, TARGET, cache=tmp_path), Batches(PAIRS, SOURCE, TARGET))


@pytest.mark.parametrize("batching", BATCHINGS)
def test_all_ways_of_batching(tmp_path, batching):
    steps = 7 if batching == "fixed" else None
    cached, memory = (Batches(PAIRS, SOURCE, TARGET, 16, batching=batching, steps=steps, cache=folder)
                      for folder in (tmp_path, None))  # fmt: skip
    assert_same(cached, memory)


def test_sentences_in_files_are_sentences(tmp_path):
    cached, memory = (Batches(PAIRS, SOURCE, TARGET, cache=folder).targets for folder in (tmp_path, None))
    assert [list(each) for each in cached] == [list(each) for each in memory] == list(cached[:])
    assert list(cached[-1]) == list(memory[-1]) and cached.lengths.tolist() == memory.lengths.tolist()
    with pytest.raises(IndexError):
        cached[300]


@pytest.mark.parametrize(("tokens", "size"), [(1 << 16, 2), ((1 << 16) + 1, 4)])
def test_a_large_vocabulary_takes_four_bytes_a_token(tmp_path, tokens, size):
    words = [f"w{number}" for number in range(tokens - 4)]
    large = Language(WordTokenizer(""), Vocab.of(words))
    pairs = [type(PAIRS[0])(f"w0 {word}", "b") for word in words[-3:]]
    cached = Batches(pairs, large, TARGET, cache=tmp_path)
    assert_same(cached, Batches(pairs, large, TARGET))
    (place,) = written(tmp_path)
    assert int(cached.sources.ids.max()) == tokens - 1
    assert (place / "sources.ids").stat().st_size == size * len(cached.sources.ids)


def test_the_second_time_nothing_is_encoded(corpora, tmp_path, monkeypatch):
    first = Batches(corpora["train"], SOURCE, TARGET, cache=tmp_path)
    monkeypatch.setattr(caches, "encode", None)
    assert_same(Batches(corpora["train"], SOURCE, TARGET, cache=tmp_path), first)
    assert Batches(corpora["train"], SOURCE, TARGET, seed=1, cache=tmp_path).fingerprint() != first.fingerprint()


@pytest.mark.slow
def test_what_changes_the_ids_is_written_anew(corpora, tmp_path):
    other = Language.learn("en", [pair.source for pair in PAIRS[:50]])
    general = Language(WordTokenizer(""), SOURCE.vocab)  # the same vocabulary, other rules for words
    ways = [
        (corpora["tsv"], SOURCE, TARGET, None), (corpora["files"], SOURCE, TARGET, None),
        (corpora["tsv"], other, TARGET, None), (corpora["tsv"], general, TARGET, None),
        (corpora["tsv"], SOURCE, TARGET, 6), (corpora["tsv"], SOURCE, TARGET, 7),
        (corpora["valid"], SOURCE, TARGET, None), (corpora["other valid"], SOURCE, TARGET, None),
        (corpora["reversed"], SOURCE, TARGET, None), (PAIRS[:299], SOURCE, TARGET, None),
        (corpora["limited"], SOURCE, TARGET, None), (corpora["other limited"], SOURCE, TARGET, None),  # of one size
    ]  # fmt: skip
    for number, (pairs, source, target, longest) in enumerate(ways, 1):
        cached = Batches(pairs, source, target, max_length=longest, cache=tmp_path)
        assert_same(cached, Batches(pairs, source, target, max_length=longest))
        assert len(written(tmp_path)) == number


def test_a_file_that_changed_is_read_again(tmp_path):
    path = tmp_path / "a.tsv"
    for text in ("a man\tun homme\n", "a dog\tun chien\n"):  # of the same length
        path.write_text(text, encoding="utf-8")
        os.utime(path, ns=(0, 0))  # not even the time tells them apart
        pairs = from_tsv(path, ("en", "fr")).pairs
        assert_same(
            Batches(pairs, SOURCE, TARGET, cache=tmp_path / "cache"), Batches(from_tsv(path).pairs, SOURCE, TARGET)
        )
    assert len(written(tmp_path / "cache")) == 2


def flip(path):
    """Change one bit in the middle of a file."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


DAMAGE = {
    "a bit": flip,
    "cut": lambda path: path.write_bytes(path.read_bytes()[:-8]),
    "empty": lambda path: path.write_bytes(b""),
    "missing": lambda path: path.unlink(),
    "zeros": lambda path: path.write_bytes(bytes(path.stat().st_size)),
}


@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("name", ["sources.ids", "targets.ends"])
def test_damaged_ids_are_written_again(tmp_path, name, damage):
    memory = Batches(PAIRS, SOURCE, TARGET)
    Batches(PAIRS, SOURCE, TARGET, cache=tmp_path)
    (place,) = written(tmp_path)
    whole = {path.name: path.read_bytes() for path in place.iterdir()}
    DAMAGE[damage](place / name)
    with pytest.warns(UserWarning, match=r"the ids in .* are damaged: they are written again"):
        assert_same(Batches(PAIRS, SOURCE, TARGET, cache=tmp_path), memory)
    assert {path.name: path.read_bytes() for path in place.iterdir()} == whole


@pytest.mark.parametrize("text", ["[]", "{}", '{"sources": ["<u2"]}', "null", "\udcff", ""])
def test_ids_without_their_description_may_be_files_of_somebody_else(tmp_path, text):
    Batches(PAIRS, SOURCE, TARGET, cache=tmp_path)
    (place,) = written(tmp_path)
    (place / "about.json").write_text(text, encoding="utf-8", errors="surrogateescape")
    before = {path.name: path.read_bytes() for path in place.iterdir()}
    with pytest.warns(UserWarning, match="damaged"), pytest.raises(OSError, match="or is not ours: move it away"):
        Batches(PAIRS, SOURCE, TARGET, cache=tmp_path)
    assert {path.name: path.read_bytes() for path in place.iterdir()} == before


def test_a_file_of_somebody_else_beside_damaged_ids_stays(tmp_path):
    Batches(PAIRS, SOURCE, TARGET, cache=tmp_path)
    (place,) = written(tmp_path)
    (place / "sources.ids").write_bytes(b"")
    (place / "thesis.txt").write_text("years of work", encoding="utf-8")
    with pytest.warns(UserWarning, match="damaged"), pytest.raises(OSError, match="or is not ours: move it away"):
        Batches(PAIRS, SOURCE, TARGET, cache=tmp_path)
    assert (place / "thesis.txt").read_text("utf-8") == "years of work"


def test_an_error_while_ids_are_written_leaves_nothing(tmp_path, monkeypatch):
    class Broken(Language):
        def encode(self, text):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Batches(PAIRS, Broken(SOURCE.tokenizer, SOURCE.vocab), TARGET, cache=tmp_path)
    with pytest.raises(ValueError, match="no pairs to make batches of: all 300 are longer than 1 tokens"):
        Batches(PAIRS, SOURCE, TARGET, max_length=1, cache=tmp_path)
    assert written(tmp_path) == []
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match=r"the ids of 300 pairs cannot be written to .*file"):
        Batches(PAIRS, SOURCE, TARGET, cache=tmp_path / "file")


SCRIPT = """
import json, sys, time
from pathlib import Path
from seqlearn.data.large import cache
from seqlearn.data.batches import Batches
from seqlearn.data.corpus import from_tsv
from seqlearn.data.text import Language

folder = Path(sys.argv[1])
pairs = from_tsv(folder / "pairs.tsv", ("en", "fr")).pairs
source = Language.learn("en", [pair.source for pair in pairs])
target = Language.learn("fr", [pair.target for pair in pairs])
encode, calls = cache.encode, []

def slow(*arguments):
    calls.append(1)
    while not (folder / "go on").exists():
        time.sleep(0.01)
    return encode(*arguments)

cache.encode = slow
print("ready", flush=True)
sys.stdin.readline()
batches = Batches(pairs, source, target, cache=folder / "cache")
print(json.dumps([len(calls), batches.fingerprint()]))
"""


@pytest.fixture
def processes(tmp_path):
    """Starts processes that make batches of the same file. Who writes the ids waits for a file named "go on"."""
    (tmp_path / "pairs.tsv").write_text("".join(f"{pair.source}\t{pair.target}\n" for pair in PAIRS), encoding="utf-8")
    started = []

    def start():
        command = [sys.executable, "-c", SCRIPT, str(tmp_path)]
        process = subprocess.Popen(
            command, stdin=-1, stdout=-1, stderr=-1, text=True, cwd=Path(caches.__file__).parents[3]
        )
        started.append(process)
        assert process.stdout.readline() == "ready\n", process.stderr.read()
        process.stdin.write("go\n")
        process.stdin.flush()
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def wait_for_ids(folder, process):
    """Wait until a process writes ids."""
    while not list(folder.glob("cache/*.new/*.ids")):
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.01)


@pytest.mark.slow
def test_two_processes_at_once_write_the_ids_once(tmp_path, processes):
    first = processes()
    wait_for_ids(tmp_path, first)
    second = processes()
    assert "another process writes the ids" in second.stderr.readline()
    (tmp_path / "go on").touch()
    results = [process.communicate() for process in (first, second)]
    calls, fingerprints = zip(*(json.loads(out) for out, _ in results), strict=True)
    assert calls == (1, 0) and set(fingerprints) == {Batches(PAIRS, SOURCE, TARGET).fingerprint()}


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="SIGKILL")
def test_what_a_killed_process_leaves_is_removed(tmp_path, processes):
    killed = processes()
    wait_for_ids(tmp_path, killed)
    killed.kill()
    killed.wait()
    assert len(list(tmp_path.glob("cache/*.new"))) == 1
    pairs = from_tsv(tmp_path / "pairs.tsv", ("en", "fr")).pairs
    memory = Batches(PAIRS, SOURCE, TARGET)
    assert_same(Batches(pairs, SOURCE, TARGET, cache=tmp_path / "cache"), memory)
    (place,) = written(tmp_path / "cache")
    assert not place.name.endswith(".new")


class Sections(Batches):
    """Sections so small that a test has several of them."""

    BLOCK, SECTION = 8, 32


def numbers(plan):
    return [group.tolist() for group in plan]


@pytest.mark.slow
@settings(max_examples=60)
@given(
    st.integers(1, 300), st.integers(1, 20), st.sampled_from(BATCHINGS), st.integers(0, 3), st.integers(0, 3), st.data()
)
def test_sections_hold_each_pair_once_in_an_order_of_seed_and_epoch_alone(count, size, batching, seed, epoch, data):
    batches = Sections(PAIRS[:count], SOURCE, TARGET, size, seed, batching=batching)
    plan = numbers(batches._plan(epoch))
    assert sorted(chain(*plan)) == list(range(count)) and len(plan) == len(batches)
    assert sorted(map(len, plan))[1:] == [size] * (len(plan) - 1)  # at most one is smaller
    list(batches._plan(epoch + 1))  # what ran before must not matter
    start = data.draw(st.integers(0, len(plan)))
    again = Sections(PAIRS[:count], SOURCE, TARGET, size, seed, batching=batching)
    assert numbers(again._plan(epoch, start)) == plan[start:]
    assert len(list(again.epoch(epoch, start))) == len(plan) - start


def test_sections_mix_the_corpus():
    batches = Sections(PAIRS, SOURCE, TARGET, 4, batching="dynamic")
    first, second = (numbers(batches._plan(epoch)) for epoch in (0, 1))
    assert first != second and first != numbers(Sections(PAIRS, SOURCE, TARGET, 4, 1, batching="dynamic")._plan(0))
    section = list(chain(*first[:6]))  # of the first section, which has 3 or 4 blocks of 8 pairs
    assert len({number // 8 for number in section}) in (3, 4) and max(section) - min(section) > 100
    assert {number // 8 for number in section} != {number // 8 for number in chain(*second[:6])}
    assert all(len({number // 8 for number in group}) > 1 for group in first[:6])  # the blocks are mixed
    widths = {batching: Sections(PAIRS, SOURCE, TARGET, 4, batching=batching).padding() for batching in BATCHINGS}
    assert widths["bucketed"] < 0.6 * widths["dynamic"]


def test_the_order_of_sections_is_the_same_everywhere():
    """Trained models hang on it: it may not change with a version of anything."""
    plan = numbers(Sections(PAIRS[:70], SOURCE, TARGET, 8, batching="dynamic")._plan(0))
    assert [group[0] for group in plan] == [54, 24, 50, 0, 34, 1, 14, 13, 11]


def test_only_the_sections_that_are_needed_are_planned(monkeypatch):
    batches, planned = Sections(PAIRS, SOURCE, TARGET, 4), []
    plan = batches._section_plan
    monkeypatch.setattr(batches, "_section_plan", lambda pairs, *rest: planned.append(len(pairs)) or plan(pairs, *rest))
    next(batches.epoch(0))
    assert len(planned) == 1
    next(batches.epoch(0, start=len(batches) - 1))
    assert len(planned) == 2


def test_batches_in_sections_are_the_same_from_the_cache(tmp_path):
    assert_same(Sections(PAIRS, SOURCE, TARGET, 4, cache=tmp_path), Sections(PAIRS, SOURCE, TARGET, 4))


def test_up_to_a_million_pairs_have_one_section():
    """The order of all corpora of the lessons is that of a plain shuffle, whatever the batch size."""
    for size in (1, 64, 100, 1000):
        batches = Batches(PAIRS[:2], SOURCE, TARGET, size)
        batches.sources.__class__ = type("Long", (type(batches.sources),), {"__len__": lambda self: 1_000_000})
        assert len(list(batches._sections(0))) == 1
