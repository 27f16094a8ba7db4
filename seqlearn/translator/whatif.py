"""What would the model write if its attention, or its first words, were others? The model itself stays as it is.

The views ask this question when somebody clicks. In Python:

    changed = what_if(translator, prefix=["le"], edits=[Ablate("cross", 1, 2)])
    changed.translate("The girl sleeps.")  # the translation begins with "le", and a head of cross-attention is ablated
    changed = what_if(translator, edits=[Patch("The boy eats a lemon.", "encoder 1.3", 3)])  # a vector of this sentence

`Ablate` and `SetWeight` become edits (`analysis/edits.py`) under the name of a layer; `edit_attention` puts them on the
layers, whose `expose` applies them (both in `nn/recording.py`). In a page, `edited` in `views/live/nn.js` does the
same.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any, cast

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from ..analysis.edits import ablate, in_heads, reweighted
from ..data.text import BOS, PAD, Vocab
from ..nn.contract import Decoder, Encoder, EncoderDecoder, Model
from ..nn.patching import patch, places, record_stream
from ..nn.recording import Edit, attention_layers, edit_attention
from ..runtime.devices import send
from ..runtime.values import check_items
from .translator import KINDS, Translator


@dataclass(frozen=True)
class Ablate:
    """All attention weights of a head become 0, after the softmax.

    Args:
        kind: of attention: "cross", "encoder" or "causal".
        layer, head: counted from 0; None means all.

    Raises:
        ValueError: there is no such kind, or a number is not counted from 0.
    """

    kind: str
    layer: int | None = None
    head: int | None = None

    def __post_init__(self) -> None:
        _check(self, ())

    def as_list(self) -> list[Any]:  # Any: words and numbers, for JSON
        """The list that a browser sends and gets."""
        return ["ablate", self.kind, self.layer, self.head]


@dataclass(frozen=True)
class SetWeight:
    """One attention weight of a row is set; the others of its row share what is left (`reweighted`).

    Row i of cross-attention and of causal attention belongs to step i. In a decoder-only model the rows of causal
    attention begin with the source.

    Args:
        kind, layer, head: see `Ablate`.
        row, column: counted from 0.
        weight: from 0 to 1.

    Raises:
        ValueError: there is no such kind, a number is not counted from 0, or the weight is not from 0 to 1.
    """

    kind: str
    layer: int | None
    head: int | None
    row: int
    column: int
    weight: float

    def __post_init__(self) -> None:
        _check(self, (self.row, self.column))
        if not (isinstance(self.weight, int | float) and 0 <= self.weight <= 1):
            raise ValueError(f"a weight is from 0 to 1, not {self.weight!r}")

    def as_list(self) -> list[Any]:  # Any: words and numbers, for JSON
        """The list that a browser sends and gets."""
        return ["weight", self.kind, self.layer, self.head, self.row, self.column, self.weight]


@dataclass(frozen=True)
class Patch:
    """A vector comes from the same model, without any change, while it reads another sentence.

    Args:
        sentence: the other one. With it the decoder reads the same target tokens.
        place: a head, such as "encoder 1.3", or a point of the residual stream, such as "encoder.blocks.1"; see
            `seqlearn.nn.patching.places`.
        row: counted from 0, of the source in the encoder, and the step in the decoder; None means all.
    """

    sentence: str
    place: str
    row: int | None = None


WeightChange = Ablate | SetWeight
Change = WeightChange | Patch
Edits = Sequence[WeightChange | Sequence[Any]]  # Any: a list of words and numbers from a browser, see `change_of`


def change_of(given: WeightChange | Sequence[Any]) -> WeightChange:  # Any: what a browser sent
    """The change that a list of a browser says (`as_list`). A change stays as it is.

    Raises:
        ValueError: the list does not describe a change.
    """
    match given:
        case Ablate() | SetWeight():
            return given
        case ["ablate", kind, layer, head]:
            return Ablate(kind, layer, head)
        case ["weight", kind, layer, head, row, column, weight]:
            return SetWeight(kind, layer, head, row, column, weight)
        case _:
            lists = "['ablate', kind, layer, head] or ['weight', kind, layer, head, row, column, weight]"
            raise ValueError(f"an edit is {lists}, not {given}")


def _check(change: WeightChange, numbers: Sequence[object]) -> None:
    """Refuse a change of no attention, and numbers that do not count from 0."""
    every = [number for number in (change.layer, change.head) if number is not None] + list(numbers)
    if change.kind not in KINDS or not all(type(each) is int and each >= 0 for each in every):
        raise ValueError(f"an edit is of {', '.join(KINDS)} attention, and counts from 0; {change} does not")


def what_if(translator: Translator, prefix: Sequence[str] = (), edits: Iterable[Change] = ()) -> Translator:
    """A translator with the same parameters, with changes inside, whose translations begin with a prefix.

    Every token of the prefix keeps the probability that the model gives it; after the prefix, the search goes on as
    usual. The model reads the whole beginning again for each new token, because an edit may concern any row. So such a
    translator is slow with long sentences.

    Args:
        prefix: target tokens; the last one may be <eos>.
        edits: of changed attention, rows, columns, layers and heads that do not exist are left out.

    Raises:
        ValueError: a token of the prefix is not in the vocabulary, or there is no such place to patch. While the
            translator reads: the other sentence of a patch has no such row.
    """
    edits = list(check_items("edits", edits, "changes"))
    names = named_edits(translator.model, [change for change in edits if not isinstance(change, Patch)])
    givers = _givers(translator, [change for change in edits if isinstance(change, Patch)])
    ids = _prefix_ids(translator.target.vocab, prefix)
    model = translator.model
    encoder = _EditedEncoder(model.encoder, names, givers)
    decoder = _EditedDecoder(model.decoder, names, givers, ids, translator.target.vocab.pad)
    changed = EncoderDecoder(encoder, decoder).train(model.training)
    return Translator(changed, translator.source, translator.target, translator.config, translator.device)


def named_edits(model: Model, edits: Iterable[WeightChange]) -> dict[str, Callable[[], Edit]]:
    """For each layer that is edited, by its name in the model, a function that makes the edit for one reading.

    Args:
        edits: several edits of a layer are made one after the other.

    Raises:
        TypeError: something is not an edit.
    """
    by_layer: dict[str, list[WeightChange]] = {}
    for change in edits:
        if not isinstance(change, WeightChange):
            raise TypeError(f"an edit is Ablate(kind, layer, head), SetWeight(...) or Patch(...), not {change}")
        for index, name in enumerate(attention_layers(model, change.kind)):
            if change.layer in (None, index):
                by_layer.setdefault(name, []).append(change)
    return {name: lambda changes=changes: _in_order(list(map(_edit, changes))) for name, changes in by_layer.items()}


def _edit(change: WeightChange) -> Edit:
    """The edit of one layer for one reading; an edit of a row counts the rows that it has seen."""
    edit = ablate if isinstance(change, Ablate) else reweighted(change.row, change.column, change.weight)
    return edit if change.head is None else _if_there(edit, change.head)


def _if_there(edit: Edit, head: int) -> Edit:
    """The edit of one head. A layer without heads counts as one with head 0."""

    def only(weights: Tensor, may: Tensor) -> Tensor:
        if weights.dim() < 4:
            return edit(weights, may) if head == 0 else weights
        return in_heads(edit, head)(weights, may) if head < weights.shape[1] else weights

    return only


def _in_order(edits: Sequence[Edit]) -> Edit:
    def all_of_them(weights: Tensor, may: Tensor) -> Tensor:
        for edit in edits:
            weights = edit(weights, may)
        return weights

    return all_of_them


def _prefix_ids(vocab: Vocab, prefix: Sequence[str]) -> list[int]:
    for token in check_items("the tokens of a prefix", prefix):
        if token not in vocab or token in (PAD, BOS):
            raise ValueError(f"a translation cannot contain the token {token!r}: the model never writes it")
    return vocab.encode(prefix)


def modules_apart(model: EncoderDecoder) -> EncoderDecoder:
    """The same parameters in modules of their own, in eval mode: what happens to one is not seen by the other."""
    shared = {id(one): one for one in (*model.parameters(), *model.buffers())}
    return copy.deepcopy(model, shared).eval()


@dataclass(frozen=True)
class _Giver:
    """The model, untouched, that reads the other sentence of some patches."""

    model: EncoderDecoder
    source: Int[Tensor, "1 source"]
    patches: Sequence[Patch]

    def memory(self, batch: int) -> Any:  # what the encoder returns
        """The encoder reads the other sentence, once for each row of a batch."""
        source = self.source.expand(batch, -1)
        return self.model.encoder(source, torch.full((batch,), source.shape[1]))

    def read(self, tokens: Int[Tensor, "rows steps"]) -> None:
        """The decoder reads these tokens with the other sentence."""
        decoder = self.model.decoder
        decoder(tokens, decoder.init_state(self.memory(tokens.shape[0])))

    @contextmanager
    def patched(self, side: str, inner: nn.Module, read: Callable[[], object]) -> Generator[None]:
        """Patch one side of the edited model with the vectors that pass the untouched model while `read` runs."""
        mine = [one for one in self.patches if (side == "encoder") == one.place.startswith("encoder")]
        where = {one.place: one.place.removeprefix(f"{side}.") for one in mine}
        with record_stream(getattr(self.model, side), where.values()) as vectors:
            read()
        with ExitStack() as stack:
            for place, name in where.items():
                rows = [one.row for one in mine if one.place == place]
                chosen = None if None in rows else [row for row in rows if row is not None]
                stack.enter_context(patch(inner, {name: vectors[name]}, chosen))
            yield


def _givers(translator: Translator, patches: Sequence[Patch]) -> list[_Giver]:
    """For each other sentence the model that reads it, with the patches that it gives."""
    if not patches:
        return []
    known = places(translator.model)
    if wrong := [one.place for one in patches if one.place not in known]:
        raise ValueError(f"there is no place {wrong[0]!r} in the model; it has {', '.join(known) or 'none'}")
    by_sentence: dict[str, list[Patch]] = {}
    for one in patches:
        by_sentence.setdefault(one.sentence, []).append(one)
    own = modules_apart(translator.model)
    return [
        _Giver(own, torch.tensor([translator.source.encode(sentence)], device=translator.device), given)
        for sentence, given in by_sentence.items()
    ]


@dataclass(frozen=True)
class _Written:
    """The sources, what the encoder made of them, and all tokens that were written: each row is a sentence of its own.

    So no layer joins the beams of a sentence, and row i of the attention weights belongs to step i in every layer.
    """

    source: Int[Tensor, "rows source"]
    source_lens: Int[Tensor, "rows"]
    memory: Any  # of the decoder
    read: Callable[[Tensor, Tensor], Any]  # makes the memory
    tokens: Int[Tensor, "rows steps"] | None = None  # None before the first token

    def select(self, rows: Int[Tensor, "chosen"]) -> _Written:
        """These rows; the sources are encoded again if the rows have other ones."""
        source, source_lens = self.source[send(rows, self.source.device)], self.source_lens[rows]
        same = source.shape == self.source.shape and torch.equal(source, self.source)
        memory = self.memory if same else self.read(source, source_lens)
        tokens = None if self.tokens is None else self.tokens[send(rows, self.tokens.device)]
        return replace(self, source=source, source_lens=source_lens, memory=memory, tokens=tokens)


class _EditedEncoder(nn.Module):
    """An encoder whose layers use edited weights. Its memory is the first state of `_EditedDecoder`."""

    def __init__(self, encoder: Encoder, edits: dict[str, Callable[[], Edit]], givers: Sequence[_Giver]):
        super().__init__()
        self.inner = encoder
        self.edits = _below("encoder.", edits)
        self.givers = givers

    def forward(self, source: Int[Tensor, "batch source"], source_lens: Int[Tensor, "batch"]) -> _Written:
        """The memory of these sources, with the sources themselves."""
        return _Written(source, source_lens, self.read(source, source_lens), self.read)

    def read(self, source: Tensor, source_lens: Tensor) -> Any:  # the memory
        """What the edited encoder makes of these sources."""
        inner = cast("nn.Module", self.inner)
        with edit_attention(inner, {name: make() for name, make in self.edits.items()}), ExitStack() as stack:
            for giver in self.givers:
                stack.enter_context(giver.patched("encoder", inner, lambda giver=giver: giver.memory(1)))
            return self.inner(source, source_lens)


class _EditedDecoder(nn.Module):
    """A decoder whose layers use edited weights, and which reads all tokens again in each call."""

    def __init__(
        self,
        decoder: Decoder,
        edits: dict[str, Callable[[], Edit]],
        givers: Sequence[_Giver],
        prefix: Sequence[int],
        spare: int,
    ):
        super().__init__()
        self.inner = decoder
        self.edits = _below("decoder.", edits)
        self.givers = givers
        self.prefix = prefix
        self.spare = spare

    def init_state(self, memory: _Written) -> _Written:
        """Nothing is written yet."""
        return memory

    def forward(
        self, tokens: Int[Tensor, "rows steps"], state: _Written
    ) -> tuple[Float[Tensor, "rows steps vocab"], _Written]:
        """The logits after each of these tokens, read with all tokens before them."""
        every = tokens if state.tokens is None else torch.cat([state.tokens, tokens], dim=1)
        inner = cast("nn.Module", self.inner)
        with edit_attention(inner, {name: make() for name, make in self.edits.items()}), ExitStack() as stack:
            for giver in self.givers:
                stack.enter_context(giver.patched("decoder", inner, lambda giver=giver: giver.read(every)))
            logits, _ = self.inner(every, self.inner.init_state(state.memory))
        before = every.shape[1] - tokens.shape[1]
        rows = [self._forced(logits[:, step], step) for step in range(before, every.shape[1])]
        return torch.stack(rows, dim=1), replace(state, tokens=every)

    def _forced(self, logits: Float[Tensor, "rows vocab"], step: int) -> Float[Tensor, "rows vocab"]:
        """Logits that leave only the token of the prefix, with its own probability; the rest goes to <pad>.

        No search chooses <pad>.
        """
        if step >= len(self.prefix):
            return logits
        log_probs = logits.float().log_softmax(-1)[:, self.prefix[step]]
        only = torch.full_like(logits, -torch.inf, dtype=torch.float32)
        only[:, self.spare] = torch.log1p(-log_probs.exp())
        only[:, self.prefix[step]] = log_probs
        return only


def _below(room: str, edits: dict[str, Callable[[], Edit]]) -> dict[str, Callable[[], Edit]]:
    return {name.removeprefix(room): make for name, make in edits.items() if name.startswith(room)}
