"""Which tests and lessons are slow, and which start first; conftest.py in the folder above gives it to pytest."""

import pytest

# The longest first, measured on two cores: no process should begin a lesson of five minutes when the others are done.
LONGEST = [
    "notebooks/09-", "notebooks/11-", "notebooks/05-", "notebooks/06-", "notebooks/10-", "notebooks/07-",
    "tests/browser/test_jupyterlab.py", "tests/lessons/test_lesson11.py", "tests/browser/", "tests/test_decoding.py",
    "notebooks/", "tests/data/", "tests/grammar/", "tests/test_",
]  # fmt: skip

# What `course.py test --quick` leaves out, beside the tests with `@pytest.mark.slow`: names of files or tests, or how
# they begin. A test of a second belongs in neither.
SLOW = [
    "notebooks/", "tests/browser/",
    "tests/test_d2l_compat.py", "tests/data/test_hostile.py",
    "tests/lessons/test_lesson11.py::test_the_reading_of_the_table_is_that_of_the_model",
    "tests/lessons/test_lesson11.py::test_the_second_road",
    "tests/lessons/test_lesson11.py::test_two_roads_on_other_sentences",
    "tests/lessons/test_lesson11.py::test_who_finds_the_antecedent",
    "tests/lessons/test_notebooks.py::test_nbval", "tests/lessons/test_notebooks.py::test_refresh",
    "tests/test_assets.py",
    "tests/test_decoding.py::test_a_beam_as_wide_as_the_tree", "tests/test_decoding.py::test_beam_equals_the_slow_loop",
    "tests/test_decoding.py::test_greedy_equals_the_slow_loop",
    "tests/grammar/test_noun_phrases.py::test_the_rule_finds_every_noun",
    "tests/test_translator.py::test_translates_what_it_never_saw",
]  # fmt: skip


def rank(name: str, beginnings: list[str]) -> int:
    """The place of the first beginning that fits `name`; the length of the list if none does."""
    return next((place for place, beginning in enumerate(beginnings) if name.startswith(beginning)), len(beginnings))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what is slow. A worker of pytest-xdist gets the longest first; one process keeps the order of the files."""
    for item in items:
        if rank(item.nodeid, SLOW) < len(SLOW) and not item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.slow)
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: rank(item.nodeid, LONGEST))
