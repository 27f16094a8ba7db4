"""`import seqlearn` offers what a user needs, at once; and `python -m seqlearn` is the command line."""

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import seqlearn
import seqlearn.data
import seqlearn.views

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("package", [seqlearn, seqlearn.data, seqlearn.views], ids=lambda package: package.__name__)
def test_every_name_is_offered_to_python_and_to_type_checkers(package):
    tree = ast.parse(Path(package.__file__).read_text(encoding="utf-8"))
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    offered = set(package.__all__)
    assert {alias.name for node in block.body for alias in node.names} == offered
    assert offered <= set(dir(package)) and set(dir(package)) - set(vars(package)) <= offered
    for node in block.body:
        home = import_module("." * node.level + node.module, package.__name__)
        for alias in node.names:
            assert getattr(package, alias.name) is getattr(home, alias.name)
    with pytest.raises(AttributeError, match=f"module '{package.__name__}' has no attribute 'nonsense'"):
        package.nonsense  # noqa: B018


def run(*arguments):
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, cwd=ROOT, timeout=300)


def test_nothing_heavy_is_imported_before_it_is_needed():
    loaded = "import sys, {0}; print([m for m in ('torch', 'matplotlib', 'numpy', 'anywidget') if m in sys.modules])"
    for module in ("seqlearn", "seqlearn.d2l_compat", "seqlearn.views", "seqlearn.cli"):
        done = run("-c", loaded.format(module))
        assert done.stdout.strip() == "[]", (module, done.stdout, done.stderr)


def test_the_package_can_be_run():
    done = run("-m", "seqlearn", "--help")
    assert done.returncode == 0 and "python -m seqlearn" in done.stdout and "translate" in done.stdout, done.stderr
    assert run("-m", "seqlearn", "translate", "assets/transformer", "The cat sleeps.").stdout == "le chat dort.\n"
