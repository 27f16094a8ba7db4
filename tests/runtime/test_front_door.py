"""`import seqlearn` offers what a user needs, at once; and `python -m seqlearn` is the command line."""

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import seqlearn
import seqlearn.analysis
import seqlearn.data
import seqlearn.translator
import seqlearn.views

ROOT = Path(__file__).parents[2]


PACKAGES = [seqlearn, seqlearn.analysis, seqlearn.data, seqlearn.translator, seqlearn.views]


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_every_name_is_the_one_of_its_module(package):
    tree = ast.parse(Path(package.__file__).with_suffix(".pyi").read_text(encoding="ascii"))  # lazy_loader reads ASCII
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    offered = {alias.name for node in imports for alias in node.names}
    assert offered == set(package.__all__) == set(dir(package))
    for node in imports:
        home = import_module("." * node.level + node.module, package.__name__)
        for alias in node.names:
            assert alias.name == alias.asname, "a type checker offers only what is imported under its own name"
            assert getattr(package, alias.name) is getattr(home, alias.name)
    with pytest.raises(AttributeError, match=f"No {package.__name__} attribute nonsense"):
        package.nonsense  # noqa: B018
    with pytest.raises(ImportError, match="cannot import name 'nonsense'"):
        exec(f"from {package.__name__} import nonsense")


def run(*arguments):
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, cwd=ROOT, timeout=300)


def test_nothing_heavy_is_imported_before_it_is_needed():
    loaded = "import sys, {0}; print([m for m in ('torch', 'matplotlib', 'numpy', 'anywidget') if m in sys.modules])"
    for module in ("seqlearn", "seqlearn.runtime.d2l_compat", "seqlearn.views", "seqlearn.cli"):
        done = run("-c", loaded.format(module))
        assert done.stdout.strip() == "[]", (module, done.stdout, done.stderr)


@pytest.mark.slow
def test_the_package_can_be_run():
    done = run("-m", "seqlearn", "--help")
    assert done.returncode == 0 and "python -m seqlearn" in done.stdout and "translate" in done.stdout, done.stderr
    assert (
        run("-m", "seqlearn", "translate", "seqlearn/pretrained/transformer", "The cat sleeps.").stdout
        == "le chat dort.\n"
    )
