"""Exercises 12.3, 12.4 and 12.6, about masks: of a softmax, of padding, and of the future."""

from __future__ import annotations

import functools
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from .checking import check
from .judging import IN_FLOAT64, harmless, in_float64, judge
from .plain import Answer

# ---- 12.3 ----


def _beyond(scores: Tensor, lens: Tensor) -> Tensor:
    """Where a score lies beyond its length."""
    lens = torch.as_tensor(lens).reshape(-1, *[1] * (scores.dim() - 1))
    return torch.arange(scores.shape[-1]) >= lens


def masked_softmax(scores: Tensor, lens: Tensor) -> Tensor:
    """The softmax of each row up to its length."""
    return scores.masked_fill(_beyond(scores, lens), -torch.inf).softmax(-1)


def _row_by_row(scores: Tensor, lens: Tensor) -> Tensor:
    hidden = _beyond(scores, lens)
    return torch.stack([row.masked_fill(no, -torch.inf).softmax(-1) for row, no in zip(scores, hidden, strict=True)])


def _fills_the_last_row(scores: Tensor, lens: Tensor) -> Tensor:
    scores[-1].masked_fill_(_beyond(scores, lens)[-1], -1e6)
    return masked_softmax(scores, lens)


def _takes_powers(scores: Tensor, lens: Tensor) -> Tensor:
    weights = scores.exp_().masked_fill(_beyond(scores, lens), 0)
    return weights / weights.sum(-1, keepdim=True)


@check("12.3", section="3. The same scores, twice", none_counts=True)
def check_scores_stay(test: Answer) -> None:
    """Judge `test(masked_softmax)`: does it see that the caller's scores were changed?"""

    def fills(scores: Tensor, lens: Tensor) -> Tensor:
        return masked_softmax(scores.masked_fill_(_beyond(scores, lens), -1e6), lens)

    right = {
        "": masked_softmax,
        "it copies the scores first, and works in place on the copy": lambda scores, lens: fills(scores.clone(), lens),
        "it works row by row": _row_by_row,
        IN_FLOAT64: functools.partial(in_float64, masked_softmax),
    }
    broken = {
        "it writes a large negative number into the masked scores.": fills,
        "it writes `exp` of each score over the score.": _takes_powers,
        "it subtracts the largest score of each row in place. The weights stay right; the scores do not.": (
            lambda scores, lens: masked_softmax(scores.sub_(scores.amax(-1, keepdim=True)), lens)
        ),
        "it writes into the last row only. Compare the whole tensor.": _fills_the_last_row,
    }
    judge(
        test,
        right=right,
        broken=broken,
        missed="Three usual reasons: `before = scores` makes no copy, only a second name (`scores.clone()` copies); "
        "the lengths in your test mask nothing; or you compare two results, and not the scores before and after.",
        asks="Compare the scores before with the scores after, and nothing else.",
    )


# ---- 12.4 ----


def _padding(keys: Tensor, lens: Tensor) -> Tensor:
    """Where the keys are padding: (batch, 1, keys)."""
    lens, places = torch.as_tensor(lens), torch.arange(keys.shape[1])
    return (places >= lens[:, None])[:, None]


def _masked(scores: Tensor, hidden: Tensor, fill: float = -torch.inf) -> Tensor:
    return scores.masked_fill(hidden, fill).softmax(-1)


def attend(queries: Tensor, keys: Tensor, values: Tensor, lens: Tensor, *, weigh=_masked) -> Tensor:
    """Attention to the real keys; `weigh` makes weights of the scores and of where the padding is."""
    hidden = _padding(keys, lens)
    return weigh(queries @ keys.mT / keys.shape[-1] ** 0.5, hidden) @ values


def _weighed(weigh: Callable[[Tensor, Tensor], Tensor]) -> Callable[..., Tensor]:
    return functools.partial(attend, weigh=weigh)


def _sentence_by_sentence(queries: Tensor, keys: Tensor, values: Tensor, lens: Tensor) -> Tensor:
    lens = torch.as_tensor(lens)
    sizes = enumerate(lens.tolist())
    return torch.cat([attend(queries[[b]], keys[[b], :n], values[[b], :n], lens[[b]]) for b, n in sizes])


def _by_torch(queries: Tensor, keys: Tensor, values: Tensor, lens: Tensor) -> Tensor:
    return F.scaled_dot_product_attention(queries, keys, values, attn_mask=~_padding(keys, lens))


def _by_other_lengths(change: Callable[[Tensor], Tensor]) -> Callable[..., Tensor]:
    return lambda queries, keys, values, lens: attend(queries, keys, values, change(torch.as_tensor(lens)))


@check("12.4", section="4. Attention to nothing", none_counts=True)
def check_padding(test: Answer) -> None:
    """Judge `test(attend)`: does it see that padding changes a context?"""
    right = {
        "": attend,
        "it masks with -1e9": _weighed(functools.partial(_masked, fill=-1e9)),
        "it cuts the padding off, sentence by sentence": _sentence_by_sentence,
        "it calls PyTorch's own attention": _by_torch,
        **harmless(attend),
    }
    broken = {
        "it has no mask at all.": _weighed(lambda scores, hidden: scores.softmax(-1)),
        "it sets the weights of the padding to 0 *after* the softmax: what stands in the padded keys still "
        "changes the other weights. Change the keys of the padding, not only its values.": (
            _weighed(lambda scores, hidden: scores.softmax(-1).masked_fill(hidden, 0))
        ),
        "it sets the scores of the padding to 0. A score of 0 still gets weight. "
        "Change the values of the padding, too.": _weighed(functools.partial(_masked, fill=0)),
        "it masks one column too late: the first `<pad>` is attended. Change all of the padding.": (
            _by_other_lengths(lambda lens: lens + 1)
        ),
        "it uses the length of the first sentence for all. Put a long sentence first, change *all* "
        "the padding of the short one behind it, and compare both.": (
            _by_other_lengths(lambda lens: lens[:1].expand_as(lens))
        ),
        "it masks only what is padding in every sentence. Give your sentences different lengths.": (
            _by_other_lengths(lambda lens: lens.amax().expand_as(lens))
        ),
    }
    judge(
        test,
        right=right,
        broken=broken,
        missed="Does your test have padding (lengths below the number of keys), and does it change what stands there?",
        asks="Contexts stay the same, up to rounding (`torch.allclose`), when finite numbers in the padding change, or "
        "when padding is added. Each sentence has a real key. (0 times infinity is no number: do not fill the padding "
        "with infinity or NaN.)",
    )


# ---- 12.6 ----


def look_back(x: Tensor, *, diagonal: int = 0) -> Tensor:
    """Attention of each step to the steps up to itself, or up to another diagonal of the mask."""
    steps = x.shape[1]
    later = ~torch.ones(steps, steps, dtype=torch.bool).tril(diagonal)
    return _masked(x @ x.mT / x.shape[-1] ** 0.5, later, -1e9) @ x


def _look_everywhere(x: Tensor) -> Tensor:
    return look_back(x, diagonal=x.shape[1])


def _step_by_step(x: Tensor) -> Tensor:
    return torch.cat([_look_everywhere(x[:, : t + 1])[:, -1:] for t in range(x.shape[1])], dim=1)


@check("12.6", section="6. The next throw of a die", none_counts=True)
def check_future(test: Answer) -> None:
    """Judge `test(look_back)`: does it see that a position looks into the future?"""
    right = {
        "": look_back,
        "it computes each position from the steps up to this one": _step_by_step,
        "it calls PyTorch's own attention": lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=True),
        **harmless(look_back),
    }
    broken = {
        "the mask begins one step too late. Change a step, and look at the position right before it.": (
            functools.partial(look_back, diagonal=1)
        ),
        "it has no mask at all.": _look_everywhere,
        "its mask also hides each position from itself. So position 0 may look at nothing, and with "
        "-1e9 in place of minus infinity it looks at *everything*. Compare all positions before the change.": (
            functools.partial(look_back, diagonal=-1)
        ),
        "the mask is right for the first sentence of the batch only. Look at all sentences.": (
            lambda x: torch.cat([look_back(x[:1]), _look_everywhere(x[1:])])
        ),
        "it subtracts the mean over all steps first, and this mean knows the future.": (
            lambda x: look_back(x - x.mean(1, keepdim=True))
        ),
    }
    judge(
        test,
        right=right,
        broken=broken,
        missed="It sees one step ahead: change a step, and compare the position right before this step. (Change it in "
        "a copy, `x.clone()`: `changed = x` is a second name.)",
        asks="When steps change, the positions *before* them stay the same, up to rounding (`torch.allclose`). The "
        "position of the change may change itself. (0 times infinity is no number: do not put infinity or NaN into "
        "the steps.)",
    )
