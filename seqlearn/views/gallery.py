"""All views on one page, to show them to others, and to try them without Python."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from pathlib import Path

import torch

from ..beams import Tree
from ..decoding import beam_search, gnmt
from ..nn.positions import sinusoids
from ..translator import Translator
from .attention.view import AttentionView
from .beam.view import BeamView
from .kernel.view import KernelView
from .position.view import PositionView
from .shared.base import View
from .shared.page import page_of
from .shared.types import Style
from .softmax.view import SoftmaxView
from .steps.view import AttentionSteps
from .translator.view import TranslatorView

SENTENCE, FRENCH = "The girl washes the red apple and eats it.", "La fille lave la pomme rouge et la mange."
INTRO = (
    "Point at the views below with the mouse or the keyboard; they work without a network. In a lesson the views show "
    "your own tensors, and Python knows what you chose. What needs Python, such as a new sentence, is off here."
)
LAYOUT = """
body { margin: 0 auto; padding: 0 16px 40px; max-width: 1240px; font: 16px/1.5 system-ui, sans-serif; }
body > header p, section > p { max-width: 44em; }
section { margin-top: 40px; }
@media (max-width: 400px) { body { padding: 0 0 40px; } body > header, section > h2, section > p { padding: 0 10px; } }
@media screen and (prefers-color-scheme: dark) { body { color: #ececec; background: #161616; } a { color: #6db8ff; } }
"""


def gallery(
    views: Sequence[tuple[str, View]],
    path: str | Path | None = None,
    title: str = "seqlearn: seeing attention",
    intro: str = INTRO,
) -> str:
    """Several views on one HTML page that works alone, like `View.to_html`.

    Args:
        views: tuples of a sentence about a view, and the view.
        path: the file to write; default: none.
        title, intro: the texts above the views.
    """
    names = [type(view).__name__ for _, view in views]
    links = "\n".join(f'<li><a href="#part{i}">{html.escape(name)}</a></li>' for i, name in enumerate(names))
    sections = "\n".join(
        f'<section>\n<h2 id="part{i}">{html.escape(names[i])}</h2>\n<p>{html.escape(text)}</p>\n'
        f'<div id="view{i}"></div>\n</section>\n{view.page_part(str(i))}'
        for i, (text, view) in enumerate(views)
    )
    body = (
        f"<header>\n<h1>{html.escape(title)}</h1>\n<p>{html.escape(intro)}</p>\n"
        f'<nav aria-label="views">\n<ul>\n{links}\n</ul>\n</nav>\n</header>\n<main>\n{sections}\n</main>'
    )
    css = "\n".join(dict.fromkeys([*(view._css for _, view in views), LAYOUT]))
    page = page_of(title, css, body)
    if path is not None:
        Path(path).write_text(page, "utf-8")
    return page


def all_views() -> list[tuple[str, View]]:
    """One view of each kind, with a sentence about it, on the Transformer that comes with the course."""
    translator = Translator.pretrained("transformer", "cpu")
    kinds = [translator.attend(SENTENCE, FRENCH, kind) for kind in ("cross", "encoder", "causal")]
    queries, keys = torch.tensor([[2.0, 0], [0, 2]]), torch.tensor([[1.0, 0], [1, 1], [0, 2]])
    steps = AttentionSteps(queries, keys, torch.eye(3), torch.tensor([2, 3]), ["one", "two"], ["a", "b", "c"])
    steps.step = 3
    x = torch.linspace(0, 5, 50)
    noisy = x.sin() + 0.3 * (9 * x).sin()
    zebra = "The zebra washes the apple."
    search, words = tree_search(translator, zebra), translator.target.vocab.tokens
    return [
        (
            "A trained model translates. Which words did it look at, and what else could it have said? Lesson 00.",
            TranslatorView(translator, SENTENCE, beam=4, step=8),
        ),
        (
            "Every head of every layer: who looks at whom? Lessons 06, 07, 09 and 11.",
            AttentionView(*kinds, kind="encoder", locked=["query", 8]),
        ),
        (
            "Scores become attention weights, and a mask takes keys out. Lesson 02.",
            SoftmaxView(torch.tensor([2.0, 1.0, 3.0, 0.5]), ["the", "red", "apple", "<pad>"], torch.arange(4) < 3),
        ),
        ("One attention, step by step, with all its numbers. Lesson 04.", steps),
        ("An average that knows what you ask for, narrow or wide. Lesson 03.", KernelView(x, noisy, x, width=0.3)),
        ("Positions as waves, and the rotation from one to another. Lesson 08.", PositionView(sinusoids(50, 32))),
        (
            "The search for a translation, as a tree that grows. Lesson 10.",
            BeamView(search, words, alphas=(0.0, 0.6), source=zebra),
        ),
    ]


def tree_search(translator: Translator, sentence: str) -> Callable[[int, float], Tree]:
    """The function that a `BeamView` of this sentence calls: it takes a width and an alpha, and returns the `Tree`."""
    vocab, ids = translator.target.vocab, torch.tensor([translator.source.encode(sentence)], device=translator.device)
    options: Style = {"bos": vocab.bos, "eos": vocab.eos, "forbidden": (vocab.pad, vocab.bos)}

    def search(width: int, alpha: float) -> Tree:
        trees: list[Tree] = []
        given = options | {"width": width, "length_penalty": gnmt(alpha), "trace": trees}
        beam_search(translator.model, ids, torch.tensor([ids.shape[1]]), **given)
        return trees[0]

    return search
