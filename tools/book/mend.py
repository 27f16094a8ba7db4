"""Repairs of the HTML that Sphinx, MyST-NB and Furo write: faults that axe finds, and words in other languages."""

from __future__ import annotations

import re
from collections.abc import Collection
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
WORDS = {  # of the pages around a lesson: text or attribute in English -> in the language of the lesson
    "zh": {
        "Search": "搜索",
        "Lessons": "课程（英文）",
        "Look it up": "查阅（英文）",
        "On this page": "本页内容",
        "Back to top": "回到顶部",
        "Next": "下一页",
        "Previous": "上一页",
        "Skip to content": "跳到正文",
        "Link to this heading": "这一节的链接",
        "Toggle Light / Dark / Auto color theme": "切换主题：浅色、深色、自动",
        "Toggle site navigation sidebar": "打开或关闭目录",
        "Toggle table of contents sidebar": "打开或关闭本页内容",
        "Contents": "本页内容",
        "Menu": "目录",
        "The book": "全书",
        "This page": "本页",
    }
}


def mend(site: Path, languages: Collection[str]) -> None:
    """Repair all pages below `site`; those in a folder with the name of a language say that they are in it."""
    for path in site.rglob("*.html"):
        text = path.read_text("utf-8")
        for fault, repair in REPAIRS.items():
            text = re.sub(fault, repair, text)
        for language in set(path.relative_to(site).parts) & set(languages):
            text = re.sub(r'(<html[^>]* lang=)"en"', rf'\1"{language}"', text)
            for english, word in WORDS[language].items():
                text = re.sub(rf'([>"]\s*){re.escape(english)}(\s*[<"])', rf"\1{word}\2", text)
        path.write_text(text, "utf-8", newline="\n")
