"""The benchmarks of a GPU and of a page run; operations are counted right, and COMMANDS.md has the counts."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from seqlearn.nn.transformer import SIZES, transformer

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.mark.slow
@pytest.mark.parametrize(("source", "target"), [(5, 7), (1, 9)])
def test_the_operations_are_those_that_torch_counts(import_benchmark, source, target):
    """In d2l's layers, which write out every product."""
    flops, textbook = import_benchmark("flops"), import_benchmark("textbook")
    shape = (11, 13), 8, 24, 3, 0.0
    ours = textbook.our_transformer(*shape)
    theirs = textbook.TextbookTransformer(*shape, ours.state_dict())
    ids = torch.randint(4, 11, (2, source)), torch.full((2,), source), torch.randint(4, 13, (2, target))
    with FlopCounterMode(display=False) as forward:
        logits = theirs(*ids)
    with FlopCounterMode(display=False) as backward:
        logits.sum().backward()
    assert forward.get_total_flops() == 2 * flops.forward_flops(ours, source, target)
    assert forward.get_total_flops() + backward.get_total_flops() == 2 * flops.update_flops(ours, source, target)


@pytest.mark.slow
def test_the_paragraph_on_100_million_pairs_has_the_counts(import_benchmark):
    with torch.device("meta"):  # shapes are enough
        model = transformer(32_000, 32_000, replace(SIZES["base"], tie=True))
    text = (BENCHMARKS.parent / "docs" / "COMMANDS.md").read_text(encoding="utf-8")
    parameters = sum(weight.numel() for weight in model.parameters())
    operations = import_benchmark("flops").update_flops(model, 25, 25) / 25
    assert f"has {parameters / 1e6:.1f} million parameters" in text
    assert f"{operations / 1e6:.0f} million operations for a target token" in text
    assert f"makes {round(0.35 * 989e12 / operations, -4):,.0f} target tokens a second" in text


@pytest.mark.slow
@pytest.mark.parametrize("name", ["transformer", "tatoeba"])
def test_the_page_that_is_timed_holds_the_model(import_benchmark, capsys, name):
    live = import_benchmark("live")
    assert len(live.page_text(name)) < 8e6
    assert "bytes: weights" in capsys.readouterr().out


def gpu(*arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, BENCHMARKS / "gpu.py", *arguments], capture_output=True, text=True)


CUDA = pytest.param(
    "cuda", marks=[pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")]
)


@pytest.mark.slow
@pytest.mark.parametrize("device", ["cpu", CUDA])
def test_every_part_of_the_gpu_benchmark_runs(device):
    done = gpu("--device", device, "--quick")
    assert done.returncode == 0, done.stderr
    assert "left out" not in done.stdout
    for part in ("peaks: ", "agreement ", "loop: ", "search: ", "real: "):
        assert f"\n{part}" in done.stdout, part
    for precision in ("float32", "tf32", "bf16"):
        _, found, table = done.stdout.partition(f"\ntraining: tiny, {precision}, ")
        names = [line[2:26].strip() for line in table.splitlines()[2:8]]
        assert found and names == [
            "seqlearn", "d2l", "torch.nn", "seqlearn, compiled", "torch.nn, compiled", "seqlearn, loss of fit",
        ]  # fmt: skip


@pytest.mark.slow
@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_a_machine_without_a_gpu_is_told_so_in_a_sentence():
    done = gpu()
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("There is no GPU here, so nothing was measured") and done.stderr.count("\n") == 1
