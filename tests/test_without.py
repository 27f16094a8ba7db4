"""A translator with one part taken out: that part is really out, no other is, and search finds what it should.

What is stored of a training is found again at its start, and no run is repeated.
"""

import json
from operator import itemgetter
from pathlib import Path
from statistics import mean

import pytest
import torch
from torch import nn

from seqlearn.data import builtin
from seqlearn.nn.transformer import PositionWiseFFN, TransformerConfig, transformer
from seqlearn.search.fast_step import fast_step
from seqlearn.search.sampling import greedy_search
from seqlearn.training.losses import mean_loss
from seqlearn.training.progress import Log

STORED = Path(__file__).parents[1] / "assets" / "experiments" / "without"
LABELS = (
    "whole", "no residual connections", "no layer norm", "no feed-forward networks", "no factor sqrt(d)",
    "no positions", "no causal mask", "no padding mask",
)  # fmt: skip
SOURCE, LENS = torch.tensor([[5, 9, 7, 11, 3], [6, 8, 3, 0, 0]]), torch.tensor([5, 3])
TARGET = torch.tensor([[1, 14, 15, 16], [1, 17, 18, 19]])


@pytest.fixture
def without(import_benchmark, as_a_user):
    return import_benchmark("without")


@pytest.fixture
def make(without):
    """A small model with a part taken out. All have the same weights."""

    def model(label):
        torch.manual_seed(0)
        made = transformer(20, 20, TransformerConfig(32, 64, num_heads=4, num_layers=2))
        without.WAYS[label](made)
        return made.eval().requires_grad_(False)

    return model


@pytest.fixture
def both(make):
    """The whole model, and one with a part taken out."""
    return lambda label: (make("whole"), make(label))


def equal(one, other):
    return torch.allclose(one, other, atol=1e-5)


def test_the_ways_are_those_that_are_tested_and_start_with_the_same_weights(without, make):
    assert tuple(without.WAYS) == LABELS
    whole, numbers = dict(make("whole").named_parameters()), {}
    for label in LABELS:
        weights = dict(make(label).named_parameters())
        assert all(torch.equal(weight, whole[name]) for name, weight in weights.items()), label
        numbers[label] = set(whole) - set(weights)
    kinds = {label: {name.split(".")[-2].rstrip("123") for name in names} for label, names in numbers.items()}
    assert kinds.pop("no layer norm") == {"norm"} and kinds.pop("no feed-forward networks") == {"dense", "norm"}
    assert not any(kinds.values()), "no other way loses a weight"


def run_block(model, side):
    """What a block makes of random vectors, and the vectors."""
    x, block = torch.randn(2, 5, 32), getattr(model, side).blocks[1]
    if side == "encoder":
        return x, block(x)
    return x, block(x, block.cross_attention.project(*2 * [torch.randn(2, 6, 32)]))[0]


@pytest.mark.parametrize("side", ["encoder", "decoder"])
def test_without_residual_connections_a_block_whose_sublayers_give_zero_gives_zero(both, side):
    for model, passes in zip(both("no residual connections"), (True, False), strict=True):
        before = run_block(model, side)[1]
        for name, weight in model.named_parameters():
            if "W_o" in name or "dense2" in name:
                weight.zero_()
        x, y = run_block(model, side)
        assert torch.equal(y, x if passes else torch.zeros_like(x)) and before.abs().max() > 0.1


def test_without_layer_norm_nothing_brings_vectors_to_one_size(both):
    whole, bare = both("no layer norm")
    assert sum(isinstance(part, nn.LayerNorm) for part in whole.modules()) == 12
    assert not any(isinstance(part, nn.LayerNorm) for part in bare.modules())
    sizes = [model.encoder(SOURCE, LENS).outputs.std(-1, correction=0) for model in (whole, bare)]
    assert equal(sizes[0], torch.ones(2, 5)) and not torch.allclose(sizes[1], torch.ones(2, 5), atol=0.05)
    assert bare.decoder.norm(x := torch.randn(3)) is x


def test_without_feed_forward_networks_they_add_nothing_and_the_rest_is_whole(both):
    whole, model = both("no feed-forward networks")
    assert not any(isinstance(part, PositionWiseFFN) for part in model.modules())
    before = whole(SOURCE, LENS, TARGET)
    for ffn in (part for part in whole.modules() if isinstance(part, PositionWiseFFN)):
        ffn.dense2.weight.zero_()  # its bias is 0 at the start
    assert equal(model(SOURCE, LENS, TARGET), whole(SOURCE, LENS, TARGET))
    assert not equal(before, whole(SOURCE, LENS, TARGET))


def test_without_the_factor_embeddings_come_as_they_are(both):
    for model, factor in zip(both("no factor sqrt(d)"), (32**0.5, 1.0), strict=True):
        seen = []
        for side in (model.encoder, model.decoder):
            side.pos_encoding.register_forward_pre_hook(lambda _, args, seen=seen: seen.append(args[0]))
        model(SOURCE, LENS, TARGET)
        for side, ids, given in zip((model.encoder, model.decoder), (SOURCE, TARGET), seen, strict=True):
            assert equal(given, side.embedding.weight[ids] * factor)


def test_without_positions_another_order_of_the_source_changes_nothing_but_the_order(both):
    order, steps = torch.tensor([3, 1, 4, 0, 2]), torch.ones(1, 6, dtype=torch.long)
    for model, blind in zip(both("no positions"), (False, True), strict=True):
        one, other = model.encoder(SOURCE[:1], LENS[:1]), model.encoder(SOURCE[:1, order], LENS[:1])
        assert equal(one.outputs[:, order], other.outputs) is blind
        logits = [model(source, LENS[:1], TARGET[:1]) for source in (SOURCE[:1], SOURCE[:1, order])]
        assert equal(*logits) is blind
        repeated = model(SOURCE[:1], LENS[:1], steps)  # the decoder cannot count, either
        assert equal(repeated, repeated[:, :1].expand_as(repeated)) is blind
    dropout = [model.decoder.pos_encoding.dropout.p for model in both("no positions")]
    assert dropout == [0.1, 0.1]


def test_without_the_causal_mask_an_earlier_output_sees_a_later_word(both):
    later = TARGET.clone()
    later[:, -1] = 13
    whole, leaky = both("no causal mask")
    assert equal(whole(SOURCE, LENS, TARGET)[:, :-1], whole(SOURCE, LENS, later)[:, :-1])
    moved = (leaky(SOURCE, LENS, TARGET) - leaky(SOURCE, LENS, later)).abs().amax(-1)
    assert moved.min() > 1e-3  # all outputs, the first one too
    x, memory = torch.randn(2, 4, 32), torch.randn(2, 6, 32)
    for block in leaky.decoder.blocks:
        y = block.norm1(x)
        y = x + block.self_attention(y, y, y)
        y = y + block.cross_attention(block.norm2(y), memory, memory)
        assert equal(block(x, block.cross_attention.project(memory, memory))[0], y + block.ffn(block.norm3(y)))
    assert equal(whole.encoder(SOURCE, LENS).outputs, leaky.encoder(SOURCE, LENS).outputs)


def test_without_the_padding_mask_padding_matters(both):
    more = torch.cat([SOURCE, torch.zeros(2, 3, dtype=torch.long)], dim=1)
    for model, matters in zip(both("no padding mask"), (False, True), strict=True):
        assert equal(model(SOURCE, LENS, TARGET), model(more, LENS, TARGET)) is not matters
        memory = model.encoder(SOURCE, LENS)
        assert (memory.mask is None) is matters  # cross-attention gets no mask, either
        alone = model.encoder(SOURCE[1:, :3], LENS[1:]).outputs
        assert equal(memory.outputs[1:, :3], alone) is not matters


@pytest.mark.parametrize("label", LABELS)
def test_search_finds_what_the_model_says_of_each_prefix(make, label):
    """Without a cache and a fast step. In search no word comes later: the one without a causal mask is then whole."""
    model, reader = make(label), make("whole" if label == "no causal mask" else label)
    banned, steps = (0, 1, 2), 9
    words, scores = TARGET[:, :1], []
    for _ in range(steps):
        logits = reader(SOURCE, LENS, words)[:, -1].log_softmax(-1)
        chosen = logits.index_fill(1, torch.tensor(banned), -torch.inf).argmax(-1, keepdim=True)
        scores.append(logits.gather(1, chosen))
        words = torch.cat([words, chosen], dim=1)
    found = greedy_search(model, SOURCE, LENS, bos=1, eos=2, forbidden=banned, max_length=steps)
    assert [each.tokens for each in found] == words[:, 1:].tolist()
    assert equal(torch.tensor([each.log_probs for each in found]), torch.cat(scores, dim=1))
    state = model.decoder.init_state(model.encoder(SOURCE, LENS))
    is_fast = fast_step(model.decoder, state) is not None
    assert is_fast is (label in ("whole", "no positions", "no padding mask"))  # else the decoder itself is called


def test_word_by_word_no_answer_leaks(without):
    split, at_once, word_by_word = builtin(120).split(0.1, 0.1), [], []
    for label in ("whole", "no causal mask"):
        translator = without.untrained(label, split, 0)
        batches = without.Batches(split.valid, translator.source, translator.target)
        at_once.append(mean_loss(translator.model, batches))
        word_by_word.append(without.loss_word_by_word(translator, batches))
    assert word_by_word == pytest.approx(2 * [at_once[0]], abs=1e-5) and abs(at_once[1] - at_once[0]) > 1e-3


@pytest.mark.slow
def test_a_short_run_is_stored_once(without, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(without, "FOLDER", tmp_path)
    monkeypatch.setitem(without.RECIPES, "transformer", without.RECIPES["transformer"] | {"epochs": 1})
    monkeypatch.setattr(without, "WAYS", {"no factor sqrt(d)": without.WAYS["no factor sqrt(d)"]})
    monkeypatch.setattr(without.corpus, "builtin", lambda: builtin(120))
    without.run([7])
    stored = json.loads((tmp_path / "without" / "no-factor-sqrt(d)-7.json").read_text(encoding="utf-8"))
    assert stored["seed"] == 7 and len(stored["valid losses"]) == 1 and "seed 7, " in capsys.readouterr().out
    without.run([7])
    assert capsys.readouterr().out == ""


@pytest.mark.slow
def test_the_first_updates_of_a_stored_run_are_found_again(without, parts):
    stored = json.loads((STORED / "no-causal-mask-0.json").read_text("utf-8"))
    losses = []

    def write(logged):
        losses.append(logged.loss)
        if len(losses) == without.FIRST:
            raise KeyboardInterrupt  # which ends training

    without.train(without.untrained("no causal mask", parts, 0), parts, 0, Log(1, write))
    assert losses == pytest.approx(stored["first losses"], abs=2e-3)
    assert set(without.EXAMPLES) <= {pair.source for pair in parts.test}


@pytest.mark.parametrize("path", sorted(STORED.glob("*.json")), ids=lambda path: path.stem)
def test_what_is_stored_fits_together(path):
    stored = json.loads(path.read_text("utf-8"))
    assert path.stem == f"{stored['label'].replace(' ', '-')}-{stored['seed']}" and stored["label"] in LABELS
    assert len(stored["examples"]) == 3 and stored["exact"] == stored["kinds"]["right"]
    assert sum(stored["kinds"].values()) == pytest.approx(1, abs=0.001)
    assert stored["stopped"] or len(stored["valid losses"]) == len(stored["train losses"]) == stored["epochs"]
    if stored["label"] != "no causal mask":  # in the others no answer leaks, so all at once is word by word
        assert stored["valid loss word by word"] == pytest.approx(min(stored["valid losses"]), abs=2e-4)


def three():
    """The stored runs of each way, in the order of their seeds."""
    runs = [json.loads(path.read_text("utf-8")) for path in STORED.glob("*.json")]
    return {label: sorted((run for run in runs if run["label"] == label), key=itemgetter("seed")) for label in LABELS}


def test_all_ways_have_three_seeds():
    assert {label: [run["seed"] for run in runs] for label, runs in three().items()} == {
        label: [0, 1, 2] for label in LABELS
    }


def test_what_lesson_09_says_of_three_trainings():
    found = three()
    bleus = {label: [run["bleu"] for run in runs] for label, runs in found.items()}
    means = {label: f"{mean(scores):.1f}" for label, scores in bleus.items()}
    assert means == {
        "whole": "98.8", "no residual connections": "0.1", "no layer norm": "97.0", "no feed-forward networks": "98.8",
        "no factor sqrt(d)": "47.6", "no positions": "81.0", "no causal mask": "0.1", "no padding mask": "98.9",
    }  # fmt: skip
    assert max(bleus["no layer norm"]) < min(bleus["whole"]) - 1, "a norm is worth more than two seeds differ"
    for label in ("no feed-forward networks", "no padding mask"):
        assert min(bleus[label]) < max(bleus["whole"]) and min(bleus["whole"]) < max(bleus[label]), "ranges overlap"

    def kinds(label, kind):
        return [run["kinds"][kind] for run in found[label]]

    assert round(mean(kinds("no residual connections", "endless")), 2) == 0.85
    assert round(mean(kinds("no positions", "order")), 1) == 0.1 and max(kinds("whole", "order")) < 0.01
    assert not any(kinds("no causal mask", "right"))
    assert sorted(round(share) for share in kinds("no causal mask", "empty")) == [0, 1, 1]
    leaky = found["no causal mask"]
    assert [round(min(run["valid losses"]), 3) for run in leaky] == [0.001, 0.001, 0.001]
    assert [round(run["valid loss word by word"], 1) for run in leaky] == [6.2, 4.6, 5.3]
