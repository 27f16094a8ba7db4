"""Normalization, words and pieces of words, vocabulary."""

import json

import pytest
from hypothesis import given, strategies as st

from seqlearn.data.corpus import builtin, fra_eng
from seqlearn.data.text import BOS, EOS, PAD, SPECIALS, UNK, BPETokenizer, Language, Vocab, WordTokenizer, normalize


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("", "a\u00a0b\u2009c\u3000d", "a b c d"),
        ("", "zero\u200bwidth soft\u00adhyphen", "zerowidth softhyphen"),
        ("", "\ufeffBOM, NUL\0, bell\a", "bom, nul, bell"),
        ("", "NUL\0", "nul"),
        ("", "cafe\u0301", "caf\u00e9"),
        ("", "J\u030c", "\u01f0"),  # composes only in lower case
        ("", "  many   spaces\t and\ttabs ", "many spaces and tabs"),
        ("", "a\u2581b \ud800c", "a_b \ufffdc"),
        ("", "Who\u00a0? He ( the boss ) , not I . . .", "who? he (the boss), not i..."),
        ("en", "3:30, $1.5 a.m. .NET", "3:30, $1.5 a.m. .net"),
        ("fr", "Va\u202f!", "va !"),
        ("fr", "Va\u00a0!", "va !"),
        ("fr", "Va\u2009!", "va !"),
        ("fr", "Va!", "va !"),
        ("fr", "Quoi?! ? Non ...", "quoi ?!? non..."),
        ("fr", "Il est 14:30; (oui?) 50%.", "il est 14:30 ; (oui ?) 50 %."),
        ("fr", "l\u2019homme \u00ab\u00a0dit\u202f\u00bb \u201cnon\u201d", 'l\'homme "dit" "non"'),
        ("fr", "Il n' y a qu' Ève", "il n'y a qu'ève"),
        ("fa", "می\u200cخواهم", "می\u200cخواهم"),  # the joiner shapes the word
        ("en", "the\u200cn", "then"),
    ],
)
def test_normalize(language, text, expected):
    assert normalize(text, language) == expected
    assert normalize(expected, language) == expected


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
        ("en", "At 3:30 a.m. the dogs' 19th mp3.", ["at", "3:30", "a.m.", "the", "dogs", "'", "19th", "mp3", "."]),
        ("en", "The 12-year-old's", ["the", "12-year-old", "'s"]),
        ("fr", "Un hors-la-loi, sur-le-champ !", ["un", "hors-la-loi", ",", "sur-le-champ", "!"]),
        ("hi", "हिन्दी अच्छी है।", ["हिन्दी", "अच्छी", "है", "।"]),  # vowel signs are no letters, but belong to them
        ("", "It's 我很好。", ["it's", "我很好", "。"]),
    ],
)
def test_tokens(language, text, tokens):
    assert WordTokenizer(language).tokenize(text) == tokens


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "the dog's bone (a big one) isn't \"here\", is it?! it costs $5; the cats' food is 3.50..."),
        ("fr", "l'homme qu'il a vu n'est pas là : où est-il ?!"),
        ("fr", 'elle dit "non" ! à 14:30, 50 %.'),
    ],
)
def test_detokenize_gives_the_text_back(language, text):
    tokenizer = WordTokenizer(language)
    assert tokenizer.detokenize([BOS, *tokenizer.tokenize(text), EOS, PAD]) == text


MARKS = st.sampled_from(["", ",", ".", "?", "!", ";", ":", "...", "?!"])
FORMS = st.sampled_from(["{}", "\u00ab\u00a0{}\u202f\u00bb", '"{}"', "({})", "( {} )", "\u201c{} \u201d"])
SPACES = st.sampled_from(["", " ", "\u00a0", "\u202f", "\u2009", "  "])
WORDS = {
    "en": "the dog's isn't O'Clock well-known 3.5 14:30 19th u.s. Café I'll".split(),
    "fr": "l'homme qu'elle Aujourd'hui mange-t-il donne-le-moi sur-le-champ 3,5 14:30 café est-ce".split(),
}


@pytest.mark.parametrize("language", ["en", "fr"])
@given(data=st.data())
def test_words_and_marks_however_spaced_come_back_as_the_language_spaces_them(language, data):
    """decode(encode(x)) = normalised x, for sentences of words, marks, quotes and brackets with any spaces."""
    text = ""
    for _ in range(data.draw(st.integers(1, 4))):
        inside = data.draw(st.sampled_from(WORDS[language])) + data.draw(SPACES) + data.draw(MARKS)
        text += data.draw(FORMS).format(inside) + data.draw(SPACES) + data.draw(MARKS) + " "
    language = Language.learn(language, [text])
    assert language.decode(language.encode(text)) == normalize(text, language.tokenizer.language)


@pytest.mark.parametrize("language", ["en", "fr", ""])
@given(text=st.text())
def test_no_character_is_lost(language, text):
    tokenizer = WordTokenizer(language)
    tokens = tokenizer.tokenize(text)
    assert "".join(tokens) == normalize(text, language).replace(" ", "")
    assert not set(tokens) & set(SPECIALS)


@pytest.mark.slow
def test_the_built_in_corpus_comes_back_from_its_tokens():
    for pair in builtin(1500).pairs:
        for language, text in (("en", pair.source), ("fr", pair.target)):
            tokenizer = WordTokenizer(language)
            assert tokenizer.detokenize(tokenizer.tokenize(text)) == normalize(text, language) == text.lower()


@pytest.mark.slow
def test_the_real_corpus_comes_back_from_its_tokens_but_for_a_few_lines(data_folder, as_a_user):
    """Amounts ($5), fractions (9/11) and the like: fewer than one line in two thousand."""
    pairs = fra_eng(data_folder).pairs[::3]
    for language, texts in (("en", [pair.source for pair in pairs]), ("fr", [pair.target for pair in pairs])):
        tokenizer = WordTokenizer(language)
        lost = [text for text in texts if tokenizer.detokenize(tokenizer.tokenize(text)) != normalize(text, language)]
        assert len(lost) < len(pairs) / 2000, lost[:20]
    assert not any(set(normalize(text, "fr")) & set("\u202f\u00a0\u2009\u200b\u00ad\u2019«»") for text in texts)


SCRIPTS = """La pomme, l'été !
我很好。你好吗？
हिन्दी अच्छी है।
مرحبا بالعالم
Привет, мир
안녕하세요
👩‍👧 ok""".splitlines()


@pytest.fixture(scope="module")
def pieces():
    return Language.learn("", SCRIPTS * 3, tokens="bpe", size=400)


@given(data=st.data())
def test_bpe_gives_back_any_text_whose_characters_it_knows(pieces, data):
    known = sorted(set("".join(SCRIPTS)) | {" ", "\u00a0", "\t"})
    text = data.draw(st.text(alphabet=known))
    ids = pieces.encode(text)
    assert pieces.vocab.unk not in ids and pieces.decode(ids) == normalize(text)


def test_bpe_joins_the_most_frequent_neighbours_first():
    """By hand: in "ab ab abc" a and b meet three times; then the space and "ab" do; "abc" only once, too rare."""
    tokenizer = BPETokenizer.learn(["ab ab abc"], size=20)
    assert tokenizer.tokens[4:] == ["ab", "▁ab"] and sorted(tokenizer.tokens[:4]) == ["a", "b", "c", "▁"]
    assert tokenizer.tokenize("AB abc ba") == ["▁ab", "▁ab", "c", "▁", "b", "a"]
    assert tokenizer.detokenize([BOS, "▁ab", "▁ab", "c", EOS, PAD]) == "ab abc"


def test_bpe_shows_what_it_does_not_know():
    tokenizer = BPETokenizer.learn(["ab ab"], size=20)
    assert tokenizer.tokenize("a?é") == ["▁", "a", "?", "é"]
    language = Language(tokenizer, Vocab.of(tokenizer.tokens))
    assert language.encode("é") == [language.vocab.ids["▁"], language.vocab.unk, language.vocab.eos]
    assert language.decode(language.encode("b é")) == f"b {UNK}"


@pytest.mark.parametrize(
    ("text", "pieces", "shown"),
    [
        ("é ab", ["▁", "é", "▁ab"], "<unk> ab"),
        ("ab é", ["▁ab", "▁", "é"], "ab <unk>"),
        ("ab é ab", ["▁ab", "▁", "é", "▁ab"], "ab <unk> ab"),
        ("aé éa", ["▁", "a", "é", "▁", "é", "a"], "a<unk> <unk>a"),
        ("ab éü ù ab", ["▁ab", "▁", "é", "ü", "▁", "ù", "▁ab"], "ab <unk><unk> <unk> ab"),
        ("ab é! ab", ["▁ab", "▁", "é", "!", "▁ab"], "ab <unk>! ab"),
        ("ab (é) ab", ["▁ab", "▁", "(", "é", ")", "▁ab"], "ab <unk><unk><unk> ab"),
    ],
)
def test_bpe_keeps_the_spaces_around_what_it_does_not_know(text, pieces, shown):
    tokenizer = BPETokenizer.learn(["ab ab !"], size=20)
    assert tokenizer.tokenize(text) == pieces and tokenizer.detokenize(pieces) == text
    language = Language(tokenizer, Vocab.of(tokenizer.tokens))
    ids = language.encode(text)
    assert language.vocab.decode(ids[:-1]) == [piece if piece in tokenizer.tokens else UNK for piece in pieces]
    assert language.decode(ids) == shown


@pytest.mark.parametrize("text", [*SPECIALS, "a <pad> b", "▁"])
def test_bpe_takes_no_text_for_a_special_token(text):
    language = Language.learn("", ["a b <pad> <unk> <bos> <eos> _"], tokens="bpe", size=60)
    assert not set(language.encode(text)[:-1]) & set(range(len(SPECIALS)))
    assert language.decode(language.encode(text)) == normalize(text)


def test_bpe_of_french_reads_as_french():
    lines = ["«\u00a0Où est l\u2019été\u202f? »", "Aujourd'hui, c'est là-bas!"] * 2
    language = Language.learn("fr", lines, tokens="bpe", size=100)
    assert [language.decode(language.encode(line)) for line in lines[:2]] == [
        '"où est l\'été ?"',
        "aujourd'hui, c'est là-bas !",
    ]


def test_bpe_size_is_the_most_tokens_special_ones_included():
    lines = [pair.target for pair in builtin(300).pairs]
    assert len(Language.learn("fr", lines, tokens="bpe", size=200).vocab) == 200
    with pytest.raises(ValueError, match=r"vocabulary of 20 is too small for 42 characters"):
        Language.learn("fr", lines, tokens="bpe", size=20)
    with pytest.raises(ValueError, match="'chars'"):
        Language.learn("fr", lines, tokens="chars")


def test_vocab_by_hand():
    vocab = Vocab([["b", "a", "b"], ["c", "a", "b"]], min_freq=2)
    assert vocab.tokens == [PAD, BOS, EOS, UNK, "b", "a"]
    assert (vocab.pad, vocab.bos, vocab.eos, vocab.unk) == (0, 1, 2, 3)
    assert vocab.encode(["a", "c", "b"]) == [5, 3, 4]
    assert vocab.decode([4, 3]) == ["b", UNK]
    assert len(vocab) == 6 and "a" in vocab and "c" not in vocab


def test_ties_are_ordered_by_token_so_that_ids_are_the_same_everywhere():
    assert Vocab([["z", "y", "x"]]).tokens[4:] == ["x", "y", "z"]


@pytest.mark.parametrize("tokens", ["word", "bpe"])
def test_language_round_trip_and_file(tmp_path, tokens):
    language = Language.learn("fr", ["L'homme mange.", "Où est-il ?"], tokens=tokens, size=60)
    ids = language.encode("Où est l'homme ?")
    assert ids[-1] == language.vocab.eos and language.vocab.unk not in ids
    assert language.decode(ids) == "où est l'homme ?"
    assert language.encode("")[-1] == language.vocab.eos and language.decode(language.encode("")) == ""
    language.save(tmp_path / "fr.json")
    loaded = Language.load(tmp_path / "fr.json")
    assert loaded.vocab.tokens == language.vocab.tokens and loaded.tokenizer.language == "fr"
    assert loaded.tokenizer.kind == tokens and loaded.encode("Où est l'homme ?") == ids
    assert loaded.decode(ids) == "où est l'homme ?"


@pytest.mark.parametrize(
    ("part", "value"), [("language", {}), ("language", None), ("tokens", "letters"), ("vocab", [1])]
)
def test_a_language_of_other_types_is_damaged(part, value):
    stored = json.loads(Language.learn("fr", ["a b"]).to_json()) | {part: value}
    with pytest.raises(ValueError, match=r"the file is damaged \(ValueError: "):
        Language.from_json(json.dumps(stored), "the file")


def test_a_vocabulary_has_a_largest_size():
    with pytest.raises(ValueError, match="a vocabulary has at most 1,000,000 tokens, not 5,000,000,000"):
        Language.learn("", ["a b"], tokens="bpe", size=5_000_000_000)


def test_only_very_long_words_are_learned_from_in_pieces():
    """In a word of 1,000 letters a merge may cross any place; in a longer one not that after the first 1,000."""
    crossing = ["a" * 999 + "bc"] * 2 + ["x" * 997 + "de"] * 2
    tokens = Language.learn("", crossing, tokens="bpe", size=400).vocab.tokens
    assert not any("bc" in token for token in tokens) and any("de" in token for token in tokens)


CASED = [
    "«\u202fL’Été\u202f!\u202f»",
    "„Äpfel“, sagte Öz: 'Straße' – um 12:30 Uhr?",
    "Où est-il ?  Where's  McDonald’s (No. 5)?",
    'He said "Yes" ; I said: "NO!"',
]


@pytest.mark.parametrize("text", CASED)
@pytest.mark.parametrize("language", ["", "en", "fr"])
def test_cased_text_comes_back_as_it_was_typed(text, language):
    pieces = Language.learn(language, CASED, tokens="bpe", size=200, cased=True)
    typed = text.replace("  ", " ")  # a run of spaces becomes one
    assert normalize(text, language, cased=True) == typed
    assert pieces.decode(pieces.encode(text)) == typed
    again = Language.from_json(pieces.to_json())
    assert again.encode(text) == pieces.encode(text) and again.tokenizer.cased


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("  a \u00a0 b\u202f? \n", "a b\u202f?"),
        ("a\u00a0\u202fb", "a b"),  # two spaces are a run, of whatever kind
        ("O\u0308l\u00ad\u200b", "Öl"),
        ("\u2009a\u2009b\u200b\u00a0c", "a b\u00a0c"),
        ("▁\ud800", "_\ufffd"),
    ],
)
def test_cased_text_has_one_spelling_for_what_nobody_can_see(text, expected):
    assert normalize(text, "fr", cased=True) == expected
    assert normalize(expected, "fr", cased=True) == expected


def test_no_break_spaces_are_pieces_by_themselves():
    pieces = BPETokenizer.learn(["va\u202f? va\u202f? va\u202f! va\u202f!"] * 3, 30, "fr", cased=True)
    assert pieces.tokenize("va\u202f?") == ["▁va", "\u202f", "?"]


def test_words_are_not_cased():
    with pytest.raises(ValueError, match="cased with tokens \"bpe\", not with 'word'"):
        Language.learn("en", ["a"], cased=True)


def test_pieces_of_another_making_are_not_taken_for_ours():
    """A page can split texts only as our own pieces do: any other setting of the model tells them apart."""
    pieces = BPETokenizer.learn(["ab ab abc"], size=20)
    other = pieces.state()
    other["backend"]["model"]["byte_fallback"] = True
    assert pieces.is_learned() and not BPETokenizer.from_state(other).is_learned()
