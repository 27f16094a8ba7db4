"""Several processes train one model as one process does."""

from pathlib import Path

import pytest
import torch

from seqlearn.training import processes
from seqlearn.training.processes import ALONE, Processes, init_processes
from tests.training import together


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """The results of each process, by the number of processes; and the folder."""
    folder = tmp_path_factory.mktemp("together")
    found = {1: [{"whole": together.train(), "every batch in rows": together.train(accumulate=1)}]}
    for count in (2, 3):  # one after the other: the three go on where the two were lost
        group = together.start(count, str(Path(together.__file__)), str(folder))
        statuses = [process.wait(timeout=600) for process in group]
        assert statuses == ([0, 9] if count == 2 else [0, 0, 0])
        names = [folder / f"{count} processes, {rank}.pt" for rank in range(count)]
        found[count] = [torch.load(name, weights_only=False) for name in names]
    return found, folder


def close(one, other, tolerance):
    assert one["weights"].keys() == other["weights"].keys()
    for name, weight in one["weights"].items():
        assert weight.dtype == torch.float64 or not weight.is_floating_point()
        torch.testing.assert_close(weight, other["weights"][name], atol=tolerance, rtol=0)
    for name in ("batch_losses", "train_losses", "valid_losses", "tokens"):
        expected = pytest.approx(getattr(other["history"], name), abs=tolerance, rel=0)
        assert getattr(one["history"], name) == expected, name


@pytest.mark.slow
@pytest.mark.parametrize("part", ["whole", "every batch in rows"])
def test_one_two_and_three_processes_learn_the_same_weights(results, part):
    found, _ = results
    alone = found[1][0][part]
    assert len(alone["history"].batch_losses) == 3 * (4 if part == "whole" else 7)
    for count in (2, 3):
        for process in found[count]:
            close(process[part], alone, 1e-10)
            close(process[part], found[count][0][part], 0)  # the processes agree to the last bit


@pytest.mark.slow
def test_two_processes_that_crash_go_on_to_the_same_bits(results):
    """With dropout, which is another one in each process."""
    found, _ = results
    for process in found[2]:
        close(process["dropout, resumed"], process["dropout"], 0)
        assert torch.equal(process["dropout, resumed"]["random"], process["dropout"]["random"])
    assert not torch.equal(*(process["chance"] for process in found[2])), "the same dropout in both"


@pytest.mark.slow
def test_a_signal_to_one_process_stops_both(results):
    found, _ = results
    for process in found[2]:
        close(process["stopped"], found[2][0]["whole"], 0)


@pytest.mark.slow
def test_after_the_death_of_one_process_the_other_ends_and_three_go_on(results):
    found, folder = results
    said = (folder / "said.txt").read_text(encoding="utf-8")
    assert said == "another process of this training has ended, or does not answer"
    for process in found[3]:
        close(process["resumed"], found[1][0]["whole"], 1e-10)


@pytest.mark.slow
def test_other_data_in_one_process_is_refused(results):
    for process in results[0][2]:
        assert process["other data"].startswith("the processes of this training have different data or options")


def test_shares_are_disjoint_and_hold_every_pair_once():
    batches = list(together.TRAIN.epoch(0))
    for count in (1, 2, 3, 7, 9):
        for group in (batches[:1], batches[:2], batches[:6], batches):
            shares = [Processes(rank, count).share(group) for rank in range(count)]
            rows = [tuple(row.tolist()) for share in shares for batch in share for row in batch.target]
            assert sorted(rows) == sorted(tuple(row.tolist()) for batch in group for row in batch.target)
            assert all(len(batch.source) for share in shares for batch in share), "a recurrent model refuses no pairs"
            assert sum(batch.tokens for share in shares for batch in share) == sum(batch.tokens for batch in group)
            if len(group) % count == 0:
                assert all(any(batch is each for each in group) for share in shares for batch in share)


def test_one_process_needs_no_others():
    assert init_processes() is ALONE and ALONE.first
    assert ALONE.sum(1.5, 2.0) == [1.5, 2.0] and ALONE.any(True, False) == [True, False]
    tensor = torch.ones(2)
    assert ALONE.all_gather(tensor)[0] is tensor


def test_a_missing_variable_is_named(monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", "0")
    with pytest.raises(ValueError, match="WORLD_SIZE is 2, but MASTER_ADDR is not set: start with torchrun"):
        init_processes()


def test_a_process_does_not_wait_for_ever_for_the_others(monkeypatch):
    def nobody(url, timeout):
        assert 10 < timeout.seconds < 600
        raise torch.distributed.DistStoreError("Timed out after 121 seconds waiting for clients. 1/2 clients joined.")

    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setattr(processes, "rendezvous", nobody)
    with pytest.raises(ConnectionError, match="the 2 processes of this training did not meet within 120 seconds"):
        init_processes()
