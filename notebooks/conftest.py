"""What pytest needs to run the lessons: a kernel on the CPU that counts its cells as JupyterLab does."""

import os
import tempfile
from unittest import mock

from nbval.kernel import RunningKernel
from nbval.plugin import IPyNbFile

start = IPyNbFile.setup
own = tempfile.TemporaryDirectory(prefix="ipython-", ignore_cleanup_errors=True)  # goes when Python ends


def start_on_cpu(file):
    """Start the kernel as the stored outputs were made: on the CPU, and with none of the user's IPython settings."""
    with mock.patch.dict(
        os.environ, SEQLEARN_DEVICE="cpu", CUDA_VISIBLE_DEVICES="", TQDM_DISABLE="1", IPYTHONDIR=own.name
    ):
        start(file)


def execute_cell_input(kernel, source, allow_stdin=None):
    """Run a cell with its number: without one, IPython takes no notice of a trailing semicolon (nbval issue 194)."""
    return kernel.kc.execute(source, store_history=True, allow_stdin=allow_stdin, stop_on_error=False)


IPyNbFile.setup = start_on_cpu
RunningKernel.execute_cell_input = execute_cell_input
