"""The weights before training: how they are drawn or taken from others, and a matrix in two places."""

from __future__ import annotations

from torch import Tensor, nn


def initialize(module: nn.Module) -> None:
    """Draw the initial weights of one module: for matrices Xavier's, which keep the variance from layer to layer.

    Glorot and Bengio (2010), equation 16. Embeddings get variance 1 / size, as they are multiplied by sqrt(size).
    """
    if isinstance(module, nn.Linear):
        nn.init.xavier_uniform_(module.weight)
        if module.bias is not None:  # pyright: ignore[reportUnnecessaryComparison]  with bias=False there is none
            nn.init.zeros_(module.bias)
    elif isinstance(module, nn.Embedding):
        nn.init.normal_(module.weight, std=module.embedding_dim**-0.5)


def share_embedding(source: nn.Embedding, target: nn.Embedding) -> None:
    """Let the encoder use the embedding matrix of the decoder, for one vocabulary of both languages.

    Raises:
        ValueError: the vocabularies differ in size.
    """
    one, other = source.num_embeddings, target.num_embeddings
    if one != other:
        raise ValueError(f"tie_source needs one vocabulary, not two of {one} and {other}")
    source.weight = target.weight


def take(theirs: dict[str, Tensor], name: str, shape: tuple[int, ...]) -> Tensor:
    """Take a weight out of those of somebody else, in float32.

    Raises:
        ValueError: the weight is missing, or has another shape or kind of numbers.
    """
    if name not in theirs:
        raise ValueError(f"this model has no {name}")
    weight = theirs.pop(name)
    if not weight.is_floating_point() or weight.dtype.itemsize < 2:  # whole numbers and 8 bits are quantized
        raise ValueError(f"{name} of this model holds {weight.dtype}; our model needs float32, float16 or bfloat16")
    if tuple(weight.shape) != shape:
        raise ValueError(f"{name} of this model is {tuple(weight.shape)}; our model needs {shape}")
    return weight.float()
