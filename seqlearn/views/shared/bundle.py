"""Many JavaScript modules as one script: what a notebook, a page and a worker need, without any other file.

The files of the views are ES modules with relative paths and named imports, as browsers, editors and type checkers know
them. Two modules are written here: `colours.js` and `constants.js` hold what Python and the browser share, and only
their types are files. In a bundle each module is a function of its own that is called once and returns its exports, so
that the names of two modules never meet. Only the forms that the files use are understood; all others are refused.
"""

from __future__ import annotations

import json
import os
import re
from functools import cache
from pathlib import Path

from . import colours, constants

IMPORT = re.compile(r'^import \{([\w\s,]+)\} from "(\.[^"]*\.js)";$', re.MULTILINE)
EXPORT = re.compile(r"^export (?=(?:async function|function|class|const) (\w+))", re.MULTILINE)
COMMENT = re.compile(r"^ *(?:/\*\*(?:(?!\*/).)*\*/|//[^\n]*)\n", re.MULTILINE | re.DOTALL)  # in lines of its own
SHARED = Path(__file__).parent
OTHER = re.compile(r"^(?:import|export)\b.*|\bimport\(.*", re.MULTILINE)  # after the forms above were taken out


def bundle(main: str, folder: Path) -> str:
    """The script `main` with all modules that it needs, each once, before the first that imports it.

    Args:
        main: its imports are relative to `folder`. It stays outside of all functions, and may export.

    Raises:
        ValueError: a module imports or exports in another form, what it imports does not exist, or modules import each
            other in a circle.
    """
    used = imports(main, folder)
    modules = "".join(_function(module) for module in modules_of(used))
    return modules + IMPORT.sub(lambda found: _taken(found, folder), main)


def imports(text: str, folder: Path) -> list[Path]:
    """The modules that a script imports, in its order; its paths are relative to `folder`."""
    return [Path(os.path.normpath(folder / found[2])) for found in IMPORT.finditer(text)]


def modules_of(entries: list[Path]) -> list[Path]:
    """These modules and all that they need, each once, before the first that imports it."""
    found: dict[Path, None] = {}

    def visit(module: Path, way: tuple[Path, ...]) -> None:
        if module in way:
            raise ValueError(f"modules import each other: {' -> '.join(one.name for one in (*way, module))}")
        if module not in found:
            for one in imports(text_of(module), module.parent):
                visit(one, (*way, module))
            found[module] = None

    for entry in entries:
        visit(entry, ())
    return list(found)


def text_of(module: Path) -> str:
    """The text of a module: a file, or constants of Python."""
    if module in (SHARED / "colours.js", SHARED / "constants.js"):
        return of_python(module.stem)
    if not module.is_file():
        raise ValueError(f"there is no module {module}")
    return module.read_text("utf-8")


@cache
def of_python(name: str) -> str:
    """The module with the constants of `colours.py` or `constants.py`."""
    values = colours.for_browser() if name == "colours" else {k: v for k, v in vars(constants).items() if k.isupper()}
    return "".join(f"export const {k} = {json.dumps(v, separators=(',', ':'))};\n" for k, v in values.items())


def _function(module: Path) -> str:
    """A module as a constant, an object with its exports. Comments in lines of their own are left out: types, too."""
    text = text_of(module)
    code = EXPORT.sub("", IMPORT.sub(lambda found: _taken(found, module.parent), text))
    if other := OTHER.search(code):
        raise ValueError(f"{module.name}: a bundle does not understand {other[0]!r}")
    names = ", ".join(EXPORT.findall(text))
    return f"const {_name(module)} = (() => {{\n{COMMENT.sub('', code)}return {{ {names} }};\n}})();\n"


def _taken(found: re.Match[str], folder: Path) -> str:
    """What replaces an import: names that are taken from the object of a module."""
    (module,) = imports(found[0], folder)
    pairs = [name.split(" as ") for name in re.split(r"\s*,\s*", found[1].strip().rstrip(","))]
    if missing := {name for name, *_ in pairs} - set(EXPORT.findall(text_of(module))):
        raise ValueError(f"{module.name} has no export {', '.join(sorted(missing))}")
    return f"const {{ {', '.join(': '.join(pair) for pair in pairs)} }} = {_name(module)};"


def _name(module: Path) -> str:
    """The constant of a module: its folder and its name, as in `shared_base`."""
    return re.sub(r"\W", "_", f"{module.parent.name}_{module.stem}")
