"""Which tests and lessons are slow, and which start first; conftest.py in the folder above gives it to pytest."""

import pytest

# The longest first, measured on two cores: no process should begin a lesson of five minutes when the others are done.
LONGEST = [
    "notebooks/09-", "notebooks/11-", "notebooks/05-", "notebooks/06-", "notebooks/10-", "notebooks/07-",
    "tests/browser/test_book.py", "tests/browser/test_jupyterlab.py", "tests/lessons/test_lesson11.py",
    "tests/browser/", "tests/test_decoding.py", "notebooks/", "tests/data/", "tests/grammar/", "tests/test_",
]  # fmt: skip

# What `course.py test --quick` leaves out, beside the tests with `@pytest.mark.slow`: names of files or tests, or how
# they begin. A test of a second belongs in neither.
SLOW = [
    "notebooks/", "tests/browser/",
    "tests/test_d2l_compat.py", "tests/data/test_hostile.py",
    "tests/lessons/test_lesson11.py", "tests/test_translator.py",  # they train or load models first
    "tests/lessons/test_notebooks.py::test_nbval", "tests/lessons/test_notebooks.py::test_refresh",
    "tests/test_assets.py",
    "tests/test_decoding.py::test_a_beam_as_wide_as_the_tree", "tests/test_decoding.py::test_beam_equals_the_slow_loop",
    "tests/test_decoding.py::test_greedy_equals_the_slow_loop",
    "tests/grammar/test_noun_phrases.py::test_the_rule_finds_every_noun",
    "tests/test_course.py::test_all_cells", "tests/test_course.py::test_no_network_for_real",
    "tests/test_course.py::test_run_starts_it", "tests/test_models.py::test_a_fourth_model",
    "tests/training/test_loop.py::test_learns", "tests/data/test_text.py::test_the_real_corpus",
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
