"""Sharp pictures: twice the pixels of the size at which they are shown."""

from __future__ import annotations

import io
import sys

from matplotlib.figure import Figure

SCALE = 2  # pixels of the picture for a pixel of the page


def sharpen(figure: Figure | None = None) -> None:
    """Let a notebook show figures with twice the pixels, in the same size; matplotlib calls it for each new figure.

    A choice of the user, such as `%config InlineBackend.figure_formats = ["svg"]`, stays. Outside a notebook, nothing
    changes.
    """
    inline = sys.modules.get("matplotlib_inline.backend_inline")
    if inline is None or not inline.InlineBackend.initialized():
        return
    settings = inline.InlineBackend.instance()
    if settings.figure_formats == {"png"}:
        settings.figure_formats = {"retina"}


def sharp_png(figure: Figure) -> tuple[bytes, dict[str, int]]:
    """The figure as the bytes of a PNG file, and the width and the height at which a page shows this file."""
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=SCALE * figure.dpi)
    png = file.getvalue()
    width, height = (int.from_bytes(png[start : start + 4]) for start in (16, 20))  # the head of every PNG file
    return png, {"width": width // SCALE, "height": height // SCALE}
