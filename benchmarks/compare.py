"""Has a change made anything slower? python benchmarks/compare.py [--repeats 3] OLD NEW SCRIPT [ARGUMENT ...]

OLD and NEW are two checkouts, SCRIPT is `training.py` or `decoding.py`; the arguments are passed on to it:

    python benchmarks/compare.py ../before . training.py bahdanau
    python benchmarks/compare.py ../before . decoding.py --rounds 1 "beam 4, alone"

The checkouts run in turn, each its own script with its own package. The table shows speeds of NEW over speeds of OLD
(above 1 is faster): the best of all runs by the wall clock and by CPU time, and CPU time beside the other libraries,
which were timed in the same process. The last column is the one to read: a busy machine slows all libraries alike.
The exit code is 1 if a line of seqlearn is below the bar there."""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
from pathlib import Path

Speeds = dict[tuple[str, str], tuple[float, float]]  # (setting, line) -> speed by the wall clock and by CPU time
BAR = 0.97
OURS = ("ours", "seqlearn")
TRAINING = re.compile(r"(\S.*?) +[\d.]+% +([\d,]+) +([\d,]+) +[\d,]+ ")  # name, padding, tokens a wall and a CPU second
DECODING = re.compile(r"  (\S.*?) +([\d.]+) ms a batch \(CPU +([\d.]+)\)")  # name, wall and CPU milliseconds


def read(output: str) -> Speeds:
    """The speeds in what a script has printed. A line outside a table names the setting of the rows below."""
    setting, speeds = "", {}
    for line in output.splitlines():
        if row := TRAINING.match(line):
            wall, cpu = (float(number.replace(",", "")) for number in row.groups()[1:])
            speeds[setting, row[1]] = wall, cpu
        elif row := DECODING.match(line):
            speeds[setting, row[1]] = 1 / float(row[2]), 1 / float(row[3])
        elif line and not line.startswith(" "):
            setting = line
    return speeds


def run(checkout: Path, script: str, arguments: list[str]) -> Speeds:
    """The speeds that a checkout measures now."""
    command = [sys.executable, str(checkout / "benchmarks" / script), *arguments]
    environment = os.environ | {"PYTHONPATH": str(checkout)}
    return read(subprocess.check_output(command, cwd=checkout, env=environment, text=True))


def best(runs: list[Speeds]) -> Speeds:
    """The best speeds of several runs: what disturbs a run only makes it slower."""
    return {line: (max(run[line][0] for run in runs), max(run[line][1] for run in runs)) for line in runs[0]}


def beside_others(speeds: Speeds) -> dict[tuple[str, str], float]:
    """CPU speeds over the mean speed of the other libraries in the same setting and run; as they are where none ran."""
    others: dict[str, list[float]] = {}
    for (setting, line), (_, cpu) in speeds.items():
        if not line.startswith(OURS):
            others.setdefault(setting, []).append(cpu)
    return {line: cpu / statistics.geometric_mean(others.get(line[0], [1.0])) for line, (_, cpu) in speeds.items()}


def main() -> int:
    """Run, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3, help="runs of each checkout (default: 3)")
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("script", choices=["training.py", "decoding.py"])
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    checkouts = options.old.resolve(), options.new.resolve()
    runs: tuple[list[Speeds], list[Speeds]] = [], []
    for repeat in range(options.repeats):
        for which in (0, 1) if repeat % 2 == 0 else (1, 0):
            runs[which].append(run(checkouts[which], options.script, options.arguments))
            print(f"run {repeat + 1} of {options.repeats}, {('old', 'new')[which]}: done", file=sys.stderr, flush=True)
    old, new = best(runs[0]), best(runs[1])
    relative = [[beside_others(speeds) for speeds in side] for side in runs]
    setting, lowest = "", float("inf")
    for line in [line for line in old if line in new]:
        if line[0] != setting:
            setting = line[0]
            print(f"\n{setting}\n{'new / old':28}{'wall':>8}{'CPU':>8}{'CPU beside the others':>24}")
        wall, cpu = (after / before for after, before in zip(new[line], old[line], strict=True))
        before, after = (statistics.median(run[line] for run in side) for side in relative)
        below = line[1].startswith(OURS) and after / before < BAR
        lowest = min(lowest, after / before) if line[1].startswith(OURS) else lowest
        print(f"{line[1]:28}{wall:8.2f}{cpu:8.2f}{after / before:24.2f}{f'   below {BAR}' if below else ''}")
    for line in old.keys() ^ new.keys():
        print(f"printed by one checkout only: {line}")
    print(f"\nthe lowest line of seqlearn, beside the others: {lowest:.2f}")
    return int(lowest < BAR)


if __name__ == "__main__":
    sys.exit(main())
