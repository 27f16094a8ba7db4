"""What goes wrong in Node.js is a failure that says what."""

import pytest

SCRIPT = """
const twice = (numbers) => Float64Array.from(numbers, (x) => 2 * x);
const thrower = () => { throw new RangeError("too far"); };
"""


def test_numbers_and_texts_come_back_as_they_are(node):
    assert node("twice", [1, -0.5]) == [2, -1]
    assert node("(...all) => all", "é\u2028\ud83d", None, [True]) == ["é\u2028\ud83d", None, [True]]
    assert node("async () => ({ x: NaN, y: -1 / 0 })") == {"x": "NaN", "y": "-Infinity"}
    assert node("() => undefined") is None and node("() => console.log('no answer')") is None


@pytest.mark.parametrize(
    ("function", "message", "limit"),
    [
        ("thrower", "RangeError: too far\n.*thrower", None),
        ("absent", "absent is not defined", None),
        ("async () => { throw 'only a text'; }", "only a text", None),
        ("() => 1n", "BigInt", None),
        ("() => process.exit(7)", "Node.js stopped", None),
        ("() => { setTimeout(() => { throw new Error('later'); }); return new Promise(() => {}); }", "later", None),
        ("() => { for (;;); }", r"no answer to \(\) => { for \(;;\); } within 1 s", 1),
        ("() => new Promise(() => {})", "within 1 s", 1),
    ],
)
def test_a_failure_is_told_and_the_next_question_is_answered(node, monkeypatch, function, message, limit):
    with monkeypatch.context() as patch:
        patch.setattr(node, "limit", limit or node.limit)
        with pytest.raises(RuntimeError, match=message):
            node(function)
    assert node("twice", [4]) == [8]
