"""`seqlearn.data` and `seqlearn.data.grammar` offer what others need, and load torch only for what needs torch."""

import subprocess
import sys

import pytest


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
        "import seqlearn.runtime.d2l_compat",
        "from seqlearn.data.grammar import write_pairs, noun_phrases",
        "from seqlearn.data import Corpus, builtin, Language, normalize, Pair; builtin(10).split()",
    ],
)
@pytest.mark.slow
def test_torch_is_not_loaded_for_texts(statement):
    assert not loaded_by(statement)


@pytest.mark.slow
def test_torch_is_loaded_for_batches():
    assert loaded_by("from seqlearn.data import Batches")
