"""Our beam search against that of Hugging Face transformers, on a Marian of theirs with random weights."""

import functools
from dataclasses import dataclass

import pytest
import torch
from torch import Tensor, nn
from transformers import MarianConfig, MarianMTModel
from transformers.modeling_outputs import BaseModelOutput

from seqlearn.search.beam import beam_search
from seqlearn.search.sampling import greedy_search

PAD, BOS, EOS, VOCAB = 0, 1, 2, 12
LENGTHS = [4, 1, 6, 3, 6]
MOST = 9


@functools.cache
def marian(seed: int) -> MarianMTModel:
    """Small, in float64, with weights so far from 0 that hypotheses differ."""
    torch.manual_seed(seed)
    config = MarianConfig(
        vocab_size=VOCAB, d_model=8, encoder_layers=1, decoder_layers=2, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=16, decoder_ffn_dim=16, max_position_embeddings=64,
        pad_token_id=PAD, bos_token_id=BOS, eos_token_id=EOS, decoder_start_token_id=BOS, forced_eos_token_id=None,
        tie_word_embeddings=False,
    )  # fmt: skip
    model = MarianMTModel(config).double().eval().requires_grad_(False)
    for name, weight in model.named_parameters():
        if "norm" not in name:  # the last token counts for more than the source: else each word is repeated for ever
            nn.init.normal_(weight, std=3.0 if "embed" in name or "shared" in name else 0.6)
    model.final_logits_bias[:, EOS] = seed % 3
    return model


class Wrapped(nn.Module):
    """A model of transformers under our contract. Without a cache: its state is all the tokens so far."""

    def __init__(self, model: MarianMTModel):
        super().__init__()
        self.model = model
        self.decoder = WrappedDecoder(model)

    def encoder(self, source: Tensor, source_lens: Tensor) -> "State":
        mask = (torch.arange(source.shape[1]) < source_lens.unsqueeze(1)).long()
        outputs = self.model.get_encoder()(input_ids=source, attention_mask=mask).last_hidden_state
        return State(outputs, mask, torch.zeros(len(source), 0, dtype=torch.long))


@dataclass
class State:
    outputs: Tensor
    mask: Tensor
    tokens: Tensor

    def select(self, rows: Tensor) -> "State":
        return State(self.outputs[rows], self.mask[rows], self.tokens[rows])


class WrappedDecoder(nn.Module):
    def __init__(self, model: MarianMTModel):
        super().__init__()
        self.model = model

    def init_state(self, memory: State) -> State:
        return memory

    def forward(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        tokens = torch.cat([state.tokens, tokens], 1)
        encoded = BaseModelOutput(last_hidden_state=state.outputs)
        found = self.model(
            encoder_outputs=encoded, attention_mask=state.mask, decoder_input_ids=tokens, use_cache=False
        )
        return found.logits[:, state.tokens.shape[1] :], State(state.outputs, state.mask, tokens)


def sources(seed: int) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.tensor(LENGTHS)
    source = torch.randint(3, VOCAB, (len(LENGTHS), max(LENGTHS)), generator=generator)
    return source.masked_fill(torch.arange(max(LENGTHS)) >= lengths.unsqueeze(1), PAD), lengths


def generate(model: MarianMTModel, source: Tensor, lengths: Tensor, width: int, **options) -> list[list]:
    """The n-best of `generate`: for each sentence (tokens with <eos>, score)."""
    mask = (torch.arange(source.shape[1]) < lengths.unsqueeze(1)).long()
    out = model.generate(
        source, attention_mask=mask, num_beams=width, num_return_sequences=width, max_new_tokens=MOST,
        do_sample=False, bad_words_ids=[[PAD], [BOS]], return_dict_in_generate=True, output_scores=True, **options,
    )  # fmt: skip
    scores = out.sequences_scores.tolist() if width > 1 else [None] * len(source)
    tokens = [line[1 : line.index(EOS) + 1] if EOS in line else line[1:] for line in out.sequences.tolist()]
    pairs = list(zip(tokens, scores, strict=True))
    return [pairs[start : start + width] for start in range(0, len(pairs), width)]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0, 2.0])
@pytest.mark.parametrize("width", [2, 3, 5])
@pytest.mark.slow
def test_the_same_n_best_as_generate(seed, alpha, width):
    """Tokens and scores of all `width` best.

    Their definition is ours with three settings. `refill`: there, the `width` best extensions that do not end go on,
    whatever ended; by default, ours keeps what is left of the `width` best of all. `early_stopping="never"`: only then
    do they, too, go on until no hypothesis can win; their default stops at a guess. And their penalty is a power of the
    length, length^alpha, which counts <eos> and not <bos>; Wu et al.'s (`gnmt`) they do not have. What is cut at the
    limit competes with what ended, as here. Their scores are float32.
    """
    model = marian(seed)
    source, lengths = sources(seed)
    expected = generate(
        model, source, lengths, width, length_penalty=alpha, early_stopping="never", min_new_tokens=seed % 2
    )
    found = beam_search(
        Wrapped(model), source, lengths, bos=BOS, eos=EOS, forbidden=(PAD, BOS), width=width, n_best=width,
        length_penalty=lambda length: length**alpha, min_length=seed % 2, max_length=MOST, refill=True,
    )  # fmt: skip
    for ours, theirs in zip(found, expected, strict=True):
        assert [[*best.tokens, *[EOS] * best.finished] for best in ours] == [tokens for tokens, _ in theirs]
        assert [best.score for best in ours] == pytest.approx([score for _, score in theirs], rel=1e-5)


@pytest.mark.parametrize("seed", range(6))
def test_the_same_as_generate_without_beams(seed):
    model = marian(seed)
    source, lengths = sources(seed)
    found = greedy_search(Wrapped(model), source, lengths, bos=BOS, eos=EOS, forbidden=(PAD, BOS), max_length=MOST)
    for best, [(tokens, _)] in zip(found, generate(model, source, lengths, 1), strict=True):
        assert [*best.tokens, *[EOS] * best.finished] == tokens


def test_the_models_end_early_and_late():
    """Else the comparison would say little."""
    lengths = set()
    for seed in range(6):
        for best in generate(marian(seed), *sources(seed), 3, length_penalty=1.0, early_stopping="never"):
            lengths |= {len(tokens) if EOS in tokens else "cut" for tokens, _ in best}
    assert len(lengths) >= 5 and "cut" in lengths and 1 in lengths
