"""Recording and patching the vectors inside a Transformer: run one sentence with vectors of another.

    with record_stream(model) as stream:
        model(lemon, lens, tokens)  # the sentence that gives its vectors
    with patch(model, {"encoder 1.3": stream["encoder 1.3"]}, rows=[7]):
        model(apple, lens, tokens)  # row 7 of what head 3 of encoder layer 1 puts out is that of the lemon

A place is a part of the model, by its name in `model.named_modules()`, for the vectors that it puts out:
"encoder.blocks.1" is the residual stream after this block. Or a place is a head: "cross 0.2" is head 2 in layer 0 of
cross-attention, for its context, before W_o. `places` lists the stream and the heads.

The blocks put hooks on parts of the model, so the fast step of search steps aside, and remove them again at the end.
Vig et al. (2020, section 3) intervene on single neurons and heads in this way; Wang et al. (2023) on paths.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, cast

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from ..runtime.values import as_int
from .attention import MultiHeadAttention
from .contract import Model
from .recording import attention_layers, remember_last

Rows = Sequence[int] | Bool[Tensor, "batch rows"]
"""Rows for all sentences, or True where a row of a sentence is meant."""

Cells = Sequence[tuple[int, int]] | Bool[Tensor, "batch rows keys"]
"""Pairs of a row and a key for all sentences, or True where a cell of a sentence is meant."""

Change = Callable[[Tensor], Tensor]  # the vectors of a call to the vectors to use instead
Output = Any  # of a module: a tensor, or a tuple that begins with one


@dataclass(frozen=True)
class Head:
    """A head of a layer."""

    layer: MultiHeadAttention
    part: slice  # the features of this head among those of all heads


def heads(model: nn.Module | Model) -> dict[str, Head]:
    """The heads of all multi-head attentions, by name: "encoder 1.3" is head 3 of encoder layer 1."""
    found: dict[str, Head] = {}
    for kind in ("encoder", "causal", "cross"):
        for index, layer in enumerate(attention_layers(model, kind).values()):
            if isinstance(layer, MultiHeadAttention):
                size = layer.W_o.in_features // layer.num_heads
                for head in range(layer.num_heads):
                    found[f"{kind} {index}.{head}"] = Head(layer, slice(head * size, (head + 1) * size))
    return found


def places(model: nn.Module | Model) -> list[str]:
    """The residual stream before, between and after the blocks of each stack, from the bottom, then all heads."""
    names = list(_parts(model))
    stacks = [name.removesuffix("blocks.0") for name in names if name.endswith("blocks.0")]
    point = re.compile(f"({'|'.join(map(re.escape, stacks))})(pos_encoding|dropout|blocks[.][0-9]+|norm)")
    return [name for name in names if stacks and point.fullmatch(name)] + list(heads(model))


@contextmanager
def record_stream(
    model: nn.Module | Model, where: Iterable[str] | None = None
) -> Generator[dict[str, list[Float[Tensor, "batch rows size"]]]]:
    """Collect the vectors at these places while the block runs; those that are patched, as they were patched.

    Yields a dictionary: the place -> one tensor `(batch, rows, size)` for each call. A decoder-only model reads the
    prompt in its first call, and the target in later ones.

    Args:
        where: places; default: the stream and all heads, see `places`.

    Raises:
        ValueError: the model has no such place.
    """
    where = places(model) if where is None else list(where)
    record: dict[str, list[Tensor]] = {place: [] for place in where}

    def keep(calls: list[Tensor]) -> Change:
        return lambda vectors: calls.append(vectors.detach()) or vectors

    with _changed(model, {place: keep(calls) for place, calls in record.items()}, last=True):
        yield record


@contextmanager
def patch(
    model: nn.Module | Model, vectors: Mapping[str, Tensor | Sequence[Tensor]], rows: Rows | None = None
) -> Generator[None]:
    """Use these vectors at these places while the block runs, in place of the model's own.

    A block serves one reading: a model that is called once for each token reads row 0 first, then row 1, and so on.
    Where two blocks patch the same row, the outer one counts.

    Args:
        vectors: a place -> `(batch, rows, size)`, or the calls that `record_stream` collected. A batch of 1 serves all
            sentences. A single vector, `(size,)`, serves all rows.
        rows: the rows to patch, counted from 0; default: all.

    Raises:
        TypeError: a row is not a whole number.
        ValueError: the model has no such place, a row is below 0, or the vectors have not the batch, the rows or the
            size that is asked.
    """
    if rows is not None and not isinstance(rows, Tensor):
        rows = [as_int("row", row, 0) for row in rows]
    with _changed(model, {place: _patched(place, _joined(given), rows) for place, given in vectors.items()}):
        yield


@contextmanager
def record_cells(
    model: nn.Module | Model, where: Iterable[str] | None = None
) -> Generator[dict[str, list[Float[Tensor, "batch rows keys size"]]]]:
    """Collect what every key gives to every row of a head: its weight times its value. Their sum is the head's vector.

    Yields a dictionary: the head -> one tensor `(batch, rows, keys, size)` for each call.

    Args:
        where: heads, such as "encoder 1.3"; default: all. A cell takes as much memory as a vector.

    Raises:
        ValueError: the model has no such head.
    """
    where = list(heads(model)) if where is None else list(where)
    record: dict[str, list[Tensor]] = {place: [] for place in where}

    def keep(calls: list[Tensor], cells: Callable[[], Tensor]) -> Change:
        return lambda vectors: calls.append(cells()) or vectors

    with _cells(model, where) as now:
        with _changed(model, {place: keep(record[place], now[place]) for place in where}, last=True):
            yield record


@contextmanager
def patch_cells(model: nn.Module | Model, given: Mapping[str, Tensor], cells: Cells) -> Generator[None]:
    """Use what these keys give to these rows, from another sentence, while the block runs; other cells stay.

    Args:
        given: a head -> `(batch, rows, keys, size)`, as `record_cells` collects in one call. Zeros remove a cell.
        cells: the cells to patch. A layer is called once in the block.

    Raises:
        ValueError: the model has no such head, or the cells of the other sentence have another shape.
    """

    def change(place: str, own: Callable[[], Tensor]) -> Change:
        def changed(vectors: Tensor) -> Tensor:
            before = own()
            if given[place].shape[1:] != before.shape[1:]:
                raise ValueError(f"{place} has cells {tuple(before.shape)}, not {tuple(given[place].shape)}")
            chosen = cells if isinstance(cells, Tensor) else _at(cells, before.shape[1:3])
            moved = (given[place] - before).masked_fill(~chosen.to(before.device)[..., None], 0.0)
            return vectors + moved.sum(-2)

        return changed

    with _cells(model, given) as now, _changed(model, {place: change(place, now[place]) for place in given}):
        yield


# ---- How ----


def _patched(place: str, given: Tensor, rows: Rows | None) -> Change:
    seen = 0

    def change(own: Tensor) -> Tensor:
        nonlocal seen
        start, seen = seen, seen + own.shape[1]
        if isinstance(rows, Tensor):
            chosen = rows[:, start:seen].to(own.device)
            chosen = nn.functional.pad(chosen, (0, own.shape[1] - chosen.shape[1]))
        else:
            inside = range(own.shape[1]) if rows is None else [row - start for row in rows if start <= row < seen]
            chosen = _at([(row,) for row in inside], own.shape[1:2]).to(own.device)
        if given.dim() == 1:
            theirs = given.expand(1, own.shape[1], -1)
        else:
            theirs = given[:, start:seen]
            if chosen[:, theirs.shape[1] :].any():
                raise ValueError(f"{place} is patched in a row beyond the {given.shape[1]} of its vectors")
            theirs = nn.functional.pad(theirs, (0, 0, 0, own.shape[1] - theirs.shape[1]))
        if theirs.shape[-1] != own.shape[-1] or theirs.shape[0] not in (1, own.shape[0]):
            raise ValueError(f"{place} has vectors {tuple(own.shape)}; those to use are {tuple(given.shape)}")
        return torch.where(chosen[..., None], theirs.to(own), own)

    return change


def _at(indices: Sequence[tuple[int, ...]], shape: Sequence[int]) -> Tensor:
    """A bool tensor `(1, *shape)`, True at these indices."""
    chosen = torch.zeros(1, *shape, dtype=torch.bool)
    for index in indices:
        chosen[(0, *(as_int("row or key", i, 0, size - 1) for i, size in zip(index, shape, strict=True)))] = True
    return chosen


def _joined(vectors: Tensor | Sequence[Tensor]) -> Tensor:
    return vectors if isinstance(vectors, Tensor) else torch.cat(list(vectors), dim=1)


def _parts(model: nn.Module | Model) -> dict[str, nn.Module]:
    return dict(cast("Iterable[tuple[str, nn.Module]]", model.named_modules()))


@contextmanager
def _changed(model: nn.Module | Model, changes: Mapping[str, Change], last: bool = False) -> Generator[None]:
    """Send the vectors at each place through its function while the block runs. `last`: after all patches."""
    every, parts = heads(model), _parts(model)
    if missing := [place for place in changes if place not in every and place not in parts]:
        raise ValueError(f"there is no place {missing[0]!r} in the model; it has {', '.join(places(model)) or 'none'}")
    with ExitStack() as stack:
        for place, change in changes.items():
            if place in every:
                handle = every[place].layer.W_o.register_forward_pre_hook(
                    _before(every[place], change), prepend=not last
                )
            else:
                handle = parts[place].register_forward_hook(_after(change), prepend=not last)
            stack.callback(handle.remove)
        yield


def _before(head: Head, change: Change) -> Callable[[nn.Module, tuple[Tensor]], tuple[Tensor]]:
    def hook(_: nn.Module, inputs: tuple[Tensor]) -> tuple[Tensor]:
        contexts = inputs[0].clone()
        contexts[..., head.part] = change(contexts[..., head.part].clone())
        return (contexts,)

    return hook


def _after(change: Change) -> Callable[[nn.Module, object, Output], Output]:
    def hook(_: nn.Module, __: object, output: Output) -> Output:
        if isinstance(output, Tensor):
            return change(output)
        vectors, *rest = cast("tuple[Any, ...]", output)
        return (change(vectors), *rest)

    return hook


@contextmanager
def _cells(model: nn.Module | Model, where: Iterable[str]) -> Generator[dict[str, Callable[[], Tensor]]]:
    """For each head, a function that gives the cells of the call that runs."""
    every = heads(model)
    if missing := [place for place in where if place not in every]:
        raise ValueError(f"there is no head {missing[0]!r} in the model; it has {', '.join(every) or 'none'}")

    def of(head: Head) -> Callable[[], Tensor]:
        def cells() -> Tensor:
            layer, index = head.layer, head.part.start // (head.part.stop - head.part.start)
            assert layer.record and layer.vectors
            return layer.record[-1][:, index, :, :, None] * layer.vectors[-1][2][:, index, None]

        return cells

    with remember_last({every[place].layer for place in where}):
        yield {place: of(every[place]) for place in where}
