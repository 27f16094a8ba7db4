"""What happens without it? A translator with one part taken out: python benchmarks/without.py [SEED ...]

Each way trains by the recipe of the course's Transformer (`tools/pretrain.py`), which is that of lesson 09, for two to
three minutes on one core. Within a seed all ways start with the same weights and see the same batches. The parts are
taken out here: the package has no such options. Results are JSON files in assets/experiments/without/, and a run whose
file exists is not repeated. Settings and example sentences were fixed before the first run; nothing was tuned for a
model that lacks a part, and the epoch with the lowest valid loss is kept, as always.

What is stored of each run: the losses of the first updates, of each epoch, and of valid at the end where the decoder is
given one word at a time, as in search, so that no answer can leak; BLEU of greedy search on the test part, in batches
of sentences of one length (as the package searches), and in one batch of all sentences; the share of each kind of
translation (`kind_of`); the tokens of all translations as a share of those of the right ones; three translations, and
the first five mistakes. `seconds` are those of the clock, on a machine with other work: they compare nothing.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from experiments import FOLDER, made_with, store
from torch import Tensor, nn

from seqlearn.analysis.metrics import bleu
from seqlearn.data import corpus
from seqlearn.data.batches import Batches, pad
from seqlearn.data.corpus import Split
from seqlearn.nn.attention import MultiHeadAttention
from seqlearn.nn.cache import KeysValues, Past
from seqlearn.nn.contract import EncoderDecoder, eval_mode
from seqlearn.nn.masking import Mask
from seqlearn.nn.positions import NoPositions
from seqlearn.nn.transformer import Memory, TransformerDecoderBlock, TransformerEncoder, TransformerEncoderBlock
from seqlearn.search.sampling import greedy_search
from seqlearn.training import History, make_schedule
from seqlearn.training.loop import Diverged
from seqlearn.training.losses import sampled_logits, token_loss
from seqlearn.training.progress import Log
from seqlearn.translator.translator import Translator

sys.path.append(str(Path(__file__).parents[1]))  # for tools, which is not installed
from tools.pretrain import RECIPES

SEEDS, FIRST = (0, 1, 2), 10  # FIRST: updates whose losses are stored
EXAMPLES = (  # of the test part: who follows whom; two verbs; a noun phrase of many words, and a pronoun
    "Simon follows the kings who watch a rabbit.",
    "The rabbit that drank the milk ran.",
    "Louise's big cow eats the banana in the small forest because it is hungry.",
)
KINDS = ("right", "empty", "endless", "repeats", "order", "forms", "other")
SMALL_WORDS = frozenset(
    "le la les l' un une des de d' du au aux il elle ils elles lui leur leurs se s' ce cet cette ces qui que qu' "
    "mon ma mes ton ta tes son sa ses notre nos votre vos".split()
)


class EncoderBlockWithoutResiduals(TransformerEncoderBlock):
    """Pre-norm f(LN(x)) in place of x + f(LN(x))."""

    def forward(self, x: Tensor, mask: Mask | None = None) -> Tensor:
        """As `TransformerEncoderBlock.forward`, without the two additions."""
        y = self.norm1(x)
        x = self.dropout(self.self_attention(y, y, y, mask))
        return self.dropout(self.ffn(self.norm2(x)))


class DecoderBlockWithoutResiduals(TransformerDecoderBlock):
    """Pre-norm f(LN(x)) in place of x + f(LN(x))."""

    def forward(
        self, x: Tensor, memory: KeysValues, mask: Mask | None = None, past: Past | None = None, length: int = 0
    ) -> tuple[Tensor, Past]:
        """As `TransformerDecoderBlock.forward`, without the three additions and without beams."""
        y, end = self.norm1(x), length + x.shape[1]
        new = self.self_attention.project(y, y, length)
        past = Past(*new, end) if past is None else past.append(*new, length)
        keys, values = past.keys[:, :, :end], past.values[:, :, :end]
        x = self.dropout(self.self_attention.attend(y, keys, values, causal=True))
        x = self.dropout(self.cross_attention.attend(self.norm2(x), *memory, mask))
        return self.dropout(self.ffn(self.norm3(x))), past


class Zeros(nn.Module):
    """A sublayer that adds nothing."""

    def forward(self, x: Tensor) -> Tensor:
        """Zeros in the shape of x."""
        return torch.zeros_like(x)


class UnscaledEmbedding(nn.Embedding):
    """Divides by sqrt(d), which undoes the factor that encoder and decoder multiply embeddings by."""

    def forward(self, input: Tensor) -> Tensor:
        """The vectors of these ids, divided."""
        return super().forward(input) * self.embedding_dim**-0.5


class AttentionWithoutCausalMask(MultiHeadAttention):
    """Each query sees all keys that there are: in training those of later words and of padding, in search neither."""

    def attend(
        self,
        queries: Tensor,
        projected_keys: Tensor,
        projected_values: Tensor,
        mask: Mask | None = None,
        causal: bool = False,
    ) -> Tensor:
        """As `MultiHeadAttention.attend`, whatever `causal` says."""
        return super().attend(queries, projected_keys, projected_values, mask)


class EncoderWithoutPaddingMask(TransformerEncoder):
    """All positions of a batch count as real tokens, for itself and for cross-attention."""

    def forward(self, source: Tensor, source_lens: Tensor) -> Memory:
        """As `TransformerEncoder.forward`, for lengths that are those of the whole rows."""
        return super().forward(source, torch.full_like(source_lens, source.shape[1]))


def no_residuals(model: EncoderDecoder) -> None:
    """All ten additions go: two in each block of the encoder, three in each of the decoder."""
    for encoder, decoder in zip(model.encoder.blocks, model.decoder.blocks, strict=True):
        encoder.__class__, decoder.__class__ = EncoderBlockWithoutResiduals, DecoderBlockWithoutResiduals


def no_norms(model: EncoderDecoder) -> None:
    """All layer norms go, also the last one of each stack."""
    for name in [name for name, part in model.named_modules() if isinstance(part, nn.LayerNorm)]:
        model.set_submodule(name, nn.Identity())


def no_feed_forward(model: EncoderDecoder) -> None:
    """All feed-forward networks go, with their layer norms."""
    for side, norm in ((model.encoder, "norm2"), (model.decoder, "norm3")):
        for block in side.blocks:
            block.ffn = Zeros()
            setattr(block, norm, nn.Identity())


def no_factor(model: EncoderDecoder) -> None:
    """The factor sqrt(d) goes; embeddings are drawn as before, with variance 1/d."""
    for side in (model.encoder, model.decoder):
        side.embedding.__class__ = UnscaledEmbedding


def no_positions(model: EncoderDecoder) -> None:
    """Nothing is added to the embeddings, on either side. The dropout stays."""
    for side in (model.encoder, model.decoder):
        side.pos_encoding = NoPositions(side.pos_encoding.dropout.p)


def no_causal_mask(model: EncoderDecoder) -> None:
    """In training the decoder's words see the later ones, the answer among them."""
    for block in model.decoder.blocks:
        block.self_attention.__class__ = AttentionWithoutCausalMask


def no_padding_mask(model: EncoderDecoder) -> None:
    """Encoder and cross-attention see the padding of the source."""
    model.encoder.__class__ = EncoderWithoutPaddingMask


WAYS: dict[str, Callable[[EncoderDecoder], None]] = {
    "whole": lambda model: None,
    "no residual connections": no_residuals,
    "no layer norm": no_norms,
    "no feed-forward networks": no_feed_forward,
    "no factor sqrt(d)": no_factor,
    "no positions": no_positions,
    "no causal mask": no_causal_mask,
    "no padding mask": no_padding_mask,
}


def untrained(label: str, split: Split, seed: int) -> Translator:
    """The translator before training, with the part taken out. No random number is drawn for that."""
    translator = Translator.untrained("transformer", split, ("en", "fr"), seed=seed)
    WAYS[label](translator.model)
    return translator


def train(translator: Translator, split: Split, seed: int, log: Log | None = None) -> tuple[History, str | None]:
    """Train by the recipe of the course. Returned: what happened, and the sentence of `Diverged` if there was NaN."""
    recipe, kept = RECIPES["transformer"], History()

    def keep(model: nn.Module, history: History) -> None:
        nonlocal kept
        kept = history

    options = {name: recipe[name] for name in ("epochs", "lr", "batch_size")}
    schedule = make_schedule("linear", recipe["warmup"])
    try:
        translator.fit(split, schedule=schedule, seed=seed, progress=False, after_epoch=[keep], log=log, **options)
    except Diverged as error:
        return kept, str(error)
    return kept, None


def loss_word_by_word(translator: Translator, batches: Batches) -> float:
    """The mean loss of a target token, in nats, where the decoder is given the true words one at a time."""
    total, tokens = 0.0, 0
    with eval_mode(translator.model):
        for batch in batches:
            logits = sampled_logits(translator.model, batch, 1.0)
            total += float(token_loss(logits, batch.target[:, 1:], batches.pad))
            tokens += batch.tokens
    return total / tokens


def kind_of(found: Sequence[str], right: Sequence[str], finished: bool = True) -> str:
    """What kind of translation this is: the first of `KINDS` that fits.

    - "right": token for token; "empty": no token at all
    - "endless": no <eos> came until the limit, twice the source and 10 more
    - "repeats": one to four tokens stand twice in a row, and not so in the right one
    - "order": the right tokens, each as often, in another order
    - "forms": as many tokens, and each wrong one is a small word for a small word (articles, pronouns, determiners), or
      has the first three letters of the right one: gender, number, person, tense
    - "other": anything else

    Args:
        finished: whether <eos> came.
    """
    pairs = list(zip(found, right, strict=False))
    if list(found) == list(right) and finished:
        return "right"
    if not found:
        return "empty"
    if not finished:
        return "endless"
    if repeats(found) and not repeats(right):
        return "repeats"
    if sorted(found) == sorted(right):
        return "order"
    if len(found) == len(right) and all(
        one == other or {one, other} <= SMALL_WORDS or one[:3] == other[:3] for one, other in pairs
    ):
        return "forms"
    return "other"


def repeats(tokens: Sequence[str]) -> bool:
    """Whether one to four tokens stand twice in a row."""
    return any(
        tokens[start : start + size] == tokens[start + size : start + 2 * size]
        for size in range(1, 5)
        for start in range(len(tokens) - 2 * size + 1)
    )


def in_one_batch(translator: Translator, sentences: Sequence[str]) -> list[str]:
    """The translations of greedy search in one batch, where short sentences have much padding."""
    vocab = translator.target.vocab
    source, lens = pad([translator.source.encode(each) for each in sentences], translator.source.vocab.pad)
    ids = {"bos": vocab.bos, "eos": vocab.eos, "forbidden": (vocab.pad, vocab.bos)}
    return [translator.target.decode(one.tokens) for one in greedy_search(translator.model, source, lens, **ids)]


def measure(translator: Translator, split: Split) -> dict[str, Any]:
    """All that is stored of a trained translator's translations."""
    sources, target = [pair.source for pair in split.test], translator.target
    searched = [best for (best,) in translator.search(sources, progress=False)]
    texts = [target.decode(one.tokens) for one in searched]
    references = [target.tokenizer.normalize(pair.target) for pair in split.test]
    kinds = [
        kind_of(target.vocab.decode(one.tokens), target.tokenizer.tokenize(right), one.finished)
        for one, right in zip(searched, references, strict=True)
    ]
    tokens = sum(len(target.tokenizer.tokenize(right)) for right in references)
    counts, every = Counter(kinds), zip(kinds, sources, texts, references, strict=True)
    mistakes = [dict(zip(("kind", "source", "found", "right"), one, strict=True)) for one in every if one[0] != "right"]
    return {
        "bleu": round(bleu(texts, references).score, 2),
        "bleu in one batch": round(bleu(in_one_batch(translator, sources), references).score, 2),
        "exact": round(counts["right"] / len(kinds), 4),
        "length": round(sum(len(one.tokens) for one in searched) / tokens, 3),
        "kinds": {kind: round(counts[kind] / len(kinds), 4) for kind in KINDS},
        "examples": dict(zip(EXAMPLES, translator.translate_all(EXAMPLES), strict=True)), "mistakes": mistakes[:5],
    }  # fmt: skip


def run(seeds: Sequence[int]) -> None:
    """Train, measure and store what is not stored yet: all ways with the first seed, then with the next one."""
    split = corpus.builtin().split()
    for seed in seeds:
        for label in WAYS:
            path = FOLDER / "without" / f"{label.replace(' ', '-')}-{seed}.json"
            if path.exists():
                continue
            translator = untrained(label, split, seed)
            history, stopped = train(translator, split, seed)
            word_by_word = loss_word_by_word(translator, Batches(split.valid, translator.source, translator.target))
            result = {
                "label": label, **RECIPES["transformer"], "seed": seed, "stopped": stopped,
                "parameters": sum(weight.numel() for weight in translator.model.parameters()),
                "first losses": [round(loss, 4) for loss in history.batch_losses[:FIRST]],
                "train losses": [round(loss, 4) for loss in history.train_losses],
                "valid losses": [round(loss, 4) for loss in history.valid_losses],
                "valid loss word by word": round(word_by_word, 4),
                **made_with(sum(history.seconds)), "part": "test", **measure(translator, split),
            }  # fmt: skip
            store(path, result)
            kinds = {kind: share for kind, share in result["kinds"].items() if share}
            print(f"{label}, seed {seed}, {result['seconds']} s: valid {result['valid losses']}, {word_by_word:.3f};"
                  f" BLEU {result['bleu']}, {result['bleu in one batch']}; {kinds}", flush=True)  # fmt: skip


if __name__ == "__main__":
    torch.set_num_threads(1)
    run([int(text) for text in sys.argv[1:]] or SEEDS)
