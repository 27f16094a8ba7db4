"""What holds for every view: no barrier that axe finds, keys and focus, small windows, and texts that stay texts."""

from collections import Counter
from pathlib import Path

import pytest
import torch
from browser.pointing import contrast, luminance
from browser.settling import settled
from hostile import DOZEN
from views.samples import PLAIN, SAMPLES, WORDLESS

from seqlearn.views.shared.arguments import as_text

AXE = Path(__file__).with_name("axe.min.js").read_text("utf-8")
FIND_BARRIERS = """async () => { const { violations, passes } = await axe.run(document, { resultTypes: ['violations'],
    runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] });
    return [passes.length, violations.flatMap(({ id, nodes }) => nodes.map(node => `${id}: ${node.html.slice(0, 200)} `
        + node.any.concat(node.all, node.none).map(check => check.message).join('; ')))] }"""
FITS = "document.documentElement.scrollWidth <= window.innerWidth"
SOON_FITS = f"""async () => {{ for (let frame = 0; frame < 60 && !({FITS}); frame++)
    await new Promise(requestAnimationFrame); return {FITS} }}"""  # when it is drawn anew
CUT = """() => [...document.querySelectorAll('.seqlearn *')]
    .filter(node => node.innerText?.trim() && node.checkVisibility() && node.clientWidth > 2)
    .filter(node => getComputedStyle(node).overflowX === 'hidden')
    .filter(node => node.scrollWidth > node.clientWidth + 1 || node.scrollHeight > node.clientHeight + 1)
    .map(node => node.innerText)"""
CONTROLS = "button:enabled, input, select, textarea, [tabindex='0']"
GRIDS = "[role=application], [role=tree]"

pytestmark = pytest.mark.parametrize("name", SAMPLES)


def use(page):
    """Go to the last step, and lock something everywhere."""
    on = page.get_by_label("next step")
    while on.count() and on.is_enabled():
        on.click()
    for grid in page.locator(GRIDS).all():
        grid.focus()
        for key in ("ArrowRight", "ArrowDown", "Enter"):
            page.keyboard.press(key)


def test_no_barriers(show, page, name):
    """With the narrowest window, light and then dark."""
    page.set_viewport_size({"width": 320, "height": 900})
    show(SAMPLES[name](PLAIN))
    page.evaluate(AXE)
    for change in (lambda page: None, use, lambda page: page.emulate_media(color_scheme="dark")):
        change(page)
        passed, found = page.evaluate(FIND_BARRIERS)
        assert found == [] and passed > 15
        assert page.evaluate(FITS), "no page is scrolled sideways"


def test_all_views_are_laid_out_alike(show, name):
    page = show(SAMPLES[name](PLAIN))
    parts = [part for part in ("controls", "panels", "legend") if (name, part) != ("RiddleView", "controls")]
    places = [page.locator(f".seqlearn .{part}").first for part in parts]
    tops = [place.bounding_box()["y"] for place in places]
    assert tops == sorted(tops) and page.evaluate(FITS)
    root = page.locator(".seqlearn")
    assert root.locator("> .says[aria-live=polite]").count() == 1 and root.get_attribute("role") == "region"
    view = SAMPLES[name](PLAIN)
    assert page.locator("h1").inner_text() == view.caption and page.title() == view.title()
    assert name not in page.title() and "(" not in view.caption, "for people, not for programs"
    hint = page.locator(".says .faint").first.inner_text()
    assert hint.startswith("Point at ") and ", or press Tab and the arrow keys, to " in hint
    nameless = "nodes => nodes.filter(node => !node.getAttribute('aria-label')).map(node => node.outerHTML)"
    assert root.locator(f"{CONTROLS}, [role=img], [role=group]").evaluate_all(nameless) == []


def test_a_hint_for_fingers_speaks_of_no_keys(show, page, name):
    page.add_init_script(
        """const asked = window.matchMedia.bind(window);
        window.matchMedia = query => query === '(pointer: coarse)' ? { matches: true } : asked(query)"""
    )
    show(SAMPLES[name](PLAIN))
    said = page.locator(".says").inner_text()
    assert said.find("Tap ") >= 0 and not any(key in said for key in ("Tab", "arrow", "Enter", "PageUp", "Shift"))


def test_the_keyboard_reaches_every_control_and_is_seen_there(show, name):
    page = show(SAMPLES[name](PLAIN))
    # Those that cannot be reached now are hidden, or are reached by the arrow keys.
    reached = "nodes => nodes.filter(node => node.tabIndex >= 0 && node.checkVisibility())"
    count = page.locator(CONTROLS).evaluate_all(f"nodes => ({reached})(nodes).length")
    page.locator(CONTROLS).evaluate_all(f"nodes => ({reached})(nodes).forEach((node, i) => node.dataset.number = i)")
    order, outlines = [], []
    for _ in range(count):
        page.keyboard.press("Tab")
        number, style, width = page.evaluate(
            """() => { const node = document.activeElement;
            const { outlineStyle, outlineWidth } = getComputedStyle(node);
            return [Number(node.dataset.number), outlineStyle, parseFloat(outlineWidth)] }"""
        )
        order.append(number)
        outlines.append(style == "solid" and width >= 2)
    assert order == list(range(count)), "in the order in which they stand"
    assert all(outlines)


def test_the_space_bar_scrolls_no_row_away(show, page, name):
    page.set_viewport_size({"width": 900, "height": 300})
    show(SAMPLES[name](PLAIN))
    for row in page.locator("[role=option][tabindex='0']").all():
        row.focus()
        before = page.evaluate("scrollY")
        page.keyboard.press(" ")
        settled(page)
        assert page.evaluate("scrollY") == before


def test_the_same_keys_do_the_same(show, name):
    view = SAMPLES[name](PLAIN)
    page, traits = show(view), view.trait_names()
    for grid in page.locator(GRIDS).all() if "locked" in traits else []:
        grid.focus()
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Enter")
        assert page.evaluate("model.get('locked')") and "kept: Escape" in page.locator(".says").inner_text()
        page.keyboard.press("Escape")
        assert page.evaluate("model.get('locked')") in (None, []), "free"
        page.keyboard.press(" ")
        assert page.evaluate("model.get('locked')")
        page.keyboard.press(" ")
        assert page.evaluate("model.get('locked')") in (None, []), "and free again"
    if "step" in traits:
        page.evaluate("model.set('step', 0)")
        page.get_by_label("next step").focus()
        for key, step in [("PageDown", 1), ("ArrowRight", 2), ("PageUp", 1), ("ArrowLeft", 0), ("PageUp", 0)]:
            page.keyboard.press(key)
            assert page.evaluate("model.get('step')") == step, key
        on = page.get_by_label("next step")
        while on.get_attribute("aria-disabled") == "false":
            page.keyboard.press("Enter")
        last = page.evaluate("model.get('step')")
        page.keyboard.press("Enter")
        assert page.evaluate("model.get('step')") == last > 1, "Enter at the last step undoes none"
        assert page.evaluate("document.activeElement.ariaLabel") == "next step"
        page.locator(GRIDS).first.focus()
        page.keyboard.press("PageUp")
        assert page.evaluate("model.get('step')") == last - 1


def test_keys_stop_at_the_view(show, name):
    """For a notebook "b" is a new cell; with Ctrl, Alt or Command a key is for the browser, and goes on."""
    page = show(SAMPLES[name](PLAIN))
    page.evaluate("() => { window.heard = []; document.addEventListener('keydown', ({ key }) => heard.push(key)) }")
    controls, at = page.locator(CONTROLS).locator("visible=true"), 0
    while at < controls.count():  # a key may bring other controls
        controls.nth(at).focus()
        at += 1
        for key in ("b", "d", "ArrowDown", "Enter", "Escape", "Shift+M"):
            page.keyboard.press(key)
    assert page.evaluate("heard") == []
    page.keyboard.press("Alt+b")
    assert page.evaluate("heard") == ["Alt", "b"]


def test_nothing_moves_by_itself(show, page, name):
    page.emulate_media(reduced_motion="reduce")
    show(SAMPLES[name](PLAIN))
    use(page)
    moving = """() => document.getAnimations().length + [...document.querySelectorAll('*')].filter(node => {
        const style = getComputedStyle(node); return style.transitionDuration !== '0s' || style.animationName !== 'none'
            || style.scrollBehavior !== 'auto' }).length"""
    assert page.evaluate(moving) == 0


def texts(page):
    """Each text of the view, and each name and title in it."""
    return page.locator(".seqlearn").evaluate(
        """root => { const found = []; const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
        while (walker.nextNode()) found.push(walker.currentNode.data);
        for (const node of root.querySelectorAll('[title], [aria-label]'))
            found.push(node.getAttribute('title') ?? '', node.getAttribute('aria-label') ?? '');
        return found }"""
    )


def elements(page):
    """All but the pieces of a vocabulary: there are as many as the texts have letters."""
    return Counter(page.evaluate("[...document.querySelectorAll(':not(.vocabulary > bdi)')].map(node => node.tagName)"))


def test_any_text_is_only_a_text(show, page, name):
    plain = elements(show(SAMPLES[name]([f"t{number}" for number in range(len(DOZEN))])))
    torch.manual_seed(0)  # the same random numbers
    show(SAMPLES[name](DOZEN))
    assert elements(page) == plain, "no text becomes an element"
    found = texts(page)
    for token in map(as_text, DOZEN):
        assert name in WORDLESS or any(token in text for text in found), token
    use(page)
    assert elements(page)["SCRIPT"] == 2 and not set(elements(page)) & {"IMG", "B", "I", "IFRAME"}
    page.set_viewport_size({"width": 320, "height": 900})
    assert page.evaluate(SOON_FITS)


def test_light_and_dark(show, page, name):
    grounds = {}
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        show(SAMPLES[name](PLAIN))
        grounds[scheme] = luminance(page, ".seqlearn", "backgroundColor")
        assert contrast(page, ".seqlearn", "color") >= 7, "WCAG AAA"
    assert grounds["light"] > 0.8 and grounds["dark"] < 0.05
