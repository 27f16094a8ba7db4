"""SamplingView in a browser: the distribution that JavaScript computes is that of Python, whatever the sliders say."""

import pytest
import torch
from browser.rounding import in_page
from browser.settling import settled
from browser.test_family import CUT, FITS
from playwright.sync_api import Locator
from views.test_sampling_view import LOGITS, MANY, WORDS

from seqlearn.translator.translator import Translator
from seqlearn.views import SamplingView

ROW = "[role=option]:visible"
SHARE = f"{ROW} .share"
DRAW = """(dice) => { const random = Math.random; Math.random = () => dice.shift();
    document.querySelector("[aria-label='draw 20 tokens']").click(); Math.random = random }"""


def view(**settings):
    return SamplingView(LOGITS, WORDS, **{"shown": 2} | settings)


def said(page, row):
    """What the view says of a row."""
    page.locator(ROW).nth(row).hover()
    return page.locator(".says").inner_text()


def test_a_sum_of_exactly_p_is_enough(show):
    page = show(SamplingView(torch.zeros(4), WORDS, top_p=0.5))
    assert page.locator(SHARE).all_inner_texts() == ["0.500", "0.500"]
    assert page.locator(".gone").inner_text() == "2 removed: un · <eos>"


@pytest.mark.parametrize("name", ["any", "float64", "ties"])
@pytest.mark.parametrize("setting", [(1.0, None, None), (3.0, None, None), (0.2, 10, None), (1.7, 20, 0.87)], ids=str)
def test_what_is_drawn_is_what_python_computes(show, name, setting):
    """Each bar, each outline and each number, one bar for all other tokens; and the line above."""
    settings = dict(zip(("temperature", "top_k", "top_p"), setting, strict=True))
    made = SamplingView(MANY[name], [f"t{i}" for i in range(30)], **settings, shown=12)
    page, now, before = show(made), made.probabilities(), SamplingView(MANY[name], range(30)).probabilities()
    every = [[i] for i in made.data["shown"]] + [sorted(set(range(30)) - set(made.data["shown"]))]
    kept = [ids for ids in every if now[ids].any()]
    shares, others = ([float(probs[ids].sum()) for ids in kept] for probs in (now, before))
    end = 0.5 if max(*shares, *others) <= 0.5 else 1
    for part, numbers in ((".bar", shares), (".outline", others)):
        widths = page.locator(f"{ROW} {part}").evaluate_all("nodes => nodes.map(node => parseFloat(node.style.width))")
        assert widths == pytest.approx([100 * number / end for number in numbers], abs=1e-3)
    written = ["<0.001" if 0 < share < 0.0005 else f"{share:.3f}" for share in shares]
    assert page.locator(SHARE).all_inner_texts() == written
    names = page.locator(f"{ROW} > :first-child").all_inner_texts()
    assert names == [f"t{ids[0]}" if len(ids) == 1 else f"the other {len(ids)} together" for ids in kept]
    gone, left = page.locator(".gone"), int((now > 0).sum())
    assert gone.is_visible() == (len(kept) < len(every))
    assert not gone.is_visible() or gone.inner_text().startswith(f"{30 - left} removed:")
    likeliest = f"{left} of 30 tokens are left; the likeliest, “{names[0]}”, has {written[0]}"
    assert page.locator(".left").inner_text() == likeliest and left > 1
    assert page.locator(".ends span").last.inner_text() == f"{end:g}"


def test_why_the_draws_change_with_the_temperature(show):
    """The random numbers stay, and are read anew; the words go when tokens are drawn."""
    page = show(view())
    drawn, read = page.locator(".drawn"), page.locator(".drawn .read")
    assert drawn.inner_text() == ""
    page.evaluate(DRAW, [i / 20 for i in range(20)])
    before = drawn.inner_text()
    page.get_by_label("temperature", exact=True).press("Home")
    assert (
        read.inner_text() == "The same random numbers, read at temperature 0.2: " and before not in drawn.inner_text()
    )
    page.evaluate("model.set('top_k', 2)")
    assert read.inner_text() == "The same random numbers, read at temperature 0.2, top-k 2: "
    page.get_by_label("draw a token").click()
    assert read.count() == 0
    page.get_by_label("clear the draws").click()
    page.get_by_label("temperature", exact=True).press("End")
    assert drawn.inner_text() == ""


def test_the_sliders(show):
    page = show(view())
    temperature, top_k, top_p = (page.get_by_label(name, exact=True) for name in ("temperature", "top-k", "top-p"))
    traits = "[model.get('temperature'), model.get('top_k'), model.get('top_p')]"
    written = page.locator(".knobs output")
    assert written.all_inner_texts() == ["1", "all", "all"]
    for slider, key, values, texts in [
        (temperature, "Home", [0.2, None, None], ["0.2", "all", "all"]),
        (temperature, "End", [4, None, None], ["4", "all", "all"]),
        (temperature, "ArrowLeft", [3.9, None, None], ["3.9", "all", "all"]),
        (top_k, "ArrowLeft", [3.9, 3, None], ["3.9", "3", "all"]),
        (top_k, "Home", [3.9, 1, None], ["3.9", "1", "all"]),
        (top_p, "ArrowLeft", [3.9, 1, 0.95], ["3.9", "1", "0.95"]),
        (top_p, "Home", [3.9, 1, 0.05], ["3.9", "1", "0.05"]),
        (top_k, "End", [3.9, None, 0.05], ["3.9", "all", "0.05"]),
    ]:
        slider.press(key)
        assert page.evaluate(traits) == values and written.all_inner_texts() == texts
    assert top_p.get_attribute("aria-valuetext") == "0.05"
    reset = page.get_by_role("button", name="reset")
    assert reset.get_attribute("aria-disabled") == "false"
    reset.click()
    assert reset.get_attribute("aria-disabled") == "true"
    assert page.evaluate(traits) == [1, None, None] and written.all_inner_texts() == ["1", "all", "all"]


def test_the_slider_of_top_k_has_small_numbers_and_all(show):
    page = show(SamplingView(torch.arange(649.0), range(649)))
    slider, seen = page.get_by_label("top-k", exact=True), []
    slider.press("Home")
    for _ in range(11):
        seen.append(slider.get_attribute("aria-valuetext"))
        slider.press("ArrowRight")
    assert seen == "1 2 3 5 10 20 50 100 200 500 all".split()


def test_a_number_that_python_chose_between_two_stops_is_shown(show):
    page = show(view(temperature=0.33, top_k=77, top_p=0.92))
    assert page.locator(".knobs output").all_inner_texts() == ["0.33", "77", "0.92"]
    page.get_by_label("temperature", exact=True).press("ArrowRight")
    assert page.evaluate("model.get('temperature')") == 0.4
    page.evaluate("model.set('temperature', 9)")
    assert page.locator(".knobs output").first.inner_text() == "9" and "has 0.2" in page.locator(".left").inner_text()


def test_what_was_removed_is_one_line(show):
    page = show(view(top_k=1))
    assert page.locator(ROW).count() == 2 and page.locator(SHARE).all_inner_texts() == ["1.000"]
    assert page.locator(".gone").inner_text() == "3 removed: le · the other 2"
    assert said(page, 1) == (
        "The softmax gives 0.500 to what is removed, and the others share it. The likeliest of these, le: logit 0.69, "
        "and the softmax over all 4 tokens gives 0.250. It is number 2, and top-k keeps 1: removed."
    )
    page.get_by_label("top-k", exact=True).press("End")
    assert page.locator(".gone").is_hidden() and page.locator(ROW).count() == 3
    page.mouse.move(5, 5)
    page.evaluate("model.set('top_k', 3)")
    assert page.locator(".gone").is_hidden(), "a part of the others is left, and so is their bar"


@pytest.mark.parametrize(
    ("settings", "row", "text"),
    [
        ({}, 0, "la: logit 1.39, and the softmax over all 4 tokens gives 0.500."),
        ({"temperature": 0.5}, 1, "le: logit 0.69 / 0.5 ≈ 1.39, and the softmax over all 4 tokens gives 0.182."),
        ({"top_k": 2}, 1, "gives 0.250. Divided by the sum of what is left: 0.250 / 0.750 ≈ 0.333."),
        ({"top_p": 0.4}, 1, "The likeliest of these, le: logit 0.69, and the softmax over all 4 tokens gives 0.250. "
         "The likelier token has 0.500, at least 0.4: top-p removes this one."),
        ({"top_p": 0.4}, 0, "gives 0.500. Top-p always keeps the likeliest. Divided by the sum of what is left: "
         "0.500 / 0.500 ≈ 1.000."),
        ({"top_p": 0.6}, 1, "The likelier token has 0.500, less than 0.6: top-p keeps this one. Divided by the sum of "
         "what is left: 0.250 / 0.750 ≈ 0.333."),
        ({"top_k": 2, "top_p": 0.5}, 1, "The likelier token has 0.667 (after top-k), at least 0.5: top-p removes"),
        ({"top_p": 0.8, "shown": 3}, 2, "The 2 likelier tokens have 0.750 together, less than 0.8: top-p keeps this"),
        ({}, 2, "The other 2 tokens: the softmax gives 0.250 together."),
        ({"temperature": 2}, 2, "tokens: the softmax gives 0.369 together, where temperature 1 gives 0.250."),
        ({"top_k": 3}, 2, "gives 0.250 together. Only 1 of them is left. Divided by the sum of what is left: 0.125 / "
         "0.875 ≈ 0.143."),
        ({"top_k": 2, "temperature": 2}, 2, "The softmax gives 0.369 to what is removed"),
        ({"shown": 3}, 3, "The other token: the softmax gives 0.125."),
    ],
)  # fmt: skip
def test_what_is_said_of_a_row(show, settings, row, text):
    """With the numbers that are divided; one row is grey, the one that the text is about."""
    page = show(view(**settings))
    assert text in said(page, row)
    assert page.locator(".row.on").count() == 1 and page.locator("[aria-selected=true]").count() == 1


def test_numbers_that_are_kept_are_never_written_as_p(show):
    """0.49996 is less than 0.5, and 0.500 is not."""
    page = show(SamplingView(torch.tensor([0.49996, 0.3, 0.20004]).log(), "abc", top_p=0.5))
    assert "The likelier token has 0.499, less than 0.5: top-p keeps this one." in said(page, 1)


def test_a_small_probability_is_not_written_as_0(show):
    page = show(SamplingView(torch.tensor([9.0, 0.0, -9.0]), "abc"))
    assert page.locator(SHARE).all_inner_texts() == ["1.000", "<0.001", "<0.001"]
    assert "gives 1.2e−4." in said(page, 1) or "gives 0.00012." in said(page, 1)
    assert "gives 1.5e−8." in said(page, 2)


def test_the_keys_go_from_row_to_row(show):
    """All rows are one stop of the Tab key, also when some are removed."""
    page = show(view())
    page.get_by_role("button", name="reset").focus()
    page.keyboard.press("Tab")
    says = page.locator(".says")
    assert says.inner_text().startswith("la: ")
    for key, start in [
        ("ArrowDown", "le: "),
        ("ArrowDown", "The other 2"),
        ("ArrowUp", "le: "),
        ("End", "The other 2"),
    ]:
        page.keyboard.press(key)
        assert says.inner_text().startswith(start), key
    page.get_by_label("top-k", exact=True).press("Home")
    assert says.inner_text().startswith("Point at")
    page.get_by_role("button", name="reset").focus()
    page.keyboard.press("Tab")
    assert says.inner_text().startswith("la: "), "the row that had the focus is removed"
    page.keyboard.press("End")
    assert says.inner_text().startswith("The softmax gives 0.500 to what is removed")


def traits(page):
    return page.evaluate("JSON.stringify(['temperature', 'top_k', 'top_p', 'data'].map(model.get))")


def test_tokens_are_drawn(show):
    """A random number is a place on the bars, laid end to end; sliders change the bars under the same numbers."""
    page = show(view(shown=4))
    state = traits(page)
    page.evaluate(DRAW, [0, 0.49, 0.51, 0.74, 0.76, 0.9, 0.999, *[0.3] * 13])
    drawn = page.locator(".drawn bdi")
    assert drawn.all_inner_texts() == ["la", "la", "le", "le", "un", "<eos>", "<eos>", *["la"] * 13]
    assert traits(page) == state
    page.evaluate("model.set('top_k', 2)")
    assert drawn.all_inner_texts()[:7] == ["la", "la", "la", "le", "le", "le", "le"], "2 of 3 are la"
    page.evaluate("model.set('top_k', 1)")
    assert set(drawn.all_inner_texts()) == {"la"} and drawn.count() == 20


def piles(page):
    """For each row the number of its draws, and where its pile ends on the axis."""
    end = float(page.locator(".ends span").last.inner_text())
    counts = page.locator(f"{ROW} .count").all_inner_texts()
    widths = page.locator(f"{ROW} .pile").evaluate_all(
        "piles => piles.map(pile => pile.offsetWidth / pile.parentNode.clientWidth)"
    )
    return [(int(count), share * end) for count, share in zip(counts, widths, strict=True)]


def test_draws_pile_up(show):
    """A plain count of the same random numbers; from 20 draws on, a pile ends at the share of its draws."""
    page = show(view(shown=2))
    dice = [(7 * i % 40 + 0.5) / 40 for i in range(40)]
    before = [0.5, 0.75, 1.0]  # la, le, the other two
    expected = lambda dice: [sum(low <= die < high for die in dice) for low, high in zip([0, *before], before)]  # noqa: E731, B905
    assert (
        page.locator(".titles .count").inner_text() == "draws"
        and page.get_by_label("clear the draws").get_attribute("aria-disabled") == "true"
    )
    page.evaluate(DRAW.replace("draw 20 tokens", "draw a token"), dice[:1])
    assert [count for count, _ in piles(page)] == expected(dice[:1])
    assert max(share for _, share in piles(page)) == pytest.approx(1 / 20, abs=0.01), "a brick"
    page.evaluate(DRAW, dice[1:21])
    page.evaluate(DRAW.replace("draw 20 tokens", "draw a token"), dice[21:22])
    assert page.locator(".titles .count").inner_text() == "of 22"
    assert [count for count, _ in piles(page)] == expected(dice[:22])
    for count, share in piles(page):
        assert share == pytest.approx(count / 22, abs=0.01)
    assert page.locator(".drawn").inner_text().startswith("The last 20 of 22: ")
    assert page.locator(ROW).first.get_attribute("aria-label") == f"la 0.500 {expected(dice[:22])[0]} of 22 draws"
    page.evaluate("model.set('top_k', 1)")
    assert [count for count, _ in piles(page)] == [22], "with the same luck, all are la"
    page.get_by_label("clear the draws").click()
    assert page.locator(f"{ROW} .count").all_inner_texts() == [""] and page.locator(".drawn").inner_text() == ""


def test_shares_approach_probabilities(show):
    page = show(view(shown=2))
    button = page.get_by_role("button", name="draw 20 tokens")
    for _ in range(100):
        button.click()
    for (_, share), probability in zip(piles(page), [0.5, 0.25, 0.25], strict=True):
        assert share == pytest.approx(probability, abs=0.05)  # of 2,000 draws: more than four standard deviations


def test_twenty_tokens_are_drawn_anew_each_time(show):
    page = show(SamplingView(torch.zeros(500), range(500)))
    button, drawn = page.get_by_role("button", name="draw 20 tokens"), page.locator(".drawn bdi")
    seen = []
    for _ in range(3):
        button.click()
        seen.append(tuple(drawn.all_inner_texts()))
    assert len(set(seen)) == 3 and all(len(tokens) == 20 and len(set(tokens)) > 10 for tokens in seen)


def test_a_screen_reader_hears_what_is_drawn_at_a_click_alone(show):
    page = show(view())
    drawn = page.locator(".drawn")
    page.get_by_role("button", name="draw 20 tokens").click()
    assert drawn.get_attribute("aria-live") == "polite"
    page.get_by_label("temperature", exact=True).press("ArrowRight")
    assert drawn.get_attribute("aria-live") == "off"


def test_other_logits_are_drawn_anew(show):
    page = show(view(top_k=2))
    page.evaluate("""() => { const data = new DataView(Float32Array.of(1, 3).buffer);
        const logits = { dtype: "float32", shape: [2], data };
        model.set("data", { logits, tokens: ["a", "b"], shown: [1, 0] }) }""")
    assert page.locator(f"{ROW} > :first-child").all_inner_texts() == ["b", "a"]
    assert page.locator(SHARE).all_inner_texts() == ["0.881", "0.119"]


@pytest.mark.parametrize("width", [332, 390, 800, 1440])
def test_no_text_is_cut_off_and_nothing_moves(show, page, width):
    """Sliders move neither buttons nor rows that are left, nor what is below; the page gets no shorter. Pointing moves
    nothing."""
    page.set_viewport_size({"width": width, "height": 900})
    words = [f"mot{i}" for i in range(649)]
    show(SamplingView(torch.arange(649.0) / 50, words, write=lambda *asked: [("la pomme", 0.5)] * 5, seed=1))
    places = """selector => [...document.querySelectorAll(selector)].flatMap(node => {
        const { top, bottom } = node.getBoundingClientRect(); return [top, bottom] })"""
    fixed = ".knobs, .titles, .draws, .drawn-with"
    all_parts = ".knobs, .draws, .row, .sentences, .legend, .says, .seqlearn"
    page.get_by_role("button", name="draw 20 tokens").click()
    page.get_by_label("temperature", exact=True).press("Home")
    before, height = page.evaluate(places, fixed), page.locator(".seqlearn").bounding_box()["height"]
    for setting in ({"temperature": 4}, {"top_p": 0.95, "top_k": 500}, {"temperature": 0.2}, {"top_k": 1}):
        page.evaluate("values => Object.entries(values).forEach(([name, value]) => model.set(name, value))", setting)
        assert page.evaluate(places, fixed) == before, setting
        assert page.locator(".seqlearn").bounding_box()["height"] >= height, setting
        page.mouse.move(1, 1)
        still = page.evaluate(places, all_parts)
        for row in {0, page.locator(ROW).count() // 2, page.locator(ROW).count() - 1}:
            page.locator(ROW).nth(row).hover()
            assert page.evaluate(places, all_parts) == still, setting
        assert page.evaluate(FITS) and page.evaluate(CUT) == []


# ---- Sentences that are drawn ---------------------------------------------------------------------------------------

BOXES = "What big boxes!"


@pytest.fixture(scope="module")
def rounded():
    """The Transformer with the weights that a page has."""
    return in_page(Translator.pretrained("transformer", "cpu"))


def test_sentences_in_the_page(show, rounded):
    """A button draws them; a slider draws them again, with the same luck."""
    page = show(SamplingView.of(rounded, BOXES, temperature=2.0))
    assert page.locator(".source").inner_text() == f"Source: {BOXES}" and page.locator(".sentences li").count() == 0
    page.get_by_role("button", name="draw five sentences").click()
    settled(page)
    texts = page.locator(".sentences bdi").all_inner_texts()
    assert len(texts) == 5 and [text for text, _ in page.evaluate("model.get('written').sentences")] == texts
    heading = page.locator(".drawn-with")
    assert heading.inner_text().startswith("Drawn with temperature 2; p: ")
    seed = page.evaluate("model.get('seed')")
    page.get_by_label("top-k", exact=True).press("Home")
    settled(page)
    assert page.evaluate("model.get('seed')") == seed
    greedy = rounded.translate(BOXES)
    assert page.locator(".sentences bdi").all_inner_texts() == [greedy] * 5
    page.get_by_label("top-k", exact=True).press("End")
    settled(page)
    assert page.locator(".sentences bdi").all_inner_texts() == texts, "the same numbers, the same sentences"


def inside(part, bottom):
    box = part.bounding_box()
    return box["y"] >= 0 and box["y"] + box["height"] <= bottom + 1


def test_drawn_sentences_come_into_sight(show, page, rounded):
    """By a press, of a finger or a key; a slider that draws them again moves nothing."""
    page.set_viewport_size({"width": 390, "height": 740})
    show(SamplingView.of(rounded, BOXES, temperature=2.0))
    page.get_by_role("button", name="draw 20 tokens").click()
    page.get_by_role("button", name="draw five sentences").click()
    settled(page)
    assert inside(page.locator(".writing"), 740)
    page.set_viewport_size({"width": 818, "height": 700})
    page.get_by_role("button", name="draw five sentences").press("Enter")
    settled(page)
    assert inside(page.locator(".writing"), page.locator(".says").bounding_box()["y"]), "above the note"
    page.evaluate("scrollTo(0, 0)")
    page.evaluate("model.set('top_k', 1)")
    settled(page)
    assert page.evaluate("scrollY") == 0


def test_all_of_the_view_is_on_one_screen(show, page, rounded):
    """The sentences stand beside the table; before they are drawn, no hole is kept for them below it."""
    box = lambda selector: page.locator(selector).bounding_box()  # noqa: E731
    page.set_viewport_size({"width": 1440, "height": 900})
    show(SamplingView.of(rounded, BOXES))
    assert page.locator(ROW).count() == 9 and box(".legend")["y"] + box(".legend")["height"] < 900
    assert box(".draws")["y"] < box(".rows")["y"] and box(".writing")["x"] > box(".rows")["x"] + box(".rows")["width"]
    assert box(".rows")["y"] - box(".left")["y"] < 60, "the bars stand right below the line about them"
    assert box(".draws")["x"] == box(".writing")["x"] and box(".writing")["y"] - box(".draws")["y"] < 200
    assert len({round(button["y"]) for button in map(Locator.bounding_box, page.locator(".draws button").all())}) == 1
    page.set_viewport_size({"width": 600, "height": 900})
    assert box(".rows")["y"] - box(".left")["y"] < 60 < box(".draws")["y"] - box(".rows")["y"]
    assert box(".legend")["y"] - box(".draws button:last-child")["y"] < 120


@pytest.mark.parametrize(("width", "height"), [(1024, 768), (1440, 900)])
def test_long_sentences_stand_beside_the_table(show, page, width, height):
    """Of each there are two lines; all of it when it is pointed at, or read aloud."""
    page.set_viewport_size({"width": width, "height": height})
    text = " ".join(["chaussettes"] * 20)
    show(SamplingView(torch.zeros(99), range(99), write=lambda *asked: [(text, 1e-5)] * 5, seed=1))
    rows, sentences = page.locator(".rows").bounding_box(), page.locator(".sentences").bounding_box()
    assert sentences["y"] + sentences["height"] < rows["y"] + rows["height"] + 60
    assert page.locator(".sentences li").last.bounding_box()["height"] < 50
    assert page.locator(".sentences li").evaluate_all("all => all.map(one => one.title)") == [text] * 5
    assert page.locator(".sentences li").first.evaluate("one => getComputedStyle(one).display") == "list-item"


def test_a_page_without_a_model_has_the_sentences_of_python(show):
    page = show(view(write=lambda *asked: [("la <b>", 0.25), ("le", 1e-4)], seed=3, top_p=0.9))
    assert page.locator(".sentences li").all_inner_texts() == ["la <b>p = 0.25", "lep: 1 in 10,000"]
    assert page.locator(".drawn-with").inner_text().startswith("Drawn with temperature 1, top-p 0.9; p: ")
    assert page.get_by_role("button", name="draw five sentences").count() == 0
    page.get_by_label("temperature", exact=True).press("ArrowRight")
    assert page.locator(".writing.waiting").count() == 0, "nobody is asked"
    assert show(view()).locator(".writing").is_hidden()


def test_a_tap_tells(show):
    """A finger leaves the row at once; the text stays, also in a browser that gives no focus to what is tapped."""
    page = show(view())
    page.locator(ROW).nth(1).evaluate("""row => ["pointerenter", "pointerleave"].forEach((name) =>
        row.dispatchEvent(new PointerEvent(name, { pointerType: "touch" })))""")
    assert page.locator(".says").inner_text().startswith("le: ")
