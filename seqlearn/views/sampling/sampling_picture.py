"""The picture of `SamplingView`: a bar for the probability of each of the likeliest tokens, and one for all others."""

from __future__ import annotations

from collections.abc import Sequence

from jaxtyping import Float
from matplotlib.figure import Figure
from torch import Tensor

from ..shared.colours import TRAIN
from ..shared.fonts import any_script, short_label

BEFORE = "#595959"  # the outline of a probability before sliders were moved


@any_script
def sampling_picture(
    tokens: Sequence[str],
    shown: Sequence[int],
    probs: Float[Tensor, "vocab"],
    before: Float[Tensor, "vocab"],
    settings: str,
) -> Figure:
    """The distribution of the next token as bars, with an outline of the probability at temperature 1 without a cut.

    Args:
        shown: the ids of the tokens with a bar of their own.
        settings: temperature, top-k and top-p in words.
    """
    every = groups_of(shown, len(tokens))
    kept = [ids for ids in every if (probs[ids] > 0).any()]
    now, then = ([float(numbers[ids].sum()) for ids in kept] for numbers in (probs, before))
    labels = [short_label(tokens[ids[0]], 24) for ids in kept[: len(shown)]] + [
        rest_name(len(ids)) for ids in kept[len(shown) :]
    ]
    figure = Figure(figsize=(7.5, 1.7 + 0.27 * len(kept)), layout="constrained")
    ax = figure.subplots()
    rows, end = range(len(kept)), scale_of([*now, *then])
    ax.barh(rows, now, height=0.45, color=TRAIN, label="probability")
    ax.barh(rows, then, color="none", edgecolor=BEFORE, label="probability at temperature 1, nothing removed")
    for row in rows:
        ax.text(1.02 * end, row, written(now[row]), va="center")
    removed = len(tokens) - int((probs > 0).sum())
    if len(kept) < len(every):
        labels.append(f"{removed} removed")
        rows = range(len(kept) + 1)
    ax.set_yticks(rows, labels)
    ax.invert_yaxis()
    ax.set(xlim=(0, 1.14 * end), xlabel="probability of the next token")
    ax.set_title(f"{short_message(probs, tokens)}\n{settings}")
    ax.set_xticks([tick / 5 * end for tick in range(6)])
    ax.grid(False, axis="y")
    figure.legend(loc="outside lower center", ncols=3)
    return figure


def groups_of(shown: Sequence[int], count: int) -> list[list[int]]:
    """The ids behind each bar: one bar for each token that is shown, and a last one for all others if there are any."""
    rest = sorted(set(range(count)) - set(shown))
    return [[i] for i in shown] + ([rest] if rest else [])


def rest_name(count: int) -> str:
    """The name of the last bar."""
    return "the other token" if count == 1 else f"the other {count} together"


def scale_of(numbers: Sequence[float]) -> float:
    """Where the axis ends: at 0.5 if all bars are shorter, else at 1."""
    return 0.5 if max(numbers) <= 0.5 else 1.0


def written(probability: float) -> str:
    """A probability with 3 decimals; a small one is not written as 0."""
    return "<0.001" if 0 < probability < 0.0005 else f"{probability:.3f}"


def short_message(probs: Float[Tensor, "vocab"], tokens: Sequence[str]) -> str:
    """How many tokens are left, and the likeliest one, as in the live view."""
    left, count = int((probs > 0).sum()), len(probs)
    best = int(probs.sort(descending=True, stable=True).indices[0])
    name, most = short_label(tokens[best], 24), written(float(probs[best]))
    if left == 1:
        return f"1 of {count} tokens is left: “{name}”, with {most}"
    return f"{left} of {count} tokens are left; the likeliest, “{name}”, has {most}"
