"""The models that `Translator` and the command line can train: one spec for each.

A new model is registered in one place, and can then be trained, saved, loaded and searched, with its own options on the
command line:

    register(ModelSpec("my-model", "what it is", my_model, settings=(Setting("width", "of the layer"),), lr=1e-2))

`my_model(source_vocab_size, target_vocab_size, width=64)` returns an `EncoderDecoder` under the contract of
`seqlearn.nn.contract`. The command line knows the models that this module registers, so add the call at the end of the
module. A program of your own may call `register` itself, before it makes or loads a `Translator` with the model.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import torch

from .devices import memory_of_machine
from .nn.attention import SCORES
from .nn.contract import EncoderDecoder
from .nn.decoder_only import FFNS, NORMS, decoder_only
from .nn.seq2seq import RNNS, bahdanau, seq2seq
from .nn.transformer import POSITIONS, SIZES, transformer

Value = int | float | str | bool
LARGE = 1 << 24  # the largest setting, squared, times the layers: below it the weights of the layers take 2 GB at most


@dataclass(frozen=True)
class Setting:
    """A setting of a model: an argument of its factory. The factory has the type and the default of the argument.

    Args:
        argument: the name of the argument, such as "num_hiddens".
        help: the meaning, in a few words.
        option: the name on the command line, such as "hidden"; default: the name of the argument.
        choices: the words that may be chosen, and the value that the factory gets for each; default: any value of the
            type.
        least, most: bounds of a number.
    """

    argument: str
    help: str
    option: str = ""
    choices: Mapping[str, Value] | None = None
    least: float | None = None
    most: float | None = None

    @property
    def name(self) -> str:
        """The name as an argument of Python: `embed_size` for the option --embed-size."""
        return (self.option or self.argument).replace("-", "_")

    @property
    def flag(self) -> str:
        """The name on the command line: `--embed-size`."""
        return "--" + self.name.replace("_", "-")

    def check(self, value: Value, default: Value) -> None:
        """Refuse a value of another type than the default, and a number out of bounds.

        Raises:
            ValueError: it is one.
        """
        types = (int, float) if isinstance(default, float) else (type(default),)
        if type(value) not in types:
            raise ValueError(f"{self.argument} is {types[0].__name__}, not {value!r}")
        least = -math.inf if self.least is None else self.least
        most = math.inf if self.most is None else self.most
        if not isinstance(value, str) and not least <= value <= most:
            raise ValueError(f"{self.argument} is from {least:g} to {most:g}, not {value}")


@dataclass(frozen=True)
class ModelSpec:
    """Everything that the command line and `Translator` need to know about a kind of model.

    Args:
        name: on the command line and in saved folders.
        help: a description, in a few words.
        build: its factory, `build(source_vocab_size, target_vocab_size, **settings)`.
        settings: one for each argument of the factory that has a default.
        sizes: named sets of settings; the first one is the default.
        lr: the default of the peak learning rate.
        warmup: the default of the share of training in which the learning rate rises.

    Raises:
        ValueError: the settings are not the factory's arguments.
    """

    name: str
    help: str
    build: Callable[..., EncoderDecoder]
    settings: tuple[Setting, ...] = ()
    sizes: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)
    lr: float = 3e-3
    warmup: float = 0.0

    def __post_init__(self) -> None:
        named = {setting.argument for setting in self.settings}
        if different := named ^ self.defaults.keys():
            raise ValueError(f"the settings of {self.name} are not its factory's arguments: {', '.join(different)}")

    @property
    def defaults(self) -> dict[str, Value]:
        """The default of each setting, by the argument's name. The factory is the only place that has the defaults."""
        parameters = list(inspect.signature(self.build).parameters.values())[2:]  # without the sizes of vocabularies
        return {parameter.name: parameter.default for parameter in parameters}

    def complete(self, given: Mapping[str, Value]) -> dict[str, Value]:
        """All settings: the given ones, and the defaults of the others.

        Raises:
            ValueError: the model has no such setting, or a value of another kind.
        """
        if unknown := [name for name in given if name not in self.defaults]:
            raise ValueError(f"{self.name} has no setting {unknown[0]!r}; it has {', '.join(self.defaults)}")
        complete, defaults = self.defaults | dict(given), self.defaults
        for setting in self.settings:
            setting.check(complete[setting.argument], defaults[setting.argument])
        return complete


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


def _words(names: Mapping[str, object] | tuple[str, ...]) -> dict[str, Value]:
    return {name: name for name in names}


MOST_LAYERS = 100
DROPOUT = Setting("dropout", "share of activations dropped in training", least=0, most=0.99)
RECURRENT = (
    Setting("embed_size", "size of a token's vector", least=1),
    Setting("num_hiddens", "size of each direction of the encoder, and of the decoder", "hidden", least=1),
    Setting("num_layers", "layers on each side", "layers", least=1, most=MOST_LAYERS),
    DROPOUT,
)

register(
    ModelSpec(
        "bahdanau",
        "a GRU encoder, and a GRU decoder with attention",
        bahdanau,
        (*RECURRENT, Setting("score", "how attention compares a query with a key", choices=_words(SCORES))),
    )
)
register(
    ModelSpec(
        "seq2seq",
        "a recurrent encoder and decoder without attention",
        seq2seq,
        (
            *RECURRENT,
            Setting("cell", "the kind of recurrent net", choices=_words(RNNS)),
            Setting("bidirectional", "whether the encoder reads in both directions"),
        ),
    )
)
register(
    ModelSpec(
        "transformer",
        "the model of Vaswani et al. (2017)",
        transformer,
        (
            Setting("num_hiddens", "size of a token's vector, in all blocks", "width", least=1),
            Setting("ffn_num_hiddens", "size inside the feed-forward networks", "ffn", least=1),
            Setting("num_heads", "heads of each attention", "heads", least=1),
            Setting("num_layers", "blocks on each side", "layers", least=1, most=MOST_LAYERS),
            DROPOUT,
            Setting("norm_first", "layer norm before or after each sublayer", "norm", {"pre": True, "post": False}),
            Setting("positions", "how the model knows the order of tokens", choices=_words(POSITIONS)),
            Setting("bias", "whether the projections of the attention have a bias"),
            Setting("max_steps", "the number of positions, for learned positions", least=1),
            Setting("tie", "whether the output layer shares the embedding matrix"),
            Setting("tie_source", "whether the encoder shares the embedding matrix; --tie does it with --shared-vocab"),
        ),
        sizes=SIZES,
        lr=2e-3,
        warmup=0.1,
    )
)
register(
    ModelSpec(
        "decoder",
        "a decoder-only Transformer with the source as its prompt",
        decoder_only,
        (
            Setting("num_hiddens", "size of a token's vector, in all blocks", "width", least=1),
            Setting("ffn_num_hiddens", "size inside the feed-forward networks", "ffn", least=1),
            Setting("num_heads", "heads of each attention", "heads", least=1),
            Setting("num_kv_heads", "heads of keys and values; 0: as many as heads", "kv-heads", least=0),
            Setting("num_layers", "blocks", "layers", least=1, most=MOST_LAYERS),
            DROPOUT,
            Setting("norm", "the kind of norm before each sublayer", "norm-kind", _words(tuple(NORMS))),
            Setting("ffn", "the kind of feed-forward network", "ffn-kind", _words(tuple(FFNS))),
            Setting("prefix", "whether the source is read in both directions"),
            Setting("tie", "whether the output layer shares the embedding matrix"),
            Setting("tie_source", "whether the source shares the embedding matrix; --tie does it with --shared-vocab"),
        ),
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
