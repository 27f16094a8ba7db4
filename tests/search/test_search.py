"""Search, against slow loops that start anew for each token of each sentence: no batch, no cache, no early stop."""

import itertools
import math

import pytest
import torch
from hypothesis import given, settings, strategies as st
from torch import nn

from fuzzing.search import (
    BOS,
    EOS,
    IDS,
    MODELS,
    PAD,
    PENALTIES,
    SOURCES,
    assert_same,
    beam_equals_the_slow_loop,
    greedy_equals_the_slow_loop,
    padded,
    random_model,
    whole,
    wide_beam_is_exhaustive,
)
from seqlearn.nn.decoder_only import DecoderOnly
from seqlearn.nn.seq2seq import BahdanauConfig, bahdanau
from seqlearn.nn.transformer import TransformerConfig, transformer
from seqlearn.search import hypotheses as beams
from seqlearn.search.batching import in_batches
from seqlearn.search.beam import beam_search
from seqlearn.search.exhaustive import exhaustive_search
from seqlearn.search.lengths import gnmt, length_average, no_penalty
from seqlearn.search.sampling import greedy_search, next_distribution, sample


@pytest.mark.slow
@settings(max_examples=40)
@given(seed=st.integers(0, 10**6), sources=SOURCES)
def test_greedy_equals_the_slow_loop_for_every_batch(seed, sources):
    greedy_equals_the_slow_loop(seed, sources)


@pytest.mark.slow
@settings(max_examples=80)
@given(
    seed=st.integers(0, 10**6),
    sources=SOURCES,
    width=st.integers(1, 6),
    n_best=st.integers(1, 6),
    penalty=st.sampled_from(list(PENALTIES)),
    lengths=st.sampled_from([(0, 5), (2, 5), (3, 3), (0, 1), (1, 8)]),
    refill=st.booleans(),
)
def test_beam_equals_the_slow_loop_for_every_batch(seed, sources, width, n_best, penalty, lengths, refill):
    """So neither the batch nor its order nor the cache nor the early stop changes anything."""
    beam_equals_the_slow_loop(seed, sources, width, n_best, penalty, lengths, refill)


@settings(max_examples=30)
@given(seed=st.integers(0, 10**6), sources=SOURCES, penalty=st.sampled_from(list(PENALTIES)))
@pytest.mark.slow
def test_a_beam_of_one_is_greedy_search(seed, sources, penalty):
    model = random_model(seed)
    greedy = greedy_search(model, *padded(sources), **IDS)
    found = beam_search(model, *padded(sources), **IDS, width=1, length_penalty=PENALTIES[penalty])
    assert [best.tokens for (best,) in found] == [hypothesis.tokens for hypothesis in greedy]
    for (best,), hypothesis in zip(found, greedy, strict=True):
        assert best.log_probs == pytest.approx(hypothesis.log_probs) and best.finished == hypothesis.finished


@pytest.mark.slow
@settings(max_examples=30)
@given(
    seed=st.integers(0, 10**6),
    sources=SOURCES,
    penalty=st.sampled_from(list(PENALTIES)),
    least=st.integers(0, 3),
    refill=st.booleans(),
)
def test_a_beam_as_wide_as_the_tree_is_exhaustive_search(seed, sources, penalty, least, refill):
    wide_beam_is_exhaustive(seed, sources, penalty, least, refill)


@pytest.mark.parametrize("seed", [6, 7])
def test_every_search_of_a_decoder_only_model(seed):
    """The models of these seeds are decoder-only: greedy, beam and exhaustive search equal the slow loops."""
    assert isinstance(random_model(seed).decoder, DecoderOnly)
    sources = [[4, 5, 6], [3], [8, 7, 6, 5, 4]]
    greedy_equals_the_slow_loop(seed, sources)
    beam_equals_the_slow_loop(seed, sources, 3, 2, "gnmt", (0, 5), False)
    wide_beam_is_exhaustive(seed, sources[:2], "average", 0, False)


@pytest.mark.parametrize("seed", range(len(MODELS)))
def test_exhaustive_search_misses_nothing(seed):
    model, source = random_model(seed, vocab=5).eval(), [4, 3, 8]
    (found,) = exhaustive_search(model, *padded([source]), **IDS, max_length=3, length_penalty=length_average)
    sentences = [[*words, EOS] for length in range(3) for words in itertools.product([3, 4], repeat=length)]
    sentences += [list(words) for words in itertools.product([3, 4], repeat=3)]
    expected = []
    for tokens in sentences:
        logits = model(torch.tensor([source]), torch.tensor([3]), torch.tensor([[BOS, *tokens[:-1]]]))[0]
        expected.append((tokens, logits.log_softmax(-1)[range(len(tokens)), tokens].tolist()))
    expected.sort(key=lambda each: -sum(each[1]) / len(each[1]))
    assert_same(found, expected[:1], length_average)


def test_a_tree_that_is_too_large_is_not_searched():
    model, source = random_model(0, vocab=5), padded([[4, 3, 8]])
    assert exhaustive_search(model, *source, **IDS, max_length=3, most=27)
    with pytest.raises(ValueError, match=r"^3 tokens make 10\^1 sentences of 3: too many to try$"):
        exhaustive_search(model, *source, **IDS, max_length=3, most=26)


@pytest.mark.slow
@settings(max_examples=30)
@given(seed=st.integers(0, 10**6), sources=SOURCES, width=st.integers(2, 5), penalty=st.sampled_from(list(PENALTIES)))
def test_the_n_best_are_sorted_distinct_and_worth_what_the_model_says(seed, sources, width, penalty):
    model = random_model(seed).eval()
    source, lengths = padded(sources, more=2)
    found = beam_search(
        model, source, lengths, **IDS, width=width, n_best=width, length_penalty=PENALTIES[penalty], refill=True
    )
    for row, hypotheses in enumerate(found):
        scores = [hypothesis.score for hypothesis in hypotheses]
        assert len(hypotheses) == width and scores == sorted(scores, reverse=True)
        assert len({tuple(whole(hypothesis)) for hypothesis in hypotheses}) == width
        for hypothesis in hypotheses:
            tokens = whole(hypothesis)
            logits = model(source[row : row + 1], lengths[row : row + 1], torch.tensor([[BOS, *tokens[:-1]]]))[0]
            log_probs = logits.log_softmax(-1)[range(len(tokens)), tokens]
            assert hypothesis.score == pytest.approx(float(log_probs.sum()) / PENALTIES[penalty](len(tokens)))
            assert not {PAD, BOS, EOS} & set(hypothesis.tokens)


def test_penalties_by_hand():
    assert [no_penalty(9), length_average(9)] == [1, 9]
    assert gnmt(0.6)(1) == 1 and gnmt(0.6)(7) == pytest.approx(2**0.6) and gnmt(0)(7) == 1


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


def run(model, count=2, search=greedy_search, **options):
    source = torch.full((count, 1), 3)
    return search(model, source, torch.ones(count, dtype=torch.long), bos=BOS, eos=EOS, **options)


def best(model, **options):
    """The best hypothesis of beam search."""
    return run(model, search=beam_search, **options)[0][0]


def test_a_model_of_another_library():
    chain = Chain({BOS: 4, 4: 5, 5: EOS})
    for hypothesis in [*run(chain), best(chain), run(chain, search=exhaustive_search, max_length=4)[1][0]]:
        assert hypothesis.tokens == [4, 5] and hypothesis.finished and len(hypothesis.log_probs) == 3


@pytest.mark.parametrize("search", [lambda *a, **options: run(*a, **options)[0], best], ids=["greedy", "beam"])
def test_eos_at_once_never_and_at_the_limit(search):
    assert search(Chain({BOS: EOS})).tokens == []
    never = search(Chain({BOS: 4, 4: 4}), max_length=5)
    assert never.tokens == [4] * 5 and not never.finished and len(never.log_probs) == 5
    assert not search(Chain({BOS: 4, 4: EOS}), max_length=1).finished
    held_back = search(Chain({BOS: EOS, 4: 4, 5: 5}), min_length=3, max_length=9)
    assert len(held_back.tokens) >= 3 and EOS not in held_back.tokens


def test_forbidden_tokens_do_not_appear():
    assert run(Chain({BOS: PAD, PAD: PAD}), forbidden=(PAD, BOS), max_length=3)[0].tokens.count(PAD) == 0
    for hypothesis in run(
        Chain({BOS: PAD, PAD: PAD, 4: BOS}), search=beam_search, forbidden=(PAD, BOS), max_length=3, width=6, n_best=6
    )[0]:
        assert not {PAD, BOS} & set(hypothesis.tokens) and math.isfinite(hypothesis.score)


SEARCHES = {"greedy": greedy_search, "sample": sample, "beam": beam_search, "exhaustive": exhaustive_search}
every_search = pytest.mark.parametrize("search", SEARCHES.values(), ids=SEARCHES)
NOTHING = "^there is no next token: the logits hold NaN or infinity, or every token is forbidden$"


@every_search
@pytest.mark.parametrize("after", [BOS, 4])  # at once, and after the first token
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_without_a_next_token_every_search_says_the_same(search, after, bad):
    chain = Chain({BOS: 4})
    chain.logits[after, :] = bad
    for options in ({}, {"forbidden": (PAD, BOS)}):
        with pytest.raises(ValueError, match=NOTHING):
            run(chain, search=search, max_length=3, **options)
    with pytest.raises(ValueError, match=NOTHING):
        run(Chain({}), search=search, max_length=3, forbidden=range(6))


def test_nan_after_the_end_of_a_hypothesis_does_not_matter():
    """And a hypothesis that has no next token leaves the others alone."""
    chain = Chain({BOS: 4, 4: EOS, 5: 5})
    chain.logits[EOS], chain.logits[3] = math.nan, torch.tensor([1.0, 1, -math.inf, *[-math.inf] * 3])
    found = best(chain, max_length=4, width=3, forbidden=(PAD, BOS))
    assert found.tokens == [4] and found == run(chain, search=exhaustive_search, max_length=4, forbidden=(0, 1))[0][0]


@every_search
@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"forbidden": [-1]}, ValueError, "the id of a token is at least 0, not -1"),
        ({"forbidden": [6]}, ValueError, "the id of a token is from 0 to 5, not 6"),
        ({"forbidden": 3}, TypeError, "forbidden is a list of ids, not 3"),
        ({"forbidden": [1.5]}, TypeError, "the id of a token is a whole number, not 1.5"),
        ({"eos": 6}, ValueError, "the id of a token is from 0 to 5, not 6"),
        ({"eos": None}, TypeError, "the id of a token is a whole number, not None"),
        ({"min_length": True}, TypeError, "min_length is a whole number, not True"),
        ({"source_lens": torch.ones(1)}, TypeError, "lengths of these sources are whole numbers, not torch.float32"),
    ],
)
def test_ids_and_lengths_mean_the_same_in_every_search(search, options, error, message, as_a_user):
    given = {"source_lens": torch.ones(1).long(), "bos": BOS, "eos": EOS, "max_length": 3} | options
    with pytest.raises(error, match=message):
        search(Chain({BOS: 4}), torch.full((1, 1), 3), **given)


@every_search
def test_forbidden_tokens_may_be_a_tensor(search, as_a_user):
    (found, *_) = run(Chain({BOS: 3, 4: 4}), search=search, forbidden=torch.tensor([3]), max_length=2)
    assert 3 not in (found[0] if isinstance(found, list) else found).tokens


@pytest.mark.parametrize("search", [beam_search, exhaustive_search])
@pytest.mark.parametrize("penalty", [-1, 0, math.nan, math.inf])
def test_a_penalty_is_a_number_above_0(search, penalty):
    with pytest.raises(ValueError, match=f"a length penalty is positive; that of length 1 is {penalty}"):
        run(Chain({}), search=search, max_length=2, length_penalty=lambda length: penalty)


def test_a_trace_changes_nothing_where_logits_tie():
    chain = Chain({})
    chain.logits = torch.zeros(6, 50)  # topk would take another one of these
    chain.logits = chain.logits.repeat(9, 1)
    (greedy, _), plain, traced = run(chain, max_length=3), best(chain, max_length=3, width=1), []
    assert best(chain, max_length=3, width=1, trace=traced) == plain == greedy and len(traced[0].steps[0]) == 2


def test_exhaustive_search_scores_in_float32():
    chain, low = Chain({BOS: 4}), Chain({BOS: 4})
    chain.logits += torch.arange(6) / 9
    low.logits = chain.logits.bfloat16()
    chain.logits = low.logits.float()
    exact, found = (run(model, search=exhaustive_search, max_length=2)[0][0] for model in (chain, low))
    assert found.log_probs == exact.log_probs


def test_the_k_best_may_have_one_parent():
    """4 is likelier than 5 at first, but both children of 5 are better than any of 4."""
    chain = Chain({})
    chain.logits = torch.full((6, 6), -math.inf)
    for before, after in {
        BOS: {4: 0.5, 5: 0.5},
        4: {3: 0.3, 4: 0.3, 5: 0.4},
        5: {4: 0.49, 5: 0.51},
        3: {EOS: 1},
    }.items():
        for token, probability in after.items():
            chain.logits[before, token] = math.log(probability)
    found = run(chain, search=beam_search, width=2, n_best=2, max_length=2)[0]
    assert [hypothesis.tokens for hypothesis in found] == [[5, 5], [5, 4]]
    assert [hypothesis.score for hypothesis in found] == pytest.approx([math.log(0.255), math.log(0.245)])


@pytest.mark.parametrize("penalty", [length_average, gnmt(3.0), lambda length: [0, 1, 4, 1, 1][length]])
def test_the_best_may_come_late(penalty):
    """<eos> is the likeliest first token; but "4" can only be followed by <eos>, and wins where length counts."""
    chain = Chain({})
    chain.logits = torch.full((6, 6), -math.inf)
    for before, after, probability in [(BOS, EOS, 0.55), (BOS, 4, 0.45), (4, EOS, 1.0)]:
        chain.logits[before, after] = math.log(probability)
    assert best(chain, width=2, max_length=4, length_penalty=penalty).tokens == [4]
    assert best(chain, width=2, max_length=4).tokens == []


def test_the_best_may_come_much_later():
    """After one more step the mean of "4 5 3" is still below that of the empty sentence."""
    chain = Chain({4: 5, 5: 3, 3: EOS})
    chain.logits[BOS] = torch.tensor([0, 0, 0.6, 0.15, 0.25, 0]).log()
    assert best(chain, width=2, max_length=6, length_penalty=length_average).tokens == [4, 5, 3]


def test_the_length_counts_tokens_and_eos_but_no_padding():
    """Hypotheses of 1 and of 3 tokens side by side in one batch: the mean of each is over its own."""
    lengths = []
    run(Chain({BOS: EOS, 4: 5, 5: EOS}), search=beam_search, width=4, length_penalty=lambda n: lengths.append(n) or 1.0)
    chain = Chain({BOS: EOS, 4: 5, 5: EOS})
    (found, _) = run(chain, search=beam_search, width=4, n_best=4, length_penalty=length_average, max_length=6)
    for hypothesis in found:
        assert hypothesis.penalty == len(hypothesis.log_probs) == len(hypothesis.tokens) + hypothesis.finished
    assert min(lengths) == 1


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


@pytest.mark.parametrize("search", [greedy_search, beam_search])
def test_the_mode_of_every_part_of_the_model_comes_back(search):
    model = random_model(0).train()
    model.encoder.eval()
    run(model, search=search)
    assert model.training and model.decoder.dropout.training and not model.encoder.dropout.training
    run(model.eval(), search=search)
    assert not any(part.training for part in model.modules())
    seen = []
    model.decoder.dropout.train().register_forward_hook(lambda part, *_: seen.append(part.training))
    run(model, search=search)
    assert seen and not any(seen), "one part in training is put into eval mode, too"
    assert model.decoder.dropout.training and not model.training


@pytest.mark.parametrize("seed", [56, 60])  # a recurrent model and a Transformer
def test_the_source_is_held_once_for_a_sentence_and_sentences_leave(seed):
    model, sizes = random_model(seed), []

    def watch(module, args, output):
        state = args[1]
        keys = state.keys if seed == 56 else state.memory[0][0]
        sizes.append((len(args[0]), len(keys)))

    model.decoder.register_forward_hook(watch)
    source = torch.randint(3, 9, (16, 5))
    beam_search(model, source, torch.full((16,), 5), **IDS, width=3)
    sentences = [few for _, few in sizes]
    assert sizes[0] == (16, 16) and all(few < many <= 3 * few for many, few in sizes[1:])
    assert len(set(sentences)) > 3 and sentences == sorted(sentences, reverse=True)


@pytest.mark.parametrize("seed", range(len(MODELS)))
def test_the_tree_tells_the_whole_story(seed):
    model, width, trees = random_model(seed), 3, []
    source, lengths = padded([[3, 4, 5], [8], [7, 6]])
    options = {"width": width, "n_best": 2, "length_penalty": gnmt(), "max_length": 6}
    found = beam_search(model, source, lengths, **IDS, **options, trace=trees)
    assert found == beam_search(model, source, lengths, **IDS, **options)
    for tree, hypotheses in zip(trees, found, strict=True):
        kept = [()]
        complete = []
        for step, nodes in enumerate(tree.steps, 1):
            assert len({node.tokens for node in nodes}) == len(nodes)
            assert all(len(node.tokens) == step and node.tokens[:-1] in kept for node in nodes)
            assert [node.total for node in nodes] == sorted((node.total for node in nodes), reverse=True)
            assert ["pruned" not in node.fate for node in nodes] == [place < width for place in range(len(nodes))]
            assert all(node.score == pytest.approx(node.total / gnmt()(step)) for node in nodes)
            kept = [node.tokens for node in nodes if node.fate == "kept"]
            complete += [node for node in nodes if node.fate == "complete"]
        assert kept == [] and tree.best == hypotheses
        complete.sort(key=lambda node: -node.score)
        assert [list(node.tokens) for node in complete[:2]] == [whole(each) for each in hypotheses]


@pytest.mark.parametrize("seed", range(len(MODELS)))
def test_the_tree_of_a_beam_of_one_also_has_what_was_rejected(seed):
    model, trees = random_model(seed), []
    source, lengths = padded([[3, 4, 5], [8]])
    found = beam_search(model, source, lengths, **IDS, width=1, max_length=6, trace=trees)
    assert found == beam_search(model, source, lengths, **IDS, width=1, max_length=6)
    for tree in trees:
        fates = [[node.fate for node in nodes] for nodes in tree.steps]
        assert fates[:-1] == [["kept", "pruned"]] * (len(fates) - 1) and fates[-1] == ["complete", "pruned"]


def test_half_precision_does_not_round_log_probabilities():
    logits = torch.randn(5, 50).bfloat16()
    found, tokens = beams.best_tokens(logits, 3, forbidden=(7,))
    expected = logits.float().log_softmax(-1)
    assert torch.allclose(found, expected.gather(1, tokens)) and not (tokens == 7).any()
    model = random_model(4).bfloat16()
    (found, _) = beam_search(model, *padded([[3, 4, 5], [8]]), **IDS, n_best=4)
    assert len(found) == 4 and all(math.isfinite(hypothesis.score) for hypothesis in found)
    for drawn, _ in (run(model, search=search, max_length=3) for search in (sample, greedy_search)):
        exact = torch.tensor(drawn.log_probs)
        assert not torch.equal(exact, exact.bfloat16().float())


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("seed", range(len(MODELS)))
def test_a_gpu_finds_the_same(seed):
    model, (source, lengths) = random_model(seed), padded([[3, 4, 5], [8], [7, 6]])
    options = {"width": 3, "n_best": 3, "length_penalty": length_average, "max_length": 6}
    expected = beam_search(model, source, lengths, **IDS, **options)
    found = beam_search(model.cuda(), source.cuda(), lengths, **IDS, **options, trace=[])
    for left, right in zip(expected, found, strict=True):
        assert_same(right, [(whole(each), each.log_probs) for each in left], length_average)


@pytest.mark.parametrize("search", [greedy_search, beam_search, exhaustive_search])
def test_what_cannot_be_searched_is_said(search, as_a_user):
    model = random_model(0)
    with pytest.raises(ValueError, match="source 1 is empty"):
        search(model, torch.tensor([[3], [0]]), torch.tensor([1, 0]), **IDS)
    with pytest.raises(ValueError, match="at least 3 tokens and at most 2"):
        run(model, search=search, min_length=3, max_length=2)
    with pytest.raises(ValueError, match="at most 0"):
        run(model, search=search, max_length=0)
    assert search(model, torch.zeros(0, 1, dtype=torch.long), torch.zeros(0, dtype=torch.long), **IDS) == []


def test_what_a_beam_cannot_do_is_said():
    with pytest.raises(ValueError, match="width 2 cannot give the 3 best"):
        best(random_model(0), width=2, n_best=3)
    with pytest.raises(ValueError, match="that of length 3 is -1"):
        best(random_model(0), length_penalty=lambda length: 5 - 2 * length)
    with pytest.raises(ValueError, match=r"6,000 tokens make 10\^76 sentences of 20"):
        run(bahdanau(9, 6000, BahdanauConfig(2, 2)), search=exhaustive_search, max_length=20)


def test_a_source_longer_than_any_before():
    for model in (transformer(9, 7, TransformerConfig(4, 5, 2, 1)), bahdanau(9, 7, BahdanauConfig(3, 4))):
        source = torch.randint(3, 9, (1, 700))
        assert len(beam_search(model, source, torch.tensor([700]), **IDS, max_length=4)[0][0].log_probs) <= 4
    with pytest.raises(ValueError, match="no position 20: 20 were learned"):
        beam_search(
            transformer(9, 7, TransformerConfig(4, 5, 2, 1, positions="learned", max_steps=20)),
            source[:, :21],
            torch.tensor([21]),
            **IDS,
        )


@pytest.mark.parametrize("size", [1, 2, 100])
def test_long_work_is_sorted_cut_into_batches_and_put_back(size):
    sentences, widths = [[3] * length for length in (5, 1, 4, 1, 2)], []

    def search(source, lengths):
        widths.append(source.shape[1])
        return [(int(length), row.count_nonzero().item()) for row, length in zip(source, lengths, strict=True)]

    assert in_batches(search, sentences, PAD, size) == [(length, length) for length in (5, 1, 4, 1, 2)]
    assert widths == {1: [1, 1, 2, 4, 5], 2: [1, 4, 5], 100: [5]}[size]
    assert in_batches(search, [], PAD, size) == []


def test_a_bar_counts_sentences(monkeypatch, capsys):
    monkeypatch.delenv("TQDM_DISABLE", raising=False)
    for progress, told in ((True, "0/3"), (False, "")):
        in_batches(lambda source, lens: [0] * len(source), [[3], [4], [5]], PAD, 2, progress)
        written = capsys.readouterr().err
        assert told in written and bool(written) == progress


@pytest.mark.parametrize("size", [0, -1])
def test_a_batch_has_a_sentence(size):
    with pytest.raises(ValueError, match=f"batch_size is at least 1, not {size}"):
        in_batches(lambda source, lens: [0] * len(source), [[3]], PAD, size)


# Sampling


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def test_the_filtered_distribution_by_hand():
    """Temperature, then top-k, then the nucleus; what is left sums to 1."""
    logits = torch.tensor([0.4, 0.1, 0.3, 0.2]).log()

    def found(**options):
        return next_distribution(logits, **options).tolist()

    assert found() == pytest.approx([0.4, 0.1, 0.3, 0.2])
    assert found(temperature=0.5) == pytest.approx([16 / 30, 1 / 30, 9 / 30, 4 / 30])
    assert found(top_k=2) == pytest.approx([4 / 7, 0, 3 / 7, 0]) and found(top_k=9) == found()
    assert found(top_p=0.3) == [1, 0, 0, 0], "the likeliest token alone is enough"
    assert found(top_p=0.5) == pytest.approx([4 / 7, 0, 3 / 7, 0]), "0.4 is less than 0.5, so the next one is needed"
    assert found(top_p=0.75) == pytest.approx([4 / 9, 0, 3 / 9, 2 / 9]) and found(top_p=1.0) == found()
    assert found(top_k=3, top_p=0.75) == pytest.approx([4 / 7, 0, 3 / 7, 0]), "of the three, two have 7/9"
    assert found(temperature=0.5, top_p=0.5) == [1, 0, 0, 0], "16/30 is enough"
    assert found(forbidden=[0]) == pytest.approx([0, 1 / 6, 3 / 6, 2 / 6])
    assert found(forbidden=[0], top_k=1) == [0, 0, 1, 0] == found(forbidden=[0], temperature=1e-320)
    assert next_distribution(torch.zeros(4), top_k=2).tolist() == [0.5, 0.5, 0, 0], "of equals, the smaller id"
    assert next_distribution(torch.zeros(3000), top_k=2).nonzero().flatten().tolist() == [0, 1]
    assert next_distribution(logits.half(), temperature=1e9).tolist() == pytest.approx([0.25] * 4)


@given(
    seed=st.integers(0, 10**6),
    temperature=st.floats(0.05, 20),
    top_k=st.none() | st.integers(1, 12),
    top_p=st.none() | st.floats(0.01, 1),
)
def test_the_filters_are_those_of_hugging_face(seed, temperature, top_k, top_p):
    from transformers import TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

    logits = 3 * torch.randn(3, 10, dtype=torch.float64, generator=seeded(seed))
    expected = TemperatureLogitsWarper(temperature)(None, logits)
    expected = expected if top_k is None else TopKLogitsWarper(top_k)(None, expected)
    expected = expected if top_p is None else TopPLogitsWarper(top_p)(None, expected)
    before = logits.clone()
    found = next_distribution(logits, temperature, top_k, top_p)
    torch.testing.assert_close(found, expected.softmax(-1))
    assert torch.equal(logits, before)


@settings(max_examples=15)
@given(seed=st.integers(0, 10**6), sources=SOURCES)
@pytest.mark.slow
def test_sampling_from_one_token_is_greedy_search(seed, sources):
    model = random_model(seed)
    greedy = greedy_search(model, *padded(sources), **IDS)
    assert sample(model, *padded(sources), **IDS, top_k=1) == greedy
    assert sample(model, *padded(sources), **IDS, top_p=1e-9, temperature=7.0) == greedy
    assert sample(model, *padded(sources), **IDS, temperature=1e-9) == greedy


@pytest.mark.slow
@settings(max_examples=15)
@given(seed=st.integers(0, 10**6), sources=SOURCES, lengths=st.sampled_from([(0, None), (2, 5), (3, 3)]))
def test_a_sample_does_not_depend_on_its_batch(seed, sources, lengths):
    """One call with many sentences, many calls with one sentence each, more padding: the same hypotheses."""
    model, options = random_model(seed), {"min_length": lengths[0], "max_length": lengths[1], "top_p": 0.9, **IDS}
    together = sample(model, *padded(sources, seed % 3), **options, generator=seeded(seed))
    generator = seeded(seed)
    apart = [sample(model, *padded([line]), **options, generator=generator)[0] for line in sources]
    assert [whole(each) for each in together] == [whole(each) for each in apart]
    for line, one, other in zip(sources, together, apart, strict=True):
        assert one.log_probs == pytest.approx(other.log_probs, abs=1e-9)
        tokens = whole(one)
        logits = model.eval()(torch.tensor([line]), torch.tensor([len(line)]), torch.tensor([[BOS, *tokens[:-1]]]))[0]
        expected = logits.log_softmax(-1)[range(len(tokens)), tokens].tolist()
        assert one.log_probs == pytest.approx(expected, abs=1e-9), "the model's own, nothing filtered"
        assert lengths[0] <= len(one.tokens) <= (lengths[1] or 2 * len(line) + 10) and not {PAD, BOS} & set(one.tokens)


def test_samples_are_as_frequent_as_the_model_says():
    """4,000 samples of one sentence: each frequency is within 5 standard deviations of the filtered probability."""
    model, number, temperature = random_model(6).eval(), 4000, 2.0
    source, options = torch.tensor([[4, 3, 8]]), {"temperature": temperature, "max_length": 2, **IDS}
    found = sample(model, source.expand(number, 3), torch.full((number,), 3), **options, generator=seeded())
    counts = {}
    for hypothesis in found:
        key = tuple(whole(hypothesis))
        counts[key] = counts.get(key, 0) + 1
    expected = {}
    for first in range(2, 7):
        logits = model(source, torch.tensor([3]), torch.tensor([[BOS, first]]))[0]
        logits[:, [PAD, BOS]] = -math.inf
        probs = (logits / temperature).softmax(-1)
        if first == EOS:
            expected[EOS,] = float(probs[0, EOS])
        else:
            expected |= {(first, second): float(probs[0, first] * probs[1, second]) for second in range(2, 7)}
    assert sum(expected.values()) == pytest.approx(1) and set(counts) <= set(expected)
    assert sum(share > 0.01 for share in expected.values()) > 4, "this model is too sure: choose another seed"
    for key, share in expected.items():
        assert abs(counts.get(key, 0) / number - share) <= 5 * (share * (1 - share) / number) ** 0.5 + 1e-9, key


@pytest.mark.parametrize(("draw", "token"), [(0.0, 2), (1 - 2**-24, 6)])
def test_the_smallest_and_the_largest_draw_are_tokens_that_may_be_chosen(draw, token, monkeypatch):
    """0 is not the forbidden token 0, and no draw is beyond the last token."""
    monkeypatch.setattr(torch, "rand", lambda *size, **options: torch.full(size, draw))
    (found,) = sample(random_model(6), *padded([[4, 5]]), **IDS, temperature=100.0, max_length=1)
    assert whole(found) == [token]


def test_the_seed_decides():
    model, source = random_model(6), torch.full((50, 3), 4)
    first, same, other = (
        sample(model, source, torch.full((50,), 3), **IDS, temperature=3.0, generator=seeded(seed))
        for seed in (1, 1, 2)
    )
    assert first == same != other and len({tuple(each.tokens) for each in first}) > 5
    _ = torch.manual_seed(1)
    assert sample(model, source, torch.full((50,), 3), **IDS, temperature=3.0) == first, "torch's own generator"
    assert sample(model, source[:0], torch.zeros(0, dtype=torch.long), **IDS) == []


def test_without_a_temperature_the_distribution_is_that_of_the_model():
    model, source, lens = random_model(6), torch.full((50, 3), 4), torch.full((50,), 3)
    usual, plain, hot = (
        sample(model, source, lens, **IDS, generator=seeded(1), **options)
        for options in ({}, {"temperature": 1.0}, {"temperature": 2.0})
    )
    assert usual == plain != hot


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"temperature": 0}, "a temperature is above 0, not 0; for the likeliest token, use greedy search"),
        ({"temperature": math.nan}, "a temperature is above 0, not nan"),
        ({"top_k": 0}, "top_k is at least 1, not 0"),
        ({"top_p": 0.0}, "top_p is above 0 and at most 1, not 0.0"),
        ({"top_p": 1.5}, "top_p is above 0 and at most 1, not 1.5"),
        (
            {"forbidden": range(7)},
            "no next token: the logits hold NaN or infinity, or every token is forbidden",
        ),
    ],
)
def test_no_sample_without_a_distribution(options, message):
    with pytest.raises(ValueError, match=message):
        sample(random_model(6), *padded([[4, 5]]), **{**IDS, **options})
    broken = random_model(6)
    broken.decoder.dense.bias.data[4] = math.nan
    with pytest.raises(ValueError, match="no next token: the logits"):
        sample(broken, *padded([[4, 5]]), **IDS)
