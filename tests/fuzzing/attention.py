"""Attention of any shape, under any mask, in any float type, against a loop over queries in float64."""

from __future__ import annotations

import math
from contextlib import nullcontext

import torch
from hypothesis import strategies as st

from seqlearn.nn.attention import AdditiveAttention, BilinearAttention, DotProductAttention, MultiHeadAttention
from seqlearn.nn.recording import record_attention

DTYPES = {"float64": 1e-9, "float32": 1e-4, "bfloat16": 0.1, "float16": 0.02}  # and the error that may be
CASES = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 10**6),
        "layer": st.sampled_from(["additive", "dot", "bilinear", "multi-head"]),
        "dtype": st.sampled_from(list(DTYPES)),
        "mask": st.sampled_from(["none", "lengths", "lengths of queries", "of keys", "full", "nothing"]),
        "sizes": st.tuples(*[st.integers(1, 5)] * 4),  # batch, queries, keys, features of a value
        "heads": st.integers(1, 3),
        "causal": st.booleans(),
        "recorded": st.booleans(),
    }
)


def make_mask(form, batch, queries, keys):
    """A mask as the layer gets it, and the same as a bool tensor (batch, queries, keys)."""
    every = torch.ones(batch, queries, keys, dtype=torch.bool)
    if form == "none":
        return None, every
    if form in ("lengths", "lengths of queries"):
        lengths = torch.randint(0, keys + 1, (batch, queries) if form.endswith("queries") else (batch,))
        lengths[:1] = keys  # integers of 0 and 1 alone could be a mask, and are refused
        return lengths, every & (torch.arange(keys) < lengths.reshape(batch, -1, 1))
    if form == "of keys":
        mask = torch.rand(batch, 1, keys) < 0.6
        return mask, every & mask
    mask = torch.rand(batch, queries, keys) < (0.5 if form == "full" else 0.0)
    return mask, mask


def slow_attention(score, queries, keys, values, mask):
    """The context of each query, by the formula, for one sentence."""
    contexts = torch.zeros(len(queries), values.shape[-1], dtype=torch.float64)
    for q, query in enumerate(queries):
        seen = [k for k in range(len(keys)) if mask[q, k]]
        scores = [float(score(query, keys[k])) for k in seen]
        exps = [math.exp(each - max(scores)) for each in scores]
        for k, weight in zip(seen, exps, strict=True):
            contexts[q] += weight / sum(exps) * values[k]
    return contexts


def attend(case):
    """The contexts are those of the loop, recorded or not, and zeros where there is nothing to attend to."""
    torch.manual_seed(case["seed"])
    (batch, queries, keys, size), heads, kind = case["sizes"], case["heads"], case["layer"]
    dtype, width = getattr(torch, case["dtype"]), 2 * heads
    causal = case["causal"] and kind == "multi-head" and keys >= queries
    layer = {
        "additive": lambda: AdditiveAttention(width, width, 3),
        "dot": DotProductAttention,
        "bilinear": lambda: BilinearAttention(width, width),
        "multi-head": lambda: MultiHeadAttention(width, heads, query_size=width, key_size=width, value_size=size),
    }[kind]()
    layer = layer.to(dtype).eval()
    sides = [(queries, width), (keys, width), (keys, size)]
    given = [torch.randn(batch, *side, dtype=torch.float64).to(dtype) for side in sides]
    mask, allowed = make_mask(case["mask"], batch, queries, keys)
    with torch.no_grad(), record_attention(layer) if case["recorded"] else nullcontext():
        found = layer(*given, mask, **({"causal": True} if causal else {}))
    if causal:
        allowed = allowed & (torch.arange(keys) <= torch.arange(queries)[:, None] + keys - queries)
    exact = layer.double().requires_grad_(False)
    for b in range(batch):
        expected = by_formula(exact, *(each[b].double() for each in given), allowed[b], heads)
        torch.testing.assert_close(found[b].double(), expected, atol=DTYPES[case["dtype"]], rtol=DTYPES[case["dtype"]])
    assert found.dtype == dtype and (found[~allowed.any(-1)] == 0).all()


def by_formula(layer, queries, keys, values, mask, heads):
    """The contexts of one sentence, from the layer's weights and the formulas of the papers."""
    if isinstance(layer, AdditiveAttention):
        score = lambda q, k: layer.w_v.weight[0] @ torch.tanh(layer.W_q.weight @ q + layer.W_k.weight @ k)  # noqa: E731
    elif isinstance(layer, BilinearAttention):
        score = lambda q, k: q @ layer.W.weight @ k  # noqa: E731
    else:
        score = lambda q, k: q @ k / math.sqrt(len(q))  # noqa: E731
    if not isinstance(layer, MultiHeadAttention):
        return slow_attention(score, queries, keys, values, mask)
    sides = (queries, layer.W_q), (keys, layer.W_k), (values, layer.W_v)
    parts = zip(*((side @ linear.weight.T).chunk(heads, dim=-1) for side, linear in sides), strict=True)
    return torch.cat([slow_attention(score, *part, mask) for part in parts], dim=-1) @ layer.W_o.weight.T
