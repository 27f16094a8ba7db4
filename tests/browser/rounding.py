"""The weights that a page has: tests compare a page with a model that has the same ones."""

import torch


def in_page(translator):
    """Matrices in 8 bits: the largest weight of a row, in half precision, is 127 levels. All else in half precision."""
    with torch.no_grad():
        for weight in translator.model.parameters():
            if weight.ndim > 1:
                for row in weight.view(-1, weight.shape[-1]):
                    largest = row.abs().max().half().double()
                    levels = (row.double() * 127 / largest).round().clamp(-127, 127)
                    row.copy_(levels * (largest / 127).float() if largest > 0 else torch.zeros_like(row))
            else:
                weight.copy_(weight.half())
    return translator
