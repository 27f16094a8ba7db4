"""Links from the words of a lesson to the glossary: the first use of each term on a page, with its meaning."""

from __future__ import annotations

import re
from dataclasses import dataclass

from docutils import nodes
from sphinx.application import Sphinx

GLOSSARY = "assets/glossary"
COMMON = {"general", "width", "training", "index"}  # half of a term, and in most sentences just a word
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
    return terms


def link(doctree: nodes.document, terms: list[Term], address: str) -> None:
    """Link the first use of each of these terms in a page to the glossary at `address`."""
    open_terms = {form: term for term in terms for form in term.forms()}
    for text in list(doctree.findall(nodes.Text)):
        if any(isinstance(parent, NEVER) for parent in ancestors(text)):
            continue
        pieces: list[nodes.Node] = []
        rest = text.astext()
        while open_terms and (found := pattern(open_terms).search(rest)):
            term = open_terms.get(found[0]) or open_terms[found[0].lower()]
            open_terms = {form: other for form, other in open_terms.items() if other is not term}
            target = {"refuri": f"{address}#{term.anchor}", "reftitle": term.meaning, "classes": ["term"]}
            pieces += [nodes.Text(rest[: found.start()]), nodes.reference("", found[0], internal=True, **target)]
            rest = rest[found.end() :]
        if pieces:
            text.parent.replace(text, [*pieces, nodes.Text(rest)])


def pattern(forms: dict[str, Term]) -> re.Pattern[str]:
    """Finds the longest of these forms; a word without capital letters may begin with one."""
    longest = sorted(forms, key=len, reverse=True)
    either = [f"[{form[0]}{form[0].upper()}]{re.escape(form[1:])}" if form.islower() else re.escape(form) for form in longest]
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
