"""A sentence, its translation, and what is known about them. The grammar writes pairs, `data` reads them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from ..runtime.values import check_items, shown

Link = tuple[int, int]  # (source token, target token): positions, counted from 0


@dataclass(frozen=True, slots=True)
class Antecedent:
    """A pronoun on both sides of a pair, and the noun that it stands for. All numbers are token positions.

    `source` and `target` are the pronoun, `source_noun` and `target_noun` its antecedent. `nearest` tells whether the
    antecedent is also the nearest noun before the pronoun (on the source side): the baseline that a head which finds
    antecedents has to beat.
    """

    source: int
    source_noun: int
    target: int
    target_noun: int
    source_article: int | None = None
    target_article: int | None = None
    nearest: bool = True

    def reversed(self) -> Antecedent:
        """The same fact for the pair in the other direction."""
        return Antecedent(
            self.target,
            self.target_noun,
            self.source,
            self.source_noun,
            self.target_article,
            self.source_article,
            self.nearest,
        )


@dataclass(frozen=True, slots=True)
class Pair:
    """One sentence in two languages.

    `alignment` holds the gold links between the tokens of `WordTokenizer`, and `antecedents` the pronouns whose noun is
    known; `construction` names the kind of sentence ("question"). Only the built-in corpus fills these three.
    """

    source: str
    target: str
    alignment: tuple[Link, ...] = ()
    antecedents: tuple[Antecedent, ...] = ()
    construction: str = ""

    def reversed(self) -> Pair:
        """The pair in the other direction, links and antecedents too."""
        return replace(
            self,
            source=self.target,
            target=self.source,
            alignment=tuple(sorted((target, source) for source, target in self.alignment)),
            antecedents=tuple(antecedent.reversed() for antecedent in self.antecedents),
        )


def pairs_in(pairs: Iterable[Pair]) -> Iterator[Pair]:
    """The pairs, one after the other.

    Raises:
        TypeError: it is one text, or not iterable, or one of its members is not a pair.
    """
    for number, pair in enumerate(check_items("pairs", pairs, "Pair")):
        if not isinstance(pair, Pair):
            raise TypeError(f"pairs are a list of Pair(source, target), and number {number} is {shown(pair)}")
        yield pair


def link_sets(name: str, given: Iterable[Iterable[Link]]) -> list[set[Link]]:
    """The links of several sentences, as a set for each.

    Raises:
        TypeError: these are the links of one sentence, or something is not a link.
    """
    found: list[set[Link]] = []
    for links in check_items(f"{name} links", given, "sets, one for each sentence"):
        pairs = [*check_items("the links of a sentence", links, "(source, target)", ordered=False)]
        if wrong := [
            each for each in pairs if not (isinstance(each, tuple | list) and [*map(type, each)] == [int, int])
        ]:
            raise TypeError(f"a link is two positions, (source, target), not {shown(wrong[0])}")
        found.append({(source, target) for source, target in pairs})
    return found
