"""The data of `TranslatorView`: the translations of a sentence, and what else the model could have written."""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Sequence

from jaxtyping import Float
from torch import Tensor

from ...attention_map import AttentionMap
from ...beams import Hypothesis
from ...data.batches import pad
from ...data.text import EOS, SPECIALS, Language, Vocab
from ...forced_decoding import forced_decoding
from ...translator import Translator
from ..shared.arguments import as_text, finite
from ..shared.attention import map_data, wrong_lock
from ..shared.types import Data, Lock

MOST_TOKENS = 100  # of a source; a translation may have twice as many and 10 more, and every token is drawn
CANDIDATES = 6  # next tokens that are shown with their probabilities


def translated(translator: Translator, sentence: str, beam: int = 1) -> Data:
    """The translations of a sentence, the best first, each with its attention and its next tokens at every step.

    Args:
        beam: the width of the search, and the number of translations; 1 is greedy search.

    Returns:
        All that the view draws. `best` is a list with a dictionary for each translation: its `text`; its `tokens` (the
        last one is <eos>, unless the search stopped before); the `pieces` of the text, one for each token; `score` and
        `probability` of the whole translation; `next` (see `next_tokens`), one for each step; and `attention` (see
        `map_data`), None for a model without attention.

    Raises:
        TypeError: `translator` is no `Translator`.
        ValueError: the sentence has no token, or more than 100; or the model gives NaN.
    """
    if not isinstance(translator, Translator):
        raise TypeError(f"TranslatorView shows a Translator, not a {type(translator).__name__}")
    sentence = as_text(sentence)
    source = translator.source.tokenizer.tokenize(sentence)
    if not source:
        raise ValueError("There is nothing to translate: type a sentence.")
    if len(source) > MOST_TOKENS:
        raise ValueError(
            f"This sentence has {len(source):,} tokens; {MOST_TOKENS} is the most that is translated here."
        )
    translator = _apart(translator)
    best = _search(translator, sentence, beam)
    forced = zip(best, *force(translator, sentence, best), strict=True)
    return {
        "asked": [sentence, beam],
        "problem": "",
        "sentence": sentence,
        "beam": beam,
        "languages": [side.tokenizer.language for side in (translator.source, translator.target)],
        "source": list(map(as_text, source)),
        "unknown": [token not in translator.source.vocab for token in source],
        "known": len(translator.source.vocab) - len(SPECIALS),
        "words": len(translator.target.vocab),
        "best": [_translation(translator.target, source, *one) for one in forced],
    }


def _search(translator: Translator, sentence: str, beam: int) -> list[Hypothesis]:
    """The hypotheses of a search, the best first; greedy search gives one."""
    (found,) = translator.search([sentence], beam=beam, n_best=beam if beam > 1 else None)
    return [found] if isinstance(found, Hypothesis) else list(found)


def force(
    translator: Translator, sentence: str, best: Sequence[Hypothesis]
) -> tuple[list[Tensor], list[Tensor] | list[None]]:
    """Run the model over the tokens of all these hypotheses, in one batch.

    Returns:
        For each hypothesis the next-token distributions `(steps, vocab)` and the cross-attention `(layers, heads,
        steps, source)`, or None for a model without attention. At step 0 the model predicts the first token.
    """
    vocab = translator.target.vocab
    inputs = [[vocab.bos, *one.tokens][: len(one.log_probs)] for one in best]
    source, source_lens = pad([translator.source.encode(sentence)] * len(best), translator.source.vocab.pad)
    tokens, lens = pad(inputs, vocab.pad)
    device, steps = translator.device, lens.tolist()
    forced = forced_decoding(translator.model, source.to(device), source_lens, tokens.to(device))
    logits = finite("logits", forced.logits, 3)
    probs = [row[:count].softmax(-1) for row, count in zip(logits, steps, strict=True)]
    weights = forced.attention("cross")
    if weights is None:
        return probs, [None] * len(best)
    return probs, [row[:, :, :count] for row, count in zip(weights, steps, strict=True)]


def _apart(translator: Translator) -> Translator:
    """A translator with the same parameters in modules of its own: a cell may train the model at the same time.

    The copy is in eval mode, and the mode of the model itself does not change.
    """
    model = translator.model
    shared = {id(one): one for one in (*model.parameters(), *model.buffers())}
    model = copy.deepcopy(model, shared).eval()
    return Translator(model, translator.source, translator.target, translator.config, translator.device)


def _translation(
    language: Language,
    source: Sequence[str],
    one: Hypothesis,
    probs: Float[Tensor, "steps vocab"],
    weights: Float[Tensor, "layers heads steps source"] | None,
) -> Data:
    """All that the view draws of one hypothesis."""
    written = [*one.tokens, language.vocab.eos][: len(one.log_probs)]
    tokens = language.vocab.decode(written)
    attention = None
    if weights is not None:
        attention = map_data(AttentionMap(weights, tokens, [*source, EOS]))
    return {
        "text": as_text(language.decode(one.tokens)),
        "tokens": list(map(as_text, tokens)),
        "pieces": list(map(as_text, pieces(language, one.tokens))),
        "score": round(one.score, 5),
        "probability": _rounded(math.exp(sum(one.log_probs))),
        "next": [next_tokens(language.vocab, row, token) for row, token in zip(probs, written, strict=True)],
        "attention": attention,
    }


def _rounded(number: float) -> float:
    """A number with 5 digits, so that a page stays small."""
    return float(f"{number:.5g}")


def pieces(language: Language, ids: Sequence[int]) -> list[str]:
    """The part of the text that each token adds: "l'", "homme", " ?"."""
    texts = [language.decode(ids[:end]) for end in range(len(ids) + 1)]
    return [after[len(before) :] for before, after in itertools.pairwise(texts)]


def next_tokens(vocab: Vocab, probs: Float[Tensor, "vocab"], written: int) -> Data:
    """The likeliest next tokens and, among them, the token that was written.

    Returns:
        `tokens`, `probs` and `ranks` (1 is the likeliest) of up to 6 tokens, the likeliest first; `written`, the index
        in these lists of the token that was written; `others`, the probability of all other tokens together.
    """
    values, ids = (each.tolist() for each in probs.topk(min(CANDIDATES, len(probs))))
    ranks = list(range(1, len(ids) + 1))
    if written not in ids:
        values[-1], ids[-1] = float(probs[written]), written
        ranks[-1] = 1 + int((probs > probs[written]).sum())
    return {
        "tokens": list(map(as_text, vocab.decode(ids))),
        "probs": list(map(_rounded, values)),
        "ranks": ranks,
        "written": ids.index(written),
        "others": _rounded(max(0.0, 1 - sum(values))),
    }


def wrong_choice(
    result: Data,
    beams: Sequence[int],
    chosen: int,
    beam: int = 1,
    step: int = 0,
    locked: Lock | None = None,
) -> str:
    """What is wrong with a choice, in one sentence; empty if the result has everything that was chosen."""
    if beam not in beams:
        return f"beam is one of {', '.join(map(str, beams))}, not {beam}"
    if chosen >= len(result["best"]):
        return f"chosen is 0 to {len(result['best']) - 1}, not {chosen}: there are {len(result['best'])} translations"
    queries, keys = len(result["best"][chosen]["tokens"]), len(result["source"]) + 1
    if step >= queries:
        return f"step is 0 to {queries - 1}, not {step}: the translation has {queries} tokens"
    return wrong_lock(locked, queries, keys)
