"""For the tests and for the lessons: which start first, which lessons need not run again, and the hunt."""

from order import pytest_collection_modifyitems  # noqa: F401  a hook of pytest

pytest_plugins = ["tests.hunt", "tests.lessons.remembered"]
