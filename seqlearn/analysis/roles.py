"""What each head does: its roles, measured over many sentences, and the strongest of them in a few words.

    maps = {kind: translator.attend_all(pairs, kind) for kind in ("encoder", "causal", "cross")}
    head_roles(role_shares(maps, pairs))   # {("encoder", 1, 3): "noun of it: 93 % (because)", ...}

The questions are those of lesson 11, asked in the same way. A role says where a head looks. Whether anything depends on
the head is another question.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from jaxtyping import Float
from torch import Tensor

from ..data.grammar import noun_phrases
from ..data.pairs import Pair, pairs_in
from ..data.text import EOS, WordTokenizer
from ..runtime.ownership import write
from .attention_map import AttentionMap
from .measures import choice_accuracy, hit_rate, link_errors, one_for_each

LEAST = 2 / 3  # the share from which a role is strong
PRONOUNS = ("it", "they", "them")
GENDERED = tuple("le la un une ce cette mon ma ton ta son sa".split())  # French articles that show the gender

Head = tuple[str, int, int]
"""The kind of attention, the layer and the head, counted from 0."""

Rows = Sequence[tuple[int, Collection[int]]]
"""The rows of a map that count, each with its wanted columns."""


def role_shares(
    maps: Mapping[str, Sequence[AttentionMap]], pairs: Sequence[Pair]
) -> dict[str, dict[str, Float[Tensor, "layers heads"]]]:
    """How well each head fits each role: the share of rows in which the largest weight is at the wanted token.

    For "noun of it" it is the share of sentences in which the right noun gets the most weight of all nouns before the
    pronoun, each with its article, among the sentences of the construction "because" or "object-pronoun". For
    "alignment" it is 1 minus the alignment error rate.

    Args:
        maps: kind of attention -> a map for each pair, as `Translator.attend_all` makes them.
        pairs: of the built-in corpus, which notes links and antecedents.

    Returns:
        kind -> role -> a number from 0 to 1 for each head of each layer. A role for which there is no row is left out.
    """
    shares, pairs = {}, list(pairs_in(pairs))
    for kind, each in maps.items():
        one_for_each(each, pairs)
        asked = [role_rows(attention, pair) for attention, pair in zip(each, pairs, strict=True)]
        rows = {role: [one[role] for one in asked] for role in asked[0]} if asked else {}
        shares[kind] = {role: hit_rate(each, wanted) for role, wanted in rows.items() if any(wanted)}
        for name, construction in (("because", "because"), ("object", "object-pronoun")):
            both = [(one, pair) for one, pair in zip(each, pairs, strict=True) if has_pronoun(pair, construction)]
            if both:
                questions = [pronoun_question(*one) for one in both]
                shares[kind][f"noun of it ({name})"] = choice_accuracy([one for one, _ in both], questions)
        linked = [(one, pair.alignment) for one, pair in zip(each, pairs, strict=True) if pair.alignment]
        if linked and (kind == "cross" or linked[0][0].prompt):
            shares[kind]["alignment"] = 1 - link_errors([one for one, _ in linked], [gold for _, gold in linked])
    return shares


def role_rows(attention: AttentionMap, pair: Pair) -> Mapping[str, Rows]:
    """The roles of one kind of attention, each with the rows that count in this map, and their wanted columns.

    The causal attention of a decoder-only model has the roles of causal attention and those of cross-attention.
    """
    keys = attention.key_tokens
    if attention.kind == "cross":
        return _across(pair, attention.query_tokens, keys, 0)
    roles = {"word before": _at_distance(attention, -1), "same word": _at_distance(attention, 0)}
    if attention.kind == "causal":
        prompt = attention.prompt  # <bos> stands behind the source of a decoder-only model
        across = _across(pair, [*keys[prompt + 1 :], EOS], keys[:prompt], prompt) if prompt else {}
        return roles | {"<bos>": [(row, [prompt]) for row in range(prompt + 1, len(keys))]} | across
    phrases = noun_phrases(keys)
    return roles | {
        "word after": _at_distance(attention, 1),
        "<eos>": _at_end(attention),
        "article's noun": [(p.article, [p.noun]) for p in phrases if p.article is not None],
        "adjective's noun": [(adjective, [p.noun]) for p in phrases for adjective in p.adjectives],
    }


def _across(pair: Pair, written: Sequence[str], source: Sequence[str], first: int) -> dict[str, Rows]:
    """The roles of rows that write the target, the first of which is row `first`, and look at the source."""
    owner = {p.article: p.noun for p in noun_phrases(source) if p.article is not None}
    articles = [(i, j) for i, j in pair.alignment if i in owner and written[j] in GENDERED]
    return {
        "<eos>": [(first + row, [len(source) - 1]) for row in range(len(written) - 1)],
        "article's noun": [(first + j, [owner[i]]) for i, j in articles],
    }


def _at_distance(attention: AttentionMap, distance: int) -> Rows:
    queries, keys = attention.weights.shape[2:]
    return [(row, [row + distance]) for row in range(queries) if 0 <= row + distance < keys]


def _at_end(attention: AttentionMap) -> Rows:
    """The last column is <eos>; the row of <eos> itself does not count."""
    return [(row, [len(attention.key_tokens) - 1]) for row in range(len(attention.query_tokens) - 1)]


def has_pronoun(pair: Pair, construction: str) -> bool:
    """Whether the pair is of this construction, and its noted pronoun is *it*, *they* or *them*."""
    if pair.construction != construction or not pair.antecedents:
        return False
    return WordTokenizer("en").tokenize(pair.source)[pair.antecedents[0].source] in PRONOUNS


def pronoun_question(attention: AttentionMap, pair: Pair) -> tuple[int, list[list[int]], int]:
    """The row of the pronoun, the columns of each noun before it with its article, and which of them is the antecedent.

    The row of a decoder is the one that writes the French pronoun. In causal attention the nouns are the French ones;
    of a decoder-only model, which sees both, the English ones.
    """
    fact, prompt = pair.antecedents[0], attention.prompt
    causal = attention.kind == "causal" and not prompt
    row = fact.source if attention.kind == "encoder" else prompt + fact.target
    noun, end = (fact.target_noun + 1, row + 1) if causal else (fact.source_noun, fact.source)  # + 1: <bos>
    before = [p for p in noun_phrases(attention.key_tokens, "fr" if causal else "en") if p.noun < end]
    columns = [[p.noun] if p.article is None else [p.article, p.noun] for p in before]
    return row, columns, [p.noun for p in before].index(noun)


def head_roles(
    shares: Mapping[str, Mapping[str, Float[Tensor, "layers heads"]]], least: float = LEAST
) -> dict[Head, str]:
    """The strongest role of each head in a few words, for the heads in which a role is strong.

    Args:
        shares: see `role_shares`.
        least: the smallest share of a strong role.
    """
    roles: dict[Head, str] = {}
    for kind, tables in shares.items():
        layers, heads = next(iter(tables.values())).shape
        for layer, head in itertools.product(range(layers), range(heads)):
            best = max(tables, key=lambda role: float(tables[role][layer, head]))
            if (share := float(tables[best][layer, head])) >= least:
                roles[kind, layer, head] = _in_words(best, share)
    return roles


def _in_words(role: str, share: float) -> str:
    if role == "alignment":
        return f"aligns: AER {1 - share:.2f}"
    name, _, detail = role.partition(" (")
    return f"{name}: {100 * share:.0f} %" + (f" ({detail}" if detail else "")


def write_roles(path: str | Path, roles: Mapping[Head, str], pairs: int) -> None:
    """Write roles to a JSON file.

    Args:
        pairs: how many pairs they were measured on.
    """
    texts = {f"{kind} {layer}.{head}": text for (kind, layer, head), text in roles.items()}
    stored = {"measured_on": f"{pairs} pairs of the valid part of the built-in corpus", "roles": texts}
    write(path, json.dumps(stored, indent=2) + "\n")


def read_roles(name: str = "transformer") -> dict[Head, str]:
    """The roles of a translator that comes with the course, for `AttentionView(..., roles=read_roles())`.

    Args:
        name: of the translator, as in `Translator.pretrained`.

    Raises:
        FileNotFoundError: nobody has measured the roles of a translator of this name.
    """
    path = Path(__file__).parents[1] / "pretrained" / name / "roles.json"
    if not path.is_file():
        raise FileNotFoundError(f"there are no measured roles of a model {name!r}: {path} does not exist")
    stored = json.loads(path.read_text(encoding="utf-8"))["roles"]
    found = {}
    for head, text in stored.items():
        kind, place = head.split(" ")
        layer, number = place.split(".")
        found[kind, int(layer), int(number)] = text
    return found
