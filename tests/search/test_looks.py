"""How often the CPU looks at a result of the device: on a GPU each look waits until all that was asked for is done."""

import pytest
import torch

from seqlearn.nn.decoder_only import DecoderOnlyConfig, decoder_only
from seqlearn.nn.seq2seq import BahdanauConfig, Seq2SeqConfig, bahdanau, seq2seq
from seqlearn.nn.transformer import TransformerConfig, transformer
from seqlearn.search import beam_search, greedy_search, sample

pytestmark = pytest.mark.slow

LOOKS = {"cpu", "numpy", "tolist", "item", "nonzero", "equal", "unique", "unique_consecutive", "masked_select"}
LOOKS |= {"__bool__", "__int__", "__float__", "__index__", "__contains__", "allclose", "argwhere"}
MODELS = {
    "transformer": lambda: transformer(50, 50, TransformerConfig()),
    "decoder-only": lambda: decoder_only(50, 50, DecoderOnlyConfig()),
    "bahdanau": lambda: bahdanau(50, 50, BahdanauConfig()),
    "seq2seq": lambda: seq2seq(50, 50, Seq2SeqConfig()),
}
SEARCHES = {
    "greedy": (greedy_search, {}),
    "sample": (sample, {"top_k": 10, "top_p": 0.9}),
    "beam": (beam_search, {"width": 4}),
    "beam, refilled": (beam_search, {"width": 4, "n_best": 4, "refill": True}),
}


class OnDevice(torch.Tensor):
    """A tensor that plays one of a GPU. What is computed from it is on the GPU, too, until somebody looks at it."""

    looks = 0

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        indices = args[1] if func is torch.Tensor.__getitem__ and isinstance(args[1], tuple) else args[1:2]
        picks = func in (torch.Tensor.__getitem__, torch.Tensor.__setitem__)
        by_mask = picks and any(isinstance(one, torch.Tensor) and one.dtype == torch.bool for one in indices)
        if func.__name__ not in LOOKS and not by_mask:
            return super().__torch_function__(func, types, args, kwargs or {})
        OnDevice.looks += 1
        result = super().__torch_function__(func, types, args, kwargs or {})
        return result.as_subclass(torch.Tensor) if func is torch.Tensor.cpu else result


def looks(name, search, options, steps):
    """How many looks a search of this many steps takes."""
    torch.manual_seed(0)
    model, lens = MODELS[name](), torch.tensor([12, 12, 11, 10, 9, 8, 7, 6])
    source = torch.randint(4, 50, (8, 12), generator=torch.Generator().manual_seed(0)).as_subclass(OnDevice)
    OnDevice.looks = 0
    search(model, source, lens, bos=1, eos=2, forbidden=(0, 1), min_length=steps, max_length=steps, **options)
    return OnDevice.looks


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("name", MODELS)
def test_one_look_a_step(name, search):
    few, many = (looks(name, *SEARCHES[search], steps) for steps in (5, 25))
    assert many - few == 20, "a step looks once: a search has to see which sentences have ended"
    assert few <= 5 + 3, "the encoder looks at the lengths"


def test_a_look_is_counted():
    OnDevice.looks = 0
    tensor = torch.arange(4.0).as_subclass(OnDevice)
    assert (tensor + 1).sum().item() == 10 and OnDevice.looks == 1
    assert (tensor * 2).max() > 5 and tensor[tensor > 1].tolist() == [2, 3] and OnDevice.looks == 4
