"""Links to lessons: from "lesson 04", from 第 04 课, and from the lists that name lessons ("04 Attention scores")."""

from __future__ import annotations

import re

from docutils import nodes
from sphinx.application import Sphinx

from tools.book.terms import GLOSSARY, HAN, replace

MENTION = re.compile(rf"\b[Ll]esson \d\d\b|第 \d\d 课|^\d\d (?=[A-Z{HAN}])[^:：|]+$")
COLUMN = re.compile(rf"{MENTION.pattern}|^\d\d$")  # a glossary has a column with the numbers of lessons


def lessons(pages: set[str]) -> dict[tuple[str, str], str]:
    """The pages of lessons: ("zh", "04") -> "zh/04-attention-scores"."""
    found = map(re.compile(r"(\w+)/(\d\d)-.*").fullmatch, pages)
    return {(page[1], page[2]): page[0] for page in found if page}


def setup(app: Sphinx) -> dict[str, bool]:
    """Link each mention of another lesson to its page: in the language of the page around it, or else in English."""

    def resolve(app: Sphinx, doctree: nodes.document, page: str) -> None:
        if page.startswith("api/"):
            return
        targets = lessons(app.env.found_docs)
        language = next((folder for folder in GLOSSARY if folder in page.split("/")), "notebooks")

        def reference(found: re.Match[str]) -> nodes.Node | None:
            number = "".join(filter(str.isdigit, found[0]))[:2]
            target = targets.get((language, number)) or targets.get(("notebooks", number))
            if target is None or number == page.split("/")[-1][:2]:
                return None
            address = app.builder.get_relative_uri(page, target)
            return nodes.reference("", found[0], internal=True, refuri=address, classes=["lesson"])

        replace(doctree, COLUMN if page in GLOSSARY.values() else MENTION, reference)

    app.connect("doctree-resolved", resolve)
    return {"parallel_read_safe": True}
