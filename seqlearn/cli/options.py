"""The options of `seqlearn train`. Each stands here once: its type, its default, its help, its heading and its checks.

The options of the models stand in `model_options`, because they come from the specs of the models.
"""

from __future__ import annotations

import inspect
import json
import math
import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar, get_args

import typer
from typer.models import OptionInfo

from ..data.large.cache import LARGE
from ..data.text import TOKENS
from ..nn.config import Value
from ..runtime.ownership import TRANSLATOR, kind_of, reading
from ..runtime.values import shown
from ..training.checkpoints import Checkpoints
from ..training.schedules import SCHEDULES, Schedule, make_schedule
from ..translator.models import MODELS, spec_of
from ..translator.saving import MODEL
from .devices import Device, Threads
from .model_options import MODEL_OPTIONS, chosen_settings, flag, model_options, rates, words_of
from .output import CHECKPOINTS
from .search import COLUMNS

Values = dict[str, Any]  # of all options, by name: as many types as options
Group = TypeVar("Group")
OWN_FILES = "source target data cache valid valid_source valid_target test test_source test_target".split()

_output, _data, _held_out, _model, _tokens, _training = (
    partial(typer.Option, rich_help_panel=heading)
    for heading in ("Output", "Data", "Held-out data", MODEL_OPTIONS, "Tokens", "Training")
)


def columns_of(text: str | None) -> tuple[int, int] | None:
    """The two columns that --columns names; None: they were not given.

    Raises:
        ValueError: the text does not name two.
    """
    if text and not re.fullmatch(r"([1-9]\d?),(?!\1$)[1-9]\d?", text):
        raise ValueError(f"--columns is two different numbers with a comma, such as 2,3, not {text!r}")
    source, target = (text or "1,2").split(",")
    return (int(source), int(target)) if text else None


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Where a training runs and writes. These options may change when training goes on."""

    out: Annotated[Path | None, _output(help="The folder to write the translator to: a new or an empty one.")] = None
    resume: Annotated[Path | None, _output(help="Go on with the training in this folder, after it was stopped.")] = None
    overwrite: Annotated[
        bool,
        _output(
            "--overwrite",
            help="Replace the translator that is in the folder. It stays until the first epoch of the new one is over.",
        ),
    ] = False
    checkpoint_minutes: Annotated[float, _output(help="Minutes between two checkpoints.")] = 10.0
    checkpoint_updates: Annotated[
        int | None, _output(min=1, help="Updates between two checkpoints.", show_default="by time alone")
    ] = None
    log_every: Annotated[
        int | None,
        _output(
            min=1,
            help="Say loss, learning rate and tokens a second after this many updates.",
            show_default="never; with --tensorboard 100",
        ),
    ] = None
    tensorboard: Annotated[
        Path | None, _output(help="Also write the losses to this folder, as files for TensorBoard.")
    ] = None
    config: Annotated[
        Path | None,
        typer.Option(help="Take options from this file, such as run.toml of another training; those given here win."),
    ] = None
    device: Device = ""
    threads: Threads = None


@dataclass(frozen=True, kw_only=True)
class DataOptions:
    """The corpus, and its held-out parts.

    Raises:
        ValueError: options contradict each other.
    """

    corpus: Annotated[str, _data(help="builtin, fra-eng, or a file of source<TAB>target lines.")] = "builtin"
    source: Annotated[str, _data(help="A file with one source sentence a line (with --target).")] = ""
    target: Annotated[str, _data(help="A file with one target sentence a line (with --source).")] = ""
    languages: Annotated[str, _data(help="The languages of your files: they decide how words are split.")] = "en-fr"
    data: Annotated[str, _data(help="The folder that holds fra-eng.", show_default="$SEQLEARN_DATA")] = ""
    columns: Annotated[
        str, _data(help=f"{COLUMNS} of your files of source<TAB>target lines.", show_default="1,2; a third may follow")
    ] = ""
    skip_malformed: Annotated[
        bool, _data("--skip-malformed", help="Leave malformed lines of your files out, and count them.")
    ] = False
    reverse: Annotated[bool, _data("--reverse", help="Translate in the other direction.")] = False
    pairs: Annotated[int, _data(help="How many pairs the built-in corpus writes.")] = 30_000
    limit: Annotated[
        int | None, _data(min=1, help="Use this many pairs of the corpus, drawn at random.", show_default="all")
    ] = None
    cache: Annotated[
        str,
        _data(
            help="A folder for the ids of a large corpus, which is not held in memory.",
            show_default=f"from {LARGE:,} pairs on, $SEQLEARN_CACHE or the system's cache folder",
        ),
    ] = ""
    held_out: Annotated[
        float,
        _held_out(
            help="The share of the corpus's source sentences for each of valid and test, if it has no file of its own.",
            show_default="1/30",
        ),
    ] = 1 / 30
    valid: Annotated[
        str,
        _held_out(
            help="A file of source<TAB>target lines to choose the best epoch by. Pairs of the corpus that share a "
            "source sentence with your held-out files are left out, and counted."
        ),
    ] = ""
    valid_source: Annotated[
        str, _held_out(help="Instead of --valid: a file with one source sentence a line (with --valid-target).")
    ] = ""
    valid_target: Annotated[str, _held_out(help="A file with one target sentence a line (with --valid-source).")] = ""
    test: Annotated[str, _held_out(help="A file of source<TAB>target lines that `seqlearn evaluate` scores.")] = ""
    test_source: Annotated[
        str, _held_out(help="Instead of --test: a file with one source sentence a line (with --test-target).")
    ] = ""
    test_target: Annotated[str, _held_out(help="A file with one target sentence a line (with --test-source).")] = ""

    def __post_init__(self):
        if not self.corpus:
            raise ValueError("--corpus is empty: builtin, fra-eng, or a file")
        if not re.fullmatch("[A-Za-z]{2,8}-[A-Za-z]{2,8}", self.languages):
            raise ValueError(f"--languages is two codes with a hyphen, such as en-fr, not {self.languages!r}")
        columns_of(self.columns)
        for part in ("", "valid-", "test-"):
            tsv = part and getattr(self, part[:-1])
            source, target = (getattr(self, f"{part}{side}".replace("-", "_")) for side in ("source", "target"))
            if tsv and (source or target):
                raise ValueError(f"--{part[:-1]} holds both sides: leave out --{part}source and --{part}target")
            if bool(source) != bool(target):
                raise ValueError(f"--{part}source and --{part}target go together")

    def anywhere(self) -> DataOptions:
        """The same, with paths that hold in any folder. Links stay: nobody could open the target of a pipe's link."""
        paths = {name: os.path.abspath(path) for name in OWN_FILES if (path := getattr(self, name))}
        own = self.corpus not in ("builtin", "fra-eng")
        return replace(self, corpus=os.path.abspath(self.corpus) if own else self.corpus, **paths)


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """The model and its vocabularies.

    Raises:
        ValueError: there is no such kind of token.
    """

    model: Annotated[str, _model(help="; ".join(f"{name}: {spec.help}" for name, spec in MODELS.items()) + ".")] = (
        "bahdanau"
    )
    tokens: Annotated[str, _tokens(help="word, or bpe: pieces of words, for any script.")] = "word"
    vocab_size: Annotated[int, _tokens(min=10, help="The most tokens of each side, with --tokens bpe.")] = 8000
    shared_vocab: Annotated[
        bool,
        _tokens(
            "--shared-vocab",
            help="With --tokens bpe: one vocabulary for both sides. Then --tie also ties the encoder's embeddings.",
        ),
    ] = False
    cased: Annotated[
        bool | None,
        _tokens(
            help="With --tokens bpe: keep capital letters, quotes and spaces as they are typed.",
            show_default="with bpe, but for the built-in corpus",
        ),
    ] = None
    max_length: Annotated[int, _tokens(min=1, help="Leave out pairs with more tokens on a side.")] = 256
    min_freq: Annotated[
        int | None,
        _tokens(min=1, help="Words that occur less often become <unk>.", show_default="builtin 1, else 2"),
    ] = None

    def __post_init__(self):
        if self.tokens not in TOKENS:
            raise ValueError(f"--tokens is one of {', '.join(TOKENS)}, not {self.tokens!r}")


@dataclass(frozen=True, kw_only=True)
class TrainOptions:
    """How the model is trained.

    Raises:
        ValueError: there is no such precision or schedule.
    """

    epochs: Annotated[int, _training(min=1, help="How many times training goes through its data.")] = 4
    patience: Annotated[
        int | None,
        _training(
            min=1,
            help="End after this many epochs without a better validation loss. The schedule still counts all --epochs.",
            show_default="never",
        ),
    ] = None
    average: Annotated[
        int,
        _training(
            min=1,
            help="Validate and keep the mean of the weights at the ends of this many last epochs. "
            "Training goes on with its own weights.",
        ),
    ] = 1
    lr: Annotated[
        float | None,
        _training("--lr", "--learning-rate", min=0, help="Peak learning rate.", show_default=rates("lr")),
    ] = None
    schedule: Annotated[str, _training(help=f"How the learning rate changes: {', '.join(SCHEDULES)}.")] = "linear"
    warmup: Annotated[
        float | None,
        _training(help="Share of training in which the learning rate rises.", show_default=rates("warmup")),
    ] = None
    label_smoothing: Annotated[
        float, _training(min=0, max=0.99, help="Share of the probability that goes from the right token to all.")
    ] = 0.0
    batch_size: Annotated[int, _training(min=1, help="Pairs in a batch.")] = 64
    max_tokens: Annotated[
        int | None,
        _training(
            min=1,
            help="In place of --batch-size: about this many tokens in a batch, on the longer side of its pairs.",
            show_default="--batch-size",
        ),
    ] = None
    accumulate: Annotated[int, _training(min=1, help="Batches for each update.")] = 1
    precision: Annotated[str | None, _training(help="bf16, where the device has it.", show_default="float32")] = None
    seed: Annotated[int, _training(min=0, max=2**63 - 1, help="The seed of split, weights and order of batches.")] = 0

    def __post_init__(self):
        if self.precision not in (None, "bf16"):
            raise ValueError(f"--precision is bf16, or left out for float32, not {self.precision!r}")
        self.factor()

    def factor(self) -> Schedule:
        """The schedule of the learning rate, as a function."""
        return make_schedule(self.schedule, self.warmup or 0.0)


class Options(NamedTuple):
    """All options of a training: in groups, the settings for the factory of the model, and by name."""

    run: RunOptions
    data: DataOptions
    model: ModelOptions
    training: TrainOptions
    settings: dict[str, Value]
    values: Values


def parameters() -> list[inspect.Parameter]:
    """An option of typer for each field of each group, and for each setting of each model."""
    groups = (RunOptions, DataOptions, ModelOptions, TrainOptions)
    return [
        *(each for group in groups for each in inspect.signature(group, eval_str=True).parameters.values()),
        *model_options(),
    ]


def checked(values: Values) -> Options:
    """The options in groups, with what was left open: defaults that depend on the model and on the corpus.

    Raises:
        ValueError: options contradict each other, or a value is not one of the choices.
    """
    spec = spec_of(values["model"])
    settings = chosen_settings(spec, values)
    is_builtin = values["corpus"] == "builtin" and not values["source"]
    cased = values["tokens"] == "bpe" and not is_builtin
    left_open = {"lr": spec.lr, "warmup": spec.warmup, "min_freq": 1 if is_builtin else 2, "cased": cased}
    left_open |= words_of(spec, settings, values["size"])
    values = values | {name: value for name, value in left_open.items() if values[name] is None}
    run, data, model = _group(RunOptions, values), _group(DataOptions, values), _group(ModelOptions, values)
    return Options(run, data, model, _group(TrainOptions, values), settings, values)


def _group(kind: Callable[..., Group], values: Values) -> Group:
    return kind(**{name: values[name] for name in inspect.signature(kind).parameters})


def resumed(given: set[str], values: Values) -> Values:
    """The options with which a training was started, for going on with it.

    Args:
        given: the names of the options on the command line.

    Raises:
        ValueError: there is nothing to go on with, or an option is given with another value.
    """
    folder: Path = values["resume"]
    texts = Checkpoints(folder / CHECKPOINTS).stored_texts()
    if texts is None:
        finished = kind_of(folder / MODEL) == TRANSLATOR
        raise ValueError(
            f"{folder} holds {'a finished translator' if finished else 'no checkpoint'}: nothing to resume"
        )
    if "options" not in texts:
        raise ValueError(f"{folder} holds a training that was begun in Python: go on with the same call of `fit` there")
    with reading(f"the checkpoint in {folder}"):
        stored: Values = dict(json.loads(texts["options"]).items())
        for each in parameters():
            if stored.get(each.name) is not None and (fault := fault_of(stored[each.name], *get_args(each.annotation))):
                raise TypeError(f"{each.name} is {fault}, not {shown(stored[each.name])}")
    free = {each.name for each in fields(RunOptions)} | {"cache"}
    for name in sorted(given - free):
        if values[name] != stored.get(name):
            raise ValueError(f"{flag(name)} was {stored.get(name)!r} when the training in {folder} was started")
    stored = {"cased": False} | stored  # a training that was started before there was this option
    return values | stored | {name: values[name] for name in free & given} | {"out": folder, "resume": folder}


WORDS = {str: 'a text, such as "word"', int: "a whole number", float: "a number", bool: "true or false"}


def fault_of(value: object, kind: Any, option: OptionInfo) -> str:  # kind: a type, or a union of one and None
    """What an option is, if it cannot have this value; else empty."""
    type_ = next(iter(get_args(kind)), kind)
    if type(value) is not type_ and not (type_ is float and type(value) is int):
        return WORDS[type_]
    least, most = -math.inf if option.min is None else option.min, math.inf if option.max is None else option.max
    if isinstance(value, int | float) and not least <= value <= most:
        return f"at least {least:g}" if most == math.inf else f"from {least:g} to {most:g}"
    return ""


def without_effect(values: Values) -> dict[str, str]:
    """The options that would change nothing, given the others, each with the reason."""
    own_files = values["source"] or values["corpus"] not in ("builtin", "fra-eng")
    own_valid, own_test = (values[part] or values[f"{part}_source"] for part in ("valid", "test"))
    needs = {
        "corpus": (not values["source"], "cannot be used with --source and --target"),
        "pairs": (values["corpus"] == "builtin" and not values["source"], "is for the built-in corpus"),
        "data": (values["corpus"] == "fra-eng" and not values["source"], "is for --corpus fra-eng"),
        "languages": (own_files, "is for files of yours"),
        "columns": (own_files or own_valid or own_test, "is for files of yours"),
        "skip_malformed": (own_files or own_valid or own_test, "is for files of yours"),
        "held_out": (not (own_valid and own_test), "draws no part where valid and test have files of their own"),
        "vocab_size": (values["tokens"] == "bpe", "is for --tokens bpe"),
        "shared_vocab": (values["tokens"] == "bpe", "is for --tokens bpe"),
        "cased": (values["tokens"] == "bpe", "is for --tokens bpe"),
        "min_freq": (values["tokens"] != "bpe", "is for --tokens word"),
        "patience": (
            values["epochs"] - 2 >= (values["patience"] or 0),
            "ends training early only if --epochs is larger by 2 or more",
        ),
        "batch_size": (values["max_tokens"] is None, "has no effect with --max-tokens"),
        "average": (values["average"] == 1 or values["epochs"] > 1, "has only one epoch to average"),
    }
    return {name: why for name, (useful, why) in needs.items() if not useful}


def refuse_without_effect(names: Iterable[str], values: Values) -> None:
    """Refuse options that would change nothing.

    Raises:
        ValueError: one of these names is one.
    """
    useless = without_effect(values)
    for name in useless.keys() & set(names):
        raise ValueError(f"{flag(name)} {useless[name]}: leave it out")
