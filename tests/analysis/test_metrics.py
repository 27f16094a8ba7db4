"""Scores, against sacreBLEU called directly and counts by hand."""

import math

import pytest
import sacrebleu
import torch

from seqlearn.analysis.metrics import alignment_error_rate, argmax_links, bleu, chrf, perplexity
from seqlearn.data.corpus import Split
from seqlearn.data.pairs import Pair
from seqlearn.data.text import normalize
from seqlearn.runtime.d2l_compat import d2l
from seqlearn.translator.translator import Translator


def test_bleu_and_chrf_are_sacrebleu():
    hypotheses, references = ["Le chat dort ici ce soir .", "il mange"], ["le chat dort ici ce soir.", "elle mange"]
    ours = bleu(hypotheses, references)
    assert ours.score == sacrebleu.corpus_bleu(hypotheses, [references], lowercase=True).score
    assert all(part in ours.signature for part in ("tok:13a", "case:lc", "eff:no"))
    lowered = [[text.lower() for text in texts] for texts in (hypotheses, references)]
    assert chrf(hypotheses, references).score == pytest.approx(sacrebleu.corpus_chrf(lowered[0], [lowered[1]]).score)


def test_d2ls_bleu_is_no_bleu():
    """Why we score with sacreBLEU: with k=2, d2l's gives "he is wet" for "he is calm" 0.658; nobody would say so."""
    wrong, right = "il est mouillé .", "il est calme ."
    assert d2l.bleu(wrong, right, k=2) == pytest.approx(0.658, abs=1e-3)
    # By hand: brevity 1, three words of four, one pair of three: not BLEU's geometric mean over 1- to 4-grams.
    assert d2l.bleu(wrong, right, k=2) == pytest.approx((3 / 4) ** 0.5 * (1 / 3) ** 0.25)
    assert d2l.bleu(right, right, k=2) == 1 and bleu([right], [right]).score == pytest.approx(100)
    assert bleu([wrong], [right]).score == sacrebleu.corpus_bleu([wrong], [[right]], lowercase=True).score < 40


def test_a_translator_is_scored_against_normalised_references(monkeypatch):
    """A translation is normalised text. Another spelling of the same reference must not cost a point."""
    pairs = [
        Pair("It is summer!", "«\u00a0C\u2019est l\u2019E\u0301te\u0301\u202f!\u00a0»"),
        Pair("Where is he?", "Où est-il\u00a0?"),
    ]
    translator = Translator.untrained("seq2seq", Split(pairs, pairs, pairs), ("en", "fr"), embed_size=4, num_hiddens=4)
    right = [normalize(pair.target, "fr") for pair in pairs]
    assert bleu(right, [pair.target for pair in pairs]).score < 60, "the spellings should differ"
    monkeypatch.setattr(translator, "translate_all", lambda sentences, *_, **__: right)
    scores = translator.evaluate(pairs)
    assert scores.bleu.score == pytest.approx(100) and scores.chrf.score == pytest.approx(100) and scores.exact == 1


@pytest.mark.parametrize("references", [["a"], []])
def test_scores_need_as_many_references(references):
    with pytest.raises(ValueError, match=r"2 hypotheses|0 hypotheses"):
        bleu(["a", "b"] if references else [], references)


def test_perplexity_of_a_fair_die():
    assert perplexity(math.log(6)) == pytest.approx(6)


def test_argmax_links_by_hand():
    assert argmax_links(torch.tensor([[0.1, 0.9], [0.8, 0.2], [0.3, 0.7]])) == {(1, 0), (0, 1), (1, 2)}


def test_a_row_of_zeros_or_nan_or_equal_weights_has_no_link():
    assert argmax_links(torch.tensor([[0.0, 0.0], [math.nan, 1.0], [0.3, 0.7], [0.5, 0.5]])) == {(1, 2)}
    assert argmax_links(torch.tensor([[1.0], [0.0]])) == {(0, 0)}, "of one source token, it has all the weight"


def test_alignment_error_rate_by_hand():
    predicted = [{(0, 0), (1, 1), (2, 2)}, {(0, 0)}]
    gold = [{(0, 0), (1, 2)}, {(0, 0)}]
    assert alignment_error_rate(predicted, gold) == pytest.approx(1 - 2 * 2 / (4 + 3))
    assert alignment_error_rate(gold, gold) == 0
    with pytest.raises(ValueError, match="no links"):
        alignment_error_rate([[]], [[]])


def test_all_references_of_a_source_are_right(monkeypatch):
    pairs = [
        Pair("It is cold.", "Il fait froid."), Pair("Thanks!", "Merci !"), Pair("It is cold.", "C'est froid ici."),
        Pair("it is cold.", "Ça caille drôlement ici."),
    ]  # fmt: skip
    translator = Translator.untrained("seq2seq", Split(pairs, pairs, pairs), ("en", "fr"), embed_size=4, num_hiddens=4)
    found = {"It is cold.": "c'est froid ici.", "Thanks!": "merci", "it is cold.": "c'est froid ici."}
    monkeypatch.setattr(translator, "translate_all", lambda sentences, *_, **__: [found[each] for each in sentences])
    one, every = translator.evaluate(pairs), translator.evaluate(pairs, all_references=True)
    assert (one.pairs, every.pairs) == (4, 2) and (one.exact, every.exact) == (0.25, 0.5)
    streams = [["il fait froid.", "merci !"], ["c'est froid ici.", None], ["ça caille drôlement ici.", None]]
    hypotheses = ["c'est froid ici.", "merci"]
    assert every.bleu.score == sacrebleu.BLEU(lowercase=True).corpus_score(hypotheses, streams).score > one.bleu.score
    assert every.chrf.score == sacrebleu.CHRF(lowercase=True).corpus_score(hypotheses, streams).score
    assert "nrefs:var" in every.bleu.signature and "nrefs:1" in one.bleu.signature
    assert every.perplexity == one.perplexity
