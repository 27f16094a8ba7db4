"""Checks of lesson 10. The oracles are loops over all sentences: they import nothing that the lesson is about."""

from __future__ import annotations

import itertools
import math
import operator
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import torch
from torch import Tensor

from .checking import Wrong, called, check, has_parts, has_shape, is_close, matches, number, passes, shown
from .plain import Answer, as_numbers

END = "<eos>"
Table = Mapping[str, Mapping[str, float]]  # which word may follow which, and how probable that is

VIEWED: Table = {  # the search that exercise 10.4 looks at
    "<bos>": {"elle": 0.9, "il": 0.1}, "elle": {"lave": 0.7, "mange": 0.3}, "il": {"lave": 0.7, "mange": 0.3},
    "lave": {"la": 0.55, "sa": 0.45}, "mange": {"la": 0.5, "sa": 0.5},
    "la": {"pomme": 0.34, "fille": 0.33, "main": 0.33}, "sa": {"pomme": 0.9, "main": 0.1},
    "pomme": {END: 0.9, "lave": 0.1}, "fille": {END: 0.8, "lave": 0.2}, "main": {END: 0.8, "lave": 0.2},
}  # fmt: skip
MISLED_AT = 3  # the first step at which greedy leaves the best sentence of VIEWED

MISLEADING: Table = {  # greedy search is misled by it: the first view of the lesson
    "<bos>": {"le": 0.55, "un": 0.45}, "le": {"chat": 0.9, "chien": 0.1}, "un": {"chien": 1.0},
    "chat": {"dort": 0.5, "chien": 0.3, END: 0.2}, "chien": {"dort": 0.9, END: 0.1}, "dort": {END: 1.0},
}  # fmt: skip
LONGEST = 4  # words of a sentence, at most; then <eos>


def sentences(table: Table, start: str = "<bos>", longest: int = LONGEST) -> Iterator[tuple[tuple[str, ...], float]]:
    """Every sentence that a table allows, and its probability, <eos> included."""
    for word, probability in table[start].items():
        if word == END:
            yield (), probability
        elif longest:
            for rest, other in sentences(table, word, longest - 1):
                yield (word, *rest), probability * other


def best_sentence(table: Table) -> tuple[tuple[str, ...], float]:
    """The sentence with the highest probability."""
    return max(sentences(table), key=lambda pair: pair[1])


def greedy_sentence(table: Table) -> tuple[tuple[str, ...], float]:
    """What the likeliest next word leads to, and its probability."""
    words, probability = ["<bos>"], 1.0
    while words[-1] != END:
        following = table[words[-1]]
        words.append(max(following, key=lambda word: following[word]))
        probability *= following[words[-1]]
    return tuple(words[1:-1]), probability


# ---- 10.1: the whole beam ----

Gains: TypeAlias = Callable[[Sequence[float]], list[float]]  # logits -> what an extension adds to a sum
Divisor: TypeAlias = Callable[[int, int], float]  # length, number of words -> what divides a sum
Scored: TypeAlias = tuple[tuple[int, ...], float, float]  # tokens, score, sum
Choice: TypeAlias = Callable[[list[Scored], int], Scored]  # what is complete, width -> one of them
Stop: TypeAlias = Callable[[list[tuple[float, float, bool]], float, float, int], bool]  # see `best_by_beam`

FIRST_TOKENS = 0, 4  # seeds of decoders: the likeliest first token of one is 0, of the other 4
TOY_BOS, TOY_EOS, TOY_WORDS = 3, 1, 6  # not the ids of the lesson, so that nobody writes them down
PENALTIES: dict[str, Callable[[int], float]] = {
    "none": lambda length: 1.0,
    "average": float,
    "GNMT, 0.6": lambda length: ((5 + length) / 6) ** 0.6,
}
CASES = (  # seed of the decoder, width, longest, penalty: each mistake below shows in one of them
    (7, 3, 6, "average"), (40, 2, 5, "GNMT, 0.6"), (7, 2, 6, "average"), (3, 2, 5, "average"), (5, 1, 5, "none"),
    (503, 3, 6, "average"), (37, 2, 6, "average"), (6, 500, 4, "none"), (8, 6, 4, "average"),
    (29, 2, 6, "average"), (3, 2, 5, "none"),  # a long one wins; <eos> wins in the first step
)  # fmt: skip


def toy_logits(seed: int, read: tuple[int, ...]) -> list[float]:
    """What the decoder of the check says after these words: `bos` never, and nothing after an impossible word."""
    if TOY_BOS in read:
        return [-math.inf] * TOY_WORDS
    draws = random.Random(f"{seed} {read}")
    shift = draws.uniform(-3, 3)  # logits are no log-probabilities
    logits = [shift + 1.5 * draws.gauss(0, 1) for _ in range(TOY_WORDS)]
    logits[TOY_EOS] += 0.7 * len(read) - 1.5  # the longer the sentence, the likelier its end
    return [-math.inf if token == TOY_BOS else logit for token, logit in enumerate(logits)]


class ToyState:
    """The words that each row has read. `select` keeps rows, as the states of the package do."""

    def __init__(self, rows: Sequence[tuple[int, ...]] | None = None, likeliest: Sequence[int] = ()):
        self.rows: list[tuple[int, ...]] | None = None if rows is None else list(rows)  # None: not even <bos>
        self.likeliest = likeliest  # the tokens after <bos> alone, without <eos>

    def select(self, rows: Answer) -> ToyState:
        """The state with these rows."""
        if not isinstance(rows, Tensor) or rows.dtype not in (torch.int64, torch.int32) or rows.dim() != 1:
            if isinstance(rows, Tensor) and not rows.numel():
                raise Wrong("no hypothesis goes on any more: stop there, before `state.select`.")
            raise Wrong("`state.select` wants whole numbers (`//`, not `/`) in a tensor with one axis: the row that "
                        "each hypothesis extends.")  # fmt: skip
        have = 1 if self.rows is None else len(self.rows)
        if outside := [row for row in rows.tolist() if not 0 <= row < have]:
            if sorted(rows.tolist()) == sorted(self.likeliest[: len(rows)]):
                raise Wrong(f"`state.select` got {rows.tolist()}, which are the *tokens* of the hypotheses that go on: "
                            "give it their *parents*, the rows that they extend, here all 0.")  # fmt: skip
            raise Wrong(f"`state.select` got row {outside[0]}, and the state has {have}: give it the *parent* of each "
                        "hypothesis that goes on, the index in the flat table // the number of tokens.")  # fmt: skip
        return ToyState(None if self.rows is None else [self.rows[row] for row in rows.tolist()])


class ToyDecoder:
    """A decoder whose next word depends on *all* words before. It says at once what no decoder could work with."""

    def __init__(self, seed: int, longest: int, width: int = TOY_WORDS):
        self.seed, self.longest, self.width = seed, longest, width

    def __call__(self, tokens: Answer, state: Answer) -> tuple[Tensor, ToyState]:
        """The logits of the next word, (rows, 1, words), and the new state."""
        if not isinstance(tokens, Tensor) or not isinstance(state, ToyState):
            raise Wrong("call `decoder(tokens, state)` with a tensor of tokens, (rows, 1), and the state.")
        if not tokens.numel():
            raise Wrong("no hypothesis goes on any more, and you asked the decoder again: stop there.")
        if tokens.dim() != 2 or tokens.shape[1] != 1:
            raise Wrong(f"the decoder wants the newest token of each hypothesis alone, with shape (rows, 1): the state "
                        f"remembers the earlier ones. Yours: {tuple(tokens.shape)}.")  # fmt: skip
        newest = [int(token) for token in tokens[:, 0].tolist()]
        before = [()] if state.rows is None else state.rows
        if state.rows is None and {*newest} != {TOY_BOS}:
            raise Wrong(f"this state has read nothing: the first token that it reads is `bos`, here {TOY_BOS}; yours: "
                        f"{newest[0]}. After that, go on with the *new* state that the decoder returns.")  # fmt: skip
        if len(newest) != len(before):
            raise Wrong(_rows_differ(len(newest), len(before), state.rows is None))
        if state.rows is not None and TOY_BOS in newest and self.width < TOY_WORDS - 1:
            raise Wrong("after the first step the decoder got `bos`: give it the newest tokens. If you do: `bos` has "
                        "the probability 0, and better extensions are left. Take the largest sums, and of an index "
                        "into the flat table the parent by `//` and the token by `%`, both with the number of "
                        "*tokens*. Or `log_softmax` runs over the wrong axis: take `-1`.")  # fmt: skip
        if state.rows is not None and TOY_BOS in newest:
            raise Wrong("you go on with a word of probability 0: an extension with the sum minus infinity is "
                        "impossible, so leave it out.")  # fmt: skip
        if TOY_EOS in newest:
            raise Wrong("the decoder got `eos` as the newest token: a complete hypothesis is set aside. It is extended "
                        "no more, and takes no place in the beam.")  # fmt: skip
        if outside := [token for token in newest if not 0 <= token < TOY_WORDS]:
            raise Wrong(f"the decoder got token {outside[0]}, and there are {TOY_WORDS}: an index into the flat table "
                        "gives the parent by `//`, and the token by `%`.")  # fmt: skip
        starts = state.rows is None
        read = [() if starts else (*row, token) for row, token in zip(before, newest, strict=True)]
        if len(read[0]) >= self.longest:
            raise Wrong(f"you go on after {self.longest} tokens, which is `longest`: it counts all tokens, `eos` "
                        "included, and what is still live then counts as complete.")  # fmt: skip
        logits = torch.tensor([toy_logits(self.seed, row) for row in read], dtype=torch.float64)
        likeliest = [token for token in logits[0].argsort(descending=True).tolist() if token != TOY_EOS]
        return logits[:, None], ToyState(read, likeliest if starts else ())


def _rows_differ(tokens: int, rows: int, starts: bool) -> str:
    if starts:
        return (f"you began with {tokens} hypotheses, and there is one: `bos`. Copies of it would have the same "
                "children.")  # fmt: skip
    return (f"the decoder got {tokens} tokens, and its state has {rows} row{'s' * (rows > 1)}: after each step, "
            "`state = state.select(parents)` keeps one row for each hypothesis that goes on.")  # fmt: skip


def _log_softmax(logits: Sequence[float]) -> list[float]:
    top = max(logits)
    if top == -math.inf:
        return list(logits)
    total = top + math.log(sum(math.exp(logit - top) for logit in logits))
    return [logit - total for logit in logits]


def best_by_beam(
    seed: int, width: int, longest: int, penalty: Callable[[int], float], *, gains: Gains | None = None,
    ended: str = "aside", each: bool = False, worst: bool = False, lost: str = "", stop: Stop | None = None,
    cut: bool = False, less: int = 0, greedy: int = 0, free_end: bool = False, running: bool = False,
    divide: Divisor | None = None, choose: Choice | None = None, follow: bool = True,
) -> tuple[list[int], float]:  # fmt: skip
    """A beam search by plain loops: the tokens and the score of the best hypothesis. The options make usual mistakes.

    `gains` makes log-probabilities of logits, `ended` is what becomes of complete hypotheses, `each`
    keeps one child for each parent, `lost` names what is not taken from the parent, `stop` ends too soon (its
    arguments: score and sum of what is complete, and whether it is new; best live sum; penalty of this step; width),
    `cut` drops what still goes on at the end, the first `greedy` steps keep one, `divide` gives the divisor of a
    complete hypothesis, `choose` one of them.
    """
    live: list[tuple[tuple[int, ...], float, tuple[int, ...]]] = [((), 0.0, ())]  # tokens, sum, what the state read
    complete: list[tuple[tuple[int, ...], float, int]] = []  # tokens, sum, length
    divide = divide or (lambda length, words: penalty(length))
    for step in range(1, longest + 1 - less):
        found = []
        for parent, (tokens, total, read) in enumerate(live):
            if tokens[-1:] == (TOY_EOS,):
                found.append((total, parent, None))
                continue
            logits = toy_logits(seed, read)
            for token, gain in enumerate((gains or _log_softmax)(logits)):
                gain = 0.0 if free_end and token == TOY_EOS else gain
                found.append(((0.0 if lost == "sum" else total) + gain, parent, token))
        found.sort(key=lambda one: one[0] if worst else -one[0])
        if each and len(live) > 1:
            found = [next(one for one in found if one[1] == parent) for parent in range(len(live))]
            found.sort(key=lambda one: -one[0])
        room = width - len(complete) if ended == "shrinks" else 1 if step <= greedy else width
        if ended == "refill":
            kept, going = [], 0
            for one in found:
                if going == width:
                    break
                kept.append(one)
                going += one[2] != TOY_EOS
        else:
            kept = found[: max(room, 0)]
        old, live, parents = live, [], []
        for rank, (total, parent, token) in enumerate(kept):
            if token is None:
                live.append(old[parent])
            if token in (None, TOY_BOS):
                continue
            words, _, read = old[rank % len(old) if lost == "words" else parent]
            tokens = (token,) if lost == "all words" else (*words, token)
            read = (*old[parent][2], token)
            if running:
                total = total / penalty(step)
            if token == TOY_EOS:
                complete.append((tokens[:-1], total, step))
                if ended == "stays":
                    live.append((tokens, total, read))
            elif step == longest - less and not cut:
                complete.append((tokens, total, step))
            else:
                live.append((tokens, total, read))
                parents.append(parent)
        if not follow:  # the rows of the state are sorted, and the hypotheses are not
            live = [(tokens, total, (*old[parent][2], read[-1]))
                    for (tokens, total, read), parent in zip(live, sorted(parents), strict=True)]  # fmt: skip
        scores = [(total / penalty(length), total, length == step) for _, total, length in complete]
        if stop and scores and live and stop(scores, live[0][1], penalty(step), width):
            break
        if not [one for one in live if one[0][-1:] != (TOY_EOS,)]:
            break
    if not complete:
        return [], -math.inf
    scored = [
        (tokens, total if running else total / divide(length, len(tokens)), total) for tokens, total, length in complete
    ]
    tokens, score, _ = choose(scored, width) if choose else max(scored, key=lambda one: one[1])
    return list(tokens), score


BEAM_MISTAKES: list[tuple[str, dict[str, Any]]] = [  # Any: options of `best_by_beam` that make a mistake
    ("you kept the best extension of *each* hypothesis: keep the `width` best of *all*; one may have several children, "
     "another none.", {"each": True}),
    ("a complete hypothesis stays in your beam, and takes the place of one that goes on: set it aside.",
     {"ended": "stays"}),
    ("your beam shrinks with each complete hypothesis: keep the `width` best of all extensions in *every* step.",
     {"ended": "shrinks"}),
    ("you let the next best extension take the place of a complete one (`refill`): here a complete one counts among "
     "the `width` of its step.", {"ended": "refill"}),
    ("you return the first complete hypothesis: one that goes on may still win.", {"stop": lambda *_: True}),
    ("you return the best of the first `width` complete hypotheses: one that is complete later may still win.",
     {"stop": lambda done, live, lp, width: len(done) >= width}),
    ("you stop when the best *sum* is that of a complete hypothesis: a live one may still win by its score.",
     {"stop": lambda done, live, lp, width: max(total for _, total, _ in done) >= live}),
    ("you stop when the best extension of a step ends with `eos`: another one may still win by its score.",
     {"stop": lambda done, live, lp, width: any(new and total >= live for _, total, new in done)}),
    ("you stop when the best score is above the best live *sum*: a live sum may still be divided by a large penalty.",
     {"stop": lambda done, live, lp, width: max(done)[0] >= live}),
    ("you stop when the best score is above the best live sum with *today's* penalty: the penalty of a longer "
     "hypothesis may be larger.", {"stop": lambda done, live, lp, width: max(done)[0] >= live / lp}),
    ("you choose among the `width` complete hypotheses with the best *sums*: another one may win by its score.",
     {"choose": lambda scored, width: max(sorted(scored, key=lambda one: -one[2])[:width], key=lambda one: one[1])}),
    ("your first step keeps one hypothesis alone: *every* step keeps the `width` best of all extensions.",
     {"greedy": 1}),
    ("you keep one hypothesis in each step, which is greedy search: keep the `width` best of all extensions.",
     {"greedy": 99}),
    ("what still goes on after `longest` tokens is missing: these hypotheses are complete, too, without `eos`.",
     {"cut": True}),
    *(("you stop one token too soon: `longest` counts all tokens, `eos` included.", {"less": 1, "cut": cut})
      for cut in (False, True)),
    ("the words of the parent are lost: a new hypothesis has the words of the hypothesis that it *extends*, and one "
     "more.", {"lost": "words"}),
    ("only the newest word is left: a new hypothesis has all words of its parent, and one more.",
     {"lost": "all words"}),
    ("the sum of the parent is lost: an extension is worth the sum of its parent *plus* the new log-probability.",
     {"lost": "sum"}),
    ("the rows of the state are in another order than your hypotheses: `select` the parents in the order of the "
     "hypotheses that go on.", {"follow": False}),
    ("you added logits: `log_softmax(-1)` makes log-probabilities of them first.", {"gains": list}),
    ("you added probabilities: add log-probabilities, `log_softmax(-1)`.",
     {"gains": lambda logits: [math.exp(each) for each in _log_softmax(logits)]}),
    ("you kept the *worst* extensions: the largest sums are the best (they are below 0).", {"worst": True}),
    ("you return the worst of the complete hypotheses: the largest score is the best (scores are below 0).",
     {"choose": lambda scored, width: min(scored, key=lambda one: one[1])}),
    ("you return the hypothesis with the best *sum*: divide each sum by its penalty first, then choose.",
     {"choose": lambda scored, width: max(scored, key=lambda one: one[2])}),
    ("you return the hypothesis that was complete last: choose the one with the best score.",
     {"choose": lambda scored, width: scored[-1]}),
    ("the log-probability of `eos` is missing in the sum.", {"free_end": True}),
    ("you divide the running sum in every step: divide once, when a hypothesis is complete.", {"running": True}),
]  # fmt: skip


def _divisors(width: int, longest: int, penalty: Callable[[int], float]) -> list[tuple[str, Divisor]]:
    """What some divide a sum by: functions of the length and the number of words."""
    return [
        ("the penalty is missing: the score is the sum divided by `penalty(T)`.", lambda length, words: 1.0),
        ("you multiplied by the penalty: divide.", lambda length, words: 1 / penalty(length)),
        ("you divided by the penalty of `longest`: each hypothesis has its own length.",
         lambda length, words: penalty(longest)),
        ("you divided by the width of the beam: divide by `penalty(T)`, with the hypothesis's own length.",
         lambda length, words: width),
        ("you divided by the penalty of the *width*: T is the length of the hypothesis.",
         lambda length, words: penalty(width)),
        ("you divided by `longest`, the width of the tensor: each hypothesis has its own length, `penalty(T)`.",
         lambda length, words: longest),
        ("you divided by the length: divide by `penalty(T)`, which need not be the length.",
         lambda length, words: length),
        ("the length is one too small: T counts `eos`.", lambda length, words: penalty(max(length - 1, 1))),
        ("the length is one too small: T counts `eos`.", lambda length, words: penalty(max(words, 1))),
        ("the length is one too large: T counts the words and `eos`, but not `bos`.",
         lambda length, words: penalty(length + 1)),
        ("the length is one too large where a hypothesis has no `eos`: T counts only the tokens that are there.",
         lambda length, words: penalty(words + 1)),
    ]  # fmt: skip


NONE_ENDS = (
    "no hypothesis ends with `eos` here, and {}: what is still live after `longest` tokens counts as complete, too. "
    "Or `log_softmax` runs over the wrong axis: take `-1`."
)


@check("10.1", section="7. When to stop")
def check_beam(beam: Callable[..., Answer]) -> None:
    """Try out `my_beam(decoder, state, bos, eos, width, longest, penalty)` on decoders that remember every word."""
    for wide in (False, True):  # in a wide beam, impossible extensions make mistakes look different
        _examine_cases(beam, [case for case in CASES if (case[1] >= TOY_WORDS) == wide])


def _examine_cases(beam: Callable[..., Answer], cases: Sequence[tuple[int, int, int, str]]) -> None:
    """`Wrong` unless the learner's search finds the right hypotheses."""
    answers = []
    for seed, width, longest, penalty in cases:
        try:
            found = called(beam, ToyDecoder(seed, longest, width), ToyState(), TOY_BOS, TOY_EOS, width, longest,
                           PENALTIES[penalty])  # fmt: skip
        except RuntimeError as error:
            if "selected index k out of range" in str(error):
                raise Wrong("there are fewer extensions than `width`, and `topk` wants more than there are: "
                            "`min(width, table.numel())`.") from error  # fmt: skip
            raise
        except ValueError as error:
            if re.match(r"max\(\).*empty", str(error)):
                _, ended = best_by_beam(seed, width, longest, PENALTIES[penalty], cut=True)
                raise Wrong("you take `max()` of an empty list: ask first whether the list has any hypotheses."
                            if ended > -math.inf else NONE_ENDS.format("you take `max()` of an empty list")
                            ) from error  # fmt: skip
            raise
        except IndexError as error:
            _, ended = best_by_beam(seed, width, longest, PENALTIES[penalty], cut=True)
            if "list index" in str(error) and ended == -math.inf and not _breaks(beam, seed, width, 3 * longest):
                raise Wrong(NONE_ENDS.format("you take the best of an empty list")) from error
            if _parent_is_token(beam):
                raise Wrong("a hypothesis extends a parent that is not there: an index into the flat table gives the "
                            "parent by `//` and the token by `%`, both with the number of *tokens*."
                            ) from error  # fmt: skip
            raise
        answers.append(_examine_hypothesis(found))
    right = [best_by_beam(seed, width, longest, PENALTIES[penalty]) for seed, width, longest, penalty in cases]
    if all(map(_same, answers, right)):
        return
    for place, (said, _) in enumerate([*BEAM_MISTAKES, *_divisors(1, 1, float)]):
        if all(map(_same, answers, (mistaken(place, *case) for case in cases))):
            raise Wrong(said)
    _examine_form(answers, right)
    for (tokens, score), expected, (_, width, longest, penalty) in zip(answers, right, cases, strict=True):
        if not _same((tokens, score), expected):
            raise Wrong(
                f"with width {width}, at most {longest} tokens and the penalty {penalty!r}, the best hypothesis is "
                f"{expected[0]} with the score {expected[1]:.3f}; yours: {tokens} with {score:.3f}."
            )


def _parent_is_token(beam: Callable[..., Answer]) -> bool:
    """Whether a sentence of one token breaks a search unless the token is 0, which is also the parent's row."""
    return [_breaks(beam, seed, 1, 1) for seed in FIRST_TOKENS] == [False, True]


def _breaks(beam: Callable[..., Answer], seed: int, width: int, longest: int) -> bool:
    """Whether a search stops with IndexError."""
    try:
        beam(ToyDecoder(seed, longest, width), ToyState(), TOY_BOS, TOY_EOS, width, longest, float)
    except Exception as error:
        return isinstance(error, IndexError)
    return False


def mistaken(place: int, seed: int, width: int, longest: int, penalty: str) -> tuple[list[int], float]:
    """What a usual mistake finds in a case: first those of the search, then those of the divisor."""
    lp = PENALTIES[penalty]
    if place < len(BEAM_MISTAKES):
        return best_by_beam(seed, width, longest, lp, **BEAM_MISTAKES[place][1])
    return best_by_beam(seed, width, longest, lp, divide=_divisors(width, longest, lp)[place - len(BEAM_MISTAKES)][1])


def _same(one: tuple[list[int], float], other: tuple[list[int], float]) -> bool:
    return one[0] == other[0] and abs(one[1] - other[1]) < 1e-4


def _examine_hypothesis(answer: Answer) -> tuple[list[int], float]:
    """The tokens and the score that the learner's search returns."""
    tokens, score = has_parts(answer, "tokens", "score")
    if isinstance(score, list | tuple) and not isinstance(tokens, list | tuple):
        raise Wrong("first the tokens, then the score: yours are the other way round.")
    listed = as_numbers(tokens)
    if listed is None or listed.dim() > 1:
        raise Wrong("the tokens are a list of ids, such as [4, 2, 5].")
    value = score.item() if isinstance(score, Tensor) and score.numel() == 1 else score
    return [int(token) for token in listed.flatten().tolist()], float(number(value, "the score is a number"))


def _examine_form(answers: list[tuple[list[int], float]], right: list[tuple[list[int], float]]) -> None:
    """`Wrong` if the right hypotheses were found and are written down in another way."""
    scores = [abs(score - expected) < 1e-4 for (_, score), (_, expected) in zip(answers, right, strict=True)]
    words = [tokens == expected for (tokens, _), (expected, _) in zip(answers, right, strict=True)]
    bare = [([token for token in tokens if token not in (TOY_BOS, TOY_EOS)], score) for tokens, score in answers]
    if all(map(_same, bare, right)):
        name = "bos" if any(TOY_BOS in tokens for tokens, _ in answers) else "eos"
        raise Wrong(f"the hypotheses are right. Return their tokens without `{name}`.")
    if all(scores):
        raise Wrong("the scores are right. The tokens should be all words of the hypothesis, without `bos` and `eos`.")
    if all(words):
        if all(abs(math.log(score) - expected) < 1e-4 for (_, score), (_, expected) in zip(answers, right, strict=True)
               if score > 0) and all(score > 0 for _, score in answers):  # fmt: skip
            raise Wrong("the tokens are right, and the scores are probabilities: leave them as log-probabilities.")
        raise Wrong(f"the tokens are right. The scores should be {shown([each for _, each in right])}; yours: "
                    f"{shown([each for _, each in answers])}.")  # fmt: skip


def my_beam(decoder, state, bos, eos, width, longest, penalty):  # noqa: D103  the solution of the lesson
    live, complete = [([bos], 0.0)], []  # the tokens and the sum of each hypothesis
    for step in range(1, longest + 1):
        newest = torch.tensor([[tokens[-1]] for tokens, _ in live])
        logits, state = decoder(newest, state)
        sums = torch.tensor([[total] for _, total in live]) + logits[:, -1].log_softmax(-1)
        best, flat = sums.flatten().topk(min(width, sums.numel()))
        old, live, parents = live, [], []
        for total, index in zip(best.tolist(), flat.tolist()):  # noqa: B905
            parent, token = divmod(index, sums.shape[1])
            if total == -math.inf:
                continue
            if token == eos or step == longest:
                words = old[parent][0][1:] + [token] * (token != eos)
                complete.append((total / penalty(step), words))
            else:
                live.append(([*old[parent][0], token], total))
                parents.append(parent)
        if not live:
            break
        state = state.select(torch.tensor(parents))
    score, tokens = max(complete)
    return tokens, score


def yours_or_ours(beam: Answer) -> Callable[..., tuple[list[int], float]]:
    """The learner's beam search if it passes its check, else ours; says which."""
    right = passes(check_beam, beam)
    print("The beam search of this cell is", "yours." if right else "ours: yours does not pass its check yet.")
    return beam if right else my_beam


# ---- 10.2: one step ----

PARTS = ("totals", "parents", "tokens")


@check("10.2", section="5. The beam")
def check_beam_step(beam_step: Callable[..., Sequence[Tensor]]) -> None:
    """Try out `beam_step(totals, log_probs, finished, eos, width)`: one to three beams, some of them finished."""
    generator = torch.Generator().manual_seed(10)
    for probabilities, totals, finished, eos, width in (
        ([[0.1, 0.47, 0.43], [0.2, 0.5, 0.3]], [-3.0, -0.5], [False, False], 0, 2),  # both from the second
        ([[0.6, 0.3, 0.1], [0.5, 0.3, 0.2]], [-0.4, -0.5], [False, True], 0, 2),
        ([[0.6, 0.3, 0.1], [0.5, 0.3, 0.2]], [-3.0, -0.5], [False, True], 0, 2),  # the finished one is far better
        ([[0.5, 0.3, 0.2]], [-1.0], [False], 0, 2),  # from one beam
        ([[0.6, 0.3, 0.1], [0.5, 0.3, 0.2]], [-1.0, -1e6], [True, False], 0, 2),  # lower than a large negative number
        (torch.rand(3, 7, generator=generator).add(0.05), [-2.0, -1.0, -1.5], [False, False, True], 4, 3),
        ([[0.4, 0.35, 0.25], [0.2, 0.5, 0.3]], [-0.5, -9.0], [False, False], 0, 3),  # all from one of two
        ([[0.6, 0.3, 0.1], [0.5, 0.3, 0.2]], [-0.1, -2.0], [False, True], 0, 3),  # the finished one is last
    ):
        weights = torch.as_tensor(probabilities, dtype=torch.float64)
        log_probs = (weights / weights.sum(1, keepdim=True)).log()
        given = torch.tensor(totals, dtype=torch.float64), log_probs, torch.tensor(finished), eos, width
        parts = [_as_tensor(part) for part in has_parts(called(beam_step, *given), *PARTS)]
        for name, part in zip(PARTS, parts, strict=True):
            has_shape(part, (width,), name, {
                (len(totals), width): "`topk` on a table takes the best of each row, and you want the best of *all* "
                "extensions: `flatten()` the table first.",
                (len(totals),): f"you kept {len(totals)} hypotheses, one for each beam: keep the `width` best of all, "
                f"here {width}.",
            })  # fmt: skip
        _examine_step(torch.stack([part.double() for part in parts]), given)


def _as_tensor(answer: Answer) -> Answer:
    """Lists of numbers, or of tensors with one number, and arrays of NumPy count as tensors."""
    found = None if isinstance(answer, Tensor | str) else as_numbers(answer)
    return answer if found is None else found


def _step(totals, log_probs, finished, eos, width, *, ended="eos", each=False, largest=True, worth=operator.add):
    """One beam step as a loop over all extensions: totals, parents, tokens. The options make usual mistakes.

    `ended` names the extensions that a finished beam has, `each` keeps only the best extension of each beam, and
    `worth` gives the new total from a total and a log-probability.
    """
    extensions = []
    for beam, row in enumerate(log_probs.tolist()):
        total = float(totals[beam])
        own = [(worth(total, log_prob), beam, token) for token, log_prob in enumerate(row)]
        if finished[beam] and ended == "other tokens, too":
            own[eos] = worth(total, 0.0), beam, eos
        elif finished[beam] and ended != "as others":
            tokens = {"eos": [eos], "reset": [eos], "none": [], "every token": range(len(row))}[ended]
            own = [(0.0 if ended == "reset" else worth(total, 0.0), beam, token) for token in tokens]
        extensions += sorted(own, reverse=True)[:1] if each and len(totals) > 1 else own
    extensions.sort(key=lambda extension: -extension[0] if largest else extension[0])
    return [list(part) for part in zip(*extensions[:width], strict=True)]


ADDED = "you added probabilities: add the log-probabilities as they are, without exp."
STEP_MISTAKES: list[tuple[str, dict[str, Any]]] = [  # Any: options of `_step` that make a mistake
    ("you kept the *worst* ones: the largest totals are the best (they are below 0).", {"largest": False}),
    ("the totals are missing: an extension is worth its beam's total *plus* the new log-probability.",
     {"worth": lambda total, log_prob: log_prob}),
    ("you multiplied: probabilities are multiplied, their logarithms are *added*.", {"worth": operator.mul}),
    (ADDED, {"worth": lambda total, log_prob: math.exp(total) + math.exp(log_prob)}),
    (ADDED, {"worth": lambda total, log_prob: total + math.exp(log_prob)}),
    ("these are probabilities: leave the totals as log-probabilities.",
     {"worth": lambda total, log_prob: math.exp(total + log_prob)}),
]  # fmt: skip


def _examine_step(answer: Tensor, given: tuple[Tensor, Tensor, Tensor, int, int]) -> None:
    right = totals, parents, tokens = _step(*given)
    beams, words, eos, width = *given[1].shape, *given[3:]
    if is_close(answer, right):
        return
    best_first = answer[:, answer[0].argsort(descending=True)]
    if is_close(best_first, right):
        raise Wrong("the best should come first; yours are in another order.")
    if is_close(best_first, _step(*given, each=True)):
        raise Wrong("you kept the best extension of *each* beam: keep the best of *all*; two may have one parent.")
    if given[2].any() and is_close(answer[:2], _step(*given, ended="every token")[:2]):
        raise Wrong("a finished beam is extended by every token: only `eos` costs 0, the others are minus infinity.")
    flat = [parent * words + token for parent, token in zip(parents, tokens, strict=True)]
    columns = [token * beams + parent for parent, token in zip(parents, tokens, strict=True)]  # column after column
    indices = "the {} are indices into the flat table: divide by the number of tokens, and take the rest."
    mistakes = [
        ("you extended a finished beam: after <eos> nothing follows but <eos>, and that changes no total.",
         _step(*given, ended="as others")),
        ("a finished beam is still extended by other tokens: only `eos` costs 0, the others are minus infinity.",
         _step(*given, ended="other tokens, too")),
        ("a finished beam is gone: it stays in the race, extended by `eos`, and that changes no total.",
         _step(*given, ended="none")),
        ("the total of a finished beam has become 0: it keeps its total, and only the extension by `eos` costs 0.",
         _step(*given, ended="reset")),
        ("the mask is upside down: `finished` is True where a hypothesis has ended, and you extended only those.",
         _step(*given[:2], ~given[2], eos, width)),
        *((f"`eos` is not always token {other}: here it is {eos}.", _step(*given[:3], other, width))
          for other in range(min(3, words)) if other != eos),
        *((said, _step(*given, ended=ended, **options)) for said, options in STEP_MISTAKES
          for ended in ("eos", "as others")),
        ("parents and tokens are exchanged: the totals come first, then the parents, then the tokens.",
         [totals, tokens, parents]),
        ("the right extensions are kept. Their totals are missing: a total is the beam's total *plus* the new "
         "log-probability.", [[total - float(given[0][parent]) for total, parent in zip(totals, parents, strict=True)],
                              parents, tokens]),
        (indices.format("parents"), [totals, flat, tokens]),
        (indices.format("tokens"), [totals, parents, flat]),
        ("the parents are fractions: take the whole quotient, `//`.", [totals, [i / words for i in flat], tokens]),
        ("the parents are rounded to the nearest number: take the whole quotient, `//`, which rounds down.",
         [totals, [round(i / words) for i in flat], tokens]),
        ("the flat table goes row after row, a row for each beam: the quotient is the parent, the rest is the token, "
         "and you divide by the number of *tokens*.", [totals, [i % beams for i in flat], [i // beams for i in flat]]),
        ("you exchanged the axes before `flatten`: a row for each beam, a column for each token, then `//` and `%`.",
         [totals, [i // words for i in columns], [i % words for i in columns]]),
        *(("you divided by the wrong number: a row of the flat table has one entry for each *token*, "
           "`log_probs.shape[1]`.", [totals, [i // by for i in flat], [i % by for i in flat]])
          for by in (width, beams)),
    ]  # fmt: skip
    off = next((i for i in range(3) if not is_close(answer[i], right[i])), 0)
    yours = answer[off].tolist()
    yours = [int(each) for each in yours] if off and all(each.is_integer() for each in yours) else yours
    matches(answer, right, mistakes, otherwise=f"{'the totals are right. The' if off else 'the'} {PARTS[off]} should "
            f"be {shown(right[off])}; yours: {shown(yours)}.")  # fmt: skip


@check("10.4", section="5. The beam")
def check_misled(answer: object) -> None:
    """Is this the step at which greedy leaves the best sentence of VIEWED, and the score at which it ends?"""
    if not isinstance(answer, tuple | list) or len(answer) != 2:
        raise Wrong("give two numbers in brackets: the step, and the score.")
    step, score = (number(each, "give two numbers, without quotes") for each in answer)
    words, probability = greedy_sentence(VIEWED)
    if step < 0 < score:
        raise Wrong("first the step, then the score: yours are the other way round.")
    if not float(step).is_integer():
        raise Wrong(f"a step is a whole number; yours is {step:g}.")
    if step != MISLED_AT:
        if not 1 <= step <= len(words) + 1:
            raise Wrong(f"the steps are 1 to {len(words) + 1}; yours is {step:g}.")
        if step == MISLED_AT + 1:
            raise Wrong(f"at step {step:g} greedy has left the best sentence already: it left it at the word before.")
        side = "still on the blue path" if step < MISLED_AT else "off it for some time"
        raise Wrong(f"at step {step:g} greedy (G) is {side}. Where does it leave it *first*?")
    one_token = "this stands on a line: the log-probability of one token. Read the box."
    last = VIEWED[words[-1]][END]
    path = [math.log(each) for each in itertools.accumulate(_factors(words), operator.mul)]
    thick = [math.log(each) for each in itertools.accumulate(_factors(best_sentence(VIEWED)[0]), operator.mul)]
    others = [math.log(each) for sentence, each in sentences(VIEWED) if sentence != words]
    matches(score, math.log(probability), [(f"the step is right. The score: {said}", value) for said, value in (
        ("it has a minus: a log-probability is not above 0.", -math.log(probability)),
        ("this is the score of the best sentence; you want greedy's.", math.log(best_sentence(VIEWED)[1])),
        ("this is greedy's score before <eos>: the sentence ends one step later.", math.log(probability / last)),
        *(("this is greedy's score at an earlier step; you want the score at its end.", value) for value in path[1:-2]),
        ("this is a probability; the view shows its logarithm.", probability),
        *((one_token, math.log(each)) for each in _factors(words)),
        *(("this box is on the blue path, and has no G: follow the G to its end.", value) for value in thick),
        *(("this is the end of another sentence, without a G.", value) for value in others),
        ("give two decimals, as the box shows them.", round(math.log(probability), 1)),
    )], within=0.011, otherwise=f"the step is right. The score is not {score:g}: read the last box with a G, at the "
                                "right.")  # fmt: skip


def _factors(words: Sequence[str]) -> list[float]:
    """The probability of each word of a sentence of VIEWED, <eos> included."""
    return [VIEWED[last][word] for last, word in itertools.pairwise(("<bos>", *words, END))]
