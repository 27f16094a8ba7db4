"""A translation with all its maps of attention, where the attention may be edited."""

from __future__ import annotations

from collections.abc import Mapping

from ...analysis.attention_map import AttentionMap
from ...translator.translator import Translator
from ...translator.whatif import Edits, change_of, what_if
from ..shared.attention import map_data
from ..shared.types import Data
from .translations import translated

READ = ("sentence", "edits", "languages", "source", "unknown")  # of a reading, as in `translated`
WRITTEN = ("text", "tokens", "pieces", "probability")  # of a translation


def read_again(
    translator: Translator, sentence: str, edits: Edits = ()
) -> tuple[Data, dict[str, AttentionMap], Translator]:
    """The greedy translation of a sentence by a model whose attention is edited, and all maps of this reading.

    Returns:
        The trait `result`; the maps by kind; and the translator that made them.

    Raises:
        ValueError: the sentence has no token, or more than 100; or an edit is none.
    """
    changed = what_if(translator, (), map(change_of, edits)) if edits else translator
    answer = translated(translator, sentence, 1, (), edits)
    best = answer["best"][0]
    maps = {kind: changed.attend(sentence, best["text"], kind) for kind in translator.attention_kinds}
    result = {name: answer[name] for name in READ} | {name: best[name] for name in WRITTEN}
    return result, maps, changed


def with_maps(result: Data, maps: Mapping[str, AttentionMap]) -> Data:
    """A reading as data, with its maps."""
    return result | {"maps": list(map(map_data, maps.values()))}
