"""What the tests of views share: pictures without a window, the translator of the course."""

import matplotlib
import pytest

from seqlearn.translator.translator import Translator

matplotlib.use("agg")


@pytest.fixture(scope="module")
def transformer():
    return Translator.pretrained("transformer", "cpu")
