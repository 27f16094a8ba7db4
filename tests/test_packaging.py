"""The three lists of what the course is made of say the same: pyproject.toml, constraints.txt, environment.yml."""

import ast
import importlib.metadata
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
DECLARED = [Requirement(line) for line in PROJECT["dependencies"] + EXTRAS["test"] + EXTRAS["bench"]]
LINES = [line.partition("#")[0].strip() for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()]
PINS = {canonicalize_name(line.split("==")[0]): line.split("==")[1] for line in LINES if line}
INSTALLED = {canonicalize_name(found.metadata["Name"]): found for found in importlib.metadata.distributions()}
IMPORTED_AS = {"PyYAML": "yaml", "ipython": "IPython"}

PLATFORMS = {
    "Linux": {"os_name": "posix", "sys_platform": "linux", "platform_machine": "x86_64"},
    "Windows": {"os_name": "nt", "sys_platform": "win32", "platform_machine": "AMD64"},
    "Darwin": {"os_name": "posix", "sys_platform": "darwin", "platform_machine": "arm64"},
}


def needed(name: str, extra: str, environment: dict[str, str], seen: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """All (package, extra) that `name[extra]` brings in on that platform, but for the CUDA packages of torch."""
    if (name, extra) in seen:
        return seen
    seen.add((name, extra))
    for line in (INSTALLED[name].requires or []) if name in INSTALLED else []:
        requirement = Requirement(line)
        marker = requirement.marker
        if marker and not marker.evaluate(environment | {"extra": extra}):
            continue
        child = canonicalize_name(requirement.name)
        if child.startswith(("nvidia-", "cuda-", "triton")):
            continue
        for wanted in ["", *requirement.extras]:
            needed(child, wanted, environment, seen)
    return seen


@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13"])
@pytest.mark.parametrize("platform", PLATFORMS)
def test_the_pins_cover_the_whole_tree_on_every_platform(platform, python):
    environment = PLATFORMS[platform] | {
        "platform_system": platform, "python_version": python, "python_full_version": python + ".9",
    }  # fmt: skip
    seen: set[tuple[str, str]] = set()
    for extra in ["", "test", "bench"]:
        needed("seqlearn", extra, environment, seen)
    names = {name for name, _ in seen} - {"seqlearn"}
    assert len(names) > 100
    assert names - set(PINS) == set()


def test_no_pin_is_left_over():
    seen: set[tuple[str, str]] = set()
    for platform, facts in PLATFORMS.items():
        facts = facts | {"platform_system": platform}
        for extra in ["", "test", "bench"]:
            seen |= needed("seqlearn", extra, facts, set())
    assert set(PINS) - {name for name, _ in seen} == set()


def test_every_requirement_is_pinned_to_a_version_that_it_admits():
    assert [str(need) for need in DECLARED if PINS.get(canonicalize_name(need.name), "") not in need.specifier] == []
    assert all("+" not in pin and pin[0].isdigit() for pin in PINS.values()), (
        "a local build exists on one platform only"
    )


@pytest.mark.skipif(
    not (ROOT / ".venv" / "stamp").exists() or str(ROOT) not in sys.prefix, reason="not course.py's .venv"
)
def test_what_is_installed_is_what_is_pinned():
    installed = {name: found.version.split("+")[0] for name, found in INSTALLED.items() if name in PINS}
    assert {name: version for name, version in installed.items() if version != PINS[name]} == {}


def test_conda_and_binder_get_the_same():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    python, pip, by_pip = environment["dependencies"]
    assert environment["channels"] == ["conda-forge"] and pip == "pip"
    assert python.removeprefix("python=") + ".0" in SpecifierSet(PROJECT["requires-python"])
    # The package itself, so its own requirements, and the same pins: there is no second list that could differ.
    assert by_pip == {"pip": ["-c constraints.txt", "-e .[test]"]}
    assert canonicalize_name(PROJECT["name"]) == "seqlearn" and (ROOT / "seqlearn" / "__init__.py").exists()


def test_what_the_package_imports_is_declared():
    declared = {IMPORTED_AS.get(need.name, need.name) for need in DECLARED[: len(PROJECT["dependencies"])]}
    brought = {"IPython", "matplotlib_inline", "traitlets", "accelerate"}  # by jupyterlab, ipywidgets and anywidget
    imported = set()
    for path in (ROOT / "seqlearn").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                imported.add(node.module.partition(".")[0])
    assert imported - set(sys.stdlib_module_names) - declared - brought - {"seqlearn"} == set()


def test_course_py_and_the_package_support_the_same_pythons():
    assert PROJECT["requires-python"] == ">=3.11,<3.14"  # course.check_python; see test_course.py
