"""The folder of a translator: its weights, both languages and the configuration are one file, which nothing can mix.

A folder of an older seqlearn (format 1) has a file for each of them. Such a folder can be read, and is not written.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from torch import Tensor

from .data.text import Language
from .models import Value, count_weights, is_large, spec_of
from .nn.contract import EncoderDecoder
from .training.storage import fill, read_file, weights_of, write_file

FORMAT = 2
MODEL = "model.safetensors"  # the file


def write_translator(
    folder: str | Path, model: EncoderDecoder, source: Language, target: Language, config: dict
) -> None:
    """Write a translator to a folder, in place of an older one. Args and Raises: see `Translator` and its `save`."""
    folder, config = Path(folder), {"format": FORMAT, **config}
    texts = {"config": json.dumps(config), "source": source.to_json(), "target": target.to_json()}
    write_file(folder / MODEL, weights_of(model), texts)
    for name in ("source.json", "target.json"):  # of a translator in format 1
        (folder / name).unlink(missing_ok=True)
    text = json.dumps(config, indent=2, ensure_ascii=False) + "\n"
    (folder / "config.json").write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")


def read_translator(folder: str | Path) -> tuple[EncoderDecoder, Language, Language, dict]:
    """The model (on the CPU), both languages and the configuration in a folder. Raises: see `Translator.load`."""
    folder = Path(folder)
    file = folder / MODEL
    if not file.is_file():
        raise FileNotFoundError(f"{folder} holds no translator: there is no {MODEL} in it")
    stored = read_file(file)
    if "config" in stored.texts and not stored.checked:
        raise ValueError(f"{file} is damaged: it has no checksum")
    texts = stored.texts if "config" in stored.texts else _texts_of_format_1(folder)
    try:
        config = json.loads(texts["config"])
        written, name, sizes = config.pop("format", None), config["model"], config["sizes"]
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError) as error:
        raise ValueError(f"the configuration in {folder} is damaged ({error!r})") from None
    if written not in (1, FORMAT):
        raise ValueError(f"{folder} was written by another version of seqlearn; this one reads format {FORMAT}")
    source = Language.from_json(texts["source"], f"the source language in {folder}")
    target = Language.from_json(texts["target"], f"the target language in {folder}")
    try:
        spec = spec_of(name)
        config["sizes"] = spec.complete(sizes)
        build = partial(spec.build, len(source.vocab), len(target.vocab), **config["sizes"])
        _check_size(build, config["sizes"], stored.tensors)
        model = build()
    except (KeyError, TypeError) as error:
        raise ValueError(f"the configuration in {folder} is damaged ({error!r})") from None
    except ValueError as error:  # there is no such model or setting, or the model does not take a value
        raise ValueError(f"the configuration in {folder}: {error}") from None
    fill(model, stored.tensors, file)
    if not stored.checked:
        warnings.warn(
            f"{folder} was written by an older seqlearn, without a checksum: if it is damaged, nobody can tell. "
            "`Translator.load` and `save` write it anew",
            stacklevel=3,
        )
    return model, source, target, config


def _texts_of_format_1(folder: Path) -> dict[str, str]:
    """Configuration and languages of a folder in which they are files of their own."""
    try:
        return {name: (folder / f"{name}.json").read_text(encoding="utf-8") for name in ("config", "source", "target")}
    except FileNotFoundError as error:
        missing = Path(str(error.filename)).name
        raise FileNotFoundError(f"{folder} holds no translator: there is no {missing} in it") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"{folder} holds no translator, or a damaged one ({error})") from None


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
