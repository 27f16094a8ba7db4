"""The checks of lesson 13: right answers of several kinds, and typical wrong ones, each with its own diagnosis."""

import torch
import torch.nn.functional as F

from answers import judged
from seqlearn.exercises import lesson13
from seqlearn.nn.attention import MultiHeadAttention
from seqlearn.nn.decoder_only import DecoderOnlyConfig, decoder_only
from seqlearn.search.sampling import next_distribution

# ---- 13.1 ----


def causal(steps):
    return torch.ones(steps, steps, dtype=torch.bool).tril()


def right_mask(prompt, steps):
    return causal(steps) | (torch.arange(steps) < prompt)


def with_a_loop(prompt, steps):
    return torch.tensor([[key <= query or key < prompt for key in range(steps)] for query in range(steps)])


def in_two_steps(prompt, steps):
    mask = causal(steps)
    mask[:prompt, :prompt] = True
    return mask


MASKS = [
    (right_mask, "right!"),
    (with_a_loop, "right!"),
    (in_two_steps, "right!"),
    (lambda prompt, steps: right_mask(prompt, steps).int(), "should be torch.bool"),
    (lambda prompt, steps: right_mask(prompt, steps)[None], "should have shape (6, 6)"),
    (lambda prompt, steps: right_mask(prompt, steps).flip(0), "row 0, column"),
]


test_prefix_masks = judged(lesson13.check_prefix_mask, "13.1", MASKS)


# ---- 13.2 ----


def each_loss(logits, ids):
    return F.cross_entropy(logits[:-1], ids[1:], reduction="none")


def right_loss(logits, ids, prompt):
    return each_loss(logits, ids)[prompt:].mean()


def with_ignored(logits, ids, prompt):
    labels = ids.clone()
    labels[: prompt + 1] = -100  # what cross_entropy leaves out
    return F.cross_entropy(logits[:-1], labels[1:])


def by_gather(logits, ids, prompt):
    chosen = logits.log_softmax(-1)[:-1].gather(1, ids[1:, None]).squeeze(1)
    return -chosen[prompt:].sum() / (len(ids) - 1 - prompt)


def changes_ids(logits, ids, prompt):
    loss = right_loss(logits, ids, prompt)
    ids[:prompt] = 0
    return loss


def clamped(logits, ids, prompt):
    return F.nll_loss(logits.softmax(-1).clamp(1e-9).log()[prompt:-1], ids[prompt + 1 :])


def exp_by_hand(logits, ids, prompt):
    probs = logits.exp() / logits.exp().sum(-1, keepdim=True)
    return F.nll_loss(probs.log()[prompt:-1], ids[prompt + 1 :])


def one_row_too_many(logits, ids, prompt):  # by itself: a crash is told with its line
    return F.cross_entropy(logits[prompt:], ids[prompt + 1 :])


LOSSES = [
    (right_loss, "right!"),
    (with_ignored, "right!"),
    (by_gather, "right!"),
    (lambda logits, ids, prompt: each_loss(logits, ids)[prompt:], "the losses of the single tokens"),
    (lambda logits, ids, prompt: right_loss(logits, ids, prompt)[None], "should have shape ()"),
    (lambda *args: right_loss(*args).item(), "return a tensor"),
    (lambda *args: right_loss(*args) + 1, "the loss should be"),
    (clamped, "the loss should be 97.08"),
    (exp_by_hand, "the loss should be 97.08"),
    (lambda *args: right_loss(*args).detach(), "the number is right, but no gradient flows"),
    (changes_ids, "`ids` has changed"),
    (one_row_too_many, "one row of logits has no label"),
]


test_target_losses = judged(lesson13.check_target_loss, "13.2", LOSSES)


# ---- 13.4 ----


def nucleus(probs, top_p):
    """The solution, not divided by its sum."""
    found, order = probs.sort(descending=True)
    kept = torch.where(found.cumsum(0) - found < top_p - 1e-6, found, 0.0)
    return torch.zeros_like(probs).scatter(0, order, kept)


def divided(probs):
    return probs / probs.sum()


def with_a_while(probs, top_p):
    kept, total = torch.zeros_like(probs), 0.0
    for token in probs.argsort(descending=True):
        if total >= top_p - 1e-6:
            break
        kept[token] = probs[token]
        total += float(probs[token])
    return kept / total


def by_first_place(probs, top_p):
    found, order = probs.sort(descending=True)
    place = int((found.cumsum(0) >= top_p).nonzero()[0])
    return divided(torch.zeros_like(probs).scatter(0, order[: place + 1], found[: place + 1]))


TOPS = [
    (lambda probs, p: divided(nucleus(probs, p)), "right!"),
    (with_a_while, "right!"),
    (lambda probs, p: next_distribution(probs.log(), top_p=p), "right!"),
    (by_first_place, "your code stopped with IndexError"),
    (lambda probs, p: divided(0 * probs), "no token was kept"),
    (lambda probs, p: divided(nucleus(probs, p))[None], "an axis of size 1 is too many"),
    (lambda probs, p: divided(nucleus(probs, p)).roll(1), "the answer should be"),
    (lambda probs, p: divided(probs.mul_(nucleus(probs, p) > 0)), "`probs` has changed"),
]


test_top_p_filters = judged(lesson13.check_top_p, "13.4", TOPS)


# ---- 13.6 ----

CACHES = [
    ((40, 1.25), "right!"),
    ((40.0, torch.tensor(1.25)), "right!"),
    ((2 * 4 * 2 * 32 * 20 * 4 / 2**10, 2 * 80 * 8 * 128 * 4096 * 2 / 2**30), "right!"),
    ((40, None), "2 is still to come"),
    ((20, 1.25), "keys *and* values"),
    ((80, 1.25), "the query heads share"),
    ((10, 1.25), "every layer"),
    ((2, 1.25), "this is one token"),
    ((1.25, 1.25), "its size is missing"),
    ((320, 1.25), "these are bits"),
    ((40960, 1.25), "these are bytes"),
    ((40.96, 1.25), "divided by a power of 1,000"),
    ((17, 1.25), "17 is not right"),
    ((40, 10), "2: the query heads share"),
    ((40, 5), "2: you counted the query heads"),
    ((40, 1.342), "divided by a power of 1,000"),
    ((40, 1280), "a power of 1,024 is missing"),
    ((40, 0.625), "keys *and* values"),
    ((40, 1.25 / 80), "every layer"),
    ((40, 1.25 / 8), "this is one head"),
    (("40", 1.25), "give a number of KiB"),
]


test_caches = judged(lambda both: lesson13.check_cache(*both), "13.6", CACHES)


def test_the_cache_of_our_model_is_what_a_model_keeps():
    sizes = lesson13.OURS
    model = decoder_only(9, 9, DecoderOnlyConfig(128, 256, 4, sizes["kv_heads"], sizes["layers"]))
    source = torch.zeros(1, sizes["tokens"], dtype=torch.long)
    kept = model.decoder.init_state(model.encoder(source, torch.tensor([sizes["tokens"]]))).cache_bytes
    assert kept == 40 * 1024
    attention = next(module for module in model.modules() if isinstance(module, MultiHeadAttention))
    assert attention.num_heads == lesson13.QUERY_HEADS["ours"]
