"""The colours of all figures and views, in one place.

The colour maps are matplotlib's: `CMAP` for weights, `BLUE_RED` for numbers of both signs. Figures use them by name.
`for_browser` and `as_css` send the same colours to the browser, so that pictures and pages look alike.
"""

from __future__ import annotations

import numpy as np
from matplotlib import colormaps
from matplotlib.colors import Colormap, LinearSegmentedColormap

CMAP = "viridis"  # evenly graded in lightness: readable in grey, and by colour-blind eyes
BLUE_RED = "RdBu_r"  # white at 0; its blue and red can be told apart by colour-blind eyes
BLUE_RED_DARK = ("#5494FF", "#2654B0", "#202020", "#A02C2A", "#FF5C54")  # on a dark page; both sides are equally light
OPEN, MASKED, ODD = "#8ECDF2", "#4D4D4D", "#D9D9D9"  # light blue, dark grey, light grey: they differ in lightness, too
GROUND, STRIPE = "#A3A3A3", "#878787"  # of a masked cell: they differ from white, from black and from viridis
TRAIN, VALID = "#0072B2", "#D55E00"  # Okabe and Ito's blue and vermillion
CYCLE = (TRAIN, VALID, "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")  # of lines: theirs, all but the yellow


def colour_table(name: str) -> list[list[int]]:
    """The 256 colours of a colour map of matplotlib, each as red, green and blue from 0 to 255."""
    return _table(colormaps[name])


def _table(colours: Colormap) -> list[list[int]]:
    return colours(np.arange(256), bytes=True)[:, :3].tolist()


def for_browser() -> dict[str, object]:
    """The constants of the module `colours.js` (see `bundle.py`)."""
    return {
        "VIRIDIS": colour_table(CMAP),
        "BLUE_RED": colour_table(BLUE_RED),
        "BLUE_RED_DARK": _table(LinearSegmentedColormap.from_list("", BLUE_RED_DARK)),
        "OPEN": OPEN,
        "MASKED": {"ground": GROUND, "stripe": STRIPE},
    }


def as_css() -> str:
    """The colours as variables for `elements.css`."""
    sample = "#{:02x}{:02x}{:02x}".format(*colour_table(CMAP)[64])
    signed = f"linear-gradient(90deg, {', '.join(BLUE_RED_DARK)})"
    return f".seqlearn {{ --masked: {GROUND}; --stripe: {STRIPE}; --sample: {sample}; --blue-red-dark: {signed}; }}"
