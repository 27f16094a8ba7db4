"""One vocabulary for both sides, and one embedding matrix for encoder, decoder and output layer."""

import json

import pytest
import torch
from typer.testing import CliRunner

from seqlearn.cli import app
from seqlearn.data.corpus import Split
from seqlearn.data.pairs import Pair
from seqlearn.data.text import BPETokenizer, Language
from seqlearn.nn.transformer import TransformerConfig, transformer
from seqlearn.training.storage import read_file
from seqlearn.translator.saving import MODEL
from seqlearn.translator.translator import Translator

FRENCH = ["Tom, où est Anna ?", "Le cinéma 1984 !", "Anna aime le chat."] * 3
ENGLISH = ["Tom, where is Anna?", "The cinema 1984!", "Anna likes the cat."] * 3
SPLIT = Split([Pair(*pair) for pair in zip(FRENCH, ENGLISH, strict=True)], [Pair("Tom !", "Tom!")], [Pair("a", "b")])
SIZES = {"num_hiddens": 8, "ffn_num_hiddens": 8, "num_heads": 2, "num_layers": 1, "dropout": 0.0}
SHARED = {"tokens": "bpe", "vocab_size": 60, "shared_vocab": True}


def tied(**options):
    return Translator.untrained(
        "transformer", SPLIT, ("fr", "en"), **SHARED, **SIZES, tie=True, tie_source=True, **options
    )


def test_pieces_come_from_both_sides_and_a_piece_has_one_id():
    """Each side keeps its own spelling: French puts a space before a question mark, English does not."""
    source, target = Language.learn_shared(("fr", "en"), FRENCH, ENGLISH, 60)
    assert source.vocab.tokens == target.vocab.tokens and len(source.vocab) <= 60
    assert source.encode("Anna") == target.encode("anna") != [source.vocab.unk, source.vocab.eos]
    assert {"ù", "w"} <= set(source.vocab.tokens), "a character of either side alone"
    assert source.decode(source.encode("Où est Tom?")) == "où est tom ?"
    assert target.decode(target.encode("Where is Tom ?")) == "where is tom?"
    together = [*map(str.lower, FRENCH), *map(str.lower, ENGLISH)]  # these need no other change of spelling
    assert source.vocab.tokens[4:] == BPETokenizer.learn(together, 60).tokens


@pytest.mark.slow
def test_one_matrix_in_three_places_is_counted_once_moved_together_and_stored_once(tmp_path):
    translator, apart = tied(), transformer(60, 60, TransformerConfig(**SIZES))
    size = len(translator.source.vocab)
    matrix = translator.model.encoder.embedding.weight
    assert translator.model.decoder.embedding.weight is matrix and translator.model.decoder.dense.weight is matrix
    count = sum(weight.numel() for weight in apart.parameters())
    of_sizes = (3 * 8 + 1) * (60 - size)  # the vocabularies of the other model are a little larger
    assert sum(weight.numel() for weight in translator.model.parameters()) == count - of_sizes - 2 * 8 * size
    before = matrix.detach().clone()
    translator.fit(SPLIT, epochs=2, lr=0.01, batch_size=3, average_last=2, progress=False)
    assert not torch.equal(matrix, before) and translator.model.decoder.dense.weight is matrix
    translator.save(tmp_path)
    stored = read_file(tmp_path / MODEL)
    assert [name for name, tensor in stored.tensors.items() if tensor.shape == (size, 8)] == [
        "encoder.embedding.weight"
    ]
    loaded = Translator.load(tmp_path)
    parts = loaded.model.encoder.embedding, loaded.model.decoder.embedding, loaded.model.decoder.dense
    assert parts[0].weight is parts[1].weight is parts[2].weight and torch.equal(parts[0].weight, matrix)
    assert loaded.source.vocab.tokens == loaded.target.vocab.tokens
    assert loaded.translate("Tom, où est Anna ?") == translator.translate("Tom, où est Anna ?")


def test_a_tied_model_computes_what_three_copies_of_the_matrix_compute_and_their_gradients_add_up():
    model = tied().model.double().eval()
    size = model.decoder.dense.out_features
    copies = transformer(size, size, TransformerConfig(**SIZES)).double().eval()
    copies.load_state_dict(model.state_dict())
    source, target = torch.tensor([[5, 6, 7, 2]]), torch.tensor([[1, 8, 9]])
    logits = [each(source, torch.tensor([4]), target)[0] for each in (model, copies)]
    assert torch.equal(*logits)
    for each in logits:
        each.square().sum().backward()
    three = copies.encoder.embedding, copies.decoder.embedding, copies.decoder.dense
    torch.testing.assert_close(model.decoder.dense.weight.grad, sum(part.weight.grad for part in three))


def test_two_vocabularies_are_not_tied():
    with pytest.raises(ValueError, match="tie_source needs one vocabulary, not two of 9 and 8"):
        transformer(9, 8, TransformerConfig(**SIZES, tie_source=True))
    english, french = (Language.learn("", lines) for lines in (["a b"], ["c d"]))
    with pytest.raises(ValueError, match="tie_source needs one vocabulary for both sides"):
        Translator.new("transformer", english, french, **SIZES, tie_source=True)
    with pytest.raises(ValueError, match="a shared vocabulary is one of tokens \"bpe\", not 'word'"):
        Translator.untrained("bahdanau", SPLIT, ("", ""), shared_vocab=True)


def run(*arguments):
    return CliRunner().invoke(app, [str(each) for each in arguments], env={"COLUMNS": "1000"})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--shared-vocab", "--tie"], (True, True)),
        (["--shared-vocab"], (False, False)),
        (["--shared-vocab", "--tie", "--no-tie-source"], (True, False)),
        (["--tie"], (True, False)),
    ],
)
def test_tie_ties_the_encoder_where_the_vocabulary_is_shared(tmp_path, monkeypatch, options, expected):
    monkeypatch.setenv("SEQLEARN_DEVICE", "cpu")
    seen = []

    def instead(self, split, **options):
        seen.append(self)
        raise ValueError("that is enough")

    monkeypatch.setattr(Translator, "fit", instead)
    small = ["--pairs", "300", "--model", "transformer", "--width", "8", "--heads", "2", "--ffn", "8"]
    pieces = ["--tokens", "bpe", "--vocab-size", "100"]
    result = run("train", *small, *pieces, *options, "--out", tmp_path / "m")
    assert "that is enough" in result.stderr, result.output
    (translator,) = seen
    model = translator.model
    ties = model.decoder.dense, model.encoder.embedding
    assert tuple(part.weight is model.decoder.embedding.weight for part in ties) == expected
    same = translator.source.vocab.tokens == translator.target.vocab.tokens
    assert same == ("--shared-vocab" in options) == ("100 tokens for both sides" in result.output)


@pytest.mark.slow
def test_a_finished_training_can_be_scored_and_its_sharing_is_written_down(tmp_path, monkeypatch):
    monkeypatch.setenv("SEQLEARN_DEVICE", "cpu")
    command = ["train", "--pairs", "300", "--model", "bahdanau", "--hidden", "8", "--embed-size", "8", "--epochs", "3"]
    more = ["--tokens", "bpe", "--vocab-size", "100", "--shared-vocab", "--average", "2", "--patience", "1"]
    monkeypatch.setattr("seqlearn.training.loop.mean_loss", lambda *args: 1.0)
    result = run(*command, *more, "--out", tmp_path / "m")
    assert "ended early, after epoch 2 of 3: no better validation loss since epoch 1" in result.output, result.output
    config = json.loads((tmp_path / "m" / "config.json").read_text("utf-8"))
    assert (config["average_last"], config["patience"], config["epochs"]) == (2, 1, 2)
    assert run("evaluate", tmp_path / "m").exit_code == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--shared-vocab"], "--shared-vocab is for --tokens bpe"),
        (["--tokens", "bpe", "--shared-vocab", "--tie"], "bahdanau has no --tie; it has"),
        (["--model", "transformer", "--tie-source"], "--tie-source needs one vocabulary for both sides"),
        (["--patience", "3"], "--patience ends training early only if --epochs is larger by 2 or more"),
        (["--average", "2", "--epochs", "1"], "--average has only one epoch to average"),
    ],
)
def test_options_without_effect_are_refused(tmp_path, options, message):
    result = run("train", "--pairs", "300", *options, "--out", tmp_path / "m")
    assert result.exit_code == 1 and message in result.stderr, result.output
    assert not (tmp_path / "m").exists()
