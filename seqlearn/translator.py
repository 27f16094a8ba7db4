"""A translator: a model and the two languages that it was trained on, in one folder."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, overload

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from .attention_map import AttentionMap
from .data.batches import Batches, pad
from .data.corpus import Split
from .data.text import BOS, EOS, Language, normalize
from .decoding import Hypothesis, LengthPenalty, beam_search, gnmt, greedy_search, in_batches
from .devices import best_device
from .forced_decoding import forced_decoding
from .metrics import TextScore, alignment_error_rate, argmax_links, bleu, chrf, perplexity
from .models import Value, check_memory, is_large, spec_of
from .nn.contract import EncoderDecoder
from .nn.masking import causal_mask
from .nn.recording import attention_layers
from .pairs import Link, Pair
from .saving import read_translator, write_translator
from .threads import fitting_threads
from .training.history import History
from .training.loop import fit, mean_loss

KINDS = ("cross", "encoder", "causal")  # of attention between tokens
MOST_WEIGHTS = 1 << 22  # of one head in a batch: 16 MB
BPE_LINES = 1_000_000  # that pieces are learned from: the memory grows with the different words, 0.5 KB each


@dataclass(frozen=True)
class Scores:
    """Quality on held-out pairs.

    `exact` is the share of translations whose tokens equal those of the reference. `aer`, the alignment error rate, is
    None if there is no gold alignment.
    """

    pairs: int
    bleu: TextScore
    chrf: TextScore
    perplexity: float
    exact: float
    aer: float | None = None

    def __str__(self) -> str:
        lines = [
            f"BLEU = {self.bleu.score:.1f}  ({self.bleu.signature})",
            f"chrF = {self.chrf.score:.1f}  ({self.chrf.signature})",
            f"perplexity = {self.perplexity:.3f}",
            f"word for word right = {self.exact:.1%} of {self.pairs:,}",
        ]
        return "\n".join(lines if self.aer is None else [*lines, f"alignment error rate = {self.aer:.3f}"])


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
            name: of its model, one of `seqlearn.models.MODELS`.
            settings: of the model, see `seqlearn.models`; default: those of its factory.

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
        """
        train = split.train
        step = math.ceil(len(train) / BPE_LINES) if tokens == "bpe" and len(train) else 1
        chosen = range(0, len(train), step)
        sources, targets = (train[index].source for index in chosen), (train[index].target for index in chosen)
        if shared_vocab:
            if tokens != "bpe":
                raise ValueError(f'a shared vocabulary is one of tokens "bpe", not {tokens!r}')
            source, target = Language.learn_shared(languages, sources, targets, vocab_size)
        else:
            source = Language.learn(languages[0], sources, min_freq, tokens, vocab_size)
            target = Language.learn(languages[1], targets, min_freq, tokens, vocab_size)
        torch.manual_seed(seed)
        return cls.new(name, source, target, **settings)

    def fit(
        self,
        split: Split,
        *,
        batch_size: int = 64,
        seed: int = 0,
        max_length: int | None = 256,
        cache: str | Path | None = None,
        **options,
    ) -> History:
        """Train on `split.train`, and choose the best epoch by `split.valid`. `split.test` is not used.

        Args:
            max_length: pairs with more tokens on either side are left out, with a warning that counts them: one long
                pair makes its whole batch wide. None: keep all pairs.
            cache: a folder for the ids of a corpus that does not fit in memory, see `Batches`.
            options: of `seqlearn.training.loop.fit`; `epochs` and `lr` among them.
        """
        languages = self.source, self.target
        train = Batches(split.train, *languages, batch_size, seed, max_length=max_length, cache=cache)
        valid = Batches(split.valid, *languages, batch_size, max_length=max_length, cache=cache)
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
            ValueError: the weights hold NaN or infinity. An older translator in the folder stays.
            OSError: the file cannot be written. An older translator in the folder stays.
        """
        write_translator(folder, self.model, self.source, self.target, self.config)

    @classmethod
    def load(cls, folder: str | Path, device: torch.device | str | None = None) -> Translator:
        """Read the folder that `save` wrote. A folder of an older seqlearn has no checksum: a warning says so.

        Raises:
            FileNotFoundError: the folder holds no translator.
            ValueError: it was written by another version of seqlearn, or is damaged.
        """
        return cls(*read_translator(folder), device)

    @classmethod
    def pretrained(cls, name: str, device: torch.device | str | None = None) -> Translator:
        """A small translator that comes with the course, in its folder `assets/`.

        Raises:
            FileNotFoundError: there is no translator of this name; or the package was installed without the course.
        """
        folder = Path(__file__).parents[1] / "assets" / name
        if not folder.is_dir():
            raise FileNotFoundError(f"there is no trained model {name!r}: {folder} does not exist")
        return cls.load(folder, device)

    @overload
    def search(
        self,
        sentences: Iterable[str],
        batch_size: int = 64,
        max_length: int | None = None,
        *,
        beam: int = 1,
        n_best: None = None,
        length_penalty: LengthPenalty | None = None,
        progress: bool | None = None,
    ) -> list[Hypothesis]: ...
    @overload
    def search(
        self,
        sentences: Iterable[str],
        batch_size: int = 64,
        max_length: int | None = None,
        *,
        beam: int = 1,
        n_best: int,
        length_penalty: LengthPenalty | None = None,
        progress: bool | None = None,
    ) -> list[list[Hypothesis]]: ...
    def search(
        self,
        sentences: Iterable[str],
        batch_size: int = 64,
        max_length: int | None = None,
        *,
        beam: int = 1,
        n_best: int | None = None,
        length_penalty: LengthPenalty | None = None,
        progress: bool | None = None,
    ) -> list[Hypothesis] | list[list[Hypothesis]]:
        """The best hypothesis for each sentence, in the order given.

        Args:
            beam: width of the beam; 1 is greedy search.
            n_best: return this many hypotheses for each sentence, as a list, best first; at most `beam`.
            length_penalty: see `seqlearn.decoding.beam_search`; default: `gnmt()`.
            progress: whether to show a bar; default: from 1,000 sentences on.
        """
        ids = [self.source.encode(sentence) for sentence in sentences]
        pad_id, vocab = self.source.vocab.pad, self.target.vocab
        forbidden = (vocab.pad, vocab.bos)
        with fitting_threads(self.model):
            if beam == 1 and n_best is None:
                return in_batches(
                    lambda source, lens: greedy_search(
                        self.model, source.to(self.device), lens,
                        bos=vocab.bos, eos=vocab.eos, forbidden=forbidden, max_length=max_length,
                    ),
                    ids, pad_id, batch_size, progress,
                )  # fmt: skip
            best = in_batches(
                lambda source, lens: beam_search(
                    self.model, source.to(self.device), lens,
                    bos=vocab.bos, eos=vocab.eos, forbidden=forbidden, max_length=max_length,
                    width=beam, n_best=1 if n_best is None else n_best, length_penalty=length_penalty or gnmt(),
                ),
                ids, pad_id, batch_size, progress,
            )  # fmt: skip
        if not all(best):
            raise ValueError("The model gives NaN or infinity: the search has found no translation.")
        return best if n_best is not None else [hypotheses[0] for hypotheses in best]

    @overload
    def translate(  # pyright: ignore[reportOverlappingOverload]  a str is a Sequence[str], too
        self,
        sentences: str,
        batch_size: int = 64,
        *,
        n_best: None = None,
        **options: Any,  # of `search`
    ) -> str: ...
    @overload
    def translate(
        self,
        sentences: Sequence[str],
        batch_size: int = 64,
        *,
        n_best: None = None,
        **options: Any,  # of `search`
    ) -> list[str]: ...
    @overload
    def translate(  # pyright: ignore[reportOverlappingOverload]  a str is a Sequence[str], too
        self,
        sentences: str,
        batch_size: int = 64,
        *,
        n_best: int,
        **options: Any,  # of `search`
    ) -> list[str]: ...
    @overload
    def translate(
        self,
        sentences: Sequence[str],
        batch_size: int = 64,
        *,
        n_best: int,
        **options: Any,  # of `search`
    ) -> list[list[str]]: ...
    def translate(
        self,
        sentences: str | Sequence[str],
        batch_size: int = 64,
        *,
        n_best: int | None = None,
        **options: Any,  # of `search`, which has their types
    ) -> str | list[str] | list[list[str]]:
        """The translation of a sentence, or of each of several sentences.

        Args:
            n_best: return this many translations for each sentence, as a list, best first.
            options: of `search`, such as `beam` and `length_penalty`.
        """
        several = [sentences] if isinstance(sentences, str) else sentences
        if n_best is None:
            found = self.search(several, batch_size, **options)
            translations = [self.target.decode(hypothesis.tokens) for hypothesis in found]
        else:
            best = self.search(several, batch_size, n_best=n_best, **options)
            translations = [[self.target.decode(one.tokens) for one in hypotheses] for hypotheses in best]
        return translations[0] if isinstance(sentences, str) else translations

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

        Args and Raises: see `attend`.
        """
        self.check_attention(kind)
        texts = [(pair.source, pair.target) if isinstance(pair, Pair) else pair for pair in pairs]
        ids = [(self.source.encode(source), self.target.encode(target)) for source, target in texts]
        maps = []
        for (source, target), weights in zip(texts, self._weights(ids, kind, batch_size), strict=True):
            read, written = _tokens(self.source, source), _tokens(self.target, target)
            if kind == "causal":
                is_prompted = weights.shape[-1] > len(written)  # a decoder-only model
                prompt = read if is_prompted else []
                inputs = [*prompt, BOS, *written[:-1]]
                maps.append(AttentionMap(weights, inputs, inputs, kind, _may_look(weights, len(prompt))))
            else:
                maps.append(AttentionMap(weights, written if kind == "cross" else read, read, kind))
        return maps

    def check_attention(self, kind: str = "cross") -> None:
        """Refuse a kind of attention that the model does not have.

        Raises:
            ValueError: there is no such kind, or the model has none of this kind.
        """
        if kind not in KINDS:
            raise ValueError(f"there is no attention {kind!r} to look at; choose from {', '.join(KINDS)}")
        if kind not in self.attention_kinds:
            which = "" if kind == "cross" and not self.attention_kinds else f"{kind} "
            raise ValueError(f"a {self.config.get('model', 'model')} model has no {which}attention to look at")

    def links(self, pairs: Iterable[tuple[str, Hypothesis]], batch_size: int = 64) -> list[set[Link]]:
        """Links between the tokens of sources and hypotheses, read off the attention: a set for each pair, in order.

        The weights are averaged over all layers and heads. Each target token is linked to the source token with the
        largest weight; <eos> takes no part.

        Args:
            pairs: a source sentence, and a hypothesis that `search` found for it.

        Raises:
            ValueError: the decoder of the model does not look at the source through attention.
        """
        self.check_attention()
        eos = self.target.vocab.eos
        ids = [(self.source.encode(source), [*hypothesis.tokens, eos]) for source, hypothesis in pairs]
        return [_links(weights) for weights in self._weights(ids, "cross", batch_size)]

    def evaluate(
        self,
        pairs: Sequence[Pair],
        batch_size: int = 64,
        *,
        translations: Sequence[str] | None = None,
        lowercase: bool = True,
    ) -> Scores:
        """Quality on pairs that the model was not trained on.

        The references go through `normalize`, as the training data did, before translations are compared with them. The
        alignment error rate needs pairs with gold links, which join words, and a model whose tokens are words; the
        links of the model are found as in `links`, while it reads the reference.

        Args:
            translations: of the sources, found by another search; default: those of greedy search.
            lowercase: whether BLEU and chrF ignore case. If not, they compare with the references as they are written,
                and as our translations are lower case, each capital letter of a reference counts as an error.
        """
        if translations is None:
            translations = self.translate([pair.source for pair in pairs], batch_size)
        references = [normalize(pair.target, self.target.tokenizer.language) for pair in pairs]
        with fitting_threads(self.model):
            loss = mean_loss(self.model, Batches(pairs, self.source, self.target, batch_size), self.device)
        tokens = [self.target.tokenizer.tokenize(text) for text in references]
        exact = [self.target.tokenizer.tokenize(text) for text in translations]
        compared = references if lowercase else [pair.target for pair in pairs]
        return Scores(
            pairs=len(pairs),
            bleu=bleu(translations, compared, lowercase),
            chrf=chrf(translations, compared, lowercase),
            perplexity=perplexity(loss),
            exact=sum(left == right for left, right in zip(tokens, exact, strict=True)) / len(pairs),
            aer=self._aer([pair for pair in pairs if pair.alignment], batch_size),
        )

    def _aer(self, pairs: Sequence[Pair], batch_size: int) -> float | None:
        words = all(language.tokenizer.kind == "word" for language in (self.source, self.target))
        if not (pairs and words and self.has_attention):
            return None
        maps = self.attend_all(pairs, "cross", batch_size)
        links = [_links(each.weights) for each in maps]
        return alignment_error_rate(links, [pair.alignment for pair in pairs])

    def _weights(self, pairs: Sequence[tuple[list[int], list[int]]], kind: str, batch_size: int) -> Iterator[Tensor]:
        """The attention `(layers, heads, queries, keys)` of each pair, in order, padding cut off, <eos> kept.

        Args:
            pairs: the ids of source and target, both with <eos>.
        """
        bos = self.target.vocab.bos
        for chunk in _chunks(pairs, batch_size):
            source, source_lens = pad([ids for ids, _ in chunk], self.source.vocab.pad)
            target, target_lens = pad([[bos, *ids] for _, ids in chunk], self.target.vocab.pad)
            tokens = target[:, :-1].to(self.device)
            weights = forced_decoding(self.model, source.to(self.device), source_lens, tokens).attention(kind)
            if weights is None:
                raise ValueError(f"the model has {kind} attention, but did not use it")
            if kind == "causal":
                prompt = weights.shape[-1] - tokens.shape[1]  # of a decoder-only model: the source, padded on the left
                for row, (before, after) in enumerate(zip(source_lens, target_lens - 1, strict=True)):
                    real = slice(prompt - before if prompt else 0, prompt + after)
                    yield weights[row, :, :, real, real]
                continue
            query_lens = source_lens if kind == "encoder" else target_lens - 1
            for row, (queries, keys) in enumerate(zip(query_lens, source_lens, strict=True)):
                yield weights[row, :, :, :queries, :keys]


def _tokens(language: Language, text: str) -> list[str]:
    return [*language.tokenizer.tokenize(text), EOS]


def _may_look(weights: Float[Tensor, "layers heads steps steps"], prompt: int) -> Bool[Tensor, "steps steps"]:
    """The causal mask. A prompt whose tokens look at later ones has a prefix mask: all of the prompt may be seen."""
    mask = causal_mask(weights.shape[-1])
    mask[:prompt, :prompt] |= weights[..., :prompt, :prompt].triu(1).any()
    return mask


def _links(weights: Float[Tensor, "layers heads queries keys"]) -> set[Link]:
    """The link of each target token to the source token with the largest mean weight, without <eos>."""
    return argmax_links(weights.mean((0, 1))[:-1, :-1])


def _chunks(
    pairs: Sequence[tuple[list[int], list[int]]], batch_size: int
) -> Iterator[Sequence[tuple[list[int], list[int]]]]:
    """Neighbouring pairs, `batch_size` at most, and fewer if they are so long that their attention fills the memory."""
    start, longest = 0, 0
    for stop, (source, target) in enumerate(pairs):
        wider = max(longest, len(source), len(target))
        count = stop - start
        if count and (count >= batch_size or (count + 1) * wider**2 > MOST_WEIGHTS):
            yield pairs[start:stop]
            start, wider = stop, max(len(source), len(target))
        longest = wider
    if start < len(pairs):
        yield pairs[start:]
