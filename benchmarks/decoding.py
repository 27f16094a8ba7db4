"""What search costs, beside other libraries: python benchmarks/decoding.py [--rounds N] [CASE ...]

One Transformer (3+3 layers of 256, vocabulary 6,000, random weights) is searched by this package, by `generate` of
Hugging Face transformers and by CTranslate2, all with the same weights and the same definition of the best hypothesis;
and by this package without `search/fast_step.py`, so that one sees what this file saves.
Then d2l's Transformer is searched by d2l's greedy search and by ours. One thread, all in turn, batch by batch. The
translations are compared first.
Read the ratios: medians over the batches of (time of the other / time of seqlearn), by the wall clock and by CPU time.
transformers and CTranslate2 come with `pip install -e .[bench]`; without them, their lines are left out.
"""

from __future__ import annotations

import argparse
import copy
import functools
import importlib.util
import math
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import torch
from table import LeftOut, Row, slug
from torch import Tensor, nn

from seqlearn.data.batches import pad
from seqlearn.nn.contract import EncoderDecoder
from seqlearn.nn.transformer import SIZES, TransformerDecoder, transformer
from seqlearn.search.beam import beam_search
from seqlearn.search.lengths import length_average
from seqlearn.search.sampling import greedy_search

VOCAB, SENTENCES, STEPS = 6000, 200, 20
PAD, BOS, EOS = 0, 1, 2
IDS = {"bos": BOS, "eos": EOS, "forbidden": (PAD, BOS)}
Search = Callable[[Tensor, Tensor], Sequence[Sequence[int]]]  # sources, lengths -> the tokens of each translation


def random_model(ends: bool) -> EncoderDecoder:
    """Post-norm with biases and one embedding, as Marian is. With `ends`, translations end early and late."""
    torch.manual_seed(0)
    model = transformer(VOCAB, VOCAB, replace(SIZES["small"], dropout=0.0, norm_first=False, bias=True))
    model.encoder.embedding.weight = model.decoder.embedding.weight
    with torch.no_grad():
        model.decoder.dense.bias[EOS] = END_BIAS if ends else -1e4
    return model.requires_grad_(False).eval()


END_BIAS = 0.95
NAMES = [  # in Marian, and here
    ("final_logits_bias", "decoder.dense.bias"), ("lm_head", "decoder.dense"), ("shared", "encoder.embedding"),
    ("model.", ""), ("embed_tokens", "embedding"), ("layers.", "blocks."), ("self_attn_layer_norm", "norm1"),
    ("encoder_attn_layer_norm", "norm2"), ("encoder_attn", "cross_attention"), ("self_attn", "self_attention"),
    ("fc", "ffn.dense"), ("q_proj", "W_q"), ("k_proj", "W_k"), ("v_proj", "W_v"), ("out_proj", "W_o"),
]  # fmt: skip


def as_marian(model: EncoderDecoder):
    """A Marian of transformers with the weights of our model."""
    from transformers import MarianConfig, MarianMTModel

    size = SIZES["small"]
    layers, heads, ffn = size.num_layers, size.num_heads, size.ffn_num_hiddens
    config = MarianConfig(
        vocab_size=VOCAB, d_model=size.num_hiddens, encoder_layers=layers, decoder_layers=layers,
        encoder_attention_heads=heads, decoder_attention_heads=heads, encoder_ffn_dim=ffn, decoder_ffn_dim=ffn,
        activation_function="relu", scale_embedding=True, max_position_embeddings=512, pad_token_id=PAD,
        bos_token_id=BOS, decoder_start_token_id=BOS, eos_token_id=EOS, forced_eos_token_id=None,
        tie_word_embeddings=False,
    )  # fmt: skip
    marian = MarianMTModel(config).eval().requires_grad_(False)
    ours = model.state_dict()
    for name, weight in marian.state_dict().items():
        here = functools.reduce(lambda text, pair: text.replace(*pair), NAMES, name)
        here = here.replace("final_layer_norm", "norm2" if "encoder.l" in name else "norm3")
        if "embed_positions" in name:
            weight.copy_(model.encoder.pos_encoding.rows(0, len(weight))[0])
        else:
            weight.copy_(ours[here])
    return marian


def searched_by_us(model: EncoderDecoder, width: int, least: int, most: int) -> Search:
    """Greedy or beam search of this package."""
    options = {**IDS, "min_length": least, "max_length": most}
    if width == 1:
        return lambda source, lengths: [found.tokens for found in greedy_search(model, source, lengths, **options)]
    options |= {"width": width, "length_penalty": length_average, "refill": True}
    return lambda source, lengths: [best.tokens for (best,) in beam_search(model, source, lengths, **options)]


class Modules(TransformerDecoder):
    """The same decoder under another name: `fast_step` leaves it alone, so each step calls the modules."""


def by_modules(model: EncoderDecoder) -> EncoderDecoder:
    """A copy of the model that is searched without `fast_step`."""
    copied = copy.deepcopy(model)
    copied.decoder.__class__ = Modules
    return copied


def searched_by_transformers(marian, width: int, least: int, most: int) -> Search:
    """`generate`, with the same definition of the score and of the end."""
    options = {"do_sample": False, "num_beams": width, "min_new_tokens": least, "max_new_tokens": most}
    options |= {"bad_words_ids": [[PAD], [BOS]]}
    if width > 1:
        options |= {"length_penalty": 1.0, "early_stopping": "never"}

    def search(source: Tensor, lengths: Tensor) -> list[list[int]]:
        mask = (torch.arange(source.shape[1]) < lengths.unsqueeze(1)).long().to(source.device)
        return [clean(ids) for ids in marian.generate(source, attention_mask=mask, **options).tolist()]

    return search


def clean(ids: Sequence[int]) -> list[int]:
    """Without <bos>, and from <eos> on."""
    ids = [token for token in ids if token not in (PAD, BOS)]
    return ids[: ids.index(EOS)] if EOS in ids else ids


def searched_by_ctranslate2(marian, width: int, least: int, most: int) -> Search:
    """CTranslate2, given Marian's weights."""
    import ctranslate2
    from ctranslate2.converters.transformers import BartLoader

    marian.config.normalize_before = marian.config.normalize_embedding = False
    spec = BartLoader().get_model_spec(marian)
    words = ["<pad>", "<s>", "</s>", *(f"w{token}" for token in range(3, VOCAB - 1)), "<unk>"]
    spec.register_source_vocabulary(words)
    spec.register_target_vocabulary(words)
    spec.config.bos_token, spec.config.eos_token, spec.config.unk_token = "<s>", "</s>", "<unk>"
    spec.config.decoder_start_token, spec.config.add_source_eos = "<s>", False
    spec.validate()
    spec.optimize()
    with tempfile.TemporaryDirectory() as folder:
        spec.save(folder)
        translator = ctranslate2.Translator(folder, compute_type="float32", inter_threads=1, intra_threads=1)
    options = {"beam_size": width, "min_decoding_length": max(1, least), "max_decoding_length": most, "patience": 1}
    number = {word: token for token, word in enumerate(words)}

    def search(source: Tensor, lengths: Tensor) -> list[list[int]]:
        lines = [[words[token] for token in line if token != PAD] for line in source.tolist()]
        suppress = [["<pad>"], ["<s>"]]
        results = translator.translate_batch(lines, **options, length_penalty=1.0, suppress_sequences=suppress)
        return [[number[word] for word in result.hypotheses[0]] for result in results]

    return search


class Ids:
    """A vocabulary for d2l's search: the word of a token is its id."""

    def __getitem__(self, words: str | Sequence[str]) -> int | list[int]:
        if isinstance(words, list):
            return [self[word] for word in words]
        special = {"<pad>": PAD, "<bos>": BOS, "<eos>": EOS}
        return special[words] if words in special else int(words)

    def to_tokens(self, ids: Sequence[int]) -> list[str]:
        """The words."""
        return [str(token) for token in ids]


class TextbookDecoder(nn.Module):
    """d2l's Transformer decoder in prediction, as in the book: what a block has read is kept, and projected anew at
    each step. Every token stands at position 0 there, so its translations are not those of the trained model.
    """

    def __init__(self, layers: nn.ModuleDict):
        super().__init__()
        self.layers = layers

    def init_state(self, memory: Tensor, lengths: Tensor) -> list:
        """Memory, lengths, and what each block has read."""
        return [memory, lengths, [None] * len(self.layers["blks"])]

    def forward(self, tokens: Tensor, state: list) -> tuple[Tensor, list]:
        """The logits after one token."""
        memory, lengths, read = state
        x = self.layers["pos_encoding"](self.layers["embedding"](tokens) * math.sqrt(memory.shape[-1]))
        for i, block in enumerate(self.layers["blks"].values()):
            read[i] = x if read[i] is None else torch.cat([read[i], x], 1)
            y = block.addnorm1(x, block.attention1(x, read[i], read[i], None))
            z = block.addnorm2(y, block.attention2(y, memory, memory, lengths))
            x = block.addnorm3(z, block.ffn(z))
        return self.layers["dense"](x), state


def searched_by_d2l(steps: int, device: str = "cpu") -> tuple[Search, EncoderDecoder]:
    """`predict_seq2seq` with d2l's Transformer on this device; and our model on the CPU, with the same weights."""
    from textbook import TextbookTransformer, our_transformer

    from seqlearn.runtime.d2l_compat import d2l

    size = SIZES["small"]
    shape = (VOCAB, VOCAB), size.num_hiddens, size.ffn_num_hiddens, size.num_layers, 0.0
    torch.manual_seed(0)
    ours = our_transformer(*shape).requires_grad_(False).eval()
    ours.decoder.dense.bias[EOS] = -1e4
    net = TextbookTransformer(*shape, ours.state_dict())
    net.decoder = TextbookDecoder(net.decoder)
    net.requires_grad_(False).eval().to(device)

    def search(source: Tensor, lengths: Tensor) -> list[list[int]]:
        lines = (" ".join(str(token) for token in line if token > EOS) for line in source.tolist())
        found = (d2l.predict_seq2seq(net, line, Ids(), Ids(), steps, torch.device(device))[0] for line in lines)
        return [[int(word) for word in line.split()] for line in found]

    return search, ours


def sources(number: int) -> list[list[int]]:
    """Random sentences of 5 to 20 tokens, the shortest first, as a translator batches them; <eos> ends each."""
    generator = torch.Generator().manual_seed(1)
    lengths = torch.randint(4, STEPS, (number,), generator=generator).sort()[0].tolist()
    return [[*torch.randint(3, VOCAB - 1, (length,), generator=generator).tolist(), EOS] for length in lengths]


def batches(sentences: Sequence[Sequence[int]], size: int) -> list[tuple[Tensor, Tensor]]:
    """Padded, in order."""
    chunks = [sentences[start : start + size] for start in range(0, len(sentences), size)]
    return [pad(chunk, PAD) for chunk in chunks]


class Timed(NamedTuple):
    """What some ways of searching have found in the first chunks, and their (wall, CPU) seconds for each chunk."""

    found: dict[str, list[list[int]]]
    seconds: dict[str, list[tuple[float, float]]]

    def same(self, name: str) -> float:
        """The share of translations that equal those of the first way."""
        first = next(iter(self.found.values()))
        return sum(map(list.__eq__, self.found[name], first)) / len(first)


def measure(ways: dict[str, Search], chunks: Sequence[tuple[Tensor, Tensor]], rounds: int) -> Timed:
    """Time all ways on each chunk in turn."""
    found = {name: [list(ids) for chunk in chunks[:3] for ids in way(*chunk)] for name, way in ways.items()}
    seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for turn in range(rounds * len(chunks)):
        chunk = chunks[turn % len(chunks)]
        for name in list(ways)[:: 1 if turn % 2 else -1]:
            wall, cpu = time.perf_counter(), time.process_time()
            ways[name](*chunk)
            seconds[name].append((time.perf_counter() - wall, time.process_time() - cpu))
    return Timed(found, seconds)


def compare(title: str, ways: dict[str, Search], chunks: Sequence[tuple[Tensor, Tensor]], rounds: int) -> None:
    """Time all ways, and print them beside the first."""
    timed, first = measure(ways, chunks, rounds), next(iter(ways))
    print(f"{title}: {statistics.mean(map(len, timed.found[first])):.1f} tokens on average")
    for name, times in timed.seconds.items():
        wall, cpu = (sum(each) for each in zip(*times, strict=True))
        pairs = [list(zip(*both, strict=True)) for both in zip(times, timed.seconds[first], strict=True)]
        ratios = [statistics.median(there / here for there, here in both) for both in zip(*pairs, strict=True)]
        print(
            f"  {name:20}{1000 * wall / len(times):8.1f} ms a batch (CPU {1000 * cpu / len(times):8.1f})"
            f"   x{ratios[0]:.2f} (CPU x{ratios[1]:.2f})   same translations: {timed.same(name):.0%}",
            flush=True,
        )


CASES = {  # name: width, batch size, sentences, least and most tokens, ends
    "beam 4, batch 32, 20 tokens": (4, 32, SENTENCES, STEPS, STEPS, False),
    "beam 4, batch 32, natural ends": (4, 32, SENTENCES, 4, 30, True),
    "beam 4, alone, 20 tokens": (4, 1, 40, STEPS, STEPS, False),
    "beam 4, alone, natural ends": (4, 1, 40, 4, 30, True),
    "beam 4, batch 8, 160 tokens": (4, 8, 24, 160, 160, False),
    "greedy, batch 32, 20 tokens": (1, 32, SENTENCES, STEPS, STEPS, False),
    "greedy, alone, 20 tokens": (1, 1, 40, STEPS, STEPS, False),
}


def ways_of(title: str, missing: Sequence[str]) -> tuple[dict[str, Search], list[tuple[Tensor, Tensor]]]:
    """The ways to search in one of `CASES`, ours first, without the missing packages; and its batches."""
    width, size, count, least, most, ends = CASES[title]
    model = random_model(ends)
    ours = {"seqlearn": model, "seqlearn, modules": by_modules(model)}
    ways = {name: searched_by_us(each, width, least, most) for name, each in ours.items()}
    if "transformers" not in missing:
        marian = as_marian(model)
        ways["transformers"] = searched_by_transformers(marian, width, least, most)
        if "ctranslate2" not in missing:
            ways["CTranslate2"] = searched_by_ctranslate2(marian, width, least, most)
    half = copy.deepcopy(model).bfloat16()
    ways["seqlearn, bfloat16"] = searched_by_us(half, width, least, most)
    return ways, batches(sources(count), size)


def beside_d2l(size: int) -> tuple[dict[str, Search], list[tuple[Tensor, Tensor]]]:
    """Greedy search by us and by d2l, ours first; and batches of this size."""
    theirs, ours = searched_by_d2l(STEPS)
    return {"seqlearn": searched_by_us(ours, 1, 0, STEPS), "d2l, one by one": theirs}, batches(sources(SENTENCES), size)


def not_installed() -> list[str]:
    """The other libraries that are missing. CTranslate2 gets its weights through transformers."""
    return [name for name in ("transformers", "ctranslate2") if importlib.util.find_spec(name) is None]


def rows(quick: bool) -> Iterator[Row | LeftOut]:
    """The rows of `bench.py`: milliseconds a batch. `quick`: one batch of each case."""
    missing = not_installed()
    for name in missing:
        yield LeftOut(f"{name} is not installed. {INSTALL}")
    for key, title in SHOWN.items():
        ways, chunks = ways_of(title, missing)
        del ways["seqlearn, bfloat16"]
        yield from rows_of(f"decoding-{key}", title, ways, chunks, quick)
    yield from rows_of("decoding-greedy", SHOWN["greedy"], *beside_d2l(32), quick)


INSTALL = 'Install the extra `bench`: `.venv/bin/python -m pip install -c constraints.txt -e ".[bench]"`.'
SHOWN = {  # cases in which all libraries take the same steps
    "beam-4": "beam 4, batch 32, 20 tokens",
    "beam-4-alone": "beam 4, alone, 20 tokens",
    "greedy": "greedy, batch 32, 20 tokens",
    "greedy-alone": "greedy, alone, 20 tokens",
}
PEERS = {  # name: the title, and what was equal
    "seqlearn, modules": ("seqlearn without its fast step", "weights, batches, score"),
    "transformers": ("transformers' generate", "weights, batches, score"),
    "CTranslate2": ("CTranslate2", "weights, batches, score"),
    "d2l, one by one": (
        "d2l's predict_seq2seq",
        "weights, sentences; d2l's searches one at a time and gives each token position 0",
    ),
}


def rows_of(
    key: str, title: str, ways: dict[str, Search], chunks: list[tuple[Tensor, Tensor]], quick: bool
) -> Iterator[Row]:
    """Our search beside each other one. `quick`: one batch, of sentences of middle length."""
    chunks = chunks[len(chunks) // 2 :][:1] if quick else chunks
    timed = measure(ways, chunks, 1 if quick else 2)
    milliseconds = {name: [1000 * wall for wall, _ in times] for name, times in timed.seconds.items()}
    for name in list(ways)[1:]:
        peer, equal = PEERS[name]
        mark = slug(f"{key}-{name.partition(',')[0]}")
        equal += f"; {timed.same(name):.0%} the same translations"
        yield Row.beside(mark, title, "ms", milliseconds["seqlearn"], peer, milliseconds[name], equal)


def main() -> None:
    """Run the cases whose names contain one of the words given; without words, all."""
    parser = argparse.ArgumentParser()
    parser.add_argument("words", nargs="*")
    parser.add_argument("--rounds", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(1)
    missing = not_installed()
    if missing:
        print(f"left out, as not installed: {', '.join(sorted(missing))} (pip install -e .[bench])")
    for title in CASES:
        if not options.words or any(word in title for word in options.words):
            compare(title, *ways_of(title, missing), options.rounds)
    if not options.words or any("d2l" in word for word in options.words):
        for size in (32, 1):
            compare(f"greedy, batch {size}, 20 tokens, beside d2l", *beside_d2l(size), options.rounds)


if __name__ == "__main__":
    main()
