"""How fast texts become tokens: characters per second of processor time, for each tokenizer.

    python benchmarks/text.py [pairs]

The texts are the built-in corpus, and long lines that a careless regular expression would read in quadratic time.
Compare the rows of one run. That no line takes quadratic time is tested in `tests/data/test_hostile.py`.
"""

import sys
import time
from collections.abc import Callable

from seqlearn.data.corpus import builtin
from seqlearn.data.text import Language, WordTokenizer

LONG = {
    "one sentence, again and again": "Où est l'été ? " * 70_000,
    "one word of a megabyte": "x" * 1_000_000,
    "accents on one letter": "e" + "\u0315\u0300" * 500_000,
    "inverted pronouns": "le-" * 330_000,
}


def rate(read: Callable[[str], object], texts: list[str]) -> float:
    """Millions of characters per second."""
    start = time.process_time()
    for text in texts:
        read(text)
    return sum(map(len, texts)) / (time.process_time() - start) / 1e6


def main() -> None:
    """Print a table."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    pairs = builtin(count).pairs
    texts = {"en": [pair.source for pair in pairs], "fr": [pair.target for pair in pairs]}
    readers = {
        "words, English": (WordTokenizer("en").tokenize, texts["en"]),
        "words, French": (WordTokenizer("fr").tokenize, texts["fr"]),
        "pieces, French": (Language.learn("fr", texts["fr"], tokens="bpe", size=2000).tokenizer.tokenize, texts["fr"]),
    }
    print(f"{'millions of characters per second':<34}" + "".join(f"{name:>16}" for name in readers))
    print(f"{f'the corpus, {count:,} pairs':<34}" + "".join(f"{rate(*each):>16.2f}" for each in readers.values()))
    for name, text in LONG.items():
        print(f"{name:<34}" + "".join(f"{rate(read, [text]):>16.2f}" for read, _ in readers.values()))


if __name__ == "__main__":
    main()
