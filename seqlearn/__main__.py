"""`python -m seqlearn` runs the command line, also where the program `seqlearn` is not on the path."""

from .cli import app

app(prog_name="python -m seqlearn")
