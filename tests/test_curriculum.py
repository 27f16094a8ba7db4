"""What each epoch of a curriculum holds, and its rates."""

from collections import Counter
from itertools import pairwise
from unittest import mock

import pytest
import torch

from seqlearn.data.batches import Batches
from seqlearn.data.pairs import Pair
from seqlearn.data.text import Language
from seqlearn.nn.seq2seq import BahdanauConfig, bahdanau
from seqlearn.training.checkpoints import Checkpoints
from seqlearn.training.loop import Training, fit

# 60 different pairs; their longer side has 1 to 5 tokens, sometimes the source and sometimes the target.
LINES = [" ".join(f"w{(number + place) % 60}" for place in range(1 + number % 5)) for number in range(60)]
PAIRS = [Pair(line, f"w{number}") if number % 2 else Pair(f"w{number}", line) for number, line in enumerate(LINES)]
LANGUAGE = Language.learn("", LINES)
STAGES = [(1, 1, 1.0), (2, 3, 0.5), (1, None, 0.25)]


@pytest.fixture
def curriculum(import_benchmark):
    module = import_benchmark("curriculum")

    def make(stages=STAGES, seed=0, size=8):
        return module.Curriculum(
            PAIRS, LANGUAGE, LANGUAGE, [module.Stage(*each) for each in stages], batch_size=size, seed=seed
        )

    return make


def read(epoch):
    """The pairs of an epoch, as the ids of their real tokens."""
    sides = ((batch.source, batch.source_lens, batch.target, batch.target_lens) for batch in epoch)
    return [
        (tuple(source[:n].tolist()), tuple(target[:m].tolist()))
        for sources, source_lens, targets, target_lens in sides
        for source, n, target, m in zip(sources, source_lens, targets, target_lens, strict=True)
    ]


def longest(pair):
    return max(len(pair.source.split()), len(pair.target.split()))


def as_ids(pair):
    vocab = LANGUAGE.vocab
    return tuple(LANGUAGE.encode(pair.source)), (vocab.bos, *LANGUAGE.encode(pair.target))


@pytest.mark.parametrize(("epoch", "limit"), [(0, 1), (1, 3), (2, 3), (3, 5)])
def test_an_epoch_holds_the_pairs_of_its_stage_equally_often(curriculum, epoch, limit):
    lessons = curriculum()
    batches = list(lessons.epoch(epoch))
    assert len(batches) == len(lessons) == 8  # 60 pairs by 8, in every stage
    counts = Counter(read(batches))
    assert set(counts) <= {as_ids(pair) for pair in PAIRS if longest(pair) <= limit}, "a pair above the limit"
    pairs = sum(longest(pair) <= limit for pair in PAIRS)
    whole = 8 // -(-pairs // 8)  # how often the stage's batches fit into an epoch
    assert set(counts.values()) <= {whole, whole + 1}
    assert limit < 5 or (len(counts) == 60 and set(counts.values()) == {1}), "the last stage shows each pair once"


def test_the_same_again_and_a_new_order_each_time(curriculum):
    first = read(curriculum().epoch(0))
    assert first == read(curriculum().epoch(0)) and first != read(curriculum(seed=1).epoch(0))
    assert read(curriculum().epoch(1)) != read(curriculum().epoch(2))
    lessons = curriculum(size=4)  # stage 1: 12 pairs, 3 batches, 5 times
    passes = [read(list(lessons.epoch(0))[start : start + 3]) for start in (0, 3, 6)]
    assert all(sorted(left) == sorted(right) and left != right for left, right in pairwise(passes))


def test_stages_without_a_limit_are_plain_training(curriculum):
    """The control of an experiment: the rates of a curriculum, and the batches of none."""
    plain = Batches(PAIRS, LANGUAGE, LANGUAGE, 8, seed=3)
    free = curriculum([(1,), (2, None, 0.5)], seed=3)
    models = []
    for train, schedule in ((plain, lambda done: 1.0 if done < 1 / 3 else 0.5), (free, free.rate)):
        torch.manual_seed(0)
        models.append(bahdanau(len(LANGUAGE.vocab), len(LANGUAGE.vocab), BahdanauConfig(embed_size=4, num_hiddens=4)))
        fit(models[-1], train, plain, epochs=3, lr=0.01, schedule=schedule, progress=False)
    for left, right in zip(*(model.parameters() for model in models), strict=True):
        assert torch.equal(left, right)


@pytest.mark.parametrize("epochs", [(1, 1), (1, 2, 4), (3, 7, 1), (49, 1, 5, 2)])
def test_the_rate_changes_with_the_first_update_of_a_stage(curriculum, epochs):
    lessons = curriculum([(count, None, 1 / (place + 1)) for place, count in enumerate(epochs)])
    expected = [1 / (place + 1) for place, count in enumerate(epochs) for _ in range(count)]
    for updates in (1, 3, 49, 437):  # of an epoch; these shares of training are not round numbers
        total = updates * lessons.epochs
        found = [lessons.rate(step / total) for step in range(total)]
        assert found == [rate for rate in expected for _ in range(updates)]
    assert lessons.rate(1.0) == expected[-1]


def test_bad_stages_are_said(curriculum):
    for stages in ([], [(0,)], [(1, None, 0.0)]):
        with pytest.raises(ValueError, match="at least one epoch, at a rate above 0, not"):
            curriculum(stages)
    with pytest.raises(ValueError, match="all 60 are longer than 0 tokens"):
        curriculum([(1, 0), (1,)])
    with pytest.raises(ValueError, match="has 4 epochs; there is no epoch 5"):
        curriculum().epoch(4)


def test_the_fingerprint_is_that_of_stages_batches_and_order(curriculum):
    swapped, longer = [STAGES[0], STAGES[2], STAGES[1]], [STAGES[0], (3, 3, 0.5), STAGES[2]]
    changes = [{}, {"stages": swapped}, {"stages": longer}, {"stages": STAGES[:2]}, {"seed": 1}, {"size": 9}]
    prints = [curriculum(**change).fingerprint() for change in changes]
    assert len(set(prints)) == len(changes) and curriculum().fingerprint() == prints[0]


@pytest.mark.slow
def test_a_curriculum_goes_on_after_a_crash(curriculum, tmp_path):
    class Killed(Exception):
        pass

    def train(folder, dies=False):
        torch.manual_seed(0)
        model = bahdanau(len(LANGUAGE.vocab), len(LANGUAGE.vocab), BahdanauConfig(embed_size=4, num_hiddens=4))
        lessons, checkpoints = curriculum(), Checkpoints(tmp_path / folder, every_updates=1)
        update, calls = Training.update, []

        def mortal(*args):
            calls.append(args)
            if dies and len(calls) > 11:
                raise Killed
            return update(*args)

        with mock.patch.object(Training, "update", mortal):
            fit(model, lessons, Batches(PAIRS, LANGUAGE, LANGUAGE), epochs=4, lr=0.01, checkpoints=checkpoints,
                progress=False)  # fmt: skip
        return model.state_dict()

    expected = train("whole")
    with pytest.raises(Killed):
        train("broken", dies=True)
    found = train("broken")
    assert all(torch.equal(found[name], expected[name]) for name in expected)
