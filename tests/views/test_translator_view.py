"""TranslatorView shows what the translator finds and what the model gives every token, and says what is wrong."""

import json
import math
import re
import threading

import pytest
import torch
import traitlets
from views.refusals import keeps, refuses

from seqlearn.data.text import Language, Vocab
from seqlearn.nn.recording import record_attention
from seqlearn.translator.translator import Translator
from seqlearn.translator.whatif import change_of, what_if
from seqlearn.views import TranslatorView
from seqlearn.views.answers.known import EXAMPLES, SHORT, UNLIKELY, UNSURE, glosses, gold_of, golds
from seqlearn.views.answers.translations import next_tokens, pieces, translated
from seqlearn.views.shared.packing import unpack

pytestmark = pytest.mark.slow

APPLE = "The girl washes the red apple and eats it."
ZEBRA = "Does the zebra wash the old yak?"
SMALL = {"embed_size": 8, "num_hiddens": 8}
LINES = [
    "the cat sleeps.",
    "a dog eats an apple.",
    "where is the cat?",
    "l'homme mange-t-il une pomme ?",
    "aujourd'hui.",
]


def test_a_first_look_has_an_english_word_for_each_word():
    view = TranslatorView(Translator.pretrained("bahdanau", "cpu"), APPLE, simple=True)
    english = [view.data["gloss"].get(word, word) for word in "la poire lave les pommes rouges et les mange .".split()]
    assert " ".join(english) == "the/it pear washes the/them apples red and the/them eats ."
    assert TranslatorView(Translator.pretrained("tatoeba", "cpu"), APPLE, simple=True).data["gloss"] == {}
    assert "gloss" not in TranslatorView(view.translator, APPLE).data and glosses(view.translator)["grande"] == "big"


def asked(sentence, beam=1, prefix=(), edits=()):
    return {"sentence": sentence, "beam": beam, "prefix": list(prefix), "edits": list(edits)}


@pytest.fixture(params=["transformer", "bahdanau"])
def either(request):
    return Translator.pretrained(request.param, "cpu")


def untrained(name, tokens="word", **sizes):
    sides = [Language.learn(language, LINES, tokens=tokens, size=60) for language in ("en", "fr")]
    torch.manual_seed(3)
    return Translator.new(name, *sides, **sizes)


def softmax_by_hand(translator, sentence, before):
    """The probabilities of the token after these, by the whole model on this beginning alone, in float64."""
    source = torch.tensor([translator.source.encode(sentence)])
    translator.model.eval()
    with torch.no_grad():
        tokens = torch.tensor([[translator.target.vocab.bos, *before]])
        logits = translator.model(source, torch.tensor([source.shape[1]]), tokens)[0, -1].double()
    powers = torch.exp(logits - logits.max())
    return powers / powers.sum()


@pytest.mark.parametrize(("sentence", "beam"), [(APPLE, 1), (ZEBRA, 1), (ZEBRA, 4)])
def test_every_probability_is_that_of_the_model(either, sentence, beam):
    vocab = either.target.vocab
    for shown in translated(either, sentence, beam)["best"]:
        ids = vocab.encode(shown["tokens"])
        assert len(shown["next"]) == len(ids)
        for step, after in enumerate(shown["next"]):
            probs = softmax_by_hand(either, sentence, ids[:step])
            place = after["written"]
            assert after["tokens"][place] == shown["tokens"][step]
            assert after["probs"] == pytest.approx([float(probs[vocab.ids[t]]) for t in after["tokens"]], rel=1e-3)
            order = probs.sort(descending=True).indices.tolist()
            likeliest = vocab.decode(order[:6])
            assert after["tokens"][:5] == likeliest[:5] and after["tokens"][5] in (likeliest[5], shown["tokens"][step])
            assert after["ranks"] == [1 + order.index(vocab.ids[token]) for token in after["tokens"]]
            assert sum(after["probs"]) + after["others"] == pytest.approx(1, abs=1e-4)
        product = math.prod(after["probs"][after["written"]] for after in shown["next"])
        assert shown["probability"] == pytest.approx(product, rel=1e-3)


@pytest.mark.parametrize("beam", [1, 2, 4, 8])
def test_the_translations_are_those_of_the_search(either, beam):
    view = TranslatorView(either, ZEBRA, beam)
    (best,) = either.search([ZEBRA], beam=beam, n_best=beam)
    assert [shown["text"] for shown in view.result["best"]] == [either.target.decode(one.tokens) for one in best]
    assert [shown["score"] for shown in view.result["best"]] == pytest.approx(
        [one.score if beam > 1 else sum(one.log_probs) for one in best], abs=1e-4
    )
    assert view.translation == either.translate(ZEBRA, beam=beam)
    view.chosen = beam - 1
    assert view.translation == either.target.decode(best[-1].tokens)


def test_the_attention_is_that_of_the_translator(either):
    for shown in translated(either, APPLE, beam=4)["best"][:2]:
        truth, sent = either.attend(APPLE, shown["text"]), shown["attention"]
        assert (sent["queries"], sent["keys"]) == (list(truth.query_tokens), list(truth.key_tokens))
        torch.testing.assert_close(unpack(sent["weights"]), truth.weights, atol=1e-5, rtol=1e-4)
        torch.testing.assert_close(unpack(sent["average"]), truth.weights.mean((0, 1)), atol=1e-5, rtol=1e-4)
        assert sent["names"] == {"query": "target token (query)", "key": "source token (key)"}


def test_candidates_by_hand():
    vocab, probs = Vocab.of([*"abcdef"]), torch.tensor([0.01, 0.02, 0.3, 0.04, 0.15, 0.16, 0.22, 0.05, 0.02, 0.03])
    assert next_tokens(vocab, probs, 6) == {
        "tokens": ["<eos>", "c", "b", "a", "d", "<unk>"], "probs": pytest.approx([0.3, 0.22, 0.16, 0.15, 0.05, 0.04]),
        "ranks": [1, 2, 3, 4, 5, 6], "written": 1, "others": pytest.approx(0.08),
    }  # fmt: skip
    rare = next_tokens(vocab, probs, 8)
    assert (rare["tokens"][5], rare["ranks"][5], rare["written"]) == ("e", 8, 5) and rare["probs"][5] == 0.02
    assert rare["others"] == pytest.approx(0.1) and rare["tokens"][:5] == ["<eos>", "c", "b", "a", "d"]
    tie = next_tokens(Vocab.of([*"abcdef"]), torch.full((10,), 0.1), 9)
    assert tie["tokens"][tie["written"]] == "f" and len(set(tie["tokens"])) == 6
    few = next_tokens(Vocab(), torch.tensor([0.25, 0.25, 0.5, 0.0]), 2)
    assert len(few["tokens"]) == 4 and few["others"] == 0


@pytest.mark.parametrize("text", ["l'homme mange-t-il une pomme ?", "aujourd'hui.", "où ?", '"la" !'])
@pytest.mark.parametrize("tokens", ["word", "bpe"])
def test_pieces_joined_are_the_text(text, tokens):
    french = Language.learn("fr", [*LINES, text], tokens=tokens, size=80)
    ids = french.encode(text)[:-1]
    found = pieces(french, ids)
    assert "".join(found) == french.decode(ids) == text and len(found) == len(ids)
    if text.startswith("l'h") and tokens == "word":
        assert found == ["l'", "homme", " mange", "-t-il", " une", " pomme", " ?"]


def test_words_that_were_never_seen(transformer):
    result = translated(transformer, ZEBRA)
    assert result["source"] == ["does", "the", "zebra", "wash", "the", "old", "yak", "?"]
    assert [word for word, unknown in zip(result["source"], result["unknown"], strict=True) if unknown] == [
        "zebra",
        "yak",
    ]
    assert result["known"] == len(transformer.source.vocab) - 4 and result["words"] == len(transformer.target.vocab)


@pytest.mark.parametrize("beam", [1, 3])
@pytest.mark.parametrize("name", ["bahdanau", "transformer"])
def test_pieces_of_words_are_shown_as_they_are(name, beam):
    sizes = SMALL if name == "bahdanau" else {"num_hiddens": 8, "ffn_num_hiddens": 8, "num_heads": 2, "num_layers": 1}
    translator = untrained(name, "bpe", **sizes)
    result = translated(translator, "the cats ß?", beam)
    assert result["source"] == translator.source.tokenizer.tokenize("the cats ß?") and result["source"][0].startswith(
        "▁"
    )
    assert result["unknown"] == [token == "ß" for token in result["source"]]
    found = translator.search(["the cats ß?"], beam=beam, n_best=beam)[0]
    for one, shown in zip(found, result["best"], strict=True):
        ends = [*one.tokens, translator.target.vocab.eos][: len(one.log_probs)]
        assert shown["tokens"] == translator.target.vocab.decode(ends), "not what another reading of the text gives"
        assert len(shown["attention"]["queries"]) == len(shown["next"]) == len(one.log_probs)
    again = [translator.target.tokenizer.tokenize(shown["text"]) for shown in result["best"]]
    assert all(tokens != shown["tokens"] for tokens, shown in zip(again, result["best"], strict=True))
    assert not found[0].finished and result["best"][0]["tokens"][-1] != "<eos>", "the test shows an unfinished one, too"


def test_a_model_without_attention():
    view = TranslatorView(untrained("seq2seq", **SMALL), "the cat sleeps.", beam=2)
    assert view.translation == "" and view.result["best"][0]["pieces"] == [], "it writes nothing but <eos>"
    view.chosen = 1
    assert [shown["attention"] for shown in view.result["best"]] == [None, None] and view.result["best"][0]["next"]
    view.locked = ["query", 1]
    assert view.step == 1


def test_a_decoder_only_model_looks_at_source_and_target():
    """The rows write the target, and the columns are the source and the target so far; each row sums to 1."""
    translator = untrained("decoder", num_hiddens=8, ffn_num_hiddens=8, num_heads=2, num_layers=2)
    translator.model.decoder.dense.bias.data[translator.target.vocab.eos] += 1  # translations of 7 to 22 tokens
    view = TranslatorView(translator, "where is the cat?", beam=3)
    source = ["where", "is", "the", "cat", "?", "<eos>"]
    lengths = {len(shown["tokens"]) for shown in view.result["best"]}
    assert len(lengths) > 1, "the batch is padded"
    for shown in view.result["best"]:
        attention, tokens = shown["attention"], shown["tokens"]
        assert attention["keys"] == [*source, "<bos>", *tokens[:-1]] and attention["queries"] == tokens
        assert attention["prompt"] == 6 and attention["kind"] == "causal"
        weights = unpack(attention["weights"])
        written = [*tokens] if tokens[-1] != "<eos>" else tokens[:-1]
        ids = translator.target.vocab.encode([*written, "<eos>"])
        whole = translator_weights(translator, "where is the cat?", ids[: len(tokens)])
        torch.testing.assert_close(weights, whole[:, :, 6:], atol=1e-5, rtol=0)
        mask = unpack(attention["mask"]).bool()
        assert torch.equal(mask, torch.ones(len(tokens), 6 + len(tokens)).tril(6).bool())
    keys = len(view.result["best"][0]["attention"]["keys"])
    view.locked = ["pair", 0, keys - 1]
    with pytest.raises(traitlets.TraitError, match=f"there is no pair 0, {keys}"):
        view.locked = ["pair", 0, keys]
    view.chosen = 1
    view.locked = ["key", len(view.result["best"][1]["attention"]["keys"]) - 1]
    view.chosen = 0
    assert view.locked is None, "this shorter translation has no such column"


def test_what_if_a_decoder_only_model_looked_elsewhere():
    """Row i of the view is row (source + i) of the whole sequence, and the other weights of the row share the rest."""
    translator = untrained("decoder", num_hiddens=8, ffn_num_hiddens=8, num_heads=2, num_layers=2)
    view = TranslatorView(translator, "the cat sleeps.")
    prompt = view.result["best"][0]["attention"]["prompt"]
    view.edits = [["weight", "causal", 1, 0, prompt + 1, 2, 0.75], ["ablate", "causal", 0, 1]]
    weights = unpack(view.result["best"][0]["attention"]["weights"])
    assert weights[1, 0, 1, 2] == pytest.approx(0.75) and float(weights[1, 0, 1].sum()) == pytest.approx(1)
    assert not weights[0, 1].any() and weights[0, 0].any() and float(weights[1, 0, 0, 2]) != pytest.approx(0.75)


def translator_weights(translator, sentence, ids):
    """The weights of a reading of these target ids, by a record of the whole model."""
    tokens = torch.tensor([[translator.target.vocab.bos, *ids[:-1]]])
    source = torch.tensor([translator.source.encode(sentence)])
    with record_attention(translator.model.eval()) as record:
        translator.model(source, torch.tensor([source.shape[1]]), tokens)
    layers = []
    for prompt, target in record.values():
        wide = torch.zeros(*prompt.shape[:3], target.shape[3])
        wide[..., : prompt.shape[3]] = prompt
        layers.append(torch.cat([wide, target], dim=2)[0])
    return torch.stack(layers)


@pytest.mark.parametrize(
    ("sentence", "wrong"),
    [
        ("", "There is nothing to translate: type a sentence."),
        (" \n\u200b ", "There is nothing to translate: type a sentence."),
        ("a " * 10_000, "This sentence has 10,000 tokens; 100 is the most that is translated here."),
        ("a " * 101, "This sentence has 101 tokens; 100 is the most"),
    ],
)
def test_one_sentence_for_a_text_that_cannot_be_translated(transformer, sentence, wrong):
    with pytest.raises(ValueError, match=wrong) as caught:
        TranslatorView(transformer, sentence)
    assert "\n" not in str(caught.value)
    view = TranslatorView(transformer, APPLE, step=3)
    before = view.result
    view.sentence = sentence  # as the browser does
    assert view.result == before | {"asked": asked(sentence), "problem": str(caught.value)}
    assert view.translation == transformer.translate(APPLE) and view.step == 3
    view.sentence = APPLE
    assert view.result == before


def test_100_tokens_can_be_translated(transformer):
    result = translated(transformer, "the girl " * 50, beam=8)
    assert len(result["source"]) == 100 and len(result["best"]) == 8


@pytest.mark.parametrize("beam", [1, 4])
def test_a_model_that_gives_nan_is_told(beam):
    translator = untrained("bahdanau", **SMALL)
    view = TranslatorView(translator, "the cat sleeps.", beam)
    with torch.no_grad():
        translator.model.decoder.dense.bias.fill_(math.nan)
    view.sentence = "the dog sleeps."
    assert re.fullmatch(r"(logits \(.*\) hold|The model gives) NaN or infinity.*", view.result["problem"])


test_one_sentence_for_what_is_wrong = refuses(
    lambda **given: TranslatorView(**{"translator": Translator.pretrained("transformer", "cpu")} | given),
    [
        ({"translator": "pretrained/transformer"}, TypeError, "TranslatorView shows a Translator, not a str"),
        ({"beam": 0}, "a beam is a whole number from 1 to 16, not 0"),
        ({"beam": 17}, "not 17"),
        ({"beam": 1.5}, "not 1.5"),
        ({"chosen": 1}, traitlets.TraitError, "chosen is 0 to 0, not 1: there are 1 translations"),
        ({"step": 11}, traitlets.TraitError, "step is 0 to 10, not 11: the translation has 11 tokens"),
        ({"locked": ["query", 11]}, traitlets.TraitError, "there is no query 11: there are 11 queries and 11 keys"),
        ({"locked": ["pair", 0, 11]}, traitlets.TraitError, "there is no pair 0, 11"),
        ({"locked": ["key", -1]}, traitlets.TraitError, "there is no key -1"),
        ({"locked": ["row", 1]}, traitlets.TraitError, r"locked is \['query', i\], \['key', j\], .* not \['row', 1\]"),
        ({"locked": []}, traitlets.TraitError, "locked is"),
        ({"locked": ["query"]}, traitlets.TraitError, "locked is"),
    ],
)


test_traits_are_checked = keeps(
    lambda: TranslatorView(Translator.pretrained("transformer", "cpu"), beam=3),
    [
        ("beam", 5, "beam"),
        ("chosen", 3, "chosen"),
        ("chosen", -1, "chosen"),
        ("step", 99, "step"),
        ("locked", ["key", 11], "key 11"),
    ],
)


def test_step_and_lock_go_together(transformer):
    view = TranslatorView(transformer, locked=["pair", 4, 2])
    assert view.step == 4
    view.step = 7
    assert view.locked == ["pair", 7, 2]
    view.locked = ["query", 2]
    assert view.step == 2
    view.locked = ["key", 10]
    view.step = 5
    assert view.locked == ["key", 10]
    view.locked = None
    assert view.step == 5


def test_what_is_marked_stays_in_the_same_translation(transformer):
    view = TranslatorView(transformer, APPLE, locked=["query", 8])
    view.beam = 4
    assert len(view.result["best"]) == 4 and (view.step, view.locked) == (8, ["query", 8])
    view.sentence = "The girl eats the bread."
    view.chosen, view.locked = 1, ["key", 1]  # "ne mange pas", two tokens more
    view.step = 8
    view.chosen = 0
    assert (view.step, view.locked) == (6, None), "the last one"
    view.sentence = "The cat sleeps."
    assert (view.chosen, view.step, view.locked) == (0, 0, None)


@pytest.mark.parametrize(("row", "stays"), [(0, True), (7, False)])
def test_a_cell_that_is_kept_stays_up_to_the_first_token_that_changes(transformer, row, stays):
    view = TranslatorView(transformer, APPLE, locked=["pair", row, 1])
    view.edits = [["weight", "cross", None, None, 0, 1, 1.0]]  # the first token is another
    assert (view.step, view.locked) == (0, ["pair", row, 1] if stays else None)
    view.locked = ["pair", 0, 1]
    view.sentence = "The cat sleeps."
    assert view.locked is None, "the cell of another sentence"


def test_half_letters_and_several_lines(transformer):
    view = TranslatorView(transformer, "the \ud800 cat\nsleeps.")
    assert view.sentence == "the � cat\nsleeps." and view.result["source"] == ["the", "�", "cat", "sleeps", "."]
    assert view.result["asked"] == asked(view.sentence), "or the browser would wait for ever"
    view.sentence = "a \udc08"
    assert view.result["asked"] == asked(view.sentence) and view.sentence == "a �"


def test_one_search_and_one_message(transformer, monkeypatch):
    view, calls, sent = TranslatorView(transformer), [], []
    monkeypatch.setattr(
        "seqlearn.views.translator.translator_view.translated",
        lambda *given, **named: calls.append((named["sentence"], named["beam"])) or translated(*given, **named),
    )
    view._send = lambda message, buffers=None: sent.append(message)
    view.set_state({"sentence": "The cat sleeps.", "beam": 4})  # a message from the browser
    assert calls == [("The cat sleeps.", 4)] and view.translation == "le chat dort."
    answers = [message["state"] for message in sent if "result" in message.get("state", {})]
    assert len(answers) == 1 and answers[0]["result"]["asked"] == asked("The cat sleeps.", 4)
    view.set_state({"sentence": ""})
    assert len(calls) == 2 and view.result["problem"].startswith("There is nothing")


@pytest.mark.parametrize("beam", [1, 4])
def test_a_prefix_may_be_longer_than_other_translations(transformer, beam):
    prefix = ["la"] * (2 * len(transformer.source.encode(APPLE)) + 15)
    assert all(one["tokens"] == prefix for one in translated(transformer, APPLE, beam, prefix)["best"])


def test_what_if(transformer):
    view = TranslatorView(transformer, APPLE, beam=4, step=8)
    plain = view.result
    view.set_state({"prefix": ["la", "fille", "prend"]})
    changed = what_if(transformer, ["la", "fille", "prend"])
    assert view.translation == changed.translate(APPLE, beam=4) != transformer.translate(APPLE, beam=4)
    assert view.result["asked"] == asked(APPLE, 4, ["la", "fille", "prend"]) and view.step == 2
    probs = softmax_by_hand(transformer, APPLE, transformer.target.vocab.encode(["la", "fille"]))
    shown = view.result["best"][0]["next"][2]
    assert shown["tokens"][shown["written"]] == "prend"
    assert shown["probs"][shown["written"]] == pytest.approx(float(probs[transformer.target.vocab.ids["prend"]]), 1e-3)
    edits = [["weight", "cross", None, None, 7, 1, 0.75], ["ablate", "cross", 1, 2]]
    view.set_state({"prefix": [], "edits": edits})
    changed = what_if(transformer, edits=map(change_of, edits))
    (best,) = changed.search([APPLE], beam=4, n_best=4)
    assert [one["text"] for one in view.result["best"]] == [transformer.target.decode(one.tokens) for one in best]
    weights = unpack(view.result["best"][0]["attention"]["weights"])
    torch.testing.assert_close(weights, changed.attend(APPLE, view.translation).weights, atol=1e-5, rtol=1e-4)
    assert (weights[1, 2] == 0).all() and weights[0, :, 7, 1].tolist() == pytest.approx([0.75] * 4)
    average = unpack(view.result["best"][0]["attention"]["average"])
    torch.testing.assert_close(average.sum(-1), torch.ones(len(average)))
    state = view.page_state()
    assert (state["prefix"], state["edits"]) == ([], edits) and state["result"]["asked"] == asked(APPLE, 4, [], edits)
    view.prefix = ["zebra"]
    assert view.result["problem"].startswith("a translation cannot contain the token 'zebra'")
    with pytest.raises(ValueError, match="an edit is"):
        view.edits = [["mute"]]
    view.set_state({"prefix": [], "edits": []})
    assert view.result == plain


def test_true_links(transformer, parts):
    pair = next(pair for pair in parts.valid if pair.antecedents)
    view = TranslatorView(transformer, pair.source)
    assert "gold" not in view.result, "nobody asked"
    view.links = True
    tokens = transformer.target.tokenizer.tokenize(pair.target)
    assert view.result["gold"] == {
        "tokens": tokens, "links": list(map(list, pair.alignment)), "pronouns": [pair.antecedents[0].target],
    }  # fmt: skip
    view.sentence = "The cat eats attention."
    assert view.result["gold"] is None
    assert gold_of(untrained("bahdanau", **SMALL), pair.source) is None, "it has learned something else"


def test_the_stored_links_of_the_examples(transformer):
    stored, everything = golds(transformer, everything=False), golds(transformer, everything=True)
    sources = [" ".join(transformer.source.tokenizer.tokenize(sentence)) for sentence in EXAMPLES]
    assert list(stored) == [source for source in everything if source in sources] and len(stored) == len(EXAMPLES) - 1
    assert all(everything[source] == gold for source, gold in stored.items())
    assert golds(untrained("bahdanau", **SMALL), everything=False) == {}


def test_what_is_known_of_the_translator(transformer):
    known = TranslatorView(transformer).data
    assert known["layers"]["cross"] == [[f"decoder.blocks.{i}.cross_attention", 4] for i in (0, 1)]
    assert list(known["layers"]) == ["cross", "encoder", "causal"] and known["links"] and known["live"]
    assert set(known["vocab"]) == set(transformer.source.vocab.tokens[4:])
    for sentence in known["examples"] + known["sentences"]:
        assert transformer.unknown(sentence) == [], sentence
    kinds = dict(known["kinds"])
    assert list(kinds) == ["nouns", "verbs", "adjectives", "names", "others"]
    assert sorted(word for words in kinds.values() for word in words) == sorted(known["vocab"])
    assert ("apples" in kinds["nouns"], "ate" in kinds["verbs"], "because" in kinds["others"]) == (True, True, True)
    assert (known["unlikely"], known["unsure"], known["short"]) == (0.05, 0.6, 0.7)
    assert known["longest"] == 23, "of the built-in corpus"
    assert TranslatorView(transformer, beam=3).data["beams"] == [1, 2, 3, 4, 8]
    recurrent = untrained("bahdanau", **SMALL)
    view = TranslatorView(recurrent, "the cat sleeps.")
    assert [count for _, count in view.data["layers"]["cross"]] == [1] and not view.data["links"]
    assert view.data["examples"] == view.data["sentences"] == view.data["kinds"] == []
    assert [view.data[name] for name in ("longest", "unlikely", "unsure", "short")] == [None] * 4
    view = TranslatorView(transformer)
    assert list(view.data["layers"]) == ["cross", "encoder", "causal"] and view.data["beams"] == [1, 2, 4, 8]


def test_how_often_a_doubt_is_false(transformer, parts, as_a_user):
    """Of the test part of the built-in corpus, as known.py says."""
    pairs, tokenize = parts.test, transformer.target.tokenizer.tokenize
    found = [best[0] for best in transformer.search([pair.source for pair in pairs], 64)]
    right = [
        tokenize(transformer.target.decode(one.tokens)) == tokenize(pair.target)
        for one, pair in zip(found, pairs, strict=True)
    ]
    assert (len(right), sum(right)) == pytest.approx((1061, 1021), abs=3)

    def doubted(is_doubtful):
        flags = [is_doubtful(one, pair) for one, pair in zip(found, pairs, strict=True)]
        return [sum(flag and is_right == kind for flag, is_right in zip(flags, right, strict=True)) for kind in (0, 1)]

    assert doubted(lambda one, pair: math.exp(sum(one.log_probs)) < UNSURE) == pytest.approx([23, 33], abs=4)
    assert doubted(lambda one, pair: math.exp(sum(one.log_probs)) < UNLIKELY) == [0, 0]
    count = transformer.source.tokenizer.tokenize
    assert doubted(lambda one, pair: len(one.tokens) < SHORT * len(count(pair.source))) == [1, 0]


def test_the_model_stays_as_it_was():
    translator = Translator.pretrained("transformer", "cpu")
    model = translator.model.train()
    model.encoder.eval()
    first = next(model.parameters())
    first.grad = torch.ones_like(first)
    next(model.decoder.parameters()).requires_grad_(False)
    modes, needs = [part.training for part in model.modules()], [one.requires_grad for one in model.parameters()]
    before, random = {name: one.clone() for name, one in model.state_dict().items()}, torch.get_rng_state()
    results = [translated(translator, ZEBRA, beam) for beam in (1, 4, 1)]
    assert results[0] == results[2], "no dropout"
    assert [part.training for part in model.modules()] == modes and torch.equal(torch.get_rng_state(), random)
    assert [one.requires_grad for one in model.parameters()] == needs and torch.equal(
        first.grad, torch.ones_like(first)
    )
    assert all(torch.equal(one, before[name]) for name, one in model.state_dict().items())
    assert all(part.record is None for part in model.modules() if hasattr(part, "record"))


def test_a_cell_that_trains_the_model_meanwhile():
    """The messages of widgets are answered in a thread beside the cells."""
    translator, beside, wrong = Translator.pretrained("bahdanau", "cpu"), threading.Event(), []
    model, calm = translator.model.train(), translated(translator, ZEBRA)

    def translate():
        try:
            for _ in range(5):
                assert translated(translator, ZEBRA) == calm
        except Exception as error:
            wrong.append(error)
        beside.set()

    threading.Thread(target=translate).start()
    while not beside.is_set():
        model(
            torch.ones(3, 4, dtype=torch.long), torch.full((3,), 4), torch.ones(3, 5, dtype=torch.long)
        ).sum().backward()
        assert model.training and all(part.training for part in model.modules())
    assert wrong == []


def test_summary(transformer):
    view = TranslatorView(transformer)
    assert repr(view) == f"TranslatorView('{APPLE}' -> 'la fille lave la pomme rouge et la mange.')"
    assert len(repr(TranslatorView(transformer, "the <b> " * 12))) < 150


def test_a_page_has_what_was_translated(transformer):
    view = TranslatorView(transformer, ZEBRA, beam=4, chosen=2, step=3)
    data, page = view.data, view.to_html()
    state = json.loads(re.search(r'id="state">(.*?)</script>', page, re.S)[1])
    assert state["data"] == data | {"live": True, "golds": golds(transformer, everything=False)} and view.data == data
    assert (state["sentence"], state["beam"], state["chosen"], state["step"]) == (ZEBRA, 4, 2, 3)
    assert [len(shown["next"]) for shown in state["result"]["best"]] == [len(s["tokens"]) for s in view.result["best"]]
    view.sentence = ""
    again = json.loads(re.search(r'id="state">(.*?)</script>', view.to_html(), re.S)[1])
    assert again == state and view.result["problem"], "a page shows what was translated, and no problem"
    assert len(page) < 3_000_000


def test_the_step_stays_as_far_as_the_translation_says_the_same(transformer):
    view = TranslatorView(transformer, APPLE, step=8)
    tokens = view.result["best"][0]["tokens"]
    view.prefix = [*tokens[:7], "le"]
    assert view.step == 7, "the forced word"
    view.prefix = []
    assert view.step == 7, "taken back: before and now can be compared"
    view.step = 9
    view.sentence = APPLE.replace("apple", "lemon")
    assert view.step == 3, "le citron"
    view.sentence = "We sleep."
    assert view.step == 0


@pytest.mark.parametrize(
    ("lines", "kind", "opening"),
    [
        (["der Hund schläft .", "der Hund frisst , der Mond 7 x"], "word", "der hund frisst mond schläft"),
        (["The girl washes the red apple and eats it."], "word", EXAMPLES[0]),
        (["1 2 3", "4 5"], "word", EXAMPLES[0]),  # no words at all
        (["我 喜欢 苹果", "我 喜欢 苹果"], "bpe", "喜欢 苹果"),
    ],
)
def test_the_first_sentence_is_one_that_the_model_can_read(lines, kind, opening):
    side = Language.learn("", lines, tokens=kind, size=60)
    view = TranslatorView(Translator.new("bahdanau", side, side, embed_size=4, num_hiddens=4))
    assert view.sentence == view.result["sentence"] == opening
    assert any(view.result["unknown"]) == (lines == ["1 2 3", "4 5"])
