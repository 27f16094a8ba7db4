"""`from d2l import torch as d2l`, each time in a Python of its own: what it leaves behind is half of the matter."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

PLAIN = """
import sys  # an environment made by course.py has imported it already: undo that
for name in [name for name in sys.modules if name.partition(".")[0] == "seqlearn"]:
    del sys.modules[name]
sys.meta_path[:] = [finder for finder in sys.meta_path if not type(finder).__module__.startswith("seqlearn")]
"""


def python(code: str, path: Path | None = None) -> str:
    """What the code prints in a fresh Python, `path` before all others."""
    settings = os.environ | ({"PYTHONPATH": str(path)} if path else {})
    done = subprocess.run(
        [sys.executable, "-c", PLAIN + code], capture_output=True, text=True, env=settings, timeout=600
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_d2l_works_and_leaves_nothing_behind():
    assert "2 3\nFalse\nTrue\n" in python("""
import IPython.display, torch
before = set(dir(IPython.display))
import seqlearn.runtime.d2l_compat
from d2l import torch as d2l
attention = d2l.AdditiveAttention(key_size=2, query_size=4, num_hiddens=8, dropout=0.0).eval()
out = attention(torch.ones(2, 1, 4), torch.ones(2, 5, 2), torch.ones(2, 5, 3), torch.tensor([2, 5]))
assert d2l.TransformerEncoder and d2l.load_data_nmt and d2l.bleu("a b", "a b", k=2) == 1
d2l.use_svg_display()
d2l.set_figsize()
print(out.shape[0], out.shape[2])
print(any("torchvision" in name for name in sys.modules))
print(set(dir(IPython.display)) == before)
""")


def test_importing_it_costs_nothing_until_d2l_is_wanted():
    assert (
        python("import seqlearn.runtime.d2l_compat\nprint({'torch', 'numpy', 'd2l', 'IPython'} & set(sys.modules))")
        == "set()\n"
    )


def test_d2l_first_says_what_it_lacks_and_works_afterwards():
    assert (
        python("""
sys.modules["torchvision"] = None  # as if it were not installed
try:
    from d2l import torch as d2l
except ImportError as error:
    print("torchvision" in str(error))
import seqlearn.runtime.d2l_compat
import seqlearn.runtime.d2l_compat as again
from d2l import torch as d2l
print(d2l.MultiHeadAttention.__name__, again.d2l is d2l, sum("d2l_compat" in type(f).__module__ for f in sys.meta_path))
""")
        == "True\nMultiHeadAttention True 1\n"
    )


def test_what_needs_torchvision_says_so():
    assert "needs torchvision" in python("""
sys.modules["torchvision"] = None
from seqlearn.runtime.d2l_compat import d2l
try:
    d2l.load_data_fashion_mnist(1)
except AttributeError as error:
    print(error)
""")


def fake_torchvision(folder: Path, code: str) -> Path:
    package = folder / "torchvision"
    package.mkdir()
    (package / "__init__.py").write_text(code)
    (package / "transforms.py").write_text("real = True")
    (package / "ops.py").write_text("")
    return folder


def test_a_torchvision_that_works_is_left_alone(tmp_path):
    path = fake_torchvision(tmp_path, "real = True")
    assert (
        python(
            """
from seqlearn.runtime.d2l_compat import d2l
print(d2l.torchvision.real, d2l.transforms.real, sys.modules["torchvision"] is d2l.torchvision)
""",
            path,
        )
        == "True True True\n"
    )


@pytest.mark.parametrize(
    "error", ["RuntimeError('operator torchvision::nms does not exist')", "OSError('no such symbol')"]
)
def test_a_torchvision_for_another_torch_does_no_harm(tmp_path, error):
    path = fake_torchvision(tmp_path, f"import torchvision.ops\nraise {error}")
    assert (
        python(
            """
from seqlearn.runtime.d2l_compat import d2l
print(d2l.AddNorm.__name__, [name for name in sys.modules if "torchvision" in name])
""",
            path,
        )
        == "AddNorm []\n"
    )
