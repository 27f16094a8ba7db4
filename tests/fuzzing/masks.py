"""Every public function that takes a mask or lengths, with a slow loop that is written from its contract.

A mask, or lengths, has a random shape and type. The contract says what it means: a bool for each sentence, head, query
and key, or a length for each source; None where it has to be refused. The function then equals its slow loop, or says
one sentence of ours. Nothing is silent: what the contract refuses and the function takes is a fault.
"""

from __future__ import annotations

import importlib
import inspect
import itertools
import math
import pkgutil
import random
import traceback
from functools import cache, partial
from pathlib import Path

import torch

import seqlearn
from seqlearn.analysis import attention_map, circuits, edits
from seqlearn.nn import attention, decoder_only, kernels, masking, recording, seq2seq, transformer
from seqlearn.runtime import arguments
from seqlearn.search import beam, exhaustive, forced_decoding, lengths as limits, sampling
from seqlearn.views.shared.packing import unpack
from seqlearn.views.softmax import softmax_data, softmax_view
from seqlearn.views.steps import steps_data, steps_view

from .search import IDS, slow_beam, slow_greedy

INTEGERS = [torch.int64, torch.int64, torch.int32, torch.int8, torch.uint8, torch.uint16, torch.uint32, torch.uint64]
FLOATS = [torch.float32, torch.float64, torch.float16]


def as_given(dice, tensor):
    """Sometimes as an array or as lists."""
    return dice.choices([tensor, tensor.numpy(), tensor.tolist()], [8, 1, 1])[0]


def whole_numbers(dice, shape, most, least=0):
    """Mostly valid lengths, sometimes 0 and 1 alone, sometimes out of bounds."""
    low, high = dice.choices([(least, most), (0, 1), (-1, most + 1)], [5, 1, 2])[0]
    numbers, dtype = torch.randint(low, high + 1, tuple(shape)), dice.choice(INTEGERS)
    return (numbers if dtype.is_signed else numbers.abs()).to(dtype)


# ---- Masks ----


def random_mask(dice, batch, heads, queries, keys):
    """A mask of a usual shape, or of any."""
    usual = [(keys,), (queries, keys), (batch, keys), (batch, queries, keys), (batch, 1, keys), (1, 1, keys), ()]
    usual += [(batch, heads, queries, keys), (batch, 1, 1, keys), (heads, queries, keys), (batch, queries, 1)]
    shape = dice.choice([*usual, *usual, [dice.randint(1, 4) for _ in range(dice.randint(0, 5))]])
    kind = dice.choices(["bool", "int", "float", "causal"], [6, 4, 1, 1])[0]
    if kind == "causal" and keys >= queries:
        return masking.causal_mask(queries, keys - queries)
    if kind == "int":
        shape = dice.choice([(batch,), (batch,), (batch, queries), (batch, queries), (batch, keys), shape])
        return as_given(dice, whole_numbers(dice, shape, keys))
    mask = torch.rand(tuple(shape)) < dice.choice([0.0, 0.5, 0.8, 1.0])
    return as_given(dice, mask.to(dice.choice(FLOATS)) if kind == "float" else mask)


def meaning(mask, sizes, axes):
    """The contract of `as_mask` for scores with this many axes, cell by cell; None: it is refused."""
    (batch, _, queries, keys), is_ours = sizes, hasattr(mask, masking.OF_QUERIES)
    mask = torch.as_tensor(mask)
    shape = tuple(mask.shape)
    if mask.dtype == torch.bool:
        names = {0: "", 1: "k", 2: "qk", 3: "bqk", 4: "bhqk"}.get(len(shape), "too many")
        most = dict(zip("bhqk", sizes, strict=True))
        if len(shape) > axes or names == "too many" or shape[-1:] not in ((), (keys,)):
            return None
        if any(size not in (1, most[name]) for name, size in zip(names, shape, strict=True)):
            return None
        if names == "qk" and axes > 2 and batch > 1 and not is_ours:
            return None
    elif mask.dtype.is_floating_point or not 1 <= len(shape) < min(3, axes) or shape[0] != (batch, queries)[axes == 2]:
        return None
    else:
        names = "q" if axes == 2 else "bq"[: len(shape)]
        zero_or_one = shape[-1] == keys > 1 >= int(mask.long().max())
        if any(not 0 <= number <= keys for number in mask.flatten().tolist()):
            return None
        if names == "bq" and (shape[1] not in (1, queries) or zero_or_one):
            return None
    allowed = torch.zeros(sizes, dtype=torch.bool)
    for place in itertools.product(*map(range, sizes)):
        at = dict(zip("bhqk", place, strict=True))
        cell = mask[tuple(at[name] % size for name, size in zip(names, shape, strict=True))]
        allowed[place] = bool(cell) if mask.dtype == torch.bool else at["k"] < int(cell)
    return allowed


def soft(scores, allowed):
    """The weights, row by row; scores and allowed: sentences, heads, queries, keys."""
    weights = torch.zeros(allowed.shape, dtype=torch.float64)
    for place in itertools.product(*map(range, allowed.shape[:-1])):
        exps = [math.exp(one) if may else 0.0 for one, may in zip(scores[place], allowed[place], strict=True)]
        weights[place] = torch.tensor([one / (sum(exps) or 1) for one in exps])
    return weights


def scored(queries, keys, score):
    """The score of each query and key: sentences, heads, queries, keys."""
    table = torch.zeros(*queries.shape[:3], keys.shape[2], dtype=torch.float64)
    for b, h, q, k in itertools.product(*map(range, table.shape)):
        table[b, h, q, k] = score(queries[b, h, q], keys[b, h, k])
    return table


def dot(q, k):
    return sum(q * k) / len(q) ** 0.5


def by_heads(layer, x, y, allowed):
    """Multi-head attention, head by head, cell by cell."""
    keys, values = layer.project(y, y)
    queries = layer._split(layer.W_q(x))
    queries = queries if layer.rotary is None else layer.rotary(queries, keys.shape[2] - x.shape[1])
    keys, values = (each.repeat_interleave(queries.shape[1] // each.shape[1], 1) for each in (keys, values))
    return layer.W_o((soft(scored(queries, keys, dot), allowed) @ values).transpose(1, 2).flatten(2))


class Case:
    """A mask for scores with so many axes; `square`: as many queries as keys."""

    def __init__(self, seed, axes, square=False):
        self.dice = random.Random(seed)
        torch.manual_seed(seed)
        axes = self.dice.choice(axes)
        batch, heads, queries, keys = (self.dice.randint(1, 3) for _ in range(4))
        self.sizes = batch if axes > 2 else 1, heads if axes > 3 else 1, queries, queries if square else keys
        self.mask = random_mask(self.dice, *self.sizes)
        self.allowed = meaning(self.mask, self.sizes, axes)
        self.shape = {2: self.sizes[2:], 3: (batch, *self.sizes[2:]), 4: self.sizes}[axes]
        self.scores = torch.randn(self.shape, dtype=torch.float64)
        self.q, self.k = (torch.randn(*self.shape[:-2], n, 2, dtype=torch.float64) for n in self.sizes[2:])

    def full(self, tensor):
        """With an axis of heads."""
        return tensor.reshape(*self.sizes[:2], *tensor.shape[-2:])


def tables(seed):
    case = Case(seed, [2, 3, 4])
    mask, shape, scores = case.mask, case.shape, case.scores
    yield case.allowed
    yield "nn.masking.as_mask", lambda: masking.as_mask(mask, shape).expand(shape), lambda may: may.reshape(shape)
    yield (
        "nn.masking.masked_softmax",
        lambda: masking.masked_softmax(scores, mask),
        lambda may: soft(case.full(scores), may).reshape(shape),
    )


def edited(seed):
    """Edits get what may be attended from `expose`, which reads the mask."""
    case = Case(seed, [3, 4])

    def expose(edit):
        layer = recording.AttentionLayer()
        layer.edit, layer.record = edit, []
        return layer.expose(case.scores, case.mask)

    yield case.allowed
    for name, edit, slow in (
        ("nn.recording.AttentionLayer.expose", lambda weights, may: weights, lambda may: case.full(case.scores) * may),
        ("analysis.edits.uniform", edits.uniform, lambda may: soft(torch.zeros(may.shape), may)),
        ("analysis.edits.ablate", edits.ablate, lambda may: torch.zeros(may.shape)),
    ):
        yield name, partial(expose, edit), lambda may, slow=slow: slow(may).reshape(case.shape)


def both_ways(name, layer, call, slow):
    """By the fused kernel, and with recorded weights."""

    def recorded():
        with recording.record_attention(layer):
            return call()

    return [(name, call, slow), (name, recorded, slow)]


def scores(seed):
    """The vectors of the keys are the values."""
    case = Case(seed, [3, 4])
    q, k, mask = case.q, case.k, case.mask
    plain, bilinear = attention.DotProductAttention().eval(), attention.BilinearAttention(2, 2).double().eval()
    additive = attention.AdditiveAttention(2, 2, 3).double().eval()

    def by(score):
        return lambda may: (soft(scored(case.full(q), case.full(k), score), may) @ case.full(k)).reshape(q.shape)

    def tanh(q, k):
        return additive.w_v.weight[0] @ torch.tanh(additive.W_q.weight @ q + additive.W_k.weight @ k)

    yield case.allowed
    yield from both_ways("nn.attention.ScoreAttention.forward", plain, lambda: plain(q, k, k, mask), by(dot))
    attend = partial(plain.attend, q, k, k, mask)
    yield from both_ways("nn.attention.DotProductAttention.attend", plain, attend, by(dot))
    attend = partial(attention.dot_product_attend, plain, q, k, k, mask, 2**-0.5)
    yield from both_ways("nn.attention.dot_product_attend", plain, attend, by(dot))
    if q.dim() == 3:
        for layer, score in ((bilinear, lambda q, k: q @ bilinear.W.weight @ k), (additive, tanh)):
            attend = partial(layer.attend, q, layer.project_keys(k), k, mask)
            yield from both_ways(f"nn.attention.{type(layer).__name__}.attend", layer, attend, by(score))


def blocks(seed, square=False):
    """Multi-head attention, and the blocks that are made of it; `square`: those in which tokens look at each other."""
    case = Case(seed, [4], square)
    (batch, heads, queries, keys), mask = case.sizes, case.mask
    x, y = (torch.randn(batch, n, 4 * heads, dtype=torch.float64) for n in (queries, keys))
    config = transformer.TransformerConfig(4 * heads, 5, heads, 1)
    back = torch.ones(queries, queries, dtype=torch.bool).tril().expand(batch, heads, -1, -1)

    def block_by_hand(block, may):
        inner = block.norm1(x)
        seen = x + by_heads(block.self_attention, inner, inner, may)
        return seen + block.ffn(block.norm2(seen))

    def decoder_by_hand(block, may):
        inner = block.norm1(x)
        seen = x + by_heads(block.self_attention, inner, inner, back)
        seen = seen + by_heads(block.cross_attention, block.norm2(seen), y, may)
        return seen + block.ffn(block.norm3(seen))

    yield case.allowed
    if square:
        group = decoder_only.GroupedQueryAttention(4 * heads, heads, 1).double()
        attend = lambda: group.attend(x, *group.project(x, x), mask)  # noqa: E731
        by_hand = partial(by_heads, group, x, x)
        yield from both_ways("nn.decoder_only.GroupedQueryAttention.attend", group, attend, by_hand)
        block = transformer.TransformerEncoderBlock(config).double().eval()
        by_hand = partial(block_by_hand, block)
        yield from both_ways("nn.transformer.TransformerEncoderBlock.forward", block, lambda: block(x, mask), by_hand)
        only = decoder_only.DecoderOnlyBlock(decoder_only.DecoderOnlyConfig(4 * heads, 5, heads)).double().eval()
        by_hand = lambda may: block_by_hand(only, may & back)  # noqa: E731
        yield from both_ways("nn.decoder_only.DecoderOnlyBlock.forward", only, lambda: only(x, mask)[0], by_hand)
        return
    multi = attention.MultiHeadAttention(4 * heads, heads).double()
    by_hand = partial(by_heads, multi, x, y)
    yield from both_ways("nn.attention.MultiHeadAttention.forward", multi, lambda: multi(x, y, y, mask), by_hand)
    attend = lambda: multi.attend(x, *multi.project(y, y), mask)  # noqa: E731
    yield from both_ways("nn.attention.MultiHeadAttention.attend", multi, attend, by_hand)
    block = transformer.TransformerDecoderBlock(config).double().eval()
    forward = lambda: block(x, block.cross_attention.project(y, y), mask)[0]  # noqa: E731
    by_hand = partial(decoder_by_hand, block)
    yield from both_ways("nn.transformer.TransformerDecoderBlock.forward", block, forward, by_hand)


ALIKE = {
    "gaussian": lambda u: math.exp(-u * u / 2),
    "boxcar": lambda u: float(abs(u) < 1),
    "triangular": lambda u: max(0.0, 1 - abs(u)),
}


def regression(seed):
    case = Case(seed, [3])
    name, q, k = case.dice.choice(list(ALIKE)), case.q[..., 0], case.k[..., 0]
    layer, values = kernels.KernelRegression(name).double(), case.k[..., 1]

    def weights(may):
        table = torch.zeros(case.shape, dtype=torch.float64)
        for b, i in itertools.product(*map(range, case.shape[:2])):
            row = [ALIKE[name](float(q[b, i] - one)) * bool(ok) for one, ok in zip(k[b], may[b, 0, i], strict=True)]
            table[b, i] = torch.tensor([one / (sum(row) or 1) for one in row])
        return table

    yield case.allowed
    yield "nn.kernels.KernelRegression.weights", lambda: layer.weights(q, k, case.mask), weights
    forward = lambda may: (weights(may) @ values[..., None])[..., 0]  # noqa: E731
    yield "nn.kernels.KernelRegression.forward", lambda: layer(q, k, values, case.mask), forward


def means(seed):
    """A mask of sentences and rows: as if each sentence had one query."""
    case = Case(seed, [3])
    batch, rows = case.sizes[0], case.sizes[3]
    mask = random_mask(case.dice, batch, 1, 1, rows)
    tensor = torch.as_tensor(mask)
    is_table = tensor.dtype == torch.bool and tensor.dim() == 2
    allowed = meaning(tensor[:, None] if is_table else mask, (batch, 1, 1, rows), 3)
    vectors = torch.randn(batch, rows, 2)

    def slow(may):
        kept = [
            vectors[place] for place in itertools.product(range(batch), range(rows)) if may[place[0], 0, 0, place[1]]
        ]
        return sum(kept) / len(kept)

    yield None if allowed is None or not allowed.any() else allowed
    yield "analysis.circuits.mean_over_words", lambda: circuits.mean_over_words([vectors], mask), slow


def views(seed):
    """`AttentionSteps` shows one attention; a length is for all queries, lengths are for each of them."""
    case = Case(seed, [2])
    (q, k), given, mask = (case.q, case.k), case.mask, torch.as_tensor(case.mask)
    queries, keys = case.shape
    while mask.dim() > 2 and len(mask) == 1:
        mask = mask[0]
    is_bool, guessed = mask.dtype == torch.bool, mask.dtype == torch.bool and mask.dim() == 0 and keys > 1
    if not is_bool and mask.dim() < 2 and mask.numel() == 1:
        mask = mask.expand(queries)
    elif not is_bool:
        guessed = mask.dim() == 1 and len(mask) == keys > 1 >= int(mask.long().max())
    data, place = partial(steps_data.steps_data, q, k, k, given), "views.steps.steps_data."
    yield None if guessed else meaning(mask, case.sizes, 2)
    for name, call in {
        place + "full_mask": lambda: steps_data.full_mask(given, q @ k.T),
        place + "steps_data": lambda: unpack(data()["allowed"]).bool(),
        "views.steps.steps_view.AttentionSteps.__init__": lambda: (
            steps_view.AttentionSteps(q, k, k, given).tensor("mask").bool()
        ),
    }.items():
        yield name, call, lambda may: may[0, 0]


def exact(seed):
    """Bool, of one shape: the mask of `SoftmaxView`, `(keys,)`."""
    case = Case(seed, [2])
    mask, numbers = torch.as_tensor(case.mask), case.k[:, 0]
    yield mask if mask.dtype == torch.bool and mask.shape == numbers.shape else None
    for name, call in {
        "views.softmax.softmax_data.softmax_data": lambda m: softmax_data.softmax_data(numbers, None, m)[1]["mask"],
        "views.softmax.softmax_view.SoftmaxView.__init__": lambda m: softmax_view.SoftmaxView(numbers, mask=m).mask,
    }.items():
        yield name, lambda call=call: torch.tensor(call(case.mask)), lambda mask: mask


def maps(seed):
    """Bool, of one shape: the mask of a map, `(queries, keys)`."""
    case = Case(seed, [2])
    mask = torch.as_tensor(case.mask)
    fits = mask.dtype == torch.bool and mask.shape == case.shape
    weights = soft(torch.zeros(case.sizes), case.allowed if fits else torch.ones(case.sizes))
    make = partial(attention_map.AttentionMap, weights, *map(range, case.shape), mask=case.mask)
    yield mask if fits else None
    yield "analysis.attention_map.AttentionMap.__init__", lambda: make().mask, lambda mask: mask


# ---- Lengths ----


def loose(seed):
    """Lengths of any shape, without sources."""
    dice = random.Random(seed)
    torch.manual_seed(seed)
    steps, shape = dice.randint(1, 3), dice.choice([(), (2,), (3,), (2, 2)])
    lengths = whole_numbers(dice, shape, steps)
    lengths = lengths.to(dice.choice([torch.bool, *FLOATS])) if dice.random() < 0.2 else lengths
    given, is_whole = as_given(dice, lengths), lengths.dtype in INTEGERS
    every = lengths.flatten().tolist()

    def cells(_):
        return torch.tensor([[k < one for k in range(steps)] for one in every]).reshape(*shape, steps)

    in_bounds = lambda _: lengths.long() if all(0 <= one <= steps for one in every) else None  # noqa: E731
    doubled = lambda _: torch.tensor([2 * one + 10 for one in every])  # noqa: E731
    yield lengths if is_whole else None
    yield "nn.masking.sequence_mask", lambda: masking.sequence_mask(given, steps), cells
    yield "runtime.arguments.check_lengths", lambda: arguments.check_lengths("n", given, steps), in_bounds
    if len(shape) == 1:
        longest = lambda: torch.tensor(limits.default_max_length(given))  # noqa: E731
        yield "search.lengths.default_max_length", longest, doubled


@cache
def reader(build, config):
    torch.manual_seed(1)
    model = build(9, config) if isinstance(build, type) else build(9, 6, config)
    for weight in model.parameters():
        torch.nn.init.normal_(weight)
    return model.double().eval().requires_grad_(False)


def sources(seed):
    """Padded sources with their lengths, against one source at a time, without padding."""
    dice = random.Random(seed)
    torch.manual_seed(seed)
    batch, steps = dice.randint(1, 3), dice.randint(1, 3)
    source, shape = torch.randint(3, 9, (batch, steps)), [dice.randint(1, 3) for _ in range(dice.randint(0, 2))]
    lengths = whole_numbers(dice, dice.choice([(batch,), (batch,), (batch,), shape]), steps, least=1)
    lengths = lengths.to(dice.choice([torch.bool, *FLOATS])) if dice.random() < 0.1 else lengths
    given, every = as_given(dice, lengths), lengths.flatten().tolist()
    fits = lengths.dtype in INTEGERS and lengths.shape == (batch,) and all(0 <= one <= steps for one in every)
    rnn = reader(seq2seq.bahdanau, seq2seq.BahdanauConfig(3, 4))
    encoder = reader(transformer.transformer, transformer.TransformerConfig(4, 5, 1, 1)).encoder
    prompt, tokens = reader(decoder_only.PromptEmbedding, 4), torch.tensor([[1, 4, 3]]).expand(batch, -1)

    def one_by_one(slow, least=1, tensors=False):
        """None: an empty source is refused, and a search takes tensors alone."""

        def every_one(_):
            lines = [row[:length] for row, length in zip(source, every, strict=True)]
            if tensors and given is not lengths:
                return None
            return torch.stack([slow(line) for line in lines]) if min(every) >= least else None

        return every_one

    def alone(line, encoder=rnn.encoder):
        found = torch.zeros(steps, encoder.output_size if encoder is rnn.encoder else 4, dtype=torch.float64)
        if len(line):
            found[: len(line)] = encoder(line[None], torch.tensor([len(line)])).outputs[0]
        return found

    def embedded(line):
        found = torch.zeros(steps, 4, dtype=torch.float64)
        found[steps - len(line) :] = 2 * prompt.embedding.weight[line]
        return found

    def logits(line):
        state, found = rnn.decoder.init_state(rnn.encoder(line[None], torch.tensor([len(line)]))), []
        for token in tokens[0]:
            one, state = rnn.decoder(token.reshape(1, 1), state)
            found.append(one[0, 0])
        return torch.stack(found)

    def real(vectors, mask):
        return vectors if mask is None else vectors * mask[:, 0, :, None]

    yield lengths if fits else None
    lens = one_by_one(lambda line: torch.tensor(len(line)), least=0)
    yield "runtime.arguments.source_lengths", lambda: arguments.source_lengths(source, given), lens
    slow = one_by_one(partial(alone, encoder=encoder), least=0)
    yield "nn.transformer.TransformerEncoder.forward", lambda: real(*encoder(source, given)), slow
    yield "nn.decoder_only.PromptEmbedding.forward", lambda: real(*prompt(source, given)), one_by_one(embedded, least=0)
    yield "nn.seq2seq.Seq2SeqEncoder.forward", lambda: rnn.encoder(source, given).outputs, one_by_one(alone)
    yield "nn.contract.EncoderDecoder.forward", lambda: rnn(source, given, tokens), one_by_one(logits)
    forced = lambda: forced_decoding.forced_decoding(rnn, source, given, tokens).logits  # noqa: E731
    yield "search.forced_decoding.forced_decoding", forced, one_by_one(logits)

    searching = partial(one_by_one, tensors=True)

    def numbers(ids, log_probs):
        return torch.tensor([*ids, *log_probs, *[9.0] * (6 - len(ids) - len(log_probs))], dtype=torch.float64)

    def searched(search, **options):
        every = [one[0] if isinstance(one, list) else one for one in search(rnn, source, given, **options)]
        return torch.stack([numbers([*one.tokens, *[2] * one.finished], one.log_probs) for one in every])

    def choose(logits, banned, live, step):
        return logits.log_softmax(-1).index_fill(1, torch.tensor(banned), -math.inf).max(-1, keepdim=True)

    def best(line):
        return numbers(*slow_greedy(rnn, line.tolist(), 2))

    def best_of(width):
        find = lambda line: slow_beam(rnn, line, width, limits.no_penalty, 0, 2, 1, False)[0]  # noqa: E731
        return searching(lambda line: numbers(*find(line.tolist())))

    limit = lambda: torch.tensor(limits.limits_and_ids(rnn, source, given, (1, 2, []), 0, None)[0])  # noqa: E731
    yield "search.lengths.limits_and_ids", limit, searching(lambda line: torch.tensor(2 * len(line) + 10))
    two = {**IDS, "max_length": 2}
    yield "search.sampling.greedy_search", partial(searched, sampling.greedy_search, **two), searching(best)
    yield "search.sampling.sample", partial(searched, sampling.sample, top_k=1, **two), searching(best)
    left = {"choose": choose, "bos": 1, "eos": 2, "forbidden": [0, 1], "min_length": 0, "limits": [2] * batch}
    yield "search.sampling.generate", partial(searched, sampling.generate, **left), one_by_one(best)
    yield "search.beam.beam_search", partial(searched, beam.beam_search, width=3, **two), best_of(3)
    yield "search.exhaustive.exhaustive_search", partial(searched, exhaustive.exhaustive_search, **two), best_of(99)


GROUPS = {each.__name__: each for each in (tables, edited, scores, blocks, regression, means, views, exact, maps)}
GROUPS |= {"square blocks": partial(blocks, square=True), "loose": loose, "sources": sources}
DRAWN = "lengths and masks that our own data have checked, to be drawn"
HELD = "holds what an encoder has read"
ELSEWHERE = {
    "nn.attention.ScoreAttention.attend": "abstract",
    "nn.cache.TransformerState.__init__": HELD,
    "nn.decoder_only.PromptedState.__init__": HELD,
    "nn.seq2seq.AttentionState.__init__": HELD,
    "views.batch.batch_data.plan_of": DRAWN,
    "views.batch.batch_data.widths_of": DRAWN,
    "views.batch.batch_data.padding_of": DRAWN,
    "views.plots.length_histogram": DRAWN,
}
NAMES = {"mask", "may", "real", "lengths", "source_lens", "lens", "attention_mask", "valid_lens"}
OURS = str(Path(seqlearn.__file__).parent)


def takers():
    """The public functions and methods of the package, but for exercises, with a parameter of such a name."""
    found = set()
    for each in pkgutil.walk_packages(seqlearn.__path__, "seqlearn."):
        if each.name.startswith(("seqlearn.exercises", "seqlearn.__main__")):
            continue
        own = [(n, o) for n, o in vars(importlib.import_module(each.name)).items() if n[0] != "_"]
        own = [(n, o) for n, o in own if getattr(o, "__module__", "") == each.name]
        own += [(f"{n}.{k}", f) for n, o in own if inspect.isclass(o) for k, f in vars(o).items()]
        for name, function in own:
            is_public = "._" not in name or name.endswith(".__init__")
            if is_public and inspect.isfunction(function) and NAMES & set(inspect.signature(function).parameters):
                found.add(f"{each.name}.{name}".removeprefix("seqlearn."))
    return found


@torch.no_grad()
def check(group, seed):
    """One case for each function of a group. Returns the names of the functions."""
    allowed, *functions = GROUPS[group](seed)
    for name, call, slow in functions:
        expected, where = None if allowed is None else slow(allowed), f"{name}, seed {seed}"
        try:
            found = call()
        except (ValueError, TypeError) as error:
            last = traceback.extract_tb(error.__traceback__)[-1].filename
            assert expected is None, f"{where}: refused, though the contract takes it: {error}"
            assert last.startswith(OURS) and "\n" not in str(error), f"{where}: not a sentence of ours: {error}"
            continue
        assert expected is not None, f"{where}: silent, though the contract refuses it"
        assert found.shape == expected.shape, f"{where}: {found.shape}, not {expected.shape}"
        off = float((found.double() - expected.double()).abs().max())
        assert off < 1e-5, f"{where}: off by {off}"
    return {name for name, *_ in functions}
