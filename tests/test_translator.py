"""A translator that learnt to copy: translate, attend, evaluate, save, load."""

import copy
import json
import random
from itertools import product

import pytest
import safetensors.torch
import torch

from seqlearn import models
from seqlearn.data.corpus import Split, builtin
from seqlearn.data.text import Language
from seqlearn.nn.recording import record_attention
from seqlearn.pairs import Pair
from seqlearn.saving import MODEL
from seqlearn.training import storage
from seqlearn.training.storage import read_file, weights_of, write_file
from seqlearn.translator import Translator

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
    assert translator.translate(sources) == sources
    assert translator.translate(sources[0]) == sources[0]
    assert translator.translate([]) == []
    assert isinstance(translator.translate(""), str)


def test_beams(either):
    sources = [pair.source for pair in SPLIT.test]
    assert either.translate(sources, beam=4) == sources
    assert either.translate(sources[0], beam=4) == sources[0]
    several = either.translate([*sources, "red"], batch_size=3, beam=4, n_best=3)
    assert [best for best, *_ in several[:-1]] == sources and all(len(set(best)) == 3 for best in several)
    assert either.translate([*sources, "red"][::-1], batch_size=64, beam=4, n_best=3) == several[::-1]
    found = either.search(sources, beam=4, n_best=2, length_penalty=lambda length: length)
    assert all(first.score >= second.score and first.penalty > 1 for first, second in found)
    for nothing in ("", "a word nobody knows"):
        assert isinstance(either.translate(nothing, beam=2), str)


def test_a_bar_for_long_work(translator, capsys, monkeypatch):
    monkeypatch.delenv("TQDM_DISABLE", raising=False)
    translator.translate(LINES[:9], progress=True)
    assert "0/9" in capsys.readouterr().err
    translator.translate(LINES[:9])
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
            for left, right in zip(found, expected, strict=True):
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
        ("cross", "three red <eos>", "one blue three <eos>", "decoder.blks.block{}.attention2"),
        ("encoder", "one blue three <eos>", "one blue three <eos>", "encoder.blks.block{}.attention"),
        ("causal", "<bos> three red", "<bos> three red", "decoder.blks.block{}.attention1"),
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


def test_alignment_error_by_the_mean_over_layers_and_heads(transformer):
    right = total = 0
    for pair in SPLIT.test:
        rows = transformer.attend(pair.source, pair.target).weights.sum((0, 1))[:-1, :-1]
        right += sum(int(row.argmax()) == place for place, row in enumerate(rows))
        total += len(rows)
    assert transformer.evaluate(SPLIT.test).aer == pytest.approx(1 - right / total)


def test_scores(translator):
    scores = translator.evaluate(SPLIT.test)
    assert scores.pairs == len(SPLIT.test) and scores.exact == 1 and scores.bleu.score == pytest.approx(100)
    assert scores.perplexity < 1.1
    right = total = 0
    for pair in SPLIT.test:
        weights = translator.attend(pair.source, pair.target).weights[0, 0, :-1, :-1]
        right += sum(int(row.argmax()) == place for place, row in enumerate(weights))
        total += len(weights)
    assert scores.aer == pytest.approx(1 - right / total)
    assert "BLEU = 100.0" in str(scores) and f"alignment error rate = {scores.aer:.3f}" in str(scores)
    without = translator.evaluate([Pair(pair.source, pair.target) for pair in SPLIT.test])
    assert without.aer is None and "alignment" not in str(without)
    wrong = translator.evaluate([Pair("one red", "red one", ((0, 1), (1, 0)))])
    assert wrong.exact == 0


def test_save_and_load(either, tmp_path):
    translator = either
    translator.save(tmp_path / "new" / "folder")
    loaded = Translator.load(tmp_path / "new" / "folder")
    assert loaded.translate(LINES[:9]) == translator.translate(LINES[:9])
    assert loaded.config == translator.config
    for left, right in zip(loaded.model.parameters(), translator.model.parameters(), strict=True):
        assert torch.equal(left, right)


def test_a_save_replaces_all_parts_at_once(translator, tmp_path):
    """The copy for people is never read, and files of an older seqlearn are removed."""
    for name in ("config.json", "source.json", "target.json"):
        (tmp_path / name).write_text("an older one", encoding="utf-8")
    translator.save(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["config.json", MODEL]
    assert json.loads((tmp_path / "config.json").read_text("utf-8"))["model"] == translator.config["model"]
    (tmp_path / "config.json").write_text("nonsense", encoding="utf-8")
    assert Translator.load(tmp_path).translate("red blue") == translator.translate("red blue")


def test_a_folder_of_an_older_seqlearn_is_loaded_and_named(translator, tmp_path):
    """In format 1 each part was a file of its own, without a checksum."""
    (tmp_path / "config.json").write_text(json.dumps({"format": 1, **translator.config}), encoding="utf-8")
    translator.source.save(tmp_path / "source.json")
    safetensors.torch.save_model(translator.model, str(tmp_path / MODEL))
    with pytest.raises(FileNotFoundError, match=r"there is no target\.json in it"):
        Translator.load(tmp_path)
    translator.target.save(tmp_path / "target.json")
    with pytest.warns(UserWarning, match="older seqlearn, without a checksum"):
        old = Translator.load(tmp_path)
    assert old.translate(LINES[:9]) == translator.translate(LINES[:9])


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


@pytest.mark.parametrize("vocab", [["red", "red"], ["red", 7]])
def test_a_vocabulary_of_something_else_is_refused(translator, tmp_path, vocab):
    translator.save(tmp_path)
    stored = read_file(tmp_path / MODEL)
    source = json.dumps(json.loads(stored.texts["source"]) | {"vocab": vocab})
    write_file(tmp_path / MODEL, stored.tensors, stored.texts | {"source": source})
    with pytest.raises(ValueError, match=r"the source language in .* a token twice, or something that is no text"):
        Translator.load(tmp_path)


def test_a_folder_that_names_no_settings_is_loaded_with_all_of_them():
    loaded = Translator.pretrained("transformer", "cpu")
    assert loaded.config["sizes"]["num_hiddens"] == 128 and loaded.config["sizes"]["positions"] == "sinusoidal"


def test_a_model_that_gives_nan_is_said(translator):
    broken = copy.deepcopy(translator)
    torch.nn.init.constant_(broken.model.decoder.dense.weight, float("nan"))
    with pytest.raises(ValueError, match="NaN or infinity: the search has found no translation"):
        broken.translate("red blue", beam=2)


def test_what_is_no_translator_is_named(translator, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no model\.safetensors"):
        Translator.load(tmp_path)
    translator.save(tmp_path)
    stored = read_file(tmp_path / MODEL)
    newer = json.dumps(json.loads(stored.texts["config"]) | {"format": 99})
    write_file(tmp_path / MODEL, stored.tensors, stored.texts | {"config": newer})
    with pytest.raises(ValueError, match="another version"):
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
    monkeypatch.setattr("seqlearn.translator.BPE_LINES", 40)
    source = Translator.untrained("bahdanau", split, ("en", "fr"), tokens="bpe", vocab_size=60).source
    some = Language.learn("en", [pair.source for pair in pairs[::3]], tokens="bpe", size=60)  # 34 lines
    every = Language.learn("en", [pair.source for pair in pairs], tokens="bpe", size=60)
    assert source.to_json() == some.to_json() != every.to_json()
    words = Translator.untrained("bahdanau", split, ("en", "fr")).source
    assert words.to_json() == Language.learn("en", [pair.source for pair in pairs]).to_json()
