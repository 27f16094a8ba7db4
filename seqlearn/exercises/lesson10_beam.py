"""Exercise 10.1, a whole beam search: the usual mistakes, each a method of `PlainBeam` replaced, and the check."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor

from .checking import Wrong, called, check, has_parts, number, passes, shown
from .lesson10_plain import (
    CASES,
    FIRST_TOKENS,
    PENALTIES,
    TOY_BOS,
    TOY_EOS,
    TOY_WORDS,
    Child,
    PlainBeam,
    ToyDecoder,
    ToyState,
    best_by_beam,
    log_softmax,
    new_words,
)
from .plain import Answer, as_numbers

# ---- the usual mistakes: a sentence, and the methods of the search that make the mistake ----


def _best_of_each(self, children, parents):
    ranked = PlainBeam.ranked(self, children, parents)
    if parents == 1:
        return ranked
    return PlainBeam.ranked(self, [next(c for c in ranked if c.parent == row) for row in range(parents)], parents)


def _itself(self, row, parent):
    return [Child(parent.total, row, None)] if parent.length else PlainBeam.children(self, row, parent)


def _as_it_was(self, old, rank, child, step):
    return old[child.parent] if child.token is None else PlainBeam.grown(self, old, rank, child, step)


def _stays(self, grown, token, step, live, complete):
    if token is not None:
        PlainBeam.place(self, grown, token, step, live, complete)
    if token is None or token == TOY_EOS:
        live.append(grown._replace(length=step))


def _refilled(self, children, step, complete):
    ends = [sum(child.token != TOY_EOS for child in children[:place]) for place in range(len(children))]
    return [child for child, before in zip(children, ends, strict=True) if before < self.width]


def _cut(self, grown, token, step, live, complete):
    PlainBeam.place(self, grown, token, step if token == TOY_EOS else 0, live, complete)


def _words_of_another(self, old, rank, child, step):
    words = old[rank % len(old)].words
    return PlainBeam.grown(self, old, rank, child, step)._replace(words=(*words, *new_words(child)))


def _newest_word(self, old, rank, child, step):
    return PlainBeam.grown(self, old, rank, child, step)._replace(words=new_words(child))


def _newest_gain(self, row, parent):
    return PlainBeam.children(self, row, parent._replace(total=0.0))


def _other_rows(self, live, old):
    rows = sorted(each.parent for each in live)
    return [each._replace(read=(*old[row].read, each.read[-1])) for each, row in zip(live, rows, strict=True)]


def _divided_again(self, old, rank, child, step):
    grown = PlainBeam.grown(self, old, rank, child, step)
    return grown._replace(total=grown.total / self.penalty(step))


def _free_end(self, logits):
    return [0.0 if token == TOY_EOS else gain for token, gain in enumerate(log_softmax(logits))]


def _among_the_largest_sums(self, complete):
    return max(sorted(complete, key=lambda each: -each.total)[: self.width], key=self.score)


def _best_score(search, complete):
    return max(search.score(each) for each in complete)


TOO_SMALL = "the length is one too small: T counts `eos`."
ONE_LESS = "you stop one token too soon: `longest` counts all tokens, `eos` included."
MISTAKES: list[tuple[str, dict[str, Callable]]] = [
    (
        "you kept the best extension of *each* hypothesis: keep the `width` best of *all*; one may have several "
        "children, another none.",
        {"ranked": _best_of_each},
    ),
    (
        "a complete hypothesis stays in your beam, and takes the place of one that goes on: set it aside.",
        {"children": _itself, "grown": _as_it_was, "place": _stays},
    ),
    (
        "your beam shrinks with each complete hypothesis: keep the `width` best of all extensions in *every* step.",
        {"kept": lambda self, children, step, complete: children[: max(self.width - complete, 0)]},
    ),
    (
        "you let the next best extension take the place of a complete one (`refill`): here a complete one counts "
        "among the `width` of its step.",
        {"kept": _refilled},
    ),
    (
        "you return the first complete hypothesis: one that goes on may still win.",
        {"stops": lambda self, complete, best, step: True},
    ),
    (
        "you return the best of the first `width` complete hypotheses: one that is complete later may still win.",
        {"stops": lambda self, complete, best, step: len(complete) >= self.width},
    ),
    (
        "you stop when the best *sum* is that of a complete hypothesis: a live one may still win by its score.",
        {"stops": lambda self, complete, best, step: max(each.total for each in complete) >= best},
    ),
    (
        "you stop when the best extension of a step ends with `eos`: another one may still win by its score.",
        {
            "stops": lambda self, complete, best, step: any(
                each.length == step and each.total >= best for each in complete
            )
        },
    ),
    (
        "you stop when the best score is above the best live *sum*: a live sum may still be divided by a large "
        "penalty.",
        {"stops": lambda self, complete, best, step: _best_score(self, complete) >= best},
    ),
    (
        "you stop when the best score is above the best live sum with *today's* penalty: the penalty of a longer "
        "hypothesis may be larger.",
        {"stops": lambda self, complete, best, step: _best_score(self, complete) >= best / self.penalty(step)},
    ),
    (
        "you choose among the `width` complete hypotheses with the best *sums*: another one may win by its score.",
        {"chosen": _among_the_largest_sums},
    ),
    (
        "your first step keeps one hypothesis alone: *every* step keeps the `width` best of all extensions.",
        {"kept": lambda self, children, step, complete: children[: 1 if step == 1 else self.width]},
    ),
    (
        "you keep one hypothesis in each step, which is greedy search: keep the `width` best of all extensions.",
        {"kept": lambda self, children, step, complete: children[:1]},
    ),
    (
        "what still goes on after `longest` tokens is missing: these hypotheses are complete, too, without `eos`.",
        {"place": _cut},
    ),
    (ONE_LESS, {"last": lambda self: self.longest - 1}),
    (ONE_LESS, {"last": lambda self: self.longest - 1, "place": _cut}),
    (
        "the words of the parent are lost: a new hypothesis has the words of the hypothesis that it *extends*, and "
        "one more.",
        {"grown": _words_of_another},
    ),
    (
        "only the newest word is left: a new hypothesis has all words of its parent, and one more.",
        {"grown": _newest_word},
    ),
    (
        "the sum of the parent is lost: an extension is worth the sum of its parent *plus* the new log-probability.",
        {"children": _newest_gain},
    ),
    (
        "the rows of the state are in another order than your hypotheses: `select` the parents in the order of the "
        "hypotheses that go on.",
        {"in_order": _other_rows},
    ),
    (
        "you added logits: `log_softmax(-1)` makes log-probabilities of them first.",
        {"gains": lambda self, logits: logits},
    ),
    (
        "you added probabilities: add log-probabilities, `log_softmax(-1)`.",
        {"gains": lambda self, logits: [math.exp(each) for each in log_softmax(logits)]},
    ),
    (
        "you kept the *worst* extensions: the largest sums are the best (they are below 0).",
        {"ranked": lambda self, children, parents: sorted(children, key=lambda child: child.total)},
    ),
    (
        "you return the worst of the complete hypotheses: the largest score is the best (scores are below 0).",
        {"chosen": lambda self, complete: min(complete, key=self.score)},
    ),
    (
        "you return the hypothesis with the best *sum*: divide each sum by its penalty first, then choose.",
        {"chosen": lambda self, complete: max(complete, key=lambda each: each.total)},
    ),
    (
        "you return the hypothesis that was complete last: choose the one with the best score.",
        {"chosen": lambda self, complete: complete[-1]},
    ),
    ("the log-probability of `eos` is missing in the sum.", {"gains": _free_end}),
    (
        "you divide the running sum in every step: divide once, when a hypothesis is complete.",
        {"grown": _divided_again, "divisor": lambda self, length, words: 1.0},
    ),
    (
        "the penalty is missing: the score is the sum divided by `penalty(T)`.",
        {"divisor": lambda self, length, words: 1.0},
    ),
    ("you multiplied by the penalty: divide.", {"divisor": lambda self, length, words: 1 / self.penalty(length)}),
    (
        "you divided by the penalty of `longest`: each hypothesis has its own length.",
        {"divisor": lambda self, length, words: self.penalty(self.longest)},
    ),
    (
        "you divided by the width of the beam: divide by `penalty(T)`, with the hypothesis's own length.",
        {"divisor": lambda self, length, words: self.width},
    ),
    (
        "you divided by the penalty of the *width*: T is the length of the hypothesis.",
        {"divisor": lambda self, length, words: self.penalty(self.width)},
    ),
    (
        "you divided by `longest`, the width of the tensor: each hypothesis has its own length, `penalty(T)`.",
        {"divisor": lambda self, length, words: self.longest},
    ),
    (
        "you divided by the length: divide by `penalty(T)`, which need not be the length.",
        {"divisor": lambda self, length, words: length},
    ),
    (TOO_SMALL, {"divisor": lambda self, length, words: self.penalty(max(length - 1, 1))}),
    (TOO_SMALL, {"divisor": lambda self, length, words: self.penalty(max(words, 1))}),
    (
        "the length is one too large: T counts the words and `eos`, but not `bos`.",
        {"divisor": lambda self, length, words: self.penalty(length + 1)},
    ),
    (
        "the length is one too large where a hypothesis has no `eos`: T counts only the tokens that are there.",
        {"divisor": lambda self, length, words: self.penalty(words + 1)},
    ),
]


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
            found = called(
                beam, ToyDecoder(seed, longest, width), ToyState(), TOY_BOS, TOY_EOS, width, longest, PENALTIES[penalty]
            )
        except RuntimeError as error:
            if "selected index k out of range" in str(error):
                raise Wrong(
                    "there are fewer extensions than `width`, and `topk` wants more than there are: "
                    "`min(width, table.numel())`."
                ) from error
            raise
        except ValueError as error:
            if re.match(r"max\(\).*empty", str(error)):
                _, ended = best_by_beam(seed, width, longest, PENALTIES[penalty], place=_cut)
                raise Wrong(
                    "you take `max()` of an empty list: ask first whether the list has any hypotheses."
                    if ended > -math.inf
                    else NONE_ENDS.format("you take `max()` of an empty list")
                ) from error
            raise
        except IndexError as error:
            _, ended = best_by_beam(seed, width, longest, PENALTIES[penalty], place=_cut)
            if "list index" in str(error) and ended == -math.inf and not _breaks(beam, seed, width, 3 * longest):
                raise Wrong(NONE_ENDS.format("you take the best of an empty list")) from error
            if _parent_is_token(beam):
                raise Wrong(
                    "a hypothesis extends a parent that is not there: an index into the flat table gives the "
                    "parent by `//` and the token by `%`, both with the number of *tokens*."
                ) from error
            raise
        answers.append(_examine_hypothesis(found))
    right = [best_by_beam(seed, width, longest, PENALTIES[penalty]) for seed, width, longest, penalty in cases]
    if all(map(_same, answers, right)):
        return
    for said, replaced in MISTAKES:
        if all(map(_same, answers, (mistaken(replaced, *case) for case in cases))):
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


def mistaken(
    replaced: Mapping[str, Callable], seed: int, width: int, longest: int, penalty: str
) -> tuple[list[int], float]:
    """What a usual mistake finds in a case."""
    return best_by_beam(seed, width, longest, PENALTIES[penalty], **replaced)


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
        if all(
            abs(math.log(score) - expected) < 1e-4
            for (_, score), (_, expected) in zip(answers, right, strict=True)
            if score > 0
        ) and all(score > 0 for _, score in answers):
            raise Wrong("the tokens are right, and the scores are probabilities: leave them as log-probabilities.")
        raise Wrong(
            f"the tokens are right. The scores should be {shown([each for _, each in right])}; yours: "
            f"{shown([each for _, each in answers])}."
        )


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
