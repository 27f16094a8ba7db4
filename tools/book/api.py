"""The pages of the package: one for each room of `seqlearn`, from its docstrings."""

from __future__ import annotations

import ast
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "seqlearn"
LEFT_OUT = {"__init__", "__main__", "cli", "exercises"}  # commands, checks, and what nobody imports
ELSEWHERE = {"seqlearn.nn.contract"}  # has a page of its own


def rooms() -> dict[str, list[str]]:
    """The public modules of the package by room: "nn" -> ["seqlearn.nn", "seqlearn.nn.attention", ...].

    Of a folder in a folder, such as that of a view, the module of the view alone is public: `beam/beam_view.py`.
    """
    found: dict[str, list[str]] = {}
    for path in sorted([*PACKAGE.glob("*.py"), *PACKAGE.glob("*/*.py"), *PACKAGE.glob("*/*/*_view.py")]):
        *folders, name = path.relative_to(PACKAGE).with_suffix("").parts
        room = (folders or [name])[0]
        module = ".".join(["seqlearn", *folders, *([] if folders and name == "__init__" else [name])])
        if room not in LEFT_OUT and module not in ELSEWHERE:
            found.setdefault(room, []).append(module)
    return found


def page(modules: list[str]) -> str:
    """The page of a room: its first module, and the others in sections."""
    first, *others = modules
    parts = [section(first, "="), *(section(module, "-") for module in others)]
    return "\n".join(parts)


def section(module: str, line: str, title: str | None = None) -> str:
    """What a module says, with all its public names; a package repeats none of those of its modules."""
    title = title or module
    members = "" if source_of(module).name == "__init__.py" else "   :members:\n"
    return f"{title}\n{line * len(title)}\n\n.. automodule:: {module}\n{members}"


def index(found: dict[str, list[str]]) -> str:
    """The page that lists the rooms with what they are for."""
    rows = [f"| [seqlearn.{room}]({room}.rst) | {purpose(modules[0])} |" for room, modules in found.items()]
    toctree = "\n".join(["```{toctree}", ":hidden:", "", *found, "```"])
    text = 'From the docstrings. Shapes stand in the signatures: `Float[Tensor, "batch queries keys"]`.'
    return "\n".join(
        ["# The package", "", text, "", "| module | what it is for |", "|---|---|", *rows, "", toctree, ""]
    )


def purpose(module: str) -> str:
    """The first sentence of the docstring of a module."""
    text = ast.get_docstring(ast.parse(source_of(module).read_text("utf-8"))) or ""
    return text.split("\n\n")[0].replace("\n", " ")


def source_of(module: str) -> Path:
    """The file of a module."""
    path = PACKAGE.parent.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
