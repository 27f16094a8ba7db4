"""How many threads are fast for which model, on a free and on a busy machine: python benchmarks/threads.py [--busy]

Each model is trained (updates as in `fit`) and searched (greedy, and a beam of 4) by processes that differ in the
number of threads, and in how threads wait for each other. The processes work in turn, each for a moment. With --busy,
as many others as the machine has cores compute all the time. Read the ratios to one thread: target tokens a second by
the wall clock, and CPU time for a token. Linux only: other systems have another OpenMP.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict

MODELS = {
    "bahdanau": ("bahdanau", {}),
    "bahdanau 256": ("bahdanau", {"num_hiddens": 256, "embed_size": 256}),
    "bahdanau 512": ("bahdanau", {"num_hiddens": 512, "embed_size": 512}),
    "bahdanau 1024": ("bahdanau", {"num_hiddens": 1024, "embed_size": 512}),
    "transformer tiny": ("transformer", "tiny"),
    "transformer small": ("transformer", "small"),
    "transformer base": ("transformer", "base"),
}
WAITS = {  # how a thread waits for the others: what libgomp reads when torch is imported
    "spin": {},  # its own way: for many milliseconds
    "short": {"GOMP_SPINCOUNT": "1000"},
    "sleep": {"OMP_WAIT_POLICY": "passive"},  # as the command line does
}
WORK = ("train", "greedy", "beam")


def work(model: str, what: str, vocab: int) -> None:
    """Do a moment's work for each line of standard input, and print tokens, seconds and CPU seconds."""
    import torch

    from seqlearn.data.batches import Batches
    from seqlearn.data.corpus import builtin
    from seqlearn.data.text import Language, Vocab
    from seqlearn.nn.transformer import SIZES
    from seqlearn.training.loop import Recipe, Training
    from seqlearn.training.schedules import constant
    from seqlearn.translator.translator import Translator

    torch.manual_seed(0)
    pairs = builtin(3000).pairs
    languages = []
    for code, lines in (("en", [pair.source for pair in pairs]), ("fr", [pair.target for pair in pairs])):
        language = Language.learn(code, lines)
        tokens = [*language.vocab.tokens[4:], *(f"w{number}" for number in range(vocab))][: vocab or None]
        languages.append(Language(language.tokenizer, Vocab.of(tokens)))
    name, settings = MODELS[model]
    settings = asdict(SIZES[settings]) if isinstance(settings, str) else settings
    translator = Translator.new(name, *languages, **settings)
    batches = Batches(pairs, *languages, 64)
    recipe = Recipe(epochs=1, lr=1e-4, schedule=constant)
    training, epoch = Training(translator.model, batches, batches, recipe), batches.epoch(0)
    texts = [pair.source for pair in pairs[:64]]

    def train() -> int:
        batch = next(epoch)
        training.update([batch])
        return batch.tokens

    def search(beam: int) -> Callable[[], int]:
        return lambda: sum(
            len(each.tokens) for (each,) in translator.search(texts, beam=beam, max_length=12, progress=False)
        )

    step = {"train": train, "greedy": search(1), "beam": search(4)}[what]
    step()
    parameters = sum(each.numel() for each in translator.model.parameters())
    print(parameters, flush=True)
    for line in sys.stdin:
        tokens, wall, cpu = 0, time.perf_counter(), time.process_time()
        while time.perf_counter() - wall < float(line):
            tokens += step()
        print(tokens, time.perf_counter() - wall, time.process_time() - cpu, flush=True)
        if what == "train":
            epoch = batches.epoch(0)


def measure(model: str, what: str, args: argparse.Namespace) -> None:
    """Let the processes work in turn, and print one line."""
    settings = [(1, "spin")] + [(number, wait) for number in args.threads for wait in args.waits]
    processes = {}
    for threads, wait in settings:
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("OMP_", "GOMP_"))}
        environment |= {"OMP_NUM_THREADS": str(threads), "SEQLEARN_DEVICE": "cpu"} | WAITS[wait]
        command = [sys.executable, __file__, "--work", model, what, str(args.vocab)]
        processes[threads, wait] = subprocess.Popen(
            command, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
    for process in processes.values():
        parameters = int(process.stdout.readline())
    others = (os.cpu_count() or 1) if args.busy else 0
    burners = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(others)]
    rounds = {key: [] for key in processes}
    for _ in range(args.rounds):
        for key, process in processes.items():
            process.stdin.write(f"{args.seconds}\n")
            process.stdin.flush()
            tokens, wall, cpu = map(float, process.stdout.readline().split())
            rounds[key].append((tokens / wall, cpu / tokens))
    for each in [*burners, *processes.values()]:
        each.kill()
        each.wait()
    first = rounds[1, "spin"]
    tokens = statistics.median(speed for speed, _ in first)
    print(f"{model:18}{what:7}{parameters / 1e6:7.2f} M {tokens:9,.0f} tokens/s", end="")
    for (threads, wait), values in list(rounds.items())[1:]:
        ratios = [(one[0] / other[0], one[1] / other[1]) for one, other in zip(values, first, strict=True)]
        speed, cpu = (statistics.median(column) for column in zip(*ratios, strict=True))
        print(f"   {threads} {wait:5} {speed:5.2f} x speed {cpu:5.2f} x CPU", end="")
    print(flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--work"]:
        work(sys.argv[2], sys.argv[3], int(sys.argv[4]))
        sys.exit()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--models", nargs="*", default=list(MODELS))
    parser.add_argument("--what", nargs="*", default=WORK)
    parser.add_argument("--busy", action="store_true")
    parser.add_argument("--threads", nargs="*", type=int, default=[os.cpu_count() or 1])
    parser.add_argument("--waits", nargs="*", default=list(WAITS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.7)
    parser.add_argument("--vocab", type=int, default=0, help="tokens of each side; default: those of the corpus")
    args = parser.parse_args()
    for model in args.models:
        for what in args.what:
            measure(model, what, args)
