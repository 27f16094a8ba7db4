"""For the tests and for the lessons: which start first."""

from order import pytest_collection_modifyitems  # noqa: F401  a hook of pytest
