"""Peak memory and time of reading, splitting and batching two parallel files of 10 thousand to a million lines.

    python benchmarks/memory.py [lines ...]

The lines are those of the built-in corpus, repeated, each with its own number in front, digit by digit: so no two
lines are alike, and the vocabulary stays that of a real language. Each size runs in its own process, through the
vocabularies and one epoch; the memory that a process has after all imports is subtracted. The ways:

    cached         the ids are in files (`Batches(..., cache=folder)`); "again": a second process finds the files
    from files     memory holds the ids
    all in memory  the pairs in a list, their ids in lists of Python numbers: the plainest way (to a million lines)

The ids themselves, at four bytes each, are the least that training needs if it holds them in memory.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

WAYS = {"build": "cached", "cache": "again", "file": "from files", "list": "all in memory"}
MOST = 1_000_000  # lines that are held in memory


def write(folder: Path, count: int) -> None:
    """Two files of `count` lines."""
    from seqlearn.data.corpus import builtin

    pairs = builtin(30_000).pairs
    with (folder / "en").open("w", encoding="utf-8") as en, (folder / "fr").open("w", encoding="utf-8") as fr:
        for number in range(count):
            pair = pairs[number % len(pairs)]
            digits = " ".join(str(number))
            en.write(f"{digits} {pair.source}\n")
            fr.write(f"{digits} {pair.target}\n")


def peak() -> float:
    """The most memory this process has had, in MB."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform != "darwin" else 1024**2)


def measure(folder: str, way: str) -> None:
    """Print the MB above the start, the MB of the ids alone, and the seconds. Runs in its own process."""
    from seqlearn.data.batches import Batches
    from seqlearn.data.corpus import Corpus, from_files
    from seqlearn.data.text import Language

    files = Path(folder) / "en", Path(folder) / "fr"
    warm = first(files, 100)
    languages = [Language.learn("en", [p.source for p in warm]), Language.learn("fr", [p.target for p in warm])]
    next(Batches(warm, *languages).epoch(0))
    before, start = peak(), time.perf_counter()
    corpus = from_files(*files, ("en", "fr"))
    if way == "list":
        corpus = Corpus(corpus.name, corpus.languages, list(corpus.pairs))
    said("files checked", before, start)
    split = corpus.split()
    said("split", before, start)
    source = Language.learn("en", (pair.source for pair in split.train))
    target = Language.learn("fr", (pair.target for pair in split.train))
    said("vocabularies", before, start)
    if way == "list":
        examples = [(source.encode(pair.source), target.encode(pair.target)) for pair in split.train]
        ids = 4 * sum(len(left) + len(right) for left, right in examples)
    else:
        batches = Batches(split.train, source, target, cache=None if way == "file" else Path(folder) / "cache")
        said("ids", before, start)
        ids = 4 * (len(batches.sources.ids) + len(batches.targets.ids))
        for _ in batches.epoch(0):
            pass
        said("epoch", before, start)
    print(peak() - before, ids / 2**20, time.perf_counter() - start)


def first(files: tuple[Path, Path], count: int) -> list:
    """The first pairs of the two files."""
    from seqlearn.data.pairs import Pair

    with files[0].open(encoding="utf-8") as en, files[1].open(encoding="utf-8") as fr:
        return [Pair(next(en).strip(), next(fr).strip()) for _ in range(count)]


def said(what: str, before: float, start: float) -> None:
    """Say on standard error how far the measurement has come."""
    print(f"    {what:<13} {peak() - before:7.1f} MB {time.perf_counter() - start:7.1f} s", file=sys.stderr, flush=True)


def size(folder: Path) -> float:
    """The MB of the files in a folder and its folders."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 2**20


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1] == "--measure":
        measure(*sys.argv[2:])
        sys.exit()
    print(f"{'lines':>10} {'':14} {'MB above the start':>18} {'seconds':>8}")
    for count in [int(text) for text in sys.argv[1:]] or [10_000, 100_000, 1_000_000]:
        with tempfile.TemporaryDirectory() as folder:
            write(Path(folder), count)
            text = size(Path(folder))
            ids = 0.0
            for way, name in WAYS.items():
                if count > MOST and way in ("file", "list"):
                    continue
                command = [sys.executable, __file__, "--measure", folder, way]
                environment = {**os.environ, "TQDM_DISABLE": "1"}
                done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment)
                mb, ids, seconds = (float(number) for number in done.stdout.split())
                print(f"{count:>10,} {name:14} {mb:>18.1f} {seconds:>8.1f}", flush=True)
            disk = size(Path(folder) / "cache")
            print(f"{'':10} the files have {text:.0f} MB, the cache {disk:.0f} MB, the ids in memory {ids:.0f} MB")
