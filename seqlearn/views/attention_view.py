"""Who looks at whom: every head of every layer of one sentence pair, to be pointed at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import traitlets
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..nn.attention import AttentionMap
from ..reading import average, rollout
from .base import View, unpack
from .fonts import any_script
from .maps import heatmap
from .sentence_maps import SHOWS, attention_record, checked, draw_heads, frame, has_rollout, misplaced


class AttentionView(View, static="attention heads attention_view"):
    """Tokens joined by lines, the heat map of the same weights, and a small map of every head.

    Args:
        attention, more: the maps of one sentence pair, each of another kind: cross-, encoder- and causal attention.
        kind, layer, head, show, threshold, locked: what to show first; default: the first map, its first head.

    Traits, synced with the browser: `kind`, which of the maps; `layer` and `head`, from 0; `show`: "head", the chosen
    one, "layer", the mean of its layer, "all", the mean of all heads, or "rollout" (of self-attention;
    `seqlearn.reading.rollout`); `threshold`, the smallest weight that gets a line, in hundredths; `locked`, what stays
    marked: ["query", i], ["key", j], ["pair", i, j] or None. To change several at once, do it in
    `with view.hold_trait_notifications():`.

    Raises:
        TypeError: something is no `AttentionMap`.
        ValueError: there are two maps of one kind, or of different sentences; over 256 tokens or 144 heads; a negative
            weight; or there is no such kind, layer, head or token.
    """

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
        locked: Sequence[Any] | None = None,
    ):
        self.maps = checked(attention, *more)
        chosen = {"layer": layer, "head": head, "show": show, "threshold": threshold, "locked": locked}
        chosen["kind"] = attention.kind if kind is None else kind
        if wrong := misplaced(self.maps, **chosen):
            raise ValueError(wrong)
        super().__init__(record=attention_record(self.maps), **chosen)

    def update(self, attention: AttentionMap, *more: AttentionMap) -> None:
        """Show another sentence in the same place; what was chosen stays, as far as it is there."""
        maps = checked(attention, *more)
        record = attention_record(maps)
        with self.hold_sync(), self.hold_trait_notifications():
            self.maps, self.record = maps, record
            self.kind = self.kind if self.kind in maps else attention.kind
            self._fit()

    @traitlets.observe("kind")
    def _fit(self, change: object = None) -> None:
        """Another map may have fewer layers, heads and tokens, and no rollout."""
        layers, heads = self.maps[self.kind].weights.shape[:2]
        with self.hold_sync(), self.hold_trait_notifications():
            self.layer, self.head = min(self.layer, layers - 1), min(self.head, heads - 1)
            if self.show == "rollout" and not has_rollout(self.maps[self.kind]):
                self.show = "head"
            if misplaced(self.maps, **self._chosen()):
                self.locked = None

    def _chosen(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("kind", "layer", "head", "show", "threshold", "locked")}

    @traitlets.validate("kind", "layer", "head", "show", "threshold", "locked")
    def _fits(self, proposal: dict[str, Any]) -> Any:
        name, value = proposal["trait"].name, proposal["value"]
        chosen = self._chosen() | {name: value}
        if name == "kind":  # the others follow
            chosen = {"kind": value}
        if wrong := misplaced(self.maps, **chosen):
            raise traitlets.TraitError(wrong)
        return round(value, 2) if name == "threshold" else value

    @property
    def shown(self) -> AttentionMap:
        """What is drawn large, as a map with one layer and one head."""
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

    @any_script
    def figure(self) -> Figure:
        """The heat map of what is shown, and the small maps of all heads beside it, where there are several."""
        one, drawn = self.shown, self.record["maps"][list(self.maps).index(self.kind)]
        layers, heads, queries, keys = self.maps[self.kind].weights.shape
        size = np.array([min(2.5 + 0.45 * keys, 9.0), min(1.8 + 0.38 * queries, 8.0)])
        beside = 0.9 + 0.5 * heads if layers * heads > 1 else 0.0
        figure = Figure(figsize=(size[0] + beside, max(size[1], 0.9 + 0.5 * layers)), layout="constrained")
        panels = figure.subplots(
            1, 2 if beside else 1, width_ratios=[size[0], beside] if beside else [1], squeeze=False
        )[0]
        title = f"{self.kind} attention: {SHOWS[self.show].format(layer=self.layer, head=self.head)}"
        heatmap(one, ax=panels[0], title=title)
        panels[0].collections[0].set_clim(0, drawn["full"])
        self._mark(panels[0])
        if beside:
            draw_heads(panels[1], unpack(drawn["thumbs"]).numpy(), self.show, self.layer, self.head)
        return figure

    def _mark(self, ax: Axes) -> None:
        """Frames around what is locked: a row, a column, or a cell of a row."""
        queries, keys = len(self.maps[self.kind].query_tokens), len(self.maps[self.kind].key_tokens)
        what, *at = self.locked or [""]
        if what in ("query", "pair"):
            frame(ax, (0, at[0], keys, 1))
        if what == "key":
            frame(ax, (at[0], 0, 1, queries))
        if what == "pair":
            frame(ax, (at[1], at[0], 1, 1))
