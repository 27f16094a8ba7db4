"""Reading attention: maps made into one, what heads look at, and edits."""

import pytest
import torch

from seqlearn.analysis.attention_map import AttentionMap, stack_layers
from seqlearn.analysis.edits import ablate, edit_heads, in_heads, permuted, reweighted, uniform
from seqlearn.analysis.measures import (
    choice_accuracy,
    hit_rate,
    link_errors,
    mean_over_heads,
    rollout,
    source_part,
)
from seqlearn.analysis.metrics import alignment_error_rate
from seqlearn.nn.attention import DotProductAttention, MultiHeadAttention
from seqlearn.nn.patching import patch
from seqlearn.nn.recording import edit_attention, record_attention
from seqlearn.translator.translator import Translator


def a_map(*weights, kind="encoder", mask=None):
    """A map of made-up tokens: `weights` for each layer and head."""
    weights = torch.tensor(weights)
    tokens = [f"t{place}" for place in range(weights.shape[-1])]
    return AttentionMap(weights, tokens[: weights.shape[-2]], tokens, kind, mask)


# ---- One map out of many ----


def test_the_average_by_hand():
    attention = a_map([[[1.0, 0.0], [0.0, 1.0]], [[0.5, 0.5], [0.5, 0.5]]], [[[0.0, 1.0], [1.0, 0.0]]] * 2)
    assert mean_over_heads(attention).weights.tolist() == [[[[0.375, 0.625], [0.625, 0.375]]]]


def test_rollout_by_hand():
    """(A2 + I) / 2 (A1 + I) / 2, written out for two tokens; the other order gives something else."""
    attention = a_map([[[0.0, 1.0], [0.0, 1.0]]], [[[1.0, 0.0], [0.5, 0.5]]])
    assert rollout(attention).weights[0, 0].tolist() == [[0.5, 0.5], [0.125, 0.875]]


def test_rollout_of_equal_tokens_and_of_tokens_that_see_nothing():
    same = torch.eye(3).expand(4, 2, 3, 3)
    tokens = ["a", "b", "c"]
    assert torch.equal(rollout(AttentionMap(same, tokens, tokens, "encoder")).weights[0, 0], torch.eye(3))
    mask = torch.tensor([[True, True, False], [True, True, False], [False, False, False]])
    weights = torch.tensor([[0.5, 0.5, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]]).expand(2, 1, 3, 3)
    blind = rollout(AttentionMap(weights, tokens, tokens, "encoder", mask))
    assert blind.weights[0, 0, 2].tolist() == [0.0, 0.0, 1.0] and bool(blind.mask[2, 2])


@pytest.mark.parametrize("kind", ["cross", "kernel"])
def test_rollout_is_for_self_attention(kind, as_a_user):
    with pytest.raises(ValueError, match=f"this is {kind} attention"):
        rollout(a_map([[[0.5, 0.5], [0.5, 0.5]]], kind=kind))
    with pytest.raises(ValueError, match="the same tokens as rows and columns; these are 1 and 2"):
        rollout(a_map([[[0.5, 0.5]]], kind="causal"))


# ---- What a head looks at ----


def test_hit_rate_by_hand():
    one = a_map([[[0.7, 0.2, 0.1], [0.1, 0.2, 0.7]], [[0.2, 0.5, 0.3], [0.6, 0.2, 0.2]]])
    two = a_map([[[0.0, 1.0], [1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]]])
    places = [[(0, [0]), (1, [0, 2])], [(1, [0])]]
    assert hit_rate([one, two], places).tolist() == [[1.0, pytest.approx(1 / 3)]]
    assert hit_rate([one, two], [[], [(0, [0])]]).tolist() == [[0.0, 1.0]]


def test_choice_accuracy_adds_up_each_candidate():
    """Head 0: 0.3 + 0.3 beats 0.4. Head 1: 0.5 is the largest."""
    attention = a_map([[[0.3, 0.3, 0.4]], [[0.25, 0.0, 0.75]]])
    assert choice_accuracy([attention], [(0, [[2], [0, 1]], 1)]).tolist() == [[1.0, 0.0]]
    assert choice_accuracy([attention] * 2, [(0, [[2], [0, 1]], 1), (0, [[0], [2]], 1)]).tolist() == [[1.0, 0.5]]


def test_who_looks_nowhere_or_everywhere_alike_has_chosen_nothing():
    alike, nowhere = a_map([[[0.5, 0.5]]]), a_map([[[0.0, 0.0]]], mask=torch.zeros(1, 2, dtype=torch.bool))
    for attention in (alike, nowhere):
        assert [choice_accuracy([attention], [(0, [[0], [1]], right)]).item() for right in (0, 1)] == [0, 0]
    assert choice_accuracy([nowhere], [(0, [[0]], 0)]).item() == 0, "without weight, no choice of one is right either"
    assert hit_rate([nowhere], [[(0, [0])]]).item() == hit_rate([alike], [[(0, [0])]]).item() == 0
    assert hit_rate([alike], [[(0, [0, 1])]]).item() == 1, "whichever is the largest, it is wanted"
    three = a_map([[[1 / 3] * 3] * 3], kind="cross")
    assert link_errors([three], [{(0, 0), (0, 1)}]).item() == 1, "as of a head that looks nowhere"


def test_measures_agree_with_loops_over_plain_numbers():
    generator = torch.Generator().manual_seed(0)
    maps = [a_map(*torch.rand(2, 3, n, n, generator=generator).softmax(-1).tolist(), kind="cross") for n in (3, 5)]
    rows = [[(row, [row, row - 1]) for row in range(1, n)] for n in (3, 5)]
    gold = [[(0, 0), (1, 1)], [(2, 0), (1, 3), (3, 2), (0, 1)]]
    shares, errors = hit_rate(maps, rows), link_errors(maps, gold)
    for layer in range(2):
        for head in range(3):
            hits, links = [], []
            for attention, wanted in zip(maps, rows, strict=True):
                table = attention.weights[layer, head].tolist()
                hits += [max(range(len(table)), key=table[row].__getitem__) in columns for row, columns in wanted]
                words = range(len(table) - 1)  # without <eos>
                links.append({(max(words, key=table[row].__getitem__), row) for row in words})
            assert float(shares[layer, head]) == pytest.approx(sum(hits) / len(hits))
            assert float(errors[layer, head]) == pytest.approx(alignment_error_rate(links, gold))


def test_the_source_in_the_map_of_a_decoder_only_model_by_hand():
    """Source x y, target u: the rows of <bos> and u write u and <eos>; the columns are x, y and <eos>."""
    rows = [[1, 0, 0, 0, 0], [0.5, 0.5, 0, 0, 0], [0, 0, 1, 0, 0], [0.1, 0.2, 0.3, 0.4, 0], [0.0, 0.1, 0.2, 0.3, 0.4]]
    tokens = ["x", "y", "<eos>", "<bos>", "u"]
    attention = AttentionMap(torch.tensor(rows), tokens, tokens, "causal", torch.ones(5, 5).tril().bool(), prompt=3)
    assert mean_over_heads(attention).prompt == rollout(attention).prompt == 3
    expected = torch.tensor([[0.1, 0.2, 0.3], [0.0, 0.1, 0.2]])
    assert torch.equal(source_part(attention)[0, 0], expected)
    assert link_errors([attention], [[(1, 0)]]).tolist() == [[0.0]] != link_errors([attention], [[(0, 0)]]).tolist()
    cross = a_map([[[0.5, 0.5], [1.0, 0.0]]], kind="cross")
    assert torch.equal(source_part(cross), cross.weights)
    for wrong in (a_map([[[1.0]]]), AttentionMap(torch.ones(1, 1), ["<bos>"], ["<bos>"], "causal")):
        with pytest.raises(ValueError, match=f"this map of {wrong.kind} attention does not show how the target looks"):
            source_part(wrong)


def test_measures_say_what_is_missing():
    attention = a_map([[[1.0]]])
    with pytest.raises(ValueError, match="1 maps cannot be compared with 2 answers"):
        hit_rate([attention], [[], []])
    with pytest.raises(ValueError, match="no row to look at"):
        hit_rate([attention], [[]])
    for measure in (hit_rate, choice_accuracy, link_errors):
        with pytest.raises(ValueError, match="0 maps"):
            measure([], [])


TWO = a_map([[[0.5, 0.5], [1.0, 0.0]]])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: hit_rate([TWO], [[(0, [-1])]]), "column is from 0 to 1, not -1"),
        (lambda: hit_rate([TWO], [[(0, [99])]]), "column is from 0 to 1, not 99"),
        (lambda: hit_rate([TWO], [[(-1, [0])]]), "row is from 0 to 1, not -1"),
        (lambda: choice_accuracy([TWO], [(0, [[0], [1]], -1)]), "the right candidate is from 0 to 1, not -1"),
        (lambda: choice_accuracy([TWO], [(0, [[0], [2]], 0)]), "column is from 0 to 1, not 2"),
        (lambda: reweighted(-1, 0, 0.5), "row is at least 0, not -1"),
        (lambda: reweighted(0, -1, 0.5), "column is at least 0, not -1"),
        (lambda: reweighted(0, 0, float("nan")), "a weight is from 0 to 1, not nan"),
        (lambda: reweighted(0, 0, 2), "a weight is from 0 to 1, not 2"),
        (lambda: in_heads(ablate, -1), "head is at least 0, not -1"),
        (lambda: seen(in_heads(ablate, 3)), "head is from 0 to 2, not 3"),
        (lambda: stack_layers([torch.ones(2, 1, 1, 1)], -1), "sentence is from 0 to 1, not -1"),
        (lambda: patch(MultiHeadAttention(4, 2), {}, [-1]).__enter__(), "row is at least 0, not -1"),
    ],
)
def test_an_index_that_is_not_there_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_column_that_is_named_twice_counts_once():
    attention = a_map([[[0.4, 0.6], [1.0, 0.0]]])
    assert choice_accuracy([attention], [(0, [[0, 0], [1]], 0)]).item() == 0


# ---- Edits ----


def seen(edit, causal=True):
    """The weights that a layer of 3 heads uses under this edit, and its own ones: `(2, 3, 5, 5)`; padding in one."""
    torch.manual_seed(0)
    layer, x = MultiHeadAttention(12, 3).eval(), torch.randn(2, 5, 12)
    with record_attention(layer) as record:
        layer(x, x, x, torch.tensor([5, 3]), causal=causal)
        with edit_attention(layer, {"": edit}):
            layer(x, x, x, torch.tensor([5, 3]), causal=causal)
    return record[""][1], record[""][0]


def test_ablate_and_uniform():
    assert (seen(ablate)[0] == 0).all()
    weights, own = seen(uniform)
    assert torch.equal(weights > 0, own > 0)
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 3, 5))
    assert weights[0, 0, 3].tolist() == [0.25] * 4 + [0.0]
    assert weights[1, 2, 4].tolist() == pytest.approx([1 / 3] * 3 + [0.0] * 2)


def test_uniform_leaves_a_row_that_may_see_nothing_empty():
    weights = uniform(torch.zeros(1, 1, 2, 2), torch.tensor([[[[False, False], [True, True]]]]))
    assert weights.tolist() == [[[[0.0, 0.0], [0.5, 0.5]]]]


def test_permuted_hands_out_the_same_weights_elsewhere():
    weights, own = seen(permuted(seed=3), causal=False)
    assert torch.equal(weights > 0, own > 0)
    assert torch.equal(weights.sort(-1).values, own.sort(-1).values)
    moved = (weights != own).any(-1).float().mean()
    assert moved > 0.5
    assert torch.equal(seen(permuted(seed=3), causal=False)[0], weights)
    assert not torch.equal(seen(permuted(seed=4), causal=False)[0], weights)


def test_permuted_among_holes():
    weights, may = torch.tensor([0.0, 0.9, 0.0, 0.1]), torch.tensor([False, True, False, True])
    seen_orders = {
        tuple(permuted(seed)(weights[None, None, None], may[None, None, None]).tolist()[0][0][0]) for seed in range(20)
    }
    assert seen_orders == {tuple(weights.tolist()), tuple(weights[[0, 3, 2, 1]].tolist())}


def test_every_order_comes_out_about_equally_often():
    weights = torch.tensor([0.7, 0.2, 0.1, 0.0]).expand(3000, 1, 1, 4)
    may = torch.tensor([True, True, True, False]).expand(3000, 1, 1, 4)
    orders, counts = permuted(seed=0)(weights, may).flatten(0, 2).unique(dim=0, return_counts=True)
    assert len(orders) == 6 and counts.min() > 400 and (orders[:, 3] == 0).all()


def test_in_heads_needs_heads():
    layer, x = DotProductAttention(), torch.ones(1, 3, 4)
    with edit_attention(layer, {"": in_heads(ablate, 0)}), pytest.raises(ValueError, match="no heads to choose from"):
        layer(x, x, x)


def test_heads_of_a_model_are_edited_by_kind_layer_and_head():
    translator = Translator.pretrained("transformer", "cpu")
    sentence = "The girl sleeps."
    with edit_heads(translator.model, [("cross", 1, 0), ("cross", 1, 2), ("encoder", 0, 3)]):
        silent = {
            (kind, *at)
            for kind in ("encoder", "causal", "cross")
            for at in (~translator.attend(sentence, "La fille dort.", kind).weights.flatten(2).any(-1))
            .nonzero()
            .tolist()
        }
    assert silent == {("cross", 1, 0), ("cross", 1, 2), ("encoder", 0, 3)}
    with pytest.raises(IndexError):
        edit_heads(translator.model, [("cross", 2, 0)])


def test_in_heads_leaves_the_others_alone():
    weights, own = seen(in_heads(ablate, 0, 2))
    assert (weights[:, [0, 2]] == 0).all() and torch.equal(weights[:, 1], own[:, 1])
    given = torch.ones(1, 3, 2, 2)
    in_heads(ablate, 1)(given, given.bool())
    assert (given == 1).all()
