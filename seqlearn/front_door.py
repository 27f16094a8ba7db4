"""Front doors: a package offers names of its modules, and imports a module only when one of its names is used."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


def front_door(package: str, rooms: Mapping[str, str]) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """The functions `__getattr__` and `__dir__` of a package whose names are imported when they are used.

    Args:
        package: its `__name__`.
        rooms: a module, relative to the package (".batches", "..pairs") -> its names, separated by spaces.
    """
    room_of = {name: room for room, names in rooms.items() for name in names.split()}

    def import_name(name: str) -> object:
        if name not in room_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(room_of[name], package), name)

    return import_name, lambda: sorted({*vars(sys.modules[package]), *room_of})
