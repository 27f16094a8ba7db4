"""Peak memory and time of reading, splitting and batching a file of 10 thousand, 100 thousand, a million lines.

    python benchmarks/memory.py [lines ...]

The lines are those of the built-in corpus, repeated, each with its own number in front, digit by digit: so no two
lines are alike, and the vocabulary stays that of a real language. Each size runs in its own process; the memory that a
process has after all imports is subtracted. "All in memory" holds the pairs in a list, and their ids in lists of Python
numbers: the plainest way. The ids themselves, at four bytes each, are the least that training needs.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path


def write(path: Path, count: int) -> None:
    """A file of `count` lines, source<TAB>target."""
    from seqlearn.data.corpus import builtin

    pairs = builtin(30_000).pairs
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for number in range(count):
            pair = pairs[number % len(pairs)]
            digits = " ".join(str(number))
            file.write(f"{digits} {pair.source}\t{digits} {pair.target}\n")


def peak() -> float:
    """The most memory this process has had, in MB."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform != "darwin" else 1024**2)


def measure(path: str, way: str) -> None:
    """Print the MB above the start, the MB of the ids alone, and the seconds. Runs in its own process."""
    from seqlearn.data.batches import Batches
    from seqlearn.data.corpus import Corpus, from_tsv
    from seqlearn.data.text import Language

    warm = from_tsv(path, ("en", "fr")).pairs[:100]
    languages = [Language.learn("en", [p.source for p in warm]), Language.learn("fr", [p.target for p in warm])]
    next(Batches(warm, *languages).epoch(0))
    before, start = peak(), time.perf_counter()
    corpus = from_tsv(path, ("en", "fr"))
    if way == "list":
        corpus = Corpus(corpus.name, corpus.languages, list(corpus.pairs))
    split = corpus.split()
    source = Language.learn("en", (pair.source for pair in split.train))
    target = Language.learn("fr", (pair.target for pair in split.train))
    if way == "list":
        examples = [(source.encode(pair.source), target.encode(pair.target)) for pair in split.train]
        ids = 4 * sum(len(left) + len(right) for left, right in examples)
    else:
        batches = Batches(split.train, source, target)
        for _ in batches.epoch(0):
            pass
        ids = 4 * int(batches.sources.lengths.sum() + batches.targets.lengths.sum())
    print(peak() - before, ids / 2**20, time.perf_counter() - start)


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1] == "--measure":
        measure(*sys.argv[2:])
        sys.exit()
    print(
        f"{'lines':>10} {'file, MB':>9} {'ids, MB':>8} {'from file, MB':>14} {'all in memory, MB':>18} {'seconds':>8}"
    )
    for count in [int(text) for text in sys.argv[1:]] or [10_000, 100_000, 1_000_000]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "pairs.tsv"
            write(path, count)
            results = {}
            for way in ("file", "list"):
                command = [sys.executable, __file__, "--measure", str(path), way]
                out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
                results[way] = [float(number) for number in out.split()]
            (mb, ids, seconds), (plain, *_) = results["file"], results["list"]
            size = path.stat().st_size / 2**20
            print(f"{count:>10,} {size:>9.1f} {ids:>8.1f} {mb:>14.1f} {plain:>18.1f} {seconds:>8.1f}")
