"""All views on one page, to show them to others, and to try them without Python."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from pathlib import Path

import torch

from ..analysis.roles import read_roles
from ..data.corpus import builtin
from ..nn.positions import sinusoids
from ..runtime.ownership import write
from ..translator import DEFAULT_BEAM
from ..translator.translator import Translator
from ..translator.whatif import Ablate
from .attention.attention_view import AttentionView
from .batch.batch_view import BatchView
from .beam.beam_view import BeamView
from .gru.gru_view import GruView
from .kernel.kernel_view import KernelView
from .patch.patch_view import PatchView
from .pieces.pieces_view import PiecesView
from .position.position_view import PositionView
from .riddle.riddle_view import RiddleView
from .sampling.sampling_view import SamplingView
from .shared.page import page_of
from .softmax.softmax_view import MASKINGS, SoftmaxView
from .steps.steps_view import AttentionSteps
from .translator.translator_view import TranslatorView
from .view import View, parts_of

SENTENCE, FRENCH = "The girl washes the red apple and eats it.", "La fille lave la pomme rouge et la mange."
LEMON = "The girl washes the red lemon and eats it."  # the lemon is masculine: le citron
ORANGE = "The old bird ate the orange because it was sweet."  # with one head ablated, the bird was sweet
BOXES = "What big boxes!"  # greedy search begins with the wrong word
WASH = "wash washes washing washed eat eats eating"
WASH_MERGES = "▁ w,▁w a,▁wa s,▁was h,▁ e,▁e a,▁ea t,▁wash e,i n,in g".split(",")
TITLE = "How does attention work? Views to touch"
INTRO = (
    "Each part below asks one question, and its view answers when you point at it: with the mouse, with a finger, or "
    "with the keys Tab, the arrows and Enter. Where words above a view are underlined, a press on one shows what to "
    "look at. A small Transformer, which translates English into French, is inside this page, so everything works "
    "without a network and without Python. "
    'It reads 432 English words and writes 645 French ones. `seqlearn view tatoeba "I love you." -o real.html` writes '
    "a larger page, with a translator of real sentences."
)
LAYOUT = """
body { margin: 0 auto; padding: 0 16px 40px; max-width: 1240px; font: 16px/1.5 system-ui, sans-serif; }
body > header p, section > p { max-width: 44em; }
section { margin-top: 40px; }
@media (max-width: 400px) { body { padding: 0 0 40px; } body > header, section > h2, section > p { padding: 0 10px; } }
@media screen and (prefers-color-scheme: dark) { body { color: #ececec; background: #161616; } a { color: #6db8ff; } }
"""


def gallery(
    views: Sequence[tuple[str, View]],
    path: str | Path | None = None,
    title: str = TITLE,
    intro: str = INTRO,
    heading: str | None = None,
    together: bool = False,
) -> str:
    """Several views on one HTML page that works alone, like `View.to_html`.

    Args:
        views: tuples of a text about a view, and the view. If the text has a first line that ends with "?", this line
            is the heading, and else the view's caption. See `parts_of` for the model that answers.
        path: the file to write; default: none.
        title: of the page.
        intro: the text above the views.
        heading: above this text; default: the title.
        together: see `parts_of`.
    """
    headings, links, sections = [_parted(text, view) for text, view in views], [], []
    for i, (name, text) in enumerate(headings):
        links.append(f'<li><a href="#part{i}">{html.escape(name)}</a></li>')
        sections.append(
            f'<section>\n<h2 id="part{i}">{html.escape(name)}</h2>\n<p>{html.escape(text)}</p>\n'
            f'<div id="view{i}"></div>\n</section>'
        )
    nav = '<nav aria-label="views">\n<ul>\n{}\n</ul>\n</nav>'.format("\n".join(links))
    body = (
        f"<header>\n<h1>{html.escape(heading or title)}</h1>\n<p>{_coded(intro)}</p>\n{nav}\n</header>\n"
        f"<main>\n{chr(10).join(sections)}\n</main>\n"
        f"{parts_of({str(i): view for i, (_, view) in enumerate(views)}, together)}"
    )
    css = "\n".join([*dict.fromkeys(style for _, view in views for style in view.scripts.styles), LAYOUT])
    page = page_of(title, css, body)
    if path is not None:
        write(path, page)
    return page


def _coded(text: str) -> str:
    """A text as HTML; a command in it stands between backticks."""
    return re.sub("`(.+?)`", r"<code>\1</code>", html.escape(text))


def _parted(text: str, view: View) -> tuple[str, str]:
    """The heading above a view, and the text below the heading."""
    first, _, rest = text.partition("\n")
    return (first, rest) if first.endswith("?") and rest else (view.caption, text)


def guided(translator: Translator, beam: int = DEFAULT_BEAM) -> TranslatorView:
    """A translation with a text above it whose words show what to look at."""
    prefix = translator.target.tokenizer.tokenize(FRENCH)[:7]

    def asked(sentence: str, **changed: object) -> dict[str, object]:
        return {"sentence": sentence, "beam": beam, "prefix": [], "edits": [], "locked": None} | changed

    return TranslatorView(translator, SENTENCE, beam=beam, step=7).tell(
        "The last [la] stands for the apple: the model looks at the word “it”. What if the girl washes [a lemon]? What "
        "if the model has to write [le] for the apple? In [a sentence with an orange] the orange was sweet; "
        "[ablate one head] of 24, and the bird was sweet. Then press a word, or type a sentence.",
        {
            "la": asked(SENTENCE, locked=["query", 7], step=7),
            "a lemon": asked(LEMON, step=7),
            "le": asked(SENTENCE, prefix=[*prefix, "le"]),
            "a sentence with an orange": asked(ORANGE, step=9),
            "ablate one head": asked(ORANGE, edits=[Ablate("encoder", 1, 3)], step=9),
        },
    )


def all_views() -> list[tuple[str, View]]:
    """One view of each kind, in the order of a story, on the Transformer that comes with the course."""
    translator = Translator.pretrained("transformer", "cpu")
    queries, keys = torch.tensor([[2.0, 0], [0, 2]]), torch.tensor([[1.0, 0], [1, 1], [0, 2]])
    values = torch.tensor([[1.0, 0], [0, 1], [0.5, 0.5]])
    steps = AttentionSteps(queries, keys, values, torch.tensor([2, 3]), ["girl", "it"], ["the", "girl", "apple"])
    x = torch.linspace(0, 5, 51)
    noisy = x.sin() + 0.3 * (9 * x).sin()
    widths = [0.15, 0.35, 0.75, 1.25, 2.25, 5.25]  # between two distances: no reading stands at the edge of a box
    kernel = KernelView(x, noisy, x[::2], ("gaussian", "boxcar"), width=0.35, widths=widths)
    wrong = [[at, -1.2 if i == 16 else value] for i, (at, value) in enumerate(kernel.readings)]  # at query 8
    narrow, wide = ({"kernel": "gaussian", "width": width} for width in (0.15, 2.25))
    english, french, boxes = translator.source, translator.target, {"sentence": BOXES}
    words = french.vocab.tokens
    heads = AttentionView.of(translator, ORANGE, read_roles(), kind="encoder", layer=1, head=3)
    twins = PatchView(translator, SENTENCE, LEMON)
    beam = BeamView.of(translator, BOXES, alphas=(0.0, 0.6), step=1)
    beam.probabilities = True
    scores, mask = [2.0, 1.0, 3.0, 0.5], [True, True, True, False]
    la = {"sentence": SENTENCE, "other": LEMON, "decision": twins.result["decision"]}  # the last one
    noun_of_it = {"kind": "encoder", "layer": 1, "head": 3, "show": "head", "overlay": [], "edits": []}

    return [
        (
            "Which head decides?\nA translator chooses between il and elle. Press a number to find out what it needs.",
            RiddleView(translator),
        ),
        (
            "Where does a translation come from?\nThe model writes its translation word by word. A thick line: for "
            "this French word, the model looked at this English word.",
            guided(translator, beam=4),
        ),
        (
            "How do letters become words?\nByte pair encoding joins the most frequent neighbours, again and again. "
            "Press Next, and type a word of your own. Lesson 01.",
            PiecesView(WASH.split(), WASH_MERGES, joins=4, word="seating").tell(
                "After all ten joins, [washing] is two pieces. [Seating] ends in ing, too, but the piece ▁eat begins a "
                "word, so that here s, e, a and t stay letters. And [lunching] has three letters that no word here "
                "has.",
                {name: {"joins": 10, "word": name.lower()} for name in ("washing", "Seating", "lunching")},
            ),
        ),
        (
            "Which sentences should share a batch?\nA batch is as wide as its longest sentence. All the rest is "
            "padding: work for nothing. Lesson 01.",
            BatchView([french.vocab.decode(french.encode(pair.target)) for pair in builtin(64).pairs]).tell(
                "In [random] order, nearly a third of all cells is padding. [Sorted] by length, it is only 8%, but "
                "training would begin with short sentences only. [Bucketed]: the same batches in random order.",
                {name: {"order": name.lower(), "batch_size": 8} for name in ("random", "Sorted", "Bucketed")},
            ),
        ),
        (
            "How do scores become weights?\nEvery key, a word that may be looked at, gets a score. Softmax turns the "
            "scores into weights: positive numbers that sum to 1. A mask takes keys out. Lesson 02.",
            SoftmaxView(torch.tensor(scores), ["the", "red", "apple", "<pad>"], torch.tensor(mask)).tell(
                "Drag a score, or untick a word: with [apple at −1], “the” gets 0.705. <pad> only fills up a short "
                "sentence, and must get nothing. With [score 0] it gets 0.032, as e^0 is 1. With [weight 0], 0.052 of "
                "the attention is lost. [Score −∞] is right.",
                {
                    "apple at −1": {"scores": [2.0, 1.0, -1.0, 0.5], "mask": mask, "masking": MASKINGS[0]},
                    "score 0": {"scores": scores, "mask": mask, "masking": MASKINGS[1]},
                    "weight 0": {"scores": scores, "mask": mask, "masking": MASKINGS[2]},
                    "Score −∞": {"scores": scores, "mask": mask, "masking": MASKINGS[0]},
                },
            ),
        ),
        (
            "Can an average know what you ask for?\nThe prediction at a point is an average of all readings, and near "
            "readings weigh more. This is attention from 1964, without anything learned. Drag a reading. Lesson 03.",
            kernel.tell(
                "Each reading has an x, its key, and a y, its value. The x one asks about is the query. With [a narrow "
                "kernel] the curve follows the readings, and with [a wide one] it is nearly flat. [One wrong reading] "
                "makes a deep dent in the narrow curve, and [hardly any] in the wide one.",
                {
                    "a narrow kernel": narrow | {"readings": kernel.readings, "locked": [12]},
                    "a wide one": wide | {"readings": kernel.readings, "locked": [12]},
                    "One wrong reading": narrow | {"readings": wrong, "locked": [8]},
                    "hardly any": wide | {"readings": wrong, "locked": [8]},
                },
            ),
        ),
        (
            "What does one attention compute?\nFive steps lead from queries, keys and values to the result. Point at a "
            "number to see what made it, or drag a number of Q or K. Lesson 04.",
            steps.tell(
                "Begin with [the products], see what [the mask] takes away, and end at [the weighted sum]. What if "
                "[the query girl] were 0 and 2? In “4 softmax” the weight of its own key rises from 0.50 to 0.80.",
                {
                    "the products": {"step": 0, "locked": [], "changes": []},
                    "the mask": {"step": 2, "locked": [0, 2], "changes": []},
                    "the weighted sum": {"step": 4, "locked": [], "changes": []},
                    "the query girl": {
                        "step": 0,
                        "locked": [0, 1],
                        "changes": [["queries", 0, 0, 0.0], ["queries", 0, 1, 2.0]],
                    },
                },
            ),
        ),
        (
            "How does a network remember, without attention?\nA GRU reads word by word. Each number of its state has a "
            "gate that says how much of the old number stays. Here such a network, trained to translate, reads a "
            "sentence; one of its 128 numbers is shown. Lesson 05.",
            GruView.of(Translator.pretrained("bahdanau", "cpu"), SENTENCE, unit=76, word=5).tell(
                "Up to “apple”, unit 76, one number of the state, hardly changes. At [the word “and”] its update gate "
                "z falls to 0.03, and a new value n comes in. Then it is kept, [to the end]. What if the gate had "
                "[stayed at 1]? [Unit 110] changes at nearly every word. Its reset gate r says how much n depends on "
                "the old state: with [r = 0] at “eats”, n is 0.85 and not −0.99.",
                {
                    "the word “and”": {"unit": 76, "word": 6, "z": None, "r": None},
                    "to the end": {"unit": 76, "word": 10, "z": None, "r": None},
                    "stayed at 1": {"unit": 76, "word": 6, "z": 1.0, "r": None},
                    "Unit 110": {"unit": 110, "word": 6, "z": None, "r": None},
                    "r = 0": {"unit": 110, "word": 7, "z": None, "r": 0.0},
                },
            ),
        ),
        (
            "How does the model know the order of words?\nAttention alone sees a heap of words. So each position gets "
            "a row of numbers, a pattern of fast and slow waves, which is added to the vector of the word. Lesson 08.",
            PositionView(sinusoids(24, 16), tokens=english.tokenizer.tokenize(SENTENCE), pair=1).tell(
                "Two columns are a pair, a sine and a cosine: the hand of a clock. From “the” to “apple” it is [five "
                "positions]: the hand of pair 1 turns by 91°, and it does so [from every i], whatever the words are. "
                "The hand of [a slow pair] hardly moves. At [distance 0] both hands are one, in every pair: each of "
                "the 8 pairs adds 1 to the dot product. It depends on the distance alone. The authors of the "
                "Transformer hoped that such a table makes it easy for a head to look two words back.",
                {
                    "five positions": {"position": 0, "offset": 5, "pair": 1},
                    "from every i": {"position": 3, "offset": 5, "pair": 1},
                    "a slow pair": {"position": 3, "offset": 5, "pair": 6},
                    "distance 0": {"position": 3, "offset": 0, "pair": 1},
                },
            ),
        ),
        (
            "What do the 24 heads look at?\nEvery head of every layer has its own map; some have a role, which was "
            "measured over many sentences. Choose a head and a cell: their names above the maps are steps of a zoom, "
            "which ends at the numbers behind a weight. Ablate a head, and see what becomes of the sentence. Lessons "
            "07, 09 and 11.",
            heads.tell(
                "In [this head of the encoder], the word [it] looks for its noun. [These numbers] make the weight. "
                "[Ablate the head], and in French it is the bird that was sweet.",
                {
                    "this head of the encoder": noun_of_it | {"zoom": "head", "locked": None},
                    "it": noun_of_it | {"zoom": "head", "locked": ["query", 7]},
                    "These numbers": noun_of_it | {"locked": ["pair", 7, 5], "zoom": "cell"},
                    "Ablate the head": noun_of_it
                    | {"zoom": "head", "locked": None, "edits": [Ablate("encoder", 1, 3)]},
                },
            ),
        ),
        (
            "Which vector decides?\nTwo sentences differ in one word. Choose a cell, and the vector at this place "
            "comes from the other sentence. A number says how far this vector alone moves the decision: 1 is all the "
            "way. Lesson 14.",
            twins.tell(
                "In French, “it” is “la” for the apple, and “le” for the lemon. [One vector], that of head 1.3 of the "
                "encoder at the word “it”, makes the model hesitate. [A second one], at the word “eats”, changes its "
                "word. [The noun itself], after block 1, changes the noun and no pronoun: “it” and “eats” have looked "
                "at it before. [Take all back].",
                {
                    "One vector": la | {"patches": [["encoder 1.3", 8]]},
                    "A second one": la | {"patches": [["encoder 1.3", 8], ["encoder 1.3", 7]]},
                    "The noun itself": la | {"patches": [["encoder.blocks.1", 5]]},
                    "Take all back": la | {"patches": []},
                },
            ),
        ),
        (
            "Which sentence does the model write in the end?\nThe likeliest next word does not always begin the "
            "likeliest sentence. A beam follows several beginnings at once. Lesson 10.",
            beam.tell(
                "Boxes are feminine in French, so the first word has to be “quelles”. But [“quels”] is the likelier "
                "first word. [A beam of two] keeps both; already after the next word “quelles” is ahead, and it stays "
                "so to [the end]. Greedy search is [a beam of one]: it has dropped “quelles” at once.",
                {
                    "“quels”": boxes | {"width": 2, "step": 1, "locked": [words.index("quels")]},
                    "A beam of two": boxes
                    | {"width": 2, "step": 2, "locked": [words.index("quelles"), words.index("grandes")]},
                    "the end": boxes | {"width": 2, "step": 5, "locked": None},
                    "a beam of one": boxes | {"width": 1, "step": 1, "locked": [words.index("quelles")]},
                },
            ),
        ),
        (
            "How does a chatbot choose its next word?\nIt does not always take the likeliest word: it draws one at "
            "random, and three numbers say how freely. Here the model of this page translates "
            "“What big boxes!”. Lesson 13.",
            SamplingView.of(translator, BOXES).tell(
                "The model gives every word a score, its logit, and the softmax makes probabilities of them: two words "
                "share nearly everything. [Temperature 4] divides each logit by 4: all words come closer, and the many "
                "unlikely ones get most of it together. [Top-k = 4] removes these: what is left are four forms of one "
                "word. At temperature 1, [top-p = 0.9] leaves the likeliest words that have 0.9 together: two.",
                {
                    "Temperature 4": {"temperature": 4.0, "top_k": None, "top_p": None},
                    "Top-k = 4": {"temperature": 4.0, "top_k": 4, "top_p": None},
                    "top-p = 0.9": {"temperature": 1.0, "top_k": None, "top_p": 0.9},
                },
            ),
        ),
    ]
