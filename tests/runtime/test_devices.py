"""The device that a user asks for is the device that a user gets."""

import pytest
import torch

from seqlearn.cli.devices import use
from seqlearn.runtime.devices import available_devices, best_device


@pytest.fixture
def machine(monkeypatch):
    """Makes this machine look as if it had some cards (and perhaps MPS); tensors stay on the CPU all the same."""

    def zeros(size, device):
        device = torch.device(device)
        has = {"cpu": 1, "cuda": torch.cuda.device_count(), "mps": int(torch.mps.is_available())}
        if (device.index or 0) >= has.get(device.type, 0):
            raise RuntimeError("CUDA error: invalid device ordinal")
        return torch.ones(size)

    def pretend(cards=0, mps=False):
        monkeypatch.setattr(torch.cuda, "is_available", lambda: cards > 0)
        monkeypatch.setattr(torch.cuda, "device_count", lambda: cards)
        monkeypatch.setattr(torch.mps, "is_available", lambda: mps)
        monkeypatch.setattr(torch, "zeros", zeros)

    return pretend


@pytest.mark.parametrize(
    ("cards", "mps", "wish", "expected"),
    [
        (0, False, "", "cpu"),
        (1, False, "", "cuda"),
        (0, True, "", "mps"),
        (2, False, "", "cuda"),
        (2, False, "cpu", "cpu"),
        (2, False, "cuda", "cuda"),
        (2, False, "cuda:0", "cuda:0"),
        (2, False, "cuda:1", "cuda:1"),
        (2, False, " cuda:1 ", "cuda:1"),
        (0, True, "mps", "mps"),
        (0, True, "cpu", "cpu"),
    ],
)
def test_the_device_that_was_asked_for_is_returned_and_named(machine, monkeypatch, cards, mps, wish, expected):
    machine(cards, mps)
    monkeypatch.setenv("SEQLEARN_DEVICE", wish)
    assert best_device() == torch.device(expected) and str(best_device()) == expected


@pytest.mark.parametrize(
    ("cards", "mps", "wish", "has"),
    [
        (1, False, "cuda:1", "cpu, cuda:0"),
        (2, False, "cuda:2", "cpu, cuda:0, cuda:1"),
        (0, False, "cuda", "cpu"),
        (0, True, "cuda:0", "cpu, mps"),
        (1, False, "mps", "cpu, cuda:0"),
        (1, False, "gpu", "cpu, cuda:0"),
        (1, False, "cuda:x", "cpu, cuda:0"),
    ],
)
def test_a_device_that_is_not_there_is_answered_with_those_that_are(machine, monkeypatch, cards, mps, wish, has):
    machine(cards, mps)
    monkeypatch.setenv("SEQLEARN_DEVICE", wish)
    with pytest.raises(ValueError) as caught:
        best_device()
    assert str(caught.value) == f"SEQLEARN_DEVICE={wish!r} names no device of this machine, which has {has}"
    with pytest.raises(ValueError) as caught:
        use(wish)
    assert str(caught.value) == f"--device {wish!r} names no device of this machine, which has {has}"


@pytest.mark.parametrize("wish", ["", "cuda"])
def test_each_process_of_a_launcher_gets_a_card_of_its_own(machine, monkeypatch, wish):
    machine(2, False)
    monkeypatch.setenv("SEQLEARN_DEVICE", wish)
    for rank in (0, 1):
        monkeypatch.setenv("LOCAL_RANK", str(rank))
        assert best_device() == torch.device("cuda", rank)
    monkeypatch.setenv("LOCAL_RANK", "2")
    with pytest.raises(ValueError, match="process 3 of this machine needs a card of its own, and there are 2"):
        best_device()
    machine(0, False)
    monkeypatch.setenv("SEQLEARN_DEVICE", "")
    assert best_device() == torch.device("cpu"), "processes share the CPU"


@pytest.mark.parametrize("wish", ["meta", "cuda:99", "nonsense"])
def test_on_this_machine_too(monkeypatch, wish):
    monkeypatch.setenv("SEQLEARN_DEVICE", wish)
    with pytest.raises(ValueError, match=f"'{wish}' names no device of this machine, which has cpu"):
        best_device()


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_each_card_of_this_machine_by_its_name(monkeypatch):
    for name in available_devices()[1:]:
        monkeypatch.setenv("SEQLEARN_DEVICE", name)
        assert str(best_device()) == name and str(torch.ones(1, device=best_device()).device) == name
    missing = f"cuda:{torch.cuda.device_count()}"
    monkeypatch.setenv("SEQLEARN_DEVICE", missing)
    with pytest.raises(ValueError, match=f"'{missing}' names no device"):
        best_device()
    assert torch.ones(1, device="cuda").item() == 1  # a wrong name leaves the card usable
