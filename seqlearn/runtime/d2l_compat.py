"""Importing this module makes `from d2l import torch as d2l` work with current packages.

With `from seqlearn.runtime.d2l_compat import d2l`, no tool that sorts imports can put the two lines in the wrong order.

d2l 0.17.0 is the only release that fits current versions of numpy and matplotlib. Two things stand in its way: it
imports torchvision, for image chapters that this course does not use, and it calls a function that IPython 9 no longer
has. So while `d2l.torch` is being imported, an empty module stands in for torchvision, unless a working torchvision is
installed. Nothing else changes: neither `sys.modules`, nor IPython, nor any program that does not import d2l.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import spec_from_file_location
from types import ModuleType
from typing import Any


class _Absent(ModuleType):
    """A module without contents. Access to an attribute raises an error that says what is missing."""

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        raise AttributeError(
            f"{self.__name__}.{name} is not there: this part of d2l needs torchvision, which is absent"
        )


def _works(name: str) -> bool:
    """Whether a module can be imported. A failed attempt leaves nothing in `sys.modules`."""
    before = set(sys.modules)
    try:
        importlib.import_module(name)
    except Exception:  # a torchvision for another torch raises a RuntimeError or an OSError, depending on its version
        for added in set(sys.modules) - before:
            if added.partition(".")[0] == name:
                del sys.modules[added]
        return False
    return True


@contextmanager
def _torchvision() -> Iterator[None]:
    """Within the block, torchvision can be imported."""
    if _works("torchvision"):
        yield
        return
    modules = {name: _Absent(name) for name in ("torchvision", "torchvision.transforms")}
    vars(modules["torchvision"])["transforms"] = modules["torchvision.transforms"]
    sys.modules.update(modules)
    try:
        yield
    finally:
        for name in modules:
            sys.modules.pop(name, None)


def _use_svg_display() -> None:
    """Show figures as SVG: d2l.use_svg_display, with the function that IPython has had for this since version 8."""
    from matplotlib_inline.backend_inline import set_matplotlib_formats

    set_matplotlib_formats("svg")


class _Loader(SourceFileLoader):
    """Loads `d2l.torch` with a torchvision to import, and replaces its function for SVG."""

    def exec_module(self, module: ModuleType) -> None:
        with _torchvision():
            super().exec_module(module)
        vars(module)["use_svg_display"] = _use_svg_display


class _Finder(MetaPathFinder):
    """Hands `d2l.torch`, and no other module, to the loader above."""

    def find_spec(
        self,
        name: str,
        path: Any = None,  # a Sequence[str], as far as its type goes; the path of a package without a file is none
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path) if name == "d2l.torch" else None
        if spec is None or spec.origin is None:
            return None
        return spec_from_file_location(name, spec.origin, loader=_Loader(name, spec.origin))


def __getattr__(name: str) -> ModuleType:
    """`from seqlearn.runtime.d2l_compat import d2l` gives `d2l.torch`, imported at that moment and not before."""
    if name == "d2l":
        return importlib.import_module("d2l.torch")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


sys.meta_path.insert(0, _Finder())
