"""For the tests and for the lessons: which start first, and which lessons need not run again."""

from order import pytest_collection_modifyitems  # noqa: F401  a hook of pytest

pytest_plugins = ["tests.lessons.remembered"]
