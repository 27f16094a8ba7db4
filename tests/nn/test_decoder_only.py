"""The decoder-only Transformer against a slow loop over whole sequences, torch's own parts, and itself."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from seqlearn.nn.attention import MultiHeadAttention
from seqlearn.nn.decoder_only import (
    FFNS,
    NORMS,
    DecoderOnlyConfig,
    GroupedQueryAttention,
    PromptEmbedding,
    RMSNorm,
    SwiGLU,
    decoder_only,
)
from seqlearn.nn.recording import record_attention

WIDTH, FFN, HEADS, LAYERS = 8, 12, 4, 3
SOURCE = torch.tensor([[4, 5, 6, 2, 0, 0], [7, 8, 9, 10, 4, 2], [2, 0, 0, 0, 0, 0]])
LENGTHS = torch.tensor([4, 6, 1])
TARGET = torch.tensor([[1, 4, 5, 6, 7], [1, 7, 8, 12, 3], [1, 9, 4, 5, 6]])
VARIANTS = {
    "plain": {},
    "untied": {"tie": False},
    "prefix": {"prefix": True},
    "rms": {"norm": "rms"},
    "swiglu": {"ffn": "swiglu"},
    "grouped": {"num_kv_heads": 2},
    "all": {"prefix": True, "norm": "rms", "ffn": "swiglu", "num_kv_heads": 1},
}


def make(dtype=torch.float64, **options):
    torch.manual_seed(0)
    model = decoder_only(11, 13, DecoderOnlyConfig(WIDTH, FFN, HEADS, num_layers=LAYERS, **options)).to(dtype).eval()
    for name, weight in model.named_parameters():  # biases that are 0 and gains that are 1 would hide a mistake
        if weight.dim() == 1:
            nn.init.normal_(weight, mean=float("norm" in name and name.endswith("weight")), std=0.5)
    return model


@pytest.fixture(params=VARIANTS)
def model(request):
    return make(**VARIANTS[request.param])


def close(found, expected, error=1e-10):
    torch.testing.assert_close(found, expected, atol=error, rtol=0)


# Against a slow loop: one sentence at a time, without padding, cache or fused kernel


def turned(x):
    """Pairs of neighbours as complex numbers, turned by the position: Su et al. (2021), equation 34."""
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())  # steps, pairs
    angles = [[i * 10000.0 ** (-2 * j / x.shape[1]) for j in range(pairs.shape[1])] for i in range(len(x))]
    angles = torch.tensor(angles, dtype=x.dtype)
    return torch.view_as_real(pairs * torch.polar(torch.ones_like(angles), angles)).flatten(1)


def slow_norm(norm, x):
    if isinstance(norm, nn.LayerNorm):
        return (x - x.mean(-1, keepdim=True)) / (
            x.var(-1, correction=0, keepdim=True) + norm.eps
        ).sqrt() * norm.weight + norm.bias
    return F.rms_norm(x, (WIDTH,), norm.weight, norm.eps)


def slow_ffn(ffn, x):
    if isinstance(ffn, SwiGLU):
        gates = x @ ffn.gate.weight.T
        return (gates * gates.sigmoid() * (x @ ffn.up.weight.T)) @ ffn.down.weight.T
    return (x @ ffn.dense1.weight.T + ffn.dense1.bias).clamp(min=0) @ ffn.dense2.weight.T + ffn.dense2.bias


def slow_attention(layer, y, may):
    """Head by head and query by query; the keys of a head are found by its number. And the weights."""
    size, contexts, weights = WIDTH // HEADS, [], []
    for head in range(HEADS):
        own = slice(head * size, (head + 1) * size)
        shared = head * (layer.W_k.out_features // size) // HEADS
        of_group = slice(shared * size, (shared + 1) * size)
        queries, keys = turned((y @ layer.W_q.weight.T)[:, own]), turned((y @ layer.W_k.weight.T)[:, of_group])
        values, rows = (y @ layer.W_v.weight.T)[:, of_group], []
        for i in range(len(y)):
            powers = [math.exp(queries[i] @ keys[j] / size**0.5) if may(i, j) else 0.0 for j in range(len(y))]
            rows.append(torch.tensor(powers, dtype=y.dtype) / sum(powers))
        weights.append(torch.stack(rows))
        contexts.append(weights[-1] @ values)
    return torch.cat(contexts, 1) @ layer.W_o.weight.T, torch.stack(weights)


@torch.no_grad()
def slow(model, source, target):
    """The logits of one sentence, and the weights of each layer, from the whole sequence at once."""
    encoder, decoder = model.encoder, model.decoder
    x = torch.cat([encoder.embedding.weight[source], decoder.embedding.weight[target]]) * WIDTH**0.5
    prompt = len(source) if decoder.config.prefix else 0
    weights = []
    for block in decoder.blocks:
        context, seen = slow_attention(
            block.self_attention, slow_norm(block.norm1, x), lambda i, j: j <= i or (i < prompt and j < prompt)
        )
        x = x + context
        x = x + slow_ffn(block.ffn, slow_norm(block.norm2, x))
        weights.append(seen)
    logits = slow_norm(decoder.norm, x[len(source) :]) @ decoder.dense.weight.T + decoder.dense.bias
    return logits, weights


def test_equals_the_slow_loop_with_any_padding_and_in_any_batch(model):
    logits = model(SOURCE, LENGTHS, TARGET)
    for row, length in enumerate(LENGTHS):
        expected, _ = slow(model, SOURCE[row, :length], TARGET[row])
        close(logits[row], expected)
        for width in (int(length), 9):
            source = torch.zeros(1, width, dtype=torch.long)
            source[0, :length] = SOURCE[row, :length]
            close(model(source, LENGTHS[row : row + 1], TARGET[row : row + 1])[0], expected)
    close(model(SOURCE.flip(0), LENGTHS.flip(0), TARGET.flip(0)).flip(0), logits)


def test_the_weights_equal_those_of_the_slow_loop(model):
    logits = model(SOURCE, LENGTHS, TARGET)
    with record_attention(model) as record:
        close(model(SOURCE, LENGTHS, TARGET), logits)
    assert list(record) == [f"decoder.blocks.{i}.self_attention" for i in range(LAYERS)]
    for row, length in enumerate(LENGTHS):
        _, expected = slow(model, SOURCE[row, :length], TARGET[row])
        for (prompt, target), weights in zip(record.values(), expected, strict=True):
            assert prompt.shape == (3, HEADS, 6, 6) and target.shape == (3, HEADS, 5, 11)
            begin = 6 - length
            close(prompt[row, :, begin:, begin:], weights[:, :length, :length])
            close(target[row, :, :, begin:], weights[:, length:])
            assert not prompt[row, :, :, :begin].any() and not target[row, :, :, :begin].any(), "padding"


# The parts


def test_rms_norm_by_hand_and_against_torch():
    norm = RMSNorm(2)
    nn.init.constant_(norm.weight, 3.0)
    close(norm(torch.tensor([[3.0, 4.0]])), torch.tensor([[9.0, 12.0]]) / 12.5**0.5, 1e-5)
    x = torch.randn(2, 5, WIDTH)
    ours, theirs = RMSNorm(WIDTH, eps=0.1), nn.RMSNorm(WIDTH, eps=0.1)
    with torch.no_grad():
        theirs.weight.copy_(ours.weight.normal_())
    close(ours(x), theirs(x), 1e-6)
    close(RMSNorm(WIDTH)(x) - RMSNorm(WIDTH)(100 * x), torch.zeros_like(x), 1e-4)  # the length does not matter
    large = torch.full((1, WIDTH), 300.0, dtype=torch.float16)  # the square is beyond half precision
    close(RMSNorm(WIDTH).half()(large), torch.ones(1, WIDTH, dtype=torch.float16), 1e-3)


def test_swiglu_by_hand():
    ffn = SwiGLU(2, 1)
    with torch.no_grad():
        ffn.gate.weight.copy_(torch.tensor([[1.0, 0.0]]))
        ffn.up.weight.copy_(torch.tensor([[0.0, 1.0]]))
        ffn.down.weight.copy_(torch.tensor([[1.0], [-2.0]]))
    silu = 2 / (1 + math.exp(-2))
    close(ffn(torch.tensor([[2.0, 5.0]])), torch.tensor([[5 * silu, -10 * silu]]), 1e-5)
    assert not any(name.endswith("bias") for name, _ in ffn.named_parameters())


def test_as_many_heads_of_keys_and_values_is_multi_head_attention():
    grouped, plain = GroupedQueryAttention(WIDTH, HEADS, HEADS), MultiHeadAttention(WIDTH, HEADS, rotary=True)
    plain.load_state_dict(grouped.state_dict())
    x = torch.randn(2, 5, WIDTH)
    close(grouped(x, x, x, causal=True), plain(x, x, x, causal=True), 1e-6)


def test_one_head_of_keys_and_values_is_the_same_matrix_for_all_heads():
    """Grouped heads equal plain heads whose matrices are repeated for each head of a group."""
    for kv_heads in (1, 2):
        grouped, plain = GroupedQueryAttention(WIDTH, HEADS, kv_heads), MultiHeadAttention(WIDTH, HEADS, rotary=True)
        weights = grouped.state_dict()
        for name in ("W_k.weight", "W_v.weight"):
            heads = weights[name].chunk(kv_heads)
            weights[name] = torch.cat([heads[head * kv_heads // HEADS] for head in range(HEADS)])
        plain.load_state_dict(weights)
        x = torch.randn(2, 5, WIDTH)
        close(grouped(x, x, x, causal=True), plain(x, x, x, causal=True), 1e-6)


def test_the_cache_shrinks_with_the_heads_of_keys_and_values():
    sizes = {}
    for kv_heads in (1, 2, 4):
        model = make(torch.float32, num_kv_heads=kv_heads)
        with torch.no_grad():
            state = model.decoder.init_state(model.encoder(SOURCE, LENGTHS))
            assert model.decoder(TARGET, model.decoder.init_state(model.encoder(SOURCE, LENGTHS)))[1].length == 11
            _, state = model.decoder(TARGET[:, :1], state)
        sizes[kv_heads] = state.cache_bytes
    # Keys and values; 3 rows, 7 positions, 2 features a head, 4 bytes a number.
    assert sizes == {kv_heads: 2 * LAYERS * 3 * 7 * kv_heads * 2 * 4 for kv_heads in (1, 2, 4)}


def test_the_padding_moves_to_the_left():
    embed = PromptEmbedding(11, 2)
    with torch.no_grad():
        embed.embedding.weight.copy_(torch.arange(11).unsqueeze(1).expand(11, 2) / 2**0.5)
    embedded, mask = embed(SOURCE, LENGTHS)
    assert embedded[:, :, 0].round().int().tolist() == [[0, 0, 4, 5, 6, 2], [7, 8, 9, 10, 4, 2], [0, 0, 0, 0, 0, 2]]
    assert mask.int().sum((1, 2)).tolist() == [4, 6, 1] and mask[0, 0].tolist() == [False] * 2 + [True] * 4
    assert embed(SOURCE[1:2], LENGTHS[1:2]).mask is None


# The contract: one method for training and search


def one_after_the_other(model, chunks, tokens=TARGET):
    """All logits, the tokens given in chunks of these sizes."""
    state = model.decoder.init_state(model.encoder(SOURCE, LENGTHS))
    logits = []
    for chunk in tokens.split(chunks, dim=1):
        more, state = model.decoder(chunk, state)
        logits.append(more)
    return torch.cat(logits, 1), state


@pytest.mark.parametrize("chunks", [[1, 1, 1, 1, 1], [2, 3], [1, 4], [3, 1, 1]])
@pytest.mark.parametrize("gradients", [True, False])
def test_cache_on_or_off_and_in_any_chunks(model, chunks, gradients):
    with torch.set_grad_enabled(gradients):
        logits, _ = one_after_the_other(model, chunks)
        for row, length in enumerate(LENGTHS):
            close(logits[row], slow(model, SOURCE[row, :length], TARGET[row])[0])


def test_any_rows_of_a_state(model):
    rows = torch.tensor([2, 0, 0, 1, 0])
    with torch.no_grad():
        _, state = one_after_the_other(model, [1, 1], TARGET[:, :2])
        more = torch.tensor([[3, 4], [5, 6], [7, 8], [9, 10], [11, 12]])
        chosen = state.select(rows)
        logits, after = model.decoder(more, chosen)
        for row, begin in enumerate(rows):
            tokens = torch.cat([TARGET[begin, :2], more[row]])
            close(logits[row], slow(model, SOURCE[begin, : LENGTHS[begin]], tokens)[0][2:])
        fewer, _ = model.decoder(torch.tensor([[3]]), after.select(torch.tensor([3])))
        close(fewer[0], slow(model, SOURCE[1], torch.cat([TARGET[1, :2], more[3], torch.tensor([3])]))[0][4:])


def test_a_state_may_be_continued_in_several_ways(model):
    with torch.no_grad():
        _, state = one_after_the_other(model, [1, 1, 1], TARGET[:, :3])
        branches = [model.decoder(torch.full((3, 1), token), state)[1] for token in (4, 5, 6)]
        for token, branch in zip((4, 5, 6), branches, strict=True):
            logits, _ = model.decoder(TARGET[:, 4:], branch)
            tokens = torch.cat([TARGET[:, :3], torch.full((3, 1), token), TARGET[:, 4:]], 1)
            close(logits, model(SOURCE, LENGTHS, tokens)[:, 4:])


# Properties


@pytest.mark.parametrize("prefix", [False, True])
def test_what_each_position_may_see(prefix):
    """The first vectors of the prompt depend on its last token with a prefix mask alone; no position on the target's
    later tokens.
    """
    model, states = make(prefix=prefix), []
    for block in model.decoder.blocks:
        block.register_forward_hook(lambda block, arguments, result: states.append(result[0]))
    source, target = SOURCE[1:2].clone(), TARGET[1:2].clone()
    before = model(source, LENGTHS[1:2], target)
    source[0, -1] = 3
    model(source, LENGTHS[1:2], target)
    for layer in range(LAYERS):  # the prompt first, through all layers, then the target
        one, other = states[layer], states[2 * LAYERS + layer]
        assert torch.equal(one[:, :5], other[:, :5]) != prefix and not torch.equal(one[:, 5:], other[:, 5:])
    target[:, 3:] = 2
    after = model(SOURCE[1:2], LENGTHS[1:2], target)
    close(before[:, :3], after[:, :3])
    assert not torch.equal(before[:, 3:], after[:, 3:])


def test_no_gradient_flows_from_an_earlier_logit_to_a_later_token(model):
    inputs = []
    model.decoder.embedding.register_forward_hook(lambda layer, arguments, result: inputs.append(result))
    logits = model(SOURCE, LENGTHS, TARGET)
    (gradient,) = torch.autograd.grad(logits[:, 2].square().sum(), inputs[0])
    assert (gradient[:, 3:] == 0).all() and (gradient[:, :3].abs().sum(-1) > 0).all()


def test_gradients_reach_every_weight_and_none_comes_from_padding(model):
    model.train()
    arguments = SOURCE.clone(), LENGTHS.clone(), TARGET.clone()
    model(*arguments).square().sum().backward()
    assert all(map(torch.equal, arguments, (SOURCE, LENGTHS, TARGET)))
    for name, weight in model.named_parameters():
        assert weight.grad is not None and weight.grad.abs().sum() > 0, name
        assert weight.grad.isfinite().all(), name
    assert (model.encoder.embedding.weight.grad[0] == 0).all()  # id 0 only ever stands on padding


def test_steps_can_be_trained_through(model):
    """Scheduled sampling calls the decoder for each token and wants gradients: the same as of all at once."""
    weights = list(model.parameters())
    at_once = torch.autograd.grad(model(SOURCE, LENGTHS, TARGET).square().sum(), weights)
    steps = torch.autograd.grad(one_after_the_other(model, [1] * 5)[0].square().sum(), weights)
    for found, expected in zip(steps, at_once, strict=True):
        close(found, expected, 1e-9)


@pytest.mark.parametrize("record", [True, False])
def test_a_source_without_a_token_gives_no_nan(model, record):
    model.float()
    with record_attention(model) if record else torch.enable_grad():
        logits = model(SOURCE, torch.tensor([0, 6, 1]), TARGET)
    logits.square().sum().backward()
    assert logits.isfinite().all() and all(weight.grad.isfinite().all() for weight in model.parameters())


@pytest.mark.parametrize(("dtype", "error"), [(torch.float16, 0.03), (torch.bfloat16, 0.3)])
def test_half_precision(model, dtype, error):
    exact = model(SOURCE, LENGTHS, TARGET)
    low = model.to(dtype)
    logits = low(SOURCE, LENGTHS, TARGET)
    assert logits.dtype == dtype
    close(logits.double(), exact, error)
    with torch.no_grad():
        close(one_after_the_other(low, [1, 1, 1, 2])[0].double(), exact, error)


def test_dropout_falls_on_embeddings_and_sublayers():
    """With all activations dropped, nothing is left but the bias of the last norm."""
    model = make(dropout=1.0).train()
    logits = model(SOURCE, LENGTHS, TARGET)
    close(logits, model.decoder.dense(model.decoder.norm.bias).expand_as(logits))
    outputs = []
    for block in model.decoder.blocks:
        block.dropout.register_forward_hook(lambda layer, arguments, result: outputs.append(result))
    model(SOURCE, LENGTHS, TARGET)
    assert len(outputs) == 2 * 2 * LAYERS, "prompt and target, two sublayers in each block"


def test_tied_weights_are_one():
    model = decoder_only(13, 13, DecoderOnlyConfig(WIDTH, FFN, HEADS, tie=True, tie_source=True))
    assert model.decoder.dense.weight is model.decoder.embedding.weight is model.encoder.embedding.weight
    apart = make(tie=False)
    assert apart.decoder.dense.weight is not apart.decoder.embedding.weight
    with pytest.raises(ValueError, match="tie_source needs one vocabulary, not two of 11 and 13"):
        make(tie_source=True)


def test_what_there_is_not_is_named():
    with pytest.raises(ValueError, match="no norm 'batch'; choose from layer, rms"):
        make(norm="batch")
    with pytest.raises(ValueError, match="no feed-forward network 'gelu'; choose from relu, swiglu"):
        make(ffn="gelu")
    with pytest.raises(ValueError, match="4 query heads cannot share 3 heads of keys and values evenly"):
        make(num_kv_heads=3)
    assert list(NORMS) == ["layer", "rms"] and list(FFNS) == ["relu", "swiglu"]
