"""The checks of lesson 05: right answers in other forms, and typical wrong ones, each with its own diagnosis."""

import json
import math
from pathlib import Path
from statistics import mean

import pytest
import torch
import torch.nn.functional as F

from answers import said_by
from seqlearn.exercises import lesson05

STORED = Path(__file__).parents[2] / "assets" / "experiments" / "bottleneck"


@pytest.mark.parametrize(
    ("answer", "diagnosis"),
    [
        ("3-6", 'at "3-6" the blue line is still above 70'),
        ("13-15", "still above 70: go on to the right"),
        ("19-20", "another group comes before it"),
        ("20-30", '"20-30" is no group of this picture (the one with two lines); they are 3-6, 7-9'),
        ("16-20", "the one with two lines"),
        ("10 to 12", 'at "10-12" the blue line is still above 70'),
        (["16-18"], "of type list"),
        (16, "of type int"),
    ],
)
def test_wrong_readings_of_the_curve(answer, diagnosis, capsys):
    said = said_by(lesson05.check_group, answer, capsys)
    assert said.startswith("Exercise 5.1: not yet.") and diagnosis.lower() in said.lower()


@pytest.mark.parametrize("answer", ["16-18", "16 – 18", "16 to 18", "16-18\n(n=40)"])
def test_right_reading_of_the_curve(answer, capsys):
    assert said_by(lesson05.check_group, answer, capsys) == "Exercise 5.1: right!\n"


def test_the_reading_is_that_of_the_stored_runs():
    runs = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(STORED.glob("no-attention-?.json"))]
    assert {run["label"] for run in runs} == {"no attention"}
    groups = zip(*(run["bins"] for run in runs), strict=True)
    scores = {f"{group[0]['from']}-{group[0]['to']}": mean(part["bleu"] for part in group) for group in groups}
    assert list(scores) == lesson05.GROUPS
    assert [name for name, score in scores.items() if score < 70] == ["16-18", "19-20"]
    assert all(abs(score - 70) > 1.5 for score in scores.values()), "far enough from the line to be read off a picture"


def right_loss(logits, labels, pad):
    """The solution of 5.2."""
    losses = -logits.log_softmax(-1).gather(-1, labels[..., None])[..., 0]
    real = labels != pad
    return (losses * real).sum() / real.sum()


def word_losses(logits, labels):
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="none").view(labels.shape)


def by_log(logs, labels, pad):
    return -logs.gather(-1, labels[..., None])[..., 0][labels != pad].mean()


def first_pad_too(logits, labels, pad):
    real = labels != pad
    return word_losses(logits, labels)[real | ((~real).cumsum(1) == 1)].mean()


def mean_of_means(logits, labels, pad):
    real = labels != pad
    return ((word_losses(logits, labels) * real).sum(1) / real.sum(1)).mean()


def naive_log(logits, labels, pad):
    powers = logits.exp()
    chosen = (powers / powers.sum(-1, keepdim=True)).gather(-1, labels[..., None])[..., 0]
    return -chosen.log()[labels != pad].mean()


def writes(logits, labels, pad):
    loss = right_loss(logits, labels, pad)
    logits.data.zero_()
    return loss


def mean_probability(logits, labels, pad):
    return (-word_losses(logits, labels)).exp()[labels != pad].mean()


WRONG_LOSSES = [
    (lambda logits, labels, pad: word_losses(logits, labels).mean(), "padding is counted like a word"),
    (
        lambda logits, labels, pad: (word_losses(logits, labels) * (labels != pad)).mean(),
        "you divide by all 10 positions; only 8 of them are real",
    ),
    (
        lambda logits, labels, pad: word_losses(logits, labels)[labels != pad].sum(),
        "this is the *sum* over the 8 real tokens",
    ),
    (lambda *args: -right_loss(*args), "the sign is wrong"),
    (mean_of_means, "the mean of the sentences' means"),
    (lambda logits, labels, pad: right_loss(logits, labels, 0), "here <pad> is 1, and 0 is a word"),
    (naive_log, "with logits in the hundreds the loss is nan"),
    (mean_probability, "this is the mean probability"),
    (lambda *args: -mean_probability(*args).log(), "you took the logarithm of the mean"),
    (lambda *args: right_loss(*args) + 1, "the loss should be"),
    (lambda *args: right_loss(*args).detach(), "no gradient flows"),
    (lambda *args: right_loss(*args).item(), "return a tensor: training asks it for its gradient"),
    (
        lambda logits, labels, pad: word_losses(logits, labels),
        "the whole batch, should have shape (); yours: (2, 5)",
    ),
    (lambda logits, labels, pad: word_losses(logits, labels)[(labels != pad) & (labels != 2)].mean(), "left out <eos>"),
    (first_pad_too, "the first <pad> of each sentence is counted"),
    (lambda *args: right_loss(*args) / math.log(2), "the logarithm to base 2"),
    (lambda logits, labels, pad: by_log((logits.softmax(-1) + 1e-9).log(), labels, pad), "or so is added to the prob"),
    (lambda logits, labels, pad: by_log(logits.log_softmax(1), labels, pad), "and not over the steps"),
    (lambda logits, *args: right_loss(logits.softmax(-1), *args), "you took the softmax twice"),
    (
        lambda logits, labels, pad: F.cross_entropy(logits.reshape(len(labels), 4, -1), labels, ignore_index=pad),
        "`reshape` and `view` mix up the numbers",
    ),
    (writes, "`logits` has changed"),
    (lambda logits, labels, pad: F.cross_entropy(logits, labels), "wants the classes on axis 1: flatten both"),
    (lambda logits, labels, pad: by_log(logits.log_softmax(0), labels, pad), "not over the sentences of the batch"),
    (by_log, "these are the logits of the true words themselves"),
    (lambda logits, labels, pad: by_log(logits.softmax(-1), labels, pad), "the mean probability with a minus sign"),
    (lambda logits, labels, pad: -logits.log_softmax(-1).amax(-1)[labels != pad].mean(), "of the *best* word"),
    (lambda logits, labels, pad: word_losses(logits, labels)[labels == pad].mean(), "your mask is upside down"),
    (
        lambda logits, labels, pad: word_losses(logits, labels)[labels != pad].sum() / len(labels),
        "divided by the 2 sentences: divide by the 8 real tokens",
    ),
    (
        lambda logits, labels, pad: word_losses(logits, labels)[labels != pad].sum() / labels.shape[1],
        "divided by the 5 steps",
    ),
    (lambda *args: right_loss(*args) / math.log(10), "the logarithm to base 10"),
    (lambda *args: right_loss(*args).exp(), "the perplexity"),
    (lambda logits, labels, pad: right_loss(logits[:, :-1], labels[:, 1:], pad), "shifted against each other"),
    (
        lambda logits, labels, pad: F.cross_entropy(
            logits.transpose(0, 1).flatten(0, 1), labels.flatten(), ignore_index=pad
        ),
        "flattened in different orders",
    ),
    (
        lambda logits, labels, pad: word_losses(logits, labels)[labels != pad].clamp(max=20).mean(),
        "do not cut off large losses",
    ),
]


@pytest.mark.parametrize(("answer", "diagnosis"), WRONG_LOSSES)
def test_wrong_losses(answer, diagnosis, capsys):
    said = said_by(lesson05.check_masked_loss, answer, capsys)
    assert said.startswith("Exercise 5.2: not yet.") and diagnosis.lower() in said.lower()


@pytest.mark.parametrize(
    "answer",
    [
        right_loss,
        lambda logits, labels, pad: F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=pad),
        lambda logits, labels, pad: word_losses(logits, labels)[labels != pad].mean(),
        lambda logits, labels, pad: right_loss(logits.double(), labels, pad),
        lambda logits, labels, pad: F.cross_entropy(logits.transpose(1, 2), labels, ignore_index=pad),
    ],
)
def test_right_losses(answer, capsys):
    assert said_by(lesson05.check_masked_loss, answer, capsys) == "Exercise 5.2: right!\n"


def right_greedy(step, bos, eos, limit, *, first=None, keep_eos=False, stop=True, carry=True, feed="chosen", pick=int):
    """The solution of 5.3, with a switch for each typical mistake."""
    tokens, token, state = [], bos if first is None else first, None
    while len(tokens) < limit:
        scores, after = step(token, state)
        state = after if carry else state
        chosen = pick(scores.argmax())
        if chosen == eos and stop:
            if keep_eos:
                tokens.append(chosen)
            break
        tokens.append(chosen)
        token = chosen if feed == "chosen" else bos
    return tokens


def without_return(step, bos, eos, limit):
    tokens, token, state = [], bos, None
    for _ in range(limit):
        scores, state = step(token, state)
        token = int(scores.argmax())
        if token == eos:
            return tokens
        tokens.append(token)


def endless(step, bos, eos, limit):
    tokens, token, state = [], bos, None
    while token != 99:
        scores, state = step(token, state)
        token = int(scores.argmax())
        tokens.append(token)
    return tokens


def first_state_kept(step, bos, eos, limit):
    scores, state = step(bos, None)
    tokens = [int(scores.argmax())]
    while len(tokens) < limit:
        scores, _ = step(tokens[-1], state)
        tokens.append(int(scores.argmax()))
    return tokens


def until_the_limit(step, bos, eos, limit):
    tokens = right_greedy(step, bos, eos, limit, stop=False)
    return tokens[: tokens.index(eos)] if eos in tokens else tokens


def chosen_by(choose, step, bos, eos, limit):
    tokens, token, state = [], bos, None
    for _ in range(limit):
        scores, state = step(token, state)
        token = int(choose(scores))
        if token == eos:
            break
        tokens.append(token)
    return tokens


def sampled(scores):
    return torch.multinomial(scores.softmax(-1), 1, generator=torch.Generator().manual_seed(0))


def worst(step, bos, eos, limit):
    return [int(step(bos, None)[0].argmin())]


WRONG_GREEDIES = [
    (lambda *args: [args[1], *right_greedy(*args)], "your list starts with bos (1)"),
    (lambda *args: right_greedy(*args, keep_eos=True), "it does not belong in the list"),
    (lambda *args: right_greedy(*args, stop=False), "eos (2) ends the sentence: stop there"),
    (endless, "your loop never ends"),
    (without_return, "nothing is returned when the limit is reached: put `return` after the loop"),
    (lambda step, bos, eos, limit: right_greedy(step, bos, eos, 50), "with limit 7 there are 7 tokens at most"),
    (lambda step, bos, eos, limit: right_greedy(step, bos, eos, limit - 1), "you stop too early: 7 tokens"),
    (lambda *args: right_greedy(*args, carry=False), "has the state None again"),
    (first_state_kept, "the same old state at each step"),
    (lambda *args: right_greedy(*args, feed="bos"), "step number 2 was given bos (1) again"),
    (lambda *args: right_greedy(*args, first=args[2]), "start with step(bos, None); you called step(2, None)"),
    (lambda *args: right_greedy(*args, pick=lambda best: best), "use `int(scores.argmax())`"),
    (lambda *args: torch.tensor(right_greedy(*args)), "a list of tokens; yours is of type Tensor"),
    (worst, "the best tokens are [4, 4, 3, 5]; yours: [7]"),
    (lambda *args: chosen_by(lambda scores: scores.argmin(), *args), "which has the smallest score"),
    (lambda *args: chosen_by(sampled, *args), "the largest score was that of 4: greedy search takes the best token"),
    (lambda *args: chosen_by(lambda scores: scores.topk(2).indices[1], *args), "no sampling"),
    (lambda *args: chosen_by(lambda scores: scores.max(), *args), "`scores.max()` is its score"),
    (lambda step, *args: right_greedy(lambda *given: step(*given)[::-1], *args), "returns the scores first"),
    (lambda step, *args: right_greedy(lambda token, state: step(state, token), *args), "call step(token, state)"),
    (lambda step, *args: right_greedy(lambda token, state: step([token], state), *args), "you gave it list and"),
    (lambda *args: list(dict.fromkeys(right_greedy(*args))), "a token may come more than once"),
    (lambda *args: [token for token in right_greedy(*args) if token > 2], "you left out tokens by their number"),
    (
        lambda *args: [token for token in right_greedy(*args, stop=False) if token != args[2]],
        "eos (2) ends the sentence: stop there",
    ),
    (until_the_limit, "eos (2) ends the sentence: stop there"),
    (lambda step, bos, eos, limit: right_greedy(step, bos, 2, limit), "eos (7) ends the sentence: stop there"),
    (lambda step, bos, eos, limit: step(bos), "your code stopped with TypeError"),
]


@pytest.mark.parametrize(("answer", "diagnosis"), WRONG_GREEDIES)
def test_wrong_greedies(answer, diagnosis, capsys):
    said = said_by(lesson05.check_greedy, answer, capsys)
    assert said.startswith("Exercise 5.3: not yet.") and diagnosis.lower() in said.lower()


def numpy_tokens(step, bos, eos, limit):
    """Tokens of NumPy's type, and tensors that are fed back."""
    tokens, token, state = [], torch.tensor(bos), None
    while len(tokens) < limit:
        scores, state = step(token, state)
        token = scores.argmax()
        if token == eos:
            break
        tokens.append(scores.numpy().argmax())
    return tokens


def test_right_greedies(capsys):
    def one_call_more(step, bos, eos, limit):
        tokens, state = [bos], None
        for _ in range(limit + 1):
            scores, state = step(tokens[-1], state)
            tokens.append(max(range(len(scores)), key=lambda place: scores[place]))
            if tokens[-1] == eos:
                break
        tokens = tokens[1:]
        return tokens[: tokens.index(eos)] if eos in tokens else tokens[:limit]

    for answer in (right_greedy, one_call_more, numpy_tokens):
        assert said_by(lesson05.check_greedy, answer, capsys) == "Exercise 5.3: right!\n"


def right_step(
    x, h, W, U, *, flip=False, reset="after", order=(0, 1, 2), new=torch.tanh, gate=torch.sigmoid, mix=True, keep="",
    last="", word=1, old=1
):  # fmt: skip
    """The solution of 5.4, with a switch for each typical mistake."""
    of_reset, of_update, of_new = order
    r = gate(word * (W[of_reset] @ x) + old * (U[of_reset] @ h))
    z = gate(word * (W[of_update] @ x) + old * (U[of_update] @ h))
    if keep == "old":
        return z * h
    memory = {
        "after": r * (U[of_new] @ h), "before": U[of_new] @ (r * h), "by z": z * (U[of_new] @ h), "no memory": 0 * h,
        "upside down": (1 - r) * (U[of_new] @ h), "no word": r * (U[of_new] @ h) - W[of_new] @ x,
        "transposed": r * (h @ U[of_new]),
    }.get(reset, U[of_new] @ h)  # fmt: skip
    n = new(r * (W[of_new] @ x + memory) if reset == "everything" else W[of_new] @ x + memory)
    if not mix:
        return n
    if last:
        lines = {"whole": n + z * h, "minus": (1 - z) * n - z * h, "r": (1 - r) * n + r * h}
        return lines.get(last, torch.tanh((1 - z) * n + z * h))
    return z * n + (1 - z) * h if flip else (1 - z) * n + z * h


def in_place(x, h, W, U):
    answer = right_step(x, h, W, U)
    h.copy_(answer)
    return answer


WRONG_STEPS = [
    (lambda *args: right_step(*args, flip=True), "the update gate is upside down"),
    (lambda *args: right_step(*args, reset="none"), "without the reset gate"),
    (lambda *args: right_step(*args, reset="before"), "*before* the product with U"),
    (lambda *args: right_step(*args, order=(1, 0, 2)), "you have mixed up the gates"),
    (lambda *args: right_step(*args, new=lambda x: x), "without the tanh"),
    (lambda *args: right_step(*args, new=torch.sigmoid), "through tanh, not through the sigmoid"),
    (lambda *args: right_step(*args, gate=torch.tanh), "the gates go through the sigmoid"),
    (lambda *args: right_step(*args, mix=False), "these are the new values alone"),
    (lambda *args: args[1], "the new state should be ["),
    (lambda *args: right_step(*args)[None], "the new state should have shape (2,); yours: (1, 2)"),
    (lambda *args: right_step(*args).tolist(), "of type list"),
    (lambda x, h, W, U: right_step(x, h, W, U.mT), "the matrices U are transposed"),
    (lambda *args: right_step(*args, reset="everything"), "you multiplied the input by r, too"),
    (lambda *args: right_step(*args) - right_step(*args, keep="old"), "the old state is missing"),
    (lambda *args: right_step(*args, order=(2, 0, 1)), "you took index 2, 0 and 1"),
    (lambda *args: right_step(*args, order=(0, 0, 0)), "you took index 0, 0 and 0"),
    (lambda x, h, W, U: torch.sigmoid(W[0] * x + U[0] * h), "the matrix product is `@`"),
    (lambda *args: right_step(*args, reset="transposed"), "the matrix U[2] is transposed"),
    (lambda x, h, W, U: right_step(x, h, W.mT if len(x) == len(h) else W, U), "the matrices W are transposed"),
    (lambda x, h, W, U: right_step(x, h, *((W.mT, U.mT) if len(x) == len(h) else (W, U))), "all matrices are transp"),
    (lambda x, h, W, U: right_step(x, h, *((U, W) if len(x) == len(h) else (W, U))), "W and U are exchanged"),
    (
        lambda x, h, W, U: (
            right_step(x, h, W, U) + right_step(x, h, W, U, keep="old") / h * (x - h) if len(x) == len(h) else h
        ),
        "z times h, and not z times x",
    ),
    (lambda *args: right_step(*args, word=0), "the gates see the old state only"),
    (lambda *args: right_step(*args, old=0), "the gates see the word only"),
    (lambda *args: right_step(*args, gate=lambda x: x), "the gates lack the sigmoid"),
    (lambda *args: right_step(*args, new=torch.relu), "not through relu"),
    (lambda *args: right_step(*args, reset="by z"), "you took the update gate z"),
    (lambda *args: right_step(*args, reset="upside down"), "and not 1 - r"),
    (lambda *args: right_step(*args, reset="no word"), "the new values lack the word"),
    (lambda *args: right_step(*args, reset="no memory"), "the new values lack the old state"),
    (lambda *args: right_step(*args, last="whole"), "you added them whole"),
    (lambda *args: right_step(*args, last="minus"), "*plus* z times h"),
    (lambda *args: right_step(*args, last="r"), "you took the reset gate r"),
    (lambda *args: right_step(*args, last="tanh"), "the last line has no tanh"),
    (in_place, "`h` has changed"),
    (lambda x, h, W, U: torch.tanh(W @ x + U @ h), "three vectors came out: take one matrix at a time"),
    (lambda x, h, W, U: torch.cat([W, U]) @ torch.cat([x, h]), "your code stopped with RuntimeError"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("answer", "diagnosis"), WRONG_STEPS)
def test_wrong_gru_steps(answer, diagnosis, capsys):
    said = said_by(lesson05.check_gru_step, answer, capsys)
    assert said.startswith("Exercise 5.4: not yet.") and diagnosis.lower() in said.lower()


def by_torch(x, h, W, U):
    cell = torch.nn.GRUCell(len(x), len(h), bias=False)
    cell.load_state_dict({"weight_ih": W.flatten(0, 1), "weight_hh": U.flatten(0, 1)})
    return cell(x[None], h[None])[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    "answer", [right_step, by_torch, lambda *args: right_step(*(tensor.double() for tensor in args))]
)
def test_right_gru_steps(answer, capsys):
    assert said_by(lesson05.check_gru_step, answer, capsys) == "Exercise 5.4: right!\n"
