"""Links from the words of a lesson to the glossary of its language: the first use of each term, with its meaning."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from docutils import nodes
from sphinx.application import Sphinx

from tools.languages import LANGUAGES

GLOSSARY = {  # of the lessons in a folder
    "notebooks": "assets/glossary",
    **{language: f"translations/{language}/glossary" for language in LANGUAGES if language != "en"},
}
COLUMNS = {  # of a glossary: by the head of the first column
    "term" if language == "en" else words.name: words.glossary for language, words in LANGUAGES.items()
}
COMMON = {"general", "width", "training", "index", "beginning", "运算"}  # half of a term, and mostly just a word
OTHER = [  # phrases in which the word is not a term
    "fused kernel", "no kernel", "running kernel", "context manager", "new value", "padding a", "batch norm",
    "its block", "test BLEU",
]  # fmt: skip
HAN = "\u4e00-\u9fff"  # Chinese characters: no spaces between words
NEVER = (nodes.literal, nodes.literal_block, nodes.title, nodes.reference, nodes.math, nodes.math_block, nodes.raw)


@dataclass(frozen=True)
class Term:
    """A row of the glossary: its words ("byte pair encoding, BPE"), its meaning, and the lesson that explains it."""

    words: str
    meaning: str
    lesson: str

    @property
    def anchor(self) -> str:
        """The name of the row in a link."""
        return "term-" + re.sub(r"\W+", "-", self.words.lower()).strip("-")

    def forms(self) -> set[str]:
        """The words and their plurals, as a text may have them."""
        words = set(re.split(r", |、| and | (?=运算)", self.words)) - COMMON
        return words | set(map(plural, words))


def plural(word: str) -> str:
    """The plural of a term in English."""
    for end, ends in {"is": "es", "x": "xes", "ss": "sses", "y": "ies", "ch": "ches"}.items():
        if word.endswith(end):
            return word.removesuffix(end) + ends
    return word + "s"


def glossary(doctree: nodes.document) -> list[Term]:
    """The terms of a glossary; each row gets a name, and each cell the class of its column."""
    terms = []
    for table in doctree.findall(nodes.table):
        head, *rows = table.findall(nodes.row)
        columns = COLUMNS[head[0].astext()]
        table["classes"].append("glossary")
        for row in rows:
            cells = dict(zip(columns, row.findall(nodes.entry), strict=True))
            for column, cell in cells.items():
                cell["classes"].append(column)
            terms.append(Term(*(cells[column].astext() for column in ("term", "meaning", "lesson"))))
            row["ids"].append(terms[-1].anchor)
    return terms


def link(doctree: nodes.document, terms: list[Term], address: str) -> None:
    """Link the first use of each of these terms in a page to the glossary at `address`."""
    meant: dict[str, Term | None] = dict.fromkeys(OTHER) | {form: term for term in terms for form in term.forms()}

    def reference(found: re.Match[str]) -> nodes.Node | None:
        form = found[0] if found[0] in meant else found[0][0].lower() + found[0][1:]
        term = meant.get(form)
        if term is None:
            return None
        meant.update(dict.fromkeys(term.forms()))
        target = {"refuri": f"{address}#{term.anchor}", "reftitle": term.meaning, "classes": ["term"]}
        return nodes.reference("", found[0], internal=True, **target)

    replace(doctree, pattern(meant), reference)


def replace(
    doctree: nodes.document, words: re.Pattern[str], reference: Callable[[re.Match[str]], nodes.Node | None]
) -> None:
    """Put links in place of words, except in titles, code, formulas and links; `reference` may return None: no link."""
    for text in list(doctree.findall(nodes.Text)):
        if any(isinstance(parent, NEVER) for parent in ancestors(text)):
            continue
        pieces, end = [], 0
        for found in words.finditer(text):
            if node := reference(found):
                pieces += [nodes.Text(text[end : found.start()]), node]
                end = found.end()
        if pieces:
            text.parent.replace(text, [*pieces, nodes.Text(text[end:])])


def pattern(forms: Iterable[str]) -> re.Pattern[str]:
    """Finds the longest of these forms; one that begins with a small letter may begin with a capital."""
    longest = sorted(forms, key=len, reverse=True)
    either = [f"[{form[0]}{form[0].upper()}]{re.escape(form[1:])}" for form in longest if len(form) > 1]
    alone = [f"^{re.escape(form)}$" for form in longest if len(form) == 1]  # 键 is a part of other words
    return re.compile(rf"(?<![^\W{HAN}])(?<!-)(?:{'|'.join(either + alone)})(?![^\W{HAN}]|-)")


def ancestors(node: nodes.Node) -> list[nodes.Element]:
    """What a node stands in, from the inside out."""
    found = []
    while node.parent is not None:
        node = node.parent
        found.append(node)
    return found


def setup(app: Sphinx) -> dict[str, bool]:
    """Name the rows of the glossaries; link each lesson to the terms of its own and of earlier lessons."""

    def resolve(app: Sphinx, doctree: nodes.document, page: str) -> None:
        if page in GLOSSARY.values():
            glossary(doctree)
        elif lesson := re.match(r"(\w+)/(\d\d)-", page):
            place = GLOSSARY[lesson[1]]
            place = place if place in app.env.found_docs else GLOSSARY["notebooks"]
            terms = [term for term in glossary(app.env.get_doctree(place)) if term.lesson <= lesson[2]]
            link(doctree, terms, app.builder.get_relative_uri(page, place))

    app.connect("doctree-resolved", resolve)
    return {"parallel_read_safe": True}
