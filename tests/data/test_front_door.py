"""`seqlearn.data` and `seqlearn.grammar` offer what others need, and load torch only for what needs torch."""

import subprocess
import sys

import pytest

import seqlearn.data
import seqlearn.grammar
from seqlearn.data import batches, corpus, spelling, text


def test_every_exported_name_is_there():
    for package in (seqlearn.data, seqlearn.grammar):
        for name in package.__all__:
            assert getattr(package, name) is not None and name in dir(package)
    assert seqlearn.data.Batches is batches.Batches and seqlearn.data.builtin is corpus.builtin
    assert seqlearn.data.normalize is spelling.normalize is text.normalize


def test_a_name_that_is_not_exported_is_refused():
    with pytest.raises(AttributeError, match=r"module 'seqlearn\.data' has no attribute 'nonsense'"):
        seqlearn.data.nonsense  # noqa: B018
    with pytest.raises(ImportError, match="nonsense"):
        from seqlearn.data import nonsense  # noqa: F401


def loaded_by(statement: str) -> bool:
    """Whether a fresh Python has loaded torch after this statement."""
    code = f"import sys\n{statement}\nprint('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout == "True\n"


@pytest.mark.parametrize(
    "statement",
    [
        "import seqlearn",
        "import seqlearn.d2l_compat",
        "from seqlearn.grammar import write_pairs, noun_phrases",
        "from seqlearn.data import Corpus, builtin, Language, normalize, Pair; builtin(10).split()",
    ],
)
def test_torch_is_not_loaded_for_texts(statement):
    assert not loaded_by(statement)


def test_torch_is_loaded_for_batches():
    assert loaded_by("from seqlearn.data import Batches")
