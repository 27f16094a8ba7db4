"""Any script in a figure: the fonts that are tried for a letter, and what is drawn where no font has the letter."""

from __future__ import annotations

import functools
import unicodedata
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import matplotlib
from matplotlib import font_manager
from matplotlib.figure import Figure

if TYPE_CHECKING:
    from matplotlib.typing import RcKeyType

FONTS = (  # tried in this order for each letter, if installed; a browser chooses its own fonts
    *("DejaVu Sans", "Arial", "Segoe UI", "Noto Sans", "Liberation Sans"),
    *("Noto Sans CJK JP", "Noto Sans CJK SC", "Microsoft YaHei", "PingFang SC", "Hiragino Sans", "WenQuanYi Micro Hei"),
    *("Noto Sans Arabic", "Geeza Pro", "Noto Sans Hebrew", "Noto Sans Devanagari", "Nirmala UI", "Arial Unicode MS"),
)
SETTINGS: dict[RcKeyType, bool] = {"text.usetex": False, "text.parse_math": True, "axes.formatter.use_mathtext": False}
COURSE = Path(__file__).parents[2] / "course.mplstyle"
BOX = "□"
IN_ONE_LINE = {"\n": "⏎", "\t": "⇥"}
Given = ParamSpec("Given")
Made = TypeVar("Made")


def families(installed: Iterable[str] | None = None) -> list[str]:
    """The names in `FONTS` that are installed (default: on this machine); if there are none, matplotlib's default."""
    known = set(font_manager.get_font_names() if installed is None else installed)
    return [name for name in FONTS if name in known] or ["sans-serif"]


def any_script(draw: Callable[Given, Made]) -> Callable[Given, Made]:
    """Decorates a function that makes a figure: the style of the course, and texts in any script.

    While the function runs, the settings of the course's style, and those that `literal` relies on, have the values
    that the package needs, whatever style is in use. All other settings stay as they are, unlike in `rc_context`: the
    first figure of a notebook changes one of them, and undoing that change would hide all later figures.
    """

    @functools.wraps(draw)
    def with_settings(*args: Given.args, **kwargs: Given.kwargs) -> Made:
        settings: dict[RcKeyType, Any] = {}  # Any: as rcParams holds values
        settings |= {**course_style(), "font.family": families(), **SETTINGS}
        before: dict[RcKeyType, object] = {name: matplotlib.rcParams[name] for name in settings}
        matplotlib.rcParams.update(settings)
        try:
            made = draw(*args, **kwargs)
            if isinstance(made, Figure):
                fix_colours(made)
            return made
        finally:
            matplotlib.rcParams.update(before)

    return with_settings


def fix_colours(figure: Figure) -> None:
    """Give ticks and grids the colours of the style in use, also those that appear when another style is in use."""
    for ax in figure.axes:
        for axis in (ax.xaxis, ax.yaxis):
            axis.get_major_ticks(1)  # a tick is made when it is needed, and takes the colours of the first one


@functools.cache
def course_style() -> dict[RcKeyType, Any]:  # Any: as rcParams holds values
    """The settings of the style "seqlearn.course"."""
    return dict(matplotlib.rc_params_from_file(COURSE, use_default_template=False))


def drawable(text: str, letters: frozenset[int] | None = None) -> str:
    """The text with a box for each letter that no font has; matplotlib would draw the same box, but warn.

    Args:
        letters: the code points that can be drawn; default: those of the installed fonts.
    """
    letters = _letters(tuple(families())) if letters is None else letters
    visible = (letter for letter in text if ord(letter) in letters or unicodedata.category(letter) != "Cf")
    return "".join(letter if letter == "\n" or ord(letter) in letters else BOX for letter in visible)


def literal(text: str) -> str:
    """The text as matplotlib needs it to draw exactly what was typed: a dollar sign starts no formula."""
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
