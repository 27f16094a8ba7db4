"""Scores, against sacreBLEU called directly and counts by hand."""

import math

import pytest
import sacrebleu
import torch

from seqlearn.metrics import alignment_error_rate, argmax_links, bleu, chrf, perplexity


def test_bleu_and_chrf_are_sacrebleu():
    hypotheses, references = ["Le chat dort ici ce soir .", "il mange"], ["le chat dort ici ce soir.", "elle mange"]
    ours = bleu(hypotheses, references)
    assert ours.score == sacrebleu.corpus_bleu(hypotheses, [references], lowercase=True).score
    assert "tok:13a" in ours.signature and "case:lc" in ours.signature
    lowered = [[text.lower() for text in texts] for texts in (hypotheses, references)]
    assert chrf(hypotheses, references).score == pytest.approx(sacrebleu.corpus_chrf(lowered[0], [lowered[1]]).score)


@pytest.mark.parametrize("references", [["a"], []])
def test_scores_need_as_many_references(references):
    with pytest.raises(ValueError, match=r"2 hypotheses|0 hypotheses"):
        bleu(["a", "b"] if references else [], references)


def test_perplexity_of_a_fair_die():
    assert perplexity(math.log(6)) == pytest.approx(6)


def test_argmax_links_by_hand():
    assert argmax_links(torch.tensor([[0.1, 0.9], [0.8, 0.2], [0.3, 0.7]])) == {(1, 0), (0, 1), (1, 2)}


def test_alignment_error_rate_by_hand():
    predicted = [{(0, 0), (1, 1), (2, 2)}, {(0, 0)}]
    gold = [{(0, 0), (1, 2)}, {(0, 0)}]
    assert alignment_error_rate(predicted, gold) == pytest.approx(1 - 2 * 2 / (4 + 3))
    assert alignment_error_rate(gold, gold) == 0
    with pytest.raises(ValueError, match="no links"):
        alignment_error_rate([[]], [[]])
