"""Learning rates over training: by hand, by the papers' formulas, by torch's own schedulers."""

import math
from itertools import pairwise

import pytest
import torch

from seqlearn.training.schedules import (
    SCHEDULES,
    constant,
    cosine_decay,
    inverse_sqrt,
    linear_decay,
    make_schedule,
    warmup,
)

UPDATES, WARM = 200, 50


def test_by_hand():
    assert [linear_decay(share) for share in (0.0, 0.25, 1.0)] == [1.0, 0.75, 0.0]
    assert constant(0.7) == 1.0
    assert [cosine_decay(share) for share in (0.0, 1 / 3, 0.5, 1.0)] == pytest.approx([1.0, 0.75, 0.5, 0.0])
    schedule = warmup(0.2)
    assert [schedule(share) for share in (0.0, 0.1, 0.2, 0.6, 1.0)] == pytest.approx([0.0, 0.5, 1.0, 0.5, 0.0])
    assert [inverse_sqrt(0.04)(share) for share in (0.0, 0.01, 0.04, 0.16, 1.0)] == pytest.approx(
        [0, 0.25, 1, 0.5, 0.2]
    )


@pytest.mark.parametrize("share", [0.01, 0.1, 1 / 3, 0.7])
@pytest.mark.parametrize("name", SCHEDULES)
def test_rises_to_exactly_the_peak_and_never_jumps(name, share):
    schedule, fine = make_schedule(name, share), 10_000
    assert schedule(0.0) == 0.0 and schedule(share) == 1.0
    factors = [schedule(step / fine) for step in range(fine + 1)]
    steps = [after - before for before, after in pairwise(factors)]
    assert max(map(abs, steps)) <= 1.01 / fine / min(share, 1 - share) * math.pi / 2
    top = factors.index(max(factors))
    assert min(steps[:top]) > 0 and max(steps[top:]) <= 1e-12, "up, then down or level"


def test_inverse_sqrt_is_the_papers_formula():
    """Up to the constant that `lr` is. Vaswani et al. (2017), formula 3."""
    width, warm, total = 512, 4000, 100_000
    schedule, peak = inverse_sqrt(warm / total), (width * warm) ** -0.5
    for step in (1, 7, 3999, 4000, 4001, 20_000, 100_000):
        theirs = width**-0.5 * min(step**-0.5, step * warm**-1.5)
        assert peak * schedule(step / total) == pytest.approx(theirs, rel=1e-12)


def torch_rates(*schedulers_of):
    """The rates of all updates by torch's own schedulers, one after the other."""
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    schedulers = [make(optimizer) for make in schedulers_of]
    scheduler = (
        torch.optim.lr_scheduler.SequentialLR(optimizer, schedulers, [WARM]) if schedulers[1:] else schedulers[0]
    )
    rates = []
    for _ in range(UPDATES + 1):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    return rates


@pytest.mark.filterwarnings("ignore:The epoch parameter")
def test_same_as_torch():
    of = torch.optim.lr_scheduler
    rise = lambda optimizer: of.LinearLR(optimizer, start_factor=1e-12, total_iters=WARM)  # noqa: E731
    falls = {
        linear_decay: lambda optimizer, updates: of.LinearLR(optimizer, 1.0, 0.0, updates),
        cosine_decay: lambda optimizer, updates: of.CosineAnnealingLR(optimizer, updates),
        constant: lambda optimizer, updates: of.ConstantLR(optimizer, 1.0, updates),
    }
    for ours, theirs in falls.items():
        rates = torch_rates(lambda optimizer, theirs=theirs: theirs(optimizer, UPDATES))
        assert [ours(step / UPDATES) for step in range(UPDATES + 1)] == pytest.approx(rates, abs=1e-9)
        rates = torch_rates(rise, lambda optimizer, theirs=theirs: theirs(optimizer, UPDATES - WARM))
        both = warmup(WARM / UPDATES, then=ours)
        assert [both(step / UPDATES) for step in range(UPDATES + 1)] == pytest.approx(rates, abs=1e-9)


def test_after_the_warmup_comes_the_other_schedule_whatever_it_is():
    halved = warmup(0.25, then=lambda progress: 0.5 - progress / 4)
    assert [halved(step / 4) for step in range(5)] == pytest.approx([0.0, 0.5, 0.5 - 1 / 12, 0.5 - 2 / 12, 0.25])


def test_by_name():
    for share in (0.0, 0.1, 0.3, 1.0):
        assert make_schedule("linear")(share) == linear_decay(share)
        assert make_schedule("cosine", 0.25)(share) == warmup(0.25, then=cosine_decay)(share)
        assert make_schedule("constant", 0.25)(share) == warmup(0.25, then=constant)(share)
        assert make_schedule("inverse-sqrt", 0.25)(share) == inverse_sqrt(0.25)(share)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: warmup(1.0), "between 0 and 1, not 1.0"),
        (lambda: warmup(-0.1), "not -0.1"),
        (lambda: inverse_sqrt(4000), "between 0 and 1, not 4000"),
        (lambda: make_schedule("inverse-sqrt"), "between 0 and 1, not 0"),
        (lambda: make_schedule("linear", -1.0), "not -1"),
        (lambda: make_schedule("noam", 0.1), "no schedule 'noam'; choose from linear, cosine, constant, inverse-sqrt"),
    ],
)
def test_a_wrong_share_or_name_is_said(make, message):
    with pytest.raises(ValueError, match=message):
        make()
