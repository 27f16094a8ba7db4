"""Links from the words of a lesson to the glossary: the first use of each term on a page, with its meaning."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from docutils import nodes
from sphinx.application import Sphinx

GLOSSARY = "assets/glossary"
COMMON = {"general", "width", "training", "index", "beginning"}  # half of a term, and mostly just a word
OTHER = [  # phrases in which the word is no term
    "fused kernel", "no kernel", "running kernel", "context manager", "new value", "padding a", "batch norm",
    "its block", "test BLEU",
]  # fmt: skip
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
        words = set(re.split(r", | and ", self.words)) - COMMON
        return words | set(map(plural, words))


def plural(word: str) -> str:
    """The plural of a term in English."""
    for end, ends in {"is": "es", "x": "xes", "ss": "sses", "y": "ies", "ch": "ches"}.items():
        if word.endswith(end):
            return word.removesuffix(end) + ends
    return word + "s"


def glossary(doctree: nodes.document) -> list[Term]:
    """The terms of the glossary; the row of each gets a name."""
    terms = []
    for row in doctree.findall(nodes.row):
        if isinstance(row.parent, nodes.tbody):
            words, _, _, meaning, lesson, _ = (entry.astext() for entry in row.children)
            terms.append(Term(words, meaning, lesson))
            row["ids"].append(terms[-1].anchor)
            row.parent.parent.parent["classes"].append("glossary")
    return terms


def link(doctree: nodes.document, terms: list[Term], address: str) -> None:
    """Link the first use of each of these terms in a page to the glossary at `address`."""
    meant: dict[str, Term | None] = dict.fromkeys(OTHER) | {form: term for term in terms for form in term.forms()}
    for text in list(doctree.findall(nodes.Text)):
        if any(isinstance(parent, NEVER) for parent in ancestors(text)):
            continue
        pieces, end = [], 0
        for found in pattern(meant).finditer(text):
            form = found[0] if found[0] in meant else found[0][0].lower() + found[0][1:]
            if term := meant.get(form):
                meant |= dict.fromkeys(term.forms())
                target = {"refuri": f"{address}#{term.anchor}", "reftitle": term.meaning, "classes": ["term"]}
                before = nodes.Text(text[end : found.start()])
                pieces += [before, nodes.reference("", found[0], internal=True, **target)]
                end = found.end()
        if pieces:
            text.parent.replace(text, [*pieces, nodes.Text(text[end:])])


def pattern(forms: Iterable[str]) -> re.Pattern[str]:
    """Finds the longest of these forms; one that begins with a small letter may begin with a capital."""
    longest = sorted(forms, key=len, reverse=True)
    either = [f"[{form[0]}{form[0].upper()}]{re.escape(form[1:])}" for form in longest]
    return re.compile(rf"(?<![\w-])(?:{'|'.join(either)})(?![\w-])")


def ancestors(node: nodes.Node) -> list[nodes.Element]:
    """What a node stands in, from the inside out."""
    found = []
    while node.parent is not None:
        node = node.parent
        found.append(node)
    return found


def setup(app: Sphinx) -> dict[str, bool]:
    """Name the rows of the glossary; link the lessons to the terms of their own and of earlier lessons."""

    def resolve(app: Sphinx, doctree: nodes.document, page: str) -> None:
        if page == GLOSSARY:
            glossary(doctree)
        elif number := re.match(r"notebooks/(\d\d)-", page):
            terms = [term for term in glossary(app.env.get_doctree(GLOSSARY)) if term.lesson <= number[1]]
            link(doctree, terms, app.builder.get_relative_uri(page, GLOSSARY))

    app.connect("doctree-resolved", resolve)
    return {"parallel_read_safe": True}
