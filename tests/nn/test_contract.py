"""The page on the contract is true, and models that keep it are told from those that do not."""

import doctest

import torch
from torch import nn

from seqlearn.nn import contract
from seqlearn.nn.contract import Decoder, Encoder, Model, State, eval_mode
from seqlearn.translator.models import MODELS


def test_the_example_of_a_model_of_ones_own(as_a_user):
    before = MODELS.copy()
    try:
        result = doctest.testmod(contract)
    finally:
        MODELS.clear()
        MODELS.update(before)
    assert result.attempted >= 25 and result.failed == 0


def test_our_models_keep_the_contract():
    for spec in list(MODELS.values()):
        model = spec.build(9, 11)
        assert isinstance(model, Model) and isinstance(model.encoder, Encoder) and isinstance(model.decoder, Decoder)
        state = model.decoder.init_state(model.encoder(torch.tensor([[5, 2]]), torch.tensor([2])))
        assert isinstance(state, State)
    assert not isinstance(nn.Linear(1, 1), Model) and not isinstance(nn.Linear(1, 1), Decoder)


def test_eval_mode_is_undone_part_by_part():
    model = nn.Sequential(nn.Dropout(), nn.Dropout())
    model[1].eval()  # a frozen part of a model in training
    before = {part: part.training for part in model.modules()}
    try:
        with eval_mode(model):
            assert not any(part.training for part in model.modules()) and torch.is_inference_mode_enabled()
            raise KeyError
    except KeyError:
        pass
    assert {part: part.training for part in model.modules()} == before and not torch.is_inference_mode_enabled()
