"""Reads very long lines of every kind; `test_hostile.py` runs it in a process of its own.

    python tests/data/long_lines.py en|fr|general|bpe

Reading has to take linear time: these lines take well under a second each, and the four of a megabyte about two. Of a
regular expression that takes quadratic time, one line takes minutes or hours. A stuck regular expression cannot be
interrupted from Python, so the operating system ends this process: when one line has used 30 seconds of processor time
(which other programs do not use up). The last line of the output says which line it was.
"""

import itertools
import sys

from seqlearn.data.text import Language, WordTokenizer

try:
    import resource
except ImportError:  # Windows: the test ends the process after ten minutes
    resource = None

SECONDS = 30  # of processor time for one line: a guard against hanging, not a demand for speed
UNITS = [
    *"a a- - ' ? ! . , ; : ( ) % … 1 1. 1, 1- 1a a. a' 's l' l'l 'll s' é é- é' le- -il -t-il- a-le- qu'".split(),
    *('"', '"a', '" ', ' "', "« ", " ?", "? ", "? !", "( ", " )", " .", ". ", "l' ", "' ", " '", "1 %", "<unk>", "▁"),
    *(" ", "\t", "\0", "\r", "\x1c", "\u00a0", "\u2028", "\u1680", "\u202e", "\u200b", "\ufeff", "\ud800"),
    *("\u0301", "\u0315\u0300", "\u0f73", "\u0344\u0315", "\u0345", "e\u0301", "\u1100\u1161\u11a8", "한"),
    *("中\u200d", "👩\u200d", "İ", "Σ", "ﷺ", "中"),
]
LINES = [
    "L'été, <pad> <unk>!",
    "我很好 हिन्दी שלום مرحبا",
    "안녕 👩\u200d👧 ok ▁ _ \ud800",
    "e\u0302\u0323 ﷺ ǰ Σας \u0345",
] * 2


def guard() -> None:
    """Let the system end this process if it uses `SECONDS` more of processor time."""
    if resource is not None:
        usage, (_, most) = resource.getrusage(resource.RUSAGE_SELF), resource.getrlimit(resource.RLIMIT_CPU)
        resource.setrlimit(resource.RLIMIT_CPU, (int(usage.ru_utime + usage.ru_stime) + 1 + SECONDS, most))


def main(kind: str) -> None:
    """Read all the lines."""
    if kind == "bpe":
        for line in ("x" * 1_000_000, "abcdefgh" * 125_000):
            print(f"learns from {line[:8]} ..., {len(line):,} characters", flush=True)
            guard()
            Language.learn("", [line], tokens="bpe", size=300)
        read = Language.learn("", LINES, tokens="bpe", size=300).encode
    else:
        read = WordTokenizer("" if kind == "general" else kind).tokenize
    beginnings = ["", "é"] if kind == "fr" else [""]
    length = 50_000 if kind == "bpe" else 100_000  # pieces are slower, and share their regular expressions with words
    lines = [first + unit * (length // len(unit)) for unit, first in itertools.product(UNITS, beginnings)]
    lines += ["Où est l'été ? " * 70_000, "x" * 1_000_000, "\u0315\u0300" * 500_000, "le-" * 330_000]
    for line in lines:
        print(f"{line[:6]!a} ..., {len(line):,} characters", flush=True)
        guard()
        read(line)
    print("done")


if __name__ == "__main__":
    main(sys.argv[1])
