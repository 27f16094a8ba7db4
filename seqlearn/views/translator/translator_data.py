"""The data of `TranslatorView`: the translations of a sentence, and what else the model could have written."""

from __future__ import annotations

import functools
import itertools
import json
import math
from collections.abc import Sequence
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor

from ...analysis.attention_map import AttentionMap
from ...data.batches import pad
from ...data.corpus import builtin
from ...data.grammar.lexicon import ADJECTIVES, DETERMINERS, NAMES, NOUNS, VERBS
from ...data.pairs import Pair
from ...data.text import BOS, EOS, SPECIALS, Language, Vocab, WordTokenizer
from ...nn.masking import causal_mask
from ...nn.recording import attention_layers as layers
from ...search.forced_decoding import forced_decoding
from ...search.hypotheses import Hypothesis
from ...search.lengths import default_max_length
from ...translator import DEFAULT_BEAM
from ...translator.translator import Translator
from ...translator.whatif import Edits, change_of, modules_apart, what_if
from ..shared.arguments import as_text, finite
from ..shared.attention import map_data, wrong_lock
from ..shared.constants import CANDIDATES, MOST_TOKENS
from ..shared.types import Data, Lock

MOST_WORDS = 2000  # of the vocabulary, the most frequent ones, offered while a word is typed
WORDS = 6  # of an opening that is no sentence


def translated(
    translator: Translator,
    sentence: str,
    beam: int = DEFAULT_BEAM,
    prefix: Sequence[str] = (),
    edits: Edits = (),
    links: bool = False,
) -> Data:
    """The translations of a sentence, the best first, each with its attention and its next tokens at every step.

    Args:
        beam: the width of the search, and the number of translations; 1 is greedy search.
        prefix, edits: see `seqlearn.translator.whatif.what_if`.
        links: whether to look up what is known of the sentence (`gold_of`).

    Returns:
        All that the view draws. `asked` repeats the question. `best` is a list with a dictionary for each translation:
        its `text`; its `tokens` (the last one is <eos>, unless the search stopped before); the `pieces` of the text,
        one for each token; `score` and `probability` of the whole translation; `next` (see `next_tokens`), one for each
        step; and `attention` (see `map_data`), None for a model without attention. For a decoder-only
        model its columns are source and target, and its `prompt` is the number of source tokens. `gold`, if asked for,
        is what `gold_of` returned.

    Raises:
        TypeError: `translator` is no `Translator`.
        ValueError: the sentence has no token, or more than 100; the model never writes a token of the prefix; an edit
            is none; or the model gives NaN.
    """
    _need_translator(translator)
    sentence = as_text(sentence)
    source = tokens_of(translator, sentence)
    changes, prefix = list(map(change_of, edits)), list(prefix)
    edits = [change.as_list() for change in changes]
    translator = apart(translator)
    best = search(what_if(translator, prefix, changes) if prefix or edits else translator, sentence, beam, len(prefix))
    forced = zip(best, *force(what_if(translator, (), changes) if edits else translator, sentence, best), strict=True)
    return {
        "asked": [sentence, beam, prefix, edits],
        "problem": "",
        "sentence": sentence,
        "beam": beam,
        "prefix": prefix,
        "edits": edits,
        "languages": [side.tokenizer.language for side in (translator.source, translator.target)],
        "source": list(map(as_text, source)),
        "unknown": [token not in translator.source.vocab for token in source],
        "known": len(translator.source.vocab) - len(SPECIALS),
        "words": len(translator.target.vocab),
        **({"gold": gold_of(translator, sentence)} if links else {}),
        "best": [_translation(translator.target, source, *one) for one in forced],
    }


def tokens_of(translator: Translator, sentence: str) -> list[str]:
    """The tokens of a sentence that can be translated here.

    Raises:
        ValueError: there is none, or there are too many.
    """
    source = translator.source.tokenizer.tokenize(sentence)
    if not source:
        raise ValueError("There is nothing to translate: type a sentence.")
    if len(source) > MOST_TOKENS:
        raise ValueError(
            f"This sentence has {len(source):,} tokens; {MOST_TOKENS} is the most that is translated here."
        )
    return source


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


def _need_translator(given: object) -> None:
    if not isinstance(given, Translator):
        raise TypeError(f"TranslatorView shows a Translator, not a {type(given).__name__}")


def opening(translator: Translator) -> str:
    """Something to translate first: the sentence of the course, or frequent words if some of its words are unknown.

    Raises:
        TypeError: `translator` is no `Translator`.
    """
    _need_translator(translator)
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
    _need_translator(translator)
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


def search(translator: Translator, sentence: str, beam: int, least: int) -> list[Hypothesis]:
    """The hypotheses of a search, the best first; greedy search gives one. `least` tokens are not too many."""
    (limit,) = default_max_length(torch.tensor([len(translator.source.encode(sentence))]))
    (found,) = translator.search([sentence], 1, max(limit, least), beam=beam, n_best=beam)
    return found


def force(
    translator: Translator, sentence: str, best: Sequence[Hypothesis]
) -> tuple[list[Tensor], list[Tensor] | list[None]]:
    """Run the model over the tokens of all these hypotheses, in one batch.

    Returns:
        For each hypothesis the next-token distributions `(steps, vocab)` and the cross-attention `(layers, heads,
        steps, source)`, or None for a model without attention. At step 0 the model predicts the first token. For a
        decoder-only model, the attention of these steps to source and target, `(layers, heads, steps, source + steps)`.
    """
    vocab = translator.target.vocab
    inputs = [[vocab.bos, *one.tokens][: len(one.log_probs)] for one in best]
    source, source_lens = pad([translator.source.encode(sentence)] * len(best), translator.source.vocab.pad)
    tokens, lens = pad(inputs, vocab.pad)
    device, steps = translator.device, lens.tolist()
    forced = forced_decoding(translator.model, source.to(device), source_lens, tokens.to(device))
    logits = finite("logits", forced.logits, 3)
    probs = [row[:count].softmax(-1) for row, count in zip(logits, steps, strict=True)]
    weights, causal = forced.attention("cross"), forced.attention("causal")
    if weights is not None:
        return probs, [row[:, :, :count] for row, count in zip(weights, steps, strict=True)]
    if causal is not None and (prompt := forced.prompt):
        rows = zip(causal, steps, strict=True)
        return probs, [row[:, :, prompt : prompt + count, : prompt + count] for row, count in rows]
    return probs, [None] * len(best)


def apart(translator: Translator) -> Translator:
    """A translator with the same parameters in modules of its own: a cell may train the model at the same time."""
    return Translator(
        modules_apart(translator.model),
        translator.source,
        translator.target,
        translator.config,
        translator.device,
    )


def _translation(
    language: Language,
    source: Sequence[str],
    one: Hypothesis,
    probs: Float[Tensor, "steps vocab"],
    weights: Float[Tensor, "layers heads steps keys"] | None,
) -> Data:
    """All that the view draws of one hypothesis."""
    written = [*one.tokens, language.vocab.eos][: len(one.log_probs)]
    tokens = language.vocab.decode(written)
    attention = None
    if weights is not None:
        keys = [*source, EOS]
        if weights.shape[-1] == len(keys):
            attention = map_data(AttentionMap(weights, tokens, keys))
        else:  # a decoder-only model looks at the target so far, too
            mask = causal_mask(len(tokens), len(keys))
            attention = map_data(AttentionMap(weights, tokens, [*keys, BOS, *tokens[:-1]], "causal", mask))
            attention["prompt"] = len(keys)
    return {
        "text": as_text(language.decode(one.tokens)),
        "tokens": list(map(as_text, tokens)),
        "pieces": list(map(as_text, pieces(language, one.tokens))),
        "score": round(one.score, 5),
        "probability": rounded(math.exp(sum(one.log_probs))),
        "next": [next_tokens(language.vocab, row, token) for row, token in zip(probs, written, strict=True)],
        "attention": attention,
    }


def rounded(number: float) -> float:
    """A number with 5 digits, so that a page stays small."""
    return float(f"{number:.5g}")


def pieces(language: Language, ids: Sequence[int]) -> list[str]:
    """The part of the text that each token adds: "l'", "homme", " ?"."""
    texts = [language.decode(ids[:end]) for end in range(len(ids) + 1)]
    return [after[len(before) :] for before, after in itertools.pairwise(texts)]


def next_tokens(vocab: Vocab, probs: Float[Tensor, "vocab"], written: int) -> Data:
    """The likeliest next tokens and, among them, the token that was written.

    Returns:
        `tokens`, `probs` and `ranks` (1 is the likeliest) of up to 6 tokens, the likeliest first; `written`, the index
        in these lists of the token that was written; `others`, the probability of all other tokens together.
    """
    values, ids = (each.tolist() for each in probs.topk(min(CANDIDATES, len(probs))))
    ranks = list(range(1, len(ids) + 1))
    if written not in ids:
        values[-1], ids[-1] = float(probs[written]), written
        ranks[-1] = 1 + int((probs > probs[written]).sum())
    return {
        "tokens": list(map(as_text, vocab.decode(ids))),
        "probs": list(map(rounded, values)),
        "ranks": ranks,
        "written": ids.index(written),
        "others": rounded(max(0.0, 1 - sum(values))),
    }


def wrong_choice(
    result: Data,
    beams: Sequence[int],
    chosen: int,
    beam: int = DEFAULT_BEAM,
    step: int = 0,
    locked: Lock | None = None,
) -> str:
    """What is wrong with a choice, in one sentence; empty if the result has everything that was chosen."""
    if beam not in beams:
        return f"beam is one of {', '.join(map(str, beams))}, not {beam}"
    if chosen >= len(result["best"]):
        return f"chosen is 0 to {len(result['best']) - 1}, not {chosen}: there are {len(result['best'])} translations"
    best = result["best"][chosen]
    queries, keys = (
        len(best["tokens"]),
        len(best["attention"]["keys"]) if best["attention"] else len(result["source"]) + 1,
    )
    if step >= queries:
        return f"step is 0 to {queries - 1}, not {step}: the translation has {queries} tokens"
    return wrong_lock(locked, queries, keys)
