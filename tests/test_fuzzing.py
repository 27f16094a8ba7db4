"""Some hundred random cases of each kind. `benchmarks/fuzz.py` tries thousands, and counts a hang as a fault."""

import itertools
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings

from fuzzing import GROUPS, masks

SLOW = ["commands", "files of others", "pieces"]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in GROUPS if GROUPS[name].few]
)
def test_random_cases(name):
    group = GROUPS[name]
    for case in group.first:
        group.check(case)

    @settings(
        max_examples=group.few, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
    )
    @given(group.cases)
    def every_case(case):
        group.check(case)

    every_case()


@pytest.mark.usefixtures("as_a_user")
@pytest.mark.parametrize(
    "group", [pytest.param(name, marks=[] if name == "scores" else pytest.mark.slow) for name in masks.GROUPS]
)
def test_masks_and_lengths_mean_the_same_everywhere(group):
    """Each function that takes a mask or lengths, 300 times: its slow loop, or one sentence; nothing is silent."""
    tried, seeds = Counter(), itertools.count()
    while not tried or min(tried.values()) < 300:  # some functions take only a part of the cases of their group
        tried.update(masks.check(group, next(seeds)))


def test_no_function_that_takes_a_mask_is_missing_from_the_table():
    named = {name for each in masks.GROUPS.values() for seed in range(9) for name, *_ in list(each(seed))[1:]}
    assert masks.takers() == named | masks.ELSEWHERE.keys()
