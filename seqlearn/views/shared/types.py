"""The types that the views share. What is `Any` in a view has its reason here."""

from collections.abc import Sequence
from typing import Any

Data = dict[str, Any]  # Any: what a view sends to the browser: texts, numbers, bytes, and lists and dicts of them
Lock = Sequence[Any]  # Any: a word, then indices: ["pair", 2, 0]
Proposal = dict[str, Any]  # Any: what traitlets hands to a validator: {"trait": ..., "value": ..., "owner": ...}
Style = dict[str, Any]  # Any: keyword arguments of matplotlib
