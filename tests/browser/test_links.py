"""A link keeps what a view shows, for another person. What may stand in it is tested in tests/javascript/."""

import functools
import io
import json
import os
from pathlib import Path
from urllib.parse import parse_qs, urlencode

import numpy as np
import pytest
import torch
from browser.serving import served
from browser.settling import settled
from PIL import Image
from playwright.sync_api import expect
from views.samples import SAMPLES

from seqlearn.translator.translator import Translator
from seqlearn.views import SoftmaxView, TranslatorView
from seqlearn.views.gallery import SENTENCE, all_views, gallery
from seqlearn.views.stored import document, shared_files

BOOK = Path(__file__).parents[2] / "tools" / "book" / "static" / "book.js"
EVERY = bool(os.environ.get("SEQLEARN_ALL"))  # else some of the views
HOSTILE = "<img src=x onerror=alert(1)><script>alert(1)</script>"


def keys(part, grid, *pressed):
    part.locator(grid).first.focus()
    for key in pressed:
        part.page.keyboard.press(key)


GRID = "[role=application]"
ACTS = {
    "AttentionSteps": lambda part: (part.get_by_label("next step").click(), keys(part, GRID, "ArrowRight", "Enter")),
    "AttentionView": lambda part: part.get_by_role("button", name="Ablate the head").click(),
    "BatchView": lambda part: part.get_by_role("radio").nth(1).click(),
    "BeamView": lambda part: (
        part.get_by_role("button", name="A beam of two").click(),
        part.get_by_label("show probabilities").uncheck(),
    ),
    "GruView": lambda part: part.get_by_role("button", name="stayed at 1").click(),
    "KernelView": lambda part: keys(part, ".handles", "ArrowUp", "ArrowUp", "Enter"),
    "PatchView": lambda part: part.get_by_role("button", name="two rows").click(),
    "PiecesView": lambda part: part.get_by_label("a word of yours").fill("swatting"),
    "PositionView": lambda part: keys(part, "[aria-label='offset k']", "ArrowRight", "ArrowRight"),
    "RiddleView": lambda part: part.locator(".head").nth(5).click(),
    "SamplingView": lambda part: part.get_by_role("button", name="Top-k = 4").click(),
    "SoftmaxView": lambda part: part.locator("input[type=checkbox]").first.click(),
    "TranslatorView": lambda part: part.locator(".told .word", has_text="le").first.click(),
}


@functools.cache
def headings():
    """The heading of each view of the gallery, in its order."""
    return {type(view).__name__: text.splitlines()[0] for text, view in views()}


@functools.cache
def views():
    return all_views()


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    path = tmp_path_factory.mktemp("links") / "gallery.html"
    gallery(views(), path)
    return path


@pytest.fixture(scope="module")
def second(context):
    """A browser of another person."""
    other = context.browser.new_context(viewport={"width": 1300, "height": 1400})
    yield other
    other.close()


def part_of(page, name):
    """The part of the gallery with this view."""
    return page.locator("section", has=page.get_by_role("heading", name=headings()[name], exact=True))


def at_rest(part):
    """When nothing is pointed at, and all answers are there."""
    part.page.mouse.move(0, 0)
    part.page.evaluate("document.activeElement.blur()")
    settled(part.page)


ALONE = """(part) => document.querySelectorAll("header, section").forEach((one) => {
  if (one !== part) one.style.display = "none";
})"""


def shown(part, where=".seqlearn"):
    """What a person sees of a view, but for the link itself: its texts, and its pixels."""
    at_rest(part)
    part.evaluate(ALONE)  # what stands above may still grow, by parts of a pixel
    for one in part.locator(".linking, .linked").all():
        one.evaluate("node => { node.style.visibility = 'hidden' }")
    return part.locator(where).inner_text(), part.locator(where).screenshot()


def link_of(part):
    """The link that "copy link" makes."""
    part.get_by_role("button", name="copy link").click()
    expect(part.locator(".linking span")).to_have_text("The link is copied.")
    return part.page.evaluate("location.href")


@pytest.mark.parametrize("name", SAMPLES if EVERY else ["AttentionSteps", "GruView", "TranslatorView"])
def test_a_link_shows_the_same_to_another_person(page, second, written, name):
    page.goto(written.as_uri())
    part = part_of(page, name)
    first = part.locator(".seqlearn").inner_text()
    ACTS[name](part)
    at_rest(part)
    address = link_of(part)
    state = parse_qs(address.partition("#")[2])
    assert state["view"] == [f"{name}-1"] and state["link"] == ["1"] and len(state) > 2
    # KernelView says which reading was moved last, and SamplingView keeps the height of its former bars.
    where = ".panels" if name in ("KernelView", "SamplingView") else ".seqlearn"
    if name == "SamplingView":
        part.locator(".rows").evaluate("list => { list.style.minHeight = '' }")
    mine = shown(part, where)
    assert part.locator(".seqlearn").inner_text() != first
    for one in (second.new_page(), second.new_page()):
        one.goto(address)
        theirs = shown(part_of(one, name), where)
        assert theirs[0] == mine[0]
        assert theirs[1] == mine[1], "the same pixels"
        one.close()


def test_only_the_view_that_is_named_changes(page, written):
    page.goto(written.as_uri())
    parts = page.locator("section")
    at_rest(part_of(page, "TranslatorView"))
    before = parts.all_inner_texts()
    page.evaluate("location.hash = 'view=BeamView-1&width=1&step=5&link=1'")
    settled(page)
    changed = [old != new for old, new in zip(before, parts.all_inner_texts(), strict=True)]
    assert changed == [part.locator(".tree").count() == 1 for part in parts.all()]
    top = page.locator("section", has=page.locator(".tree")).bounding_box()["y"]
    assert abs(top) < 100, "and it is on the screen"
    page.evaluate("location.hash = 'view=BeamView-1&link=1'")  # another link: nothing is left of the one before
    settled(page)
    assert parts.all_inner_texts() == before


OPEN = """async (link) => {
  const before = location.hash;
  location.hash = link;
  if (location.hash !== before) await new Promise((next) => addEventListener("hashchange", next, { once: true }));
}"""
TAGS = "[...new Set([...document.querySelectorAll('*')].map((node) => node.tagName))].sort().join()"


# ---- Texts, versions, copying ---------------------------------------------------------------------------------------

CAT = "The cat sleeps."
SCORES = torch.tensor([2.0, 1.0, 3.0, 0.5])


@pytest.fixture
def translator_page(show):
    """A page with the translator of the course."""
    return show(TranslatorView(Translator.pretrained("transformer", "cpu"), SENTENCE))


def opened(page, **state):
    page.evaluate(OPEN, urlencode({"view": "TranslatorView-1", **state, "link": state.get("link", 1)}))
    settled(page)
    return page.locator(".linked")


def test_a_sentence_of_markup_is_a_text(translator_page):
    page = translator_page
    tags = page.evaluate(TAGS)
    expect(opened(page, sentence=HOSTILE, edits='[["ablate","encoder",0,1]]')).to_be_hidden()
    at_rest(page.locator("main"))
    assert page.evaluate("model.get('result').asked.sentence") == HOSTILE
    assert len(page.evaluate("model.get('edits')")) == 1
    assert page.get_by_label("sentence to translate").input_value() == HOSTILE
    assert not {"IMG", "SCRIPT"} & set(page.evaluate(TAGS).split(",")) - set(tags.split(","))


def test_a_link_that_cannot_be_opened_says_why(translator_page):
    page = translator_page
    before = page.locator(".written").inner_text()
    for state, why in [
        ({"beam": 3}, "This link is damaged, so the page opens as it is."),
        ({"prefix": json.dumps(["le"] * 5000)}, "This link is too long, so the page opens as it is."),
    ]:
        expect(opened(page, **state)).to_have_text(why)
        assert page.locator(".written").inner_text() == before
    expect(opened(page)).to_be_hidden()


def test_the_address_follows_what_is_shown(translator_page):
    """After a link was opened or copied, and somebody typed another sentence: a page that is loaded again has it."""
    page, box = translator_page, translator_page.get_by_label("sentence to translate")
    opened(page, sentence=CAT, edits='[["ablate","encoder",0,1]]')
    box.fill("The dog sleeps.")
    box.press("Enter")
    page.wait_for_function("() => location.hash.includes('dog')")
    page.reload()
    settled(page)
    assert box.input_value() == "The dog sleeps." and page.evaluate("model.get('result').sentence") == "The dog sleeps."
    box.fill("cat " * 600)
    box.press("Enter")
    page.wait_for_function("() => location.hash === ''")  # no link is that long


def test_marks_that_do_not_fit_the_answer_are_refused(translator_page):
    """Where a link asks for another sentence, only the answer tells how many steps there are."""
    page = translator_page
    expect(opened(page, sentence=CAT, step=3)).to_be_hidden()
    assert page.evaluate("[model.get('step'), model.get('result').sentence]") == [3, CAT]
    opened(page, sentence=SENTENCE, step=400)
    expect(page.locator(".linked")).to_have_text("This link is damaged, so the page opens as it is.")
    assert page.evaluate("model.get('result').asked.sentence") == CAT


def test_a_link_with_an_edit_shows_what_the_edit_changed(translator_page):
    page = translator_page
    opened(page, sentence="The old bird ate the orange because it was sweet.", edits='[["ablate","encoder",1,3]]')
    expect(page.locator("del").first).to_be_visible()


def test_a_link_is_copied_without_permission(show, page):
    page.add_init_script(
        """Object.defineProperty(navigator, "clipboard", { value: undefined });
        document.execCommand = () => false"""
    )
    show(SoftmaxView(SCORES))
    page.locator("input[type=checkbox]").first.click()
    page.get_by_role("button", name="copy link").click()
    field = page.get_by_label("the link")
    expect(page.locator(".linking span")).to_have_text("Copy this link:")
    assert field.input_value() == page.url and "mask=" in page.url
    assert field.evaluate("node => node.selectionEnd - node.selectionStart") == len(page.url), "all of it is marked"
    page.reload()
    assert page.evaluate("model.get('mask')")[0] is False


def test_the_keyboard_goes_on_where_a_link_leads(page, written):
    part = part_of(page, "BeamView")
    page.goto(f"{written.as_uri()}#view=BeamView-1&width=1&link=1")
    expect(part).to_be_focused()
    at = part.bounding_box()["y"]
    assert abs(at) < 300, "on the screen"
    page.keyboard.press("Tab")
    assert part.evaluate("part => part.contains(document.activeElement)")
    assert part.bounding_box()["y"] == pytest.approx(at, abs=1), "nothing scrolls"


def test_a_link_holds_only_what_was_moved(page, written):
    page.goto(written.as_uri())
    part = part_of(page, "KernelView")
    keys(part, ".handles", "ArrowUp")
    assert "readings=" in link_of(part) and len(link_of(part).partition("#")[2]) < 600
    readings = page.locator("[role=slider].handles").get_attribute("aria-valuetext")
    page.reload()
    expect(part.locator(".handles")).to_have_attribute("aria-valuetext", readings)


# ---- The book -------------------------------------------------------------------------------------------------------

PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>A page of the book</title>
<style>iframe {{ width: 100%; }}</style>
<body data-theme="light"><main><h1>A page</h1><div style="height: 1500px"></div>{frames}</main>
<script src="book.js" defer></script></body></html>"""
FRAME = '<figure class="view"><iframe src="views/{name}.html" title="{name}" loading="lazy"></iframe></figure>'


@pytest.fixture(params=["file", "server"])
def book(request, tmp_path):
    """The address of a page with two views, as in the book, opened from a file or from a server."""
    (tmp_path / "views").mkdir()
    for name, content in shared_files().items():
        (tmp_path / "views" / name).write_text(content, "utf-8")
    frames = {
        "translator": TranslatorView(Translator.pretrained("transformer"), SENTENCE),
        "09-softmax-x1-0": SoftmaxView(SCORES),
    }
    for name, view in frames.items():
        (tmp_path / "views" / f"{name}.html").write_text(document(view.record()), "utf-8")
    (tmp_path / "book.js").write_text(BOOK.read_text("utf-8"), "utf-8")
    text = PAGE.format(frames="\n".join(FRAME.format(name=name) for name in frames))
    (tmp_path / "page.html").write_text(text, "utf-8")
    if request.param == "file":
        yield (tmp_path / "page.html").as_uri()
        return
    with served(tmp_path) as address:
        yield f"{address}/page.html"


def frame_of(page, name):
    page.locator(f"iframe[title='{name}']").scroll_into_view_if_needed()
    frame = page.frame_locator(f"iframe[title='{name}']")
    frame.locator(".linking").wait_for()
    return frame


def test_a_link_to_a_frame_stands_in_the_address_of_the_page_around(page, second, book):
    page.goto(book)
    frame = frame_of(page, "09-softmax-x1-0")
    frame.locator("input[type=checkbox]").nth(2).click()
    frame.get_by_role("button", name="copy link").click()
    said = frame.locator(".linking span")
    expect(said).to_have_text("The link is copied.")
    page.wait_for_function("() => location.hash.includes('mask=')")
    assert page.url.startswith(f"{book}#view=09-softmax-x1-0&")
    one = second.new_page()
    one.goto(page.url)
    their = one.frame_locator("iframe[title='09-softmax-x1-0']")
    expect(their.locator("input[type=checkbox]").nth(2)).not_to_be_checked()
    expect(their.locator("input[type=checkbox]").nth(1)).to_be_checked()
    box = one.locator("iframe").nth(1).bounding_box()
    assert 0 <= box["y"] < 1000, "the view is on the screen"
    query = urlencode({"sentence": CAT, "edits": '[["ablate","encoder",0,1]]', "link": 1})
    one.evaluate("(link) => { location.hash = link }", f"view=translator&{query}")
    expect(one.frame_locator("iframe[title=translator]").get_by_label("sentence to translate")).to_have_value(CAT)
    expect(one.frame_locator("iframe[title=translator]").locator(".written")).to_contain_text("chat")
    expect(their.locator("input[type=checkbox]").nth(2)).not_to_be_checked()
    one.evaluate("(link) => { location.hash = link }", "view=99-gone&link=1")
    expect(one.frame_locator("iframe[title=translator]").locator(".linked")).to_contain_text("damaged")
    one.close()


# ---- Pictures -------------------------------------------------------------------------------------------------------

CONTROLS = ".linking, .told, .weigh, details, .controls button:not(.five button)"  # no part of a picture


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["AttentionSteps", "AttentionView", "BeamView"] if EVERY else ["AttentionSteps"])
def test_a_picture_shows_what_the_view_shows(page, written, name, scheme):
    page.emulate_media(color_scheme=scheme)
    page.goto(written.as_uri())
    part = part_of(page, name)
    at_rest(part)
    part.evaluate("part => Object.assign(part.querySelector('.echo'), { textContent: 'an echo', hidden: false })")
    with page.expect_download() as download:
        part.get_by_role("button", name="save picture", exact=True).click()
    assert download.value.suggested_filename == f"{name}-1.png"
    png = Path(download.value.path()).read_bytes()
    assert Image.open(io.BytesIO(png)).convert("RGBA").getextrema()[3] == (255, 255), "no part of it is transparent"
    with page.expect_download() as download:
        part.get_by_role("button", name="save picture as SVG").click()
    svg = Path(download.value.path()).read_text("utf-8")
    assert svg.startswith("<svg ") and "<script" not in svg and "<foreignObject" in svg
    assert not [text for text in ("an echo", "copy link", "◀", "Undo") if text in svg]
    assert ("2 scale" in svg) == (name == "AttentionSteps") and ("<select" in svg) == (name == "AttentionView")
    for one in part.locator(f"{CONTROLS}, .echo").all():
        one.evaluate("node => { node.style.display = 'none' }")
    saved, seen = pixels(png), pixels(part.locator(".seqlearn").screenshot())
    height, width = seen.shape[:2]
    assert saved.shape[1] == 2 * width and abs(saved.shape[0] - 2 * height) <= 2
    assert saved[-1].std() == 0, "no edge of another colour"
    rows, columns = saved.shape[0] // 16, width // 8
    small = saved[: 16 * rows, : 16 * columns].reshape(rows, 16, columns, 16, 3).mean((1, 3))
    same = seen[: 8 * rows, : 8 * columns].reshape(rows, 8, columns, 8, 3).mean((1, 3))
    assert np.abs(small - same).mean() < 3, "of 255"
    page.emulate_media(color_scheme="light")


def pixels(png):
    return np.asarray(Image.open(io.BytesIO(png)).convert("RGB"), dtype=float)
