"""A sentence, its translation, and what is known about them."""

from __future__ import annotations

from dataclasses import dataclass, replace

Link = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Antecedent:
    """A pronoun on both sides and the noun that it stands for. All numbers are token positions.

    `nearest` tells whether the noun is also the nearest noun before the pronoun (on the source side):
    the baseline that a head which finds pronouns has to beat.
    """

    source: int
    source_noun: int
    target: int
    target_noun: int
    source_article: int | None = None
    target_article: int | None = None
    nearest: bool = True

    def reversed(self) -> Antecedent:
        """The same fact seen from the other language."""
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

    `alignment` holds gold links `(source token, target token)`, positions of `WordTokenizer` tokens; it is empty where
    nobody wrote them down. `construction` names the pattern that made the sentence and `combinations` its noun-verb
    pairs ("eat apple"): both only for the built-in corpus.
    """

    source: str
    target: str
    alignment: tuple[Link, ...] = ()
    antecedents: tuple[Antecedent, ...] = ()
    construction: str = ""
    combinations: tuple[str, ...] = ()

    def reversed(self) -> Pair:
        """The pair in the other direction, links and antecedents too."""
        return replace(
            self,
            source=self.target,
            target=self.source,
            alignment=tuple(sorted((target, source) for source, target in self.alignment)),
            antecedents=tuple(fact.reversed() for fact in self.antecedents),
        )
