"""What is known of a translator, whatever the sentence: its layers, its words, sentences to begin with, true links."""

from __future__ import annotations

import functools
import json
from pathlib import Path

from ...data.corpus import builtin
from ...data.grammar.lexicon import ADJECTIVES, DETERMINERS, NAMES, NOUNS, VERBS
from ...data.pairs import Pair
from ...data.text import SPECIALS, Language, WordTokenizer
from ...nn.recording import attention_layers as layers
from ...translator.translator import Translator
from ..shared.arguments import as_text
from ..shared.types import Data

MOST_WORDS = 2000  # of the vocabulary, the most frequent ones, offered while a word is typed
WORDS = 6  # of an opening that is no sentence

STORED = Path(__file__).parents[2] / "pretrained" / "examples.json"
"""What `golds` knows of the examples, English to French: a page has these links, and need not wait for the grammar."""

EXAMPLES = (  # all but the first from the valid part of the built-in corpus; what does each "it" stand for?
    "The girl washes the red apple and eats it.",
    "The mouse takes the delicious carrot and eats it.",
    "The boy washes a dirty glass and breaks it.",
    "The goat doesn't carry this book because it is heavy.",
    "The mouse took the pear because it was hungry.",
    "The turtle took the banana because it was delicious.",
    "This turtle slept in the basket because it was empty.",
    "The owl watched her aunt and followed her.",
    "The old bird ate the orange because it was sweet.",  # ablate encoder 1.3, and the bird was sweet
)

REAL = (  # for a translator of real sentences
    "I love you.",
    "Where is the train station?",
    "I have never seen such a beautiful city.",
    "She told me that she would come back tomorrow.",
    "Would you like a cup of coffee?",
    "My brother is taller than me.",
    "It is raining, so we are staying at home.",
    "You should have told me the truth.",
)
SENTENCES = (  # of the valid part of the built-in corpus, for who knows no sentence to type
    "She waits for Nicolas and shows him her newspaper.",
    "Did the girl sell the plate?",
    "There are six beans in this basket.",
    "Luc doesn't work because he is rich.",
    "Claire's coat is more expensive than this shirt.",
    "What did the owl drink?",
    "This goat is five years old.",
    "The sick goose stays in the village if it is tired.",
    "She took the boy's letter and lost it.",
    "My father never hid his tomato.",
    "While this goat leaves, our sister sees the long letter.",
    "The grey goose watches the king who hides the boy's orange.",
    "Who took the dirty coat?",
    "Pierre's dog hides its banana and looks for it.",
    "The cups are more fragile than this glass.",
    "Julie's cats wait for the king and see him.",
    "There weren't any sweet lemons on the table.",
    "When we go to the market, Marie stays in the garden.",
    "The young dog breaks the cup because it is very fragile.",
    "Antoine and Claire found this mouse that Louise looked for.",
    "This milk that this big goat drinks is hot.",
    "He sells the old car to Tom.",
    "The tired girl brought her cakes to the birds because they were delicious.",
    "This old dog sees her mother in this park and watches her.",
)

# When a doubt is told of a translation of the grammar's sentences. The small Transformer translates 1,021 of the 1,061
# sentences of the test part as the corpus does.
UNLIKELY = 0.05  # a smaller probability, a strong doubt: none of the 1,061
UNSURE = 0.6  # a smaller probability, a doubt: 23 of the 40 other translations, and 33 of the 1,021
SHORT = 0.7  # fewer target tokens for each source token: 1 of the 40, and no pair of the whole corpus


def need_translator(given: object) -> None:
    """Raise a TypeError if this is no `Translator`."""
    if not isinstance(given, Translator):
        raise TypeError(f"TranslatorView shows a Translator, not a {type(given).__name__}")


def opening(translator: Translator) -> str:
    """Something to translate first: the sentence of the course, or frequent words if some of its words are unknown.

    Raises:
        TypeError: `translator` is no `Translator`.
    """
    need_translator(translator)
    language = translator.source
    words = [token for token in language.vocab.tokens[len(SPECIALS) :] if sum(map(str.isalpha, token)) > 1]
    first = next(iter(_examples(translator, False)), EXAMPLES[0])
    known = not words or not translator.unknown(first)
    return first if known else language.tokenizer.detokenize(words[:WORDS])


def about(translator: Translator) -> Data:
    """What a view has to know of the translator itself, whatever the sentence.

    Returns:
        `live`, that questions are answered; `layers`, the name and the number of heads of each attention layer, by
        kind; `vocab`, the words that the model knows, and `kinds`, a list of kinds, each with its words, empty if
        nobody knows the kinds; `examples`, sentences to begin with, and `sentences`, more of them; `longest`, the
        number of tokens of the longest source in training, None if nobody knows; `unlikely` and `unsure`, the
        probabilities of a translation below which a strong doubt and a doubt are told, and `short`, the same of target
        tokens for each source token, None if real sentences were learned; and `links`, whether true links can be shown.
    """
    need_translator(translator)
    grammar = _knows_grammar(translator)
    english = grammar and translator.source.tokenizer.language == "en"
    examples = _examples(translator, english)
    return {
        "live": True,
        "layers": {
            kind: [[name, getattr(layer, "num_heads", 1)] for name, layer in layers(translator.model, kind).items()]
            for kind in translator.attention_kinds
        },
        "vocab": list(map(as_text, _words(translator.source)[:MOST_WORDS])),
        "kinds": _kinds(translator.source) if english else [],
        "examples": examples,
        "sentences": list(SENTENCES) if english else examples,
        "unlikely": UNLIKELY if grammar else None,
        "unsure": UNSURE if grammar else None,
        "short": SHORT if english else None,
        "longest": translator.config.get("longest"),
        "links": grammar,
    }


def glosses(translator: Translator) -> dict[str, str]:
    """An English word for each noun, verb, adjective and determiner of the built-in French; {} for other models."""
    if not _knows_grammar(translator) or translator.target.tokenizer.language != "fr":
        return {}
    found = {form: one for one, forms in reversed(DETERMINERS.items()) for form in forms if " " not in one}
    for verb in reversed(VERBS.values()):
        found |= {form: verb.english[1 if place == 2 else 0] for place, form in enumerate(verb.present)}
        found |= {verb.participle + ending: verb.english[2] for ending in ("", "e", "s", "es")}
    for adjective in reversed(ADJECTIVES.values()):
        found |= dict.fromkeys(adjective.french, adjective.english)
    for noun in NOUNS:
        found |= dict(zip(noun.french, noun.english, strict=True))
    either = dict.fromkeys(("le", "la", "l'"), "the/it")
    return found | either | {"les": "the/them", "et": "and", "est": "is", "sont": "are"}


def _examples(translator: Translator, english: bool) -> list[str]:
    """Sentences to begin with; english: whether the model knows the English of the built-in corpus."""
    if translator.config.get("corpus") == "tatoeba":
        return list(REAL)
    return list(EXAMPLES) if english else []


def _words(language: Language) -> list[str]:
    """The words of a vocabulary; of pieces those that are whole words, or begin one."""
    tokens = language.vocab.tokens[len(SPECIALS) :]
    if language.tokenizer.kind == "word":
        return tokens
    return [token[1:] for token in tokens if token.startswith("▁") and sum(map(str.isalpha, token)) > 1]


def _kinds(language: Language) -> list[list]:
    """The English words of the built-in corpus by kind; a word of two kinds has the first of them."""
    tables = {
        "nouns": {form for noun in NOUNS for form in noun.english},
        "verbs": {form for verb in VERBS.values() for form in verb.english},
        "adjectives": set(ADJECTIVES),
        "names": {name.english[0].lower() for name in NAMES},
    }
    found: dict[str, list[str]] = {kind: [] for kind in [*tables, "others"]}
    for word in sorted(_words(language)):
        found[next((kind for kind, words in tables.items() if word in words), "others")].append(word)
    return [[kind, words] for kind, words in found.items()]


def gold_of(translator: Translator, sentence: str) -> Data | None:
    """What is known of a sentence of the built-in corpus, for a translator that was trained on this corpus.

    Returns:
        `tokens`, those of the right translation; `links`, the true links [source token, target token]; and `pronouns`,
        the target positions of its pronouns. None for every other sentence.
    """
    if not _knows_grammar(translator):
        return None
    languages = translator.source.tokenizer.language, translator.target.tokenizer.language
    pair = _builtin_pairs(languages)[0].get(" ".join(translator.source.tokenizer.tokenize(sentence)))
    return None if pair is None else _gold(translator, pair)


def golds(translator: Translator, everything: bool) -> Data:
    """What `gold_of` knows, by the tokens of the sources; for a page.

    Args:
        everything: whether of the whole valid part of the built-in corpus; or of the examples alone.
    """
    languages = translator.source.tokenizer.language, translator.target.tokenizer.language
    if not _knows_grammar(translator):
        return {}
    if not everything:
        return json.loads(STORED.read_text("utf-8")) if languages == ("en", "fr") and STORED.is_file() else {}
    pairs, valid = _builtin_pairs(languages)
    return {source: _gold(translator, pairs[source]) for source in valid}


def _gold(translator: Translator, pair: Pair) -> Data:
    return {
        "tokens": translator.target.tokenizer.tokenize(pair.target),
        "links": [list(link) for link in pair.alignment],
        "pronouns": [antecedent.target for antecedent in pair.antecedents],
    }


def _knows_grammar(translator: Translator) -> bool:
    """Whether the translator was trained on words of the built-in corpus."""
    config = translator.config
    corpus = config.get("corpus") or config.get("data", {}).get("corpus")
    return corpus == "builtin" and translator.source.tokenizer.kind == "word"


@functools.cache
def _builtin_pairs(languages: tuple[str, str]) -> tuple[dict[str, Pair], list[str]]:
    """The pairs of the built-in corpus by the tokens of their sources, and the sources of the valid part.

    The grammar needs a second to write them.
    """
    corpus, tokenizer = builtin(), WordTokenizer(languages[0])
    turn = languages != corpus.languages
    split = {}
    for name, part in corpus.split()._asdict().items():
        pairs = [pair.reversed() if turn else pair for pair in part]
        split[name] = {" ".join(tokenizer.tokenize(pair.source)): pair for pair in pairs}
    return split["train"] | split["test"] | split["valid"], list(split["valid"])
