"""What all views share: bytes there and back, a page that stands alone, a picture, and texts that stay texts."""

import base64
import json
import re
from html.parser import HTMLParser

import matplotlib
import numpy as np
import pytest
import torch
from matplotlib import pyplot as plt

from seqlearn.views import base
from seqlearn.views.attention_steps import AttentionSteps
from seqlearn.views.kernel_view import KernelView

matplotlib.use("agg")
HOSTILE = ["<img src=x onerror=alert(1)>", "</script><script>alert(1)</script>", "<!--", "&lt;", "\u2028", "a\"b'c\\"]


def steps(tokens=None):
    return AttentionSteps(torch.ones(6, 2), torch.ones(6, 2), torch.ones(6, 3), None, tokens, tokens)


def kernels():
    points = torch.linspace(0, 1, 5)
    return KernelView(points, points**2, points, width=0.3, widths=[0.1, 0.3])


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
    packed = base.pack(numbers, dtype)
    assert packed["shape"] == [2, 3] and len(packed["data"]) == 6 * np.dtype(dtype).itemsize
    assert base.unpack(packed).tolist() == numbers.tolist()


def test_bytes_are_little_endian():
    assert base.pack(np.array([258]), "uint16")["data"] == b"\x02\x01"
    assert base.pack(torch.tensor([1.0, float("-inf")]))["data"] == b"\0\0\x80\x3f\0\0\x80\xff"


def test_half_precision_and_gradients_can_be_packed():
    numbers = torch.tensor([0.5, 2.0], dtype=torch.bfloat16, requires_grad=True)
    assert base.unpack(base.pack(numbers)).tolist() == [0.5, 2.0]


@pytest.mark.parametrize("view", [steps, kernels])
def test_the_bundle_of_a_notebook(view):
    view, before = view(), plt.get_fignums()
    data, _ = view._repr_mimebundle_()
    assert set(data) == {"application/vnd.jupyter.widget-view+json", "image/png", "text/plain"}
    assert data["text/plain"] == repr(view)
    assert base64.b64decode(data["image/png"]).startswith(b"\x89PNG") and len(data["image/png"]) < 100_000
    assert plt.get_fignums() == before, "a figure that pyplot knows would be shown a second time"


def test_repr_is_the_same_in_every_run():
    assert repr(steps()) == repr(steps()) == "AttentionSteps(6 queries, 6 keys, size 2, value size 3)"
    assert repr(kernels()) == "KernelView(5 keys, 5 queries, gaussian, 2 widths)"


def test_the_picture_is_written(tmp_path):
    steps().save_png(tmp_path / "steps.png")
    assert (tmp_path / "steps.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.filterwarnings("error")
def test_a_picture_in_any_script_has_no_warnings():
    steps(["猫", "مرحبا", "שלום", "नमस्ते", "🐈", "$\\frac$"]).png()


@pytest.mark.parametrize("view", [steps, kernels])
def test_a_page_of_its_own(view, tmp_path):
    view = view()
    text = view.to_html(tmp_path / "view.html")
    assert (tmp_path / "view.html").read_text("utf-8") == text
    page = Page(text)
    assert page.tags == ["html", "meta", "meta", "meta", "meta", "title", "style", "main", "script", "script"]
    assert "default-src 'none'" in text and not re.search(r"(?:src|href)=[\"']|url\(", text)
    state = json.loads(page.state)
    assert state["locked"] == [] and set(state["record"]) == set(view.record)


def test_what_python_set_is_in_the_page():
    view = steps()
    view.step, view.locked = 3, [1, 2]
    state = json.loads(Page(view.to_html()).state)
    assert (state["step"], state["locked"]) == (3, [1, 2])


def test_hostile_tokens_are_escaped_in_the_page():
    page = steps(HOSTILE).to_html()
    assert Page(page).tags.count("script") == 2 and "img" not in Page(page).tags
    assert "<img" not in page and "alert(1)</script>" not in page and "<!--" not in page
    assert json.loads(Page(page).state)["record"]["axes"]["query"] == HOSTILE


def test_the_bytes_in_a_page_are_those_of_the_record():
    view = steps()
    sent = json.loads(Page(view.to_html()).state)["record"]["matrices"]["weights"]["numbers"]["data"]["base64"]
    assert base64.b64decode(sent) == view.record["matrices"]["weights"]["numbers"]["data"]


@pytest.mark.parametrize("path", sorted(base.STATIC.iterdir()), ids=lambda path: path.name)
def test_no_way_to_html_or_to_the_network(path):
    text = path.read_text("utf-8").replace("http://www.w3.org/2000/svg", "")
    ways = (
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|\bimport\b|fetch\(|XMLHttp|https?:|url\(|</"
    )
    assert re.findall(ways, text) == []
    assert len(text.splitlines()) < 350


@pytest.mark.parametrize("path", sorted(base.STATIC.glob("*.css")), ids=lambda path: path.name)
def test_every_rule_stays_inside_a_view(path):
    text = re.sub(r"/\*.*?\*/", "", path.read_text("utf-8"), flags=re.S)
    selectors = [part.strip() for rule in re.findall(r"([^{}]+)\{", text) for part in rule.split(",")]
    assert all("seqlearn" in name or name.startswith("@media") for name in selectors)
