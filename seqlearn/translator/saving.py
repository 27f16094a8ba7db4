"""The folder of a translator: its weights, both languages and the configuration are one file, which nothing can mix.

`config.json` beside it is a copy of the configuration for people.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import torch
from torch import Tensor

from ..data.text import Language
from ..nn.config import Value
from ..nn.contract import EncoderDecoder
from ..runtime.ownership import CONFIG, TRANSLATOR, kind_of, reading, write
from ..training.storage import fill, read_file, weights_of, write_file
from .models import MODELS, count_weights, is_large, spec_of

FORMAT = 2
MODEL, COPY = "model.safetensors", "config.json"
MODEL_FILES = {MODEL: TRANSLATOR, COPY: CONFIG}
TEXTS = {"config", "source", "target"}  # of the model's file


def write_translator(
    folder: str | Path, model: EncoderDecoder, source: Language, target: Language, config: dict
) -> None:
    """Write a translator to a folder, in place of an older one. Args and Raises: see `Translator` and its `save`."""
    _check_loadable(model, source, target, config)
    folder, config = Path(folder), {"format": FORMAT, **config}
    for name, kind in MODEL_FILES.items():
        if (folder / name).exists() and kind_of(folder / name) != kind:
            raise ValueError(f"{folder / name} is not {kind} of seqlearn: choose another folder, or move the file away")
    texts = {"config": json.dumps(config), "source": source.to_json(), "target": target.to_json()}
    write_file(folder / MODEL, weights_of(model), texts)
    write(folder / COPY, json.dumps(config, indent=2, ensure_ascii=False) + "\n")


def read_translator(folder: str | Path) -> tuple[EncoderDecoder, Language, Language, dict]:
    """The model (on the CPU), both languages and the configuration in a folder. Raises: see `Translator.load`."""
    folder = Path(folder)
    file = folder / MODEL
    if not file.is_file():
        raise FileNotFoundError(f"{folder} holds no translator: there is no {MODEL} in it")
    stored = read_file(file)
    texts = stored.texts
    if not stored.checked and texts.keys() & TEXTS:
        raise ValueError(f"{file} is damaged: it has no checksum")
    if missing := TEXTS - texts.keys():
        raise ValueError(f"{folder} holds no translator of seqlearn: {MODEL} has no {min(missing)} in it")
    with reading(f"the configuration in {folder}"):
        config = json.loads(texts["config"])
        written, name = config.pop("format", None), config.get("model")
    if type(written) is not int or written != FORMAT:  # 2.0 equals 2
        raise ValueError(f"{folder} was written by another version of seqlearn; this one reads format {FORMAT}")
    if not isinstance(name, str) or name not in MODELS:
        missing = "it names no model" if name is None else f"there is no model {name!r}"
        raise ValueError(
            f"the configuration in {folder}: {missing} among {', '.join(MODELS)}; `register(ModelSpec(...))` your "
            "own first (see seqlearn.translator.models), or build it and call "
            f"`seqlearn.training.load_weights(model, {str(file)!r})`"
        )
    source = Language.from_json(texts["source"], f"the source language in {folder}")
    target = Language.from_json(texts["target"], f"the target language in {folder}")
    try:
        spec = spec_of(name)
        config["sizes"] = spec.complete(config["sizes"])
        build = partial(spec.build, len(source.vocab), len(target.vocab), **config["sizes"])
        _check_size(build, config["sizes"], stored.tensors)
        model = build()
    except (KeyError, TypeError) as error:
        raise ValueError(f"the configuration in {folder} is damaged ({error!r})") from None
    except ValueError as error:  # there is no such model or setting, or the model does not take a value
        raise ValueError(f"the configuration in {folder}: {error}") from None
    fill(model, stored.tensors, file)
    return model, source, target, config


def _check_loadable(model: EncoderDecoder, source: Language, target: Language, config: Mapping[str, object]) -> None:
    """Refuse a model that `read_translator` could not build again.

    Raises:
        ValueError: the configuration names no registered model, or one with other weights.
    """
    name, sizes = config.get("model"), config.get("sizes")
    if not isinstance(name, str) or name not in MODELS or not isinstance(sizes, Mapping):
        raise ValueError(
            f"nothing was saved, because `load` could not build this {type(model).__name__} again: "
            '`register(ModelSpec(...))` it, and give Translator its config {"model": name, "sizes": settings} '
            "(see seqlearn.translator.models); or write the weights alone, with seqlearn.training.save_weights"
        )
    try:
        with torch.device("meta"):  # tensors with a shape and no content: no memory, no random numbers
            built = MODELS[name].build(len(source.vocab), len(target.vocab), **MODELS[name].complete(sizes))
    except (RuntimeError, NotImplementedError):  # a factory that looks at its numbers: nobody can tell
        return
    own, again = ({key: tuple(value.shape) for key, value in each.state_dict().items()} for each in (model, built))
    if wrong := [key for key in sorted(own.keys() | again.keys()) if own.get(key) != again.get(key)]:
        key = wrong[0]
        raise ValueError(
            f"nothing was saved, because the configuration describes another model: {key} would be "
            f"{again.get(key, 'missing')}, and is {own.get(key, 'missing')} ({len(wrong)} such weights of {name!r})"
        )


def _check_size(
    build: Callable[[], EncoderDecoder], settings: Mapping[str, Value], weights: Mapping[str, Tensor]
) -> None:
    """Refuse a configuration that describes a far larger model than the one whose weights are stored.

    Raises:
        ValueError: it does. No memory was taken.
    """
    layers, stored = settings.get("num_layers", 0), sum(tensor.numel() for tensor in weights.values())
    if isinstance(layers, int) and layers > len(weights):
        raise ValueError(f"num_layers is {layers}, and only {len(weights)} weights are stored")
    if is_large(settings) and (described := count_weights(build)) > 2 * stored:
        raise ValueError(f"it describes a model of {described:,} numbers, and {stored:,} are stored")
