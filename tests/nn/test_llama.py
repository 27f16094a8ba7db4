"""Our decoder-only model has the logits of a tiny random Llama of Hugging Face, and writes the same tokens."""

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from seqlearn.nn.llama import from_llama, neighbours
from seqlearn.search.sampling import greedy_search

SIZES = {
    "vocab_size": 50,
    "hidden_size": 32,
    "intermediate_size": 40,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
}


def llama(**options):
    torch.manual_seed(0)
    theirs = LlamaForCausalLM(LlamaConfig(**{**SIZES, **options})).eval()
    for name, weight in theirs.named_parameters():  # large weights and gains that are not 1, so that a mistake shows
        torch.nn.init.normal_(weight, mean=float("norm" in name), std=0.3)
    return theirs


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"num_key_value_heads": 4},
        {"num_key_value_heads": 1, "rms_norm_eps": 0.5},
        {"tie_word_embeddings": True},
        {"rope_parameters": {"rope_theta": 500.0, "rope_type": "default"}},
    ],
    ids=["grouped", "multi-head", "multi-query", "tied", "base"],
)
def test_the_logits_of_a_llama(options):
    """Texts of several lengths in one batch, cut anywhere into source and target."""
    theirs = llama(**options)
    ours = from_llama(theirs)
    texts = torch.randint(0, 50, (3, 12))
    lengths = torch.tensor([5, 7, 1])
    source = torch.where(torch.arange(7) < lengths.unsqueeze(1), texts[:, :7], 0)
    tokens = torch.stack([text[length : length + 5] for text, length in zip(texts, lengths, strict=True)])
    with torch.no_grad():
        logits = ours(source, lengths, tokens)
        for row, length in enumerate(lengths):
            expected = theirs(texts[row : row + 1, : length + 5]).logits[0, length:]
            torch.testing.assert_close(logits[row], expected, atol=1e-4, rtol=0)
            assert expected.std() > 1, "so small logits would prove nothing"
    count = sum(weight.numel() for weight in ours.parameters()) - 50  # without the bias of our output layer
    tied = 50 * 32 if options.get("tie_word_embeddings") else 0
    assert count == sum(weight.numel() for weight in theirs.parameters()) + tied


def test_the_base_may_be_given():
    """For a configuration that does not say it."""
    theirs = llama(rope_parameters={"rope_theta": 500.0, "rope_type": "default"})
    text, length = torch.randint(0, 50, (1, 9)), torch.tensor([4])
    with torch.no_grad():
        expected = theirs(text).logits[:, 4:]
        theirs.config.rope_parameters = None
        given, without = (from_llama(theirs, base)(text[:, :4], length, text[:, 4:]) for base in (500, None))
    torch.testing.assert_close(given, expected, atol=1e-4, rtol=0)
    assert (without - expected).abs().max() > 0.01


def test_the_tokens_that_a_llama_writes():
    """Greedy search goes on as `generate` does; the last token of the prompt plays the part of <bos>."""
    theirs = llama()
    prompt = torch.randint(3, 50, (1, 6))
    written = theirs.generate(prompt, do_sample=False, max_new_tokens=20, eos_token_id=2, pad_token_id=0)[0, 6:]
    (found,) = greedy_search(
        from_llama(theirs), prompt[:, :-1], torch.tensor([5]), bos=int(prompt[0, -1]), eos=2, max_length=20
    )
    assert [*found.tokens, *[2] * found.finished] == written.tolist()
    assert len(set(found.tokens)) > 3, "always the same token would prove little"


def test_their_pairs_become_neighbours():
    rows = torch.arange(12.0).unsqueeze(1)  # two heads of size 6
    assert neighbours(rows, 6).flatten().tolist() == [0, 3, 1, 4, 2, 5, 6, 9, 7, 10, 8, 11]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"hidden_act": "gelu"}, "the activation of this model is gelu; our model has silu"),
        ({"rope_parameters": {"rope_theta": 1e4, "rope_type": "linear", "factor": 2.0}}, "is linear; our model has de"),
        ({"head_dim": 16}, "the size of a head of this model is 16; our model has 8"),
        ({"attention_bias": True}, "our model has no place for model.layers.0.self_attn.q_proj.bias"),
        ({"mlp_bias": True}, "our model has no place for model.layers.0.mlp.gate_proj.bias"),
    ],
)
def test_a_llama_of_another_kind_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        from_llama(llama(**options))
