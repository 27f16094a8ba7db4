"""The folder of an `opus-mt` model of Helsinki-NLP, as Hugging Face has it: weights, a vocabulary, pieces.

The files are data: nothing is unpickled, and nothing is fetched.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..data.text import SPECIALS, Language, UnigramTokenizer, Vocab
from ..data.unigram import Unigram
from ..nn.contract import EncoderDecoder
from ..nn.marian import from_marian, marian_config, token_order
from ..training.storage import read_file

CONFIG, VOCAB, WEIGHTS, PICKLE = "config.json", "vocab.json", "model.safetensors", "pytorch_model.bin"
PIECES, CODES = ("source.spm", "target.spm"), "tokenizer_config.json"


def read_marian(folder: str | Path) -> tuple[EncoderDecoder, Language, Language, dict]:
    """The model (on the CPU), both languages and our configuration. Raises: see `Translator.from_marian`."""
    folder = Path(folder)
    if not (folder / WEIGHTS).is_file() and (folder / PICKLE).is_file():
        raise ValueError(
            f"{folder} has its weights in {PICKLE} alone, which can run programs when it is read: let transformers "
            f"write {WEIGHTS}, with MarianMTModel.from_pretrained({str(folder)!r}).save_pretrained(another_folder)"
        )
    if missing := [name for name in (CONFIG, VOCAB, *PIECES, WEIGHTS) if not (folder / name).is_file()]:
        raise FileNotFoundError(f"{folder} holds no Marian model: there is no {missing[0]} in it")
    given, ids = _json(folder / CONFIG), _json(folder / VOCAB)
    try:
        if given.get("vocab_size") != len(ids):
            raise ValueError(f"{VOCAB} has {len(ids)} tokens, and the model {given.get('vocab_size')}")
        config, order = marian_config(given), token_order(given, ids.get("<unk>", -1))
        vocab = _vocab(ids, order.tolist())
        model = from_marian(config, read_file(folder / WEIGHTS).tensors, order)
    except ValueError as error:
        raise ValueError(f"{folder}: {error}") from None
    codes = _json(folder / CODES) if (folder / CODES).is_file() else {}
    source, target = (
        Language(UnigramTokenizer(_pieces(folder / name), str(codes.get(code) or "")), vocab)
        for name, code in zip(PIECES, ("source_lang", "target_lang"), strict=True)
    )
    return model, source, target, {"model": "transformer", "sizes": asdict(config)}


def _json(path: Path) -> dict[str, Any]:  # Any: as JSON has them
    try:
        content = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is damaged ({error})") from None
    if not isinstance(content, dict):
        raise ValueError(f"{path} is damaged: it has no names in it")
    return content


def _vocab(ids: dict[str, Any], order: list[int]) -> Vocab:  # Any: what a vocab.json holds
    """Our vocabulary of both sides: their tokens, after our four special ones."""
    tokens = {index: token for token, index in ids.items() if type(index) is int}
    if len(tokens) != len(ids) or tokens.keys() != set(order):
        raise ValueError(f"{VOCAB} does not have a token for each of the {len(order) - 1} ids of the model")
    vocab = Vocab.of(tokens[index] for index in order[len(SPECIALS) :])
    if len(vocab) != len(order):
        raise ValueError(f"{VOCAB} has one of {', '.join(SPECIALS)} as the token of another id")
    return vocab


def _pieces(path: Path) -> Unigram:
    try:
        return Unigram.read(path.read_bytes())
    except ValueError as error:
        raise ValueError(f"{path} cannot be used: {error}") from None
