"""The settings of a model: the fields of a frozen dataclass, its configuration, with what each of them means.

    @dataclass(frozen=True)
    class MyConfig:
        width: Annotated[int, Setting("size of the layer", least=1)] = 64

`TransformerConfig` is one. The module that uses a setting, the command line with its help, and the folder of a saved
translator read the same fields.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, get_args, get_type_hints

Value = int | float | str | bool
MOST_LAYERS = 100


@dataclass(frozen=True)
class Setting:
    """What a field of a configuration means.

    Args:
        help: the meaning, in a few words.
        option: the name on the command line, such as "hidden"; default: the name of the field.
        choices: the words that may be chosen, and the value of the field for each; default: any value of the type.
        least, most: bounds of a number.
        argument, default: the name and the default of the field. `settings_of` fills them in.
    """

    help: str
    option: str = ""
    choices: Mapping[str, Value] | None = None
    least: float | None = None
    most: float | None = None
    argument: str = ""
    default: Value = 0

    @property
    def name(self) -> str:
        """The name as an argument of Python: `embed_size` for the option --embed-size."""
        return (self.option or self.argument).replace("-", "_")

    @property
    def flag(self) -> str:
        """The name on the command line: `--embed-size`."""
        return "--" + self.name.replace("_", "-")

    def check(self, value: Value) -> None:
        """Refuse a value of another type than the default, and a number out of bounds.

        Raises:
            ValueError: the value has another type, or is out of bounds.
        """
        types = (int, float) if isinstance(self.default, float) else (type(self.default),)
        if type(value) not in types:
            raise ValueError(f"{self.argument} is {types[0].__name__}, not {value!r}")
        least = -math.inf if self.least is None else self.least
        most = math.inf if self.most is None else self.most
        if not isinstance(value, str) and not least <= value <= most:
            raise ValueError(f"{self.argument} is from {least:g} to {most:g}, not {value}")


def choices(names: Iterable[str]) -> dict[str, Value]:
    """The choices of a setting whose values are the words themselves."""
    return {name: name for name in names}


def settings_of(config: type[Any]) -> tuple[Setting, ...]:  # Any: the dataclass of any model
    """The settings of a configuration, one for each field."""
    hints = get_type_hints(config, include_extras=True)
    noted = {name: [note for note in get_args(hint) if isinstance(note, Setting)] for name, hint in hints.items()}
    return tuple(
        replace(next(iter(noted[field.name]), Setting(field.name)), argument=field.name, default=field.default)
        for field in fields(config)
    )
