"""What JavaScript computes beside Python, in the views: the same numbers, pieces, words and programs."""

import math

import pytest
import torch
from hostile import HOSTILE
from views.test_gru_view import inputs, network
from views.test_pieces_view import MERGES, SEVEN
from views.test_sampling_view import MANY, SETTINGS, by_definition

from seqlearn.nn.kernels import KERNELS, KernelRegression
from seqlearn.translator.translator import Translator
from seqlearn.translator.whatif import change_of, what_if
from seqlearn.views import AttentionSteps, GruView, PiecesView, SamplingView, TranslatorView
from seqlearn.views.shared.arguments import as_text
from seqlearn.views.shared.packing import unpack

pytestmark = pytest.mark.usefixtures("as_a_user")
SCRIPT = """
import { gruStep } from "./gru/gru_view.js";
import { nextDistribution } from "./live/sampling.js";
import { after } from "./pieces/pieces_view.js";
import { pythonCode, swapped } from "./shared/changes.js";
import { kernelRegression } from "./shared/kernels.js";
import { changed } from "./steps/steps_numbers.js";
import { nearest } from "./translator/translator_known.js";
const tensor = ([shape, values]) => ({ shape, values, at: (i, j) => values[i * shape[1] + j] });
const changedSteps = (data, packed, allowed, changes) => {
  const matrices = Object.fromEntries(packed.map(([name, one]) => [name, { numbers: tensor(one) }]));
  const { matrices: now } = changed({ ...data, matrices, allowed: tensor(allowed) }, changes);
  return Object.fromEntries(Object.entries(now).map(([name, { numbers }]) => [name, numbers.values]));
};
"""
APPLE = "The girl washes the red apple and eats it."


@pytest.fixture(scope="module")
def transformer():
    return Translator.pretrained("transformer", "cpu")


def shaped(tensor):
    return list(tensor.shape), tensor.nan_to_num().flatten().tolist()  # JSON has no -inf


# ---- Numbers --------------------------------------------------------------------------------------------------------


def test_every_step_of_a_gru_is_that_of_python_and_of_torch(node):
    gru, vectors = network(hiddens=7), inputs(6)
    shown = GruView(None, gru, vectors)
    data = {name: unpack(shown.data[name]) for name in shown.data if name != "tokens"}
    cells = [
        {"before": float(data["states"][i, j]), "z": float(data["updates"][i, j]), "r": float(data["resets"][i, j]),
         "fromWord": float(data["from_word"][i, j]), "fromState": float(data["from_state"][i, j])}
        for i in range(6) for j in range(7)
    ]  # fmt: skip
    found = torch.tensor(node("(cells) => cells.map((cell) => gruStep(cell).after)", cells)).view(6, 7)
    with torch.no_grad():
        torch.testing.assert_close(found, gru(vectors[None])[0][0], atol=1e-6, rtol=0)
    for shown.word in range(6):
        for shown.unit in range(7):
            assert shown.step().state == pytest.approx(float(found[shown.word, shown.unit]), abs=1e-6)


@pytest.mark.parametrize("name", MANY)
def test_every_probability_is_that_of_the_definition_and_of_python(node, name):
    shown, logits = SamplingView(MANY[name], range(len(MANY[name]))), MANY[name].tolist()
    for setting in SETTINGS:
        probs = node("nextDistribution", logits, *setting)["probs"]
        shown.temperature, shown.top_k, shown.top_p = setting
        assert probs == pytest.approx(by_definition(logits, *setting), abs=1e-9), setting
        assert probs == pytest.approx(shown.probabilities().tolist(), abs=1e-9), setting


@pytest.mark.parametrize("scale", [None, 3.0])
def test_changed_numbers_of_an_attention_are_those_of_pytorch(node, scale):
    queries, keys, values = torch.randn(4, 3), torch.randn(5, 3), 3 * torch.randn(5, 2)
    mask = torch.rand(4, 5) < 0.7
    mask[2] = False
    view = AttentionSteps(queries, keys, values, mask, scale=scale)
    view.changes = [["queries", 1, 2, 9], ["keys", 0, 4, -1.5], ["values", 3, 1, 0.1], ["queries", 1, 2, -2.3]]
    data = {"scale": view.data["scale"], "steps": []}
    packed = [(name, shaped(unpack(one["numbers"]))) for name, one in view.data["matrices"].items()]
    answers = node("changedSteps", data, packed, shaped(unpack(view.data["allowed"])), view.changes)
    queries, keys, values = queries.double(), keys.double(), values.double()
    queries[1, 2], keys[4, 0], values[3, 1] = -2.3, -1.5, 0.1
    scores = queries @ keys.T
    scaled = scores * (scale or 3**-0.5)
    masked = scaled.where(mask, -math.inf)
    weights = masked.softmax(-1).nan_to_num()
    right = {"queries": queries, "keys": keys.T, "values": values, "scores": scores, "scaled": scaled, "mask": mask}
    right |= {"masked": masked, "weights": weights, "context": weights @ values}
    assert set(answers) == set(right)
    for name, numbers in right.items():
        found = torch.tensor(list(map(float, answers[name]))).double().view(numbers.shape)
        torch.testing.assert_close(found, numbers.double(), atol=1e-6, rtol=1e-6)
        torch.testing.assert_close(view.tensor(name).double(), numbers.double(), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("width", [0.05, 0.7, 20.0])
@pytest.mark.parametrize("name", KERNELS)
def test_the_kernels_are_those_of_the_package(node, name, width):
    keys, values = torch.rand(30).double().sort()[0] * 9, torch.randn(30).double()
    queries = torch.cat([torch.linspace(-1, 10, 40), torch.tensor([300.0])]).double()
    found = node("kernelRegression", name, width, queries.tolist(), torch.stack([keys, values], -1).tolist())
    model, close = KernelRegression(name, width).double(), {"atol": 1e-6, "rtol": 1e-5}
    torch.testing.assert_close(torch.tensor(found["weights"]).double(), model.weights(queries, keys), **close)
    predictions = torch.tensor([float(x) for x in found["predictions"]]).double().nan_to_num()
    torch.testing.assert_close(predictions, model(queries, keys, values), **close)


# ---- Words ----------------------------------------------------------------------------------------------------------


def test_the_pieces_are_those_of_python(node):
    words = [*map(as_text, HOSTILE), *SEVEN, "eaeae", "inging"]
    merges = [*MERGES, ("e", "i"), ("<", "s"), ("a", "a"), ("ing", "ing"), ("x", "x"), ("xx", "xx")]
    shown = PiecesView(words, merges, joins=len(merges))
    found = node("(words, merges) => words.map((word) => after(word, merges))", words, merges)
    assert found == [shown.pieces(word) for word in words]


@pytest.mark.parametrize(
    ("sentence", "index", "expected"),
    [
        (APPLE, 3, "The girl washes a red apple and eats it."),
        (APPLE, 0, "A girl washes the red apple and eats it."),
        ("This is the cat.", 1, "This a the cat."),  # "is" is in an earlier word, too
        ("This İs the cat.", 1, "this a the cat ."),  # İ has two letters in lower case
    ],
)
def test_of_two_equal_words_the_right_one_is_swapped(node, transformer, sentence, index, expected):
    assert node("swapped", sentence, transformer.source.tokenizer.tokenize(sentence), index, "a") == expected


@pytest.mark.parametrize(
    ("sentence", "offer"),
    [
        ("The girl eats the fish.", None),  # "find" is nearer than any noun
        ("The girl will fint it.", "find"),
        ("The girl eats the red pead.", "pear"),  # and not "read"
        ("The girl eats the ret apple.", "red"),
    ],
)
def test_a_word_for_an_unknown_one_is_no_verb_after_an_article(node, transformer, sentence, offer):
    view = TranslatorView(transformer, sentence)
    source, data = view.result["source"], {name: view.data.get(name) for name in ("kinds", "vocab")}
    *_, unknown = (i for i, is_unknown in enumerate(view.result["unknown"]) if is_unknown)
    assert node("nearest", source, unknown, data) == offer


@pytest.mark.parametrize(
    ("prefix", "edits"),
    [
        ([], []),
        (["le"], []),
        ([], [["ablate", "cross", 0, None], ["ablate", "encoder", 1, 0], ["ablate", "encoder", 1, 2]]),
        (["la", "fille"], [["weight", "cross", None, None, 3, 2, 0.5], ["ablate", "causal", 0, 1]]),
    ],
)
def test_the_program_says_the_same(node, transformer, capsys, prefix, edits):
    exec(
        node("pythonCode", {"sentence": APPLE, "beam": 4, "prefix": prefix, "edits": edits}),
        {"translator": transformer},
    )
    right = what_if(transformer, prefix, map(change_of, edits)).translate(APPLE, beam=4)
    assert capsys.readouterr().out.strip() == right
