"""The file of `seqlearn train --config`: read, and written as `run.toml` to the folder of each training."""

from __future__ import annotations

import difflib
import inspect
import json
import tomllib
from pathlib import Path
from typing import get_args

from ..runtime.ownership import OPTIONS_MARK, naming
from ..runtime.values import shown
from .options import Options, Values, checked, fault_of, parameters, refuse_without_effect, without_effect

ONLY_GIVEN = {"out", "resume", "overwrite", "config", "tensorboard"}  # options that a file cannot have


def with_config(given: set[str], values: Values) -> Values:
    """The options of the command line, then those of the file, then the defaults.

    Args:
        given: the names of the options on the command line.

    Raises:
        ValueError: the file is not TOML, or holds an unknown option, a value that the option cannot have, or
            options that contradict each other.
        OSError: the file cannot be read.
    """
    path: Path = values["config"]
    own = _read(path)
    defaults: Values = {each.name: each.default for each in parameters()}
    try:
        refuse_without_effect(own, checked(defaults | own).values)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    merged = values | {name: value for name, value in own.items() if name not in given}
    useless = without_effect(merged).keys() & own.keys() - given  # together with what is given now
    return merged | {name: defaults[name] for name in useless}


def _read(path: Path) -> Values:
    """The options that a file holds, by name."""
    try:
        with naming(path):
            found = tomllib.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:  # not UTF-8, or not TOML: then the error has line and column
        raise ValueError(f"{path} is not a TOML file: {error}") from None
    known = {_key(each): each for each in parameters() if each.name not in ONLY_GIVEN}
    for key, value in found.items():
        if key not in known:
            near = difflib.get_close_matches(key, known, 1)
            raise ValueError(f"{path}: there is no option {key}" + (f"; do you mean {near[0]}?" if near else ""))
        if fault := fault_of(value, *get_args(known[key].annotation)):
            raise ValueError(f"{path}: {key} is {fault}, not {shown(value)}")
    return {known[key].name: value for key, value in found.items()}


def _key(parameter: inspect.Parameter) -> str:
    return parameter.name.replace("_", "-")


def as_toml(options: Options) -> str:
    """The options of a training as a file for --config, under the headings of the help. Paths hold in any folder."""
    values = options.values | vars(options.data.anywhere())
    left_out = ONLY_GIVEN | without_effect(values).keys() | {name for name in values if values[name] in (None, "")}
    lines: dict[str, list[str]] = {}
    for each in parameters():
        if each.name not in left_out:
            _, option = get_args(each.annotation)
            line = f"{_key(each)} = {_as_toml(values[each.name])}"
            lines.setdefault(option.rich_help_panel or "Machine", []).append(line)
    parts = [f"\n# {heading}\n" + "\n".join(several) + "\n" for heading, several in lines.items()]
    return f"{OPTIONS_MARK}. To train once more: seqlearn train --config FILE --out FOLDER\n" + "".join(parts)


def _as_toml(value: str | float | bool) -> str:
    """A value as TOML writes it. A text is one of JSON, which leaves only one control character as it is."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
