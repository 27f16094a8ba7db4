"""What `seqlearn train` tells while it trains: lines, and files for TensorBoard."""

import re
import sys
import types

import pytest
from typer.testing import CliRunner

from seqlearn.cli import app

pytestmark = pytest.mark.slow

WORDS = "red blue green one two three four five six seven".split()
SMALL = ["--model", "bahdanau", "--hidden", "8", "--embed-size", "8", "--held-out", "0.1", "--batch-size", "16"]


@pytest.fixture
def corpus(tmp_path, monkeypatch):
    monkeypatch.setenv("SEQLEARN_DEVICE", "cpu")
    lines = [f"{a} {b} {c}\t{b} {a} !\n" for a in WORDS for b in WORDS for c in WORDS[:2]]
    (tmp_path / "pairs.tsv").write_text("".join(lines), encoding="utf-8")
    return ["--corpus", str(tmp_path / "pairs.tsv"), *SMALL, "--out", str(tmp_path / "m")]


@pytest.fixture
def board(monkeypatch):
    """TensorBoard's writer, replaced by one that remembers."""
    seen = {}

    class Writer:
        def __init__(self, folder):
            seen["folder"] = folder

        def add_scalar(self, tag, scalar_value, global_step):
            seen.setdefault(tag, []).append((global_step, scalar_value))

        def flush(self):
            seen["flushed"] = True

    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", types.SimpleNamespace(SummaryWriter=Writer))
    return seen


def train(*arguments):
    return CliRunner().invoke(app, ["train", *map(str, arguments)])


def test_a_line_for_so_many_updates(corpus):
    result = train(*corpus, "--epochs", "2", "--log-every", "4")
    assert result.exit_code == 0, result.output
    line = r"update (\d+): loss (\d\.\d{3}), rate ([\d.e-]+), [\d,]+ tokens/s"
    told = [each for text in result.stdout.splitlines() if (each := re.fullmatch(line, text))]
    updates = int(re.search(r"pairs (\d+) train", result.stdout)[1])
    total = 2 * -(-updates // 16)
    assert [int(each[1]) for each in told] == list(range(4, total + 1, 4))
    losses, rates = [float(each[2]) for each in told], [float(each[3]) for each in told]
    assert losses[-1] < losses[0] and rates == sorted(rates, reverse=True)


def test_the_losses_are_those_of_the_history(corpus, board, tmp_path):
    result = train(*corpus, "--epochs", "2", "--log-every", "1", "--tensorboard", tmp_path / "board")
    assert result.exit_code == 0, result.output
    assert board["folder"] == tmp_path / "board" and board["flushed"]
    updates = [update for update, _ in board["loss/train"]]
    assert updates == list(range(1, len(updates) + 1)) and len(updates) % 2 == 0
    assert [update for update, _ in board["loss/valid"]] == [len(updates) // 2, len(updates)]
    records = (tmp_path / "m" / "log.jsonl").read_text("utf-8")
    for name, tag in (("train_loss", "loss/epoch"), ("valid_loss", "loss/valid")):
        assert [f'"{name}": {value}' in records for _, value in board[tag]] == [True, True]
    assert all(rate > 0 for _, rate in board["rate"][:-1]) and all(speed > 0 for _, speed in board["tokens a second"])


def test_without_log_every_the_board_gets_a_point_for_100_updates_and_the_screen_nothing(corpus, board, tmp_path):
    result = train(*corpus, "--epochs", "10", "--tensorboard", tmp_path / "board")
    assert result.exit_code == 0 and "update " not in result.stdout, result.output
    assert [update for update, _ in board["loss/train"]] == [100]


def test_what_is_refused_before_any_work(corpus, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)  # as if it were not installed
    result = train(*corpus, "--tensorboard", tmp_path / "board")
    assert result.exit_code == 1 and "needs the package tensorboard: pip install tensorboard" in result.stderr
    result = train(*corpus, "--tensorboard", tmp_path / "pairs.tsv")
    assert result.exit_code == 1 and "pairs.tsv is not a folder" in result.stderr
    assert not (tmp_path / "m").exists() and not (tmp_path / "board").exists()
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "thesis.txt").touch()
    monkeypatch.setattr("seqlearn.cli.train.board_in", lambda folder: folder.mkdir())
    result = train(*corpus, "--tensorboard", tmp_path / "board")
    assert result.exit_code == 1 and "m holds something other than a translator" in result.stderr
    assert not (tmp_path / "board").exists()
    result = train(*corpus, "--max-tokens", "100", "--epochs", "1")
    assert result.exit_code == 1 and "--batch-size has no effect with --max-tokens: leave it out" in result.stderr
    result = train(*corpus, "--cased", "--epochs", "1")
    assert result.exit_code == 1 and "--cased is for --tokens bpe: leave it out" in result.stderr
