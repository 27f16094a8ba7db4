"""Is the circuit of lesson 14 that of one training, or of all? python benchmarks/circuits.py [SEED ...]

Seed 0 is the Transformer that comes with the course. Seeds 1 to 5 are trained by its recipe (`tools/pretrain.py`), with
other weights and another order of the pairs; each takes three to eight minutes on one core. The results are stored in
assets/experiments/circuits/, and a run whose file exists is not repeated. The sentences, the measures `moved` and
`flips`, and the mean ablation are those of lesson 14. Settings were fixed before the first run.

What is stored of each training: BLEU of the test part; the share of right pronouns before any patch; for each of the 24
heads, patched alone, how far the lean moves and the share of flips; the same for each row of the encoder's stream after
each block, and for each row of the *finder*, the encoder head that moves most; the right pronouns without the finder;
and how many heads one has to keep, in the order of what they move, until 90 % of the object pronouns of the valid and
test parts are right with all others mean-ablated.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from experiments import FOLDER, made_with, store
from torch import Tensor

from seqlearn.analysis.circuits import keep_only, mean_over_words
from seqlearn.data import corpus
from seqlearn.data.batches import pad
from seqlearn.data.corpus import Split
from seqlearn.data.pairs import Pair
from seqlearn.nn.patching import heads, patch, record_stream
from seqlearn.training import make_schedule
from seqlearn.translator.translator import Translator

sys.path.append(str(Path(__file__).parents[1]))  # for tools, which is not installed
from tools.pretrain import RECIPES

SEEDS = (0, 1, 2, 3, 4, 5)
WHO = {
    "girl": "la fille", "boy": "le garçon", "queen": "la reine", "king": "le roi", "cow": "la vache", "dog": "le chien",
}  # fmt: skip
LE = {"lemon": "le citron", "melon": "le melon", "cake": "le gâteau", "cheese": "le fromage"}
LA = {"apple": "la pomme", "pear": "la poire", "tomato": "la tomate", "soup": "la soupe"}
ENOUGH, MEANS_OF = 0.9, 500
Question = tuple[str, str]  # an English sentence, and the French words before its pronoun


def minimal_pairs(split: Split) -> list[tuple[Question, Question]]:
    """Sentences that differ in their noun, in both directions, without those of the training part."""
    known = {pair.source for pair in split.train}
    found = []
    for who, subject in WHO.items():
        for one, le in LE.items():
            for other, la in LA.items():
                both = [
                    (f"The {who} washes the {noun} and eats it.", f"{subject} lave {french} et")
                    for noun, french in ((one, le), (other, la))
                ]
                if not known & {sentence for sentence, _ in both}:
                    found.append((both[0], both[1]))
    return [*found, *((two, one) for one, two in found)]


class Case:
    """A translator, and the pairs whose pronouns it decides."""

    def __init__(self, translator: Translator, split: Split):
        self.translator, self.model = translator, translator.model.eval()
        self.words = translator.target.vocab.encode(["la", "le"])
        own, other = zip(*minimal_pairs(split), strict=True)
        self.own, self.other = self.read(own), self.read(other)
        self.right_way = torch.tensor([1.0 if french.split()[-3] == "la" else -1.0 for _, french in own])
        self.before = self.lean(self.own)
        with record_stream(self.model) as self.vectors:
            self.after = self.lean(self.other)

    def read(self, questions: Sequence[Question]) -> tuple[Tensor, Tensor, Tensor]:
        """What the model reads."""
        source = torch.tensor([self.translator.source.encode(sentence) for sentence, _ in questions])
        vocab = self.translator.target.vocab
        target = torch.tensor([[vocab.bos, *vocab.encode(french.split())] for _, french in questions])
        return source, torch.full((len(questions),), source.shape[1]), target

    @torch.no_grad()
    def lean(self, read: tuple[Tensor, Tensor, Tensor]) -> Tensor:
        """By how many logits la is likelier than le."""
        logits = self.model(*read)[:, -1]
        return logits[:, self.words[0]] - logits[:, self.words[1]]

    def patched(self, place: str, rows: list[int] | None = None) -> dict[str, float]:
        """What a patch moves, and the share of pronouns that it flips."""
        with patch(self.model, {place: self.vectors[place]}, rows):
            lean = self.lean(self.own)
        way = self.after - self.before
        moved = ((lean - self.before) * way.sign()).sum() / way.abs().sum()
        flips = (lean.sign() != self.before.sign()).float().mean()
        return {"moved": round(float(moved), 3), "flips": round(float(flips), 3)}


def measure(translator: Translator, split: Split) -> dict[str, Any]:
    """All that is stored of a training, but for its settings."""
    case = Case(translator, split)
    every = list(heads(case.model))
    alone = {head: case.patched(head) for head in every}
    finder = max((head for head in every if head.startswith("encoder")), key=lambda head: alone[head]["moved"])
    rows = range(case.own[0].shape[1])
    means, objects = mean_vectors(translator, split), object_pronouns(translator, split)
    with patch(case.model, {finder: means[finder]}):
        without = float((case.lean(case.own).sign() == case.right_way).float().mean())
    order = sorted(every, key=lambda head: -alone[head]["moved"])
    kept = [share_right(translator, objects, means, order[:count]) for count in range(len(order) + 1)]
    enough = next(count for count, share in enumerate(kept) if share >= ENOUGH)
    return {
        "pairs": len(case.before), "right": round(float((case.before.sign() == case.right_way).float().mean()), 4),
        "heads": alone, "finder": finder,
        "stream": {
            place: [case.patched(place, [row])["moved"] for row in rows]
            for place in ("encoder.pos_encoding", "encoder.blocks.0", "encoder.blocks.1")
        },
        "rows of the finder": [case.patched(finder, [row]) for row in rows],
        "right without the finder": round(without, 4), "object pronouns": len(objects),
        "right with the first heads kept": [round(share, 4) for share in kept], "order": order, "enough": enough,
    }  # fmt: skip


def batch_of(translator: Translator, pairs: Sequence[Pair]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Sources, their lengths, targets, and which rows of the targets are not padding."""
    vocab = translator.target.vocab
    source, lens = pad([translator.source.encode(pair.source) for pair in pairs], translator.source.vocab.pad)
    target, _ = pad([[vocab.bos, *translator.target.encode(pair.target)] for pair in pairs], vocab.pad)
    return source, lens, target[:, :-1], target[:, :-1] != vocab.pad


@torch.no_grad()
def mean_vectors(translator: Translator, split: Split) -> dict[str, Tensor]:
    """The mean vector of each head, over the words of 500 sentences of the training part."""
    source, lens, target, written = batch_of(translator, split.train[:MEANS_OF])
    with record_stream(translator.model, heads(translator.model)) as stream:
        translator.model(source, lens, target)
    read = source != translator.source.vocab.pad
    return {
        head: mean_over_words(calls, read if head.startswith("encoder") else written) for head, calls in stream.items()
    }


def object_pronouns(translator: Translator, split: Split) -> list[tuple[Pair, int, str]]:
    """Pairs of the valid and test parts, the step of their pronoun, and the pronoun: le or la."""
    found = []
    for pair in [*split.valid, *split.test]:
        if pair.construction == "object-pronoun" and pair.antecedents:
            step = pair.antecedents[0].target
            word = translator.target.tokenizer.tokenize(pair.target)[step]
            found += [(pair, step, word)] if word in ("le", "la") else []
    return found


@torch.no_grad()
def share_right(
    translator: Translator, objects: Sequence[tuple[Pair, int, str]], means: dict[str, Tensor], kept: Sequence[str]
) -> float:
    """The share of right object pronouns with these heads, and the mean of all others."""
    source, lens, target, _ = batch_of(translator, [pair for pair, _, _ in objects])
    with patch(translator.model, keep_only(heads(translator.model), means, *kept)):
        logits = translator.model(source, lens, target)
    rows, steps = range(len(objects)), [step for _, step, _ in objects]
    encode = translator.target.vocab.encode
    right = logits[rows, steps, encode([word for *_, word in objects])]
    wrong = logits[rows, steps, encode([{"le": "la", "la": "le"}[word] for *_, word in objects])]
    return float((right > wrong).float().mean())


def run(seeds: Sequence[int]) -> None:
    """Train, measure and store what is not stored yet."""
    split, recipe = corpus.builtin().split(), RECIPES["transformer"]
    for seed in seeds:
        path = FOLDER / "circuits" / f"seed-{seed}.json"
        if path.exists():
            continue
        if seed == 0:
            translator, seconds = Translator.pretrained("transformer", "cpu"), 0.0
        else:
            translator = Translator.untrained("transformer", split, ("en", "fr"), seed=seed)
            options = {name: recipe[name] for name in ("epochs", "lr", "batch_size")}
            schedule = make_schedule("linear", recipe["warmup"])
            history = translator.fit(split, schedule=schedule, seed=seed, progress=False, **options)
            seconds = sum(history.seconds)
        bleu = round(translator.evaluate(list(split.test)).bleu.score, 2)
        result = {"label": f"seed {seed}", "seed": seed, **recipe, "bleu": bleu, **measure(translator, split)}
        store(path, result | {"seed": seed} | made_with(seconds))
        print(result["label"], bleu, result["finder"], result["heads"][result["finder"]], result["enough"], flush=True)


if __name__ == "__main__":
    torch.set_num_threads(1)
    run([int(text) for text in sys.argv[1:]] or SEEDS)
