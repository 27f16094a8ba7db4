"""Checks of lesson 09: exercise 9.6, and the others by the names that the lesson calls."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

from . import own_transformer
from .checking import called, check, matches, number, passes
from .lesson09_attention import check_attend
from .lesson09_blocks import check_decoder_block, check_encoder_block
from .lesson09_writing import check_greedy, check_shifted_loss

__all__ = [
    "check_attend",
    "check_block_parameters",
    "check_decoder_block",
    "check_encoder_block",
    "check_greedy",
    "check_shifted_loss",
    "yours_or_ours",
]


def yours_or_ours(*written: Callable) -> SimpleNamespace:
    """The five functions of section 4: the learner's where its check passes, else the folded solution.

    It prints which is whose. The order is that of the exercises: `attend`, `encoder_block`, `decoder_block`,
    `shifted_loss`, `greedy`.
    """
    checks = (check_attend, check_encoder_block, check_decoder_block, check_shifted_loss, check_greedy)
    chosen, whose = {}, []
    for mine, examine, name in zip(written, checks, own_transformer.STEPS, strict=True):
        right = passes(examine, mine)
        chosen[name] = mine if right else getattr(own_transformer, name)
        whose.append(f"{name}: {'yours' if right else 'ours'}")
    print(", ".join(whose))
    return SimpleNamespace(**chosen)


@check("9.6", section="1. The feed-forward network")
def check_block_parameters(count: Callable[[int, int], int]) -> None:
    """Try out `block_parameters(d, f)` with three sizes."""
    for d, f in ((7, 10), (8, 33), (512, 2048)):
        answer = number(called(count, d, f), "return a number")
        right = 4 * d * d + 2 * d * f + f + d + 4 * d
        no_w_o = right - d * d
        mistakes = {
            "the layer norms are missing: each has a gain and a shift.": right - 4 * d,
            "half of the norms is missing: there are *two*, and each has a gain *and* a shift.": right - 2 * d,
            "the biases of the FFN are missing.": right - f - d,
            "these are the matrices alone: the FFN's biases and the norms are missing.": right - f - 5 * d,
            "one matrix of the attention is missing: W_q, W_k, W_v, and W_o, which mixes the heads.": no_w_o,
            "the attention has four matrices (yours three, without W_o), and the layer norms are missing, too.": no_w_o
            - 4 * d,
            "here the attention has no biases.": right + 4 * d,
            "the FFN has two matrices, one there and one back.": right - d * f,
            "one bias of the FFN is missing: the second matrix gives d numbers.": right - d,
            "one bias of the FFN is missing: the first matrix gives f numbers.": right - f,
            "the FFN's second bias has d numbers, not f.": right - d + f,
            "here `f` need not be 4d: use the `f` that is given.": 12 * d * d + 9 * d,
            "an encoder block has *one* attention: the second one is the decoder's.": right + 4 * d * d,
            "this is a decoder block: that of the encoder has one attention and two norms.": right + 4 * d * d + 2 * d,
        }
        otherwise = f"for d = {d} and f = {f} it should be {right:,}; yours: {answer:,}."
        matches(answer, right, mistakes, within=0, otherwise=otherwise)
