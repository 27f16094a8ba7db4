"""Nadaraya-Watson kernel regression: attention over numbers, from 1964."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from .masking import as_mask, masked_softmax
from .recording import AttentionLayer

KERNELS = ("gaussian", "boxcar", "epanechnikov", "triangular", "constant")
FLAT = ("boxcar", "constant")


def kernel(name: str, distances: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """How alike two points are, given their distance u in units of the width.

    gaussian: exp(-u^2 / 2). boxcar: 1, epanechnikov: 1 - u^2, triangular: 1 - |u|; these three are 0 beyond |u| = 1.
    constant: 1 everywhere. The query then does not matter: average pooling.
    """
    match name:
        case "gaussian":
            return torch.exp(-(distances**2) / 2)
        case "boxcar":
            return (distances.abs() < 1).to(distances.dtype).masked_fill(distances.isnan(), torch.nan)
        case "epanechnikov":
            return (1 - distances**2).clamp(min=0)
        case "triangular":
            return (1 - distances.abs()).clamp(min=0)
        case "constant":
            return torch.ones_like(distances)
        case _:
            raise ValueError(f"there is no kernel {name!r}; choose from {', '.join(KERNELS)}")


class KernelRegression(AttentionLayer):
    """A weighted average of the values: f(q) = sum_i K((q - k_i) / width) v_i / sum_j K((q - k_j) / width).

    Nadaraya (1964), Watson (1964). With the Gaussian kernel the weights are softmax(-((q - k) / width)^2 / 2):
    attention whose score is a squared distance.

    Args:
        kernel: one of `KERNELS`.
        width: how far a key reaches, in the units of queries and keys.
        learned: whether training may change the width. The parameter is its logarithm, so that the width stays above 0.

    Raises:
        ValueError: there is no such kernel, the width is not above 0, or `learned` is set for a flat kernel, whose
            width has no gradient.
    """

    kind = "kernel"

    def __init__(self, kernel: str = "gaussian", width: float = 1.0, learned: bool = False):
        super().__init__()
        if kernel not in KERNELS:
            raise ValueError(f"there is no kernel {kernel!r}; choose from {', '.join(KERNELS)}")
        if not width > 0:
            raise ValueError(f"a width is above 0, not {width}")
        if learned and kernel in FLAT:
            raise ValueError(f"a {kernel} kernel is flat: its width cannot be learned by gradients")
        self.kernel = kernel
        self.log_width = torch.nn.Parameter(torch.tensor(float(width)).log(), requires_grad=learned)

    @property
    def width(self) -> Float[Tensor, ""]:
        """How far a key reaches."""
        return self.log_width.exp()

    def weights(
        self,
        queries: Float[Tensor, "*batch queries"],
        keys: Float[Tensor, "*batch keys"],
        mask: Bool[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "*batch queries keys"]:
        """How much each key counts for each query. A row sums to 1, or is all 0 where no key is within reach.

        Args:
            mask: True = may be attended. For example, all training points but the query's own.
        """
        distances = (queries.unsqueeze(-1) - keys.unsqueeze(-2)) / self.width
        if self.kernel == "gaussian":  # the same ratios, even where exp(-u^2 / 2) is too small for a float
            return masked_softmax(-(distances**2) / 2, mask)
        alike = kernel(self.kernel, distances)
        if mask is not None:
            alike = alike.masked_fill(~as_mask(mask, distances.shape, distances.device), 0.0)
        total = alike.sum(-1, keepdim=True)
        return alike / total.masked_fill(total == 0, 1.0)

    def forward(
        self,
        queries: Float[Tensor, "*batch queries"],
        keys: Float[Tensor, "*batch keys"],
        values: Float[Tensor, "*batch keys"],
        mask: Bool[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "*batch queries"]:
        """The prediction at each query; 0 where no key is within reach. A NaN out of reach does not matter.

        Raises:
            ValueError: there is not one value for each key.
        """
        if values.shape[-1:] != keys.shape[-1:]:
            raise ValueError(f"each key has one value: keys are {tuple(keys.shape)}, values {tuple(values.shape)}")
        weights = self.expose(self.weights(queries, keys, mask), mask)
        reached = torch.where(weights == 0, 0.0, values.unsqueeze(-2))  # 0 times NaN would be NaN
        return (weights * reached).sum(-1)
