"""What the tests of all lessons share."""

import pytest

from seqlearn.exercises import checking


@pytest.fixture(autouse=True)
def no_tries_yet(as_a_user):
    """Each test starts as a learner does: with no wrong tries counted, and without the checks of annotated shapes."""
    checking._wrong_tries.clear()
