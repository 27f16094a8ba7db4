"""The packed model of a page: which translators have one, what is in it, and what the page is allowed to run."""

import base64
import copy
import operator
import re

import numpy as np
import pytest
import torch
from torch import nn

from seqlearn.data.text import Language, Vocab, WordTokenizer
from seqlearn.nn.recording import record_attention
from seqlearn.nn.transformer import TransformerConfig, TransformerDecoder, transformer
from seqlearn.translator.translator import Translator
from seqlearn.views.live import weights
from seqlearn.views.live.weights import LIVE, live_engine, live_model
from seqlearn.views.shared.bundle import bundle
from seqlearn.views.shared.page import page_of, safe_json, script_part

ENGINE = bundle(f'import {{ pageModel }} from "./engine.js";\n{live_engine()}\npageModel(liveEngine);', LIVE)
LINES = ["the cat sleeps.", "l'homme mange-t-il une pomme ?"]
SIZES = {"num_hiddens": 8, "ffn_num_hiddens": 12, "num_heads": 2, "num_layers": 2}


def small(name="transformer", tokens="word", **settings):
    sides = [Language.learn(language, LINES, tokens=tokens, size=60) for language in ("en", "fr")]
    return Translator.new(name, *sides, **(SIZES | settings if name == "transformer" else settings))


def unpacked(data):
    """The weights by name, from the bytes: number by number, in the order of the parameters."""
    levels = iter(np.frombuffer(base64.b64decode(data["weights"]["bytes"]), np.int8).tolist())
    halves = iter(np.frombuffer(base64.b64decode(data["weights"]["halves"]), "<f2").tolist())
    found = {}
    for name, shape, number in data["tensors"]:
        if number in found:
            found[name] = found[number]
            continue
        count = [1, *shape][-2] if len(shape) < 3 else shape[-3] * shape[-2]
        if len(shape) == 1:
            rows = [next(halves) for _ in range(*shape)]
        else:
            most = [next(halves) for _ in range(count)]
            rows = [[next(levels) * np.float32(one) / np.float32(127) for _ in range(shape[-1])] for one in most]
        found[name] = found[number] = torch.tensor(np.array(rows, np.float32)).view(shape)
    assert next(levels, None) is next(halves, None) is None
    return {name: weight for name, weight in found.items() if isinstance(name, str)}


@pytest.mark.parametrize(
    "settings",
    [{}, {"norm_first": False, "bias": True, "positions": "learned"}, {"positions": "rotary"}, {"positions": "none"}],
)
def test_every_weight_is_there_in_8_bits(settings):
    translator = small(**settings)
    data, state = live_model(translator), translator.model.state_dict()
    stored = unpacked(data)
    assert stored.keys() == state.keys()
    for name, weight in state.items():
        if weight.ndim > 1:
            level = weight.abs().amax(-1, keepdim=True) / 127
            assert (stored[name] - weight).abs().le(0.57 * level).all(), f"{name}: half a level, and a rounded level"
            assert ((stored[name].abs().amax(-1, keepdim=True) - 127 * level).abs() <= 0.07 * level).all()
        else:
            assert torch.equal(stored[name], weight.half().float()), name
    assert data["source"] == {"language": "en", "tokens": translator.source.vocab.tokens}
    assert data["target"] == {"language": "fr", "tokens": translator.target.vocab.tokens}
    for side in ("encoder", "decoder"):
        assert data["sizes"][side].items() >= (SIZES | settings).items()
    assert safe_json(data)


def test_a_shared_matrix_is_stored_once():
    sides = [Language(WordTokenizer(language), Vocab.of([*"abcdef"])) for language in ("en", "fr")]
    apart, tied = (Translator.new("transformer", *sides, **SIZES, tie=on, tie_source=on) for on in (False, True))
    sizes = [[len(base64.b64decode(text)) for text in live_model(one)["weights"].values()] for one in (apart, tied)]
    assert [more - less for more, less in zip(*sizes, strict=True)] == [2 * 10 * 8, 2 * 2 * 10]
    starts = {name: start for name, _, start in live_model(tied)["tensors"]}
    assert starts["encoder.embedding.weight"] == starts["decoder.embedding.weight"] == starts["decoder.dense.weight"]


def test_sides_may_differ_in_size():
    translator = small()
    vocab = len(translator.target.vocab)
    translator.model.decoder = TransformerDecoder(
        vocab, TransformerConfig(8, 20, 4, 1, norm_first=False, positions="rotary")
    )
    sizes = live_model(translator)["sizes"]
    assert sizes["decoder"]["num_layers"] == 1 and sizes["decoder"]["positions"] == "rotary"
    assert sizes["encoder"]["num_layers"] == 2 and sizes["encoder"]["positions"] == "sinusoidal"


class MyTranslator(Translator):
    pass


class MyTokenizer(WordTokenizer):
    pass


class MyDecoder(TransformerDecoder):
    pass


class MyLinear(nn.Linear):
    pass


def weight_of(number):
    return lambda translator: translator.model.decoder.dense.weight.data[3, 3].fill_(number)


def a_hook(translator):
    translator.model.encoder.blocks[1].self_attention.W_k.register_forward_hook(lambda *arguments: None)


def a_wider_layer(translator):
    translator.model.decoder.blocks[1].ffn = small(ffn_num_hiddens=16).model.decoder.blocks[1].ffn


CHANGES = [  # a path, the name of an attribute there, and its new value; or a function
    ("model.decoder", "__class__", MyDecoder),
    ("model.decoder.blocks.1.ffn.dense1", "__class__", MyLinear),
    ("model.decoder.blocks.0.norm2", "forward", lambda x: x),
    ("model.decoder.blocks.0.self_attention", "kind", "cross"),
    ("model.decoder.blocks.1.cross_attention", "num_heads", 4),
    ("model.decoder.norm", "eps", 1e-3),
    ("model.encoder.blocks.1", "norm_first", False),
    ("model.encoder.embedding", "max_norm", 1.0),
    ("model", "extra", nn.Linear(2, 2)),
    ("source", "tokenizer", MyTokenizer("en")),
    ("source", "vocab", Vocab.of(["a"])),
    ("target", "decode", lambda ids: "?"),
    lambda translator: operator.setitem(translator.model.encoder.blocks, 0, nn.Identity()),
    lambda translator: translator.model.encoder.pos_encoding.P.mul_(2),
    a_hook,
    a_wider_layer,
    weight_of(70_000),  # beyond half precision
    weight_of(torch.nan),
]


@pytest.mark.parametrize("number", range(len(CHANGES)))
def test_a_translator_that_a_page_cannot_imitate_has_no_packed_model(number):
    translator, change = small(), CHANGES[number]
    assert live_model(translator) is not None
    if callable(change):
        change(translator)
    else:
        path, name, value = change
        setattr(operator.attrgetter(path)(translator), name, value)
    assert live_model(translator) is None, change


def test_other_models_have_no_packed_model(monkeypatch):
    assert live_model(small("bahdanau", embed_size=4, num_hiddens=4)) is None
    assert live_model(small("seq2seq", embed_size=4, num_hiddens=4)) is None
    ours = small()
    assert live_model(MyTranslator(ours.model, ours.source, ours.target)) is None
    assert live_model(small(activation="swish")) is None
    ours.model.decoder = small(activation="gelu").model.decoder
    assert live_model(ours) is None
    ours = small()
    count = sum(weight.numel() for weight in ours.model.parameters())
    monkeypatch.setattr(weights, "MOST_WEIGHTS", count)
    assert live_model(ours) is not None
    monkeypatch.setattr(weights, "MOST_WEIGHTS", count - 1)
    assert live_model(ours) is None


def test_what_does_not_matter_does_not_matter():
    """A mode, dropout, a finished recording, a model that was copied, trained or made by hand."""
    translator = small()
    first = live_model(translator)
    translator.model.train()
    translator.model.encoder.pos_encoding.dropout.p = 0.5
    translator.model.encoder.pos_encoding(torch.zeros(1, 300, 8))  # its table grows
    with record_attention(translator.model):
        pass
    assert live_model(translator) == first
    model = copy.deepcopy(translator.model).double()
    assert live_model(Translator(model, translator.source, translator.target)) == first
    vocabs = len(translator.source.vocab), len(translator.target.vocab)
    assert live_model(
        Translator(transformer(*vocabs, TransformerConfig(**SIZES)), translator.source, translator.target)
    )


def test_the_learners_random_numbers_stay():
    translator = small()
    before = torch.get_rng_state()
    live_model(translator)
    assert torch.equal(torch.get_rng_state(), before)


def test_the_pretrained_model_is_small():
    assert len(safe_json(live_model(Translator.pretrained("transformer", "cpu")))) < 2.4e6
    assert len(live_engine()) < 75_000


def test_only_a_page_with_a_model_may_make_a_worker():
    def policy(script):
        page = page_of("title", "", script_part(script))
        return re.search(r'Content-Security-Policy"\s+content="(.*?)"', page, re.DOTALL)[1]

    assert "worker-src blob:;" in policy(ENGINE)
    assert "worker-src" not in policy("draw();")
    for script in (ENGINE, "draw();"):
        rules = [rule.split() for rule in policy(script).split(";")]
        assert ["default-src", "'none'"] in rules and ["form-action", "'none'"] in rules
        for kind in ("script-src", "style-src"):
            (rule,) = [rule for rule in rules if rule[0] == kind]
            assert len(rule) == 2 and rule[1].startswith("'sha256-"), "one script, one style"
        assert "unsafe-eval" not in policy(script) and "'unsafe-inline'" not in policy(script).split("style-src")[0]


def test_the_script_asks_for_nothing():
    """No address, no import, no code from text, no storage."""
    text = re.sub(r"//.*|/\*.*?\*/", "", ENGINE, flags=re.DOTALL)
    assert re.findall(r"https?:|\bimport\b|\beval\b|new Function|fetch|XMLHttp|localStorage|innerHTML", text) == []
