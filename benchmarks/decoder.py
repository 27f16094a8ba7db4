"""What the attention decoder saves: python benchmarks/decoder.py

Two ways to the same logits and gradients, timed in turn in one run: the textbook decoder, which projects the keys at
each step, and the package's decoder, which projects them once. Machines differ: read the ratios.
"""

from __future__ import annotations

import statistics
import time

import torch
from torch import Tensor

from seqlearn.nn.contract import EncoderDecoder
from seqlearn.nn.seq2seq import BahdanauConfig, RNNMemory, bahdanau

BATCH, SOURCE, STEPS, VOCAB, ROUNDS = 64, 12, 13, 650, 30


def textbook(model: EncoderDecoder, memory: RNNMemory, tokens: Tensor) -> Tensor:
    """The decoder step by step, with the attention layer and nn.GRU as they are."""
    decoder = model.decoder
    hidden = torch.tanh(decoder.bridge(memory.hidden))
    outputs = []
    for embedded in decoder.embedding(tokens).unbind(1):
        query = hidden[-1].unsqueeze(1)
        context = decoder.attention(query, memory.outputs, memory.outputs, memory.mask)
        output, hidden = decoder.rnn(torch.cat([embedded.unsqueeze(1), context], -1).transpose(0, 1), hidden)
        outputs.append(output[0])
    return decoder.dense(torch.stack(outputs, 1))


def main() -> None:
    """Check that all ways agree, then time them."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = bahdanau(VOCAB, VOCAB, BahdanauConfig(dropout=0.0))
    source = torch.randint(4, VOCAB, (BATCH, SOURCE))
    with torch.no_grad():
        memory = model.encoder(source, torch.full((BATCH,), SOURCE))
    tokens = torch.randint(4, VOCAB, (BATCH, STEPS))
    ways = {
        "textbook": lambda: textbook(model, memory, tokens),
        "package": lambda: model.decoder(tokens, model.decoder.init_state(memory))[0],
    }
    expected = ways["textbook"]()
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for way in ways.values():
        torch.testing.assert_close(way(), expected, atol=1e-5, rtol=0)
    for _ in range(ROUNDS):
        for name, way in ways.items():
            start = time.perf_counter()
            way().sum().backward()
            seconds[name].append(time.perf_counter() - start)
    medians = {name: statistics.median(times) for name, times in seconds.items()}
    for name, median in medians.items():
        print(f"{name:10} {1000 * median:6.1f} ms   {medians['textbook'] / median:.2f} x")


if __name__ == "__main__":
    main()
