"""Search with small random models, against slow loops: no batch, no cache, no early stop."""

from __future__ import annotations

import itertools

import pytest
import torch
from hypothesis import strategies as st
from torch import nn

from seqlearn.nn.decoder_only import DecoderOnlyConfig, decoder_only
from seqlearn.nn.seq2seq import BahdanauConfig, Seq2SeqConfig, bahdanau, seq2seq
from seqlearn.nn.transformer import TransformerConfig, transformer
from seqlearn.search.beam import beam_search
from seqlearn.search.exhaustive import exhaustive_search
from seqlearn.search.lengths import gnmt, length_average, no_penalty
from seqlearn.search.sampling import greedy_search

PAD, BOS, EOS = 0, 1, 2
IDS = {"bos": BOS, "eos": EOS, "forbidden": (PAD, BOS)}
PENALTIES = {
    "none": no_penalty,
    "average": length_average,
    "gnmt": gnmt(0.6),
    "strong": gnmt(3.0),
    "up and down": lambda length: [4.0, 1.0, 3.0, 0.5, 2.0][length % 5],
    "falling": lambda length: 1 / length,
}
MODELS = [
    (bahdanau, BahdanauConfig(3, 4, dropout=0.5)),
    (seq2seq, Seq2SeqConfig(3, 4, dropout=0.5)),
    (seq2seq, Seq2SeqConfig(3, 4, dropout=0.5, cell="lstm", bidirectional=True)),
    (bahdanau, BahdanauConfig(3, 4, dropout=0.5, score="dot")),
    (transformer, TransformerConfig(4, 5, num_heads=2, num_layers=2)),
    (transformer, TransformerConfig(4, 5, num_heads=1, num_layers=1, positions="rotary", norm_first=False)),
    (decoder_only, DecoderOnlyConfig(4, 5, num_heads=2, num_layers=2)),
    (decoder_only, DecoderOnlyConfig(4, 5, 2, num_kv_heads=1, num_layers=1, norm="rms", ffn="swiglu", prefix=True)),
]


def random_model(seed, vocab=7):
    torch.manual_seed(seed)
    build, config = MODELS[seed % len(MODELS)]
    model = build(9, vocab, config).double()
    for weight in model.parameters():  # far from uniform, so that random models end early, late and never
        nn.init.normal_(weight, std=1.0)
    model.decoder.dense.bias.data[EOS] += seed % 3
    return model.requires_grad_(False)


def padded(sources, more=0):
    width = max(map(len, sources)) + more
    rows = [[*line, *[PAD] * (width - len(line))] for line in sources]
    return torch.tensor(rows), torch.tensor([len(line) for line in sources])


def next_log_probs(model, source, tokens):
    """Of every token that may follow, by reading all of them anew."""
    logits = model(torch.tensor([source]), torch.tensor([len(source)]), torch.tensor([[BOS, *tokens]]))[0, -1]
    log_probs = (logits - torch.logsumexp(logits, 0)).tolist()
    return {token: log_prob for token, log_prob in enumerate(log_probs) if token not in (PAD, BOS)}


def slow_greedy(model, source, limit):
    tokens, log_probs = [], []
    while len(tokens) < limit and EOS not in tokens:
        following = next_log_probs(model, source, tokens)
        tokens.append(max(following, key=following.get))
        log_probs.append(following[tokens[-1]])
    return tokens, log_probs


def slow_beam(model, source, width, penalty, min_length, limit, n_best, refill):
    live, complete = [([], [])], []
    for step in range(1, limit + 1):
        extensions = [
            ([*tokens, token], [*log_probs, log_prob])
            for tokens, log_probs in live
            for token, log_prob in next_log_probs(model, source, tokens).items()
            if token != EOS or step > min_length
        ]
        extensions.sort(key=lambda extension: -sum(extension[1]))
        ends = [extension for extension in extensions if extension[0][-1] == EOS or step == limit]
        complete += [extension for extension in extensions[:width] if extension in ends]
        candidates = extensions if refill else extensions[:width]
        live = [extension for extension in candidates if extension not in ends][:width]
    return sorted(complete, key=lambda found: -sum(found[1]) / penalty(len(found[1])))[:n_best]


def whole(hypothesis):
    """Its tokens, <eos> among them."""
    return [*hypothesis.tokens, *[EOS] * hypothesis.finished]


def assert_same(found, expected, penalty):
    """The same hypotheses with the same scores, in order; those whose scores differ by rounding alone in any order."""
    assert all(second.score <= first.score + 1e-9 for first, second in itertools.pairwise(found))
    found = sorted(found, key=lambda each: (-round(each.score, 8), whole(each)))
    expected = sorted(expected, key=lambda each: (-round(sum(each[1]) / penalty(len(each[1])), 8), each[0]))
    assert [whole(hypothesis) for hypothesis in found] == [tokens for tokens, _ in expected]
    for hypothesis, (_, log_probs) in zip(found, expected, strict=True):
        assert hypothesis.log_probs == pytest.approx(log_probs, abs=1e-9)
        assert hypothesis.score == pytest.approx(sum(log_probs) / penalty(len(log_probs)), abs=1e-9)


SOURCES = st.lists(st.lists(st.integers(3, 8), min_size=1, max_size=6), min_size=1, max_size=5)


def greedy_equals_the_slow_loop(seed, sources):
    """For every batch."""
    model = random_model(seed).eval()
    found = greedy_search(model, *padded(sources, seed % 3), **IDS)
    for line, hypothesis in zip(sources, found, strict=True):
        assert_same([hypothesis], [slow_greedy(model, line, 2 * len(line) + 10)], no_penalty)


def beam_equals_the_slow_loop(seed, sources, width, n_best, penalty, lengths, refill):
    """For every batch; the hypotheses are sorted, and no longer than allowed."""
    model, n_best, (least, most) = random_model(seed).eval(), min(n_best, width), lengths
    options = {"min_length": least, "max_length": most, "n_best": n_best, "refill": refill}
    found = beam_search(
        model, *padded(sources, seed % 3), **IDS, width=width, length_penalty=PENALTIES[penalty], **options
    )
    for line, hypotheses in zip(sources, found, strict=True):
        assert all(least <= len(each.tokens) <= most for each in hypotheses) and len(hypotheses) <= n_best
        expected = slow_beam(model, line, width, PENALTIES[penalty], least, most, n_best, refill)
        assert_same(hypotheses, expected, PENALTIES[penalty])


def wide_beam_is_exhaustive(seed, sources, penalty, least, refill):
    """A beam as wide as the tree finds what exhaustive search finds."""
    model = random_model(seed, vocab=6)  # <eos> and three words
    options = {"min_length": least, "max_length": 4, "length_penalty": PENALTIES[penalty]}
    every = exhaustive_search(model, *padded(sources), **IDS, **options)
    wide = beam_search(model, *padded(sources), **IDS, **options, width=200, n_best=200, refill=refill)
    for (best,), found in zip(every, wide, strict=True):
        assert len(found) == sum(3**length for length in range(least, 4)) + 3**4
        assert_same(found[:1], [(whole(best), best.log_probs)], PENALTIES[penalty])


CASES = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 10**6),
        "sources": SOURCES,
        "width": st.integers(1, 6),
        "n_best": st.integers(1, 6),
        "penalty": st.sampled_from(list(PENALTIES)),
        "lengths": st.sampled_from([(0, 5), (2, 5), (3, 3), (0, 1), (1, 8)]),
        "refill": st.booleans(),
    }
)


def search(case):
    """Greedy and beam search equal the slow loops; one beam in eight is as wide as the tree."""
    if (kind := case["seed"] // len(MODELS) % 8) == 0:
        wide_beam_is_exhaustive(case["seed"], case["sources"], case["penalty"], min(3, case["width"]), case["refill"])
    elif kind == 1:
        greedy_equals_the_slow_loop(case["seed"], case["sources"])
    else:
        beam_equals_the_slow_loop(**case)
