"""What the tests of views share: pictures without a window, no picture left open, the translator of the course."""

import matplotlib
import pytest
from matplotlib import pyplot as plt

from seqlearn.translator.translator import Translator

matplotlib.use("agg")


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def transformer():
    return Translator.pretrained("transformer", "cpu")
