"""`seqlearn train` with validation and test files of the user's own."""

import gzip
import os

import pytest
from typer.testing import CliRunner

from seqlearn.cli import app, corpora
from seqlearn.cli.options import DataOptions
from seqlearn.translator.translator import Translator

WORDS = "red green blue one two three four".split()
LINES = [f"{a} {b}" for a in WORDS for b in WORDS]
SMALL = ["--epochs", "1", "--embed-size", "8", "--hidden", "8", "--batch-size", "16", "--min-freq", "1"]
PARTS = {"train": LINES[:40], "valid": ["RED  red", "Green four", *LINES[40:43]], "test": [*LINES[39:41], *LINES[43:]]}


def run(*arguments):
    return CliRunner().invoke(app, [str(each) for each in arguments], env={"COLUMNS": "1000"})


@pytest.fixture
def files(tmp_path):
    """Each part as `part.tsv`, and as `part.en` and `part.fr`. Three sentences are in two parts."""
    for part, lines in PARTS.items():
        (tmp_path / f"{part}.tsv").write_text("".join(f"{line}\t{french(line)}\n" for line in lines), encoding="utf-8")
        (tmp_path / f"{part}.en").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        (tmp_path / f"{part}.fr").write_text("".join(f"{french(line)}\n" for line in lines), encoding="utf-8")
    return tmp_path


def french(line):
    return line.lower().replace("red", "rouge").replace("one", "un") + " !"


def options(files, form, *parts):
    """The options that name these parts, as one file each ("tsv") or as two."""
    named = []
    for part in parts:
        first = "" if part == "train" else f"{part}-"
        tsv = ["--corpus" if part == "train" else f"--{part}", files / f"{part}.tsv"]
        two = [f"--{first}source", files / f"{part}.en", f"--{first}target", files / f"{part}.fr"]
        named += tsv if form == "tsv" else two
    return ["train", *named, *SMALL, "--out", files / "model"]


def sources(part):
    return [" ".join(pair.source.lower().split()) for pair in part]


@pytest.mark.parametrize("form", ["tsv", "two files"])
def test_own_files_are_the_held_out_parts(files, asked, form):
    """All other pairs are trained on. A sentence in two parts stays in the later one, and each such pair is counted."""
    result = run(*options(files, form, "train", "valid", "test"))
    assert "that is enough" in result.stderr, result.output
    split = asked[0]["split"]
    assert sources(split.test) == PARTS["test"]
    assert sources(split.valid) == ["red red", "green four", *LINES[41:43]], "a line of test was left in valid"
    assert sources(split.train) == [line for line in LINES[:39] if line not in ("red red", "green four")]
    name = {part: f"{part}.{'tsv' if form == 'tsv' else 'en'}" for part in PARTS}
    for count, part, later in [
        ("1 of 5", "valid", "test"),
        ("2 of 40", "train", "valid"),
        ("1 of 38", "train", "test"),
    ]:
        said = f"{count} pairs of {name[part]} are left out, because {name[later]} has their source sentences, too"
        assert said in result.stderr


@pytest.mark.parametrize("form", ["tsv", "two files"])
def test_a_word_that_own_files_have_once_becomes_unk(files, asked, form):
    for ending, line in (("tsv", "red zebra\trouge zebra !"), ("en", "red zebra"), ("fr", "rouge zebra !")):
        with (files / f"train.{ending}").open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")
    command = options(files, form, "train", "valid", "test")
    place = command.index("--min-freq")
    for each in (command[:place] + command[place + 2 :], command):
        assert "that is enough" in run(*each).stderr
    vocabs = [each["translator"].source.vocab for each in asked]
    assert ["zebra" in vocab for vocab in vocabs] == [False, True] and all("red" in vocab for vocab in vocabs)


def test_own_files_are_reversed_like_the_corpus(files, asked):
    assert "that is enough" in run(*options(files, "tsv", "train", "valid", "test"), "--reverse").stderr
    split = asked[0]["split"]
    assert [pair.source for pair in split.test] == [french(line) for line in PARTS["test"]]
    assert [pair.target for pair in split.test] == PARTS["test"]
    assert french("red red") not in [pair.source for pair in split.train]


def test_a_part_without_a_file_is_drawn_from_the_corpus(files, asked):
    """The limit counts pairs of the corpus: it does not make the user's file smaller."""
    run(*options(files, "tsv", "train", "valid"), "--held-out", "0.2", "--limit", "30")
    run(*options(files, "tsv", "train", "test"), "--held-out", "0.2", "--limit", "30")
    splits = with_valid, with_test = [each["split"] for each in asked]
    assert sources(with_valid.valid) == ["red red", "green four", *LINES[40:43]]
    assert sources(with_test.test) == PARTS["test"]
    for split in splits:
        train, valid, test = (set(sources(part)) for part in split)
        assert not train & (valid | test) and not valid & test and train and valid and test
    assert len(with_valid.train) + len(with_valid.test) in range(28, 31)
    assert len(with_test.train) + len(with_test.valid) in range(28, 31)


@pytest.mark.slow
def test_evaluate_scores_the_own_test_file(files, monkeypatch):
    """The corpus may be gone by then. A test file that has changed is refused."""
    scored, evaluate = [], Translator.evaluate

    def spy(self, pairs, *args, **how):
        scored.extend(pairs)
        return evaluate(self, pairs, *args, **how)

    monkeypatch.setattr(Translator, "evaluate", spy)
    result = run(*options(files, "two files", "train", "valid", "test"), "--reverse")
    assert result.exit_code == 0 and "pairs 37 train, 4 valid, 8 test" in result.output, result.output
    (files / "train.en").unlink()
    result = run("evaluate", files / "model")
    assert result.exit_code == 0 and "test.en: 8 held-out pairs" in result.output, result.output
    assert [pair.target for pair in scored] == PARTS["test"] and scored[0].source == french(PARTS["test"][0])
    (files / "test.fr").write_text("autre\n" * 8, encoding="utf-8")
    result = run("evaluate", files / "model")
    assert result.exit_code == 1
    assert "test.fr has changed since the translator was trained, so it is not the test part" in result.stderr


@pytest.mark.parametrize("part", ["valid", "test"])
def test_a_held_out_file_that_has_changed_stops_a_resumed_training(files, monkeypatch, part):
    def dies(*args):
        raise RuntimeError("the power is off")

    monkeypatch.setattr("seqlearn.training.loop.mean_loss", dies)
    assert run(*options(files, "tsv", "train", "valid", "test")).exit_code == 1
    monkeypatch.undo()
    path = files / f"{part}.tsv"
    path.write_text(path.read_text("utf-8") + "new\tnew\n", encoding="utf-8")
    result = run("train", "--resume", files / "model", "--device", "cpu")
    assert result.exit_code == 1 and f"{part}.tsv has changed since" in result.stderr, result.output


@pytest.mark.slow
def test_own_files_go_with_the_built_in_corpus_and_malformed_lines_are_counted(files, asked):
    text = "The cat sleeps.\tLe chat dort.\nno tab\n"
    (files / "valid.tsv.gz").write_bytes(gzip.compress(text.encode()))
    command = ["train", "--pairs", "300", "--valid", files / "valid.tsv.gz", "--out", files / "model"]
    result = run(*command)
    assert "valid.tsv.gz, line 2: 1 column" in result.stderr and not asked
    result = run(*command, "--skip-malformed")
    assert "left out, 1 pairs remain" in result.stderr and "that is enough" in result.stderr
    assert [pair.target for pair in asked[0]["split"].valid] == ["Le chat dort."]
    assert len(asked[0]["split"].test) > 3


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--valid", "a", "--valid-source", "b"], "--valid holds both sides: leave out --valid-source and"),
        (["--test-source", "b"], "--test-source and --test-target go together"),
        (["--valid-target", "b"], "--valid-source and --valid-target go together"),
        (["--valid", "none.tsv"], "there is no file"),
        (["--valid", "valid.tsv", "--test", "test.tsv", "--held-out", "0.2"], "--held-out draws no part where"),
        (["--valid", "train.tsv", "--test", "test.tsv"], "leave 0 to train on"),
        (["--valid", "test.tsv", "--test", "test.tsv"], "0 to choose with"),
    ],
)
def test_what_cannot_be_is_one_sentence(files, asked, monkeypatch, more, message):
    monkeypatch.chdir(files)
    result = run(*options(files, "tsv", "train"), *more)
    assert result.exit_code == 1 and message in result.stderr, result.output
    assert not asked and not (files / "model").exists()


def test_a_test_part_in_three_files_is_refused(files, asked):
    with pytest.raises(ValueError, match=r"a test part is in one file or in two, not in 3: a\.tsv, b\.tsv, c\.tsv"):
        corpora.pairs_to_score(described(files, test=["a.tsv", "b.tsv", "c.tsv"]))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
@pytest.mark.parametrize("place", ["corpus", "source", "target", "test", "valid"])
def test_a_pipe_in_place_of_the_corpus_is_not_waited_for(files, monkeypatch, place):
    """Whoever opens it waits for ever: so these functions must not even be called."""
    monkeypatch.setattr(corpora.corpora, "from_tsv", lambda *_: pytest.fail("was opened"))
    monkeypatch.setattr(corpora.corpora, "from_files", lambda *_: pytest.fail("was opened"))
    pipe = str(files / "pipe")
    os.mkfifo(pipe)
    named = (
        {"source": str(files / "train.en"), "target": str(files / "train.fr")} if place in ("source", "target") else {}
    )
    named[place] = [pipe] if place in ("test", "valid") else pipe
    with pytest.raises(ValueError, match="pipe, with which the translator was trained, is not a file"):
        corpora.pairs_to_score(described(files, **named))


def described(files, **changes):
    """The description of a corpus, as a configuration has it."""
    return {**corpora.describe(DataOptions(corpus=str(files / "train.tsv"), held_out=0.1)), **changes}


def test_columns_are_those_of_each_file_of_pairs(files, asked):
    """Of the corpus and of both held-out parts; and of `evaluate --tsv`, after training, too."""
    for part in PARTS:
        path = files / f"{part}.tsv"
        path.write_text(
            "".join(f"{i}\t{line}\n" for i, line in enumerate(path.read_text("utf-8").splitlines())), "utf-8"
        )
    command = options(files, "tsv", "train", "valid", "test")
    result = run(*command)
    assert "--columns 2,3" in result.stderr and not asked
    result = run(*command, "--columns", "2,3")
    assert "that is enough" in result.stderr, result.output
    assert sources(asked[0]["split"].test) == PARTS["test"] and sources(asked[0]["split"].valid)[0] == "red red"
    refusal = run("evaluate", "bahdanau", "--tsv", files / "test.tsv")
    assert refusal.exit_code == 1 and "the first of its three columns holds numbers" in refusal.stderr
    scored = run("evaluate", "bahdanau", "--tsv", files / "test.tsv", "--columns", "2,3", "--json")
    assert scored.exit_code == 0 and f'"pairs": {len(PARTS["test"])}' in scored.output
    assert "--columns is for --tsv" in run("evaluate", "bahdanau", "--columns", "2,3").stderr
