"""The translations of a sentence, and what else the model could have written."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from ...analysis.attention_map import AttentionMap
from ...data.batches import pad
from ...data.text import BOS, EOS, SPECIALS, Language, Vocab
from ...nn.masking import causal_mask
from ...search.forced_decoding import forced_decoding
from ...search.hypotheses import Hypothesis
from ...search.lengths import default_max_length
from ...translator import DEFAULT_BEAM
from ...translator.translator import Translator
from ...translator.whatif import Edits, change_of, modules_apart, what_if
from ..shared.arguments import as_text, finite
from ..shared.attention import map_data
from ..shared.constants import CANDIDATES, MOST_TOKENS
from ..shared.types import Data
from .known import gold_of, need_translator


def translated(
    translator: Translator,
    sentence: str,
    beam: int = DEFAULT_BEAM,
    prefix: Sequence[str] = (),
    edits: Edits = (),
    links: bool = False,
) -> Data:
    """The translations of a sentence, the best first, each with its attention and its next tokens at every step.

    Args:
        beam: the width of the search, and the number of translations; 1 is greedy search.
        prefix, edits: see `seqlearn.translator.whatif.what_if`.
        links: whether to look up what is known of the sentence (`gold_of`).

    Returns:
        All that the view draws. `best` is a list with a dictionary for each translation:
        its `text`; its `tokens` (the last one is <eos>, unless the search stopped before); the `pieces` of the text,
        one for each token; `score` and `probability` of the whole translation; `next` (see `next_tokens`), one for each
        step; and `attention` (see `map_data`), None for a model without attention. For a decoder-only
        model its columns are source and target, and its `prompt` is the number of source tokens. `gold`, if asked for,
        is what `gold_of` returned.

    Raises:
        TypeError: `translator` is no `Translator`.
        ValueError: the sentence has no token, or more than 100; the model never writes a token of the prefix; an edit
            is none; or the model gives NaN.
    """
    need_translator(translator)
    sentence = as_text(sentence)
    source = tokens_of(translator, sentence)
    changes, prefix = list(map(change_of, edits)), list(prefix)
    edits = [change.as_list() for change in changes]
    translator = apart(translator)
    best = search(what_if(translator, prefix, changes) if prefix or edits else translator, sentence, beam, len(prefix))
    forced = zip(best, *force(what_if(translator, (), changes) if edits else translator, sentence, best), strict=True)
    return {
        "problem": "",
        "sentence": sentence,
        "beam": beam,
        "prefix": prefix,
        "edits": edits,
        "languages": [side.tokenizer.language for side in (translator.source, translator.target)],
        "source": list(map(as_text, source)),
        "unknown": [token not in translator.source.vocab for token in source],
        "known": len(translator.source.vocab) - len(SPECIALS),
        "words": len(translator.target.vocab),
        **({"gold": gold_of(translator, sentence)} if links else {}),
        "best": [_translation(translator.target, source, *one) for one in forced],
    }


def tokens_of(translator: Translator, sentence: str) -> list[str]:
    """The tokens of a sentence that can be translated here.

    Raises:
        ValueError: there is none, or there are too many.
    """
    source = translator.source.tokenizer.tokenize(sentence)
    if not source:
        raise ValueError("There is nothing to translate: type a sentence.")
    if len(source) > MOST_TOKENS:
        raise ValueError(
            f"This sentence has {len(source):,} tokens; {MOST_TOKENS} is the most that is translated here."
        )
    return source


def search(translator: Translator, sentence: str, beam: int, least: int) -> list[Hypothesis]:
    """The hypotheses of a search, the best first; greedy search gives one. `least` tokens are not too many."""
    (limit,) = default_max_length(torch.tensor([len(translator.source.encode(sentence))]))
    (found,) = translator.search([sentence], 1, max(limit, least), beam=beam, n_best=beam)
    return found


def force(
    translator: Translator, sentence: str, best: Sequence[Hypothesis]
) -> tuple[list[Tensor], list[Tensor] | list[None]]:
    """Run the model over the tokens of all these hypotheses, in one batch.

    Returns:
        For each hypothesis the next-token distributions `(steps, vocab)` and the cross-attention `(layers, heads,
        steps, source)`, or None for a model without attention. At step 0 the model predicts the first token. For a
        decoder-only model, the attention of these steps to source and target, `(layers, heads, steps, source + steps)`.
    """
    vocab = translator.target.vocab
    inputs = [[vocab.bos, *one.tokens][: len(one.log_probs)] for one in best]
    source, source_lens = pad([translator.source.encode(sentence)] * len(best), translator.source.vocab.pad)
    tokens, lens = pad(inputs, vocab.pad)
    device, steps = translator.device, lens.tolist()
    forced = forced_decoding(translator.model, source.to(device), source_lens, tokens.to(device))
    logits = finite("logits", forced.logits, 3)
    probs = [row[:count].softmax(-1) for row, count in zip(logits, steps, strict=True)]
    weights, causal = forced.attention("cross"), forced.attention("causal")
    if weights is not None:
        return probs, [row[:, :, :count] for row, count in zip(weights, steps, strict=True)]
    if causal is not None and (prompt := forced.prompt):
        rows = zip(causal, steps, strict=True)
        return probs, [row[:, :, prompt : prompt + count, : prompt + count] for row, count in rows]
    return probs, [None] * len(best)


def apart(translator: Translator) -> Translator:
    """A translator with the same parameters in modules of its own: a cell may train the model at the same time."""
    return Translator(
        modules_apart(translator.model),
        translator.source,
        translator.target,
        translator.config,
        translator.device,
    )


def _translation(
    language: Language,
    source: Sequence[str],
    one: Hypothesis,
    probs: Float[Tensor, "steps vocab"],
    weights: Float[Tensor, "layers heads steps keys"] | None,
) -> Data:
    """All that the view draws of one hypothesis."""
    written = [*one.tokens, language.vocab.eos][: len(one.log_probs)]
    tokens = language.vocab.decode(written)
    attention = None
    if weights is not None:
        keys = [*source, EOS]
        if weights.shape[-1] == len(keys):
            attention = map_data(AttentionMap(weights, tokens, keys))
        else:  # a decoder-only model looks at the target so far, too
            mask = causal_mask(len(tokens), len(keys))
            attention = map_data(AttentionMap(weights, tokens, [*keys, BOS, *tokens[:-1]], "causal", mask))
            attention["prompt"] = len(keys)
    return {
        "text": as_text(language.decode(one.tokens)),
        "tokens": list(map(as_text, tokens)),
        "pieces": list(map(as_text, pieces(language, one.tokens))),
        "score": round(one.score, 5),
        "probability": rounded(math.exp(sum(one.log_probs))),
        "next": [next_tokens(language.vocab, row, token) for row, token in zip(probs, written, strict=True)],
        "attention": attention,
    }


def rounded(number: float) -> float:
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
        "probs": list(map(rounded, values)),
        "ranks": ranks,
        "written": ids.index(written),
        "others": rounded(max(0.0, 1 - sum(values))),
    }
