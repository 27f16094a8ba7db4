"""Numbers as bytes, so that a browser gets them as a typed array."""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Shaped
from torch import Tensor

from .types import Data


def pack(numbers: Shaped[Tensor, "..."] | np.ndarray, dtype: str = "float32") -> Data:
    """Numbers as bytes for the data of a view: 4 bytes each, 8 as "float64", 2 as "uint16", or 1 as "uint8"."""
    array = numbers.detach().cpu().double().numpy() if isinstance(numbers, Tensor) else np.asarray(numbers)
    array = np.ascontiguousarray(array, dtype=np.dtype(dtype).newbyteorder("<"))
    return {"dtype": dtype, "shape": list(array.shape), "data": array.tobytes()}


def unpack(packed: Data) -> Shaped[Tensor, "..."]:
    """The tensor that went through `pack`, in the type that was sent."""
    dtype = np.dtype(packed["dtype"]).newbyteorder("<")
    array = np.frombuffer(packed["data"], dtype).reshape(packed["shape"])
    return torch.from_numpy(array.astype(dtype.newbyteorder("=")))
