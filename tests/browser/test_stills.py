"""The pictures of views that lessons store: taken of the view that the lesson shows, in the state of its record."""

import io
import json
import re
from pathlib import Path

import pytest
from PIL import Image

from tools.stills import SCALE, WIDTH, studio

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "assets" / "views").glob("*.json"))
RECORDS = [record for path in FILES for record in json.loads(path.read_text("utf-8"))]
# All that a reader of the picture reads: texts, what is typed and chosen; and the names of parts, which have sizes.
WORDS = """() => {
    const all = (selector) => [...document.querySelectorAll(`#view ${selector}`)];
    const fields = all(':is(input[type=text], select)').map((field) => field.value);
    const chosen = all(':is([aria-checked=true], [aria-pressed=true])').map((node) => `chosen: ${node.textContent}`);
    const named = all('[aria-label]').map((node) => node.ariaLabel);
    return [document.querySelector('#view').innerText, ...fields, ...chosen, ...named].join('\\n');
}"""
SAYS = {  # the `repr` of a view with its `summary()`, and where its parts stand in the picture
    "AttentionSteps": (
        r"\((\d+) queries, (\d+) keys, size (\d+), value size",
        r"\({0} × {2}\) · \({2} × {1}\) = \({0} × {1}\)",
    ),
    "AttentionView": (
        r"\((\w+), .* (\d+) queries, (\d+) keys",
        r"(?i)\n{0} attention, (.*\n)*.*\b{1} rows, {2} columns",
    ),
    "BatchView": (r", batches of (\d+), (\w+)\)", r"batch size\n{0}\n(.*\n)*chosen: {1} "),
    "BeamView": (r"\(width (\d+), alpha ([\d.]+), (\d+) steps", r"width\n{0}\n.*α\n{1}\n(.*\n)*step\n{2} of {2}\n"),
    "GruView": (r"unit (\d+) of (\d+)", r"unit\n{0} of {1}\n(.*\n)*.*: {1} units"),
    "KernelView": (r"\((\d+) keys, (\d+) queries, (\w+)", r"{1} queries down, {0} keys across\n(.*\n)*{2}\n"),
    "PatchView": (r"'(.+)' -> '(.+)', (\d+) patch", r"A with {2} vectors of B\n(.*\n)*{1}\n(.*\n)*{0}\n"),
    "PiecesView": (r"\((\d+) words, (\d+) of (\d+) joins", r"{1} of {2} joins\n(.*\n)*.* in {0} words"),
    "PositionView": (r"\((\d+) positions, size (\d+),", r"{0} positions × {1} dimensions"),
    "SamplingView": (r"\((\d+) tokens, temperature ([\d.]+)", r"temperature\n{1}\n(.*\n)*.*{0} tokens are left"),
    "SoftmaxView": (r"\(\d+ keys, \d+ masked, (.+)\)", r"chosen: {0}\n"),
    "TranslatorView": (r"""\(['"](.+)['"] -> ['"](.+)['"]\)""", r"translation\n{1} <eos>(.*\n)*{0}\n"),
}


def pattern(record):
    """What the words of the picture of this record match."""
    parts, said = SAYS[record["class"]]
    return said.format(*map(re.escape, re.search(parts, record["repr"]).groups()))


@pytest.fixture(scope="module")
def show():
    with studio() as opened:
        yield opened


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: f"{record['cell']}-{record['output']}")
def test_a_picture_says_what_the_view_says_of_itself(show, record):
    """And not what another view of the same kind says of itself."""
    page = show(record)
    words = page.evaluate(WORDS)
    assert re.search(pattern(record), words), f"{record['repr']}\n{words}"
    patterns = {pattern(other) for other in RECORDS if other["class"] == record["class"]} - {pattern(record)}
    assert [other for other in patterns if re.search(other, words)] == []
    assert "copy link" not in words and page.locator("[aria-busy=true]").count() == 0


def test_two_pictures_of_a_view_are_the_same(show):
    """The other view between them leaves nothing in the page; the mouse of a reader is nowhere."""
    one, other = (next(record for record in RECORDS if record["class"] == name) for name in ("BeamView", "GruView"))
    first, _, again = (show(record).locator("#view").screenshot() for record in (one, other, one))
    assert first == again and Image.open(io.BytesIO(first)).width == SCALE * WIDTH


def test_a_view_that_cannot_be_drawn_has_no_picture(show):
    broken = next(record for record in RECORDS if record["class"] == "GruView")
    with pytest.raises(ValueError, match=r"GruView\(11 tokens, unit 76 of 128\) cannot be drawn: "):
        show(broken | {"state": broken["state"] | {"data": {}}})
    assert show(broken).locator("#view").inner_text()
