"""How good is a translator? BLEU and chrF as the field counts them (sacreBLEU), perplexity, alignment error rate.

These functions compare what they are given. `Translator.evaluate` prepares it: one spelling for both sides, and, where
asked, all references of a source.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import NamedTuple

import sacrebleu
from jaxtyping import Float
from sacrebleu.metrics.base import Metric
from torch import Tensor

from ..data.pairs import Link, link_sets
from ..runtime.values import as_texts, check_items


class TextScore(NamedTuple):
    """A score from 0 to 100, and sacreBLEU's signature, which says how the score was counted."""

    score: float
    signature: str


References = Sequence[str] | Sequence[Sequence[str]]  # one of each sentence, or several


def bleu(hypotheses: Sequence[str], references: References, lowercase: bool = True) -> TextScore:
    """Corpus BLEU (Papineni et al., 2002) by sacreBLEU (Post, 2018), with its own tokenizer, 13a.

    Args:
        references: one text for each hypothesis, or a list of all texts that are right. lowercase: whether to ignore
        case, as our own text is in lower case. The signature says it: "case:lc", or "case:mixed".

    Raises:
        TypeError: something other than lists of texts is given: one text is not a list of sentences.
        ValueError: there are no hypotheses, or a hypothesis has no reference.
    """
    return _corpus_score(sacrebleu.BLEU(lowercase=lowercase, tokenize="13a"), hypotheses, references)


def chrf(hypotheses: Sequence[str], references: References, lowercase: bool = True) -> TextScore:
    """Character n-gram F-score (Popovic, 2015) by sacreBLEU. `references`, `lowercase`: see `bleu`."""
    return _corpus_score(sacrebleu.CHRF(lowercase=lowercase), hypotheses, references)


def _corpus_score(metric: Metric, hypotheses: Sequence[str], references: References) -> TextScore:
    hypotheses = as_texts(hypotheses, "hypotheses")
    right = [
        as_texts([each] if isinstance(each, str) else each, "references")
        for each in check_items("references", references)
    ]
    if len(hypotheses) != len(right) or not all(right) or not right:
        raise ValueError(f"{len(hypotheses)} hypotheses cannot be scored against {sum(map(bool, right))} references")
    score = metric.corpus_score(hypotheses, list(map(list, zip_longest(*right)))).score
    return TextScore(score, str(metric.get_signature()))


def perplexity(loss: float) -> float:
    """e to the mean loss of a token in nats: the model is as unsure as among this many equally likely tokens."""
    return math.exp(loss)


def argmax_links(weights: Float[Tensor, "queries keys"]) -> set[Link]:
    """For each target token (query) the link `(source, target)` to the source token with the largest weight.

    A row that is all 0 or all alike, or that holds NaN, has no largest weight, and so no link.
    """
    most = weights.amax(-1, keepdim=True)
    chosen = (weights == most).sum(-1).eq(1) & (most.squeeze(-1) > 0)
    return {(source, target) for target, source in enumerate(weights.argmax(-1).tolist()) if chosen[target]}


def alignment_error_rate(predicted: Iterable[Iterable[Link]], gold: Iterable[Iterable[Link]]) -> float:
    """1 - 2 |A and G| / (|A| + |G|) over all sentences, for predicted links A and gold links G.

    0 is perfect; 1 means that no link is right. Och and Ney (2003), section 5, where all gold links are "sure".

    Raises:
        TypeError: something other than a set of links for each sentence is given.
        ValueError: they are of different numbers of sentences, or there is no link.
    """
    predictions, truths = link_sets("predicted", predicted), link_sets("gold", gold)
    if len(predictions) != len(truths):
        raise ValueError(f"links of {len(predictions)} sentences cannot be compared with those of {len(truths)}")
    shared = total = 0
    for links, truth in zip(predictions, truths, strict=True):
        shared += len(links & truth)
        total += len(links) + len(truth)
    if total == 0:
        raise ValueError("no links to compare")
    return 1 - 2 * shared / total
