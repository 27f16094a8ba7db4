"""Run lessons on the CPU and store what they show, in one normal form: `python3 course.py refresh 04`.

Every machine and every run give the same normal form: text and PNG, cells counted from 1, and nothing that depends on
the front end, the widgets or the versions. So a diff of a lesson shows what changed for its reader. The faults of its
figures are printed; the tests do not accept them. The views of a lesson are stored, too, for the book
(`seqlearn/views/stored.py`), in `assets/views/`. A browser takes a picture of each view (`stills.py`). If only the look
of views has changed, `python3 -m tools.refresh --views notebooks/04-*.ipynb` takes the pictures again and runs nothing.
"""

import base64
import io
import json
import os
import secrets
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbformat import NotebookNode
from PIL import Image

from seqlearn.runtime.ownership import write
from seqlearn.views.shared.types import Data
from seqlearn.views.stored import pages, records_file, text_of_records
from seqlearn.views.view import RECORD
from tools import browser, figures, stills

RUN = "run"  # in the metadata of each code cell, and in the records of views: the mark of the run that gave the output
KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}


class ChangedError(Exception):
    """What is in the folder is not what the run began with."""


def normalise(notebook: NotebookNode) -> NotebookNode:
    """Bring a notebook that was run into the form in which it is stored: changed in place, and returned."""
    language = {"name": "python"} | notebook.metadata.get("language_info", {})
    language.pop("version", None)
    notebook.metadata = nbformat.from_dict({"kernelspec": KERNEL, "language_info": language})
    for count, cell in enumerate((cell for cell in notebook.cells if cell.cell_type == "code"), start=1):
        cell.execution_count = count
        cell.metadata.pop("execution", None)
        outputs = []
        for output in cell.outputs:
            if output.output_type == "execute_result":
                output.execution_count = count
            if "data" in output:
                output.data = NotebookNode((key, value) for key, value in output.data.items() if kept(key))
                output.metadata = NotebookNode((key, value) for key, value in output.metadata.items() if kept(key))
                if "image/png" in output.data:
                    output.data["image/png"] = small_png(output.data["image/png"])
            before = outputs[-1] if outputs else NotebookNode()
            if output.output_type == before.get("output_type") == "stream" and output.name == before.name:
                before.text += output.text
            elif output.get("data", True):  # all the data of an output may have been dropped
                outputs.append(output)
        cell.outputs = outputs
    return notebook


def kept(mime: str) -> bool:
    """Whether an output of this kind is stored: what a reader without a kernel can see, and the records of views."""
    return mime == "image/png" or mime.startswith("text/") or mime == RECORD


def small_png(encoded: str) -> str:
    """A picture with 256 colours at most, a third of the size; one that has a palette already stays as it is.

    Args:
        encoded: the PNG file in base64.
    """
    try:
        picture = Image.open(io.BytesIO(base64.b64decode(encoded)))
        if picture.mode == "P":
            return encoded
        white = Image.new("RGB", picture.size, "white")
        white.paste(picture, mask=picture.getchannel("A") if "A" in picture.getbands() else None)
    except OSError:  # no PNG that can be read
        return encoded
    small = io.BytesIO()
    white.quantize(256, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE).save(small, format="PNG", optimize=True)
    return base64.b64encode(small.getvalue()).decode()


def take_records(notebook: NotebookNode) -> list[Data]:
    """Take the records of views out of the outputs; each gets the id of its cell and the index of its output."""
    records = []
    for cell in notebook.cells:
        for index, output in enumerate(cell.get("outputs", [])):
            if record := output.get("data", {}).pop(RECORD, None):
                records.append({"cell": cell.id, "output": index, **record})
    return records


def add_pictures(notebook: NotebookNode, records: list[Data]) -> None:
    """Put a picture of each view beside the text of the output that shows the view, in place."""
    outputs = {cell.id: cell.get("outputs", []) for cell in notebook.cells}
    for record, png in zip(records, stills.taken(records) if records else (), strict=True):
        output = outputs[record["cell"]][record["output"]]
        width, height = Image.open(io.BytesIO(png)).size
        output.data["image/png"] = small_png(base64.b64encode(png).decode())
        size = {"width": width // stills.SCALE, "height": height // stills.SCALE}
        output.metadata["image/png"] = output.metadata.get("image/png", {}) | size


def mark(notebook: NotebookNode, records: list[Data], run: str) -> None:
    """Write the mark of a run into its outputs, in place: a lesson shows the outputs of one run."""
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.metadata[RUN] = run
    for record in records:
        record[RUN] = run


def marks(notebook: NotebookNode, records: list[Data]) -> set[str]:
    """The marks of the runs that gave these outputs; "" for one without a mark."""
    code = [cell.metadata for cell in notebook.cells if cell.cell_type == "code"]
    return {data.get(RUN, "") for data in [*code, *records]}


def text_of(notebook: NotebookNode) -> str:
    """The file that holds the notebook."""
    nbformat.validate(notebook)
    return nbformat.writes(notebook) + "\n"


def refresh(path: Path) -> bool:
    """Run one lesson from the top, and store its outputs and its views; whether a file changed.

    The kernel gets its settings from the folder IPYTHONDIR.

    Raises:
        CellExecutionError: a cell raised an exception; the file is left as it was.
        ChangedError: somebody has changed the file meanwhile, which is left so; or its views have gone.
    """
    views = records_file(path)
    old = path.read_text(encoding="utf-8"), views.read_text(encoding="utf-8") if views.exists() else ""
    notebook = nbformat.reads(old[0], as_version=4)
    client = NotebookClient(
        notebook, timeout=3600, kernel_name="python3", resources={"metadata": {"path": path.parent}}
    )
    was = json.loads(old[1]) if holds_records(old[1]) else []
    before = marks(notebook, was)
    normal = normalise(client.execute())
    found = take_records(normal)
    add_pictures(normal, found)
    mark(normal, found, before.pop() if len(before) == 1 else "")
    if (text_of(normal), text_of_records(found)) != old or marks(normal, found) == {""}:
        mark(normal, found, secrets.token_hex(4))
    records = text_of_records(found)
    new = text_of(normal), records
    if path.read_text(encoding="utf-8") != old[0]:
        raise ChangedError(f"{path.name} was changed while it ran: refresh it again")
    if old[1] and not holds_records(old[1]):
        raise ChangedError(f"{views.name} in {views.parent.name}/ holds no views: move it away")
    write(path, new[0])
    if records:
        views.parent.mkdir(parents=True, exist_ok=True)
        write(views, records)
    elif old[1]:
        views.unlink()
    return new != old


def take_again(path: Path) -> bool:
    """Take the pictures of the views of one lesson again, from their records; whether the file changed.

    Raises:
        ValueError: a record does not fit the lesson or the present view.
    """
    if not pages(path):
        return False
    old = path.read_text(encoding="utf-8")
    notebook = nbformat.reads(old, as_version=4)
    add_pictures(notebook, json.loads(records_file(path).read_text(encoding="utf-8")))
    new = text_of(notebook)
    write(path, new)
    return new != old


def holds_records(text: str) -> bool:
    """Whether a file holds the views of a lesson, as `text_of_records` writes them."""
    try:
        records = json.loads(text)
        return isinstance(records, list) and all(record.keys() >= {"cell", "output"} for record in records)
    except (ValueError, AttributeError):
        return False


def main(paths: list[Path], work: Callable[[Path], bool] = refresh) -> int:
    """Refresh these lessons, and print what is wrong with their figures; the exit status is the number that failed.

    Args:
        work: what is done with each lesson: `refresh`, or `take_again`.
    """
    failed = 0
    try:
        browser.program()
    except browser.NoBrowserError as missing:
        print(f"{missing} It takes the pictures of views; nothing was run.", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory(prefix="ipython-", ignore_cleanup_errors=True) as fresh:
        os.environ.update(SEQLEARN_DEVICE="cpu", CUDA_VISIBLE_DEVICES="", TQDM_DISABLE="1", IPYTHONDIR=fresh)
        os.environ["SEQLEARN_RECORD_VIEWS"] = "1"
        report = Path(fresh, "figures.txt")
        figures.install(Path(fresh), report)
        for path in paths:
            start = time.monotonic()
            report.write_text("", encoding="utf-8")
            try:
                outcome = "changed" if work(path) else "the same"
            except (CellExecutionError, ChangedError, ValueError) as error:
                outcome, failed = f"left as it was\n{error}", failed + 1
            print(f"{path.name}: {outcome}, {time.monotonic() - start:.0f} s", flush=True)
            print(report.read_text(encoding="utf-8"), end="", flush=True)
    return failed


if __name__ == "__main__":
    names = [name for name in sys.argv[1:] if name != "--views"]
    sys.exit(main(list(map(Path, names)), take_again if "--views" in sys.argv else refresh))
