"""Every exercise: a stub is "not tried yet", the stored solution right, typical wrong answers get their own diagnosis.

The solution is read from the lesson, where a learner reads it.
"""

import re
from dataclasses import replace
from pathlib import Path

import nbformat
import pytest
import torch

from seqlearn.exercises import checking, lesson00, lesson06
from seqlearn.translator import Translator

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
SOLUTION = re.compile(r"<summary>Solution</summary>\s*```python\n(.*?)```", re.DOTALL)
SENTENCE = "The girl washes the red apple and eats it."


@pytest.fixture(scope="module")
def attention():
    """The map that lessons 00 and 06 read from, by the model that comes with the course."""
    return Translator.pretrained("bahdanau", "cpu").attend(SENTENCE)


def exercises():
    """Lesson, imports, stub, check and solution of each exercise."""
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        cells = nbformat.read(path, as_version=4).cells
        imports = next(cell.source for cell in cells if cell.cell_type == "code")
        for place, cell in enumerate(cells):
            if solution := SOLUTION.search(cell.source):
                stub, check = cells[place - 2].source, cells[place - 1].source
                yield pytest.param(imports, stub, check, solution[1], id=f"{path.name[:2]}-{place}")


@pytest.mark.parametrize(("imports", "stub", "check", "solution"), list(exercises()))
def test_stub_and_solution(imports, stub, check, solution, attention, capsys):
    said = []
    for answer in (stub, solution):
        namespace = {"attention": attention}
        exec(imports, namespace)
        exec(answer, namespace)
        capsys.readouterr()
        exec(check, namespace)
        said.append(capsys.readouterr().out)
    assert said[0].endswith("not tried yet.\n") and said[0].count("\n") == 1
    assert said[1].endswith("right!\n") and said[1].count("\n") == 1


def test_there_are_exercises_in_every_lesson():
    assert {param.id[:2] for param in exercises()} == {path.name[:2] for path in NOTEBOOKS.glob("*.ipynb")}
    assert sum(param.id.startswith("06") for param in exercises()) >= 2


def right_step(
    query, keys, values, W_q, W_k, w_v, length, *, mask=True, tanh=True, scale=1.0, after=False, soft=True,
    hidden=float("-inf"), upside=False
):  # fmt: skip
    """The solution of 6.1, with a switch for each typical mistake."""
    of_query, of_keys = W_q @ query, keys @ W_k.T
    scores = of_query.tanh() + of_keys.tanh() if tanh == "each" else of_query + of_keys
    scores = (scores.tanh() if tanh is True else scores) @ w_v / scale
    real = (torch.arange(len(keys)) < length) ^ upside
    if mask and not after:
        scores = scores.masked_fill(~real, hidden)
    weights = scores.softmax(0) if soft else scores
    if after:
        weights = weights * real
    return weights, weights @ values


def in_place(query, keys, *rest):
    answer = right_step(query, keys, *rest)
    keys *= 2
    return answer


WRONG_STEPS = [
    (lambda *args: right_step(*args, mask=False), "lies on padding: mask before the softmax"),
    (lambda *args: right_step(*args, after=True), "mask the scores, then take the softmax"),
    (lambda *args: right_step(*args, soft=False, mask=False), "these are the scores"),
    (lambda *args: right_step(*args, tanh=False), "without the tanh"),
    (lambda *args: right_step(*args, scale=8**0.5), "divided by a square root"),
    (lambda *args: right_step(*args)[0], "return two things"),
    (lambda *args: right_step(*args)[::-1], "the weights, one for each key, should have shape (5,); yours: (6,)"),
    (lambda *args: (right_step(*args)[0], right_step(*args)[0] @ args[1].repeat(1, 3)), "the context is not"),
    (
        lambda *args: (right_step(*args)[0], args[2].sum()),
        "the context, of the shape of one value, should have shape (6,)",
    ),
    (lambda *args: (torch.arange(len(args[1])).lt(args[-1]) / args[-1], args[2][0]), "are not those of the formula"),
    (lambda *args: right_step(*args[:-1], args[-1] - 1), "one key is missing: the 3 keys"),
    (lambda *args: right_step(*args[:-1], args[-1] + 1), "the key with index 3 is padding"),
    (lambda *args: right_step(*args, hidden=0.0), "a score of 0 hides nothing"),
    (lambda *args: right_step(*args, upside=True), "the mask is upside down"),
    (lambda *args: right_step(*args, tanh="each"), "first add the two vectors, then take the tanh of the sum"),
    (lambda *args: right_step(*args[:5], torch.ones(8), args[-1]), "w_v is missing"),
    (in_place, "`keys` has changed"),
    (lambda *args: args[0] @ args[1], "your code stopped with RuntimeError"),
]


@pytest.mark.parametrize(("answer", "diagnosis"), WRONG_STEPS)
def test_wrong_attention_steps(answer, diagnosis, capsys):
    lesson06.check_attention_step(answer)
    said = capsys.readouterr().out
    assert said.startswith("Exercise 6.1: not yet.") and diagnosis.lower() in said.lower()


def link(weights, target, source, *, eos_row=False, eos_column=False, swap=False, columns=False):
    """The solution of 6.2, with a switch for each typical mistake."""
    weights = weights[: None if eos_row else -1, : None if eos_column else -1]
    if columns:
        return [(target[int(weights[:, k].argmax())], source[k]) for k in range(weights.shape[1])]
    pairs = [(target[q], source[int(row.argmax())]) for q, row in enumerate(weights)]
    return [pair[::-1] for pair in pairs] if swap else pairs


def each_source_once(weights, target, source):
    left, pairs = weights[:, :-1].clone(), []
    for q, word in enumerate(target[:-1]):
        pairs.append((word, source[int(left[q].argmax())]))
        left[:, int(left[q].argmax())] = -1
    return pairs


WRONG_LINKS = [
    (lambda *args: link(*args, eos_row=True), "leave its row out"),
    (lambda *args: link(*args, eos_column=True), "leave its column out"),
    (lambda *args: link(*args, swap=True), "the wrong way round"),
    (lambda *args: link(*args, columns=True), "largest weight of each column"),
    (lambda *args: link(*args)[:2], "3 links; yours: 2"),
    (lambda *args: link(*args)[:3], "4 links; yours: 3"),
    (lambda *args: [("la", "red"), ("pomme", "red"), ("rouge", "apple")], "4 links; yours: 3"),
    (lambda weights, t, s: link(weights, range(len(t)), range(len(s))), "These are indices"),
    (lambda weights, t, s: link(torch.cat([weights[:, : len(t) - 1], weights[:, -1:]], 1), t, s), "the links should"),
    (each_source_once, "A source word may have several links"),
    (lambda *args: list(dict(link(*args)).items()), "a dictionary keeps only one"),
    (lambda *args: {"la": "the"}, "a list of pairs"),
    (lambda *args: [("la", "the"), ("pomme", "the"), ("rouge", "the")], "should be"),
]


@pytest.mark.parametrize(("answer", "diagnosis"), WRONG_LINKS)
def test_wrong_links(answer, diagnosis, capsys):
    lesson06.check_links(answer)
    said = capsys.readouterr().out
    assert said.startswith("Exercise 6.2: not yet.") and diagnosis in said


@pytest.mark.parametrize("check", [lesson00.check_looked_at, lesson06.check_looked_at])
@pytest.mark.parametrize(
    ("answer", "diagnosis"), [("and", "brightest in the row"), ("pomme", "no column"), (3, "in quotes")]
)
def test_wrong_readings(check, answer, diagnosis, attention, capsys):
    check(answer, attention)
    said = capsys.readouterr().out
    assert "not yet." in said and diagnosis in said


def test_a_map_of_another_sentence_is_said(attention, capsys):
    lesson06.check_looked_at("girl", replace(attention, query_tokens=["x"] * len(attention.query_tokens)))
    assert 'Your map has no row "lave"' in capsys.readouterr().out


def test_after_three_wrong_tries_the_section_is_named_and_right_starts_anew(capsys):
    for _ in range(3):
        lesson06.check_links(lambda *args: [])
    said = capsys.readouterr().out
    assert said.count("Read") == 1 and '"8. Links, and how many of them are right"' in said
    lesson06.check_links(link)
    lesson06.check_links(lambda *args: [])
    assert "Read" not in capsys.readouterr().out


def test_the_sections_that_checks_name_exist():
    for path in NOTEBOOKS.glob("*.ipynb"):
        checks = Path(checking.__file__).with_name(f"lesson{path.name[:2]}.py").read_text("utf-8")
        for section in re.findall(r'section="([^"]+)"', checks):
            assert f"## {section}" in path.read_text("utf-8"), section
