"""The options of `seqlearn train` that come from the models: one for each setting in their specs."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any

import typer

from ..nn.config import Setting, Value
from ..translator.models import MODELS, ModelSpec

MODEL_OPTIONS = "Options of the models"  # their heading in the help


def flag(name: str) -> str:
    """The name of an option on the command line: "batch_size" becomes --batch-size."""
    return "--" + name.replace("_", "-")


def model_options() -> list[inspect.Parameter]:
    """An option for each setting. Models may share an option: the help then names them, with the default of each."""
    users: dict[str, dict[str, Setting]] = {}  # the name of the option: the models that have it
    for model, spec in MODELS.items():
        for setting in spec.settings:
            users.setdefault(setting.name, {})[model] = setting
    options = [_option("size", ["--size"], str, "named sets of settings", _sizes_help())]
    for name, settings in users.items():
        setting = next(iter(settings.values()))
        type_ = str if setting.choices else type(setting.default)
        flags = [f"{setting.flag}/--no-{setting.flag[2:]}"] if type_ is bool else [setting.flag]
        help_ = setting.help + (f": {', '.join(setting.choices)}" if setting.choices else "")
        defaults = "; ".join(f"{model}: {_shown(model, each)}" for model, each in settings.items())
        options.append(_option(name, flags, type_, help_, defaults, setting.least, setting.most))
    return options


def _option(
    name: str,
    flags: list[str],
    type_: type,
    help_: str,
    default: str,
    least: float | None = None,
    most: float | None = None,
) -> inspect.Parameter:
    info = typer.Option(
        *flags,
        min=least,
        max=most,
        help=f"{help_[0].upper()}{help_[1:]}.",
        show_default=default,
        rich_help_panel=MODEL_OPTIONS,
    )
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[type_ | None, info]
    )


def _sizes_help() -> str:
    return "; ".join(f"{model}: {', '.join(spec.sizes)}" for model, spec in MODELS.items() if spec.sizes)


def rates(what: str) -> str:
    """The default learning rate ("lr") or warm-up of each model."""
    return "; ".join(f"{name}: {getattr(spec, what):g}" for name, spec in MODELS.items())


def _shown(model: str, setting: Setting) -> str:
    """The default of a setting, as it is written on the command line."""
    if setting.argument in MODELS[model].sized:
        return "by --size"
    word = _word(setting, setting.default)
    return word if isinstance(word, str) else ("no", "yes")[word] if isinstance(word, bool) else f"{word:g}"


def chosen_settings(spec: ModelSpec, options: Mapping[str, Any]) -> dict[str, Value]:  # as many types as options
    """The settings with which the factory of a model is called.

    Args:
        options: all options of `train` by name; None where an option of the models was not given. Where both sides have
            one vocabulary, --tie ties the embeddings of the encoder, too.

    Raises:
        ValueError: an option belongs to another model or to another vocabulary, or its value is not one of the choices.
    """
    given = {each.name: value for each in model_options() if (value := options[each.name]) is not None}
    if options["shared_vocab"] and "tie" in given and any(each.argument == "tie_source" for each in spec.settings):
        given.setdefault("tie_source", given["tie"])
    if given.get("tie_source") and not options["shared_vocab"]:
        raise ValueError("--tie-source needs one vocabulary for both sides: add --tokens bpe --shared-vocab")
    own = {setting.name: setting for setting in spec.settings}
    settings: dict[str, Value] = {}
    if spec.sizes:
        size = given.pop("size", next(iter(spec.sizes)))
        settings |= asdict(spec.sizes[_choice("--size", size, spec.sizes)])
    if foreign := [flag(name) for name in given if name not in own]:
        flags = ", ".join([setting.flag for setting in spec.settings] + ["--size"] * bool(spec.sizes))
        raise ValueError(f"{spec.name} has no {', '.join(foreign)}; it has {flags}")
    for name, value in given.items():
        choices = own[name].choices
        settings[own[name].argument] = choices[_choice(own[name].flag, value, choices)] if choices else value
    return spec.complete(settings)


def words_of(spec: ModelSpec, settings: Mapping[str, Value], size: str | None) -> dict[str, Value]:
    """The options that stand for these settings, by name; of settings that the size decides, the size alone."""
    size = next(iter(spec.sizes), None) if size is None else size
    open_ = [each for each in spec.settings if each.argument not in spec.sized]
    own = {each.name: _word(each, settings[each.argument]) for each in open_}
    return own if size is None else {"size": size, **own}


def _word(setting: Setting, value: Value) -> Value:
    """The value as it is written on the command line."""
    return next((word for word, each in (setting.choices or {}).items() if each == value), value)


def _choice(flag: str, word: object, words: Mapping[str, object]) -> str:
    if not isinstance(word, str) or word not in words:
        raise ValueError(f"{flag} is one of {', '.join(words)}, not {word!r}")
    return word
