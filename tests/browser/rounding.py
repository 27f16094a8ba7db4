"""The weights that a page has: tests compare a page with a model that has the same ones."""

import torch


def in_page(translator):
    """Matrices in 8 bits: the largest weight of a row, in half precision, is 127 levels. All else in half precision."""
    with torch.no_grad():
        for weight in translator.model.parameters():
            if weight.ndim > 1:
                for row in weight.view(-1, weight.shape[-1]):
                    level = row.abs().max().half().float() / 127
                    row.copy_((row / level).round().clamp(-127, 127) * level if level > 0 else torch.zeros_like(row))
            else:
                weight.copy_(weight.half())
    return translator
