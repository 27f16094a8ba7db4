"""Normalization, word tokens and vocabulary."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqlearn.data.text import BOS, EOS, PAD, SPECIALS, UNK, Language, Vocab, WordTokenizer, normalize


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Va\u202f!", "va !"),
        ("a\u00a0b\u2009c\u3000d", "a b c d"),
        ("zero\u200bwidth soft\u00adhyphen", "zerowidth softhyphen"),
        ("\ufeffBOM", "bom"),
        ("l\u2019homme \u00ab dit \u00bb \u201cnon\u201d", 'l\'homme " dit " "non"'),
        ("cafe\u0301", "caf\u00e9"),
        ("  many   spaces\t and\ttabs ", "many spaces and tabs"),
    ],
)
def test_normalize(text, expected):
    assert normalize(text) == expected


@pytest.mark.parametrize(
    ("language", "text", "tokens"),
    [
        ("en", "The dog's bone isn't here.", ["the", "dog", "'s", "bone", "isn't", "here", "."]),
        ("en", "I'll go, it's 3.5!", ["i", "'ll", "go", ",", "it", "'s", "3.5", "!"]),
        ("en", "o'clock, well-known", ["o'clock", ",", "well-known"]),
        ("fr", "L'homme mange-t-il ?", ["l'", "homme", "mange", "-t-il", "?"]),
        (
            "fr",
            "Aujourd'hui, qu'est-ce que c'est ?",
            ["aujourd'hui", ",", "qu'", "est", "-ce", "que", "c'", "est", "?"],
        ),
        ("fr", "La grand-mère l'a vu, peut-être.", ["la", "grand-mère", "l'", "a", "vu", ",", "peut-être", "."]),
        ("fr", "Donne-le-moi !", ["donne", "-le", "-moi", "!"]),
        ("", "It's 我很好。", ["it's", "我很好", "。"]),
    ],
)
def test_tokens(language, text, tokens):
    assert WordTokenizer(language).tokenize(text) == tokens


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "the dog's bone (a big one) isn't \"here\", is it?"),
        ("fr", "l'homme qu'il a vu n'est pas là : où est-il ?"),
        ("fr", 'elle dit "non" !'),
    ],
)
def test_detokenize_gives_the_text_back(language, text):
    tokenizer = WordTokenizer(language)
    assert tokenizer.detokenize([BOS, *tokenizer.tokenize(text), EOS, PAD]) == text


@pytest.mark.parametrize("language", ["en", "fr", ""])
@given(text=st.text())
def test_no_character_is_lost(language, text):
    tokenizer = WordTokenizer(language)
    tokens = tokenizer.tokenize(text)
    assert "".join(tokens) == normalize(text).replace(" ", "")
    again = tokenizer.tokenize(" ".join(tokens)) if language == "" else tokens
    assert "".join(again) == "".join(tokens)
    assert not set(tokens) & set(SPECIALS)


def test_vocab_by_hand():
    vocab = Vocab([["b", "a", "b"], ["c", "a", "b"]], min_freq=2)
    assert vocab.tokens == [PAD, BOS, EOS, UNK, "b", "a"]
    assert (vocab.pad, vocab.bos, vocab.eos, vocab.unk) == (0, 1, 2, 3)
    assert vocab.encode(["a", "c", "b"]) == [5, 3, 4]
    assert vocab.decode([4, 3]) == ["b", UNK]
    assert len(vocab) == 6 and "a" in vocab and "c" not in vocab


def test_ties_are_ordered_by_token_so_that_ids_are_the_same_everywhere():
    assert Vocab([["z", "y", "x"]]).tokens[4:] == ["x", "y", "z"]


def test_language_round_trip_and_file(tmp_path):
    language = Language.learn("fr", ["L'homme mange.", "Où est-il ?"])
    ids = language.encode("Où est l'homme ?")
    assert ids[-1] == language.vocab.eos and language.vocab.unk not in ids
    assert language.decode(ids) == "où est l'homme ?"
    assert language.encode("") == [language.vocab.eos]
    language.save(tmp_path / "fr.json")
    loaded = Language.load(tmp_path / "fr.json")
    assert loaded.vocab.tokens == language.vocab.tokens
    assert loaded.encode("Où est l'homme ?") == ids
