"""BeamView: probabilities, what is to come, and a typed sentence, whose tree in a page is that of Python."""

import math
import re

import pytest
from browser.pointing import contrast, labels, said
from browser.rounding import in_page
from browser.settling import settled
from browser.test_family import FITS
from hostile import DOZEN, one_line
from views.samples import SAMPLES

from seqlearn.search.hypotheses import Hypothesis, Node, Tree
from seqlearn.translator.translator import Translator
from seqlearn.views import BeamView
from seqlearn.views.gallery import all_views
from seqlearn.views.shared.arguments import as_text

BOXES = "What big boxes!"


@pytest.fixture(scope="module")
def rounded():
    """The Transformer with the weights that a page has."""
    return in_page(Translator.pretrained("transformer", "cpu"))


def number(text):
    return float(text.replace("−", "-"))


# ---- Probabilities --------------------------------------------------------------------------------------------------


def test_probabilities_are_multiplied(show):
    """A line has the probability of its token, a box the product of the lines that lead to it."""
    page = show(beams())
    logs = [number(text) for text in page.locator(".edge text").all_text_contents()]
    totals = page.evaluate("model.get('trees').find(one => one.width === 2 && one.alpha === 0).nodes.total")[1:]
    page.get_by_label("show probabilities").check()
    lines = [number(text) for text in page.locator(".edge text").all_text_contents()]
    boxes = [number(text) for text in page.locator(".node .score").all_inner_texts()]
    assert lines == pytest.approx([math.exp(log_prob) for log_prob in logs], abs=0.006)
    assert boxes == pytest.approx([math.exp(total) for total in totals], rel=0.05, abs=0.005)
    assert page.locator(".node.best").all_inner_texts() == ["a\n0.50", "dog\n0.45", "<eos>\n0.41\n★"]
    named = page.locator(".node.best").first.get_attribute("aria-label")
    assert named == "a 0.50: kept, on the way to the best sentence"
    legend = page.locator(".legend").inner_text()
    assert "its number: the probability" in legend and "in a box: probability of the sentence so far" in legend
    assert "((5 + length) / 6)^α" in legend
    assert "Best sentence ★: a dog <eos>, probability 0.41. Greedy" in told(page)[0]
    page.get_by_label("show probabilities").uncheck()
    assert [number(text) for text in page.locator(".edge text").all_text_contents()] == logs
    assert "its number: the log-probability" in page.locator(".legend").inner_text()


def test_the_arithmetic_of_probabilities(show):
    page = show(beams(alpha=1))
    page.get_by_label("show probabilities").check()
    page.locator(".node.beaten").hover()
    assert told(page)[2] == (
        "p(dog) ≈ 0.779. Probability of the sentence so far: 0.223 · 0.779 ≈ 0.174. Its logarithm, divided by the "
        "penalty of length 3, is the score: −1.75 / 1.33 ≈ −1.31."
    )
    assert "probability 0.41 (score −0.68). Greedy" in told(page)[0], "with a penalty the score decides"
    page.locator(".node").first.hover()
    assert told(page)[1] == "The start: nothing is written yet, and the probability is 1."
    page.get_by_label("length penalty α").press("Home")
    page.locator(".node.beaten").hover()
    assert told(page)[2].endswith("0.223 · 0.779 ≈ 0.174.")


def test_small_probabilities_are_written_as_in_all_views(show, rounded):
    page = show(BeamView.of(rounded, BOXES))
    page.get_by_label("show probabilities").check()
    texts = [text for text in page.locator(".node .score, .edge text").all_text_contents() if text]
    assert all(re.fullmatch(r"[01]\.\d\d|1 in [\d,]+", text) for text in texts), texts
    small = [i for i, text in enumerate(page.locator(".node .score").all_inner_texts()) if text.startswith("1 in ")]
    page.locator(".node").nth(small[0] + 1).hover()
    assert re.search(r"≈ 0\.0\d+ \(1 in [\d,]+\)\.$", told(page)[2]), "as a factor, too"
    page.get_by_label("show probabilities").uncheck()
    page.locator(".node").nth(small[0] + 1).hover()
    assert "e−" not in told(page)[2]
    page.get_by_label("show probabilities").check()
    wide = page.locator(".node .under").evaluate_all("nodes => nodes.map(node => node.scrollWidth - node.clientWidth)")
    assert max(wide) <= 0, "and no box is too narrow for them"


@pytest.mark.parametrize(
    ("log_prob", "text"), [(-2.72e-5, "≈ −0.000027, a"), (-3e-8, "≈ 0, a"), (-0.00423, "≈ −0.0042, a")]
)
def test_no_logarithm_is_written_with_a_power_of_ten(show, log_prob, text):
    page = show(BeamView(Tree([], [[Node((1,), log_prob, log_prob, log_prob, "kept")]]), ["", "the"]))
    page.locator(".node").last.click()
    assert text in told(page)[2] and told(page)[1].count("kept") == 1, "the node that is clicked"


# ---- Lines and the path to a node ------------------------------------------------------------------------------------


@pytest.mark.parametrize("sentence", [BOXES, "The small cat eats the pear."])
def test_no_line_crosses_a_long_number_and_no_sign_touches_one(show, rounded, sentence):
    page = show(BeamView.of(rounded, sentence, width=4))
    page.get_by_label("show probabilities").check()
    page.locator(".node").last.hover()
    crossed = page.locator(".tree").evaluate(
        """tree => [...tree.querySelectorAll('.edge path, .lit path')].flatMap(path => {
            const half = parseFloat(getComputedStyle(path).strokeWidth) / 2;
            const points = Array.from({ length: path.getTotalLength() }, (_, at) => path.getPointAtLength(at));
            return [...tree.querySelectorAll('.edge text')].filter(text => { const box = text.getBBox();
                return points.some(({ x, y }) => x + half > box.x && x - half < box.x + box.width
                    && y + half > box.y + 2 && y - half < box.y + box.height - 3) }).map(text => text.textContent) })"""
    )
    assert crossed == []
    gaps = page.locator(".node:has(.corner:not(:empty))").evaluate_all(
        """nodes => nodes.map(node => { const [score, corner] = ['.score', '.corner'].map(name => {
            const range = document.createRange(); range.selectNodeContents(node.querySelector(name));
            return range.getBoundingClientRect() });
        return Math.min(corner.left - score.right, node.getBoundingClientRect().right - corner.right) })"""
    )
    assert min(gaps) > 2


def test_the_path_to_a_node_lies_over_all_other_lines(show, rounded):
    """Faint and thin lines of it, too: pointed at, under the keys, and kept."""
    page = show(BeamView.of(rounded, BOXES, width=4, step=3))
    lit = page.locator(".tree svg .lit path")
    faint = page.locator(".node:not(.later)").last
    shown = "paths => paths.map(path => [path.getAttribute('d'), getComputedStyle(path).opacity])"

    def is_lit():
        lines = page.locator(".edge.on path").evaluate_all("paths => paths.map(path => path.getAttribute('d'))")
        widths = lit.evaluate_all("paths => paths.map(path => parseFloat(getComputedStyle(path).strokeWidth))")
        drawn = sorted(lit.evaluate_all(shown))
        return drawn == [[d, "1"] for d in sorted(lines)] and len(lines) == 3 and min(widths) >= 3

    faint.hover()
    assert is_lit() and lit.first.evaluate("path => path.parentNode.previousSibling.matches('.edge')"), "on top"
    faint.click()
    page.mouse.move(2, 2)
    assert is_lit()
    faint.click()
    page.mouse.move(2, 2)
    assert lit.count() == 0
    page.get_by_role("tree").press("ArrowUp")
    assert is_lit()


# ---- A beam of one, and the keys -------------------------------------------------------------------------------------


def test_a_beam_of_one_shows_what_it_drops(show, rounded):
    """At each step the likeliest token, and the best of those that are rejected."""
    page = show(BeamView.of(rounded, BOXES, width=1, step=1))
    drawn = page.locator(".node:visible:not(.later)")
    assert [text.split("\n")[0] for text in drawn.all_inner_texts()] == ["start", "quels", "quelles"]
    assert drawn.nth(2).get_attribute("class") == "node pruned" and drawn.nth(2).inner_text().endswith("×")
    assert ": 1 kept, 1 pruned." in told(page)[0]
    page.get_by_label("step", exact=True).press("End")
    assert page.locator(".node.pruned").count() == len(page.locator(".number").all()), "one at each step"


def test_escape_frees_a_node_wherever_the_focus_is(show, rounded):
    view = BeamView.of(rounded, BOXES).tell("See [quels].", {"quels": {"locked": [rounded.target.vocab.ids["quels"]]}})
    page = show(view)
    for control in (page.get_by_role("button", name="quels"), page.get_by_label("beam width")):
        page.get_by_role("button", name="quels").click()
        assert "kept: Escape" in page.locator(".says").inner_text()
        control.press("Escape")
        assert page.evaluate("model.get('locked')") is None and "kept: Escape" not in page.locator(".says").inner_text()
    control.press("PageUp")
    assert page.evaluate("model.get('step')") == 4, "the keys of the steps stay"


def test_on_a_phone_the_answer_covers_nothing(show):
    """It stands between the tree and the legend, also where it is pinned for the keyboard."""
    page = show(beams())
    page.set_viewport_size({"width": 390, "height": 844})
    page.locator(".tree").press("ArrowRight")
    page.keyboard.press("Enter")
    tree, says, legend = (page.locator(name).bounding_box() for name in (".tree", ".says", ".legend"))
    assert tree["y"] + tree["height"] <= says["y"] and says["y"] + says["height"] <= legend["y"]


@pytest.mark.parametrize(("width", "height"), [(1024, 768), (975, 768), (390, 844)])
def test_the_best_sentence_stands_above_the_tree_and_moves_nothing(show, page, rounded, width, height):
    """Its height is kept from the first step on; on a laptop all of the tree is seen, also in a gallery."""
    page.set_viewport_size({"width": width, "height": height})
    show(BeamView.of(rounded, BOXES, step=0))
    page.get_by_label("show probabilities").check()
    said, tree, start = page.locator(".narration"), page.get_by_role("tree"), page.locator(".node").first
    places = []
    for step in range(6):
        page.evaluate("step => model.set('step', step)", step)
        above, below = said.bounding_box(), tree.bounding_box()
        places.append(below)
        assert above["y"] + above["height"] <= below["y"] < height
        if width > 390:
            assert start.bounding_box()["x"] >= below["x"] + 4 and tree.evaluate(
                "it => it.scrollWidth <= it.clientWidth"
            )
    assert "Best sentence ★" in told(page)[0] and places == [places[0]] * 6


def test_five_steps_with_long_numbers_fit_on_a_laptop(show, page, rounded):
    """Also in a gallery. On a phone, a swipe stays in the tree; and a mouse that is dragged over it selects nothing."""
    page.set_viewport_size({"width": 975, "height": 768})
    show(BeamView.of(rounded, "The cat eats it."))
    page.get_by_label("show probabilities").check()
    tree = page.get_by_role("tree")
    assert page.locator(".number").count() == 5 and tree.evaluate("it => it.scrollWidth <= it.clientWidth")
    styles = tree.evaluate("it => [getComputedStyle(it).overscrollBehaviorX, getComputedStyle(it).userSelect]")
    assert styles == ["contain", "none"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_what_is_dropped_and_what_is_to_come_can_be_seen(show, page, rounded, scheme):
    """Boxes and lines have a contrast of 3 to 1, texts of 4.5 to 1."""
    page.emulate_media(color_scheme=scheme)
    show(BeamView.of(rounded, BOXES, step=2))
    contrasts = page.evaluate(
        """() => {
        const parts = (text) => text.match(/[\\d.]+/g).slice(0, 3).map(Number);
        const linear = (x) => x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4;
        const light = (rgb) => rgb.map((x) => linear(x / 255))
            .reduce((sum, x, i) => sum + x * [0.2126, 0.7152, 0.0722][i], 0.05);
        const ground = parts(getComputedStyle(document.querySelector(".seqlearn")).backgroundColor);
        const find = (selector, name) => [...document.querySelectorAll(selector)].map((node) => {
            const style = getComputedStyle(node), seen = Number(style.opacity);
            const [one, two] = [ground, parts(style[name]).map((x, i) => seen * x + (1 - seen) * ground[i])].map(light);
            return Math.max(one, two) / Math.min(one, two) });
        return [Math.min(...find(".edge path, .coming", "stroke"), ...find(".node.pruned", "borderTopColor")),
            Math.min(...find(".node.pruned", "color"))] }"""
    )
    assert contrasts[0] >= 3 and contrasts[1] >= 4.5


def test_the_cursor_of_the_keys_stays_in_sight(show, page, rounded):
    page.set_viewport_size({"width": 390, "height": 900})
    show(BeamView.of(rounded, BOXES, step=0))
    page.get_by_role("tree").focus()
    page.keyboard.press("PageDown")
    assert page.locator(".node.at").inner_text() == "start", "as long as it is seen"
    for _ in range(4):
        page.keyboard.press("PageDown")
        at, tree = page.locator(".node.at").bounding_box(), page.get_by_role("tree").bounding_box()
        assert tree["x"] <= at["x"] and at["x"] + at["width"] <= tree["x"] + tree["width"]


def test_on_a_phone_each_slider_of_the_search_has_a_line(show, page, rounded):
    page.set_viewport_size({"width": 390, "height": 844})
    show(BeamView.of(rounded, BOXES, alphas=(0.0, 0.6)))
    for name in ("beam width", "length penalty α"):
        assert page.get_by_label(name).bounding_box()["width"] > 150, name


# ---- What is to come ------------------------------------------------------------------------------------------------


def test_faint_boxes_stand_for_what_is_to_come(show):
    """They have the places of the boxes and no words, and they go as the tree grows, whose size stays."""
    page = show(beams(step=1))
    coming, tree = page.locator(".coming:visible"), page.get_by_role("tree")
    size = tree.bounding_box()
    assert coming.count() == 7 and page.locator(".number:visible").count() == 3
    assert told(page)[0].endswith("2 kept. The faint boxes are steps 2 to 3, still to come.")
    page.get_by_label("next step").click()
    assert coming.count() == 3 and told(page)[0].endswith("The faint boxes are step 3, still to come.")
    page.get_by_label("next step").click()
    assert coming.count() == 0 and "faint boxes" not in told(page)[0] and tree.bounding_box() == size
    page.get_by_label("step", exact=True).press("Home")
    assert coming.count() == 9 and told(page)[0].endswith("The faint boxes are steps 1 to 3, still to come.")


# ---- A sentence that is typed ---------------------------------------------------------------------------------------


def test_another_sentence_is_typed(show, rounded):
    page = show(BeamView.of(rounded, BOXES))
    box = page.get_by_label("sentence to search")
    assert box.input_value() == BOXES and page.locator(".source").count() == 0
    page.locator(".node").nth(1).click()
    assert page.evaluate("model.get('locked')") is not None
    box.fill("The girl sleeps.")
    box.press("Enter")
    settled(page)
    assert nodes(page, ".best") == ["la", "fille", "dort", ".", "<eos>"]
    assert page.evaluate("model.get('step')") == 5, "all steps are seen again"
    assert told(page)[1].startswith("Point at a node"), "what was locked is not in this tree"
    page.get_by_label("beam width").press("ArrowRight")
    settled(page)
    box.fill(" ")
    page.get_by_role("button", name="Search").click()
    settled(page)
    note = page.locator(".note").inner_text()
    assert note == "There is nothing to translate: type a sentence. Below is the tree of the former sentence."
    assert box.get_attribute("aria-invalid") == "true" and nodes(page, ".best")[0] == "la"
    assert told(page)[0] == "The tree is that of the former sentence."
    box.fill(BOXES)
    box.press("Enter")
    assert nodes(page, ".best")[0] == "quelles" and page.locator(".note.wrong").count() == 0, "known already"
    page.set_viewport_size({"width": 320, "height": 900})
    assert page.evaluate(FITS)


def test_a_word_of_the_text_leaves_no_hole_below_a_smaller_tree(show, rounded):
    """A slider does: nothing may move below it."""
    view = BeamView.of(rounded, BOXES, width=1).tell("See [one], [two].", {"one": {"width": 1}, "two": {"width": 2}})
    page = show(view)
    heights = []
    for word, width in ((None, 4), (None, 2), ("two", 2), ("one", 1)):
        page.evaluate("width => { document.activeElement.blur(); model.set('width', width) }", width)
        settled(page)
        if word:
            page.evaluate("model.set('width', 4)")
            settled(page)
            page.locator(".told").get_by_role("button", name=word).click()
            settled(page)
        heights.append(page.locator(".tree").bounding_box()["height"])
    assert heights[0] == heights[1] > heights[2] > heights[3]


def test_the_text_above_says_of_which_sentence_it_speaks(show, rounded):
    """It is grey while another one is searched; its words lead back."""
    page = show(BeamView.of(rounded, BOXES).tell("See [quels].", {"quels": {"sentence": BOXES, "step": 1}}))
    colours = "getComputedStyle(document.querySelector('.told')).color"
    note, box, black = page.locator(".note"), page.get_by_label("sentence to search"), page.evaluate(colours)
    assert note.inner_text() == "Type a sentence, and press Enter."
    box.fill("The girl sleeps.")
    box.press("Enter")
    settled(page)
    assert note.inner_text() == f"The text above is about “{BOXES}”." and page.evaluate(colours) != black
    page.locator(".told .word").click()
    assert note.inner_text() == "Type a sentence, and press Enter." and page.evaluate(colours) == black
    page.evaluate("model.set('told', [['See ', null], ['it', { step: 1 }]]); model.set('sentence', 'The girl sleeps.')")
    assert note.inner_text() == "Type a sentence, and press Enter.", "this text asks for no sentence"


def test_the_gallery_begins_with_probabilities_and_shows_what_greedy_search_drops(show):
    (view,) = (view for _, view in all_views() if isinstance(view, BeamView))
    page = show(view)
    assert page.get_by_label("show probabilities").is_checked()
    page.locator(".told .word").last.click()
    dropped = page.locator(".node.at")
    assert dropped.inner_text().split("\n") == ["quelles", "0.43", "×"] and dropped.is_visible()
    assert told(page)[1].startswith("quelles – pruned: ")


def test_unknown_words_are_named(show, rounded):
    page = show(BeamView.of(rounded, "zork!"))
    note, box = page.locator(".note.wrong"), page.get_by_label("sentence to search")
    assert note.inner_text() == "“zork” was never seen in training; it is read as <unk>."
    box.fill("The dinosaur eats the aple.")
    box.press("Enter")
    settled(page)
    assert note.inner_text() == "“dinosaur”, “aple” were never seen in training; they are read as <unk>."
    box.fill("The girl sleeps.")
    box.press("Enter")
    settled(page)


def test_why_there_is_no_tree_yet(show, rounded):
    """A page has no Python, and no log of Python."""
    page = show(BeamView.of(rounded, BOXES))
    page.evaluate("model.set('trees', [])")
    assert told(page)[0].startswith("Width 2 with α = 0 is not searched yet: the model in this page is at work.")


def test_without_a_model_in_the_page_nothing_can_be_typed(show):
    page = show(BeamView.of(Translator.pretrained("bahdanau", "cpu"), BOXES, widths=(2,), alphas=(0.0,)))
    assert page.get_by_role("textbox").count() == 0 and page.locator(".source").inner_text() == f"Source: {BOXES}"


WORDS = ["<eos>", "the", "a", "cat", "dog"]

SEARCHES = {  # for each width, what each step considered: tokens, the log-probability of the last one, and its fate
    1: [
        {(1,): (-0.5, "kept"), (2,): (-0.7, "pruned")},
        {(1, 3): (-1.0, "kept"), (1, 4): (-1.5, "pruned")},
        {(1, 3, 4): (-0.25, "kept"), (1, 3, 0): (-1.8, "pruned")},
        {(1, 3, 4, 0): (-0.1, "complete")},
    ],
    2: [
        {(1,): (-0.5, "kept"), (2,): (-0.7, "kept")},
        {(2, 4): (-0.1, "kept"), (1, 3): (-1.0, "kept"), (1, 4): (-1.5, "pruned"), (2, 3): (-2.5, "pruned")}
        | {(2, 1): (-4.0, "pruned")},
        {(2, 4, 0): (-0.1, "complete"), (1, 3, 4): (-0.25, "beaten"), (2, 4, 3): (-2.5, "pruned")},
    ],
}

BEST = {1: Hypothesis([1, 3, 4], [-0.5, -1.0, -0.25, -0.1], True), 2: Hypothesis([2, 4], [-0.7, -0.1, -0.1], True)}


def search(width, alpha):
    tree, totals = Tree([BEST[width]]), {(): 0.0}
    for length, step in enumerate(SEARCHES[width], 1):
        totals |= {tokens: totals[tokens[:-1]] + log_prob for tokens, (log_prob, _) in step.items()}
        penalty = ((5 + length) / 6) ** alpha
        tree.steps.append([Node(t, given[0], totals[t], totals[t] / penalty, given[1]) for t, given in step.items()])
    return tree


def beams(words=WORDS, **chosen):
    return BeamView(search, words, widths=(1, 2), alphas=(0, 1), **chosen)


def long_tree(steps=20, each=1):
    """Four ways that never end; 16 nodes are considered at each step."""
    ways, tree = {(): 0.0}, Tree([])
    for _ in range(steps):
        longer = {(*way, token): total - each - token / 100 for way, total in ways.items() for token in range(4)}
        best = sorted(longer, key=longer.get, reverse=True)
        ways = {path: longer[path] for path in best[:4]}
        fates = ["kept" if path in ways else "pruned" for path in best]
        step = [Node(p, -each - p[-1] / 100, longer[p], longer[p], fate) for p, fate in zip(best, fates, strict=True)]
        tree.steps.append(step)
    return tree


def nodes(page, selector=""):
    """The texts of the nodes that are seen, by column and row."""
    return [node.inner_text().split("\n")[0] for node in page.locator(f".node{selector}").all() if node.is_visible()]


def told(page):
    """The lines about the step, and about a node."""
    return [
        line
        for part in page.locator(".narration > [aria-live], .says > div").all()
        for line in part.inner_text().split("\n")
    ]


def test_the_tree_grows(show):
    page = show(beams(step=0))
    on, back = page.get_by_label("next step"), page.get_by_label("previous step")
    assert nodes(page) == ["start"] and back.is_disabled()
    assert page.get_by_label("step", exact=True).get_attribute("aria-valuetext") == "0 of 3"
    on.click()
    assert nodes(page) == ["start", "the", "a"]
    assert told(page)[0].startswith("Step 1: each kept sentence gets one more token. The likeliest extensions: 2 kept.")
    on.click()
    assert nodes(page) == ["start", "the", "a", "cat", "dog", "dog", "cat"]
    assert "The likeliest extensions: 2 kept, 3 pruned." in told(page)[0]
    assert page.locator(".foot").all_text_contents() == ["", "… 1 more ×", ""]
    assert page.locator(".done").count() == 0, "what is found is not given away before"
    on.click()
    assert on.is_disabled() and page.evaluate("model.get('step')") == 3 and page.locator(".done").count() == 1
    assert page.locator(".node.best").all_inner_texts() == ["a\n−0.70", "dog\n−0.80", "<eos>\n−0.90\n★"]
    assert page.locator(".node:has(.greedy) .text").all_inner_texts() == ["the", "cat", "dog"]
    assert told(page)[0].endswith(
        "1 complete, 1 beaten, 1 pruned. Best sentence ★: a dog <eos>, score −0.90. "
        "Greedy search (G) begins with the cat dog, which is beaten at step 3."
    )
    page.get_by_label("step", exact=True).press("Home")
    assert nodes(page) == ["start"] and page.evaluate("model.get('step')") == 0


def test_a_node_is_told(show):
    page = show(beams(alpha=1))
    assert told(page)[1].startswith("Point at a node")
    page.locator(".node.beaten").hover()
    assert told(page)[1:] == [
        "the cat dog – beaten: among the best, but no continuation could win any more.",
        "log p(dog) = −0.25, a probability of 77.88 %. Total: −1.5 + (−0.25) = −1.75. "
        "Score: total / penalty of length 3 = −1.75 / 1.33 ≈ −1.31.",
    ]
    assert nodes(page, ".on") == ["start", "the", "cat", "dog"] and page.locator(".edge.on").count() == 3
    page.locator(".node").first.hover()
    assert told(page)[1] == "The start: nothing is written yet, and the total is 0."
    page.mouse.move(5, 5)
    assert told(page)[1].startswith("Point at a node") and nodes(page, ".on") == []


def test_a_click_locks_a_node(show):
    page = show(beams())
    end = page.locator(".node.complete")
    end.click()
    assert page.evaluate("model.get('locked')") == [2, 4, 0]
    page.locator(".node").first.hover()
    assert told(page)[1].startswith("a dog <eos> – complete: the sentence ends here and is set aside. (kept")
    assert end.get_attribute("aria-selected") == "true"
    page.get_by_label("previous step").click()
    page.mouse.move(5, 5)
    assert told(page)[1].startswith("Point at a node"), "it is not there yet"
    page.get_by_label("next step").click()
    end.click()
    assert page.evaluate("model.get('locked')") is None and "locked" not in said(page)
    view = beams()
    view.locked = []
    assert told(show(view))[1].startswith("The start: nothing is written yet, and the total is 0. (kept")


def test_keys_in_the_tree(show):
    page = show(beams(step=2))
    tree = page.get_by_role("tree")
    tree.focus()
    press = page.keyboard.press
    press("ArrowRight")
    assert told(page)[1].startswith("the – among")
    press("ArrowDown")
    press("ArrowDown")  # there is none
    assert told(page)[1].startswith("a – among")
    press("ArrowRight")
    assert told(page)[1].startswith("a dog – among"), "the likeliest child"
    press("ArrowRight")
    assert told(page)[1].startswith("a dog – among"), "its children are still to come"
    press("Enter")
    assert page.evaluate("model.get('locked')") == [2, 4]
    press("ArrowUp")
    assert page.evaluate("model.get('locked')") == [1, 4], "the lock follows"
    assert tree.get_attribute("aria-activedescendant") == page.locator(".node.at").get_attribute("id")
    press("PageDown")
    assert page.evaluate("model.get('step')") == 3
    press("End")
    assert told(page)[1].startswith("a dog <eos> – complete")
    press("Escape")
    assert page.evaluate("model.get('locked')") is None
    press("PageUp")
    press("Home")
    assert told(page)[1].startswith("The start")
    press("ArrowLeft")
    assert told(page)[1].startswith("The start")
    press("Shift+Tab")
    assert told(page)[1].startswith("Point at a node")


def test_sliders_search_again(show):
    page = show(beams(alpha=1))
    page.locator(".node.complete").click()
    page.get_by_label("beam width").press("ArrowLeft")
    assert page.evaluate("['width', 'step'].map(name => model.get(name))") == [1, 4], "all steps are seen again"
    assert (
        nodes(page, ".best") == ["the", "cat", "dog", "<eos>"] and "Greedy search (G) finds the same." in told(page)[0]
    )
    assert told(page)[1].startswith("Point at a node"), "what was locked is not in this tree"
    score = page.locator(".node.complete .score")
    assert score.inner_text() == "−1.23" and page.locator(".node.complete .corner").inner_text() == "★"
    page.get_by_label("length penalty α").press("Home")
    assert score.inner_text() == "−1.85" and page.evaluate("document.activeElement.ariaLabel") == "length penalty α"
    page.get_by_label("step", exact=True).press("Home")
    page.get_by_label("beam width").press("End")
    assert nodes(page) == ["start"]
    page.evaluate("model.set('trees', [])")
    assert told(page)[0].startswith("Width 2 with α = 0 is not searched yet") and page.locator(".waiting").count() == 1


def test_a_smaller_tree_moves_nothing(show):
    page = show(beams())
    height = page.get_by_role("tree").bounding_box()["height"]
    page.get_by_label("beam width").press("Home")
    assert page.locator(".node").count() < 10 and page.get_by_role("tree").bounding_box()["height"] == height
    wide = page.get_by_label("length penalty α").bounding_box()["width"]
    assert wide <= 60, "two stops"


def test_a_model_that_is_sure(show):
    page = show(BeamView(Tree([], [[Node((1,), -0.00423, -0.00423, -0.00423, "kept")]]), WORDS))
    page.locator(".node").last.hover()
    assert page.locator(".node .score, .edge text").all_text_contents() == ["0.00", "0.00"], "not −0.00"
    assert told(page)[2].startswith("log p(the) ≈ −0.0042, a probability of 99.58 %. Total: 0 + (−0.0042) ≈ −0.0042. ")


def test_a_ready_tree_has_no_search(show):
    page = show(BeamView(search(2, 0.0), WORDS))
    assert page.get_by_role("slider").count() == 1 and nodes(page, ".best") == ["a", "dog", "<eos>"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_fates_are_told_apart_without_colour(show, page, scheme):
    page.emulate_media(color_scheme=scheme)
    show(beams())
    looks, signs = set(), set()
    for fate in ("kept", "complete", "beaten", "pruned"):
        node = page.locator(f".node.{fate}:not(.best)").first if fate != "complete" else page.locator(".node.complete")
        looks.add(node.evaluate("node => getComputedStyle(node).borderStyle"))
        signs.add(page.locator(f".fate.{fate}").inner_text())
        assert contrast(page, f".node.{fate}", "color") >= 4.5 and contrast(page, f".edge.{fate} path", "stroke") >= 3
    assert looks == {"solid", "double", "dotted", "dashed"} and len(signs) == 4
    for selector, name in [(".edge text", "fill"), (".tree .number", "fill"), (".done .edge.best path", "stroke")]:
        assert contrast(page, selector, name) >= 4.5, selector
    width = "node => parseFloat(getComputedStyle(node).borderTopWidth)"
    assert page.locator(".done .node.best").first.evaluate(width) > page.locator(
        ".node.kept:not(.best)"
    ).first.evaluate(width)


def test_a_long_tree_in_a_narrow_window(show, page):
    page.set_viewport_size({"width": 320, "height": 700})
    show(BeamView(long_tree(), step=1))
    tree, left = page.get_by_role("tree"), "node => node.scrollLeft"
    assert page.evaluate("document.documentElement.scrollWidth") == 320 and tree.evaluate(left) == 0
    page.get_by_label("step", exact=True).press("End")
    assert page.locator(".node").last.bounding_box()["x"] < 320, "the last step is scrolled to"
    tree.focus()
    page.keyboard.press("Home")
    assert tree.evaluate(left) == 0
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    box = page.locator(".node.at").bounding_box()
    assert box["x"] > 0 and box["x"] + box["width"] < 320


def test_a_line_is_as_wide_as_its_token_is_probable(show):
    page = show(beams())
    lines = page.locator(".edge").evaluate_all(
        """edges => edges.map(edge => [edge.querySelector('text').textContent,
        parseFloat(getComputedStyle(edge.querySelector('path')).strokeWidth)])"""
    )
    for text, width in lines:
        assert width == pytest.approx(1 + 4 * math.exp(float(text.replace("−", "-"))), abs=0.01), text
    assert len(lines) == 9 and "width of a line: probability of the token" in page.locator(".legend").inner_text()


@pytest.mark.parametrize("each", [10, 0.02], ids=["thin", "wide"])
def test_no_line_crosses_a_number_and_no_badge_a_word(show, each):
    """A dashed line through a minus sign makes a plus of it."""
    page = show(BeamView(long_tree(6, each)))
    page.locator(".node").last.hover()  # its lines are wide, and another colour
    crossed = page.locator(".edge").evaluate_all(
        """edges => { const [hits, boxes] = [[], edges.map(edge => edge.querySelector('text').getBBox())];
        edges.map(edge => edge.querySelector('path')).forEach((path, i) => {
            const half = parseFloat(getComputedStyle(path).strokeWidth) / 2;
            for (let at = 0; at <= path.getTotalLength(); at++) {
                const { x, y } = path.getPointAtLength(at);
                boxes.forEach((box, j) => x + half > box.x && x - half < box.x + box.width
                    && y + half > box.y + 2 && y - half < box.y + box.height - 3 && hits.push([i, j])); } });
        return hits }"""
    )
    assert crossed == []
    show(beams())
    inside = page.locator(".node:has(.greedy)").evaluate_all(
        """nodes => nodes.map(node => { const place = (name) => node.querySelector(name).getBoundingClientRect();
        const [word, badge, score, box] = [...['.text', '.greedy', '.score'].map(place), node.getBoundingClientRect()];
        return badge.top >= word.bottom - 1 && badge.right <= score.left + 1
            && badge.left > box.left && badge.bottom < box.bottom })"""
    )
    assert inside == [True] * 3


def test_the_place_in_a_tree_is_kept(show, page):
    """A change of width or alpha, or of the window, does not scroll back to step 1."""
    page.set_viewport_size({"width": 900, "height": 700})
    show(BeamView(lambda width, alpha: long_tree(), widths=(1, 2), alphas=(0, 1), step=1))
    tree, left = page.get_by_role("tree"), "node => node.scrollLeft"
    assert tree.evaluate(left) == 0, "at first the start is seen"
    page.get_by_label("step", exact=True).press("End")
    end = tree.evaluate(left)
    assert end > 2000
    page.get_by_label("beam width").press("ArrowLeft")
    assert tree.evaluate(left) == end
    page.get_by_label("length penalty α").press("ArrowRight")
    assert tree.evaluate(left) == end
    tree.evaluate("node => { node.scrollLeft = 700; return new Promise(requestAnimationFrame) }")
    page.get_by_label("beam width").press("ArrowRight")
    assert tree.evaluate(left) == 700, "nor does the tree go to the end where the learner looks elsewhere"
    page.get_by_label("step", exact=True).press("ArrowLeft")
    seen = "node => { const box = node.getBoundingClientRect(); return box.left >= 0 && box.right <= innerWidth }"
    for width in (4000, 500, 900):
        page.set_viewport_size({"width": width, "height": 700})
        page.evaluate("() => new Promise(done => requestAnimationFrame(() => setTimeout(done, 50)))")
        assert page.locator(".node[aria-level='20']").last.evaluate(seen), width


def test_the_source_of_a_tree(show):
    page = show(beams(source="the <b>big</b> dog"))
    assert page.locator(".source").inner_text() == "Source: the <b>big</b> dog"
    assert show(beams()).locator(".source").is_hidden()


def test_any_token_of_a_tree_is_text(show):
    tokens = [as_text(token) for token in DOZEN]
    page = show(SAMPLES["BeamView"](DOZEN))
    assert [title for _, title in labels(page.locator(".node"))[1:]] == tokens
    assert page.locator(".node .text").all_text_contents()[1:] == [one_line(token) for token in tokens]
    named = page.locator(".node").evaluate_all("nodes => nodes.map(node => node.ariaLabel)")[1:]
    assert all(name.startswith(one_line(token)) for name, token in zip(named, tokens, strict=True))
    page.locator(".node").nth(1).hover()
    assert page.locator(".says > div").last.locator(".token").first.text_content() == tokens[0]
    beyond = page.locator(".node").evaluate_all("nodes => nodes.map(node => node.scrollWidth - node.clientWidth)")
    assert set(beyond) == {0}, "long tokens are cut"
