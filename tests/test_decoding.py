"""Greedy search, against a slow loop that starts anew for each token of each sentence."""

import functools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from seqlearn.decoding import greedy_search
from seqlearn.nn.seq2seq import bahdanau, seq2seq

PAD, BOS, EOS = 0, 1, 2


def random_model(seed):
    torch.manual_seed(seed)
    build = [bahdanau, seq2seq, functools.partial(seq2seq, cell="lstm"), functools.partial(bahdanau, score="dot")]
    model = build[seed % 4](9, 7, embed_size=3, num_hiddens=4, dropout=0.5).double()
    for weight in model.parameters():  # far from uniform, so that random models end early, late and never
        nn.init.normal_(weight, std=1.0)
    model.decoder.dense.bias.data[EOS] += 2
    return model.requires_grad_(False)


def slow_greedy(model, source, limit):
    model.eval()
    tokens, log_probs = [BOS], []
    while len(tokens) - 1 < limit:
        logits = model(torch.tensor([source]), torch.tensor([len(source)]), torch.tensor([tokens]))[0, -1]
        scores = logits - torch.logsumexp(logits, 0)
        best = max((token for token in range(7) if token not in (PAD, BOS)), key=lambda token: float(scores[token]))
        log_probs.append(float(scores[best]))
        if best == EOS:
            return tokens[1:], log_probs, True
        tokens.append(best)
    return tokens[1:], log_probs, False


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    sources=st.lists(st.lists(st.integers(3, 8), min_size=1, max_size=6), min_size=1, max_size=5),
)
def test_equals_the_slow_loop_for_every_batch(seed, sources):
    model = random_model(seed)
    width = max(map(len, sources)) + seed % 3  # more padding than needed, too
    source = torch.tensor([[*line, *[PAD] * (width - len(line))] for line in sources])
    lengths = torch.tensor([len(line) for line in sources])
    found = greedy_search(model, source, lengths, bos=BOS, eos=EOS, forbidden=(PAD, BOS))
    for line, hypothesis in zip(sources, found, strict=True):
        tokens, log_probs, finished = slow_greedy(model, line, 2 * len(line) + 10)
        assert (hypothesis.tokens, hypothesis.finished) == (tokens, finished)
        assert hypothesis.log_probs == pytest.approx(log_probs, abs=1e-9)
        assert hypothesis.score == pytest.approx(sum(log_probs))


class Chain(nn.Module):
    """A model of another kind under the same contract: the next token depends on the last one alone."""

    def __init__(self, follows):
        super().__init__()
        self.logits = torch.full((6, 6), -9.0)
        for before, after in follows.items():
            self.logits[before, after] = 9.0
        self.encoder = lambda source, source_lens: source

    @property
    def decoder(self):
        return ChainDecoder(self.logits)


class ChainDecoder:
    def __init__(self, logits):
        self.logits = logits

    def init_state(self, memory):
        return self

    def select(self, rows):
        return self

    def __call__(self, tokens, state):
        return self.logits[tokens], self


def run(model, count=2, **options):
    source = torch.full((count, 1), 3)
    return greedy_search(model, source, torch.ones(count, dtype=torch.long), bos=BOS, eos=EOS, **options)


def test_a_model_of_another_library():
    found = run(Chain({BOS: 4, 4: 5, 5: EOS}))
    assert [hypothesis.tokens for hypothesis in found] == [[4, 5], [4, 5]]
    assert all(hypothesis.finished and len(hypothesis.log_probs) == 3 for hypothesis in found)


def test_eos_at_once_never_and_at_the_limit():
    assert run(Chain({BOS: EOS}))[0].tokens == []
    never = run(Chain({BOS: 4, 4: 4}), max_length=5)[0]
    assert never.tokens == [4] * 5 and not never.finished
    assert not run(Chain({BOS: 4, 4: EOS}), max_length=1)[0].finished


def test_forbidden_tokens_do_not_appear():
    assert run(Chain({BOS: PAD, PAD: PAD}), forbidden=(PAD, BOS), max_length=3)[0].tokens.count(PAD) == 0


def test_finished_sentences_leave_the_batch():
    torch.manual_seed(0)
    model = random_model(3)
    sizes = []
    model.decoder.register_forward_hook(lambda module, args, output: sizes.append(len(args[0])))
    source = torch.randint(3, 9, (16, 5))
    found = greedy_search(model, source, torch.full((16,), 5), bos=BOS, eos=EOS)
    lengths = [len(hypothesis.log_probs) for hypothesis in found]
    assert len(set(lengths)) > 1, "this model ends all sentences at once: choose another seed"
    assert sizes == [sum(length > step for length in lengths) for step in range(max(lengths))]


def test_the_mode_of_the_model_comes_back():
    model = random_model(0).train()
    run(model)
    assert model.training
    run(model.eval())
    assert not model.training
