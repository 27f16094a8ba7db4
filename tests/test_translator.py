"""A translator that learnt to copy: translate, attend, evaluate, save, load."""

import json
from itertools import product

import pytest
import torch

from seqlearn.data.corpus import Split, builtin
from seqlearn.data.pairs import Pair
from seqlearn.nn.attention import record_attention
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


def test_translates_what_it_never_saw(translator):
    sources = [pair.source for pair in SPLIT.test]
    assert translator.translate(sources) == sources
    assert translator.translate(sources[0]) == sources[0]
    assert translator.translate([]) == []
    assert isinstance(translator.translate(""), str)


def test_vocabulary_comes_from_training_data_only():
    held_out = Pair("secret", "geheim")
    split = Split(PAIRS[:50], [*PAIRS[50:55], held_out], [held_out])
    trained = Translator.untrained("bahdanau", split, ("", ""), embed_size=4, num_hiddens=4)
    trained.fit(split, epochs=1, lr=0.01, progress=False)
    assert "secret" not in trained.source.vocab and "geheim" not in trained.target.vocab
    assert trained.unknown("one secret") == ["secret"]


def test_batch_size_and_order_change_nothing(translator):
    translator = Translator(translator.model.double(), translator.source, translator.target)
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


def test_save_and_load(translator, tmp_path):
    translator.save(tmp_path / "new" / "folder")
    loaded = Translator.load(tmp_path / "new" / "folder")
    assert loaded.translate(LINES[:9]) == translator.translate(LINES[:9])
    assert loaded.config == translator.config
    for left, right in zip(loaded.model.parameters(), translator.model.parameters(), strict=True):
        assert torch.equal(left, right)


def test_what_is_no_translator_is_named(translator, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no config\.json"):
        Translator.load(tmp_path)
    translator.save(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**config, "format": 99}))
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
