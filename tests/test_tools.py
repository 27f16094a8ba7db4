"""What the tools for teachers and translators share: places that are written in one step, and sentences for errors."""

import os
import time
from pathlib import Path

import pytest

from tools import beside, blocks, handout

posix = pytest.mark.skipif(os.name == "nt", reason="places of Unix")


@posix
@pytest.mark.parametrize("place", ["file/x", "loop", "/proc/x"])
def test_a_place_that_cannot_be_written_is_a_sentence(place, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    monkeypatch.setenv("SEQLEARN_CALLER", str(tmp_path))
    with pytest.raises(SystemExit, match=rf"{Path(place).name}|{Path(place).parent}"):
        handout.main([place, "02"])
    assert {path.name for path in tmp_path.iterdir()} == {"file", "loop"}


def test_a_place_is_that_of_the_caller_and_another_handout_in_it_is_a_sentence(tmp_path, monkeypatch):
    monkeypatch.setenv("SEQLEARN_CALLER", str(tmp_path))
    monkeypatch.setattr(
        handout, "write_lessons", lambda made, chosen, spoken: (tmp_path / "d" / "mine").mkdir(parents=True)
    )
    with pytest.raises(SystemExit, match=r"d: (Directory not empty|.*exists)"):
        handout.main(["d", "2", "02"])
    assert [path.name for path in tmp_path.iterdir()] == ["d"] and (tmp_path / "d" / "mine").is_dir()


def test_what_a_kill_left_is_removed_and_an_older_book_gets_its_name_back(tmp_path):
    site, left = tmp_path / "site", tmp_path / ".site.abc.half"
    for folder in (left / "old", tmp_path / ".site.mine", tmp_path / ".site.xyz.half"):
        folder.mkdir(parents=True)
    (left / beside.MARK).touch()
    (left / "old" / "index.html").touch()
    with beside.beside(site) as part:
        assert part.parent == tmp_path and (site / "index.html").exists(), "it had lost its name"
    assert left.exists(), "somebody may be working in it"
    os.utime(left / beside.MARK, (time.time() - 3700,) * 2)
    with beside.beside(site):
        pass
    assert {path.name for path in tmp_path.iterdir()} == {"site", ".site.mine", ".site.xyz.half"}


def test_a_translators_file_stays_whole_on_a_full_disk(tmp_path, monkeypatch, capsys):
    path = tmp_path / "zh" / "04.md"
    path.parent.mkdir()
    monkeypatch.setattr(blocks, "FOLDER", tmp_path)
    written = f"<!-- l04-02 sha256:{'0' * 12} -->\nmein Text\n"
    path.write_text(written, "utf-8")

    def full(self, content):
        self.open("wb").write(content[:9])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    assert blocks.main(["zh", "04"]) == 1
    assert capsys.readouterr().err == f"{path}: No space left on device\n"
    assert path.read_text("utf-8") == written and os.listdir(path.parent) == ["04.md"]


def test_gaps_of_sections_are_closed_wherever_they_are_named(tmp_path):
    """Of another lesson, of a paper, of something that is gone."""
    from tools import sections

    here = (
        "## 2. Two\n\nSection 4, sections 2 and 5, and (Luong and others, 2015, section 4); lesson 05, section 3. "
        "Section 3.2 of it. Section 9."
    )
    new = {"04": {0: 0, 2: 1, 4: 2, 5: 3}, "05": {1: 1, 3: 2}}
    lost = []
    assert sections.renumbered(here, "04", new, lost) == (
        "## 1. Two\n\nSection 2, sections 1 and 3, and (Luong and others, 2015, section 4); lesson 05, section 2. "
        "Section 3.2 of it. Section 9."
    )
    assert len(lost) == 1 and lost[0].startswith("lesson 04 has no section 9")
    assert sections.renumbered("第 05 课（第 3 节）, 第 4 节", "04", new, lost) == "第 05 课（第 2 节）, 第 2 节"
    assert sections.renumbered("lesson 04, sections 2 to 4; section 5", "", new, lost) == (
        "lesson 04, sections 1 to 2; section 5"
    )
