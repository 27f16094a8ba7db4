"""SamplingView: its distribution is that of `next_distribution`, which a slow loop checks; wrong input is refused."""

import itertools
import math

import pytest
import torch
from views.refusals import keeps, refuses

from seqlearn.nn.contract import eval_mode
from seqlearn.search.forced_decoding import forced_decoding
from seqlearn.translator.translator import Translator
from seqlearn.views import SamplingView
from seqlearn.views.answers.samples import drawn_sentences
from seqlearn.views.shared.packing import unpack

WORDS = ["le", "la", "un", "<eos>"]
LOGITS = torch.tensor([2.0, 4.0, 1.0, 1.0]).log()
SEEDED = torch.Generator().manual_seed(13)
MANY = {  # names -> logits
    "any": 3 * torch.randn(30, generator=SEEDED),
    "float64": 3 * torch.randn(30, generator=SEEDED, dtype=torch.float64),
    "ties": torch.randint(3, (30,), generator=SEEDED).float(),
    "all equal": torch.zeros(7),
    "one": torch.ones(1),
    "far apart": torch.tensor([900.0, -900.0, 899.5, 0.0, 899.0]),
}
# No top_p here is a sum of equal probabilities: there, rounding decides.
SETTINGS = list(itertools.product((0.2, 0.5, 1.0, 1.7, 4.0), (None, 1, 3, 10, 99), (None, 0.07, 0.31, 0.87)))


def by_definition(logits, temperature, top_k, top_p):
    """The distribution, written from the papers: one token after the other, with nothing of the package."""
    top = max(logits)
    powers = [math.exp((logit - top) / temperature) for logit in logits]
    probs = [power / math.fsum(powers) for power in powers]
    order = sorted(range(len(probs)), key=lambda token: (-probs[token], token))
    kept = order if top_k is None else order[:top_k]
    if top_p is not None:
        of_kept, nucleus = math.fsum(probs[token] for token in kept), []
        for token in kept:
            nucleus.append(token)
            if math.fsum(probs[one] for one in nucleus) / of_kept >= top_p:
                break
        kept = nucleus
    of_kept = math.fsum(probs[token] for token in kept)
    return [probs[token] / of_kept if token in kept else 0.0 for token in range(len(probs))]


def view(**settings):
    return SamplingView(LOGITS, WORDS, **settings)


@pytest.mark.parametrize(
    ("settings", "hand"),
    [
        ({}, [2 / 8, 4 / 8, 1 / 8, 1 / 8]),
        ({"temperature": 0.5}, [4 / 22, 16 / 22, 1 / 22, 1 / 22]),
        ({"top_k": 2}, [2 / 6, 4 / 6, 0, 0]),
        ({"top_k": 3}, [2 / 7, 4 / 7, 1 / 7, 0]),  # of two equal ones, the smaller id
        ({"top_p": 0.6}, [2 / 6, 4 / 6, 0, 0]),
        ({"top_k": 3, "top_p": 0.8}, [2 / 6, 4 / 6, 0, 0]),  # top-p alone would leave three
        ({"temperature": 0.5, "top_p": 0.7}, [0, 1, 0, 0]),
    ],
)
def test_the_distribution_by_hand(settings, hand):
    assert view(**settings).probabilities().tolist() == pytest.approx(hand)
    assert by_definition(LOGITS.tolist(), *({"temperature": 1, "top_k": None, "top_p": None} | settings).values()) == (
        pytest.approx(hand)
    )


def test_a_sum_of_exactly_p_is_enough():
    """A quarter has no rounding error: two of four are the smallest set with a half."""
    shown = SamplingView(torch.zeros(4), WORDS, top_p=0.5)
    assert shown.probabilities().tolist() == by_definition([0.0] * 4, 1.0, None, 0.5) == [0.5, 0.5, 0, 0]


@pytest.mark.parametrize("logits", MANY.values(), ids=MANY)
def test_the_distribution_is_that_of_the_definition(logits):
    """Also after a slider was moved in the browser; the sum is 1, and no token overtakes another one."""
    shown = SamplingView(logits, range(len(logits)))
    for temperature, top_k, top_p in SETTINGS:
        shown.temperature, shown.top_k, shown.top_p = temperature, top_k, top_p
        probs = shown.probabilities()
        assert probs.tolist() == pytest.approx(by_definition(logits.tolist(), temperature, top_k, top_p), abs=1e-12)
        assert float(probs.sum()) == pytest.approx(1)
        ranked = probs[logits.argsort(descending=True, stable=True)]
        assert (ranked[1:] <= ranked[:-1]).all()


def test_any_precision_arrives_as_it_is():
    """So that browser and Python compute from the same numbers."""
    exact = torch.tensor([0.1, 0.1 + 1e-12, 0.0], dtype=torch.float64)
    assert unpack(SamplingView(exact, "abc").data["logits"]).tolist() == exact.tolist()
    assert SamplingView(exact, "abc", top_k=1).probabilities().tolist() == [0, 1, 0]
    half = torch.tensor([0.1, 3.0], dtype=torch.bfloat16, requires_grad=True)
    assert unpack(SamplingView(half, "ab").data["logits"]).tolist() == half.tolist()


def test_the_likeliest_tokens_are_shown_first():
    assert view(shown=3).data["shown"] == [1, 0, 2]
    assert view().data["shown"] == [1, 0, 2, 3], "of two equal ones, the smaller id"
    assert SamplingView(torch.arange(40.0), range(40)).data["shown"] == list(range(39, 31, -1))


def test_what_is_said_of_it_is_the_same_in_every_run():
    assert repr(view()) == "SamplingView(4 tokens, temperature 1)"
    assert repr(view(temperature=0.5, top_k=3, top_p=0.9)) == (
        "SamplingView(4 tokens, temperature 0.5, top-k 3, top-p 0.9)"
    )
    assert view().title() == "How the next token is drawn: 4 tokens, temperature 1"


test_one_sentence_for_what_is_wrong = refuses(
    SamplingView,
    [
        ((torch.ones(2, 2), "ab"), "logits have 1 axes"),
        ((torch.ones(0), ""), "logits have 1 axes, none of them empty"),
        ((torch.tensor([1.0, math.nan]), "ab"), "NaN"),
        ((torch.tensor([1.0, -math.inf]), "ab"), "infinity"),
        ((torch.ones(2), "abc"), "3 tokens do not fit 2 logits: each token has one"),
        ({"logits": LOGITS, "tokens": WORDS, "shown": 0}, "at least 1 token is shown, not 0"),
    ],
)


test_what_cannot_be_chosen = keeps(
    lambda **settings: view(**{"temperature": 2, "top_k": 2, "top_p": 0.5} | settings),
    [
        ("temperature", 0.0, "a temperature is above 0, not 0.0; for the likeliest token, use greedy search"),
        ("temperature", -1.0, "above 0, not -1.0"),
        ("temperature", math.inf, "temperature.* a finite number, not the float inf"),
        ("temperature", math.nan, "temperature.* a finite number, not the float nan"),
        ("top_k", 0, "top_k is at least 1, not 0"),
        ("top_k", 1.5, "int"),
        ("top_p", 0.0, "top_p is above 0 and at most 1, not 0.0"),
        ("top_p", 1.1, "top_p is above 0 and at most 1, not 1.1"),
    ],
)


# ---- Sentences that are drawn ----

BOXES = "What big boxes!"


def steps_of(translator, source, ids, temperature, top_k, top_p):
    """For each token of a sentence: its probability at temperature 1, and whether it could be drawn."""
    with eval_mode(translator.model), torch.no_grad():
        source = torch.tensor([source])
        inputs = torch.tensor([[translator.target.vocab.bos, *ids[:-1]]])
        logits = forced_decoding(translator.model, source, torch.tensor([source.shape[1]]), inputs).logits[0]
    for row, token in zip(logits.tolist(), ids, strict=True):
        allowed = [-1e9 if i in (0, 1) else logit for i, logit in enumerate(row)]  # <pad> and <bos> are never drawn
        yield by_definition(row, 1.0, None, None)[token], by_definition(allowed, temperature, top_k, top_p)[token] > 0


@pytest.mark.parametrize("setting", [(1.0, None, None), (3.0, 4, None), (2.0, None, 0.8)], ids=str)
def test_sentences_are_drawn_with_the_settings_and_have_the_probability_of_the_model(transformer, setting):
    """Every token of every sentence could be drawn; the product of the probabilities is that of the model."""
    french = transformer.target
    drawn = drawn_sentences(transformer, BOXES, 7, *setting)
    assert len(drawn) == 5 and len(dict(drawn)) > 1
    for text, probability in drawn:
        assert not text.endswith("…")
        tokens = [*french.tokenizer.tokenize(text), "<eos>"]
        found = list(steps_of(transformer, transformer.source.encode(BOXES), french.vocab.encode(tokens), *setting))
        assert all(possible for _, possible in found), text
        assert probability == pytest.approx(math.prod(one for one, _ in found), rel=1e-3)


def test_the_same_seed_draws_the_same_sentences(transformer):
    one, same, other = (drawn_sentences(transformer, BOXES, seed, 2.0, None, None) for seed in (1, 1, 2))
    assert one == same != other
    greedy = transformer.translate(BOXES)
    assert {text for text, _ in drawn_sentences(transformer, BOXES, 3, 1.0, 1, None)} == {greedy}
    cold = {text for text, _ in drawn_sentences(transformer, BOXES, 3, 0.02, None, None)}
    assert cold == {greedy}, "a low temperature draws the likeliest"


def test_a_view_of_a_translator(transformer):
    shown = SamplingView.of(transformer, BOXES, top_k=3)
    first = next(steps_of(transformer, transformer.source.encode(BOXES), [4], 1.0, None, None))[0]
    assert float(unpack(shown.data["logits"]).softmax(-1)[4]) == pytest.approx(first, rel=1e-4)
    assert (shown.data["source"], shown.data["writes"], shown.seed, shown.written) == (BOXES, True, None, {})
    shown.seed = 5
    assert (
        shown.written["asked"] == {"seed": 5, "temperature": 1.0, "top_k": 3, "top_p": None}
        and shown.written["problem"] == ""
    )
    before = shown.written["sentences"]
    assert before == [[text, float(f"{p:.5g}")] for text, p in drawn_sentences(transformer, BOXES, 5, 1.0, 3, None)]
    shown.top_k, shown.temperature = 1, 2.0
    assert list(shown.written["asked"].values()) == [5, 2.0, 1, None], "a slider draws again, with the same luck"
    assert {text for text, _ in shown.written["sentences"]} == {transformer.translate(BOXES)}


def test_sentences_of_any_function():
    """Slow ones are called once for a change of settings; what goes wrong is said in the view."""
    calls = []

    def write(*asked):
        calls.append(asked)
        if asked[1] > 3:
            raise ValueError("too hot")
        return [("la \ud800", 0.123456789)]

    shown = view(write=write, temperature=2.0, seed=1)
    assert calls == [(1, 2.0, None, None)] and shown.written["sentences"] == [["la �", 0.12346]]
    with shown.hold_trait_notifications():
        shown.temperature, shown.top_p = 1.0, 0.5
    assert calls[1:] == [(1, 1.0, None, 0.5)]
    shown.temperature = 4.0
    asked = {"seed": 1, "temperature": 4.0, "top_k": None, "top_p": 0.5}
    assert shown.written == {"asked": asked, "problem": "too hot", "sentences": []}
    assert view().written == {} and view(seed=3).written == {}, "nobody draws"


def test_a_page_without_a_model_has_what_python_drew(transformer):
    live = SamplingView.of(transformer, BOXES, seed=1)
    assert live.page_model() is not None and live.page_state(live=True)["data"]["writes"]
    stored = live.page_state()
    assert not stored["data"]["writes"] and stored["written"]["sentences"] == live.written["sentences"]
    assert SamplingView.of(Translator.pretrained("bahdanau", "cpu"), BOXES).page_model() is None
