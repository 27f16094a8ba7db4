"""The long runs whose results lessons plot: python benchmarks/experiments.py NAME [SEED ...]

Each result is a JSON file in assets/experiments/, with settings, seeds and versions. A run whose file exists is not
repeated. Settings were fixed before the first run on the test part.

    bottleneck    with and without attention, by length of the sentence (lessons 05 and 06)
    loop          a plain translator with a bug in its loop, and practised on its own words (lesson 05, more)
    positions     each kind of positions: trained on up to 20 tokens, tested on up to 160 (lesson 08)
    curriculum    short sentences first, or all from the start, and two ways in which the rate falls (lesson 09)
    decoder       a decoder-only model, and what language models changed since 2017, one change at a time (lesson 13)
    memorise      a textbook's setting, 600 pairs for 200 epochs and more; needs SEQLEARN_DATA (lesson 09)
"""

from __future__ import annotations

import copy
import json
import math
import platform
import statistics
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import torch
import torch.nn.functional as F
from curriculum import Curriculum, Stage
from torch import Tensor, nn

from seqlearn.analysis.measures import link_errors
from seqlearn.analysis.metrics import bleu
from seqlearn.data import corpus
from seqlearn.data.batches import Batches
from seqlearn.data.pairs import Pair
from seqlearn.data.text import WordTokenizer, normalize
from seqlearn.nn.attention import MultiHeadAttention
from seqlearn.nn.contract import eval_mode
from seqlearn.nn.masking import causal_mask, masked_softmax
from seqlearn.nn.positions import POSITIONS, make_positions
from seqlearn.nn.seq2seq import Seq2SeqDecoder
from seqlearn.runtime.ownership import write
from seqlearn.training import History, Schedule, batch_loss, constant, fit, mean_loss, warmup
from seqlearn.translator.translator import Translator

FOLDER = Path(__file__).parents[1] / "assets" / "experiments"
BINS = [(3, 6), (7, 9), (10, 12), (13, 15), (16, 18), (19, 24)]  # tokens of the source, both ends included


def train(name: str, split: corpus.Split, seed: int, epochs: int, **sizes) -> tuple[Translator, float]:
    """A trained translator, and the seconds that its training took."""
    translator = Translator.untrained(name, split, ("en", "fr"), seed=seed, **sizes)
    start = time.perf_counter()
    translator.fit(split, epochs=epochs, lr=3e-3, seed=seed, progress=False)
    return translator, time.perf_counter() - start


def by_length(translator: Translator, pairs: list[Pair]) -> dict:
    """BLEU of all pairs, of each third by length of the source, and of each bin; and how many pairs each has."""
    words = WordTokenizer("en")
    ordered = sorted(pairs, key=lambda pair: len(words.tokenize(pair.source)))
    lengths = [len(words.tokenize(pair.source)) for pair in ordered]
    hypotheses = translator.translate_all([pair.source for pair in ordered])
    references = [normalize(pair.target, "fr") for pair in ordered]

    def score(places: list[int]) -> dict:
        found = bleu([hypotheses[place] for place in places], [references[place] for place in places])
        shortest, longest = lengths[places[0]], lengths[places[-1]]
        return {"from": shortest, "to": longest, "pairs": len(places), "bleu": round(found.score, 2)}

    everything = list(range(len(ordered)))
    third = len(ordered) // 3
    thirds = [everything[:third], everything[third : 2 * third], everything[2 * third :]]
    bins = [[place for place in everything if low <= lengths[place] <= high] for low, high in BINS]
    return {
        "all": score(everything),
        "thirds": [score(places) for places in thirds],
        "bins": [score(places) for places in bins if places],
    }


def bottleneck(seeds: list[int]) -> None:
    """Does attention help with long sentences, or does it only learn faster? A plain model gets four times as long."""
    ways = {
        "additive attention": ("bahdanau", 4, {}),
        "bilinear attention": ("bahdanau", 4, {"score": "bilinear"}),
        "no attention": ("seq2seq", 4, {"num_hiddens": 256}),
        "no attention, 4 times as long": ("seq2seq", 16, {"num_hiddens": 256}),
    }
    split = corpus.builtin().split()
    for seed in seeds:
        for label, (name, epochs, sizes) in ways.items():
            path = FOLDER / "bottleneck" / f"{label.replace(',', '').replace(' ', '-')}-{seed}.json"
            if path.exists():
                continue
            translator, seconds = train(name, split, seed, epochs, **sizes)
            result = {
                "label": label, "model": name, "sizes": sizes, "epochs": epochs, "lr": 3e-3, "seed": seed,
                "parameters": sum(weight.numel() for weight in translator.model.parameters()),
                "seconds": round(seconds), "threads": torch.get_num_threads(), "torch": torch.__version__.split("+")[0],
                "machine": platform.machine(), "part": "test", **by_length(translator, list(split.test)),
            }  # fmt: skip
            store(path, result)
            print(f"{label}, seed {seed}: BLEU {result['all']['bleu']}, longest third {result['thirds'][2]['bleu']}")


SENTENCE = "The girl washes the red apple and eats it."
BUGS = "none", "the state is not passed on", "the token is not passed on", "the context changes", "nothing stops it"


@torch.no_grad()
def written(translator: Translator, text: str, bug: str, limit: int = 20) -> list[str]:
    """Greedy search with one of `BUGS`."""
    model, vocab = translator.model, translator.target.vocab
    decoder, source = model.decoder, torch.tensor([translator.source.encode(text)])
    assert isinstance(decoder, Seq2SeqDecoder)
    state = decoder.init_state(model.encoder(source, torch.tensor([source.shape[1]])))
    token, tokens = vocab.bos, []
    while len(tokens) < limit:
        logits, new = decoder(torch.tensor([[token]]), state)
        best = int(logits.argmax())
        if best == vocab.eos and bug != "nothing stops it":
            break
        tokens.append(best)
        token = vocab.bos if bug == "the token is not passed on" else best
        state = state if bug == "the state is not passed on" else new
        state = replace(state, context=new.hidden[-1]) if bug == "the context changes" else state
    return vocab.decode(tokens)


@torch.no_grad()
def practised(translator: Translator, pair: Pair, seed: int) -> list[list[str]]:
    """A step a row: what goes in, the best guess, the true word, and which of the two goes in next, by a coin."""
    model, vocab = translator.model, translator.target.vocab
    source, truth = torch.tensor([translator.source.encode(pair.source)]), translator.target.encode(pair.target)
    state = model.decoder.init_state(model.encoder(source, torch.tensor([source.shape[1]])))
    coins = torch.rand(len(truth), generator=torch.Generator().manual_seed(seed)) < 0.5
    seen, rows = vocab.bos, []
    for true, heads in zip(truth, coins.tolist(), strict=True):
        logits, state = model.decoder(torch.tensor([[seen]]), state)
        guess = int(logits.argmax())
        rows.append([*(vocab.tokens[token] for token in (seen, guess, true)), "true word" if heads else "own guess"])
        seen = true if heads else guess
    return rows


@torch.no_grad()
def loss_with(translator: Translator, batches: Batches, teacher_forcing: float) -> float:
    """The mean loss of a token, where a true word goes in with this probability, else the model's own guess."""
    pad = translator.target.vocab.pad
    with eval_mode(translator.model):
        total = sum(float(batch_loss(translator.model, batch, pad, teacher_forcing)) for batch in batches)
    return total / sum(batch.tokens for batch in batches)


def loop(seeds: list[int]) -> None:
    """What the plain model of lesson 05 writes with a bug in the loop; and scheduled sampling, for 80 batches."""
    split = corpus.builtin().split()
    ways = {"always the true word": lambda done: 1.0, "more and more its own": lambda done: 1.0 - done}
    for seed in seeds:
        path = FOLDER / "loop" / f"plain-3-epochs-{seed}.json"
        if path.exists():
            continue
        plain, seconds = train("seq2seq", split, seed, 3, num_hiddens=256)
        plain.model.cpu().eval()
        pairs = sorted(split.valid, key=lambda pair: len(plain.source.encode(pair.source)))
        sources, references = [pair.source for pair in pairs], [normalize(pair.target, "fr") for pair in pairs]
        bugs, join = {}, plain.target.tokenizer.detokenize
        for bug in BUGS:
            texts = [join(written(plain, text, bug)) for text in sources[::10]]
            score = round(bleu(texts, references[::10]).score, 2)
            bugs[bug] = {"our sentence": " ".join(written(plain, SENTENCE, bug)), "bleu": score}
        tried = (practised(plain, pair, seed) for pair in pairs[-60:])
        coins = next(rows for rows in tried if any(row[1] != row[2] and row[3] == "own guess" for row in rows[2:6]))
        valid = Batches(split.valid, plain.source, plain.target, batch_size=64)
        more = Batches(split.train[:5120], plain.source, plain.target, batch_size=64, seed=seed)
        practice = {}
        for way in ("before", *ways):
            learner = Translator(copy.deepcopy(plain.model), plain.source, plain.target)
            if way in ways:
                torch.manual_seed(seed)
                fit(learner.model, more, valid, epochs=1, lr=1e-3, teacher_forcing=ways[way], progress=False)
                learner.model.cpu().eval()
            practice[way] = {
                "loss, true words": round(loss_with(learner, valid, 1.0), 3),
                "loss, own words": round(loss_with(learner, valid, 0.0), 3),
                "BLEU": round(bleu(learner.translate_all(sources), references).score, 2),
            }
        result = {"label": "plain, 3 epochs", "epochs": 3, "lr": 3e-3, "seed": seed} | made_with(seconds)
        store(path, result | {"part": "valid", "bugs": bugs, "coins": coins, "practice": practice})


class Reader(nn.Module):
    """The model of lesson 08: embeddings with positions, one attention layer, logits. No residual connection."""

    def __init__(self, vocab_size: int, kind: str, num_heads: int = 1, num_hiddens: int = 64, max_steps: int = 256):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, num_hiddens)
        self.positions = make_positions(kind, num_hiddens, 0.0, max_steps)
        self.attention = MultiHeadAttention(num_hiddens, num_heads, rotary=kind == "rotary")
        self.dense = nn.Linear(num_hiddens, vocab_size)

    def forward(self, ids: Tensor, start: int = 0, mask: Tensor | None = None) -> Tensor:
        """The logits at every position."""
        x = self.positions(self.embedding(ids), start)
        return self.dense(self.attention(x, x, x, mask))


class BiasedReader(Reader):
    """A reader without positions whose scores get a bias that depends on the distance alone.

    - "alibi": -m |i - j|, not learned; head h of n has the slope m = 2^(-8 h / n). Press et al. (2022).
    - "alibi, causal": the same, and no query may attend to a later key, as in the paper.
    - "relative": a learned number for each head and each distance up to 16 in either direction; longer distances share
      the number of 16. The clipping is that of Shaw et al. (2018).
    - "relative, buckets": longer distances share buckets as in T5, Raffel et al. (2020): 8 distances have a bucket of
      their own in either direction, and 8 buckets that grow by a constant factor hold those up to 128.
    """

    def __init__(self, vocab_size: int, kind: str, num_heads: int = 1, num_hiddens: int = 64):
        super().__init__(vocab_size, "none", num_heads, num_hiddens)
        self.kind = kind
        slopes = 2.0 ** (-8 * torch.arange(1, num_heads + 1) / num_heads)
        self.register_buffer("slopes", slopes[:, None, None], persistent=False)
        if kind.startswith("relative"):
            self.biases = nn.Parameter(torch.zeros(num_heads, 33))

    def bias(self, steps: int) -> Tensor:
        """The bias of each score: heads, queries, keys."""
        places = torch.arange(steps)
        distances = places - places[:, None]  # queries, keys; below 0 for keys on the left
        if self.kind.startswith("alibi"):
            return -self.slopes * distances.abs()
        short = distances.abs().clamp(max=16)
        if self.kind.endswith("buckets"):
            shares = torch.log(distances.abs().clamp(min=8) / 8) / math.log(128 / 8)
            short = torch.where(distances.abs() < 8, distances.abs(), (8 + (8 * shares).long()).clamp(max=15))
        return self.biases[:, 16 + distances.sign() * short]

    def forward(self, ids: Tensor, start: int = 0, mask: Tensor | None = None) -> Tensor:
        """The logits at every position, with a bias for each distance."""
        x, layer = self.positions(self.embedding(ids), start), self.attention
        queries, keys, values = (
            project(x).unflatten(-1, (layer.num_heads, -1)).transpose(1, 2)
            for project in (layer.W_q, layer.W_k, layer.W_v)
        )
        if self.kind.endswith("causal"):
            past = causal_mask(ids.shape[1])[None]
            mask = past if mask is None else mask & past
        scores = queries @ keys.transpose(-2, -1) * queries.shape[-1] ** -0.5
        context = masked_softmax(scores + self.bias(ids.shape[1]), mask) @ values
        return self.dense(layer.W_o(context.transpose(1, 2).flatten(2)))


TASKS = {  # the right answer at each position, and how many positions at the start have none
    "three back": (lambda ids: ids.roll(3, dims=1), 3),
    "the third": (lambda ids: ids[:, 2:3].expand_as(ids), 0),
}
READERS = {  # kind of positions, heads, the last position at which a training sequence may start
    "none": ("none", 1, 0),
    "learned": ("learned", 1, 0),
    "sinusoidal": ("sinusoidal", 1, 0),
    "sinusoidal, random starts": ("sinusoidal", 1, 140),
    "rotary": ("rotary", 1, 0),
    "rotary, 4 heads": ("rotary", 4, 0),
    "ALiBi, 4 heads": ("alibi", 4, 0),
    "ALiBi, causal, 4 heads": ("alibi, causal", 4, 0),
    "relative bias": ("relative", 1, 0),
    "relative bias, T5's buckets": ("relative, buckets", 1, 0),
}
SYMBOLS, LONGEST, LENGTHS = 20, 20, (10, 20, 30, 40, 80, 160)


def right(model: Reader, task: str, length: int, window: int | None = None) -> float:
    """The share of right answers in 200 random sequences. `window`: the largest distance that may be attended."""
    answers, first = TASKS[task]
    ids = torch.randint(SYMBOLS, (200, length), generator=torch.Generator().manual_seed(1000 + length))
    places = torch.arange(length)
    mask = None if window is None else ((places[:, None] - places).abs() <= window)[None]
    with torch.no_grad():
        found = model(ids, mask=mask).argmax(-1)
    return round((found == answers(ids))[:, first:].float().mean().item(), 4)


def positions(seeds: list[int]) -> None:
    """Which positions work in sequences longer than any in training? Tokens are random: only the position counts."""
    updates, lr = 1000, 3e-3
    for seed in seeds:
        for task, (answers, first) in TASKS.items():
            for label, (kind, heads, latest) in READERS.items():
                name = f"{task}-{label}-{seed}.json".replace(",", "").replace("'", "").replace(" ", "-")
                path = FOLDER / "positions" / name
                if path.exists():
                    continue
                torch.manual_seed(seed)
                model = (Reader if kind in POSITIONS else BiasedReader)(SYMBOLS, kind, heads)
                optimizer, start = torch.optim.Adam(model.parameters(), lr=lr), time.perf_counter()
                for _ in range(updates):
                    ids = torch.randint(SYMBOLS, (64, int(torch.randint(8, LONGEST + 1, ()))))
                    logits = model(ids, int(torch.randint(0, latest + 1, ())))
                    loss = F.cross_entropy(logits[:, first:].transpose(1, 2), answers(ids)[:, first:])
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
                result = {
                    "label": f"{task}: {label}", "task": task, "positions": label, "heads": heads, "seed": seed,
                    "updates": updates, "lr": lr, "longest": LONGEST, "loss": round(loss.item(), 4),
                    "parameters": sum(weight.numel() for weight in model.parameters()),
                    "seconds": round(time.perf_counter() - start, 1), "threads": torch.get_num_threads(),
                    "torch": torch.__version__.split("+")[0], "machine": platform.machine(), "lengths": LENGTHS,
                    "right": [right(model, task, length) for length in LENGTHS],
                    "right in a window": [right(model, task, length, LONGEST - 1) for length in LENGTHS],
                }  # fmt: skip
                store(path, result)
                print(f"{result['label']}, seed {seed}: {result['right']}", flush=True)


# One epoch each: the longest sentences (22, 64, 90 and 100 % of the pairs), and the share of the peak learning rate.
LENGTHS_BY_STAGE, RATES_BY_STAGE, WARM_UP = (8, 12, 16, None), (1.0, 0.8, 0.5, 0.2), 0.1
CURRICULA = {  # whether short sentences come first, and whether the rate falls with each stage, or in a straight line
    "all sentences, rate falls in a line": (False, False),
    "all sentences, rate falls by stage": (False, True),
    "short sentences first, rate falls in a line": (True, False),
    "short sentences first, rate falls by stage": (True, True),
}


def lessons(split: corpus.Split, translator: Translator, short_first: bool, seed: int) -> Curriculum:
    """The stages of a curriculum. Without short sentences first, every stage has all pairs."""
    longest = LENGTHS_BY_STAGE if short_first else [None] * len(LENGTHS_BY_STAGE)
    stages = [Stage(1, most, rate) for most, rate in zip(longest, RATES_BY_STAGE, strict=True)]
    return Curriculum(split.train, translator.source, translator.target, stages, seed=seed)


def curriculum(seeds: list[int]) -> None:
    """Is it the short sentences, or the falling rate? Each of the four ways has one or the other, both, or neither.

    All make equally many updates, and all warm up to the same peak rate. The shares of the rate were chosen on valid,
    with another seed: 1, 0.5, 0.2, 0.05 was worse (BLEU 95.4 and not 97.6, short sentences first).
    """
    split, lr = corpus.builtin().split(), 2e-3
    for seed in seeds:
        for label, (short_first, by_stage) in CURRICULA.items():
            path = FOLDER / "curriculum" / f"{label.replace(',', '').replace(' ', '-')}-{seed}.json"
            if path.exists():
                continue
            translator = Translator.untrained("transformer", split, ("en", "fr"), seed=seed)
            valid, curve = Batches(split.valid, translator.source, translator.target), []

            def watch(model: nn.Module, history: History, translator=translator, curve=curve) -> None:
                curve.append(by_length(translator, list(split.valid))["all"]["bleu"])

            train = lessons(split, translator, short_first, seed)
            schedule = falls_by_stage(train) if by_stage else warmup(WARM_UP)
            options = {"epochs": train.epochs, "lr": lr, "schedule": schedule, "progress": False}
            history = fit(translator.model, train, valid, after_epoch=[watch], **options)
            result = {
                "label": label, "sizes": translator.config["sizes"], "epochs": train.epochs, "lr": lr,
                "warmup": WARM_UP, "seed": seed, "stages": [stage.longest for stage in train.stages],
                "rates": RATES_BY_STAGE if by_stage else "falls in a line to 0",
                "updates": len(history.batch_losses), "tokens": sum(history.tokens), "valid bleu": curve,
                "valid losses": [round(loss, 4) for loss in history.valid_losses],
                **made_with(sum(history.seconds)), "part": "test", **by_length(translator, list(split.test)),
            }  # fmt: skip
            store(path, result)
            print(f"{label}, seed {seed}: valid BLEU {curve}, test BLEU {result['all']['bleu']}", flush=True)


def falls_by_stage(train: Curriculum) -> Schedule:
    """A schedule that warms up, and then has the rate of each stage."""
    return lambda progress: min(1.0, progress / WARM_UP) * train.rate(progress)


MEMORISERS = {  # of d2l 0.17, lessons 10.4 and 10.7: model, epochs, sizes, the training loss that it prints
    "GRU with attention": ("bahdanau", 250, {"embed_size": 32, "num_hiddens": 32, "num_layers": 2}, 0.020),
    "Transformer": (
        "transformer", 200, {"num_hiddens": 32, "ffn_num_hiddens": 64, "num_heads": 4, "num_layers": 2}, 0.033
    ),
}  # fmt: skip
D2L_STEPS = 10  # d2l fills up every target to 10 places and averages the loss over them, before it divides by the words
D2L_CLIP = 0.034  # it clips the gradient of the sum over a batch of about 294 words, divided by those 10, at 1


def memorise(seeds: list[int]) -> None:
    """What a very low training loss is worth: the first 600 pairs of fra-eng, learned by heart. No pair is stored."""
    pairs = corpus.fra_eng().pairs
    train, sources = list(pairs[:600]), {pair.source for pair in pairs[:600]}
    for seed in seeds:
        for label, (name, epochs, sizes, published) in MEMORISERS.items():
            path = FOLDER / "memorise" / f"{label.replace(' ', '-')}-{seed}.json"
            if path.exists():
                continue
            split = corpus.Split(train, train, [])
            translator = Translator.untrained(name, split, ("en", "fr"), min_freq=2, seed=seed, dropout=0.1, **sizes)
            new = [pair for pair in pairs if pair.source not in sources and known(translator, pair)]
            batches = Batches(new, translator.source, translator.target)
            losses: list[float] = []

            def watch(model: nn.Module, history: History, batches=batches, losses=losses) -> None:
                losses.append(round(mean_loss(model, batches), 4))

            options = {"epochs": epochs, "lr": 0.005, "schedule": constant, "clip": D2L_CLIP, "progress": False}
            history = translator.fit(split, seed=seed, after_epoch=[watch], **options)
            result = {
                "label": label, "model": name, "sizes": sizes, "epochs": epochs, "lr": 0.005, "dropout": 0.1,
                "seed": seed, "pairs": len(train), "new pairs": len(new), "published by d2l": published,
                "d2l's steps": D2L_STEPS, "new losses": losses,
                "train losses": [round(loss, 4) for loss in history.train_losses],
                "train losses without dropout": [round(loss, 4) for loss in history.valid_losses],
                "lowest possible": round(lowest_possible(translator, train), 4), "best epoch": history.best_epoch + 1,
                "trained right": by_heart(translator, train, pairs), "new right": by_heart(translator, new, pairs),
                "new bleu": round(translator.evaluate(new).bleu.score, 2), **made_with(sum(history.seconds)),
            }  # fmt: skip
            store(path, result)
            print(f"{label}, seed {seed}: right {result['trained right']} and {result['new right']}", flush=True)


SCHEDULE = {"epochs": 4, "lr": 2e-3}  # that of the encoder-decoder Transformer in tools/pretrain.py, with its warm-up
DECODERS = {  # the settings that differ from the plain model
    "decoder-only": {},
    "RMSNorm": {"norm": "rms"},
    "SwiGLU": {"ffn": "swiglu", "ffn_num_hiddens": 170},  # three matrices of 170 are about two of 256
    "2 heads of keys and values": {"num_kv_heads": 2},
    "1 head of keys and values": {"num_kv_heads": 1},
    "RMSNorm, SwiGLU, 2 heads of keys and values": {
        "norm": "rms", "ffn": "swiglu", "ffn_num_hiddens": 170, "num_kv_heads": 2
    },
    "prefix mask": {"prefix": True},
}  # fmt: skip


def decoder(seeds: list[int]) -> None:
    """What does a decoder-only Transformer lose or win by each change? Settings are those of lesson 09's model."""
    split = corpus.builtin().split()
    for seed in seeds:
        for label, sizes in DECODERS.items():
            path = FOLDER / "decoder" / f"{label.replace(',', '').replace(' ', '-')}-{seed}.json"
            if path.exists():
                continue
            translator = Translator.untrained("decoder", split, ("en", "fr"), seed=seed, **sizes)
            history = translator.fit(split, seed=seed, schedule=warmup(WARM_UP), progress=False, **SCHEDULE)
            valid, test = (translator.evaluate(list(part)) for part in (split.valid, split.test))
            maps = translator.attend_all(split.valid, "causal")
            errors = link_errors(maps, [pair.alignment for pair in split.valid])
            result = {
                "label": label, "sizes": sizes, **SCHEDULE, "warmup": WARM_UP, "seed": seed,
                "parameters": sum(weight.numel() for weight in translator.model.parameters()),
                "cache bytes of a token": cache_bytes(translator), "valid bleu": round(valid.bleu.score, 2),
                "valid exact": round(valid.exact, 4), "valid losses": [round(loss, 4) for loss in history.valid_losses],
                "valid link errors of each head": [[round(rate, 3) for rate in layer] for layer in errors.tolist()],
                **made_with(sum(history.seconds)), "part": "test", "exact": round(test.exact, 4),
                "perplexity": round(test.perplexity, 4), **by_length(translator, list(split.test)),
            }  # fmt: skip
            store(path, result)
            print(
                f"{label}, seed {seed}: {result['parameters']:,} parameters, {result['seconds']} s, "
                f"valid BLEU {result['valid bleu']}, exact {valid.exact:.1%}; test BLEU {result['all']['bleu']}, "
                f"exact {test.exact:.1%}; best link errors {float(errors.min()):.3f}",
                flush=True,
            )


def cache_bytes(translator: Translator) -> int:
    """The bytes of keys and values that the model keeps for each token of a sentence."""
    model, source = translator.model, torch.tensor([[translator.source.vocab.eos]])
    with eval_mode(model):
        return model.decoder.init_state(model.encoder(source, torch.tensor([1]))).cache_bytes


def known(translator: Translator, pair: Pair) -> bool:
    """Whether the translator has all tokens of both sides in its vocabularies."""
    sides = ((translator.source, pair.source), (translator.target, pair.target))
    return all(token in side.vocab for side, text in sides for token in side.tokenizer.tokenize(text))


def answers(translator: Translator, chosen: Sequence[Pair], pairs: Iterable[Pair]) -> dict[str, list[tuple[int, ...]]]:
    """All translations, as ids, that `pairs` has for the sources of the chosen ones."""
    found: dict[str, list[tuple[int, ...]]] = {pair.source: [] for pair in chosen}
    for pair in pairs:
        if pair.source in found:
            found[pair.source].append(tuple(translator.target.encode(pair.target)))
    return found


def by_heart(translator: Translator, chosen: Sequence[Pair], pairs: Iterable[Pair]) -> dict:
    """How many sources there are, and how many of them get one of their translations (<unk> for unknown words)."""
    right, eos = answers(translator, chosen, pairs), translator.target.vocab.eos
    given = [tuple(token for token in found.tokens if token != eos) for (found,) in translator.search(right)]
    hits = sum((*ids, eos) in targets for ids, targets in zip(given, right.values(), strict=True))
    return {"sources": len(right), "right": hits}


def lowest_possible(translator: Translator, pairs: Sequence[Pair]) -> float:
    """The lowest possible loss of a token, in nats: of k translations of a source no model can predict which one."""
    loss = tokens = 0.0
    by_ids: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
    for pair in pairs:
        source, target = translator.source.encode(pair.source), translator.target.encode(pair.target)
        by_ids.setdefault(tuple(source), []).append(tuple(target))
    for targets in by_ids.values():
        loss -= sum(math.log(targets.count(target) / len(targets)) for target in targets)
        tokens += sum(map(len, targets))
    return loss / tokens


def made_with(seconds: float) -> dict:
    """The time of a run, and the machine."""
    return {
        "seconds": round(seconds), "threads": torch.get_num_threads(), "torch": torch.__version__.split("+")[0],
        "machine": platform.machine(),
    }  # fmt: skip


def store(path: Path, result: dict) -> None:
    """Write a result, readable and the same on every system."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(result, indent=1, ensure_ascii=False)
    write(path, text + "\n")


def load(name: str) -> dict[str, list[dict]]:
    """The stored runs of an experiment, a list for each label."""
    found: dict[str, list[dict]] = {}
    for path in sorted((FOLDER / name).glob("*.json")):
        run = json.loads(path.read_text(encoding="utf-8"))
        found.setdefault(run["label"], []).append(run)
    return found


def headline(run: dict) -> float:
    """The one number that is printed for a run: a BLEU, or the last share right."""
    if "thirds" in run:
        return run["thirds"][2]["bleu"]
    if "practice" in run:
        return run["practice"]["before"]["BLEU"]
    return run["new bleu"] if "new bleu" in run else 100 * run["right"][-1]


EXPERIMENTS = {
    "bottleneck": bottleneck, "loop": loop, "positions": positions, "curriculum": curriculum, "decoder": decoder,
    "memorise": memorise,
}  # fmt: skip

if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in EXPERIMENTS:
        sys.exit(__doc__)
    torch.set_num_threads(1)
    EXPERIMENTS[sys.argv[1]]([int(text) for text in sys.argv[2:]] or [0, 1, 2])
    for label, runs in load(sys.argv[1]).items():
        scores = [headline(run) for run in runs]
        print(f"{label}: {statistics.mean(scores):.1f} ({min(scores):.1f} to {max(scores):.1f})")
