"""How a GRU keeps a number and replaces it: the gates and the state of one unit, word after word."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path

import torch
import traitlets
from jaxtyping import Real
from torch import Tensor, nn

from ...data.text import EOS
from ...translator.translator import Translator
from ..shared.packing import unpack
from ..shared.traits import Finite, Whole
from ..shared.types import Proposal
from ..view import View
from .gru_data import GruStep, gru_data


class GruView(View, folder=Path(__file__).parent):
    """One unit of a GRU at each word of a sentence: its state and its two gates, and the arithmetic of one step.

    A unit is one number of the state. The words stand from left to right, as in a drawing of the unrolled network. Of
    one word the view shows the whole step, with sliders for both gates: the new state moves between the old state and
    the new value. The later words carry the changed state of this one unit on, with the gates z and the new values n
    that the network has there; all other units stay as they were.

    Of stacked layers the first one is shown, and of two directions the one from left to right.

    Args:
        tokens: the name of each step; None: x0, x1 ...
        gru: the network. It begins with a state of zeros.
        inputs: `(steps, input size)`, the vector of each word.
        unit: which number of the state, from 0.
        word: which step is shown in full, from 0.

    Traits, synced with the browser:
        unit, word: see above.
        z, r: the update gate and the reset gate of the step that is shown in full, from 0 to 1; None: as the network
            has them. A click on another word or another unit sets both to None.

    Raises:
        TypeError: `gru` is no `nn.GRU`.
        ValueError: shapes that do not fit, NaN or infinity.
        traitlets.TraitError: there is no such unit or word, or a gate is not from 0 to 1.
    """

    caption = "What a GRU keeps, and what it replaces"

    unit = Whole().tag(sync=True)
    word = Whole().tag(sync=True)
    z = Finite(None, allow_none=True).tag(sync=True)
    r = Finite(None, allow_none=True).tag(sync=True)

    def __init__(
        self, tokens: Iterable[object] | None, gru: nn.GRU, inputs: Real[Tensor, "..."], *, unit: int = 0, word: int = 0
    ):
        super().__init__(data=gru_data(tokens, gru, inputs), unit=unit, word=word)

    @classmethod
    def of(cls, translator: Translator, sentence: str, *, unit: int = 0, word: int = 0) -> GruView:
        """The encoder of a translator while it reads a sentence.

        Raises:
            ValueError: its encoder is no GRU.
        """
        encoder = translator.model.encoder
        gru, embedding = getattr(encoder, "rnn", None), getattr(encoder, "embedding", None)
        if not isinstance(gru, nn.GRU) or not isinstance(embedding, nn.Module):
            raise ValueError(f"GruView shows a GRU that reads embeddings; the encoder of {translator.name!r} is none")
        ids = torch.tensor(translator.source.encode(sentence), device=translator.device)
        with torch.no_grad():
            inputs = embedding(ids)
        return cls([*translator.source.tokenizer.tokenize(sentence), EOS], gru, inputs, unit=unit, word=word)

    @traitlets.validate("unit", "word")
    def _exists(self, proposal: Proposal) -> int:
        name, value = proposal["trait"].name, proposal["value"]
        count = self._sizes()[name]
        if not 0 <= value < count:
            raise traitlets.TraitError(f"{name} is from 0 to {count - 1}, not {value}")
        return value

    @traitlets.validate("z", "r")
    def _is_gate(self, proposal: Proposal) -> float | None:
        value = proposal["value"]
        if value is not None and not 0 <= value <= 1:
            raise traitlets.TraitError(f"a gate is from 0 to 1, not {value}")
        return value

    def _sizes(self) -> dict[str, int]:
        steps, hiddens = self.data["updates"]["shape"]
        return {"word": steps, "unit": hiddens}

    def step(self) -> GruStep:
        """The numbers of the step that is shown in full, with the gates as they are set."""
        number = {
            name: float(unpack(part)[self.word, self.unit]) for name, part in self.data.items() if name != "tokens"
        }
        reset = number["resets"] if self.r is None else self.r
        update = number["updates"] if self.z is None else self.z
        old, new = number["states"], math.tanh(number["from_word"] + reset * number["from_state"])
        return GruStep(old, reset, new, update, (1 - update) * new + update * old)

    def title(self) -> str:
        """The title of a page: the first words."""
        return f"{self.caption}: {' '.join(self.data['tokens'][:12])}"

    def summary(self) -> str:
        """The number of tokens and of units, and which one is shown."""
        sizes = self._sizes()
        chosen = [f"{name} = {value:g}" for name, value in (("z", self.z), ("r", self.r)) if value is not None]
        return ", ".join([f"{sizes['word']} tokens", f"unit {self.unit} of {sizes['unit']}", *chosen])
