"""What pytest needs to run the lessons: a kernel on the CPU that counts its cells and checks the figures they show."""

import os
import tempfile
from pathlib import Path
from unittest import mock

import pytest
from nbval.kernel import RunningKernel
from nbval.plugin import IPyNbCell, IPyNbFile

from tests.lessons import inputs, remembered
from tests.lessons.judge import Claims, claims_of, compared
from tools import figures

start, stop = IPyNbFile.setup, IPyNbFile.teardown
run, compare = IPyNbCell.runtest, IPyNbCell.compare_outputs
receive = IPyNbFile.get_kernel_message
own = tempfile.TemporaryDirectory(prefix="ipython-", ignore_cleanup_errors=True)  # goes when Python ends
READ = Path(own.name, "read.jsonl")  # what the lesson reads
figures.install(Path(own.name))
inputs.install(Path(own.name), remembered.ROOT, READ)
WORKERS = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", 1))
THREADS = str(max(1, (os.cpu_count() or 1) // WORKERS))  # each kernel has its share of the cores


def pytest_collection_modifyitems(items):
    """Every lesson is slow."""
    for item in items:
        if item.path.suffix == ".ipynb":
            item.add_marker(pytest.mark.slow)


def start_on_cpu(file):
    """Start the kernel as the stored outputs were made: on the CPU, and with none of the user's IPython settings."""
    settings = {"SEQLEARN_DEVICE": "cpu", "CUDA_VISIBLE_DEVICES": "", "TQDM_DISABLE": "1", "IPYTHONDIR": own.name}
    if WORKERS > 1:
        settings["OMP_NUM_THREADS"] = THREADS
    file.remembered = remembered.Run(file, READ)
    with mock.patch.dict(os.environ, settings):
        start(file)


def stop_and_remember(file):
    """Stop the kernel; a long lesson in which all went well need not run again before something changes."""
    stop(file)
    file.remembered.end()


def get_kernel_message(file, timeout=None, stream="iopub"):
    """Wait at least a minute for a message: nbval's 5 seconds can pass on a busy machine."""
    return receive(file, timeout and max(timeout, 60), stream)


def claims_about(cell):
    """What the tests claim of a cell."""
    return claims_of(cell.path.name[:2]).get(cell.cell.get("id", ""), Claims())


def compare_outputs(cell, test, ref, skip_compare=None):
    """Compare numbers with their bounds, where a cell has bounds."""
    claims = claims_about(cell)
    return compare(cell, compared(test, claims), compared(ref, claims), skip_compare)


def runtest(cell):
    """Run a cell, compare its outputs, then ask its kernel whether what the tests claim of it holds."""
    run(cell)
    for sentence in claims_about(cell).holds:
        kernel = cell.parent.kernel
        reply = kernel.kc.execute_interactive(f"assert ({sentence})", silent=True, store_history=False, timeout=60)
        if reply["content"]["status"] != "ok":
            cell.raise_cell_error(f"the tests claim of it: {sentence}")
    cell.parent.remembered.cell_is_equal(cell)


def execute_cell_input(kernel, source, allow_stdin=None):
    """Run a cell with its number: without one, IPython takes no notice of a trailing semicolon (nbval issue 194)."""
    return kernel.kc.execute(source, store_history=True, allow_stdin=allow_stdin, stop_on_error=False)


IPyNbFile.setup, IPyNbFile.teardown = start_on_cpu, stop_and_remember
IPyNbFile.get_kernel_message = get_kernel_message
RunningKernel.execute_cell_input = execute_cell_input
IPyNbCell.compare_outputs = compare_outputs
IPyNbCell.runtest = runtest
