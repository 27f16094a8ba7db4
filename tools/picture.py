"""What the README shows: a film of the live translator, its dark twin, the page itself, and an exercise.

    python -m tools.picture

live.gif and live-dark.gif are films, live.png and live-dark.png their last frames, for readers who want no motion.
live.html is a page that opens with a double click. not-yet.png shows what a check says of a wrong answer. Drives
Chromium with playwright. What the films show is computed in the page that `TranslatorView.to_html` writes. So that the
text stays readable at 800 pixels, they leave out the heat map and some controls.
"""

from __future__ import annotations

import io
import tempfile
from pathlib import Path
from typing import Literal

import nbformat
from nbclient import NotebookClient
from nbconvert import HTMLExporter
from PIL import Image
from playwright.sync_api import Browser, Page, ViewportSize

from seqlearn.translator.translator import Translator
from seqlearn.views import TranslatorView
from seqlearn.views.gallery import all_views, gallery
from tools.browser import chromium

ASSETS = Path(__file__).parents[1] / "assets"
SENTENCE = "The cat eats the green apple because it is hungry."
BEFORE = "le chat mange la pomme verte parce qu'il a faim."
AFTER = "le chat mange la pomme verte parce qu'elle a faim."
HEAD = ("encoder", 0, 1)  # kind, layer, head
ADJECTIVE, PRONOUN = "verte", "il"
WIDTH, HEIGHT = 856, 620
SHARP = 2  # pixels of the film for each pixel of the page
TIMES = 2  # how often the film runs; then its last frame stays
COLOURS = 96

SCHEMES: dict[Literal["light", "dark"], str] = {"light": "live", "dark": "live-dark"}
PAGE_INTRO = (
    "A small Transformer, which translates English into French, is inside this page: it needs no network and no "
    "Python. The course tells how it works, and has more views."
)
WRONG = [
    "import math\n\nfrom seqlearn.exercises import lesson09",
    """def attend(q, k, v, mask, heads):
    q, k, v = (x.unflatten(-1, (heads, -1)).transpose(1, 2) for x in (q, k, v))
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    weights = scores.masked_fill(mask, -math.inf).softmax(-1)
    return (weights @ v).transpose(1, 2).flatten(2)


lesson09.check_attend(attend)""",
]
LOOK = """
.asking { flex-wrap: nowrap !important; }
header h1 { font-size: 21px !important; padding: 14px 10px 8px !important; }
.controls > :not(.asking):not(.head-line), .asking > :not(input, [type="submit"]), .note, .legend, .feet, .linking,
.whatif, .panels .map, .before > .faint, .says .faint, .walk, .chip::after { display: none !important; }
.seqlearn .written { flex: none; padding: 2px 0; font-size: 21px; white-space: nowrap; }
.seqlearn .before { min-height: 20px !important; }
.seqlearn .present { white-space: nowrap; }
.seqlearn:has(.asking) .says { min-height: 2em; margin: 8px 0 14px; font-size: 15px; }
.seqlearn .panels.side { display: flex; flex-wrap: nowrap; gap: 6px; }
.seqlearn .beside { width: 420px; grid-template-columns: 222px 180px; gap: 18px; }
.seqlearn .candidates { width: 222px; }
.seqlearn .candidates .sign { width: 2.6em; }
.seqlearn .candidates .value { width: 5.8em; }
.empty :is(.present, .before, .says, .panels, .chips) { visibility: hidden; }
#pointer { position: fixed; z-index: 9; width: 15px; left: 0; top: 0; }
"""
POINTER = """() => document.body.insertAdjacentHTML("beforeend", `<svg id="pointer" viewBox="0 0 12 19">
<path d="M0 0v16l4-4 3 7 3-1-3-7h5z" fill="#111" stroke="#fff"/></svg>`)"""
EMPTY = "empty => document.querySelector('.seqlearn').classList.toggle('empty', empty)"
MOVE = "([x, y]) => { document.querySelector('#pointer').style.transform = `translate(${x}px, ${y}px)`; }"


class Film:
    """Frames of a page, each with the milliseconds that it stays."""

    def __init__(self, page: Page):
        self.page = page
        self.frames: list[Image.Image] = []
        self.milliseconds: list[int] = []
        self.place = (560.0, 560.0)

    def hold(self, milliseconds: int) -> None:
        """Take the page as it is now."""
        picture = Image.open(io.BytesIO(self.page.screenshot())).convert("RGB")
        self.frames.append(picture)
        self.milliseconds.append(milliseconds)

    def say(self, text: str) -> None:
        """Write a caption above the view."""
        self.page.locator("h1").evaluate("(node, text) => { node.textContent = text; }", text)

    def point(self, selector: str) -> None:
        """Move the pointer to an element, in six frames."""
        box = self.page.locator(selector).bounding_box()
        if box is None:
            raise ValueError(f"there is no {selector} to point at")
        start, end = self.place, (box["x"] + 0.6 * box["width"], box["y"] + 0.75 * box["height"])
        for part in (0.08, 0.26, 0.5, 0.74, 0.92, 1.0):
            self.place = tuple(a + part * (b - a) for a, b in zip(start, end, strict=True))
            self.page.evaluate(MOVE, self.place)
            self.hold(50)

    def click(self, selector: str) -> None:
        """Click on the element that is pointed at, without the highlighting of what is under a mouse."""
        self.page.locator(selector).evaluate("node => node.click()")

    def save(self, film: Path, still: Path) -> None:
        """Write the film with one palette for all frames, so that nothing flickers, and its last frame."""
        width, height = self.frames[0].size
        strip = Image.new("RGB", (width, height * 4))
        for row in range(4):
            strip.paste(self.frames[(len(self.frames) - 1) * row // 3], (0, height * row))
        palette = strip.quantize(COLOURS, dither=Image.Dither.NONE)
        palette.putpalette([255 if level > 248 else level for level in palette.getpalette() or []])  # a white ground
        first, *others = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in self.frames]
        settings = {"duration": self.milliseconds, "loop": TIMES - 1, "optimize": True}
        first.save(film, save_all=True, append_images=others, **settings)
        self.frames[-1].quantize(256).save(still, optimize=True)


def word(text: str) -> str:
    """The selector of a token of the translation."""
    return f".written .piece[title^={text + ':'!r}]"


def told(page: Page, text: str) -> None:
    """Wait until this translation stands in the page."""
    stands = "document.querySelector('.written').textContent.startsWith(text)"
    page.wait_for_function(f"text => {stands} && !document.querySelector('.former')", arg=text)


def shoot(page: Page) -> Film:
    """The story: a sentence, its translation, where the model looked, and what if?"""
    film, box = Film(page), page.get_by_label("sentence to translate")
    page.evaluate(MOVE, film.place)
    page.evaluate(EMPTY, True)
    film.say("Type a sentence. The model is inside the page.")
    box.focus()
    for end in range(0, len(SENTENCE) + 1, 2):
        box.fill(SENTENCE[:end])
        film.hold(60 if end else 500)
    box.press("Enter")
    told(page, BEFORE)
    page.evaluate(EMPTY, False)
    box.blur()
    film.say("It answers in French. Click on a word …")
    film.hold(1300)
    film.point(word(ADJECTIVE))
    film.click(word(ADJECTIVE))
    film.say("… and see where it looked: “verte” comes from “green”.")
    film.hold(1500)
    film.point(word(PRONOUN))
    film.click(word(PRONOUN))
    film.say("Who is hungry? “il” is the cat; the apple would be “elle”.")
    film.hold(1700)
    film.say("What if one of its 24 heads says nothing?")
    kind, layer, head = HEAD
    button = f'.switches button[title^="{kind}, layer {layer}, head {head}:"]'
    film.point(button)
    film.hold(500)
    film.click(button)
    told(page, AFTER)
    film.say("Without this head it writes “elle”: now the apple is hungry.")
    film.hold(3000)
    return film


def film(browser: Browser, url: str, scheme: Literal["light", "dark"]) -> Film:
    """The story in a page with this theme."""
    size = ViewportSize(width=WIDTH, height=HEIGHT)
    page = browser.new_page(viewport=size, color_scheme=scheme, bypass_csp=True, device_scale_factor=SHARP)
    page.goto(url)
    page.add_style_tag(content=LOOK)
    page.evaluate(POINTER)
    return shoot(page)


def exercise(browser: Browser, path: Path) -> None:
    """A picture of an exercise whose check says "not yet", as JupyterLab shows it."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code) for code in WRONG])
    NotebookClient(notebook).execute()
    notebook.cells = notebook.cells[1:]
    page = browser.new_page(viewport=ViewportSize(width=960, height=HEIGHT), device_scale_factor=SHARP)
    html, _ = HTMLExporter(template_name="lab").from_notebook_node(notebook)
    page.set_content(html, wait_until="domcontentloaded")
    picture = Image.open(io.BytesIO(page.locator("main").screenshot()))
    picture.quantize(256).save(path, optimize=True)


def main() -> None:
    """Write the page, film it in both themes, and keep all that the README shows."""
    gallery(all_views()[:2], ASSETS / "live.html", "Which head decides?", PAGE_INTRO)
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        path = Path(folder, "page.html")
        TranslatorView(Translator.pretrained("transformer", "cpu"), "The dog sleeps.").to_html(path)
        for scheme, name in SCHEMES.items():
            film(browser, path.as_uri(), scheme).save(ASSETS / f"{name}.gif", ASSETS / f"{name}.png")
        exercise(browser, ASSETS / "not-yet.png")


if __name__ == "__main__":
    main()
