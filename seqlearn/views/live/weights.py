"""A translator as data for a page: its sizes, its two languages, and its weights in half precision."""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import asdict
from functools import cache
from pathlib import Path

import numpy as np
import torch
from torch import nn

from ...data.text import Language, Vocab, WordTokenizer
from ...nn.contract import EncoderDecoder
from ...nn.positions import PositionalEncoding, sinusoids
from ...nn.transformer import TransformerDecoder, TransformerEncoder
from ...search.fast_step import is_touched
from ...translator.translator import Translator
from ..shared.bundle import bundle
from ..shared.types import Data

MOST_WEIGHTS = 4_000_000  # 11 MB in a page
LIVE = Path(__file__).parent


@cache
def live_engine() -> str:
    """The function `liveEngine` of a page: around all modules of the model, so that a worker gets its text alone."""
    script = bundle('import { serve } from "./translator.js";\nreturn serve;', LIVE)
    return f"function liveEngine() {{\n{script}\n}}"


def live_model(translator: Translator) -> Data | None:
    """All that `liveModel` in `engine.js` needs in order to translate as this translator does.

    Returns:
        `source` and `target`: language and tokens of each side; `sizes`: vocabulary and configuration of each;
        `tensors`: name, shape and start of each parameter in `weights`, where a shared parameter stands once;
        `weights`: all parameters as float16 in base64. Or None, if the page cannot do what the translator does: its
        model is not exactly the Transformer of this package with words as tokens (a part has another class, other
        sizes, a hook or a method of its own), has more than 4 million parameters, or has a weight that is too large for
        half precision.
    """
    languages = (translator.source, translator.target)
    if type(translator) is not Translator or not all(map(_is_of_words, languages)):
        return None
    model = translator.model
    if sum(weight.numel() for weight in model.parameters()) > MOST_WEIGHTS:
        return None
    if not _is_standard(model, *(len(one.vocab) for one in languages)):
        return None
    tensors, weights = _packed(model)
    if not np.isfinite(weights).all():
        return None
    source, target = ({"language": one.tokenizer.language, "tokens": one.vocab.tokens} for one in languages)
    sizes = {
        side: {"vocab_size": len(one.vocab), **asdict(getattr(model, side).config)}
        for side, one in zip(("encoder", "decoder"), languages, strict=True)
    }
    text = base64.b64encode(weights.tobytes()).decode()
    return {"sizes": sizes, "source": source, "target": target, "tensors": tensors, "weights": text}


@cache
def course_model() -> Data:
    """The Transformer that comes with the course, as `live_model` packs it."""
    model = live_model(Translator.pretrained("transformer", "cpu"))
    assert model is not None, "seqlearn/pretrained/transformer holds a model that no page can imitate"
    return model


def name_of_model(model: Data) -> str:
    """A short name that another model does not have: the first 16 digits of a hash."""
    return hashlib.sha256(json.dumps(model, sort_keys=True).encode()).hexdigest()[:16]


def _is_of_words(language: Language) -> bool:
    parts = (language, language.tokenizer, language.vocab)
    own_functions = any(callable(value) for part in parts for value in vars(part).values())
    return tuple(map(type, parts)) == (Language, WordTokenizer, Vocab) and not own_functions


def _is_standard(model: nn.Module, source_vocab_size: int, target_vocab_size: int) -> bool:
    """Whether the model has the parts, the options and the shapes of our Transformer, and nothing else."""
    if type(model) is not EncoderDecoder or type(model.encoder) is not TransformerEncoder:
        return False
    if type(model.decoder) is not TransformerDecoder:
        return False
    with torch.random.fork_rng(devices=[]), torch.device("cpu"):  # the random numbers of the learner stay as they are
        encoder = TransformerEncoder(source_vocab_size, model.encoder.config)
        built = EncoderDecoder(encoder, TransformerDecoder(target_vocab_size, model.decoder.config))
    if _described(model) != _described(built) or any(map(is_touched, model.modules())):
        return False
    tables = [part.P for part in model.modules() if type(part) is PositionalEncoding]
    return all(torch.equal(table[0].cpu(), sinusoids(*table.shape[1:], dtype=table.dtype)) for table in tables)


def _described(model: nn.Module) -> list[object]:
    """The class and the options of each part, and the shapes of all parameters and buffers but growing tables."""
    options = [
        (name, type(part), {} if isinstance(part, nn.Dropout) else _options(part))
        for name, part in model.named_modules()
    ]
    shapes = {name: tuple(weight.shape) for name, weight in model.named_parameters(remove_duplicate=False)}
    return [options, shapes, [name for name, _ in model.named_buffers()]]


def _options(part: nn.Module) -> dict[str, object]:
    options = {name: value for name, value in vars(part).items() if not name.startswith("_") and name != "training"}
    kind = type(part)  # an attribute may be back at the value that the class gives it, as after `record_attention`
    return {
        name: value for name, value in options.items() if not (hasattr(kind, name) and value is getattr(kind, name))
    }


def _packed(model: nn.Module) -> tuple[list[tuple[str, list[int], int]], np.ndarray]:
    """Name, shape and start of each parameter, and all parameters one after the other, a shared one once."""
    starts: dict[int, int] = {}
    tensors, parts, end = [], [], 0
    for name, weight in model.named_parameters(remove_duplicate=False):
        if id(weight) not in starts:
            starts[id(weight)] = end
            parts.append(weight.detach().cpu().to(torch.float16).flatten().numpy())
            end += weight.numel()
        tensors.append((name, list(weight.shape), starts[id(weight)]))
    return tensors, np.concatenate(parts).astype("<f2")
