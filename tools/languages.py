"""All words of the course's own, around the lessons, in each language of the translations.

A new language is a folder in `translations/`, and an entry here: the lessons, the handouts, the book and the tests take
their words from it. A folder without an entry is refused, by the first command that would need its words.
"""
# Only the standard library and the syntax of Python 3.8: course.py imports this file with the Python of the user.

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Words:
    """The words of one language."""

    name: str
    """Of the language, in itself."""
    stale: str
    """Above a cell whose English has changed."""
    missing: str
    """Above a cell that is not translated yet."""
    predict: str
    """A prediction begins with this word, in bold letters."""
    result: str
    """What was seen begins with this word, in bold letters: such a cell is folded in a learner's copy."""
    solutions: tuple[str, ...]
    """The titles of folds that a handout leaves out."""
    prediction: str
    """Before the learner's line, and in the book."""
    type_here: str
    """How to write into the line."""
    lost: str
    """In the book, where the browser cannot keep a line."""
    seen: str
    """The title of the fold with what was seen."""
    account: str
    """Above the cell with all predictions."""
    done: str
    """Above the cell with all lessons."""
    next: str
    """Before the link to the next lesson."""
    students: str
    """In the first cell of a handout."""
    graded: str
    """In the first cell of an assignment, after `students`."""
    note: str
    """At the top of a lesson in the book; `{index}` is the book's first page."""
    show: str
    """The button that shows an output in the book."""
    hide: str
    """The button that hides it again."""
    imports: str
    """The button, in the book, that shows and hides the cell with the imports of a lesson."""
    glossary: tuple[str, ...] = ()
    """The columns of the glossary, in its order: its terms are in the first."""
    pages: dict[str, str] = field(default_factory=dict)
    """Of the pages around a lesson: text or attribute in English -> in this language."""


LANGUAGES = {
    "en": Words(
        name="English",
        stale="(The English has changed; the translation has not followed yet.)",
        missing="(Not translated yet.)",
        predict="Predict.",
        result="Seen.",
        solutions=("Solution", "The fix"),
        prediction="My prediction",
        type_here="double-click here, type it, and press Shift+Enter",
        lost="This browser cannot keep what you type: it is gone when you leave the page.",
        seen="What was seen",
        account="## My predictions\n\nSave the lesson (Ctrl+S, on a Mac ⌘S), then run the cell: it shows each "
        "prediction beside what was seen. If you write ✓ or ✗ behind a prediction, the table counts them.",
        done="## My lessons\n\nRun this cell in any lesson: it shows what you have run, predicted and solved in all of "
        "them, as far as they were saved.",
        next="Next:",
        students="*Student version: the solutions and the outputs are left out.*",
        graded=" *Hand in this file. Write your answers into the cells of the exercises; add cells, but delete none.*",
        note="This is the book: all outputs are here, views react, and cells do not run. After a prediction, choose "
        "<em>Show the output</em>. To run cells and to do the exercises, "
        '<a href="{index}#take-the-course">take the course</a>.',
        show="Show the output",
        hide="Hide the output",
        imports="What this lesson imports",
        glossary=("term", "symbol", "shape", "meaning", "lesson", "other"),
    ),
    "zh": Words(
        name="中文",
        stale="（英文有更新，中文尚未跟上）",
        missing="（尚未翻译）",
        predict="猜一猜。",
        result="结果。",
        solutions=("解答",),
        prediction="我的猜测",
        type_here="双击这里，写下来，再按 Shift+Enter",
        lost="浏览器无法保存你写的内容：离开本页后就会丢失。",
        seen="看到了什么",
        account="## 我的猜测\n\n先保存这一课（Ctrl+S，Mac 上是 ⌘S），再运行下面的单元格："
        "它把你的每个猜测和实际看到的放在一起。在猜测后面写上 ✓ 或 ✗，表格就会替你数。",
        done="## 我的课程\n\n在任何一课里运行这个单元：它显示你在所有课里运行、预测和做对了多少（以保存的为准）。",
        next="下一课：",
        students="*学生版：没有解答，也没有输出。*",
        graded="*请交回这个文件。把答案写在练习的单元格里；可以添加单元格，但不要删除。*",
        note="这是网页版：结果都在页面里，互动图可以点，单元格不能运行。猜过之后，点“显示结果”。想运行代码、做练习，请"
        '<a href="{index}#take-the-course">下载课程</a>（英文说明）。',
        show="显示结果",
        hide="收起结果",
        imports="本课导入的模块",
        glossary=("term", "other", "symbol", "shape", "meaning", "lesson"),
        pages={
            "Search": "搜索",
            "Lessons": "课程（英文）",
            "Beyond the lessons": "更多内容（英文）",
            "Look it up": "查阅（英文）",
            "On this page": "本页内容",
            "Back to top": "回到顶部",
            "Next": "下一页",
            "Previous": "上一页",
            "Skip to content": "跳到正文",
            "Link to this heading": "这一节的链接",
            "Toggle Light / Dark / Auto color theme": "切换主题：浅色、深色、自动",
            "Toggle site navigation sidebar": "打开或关闭目录",
            "Toggle table of contents sidebar": "打开或关闭本页内容",
            "Contents": "本页内容",
            "Menu": "目录",
            "The book": "全书",
            "This page": "本页",
        },
    ),
}
