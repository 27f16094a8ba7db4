"""A lesson takes an hour, and hides nothing but results. `tools/lengths.py` counts; `python -m tools.lengths` prints.

A text cell is one of four kinds, known by its first or last words: a task ends with a paragraph that begins with
**Predict.** (or **Try.**), a result begins with **Seen.** and is folded in a learner's copy, an end is **In short:** or
**Moral.**; everything else is an idea, and is never folded.
"""

import copy
import json
import re

import pytest

from tools import lengths, predictions
from tools.languages import LANGUAGES

OLD: set[str] = set()
NEW = [path for path in lengths.LESSONS if path.name[:2] not in OLD]
ALL = [*NEW, *lengths.MORE]
SEEN, PREDICT = f"**{LANGUAGES['en'].result}**", f"**{LANGUAGES['en'].predict}**"
TASKS = (PREDICT, "**Try.**")
WORDS, MORE_WORDS = 74_000, 7_000  # of all notebooks, and of those in more/
MINUTES, MEAN, PREDICTIONS, LINES = 75, 70, 12, 280  # of a main path


def by_name(path):
    return path.stem


def paragraphs(text):
    return [one for one in re.split(r"\n\s*\n", text.strip()) if one.strip()]


def is_task(cell):
    return lengths.is_text(cell) and paragraphs(cell["source"])[-1].startswith(TASKS)


def is_result(cell):
    return lengths.is_text(cell) and cell["source"].startswith(SEEN)


def before_exercises(path):
    """The cells of the main path; those of a notebook in more/ are all."""
    cells = lengths.cells_of(path)
    return cells if path in lengths.MORE else [cell for cell, ours in lengths.parts(cells) if not ours]


def faults(cells, terms=()):
    """What is wrong with the kinds of these cells, a sentence each."""
    found, asked, answered = [], None, False
    for place, cell in enumerate(cells):
        text, id = cell["source"], cell["id"]
        if not lengths.is_text(cell):
            answered |= asked is not None
            continue
        if asked is not None and not is_result(cell):
            found.append(f"{asked}: between the task and its result stands {id}")
        if is_result(cell):
            if asked is None or not answered:
                found.append(f"{id}: a result without a task, or without the code that gives it")
            found += result_faults(id, text, terms)
            after = cells[place + 1] if place + 1 < len(cells) else None
            if after is not None and not lengths.is_text(after):
                found.append(f"{id}: code follows, whose task or idea is missing")
        asked, answered = None, False
        if PREDICT in text and not (text.count(PREDICT) == 1 and paragraphs(text)[-1].startswith(PREDICT)):
            found.append(f"{id}: {PREDICT} stands not once, at the start of the last paragraph")
        if is_task(cell) and PREDICT in text:
            asked = id
    return found + ([f"{asked}: a task without a result"] if asked else [])


def result_faults(id, text, terms):
    """What is wrong with a text that is folded."""
    hidden = {"a heading": r"^#{1,6} ", "a table": r"^\|", "a formula": r"\$\$", "a fold": "<details"}
    found = [f"{id}: {what} is hidden" for what, where in hidden.items() if re.search(where, text, re.MULTILINE)]
    if len(text.split()) > 120:
        found.append(f"{id}: {len(text.split())} words are no result: 120 at most")
    if text.rstrip(" *_").endswith("?"):
        found.append(f"{id}: a question is hidden")
    bold = {term.strip(" .:,").lower() for term in re.findall(r"\*\*(.+?)\*\*", text)} - {"seen"}
    return found + [f"{id}: the term {term} is hidden" for term in sorted(bold & set(terms))]


def terms_of(number):
    """The terms that the glossary says are explained in this lesson."""
    text = (lengths.ROOT / "assets" / "glossary.md").read_text("utf-8")
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("|")]
    return {re.sub(r"[*`]", "", row[0]).lower() for row in rows if len(row) >= 5 and number in row[4]}


def md(id, source):
    return {"id": id, "cell_type": "markdown", "source": source}


def code(id):
    return {"id": id, "cell_type": "code", "source": "1"}


GOOD = [md("a", "## 1. Sums\n\n**Predict.** 1 + 1?"), code("b"), md("c", "**Seen.** It is 2."), md("d", "More.")]


@pytest.mark.parametrize(
    ("cells", "fault"),
    [
        (GOOD, None),
        ([md("a", "**Predict.** 1 + 1?\n\nThink."), code("b"), md("c", "**Seen.** 2.")], "stands not once"),
        ([GOOD[0], code("b"), md("d", "It is 2.")], "between the task and its result stands d"),
        ([GOOD[0], md("c", "**Seen.** It is 2.")], "without the code"),
        ([md("d", "More."), code("b"), md("c", "**Seen.** It is 2.")], "a result without a task"),
        ([*GOOD[:3], code("e")], "code follows"),
        ([GOOD[0], code("b"), md("c", "**Seen.** It is 2.\n\n| a |\n|---|")], "a table is hidden"),
        ([GOOD[0], code("b"), md("c", "**Seen.** It is 2:\n\n$$x$$")], "a formula is hidden"),
        ([GOOD[0], code("b"), md("c", "**Seen.** It is 2. And 2 + 2?")], "a question is hidden"),
        ([GOOD[0], code("b"), md("c", "**Seen.** This is a **sum**.")], "the term sum is hidden"),
        ([GOOD[0], code("b"), md("c", "**Seen.** " + "so " * 120)], "121 words are no result"),
        (GOOD[:2], "a task without a result"),
    ],
)
def test_each_fault_of_the_kinds_is_found(cells, fault):
    found = faults(cells, {"sum"})
    assert any(fault in one for one in found) if fault else found == []


@pytest.mark.parametrize("path", ALL, ids=by_name)
def test_nothing_is_hidden_but_results(path):
    assert faults(before_exercises(path), terms_of(path.name[:2])) == []


@pytest.mark.parametrize("path", ALL, ids=by_name)
def test_a_learners_copy_folds_results_and_nothing_else(path):
    original = json.loads(path.read_text("utf-8"))
    ours = {cell["id"] for cell in before_exercises(path)}
    filled = copy.deepcopy(original)
    predictions.to_fill_in(filled, original, path.name)
    before = {cell["id"]: "".join(cell["source"]) for cell in original["cells"]}
    for above, cell in zip(filled["cells"], filled["cells"][1:], strict=False):
        text = "".join(cell["source"])
        if cell["id"].removesuffix(predictions.LINE) in ours and cell["id"].endswith(predictions.LINE):
            assert paragraphs("".join(above["source"]))[-1].startswith(PREDICT), "its question stands above the line"
        if cell["id"] in ours and cell["cell_type"] == "markdown":
            assert ('class="seen"' in text) == before[cell["id"]].startswith(SEEN), cell["id"]


@pytest.mark.parametrize("path", NEW, ids=by_name)
def test_a_main_path_takes_an_hour(path):
    one = lengths.length(path)
    assert one.minutes <= MINUTES and one.predictions <= PREDICTIONS and one.lines <= LINES, one
    long = [
        f"{cell['id']}: {line}"
        for cell in lengths.cells_of(path)
        if not lengths.is_text(cell)
        for line in cell["source"].splitlines()
        if len(line) > 100 or re.search(r";\s*\S", re.sub(r"'[^']*'|\"[^\"]*\"|#.*", "", line))
    ]
    assert long == [], "at most 100 characters, one statement a line"


@pytest.mark.parametrize("path", NEW, ids=by_name)
def test_the_first_screen_moves(path):
    first, *rest = lengths.cells_of(path)
    open_words = re.sub(r"<details.*?</details>", "", first["source"], flags=re.DOTALL).split()
    assert len(open_words) <= 40 + 5 and "<details>" in first["source"], "title and question; needs are folded"
    assert any(not lengths.is_text(cell) for cell in rest[:4]), "a code cell answers within the first five cells"
    assert "optional" not in "".join(cell["source"] for cell in rest if cell["source"].startswith("#")).lower()


@pytest.mark.parametrize("path", NEW, ids=by_name)
def test_the_end_of_a_lesson_is_short(path):
    texts = [cell["source"] for cell in lengths.cells_of(path) if lengths.is_text(cell)]
    most = {"## Summary": 5, "What usually goes wrong": 6, "### To go on": 2}
    for title, count in most.items():
        for text in (text for text in texts if title in text.splitlines()[0]):
            items = re.findall(r"^- ", text, re.MULTILINE)
            assert len(items) <= count, f"{title}: {len(items)} of {count} items"
    quiz = [text for text in texts if re.match(r"## (\d+\. )?Quiz", text)]
    assert sum(len(re.findall(r"^\*\*\d+\. ", text, re.MULTILINE)) for text in quiz) <= 4


@pytest.mark.skipif(bool(OLD), reason="not all lessons are short yet")
def test_the_course_is_short():
    words = {path.stem: lengths.words(lengths.cells_of(path)) for path in [*lengths.LESSONS, *lengths.MORE]}
    more = sum(words[path.stem] for path in lengths.MORE)
    assert sum(words.values()) <= WORDS and more <= MORE_WORDS, words
    assert sum(lengths.length(path).minutes for path in lengths.LESSONS) / len(lengths.LESSONS) <= MEAN
