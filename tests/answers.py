"""How a check answers."""


def said_by(check, answer, capsys):
    """What the check prints about an answer: one line."""
    check(answer)
    said = capsys.readouterr().out
    assert said.count("\n") == 1
    return said
