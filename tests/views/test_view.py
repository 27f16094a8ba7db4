"""What all views share: bytes there and back, a page that stands alone, and texts that stay texts."""

import base64
import json
import math
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
import torch
import traitlets
from hostile import HOSTILE
from views.samples import PLAIN, SAMPLES

import seqlearn.views
from seqlearn.views.shared.arguments import as_text
from seqlearn.views.shared.packing import pack, unpack

FOLDER = Path(seqlearn.views.__file__).parent
SCRIPTS, STYLES = sorted(FOLDER.rglob("*.js")), sorted(FOLDER.rglob("*.css"))
ELEMENTS = FOLDER / "shared" / "elements.css"


def name_of(path):
    """As a test says it: attention/view.js"""
    return str(path.relative_to(FOLDER))


class Page(HTMLParser):
    """The elements of a page, and the state that lies in it."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.inside, self.state = [], None, ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.inside = dict(attrs).get("id")

    def handle_data(self, data):
        self.state += data if self.inside == "state" else ""


@pytest.mark.parametrize("dtype", ["float32", "uint16", "uint8"])
def test_numbers_survive_as_bytes(dtype):
    numbers = torch.tensor([[0, 1, 2], [3, 4, 255]])
    packed = pack(numbers, dtype)
    assert packed["shape"] == [2, 3] and len(packed["data"]) == 6 * np.dtype(dtype).itemsize
    assert unpack(packed).tolist() == numbers.tolist()


def test_bytes_are_little_endian():
    assert pack(np.array([258]), "uint16")["data"] == b"\x02\x01"
    assert pack(torch.tensor([1.0, float("-inf")]))["data"] == b"\0\0\x80\x3f\0\0\x80\xff"


def test_half_precision_and_gradients_can_be_packed():
    numbers = torch.tensor([0.5, 2.0], dtype=torch.bfloat16, requires_grad=True)
    assert unpack(pack(numbers)).tolist() == [0.5, 2.0]


@pytest.mark.parametrize("name", SAMPLES)
def test_the_bundle_of_a_notebook(name):
    """A picture is no part of it: `tools/stills.py` takes those that lessons store."""
    view = SAMPLES[name](PLAIN)
    data, _ = view._repr_mimebundle_()
    assert set(data) == {"application/vnd.jupyter.widget-view+json", "text/plain"}
    assert data["text/plain"] == repr(view) == repr(SAMPLES[name](PLAIN)), "the same in every run"
    assert re.fullmatch(rf"{name}\(.+\)", repr(view)) and " 0x" not in repr(view)


@pytest.mark.parametrize("name", SAMPLES)
def test_a_page_of_its_own(name, tmp_path):
    view = SAMPLES[name](PLAIN)
    text = view.to_html(tmp_path / "view.html")
    assert (tmp_path / "view.html").read_text("utf-8") == text
    page = Page(text)
    scripts = ["script"] * (2 + (view.page_model() is not None))  # data, code, and the model where one answers
    assert page.tags == ["html", *["meta"] * 5, "title", "style", "noscript", "p", "header", "h1", "main", *scripts]
    assert "default-src 'none'" in text and not re.search(r"(?:src|href)=[\"']|url\(", text)
    state = json.loads(page.state)
    own = {trait for trait in view.trait_names(sync=True) if trait in vars(type(view)) and trait[0] != "_"}
    assert set(state) >= own and set(state["data"]) == set(view.data)
    for trait in own - {"trees"}:
        assert state[trait] == getattr(view, trait)


@pytest.mark.parametrize("name", SAMPLES)
def test_a_trait_is_no_number_that_the_constructor_refuses(name):
    """True is no whole number, and no page can hold NaN or infinity."""
    view = SAMPLES[name](PLAIN)
    for trait, kind in view.traits(sync=True).items():
        if trait[0] == "_" or not isinstance(kind, (traitlets.Int, traitlets.Float)):
            continue
        before = getattr(view, trait)
        for wrong in (True, math.nan, math.inf, -math.inf):
            with pytest.raises(traitlets.TraitError, match=trait):
                setattr(view, trait, wrong)
        assert getattr(view, trait) == before


def test_any_text_is_escaped_in_the_page():
    page = SAMPLES["AttentionView"](HOSTILE).to_html()
    assert Page(page).tags.count("script") == 2 and not {"img", "svg", "b", "i"} & set(Page(page).tags)
    assert "<img" not in page and "alert(1)</script>" not in page and "<!--" not in page and '</title>"' not in page
    found = texts(json.loads(Page(page).state))
    for token in map(as_text, HOSTILE):
        assert any(token in text for text in found), token


def texts(part):
    """All texts of a state."""
    if isinstance(part, str):
        return [part]
    parts = part.values() if isinstance(part, dict) else part if isinstance(part, list) else []
    return [text for one in parts for text in texts(one)]


def test_half_a_letter_is_replaced():
    assert as_text("a\ud83d") == "a\ufffd" and as_text("\ud83d\udc08") == "🐈" and as_text(7) == "7"


def test_what_python_set_is_in_the_page():
    view = SAMPLES["AttentionSteps"](PLAIN)
    view.step, view.locked = 3, [1, 2]
    state = json.loads(Page(view.to_html()).state)
    assert (state["step"], state["locked"]) == (3, [1, 2])


def test_the_bytes_in_a_page_are_those_of_the_record():
    view = SAMPLES["AttentionSteps"](PLAIN)
    sent = json.loads(Page(view.to_html()).state)["data"]["matrices"]["weights"]["numbers"]["data"]["base64"]
    assert base64.b64decode(sent) == view.data["matrices"]["weights"]["numbers"]["data"]


@pytest.mark.parametrize("path", SCRIPTS + STYLES, ids=name_of)
def test_no_way_to_html_or_to_the_network(path):
    text = path.read_text("utf-8").replace("http://www.w3.org/2000/svg", "")
    ways = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|\bimport\("
    ways += r"|fetch\(|XMLHttp|https?:|url\(|</"
    assert re.findall(ways, text, re.MULTILINE) == []
    assert re.findall(r"transition|animation|keyframes|smooth", text) == [], "nothing moves by itself"


@pytest.mark.parametrize("path", STYLES, ids=name_of)
def test_every_rule_stays_inside_a_view(path):
    text = re.sub(r"/\*.*?\*/", "", path.read_text("utf-8"), flags=re.S)
    selectors = [part.strip() for rule in re.findall(r"([^{}]+)\{", text) for part in rule.split(",")]
    assert all("seqlearn" in name or name.startswith(("@media", "@container")) for name in selectors)


def classes(text):
    """The classes of a selector."""
    return set(re.findall(r"\.([a-z][\w-]*)", text)) - {"seqlearn"}


def rules(path):
    """The selectors of a file."""
    text = re.sub(r"/\*.*?\*/", "", path.read_text("utf-8"), flags=re.S)
    return [part for rule in re.findall(r"([^{}]+)\{", text) for part in rule.split(",") if "@" not in part]


def styles(name):
    """The files of a view, but for what all have."""
    text = getattr(seqlearn.views, name)._css
    return {path for path in STYLES if path != ELEMENTS and path.read_text("utf-8") in text}


@pytest.mark.parametrize("name", SAMPLES)
def test_no_view_styles_another(name):
    """In a notebook the styles of all views apply at once: each rule of a view needs a class that no other one has."""
    own = styles(name)
    others = set().union(*(styles(other) for other in SAMPLES if not styles(other) & own), {ELEMENTS})
    taken = {one for path in others for rule in rules(path) for one in classes(rule)}
    assert own and [rule for path in own for rule in rules(path) if not classes(rule) - taken] == []


def test_a_style_for_all_views_is_found():
    assert classes(".seqlearn .map") <= {one for rule in rules(ELEMENTS) for one in classes(rule)}
    assert classes(".seqlearn .tree .on::before") == {"tree", "on"}


def test_words_that_drive_a_view():
    view = SAMPLES["PositionView"](PLAIN)
    assert (
        view.told == []
        and view.tell("See [one] and [two].", {"one": {"position": 1}, "two": {"offset": 2, "position": 0}}) is view
    )
    assert view.told == [
        ["See ", None],
        ["one", {"position": 1}],
        [" and ", None],
        ["two", {"offset": 2, "position": 0}],
        [".", None],
    ]
    for text, words, wrong in [
        ("See one.", {"one": {"position": 1}}, "the text has no words in brackets"),
        ("See [one].", {}, r"the text has \[one\], and there are states for no word"),
        ("See [one].", {"one": {"hight": 1}}, "PositionView has no trait hight"),
    ]:
        with pytest.raises(ValueError, match=wrong):
            view.tell(text, words)
    assert "two" in view.to_html()
