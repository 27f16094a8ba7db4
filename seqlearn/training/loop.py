"""The training loop."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.state import AcceleratorState
from jaxtyping import Float, Int
from torch import Tensor, nn
from tqdm.auto import tqdm

from ..data.batches import Batch, Batches
from ..devices import best_device
from .schedules import constant, linear_decay


@dataclass
class History:
    """What happened in training. Losses are nats for each real target token."""

    batch_losses: list[float] = field(default_factory=list)
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
        """The epoch (from 0) with the lowest validation loss, whose weights the model has after `fit`."""
        return min(range(self.epochs), key=self.valid_losses.__getitem__)


def token_loss(
    logits: Float[Tensor, "batch steps vocab"], labels: Int[Tensor, "batch steps"], pad: int
) -> Float[Tensor, ""]:
    """Cross-entropy in nats, summed over the real tokens. Padding adds nothing."""
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=pad, reduction="sum")


def batch_loss(model: nn.Module, batch: Batch, pad: int, teacher_forcing: float = 1.0) -> Float[Tensor, ""]:
    """The summed loss of a batch, against the true tokens.

    Args:
        teacher_forcing: the probability with which the decoder sees the true token before each step, and not the one
            that it likes best itself. With 1 all steps are computed at once.
    """
    if teacher_forcing < 1:
        logits = _sampled_logits(model, batch, teacher_forcing)
    else:
        logits = model(batch.source, batch.source_lens, batch.target[:, :-1])
    return token_loss(logits, batch.target[:, 1:], pad)


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
    """The loss of a real target token, averaged over all batches, in eval mode."""
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
    train: Batches,
    valid: Batches,
    *,
    epochs: int,
    lr: float,
    schedule: Callable[[float], float] = linear_decay,
    clip: float = 1.0,
    teacher_forcing: Callable[[float], float] = constant,
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
        after_epoch: functions of `(model, history)`: a plot, a sample translation.
        progress: show a progress bar.

    Raises:
        ValueError: the loss is no longer a number: the learning rate is too high, or the data are broken.
    """
    AcceleratorState._reset_state(reset_partial_state=True)
    accelerator = Accelerator(cpu=best_device().type == "cpu")
    if accelerator.num_processes > 1:
        raise ValueError(f"fit trains in one process, and was started in {accelerator.num_processes}")
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    model, optimizer = accelerator.prepare(model, optimizer)
    history, best, updates = History(), None, epochs * len(train)
    hidden = not progress or bool(os.environ.get("TQDM_DISABLE"))  # tqdm's own switch, which its notebook bar overlooks
    bar = tqdm(total=updates, unit="batch", leave=False, disable=hidden)
    try:
        for epoch in range(epochs):
            start, losses, tokens = time.perf_counter(), [], []
            model.train()
            for step, batch in enumerate(train.epoch(epoch), start=epoch * len(train)):
                for group in optimizer.param_groups:
                    group["lr"] = lr * schedule(step / updates)
                optimizer.zero_grad()
                loss = batch_loss(model, batch.to(accelerator.device), train.pad, teacher_forcing(step / updates))
                accelerator.backward(loss / batch.tokens)
                accelerator.clip_grad_norm_(model.parameters(), clip)
                optimizer.step()
                losses.append(loss.detach())
                tokens.append(batch.tokens)
                bar.update()
            _record(history, torch.stack(losses), tokens, start)
            history.valid_losses.append(mean_loss(model, valid, accelerator.device))
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


def _record(history: History, losses: Float[Tensor, "updates"], tokens: list[int], start: float) -> None:
    """Write down an epoch. The losses come from the device here, once, rather than after each update."""
    history.seconds.append(time.perf_counter() - start)
    history.tokens.append(sum(tokens))
    history.train_losses.append(float(losses.sum()) / sum(tokens))
    history.batch_losses += (losses.cpu() / torch.tensor(tokens)).tolist()
    if not math.isfinite(history.train_losses[-1]):
        raise ValueError(
            f"the loss of epoch {len(history.tokens)} is {history.train_losses[-1]}: try a lower learning rate"
        )
