"""Corpora from the grammar, from files and over the network; the split."""

import gzip
import hashlib
import http.server
import threading
import zipfile
from pathlib import Path

import pytest

from seqlearn.data import corpus as corpora
from seqlearn.data.corpus import Corpus, builtin, distinct_sources, fra_eng, from_files, from_tsv
from seqlearn.data.pairs import Antecedent, Pair


@pytest.fixture(scope="module")
def small():
    return builtin(3000)


def test_builtin_is_large_and_its_repr_stays(small):
    assert repr(small) == "Corpus(builtin, en -> fr, 3,000 pairs)"
    assert len(small) == 3000 and all(pair.alignment for pair in small.pairs)


def test_split_is_disjoint_by_source_sentence_and_complete(small):
    spaced = [Pair(pair.source.replace(".", " .").upper(), pair.target) for pair in small.pairs[:500]]
    corpus = Corpus("x", ("en", "fr"), small.pairs + spaced)  # the same sentences, spelt otherwise
    parts = corpus.split(valid=0.2, test=0.3)
    assert sum(map(len, parts)) == len(corpus)
    train, valid, test = (distinct_sources(part, "en") for part in parts)
    assert not train & valid and not train & test and not valid & test
    assert len(valid) / 3000 == pytest.approx(0.2, abs=0.03) and len(test) / 3000 == pytest.approx(0.3, abs=0.03)


def test_split_is_seeded_and_does_not_depend_on_order_or_company(small):
    test = {pair.source for pair in small.split(seed=1).test}
    assert test == {pair.source for pair in Corpus("x", ("en", "fr"), small.pairs[::-1]).split(seed=1).test}
    half = {pair.source for pair in Corpus("x", ("en", "fr"), small.pairs[::2]).split(seed=1).test}
    assert half == test & {pair.source for pair in small.pairs[::2]}
    assert test != {pair.source for pair in small.split(seed=2).test}


def test_split_refuses_impossible_shares(small):
    with pytest.raises(ValueError, match=r"0\.5 and 0\.6"):
        small.split(0.5, 0.6)


def test_compositional_split(small):
    seen, held_out = small.split_combinations(0.1)
    assert len(seen) + len(held_out) == len(small) and 0.02 < len(held_out) / len(small) < 0.4
    known = {text for pair in seen for text in pair.combinations}
    assert all(not set(pair.combinations) <= known for pair in held_out)


def test_reversed_twice_is_the_same():
    pair = Pair("a b", "x y", ((0, 1), (1, 0)), (Antecedent(1, 0, 0, 1, None, 3, False),))
    back = pair.reversed()
    assert (back.source, back.target, back.alignment) == ("x y", "a b", ((0, 1), (1, 0)))
    assert back.antecedents[0].source_noun == 1 and back.antecedents[0].source_article == 3
    assert back.reversed() == pair
    corpus = Corpus("x", ("en", "fr"), [pair])
    assert corpus.reversed().languages == ("fr", "en") and corpus.reversed().pairs == [back]


def test_limited_draws_from_the_whole(small):
    few = small.limited(300)
    positions = [small.pairs.index(pair) for pair in few.pairs]
    assert len(few) == 300 and positions == sorted(positions) and positions[0] < 300 and positions[-1] > 2700
    assert small.limited(9999) is small


def test_tsv_with_two_or_three_columns_plain_or_gzip(tmp_path):
    text = "Go.\tVa !\nHi.\tSalut\u202f!\tCC-BY somebody\r\nod\u2028d\tligne\n"
    (tmp_path / "a.tsv").write_text("\ufeff" + text, encoding="utf-8", newline="")
    (tmp_path / "a.tsv.gz").write_bytes(gzip.compress(text.encode()))
    for name in ("a.tsv", "a.tsv.gz"):
        pairs = from_tsv(tmp_path / name, ("en", "fr")).pairs
        assert [(pair.source, pair.target) for pair in pairs] == [
            ("Go.", "Va !"),
            ("Hi.", "Salut\u202f!"),
            ("od\u2028d", "ligne"),
        ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"one\ttwo\nonly one\n\nx\t\n", r"a\.tsv, line 2: .*3 such lines"),
        (b"", "is empty"),
        (b"a\tb\nc\t\xff\n", "not UTF-8"),
        (b"a\tb\tc\td\n", "line 1"),
    ],
)
def test_bad_files_are_named_with_their_line(tmp_path, content, message):
    (tmp_path / "a.tsv").write_bytes(content)
    with pytest.raises(ValueError, match=message):
        from_tsv(tmp_path / "a.tsv")


def test_not_a_file(tmp_path):
    with pytest.raises(ValueError, match="is a folder"):
        from_tsv(tmp_path)
    with pytest.raises(FileNotFoundError, match="nowhere"):
        from_tsv(tmp_path / "nowhere.tsv")
    (tmp_path / "a.gz").write_bytes(b"plain text")
    with pytest.raises(ValueError, match="gzip"):
        from_tsv(tmp_path / "a.gz")


def test_parallel_files(tmp_path):
    source, target = tmp_path / "a.en", tmp_path / "a.fr"
    source.write_text("one\ntwo\n", encoding="utf-8")
    target.write_text("un\ndeux\n", encoding="utf-8")
    assert [(p.source, p.target) for p in from_files(source, target).pairs] == [("one", "un"), ("two", "deux")]
    target.write_text("un\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"2 lines and .* has 1"):
        from_files(source, target)
    target.write_text("un\n \n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"a\.fr, line 2"):
        from_files(source, target)


def test_fra_eng_from_a_folder(tmp_path, monkeypatch):
    (tmp_path / "fra-eng").mkdir()
    (tmp_path / "fra-eng" / "fra.txt").write_text("Go.\tVa !\n", encoding="utf-8")
    assert repr(fra_eng(tmp_path)) == "Corpus(fra-eng, en -> fr, 1 pairs)"
    assert len(fra_eng(tmp_path / "fra-eng")) == 1
    monkeypatch.setenv("SEQLEARN_DATA", str(tmp_path))
    assert len(fra_eng()) == 1
    with pytest.raises(FileNotFoundError, match=r"neither fra-eng/fra\.txt nor fra\.txt"):
        fra_eng(tmp_path / "elsewhere")


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """A server on this machine in place of d2l's hub, an empty cache, and no SEQLEARN_DATA."""
    served = tmp_path / "served"
    served.mkdir()
    with zipfile.ZipFile(served / "fra-eng.zip", "w") as archive:
        archive.writestr("fra-eng/fra.txt", "Go.\tVa !\n")
    handler = type("Quiet", (http.server.SimpleHTTPRequestHandler,), {"log_message": lambda *args: None})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), lambda *args: handler(*args, directory=str(served)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/fra-eng.zip"
    sha1 = hashlib.sha1((served / "fra-eng.zip").read_bytes()).hexdigest()
    monkeypatch.delenv("SEQLEARN_DATA", raising=False)
    monkeypatch.setattr(corpora, "_hub_entry", lambda: (url, sha1))
    monkeypatch.setattr("platformdirs.user_cache_path", lambda name: tmp_path / "cache")
    yield served / "fra-eng.zip", tmp_path / "cache", server
    server.shutdown()


def files(folder: Path) -> list[str]:
    return [path.name for path in folder.rglob("*") if path.is_file()]


def test_download_and_then_the_cache(hub):
    archive, cache, _ = hub
    assert len(fra_eng()) == 1 and files(cache) == ["fra.txt"]
    archive.unlink()
    assert len(fra_eng()) == 1


def test_a_wrong_checksum_leaves_nothing_behind(hub):
    archive, cache, _ = hub
    archive.write_bytes(archive.read_bytes() + b"x")
    with pytest.raises(ConnectionError, match="sha1"):
        fra_eng()
    assert files(cache) == []


def test_offline_is_said_and_the_built_in_corpus_named(hub):
    archive, cache, server = hub
    server.shutdown()
    server.server_close()
    with pytest.raises(ConnectionError, match=r"built-in corpus needs no network .* SEQLEARN_DATA"):
        fra_eng()
    archive.unlink()
    assert files(cache) == []


def test_the_hub_is_d2ls():
    url, sha1 = corpora._hub_entry()
    assert url.endswith("fra-eng.zip") and sha1 == "94646ad1522d915e7b0f9296181140edcf86a4f5"


def test_the_real_corpus(data_folder):
    corpus = fra_eng(data_folder)
    assert len(corpus) == 167_130
    parts = corpus.split()
    train, held_out = distinct_sources(parts.train, "en"), distinct_sources([*parts.valid, *parts.test], "en")
    assert not train & held_out
