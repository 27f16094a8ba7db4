"""Any script in a picture: which fonts are tried for a letter, and what stands for one that none of them has."""

from __future__ import annotations

import functools
import unicodedata
from collections.abc import Callable, Iterable

import matplotlib
from matplotlib import font_manager
from matplotlib.figure import Figure

FONTS = (  # tried in this order for each letter, as far as they are installed; the browser has its own fallback
    *("DejaVu Sans", "Arial", "Segoe UI", "Noto Sans", "Liberation Sans"),
    *("Noto Sans CJK JP", "Noto Sans CJK SC", "Microsoft YaHei", "PingFang SC", "Hiragino Sans", "WenQuanYi Micro Hei"),
    *("Noto Sans Arabic", "Geeza Pro", "Noto Sans Hebrew", "Noto Sans Devanagari", "Nirmala UI", "Arial Unicode MS"),
)
BOX = "□"
SETTINGS = {"text.usetex": False, "text.parse_math": True, "axes.formatter.use_mathtext": False}
IN_ONE_LINE = {"\n": "⏎", "\t": "⇥"}


def families(installed: Iterable[str] | None = None) -> list[str]:
    """The names out of `FONTS` that are installed (default: here); where none is, matplotlib's own choice."""
    known = set(font_manager.get_font_names() if installed is None else installed)
    return [name for name in FONTS if name in known] or ["sans-serif"]


def any_script(draw: Callable[..., Figure]) -> Callable[..., Figure]:
    """Decorates a function that makes a figure: the texts of the figure may be in any script.

    TeX and other settings of a style are set back meanwhile, so that `literal` works. All other settings stay as they
    are, unlike in `rc_context`: the first figure of a notebook changes one, and undoing that hides all later figures.
    """

    @functools.wraps(draw)
    def drawn(*args, **kwargs):
        settings = {"font.family": families()} | SETTINGS
        before = {name: matplotlib.rcParams[name] for name in settings}
        matplotlib.rcParams.update(settings)
        try:
            return draw(*args, **kwargs)
        finally:
            matplotlib.rcParams.update(before)

    return drawn


def drawable(text: str, letters: frozenset[int] | None = None) -> str:
    """The text with a box for each letter that no font has: matplotlib would draw one, too, and warn of it.

    Args:
        letters: the code points that can be drawn; default: those of the fonts here.
    """
    letters = _letters(tuple(families())) if letters is None else letters
    seen = (letter for letter in text if ord(letter) in letters or unicodedata.category(letter) != "Cf")
    return "".join(letter if letter == "\n" or ord(letter) in letters else BOX for letter in seen)


def literal(text: str) -> str:
    """The text as matplotlib needs it to draw exactly what was typed: a dollar is a dollar, and starts no formula."""
    return drawable(text).replace("$", r"\$")


def short_label(text: str, most: int = 40) -> str:
    """The text of a token, literal, in one line of at most `most` letters."""
    line = drawable("".join(IN_ONE_LINE.get(letter, letter) for letter in text))
    return literal(line if len(line) <= most else line[: most - 1] + "…")


@functools.cache
def _letters(names: tuple[str, ...]) -> frozenset[int]:
    """The code points that these fonts have."""
    fonts = [font_manager.get_font(font_manager.findfont(name)) for name in names]
    return frozenset().union(*(font.get_charmap() for font in fonts))
