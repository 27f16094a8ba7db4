"""Check of exercise 5.3. Its oracle is a loop over plain numbers: it imports nothing that the lesson is about."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

import torch
from torch import Tensor

from .checking import Wrong, called, check, has_shape, matches
from .plain import numbers


@check("5.3", section="5. How wrong is it?")
def check_masked_loss(masked_loss: Callable[..., Tensor]) -> None:
    """Try out `masked_loss(logits, labels, pad)` -> the mean loss of the real tokens."""
    generator = torch.Generator().manual_seed(5)
    for rows, pad, scale in (
        ([[3, 1, 2, 0, 0], [2, 3, 1, 1, 2]], 0, 1.0),
        ([[0, 2, 1, 1], [3, 1, 1, 1], [2, 0, 3, 0]], 1, 1.0),
        ([[3, 1, 0], [0, 2, 3], [1, 0, 2]], 0, 1.0),  # padding in front, or between
        ([[3, 1, 0], [2, 2, 3], [1, 3, 2]], 0, 200.0),
    ):
        labels = torch.tensor(rows)
        logits = (torch.randn((*labels.shape, 4), generator=generator) * scale).requires_grad_()
        try:
            loss = called(masked_loss, logits, labels, pad)
        except ValueError as error:
            sizes = re.search(r"batch_size \((\d+)\) to match target batch_size \((\d+)\)", str(error))
            if sizes and sizes.groups().count(str(int((labels != pad).sum()))) == 1:
                raise Wrong("leave the padding out of both: `logits[real]` and `labels[real]`.") from error
            raise
        if not isinstance(loss, Tensor):
            raise Wrong(f"return a tensor: training asks it for its gradient; yours is of type {type(loss).__name__}.")
        has_shape(loss, (), "loss, one number for the whole batch,")
        found = float(loss.detach())
        if not math.isfinite(found):
            raise Wrong(
                f"with logits in the hundreds the loss is {found:.0f}: e to them overflows, or a probability is 0; "
                "`log_softmax` (or `F.cross_entropy`) takes care of that."
            )
        losses = torch.tensor([_losses(*sentence) for sentence in zip(numbers(logits), rows, strict=True)])
        right = float(losses[labels != pad].mean())
        told = f"for labels {rows} with <pad> {pad}, the loss should be {right:.3f}; yours is {found:.3f}."
        if scale > 1:
            told = (
                f"with logits in the hundreds the loss should be {right:.1f}; yours is {found:.1f}: use `log_softmax`, "
                "and do not cut off large losses."
            )
        mistakes = _wrong_losses(losses, logits.detach(), labels, pad)
        matches(loss, right, mistakes, within=1e-3 * scale, otherwise=told)
        if not loss.requires_grad or torch.autograd.grad(loss, logits, allow_unused=True)[0] is None:
            raise Wrong("the number is right, but no gradient flows: no `item`, no `detach`, no `torch.no_grad()`.")


def _losses(logits: list[list[float]], labels: list[int]) -> list[float]:
    return [_log_sum(scores) - scores[label] for scores, label in zip(logits, labels, strict=True)]


def _log_sum(scores: list[float]) -> float:
    return max(scores) + math.log(sum(math.exp(score - max(scores)) for score in scores))


KEPT_ABOVE = "probabilities are kept above {:g} or so, which hides large losses: `log_softmax` needs no such help."


def _wrong_losses(losses: Tensor, logits: Tensor, labels: Tensor, pad: int) -> dict[str, Tensor]:
    """Diagnosis -> the loss of a usual mistake. `losses` are those of all labels, `(batch, steps)`."""
    real, (batch, steps, words) = labels != pad, logits.shape
    kept, count = losses[real], int(real.sum())
    chances, first_pad = (-kept).exp(), (~real).cumsum(1) == 1
    other_order = logits.transpose(0, 1).reshape(batch, steps, words)  # the sentences' steps, one step after the other

    def loss_by(log_probabilities: Tensor) -> Tensor:
        return -log_probabilities.gather(-1, labels[..., None])[..., 0][real].mean()

    return {
        f"this is the *sum* over the {count} real tokens: divide by their number.": kept.sum(),
        "the sign is wrong: the loss is *minus* the logarithm of the probability.": -kept.mean(),
        "padding is counted like a word: leave its positions out.": losses.mean(),
        f"padding adds nothing to your sum, but you divide by all {labels.numel()} positions; only {count} of them are "
        "real. (The loss then looks better than it is.)": kept.sum() / labels.numel(),
        "this is the mean of the sentences' means, in which a word of a short sentence counts more: add up all real "
        "tokens, then divide by their number.": ((losses * real).sum(1) / real.sum(1)).mean(),
        f"you left out the label 0, but here <pad> is {pad}, and 0 is a word: use the argument `pad`.": (
            losses[labels != 0].mean()
        ),
        "you left out <eos>: it is a token that the model has to learn; only <pad> does not count.": (
            losses[real & (labels != 2)].mean()
        ),
        "the first <pad> of each sentence is counted: no <pad> is real.": losses[real | first_pad].mean(),
        "this is the mean probability: take minus the logarithm of each.": chances.mean(),
        "first the logarithm of each word's probability, then the mean; you took the logarithm of the mean.": (
            -chances.mean().log()
        ),
        "this is the logarithm to base 2: the loss takes the natural one, `log`.": kept.mean() / math.log(2),
        "the softmax runs over the vocabulary, the last axis, -1, and not over the steps.": (
            loss_by(logits.log_softmax(1))
        ),
        "the softmax runs over the vocabulary, the last axis, -1, and not over the sentences of the batch.": (
            loss_by(logits.log_softmax(0))
        ),
        "these are the logits of the true words themselves: `log_softmax` is missing. (`F.nll_loss` wants it, "
        "too.)": loss_by(logits),
        "this is the mean probability with a minus sign; the logarithm is missing. (`F.nll_loss` wants "
        "`log_softmax`.)": -chances.mean(),
        "you took the probability of the *best* word at each position: take that of the true word, the label.": (
            -logits.log_softmax(-1).amax(-1)[real].mean()
        ),
        "your mask is upside down: this is the mean over the padding.": losses[~real].mean(),
        f"this is the sum divided by the {batch} sentences: divide by the {count} real tokens.": kept.sum() / batch,
        f"this is the sum divided by the {steps} steps: divide by the {count} real tokens.": kept.sum() / steps,
        "this is the logarithm to base 10: the loss takes the natural one, `log`.": kept.mean() / math.log(10),
        "this is e to the loss, the perplexity: return the loss itself.": kept.mean().exp(),
        "logits and labels are shifted against each other here: position t of the one belongs to position t of the "
        "other (the labels are shifted already).": _shifted(logits, labels, real),
        "logits and labels are flattened in different orders: leave both with the sentences on the first axis.": (
            loss_by(other_order.log_softmax(-1))
        ),
        "you took the softmax twice: `F.cross_entropy` and `log_softmax` want the logits.": (
            loss_by(logits.softmax(-1).log_softmax(-1))
        ),
        "the classes belong on axis 1, but `reshape` and `view` mix up the numbers: `logits.transpose(1, 2)`.": (
            loss_by(logits.reshape(batch, words, steps).transpose(1, 2).log_softmax(-1))
        ),
        **{
            KEPT_ABOVE.format(eps): -(chances + eps).log().mean()
            for eps in (1e-12, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5)
        },
    }


def _shifted(logits: Tensor, labels: Tensor, real: Tensor) -> Tensor:
    """The loss of somebody who shifts once more."""
    logs = logits[:, :-1].log_softmax(-1).gather(-1, labels[:, 1:, None])[..., 0]
    return -logs[real[:, 1:]].mean()
