"""Texts, and files of pieces: ours are split as SentencePiece splits them, and damaged files refused or used."""

from __future__ import annotations

import functools
import io

from hypothesis import strategies as st

from seqlearn.data.corpus import builtin
from seqlearn.data.unigram import Unigram

RULES = ("nmt_nfkc", "nmt_nfkc_cf", "nfkc", "identity")  # the first is SentencePiece's own choice, and Marian's
# Accents in any order, what becomes several characters or none, spaces of every kind, and names of special pieces.
ODD = "e\u0301\u0302\u0323aﬁ½Ⅳ\u00a0 \u3000\u200b\u200d\u00ad\ufeff日ﾊﾟ\u0345ç▁\u1100\u1161가\n\t\x00👩\u0390İ"
PARTS = st.sampled_from([*ODD, "the ", "th", "apple", "aaaa", "</s>", "<unk>", "<s>", "<pad>", " . ", "\ud800"])
TEXTS = st.lists(PARTS | st.characters(), max_size=12).map("".join)
CHANGES = st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), max_size=3)
CASES = st.tuples(st.sampled_from(RULES), TEXTS, CHANGES, st.floats(0, 1))


@functools.cache
def _pairs():
    return builtin(1500).pairs


@functools.cache
def trained(rule: str = RULES[0], side: str = "source", size: int = 300, **options) -> bytes:
    """A small `.spm` file, which SentencePiece makes from lines of the built-in corpus."""
    from sentencepiece import SentencePieceTrainer

    file = io.BytesIO()
    SentencePieceTrainer.train(
        sentence_iterator=(getattr(pair, side) for pair in _pairs()), model_writer=file, vocab_size=size,
        character_coverage=1.0, normalization_rule_name=rule, num_threads=1, minloglevel=2,
        **options,
    )  # fmt: skip
    return file.getvalue()


@functools.cache
def both(rule: str):
    """SentencePiece and our reader, with the same file."""
    from sentencepiece import SentencePieceProcessor

    return SentencePieceProcessor(model_proto=trained(rule)), Unigram.read(trained(rule))


def split_alike(case):
    """The same pieces as SentencePiece's; and of a damaged file a sentence, or pieces of any kind."""
    rule, text, changes, cut = case
    theirs, ours = both(rule)
    whole = text.replace("\ud800", "\ufffd")  # SentencePiece refuses half a character
    assert ours.split(text) == theirs.encode(whole, out_type=str), f"{rule}: {text!r}"
    damaged = bytearray(trained(rule))
    for place, byte in changes:
        damaged[int(place * len(damaged))] = byte
    try:
        found = Unigram.read(bytes(damaged[: int(cut * len(damaged))] if cut < 0.5 else damaged))
    except ValueError as error:
        assert str(error).startswith("it") and not isinstance(error, UnicodeError)
        return
    assert isinstance(found.split(text), list)
