"""Close the gaps in the section numbers of lessons: `python -m tools.sections` prints what it would change.

`python -m tools.sections --write` renumbers the headings "## 4. Words" of each lesson from its first number on, and
every mention: in the lesson, in other lessons ("lesson 04, section 3"), in checks, in the pages for teachers, and in
translations (第 3 节). A mention of a section that is not there is printed, with its place. Read the diff: the script
takes "section 4" for one of the lesson around it, unless a year, a paper or another lesson stands beside it.
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HEADING = re.compile(r"(^## |\bsection=\")(\d+)(?=\. )", re.MULTILINE)  # in a lesson, or in a check that names it
ONE = r"\d{1,2}(?![\d.]*\d)"
NUMBERS = rf"{ONE}(?:(?:, and |, | and | to | or ){ONE})*"
MENTION = re.compile(rf"\b([Ss]ections? )({NUMBERS})|(第 )(\d+)( 节)")
BEFORE = re.compile(r"(?:(?:[Ll]esson |第 )(\d\d)(?: 课)?(?:'s|,|:|（| \()? ?|\b(\d\d):(?: the first screen,)? )$")
AFTER = re.compile(r"\s+of\s+\[?(?:lesson\s+)?(\d\d)\b")
PAPER = re.compile(r"(?:\d{4}\)?|\bits|\bIts|\bpaper),? \(?$|\bof (?:its|the) paper")


def numbers(notebook: Path) -> dict[int, int]:
    """The sections of a lesson: number today -> number without gaps."""
    cells = json.loads(notebook.read_text("utf-8"))["cells"]
    texts = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
    found = [int(number) for text in texts for _, number in HEADING.findall(text)]
    return {number: place for place, number in enumerate(found, start=min(found, default=0))}


def renumbered(text: str, own: str, new: dict[str, dict[int, int]], lost: list[str]) -> str:
    """A text of lesson `own` ("" for a page of none) whose mentions follow; what is not there is added to `lost`."""

    def heading(found: re.Match[str]) -> str:
        return f"{found[1]}{new[own].get(int(found[2]), found[2])}"

    def mention(found: re.Match[str]) -> str:
        start, end = text[max(found.start() - 40, 0) : found.start()], text[found.end() : found.end() + 20]
        other = BEFORE.search(start) or AFTER.match(end)
        lesson = next(filter(None, other.groups())) if other else own
        if not lesson or lesson not in new or (not other and PAPER.search(start)) or "paper" in end[:14]:
            return found[0]
        word, listed, tail = (found[1], found[2], "") if found[1] else found.group(3, 4, 5)

        def one(number: re.Match[str]) -> str:
            if int(number[0]) not in new[lesson]:
                lost.append(f"lesson {lesson} has no section {number[0]}: {start[-30:]}{found[0]}{end}")
                return number[0]
            return str(new[lesson][int(number[0])])

        return word + re.sub(r"\d+", one, listed) + tail

    text = HEADING.sub(heading, text) if own in new else text
    return MENTION.sub(mention, text)


def changes(root: Path = ROOT) -> tuple[dict[Path, str], list[str]]:
    """The files that change, with their new text, and the mentions of sections that are not there."""
    new = {path.name[:2]: numbers(path) for path in sorted(root.glob("notebooks/[0-9]*.ipynb"))}
    lost: list[str] = []
    changed = {}
    for path in sorted(root.glob("notebooks/**/[0-9]*.ipynb")):
        notebook, own = json.loads(path.read_text("utf-8")), path.name[:2]
        before = json.dumps(notebook)
        for cell in notebook["cells"]:
            texts = "".join(cell["source"])
            is_heading = own if path.parent.name != "more" else ""
            cell["source"] = renumbered(texts, is_heading, new, lost).splitlines(keepends=True)
        if json.dumps(notebook) != before:
            changed[path] = json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
    for path in [*root.glob("seqlearn/exercises/lesson*.py"), *root.glob("translations/*/[0-9]*.md")]:
        own = re.sub(r"\D", "", path.stem)
        text = path.read_text("utf-8")
        if (after := renumbered(text, own, new, lost)) != text:
            changed[path] = after
    for path in [root / "docs/TEACHERS.md", root / "README.md", root / "assets/glossary.md"]:
        lines = path.read_text("utf-8").splitlines(keepends=True) if path.exists() else []
        after, part = "", ""
        for line in lines:
            heading, row = re.match(r"##(#?) (\d\d )?", line), re.match(r"\| (\d\d) ", line)
            part = (heading[2] or "").strip() if heading else part  # "### 04 Attention scores"
            after += renumbered(line, row[1] if row else part, new, lost) if not heading else line
        if after != "".join(lines):
            changed[path] = after
    return changed, lost


def main() -> None:
    """Print the files that change and the mentions of nothing; write them if asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the files")
    options = parser.parse_args()
    changed, lost = changes()
    for path, text in changed.items():
        print(f"{path.relative_to(ROOT)} {'is changed' if options.write else 'would change'}")
        if options.write:
            path.write_text(text, "utf-8")
    print("\n".join(lost))


if __name__ == "__main__":
    main()
