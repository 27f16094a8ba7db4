"""Training speed of the Bahdanau model against its textbook form: python benchmarks/training.py [FOLDER]

The textbook form has d2l's own layers: its encoder over padded sources, its additive attention called at each step,
keys projected each time, `nn.GRU` called at each step, all batches padded to one width. Ours: batches of similar
length, keys projected once, the token's half of the input gates in one product for all steps. Where no padding is in
the way, both give the same outputs with the same weights (checked here before anything is timed).

Two settings: 20,000 shuffled pairs of fra-eng (from FOLDER or SEQLEARN_DATA), 256 wide, vocabulary 6,000, padded to 20;
and d2l's small one: the first 600 pairs, 32 wide, padded to 10. One thread, both in turn in one run, medians. "Real"
target tokens are those the model has to predict; "places" count padding, too: so the table tells what is saved by
padding less, and what by computing less.
"""

from __future__ import annotations

import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from itertools import islice

import torch
from torch import Tensor, nn

from seqlearn.data import corpus
from seqlearn.data.batches import Batch, Batches
from seqlearn.data.d2l_compat import d2l
from seqlearn.data.pairs import Pair
from seqlearn.data.text import Language, Vocab
from seqlearn.nn.seq2seq import EncoderDecoder, Seq2SeqAttentionDecoder, Seq2SeqEncoder
from seqlearn.training.loop import token_loss


class Textbook(nn.Module):
    """The same model from d2l's layers, as the book has it: one step after the other."""

    def __init__(self, source_vocab: int, target_vocab: int, size: int, hiddens: int, layers: int, dropout: float):
        super().__init__()
        self.encoder = d2l.Seq2SeqEncoder(source_vocab, size, hiddens, layers, dropout=dropout)
        self.attention = d2l.AdditiveAttention(hiddens, hiddens, hiddens, dropout=0.0)
        self.embedding = nn.Embedding(target_vocab, size)
        self.rnn = nn.GRU(size + hiddens, hiddens, layers, dropout=dropout)
        self.bridge = nn.Linear(hiddens, hiddens)
        self.dense = nn.Linear(hiddens, target_vocab)
        self.dropout = nn.Dropout(dropout)

    def forward(self, source: Tensor, source_lens: Tensor, tokens: Tensor) -> Tensor:
        """The logits after each token."""
        outputs, hidden = self.encoder(source)
        outputs, hidden = outputs.permute(1, 0, 2), torch.tanh(self.bridge(hidden))
        steps = []
        for embedded in self.dropout(self.embedding(tokens)).permute(1, 0, 2):
            query = hidden[-1].unsqueeze(1)
            context = self.attention(query, outputs, outputs, source_lens)
            step, hidden = self.rnn(torch.cat((context, embedded.unsqueeze(1)), dim=-1).permute(1, 0, 2), hidden)
            steps.append(step)
        return self.dense(self.dropout(torch.cat(steps))).permute(1, 0, 2)


def build(vocabs: tuple[int, int], width: int, dropout: float = 0.1) -> tuple[EncoderDecoder, Textbook]:
    """Both models, two layers each, with the same weights."""
    encoder = Seq2SeqEncoder(vocabs[0], width, width, 2, dropout, bidirectional=False)
    ours = EncoderDecoder(encoder, Seq2SeqAttentionDecoder(vocabs[1], width, width, width, 2, dropout))
    theirs = Textbook(*vocabs, width, width, 2, dropout)
    state = {name.removeprefix("decoder."): weight for name, weight in ours.state_dict().items()}
    first = state["rnn.weight_ih_l0"]  # the book has the context first, then the token
    state["rnn.weight_ih_l0"] = torch.cat([first[:, width:], first[:, :width]], dim=1)
    theirs.load_state_dict(state)
    return ours, theirs


def check_same(ours: nn.Module, theirs: nn.Module, vocabs: tuple[int, int]) -> None:
    """Without padding, which d2l's encoder reads, both are the same function."""
    source, tokens = torch.randint(4, vocabs[0], (8, 7)), torch.randint(4, vocabs[1], (8, 9))
    lengths = torch.full((8,), 7)
    ours.eval(), theirs.eval()
    with torch.no_grad():
        torch.testing.assert_close(ours(source, lengths, tokens), theirs(source, lengths, tokens), atol=1e-4, rtol=1e-4)
    ours.train(), theirs.train()


def trainer(model: nn.Module, pad: int) -> Callable[[Batch], tuple[int, int]]:
    """A function that makes one update and returns how many real target tokens and places the batch had."""
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    def update(batch: Batch) -> tuple[int, int]:
        optimizer.zero_grad()
        logits = model(batch.source, batch.source_lens, batch.target[:, :-1])
        (token_loss(logits, batch.target[:, 1:], pad) / batch.tokens).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return batch.tokens, batch.target[:, 1:].numel()

    return update


def compare(pairs: list[Pair], width: int, vocab: int | None, batch_size: int, steps: int, updates: int) -> None:
    """Time both in turn, and print real tokens and places a second, wall and CPU time."""
    languages = []
    for code, lines in (("en", [pair.source for pair in pairs]), ("fr", [pair.target for pair in pairs])):
        language = Language.learn(code, lines)
        languages.append(Language(language.tokenizer, Vocab.of(language.vocab.tokens[4:vocab])))
    vocabs = tuple(len(language.vocab) for language in languages)
    torch.manual_seed(0)
    models = build(vocabs, width)
    check_same(*models, vocabs)
    bucketed = Batches(pairs, *languages, batch_size)
    fixed = Batches(pairs, *languages, batch_size, batching="fixed", steps=steps)
    print(f"{len(pairs):,} pairs, width {width}, vocabularies {vocabs[0]:,} and {vocabs[1]:,}, batch {batch_size};")
    print(f"padding {bucketed.padding():.1%} (ours), {fixed.padding():.1%} (to {steps}, {fixed.cut} pairs cut)")
    runs = {
        name: (trainer(model, bucketed.pad), forever(batches), [])
        for name, model, batches in (("ours", models[0], bucketed), ("textbook", models[1], fixed))
    }
    for round_ in range(updates):
        for update, stream, times in runs.values():
            batch = next(stream)
            wall, cpu = time.perf_counter(), time.process_time()
            real, places = update(batch)
            if round_ >= 3:  # the first updates warm up
                times.append((real, places, time.perf_counter() - wall, time.process_time() - cpu))
    speeds = {}
    for name, (_, _, times) in runs.items():
        real, places, wall, cpu = (sum(column) for column in zip(*times, strict=True))
        each = [real / wall for real, _, wall, _ in times]
        speeds[name] = (real / wall, statistics.median(each), real / cpu, places / cpu)
    for row, title in enumerate(("real tokens/s", "the same, median update", "real tokens/CPU s", "places/CPU s")):
        ours, theirs = speeds["ours"][row], speeds["textbook"][row]
        print(f"  {title:24} ours {ours:10,.0f}   textbook {theirs:10,.0f}   {ours / theirs:.2f} x")


def forever(batches: Batches) -> Iterator[Batch]:
    """Epoch after epoch."""
    epoch = 0
    while True:
        yield from batches.epoch(epoch)
        epoch += 1


if __name__ == "__main__":
    torch.set_num_threads(1)
    real = corpus.fra_eng(*sys.argv[1:2]).pairs
    order = random.Random(0).sample(range(len(real)), 20_000)
    compare([real[place] for place in order], width=256, vocab=6000, batch_size=128, steps=20, updates=43)
    compare(list(islice(real, 600)), width=32, vocab=None, batch_size=64, steps=10, updates=203)
