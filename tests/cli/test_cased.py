"""A corpus of one's own, German, from a file to held-out scores: capital letters, umlauts and quotes come back."""

import itertools
import json
import random

import pytest
from typer.testing import CliRunner

from seqlearn.analysis.metrics import bleu
from seqlearn.cli import app

NOUNS = {
    "bear": "der Bär", "owl": "die Eule", "girl": "das Mädchen", "fox": "der Fuchs", "cow": "die Kuh",
    "foal": "das Fohlen", "bird": "der Vogel", "mouse": "die Maus", "sheep": "das Schaf", "lion": "der Löwe",
}  # fmt: skip
VERBS = {"sees": "sieht", "hears": "hört", "finds": "findet", "carries": "trägt", "asks": "fragt"}
PLACES = {"today": "heute", "in Zürich": "in Zürich", "on the road": "auf der Straße"}
ACCUSATIVE = {"der": "den", "die": "die", "das": "das"}


def pairs():
    """Statements and quoted words in English and in German, in a random order."""
    made = []
    for who, verb, whom, place in itertools.product(NOUNS, VERBS, NOUNS, PLACES):
        subject, (article, noun) = NOUNS[who], NOUNS[whom].split()
        german = f"{subject[0].upper()}{subject[1:]} {VERBS[verb]} {PLACES[place]} {ACCUSATIVE[article]} {noun}"
        english = f"The {who} {verb} the {whom} {place}"
        made += [(f"{english}.", f"{german}."), (f'"{english}!"', f"„{german}!“")]
    random.Random(0).shuffle(made)
    return made


@pytest.mark.slow
def test_german_comes_back_as_it_was_typed(tmp_path):
    def run(*args):
        result = CliRunner().invoke(app, list(map(str, args)))
        assert result.exit_code == 0, result.output
        return result.stdout

    lines = pairs()
    train, held_out = lines[:1600], lines[1600:1800]
    for name, part in {"train": train, "valid": held_out[:60], "test": held_out[60:]}.items():
        text = "".join(f"{source}\t{target}\n" for source, target in part)
        (tmp_path / f"{name}.tsv").write_text(text, encoding="utf-8")
    folder = tmp_path / "german"
    run(
        "train", "--corpus", tmp_path / "train.tsv", "--valid", tmp_path / "valid.tsv", "--test", tmp_path / "test.tsv",
        "--languages", "en-de", "--model", "transformer", "--tokens", "bpe", "--vocab-size", 150, "--width", 48,
        "--ffn", 96, "--heads", 4, "--layers", 2, "--dropout", 0, "--norm", "pre", "--epochs", 10, "--lr", 3e-3,
        "--batch-size", 32, "--out", folder,
    )  # fmt: skip
    (tmp_path / "sources.txt").write_text("".join(f"{source}\n" for source, _ in held_out[60:]), encoding="utf-8")
    found = run("translate", folder, "--file", tmp_path / "sources.txt").splitlines()
    right = [target for _, target in held_out[60:]]
    cased, uncased = (bleu(found, right, lowercase=lowercase).score for lowercase in (False, True))
    assert cased > 70 and uncased - cased < 2
    exact = [target for text, target in zip(found, right, strict=True) if text == target]
    assert len(exact) > len(right) / 2
    for sign in ("ä", "ö", "ü", "ß", "„", "“"):
        assert any(sign in target for target in exact), sign
    scores = json.loads(run("evaluate", folder, "--json"))
    assert scores["bleu"] == pytest.approx(cased) and "case:mixed" in scores["bleu_signature"]
    assert scores["exact"] == pytest.approx(len(exact) / len(right))
