"""Exercises 9.4 and 9.5: the loss, and greedy search. The oracles import nothing that the lesson is about."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from .checking import Wrong, called, check, has_gradient, has_shape, matches
from .plain import Answer, is_close

# ---- 9.4 the loss, shifted by one word ----

PADDING = 5  # an id that is not 0, which is a word here
TARGET = ([1, 0, 4, 2, PADDING, PADDING], [1, 3, 3, 8, 6, 2])  # <bos> is 1, <eos> is 2

Model = Callable[[Tensor], Tensor]  # words -> logits
Log = Callable[[Tensor], Tensor]  # logits -> logarithms of probabilities
EVERYTHING, FRONT, BACK = slice(None), slice(None, -1), slice(1, None)  # of a sentence


@check("9.4", section="4. Write your own Transformer")
def check_shifted_loss(shifted_loss: Callable[..., Tensor]) -> None:
    """Try out `shifted_loss(model, source, target, pad)` with a model whose logits can be looked up."""
    generator = torch.Generator().manual_seed(9)
    rows = torch.randn(9, 9, generator=generator).requires_grad_()
    source, target = torch.tensor([[3, 4, 2], [8, 2, PADDING]]), torch.tensor(TARGET)

    def logits_after(words: Tensor) -> Tensor:
        return 2 * rows[words] + 0.1 * torch.arange(words.shape[1])[:, None] * rows[0]

    def model(source_: Tensor, target_: Tensor) -> Tensor:
        if not is_close(source_, source):
            raise Wrong("the model reads the whole `source`, then the target: `model(source, ...)`.")
        if target_.shape == target[:-1].shape:
            raise Wrong("you cut off a *sentence*: the words are axis 1, `target[:, :-1]`.")
        return logits_after(target_)

    answer = called(shifted_loss, model, source, target, PADDING)
    if isinstance(answer, float):
        raise Wrong("this is a plain number: return the tensor, or the gradient is lost.")
    told = "these are the losses of {}: return one number, the mean over the real words."
    words = told.format("single words")
    has_shape(answer, (), "loss", {(2, 5): words, (10,): words, (2,): told.format("two sentences")})
    matches(answer, _mean(*_losses(logits_after, target)), _loss_mistakes(logits_after, target))
    has_gradient(answer, rows)
    rows = 40 * rows  # `logits_after` reads them
    answer = called(shifted_loss, model, source, target, PADDING)
    right = _mean(*_losses(logits_after, target))
    told = f"with logits in the hundreds the loss should be {right:.1f}; yours is {answer:.1f}: "
    told += "use `F.cross_entropy` or `log_softmax`, and do not cut off large losses."
    matches(answer, right, otherwise=told, within=1e-2)


def _losses(
    logits_after: Model,
    target: Tensor,
    read: slice = FRONT,
    find: slice = BACK,
    log: Log = lambda logits: logits.log_softmax(-1),
) -> tuple[Tensor, Tensor]:
    """The losses of the words, and which of them are real: (sentences, words)."""
    logs, labels = log(logits_after(target[:, read])), target[:, find]
    return -logs.gather(-1, labels[..., None])[..., 0], labels != PADDING


def _mean(losses: Tensor, real: Tensor) -> Tensor:
    return losses[real].mean()


def _loss_mistakes(logits_after: Model, target: Tensor) -> dict[str, Tensor]:
    def shifted(read: slice, find: slice) -> tuple[Tensor, Tensor]:
        return _losses(logits_after, target, read, find)

    def by(log: Log) -> Tensor:
        return _mean(*_losses(logits_after, target, log=log))

    found: dict[str, Tensor] = {}
    for mean, more in ((_mean, ""), (lambda losses, real: losses.mean(), " (And padding is counted.)")):
        unshifted = "the loss is not shifted: each word is read and asked for at once, so the model learns to copy. "
        told = unshifted + "Read `target[:, :-1]`, and find `target[:, 1:]`."
        found[told + more] = mean(*shifted(EVERYTHING, EVERYTHING))
        found[unshifted + "You cut the last word off both." + more] = mean(*shifted(FRONT, FRONT))
        found[unshifted + "You cut the first word off both." + more] = mean(*shifted(BACK, BACK))
        told = "it is shifted the wrong way: the model reads `target[:, 1:]` and has to find the word *before*."
        found[told + more] = mean(*shifted(BACK, FRONT))
    words, real = shifted(FRONT, BACK)
    right, total = _mean(words, real), (words * real).sum()
    by_sentence = ((words * real).sum(1) / real.sum(1)).mean()
    twice = by(lambda logits: logits.softmax(-1).log_softmax(-1))
    plain, no_log = by(lambda logits: logits), by(lambda logits: logits.softmax(-1))
    over_words = by(lambda logits: logits.log_softmax(1))
    smooth = 0.9 * right - 0.1 * logits_after(target[:, FRONT]).log_softmax(-1).mean(-1)[real].mean()
    return found | {
        f"padding is counted: leave out the labels that are `pad`, here {PADDING}.": words.mean(),
        "you left out the words with id 0: the id of padding is `pad`.": words[target[:, BACK] != 0].mean(),
        "padding counts as a loss of 0: divide by the number of *real* words.": (words * real).mean(),
        "this is a mean over *sentences*: a word of a short sentence then counts more. "
        "Take it over all real words.": by_sentence,
        "this is a sum: divide by the number of real words.": total,
        "you divided by the number of sentences: divide by the number of real words.": total / len(words),
        "you divided by the number of steps: divide by the number of real words.": total / words.shape[1],
        "you divided by the number of *padded* words, or counted them alone: `==` for `!=`?": words[~real].mean(),
        "`cross_entropy` takes logits, and does the softmax itself: yours has it twice.": twice,
        "the softmax is missing: `nll_loss` wants logarithms of probabilities, `cross_entropy` wants logits.": plain,
        "the logarithm is missing: `nll_loss` wants logarithms of probabilities.": no_log,
        "the softmax goes over the words of the sentence: it goes over the vocabulary, the last axis.": over_words,
        "the sign is missing: the loss is *minus* the logarithm.": -right,
        "the loss is smoothed: leave `label_smoothing` out.": smooth,
        "this is the perplexity: leave `exp` out.": right.exp(),
        "this is in bits: take the natural logarithm.": right / math.log(2),
    }


# ---- 9.5 greedy: one word at a time ----

BOS, EOS = 7, 4  # not the ids of the lesson, so that nobody writes them down
VOCABULARY = 9
LOST = 6  # what the model wants to say once the prefix is wrong
SENTENCES = (  # what the model wants to write, and how many words it may
    ([3, 8, 5, 8, 2], 12),
    ([], 12),
    ([3, 0, 1, 2, 0, 1, 3, 8] * 20, 6),  # never ends
    ([2, 2, 5], 3),
)
Pick = Callable[[Tensor], Tensor]  # logits (words, vocabulary) -> the next word


class _Scripted:
    """A model that wants to write one sentence, as long as the prefix is right."""

    def __init__(self, sentence: Sequence[int], source: Tensor, most: int):
        self.sentence, self.source, self.most = list(sentence), source, most
        self.memory, self.real = torch.zeros(1, source.shape[1], 4), torch.ones(1, 1, 1, source.shape[1]).bool()
        self.calls, self.read = 0, 0

    def encode(self, source: Tensor) -> tuple[Tensor, Tensor]:
        if not is_close(source, self.source):
            raise Wrong("`model.encode` reads the source: `model.encode(source)`.")
        return self.memory, self.real

    def decode(self, target: Answer, memory: Answer, real: Answer) -> Tensor:
        if memory is not self.memory or real is not self.real:
            raise Wrong("`model.decode` takes the words so far, then the two things that `model.encode` gave.")
        if isinstance(target, Tensor) and not target.numel():
            raise Wrong("the prefix is empty: begin with `[bos]`.")
        if not isinstance(target, Tensor) or target.dim() != 2 or target.dtype != torch.long:
            raise Wrong("the words so far are a tensor of ids, (1, words): `torch.tensor([words])`.")
        rows = target.tolist()
        if rows[0][:1] != [BOS] and not self.calls:
            raise Wrong(f"the words begin with `bos`, here {BOS}; yours begin with {rows[0][0]}.")
        if rows[0][:1] != [BOS]:
            raise Wrong(
                "the decoder has to read the *whole* prefix in each step, from `<bos>` on: it remembers nothing."
            )
        if int(target.max()) >= VOCABULARY:
            raise Wrong(
                "you ask for a word that is none: `argmax` ran over all positions and words. Take the last position "
                "first, `logits[0, -1]`."
            )
        self.calls, self.read = self.calls + 1, max(self.read, target.shape[1])
        if self.calls > self.most:
            raise Wrong("your loop does not stop: stop at `<eos>`, and after `longest` words.")
        return torch.stack([torch.stack([self._after(row[: n + 1]) for n in range(len(row))]) for row in rows])

    def __call__(self, source: Tensor, target: Tensor) -> Tensor:
        return self.decode(target, *self.encode(source))

    def eval(self) -> _Scripted:
        return self

    def _after(self, prefix: list[int]) -> Tensor:
        """The logits after a prefix: the wanted word is the likeliest, and far from certain."""
        known = len(prefix) - 1
        on_the_way = prefix == [BOS, *self.sentence[:known]] and known <= len(self.sentence)
        wanted = (self.sentence[known] if known < len(self.sentence) else EOS) if on_the_way else LOST
        generator = torch.Generator().manual_seed(sum((n + 1) * word for n, word in enumerate(prefix)))
        logits = torch.rand(VOCABULARY, generator=generator)
        logits[BOS] = -0.5
        logits[wanted] = 1.5 + 0.1 * known  # the largest one of all positions is the last one
        return logits


def _write(model: _Scripted, longest: int, *, pick: Pick = lambda logits: logits[-1].argmax(), ends=True) -> list[int]:
    """`<bos>` and what is written; the options pick another word of the logits, or go on after `<eos>`."""
    words = [BOS]
    while len(words) <= longest:
        words.append(int(pick(model(model.source, torch.tensor([words]))[0])))
        if ends and words[-1] == EOS:
            break
    return words


@check("9.5", section="4. Write your own Transformer")
def check_greedy(greedy: Callable[..., list[int]]) -> None:
    """Try out `greedy(model, source, bos, eos, longest)` -> ids, with models that want to write certain sentences."""
    source = torch.tensor([[3, 8, 2]])
    for sentence, longest in SENTENCES:
        model = _Scripted(sentence, source, most=10 * longest)
        before = _dice()
        answer = called(greedy, model, source, BOS, EOS, longest)
        if _dice() != before:
            raise Wrong("you *draw* a word: greedy takes the word with the largest logit, `argmax`.")
        right = sentence[:longest]
        _examine_ids(answer)
        if len(right) > 1 and model.read == 1:
            raise Wrong("the decoder never reads the words that you wrote: put each new word behind the others.")
        otherwise = f"it should write {right}; yours: {list(answer)}."
        matches(list(answer), right, _greedy_mistakes(sentence, source, longest), otherwise=otherwise)


def _dice() -> tuple:
    """The states of the random generators, which change when somebody draws."""
    return random.getstate(), torch.get_rng_state().tolist()


def _examine_ids(answer: Answer) -> None:
    if isinstance(answer, Tensor):
        raise Wrong("return a list of ids: of a tensor with one axis, `.tolist()` makes one.")
    if not isinstance(answer, list | tuple):
        raise Wrong(f"return a list of ids; yours is of type {type(answer).__name__}.")
    if any(isinstance(word, Tensor) for word in answer):
        raise Wrong("the ids in your list are tensors: `int(...)` or `.item()` makes whole numbers of them.")
    if not all(isinstance(word, int) for word in answer):
        raise Wrong("return a list of ids, which are whole numbers.")


def _greedy_mistakes(sentence: list[int], source: Tensor, longest: int) -> list[tuple[str, list[int]]]:
    def written(more: int = 0, **options) -> list[int]:
        return _write(_Scripted(sentence, source, most=10**6), longest + more, **options)

    whole, on_and_on = written(), written(ends=False)
    said = whole[1:-1] if whole[-1] == EOS else whole[1:]
    first, lowest = written(pick=lambda logits: logits[0].argmax()), written(pick=lambda logits: logits[-1].argmin())
    second = written(pick=lambda logits: logits[-1].topk(2).indices[1])
    mistakes = [
        ("it does not stop at `<eos>`: what comes after `<eos>` is no translation.", on_and_on),
        ("`<bos>` is in your answer: nobody wants to read it.", [BOS, *said]),
        ("`<eos>` is in your answer: leave it out.", [*said, EOS]),
        ("`<bos>` and `<eos>` are in your answer: leave both out.", [BOS, *said, EOS]),
        ("you take the logits of the *first* position: the newest word is the last one, `[:, -1]`.", first),
        ("you take the *least* likely word: `argmax`.", lowest),
        ("you take the second best word: `argmax`.", second),
        ("it writes one word less than it may: `longest` counts the words without `<bos>`.", written(more=-1)),
        ("it writes one word more than it may: `longest` counts the words without `<bos>`.", written(more=1)),
    ]
    trimmed = [(told, [word for word in words if word not in (BOS, EOS)]) for told, words in mistakes]
    cut = [(told, list(itertools.takewhile(lambda word: word != EOS, words[1:]))) for told, words in mistakes]
    tails = [(told, words[1:]) for told, words in mistakes if words[:1] == [BOS]]
    return [(told, words) for told, words in [*mistakes, *tails, *cut, *trimmed] if words != said]
