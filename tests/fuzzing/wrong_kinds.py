"""What takes texts, links or batches, and what no such thing is: each is refused in one sentence, before any work.

`takers` finds public functions with such an argument: a new one fails until it is in the table, or in `OTHERS`.
"""

from __future__ import annotations

import functools
import inspect

import torch

from seqlearn import analysis, data, search, training, translator
from seqlearn.data import batches, corpus, text
from seqlearn.data.large.sentences import Sentences, encode
from seqlearn.data.pairs import Pair
from seqlearn.data.unigram import Unigram
from seqlearn.search.batching import in_batches
from seqlearn.training.loop import Training
from seqlearn.training.recipe import Recipe
from seqlearn.translator.translator import Translator
from seqlearn.translator.whatif import what_if

LINKS, TEXT, PAIR = {(0, 0), (1, 1)}, "the cat sleeps", Pair("the cat", "le chat")
NAMES = {  # arguments that hold texts, tokens, ids, links, pairs or batches
    "sentences", "lines", "tokens", "ids", "hypotheses", "references", "translations", "pairs", "predicted", "gold",
    "held_out", "prefix", "sources", "targets", "batches", "after_epoch", "languages", "edits",
}  # fmt: skip
OTHERS = {  # such names of other things: a count, a kind of tokens, a result; and what hands its argument on
    "History tokens", "Hypothesis tokens", "Hypothesis.of ids", "Language.learn tokens", "Scores pairs",
    "Translator.untrained tokens", "fit after_epoch", "mean_loss batches",
}  # fmt: skip


@functools.cache
def made():
    """A translator and a training that nobody trains."""
    sides = [text.Language.learn(code, [TEXT, "le chat"]) for code in ("en", "fr")]
    ours = Translator.new("bahdanau", *sides, embed_size=4, num_hiddens=4)
    ours.model.cpu()
    few = batches.Batches([PAIR, PAIR], *sides, batch_size=1)
    return ours, few, corpus.Split([PAIR], [PAIR], [PAIR])


def fit(**options):
    """A training of one epoch, which must not begin."""
    ours, few, _ = made()
    return Training(ours.model, few, few, Recipe(epochs=1, lr=0.1), **options)


def table():
    """The name of each function -> how it is called with one wrong value, and the values."""
    ours, few, split = made()
    english = ours.source
    pieces = text.BPETokenizer.learn([TEXT], 40)
    maps = [analysis.AttentionMap(torch.eye(3), ["a", "b", "<eos>"], ["a", "b", "<eos>"], "cross")]
    one, flat, letters = [TEXT, 3, None, b"x"], [TEXT, 3, None], [TEXT, b"x", 3, None]
    links = [LINKS, [(0, 1)], TEXT, [TEXT], 3, [[(0, 1, 2)]], [{(0.5, 1)}], [3]]
    return {
        "bleu hypotheses": (lambda x: analysis.metrics.bleu(x, ["a"]), [*one, [3], {"a"}, [], [["a"]]]),
        "bleu references": (lambda x: analysis.metrics.bleu(["a"], x), [*one, [3], [[]], [], [[3]], ["a", "b"]]),
        "chrf references": (lambda x: analysis.metrics.chrf(["a"], x), ["ab", [[]], [3], {"a"}]),
        "link_errors gold": (lambda x: analysis.link_errors(maps, x), links),
        "role_shares pairs": (lambda x: analysis.role_shares({"cross": maps}, x), [*one, [("a", "b")], []]),
        "UnigramTokenizer.detokenize tokens": (text.UnigramTokenizer(Unigram([("a", -1.0)])).detokenize, flat),
        "from_tsv languages": (lambda x: corpus.from_tsv(corpus.TATOEBA, x), ["en", ("en",)]),
        "from_files languages": (
            lambda x: corpus.from_files(*[corpus.TATOEBA.parent / "ATTRIBUTION.md"] * 2, x),
            ["en"],
        ),
        "Language.learn_shared languages": (lambda x: text.Language.learn_shared(x, [TEXT], [TEXT]), ["en", ("en",)]),
        "chrf hypotheses": (lambda x: analysis.metrics.chrf(x, ["a"]), one),
        "alignment_error_rate predicted": (lambda x: analysis.metrics.alignment_error_rate(x, [LINKS]), [*links, []]),
        "alignment_error_rate gold": (lambda x: analysis.metrics.alignment_error_rate([LINKS], x), [*links, []]),
        "Vocab sentences": (text.Vocab, [*one, [TEXT], [3]]),
        "Vocab.of tokens": (text.Vocab.of, letters),
        "Vocab.encode tokens": (english.vocab.encode, letters),
        "Vocab.decode ids": (
            english.vocab.decode,
            ["12", [-1], [999], [1.5], ["a"], 3, [[1]], torch.ones(2, 2).long()],
        ),
        "Language.learn lines": (lambda x: text.Language.learn("en", x), [*one, [3]]),
        "Language.learn_shared sources": (lambda x: text.Language.learn_shared(("en", "fr"), x, [TEXT]), [*one, [3]]),
        "Language.learn_shared targets": (lambda x: text.Language.learn_shared(("en", "fr"), [TEXT], x), [*one, [3]]),
        "Language.decode ids": (english.decode, ["12", [-1], [99]]),
        "BPETokenizer.learn lines": (text.BPETokenizer.learn, [*one, [3]]),
        "WordTokenizer.detokenize tokens": (english.tokenizer.detokenize, flat),
        "BPETokenizer.detokenize tokens": (pieces.detokenize, flat),
        "pad sentences": (lambda x: batches.pad(x, 0), [TEXT, [TEXT], [1, 2], [[1.5]], [["a"]], [], 3, [[[1]]]]),
        "in_batches sentences": (lambda x: in_batches(lambda ids, lens: ids, x, 0), [[[1.5]], [1, 2], [["a"]], ["ab"]]),
        "Batches pairs": (lambda x: batches.Batches(x, english, english), [*one, [], [TEXT], [("a", "b")]]),
        "encode pairs": (lambda x: encode(x, english, english, None, Sentences(), Sentences()), [TEXT, [("a", "b")]]),
        "Corpus languages": (lambda x: corpus.Corpus("x", x, [PAIR]), ["en", ("en",), ("en", 3), {"en", "fr"}]),
        "Corpus pairs": (lambda x: corpus.Corpus("x", ("en", "fr"), x), [TEXT, 3]),
        "Corpus.split pairs": (lambda x: corpus.Corpus("x", ("en", "fr"), x).split(), [[("a", "b")], [TEXT]]),
        "Corpus.without held_out": (lambda x: corpus.Corpus("x", ("en", "fr"), [PAIR]).without(x), [TEXT, [TEXT]]),
        "distinct_sources pairs": (corpus.distinct_sources, [TEXT, [("a", "b")], 3]),
        "Translator.search sentences": (ours.search, [*one, [3], {"a"}]),
        "Translator.translate_all sentences": (ours.translate_all, one),
        "Translator.translate_n_best sentences": (lambda x: ours.translate_n_best(x, 1), one),
        "Translator.attend_all pairs": (ours.attend_all, [*one, ["ab"], [("a",)], [("a", 3)], [3]]),
        "Translator.links pairs": (ours.links, [*one, [("a", "b")], ["ab"], [3]]),
        "Translator.evaluate pairs": (ours.evaluate, [*one, [("a", "b")], []]),
        "Translator.evaluate translations": (
            lambda x: ours.evaluate([PAIR], translations=x),
            [*one[:2], [], ["a", "b"]],
        ),
        "Translator.untrained languages": (
            lambda x: Translator.untrained("seq2seq", split, x),
            ["en", "en-fr", ("en",)],
        ),
        "what_if prefix": (lambda x: what_if(ours, prefix=x), [*letters, ["x y z"]]),
        "what_if edits": (lambda x: what_if(ours, edits=x), [translator.whatif.Ablate("cross"), TEXT, [TEXT], 3]),
        "Training.update batches": (lambda x: fit().update(x), [next(iter(few)), []]),
        "Training after_epoch": (lambda x: fit(after_epoch=x), [print, TEXT]),
    }


def refuse(call, value):
    """The call raises a TypeError or a ValueError of one line, which none of Python's own words begin."""
    try:
        found = call(value)
    except (TypeError, ValueError) as error:
        said = str(error)
        assert said and "\n" not in said.strip(), said
        raw = (
            "object is not",
            "unpack",
            "has no attribute",
            "unhashable",
            "zip()",
            "not supported between",
            "arg is an",
        )
        assert not any(words in said for words in raw), said
        return said
    raise AssertionError(f"{value!r} was taken: {found!r}")


def takers():
    """Each public function and method, with its arguments that hold such things: "Vocab.of tokens"."""
    for room in (analysis, data, search, training, translator):
        for name in dir(room):
            one = getattr(room, name)
            for each in vars(one).values() if inspect.isclass(one) else [one]:
                each = getattr(each, "__func__", each)
                if inspect.isfunction(each) and (each.__name__ == "__init__" or not each.__name__.startswith("_")):
                    owner = [name] * (each is not one) + [each.__name__] * (each.__name__ != "__init__")
                    taken = NAMES & set(inspect.signature(each).parameters)
                    yield from (f"{'.'.join(owner)} {word}" for word in taken)
