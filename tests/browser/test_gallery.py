"""The page with all views: each of them draws, answers, and keeps to itself."""

import pytest
from browser.test_family import AXE, CUT, FIND_BARRIERS, FITS
from playwright.sync_api import expect
from views.samples import PLAIN, SAMPLES

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


@pytest.mark.parametrize(("scheme", "width"), [("light", 1300), ("light", 1024), ("dark", 320)])
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
    page.set_viewport_size({"width": 1300, "height": 1400})


def test_a_view_changes_itself_alone(page, written):
    page.goto(written.as_uri())
    parts = page.locator("section")
    parts.locator(".fall-scale").first.wait_for()  # the map of its heads comes after the view itself
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
    expect(second.locator(".rewritten bdi").last).to_have_text(transformer.translate(ORANGE))
    second.get_by_title("layer 1, head 3").nth(1).click()  # of the encoder
    second.get_by_role("button", name="ablate encoder 1.3").click()
    text = what_if(transformer, edits=[Ablate("encoder", 1, 3)]).translate(ORANGE)
    for view in (first.locator(".written"), second.locator(".rewritten bdi").last):
        expect(view).to_contain_text(text)
    first.get_by_role("button", name="Reset").click()
    expect(second.locator(".rewritten bdi").last).to_have_text(transformer.translate(ORANGE))
