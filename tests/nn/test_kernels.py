"""Kernel regression: hand examples, properties, parity with slow loops."""

import math

import pytest
import torch
from hypothesis import given, strategies as st

from seqlearn.nn.kernels import KERNELS, KernelRegression, kernel
from seqlearn.nn.recording import record_attention

BY_HAND = {
    "gaussian": lambda u: math.exp(-u * u / 2),
    "boxcar": lambda u: 1.0 if abs(u) < 1 else 0.0,
    "epanechnikov": lambda u: max(0.0, 1 - u * u),
    "triangular": lambda u: max(0.0, 1 - abs(u)),
    "constant": lambda u: 1.0,
}


def test_every_kernel_has_its_formula_and_is_even():
    assert set(BY_HAND) == set(KERNELS)
    u = torch.linspace(-3, 3, 25, dtype=torch.float64)
    for name in KERNELS:
        expected = torch.tensor([BY_HAND[name](float(x)) for x in u], dtype=torch.float64)
        torch.testing.assert_close(kernel(name, u), expected)
        torch.testing.assert_close(kernel(name, -u), kernel(name, u))


def test_by_hand():
    """A query at 0, keys at 0 and 0.5: the triangle gives them 1 and 1/2, so weights 2/3 and 1/3."""
    layer = KernelRegression("triangular")
    queries, keys, values = torch.tensor([0.0, 9.0]), torch.tensor([0.0, 0.5]), torch.tensor([3.0, 6.0])
    torch.testing.assert_close(layer.weights(queries, keys), torch.tensor([[2 / 3, 1 / 3], [0.0, 0.0]]))
    torch.testing.assert_close(layer(queries, keys, values), torch.tensor([4.0, 0.0]))  # no key near 9


@given(
    name=st.sampled_from(KERNELS), width=st.floats(0.1, 5), batch=st.integers(0, 2), masked=st.booleans(),
    queries=st.integers(1, 4), keys=st.integers(1, 5), seed=st.integers(0, 999),
)  # fmt: skip
def test_equals_the_formula_in_a_loop(name, width, batch, masked, queries, keys, seed):
    torch.manual_seed(seed)
    lead = (batch,) if batch else ()
    q, k, v = (2 * torch.randn(*lead, n, dtype=torch.float64) for n in (queries, keys, keys))
    mask = torch.rand(queries, keys) < 0.7 if masked else None
    layer = KernelRegression(name, width).double()
    given = mask if mask is None or not batch else mask[None]
    found, weights = layer(q, k, v, given), layer.weights(q, k, given)
    width = layer.width.item()  # as float32 has it
    for place in [(b,) for b in range(batch)] or [()]:
        for i in range(queries):
            alike = [
                BY_HAND[name](float(q[place][i] - k[place][j]) / width) * (1 if mask is None else float(mask[i, j]))
                for j in range(keys)
            ]
            total = sum(alike)
            kept = mask is None or bool(mask[i].any())
            if name == "gaussian" and kept and total < 1e-200:  # too small for the plain formula
                continue
            expected = sum(a * float(y) for a, y in zip(alike, v[place], strict=True)) / (total or 1)
            assert float(found[place][i]) == pytest.approx(expected, abs=1e-8)
            assert float(weights[place][i].sum()) == pytest.approx(1.0 if total else 0.0)


def test_the_gaussian_is_a_softmax_of_squared_distances():
    queries, keys = torch.randn(5), torch.randn(7)
    scores = -(((queries[:, None] - keys[None, :]) / 0.5) ** 2) / 2
    torch.testing.assert_close(KernelRegression("gaussian", width=0.5).weights(queries, keys), scores.softmax(-1))


def test_a_query_far_from_all_keys_still_has_a_nearest_one():
    """exp(-u^2 / 2) is 0 in float32 from u = 15 on: the plain formula would be 0 / 0."""
    weights = KernelRegression("gaussian").weights(torch.tensor([100.0]), torch.tensor([0.0, 1.0]))
    torch.testing.assert_close(weights, torch.tensor([[0.0, 1.0]]))


def test_a_constant_kernel_is_average_pooling():
    values = torch.tensor([1.0, 2.0, 6.0])
    found = KernelRegression("constant")(torch.tensor([-5.0, 7.0]), torch.zeros(3), values)
    torch.testing.assert_close(found, torch.tensor([3.0, 3.0]))


def test_the_width_is_learned_only_on_request_and_fits():
    torch.manual_seed(0)
    keys = torch.linspace(0, 5, 40)
    values = torch.sin(2 * keys)
    others = ~torch.eye(40, dtype=torch.bool)
    fixed = KernelRegression(width=2.0)
    assert fixed.width.item() == pytest.approx(2.0) and not any(p.requires_grad for p in fixed.parameters())
    layer = KernelRegression(width=2.0, learned=True)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.5)
    losses = []
    for _ in range(50):
        loss = ((layer(keys, keys, values, others) - values) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 5 and 0 < layer.width.item() < 1


def test_weights_are_recorded_on_request():
    layer = KernelRegression()
    with record_attention(layer) as record:
        layer(torch.zeros(2), torch.zeros(3), torch.ones(3))
    layer(torch.zeros(2), torch.zeros(3), torch.ones(3))
    assert [tuple(weights.shape) for weights in record[""]] == [(2, 3)] and layer.record is None


def test_gradients_and_arguments():
    for name in ("gaussian", "epanechnikov", "triangular"):
        layer = KernelRegression(name, 3.0, learned=True).double()
        tensors = [torch.randn(n, dtype=torch.float64, requires_grad=True) for n in (3, 4, 4)]
        copies = [tensor.detach().clone() for tensor in tensors]
        assert torch.autograd.gradcheck(layer, tensors)
        assert all(torch.equal(tensor, copy) for tensor, copy in zip(tensors, copies, strict=True))


def test_a_learned_width_stays_above_zero():
    """Looking at itself, a point wants the width 0: a step of any size must not carry it across."""
    layer = KernelRegression(width=0.5, learned=True)
    keys, values = torch.arange(5.0), torch.tensor([1.0, -1.0, 1.0, -1.0, 1.0])
    optimizer = torch.optim.SGD(layer.parameters(), lr=5.0)
    for _ in range(20):
        optimizer.zero_grad()
        ((layer(keys, keys, values) - values) ** 2).mean().backward()
        optimizer.step()
    assert 0 < layer.width.item() < 0.5 and layer(keys, keys, values).isfinite().all()


@pytest.mark.parametrize("kernel", ["boxcar", "constant"])
def test_flat_kernels_have_nothing_to_learn_from(kernel):
    with pytest.raises(ValueError, match=f"a {kernel} kernel is flat"):
        KernelRegression(kernel, learned=True)


@pytest.mark.parametrize(
    ("arguments", "message"), [(("square",), "'square'"), (("gaussian", 0.0), "0.0"), (("gaussian", -1.0), "-1.0")]
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        KernelRegression(*arguments)
    if arguments[0] not in KERNELS:
        with pytest.raises(ValueError, match=message):
            kernel(arguments[0], torch.zeros(1))


@pytest.mark.parametrize("name", ["boxcar", "epanechnikov", "triangular"])
def test_a_broken_value_out_of_reach_does_not_matter(name):
    keys, values = torch.tensor([0.0, 9.0]), torch.tensor([math.nan, 4.0], requires_grad=True)
    answer = KernelRegression(name, 1.0)(keys, keys, values)
    assert answer[0].isnan() and answer[1] == 4
    answer[1].backward()
    assert values.grad.tolist() == [0, 1]


@pytest.mark.parametrize("name", KERNELS[:-1])
def test_nan_is_near_to_nothing_and_far_from_nothing(name):
    """The constant kernel asks no distance."""
    keys = torch.tensor([0.0, 9.0])
    assert KernelRegression(name)(torch.tensor([math.nan, 0.0]), keys, keys + 1).isnan().tolist() == [True, False]
    assert KernelRegression(name)(keys, torch.tensor([0.0, math.nan]), keys + 1).isnan().all()
