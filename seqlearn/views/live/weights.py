"""A translator as data for a page: its sizes, its two languages, and its weights in 8 bits.

`model_part` (`shared/page.py`) puts these data into the page as `<script id="model">`. In the browser `pageModel` in
`engine.js` reads them and hands them to a worker, and `unpacked` in `translator.js` makes float32 of the weights.
"""

from __future__ import annotations

import base64
import copy
import hashlib
import json
from dataclasses import asdict
from functools import cache
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from ...data.text import BPETokenizer, Language, Vocab, WordTokenizer
from ...nn.contract import EncoderDecoder
from ...nn.positions import PositionalEncoding, sinusoids
from ...nn.transformer import TransformerDecoder, TransformerEncoder
from ...search.fast_step import is_touched
from ...translator.translator import Translator
from ..shared.bundle import bundle
from ..shared.constants import LEVELS
from ..shared.types import Data

MOST_WEIGHTS = 5_000_000  # 7 MB in a page
LIVE = Path(__file__).parent


@cache
def live_engine() -> str:
    """The function `liveEngine` of a page: around all modules of the model, so that a worker gets its text alone."""
    script = bundle('import { serve } from "./translator.js";\nreturn serve;', LIVE)
    return f"function liveEngine() {{\n{script}\n}}"


def live_model(translator: Translator) -> Data | None:
    """All that `liveModel` in `engine.js` needs in order to translate as this translator does.

    Returns:
        `source` and `target`: language and tokens of each side, and what its pieces are made by; `sizes`: vocabulary
        and configuration of each; `tensors`: name, shape and number of each parameter, where names of a shared one
        have the same number; `weights`: all parameters, see `_packed`. Or None, if the page cannot do what the
        translator does: its model is not exactly the Transformer of this package (a part has another class, other
        sizes, a hook or a method of its own), has another activation than relu, more than 5 million parameters, or a
        weight that is too large for half precision; or its tokens are neither words nor pieces as `BPETokenizer.learn`
        makes them.
    """
    languages = (translator.source, translator.target)
    if type(translator) is not Translator or not all(map(_is_known, languages)):
        return None
    model = translator.model
    if sum(weight.numel() for weight in model.parameters()) > MOST_WEIGHTS:
        return None
    if not _is_standard(model, *(len(one.vocab) for one in languages)):
        return None
    tensors, weights, halves = _packed(model)
    if not np.isfinite(halves).all():
        return None
    source, target = map(_side, languages)
    sizes = {
        side: {"vocab_size": len(one.vocab), **asdict(getattr(model, side).config)}
        for side, one in zip(("encoder", "decoder"), languages, strict=True)
    }
    for each in sizes.values():
        del each["activation"]  # the page has one alone
    numbers = {"bytes": weights, "halves": halves}
    texts = {name: base64.b64encode(several.tobytes()).decode() for name, several in numbers.items()}
    return {"sizes": sizes, "source": source, "target": target, "tensors": tensors, "weights": texts}


def in_page(translator: Translator) -> Translator:
    """The translator with the weights that `live_model` packs. What a page shows at first comes from it: so its numbers
    are those that the model in the page finds, too, and stay the same after a change and back.
    """
    model = copy.deepcopy(translator.model).eval()
    with torch.no_grad():
        for weight in model.parameters():
            levels, numbers = _levels(weight)
            weight.copy_(numbers.float() if levels is None else levels * (numbers.float() / LEVELS))
    return Translator(model, translator.source, translator.target, translator.config, translator.device)


@cache
def course_model() -> Data:
    """The Transformer that comes with the course, as `live_model` packs it."""
    model = live_model(Translator.pretrained("transformer", "cpu"))
    assert model is not None, "seqlearn/pretrained/transformer holds a model that no page can imitate"
    return model


def name_of_model(model: Data) -> str:
    """A short name that another model does not have: the first 16 digits of a hash."""
    return hashlib.sha256(json.dumps(model, sort_keys=True).encode()).hexdigest()[:16]


def _is_known(language: Language) -> bool:
    """Whether a page can split texts into these tokens, and join them."""
    parts = (language, tokenizer := language.tokenizer, language.vocab)
    own_functions = any(callable(value) for part in parts for value in vars(part).values())
    if type(language) is not Language or type(language.vocab) is not Vocab or own_functions:
        return False
    return type(tokenizer) is WordTokenizer or (type(tokenizer) is BPETokenizer and tokenizer.is_learned())


def _side(language: Language) -> Data:
    """What a page needs of one language."""
    tokenizer = language.tokenizer
    side: Data = {"language": tokenizer.language, "tokens": language.vocab.tokens}
    if isinstance(tokenizer, WordTokenizer):
        return side
    assert isinstance(tokenizer, BPETokenizer)  # see `_is_known`
    return side | {"cased": tokenizer.cased, "merges": tokenizer.merges}


def _is_standard(model: nn.Module, source_vocab_size: int, target_vocab_size: int) -> bool:
    """Whether the model has the parts, the options and the shapes of our Transformer, and nothing else."""
    if type(model) is not EncoderDecoder or type(model.encoder) is not TransformerEncoder:
        return False
    if type(model.decoder) is not TransformerDecoder:
        return False
    if {model.encoder.config.activation, model.decoder.config.activation} != {"relu"}:
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


def _packed(model: nn.Module) -> tuple[list[tuple[str, list[int], int]], np.ndarray, np.ndarray]:
    """Name, shape and number of each parameter; and the numbers of all, a shared one once.

    Returns:
        Names; the matrices in 8 bits, as whole numbers from -127 to 127; and the rest in half precision: of a matrix
        the largest absolute value of each row, which 127 stands for, and of any other parameter all its numbers.
    """
    numbers: dict[int, int] = {}
    tensors, weights, halves = [], [np.empty(0, np.int8)], []
    for name, weight in model.named_parameters(remove_duplicate=False):
        if id(weight) not in numbers:
            numbers[id(weight)] = len(numbers)
            levels, half = _levels(weight)
            if levels is not None:
                weights.append(levels.flatten().numpy())
            halves.append(half.flatten().numpy())
        tensors.append((name, list(weight.shape), numbers[id(weight)]))
    return tensors, np.concatenate(weights), np.concatenate(halves).astype("<f2")


def _levels(weight: Tensor) -> tuple[Tensor | None, Tensor]:
    """A matrix in 8 bits, and the largest absolute value of each row in half precision; or None, and all numbers."""
    values = weight.detach().cpu().float()
    if values.ndim < 2:
        return None, values.half()
    largest = values.abs().amax(dim=-1, keepdim=True).half()
    levels = values.double() * LEVELS / largest.double().clamp(min=1e-30)  # double: a tie stays a tie
    return levels.round().clamp(-LEVELS, LEVELS).nan_to_num().to(torch.int8), largest
