"""`from seqlearn.views import ...` offers every view and every figure, and imports nothing heavy before it is used."""

import subprocess
import sys

from matplotlib.colors import is_color_like
from views.samples import SAMPLES

import seqlearn.views
from seqlearn.views import plots

HEAVY = {"torch", "matplotlib", "anywidget", "numpy", "seaborn", "IPython"}


def test_importing_the_room_imports_nothing_heavy():
    script = "import sys, seqlearn.views; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert HEAVY & set(done.stdout.split()) == set()


def test_all_names_are_there():
    colours = {name for name in seqlearn.views.__all__ if name.isupper()}
    assert all(is_color_like(getattr(seqlearn.views, name)) for name in colours)
    for name in set(seqlearn.views.__all__) - colours:
        assert getattr(seqlearn.views, name).__name__ == name and name in dir(seqlearn.views)
    assert set(SAMPLES) | {"View"} == {name for name in seqlearn.views.__all__ if name.endswith(("View", "Steps"))}
    figures = {name for name in plots.__all__ if not name.isupper()}
    assert (
        figures | {"chain_search", "measured", "my_lessons", "my_predictions", "text_table"}
        == set(seqlearn.views.__all__) - set(SAMPLES) - {"View"} - colours
    )
