"""The models that `Translator` and the command line can train: one spec for each.

A new model is registered in one place, and can then be trained, saved, loaded and searched, with its own options on the
command line:

    register(ModelSpec("my-model", "what it is", my_model, MyConfig, lr=1e-2))

`my_model(source_vocab_size, target_vocab_size, config)` returns an `EncoderDecoder` under the contract of
`seqlearn.nn.contract`, and `MyConfig` is a frozen dataclass, as `seqlearn.nn.config` describes. The command line knows
the models that this module registers, so add the call there. A program of your own may call `register` itself, before
it makes or loads a `Translator` with the model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from ..nn.config import Setting, Value, settings_of
from ..nn.contract import EncoderDecoder
from ..nn.decoder_only import DecoderOnlyConfig, decoder_only
from ..nn.seq2seq import BahdanauConfig, Seq2SeqConfig, bahdanau, seq2seq
from ..nn.transformer import SIZES, TransformerConfig, transformer
from ..runtime.devices import memory_of_machine

LARGE = 1 << 24  # the largest setting, squared, times the layers: below it the weights of the layers take 2 GB at most


@dataclass(frozen=True)
class ModelSpec:
    """Everything that the command line and `Translator` need to know about a kind of model.

    Args:
        name: on the command line and in saved folders.
        help: a description, in a few words.
        factory: makes the model, `factory(source_vocab_size, target_vocab_size, config)`.
        config: the class of its configuration, a frozen dataclass (see `seqlearn.nn.config`).
        sizes: named configurations; the first one is the default.
        lr: the default of the peak learning rate.
        warmup: the default of the share of training in which the learning rate rises.
    """

    name: str
    help: str
    factory: Callable[[int, int, Any], EncoderDecoder]  # Any: its own configuration
    config: type[Any]  # any dataclass
    sizes: Mapping[str, Any] = field(default_factory=dict)  # of this class
    lr: float = 3e-3
    warmup: float = 0.0

    @property
    def settings(self) -> tuple[Setting, ...]:
        """The settings, with their defaults, as the fields of the configuration describe them."""
        return settings_of(self.config)

    @property
    def sized(self) -> set[str]:
        """The settings that a size decides: those in which the sizes differ."""
        values = {
            each.argument: {getattr(size, each.argument) for size in self.sizes.values()} for each in self.settings
        }
        return {argument for argument, different in values.items() if len(different) > 1}

    def complete(self, given: Mapping[str, Value]) -> dict[str, Value]:
        """All settings: the given ones, and the defaults of the others.

        Raises:
            ValueError: the model has no such setting, or a value of another kind.
        """
        complete = {setting.argument: setting.default for setting in self.settings}
        if unknown := [name for name in given if name not in complete]:
            raise ValueError(f"{self.name} has no setting {unknown[0]!r}; it has {', '.join(complete)}")
        complete |= given
        for setting in self.settings:
            setting.check(complete[setting.argument])
        return complete

    def build(self, source_vocab_size: int, target_vocab_size: int, **settings: Value) -> EncoderDecoder:
        """The model with these settings, for vocabularies of these sizes."""
        return self.factory(source_vocab_size, target_vocab_size, self.config(**settings))


MODELS: dict[str, ModelSpec] = {}


def register(spec: ModelSpec) -> None:
    """Add a model to `MODELS`, under its name.

    Raises:
        ValueError: there is a model of this name.
    """
    if spec.name in MODELS:
        raise ValueError(f"there is a model {spec.name!r} already")
    MODELS[spec.name] = spec


def spec_of(name: str) -> ModelSpec:
    """The spec of the model of this name.

    Raises:
        ValueError: there is no such model.
    """
    if name not in MODELS:
        raise ValueError(f"there is no model {name!r}; choose from {', '.join(MODELS)}")
    return MODELS[name]


register(ModelSpec("bahdanau", "a GRU encoder, and a GRU decoder with attention", bahdanau, BahdanauConfig))
register(ModelSpec("seq2seq", "a recurrent encoder and decoder without attention", seq2seq, Seq2SeqConfig))
register(
    ModelSpec(
        "transformer", "the model of Vaswani et al. (2017)", transformer, TransformerConfig, SIZES, lr=2e-3, warmup=0.1
    )
)
register(
    ModelSpec(
        "decoder",
        "a decoder-only Transformer with the source as its prompt",
        decoder_only,
        DecoderOnlyConfig,
        lr=2e-3,
        warmup=0.1,
    )
)


def is_large(settings: Mapping[str, Value]) -> bool:
    """Whether a model of these settings may be too large for the memory: counting its weights takes a second."""
    widest = max((value for value in settings.values() if isinstance(value, int)), default=1)
    layers = settings.get("num_layers", 1)
    return widest**2 * (layers if isinstance(layers, int) else 1) > LARGE


def check_memory(build: Callable[[], EncoderDecoder]) -> None:
    """Refuse a model whose weights are larger than the memory: the system might end the process without a word.

    Raises:
        ValueError: the weights are larger, or the model cannot be built.
    """
    needed, memory = 4 * count_weights(build), memory_of_machine()
    if memory is not None and needed > memory:
        raise ValueError(
            f"the weights of this model take {needed / 1e9:,.0f} GB, and this machine has {memory / 1e9:,.0f} GB: give "
            "smaller sizes"
        )


def count_weights(build: Callable[[], EncoderDecoder]) -> int:
    """How many numbers the weights of a model are, found without taking memory.

    Raises:
        ValueError: the model cannot be built.
    """
    try:
        with torch.device("meta"):  # tensors with a shape and no content
            return sum(weight.numel() for weight in build().parameters())
    except RuntimeError as error:  # the number of bytes is beyond 64 bits, or a size is negative
        raise ValueError(f"a model of these sizes cannot be built ({error})") from None
