"""Tokens that have broken a page, a picture or a layout somewhere; none of them may do so here."""

HOSTILE = [
    "<script>alert(1)</script>", "</script><script>alert(1)</script>", "<img src=x onerror=alert(1)>",
    "<svg/onload=alert(1)>", "<!--", "-->", "]]>", "</title>", "</textarea>", "</style>", "<b>bold</b>", "<eos>", "<",
    "javascript:alert(1)", "&lt;", "&amp;amp;", "&#x0;", '"', "'", "\"'><i>", "`${alert(1)}`", "${1 + 1}", "{{7 * 7}}",
    "%s %(x)d", "{0}", "constructor", "__proto__", "null", "$x$", "$\\frac{1}", "$$", "\\", "\\n", "\\u003cb\\u003e",
    "_", "^", "# *a* [b](c)", "line\nbreak", "tab\tstop", "return\rhere", "\x01\x07\x1b[31m\x7f", "\x85",
    "\u2028\u2029", "", " ", "   ", "\xa0", "x" * 500, "wide " * 60, "مرحبا", "שלום", "abc שלום 123",
    "\u202e\u202dreversed", "\u2066isolated", "zero\u200bwidth\u200djoined", "\ufeff", "🐈",
    "👩\u200d👩\u200d👧\u200d👦", "🏳\ufe0f\u200d🌈", "🇫🇷",
    "👍🏽", "Z̸̢̛a̴l̵g̶o̷", "e\u0301", "\u0301", "猫が好き",
    "नमस्ते", "ไทย", "ÅÉÎ", "İ", "ß", "ﬁ", "\U000e0041", "\U0010ffff", "half \ud83d of a letter", "\udc08\ud83d",
]  # fmt: skip
KEYS = ["constructor", "__proto__", "", "null"]  # which break what looks them up
OTHERS = [token for token in HOSTILE if token not in KEYS]
DOZEN = [
    *KEYS,
    *(" ".join(OTHERS[start::8]) for start in range(8)),
]  # all; every label of 12 has room


def one_line(token):
    """As a label shows it."""
    return token.replace("\n", "⏎").replace("\t", "⇥")
