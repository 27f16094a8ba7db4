"""What a Transformer decoder remembers between calls: keys and values, of the source and of the tokens so far.

`state.length` counts the tokens that were read: the positions of the next tokens begin there, and so does causal
masking, with keys - queries in `attention.dot_product_attend`.

After each step a search calls `state.select(rows)` (`search/beam.py`): row i of the new state is row `rows[i]` of the
old one, the parent of beam i. `Past.select` then moves keys and values within their storage. The fast step of one
Transformer (`search/fast_step.py`) uses these same classes; `AttentionState` in `seq2seq.py` and `PromptedState` in
`decoder_only.py` are the same for the other models.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from ..runtime.devices import send

KeysValues = tuple[Float[Tensor, "sentences heads source head_size"], Float[Tensor, "sentences heads source head_size"]]
MOVED = -1  # the value of `Past.used` after `select` has moved the rows: this Past may not be used again


class Past:
    """The keys and values of the tokens so far, in one layer, in storage that has room for more.

    A state knows the `length` of its own past, so several states may share one storage: a state never reads or
    overwrites what another wrote beyond its length.

    Args:
        keys, values: the storage.
        used: how many steps of the storage are filled.
    """

    def __init__(
        self,
        keys: Float[Tensor, "rows heads room head_size"],
        values: Float[Tensor, "rows heads room head_size"],
        used: int,
    ):
        self.keys, self.values, self.used = keys, values, used

    def append(
        self,
        keys: Float[Tensor, "rows heads steps head_size"],
        values: Float[Tensor, "rows heads steps head_size"],
        length: int,
    ) -> Past:
        """The past of the first `length` steps and these new ones. A full storage doubles: few calls have to copy."""
        self._check()
        end = length + keys.shape[2]
        if keys.requires_grad:  # autograd needs the old keys and values unchanged
            keys = torch.cat([self.keys[:, :, :length], keys], dim=2)
            values = torch.cat([self.values[:, :, :length], values], dim=2)
            return Past(keys, values, end)
        past = self
        if self.used > length or end > self.keys.shape[2]:
            room = 2 * end
            past = Past(
                _with_room(self.keys[:, :, :length], room), _with_room(self.values[:, :, :length], room), length
            )
        past.keys[:, :, length:end] = keys
        past.values[:, :, length:end] = values
        past.used = end
        return past

    def select(self, rows: Int[Tensor, "chosen"]) -> Past:
        """These rows, repeated, reordered or dropped. `rows`: on the CPU.

        If the number of rows does not grow, rows that stay at their index are not copied, and the others are moved
        within the storage. This Past may then not be used again.
        """
        self._check()
        count = len(rows)
        device = self.keys.device
        if count > len(self.keys) or self.keys.requires_grad:
            rows = send(rows, device)
            return Past(self.keys.index_select(0, rows), self.values.index_select(0, rows), self.used)
        moved = (rows != torch.arange(count)).nonzero().squeeze(1)
        here, there = send(moved, device), send(rows[moved], device)
        for stored in (self.keys, self.values):
            steps = stored[:, :, : self.used]
            steps[:count].index_copy_(0, here, steps.index_select(0, there))
        selected = Past(self.keys[:count], self.values[:count], self.used)
        self.used = MOVED
        return selected

    def _check(self) -> None:
        if self.used == MOVED:
            raise RuntimeError("a state is used once: `select` has moved the rows of this one")


def _with_room(steps: Float[Tensor, "rows heads steps head_size"], room: int) -> Tensor:
    storage = steps.new_empty(*steps.shape[:2], room, steps.shape[3])
    storage[:, :, : steps.shape[2]] = steps
    return storage


@dataclass(frozen=True)
class TransformerState:
    """What a Transformer decoder remembers between calls: `beams` rows for each sentence, side by side.

    The source's keys and values are held once for each sentence, however many beams share them. The keys and values of
    the tokens so far are held once for each row.
    """

    memory: tuple[KeysValues, ...]  # for each block
    mask: Bool[Tensor, "sentences 1 source"] | None  # None where no source is padded
    past: tuple[Past | None, ...]  # for each block
    beams: int = 1
    length: int = 0

    def select(self, rows: Int[Tensor, "chosen"]) -> TransformerState:
        """The state of these rows, repeated, reordered or dropped. The old state may not be used again.

        The memory is copied only if a sentence is gone. Among the tokens so far, only rows that change their index are
        copied. `rows` is on the CPU: there these decisions need no look at a GPU.
        """
        held = len(self.memory[0][0])  # sentences
        if torch.equal(rows, torch.arange(held * self.beams)):
            return self
        past = tuple(past and past.select(rows) for past in self.past)
        sentences, beams = sentences_of(rows, self.beams)
        chosen = replace(self, past=past, beams=beams)
        if torch.equal(sentences, torch.arange(held)):
            return chosen
        sentences = send(sentences, self.memory[0][0].device)
        memory = tuple((keys[sentences], values[sentences]) for keys, values in self.memory)
        return replace(chosen, memory=memory, mask=None if self.mask is None else self.mask[sentences])


def sentences_of(rows: Int[Tensor, "chosen"], beams: int) -> tuple[Int[Tensor, "sentences"], int]:
    """Which sentences these rows belong to, and how many rows each sentence has from now on. All on the CPU.

    Until now each sentence had `beams` rows. If the sentences no longer have the same number of rows, each row counts
    as a sentence of its own.
    """
    unique: Callable[..., tuple[Tensor, Tensor]] = getattr(torch, "unique_consecutive")  # noqa: B009  it has no types
    sentences, counts = unique(rows // beams, return_counts=True)
    after = int(counts[0]) if len(counts) else 1
    if (counts != after).any():
        return rows // beams, 1
    return sentences, after
