"""A prediction is an act: no code answers it, the learner writes it down, and what was seen is folded."""

import ast
import copy
import json
import re
from pathlib import Path

import nbformat
import pytest
from nbconvert.exporters import NotebookExporter

from seqlearn.views import my_lessons, my_predictions, predictions as account
from tools import blocks, predictions
from tools.languages import LANGUAGES

LESSONS = sorted(Path(__file__).parents[2].joinpath("notebooks").rglob("[0-9]*.ipynb"))
FINDINGS = (  # words of titles that say what was found; "the loss by length" says what is drawn
    "vanish", "explode", "suffer", "loses", "hardly", "nothing", "neither", " only", "look alike",
    "queries almost alike", "never", "is lowest", "worse", " flat", "stuck", "found again", "undoes", "breaks",
    "peaks", "meets", "wins", "spread", "ahead of", "far behind", "takes all", "falls below", "falls towards",
    "reach a ", "prefers", "agree on", "needs the", "changes no ", "keeps the", "grows slowly", "both learn",
    "straight lines", "the same on both", "looks back", "looks at the words it", "one colour on", "one number on",
    "likelier sentences", "counts length more", "get worse", "shows the alignment", "gets small", "matter", "go on",
    "sees itself", "get a resting", "longer waves",
)  # fmt: skip


def findings(source: str) -> list[str]:
    """What the code of a cell says of its own result."""
    tree, texts = ast.parse(source), []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            texts += [one.value for one in node.keywords if one.arg in ("title", "suptitle")]
            if isinstance(node.func, ast.Attribute) and node.func.attr in ("set_title", "suptitle"):
                texts += node.args[:1]
        elif isinstance(node, ast.Assign) and any("title" in ast.unparse(target) for target in node.targets):
            texts.append(node.value)
    words = {part.value for text in texts for part in ast.walk(text) if isinstance(part, ast.Constant)}
    found = [text for text in map(str, words) if any(finding in f" {text.lower()} " for finding in FINDINGS)]
    names = {node.arg for node in ast.walk(tree) if isinstance(node, ast.keyword)}
    return found + sorted(names & {"bounds", "claims"})


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("ax.set_title('Without a norm the numbers explode')", ["Without a norm the numbers explode"]),
        ("title = 'Post-norm needs the warm-up'\ngrid(x, title=title)", ["Post-norm needs the warm-up"]),
        ("ax.set(title='Bilinear: straight lines' if x else 'x')", ["Bilinear: straight lines"]),
        ("measured(rows, bounds=(0, 1), claims={'a': a > b})", ["bounds", "claims"]),
        ("ax.set_title('BLEU by the length of the sentence')", []),
        ("ax.set(title=f'{share:.0%} of the cells are padding')", []),
    ],
)
def test_what_counts_as_an_answer(source, found):
    assert findings(source) == found


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.name[:2])
def test_no_code_answers_the_prediction_above_it(path):
    asked, answered = False, {}
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "markdown":
            asked = bool(predictions.QUESTION.search(cell.source))
        elif asked and (found := findings(cell.source)):
            answered[cell.id] = found
    assert answered == {}


# ---- The learner's copy ----

A_LESSON = {
    "cells": [
        {"id": "a", "cell_type": "markdown", "source": "## 1. Sums\n\n**Predict.** How much is 1 + 1?"},
        {"id": "b", "cell_type": "code", "source": "1 + 1"},
        {"id": "c", "cell_type": "markdown", "source": "The *sum* is 2. More.\n\n| a | b |\n\n**Predict.** And 2 + 2?"},
        {"id": "d", "cell_type": "code", "source": "x = 2"},
        {"id": "e", "cell_type": "code", "source": "x + x"},
        {"id": "f", "cell_type": "markdown", "source": "It is 4.\n\n## 2. Words\n\n1. **Predict**: as always."},
        {"id": "g", "cell_type": "code", "source": "3"},
    ]
}


def a_copy():
    notebook = copy.deepcopy(A_LESSON)
    predictions.to_fill_in(notebook, A_LESSON, "lesson.ipynb", after="05-x.ipynb")
    return {cell["id"]: cell for cell in notebook["cells"]}


def test_a_question_gets_a_line_and_its_answer_a_fold():
    assert predictions.questions(A_LESSON) == {"a": (["b"], "c"), "c": (["d", "e"], "f")}
    cells = a_copy()
    assert list(cells) == [
        "a", "a-prediction", "b", "c", "c-prediction", "d", "e", "f", "g", "my-predictions", "my-predictions-table",
        "my-lessons", "my-lessons-table", "next",
    ]  # fmt: skip
    fold = '<details class="seen"><summary>What was seen</summary>\n\n'
    assert cells["c"]["source"] == f"{fold}The *sum* is 2. More.\n\n| a | b |\n\n</details>\n\n**Predict.** And 2 + 2?"
    assert cells["f"]["source"] == f"{fold}It is 4.\n\n</details>\n\n## 2. Words\n\n1. **Predict**: as always."
    assert cells["a"] == A_LESSON["cells"][0], "a question stays as it is"
    assert cells["next"]["source"] == "**Next:** [05-x](05-x.ipynb)"


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_result_is_folded_without_its_first_word(language):
    """The title of the fold says it already."""
    words = LANGUAGES[language]
    fold = predictions.folded(f"**{words.result}** It is 2.\n\nMore.", words)
    assert fold == f'<details class="seen"><summary>{words.seen}</summary>\n\nIt is 2.\n\nMore.\n\n</details>'


def test_what_has_folds_and_what_explains_nothing_stay():
    for text in (
        "<details><summary>Hint</summary>\n\n1\n</details>",
        "## 2. Words\n\nMore.",
        "**Predict.** And 3 + 3?",
    ):
        assert predictions.folded(text, LANGUAGES["en"]) == text


def test_the_account_shows_what_somebody_wrote_beside_what_was_seen(tmp_path):
    cells, path = a_copy(), tmp_path / "lesson.ipynb"
    assert my_predictions(path).title.startswith(f"There is no {path} here.")
    path.write_text(json.dumps({"cells": list(cells.values())}), "utf-8")
    assert my_predictions(path).title == "You predicted 0 of 2"
    cells["a-prediction"]["source"] = ["**My prediction:** <b>3</b>, or\n", "more ✗"]
    path.write_text(json.dumps({"cells": list(cells.values())}), "utf-8")
    table = my_predictions(path)
    assert table.title == "You predicted 1 of 2: 1 ✗"
    assert table.rows == [["1. Sums", "<b>3</b>, or\nmore ✗", "The sum is 2."]]
    cells["c-prediction"]["source"] = "4 ✓"  # without the words before it
    path.write_text(json.dumps({"cells": list(cells.values())}), "utf-8")
    table = my_predictions(path)
    assert table.title == "You predicted 2 of 2: 1 ✓, 1 ✗" and table.rows[1] == ["1. Sums", "4 ✓", "It is 4."]


LINE, OTHER = "a-prediction", "c-prediction"


def changed_ids(new):
    """Each cell with another id, or without one, and other metadata: `new(id)` gives both."""
    return lambda cells: [{k: v for k, v in cell.items() if k != "id"} | new(cell["id"]) for cell in cells.values()]


def through_nbconvert(cells):
    code = {"outputs": [], "execution_count": None}
    cells = [{"metadata": {}} | cell | (code if cell["cell_type"] == "code" else {}) for cell in cells.values()]
    notebook = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    return json.loads(NotebookExporter().from_notebook_node(nbformat.from_dict(notebook))[0])["cells"]


def into(keep, *parts):
    """Some cells merged into one of them."""

    def change(cells):
        whole = cells[keep] | {"source": "\n\n".join(cells[id]["source"] for id in parts)}
        return [whole if id == keep else cell for id, cell in cells.items() if id == keep or id not in parts]

    return change


def placed(after, new, *, cut=False):
    """The first line, or what `new` makes of it, after another cell; `cut` takes the line from its own place."""

    def change(cells):
        line = new(cells[LINE])
        rows = [[cell] * (id != LINE or not cut) + [line] * (id == after) for id, cell in cells.items()]
        return [cell for row in rows for cell in row]

    return change


def halved(cells):
    cells[LINE] |= {"source": "**My prediction:** *three"}
    return placed(LINE, lambda line: {"id": "new", "cell_type": "markdown", "source": "times*"})(cells)


def without(*ids):
    return lambda cells: [cell for id, cell in cells.items() if id not in ids]


def edited(id, **new):
    return lambda cells: [*(cells | {id: cells[id] | new}).values()]


CHANGES = {
    "none": lambda cells: [*cells.values()],
    "Colab": changed_ids(lambda id: {"metadata": {"id": id}}),
    "nbformat 4.4": changed_ids(lambda id: {}),
    "new ids": changed_ids(lambda id: {"id": f"x{id[0]}", "metadata": {}}),
    "nbstripout": lambda cells: [cell | {"metadata": {}} for cell in cells.values()],
    "nbconvert": through_nbconvert,
    "merged into the question": into("a", "a", LINE),
    "merged into the line": into(LINE, "a", LINE),
    "split": halved,
    "copied": placed(LINE, lambda line: {**line, "id": "new"}),
    "cut and pasted": placed(LINE, lambda line: {**line, "id": "new"}, cut=True),
    "moved down": placed("c", dict, cut=True),
    "moved up": lambda cells: [cells.pop(LINE), *cells.values()],
    "made code": edited(LINE, cell_type="code", outputs=[], execution_count=1),
    "label deleted": edited(LINE, source="three times"),
    "typed behind": edited(LINE, source=f"**My prediction:** *{LANGUAGES['en'].type_here}* three times"),
    "typed without stars": edited(LINE, source="**My prediction:**three times"),
    "no fold": edited("c", source="**Predict.** And 2 + 2?"),
    "explanation deleted": without("f"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_no_prediction_is_lost(change, tmp_path):
    cells = a_copy()
    cells[LINE] |= {"source": "**My prediction:** *three times*"}
    cells[OTHER] |= {"source": ["**My prediction:** **4:** ", "because ✓"]}
    path = tmp_path / "04-scores.ipynb"
    path.write_text(json.dumps({"cells": CHANGES[change](cells)}), "utf-8")
    shown = my_predictions(path)
    assert [row[1].replace("*", "") for row in shown.rows] == ["three times", "4: because ✓"]
    assert shown.title == "You predicted 2 of 2: 1 ✓" and my_lessons(tmp_path).rows[0][2] == "2 of 2"
    seen = {"no fold": ["", "It is 4."], "explanation deleted": ["The sum is 2.", ""]}
    assert [row[2] for row in shown.rows] == seen.get(change, ["The sum is 2.", "It is 4."])


def test_the_words_of_the_lines_are_those_of_all_languages():
    words = [(one.prediction, one.type_here, one.predict[:-1]) for one in LANGUAGES.values()]
    assert words == [*zip(account.LABELS, account.PLACEHOLDERS, account.ASKED, strict=True)]


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_empty_line_is_no_prediction(language):
    cells = {"cells": copy.deepcopy(A_LESSON["cells"])}
    predictions.to_fill_in(cells, A_LESSON, "lesson.ipynb", language)
    assert account.predicted(cells["cells"]) == ([], 2)


BROKEN = ["null", "[]", "", '{"cells": null}', '{"cells": [1]}', '{"cells": [{"cell_type": "code"}]}', "[" * 10**5]


def test_one_broken_copy_is_named_and_the_table_goes_on(tmp_path):
    names = ["".join(chr(97 + int(figure)) for figure in str(number)) for number in range(len(BROKEN))]
    for name, text in zip(names, BROKEN, strict=True):
        (tmp_path / f"01-{name}.ipynb").write_text(text, "utf-8")
        assert "cannot be read" in my_predictions(tmp_path / f"01-{name}.ipynb").title
    (tmp_path / "02-folder.ipynb").mkdir()
    (tmp_path / "03-link.ipynb").symlink_to(tmp_path / "nothing")
    (tmp_path / "04-whole.ipynb").write_text(json.dumps({"cells": [*a_copy().values()]}), "utf-8")
    *broken, whole = my_lessons(tmp_path).rows
    assert [row[1] for row in broken] == ["cannot be read"] * (len(BROKEN) + 2) and whole[2] == "0 of 2"


def test_what_is_done_in_all_lessons(tmp_path):
    def code(source, count=None, text=""):
        outputs = [{"output_type": "stream", "name": "stdout", "text": text.splitlines(True)}] * bool(text)
        cell = {"id": "x", "cell_type": "code", "source": source, "execution_count": count, "outputs": outputs}
        return cell | {"metadata": {}}

    said = "Exercise 4.1: not yet. No.\nExercise 4.2: right!\n"
    cells = [code("x = 1", 3), code(""), code("lesson04.check_a(a)\nlesson04.check_b(b)", 4, said), code("x")]
    (tmp_path / "04-scores.ipynb").write_text(json.dumps({"cells": [*a_copy().values(), *cells]}), "utf-8")
    (tmp_path / "05-next.ipynb").write_text("{", "utf-8")
    (tmp_path / "05-next.old1.ipynb").write_text("{", "utf-8")
    (tmp_path / "letters.ipynb").write_text("{", "utf-8")
    shown = my_lessons(tmp_path)
    assert shown.rows == [["04-scores", "2 of 9", "0 of 2", "1 of 2"], ["05-next", "cannot be read", "", ""]]


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.name[:2])
def test_all_lines_of_all_lessons_are_found_without_any_ids(path):
    """In each language, also where the questions are translated."""
    original = json.loads(path.read_text("utf-8"))
    asked = len(predictions.questions(original))
    texts = {language: files.get(path.name[:2]) for language, files in blocks.languages().items()}
    for language, file in {"en": None, **texts}.items():
        notebook = blocks.translated(original, blocks.read(file), language) if file else copy.deepcopy(original)
        predictions.to_fill_in(notebook, original, path.name, language if file else "en")
        lines = [cell for cell in notebook["cells"] if cell["id"].endswith("-prediction")]
        for number, cell in enumerate(lines):
            cell["source"] = cell["source"].split(" *")[0] + f" *guess {number}*"
        cells = [{**cell, "id": "", "metadata": {}} for cell in notebook["cells"]]
        rows, found = account.predicted(cells)
        assert found == asked and [row[1] for row in rows] == [f"guess {number}" for number in range(asked)]
        assert all(row[0] for row in rows)


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.name[:2])
def test_every_lesson_keeps_its_words_in_a_copy(path):
    """Each question has a line, and nearly all answers are folded; apart from that, no word has changed."""
    original = json.loads(path.read_text("utf-8"))
    notebook = copy.deepcopy(original)
    predictions.to_fill_in(notebook, original, path.name)
    nbformat.validate(nbformat.from_dict(notebook))
    asked = predictions.questions(original)
    lines = [cell["id"] for cell in notebook["cells"] if cell["id"].endswith("-prediction")]
    assert lines == [f"{id}-prediction" for id in asked] and asked
    texts = {cell["id"]: "".join(cell["source"]) for cell in notebook["cells"]}
    folds = [id for _, id in asked.values() if '<details class="seen">' in texts.get(id, "")]
    assert len(folds) >= 0.8 * len(asked), {id for _, id in asked.values()} - set(folds)
    for cell in original["cells"]:
        text = re.sub(r'<details class="seen"><summary>What was seen</summary>|</details>', "", texts[cell["id"]])
        source = "".join(cell["source"]).removeprefix(f"**{LANGUAGES['en'].result}**").replace("</details>", "")
        assert text.split() == source.split()
