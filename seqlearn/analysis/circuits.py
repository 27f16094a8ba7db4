"""What a head or a point of the residual stream is good for: patches, means for an ablation, what a head brings.

With the blocks of `seqlearn.nn.patching`:

    with record_stream(model) as stream:
        model(*many_sentences)
    means = {place: mean_over_words(calls, real) for place, calls in stream.items()}
    with patch(model, {"encoder 1.3": means["encoder 1.3"]}):  # mean ablation of this head
    with patch(model, keep_only(heads(model), means, "encoder 1.3", "cross 0.1")):  # only these two heads are left
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import cast

import torch
from jaxtyping import Float
from torch import Tensor, nn

from ..nn.contract import Model
from ..nn.masking import Mask, as_mask
from ..nn.patching import heads, patch, record_stream
from ..runtime.arguments import as_tensor


class PatchExperiment:
    """The model reads the sentences `own`; the sentences `other`, one for each of them, give the vectors.

    Args:
        own, other: what the model reads: its arguments, for sentences of one length.
        lean: (arguments of the model) -> by how many logits one answer is likelier than the other, for each sentence.

    Attributes:
        before, after: the leans of `own` and of `other` without a patch.
        vectors: those of `other` at every place, as `record_stream` collects them.
    """

    def __init__(
        self,
        model: nn.Module | Model,
        own: tuple[Tensor, ...],
        other: tuple[Tensor, ...],
        lean: Callable[[tuple[Tensor, ...]], Float[Tensor, "sentences"]],
    ):
        self.model, self.own, self.other, self.lean = model, own, other, lean
        self.before = lean(own)
        with record_stream(model) as self.vectors:
            self.after = lean(other)

    def patched(self, place: str, rows: Sequence[int] | None = None) -> dict[str, float]:
        """The effect of the other sentences' vectors at one place, in these rows; default: in all."""
        with patch(self.model, {place: self.vectors[place]}, rows):
            return self.effect(self.lean(self.own))

    def effect(self, lean: Float[Tensor, "sentences"]) -> dict[str, float]:
        """`moved`: the share of the way to `other` that these leans went; `flips`: the share with a new sign."""
        way, flipped = self.after - self.before, lean.sign() != self.before.sign()
        moved = ((lean - self.before) * way.sign()).sum() / way.abs().sum()
        return {"moved": round(float(moved), 2) + 0.0, "flips": float(flipped.float().mean())}  # + 0.0: no -0.00


def mean_over_words(calls: Sequence[Float[Tensor, "batch _ size"]], real: Mask) -> Float[Tensor, "size"]:
    """The mean vector of all words of all sentences, for a mean ablation. Padding does not count.

    Args:
        calls: the vectors of one place, as `record_stream` collects them.
        real: bool, `(batch, rows)`, True where a row is not padding; or the valid lengths, `(batch,)`.

    Raises: see `seqlearn.nn.masking.as_mask`; and
        ValueError: no word is left.
    """
    vectors = torch.cat(list(calls), dim=1)
    batch, rows = vectors.shape[:2]
    real = as_tensor("real", real, vectors.device)
    mask = as_mask(real[:, None] if real.dtype == torch.bool and real.dim() == 2 else real, (batch, 1, rows))
    words = vectors[mask.squeeze(1).expand(batch, rows)]
    if not len(words):
        raise ValueError("there is no word to take the mean of: `real` is False everywhere")
    return words.mean(0)


def keep_only(every: Iterable[str], means: Mapping[str, Tensor], *kept: str) -> dict[str, Tensor]:
    """The vectors for `patch` that leave only these heads working: all others get their mean (a circuit alone).

    Args:
        every: the heads, see `seqlearn.nn.patching.heads`.
        means: the mean of each head, by its name.
        kept: the heads that keep their own vectors.

    Raises:
        ValueError: there is no such head to keep.
    """
    every = list(every)
    if missing := [place for place in kept if place not in every]:
        raise ValueError(f"there is no head {missing[0]!r} to keep; there are {', '.join(every)}")
    return {place: means[place] for place in every if place not in kept}


def value_lengths(
    model: nn.Module | Model, place: str, cells: Float[Tensor, "batch rows keys size"]
) -> Float[Tensor, "batch rows keys"]:
    """How long the vector is that each key adds to each row through a head: ||weight W_o v||.

    A bright cell of a map on a short value brings little. Kobayashi et al. (2020), section 3.

    Args:
        place: a head, such as "encoder 1.3".
        cells: of this head, see `seqlearn.nn.patching.record_cells`.
    """
    head = heads(model)[place]
    return (cells @ head.layer.W_o.weight.detach()[:, head.part].t()).norm(dim=-1)


def logit_lens(
    model: Model, stream: Mapping[str, Sequence[Float[Tensor, "rows _ size"]]]
) -> dict[str, Float[Tensor, "rows _ vocab"]]:
    """The logits if the model ended at each point of the decoder's residual stream: last norm, then output layer.

    The idea is nostalgebraist's ("interpreting GPT: the logit lens", 2020).

    Args:
        model: with a decoder that has `norm` and `dense`, as the Transformers of this package have.
        stream: what `record_stream` collected. Points after the last norm, and heads, are left out.
    """
    decoder = cast("nn.Module", model.decoder)
    norm, dense = decoder.get_submodule("norm"), decoder.get_submodule("dense")
    points = [place for place in stream if place.startswith("decoder.") and not place.endswith(".norm")]
    with torch.no_grad():
        return {place: dense(norm(torch.cat(list(stream[place]), dim=1))) for place in points}
