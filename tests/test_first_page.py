"""The first pages: the picture tells what the model says, links lead somewhere, commands exist, recipes fit."""

import ast
import io
import json
import re
import shlex
import shutil
import subprocess
import tokenize
import tomllib
from pathlib import Path

import pytest
import typer
import yaml
from PIL import Image, ImageChops
from typer.testing import CliRunner

import course
from seqlearn.cli import app
from seqlearn.translator.translator import Translator
from seqlearn.translator.whatif import Ablate, what_if
from seqlearn.views.gallery import all_views, gallery
from tools import picture as story

ROOT = Path(__file__).parents[1]
PAGES = [
    "README.md",
    "CONTRIBUTING.md",
    *(f"docs/{name}.md" for name in ("ANYWHERE", "COMMANDS", "DECISIONS", "LESSONS", "TEACHERS", "TESTS", "VIEWS")),
]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
COURSE = re.compile(r"\b(?:python3?|py) course\.py (\w+)")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def read(name):
    return (ROOT / name).read_text("utf-8")


def test_the_picture_tells_what_the_model_says():
    translator = Translator.pretrained("transformer", "cpu")
    assert translator.translate(story.SENTENCE) == story.BEFORE
    ablated = what_if(translator, (), [Ablate(*story.HEAD)])
    assert ablated.translate(story.SENTENCE) == story.AFTER
    (text,) = re.findall(r'<img src="assets/live\.gif"[^>]* alt="([^"]+)"', read("README.md"))
    assert story.SENTENCE in text and story.BEFORE in text and "“elle”" in text


@pytest.mark.slow
def test_the_page_behind_the_picture_is_that_of_today():
    """Its scripts and styles; `python -m tools.picture` writes it again."""
    path = ROOT / "assets" / "live.html"
    page, today = path.read_text("utf-8"), gallery(all_views()[:2])
    assert "assets/live.html" in read("README.md") and path.stat().st_size < 2e6
    for part in ("script type=.module.", "style"):
        found, wanted = (re.findall(f"<{part}>(.*?)</", text, re.DOTALL) for text in (page, today))
        assert found == wanted and wanted


def test_the_picture_of_an_exercise_tells_what_the_check_says(capsys):
    (told,) = re.findall(r'<img src="assets/not-yet\.png"[^>]* alt="[^"]*“([^”]+)”"', read("README.md"))
    exec("\n".join(story.WRONG), {})
    assert capsys.readouterr().out.strip() == told


@pytest.mark.parametrize("name", story.SCHEMES.values())
def test_the_picture_is_small_and_comes_to_rest(name):
    path = ROOT / "assets" / f"{name}.gif"
    film, still = Image.open(path), Image.open(path.with_suffix(".png")).convert("RGB")
    assert film.size == still.size == (story.SHARP * story.WIDTH, story.SHARP * story.HEIGHT) and story.WIDTH >= 800
    assert path.stat().st_size < 1.5e6
    assert 0 < film.info["loop"] == story.TIMES - 1 < 3  # 0 would be for ever
    seconds = 0.0
    for frame in range(film.n_frames):
        film.seek(frame)
        seconds += film.info["duration"] / 1000
    assert 8 <= seconds <= 12
    apart = ImageChops.difference(film.convert("RGB"), still).convert("L").histogram()
    assert sum(apart[48:]) < 0.01 * still.width * still.height, "the still picture is the last frame"


def anchors(text):
    """The names by which GitHub links to the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def lost(page, text):
    """The links of a page that lead nowhere in the course."""
    found = []
    for target in re.findall(r'\]\(([^)\s]+)\)|(?:src|srcset|href)="([^"]+)"', text):
        name, _, anchor = "".join(target).partition("#")
        if name.startswith("http"):
            continue
        path = (ROOT / page).parent / name if name else ROOT / page
        if not path.exists() or (anchor and anchor not in anchors(path.read_text("utf-8"))):
            found.append("".join(target))
    return found


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    assert lost(page, read(page)) == []


def test_a_lost_link_is_found():
    text = "# A\n[a](README.md#start) [b](README.md#stop) [c](#b) [d](none.md) [e](https://d2l.ai)\n"
    assert lost("README.md", text + '<img src="assets/none.gif">') == [
        "README.md#stop", "#b", "none.md", "assets/none.gif",
    ]  # fmt: skip


@pytest.mark.parametrize("text", [*PAGES, *WORKFLOWS], ids=lambda path: Path(path).name)
def test_commands_of_the_course_exist(text):
    named = set(COURSE.findall(read(text)))
    assert named <= {"lab", "test", "refresh", *course.SCRIPTS}
    assert named or text not in ("README.md", "CONTRIBUTING.md", "docs/TEACHERS.md")


def test_commands_and_options_of_the_command_line_exist():
    program, text = typer.main.get_command(app), read("docs/COMMANDS.md")
    assert set(re.findall(r"(?<!from )\bseqlearn ([a-z]+)\b", text)) == set(program.commands)
    context = typer.Context(program)
    commands = [program, *(program.resolve_command(context, [name])[1] for name in program.commands)]
    options = {name for command in commands for parameter in command.params for name in parameter.opts}
    options |= {name for command in commands for parameter in command.params for name in parameter.secondary_opts}
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", text))
    assert len(named) > 20 and named - options == {"--help", "--nproc-per-node"}  # the second is torchrun's


@pytest.mark.slow
def test_the_commands_for_own_data_work_as_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SEQLEARN_DEVICE", "cpu")
    words = {"cat": "Katze", "dog": "Hund", "man": "Mann", "child": "Kind"}
    verbs = {"sleeps": "schläft", "sees": "sieht", "sings": "singt", "writes": "schreibt"}
    numbers = range(30)
    lines = [f"The {w} {v} {n}.\tDie {words[w]} {verbs[v]} {n}.\n" for w in words for v in verbs for n in numbers]
    Path("pairs.tsv").write_text("".join(lines), encoding="utf-8")
    section = read("docs/COMMANDS.md").partition("## Your own data")[2].partition("\n## ")[0]
    commands = re.findall(r"^    \.venv/bin/seqlearn (.+)$", section, re.MULTILINE)
    assert [command.split()[0] for command in commands] == ["train", "evaluate", "translate", "view"]
    for command in commands:
        result = CliRunner().invoke(app, shlex.split(command))
        assert result.exit_code == 0, result.output
    assert Path("cat.html").read_text("utf-8").count('id="model"') == 1, "another sentence gets its answer in the page"


def lines(path):
    """The lines of a module, and those of them that are code: no docstring, no comment, not blank."""
    text = path.read_text("utf-8")
    skipped = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
    tokens = [token for token in tokenize.generate_tokens(io.StringIO(text).readline) if token.type not in skipped]
    code = {line for token in tokens for line in range(token.start[0], token.end[0] + 1)}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node):
            code -= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    return len(text.splitlines()), len(code)


def near(said, counted):
    return abs(said - counted) <= 0.1 * counted


def test_the_lengths_in_the_reading_order():
    """About: within a tenth, so that a small change of the code changes no text."""
    readme = read("README.md")
    rows = re.findall(r"^\| \d+ \| \[[^]]+\]\((seqlearn/\S+)\) \| (\d+) \|", readme, re.MULTILINE)
    counted = {path: lines(ROOT / path)[0] for path, _ in rows}
    assert rows[0][0] == "seqlearn/nn/contract.py" and len(counted) == len(rows) > 8
    assert {path: counted[path] for path, said in rows if not near(int(said), counted[path])} == {}
    (said,) = re.findall(r"in this order, about ([\d,]+) lines", readme)
    assert near(int(said.replace(",", "")), sum(counted.values())), sum(counted.values())


def test_the_transformer_fits_into_one_sitting():
    assert lines(ROOT / "seqlearn/nn/transformer.py")[0] <= 250


def test_the_length_of_what_a_reader_reads():
    apart = {"views", "exercises", "cli", "grammar"}
    paths = [path for path in (ROOT / "seqlearn").rglob("*.py") if not apart & set(path.parts)]
    counted = [sum(each) for each in zip(*map(lines, paths), strict=True)]
    (said,) = re.findall(r"is about ([\d,]+) lines, of which ([\d,]+) are code", read("CONTRIBUTING.md"))
    assert all(near(int(number.replace(",", "")), count) for number, count in zip(said, counted, strict=True)), counted


def test_whoever_contributes_reads_a_page_and_no_book():
    assert len(read("CONTRIBUTING.md").split()) <= 2500


def test_a_line_of_code_is_counted_and_no_docstring(tmp_path):
    (tmp_path / "a.py").write_text(
        '"""A\nmodule."""\n\n# why\nx = [\n    1,\n]\n\n\ndef f():\n    """F."""\n    return 1\n'
    )
    assert lines(tmp_path / "a.py") == (12, 5) and near(100, 109) and not near(100, 112)


def test_the_hours_are_the_sum_of_the_minutes():
    readme = read("README.md")
    rows = re.findall(r"^\| \[\d\d .*\| (\d+)(?:, and (\d+) for the exercises)? \|$", readme, re.MULTILINE)
    assert len(rows) == len(list((ROOT / "notebooks").glob("*.ipynb")))
    (said,) = re.findall(r"^About (\d+) hours, and (\d+) more for the exercises", readme, re.MULTILINE)
    for place, hours in enumerate(said):
        assert abs(int(hours) - sum(int(row[place] or 0) for row in rows) / 60) <= 0.5


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_have_few_permissions_and_known_actions(path):
    workflow = yaml.safe_load(path.read_text("utf-8"))
    assert workflow["permissions"] == {"contents": "read"}
    publishing = {"pages": "write", "id-token": "write"}
    for job in workflow["jobs"].values():
        assert job.get("permissions", publishing) == publishing
        for step in job["steps"]:
            assert ("uses" in step) != ("run" in step)
            assert re.fullmatch(r"actions/[\w-]+@v\d+", step.get("uses", "actions/none@v1"))
            assert "pull_request_target" not in str(workflow)
            installs = re.search(r"pip install|course\.py", step.get("run", "")) and "--here" not in step["run"]
            assert bool(installs) == ("TORCH_CPU" in str(step)), "no CUDA where no GPU is"
            cached = step.get("with", {}).get("cache-dependency-path")
            assert (ROOT / (cached or "constraints.txt")).exists()
    assert workflow["concurrency"]


def test_workflows_do_what_they_say():
    book, nightly, test = (yaml.safe_load(path.read_text("utf-8")) for path in WORKFLOWS)
    assert [path.stem for path in WORKFLOWS] == ["book", "nightly", "test"]
    steps = book["jobs"]["build"]["steps"]
    assert steps[2]["run"] == "python course.py book" and steps[3]["with"]["path"] == "site"
    assert "/site/" in read(".gitignore").split()
    matrix = test["jobs"]["test"]["strategy"]["matrix"]
    assert matrix["python"] == [".".join(map(str, version)) for version in (course.OLDEST, course.NEWEST)]
    assert {system.split("-")[0] for system in matrix["system"]} == {"ubuntu", "macos", "windows"}
    assert test["jobs"]["test"]["steps"][2]["run"] == "python course.py test"
    *_, install, javascript, run = (step["run"] for step in nightly["jobs"]["newest"]["steps"] if "run" in step)
    assert shlex.split(install) == ["python", "-m", "pip", "install", "-e", ".[test]"], "and no constraints"
    assert (
        shlex.split(javascript) == ["python", "tools/javascript/install.py"] and (ROOT / javascript.split()[1]).exists()
    )
    assert run == "python course.py test --here"


def test_images_get_the_pins_of_the_course_but_pytorch_for_the_cpu():
    image, conda = (yaml.safe_load(read(name)) for name in (".binder/environment.yml", "environment.yml"))
    python, pip, torch = image["dependencies"]
    assert [python, pip] == conda["dependencies"][:2] and image["channels"] == conda["channels"]
    (declared,) = [need for need in PROJECT["dependencies"] if need.startswith("torch>")]
    assert torch == declared.replace("torch", "pytorch-cpu")
    script = read(".binder/postBuild")
    assert "-e ." in script and "grep -v '^torch==' constraints.txt" in script
    assert len(re.findall("^torch==", read("constraints.txt"), re.MULTILINE)) == 1
    assert " ".join(["python", *course.HIDE, course.NEWS]) in script.splitlines()
    if shutil.which("bash"):
        subprocess.run(["bash", "-n", ROOT / ".binder" / "postBuild"], check=True)


def test_the_dev_container_uses_the_same_recipe():
    settings = json.loads(read(".devcontainer/devcontainer.json"))
    assert (ROOT / settings["postCreateCommand"].removeprefix("bash ")).exists()
    recipe = read(".devcontainer/" + settings["build"]["dockerfile"])
    assert (ROOT / ".devcontainer" / settings["build"]["context"]).resolve() == ROOT
    copied = re.findall(r"^COPY (\S+)", recipe, re.MULTILINE)
    assert copied == [".binder/environment.yml"]
    assert f"/envs/{yaml.safe_load(read(copied[0]))['name']}/bin" in recipe


def test_the_citation_names_this_course():
    citation = yaml.safe_load(read("CITATION.cff"))
    assert {"cff-version", "message", "title", "authors"} <= set(citation) and citation["cff-version"] == "1.2.0"
    assert citation["version"] == PROJECT["version"] and citation["keywords"] == PROJECT["keywords"]
    assert citation["authors"] == PROJECT["authors"]
    assert citation["license"] == PROJECT["license"].split(" AND ")[0]
