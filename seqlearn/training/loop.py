"""The training loop: `update` changes the weights once, `train_epoch` goes through the data once, and `fit` repeats
epochs and keeps the best weights.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

import torch
from jaxtyping import Float
from torch import Tensor, nn
from tqdm.auto import tqdm

from ..data.batches import Batch, Batches
from ..devices import best_device
from .curriculum import Curriculum
from .losses import batch_loss, mean_loss
from .schedules import Schedule, constant, linear_decay

FUSED = ("cpu", "cuda", "mps")  # where torch has Adam in a single kernel
# How torchrun and `accelerate launch`, and three kinds of MPI, tell a process how many processes there are.
PROCESS_COUNTS = ("WORLD_SIZE", "PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "MV2_COMM_WORLD_SIZE")


@dataclass
class History:
    """What happened in training. Losses are in nats for each real target token."""

    batch_losses: list[float] = field(default_factory=list)  # one for each update; smoothed, if `fit` was asked to
    train_losses: list[float] = field(default_factory=list)  # one for each epoch, as are the lists below
    valid_losses: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)  # of the updates, without validation
    tokens: list[int] = field(default_factory=list)  # real target tokens
    interrupted: bool = False  # by Ctrl-C

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
            raise ValueError(f"none of the {self.epochs} finished epochs has a finite validation loss")
        return min(finite, key=self.valid_losses.__getitem__)


@dataclass(frozen=True)
class Recipe:
    """How the weights are updated: the options of `fit` that hold for every update. See `fit` for their meaning."""

    lr: float
    schedule: Schedule
    clip: float
    teacher_forcing: Schedule
    label_smoothing: float
    accumulate: int
    precision: str | None

    def __post_init__(self):
        if self.accumulate < 1:
            raise ValueError(f"accumulate is at least 1, not {self.accumulate}")
        if not 0 <= self.label_smoothing < 1:
            raise ValueError(f"label_smoothing is from 0 to below 1, not {self.label_smoothing}")
        if self.precision not in (None, "bf16"):
            raise ValueError(f'precision is None or "bf16", not {self.precision!r}')

    def updates(self, train: Batches | Curriculum) -> int:
        """How many updates an epoch has. The last one may have fewer than `accumulate` batches."""
        return math.ceil(len(train) / self.accumulate)


def fit(
    model: nn.Module,
    train: Batches | Curriculum,
    valid: Batches,
    *,
    epochs: int,
    lr: float,
    schedule: Schedule = linear_decay,
    clip: float = 1.0,
    teacher_forcing: Schedule = constant,
    label_smoothing: float = 0.0,
    accumulate: int = 1,
    precision: str | None = None,
    after_epoch: Sequence[Callable[[nn.Module, History], None]] = (),
    progress: bool = True,
) -> History:
    """Train with Adam, and leave the model with the weights of its best epoch on the validation data.

    The model is moved to `best_device()`. Ctrl-C (or the stop button of a notebook) ends training early and keeps the
    best weights so far.

    Args:
        train, valid: batches. `valid` is used only to choose the best epoch.
        lr: the peak learning rate.
        schedule: maps the share of training done (0 to 1) to a factor of the peak learning rate.
        clip: the largest norm that a gradient may have (Pascanu et al., 2013).
        teacher_forcing: maps the share of training done to the probability that the decoder reads the true last token
            and not its own guess (scheduled sampling).
        label_smoothing: see `token_loss`. The validation loss is never smoothed.
        accumulate: batches per update. The gradient equals that of one large batch.
        precision: "bf16": training multiplies in bfloat16 (CPU and CUDA), which is faster for large models on chips
            with bfloat16 units. Weights and validation stay in float32.
        after_epoch: functions of `(model, history)`, called after each epoch: a plot, a sample translation.
        progress: show a progress bar.

    Raises:
        ValueError: the training or the validation loss of an epoch is NaN or infinite. The model then has the weights
            of the best epoch before.
    """
    recipe = Recipe(lr, schedule, clip, teacher_forcing, label_smoothing, accumulate, precision)
    device = best_device()
    _check_one_process()
    _check_precision(precision, device)
    model.to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=lr, fused=device.type in FUSED)
    history, best_weights = History(), None
    bar = _progress_bar(epochs * recipe.updates(train), progress)
    try:
        for epoch in range(epochs):
            start = time.perf_counter()
            losses, tokens = train_epoch(model, optimizer, train, recipe, epoch, epochs, bar)
            _add_training(history, losses, tokens, start)
            _check_finite("training", history.train_losses[-1], epoch)
            valid_loss = mean_loss(model, valid, device)
            _check_finite("validation", valid_loss, epoch)
            history.valid_losses.append(valid_loss)
            if history.best_epoch == epoch:
                best_weights = {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}
            for function in after_epoch:
                function(model, history)
    except KeyboardInterrupt:
        history.interrupted = True
    finally:  # after an error, too: what the model had learned before is not lost
        bar.close()
        if best_weights is not None:
            model.load_state_dict(best_weights)
    return history


def train_epoch(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    train: Batches | Curriculum,
    recipe: Recipe,
    epoch: int,
    epochs: int,
    bar: tqdm,
) -> tuple[Float[Tensor, "updates"], list[int]]:
    """Go through the training data once, in train mode.

    Args:
        epoch: the number of this epoch, from 0, of `epochs` in all.
        bar: advances by one with each update.

    Returns:
        For each update the loss, summed over its real target tokens, and how many these are.
    """
    model.train()
    updates, losses, tokens = recipe.updates(train), [], []
    for number, batches in enumerate(_groups(train.epoch(epoch), recipe.accumulate), start=epoch * updates):
        losses.append(update(model, optimizer, batches, train.pad, recipe, number / (epochs * updates)))
        tokens.append(sum(batch.tokens for batch in batches))
        bar.update()
    return torch.stack(losses), tokens


def update(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    batches: Sequence[Batch],
    pad: int,
    recipe: Recipe,
    progress: float,
) -> Float[Tensor, ""]:
    """Change the weights once, by the gradient of the mean loss of all real target tokens in these batches.

    Args:
        batches: the batches of this update. They go through the model one after the other, so memory holds only one.
        pad: the id of <pad> in the target.
        progress: the share of training done, 0 to 1.

    Returns:
        The loss, summed over the real target tokens. The loss stays on the device: reading it would wait for the GPU.
    """
    device = next(model.parameters()).device
    tokens = sum(batch.tokens for batch in batches)
    teacher_forcing = recipe.teacher_forcing(progress)
    for parameters in optimizer.param_groups:
        parameters["lr"] = recipe.lr * recipe.schedule(progress)
    total = torch.zeros((), device=device)
    optimizer.zero_grad()
    for batch in batches:
        with torch.autocast(device.type, torch.bfloat16, enabled=recipe.precision == "bf16"):
            loss = batch_loss(model, batch.to(device), pad, teacher_forcing, recipe.label_smoothing)
        (loss / tokens).backward()  # the tokens of all batches: each token counts the same
        total = total + loss.detach()
    nn.utils.clip_grad_norm_(model.parameters(), recipe.clip)
    optimizer.step()
    return total


def _groups(batches: Iterable[Batch], size: int) -> Iterator[list[Batch]]:
    """The batches of each update. The last group of an epoch may be smaller."""
    batches = iter(batches)
    while group := list(islice(batches, size)):
        yield group


def _add_training(history: History, losses: Float[Tensor, "updates"], tokens: list[int], start: float) -> None:
    """Add the updates of an epoch to the history. All their losses are copied from the device at once, here."""
    losses = losses.cpu()
    history.seconds.append(time.perf_counter() - start)
    history.tokens.append(sum(tokens))
    history.train_losses.append(float(losses.sum()) / sum(tokens))
    history.batch_losses += (losses / torch.tensor(tokens)).tolist()


def _check_finite(part: str, loss: float, epoch: int) -> None:
    if not math.isfinite(loss):
        raise ValueError(
            f"the {part} loss of epoch {epoch + 1} is {loss}: try a lower learning rate, or look for NaN or infinity "
            "in the weights that training started from"
        )


def _check_one_process() -> None:
    processes = max(int(os.environ.get(name) or 1) for name in PROCESS_COUNTS)
    if processes > 1:
        raise ValueError(f"fit trains in one process, and was started in {processes}: start it without a launcher")


def _check_precision(precision: str | None, device: torch.device) -> None:
    if precision is None or device.type == "cpu":
        return
    if device.type != "cuda" or not torch.cuda.is_bf16_supported(including_emulation=False):
        raise ValueError(f"the device {device} does not compute in {precision}: leave the precision as it is")


def _progress_bar(updates: int, progress: bool) -> tqdm:
    """A bar that counts updates. tqdm's bar for notebooks ignores TQDM_DISABLE, so the variable is read here."""
    is_off = not progress or bool(os.environ.get("TQDM_DISABLE"))
    return tqdm(total=updates, unit="update", leave=False, disable=is_off)
