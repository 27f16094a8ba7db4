"""The training loop: `update` changes the weights once, `train_epoch` goes through the data once, and `fit` repeats
epochs and keeps the best weights.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice

import torch
from jaxtyping import Float
from torch import Tensor, nn
from tqdm.auto import tqdm

from ..data.batches import Batch, Batches
from ..devices import best_device
from ..threads import fitting_threads, where_it_runs
from .averaging import copied, mean_of, using_weights
from .checkpoints import Checkpoints, Progress, Stopped
from .curriculum import Curriculum
from .history import History
from .interrupts import uninterrupted
from .losses import batch_loss, mean_loss
from .processes import Processes, join
from .schedules import Schedule, constant, linear_decay

LOOK = 50  # updates: how often the losses on a GPU are looked at, which waits for it
FUSED = ("cpu", "cuda", "mps")  # where torch has Adam in a single kernel


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
    patience: int | None = None,
    average: int = 1,
    after_epoch: Sequence[Callable[[nn.Module, History], None]] = (),
    checkpoints: Checkpoints | None = None,
    progress: bool = True,
) -> History:
    """Train with Adam, and leave the model with the weights of its best epoch on the validation data.

    The model is moved to `best_device()`. On the CPU, `threads_for(model)` threads compute. Ctrl-C (or the stop button
    of a notebook) ends training early and keeps the best weights so far. Under torchrun or `accelerate launch`, all
    processes train the model together; see `seqlearn.training.processes`.

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
        patience: end after this many epochs in a row without a better validation loss. The learning rate changes as if
            all `epochs` would come.
        average: validate, and keep when best, the mean of the weights at the ends of the last `average` epochs (of all
            epochs, as long as there are fewer). Training goes on with its own weights. Vaswani et al. (2017), section
            6.1, average the last checkpoints.
        after_epoch: functions of `(model, history)`, called after each epoch: a plot, a sample translation. The model
            has the weights that were validated. Of several processes, the first calls them.
        checkpoints: where to write checkpoints. If there are some, training goes on from the last one, and ends with
            the same weights and the same history (but for the seconds) as a training that was never stopped.
        progress: show a progress bar.

    Raises:
        ValueError: a loss is NaN or infinite. The model then has the weights of the best epoch before. Or the
            checkpoints belong to a training with other arguments.
        Stopped: `checkpoints.stop` was set. A checkpoint was written.
        ConnectionError: another process of this training has ended.
    """
    recipe = Recipe(lr, schedule, clip, teacher_forcing, label_smoothing, accumulate, precision)
    device = best_device()
    processes = join()
    _check_precision(precision, device)
    if average < 1 or (patience is not None and patience < 1):
        raise ValueError(f"average and patience are at least 1, not {average} and {patience}")
    model.to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=lr, fused=device.type in FUSED)
    run, options = Progress(), {}
    if checkpoints is not None or processes.count > 1:
        options = {**recipe.fixed(), "epochs": epochs, "train": train.fingerprint(), "valid": valid.fingerprint()}
        options |= {"patience": patience, "average": average}
        processes.start_alike(model, str(options))
    if checkpoints is not None:
        run = checkpoints.restore(model, optimizer, options, processes) or run
    history, updates = run.history, recipe.updates(train)

    def keep(done: int, may_stop: bool = True) -> None:
        """Write a checkpoint if one is due, and stop if somebody asked for it."""
        if checkpoints is None:
            return
        epoch_ended = done % updates == 0 and not run.losses
        stop, due = processes.any(checkpoints.stop, epoch_ended or checkpoints.due(done))
        if stop or due:
            checkpoints.write(done, model, optimizer, run, options, processes)
        if stop and may_stop:
            raise Stopped

    done = run.epoch * updates + len(run.losses)
    bar = _progress_bar(epochs * updates, progress and processes.first, done, where_it_runs(model))
    with fitting_threads(model), bar, _best_at_the_end(run, model):
        keep(done)
        while run.epoch < epochs and (patience is None or history.epochs_since_best < patience):
            train_epoch(model, optimizer, train, recipe, processes, run, epochs, bar, keep)
            mean = _end_epoch(run, model, average)
            with using_weights(model, mean):
                valid_loss = mean_loss(model, valid, device, processes)
                if not math.isfinite(valid_loss):
                    raise ValueError(_not_finite("validation", valid_loss, run.epoch))
                with uninterrupted():
                    _finish_epoch(run, model, valid_loss)
            keep(run.epoch * updates, may_stop=False)  # first: a crash in a slow hook shall not lose the epoch
            with using_weights(model, mean):
                for function in after_epoch if processes.first else ():
                    function(model, history)
            if processes.any(checkpoints is not None and checkpoints.stop)[0]:
                raise Stopped
    return history


@contextmanager
def _best_at_the_end(run: Progress, model: nn.Module) -> Iterator[None]:
    """Give the model the weights of its best epoch, after an error, too; Ctrl-C ends the block and is no error."""
    try:
        yield
    except KeyboardInterrupt:
        run.history.interrupted = True
    finally:
        if run.best is not None:
            with uninterrupted():  # a second Ctrl-C would leave some weights of each epoch
                model.load_state_dict(run.best)


def train_epoch(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    train: Batches | Curriculum,
    recipe: Recipe,
    processes: Processes,
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
        progress = number / (epochs * updates)
        run.losses.append(update(model, optimizer, batches, train.pad, recipe, processes, progress))
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
    processes: Processes,
    progress: float,
) -> Float[Tensor, ""]:
    """Change the weights once, by the gradient of the mean loss of all real target tokens in these batches.

    Args:
        batches: the batches of this update. They go through the model one after the other, so memory holds only one.
        pad: the id of <pad> in the target.
        processes: each computes the gradient for its share of the batches.
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
    for batch in processes.share(batches):
        with torch.autocast(device.type, torch.bfloat16, enabled=recipe.precision == "bf16"):
            loss = batch_loss(model, batch.to(device), pad, teacher_forcing, recipe.label_smoothing)
        (loss / tokens).backward()  # the tokens of all batches: each token counts the same
        total = total + loss.detach()
    total = processes.add_up(model, total)
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


def _end_epoch(run: Progress, model: nn.Module, average: int) -> dict[str, Tensor] | None:
    """The mean of the weights at the ends of the last epochs, this one included. None: nothing to average."""
    if average == 1:
        return None
    ends = [*run.ends, copied(model)]
    run.ends = ends[1 - average :]
    return mean_of(ends)


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


def _check_precision(precision: str | None, device: torch.device) -> None:
    if precision is None or device.type == "cpu":
        return
    if device.type != "cuda" or not torch.cuda.is_bf16_supported(including_emulation=False):
        raise ValueError(f"the device {device} does not compute in {precision}: leave the precision as it is")


def _progress_bar(updates: int, progress: bool, done: int, where: str) -> tqdm:
    """A bar that counts updates. tqdm's bar for notebooks ignores TQDM_DISABLE, so the variable is read here."""
    is_off = not progress or bool(os.environ.get("TQDM_DISABLE"))
    return tqdm(desc=f"on {where}", total=updates, initial=done, unit="update", leave=False, disable=is_off)
