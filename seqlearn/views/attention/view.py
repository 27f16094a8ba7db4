"""Who looks at whom: every head of every layer of one sentence pair."""

from __future__ import annotations

from pathlib import Path

import traitlets
from matplotlib.figure import Figure

from ...attention_map import AttentionMap
from ...reading import average, rollout
from ..shared.attention import has_rollout
from ..shared.base import View
from ..shared.types import Data, Lock, Proposal
from .data import attention_data, checked, wrong_choice
from .picture import attention_picture


class AttentionView(View, folder=Path(__file__).parent, shared=("attention", "heads")):
    """Tokens joined by lines, the heat map of the same weights, and a small map of every head.

    Args:
        attention, more: the maps of one sentence pair, each of another kind: cross-, encoder and causal attention.
        kind, layer, head, show, threshold, locked: the first values of the traits; default: the first head of the
            first map.

    Traits, synced with the browser:
        kind: which of the maps.
        layer, head: counted from 0.
        show: "head", the chosen head; "layer", the mean of its layer; "all", the mean of all heads; or "rollout"
            (`seqlearn.reading.rollout`, only for self-attention).
        threshold: the smallest weight that gets a line, rounded to hundredths.
        locked: what stays marked: ["query", i], ["key", j], ["pair", i, j] or None.
    Change several traits at once inside `with view.hold_trait_notifications():`.

    Raises:
        TypeError: an argument is no `AttentionMap`.
        ValueError: two maps have the same kind, or belong to different sentences; over 256 tokens or 144 heads; a
            negative weight; or the maps lack the chosen kind, layer, head or token.
    """

    caption = "Who looks at whom"

    kind = traitlets.Unicode().tag(sync=True)
    layer = traitlets.Int().tag(sync=True)
    head = traitlets.Int().tag(sync=True)
    show = traitlets.Unicode("head").tag(sync=True)
    threshold = traitlets.Float(0.05).tag(sync=True)
    locked = traitlets.List(allow_none=True, default_value=None).tag(sync=True)

    def __init__(
        self,
        attention: AttentionMap,
        *more: AttentionMap,
        kind: str | None = None,
        layer: int = 0,
        head: int = 0,
        show: str = "head",
        threshold: float = 0.05,
        locked: Lock | None = None,
    ):
        self.maps = checked(attention, *more)
        chosen = {"layer": layer, "head": head, "show": show, "threshold": threshold, "locked": locked}
        chosen["kind"] = attention.kind if kind is None else kind
        if wrong := wrong_choice(self.maps, **chosen):
            raise ValueError(wrong)
        super().__init__(data=attention_data(self.maps), **chosen)

    def update(self, attention: AttentionMap, *more: AttentionMap) -> None:
        """Show another sentence in the same view. Choices that the new maps have, too, stay as they are."""
        maps = checked(attention, *more)
        data = attention_data(maps)
        with self.hold_sync(), self.hold_trait_notifications():
            self.maps, self.data = maps, data
            self.kind = self.kind if self.kind in maps else attention.kind
            self._fit()

    @traitlets.observe("kind")
    def _fit(self, change: object = None) -> None:
        """Adapt the choices to a map that may have fewer layers, heads and tokens, and no rollout."""
        layers, heads = self.maps[self.kind].weights.shape[:2]
        with self.hold_sync(), self.hold_trait_notifications():
            self.layer, self.head = min(self.layer, layers - 1), min(self.head, heads - 1)
            if self.show == "rollout" and not has_rollout(self.maps[self.kind]):
                self.show = "head"
            if wrong_choice(self.maps, **self._chosen()):
                self.locked = None

    def _chosen(self) -> Data:
        return {name: getattr(self, name) for name in ("kind", "layer", "head", "show", "threshold", "locked")}

    @traitlets.validate("kind", "layer", "head", "show", "threshold", "locked")
    def _fits(self, proposal: Proposal) -> object:
        name, value = proposal["trait"].name, proposal["value"]
        chosen = self._chosen() | {name: value}
        if name == "kind":  # `_fit` adapts the others
            chosen = {"kind": value}
        if wrong := wrong_choice(self.maps, **chosen):
            raise traitlets.TraitError(wrong)
        return round(value, 2) if name == "threshold" else value

    @property
    def shown(self) -> AttentionMap:
        """The attention that is drawn large, as a map with one layer and one head."""
        attention = self.maps[self.kind]
        if self.show == "rollout":
            return rollout(attention)
        if self.show == "all":
            return average(attention)
        layer = attention.weights[self.layer]
        weights = layer[self.head] if self.show == "head" else layer.mean(0)
        return AttentionMap(weights, attention.query_tokens, attention.key_tokens, attention.kind, attention.mask)

    def summary(self) -> str:
        """The kinds, and the sizes of the chosen one."""
        layers, heads, queries, keys = self.maps[self.kind].weights.shape
        others = " and ".join(kind for kind in self.maps if kind != self.kind)
        also = f", also {others}" if others else ""
        return f"{self.kind}, {layers} layers, {heads} heads, {queries} queries, {keys} keys{also}"

    def figure(self) -> Figure:
        """The heat map of what is shown and, beside it, the small maps of all heads, if there are several."""
        data = self.data["maps"][list(self.maps).index(self.kind)]
        chosen = {name: getattr(self, name) for name in ("show", "layer", "head", "locked")}
        return attention_picture(self.shown, data, **chosen)
