"""Checkpoints of a training.

    fit(model, train, valid, epochs=4, lr=2e-3, checkpoints=Checkpoints("my-training"))

After a crash, the same call goes on and ends with the same weights, bit for bit. The order of batches is a pure
function of seed and epoch: a checkpoint has the epoch and its updates so far, and `Batches.epoch(number, start)` begins
there.
"""

from __future__ import annotations

import json
import re
import time
import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ..runtime.ownership import CHECKPOINT, kind_of, reading, remove, remove_halves, remove_if_empty
from .averaging import Weights
from .history import History
from .processes import ALONE, Processes
from .storage import Stored, fill, fitting, read_file, weights_of, write_file

FORMAT = "2"
NAME = re.compile(r"checkpoint-\d{10}\.safetensors")
CPU, CUDA = "random cpu", "random cuda"  # states of random generators: "random cpu 0" is that of process 0


@dataclass
class TrainingState:
    """What changes while a model is trained: all that a checkpoint holds, besides the states of random generators.

    Args:
        model, optimizer: they are trained.
        options: of the training; to go on, they must be the same.
        epoch: how many epochs are finished.
        losses, tokens: of each update of the running epoch.
        seconds: how long the updates of the running epoch have taken.
        best: the weights of the best finished epoch.
        ends: the weights at the ends of the last epochs, if they are averaged: one fewer than `average_last`.
    """

    model: nn.Module
    optimizer: torch.optim.Optimizer
    options: dict[str, object] = field(default_factory=dict[str, object])
    epoch: int = 0
    losses: list[Tensor] = field(default_factory=list[Tensor])
    tokens: list[int] = field(default_factory=list[int])
    seconds: float = 0.0
    history: History = field(default_factory=History)
    best: Weights | None = None
    ends: list[Weights] = field(default_factory=list[Weights])

    def finish_epoch(self, valid_loss: float) -> None:
        """Add the epoch to the history, and copy the weights if they are the best. Its losses leave the device here."""
        history, losses, best = self.history, torch.stack(self.losses).cpu(), self.best
        if best is None or valid_loss < min(history.valid_losses):
            best = {name: tensor.detach().clone() for name, tensor in self.model.state_dict().items()}
        history.seconds.append(self.seconds)
        history.tokens.append(sum(self.tokens))
        history.train_losses.append(float(losses.sum()) / sum(self.tokens))
        history.batch_losses += map(float, losses / torch.tensor(self.tokens))
        history.valid_losses.append(valid_loss)
        self.best, self.epoch, self.losses, self.tokens, self.seconds = best, self.epoch + 1, [], [], 0.0


class Stopped(Exception):
    """Training was asked to stop, has written a checkpoint, and ended."""


class Checkpoints:
    """A folder of checkpoints, and how often `fit` writes one: before the first update, after each epoch, and between.

    A checkpoint is one file, written in one step: weights, best weights, weights to average, the moments of Adam, the
    states of the random generators, epoch and update, the history, and the options of `fit`. It is a safetensors file:
    the tensors by kind and name, texts (`state` is JSON), and a checksum (`storage.py`). `replacing` writes it
    (`runtime/ownership.py`): beside its place, to the disk, and then it gets its name. To go on, call `fit` with the
    same arguments.

    Args:
        folder: of the checkpoints. Files of other kinds or names stay as they are.
        every_updates: write one after this many updates; default: go by the time alone.
        every_minutes: write one after this many minutes.
        keep: how many checkpoints stay in the folder. (Older ones are a reserve if a disk damages the last.)
        texts: texts of your own, which every checkpoint holds.

    Raises:
        ValueError: an argument is out of range.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        every_updates: int | None = None,
        every_minutes: float = 10.0,
        keep: int = 2,
        texts: Mapping[str, str] | None = None,
    ):
        if keep < 1 or every_minutes <= 0 or (every_updates is not None and every_updates < 1):
            raise ValueError("keep and every_updates are at least 1, and every_minutes is more than 0")
        self.folder, self.keep, self.texts = Path(folder), keep, dict(texts or {})
        self.every_updates, self.every_minutes = every_updates, every_minutes
        self.stop = False  # set it, in a signal handler for example, and `fit` stops after the running update
        self._last = time.monotonic()

    @property
    def files(self) -> list[Path]:
        """The files in the folder that have the name of a checkpoint, the oldest first."""
        return sorted(path for path in self.folder.glob("checkpoint-*.safetensors") if NAME.fullmatch(path.name))

    def stored_texts(self) -> dict[str, str] | None:
        """The texts of the last checkpoint; None: there is no checkpoint.

        Raises:
            ValueError: none of the checkpoints can be read.
        """
        _, stored = self._newest()
        return None if stored is None else stored.texts

    def due(self, updates: int) -> bool:
        """Whether to write a checkpoint after this many updates."""
        by_count = self.every_updates is not None and updates % self.every_updates == 0
        return self.stop or by_count or time.monotonic() - self._last > 60 * self.every_minutes

    def write(self, updates: int, state: TrainingState, processes: Processes = ALONE) -> None:
        """Write a checkpoint after this many updates, and remove the oldest ones. The first process writes it."""
        rng_states = _rng_states(next(state.model.parameters()).device, processes)
        if processes.first:  # one process writes, so what is half-written here was left by one that was killed
            self._remove_halves()
            texts = {**self.texts, "state": json.dumps(_texts(state, updates))}
            path = self.folder / f"checkpoint-{updates:010}.safetensors"
            write_file(path, _tensors(state) | rng_states, texts)
            for old in self.files[: -self.keep]:
                remove(old, CHECKPOINT)
        self._last = time.monotonic()

    def clear(self) -> None:
        """Remove all checkpoints, and the folder if nothing else is in it."""
        self._remove_halves()
        for path in self.files:
            remove(path, CHECKPOINT)
        remove_if_empty(self.folder)

    def _remove_halves(self) -> None:
        """Remove what killed processes have left: one process at a time writes checkpoints to a folder."""
        remove_halves(self.folder / "checkpoint-", age=0)

    def restore(self, state: TrainingState, processes: Processes = ALONE) -> None:
        """Put the state and the random generators where the last checkpoint was. Without one, nothing changes.

        Another number of processes may go on: random numbers are then other ones, and so are the weights if there is
        dropout.

        Raises:
            ValueError: training was started with other options, another model or another version of seqlearn; or the
                checkpoint holds something that no training writes.
        """
        path, stored = self._newest()
        if stored is None:
            return
        with reading(path):
            self._restore(state, stored, path, processes)
        processes.barrier()  # all have read it
        for damaged in self.files[self.files.index(path) + 1 :] if processes.first else []:
            remove(damaged, CHECKPOINT)  # or the rotation would keep it, and remove this one

    def _restore(self, state: TrainingState, stored: Stored, path: Path, processes: Processes) -> None:
        texts, tensors = json.loads(stored.texts.get("state", "{}")), stored.tensors
        if texts.get("format") != FORMAT:
            raise ValueError(f"{path} was written by another version of seqlearn: this one cannot go on with it")
        _compare(path.parent, texts["options"], json.loads(json.dumps(state.options)))
        parts = _by_kind(tensors)
        history = _history(texts, tensors, path)
        ends = [parts[f"end{number}"] for number in range(sum(kind.startswith("end") for kind in parts))]
        for weights in [parts.get("best", {})] * (history.epochs > 0) + ends:
            fitting(state.model, weights, path)
        fill(state.model, parts["weight"], path)
        _restore_moments(state.optimizer, parts.get("moment", {}), path, texts["updates"])
        device = next(state.model.parameters()).device
        _restore_rng_states(tensors, device, processes)
        state.epoch, state.tokens, state.seconds = texts["epoch"], texts["tokens"], texts["seconds"]
        state.history, state.ends = history, [_on(device, end) for end in ends]
        state.losses = list(tensors["losses"].to(device)) if "losses" in tensors else []
        state.best = _on(device, parts.get("best", {})) or None

    def _newest(self) -> tuple[Path, Stored | None]:
        """The last checkpoint that can be read. A damaged one is named, and the one before it is taken.

        Raises:
            ValueError: none can be read, or a file with such a name is not ours: training would replace the file.
        """
        for path in reversed(self.files):
            if kind_of(path) != CHECKPOINT:
                raise ValueError(f"{path} is damaged, or is not a checkpoint of seqlearn: move it away, and try again")
            try:
                stored = read_file(path)
                if not stored.checked:
                    raise ValueError(f"{path} is damaged: it has no checksum")
                return path, stored
            except ValueError as error:
                warnings.warn(f"{error}; going on from the checkpoint before it", stacklevel=6)
        if self.files:
            raise ValueError(f"none of the checkpoints in {self.folder} can be read")
        return self.folder, None


def _texts(state: TrainingState, updates: int) -> dict[str, object]:
    """What a checkpoint holds of the state as text; `_tensors` has the rest."""
    history = asdict(state.history)
    del history["batch_losses"]  # the only list that may be long
    progress = {"epoch": state.epoch, "tokens": state.tokens, "seconds": state.seconds, "history": history}
    return {"format": FORMAT, "updates": updates, "options": state.options, **progress}


def _tensors(state: TrainingState) -> dict[str, Tensor]:
    tensors = {f"weight {name}": tensor for name, tensor in weights_of(state.model).items()}
    tensors |= {f"best {name}": tensor.clone() for name, tensor in (state.best or {}).items()}
    for number, end in enumerate(state.ends):
        tensors |= {f"end{number} {name}": tensor for name, tensor in end.items()}
    tensors |= _moments(state.optimizer)
    tensors["batch losses"] = torch.tensor(state.history.batch_losses, dtype=torch.float64)
    return tensors | ({"losses": torch.stack(state.losses)} if state.losses else {})


def _moments(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """The state of the optimiser for each parameter, by the parameter's number."""
    state = optimizer.state_dict()["state"]
    return {f"moment {index} {name}": tensor for index, each in state.items() for name, tensor in each.items()}


def _history(texts: Mapping[str, Any], tensors: Mapping[str, Tensor], path: Path) -> History:  # Any: as JSON has them
    """The history that a checkpoint holds, if its numbers fit together."""
    history, running = History([*map(float, tensors["batch losses"])], **texts["history"]), texts["tokens"]
    floats, counts = [history.train_losses, history.valid_losses, history.seconds], [*running, *history.tokens]
    kinds = {*map(type, counts)} <= {int} and {*map(type, sum(floats, [texts["seconds"]]))} == {float}
    lengths = [len(each) for each in (*floats, history.tokens, running, [*history.batch_losses, *running])]
    if not kinds or lengths != [texts["epoch"]] * 4 + [len(tensors.get("losses", ())), texts["updates"]]:
        raise ValueError(f"{path} is damaged: the numbers of its history do not fit together")
    return history


def _restore_moments(optimizer: torch.optim.Optimizer, stored: Mapping[str, Tensor], path: Path, updates: int) -> None:
    """The kernel of Adam reads as many numbers as a parameter has: each moment has to have its shape."""
    parameters: list[Tensor] = optimizer.param_groups[0]["params"] if updates else []
    names = ("step", "exp_avg", "exp_avg_sq")
    needed = {f"{i} {name}": each.shape * (name != "step") for i, each in enumerate(parameters) for name in names}
    found = {key: tensor.shape for key, tensor in stored.items() if tensor.is_floating_point()}
    if wrong := sorted(key for key in needed.keys() | stored if needed.get(key) != found.get(key)):
        raise ValueError(f"{path} does not fit the model: the moment {wrong[0]} of Adam is missing, or of another kind")
    state: dict[int, dict[str, Tensor]] = {}
    for key, tensor in stored.items():
        index, name = key.split(" ")
        state.setdefault(int(index), {})[name] = tensor
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})


def _rng_states(device: torch.device, processes: Processes) -> dict[str, Tensor]:
    """The states of the random generators of all processes."""
    states = {CPU: torch.get_rng_state()} | ({CUDA: torch.cuda.get_rng_state(device)} if device.type == "cuda" else {})
    return {f"{name} {rank}": each for name in states for rank, each in enumerate(processes.all_gather(states[name]))}


def _restore_rng_states(stored: Mapping[str, Tensor], device: torch.device, processes: Processes) -> None:
    """Go on with the random numbers of this process; a process that was not there before gets other ones."""
    known = f"{CPU} {processes.rank}" in stored
    rank = processes.rank if known else 0
    torch.set_rng_state(stored[f"{CPU} {rank}"])
    if f"{CUDA} {rank}" in stored and device.type == "cuda":
        torch.cuda.set_rng_state(stored[f"{CUDA} {rank}"], device)
    if not known:
        processes.seed_by_rank()


def _on(device: torch.device, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: tensor.to(device) for name, tensor in tensors.items()}


def _by_kind(tensors: Mapping[str, Tensor]) -> dict[str, dict[str, Tensor]]:
    """ "weight encoder.rnn.weight" becomes the entry "encoder.rnn.weight" of "weight"."""
    parts: dict[str, dict[str, Tensor]] = {}
    for key, tensor in tensors.items():
        kind, _, name = key.partition(" ")
        parts.setdefault(kind, {})[name] = tensor
    return parts


def _compare(folder: Path, stored: Mapping[str, object], given: Mapping[str, object]) -> None:
    different = [name for name in {**stored, **given} if stored.get(name) != given.get(name)]
    if different:
        raise ValueError(
            f"the training in {folder} was started with another value of {', '.join(different)}: "
            "give the same arguments, or another folder"
        )
