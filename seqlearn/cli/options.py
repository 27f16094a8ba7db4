"""Behind the options of `seqlearn train`: their headings, the options of the models, and what is refused."""

from __future__ import annotations

import copy
import inspect
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from ..models import MODELS, ModelSpec, Setting, Value, spec_of
from ..saving import MODEL
from ..training.checkpoints import Checkpoints
from .output import CHECKPOINTS

MODEL_OPTIONS = "Options of the models"  # the heading in the help
PANELS = {  # the other headings, and the options under each
    "Output": "out resume checkpoint_minutes checkpoint_updates",
    "Data": "corpus source target languages data skip_malformed reverse pairs limit cache",
    "Held-out data": "held_out valid valid_source valid_target test test_source test_target",
    MODEL_OPTIONS: "model",
    "Tokens": "tokens vocab_size shared_vocab max_length min_freq",
    "Training": "epochs patience average lr schedule warmup label_smoothing batch_size accumulate precision seed",
}
# These may change when training goes on.
FREE = {"out", "resume", "device", "threads", "cache", "checkpoint_minutes", "checkpoint_updates"}


Options = dict[str, Any]  # of a call of `train`, by name: as many types as options


def stored_options(given: set[str], options: Options) -> Options:
    """The options with which a training was started, for going on with it.

    Args:
        given: the names of the options on the command line.

    Raises:
        ValueError: there is nothing to go on with, or an option is given with another value.
    """
    folder: Path = options["resume"]
    texts = Checkpoints(folder / CHECKPOINTS).stored_texts()
    if texts is None:
        finished = (folder / MODEL).is_file()
        if finished:  # a kill may have left the folder of the checkpoints, with nothing whole in it
            shutil.rmtree(folder / CHECKPOINTS, ignore_errors=True)
        raise ValueError(
            f"{folder} holds {'a finished translator' if finished else 'no checkpoint'}: nothing to resume"
        )
    stored: Options = json.loads(texts["options"])
    for name in sorted(given - FREE):
        value = str(options[name]) if isinstance(options[name], Path) else options[name]
        if value != stored.get(name):
            raise ValueError(f"{_flag(name)} was {stored.get(name)!r} when the training in {folder} was started")
    free = {name: options[name] for name in FREE & given}
    return {**options, **stored, **free, "out": folder, "resume": folder}


def in_panel(parameter: inspect.Parameter) -> inspect.Parameter:
    """The parameter, with its option under its heading in the help."""
    type_, option = get_args(parameter.annotation)
    option = copy.copy(option)  # other commands may have it, too
    option.rich_help_panel = next((name for name, options in PANELS.items() if parameter.name in options.split()), None)
    return parameter.replace(annotation=Annotated[type_, option])


def without_effect(given: set[str], options: Options) -> str:
    """A sentence about an option on the command line that would change nothing; empty if there is none."""
    own_files = options["source"] or options["corpus"] not in ("builtin", "fra-eng")
    builtin = options["corpus"] == "builtin" and not options["source"]
    fra_eng = options["corpus"] == "fra-eng" and not options["source"]
    own_valid, own_test = (options[part] or options[f"{part}_source"] for part in ("valid", "test"))
    needs = {
        "corpus": (not options["source"], "cannot stand beside --source and --target"),
        "pairs": (builtin, "is for the built-in corpus"),
        "data": (fra_eng, "is for --corpus fra-eng"),
        "languages": (own_files, "is for files of yours"),
        "skip_malformed": (own_files or own_valid or own_test, "is for files of yours"),
        "held_out": (not (own_valid and own_test), "draws no part where valid and test have files of their own"),
        "vocab_size": (options["tokens"] == "bpe", "is for --tokens bpe"),
        "shared_vocab": (options["tokens"] == "bpe", "is for --tokens bpe"),
        "min_freq": (options["tokens"] != "bpe", "is for --tokens word"),
        "patience": (
            options["epochs"] - 2 >= (options["patience"] or 0),
            "ends training early only if --epochs is larger by 2 or more",
        ),
        "average": (options["average"] == 1 or options["epochs"] > 1, "has only one epoch to average"),
    }
    useless = [f"{_flag(name)} {why}" for name, (useful, why) in needs.items() if name in given and not useful]
    return f"{useless[0]}: leave it out" if useless else ""


def model_options() -> list[inspect.Parameter]:
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


def rates(what: str) -> str:
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


def chosen_settings(
    spec: ModelSpec, given: Mapping[str, Value | str | None], shared_vocab: bool = False
) -> dict[str, Value]:
    """The settings with which the factory of a model is called.

    Args:
        given: the value of each option, by its name; None if the user did not give the option.
        shared_vocab: whether both sides have one vocabulary. Then --tie ties the embeddings of the encoder, too.

    Raises:
        ValueError: an option belongs to another model or to another vocabulary, or its value is not one of the choices.
    """
    if shared_vocab and "tie_source" in spec.defaults and given.get("tie_source") is None:
        given = {**given, "tie_source": given.get("tie")}
    if given.get("tie_source") and not shared_vocab:
        raise ValueError("--tie-source needs one vocabulary for both sides: add --tokens bpe --shared-vocab")
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
