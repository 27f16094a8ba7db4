"""What a caller gives wrongly gets one sentence, with the value; and what is as good as a tensor is taken."""

import re

import numpy as np
import pytest
import torch

from seqlearn import AttentionMap, Translator, all_heads, beam_search, greedy_search, heatmap, sample
from seqlearn.data.text import Language
from seqlearn.nn.attention import AdditiveAttention, BilinearAttention, DotProductAttention, MultiHeadAttention
from seqlearn.nn.decoder_only import DecoderOnlyConfig, GroupedQueryAttention, RMSNorm, decoder_only
from seqlearn.nn.kernels import KernelRegression
from seqlearn.nn.masking import as_mask, masked_softmax
from seqlearn.nn.positions import LearnedPositions, PositionalEncoding, RotaryPositions, sinusoids
from seqlearn.nn.seq2seq import BahdanauConfig, Seq2SeqConfig, bahdanau, seq2seq
from seqlearn.nn.transformer import TransformerConfig, transformer

pytestmark = pytest.mark.usefixtures("as_a_user")

LANGUAGE = Language.learn("", ["red blue one", "three red one"])
IDS = {"bos": 1, "eos": 2}
SOURCE, LENS = torch.tensor([[5, 6, 2], [4, 2, 0]]), torch.tensor([3, 2])
MODELS = {
    bahdanau: BahdanauConfig(),
    seq2seq: Seq2SeqConfig(),
    transformer: TransformerConfig(),
    decoder_only: DecoderOnlyConfig(),
}


@pytest.fixture(scope="module")
def translator():
    torch.manual_seed(0)
    return Translator.new("bahdanau", LANGUAGE, LANGUAGE, embed_size=4, num_hiddens=4)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (3, "sentences are a list of str, not 3 (int)"),
        (None, "sentences are a list of str, not None (NoneType)"),
        (b"red", "sentences are a list of str, not b'red' (bytes)"),
        (["red", 3], "a sentence is a str, and sentence 1 is 3 (int)"),
        ([b"red"], "a sentence is a str, and sentence 0 is b'red' (bytes)"),
    ],
)
def test_only_text_is_translated(translator, given, message):
    with pytest.raises(TypeError, match=re.escape(message)):
        translator.translate_all(given)


def test_one_text_is_not_taken_for_its_letters(translator):
    with pytest.raises(TypeError, match=r"sentences are a list of str, not 'red blue' \(str\)"):
        translator.search("red blue")
    with pytest.raises(TypeError, match=r"a text is a str, not 3 \(int\)"):
        translator.unknown(3)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"beam": "4"}, TypeError, "beam is a whole number, not '4' (str)"),
        ({"beam": 4.0}, TypeError, "beam is a whole number, not 4.0 (float)"),
        ({"beam": 0}, ValueError, "beam is at least 1, not 0"),
        ({"beam": 2, "n_best": "2"}, TypeError, "n_best is a whole number, not '2' (str)"),
        ({"beam": 2, "n_best": 0}, ValueError, "n_best is at least 1, not 0"),
        ({"batch_size": 0}, ValueError, "batch_size is at least 1, not 0"),
        ({"batch_size": None}, TypeError, "batch_size is a whole number, not None (NoneType)"),
        ({"max_length": "9"}, TypeError, "max_length is a whole number, not '9' (str)"),
        ({"max_length": -1}, ValueError, "max_length is at least 0, not -1"),
    ],
)
def test_numbers_of_a_search(translator, options, error, message):
    with pytest.raises(error, match=re.escape(message)):
        translator.search(["red"], **options)


def test_whole_numbers_of_other_libraries_are_taken(translator):
    expected = translator.translate_all(["red blue"], beam=2)
    assert translator.translate_all(["red blue"], beam=np.int64(2)) == expected
    assert translator.translate_all(["red blue"], beam=torch.tensor(2)) == expected


@pytest.mark.parametrize("beam", [1, 2])
def test_a_line_without_words_has_an_empty_translation(translator, beam):
    """As on the command line; the other lines stay where they are."""
    assert translator.translate("", beam=beam) == translator.translate("  \t", beam=beam) == ""
    (alone,) = translator.search(["red blue"], beam=beam)
    empty, between, spaces = translator.search(["", "red blue", " "], beam=beam)
    assert between == alone and empty == spaces and empty[0].tokens == [] and empty[0].score == 0
    assert translator.translate_n_best(["", "red"], 2, beam=2)[0] == [""]


LISTS = [
    ([2, 4], torch.tensor([2, 4])),
    (np.array([0, 3], dtype=np.int32), torch.tensor([0, 3])),
    ([[1, 2, 3], [4, 0, 1]], torch.tensor([[1, 2, 3], [4, 0, 1]])),
    (np.eye(3, 4, dtype=bool)[None], torch.eye(3, 4, dtype=torch.bool)[None]),
    ([[[True, False, True, False]] * 3], torch.tensor([[[True, False, True, False]] * 3])),
]


@pytest.mark.parametrize(("given", "tensor"), LISTS)
def test_a_mask_may_be_an_array_or_a_list(given, tensor):
    scores = torch.randn(2, 3, 4)
    assert torch.equal(masked_softmax(scores, given), masked_softmax(scores, tensor))
    vectors = torch.randn(2, 3, 5), torch.randn(2, 4, 5), torch.randn(2, 4, 6)
    assert torch.equal(DotProductAttention()(*vectors, given), DotProductAttention()(*vectors, tensor))


@pytest.mark.parametrize(
    ("lengths", "wrong"), [([-1, 9], -1), ([0, 5], 5), ([[1, 2, 3], [4, 5, 0]], 5), ([[1, 2, 3], [-2, 0, 0]], -2)]
)
@pytest.mark.parametrize("dtype", [torch.int64, torch.int8])
def test_lengths_are_between_0_and_the_number_of_keys(lengths, wrong, dtype):
    with pytest.raises(ValueError, match=f"valid lengths over the keys are from 0 to 4, not {wrong}"):
        as_mask(torch.tensor(lengths, dtype=dtype), (2, 3, 4))
    assert as_mask(torch.tensor([0, 4], dtype=dtype), (2, 3, 4)).sum() == 4


@pytest.mark.parametrize("mask", ["no", [[1, 2], [3]], {"a": 1}, object()])
def test_what_is_no_mask_is_named(mask):
    with pytest.raises(TypeError, match="mask is a tensor, an array or a list of numbers, not"):
        masked_softmax(torch.zeros(2, 3, 4), mask)


@pytest.mark.parametrize("scores", [[[1.0, 2.0]], np.zeros((1, 2))])
def test_scores_are_a_tensor(scores):
    message = f"scores: expected a torch.Tensor, not a value of type {type(scores).__name__}; torch.as_tensor makes"
    with pytest.raises(TypeError, match=message):
        masked_softmax(scores)


Q, K, V = torch.randn(2, 3, 8), torch.randn(2, 4, 6), torch.randn(2, 4, 5)
ONE_SIZE = "a dot product needs queries and keys of one size, not 8 and 6"


@pytest.mark.parametrize(
    ("layer", "vectors", "message"),
    [
        (DotProductAttention(), (Q, K, V), ONE_SIZE),
        (DotProductAttention(), (Q[:, None], K[:, None], V[:, None]), ONE_SIZE),
        (DotProductAttention(), (Q, K[..., :1].expand(2, 4, 8), V[:, 1:]), "there are 4 keys and 3 values"),
        (AdditiveAttention(7, 6, 4), (Q, K, V), "made for queries of size 7, not 8"),
        (AdditiveAttention(8, 7, 4), (Q, K, V), "made for keys of size 7, not 6"),
        (BilinearAttention(7, 6), (Q, K, V), "made for queries of size 7, not 8"),
        (BilinearAttention(8, 7), (Q, K, V), "made for keys of size 7, not 6"),
        (MultiHeadAttention(6, 2, value_size=5), (Q, K, V), "made for queries of size 6, not 8"),
        (MultiHeadAttention(8, 2, value_size=5), (Q, K, V), "made for keys of size 8, not 6"),
        (MultiHeadAttention(8, 2, key_size=6), (Q, K, V), "made for values of size 8, not 5"),
        (MultiHeadAttention(8, 2, key_size=6, value_size=5), (Q, K, V[:, 1:]), "there are 4 keys and 3 values"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, torch.nn.Module) else None,
)
def test_sizes_that_do_not_fit_are_named(layer, vectors, message):
    with pytest.raises(ValueError, match=message):
        layer(*vectors)


ONE = torch.ones(1, 2, 1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: RMSNorm(4)(ONE), "this layer was made for vectors of size 4, not 1"),
        (lambda: PositionalEncoding(4)(ONE), "this layer was made for embeddings of size 4, not 1"),
        (lambda: LearnedPositions(3, 4)(ONE), "this layer was made for embeddings of size 4, not 1"),
        (lambda: RotaryPositions(4)(torch.ones(1, 1, 2, 2)), "this layer was made for vectors of size 4, not 2"),
        (lambda: sinusoids(2, 4, base=0), "the base of the frequencies is a number above 0, not 0"),
        (lambda: KernelRegression()(Q[0, 0], Q[0, 1], Q[0, 2, :1]), r"each key has one value: keys are \(8,\), values"),
        (lambda: MultiHeadAttention(6, 1.5), "num_heads is a whole number, not 1.5"),
        (lambda: MultiHeadAttention(6, 2, query_size=0), "query_size is at least 1, not 0"),
        (lambda: GroupedQueryAttention(6, 3, 1.5), "num_kv_heads is a whole number, not 1.5"),
        (lambda: MultiHeadAttention(8, 1)(Q[0], Q[0], Q[0]), r"queries|keys are \(batch, keys, size\), not \(3, 8\)"),
        (lambda: DotProductAttention()(Q[0], Q[0], Q[0]), r"queries are \(batch, queries, size\), not \(3, 8\)"),
        (lambda: DotProductAttention()(Q, Q[:1], Q), r"the same sentences and heads, not \[\(2,\), \(1,\), \(2,\)\]"),
        (lambda: AdditiveAttention(8, 8, 4)(Q, Q, Q[:, 1:]), "there are 3 keys and 2 values"),
    ],
)
def test_nothing_is_stretched_silently(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call()


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("layer", [DotProductAttention(), BilinearAttention(8, 8), MultiHeadAttention(8, 2)])
def test_vectors_are_tensors(layer, place):
    vectors = [Q, Q, Q]
    vectors[place] = Q.numpy()
    name = ("queries", "keys", "values")[place]
    with pytest.raises(TypeError, match=f"{name}: expected a torch.Tensor, not a value of type ndarray"):
        layer(*vectors)


@pytest.mark.parametrize("build", MODELS)
@pytest.mark.parametrize(
    ("source", "lens", "error", "message"),
    [
        (SOURCE.float(), LENS, TypeError, "ids are whole numbers, not torch.float32"),
        (SOURCE + 8, LENS, ValueError, "the ids of a vocabulary of 9 tokens are from 0 to 8, not 14"),
        (SOURCE - 3, LENS, ValueError, "the ids of a vocabulary of 9 tokens are from 0 to 8, not -3"),
        (SOURCE, LENS + 1, ValueError, "the lengths of these sources are from 0 to 3, not 4"),
        (SOURCE, -LENS, ValueError, "the lengths of these sources are from 0 to 3, not -3"),
        (SOURCE, LENS.float(), TypeError, "the lengths of these sources are whole numbers, not torch.float32"),
        (SOURCE, LENS > 2, TypeError, "the lengths of these sources are whole numbers, not torch.bool"),
    ],
)
def test_an_encoder_names_ids_and_lengths_that_cannot_be(build, source, lens, error, message):
    with pytest.raises(error, match=message):
        build(9, 11, MODELS[build]).encoder(source, lens)


@pytest.mark.parametrize("build", MODELS)
def test_a_decoder_names_ids_that_cannot_be(build):
    model = build(9, 11, MODELS[build])
    with pytest.raises(ValueError, match="the ids of a vocabulary of 11 tokens are from 0 to 10, not 11"):
        model(SOURCE, LENS, torch.tensor([[1, 4], [1, 11]]))


@pytest.mark.parametrize("search", [greedy_search, beam_search, sample])
@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("m", SOURCE, LENS), TypeError, "a model has an encoder and a decoder .*; 'm' (str) has not"),
        ((None, [[5, 2]], LENS), TypeError, "source: expected a torch.Tensor, not a value of type list"),
        ((None, SOURCE, [3, 2]), TypeError, "source_lens: expected a torch.Tensor, not a value of type list"),
        (
            (None, SOURCE, LENS[:1]),
            ValueError,
            "source is (batch, source) and source_lens (batch,), not (2, 3) and (1,)",
        ),
        ((None, SOURCE[0], LENS), ValueError, "not (3,) and (2,)"),
        ((None, SOURCE, LENS + 4), ValueError, "the lengths of these sources are from 0 to 3, not 7"),
    ],
)
def test_what_cannot_be_searched_is_said(search, arguments, error, message):
    model = arguments[0] or transformer(9, 9, TransformerConfig(4, 4, 2, 1))
    with pytest.raises(error, match=re.escape(message).replace(r"\.\*", ".*")):
        search(model, *arguments[1:], **IDS)


@pytest.mark.parametrize(("width", "error"), [("4", TypeError), (0, ValueError)])
def test_the_width_of_a_beam_is_a_whole_number(width, error):
    with pytest.raises(error, match="width is "):
        beam_search(transformer(9, 9, TransformerConfig(4, 4, 2, 1)), SOURCE, LENS, **IDS, width=width)


@pytest.mark.parametrize("convert", [torch.Tensor.numpy, torch.Tensor.tolist])
def test_a_map_takes_arrays_and_lists(convert):
    weights, mask = torch.tensor([[1.0, 0.0], [0.25, 0.75]]), torch.ones(2, 2, dtype=torch.bool).tril()
    attention = AttentionMap(convert(weights), "ab", "cd", mask=convert(mask))
    assert torch.equal(attention.weights[0, 0], weights) and torch.equal(attention.mask, mask)


@pytest.mark.parametrize("draw", [heatmap, all_heads])
@pytest.mark.parametrize("given", [torch.ones(1, 1), np.ones((1, 1)), [[1.0]], "map"])
def test_only_a_map_is_drawn(draw, given):
    with pytest.raises(TypeError, match=rf"{draw.__name__} shows AttentionMap\(.*\), not a {type(given).__name__}"):
        draw(given)
