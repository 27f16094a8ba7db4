"""The loop: real tokens only, clipping, the best epoch, hooks, Ctrl-C."""

import pytest
import torch
import torch.nn.functional as F

from seqlearn.data.batches import Batch, Batches
from seqlearn.data.d2l_compat import d2l
from seqlearn.data.pairs import Pair
from seqlearn.data.text import Language
from seqlearn.nn.seq2seq import bahdanau
from seqlearn.training.loop import batch_loss, fit, mean_loss, token_loss
from seqlearn.training.schedules import constant, linear_decay

LINES = [" ".join("abcdef"[(i + j) % 6] for j in range(1 + i % 4)) for i in range(48)]
LANGUAGE = Language.learn("", LINES)
PAIRS = [Pair(line, line[::-1]) for line in LINES]


def make(seed=0, **options):
    torch.manual_seed(seed)
    return bahdanau(len(LANGUAGE.vocab), len(LANGUAGE.vocab), embed_size=8, num_hiddens=8, dropout=0.0, **options)


def batches(pairs=PAIRS, size=16):
    return Batches(pairs, LANGUAGE, LANGUAGE, size)


def test_token_loss_by_hand_and_nothing_from_padding():
    logits = torch.tensor([[[0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 50.0], [9.0, -9.0, 3.0, 7.0]]], requires_grad=True)
    loss = token_loss(logits, torch.tensor([[1, 3, 0]]), pad=0)
    torch.testing.assert_close(loss, torch.log(torch.tensor(4.0)))
    loss.backward()
    assert (logits.grad[0, 2] == 0).all() and (logits.grad[0, 0] != 0).any()


def test_the_loss_of_a_batch_is_that_of_its_sentences_alone():
    """Catches padding in the sum, in the divisor, and in the attention."""
    model = make().double().eval()
    together = mean_loss(model, batches(size=48))
    total = tokens = 0
    for pair in PAIRS:
        (single,) = batches([pair])
        logits = model(single.source, single.source_lens, single.target[:, :-1])[0]
        total += F.cross_entropy(logits, single.target[0, 1:], reduction="sum").item()
        tokens += len(single.target[0]) - 1
    assert together == pytest.approx(total / tokens, abs=1e-12)
    assert mean_loss(model, batches(size=7)) == pytest.approx(together, abs=1e-12)


@pytest.mark.parametrize(("size", "clip"), [(48, 0.1), (20, 1e9)])
def test_updates_equal_plain_pytorch(size, clip):
    """Adam on the mean loss of the real tokens, clipped: written out once more.

    One update that is clipped; and three that are not, on batches with different shares of padding. Adam takes no note
    of a factor that stays the same, so only these show by what the loss is divided.
    """
    ours, plain = make(), make()
    fit(ours, batches(size=size), batches(size=48), epochs=1, lr=0.01, schedule=constant, clip=clip, progress=False)
    optimizer = torch.optim.Adam(plain.parameters(), lr=0.01)
    shares = set()
    for batch in batches(size=size).epoch(0):
        optimizer.zero_grad()
        logits = plain(batch.source, batch.source_lens, batch.target[:, :-1])
        real = batch.target[:, 1:] != 0
        shares.add(float(real.float().mean()))
        F.cross_entropy(logits[real], batch.target[:, 1:][real]).backward()
        norm = torch.nn.utils.clip_grad_norm_(plain.parameters(), clip)
        assert (norm > clip) == (clip < 1), "clipping does not do here what the test is about"
        optimizer.step()
    assert clip < 1 or len(shares) > 1, "the shares of padding should differ"
    for (name, left), right in zip(ours.named_parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(left, right, msg=name)


def test_learns_and_is_the_same_again():
    histories = [fit(make(), batches(), batches(), epochs=40, lr=0.03, progress=False).valid_losses for _ in range(2)]
    assert histories[0] == histories[1]
    assert histories[0][-1] < 0.5 < histories[0][0]


def test_history_and_hooks():
    seen = []
    model = make()
    history = fit(
        model, batches(), batches(), epochs=3, lr=0.01, progress=False, after_epoch=[lambda *args: seen.append(args)]
    )
    assert [args[1].epochs for args in seen] == [3, 3, 3] and all(args[0] is model for args in seen)  # one history
    assert len(history.batch_losses) == 9 and history.epochs == len(history.train_losses) == 3
    assert history.tokens == [int((batches().targets.lengths - 1).sum())] * 3
    assert not history.interrupted


def test_the_best_epoch_is_what_remains():
    """A rate so high that the validation loss rises again."""
    model = make()
    states = []
    history = fit(
        model,
        batches(PAIRS[:8]),
        batches(PAIRS[40:]),
        epochs=40,
        lr=0.1,
        schedule=constant,
        progress=False,
        after_epoch=[lambda model, _: states.append({k: v.clone() for k, v in model.state_dict().items()})],
    )
    assert history.best_epoch < 39, "the last epoch was the best: the test shows nothing"
    assert mean_loss(model, batches(PAIRS[40:])) == pytest.approx(min(history.valid_losses))
    for name, tensor in model.state_dict().items():
        assert torch.equal(tensor, states[history.best_epoch][name])


def test_ctrl_c_keeps_the_best_weights():
    def interrupt(model, history):
        if history.epochs == 2:
            raise KeyboardInterrupt

    model = make()
    history = fit(model, batches(), batches(), epochs=9, lr=0.01, progress=False, after_epoch=[interrupt])
    assert history.interrupted and history.epochs == 2
    assert mean_loss(model, batches()) == pytest.approx(min(history.valid_losses))


def test_a_loss_that_is_no_number_is_said():
    model = make()
    torch.nn.init.constant_(model.decoder.dense.bias, float("nan"))
    with pytest.raises(ValueError, match="loss of epoch 1 is nan"):
        fit(model, batches(), batches(), epochs=1, lr=0.01, progress=False)


def test_an_error_in_a_later_epoch_leaves_the_best_weights_before_it():
    def spoil(model, history):
        if history.epochs == 2:
            torch.nn.init.constant_(model.decoder.dense.bias, float("nan"))

    model, losses = make(), []
    hooks = [lambda model, history: losses.append(history.valid_losses[-1]), spoil]
    with pytest.raises(ValueError, match="loss of epoch 3 is nan"):
        fit(model, batches(), batches(), epochs=4, lr=0.01, progress=False, after_epoch=hooks)
    assert len(losses) == 2 and mean_loss(model, batches()) == pytest.approx(min(losses))


def test_dropout_only_in_training():
    torch.manual_seed(0)
    model = bahdanau(len(LANGUAGE.vocab), len(LANGUAGE.vocab), embed_size=8, num_hiddens=8, dropout=0.9)
    (batch,) = batches(size=48)
    model.train()
    assert mean_loss(model, batches()) == mean_loss(model, batches())
    assert model.training
    first = batch_loss(model, batch, 0)
    assert first != batch_loss(model, batch, 0)


def test_token_loss_is_d2ls_but_for_its_mean_over_padding():
    """d2l averages over all places, padding too: the sum of what it averages is our sum."""
    logits, labels = torch.randn(3, 5, 7), torch.randint(1, 7, (3, 5))
    lengths = torch.tensor([5, 2, 3])
    labels[torch.arange(5) >= lengths[:, None]] = 0
    theirs = d2l.MaskedSoftmaxCELoss()(logits, labels, lengths)
    torch.testing.assert_close(token_loss(logits, labels, pad=0), theirs.sum() * 5)


class Teller(torch.nn.Module):
    """Under the contract; it writes down what it is shown, and always likes token 5 best."""

    def __init__(self):
        super().__init__()
        self.encoder = lambda source, lens: None
        self.decoder = self
        self.shown = []

    def init_state(self, memory):
        return 0

    def forward(self, tokens, state):
        self.shown.append(tokens)
        return torch.nn.functional.one_hot(torch.full(tokens.shape, 5), 9).double(), state + tokens.shape[1]


def test_scheduled_sampling_shows_the_models_own_tokens():
    batch = Batch(
        torch.ones(400, 1, dtype=torch.long), torch.ones(400, dtype=torch.long),
        torch.tensor([[1, 6, 7, 8]]).repeat(400, 1), torch.full((400,), 4),
    )  # fmt: skip
    for teacher_forcing in (0.0, 0.7):
        teller = Teller()
        batch_loss(teller, batch, 0, teacher_forcing)
        first, *later = teller.shown
        assert (first == 1).all() and len(later) == 2  # <bos>, which is never guessed
        for true, seen in zip((6, 7), later, strict=True):
            assert set(seen.unique().tolist()) <= {true, 5}
            assert float((seen == true).double().mean()) == pytest.approx(teacher_forcing, abs=0.1)


def test_scheduled_sampling_with_the_truth_alone_is_teacher_forcing(monkeypatch):
    """The loss is against the true tokens either way; a coin that never falls on the model's side changes nothing."""
    model = make().double().eval()
    (batch,) = batches(size=48)
    monkeypatch.setattr(torch, "rand", torch.zeros)
    torch.testing.assert_close(batch_loss(model, batch, 0, 0.5), batch_loss(model, batch, 0))
    monkeypatch.setattr(torch, "rand", torch.ones)
    assert batch_loss(model, batch, 0, 0.5) != batch_loss(model, batch, 0)


def test_fit_asks_for_the_share_of_training_done():
    asked = []
    fit(
        make(), batches(), batches(), epochs=2, lr=0.01, progress=False,
        teacher_forcing=lambda share: asked.append(share) or 0.5,
    )  # fmt: skip
    assert asked == pytest.approx([index / 6 for index in range(6)])


def test_schedules():
    assert [linear_decay(share) for share in (0.0, 0.25, 1.0)] == [1.0, 0.75, 0.0]
    assert constant(0.7) == 1.0
