"""The training loop: `update` changes the weights once, `train_epoch` goes through the data once, and `fit` repeats
epochs and keeps the best weights.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import torch
from jaxtyping import Float
from torch import Tensor, nn
from tqdm.auto import tqdm

from ..data.batches import Batch, Batches
from ..devices import best_device
from .checkpoints import Checkpoints, Progress, Stopped
from .curriculum import Curriculum
from .history import History
from .interrupts import uninterrupted
from .losses import batch_loss, mean_loss
from .schedules import Schedule, constant, linear_decay

LOOK = 50  # updates: how often the losses on a GPU are looked at, which waits for it
FUSED = ("cpu", "cuda", "mps")  # where torch has Adam in a single kernel
# How torchrun and `accelerate launch`, and three kinds of MPI, tell a process how many processes there are.
PROCESS_COUNTS = ("WORLD_SIZE", "PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "MV2_COMM_WORLD_SIZE")


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
        if not self.lr >= 0:
            raise ValueError(f"lr is at least 0, not {self.lr}")
        if not self.clip > 0:
            raise ValueError(f"clip is above 0, not {self.clip}: a negative norm would turn the gradient around")
        if self.accumulate < 1:
            raise ValueError(f"accumulate is at least 1, not {self.accumulate}")
        if not 0 <= self.label_smoothing < 1:
            raise ValueError(f"label_smoothing is from 0 to below 1, not {self.label_smoothing}")
        if self.precision not in (None, "bf16"):
            raise ValueError(f'precision is None or "bf16", not {self.precision!r}')

    def fixed(self) -> dict[str, object]:
        """The options, so that two recipes can be compared: of a schedule its values at some points."""
        points = [point / 16 for point in range(17)]
        return {
            name: [value(point) for point in points] if callable(value) else value for name, value in vars(self).items()
        }

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
    checkpoints: Checkpoints | None = None,
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
        checkpoints: where to write checkpoints. If there are some, training goes on from the last one, and ends with
            the same weights and the same history (but for the seconds) as a training that was never stopped.
        progress: show a progress bar.

    Raises:
        ValueError: a loss is NaN or infinite. The model then has the weights of the best epoch before. Or the
            checkpoints belong to a training with other arguments.
        Stopped: `checkpoints.stop` was set. A checkpoint was written.
    """
    recipe = Recipe(lr, schedule, clip, teacher_forcing, label_smoothing, accumulate, precision)
    device = best_device()
    _check_one_process()
    _check_precision(precision, device)
    model.to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=lr, fused=device.type in FUSED)
    run, options = Progress(), {}
    if checkpoints is not None:
        options = {**recipe.fixed(), "epochs": epochs, "train": train.fingerprint(), "valid": valid.fingerprint()}
        run = checkpoints.restore(model, optimizer, options) or run
    history, updates = run.history, recipe.updates(train)

    def keep(done: int, may_stop: bool = True) -> None:
        """Write a checkpoint if one is due, and stop if somebody asked for it."""
        if checkpoints is None:
            return
        if (done % updates == 0 and not run.losses) or checkpoints.due(done):
            checkpoints.write(done, model, optimizer, run, options)
        if checkpoints.stop and may_stop:
            raise Stopped

    bar = _progress_bar(epochs * updates, progress, done=run.epoch * updates + len(run.losses))
    try:
        keep(run.epoch * updates + len(run.losses))
        while run.epoch < epochs:
            train_epoch(model, optimizer, train, recipe, run, epochs, bar, keep)
            valid_loss = mean_loss(model, valid, device)
            if not math.isfinite(valid_loss):
                raise ValueError(_not_finite("validation", valid_loss, run.epoch))
            with uninterrupted():
                _finish_epoch(run, model, valid_loss)
            keep(run.epoch * updates, may_stop=False)  # first: a crash in a slow hook shall not lose the epoch
            for function in after_epoch:
                function(model, history)
            if checkpoints is not None and checkpoints.stop:
                raise Stopped
    except KeyboardInterrupt:
        history.interrupted = True
    finally:  # after an error, too: what the model had learned before is not lost
        bar.close()
        if run.best is not None:
            with uninterrupted():  # a second Ctrl-C would leave some weights of each epoch
                model.load_state_dict(run.best)
    return history


def train_epoch(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    train: Batches | Curriculum,
    recipe: Recipe,
    run: Progress,
    epochs: int,
    bar: tqdm,
    after_update: Callable[[int], None],
) -> None:
    """Go through the training data once, in train mode; after a restart, through what is left of it.

    Args:
        run: gets the loss and the number of tokens of each update.
        epochs: how many epochs the training has in all.
        bar: advances by one with each update.
        after_update: called with the number of updates since training began.

    Raises:
        ValueError: a loss is NaN or infinite.
    """
    model.train()
    start, updates = time.perf_counter() - run.seconds, recipe.updates(train)
    done = run.epoch * updates + len(run.losses)
    left = train.epoch(run.epoch, start=len(run.losses) * recipe.accumulate)
    for number, batches in enumerate(_groups(left, recipe.accumulate), start=done):
        run.losses.append(update(model, optimizer, batches, train.pad, recipe, number / (epochs * updates)))
        run.tokens.append(sum(batch.tokens for batch in batches))
        run.seconds = time.perf_counter() - start
        bar.update()
        if run.losses[-1].device.type == "cpu" or len(run.losses) % LOOK == 0 or len(run.losses) == updates:
            _check_updates(run, recipe, epochs, updates)
        after_update(number + 1)


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


def _check_updates(run: Progress, recipe: Recipe, epochs: int, updates: int) -> None:
    """Find the first of the last updates whose loss is NaN or infinite. Looking waits for the device."""
    recent = torch.stack(run.losses[-LOOK:])
    if recent.isfinite().all():
        return
    number = len(run.losses) - len(recent) + int((~recent.isfinite()).nonzero()[0])
    rate = recipe.lr * recipe.schedule((run.epoch * updates + number) / (epochs * updates))
    where = f"at update {number + 1:,} of {updates:,}, with learning rate {rate:g}"
    raise ValueError(_not_finite("training", float(run.losses[number]), run.epoch, f" {where}"))


def _not_finite(part: str, loss: float, epoch: int, where: str = "") -> str:
    return (
        f"the {part} loss of epoch {epoch + 1} is {loss}{where}: try a lower learning rate, or look for NaN or "
        "infinity in the weights that training started from"
    )


def _finish_epoch(run: Progress, model: nn.Module, valid_loss: float) -> None:
    """Add an epoch to the history, and copy the weights if they are the best. Losses leave the device here, at once."""
    history, losses, tokens = run.history, torch.stack(run.losses).cpu(), run.tokens
    best = run.best
    if best is None or valid_loss < min(history.valid_losses):
        best = {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}
    history.seconds.append(run.seconds)
    history.tokens.append(sum(tokens))
    history.train_losses.append(float(losses.sum()) / sum(tokens))
    history.batch_losses += (losses / torch.tensor(tokens)).tolist()
    history.valid_losses.append(valid_loss)
    run.best = best
    run.epoch, run.losses, run.tokens, run.seconds = run.epoch + 1, [], [], 0.0


def _check_one_process() -> None:
    processes = max(int(os.environ.get(name) or 1) for name in PROCESS_COUNTS)
    if processes > 1:
        raise ValueError(f"fit trains in one process, and was started in {processes}: start it without a launcher")


def _check_precision(precision: str | None, device: torch.device) -> None:
    if precision is None or device.type == "cpu":
        return
    if device.type != "cuda" or not torch.cuda.is_bf16_supported(including_emulation=False):
        raise ValueError(f"the device {device} does not compute in {precision}: leave the precision as it is")


def _progress_bar(updates: int, progress: bool, done: int) -> tqdm:
    """A bar that counts updates. tqdm's bar for notebooks ignores TQDM_DISABLE, so the variable is read here."""
    is_off = not progress or bool(os.environ.get("TQDM_DISABLE"))
    return tqdm(total=updates, initial=done, unit="update", leave=False, disable=is_off)
