"""The folded solutions of exercises 9.1 to 9.5, for whoever goes on without one: `lesson09.yours_or_ours` takes them.

A test compares them with the lesson, letter by letter.
"""

# ruff: noqa: D103 (the lesson explains them)

from __future__ import annotations

import math

import torch
import torch.nn.functional as F

STEPS = ("attend", "encoder_block", "decoder_block", "shifted_loss", "greedy")


def attend(q, k, v, mask, heads):
    q, k, v = (x.unflatten(-1, (heads, -1)).transpose(1, 2) for x in (q, k, v))  # batch, heads, steps, d / heads
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    weights = scores.masked_fill(~mask, -math.inf).softmax(-1)
    return (weights @ v).transpose(1, 2).flatten(2)


def encoder_block(block, x, mask):
    y = block.ln1(x)
    x = x + block.attention(y, y, mask)
    return x + block.ffn(block.ln3(x))


def decoder_block(block, x, memory, real):
    steps = x.shape[1]
    past = torch.ones(steps, steps, dtype=torch.bool).tril()
    y = block.ln1(x)
    x = x + block.attention(y, y, past)
    x = x + block.cross(block.ln2(x), memory, real)
    return x + block.ffn(block.ln3(x))


def shifted_loss(model, source, target, pad):
    logits, labels = model(source, target[:, :-1]), target[:, 1:]
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=pad)


def greedy(model, source, bos, eos, longest):
    encoded, words = model.encode(source), [bos]
    while len(words) <= longest:
        logits = model.decode(torch.tensor([words]), *encoded)[0, -1]  # after the newest word
        word = int(logits.argmax())
        if word == eos:
            break
        words.append(word)
    return words[1:]
