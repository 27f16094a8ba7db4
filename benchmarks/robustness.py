"""What must hold when processes die: python benchmarks/robustness.py [kills|loads|pairs|trainings] [--count N]

    kills      a process is killed (SIGKILL) while it saves a translator over another one: 400 times
    loads      a translator is loaded again and again while another process saves two in turn: 1,000 loads
    pairs      two processes save different translators to one folder at once: 120 times
    trainings  `seqlearn train` is killed at random moments, some inside a checkpoint, and resumed: 20 trainings

Each line says how many trials there were and how many were bad. The exit status is 1 if one was bad. Unix only.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch

from seqlearn.data.text import Language
from seqlearn.training.storage import read_file
from seqlearn.translator.saving import MODEL
from seqlearn.translator.translator import Translator

HIDDEN = 128  # large enough that a save takes some milliseconds


def make(word: str) -> Translator:
    """An untrained translator with a vocabulary and weights of its own."""
    language = Language.learn("", [word, *("x" * number for number in range(1, len(word)))])
    torch.manual_seed(len(word))
    return Translator.new("bahdanau", language, language, num_hiddens=HIDDEN)


TRANSLATORS = {word: make(word) for word in ("old", "newer")}


def whole(folder: Path) -> str:
    """Which translator is in the folder: "old" or "newer".

    Raises:
        ValueError: it cannot be loaded, or holds parts of both.
    """
    found = Translator.load(folder, "cpu")
    for word, translator in TRANSLATORS.items():
        if found.source.vocab.tokens == translator.source.vocab.tokens == found.target.vocab.tokens:
            both = zip(found.model.parameters(), translator.model.parameters(), strict=True)
            if all(torch.equal(*pair) for pair in both):
                return word
    raise ValueError(f"{folder} holds parts of two translators")


def bad_load(folder: Path, seen: dict[str, int]) -> bool:
    """Load the translator in the folder and count which one it is. Whether that failed; if so, the error is shown."""
    try:
        seen[whole(folder)] += 1
    except (ValueError, OSError) as error:
        print(error)
        return True
    return False


def fork(work: Callable[[], None]) -> int:
    """Do the work in another process. Its number."""
    child = os.fork()
    if not child:
        try:
            work()
        finally:
            os._exit(0)
    return child


def kills(count: int, folder: Path) -> int:
    """Kill a save at a moment that is spread over the time that a save takes."""
    (old, new), rng, bad = TRANSLATORS.values(), random.Random(0), 0
    seen = dict.fromkeys(TRANSLATORS, 0)
    new.save(folder)  # the first one imports what later ones have
    start = time.perf_counter()
    new.save(folder)
    duration = time.perf_counter() - start
    for _ in range(count):
        old.save(folder)
        child = fork(lambda: new.save(folder))
        time.sleep(rng.random() * 2.5 * duration)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        bad += bad_load(folder, seen)
    print(f"kills inside a save: {count}, {seen}, bad {bad}")
    return bad


def loads(count: int, folder: Path) -> int:
    """Load while another process saves."""
    (old, new), bad = TRANSLATORS.values(), 0

    def save_for_ever() -> None:
        while True:
            new.save(folder)
            old.save(folder)

    old.save(folder)
    child, seen = fork(save_for_ever), dict.fromkeys(TRANSLATORS, 0)
    for _ in range(count):
        bad += bad_load(folder, seen)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    print(f"loads during saves: {count}, {seen}, bad {bad}")
    return bad


def pairs(count: int, folder: Path) -> int:
    """Two saves at once."""
    bad, seen = 0, dict.fromkeys(TRANSLATORS, 0)
    for _ in range(count):
        for child in [fork(lambda each=each: each.save(folder)) for each in TRANSLATORS.values()]:
            os.waitpid(child, 0)
        bad += bad_load(folder, seen)
    print(f"pairs of saves at once: {count}, {seen}, bad {bad}")
    return bad


def trainings(count: int, folder: Path) -> int:
    """Kill trainings at random moments, resume them, and compare weights and configuration with one that lived."""
    rng, bad, killed = random.Random(0), 0, 0
    tsv = folder / "pairs.tsv"
    words = "red blue one three".split()
    tsv.write_text("".join(f"{' '.join(rng.choices(words, k=i % 5 + 1))} w{i}\tx w{i}\n" for i in range(200)), "utf-8")
    command = [sys.executable, "-m", "seqlearn", "train"]
    options = ["--corpus", str(tsv), "--epochs", "3", "--hidden", "16", "--embed-size", "16", "--batch-size", "4"]
    often = ["--checkpoint-updates", "3"]

    def run(*arguments: str) -> subprocess.Popen:
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "SEQLEARN_DEVICE": "cpu"}
        quiet = subprocess.DEVNULL
        return subprocess.Popen([*command, *arguments], env=environment, stdout=quiet, stderr=subprocess.PIPE)

    def newest(out: Path) -> str:
        return max((path.name for path in (out / "checkpoints").glob("*.safetensors")), default="")

    run(*options, "--out", str(folder / "whole")).wait()
    expected = read_file(folder / "whole" / MODEL)
    for number in range(count):
        out, ended = folder / str(number), False
        while not ended:
            before = newest(out)
            process = run(*(["--resume", str(out)] if before else [*options, "--out", str(out)]), *often)
            while process.poll() is None and newest(out) == before:
                time.sleep(0.002)
            time.sleep(rng.random() * 0.6)
            process.kill()
            killed += process.wait() != 0
            ended = (out / MODEL).is_file() and not newest(out)  # the checkpoints go when the training has ended
        found = read_file(out / MODEL)
        same = all(torch.equal(tensor, found.tensors[name]) for name, tensor in expected.tensors.items())
        bad += not (same and found.texts == expected.texts)
    print(f"trainings: {count}, killed {killed} times, other weights or configuration at the end: {bad}")
    return bad


TRIALS = {"kills": (kills, 400), "loads": (loads, 1000), "pairs": (pairs, 120), "trainings": (trainings, 20)}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(TRIALS))
    parser.add_argument("--count", type=int, help="how many trials")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    faults = 0
    for name in arguments.names or TRIALS:
        trial, usual = TRIALS[name]
        with tempfile.TemporaryDirectory() as temporary:
            faults += trial(arguments.count or usual, Path(temporary))
    sys.exit(1 if faults else 0)
