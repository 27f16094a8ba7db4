"""How a check answers."""


def said_by(check, answer, capsys):
    """What the check prints about an answer: one line; of a crash, two or three."""
    check(answer)
    said = capsys.readouterr().out
    assert said.count("\n") == 1 or ("stopped with" in said and said.count("\n") <= 3)
    return said
