"""Plant the faults of faults.toml one by one, and see which of them the tests of their room notice.

    python benchmarks/faults.py CHECKOUT               a copy that may be changed: never the folder that you work in
    python benchmarks/faults.py CHECKOUT --only beam   faults whose name or file holds this word

The checkout is put back after each fault. Of a fault in a view first its own tests run, then those that hold for every
view. The mutants of the same file are tried by `course.py mutate`.
"""

import argparse
import subprocess
import sys
import time
import tomllib
from pathlib import Path

FAULTS = tomllib.loads(Path(__file__).with_name("faults.toml").read_text("utf-8"))["fault"]
PYTEST = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
SHARED = ["tests/javascript", "tests/browser"]  # of what all views share


def tests_of(checkout: Path, file: str) -> list[list[str]]:
    """The arguments of pytest for the tests of a file's room, the likeliest first."""
    room, *parts = Path(file).relative_to("seqlearn").with_suffix("").parts
    if room == "exercises":
        name = parts[0] if parts[0].startswith("lesson") else "kit"
        found = [[f"tests/lessons/test_{name}.py"], ["tests/lessons/test_exercises.py"]]
    elif room != "views":
        found = [[f"tests/{room}"]]
    elif file.endswith(".py"):
        found = [[f"tests/views/test_{parts[0]}_view.py", "tests/views/test_attention_steps.py"], ["tests/views"]]
    elif parts[0] == "shared":
        found = [SHARED]
    else:
        view = {"steps": "AttentionSteps"}.get(parts[0], f"{parts[0].title()}View")
        every = sorted((checkout / "tests" / "browser").glob("test_*.py"))
        own = [path for path in every if path.name.startswith(f"test_{parts[0]}")]
        others = [path for path in every if path not in own and view in path.read_text("utf-8")]
        named = [[str(path.relative_to(checkout)) for path in paths] for paths in (own, others)]
        found = [*named, ["-k", view, *SHARED]]
    return [[word for word in words if exists(checkout, word)] for words in found]


def exists(checkout: Path, word: str) -> bool:
    """Whether an argument of pytest is none of a file, or of one that is there."""
    return not word.startswith("tests/") or (checkout / word).exists()


def caught(checkout: Path, fault: dict[str, str]) -> str:
    """The first test that fails with a fault; empty if none does."""
    file = checkout / fault["file"]
    right = file.read_text("utf-8")
    if right.count(fault["old"]) != 1:
        return "the fault does not stand in this checkout"
    file.write_text(right.replace(fault["old"], fault["new"]), "utf-8")
    try:
        for words in tests_of(checkout, fault["file"]):
            if not any(word.startswith("tests/") for word in words):
                continue
            done = subprocess.run([*PYTEST, *words], cwd=checkout, capture_output=True, text=True, check=False)
            failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
            if done.returncode not in (0, 5):
                return (failed or [done.stdout[-300:]])[0]
    finally:
        file.write_text(right, "utf-8")
    return ""


def main() -> None:
    """Try the faults, and print each with the test that noticed it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--only", nargs="+", default=[""], metavar="WORD")
    options = parser.parse_args()
    chosen = [one for one in FAULTS if any(word in one["name"] + one["file"] for word in options.only)]
    missed = 0
    for fault in chosen:
        start = time.monotonic()
        found = caught(options.checkout.resolve(), fault)
        missed += not found
        print(f"{fault['name']}: {found or 'NOT SEEN'} ({time.monotonic() - start:.0f} s)", flush=True)
    print(f"{len(chosen) - missed} of {len(chosen)} faults were noticed")


if __name__ == "__main__":
    main()
