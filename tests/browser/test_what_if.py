"""What if? A page of its own translates, and a person intervenes; Python says what has to come out."""

import json
import re

import pytest
import torch
from browser.rounding import in_page
from browser.settling import settled
from browser.test_family import AXE, FIND_BARRIERS, FITS
from hostile import HOSTILE
from playwright.sync_api import expect

from seqlearn.analysis.measures import mean_over_heads
from seqlearn.analysis.metrics import alignment_error_rate, argmax_links
from seqlearn.translator.translator import Translator
from seqlearn.translator.whatif import Ablate, change_of, what_if
from seqlearn.views import AttentionView, TranslatorView, View
from seqlearn.views.answers.known import SENTENCES
from seqlearn.views.shared.arguments import as_text

APPLE = "The girl washes the red apple and eats it."
BOY = "The boy washes the red apple and eats it."
CAT = "The cat sleeps."


@pytest.fixture(scope="module")
def transformer():
    """With the weights that the page has."""
    return in_page(Translator.pretrained("transformer", "cpu"))


@pytest.fixture(scope="module")
def written(transformer, tmp_path_factory):
    path = tmp_path_factory.mktemp("live") / "live.html"
    TranslatorView(transformer, APPLE, beam=4, step=7).to_html(path)
    return path


@pytest.fixture
def live(page, written):
    """The page of a view, whose Transformer translates in the page."""
    page.set_viewport_size({"width": 1300, "height": 900})
    page.goto(written.as_uri())
    return page


def now(page, text):
    """Waits until this translation stands there."""
    expect(page.locator(".written")).to_have_text(re.compile(re.escape(text) + r"\s*(<eos>)?$"))
    expect(page.locator(".former")).to_have_count(0)


def get(page, name):
    return page.evaluate(f"model.get('{name}')")


def changed(translator, prefix=(), edits=(), sentence=APPLE, beam=4):
    return what_if(translator, prefix, map(change_of, edits)).translate(sentence, beam=beam)


@pytest.mark.worker
def test_a_sentence_is_typed_and_translated(live, transformer):
    now(live, transformer.translate(APPLE, beam=4))
    assert live.evaluate("live.inWorker()"), "a worker translates, so that the page never waits"
    box = live.get_by_label("sentence to translate")
    for sentence in (CAT, "  the BOY   saw L’été ??  "):
        box.fill(sentence)
        box.press("Enter")
        now(live, transformer.translate(sentence, beam=4))
        assert get(live, "result")["source"] == transformer.source.tokenizer.tokenize(sentence)
    live.locator(".more > summary").click()
    live.get_by_label("search").select_option("greedy")
    now(live, transformer.translate("  the BOY   saw L’été ??  "))
    live.get_by_label("example").select_option(index=3)
    now(live, transformer.translate(live.get_by_label("sentence to translate").input_value()))
    example = live.get_by_label("example")
    assert example.input_value() == live.get_by_label("sentence to translate").input_value()
    example.press("ArrowDown")  # the list stays where it is, so the keys reach all of it
    now(live, transformer.translate(TranslatorView(transformer).data["examples"][3]))
    box.fill("")
    box.press("Enter")
    expect(live.locator(".note")).to_contain_text("There is nothing to translate: type a sentence.")
    assert box.get_attribute("aria-invalid") == "true"


def test_a_candidate_is_forced_and_taken_back(live, transformer):
    before, after = (
        transformer.translate(APPLE, beam=4),
        changed(transformer, [*"la fille lave la pomme rouge et".split(), "le"]),
    )
    live.get_by_role("button", name=re.compile("^force le at step 8")).click()
    now(live, after)
    assert get(live, "prefix") == [*"la fille lave la pomme rouge et".split(), "le"] and get(live, "step") == 7
    assert live.locator(".before bdi").inner_text() == before
    assert live.locator(".before del").all_inner_texts() == ["la"] and live.locator(
        ".written .new"
    ).all_inner_texts() == ["le"]
    assert live.locator(".written .forced").all_inner_texts() == ["le"]
    shown = live.locator(".certainty").all_inner_texts()
    best = what_if(transformer, get(live, "prefix")).search([APPLE], beam=4)[0][0]
    odds = torch.tensor(best.log_probs).sum().neg().exp().item()
    assert shown[1] == "p = 1.00" and float(re.sub(r"[^\d]", "", shown[0].split("in")[1])) == pytest.approx(
        odds, rel=0.06
    )
    live.get_by_role("button", name=re.compile("^force la at step 8")).press("Enter")  # by keyboard, the other way
    now(live, before)
    live.get_by_role("button", name="Undo").click()
    now(live, after)
    live.get_by_role("button", name="Reset").press("Enter")
    now(live, before)
    assert live.locator(".before bdi").count() == 0 and live.get_by_role("button", name="Undo").count() == 0
    assert live.locator(".before").inner_text().startswith("What if? Swap a word of the source, force a candidate, ")
    assert (get(live, "prefix"), get(live, "edits")) == ([], [])


def test_heads_are_ablated(live, transformer):
    head = live.get_by_role("button", name="2, head of cross layer 1: not ablated")
    head.focus()
    live.keyboard.press("ArrowLeft")
    live.keyboard.press("Enter")
    now(live, changed(transformer, edits=[Ablate("cross", 1, 1)]))
    assert live.get_by_role("button", name="1, head of cross layer 1: ablated").get_attribute("aria-pressed") == "true"
    live.get_by_role("button", name="cross 0: ablate the layer").click()
    edits = [["ablate", "cross", 0, None], ["ablate", "cross", 1, 1]]
    now(live, changed(transformer, edits=edits))
    assert get(live, "edits") == edits
    live.get_by_role("button", name="3, head of cross layer 0: ablated").click()
    edits = [
        ["ablate", "cross", 0, 0],
        ["ablate", "cross", 0, 1],
        ["ablate", "cross", 0, 2],
        ["ablate", "cross", 1, 1],
    ]
    now(live, changed(transformer, edits=edits))
    assert get(live, "edits") == edits, "one head is restored"
    live.get_by_role("button", name="Reset").click()
    live.get_by_label("solo").check()
    live.get_by_role("button", name="2, head of encoder layer 0: not ablated").click()
    edits = [Ablate("encoder", 0, head) for head in (0, 1, 3)] + [Ablate("encoder", 1)]
    now(live, changed(transformer, edits=edits))


def test_a_weight_is_typed(live, transformer):
    live.evaluate("model.set('locked', ['pair', 7, 5])")
    typed = live.get_by_label("weight as a number")
    assert float(typed.input_value()) < 0.3
    typed.fill("0.9")
    typed.press("Enter")
    edits = [["weight", "cross", None, None, 7, 5, 0.9]]
    now(live, changed(transformer, edits=edits))
    assert get(live, "edits") == edits
    assert get(live, "locked") in (["pair", 7, 5], None)
    live.evaluate("model.set('locked', ['pair', 7, 8])")
    typed.fill("0.3")
    typed.press("Enter")
    edits.append(["weight", "cross", None, None, 7, 8, 0.3])
    now(live, changed(transformer, edits=edits))
    assert get(live, "edits") == edits, "the first weight of the row is still an edit"
    live.get_by_label("attention", exact=True).select_option("layer 1, head 3")
    live.evaluate("model.set('locked', ['pair', 2, 1])")
    live.get_by_label("weight", exact=True).focus()
    for _ in range(3):
        live.keyboard.press("ArrowRight")
    expect(live.locator(".former")).to_have_count(0)
    last = get(live, "edits")[-1]
    assert last[:6] == ["weight", "cross", 1, 3, 2, 1] and len(get(live, "edits")) == 3, "the last value counts"
    now(live, changed(transformer, edits=get(live, "edits")))


def test_a_word_is_swapped(live, transformer):
    live.get_by_role("button", name="2, head of cross layer 1: not ablated").click()
    live.get_by_role("button", name="girl: another word").press("Enter")
    typed = live.get_by_role("combobox", name="another word for girl")
    live.keyboard.press("Escape")
    expect(typed).to_have_count(0)
    expect(live.get_by_role("button", name="girl: another word")).to_be_focused()
    live.get_by_role("button", name="girl: another word").press("Enter")
    typed.fill("boy")
    typed.press("Enter")
    edits = [Ablate("cross", 1, 2)]
    now(live, changed(transformer, edits=edits, sentence=BOY))
    assert live.get_by_label("sentence to translate").input_value() == BOY, "as it was typed, but for one word"
    assert live.locator(".before bdi").inner_text() == transformer.translate(APPLE, beam=4)
    live.get_by_role("button", name="Undo").click()
    now(live, changed(transformer, edits=edits))
    live.get_by_label("sentence to translate").fill(CAT)
    live.keyboard.press("Enter")
    now(live, changed(transformer, edits=edits, sentence=CAT))
    assert live.locator(".written").inner_text().startswith(transformer.translate(CAT, beam=4))
    expect(live.locator(".before")).to_contain_text("the same words")
    assert get(live, "edits") == [["ablate", "cross", 1, 2]], "a new sentence is a new beginning, and the head is off"


def test_true_links_and_their_scores(show, transformer, parts):
    view = TranslatorView(transformer, APPLE, beam=4)
    view.links = True
    live, tokenize = show(view), transformer.target.tokenizer.tokenize
    pair = next(
        pair
        for pair in parts.valid
        if pair.antecedents and tokenize(transformer.translate(pair.source, beam=4)) == tokenize(pair.target)
    )
    expect(live.locator(".says")).to_contain_text("known for some sentences of the built-in corpus only")
    live.get_by_label("sentence to translate").fill(pair.source)
    live.keyboard.press("Enter")
    now(live, transformer.translate(pair.source, beam=4))
    assert live.locator(".map .gold").count() == len(pair.alignment)
    rates = set()
    for edits in ([], *([["ablate", "cross", 1, head]] for head in range(4))):
        live.evaluate("edits => model.set('edits', edits)", edits)
        text = changed(transformer, (), edits, pair.source)
        now(live, text)
        if tokenize(text) != tokenize(pair.target):
            expect(live.locator(".says")).to_contain_text("The translation is not that of the corpus.")
            continue
        edited = what_if(transformer, edits=map(change_of, edits))
        weights = mean_over_heads(edited.attend(pair.source, text)).weights[0, 0]
        rate = alignment_error_rate([argmax_links(weights[:-1, :-1])], [pair.alignment])
        expect(live.locator(".says")).to_contain_text(f"Alignment error rate of the mean of all heads: {rate:.2f} (")
        rates.add(rate)
    assert len(rates) > 1, "the score moves"
    live.evaluate("model.set('edits', [])")
    right, before = pair.antecedents[0].target, tokenize(pair.target)
    expect(live.locator(".says")).to_contain_text(f"The pronoun {before[right]} is right.")
    live.evaluate("given => model.set('prefix', given)", [*before[:right], "nous"])
    expect(live.locator(".says")).to_contain_text("nous stands where the corpus has")
    live.locator(".more > summary").click()
    live.get_by_label("true links").uncheck()
    expect(live.locator(".map .gold, .says:has-text('corpus')")).to_have_count(0)


def test_a_source_word_shows_who_looks_at_it(live, transformer):
    view = TranslatorView(transformer, APPLE, beam=4)
    best = view.result["best"][0]
    weights = transformer.attend(APPLE, view.translation).weights.mean((0, 1))
    live.locator(".chips .chip").nth(5).hover()
    expected = [token for token, row in zip(best["tokens"], weights, strict=True) if int(row.argmax()) == 5]
    assert live.locator(".written .looks-there").all_text_contents() == expected
    assert live.locator(".says").inner_text().count("is looked at by") == 1


def test_a_page_knows_the_links_of_its_examples(live):
    live.get_by_label("example").select_option("The turtle took the banana because it was delicious.")
    expect(live.locator(".written")).to_contain_text("tortue")  # the answer draws the checkbox anew
    live.locator(".more > summary").click()
    live.get_by_label("true links").check()
    expect(live.locator(".says")).to_contain_text(
        "is right. The translation is that of the corpus. Alignment error rate"
    )
    expect(live.locator(".map .gold")).to_have_count(12)


def test_doubts(live, transformer):
    box, note = live.get_by_label("sentence to translate"), live.locator(".note")
    box.fill("the " * 40)
    box.press("Enter")
    long = "the sentence has 40 tokens, the longest in training had 23, and parts of it may be left out."
    expect(note).to_contain_text(f"Do not trust this translation: {long}")
    box.fill("Quantum flux is not nice")
    box.press("Enter")
    expect(note).to_have_text(re.compile("^Do not trust this translation: 4 of 5 words are unknown."))
    assert live.locator(".note").evaluate("node => getComputedStyle(node, '::before').content") == '"⚠"'
    box.fill("The the the the the the the the")  # known words, and no sentence
    box.press("Enter")
    expect(note).to_have_text(re.compile("^Do not trust this translation: the model itself gives it a probability of "))
    box.fill("The cat that sleeps eats an apple because it is hungry and the old dog that the girl sees takes bread.")
    box.press("Enter")
    expect(note).to_contain_text("it has 12 tokens for 22, and parts of the sentence may be left out.")
    box.fill("I love you.")
    box.press("Enter")
    expect(note).to_contain_text("The model is not sure: it gives this translation a probability of 0.5")
    live.get_by_role("button", name="0, head of encoder layer 0: not ablated").click()
    expect(note).to_have_text("")
    live.get_by_role("button", name="Undo").click()
    box.fill(APPLE)
    box.press("Enter")
    expect(note).to_have_text("")


def test_the_words_that_it_knows(live, transformer):
    box, fold, drawer = (
        live.get_by_label("sentence to translate"),
        live.locator(".known"),
        live.locator(".kinds-of-words"),
    )
    assert drawer.locator("button").count() == 0, "drawn when somebody looks"
    summary = fold.locator("summary")
    place = summary.bounding_box()
    summary.click()
    assert summary.bounding_box() == place, "a second click closes it"
    kinds = ["nouns", "verbs", "adjectives", "names", "others"]
    assert [drawer.get_by_role("group", name=name, exact=True).count() for name in kinds] == [1] * 5
    assert sorted(drawer.locator("button").all_inner_texts()) == sorted(transformer.source.vocab.tokens[4:])
    assert drawer.locator("button[tabindex='0']").count() == 5, "each kind is one stop"
    box.fill("The cat eats the")
    for word in ("apple", "."):
        drawer.get_by_label(f"insert {word}", exact=True).click()
    assert box.input_value() == "The cat eats the apple."
    box.evaluate("node => node.setSelectionRange(4, 7)")
    drawer.get_by_label("insert dog", exact=True).press("Enter")
    assert box.input_value() == "The dog eats the apple."
    live.get_by_role("button", name="Translate").click()
    now(live, transformer.translate("The dog eats the apple.", beam=4))
    box.evaluate("node => node.setSelectionRange(99, 99)")
    drawer.get_by_label("insert apricots", exact=True).click()
    assert box.input_value() == "The dog eats the apple apricots.", "before the final mark"
    live.keyboard.press("Escape")
    assert drawer.is_hidden() and summary.evaluate("node => node === document.activeElement")


def test_what_more_there_is(live):
    """Its settings stand apart, in one row, and say what they are."""
    summary, settings = live.locator(".more > summary"), live.locator(".settings")
    place = summary.bounding_box()
    summary.click()
    search, links = (settings.locator(".control").nth(at).bounding_box() for at in (0, 1))
    assert links["x"] - search["x"] - search["width"] >= 8 and summary.bounding_box() == place
    assert "word alignment" in settings.locator(".control").nth(1).get_attribute("title")
    live.get_by_label("true links").press("Escape")
    assert settings.is_hidden()


def test_another_sentence_and_the_examples(live, transformer):
    for sentence in SENTENCES[:2]:
        live.get_by_role("button", name="another sentence").click()
        now(live, transformer.translate(sentence, beam=4))
        assert live.get_by_label("sentence to translate").input_value() == sentence
    assert live.locator(".note").inner_text() == "", "who has asked needs no hint"
    live.get_by_label("example").select_option(index=2)
    name = live.locator(".examples span")
    assert name.inner_text() == "examples ▾" and name.evaluate("node => node.scrollWidth <= node.clientWidth + 1")


def test_an_unknown_word_gets_an_offer(live, transformer):
    box, note = live.get_by_label("sentence to translate"), live.locator(".note")
    box.fill("The fox sleeps near the xylophone.")
    box.press("Enter")
    offered = "they are read as <unk>. Nearest in spelling: fox: try box (The model knows 432 tokens.)"
    expect(note).to_contain_text(offered)
    note.get_by_role("button", name="swap fox for box").click()
    now(live, transformer.translate("The box sleeps near the xylophone.", beam=4))
    assert box.input_value() == "The box sleeps near the xylophone."
    assert live.locator(".chips .new").all_inner_texts() == ["box"], "it is a change, with a before"
    box.fill("The fox sleeps near thx xylophone.")
    box.press("Enter")
    expect(note).to_contain_text("fox: try box")
    assert "thx: try" not in note.inner_text(), "a word that nobody knows is no article"
    assert note.get_by_role("link").count() == 0, "this page stands in no book"


def test_a_sentence_without_a_mark_gets_offers(live, transformer):
    """The translation of what was typed is there; a mark is one press away, and is a change of the sentence."""
    box, note = live.get_by_label("sentence to translate"), live.locator(".note")
    box.fill("The cat sleeps ")
    box.press("Enter")
    now(live, transformer.translate("The cat sleeps", beam=4))
    expect(note).to_contain_text("This sentence has no mark at its end, and each one in training had one: try . ? !")
    note.get_by_role("button", name="add a full stop").click()
    now(live, transformer.translate("The cat sleeps.", beam=4))
    assert box.input_value() == "The cat sleeps." and "no mark" not in note.inner_text()
    assert live.locator("del").all_inner_texts() == ["?"], "it is a change, with a before"
    live.get_by_role("button", name="Undo").click()
    note.get_by_role("button", name="add a question mark").click()
    now(live, transformer.translate("The cat sleeps?", beam=4))


def test_a_click_is_named_before_it_is_made(live):
    assert get(live, "step") == 7
    titles = {
        ".chip >> nth=1": "girl: click to swap it for another word",
        ".written .piece >> nth=1": "fille: click to keep it",
        ".candidates button >> nth=0": "click to force l' here",
        ".board .head >> nth=0": "encoder, layer 0, head 0: click to ablate it",
        ".board .layer >> nth=0": "click to ablate the layer",
    }
    assert {part: live.locator(part).get_attribute("title") for part in titles} == titles
    assert re.search(r"\block", live.locator("main").inner_text()) is None
    live.locator(".board .head").first.click()
    expect(live.locator(".board .head").first).to_have_attribute(
        "title", "encoder, layer 0, head 0: click to restore it"
    )


def test_one_current_step(live):
    live.locator(".written .piece").nth(2).hover()
    assert live.get_by_label("step", exact=True).get_attribute("aria-valuetext") == "3 of 11: lave"
    live.keyboard.press("Tab")
    live.locator(".written").focus()
    live.mouse.move(2, 2)
    assert live.get_by_label("step", exact=True).get_attribute("aria-valuetext").startswith("8 of 11")


def test_hostile_sentences_do_nothing(live):
    box = live.get_by_label("sentence to translate")
    for start in range(7):  # a sentence has 100 tokens at most
        box.fill(as_text(" ".join(HOSTILE[start::7])))
        box.press("Enter")
        expect(live.locator(".former")).to_have_count(0)
        assert live.locator("img, .seqlearn script, .seqlearn b").count() == 0
    for word in ("<img src=x onerror=alert(1)>", "</script>", "constructor", "__proto__"):
        live.evaluate("model.set('sentence', 'the cat sleeps.')")
        expect(live.locator(".former")).to_have_count(0)  # the answer has come, which draws the words anew
        expect(live.locator(".chips .chip")).to_have_count(4)
        live.locator(".chips .chip").nth(1).click()
        live.locator(".chips input").fill(word)
        live.keyboard.press("Enter")
        expect(live.locator(".former")).to_have_count(0)
        live.evaluate("word => model.set('prefix', [word])", word)
        expect(live.locator(".note")).to_contain_text("a translation cannot contain the token")
        live.evaluate("model.set('prefix', [])")


@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (1024, "dark"), (1440, "light")])
def test_at_every_width(live, page, width, scheme):
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 900})
    page.reload()
    live.get_by_role("button", name=re.compile("^force le at step 8")).click()
    live.get_by_role("button", name="2, head of cross layer 1: not ablated").click()
    expect(live.locator(".before bdi")).to_have_count(1)
    page.evaluate(AXE)
    passed, found = page.evaluate(FIND_BARRIERS)
    assert found == [] and passed > 15
    assert page.evaluate(FITS), "no page is scrolled sideways"


def test_heads_and_weights_of_an_attention_view(show, transformer, capsys):
    page = show(AttentionView.of(transformer, APPLE, kind="cross", layer=1, head=3))
    plain = transformer.translate(APPLE)

    def reads(edits):
        """Waits for the translation under these edits, and compares every weight of the shown kind."""
        text = changed(transformer, (), edits, beam=1)
        expect(page.locator(".rewritten .present bdi")).to_have_text(text)
        settled(page)
        expected = what_if(transformer, edits=map(change_of, edits)).attend(APPLE, text).weights
        found = page.evaluate(
            """() => { const { shape, data: { buffer, byteOffset, byteLength } } = model.get('data').maps[0].weights;
            return [shape, [...new Float32Array(buffer.slice(byteOffset, byteOffset + byteLength))]]; }"""
        )
        torch.testing.assert_close(torch.tensor(found[1]).view(found[0]), expected, atol=2e-3, rtol=1e-2)
        assert get(page, "edits") == edits

    reads([])
    page.get_by_role("button", name="ablate cross 1.3").press("Enter")
    expect(page.locator(".rewritten .before")).to_contain_text("the same words")
    reads([["ablate", "cross", 1, 3]])
    expect(page.get_by_role("button", name="restore cross 1.3")).to_be_visible()
    page.get_by_role("button", name="only this head").click()
    alone = [["ablate", "cross", 0, None], *(["ablate", "cross", 1, head] for head in range(3))]
    expect(page.locator(".rewritten .present bdi")).not_to_have_text(plain)
    reads(alone)
    assert page.locator(".rewritten del").count() > 0 and page.locator(".rewritten .new").count() > 0
    page.evaluate("model.set('locked', ['pair', 3, 2])")
    page.get_by_label("weight as a number").fill("0.9")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Undo")).to_be_enabled()
    weighed = [["weight", "cross", 1, 3, 3, 2, 0.9], *alone]
    expect(page.locator(".whatif")).to_contain_text("gives “washes” a weight of 0.9")
    reads(weighed)
    more(page)
    page.locator(".python summary").click()
    exec(page.locator(".python pre").inner_text(), {"translator": transformer})
    assert capsys.readouterr().out.strip() == changed(transformer, (), weighed, beam=1)
    page.evaluate("model.set('zoom', 'cell')")
    expect(page.locator(".stage-of-cell").first).to_be_visible()
    assert page.evaluate("Object.values(model.get('steps').asked)") == ["cross", 1, 3], (
        "the page computes the vectors of any head"
    )
    page.get_by_role("button", name="Reset").click()
    expect(page.locator(".rewritten .before bdi")).to_have_count(0)
    reads([])


def maps_of(page, trait="data"):
    """The weights of all maps of a reading, by kind."""
    script = """trait => model.get(trait).maps.map(({ kind, weights: { shape, data } }) =>
        [kind, shape, [...new Float32Array(data.buffer.slice(data.byteOffset, data.byteOffset + data.byteLength))]])"""
    return {kind: torch.tensor(values).view(shape) for kind, shape, values in page.evaluate(script, trait)}


def assert_reads(page, translator, sentence, edits=(), trait="data"):
    """Waits for the answer, and compares the translation, and every weight of every map, with Python's."""
    text = changed(translator, (), edits, sentence, beam=1)
    settled(page)
    if trait == "data":
        assert page.locator(".rewritten .present bdi").inner_text() == text
    expected = what_if(translator, edits=map(change_of, edits))
    for kind, weights in maps_of(page, trait).items():
        torch.testing.assert_close(weights, expected.attend(sentence, text, kind).weights, atol=2e-3, rtol=1e-2)


def test_an_answer_takes_no_word_away_that_is_being_typed(show, transformer):
    """An answer to an earlier question may be late: Python is slow, or the machine is busy."""
    page = show(AttentionView.of(transformer, APPLE))
    chip = page.get_by_role("button", name="girl: another word")
    for key, text in (("Escape", APPLE), ("Enter", BOY)):
        chip.press("Enter")
        page.keyboard.type("bo")
        page.evaluate("late => model.set('data', { ...model.get('data'), late })", key)
        assert page.evaluate("document.activeElement.value") == "bo"
        page.keyboard.type("y")
        page.evaluate("window.before = document.querySelector('.seqlearn .chips')")
        page.keyboard.press(key)
        assert not page.evaluate("before.isConnected"), "once the word is there, the view is drawn anew"
        assert_reads(page, transformer, text)
    expect(page.get_by_role("button", name="boy: another word")).to_be_focused()


def test_a_word_is_swapped_in_an_attention_view(show, transformer, capsys):
    page = show(AttentionView.of(transformer, APPLE, kind="cross", layer=1, head=3, locked=["pair", 2, 1]))
    page.get_by_label("weight as a number").fill("0.5")
    page.keyboard.press("Enter")
    expect(page.locator(".whatif")).to_contain_text("cross, 1.3: “lave” gives “girl” a weight of 0.5")
    page.get_by_role("button", name="ablate cross 1.3").click()
    expect(page.locator(".whatif")).to_contain_text("cross 1.3 ablated")
    chip = page.get_by_role("button", name="girl: another word")
    chip.press("Enter")
    page.keyboard.type("boy")
    page.keyboard.press("Escape")
    expect(chip).to_be_focused()
    chip.press("Enter")
    page.keyboard.type("bv")
    page.keyboard.press("ArrowLeft")
    expect(page.locator("input.chip")).to_be_focused()
    page.locator("input.chip").fill("")
    assert page.locator("datalist option[value=boy]").count() == 1, "the known words are offered"
    page.keyboard.type("boy")
    page.keyboard.press("Enter")
    edits = [["ablate", "cross", 1, 3]]
    assert_reads(page, transformer, BOY, edits)
    expect(page.get_by_role("button", name="boy: another word")).to_be_focused()
    assert (get(page, "sentence"), get(page, "edits")) == (BOY, edits), "a weight belonged to the other sentence"
    assert page.locator(".chips .new").all_inner_texts() == ["boy"]
    assert page.locator(".before bdi").first.inner_text() == transformer.translate(APPLE)
    more(page)
    page.locator(".python summary").click()
    exec(page.locator(".python pre").inner_text(), {"translator": transformer})
    assert capsys.readouterr().out.strip() == changed(transformer, (), edits, BOY, beam=1)
    page.get_by_role("button", name="Undo").press("Enter")
    assert_reads(page, transformer, APPLE, [["weight", "cross", 1, 3, 2, 1, 0.5], *edits])
    page.get_by_role("button", name="Reset").click()
    assert_reads(page, transformer, APPLE)
    assert page.locator(".chips .new, .rewritten del").count() == 0
    page.evaluate("model.set('locked', null)")
    page.locator(".chips .chip").nth(1).hover()
    assert page.locator(".says").inner_text().count("is looked at by") == 1
    page.locator(".kind", has_text="causal").click()
    page.locator(".chips .chip").nth(2).hover()
    assert "is looked at by" not in page.locator(".says").inner_text(), "its tokens are those of the target"


PEAR = "The boy eats the pear and washes it."
BOTTLE = "The boy eats the red bottle and washes it."


def more(page):
    """Opens the fold with the settings of an AttentionView."""
    page.locator(".fold > summary").click()


def readings(page):
    """Of each reading that is drawn: what it is named, its sentence, the changed words, and the marked labels."""
    script = """nodes => nodes.map(node => [node.ariaLabel, node.querySelector('p').innerText,
        ...['.new', '.looks .on'].map(name => [...node.querySelectorAll(name)].map(one => one.innerText.trim()))])"""
    return page.locator(".reading").evaluate_all(script)


def test_two_readings_side_by_side(show, page, transformer):
    page.set_viewport_size({"width": 1440, "height": 900})
    show(AttentionView.of(transformer, PEAR, kind="cross", layer=1, head=3))
    more(page)
    button = page.get_by_role("button", name="before and after")
    expect(button).to_be_disabled()
    page.get_by_role("button", name="pear: another word").press("Enter")
    page.keyboard.type("red bottle")
    page.keyboard.press("Enter")
    assert_reads(page, transformer, BOTTLE)
    place = button.bounding_box()
    button.press("Enter")
    expect(page.locator(".reading")).to_have_count(2)
    expect(button).to_be_focused()
    assert button.bounding_box() == place and button.get_attribute("aria-pressed") == "true"
    assert get(page, "against") == [PEAR, []]
    assert_reads(page, transformer, PEAR, trait="other")
    assert_reads(page, transformer, BOTTLE)
    (name, sentence, new, _), (its_name, its_sentence, its_new, _) = readings(page)
    assert (name, its_name, new, its_new) == (
        "before",
        "now",
        ["pear", "poire"],
        ["red", "bottle", "bouteille", "rouge"],
    )
    assert sentence == f"before: the boy eats the pear and washes it . → {transformer.translate(PEAR)}"
    assert its_sentence == f"now: the boy eats the red bottle and washes it . → {transformer.translate(BOTTLE)}"
    left, right = [page.locator(".reading").nth(at).locator(".looks .label") for at in (0, 1)]
    assert left.first.bounding_box()["y"] == pytest.approx(right.first.bounding_box()["y"], abs=3), "beside each other"
    pixels = page.locator(".reading .map .body canvas:first-child").evaluate_all(
        "all => all.map(one => one.clientWidth)"
    )
    assert pixels[0] / 10 == pixels[1] / 11, "cells of one size"

    # What is pointed at in one is marked in the other, by mouse and by keys, where it is.
    left.nth(6).hover()
    assert [found[3][0] for found in readings(page)] == ["la", "la"] and page.locator(".tip:visible").count() == 1
    said = page.locator(".says").inner_text()
    assert "before: la (2nd) looks at" in said and "now: la (2nd) looks at" in said
    page.locator(".reading").nth(1).locator("[role=application]").nth(1).focus()
    page.keyboard.press("Home")
    assert [found[3] for found in readings(page)] == [["la", "the"], ["la", "the"]], "keys begin at the mouse"
    assert page.locator(".tip:visible").count() == 0, "nor where the mouse rests"
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    assert [found[3] for found in readings(page)][1][0] == "rouge"
    assert readings(page)[0][3] == [] and "before: it has no such place." in page.locator(".says").inner_text()
    page.locator(".reading").nth(0).locator("[role=application]").nth(0).focus()
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    assert get(page, "locked") == ["query", 10], "<eos> is the eleventh token now"
    page.keyboard.press("Escape")
    assert get(page, "locked") is None
    page.evaluate(AXE)
    assert page.evaluate(FIND_BARRIERS)[1] == []
    page.get_by_label("lines from weight").fill("60")
    rows = page.locator(".reading").evaluate_all("all => all.map(one => one.querySelectorAll('.all line').length)")
    for sentence, count in zip((PEAR, BOTTLE), rows, strict=True):
        weights = transformer.attend(sentence, transformer.translate(sentence)).weights[1, 3]
        assert count == int((weights >= 0.6).sum()), "one threshold for both"
    page.locator(".kind", has_text="encoder").click()
    assert [found[2] for found in readings(page)] == [["pear"], ["red", "bottle"]]
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".reading")).to_have_count(0)
    assert_reads(page, transformer, PEAR)


@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (1024, "dark")])
def test_an_edit_is_compared_at_every_width(show, page, transformer, width, scheme):
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 900})
    show(AttentionView.of(transformer, PEAR, against=BOTTLE, layer=1, head=3))
    assert [found[0] for found in readings(page)] == ["other reading", "this reading"]
    more(page)
    page.get_by_role("button", name="before and after").click()
    expect(page.locator(".reading")).to_have_count(0)
    page.get_by_role("button", name="ablate cross 1.3").click()
    page.get_by_role("button", name="before and after").click()
    expect(page.locator(".reading")).to_have_count(2)
    assert get(page, "against") == [PEAR, []], "before the first change"
    boxes = [box.bounding_box() for box in page.locator(".reading").all()]
    assert (boxes[0]["y"] == boxes[1]["y"]) == (width > 390)
    assert "(attention as it is)" in readings(page)[0][1] and "(cross 1.3 ablated)" in readings(page)[1][1]
    assert page.evaluate(FITS), "no page is scrolled sideways"


def drag(page, line, *steps, beside=0):
    """Presses a line at its left end, or so many pixels below, and moves by these steps; the button stays down."""
    box = page.locator(".looks svg").bounding_box()
    place = (
        page.locator(".looks .all line")
        .nth(line)
        .evaluate("line => [line.getAttribute('y1'), line.getAttribute('y2')]")
    )
    start, end = map(float, place)
    x, y = box["x"] + 0.2 * box["width"], box["y"] + start + 0.2 * (end - start) + beside
    page.mouse.move(x, y)
    page.mouse.down()
    for right, down in steps:
        page.mouse.move(x + right, y + down)


def test_a_line_is_dragged(show, page, transformer):
    show(AttentionView.of(transformer, PEAR, kind="cross", layer=1, head=3))
    weights = transformer.attend(PEAR, transformer.translate(PEAR)).weights[1, 3]
    rows = page.locator(".looks .all line").evaluate_all("all => all.map(line => Number(line.getAttribute('y1')))")
    row, column = 9, int(weights[9].argmax())
    line = max(at for at, start in enumerate(rows) if start == max(rows))  # the heaviest of the last row
    before = float(weights[row, column])
    wanted = round(before - 0.5, 2)
    drag(page, line, (-5, 1), (-80, 2))
    assert page.locator(".tip").inner_text() == f"<eos> → <eos> {wanted:.2f}"
    edit = ["weight", "cross", 1, 3, row, column, wanted]
    edited = what_if(transformer, edits=[change_of(edit)]).attend(PEAR, transformer.translate(PEAR)).weights[1, 3, row]
    numbers = page.locator(".looks .lit text").all_text_contents()
    assert numbers == [f"{number:.2f}" for number in edited.tolist() if number >= 0.005], "the others share the rest"
    assert get(page, "edits") == [], "the model reads at the end"
    page.mouse.up()
    expect(page.locator(".whatif")).to_contain_text(f"a weight of {wanted}")
    assert_reads(page, transformer, PEAR, [edit])
    assert get(page, "locked") == ["pair", row, column]
    assert page.get_by_label("weight as a number").input_value() == f"{wanted:.2f}"
    page.get_by_role("button", name="Undo").click()
    assert_reads(page, transformer, PEAR)
    page.evaluate("model.set('locked', null)")

    drag(page, line, (6, 0), (16, 0), beside=6)
    page.mouse.up()
    assert get(page, "edits")[0][6] == round(before + 0.1, 2) and get(page, "locked") == ["pair", row, column]
    page.get_by_role("button", name="Reset").click()
    assert_reads(page, transformer, PEAR)
    page.evaluate("model.set('locked', null)")

    drag(page, line, (0, 10), (3, 32))  # down
    assert page.locator(".tip").inner_text() == f"<eos> → <eos> {round(before - 0.2, 2):.2f}"
    page.keyboard.press("Escape")
    page.mouse.up()
    assert (get(page, "edits"), get(page, "locked"), get(page, "zoom")) == ([], None, "heads"), "Escape takes it back"
    drag(page, line, (2, 1))
    page.mouse.up()
    assert get(page, "locked") == ["pair", row, column] and get(page, "edits") == [], "a click, and no drag"
    page.evaluate("model.set('locked', null)")
    more(page)
    page.get_by_label("show", exact=True).select_option("mean of all heads")
    drag(page, page.locator(".looks .all line").count() - 1, (0, 50))
    page.mouse.up()
    expect(page.get_by_role("button", name="Undo")).to_be_enabled()
    assert get(page, "edits")[0][:4] == ["weight", "cross", None, None], "of all heads that are shown together"


def test_all_that_is_drawn_follows_a_drag_at_once(show, page, transformer):
    """The cell, its row in the map, the lines, the slider, its number, the reading; the model reads at the end."""
    show(AttentionView.of(transformer, PEAR, kind="cross", layer=1, head=3))
    before = float(transformer.attend(PEAR, transformer.translate(PEAR)).weights[1, 3, 9].max())
    cells, numbers = page.get_by_role("application").nth(1), page.get_by_role("application").nth(1).locator("canvas")
    slider, typed = page.get_by_label("weight", exact=True), page.get_by_label("weight as a number")
    starts = page.locator(".looks .all line").evaluate_all("all => all.map(line => Number(line.getAttribute('y1')))")
    line = max(at for at, start in enumerate(starts) if start == max(starts))
    drag(page, line, (-5, 1))
    assert cells.locator(".frame.strong").count() == 1, "the cell is framed"
    pictures, box = [], page.locator(".looks svg").bounding_box()
    for left in (40, 80):
        x, y = box["x"] + 0.2 * box["width"], box["y"] + max(starts)
        page.mouse.move(x - left, y - 3)
        wanted = f"{before - left / 160:.2f}"
        assert (
            page.locator(".says").inner_text().splitlines()[1].startswith(f"<eos> → <eos>: {wanted}. <eos> looks at ")
        )
        assert f"<eos> {wanted}" in page.locator(".says").inner_text().split("looks at")[1]
        assert "kept" not in page.locator(".says").inner_text()
        assert slider.is_enabled() and (float(slider.input_value()), typed.input_value()) == (float(wanted), wanted)
        pictures.append(numbers.evaluate_all("nodes => nodes.map(node => node.toDataURL())"))
    assert all(one != other for one, other in zip(*pictures, strict=True)), "colours and numbers of the map"
    assert (get(page, "edits"), get(page, "locked")) == ([], None), "the model reads at the end"
    page.keyboard.press("Escape")
    page.mouse.up()
    page.mouse.move(5, 5)
    assert page.locator(".says").inner_text().splitlines()[1].startswith("Point at a token")
    assert slider.is_hidden() and cells.locator(".frame").count() == 0

    page.evaluate("model.set('locked', ['pair', 2, 1])")
    at = slider.bounding_box()
    page.mouse.move(at["x"] + 9, at["y"] + at["height"] / 2)
    page.mouse.down()
    page.mouse.move(at["x"] + at["width"] / 2, at["y"] + at["height"] / 2)
    weight = float(slider.input_value())
    assert 0.4 < weight < 0.6 and page.locator(".looks .lit .strong").count() == 1
    assert f"boy: {weight:.2f}. mange looks at" in page.locator(".says").inner_text() and get(page, "edits") == []
    page.mouse.up()
    assert_reads(page, transformer, PEAR, [["weight", "cross", 1, 3, 2, 1, weight]])


def test_the_slider_of_a_weight_comes_with_the_cell_that_is_kept(show, page, transformer):
    """Before, a line in its place says what to do."""
    show(AttentionView.of(transformer, PEAR, kind="cross", layer=1, head=3))
    place, slider = page.locator(".weigh"), page.get_by_label("weight", exact=True)
    hint = "Press a cell to change its weight, or drag a line: up is more, down is less."
    assert place.inner_text() == hint and slider.is_hidden()
    cells = page.get_by_role("application").nth(1)
    box = cells.bounding_box()
    cells.click(position={"x": 1.5 * box["width"] / 11, "y": 2.5 * box["height"] / 11})
    weight = float(transformer.attend(PEAR, transformer.translate(PEAR)).weights[1, 3, 2, 1])
    assert place.inner_text() == "weight of boy for mange (keys: + and −)" and slider.is_visible()
    assert page.get_by_label("weight as a number").input_value() == f"{weight:.2f}"
    assert cells.bounding_box() == box, "nothing moves"
    page.keyboard.press("Escape")
    assert place.inner_text() == hint and slider.is_hidden() and cells.bounding_box() == box
    page.get_by_role("button", name="ablate cross 1.3").click()
    cells.click(position={"x": 1.5 * box["width"] / 11, "y": 2.5 * box["height"] / 11})
    expect(place).to_contain_text("This head is ablated: restore it to change a weight.")
    assert slider.is_hidden()
    page.evaluate("model.set('zoom', 'cell')")
    expect(place).to_be_hidden()


@pytest.mark.parametrize(("width", "height"), [(1024, 768), (1440, 900)])
def test_sentence_and_maps_are_on_one_screen(show, page, transformer, width, height):
    """With now above before, and two lines of guided words; the settings are behind "more", where they move nothing."""
    page.set_viewport_size({"width": width, "height": height})
    view = AttentionView.of(transformer, APPLE, kind="encoder", layer=1, head=3)
    show(view.tell("In this head, it looks for its noun. " * 6, {}))
    ends = [part.bounding_box() for part in page.locator(".told, .rewritten, .looks, .stage .map, .overview").all()]
    assert len(ends) == 5 and all(box["y"] + box["height"] <= height for box in ends)
    page.get_by_role("button", name="ablate encoder 1.3").click()
    expect(page.get_by_role("button", name="Undo")).to_be_visible()
    assert page.locator(".pairing > .faint").all_inner_texts() == ["source", "now", "before"]
    expect(page.locator(".says > div").first).to_have_text("Encoder attention, layer 1, head 3 · ablated.")
    more(page)
    places = [page.locator(part).bounding_box() for part in (".looks", ".chips")]
    page.get_by_label("compare heads").click()
    assert page.locator(".chips").bounding_box() == places[1]
    assert page.locator(".looks").bounding_box()["x"] == places[0]["x"]


def test_a_drag_selects_no_text(show, page, transformer):
    show(AttentionView.of(transformer, PEAR, kind="cross", layer=1, head=3))
    box = page.locator(".looks").bounding_box()
    page.mouse.move(box["x"] + box["width"] + 5, box["y"] - 20)
    page.mouse.down()
    page.mouse.move(box["x"] + 60, box["y"] + 200, steps=4)
    page.mouse.up()
    assert page.evaluate("String(getSelection())") == ""


@pytest.mark.parametrize(("width", "height"), [(1024, 768), (390, 844)])
def test_the_slider_the_cell_and_the_translation_are_on_one_screen(show, page, transformer, width, height):
    """Above the large map, and on a phone below it, with the translation a second time."""
    page.set_viewport_size({"width": width, "height": height})
    show(AttentionView.of(transformer, PEAR, kind="encoder", layer=1, head=3, locked=["pair", 8, 5]))
    slider, cell = page.get_by_label("weight", exact=True), page.locator(".stage .frame.strong")
    slider.focus()
    slider.press("Home")
    expect(page.locator(".whatif")).to_contain_text("a weight of 0")
    expect(slider).to_be_focused()
    shown = page.locator(".outcome" if width < 500 else ".rewritten .present")
    expect(shown).to_contain_text(page.evaluate("model.get('result').text"))
    for part in (slider, cell, shown):
        box = part.bounding_box()
        assert box["y"] >= 0 and box["y"] + box["height"] <= height


def test_the_only_key_keeps_all_the_weight(show, page, transformer):
    show(AttentionView.of(transformer, PEAR, kind="causal", layer=0, head=1))
    starts = page.locator(".looks .all line").evaluate_all("all => all.map(line => Number(line.getAttribute('y1')))")
    drag(page, starts.index(min(starts)), (-5, 1), (-60, 2))
    assert page.locator(".looks .lit text").all_text_contents() == ["1.00"]
    page.mouse.up()
    expect(page.get_by_role("button", name="Undo")).to_be_enabled()
    (edit,) = get(page, "edits")
    assert edit[:6] == ["weight", "causal", 0, 1, 0, 0] and edit[6] < 1
    assert_reads(page, transformer, PEAR, [edit])


def test_a_weight_is_changed_by_keys(show, page, transformer):
    show(AttentionView.of(transformer, PEAR, kind="cross", layer=1, head=3, locked=["pair", 2, 1]))
    before = float(transformer.attend(PEAR, transformer.translate(PEAR)).weights[1, 3, 2, 1])
    page.get_by_role("application").nth(1).focus()
    page.keyboard.down("+")
    page.keyboard.down("+")
    assert page.get_by_label("weight as a number").input_value() == f"{before + 0.1:.2f}" and get(page, "edits") == []
    page.keyboard.up("+")
    weight = round(before + 0.1, 2)
    expect(page.locator(".whatif")).to_contain_text(f"a weight of {weight}")
    assert_reads(page, transformer, PEAR, [["weight", "cross", 1, 3, 2, 1, weight]])
    expect(page.get_by_role("application").nth(1)).to_be_focused()
    for _ in range(4):
        page.keyboard.press("-")
    expect(page.locator(".whatif")).to_have_text(re.compile("a weight of 0$"))
    assert_reads(page, transformer, PEAR, [["weight", "cross", 1, 3, 2, 1, 0]])
    page.keyboard.press("Escape")
    page.keyboard.press("+")
    assert get(page, "edits") == [["weight", "cross", 1, 3, 2, 1, 0]], "nothing is locked"


def test_a_finger_that_scrolls_changes_nothing(show, page, transformer):
    show(AttentionView.of(transformer, PEAR, kind="cross", layer=1, head=3))
    assert page.locator(".looks svg").evaluate("svg => getComputedStyle(svg).touchAction") == "pan-y"
    drag(page, 0, (-20, 0), (-60, 0))
    assert page.locator(".tip").is_visible()
    page.locator(".looks svg").dispatch_event("pointercancel")
    page.mouse.up()
    assert (get(page, "edits"), get(page, "locked")) == ([], None)


def test_no_tooltip_covers_the_words_around_a_finger(show, page, transformer):
    show(AttentionView.of(transformer, PEAR, kind="cross", layer=1, head=3))
    line = page.locator(".looks .all line").last.bounding_box()
    spot = {"x": line["x"] + line["width"] / 2, "y": line["y"] + line["height"] / 2}
    finger = page.context.new_cdp_session(page)
    for by in range(0, 60, 10):
        event = {"type": "touchMove" if by else "touchStart", "touchPoints": [{**spot, "x": spot["x"] - by}]}
        finger.send("Input.dispatchTouchEvent", event)
    assert page.get_by_label("weight as a number").is_visible() and page.locator(".tip").is_hidden()
    finger.send("Input.dispatchTouchEvent", {"type": "touchCancel", "touchPoints": []})
    assert get(page, "edits") == []


def test_what_cannot_be_read_changes_nothing(show, transformer):
    page = show(AttentionView.of(transformer, CAT))
    for word in ("<img src=x onerror=alert(1)>", "</script>", "constructor", "__proto__", "$x$"):
        page.locator(".chips .chip").nth(1).click()
        page.locator(".chips input").fill(word)
        page.keyboard.press("Enter")
        sentence = get(page, "sentence")
        assert word.lower() in sentence.lower()
        assert_reads(page, transformer, sentence)
        page.get_by_role("button", name="Undo").click()
        assert_reads(page, transformer, CAT)
    page.locator(".chips .chip").nth(1).click()
    page.locator(".chips input").fill("the " * 120)
    page.keyboard.press("Enter")
    expect(page.locator(".whatif")).to_contain_text("This sentence has 123 tokens; 100 is the most")
    assert_reads(page, transformer, CAT)
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("100 is the most")).to_have_count(0)
    assert page.locator("img, .seqlearn script").count() == 0


def test_words_drive_the_view(show, transformer):
    view = TranslatorView(transformer, CAT).tell(
        "At [the second step] the model writes chat. [<b>Ablate</b>] a head.",
        {"the second step": {"step": 1, "locked": None}, "<b>Ablate</b>": {"edits": [["ablate", "cross", 0, 0]]}},
    )
    page = show(view)
    assert page.locator(".told").inner_text() == "At the second step the model writes chat. <b>Ablate</b> a head."
    page.get_by_role("button", name="the second step").press("Enter")
    assert get(page, "step") == 1 and page.locator(".written .on").inner_text() == "chat"
    page.get_by_role("button", name="<b>Ablate</b>").click()
    now(page, changed(transformer, (), [Ablate("cross", 0, 0)], CAT, 1))
    expect(page.locator(".before")).to_contain_text("the same words")
    page.get_by_role("button", name="Undo").click()
    now(page, transformer.translate(CAT))
    assert get(page, "edits") == [] and "the same words" not in page.locator(".before").inner_text()


def test_another_model_keeps_the_stored_page(show):
    page = show(TranslatorView(Translator.pretrained("bahdanau", "cpu"), CAT))
    assert page.get_by_label("sentence to translate").get_attribute("readonly") is not None
    assert page.locator("#model, .whatif, .board, .candidates button").count() == 0
    assert json.loads(page.evaluate("JSON.stringify(model.get('data').live)")) is False


def test_python_answers_in_a_notebook(transformer):
    """The same question, asked as the browser asks it, of the view's Python."""
    view = TranslatorView(transformer, APPLE)
    view.set_state({"prefix": ["le"], "edits": [["ablate", "cross", 0, 1]]})
    assert view.translation == changed(transformer, ["le"], [Ablate("cross", 0, 1)], beam=1)
    assert View.page_state(view)["prefix"] == ["le"]


def test_nothing_moves_under_the_pointer(show, transformer):
    """So that a second click frees what the first one has locked."""
    page = show(TranslatorView(transformer, APPLE, step=7))
    box = page.locator(".map canvas").first.bounding_box()
    places = set()
    for column in range(11):
        page.mouse.move(box["x"] + (column + 0.5) * box["width"] / 11, box["y"] + 7.5 * box["height"] / 11)
        places.add(json.dumps(page.locator(".map canvas").first.bounding_box()))
    page.mouse.click(box["x"] + 8.5 * box["width"] / 11, box["y"] + 7.5 * box["height"] / 11)
    assert get(page, "locked") == ["pair", 7, 8]
    places.add(json.dumps(page.locator(".map canvas").first.bounding_box()))
    assert len(places) == 1
    page.mouse.click(box["x"] + 8.5 * box["width"] / 11, box["y"] + 7.5 * box["height"] / 11)
    assert get(page, "locked") is None


def test_a_wider_beam_keeps_what_was_changed(live, transformer):
    edits = [["ablate", "encoder", 1, 3]]
    live.get_by_label("example").select_option("The turtle took the banana because it was delicious.")
    live.locator(".board").get_by_label("3, head of encoder layer 1: not ablated").click()
    live.locator(".more > summary").click()
    live.get_by_label("search").select_option("greedy")
    assert (get(live, "beam"), get(live, "edits")) == (1, edits)
    sentence = get(live, "sentence")
    now(live, what_if(transformer, edits=map(change_of, edits)).translate(sentence))
    live.get_by_label("sentence to translate").fill(CAT)
    live.get_by_label("sentence to translate").press("Enter")
    now(live, what_if(transformer, edits=map(change_of, edits)).translate(CAT))
    assert get(live, "edits") == edits, "a head is ablated until it is restored"
    live.get_by_role("button", name="Reset").click()
    now(live, transformer.translate(CAT))
    assert get(live, "edits") == []
    assert live.evaluate("document.activeElement.className") == "written", "the buttons are gone: it is beside them"


def test_keys_into_the_arithmetic_of_any_head_and_back(show, transformer):
    """While the vectors of a head are on their way, the keyboard keeps its place; Escape goes back from anywhere."""
    page = show(AttentionView.of(transformer, APPLE, kind="cross", layer=1, head=2, locked=["pair", 7, 8]))
    page.locator(".stage [role=application]").nth(1).focus()
    page.keyboard.press("Enter")
    expect(page.locator(".says")).to_contain_text("layer 1, head 2: the arithmetic of one cell")
    expect(page.locator(".stage canvas").first).to_be_visible()
    assert page.evaluate("document.activeElement.closest('.stage') !== null")
    page.get_by_label("zoom to la", exact=False).focus()
    page.keyboard.press("Escape")
    assert get(page, "zoom") == "head" and get(page, "locked") == ["pair", 7, 8]


def test_an_ablated_head_is_seen_to_be_ablated(show, transformer):
    page = show(AttentionView.of(transformer, APPLE, {("cross", 1, 3): "aligns"}, kind="cross", layer=1, head=3))
    weights = "JSON.stringify(model.get('data').maps.map(({ weights: { data } }) => [...new Uint8Array(data.buffer)]))"
    before = page.evaluate(weights)
    page.get_by_role("button", name="ablate cross 1.3").click()
    expect(page.locator(".small.ablated")).to_have_count(1)
    expect(page.locator(".stage .map figcaption")).to_contain_text("ablated")
    page.evaluate("model.set('locked', ['query', 0])")
    assert page.locator(".says").inner_text().endswith("ablated: no weight is left. (kept: Escape or a click frees it)")
    page.evaluate("model.set('locked', null)")
    ablated = "This head is ablated now: all weights are 0, so nothing is passed on. Its role was aligns."
    assert page.locator(".says").inner_text().endswith(ablated)
    grey = (
        "([large, small]) => [large, small].map(node => getComputedStyle(node).filter + getComputedStyle(node).opacity)"
    )
    canvases = [
        page.locator(f"{name} canvas").first.element_handle() for name in (".stage .map .body", ".small.ablated")
    ]
    assert page.evaluate(grey, canvases) == ["grayscale(1)0.35"] * 2, "the large map as the small one"
    page.get_by_role("button", name="Reset").click()
    expect(page.locator(".stage .off")).to_have_count(0)
    assert page.evaluate(weights) == before, "the weights of Python again, to the last bit"


def test_an_ablated_layer_is_grey_and_told(live):
    live.get_by_role("button", name=re.compile("^force le at step 8")).click()
    expect(live.locator(".written .forced")).to_have_count(1)
    for layer in (0, 1):
        live.get_by_role("button", name=f"cross {layer}: ablate the layer").click()
    expect(live.locator(".off figcaption")).to_have_text("mean of all heads · ablated")
    live.evaluate("model.set('step', 7)")
    expect(live.locator(".says")).to_contain_text("is likelier here. The attention that is shown is ablated here.")
    live.get_by_role("button", name="Reset").click()
    expect(live.locator(".off")).to_have_count(0)


def test_what_is_pointed_at_is_told_above_the_maps(show, page, transformer):
    """At the size of a laptop, in sight; and the maps stay where they are, whatever is told."""
    page.set_viewport_size({"width": 1440, "height": 900})
    show(AttentionView.of(transformer, APPLE, kind="encoder", layer=0, head=1))
    says, cells = page.locator(".says"), page.get_by_role("application").nth(1)
    before, heads = page.locator(".rewritten .before").first, page.locator(".overview")
    assert before.inner_text() == "What if? Press a word to swap it, ablate a head, or change a weight."
    assert (
        page.locator(".trail").bounding_box()["y"]
        < says.bounding_box()["y"]
        < page.locator(".looks").bounding_box()["y"]
    )
    places, box = set(), cells.bounding_box()
    for row in range(10):
        page.mouse.move(box["x"] + 30, box["y"] + (row + 0.5) * box["height"] / 11)
        places.add(json.dumps(cells.bounding_box()))
        assert says.evaluate("node => node.scrollHeight <= node.clientHeight"), "all of it is seen"
    assert len(places) == 1
    top = heads.bounding_box()["y"]
    page.get_by_role("button", name="ablate encoder 0.1").click()
    expect(before).to_contain_text("the same words")
    assert heads.bounding_box()["y"] == top, "a change moves nothing"


def test_an_answer_does_not_take_the_text_box_away(live, transformer):
    """A person begins to type a word before the answer to the last question is there."""
    live.evaluate("""() => { const { ask } = live;
        live.ask = async (...question) => {
            live.ask = ask;
            await new Promise(go => (window.answer = go));
            return ask(...question);
        } }""")
    live.get_by_role("button", name="2, head of cross layer 1: not ablated").click()
    live.get_by_role("button", name="girl: another word").press("Enter")
    typed = live.get_by_role("combobox", name="another word for girl")
    typed.press_sequentially("bo")
    live.evaluate("answer()")
    now(live, changed(transformer, edits=[Ablate("cross", 1, 2)]))
    live.keyboard.type("y")
    assert typed.input_value() == "boy"


def test_words_that_ask_two_things_are_one_change(live, transformer):
    live.evaluate("sentence => { model.set('sentence', sentence); model.set('prefix', ['les']); }", CAT)
    now(live, what_if(transformer, ["les"]).translate(CAT, beam=4))
    plain = transformer.translate(CAT, beam=4)
    assert live.locator(".before bdi").inner_text() == plain, "the model was asked without the change, too"
    live.get_by_role("button", name="Undo").click()
    now(live, plain)


def test_a_head_that_is_ablated_first_has_a_before(live, transformer):
    """As by a link, or the words above a view: sentence, beam and edits come together."""
    orange, edits = "The old bird ate the orange because it was sweet.", [["ablate", "encoder", 1, 3]]
    set_all = "(asked) => { for (const [name, value] of Object.entries(asked)) model.set(name, value); }"
    live.evaluate(set_all, {"sentence": orange, "beam": 1, "edits": edits})
    now(live, changed(transformer, edits=edits, sentence=orange, beam=1))
    assert live.locator(".before bdi").inner_text() == transformer.translate(orange)
    assert live.locator(".before del").all_inner_texts()[0] == "elle" and get(live, "edits") == edits
    live.get_by_role("button", name="Reset").click()
    now(live, transformer.translate(orange))


SWAPPED = """async text => {
    if (model.get('steps')) model.set('steps', {});
    model.set('sentence', text);
    const isThere = () => model.get('result').asked.sentence === text
        && (!model.get('steps') || model.get('steps').asked);
    for (let i = 0; i < 500 && !isThere(); i++) await new Promise(done => setTimeout(done, 20));
}"""
DRAWN = """nodes => [nodes.map(node => node.innerText).join(),
    ...[...document.querySelectorAll('canvas')].map(node => node.toDataURL())]"""


@pytest.mark.parametrize("name", ["TranslatorView", "AttentionView"])
def test_a_change_and_back_leaves_every_number(show, page, name):
    """What Python stores in a page comes from the weights of the page, which are not those of the model in Python."""
    page.set_viewport_size({"width": 1300, "height": 900})
    translator = Translator.pretrained("transformer", "cpu")
    if name == "TranslatorView":
        show(TranslatorView(translator, APPLE, beam=4))
    else:
        show(AttentionView.of(translator, APPLE, kind="cross", layer=1, locked=["pair", 7, 5], zoom="cell"))
    panels = page.locator(".seqlearn .panels")
    settled(page)  # all heads are painted
    before = panels.evaluate_all(DRAWN)
    for sentence in (BOY, APPLE):
        page.evaluate(SWAPPED, sentence)
    settled(page)
    assert panels.evaluate_all(DRAWN) == before


def test_escape_frees_and_a_word_goes_to_the_end(live):
    """Escape works wherever the focus is; the text that Tab has selected is not replaced; a cell of other tokens is
    no longer kept; what is back as it was has no "before".
    """
    live.evaluate("model.set('locked', ['pair', 7, 8])")
    live.get_by_role("button", name="Translate").press("Escape")
    assert get(live, "locked") is None
    live.evaluate("model.set('locked', ['pair', 7, 8])")
    live.locator(".ranking .option").nth(1).click()
    assert (get(live, "locked"), get(live, "chosen")) == (None, 1)
    box = live.get_by_label("sentence to translate")
    live.locator(".known > summary").click()
    box.select_text()
    live.get_by_role("button", name="insert apple", exact=True).evaluate("node => node.click()")
    assert box.input_value() == APPLE[:-1] + " apple."
    for sentence, shown in ((BOY, 1), (APPLE, 0)):
        live.evaluate("text => { model.set('sentence', text); }", sentence)
        expect(live.get_by_text("before", exact=True)).to_have_count(shown)
        expect(live.locator(".former")).to_have_count(0)
