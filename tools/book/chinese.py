"""Search for Chinese words: Chinese has no spaces, so the index has each character, and each two in a row."""

from __future__ import annotations

import re
from itertools import pairwise

from sphinx.application import Sphinx
from sphinx.search.en import SearchEnglish

from tools.book.terms import HAN

CHINESE = re.compile(f"[{HAN}]+")


class EnglishAndChinese(SearchEnglish):
    """English as before; who searches for 注意力 finds the pages that have 注意 and 意力."""

    js_splitter_code = f"""
function splitQuery(query) {{
  const words = query.split(/([{HAN}]+)|[^\\p{{L}}\\p{{N}}_]+/u).filter(Boolean);
  const pairs = (word) => [...word].slice(1).map((end, at) => word[at] + end);
  return words.flatMap((word) => (/^[{HAN}]{{2}}/.test(word) ? pairs(word) : word));
}}"""

    def split(self, input: str) -> list[str]:
        """The words of a text."""
        chinese = CHINESE.findall(input)
        pairs = [first + second for word in chinese for first, second in pairwise(word)]
        return [*super().split(CHINESE.sub(" ", input)), *"".join(chinese), *pairs]


def setup(app: Sphinx) -> dict[str, bool]:
    """Search this way."""
    app.add_search_language(EnglishAndChinese)
    return {"parallel_read_safe": True}
