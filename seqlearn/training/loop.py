"""The training loop."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

import torch
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.state import AcceleratorState
from jaxtyping import Float, Int
from torch import Tensor, nn
from tqdm.auto import tqdm

from ..data.batches import Batch, Batches
from ..devices import best_device
from .curriculum import Curriculum
from .schedules import Schedule, constant, linear_decay

FUSED = ("cpu", "cuda", "mps")  # where torch has Adam in a single kernel
MANY_LOGITS = 2**20  # in a batch; from here on, chunks are faster
# torch 2.13 and later (without smoothing); before it, all logits are made at once.
CHUNKS = hasattr(nn, "LinearCrossEntropyOptions") and nn.LinearCrossEntropyOptions(
    batch_chunk_size=256, chunking_method=None
)


@dataclass
class History:
    """What happened in training. Losses are nats for each real target token."""

    batch_losses: list[float] = field(default_factory=list)  # one for each update; smoothed, if `fit` was asked to
    train_losses: list[float] = field(default_factory=list)  # one for each epoch, as are the lists below
    valid_losses: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    interrupted: bool = False

    @property
    def epochs(self) -> int:
        """How many epochs were finished."""
        return len(self.valid_losses)

    @property
    def best_epoch(self) -> int:
        """The epoch (from 0) with the lowest validation loss, whose weights the model has after `fit`.

        Raises:
            ValueError: no epoch was finished, or none with a finite validation loss.
        """
        finite = [epoch for epoch, loss in enumerate(self.valid_losses) if math.isfinite(loss)]
        if not finite:
            raise ValueError(
                f"none of the {self.epochs} finished epochs has a finite validation loss: none is the best"
            )
        return min(finite, key=self.valid_losses.__getitem__)


def token_loss(
    logits: Float[Tensor, "batch steps vocab"],
    labels: Int[Tensor, "batch steps"],
    pad: int,
    label_smoothing: float = 0.0,
) -> Float[Tensor, ""]:
    """Cross-entropy in nats, summed over the real tokens. Padding adds nothing.

    Args:
        label_smoothing: the share of the probability that the true token gives away, evenly to all tokens of the
            vocabulary: itself, and <pad> and <bos>, too, which are never right (search may forbid them).
            -(1 - s) log p(true) - s mean_k log p(k): Szegedy et al. (2016), section 7.
    """
    logits = logits.float() if logits.dtype == torch.bfloat16 else logits  # 8 bits are too few to add up a batch
    return F.cross_entropy(
        logits.flatten(0, 1), labels.flatten(), ignore_index=pad, reduction="sum", label_smoothing=label_smoothing
    )


def batch_loss(
    model: nn.Module, batch: Batch, pad: int, teacher_forcing: float = 1.0, label_smoothing: float = 0.0
) -> Float[Tensor, ""]:
    """The summed loss of a batch, against the true tokens.

    Args:
        teacher_forcing: the probability with which the decoder sees the true token before each step, and not the one
            that it likes best itself. With 1 all steps are computed at once.
        label_smoothing: see `token_loss`.
    """
    labels = batch.target[:, 1:]
    if teacher_forcing < 1:
        return token_loss(_sampled_logits(model, batch, teacher_forcing), labels, pad, label_smoothing)
    decoder, inputs = getattr(model, "decoder", None), batch.target[:, :-1]
    many = hasattr(decoder, "features") and labels.numel() * decoder.dense.out_features >= MANY_LOGITS
    if not (CHUNKS and many) or label_smoothing or torch.is_autocast_enabled(labels.device.type):
        return token_loss(model(batch.source, batch.source_lens, inputs), labels, pad, label_smoothing)
    features, _ = decoder.features(inputs, decoder.init_state(model.encoder(batch.source, batch.source_lens)))
    return chunked_loss(features, decoder.dense, labels, pad)


def chunked_loss(
    features: Float[Tensor, "batch steps size"], dense: nn.Linear, labels: Int[Tensor, "batch steps"], pad: int
) -> Float[Tensor, ""]:
    """`token_loss(dense(features), labels, pad)` with the logits of a few places at a time.

    All logits of a batch, and their gradient, are the largest tensors of a training step: to write them to memory takes
    longer than to compute them.
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


def _sampled_logits(model: nn.Module, batch: Batch, teacher_forcing: float) -> Float[Tensor, "batch steps vocab"]:
    """Scheduled sampling: a coin for each token. Bengio et al. (2015), section 2.4."""
    state = model.decoder.init_state(model.encoder(batch.source, batch.source_lens))
    seen, logits = batch.target[:, :1], []
    for step in range(1, batch.target.shape[1]):
        step_logits, state = model.decoder(seen, state)
        logits.append(step_logits)
        true, own = batch.target[:, step : step + 1], step_logits.argmax(-1)
        coins = torch.rand(true.shape).to(true.device)
        seen = torch.where(coins < teacher_forcing, true, own)
    return torch.cat(logits, dim=1)


def mean_loss(model: nn.Module, batches: Batches, device: torch.device | str | None = None) -> float:
    """The loss of a real target token, averaged over all batches, in eval mode: plain cross-entropy."""
    device = next(model.parameters()).device if device is None else device
    was_training, total, tokens = model.training, 0.0, 0
    model.eval()
    with torch.inference_mode():
        for batch in batches:
            total += float(batch_loss(model, batch.to(device), batches.pad))
            tokens += batch.tokens
    model.train(was_training)
    return total / tokens


def fit(
    model: nn.Module,
    train: Batches | Curriculum,
    valid: Batches,
    *,
    epochs: int,
    lr: float,
    schedule: Schedule = linear_decay,
    clip: float = 1.0,
    teacher_forcing: Callable[[float], float] = constant,
    label_smoothing: float = 0.0,
    accumulate: int = 1,
    precision: str | None = None,
    after_epoch: Sequence[Callable[[nn.Module, History], None]] = (),
    progress: bool = True,
) -> History:
    """Train with Adam, and leave the model with the weights of its best epoch on the validation data.

    Ctrl-C (or the stop button of a notebook) ends training early and keeps the best weights so far.

    Args:
        train, valid: batches; `valid` only chooses the epoch.
        lr: the peak learning rate; `schedule` maps the share of training done to a factor of it.
        clip: the largest norm that a gradient may have (Pascanu et al., 2013).
        teacher_forcing: maps the share of training done to the probability that the decoder sees the true last token
            and not its own guess (scheduled sampling).
        label_smoothing: see `token_loss`; the validation loss is never smoothed.
        accumulate: the batches of an update, which is that of one batch with all their pairs, in less memory.
        precision: "bf16": training steps multiply in bfloat16 (CPU and CUDA), which pays for large models on chips that
            have units for it. Weights and validation stay in float32.
        after_epoch: functions of `(model, history)`: a plot, a sample translation.
        progress: show a progress bar.

    Raises:
        ValueError: the training or the validation loss of an epoch is NaN or infinite. The model then has the weights
            of the best epoch before.
    """
    if accumulate < 1 or not 0 <= label_smoothing < 1:
        raise ValueError(
            f"accumulate is at least 1 and label_smoothing 0 to below 1, not {accumulate} and {label_smoothing}"
        )
    AcceleratorState._reset_state(reset_partial_state=True)
    accelerator = Accelerator(cpu=best_device().type == "cpu")
    if accelerator.num_processes > 1:
        raise ValueError(f"fit trains in one process, and was started in {accelerator.num_processes}")
    device, lower = accelerator.device, _autocast(precision, accelerator.device)
    model = accelerator.prepare(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=lr, fused=device.type in FUSED)
    per_epoch = -(-len(train) // accumulate)  # updates
    history, best, updates = History(), None, epochs * per_epoch
    hidden = not progress or bool(os.environ.get("TQDM_DISABLE"))  # tqdm's own switch, which its notebook bar overlooks
    bar = tqdm(total=updates, unit="update", leave=False, disable=hidden)
    try:
        for epoch in range(epochs):
            start, losses, tokens = time.perf_counter(), [], []
            model.train()
            for step, group in enumerate(_groups(train.epoch(epoch), accumulate), start=epoch * per_epoch):
                done, group_tokens, group_loss = step / updates, sum(batch.tokens for batch in group), 0.0
                for parameters in optimizer.param_groups:
                    parameters["lr"] = lr * schedule(done)
                optimizer.zero_grad()
                for batch in group:
                    with lower:
                        loss = batch_loss(model, batch.to(device), train.pad, teacher_forcing(done), label_smoothing)
                    accelerator.backward(loss / group_tokens)  # the tokens of the whole update, not of this batch
                    group_loss += loss.detach()
                accelerator.clip_grad_norm_(model.parameters(), clip)
                optimizer.step()
                losses.append(group_loss)
                tokens.append(group_tokens)
                bar.update()
            _record(history, torch.stack(losses), tokens, start)
            valid_loss = mean_loss(model, valid, device)
            _check_finite("validation", valid_loss, epoch)
            history.valid_losses.append(valid_loss)
            if history.best_epoch == epoch:
                best = {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}
            for function in after_epoch:
                function(model, history)
    except KeyboardInterrupt:
        history.interrupted = True
    finally:  # after an error too: what was learned before it is not lost
        bar.close()
        if best is not None:
            model.load_state_dict(best)
    return history


def _autocast(precision: str | None, device: torch.device) -> torch.autocast:
    """The context in which products are taken in this precision; it does nothing for None."""
    if precision not in (None, "bf16"):
        raise ValueError(f'precision is None or "bf16", not {precision!r}')
    able = device.type == "cpu" or (device.type == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False))
    if precision and not able:
        raise ValueError(f"the device {device} does not compute in {precision}: leave the precision as it is")
    return torch.autocast(device.type, torch.bfloat16, enabled=precision is not None)


def _groups(batches: Iterable[Batch], size: int) -> Iterator[list[Batch]]:
    """The batches of each update; the last group of an epoch may be smaller."""
    batches = iter(batches)
    while group := list(islice(batches, size)):
        yield group


def _record(history: History, losses: Float[Tensor, "updates"], tokens: list[int], start: float) -> None:
    """Write down an epoch. The losses come from the device here, once, rather than after each update."""
    history.seconds.append(time.perf_counter() - start)
    history.tokens.append(sum(tokens))
    history.train_losses.append(float(losses.sum()) / sum(tokens))
    history.batch_losses += (losses.cpu() / torch.tensor(tokens)).tolist()
    _check_finite("training", history.train_losses[-1], len(history.train_losses) - 1)


def _check_finite(part: str, loss: float, epoch: int) -> None:
    if not math.isfinite(loss):
        raise ValueError(
            f"the {part} loss of epoch {epoch + 1} is {loss}: try a lower learning rate, or look for NaN or infinity "
            "in the weights that training started from"
        )
