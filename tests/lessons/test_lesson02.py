"""The checks of lesson 02: right answers in other forms, and typical wrong ones, each with its own diagnosis."""

import torch

from answers import all_right, judged
from seqlearn.exercises import lesson02
from seqlearn.nn import masked_softmax

INF = float("inf")


def real(scores, lengths, upto=0):
    return (torch.arange(scores.shape[-1]) < lengths[:, None] + upto)[:, None, :]


def from_scratch(scores, lengths, *, stable=True, first="mask", hidden=-INF, upto=0, inverse=False, eps=0.0):
    """The solution of 2.2, with a switch for each typical mistake."""
    may = real(scores, lengths, upto)
    masked = scores.masked_fill(may if inverse else ~may, hidden)
    if stable:
        masked = masked - (masked if first == "mask" else scores).amax(-1, keepdim=True)
    powers = masked.exp()
    return powers / (powers.sum(-1, keepdim=True) + eps)


def by_parts(scores, lengths):
    """Sentence by sentence, with the real keys alone."""
    weights = torch.zeros_like(scores)
    for sentence, length in enumerate(lengths.tolist()):
        part = scores[sentence, :, :length]
        powers = (part - part.amax(-1, keepdim=True)).exp()
        weights[sentence, :, :length] = powers / powers.sum(-1, keepdim=True)
    return weights


def by_logsumexp(scores, lengths, largest=0):
    masked = scores.masked_fill(~real(scores, lengths), -INF)
    if largest:
        powers = (masked - largest(masked)).exp()
        return powers / powers.sum(-1, keepdim=True)
    return (masked - masked.logsumexp(-1, keepdim=True)).exp()


def undivided(scores, lengths):
    masked = scores.masked_fill(~real(scores, lengths), -INF)
    return (masked - masked.amax(-1, keepdim=True)).exp()


def divided(scores, lengths, over):
    powers = undivided(scores, lengths)
    return powers / powers.sum(over, keepdim=True)


def writes(scores, lengths):
    scores[~real(scores, lengths).expand_as(scores)] = -INF
    return scores.softmax(-1)


def renormalised(scores, lengths):
    weights = scores.softmax(-1) * real(scores, lengths)
    return weights / weights.sum(-1, keepdim=True)


def by_the_largest_of_all(scores, lengths):
    masked = scores.masked_fill(~real(scores, lengths), -INF)
    powers = (masked - masked.amax()).exp()
    return powers / powers.sum(-1, keepdim=True)


def no_keepdim_in_the_largest(scores, lengths):
    masked = scores.masked_fill(~real(scores, lengths), -INF)
    powers = (masked - masked.amax(-1)).exp()
    return powers / powers.sum(-1, keepdim=True)


def no_keepdim_in_the_sum(scores, lengths):
    powers = scores.masked_fill(~real(scores, lengths), -INF).softmax(-1)
    return powers / powers.sum(-1)


def over_queries(scores, lengths, hidden=-INF):
    hide = torch.arange(scores.shape[1]) >= lengths[:, None]
    return scores.masked_fill(hide[:, :, None], hidden).softmax(-1)


def over(axis, scores, lengths):
    return scores.masked_fill(~real(scores, lengths), -INF).softmax(axis)


WRONG_SOFTMAXES = [
    (
        lambda scores, lengths: scores.softmax(-1),
        "sums to 1, but sentence 0, row 0 gives 0.27 to a padded key: mask before the softmax",
    ),
    (
        lambda scores, lengths: scores.softmax(-1) * real(scores, lengths),
        "padding gets 0, but sentence 0, row 0 sums to",
    ),
    (renormalised, "where padding has the score 1000"),
    (lambda *args: from_scratch(*args, first="largest"), "mask first, then look for the largest score"),
    (lambda *args: from_scratch(*args, stable=False), "subtract the row's largest score before `exp`"),
    (lambda *args: from_scratch(*args, upto=-1), "are all its keys masked"),
    (lambda scores, lengths: (scores + ~real(scores, lengths) * -INF).softmax(-1), "or do you multiply by -inf?"),
    (lambda *args: from_scratch(*args, inverse=True), "the mask is upside down"),
    (lambda *args: from_scratch(*args, upto=1), "`<`, not `<=`"),
    (lambda *args: from_scratch(*args, hidden=0.0), "a score of 0 hides nothing"),
    (lambda *args: from_scratch(*args, hidden=-1e9), "where all scores are -3.4e+38, padding gets 1.00"),
    (lambda *args: from_scratch(*args, hidden=-1e10), "where all scores are -3.4e+38, padding gets 1.00"),
    (
        lambda scores, lengths: from_scratch(scores, lengths, hidden=torch.finfo(scores.dtype).min),
        "where all scores are -3.4e+38, padding gets 0.33: a large negative number is not low enough",
    ),
    (no_keepdim_in_the_largest, "keepdim=True"),
    (no_keepdim_in_the_sum, "keepdim=True"),
    (lambda scores, lengths: from_scratch(scores, lengths[:1].expand(len(lengths))), "uses the length of sentence 0"),
    (over_queries, "you masked the *queries*"),
    (lambda scores, lengths: over_queries(scores, lengths, hidden=-1e9), "you masked the *queries*"),
    (
        lambda scores, lengths: scores.masked_fill(~real(scores, lengths), -INF).softmax(-1),
        "the task is to do without `softmax`",
    ),
    (
        lambda scores, lengths: torch.nn.functional.softmin((-scores).masked_fill(~real(scores, lengths), INF), -1),
        "the task is to do without `softmax`",
    ),
    (lambda scores, lengths: masked_softmax(scores, lengths), "the task is to do without `softmax`"),
    (
        lambda scores, lengths: by_logsumexp(scores, lengths),
        "and the real keys [1.000, 1.000]: subtract the row's own largest score, then `exp`, then divide",
    ),
    (
        lambda scores, lengths: by_logsumexp(scores, lengths, lambda x: x.amax(-1, True).clamp(min=0)),
        "and the real keys [nan, nan]: subtract the row's own largest",
    ),
    (lambda *args: from_scratch(*args, hidden=-1e4), "a large negative number is not low enough"),
    (lambda scores, lengths: scores.masked_fill(~real(scores, lengths), -INF), "these are the masked scores"),
    (lambda *args: over(1, *args), "your sums of 1 run along axis 1"),
    (lambda *args: over(1, *args).nan_to_num(0.0), "your sums of 1 run along axis 1"),
    (lambda *args: over(0, *args), "your sums of 1 run along axis 0"),
    (
        lambda scores, lengths: from_scratch(scores, lengths) / 3,
        "sentence 0, row 0 should be [1.000, 0.000, 0.000]; yours: [0.333",
    ),
    (lambda *args: from_scratch(*args, eps=1e-3), "row 0 sums to 0.9990: add nothing to the row's sum"),
    (undivided, "row 0 sums to 1.9684: divide each row by its sum"),
    (lambda *args: from_scratch(*args, eps=0.1, stable=False), "add nothing to the row's sum"),
    (lambda *args: divided(*args, ()), "you divide by the sum of several rows: `sum(dim=-1, keepdim=True)`"),
    (lambda *args: divided(*args, (0, 2)), "you divide by the sum of several rows: `sum(dim=-1, keepdim=True)`"),
    (lambda *args: divided(*args, (1, 2)), "you divide by the sum of several rows: `sum(dim=-1, keepdim=True)`"),
    (writes, "`scores` has changed"),
    (
        lambda scores, lengths: scores.masked_fill(~real(scores, lengths)[:, 0], -INF).softmax(-1),
        "row 1 of sentence 0 uses the length of sentence 1: give the mask an axis for the queries",
    ),
    (by_the_largest_of_all, "sentence 0, row 1 is NaN, as another row is far above it: subtract each row's *own*"),
    (lambda *args: from_scratch(*args).tolist(), "return a tensor; yours is of type list"),
    (lambda *args: from_scratch(*args)[:, 0], "should have shape (2, 2, 3); yours: (2, 3)"),
    (lambda scores, lengths: scores + lengths, "your code stopped with RuntimeError"),
]


test_wrong_masked_softmaxes = judged(lesson02.check_masked_softmax, "2.2", WRONG_SOFTMAXES)


test_right_masked_softmaxes = all_right(
    lesson02.check_masked_softmax,
    "2.2",
    [
        from_scratch,
        lambda scores, lengths: from_scratch(scores.double(), lengths),
        by_parts,
    ],
)


def causal(ids, diagonal=0):
    return torch.ones(ids.shape[1], ids.shape[1], dtype=torch.bool).tril(diagonal)


def causal_of_floats(ids, pad):
    return torch.ones(ids.shape[1], ids.shape[1]).tril() & (ids != pad)[:, None]


WRONG_MASKS = [
    (causal_of_floats, "`&` joins bools"),
    (lambda ids, pad: causal(ids), "one mask for all sentences"),
    (lambda ids, pad: (ids != pad)[:, None], "this is the padding alone: & with the causal mask"),
    (lambda ids, pad: ids != pad, "this is the padding alone: & with the causal mask"),
    (lambda ids, pad: causal(ids) & (ids != pad).sort(1, True)[0][:, None], "should be"),
    (lambda ids, pad: causal(ids) & (ids != pad).cumprod(1).bool()[:, None], "should be"),
    (lambda ids, pad: causal(ids, 1) & (ids != pad)[:, None], "row 0, key 1 should be False: that key comes later"),
    (lambda ids, pad: (causal(ids) & (ids != pad)[:, None]).float(), "yours: torch.float32: true or false"),
    (lambda ids, pad: (causal(ids) & (ids != pad)[:, None]).tolist(), "of type list"),
    (lambda ids, pad: (causal(ids) & (ids != pad)[:, None])[:1], "should have shape (2, 4, 4); yours: (1, 4, 4)"),
    (lambda ids, pad: causal(ids) & (ids.clamp_(max=5) != pad)[:, None], "`ids` has changed"),
    (lambda ids, pad: causal(ids) & (ids != pad), "an axis for the queries, `(ids != pad)[:, None, :]`"),
    (lambda ids, pad: causal(ids[:, : len(ids)]) & (ids != pad)[:, None], "the causal mask has to be (4, 4) here"),
    (lambda ids, pad: causal(ids[:, :3]) & (ids != pad)[:, None], "the number of steps is `ids.shape[1]`"),
    (lambda ids, pad: causal(ids) & (ids != pad)[None], "the two masks do not broadcast: give the padding an axis"),
    (lambda ids, pad: causal(ids) @ ids, "your code stopped with RuntimeError"),
]  # fmt: skip


test_wrong_decoder_masks = judged(lesson02.check_decoder_mask, "2.3", WRONG_MASKS)


def by_arange(ids, pad):
    steps = torch.arange(ids.shape[1])
    return (steps <= steps[:, None]) * (ids != pad).unsqueeze(-2)


def by_triu(ids, pad):
    ahead = torch.ones(ids.shape[1], ids.shape[1]).triu(1).bool()
    return ~(ahead | ids.eq(pad).unsqueeze(1))


def mask_by_loops(ids, pad):
    return torch.tensor([[[k <= q and row[k] != pad for k in range(len(row))] for q in range(len(row))] for row in ids])


test_right_decoder_masks = all_right(lesson02.check_decoder_mask, "2.3", [by_arange, by_triu, mask_by_loops])


def repair(scores, mask, *, hidden=-INF, empty=True, in_place=False, dtype=None):
    """The solution of 2.4, with a switch for each typical mistake."""
    if in_place:
        scores[~mask] = hidden
    weights = scores.masked_fill(~mask, hidden).softmax(-1, dtype=dtype)
    return weights.masked_fill(~mask, 0.0) if empty else weights


def as_given(scores, mask):
    """The function as the exercise gives it."""
    scores[~mask] = -1e9
    return scores.softmax(dim=-1)


def by_division(scores, mask):
    """Zeros forward, but 0 / 0 in between: its gradient is NaN."""
    top = scores.masked_fill(~mask, torch.finfo(scores.dtype).min).amax(-1, keepdim=True)
    powers = torch.where(mask, (scores - top).exp(), 0.0)
    return torch.where(mask, powers / powers.sum(-1, keepdim=True), 0.0)


def in_its_own_weights(scores, mask):
    scores = scores.clone()
    scores[~mask] = -INF
    weights = scores.softmax(-1)
    weights[~mask] = 0.0
    return weights


WRONG_REPAIRS = [
    (as_given, "`scores` has changed: work on a new tensor"),
    (lambda scores, mask: as_given(scores.clone(), mask), "nothing to attend to is NaN (torch.float16)"),
    (lambda *args: repair(*args, in_place=True), "argument 1 has changed: work on a new tensor (`x = x + ...`"),
    (lambda *args: repair(*args, empty=False), "fill its weights with 0 after the softmax"),
    (lambda *args: repair(*args, hidden=-1e9), "the dtype torch.float16 cannot hold your constant"),
    (lambda *args: repair(*args, hidden=-1e4, empty=False), "gives 0.33 to a masked key (torch.float16)"),
    (lambda *args: repair(*args, hidden=-1e4), "two scores of -6.6e+04 (torch.float16) should get 0.50 each"),
    (
        lambda scores, mask: repair(scores, mask, hidden=torch.finfo(scores.dtype).min),
        "should get 0.50 each, but get [0.333, 0.333, 0.000]: use -inf, no large negative number",
    ),
    (lambda scores, mask: repair(scores, mask, empty=False) * mask, "NaN times 0 is still NaN"),
    (lambda scores, mask: repair(scores, mask, empty=False).nan_to_num(0.0), "`nan_to_num` does"),
    (lambda *args: repair(*args, dtype=torch.float32), "the weights should be torch.float16; yours: torch.float32"),
    (lambda scores, mask: repair(scores, mask) / 2, "the weights of the rows with real keys are off (torch.float16)"),
    (lambda scores, mask: repair(scores, ~mask), "the mask is upside down: real keys get 0"),
    (
        lambda scores, mask: (scores.softmax(-1) * mask / (scores.softmax(-1) * mask).sum(-1, True)).where(mask, 0.0),
        "should get 0.50 each, but get [nan, nan, 0.000]: mask first, with -inf",
    ),
    (in_its_own_weights, "you wrote into the weights that the softmax still needs"),
    (
        lambda scores, mask: scores.masked_fill(~mask, -INF).softmax(0).masked_fill(~mask, 0.0),
        "your sums of 1 run along axis 0",
    ),
    (by_division, "the gradient holds NaN, from the empty row: first fill the scores, with `masked_fill"),
    (
        lambda scores, mask: (scores + torch.zeros_like(scores).masked_fill(~mask, -INF)).softmax(-1).where(mask, 0.0),
        "the gradient holds NaN, from the empty row: first fill the scores, with `masked_fill",
    ),
    (lambda scores, mask: repair(scores.detach(), mask), "no gradient flows"),
    (lambda scores, mask: repair(scores, mask).tolist(), "of type list"),
    (lambda scores, mask: repair(scores, mask)[0], "should have shape (3, 1, 3)"),
    (lambda scores, mask: scores @ mask, "your code stopped with RuntimeError"),
]


test_wrong_repairs = judged(lesson02.check_repaired, "2.4", WRONG_REPAIRS)


def with_where(scores, mask):
    hidden = ~mask & mask.any(-1, keepdim=True)
    return torch.where(mask, torch.where(hidden, -INF, scores).softmax(-1), 0.0).to(scores.dtype)


def row_by_row(scores, mask):
    """The empty rows are never looked at."""
    weights, some = torch.zeros_like(scores), mask.any(-1)
    weights[some] = scores[some].masked_fill(~mask[some], -INF).softmax(-1)
    return weights


test_right_repairs = all_right(lesson02.check_repaired, "2.4", [repair, with_where, row_by_row])
