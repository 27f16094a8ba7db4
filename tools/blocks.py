"""Translations of the lessons: read them, find what is missing or stale, and make the translated lesson.

    python3 -m tools.blocks zh 04          add to translations/zh/04.md what is missing, and list what is stale
    python3 -m tools.blocks zh glossary    the same for the glossary

A translation is a Markdown file with one block for each Markdown cell of the lesson. A block begins with a heading
line, which holds the id of the cell and the first 12 hexadecimal digits of the SHA-256 of its English text:

    <!-- l04-01 sha256:1a2b3c4d5e6f -->

A new block holds its English as a comment, which the translation replaces. The glossary is one block with the id
`glossary`. Code and outputs are never translated: they come from the lesson.
"""
# Only the standard library and the syntax of Python 3.8: course.py imports this file with the Python of the user.

from __future__ import annotations

import argparse
import copy
import hashlib
import json
import re
import sys
from pathlib import Path

from tools.languages import LANGUAGES

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "translations"
HEADING = re.compile(r"<!-- (\S+) sha256:([0-9a-f]{12}) -->")
EXAMPLE = "<!-- l04-01 sha256:1a2b3c4d5e6f -->"
TO_DO = "<!-- English, to be translated:"  # the first line of a block that the command added


class BadTranslation(ValueError):
    """A translation that cannot be used: one sentence with the file and the line."""


def digest(english: str) -> str:
    """The first 12 hexadecimal digits of the SHA-256 of an English text."""
    return hashlib.sha256(english.encode("utf-8")).hexdigest()[:12]


def languages(folder: Path = FOLDER) -> dict[str, dict[str, Path]]:
    """The translated lessons of each language: {"zh": {"00": the path of translations/zh/00.md, ...}}.

    Raises `BadTranslation` for a language whose words nobody has given to `tools/languages.py`.
    """
    found: dict[str, dict[str, Path]] = {}
    for path in sorted(folder.glob("*/[0-9][0-9].md")):
        if path.parent.name not in LANGUAGES:
            raise BadTranslation(f"{path.parent} is a language without words: give it an entry in tools/languages.py.")
        found.setdefault(path.parent.name, {})[path.stem] = path
    return found


def read(path: Path) -> dict[str, tuple[str, str]]:
    """The blocks of a file, in its order: {cell id: (hash, text)}; the text is empty where only the English stands.

    Raises `BadTranslation` for a line that should be a heading and is not, a cell with two blocks, text before the
    first block, and a file that is not UTF-8.
    """
    try:
        lines = path.read_text("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise BadTranslation(f"{path}: this file is not UTF-8 (byte {error.start}): save it as UTF-8.") from error
    hashes: dict[str, str] = {}
    texts: dict[str, list[str]] = {}
    cell = ""
    for number, line in enumerate(lines, start=1):
        heading = HEADING.fullmatch(line.rstrip())
        if heading:
            cell = heading[1]
            if cell in hashes:
                raise BadTranslation(f"{path}, line {number}: cell {cell} has two blocks: join them.")
            hashes[cell], texts[cell] = heading[2], []
        elif line.startswith("<!--") and line != TO_DO:
            raise BadTranslation(f"{path}, line {number}: {line!r} is not a heading such as {EXAMPLE!r}.")
        elif cell:
            texts[cell].append(line)
        elif line.strip():
            raise BadTranslation(f"{path}, line {number}: text before the first heading, such as {EXAMPLE!r}.")
    whole = {cell: "" if text[:1] == [TO_DO] else "\n".join(text).strip() for cell, text in texts.items()}
    return {cell: (hashes[cell], text) for cell, text in whole.items()}


def english_texts(notebook: dict) -> dict[str, str]:
    """The text of each Markdown cell of a notebook, as nbformat stores it: {cell id: text}."""
    return {cell["id"]: "".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "markdown"}


def report(notebook: dict, blocks: dict[str, tuple[str, str]]) -> tuple[list[str], list[str], list[str]]:
    """The ids of the cells without translation, of those whose English has changed, and of blocks without a cell."""
    texts = english_texts(notebook)
    missing = [cell for cell in texts if not blocks.get(cell, ("", ""))[1]]
    stale = [cell for cell, text in texts.items() if cell not in missing and blocks[cell][0] != digest(text)]
    return missing, stale, [cell for cell in blocks if cell not in texts]


def marked(english: str, mark: str) -> str:
    """An English text with a line that says why it is English, below its heading if it begins with one."""
    title, rest = "", english
    if english.startswith("#"):
        title, _, rest = english.partition("\n")
        title += "\n\n"
    return f"{title}> {mark}\n\n{rest.lstrip()}".rstrip()


def translated(notebook: dict, blocks: dict[str, tuple[str, str]], language: str = "zh") -> dict:
    """A copy of a notebook in another language: the text from `blocks`, code and outputs from the notebook.

    A cell whose block is missing or stale shows the English, with a line in the language of the reader that says so.
    """
    missing, stale, _ = report(notebook, blocks)
    words = LANGUAGES[language]
    result = copy.deepcopy(notebook)
    for cell in result["cells"]:
        if cell["cell_type"] != "markdown":
            continue
        text = "".join(cell["source"])
        if cell["id"] in missing:
            text = marked(text, words.missing)
        elif cell["id"] in stale:
            text = marked(text, words.stale)
        else:
            text = blocks[cell["id"]][1]
        cell["source"] = text.splitlines(keepends=True) if isinstance(cell["source"], list) else text
    return result


def original(name: str, root: Path = ROOT) -> dict:
    """The English of a translation: the notebook of a lesson, or the glossary as a notebook with one cell."""
    if name == "glossary":
        text = (root / "assets" / "glossary.md").read_text("utf-8")
        return {"cells": [{"cell_type": "markdown", "id": "glossary", "source": text}]}
    path = next((root / "notebooks").glob(f"{name}-*.ipynb"), None)
    if path is None:
        raise BadTranslation(f"There is no lesson {name}: give a number such as 04, or glossary.")
    return json.loads(path.read_text("utf-8"))


def add_missing(path: Path, notebook: dict) -> list[str]:
    """Write into the file a block for each cell that has none, with its English as a comment; return their ids.

    What stands in the file is kept, letter by letter; a new block comes after the block of the cell before it.
    """
    old = path.read_text("utf-8-sig") if path.exists() else ""
    written = read(path) if path.exists() else {}
    parts = re.split(f"(?m)^(?={HEADING.pattern.replace('(', '(?:')})", old)
    texts = dict(zip(["", *written], parts))  # noqa: B905  an old Python has no strict=
    order, before = list(texts), ""
    added = []
    for cell, english in english_texts(notebook).items():
        if cell not in texts:
            order.insert(order.index(before) + 1, cell)
            texts[cell] = f"<!-- {cell} sha256:{digest(english)} -->\n{TO_DO}\n{english.strip()}\n-->\n\n"
            added.append(cell)
        before = cell
    if added:
        texts = {cell: text if text.endswith("\n") or not text else text + "\n" for cell, text in texts.items()}
        from tools.beside import write  # here: course.py reads translations before anything is installed

        path.parent.mkdir(parents=True, exist_ok=True)
        write(path, "".join(texts[cell] for cell in order).encode("utf-8"))  # with the same line ends everywhere
    return added


def main(arguments: list[str]) -> int:
    """Carry out the command of a translator, or say in one sentence why not. Return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("language", help="the name of a folder in translations/, such as zh")
    parser.add_argument("lesson", help="its number, such as 04, or glossary")
    options = parser.parse_args(arguments)
    name = options.lesson if options.lesson == "glossary" else options.lesson.zfill(2)
    path = FOLDER / options.language / f"{name}.md"
    try:
        notebook = original(name)
        added = add_missing(path, notebook)
        missing, stale, orphaned = report(notebook, read(path))
    except BadTranslation as error:
        print(error, file=sys.stderr)
        return 1
    except OSError as error:
        print(f"{error.filename}: {error.strerror}" if error.filename else error, file=sys.stderr)
        return 1
    print(f"{path}: {len(added)} blocks added; to translate: {', '.join(missing) or 'nothing'}")
    texts = english_texts(notebook)
    for cell in stale:
        heading = f"<!-- {cell} sha256:{digest(texts[cell])} -->"
        print(f"{cell} is stale: change its translation, then its heading to {heading}")
    for cell in orphaned:
        print(f"{cell} is orphaned: the lesson has no such cell")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
