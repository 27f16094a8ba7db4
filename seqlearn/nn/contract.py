"""The contract between a model, training and search; and how to search a model of your own.

A model that translates has an encoder and a decoder, and they are used like this:

    memory = model.encoder(source, source_lens)          # what the decoder may know of the source
    state = model.decoder.init_state(memory)             # what the decoder remembers; at first, no token
    logits, state = model.decoder(tokens, state)         # reads the next 1..n tokens of each row
    state = state.select(rows)                           # rows repeated, reordered or dropped

| name | what it is |
|---|---|
| `source` | int `(batch, source)`, ids padded on the right; each sentence ends with its <eos> |
| `source_lens` | int `(batch,)`, the valid lengths; results must not depend on the padding behind them |
| `memory` | anything: only the decoder looks inside |
| `state` | anything with `select`: only the decoder looks inside |
| `tokens` | int `(rows, steps)`, the tokens after those that the state has read; the very first one is <bos> |
| `logits` | float `(rows, steps, vocab)`: `logits[:, i]` scores the token after `tokens[:, : i + 1]` |
| `rows` | int `(chosen,)`, on the CPU, the rows of the old state that become the rows of the new one |

Training gives the decoder all tokens of the target at once (teacher forcing). Search gives it one token at a time. Both
call the same method and get the same logits. A state is used once: the call that takes a state may reuse its storage.

A search needs nothing else. So `seqlearn.search` can search any model: your own, or a model of another library in a
thin wrapper. Here is a complete model. It knows nothing of languages: it copies its source.

>>> import torch
>>> from dataclasses import dataclass, replace
>>> from seqlearn.search import beam_search
>>> @dataclass(frozen=True)
... class CopyState:
...     source: torch.Tensor  # (rows, source)
...     length: int = 0  # how many tokens were read
...     def select(self, rows):
...         return replace(self, source=self.source[rows])
>>> class CopyEncoder(torch.nn.Module):
...     def forward(self, source, source_lens):
...         return source
>>> class CopyDecoder(torch.nn.Module):
...     def init_state(self, memory):
...         return CopyState(memory)
...     def forward(self, tokens, state):
...         end = state.length + tokens.shape[1]
...         wanted = state.source[:, state.length : end]
...         return torch.nn.functional.one_hot(wanted, 10) * 9.0, replace(state, length=end)
>>> model = EncoderDecoder(CopyEncoder(), CopyDecoder())
>>> source, source_lens = torch.tensor([[5, 7, 6, 2]]), torch.tensor([4])  # 2 is <eos>
>>> [[best]] = beam_search(model, source, source_lens, bos=1, eos=2, width=2)
>>> best.tokens, best.finished
([5, 7, 6], True)

Two things are optional. A `FeatureDecoder` has `features(tokens, state)` and an output layer `dense`, so that
`dense(features)` are the logits: training then never holds all logits in memory. An attention layer with an attribute
`record` (see `seqlearn.nn.recording`) shows its weights to `record_attention`. If the layer also has a `kind`,
`seqlearn.search.forced_decoding` finds its weights by this kind, and the views can show them.

Your own model on your own data: two GRUs learn German. Your model is registered, so that it can be saved and loaded.

>>> class GRUEncoder(torch.nn.Module):
...     def __init__(self, words, size):
...         super().__init__()
...         self.embedding = torch.nn.Embedding(words, size)
...         self.rnn = torch.nn.GRU(size, size, batch_first=True)
...     def forward(self, source, source_lens):
...         outputs, _ = self.rnn(self.embedding(source))
...         return outputs[torch.arange(len(source)), source_lens - 1]  # after the last real token
>>> @dataclass(frozen=True)
... class GRUState:
...     hidden: torch.Tensor  # (1, rows, size)
...     def select(self, rows):
...         return GRUState(self.hidden[:, rows])
>>> class GRUDecoder(GRUEncoder):
...     def __init__(self, words, size):
...         super().__init__(words, size)
...         self.dense = torch.nn.Linear(size, words)
...     def init_state(self, memory):
...         return GRUState(memory.unsqueeze(0))
...     def forward(self, tokens, state):
...         outputs, hidden = self.rnn(self.embedding(tokens), state.hidden)
...         return self.dense(outputs), GRUState(hidden)
>>> @dataclass(frozen=True)
... class GRUsConfig:
...     size: int = 32
>>> def grus(source_words, target_words, config):
...     return EncoderDecoder(GRUEncoder(source_words, config.size), GRUDecoder(target_words, config.size))
>>> from itertools import product
>>> from tempfile import TemporaryDirectory
>>> from seqlearn import Corpus, Language, ModelSpec, Translator, register
>>> from seqlearn.data.pairs import Pair
>>> register(ModelSpec("grus", "two GRUs", grus, GRUsConfig))
>>> german, english = "haus licht auto boot", "house light car boat"
>>> nouns, colours = zip(german.split(), english.split()), [("rote", "red"), ("alte", "old"), ("neue", "new")]
>>> pairs = [Pair(f"das {c[0]} {n[0]}", f"the {c[1]} {n[1]}") for n, c in product(nouns, colours)]
>>> split = Corpus("mine", ("de", "en"), pairs).split(0.1, 0.1)  # or from_tsv("my-pairs.tsv", ("de", "en")).split()
>>> source = Language.learn("de", (pair.source for pair in split.train))
>>> target = Language.learn("en", (pair.target for pair in split.train))
>>> translator = Translator.new("grus", source, target, size=32)
>>> history = translator.fit(split, epochs=40, lr=1e-2, batch_size=4, progress=False)
>>> with TemporaryDirectory() as folder:
...     translator.save(folder)
...     loaded = Translator.load(folder)
>>> loaded.translate(split.train[0].source) == split.train[0].target
True
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any, Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn


@runtime_checkable
class State(Protocol):
    """What a decoder remembers of the tokens that it has read: one row for each hypothesis."""

    def select(self, rows: Int[Tensor, "chosen"]) -> State:
        """The state of these rows, repeated, reordered or dropped. The old state may not be used again."""
        ...


@runtime_checkable
class Encoder(Protocol):
    """Reads padded sources."""

    def __call__(self, source: Int[Tensor, "batch source"], source_lens: Int[Tensor, "batch"]) -> Any:  # the memory
        """The memory: whatever the decoder needs to know of the sources."""
        ...


@runtime_checkable
class Decoder(Protocol):
    """Gives the logits of the next token of each row."""

    def init_state(self, memory: Any) -> Any:  # Any: only the decoder looks into memory and state
        """The state before the first token, one row for each sentence."""
        ...

    def __call__(
        self,
        tokens: Int[Tensor, "rows steps"],
        state: Any,  # Any: a decoder takes its own states only
    ) -> tuple[Float[Tensor, "rows steps vocab"], Any]:  # and returns one
        """The logits after each of these tokens, and the state after the last one."""
        ...


@runtime_checkable
class FeatureDecoder(Decoder, Protocol):
    """A decoder whose logits are `dense(features)`: it can be trained without all logits in memory."""

    @property
    def dense(self) -> nn.Linear:
        """The output layer."""
        ...

    def features(
        self,
        tokens: Int[Tensor, "rows steps"],
        state: Any,  # Any: as in `Decoder`
    ) -> tuple[Float[Tensor, "rows steps hiddens"], Any]:  # and here
        """The features, which `dense` turns into logits, and the state after the last token.

        From features the loss needs only a few logits at a time.
        """
        ...


@runtime_checkable
class Model(Protocol):
    """What training and search ask of a model: a `torch.nn.Module` with an encoder and a decoder."""

    @property
    def encoder(self) -> Encoder:
        """Reads the sources."""
        ...

    @property
    def decoder(self) -> Decoder:
        """Writes the targets."""
        ...

    def modules(self) -> Iterator[nn.Module]:
        """All parts, as in `torch.nn.Module`."""
        ...

    def named_modules(self) -> Iterator[tuple[str, nn.Module]]:
        """All parts with their names, as in `torch.nn.Module`."""
        ...


class EncoderDecoder(nn.Module):
    """An encoder and a decoder, trained together."""

    def __init__(self, encoder: Encoder, decoder: Decoder):
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder

    def forward(
        self, source: Int[Tensor, "batch source"], source_lens: Int[Tensor, "batch"], tokens: Int[Tensor, "batch steps"]
    ) -> Float[Tensor, "batch steps vocab"]:
        """The logits after each of `tokens`, all of which are given (teacher forcing)."""
        state = self.decoder.init_state(self.encoder(source, source_lens))
        return self.decoder(tokens, state)[0]


@contextmanager
def eval_mode(model: Model | nn.Module) -> Generator[None]:
    """Run the block in eval mode and without gradients. Parts that were in training mode return to it afterwards."""
    training = [part for part in model.modules() if part.training]
    for part in training:
        part.training = False
    try:
        with torch.inference_mode():
            yield
    finally:
        for part in training:  # and no others: a frozen part of a model in training stays frozen
            part.training = True
