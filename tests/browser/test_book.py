"""The book, opened from files: every page, its links, its frames, its folds, its search; no network, no barrier."""

import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from browser.settling import settled, until
from bs4 import BeautifulSoup

from tools.book import build

ROOT = Path(__file__).parents[2]
AXE = Path(__file__).with_name("axe.min.js").read_text("utf-8")
FIND_BARRIERS = """async (rules) => {
    const settings = { resultTypes: ['violations'], preload: false, iframes: false, runOnly: rules };
    const { violations } = await axe.run(document, settings);
    return violations.flatMap(({ id, nodes }) => nodes.map(node => `${id}: ${node.html.slice(0, 200)}`)) }"""
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
EACH_COLOUR_ONCE = """() => { const seen = new Set(); for (const word of document.querySelectorAll('pre span[class]'))
    if (seen.has(word.className)) word.replaceWith(...word.childNodes); else seen.add(word.className) }"""  # of code
OVER = """() => [...document.querySelectorAll('article *')]
    .filter(node => node.getBoundingClientRect().right > innerWidth)
    .filter(node => !node.parentElement.closest('pre, .output, .table-wrapper, .math-wrapper, mjx-container'))
    .map(node => node.outerHTML.slice(0, 100))"""
CUT_TABLES = """async () => { for (let frame = 0; frame < 3; frame++) await new Promise(requestAnimationFrame);
    await window.MathJax?.startup?.promise;
    for (let frame = 0; frame < 3; frame++) await new Promise(requestAnimationFrame);
    return [...document.querySelectorAll('.table-wrapper')].filter(box => box.scrollWidth > box.clientWidth)
        .map(box => box.textContent.replace(/\\s+/g, ' ').slice(0, 100)) }"""
GROUND = """async (view, colour) => { const has = () => getComputedStyle(view).backgroundColor === colour;
    for (let frame = 0; frame < 300 && !has(); frame++) await new Promise(requestAnimationFrame); return has() }"""
OFFLINE = """import runpy, sys
def forbid(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo"):
        raise PermissionError(f"the network is cut off: {arguments}")
sys.addaudithook(forbid)
sys.argv[1:] = ["--out", sys.argv[1]]
runpy.run_module("tools.book.build", run_name="__main__")"""


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    """The folder of the book, built without a network."""
    out = tmp_path_factory.mktemp("book") / "site"
    done = subprocess.run([sys.executable, "-c", OFFLINE, out], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return out


@pytest.fixture(scope="module")
def pages(book):
    """The pages of the book, without the documents of its frames."""
    return [path for path in sorted(book.rglob("*.html")) if path.parent.name != "views"]


def lesson(book, number):
    """The page of a lesson."""
    return next((book / "notebooks").glob(f"{number}-*.html"))


def test_every_lesson_and_every_room_has_a_page(book, pages):
    names = {path.relative_to(book).with_suffix("").as_posix() for path in pages}
    assert names >= {
        path.relative_to(ROOT).with_suffix("").as_posix() for path in ROOT.glob("notebooks/**/[0-9]*.ipynb")
    }
    assert names >= {
        "index",
        "search",
        "contract",
        "assets/glossary",
        "api/index",
        "api/nn",
        "api/translator",
        "api/views",
    }
    assert (book / ".nojekyll").exists(), "GitHub Pages would leave out _static"
    assert sum(path.stat().st_size for path in book.rglob("*") if path.is_file()) < 40e6


def test_links(book, pages):
    """What a page names is there, and so is the place in the page that a link names."""
    soups = {path: BeautifulSoup(path.read_text("utf-8"), "lxml") for path in book.rglob("*.html")}
    ids = {path: {node["id"] for node in soup.select("[id]")} for path, soup in soups.items()}
    wrong, outside = [], set()
    for path, soup in soups.items():
        for node in soup.select("[href], [src]"):
            parts = urlsplit(node.get("href") or node.get("src"))
            if parts.scheme or parts.netloc:
                outside.add(parts.scheme)
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchor = unquote(parts.fragment)
            if not target.is_file() or book not in target.parents or (anchor and anchor not in ids[target]):
                wrong.append(f"{path.name}: {node}"[:200])
    assert wrong == [] and outside <= {"https", "data"}


def test_words_lead_to_the_glossary(book):
    soup = BeautifulSoup(lesson(book, "04").read_text("utf-8"), "lxml")
    links = {link["href"]: link for link in soup.select("a.term")}
    assert len(links) > 10 and len(links) == len(soup.select("a.term"))  # each term once
    link = links["../assets/glossary.html#term-bilinear-attention-general"]
    assert link.text == "bilinear attention"
    assert link["title"] == "the score is a dot product with a learned matrix between"
    assert soup.select("h1 a.term, h2 a.term, h3 a.term, pre a.term, code a.term, .math a.term, a a.term") == []


def test_chinese_words_lead_to_the_chinese_glossary(book):
    soup = BeautifulSoup((book / "zh" / "04-attention-scores.html").read_text("utf-8"), "lxml")
    links = {link["href"]: link for link in soup.select("a.term")}
    assert len(links) > 10 and len(links) == len(soup.select("a.term"))
    assert links["../translations/zh/glossary.html#term-双线性注意力"]["title"] == "分数是点积，中间夹一个学来的矩阵"
    key = links["../translations/zh/glossary.html#term-键"]
    assert key.parent.name == "strong" and key.parent.text == "键", "not a part of another word"


def test_mentions_of_lessons_are_links(book):
    def linked(page):
        soup = BeautifulSoup((book / page).read_text("utf-8"), "lxml")
        return {link.text: link["href"] for link in soup.select("a.lesson")}

    assert linked("notebooks/02-masked-softmax.html")["lesson 01"] == "01-sequences-and-batches.html"
    chinese = linked("zh/02-masked-softmax.html")
    assert chinese["第 04 课"] == "04-attention-scores.html"
    assert chinese["第 03 课"] == "../notebooks/03-kernel-regression.html", "not translated yet"
    teachers = linked("docs/TEACHERS.html")
    assert teachers["10 Beam search"] == "../notebooks/10-beam-search.html"
    assert not {"10", "20", "25"} & set(teachers), "minutes"
    assert linked("translations/zh/glossary.html")["02"] == "../../zh/02-masked-softmax.html"


def test_words_around_a_chinese_page(book):
    """Sphinx and Furo write these; a new release may have other words."""
    soup = BeautifulSoup((book / "zh" / "02-masked-softmax.html").read_text("utf-8"), "lxml")
    assert soup.html["lang"] == "zh" and soup.select_one(".sidebar-search")["placeholder"] == "搜索"
    words = ".caption-text", ".toc-title", ".context", ".back-to-top", ".skip-to-content", "details.hide summary"
    seen = {node.text.strip() for name in words for node in soup.select(name)}
    seen |= {node["aria-label"] for node in soup.select("button, input.sidebar-toggle, aside")}
    assert len(seen) > 12 and [word for word in seen if re.fullmatch("[ -~]+", word)] == []


def test_predictions_are_folded_and_nothing_else(book):
    cells = BeautifulSoup(lesson(book, "02").read_text("utf-8"), "lxml").select("div.cell:has(.cell_output)")
    folded = [cell for cell in cells if cell.select_one("details.hide .cell_output")]
    before = [
        cell.find_previous_sibling(lambda node: node.name != "div" or "cell" not in node["class"]) for cell in cells
    ]
    asked = [cell for cell, text in zip(cells, before, strict=True) if "data-prediction" in str(text)]
    assert folded == asked and 5 < len(folded) < len(cells)


def test_figures_have_words(book):
    """Those of the lesson where it has a figure, those of the view where it has a view."""
    soup = BeautifulSoup(lesson(book, "13").read_text("utf-8"), "lxml")
    words = [picture["alt"] for picture in soup.select("img.picture")]
    assert "The causal mask of prompt and answer. Axes: is looked at (key); looks (query)." in words
    assert any(text.startswith("SamplingView(") for text in words)
    pictures = [
        picture
        for path in book.glob("*/*.html")
        for picture in BeautifulSoup(path.read_text("utf-8"), "lxml").select("img.picture")
    ]
    assert len(pictures) > 100 and not any("<Figure" in picture["alt"] for picture in pictures)


def test_signatures_have_shapes(book):
    text = " ".join(BeautifulSoup((book / "api" / "nn.html").read_text("utf-8"), "lxml").text.split())
    assert "sequence_mask( lengths: Int[Tensor, '*batch'], steps: int" in text


def test_docstrings_are_understood(book):
    soup = BeautifulSoup((book / "api" / "search.html").read_text("utf-8"), "lxml")
    text = " ".join(soup.text.split())
    assert "length_penalty: Callable[[int], float] = no_penalty, min_length" in text
    assert "Returns: A hypothesis for each sentence. Its log-probabilities are the model’s own: temperature 1" in text
    assert soup.select_one("dd a[href='#seqlearn.search.sampling.greedy_search'] code").text == "greedy_search"
    texts = {path.stem: path.read_text("utf-8") for path in (book / "api").glob("*.html")}
    assert [name for name, text in texts.items() if "Return type" in text] == [], "a sentence is no type"


def test_nobody_is_shut_out(book, pages, page):
    """In both themes, which differ in nothing but their colours; of the pages of a room, which are alike, a quarter."""
    wrong, rooms = [], [path for path in pages if path.parent.name == "api"]
    for path in [path for path in pages if path not in rooms] + rooms[::4]:
        page.goto(path.as_uri())
        page.evaluate("window.MathJax?.startup?.promise.then(() => null)")
        page.evaluate(EACH_COLOUR_ONCE)
        page.evaluate(AXE)
        for theme, rules in {"light": RULES, "dark": ["color-contrast"]}.items():
            page.evaluate("theme => document.body.dataset.theme = theme", theme)
            wrong += [f"{path.name}, {theme}: {fault}" for fault in page.evaluate(FIND_BARRIERS, rules)]
    assert wrong == []


def test_a_phone(book, pages, page):
    page.set_viewport_size({"width": 390, "height": 844})
    wrong = []
    for path in pages:
        page.goto(path.as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, path.name
        wrong += [f"{path.name}: {node}" for node in page.evaluate(OVER)]
        wrong += [f"{path.name}: {table}" for table in page.evaluate(CUT_TABLES)]
    assert wrong == []


def test_tables_of_the_glossaries_fit(book, page):
    """On a laptop, too, where a long formula once left five letters a line for the meaning."""
    for name in ("assets/glossary.html", "translations/zh/glossary.html"):
        page.goto((book / name).as_uri())
        assert page.evaluate(CUT_TABLES) == []
        widths = page.locator("td.meaning").evaluate_all("cells => cells.map(cell => cell.clientWidth)")
        assert len(widths) > 70 and min(widths) > 400


def test_what_is_wider_than_a_phone(book, page):
    """The edge of code fades until it is scrolled to its end; a touch gives a picture its own size."""
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(lesson(book, "02").as_uri())
    code = page.locator("pre.more").first.element_handle()
    code.evaluate("code => code.scrollTo(code.scrollWidth, 0)")
    page.wait_for_function("code => !code.classList.contains('more')", arg=code)
    picture = page.locator("img.picture:visible").first
    before = picture.bounding_box()["width"]
    picture.click()
    assert picture.bounding_box()["width"] > 1.5 * before
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_frames(book, pages, page):
    """Each view draws something, and its frame fits it."""
    drawn = 0
    for path in pages:
        if count := path.read_text("utf-8").count("<iframe"):
            page.goto(path.as_uri())
            page.evaluate("for (const fold of document.querySelectorAll('details')) fold.open = true")
            for frame in map(page.locator("iframe").nth, range(count)):
                frame.scroll_into_view_if_needed()
                frame.content_frame.locator(".seqlearn").wait_for()
                assert soon_fits(frame), frame.get_attribute("src")
                drawn += 1
    assert drawn > 6


def soon_fits(frame):
    """Whether a frame gets the height of its view; for a while it may have another one."""

    def fits():
        height = frame.content_frame.locator("#view").evaluate("view => view.offsetHeight")
        return height > 100 and abs(frame.evaluate("frame => frame.clientHeight") - height) <= 1

    return until(frame.page, fits)


def test_the_theme_reaches_the_frames(book, page):
    page.emulate_media(color_scheme="light")
    page.goto((book / "index.html").as_uri())
    view = page.frame_locator("iframe >> nth=0").locator(".seqlearn")
    assert view.evaluate(GROUND, "rgb(255, 255, 255)")
    while page.evaluate("document.body.dataset.theme") != "dark":
        page.locator(".theme-toggle:visible").first.click()
    assert view.evaluate(GROUND, "rgb(22, 22, 22)")


def test_the_front_page_translates(book, page):
    """At once a sentence that the model knows; then, on a phone, the answer is read where one pressed."""
    page.set_viewport_size({"width": 390, "height": 700})
    page.goto((book / "index.html").as_uri())
    view = page.frame_locator("iframe >> nth=1")  # after the riddle
    shown = view.locator(".written")
    assert "".join(shown.all_inner_texts()).startswith("la fille lave la pomme rouge et la mange.")
    assert shown.bounding_box()["y"] > 700
    view.get_by_role("textbox").fill("The cat sleeps.")
    view.get_by_role("button", name="Translate").click()
    answer = view.locator(".echo").get_by_text("le chat dort.")
    answer.wait_for()
    box = answer.bounding_box()
    assert 0 <= box["y"] <= 700 - box["height"]


def test_nothing_covers_a_view(book, page):
    """Furo shows a button over the page as soon as somebody scrolls up."""
    page.goto((book / "index.html").as_uri())
    page.evaluate("scrollTo({ top: 900, behavior: 'instant' })")
    settled(page)
    page.mouse.wheel(0, -200)
    page.wait_for_function("document.documentElement.classList.contains('show-back-to-top')")
    assert page.get_by_text("Back to top").is_hidden()


def test_the_riddle_leads_to_its_lesson_and_to_the_translator(book, page):
    page.goto((book / "index.html").as_uri())
    riddle = page.frame_locator("iframe >> nth=0")
    riddle.get_by_role("button", name="head encoder 0 1").click()
    riddle.get_by_role("button", name="The next riddle").click()
    riddle.get_by_role("button", name="head encoder 1 3").click()
    gliding = "getComputedStyle(document.documentElement).scrollBehavior"
    assert page.evaluate(gliding) == "auto", "a link is missed while the page still scrolls"
    riddle.get_by_role("link", name="try sentences of your own").click()
    page.wait_for_url("**/index.html#try-it")
    page.wait_for_function("document.activeElement.id === 'try-it'")  # from there the Tab key goes on
    assert page.locator("#try-it").evaluate("node => getComputedStyle(node).outlineStyle") == "none"
    riddle.get_by_role("link", name="Lesson 11").click()
    page.wait_for_url(lesson(book, "11").as_uri(), wait_until="commit")


def test_a_sentence_with_unknown_words_goes_to_the_model_of_real_sentences(book, page):
    """From the first page, and from the page with all views."""
    for name in ("index.html", "views/all-views.html"):
        page.goto((book / name).as_uri())
        view = page.frame_locator("iframe >> nth=1") if name == "index.html" else page
        view.get_by_role("textbox", name="sentence to translate").fill("Where is the airport?")
        view.get_by_role("button", name="Translate").click()
        view.get_by_role("link", name="Translate this sentence with a model of real sentences").click()
        page.locator(".written", has_text="aéroport").wait_for()
        assert page.url.startswith((book / "views" / "real-sentences.html").as_uri())


def test_the_front_page_leads_to_real_sentences(book, page):
    page.goto((book / "index.html").as_uri())
    page.get_by_role("link", name="try it with sentences of your own").click()
    page.get_by_label("sentence to translate").fill("Where is the station?")
    page.get_by_role("button", name="Translate").click()
    page.locator(".written", has_text="gare").wait_for()


def test_the_first_link_of_the_front_page_leads_to_all_views(book, page):
    page.goto((book / "index.html").as_uri())
    first = page.locator("article p a").first
    assert first.inner_text() == "All views, to touch"
    first.click()
    page.get_by_role("heading", name="How does attention work? Views to touch").wait_for()
    page.get_by_label("sentence to translate").first.wait_for()
    linked = page.locator("main p a").evaluate_all("links => links.map((link) => [link.text, link.href])")
    assert ["Lesson 14", lesson(book, "14").as_uri()] in linked and len(linked) > 12
    page.get_by_role("link", name="The course").click()
    page.wait_for_url((book / "index.html").as_uri())


def test_a_prediction_is_kept_and_what_was_seen_is_folded(book, page):
    page.goto(lesson(book, "02").as_uri())
    line = page.get_by_label("My prediction").first
    line.fill("<b>twice</b> as large")
    line.press("Tab")
    seen = page.locator("details.seen p").first
    assert not seen.is_visible()
    page.goto(lesson(book, "04").as_uri())
    assert page.get_by_label("My prediction").first.input_value() == ""
    page.goto(lesson(book, "02").as_uri())
    assert page.get_by_label("My prediction").first.input_value() == "<b>twice</b> as large"
    page.locator("details.seen summary").first.click()
    assert seen.is_visible() and len(seen.inner_text()) > 20


def test_a_prediction_is_kept_letter_by_letter_or_the_page_says_that_it_is_not(book, page):
    with page.context.new_page() as other:
        other.goto(lesson(book, "02").as_uri())
        other.get_by_label("My prediction").first.fill("twice")  # and closed without leaving the line
    page.goto(lesson(book, "02").as_uri())
    assert page.get_by_label("My prediction").first.input_value() == "twice"
    page.add_init_script(
        "{ const set = Storage.prototype.setItem; let full = true; globalThis.room = () => { full = false; };"
        "Storage.prototype.setItem = function (key, value) {"
        "  if (full && key.startsWith('seqlearn ')) throw new DOMException('full', 'QuotaExceededError');"
        "  set.call(this, key, value); } }"
    )
    page.reload()
    told = page.get_by_text("This browser cannot keep what you type")
    assert told.count() == 0
    page.get_by_label("My prediction").first.press_sequentially("!")
    told.wait_for()
    page.evaluate("room()")
    page.get_by_label("My prediction").first.press_sequentially("!")
    told.wait_for(state="detached")


def test_a_fold_opens_by_keyboard(book, page):
    page.goto(lesson(book, "02").as_uri())
    fold = page.locator("details.hide.below-input").first
    assert not fold.locator(".cell_output").is_visible()
    fold.locator("summary").focus()
    page.keyboard.press("Enter")
    assert fold.locator(".cell_output").is_visible()


def test_paper_has_no_folds_and_all_of_the_code(book, page):
    page.set_viewport_size({"width": 900, "height": 900})
    page.goto(lesson(book, "02").as_uri())
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    wide = "pres => pres.filter(pre => pre.scrollWidth > pre.clientWidth).length"
    assert page.locator("article pre").evaluate_all(wide) == 0
    page.emulate_media(media="screen")
    assert page.locator("article pre").evaluate_all(wide) > 0
    assert page.locator("details:not([open])").count() == 0
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("details[open]").count() == 0


@pytest.mark.parametrize(("word", "title"), [("bilinear", "Attention scores"), ("遮住", "注意力分数")])
def test_search(book, page, word, title):
    """Also from a file, with the words around what was found."""
    page.goto((book / "index.html").as_uri())
    page.locator(".sidebar-search").fill(word)
    page.keyboard.press("Enter")
    results = page.locator("#search-results li")
    result = results.filter(has=page.locator("a", has_text=re.compile(title))).first
    result.locator("p.context", has_text=word).wait_for()
    assert page.locator("#search-results img, #search-results p p").count() == 0, "texts are texts"


def test_imports_are_folded(book):
    soup = BeautifulSoup(lesson(book, "06").read_text("utf-8"), "lxml")
    folds = [one for one in soup.select(".cell details") if "What this lesson imports" in one.summary.get_text(" ")]
    assert len(folds) == 1 and "import torch" in folds[0].select_one("pre").text


def test_another_folder_is_not_overwritten(tmp_path):
    (tmp_path / "letter.txt").write_text("dear")
    command = [sys.executable, "-m", "tools.book.build", "--out", tmp_path]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr.strip().endswith("name a new folder, or delete this one.")
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]


def test_a_newer_book_replaces_the_files_of_the_older_one_and_no_others(tmp_path):
    def made(text):
        site = tmp_path / text
        (site / "pages").mkdir(parents=True)
        (site / "pages" / "index.html").write_text(text)
        return build.put_in_place(site, tmp_path / "site", tmp_path / f"before {text}")

    assert made("first") is made("second") is None
    page = tmp_path / "site" / "pages" / "index.html"
    assert page.read_text() == "second"
    (tmp_path / "site" / "CNAME").write_text("precious")
    assert "holds CNAME, which is not of the book, or was changed: move it away." in made("third")
    (tmp_path / "site" / "CNAME").unlink()
    page.write_text("precious")
    assert "holds pages/index.html, which is not of the book, or was changed" in made("fourth")
    assert page.read_text() == "precious"
    (tmp_path / "site" / ".files.json").write_text("{")
    assert "exists and is not a book" in made("fifth")
