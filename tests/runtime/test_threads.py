"""How many threads compute, and how they wait for each other."""

import os
import subprocess
import sys

import pytest
import torch
from torch import nn
from typer.testing import CliRunner

from seqlearn.cli import app
from seqlearn.data.corpus import Split
from seqlearn.data.pairs import Pair
from seqlearn.runtime import threads
from seqlearn.runtime.threads import fitting_threads, threads_for
from seqlearn.training import History
from seqlearn.translator.translator import Translator

PAIRS = [Pair(f"red {word}", f"rouge {word}") for word in "abcdefgh"]
SPLIT = Split(PAIRS, PAIRS[:2], PAIRS[:2])


@pytest.fixture(autouse=True)
def three(monkeypatch):
    """PyTorch uses three threads, and nobody has asked for another number."""
    for name in ("SEQLEARN_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    assert torch.get_num_threads() == 3, "the number of before is not back"
    torch.set_num_threads(before)


def model(parameters, device="cpu"):
    return nn.Linear(parameters, 1, bias=False, device=device)


def test_a_small_model_gets_one_thread_and_a_large_one_those_of_pytorch(monkeypatch):
    monkeypatch.setattr(threads, "SMALL", 10)
    assert threads_for(model(9)) == 1
    assert threads_for(model(10)) == 3
    assert threads_for(model(9, "meta")) == 3, "threads of the CPU matter little to a model elsewhere"


def test_the_models_of_the_course_are_small_and_that_of_the_paper_is_not():
    for name, settings in [("bahdanau", {}), ("transformer", {})]:
        translator = Translator.untrained(name, SPLIT, ("en", "fr"), **settings)
        assert threads_for(translator.model) == 1
    with torch.device("meta"):
        large = nn.Transformer(512, 8, batch_first=True)
    assert sum(each.numel() for each in large.parameters()) > threads.SMALL


def test_where_a_model_runs_is_said_with_the_threads_of_the_cpu(monkeypatch):
    monkeypatch.setattr(threads, "SMALL", 10)
    said = [threads.where_it_runs(model(9)), threads.where_it_runs(model(10)), threads.where_it_runs(model(9, "meta"))]
    assert said == ["cpu, 1 thread", "cpu, 3 threads", "meta"]


def test_who_asks_for_a_number_gets_it(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert threads_for(model(9)) == 3
    monkeypatch.setenv("SEQLEARN_THREADS", " 2 ")
    assert threads_for(model(9)) == threads_for(model(5_000_000)) == 2
    for wrong in ("0", "-1", "two", "1025", "1.5"):
        monkeypatch.setenv("SEQLEARN_THREADS", wrong)
        with pytest.raises(ValueError, match=f"SEQLEARN_THREADS='{wrong}' is not a number of threads from 1 to 1,024"):
            threads_for(model(9))


def test_the_number_of_before_comes_back_after_an_error_too():
    with pytest.raises(KeyError), fitting_threads(model(9)):
        assert torch.get_num_threads() == 1
        raise KeyError


def test_training_search_and_evaluation_use_it(monkeypatch):
    monkeypatch.setenv("SEQLEARN_DEVICE", "cpu")
    translator = Translator.untrained("bahdanau", SPLIT, ("en", "fr"), embed_size=4, num_hiddens=4)
    seen, forward = [], type(translator.model.encoder).forward
    monkeypatch.setattr(
        type(translator.model.encoder),
        "forward",
        lambda *args: seen.append(torch.get_num_threads()) or forward(*args),
    )
    works = {
        "fit": lambda: translator.fit(SPLIT, epochs=1, lr=0.01, progress=False),
        "greedy": lambda: translator.translate("red a"),
        "beam": lambda: translator.translate("red a", beam=2),
        "evaluate": lambda: translator.evaluate(PAIRS, translations=["rouge"] * len(PAIRS)),
    }
    for name, work in works.items():
        seen.clear()
        work()
        assert set(seen) == {1}, name


def test_training_that_fails_gives_the_number_back(monkeypatch):
    """Also while the error, and with it the frame of `fit`, is still there."""
    monkeypatch.setenv("SEQLEARN_DEVICE", "cpu")
    translator = Translator.untrained("bahdanau", SPLIT, ("en", "fr"), embed_size=4, num_hiddens=4)

    def hook(model: nn.Module, history: History):
        raise KeyError

    with pytest.raises(KeyError) as failure:
        translator.fit(SPLIT, epochs=1, lr=0.01, progress=False, after_epoch=[hook])
    assert torch.get_num_threads() == 3 and failure.tb is not None


@pytest.mark.slow
@pytest.mark.parametrize(("more", "said"), [([], "on cpu, 1 thread"), (["--threads", "2"], "on cpu, 2 threads")])
def test_the_command_line_says_how_many(tmp_path, monkeypatch, more, said):
    monkeypatch.setenv("SEQLEARN_DEVICE", "cpu")
    monkeypatch.setenv("SEQLEARN_THREADS", "")  # monkeypatch takes back what --threads sets
    (tmp_path / "pairs.tsv").write_text("".join(f"{a}\t{a}\n" for a in "abcdefghijkl"), "utf-8")
    out = str(tmp_path / "model")
    small = ["--embed-size", "4", "--hidden", "4", "--epochs", "1", "--min-freq", "1"]
    options = ["--corpus", str(tmp_path / "pairs.tsv"), "--out", out, *small]
    for command in (["train", *options, "--held-out", "0.2"], ["evaluate", out]):
        result = CliRunner().invoke(app, [*command, *more])
        assert result.exit_code == 0 and said in result.stdout.split("\n")[0], result.output


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="libgomp says what it has read")
@pytest.mark.parametrize(("given", "spins"), [(None, "0"), ("active", "30000000000")])
def test_threads_of_the_command_line_sleep_while_they_wait(given, spins):
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("OMP_", "GOMP_"))}
    environment |= {"OMP_DISPLAY_ENV": "verbose"} | ({} if given is None else {"OMP_WAIT_POLICY": given})
    done = subprocess.run(
        [sys.executable, "-c", "import seqlearn.cli, torch"], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0 and f"GOMP_SPINCOUNT = '{spins}'" in done.stderr, done.stderr
