"""Guards of the stored lessons: each was run from top to bottom, in order, and holds nothing of the machine it ran on.

nbval compares what a cell prints with what is stored, and a lesson whose outputs were cleared passes it: hence these.
"""

import base64
import io
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
import torch
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from PIL import Image

from course import NBVAL
from seqlearn.analysis.attention_map import AttentionMap
from seqlearn.views.maps import heatmap
from seqlearn.views.shared.sharp import sharp_png
from seqlearn.views.stored import records_file
from seqlearn.views.tables import measured
from tools.browser import NoBrowserError, program
from tools.refresh import main, marks, normalise, small_png, text_of

ROOT = Path(__file__).parents[2]
ENVIRONMENT = os.environ | {"PYTHONPATH": str(ROOT)}  # for a lesson elsewhere
NOTEBOOKS = ROOT / "notebooks"
LESSONS = sorted(NOTEBOOKS.rglob("[0-9]*.ipynb"))  # with those in more/

# Cells whose output has True or False, and why there is no number to see. A new one has to argue its way in.
TRUE_OR_FALSE: dict[tuple[str, str], str] = {
    ("07-multi-head-attention.ipynb", "l07-15"): "splitting and merging gives the tensor back, bit for bit",
}

LINES = 20
FIGURE = "<Figure"  # in the text of an output that is a figure
MACHINE = re.compile(r"(?<![\w.])/(?:home|root|Users|tmp|var|mnt|opt|srv|work)/[\w.-]|\b[A-Z]:\\+Users\b|site-packages")
PICTURE = re.compile(r"!\[(?P<alt>[^\]]*)\]\((?P<file>[^)\s]+)[^)]*\)|<img\b(?P<tag>[^>]*)>")
FORBIDDEN = {"nbval-skip", "nbval-ignore-output", "raises-exception", "nbval-raises-exception", "skip"}


def faults(notebook: nbformat.NotebookNode, name: str) -> list[str]:
    """What is wrong with a stored lesson, one sentence for each fault."""
    found = (
        [] if re.fullmatch(r"\d\d-[a-z0-9]+(-[a-z0-9]+)*\.ipynb", name) else [f"{name} is no name like 04-some-words"]
    )
    if notebook.metadata.get("kernelspec", {}).get("name") != "python3":
        found.append("the kernel is not python3")
    if "widgets" in notebook.metadata:
        found.append("metadata.widgets is stored")
    count = 0
    for cell in notebook.cells:
        if cell.cell_type == "code":
            count += 1
            found += [f"code cell {count} ({cell.id}): {fault}" for fault in code_faults(cell, count, name)]
        else:
            found += [f"text cell {cell.id}: {fault}" for fault in text_faults(cell.source)]
    return found


def code_faults(cell: nbformat.NotebookNode, count: int, name: str) -> list[str]:
    """What is wrong with the code cell that should have been run as number `count`."""
    found = (
        [] if cell.execution_count == count else [f"its number is {cell.execution_count}: run the lesson from the top"]
    )
    if not cell.source.strip():
        found.append("it is empty")
    if len(cell.source.splitlines()) > LINES:
        found.append(f"{len(cell.source.splitlines())} lines are more than {LINES}")
    if MACHINE.search(cell.source):
        found.append(f"a path of this machine in the code: {MACHINE.search(cell.source).group()}")
    tags = set(cell.metadata.get("tags", []))
    if tags & FORBIDDEN or re.search(r"#\s*(PYTEST_VALIDATE_IGNORE_OUTPUT|NBVAL_)", cell.source):
        found.append("it must run and be compared: what varies has its reason in tests/lessons/claims")
    for output in cell.outputs:
        if output.output_type == "error":
            found.append(f"it stored an error: {output.ename}")
        shown = {key: value for key, value in output.get("data", {}).items() if key.startswith("text/")}
        if strange := {key for key in output.get("data", {}) if key != "image/png"} - set(shown):
            found.append(f"it stored {', '.join(sorted(strange))}")
        text = json.dumps([shown, output.get("text", "")], ensure_ascii=False)
        if MACHINE.search(text):
            found.append(f"a path of this machine in the output: {MACHINE.search(text).group()}")
        if FIGURE in shown.get("text/plain", "") and not output.get("metadata", {}).get("image/png", {}).get("alt"):
            found.append("its figure has no title, and no words for somebody who does not see it")
    return found


def text_faults(source: str) -> list[str]:
    """What is wrong with the pictures and the paths in a Markdown cell."""
    found = ["a path of this machine"] if MACHINE.search(source) else []
    for picture in PICTURE.finditer(source):
        alt, file = picture["alt"], picture["file"]
        if picture["tag"] is not None:
            alt, file = (re.search(rf'{key}="([^"]*)"', picture["tag"]) for key in ("alt", "src"))
            alt, file = alt and alt[1], file and file[1]
        if not (alt or "").strip():
            found.append(f"the picture {file} has no alternative text")
        if not file or ":" in file or not any((folder / file).is_file() for folder in (NOTEBOOKS, NOTEBOOKS / "more")):
            found.append(f"the picture {file} is not in this repository")
    return found


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.name)
def test_lesson_is_stored_as_it_was_run(path):
    assert faults(nbformat.read(path, as_version=4), path.name) == []


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.name)
def test_lesson_is_stored_in_normal_form(path):
    stored = path.read_bytes().decode("utf-8")
    assert stored == text_of(normalise(nbformat.reads(stored, as_version=4))), "python3 course.py refresh stores it so"


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.name)
def test_all_outputs_and_views_of_a_lesson_are_of_one_run(path):
    views = records_file(path)
    records = json.loads(views.read_text("utf-8")) if views.exists() else []
    assert len(marks(nbformat.read(path, as_version=4), records)) == 1, "python3 course.py refresh stores one run"


LOSS = re.compile(r"Validation loss (\d+\.\d+)")  # in the title of a figure that grew while something was trained


def is_rounded(number: str, short: str) -> bool:
    """Whether `short` is `number` with fewer decimals."""
    return abs(float(number) - float(short)) <= 0.5001 * 10.0 ** -len(short.split(".")[1])


def untold(codes: list[nbformat.NotebookNode]) -> list[str]:
    """The losses in titles of figures that no output of the cell, or of the two after it, says, rounded."""
    said = []
    for cell in codes:
        shown = [output.get("text", "") + output.get("data", {}).get("text/plain", "") for output in cell.outputs]
        said.append({number for text in shown for number in re.findall(r"\d+\.\d+", text)})
    found = []
    for place, cell in enumerate(codes):
        for output in cell.outputs:
            title = LOSS.search(output.get("metadata", {}).get("image/png", {}).get("alt", ""))
            near = {one for one in set().union(*said[place : place + 3]) if len(one) > 3}
            if title and not any(is_rounded(title[1], one) for one in near):
                found.append(f"{cell.id}: no output says {title[1]}")
    return found


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.name)
def test_a_loss_in_a_title_is_that_of_the_table(path):
    codes = [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    assert untold(codes) == []


def test_a_loss_of_another_run_is_found():
    alt = {"image/png": {"alt": "Validation loss 0.0464 after 4 epochs."}}
    drawn = new_code_cell("a", outputs=[new_output("display_data", {"text/plain": "<Figure>"}, metadata=alt)])
    right, wrong = (
        new_code_cell("b", outputs=[new_output("stream", name="stdout", text=f"valid {x}")]) for x in ("0.046", "0.048")
    )
    assert (
        untold([drawn, new_code_cell("c"), right]) == [] and len(untold([drawn, wrong, new_code_cell("c"), right])) == 1
    )


def test_no_two_lessons_share_a_number():
    assert len({(path.parent, path.name[:2]) for path in LESSONS}) == len(LESSONS)


BARE = re.compile(r"\b(True|False)\b")


def bare(path: Path) -> set[tuple[str, str]]:
    """The cells of a lesson whose printed output, or plain value, has True or False."""
    cells = [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    said = {
        cell.id: [output.get("text") or output.get("data", {}).get("text/plain", "") for output in cell.outputs]
        for cell in cells
    }
    return {(path.name, name) for name, texts in said.items() if any(BARE.search(text) for text in texts)}


def test_no_number_hides_behind_true_or_false():
    """A learner who predicted a number sees this number: `measured` shows it, and compares what is claimed."""
    found = set().union(*(bare(path) for path in LESSONS))
    assert found == set(TRUE_OR_FALSE) and all(TRUE_OR_FALSE.values())


# The guards themselves: a good lesson has no fault, and each way of spoiling it is found.


def a_lesson() -> nbformat.NotebookNode:
    """A small lesson without a fault."""
    result = new_output("execute_result", {"text/plain": "2", "image/png": "iVBO"}, execution_count=2)
    cells = [
        new_markdown_cell("# Title"),
        new_code_cell("print(1)", execution_count=1, outputs=[new_output("stream", name="stdout", text="1\n")]),
        new_code_cell("1 + 1", execution_count=2, outputs=[result]),
    ]
    return normalise(new_notebook(cells=cells))


def spoil(change: str) -> nbformat.NotebookNode:
    """The small lesson after `change`, which may name `book`, `text`, `first` and `second`."""
    book = a_lesson()
    text, first, second = book.cells
    exec(change, {"book": book, "text": text, "first": first, "second": second, "new_output": new_output})
    return book


def test_a_good_lesson_has_no_fault():
    assert faults(a_lesson(), "04-some-words.ipynb") == []


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ("second.execution_count = None", "number is None"),
        ("second.execution_count = 3", "number is 3"),
        ("book.cells = [text, second, first]", "number is 2"),
        ("first.source = ' '", "empty"),
        ("first.source = 'x = 1\\n' * 21", "21 lines"),
        ("first.source = 'open(\"/home/ada/notes.txt\")'", "path of this machine in the code"),
        ("first.outputs[0].text = 'C:\\\\Users\\\\ada'", "path of this machine in the output"),
        ("first.source = '# NBVAL_SKIP'", "must run and be compared"),
        ("first.metadata.tags = ['raises-exception']", "must run and be compared"),
        ("first.metadata.tags = ['nbval-ignore-output']", "must run and be compared"),
        ("first.outputs = [new_output('error', ename='ValueError', evalue='', traceback=[])]", "ValueError"),
        ("second.outputs[0].data['application/vnd.jupyter.widget-view+json'] = {}", "widget-view"),
        ("second.outputs[0].data['image/svg+xml'] = '<svg/>'", "image/svg"),
        ("second.outputs[0].data['text/plain'] = '<Figure size 640x480 with 1 Axes>'", "no words"),
        ("book.metadata.widgets = {}", "metadata.widgets"),
        ("book.metadata.kernelspec.name = 'mine'", "kernel"),
        ("text.source = '![](../assets/map.svg)'", "alternative text"),
        ("text.source = '<img src=\"../assets/map.svg\">'", "alternative text"),
        ("text.source = '![a map](../assets/no-such-map.svg)'", "not in this repository"),
        ("text.source = '![a map](https://example.org/map.svg)'", "not in this repository"),
        ("text.source = 'see /home/ada/notes.txt'", "path of this machine"),
    ],
)
def test_each_fault_is_found(change, fault):
    assert fault in "\n".join(faults(spoil(change), "04-some-words.ipynb"))


@pytest.mark.parametrize("name", ["4-words.ipynb", "04-Words.ipynb", "04 words.ipynb", "Untitled.ipynb"])
def test_a_bad_name_is_found(name):
    assert "is no name like" in faults(a_lesson(), name)[0]


def refresh(path: Path, *options: str) -> subprocess.CompletedProcess:
    """What `course.py refresh` runs, on one lesson."""
    try:
        program()
    except NoBrowserError as missing:
        pytest.skip(str(missing))
    command = [sys.executable, "-m", "tools.refresh", *options, str(path)]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, cwd=ROOT)


@pytest.mark.slow
def test_refresh_stores_what_a_reader_without_a_kernel_can_see(tmp_path):
    cells = [
        new_markdown_cell("# Un été"),
        new_code_cell("import os, sys\nprint(os.environ['SEQLEARN_DEVICE'], end=' ')\nprint('é')"),
        new_code_cell("from ipywidgets import IntSlider\nIntSlider()"),
        new_code_cell("import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.title('up');"),
    ]
    path = tmp_path / "04-a-lesson.ipynb"
    path.write_text(nbformat.writes(new_notebook(cells=cells)), encoding="utf-8")
    done = refresh(path)
    assert done.returncode == 0 and "changed" in done.stdout, done.stdout + done.stderr
    stored = path.read_bytes()
    book = nbformat.read(path, as_version=4)
    assert faults(book, path.name) == [] and b"\r" not in stored and "é".encode() in stored
    _, printed, slider, plot = book.cells
    assert printed.outputs == [{"name": "stdout", "output_type": "stream", "text": "cpu é\n"}]
    assert list(slider.outputs[0].data) == ["text/plain"] and "version" not in book.metadata.language_info
    assert set(plot.outputs[0].data) == {"image/png", "text/plain"} and len(plot.outputs) == 1
    assert "the same" in refresh(path).stdout and path.read_bytes() == stored


VIEW = """import torch
from seqlearn.views import SoftmaxView
print(1)
print(2)
display(SoftmaxView(torch.tensor([1.0, 2.0])))
SoftmaxView(torch.tensor([3.0]), ["été"])"""


@pytest.mark.slow
def test_refresh_stores_the_views_of_a_lesson_beside_it(tmp_path):
    path, views = tmp_path / "notebooks" / "04-a-lesson.ipynb", tmp_path / "assets" / "views" / "04-a-lesson.json"
    path.parent.mkdir()
    cells = [new_code_cell("1 + 1"), new_code_cell(VIEW, id="shows")]
    nbformat.write(new_notebook(cells=cells), path)
    assert refresh(path).returncode == 0
    outputs = nbformat.read(path, as_version=4).cells[1].outputs
    assert [list(output.get("data", ["stream"])) for output in outputs] == [
        ["stream"],
        *[["image/png", "text/plain"]] * 2,
    ]
    first, second = (output.metadata["image/png"] for output in outputs[1:])
    assert first["width"] == second["width"] == 960 and first["height"] > second["height"], "of two keys, and of one"
    records = json.loads(views.read_text(encoding="utf-8"))
    assert [(one["cell"], one["output"], one["state"]["scores"]) for one in records] == [
        ("shows", 1, [1.0, 2.0]),
        ("shows", 2, [3.0]),
    ]
    assert [one["repr"] for one in records] == [output.data["text/plain"] for output in outputs[1:]]
    stored = path.read_bytes(), views.read_bytes()
    assert "the same" in refresh(path).stdout and (path.read_bytes(), views.read_bytes()) == stored
    (run,) = marks(nbformat.read(path, as_version=4), records)
    book = nbformat.read(path, as_version=4)
    shows = book.cells[1]
    shows.outputs[1].data["image/png"], shows.source = "iVBO", "1 / 0"
    nbformat.write(book, path)
    assert "changed" in refresh(path, "--views").stdout, "only the pictures, and nothing is run"
    shows.outputs = outputs
    assert nbformat.read(path, as_version=4) == book and views.read_bytes() == stored[1]
    shows.source = VIEW
    book.cells[0].source = "1 + 2"
    nbformat.write(book, path)
    assert refresh(path).returncode == 0
    (new,) = marks(nbformat.read(path, as_version=4), json.loads(views.read_text(encoding="utf-8")))
    assert run != new and re.fullmatch("[0-9a-f]{8}", new), "another run, for all cells and views"
    nbformat.write(new_notebook(cells=[new_code_cell("1 + 1")]), path)
    assert refresh(path).returncode == 0 and not views.exists(), "no view, no record"


def test_refresh_without_a_browser_stops_before_any_work(tmp_path, monkeypatch, capsys):
    path = tmp_path / "04-a-lesson.ipynb"
    nbformat.write(new_notebook(cells=[new_code_cell("1 + 1")]), path)
    before = path.read_bytes()
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert main([path]) == 1 and path.read_bytes() == before
    said = capsys.readouterr()
    assert said.out == "" and re.fullmatch(r"No browser was found: install Chromium, .+; nothing was run\.\n", said.err)


@pytest.mark.slow
def test_refresh_leaves_a_lesson_that_fails_as_it_was(tmp_path):
    path, views = tmp_path / "notebooks" / "04-a-lesson.ipynb", tmp_path / "assets" / "views" / "04-a-lesson.json"
    for folder in (path.parent, views.parent):
        folder.mkdir(parents=True)
    path.write_text(nbformat.writes(new_notebook(cells=[new_code_cell("1 / 0")])), encoding="utf-8")
    views.write_text("[]", encoding="utf-8")
    before = path.read_bytes()
    done = refresh(path)
    assert done.returncode == 1 and "ZeroDivisionError" in done.stdout and path.read_bytes() == before
    assert views.read_text(encoding="utf-8") == "[]"


@pytest.mark.slow
def test_refresh_leaves_what_was_changed_meanwhile_and_what_holds_no_views(tmp_path):
    path, views = tmp_path / "notebooks" / "04-a-lesson.ipynb", tmp_path / "assets" / "views" / "04-a-lesson.json"
    for folder in (path.parent, views.parent):
        folder.mkdir(parents=True)
    cells = [new_code_cell("from pathlib import Path\nPath('04-a-lesson.ipynb').write_text('precious');")]
    nbformat.write(new_notebook(cells=cells), path)
    done = refresh(path)
    assert done.returncode == 1 and "was changed while it ran: refresh it again" in done.stdout
    assert path.read_text("utf-8") == "precious"
    nbformat.write(new_notebook(cells=[new_code_cell("1 + 1")]), path)
    views.write_text("precious", encoding="utf-8")
    before = path.read_bytes()
    done = refresh(path)
    assert done.returncode == 1 and "holds no views: move it away" in done.stdout
    assert (path.read_bytes(), views.read_text("utf-8")) == (before, "precious")


def outcomes(book: nbformat.NotebookNode, folder: Path) -> list[bool]:
    """Whether each code cell passes when a notebook is compared as `course.py test` compares the lessons."""
    nbformat.write(normalise(book), folder / "04-a-lesson.ipynb")
    shutil.copy(NOTEBOOKS / "conftest.py", folder)
    command = [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", *NBVAL, "04-a-lesson.ipynb"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, cwd=folder, env=ENVIRONMENT)
    found = re.findall(r"::Cell (\d+) (PASSED|FAILED)", done.stdout)
    assert [int(number) for number, _ in found] == list(range(len(found))), done.stdout
    return [outcome == "PASSED" for _, outcome in found]


@pytest.mark.slow
def test_nbval_runs_lessons_strictly_and_on_the_cpu(tmp_path):
    """A trailing semicolon hides the value, addresses do not matter, and any other difference fails."""
    sources = {
        "1 + 1;": [],
        "object()": [new_output("execute_result", {"text/plain": "<object at 0x7f0123456789>"}, execution_count=2)],
        "import os; print(os.environ['SEQLEARN_DEVICE'])": [new_output("stream", name="stdout", text="cpu\n")],
        "1 + 2": [new_output("execute_result", {"text/plain": "4"}, execution_count=4)],
    }
    cells = [new_code_cell(source, execution_count=1, outputs=outputs) for source, outputs in sources.items()]
    assert outcomes(new_notebook(cells=cells), tmp_path) == [True, True, True, False]


@pytest.mark.slow
def test_nbval_compares_numbers_with_their_bounds_and_asks_what_holds(tmp_path):
    """The claims are those of two cells of lesson 04: at most 0.00001; and an additive score that takes 5 times."""
    first = "from seqlearn.views import measured\nratios = {'additive': 5.5}"
    stored = measured({"x": 2e-6}, form="{:.7f}")
    there = {"text/plain": repr(stored), "text/html": stored.to_html()}
    sources = [
        ("l04-31", "measured({'x': 7e-6}, form='{:.7f}')", True),  # another number inside the bounds
        ("l04-31", "measured({'x': 7e-5}, form='{:.7f}')", False),
        ("l04-31", "measured({'y': 7e-6}, form='{:.7f}')", False),
        ("other", "measured({'x': 7e-6}, form='{:.7f}')", False),
        ("l04-58", "measured({'x': 0.1}, form='{:.7f}')", True),  # anything
        ("l04-58", "ratios['additive'] = 4\nmeasured({'x': 2e-6}, form='{:.7f}')", False),
    ]
    for id, source, passes in sources:
        output = new_output("execute_result", {**there, "image/png": "iVBO"}, execution_count=2)
        cells = [new_code_cell(first), new_code_cell(source, id=id, outputs=[output])]
        assert outcomes(new_notebook(cells=cells), tmp_path) == [True, passes], source


@pytest.mark.slow
def test_nbval_compares_the_text_of_a_view_and_misses_no_picture(tmp_path):
    """`refresh` alone takes the picture; a run in the tests makes none."""
    stored = "SoftmaxView(2 keys, 0 masked, score −∞, then softmax)"
    cells = [new_code_cell("import torch\nfrom seqlearn.views import SoftmaxView")]
    for keys in (2, 3):
        output = new_output("execute_result", {"text/plain": stored, "image/png": "iVBO"}, execution_count=keys)
        cells.append(new_code_cell(f"SoftmaxView(torch.zeros({keys}))", outputs=[output]))
    assert outcomes(new_notebook(cells=cells), tmp_path) == [True, True, False]


FIGURES = {
    "plt.title('Good');": "PASSED",
    "plt.title('$x$', parse_math=False);": "FAILED",
    "figure = plt.figure(figsize=(12, 3)); figure.subplots(); display(figure); plt.close()": "FAILED",
    "from seqlearn.views import measured\nmeasured({'a': 1})": "PASSED",
    "sorted(name for name in dir() if not name.startswith('_'))": "PASSED",
}


def a_lesson_with_figures(path: Path) -> None:
    start = "import matplotlib.pyplot as plt\nplt.style.use('seqlearn.course')"
    cells = [new_code_cell(source) for source in (start, *FIGURES)]
    nbformat.write(new_notebook(cells=cells), path)


@pytest.mark.slow
def test_a_figure_with_a_fault_fails_its_cell(tmp_path):
    """The outputs were stored by `refresh`, which says what is wrong; nothing else differs, whatever watches."""
    path = tmp_path / "04-a-lesson.ipynb"
    a_lesson_with_figures(path)
    said = refresh(path).stdout
    assert "code cell 3: '$x$' shows TeX" in said and "code cell 4: the figure is 12.0 in wide" in said
    assert said.count("code cell") == 2
    shutil.copy(NOTEBOOKS / "conftest.py", tmp_path)
    command = [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", *NBVAL, "04-a-lesson.ipynb"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, cwd=tmp_path, env=ENVIRONMENT)
    outcomes = re.findall(r"::Cell \d (PASSED|FAILED)", done.stdout)
    assert outcomes == ["PASSED", *FIGURES.values()], done.stdout
    assert "FigureFault: '$x$' shows TeX as it was typed" in done.stdout


@pytest.mark.slow
def test_pictures_are_stored_sharp_and_small(tmp_path):
    path = tmp_path / "04-a-lesson.ipynb"
    a_lesson_with_figures(path)
    refresh(path)
    outputs = [output for cell in nbformat.read(path, as_version=4).cells for output in cell.outputs]
    pictures = [output for output in outputs if "image/png" in output.get("data", {})]
    assert len(pictures) == 4
    for output in pictures:
        shown, encoded = output.metadata["image/png"], output.data["image/png"]
        picture = Image.open(io.BytesIO(base64.b64decode(encoded)))
        assert [size // 2 for size in picture.size] == [shown["width"], shown["height"]]
        assert picture.mode == "P" and picture.convert("RGB").getpixel((0, 0)) == (255, 255, 255)
        assert small_png(encoded) == encoded, "a small picture stays as it is"
    assert "widget" not in json.dumps([output.get("metadata", {}) for output in outputs])


@pytest.mark.slow
def test_a_figure_is_stored_with_its_words(tmp_path):
    """Also one that is shown twice, and one that pyplot does not know."""
    cells = [
        "import matplotlib.pyplot as plt\nfrom matplotlib.figure import Figure",
        "f, (a, b) = plt.subplots(1, 2, figsize=(9, 3))\n"
        "a.plot([1], label='ours')\n"
        "a.set(title='The loss\\nfalls.', xlabel=r'width $d_k$', ylabel='loss')\n"
        "b.set(title='It stays', xlabel='epoch')\n"
        "b.axis('off')\n"
        "a.legend()",
        "f = Figure()\nf.subplots()\nf.suptitle('Own')\ndisplay(f)\nf.suptitle('Other')\nf",
        "plt.subplots(figsize=(2, 1));",
    ]
    path = tmp_path / "04-a-lesson.ipynb"
    nbformat.write(new_notebook(cells=list(map(new_code_cell, cells))), path)
    assert refresh(path).returncode == 0
    shown = [cell.outputs for cell in nbformat.read(path, as_version=4).cells]
    words = [
        [output.metadata["image/png"]["alt"] for output in outputs if "image/png" in output.get("data", {})]
        for outputs in shown
    ]
    assert words == [[], ["The loss falls; It stays. Axes: width d_k; loss. Legend: ours."], ["Own.", "Other."], [""]]


@pytest.mark.slow
def test_a_small_picture_looks_as_before():
    figure = heatmap(AttentionMap(torch.rand(1, 1, 9, 9).softmax(-1), list("abcdefghi"), list("abcdefghi")))
    full, _ = sharp_png(figure)
    encoded = base64.b64encode(full).decode()
    small = base64.b64decode(small_png(encoded))
    assert len(small) < 0.5 * len(full) and small_png(encoded) == base64.b64encode(small).decode()
    before, after = (torch.tensor(list(Image.open(io.BytesIO(png)).convert("RGB").tobytes())) for png in (full, small))
    assert (before - after).abs().float().mean() < 1


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.name)
def test_a_lesson_imports_from_three_places_at_most(path):
    """Places are the front door and the rooms of the package."""
    code = "\n".join(cell.source for cell in nbformat.read(path, 4).cells if cell.cell_type == "code")
    places = set(re.findall(r"^ *(?:from|import) (seqlearn(?:\.\w+)?)", code, re.MULTILINE))
    assert len(places) <= 3, places


def test_no_lesson_is_a_large_file():
    assert {path.name: size for path in LESSONS if (size := path.stat().st_size) > 2_900_000} == {}
