"""How the house is built: which room may use which, types that fit, one style, nothing left lying about."""

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import order

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "seqlearn"
COMMANDS = [ROOT / "course.py", *(ROOT / "tools").rglob("*.py")]

GENERATED = {
    ".venv", ".git", ".hypothesis", "my-lessons", "my-lessons-zh", "site", "build", "dist", "__pycache__",
    "node_modules",
}  # fmt: skip
TEXTS = {".py", ".md", ".toml", ".yml", ".txt", ".cfg", ".ipynb", ".js", ".css", ".svg", ".json", ""}
REGISTRIES = ["pypi" + ".org", "pythonhosted" + ".org", "npmjs" + ".org", "anaconda" + ".org", "deb.debian" + ".org"]


@pytest.mark.slow
def test_imports_run_one_way():
    """Which room may import which: the contracts of import-linter in pyproject.toml."""
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command; lint_imports_command()"]
    done = subprocess.run([*command, "--no-cache"], capture_output=True, text=True, encoding="utf-8", cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("command", [["check"], ["format", "--check"]], ids=["lint", "format"])
def test_one_style(command):
    """Among the rules: every public name has a docstring (D1), and an ignore names its rule (PGH)."""
    done = subprocess.run([sys.executable, "-m", "ruff", *command, "."], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def type_errors(*arguments: str) -> list[str]:
    """What basedpyright finds, with the settings in pyproject.toml; it needs no network."""
    command = [sys.executable, "-m", "basedpyright", "--pythonpath", sys.executable, "--outputjson", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stdout + done.stderr  # 2 and more: it could not run
    found = [fault for fault in json.loads(done.stdout)["generalDiagnostics"] if fault["severity"] == "error"]
    return [
        f"{Path(fault['file']).name}:{fault['range']['start']['line'] + 1} {fault['rule']}: {fault['message']}"
        for fault in found
    ]


@pytest.mark.slow
def test_types():
    assert type_errors() == []


@pytest.mark.slow
def test_a_wrong_type_is_found(tmp_path):
    """And the names in jaxtyping's shapes are none."""
    (tmp_path / "wrong.py").write_text(
        "from jaxtyping import Float\nfrom torch import Tensor\n\n\n"
        'def count(scores: Float[Tensor, "*batch queries keys"]) -> int:\n    return str(scores)\n'
    )
    settings = {"extends": str(ROOT / "pyproject.toml"), "include": ["."]}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    (error,) = type_errors("--project", str(tmp_path))
    assert error.startswith('wrong.py:6 reportReturnType: Type "str" is not assignable to return type "int"')


def anys(source: str) -> list[str]:
    """The lines with `Any` as a type and no comment that says why."""
    tree = ast.parse(source)
    named = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == "Any"]
    lines = [source.splitlines()[number - 1].strip() for number in sorted({node.lineno for node in named})]
    return [line for line in lines if "#" not in line]


def test_every_any_has_a_reason():
    found = {path.name: anys(path.read_text(encoding="utf-8")) for path in [*PACKAGE.rglob("*.py"), *COMMANDS]}
    assert {name: lines for name, lines in found.items() if lines} == {}


def test_an_any_without_a_reason_is_found():
    assert anys("def f(x: Any) -> None: ...") == ["def f(x: Any) -> None: ..."]
    assert anys("def f(x: Any) -> None: ...  # whatever a user gave") == []
    assert anys('"""Any."""\nfrom typing import Any') == []


def files() -> list[Path]:
    """Every text file that is, or could be, under version control."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True
    ) if (ROOT / ".git").exists() else None  # fmt: skip
    if listed and listed.returncode == 0:
        paths = [ROOT / name for name in listed.stdout.splitlines()]
    else:  # a downloaded copy
        paths = []
        for folder, folders, names in os.walk(ROOT):
            folders[:] = [
                name for name in folders if name not in GENERATED and not name.endswith((".egg-info", "_cache"))
            ]
            paths += [Path(folder, name) for name in names]
    return [path for path in paths if path.suffix in TEXTS and path.is_file() and not path.name.startswith("LICENSE")]


def blemishes(text: str) -> list[str]:
    """Marks of unfinished work, addresses of package registries, and paths of one machine."""
    marks = re.findall(r"\b(?:TO" + r"DO|FIX" + r"ME)\b", text)
    paths = re.findall(r"(?<![\w.\"'/~:-])/(?:wo" + r"rk|ro" + r"ot|op" + r"t)/\w+", text)
    return marks + paths + [host for host in REGISTRIES if host in text.lower()]


def test_nothing_is_left_lying_about():
    found = {str(path.relative_to(ROOT)): blemishes(path.read_text(encoding="utf-8")) for path in files()}
    assert len(found) > 20
    assert {name: marks for name, marks in found.items() if marks} == {}


def test_a_blemish_is_found():
    assert (
        blemishes("x = 1  # TO" + "DO") and blemishes("see https://pypi" + ".org/x") and blemishes("in /wo" + "rk/main")
    )
    assert not blemishes("work/main, https://pytorch.org and TODOS")


def test_annotated_shapes_are_checked():
    from jaxtyping import TypeCheckError

    from seqlearn.nn.masking import padding_mask

    assert padding_mask(torch.tensor([[5, 0]]), pad=0).tolist() == [[[True, False]]]
    with pytest.raises(TypeCheckError, match="batch keys"):
        padding_mask(torch.tensor([5, 0]), pad=0)


def test_a_user_has_no_checks_to_pay_for(as_a_user):
    from seqlearn.nn.masking import padding_mask

    assert padding_mask(torch.tensor([5, 0]), pad=0).shape == (2, 1)


@pytest.mark.parametrize("name", order.LONGEST)
def test_what_starts_first_is_there(name):
    """A file that is renamed is renamed in tests/order.py too."""
    assert any(ROOT.glob(name.rstrip("/") + "*"))
