"""TranslatorView on a page: what is typed, what is found, and what each token looked at and could have been."""

import json
import re

import pytest
import torch
from browser.pointing import contrast, luminance
from browser.test_jupyterlab import ANSWERS
from hostile import HOSTILE
from playwright.sync_api import expect

from seqlearn.data.text import Language
from seqlearn.translator.translator import Translator
from seqlearn.views import TranslatorView, View
from seqlearn.views.shared.arguments import as_text
from seqlearn.views.shared.packing import unpack

APPLE = "The girl washes the red apple and eats it."
BREAD = "The girl eats the bread."  # the second of four translations has two tokens more: "ne mange pas"
ZEBRA = "Does the zebra wash the old yak?"
LINES = ["the cat sleeps.", "l'homme mange-t-il une pomme ?"]
# Python's part: each message from the page is answered by what stands in `answers`, or by nothing.
ANSWER = """answers => { const revive = (name, part) => part && typeof part.base64 === 'string'
    ? new DataView(Uint8Array.from(atob(part.base64), letter => letter.charCodeAt(0)).buffer) : part;
    window.sent = [];
    let mapped = JSON.stringify(model.get('mapped')); // the map has its own message
    model.save_changes = () => { const now = JSON.stringify(model.get('mapped'));
        if (now !== mapped) return mapped = now;
        const asked = JSON.stringify(Object.fromEntries(['sentence', 'beam', 'prefix', 'edits'].map(
            (name) => [name, model.get(name)])));
        if (sent.at(-1) !== asked) sent.push(asked);
        const answer = answers.find(([given]) => JSON.stringify(given) === asked);
        if (!answer || JSON.stringify(model.get('result').asked) === asked) return;
        model.set('result', JSON.parse(answer[1], revive));
    } }"""


@pytest.fixture(scope="module")
def transformer():
    return Translator.pretrained("transformer", "cpu")


@pytest.fixture
def live(show, page):
    """Opens the page of a view as it is in a notebook, where Python knows the answers of these views."""

    def open_page(view, *answers):
        show(as_in_a_notebook(view))
        page.evaluate(ANSWER, [[one.result["asked"], sent(one)] for one in answers])
        return page

    return open_page


def as_in_a_notebook(view):
    view.page_model = lambda: None
    view.page_state = lambda live=False: View.page_state(view)
    return view


def sent(view):
    """What Python sends to the browser, as JSON."""
    page = as_in_a_notebook(view).to_html()
    return json.dumps(json.loads(re.search(r'id="state">(.*?)</script>', page, re.S)[1])["result"])


def no_attention():
    torch.manual_seed(3)
    sides = [Language.learn(language, LINES) for language in ("en", "fr")]
    return Translator.new("seq2seq", *sides, embed_size=8, num_hiddens=8)


def box(page):
    return page.get_by_label("sentence to translate")


def said(page):
    return page.locator(".says").inner_text().split("\n")


def note(page):
    return page.locator(".note").inner_text()


def pieces(page, selector=""):
    return page.locator(f".written .piece{selector}").all_text_contents()


def bars(page):
    """Each row: sign and rank, token, the width of its bar as a share, number."""
    script = """rows => rows.map(row => [row.cells[0].textContent, row.cells[1].textContent,
        parseFloat(row.querySelector('.bar').style.width) / 100, row.cells[3].textContent])"""
    return page.locator(".candidates tr").evaluate_all(script)


def get(page, name):
    return page.evaluate(f"model.get('{name}')")


def as_number(weight):
    return "<0.005" if 0 < weight < 0.005 else f"{weight:.2f}"


def chance(p):
    """A probability as the view writes it; the odds have two digits."""
    if p >= 0.005:
        return f"{p:.2f}"
    odds = float(f"{1 / p:.1e}") if p > 1e-9 else 0
    many = f"{odds / 1e6:,g} million" if odds >= 1e6 else f"{odds:,.0f}"
    return f"1 in {many}" if odds else "about 0"


def test_the_first_look(show, transformer):
    page = show(TranslatorView(transformer, APPLE, step=8))
    assert page.locator(".chips .chip").all_text_contents() == "the girl washes the red apple and eats it .".split()
    assert page.locator(".written").inner_text() == "la fille lave la pomme rouge et la mange. <eos>"
    assert pieces(page, ".on") == ["mange"]
    size = page.locator(".written").evaluate("node => parseFloat(getComputedStyle(node).fontSize)")
    assert size >= 20, "to be read on a projector"
    assert said(page)[0] == "At step 9 the model writes mange (1.00) and looks at eats (0.87), it (0.12)."
    assert page.locator(".candidates caption").inner_text() == "step 9: what may come after … pomme rouge et la"
    assert page.locator(".ranking, .unknown").count() == 0
    top = page.locator(".written").bounding_box()["y"]
    assert top < page.locator(".looks").bounding_box()["y"] == page.locator(".candidates").bounding_box()["y"]


@pytest.mark.parametrize("step", [0, 3, 4, 10])
def test_the_bars_are_the_numbers_of_the_model(show, transformer, step):
    view = TranslatorView(transformer, ZEBRA, beam=4, chosen=3, step=step)
    page, after = show(view), view.result["best"][3]["next"][step]
    shown = bars(page)
    signs = [("▶ " if place == after["written"] else "") + f"{rank}." for place, rank in enumerate(after["ranks"])]
    assert [row[:2] for row in shown] == [*map(list, zip(signs, after["tokens"], strict=True)), ["", "643 others"]]
    for row, value in zip(shown, [*after["probs"], after["others"]], strict=True):
        assert row[2] == pytest.approx(value, abs=0.002)
        assert row[3] == chance(value)
    chosen = page.locator(".candidates tr").nth(after["written"])
    assert chosen.evaluate("row => getComputedStyle(row.cells[1]).fontWeight") == "700"


def test_a_likelier_token_is_named(show, transformer):
    view = TranslatorView(transformer, ZEBRA, beam=4)
    chosen, step = next(
        (chosen, step)
        for chosen, one in enumerate(view.result["best"])
        for step, after in enumerate(one["next"])
        if after["written"] > 0
    )
    view.chosen, view.step = chosen, step
    after = view.result["best"][chosen]["next"][step]
    likelier = f"though {after['tokens'][0]} ({chance(after['probs'][0])}) is likelier here, and looks at "
    page = show(view)
    assert likelier in said(page)[0]
    assert page.locator(".candidates .chosen th").all_text_contents() == [view.result["best"][chosen]["tokens"][step]]


def test_the_candidates_of_a_word_stay_on_the_way_to_them(show, transformer):
    page = show(TranslatorView(transformer, APPLE))
    caption = page.locator(".candidates caption")
    page.locator(".written .piece").nth(7).hover()
    expect(caption).to_contain_text("step 8")
    box = page.locator(".candidates").bounding_box()
    page.mouse.move(box["x"] + 60, box["y"] - 40, steps=20)
    page.mouse.move(box["x"] + 60, box["y"] + 60, steps=20)
    assert "step 8" in caption.inner_text()
    page.get_by_role("button", name="Next").click()
    assert "step 2" in caption.inner_text(), "a step that is chosen is listed at once"
    page.locator(".written .piece").nth(7).hover()
    expect(caption).to_contain_text("step 8")
    page.evaluate("document.querySelector('.seqlearn').dispatchEvent(new PointerEvent('pointerleave'))")
    page.mouse.move(5, 1)
    expect(caption).to_contain_text("step 2")


def test_typing_a_sentence(live, transformer):
    view, answer = TranslatorView(transformer, APPLE, step=8), TranslatorView(transformer, ZEBRA)
    page = live(view, answer)
    box(page).fill(ZEBRA)
    assert get(page, "sentence") == APPLE, "nothing is sent while typing"
    page.keyboard.press("Enter")
    question = {"sentence": ZEBRA, "beam": 1, "prefix": [], "edits": []}
    assert page.evaluate("sent") == [json.dumps(question, separators=(",", ":"))]
    assert page.locator(".written").inner_text() == f"{answer.translation} <eos>"
    assert page.locator(".chips .chip").all_text_contents() == [
        "does",
        "the",
        "zebra?",
        "wash",
        "the",
        "old",
        "yak?",
        "?",
    ]
    unknown = "“zebra”, “yak” were never seen in training; they are read as <unk>. (The model knows 432 tokens.)"
    assert note(page) == f"Do not trust this translation: the model itself gives it a probability of 0.03. {unknown}"
    assert page.locator(".former").count() == 0 and box(page).evaluate("node => node === document.activeElement")
    box(page).press_sequentially(" And")
    page.evaluate("model.set('result', { ...model.get('result'), known: 9 })")
    assert box(page).input_value() == f"{ZEBRA} And", "what is being typed stays when Python answers"
    page.evaluate("model.set('sentence', 'set by Python')")
    assert box(page).input_value() == "set by Python"


def test_the_button_and_the_search(live, transformer):
    page = live(TranslatorView(transformer, APPLE), TranslatorView(transformer, ZEBRA, beam=4))
    box(page).fill(ZEBRA)
    page.locator(".more > summary").click()
    assert page.get_by_label("search").locator("option").all_text_contents() == ["greedy", "beam 2", "beam 4", "beam 8"]
    page.get_by_label("search").select_option("beam 4")
    assert (get(page, "sentence"), get(page, "beam")) == (ZEBRA, 4), "with what stands in the box"
    assert page.locator(".ranking .option").count() == 4
    box(page).fill(APPLE)
    page.get_by_role("button", name="Translate").click()
    assert get(page, "sentence") == APPLE and len(page.evaluate("sent")) == 2


def test_while_python_is_busy(live, transformer):
    page = live(TranslatorView(transformer, APPLE, step=8))
    assert note(page) == "Type a sentence and press Enter. The model knows 432 tokens."
    box(page).fill("The cat sleeps.")
    page.keyboard.press("Enter")
    start = "“The cat sleeps.” (greedy) is not translated yet: Python is busy, not running, or failed"
    assert note(page).startswith(start) and note(page).endswith("Below is the former translation.")
    assert page.locator(".pairing.former, .panels.former").count() == 2 and pieces(page, ".on") == ["mange"]
    expect(page.locator(".former").first).to_have_css("filter", "grayscale(1)")
    page.get_by_label("previous step").click()
    assert pieces(page, ".on") == ["la"], "it can still be read"
    box(page).fill(APPLE)
    page.keyboard.press("Enter")
    assert page.locator(".former").count() == 0 and note(page).startswith("Type a sentence")


@pytest.mark.parametrize(
    ("sentence", "wrong"), [("", "There is nothing to translate"), ("a " * 101, "101 tokens; 100 is")]
)
def test_what_is_wrong_is_told_at_the_text_box(live, transformer, sentence, wrong):
    view, answer = TranslatorView(transformer, APPLE), TranslatorView(transformer, APPLE)
    answer.sentence = sentence.strip()
    page = live(view, answer)
    assert box(page).get_attribute("aria-invalid") == "false"
    box(page).fill(sentence.strip())
    page.keyboard.press("Enter")
    assert box(page).get_attribute("aria-invalid") == "true"
    assert page.locator(f"#{box(page).get_attribute('aria-describedby')}").inner_text() == note(page)
    assert wrong in note(page) and note(page).endswith("Below is the former translation.")
    assert page.locator(".former").count() == 2 and pieces(page)[0] == "la"
    assert page.locator(".note").evaluate("node => getComputedStyle(node, '::before').content") == '"⚠"'
    assert box(page).evaluate("node => getComputedStyle(node).borderStyle") == "dashed"


def test_steps(show, transformer):
    page = show(TranslatorView(transformer, APPLE))
    assert page.get_by_label("previous step").is_disabled()
    page.get_by_label("next step").click()
    assert get(page, "step") == 1 and pieces(page, ".on") == ["fille"]
    page.get_by_label("step", exact=True).press("End")
    assert get(page, "step") == 10 and pieces(page, ".on") == ["<eos>"]
    assert page.get_by_label("step", exact=True).get_attribute("aria-valuetext") == "11 of 11: <eos>"
    assert said(page)[0].startswith("At step 11 the model writes <eos> (1.00) and looks at ")
    page.get_by_role("application").first.focus()
    page.keyboard.press("PageUp")
    assert get(page, "step") == 9 and pieces(page, ".on") == ["."], "and no longer what the keys were on"


def test_a_token_is_pointed_at_and_locked(show, transformer):
    page = show(TranslatorView(transformer, APPLE))
    token = page.locator(".written .piece").nth(5)
    token.hover()
    assert said(page) == ["At step 6 the model writes rouge (1.00) and looks at red (1.00)."]
    expect(page.locator(".candidates .chosen th")).to_have_text("rouge")  # after a pause
    assert bars(page)[0][:2] == ["▶ 1.", "rouge"] and get(page, "step") == 0, "hovering stays in the browser"
    assert page.locator(".looks .label.on").all_text_contents() == ["rouge", "red"]
    token.click()
    assert (get(page, "locked"), get(page, "step")) == (["query", 5], 5)
    page.mouse.move(5, 5)
    assert said(page) == [
        "At step 6 the model writes rouge (1.00) and looks at red (1.00). (kept: Escape or a click frees it)"
    ]
    page.get_by_label("next step").click()
    assert (get(page, "locked"), get(page, "step")) == (["query", 6], 6), "the lock follows"
    page.locator(".written .piece").nth(6).click()
    assert (get(page, "locked"), get(page, "step")) == (None, 6)


def test_keys_in_the_translation(show, transformer):
    page = show(TranslatorView(transformer, APPLE, step=4))
    written = page.get_by_role("application", name="The translation, 11 tokens. Left and right move, Enter keeps.")
    assert written.get_attribute("aria-label").startswith("la fille lave la pomme rouge et la mange. ")
    page.locator(".more > summary").focus()
    for _ in range(2):  # the words of the source are one stop
        page.keyboard.press("Tab")
    for key, token in [
        ("ArrowRight", "rouge"),
        ("ArrowLeft", "pomme"),
        ("Home", "la"),
        ("ArrowLeft", "la"),
        ("End", "<eos>"),
    ]:
        page.keyboard.press(key)
        assert pieces(page, ".on") == [token], key
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowLeft")
    assert (get(page, "locked"), get(page, "step")) == (["query", 9], 9)
    page.keyboard.press("Escape")
    assert get(page, "locked") is None


def test_lines_and_cells(show, transformer):
    view = TranslatorView(transformer, APPLE, step=2)
    page, weights = show(view), unpack(view.result["best"][0]["attention"]["average"])
    assert page.locator(".looks .all line").count() == int((weights >= 0.05).sum())
    page.locator(".looks .keys .label").nth(5).hover()
    assert said(page)[1].startswith("apple is looked at by pomme 0.97, la (2nd) 0.47")
    assert pieces(page, ".on") == ["lave"], "the step stays"
    page.locator(".looks .keys .label").nth(5).click()
    assert (get(page, "locked"), get(page, "step")) == (["key", 5], 2) and "(kept: Escape" in said(page)[0]
    cells = page.locator(".map [role=application]")
    cells.click(position={"x": 8.5 * cells.bounding_box()["width"] / 11, "y": 7.5 * 26})
    assert (get(page, "locked"), get(page, "step")) == (["pair", 7, 8], 7)
    assert said(page)[0].startswith("At step 8 the model writes la (") and said(page)[1].startswith(
        "The weight of it for la (3rd) is 0.52."
    )
    page.evaluate("model.set('locked', ['pair', 50, 50])")
    assert pieces(page, ".on") == ["la"] and "locked" not in "".join(said(page)), "there is no such token"


def test_one_head_of_many(show, transformer):
    view = TranslatorView(transformer, APPLE, step=7)
    page, weights = show(view), unpack(view.result["best"][0]["attention"]["weights"])
    options = page.get_by_label("attention", exact=True).locator("option").all_text_contents()
    assert options[:3] == ["mean of all heads", "layer 0, mean", "layer 0, head 0"] and len(options) == 1 + 2 * 5
    for text, expected in (("layer 1, head 2", weights[1, 2]), ("layer 0, mean", weights[0].mean(0))):
        page.get_by_label("attention", exact=True).select_option(text)
        assert page.locator(".map figcaption").inner_text() == text
        assert page.locator(".looks .all line").count() == int((expected >= 0.05 - 1e-6).sum())
        best = int(expected[7].argmax())
        named = re.search(r"looks at (\S+)(?: \[\d\])? \((.*?)\)", said(page)[0])
        assert named.groups() == (view.result["source"][best], as_number(float(expected[7, best])))


def in_the_page(page, text):
    """Waits until the model in the page has translated this sentence."""
    expect(page.locator(".former")).to_have_count(0)
    expect(box(page)).to_have_value(text)


def test_a_swapped_word_that_is_unknown_can_be_typed_again(show, page, transformer):
    """Its box opens anew with the word selected, and the note about it is on the screen."""
    page.set_viewport_size({"width": 800, "height": 500})
    show(TranslatorView(transformer, APPLE))
    page.evaluate("document.querySelector('.chips').scrollIntoView()")
    typed = page.locator("input.chip")
    page.get_by_role("button", name="swap apple: another word").press("Enter")
    typed.fill("lemom")
    typed.press("Enter")
    in_the_page(page, APPLE.replace("apple", "lemom"))
    expect(typed).to_be_focused()
    assert typed.input_value() == page.evaluate("getSelection().toString()") == "lemom"
    assert "lemom: try lemon" in note(page) and page.locator(".note").bounding_box()["y"] >= 0
    typed.press("Escape")
    expect(page.get_by_role("button", name="swap lemom, never seen in training: another word")).to_be_focused()
    page.keyboard.press("Enter")
    typed.fill("pear")
    typed.press("Enter")
    in_the_page(page, APPLE.replace("apple", "pear"))
    assert typed.count() == 0 and note(page) == ""


def test_keys_change_the_weight_of_a_cell_that_is_kept(show, page, transformer):
    """The cell stays, also where the translation becomes another one from its step on."""
    show(TranslatorView(transformer, APPLE, locked=["pair", 0, 1]))
    cells, typed = page.locator(".map [role=application]"), page.get_by_label("weight as a number")
    assert "On the map, the keys + and − change it." in said(page)[1]
    start = float(typed.input_value())
    cells.press("Control++")
    page.locator(".written").press("+")
    assert get(page, "edits") == []
    for key, by in (("+", 0.1), ("=", 0.2), ("-", 0.1)):
        cells.press(key)
        assert get(page, "edits") == [["weight", "cross", None, None, 0, 1, pytest.approx(start + by, abs=0.006)]]
    for _ in range(9):
        cells.press("+")
    assert get(page, "edits")[0][-1] == 1, "and no more"
    expect(page.locator(".former")).to_have_count(0)
    expect(typed).to_have_value("1.00")
    assert pieces(page)[:2] == ["fille", "lave"]
    assert get(page, "locked") == ["pair", 0, 1]
    expect(cells).to_be_focused()


def test_on_a_phone_the_slider_of_a_weight_is_below_the_map(show, page, transformer):
    page.set_viewport_size({"width": 390, "height": 844})
    show(TranslatorView(transformer, APPLE, locked=["pair", 4, 5]))
    below = page.locator(".map").bounding_box()
    assert 0 < page.locator(".weigh").bounding_box()["y"] - below["y"] - below["height"] < 60
    page.set_viewport_size({"width": 1300, "height": 1400})
    expect(page.locator(".says .weigh")).to_be_visible()


def test_the_translations_found(show, transformer):
    view = TranslatorView(transformer, ZEBRA, beam=4, step=10)
    page, best = show(view), view.result["best"]
    rows = page.locator(".ranking .option")
    for i, one in enumerate(best):
        score = f"{one['score']:.2f}".replace("-", "−")
        words = f"{'▶' if i == 0 else ''} {i + 1}.{one['text']}{score}{chance(one['probability'])}"
        assert rows.nth(i).text_content() == words
    rows.nth(2).click()
    assert get(page, "chosen") == 2 and rows.nth(2).get_attribute("aria-selected") == "true"
    assert page.locator(".written").inner_text().startswith(best[2]["text"])
    assert bars(page)[0][1] == best[2]["next"][10]["tokens"][0]
    page.get_by_role("listbox").focus()
    for key, chosen in [("ArrowDown", 3), ("ArrowDown", 3), ("Home", 0), ("End", 3), ("ArrowUp", 2)]:
        page.keyboard.press(key)
        assert get(page, "chosen") == chosen, key
        active = page.get_by_role("listbox").get_attribute("aria-activedescendant")
        assert page.locator(f"#{active}").text_content().startswith(f"▶ {chosen + 1}.")


def test_small_numbers(show, transformer):
    page = show(TranslatorView(transformer, "The cat sleeps.", beam=2))
    assert page.locator(".scores").all_text_contents() == ["0.001.00", "−5.471 in 2,600"], "not −0.00"


def test_a_shorter_translation(show, transformer):
    view = TranslatorView(transformer, BREAD, beam=4, chosen=1, locked=["query", 8])
    page = show(view)
    page.get_by_role("listbox").press("Home")
    assert (get(page, "step"), get(page, "locked")) == (6, None)
    view.chosen, view.step = 1, 8
    page = show(view)
    page.evaluate("model.set('chosen', 0)")
    assert pieces(page, ".on") == ["<eos>"], "Python has not said yet which step"


def test_a_model_without_attention(show):
    page = show(TranslatorView(no_attention(), "the cat sleeps.", beam=2, chosen=1))
    assert page.locator(".blind").inner_text().startswith("This model has no attention to look at")
    assert page.locator(".looks, .map").count() == 0 and page.get_by_label("attention", exact=True).count() == 0
    assert re.fullmatch(r"At step 1 the model writes .* \(0\.\d\d\).*\.", said(page)[0]) and len(bars(page)) == 7
    page.locator(".written .piece").first.click()
    assert get(page, "locked") == ["query", 0] and "kept: Escape" in said(page)[0]


def test_a_decoder_only_model(live):
    """The target so far has columns, too; an edited weight belongs to a row of the whole sequence."""
    torch.manual_seed(3)
    sides = [Language.learn(language, LINES) for language in ("en", "fr")]
    translator = Translator.new("decoder", *sides, num_hiddens=8, ffn_num_hiddens=8, num_heads=2, num_layers=1)
    view = TranslatorView(translator, "the cat sleeps.")
    attention = view.result["best"][0]["attention"]
    assert attention["keys"][4:6] == ["<eos>", "<bos>"] and len(attention["queries"]) > 3
    page = live(view)
    assert page.locator(".blind").count() == 0
    page.evaluate("model.set('locked', ['pair', 3, 7])")
    typed = page.get_by_label("weight as a number")
    assert float(typed.input_value()) == pytest.approx(float(unpack(attention["average"])[3, 7]), abs=0.006)
    typed.fill("0.9")
    typed.press("Enter")
    assert get(page, "edits") == [["weight", "causal", None, None, 5 + 3, 7, 0.9]]


def test_another_translator_in_the_same_place(live, transformer):
    page = live(TranslatorView(transformer, APPLE))
    page.get_by_label("attention", exact=True).select_option("layer 1, head 3")
    for translator, options in ((Translator.pretrained("bahdanau", "cpu"), 0), (transformer, 1)):
        given = sent(TranslatorView(translator, APPLE))
        page.evaluate(ANSWER, [[{"sentence": APPLE, "beam": 2, "prefix": [], "edits": []}, given]])
        page.evaluate("model.set('beam', 2); model.save_changes(); model.set('beam', 1)")
        assert page.get_by_label("attention", exact=True).count() == options
    assert page.locator(".map figcaption").inner_text() == "mean of all heads", "the former model had no such head"


def test_a_page_without_a_model(show):
    page = show(TranslatorView(Translator.pretrained("bahdanau", "cpu"), ZEBRA, beam=4))
    assert box(page).get_attribute("readonly") is not None and box(page).input_value() == ZEBRA
    assert page.get_by_role("button", name="Translate").is_disabled() and page.get_by_label("search").count() == 0
    assert note(page).startswith("Another sentence needs Python: run the notebook. Do not trust this translation: ")
    box(page).press("Enter")
    assert get(page, "sentence") == ZEBRA and page.locator(".former").count() == 0


def test_any_sentence_is_text(live, transformer):
    view = TranslatorView(transformer, APPLE)
    page = live(view)
    for start in range(7):  # a sentence has 100 tokens at most
        view.sentence = sentence = as_text(" ".join(HOSTILE[start::7]))
        assert view.result["problem"] == ""
        page = live(view)
        assert page.locator(".chips bdi").all_text_contents() == [
            text.replace("\n", "⏎").replace("\t", "⇥") for text in view.result["source"]
        ]
        assert page.locator("img, .seqlearn script, .seqlearn b").count() == 0
        assert box(page).input_value() == re.sub(r"[\r\n]", "", sentence)
    for text in HOSTILE[:20]:
        box(page).fill(text)
        page.keyboard.press("Enter")
        assert page.locator(".note .token").text_content() == text, "it waits for Python"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark(live, page, transformer, scheme):
    page.emulate_media(color_scheme=scheme)
    live(TranslatorView(transformer, ZEBRA, beam=4, step=4))
    assert (luminance(page, ".seqlearn", "backgroundColor") > 0.5) == (scheme == "light")
    for selector in (".written", ".note", ".candidates .chosen th", ".candidates tr:nth-child(3) td", ".scores"):
        assert contrast(page, selector, "color") >= 4.5, selector
    for selector in (".candidates .chosen .bar", ".candidates tr:nth-child(3) .bar"):
        assert contrast(page, selector, "backgroundColor") >= 3, selector
    unknown, known = (page.locator(selector).first for selector in (".chip.unknown", ".chip:not(.unknown)"))
    style = "node => [getComputedStyle(node).borderStyle, getComputedStyle(node.firstChild).textDecorationStyle]"
    assert unknown.evaluate(style) == ["dashed", "dotted"] and known.evaluate(style)[0] == "solid"
    assert "never seen in training, read as <unk>" in page.locator(".legend").last.inner_text()


def test_a_narrow_window(show, page, transformer):
    page.set_viewport_size({"width": 320, "height": 900})
    for sentence in (ZEBRA, "the girl " * 50, "x" * 500 + " the"):
        show(TranslatorView(transformer, sentence, beam=4))
        assert page.evaluate("document.documentElement.scrollWidth") <= 320
        assert page.locator(".candidates").bounding_box()["width"] <= 300
        assert box(page).bounding_box()["width"] > 150
    page.set_viewport_size({"width": 1300, "height": 1400})
    expect(page.locator(".panels").first).to_have_js_property("clientWidth", 1280)  # it takes the room that it gets


HOVER = """const pieces = document.querySelectorAll('.written .piece'); const says = document.querySelector('.says');
    const before = says.textContent;
    pieces[(i + 1) % pieces.length].dispatchEvent(new PointerEvent('pointermove', { bubbles: true }));
    return () => says.textContent !== before"""
CHOOSE = """const before = document.querySelector('.written').textContent; model.set('chosen', (i + 1) % 2);
    return () => document.querySelector('.ranking').getAttribute('aria-activedescendant').endsWith(`${(i + 1) % 2}`)"""


def test_100_tokens_answer_the_mouse_and_the_choice(show, transformer):
    page = show(TranslatorView(transformer, "the girl " * 50, beam=8))
    for act in (HOVER, CHOOSE):
        page.evaluate(ANSWERS, act)


def test_tab_goes_from_the_map_to_a_candidate(show, transformer):
    """The candidates of the row that had the focus stay while a person chooses, and a ring shows where the focus is."""
    page = show(TranslatorView(transformer, APPLE, step=7))
    page.locator(".lines [role=application], .looks [role=application]").first.focus()
    page.keyboard.press("Tab")  # to the map: the keys begin in the row of the step
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.ariaLabel").startswith("force l' at step 8")
    assert page.locator(".candidates th:has(:focus-visible)").evaluate("node => getComputedStyle(node).overflow") == (
        "visible"
    ), "the ring is whole"
    caption = page.locator(".candidates caption")
    before = caption.inner_text()
    page.keyboard.press("ArrowDown")
    assert caption.inner_text() == before
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement !== document.body")
    assert caption.inner_text().startswith("step 8")


def test_only_the_focus_has_a_blue_ring(show, transformer):
    page = show(TranslatorView(transformer, APPLE, step=7, locked=["key", 3]))
    for name in (".chip.on", ".written .looks-there"):
        assert page.locator(name).first.evaluate("node => getComputedStyle(node).boxShadow") == "none", name
