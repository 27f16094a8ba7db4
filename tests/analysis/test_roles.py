"""The roles of heads: measured by another way of counting, as lesson 11 measures them, and stored as they are."""

import json
import re
from pathlib import Path

import pytest
import torch

from seqlearn.analysis.attention_map import AttentionMap
from seqlearn.analysis.roles import head_roles, pronoun_question, read_roles, role_rows, role_shares, write_roles
from seqlearn.data.pairs import Antecedent, Pair
from seqlearn.translator.translator import Translator

LESSON = next((Path(__file__).parents[2] / "notebooks").glob("11-*.ipynb"))
KINDS = ("encoder", "causal", "cross")
ENGLISH = ["the", "red", "cat", "eats", "the", "pear", "because", "it", "is", "hungry", ".", "<eos>"]
FRENCH = ["le", "chat", "rouge", "mange", "la", "poire", "parce", "qu'", "il", "a", "faim", ".", "<eos>"]
PAIR = Pair(
    "The red cat eats the pear because it is hungry.",
    "Le chat rouge mange la poire parce qu'il a faim.",
    alignment=((0, 0), (2, 1), (1, 2), (3, 3), (4, 4), (5, 5), (6, 6), (7, 8), (8, 9), (9, 10), (10, 11)),
    antecedents=(Antecedent(source=7, source_noun=2, target=8, target_noun=1, source_article=0, target_article=0),),
    construction="because",
)


def looking(rows, columns, wanted, kind="encoder"):
    """A map of one head: row i looks at column `wanted[i]`, the others at column 3."""
    weights = torch.full((len(rows), len(columns)), 0.01)
    for row in range(len(rows)):
        weights[row, wanted.get(row, 3)] = 1 - 0.01 * (len(columns) - 1)
    prompt = columns.index("<bos>") if kind == "causal" else 0  # the source of a decoder-only model stands before <bos>
    return AttentionMap(weights, rows, columns, kind, prompt=prompt)


def test_the_rows_that_count_by_hand():
    english = looking(ENGLISH, ENGLISH, {})
    rows = role_rows(english, PAIR)
    assert rows["word before"] == [(row, [row - 1]) for row in range(1, 12)]
    assert rows["same word"] == [(row, [row]) for row in range(12)]
    assert rows["word after"] == [(row, [row + 1]) for row in range(11)]
    assert rows["<eos>"] == [(row, [11]) for row in range(11)]
    assert rows["article's noun"] == [(0, [2]), (4, [5])] and rows["adjective's noun"] == [(1, [2])]
    cross = role_rows(looking(FRENCH, ENGLISH, {}, "cross"), PAIR)
    assert cross["article's noun"] == [(0, [2]), (4, [5])] and cross["<eos>"][-1] == (11, [11])
    read = ["<bos>", *FRENCH[:-1]]
    causal = role_rows(looking(read, read, {}, "causal"), PAIR)
    assert causal["<bos>"] == [(row, [0]) for row in range(1, 13)] and "<eos>" not in causal


def test_shares_by_hand():
    """A head that looks from "it" to the cat, from one article of two to its noun, and at no other of these."""
    shares = role_shares({"encoder": [looking(ENGLISH, ENGLISH, {7: 2, 4: 5})]}, [PAIR])["encoder"]
    assert shares["noun of it (because)"].item() == 1 and "noun of it (object)" not in shares
    assert shares["article's noun"].item() == 0.5 and shares["adjective's noun"].item() == 0
    assert shares["word after"].item() == pytest.approx(2 / 11), "of the and of red"
    assert head_roles({"encoder": shares}) == {("encoder", 0, 0): "noun of it: 100 % (because)"}
    wrong = role_shares({"encoder": [looking(ENGLISH, ENGLISH, {7: 5})]}, [PAIR])["encoder"]
    assert wrong["noun of it (because)"].item() == 0
    assert head_roles({"encoder": wrong}) == {}


def test_the_candidates_are_the_nouns_before_the_pronoun():
    english = [*ENGLISH[:8], "eats", "bread", ".", "<eos>"]
    assert pronoun_question(looking(english, english, {}), PAIR) == (7, [[0, 2], [4, 5]], 0), "and no bread"


def test_the_step_that_writes_the_pronoun():
    """The decoder writes "il" at step 8; there, causal attention has read <bos> and 8 French words."""
    cross = role_shares({"cross": [looking(FRENCH, ENGLISH, {8: 2}, "cross")]}, [PAIR])["cross"]
    assert cross["noun of it (because)"].item() == 1
    read = ["<bos>", *FRENCH[:-1]]
    causal = role_shares({"causal": [looking(read, read, {8: 2}, "causal")]}, [PAIR])["causal"]
    assert causal["noun of it (because)"].item() == 1, "column 2 is chat, after <bos>"


def test_the_roles_of_a_decoder_only_model_by_hand():
    """Rows and columns are source and target; row 12 is <bos>, and row 12 + j writes the French word j."""
    sequence = [*ENGLISH, "<bos>", *FRENCH[:-1]]
    rows = role_rows(looking(sequence, sequence, {}, "causal"), PAIR)
    assert rows["<bos>"] == [(row, [12]) for row in range(13, 25)]
    assert rows["<eos>"] == [(row, [11]) for row in range(12, 24)], "the last row writes <eos> itself"
    assert rows["article's noun"] == [(12, [2]), (16, [5])]
    assert rows["word before"] == [(row, [row - 1]) for row in range(1, 25)]
    gold = {12 + j: i for i, j in PAIR.alignment} | {12 + 7: 6}
    aligned = role_shares({"causal": [looking(sequence, sequence, gold, "causal")]}, [PAIR])["causal"]
    cross = {j: i for i, j in PAIR.alignment} | {7: 6}
    same = role_shares({"cross": [looking(FRENCH, ENGLISH, cross, "cross")]}, [PAIR])["cross"]
    assert aligned["alignment"].item() == same["alignment"].item() > 0.9
    for column, share in ((2, 1), (5, 0), (12 + 2, 0)):  # the cat, the pear, and the French cat
        found = role_shares({"causal": [looking(sequence, sequence, {12 + 8: column}, "causal")]}, [PAIR])["causal"]
        assert found["noun of it (because)"].item() == share


def test_alignment_is_an_error_rate():
    gold = {j: i for i, j in PAIR.alignment} | {7: 6}
    shares = role_shares({"cross": [looking(FRENCH, ENGLISH, gold, "cross")]}, [PAIR])["cross"]
    found = {(gold[j], j) for j in range(12)}
    both, total = len(found & set(PAIR.alignment)), len(found) + len(PAIR.alignment)
    assert shares["alignment"].item() == pytest.approx(2 * both / total)
    assert head_roles({"cross": {"alignment": shares["alignment"]}}) == {("cross", 0, 0): "aligns: AER 0.04"}


def test_the_strongest_role_counts():
    shares = {"encoder": {"a": torch.tensor([[0.7, 0.2], [0.5, 0.9]]), "b": torch.tensor([[0.8, 0.3], [0.1, 0.66]])}}
    assert head_roles(shares) == {("encoder", 0, 0): "b: 80 %", ("encoder", 1, 1): "a: 90 %"}
    assert head_roles(shares, least=0.5)["encoder", 1, 0] == "a: 50 %", "exactly so many are enough"


def test_files(tmp_path, monkeypatch):
    roles = {("encoder", 1, 3): "noun of it: 93 %", ("cross", 0, 12): "aligns: AER 0.19"}
    monkeypatch.setattr("seqlearn.analysis.roles.__file__", str(tmp_path / "seqlearn" / "analysis" / "roles.py"))
    for name, measured in (("mine", roles), ("transformer", {})):
        (tmp_path / "seqlearn" / "pretrained" / name).mkdir(parents=True)
        write_roles(tmp_path / "seqlearn" / "pretrained" / name / "roles.json", measured, 7)
    assert read_roles("mine") == roles and read_roles() == {}
    text = (tmp_path / "seqlearn" / "pretrained" / "mine" / "roles.json").read_text("utf-8")
    assert text.startswith('{\n  "measured_on": "7 pairs of the valid part'), "a person can read the file"
    with pytest.raises(FileNotFoundError, match="there are no measured roles of a model 'other'"):
        read_roles("other")


@pytest.fixture(scope="module")
def measured(parts):
    """The shares of the Transformer's heads on the valid part."""
    translator = Translator.pretrained("transformer", "cpu")
    return role_shares({kind: translator.attend_all(parts.valid, kind) for kind in KINDS}, parts.valid)


@pytest.mark.slow
def test_what_is_stored_is_current(measured):
    assert read_roles("transformer") == head_roles(measured)


@pytest.mark.slow
def test_lesson_11_has_the_same_numbers(measured):
    cells = json.loads(LESSON.read_text("utf-8"))["cells"]
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    text = "\n".join("".join(output.get("data", {}).get("text/plain", [])) for output in outputs)
    for kind, role, words in (
        ("encoder", "word before", "the word before"),
        ("encoder", "same word", "the same word"),
        ("encoder", "word after", "the word after"),
    ):
        layer, head, share = re.search(rf"{words} +{kind} (\d)\.(\d) +(\d\.\d+)", text).groups()
        table = measured[kind][role]
        assert int(table.argmax()) == 4 * int(layer) + int(head) and f"{table.max():.2f}" == share
    said = "\n".join("".join(cell["source"]) for cell in cells)
    assert "chooses the right noun for 84 % of the object pronouns, and in 93 % of" in said
    roles = ("noun of it (object)", "noun of it (because)")
    assert [f"{measured['encoder'][role][1, 3]:.2f}" for role in roles] == ["0.84", "0.93"]
