"""Build the book: `python3 course.py book` writes the whole course as a web site, in the folder site/.

The site opens from a file, without a network and without Python. Notebooks are not run: the book has the outputs that
they store.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sys
import tempfile
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from string import Template

from sphinx.cmd.build import build_main

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(ROOT))

import api  # noqa: E402 (after the path)
from lessons import Lesson, framed, lessons  # noqa: E402 (after the path)
from mend import mend  # noqa: E402 (after the path)
from seqlearn.views.stored import shared_files  # noqa: E402 (after the path)

PAGES = ["assets/glossary.md", "benchmarks/RESULTS.md", "classroom/TEACHERS.md"]  # as far as they exist
FORMULAS = ["tex-mml-chtml.js", "output/chtml/fonts/woff-v2"]  # of MathJax 3.2.2; other parts are loaded on demand only
LINK = re.compile(r"\]\(([^)#:\s]+)")


def main() -> str | None:
    """Build the book. Return why not, in one sentence, or None."""
    parser = argparse.ArgumentParser(prog="course.py book", description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "site", help="the folder to write (default: site)")
    out = parser.parse_args().out.absolute()
    if out.exists() and not (out / "searchindex.js").exists():
        return f"{out} exists and is no book: name a new folder, or delete this one."
    out.parent.mkdir(parents=True, exist_ok=True)
    course = lessons()
    with tempfile.TemporaryDirectory(prefix=".book-", dir=out.parent) as folder:
        source, site = Path(folder, "source"), Path(folder, "site")
        write_source(source, course)
        if build_main(["-b", "html", "-W", "--keep-going", "-q", str(source), str(site)]):
            return "The book was not built: see the warnings above."
        shutil.rmtree(site / ".doctrees")
        mend(site)
        write_views(site / "views", course)
        if out.exists():
            out.rename(Path(folder, "old"))
        site.rename(out)
    print(f"The book: {out / 'index.html'}")
    return None


def write_source(source: Path, course: Sequence[Lesson]) -> None:
    """Write everything that Sphinx reads: pages with their pictures, settings, scripts, and what is copied as it is."""
    shutil.copytree(HERE / "static", source / "static")
    shutil.copy(HERE / "conf.py", source)
    formulas = Path(str(files("sphinx-mathjax-offline"))) / "static" / "mathjax"
    for name in FORMULAS:
        copy(formulas / name, source / "static" / "mathjax" / name)
    for lesson in course:
        notebook, pictures = lesson.page()
        write(source / f"{lesson.target}.ipynb", json.dumps(notebook))
        for name, content in pictures.items():
            write(source / "extra" / name, content)
        for cell in notebook["cells"]:
            if cell["cell_type"] == "markdown":
                copy_linked("".join(cell["source"]), lesson.original.parent, source)
    for name in PAGES:
        if (ROOT / name).exists():
            copy(ROOT / name, source / name)
            copy_linked((ROOT / name).read_text("utf-8"), (ROOT / name).parent, source)
    rooms = api.rooms()
    for room, modules in rooms.items():
        write(source / "api" / f"{room}.rst", api.page(modules))
    write(source / "api" / "index.md", api.index(rooms))
    write(source / "contract.rst", api.section("seqlearn.nn.contract", "=", "A model of your own: the contract"))
    write(source / "index.md", front_page(course))


def write_views(folder: Path, course: Sequence[Lesson]) -> None:
    """Write the documents of all frames, and what they share."""
    frames = [frame for lesson in course for frame in lesson.frames.values()]
    for name, content in [*shared_files().items(), *((frame.name, frame.html) for frame in frames)]:
        write(folder / name, content)


def front_page(course: Sequence[Lesson]) -> str:
    """The first page: the live translator, the lessons with their minutes, and how to get the course."""
    rows, toctree = [], []
    for lesson in course:
        title, more = lesson.heading()
        minutes, exercises = lesson.minutes()
        rows.append(f"| [{title}]({lesson.target}.ipynb) | {more} | {minutes} | {exercises or ''} |")
        toctree.append(f"{title} <{lesson.target}>")
    live = [frame for lesson in course for frame in lesson.frames.values() if frame.live]
    titles = {
        "assets/glossary.md": "Glossary",
        "benchmarks/RESULTS.md": "Results",
        "classroom/TEACHERS.md": "For teachers",
    }
    there = [f"{title} <{name.removesuffix('.md')}>" for name, title in titles.items() if (ROOT / name).exists()]
    return Template((HERE / "index.md").read_text("utf-8")).substitute(
        view=framed(live[0], "") if live else "",
        lessons="\n".join(["| lesson | what it is about | minutes | exercises |", "|---|---|--:|--:|", *rows]),
        toctree="\n".join(toctree),
        reference="\n".join([*there, "The contract <contract>", "The package <api/index>"]),
    )


def copy_linked(text: str, folder: Path, source: Path) -> None:
    """Copy what a Markdown text in `folder` of the course links to, to the same place in the source of the book."""
    for target in {(folder / name).resolve() for name in LINK.findall(text)}:
        place = source / target.relative_to(ROOT)
        if target.is_file() and not place.exists():
            copy(target, place)


def copy(path: Path, place: Path) -> None:
    """Copy a file or a folder, and make the folders above it."""
    place.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir():
        shutil.copytree(path, place)
    else:
        shutil.copy(path, place)


def write(path: Path, content: str | bytes) -> None:
    """Write a file, and make the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)


if __name__ == "__main__":
    sys.exit(main())
