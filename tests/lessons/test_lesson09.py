"""The checks of lesson 09: right answers in other forms, and typical wrong ones, each with its own diagnosis."""

import json
from pathlib import Path
from statistics import mean

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from answers import said_by
from seqlearn.exercises import lesson09
from seqlearn.nn.transformer import SIZES, TransformerConfig, TransformerEncoderBlock

STORED = Path(__file__).parents[2] / "assets" / "experiments"


def right_norm(x, gain, shift, eps, *, axes=-1, correction=0):
    """The solution of 9.1, with a switch for each typical mistake."""
    away = x - x.mean(axes, keepdim=True)
    return gain * away / (x.var(axes, correction=correction, keepdim=True) + eps).sqrt() + shift


def writes(x, gain, shift, eps):
    x -= x.mean(-1, keepdim=True)
    return right_norm(x, gain, shift, eps)


def scaled(x, eps):
    return right_norm(x, 1.0, 0.0, eps)


def by_size(size):
    def norm(x, gain, shift, eps):
        return gain * (x - x.mean(-1, keepdim=True)) / size(x.var(-1, correction=0, keepdim=True), eps) + shift

    return norm


def by_sum(x, gain, shift, eps):
    away = x - x.mean(-1, keepdim=True)
    return gain * away / ((away**2).sum(-1, keepdim=True) + eps).sqrt() + shift


def by_distance(x, gain, shift, eps):
    away = x - x.mean(-1, keepdim=True)
    return gain * away / (away.abs().mean(-1, keepdim=True) + eps) + shift


def by_moments(x, eps):
    """One over the standard deviation; the variance is the mean of the squares minus the square of the mean."""
    return ((x**2).mean(-1, keepdim=True) - x.mean(-1, keepdim=True) ** 2 + eps).rsqrt()


WRONG_NORMS = [
    (lambda *args: right_norm(*args, axes=0), "over the *first* axis"),
    (lambda *args: right_norm(*args, axes=tuple(range(args[0].dim()))), "over *all* axes at once"),
    (
        lambda *args: right_norm(*args, axes=-1 if args[0].dim() == 2 else (1, 2)),
        "over the last *two* axes",
    ),
    (lambda *args: right_norm(*args, axes=1), "over axis 1, the words"),
    (lambda *args: right_norm(*args, correction=1), "n - 1"),
    (lambda *args: right_norm(*args, axes=0, correction=1), "over the *first* axis, and divided by n - 1"),
    (
        lambda x, g, b, eps: g * (x - x.mean(-1, keepdim=True)) / x.var(-1, correction=0, keepdim=True) + b,
        "its square root",
    ),
    (lambda x, g, b, eps: right_norm(x, g, b, 0.0), "eps is not used: here it is 0.5"),
    (lambda x, g, b, eps: right_norm(x, g, b, eps if x.dim() == 3 or eps > 0.1 else 0.0), "of equal numbers gives NaN"),
    (
        lambda x, g, b, eps: g * (x - x.mean(-1, keepdim=True)) / (x.std(-1, correction=0, keepdim=True) + eps) + b,
        "*under* the root",
    ),
    (lambda x, g, b, eps: g * x / ((x**2).mean(-1, keepdim=True) + eps).sqrt() + b, "did not subtract the mean"),
    (lambda x, g, b, eps: scaled(x, eps), "gain and shift are missing"),
    (lambda x, g, b, eps: scaled(x, eps) + b, "the gain is missing"),
    (lambda x, g, b, eps: scaled(x, eps) * g, "the shift is missing"),
    (lambda x, g, b, eps: (scaled(x, eps) + b) * g, "the other way round"),
    (lambda x, g, b, eps: scaled(x, eps) * b + g, "exchanged gain and shift"),
    (lambda x, g, b, eps: g * (x - x.mean(-1, keepdim=True)) + b, "did not divide by the standard deviation"),
    (lambda x, g, b, eps: x.mean(-1), "like that of x, should have shape (3, 3); yours: (3,)"),
    (lambda *args: right_norm(*args) + 1, "the first vector should become"),
    (lambda *args: right_norm(*args).tolist(), "return a tensor"),
    (
        lambda x, g, b, eps: F.layer_norm(x, (x.shape[-1],), g, b, eps),
        "the numbers are right, but the task is to write",
    ),
    (lambda x, g, b, eps: g * (x - x.mean(-1)) / (x.var(-1, correction=0) + eps).sqrt() + b, "`keepdim=True` keeps"),
    (lambda x, g, b, eps: g * (x - x.mean(-1)) / (((x - x.mean(-1)) ** 2).mean(-1) + eps).sqrt() + b, "`keepdim=True`"),
    (by_size(lambda v, eps: v.clamp(min=eps).sqrt()), "the larger one of variance and eps"),
    (by_size(lambda v, eps: v.sqrt().clamp(min=eps)), "the larger one of the root and eps"),
    (lambda *args: by_sum(*args), "the *sum* of the squared distances"),
    (by_distance, "the mean of the distances without their sign"),
    (writes, "`x` has changed"),
    (lambda x, g, b, eps: x.mean(9), "your code stopped with IndexError"),
]


@pytest.mark.parametrize(("answer", "diagnosis"), WRONG_NORMS)
def test_wrong_norms(answer, diagnosis, capsys):
    said = said_by(lesson09.check_layer_norm, answer, capsys)
    assert said.startswith("Exercise 9.1: not yet.") and diagnosis.lower() in said.lower()


@pytest.mark.parametrize(
    "answer",
    [
        right_norm,
        lambda x, gain, shift, eps: right_norm(x.float(), gain.float(), shift.float(), eps),
        lambda x, gain, shift, eps: torch.addcmul(shift, gain, (x - x.mean(-1, True)) * by_moments(x, eps)),
    ],
)
def test_right_norms(answer, capsys):
    assert said_by(lesson09.check_layer_norm, answer, capsys) == "Exercise 9.1: right!\n"


def parts(lengths, steps):
    """What a mask is made of: (batch, 1, keys) real keys, (batch, queries, 1) real queries, (queries, keys) past."""
    places = torch.arange(steps)
    real = places < lengths[:, None]
    return real[:, None, :], real[:, :, None], places <= places[:, None]


def right_mask(lengths, steps):
    keys, _, past = parts(lengths, steps)
    return keys & past


def from_parts(rule):
    """A mask by a rule over these parts, brought to (batch, steps, steps)."""

    def answer(lengths, steps):
        return rule(*parts(lengths, steps)).expand(len(lengths), steps, steps)

    return answer


WRONG_MASKS = [
    (lambda *args: right_mask(*args).transpose(1, 2), "rows and columns are exchanged"),
    (from_parts(lambda keys, queries, past: keys & past.T), "its *future*"),
    (from_parts(lambda keys, queries, past: keys & past & ~past.T), "no word may see itself"),
    (from_parts(lambda keys, queries, past: keys & torch.ones_like(past)), "hides padding only"),
    (from_parts(lambda keys, queries, past: past), "hides the future only"),
    (from_parts(lambda keys, queries, past: ~(keys & past)), "upside down"),
    (from_parts(lambda keys, queries, past: keys | past), "joined the two rules with *or*"),
    (from_parts(lambda keys, queries, past: queries & past), "emptied the *rows* of padding"),
    (lambda lengths, steps: right_mask(lengths + 1, steps), "one position of padding can be seen"),
    (lambda *args: right_mask(*args).float(), "the mask should be torch.bool; yours: torch.float32"),
    (lambda *args: right_mask(*args)[:, None], "leave the axis of heads out"),
    (lambda *args: right_mask(*args)[0], "each sentence has a mask of its own"),
    (lambda *args: right_mask(*args)[:1], "(batch, steps, steps), should have shape (4, 4, 4); yours: (1, 4, 4)"),
    (
        lambda lengths, steps: (torch.arange(steps) < lengths[:, None]) & torch.ones(steps, steps).tril().bool(),
        "with `lengths[:, none, none]`",
    ),
    (lambda lengths, steps: (torch.arange(steps) < lengths[:, None])[:, None], "this hides padding only"),
    (lambda lengths, steps: right_mask(lengths, int(lengths.max())), "is 4 wide, `steps`, and not as wide as"),
    (from_parts(lambda keys, queries, past: queries & keys & past), "emptied the *rows* of padding"),
    (lambda lengths, steps: right_mask(lengths.flip(0), steps), "and yours says"),
    (lambda lengths, steps: right_mask(lengths.sub_(1), steps), "`lengths` has changed"),
]


@pytest.mark.parametrize(("answer", "diagnosis"), WRONG_MASKS)
def test_wrong_masks(answer, diagnosis, capsys):
    said = said_by(lesson09.check_decoder_mask, answer, capsys)
    assert said.startswith("Exercise 9.2: not yet.") and diagnosis.lower() in said.lower()


def entry_by_entry(lengths, steps):
    rows = [[[k < n and k <= q for k in range(steps)] for q in range(steps)] for n in lengths.tolist()]
    return torch.tensor(rows)


def with_tril(lengths, steps):
    return torch.stack([torch.ones(steps, steps).bool().tril() & (torch.arange(steps) < n) for n in lengths])


@pytest.mark.parametrize("answer", [right_mask, entry_by_entry, with_tril])
def test_right_masks(answer, capsys):
    assert said_by(lesson09.check_decoder_mask, answer, capsys) == "Exercise 9.2: right!\n"


@pytest.mark.parametrize(("answer", "diagnosis"), lesson09.WRONG_BLOCKS)
def test_wrong_blocks(answer, diagnosis, capsys):
    """Each by its own diagnosis, and so no two of the wrong blocks are the same."""
    said = said_by(lesson09.check_pre_norm_block, answer, capsys)
    assert said.startswith("Exercise 9.3: not yet.") and diagnosis[1:] in said


def adds_in_place(x, attention, ffn, norm1, norm2):
    y = norm1(x)
    x += attention(y, y, y)
    return x + ffn(norm2(x))


@pytest.mark.parametrize(
    ("answer", "diagnosis"),
    [
        (adds_in_place, "not `x += ...`"),
        (lambda x, *rest: x.mean(-1), "of the shape of x, should have shape (2, 3, 4)"),
        (lambda x, a, f, n1, n2: x + f(n2(x + a(n1(x), n1(x), n1(x)) * 0)), "neither pre-norm"),
        (lambda x, *rest: x, "neither pre-norm nor a mistake"),
        (lambda x, attention, *rest: attention(x), "your code stopped with TypeError"),
    ],
)
def test_other_wrong_blocks(answer, diagnosis, capsys):
    assert diagnosis.lower() in said_by(lesson09.check_pre_norm_block, answer, capsys).lower()


def in_two_steps(x, attention, ffn, norm1, norm2):
    y = norm1(x)
    y = attention(y, y, y) + x
    return torch.add(ffn(norm2(y)), y)


def in_one_line(x, attention, ffn, norm1, norm2):
    return (z := x + attention(*[norm1(x)] * 3)) + ffn(norm2(z))


@pytest.mark.parametrize("answer", [in_two_steps, in_one_line])
def test_right_blocks(answer, capsys):
    assert said_by(lesson09.check_pre_norm_block, answer, capsys) == "Exercise 9.3: right!\n"


def test_the_packages_block_is_right(capsys):
    """The check's idea of pre-norm is that of the package, with its parts put in."""

    def answer(x, attention, ffn, norm1, norm2):
        block = TransformerEncoderBlock(TransformerConfig(4, 8, 2, dropout=0.0))
        parts = {"self_attention": lambda q, k, v, mask: attention(q, k, v), "ffn": ffn, "norm1": norm1, "norm2": norm2}
        for name, function in parts.items():
            delattr(block, name)
            object.__setattr__(block, name, function)
        return block(x)

    assert said_by(lesson09.check_pre_norm_block, answer, capsys) == "Exercise 9.3: right!\n"


@pytest.mark.parametrize(
    ("answer", "diagnosis"),
    [
        (200, "there the line of the *training* pairs is lowest"),
        (40, "on its way up already"),
        (27, "around epoch 27 the gru is lowest, the panel on the left"),
        (np.float64(22.0), "around epoch 22 the gru is lowest"),
        (2, "still falling"),
        (201, "from 1 to 200 epochs"),
        (0, "from 1 to 200 epochs"),
        (float("nan"), "yours is nan"),
        ("15", "of type str"),
        (True, "of type bool"),
    ],
)
def test_wrong_readings_of_the_curve(answer, diagnosis, capsys):
    said = said_by(lesson09.check_lowest_epoch, answer, capsys)
    assert said.startswith("Exercise 9.4: not yet.") and diagnosis.lower() in said.lower()


@pytest.mark.parametrize("answer", [14, 12.0, np.int64(15), np.float64(16), torch.tensor(14)])
def test_right_readings_of_the_curve(answer, capsys):
    assert said_by(lesson09.check_lowest_epoch, answer, capsys) == "Exercise 9.4: right!\n"


def runs(name, label):
    found = [json.loads(path.read_text(encoding="utf-8")) for path in sorted((STORED / name).glob("*.json"))]
    return [run for run in found if run["label"] == label]


@pytest.mark.parametrize(
    ("label", "span"), [("Transformer", lesson09.LOWEST), ("GRU with attention", lesson09.LOWEST_OF_GRU)]
)
def test_the_readings_are_those_of_the_stored_runs(label, span):
    """The lowest epoch is in the span, and on both sides of it the curve can be seen to be higher."""
    curve = [mean(losses) for losses in zip(*(run["new losses"] for run in runs("memorise", label)), strict=True)]
    lowest = min(range(len(curve)), key=curve.__getitem__) + 1
    low, high = span
    assert low <= lowest <= high
    assert min(curve[: low - 1]) > curve[lowest - 1] + 0.03 and min(curve[high:]) > curve[lowest - 1] + 0.03


def right_count(d, f):
    return 4 * d * d + 2 * d * f + f + 5 * d


@pytest.mark.parametrize(
    ("answer", "diagnosis"),
    [
        (lambda d, f: right_count(d, f) - 4 * d, "the layer norms are missing"),
        (lambda d, f: right_count(d, f) - 2 * d, "half of the norms is missing"),
        (lambda d, f: right_count(d, f) - f - d, "the biases of the ffn are missing"),
        (lambda d, f: 4 * d * d + 2 * d * f, "these are the matrices alone"),
        (lambda d, f: right_count(d, f) - d * d, "one matrix of the attention is missing"),
        (lambda d, f: right_count(d, f) + 4 * d, "here the attention has no biases"),
        (lambda d, f: right_count(d, f) - d * f, "the ffn has two matrices"),
        (lambda d, f: right_count(d, f) - d, "the second matrix gives d numbers"),
        (lambda d, f: right_count(d, f) - f, "the first matrix gives f numbers"),
        (lambda d, f: right_count(d, f) + 4 * d * d + 2 * d, "this is a decoder block"),
        (lambda d, f: right_count(d, f) + 4 * d * d, "the second one is the decoder's"),
        (lambda d, f: d + f, "for d = 7 and f = 10 it should be 381; yours: 17"),
        (lambda d, f: "many", "of type str"),
        (lambda d, f: float("nan"), "yours is nan"),
        (lambda d, f: right_count(d, f) - d + f, "d numbers, not f"),
        (lambda d, f: right_count(d, 4 * d), "f need not be 4d"),
        (lambda d, f: right_count(d, f) - d * d - 4 * d, "and the layer norms are missing, too"),
    ],
)
def test_wrong_counts(answer, diagnosis, capsys):
    said = said_by(lesson09.check_block_parameters, answer, capsys)
    assert said.startswith("Exercise 9.5: not yet.") and diagnosis in said.lower()


@pytest.mark.parametrize(
    "answer",
    [
        lambda d, f: float(4 * d**2 + d * f + f * d + f + d + 2 * (d + d)),
        lambda d, f: np.int64(right_count(d, f)),
        lambda d, f: sum(weight.numel() for weight in TransformerEncoderBlock(TransformerConfig(d, f, 1)).parameters()),
    ],
)
def test_right_counts(answer, capsys):
    assert said_by(lesson09.check_block_parameters, answer, capsys) == "Exercise 9.5: right!\n"


@pytest.mark.parametrize("size", SIZES)
def test_the_right_count_is_that_of_the_package(size, capsys):
    d, f = SIZES[size].num_hiddens, SIZES[size].ffn_num_hiddens
    with torch.device("meta"):
        block = TransformerEncoderBlock(SIZES[size])
    assert sum(weight.numel() for weight in block.parameters()) == right_count(d, f)
    assert said_by(lesson09.check_block_parameters, right_count, capsys) == "Exercise 9.5: right!\n"


def test_batch_norm_depends_on_the_batch_and_layer_norm_does_not():
    """Section 3, with torch's own layers."""
    sentence, others = torch.randn(1, 3, 8), torch.randn(2, 3, 8)
    by_batch, by_layer = nn.BatchNorm1d(8), nn.LayerNorm(8)
    first, second = (torch.cat([sentence, other[None]]) for other in others)

    def ours(norm, batch):
        return norm(batch.transpose(1, 2)).transpose(1, 2)[0] if norm is by_batch else norm(batch)[0]

    assert not torch.allclose(ours(by_batch, first), ours(by_batch, second), atol=0.1)
    assert torch.equal(ours(by_layer, first), ours(by_layer, second))


def test_what_the_stored_runs_say_of_the_curriculum():
    """Four ways, equally many updates: it is the short sentences that cost, and not the way in which the rate falls."""
    ways = {
        (first, falls): runs("curriculum", f"{first}, rate falls {falls}")
        for first in ("all sentences", "short sentences first")
        for falls in ("in a line", "by stage")
    }
    assert all([run["seed"] for run in found] == [0, 1, 2] for found in ways.values())
    assert len({run["updates"] for found in ways.values() for run in found}) == 1
    everything, staged = (
        [run for (first, _), found in ways.items() if first.startswith(start) for run in found]
        for start in ("all", "short")
    )
    for epoch in range(4):
        assert max(run["valid bleu"][epoch] for run in staged) < min(run["valid bleu"][epoch] for run in everything)
    assert max(run["all"]["bleu"] for run in staged) < min(run["all"]["bleu"] for run in everything)
    assert max(run["tokens"] for run in staged) < 0.85 * min(run["tokens"] for run in everything)

    def bleu(*way):
        return [run["all"]["bleu"] for run in ways[way]]

    in_a_line, by_stage = (bleu("short sentences first", falls) for falls in ("in a line", "by stage"))
    assert all(0 < after - before < 1 for before, after in zip(in_a_line, by_stage, strict=True)), "a little better"
    in_a_line, by_stage = (bleu("all sentences", falls) for falls in ("in a line", "by stage"))
    assert all(abs(after - before) < 0.5 for before, after in zip(in_a_line, by_stage, strict=True)), "no difference"


def test_what_the_lesson_says_of_learning_by_heart():
    """Appendix C: d2l's losses are reached without dropout, most sources are known, and hardly any new one is right."""
    for label, reached_in_training in (("GRU with attention", False), ("Transformer", True)):
        found = runs("memorise", label)
        assert [run["seed"] for run in found] == [0, 1, 2]
        for run in found:
            published = run["published by d2l"]
            assert run["lowest possible"] / 10 < run["train losses without dropout"][-1] / 10 <= published
            assert (run["train losses"][-1] / 10 <= published) == reached_in_training
            assert run["trained right"]["right"] > 0.85 * run["trained right"]["sources"]
            assert run["new right"]["right"] < 0.15 * run["new right"]["sources"]
            assert run["new losses"][-1] > min(run["new losses"]) + 1


def test_no_sentence_of_the_corpus_is_stored():
    for path in (STORED / "memorise").glob("*.json"):
        texts = [value for value in json.loads(path.read_text(encoding="utf-8")).values() if isinstance(value, str)]
        assert len(texts) == 4, "label, model, torch and machine"
