"""A view of a translator whose tokens are pieces: words are drawn with their pieces inside, and swapped whole."""

import pytest
from browser.rounding import in_page
from playwright.sync_api import expect

from seqlearn.data.corpus import Split
from seqlearn.data.pairs import Pair
from seqlearn.translator.translator import Translator
from seqlearn.views import TranslatorView

LINES = [
    ("I don't know Boston.", "Je ne connais pas Boston."), ("The weatherman knows.", "Le présentateur météo sait !"),
    ("Don't laugh at him!", "Ne riez pas de lui\u202f!"),
]  # fmt: skip
SIZES = {"num_hiddens": 16, "ffn_num_hiddens": 16, "num_heads": 2, "num_layers": 1}


@pytest.fixture(scope="module")
def translator():
    pairs = [Pair(*line) for line in LINES * 3]
    made = Translator.untrained(
        "transformer", Split(pairs, pairs, pairs), ("en", "fr"), tokens="bpe", vocab_size=80, shared_vocab=True,
        cased=True, tie=True, tie_source=True, **SIZES,
    )  # fmt: skip
    made.fit(Split(pairs, pairs, pairs), epochs=30, lr=5e-3, batch_size=3, progress=False)
    return in_page(made)


def shown(page):
    """The words of the source, each a list of its pieces."""
    script = "all => all.map(one => one.matches('.chip') ? [one.innerText] : [...one.children].map(c => c.innerText))"
    return page.locator(".chips > .chip, .chips > .several").evaluate_all(script)


def test_words_have_their_pieces_inside(show, translator):
    sentence = "I don't know the weatherman."
    page = show(TranslatorView(translator, sentence))
    words = shown(page)
    assert ["".join(word).strip("␣") for word in words] == sentence.split() and len(words[-1]) > 2
    assert sum(map(len, words)) == len(translator.source.tokenizer.tokenize(sentence))
    written = page.locator(".written").inner_text().replace("␣", " ").replace("<eos>", " ")
    assert written.split() == translator.translate(sentence).split()


def test_a_whole_word_is_swapped_and_the_marks_beside_it_stay(show, translator):
    page = show(TranslatorView(translator, "I don't know Boston."))
    page.get_by_role("button", name="n: another word").last.click()
    box = page.get_by_label("another word for Boston")
    expect(box).to_have_attribute("placeholder", "Boston")
    box.fill("Tom")
    box.press("Enter")
    expect(page.get_by_label("sentence to translate")).to_have_value("I don't know Tom.")
    expect(page.locator(".written")).to_contain_text(translator.translate("I don't know Tom.")[:9])
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_label("sentence to translate")).to_have_value("I don't know Boston.")


def test_page_and_package_write_the_same(show, translator):
    page = show(TranslatorView(translator, "I don't know Boston."))
    sentences = ["Don't laugh at Boston!", "The weatherman knows him.", "É—unknown « signs »\u202f?", "i DON'T"]
    for beam in (1, 4):
        found = page.evaluate(
            "([all, beam]) => Promise.all(all.map((sentence, i) => live.ask('translated', { sentence, beam }, i)))",
            [sentences, beam],
        )
        assert [one["best"][0]["text"] for one in found] == translator.translate_all(sentences, beam=beam)
