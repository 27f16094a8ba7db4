"""The checks of lesson 06: right answers in other forms, and typical wrong ones, each with its own diagnosis."""

import math
import re
from pathlib import Path

import nbformat
import pytest
import torch

from answers import all_right, judged
from seqlearn import Translator
from seqlearn.exercises import checking, lesson06

CELLS = {
    cell.id: cell.source
    for cell in nbformat.read(Path(__file__).parents[2] / "notebooks" / "06-bahdanau-attention.ipynb", 4).cells
}

INF = float("inf")


def step(query, keys, values, W_q, W_k, w_v, length, *, hidden=-INF, after=False):
    """The solution of 6.1; `after`: the mask comes after the softmax."""
    scores = torch.tanh(W_q @ query + keys @ W_k.T) @ w_v
    real = torch.arange(len(keys)) < length
    weights = scores.softmax(0) * real if after else scores.masked_fill(~real, hidden).softmax(0)
    return weights, weights @ values


def with_weights(change):
    """The solution with other weights: a function of the right weights and of the arguments."""

    def answer(*args):
        weights = change(step(*args)[0], *args)
        return weights, weights @ args[2]

    return answer


def with_context(change):
    """The solution with another context: a function of the right weights, the values and the arguments."""

    def answer(*args):
        weights = step(*args)[0]
        return weights, change(weights, args[2], args)

    return answer


def scores_of(query, keys, values, W_q, W_k, w_v, length):
    return torch.tanh(W_q @ query + keys @ W_k.T) @ w_v


def real_of(args):
    return torch.arange(len(args[1])) < args[-1]


def times_infinity(query, keys, values, W_q, W_k, w_v, length):
    scores = scores_of(query, keys, values, W_q, W_k, w_v, length) + (torch.arange(len(keys)) >= length) * -INF
    return scores.softmax(0), scores.softmax(0) @ values


def no_w_v(query, keys, values, W_q, W_k, w_v, length):
    weights = torch.tanh(W_q @ query + keys @ W_k.T).softmax(0)
    return weights, weights.T @ values


def a_column(query, keys, values, W_q, W_k, w_v, length):
    weights = step(query, keys, values, W_q, W_k, w_v, length)[0][:, None]
    return weights, (weights * values).sum(0)


def entry_by_entry(query, keys, values, *rest):
    weights, _ = step(query, keys, values, *rest)
    return weights, weights * values


def in_place(query, keys, *rest):
    answer = step(query, keys, *rest)
    keys *= 2
    return answer


WRONG_STEPS = {
    "no mask": (lambda *args: step(*args[:-1], len(args[1])), "lies on padding: mask before the softmax"),
    "masked after the softmax": (lambda *args: step(*args, after=True), "mask the scores, then take the softmax"),
    "hidden by -20": (lambda *args: step(*args, hidden=-20.0), "padding still gets a little weight"),
    "hidden by -100": (lambda *args: step(*args, hidden=-100.0), "padding still gets a little weight"),
    "0 times inf": (times_infinity, "0 times -inf is NaN"),
    "exp alone": (
        with_weights(lambda w, *args: scores_of(*args).exp() * real_of(args)), "mask the scores, then take the softmax"
    ),
    "exp alone, nowhere masked": (with_weights(lambda w, *args: scores_of(*args).exp()), "not to 1: take the softmax"),
    "no w_v": (no_w_v, "`@ w_v` turns the vector of each key into one score"),
    "even": (with_weights(lambda w, *args: torch.full_like(w, 1 / len(w))), "of it lies on padding"),
    "a column": (a_column, "the weights should be a vector"),
    "one thing": (lambda *args: step(*args)[0], "return two things"),
    "exchanged": (lambda *args: step(*args)[::-1], "weights, one for each key, should have shape (5,); yours: (6,)"),
    "context of keys": (with_context(lambda w, v, args: w @ args[1]), "shape of a key: sum up weight times *value*"),
    "not added up": (with_context(lambda w, v, args: w[:, None] * v), "add the weighted values up, over the keys"),
    "one number": (with_context(lambda w, v, args: v.sum()), "should have shape (6,); yours: ()"),
    "other weights": (
        with_context(lambda w, v, args: scores_of(*args).softmax(0) @ v), "weights are right, but the context is not"
    ),
    "in place": (in_place, "`keys` has changed"),
    "* for @": (entry_by_entry, "`*` multiplies entry by entry"),
    "64 bits": (lambda *args: [x.double() for x in step(*args)], "the weights should be torch.float32"),
    "sizes": (lambda query, keys, *rest: query @ keys, "your code stopped with RuntimeError"),
}  # fmt: skip


test_wrong_attention_steps = judged(lesson06.check_attention_step, "6.1", WRONG_STEPS.values(), ids=WRONG_STEPS)


def by_loops(query, keys, values, W_q, W_k, w_v, length):
    scores = [float(w_v @ torch.tanh(W_q @ query + W_k @ key)) for key in keys[:length]]
    powers = [math.exp(score) for score in scores]
    weights = torch.tensor([power / sum(powers) for power in powers] + [0.0] * (len(keys) - length))
    return [weights, sum(weight * value for weight, value in zip(weights, values, strict=True))]


def renormalised(*args):
    weights = step(*args, after=True)[0]
    weights = weights / weights.sum()
    return weights, torch.einsum("k,kv->v", weights, args[2])


def real_keys_alone(query, keys, values, W_q, W_k, w_v, length):
    scores = torch.einsum("kh,h->k", torch.tanh(torch.einsum("kd,hd->kh", keys[:length], W_k) + W_q @ query), w_v)
    weights = torch.cat([scores.softmax(0), scores.new_zeros(len(keys) - length)])
    return weights, (weights[:, None] * values).sum(0)


def side_by_side(query, keys, values, W_q, W_k, w_v, length):
    """[W_q W_k] [q; k] = W_q q + W_k k, as in the paper."""
    both = torch.cat([query.expand(len(keys), -1), keys], 1) @ torch.cat([W_q, W_k], 1).T
    scores = (both.tanh() * w_v).sum(1)
    scores = torch.where(torch.arange(len(keys)) < length, scores, -INF)
    return scores.softmax(-1), torch.matmul(scores.softmax(-1), values)


RIGHT_STEPS = [lesson06.attention_step, step, by_loops, renormalised, real_keys_alone, side_by_side]


test_right_attention_steps = all_right(lesson06.check_attention_step, "6.1", RIGHT_STEPS)


def test_ours_is_the_folded_solution():
    solution = re.search(r"<summary>Solution</summary>\s*```python\n(.*?)```", CELLS["l06-69"], re.DOTALL)[1]
    head, body = solution.strip().split("\n", 1)
    code = Path(lesson06.__file__).read_text("utf-8")
    assert head in code and body in code and CELLS["l06-67"].splitlines()[0] == head


@pytest.mark.parametrize("answer", [lambda *args: None, lambda *args: 1 / 0, lambda *args: step(*args, after=True)])
def test_who_is_stuck_goes_on_with_our_step(answer, capsys):
    assert lesson06.yours_or_ours(answer).attention_step is lesson06.attention_step
    assert capsys.readouterr().out == "attention_step: ours\n" and not checking._wrong_tries


@pytest.fixture(scope="module")
def trained():
    """The translator with attention that comes with the course."""
    return Translator.pretrained("bahdanau", "cpu")


@pytest.mark.parametrize("answer", RIGHT_STEPS)
def test_a_trained_translator_looks_through_the_learners_function(answer, trained, capsys):
    """The lesson's own cells, with stored weights: same logits to 1e-5, with padding or without; same translations."""
    my = lesson06.yours_or_ours(answer)
    assert my.attention_step is answer and capsys.readouterr().out == "attention_step: yours\n"
    names = {"my": my, "torch": torch, "translator": trained}
    exec(CELLS["l06-26"], names)
    exec(CELLS["l06-y5"], names)
    target = torch.tensor([1, *trained.target.encode("La fille mange la pomme.")])
    ids = trained.source.encode("The girl eats the apple.")
    source, lens = torch.tensor([ids + [0] * 4]), torch.tensor([len(ids)])
    with torch.no_grad():
        mine = names["all_steps"](trained.model.decoder, trained.model.encoder(source, lens), len(ids), target)
        theirs = trained.model(source, lens, target[None])[0]
    assert (mine - theirs).abs().max() < 1e-5
    sentences = ["The old man gives the white cat to Marie.", "The bird drank some water because it was thirsty."]
    assert [names["write"](text) for text in sentences] == trained.translate_all(sentences)


def link(weights, target, source, *, eos_row=False, eos_column=False):
    """The solution of 6.2, with or without the row and the column of <eos>."""
    weights = weights[: None if eos_row else -1, : None if eos_column else -1]
    return [(target[q], source[int(row.argmax())]) for q, row in enumerate(weights)]


def in_place_links(weights, target, source):
    target.pop()
    return link(weights, [*target, "<eos>"], source)


WRONG_LINKS = {
    "row of eos": (lambda *args: link(*args, eos_row=True), "leave its row out"),
    "column of eos": (lambda *args: link(*args, eos_column=True), "leave its column out *before*"),
    "sorted": (lambda *args: sorted(link(*args), key=lambda pair: pair[1]), "in another order"),
    "dictionary": (lambda *args: dict(link(*args)), "a dictionary keeps one entry"),
    "tensor": (lambda w, t, s: w[:-1, :-1].argmax(-1), "yours is a tensor: look up the words"),
    "words alone": (lambda *args: [chosen for _, chosen in link(*args)], "a list of pairs"),
    "set": (lambda *args: set(link(*args)), "yours is of type set"),
    "first two": (lambda *args: link(*args)[:2], "3 links; yours: 2"),
    "first three": (lambda *args: link(*args)[:3], "4 links; yours: 3"),
    "all above a bound": (
        lambda w, t, s: [(t[q], s[k]) for q, k in (w[:-1, :-1] > 0.15).nonzero().tolist()], "3 links; yours: 4"
    ),
    "all that are largest": (
        lambda w, t, s: [(t[q], s[k]) for q, k in (w[:-1, :-1] == w[:-1, :-1].amax(1, True)).nonzero().tolist()],
        "2 target words, so 2 links; yours: 3",
    ),
    "the example alone": (
        lambda *args: [("la", "red"), ("pomme", "red"), ("rouge", "apple")], "there are 4 target words"
    ),
    "by guess": (lambda *args: [("la", "the"), ("pomme", "the"), ("rouge", "the")], "the links should be"),
    "in place": (in_place_links, "`target` has changed"),
    "crash": (lambda w, t, s: link(w, t, s[:1]), "your code stopped with IndexError"),
}  # fmt: skip


test_wrong_links = judged(lesson06.check_links, "6.2", WRONG_LINKS.values(), ids=WRONG_LINKS)


def links_by_loops(weights, target_tokens, source_tokens):
    found = []
    for word, row in zip(target_tokens, weights.tolist(), strict=True):
        if word != "<eos>":
            best = max(range(len(row) - 1), key=lambda index: row[index])
            found.append([word, source_tokens[best]])
    return found


def by_numpy(weights, target, source):
    best = weights[:-1, :-1].numpy().argmax(-1)
    return [(target[q], source[k]) for q, k in enumerate(best)]


def eos_by_infinity(weights, target, source):
    weights = weights.clone()
    weights[:, -1] = -INF
    return tuple(link(weights, target, source, eos_column=True))


test_right_links = all_right(lesson06.check_links, "6.2", [link, links_by_loops, by_numpy, eos_by_infinity])


def test_after_three_wrong_tries_the_section_is_named_and_right_starts_anew(capsys):
    for _ in range(3):
        lesson06.check_links(lambda *args: [])
    said = capsys.readouterr().out
    assert said.count("Read") == 1 and '"8. Links, and how many of them are right"' in said
    lesson06.check_links(link)
    lesson06.check_links(lambda *args: [])
    assert "Read" not in capsys.readouterr().out
