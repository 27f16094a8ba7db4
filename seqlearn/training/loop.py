"""The training loop. `fit` trains a model in one call; `Training` is the same in steps that a reader can follow.

    Training(model, train, valid, Recipe(epochs=4, lr=2e-3)).run()

`run` repeats epochs, `train_epoch` goes through the data once, `update` changes the weights once.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from ..data.batches import Batch, Batches
from ..runtime.devices import best_device
from ..runtime.threads import fitting_threads, where_it_runs
from ..runtime.values import check_items
from .averaging import Weights, copied, mean_of, using_weights
from .checkpoints import Checkpoints, Stopped, TrainingState
from .history import History
from .interrupts import uninterrupted
from .losses import batch_loss, mean_loss
from .processes import init_processes
from .progress import Log, Logged, ProgressBar, progress_bar
from .recipe import Recipe

CHECK_EVERY = 50  # updates: how often losses on a GPU are checked, because reading them waits for the GPU
READY = ("cpu",)  # devices where a number can be read without waiting
FUSED = ("cpu", "cuda", "mps")  # devices where PyTorch has Adam in a single kernel

Hook = Callable[[nn.Module, History], None]


class Diverged(ValueError):
    """A loss or a gradient is NaN or infinite: training cannot go on."""


def fit(
    model: nn.Module,
    train: Batches,
    valid: Batches,
    *,
    epochs: int,
    lr: float,
    after_epoch: Sequence[Hook] = (),
    checkpoints: Checkpoints | None = None,
    progress: bool = True,
    log: Log | None = None,
    **recipe: Any,  # each has a type of its own
) -> History:
    """Train with Adam, and leave the model with the weights of its best epoch on the validation data.

    Args:
        epochs, lr, recipe: the options of `Recipe`, such as `schedule`, `label_smoothing`, `accumulate`, `patience`.
        model, train, valid, after_epoch, checkpoints, progress, log: see `Training`.

    Raises: see `Recipe`, `Training` and `Training.run`.
    """
    how = Recipe(epochs=epochs, lr=lr, **recipe)
    return Training(model, train, valid, how, after_epoch, checkpoints, progress, log).run()


class Training:
    """One training: a model with its data and its recipe, and how far it has come.

    Under torchrun or `accelerate launch`, all processes train the model together; see `seqlearn.training.processes`.

    Args:
        model: moved to `best_device()`.
        train, valid: batches. `valid` is used only to choose the best epoch.
        recipe: how the weights are changed, and for how long.
        after_epoch: functions of `(model, history)`, called after each epoch: a plot, a sample translation. The model
            has the weights that were validated. With several processes, only the first calls them.
        checkpoints: where to write checkpoints. If there are some, training goes on from the last one, and ends with
            the same weights and the same history (but for the seconds) as a training that was never stopped.
        progress: show a progress bar.
        log: what is told of the updates; reading their losses waits for the device.

    Raises:
        TypeError: something other than a model and batches is given, or `after_epoch` is one function.
        ValueError: the device does not compute in the precision of the recipe.
    """

    def __init__(
        self,
        model: nn.Module,
        train: Batches,
        valid: Batches,
        recipe: Recipe,
        after_epoch: Sequence[Hook] = (),
        checkpoints: Checkpoints | None = None,
        progress: bool = True,
        log: Log | None = None,
    ):
        _check_types(model, train, valid)
        check_items("after_epoch", after_epoch, "functions")
        self.device = best_device()
        _check_precision(recipe.precision, self.device)
        model.to(self.device)
        self.model, self.train, self.valid, self.recipe = model, train, valid, recipe
        self.after_epoch, self.checkpoints, self.progress, self.log = after_epoch, checkpoints, progress, log
        self.optimizer = torch.optim.Adam(model.parameters(), lr=recipe.lr, fused=self.device.type in FUSED)
        self.processes = replace(init_processes(), stop=self.is_asked_to_stop)
        self.state = TrainingState(model, self.optimizer)
        self.updates = math.ceil(len(train) / recipe.accumulate)  # of an epoch; the last may have fewer batches
        self.unchecked: list[Tensor] = []  # the norms of the gradients of the last updates, until they are checked
        self.initial: Weights = {}  # the weights at the start, until an epoch is finished

    def run(self) -> History:
        """Train, and leave the model with the weights of its best epoch. What happened in each epoch is returned.

        On the CPU, `threads_for(model)` threads compute. Ctrl-C (or the stop button of a notebook) ends training early
        and keeps the best weights so far.

        Raises:
            Diverged: a loss or a gradient is NaN or infinite. The model then has the weights of the best epoch before,
                in the first epoch those that it came with.
            ValueError: a schedule gives an impossible number, or the checkpoints belong to a training with other
                arguments.
            Stopped: `checkpoints.stop` was set. A checkpoint was written.
            ConnectionError: another process of this training has ended.
        """
        self._start_or_resume()
        state, recipe = self.state, self.recipe
        total, shown = recipe.epochs * self.updates, self.progress and self.processes.first
        bar = progress_bar(total, shown, self.updates_done, where_it_runs(self.model))
        with fitting_threads(self.model), bar, self._best_at_the_end():
            self.write_checkpoint()
            while state.epoch < recipe.epochs and (
                recipe.patience is None or state.history.epochs_since_best < recipe.patience
            ):
                self.train_epoch(bar)
                self.end_epoch()
        return state.history

    @property
    def updates_done(self) -> int:
        """How many updates there were since training began."""
        return self.state.epoch * self.updates + len(self.state.losses)

    @property
    def done(self) -> float:
        """The share of training done, 0 to 1."""
        return self.updates_done / (self.recipe.epochs * self.updates)

    def train_epoch(self, bar: ProgressBar) -> None:
        """Go through the training data once, in train mode; after a restart, through what is left of the epoch.

        Args:
            bar: advances by one with each update.

        Raises: see `run`.
        """
        state, accumulate = self.state, self.recipe.accumulate
        self.model.train()
        start = time.perf_counter() - state.seconds
        batches = self.train.epoch(state.epoch, start=len(state.losses) * accumulate)
        while group := list(islice(batches, accumulate)):
            loss, norm = self.update(group)
            state.losses.append(loss)
            state.tokens.append(sum(batch.tokens for batch in group))
            state.seconds = time.perf_counter() - start
            self.unchecked.append(norm)
            bar.update()
            done = len(state.losses)
            if self.device.type in READY or done % CHECK_EVERY == 0 or done == self.updates:
                self.check_updates()
            if self.log is not None and self.updates_done % self.log.every == 0 and self.processes.first:
                self.log.write(self._logged(self.log.every))
            self.write_checkpoint()

    def update(self, batches: Sequence[Batch]) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        """Change the weights once, by the gradient of the mean loss of all real target tokens in these batches.

        The batches go through the model one after the other, so memory holds only one. With several processes,
        each computes the gradient for its share of the batches.

        Returns:
            The loss, summed over the real target tokens, and the norm of the gradient before it was clipped. Both stay
            on the device: reading them would wait for the GPU.

        Raises:
            TypeError: this is one batch.
            ValueError: there is no batch, or a schedule gives an impossible number. The weights stay as they are.
        """
        if isinstance(batches, Batch):
            raise TypeError("an update takes a list of batches, such as [batch], not one batch")
        if not batches:
            raise ValueError("an update needs a batch: the list is empty")
        recipe, tokens = self.recipe, sum(batch.tokens for batch in batches)
        teacher_forcing, rate = recipe.forcing(self.done), recipe.rate(self.done)
        for parameters in self.optimizer.param_groups:
            parameters["lr"] = rate
        total = torch.zeros((), device=self.device)
        self.optimizer.zero_grad()
        for batch in self.processes.share(batches):
            with torch.autocast(self.device.type, torch.bfloat16, enabled=recipe.precision == "bf16"):
                loss = batch_loss(
                    self.model, batch.to(self.device), self.train.pad, teacher_forcing, recipe.label_smoothing
                )
            mean = loss / tokens  # the tokens of all batches: each token counts the same
            mean.backward()  # pyright: ignore[reportUnknownMemberType]  PyTorch leaves the types out
            total = total + loss.detach()
        total = self.processes.all_reduce(self.model, total)
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), recipe.clip)
        self.optimizer.step()  # pyright: ignore[reportUnknownMemberType]  PyTorch leaves the types out
        return total, norm

    def check_updates(self) -> None:
        """Refuse NaN and infinity in the updates since the last check. Reading them waits for the device.

        Raises:
            Diverged: there is one. The message names the first such update.
        """
        losses = self.state.losses[-len(self.unchecked) :]
        recent = torch.stack([torch.stack(losses), torch.stack(self.unchecked)], dim=1)  # updates, 2
        self.unchecked.clear()
        if recent.isfinite().all():
            return
        row, column = map(int, (~recent.isfinite()).nonzero()[0])
        number = len(self.state.losses) - len(recent) + row
        before = self.state.epoch * self.updates + number
        rate = self.recipe.rate(before / (self.recipe.epochs * self.updates))
        where = f" at update {number + 1:,} of {self.updates:,}, with learning rate {rate:g}"
        part = ("training loss", "norm of the gradient")[column]
        raise Diverged(_not_finite(part, float(recent[row, column]), self.state.epoch, where))

    def _logged(self, count: int) -> Logged:
        """What there is to tell of the last `count` updates, or of those of this epoch if they are fewer."""
        state, rate = self.state, self.optimizer.param_groups[0]["lr"]
        loss = float(torch.stack(state.losses[-count:]).sum()) / sum(state.tokens[-count:])
        return Logged(self.updates_done, loss, rate, sum(state.tokens) / state.seconds)

    def end_epoch(self) -> None:
        """Validate the weights, keep them if they are the best so far, write a checkpoint, and call the hooks.

        Raises:
            Diverged: the validation loss is NaN or infinite.
            Stopped: training was asked to stop.
        """
        state, mean = self.state, self._mean_of_last()
        with using_weights(self.model, mean):
            valid_loss = mean_loss(self.model, self.valid, self.device, self.processes)
            if not math.isfinite(valid_loss):
                raise Diverged(_not_finite("validation loss", valid_loss, state.epoch))
            with uninterrupted():
                state.finish_epoch(valid_loss)
                self.initial.clear()
        self.write_checkpoint(may_stop=False)  # first: a crash in a slow hook must not lose the epoch
        with using_weights(self.model, mean):
            for hook in self.after_epoch if self.processes.first else ():
                hook(self.model, state.history)
        if self.processes.any(self.is_asked_to_stop())[0]:
            raise Stopped

    def write_checkpoint(self, may_stop: bool = True) -> None:
        """Write a checkpoint if one is due: between two epochs, after some time, and before a stop.

        Raises:
            Stopped: training was asked to stop, and may.
        """
        if self.checkpoints is None:
            return
        done, between_epochs = self.updates_done, not self.state.losses
        stop, due = self.processes.any(self.checkpoints.stop, between_epochs or self.checkpoints.due(done))
        if stop or due:
            self.checkpoints.write(done, self.state, self.processes)
        if stop and may_stop:
            raise Stopped

    def is_asked_to_stop(self) -> bool:
        """Whether somebody has asked this process to stop."""
        return self.checkpoints is not None and self.checkpoints.stop

    def _start_or_resume(self) -> None:
        """Give all processes the same weights, and go on from the last checkpoint if there is one."""
        if self.checkpoints is not None or self.processes.world_size > 1:
            data = {"train": self.train.fingerprint(), "valid": self.valid.fingerprint()}
            self.state.options = {**self.recipe.as_json(), **data}
            self.processes.synchronize(self.model, str(self.state.options))
        if self.checkpoints is not None:
            self.checkpoints.restore(self.state, self.processes)

    def _mean_of_last(self) -> Weights | None:
        """The mean of the weights at the ends of the last epochs, this one included. None: nothing to average."""
        if self.recipe.average_last == 1:
            return None
        ends = [*self.state.ends, copied(self.model)]
        self.state.ends = ends[1 - self.recipe.average_last :]
        return mean_of(ends)

    @contextmanager
    def _best_at_the_end(self) -> Generator[None]:
        """Give the model the weights of its best epoch, also after an error; Ctrl-C ends the block without an error.

        If a ValueError ends the first epoch, the model gets the weights that it came with.
        """
        model, state = self.model, self.state
        self.initial = {} if state.best is not None else copied(model)
        try:
            yield
        except KeyboardInterrupt:
            state.history.interrupted = True
        except ValueError:
            model.load_state_dict(self.initial, strict=False)  # not strict: of tied weights other names are missing
            raise
        finally:
            if state.best is not None:
                with uninterrupted():  # a second Ctrl-C would leave some weights of each epoch
                    model.load_state_dict(state.best)


def _check_types(model: object, train: object, valid: object) -> None:
    if not (isinstance(model, nn.Module) and hasattr(train, "epoch") and hasattr(valid, "pad")):
        given = ", ".join(type(each).__name__ for each in (model, train, valid))
        raise TypeError(f"fit takes a torch.nn.Module, Batches to train on and Batches to choose with, not {given}")


def _not_finite(part: str, value: float, epoch: int, where: str = "") -> str:
    return (
        f"the {part} of epoch {epoch + 1} is {value}{where}: try a lower learning rate, or look for NaN or infinity in "
        "the weights that training started from"
    )


def _check_precision(precision: str | None, device: torch.device) -> None:
    if precision is None or device.type == "cpu":
        return
    if device.type != "cuda" or not torch.cuda.is_bf16_supported(including_emulation=False):
        raise ValueError(f"the device {device} does not compute in {precision}: leave the precision as it is")
