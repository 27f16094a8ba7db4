"""GruView: its numbers are those of torch's own GRU; gates can be moved; wrong input is refused."""

import math

import pytest
import torch
from torch import nn
from views.refusals import keeps, refuses

from seqlearn.translator.translator import Translator
from seqlearn.views import GruView
from seqlearn.views.gru.gru_data import gru_steps
from seqlearn.views.shared.packing import unpack

WORDS = ["the", "girl", "eats", "."]
SENTENCE = "The girl washes the red apple and eats it."
BY_HAND = {"weight_ih_l0": torch.tensor([[0.5], [-2.0], [1.0]]), "weight_hh_l0": torch.tensor([[1.0], [3.0], [-1.5]])}


def network(size=3, hiddens=5, **more):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return nn.GRU(size, hiddens, batch_first=True, **more)


def inputs(steps=4, size=3):
    return torch.randn(steps, size, generator=torch.Generator().manual_seed(1))


def view(**more):
    return GruView(WORDS, network(), inputs(), **more)


def small():
    """The GRU with one number of lesson 05, whose states are computed there by hand."""
    gru = nn.GRU(1, 1, bias=False, batch_first=True)
    gru.load_state_dict(BY_HAND)
    return GruView(["1", "0.5", "-1"], gru, torch.tensor([[1.0], [0.5], [-1.0]]))


@pytest.mark.parametrize("more", [{}, {"bias": False}, {"num_layers": 2}, {"bidirectional": True}], ids=str)
def test_the_states_are_those_of_torch(more):
    """Of the first layer, read from left to right."""
    gru, vectors = network(**more), inputs(9)
    first = network(**{name: value for name, value in more.items() if name == "bias"})
    first.load_state_dict({name: dict(gru.named_parameters())[name] for name, _ in first.named_parameters()})
    with torch.no_grad():
        expected = first(vectors[None])[0][0]
    states = unpack(GruView(None, gru, vectors).data["states"])
    assert states.shape == (10, 5) and states[0].tolist() == [0] * 5
    torch.testing.assert_close(states[1:], expected, atol=1e-6, rtol=0)


def test_gates_and_parts_make_the_states():
    """Each from its definition, written out anew."""
    gru, vectors = network(), inputs()
    found, state = gru_steps(gru, vectors), torch.zeros(5)
    for step, vector in enumerate(vectors):
        of_word = (gru.weight_ih_l0 @ vector + gru.bias_ih_l0).chunk(3)
        of_state = (gru.weight_hh_l0 @ state + gru.bias_hh_l0).chunk(3)
        reset, update = (1 / (1 + (-of_word[i] - of_state[i]).exp()) for i in (0, 1))
        expected = {"resets": reset, "updates": update, "from_word": of_word[2], "from_state": of_state[2]}
        state = (1 - update) * torch.tanh(of_word[2] + reset * of_state[2]) + update * state
        for name, numbers in (expected | {"states": state}).items():
            row = found[name][step + 1 if name == "states" else step]
            torch.testing.assert_close(row.float(), numbers.detach(), atol=1e-6, rtol=0)


def test_the_numbers_of_the_lesson():
    assert [round(number, 4) for number in unpack(small().data["states"]).flatten().tolist()] == [
        *(0, 0.6708, 0.4344, 0.3883)
    ]


def test_the_encoder_of_a_translator():
    translator = Translator.pretrained("bahdanau", "cpu")
    shown = GruView.of(translator, SENTENCE, unit=3, word=1)
    tokens = [*translator.source.tokenizer.tokenize(SENTENCE), "<eos>"]
    assert shown.data["tokens"] == tokens and (shown.unit, shown.word) == (3, 1)
    ids = torch.tensor([translator.source.encode(SENTENCE)])
    with torch.no_grad():
        outputs = translator.model.eval().encoder(ids, torch.tensor([len(tokens)])).outputs[0]
    states = unpack(shown.data["states"])
    size = states.shape[1]
    assert outputs.shape[1] == 2 * size, "both directions; shown is the one from left to right"
    torch.testing.assert_close(states[1:], outputs[:, :size], atol=1e-6, rtol=0)


def test_an_encoder_without_a_gru_is_refused():
    with pytest.raises(ValueError, match="shows a GRU that reads embeddings; the encoder of 'transformer' is none"):
        GruView.of(Translator.pretrained("transformer", "cpu"), SENTENCE)


def test_a_step_with_other_gates():
    shown = view(unit=2, word=1)
    data = {name: unpack(shown.data[name]) for name in shown.data if name != "tokens"}
    own = shown.step()
    assert own.old == pytest.approx(float(data["states"][1, 2])) and own.state == pytest.approx(
        float(data["states"][2, 2]), abs=1e-6
    )
    assert (own.reset, own.update) == (float(data["resets"][1, 2]), float(data["updates"][1, 2]))
    shown.z = 1.0
    assert shown.step().state == own.old, "all of the old state is kept"
    shown.z = 0.0
    assert shown.step().state == shown.step().new == own.new
    shown.z, shown.r = 0.25, 0.0
    new = math.tanh(float(data["from_word"][1, 2]))
    assert shown.step() == (own.old, 0.0, new, 0.25, pytest.approx(0.75 * new + 0.25 * own.old))
    assert repr(shown) == "GruView(4 tokens, unit 2 of 5, z = 0.25, r = 0)"


def test_what_is_said_of_it_is_the_same_in_every_run():
    assert repr(view()) == "GruView(4 tokens, unit 0 of 5)"
    assert view().title() == "What a GRU keeps, and what it replaces: the girl eats ."


test_one_sentence_for_what_is_wrong = refuses(
    GruView,
    [
        ((WORDS, nn.LSTM(3, 5), inputs()), TypeError, "GruView shows an nn.GRU, not a LSTM"),
        ((WORDS, network(), inputs()[None]), "inputs have 2 axes"),
        ((WORDS, network(), inputs(0)), "none of them empty"),
        ((WORDS, network(), inputs(size=4)), "this GRU reads vectors of 3 numbers, not of 4"),
        ((WORDS[:3], network(), inputs()), "3 tokens do not fit 4 rows"),
        ((WORDS, network(), inputs().log()), "NaN"),
    ],
)


test_what_cannot_be_chosen = keeps(
    lambda unit=1, word=1: view(unit=unit, word=word),
    [
        ("unit", 5, "unit is from 0 to 4, not 5"),
        ("unit", -1, "unit is from 0 to 4, not -1"),
        ("word", 4, "word is from 0 to 3, not 4"),
        ("z", 1.01, "a gate is from 0 to 1, not 1.01"),
        ("r", -0.5, "a gate is from 0 to 1, not -0.5"),
        ("r", math.nan, "r.* a finite number, not the float nan"),
    ],
)
