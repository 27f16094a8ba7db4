"""BatchView in a browser: each batch, each bar and each number is that of Python, in every order and size."""

import pytest
from browser.test_family import CUT, FITS
from views.test_batch_view import LENGTHS, ORDERS, lengths_in

from seqlearn.views import BatchView

WHY_ONE = "One sentence in each batch: no padding, but as many steps as sentences, 50."
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
        shares = [f"{made.padding(one):.1%}" for one in ORDERS]
        assert page.locator(".orders strong").all_inner_texts() == shares, "of all orders, whichever is drawn"
        cells = sum(max(batch) * len(batch) for batch in batches)
        padding = cells - sum(LENGTHS)
        assert f"{cells:,} cells, {padding:,} of them padding" in page.locator(".padded").inner_text()


def test_the_controls(show):
    page = show(BatchView(LENGTHS, batch_size=4))
    page.get_by_role("radio", name="bucketed").click()
    page.get_by_label("batch size").press("ArrowRight")
    assert page.evaluate("[model.get('order'), model.get('batch_size')]") == ["bucketed", 8]
    assert page.locator("[role=option]").count() == 7
    for name in ORDERS:
        page.get_by_role("radio", name=name).click()
        assert page.locator(".why").inner_text().lower().startswith(f"{name}: "), "of the chosen order alone"
    assert "in random order, so that no training begins" in page.locator(".why").inner_text()
    page.get_by_label("batch size").press("Home")
    assert "50 batches, so 50 steps an epoch" in page.locator(".padded").inner_text()
    assert page.locator(".why").inner_text() == WHY_ONE
    page.get_by_label("batch size").press("End")
    assert page.evaluate("model.get('batch_size')") == 50
    assert "1 batch, so 1 step an epoch; 20 wide: " in page.locator(".padded").inner_text()


def test_the_orders_are_one_stop_of_the_tab_key(show):
    page = show(BatchView(LENGTHS, "sorted"))
    checked = page.get_by_role("radio", checked=True)
    page.keyboard.press("Tab")
    for key, order in ((None, "sorted"), ("ArrowRight", "bucketed"), ("Home", "random"), ("ArrowDown", "sorted")):
        if key:
            page.keyboard.press(key)
        assert checked.count() == 1 and checked.evaluate("node => node === document.activeElement"), key
        assert page.evaluate("model.get('order')") == order and order in checked.inner_text()
    set_to(page, order="bucketed")
    page.get_by_label("batch size").focus()
    page.keyboard.press("Shift+Tab")
    assert page.evaluate("[document.activeElement.innerText.split('\\n')[0], model.get('order')]") == ["bucketed"] * 2


@pytest.mark.motion
def test_bars_slide_to_their_new_rows(show, page):
    """Each from where its sentence was; not where reduced motion is asked for."""
    sliding = """document.getAnimations().map(({ effect }) =>
        [effect.target.style.width, effect.getKeyframes()[0].transform])"""
    show(BatchView([4, 2, 9, 8], "random", 4))
    assert page.evaluate(sliding) == []
    drawn = BatchView([4, 2, 9, 8], "random", 4)
    set_to(page, order="sorted")
    before, after = drawn.batches()[0], drawn.batches("sorted")[0]
    moved = [(one, 5 * (before.index(one) - after.index(one))) for one in after]
    right = [[f"{100 * [4, 2, 9, 8][one] / 9:.3f}", f"translateY({by}px)"] for one, by in moved if by]
    assert [[f"{float(width[:-1]):.3f}", by] for width, by in page.evaluate(sliding)] == right != []
    page.emulate_media(reduced_motion="reduce")
    show(BatchView([4, 2, 9, 8], "random", 4))
    set_to(page, order="sorted")
    assert page.evaluate(sliding) == []


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
    texts = [f"{said[0]}. Lengths: 2, 4. Row 1: (", f"{said[1]}. Lengths: 9, 9. Row 1: ("]
    for key, text in (("Home", texts[0]), ("ArrowDown", texts[1]), ("ArrowUp", texts[0])):
        page.keyboard.press(key)
        assert page.locator(".says").inner_text().startswith(text) and page.locator("[aria-selected=true]").count() == 1
    assert [options.nth(i).get_attribute("aria-label") for i in range(2)] == said
    page.get_by_role("radio", checked=True).focus()
    assert page.locator(".says").inner_text().startswith("Point at a batch")


def test_a_row_says_its_sentence(show):
    """With the mouse, a finger and the keys; the tokens are any text."""
    sentences = ["le chat .".split(), ["<img src=x>", "</script>"], "la vache dort ici .".split(), ["oui"]]
    page = show(BatchView(sentences, "sorted", 4))
    rows = [
        "Row 1: oui (1 token, then 4 × <pad>)",
        "Row 2: <img src=x> </script> (2 tokens, then 3 × <pad>)",
        "Row 3: le chat . (3 tokens, then 2 × <pad>)",
        "Row 4: la vache dort ici . (5 tokens)",
    ]
    batch = page.locator("[role=option]")
    batch.hover(position={"x": 200, "y": 12})
    assert page.locator(".says").inner_text().endswith(rows[2]) and page.locator(".bar.on").count() == 1
    box = batch.bounding_box()
    batch.dispatch_event("pointerdown", {"clientY": box["y"] + 7, "pointerType": "touch"})
    assert page.locator(".says").inner_text().endswith(rows[1])
    page.mouse.move(2, 2)
    batch.focus()
    for key, row in (("ArrowLeft", 0), ("ArrowLeft", 0), *[("ArrowRight", i) for i in (1, 2, 3, 3)]):
        page.keyboard.press(key)
        assert page.locator(".says").inner_text().endswith(rows[row]), key
    assert page.locator("img, .seqlearn script").count() == 0


def test_a_sentence_is_kept(show):
    """By a click or Enter, in every order; the arrow keys move what is kept, Escape or another press frees it."""
    page = show(BatchView([4, 2, 9, 8], "random", 2))
    says, on, batches = page.locator(".says"), page.locator(".bar.on"), page.locator("[role=option]")
    order = page.get_by_role("radio", name="sorted")

    def is_kept(batch, row, length):
        text = f"Row {row}: ({length} tokens"
        assert batches.nth(batch - 1).get_attribute("aria-selected") == "true" and on.count() == 1
        words = says.inner_text()
        return f"Batch {batch}: " in words and text in words and words.endswith("(kept: Escape or a click frees it)")

    batches.nth(1).click(position={"x": 9, "y": 7})
    page.mouse.move(2, 2)
    kept = BatchView([4, 2, 9, 8], "random", 2).batches()[1][1]
    length = [4, 2, 9, 8][kept]
    assert is_kept(2, 2, length)
    order.click()
    place = BatchView([4, 2, 9, 8], "sorted", 4).batches()[0].index(kept)
    assert is_kept(1 + place // 2, 1 + place % 2, length), "the same sentence"
    batches.nth(1 - place // 2).hover()
    assert is_kept(1 + place // 2, 1 + place % 2, length), "whatever is pointed at"
    order.press("Escape")
    page.mouse.move(2, 2)
    assert says.inner_text().endswith("click or Enter keeps it.") and on.count() == 0

    batches.first.focus()
    for key, there in (("Enter", (1, 1, 2)), ("ArrowRight", (1, 2, 4)), ("ArrowDown", (2, 2, 9)), ("Home", (1, 2, 4))):
        page.keyboard.press(key)
        assert is_kept(*there), key
    for key, stays in ((" ", False), (" ", True), ("Escape", False)):
        page.keyboard.press(key)
        assert ("(kept: " in says.inner_text()) == stays
    for stays in (True, False):
        batches.nth(1).click(position={"x": 9, "y": 2})
        assert ("(kept: " in says.inner_text()) == stays


def test_of_a_large_batch_only_the_ends_of_the_lengths_are_said(show):
    page = show(BatchView(LENGTHS, "sorted", 16))
    page.locator("[role=option]").first.hover()
    lengths = sorted(LENGTHS)[:16]
    assert f". Lengths: {lengths[0]} to {lengths[-1]}. Row " in page.locator(".says").inner_text()


@pytest.mark.parametrize("width", [332, 390, 818, 1440])
def test_nothing_is_cut_off_and_nothing_moves(show, page, width):
    page.set_viewport_size({"width": width, "height": 900})
    show(BatchView(LENGTHS))
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


def test_other_sentences_are_drawn_anew(show):
    page = show(BatchView(LENGTHS, "sorted", 50))
    data = BatchView([4, 2, 9], batch_size=1).data
    page.evaluate("data => { model.set('batch_size', 1); model.set('data', data) }", data)
    assert page.locator("[role=option]").count() == 3
