"""The program in a shell: Ctrl-C at any moment, output that is closed or full."""

import errno
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from seqlearn.__main__ import Output
from seqlearn.cli.errors import sentence

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals and shells of Unix")
ROOT = str(Path(__file__).parents[2])
MODEL = str(Path(__file__).parents[2] / "seqlearn" / "pretrained" / "bahdanau")
UNKNOWN = "not in the vocabulary, read as <unk>: zebra"
INTERRUPTED = """
import signal, sys
from seqlearn.__main__ import main

class CtrlC:
    def find_spec(self, name, path=None, target=None):
        if name == {moment!r}:
            try:
                signal.raise_signal(signal.SIGINT)
            except KeyboardInterrupt:
                raise ImportError("as some libraries do") from None

signal.signal(signal.SIGINT, signal.default_int_handler)  # as in a terminal
sys.meta_path.insert(0, CtrlC())
if {moment!r} == "get_command":
    import typer
    typer.main.get_command = lambda app: signal.raise_signal(signal.SIGINT)
main()
"""


def program(*arguments, **options):
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, timeout=300, **options)


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["typer", "seqlearn.cli.use", "get_command", "torch", "torch.nn.modules", "numpy"])
def test_ctrl_c_while_the_program_starts_is_one_sentence(tmp_path, moment):
    """Libraries swallow a KeyboardInterrupt that comes while they are imported, or raise something else."""
    code = INTERRUPTED.format(moment=moment)
    done = program("-c", code, "train", "--out", str(tmp_path / "model"))
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "seqlearn: interrupted\n")
    assert not (tmp_path / "model").exists()


@pytest.mark.slow
def test_ctrl_c_while_a_command_works_is_one_sentence():
    command = [sys.executable, "-c", INTERRUPTED.format(moment="none"), "translate", MODEL]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen([*command, "--batch-size", "1"], **pipes)
    process.stdin.write("The cat sleeps.\n" * 64)  # a chunk: its translations are written
    process.stdin.flush()
    assert process.stdout.readline() == "le chat dort.\n"
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=300)
    assert (process.returncode, said) == (130, "seqlearn: interrupted\n")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("where", "status", "told", "said"),
    [
        ("2>&-", 0, True, ""),
        ("2>/dev/full", 0, True, ""),
        ("<&- 2>&-", 0, True, ""),
        (">&-", 1, False, "seqlearn: standard output is closed\n"),
        (">/dev/full", 1, False, f"{UNKNOWN}\nseqlearn: standard output: No space left on device\n"),
        (">/dev/full 2>&-", 1, False, ""),
        (">&- 2>&-", 1, False, ""),
    ],
)
def test_what_is_said_may_be_lost_and_what_is_asked_for_may_not(where, status, told, said):
    if "/dev/full" in where and not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    command = shlex.join([sys.executable, "-m", "seqlearn", "translate", MODEL, "The zebra cat sleeps."])
    done = subprocess.run(f"{command} {where}", shell=True, capture_output=True, text=True, timeout=300)
    assert (done.returncode, bool(done.stdout), done.stderr) == (status, told, said)


@pytest.mark.slow
def test_closed_standard_input_and_a_full_disk_under_the_help_are_sentences():
    for arguments, said in [
        (f"translate {MODEL} <&-", "seqlearn: standard input is closed: give a sentence, or --file\n"),
        ("--help >/dev/full", "seqlearn: standard output: No space left on device\n"),
    ]:
        done = program("-c", f"import os; os.system({f'{sys.executable} -m seqlearn {arguments}'!r})")
        assert (done.stdout, done.stderr) == ("", said)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_file_is_an_error_once_or_never():
    with open("/dev/full", "wb", buffering=0) as full:
        with pytest.raises(OSError, match="'standard output'") as raised:
            (output := Output(full.fileno(), "standard output")).write(b"red")
        assert raised.value.errno == errno.ENOSPC
        assert output.write(b"blue") == 4 and Output(full.fileno(), "").write(b"red") == 3


@pytest.mark.slow
def test_a_folder_that_is_gone_and_a_library_without_memory(tmp_path):
    (tmp_path / "gone").mkdir()
    command = f"cd {tmp_path}/gone && rmdir ../gone && {shlex.quote(sys.executable)} -m seqlearn translate {MODEL} red"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": ROOT})
    assert (done.returncode, done.stdout) == (1, "") and "seqlearn: the current folder is gone" in done.stderr
    error = ImportError("libtorch_cpu.so: failed to map segment from shared object")
    assert sentence(error) == "there is not enough memory" != sentence(ImportError("no such thing"))
