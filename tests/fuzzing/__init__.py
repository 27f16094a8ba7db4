"""Random input, and what has to come of it. `tests/test_fuzzing.py` tries hundreds, `benchmarks/fuzz.py` ten thousand.

A group has a strategy of hypothesis, which makes cases, and a function that tries a case: an exception is a fault.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from . import attention, commands, files, folders, others, pieces, search, texts


@dataclass(frozen=True)
class Group:
    """Cases of one kind. `few`: how many `tests/test_fuzzing.py` tries. `share`: of those of `benchmarks/fuzz.py`.

    `first`: cases that were bad once; `tests/test_fuzzing.py` tries them before all others.
    """

    cases: st.SearchStrategy[Any]
    check: Callable[[Any], None]
    few: int
    share: float
    first: Sequence[Any] = ()


GROUPS = {
    "files": Group(files.CASES, files.read_files, 100, 0.2),
    "texts and tokens": Group(texts.CASES, texts.read_texts, 60, 0.15),
    "vocabularies": Group(texts.damaged(), texts.read_vocabularies, 60, 0.1),
    "pieces": Group(pieces.CASES, pieces.split_alike, 200, 0.1),
    "folders": Group(folders.CASES, folders.load, 80, 0.2),
    "commands": Group(commands.CASES, commands.call, 20, 0.06),
    "files of others": Group(others.CASES, others.keep, 60, 0.2, others.FIRST),
    "attention": Group(attention.CASES, attention.attend, 100, 0.2),
    # `tests/search/test_search.py` tries these.
    "search": Group(search.CASES, search.search, 0, 0.09),
}
