"""What each head does to a translation: each is ablated alone.

The model reads the translation once without the head, and searches only where another token is likelier then. In a page
`live/ablation.js` does the same.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...nn.recording import attention_layers
from ...search.hypotheses import Hypothesis
from ...translator.translator import Translator
from ...translator.whatif import Ablate, Edits, WeightChange, change_of, what_if
from ..shared.arguments import as_text
from ..shared.types import Data
from .translations import apart, force, pieces, rounded, search, tokens_of


def ablation_map(translator: Translator, sentence: str, prefix: Sequence[str] = (), edits: Edits = ()) -> Data:
    """What greedy search writes, and what it would write without each head, one head at a time.

    Args:
        sentence, prefix, edits: of the translation that the heads are compared with; see `what_if`.

    Returns:
        `base`, the translation with all heads; and `heads`, a list of [kind, layer, head,
        translation]. A translation is a dictionary with `text`, `tokens`, `pieces` (see `translated`), and
        `probability`: that of the base translation, also where another one is written.

    Raises:
        ValueError: the sentence has no token, or more than 100; an edit is none; or the model never writes a token of
            the prefix.
    """
    sentence, prefix, changes = as_text(sentence), list(prefix), list(map(change_of, edits))
    tokens_of(translator, sentence)
    own = apart(translator)
    (base,) = search(what_if(own, prefix, changes), sentence, 1, len(prefix))
    found = {"base": _found(own, base, _forced(own, sentence, base, changes, 0)[0]), "heads": []}
    for kind in translator.attention_kinds:
        for index, layer in enumerate(attention_layers(own.model, kind).values()):
            for head in range(getattr(layer, "num_heads", 1)):
                edited = [*changes, Ablate(kind, index, head)]
                probability, is_likeliest = _forced(own, sentence, base, edited, len(prefix))
                one = base if is_likeliest else search(what_if(own, prefix, edited), sentence, 1, len(prefix))[0]
                found["heads"].append([kind, index, head, _found(own, one, probability)])
    return found


def _forced(
    translator: Translator, sentence: str, one: Hypothesis, edits: Sequence[WeightChange], given: int
) -> tuple[float, bool]:
    """How likely a translation is, and whether greedy search writes it: then no search is needed."""
    vocab = translator.target.vocab
    (probs,), _ = force(what_if(translator, (), edits), sentence, [one])
    tokens = [*one.tokens, vocab.eos][: len(one.log_probs)]
    logs = [math.log(max(float(row[token]), 1e-45)) for row, token in zip(probs, tokens, strict=True)]
    probs[:, [vocab.pad, vocab.bos]] = 0
    return math.exp(sum(logs)), probs.argmax(-1).tolist()[given:] == tokens[given:]


def _found(translator: Translator, one: Hypothesis, probability: float) -> Data:
    language = translator.target
    written = [*one.tokens, language.vocab.eos][: len(one.log_probs)]
    return {
        "text": as_text(language.decode(one.tokens)),
        "tokens": list(map(as_text, language.vocab.decode(written))),
        "pieces": list(map(as_text, pieces(language, one.tokens))),
        "probability": rounded(probability),
    }
