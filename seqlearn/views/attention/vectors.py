"""The queries, keys and values that made the maps of one sentence pair, for the arithmetic of one cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from ...analysis.attention_map import AttentionMap
from ...data.text import Vocab
from ...nn.attention import MultiHeadAttention
from ...nn.recording import Vectors, attention_layers, record_vectors
from ...search.forced_decoding import forced_decoding
from ...translator.translator import Translator
from ..shared.types import Data
from ..steps.steps_data import steps_data

HeadVectors = dict[str, tuple[Tensor, Tensor, Tensor]]
"""Kind -> queries, keys and values of all its heads, each `(layers, heads, tokens, head_size)`."""


def head_vectors(translator: Translator, maps: Mapping[str, AttentionMap], edited: bool = False) -> HeadVectors:
    """The vectors of every head, with rotary positions applied: softmax(q . k / sqrt(head_size)) gives the maps again.

    Args:
        translator: the model that made the maps.
        edited: whether attention was edited (see `what_if`), so that the maps show other weights than the vectors give.
        maps: by their kinds, as `Translator.attend` makes them. The source is read off the encoder map or the map of
            cross-attention, the target off the map of cross- or causal attention; both are read off the causal map of a
            decoder-only model.

    Raises:
        TypeError: `translator` is no `Translator`.
        ValueError: the maps do not show the source; the model has no `MultiHeadAttention` of such a kind; or the
            vectors do not give the weights of the maps, which another model has made, or this one before its training.
    """
    if not isinstance(translator, Translator):
        raise TypeError(f"translator is a Translator, whose model made the maps, not a {type(translator).__name__}")
    source, target = read_ids(translator, maps)
    tokens = torch.tensor([target], device=translator.device)
    with record_vectors(translator.model) as record:
        forced_decoding(
            translator.model, torch.tensor([source], device=translator.device), torch.tensor([len(source)]), tokens
        )
    found: HeadVectors = {}
    for kind, attention in maps.items():
        layers = attention_layers(translator.model, kind)
        if not layers or not all(isinstance(layer, MultiHeadAttention) for layer in layers.values()):
            raise ValueError(f"the model has no MultiHeadAttention of the kind {kind!r}: there are no q and k to show")
        calls = [_joined(record[name]) for name in layers]
        queries, keys, values = (torch.cat([call[part] for call in calls]).float().cpu() for part in range(3))
        if not edited:
            check_weights(attention, queries, keys)
        found[kind] = queries, keys, values
    return found


def read_ids(translator: Translator, maps: Mapping[str, AttentionMap]) -> tuple[list[int], list[int]]:
    """The ids of the source, with <eos>, and of the tokens that the decoder reads, from <bos> on."""
    encoder, causal, cross = (maps.get(kind) for kind in ("encoder", "causal", "cross"))
    if causal is not None and (prompt := causal.prompt):
        tokens = causal.query_tokens
        return _ids(translator.source.vocab, tokens[:prompt]), _ids(translator.target.vocab, tokens[prompt:])
    if encoder is None and cross is None:
        raise ValueError(f"the source of the sentence is not shown by {' and '.join(maps)} attention alone: add a map")
    shown = encoder or cross
    source = [] if shown is None else _ids(translator.source.vocab, shown.key_tokens)
    bos = translator.target.vocab.bos
    if causal is not None:
        return source, _ids(translator.target.vocab, causal.query_tokens)
    return source, [bos] if cross is None else [bos, *_ids(translator.target.vocab, cross.query_tokens[:-1])]


def _joined(calls: Sequence[Vectors]) -> Vectors:
    """The vectors of all calls of a layer. A decoder-only model reads the source first; the last call has all keys."""
    _, keys, values = calls[-1]
    return torch.cat([queries for queries, _, _ in calls], dim=-2), keys, values


def _ids(vocab: Vocab, tokens: Sequence[str]) -> list[int]:
    return vocab.encode(tokens)


def check_weights(
    attention: AttentionMap,
    queries: Float[Tensor, "layers heads queries size"],
    keys: Float[Tensor, "layers heads keys size"],
) -> None:
    """Raise if these vectors do not give the weights of the map."""
    fits = queries.shape[:3] + keys.shape[2:3] == attention.weights.shape
    if fits:
        scores = queries @ keys.transpose(-2, -1) * queries.shape[-1] ** -0.5
        if attention.mask is not None:
            scores = scores.masked_fill(~attention.mask, -torch.inf)
        fits = torch.allclose(scores.softmax(-1).nan_to_num(0.0), attention.weights, atol=1e-3)
    if not fits:
        raise ValueError(f"this translator gives other {attention.kind} attention: these maps are not of its model")


def head_steps(vectors: HeadVectors, maps: Mapping[str, AttentionMap], kind: str, layer: int, head: int) -> Data:
    """The trait `steps`: `steps_data` of one head."""
    attention = maps[kind]
    queries, keys, values = (part[layer, head] for part in vectors[kind])
    return steps_data(queries, keys, values, attention.mask, attention.query_tokens, attention.key_tokens)
