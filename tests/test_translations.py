"""The translations: whole, built like the English, in the right words; and the file format behind them."""

import copy
import json
import re
import warnings
from collections import Counter
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from tools import blocks

ROOT = Path(__file__).parents[1]
FILES = [path for path in sorted((ROOT / "translations").glob("*/*.md")) if path.stem != "TERMS"]
CHINESE = "[\u3400-\u9fff]"
CODE = re.compile(r"(?ms)^```.*?^```|`[^`\n]+`")
FORMULA = re.compile(r"(?s)\$\$.+?\$\$|\$[^$\n]+\$")
LINK = re.compile(r"(!?)\[([^]]*)\]\(([^)]*)\)")
GLOSSARY = "../assets/glossary.md", "../translations/zh/glossary.md"
NUMBER = re.compile(r"\d[\d.,]*\d\b(?! million| 万)")
COMMANDS = re.compile(r"course\.py|my-lessons")  # what a reader of the translation types differs


def english(path: Path) -> dict[str, str]:
    """The English text of each cell that a file translates, read without the code under test."""
    if path.stem == "glossary":
        return {"glossary": (ROOT / "assets" / "glossary.md").read_text(encoding="utf-8")}
    (notebook,) = (ROOT / "notebooks").glob(f"{path.stem}-*.ipynb")
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return {cell["id"]: "".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"}


def current(path: Path) -> dict[str, tuple[str, str]]:
    """The English and its translation for each cell of a file, without stale ones: nobody reads their old text."""
    there = blocks.read(path)
    _, stale, _ = blocks.report(blocks.original(path.stem), there)
    return {cell: (text, there.get(cell, ("", ""))[1]) for cell, text in english(path).items() if cell not in stale}


def bare(text: str) -> str:
    """A text without code, formulas, addresses, HTML and the marks of Markdown: what a reader reads."""
    for pattern, instead in ((CODE, "`"), (FORMULA, "$"), (LINK, r"\2"), (re.compile(r"<[^>]+>"), "\n")):
        text = pattern.sub(instead, text)
    return re.sub(r"[*_#|]", "", text)


# ---- whole


def check_whole(path: Path) -> None:
    """A cell without a block, or a block without a cell, is a fault; a block whose English has changed is a warning.

    A learner sees the new English of such a cell, and whoever changed it need not know the other language.
    """
    missing, stale, orphaned = blocks.report(blocks.original(path.stem), blocks.read(path))
    command = f"python3 -m tools.blocks {path.parent.name} {path.stem}"
    if stale:
        warnings.warn(f"{path.parent.name}/{path.name} is stale in {', '.join(stale)}: {command}", stacklevel=2)
    assert (missing, orphaned) == ([], []), command


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_nothing_is_missing_or_orphaned(path):
    check_whole(path)


def fresh(name: str) -> dict[str, tuple[str, str]]:
    """The blocks of a lesson in Chinese, none of which is stale, whatever happened to the English."""
    text = english(ROOT / "translations" / "zh" / f"{name}.md")
    old = blocks.read(ROOT / "translations" / "zh" / f"{name}.md")
    return {cell: (blocks.digest(text[cell]), chinese) for cell, (_, chinese) in old.items()}


@pytest.fixture
def copied(tmp_path):
    """The Chinese of lesson 02 in another folder, none of it stale, and the id of one of its blocks."""
    path = tmp_path / "zh" / "02.md"
    path.parent.mkdir()
    heads = {cell: f"<!-- {cell} sha256:{digest} -->" for cell, (digest, _) in fresh("02").items()}
    text = (ROOT / "translations" / "zh" / "02.md").read_text(encoding="utf-8")
    path.write_text(re.sub(r"<!-- (\S+) sha256:\w+ -->", lambda head: heads[head[1]], text), encoding="utf-8")
    return path, list(fresh("02"))[3]


def test_a_stale_block_is_a_warning_with_its_file_and_its_cell(copied):
    path, cell = copied
    text = path.read_text(encoding="utf-8")
    path.write_text(re.sub(rf"(?<={cell} sha256:)\w+", "0" * 12, text), encoding="utf-8")
    with pytest.warns(UserWarning, match=rf"^zh/02\.md is stale in {cell}: python3 -m tools\.blocks zh 02$"):
        check_whole(path)


@pytest.mark.parametrize("instead", ["", "<!-- nobody sha256:0123456789ab -->\n文字\n\n"])
def test_a_missing_or_orphaned_block_is_a_failure(copied, instead):
    path, cell = copied
    text = path.read_text(encoding="utf-8")
    block = re.search(rf"(?ms)^<!-- {cell} .*?(?=^<!-- )", text)[0]
    path.write_text(text.replace(block, instead + block if instead else ""), encoding="utf-8")
    with pytest.raises(AssertionError, match=r"python3 -m tools\.blocks zh 02"):
        check_whole(path)


def test_the_lessons_that_are_translated():
    assert {"00", "02", "04"} <= blocks.languages()["zh"].keys()
    assert all(path.is_file() for path in blocks.languages()["zh"].values())


# ---- built like the English


def shape(text: str) -> dict[str, object]:
    """What a translation must keep: headings, lists, tables, folds, code, formulas, links and numbers."""
    prose = CODE.sub("", text)
    lines = prose.splitlines()
    links = Counter(mark + target for mark, _, target in LINK.findall(prose))
    links[GLOSSARY[0]] += links.pop(GLOSSARY[1], 0)
    return {
        "headings": [len(found[1]) for line in lines if (found := re.match(r"(#+) ", line))],
        "items": [found[1] for line in lines if (found := re.match(r"([-*]|\d+\.) ", line))],
        "tables": [line.count("|") for line in lines if line.startswith("|")],
        "HTML": re.findall(r"</?\w+[^>]*>", prose),
        "code": re.findall(r"(?ms)^```.*?^```", text),
        "inline code": {span for span in re.findall(r"`[^`\n]+`", text) if not COMMANDS.search(span)},
        "formulas": Counter(FORMULA.findall(CODE.sub("", text))),
        "links": +links,
        "numbers": Counter(number for number in NUMBER.findall(FORMULA.sub("", prose)) if len(number) > 2),
    }


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("## ", "### "),
        ("- one", "one"),
        ("| a | b |", "| a, b |"),
        ("</details>", ""),
        ("x = 1", "x = 2"),
        ("`x`", "x"),
        ("$a^2$", "$a^3$"),
        ("(../assets/a.svg)", "(../assets/b.svg)"),
        ("0.665", "0.656"),
    ],
)
def test_another_structure_is_found(before, after):
    text = "## A\n\n- one 0.665\n\n| a | b |\n\n<details>\n</details>\n\n```python\nx = 1\n```\n`x` $a^2$\n"
    text += "![a](../assets/a.svg)"
    assert before in text and shape(text) != shape(text.replace(before, after, 1))
    assert shape(f"[a]({GLOSSARY[0]})") == shape(f"[b]({GLOSSARY[1]})") != shape("")


def test_every_address_in_this_repository_is_there():
    for path in FILES:
        for _, _, target in LINK.findall(path.read_text(encoding="utf-8")):
            assert target.startswith("http") or (ROOT / "notebooks" / target).resolve().is_file(), target


# ---- Chinese, and in the right words


def english_paragraphs(text: str) -> list[str]:
    """The paragraphs with at least six Latin words and fewer than three Chinese characters for each of them."""
    text = re.sub(r"\*[^*\n]+\*|“[^”\n]*”|→ [\w ]+", "", text.replace("**", ""))  # titles, quotations, menus
    found = []
    for paragraph in re.split(r"\n\s*\n|\n(?=[-|])", bare(text)):
        words, letters = re.findall(r"[A-Za-z]{2,}", paragraph), re.findall(CHINESE, paragraph)
        if len(words) >= 6 and len(letters) < 3 * len(words):
            found.append(paragraph.strip())
    return found


NAMES = re.compile(r"\*\*(论文|还提到了)。\*\*")  # the paragraphs of authors, titles and conferences
TABLE = re.compile(r"(?m)^\|.*")


def bare_stars(text: str) -> list[str]:
    """`是**“键”**。` stays as it was typed: ** beside a letter and a quotation mark begins nothing."""
    tokens = MarkdownIt("commonmark", {"html": True}).enable("table").parse(FORMULA.sub("x", text))
    texts = [child.content for token in tokens for child in token.children or [] if child.type == "text"]
    return [text for text in texts if "*" in text]


def slips(text: str) -> list[str]:
    """Half-width punctuation beside a Chinese character, and a Latin letter or a digit that touches one."""
    text = re.sub(r"\([^()\n]*\)", "", bare(text))  # shapes: (批量, 查询, 键)
    return re.findall(f"{CHINESE}[,;:?!][^\n]?|{CHINESE}[A-Za-z0-9`$]+|[A-Za-z0-9`$]+{CHINESE}", text)


def faults(original: str, translation: str) -> list[str]:
    """What is wrong with the translation of one cell: its structure, English that is left, letters, punctuation."""
    ours, theirs = shape(translation), shape(original)
    found = [f"{name}: {ours[name]}, and in English {theirs[name]}" for name in ours if ours[name] != theirs[name]]
    paragraphs = "\n\n".join(part for part in TABLE.sub("", translation).split("\n\n") if not NAMES.match(part))
    found += [f"left in English: {text}" for text in english_paragraphs(paragraphs)]
    found += [f"a star that is no emphasis: {text}" for text in bare_stars(translation)]
    return found + [f"a space or a full-width sign is missing: {text}" for text in slips(translation)]


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_translation_is_built_like_the_english_and_written_in_chinese(path):
    """All faults of all cells of a file."""
    assert [f"{cell}: {fault}" for cell, pair in current(path).items() for fault in faults(*pair)] == []


def test_each_kind_of_fault_is_told():
    text = "注意 `x`。\n\nThe mask says which keys may be attended.\n\n是**“键”**。\n\n第3节"
    told = faults("Mind `y`.", text)
    assert [one.split(":")[0] for one in told] == [
        "inline code", "left in English", "a star that is no emphasis", "a space or a full-width sign is missing",
    ]  # fmt: skip
    assert slips("键,值") and slips("用`x`来") and slips("长度$d$")
    assert not slips("长度 $d$，第 3 节，形状 (批量, 键)")
    assert current(FILES[0]) and not faults("Mind `x`.", "注意 `x`。")


def terms() -> list[list[str]]:
    """The rows of TERMS.md: English, Chinese, remark, other translations that are not used."""
    lines = (ROOT / "translations" / "zh" / "TERMS.md").read_text(encoding="utf-8").splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| ")][1:]


def test_a_term_has_one_translation():
    text = "\n".join(path.read_text(encoding="utf-8") for path in FILES if path.parent.name == "zh")
    assert [row[1] for row in terms() if row[1] not in text] == [], "nobody uses these terms"
    assert [word for row in terms() for word in row[3].split("、") if word and word in text] == []


def glossary_rows(path: Path) -> list[list[str]]:
    """The rows of all tables of a glossary, without their headings."""
    lines = path.read_text(encoding="utf-8").splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| ")]
    return [row for row in rows if row[-1] not in ("中文", "课")]


def test_the_terms_have_the_names_of_the_glossary():
    names = {row[0]: row[-1] for row in glossary_rows(ROOT / "assets" / "glossary.md")}
    known = [row for row in terms() if row[0] in names]
    assert len(known) > 15
    assert [row for row in known if row[1] not in names[row[0]]] == []


def test_the_chinese_glossary_has_the_terms_of_the_english_one():
    """The same terms in the same order: English and Chinese name, symbol, formulas of the shape, lesson."""
    ours = glossary_rows(ROOT / "translations" / "zh" / "glossary.md")
    theirs = glossary_rows(ROOT / "assets" / "glossary.md")
    assert len(theirs) > 70
    assert [(term, name, symbol, FORMULA.findall(form), lesson) for name, term, symbol, form, _, lesson in ours] == [
        (term, name, symbol, FORMULA.findall(form), lesson) for term, symbol, form, _, lesson, name in theirs
    ]


# ---- the mechanism


def notebook(**texts: str) -> dict:
    """A notebook with a Markdown cell for each text, and one code cell that was run."""
    cells = [{"cell_type": "markdown", "id": cell, "metadata": {}, "source": [text]} for cell, text in texts.items()]
    code = {"cell_type": "code", "id": "code", "metadata": {}, "source": ["1 + 1"], "outputs": ["2"]}
    return {"cells": [*cells, code], "metadata": {}}


ENGLISH = "# Masks\n\nA mask hides keys."
HASH = "a15edadb200e"  # printf '# Masks\n\nA mask hides keys.' | sha256sum


def sources(book: dict) -> dict[str, str]:
    """The text of each cell."""
    return {cell["id"]: "".join(cell["source"]) for cell in book["cells"]}


def test_text_from_the_translation_and_code_from_the_lesson():
    book = notebook(a=ENGLISH)
    before = copy.deepcopy(book)
    result = blocks.translated(book, {"a": (HASH, "# 掩码\n\n掩码遮住键。")})
    assert sources(result)["a"] == "# 掩码\n\n掩码遮住键。" and result["cells"][-1] == book["cells"][-1]
    assert isinstance(result["cells"][0]["source"], list) and book == before, "a copy"


@pytest.mark.parametrize(
    ("block", "mark", "faults"),
    [
        ({"a": ("000000000000", "旧")}, "> （英文有更新，中文尚未跟上）", ([], ["a"], [])),
        ({}, "> （尚未翻译）", (["a"], [], [])),
        ({"a": (HASH, "")}, "> （尚未翻译）", (["a"], [], [])),
        ({"b": (HASH, "旧"), "code": (HASH, "旧")}, "> （尚未翻译）", (["a"], [], ["b", "code"])),
    ],
    ids=["stale", "missing", "not yet translated", "orphaned"],
)
def test_english_with_a_mark(block, mark, faults):
    book = notebook(a=ENGLISH)
    assert blocks.report(book, block) == faults
    assert sources(blocks.translated(book, block))["a"] == f"# Masks\n\n{mark}\n\nA mask hides keys."
    assert sources(blocks.translated(notebook(a="A mask."), block))["a"].startswith("> （")
    assert "not translated" in sources(blocks.translated(book, {}, "en"))["a"].lower()


def test_a_changed_english_cell_shows_english():
    """One letter is enough; the other cells of the lesson stay Chinese."""
    book, text = blocks.original("02"), fresh("02")
    changed = copy.deepcopy(book)
    changed["cells"][0]["source"][-1] += "!"
    assert blocks.report(changed, text) == ([], ["l02-01"], [])
    ours, theirs = sources(blocks.translated(book, text)), sources(blocks.translated(changed, text))
    assert theirs["l02-01"].splitlines()[0] == book["cells"][0]["source"][0].strip()
    assert theirs["l02-01"].splitlines()[2] == "> （英文有更新，中文尚未跟上）" and theirs["l02-01"].endswith("!")
    assert {cell for cell in ours if ours[cell] != theirs[cell]} == {"l02-01"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("注意力\n", "line 1: text before the first heading"),
        (f"<!-- a sha256:{HASH} -->\n键\n\n<!-- a sha256:{HASH} -->\n值\n", "line 4: cell a has two blocks"),
        (f"<!-- a sha256:{HASH[:-1]} -->\n键\n", "line 1: '<!-- a sha256:a15edadb200 -->' is not a heading"),
        (f"<!-- a sha256:{HASH} -->\n键\n<!-- b {HASH} -->\n", f"line 3: '<!-- b {HASH} -->' is not a heading"),
        ("键".encode("gbk"), "not UTF-8"),
    ],
    ids=["no heading", "twice", "short hash", "no sha256", "other encoding"],
)
def test_a_malformed_file(text, said, tmp_path):
    path = tmp_path / "04.md"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(blocks.BadTranslation) as caught:
        blocks.read(path)
    assert said in str(caught.value) and str(path) in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("mark", ["", "\ufeff"], ids=["plain", "byte order mark"])
def test_reading_a_file(mark, tmp_path):
    path = tmp_path / "04.md"
    path.write_bytes(f"{mark}\r\n<!-- a sha256:{HASH} -->\r\n键\r\n\r\n值\r\n<!-- b sha256:{HASH} -->\r\n".encode())
    assert blocks.read(path) == {"a": (HASH, "键\n\n值"), "b": (HASH, "")}


def test_the_command_adds_what_is_missing_and_overwrites_nothing(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(blocks, "FOLDER", tmp_path)
    monkeypatch.setattr(blocks, "original", lambda name: notebook(a="A.", b=ENGLISH, c="C."))
    assert blocks.main(["zh", "4"]) == 0 and "3 blocks added; to translate: a, b, c" in capsys.readouterr().out
    path = tmp_path / "zh" / "04.md"
    skeleton = path.read_text("utf-8")
    assert f"<!-- b sha256:{HASH} -->\n<!-- English, to be translated:\n{ENGLISH}\n-->\n" in skeleton
    old = f"<!-- old sha256:{HASH} -->\n去年的  \n\n<!-- c sha256:{HASH} -->\n\n丙"
    path.write_text(old, "utf-8")
    assert blocks.main(["zh", "04"]) == 0
    said, written = capsys.readouterr().out, path.read_text("utf-8")
    assert "2 blocks added; to translate: a, b" in said and "old is orphaned" in said
    assert "c is stale" in said and f"<!-- c sha256:{blocks.digest('C.')} -->" in said
    assert "去年的  \n\n" in written and f"<!-- c sha256:{HASH} -->\n\n丙" in written, "kept, letter by letter"
    assert list(blocks.read(path)) == ["a", "b", "old", "c"], "a new block comes after the cell before it"
    assert blocks.main(["zh", "04"]) == 0 and path.read_text("utf-8") == written


def test_the_command_says_what_is_wrong(tmp_path, monkeypatch, capsys):
    assert blocks.main(["zh", "99"]) == 1
    assert capsys.readouterr().err == "There is no lesson 99: give a number such as 04, or glossary.\n"
    monkeypatch.setattr(blocks, "FOLDER", tmp_path)
    (tmp_path / "zh").mkdir()
    (tmp_path / "zh" / "02.md").write_text("no heading\n")
    assert blocks.main(["zh", "02"]) == 1 and "line 1" in capsys.readouterr().err
    assert (tmp_path / "zh" / "02.md").read_text() == "no heading\n"
