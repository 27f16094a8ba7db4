"""Processes that train together: how tests start them, and what each of them does in `test_processes.py`."""

import os
import socket
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from unittest import mock

import torch

from seqlearn.data.batches import Batches
from seqlearn.data.pairs import Pair
from seqlearn.data.text import Language
from seqlearn.nn.transformer import TransformerConfig, transformer
from seqlearn.training import Checkpoints, Stopped, fit, processes as rooms
from seqlearn.training.loop import Training
from seqlearn.training.processes import init_processes

LINES = [" ".join("abcdef"[(i + j) % 6] for j in range(1 + i % 5)) for i in range(46)]
LANGUAGE = Language.learn("", LINES)
PAIRS = [Pair(line, line[::-1]) for line in LINES]
# 7 batches, and two for each update: the last update has a batch of one pair, so that some shares of it are empty.
TRAIN, VALID = Batches(PAIRS[:37], LANGUAGE, LANGUAGE, 6), Batches(PAIRS[37:], LANGUAGE, LANGUAGE, 4)


def start(count, *command, **options):
    """Start Python with this command in several processes, as torchrun does. Options: of `Popen`."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    launcher = {"WORLD_SIZE": str(count), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    return [
        subprocess.Popen([sys.executable, *command], env={**os.environ, **launcher, "RANK": str(rank)}, **options)
        for rank in range(count)
    ]


class Killed(Exception):
    """Stands for a crash of all processes at once."""


def train(dropout=0.0, seed=0, train=TRAIN, checkpoints=None, before_update=lambda done: None, accumulate=2):
    """Weights and history of a training of three epochs in 64-bit numbers."""
    torch.manual_seed(seed)
    size = len(LANGUAGE.vocab)
    config = TransformerConfig(num_hiddens=8, ffn_num_hiddens=8, num_heads=2, dropout=dropout)
    model = transformer(size, size, config).double()
    update = Training.update

    def watched(training, batches):
        before_update(training.done)
        return update(training, batches)

    with mock.patch.object(Training, "update", watched):
        history = fit(
            model, train, VALID, epochs=3, lr=0.01, accumulate=accumulate, checkpoints=checkpoints, progress=False
        )
    return {"weights": model.state_dict(), "history": history, "random": torch.rand(3)}


def at(share, action):
    """Do something before the first update at this share of the training."""
    return lambda done: action() if done >= share else None


def crash():
    raise Killed


def main(folder):
    processes, results = init_processes(), {}
    name = f"{processes.world_size} processes"
    results["whole"] = train(seed=processes.rank)  # the weights of the first process count
    results["every batch in rows"] = train(accumulate=1)
    if processes.world_size == 3:
        results["resumed"] = train(seed=9, checkpoints=Checkpoints(folder / "lost"))
    if processes.world_size == 2:
        chance = []
        results["dropout"] = train(dropout=0.3, before_update=lambda _: chance.append(torch.get_rng_state()))
        results["chance"] = chance[0]
        try:
            checkpoints = Checkpoints(folder / "dropout", every_updates=1)
            train(dropout=0.3, checkpoints=checkpoints, before_update=at(0.5, crash))
        except Killed:
            results["dropout, resumed"] = train(dropout=0.3, seed=9, checkpoints=Checkpoints(folder / "dropout"))
        checkpoints = Checkpoints(folder / "stopped")
        try:
            ask = at(0.4, lambda: setattr(checkpoints, "stop", processes.rank == 1))
            train(checkpoints=checkpoints, before_update=ask)
        except Stopped:
            results["stopped"] = train(seed=9, checkpoints=Checkpoints(folder / "stopped"))
        try:
            train(train=Batches(PAIRS[processes.rank :], LANGUAGE, LANGUAGE, 6))
        except ValueError as error:
            results["other data"] = str(error)
    torch.save(results, folder / f"{name}, {processes.rank}.pt")
    if processes.world_size == 2:  # one of them is killed; the other must not wait for ever
        checkpoints = Checkpoints(folder / "lost", every_updates=2)
        die = at(0.6, (lambda: os._exit(9)) if processes.rank == 1 else (lambda: None))
        try:
            train(checkpoints=checkpoints, before_update=die)
        except ConnectionError as error:
            (folder / "said.txt").write_text(str(error), encoding="utf-8")


if __name__ == "__main__":
    torch.set_num_threads(1)
    rooms.POLL = timedelta(milliseconds=1)  # nearly every wait is interrupted, and changes no bit
    main(Path(sys.argv[1]))
