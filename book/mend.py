"""Repairs of the HTML that Sphinx, MyST-NB and Furo write, for people who hear a page: axe finds these faults."""

from __future__ import annotations

import re
from pathlib import Path

REPAIRS = {
    r'role="heading">(?=<span class="caption-text">)': 'role="heading" aria-level="2">',
    r' aria-label="Toggle hidden content"': "",  # in place of the words that are there to be read
    r'(<span class="sig-paren">\(</span>\s*)<dl>': r'\1<dl role="none">',  # arguments: a list without terms
    r"<th\b[^>]*>(<p></p>)?</th>": "<td></td>",  # the corner of a table heads nothing
    r'<aside class="sidebar-drawer"': r'\g<0> aria-label="The book"',
    r'<aside class="toc-drawer"': r'\g<0> aria-label="This page"',
    r'<div id="search-results">': r"<h1>Search</h1>\n\g<0>",
}


def mend(site: Path) -> None:
    """Repair all pages below `site`."""
    for path in site.rglob("*.html"):
        text = path.read_text("utf-8")
        for fault, repair in REPAIRS.items():
            text = re.sub(fault, repair, text)
        path.write_text(text, "utf-8", newline="\n")
