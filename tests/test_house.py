"""How the house is built: which room may use which, what every function says, types that fit, one style."""

import ast
import io
import json
import os
import re
import subprocess
import sys
import tokenize
from pathlib import Path

import pytest
import torch

import order

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "seqlearn"
MODULES = sorted(PACKAGE.rglob("*.py"))
COMMANDS = [ROOT / "course.py", ROOT / "translations" / "blocks.py"]

# A room uses rooms before it in this list, never after it. A new room has to be given its place.
ROOMS = [
    "front_door", "devices", "threads", "d2l_compat", "pairs", "grammar", "data", "nn", "attention_map", "beams",
    "fast_step", "forced_decoding", "decoding", "metrics", "reading", "roles", "models", "training", "saving",
    "translator", "whatif", "views", "exercises", "cli", "__main__",
]  # fmt: skip

GENERATED = set(
    ".venv .git .hypothesis my-lessons my-lessons-zh site _build build dist __pycache__ node_modules".split()
)
TEXTS = {".py", ".md", ".toml", ".yml", ".txt", ".cfg", ".ipynb", ".js", ".css", ".svg", ".json", ""}
REGISTRIES = ["pypi" + ".org", "pythonhosted" + ".org", "npmjs" + ".org", "anaconda" + ".org", "deb.debian" + ".org"]


def dotted(path: Path) -> str:
    """seqlearn/data/text.py -> seqlearn.data.text"""
    parts = path.relative_to(path.parents[len(path.parts) - path.parts.index("seqlearn") - 1]).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(source: str, module: str, is_package: bool = False) -> set[str]:
    """The modules of seqlearn that this one imports, wherever in the file it does."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = module.split(".")[: len(module.split(".")) - node.level + is_package] if node.level else []
            whole = ".".join([*base, *([node.module] if node.module else [])])
            found |= {whole} if whole.count(".") > 1 else {f"{whole}.{alias.name}" for alias in node.names}
    return {name for name in found if name.split(".")[0] == "seqlearn"}


def room(module: str) -> str:
    """seqlearn.data.text -> data; the front door, seqlearn itself, has no room."""
    return [*module.split("."), ""][1]


def backwards(source: str, module: str, is_package: bool = False) -> list[str]:
    """The imports that run the wrong way, or to a room without a place in ROOMS."""
    here, wrong = room(module), []
    if not here:
        return []  # the front door leads to every room
    for target in sorted(imports(source, module, is_package)):
        there = room(target)
        if there not in ROOMS or here not in ROOMS:
            wrong.append(f"{module} imports {target}: one of them has no place in ROOMS")
        elif there != here and (ROOMS.index(there) > ROOMS.index(here) or here == "exercises"):
            wrong.append(f"{module} imports {target}")
    return wrong


@pytest.mark.parametrize("path", MODULES, ids=dotted)
def test_imports_run_one_way(path):
    assert backwards(path.read_text(encoding="utf-8"), dotted(path), path.name == "__init__.py") == []


def test_no_two_modules_import_each_other():
    graph = {
        dotted(path): imports(path.read_text("utf-8"), dotted(path), path.name == "__init__.py") for path in MODULES
    }
    done: set[str] = set()
    while ready := {name for name in graph.keys() - done if (graph[name] & graph.keys()) - {name} <= done}:
        done |= ready
    assert graph.keys() - done == set(), "a circle of imports"


@pytest.mark.parametrize(
    ("module", "source", "wrong"),
    [
        ("seqlearn.data.text", "from ..nn import masking", True),
        ("seqlearn.data.text", "def f():\n    from seqlearn.nn.masking import causal_mask", True),
        ("seqlearn.decoding", "from .translator import Translator", True),
        ("seqlearn.nn.masking", "import seqlearn.training.loop", True),
        ("seqlearn.exercises.lesson06", "from ..metrics import bleu", True),
        ("seqlearn.views.plots", "from ..attic import old", True),
        ("seqlearn.views.plots", "from .. import cli", True),
        (
            "seqlearn.views.plots",
            "from ..nn.masking import as_mask\nfrom .canvas import draw\nimport os",
            False,
        ),
        ("seqlearn.exercises.lesson06", "from .checking import Wrong\nimport torch", False),
        ("seqlearn.cli", "from seqlearn import Translator", True),
        ("seqlearn", "from seqlearn.translator import Translator", False),
    ],
)
def test_a_wrong_import_is_found(module, source, wrong):
    assert bool(backwards(source, module)) == wrong


def undocumented(source: str) -> list[str]:
    """The public module, classes, functions and methods without a docstring; nested functions need none."""
    tree = ast.parse(source)
    missing = [] if ast.get_docstring(tree) else ["the module"]
    queue: list[tuple[str, ast.AST]] = [("", tree)]
    while queue:
        prefix, owner = queue.pop()
        for node in owner.body:
            if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) or node.name.startswith("_"):
                continue
            is_overload = any("overload" in ast.unparse(decorator) for decorator in node.decorator_list)
            if not ast.get_docstring(node) and not is_overload:
                missing.append(prefix + node.name)
            if isinstance(node, ast.ClassDef):
                queue.append((f"{node.name}.", node))
    return sorted(missing)


@pytest.mark.parametrize("path", [*MODULES, *COMMANDS], ids=lambda path: path.stem)
def test_every_public_name_says_what_it_is_for(path):
    assert undocumented(path.read_text(encoding="utf-8")) == []


def test_a_missing_docstring_is_found():
    source = '"A."\nclass A:\n    "A."\n    def b(self): ...\n    def _c(self): ...\ndef d():\n    def e(): ...'
    assert undocumented(source) == ["A.b", "d"]
    assert undocumented("x = 1") == ["the module"]


@pytest.mark.parametrize("command", [["check"], ["format", "--check"]], ids=["lint", "format"])
def test_one_style(command):
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


def test_types():
    assert type_errors() == []


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


IGNORE = re.compile(r"#\s*(?:type:\s*ignore|pyright:|noqa|ruff:|mypy:|fmt:\s*off)")
EXPLAINED = re.compile(
    r"#\s*(?:(?:type|pyright):\s*ignore\[[\w-]+(?:,\s*[\w-]+)*\]|noqa:\s*[A-Z]+\d+(?:,\s*[A-Z]+\d+)*)[\s#(]+\S+\s+\w+"
)


def unexplained(source: str) -> list[str]:
    """The comments that switch a check off without the name of the rule and, in the same line, the reason."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    comments = [token.string for token in tokens if token.type == tokenize.COMMENT]
    return [text for text in comments if IGNORE.search(text) and not EXPLAINED.search(text)]


@pytest.mark.parametrize("path", [*MODULES, *COMMANDS], ids=lambda path: path.stem)
def test_every_ignore_has_a_rule_and_a_reason(path):
    assert unexplained(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("comment", "explained"),
    [
        ("# type: ignore", False),
        ("# type: ignore[attr-defined]", False),
        ("# pyright: ignore[reportCallIssue]", False),
        ("# pyright: ignore[reportCallIssue]  # torch's stubs lack the overload", True),
        ("# type: ignore[override, misc]  the base class is wrong", True),
        ("# pyright: basic", False),
        ("# noqa", False),
        ("# noqa: F401", False),
        ("# noqa: F401  one front door", True),
        ("# noqa: F401, E501 (one front door)", True),
        ("# what noise is", True),
    ],
)
def test_an_ignore_without_a_reason_is_found(comment, explained):
    assert (unexplained(f"x = 1  {comment}\n") == []) == explained
    assert unexplained(f'x = "{comment}"') == []


def anys(source: str) -> list[str]:
    """The lines with `Any` as a type and no comment that says why."""
    tree = ast.parse(source)
    named = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == "Any"]
    lines = [source.splitlines()[number - 1].strip() for number in sorted({node.lineno for node in named})]
    return [line for line in lines if "#" not in line]


@pytest.mark.parametrize("path", [*MODULES, *COMMANDS], ids=lambda path: path.stem)
def test_every_any_has_a_reason(path):
    assert anys(path.read_text(encoding="utf-8")) == []


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


@pytest.mark.parametrize("name", sorted({*order.SLOW, *order.LONGEST}))
def test_what_is_slow_is_there(name):
    """A file that is renamed is renamed in tests/order.py too."""
    beginning, _, test = name.partition("::")
    files = [path for path in ROOT.glob(beginning + "*") if path.is_file()]
    assert (ROOT / beginning).is_dir() or any(test in path.read_text(encoding="utf-8") for path in files)
