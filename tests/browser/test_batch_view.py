"""BatchView in a browser: each batch, each bar and each number is that of Python, in every order and size."""

import pytest
from browser.test_family import AXE, CUT, FIND_BARRIERS, FITS
from views.test_batch_view import LENGTHS, ORDERS, lengths_in

from seqlearn.views import BatchView

DRAWN = """batches => batches.map(batch => [parseFloat(batch.style.width),
    [...batch.children].map(bar => parseFloat(bar.style.width))])"""


def set_to(page, **traits):
    page.evaluate("traits => Object.entries(traits).forEach(([name, value]) => model.set(name, value))", traits)


@pytest.mark.parametrize("size", [1, 8, 50])
def test_what_is_drawn_is_what_python_says(show, size):
    page = show(BatchView(LENGTHS, batch_size=size))
    for order in ORDERS:
        set_to(page, order=order)
        made = BatchView(LENGTHS, order, size)
        batches = lengths_in(made, order)
        drawn = page.locator("[role=option]").evaluate_all(DRAWN)
        for (width, bars), batch in zip(drawn, batches, strict=True):
            assert width == pytest.approx(100 * max(batch) / max(LENGTHS), abs=1e-3)
            assert bars == pytest.approx([100 * length / max(batch) for length in batch], abs=1e-3)
        assert page.locator(".share").inner_text() == f"{made.padding():.1%} padding"
        cells = sum(max(batch) * len(batch) for batch in batches)
        padding = cells - sum(LENGTHS)
        assert f"{cells:,} cells, {padding:,} of them padding" in page.locator(".padded").inner_text()


def test_the_controls(show):
    page = show(BatchView(LENGTHS, batch_size=4))
    page.get_by_label("order").select_option("bucketed")
    page.get_by_label("batch size").press("ArrowRight")
    assert page.evaluate("[model.get('order'), model.get('batch_size')]") == ["bucketed", 8]
    assert page.locator("[role=option]").count() == 7
    assert "in random order, so that no training begins" in page.locator(".seqlearn").inner_text()
    page.get_by_label("batch size").press("End")
    assert page.evaluate("model.get('batch_size')") == 50
    assert "1 batch, 20 wide" in page.locator(".padded").inner_text()


def test_the_keys_go_from_batch_to_batch(show):
    """All batches are one stop of the Tab key, and a screen reader hears the numbers of each."""
    page = show(BatchView([4, 2, 9, 9], "sorted", 2))
    options = page.locator("[role=option]")
    page.get_by_label("batch size").focus()
    page.keyboard.press("Tab")
    said = [
        "Batch 1: 2 × 4 = 8 cells, 2 of them padding (25.0%)",
        "Batch 2: 2 × 9 = 18 cells, 0 of them padding (0.0%)",
    ]
    for key, text in (("Home", said[0]), ("ArrowDown", said[1]), ("ArrowUp", said[0])):
        page.keyboard.press(key)
        assert page.locator(".says").inner_text() == text and page.locator("[aria-selected=true]").count() == 1
    assert [options.nth(i).get_attribute("aria-label") for i in range(2)] == said
    page.get_by_label("order").focus()
    assert page.locator(".says").inner_text().startswith("Point at a batch")


@pytest.mark.parametrize(("width", "scheme"), [(332, "light"), (390, "dark"), (818, "light"), (1440, "dark")])
def test_no_barrier_nothing_is_cut_off_and_nothing_moves(show, page, width, scheme):
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme)
    show(BatchView(LENGTHS))
    page.evaluate(AXE)
    places = (
        """[...document.querySelectorAll('.stack, .legend, .says')].map(node => node.getBoundingClientRect().top)"""
    )
    before = page.evaluate(places)
    for order in ORDERS:
        for size in (1, 2, 8, 32, 50):
            set_to(page, order=order, batch_size=size)
            page.locator("[role=option]").first.hover()
            assert page.evaluate(places) == pytest.approx(before, abs=0.5), (order, size)
            assert page.evaluate(FITS) and page.evaluate(CUT) == []
    assert page.evaluate(FIND_BARRIERS)[1] == []
    page.set_viewport_size({"width": 1300, "height": 1400})
    page.emulate_media(color_scheme="light")


def test_other_sentences_are_drawn_anew(show):
    page = show(BatchView(LENGTHS, "sorted", 50))
    data = BatchView([4, 2, 9], batch_size=1).data
    page.evaluate("data => { model.set('batch_size', 1); model.set('data', data) }", data)
    assert page.locator("[role=option]").count() == 3
