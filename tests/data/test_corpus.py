"""Corpora from the grammar, from files and over the network; the split."""

import gzip
import hashlib
import http.server
import io
import math
import re
import tempfile
import threading
import tracemalloc
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from seqlearn.data import download
from seqlearn.data.corpus import (
    Corpus,
    builtin,
    distinct_sources,
    fra_eng,
    from_files,
    from_tsv,
    local_fra_eng,
    tatoeba_test,
)
from seqlearn.data.grammar import write_pairs
from seqlearn.data.large import files
from seqlearn.data.pairs import Antecedent, Pair


@pytest.fixture(scope="module")
def small():
    return builtin(3000)


def test_builtin_is_what_the_grammar_writes():
    assert builtin(40).pairs == write_pairs(40, 0, False)
    assert builtin(40, 3, True).pairs == write_pairs(40, 3, True) != write_pairs(40, 3, False)


@pytest.mark.slow
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
    with pytest.raises(ValueError, match=r"not 0\.5 and 0\.5"):
        small.split(0.5, 0.5)


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
    with pytest.raises(ValueError, match="count is at least 0, not -1"):
        small.limited(-1)
    for shares in ({"valid": math.nan}, {"test": math.nan}):
        with pytest.raises(ValueError, match=r"shares that leave something to train on, not .*nan"):
            small.split(**shares)


@pytest.mark.parametrize("seed", [0, 1])
def test_a_limited_corpus_is_split_like_the_whole(small, seed):
    """Were the sample drawn by the numbers that split the corpus, all of it would land in one part."""
    parts = small.limited(1000, seed).split(valid=0.2, test=0.3, seed=seed)
    assert [len(part) / 1000 for part in parts] == pytest.approx([0.5, 0.2, 0.3], abs=0.05)
    whole = small.split(valid=0.2, test=0.3, seed=seed)
    for part, of_whole in zip(parts, whole, strict=True):
        assert set(part) <= set(of_whole)


def test_without_leaves_out_the_same_sentences_however_they_are_spelt(small):
    held_out = [Pair(pair.source.upper().replace(".", "  ."), "x") for pair in small.pairs[10:20]]
    rest = small.without(held_out)
    gone = {pair.source for pair in small.pairs[10:20]}
    assert list(rest) == [pair for pair in small if pair.source not in gone] and len(rest) <= len(small) - 10
    assert list(small.without([])) == list(small) and len(small.without(small)) == 0


def test_limited_is_seeded(small):
    assert small.limited(100, seed=1).pairs == small.limited(100, seed=1).pairs != small.limited(100, seed=2).pairs


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


@pytest.mark.parametrize("first", ["{}", "1.{:04}", "-{},5", "{}e-3"])
def test_a_first_column_of_numbers_is_taken_only_when_somebody_says_so(tmp_path, first):
    """An export with the numbers of its lines, or with scores; one line in ten may be a heading."""
    path, lines = tmp_path / "ids.tsv", [f"{first.format(i)}\tthe cat {i}\tle chat {i}\n" for i in range(20)]
    for text in ("".join(lines), "".join(["id\tsource\ttarget\n", *lines]), lines[3]):
        path.write_text(text, "utf-8")
        with pytest.raises(ValueError, match=r"ids.tsv: the first of its three .* --columns 2,3 .*, and else with --c"):
            from_tsv(path, skip_malformed=True)
    path.write_text("".join(lines) + "21\tof two\n", "utf-8")
    with pytest.raises(ValueError, match="line 21: 2 columns, and the sentences should be in columns 2 and 3"):
        from_tsv(path, columns=(2, 3))
    with pytest.warns(UserWarning, match="the only malformed line; left out, 20 pairs remain"):
        chosen, back = (from_tsv(path, skip_malformed=True, columns=columns) for columns in ((2, 3), (3, 2)))
    assert list(chosen.pairs)[7] == Pair("the cat 7", "le chat 7") and list(back.pairs)[7].source == "le chat 7"
    assert from_tsv(path, columns=(1, 2)).pairs[0].target == "the cat 0"
    assert chosen.pairs.checksum() != back.pairs.checksum()
    path.write_text("".join("\t".join(line.split("\t")[:2]) + "\n" for line in lines), "utf-8")
    assert len(from_tsv(path)) == 20, "two columns of numbers and words are a corpus"
    for columns in ((2, 2), (0, 1)):
        with pytest.raises(ValueError, match="column"):
            from_tsv(path, columns=columns)


def test_a_tab_in_one_of_two_files_is_a_fault(tmp_path):
    for name, text in {"a.en": "1\tthe cat\nthe dog\n", "a.fr": "le chat\nle\tchien\n"}.items():
        (tmp_path / name).write_text(text, "utf-8")
    with pytest.raises(
        ValueError, match=r"a.en, line 1: the source has a tab in it; 2 malformed lines in all \(1, 2\)"
    ):
        from_files(tmp_path / "a.en", tmp_path / "a.fr")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            b"one\ttwo\nonly one\n\nx\t\n",
            "a.tsv, line 2: 1 column instead of source<TAB>target (a third may follow); 3 malformed lines .* (2, 3, 4)",
        ),
        (b"a\tb\tc\td\n", "a.tsv, line 1: 4 columns instead of .*; the only malformed line"),
        ("a\tb\n \u00a0\tb\n".encode(), "a.tsv, line 2: the source is empty; the only"),
        ("a\tb\n\u200b\u00ad\tb\n".encode(), "a.tsv, line 2: the source is empty; the only"),
        (b"a\tb\nc\td\0\n", "a.tsv, line 2: the line has a NUL character in it"),
        (b"a\tb\rc\n", "a.tsv, line 1: the line has a carriage return in it"),
        (b"", "a.tsv is empty"),
        (b"\xef\xbb\xbf", "a.tsv is empty"),
        (b"a\tb\nc\t\xff\n", "a.tsv, line 2: not UTF-8 (invalid start byte)"),
        ("a\tb\n".encode("utf-16"), "a.tsv, line 1: not UTF-8, but UTF-16"),
        (b"a\tb\n" * 99 + b"x\n" * 1000, "line 100: .*; 1,000 malformed lines in all (100, 101, 102, 103, 104, ...)"),
    ],
)
def test_bad_files_are_named_with_their_line(tmp_path, content, message):
    (tmp_path / "a.tsv").write_bytes(content)
    with pytest.raises(ValueError, match=re.escape(message).replace(r"\.\*", ".*")):
        from_tsv(tmp_path / "a.tsv")


def test_malformed_lines_may_be_skipped_and_are_counted(tmp_path):
    (tmp_path / "a.tsv").write_bytes(b"one\tun\nbad\ntwo\tdeux\tby me\n\t\n")
    with pytest.warns(
        UserWarning, match=r"a\.tsv, line 2: 1 column .*; 2 malformed .* \(2, 4\); left out, 2 pairs remain"
    ):
        corpus = from_tsv(tmp_path / "a.tsv", skip_malformed=True)
    assert [(pair.source, pair.target) for pair in corpus.pairs] == [("one", "un"), ("two", "deux")]
    (tmp_path / "a.tsv").write_bytes(b"one\ntwo\n")
    with pytest.raises(ValueError, match="2 malformed lines in all"):  # nothing would be left
        from_tsv(tmp_path / "a.tsv", skip_malformed=True)


def test_not_a_file(tmp_path):
    with pytest.raises(ValueError, match="is a folder"):
        from_tsv(tmp_path)
    with pytest.raises(FileNotFoundError, match="nowhere"):
        from_tsv(tmp_path / "nowhere.tsv")
    (tmp_path / "a.gz").write_bytes(b"plain\ttext")
    with pytest.raises(ValueError, match=r"a\.gz: not a whole gzip file"):
        from_tsv(tmp_path / "a.gz")
    packed = gzip.compress(b"one\tun\n" * 1000)
    (tmp_path / "a.gz").write_bytes(packed[:-20])
    with pytest.raises(ValueError, match=r"a\.gz: not a whole gzip file"):
        from_tsv(tmp_path / "a.gz")
    (tmp_path / "a.tsv").write_bytes(packed)  # gzip by what it holds, whatever its name
    assert len(from_tsv(tmp_path / "a.tsv")) == 1000


def test_parallel_files(tmp_path):
    source, target = tmp_path / "a.en", tmp_path / "a.fr"
    source.write_text("one\ntwo\n", encoding="utf-8")
    target.write_text("un\ndeux\n", encoding="utf-8")
    assert [(p.source, p.target) for p in from_files(source, target).pairs] == [("one", "un"), ("two", "deux")]
    (tmp_path / "a.fr.gz").write_bytes(gzip.compress(target.read_bytes()))
    assert list(from_files(source, tmp_path / "a.fr.gz").pairs) == list(from_files(source, target).pairs)
    target.write_text("un\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"a\.en has 2 lines and .*a\.fr has 1: they must be parallel"):
        from_files(source, target)
    target.write_text("un\n \n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"a\.fr, line 2: the target is empty"):
        from_files(source, target)
    with pytest.warns(UserWarning, match=r"a\.fr, line 2: .*; left out, 1 pairs remain"):
        assert len(from_files(source, target, skip_malformed=True)) == 1


@pytest.fixture(params=["a.tsv", "a.tsv.gz", "two files"])
def on_disk(request, tmp_path, small):
    """The small corpus, and the same pairs in a file."""
    pairs = [Pair(pair.source, pair.target) for pair in small.pairs[:500]]
    if request.param == "two files":
        for name, side in (("a.en", "source"), ("a.fr", "target")):
            text = "".join(getattr(pair, side) + "\n" for pair in pairs)
            (tmp_path / name).write_text(text, encoding="utf-8", newline="\r\n")
        return pairs, from_files(tmp_path / "a.en", tmp_path / "a.fr", ("en", "fr"))
    content = "".join(f"{pair.source}\t{pair.target}\n" for pair in pairs).encode()
    (tmp_path / request.param).write_bytes(gzip.compress(content) if request.param.endswith("gz") else content)
    return pairs, from_tsv(tmp_path / request.param, ("en", "fr"))


@pytest.mark.slow
def test_a_corpus_on_disk_is_the_corpus_in_memory(on_disk):
    pairs, corpus = on_disk
    memory = Corpus("memory", ("en", "fr"), pairs)
    assert len(corpus) == 500 and list(corpus.pairs) == pairs and list(corpus) == pairs  # again and again
    assert corpus.pairs[7] == pairs[7] and corpus.pairs[-1] == pairs[-1] and corpus.pairs[3:9:2] == pairs[3:9:2]
    with pytest.raises(IndexError):
        corpus.pairs[500]
    assert [list(part) for part in corpus.split(0.1, 0.2)] == [list(part) for part in memory.split(0.1, 0.2)]
    assert list(corpus.limited(50).pairs) == memory.limited(50).pairs
    assert list(corpus.reversed().pairs) == memory.reversed().pairs and corpus.reversed().languages == ("fr", "en")
    assert list(corpus.reversed().split().train) == memory.reversed().split().train


def test_a_file_that_changes_later_is_found_out(tmp_path):
    (tmp_path / "a.tsv").write_text("one\tun\ntwo\tdeux\n", encoding="utf-8")
    corpus = from_tsv(tmp_path / "a.tsv")
    with (tmp_path / "a.tsv").open("r+", encoding="utf-8") as file:
        file.write("1\tun deux trois\n")
    with pytest.raises(ValueError, match=r"a\.tsv was changed"):
        list(corpus.pairs)


@pytest.mark.slow
def test_a_corpus_on_disk_holds_no_text_in_memory(tmp_path, as_a_user):
    """For each of 20,000 lines 8 bytes for its place, and 8 for its part: far less than the text."""
    line = "The quick brown fox jumps over the lazy dog again and again, says number"
    text = "".join(f"{line} {number}.\tvoilà\n" for number in range(20_000))
    (tmp_path / "a.tsv").write_text(text, encoding="utf-8")
    tracemalloc.start()
    corpus = from_tsv(tmp_path / "a.tsv")
    parts = corpus.split()
    for _ in parts.train:
        pass
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert sum(map(len, parts)) == 20_000 and most < 30 * 20_000 < len(text) / 2


def test_fra_eng_from_a_folder(tmp_path, monkeypatch):
    (tmp_path / "fra-eng").mkdir()
    (tmp_path / "fra-eng" / "fra.txt").write_text("Go.\tVa !\n", encoding="utf-8")
    assert repr(fra_eng(tmp_path)) == "Corpus(fra-eng, en -> fr, 1 pairs)"
    assert len(fra_eng(tmp_path / "fra-eng")) == 1
    monkeypatch.setenv("SEQLEARN_DATA", str(tmp_path))
    assert len(fra_eng()) == 1 and len(local_fra_eng()) == 1
    with pytest.raises(FileNotFoundError, match=r"neither fra-eng/fra\.txt nor fra\.txt"):
        fra_eng(tmp_path / "elsewhere")


def archive_of(*names: str, content: str = "Go.\tVa !\n") -> bytes:
    """A zip with these members."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name in names:
            archive.writestr(zipfile.ZipInfo(name), content)
    return file.getvalue()


@pytest.mark.parametrize("code", ["utf-16", "utf-32", "utf-32-be"])
def test_the_encoding_of_a_file_is_named(tmp_path, code):
    mark = "\ufeff" if code.endswith("be") else ""
    (tmp_path / "a.tsv").write_bytes(f"{mark}one\tun\n".encode(code))
    with pytest.raises(ValueError, match=rf"a\.tsv, line 1: not UTF-8, but {code[:6].upper()}; save the file as UTF-8"):
        from_tsv(tmp_path / "a.tsv")


FRA = hashlib.sha256(b"Go.\tVa !\n").hexdigest()  # of the member that `archive_of` writes


class Hub:
    """A server on this machine in place of d2l's hub. A test changes what it answers."""

    def __init__(self):
        self.answer(archive_of("fra-eng/fra.txt"))
        self.piece, self.pause, self.going = 1 << 30, 0.0, threading.Event()  # bytes, seconds between, set at the end
        hub = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                hub.requests += 1
                self.send_response(hub.status)
                self.send_header("Content-Length", str(len(hub.body)))
                self.end_headers()
                for start in range(0, len(hub.body[: hub.cut]), hub.piece):
                    if not hub.going.wait(hub.pause):
                        self.wfile.write(hub.body[: hub.cut][start : start + hub.piece])

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, args=[0.02], daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}/fra-eng.zip"

    def answer(self, body: bytes, status: int = 200, cut: int | None = None) -> None:
        """What to send: `status`, and `body`, which ends too early where `cut` says so."""
        self.body, self.status, self.cut, self.requests = body, status, cut, 0
        self.sha1 = hashlib.sha1(body).hexdigest()


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """The server, an empty cache, and no SEQLEARN_DATA."""
    hub = Hub()
    monkeypatch.delenv("SEQLEARN_DATA", raising=False)
    monkeypatch.setattr(download, "hub_entry", lambda: (hub.url, hub.sha1))
    monkeypatch.setattr(download, "SHA256", FRA)
    monkeypatch.setattr("platformdirs.user_cache_path", lambda name: tmp_path / "cache")
    yield hub
    hub.going.set()
    hub.server.shutdown()
    hub.server.server_close()


def everything(folder: Path) -> list[str]:
    """The files below a folder, but for the lock."""
    return [path.name for path in folder.rglob("*") if path.is_file() and path.name != ".lock"]


def test_download_and_then_the_cache(hub, tmp_path):
    assert local_fra_eng() is None and hub.requests == 0
    assert len(fra_eng()) == 1 and everything(tmp_path) == ["fra.txt"] and hub.requests == 1
    assert len(fra_eng()) == 1 and len(local_fra_eng()) == 1 and hub.requests == 1


def test_another_file_in_the_cache_is_said_and_stays(hub, tmp_path):
    """It may be damaged, or somebody's own: nobody can tell."""
    fra_eng()
    (cached,) = tmp_path.rglob("fra.txt")
    cached.write_text("Go.\tVa ?\n", encoding="utf-8")
    with pytest.warns(UserWarning, match=r"fra\.txt is damaged, and is not used"):
        assert local_fra_eng() is None
    with pytest.warns(UserWarning, match="is damaged"), pytest.raises(ValueError, match="another file: move it away"):
        fra_eng()
    assert cached.read_text("utf-8") == "Go.\tVa ?\n" and hub.requests == 1
    cached.unlink()
    assert fra_eng().pairs[0].target == "Va !" and hub.requests == 2


def test_downloads_at_once_are_one_download(hub, tmp_path):
    hub.piece, hub.pause, found = 60, 0.05, []
    threads = [threading.Thread(target=lambda: found.append(len(fra_eng()))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [1, 1, 1] and hub.requests == 1 and everything(tmp_path) == ["fra.txt"]


@pytest.mark.parametrize(("limit", "value"), [pytest.param("LARGEST", 100, marks=pytest.mark.slow), ("LONGEST", 0.1)])
def test_a_download_without_end_is_ended(hub, tmp_path, monkeypatch, limit, value):
    """One byte at a time, and far more bytes than the limit: no block of them is waited for."""
    hub.answer(archive_of("fra-eng/fra.txt", content="Go.\tVa !\n" * 10_000))
    hub.piece, hub.pause = 1, 0.02
    monkeypatch.setattr(download, limit, value)
    with pytest.raises(ConnectionError, match=r"had sent [0-9]{1,3} bytes after .* are the most: not used"):
        fra_eng()
    assert everything(tmp_path) == []


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("wrong checksum", r"sent a file with sha1 [0-9a-f]{40}, not 0{40}: not used; try again"),
        ("cut connection", r"could not be downloaded from .* \(\w+\)\. The built-in corpus needs no network"),
        ("cut at once", "could not be downloaded"),
        ("no server", r"could not be downloaded from .* \(ConnectionError\).* set SEQLEARN_DATA"),
        ("server error", r"could not be downloaded from .* \(HTTPError 500\)"),
        ("not found", r"\(HTTPError 404\)"),
        ("../fra.txt", r"names a file outside its folder, '\.\./fra\.txt': not used"),
        ("fra-eng/../../evil.txt", "outside its folder"),
        ("/tmp/evil.txt", "outside its folder"),
        ("C:\\evil.txt", "outside its folder"),
        ("..\\evil.txt", "outside its folder"),
        ("no such member", r"holds no readable fra-eng/fra\.txt"),
        ("no zip", r"holds no readable fra-eng/fra\.txt"),
        ("damaged zip", r"holds no readable fra-eng/fra\.txt"),
    ],
)
def test_a_bad_download_is_refused_and_leaves_nothing_behind(hub, tmp_path, name, message):
    good = archive_of("fra-eng/fra.txt", content="Go.\tVa !\n" * 50_000)
    if name == "wrong checksum":
        hub.sha1 = "0" * 40
    elif name.startswith("cut"):
        hub.answer(good, cut=0 if name.endswith("once") else 100_000)
    elif name == "no server":
        hub.server.shutdown()
        hub.server.server_close()
    elif name in ("server error", "not found"):
        hub.answer(b"sorry", status=500 if name == "server error" else 404)
    elif name == "no such member":
        hub.answer(archive_of("deu-eng/deu.txt"))
    elif name == "no zip":
        hub.answer(b"<html>log in to the network first</html>")
    elif name == "damaged zip":
        hub.answer(good.replace(b"Va", b"Vi", 1))
    else:
        hub.answer(archive_of("fra-eng/fra.txt", name))
    with pytest.raises(ConnectionError, match=message) as refused:
        fra_eng()
    assert "\n" not in str(refused.value)
    assert everything(tmp_path) == [] and local_fra_eng() is None


def test_the_hub_is_d2ls():
    url, sha1 = download.hub_entry()
    assert url.endswith("fra-eng.zip") and sha1 == "94646ad1522d915e7b0f9296181140edcf86a4f5"


@pytest.mark.slow
def test_the_real_corpus(data_folder, as_a_user):
    corpus = fra_eng(data_folder)
    assert len(corpus) == 167_130
    parts = Corpus("some", ("en", "fr"), corpus.pairs[::8]).split()
    train, held_out = distinct_sources(parts.train, "en"), distinct_sources([*parts.valid, *parts.test], "en")
    assert not train & held_out


@given(st.lists(st.text("aé\u2028 \r", max_size=6), min_size=1, max_size=30), st.booleans(), st.booleans(), st.data())
def test_lines_are_found_in_blocks_of_any_size(rows, mark, ended, data):
    text = "\n".join(rows) + "\n" * (ended or not rows[-1])
    expected = [row.rstrip("\r") for row in (text[:-1] if text.endswith("\n") else text).split("\n")]
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        path = Path(folder) / "a.txt"
        path.write_bytes(b"\xef\xbb\xbf" * mark + text.encode())
        patch.setattr(files, "BLOCK", data.draw(st.integers(1, 20)))
        lines = files.Lines(path)
        assert list(lines) == expected and len(lines) == len(expected)
        for number in data.draw(st.lists(st.integers(0, len(expected) - 1))):  # in any order
            assert lines[number] == expected[number]
        assert lines.checksum == hashlib.sha256(path.read_bytes()).hexdigest()
        del lines


def test_what_is_shown_of_pairs(small, tmp_path):
    (tmp_path / "a.tsv").write_text("".join(f"word {n}\tmot {n}\n" for n in range(1200)), encoding="utf-8")
    corpus = from_tsv(tmp_path / "a.tsv")
    parts = corpus.split(0.1, 0.2, seed=1)
    numbers = ", ".join(f"{len(part):,} {name}" for name, part in zip(("train", "valid", "test"), parts, strict=True))
    assert repr(parts) == f"Split({numbers})"
    assert repr(parts.train) == f"ChosenPairs({len(parts.train):,} pairs)" and len(parts.train) > 700
    assert (
        repr(corpus.pairs) == "TSVPairs(1,200 pairs)" and repr(corpus.reversed().pairs) == "ReversedPairs(1,200 pairs)"
    )


def test_an_excerpt_of_real_sentences_comes_with_the_package():
    excerpt = tatoeba_test()
    assert (excerpt.name, excerpt.languages, len(excerpt)) == ("tatoeba", ("en", "fr"), 1976)
