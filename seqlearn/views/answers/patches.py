"""The data of `PatchView`: a sentence, its twin, what vectors of the twin change, and what every place would move."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from ...data.text import BOS, EOS
from ...nn.contract import EncoderDecoder
from ...nn.patching import patch, places, record_stream
from ...translator.translator import Translator
from ...translator.whatif import Patch, what_if
from ..shared.arguments import as_text
from ..shared.constants import MOST_TOKENS
from ..shared.types import Data
from .translations import apart, pieces

MOST_READINGS = 256  # in a batch

Place = Sequence[Any]  # of two types: the list that a browser sends
"""A place (see `seqlearn.nn.patching.places`) and a row, from 0."""


def patched(
    translator: Translator,
    sentence: str,
    other: str,
    patches: Sequence[Place] = (),
    decision: int | None = None,
    before: Data | None = None,
) -> Data:
    """What becomes of a translation if the vectors at these places are those of the other sentence.

    A step of the translation is a decision if the model, after the same target tokens, would write another token for
    the other sentence. Each sentence has its word for it.

    Args:
        sentence, other: they have as many tokens.
        patches: the vectors that come from the other sentence.
        decision: the step that the maps are about; default: the last one that is a decision.
        before: a result of the same model; if the sentences and the decision are the same, so are its maps.

    Returns:
        All that the view draws. `sentence` and `patches` repeat parts of the question. `source` and
        `twin` are the tokens of both sentences. `pieces` are the translations of the sentence, of its twin, and of the
        sentence with the patches, each as the parts of the text that its tokens add. `decisions` are steps of the
        first, and `decision` is the one that is asked; `words` are the two words for it, and `probs` the probability of
        each in all three readings, after the tokens before. `maps` has for both sides the `tokens` of the rows, and how
        far each vector alone moves the decision, see `Decision.moved`.

    Raises:
        TypeError: `translator` is no `Translator`.
        ValueError: a sentence is empty or too long, they have not as many tokens, nothing is decided by what differs,
            the step is no decision, or there is no such place or row.
    """
    if not isinstance(translator, Translator):
        raise TypeError(f"PatchView shows a Translator, not a {type(translator).__name__}")
    sentence, other = as_text(sentence), as_text(other)
    source, twin = (translator.source.tokenizer.tokenize(text) for text in (sentence, other))
    if not (source and twin):
        raise ValueError("A sentence is missing: type two, which differ in a word.")
    if (longest := max(len(source), len(twin))) > MOST_TOKENS:
        raise ValueError(f"A sentence has {longest:,} tokens; {MOST_TOKENS} is the most that is translated here.")
    if len(source) != len(twin):
        raise ValueError(f"Both sentences need the same number of tokens: A has {len(source)}, and B has {len(twin)}.")
    if not all(side_places(translator.model).values()):
        raise ValueError("A patch needs a Transformer with an encoder and a decoder; this model has no such places.")
    own = apart(translator)
    vocab = own.target.vocab
    first, second = (own.search([text])[0][0] for text in (sentence, other))
    written = [*first.tokens, vocab.eos][: len(first.log_probs)]
    mine, their = (torch.tensor([own.source.encode(text)], device=own.device) for text in (sentence, other))
    inputs = torch.tensor([[vocab.bos, *written[:-1]]], device=own.device)
    logits = _logits(own.model, their, inputs)[0].clone()
    logits[:, [vocab.pad, vocab.bos]] = -torch.inf
    theirs = logits.argmax(-1).tolist()
    decisions = [i for i, pair in enumerate(zip(written, theirs, strict=True)) if pair[0] != pair[1]]
    if not decisions:
        raise ValueError("The model would write the same for both sentences: there is nothing to move.")
    step = decisions[-1] if decision is None else decision
    if step not in decisions:
        raise ValueError(
            f"Both sentences have the same token at step {step}; they differ at {', '.join(map(str, decisions))}."
        )
    for place, row in patches:
        inputs_of = "source" if place.startswith("encoder") else "target"
        rows = len(source) + 1 if inputs_of == "source" else len(written)
        if row >= rows:
            raise ValueError(f"{place} has rows 0 to {rows - 1}, for the {inputs_of} tokens that it reads, not {row}.")
    asked_of = Decision(own.model, mine, their, inputs[:, : step + 1], (written[step], theirs[step]))
    changed = what_if(own, edits=[Patch(other, place, row) for place, row in patches])
    now = changed.search([sentence])[0][0]
    tokens = {"source": list(map(as_text, source)), "twin": list(map(as_text, twin)), "decision": step}
    is_same = before is not None and all(before[name] == value for name, value in tokens.items())
    patches = [list(one) for one in patches]
    return {
        "problem": "",
        "sentence": sentence,
        "patches": patches,
        **tokens,
        "pieces": [list(map(as_text, pieces(own.target, one.tokens))) for one in (first, second, now)],
        "decisions": decisions,
        "words": list(map(as_text, vocab.decode(asked_of.words))),
        "probs": [asked_of.probs(*one) for one in ((own.model, mine), (own.model, their), (changed.model, mine))],
        "maps": before["maps"] if before and is_same else asked_of.maps(source, vocab.decode(written[:step])),
    }


def _logits(
    model: EncoderDecoder, source: Int[Tensor, "batch source"], inputs: Int[Tensor, "batch steps"]
) -> Float[Tensor, "batch steps vocab"]:
    """The logits after each of these target tokens."""
    lens = torch.full(source.shape[:1], source.shape[1])
    with torch.inference_mode():
        return model(source, lens, inputs).float()


@dataclass(frozen=True)
class Decision:
    """A step of a translation at which the model would write another word for another sentence.

    Args:
        source, twin: the tokens of both sentences, `(1, source)`.
        inputs: the target tokens before the decision, from <bos> on, `(1, steps)`.
        words: the sentence's own word, and the twin's.
    """

    model: EncoderDecoder
    source: Int[Tensor, "1 source"]
    twin: Int[Tensor, "1 source"]
    inputs: Int[Tensor, "1 steps"]
    words: tuple[int, int]

    def probs(self, model: EncoderDecoder, source: Int[Tensor, "1 source"]) -> list[float]:
        """The probability of each of the two words when a model reads a sentence."""
        found = _logits(model, source, self.inputs)[0, -1].softmax(-1)[list(self.words)]
        return [float(f"{number:.5g}") for number in found.tolist()]

    def lean(self, source: Int[Tensor, "batch source"]) -> Float[Tensor, "batch"]:
        """The logit of the twin's word minus that of the sentence's own word."""
        logits = _logits(self.model, source, self.inputs.expand(len(source), -1))[:, -1]
        return logits[:, self.words[1]] - logits[:, self.words[0]]

    def moved(self, names: Sequence[str], rows: int) -> Float[Tensor, "places rows"]:
        """How far the twin's vector of each row of each place, alone, moves the decision.

        0 means that the lean stays, 1 that it becomes that of the twin. (Wang et al., 2023, section 3, patch with such
        pairs.)

        Args:
            names: places of one side of the model.
            rows: how many rows these places have.
        """
        own = self.lean(self.source)
        with record_stream(self.model, names) as vectors:
            theirs = self.lean(self.twin)
        which = torch.eye(len(names) * rows, dtype=torch.bool).view(-1, len(names), rows)  # of each reading, one vector
        found: list[Tensor] = []
        for part in which.split(MOST_READINGS):
            with ExitStack() as stack:
                for i, name in enumerate(names):
                    stack.enter_context(patch(self.model, {name: vectors[name]}, part[:, i]))
                found.append(self.lean(self.source.expand(len(part), -1)))
        return ((torch.cat(found) - own) / (theirs - own)).view(len(names), rows).cpu()

    def maps(self, source: Sequence[str], before: Sequence[str]) -> Data:
        """For encoder and decoder, the tokens of the rows, and how far each vector moves the decision.

        Args:
            source: the tokens that the encoder reads.
            before: the target tokens before the decision.
        """
        found: Data = {}
        sides = zip(side_places(self.model).items(), ([*source, EOS], [BOS, *before]), strict=True)
        for (side, named), tokens in sides:
            numbers = self.moved([name for name, _ in named], len(tokens)).tolist()
            rounded = [[float(f"{number:.4g}") for number in row] for row in numbers]
            found[side] = {"tokens": list(map(as_text, tokens)), "moved": rounded}
        return found


def side_places(model: EncoderDecoder) -> dict[str, list[tuple[str, str]]]:
    """The places of encoder and decoder, from the bottom: the name of each, and words that fit beside a map."""
    every = places(model)
    encoder = [place for place in every if place.startswith("encoder")]
    sides = {"encoder": encoder, "decoder": [place for place in every if place not in encoder]}
    return {side: [(place, name_of(place)) for place in found] for side, found in sides.items()}


def name_of(place: str) -> str:
    """A place in words: "head 1.3", "after block 0"."""
    kind, _, head = place.partition(" ")
    if head:
        return f"head {head}" if kind == "encoder" else f"{kind} {head}"
    point = place.partition(".")[2]
    block = point.removeprefix("blocks.")
    return f"after block {block}" if block != point else {"norm": "after the norm"}.get(point, "embedding")
