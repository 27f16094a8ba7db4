"""The three lists of what the course needs agree: pyproject.toml, constraints.txt, environment.yml."""

import ast
import functools
import importlib.metadata
import itertools
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

import course

ROOT = Path(__file__).parents[1]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT, TOOLS = SETTINGS["project"], SETTINGS["tool"]
EXTRAS = PROJECT["optional-dependencies"]
DECLARED = [Requirement(line) for line in itertools.chain(PROJECT["dependencies"], *EXTRAS.values())]
OTHERS = [need for need in DECLARED if need.name != "seqlearn"]  # without the extras that an extra contains
LINES = [line.partition("#")[0].strip() for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()]
PINS = {canonicalize_name(line.split("==")[0]): line.split("==")[1] for line in LINES if line}
ROOTS = {"": PROJECT["dependencies"], **EXTRAS}  # as declared, not as installed
HERE = [path for path in sys.path if not path.endswith("_vendor")]  # setuptools brings copies of its own
INSTALLED = {canonicalize_name(found.metadata["Name"]): found for found in importlib.metadata.distributions(path=HERE)}
PYTHONS = ["3.11", "3.12", "3.13", "3.14"]
IMPORTED_AS = {"lazy-loader": "lazy_loader", "PyYAML": "yaml", "ipython": "IPython"}

PLATFORMS = {
    "Linux": {"os_name": "posix", "sys_platform": "linux", "platform_machine": "x86_64"},
    "Windows": {"os_name": "nt", "sys_platform": "win32", "platform_machine": "AMD64"},
    "Darwin": {"os_name": "posix", "sys_platform": "darwin", "platform_machine": "arm64"},
}


def needed(name: str, extra: str, environment: dict[str, str], seen: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """All (package, extra) that `name[extra]` installs in that environment, without the CUDA packages of torch."""
    if (name, extra) in seen:
        return seen
    seen.add((name, extra))
    for requirement in required(name, extra):
        marker = requirement.marker
        if marker and not marker.evaluate(environment | {"extra": extra}):
            continue
        child = canonicalize_name(requirement.name)
        if child.startswith(("nvidia-", "cuda-", "triton")):
            continue
        for wanted in ["", *requirement.extras]:
            needed(child, wanted, environment, seen)
    return seen


@functools.cache
def required(name: str, extra: str) -> list[Requirement]:
    """What a package says it requires; nothing is known of one that is not installed, such as one for Windows."""
    lines = ROOTS[extra] if name == "seqlearn" else (INSTALLED[name].requires or []) if name in INSTALLED else []
    return [Requirement(line) for line in lines]


def environment_of(platform: str, python: str) -> dict[str, str]:
    """What a marker can ask for."""
    facts = {"platform_system": platform, "python_version": python, "python_full_version": f"{python}.1"}
    return PLATFORMS[platform] | facts | {"implementation_name": "cpython", "platform_python_implementation": "CPython"}


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("platform", PLATFORMS)
def test_the_pins_cover_the_whole_tree_on_every_platform(platform, python):
    environment = environment_of(platform, python)
    seen: set[tuple[str, str]] = set()
    for extra in ROOTS:
        needed("seqlearn", extra, environment, seen)
    names = {name for name, _ in seen} - {"seqlearn"}
    assert len(names) > 100
    assert names - set(PINS) == set()


def test_no_pin_is_left_over():
    seen: set[tuple[str, str]] = set()
    for platform, python, extra in itertools.product(PLATFORMS, PYTHONS, ROOTS):
        seen |= needed("seqlearn", extra, environment_of(platform, python), set())
    assert set(PINS) - {name for name, _ in seen} == {"uv"}  # course.py installs with it


def test_every_requirement_is_pinned_to_a_version_that_it_admits():
    assert [str(need) for need in OTHERS if PINS.get(canonicalize_name(need.name), "") not in need.specifier] == []
    assert all("+" not in pin and pin[0].isdigit() for pin in PINS.values()), (
        "a local build exists on one platform only"
    )


@pytest.mark.skipif(
    not (ROOT / ".venv" / "stamp").exists() or str(ROOT) not in sys.prefix, reason="not course.py's .venv"
)
def test_what_is_installed_is_what_is_pinned():
    installed = {name: found.version.split("+")[0] for name, found in INSTALLED.items() if name in PINS}
    assert {name: version for name, version in installed.items() if version != PINS[name]} == {}


def test_conda_gets_the_same():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    python, pip, by_pip = environment["dependencies"]
    assert environment["channels"] == ["conda-forge"] and pip == "pip"
    assert python.removeprefix("python=") in PYTHONS
    # The package itself, so its own requirements, and the same pins: there is no second list that could differ.
    assert by_pip == {"pip": ["-c constraints.txt", "-e ."]}
    assert canonicalize_name(PROJECT["name"]) == "seqlearn" and (ROOT / "seqlearn" / "__init__.py").exists()


@pytest.mark.slow
def test_what_the_package_imports_is_declared():
    declared = {IMPORTED_AS.get(need.name, need.name) for need in DECLARED[: len(PROJECT["dependencies"])]}
    brought = {"IPython", "matplotlib_inline", "traitlets", "urllib3"}  # by jupyterlab, ipywidgets, anywidget, requests
    imported = set()
    for path in (ROOT / "seqlearn").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                imported.add(node.module.partition(".")[0])
    assert imported - set(sys.stdlib_module_names) - declared - brought - {"seqlearn"} == set()


def test_everything_names_the_same_pythons():
    after_the_newest = f"3.{course.NEWEST[1] + 1}"
    assert [f"3.{minor}" for minor in range(course.OLDEST[1], course.NEWEST[1] + 1)] == PYTHONS
    assert PROJECT["requires-python"] == f">={PYTHONS[0]},<{after_the_newest}"
    assert all(python in course.OLD for python in PYTHONS) and after_the_newest not in course.OLD
    assert f"Python {PYTHONS[0]} to {PYTHONS[-1]}" in (ROOT / "constraints.txt").read_text(encoding="utf-8")
    assert TOOLS["basedpyright"]["pythonVersion"] == PYTHONS[0] and TOOLS["ruff"]["target-version"] == "py311"


@pytest.mark.parametrize("python", PYTHONS)
def test_every_pin_admits_the_first_release_of_every_python(python):
    """Debian and Ubuntu stay with an early release: a pin for 3.11.5 would refuse the 3.11.2 of Debian 12."""
    pinned = {name: INSTALLED[name] for name in PINS if name in INSTALLED and INSTALLED[name].version == PINS[name]}
    assert len(pinned) > 100
    admitted = {name: SpecifierSet(found.metadata["Requires-Python"] or "") for name, found in pinned.items()}
    assert {name: str(pythons) for name, pythons in admitted.items() if f"{python}.0" not in pythons} == {}


def test_the_package_is_typed_and_says_so():
    data = TOOLS["setuptools"]["package-data"]["seqlearn"]
    assert "py.typed" in data and (ROOT / "seqlearn" / "py.typed").read_text() == ""


INSTALLED_USE = """
from seqlearn import Translator
from seqlearn.analysis.roles import read_roles
from seqlearn.views.answers.known import STORED
print(Translator.pretrained("transformer", "cpu").translate("The cat sleeps."), len(read_roles()) > 0, STORED.is_file())
print(Translator.pretrained("bahdanau", "cpu").translate("The cat sleeps."), Translator.__module__)
"""


@pytest.mark.slow
def test_a_wheel_brings_the_trained_models(tmp_path):
    """Built from what `git` knows, installed without its requirements, used from another folder."""
    copy, site = tmp_path / "copy", tmp_path / "site"
    shutil.copytree(ROOT / "seqlearn", copy / "seqlearn", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE", "LICENSE-CC-BY-4.0"):
        shutil.copy(ROOT / name, copy)
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "install", "--no-index", "--no-deps"]
    subprocess.run([*pip, "--no-build-isolation", "--target", site, copy], check=True)
    environment = os.environ | {"PYTHONPATH": str(site)}
    command = [sys.executable, "-P", "-c", INSTALLED_USE]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, encoding="utf-8")
    assert done.stdout.splitlines()[0] == "le chat dort. True True", done.stderr
    assert done.stdout.splitlines()[1].startswith("le chat dort.")
    wanted = {path.relative_to(copy) for path in (copy / "seqlearn").rglob("*") if path.is_file()}
    assert wanted == {
        path.relative_to(site) for path in (site / "seqlearn").rglob("*") if path.suffix != ".pyc" and path.is_file()
    }
