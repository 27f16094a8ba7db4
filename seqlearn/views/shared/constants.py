"""What Python and the browser share: each public constant here is one of the module `constants.js`.

`constants.d.ts` has their types. In a notebook Python computes what a view shows, and in a page JavaScript does: the
same texts, numbers and patterns are in both.
"""

from __future__ import annotations

from ... import translator
from ...data import spelling, text

PAD, BOS, EOS = text.PAD, text.BOS, text.EOS
SPECIALS = text.SPECIALS

# ---- Patterns of text.py and spelling.py, in Python's notation ------------------------------------------------------

PATTERNS = text.PATTERNS
CLOSE_UP, STAND_OFF, OPENING = spelling.CLOSE_UP, spelling.STAND_OFF, spelling.OPENING
INVISIBLE, JOINER, QUOTED = spelling.INVISIBLE.pattern, spelling.JOINER.pattern, spelling.QUOTED.pattern
SPELLINGS = {chr(code): str(new) for code, new in spelling.SPELLINGS.items() if not 0xD800 <= code < 0xE000}
UNUSABLE = {chr(code): str(new) for code, new in spelling.UNUSABLE.items() if not 0xD800 <= code < 0xE000}
NO_BREAK = spelling.NO_BREAK
SPACES = "".join(chr(code) for code in range(0x3001) if chr(code).isspace())  # where str.split() divides a text
SPACING = {
    language: [(rule.pattern.pattern, rule.replacement) for rule in rules]
    for language, rules in spelling.SPACING.items()
}

# ---- Attention ------------------------------------------------------------------------------------------------------

KINDS = ("encoder", "causal", "cross")  # of the attention layers of a Transformer, in the order of a view
AXIS_NAMES = {  # kind: the name of the keys and the name of the queries
    "cross": ("source token (key)", "target token (query)"),
    "encoder": ("token looked at (key)", "token that looks (query)"),
    "causal": ("token looked at (key)", "token that looks (query)"),
    "kernel": ("training point (key)", "test point (query)"),
}
LARGEST = 65535  # in a "uint16" of weights, the whole number of the largest weight
FULL = (0.02, 0.05, 0.1, 0.2, 0.5)  # the brightest colour is the first of these limits that no weight exceeds, or 1
EXACT = 2**18  # up to this many weights are sent in full, 1 MB; more are rounded to 65,536 levels (error 0.000008)
THUMB = 32  # pixels of a small map; in a longer sentence each pixel shows the largest of its weights
MOST_TONES = 8  # heads that are drawn over each other: four colours, each as a solid and as a dashed line
HIDDEN_BELOW = 0.05  # a smaller weight has no number in its cell: the colour says enough, and pointing tells it

# ---- The five steps of one attention --------------------------------------------------------------------------------

MATRICES = {  # name: title, axis of the rows, axis of the columns, whether masked cells are drawn as masked
    "queries": ("Q", "query", "size", False),
    "keys": ("Kᵀ", "size", "key", False),
    "scores": ("products", "query", "key", False),
    "scaled": ("scores", "query", "key", False),
    "mask": ("mask", "query", "key", True),
    "masked": ("masked", "query", "key", True),
    "weights": ("weights", "query", "key", True),
    "values": ("V", "key", "value", False),
    "context": ("context", "query", "value", False),
}
STEPS = (  # formula and sentence have places for numbers; made: which cells of the inputs make a cell of the result
    {
        "name": "products",
        "formula": "products = Q Kᵀ: ({queries} × {size}) · ({size} × {keys}) = ({queries} × {keys})",
        "sentence": "Each is the dot product of a query and a key: how well the two agree.",
        "inputs": ["queries", "keys"],
        "result": "scores",
        "made": ["row", "column"],
        "signs": ["×", "="],
        "empty": "",
    },
    {
        "name": "scale",
        "formula": "scores = products · {factor}",
        "sentence": "The scale keeps scores of long vectors in the range where softmax does not pick a single key.",
        "inputs": ["scores"],
        "result": "scaled",
        "made": ["same"],
        "signs": ["→"],
        "empty": "",
    },
    {
        "name": "mask",
        "formula": "masked = scores where the mask allows, −∞ elsewhere",
        "sentence": "{mask}",
        "inputs": ["scaled", "mask"],
        "result": "masked",
        "made": ["same", "same"],
        "signs": ["and", "→"],
        "empty": "The whole row is −∞.",
    },
    {
        "name": "softmax",
        "formula": "weights = e^masked / sum of e^masked over the row",
        "sentence": "Each row becomes numbers from 0 to 1 that sum to 1.",
        "inputs": ["masked"],
        "result": "weights",
        "made": ["row"],
        "signs": ["→"],
        "empty": "The weights are all 0.",
    },
    {
        "name": "weighted sum",
        "formula": "context = weights V: ({queries} × {keys}) · ({keys} × {value_size}) = ({queries} × {value_size})",
        "sentence": "Each query takes the average of the values, by its weights.",
        "inputs": ["weights", "values"],
        "result": "context",
        "made": ["row", "column"],
        "signs": ["×", "="],
        "empty": "The context is 0.",
    },
)
NO_MASK, A_MASK = "No mask was given: every key may be attended.", "What may not be attended gets −∞."
CELL_NAMES = {  # of a cell of a result: before the row, between row and column
    "scores": ("product of ", " and "),
    "scaled": ("score of ", " for "),
    "masked": ("masked score of ", " for "),
    "weights": ("weight of ", " for "),
    "context": ("context of ", ", column "),
}
FEW_NUMBERS = 36  # of a matrix in which small ones are written, too

# ---- A translation --------------------------------------------------------------------------------------------------

DEFAULT_BEAM = translator.DEFAULT_BEAM
MOST_TOKENS = 100  # of a source; a translation may have twice as many and 10 more, and every token is drawn
CANDIDATES = 6  # next tokens that are shown with their probabilities
THRESHOLD = 0.05  # smaller weights get no line, and are not named
MOST_SEEN = 3  # source tokens that the sentence about a step names, each with its weight

# ---- A model in a page ----------------------------------------------------------------------------------------------

LEVELS = 127  # of a weight, on each side of 0: 8 bits

# ---- A beam search --------------------------------------------------------------------------------------------------

SIGNS = {"kept": "", "complete": "✓", "beaten": "≤", "pruned": "×"}  # of a fate, in a corner: no product, no minus
