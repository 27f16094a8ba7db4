"""The stored views of the lessons: one record for each view that a lesson shows, and the documents made of them."""

import base64
import copy
import io
import json
import re
from pathlib import Path

import pytest
import torch
from PIL import Image
from views.samples import PLAIN, SAMPLES

from seqlearn.translator.translator import Translator
from seqlearn.views import SoftmaxView, TranslatorView
from seqlearn.views.live.weights import course_model
from seqlearn.views.stored import DARK, classes, pages, records_file, shared_files, text_of_records
from seqlearn.views.view import RECORD
from tools.stills import SCALE, WIDTH

ROOT = Path(__file__).parents[2]
LESSONS = sorted((ROOT / "notebooks").rglob("[0-9]*.ipynb"))
SENTENCE = "The girl washes the red apple and eats it."


def stored(lesson):
    file = ROOT / "assets" / "views" / f"{lesson.stem}.json"
    return json.loads(file.read_text("utf-8")) if file.exists() else []


def state_of(page):
    """The data of the view in a page."""
    (state,) = re.findall(r'<script type="application/json" id="state">(.*?)</script>', page)
    return json.loads(state)


def views_in(lesson):
    """(cell, output, text) of each view that the stored lesson shows."""
    found = []
    for cell in json.loads(lesson.read_text("utf-8"))["cells"]:
        for index, output in enumerate(cell.get("outputs", [])):
            text = "".join(output.get("data", {}).get("text/plain", []))
            if text.split("(")[0] in SAMPLES:
                found.append((cell["id"], index, text))
    return found


# ---- What is stored ----


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda path: path.stem)
def test_every_view_of_a_lesson_is_stored_and_no_other(lesson):
    assert [(one["cell"], one["output"], one["repr"]) for one in stored(lesson)] == views_in(lesson)


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda path: path.stem)
def test_every_view_of_a_lesson_has_a_picture_beside_its_text(lesson):
    cells = {cell["id"]: cell.get("outputs") for cell in json.loads(lesson.read_text("utf-8"))["cells"]}
    for cell, index, text in views_in(lesson):
        output = cells[cell][index]
        assert set(output["data"]) == {"image/png", "text/plain"}, text
        picture = Image.open(io.BytesIO(base64.b64decode("".join(output["data"]["image/png"]))))
        size = tuple(SCALE * output["metadata"]["image/png"][name] for name in ("width", "height"))
        assert picture.size == size and picture.width == SCALE * WIDTH and picture.mode == "P", text


def test_lessons_show_all_kinds_of_views_and_some_are_live():
    kinds = {(one["class"], one["model"] is not None) for lesson in LESSONS for one in stored(lesson)}
    assert {name for name, _ in kinds} == set(SAMPLES) - {"RiddleView"}, "a riddle stands on the first page"
    assert {name for name, live in kinds if live} == {"TranslatorView", "AttentionView", "PatchView", "SamplingView"}


def test_the_records_are_small_and_belong_to_lessons():
    files = list((ROOT / "assets" / "views").iterdir())
    assert {file.stem for file in files} <= {lesson.stem for lesson in LESSONS}
    assert sum(file.stat().st_size for file in files) < 8e6


# ---- How a record is made ----


@pytest.mark.parametrize("name", SAMPLES)
def test_a_record_has_the_state_of_the_page(name):
    view = SAMPLES[name](PLAIN)
    record = json.loads(json.dumps(view.record()))
    assert record["class"] == name and record["repr"] == repr(view) and record["title"] == view.title()
    if name != "TranslatorView":  # an untrained model may answer in its own page, and not in the book
        assert record["state"] == state_of(view.to_html())
    assert record["model"] is None


def test_the_model_of_the_course_answers_and_no_other():
    pretrained = Translator.pretrained("transformer", "cpu")
    record = TranslatorView(pretrained, SENTENCE).record()
    assert record["model"] and record["state"]["data"]["live"] and record["state"]["data"]["golds"]
    assert len(json.dumps(record)) < 40_000, "no weights"
    other = copy.deepcopy(pretrained)
    other.model.decoder.dense.weight.data[5] += 0.5
    view = TranslatorView(other, SENTENCE)
    record = view.record()
    assert view.page_model() is not None and record["model"] is None and not record["state"]["data"]["live"]


def test_a_view_is_recorded_only_while_lessons_are_refreshed(monkeypatch):
    view = SAMPLES["SoftmaxView"](PLAIN)
    assert RECORD not in view._repr_mimebundle_()[0]
    monkeypatch.setenv("SEQLEARN_RECORD_VIEWS", "1")
    assert view._repr_mimebundle_()[0][RECORD] == view.record()


def test_records_are_text_that_any_file_may_hold():
    records = [{"a": "é\u2028\ud83d"}, {"b": [1, 2]}]
    text = text_of_records(records)
    assert text.isascii() and json.loads(text) == records and text.count("\n") == 4
    assert text_of_records([]) == ""
    with pytest.raises(ValueError):
        text_of_records([{"a": float("nan")}])


# ---- The documents ----


@pytest.fixture
def lesson(tmp_path):
    """A lesson with one view; returns the notebook and a function that stores its record with a change."""
    view = SoftmaxView(torch.tensor([2.0, 1.0]), ["the", "</script><b>"])
    output = {"output_type": "display_data", "data": {"text/plain": [repr(view)]}, "metadata": {}}
    book = {"cells": [{"id": "text"}, {"id": "l02-view", "outputs": [{"output_type": "stream", "text": "1"}, output]}]}
    notebook = tmp_path / "notebooks" / "02-a-lesson.ipynb"
    notebook.parent.mkdir()
    notebook.write_text(json.dumps(book), "utf-8")
    records_file(notebook).parent.mkdir(parents=True)

    def store(state=(), without=(), **changes):
        record = {"cell": "l02-view", "output": 1, **view.record(), **changes}
        record["state"] = {name: part for name, part in record["state"].items() if name not in without} | dict(state)
        records_file(notebook).write_text(text_of_records([record]), "utf-8")
        return record

    return notebook, store


def test_a_document_holds_the_view_and_nothing_of_a_text_but_text(lesson):
    notebook, store = lesson
    record = store(title="</title><script>alert(1)</script>")
    ((key, page),) = pages(notebook).items()
    assert key == ("l02-view", 1) and page.name == "02-a-lesson-l02-view-1.html"
    assert page.title == record["title"] and not page.live and page.height == 280
    assert state_of(page.html) == record["state"] and page.html.count("<script") == 2 and "<b>" not in page.html
    assert re.findall(r'(?:src|href)="(.*?)"', page.html) == ["views.css", "dark.css", "views.js"]
    assert set(re.findall(r'(?:src|href)="(.*?)"', page.html)) <= set(shared_files())
    assert "default-src 'none'" in page.html and "unsafe" not in page.html and "https:" not in page.html


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        ({"class": "WaveView"}, "there is no view WaveView"),
        (
            {"repr": "SoftmaxView(2 keys)"},
            "the record is that of SoftmaxView(2 keys), and the lesson shows SoftmaxView",
        ),
        ({"output": 0}, "and the lesson shows "),
        ({"cell": "l02-gone"}, "and the lesson shows None"),
        ({"model": "0123"}, "the record was made with another model than the pretrained transformer"),
        ({"without": ["masking"]}, "the record lacks traits that SoftmaxView has now (masking)"),
    ],
)
def test_a_record_that_fits_no_more_is_refused_in_one_sentence(lesson, change, wrong):
    notebook, store = lesson
    store(**change)
    with pytest.raises(ValueError) as error:
        pages(notebook)
    text = str(error.value)
    assert wrong in text and text.startswith("02-a-lesson.json, output ") and "\n" not in text
    assert text.endswith("; store it again with python3 course.py refresh 02")


def test_a_lesson_without_views_has_no_documents(lesson):
    assert pages(lesson[0]) == {}


def test_documents_of_the_course_have_names_of_their_own():
    made = [page for lesson in LESSONS for page in pages(lesson).values()]
    assert len({page.name for page in made}) == len(made) == sum(len(views_in(lesson)) for lesson in LESSONS)
    assert all(re.fullmatch(r"[\w.-]+\.html", page.name) and page.title for page in made)
    assert not any(course_model()["weights"]["bytes"][:99] in page.html for page in made)


# ---- What documents share ----


def test_weights_scripts_and_styles_are_there_once():
    files = shared_files()
    assert sorted(files) == ["dark.css", "model.js", "views.css", "views.js"]
    assert json.loads(files["model.js"].removeprefix("window.courseModel = ").removesuffix(";\n")) == json.loads(
        json.dumps(course_model())
    )
    assert sum(content.count(course_model()["weights"]["bytes"][:99]) for content in files.values()) == 1
    for text in ("function life(", "function liveModel(", "function openFrame("):
        assert files["views.js"].count(text) == 1
    for name in SAMPLES:
        assert files["views.js"].count(f"  {name}: build") == 1
    assert set(classes()) == set(SAMPLES)


def test_all_that_is_dark_is_in_a_file_of_its_own():
    """Every declaration of a dark block, and no other, by a count that knows only where blocks begin and end."""
    files = shared_files()
    css = "\n".join(sorted({style for view in classes().values() for style in view.scripts.styles}))
    blocks = css.split("@media screen and (prefers-color-scheme: dark) {\n")[1:]
    inside = [line for block in blocks for line in block.split("\n}\n")[0].splitlines()]
    assert sorted(files["dark.css"].splitlines()) == sorted(inside) and len(inside) > 10
    assert "prefers-color-scheme" not in files["views.css"] + files["dark.css"] and not DARK.search(files["views.css"])
    assert files["views.css"].count("{") == files["views.css"].count("}")
