"""The page with all views: each of them draws, answers, and keeps to itself."""

import re

import pytest
from browser.test_family import AXE, CUT, FIND_BARRIERS, FITS
from playwright.sync_api import expect
from views.samples import PLAIN, SAMPLES

from seqlearn.data.text import SPECIALS
from seqlearn.translator.translator import Translator
from seqlearn.translator.whatif import Ablate, what_if
from seqlearn.views import AttentionView, TranslatorView
from seqlearn.views.gallery import ORANGE, SENTENCE, TITLE, all_views, gallery

FRENCH_UP_TO_LE = "la fille lave la pomme rouge et le".split()


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    path = tmp_path_factory.mktemp("gallery") / "gallery.html"
    gallery(all_views(), path)
    return path


@pytest.mark.parametrize(("scheme", "width"), [("light", 1024), ("dark", 320)])
def test_all_views_stand_on_one_page(page, written, scheme, width):
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(written.as_uri())
    headings = page.locator("h2").all_inner_texts()
    assert page.locator("h1").inner_text() == TITLE
    assert len(headings) == len(set(headings)) == len(SAMPLES) and all(text.endswith("?") for text in headings)
    assert page.locator("nav a").all_inner_texts() == headings
    assert page.locator("main .seqlearn .says").count() == len(SAMPLES)
    page.evaluate(AXE)
    _, found = page.evaluate(FIND_BARRIERS)
    assert found == []
    assert page.evaluate(FITS)
    assert page.evaluate(CUT) == [], "no text is cut off"


STOP = """() => { const view = document.activeElement.closest('.seqlearn');
    if (!view) return null;
    const [note, focus] = [view.querySelector(':scope > .says'), document.activeElement].map(
        node => node.getBoundingClientRect());
    return [note.top >= 0 && note.bottom <= innerHeight + 1, note.top < focus.bottom && focus.top < note.bottom] }"""


def test_the_note_stays_on_the_screen_for_the_keyboard(page, written):
    page.set_viewport_size({"width": 1024, "height": 768})
    page.goto(written.as_uri())
    stops = []
    while len(stops) < 100:
        page.keyboard.press("Tab")
        if stop := page.evaluate(STOP):
            stops.append(stop)
    seen, covers = map(sum, zip(*stops, strict=True))
    assert seen > 90 and covers == 0, "and covers nothing that has the focus"
    where = "node => getComputedStyle(node).position"
    notes = page.locator(".says").evaluate_all(f"nodes => nodes.map({where})")
    assert notes.count("sticky") == 1, "of the view with the focus"
    page.emulate_media(media="print")
    assert "sticky" not in page.locator(".says").evaluate_all(f"nodes => nodes.map({where})")


COVERED = """word => { const part = word.closest('section'), box = one => one.getBoundingClientRect();
    const note = box(part.querySelector('.says'));
    const parts = [...part.querySelectorAll('.panels, .controls, .pairing')].map(box);
    return Math.max(0, ...parts.map(one => Math.min(one.bottom, note.bottom) - Math.max(one.top, note.top))) }"""


def test_the_note_covers_nothing_where_the_tab_key_enters(page, written):
    """On the first word above each view; the page scrolls so that the view is in sight, too."""
    page.set_viewport_size({"width": 1024, "height": 768})
    page.goto(written.as_uri())
    for told in page.locator(".told:has(button)").all():
        word = told.get_by_role("button").first
        word.evaluate("word => word.closest('section').querySelector('h2').scrollIntoView({ block: 'end' })")
        word.evaluate("word => word.focus({ focusVisible: true })")
        page.keyboard.press("Enter")
        assert word.evaluate(COVERED) <= 12, word.inner_text()


def test_the_intro_counts_the_words(page, written):
    page.goto(written.as_uri())
    transformer = Translator.pretrained("transformer", "cpu")
    own = [language.vocab.tokens[len(SPECIALS) :] for language in (transformer.source, transformer.target)]
    said = f"It reads {len(own[0])} English words and writes {len(own[1])} French ones. seqlearn view tatoeba"
    assert said in page.locator("header p").inner_text() and page.locator("header code").count() == 1


def test_a_view_changes_itself_alone(page, written):
    page.goto(written.as_uri())
    parts = page.locator("section")
    parts.nth(1).locator(".fall-scale").wait_for()  # the map of its heads comes after the view itself
    before = parts.all_inner_texts()
    beam = page.get_by_role("region", name="beam search, step by step")
    beam.get_by_label("previous step").click()
    changed = [old != new for old, new in zip(before, parts.all_inner_texts(), strict=True)]
    assert changed == [part.locator(".tree").count() == 1 for part in parts.all()] and sum(changed) == 1


def test_the_gallery_answers(page, written):
    """The words above a view change it, and the Transformer in the page says what becomes of the sentence."""
    page.goto(written.as_uri())
    first = page.locator("section").nth(1)  # after the riddle
    first.get_by_role("button", name="le", exact=True).first.click()
    text = what_if(Translator.pretrained("transformer", "cpu"), FRENCH_UP_TO_LE).translate(SENTENCE, beam=4)
    expect(first.locator(".written")).to_contain_text(text)
    assert written.stat().st_size < 3_000_000


def test_the_riddle_leads_to_the_translator_on_its_page(page, written):
    page.goto(written.as_uri())
    riddle = page.get_by_role("region", name="a riddle")
    riddle.locator("[data-head='encoder 0 1']").click()
    riddle.get_by_role("button", name="The next riddle").click()
    riddle.locator("[data-head='encoder 1 3']").click()
    riddle.get_by_role("button", name="try sentences of your own").click()
    expect(page.locator("section").nth(1).get_by_label("sentence to translate")).to_be_focused()


def test_the_words_above_a_view_show_what_they_say(page, written):
    page.goto(written.as_uri())

    def part(heading):
        return page.locator("section", has=page.get_by_role("heading", name=heading))

    def word(section, text):
        section.locator(".told").get_by_role("button", name=text, exact=True).click()

    average = part("Can an average know what you ask for?")
    average.locator("select").select_option("boxcar")
    curve = average.locator(".regression .prediction")
    heights = {}
    for text in ("a narrow kernel", "One wrong reading", "a wide one", "hardly any"):
        word(average, text)
        path = [float(y) for y in re.findall(r"[ML ,][\d.]+[ ,]([\d.]+)", curve.get_attribute("d"))]
        heights[text] = path
    dents = [
        max(abs(one - two) for one, two in zip(heights[before], heights[after], strict=True))
        for before, after in (("a narrow kernel", "One wrong reading"), ("a wide one", "hardly any"))
    ]
    assert dents[0] > 60 and dents[1] < 15, "in pixels"
    assert average.get_by_role("button", name="put the readings back").is_enabled()
    assert average.locator("select").input_value() == "gaussian"
    word(average, "One wrong reading")
    dented, before = heights["One wrong reading"], heights["a narrow kernel"]
    _, lowest = max((now - then, now) for now, then in zip(dented, before, strict=True))  # y grows downwards
    answer = float(average.locator(".regression .answer").get_attribute("cy"))
    assert abs(lowest - answer) < 3, "the query at the bottom of the dent"

    twins = part("Which vector decides?")
    chosen = twins.locator(".decision[aria-pressed=true]")
    last = chosen.evaluate("node => [...document.querySelectorAll('.decision')].indexOf(node)")
    twins.locator(".decision").first.click()
    word(twins, "One vector")
    expect(twins.locator(".decision").nth(last)).to_have_attribute("aria-pressed", "true")
    assert chosen.inner_text() == "la" and last > 0

    positions = part("How does the model know the order of words?")
    told = {}
    for text in ("five positions", "from every i", "a slow pair", "distance 0"):
        word(positions, text)
        told[text] = positions.locator(".says").inner_text() + positions.locator(".curve p").inner_text()
    assert "k ω ≈ 1.58 rad = 91°" in told["five positions"] and "k ω ≈ 1.58 rad = 91°" in told["from every i"]
    assert "0.29°" in told["a slow pair"], told
    assert "adds cos(0°)\u00a0= 1. All 8 pairs together: 8." in told["distance 0"]

    steps = part("What does one attention compute?")
    word(steps, "the query girl")
    assert steps.locator(".says").inner_text().splitlines()[0].startswith("product of girl and girl (kept")
    assert steps.get_by_role("slider", name="Q (").get_attribute("aria-valuetext") == "girl, 0: 0", "Q is on the page"
    assert steps.locator(".five .value").nth(3).inner_text() == "0.5 → 0.8"
    word(steps, "the products")
    assert steps.locator(".five .value").first.inner_text() == "4" and steps.get_by_role("status").inner_text() == (
        "step 1 of 5: products"
    )
    word(steps, "the mask")
    assert steps.locator(".says").inner_text().splitlines()[1] == "masked: 0 becomes −∞, and e^−∞ = 0"
    steps.locator(".five button").nth(3).click()
    steps.get_by_role("application").hover(position={"x": 100, "y": 10})
    assert "≈ 0.5" in steps.locator(".says").inner_text()


def test_the_numbers_in_the_stories_of_scores_and_gates(page, written):
    page.goto(written.as_uri())

    def told(part, text):
        part.locator(".told").get_by_role("button", name=text, exact=True).click()

    scores = page.get_by_role("region", name="softmax with a mask")
    weights, total = scores.locator(".number"), scores.locator(".total")
    told(scores, "apple at −1")
    assert weights.first.inner_text() == "0.705" and weights.last.inner_text() == "0.000"
    told(scores, "score 0")
    assert weights.last.inner_text() == "0.032"
    told(scores, "weight 0")
    assert "0.052 of the attention is lost" in total.inner_text() and weights.last.inner_text() == "0.000"
    told(scores, "Score −∞")
    assert total.inner_text().endswith("The weights sum to 1.000.")

    gates = page.get_by_role("region", name="a unit of a GRU")
    update, new = gates.get_by_label("update gate z"), gates.locator(".gru-machine output").nth(2)
    told(gates, "the word “and”")
    assert update.get_attribute("aria-valuetext") == "0.03"
    told(gates, "to the end")
    assert gates.locator(".gru-word").last.get_attribute("aria-selected") == "true"
    told(gates, "r = 0")
    assert gates.locator(".gru-word[aria-selected=true] .name").inner_text() == "eats" and new.inner_text() == "0.85"
    gates.get_by_role("button", name="Put the gates back").click()
    assert new.inner_text() == "−0.99"


@pytest.mark.parametrize(("width", "height"), [(390, 844), (1024, 768)])
def test_the_head_stays_large_while_its_story_is_read(page, written, width, height):
    page.emulate_media(reduced_motion="reduce")
    page.set_viewport_size({"width": width, "height": height})
    page.goto(written.as_uri())
    heads = page.locator("section", has=page.get_by_role("heading", name="What do the 24 heads look at?"))
    told, now = heads.locator(".told"), heads.locator(".trail [aria-current=step]")

    def word(text):
        told.get_by_role("button", name=text, exact=True).click()

    told.scroll_into_view_if_needed()
    page.evaluate("y => scrollBy(0, y)", told.bounding_box()["y"] - 120)
    below = heads.locator(".zooming").evaluate("node => node.offsetTop")
    for text in ("this head of the encoder", "it"):
        word(text)
        assert now.inner_text() == "encoder 1.3"
    row = heads.locator(".looks .rows").first.locator(".label.on")
    assert row.inner_text() == "it" and row.bounding_box()["y"] + row.bounding_box()["height"] <= height + 1
    assert told.bounding_box()["y"] >= 0, "with the story above it"
    word("Ablate the head")
    expect(heads.locator(".rewritten .before")).to_contain_text("encoder 1.3 ablated")
    assert now.inner_text() == "encoder 1.3"
    assert heads.locator(".zooming").evaluate("node => node.offsetTop") == below, "a change moves nothing"
    weigh, ablated = heads.locator(".weigh"), "This head is ablated: restore it to change a weight."
    assert weigh.inner_text().startswith(ablated)
    if width > 900:
        heads.get_by_label("zoom to all heads").click()
        heads.get_by_title("layer 0, head 3").first.hover()
        assert ablated not in weigh.inner_text(), "what stands above a map is about this map"


def test_texts_of_a_gallery_are_texts(page, tmp_path):
    hostile = "</script><script>alert(1)</script><h2>"
    views = [(hostile, SAMPLES["AttentionView"]([hostile, *PLAIN])), ("plain", SAMPLES["PositionView"](PLAIN))]
    gallery(views, tmp_path / "page.html", hostile, hostile)
    page.goto((tmp_path / "page.html").as_uri())
    assert page.title() == page.locator("h1").inner_text() == page.locator("header p").inner_text() == hostile
    assert page.locator("h2").all_inner_texts() == ["Who looks at whom", "Positions as waves"]
    assert page.locator(".says").count() == 2


def test_two_views_of_one_sentence(page, tmp_path):
    """As `seqlearn view` writes them: what is asked in one is asked in the other."""
    transformer = Translator.pretrained("transformer", "cpu")
    views = [("one", TranslatorView(transformer)), ("two", AttentionView.of(transformer, SENTENCE))]
    gallery(views, tmp_path / "page.html", together=True)
    page.goto((tmp_path / "page.html").as_uri())
    first, second = page.locator("section").all()
    first.get_by_label("sentence to translate").fill(ORANGE)
    page.keyboard.press("Enter")
    expect(second.locator(".rewritten .present bdi")).to_have_text(transformer.translate(ORANGE))
    second.get_by_title("layer 1, head 3").nth(1).click()  # of the encoder
    second.get_by_role("button", name="ablate encoder 1.3").click()
    text = what_if(transformer, edits=[Ablate("encoder", 1, 3)]).translate(ORANGE)
    for view in (first.locator(".written"), second.locator(".rewritten .present bdi")):
        expect(view).to_contain_text(text)
    first.get_by_role("button", name="Reset").click()
    expect(second.locator(".rewritten .present bdi")).to_have_text(transformer.translate(ORANGE))
