"""The loss of a batch: cross-entropy over the real target tokens, with teacher forcing or scheduled sampling."""

from __future__ import annotations

from itertools import islice
from typing import cast

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from ..data.batches import Batch, Batches
from ..nn.contract import FeatureDecoder, Model, eval_mode
from ..runtime.arguments import whole_numbers
from .processes import ALONE, Processes

MANY_LOGITS = 2**20  # in a batch; from this number on, the loss in chunks is faster
# torch 2.13 and later can compute the loss in chunks, without label smoothing.
CHUNKS = (
    nn.LinearCrossEntropyOptions(batch_chunk_size=256, chunking_method=None)
    if hasattr(nn, "LinearCrossEntropyOptions")
    else None
)


def token_loss(
    logits: Float[Tensor, "batch steps vocab"],
    labels: Int[Tensor, "batch steps"],
    pad: int,
    label_smoothing: float = 0.0,
) -> Float[Tensor, ""]:
    """Cross-entropy in nats, summed over the real tokens. Padding adds nothing.

    Args:
        label_smoothing: the share s of the probability that is taken from the true token and spread evenly over the
            vocabulary. The true token gets its part of the share, and so do <pad> and <bos>, which are never right.
            -(1 - s) log p(true) - s mean_k log p(k): Szegedy et al. (2016), section 7.

    Raises:
        TypeError: the labels are not whole numbers.
        ValueError: there is not one label for each position of the logits.
    """
    labels = whole_numbers("labels", labels)
    if logits.shape[:-1] != labels.shape:
        raise ValueError(f"logits {tuple(logits.shape)} need one label a position, not {tuple(labels.shape)}")
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))  # half precision cannot add up a batch
    return F.cross_entropy(
        logits.flatten(0, 1), labels.flatten(), ignore_index=pad, reduction="sum", label_smoothing=label_smoothing
    )


def batch_loss(
    model: nn.Module, batch: Batch, pad: int, teacher_forcing: float = 1.0, label_smoothing: float = 0.0
) -> Float[Tensor, ""]:
    """The loss of a batch against the true tokens, summed over the real target tokens.

    Args:
        teacher_forcing: the probability with which the decoder reads the true token before each step, and not its own
            best guess. With 1 all steps are computed at once.
        label_smoothing: see `token_loss`.
    """
    labels = batch.target[:, 1:]  # shifted by one: the decoder reads [:, :-1] and predicts [:, 1:]
    if teacher_forcing < 1:
        logits = sampled_logits(model, batch, teacher_forcing)
    elif not label_smoothing and (decoder := _decoder_for_chunks(model, labels)):
        state = decoder.init_state(cast(Model, model).encoder(batch.source, batch.source_lens))
        features, _ = decoder.features(batch.target[:, :-1], state)
        return chunked_loss(features, decoder.dense, labels, pad)
    else:
        logits = model(batch.source, batch.source_lens, batch.target[:, :-1])
    return token_loss(logits, labels, pad, label_smoothing)


def _decoder_for_chunks(model: nn.Module, labels: Int[Tensor, "batch steps"]) -> FeatureDecoder | None:
    """The decoder, if it has features and the batch has so many logits that the loss in chunks is faster; else None."""
    decoder = getattr(model, "decoder", None)
    if CHUNKS is None or not isinstance(decoder, FeatureDecoder):
        return None
    many = labels.numel() * decoder.dense.out_features >= MANY_LOGITS
    is_wide = decoder.dense.weight.dtype in (torch.float32, torch.float64)  # half precision cannot add up a batch
    return decoder if many and is_wide and not torch.is_autocast_enabled(labels.device.type) else None


def chunked_loss(
    features: Float[Tensor, "batch steps size"], dense: nn.Linear, labels: Int[Tensor, "batch steps"], pad: int
) -> Float[Tensor, ""]:
    """`token_loss(dense(features), labels, pad)`, with the logits of a few positions at a time.

    The logits of a whole batch and their gradient are the largest tensors of an update: writing them to memory takes
    longer than computing them.
    """
    return F.linear_cross_entropy(
        features.flatten(0, 1),
        dense.weight,
        labels.flatten(),
        linear_bias=dense.bias,
        ignore_index=pad,
        reduction="sum",
        options=CHUNKS,
    )


def sampled_logits(model: nn.Module, batch: Batch, teacher_forcing: float) -> Float[Tensor, "batch steps vocab"]:
    """The logits under scheduled sampling. Bengio et al. (2015), section 2.4.

    For each token, chance decides whether the decoder reads the true token or its own best guess.
    """
    parts = cast(Model, model)
    state = parts.decoder.init_state(parts.encoder(batch.source, batch.source_lens))
    tokens, logits = batch.target[:, :1], list[Tensor]()
    for step in range(1, batch.target.shape[1]):
        step_logits, state = parts.decoder(tokens, state)
        logits.append(step_logits)
        true, guess = batch.target[:, step : step + 1], step_logits.argmax(-1)
        coins = torch.rand(true.shape).to(true.device)
        tokens = torch.where(coins < teacher_forcing, true, guess)
    return torch.cat(logits, dim=1)


def mean_loss(
    model: nn.Module, batches: Batches, device: torch.device | str | None = None, processes: Processes = ALONE
) -> float:
    """The mean loss of a real target token over all batches: plain cross-entropy, in eval mode.

    Args:
        device: where the batches are moved. Default: where the model is.
        processes: they share the batches, and each gets the mean over all.
    """
    device = next(model.parameters()).device if device is None else device
    total, tokens = 0.0, 0
    with eval_mode(model):
        for batch in islice(batches, processes.rank, None, processes.world_size):
            total += float(batch_loss(model, batch.to(device), batches.pad))
            tokens += batch.tokens
    total, tokens = processes.sum(total, tokens)
    return total / tokens
