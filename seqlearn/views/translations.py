"""What `TranslatorView` is made of: translations of a sentence, what else the model could have said, and a picture."""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from ..attention_map import AttentionMap
from ..beams import Hypothesis
from ..data.batches import pad
from ..data.text import EOS, SPECIALS, Language, Vocab
from ..nn.recording import attention_layers, record_attention
from ..translator import Translator
from .base import as_text, finite, unpack
from .fonts import any_script, short_label
from .maps import heatmap
from .plots import TRAIN
from .sentence_maps import attention_record, frame, misplaced_lock

MOST_TOKENS = 100  # of a source: a translation may have twice as many and 10 more, and is drawn token by token
CANDIDATES = 6  # next tokens that are shown with their probabilities
REST = "#8a8a8a"


def translated(translator: Translator, sentence: str, beam: int = 1) -> dict[str, Any]:
    """The translations of a sentence, the best first, each with its attention and its next tokens at every step.

    Args:
        beam: width of the search, and how many translations are wanted; 1 is greedy search.

    Returns:
        What the view draws. `best` holds a dictionary for each translation: `text`, `tokens` (the last is <eos>, if it
        was reached), `pieces` of the text for each token, `score` and `probability` of the whole, `next` (see
        `next_tokens`) and `attention`, None for a model without.

    Raises:
        TypeError: there is no `Translator`.
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
    (found,) = translator.search([sentence], beam=beam, n_best=beam if beam > 1 else None)
    best = found if beam > 1 else [found]
    if not best:
        raise ValueError("The model gives NaN or infinity: there is nothing to show.")
    read = zip(best, *reread(translator, sentence, best), strict=True)
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
        "best": [_drawn(translator.target, source, *one) for one in read],
    }


def reread(
    translator: Translator, sentence: str, best: Sequence[Hypothesis]
) -> tuple[list[Tensor], list[Tensor] | list[None]]:
    """What the model, in eval mode, thinks of every step of these hypotheses, in one pass, with all tokens given.

    Returns:
        For each of them the probabilities of the next token `(steps, vocab)`, and the attention `(layers, heads, steps,
        source)`, or None. Step 0 is before the first token is written.
    """
    model, vocab = translator.model, translator.target.vocab
    read = [[vocab.bos, *one.tokens][: len(one.log_probs)] for one in best]
    source, source_lens = pad([translator.source.encode(sentence)] * len(best), translator.source.vocab.pad)
    tokens, lens = pad(read, vocab.pad)
    with torch.inference_mode(), record_attention(model) as record:
        state = model.decoder.init_state(model.encoder(source.to(translator.device), source_lens))
        logits, _ = model.decoder(tokens.to(translator.device), state)
    steps = lens.tolist()
    probs = [row[:count].softmax(-1) for row, count in zip(finite("logits", logits, 3), steps, strict=True)]
    # A layer that is called for each token has recorded a row each time, and one with a single head has no heads.
    calls = [rows for name, rows in record.items() if rows and name in attention_layers(model, "cross")]
    layers = [torch.cat(rows, dim=-2).cpu() for rows in calls]
    if not layers:
        return probs, [None] * len(best)
    weights = torch.stack([each if each.dim() == 4 else each.unsqueeze(1) for each in layers], dim=1)
    return probs, [row[:, :, :count] for row, count in zip(weights, steps, strict=True)]


def _apart(translator: Translator) -> Translator:
    """The same parameters in modules of their own, in eval mode: a cell may train the model meanwhile."""
    model = translator.model
    shared = {id(one): one for one in (*model.parameters(), *model.buffers())}
    model = copy.deepcopy(model, shared).eval()
    return Translator(model, translator.source, translator.target, translator.config, translator.device)


def _drawn(
    language: Language,
    source: Sequence[str],
    one: Hypothesis,
    probs: Float[Tensor, "steps vocab"],
    weights: Float[Tensor, "layers heads steps source"] | None,
) -> dict[str, Any]:
    written = [*one.tokens, language.vocab.eos][: len(one.log_probs)]
    tokens = language.vocab.decode(written)
    attention = None
    if weights is not None:
        attention = attention_record({"cross": AttentionMap(weights, tokens, [*source, EOS])})["maps"][0]
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
    return float(f"{number:.5g}")


def pieces(language: Language, ids: Sequence[int]) -> list[str]:
    """What each token adds to the text: "l'", "homme", " ?"."""
    texts = [language.decode(ids[:end]) for end in range(len(ids) + 1)]
    return [after[len(before) :] for before, after in itertools.pairwise(texts)]


def next_tokens(vocab: Vocab, probs: Float[Tensor, "vocab"], written: int) -> dict[str, Any]:
    """The likeliest next tokens, among them the one that was written.

    Returns:
        `tokens`, `probs` and `ranks` (1 is the likeliest) of up to 6 of them, likeliest first; `written`, the place of
        the one that was written; `others`, the probability of all others together.
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


def misplaced(
    result: dict[str, Any],
    beams: Sequence[int],
    chosen: int,
    beam: int = 1,
    step: int = 0,
    locked: Sequence[Any] | None = None,
) -> str:
    """What is wrong with these, in one sentence; nothing where the result has them."""
    if beam not in beams:
        return f"beam is one of {', '.join(map(str, beams))}, not {beam}"
    if chosen >= len(result["best"]):
        return f"chosen is 0 to {len(result['best']) - 1}, not {chosen}: so many translations were found"
    queries, keys = len(result["best"][chosen]["tokens"]), len(result["source"]) + 1
    if step >= queries:
        return f"step is 0 to {queries - 1}, not {step}: the translation has {queries} tokens"
    return misplaced_lock(locked, queries, keys)


@any_script
def translation_picture(result: dict[str, Any], chosen: int, step: int) -> Figure:
    """Source and translation, the attention (mean of all heads), and the next tokens at one step, side by side."""
    best = result["best"][chosen]
    rows, columns = len(best["tokens"]), len(result["source"]) + 1
    long = 0.06 * min(40, max(map(len, (*result["source"], *best["tokens"]))))  # inches of the longest label, slanted
    left = min(2.5 + 0.42 * columns, 9.0) + long if best["attention"] else 0
    size = (left + 4.6, min(2.2 + 0.34 * rows, 8.0) + long if left else 3.2)
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(1, 2 if left else 1, width_ratios=[left, 4.6] if left else [1], squeeze=False)[0]
    if left:
        mean = unpack(best["attention"]["average"])
        heatmap(AttentionMap(mean, best["tokens"], best["attention"]["keys"]), ax=panels[0])
        panels[0].collections[0].set_clim(0, best["attention"]["full"])
        frame(panels[0], (0, step, columns, 1))
    _bars(panels[-1], best["next"][step], f"step {step + 1}: next token", result["words"])
    most = int(11 * size[0])
    figure.suptitle(f"{short_label(result['sentence'], most)}\n→ {short_label(best['text'], most)}", fontsize=12)
    return figure


def _bars(ax: Axes, after: dict[str, Any], title: str, words: int) -> None:
    """A bar for each candidate; ▶ marks the one that was written."""
    signs = ["▶ " if place == after["written"] else "" for place in range(len(after["tokens"]))]
    names = [sign + short_label(text, 20) for sign, text in zip(signs, after["tokens"], strict=True)]
    values = [*after["probs"], after["others"]]
    drawn = ax.barh(range(len(values)), values, color=[TRAIN if sign else REST for sign in [*signs, ""]])
    ax.bar_label(drawn, ["<0.005" if 0 < value < 0.005 else f"{value:.2f}" for value in values], padding=4)
    ax.set_yticks(range(len(values)), [*names, f"all {words - len(names):,} others"])
    ax.invert_yaxis()
    ax.set(xlim=(0, 1.15), xticks=[0, 0.5, 1], xlabel="probability", title=title)
    ax.spines[["top", "right"]].set_visible(False)
