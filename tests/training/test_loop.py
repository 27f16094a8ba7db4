"""The loop: real tokens only, smoothing, clipping, accumulation, precision, the best epoch, hooks, Ctrl-C."""

import re
import signal

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from seqlearn.data.batches import Batch, Batches
from seqlearn.data.pairs import Pair
from seqlearn.data.text import Language
from seqlearn.nn.seq2seq import BahdanauConfig, Seq2SeqConfig, bahdanau, seq2seq
from seqlearn.nn.transformer import TransformerConfig, transformer
from seqlearn.runtime.d2l_compat import d2l
from seqlearn.training import History, batch_loss, constant, fit, loop, losses, mean_loss, progress, token_loss
from seqlearn.training.checkpoints import TrainingState
from seqlearn.training.processes import Processes

LINES = [" ".join("abcdef"[(i + j) % 6] for j in range(1 + i % 4)) for i in range(48)]
LANGUAGE = Language.learn("", LINES)
PAIRS = [Pair(line, line[::-1]) for line in LINES]


def make(seed=0, **options):
    torch.manual_seed(seed)
    return bahdanau(
        len(LANGUAGE.vocab), len(LANGUAGE.vocab), BahdanauConfig(embed_size=8, num_hiddens=8, dropout=0.0, **options)
    )


def batches(pairs=PAIRS, size=16):
    return Batches(pairs, LANGUAGE, LANGUAGE, size)


def test_a_file_gets_lines_and_no_bar(capsys, monkeypatch):
    """A line a minute; so a short training writes none."""
    monkeypatch.setenv("SEQLEARN_DEVICE", "cpu")
    monkeypatch.delenv("TQDM_DISABLE", raising=False)
    fit(make(), batches(), batches(), epochs=2, lr=0.01)
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr(progress, "A_LINE", 0.0)
    fit(make(), batches(), batches(), epochs=2, lr=0.01)
    told, said = capsys.readouterr()
    assert told == "" and "\r" not in said and said.endswith("\n")
    counts = [re.fullmatch(r"on cpu, 1 thread: (\d) of 6 updates \[.*\]", line)[1] for line in said.splitlines()]
    assert counts == sorted(counts) and counts[-1] == "6"


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


@pytest.mark.slow
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


@pytest.mark.parametrize(
    ("losses", "patience", "ends"),
    [
        ([3.0, 2.0, 2.5, 2.0], 2, 4),
        ([3.0, 3.5, 2.0, 2.5, 1.0, 1.5, 1.5], 2, 7),
        ([3.0, 3.0, 3.0], 1, 2),
        ([3.0, 4.0, 4.0, 4.0], None, 4),
    ],
)
def test_patience_ends_training_when_nothing_gets_better(monkeypatch, losses, patience, ends):
    """Of equally good epochs the first one remains."""
    coming, model, biases = iter(losses), make(), []
    monkeypatch.setattr(loop, "mean_loss", lambda *args: next(coming))
    epochs = len(losses) if patience is None else 9
    kept = [lambda model, _: biases.append(model.decoder.dense.bias.detach().clone())]
    history = fit(
        model, batches(), batches(), epochs=epochs, lr=0.01, patience=patience, progress=False, after_epoch=kept
    )
    assert history.valid_losses == losses[:ends] and not history.interrupted
    assert [torch.equal(model.decoder.dense.bias, bias) for bias in biases].index(True) == history.best_epoch
    assert history.best_epoch == losses.index(min(losses[:ends]))


def test_ctrl_c_keeps_the_best_weights():
    def interrupt(model, history):
        if history.epochs == 2:
            raise KeyboardInterrupt

    model = make()
    history = fit(model, batches(), batches(), epochs=9, lr=0.01, progress=False, after_epoch=[interrupt])
    assert history.interrupted and history.epochs == 2
    assert mean_loss(model, batches()) == pytest.approx(min(history.valid_losses))


@pytest.fixture
def ctrl_c():
    """Ctrl-C raises KeyboardInterrupt, as in a terminal. In a process in the background it may be ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("epoch", [1, 2])
def test_ctrl_c_in_validation_keeps_history_and_mode_together(ctrl_c, monkeypatch, epoch):
    model, calls, validate = make(), [], loop.mean_loss

    def interrupted(model, *args):
        calls.append(model.training)
        if len(calls) == epoch:
            model.encoder.register_forward_pre_hook(lambda *_: signal.raise_signal(signal.SIGINT))
        return validate(model, *args)

    monkeypatch.setattr(loop, "mean_loss", interrupted)
    history = fit(model, batches(), batches(), epochs=3, lr=0.01, progress=False)
    assert history.interrupted and model.training and len(calls) == epoch
    lists = [history.train_losses, history.valid_losses, history.seconds, history.tokens]
    assert [len(each) for each in lists] == [epoch - 1] * 4 and len(history.batch_losses) == 3 * (epoch - 1)


@pytest.mark.parametrize("where", ["the copy of the best weights", "their return"])
def test_ctrl_c_leaves_no_mixture_of_two_epochs(ctrl_c, monkeypatch, where):
    """A signal while an epoch is added to the history, or while the best weights are put back after the last one."""
    model, finish, load = make(), TrainingState.finish_epoch, torch.nn.Module.load_state_dict

    def signalled_finish(state, valid_loss):
        finish(state, valid_loss)
        if where.startswith("the copy") and state.epoch == 2:
            state.history.seconds.append(0.0)  # as if the signal came between two lists
            signal.raise_signal(signal.SIGINT)
            state.history.seconds.pop()

    def signalled_load(self, state, *args):
        if where == "their return" and self is model:
            half = dict(list(state.items())[:3])
            load(self, half, strict=False)
            signal.raise_signal(signal.SIGINT)
        return load(self, state, *args)

    monkeypatch.setattr(TrainingState, "finish_epoch", signalled_finish)
    monkeypatch.setattr(torch.nn.Module, "load_state_dict", signalled_load)
    histories = []
    try:
        histories.append(
            fit(
                model, batches(PAIRS[:8]), batches(PAIRS[40:]), epochs=40, lr=0.1, schedule=constant, progress=False,
                after_epoch=[lambda _, history: histories.append(history)],
            )
        )  # fmt: skip
    except KeyboardInterrupt:
        assert where == "their return"
    history = histories[-1]
    assert history.epochs == 2 or history.best_epoch < history.epochs - 1, "the last epoch was the best"
    assert len(history.seconds) == len(history.valid_losses) == history.epochs
    monkeypatch.undo()
    assert mean_loss(model, batches(PAIRS[40:])) == pytest.approx(min(history.valid_losses))


def spoil(model, history=None):
    """From now on every loss of this model is NaN."""
    torch.nn.init.constant_(model.decoder.dense.bias, float("nan"))


def test_a_training_loss_that_is_no_number_is_an_error():
    model = make()
    spoil(model)
    with pytest.raises(
        ValueError, match=r"the training loss of epoch 1 is nan at update 1 of 3, .*: try a lower learning rate"
    ):
        fit(model, batches(), batches(), epochs=1, lr=0.01, progress=False)


def test_an_error_in_a_later_epoch_leaves_the_best_weights_before_it():
    def spoil_the_second(model, history):
        if history.epochs == 2:
            spoil(model)

    model, losses = make(), []
    hooks = [lambda model, history: losses.append(history.valid_losses[-1]), spoil_the_second]
    with pytest.raises(ValueError, match="training loss of epoch 3 is nan at update 1 of 3"):
        fit(model, batches(), batches(), epochs=4, lr=0.01, progress=False, after_epoch=hooks)
    assert len(losses) == 2 and mean_loss(model, batches()) == pytest.approx(min(losses))


@pytest.mark.parametrize("value", ["nan", "inf", "-inf"])
@pytest.mark.parametrize("epoch", [1, 3])
def test_a_validation_loss_that_is_no_number_is_an_error(monkeypatch, value, epoch):
    """Whichever epoch it is. The weights of the best epoch before it remain."""
    valid_losses, states = [3.0, 2.0, 1.0], []
    valid_losses[epoch - 1] = float(value)
    monkeypatch.setattr(loop, "mean_loss", lambda *_: valid_losses[len(states)])
    keep = [lambda model, _: states.append({name: weight.clone() for name, weight in model.state_dict().items()})]
    model = make()
    message = f"the validation loss of epoch {epoch} is {value}: try a lower learning rate"
    with pytest.raises(ValueError, match=message):
        fit(model, batches(), batches(), epochs=3, lr=0.01, progress=False, after_epoch=keep)
    assert len(states) == epoch - 1, "the epoch does not count as finished"
    for name, weight in model.state_dict().items():
        assert epoch == 1 or torch.equal(weight, states[-1][name])


@pytest.mark.parametrize(
    ("losses", "best"), [(["nan", 1, 0.5], 2), ([1, "nan", 2], 0), ([2, 1, "nan"], 1), (["inf", "nan", 7], 2)]
)
def test_no_epoch_of_nan_is_the_best(losses, best):
    assert History(valid_losses=[float(loss) for loss in losses]).best_epoch == best


@pytest.mark.parametrize("losses", [[], [float("nan")], [float("inf"), float("nan")]])
def test_without_a_finite_epoch_there_is_no_best(losses):
    with pytest.raises(ValueError, match=f"none of the {len(losses)} finished epochs has a finite validation loss"):
        _ = History(valid_losses=losses).best_epoch


def test_dropout_only_in_training():
    torch.manual_seed(0)
    model = bahdanau(len(LANGUAGE.vocab), len(LANGUAGE.vocab), BahdanauConfig(embed_size=8, num_hiddens=8, dropout=0.9))
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


def smoothed(logits, label, smoothing):
    """From the formula, for one token."""
    log_probabilities = [float(logit - logits.logsumexp(0)) for logit in logits]
    return -(1 - smoothing) * log_probabilities[label] - smoothing * sum(log_probabilities) / len(logits)


def test_label_smoothing_by_hand_by_torch_and_never_on_padding():
    logits = (3 * torch.randn(4, 6, 9)).double()
    labels = torch.randint(1, 9, (4, 6))
    labels[torch.arange(6) >= torch.tensor([[6], [1], [3], [5]])] = 0
    logits[labels == 0] *= 100  # what a model says of padding may be anything
    logits.requires_grad_()
    real = labels != 0
    for smoothing in (0.0, 0.1, 0.5):
        loss = token_loss(logits, labels, 0, smoothing)
        theirs = F.cross_entropy(logits[real], labels[real], reduction="sum", label_smoothing=smoothing)
        torch.testing.assert_close(loss, theirs)
        by_hand = sum(
            smoothed(row, int(label), smoothing) for row, label in zip(logits[real].detach(), labels[real], strict=True)
        )
        assert float(loss.detach()) == pytest.approx(by_hand)
        (gradient,) = torch.autograd.grad(loss, logits)
        assert (gradient[~real] == 0).all() and (gradient[real] != 0).any()


MODELS = [(bahdanau, BahdanauConfig), (seq2seq, Seq2SeqConfig), (transformer, TransformerConfig)]


@pytest.mark.skipif(not losses.CHUNKS, reason="this torch makes all logits at once")
@pytest.mark.parametrize("model", MODELS)
def test_a_loss_in_chunks_is_the_same_loss(model, monkeypatch):
    """Loss and gradients, with more places than a chunk has; without a gradient, too."""
    torch.manual_seed(0)
    factory, config = model
    model = factory(len(LANGUAGE.vocab), len(LANGUAGE.vocab), config(num_layers=1)).double().eval()
    (batch,) = batches(PAIRS * 3, size=144)
    assert batch.target[:, 1:].numel() > 256 and (batch.target[:, 1:] == batches().pad).any()
    calls, chunked_loss = [], losses.chunked_loss
    monkeypatch.setattr(losses, "chunked_loss", lambda *args: calls.append(args) or chunked_loss(*args))

    def results(many):
        monkeypatch.setattr(losses, "MANY_LOGITS", many)
        loss = batch_loss(model, batch, batches().pad)
        with torch.inference_mode():
            torch.testing.assert_close(batch_loss(model, batch, batches().pad), loss.detach())
        return loss, *torch.autograd.grad(loss / batch.tokens, list(model.parameters()))

    whole = results(many=10**9)
    assert not calls
    for ours, expected in zip(results(many=0), whole, strict=True):
        torch.testing.assert_close(ours, expected, atol=1e-10, rtol=1e-10)
    assert len(calls) == 2
    logits = model(batch.source, batch.source_lens, batch.target[:, :-1])
    labels = batch.target[:, 1:].flatten()
    smoothed = F.cross_entropy(logits.flatten(0, 1), labels, ignore_index=0, reduction="sum", label_smoothing=0.3)
    torch.testing.assert_close(batch_loss(model, batch, batches().pad, label_smoothing=0.3), smoothed)


def test_a_decoder_without_features_is_trained_through_its_logits(monkeypatch):
    class Plain(nn.Module):
        """Nothing but what `seqlearn.nn.contract` asks for."""

        def __init__(self, inner):
            super().__init__()
            self.inner = inner

        def init_state(self, memory):
            return self.inner.init_state(memory)

        def forward(self, tokens, state):
            return self.inner(tokens, state)

    model, (batch,) = make(), batches(size=48)
    expected = batch_loss(model, batch, batches().pad)
    model.decoder = Plain(model.decoder)
    monkeypatch.setattr(losses, "MANY_LOGITS", 0)
    torch.testing.assert_close(batch_loss(model, batch, batches().pad), expected)


def test_processes_share_the_batches_of_a_mean():
    """Each has its own batches; a sum over processes, here of what they did one after the other, gives the mean."""
    model, parts = make(), []

    class Part(Processes):
        def sum(self, *numbers):
            parts.append(numbers)
            return [sum(column) for column in zip(*parts, strict=True)]

    means = [mean_loss(model, batches(size=7), processes=Part(rank, 3)) for rank in range(3)]
    assert means[-1] == pytest.approx(mean_loss(model, batches(size=7)))
    assert len({tokens for _, tokens in parts}) == 3, "the parts should differ"


def test_training_is_smoothed_and_validation_is_not():
    model = make().double()
    history = fit(model, batches(), batches(), epochs=1, lr=0.0, label_smoothing=0.3, progress=False)
    (batch,) = batches(size=48)
    logits, real = model(batch.source, batch.source_lens, batch.target[:, :-1]).detach(), batch.target[:, 1:] != 0
    losses = [float(F.cross_entropy(logits[real], batch.target[:, 1:][real], label_smoothing=s)) for s in (0.3, 0.0)]
    assert [history.train_losses[0], history.valid_losses[0]] == pytest.approx(losses, abs=1e-6)
    assert abs(losses[0] - losses[1]) > 1e-3, "the two should differ"


@pytest.mark.parametrize("clip", [0.1, 1e9])
def test_accumulated_updates_equal_plain_pytorch(clip):
    """Three updates of two batches and a last one of one; each the mean over all of its real tokens."""
    ours, plain = make().double(), make().double()
    train = batches(size=7)
    options = {"lr": 0.01, "schedule": constant, "clip": clip, "progress": False}
    history = fit(ours, train, batches(), epochs=1, accumulate=2, **options)
    small = list(train.epoch(0))
    groups = [small[start : start + 2] for start in range(0, len(small), 2)]
    assert [len(group) for group in groups] == [2, 2, 2, 1] and len(history.batch_losses) == 4
    assert any(group[0].tokens > 1.3 * group[1].tokens for group in groups[:3]), "their sizes should differ"
    optimizer = torch.optim.Adam(plain.parameters(), lr=0.01)
    for group, told in zip(groups, history.batch_losses, strict=True):
        logits, labels = [], []
        for batch in group:
            real = batch.target[:, 1:] != 0
            logits.append(plain(batch.source, batch.source_lens, batch.target[:, :-1])[real])
            labels.append(batch.target[:, 1:][real])
        optimizer.zero_grad()
        loss = F.cross_entropy(torch.cat(logits), torch.cat(labels))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(plain.parameters(), clip)
        optimizer.step()
        assert told == pytest.approx(loss.item(), abs=1e-6)
    for (name, left), right in zip(ours.named_parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(left, right, msg=name, atol=1e-9, rtol=0)


@pytest.mark.parametrize(("size", "accumulate"), [(16, 3), (5, 10), (47, 4)])
def test_an_accumulated_update_is_that_of_one_big_batch(size, accumulate):
    """Also where an update asks for more batches than there are, and where one batch has a single pair."""
    models = [make().double(), make().double()]
    options = {"epochs": 3, "lr": 0.01, "label_smoothing": 0.1, "progress": False}
    histories = [
        fit(models[0], batches(size=48), batches(), **options),
        fit(models[1], batches(size=size), batches(), accumulate=accumulate, **options),
    ]
    assert histories[0].batch_losses == pytest.approx(histories[1].batch_losses, abs=1e-6)
    assert histories[0].tokens == histories[1].tokens
    for (name, left), right in zip(models[0].named_parameters(), models[1].parameters(), strict=True):
        torch.testing.assert_close(left, right, msg=name, atol=1e-9, rtol=0)


def test_the_schedule_counts_updates_and_not_batches():
    asked = []
    fit(
        make(), batches(size=10), batches(), epochs=2, lr=0.01, accumulate=2, progress=False,
        schedule=lambda share: asked.append(share) or 1.0,
    )  # fmt: skip
    assert asked == pytest.approx([index / 6 for index in range(6)])  # 5 batches of an epoch: 2, 2, 1


@pytest.mark.slow
@pytest.mark.parametrize("teacher_forcing", [1.0, 0.5])
def test_bf16_trains_nearly_as_float32_and_keeps_the_weights(teacher_forcing):
    histories, dtypes = [], set()
    for precision in (None, "bf16"):
        model = make()
        forward = model.forward
        seen = model.decoder.dense.register_forward_hook(
            lambda layer, _, output: dtypes.add((precision, layer.training, output.dtype))  # noqa: B023
        )
        torch.manual_seed(1)
        histories.append(
            fit(
                model, batches(), batches(), epochs=12, lr=0.03, progress=False, precision=precision,
                teacher_forcing=lambda done: teacher_forcing,
            )
        )  # fmt: skip
        seen.remove()
        assert all(weight.dtype == torch.float32 and weight.isfinite().all() for weight in model.parameters())
        assert model.forward == forward, "the model computes in float32 again"
    full, low, f32 = *histories, torch.float32
    assert dtypes == {(None, True, f32), (None, False, f32), ("bf16", True, torch.bfloat16), ("bf16", False, f32)}
    assert low.batch_losses[0] == pytest.approx(full.batch_losses[0], abs=0.01)
    if teacher_forcing == 1.0:  # a token that the model likes best may be another one in bf16
        assert low.valid_losses == pytest.approx(full.valid_losses, abs=0.05)
    assert low.valid_losses[-1] < 0.9 * low.valid_losses[0]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_losses_are_added_up_in_float32(dtype):
    """In bfloat16 the sum of a thousand tokens would have two digits, and in float16 soon be infinite."""
    logits, labels = torch.randn(400, 90, 9), torch.randint(1, 9, (400, 90))
    low = logits.to(dtype)
    torch.testing.assert_close(token_loss(low, labels, 0), token_loss(low.double(), labels, 0).float())


def test_a_half_precision_model_adds_up_in_float32_too():
    """The loss in chunks adds up in the precision of the model."""
    model = transformer(9, 3000, TransformerConfig(8, 8, 2, 1)).bfloat16().eval()
    source, target = torch.randint(3, 9, (40, 3)), torch.randint(3, 3000, (40, 13))
    batch = Batch(source, torch.full((40,), 3), target, torch.full((40,), 13))
    logits = model(source, batch.source_lens, target[:, :-1])
    torch.testing.assert_close(batch_loss(model, batch, 0), token_loss(logits.float(), target[:, 1:], 0))


def test_labels_and_logits_that_do_not_fit_are_named(as_a_user):
    with pytest.raises(ValueError, match=r"logits \(2, 3, 5\) need one label a position, not \(3, 2\)"):
        token_loss(torch.randn(2, 3, 5), torch.ones(3, 2).long(), 0)
    with pytest.raises(TypeError, match=r"labels are whole numbers, not torch\.float32"):
        token_loss(torch.randn(2, 3, 5), torch.ones(2, 3), 0)


def test_a_device_without_bf16_is_said(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: including_emulation)
    for device in ("mps", "cuda"):
        with pytest.raises(ValueError, match=f"device {device} does not compute in bf16"):
            loop._check_precision("bf16", torch.device(device))


def test_the_model_goes_to_the_device_that_was_asked_for(monkeypatch):
    """`cuda:1` is not `cuda`, which is the first of several."""
    asked = []

    class Elsewhere(Exception):
        """No machine of the tests has this device."""

    def to(device):
        asked.append(device)
        raise Elsewhere

    model = make()
    model.to = to
    monkeypatch.setattr(loop, "best_device", lambda: torch.device("cuda:1"))
    with pytest.raises(Elsewhere):
        fit(model, batches(), batches(), epochs=1, lr=0.01, progress=False)
    assert asked == [torch.device("cuda:1")]


def test_a_progress_bar_unless_it_is_switched_off(monkeypatch, capfd):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)

    def printed(progress=True):
        fit(make(), batches(), batches(), epochs=1, lr=0.01, progress=progress)
        return capfd.readouterr().err

    monkeypatch.delenv("TQDM_DISABLE", raising=False)
    monkeypatch.delenv("SEQLEARN_THREADS", raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert "on cpu, 1 thread: " in printed() and printed(progress=False) == ""
    monkeypatch.setenv("TQDM_DISABLE", "1")
    assert printed() == ""


# What must not be trained with


def weights(model):
    return {name: weight.clone() for name, weight in model.state_dict().items()}


def same(model, before):
    return all(torch.equal(weight, before[name]) for name, weight in model.state_dict().items())


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"accumulate": 0}, ValueError, "accumulate is at least 1, not 0"),
        ({"label_smoothing": 1.0}, ValueError, "label_smoothing is from 0 to below 1, not 1.0"),
        ({"lr": -0.01}, ValueError, "lr is at least 0 and finite, not -0.01"),
        ({"clip": -1.0}, ValueError, "clip is above 0, not -1.0"),
        ({"clip": float("nan")}, ValueError, "clip is above 0, not nan"),
        ({"precision": "fp16"}, ValueError, "precision is None or \"bf16\", not 'fp16'"),
        ({"lr": float("inf")}, ValueError, "lr is at least 0 and finite, not inf"),
        ({"lr": "0.1"}, TypeError, r"lr is a number, not '0.1' \(str\)"),
        ({"clip": None}, TypeError, r"clip is a number, not None \(NoneType\)"),
        ({"schedule": "cosine"}, TypeError, "schedule is a function, see seqlearn.training.schedules, not 'cosine'"),
        ({"teacher_forcing": 0.5}, TypeError, "teacher_forcing is a function, see .*, not 0.5"),
        ({"accumulate": 1.5}, TypeError, r"accumulate is a whole number, not 1.5 \(float\)"),
        ({"epochs": "1"}, TypeError, r"epochs is a whole number, not '1' \(str\)"),
        ({"epochs": -1}, ValueError, "epochs is at least 0, not -1"),
        ({"schedule": lambda share: float("nan")}, ValueError, "factors of at least 0, not nan after 0.0% of training"),
        ({"schedule": lambda share: float("inf")}, ValueError, "factors of at least 0, not inf"),
        ({"schedule": lambda share: -1.0}, ValueError, "factors of at least 0, not -1.0"),
        ({"teacher_forcing": lambda share: float("nan")}, ValueError, "probabilities, from 0 to 1, not nan"),
        ({"teacher_forcing": lambda share: 1.5}, ValueError, "probabilities, from 0 to 1, not 1.5"),
        ({"teacher_forcing": lambda share: -0.5}, ValueError, "probabilities, from 0 to 1, not -0.5"),
    ],
)
def test_impossible_options_change_no_weight(options, error, message, as_a_user):
    model = make()
    before = weights(model)
    with pytest.raises(error, match=message):
        fit(model, batches(), batches(), **{"epochs": 1, "lr": 0.01, "progress": False, **options})
    assert same(model, before)


def test_a_schedule_that_fails_late_leaves_the_best_epoch():
    model, after = make(), []
    keep = [lambda model, history: after.append(weights(model))]
    schedule = lambda share: 1.0 if share < 0.5 else float("nan")  # noqa: E731
    with pytest.raises(ValueError, match=r"not nan after 50\.0% of training"):
        fit(model, batches(), batches(), epochs=2, lr=0.01, schedule=schedule, progress=False, after_epoch=keep)
    assert len(after) == 1 and same(model, after[0])


@pytest.mark.parametrize("lr", [3e38, 1e36])
def test_an_explosion_in_the_first_epoch_leaves_the_model_as_it_came(lr):
    model = make()
    before = weights(model)
    with pytest.raises(ValueError, match=r"of epoch 1 is (nan|inf).*try a lower learning rate"):
        fit(model, batches(size=8), batches(), epochs=2, lr=lr, progress=False)
    assert same(model, before)


class Spoilt(torch.autograd.Function):
    """Nothing on the way forward; infinity on the way back."""

    @staticmethod
    def forward(context, x):
        return x.view_as(x)

    @staticmethod
    def backward(context, gradient):
        return gradient * float("inf")


@pytest.mark.parametrize("every", [True, False])
def test_an_infinite_gradient_is_said_with_its_update(monkeypatch, every):
    """Whether every update is looked at, as on a CPU, or the last ones of an epoch together, as on a GPU."""
    model, calls = make(), iter(range(100))
    before, embed = weights(model), model.encoder.embedding.forward
    model.encoder.embedding.forward = lambda ids: Spoilt.apply(embed(ids)) if next(calls) == 3 else embed(ids)
    monkeypatch.setattr(loop, "READY", ("cpu",) if every else ())
    with pytest.raises(ValueError, match=r"norm of the gradient of epoch 1 is (inf|nan) at update 4 of 6, .* lower"):
        fit(model, batches(size=8), batches(), epochs=2, lr=0.01, progress=False)
    assert same(model, before)


@pytest.mark.parametrize(
    ("train", "valid"), [([], []), (batches(), []), ([], batches()), (None, batches()), (PAIRS, PAIRS)]
)
def test_fit_takes_batches(train, valid, as_a_user):
    with pytest.raises(
        TypeError, match=r"fit takes a torch\.nn\.Module, Batches to train on and Batches to choose with"
    ):
        fit(make(), train, valid, epochs=1, lr=0.01)


@pytest.mark.parametrize(("size", "error"), [(0, ValueError), (-3, ValueError), ("16", TypeError), (2.5, TypeError)])
def test_a_batch_holds_a_pair_at_least(size, error, as_a_user):
    with pytest.raises(error, match="batch_size is "):
        batches(size=size)


def test_a_history_is_shown_in_a_line():
    history = fit(make(), batches(), batches(), epochs=2, lr=0.01, progress=False)
    assert repr(history) == f"History(2 epochs, best 2: valid {history.valid_losses[1]:.3f})"
    assert repr(History(valid_losses=[0.5, 0.25, 0.75], interrupted=True)) == (
        "History(3 epochs, best 2: valid 0.250, interrupted)"
    )
    assert repr(History()) == "History(0 epochs)"
