"""A translator: a model and the two languages that it was trained on, in one folder."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TypedDict, Unpack

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from ..analysis.attention_map import AttentionMap
from ..analysis.metrics import alignment_error_rate, bleu, chrf, perplexity
from ..data.batches import Batches
from ..data.corpus import Split
from ..data.pairs import Link, Pair, pairs_in
from ..data.spelling import normalize
from ..data.text import BOS, CODE, EOS, Language
from ..nn.config import Value
from ..nn.contract import EncoderDecoder
from ..nn.masking import causal_mask
from ..nn.recording import attention_layers
from ..runtime.devices import best_device
from ..runtime.threads import fitting_threads
from ..runtime.values import as_int, as_texts, check_items, shown
from ..search.batching import in_batches
from ..search.beam import beam_search
from ..search.hypotheses import Hypothesis, LengthPenalty, NoToken
from ..search.lengths import gnmt
from ..search.sampling import greedy_search
from ..training.history import History
from ..training.loop import fit, mean_loss
from . import DEFAULT_BEAM
from .marian import read_marian
from .models import check_memory, is_large, spec_of
from .saving import read_translator, write_translator
from .scores import Scores, attention_weights, word_links

KINDS = ("cross", "encoder", "causal")  # of attention between tokens
BPE_LINES = 1_000_000  # that pieces are learned from: the memory grows with the different words, 0.5 KB each


class SearchOptions(TypedDict, total=False):
    """Options of `Translator.search`, which explains them."""

    batch_size: int
    max_length: int | None
    beam: int
    length_penalty: LengthPenalty | None
    progress: bool | None


class Translator:
    """Sentences in, sentences out.

    Args:
        model: under the encoder/decoder contract; it is moved to `device`.
        source, target: the languages of both sides.
        config: how the model was made and trained; `save` stores it with the model.
        device: default: `best_device()`.
    """

    def __init__(
        self,
        model: EncoderDecoder,
        source: Language,
        target: Language,
        config: dict | None = None,
        device: torch.device | str | None = None,
    ):
        self.model = model.to(best_device() if device is None else device)
        self.source = source
        self.target = target
        self.config = config or {}

    def __repr__(self) -> str:
        sides = self.source, self.target
        codes = " -> ".join(side.tokenizer.language or "?" for side in sides)
        tokens = " -> ".join(f"{len(side.vocab):,}" for side in sides)
        kinds = "words" if self.target.tokenizer.kind == "word" else "pieces"
        weights = sum(weight.numel() for weight in self.model.parameters())
        shown = f"{weights / 1e6:.1f} M" if weights >= 1e5 else f"{weights:,}"
        return f"Translator({self.name}, {codes}, {tokens} {kinds}, {shown} parameters)"

    @property
    def name(self) -> str:
        """The name of the model among `models.MODELS`; of any other model, the name of its class."""
        return self.config.get("model") or type(self.model).__name__

    @property
    def device(self) -> torch.device:
        """The device that the model is on: training may have moved it."""
        return next(self.model.parameters()).device

    @property
    def attention_kinds(self) -> list[str]:
        """The kinds of attention that the model has: some of "cross", "encoder" and "causal"."""
        return [kind for kind in KINDS if attention_layers(self.model, kind)]

    @property
    def has_attention(self) -> bool:
        """Whether the decoder looks at the source through an attention layer that can be recorded."""
        return "cross" in self.attention_kinds

    @classmethod
    def new(cls, name: str, source: Language, target: Language, **settings: Value) -> Translator:
        """An untrained translator.

        Args:
            name: of its model, one of `seqlearn.translator.models.MODELS`.
            settings: of the model, see `seqlearn.translator.models`; default: those of its factory.

        Raises:
            ValueError: there is no such model or setting, or its weights do not fit into the memory of this machine.
        """
        spec = spec_of(name)
        settings = spec.complete(settings)
        if settings.get("tie_source") and source.vocab.tokens != target.vocab.tokens:
            raise ValueError("tie_source needs one vocabulary for both sides: see `Language.learn_shared`")
        build = partial(spec.build, len(source.vocab), len(target.vocab), **settings)
        if is_large(settings):
            check_memory(build)
        return cls(build(), source, target, {"model": name, "sizes": settings})

    @classmethod
    def untrained(
        cls,
        name: str,
        split: Split,
        languages: tuple[str, str],
        *,
        min_freq: int = 1,
        tokens: str = "word",
        vocab_size: int = 8000,
        shared_vocab: bool = False,
        cased: bool = False,
        seed: int = 0,
        **settings: Value,
    ) -> Translator:
        """A translator with random weights, and vocabularies from the training part of `split` alone.

        Args:
            name, settings: see `new`.
            languages: codes of both sides, such as ("en", "fr").
            min_freq: rarer words become <unk> (tokens "word").
            tokens: "word" or "bpe". Pieces are learned from a million lines at most: of a larger corpus from every
                second, third, ... line. A character that is in none of them becomes <unk>.
            vocab_size: the most tokens of each side, or of both together (tokens "bpe").
            shared_vocab: one vocabulary for both sides (tokens "bpe").
            cased: keep capital letters, quotes and spaces as they are typed (tokens "bpe").
        """
        as_texts(languages, "languages", 2)
        train = split.train
        step = math.ceil(len(train) / BPE_LINES) if tokens == "bpe" and len(train) else 1
        chosen = range(0, len(train), step)
        sources, targets = (train[index].source for index in chosen), (train[index].target for index in chosen)
        if shared_vocab:
            if tokens != "bpe":
                raise ValueError(f'a shared vocabulary is one of tokens "bpe", not {tokens!r}')
            source, target = Language.learn_shared(languages, sources, targets, vocab_size, cased)
        else:
            source = Language.learn(languages[0], sources, min_freq, tokens, vocab_size, cased)
            target = Language.learn(languages[1], targets, min_freq, tokens, vocab_size, cased)
        torch.manual_seed(seed)
        return cls.new(name, source, target, **settings)

    def fit(
        self,
        split: Split,
        *,
        batch_size: int = 64,
        seed: int = 0,
        max_length: int | None = 256,
        max_tokens: int | None = None,
        cache: str | Path | None = None,
        **options,
    ) -> History:
        """Train on `split.train`, and choose the best epoch by `split.valid`. `split.test` is not used.

        Args:
            max_length: pairs with more tokens on either side are left out, with a warning that counts them: one long
                pair makes its whole batch wide. None: keep all pairs.
            max_tokens, cache: see `Batches`.
            options: of `seqlearn.training.loop.fit`; `epochs` and `lr` among them.
        """
        batches = partial(
            Batches,
            source=self.source,
            target=self.target,
            batch_size=batch_size,
            max_length=max_length,
            max_tokens=max_tokens,
            cache=cache,
        )
        train, valid = batches(split.train, seed=seed), batches(split.valid)
        if left_out := train.left_out + valid.left_out:
            total = len(split.train) + len(split.valid)
            warnings.warn(
                f"{left_out:,} of {total:,} pairs have more than {max_length} tokens and are left out", stacklevel=2
            )
        if len(split.train):
            self.config["longest"] = int(train.sources.lengths.max()) - 1  # source tokens, without <eos>
        return fit(self.model, train, valid, **options)

    def save(self, folder: str | Path) -> None:
        """Write the translator to a folder: one file, which replaces an older one in one step.

        The file holds the weights, both languages and the configuration, so they always belong together. `config.json`
        beside it is a copy for people: `load` does not read it.

        Raises:
            ValueError: the weights hold NaN or infinity; or `load` could not build the model again: `config` names no
                model of `models.MODELS`, or one with other weights. An older translator in the folder stays.
            OSError: the file cannot be written. An older translator in the folder stays.
        """
        write_translator(folder, self.model, self.source, self.target, self.config)

    @classmethod
    def load(cls, folder: str | Path, device: torch.device | str | None = None) -> Translator:
        """Read the folder that `save` wrote.

        Raises:
            FileNotFoundError: the folder holds no translator.
            ValueError: it was written by another version of seqlearn, or is damaged, or its model is not registered.
        """
        return cls(*read_translator(folder), device)

    @classmethod
    def pretrained(cls, name: str, device: torch.device | str | None = None) -> Translator:
        """A small translator that comes with the package.

        Args:
            name: "transformer" or "bahdanau", both of the grammar's sentences; or "tatoeba", a Transformer of real
                sentences, English to French.

        Raises:
            FileNotFoundError: there is no translator of this name.
        """
        folder = Path(__file__).parents[1] / "pretrained" / name
        if not folder.is_dir():
            names = ", ".join(sorted(each.name for each in folder.parent.iterdir() if each.is_dir()))
            raise FileNotFoundError(f"there is no trained model {name!r}: {folder.parent} has {names}")
        return cls.load(folder, device)

    @classmethod
    def from_marian(cls, folder: str | Path, device: torch.device | str | None = None) -> Translator:
        """A translator with the weights of a Marian model, in the modules of this package.

        Helsinki-NLP has published many, under names such as `opus-mt-en-fr`. Its folder has `config.json`,
        `source.spm`, `target.spm`, `vocab.json` and `model.safetensors`; nothing is fetched, and nothing unpickled. The
        logits and the pieces equal those of `transformers` and of SentencePiece (`tests/translator/test_marian.py`)
        with random weights and pieces from our corpus: published ones were not at hand when this was written.

        Args:
            folder: of the model; `tokenizer_config.json` in it, if there, says which languages it translates.

        Raises:
            FileNotFoundError: the folder lacks a file.
            ValueError: a file is damaged; or our Transformer cannot be like this model: it has pre-norm, another
                activation, matrices that are not shared, two vocabularies, or weights in a pickle alone.
        """
        return cls(*read_marian(folder), device)

    def search(
        self,
        sentences: Iterable[str],
        batch_size: int = 64,
        max_length: int | None = None,
        *,
        beam: int = DEFAULT_BEAM,
        n_best: int = 1,
        length_penalty: LengthPenalty | None = None,
        progress: bool | None = None,
    ) -> list[list[Hypothesis]]:
        """The best hypotheses for each sentence, best first. A sentence without tokens has an empty one.

        Args:
            max_length: the largest number of tokens; default: twice the source and 10 more.
            beam: width of the beam; 1 is greedy search.
            n_best: how many hypotheses of each sentence are returned; at most `beam`.
            length_penalty: see `seqlearn.search.beam.beam_search`; default: `gnmt()`. Greedy search has no penalty.
            progress: whether to show a bar; default: from 1,000 sentences on.

        Raises:
            TypeError: something is of another type, or a sentence is not a str.
            ValueError: a number is too small, the model gives NaN, or a text is longer than learned positions (other
                positions have no end).
        """
        beam, n_best = as_int("beam", beam), as_int("n_best", n_best)
        best = partial(beam_search, width=beam, n_best=n_best, length_penalty=length_penalty or gnmt())
        search: Callable[..., Sequence[Hypothesis | list[Hypothesis]]] = greedy_search if beam == n_best == 1 else best
        vocab = self.target.vocab
        ids = {"bos": vocab.bos, "eos": vocab.eos, "forbidden": (vocab.pad, vocab.bos)}
        sentences = as_texts(sentences)
        pieces = self.source.vocab.tokens if self.source.tokenizer.kind == "unigram" else []
        codes = tuple(token for token in pieces if token.startswith(">>") and CODE.fullmatch(token))
        if len(codes) > 1 and (bare := [each for each in sentences if not each.startswith(codes)]):
            some = ", ".join(codes[:5]) + ", ..." * (len(codes) > 5)
            warnings.warn(f"{bare[0]!r} begins with no code of the language to write: {some}", stacklevel=2)
        every = [self.source.encode(sentence) for sentence in sentences]
        try:
            with fitting_threads(self.model):
                found = in_batches(
                    lambda source, lens: search(self.model, source.to(self.device), lens, max_length=max_length, **ids),
                    [each for each in every if len(each) > 1],  # more than <eos>
                    self.source.vocab.pad,
                    batch_size,
                    progress,
                )
        except NoToken:
            raise ValueError("The model gives NaN or infinity: the search has found no translation.") from None
        ranked = [[one] if isinstance(one, Hypothesis) else one for one in found]
        left = iter(ranked)
        return [next(left) if len(each) > 1 else [Hypothesis(finished=True)] for each in every]

    def translate(self, sentence: str, **options: Unpack[SearchOptions]) -> str:
        """The translation of one sentence. Options, and what is raised: see `search`."""
        (translation,) = self.translate_all([sentence], **options)
        return translation

    def translate_all(self, sentences: Iterable[str], **options: Unpack[SearchOptions]) -> list[str]:
        """The translation of each sentence, in the order given. Options, and what is raised: see `search`."""
        return [best for (best,) in self.translate_n_best(sentences, 1, **options)]

    def translate_n_best(
        self, sentences: Iterable[str], n_best: int, **options: Unpack[SearchOptions]
    ) -> list[list[str]]:
        """The `n_best` translations of each sentence, best first. Options, and what is raised: see `search`."""
        found = self.search(sentences, n_best=n_best, **options)
        return [[self.target.decode(one.tokens) for one in several] for several in found]

    def unknown(self, sentence: str) -> list[str]:
        """The tokens of a source sentence that the model never saw in training, each once."""
        tokens = dict.fromkeys(self.source.tokenizer.tokenize(sentence))
        return [token for token in tokens if token not in self.source.vocab]

    def attend(self, source: str, target: str | None = None, kind: str = "cross") -> AttentionMap:
        """Where the model looks in `source` while it writes `target` (default: its own translation).

        Args:
            kind: "cross": each row is a token that is being written, the last one <eos>; the columns are the source.
                "encoder": source tokens look at each other. "causal": the decoder looks back at the tokens that it has
                read. These are the rows and the columns, <bos> first. In each row, the decoder is about to write the
                token *after* the token of the row. In a decoder-only model the source with its <eos> comes first: rows
                and columns are the whole sequence, source, <eos>, <bos> and target.

        Raises:
            ValueError: the model has no attention of this kind.
        """
        if target is None:
            target = "" if kind == "encoder" else self.translate(source)
        (attention,) = self.attend_all([(source, target)], kind)
        return attention

    def attend_all(
        self, pairs: Iterable[Pair | tuple[str, str]], kind: str = "cross", batch_size: int = 64
    ) -> list[AttentionMap]:
        """One map for each pair, in order: where the model looks. A pair is a `Pair` or a tuple (source, target).

        Args and Raises: see `attend`. TypeError: something is not a pair of texts.
        """
        self.check_attention(kind)
        sides = [
            as_texts((pair.source, pair.target) if isinstance(pair, Pair) else pair, "the two sides of a pair", 2)
            for pair in check_items("pairs", pairs, "pairs")
        ]
        ids = [(self.source.encode(source), self.target.encode(target)) for source, target in sides]
        maps: list[AttentionMap] = []
        for (source, target), (weights, prompt) in zip(sides, self._weights(ids, kind, batch_size), strict=True):
            read, written = _tokens(self.source, source), _tokens(self.target, target)
            if kind == "causal":
                inputs = [*read[:prompt], BOS, *written[:-1]]
                maps.append(AttentionMap(weights, inputs, inputs, kind, _may_look(weights, prompt), prompt))
            else:
                maps.append(AttentionMap(weights, written if kind == "cross" else read, read, kind))
        return maps

    def check_attention(self, kind: str = "cross") -> None:
        """Refuse a kind of attention that the model does not have.

        Raises:
            ValueError: there is no such kind, or the model has no attention of this kind.
        """
        if kind not in KINDS:
            raise ValueError(f"there is no attention {kind!r} to look at; choose from {', '.join(KINDS)}")
        if kind not in self.attention_kinds:
            which = "" if kind == "cross" and not self.attention_kinds else f"{kind} "
            an = "an" if self.name[0] in "AEIOUaeiou" else "a"
            raise ValueError(f"{an} {self.name} model has no {which}attention to look at")

    def links(self, pairs: Iterable[tuple[str, Hypothesis]], batch_size: int = 64) -> list[set[Link]]:
        """Links between the tokens of sources and hypotheses, read off the attention: a set for each pair, in order.

        The weights are averaged over all layers and heads. Each target token is linked to the source token with the
        largest weight; <eos> takes no part.

        Args:
            pairs: a source sentence, and a hypothesis that `search` found for it.

        Raises:
            TypeError: something is not such a pair.
            ValueError: the decoder of the model does not look at the source through attention.
        """
        self.check_attention()
        eos = self.target.vocab.eos
        pairs = list(check_items("pairs", pairs, "(sentence, hypothesis)"))
        if wrong := [each for each in pairs if not (len(each) == 2 and isinstance(each[1], Hypothesis))]:
            raise TypeError(f"a pair is a sentence and a hypothesis that `search` found for it, not {shown(wrong[0])}")
        ids = [(self.source.encode(source), [*hypothesis.tokens, eos]) for source, hypothesis in pairs]
        return [word_links(weights) for weights, _ in self._weights(ids, "cross", batch_size)]

    def evaluate(
        self,
        pairs: Sequence[Pair],
        batch_size: int = 64,
        *,
        translations: Sequence[str] | None = None,
        lowercase: bool | None = None,
        all_references: bool = False,
    ) -> Scores:
        """Quality on pairs that the model was not trained on.

        The references get the spelling of the training data before translations are compared with them, word by word:
        they never become ids, so that a word outside the vocabulary counts as itself. The alignment
        error rate needs pairs with gold links, which join words, and a model whose tokens are words; the links of the
        model are found as in `links`, while it reads the reference.

        Args:
            translations: of the sources, found by another search; default: those of greedy search.
            lowercase: whether all comparisons ignore case; default: unless the model was trained on cased text. If a
                model that writes lower case is compared with cased references, each capital letter is an error.
            all_references: whether a translation is compared with the targets of all pairs that have its source, and
                counted once. (The perplexity is that of all pairs.)

        Raises:
            TypeError: something is not a pair, or the translations are not a list of texts.
            ValueError: there is not one translation for each pair, or no pair.
        """
        lowercase = not self.target.tokenizer.cased if lowercase is None else lowercase
        pairs = list(pairs_in(pairs))
        if translations is not None:
            translations = as_texts(translations, "translations", len(pairs))
        else:
            translations = self.translate_all([pair.source for pair in pairs], batch_size=batch_size)
        references = [self.target.tokenizer.normalize(pair.target) for pair in pairs]
        with fitting_threads(self.model):
            loss = mean_loss(self.model, Batches(pairs, self.source, self.target, batch_size), self.device)
        compared = references if lowercase else [pair.target for pair in pairs]
        right: dict[str, tuple[str, list[str]]] = {}  # of each source (else, of each pair): translation and references
        for number, (pair, text, reference) in enumerate(zip(pairs, translations, compared, strict=True)):
            key = self.source.tokenizer.normalize(pair.source) if all_references else str(number)
            right.setdefault(key, (text, []))[1].append(reference)
        found, references = [text for text, _ in right.values()], [several for _, several in right.values()]
        spelled = partial(normalize, language=self.target.tokenizer.language, cased=not lowercase)
        exact = sum(spelled(text) in map(spelled, several) for text, several in right.values())
        return Scores(
            pairs=len(right),
            bleu=bleu(found, references, lowercase),
            chrf=chrf(found, references, lowercase),
            perplexity=perplexity(loss),
            exact=exact / len(right),
            aer=self._aer([pair for pair in pairs if pair.alignment], batch_size),
        )

    def _aer(self, pairs: Sequence[Pair], batch_size: int) -> float | None:
        words = all(language.tokenizer.kind == "word" for language in (self.source, self.target))
        if not (pairs and words and self.has_attention):
            return None
        maps = self.attend_all(pairs, "cross", batch_size)
        links = [word_links(each.weights) for each in maps]
        return alignment_error_rate(links, [pair.alignment for pair in pairs])

    def _weights(
        self, ids: Sequence[tuple[list[int], list[int]]], kind: str, batch_size: int
    ) -> Iterator[tuple[Tensor, int]]:
        return attention_weights(self.model, self.source.vocab, self.target.vocab, ids, kind, batch_size, self.device)


def _tokens(language: Language, text: str) -> list[str]:
    return [*language.tokenizer.tokenize(text), EOS]


def _may_look(weights: Float[Tensor, "layers heads steps steps"], prompt: int) -> Bool[Tensor, "steps steps"]:
    """The causal mask. A prompt whose tokens look at later ones has a prefix mask: all of the prompt may be seen."""
    mask = causal_mask(weights.shape[-1])
    mask[:prompt, :prompt] |= weights[..., :prompt, :prompt].triu(1).any()
    return mask
