"""The checks of lesson 10: right answers in other forms, and typical wrong ones, each with its own diagnosis.

And the claims of the lesson about its hand-made chains.
"""

import inspect
import math
import re
from pathlib import Path

import nbformat
import numpy as np
import pytest
import torch
from torch import nn

from answers import all_right, judged, said_by, variants
from seqlearn import beam_search, exhaustive_search
from seqlearn.exercises import checking, lesson10, lesson10_beam, lesson10_plain
from seqlearn.views import chain_search

INF = float("inf")
LESSON = Path(__file__).parents[2] / "notebooks" / "10-beam-search.ipynb"
MORE = LESSON.parent / "more" / "10-viterbi-and-the-cache.ipynb"


# ---- 10.1: the whole beam ----

CELLS = nbformat.read(LESSON, as_version=4).cells
WHOLE = re.search(r"```python\n(def my_beam.*?)```", "\n".join(cell.source for cell in CELLS), re.DOTALL)[1]


def changed(*changes):
    """The lesson's own beam search with some lines changed."""
    source = WHOLE
    for old, new in changes:
        assert source.count(old) == 1, old
        source = source.replace(old, new)
    space = {"torch": torch, "math": math}
    exec(source, space)
    return space["my_beam"]


BEST = "best, flat = sums.flatten().topk(min(width, sums.numel()))"
NEWEST = "torch.tensor([[tokens[-1]] for tokens, _ in live])"
TOTALS = "torch.tensor([[total] for _, total in live]) + "
PARENT = "[*old[parent][0], token]"
SELECTED = "torch.tensor(parents)"
WHOLE_NUMBERS = "torch.tensor(parents, dtype=torch.long)"
STOP = "        if not live:\n            break\n"
DONE = "complete.append((total / penalty(step), words))"
ONE_EACH = (
    f"{BEST}\n        if len(sums) > 1:\n            best, column = sums.max(1)\n"
    "            flat = column + torch.arange(len(sums)) * sums.shape[1]"
)
STAYS = f"{DONE}\n                if token == eos:\n                    live.append(({PARENT}, total))"
STAYS += "\n                    parents.append(parent)"

MOST = "max(total for _, total in live)"
BY_SUM = "sorted(complete, key=lambda one: -one[0] * penalty(len(one[1]) + 1))[:width]"
DIVIDED = "parent, token = divmod(index, sums.shape[1])"
FLAT = "parent by `//` and the token by `%`"
LOST = f"that is not there: an index into the flat table gives the {FLAT}"

WRONG_BEAMS = [
    ([(BEST, ONE_EACH)], "best extension of *each* hypothesis"),
    ([(DONE, STAYS)], "the decoder got `eos` as the newest token"),
    ([("token == eos or ", "")], "the decoder got `eos` as the newest token"),
    ([("min(width, sums", "min(max(width - len(complete), 0), sums")], "your beam shrinks"),
    ([("if not live:", "if not live or complete:")], "you return the first complete hypothesis"),
    ([("if not live:", "if not live or len(complete) >= width:")], "the first `width` complete hypotheses"),
    ([("range(1, longest + 1)", "range(1, longest)"), ("step == longest", "step == longest - 1")], "token too soon"),
    ([("range(1, longest + 1)", "range(1, longest + 9)"), ("step == longest", "step > longest")], "you go on after 6"),
    ([(PARENT, "[token]")], "only the newest word is left"),
    ([(TOTALS, "")], "the sum of the parent is lost"),
    ([(f"state = state.select({SELECTED})", "pass")], "`state = state.select(parents)` keeps one row"),
    ([(SELECTED, f"{SELECTED}.sort().values")], "the rows of the state are in another order"),
    ([(SELECTED, "torch.arange(len(parents))")], "give it the *parent*"),
    ([(SELECTED, "parents")], "`state.select` wants whole numbers"),
    ([(SELECTED, f"{SELECTED} / 1")], "`state.select` wants whole numbers (`//`, not `/`)"),
    ([(STOP, "")], "no hypothesis goes on any more: stop there, before `state.select`"),
    ([(STOP, ""), (SELECTED, WHOLE_NUMBERS)], "you asked the decoder again: stop there"),
    ([("logits, state =", "logits, _ =")], "go on with the *new* state"),
    ([(".log_softmax(-1)", "")], "you added logits"),
    ([(".log_softmax(-1)", ".log_softmax(0)")], "`log_softmax` runs over the wrong axis: take `-1`"),
    ([(NEWEST, "torch.tensor([[bos]] * len(live))")], "after the first step the decoder got `bos`: give it the newest"),
    ([(".log_softmax(-1)", ".softmax(-1)")], "you added probabilities"),
    ([("min(width, sums.numel())", "width")], "`topk` wants more than there are"),
    ([("            if total == -math.inf:\n                continue\n", "")], "is impossible"),
    ([(" or step == longest", "")], "no hypothesis ends with `eos` here, and you take `max()` of an empty list"),
    ([(" or step == longest", ""), ("max(complete)", "sorted(complete)[-1]")], "you take the best of an empty list"),
    ([("if not live:", f"if {MOST} < -99:")], "ask first whether the list has any hypotheses"),
    ([("max(complete)", "max(complete[:width])")], "the best of the first `width` complete hypotheses"),
    ([("max(complete)", f"max({BY_SUM})")], "the `width` complete hypotheses with the best *sums*"),
    ([("total / penalty(step), words)", "total, total / penalty(step), words)"),
      ("if not live:", f"if not live or complete and max(complete)[0] >= {MOST}:"),
      ("score, tokens = max(complete)", "score, tokens = max(one[1:] for one in complete)")], "when the best *sum* is"),
    ([("if not live:", "if not live or flat[0] % sums.shape[1] == eos:")], "the best extension of a step ends with"),
    ([("if not live:", f"if not live or complete and max(complete)[0] >= {MOST}:")], "above the best live *sum*"),
    ([("if not live:", f"if not live or complete and max(complete)[0] >= {MOST} / penalty(step):")], "*today's*"),
    ([("if not live:", f"if not live or complete and max(complete)[0] >= {MOST} / penalty(step + 1):")], "-0.705"),
    ([(BEST, f"if step == 1:\n            sums[:, eos] = -math.inf\n        {BEST}")], "the penalty 'none', the best"),
    ([(DIVIDED, "token, parent = divmod(index, sums.shape[1])")], LOST),
    ([(DIVIDED, "parent, token = divmod(index, len(sums))")], LOST),
    ([(DIVIDED, "token, parent = divmod(index, len(sums))")], FLAT),
    ([(BEST, "best, flat = sums.flatten().topk(1 if step == 1 else width)")], "your first step keeps"),
    ([(BEST, "best, flat = sums.flatten().topk(1)")], "which is greedy search"),
    ([("parents.append(parent)", "parents.append(token)")], "which are the *tokens* of the hypotheses that go on"),
    ([("max(complete)", "min(complete)")], "you return the worst of the complete"),
    ([("max(complete)", "complete[-1]")], "complete last"),
    ([("max(complete)", "complete[0]")], "you return the first complete hypothesis"),
    ([("penalty(step)", "1")], "the penalty is missing"),
    ([("total / penalty(step)", "total * penalty(step)")], "you multiplied by the penalty"),
    ([("penalty(step)", "penalty(longest)")], "the penalty of `longest`"),
    ([("penalty(step)", "width")], "you divided by the width of the beam"),
    ([("penalty(step)", "longest")], "you divided by `longest`"),
    ([("penalty(step)", "step")], "you divided by the length"),
    ([("penalty(step)", "penalty(max(len(words), 1))")], "the length is one too small"),
    ([("penalty(step)", "penalty(len(words) + 1)")], "the length is one too large where"),
    ([("penalty(step)", "penalty(step + 1)")], "the length is one too large"),
    ([("return tokens, score", "return score, tokens")], "the other way round"),
    ([("return tokens, score", "return [bos, *tokens], score")], "Return their tokens without `bos`"),
    ([("return tokens, score", "return [*tokens, eos], score")], "Return their tokens without `eos`"),
    ([("return tokens, score", "return tokens, math.exp(score)")], "the scores are probabilities"),
    ([("return tokens, score", "return tokens, score + 1")], "the tokens are right. The scores should be"),
    ([("return tokens, score", "return tokens[:1], score")], "the scores are right. The tokens should be"),
    ([("return tokens, score", "return ['la'], score")], "the tokens are a list of ids"),
    ([("[([bos], 0.0)]", "[([bos], 0.0)] * width")], "you began with 3 hypotheses"),
    ([("[([bos], 0.0)]", "[([0], 0.0)]")], "the first token that it reads is `bos`"),
    ([(NEWEST, NEWEST.replace("[tokens[-1]]", "tokens"))], "the newest token of each hypothesis alone"),
    ([(NEWEST, NEWEST.replace("[tokens[-1]]", "tokens[-1]"))], "the newest token of each hypothesis alone"),
]  # fmt: skip


@pytest.mark.parametrize(
    "answer",
    [
        lambda *args: [][0],
        lambda decoder, state, *args: [0][int(decoder.longest > 1)],
        changed(("min(width, sums.numel()))", "min(width, sums.numel()))\n        best.tolist()[int(width == 1)]")),
    ],
)
def test_another_index_that_is_out_of_range_stays_a_crash(answer, capsys):
    assert "Your code stopped with IndexError" in said_by(lesson10.check_beam, answer, capsys)


test_wrong_beams = judged(lesson10.check_beam, "10.1", [(changed(*changes), told) for changes, told in WRONG_BEAMS])


def test_each_mistake_of_a_beam_shows_in_a_case():
    right = [lesson10_plain.best_by_beam(*case[:3], lesson10_plain.PENALTIES[case[3]]) for case in lesson10_plain.CASES]
    answers = {}
    for name, replaced in lesson10_beam.MISTAKES:
        found = [lesson10_beam.mistaken(replaced, *case) for case in lesson10_plain.CASES]
        assert found != right and answers.setdefault(str(found), name) == name


def state_by_state(decoder, state, bos, eos, width, longest, penalty):
    """Each hypothesis has a state of its own; a loop, a sort, no tensor of sums."""
    live, done = [(0.0, (), state)], []
    for step in range(1, longest + 1):
        found = []
        for total, tokens, own in live:
            logits, after = decoder(torch.tensor([[*(tokens or (bos,))]])[:, -1:], own.select(torch.tensor([0])))
            gains = logits[0, 0].log_softmax(0).tolist()
            found += [(total + gain, (*tokens, token), after) for token, gain in enumerate(gains) if gain > -INF]
        found = sorted(found, key=lambda one: -one[0])[:width]
        ended = [one for one in found if one[1][-1] == eos or step == longest]
        done += [(total / penalty(len(tokens)), tokens) for total, tokens, _ in ended]
        live = [one for one in found if one not in ended]
    score, tokens = max(done)
    return [token for token in tokens if token != eos], score


def with_tensors(decoder, state, bos, eos, width, longest, penalty):
    """The hypotheses lie in one tensor, of which `parents` takes rows; probabilities are multiplied."""
    tokens, likely, best = torch.tensor([[bos]]), torch.ones(1, dtype=torch.float64), (-INF, None)
    for step in range(1, longest + 1):
        logits, state = decoder(tokens[:, -1:], state)
        likely, flat = (likely[:, None] * logits[:, -1].softmax(-1)).flatten().sort(descending=True)
        likely, flat = likely[:width], flat[:width]
        parents, new = flat // logits.shape[-1], flat % logits.shape[-1]
        tokens = torch.cat([tokens[parents], new[:, None]], 1)
        for row in ((new == eos) | (step == longest)).nonzero().flatten():
            score = likely[row].log() / penalty(step)
            best = max(best, (score, tokens[row][1:]), key=lambda pair: pair[0])
        going = (new != eos) & (likely > 0)
        if not going.any():
            break
        tokens, likely, state = tokens[going], likely[going], state.select(parents[going])
    return best[1][best[1] != eos], best[0]


RIGHT_BEAMS = [
    lesson10.my_beam,
    state_by_state,
    with_tensors,
    changed((STOP, ""), (f"select({SELECTED})", f"select({WHOLE_NUMBERS})\n{STOP}")),
    changed((BEST, "flat = sums.flatten().argsort(descending=True)[:width]\n        best = sums.flatten()[flat]")),
    changed(("return tokens, score", "return tuple(tokens), torch.tensor([score])")),
    changed(("return tokens, score", "return torch.tensor(tokens, dtype=torch.long).numpy(), score")),
    changed(  # stops as soon as nothing that is live can win
        ("if not live:", "most = max(penalty(length) for length in range(step, longest + 1))\n"
         "        if not live or complete and max(complete)[0] >= max(total for _, total in live) / most:"),
    ),
]  # fmt: skip


test_right_beams = all_right(lesson10.check_beam, "10.1", RIGHT_BEAMS, ids=range(len(RIGHT_BEAMS)))


class Toy(nn.Module):
    """The made-up decoder of the check as a model of the package."""

    def __init__(self, seed, longest):
        super().__init__()
        self.encoder = lambda source, source_lens: None
        self.decoder = lesson10_plain.ToyDecoder(seed, longest)
        self.decoder.init_state = lambda memory: lesson10_plain.ToyState()


TOY = {"bos": lesson10_plain.TOY_BOS, "eos": lesson10_plain.TOY_EOS}
IMPOSSIBLE = {"forbidden": (lesson10_plain.TOY_BOS,)}
SOURCE = torch.tensor([[0]]), torch.tensor([1])


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("penalty", lesson10_plain.PENALTIES)
def test_the_oracle_the_solution_and_the_package_find_the_same(seed, penalty):
    lp = lesson10_plain.PENALTIES[penalty]
    for width, longest in ((1, 5), (2, 5), (3, 6)):
        (best,) = beam_search(Toy(seed, longest), *SOURCE, **TOY, width=width, max_length=longest, length_penalty=lp)[0]
        decoder = lesson10_plain.ToyDecoder(seed, longest)
        found = lesson10.my_beam(decoder, lesson10_plain.ToyState(), *TOY.values(), width, longest, lp)
        for tokens, score in (found, lesson10_plain.best_by_beam(seed, width, longest, lp)):
            assert tokens == best.tokens and score == pytest.approx(best.score, abs=1e-6)


def test_a_wide_beam_finds_what_exhaustive_search_finds():
    for seed in range(4):
        for lp in lesson10_plain.PENALTIES.values():
            options = {**TOY, **IMPOSSIBLE, "max_length": 4, "length_penalty": lp}
            best = exhaustive_search(Toy(seed, 4), *SOURCE, **options)[0][0]
            tokens, score = lesson10_plain.best_by_beam(seed, 1000, 4, lp)
            assert tokens == best.tokens and score == pytest.approx(best.score, abs=1e-6)


def test_the_lesson_takes_the_learners_beam_where_it_is_right(capsys):
    assert lesson10.yours_or_ours(with_tensors) is with_tensors
    assert lesson10.yours_or_ours(lambda *args: None) is lesson10.my_beam
    assert capsys.readouterr().out.splitlines()[0] == "The beam search of this cell is yours."
    ours = re.sub(r"  # noqa.*", "", inspect.getsource(lesson10.my_beam))
    assert ours == WHOLE, "the solution of the lesson, letter by letter"


# ---- 10.2: one step ----


def step(totals, log_probs, finished, eos, width, *, end=True, add=True, gain=lambda x: x, base=None, best=True):
    """The solution of 10.2, with a switch for each typical mistake."""
    log_probs = log_probs.clone()
    if end:
        log_probs[finished] = -INF
        log_probs[finished, eos] = 0.0
    base = totals if base is None else base(totals)
    sums = base[:, None] + gain(log_probs) if add else base[:, None] * gain(log_probs)
    found, places = sums.flatten().topk(width, largest=best)
    return found, places // log_probs.shape[1], places % log_probs.shape[1]


def one_each(totals, log_probs, finished, eos, width):
    if len(totals) == 1:
        return step(totals, log_probs, finished, eos, width)
    rows = [step(totals[[i]], log_probs[[i]], finished[[i]], eos, 1) for i in range(len(totals))]
    best = torch.cat([row[0] for row in rows])
    order = best.argsort(descending=True)
    return best[order], order, torch.cat([row[2] for row in rows])[order]


def one_child_each(totals, log_probs):
    best, tokens = (totals[:, None] + log_probs).max(1)
    return best, torch.arange(len(totals)), tokens


def without_flatten(totals, log_probs, finished, eos, width):
    found, indices = (totals[:, None] + log_probs).topk(width)
    return found, indices // log_probs.shape[1], indices % log_probs.shape[1]


def finished_first(totals, log_probs, finished, eos, width):
    answer = step(totals, log_probs, finished, eos, width)
    return [part[finished[answer[1]].int().argsort(descending=True, stable=True)] for part in answer]


def two_for_each_beam(totals, log_probs, finished, eos, width):
    log_probs = log_probs.masked_fill(finished[:, None], -INF)
    log_probs[finished, eos] = 0.0
    sums, tokens = (totals[:, None] + log_probs).topk(2, 1)
    found, places = sums.flatten().topk(width)
    return found, places // 2, tokens.flatten()[places]


stepped, INDICES = variants(step), "places // log_probs.shape[1], places % log_probs.shape[1]"
WRONG_STEPS = [
    (without_flatten, "`topk` on a table takes the best of each row"),
    (lambda *args: step(*args[:4], 2), "the totals should have shape (3,); yours: (2,)"),
    (lambda totals, log_probs, *rest: (totals + log_probs, 0, 0), "`totals.unsqueeze(-1)`"),
    (
        lambda *args: (step(*args)[0], *(part.double() + 0.25 for part in step(*args)[1:])),
        "the parents should be [1, 1",
    ),
    (one_each, "the best extension of *each* beam"),
    (lambda totals, log_probs, *rest: one_child_each(totals, log_probs), "the best extension of *each* beam"),
    (
        stepped("log_probs[finished, eos] = 0.0", "log_probs[finished] = 0.0"),
        "a finished beam is extended by every token",
    ),
    (lambda totals, *rest: step(totals[None], *rest), "your code stopped with"),
    (lambda *args: step(*args, gain=torch.exp, base=torch.exp), "you added probabilities"),
    (lambda *args: step(*args, gain=torch.exp), "you added probabilities"),
    (lambda *args: [part.flip(0) for part in step(*args)], "in another order"),
    (lambda *args: [part.roll(1) for part in step(*args)], "in another order"),
    (finished_first, "the best should come first"),
    (two_for_each_beam, "the totals should be [-1.41"),
    (stepped("% log_probs.shape[1]", "% 1"), "the totals are right. The tokens should be"),
    (lambda *args: step(*args)[:2], "return three things"),
    (lambda *args: [part[:1] for part in step(*args)], "should have shape (2,)"),
    (lambda *args: ("a", "b", "c"), "of type str"),
    (lambda *args: step(*args, base=lambda totals: totals / 2), "the totals should be ["),
    (stepped("log_probs.clone()", "log_probs"), "`log_probs` has changed"),
    (lambda totals, *rest: totals[99], "your code stopped with IndexError"),
]


test_wrong_beam_steps = judged(lesson10.check_beam_step, "10.2", WRONG_STEPS)


def looped(totals, log_probs, finished, eos, width):
    """Lists, a loop and a sort: as right as tensors."""
    found = []
    for beam, row in enumerate(log_probs.tolist()):
        for token, gain in [(eos, 0.0)] if finished[beam] else list(enumerate(row)):
            found.append((totals[beam].item() + gain, beam, token))
    return [list(part) for part in zip(*sorted(found, reverse=True)[:width], strict=True)]


def huge_instead_of_infinity(totals, log_probs, finished, eos, width):
    sums = totals[:, None] + log_probs.masked_fill(finished[:, None], -1e9)
    sums[finished, eos] = totals[finished]
    found, indices = sums.flatten().topk(width)
    return found, torch.div(indices, sums.shape[1], rounding_mode="floor"), indices.remainder(sums.shape[1])


test_right_beam_steps = all_right(
    lesson10.check_beam_step,
    "10.2",
    [step, looped, huge_instead_of_infinity, lambda *args: [part.numpy() for part in step(*args)]],
)


test_wrong_readings_of_the_tree = judged(
    lesson10.check_misled,
    "10.4",
    [
        ((2, -2.24), "still on the blue path"),
        ((4, -2.24), "has left the best sentence already"),
        ((5, -2.24), "off it for some time"),
        ((9, -2.24), "the steps are 1 to 5"),
        ((0, -2.24), "the steps are 1 to 5"),
        ((3.5, -2.24), "a step is a whole number"),
        ((math.inf, -2.24), "a step is a whole number"),
        ((-2.24, 3), "the other way round"),
        ((3, -7.0), "the last box with a G"),
        ((3, math.nan), "give two numbers, without quotes; yours is nan"),
        ((math.nan, -2.24), "give two numbers, without quotes; yours is nan"),
        ((3, "-2.24"), "without quotes"),
        (3, "two numbers in brackets"),
    ],
)


test_right_readings_of_the_tree = all_right(
    lesson10.check_misled, "10.4", [(3, -2.24), [3.0, -2.244], (torch.tensor(3), np.float32(-2.24))]
)


@pytest.mark.parametrize("table", [lesson10.MISLEADING, lesson10.VIEWED])
def test_the_views_search_a_table_that_misleads_greedy_search(table):
    assert all(sum(following.values()) == pytest.approx(1) for following in table.values())
    greedy, best = lesson10.greedy_sentence(table), lesson10.best_sentence(table)
    assert greedy[0] != best[0]
    search, words = chain_search(table)
    for width, (sentence, probability) in ((1, greedy), (4, best)):
        found = search(width).best[0]
        assert tuple(words[token] for token in found.tokens) == sentence
        assert math.exp(sum(found.log_probs)) == pytest.approx(probability)


def test_greedy_leaves_the_viewed_tree_where_the_check_says():
    greedy, best = lesson10.greedy_sentence(lesson10.VIEWED)[0], lesson10.best_sentence(lesson10.VIEWED)[0]
    differ = [left != right for left, right in zip(greedy, best, strict=True)]
    assert differ.index(True) + 1 == lesson10.MISLED_AT


def defined(*names):
    """Tables and functions of the lesson, from the cells that define them."""
    space = {"math": math, "torch": torch}
    for cell in nbformat.read(LESSON, as_version=4).cells:
        if cell.cell_type == "code" and any(f"\n{name} = " in f"\n{cell.source}" for name in names):
            exec(cell.source.split("\n\n\n")[0].split("\nhungry = ")[0].split("\ntree = ")[0], space)
    return [space[name] for name in names]


def test_what_the_lesson_says_of_its_chains():
    table, hungry, late = defined("TABLE", "HUNGRY", "LATE")
    for chain in (table, hungry, late):
        assert all(sum(following.values()) == pytest.approx(1) for following in chain.values())
    assert lesson10.greedy_sentence(table) == (("la", "fille"), pytest.approx(0.1638))
    assert lesson10.best_sentence(table) == (("une", "fille"), pytest.approx(0.1944))
    assert lesson10.greedy_sentence(hungry) == (("elle", "mange", "la", "pomme", "rouge"), pytest.approx(0.342))
    assert lesson10.best_sentence(hungry) == (("elle", "mange"), pytest.approx(0.4))
    assert lesson10.best_sentence(late) == (("une", "fille"), pytest.approx(0.4))


def test_viterbi_misses_no_path_and_beams_some():
    """The text names the numbers that its cells give."""
    cells = [cell.source for cell in nbformat.read(MORE, as_version=4).cells]
    space = {"torch": torch, "measured": lambda *args, **options: None}
    for start in ("def best_of_all(", "def narrow(", "generator = torch.Generator().manual_seed(10)\nright = "):
        exec(next(source for source in cells if source.startswith(start)), space)
    assert list(space["right"].values()) == [200, 138, 181, 196]
    assert any("138, 181 and 196 of 200" in source for source in cells)


@pytest.mark.parametrize(("check", "section"), [("beam_step", "5. The beam")])
def test_the_section_is_named_after_three_tries(check, section, capsys):
    for _ in range(checking.TRIES_BEFORE_HINT):
        getattr(lesson10, f"check_{check}")(lambda *args: "nonsense")
    assert f'"{section}"' in capsys.readouterr().out
