"""The Transformer against torch's stacks, d2l's encoder, and itself with and without a cache."""

import functools
import math
from dataclasses import replace

import pytest
import torch
from torch import nn

from seqlearn.nn.cache import Past, sentences_of
from seqlearn.nn.positions import sinusoids
from seqlearn.nn.recording import record_attention
from seqlearn.nn.transformer import (
    ACTIVATIONS,
    POSITIONS,
    SIZES,
    PositionWiseFFN,
    TransformerConfig,
    TransformerDecoderBlock,
    TransformerEncoder,
    TransformerEncoderBlock,
    transformer,
)
from seqlearn.runtime.d2l_compat import d2l
from seqlearn.training.storage import save_weights

WIDTH, FFN, HEADS, LAYERS = 8, 12, 2, 3
SOURCE = torch.tensor([[4, 5, 6, 2, 0, 0], [7, 8, 9, 10, 4, 2], [2, 0, 0, 0, 0, 0]])
LENGTHS = torch.tensor([4, 6, 1])
TARGET = torch.tensor([[1, 4, 5, 6, 7], [1, 7, 8, 12, 3], [1, 9, 4, 5, 6]])
VARIANTS = [*((positions, True) for positions in POSITIONS), ("sinusoidal", False)]


def make(positions="sinusoidal", norm_first=True, dtype=torch.float64, **options):
    torch.manual_seed(0)
    options = {"num_layers": LAYERS, "positions": positions, "norm_first": norm_first, **options}
    model = transformer(11, 13, TransformerConfig(WIDTH, FFN, HEADS, **options)).to(dtype).eval()
    for name, weight in model.named_parameters():  # biases that are 0 and gains that are 1 would hide a mistake
        if weight.dim() == 1:
            nn.init.normal_(weight, mean=float("norm" in name and name.endswith("weight")), std=0.5)
    return model


@pytest.fixture(params=VARIANTS, ids=lambda variant: f"{variant[0]}-{'pre' if variant[1] else 'post'}")
def model(request):
    """Each kind of positions with pre-norm, and the paper's model."""
    return make(*request.param)


def close(found, expected, error=1e-10):
    torch.testing.assert_close(found, expected, atol=error, rtol=0)


# Parity


def torch_attention(theirs, ours):
    """Copy our four matrices (and biases) into torch's attention."""
    three = ours.W_q, ours.W_k, ours.W_v
    theirs.in_proj_weight.copy_(torch.cat([W.weight for W in three]))
    theirs.in_proj_bias.copy_(torch.cat([W.bias for W in three]))
    theirs.out_proj.load_state_dict(ours.W_o.state_dict())


@torch.no_grad()
def torch_layer(block, norm_first):
    """torch's layer with a block's weights."""
    kind = nn.TransformerEncoderLayer if isinstance(block, TransformerEncoderBlock) else nn.TransformerDecoderLayer
    layer = kind(WIDTH, HEADS, FFN, dropout=0.0, batch_first=True, norm_first=norm_first)
    layer.linear1.load_state_dict(block.ffn.dense1.state_dict())
    layer.linear2.load_state_dict(block.ffn.dense2.state_dict())
    layer.norm1.load_state_dict(block.norm1.state_dict())
    layer.norm2.load_state_dict(block.norm2.state_dict())
    if kind is nn.TransformerEncoderLayer:
        torch_attention(layer.self_attn, block.self_attention)
    else:
        torch_attention(layer.self_attn, block.self_attention)
        torch_attention(layer.multihead_attn, block.cross_attention)
        layer.norm3.load_state_dict(block.norm3.state_dict())
    return layer.eval()


def embedded(part, tokens):
    """Embeddings times the root of their size, plus positions: section 3.4 and 3.5 by hand."""
    return part.embedding.weight[tokens] * WIDTH**0.5 + sinusoids(tokens.shape[1], WIDTH)


@pytest.mark.parametrize("norm_first", [True, False])
def test_equals_torchs_encoder_and_decoder_stacks(norm_first):
    """With padding in source and target, and the causal mask. In torch's masks True hides."""
    model = make(norm_first=norm_first, bias=True, dtype=torch.float32)
    encoder, decoder = model.encoder, model.decoder
    source_pad = torch.arange(6) >= LENGTHS.unsqueeze(1)
    target_lens = torch.tensor([5, 3, 4])
    target_pad = torch.arange(5) >= target_lens.unsqueeze(1)
    future = torch.ones(5, 5, dtype=torch.bool).triu(1)
    expected = embedded(encoder, SOURCE)
    for block in encoder.blocks:
        expected = torch_layer(block, norm_first)(expected, src_key_padding_mask=source_pad)
    expected = encoder.norm(expected) if norm_first else expected
    memory = encoder(SOURCE, LENGTHS)
    close(memory.outputs[~source_pad], expected[~source_pad], 1e-5)
    assert torch.equal(memory.mask[:, 0], ~source_pad)
    x = embedded(decoder, TARGET)
    for block in decoder.blocks:
        x = torch_layer(block, norm_first)(
            x, expected, tgt_mask=future, tgt_key_padding_mask=target_pad, memory_key_padding_mask=source_pad
        )
    logits = (decoder.norm(x) if norm_first else x) @ decoder.dense.weight.T + decoder.dense.bias
    close(model(SOURCE, LENGTHS, TARGET)[~target_pad], logits[~target_pad], 1e-5)


@pytest.mark.parametrize("norm_first", [True, False])
def test_one_block_under_any_mask_equals_torchs(norm_first):
    """And with torch's own way of stacking, nn.TransformerEncoder with its last norm."""
    encoder = make(norm_first=norm_first, bias=True, dtype=torch.float32).encoder
    first = encoder.blocks[0]
    x, free = torch.randn(2, 5, WIDTH), torch.rand(5, 5) < 0.5
    free |= torch.eye(5, dtype=torch.bool)
    theirs = torch_layer(first, norm_first)
    close(first(x, free[None]), theirs(x, src_mask=~free), 1e-5)
    close(first(x), theirs(x), 1e-5)
    stack = nn.TransformerEncoder(
        theirs, LAYERS, encoder.norm if norm_first else None, enable_nested_tensor=False
    ).eval()
    for layer, block in zip(stack.layers, encoder.blocks, strict=True):
        layer.load_state_dict(torch_layer(block, norm_first).state_dict())
    expected = stack(embedded(encoder, SOURCE[1:2]))
    close(encoder(SOURCE[1:2], LENGTHS[1:2]).outputs, expected, 1e-5)


def test_d2ls_encoder_weights_load_by_a_map_of_their_names():
    theirs = d2l.TransformerEncoder(
        11, WIDTH, WIDTH, WIDTH, WIDTH, [WIDTH], WIDTH, FFN, HEADS, LAYERS, dropout=0.3
    ).eval()  # fmt: skip
    ours = TransformerEncoder(11, TransformerConfig(WIDTH, FFN, HEADS, LAYERS, norm_first=False)).eval()
    names = {"blks.block": "blocks.", "addnorm1.ln": "norm1", "addnorm2.ln": "norm2", ".attention.": ".self_attention."}
    state = {
        functools.reduce(lambda text, pair: text.replace(*pair), names.items(), name): weight
        for name, weight in theirs.state_dict().items()
    }
    ours.load_state_dict(state)
    close(ours(SOURCE[1:2], LENGTHS[1:2]).outputs, theirs(SOURCE[1:2], None), 1e-5)
    padded, real = ours(SOURCE, LENGTHS).outputs, torch.arange(6) < LENGTHS.unsqueeze(1)
    close(padded[real], theirs(SOURCE, LENGTHS)[real], 1e-5)


def test_as_many_weights_as_in_the_paper():
    """Table 3 has 65 million for the base model with a shared vocabulary of 37,000."""
    with torch.device("meta"):
        model = transformer(37_000, 37_000, replace(SIZES["base"], norm_first=False, tie=True, tie_source=True))
    assert 62e6 < sum(weight.numel() for weight in model.parameters()) < 66e6


class Same(nn.Module):
    def forward(self, queries, keys, values, mask):
        return values


def test_other_activations_by_hand():
    """At 4 and -2: x sigmoid(x), and x times the share of a normal distribution below x."""
    inner = [4.0, -2.0]
    expected = {
        "relu": [4.0, 0.0],
        "swish": [x / (1 + math.exp(-x)) for x in inner],
        "gelu": [x * (1 + math.erf(x / 2**0.5)) / 2 for x in inner],
    }
    assert expected.keys() == ACTIVATIONS.keys()
    for activation, values in expected.items():
        ffn = PositionWiseFFN(1, 1, activation)
        for layer in (ffn.dense1, ffn.dense2):
            nn.init.ones_(layer.weight), nn.init.zeros_(layer.bias)
        torch.testing.assert_close(ffn(torch.tensor([[4.0], [-2.0]])).flatten().tolist(), values, atol=1e-6, rtol=0)
    blocks = transformer(9, 9, TransformerConfig(8, 8, 2, 1, activation="gelu"))
    assert [part.activation for part in blocks.modules() if isinstance(part, PositionWiseFFN)] == ["gelu", "gelu"]
    with pytest.raises(ValueError, match="there is no activation 'tanh'; choose from relu, swish, gelu"):
        PositionWiseFFN(1, 1, "tanh")


def test_the_parts_by_hand():
    ffn = PositionWiseFFN(2, 3)
    for weight in ffn.parameters():
        nn.init.ones_(weight)
    assert ffn(torch.tensor([[1.0, 2.0], [-3.0, 0.0]])).tolist() == [[13.0, 13.0], [1.0, 1.0]]
    x = torch.tensor([[[0.0, 4.0]]])
    for norm_first, expected in ((False, [-1.0, 1.0]), (True, [-2.0, 6.0])):  # LN of LN(2x); x + LN(x) + LN(x + LN(x))
        block = TransformerEncoderBlock(TransformerConfig(2, 3, 1, dropout=0.0, norm_first=norm_first))
        block.self_attention = Same()  # each sublayer gives back its input
        block.ffn = nn.Identity()
        close(block(x), torch.tensor([[expected]]), 1e-5)


# The contract: one method for training and search


def one_after_the_other(model, chunks, tokens=TARGET, state=None):
    """All logits, the tokens given in chunks of these sizes."""
    state = model.decoder.init_state(model.encoder(SOURCE, LENGTHS)) if state is None else state
    logits = []
    for chunk in tokens.split(chunks, dim=1):
        more, state = model.decoder(chunk, state)
        logits.append(more)
    assert state.length == tokens.shape[1]
    return torch.cat(logits, 1), state


@pytest.mark.parametrize("chunks", [[1, 1, 1, 1, 1], [2, 3], [1, 4], [3, 1, 1], [5]])
@pytest.mark.parametrize("gradients", [True, False])
def test_cache_on_or_off_and_in_any_chunks(model, chunks, gradients):
    with torch.set_grad_enabled(gradients):
        close(one_after_the_other(model, chunks)[0], model(SOURCE, LENGTHS, TARGET))


def test_a_long_search_copies_its_past_only_now_and_then():
    model = make("rotary", num_layers=1)
    tokens = torch.randint(13, (3, 160))
    with torch.no_grad():
        state, storages, steps = model.decoder.init_state(model.encoder(SOURCE, LENGTHS)), set(), []
        for step in range(160):
            logits, state = model.decoder(tokens[:, step : step + 1], state)
            storages.add(state.past[0].keys.data_ptr())
            steps.append(logits)
        close(torch.cat(steps, 1), model(SOURCE, LENGTHS, tokens))
    assert len(storages) <= 8 and state.past[0].keys.shape[2] < 2 * 160


def test_training_needs_no_storage():
    model = make()
    _, state = model.decoder(TARGET, model.decoder.init_state(model.encoder(SOURCE, LENGTHS)))
    assert all(past.keys.shape[2] == 5 and past.keys._base is not None for past in state.past)


ROWS = [[0, 0, 1, 1, 2, 2], [1, 1], [2, 0, 1], [0, 0, 0, 2], [1, 1, 1, 0, 0, 0], [1], [], [0, 1, 2]]


@pytest.mark.parametrize("rows", ROWS)
def test_selected_rows_go_on_as_if_they_had_been_alone(model, rows):
    """Against the whole decoder, without a cache, on sources and tokens repeated, reordered or dropped."""
    chosen, more = torch.tensor(rows, dtype=torch.long), torch.randint(13, (len(rows), 2))
    with torch.no_grad():
        _, state = one_after_the_other(model, [2, 1], TARGET[:, :3])
        logits, state = one_after_the_other_on(model, state.select(chosen), more)
        if rows:
            tokens = torch.cat([TARGET[chosen, :3], more], 1)
            close(logits, model(SOURCE[chosen], LENGTHS[chosen], tokens)[:, 3:])
        again = torch.arange(len(rows)).flip(0)  # and once more
        flipped, _ = model.decoder(more[again, :1], state.select(again))
    if rows:
        tokens = torch.cat([tokens, more[:, :1]], 1)
        close(flipped, model(SOURCE[chosen], LENGTHS[chosen], tokens)[again, -1:])


def one_after_the_other_on(model, state, tokens):
    logits = []
    for step in range(tokens.shape[1]):
        more, state = model.decoder(tokens[:, step : step + 1], state)
        logits.append(more)
    return torch.cat(logits, 1), state


def test_beams_share_the_memory_and_identity_copies_nothing():
    model = make()
    state = model.decoder.init_state(model.encoder(SOURCE, LENGTHS))
    with torch.no_grad():
        _, state = model.decoder(TARGET[:, :1], state)
    assert state.select(torch.tensor([0, 1, 2])) is state
    beams = state.select(torch.tensor([0, 0, 1, 1, 2, 2]))
    assert beams.memory is state.memory and beams.mask is state.mask and beams.beams == 2
    reordered = beams.select(torch.tensor([1, 1, 2, 3, 5, 4]))
    assert reordered.memory is state.memory and reordered.beams == 2
    fewer = reordered.select(torch.tensor([2, 3]))  # sentences 0 and 2 are finished
    assert fewer.memory[0][0].shape[0] == 1 and torch.equal(fewer.memory[0][0][0], state.memory[0][0][1])
    beams = model.decoder.init_state(model.encoder(SOURCE, LENGTHS)).select(torch.tensor([0, 0, 1, 1, 2, 2]))
    uneven = beams.select(torch.tensor([0, 2, 3]))
    assert uneven.beams == 1 and torch.equal(uneven.mask, state.mask[torch.tensor([0, 1, 1])])


def test_rows_that_stay_are_not_copied_and_a_state_is_used_once():
    model = make()
    with torch.no_grad():
        _, state = model.decoder(TARGET[:, :2], model.decoder.init_state(model.encoder(SOURCE, LENGTHS)))
        chosen = state.select(torch.tensor([0, 2, 2]))
        assert chosen.past[0].keys.data_ptr() == state.past[0].keys.data_ptr()
        with pytest.raises(RuntimeError, match="used once"):
            model.decoder(TARGET[:, 2:3], state)
        with pytest.raises(RuntimeError, match="used once"):
            state.select(torch.tensor([0]))


def test_sources_of_one_length_need_no_mask():
    model, source, lengths = make(), SOURCE[[1, 1]].clone(), torch.tensor([6, 6])
    source[1] = source[1].flip(0)
    memory = model.encoder(source, lengths)
    assert memory.mask is None
    _, state = model.decoder(TARGET[:2, :4], model.decoder.init_state(memory))
    rows = torch.tensor([1])
    logits, _ = model.decoder(TARGET[rows, 4:], state.select(rows))
    padded = torch.cat([source[rows], SOURCE[:1]]), torch.tensor([6, 4]), torch.cat([TARGET[rows], TARGET[:1]])
    close(logits[0, 0], model(*padded)[0, 4])


def test_a_state_may_be_continued_in_several_ways(model):
    """More than the contract asks for: a learner's search may try one token after the other from the same state."""
    with torch.no_grad():
        _, state = one_after_the_other(model, [1, 1, 1], TARGET[:, :3])
        branches = [model.decoder(torch.full((3, 1), token), state)[1] for token in (4, 5, 6)]
        for token, branch in zip((4, 5, 6), branches, strict=True):
            logits, _ = model.decoder(TARGET[:, 4:], branch.select(torch.tensor([0, 1, 2])))
            tokens = torch.cat([TARGET[:, :3], torch.full((3, 1), token), TARGET[:, 4:]], 1)
            close(logits, model(SOURCE, LENGTHS, tokens)[:, 4:])


def test_past_by_hand():
    def steps(*numbers):
        return torch.tensor(numbers, dtype=torch.float32).view(1, 1, -1, 1)

    first = Past(steps(1, 2), steps(-1, -2), used=2)
    second = first.append(steps(3), steps(-3), 2)
    assert second is not first and second.keys.shape[2] == 6, "the storage was full"
    third = second.append(steps(4), steps(-4), 3)
    assert third is second and third.keys.flatten()[:4].tolist() == [1, 2, 3, 4]
    other = second.append(steps(9), steps(-9), 3)  # behind step 3 there is something already
    assert other is not second and other.values.flatten()[:4].tolist() == [-1, -2, -3, -9]
    assert second.values.flatten()[:4].tolist() == [-1, -2, -3, -4] and first.keys.shape[2] == 2
    full = third.append(steps(5, 6), steps(-5, -6), 4)
    assert full is third and full.keys.flatten().tolist() == [1, 2, 3, 4, 5, 6], "it fits: nothing is copied"


def test_sentences_of_rows_by_hand():
    for rows, beams, sentences, after in [
        ([0, 1, 4, 5], 2, [0, 2], 2),
        ([0, 1, 1, 2], 2, [0, 0, 0, 1], 1),  # not the same number of rows for each sentence
        ([0, 4], 2, [0, 2], 1),
        ([], 2, [], 1),
    ]:
        found = sentences_of(torch.tensor(rows, dtype=torch.int64), beams)
        assert (found[0].tolist(), found[1]) == (sentences, after)


# Properties


def test_no_token_moves_an_earlier_position_in_any_layer(model):
    states = []
    for block in model.decoder.blocks:
        block.register_forward_hook(lambda block, arguments, result: states.append(result[0]))
    changed = TARGET.clone()
    changed[:, 3:] = 2
    before, after = model(SOURCE, LENGTHS, TARGET), model(SOURCE, LENGTHS, changed)
    assert torch.equal(before[:, :3], after[:, :3]) and not torch.equal(before[:, 3:], after[:, 3:])
    for layer in range(LAYERS):
        one, other = states[layer], states[LAYERS + layer]
        assert torch.equal(one[:, :3], other[:, :3]) and not torch.equal(one[:, 3:], other[:, 3:])


@pytest.mark.parametrize("record", [True, False])
def test_no_gradient_flows_from_an_earlier_logit_to_a_later_token(model, record):
    inputs = []
    model.decoder.embedding.register_forward_hook(lambda layer, arguments, result: inputs.append(result))
    with record_attention(model) if record else torch.enable_grad():
        logits = model(SOURCE, LENGTHS, TARGET)
    (gradient,) = torch.autograd.grad(logits[:, 2].square().sum(), inputs[0])
    assert (gradient[:, 3:] == 0).all() and (gradient[:, :3].abs().sum(-1) > 0).all()


def test_no_padding_batch_order_or_batch_size_matters(model):
    with record_attention(model) as record:
        logits = model(SOURCE, LENGTHS, TARGET)
    for row, length in enumerate(LENGTHS):
        for width in (int(length), 9):
            source = torch.zeros(1, width, dtype=torch.long)
            source[0, :length] = SOURCE[row, :length]
            target = torch.cat([TARGET[row : row + 1], torch.zeros(1, 2, dtype=torch.long)], 1)
            with record_attention(model) as alone:
                close(model(source, LENGTHS[row : row + 1], target)[0, :5], logits[row])
            for name, (weights,) in alone.items():
                keys = 5 if name.startswith("decoder") and name.endswith("self_attention") else int(length)
                queries = int(length) if name.startswith("encoder") else 5
                close(weights[0, :, :queries, :keys], record[name][0][row, :, :queries, :keys])
                assert (weights[0, :, :queries, keys:] == 0).all()
    close(model(SOURCE.flip(0), LENGTHS.flip(0), TARGET.flip(0)).flip(0), logits)


def test_what_is_recorded_and_that_recording_changes_nothing(model):
    logits = model(SOURCE, LENGTHS, TARGET)
    with record_attention(model) as record:
        close(model(SOURCE, LENGTHS, TARGET), logits)
    shapes = {name: [tuple(weights.shape) for weights in calls] for name, calls in record.items()}
    expected = {f"encoder.blocks.{i}.self_attention": [(3, HEADS, 6, 6)] for i in range(LAYERS)}
    for i in range(LAYERS):
        expected[f"decoder.blocks.{i}.self_attention"] = [(3, HEADS, 5, 5)]
        expected[f"decoder.blocks.{i}.cross_attention"] = [(3, HEADS, 5, 6)]
    assert shapes == expected


def test_a_source_without_a_token_gives_no_nan(model):
    model.float()
    logits = model(SOURCE, torch.tensor([0, 6, 1]), TARGET)
    logits.square().sum().backward()
    assert logits.isfinite().all() and all(weight.grad.isfinite().all() for weight in model.parameters())


@pytest.mark.parametrize(("dtype", "error"), [(torch.float16, 0.02), (torch.bfloat16, 0.2)])
def test_half_precision(model, dtype, error):
    exact = model(SOURCE, LENGTHS, TARGET)
    low = model.to(dtype)
    logits = low(SOURCE, LENGTHS, TARGET)
    assert logits.dtype == dtype
    close(logits.double(), exact, error)
    with torch.no_grad():
        close(one_after_the_other(low, [1, 1, 1, 2])[0].double(), exact, error)


def test_gradients_reach_every_weight_and_none_comes_from_padding(model):
    model.train()
    arguments = SOURCE.clone(), LENGTHS.clone(), TARGET.clone()
    model(*arguments).square().sum().backward()
    assert all(map(torch.equal, arguments, (SOURCE, LENGTHS, TARGET)))
    for name, weight in model.named_parameters():
        assert weight.grad is not None and weight.grad.abs().sum() > 0, name
    assert (model.encoder.embedding.weight.grad[0] == 0).all()  # id 0 only ever stands on padding


@pytest.mark.parametrize("norm_first", [True, False])
def test_gradients_of_the_blocks(norm_first):
    config = TransformerConfig(4, 6, 2, dropout=0.0, norm_first=norm_first, bias=True, positions="rotary")
    encode, decode = TransformerEncoderBlock(config).double(), TransformerDecoderBlock(config).double()
    x, y = (torch.randn(2, steps, 4, dtype=torch.float64, requires_grad=True) for steps in (3, 2))

    def both(x, y):
        memory = decode.cross_attention.project(*[encode(x, torch.tensor([1, 3]))] * 2)
        return decode(y, memory, torch.tensor([1, 3]))[0]

    assert torch.autograd.gradcheck(both, [x, y])


def test_steps_can_be_trained_through(model):
    """Scheduled sampling calls the decoder for each token and wants gradients: the same as of all at once."""
    weights = list(model.parameters())
    at_once = torch.autograd.grad(model(SOURCE, LENGTHS, TARGET).square().sum(), weights)
    steps = torch.autograd.grad(one_after_the_other(model, [1] * 5)[0].square().sum(), weights)
    for found, expected in zip(steps, at_once, strict=True):
        close(found, expected)


@pytest.mark.parametrize("positions", POSITIONS)
def test_dropout_falls_where_the_paper_has_it(positions):
    """On the sum of embeddings and positions, and on what each sublayer gives, before it is added: section 5.4."""
    model, dropped = make(positions, dropout=1.0).train(), []
    for block in (*model.encoder.blocks, *model.decoder.blocks):
        block.register_forward_hook(lambda block, given, got: dropped.append((given[0], got)))
    memory = model.encoder(SOURCE, LENGTHS)
    logits = model(SOURCE, LENGTHS, TARGET)
    assert len(dropped) == 3 * LAYERS
    for given, got in dropped:  # with pre-norm, the way around is all that is left, and nothing came in
        assert (given == 0).all() and (got[0] if isinstance(got, tuple) else got).eq(0).all()
    close(memory.outputs, model.encoder.norm.bias.expand_as(memory.outputs))
    close(logits, model.decoder.dense(model.decoder.norm.bias).expand_as(logits))
    silent = {name for name, m in model.named_modules() if isinstance(m, nn.Dropout) and m.p == 0}
    assert {name for name in silent if "rotary" not in name} == {
        name + ".dropout" for name, m in model.named_modules() if hasattr(m, "record")
    }


@pytest.mark.parametrize("tied", [{}, {"tie": True}, {"tie": True, "tie_source": True}])
def test_first_weights(tied):
    """Embeddings arrive at the blocks with variance 1, and a matrix keeps the variance about as it was."""
    model = transformer(2000, 2000, TransformerConfig(128, 512, 4, **tied))
    for part in (model.encoder, model.decoder):
        x = part.embedding(torch.arange(2000)) * 128**0.5
        assert x.var().item() == pytest.approx(1, abs=0.05)
    for name, weight in model.named_parameters():
        if "blocks" in name and weight.dim() == 2:
            assert weight.var().item() == pytest.approx(2 / sum(weight.shape), rel=0.1), name
    logits = model.eval()(torch.randint(2000, (8, 6)), torch.full((8,), 6), torch.randint(2000, (8, 6)))
    assert 0.05 < logits.std().item() < 1.5, "a model that knows nothing has to be unsure"


def test_tied_weights_are_one_and_are_stored_once(tmp_path):
    model = make(tie=True)
    assert model.decoder.dense.weight is model.decoder.embedding.weight
    save_weights(model, tmp_path / "tied")
    save_weights(make(), tmp_path / "apart")
    assert (tmp_path / "tied").stat().st_size < (tmp_path / "apart").stat().st_size - 13 * WIDTH * 8 + 200
    assert make().decoder.dense.weight is not make().decoder.embedding.weight


@pytest.mark.parametrize("size", SIZES)
def test_named_sizes(size):
    with torch.device("meta"):
        model = transformer(100, 100, SIZES[size])
    assert len(model.encoder.blocks) == len(model.decoder.blocks) == SIZES[size].num_layers


def test_what_there_is_not_is_named():
    with pytest.raises(ValueError, match="no positions 'polar'; choose from sinusoidal, learned, rotary, none"):
        transformer(11, 13, TransformerConfig(positions="polar"))
    with pytest.raises(ValueError, match="no position 6: 6 were learned"):
        make("learned", max_steps=6)(SOURCE, LENGTHS, torch.ones(3, 7, dtype=torch.long))
