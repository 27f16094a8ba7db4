"""The questions of a view: which trait is the answer to which question.

A question is a dictionary, its parts by name; two questions are the same if all their parts are. A view declares its
questions once, and nobody else spells them: Python, which answers in a notebook, the drawing, the model in a page,
links and the words of a text read the declaration, in `data`. `asking.js` is the same in a browser.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import ClassVar

import anywidget
import traitlets

from .types import Data, Proposal


@dataclass(frozen=True)
class Ask:
    """A question of a view; the trait with the answer repeats it as `asked`, and has a `problem`, perhaps empty.

    If this trait is a list, it holds the answers to several questions. Each has the parts of its question, and a
    `problem` in place of an answer.
    """

    kind: str
    """What is asked: in a page, a function of `live/answers.js` or a method of `Translator` in `live/translator.js`."""
    parts: tuple[str, ...]
    """The names of its parts, which are traits."""
    of: str | None = None
    """The trait that is a list of all parts, or empty: nothing is asked. None: each part is a trait of its own."""
    when: tuple[str, ...] = ()
    """Traits, or names in `data`: as long as one of them is None, False or empty, nothing is asked; or, where it is
    written "zoom=cell", as long as it is another."""
    blank: Mapping[str, object] | None = None
    """What stands in place of an answer after a refusal; None: the former answer stays."""

    def as_data(self) -> Data:
        """The declaration as JSON gives it back."""
        return asdict(self) | {"parts": list(self.parts), "when": list(self.when)}


class Asking(anywidget.AnyWidget):
    """What asks, and is answered by Python: every view, most of which ask nothing."""

    questions: ClassVar[Mapping[str, Ask]] = {}
    """The question of each trait that is an answer."""

    data = traitlets.Dict().tag(sync=True)
    """All that is drawn: texts, numbers, lists of them, and tensors that went through `pack`; and the questions."""

    def __init__(self, **traits: object):
        super().__init__(**traits)
        heard = {name for ask in self.questions.values() for name in (*((ask.of,) if ask.of else ask.parts), *ask.when)}
        heard = {name.partition("=")[0] for name in heard}
        self.observe(self._ask, sorted(heard & set(self.trait_names())))

    @traitlets.validate("data")
    def _declared(self, proposal: Proposal) -> Data:
        if not self.questions:
            return proposal["value"]
        return {**proposal["value"], "questions": {trait: ask.as_data() for trait, ask in self.questions.items()}}

    def answer_to(self, trait: str, **question: object) -> Data:
        """The answer to a question; a ValueError says in a sentence why there is none."""
        raise NotImplementedError

    def take(self, trait: str, answer: Data) -> None:
        """Take the answer; a view that has more to change does so here."""
        setattr(self, trait, answer)

    def refuse(self, trait: str, question: Data, error: Exception) -> None:
        """Say why there is no answer, if the question is wrong; any other error is raised again."""
        if not isinstance(error, ValueError):
            raise error
        former, problem = getattr(self, trait), str(error)
        if isinstance(former, list):
            setattr(self, trait, [*(one for one in former if "problem" not in one), question | {"problem": problem}])
        else:
            stays = self.questions[trait].blank
            setattr(self, trait, {**(former if stays is None else stays), "asked": question, "problem": problem})

    def question(self, trait: str) -> Data | None:
        """The question as it stands; None: nothing is asked."""
        ask = self.questions[trait]
        for name, _, wanted in (each.partition("=") for each in ask.when):
            value = getattr(self, name) if name in self.keys else self.data.get(name)
            if value != wanted if wanted else not _is_set(value):
                return None
        if ask.of is None:
            return {name: getattr(self, name) for name in ask.parts}
        values = getattr(self, ask.of)
        return dict(zip(ask.parts, values, strict=True)) if values else None

    def _ask(self, change: object = None) -> None:
        """Answer what is asked anew; if one message changes several parts of a question, only once."""
        for trait, ask in self.questions.items():
            question = self.question(trait)
            former = getattr(self, trait)
            last = former[-1] if isinstance(former, list) else former
            asked = last.get("asked", last)
            if question is None or all(name in asked and asked[name] == question[name] for name in ask.parts):
                continue
            try:
                answer = self.answer_to(trait, **question)
            except Exception as error:
                self.refuse(trait, question, error)
            else:
                self.take(trait, answer if isinstance(former, list) else answer | {"asked": question, "problem": ""})


def _is_set(value: object) -> bool:
    return value is not None and value is not False and value not in ("", [], {})
