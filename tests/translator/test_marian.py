"""A Marian in our own modules beside `transformers` and SentencePiece: random weights, and pieces of our own corpus.

Published weights were not at hand. So every tensor is random, biases, norms and `final_logits_bias` among them: one
that is forgotten, or put in a wrong place, changes the logits.
"""

import functools
import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import MarianConfig, MarianMTModel, MarianTokenizer

from fuzzing.pieces import trained
from seqlearn.data.corpus import builtin
from seqlearn.data.text import UNK, Language, UnigramTokenizer, Vocab
from seqlearn.data.unigram import Unigram
from seqlearn.search.beam import beam_search
from seqlearn.search.fast_step import fast_step
from seqlearn.search.lengths import length_average
from seqlearn.translator.translator import Translator
from seqlearn.views.attention.attention_view import AttentionView
from seqlearn.views.live.weights import live_model
from seqlearn.views.translator.translator_view import TranslatorView

PRETRAINED = Path(__file__).parents[2] / "seqlearn" / "pretrained" / "transformer"
WIDTH, FFN, HEADS, LAYERS = 16, 24, 2, 2
SENTENCES = list(dict.fromkeys(pair.source for pair in builtin(400).pairs))[:100]
SIDES = {"source.spm": "source", "target.spm": "target"}


@functools.cache
def vocabulary() -> dict[str, int]:
    """As Marian's: the end and the unknown first, the padding last. A few pieces are missing, as in published ones."""
    pieces = [piece for side in SIDES.values() for piece, _ in Unigram.read(trained(side=side)).pieces]
    return {token: i for i, token in enumerate(dict.fromkeys(["</s>", "<unk>", ">>fra<<", *pieces[:-9], "<pad>"]))}


def write(folder, seed=0, std=0.5, ending=2.0, **options) -> MarianMTModel:
    """Write the folder of a random model, and return theirs."""
    ids = vocabulary()
    sizes = {f"{side}_{name}": value for side in ("encoder", "decoder") for name, value in
             (("layers", LAYERS), ("attention_heads", HEADS), ("ffn_dim", FFN))}  # fmt: skip
    config = MarianConfig(**{
        "vocab_size": len(ids), "d_model": WIDTH, **sizes, "activation_function": "swish", "scale_embedding": True,
        "max_position_embeddings": 64, "pad_token_id": ids["<pad>"], "eos_token_id": 0, "forced_eos_token_id": None,
        "decoder_start_token_id": ids["<pad>"], **options,
    })  # fmt: skip
    torch.manual_seed(seed)
    theirs = MarianMTModel(config).eval().requires_grad_(False)
    for name, weight in theirs.named_parameters():
        if "positions" not in name:
            torch.nn.init.normal_(weight, float("norm.weight" in name), std if weight.ndim > 1 else 0.3)
    theirs.final_logits_bias.normal_(std=0.5)
    theirs.final_logits_bias[0, 0] += ending
    theirs.save_pretrained(folder)
    for name, side in SIDES.items():
        (folder / name).write_bytes(trained(side=side))
    (folder / "vocab.json").write_text(json.dumps(ids), encoding="utf-8")
    return theirs


@pytest.fixture(scope="module")
def given(tmp_path_factory):
    """A folder, their model of it, ours, and for each of our ids theirs."""
    folder = tmp_path_factory.mktemp("opus-mt")
    theirs = write(folder)
    ours = Translator.from_marian(folder, "cpu")
    names = {"<bos>": "<pad>", "<eos>": "</s>"}
    ids = [vocabulary()[names.get(token, token)] for token in ours.source.vocab.tokens]
    return SimpleNamespace(folder=folder, theirs=theirs, ours=ours, ids=torch.tensor(ids))


def logits_of(theirs, ours, ids, length=12):
    """Logits of both on random sources, two of them padded; ours without <bos>, and theirs in our order."""
    size = len(ids)
    lens = torch.tensor([length, 7, 1])
    source, tokens = torch.randint(3, size, (3, length)), torch.randint(3, size, (3, length))
    source[torch.arange(length) >= lens.unsqueeze(1)], tokens[:, 0] = 0, 1
    mask = (torch.arange(length) < lens.unsqueeze(1)).long()
    with torch.inference_mode():
        expected = theirs(input_ids=ids[source], attention_mask=mask, decoder_input_ids=ids[tokens]).logits
        found = ours.model(source, lens, tokens)
    assert found[..., 1].max() < -9000, "<bos> is never written"
    rest = torch.arange(size) != 1
    return found[..., rest], expected[..., ids][..., rest]


@pytest.mark.parametrize("activation", ["swish", "silu", "relu", "gelu"])
def test_the_logits_of_a_marian(given, tmp_path, activation):
    theirs = write(tmp_path, seed=1, activation_function=activation)
    found, expected = logits_of(theirs, Translator.from_marian(tmp_path, "cpu"), given.ids)
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=0)
    assert expected.std() > 1, "so small logits would prove nothing"
    mine = sum(weight.numel() for weight in Translator.from_marian(tmp_path, "cpu").model.parameters())
    tables = 2 * 64 * WIDTH  # their positions
    count = sum(weight.numel() for weight in theirs.parameters()) - tables + len(vocabulary())  # and the last bias
    assert mine == count + WIDTH + 1, "one token more, <bos>"


def test_another_start_and_other_names(given, tmp_path):
    """Files name the one matrix in several ways, some hold the positions, and half precision is usual."""
    theirs = write(tmp_path, decoder_start_token_id=5)
    state = load_file(tmp_path / "model.safetensors")
    matrix = state.pop("model.shared.weight")
    names = ["lm_head", "model.encoder.embed_tokens", "model.decoder.embed_tokens"]
    state |= {f"{name}.weight": matrix.clone() for name in names}
    state["model.encoder.embed_positions.weight"] = theirs.model.encoder.embed_positions.weight.half()
    save_file(state, tmp_path / "model.safetensors")
    ids = given.ids.clone()
    ids[1] = 5
    torch.testing.assert_close(*logits_of(theirs, Translator.from_marian(tmp_path, "cpu"), ids), atol=1e-4, rtol=0)


def test_beam_search_writes_what_generate_writes(given, tmp_path):
    """Their definition is ours with these settings: see `tests/search/test_search_parity.py`."""
    theirs = write(tmp_path, std=1.0, ending=6.0)
    sides, ids = Translator.from_marian(tmp_path, "cpu"), given.ids
    every = [torch.tensor(sides.source.encode(sentence)) for sentence in SENTENCES]
    lens = torch.tensor([len(one) for one in every])
    source = torch.nn.utils.rnn.pad_sequence(every, batch_first=True)
    mask = (torch.arange(source.shape[1]) < lens.unsqueeze(1)).long()
    written = theirs.generate(
        ids[source], attention_mask=mask, num_beams=4, max_new_tokens=20, do_sample=False, early_stopping="never",
        length_penalty=1.0, bad_words_ids=[[vocabulary()["<pad>"]]],
    )  # fmt: skip
    vocab = sides.target.vocab
    found = beam_search(
        sides.model, source, lens, bos=vocab.bos, eos=vocab.eos, forbidden=(vocab.pad, vocab.bos), width=4,
        length_penalty=length_average, max_length=20, refill=True,
    )  # fmt: skip
    for line, [best] in zip(written[:, 1:].tolist(), found, strict=True):
        tokens = line[: line.index(0)] if 0 in line else line
        assert ids[best.tokens].tolist() == tokens and best.finished == (0 in line)
    assert len({len(best.tokens) for [best] in found}) > 5, "some sentences end, early or late, and some are cut"
    assert len({tuple(best.tokens) for [best] in found}) > 50


def test_search_takes_the_fast_step(given):
    model = given.ours.model
    with torch.no_grad():
        state = model.decoder.init_state(model.encoder(torch.tensor([[5, 6, 2]]), torch.tensor([3])))
        assert fast_step(model.decoder, state) is not None


TEXTS = [
    *SENTENCES, "", " ", "The CAT sleeps.", ">>fra<< the cat", ">>fra<<the cat", ">>xyz<< the cat", ">> the cat",
    "½ ﬁne\u3000e\u0301", "a >>fra<< b", "日本語 the 日本",
]  # fmt: skip


def test_texts_are_split_as_their_tokenizer_splits_them(given):
    theirs = MarianTokenizer(*(str(given.folder / name) for name in SIDES), str(given.folder / "vocab.json"))
    for text in TEXTS:
        ids = given.ours.source.encode(text)
        assert given.ids[ids].tolist() == theirs(text)["input_ids"], text
        assert given.ids[given.ours.target.encode(text)].tolist() == theirs(text_target=text)["input_ids"], text
        if given.ours.source.vocab.unk not in ids:
            assert given.ours.target.decode(ids) == theirs.decode(given.ids[ids], skip_special_tokens=True), text


def test_a_text_is_never_taken_for_a_special_token(given):
    for text in ("<pad>", "<eos> <bos>", "</s>", "<unk>"):
        assert not {0, 1, 2} & set(given.ours.source.encode(text)[:-1])
    chinese = UnigramTokenizer(Unigram([("▁", -1.0), ("中", -2.0)]))  # to which all of "<pad>" is one unknown piece
    assert chinese.tokenize("<pad>") == ["▁", UNK] and chinese.tokenize("<x>") == ["▁", "<x>"]


@pytest.mark.slow
def test_a_saved_translator_is_the_same(given, tmp_path):
    given.ours.save(tmp_path)
    again = Translator.load(tmp_path, "cpu")
    for language, other in ((again.source, given.ours.source), (again.target, given.ours.target)):
        assert language.to_json() == other.to_json() and language.vocab.tokens == other.vocab.tokens
        assert [language.encode(text) for text in TEXTS] == [other.encode(text) for text in TEXTS]
    assert again.translate_all(TEXTS, beam=2) == given.ours.translate_all(TEXTS, beam=2)
    assert again.config == given.ours.config and again.config["sizes"]["activation"] == "swish"
    weights = [model.state_dict() for model in (again.model, given.ours.model)]
    assert all(torch.equal(weights[0][name], weight) for name, weight in weights[1].items())
    assert again.model.encoder.embedding.weight is again.model.decoder.dense.weight


def test_the_views_show_it(given):
    translator, sentence = given.ours, SENTENCES[0]
    view = TranslatorView(translator, sentence, beam=2)
    assert view.result["source"] == translator.source.tokenizer.tokenize(sentence)
    assert live_model(translator) is None and "pageModel" not in view.to_html(), "a page has no such model"
    maps = [translator.attend(sentence, kind=kind) for kind in translator.attention_kinds]
    assert len(AttentionView(*maps).data["maps"]) == 3


def test_a_folder_without_an_activation_has_relu():
    """All that were saved before there was a choice."""
    model = Translator.pretrained("transformer", "cpu")
    assert "activation" not in json.loads((PRETRAINED / "config.json").read_text(encoding="utf-8"))["sizes"]
    assert model.model.encoder.config.activation == model.config["sizes"]["activation"] == "relu"


def changed_config(**changes):
    def change(folder):
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        (folder / "config.json").write_text(json.dumps(config | changes), encoding="utf-8")

    return change


def changed_weights(change):
    def changed(folder):
        state = load_file(folder / "model.safetensors")
        change(state)
        save_file({name: weight.contiguous() for name, weight in state.items()}, folder / "model.safetensors")

    return changed


def content(name, text):
    return lambda folder: (folder / name).write_bytes(text)


def piece(score):
    """A model of one piece, "a", with these bytes in the place of its score."""
    return b"\x0a" + bytes([3 + len(score)]) + b"\x0a\x01a" + score


def a_pickle_alone(folder):
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")


NORM, HEAD = "model.decoder.layers.1.final_layer_norm.bias", "lm_head.weight"
REFUSED = {
    "normalize_before of this model is True; our model needs False": changed_config(normalize_before=True),
    "scale_embedding of this model is False; our": changed_config(scale_embedding=False),
    "the activation of this model is 'gelu_new'; our model has relu": changed_config(activation_function="gelu_new"),
    "tie_word_embeddings of this model is False": changed_config(tie_word_embeddings=False),
    "share_encoder_decoder_embeddings of this model": changed_config(share_encoder_decoder_embeddings=False),
    "decoder_vocab_size of this model is 7": changed_config(decoder_vocab_size=7),
    "decoder_layers of this model is 1; our model needs 2": changed_config(decoder_layers=1),
    "model_type of this model is 'bart'; our model needs 'marian'": changed_config(model_type="bart"),
    "num_hiddens is int, not '16'": changed_config(d_model="16"),
    "num_layers is from 1 to 100, not 10": changed_config(encoder_layers=1000000, decoder_layers=1000000),
    "vocab.json has [0-9]+ tokens, and the model 99": changed_config(vocab_size=99),
    "the ids of padding, start, end and <unk> in this model are None": changed_config(pad_token_id=None),
    "two of <pad>, </s> and <unk> have the same id": changed_config(pad_token_id=0),
    "is \\([0-9]+, 16\\); our model needs \\([0-9]+, 32\\)": changed_config(d_model=32),
    "our model has no place for model.[a-z]+.layers.1": changed_config(encoder_layers=1, decoder_layers=1),
    f"this model has no {NORM}": changed_weights(lambda state: state.pop(NORM)),
    f"{NORM} of this model is \\(15,\\); our model needs \\(16,\\)": changed_weights(
        lambda state: state.update({NORM: state[NORM][1:]})
    ),
    "our model has no place for model.x": changed_weights(lambda state: state.update({"model.x": torch.ones(1)})),
    f"model.shared.weight and {HEAD} of this model differ": changed_weights(
        lambda state: state.update({HEAD: state["model.shared.weight"] + 1})
    ),
    "embed_positions.weight of this model is not a table of sinusoids": changed_weights(
        lambda state: state.update({"model.encoder.embed_positions.weight": torch.ones(64, WIDTH)})
    ),
    "embed_positions.weight of this model is \\(\\); our model needs": changed_weights(
        lambda state: state.update({"model.encoder.embed_positions.weight": torch.ones(())})
    ),
    f"{NORM} of this model holds torch.complex64; our model needs float32": changed_weights(
        lambda state: state.update({NORM: state[NORM] * 1j})
    ),
    f"{NORM} of this model holds torch.int8": changed_weights(lambda state: state.update({NORM: state[NORM].char()})),
    f"{NORM} holds torch.float8_e4m3fn, and a number": changed_weights(
        lambda state: state.update({NORM: state[NORM].to(torch.float8_e4m3fn)})
    ),
    "d_model of this model is 2147483648, and its weights": changed_config(d_model=1 << 31),
    "d_model of this model is 1000000000000000000000000000000": changed_config(d_model=10**30),
    "encoder_ffn_dim of this model is 9999": changed_config(encoder_ffn_dim=9999, decoder_ffn_dim=9999),
    "target.spm cannot be used: it is damaged: a whole number": content("target.spm", b"\x0a" + b"\xff" * 3_000_000),
    "target.spm cannot be used: it is damaged .*a field is b'abcd": content("target.spm", piece(b"\x12\x04abcd")),
    "target.spm cannot be used: it is damaged .*a field is 7": content("target.spm", piece(b"\x10\x07")),
    "source.spm cannot be used: it is damaged .*a field is 9": content("source.spm", b"\x1a\x02\x10\x09"),
    "source.spm cannot be used: it is damaged .*UnicodeDecode": content("source.spm", b"\x0a\x03\x0a\x01\xff"),
    "holds NaN or infinity": changed_weights(lambda state: state[NORM].fill_(torch.nan)),
    "is not a whole safetensors file": content("model.safetensors", b"no weights"),
    "config.json is damaged": content("config.json", b"{"),
    "vocab.json is damaged: it has no names": content("vocab.json", b"[]"),
    "source.spm cannot be used: it is damaged": content("source.spm", trained()[:-1000]),
    "target.spm cannot be used: it has no pieces": content("target.spm", b""),
    "has its weights in pytorch_model.bin alone, which can run programs": a_pickle_alone,
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_cannot_be_held_is_refused_in_one_sentence(given, tmp_path, message):
    folder = shutil.copytree(given.folder, tmp_path / "copy")
    REFUSED[message](folder)
    with pytest.raises(ValueError, match=message) as caught:
        Translator.from_marian(folder)
    assert str(folder) in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["config.json", "vocab.json", *SIDES, "model.safetensors"])
def test_a_missing_file_is_named(given, tmp_path, name):
    folder = shutil.copytree(given.folder, tmp_path / "copy")
    (folder / name).unlink()
    with pytest.raises(FileNotFoundError, match=f"there is no {name} in it"):
        Translator.from_marian(folder)


def test_ids_that_leave_a_gap_are_refused(given, tmp_path):
    folder = shutil.copytree(given.folder, tmp_path / "copy")
    (folder / "vocab.json").write_text(json.dumps(vocabulary() | {">>fra<<": 3}), encoding="utf-8")
    with pytest.raises(ValueError, match="does not have a token for each of the"):
        Translator.from_marian(folder)
    content("vocab.json", json.dumps({{">>fra<<": "<bos>"}.get(k, k): i for k, i in vocabulary().items()}).encode())(
        folder
    )
    with pytest.raises(ValueError, match="has one of <pad>, <bos>, <eos>, <unk> as the token of another id"):
        Translator.from_marian(folder)


def test_languages_are_read_where_they_are_said(given, tmp_path):
    assert given.ours.source.tokenizer.language == ""
    folder = shutil.copytree(given.folder, tmp_path / "copy")
    content("tokenizer_config.json", b'{"source_lang": "en", "target_lang": "fr"}')(folder)
    assert "en -> fr" in repr(Translator.from_marian(folder))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model_type": "bpe"}, "it is not a unigram model"),
        ({"byte_fallback": True}, "it has a piece of type 6: bytes"),
        ({"user_defined_symbols": "<x>"}, "it has a piece of type 4: bytes, or a symbol that somebody defined"),
        ({"add_dummy_prefix": False}, "its setting add_dummy_prefix is off"),
        ({"remove_extra_whitespaces": False}, "its setting remove_extra_whitespaces is off"),
    ],
)
def test_pieces_of_another_kind_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        Unigram.read(trained(size=350, **options))


def test_a_damaged_language_is_refused(given):
    stored = json.loads(given.ours.source.to_json())
    for change in ({"pieces": []}, {"pieces": [["a", None]]}, {"characters": "AAAA"[:3]}, {"characters": "/wAAAA=="}):
        with pytest.raises(ValueError, match="the text is damaged"):
            Language.from_json(json.dumps(stored | change))


def test_a_model_of_several_languages_asks_for_a_code(given, recwarn):
    """The wrong language would come, without a word."""
    given.ours.translate_all(["the cat", ">>fra<< the dog"], max_length=3)
    assert not recwarn.list, "one code is no choice"
    source = Language(given.ours.source.tokenizer, Vocab.of([*given.ours.source.vocab.tokens[4:-1], ">>por<<"]))
    several = Translator(given.ours.model, source, given.ours.target, device="cpu")
    several.translate_all([">>fra<< the cat", ">>por<<the dog"], max_length=3)
    assert not recwarn.list
    with pytest.warns(UserWarning, match="'>>ptb<< the dog' begins with no code of the .* write: >>fra<<, >>por<<"):
        several.translate_all([">>fra<< the cat", ">>ptb<< the dog", "x"], max_length=3)
