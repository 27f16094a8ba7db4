"""What people do with a trained translator on the command line: files and pipes, search, scores, bad input."""

import gzip
import inspect
import itertools
import json
import os
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest
import sacrebleu
from typer.testing import CliRunner

from seqlearn.cli import app, errors, lines, scoring, search
from seqlearn.data import corpus as corpora
from seqlearn.data.corpus import builtin, from_tsv
from seqlearn.data.text import normalize
from seqlearn.search.hypotheses import Hypothesis
from seqlearn.search.lengths import gnmt, length_average
from seqlearn.translator import scores, translator as rooms
from seqlearn.translator.translator import Translator

pytestmark = pytest.mark.slow

run = CliRunner().invoke
WORDS = "red green blue one two three four".split()
PAIRS = [f"{a} {b}" for a in WORDS for b in WORDS]
TSV = "".join(f"{line}\t{line.title()} !\n" for line in PAIRS)
SMALL = ["--epochs", "6", "--embed-size", "16", "--hidden", "16", "--batch-size", "8", "--held-out", "0.1"]
SPLIT = {"valid": 0.1, "test": 0.1, "seed": 0}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A tiny translator that was trained, and beside it the file of its pairs."""
    place = tmp_path_factory.mktemp("use")
    (place / "pairs.tsv").write_text(TSV, encoding="utf-8")
    command = ["train", "--corpus", str(place / "pairs.tsv"), "--out", str(place / "model"), "--lr", "0.02", *SMALL]
    result = run(app, command)
    assert result.exit_code == 0, result.output
    return place / "model"


@pytest.fixture(scope="module")
def translator(folder):
    return Translator.load(folder, "cpu")


@pytest.fixture(scope="module")
def blind(folder, tmp_path_factory):
    """The folder of a translator without attention."""
    place = tmp_path_factory.mktemp("blind")
    split = from_tsv(folder.parent / "pairs.tsv", ("en", "fr")).split(**SPLIT)
    Translator.untrained("seq2seq", split, ("en", "fr"), embed_size=4, num_hiddens=4).save(place)
    return place


def sentences(count):
    """Different lines of different lengths, in no order."""
    every = [" ".join(words) for length in (2, 3, 4) for words in itertools.product(WORDS, repeat=length)]
    return random.Random(0).sample(every, count)


def translated(folder, texts, *options):
    """The rows that `translate` writes for these lines on standard input."""
    result = run(app, ["translate", str(folder), *options], input="".join(text + "\n" for text in texts))
    assert result.exit_code == 0, result.output
    return [row.split("\t") for row in result.stdout.splitlines()]


def test_a_thousand_lines_keep_their_order(folder, translator):
    texts = sentences(1000)
    rows = translated(folder, texts, "--show-tokens", "--batch-size", "4")  # four chunks
    assert [source for _, source, _ in rows] == texts
    expected = translator.translate_all(texts, progress=False)
    assert [translation for translation, *_ in rows] == expected and len(set(expected)) > 20


def test_a_chunk_is_written_before_the_next_is_read(translator):
    endless = (lines.Line("here", number, "red") for number in itertools.count(1))
    parts = lines.chunks(lines.sentences_of(endless, translator, 10), 3)
    assert [[each.number for each in next(parts)] for _ in range(2)] == [[1, 2, 3], [4, 5, 6]]


def test_no_search_gets_more_than_a_chunk(folder, monkeypatch):
    sizes, found = [], Translator.search
    monkeypatch.setattr(
        Translator,
        "search",
        lambda self, texts, *args, **kw: sizes.append(len(texts)) or found(self, texts, *args, **kw),
    )
    assert len(translated(folder, ["red"] * 300, "--batch-size", "2")) == 300
    assert sizes == [128, 128, 44]


def test_an_empty_line_stays_empty(folder, translator):
    one, other = translator.translate_all(["red", "blue two"])
    rows = translated(folder, ["", "red", " \u00a0", "\u200b", "blue two", ""])
    assert rows == [[""], [one], [""], [""], [other], [""]]
    assert translated(folder, []) == [] and translated(folder, [""]) == [[""]]
    columns = ["--beam", "2", "--n-best", "2", "--scores", "--alignments", "--show-tokens"]
    first, *rest = translated(folder, ["", "red"], *columns)
    assert first == ["1", "", "", "", "", ""] and [row[0] for row in rest] == ["2", "2"]
    assert all(all(row) for row in rest)


@pytest.mark.parametrize("packed", [False, True])
def test_a_file_is_read_as_standard_input_is(folder, tmp_path, translator, packed):
    raw = "\ufeffred blue\r\n\r\nfour \u2028 red\ngreen".encode()
    file = tmp_path / "lines"
    file.write_bytes(gzip.compress(raw) if packed else raw)
    one, other, last = translator.translate_all(["red blue", "four red", "green"])
    assert run(app, ["translate", str(folder), "--file", str(file)]).stdout_bytes.decode().split("\n") == [
        one, "", other, last, "",
    ]  # fmt: skip
    for dash in ([], ["-"]):
        result = run(app, ["translate", str(folder), *dash], input=raw)
        assert result.stdout.split("\n") == [one, "", other, last, ""]


def test_a_line_has_neither_a_mark_nor_its_end(tmp_path):
    (tmp_path / "lines").write_bytes("\ufeffred\r\n\n \ufeffblue\u2028 ".encode())
    assert [each.text for each in lines.lines_of(tmp_path / "lines")] == ["red", "", " \ufeffblue\u2028 "]


def test_a_sentence_is_translated_as_it_stands(folder, translator):
    for text in ("red blue", "red\nblue", "-5"):
        result = run(app, ["translate", str(folder), "--", text])
        assert result.stdout == translator.translate(text) + "\n"
    assert run(app, ["translate", str(folder), "red \ud800"]).exit_code == 0


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        (["--beam", "4"], {"beam": 4}),
        (["--beam", "4", "--length-penalty", "0"], {"beam": 4, "length_penalty": gnmt(0)}),
        (["--beam", "3", "--length-penalty", "2.5"], {"beam": 3, "length_penalty": gnmt(2.5)}),
        (["--beam", "3", "--length-penalty", "average"], {"beam": 3, "length_penalty": length_average}),
        (["--max-length", "2"], {"max_length": 2}),
        (["--beam", "4", "--max-length", "2"], {"beam": 4, "max_length": 2}),
        ([], {}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_search_is_that_of_the_translator(folder, translator, options, arguments):
    """And the score is the search's."""
    texts = sentences(40)
    found = translator.search(texts, **arguments)
    rows = translated(folder, texts, *options, "--scores")
    assert rows == [[translator.target.decode(each.tokens), f"{each.score:.4f}"] for (each,) in found]


def test_the_default_penalty_is_that_of_the_search():
    assert search.DEFAULT_PENALTY == "0.6" and gnmt()(7) == gnmt(0.6)(7)
    assert search.search_options(4, None, None) == {"beam": 4, "length_penalty": None, "max_length": None}


def test_the_best_of_each_line_are_numbered(folder, translator):
    texts = sentences(20)
    rows = translated(folder, texts, "--beam", "4", "--n-best", "3", "--scores")
    expected = [
        [str(number), translator.target.decode(each.tokens), f"{each.score:.4f}"]
        for number, several in enumerate(translator.search(texts, beam=4, n_best=3), 1)
        for each in several
    ]
    assert rows == expected and len(rows) == 60
    assert translated(folder, texts[:2], "--n-best", "1") == [
        [str(number), each] for number, each in enumerate(translator.translate_all(texts[:2]), 1)
    ]


def read_off(translator, source, target):
    """The links of a translation, from its attention map."""
    weights = translator.attend(source, target).weights.mean((0, 1))[:-1, :-1]
    return " ".join(f"{s}-{t}" for s, t in sorted((int(row.argmax()), t) for t, row in enumerate(weights)))


@pytest.mark.parametrize("most", [scores.MOST_WEIGHTS, 40])
def test_links_are_those_of_the_attention(folder, translator, monkeypatch, most):
    monkeypatch.setattr(scores, "MOST_WEIGHTS", most)  # a small one makes batches of one sentence
    texts = sentences(30)
    for source, (target, links) in zip(texts, translated(folder, texts, "--alignments"), strict=True):
        assert links == read_off(translator, source, target)
    rows = translated(folder, texts, "--beam", "3", "--n-best", "2", "--alignments", "--show-tokens")
    assert len({links for _, _, links, _, _ in rows}) > 5
    for _, target, links, left, right in rows:
        assert links == read_off(translator, left, target) and links.count("-") == len(right.split())


def test_links_are_read_off_the_mean_of_all_heads(folder):
    split = from_tsv(folder.parent / "pairs.tsv", ("en", "fr")).split(**SPLIT)
    sizes = {"num_hiddens": 16, "ffn_num_hiddens": 16, "num_heads": 2, "num_layers": 2}
    untrained = Translator.untrained("transformer", split, ("en", "fr"), **sizes)
    texts, targets = sentences(20), [f"{text} !" for text in sentences(40)[20:]]
    found = [Hypothesis(untrained.target.encode(target)[:-1]) for target in targets]
    every = untrained.links(zip(texts, found, strict=True), batch_size=3)
    for source, target, links in zip(texts, targets, every, strict=True):
        assert " ".join(f"{s}-{t}" for s, t in sorted(links)) == read_off(untrained, source, target)


def test_long_sentences_share_no_batch(monkeypatch):
    """Their attention would fill the memory. All pairs are there once, in order."""
    monkeypatch.setattr(scores, "MOST_WEIGHTS", 100)
    pairs = [
        ([0] * left, [0] * right) for left, right in [(2, 5), (5, 1), (1, 1), (50, 2), (1, 7), (7, 7), *[(2, 2)] * 9]
    ]
    chunks = list(scores._chunks(pairs, 8))
    assert [len(chunk) for chunk in chunks] == [3, 1, 2, 8, 1] and [each for chunk in chunks for each in chunk] == pairs
    assert list(scores._chunks([], 8)) == []


def test_links_of_a_translation_that_was_cut_off(folder):
    ((translation, links),) = translated(folder, ["red blue one"], "--alignments", "--max-length", "1")
    assert len(translation.split()) == 1 and len(links.split()) == 1


def test_what_breaks_a_line_is_no_part_of_a_column():
    assert lines.on_one_line("a\tb\nc\rd\u2028e f") == "a b c d e f"
    assert lines.on_one_line("\x1b[31mred\x9b0m\x7f \u200dé") == " [31mred 0m  \u200dé"


def test_unknown_words_are_counted(folder):
    texts = ["red", "red zebra", "", *(f"zebra w{number}" for number in range(20))]
    result = run(app, ["translate", str(folder)], input="\n".join(texts))
    assert "read as <unk>: zebra, w0, w1" in result.stderr and "w8, ... (in 21 of 23 lines)" in result.stderr
    assert "w9" not in result.stderr and "unk" not in run(app, ["translate", str(folder)], input="red").stderr


def test_output_is_utf_8(folder, monkeypatch):
    monkeypatch.setattr(lines, "rows", lambda *args: iter(["école 红"]))
    runner = CliRunner(charset="latin-1")
    assert runner.invoke(app, ["translate", str(folder), "red"]).stdout_bytes == "école 红\n".encode()


def refused(result, *words):
    """One sentence in red, with these words, and no traceback."""
    assert result.exit_code == 1, result.output
    said = [line for line in result.stderr.splitlines() if not line.startswith("not in the vocabulary")]
    assert len(said) == 1 and said[0].startswith("seqlearn: "), result.stderr
    assert all(word in said[0] for word in words), said
    assert result.exception is None or isinstance(result.exception, SystemExit)


def test_a_long_line_is_refused_after_the_lines_before_it(folder, translator, tmp_path):
    file = tmp_path / "book.txt"
    file.write_text("red\nblue\n" + "one " * 1001 + "\nred\n", encoding="utf-8")
    result = run(app, ["translate", str(folder), "--file", str(file)])
    refused(result, "book.txt, line 3: 1,001 tokens, more than --max-source 1000")
    assert result.stdout.splitlines() == translator.translate_all(["red", "blue"])
    options = ["--max-source", "1001", "--max-length", "3"]
    assert run(app, ["translate", str(folder), "--file", str(file), *options]).exit_code == 0
    refused(run(app, ["translate", str(folder), "one two three", "--max-source", "2"]), "the sentence: 3 tokens")


def test_a_text_that_is_far_too_long_is_not_even_split(folder, monkeypatch):
    monkeypatch.setattr(Translator, "search", lambda *args, **options: pytest.fail("searched"))
    result = run(app, ["translate", str(folder)], input="x" * 100_001)
    refused(result, "standard input, line 1: 100,001 characters", "--max-source 1000")


def test_standard_input_that_cannot_be_read_is_named():
    def failing(size):
        raise IsADirectoryError(21, "Is a directory")

    with pytest.raises(IsADirectoryError, match="Is a directory: 'standard input'"):
        list(lines._read(failing, "standard input"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"red\nbl\xffue\n", "lines, line 2: not UTF-8"),
        (b"\x1f\x8bnot gzip", "lines: not a whole gzip file"),
        (gzip.compress(b"red\n" * 9)[:-9], "lines: not a whole gzip file"),
    ],
    ids=["latin-1", "no gzip", "half a gzip"],
)
def test_a_bad_line_is_named(folder, tmp_path, content, message):
    (tmp_path / "lines").write_bytes(content)
    refused(run(app, ["translate", str(folder), "--file", str(tmp_path / "lines")]), message)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["translate", "red", "--file", "pairs.tsv"], "give a sentence or --file, not both"),
        (["translate", "-", "--file", "pairs.tsv"], "give a sentence or --file, not both"),
        (["translate", "red", "--n-best", "3"], "--n-best 3 needs a beam at least as wide: add --beam 3"),
        (["translate", "red", "--n-best", "5", "--beam", "4"], "--n-best 5 needs a beam"),
        (["translate", "red", "--length-penalty", "1"], "--length-penalty needs a beam"),
        (["translate", "red", "--beam", "2", "--length-penalty", "long"], "from 0 to 10, or average, not 'long'"),
        (["translate", "red", "--beam", "2", "--length-penalty", "-1"], "not '-1'"),
        (["translate", "red", "--beam", "2", "--length-penalty", "nan"], "not 'nan'"),
        (["translate", "red", "--beam", "2", "--length-penalty", "1e9"], "not '1e9'"),
        (["translate", "--file", "nowhere.txt"], "there is no file nowhere.txt"),
        (["translate", "--file", "."], ". is a folder, not a file"),
        (["evaluate", "--source", "pairs.tsv"], "--source and --target go together"),
        (["evaluate", "--target", "pairs.tsv"], "--source and --target go together"),
        (["evaluate", "--tsv", "pairs.tsv", "--source", "pairs.tsv", "--target", "a"], "--tsv holds both sides"),
        (["evaluate", "--length-penalty", "0"], "--length-penalty needs a beam"),
        (["evaluate", "--hypotheses", "."], ". is a folder, not a file"),
        (["evaluate", "--hypotheses", "no/where"], "there is no folder no"),
        (
            ["evaluate", "--tsv", "pairs.tsv", "--hypotheses", "./pairs.tsv"],
            "pairs.tsv would be overwritten, and it is an input",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_contradictions_are_refused_before_any_work(folder, monkeypatch, arguments, message):
    monkeypatch.chdir(folder.parent)
    monkeypatch.setattr(Translator, "load", lambda *args: pytest.fail("loaded"))
    command, *rest = arguments
    refused(run(app, [command, str(folder), *rest]), message)


def test_an_output_replaces_only_what_the_command_may_replace(folder, tmp_path, monkeypatch):
    """Its own page or picture; with --overwrite any file but an input, a translator or a training."""
    monkeypatch.chdir(tmp_path)
    page, notes = tmp_path / "page.html", tmp_path / "notes.txt"
    view = ["view", str(folder), "red blue", "-o"]
    for name in ("page.html", "page.png", "page.svg", "page.pdf"):
        assert run(app, [*view, name]).exit_code == run(app, [*view, name]).exit_code == 0, name
    page.write_text("<p>a page of my own, made by seqlearn</p>", encoding="utf-8")
    notes.write_text("precious", encoding="utf-8")
    score = ["evaluate", str(folder), "--hypotheses", "notes.txt"]
    for command in ([*view, "page.html"], ["gallery", "-o", "page.html"], score):
        refused(run(app, command), "exists: choose another file to write, or add --overwrite")
    assert "my own" in page.read_text("utf-8") and notes.read_text("utf-8") == "precious"
    assert run(app, [*view, "page.html", "--overwrite"]).exit_code == run(app, [*score, "--overwrite"]).exit_code == 0
    assert "my own" not in page.read_text("utf-8") and len(notes.read_text("utf-8").splitlines()) == 3
    (tmp_path / "drawn.txt").write_bytes(page.read_bytes())
    score[-1] = "drawn.txt"
    refused(run(app, score), "drawn.txt exists")


def test_an_output_replaces_no_input_and_no_part_of_a_translator(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    corpus = (folder.parent / "pairs.tsv").read_bytes()
    (tmp_path / "hard").hardlink_to(folder.parent / "pairs.tsv")
    (tmp_path / "soft").symlink_to(folder.parent / "pairs.tsv")
    (tmp_path / "own.tsv").write_bytes(corpus)
    (tmp_path / "same").hardlink_to(tmp_path / "own.tsv")
    score = ["evaluate", str(folder), "--overwrite", "--hypotheses"]
    for name in ("hard", "soft"):  # of the corpus that the translator was trained on
        refused(run(app, [*score, name]), f"{name} would be overwritten, and it is an input")
    refused(run(app, [*score, "same", "--tsv", "own.tsv"]), "same would be overwritten, and it is an input")
    before = {path: path.read_bytes() for path in folder.iterdir()}
    for name in ("model.safetensors", "config.json", "log.jsonl"):
        (tmp_path / f"hard {name}").hardlink_to(folder / name)
        for path in (folder / name, f"hard {name}"):
            refused(run(app, [*score, str(path)]), "and is not overwritten: choose another file to write")
            refused(run(app, ["gallery", "--overwrite", "-o", str(path)]), "and is not overwritten")
    assert {path: path.read_bytes() for path in folder.iterdir()} == before
    assert (folder.parent / "pairs.tsv").read_bytes() == corpus == (tmp_path / "own.tsv").read_bytes()


def test_translations_go_to_a_file_as_a_whole_or_not_at_all(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("in.txt").write_text("red blue\n\nfour\n", encoding="utf-8")
    Path("link").symlink_to("in.txt")
    command = ["translate", str(folder), "--file", "in.txt", "--out"]
    expected = run(app, command[:-1]).stdout
    result = run(app, [*command, "out.txt"])
    assert result.exit_code == 0 and not result.stdout and Path("out.txt").read_text("utf-8") == expected
    refused(run(app, [*command, "out.txt"]), "out.txt exists: choose another file to write, or add --overwrite")
    assert run(app, [*command, "out.txt", "--overwrite"]).exit_code == 0
    for name in ("in.txt", "link"):
        refused(run(app, [*command, name, "--overwrite"]), f"{name} would be overwritten, and it is an input")
    refused(run(app, [*command, str(folder / "model.safetensors"), "--overwrite"]), "is a translator, and is not")
    Path("in.txt").write_text("red\n" + "blue " * 2000 + "\n", encoding="utf-8")
    refused(run(app, [*command, "out.txt", "--overwrite"]), "in.txt, line 2")
    assert Path("out.txt").read_text("utf-8") == expected and sorted(os.listdir()) == ["in.txt", "link", "out.txt"]


@pytest.mark.parametrize("streams", ["--file a.txt >> a.txt", "< a.txt >> a.txt", "--out a.txt --overwrite < a.txt"])
def test_what_is_read_is_not_written_to_at_once(folder, tmp_path, streams):
    (tmp_path / "a.txt").write_text("red\n", encoding="utf-8")
    command = f'"{sys.executable}" -m seqlearn translate "{folder}" {streams}'
    done = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert done.returncode == 1 and "is read and written to at once" in done.stderr, done.stderr
    assert (tmp_path / "a.txt").read_text("utf-8") == "red\n"


@pytest.mark.skipif(os.name == "nt", reason="pipes of Unix")
def test_an_output_may_be_a_pipe_and_a_link_stays_a_link(folder, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE, text=True)
    assert run(app, ["evaluate", str(folder), "--hypotheses", str(pipe)]).exit_code == 0
    assert len(reader.communicate(timeout=600)[0].splitlines()) == 3 and pipe.is_fifo()
    (tmp_path / "link").symlink_to("out.txt")
    assert run(app, ["evaluate", str(folder), "--hypotheses", str(tmp_path / "link")]).exit_code == 0
    assert (tmp_path / "link").is_symlink() and len((tmp_path / "out.txt").read_text("utf-8").splitlines()) == 3


def test_a_full_disk_leaves_the_old_output(folder, tmp_path, monkeypatch):
    out = tmp_path / "out.txt"
    out.write_text("precious", encoding="utf-8")
    monkeypatch.setattr(os, "fsync", lambda file: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    result = run(app, ["evaluate", str(folder), "--overwrite", "--hypotheses", str(out)])
    refused(result, "No space left on device")
    assert [path.name for path in tmp_path.iterdir()] == ["out.txt"] and out.read_text("utf-8") == "precious"


def test_without_attention_there_are_no_links(blind, monkeypatch):
    monkeypatch.setattr(Translator, "search", lambda *args, **options: pytest.fail("searched"))
    result = run(app, ["translate", str(blind), "red", "--alignments"])
    refused(result, "a seq2seq model has no attention to look at")


def scores_of(folder, *options):
    """What `evaluate --json` prints."""
    result = run(app, ["evaluate", str(folder), "--json", *options])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.mark.parametrize("beam", [1, 3])
def test_scores_are_those_of_the_translator(folder, translator, beam):
    test = from_tsv(folder.parent / "pairs.tsv", ("en", "fr")).split(**SPLIT).test
    translations = translator.translate_all([pair.source for pair in test], beam=beam)
    expected = translator.evaluate(test, translations=translations)
    assert scores_of(folder, "--beam", str(beam)) == {
        "corpus": "pairs.tsv", "pairs": len(test), "beam": beam, "length_penalty": None if beam == 1 else "0.6",
        "bleu": expected.bleu.score, "bleu_signature": expected.bleu.signature,
        "chrf": expected.chrf.score, "chrf_signature": expected.chrf.signature,
        "perplexity": pytest.approx(expected.perplexity), "exact": expected.exact, "aer": None,
    }  # fmt: skip
    if beam == 1:
        assert translator.evaluate(test) == expected
    printed = run(app, ["evaluate", str(folder), "--beam", str(beam)]).stdout
    assert printed.startswith(
        f"pairs.tsv: {len(test)} held-out pairs" + ("; beam 3" if beam == 3 else "") + "; on cpu, 1 thread\n"
    )
    assert str(expected.bleu.signature) in printed and str(expected.chrf.signature) in printed


def test_own_files_are_scored_as_sacrebleu_scores_them(folder, translator, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sources, references = ["red blue", "one four two", "green"], ["Red « blue » !", "One four !", "Green one"]
    Path("a.en").write_text("\n".join(sources), encoding="utf-8")
    Path("a.fr").write_text("\n".join(references), encoding="utf-8")
    Path("a.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in zip(sources, references, strict=True)), "utf-8")
    options = ["--beam", "2", "--length-penalty", "average", "--max-length", "4"]
    two = scores_of(folder, "--source", "a.en", "--target", "a.fr", "--hypotheses", "out.fr", *options)
    one = scores_of(folder, "--tsv", "a.tsv", *options)
    assert two == one | {"corpus": "a.en"} and two["pairs"] == 3 and two["length_penalty"] == "average"
    written = Path("out.fr").read_text(encoding="utf-8").split("\n")
    assert written == [*translator.translate_all(sources, beam=2, length_penalty=length_average, max_length=4), ""]
    normal = [normalize(text, "fr") for text in references]
    assert two["bleu"] == sacrebleu.corpus_bleu(written[:-1], [normal], lowercase=True).score
    assert two["chrf"] == sacrebleu.CHRF(lowercase=True).corpus_score(written[:-1], [normal]).score
    cased = scores_of(folder, "--tsv", "a.tsv", "--no-lowercase", *options)
    assert cased["bleu"] == sacrebleu.corpus_bleu(written[:-1], [references]).score
    assert cased["chrf"] == sacrebleu.corpus_chrf(written[:-1], [references]).score < two["chrf"]
    assert "case:lc" in two["bleu_signature"] and "case:mixed" in cased["bleu_signature"]
    assert cased["perplexity"] == two["perplexity"] and cased["exact"] == 0 <= two["exact"]


def test_files_to_score_that_are_no_use(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a.en").write_text("red\nblue\n", encoding="utf-8")
    Path("a.fr").write_text("red\n", encoding="utf-8")
    Path("a.tsv").write_text("red\tred\nblue\n", encoding="utf-8")
    Path("long.tsv").write_text("red\tred\n" + "one " * 20 + "\tone\n", encoding="utf-8")
    refused(run(app, ["evaluate", str(folder), "--source", "a.en", "--target", "a.fr"]), "must be parallel")
    refused(run(app, ["evaluate", str(folder), "--tsv", "a.tsv"]), "a.tsv, line 2: 1 column")
    refused(run(app, ["evaluate", str(folder), "--tsv", "b.tsv"]), "there is no file b.tsv")
    result = run(app, ["evaluate", str(folder), "--tsv", "long.tsv", "--max-source", "19"])
    refused(result, "long.tsv, line 2: 20 tokens, more than --max-source 19")


def test_a_translator_without_a_corpus_is_scored_on_files(blind, folder):
    refused(run(app, ["evaluate", str(blind)]), "does not say what it was trained on: give --source and --target, or")
    assert scores_of(blind, "--tsv", str(folder.parent / "pairs.tsv"))["pairs"] == len(PAIRS)


@pytest.mark.parametrize("name", ["bahdanau", "transformer"])
def test_the_course_models_are_scored_on_the_built_in_test_part(name, monkeypatch):
    """That of `builtin().split()`, with all defaults: a small corpus stands in for the 30,000 pairs."""
    config = json.loads((Path(rooms.__file__).parents[1] / "pretrained" / name / "config.json").read_text("utf-8"))
    small, asked = builtin(300), {}
    monkeypatch.setattr(corpora, "builtin", lambda count: asked.update(count=count) or small)
    chosen = scoring.to_score(Translator.pretrained(name, "cpu"), Path(name), None, None, None)
    assert asked["count"] == inspect.signature(builtin).parameters["count"].default
    assert "data" not in config and chosen.name == "builtin" and list(chosen.pairs) == list(small.split().test)


def failing(error):
    """A search that fails."""

    def search(*args, **options):
        raise error

    return search


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            RuntimeError("the card is on fire\nat 0x7f"),
            "RuntimeError: the card is on fire ... at 0x7f (`seqlearn",
        ),
        (RuntimeError("a\nb\nc; the best is kept\n"), "RuntimeError: a ... c; the best is kept (`seqlearn"),
        (RecursionError("too deep"), "RecursionError: too deep"),
        (KeyError("red"), "KeyError: 'red'"),
        (AssertionError(), "AssertionError (`seqlearn"),
        (MemoryError(), "there is not enough memory"),
        (ValueError("two\nlines and \x1b[31mred"), "two lines and \\x1b[31mred"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_any_error_is_one_sentence(folder, monkeypatch, error, said):
    monkeypatch.setattr(Translator, "search", failing(error))
    refused(run(app, ["translate", str(folder), "red"]), said)


@pytest.mark.parametrize("switch", ["option", "variable"])
def test_debug_shows_the_traceback(folder, monkeypatch, switch):
    monkeypatch.setattr(Translator, "search", failing(RuntimeError("fire")))
    debug = ["--debug"] if switch == "option" else []
    environment = {} if switch == "option" else {"SEQLEARN_DEBUG": "1"}
    result = run(app, [*debug, "translate", str(folder), "red"], env=environment)
    assert result.exit_code == 1 and "Traceback" in result.stderr and "in search" in result.stderr
    assert result.stderr.splitlines()[-1].startswith("seqlearn: RuntimeError: fire")
    refused(run(app, ["translate", str(folder), "red"]), "RuntimeError: fire")  # the switch is off again


def test_train_is_found_under_the_same_switch(monkeypatch):
    monkeypatch.setattr("seqlearn.cli.train.train_command", failing(RuntimeError("no models")))
    refused(run(app, ["train", "--out", "x"]), "RuntimeError: no models")
    assert "Traceback" in run(app, ["--debug", "train", "--out", "x"]).stderr


def test_the_help_says_which_page_is_alive():
    said = " ".join(run(app, ["view", "--help"]).stdout.split())
    assert "A Transformer of up to 5 million parameters" in said and "shows this one sentence" in said


def test_ctrl_c_ends_with_130(folder, monkeypatch):
    monkeypatch.setattr(Translator, "search", failing(KeyboardInterrupt()))
    result = run(app, ["translate", str(folder), "red"])
    assert result.exit_code == errors.INTERRUPTED == 130 and result.stderr == "seqlearn: interrupted\n"


def test_a_reader_that_has_gone_is_no_error(folder, monkeypatch):
    monkeypatch.setattr(Translator, "search", failing(BrokenPipeError(32, "Broken pipe")))
    result = run(app, ["translate", str(folder), "red"])
    assert result.exit_code == 1 and result.stderr == ""


@pytest.mark.parametrize(
    ("command", "headings"),
    [
        ("translate", ["Input", "Search", "Output"]),
        ("evaluate", ["Data", "Search", "Scoring", "Output"]),
        ("train", ["Data", "Held-out data", "Tokens", "Training", "Options of the models", "Output"]),
    ],
)
def test_help_is_grouped(command, headings):
    output = run(app, [command, "--help"], env={"COLUMNS": "200"}).output
    panels = dict(re.findall(r"^╭─ (.+?) ─+╮\n(.*?)^╰", output, re.M | re.S))
    assert {*headings, "Options"} == panels.keys() - {"Arguments"}
    assert all("--" in panel for name, panel in panels.items() if name != "Arguments")
    assert set(re.findall(r"^│ [* ]*(--[a-z-]+)", panels["Options"], re.M)) <= {
        "--device",
        "--threads",
        "--config",
        "--help",
    }
