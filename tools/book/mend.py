"""Repairs of the HTML that Sphinx, MyST-NB and Furo write: faults that axe finds, and words in other languages."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

from tools.languages import LANGUAGES

REPAIRS = {
    r'role="heading">(?=<span class="caption-text">)': 'role="heading" aria-level="2">',
    r' aria-label="Toggle hidden content"': "",  # in place of the words that are there to be read
    r'(<span class="sig-paren">\(</span>\s*)<dl>': r'\1<dl role="none">',  # arguments: a list without terms
    r"<th\b[^>]*>(<p></p>)?</th>": "<td></td>",  # the corner of a table heads nothing
    r'<aside class="sidebar-drawer"': r'\g<0> aria-label="The book"',
    r'<aside class="toc-drawer"': r'\g<0> aria-label="This page"',
    r'<div id="search-results">': r"<h1>Search</h1>\n\g<0>",
    r'<script src="_static/searchtools.js"': r'<script src="_static/excerpts.js"></script>\n\g<0>',
}


def mend(site: Path, languages: Collection[str]) -> None:
    """Repair all pages below `site`; those in a folder with the name of a language say that they are in it."""
    for path in site.rglob("*.html"):
        text = path.read_text("utf-8")
        for fault, repair in REPAIRS.items():
            text = re.sub(fault, repair, text)
        for language in set(path.relative_to(site).parts) & set(languages):
            text = re.sub(r'(<html[^>]* lang=)"en"', rf'\1"{language}"', text)
            for english, word in LANGUAGES[language].pages.items():
                text = re.sub(rf'([>"]\s*){re.escape(english)}(\s*[<"])', rf"\1{word}\2", text)
        path.write_text(text, "utf-8", newline="\n")
