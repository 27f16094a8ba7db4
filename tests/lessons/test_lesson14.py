"""The checks of lesson 14: right answers of several kinds, and typical wrong ones, each with its own diagnosis."""

import torch

from answers import judged
from seqlearn.exercises import lesson14

# ---- 14.1 ----


def patched(own, theirs, rows):
    found = own.clone()
    found[:, rows] = theirs[:, rows]
    return found


def by_where(own, theirs, rows):
    chosen = torch.tensor([row in rows for row in range(own.shape[1])])
    return torch.where(chosen[:, None], theirs, own)


def row_by_row(own, theirs, rows):
    return torch.stack([(theirs if row in rows else own)[:, row] for row in range(own.shape[1])], dim=1)


def in_place(own, theirs, rows):
    own[:, rows] = theirs[:, rows]
    return own


ROWS = [
    (patched, "right!"),
    (by_where, "right!"),
    (row_by_row, "right!"),
    (in_place, "`own` has changed"),
    (lambda own, theirs, rows: theirs[:, rows], "return all rows"),
]


test_patch_rows = judged(lesson14.check_patch_rows, "14.1", ROWS)


# ---- 14.2 ----


def moved(before, patched, after):
    return (((patched - before) * (after - before).sign()).sum() / (after - before).abs().sum()).item()


def in_a_loop(before, patched, after):
    total = could = 0.0
    for old, now, new in zip(before.tolist(), patched.tolist(), after.tolist(), strict=True):
        total += now - old if new > old else old - now
        could += abs(new - old)
    return total / could


MOVED = [
    (moved, "right!"),
    (in_a_loop, "right!"),
    (lambda before, patched, after: torch.tensor(in_a_loop(before, patched, after)), "right!"),
    (lambda b, p, a: (p - b) / (a - b), "return one number"),
    (lambda b, p, a: 0.123, "0.294 of the way is moved; yours: 0.123"),
    (lambda b, p, a: float(((p - b) / (a - b) * (a - b).abs()).sum() / (a - b).abs().sum()), "yours is nan"),
]


test_moved = judged(lesson14.check_moved, "14.2", MOVED)


# ---- 14.3 ----


def experiment(
    unlike=min, control=True, pairs=None, flipped=None, twice=False, least=0.9, like=max, most=0.1, take=slice(None)
):
    """An experiment, right or careless in one point."""
    flipped = flipped or (lambda now, plain: (now > 0) != (plain > 0))

    def carriers(score, feminine, masculine, heads):
        def flips(owns, others, head):
            every = [(own, other) for own in owns for other in others if own != other][:pairs][take]
            return sum(flipped(score(own, other, head), score(own, own, head)) for own, other in every) / len(every)

        def carries(head):
            if unlike([flips(feminine, masculine, head), flips(masculine, feminine, head)]) < least:
                return False
            return not control or like([flips(side, side, head) for side in (feminine, masculine)]) <= most

        return [head for head in heads if carries(head)] * (1 + twice)

    return carriers


def unlike_one_pair(score, feminine, masculine, heads):
    own, other = masculine[-1], feminine[-1]
    return [head for head in heads if score(own, other, head) > 0 and score(own, masculine[0], head) < 0]


def exchanged(score, feminine, masculine, heads):
    """The right experiment, with the two sentences in the wrong order."""
    return experiment(control=False)(lambda own, other, head: score(other, own, head), feminine, masculine, heads)


EXPERIMENTS = [
    (experiment(), "right!"),
    (lambda *given: torch.tensor(experiment()(*given)), "right!"),
    (unlike_one_pair, "in one of our models"),
    (experiment(unlike=lambda both: both[1]), "each direction needs nine of ten"),
    (experiment(unlike=lambda both: sum(both) / 2), "each direction needs nine of ten"),
    (experiment(like=lambda both: sum(both) / 2), "allows 1 of 10, for each"),
    (experiment(like=lambda both: both[0]), "another *le* flips"),
    (experiment(like=lambda both: both[1]), "another *la* flips"),
    (experiment(most=0.9), "allows 1 of 10"),
    (experiment(most=0), "misses a head"),
    (experiment(least=0.8), "flips 22 of 25 pairs"),
    (experiment(least=1), "misses a head"),
    (experiment(take=slice(-1, None)), "flips 22 of 25 pairs"),
    (experiment(pairs=2), "flips"),
    (lambda score, *given: score.heads, "has no attribute"),
    (experiment(twice=True), "right!"),
    (lambda *given: set(experiment()(*given)), "right!"),
    (experiment(control=False), "the control is missing"),
    (experiment(unlike=max), "patch in both directions"),
    (experiment(unlike=lambda both: both[0]), "patch in both directions"),
    (experiment(pairs=1), "flips a single pair"),
    (experiment(flipped=lambda now, plain: abs(now - plain) > 0.1), "moves the lean and flips no pronoun"),
    (experiment(flipped=lambda now, plain: abs(now - plain) > 3), "shares its work with another head"),
    (experiment(flipped=lambda now, plain: True, control=False), "which does nothing"),
    (exchanged, "`score(own, other, head)`, which reads `own`"),
    (lambda score, feminine, masculine, heads: [], "`score` was never called"),
    (lambda score, feminine, masculine, heads: [1 for _ in [score(feminine[0], masculine[0], 0)]][:0], "misses a head"),
    (lambda score, feminine, masculine, heads: [9 for _ in [score(feminine[0], masculine[0], 0)]], "no head 9"),
    (lambda score, feminine, masculine, heads: len(feminine), "return a list of heads"),
    (lambda score, feminine, masculine, heads: [score("Hello.", masculine[0], 0)], "asked about 'Hello.'"),
    (lambda score, feminine, masculine, heads: [score(feminine[0], masculine[0], "1.3")], "asked about head '1.3'"),
]


test_carriers = judged(lesson14.check_carriers, "14.3", EXPERIMENTS)


def test_every_decoy_is_caught_by_one_point_of_the_experiment():
    """All kinds stand in the models, and the right experiment names the carriers alone."""
    kinds = [kind for model in lesson14._MODELS for kind in model.heads]
    assert set(kinds) == {"carrier", "steady", *lesson14._SAID}
    for model in lesson14._MODELS:
        found = experiment()(model, lesson14._FEMININE, lesson14._MASCULINE, range(len(model.heads)))
        assert found == sorted(model.carriers())


def test_two_heads_that_share_the_work_flip_the_pronoun_together_and_not_alone():
    """As the solution of 14.3 says: an experiment that patches one head at a time cannot find them."""
    (model,) = (model for model in lesson14._MODELS if "half" in model.heads)
    one, two = (head for head, kind in enumerate(model.heads) if kind == "half")
    for own, other in (
        (lesson14._FEMININE[0], lesson14._MASCULINE[1]),
        (lesson14._MASCULINE[0], lesson14._FEMININE[1]),
    ):
        plain = model(own, own, one)
        moved = [model(own, other, head) - plain for head in (one, two)]
        assert all((plain + each) * plain > 0 for each in moved) and (plain + sum(moved)) * plain < 0
