"""Checkpoints of a training: after a crash, the same call of `fit` goes on and ends with the same weights, bit for bit.

fit(model, train, valid, epochs=4, lr=2e-3, checkpoints=Checkpoints("my-training"))
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch
from torch import Tensor, nn

from .history import History
from .processes import ALONE, Processes
from .storage import Stored, fill, read_file, weights_of, write_file

FORMAT = "2"
CPU, CUDA = "random cpu", "random cuda"  # states of the generators of random numbers: "random cpu 0" of process 0


@dataclass
class Progress:
    """How far a training has come.

    Args:
        epoch: how many epochs are finished.
        losses, tokens: of each update of the epoch that is running, as `train_epoch` collects them.
        seconds: how long the updates of the running epoch have taken.
        best: the weights of the best finished epoch.
        ends: the weights at the ends of the last epochs, if `fit` averages them: one fewer than it averages.
    """

    epoch: int = 0
    losses: list[Tensor] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    seconds: float = 0.0
    history: History = field(default_factory=History)
    best: dict[str, Tensor] | None = None
    ends: list[dict[str, Tensor]] = field(default_factory=list)


class Stopped(Exception):
    """Training was asked to stop, has written a checkpoint, and ended."""


class Checkpoints:
    """A folder of checkpoints, and how often `fit` writes one: before the first update, after each epoch, and between.

    A checkpoint is one file, written in one step: weights, best weights, weights to average, the moments of Adam, the
    states of the random generators, epoch and update, the history, and the options of `fit`. To go on, call `fit` with
    the same arguments.

    Args:
        folder: for nothing else.
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
        """The checkpoints in the folder, the oldest first."""
        return sorted(self.folder.glob("checkpoint-*.safetensors"))

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

    def write(
        self,
        updates: int,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        progress: Progress,
        options: Mapping[str, object],
        processes: Processes = ALONE,
    ) -> None:
        """Write a checkpoint after this many updates, and remove the oldest ones. The first process writes it."""
        chance = _chance(next(model.parameters()).device, processes)
        if processes.first:  # one process writes, so what is half-written here was left by one that was killed
            for half in self.folder.glob("checkpoint-*.safetensors.*.new"):
                half.unlink(missing_ok=True)
            state = {"format": FORMAT, "updates": updates, "options": dict(options)} | _state(progress)
            texts = {**self.texts, "state": json.dumps(state)}
            path = self.folder / f"checkpoint-{updates:010}.safetensors"
            write_file(path, _tensors(model, optimizer, progress) | chance, texts)
            for old in self.files[: -self.keep]:
                old.unlink(missing_ok=True)
        self._last = time.monotonic()

    def restore(
        self,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        options: Mapping[str, object],
        processes: Processes = ALONE,
    ) -> Progress | None:
        """Put model, optimiser and random generators where the last checkpoint was. None: there is no checkpoint.

        Another number of processes may go on: chance is then another one, and so are the weights if there is dropout.

        Raises:
            ValueError: training was started with other options, another model or another version of seqlearn.
        """
        path, stored = self._newest()
        if stored is None:
            return None
        state = json.loads(stored.texts.get("state", "{}"))
        if state.get("format") != FORMAT:
            raise ValueError(f"{path} was written by another version of seqlearn: this one cannot go on with it")
        _compare(path.parent, state["options"], json.loads(json.dumps(dict(options))))
        parts = _by_kind(stored.tensors)
        fill(model, parts["weight"], path)
        _restore_moments(optimizer, parts.get("moment", {}), path)
        device = next(model.parameters()).device
        _restore_chance(stored.tensors, device, processes)
        history = History(batch_losses=stored.tensors["batch losses"].tolist(), **state["history"])
        best = _on(device, parts.get("best", {})) or None
        ends = [_on(device, parts[f"end{number}"]) for number in range(sum(kind.startswith("end") for kind in parts))]
        losses = list(stored.tensors["losses"].to(device)) if "losses" in stored.tensors else []
        processes.wait()  # all have read it
        for damaged in self.files[self.files.index(path) + 1 :] if processes.first else []:
            damaged.unlink(missing_ok=True)  # or the rotation would keep it, and remove this one
        return Progress(state["epoch"], losses, state["tokens"], state["seconds"], history, best, ends)

    def _newest(self) -> tuple[Path, Stored | None]:
        """The last checkpoint that can be read. A damaged one is named, and the one before it is taken."""
        for path in reversed(self.files):
            try:
                stored = read_file(path)
                if not stored.checked:
                    raise ValueError(f"{path} is damaged: it has no checksum")
                return path, stored
            except ValueError as error:
                warnings.warn(f"{error}; going on from the checkpoint before it", stacklevel=4)
        if self.files:
            raise ValueError(f"none of the checkpoints in {self.folder} can be read")
        return self.folder, None


def _state(progress: Progress) -> dict[str, object]:
    """What a checkpoint holds of the progress as text; `_tensors` has the rest."""
    history = asdict(progress.history)
    del history["batch_losses"]  # the only list that may be long
    return {"epoch": progress.epoch, "tokens": progress.tokens, "seconds": progress.seconds, "history": history}


def _tensors(model: nn.Module, optimizer: torch.optim.Optimizer, progress: Progress) -> dict[str, Tensor]:
    tensors = {f"weight {name}": tensor for name, tensor in weights_of(model).items()}
    tensors |= {f"best {name}": tensor.clone() for name, tensor in (progress.best or {}).items()}
    for number, end in enumerate(progress.ends):
        tensors |= {f"end{number} {name}": tensor for name, tensor in end.items()}
    tensors |= _moments(optimizer) | {"batch losses": torch.tensor(progress.history.batch_losses, dtype=torch.float64)}
    return tensors | ({"losses": torch.stack(progress.losses)} if progress.losses else {})


def _moments(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """The state of the optimiser for each parameter, by the parameter's number."""
    state = optimizer.state_dict()["state"]
    return {f"moment {index} {name}": tensor for index, each in state.items() for name, tensor in each.items()}


def _restore_moments(optimizer: torch.optim.Optimizer, stored: Mapping[str, Tensor], path: Path) -> None:
    state: dict[int, dict[str, Tensor]] = {}
    for key, tensor in stored.items():
        index, name = key.split(" ")
        state.setdefault(int(index), {})[name] = tensor
    if state and len(state) != len(optimizer.param_groups[0]["params"]):
        raise ValueError(f"{path} holds the moments of {len(state)} parameters, and the model has another number")
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})


def _chance(device: torch.device, processes: Processes) -> dict[str, Tensor]:
    """The states of the generators of random numbers of all processes."""
    states = {CPU: torch.get_rng_state()} | ({CUDA: torch.cuda.get_rng_state(device)} if device.type == "cuda" else {})
    return {f"{name} {rank}": each for name in states for rank, each in enumerate(processes.gather(states[name]))}


def _restore_chance(stored: Mapping[str, Tensor], device: torch.device, processes: Processes) -> None:
    """Go on with the random numbers of this process; of a process that there was not, with other ones."""
    known = f"{CPU} {processes.rank}" in stored
    rank = processes.rank if known else 0
    torch.set_rng_state(stored[f"{CPU} {rank}"])
    if f"{CUDA} {rank}" in stored and device.type == "cuda":
        torch.cuda.set_rng_state(stored[f"{CUDA} {rank}"], device)
    if not known:
        processes.own_chance()


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
