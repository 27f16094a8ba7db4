"""`import seqlearn` offers what a user needs, at once; and `python -m seqlearn` is the command line."""

import ast
import subprocess
import sys
from pathlib import Path

import seqlearn

ROOT = Path(__file__).parents[1]


def test_every_name_is_offered_to_python_and_to_type_checkers():
    tree = ast.parse(Path(seqlearn.__file__).read_text(encoding="utf-8"))
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    for_checkers = {alias.name for node in block.body for alias in node.names}
    assert for_checkers == set(seqlearn.__all__) == set(seqlearn._ROOM_OF) and set(seqlearn.__all__) <= set(
        dir(seqlearn)
    )
    for node in block.body:
        for alias in node.names:
            assert seqlearn._ROOM_OF[alias.name] == node.module
            assert alias.name == "MODELS" or getattr(seqlearn, alias.name).__module__.startswith("seqlearn")
    assert not hasattr(seqlearn, "nothing_of_the_kind")


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
