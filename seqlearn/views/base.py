"""What all interactive views share: one record of numbers and texts, one picture, one self-contained page.

A view is a class here and a JavaScript file in `static/`. The class computes everything and puts it into one trait,
`record`; the file draws it with the helpers of `static/base.js`. What Python and the browser both may change (`step`,
`locked`, ...) are further synced traits. What the mouse points at stays in the browser.
"""

from __future__ import annotations

import base64
import html
import io
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import anywidget
import numpy as np
import torch
import traitlets
from jaxtyping import Shaped
from matplotlib.figure import Figure
from torch import Tensor

from .fonts import any_script

STATIC = Path(__file__).parent / "static"
PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy"
  content="default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>
{css}
</style>
{body}
</html>
"""
PART = """<script type="application/json" id="state{number}">{state}</script>
<script type="module">
{js}
openPage(build, "{number}");
</script>"""


class View(anywidget.AnyWidget):
    """The base of every interactive view: `class MyView(View, static="my_view")` draws with `static/my_view.js`.

    A view sets `record` and defines `figure`, `summary` and `update`. `static` may name several files, parts that views
    share before the view's own: `static="attention my_view"`.
    """

    record = traitlets.Dict().tag(sync=True)
    """All that is drawn: texts, numbers, lists of them, and tensors that went through `pack`."""

    def __init_subclass__(cls, static: str = "", **kwargs: Any) -> None:
        if static:
            parts = ("base", "heatmap", *static.split())
            texts = {path.name: path.read_text("utf-8") for path in STATIC.iterdir()}
            cls._javascript = "\n".join(texts[f"{name}.js"] for name in parts)
            cls._esm = cls._javascript + "\nexport default { render: life(build) };\n"
            cls._css = "\n".join(texts.get(f"{name}.css", "") for name in parts)
        super().__init_subclass__(**kwargs)

    def figure(self) -> Figure:
        """The view as it stands, as a picture: what is shown where no kernel runs."""
        raise NotImplementedError

    def summary(self) -> str:
        """What is seen, in a few words that are the same in every run: they stand in `repr`."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.summary()})"

    def png(self, dpi: int = 100) -> bytes:
        """The picture as the bytes of a PNG file."""
        file = io.BytesIO()
        any_script(self.figure)().savefig(file, format="png", dpi=dpi)
        return file.getvalue()

    def save_png(self, path: str | Path, dpi: int = 100) -> None:
        """Write the picture to a file."""
        Path(path).write_bytes(self.png(dpi))

    def to_html(self, path: str | Path | None = None) -> str:
        """The view as one HTML page that works alone: no kernel, no network, no other file.

        Args:
            path: where to write it; default: nowhere.

        Returns:
            The page. Every text of the record stands in it as escaped JSON, and is drawn as text.
        """
        body = '<main id="view"></main>\n' + self.page_part()
        page = PAGE.format(title=html.escape(repr(self)), css=self._css, body=body)
        if path is not None:
            Path(path).write_text(page, "utf-8")
        return page

    def page_state(self) -> dict[str, Any]:
        """The traits as they stand in a page: a view whose sliders need Python has here what they would ask for."""
        names = [name for name in self.keys if name != "layout" and not name.startswith("_")]
        return {name: getattr(self, name) for name in names}

    def page_part(self, number: str = "") -> str:
        """What draws the view into the element `view{number}` of a page."""
        return PART.format(number=number, state=_json(self.page_state()), js=self._javascript)

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """Live where widgets run, a picture elsewhere, and a text that is the same in every run."""
        data, metadata = super()._repr_mimebundle_(**kwargs)
        return data | {"image/png": base64.b64encode(self.png()).decode(), "text/plain": repr(self)}, metadata


def pack(numbers: Shaped[Tensor, "..."] | np.ndarray, dtype: str = "float32") -> dict[str, Any]:
    """Numbers as bytes for a record: 4 bytes each, or 2 as "uint16", 1 as "uint8". The browser gets a typed array."""
    array = numbers.detach().cpu().double().numpy() if isinstance(numbers, Tensor) else np.asarray(numbers)
    array = np.ascontiguousarray(array, dtype=np.dtype(dtype).newbyteorder("<"))
    return {"dtype": dtype, "shape": list(array.shape), "data": array.tobytes()}


def unpack(packed: dict[str, Any]) -> Shaped[Tensor, "..."]:
    """The tensor that went through `pack`, in the type that it was sent in."""
    dtype = np.dtype(packed["dtype"]).newbyteorder("<")
    array = np.frombuffer(packed["data"], dtype).reshape(packed["shape"])
    return torch.from_numpy(array.astype(dtype.newbyteorder("=")))


def finite(name: str, tensor: Shaped[Tensor, "..."], dims: int) -> Shaped[Tensor, "..."]:
    """The numbers of a tensor, off the graph and on the CPU: float64 if it is, else float32.

    Raises:
        ValueError: it has another number of axes, an empty one, NaN or infinity.
    """
    if tensor.dim() != dims or tensor.numel() == 0:
        raise ValueError(f"{name} have {dims} axes, none of them empty; got the shape {tuple(tensor.shape)}")
    numbers = tensor.detach().cpu().to(torch.float64 if tensor.dtype == torch.float64 else torch.float32)
    if not numbers.isfinite().all():
        raise ValueError(f"{name} {tuple(tensor.shape)} hold NaN or infinity")
    return numbers


def as_text(token: Any) -> str:
    """What is written for a token; half a letter (a lone surrogate), which no file can hold, becomes a �."""
    return str(token).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def offered(
    kind: Callable[[Any], Any], fits: Callable[[Any], bool], rule: str, chosen: Any, others: Iterable[Any]
) -> list[Any]:
    """What a slider offers: the others and the chosen one, in order, once each, made an `int` or a `float` by `kind`.

    Raises:
        ValueError: one of them does not fit; the rule says what would: "a width is above 0 and finite".
    """
    every = [chosen, *others]
    wrong = [one for one in every if not fits(one)]
    if wrong:
        raise ValueError(f"{rule}, not {wrong[0]}")
    return sorted({kind(one) for one in every})


def token_texts(name: str, tokens: Iterable[Any] | None, count: int, letter: str) -> Sequence[str]:
    """The tokens as texts; where there are none, a letter and a number, from 0.

    Raises:
        ValueError: there are too many or too few of them.
    """
    texts = [f"{letter}{index}" for index in range(count)] if tokens is None else list(map(as_text, tokens))
    if len(texts) != count:
        raise ValueError(f"{len(texts)} {name} do not fit {count} rows: {texts}")
    return texts


def _json(state: dict[str, Any]) -> str:
    """JSON that may stand inside <script>: no text of it can end the element or begin another."""
    text = json.dumps(state, default=lambda data: {"base64": base64.b64encode(data).decode()}, allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
