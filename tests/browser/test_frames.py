"""The views of the lessons in the frames of another page, as in the book: they fit, follow the theme, and answer."""

from pathlib import Path

import pytest
import torch
from browser.serving import served
from hostile import DOZEN
from views.samples import PLAIN, SAMPLES

from seqlearn.translator.translator import Translator
from seqlearn.views import PatchView
from seqlearn.views.stored import document, pages, shared_files

AXE = Path(__file__).with_name("axe.min.js").read_text("utf-8")
LESSONS = sorted((Path(__file__).parents[2] / "notebooks").rglob("[0-9]*.ipynb"))
LIVE = "00-start-here-l00-11-0.html"
PARENT = """<!doctype html><html lang="en"><meta charset="utf-8"><title>A page of a book</title>
<style>body { margin: 0; } iframe { display: block; width: 100%; border: 0; }</style>
<main><h1>A page</h1><button>before</button>
FRAMES<button>after</button></main><script>
const frames = [...document.querySelectorAll("iframe")], told = frames.map(() => []);
addEventListener("message", ({ source, data }) => {
  const at = frames.findIndex((frame) => frame.contentWindow === source);
  if (!data?.seqlearn) return; // axe talks, too
  told[at].push(data.seqlearn.height);
  frames[at].style.height = `${data.seqlearn.height}px`;
});
const send = (message) => frames.forEach((frame) => frame.contentWindow.postMessage(message, "*"));
send({ seqlearn: {} }); // a frame may have spoken before anybody listened
</script></html>"""
FITS = """() => { const page = document.documentElement;
    const fits = [page.scrollHeight <= innerHeight, page.scrollWidth <= innerWidth];
    return [...fits, document.querySelector('.seqlearn *') !== null, innerHeight] }"""
SHOWN = """() => { const view = document.querySelector('.seqlearn'), style = getComputedStyle(view);
    return [style.backgroundColor, getComputedStyle(document.body).backgroundColor, style.colorScheme] }"""
COUNT = """() => new Promise((resolve) => { let count = 0; window.addEventListener("message", () => (count += 1));
    setTimeout(() => resolve(count), 200); })"""  # messages that arrive
LIGHT, DARK = ["rgb(255, 255, 255)", "rgba(0, 0, 0, 0)"], ["rgb(22, 22, 22)", "rgb(22, 22, 22)"]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder with all views of all lessons; the names of their files, with the guesses of their heights."""
    folder, made = tmp_path_factory.mktemp("site"), {}
    for name, content in shared_files().items():
        (folder / name).write_text(content, "utf-8")
    for lesson in LESSONS:
        for one in pages(lesson).values():
            (folder / one.name).write_text(one.html, "utf-8")
            made[one.name] = one.height
    assert len(made) > 15
    return folder, made


def parent(names, heights):
    """A page around frames."""
    frames = (
        f'<iframe src="{name}" title="view" style="height: {heights.get(name, 300)}px"></iframe>' for name in names
    )
    return PARENT.replace("FRAMES", "\n".join(frames))


@pytest.fixture
def around(page, site):
    """Opens a page around frames with these documents; returns the frames."""

    def open_page(names, width=800, height=900, heights=None):
        (site[0] / "book.html").write_text(parent(names, heights or {}), "utf-8")
        page.set_viewport_size({"width": width, "height": height})
        page.goto((site[0] / "book.html").as_uri())
        page.wait_for_function("() => told.every((heights) => heights.length)")
        return page.frames[1:]

    return open_page


@pytest.mark.parametrize("width", [800, 390])
def test_every_view_of_every_lesson_is_drawn_and_fits(around, page, site, width):
    _, made = site
    for number, frame in enumerate(around(made, width, heights=made)):
        page.wait_for_function("(at) => told[at].at(-1) === frames[at].clientHeight", arg=number)
        assert frame.evaluate(FITS) == [True, True, True, page.evaluate("(at) => told[at].at(-1)", number)], frame.url
    heights = page.evaluate("told.map((heights) => heights.at(-1))")
    assert page.evaluate("told.every((heights) => heights.length < 6)"), "no height makes another height"
    if width == 800:
        for (name, guess), height in zip(made.items(), heights, strict=True):
            assert guess / 2 < height < guess * 2, name
    assert all(height < 2500 for height in heights)


def test_a_height_that_changes_is_told(around, page, site):
    (frame,) = around([LIVE])
    before = page.evaluate("told[0].at(-1)")
    fold = frame.locator("summary").first
    fold.click()
    page.wait_for_function("(before) => told[0].at(-1) > before + 50", arg=before)
    fold.click()
    page.wait_for_function("(before) => told[0].at(-1) === before", arg=before)
    assert frame.evaluate(FITS)[:2] == [True, True]


def test_a_frame_follows_the_theme_of_the_page_around_it(around, page, site):
    (frame,) = around([name for name in site[1] if name.startswith("02-")])
    for scheme, auto in (("dark", DARK), ("light", LIGHT)):
        page.emulate_media(color_scheme=scheme)
        for theme, colours in (("light", LIGHT), ("dark", DARK), ("auto", auto)):
            count = page.evaluate("told[0].length")
            page.evaluate("(theme) => send({ seqlearn: { theme } })", theme)
            page.wait_for_function("(count) => told[0].length > count", arg=count)  # each message is answered
            assert frame.evaluate(SHOWN) == [*colours, "normal" if theme == "auto" else theme], (scheme, theme)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_address_may_name_the_first_theme(page, site, theme):
    name = next(name for name in site[1] if name.startswith("02-"))
    page.goto(f"{(site[0] / name).as_uri()}#{theme}")
    assert page.evaluate(SHOWN)[:2] == {"light": LIGHT, "dark": DARK}[theme]
    assert page.evaluate(COUNT) == 0, "alone, a document tells nobody, least of all itself"


def test_what_is_no_theme_changes_nothing(around, page, site):
    (frame,) = around([name for name in site[1] if name.startswith("02-")])
    page.evaluate("send({ seqlearn: { theme: 'dark' } })")
    page.wait_for_function("() => told[0].length > 2")
    for message in (None, 3, "dark", {}, {"seqlearn": None}, {"seqlearn": {"theme": "constructor"}}, {"seqlearn": {}}):
        page.evaluate("(message) => send(message)", message)
    frame.evaluate("window.postMessage({ seqlearn: { theme: 'auto' } }, '*')")  # not from the page around
    frame.evaluate("new Promise((go) => { onmessage = go; postMessage('the last one', '*') })")
    assert frame.evaluate(SHOWN) == [*DARK, "dark"]


def translated(page, frame, sentence):
    """The translation of a sentence that somebody types."""
    frame.get_by_label("sentence to translate").fill(sentence)
    frame.get_by_role("button", name="Translate").click()
    frame.wait_for_function("(sentence) => model.get('result').asked.sentence === sentence", arg=sentence)
    return frame.evaluate("model.get('result').best[0].text")


@pytest.fixture(params=["file", "server"])
def address(request, site):
    """The address of the site, opened from files or served on this machine."""
    if request.param == "file":
        yield site[0].as_uri()
        return
    with served(site[0]) as address:
        yield address


@pytest.mark.worker
def test_the_model_answers_from_files_and_from_a_server(page, site, address):
    (site[0] / "live.html").write_text(parent([LIVE], {}), "utf-8")
    page.goto(f"{address}/live.html")
    page.wait_for_function("() => told[0].length")
    frame = page.frames[1]
    assert translated(page, frame, "the cat sleeps.") == "le chat dort."
    assert len(page.workers) == 1, "the page does not wait while the model computes"
    assert translated(page, frame, "the girl eats the apple.") == "la fille mange la pomme."


def test_a_model_that_cannot_be_read_is_told(page, site, tmp_path):
    for name in ("views.js", "views.css", "dark.css", LIVE):
        (tmp_path / name).write_bytes((site[0] / name).read_bytes())
    page.goto((tmp_path / LIVE).as_uri())
    before = page.evaluate("model.get('result').best[0].text")  # a reader who asks nothing waits for no weights
    assert translated(page, page.main_frame, "the cat sleeps.") == before
    assert "The model could not be read. Are you offline?" in page.locator(".seqlearn").inner_text()
    assert page.wrong and all("ERR_FILE_NOT_FOUND" in wrong for wrong in page.wrong)  # of the sentence, and of the map
    page.wrong.clear()
    (tmp_path / "model.js").write_bytes((site[0] / "model.js").read_bytes())
    assert translated(page, page.main_frame, "the girl eats the apple.") == "la fille mange la pomme."


def test_a_patch_without_a_model_is_told(page, site, tmp_path):
    """What the view asks is what is refused: it waits for no other answer."""
    for name in ("views.js", "views.css", "dark.css"):
        (tmp_path / name).write_bytes((site[0] / name).read_bytes())
    eats = "The girl washes the {} and eats it."
    view = PatchView(Translator.pretrained("transformer", "cpu"), eats.format("apple"), eats.format("lemon"))
    (tmp_path / "patch.html").write_text(document(view.record()), "utf-8")
    page.goto((tmp_path / "patch.html").as_uri())
    page.get_by_role("button", name="decision: pomme").click()
    page.get_by_text("Are you offline?").wait_for()
    assert page.locator(".note").inner_text() == (
        "The model could not be read. Are you offline? Below is the former answer."
    )
    # The view reads the model when its maps come near the screen, and tries again after a press.
    assert page.wrong and all("ERR_FILE_NOT_FOUND" in wrong for wrong in page.wrong)
    page.wrong.clear()


def test_hostile_tokens_are_only_texts(around, page, site):
    names = []
    for name, sample in SAMPLES.items():
        torch.manual_seed(0)
        names.append(f"hostile-{name}.html")
        (site[0] / names[-1]).write_text(document(sample(DOZEN).record()), "utf-8")
    for frame in around(names):
        tags = set(frame.evaluate("[...document.querySelectorAll('*')].map((node) => node.tagName)"))
        assert "MAIN" in tags and not tags & {"IMG", "B", "I", "IFRAME"} and frame.locator("script").count() == 2
        assert frame.locator(".seqlearn *").count() > 10, frame.url


def swipe(client):
    """A finger that moves up by 150 pixels."""
    for kind, moved in (("touchStart", 0), *(("touchMove", 15 * step) for step in range(1, 11)), ("touchEnd", None)):
        points = [] if moved is None else [{"x": 400, "y": 300 - moved}]
        client.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})


def test_wheel_finger_and_tab_pass_through(around, page, site):
    """The middle of each view is in the middle of the screen: the page around scrolls all the same."""
    names = [next(name for name in site[1] if name.startswith(start)) for start in ("00", "02", "03", "08", "10", "11")]
    found = around(names, height=600)
    page.wait_for_function("() => told.every((heights, at) => heights.at(-1) === frames[at].clientHeight)")
    page.evaluate("frames[0].style.maxHeight = `${told[0].at(-1) - 40}px`")  # even where a frame is too low
    client = page.context.new_cdp_session(page)
    client.send("Emulation.setTouchEmulationEnabled", {"enabled": True})
    for scroll in (lambda: page.mouse.wheel(0, 100), lambda: swipe(client)):
        for number, frame in enumerate(found):
            page.mouse.move(0, 0)
            page.evaluate("(at) => scrollTo(0, frames[at].offsetTop + frames[at].clientHeight / 2 - 300)", number)
            page.mouse.move(400, 300)
            frame.wait_for_function("document.getElementById('view').matches(':hover')")
            before = page.evaluate("scrollY")
            scroll()
            page.wait_for_function("(before) => scrollY > before + 50", arg=before, timeout=9000)
    page.get_by_role("button", name="before").focus()
    seen = []
    for _ in range(150):
        page.keyboard.press("Tab")
        seen.append(page.evaluate("document.activeElement.getAttribute('src') ?? document.activeElement.textContent"))
        if seen[-1] == "after":
            break
    assert list(dict.fromkeys(seen)) == [*names, "after"] and len(seen) > 3 * len(names)


def test_frames_have_no_barriers(around, page, site):
    """Nor has the page around them because of them: axe looks into all. The landmarks of each document are its own."""
    for name, sample in SAMPLES.items():
        (site[0] / f"plain-{name}.html").write_text(document(sample(PLAIN).record()), "utf-8")
    for one in (page, *around([f"plain-{name}.html" for name in SAMPLES])):
        one.evaluate(AXE)
        one.evaluate("axe.configure({ allowedOrigins: ['<unsafe_all_origins>'] })")  # two files are two origins
    found = page.evaluate(
        """async () => { const options = { preload: false, rules: { "landmark-unique": { enabled: false } } };
        const { violations, passes } = await axe.run(document, options);
        const inFrames = ({ target }) => target.length > 1;
        return [violations.flatMap(({ id, nodes }) => nodes.filter(inFrames).map(({ html }) => `${id}: ${html}`)),
            passes.flatMap(({ nodes }) => nodes.filter(inFrames)).length] }"""
    )
    assert found[0] == [] and found[1] > 500
