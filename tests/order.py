"""Which tests and lessons start first; conftest.py in the folder above gives it to pytest."""

import pytest

# The longest first, measured on two cores: no process should begin a lesson of five minutes when the others are done.
LONGEST = [
    "notebooks/13-", "notebooks/09-", "notebooks/11-", "notebooks/05-", "notebooks/06-", "notebooks/14-",
    "notebooks/10-", "notebooks/07-",
    "tests/browser/test_book.py", "tests/browser/test_jupyterlab.py", "tests/lessons/test_lesson11.py",
    "tests/browser/", "tests/search/test_search.py", "notebooks/", "tests/data/", "tests/data/grammar/", "tests/test_",
]  # fmt: skip


def rank(name: str, beginnings: list[str]) -> int:
    """The place of the first beginning that fits `name`; the length of the list if none does."""
    return next((place for place, beginning in enumerate(beginnings) if name.startswith(beginning)), len(beginnings))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Sort the tests of a worker of pytest-xdist, the longest first; one process keeps the order of the files."""
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: rank(item.nodeid, LONGEST))
