"""The command `train`: its options, and what it does with them."""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, get_args

import typer
from tqdm import tqdm

from ..data.text import TOKENS
from ..models import MODELS, ModelSpec, Setting, Value, spec_of
from ..training.loop import History
from ..training.schedules import SCHEDULES, make_schedule
from ..translator import Translator
from .corpora import corpus_and_split, describe, with_checksums
from .devices import Device, use
from .errors import sentence_for_errors

MODEL_OPTIONS = "Options of the models"  # the heading in the help
PANELS = {  # the other headings, and the options under each
    "Output": "out",
    "Data": "corpus source target languages data skip_malformed reverse pairs limit held_out",
    MODEL_OPTIONS: "model",
    "Tokens": "tokens vocab_size max_length min_freq",
    "Training": "epochs lr schedule warmup label_smoothing batch_size accumulate precision seed",
}


def train_command() -> Callable[..., None]:
    """`train`, with an option for each setting of each model."""
    signature = inspect.signature(train, eval_str=True)
    shared = [
        _in_panel(each) for each in signature.parameters.values() if each.kind is not inspect.Parameter.VAR_KEYWORD
    ]

    @functools.wraps(train)
    def command(**options: Any) -> None:  # as many types as options
        train(**options)

    parameters = [*shared, *_model_options()]
    command.__signature__ = signature.replace(parameters=parameters)  # pyright: ignore[reportAttributeAccessIssue]  typer reads it
    command.__annotations__ = {each.name: each.annotation for each in parameters}
    return sentence_for_errors(command)


def _in_panel(parameter: inspect.Parameter) -> inspect.Parameter:
    """The parameter, with its option under its heading in the help."""
    type_, option = get_args(parameter.annotation)
    option = copy.copy(option)  # other commands may have it, too
    option.rich_help_panel = next((name for name, options in PANELS.items() if parameter.name in options.split()), None)
    return parameter.replace(annotation=Annotated[type_, option])


def _model_options() -> list[inspect.Parameter]:
    """An option for each setting. Models may share an option: the help then names them, with the default of each."""
    users: dict[str, dict[str, Setting]] = {}  # the name of the option: the models that have it
    for model, spec in MODELS.items():
        for setting in spec.settings:
            users.setdefault(setting.name, {})[model] = setting
    options = [_option("size", ["--size"], str, "named sets of settings", _sizes_help())]
    for name, settings in users.items():
        setting = next(iter(settings.values()))
        type_ = str if setting.choices else type(_default(*next(iter(settings.items()))))
        flags = [f"{setting.flag}/--no-{setting.flag[2:]}"] if type_ is bool else [setting.flag]
        help_ = setting.help + (f": {', '.join(setting.choices)}" if setting.choices else "")
        defaults = "; ".join(f"{model}: {_shown(model, each)}" for model, each in settings.items())
        options.append(_option(name, flags, type_, help_, defaults, setting.least, setting.most))
    return options


def _option(
    name: str, flags: list[str], type_: type, help_: str, default: str, least: float | None = None,
    most: float | None = None,
) -> inspect.Parameter:  # fmt: skip
    info = typer.Option(
        *flags, min=least, max=most, help=f"{help_[0].upper()}{help_[1:]}.", show_default=default,
        rich_help_panel=MODEL_OPTIONS,
    )  # fmt: skip
    annotation = Annotated[type_ | None, info]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


def _sizes_help() -> str:
    return "; ".join(f"{model}: {', '.join(spec.sizes)}" for model, spec in MODELS.items() if spec.sizes)


def _rates(what: str) -> str:
    """The default learning rate ("lr") or warm-up of each model."""
    return "; ".join(f"{name}: {getattr(spec, what):g}" for name, spec in MODELS.items())


def _default(model: str, setting: Setting) -> Value:
    return spec_of(model).defaults[setting.argument]


def _shown(model: str, setting: Setting) -> str:
    """The default of a setting, as it is written on the command line."""
    default, sizes = _default(model, setting), spec_of(model).sizes
    if any(setting.argument in size for size in sizes.values()):
        return "by --size"
    if setting.choices:
        return next(word for word, value in setting.choices.items() if value == default)
    return {True: "yes", False: "no"}[default] if isinstance(default, bool) else f"{default:g}"


def chosen_settings(spec: ModelSpec, given: Mapping[str, Value | str | None]) -> dict[str, Value]:
    """The settings with which the factory of a model is called.

    Args:
        given: the value of each option, by its name; None if the user did not give the option.

    Raises:
        ValueError: an option belongs to another model, or its value is not one of the choices.
    """
    own = {setting.name: setting for setting in spec.settings}
    given = {name: value for name, value in given.items() if value is not None}
    settings: dict[str, Value] = {}
    if spec.sizes:
        size = given.pop("size", next(iter(spec.sizes)))
        settings |= spec.sizes[_choice("--size", size, spec.sizes)]
    if foreign := [_flag(name) for name in given if name not in own]:
        flags = ", ".join([setting.flag for setting in spec.settings] + ["--size"] * bool(spec.sizes))
        raise ValueError(f"{spec.name} has no {', '.join(foreign)}; it has {flags}")
    for name, value in given.items():
        choices = own[name].choices
        settings[own[name].argument] = choices[_choice(own[name].flag, value, choices)] if choices else value
    return spec.complete(settings)


def _choice(flag: str, word: object, words: Mapping[str, object]) -> str:
    if not isinstance(word, str) or word not in words:
        raise ValueError(f"{flag} is one of {', '.join(words)}, not {word!r}")
    return word


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def train(
    out: Annotated[Path, typer.Option(help="The folder to write the translator to.")],
    corpus: Annotated[str, typer.Option(help="builtin, fra-eng, or a file of source<TAB>target lines.")] = "builtin",
    source: Annotated[str, typer.Option(help="A file with one source sentence a line (with --target).")] = "",
    target: Annotated[str, typer.Option(help="A file with one target sentence a line (with --source).")] = "",
    languages: Annotated[
        str, typer.Option(help="The languages of your files: they decide how words are split.")
    ] = "en-fr",
    data: Annotated[str, typer.Option(help="The folder that holds fra-eng.", show_default="$SEQLEARN_DATA")] = "",
    skip_malformed: Annotated[
        bool, typer.Option("--skip-malformed", help="Leave malformed lines of your files out, and count them.")
    ] = False,
    reverse: Annotated[bool, typer.Option("--reverse", help="Translate in the other direction.")] = False,
    pairs: Annotated[int, typer.Option(help="How many pairs the built-in corpus writes.")] = 30_000,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Use this many pairs, drawn at random.", show_default="all")
    ] = None,
    held_out: Annotated[
        float, typer.Option(help="The share of source sentences for each of valid and test.", show_default="1/30")
    ] = 1 / 30,
    model: Annotated[
        str, typer.Option(help="; ".join(f"{name}: {spec.help}" for name, spec in MODELS.items()) + ".")
    ] = "bahdanau",
    tokens: Annotated[str, typer.Option(help="word, or bpe: pieces of words, for any script.")] = "word",
    vocab_size: Annotated[int, typer.Option(min=10, help="The most tokens of each side, with --tokens bpe.")] = 8000,
    max_length: Annotated[int, typer.Option(min=1, help="Leave out pairs with more tokens on a side.")] = 256,
    min_freq: Annotated[
        int | None,
        typer.Option(min=1, help="Words that occur less often become <unk>.", show_default="builtin 1, else 2"),
    ] = None,
    epochs: Annotated[int, typer.Option(min=1, help="How many times training goes through its data.")] = 4,
    lr: Annotated[float | None, typer.Option(min=0, help="Peak learning rate.", show_default=_rates("lr"))] = None,
    schedule: Annotated[str, typer.Option(help=f"How the learning rate changes: {', '.join(SCHEDULES)}.")] = "linear",
    warmup: Annotated[
        float | None,
        typer.Option(help="Share of training in which the learning rate rises.", show_default=_rates("warmup")),
    ] = None,
    label_smoothing: Annotated[
        float, typer.Option(min=0, max=0.99, help="Share of the probability that goes from the right token to all.")
    ] = 0.0,
    batch_size: Annotated[int, typer.Option(min=1, help="Pairs in a batch.")] = 64,
    accumulate: Annotated[int, typer.Option(min=1, help="Batches for each update.")] = 1,
    precision: Annotated[
        str | None, typer.Option(help="bf16, where the device has it.", show_default="float32")
    ] = None,
    seed: Annotated[int, typer.Option(help="The seed of split, weights and order of batches.")] = 0,
    device: Device = "",
    **settings: Any,  # of the model: their types are those of its factory
) -> None:
    """Carry out the command."""
    description = describe(
        corpus=corpus, source=source, target=target, data=data, languages=languages, skip_malformed=skip_malformed,
        reverse=reverse, pairs=pairs, limit=limit, held_out=held_out, seed=seed,
    )  # fmt: skip
    if out.is_file():
        raise ValueError(f"{out} is a file, not a folder")
    use(device)
    if tokens not in TOKENS:
        raise ValueError(f"--tokens is one of {', '.join(TOKENS)}, not {tokens!r}")
    spec = spec_of(model)
    settings = chosen_settings(spec, settings)
    options = {
        "lr": spec.lr if lr is None else lr, "epochs": epochs, "batch_size": batch_size, "max_length": max_length,
        "label_smoothing": label_smoothing, "accumulate": accumulate, "precision": precision, "seed": seed,
    }  # fmt: skip
    rate = {"schedule": schedule, "warmup": spec.warmup if warmup is None else warmup}
    factor = make_schedule(*rate.values())
    chosen, split = corpus_and_split(description)
    description = with_checksums(description)
    min_freq = min_freq or (1 if corpus == "builtin" and not source else 2)
    vocabs = {"min_freq": min_freq, "tokens": tokens, "vocab_size": vocab_size}
    translator = Translator.untrained(model, split, chosen.languages, **vocabs, seed=seed, **settings)
    counts = ", ".join(f"{len(part):,} {name}" for name, part in zip(split._fields, split, strict=True))
    sizes = f"{len(translator.source.vocab):,} and {len(translator.target.vocab):,} tokens"
    typer.echo(f"{chosen.name}: pairs {counts}; {sizes}; on {translator.device}")
    with _writable(out):
        history = translator.fit(split, **options, schedule=factor, after_epoch=[_report])
        if history.interrupted and not history.epochs:
            raise ValueError("stopped before the first epoch ended: nothing was written")
        translator.config |= {"data": description, **options, **rate, "epochs": history.epochs}
        translator.save(out)
    speed = sum(history.tokens) / max(sum(history.seconds), 1e-9)
    typer.echo(f"{speed:,.0f} tokens/s; best epoch {history.best_epoch + 1}; written to {out}")


@contextmanager
def _writable(folder: Path) -> Iterator[None]:
    """Make the folder before the work, so that a bad path fails at once. A new folder that stays empty is removed."""
    there = folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield
    finally:
        if not there and not any(folder.iterdir()):
            folder.rmdir()


def _report(model: object, history: History) -> None:
    tqdm.write(  # a line above the progress bar, not in the middle of it
        f"epoch {history.epochs}: loss {history.train_losses[-1]:.3f}, "
        f"validation {history.valid_losses[-1]:.3f}, {history.seconds[-1]:.0f} s"
    )
