"""`course.py bench`: the table, what is named when something is missing or fails, and the figures of the README."""

import ast
import os
import platform
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "docs" / "RESULTS.md"


@pytest.fixture
def table(import_benchmark):
    return import_benchmark("table")


@pytest.fixture
def bench(import_benchmark, monkeypatch, tmp_path):
    """The program, which may write nothing but two files in a folder of the test."""
    module = import_benchmark("bench")
    monkeypatch.setattr(module, "RESULTS", tmp_path / "RESULTS.md")
    monkeypatch.setattr(module, "README", tmp_path / "README.md")
    return module


@pytest.fixture
def parts(bench, table, monkeypatch):
    """What the parts measure: a generator for each; the others have no rows."""
    made = {}
    monkeypatch.setattr(bench, "rows_of", lambda name, quick: made[name](quick) if name in made else iter([]))
    made["training"] = lambda quick: iter([speed_row(table)])
    return made


def speed_row(table):
    return table.Row.beside("a-b", "a task", "tokens/s", [100, 200, 300], "theirs", [50, 50, 100], "weights")


def test_a_ratio_is_that_of_the_rounds(table):
    """2, 4 and 3; not the ratio of the medians, which is 4."""
    assert speed_row(table).ratio == (3, 2.5, 3.5)


def test_less_is_better_for_times_and_more_for_speeds(table):
    assert table.Row.beside("k", "w", "ms", [2.0], "peer", [3.0], "e").ratio.median == 1.5
    assert table.Row.beside("k", "w", "tokens/s", [3.0], "peer", [2.0], "e").ratio.median == 1.5
    with pytest.raises(ValueError):
        table.Row.beside("k", "w", "ms", [2.0, 2.0], "peer", [3.0], "e")


def test_every_part_has_its_rows(bench):
    for part in bench.PARTS.values():
        tree = ast.parse((ROOT / "benchmarks" / f"{part.module}.py").read_text(encoding="utf-8"))
        assert any(isinstance(node, ast.FunctionDef) and node.name == "rows" for node in tree.body), part.module


def test_a_whole_run_prints_one_table_and_writes_the_page(bench, parts, capsys):
    parts["pages"] = lambda quick: print("bytes: 7") or iter([])  # progress, which is not the table
    assert bench.main([]) == 0
    printed, written = capsys.readouterr().out, bench.RESULTS.read_text(encoding="utf-8")
    assert "bytes" not in printed + written
    assert "| a task | 200 tokens/s (150 to 250) | theirs |" in printed and "<!--" not in printed
    assert "\n## Training\n" in written and "| 3.0<!-- a-b --> (2.5 to 3.5)" in written
    for condition in (f"| torch | {torch.__version__} |", f"| Python | {platform.python_version()} |", "| processor |"):
        assert condition in written
    for private in (platform.node(), str(ROOT), str(Path.home())):
        assert private not in written


def test_what_is_missing_is_named_and_a_part_that_fails_is_in_the_table(bench, table, parts, capsys):
    def training(quick):
        yield speed_row(table)
        yield table.LeftOut("theirs is not installed: install it.")
        raise RuntimeError(f"out of memory in {ROOT}/benchmarks/a.py | at line 3\nand more")

    def gpu(quick):
        raise table.LeftOut("there is no GPU.")
        yield

    parts |= {"training": training, "gpu": gpu, "views": lambda quick: iter([speed_row(table)])}
    assert bench.main([]) == 1
    printed, written = capsys.readouterr().out, bench.RESULTS.read_text(encoding="utf-8")
    for text in (printed, written):
        failed = next(line for line in text.splitlines() if "the part training" in line)
        assert "| failed " in failed and "RuntimeError: out of memory in a.py / at line 3" in failed
        assert "more" not in failed and text.count("| 200 tokens/s ") == 2
    assert "training, not measured: theirs is not installed: install it.\n" in printed
    assert "- `training`: theirs is not installed: install it.\n- `gpu`: there is no GPU.\n" in written
    assert "\n## On a GPU\n" not in written and "\n## The views under the mouse\n" in written


def interrupted(*_):
    raise KeyboardInterrupt
    yield


@pytest.mark.parametrize("when", ["measuring", "writing"])
def test_an_interrupt_leaves_the_old_results(bench, parts, capsys, monkeypatch, when):
    bench.RESULTS.write_text("old")
    if when == "measuring":
        parts["quality"] = interrupted
    else:
        monkeypatch.setattr(bench.os, "replace", lambda *_: next(interrupted()))
    assert bench.main([]) == 130
    assert capsys.readouterr().err.endswith("Interrupted: no file was changed.\n")
    assert bench.RESULTS.read_text() == "old" and os.listdir(bench.RESULTS.parent) == ["RESULTS.md"]


def test_a_part_of_the_results_is_not_written(bench, parts, tmp_path, capsys):
    assert bench.main(["--only", "views", "training"]) == bench.main(["--quick"]) == 0
    assert os.listdir(tmp_path) == [] and capsys.readouterr().out.count("| a task |") == 2
    assert bench.main(["--quick", "--out", str(tmp_path / "mine.md")]) == 0
    assert "One round of each part" in (tmp_path / "mine.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--only", "training", "speed"], "There is no part 'speed'. The parts are training, decoding, pages, "),
        (["--out", "no/such/folder.md"], "The results cannot be written to no/such/folder.md: "),
        (["--out", "."], "The results cannot be written to .: "),
        (["--only", "views", "--readme"], "--readme needs a whole run: "),
    ],
)
def test_a_wrong_option_gets_a_sentence_before_any_work(bench, parts, capsys, arguments, said):
    parts |= dict.fromkeys(bench.PARTS, interrupted)
    assert bench.main(arguments) == 2
    err = capsys.readouterr().err
    assert err.startswith(said) and err.count("\n") == 1


KNOWN = "| 2.1<!-- a-b --> (2.0 to 2.2) |\n| 98.9<!-- c --> BLEU |\n"


@pytest.fixture
def first_page(table, monkeypatch):
    monkeypatch.setattr(table, "FIRST_PAGE", {"twice": "a-b", "BLEU (unseen)": "c"})


def test_a_wrong_figure_is_found(table, first_page):
    right = "| what | figure |\n|---|--:|\n| twice | 2.1 |\n| BLEU (unseen) | 98.9 |\n"
    assert table.wrong_figures(right, KNOWN) == []
    wrong = {
        right.replace("2.1", "2.2"): "twice: the text says 2.2, and docs/RESULTS.md says 2.1.",
        right.replace("2.1", "12.1"): "twice: the text says 12.1, and docs/RESULTS.md says 2.1.",
        right.replace("| 2.1", "| two"): "twice: the text says nothing, and docs/RESULTS.md says 2.1.",
        right.replace("BLEU (unseen)", "BLEU"): "BLEU (unseen): the text says nothing, and docs/RESULTS.md says 98.9.",
    }
    assert {text: table.wrong_figures(text, KNOWN) for text in wrong} == {text: [said] for text, said in wrong.items()}
    assert table.wrong_figures(right, KNOWN.replace("-- c --", "-- d --")) == [
        "BLEU (unseen): the text says 98.9, and docs/RESULTS.md says nothing."
    ]


def test_the_readme_can_be_brought_up_to_date(table, first_page, bench, parts):
    old = "# Name\n\n| twice | 9.9 |\n| BLEU (unseen) | 5 |\n| other | 9.9 |\n"
    new = old.replace("twice | 9.9", "twice | 3.0")  # the other key was not measured
    assert table.with_figures(old, table.markdown([speed_row(table)])) == new
    bench.README.write_text(old, encoding="utf-8")
    assert bench.main(["--readme"]) == 0
    assert bench.README.read_text(encoding="utf-8") == new


def test_the_figures_of_the_readme_are_those_of_the_results(table):
    """All figures of its table. After a new run: `python3 course.py bench --readme`."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert table.wrong_figures(readme, RESULTS.read_text(encoding="utf-8")) == []
    section = readme.partition("## How good, how fast")[2].partition("\n## ")[0]
    assert list(table.rows_of(section)) == list(table.FIRST_PAGE)


def test_the_decision_on_the_fast_step_has_the_measured_ratios(table):
    found = table.figures(RESULTS.read_text(encoding="utf-8"))
    alone, beam, batch = (found[f"decoding-{which}-seqlearn"] for which in ("greedy-alone", "beam-4-alone", "greedy"))
    decisions = (ROOT / "docs" / "DECISIONS.md").read_text(encoding="utf-8")
    said = f"found {alone} times as fast greedily and {beam} times with a beam of 4, a batch of 32 {batch} times"
    assert said in decisions and batch == found["decoding-beam-4-seqlearn"]


def test_the_stored_results_name_every_part_and_each_figure_once(bench, table):
    results = RESULTS.read_text(encoding="utf-8")
    keys = [key for _, key in table.FIGURE.findall(results)]
    assert len(keys) == len(set(keys)) > 10
    for name, part in bench.PARTS.items():
        assert f"\n## {part.title}\n" in results or f"\n- `{name}`: " in results
