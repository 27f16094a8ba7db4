"""Measures what this machine can: our code beside other libraries, the pages, and the quality of the stored models.

    python3 course.py bench                    every part: about ten minutes on two cores; writes docs/RESULTS.md
    python3 course.py bench --only pages views only these parts: prints the table and writes nothing
    python3 course.py bench --quick            one round of every part, in less than 3 minutes; writes nothing
    python3 course.py bench --readme           then also brings the figures of README.md up to date

One table is printed at the end, and written in one step: an interrupt leaves the old file as it was. What is missing
on this machine is named below the table; a part that fails is named in it, and the others go on.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import importlib
import importlib.metadata
import os
import platform
import re
import subprocess
import sys
import textwrap
import time
import uuid
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from table import Failure, LeftOut, Row, markdown, with_figures

ROOT = Path(__file__).parents[1]
RESULTS, README = ROOT / "docs" / "RESULTS.md", ROOT / "README.md"
PACKAGES = ("torch", "d2l", "transformers", "ctranslate2", "sacrebleu", "playwright")
BUSY = 0.3  # tasks that compute or wait for a core, for each core, before the first measurement


class Part(NamedTuple):
    """A part of the results: the module whose `rows(quick)` measures it, and what a reader is told."""

    module: str
    title: str
    about: str


PARTS = {
    "training": Part(
        "training",
        "Training",
        "A round is five updates of each model, in turn, in one process with one thread. Tokens are target tokens "
        "that the model has to predict, without padding. Rows with equal batches compare the layers. Rows with batches "
        "and update of each library's own compare what you get when you train as its authors do: ours puts sentences "
        "of similar length together and runs Adam in one kernel; d2l's batches all have one width (24 tokens for the "
        "built-in corpus, 20 for fra-eng). All models start with our weights; that they then give the same logits is "
        "checked before anything is timed. d2l's layers are those of [d2l](https://d2l.ai), and `nn.Transformer` is "
        "PyTorch's.",
    ),
    "decoding": Part(
        "decoding",
        "Greedy and beam search",
        "One Transformer (3 + 3 layers of 256, vocabulary 6,000, random weights) is searched by each library, batch by "
        "batch, in turn, in one process with one thread and in float32. The time is that of a batch. All translations "
        "have 20 tokens, so that all take the same steps: with free ends, CTranslate2's were shorter and often others.",
    ),
    "pages": Part(
        "live",
        "The model in the page",
        "The small Transformer of the course runs inside a page, in JavaScript, in Chromium. Ready: from the start of "
        "the navigation until the model can answer.",
    ),
    "views": Part(
        "views",
        "The views under the mouse",
        "A script moves the mouse in Chromium and waits for the picture. A learner feels a wait above 100 ms.",
    ),
    "quality": Part(
        "quality",
        "Quality",
        "BLEU (sacreBLEU, lower case) of greedy translations of the held-out test part of the built-in corpus. A "
        "grammar writes this corpus, so its sentences are easy: compare the rows, and not with BLEU of other corpora.",
    ),
    "gpu": Part(
        "gpu",
        "On a GPU",
        "The same weights, batches and updates on a card, in turn.",
    ),
}


class Found(NamedTuple):
    """What a part has measured, and a sentence for each thing that was not measured."""

    rows: list[Row | Failure]
    missing: list[str]


def measure(name: str, rows: Iterable[Row | LeftOut]) -> Found:
    """Collect the rows of a part. After an error, those before it stay."""
    found = Found([], [])
    try:
        for each in rows:
            if isinstance(each, LeftOut):
                found.missing.append(str(each))
            else:
                found.rows.append(each)
    except LeftOut as sentence:
        found.missing.append(str(sentence))
    except Exception as error:  # whatever it is, the other parts go on
        reason = next(iter(str(error).strip().splitlines()), "without a reason")
        found.rows.append(Failure(name, f"{type(error).__name__}: {without_paths(reason)}"))
    return found


def without_paths(text: str) -> str:
    """Without the folders of this machine."""
    return re.sub(r"(?<![\w.<:/])(?:[A-Za-z]:)?(?:[/\\][^\s/\\'\":,]+)+[/\\]", "", text)


def rows_of(name: str, quick: bool) -> Iterator[Row | LeftOut]:
    """The rows of a part, with one thread. An import that fails is an error of the part."""
    import torch

    torch.set_num_threads(1)
    yield from importlib.import_module(PARTS[name].module).rows(quick)


def measure_all(names: Iterable[str], quick: bool) -> dict[str, Found]:
    """name -> what was found. What the parts print goes to standard error, as progress."""
    found: dict[str, Found] = {}
    for name in names:
        start = time.monotonic()
        print(f"{name} ...", file=sys.stderr, flush=True)
        with contextlib.redirect_stdout(sys.stderr):
            found[name] = measure(name, rows_of(name, quick))
        count = len(found[name].rows)
        print(f"{name}: {count} rows, {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)
    return found


def machine() -> dict[str, str]:
    """What the results depend on, before anything is measured: neither names nor paths of this machine."""
    import torch

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    found = {"date": datetime.date.today().isoformat(), "processor": f"{processor()}, {cores} cores"}
    with contextlib.suppress(AttributeError, OSError, ValueError):  # Windows has no sysconf
        found["memory"] = f"{os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 2**30:.0f} GiB"
    if torch.cuda.is_available():
        found["GPU"] = torch.cuda.get_device_name()
    found["system"] = f"{platform.system()} {platform.machine()}"
    if hasattr(os, "getloadavg"):
        load = os.getloadavg()[0]
        found["load at the start"] = f"{load:.1f}" + (", **a busy machine**" if load > BUSY * cores else "")
    found["Python"] = platform.python_version()
    for package in PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[package] = importlib.metadata.version(package)
    return found


def processor() -> str:
    """The name of the processor, as the system tells it."""
    with contextlib.suppress(OSError):  # Linux
        for line in Path("/proc/cpuinfo").read_text("utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    with contextlib.suppress(OSError, subprocess.CalledProcessError):  # macOS
        return subprocess.check_output(["sysctl", "-n", "machdep.cpu.brand_string"], text=True).strip()
    return platform.processor() or platform.machine()


READING = """\
# Is it fast, and how do you know?

This page is written by `python3 course.py bench`, which measures the machine that it runs on. Nobody edits it.

- **Read the ratios.** Machines differ; a ratio comes from rounds in which both libraries took their turn, in one
  process. 2.0 means that ours is twice as fast, and 0.50 that it takes twice the time.
- **Each figure is a median.** In brackets: half of all rounds lie between these two values. A difference that is
  smaller than the brackets is no difference.
- **The last column says what was equal.** What is not named there was not equal.
"""
WARNING = """
**Made on a busy machine**: other programs were running when the measurement began. Do not quote these figures.
"""
QUICK = """
**One round of each part** (`--quick`): it shows that the measurement works, and not how fast anything is.
"""


def page(found: dict[str, Found], conditions: dict[str, str], quick: bool = False) -> str:
    """The text of RESULTS.md."""
    text = READING + QUICK * quick + WARNING * any("busy" in value for value in conditions.values())
    for name, each in found.items():
        if each.rows:
            about = textwrap.fill(PARTS[name].about, 120, break_on_hyphens=False)
            text += f"\n## {PARTS[name].title}\n\n{about}\n\n{markdown(each.rows)}"
    if missing := [f"- `{name}`: {sentence}\n" for name, each in found.items() for sentence in each.missing]:
        text += "\n## Not measured here\n\n" + "".join(missing)
    text += "\n## Conditions\n\n| | |\n|---|---|\n"
    return text + "".join(f"| {name} | {value} |\n" for name, value in conditions.items())


def printed(found: dict[str, Found]) -> str:
    """One table for the terminal, and below it what was not measured."""
    text = markdown([row for each in found.values() for row in each.rows], keys=False)
    missing = (f"{name}, not measured: {sentence}\n" for name, each in found.items() for sentence in each.missing)
    return text + "".join(missing)


def write_whole(path: Path, text: str) -> None:
    """Write a file beside the old one, and put it in place in one step."""
    part = path.with_name(f".{path.name}.{uuid.uuid4().hex}.part")
    try:
        part.write_text(text, encoding="utf-8", newline="\n")
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, write. Return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one round, without the larger models; writes nothing")
    parser.add_argument("--only", nargs="+", metavar="NAME", help=f"only these parts: {', '.join(PARTS)}")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the results to this file")
    parser.add_argument("--readme", action="store_true", help="write the figures of README.md, too")
    options = parser.parse_args(arguments)
    out = options.out or (None if options.quick or options.only else RESULTS)
    if fault := refused(options, out):
        print(fault, file=sys.stderr)
        return 2
    try:
        return carry_out(options, out)
    except KeyboardInterrupt:
        print("\nInterrupted: no file was changed.", file=sys.stderr)
        return 130


def carry_out(options: argparse.Namespace, out: Path | None) -> int:
    """Measure the parts, print the table, then write. Return the exit status: 1 if a part has failed."""
    conditions = machine()
    found = measure_all([name for name in PARTS if name in (options.only or PARTS)], options.quick)
    text = page(found, conditions, options.quick)
    print(printed(found), end="")
    if out:
        write_whole(out, text)
        print(f"Written: {out.name}")
    if options.readme:
        write_whole(README, with_figures(README.read_text("utf-8"), text))
        print("Written: the figures of README.md")
    return int(any(isinstance(row, Failure) for each in found.values() for row in each.rows))


def refused(options: argparse.Namespace, out: Path | None) -> str:
    """A sentence that says why nothing is measured; empty if all is well."""
    unknown = [name for name in options.only or () if name not in PARTS]
    if unknown:
        return f"There is no part {unknown[0]!r}. The parts are {', '.join(PARTS)}."
    if out and (out.is_dir() or not os.access(out.parent, os.W_OK)):
        return f"The results cannot be written to {out}: it is a folder, or its folder is missing or write-protected."
    if options.readme and (options.quick or options.only):
        return "--readme needs a whole run: leave out --quick and --only."
    return ""


if __name__ == "__main__":
    os.environ.setdefault("SEQLEARN_DEVICE", "cpu")  # the part gpu asks for its card itself
    sys.exit(main())
