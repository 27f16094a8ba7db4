"""Texts, tokens and vocabularies: what has to hold for any of them."""

from __future__ import annotations

import json
import unicodedata

from hypothesis import strategies as st

from seqlearn.data.text import SPECIALS, UNK, Language, WordTokenizer, normalize

LANGUAGES = ("en", "fr", "")
ANY = st.text(st.one_of(st.characters(), st.characters(categories=["Cs", "Mn", "Cf", "Cc", "Zs"])))
MARKS = "\"'?!.,;:()%-… «»$5sla\u0301\u200c\u200d中👩\t\u2c62\u1680\u061c"  # where the rules for spaces meet
DENSE = st.text(st.sampled_from(MARKS))
PARTS = ['"', " ", "a", "1", "?", ".", "'", "-", "(", ")", ",", "%", "l", "s", "…", "e\u0301", "-il", "é'"]
HOSTILE_LINES = [
    "L'été, <pad> <unk>!",
    "我很好 हिन्दी שלום مرحبا",
    "안녕 👩\u200d👧 ok ▁ _ \ud800",
    "e\u0302\u0323 ﷺ ǰ Σας \u0345",
] * 2


def normalized_text_is_clean(text, language):
    """Normalizing twice changes nothing, no control character is left, and the words lose nothing."""
    found = normalize(text, language)
    assert normalize(found, language) == found
    assert found == " ".join(found.split()) and unicodedata.is_normalized("NFC", found)
    assert not {"Cc", "Cs"} & {unicodedata.category(character) for character in found}
    tokens = WordTokenizer(language).tokenize(text)
    assert "".join(tokens) == found.replace(" ", "") and not set(tokens) & set(SPECIALS)


def cased_text_is_clean(text, language):
    """The same, where a no-break space may stay; and what is left of the text is as it was typed."""
    found = normalize(text, language, cased=True)
    assert normalize(found, language, cased=True) == found and unicodedata.is_normalized("NFC", found)
    assert len(found.split()) == len(found.split(" ")) + found.count("\u00a0") + found.count("\u202f") or not found
    assert not {"Cc", "Cs"} & {unicodedata.category(character) for character in found}
    assert normalize(found, language) == normalize(text, language)


def tokens_stay(tokenizer, text):
    """Tokens that are shown as a text are the same tokens again."""
    tokens = tokenizer.tokenize(text)
    shown = tokenizer.detokenize(tokens)
    assert tokenizer.tokenize(shown) == tokens, f"{text!r} is shown as {shown!r}"


def ids_give_the_text_back(made, loaded, text):
    """For a language, and the same after a stay in a file: no text is taken for a special token, and BPE loses nothing
    but unknown characters.
    """
    ids = made.encode(text)
    assert loaded.encode(text) == ids and ids[-1] == made.vocab.eos and made.decode(ids) == loaded.decode(ids)
    assert not {made.vocab.pad, made.vocab.bos, made.vocab.eos} & set(ids[:-1]), "text taken for a special token"
    if made.tokenizer.kind == "bpe":
        clean = made.tokenizer.normalize(text)
        known = {character for token in made.vocab.tokens[len(SPECIALS) :] for character in token} | {" "}
        assert made.decode(ids) == "".join(each if each in known else UNK for each in clean)
        assert "".join(made.tokenizer.tokenize(text)).replace("▁", " ").removeprefix(" ") == clean
        assert (made.vocab.unk in ids) == bool(set(clean) - known)


# ---------------------------------------------------------------- random vocabularies

ANY_LINES = st.lists(ANY | DENSE | st.sampled_from(HOSTILE_LINES), min_size=1, max_size=6)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
CASES = st.tuples(
    st.sampled_from(LANGUAGES), ANY_LINES, st.sampled_from(["word", "bpe", "cased bpe"]), st.integers(1, 3),
    ANY | DENSE | st.sampled_from([*SPECIALS, "▁"]), st.lists(st.sampled_from(PARTS), max_size=12).map("".join),
)  # fmt: skip


def read_texts(case):
    """A language of any lines: what was learned is read back, and so is a text of the lines."""
    language, lines, tokens, min_freq, text, marks = case
    kind, cased = tokens.removeprefix("cased "), tokens.startswith("cased")
    made = Language.learn(language, lines, min_freq, kind, 2000, cased)
    loaded = Language.from_json(made.to_json().encode("utf-8", "surrogatepass"))
    assert loaded.vocab.tokens == made.vocab.tokens and loaded.tokenizer.state() == made.tokenizer.state()
    for each in (text, marks, lines[0]):
        normalized_text_is_clean(each, language)
        cased_text_is_clean(each, language)
        ids_give_the_text_back(made, loaded, each)
    if kind == "bpe":
        assert made.decode(made.encode(lines[0])) == normalize(lines[0], language, cased)
    tokens_stay(WordTokenizer(language), marks)


@st.composite
def damaged(draw):
    """The JSON of a language, changed somewhere."""
    made = _LANGUAGES[draw(st.sampled_from(["word", "bpe"]))]
    stored = json.loads(made)
    part = draw(st.sampled_from(["vocab", "tokens", "language", "backend", "text", "extra"]))
    if part == "text":
        place = draw(st.integers(0, len(made) - 1))
        return made[:place] + draw(st.text(max_size=2)) + made[place + draw(st.integers(0, 2)) :]
    if part == "vocab" and draw(st.booleans()):
        place = draw(st.integers(0, len(stored["vocab"]) - 1))
        stored["vocab"][place] = draw(JSON)
    else:
        stored[part] = draw(JSON)
    return json.dumps(stored)


_LANGUAGES = {kind: Language.learn("fr", HOSTILE_LINES, 1, kind, 300).to_json() for kind in ("word", "bpe")}


def read_vocabularies(text):
    """A damaged vocabulary is refused in one sentence, or is one that encodes and decodes."""
    try:
        language = Language.from_json(text, "the language")
    except ValueError as error:
        assert str(error).startswith("the language is damaged") and not isinstance(error, UnicodeError)
        return
    for line in HOSTILE_LINES:
        language.decode(language.encode(line))
    assert Language.from_json(language.to_json()).vocab.tokens == language.vocab.tokens
