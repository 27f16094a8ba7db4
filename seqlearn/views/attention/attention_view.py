"""Who looks at whom: every head of every layer of one sentence pair."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import traitlets

from ...analysis.attention_map import AttentionMap
from ...analysis.measures import mean_of_heads, mean_over_heads, rollout
from ...translator.translator import Translator
from ...translator.whatif import change_of
from ..answers.known import about
from ..answers.readings import read_again, with_maps
from ..live.weights import in_page, live_model
from ..shared.arguments import as_text
from ..shared.asking import Ask
from ..shared.attention import has_rollout
from ..shared.traits import Finite, Whole
from ..shared.types import Data, Lock, Proposal
from ..view import View
from .attention_data import (
    NOBODY,
    Roles,
    attention_data,
    checked,
    checked_roles,
    wrong_choice,
)
from .vectors import head_steps, head_vectors

CHOICES = ("kind", "layer", "head", "show", "threshold", "locked", "zoom", "overlay")


class AttentionView(View, folder=Path(__file__).parent):
    """A small map of every head; one head large, as lines between tokens and as a heat map; the arithmetic of a cell.

    Args:
        attention, more: the maps of one sentence pair, each of another kind: cross-, encoder and causal attention.
        kind, layer, head, show, threshold, locked, zoom, overlay: the first values of the traits; default: the first
            head of the first map.
        roles: a short text for some heads, by (kind, layer, head): what the head was measured to do, such as
            `seqlearn.analysis.roles.read_roles("transformer")`.
        translator: the translator whose model made the maps. The view then shows the arithmetic of a cell on the
            vectors of this model, which is computed once more, at once.

    Traits, synced with the browser:
        kind: which of the maps.
        layer, head: counted from 0.
        show: "head", the chosen head; "layer", the mean of its layer; "all", the mean of all heads; or "rollout"
            (`seqlearn.analysis.measures.rollout`, only for self-attention).
        threshold: the smallest weight that gets a line, rounded to hundredths.
        locked: what stays marked: ["query", i], ["key", j], ["pair", i, j] or None.
        zoom: "heads", the small maps of all heads beside the large one; "head", the large one alone; "cell", the
            arithmetic of the locked cell (of the largest weight, if no cell is locked), only with a translator.
        overlay: a list of [layer, head], at most 8: these heads are drawn over each other, each in a colour of its own,
            in place of the chosen head; empty: none.
        steps: the answer to the zoom "cell": what `steps_data` returns for the vectors of the chosen head, and `asked`,
            its kind, layer and head, and `problem`, a sentence or empty. Until `asked` is the chosen head, the view
            waits. Python sets this trait; in a page, whoever computes the vectors there may set it (and make
            `data["asks"]` true).
        sentence, edits: what if the sentence were another one, or the attention were edited? See
            `seqlearn.translator.whatif.what_if`. Only in a view that `of` made: its model then translates the sentence
            again, and all maps are those of this reading.
        result: the translation of such a view: `text`, `tokens`, `pieces` and `probability`; `source`, the tokens of
            the sentence, and `unknown`, which of them the model never saw; `asked`, its sentence and edits; and
            `problem`, why this question cannot be answered, or empty. Empty in other views.
        against: [sentence, edits], another reading to compare with: the same head is then drawn twice, the other
            reading beside the present one, with one threshold and one scale; empty: none. Only in a view that `of`
            made. "before and after" in the browser sets it to what stood there before the first change.
        other: the answer to `against`: as `result`, and `maps`. Empty if nothing was asked.
    Change several traits at once inside `with view.hold_trait_notifications():`.

    Raises:
        TypeError: an argument is no `AttentionMap`, or `translator` is no `Translator`.
        ValueError: two maps have the same kind, or belong to different sentences; over 256 tokens or 144 heads; a
            negative weight; the maps lack the chosen kind, layer, head or token, or a head with a role; or the model of
            the translator did not make these maps.
    """

    caption = "Who looks at whom"
    questions: ClassVar = {
        "result": Ask("reading", ("sentence", "edits"), when=("layers",)),
        "other": Ask("other", ("sentence", "edits"), of="against", when=("layers",), blank={}),
        "steps": Ask("steps", ("kind", "layer", "head"), when=("asks", "zoom=cell"), blank={}),
    }

    kind = traitlets.Unicode().tag(sync=True)
    layer = Whole().tag(sync=True)
    head = Whole().tag(sync=True)
    show = traitlets.Unicode("head").tag(sync=True)
    threshold = Finite(0.05).tag(sync=True)
    locked = traitlets.List(allow_none=True, default_value=None).tag(sync=True)
    zoom = traitlets.Unicode("heads").tag(sync=True)
    overlay = traitlets.List().tag(sync=True)
    steps = traitlets.Dict().tag(sync=True)
    sentence = traitlets.Unicode().tag(sync=True)
    edits = traitlets.List().tag(sync=True)
    result = traitlets.Dict().tag(sync=True)
    against = traitlets.List().tag(sync=True)
    other = traitlets.Dict().tag(sync=True)

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
        zoom: str = "heads",
        overlay: Sequence[Sequence[int]] = (),
        roles: Roles | None = None,
        translator: Translator | None = None,
    ):
        self.maps = checked(attention, *more)
        self.roles = checked_roles(roles, self.maps)
        self.translator = translator
        self._vectors = None if translator is None else head_vectors(translator, self.maps)
        self._read: list[Any] = []  # what was read last: the maps, and the translator
        chosen = {"layer": layer, "head": head, "show": show, "threshold": threshold, "locked": locked}
        chosen |= {"kind": attention.kind if kind is None else kind, "zoom": zoom, "overlay": list(map(list, overlay))}
        if wrong := wrong_choice(self.maps, **chosen):
            raise ValueError(wrong)
        super().__init__(data=attention_data(self.maps, self.roles, translator is not None), **chosen)
        self._ask()

    @classmethod
    def of(
        cls,
        translator: Translator,
        sentence: str,
        roles: Roles | None = None,
        against: str | Sequence[Any] = (),  # a list, too: text and edits
        **chosen: Any,  # values of traits
    ) -> AttentionView:
        """All attention of a translator, while it translates a sentence. In this view, attention can be edited.

        Args:
            roles: see the class.
            against: another sentence, whose reading stands beside that of `sentence`; or, as the trait,
                [sentence, edits].
            chosen: the first values of traits.

        Raises:
            TypeError, ValueError: as the class and `TranslatorView` do; or the model has no attention.
            TraitError: `against` is no question.
        """
        translator.check_attention(next(iter(translator.attention_kinds), "cross"))
        result, maps, _ = read_again(translator, sentence)
        view = cls(*maps.values(), roles=roles, translator=translator, **chosen)
        view.result = result | {"asked": {"sentence": result["sentence"], "edits": []}, "problem": ""}
        view.sentence = result["sentence"]
        view.data = view.data | {name: about(translator)[name] for name in NOBODY}
        view.against = [against, []] if isinstance(against, str) else list(against)
        if view.other.get("problem"):
            raise ValueError(view.other["problem"])
        return view

    def answer_to(self, trait: str, **question: Any) -> Data:  # the parts of the question
        """Let the edited model translate the sentence; or compute the arithmetic of the chosen head."""
        if trait == "steps":
            assert self._vectors is not None  # see `questions`
            return head_steps(self._vectors, self.maps, **question)
        assert self.translator is not None
        result, *self._read = read_again(self.translator, **question)
        return with_maps(result, self._read[0]) if trait == "other" else result

    def take(self, trait: str, answer: Data) -> None:
        """Show the maps of a reading."""
        if trait == "result":
            maps, changed = self._read
            vectors = head_vectors(changed, maps, edited=bool(self.edits))
            data = attention_data(maps, self.roles, asks=True, answers={name: self.data[name] for name in NOBODY})
            with self.hold_sync(), self.hold_trait_notifications():
                self.maps, self._vectors, self.data, self.steps, self.result = maps, vectors, data, {}, answer
                self._fit()
            return
        super().take(trait, answer)

    @traitlets.validate("against")
    def _other_question(self, proposal: Proposal) -> list:
        self._needs_model("another reading needs", proposal)
        question = list(proposal["value"])
        if question and not (len(question) == 2 and isinstance(question[0], str) and isinstance(question[1], list)):
            raise traitlets.TraitError(f"against is [sentence, edits], or empty, not {question}")
        return [as_text(question[0]), [change_of(each).as_list() for each in question[1]]] if question else []

    @traitlets.validate("sentence")
    def _text(self, proposal: Proposal) -> str:
        self._needs_model("another sentence needs", proposal)
        return as_text(proposal["value"])

    @traitlets.validate("edits")
    def _changes(self, proposal: Proposal) -> list[list]:
        self._needs_model("edits need", proposal)
        return [change_of(each).as_list() for each in proposal["value"]]

    def _needs_model(self, what: str, proposal: Proposal) -> None:
        """Refuse a question in a view that nobody answers."""
        if proposal["value"] and (not self.result or self.translator is None):
            raise traitlets.TraitError(f"{what} a model that reads again: make the view with AttentionView.of")

    @traitlets.observe("kind")
    def _fit(self, change: object = None) -> None:
        """Adapt the choices to a map that may have fewer layers, heads and tokens, and no rollout."""
        layers, heads = self.maps[self.kind].weights.shape[:2]
        with self.hold_sync(), self.hold_trait_notifications():
            self.layer, self.head = min(self.layer, layers - 1), min(self.head, heads - 1)
            if self.show == "rollout" and not has_rollout(self.maps[self.kind]):
                self.show = "head"
            self.overlay = [place for place in self.overlay if place[0] < layers and place[1] < heads]
            if wrong_choice(self.maps, **self._chosen()):
                self.locked = None

    def _chosen(self) -> Data:
        return {name: getattr(self, name) for name in CHOICES}

    @traitlets.validate(*CHOICES)
    def _fits(self, proposal: Proposal) -> object:
        name, value = proposal["trait"].name, proposal["value"]
        chosen = self._chosen() | {name: value}
        if name == "kind":  # `_fit` adapts the others
            chosen = {"kind": value}
        if wrong := wrong_choice(self.maps, **chosen):
            raise traitlets.TraitError(wrong)
        return round(value, 2) if name == "threshold" else value

    def page_model(self) -> Data | None:
        """The Transformer that made the maps, in a view that `of` made; other models do not run in a page."""
        return live_model(self.translator) if self.result and self.translator is not None else None

    def page_state(self, live: bool = False) -> Data:
        """Without a model in the page, the arithmetic of the chosen head is stored in it, and of no other head.

        With one, the answer is that of the same weights, unless these translate otherwise.
        """
        state, maps, vectors = super().page_state(live) | self._last(), self.maps, self._vectors
        data = self.data | {"asks": live} | ({} if live else NOBODY)
        if live and self.translator is not None:
            own = in_page(self.translator)
            asked = state["result"]["asked"]
            result, its_maps, changed = read_again(own, **asked)
            if result["tokens"] == state["result"]["tokens"]:
                maps, vectors = its_maps, head_vectors(changed, its_maps, edited=bool(state["edits"]))
                data = data | {"maps": attention_data(maps, self.roles, True)["maps"]}
                state["result"] = state["result"] | result
            if (other := self.question("other")) and not self.other["problem"]:
                state["other"] = self.other | with_maps(*read_again(own, **other)[:2])
        stored = {}
        if vectors is not None and self.show == "head":
            asked = {"kind": self.kind, "layer": self.layer, "head": self.head}
            stored = head_steps(vectors, maps, **asked) | {"asked": asked, "problem": ""}
        return state | {"data": data, "steps": stored}

    def _last(self) -> Data:
        """The traits of the question that was answered last."""
        if not self.result:
            return {}
        asked = {name: self.result[name] for name in self.questions["result"].parts}
        return asked | {"result": self.result | {"asked": asked, "problem": ""}}

    @property
    def shown(self) -> AttentionMap:
        """The attention that is drawn large, as a map with one layer and one head."""
        attention = self.maps[self.kind]
        if self.show == "rollout":
            return rollout(attention)
        if self.show == "all":
            return mean_over_heads(attention)
        layer = attention.weights[self.layer]
        weights = layer[self.head] if self.show == "head" else mean_of_heads(layer)
        return replace(attention, weights=weights)

    def summary(self) -> str:
        """The kinds, and the sizes of the chosen one."""
        layers, heads, queries, keys = self.maps[self.kind].weights.shape
        others = " and ".join(kind for kind in self.maps if kind != self.kind)
        also = f", also {others}" if others else ""
        return f"{self.kind}, {layers} layers, {heads} heads, {queries} queries, {keys} keys{also}"
