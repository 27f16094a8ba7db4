"""Makes `from d2l import torch as d2l` work with today's packages, once this module has been imported.

In the environment that course.py makes it is imported whenever Python starts (`at_every_start`), so the one line is
enough. Anywhere else, `from seqlearn.d2l_compat import d2l` gives the same module, and no tool that sorts imports
can put it in the wrong order.

d2l 0.17.0 is the one release that fits today's numpy and matplotlib. Two things stand in its way: it imports
torchvision, for image chapters that this course has no use for, and it calls a function that IPython 9 no longer has.
So when `d2l.torch` is imported, an empty torchvision stands in for the time of that import, unless a real one works.
Nothing else changes: neither `sys.modules`, nor IPython, nor any program that does not import d2l.
"""

from __future__ import annotations

import importlib
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType


class _Absent(ModuleType):
    """A module that has nothing; asked for something, it says what is missing."""

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        raise AttributeError(
            f"{self.__name__}.{name} is not there: this part of d2l needs torchvision, which is absent"
        )


def _works(name: str) -> bool:
    """Whether the module can be imported. If not, what the attempt left in `sys.modules` is taken out again."""
    before = set(sys.modules)
    try:
        importlib.import_module(name)
    except Exception:  # torchvision for another torch fails with a RuntimeError or an OSError, by version
        for left in set(sys.modules) - before:
            if left.partition(".")[0] == name:
                del sys.modules[left]
        return False
    return True


@contextmanager
def _torchvision() -> Iterator[None]:
    """For the time of the block, torchvision can be imported."""
    if _works("torchvision"):
        yield
        return
    stand_in = _Absent("torchvision")
    stand_in.transforms = _Absent("torchvision.transforms")
    modules = {"torchvision": stand_in, "torchvision.transforms": stand_in.transforms}
    sys.modules.update(modules)
    try:
        yield
    finally:
        for name in modules:
            sys.modules.pop(name, None)


def _use_svg_display() -> None:
    """Show figures as SVG (d2l.use_svg_display, by the name that the function has had since IPython 8)."""
    from matplotlib_inline.backend_inline import set_matplotlib_formats

    set_matplotlib_formats("svg")


class _Loader(SourceFileLoader):
    def exec_module(self, module: ModuleType) -> None:
        with _torchvision():
            super().exec_module(module)
        module.use_svg_display = _use_svg_display


class _Finder(MetaPathFinder):
    """Hands `d2l.torch`, and nothing else, to the loader above."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path) if name == "d2l.torch" else None
        return spec and spec_from_file_location(name, spec.origin, loader=_Loader(name, spec.origin))


def at_every_start(folder: str | None = None) -> Path:
    """Have every Python of this environment import this module when it starts, by a `.pth` file in its site-packages.

    Args:
        folder: site-packages, unless given. The file sorts after those by which pip makes seqlearn importable.
    """
    path = Path(folder or sysconfig.get_path("purelib"), "seqlearn-d2l.pth")
    path.write_text(f"import {__name__}\n", encoding="ascii")
    return path


def __getattr__(name: str) -> ModuleType:
    """`from seqlearn.d2l_compat import d2l` gives `d2l.torch`; it is imported then, not before."""
    if name == "d2l":
        return importlib.import_module("d2l.torch")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


sys.meta_path.insert(0, _Finder())
