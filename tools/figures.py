"""What is wrong with a figure as its reader sees it: texts that are cut off, overlap, are too small, or show TeX.

`faults(figure)` draws a figure and names what it finds. `install` puts a watcher into the profile of IPython with which
the tests run a lesson: each figure that the lesson shows is checked in the kernel, as it is shown. A fault fails its
cell under nbval; `tools/refresh.py` prints it. `in_words(figure)` is the text for somebody who does not see the figure;
the watcher puts it beside the picture. No learner's kernel has the watcher.
"""

import contextlib
import functools
import itertools
import re
import warnings
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from matplotlib.text import Text

COLUMN = 960  # pixels: the width of a lesson
SMALLEST = 8  # pixels: the height of letters
EDGE = 1.5  # pixels beyond an edge that nobody sees
RAW = re.compile(r"\$|\\[A-Za-z]+")

# Faults that are meant: a part of the sentence that names the fault, and the reason.
ALLOWED: dict[str, str] = {}


def faults(figure: Figure) -> list[str]:
    """What is wrong with a figure, one sentence for each kind of fault; the figure is drawn, and stays as it was."""
    found, shown = {}, drawn_texts(figure)

    def add(text, fault):
        found.setdefault(fault, []).append(name_of(text))

    width = figure.get_figwidth() * figure.dpi
    offsets = {id(axis.offsetText) for ax in figure.axes for axis in (ax.xaxis, ax.yaxis)}
    for text, corners in shown:
        pixels = float(text.get_fontsize()) * figure.dpi / 72 * min(1, COLUMN / width)
        if pixels < SMALLEST:
            add(text, f"has letters of {pixels:.1f} pixels, less than {SMALLEST}")
        if id(text) in offsets:
            add(text, "beside an axis scales its ticks")
        for fault in filter(None, (tex_of(text), cut_off(figure, text, corners))):
            add(text, fault)
    for (one, first), (other, second) in itertools.combinations(shown, 2):
        if overlap(first, second) and not stacked(one, first, other, second):
            add(one, f"overlaps {name_of(other)}")
    sentences = [f"the figure is {width / 100:.1f} in wide, and the column {COLUMN / 100} in"]
    sentences = sentences if width > COLUMN + 0.5 else []
    for fault, names in found.items():
        others = len(set(names)) - 1
        sentences.append(f"{names[0]} {fault}" + f" (and {others} other texts)" * (others > 0))
    for ax in figure.axes:
        lines = [*ax.get_xgridlines(), *ax.get_ygridlines()]
        if ax.get_visible() and ax.axison and ax.images and any(line.get_visible() for line in lines):
            title = ax.get_title("left") or ax.get_title()
            sentences.append(f"grid lines cross the image under {title!r}: ax.grid(False)")
    return [sentence for sentence in sentences if not any(part in sentence for part in ALLOWED)]


def in_words(figure: Figure) -> str:
    """What a figure says, for somebody who does not see it: its titles, the names of its axes, and its legends."""
    axes = [ax for ax in figure.axes if ax.get_visible()]
    titles = [figure.get_suptitle(), *(ax.get_title(place) for ax in axes for place in ("left", "center", "right"))]
    labels = [figure.get_supxlabel(), *(ax.get_xlabel() for ax in axes if ax.axison)]
    labels += [figure.get_supylabel(), *(ax.get_ylabel() for ax in axes if ax.axison)]
    legends = filter(None, [*figure.legends, *(ax.get_legend() for ax in axes)])
    names = [text.get_text() for legend in legends for text in legend.get_texts()]
    parts = {"": titles, "Axes: ": labels, "Legend: ": names}
    lists = {head: "; ".join(dict.fromkeys(filter(None, map(plain, texts)))) for head, texts in parts.items()}
    return " ".join(f"{head}{words}." for head, words in lists.items() if words)


def plain(text: str) -> str:
    """A text of matplotlib in one line, without the signs of TeX and without the full stop."""
    return " ".join(re.sub(r"\\[A-Za-z]+|[\\${}]", "", text).split()).rstrip(".")


def drawn_texts(figure: Figure) -> list[tuple[Text, np.ndarray]]:
    """The texts that are drawn, and the four corners of each in pixels. What is invisible or empty is not drawn."""
    shown = []

    def note(text, renderer):
        if text.get_visible() and text.get_text().strip() and text.get_alpha() != 0:
            corners = corners_of(text, renderer)
            if np.isfinite(corners).all() and inside_its_clip(text, corners):
                shown.append((text, corners))

    with watched_draw(note), quiet(figure), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what matplotlib warns of, the lesson has said
        figure.draw_without_rendering()
    return shown


@contextlib.contextmanager
def watched_draw(note):
    """Calls `note(text, renderer)` before each text is drawn."""
    draw = Text.draw

    @functools.wraps(draw)
    def noted(self, renderer, *args, **kwargs):
        note(self, renderer)
        return draw(self, renderer, *args, **kwargs)

    Text.draw = noted
    try:
        yield
    finally:
        Text.draw = draw


@contextlib.contextmanager
def quiet(figure: Figure):
    """No change of an artist asks for another drawing: in a notebook, pyplot would draw at once."""
    callback, figure.stale_callback = figure.stale_callback, None
    try:
        yield
    finally:
        figure.stale_callback = callback


def corners_of(text: Text, renderer) -> np.ndarray:
    """The corners of the letters, in order around them, turned as the text is; a line is higher than its letters."""
    box, turn = Text.get_window_extent(text, renderer), text.get_rotation()
    center = np.array([(box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2])
    if turn % 180:
        text.set_rotation(0)
        box = Text.get_window_extent(text, renderer)
        text.set_rotation(turn)
    pixels = renderer.points_to_pixels(text.get_fontsize())
    half = np.array([box.width / 2 - 0.05 * pixels, box.height / 2 - 0.15 * pixels]).clip(0)
    angle = np.deg2rad(turn)
    along = np.array([np.cos(angle), np.sin(angle)])
    across = np.array([-along[1], along[0]])
    return np.array(
        [center + x * half[0] * along + y * half[1] * across for x, y in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
    )


def inside_its_clip(text: Text, corners: np.ndarray) -> bool:
    """Whether a text that is clipped to its axes is seen at all."""
    box = text.get_clip_box() if text.get_clip_on() else None
    if box is None:
        return True
    (left, below), (right, above) = corners.min(0), corners.max(0)
    return left < box.x1 and right > box.x0 and below < box.y1 and above > box.y0


def tex_of(text: Text) -> str:
    r"""What is wrong with a text that is TeX, or shows it; a dollar sign that is meant is written as `\$`."""
    _, math = text._preprocess_math(text.get_text())  # pyright: ignore[reportAttributeAccessIssue]  not in the stubs
    if math:
        return "is a tick written as a formula" if r"\mathdefault" in text.get_text() else ""
    return "shows TeX as it was typed" if RAW.search(text.get_text().replace(r"\$", "")) else ""


def cut_off(figure: Figure, text: Text, corners: np.ndarray) -> str:
    """The edges at which a text is cut off."""
    boxes = [figure.bbox] + [box for box in [text.get_clip_box()] if box is not None and text.get_clip_on()]
    (left, below), (right, above) = corners.min(0), corners.max(0)
    edges = {
        "left": any(left < box.x0 - EDGE for box in boxes), "right": any(right > box.x1 + EDGE for box in boxes),
        "lower": any(below < box.y0 - EDGE for box in boxes), "upper": any(above > box.y1 + EDGE for box in boxes),
    }  # fmt: skip
    cut = [edge for edge, is_cut in edges.items() if is_cut]
    return f"is cut off at the {' and the '.join(cut)} edge" if cut else ""


def overlap(first: np.ndarray, second: np.ndarray) -> bool:
    """Whether two rectangles, turned or not, have a common area: no side of either one separates them."""
    if (first.max(0) <= second.min(0)).any() or (second.max(0) <= first.min(0)).any():
        return False
    for corners in (first, second):
        for side in (corners[1] - corners[0], corners[2] - corners[1]):
            one, other = first @ side, second @ side
            if one.max() <= other.min() or other.max() <= one.min():
                return False
    return True


def stacked(one: Text, first: np.ndarray, other: Text, second: np.ndarray) -> bool:
    """Whether two texts are the same text drawn twice, such as a halo and its letters."""
    return one.get_text() == other.get_text() and np.allclose(first, second, atol=1)


def name_of(text: Text) -> str:
    """The text as a sentence about it shows it."""
    line = " ".join(text.get_text().split())
    return repr(line if len(line) <= 40 else line[:39] + "…")


class FigureFault(Exception):
    """A figure that a cell shows has faults."""

    def _render_traceback_(self) -> list[str]:
        """What IPython shows of it: its sentence, and no traceback."""
        return [f"FigureFault: {self}"]


def watch(report: str = "") -> None:
    """Check every figure that becomes a picture in this kernel, and put its words beside the picture.

    Args:
        report: a file to which the faults are added; default: the cell that shows the figure fails.
    """
    from IPython import get_ipython
    from matplotlib.backend_bases import FigureCanvasBase

    shell, draw, found = get_ipython(), FigureCanvasBase.print_figure, []

    @functools.wraps(draw)
    def print_and_check(self, *args, **kwargs):
        found.extend(faults(self.figure))  # before: printing gives a figure without a layout engine the style's one
        return draw(self, *args, **kwargs)

    def tell(result):
        listed, found[:] = list(dict.fromkeys(found)), []
        if listed and report:
            with open(report, "a", encoding="utf-8") as file:
                file.writelines(f"code cell {shell.execution_count - 1}: {fault}\n" for fault in listed)
        elif listed:
            error = FigureFault("; ".join(listed))
            shell.showtraceback((FigureFault, error, None))

    def formatted(shown, *args, **kwargs):
        data, metadata = form(shown, *args, **kwargs)
        if isinstance(shown, Figure) and "image/png" in data:
            metadata.setdefault("image/png", {})["alt"] = in_words(shown)
        return data, metadata

    form, shell.display_formatter.format = shell.display_formatter.format, formatted
    FigureCanvasBase.print_figure = print_and_check
    shell.events.register("post_run_cell", tell)


START = """import importlib.util
spec = importlib.util.spec_from_file_location("figures", {file!r})
figures = importlib.util.module_from_spec(spec)
spec.loader.exec_module(figures)
figures.watch({report!r})
del importlib, spec, figures
"""


def install(ipython: Path, report: Path | None = None) -> None:
    """Let every kernel with this folder as its IPYTHONDIR watch its figures."""
    startup = ipython / "profile_default" / "startup"
    startup.mkdir(parents=True, exist_ok=True)
    text = START.format(file=str(Path(__file__).resolve()), report=str(report or ""))
    (startup / "00-figures.py").write_text(text, encoding="utf-8")
