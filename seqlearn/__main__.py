"""`python -m seqlearn` is the command line, wherever the program `seqlearn` is not on the path."""

from .cli import app

app(prog_name="python -m seqlearn")
