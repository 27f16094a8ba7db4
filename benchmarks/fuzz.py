"""Ten thousand random cases: python benchmarks/fuzz.py [GROUP ...] [--count N] [--seconds S] [--seed N]

The cases and what has to come of them are those of the tests, in `tests/fuzzing/`. Each group runs in a process of its
own. A case that takes longer than its seconds, and one that ends the process, is bad, too: the process is started again
and goes on. The table says how many cases were tried and how many were bad. Bad cases are printed in full; the exit
status is 1 if there was one.
"""

from __future__ import annotations

import argparse
import faulthandler
import os
import subprocess
import sys
import tempfile
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import hypothesis
from hypothesis import HealthCheck, Phase, given, settings

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
from fuzzing import GROUPS  # noqa: E402  the tests are in no package

TRIED, BAD = "tried", "bad"


def work(name: str, count: int, seed: int, seconds: float, note: Path) -> None:
    """Try cases of one group. Each is written to `note` first, so that the case of a hang is known."""
    group = GROUPS[name]
    left = count

    def one_case(case: object) -> None:
        nonlocal left
        if not left:
            return
        note.write_text(repr(case), encoding="utf-8", errors="backslashreplace")
        limit = seconds * (10 if left == count else 1)  # the first case makes what all cases share
        faulthandler.dump_traceback_later(limit, exit=True)  # from a thread of C: it ends a loop in Rust, too
        try:
            group.check(case)
        except Exception:
            print(BAD, ascii(f"{case!r}\n{traceback.format_exc(limit=-4)}"), flush=True)
        finally:
            faulthandler.cancel_dump_traceback_later()
        left -= 1
        print(TRIED, flush=True)

    every = {"max_examples": count, "deadline": None, "database": None, "phases": [Phase.generate]}
    test = settings(**every, suppress_health_check=list(HealthCheck))(given(group.cases)(one_case))
    while left:
        hypothesis.seed(seed)(test)()
        seed += 1


def watch(name: str, count: int, seed: int, seconds: float) -> tuple[int, list[str]]:
    """Let a process try the cases of one group, and start it anew if it dies. How many it tried, and the bad ones."""
    tried, bad = 0, []
    with tempfile.TemporaryDirectory() as folder:
        note = Path(folder) / "case"
        while tried < count:
            options = ["--work", name, "--count", count - tried, "--seed", seed + tried, "--seconds", seconds]
            command = [sys.executable, __file__, *map(str, options), "--note", str(note)]
            environment = {**os.environ, "SEQLEARN_DEVICE": "cpu", "OMP_NUM_THREADS": "1", "TQDM_DISABLE": "1"}
            process = subprocess.run(command, env=environment, capture_output=True, text=True)
            lines = process.stdout.splitlines()
            tried += lines.count(TRIED)
            bad += [line for line in lines if line.startswith(BAD)]
            if process.returncode:
                tried += 1
                case = note.read_text(encoding="utf-8") if note.exists() else "no case"
                bad.append(f"ended the process ({process.returncode}): {case}\n{process.stderr[-3000:]}")
    return tried, bad


def main() -> int:
    """Try all groups, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="GROUP", help=", ".join(GROUPS))
    parser.add_argument("--count", type=int, default=10_000, help="how many cases, shared by the groups")
    parser.add_argument("--seconds", type=float, default=60, help="the most that one case may take (60)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--work", help=argparse.SUPPRESS)
    parser.add_argument("--note", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.work:
        work(arguments.work, arguments.count, arguments.seed, arguments.seconds, arguments.note)
        return 0
    names = arguments.names or list(GROUPS)
    whole = sum(GROUPS[name].share for name in names)
    counts = [round(arguments.count * GROUPS[name].share / whole) for name in names]
    with ThreadPoolExecutor(len(names)) as pool:
        found = list(
            pool.map(lambda each: watch(*each, arguments.seed, arguments.seconds), zip(names, counts, strict=True))
        )
    for name, (_, bad) in zip(names, found, strict=True):
        for case in bad:
            print(f"{name}: {case}\n")
    print(f"{'group':20}{'tried':>8}{'bad':>6}")
    rows = [(name, tried, len(bad)) for name, (tried, bad) in zip(names, found, strict=True)]
    for name, tried, bad in [*rows, ("all", sum(row[1] for row in rows), sum(row[2] for row in rows))]:
        print(f"{name:20}{tried:>8,}{bad:>6,}")
    return 1 if any(row[2] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
