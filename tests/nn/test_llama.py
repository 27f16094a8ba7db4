"""Our decoder-only model has the logits of a tiny random Llama of Hugging Face, and writes the same tokens."""

from types import SimpleNamespace

import pytest
import torch
import transformers
import yaml
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
        ({"is_causal": False}, "the setting is_causal of this model is False; our model has True"),
    ],
)
def test_a_llama_of_another_kind_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        from_llama(llama(**options))


LIKE = "the family of this model is {}; our model has llama, mistral, ministral, seed_oss"
FAMILIES = """
Llama | | equal
Llama | tie_word_embeddings: true | equal
Llama | pretraining_tp: 2 | equal
Llama | rope_parameters: {rope_type: llama3, factor: 8.0, low_freq_factor: 1.0, high_freq_factor: 4.0} | is llama3
Llama | rope_parameters: {rope_type: linear, rope_theta: 1.0e+4, factor: 2.0} | rotary positions of this model is linear
Llama | attention_bias: true | no place for model.layers.0.self_attn.q_proj.bias
Llama | mlp_bias: true | no place for model.layers.0.mlp.gate_proj.bias
Llama | head_dim: 8 | the size of a head of this model is 8; our model has 4
Mistral | sliding_window: 4 | the sliding window of this model is 4; our model has none
Mistral | sliding_window: null | equal
Ministral | sliding_window: 4 | the sliding window of this model is 4; our model has none
SeedOss | attention_bias: false | equal
Granite | {embedding_multiplier: 12.0, residual_multiplier: 0.22, logits_scaling: 8.0} | the family
"""  # of ../shared/facts/families.md; with those below, 34 configurations
OTHERS = """SmolLM3 Qwen2 Qwen3 Gemma Gemma2 Phi3 Olmo Olmo2 StableLm Starcoder2 Helium Cohere Arcee Exaone4 Apertus
HunYuanDenseV1 Ernie4_5 Nemotron VaultGemma Jais2 Youtu"""


@pytest.mark.parametrize(
    "line", [*FAMILIES.strip().splitlines(), *(f"{name} | | the family" for name in OTHERS.split())]
)
def test_a_family_has_equal_logits_or_is_refused_by_name(line):
    family, options, expected = (part.strip() for part in line.split("|"))
    sizes = SIZES | {"hidden_size": 16, "num_hidden_layers": 2, "head_dim": 4, "pad_token_id": 0}
    options = yaml.safe_load(options if ":" not in options or options[0] == "{" else f"{{{options}}}") or {}
    torch.manual_seed(0)
    config = getattr(transformers, f"{family}Config")(**sizes | options)
    theirs = getattr(transformers, f"{family}ForCausalLM")(config).eval().requires_grad_(False)
    for name, weight in theirs.named_parameters():
        torch.nn.init.normal_(weight, mean=float("norm" in name), std=0.3)
    if expected != "equal":
        with pytest.raises(ValueError, match=LIKE.format(config.model_type) if "family" in expected else expected):
            from_llama(theirs)
        return
    text = torch.randint(0, 50, (2, 20))
    found, wanted = from_llama(theirs)(text[:, :8], torch.tensor([8, 8]), text[:, 8:]), theirs(text).logits[:, 8:]
    torch.testing.assert_close(found, wanted, atol=1e-4, rtol=0)


@pytest.mark.parametrize(
    ("name", "weight", "message"),
    [
        ("model.norm.weight", None, "this model has no model.norm.weight"),
        ("model.norm.weight", torch.zeros(3), r"model.norm.weight of this model is \(3,\); our model needs \(32,\)"),
        ("lm_head.weight", torch.zeros(50, 32, dtype=torch.int8), "lm_head.weight of this model holds torch.int8"),
        ("lm_head.weight", torch.zeros(50, 32, dtype=torch.complex64), "lm_head.weight of this model holds torch.comp"),
        (
            "lm_head.weight",
            torch.zeros(50, 32).to(torch.float8_e5m2),
            "lm_head.weight of this model holds torch.float8",
        ),
    ],
)
def test_a_weight_that_does_not_fit_is_named(name, weight, message):
    theirs = llama()
    state = {**theirs.state_dict(), name: weight}
    given = SimpleNamespace(config=theirs.config, state_dict=lambda: {k: v for k, v in state.items() if v is not None})
    with pytest.raises(ValueError, match=message):
        from_llama(given)


def test_what_is_no_model_and_the_names_of_an_older_configuration():
    """Before `transformers` 5 a configuration has `rope_theta` and `rope_scaling` instead of `rope_parameters`."""
    with pytest.raises(TypeError, match=r"a LlamaForCausalLM of transformers is wanted, not .*Linear"):
        from_llama(torch.nn.Linear(2, 2))
    theirs, text, length = llama(rope_parameters={"rope_theta": 500.0}), torch.randint(0, 50, (1, 9)), torch.tensor([4])
    wanted = theirs(text).logits[:, 4:]
    theirs.config.rope_parameters, theirs.config.rope_theta = None, 500.0
    torch.testing.assert_close(from_llama(theirs)(text[:, :4], length, text[:, 4:]), wanted, atol=1e-4, rtol=0)
    theirs.config.rope_scaling = {"type": "linear", "factor": 2.0}
    with pytest.raises(ValueError, match="rotary positions of this model is linear"):
        from_llama(theirs)
