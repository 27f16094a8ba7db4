"""Build the book: `python3 course.py book` writes the whole course as a web site, in the folder site/.

The site opens from a file, without a network and without Python. Notebooks are not run: the book has the outputs that
they store.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import shutil
import sys
from collections.abc import Sequence
from functools import cache
from html import escape
from importlib.resources import files
from itertools import starmap
from pathlib import Path
from string import Template

from bs4 import BeautifulSoup
from sphinx.cmd.build import build_main

from seqlearn.translator.translator import Translator
from seqlearn.views import RiddleView, TranslatorView
from seqlearn.views.gallery import all_views, gallery, guided
from seqlearn.views.stored import Framed, document, shared_files
from tools import blocks
from tools.beside import OLD, beside, of_caller, sentence_for_errors
from tools.book import api
from tools.book.lessons import Lesson, framed, lessons
from tools.book.mend import mend
from tools.languages import LANGUAGES

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]

PAGES = {  # as far as they exist
    "assets/glossary": "Glossary",
    "docs/READING": "To read more",
    "docs/TEACHERS": "For teachers",
    "docs/COMMANDS": "The command line",
    "docs/ANYWHERE": "On other machines",
    "docs/RESULTS": "Results",
    "docs/DECISIONS": "Decisions",
}
FORMULAS = ["tex-mml-chtml.js", "output/chtml/fonts/woff-v2"]  # of MathJax 3.2.2; other parts are loaded on demand only
FILES = ".files.json"  # the files of a book, with their checksums: a newer book replaces nothing else
REAL = "real-sentences.html"  # a page with the translator of real sentences, to which the first page leads
GALLERY = "all-views.html"  # a page with one view of each kind, the first link of the first page
CODE = re.compile(r"(```.*?```|`[^`\n]*`)", re.DOTALL)
LESSON = re.compile(r"\]\(((?:more/)?\d\d-[\w-]+)\.ipynb")
LINK = re.compile(r"(?P<image>!?)\[(?P<words>[^]]*)\]\((?P<target>[^)#:\s]+)(?:#[^)\s]*)?\)")


@sentence_for_errors
def main() -> str | None:
    """Build the book. Return why not, in one sentence, or None."""
    parser = argparse.ArgumentParser(prog="course.py book", description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "site", help="the folder to write (default: site)")
    out = of_caller(parser.parse_args().out)
    if refused := not_ours(out):
        return refused
    course = lessons()
    with beside(out) as folder:
        if refused := not_ours(out):  # again: a killed build may have left a book without its name
            return refused
        source, site = Path(folder, "source"), Path(folder, "site")
        write_source(source, course)
        if build_main(["-b", "html", "-W", "--keep-going", "-q", str(source), str(site)]):
            return "The book was not built: see the warnings above."
        shutil.rmtree(site / ".doctrees")
        mend(site, blocks.languages())
        write(site / "_static" / "excerpts.js", excerpts(site))
        write_views(site / "views", course)
        write(site / ".nojekyll", "")  # else GitHub Pages leaves out the folders that begin with an underscore
        return put_in_place(site, out, folder / OLD)


def put_in_place(site: Path, out: Path, old: Path) -> str | None:
    """Give a finished site its list of files and its name; an older book becomes `old`. Returns why not, or None."""
    write(site / FILES, json.dumps(checksums(site), indent=0))
    if refused := not_ours(out):  # again: it may have changed while the book was built
        return refused
    if out.exists():
        out.rename(old)
    try:
        site.rename(out)
    except OSError as error:
        if old.exists() and not out.exists():
            old.rename(out)
        return f"{out} cannot be written: {error}"
    print(f"The book: {out / 'index.html'}")
    return None


def checksums(site: Path) -> dict[str, str]:
    """The files of a book, but for their list, with their checksums."""
    found = [path for path in sorted(site.rglob("*")) if path.is_symlink() or not path.is_dir()]
    files = {path.relative_to(site).as_posix(): path for path in found}
    return {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in files.items() if name != FILES}


def not_ours(out: Path) -> str | None:
    """Why a folder may not be replaced: only a book, to which nobody has added anything. None: it may."""
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return None
    try:
        listed = json.loads((out / FILES).read_bytes()).items()
        found = checksums(out).items()
    except (OSError, ValueError, AttributeError):
        return f"{out} exists and is not a book: name a new folder, or delete this one."
    others = sorted(name for name, _ in found - listed)
    return f"{out} holds {others[0]}, which is not of the book, or was changed: move it away." if others else None


def write_source(source: Path, course: Sequence[Lesson]) -> None:
    """Write everything that Sphinx reads: pages with their pictures, settings, scripts, and what is copied as it is."""
    shutil.copytree(HERE / "static", source / "static")
    shutil.copy(HERE / "conf.py", source)
    formulas = Path(str(files("sphinx-mathjax-offline"))) / "static" / "mathjax"
    for name in FORMULAS:
        copy(formulas / name, source / "static" / "mathjax" / name)
    for lesson in course:
        notebook, pictures = lesson.page()
        for cell in notebook["cells"]:
            if cell["cell_type"] == "markdown":
                text = linked("".join(cell["source"]), lesson.original.parent, source)
                cell["source"] = to_lessons(text, lesson, course)
        write(source / f"{lesson.target}.ipynb", json.dumps(notebook))
        for name, content in pictures.items():
            write(source / "extra" / name, content)
    for name in texts():
        path = ROOT / f"{name}.md"
        write(source / f"{name}.md", linked(path.read_text("utf-8"), path.parent, source))
    rooms = api.rooms()
    for room, modules in rooms.items():
        write(source / "api" / f"{room}.rst", api.page(modules))
    write(source / "api" / "index.md", api.index(rooms))
    write(source / "contract.rst", api.section("seqlearn.nn.contract", "=", "A model of your own: the contract"))
    write(source / "index.md", front_page(course))


def to_lessons(text: str, lesson: Lesson, course: Sequence[Lesson]) -> str:
    """A text of a lesson whose links to other lessons lead to pages of its language, or else to English ones."""
    folder, pages = lesson.target.rpartition("/")[0], {one.target for one in course}

    def there(link: re.Match[str]) -> str:
        return link[0] if f"{folder}/{link[1]}" in pages else f"](../notebooks/{link[1]}.ipynb"

    return LESSON.sub(there, text)


def write_views(folder: Path, course: Sequence[Lesson]) -> None:
    """Write the documents of all frames, and what they share."""
    frames = [first_riddle(), first_view(), *(frame for lesson in course for frame in lesson.frames.values())]
    for name, content in [*shared_files().items(), *((frame.name, in_book(frame.html)) for frame in frames)]:
        write(folder / name, content)
    TranslatorView(Translator.pretrained("tatoeba")).to_html(folder / REAL)
    write(folder / GALLERY, in_book(with_links(gallery(all_views()), course)))


def in_book(page: str) -> str:
    """A page in the folder of the views that names the folder of the book: see book.js of the views."""
    return page.replace("<title>", '<meta name="book" content="../">\n<title>', 1)


def with_links(page: str, course: Sequence[Lesson]) -> str:
    """A page of views whose texts lead to their lessons ("Lessons 07 and 09."), and whose heading leads to the book."""
    targets = {
        lesson.target.split("/")[-1][:2]: lesson.target
        for lesson in course
        if f"notebooks/{lesson.original.stem}" == lesson.target
    }

    def linked(found: re.Match[str]) -> str:
        return f'<a href="../{targets[found[1]]}.html">{found[0]}</a>'

    numbers = re.compile(r"Lessons? \d\d[\d, and]*\.</p>")
    page = numbers.sub(lambda found: re.sub(r"(?:Lessons? )?(\d\d)", linked, found[0]), page)
    pages = {"../index.html": "The course", REAL: "A translator of real sentences (7 MB)"}
    ways = "".join(f'<a href="{address}">{name}</a> · ' for address, name in pages.items())
    return page.replace("</h1>\n<p>", f"</h1>\n<p>{ways}", 1)


def excerpts(site: Path) -> str:
    """The script of the search page that has the text of each page: one opened from a file may not read the others."""
    texts = {}
    for path in sorted(site.rglob("*.html")):
        main = BeautifulSoup(path.read_text("utf-8"), "html.parser").select_one("article[role=main]")
        for part in main.select("script, style, .headerlink, details.hide") if main else ():
            part.decompose()
        if main:
            words = " ".join(main.get_text(" ").split())
            texts[f"./{path.relative_to(site).as_posix()}"] = f'<p role="main">{escape(words, quote=False)}</p>'
    listed = json.dumps(texts, ensure_ascii=False)
    return f"const TEXTS = {listed};\nwindow.fetch = async (page) => ({{ text: async () => TEXTS[page] }});\n"


def front_page(course: Sequence[Lesson]) -> str:
    """The first page: the live translator, the lessons with their minutes, and how to get the course."""
    rows = []
    for lesson in course:
        title, more = lesson.heading()
        if lesson.language == "en" and not lesson.is_more:
            minutes, exercises = lesson.minutes()
            about = f": {more}" if more else ""
            rows.append(f"| [{title}]({lesson.target}.ipynb){about} | {minutes} | {exercises or ''} |")
    firsts = {lesson.language: lesson for lesson in reversed(course)}
    others = [f"[{LANGUAGES[language].name}]({firsts[language].target}.ipynb)" for language in blocks.languages()]
    lists = {LANGUAGES[language].name: contents(course, language) for language in blocks.languages()}
    lists["Beyond the lessons"] = [f"{one.heading()[0]} <{one.target}>" for one in course if one.is_more]
    lists["Look it up"] = [f"{PAGES[name]} <{name}>" for name in texts() if name in PAGES]
    lists["Look it up"] += ["A model of your own <contract>", "The package (API) <api/index>"]
    return Template((HERE / "index.md").read_text("utf-8")).substitute(
        riddle=framed(first_riddle(), ""),
        view=framed(first_view(), ""),
        real=REAL,
        gallery=GALLERY,
        others=" · ".join(["", *others]),
        lessons="\n".join(["| lesson | minutes | minutes for exercises |", "|---|--:|--:|", *rows]),
        toctrees="\n".join(starmap(toctree, ({"Lessons": contents(course, "en")} | lists).items())),
    )


@cache
def first_riddle() -> Framed:
    """The riddle at the top of the first page."""
    record = RiddleView(Translator.pretrained("transformer")).record()
    return Framed("riddle.html", record["title"], document(record), height=400, live=False)


@cache
def first_view() -> Framed:
    """The live translator of the first page, with a sentence that the model knows."""
    record = guided(Translator.pretrained("transformer")).record()
    return Framed("first.html", record["title"], document(record), height=1270, live=True)


def contents(course: Sequence[Lesson], language: str) -> list[str]:
    """The lessons in a language, and its glossary if it has one of its own, as a table of contents lists them."""
    ours = (lesson for lesson in course if lesson.language == language and not lesson.is_more)
    pages = [f"{lesson.heading()[0]} <{lesson.target}>" for lesson in ours]
    return pages + [name for name in texts() if name.startswith(f"translations/{language}/")]


def texts() -> list[str]:
    """The pages that are Markdown files of the course: those of `PAGES`, and the translated glossaries."""
    names = [*PAGES, *(f"translations/{language}/glossary" for language in blocks.languages())]
    return [name for name in names if (ROOT / f"{name}.md").exists()]


def toctree(caption: str, pages: Sequence[str]) -> str:
    """A part of the table of contents, shown beside each page."""
    return "\n".join(["```{toctree}", ":hidden:", f":caption: {caption}", "", *pages, "```", ""])


def linked(text: str, folder: Path, source: Path) -> str:
    """A Markdown text of `folder` with links that the book can keep.

    Pictures are copied. What else the course has, and the book has not, such as a source file, loses its link.
    """

    def kept(match: re.Match[str]) -> str:
        target = (folder / match["target"]).resolve()
        if ROOT not in target.parents or not target.exists():
            return match[0]  # Sphinx will complain
        name = target.relative_to(ROOT)
        if match["image"]:
            copy(target, source / name)
        is_page = name.suffix == ".ipynb" or name.with_suffix("").as_posix() in texts()
        return match[0] if match["image"] or is_page else match["words"]

    pieces = CODE.split(text)
    return "".join(piece if index % 2 else LINK.sub(kept, piece) for index, piece in enumerate(pieces))


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
