"""Some hundred random cases of each kind. `benchmarks/fuzz.py` tries thousands, and counts a hang as a fault."""

import pytest
from hypothesis import HealthCheck, given, settings

from fuzzing import GROUPS

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
