"""A translator that learnt to copy: translate, attend, evaluate, save, load."""

import copy
import json
import os
import random
import re
import time
from dataclasses import dataclass
from itertools import product

import pytest
import safetensors.torch
import torch

from seqlearn.data.corpus import Split, builtin
from seqlearn.data.pairs import Pair
from seqlearn.data.text import Language
from seqlearn.nn.contract import EncoderDecoder
from seqlearn.nn.recording import record_attention
from seqlearn.nn.seq2seq import BahdanauConfig, Seq2SeqConfig, bahdanau, seq2seq
from seqlearn.training import load_weights, storage
from seqlearn.training.storage import read_file, weights_of, write_file
from seqlearn.translator import models, saving
from seqlearn.translator.saving import MODEL
from seqlearn.translator.translator import Translator

pytestmark = pytest.mark.slow

WORDS = "red blue one three".split()
LINES = [" ".join(words) for length in (4, 3, 2) for words in product(WORDS, repeat=length)]
PAIRS = [Pair(line, line, alignment=tuple((i, i) for i in range(len(line.split())))) for line in LINES]
SPLIT = Split([pair for i, pair in enumerate(PAIRS) if i % 20 > 1], PAIRS[::20], PAIRS[1::20])


@pytest.fixture(scope="module")
def translator():
    trained = Translator.untrained("bahdanau", SPLIT, ("", ""), embed_size=32, num_hiddens=32, dropout=0.0)
    trained.fit(SPLIT, epochs=30, lr=0.01, batch_size=16, progress=False)
    return trained


@pytest.fixture(scope="module")
def transformer():
    sizes = {"num_hiddens": 32, "ffn_num_hiddens": 64, "num_heads": 2, "num_layers": 2, "dropout": 0.0}
    trained = Translator.untrained("transformer", SPLIT, ("", ""), **sizes)
    trained.fit(SPLIT, epochs=20, lr=0.003, batch_size=16, progress=False)
    return trained


@pytest.fixture(params=["translator", "transformer"])
def either(request):
    return request.getfixturevalue(request.param)


def test_translates_what_it_never_saw(either):
    translator = either
    sources = [pair.source for pair in SPLIT.test]
    assert translator.translate_all(sources) == sources
    assert translator.translate(sources[0]) == sources[0]
    assert translator.translate_all([]) == translator.search([]) == []
    assert isinstance(translator.translate(""), str)


def test_beams(either):
    sources = [pair.source for pair in SPLIT.test]
    assert either.translate_all(sources, beam=4) == sources
    assert either.translate(sources[0], beam=4) == sources[0]
    several = either.translate_n_best([*sources, "red"], 3, batch_size=3, beam=4)
    assert [best for best, *_ in several[:-1]] == sources and all(len(set(best)) == 3 for best in several)
    assert either.translate_n_best([*sources, "red"][::-1], 3, batch_size=64, beam=4) == several[::-1]
    found = either.search(sources, beam=4, n_best=2, length_penalty=lambda length: length)
    assert all(first.score >= second.score and first.penalty > 1 for first, second in found)
    for nothing in ("", "a word nobody knows"):
        assert isinstance(either.translate(nothing, beam=2), str)


def test_a_bar_for_long_work(translator, capsys, monkeypatch):
    monkeypatch.delenv("TQDM_DISABLE", raising=False)
    translator.translate_all(LINES[:9], progress=True)
    assert "0/9" in capsys.readouterr().err
    translator.translate_all(LINES[:9])
    assert capsys.readouterr().err == ""


def test_vocabulary_comes_from_training_data_only():
    held_out = Pair("secret", "geheim")
    split = Split(PAIRS[:50], [*PAIRS[50:55], held_out], [held_out])
    trained = Translator.untrained("bahdanau", split, ("", ""), embed_size=4, num_hiddens=4)
    trained.fit(split, epochs=1, lr=0.01, progress=False)
    assert "secret" not in trained.source.vocab and "geheim" not in trained.target.vocab
    assert trained.unknown("one secret") == ["secret"]


def test_batch_size_and_order_change_nothing(either):
    translator = Translator(either.model.double(), either.source, either.target)
    sources = LINES[::7]
    expected = translator.search(sources)
    for size in (1, 3, 100):
        for order in (1, -1):
            found = translator.search(sources[::order], batch_size=size)[::order]
            for (left,), (right,) in zip(found, expected, strict=True):
                assert left.tokens == right.tokens and left.score == pytest.approx(right.score, abs=1e-10)
    translator.model.float()


def test_attention_map(translator):
    attention = translator.attend("one blue three")
    assert attention.key_tokens == ("one", "blue", "three", "<eos>") and attention.query_tokens == attention.key_tokens
    assert attention.weights.shape == (1, 1, 4, 4)
    with record_attention(translator.model) as record:
        source = torch.tensor([translator.source.encode("one blue three")])
        target = torch.tensor([[translator.target.vocab.bos, *translator.target.encode("one blue three")[:-1]]])
        translator.model(source, torch.tensor([4]), target)
    steps = torch.cat(record["decoder.attention"], 1)
    torch.testing.assert_close(attention.weights[0], steps)
    given = translator.attend("one blue three", "red")
    assert given.query_tokens == ("red", "<eos>")


@pytest.mark.parametrize(
    ("kind", "rows", "columns", "layers"),
    [
        ("cross", "three red <eos>", "one blue three <eos>", "decoder.blocks.{}.cross_attention"),
        ("encoder", "one blue three <eos>", "one blue three <eos>", "encoder.blocks.{}.self_attention"),
        ("causal", "<bos> three red", "<bos> three red", "decoder.blocks.{}.self_attention"),
    ],
)
def test_attention_maps_of_a_transformer(transformer, kind, rows, columns, layers):
    attention = transformer.attend("one blue three", "three red", kind)
    assert (attention.query_tokens, attention.key_tokens) == (tuple(rows.split()), tuple(columns.split()))
    assert attention.weights.shape == (2, 2, len(rows.split()), len(columns.split())) and attention.kind == kind
    source = torch.tensor([transformer.source.encode("one blue three")])
    target = torch.tensor([[transformer.target.vocab.bos, *transformer.target.encode("three red")[:-1]]])
    with record_attention(transformer.model) as record:
        transformer.model(source, torch.tensor([4]), target)
    for layer in range(2):
        torch.testing.assert_close(attention.weights[layer], record[layers.format(layer)][0][0])
    if kind == "causal":
        assert torch.equal(attention.mask, torch.ones(3, 3, dtype=torch.bool).tril())
        assert (attention.weights[..., ~attention.mask] == 0).all()
    by_default = transformer.attend("one blue three", kind=kind)
    assert by_default.query_tokens[-1] == ("three" if kind == "causal" else "<eos>")


@pytest.mark.parametrize("prefix", [False, True])
def test_the_attention_map_of_a_decoder_only_model(prefix):
    """One map of each sentence, over source and target; the padding of the batch is cut off, on both sides."""
    sizes = {"num_hiddens": 8, "ffn_num_hiddens": 8, "num_heads": 2, "num_layers": 2}
    decoder = Translator.untrained("decoder", SPLIT, ("", ""), prefix=prefix, **sizes)
    pairs = [("one", "one red blue"), ("red blue three one", "three")]
    short, long = decoder.attend_all(pairs, "causal")
    assert decoder.attention_kinds == ["causal"]
    assert short.query_tokens == short.key_tokens == ("one", "<eos>", "<bos>", "one", "red", "blue")
    assert long.key_tokens == ("red", "blue", "three", "one", "<eos>", "<bos>", "three")
    for (source, target), found in zip(pairs, (short, long), strict=True):
        alone = decoder.attend(source, target, "causal")
        torch.testing.assert_close(found.weights, alone.weights, atol=1e-5, rtol=0)
        count, prompt = len(found.key_tokens), len(source.split()) + 1
        for query in range(count):
            for key in range(count):
                may = key <= query or (prefix and query < prompt and key < prompt)
                assert bool(found.mask[query, key]) == may == bool(found.weights[..., query, key].all())
        source, target = decoder.source.encode(source), decoder.target.encode(target)
        tokens = torch.tensor([[decoder.target.vocab.bos, *target[:-1]]])
        with record_attention(decoder.model.eval()) as record:
            decoder.model(torch.tensor([source]), torch.tensor([prompt]), tokens)
        for layer, (first, then) in enumerate(record.values()):
            torch.testing.assert_close(found.weights[layer, :, :prompt, :prompt], first[0], atol=1e-5, rtol=0)
            torch.testing.assert_close(found.weights[layer, :, prompt:], then[0], atol=1e-5, rtol=0)


def test_attention_that_is_not_there_is_named(translator):
    with pytest.raises(ValueError, match="a bahdanau model has no encoder attention to look at"):
        translator.attend("one", kind="encoder")
    with pytest.raises(ValueError, match="no attention 'self' to look at; choose from cross, encoder, causal"):
        translator.attend("one", kind="self")
    plain = Translator.new("seq2seq", translator.source, translator.target, embed_size=4, num_hiddens=4)
    with pytest.raises(ValueError, match="a seq2seq model has no attention to look at"):
        plain.attend("one")


def test_weights_of_a_batch_are_those_of_each_pair_alone(transformer):
    pairs = [("one", "one red blue"), ("red blue three one", "three"), ("", "")]
    for kind in ("cross", "encoder", "causal"):
        for (source, target), found in zip(pairs, transformer.attend_all(pairs, kind), strict=True):
            expected = transformer.attend(source, target, kind).weights
            torch.testing.assert_close(found.weights, expected, atol=1e-5, rtol=0)


def test_alignment_error_by_the_mean_over_layers_and_heads(either):
    right = total = 0
    for pair in SPLIT.test:
        rows = either.attend(pair.source, pair.target).weights.sum((0, 1))[:-1, :-1]
        right += sum(int(row.argmax()) == place for place, row in enumerate(rows))
        total += len(rows)
    assert either.evaluate(SPLIT.test).aer == pytest.approx(1 - right / total)


def test_scores(translator):
    scores = translator.evaluate(SPLIT.test)
    assert scores.pairs == len(SPLIT.test) and scores.exact == 1 and scores.bleu.score == pytest.approx(100)
    assert scores.perplexity < 1.1
    assert "BLEU = 100.0" in str(scores) and f"alignment error rate = {scores.aer:.3f}" in str(scores)
    without = translator.evaluate([Pair(pair.source, pair.target) for pair in SPLIT.test])
    assert without.aer is None and "alignment" not in str(without)
    wrong = translator.evaluate([Pair("one red", "red one", ((0, 1), (1, 0)))])
    assert wrong.exact == 0


def test_save_and_load(either, tmp_path):
    translator = either
    translator.save(tmp_path / "new" / "folder")
    loaded = Translator.load(tmp_path / "new" / "folder")
    assert loaded.translate_all(LINES[:9]) == translator.translate_all(LINES[:9])
    assert loaded.config == translator.config
    for left, right in zip(loaded.model.parameters(), translator.model.parameters(), strict=True):
        assert torch.equal(left, right)


def test_a_save_replaces_all_parts_at_once(translator, tmp_path):
    """The copy for people is never read."""
    older = {"format": 2, "model": "an older one", "sizes": {}}
    (tmp_path / "config.json").write_text(json.dumps(older), encoding="utf-8")
    translator.save(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["config.json", MODEL]
    assert json.loads((tmp_path / "config.json").read_text("utf-8"))["model"] == translator.config["model"]
    (tmp_path / "config.json").write_text("nonsense", encoding="utf-8")
    assert Translator.load(tmp_path).translate("red blue") == translator.translate("red blue")


@pytest.mark.parametrize("name", ["config.json", MODEL])
def test_a_save_replaces_no_file_of_somebody_else(translator, tmp_path, name):
    (tmp_path / name).write_text('{"format": 2}', encoding="utf-8")
    with pytest.raises(
        ValueError, match=rf"{name} is not .* of seqlearn: choose another folder, or move the file away"
    ):
        translator.save(tmp_path)
    assert [path.read_text("utf-8") for path in tmp_path.iterdir()] == ['{"format": 2}']


def test_a_save_removes_what_a_killed_one_has_left(translator, tmp_path):
    """After an hour: before, it may be a save that is still running."""
    translator.save(tmp_path)
    content = (tmp_path / MODEL).read_bytes()
    old, new, foreign = (tmp_path / f"{MODEL}.{number}-0123abcd.new" for number in range(3))
    for path in (old, new):
        path.write_bytes(content[:-9])
    foreign.write_bytes(b"precious")
    for path in (old, foreign):
        os.utime(path, (time.time() - 3700,) * 2)
    translator.save(tmp_path)
    assert {path.name for path in tmp_path.glob("*.new")} == {new.name, foreign.name}


def test_the_model_of_another_library_is_no_translator(tmp_path):
    safetensors.torch.save_file({"weight": torch.ones(2)}, tmp_path / MODEL)
    with pytest.raises(ValueError, match=r"holds no translator of seqlearn: model.safetensors has no config in it"):
        Translator.load(tmp_path)


def test_every_flipped_bit_is_found(translator, tmp_path):
    """In tensors, vocabularies and configuration alike."""
    translator.save(tmp_path)
    content = (tmp_path / MODEL).read_bytes()
    rng = random.Random(0)
    places = [rng.randrange(len(content)) for _ in range(60)] + [rng.randrange(8, 3000) for _ in range(40)]
    name = content.index(storage.CHECKSUM.encode())  # a file that has lost its checksum is no older one
    for place in [name, *places]:
        damaged = bytearray(content)
        damaged[place] ^= 1 << rng.randrange(3)
        (tmp_path / MODEL).write_bytes(damaged)
        with pytest.raises(ValueError, match=r"is damaged|whole safetensors file"):
            Translator.load(tmp_path)


def test_a_model_of_nan_is_neither_saved_nor_loaded(translator, tmp_path):
    translator.save(tmp_path)
    before = (tmp_path / MODEL).read_bytes()
    broken = copy.deepcopy(translator)
    torch.nn.init.constant_(broken.model.decoder.dense.weight, float("nan"))
    with pytest.raises(ValueError, match=r"decoder\.dense\.weight holds NaN or infinity, so .* was not written"):
        broken.save(tmp_path)
    assert (tmp_path / MODEL).read_bytes() == before and len(list(tmp_path.iterdir())) == 2
    texts = read_file(tmp_path / MODEL).texts
    safetensors.torch.save_file(weights_of(broken.model), tmp_path / MODEL, texts)
    with pytest.raises(ValueError, match=r"decoder\.dense\.weight holds NaN or infinity"):
        Translator.load(tmp_path)


@pytest.mark.parametrize(
    ("part", "old", "new"),
    [
        ("config", '"positions": "sinusoidal"', '"positions": "rotary"'),
        ("config", '"num_heads": 2', '"num_heads": 4'),
        ("source", '"blue",\n"red"', '"red",\n"blue"'),
    ],
)
def test_a_file_whose_texts_were_edited_is_damaged(transformer, tmp_path, part, old, new):
    """The weights would fit, and translate something else."""
    transformer.save(tmp_path)
    stored = read_file(tmp_path / MODEL)
    assert old in stored.texts[part], stored.texts[part]
    edited = stored.texts | {part: stored.texts[part].replace(old, new)}
    kept = storage.checksum(stored.tensors, stored.texts)
    safetensors.torch.save_file(stored.tensors, tmp_path / MODEL, edited | {storage.CHECKSUM: kept})
    with pytest.raises(ValueError, match="does not have the checksum that was stored with it"):
        Translator.load(tmp_path)


def test_a_model_that_is_measured_first_gets_the_same_weights(translator, monkeypatch):
    made = []
    for large in (10**9, 1):
        monkeypatch.setattr(models, "LARGE", large)
        torch.manual_seed(3)
        made.append(Translator.new("transformer", translator.source, translator.target).model)
    for one, other in zip(*(model.parameters() for model in made), strict=True):
        assert torch.equal(one, other)
    monkeypatch.setattr(models, "memory_of_machine", lambda: 10**6)
    with pytest.raises(ValueError, match="the weights of this model take 0 GB, and this machine has 0 GB"):
        Translator.new("transformer", translator.source, translator.target)
    monkeypatch.setattr(models, "memory_of_machine", lambda: None)  # Windows does not say
    Translator.new("transformer", translator.source, translator.target)


@pytest.mark.parametrize("dtype", [torch.int8, torch.bool, torch.complex64])
def test_weights_of_another_kind_are_refused(translator, tmp_path, dtype):
    translator.save(tmp_path)
    stored = read_file(tmp_path / MODEL)
    name = next(iter(stored.tensors))
    write_file(tmp_path / MODEL, stored.tensors | {name: stored.tensors[name].to(dtype)}, stored.texts)
    with pytest.raises(ValueError, match=f"{name} is {dtype} there, torch.float32 here"):
        Translator.load(tmp_path)


@pytest.mark.parametrize("vocab", [["red", "red"], ["red", 7], "red", {"red": 0}])
def test_a_vocabulary_of_something_else_is_refused(translator, tmp_path, vocab):
    translator.save(tmp_path)
    stored = read_file(tmp_path / MODEL)
    source = json.dumps(json.loads(stored.texts["source"]) | {"vocab": vocab})
    write_file(tmp_path / MODEL, stored.tensors, stored.texts | {"source": source})
    with pytest.raises(ValueError, match=r"the source language in .* not a list of texts, or holds a token twice"):
        Translator.load(tmp_path)


def test_a_folder_that_names_no_settings_is_loaded_with_all_of_them():
    loaded = Translator.pretrained("transformer", "cpu")
    assert loaded.config["sizes"]["num_hiddens"] == 128 and loaded.config["sizes"]["positions"] == "sinusoidal"


@pytest.mark.parametrize("beam", [1, 2])
@pytest.mark.parametrize("weight", [float("nan"), 3e38])  # the second is finite, and the logits are not
def test_a_model_that_gives_nan_is_said(translator, weight, beam):
    broken = copy.deepcopy(translator)
    torch.nn.init.constant_(broken.model.decoder.dense.weight, weight)
    with pytest.raises(ValueError, match="NaN or infinity: the search has found no translation"):
        broken.translate_all(["red blue", "one"], beam=beam)


class Mine(EncoderDecoder):
    """A model that nobody has registered."""


@dataclass(frozen=True)
class MineConfig:
    width: int = 4


def mine(source_vocab_size: int, target_vocab_size: int, config: MineConfig) -> EncoderDecoder:
    size = BahdanauConfig(config.width, config.width)
    return Mine(*bahdanau(source_vocab_size, target_vocab_size, size).children())


@pytest.fixture
def registered(monkeypatch):
    """A model of ones own, until the test ends."""
    monkeypatch.setattr(models, "MODELS", models.MODELS.copy())
    monkeypatch.setattr(saving, "MODELS", models.MODELS)
    models.register(models.ModelSpec("mine", "my own", mine, MineConfig))


UNKNOWN = r"nothing was saved, because `load` could not build this Mine again: `register\(ModelSpec.*save_weights"
CONFIGS = [None, {}, {"model": "mine", "sizes": {"width": 4}}, {"model": ["mine"], "sizes": {}}, {"model": "bahdanau"}]


@pytest.mark.parametrize("config", CONFIGS)
def test_a_model_that_nobody_could_load_is_not_saved(translator, tmp_path, config):
    """An older translator in the folder stays, and a new folder is not even made."""
    model = mine(len(translator.source.vocab), len(translator.target.vocab), MineConfig())
    own = Translator(model, translator.source, translator.target, config)
    translator.save(tmp_path / "old")
    before = (tmp_path / "old" / MODEL).read_bytes()
    for folder in ("old", "new"):
        with pytest.raises(ValueError, match=UNKNOWN):
            own.save(tmp_path / folder)
    assert (tmp_path / "old" / MODEL).read_bytes() == before and not (tmp_path / "new").exists()


def test_a_model_of_ones_own_is_saved_once_it_is_registered(translator, tmp_path, registered):
    own = Translator.new("mine", translator.source, translator.target, width=6)
    state = torch.get_rng_state()
    own.save(tmp_path)
    assert torch.equal(torch.get_rng_state(), state), "a save draws no random numbers: training goes on as without it"
    loaded = Translator.load(tmp_path, "cpu")
    assert type(loaded.model) is Mine and loaded.translate("red blue") == own.translate("red blue")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"sizes": {"width": 5}},
            r"decoder\.attention\.W_k\.weight would be \(5, 10\), and is \(6, 12\) \(\d+ such .* 'mine'",
        ),
        (
            {"model": "seq2seq", "sizes": {}},
            r"describes another model: decoder\.attention\.W_k\.weight would be missing",
        ),
        ({"sizes": {"wings": 2}}, "mine has no setting 'wings'"),
    ],
)
def test_a_configuration_of_another_model_is_not_saved(translator, tmp_path, registered, change, message):
    own = Translator.new("mine", translator.source, translator.target, width=6)
    own.config |= change
    with pytest.raises(ValueError, match=message):
        own.save(tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_a_factory_that_looks_at_its_numbers_is_saved(translator, tmp_path, registered):
    """It cannot be built without numbers, so nobody can tell whether it fits."""

    def picky(source_vocab_size: int, target_vocab_size: int, config: MineConfig) -> EncoderDecoder:
        assert float(torch.rand(1)) < 1
        return mine(source_vocab_size, target_vocab_size, config)

    models.register(models.ModelSpec("picky", "", picky, MineConfig))
    Translator.new("picky", translator.source, translator.target).save(tmp_path)
    assert Translator.load(tmp_path, "cpu").translate("red") is not None


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"format": 2}, "it names no model among bahdanau"),
        ({"format": 2, "model": None}, "it names no model among"),
        ({"format": 2, "model": "mine", "sizes": {}}, "there is no model 'mine' among bahdanau"),
        ({"format": 2, "model": ["mine"], "sizes": {}}, r"there is no model \['mine'\] among bahdanau"),
    ],
)
def test_a_folder_without_a_registered_model_says_what_is_missing(translator, tmp_path, config, message):
    translator.save(tmp_path)
    stored = read_file(tmp_path / MODEL)
    write_file(tmp_path / MODEL, stored.tensors, stored.texts | {"config": json.dumps(config)})
    with pytest.raises(ValueError, match=rf"{message}.*`register\(ModelSpec.*load_weights\(model, '.*{MODEL}'\)"):
        Translator.load(tmp_path)
    model = copy.deepcopy(translator.model)
    torch.nn.init.zeros_(model.decoder.dense.weight)
    load_weights(model, tmp_path / MODEL)  # the advice can be followed
    assert torch.equal(model.decoder.dense.weight, translator.model.decoder.dense.weight)


@pytest.mark.parametrize("written", [True, 2.0, "2", None, 99])
def test_a_format_is_the_whole_number_of_today(translator, tmp_path, written):
    translator.save(tmp_path)
    stored = read_file(tmp_path / MODEL)
    config = json.dumps(json.loads(stored.texts["config"]) | {"format": written})
    write_file(tmp_path / MODEL, stored.tensors, stored.texts | {"config": config})
    with pytest.raises(ValueError, match="another version"):
        Translator.load(tmp_path)


def test_a_model_without_a_name_goes_by_its_class(translator):
    own = Translator(seq2seq(8, 8, Seq2SeqConfig(4, 4)), translator.source, translator.target)
    with pytest.raises(ValueError, match="an EncoderDecoder model has no attention to look at"):
        own.attend("one")


def test_what_is_shown_of_languages_and_translators(translator):
    assert repr(translator) == "Translator(bahdanau, ? -> ?, 8 -> 8 words, 31,112 parameters)"
    ours = Translator.pretrained("transformer", "cpu")
    assert repr(ours) == "Translator(transformer, en -> fr, 436 -> 649 words, 0.9 M parameters)"
    assert repr(ours.source) == "Language(en, 436 words)" and repr(ours.target.vocab) == "Vocab(649 tokens)"
    pieces = Language.learn("fr", LINES, tokens="bpe", size=40)
    assert re.fullmatch(r"Language\(fr, \d\d pieces\)", repr(pieces))
    assert repr(SPLIT) == "Split(302 train, 17 valid, 17 test)"


def test_what_is_no_translator_is_named(translator, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no model\.safetensors"):
        Translator.load(tmp_path)
    with pytest.raises(ValueError, match="no model 'mamba'; choose from bahdanau"):
        Translator.new("mamba", translator.source, translator.target)


@pytest.mark.parametrize(("model", "tokens"), [("bahdanau", "word"), ("bahdanau", "bpe"), ("seq2seq", "word")])
def test_gold_links_join_words_and_need_attention(model, tokens):
    """An alignment error rate exists only where tokens are words and the model looks at them."""
    split = builtin(300).split(0.1, 0.1)
    options = {"tokens": tokens, "vocab_size": 200, "embed_size": 8, "num_hiddens": 8}
    scores = Translator.untrained(model, split, ("en", "fr"), **options).evaluate(split.test[:4])
    assert (scores.aer is not None) == (model == "bahdanau" and tokens == "word")


def test_attend_leaves_the_mode_as_it_was():
    translator = Translator.pretrained("transformer", "cpu")
    translator.model.train()
    before = translator.attend("the cat sleeps.", "le chat dort.").weights
    assert all(part.training for part in translator.model.modules())
    translator.model.eval()
    assert torch.equal(before, translator.attend("the cat sleeps.", "le chat dort.").weights), "no dropout"


def test_a_file_replaced_during_a_load_is_not_mixed(translator, tmp_path, monkeypatch):
    """`benchmarks/robustness.py loads` does this with processes: safetensors' `safe_open` opens a path twice."""
    other, load = copy.deepcopy(translator), storage.load
    other.config["who"] = "other"
    torch.nn.init.zeros_(other.model.decoder.dense.weight)
    translator.save(tmp_path)

    def replaced(content):
        other.save(tmp_path)
        return load(content)

    monkeypatch.setattr(storage, "load", replaced)
    loaded = Translator.load(tmp_path)
    assert "who" not in loaded.config and (loaded.model.decoder.dense.weight != 0).any()
    monkeypatch.undo()
    assert Translator.load(tmp_path, "cpu").config["who"] == "other"


def test_pieces_of_a_large_corpus_are_learned_from_lines_of_all_its_parts(monkeypatch):
    pairs = builtin(100).pairs
    split = Split(pairs, [], [])
    monkeypatch.setattr("seqlearn.translator.translator.BPE_LINES", 40)
    source = Translator.untrained("bahdanau", split, ("en", "fr"), tokens="bpe", vocab_size=60).source
    some = Language.learn("en", [pair.source for pair in pairs[::3]], tokens="bpe", size=60)  # 34 lines
    every = Language.learn("en", [pair.source for pair in pairs], tokens="bpe", size=60)
    assert source.to_json() == some.to_json() != every.to_json()
    words = Translator.untrained("bahdanau", split, ("en", "fr")).source
    assert words.to_json() == Language.learn("en", [pair.source for pair in pairs]).to_json()
