"""One view of each kind, small, made with any tokens: all tests of the family run over them."""

import contextlib
import functools
import itertools

import torch

from seqlearn.analysis.attention_map import AttentionMap
from seqlearn.data.text import SPECIALS, Language, Vocab, WordTokenizer
from seqlearn.nn.masking import causal_mask
from seqlearn.nn.positions import sinusoids
from seqlearn.search.hypotheses import Hypothesis, Node, Tree
from seqlearn.translator.translator import Translator
from seqlearn.views import (
    AttentionSteps,
    AttentionView,
    BatchView,
    BeamView,
    GruView,
    KernelView,
    PatchView,
    PiecesView,
    PositionView,
    RiddleView,
    SamplingView,
    SoftmaxView,
    TranslatorView,
)
from seqlearn.views.answers.ablations import ablation_map
from seqlearn.views.riddle.riddle_data import Riddle

PLAIN = ["the", "black", "cat", "sleeps", "."]
FATES = ["kept", "complete", "beaten", "pruned"]


def attention_steps(tokens):
    count = len(tokens)
    mask = torch.arange(count) % 4  # valid lengths; some rows have none
    return AttentionSteps(*torch.randn(3, count, 2), mask, tokens, tokens)


def attention_view(tokens):
    count = len(tokens)
    mask = causal_mask(count)
    scores = torch.arange(4.0 * count * count).mul(0.7).sin().reshape(2, 2, count, count)
    cross = AttentionMap(scores.softmax(-1), tokens, tokens)
    causal = AttentionMap(scores.masked_fill(~mask, float("-inf")).softmax(-1), tokens, tokens, "causal", mask)
    return AttentionView(cross, causal)


def kernel_view(tokens):
    points, names = torch.linspace(0, 5, 12), " ".join(map(str, tokens))
    shown = {"xlabel": names, "ylabel": names}
    return KernelView(points, points.sin(), points, ("gaussian", "boxcar"), 0.5, points.cos(), [0.1, 0.5, 2.0], **shown)


def gru_view(tokens):
    """Both gates of the second word are moved."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        view = GruView(tokens, torch.nn.GRU(3, 4, batch_first=True), torch.randn(len(tokens), 3), unit=2)
    view.word, view.z, view.r = min(1, len(tokens) - 1), 0.25, 0.5
    return view


def position_view(tokens):
    return PositionView(sinusoids(9, 6), tokens=tokens[:9])


def pieces_view(tokens):
    """Every word is one piece in the end: as many boxes as words, whatever the words are."""
    words = [str(token) for token in tokens]
    parts = {word: ["▁", *word.encode("utf-16", "surrogatepass").decode("utf-16", "replace")] for word in words}
    merges = [("".join(cut[:i]), cut[i]) for cut in parts.values() for i in range(1, len(cut))]
    return PiecesView(words, list(dict.fromkeys(merges)), joins=len(set(merges)))


def batch_view(tokens):
    lengths = [3, 9, 4, 4, 12, 7, 1, 5, 8, 2, 6, 3]
    sentences = [list(itertools.islice(itertools.cycle(tokens), size, 2 * size)) for size in lengths]
    return BatchView(sentences, batch_size=4)


def beam_view(tokens):
    """Four tokens a step, one of each fate; the first of them goes on."""

    def search(width, alpha):
        tree, way, total = Tree([]), (), 0.0
        for start in range(0, len(tokens), 4):
            penalty = ((6 + len(way)) / 6) ** alpha
            four = list(zip(range(start, len(tokens)), FATES, strict=False))
            sums = {token: total - 0.5 * (number + 1) for number, (token, _) in enumerate(four)}
            step = [Node((*way, t), sums[t] - total, sums[t], sums[t] / penalty, fate) for t, fate in four]
            tree.steps.append(step)
            if len(four) > 1:
                log_probs = [-0.5] * len(way) + [-1.0]
                tree.best = [Hypothesis(list(step[1].tokens), log_probs, False)]
            way, total = step[0].tokens, step[0].total
        return tree

    return BeamView(search, tokens, widths=(1, 2), alphas=(0, 1))


def softmax_view(tokens):
    """Some keys are masked."""
    count = torch.arange(len(tokens))
    return SoftmaxView(count.sin() * 3, tokens, count % 3 != 2)


def sampling_view(tokens):
    """Each knob is turned, some tokens are removed, and two have no bar of their own."""
    logits = torch.cat([torch.arange(len(tokens)).sin() * 2, torch.tensor([-4.0, -5.0])])
    return SamplingView(logits, [*tokens, "l1", "l2"], temperature=1.5, top_k=4, top_p=0.75, shown=len(tokens))


def untrained(tokens, seed=4):
    """A translator with these tokens on both sides, whatever they are; a sentence in brackets is read as unknown."""

    class AsTheyAre(WordTokenizer):
        def tokenize(self, text):
            return list(tokens)

        def detokenize(self, some):
            return " ".join(some)

    class Side(Language):
        def encode(self, text):
            return [*([vocab.unk] * len(tokens) if text.startswith("[") else range(4, len(vocab))), vocab.eos]

    vocab, sizes = Vocab(), {"num_hiddens": 8, "ffn_num_hiddens": 8, "num_heads": 2, "num_layers": 1}
    vocab.tokens = [*SPECIALS, *tokens]
    vocab.ids = {token: number for number, token in enumerate(vocab.tokens)}
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return Translator.new("transformer", *[Side(AsTheyAre(), vocab)] * 2, **sizes)


def translator_view(tokens):
    return TranslatorView(untrained(tokens), " ".join(map(str, tokens)), beam=2)


def patch_view(tokens):
    """One patch in each half of the first model that writes something else for the other sentence."""
    sentence = " ".join(map(str, tokens))
    for seed in itertools.count():
        with contextlib.suppress(ValueError):
            view = PatchView(untrained(tokens, seed), f" {sentence}", f"[{sentence}")
            view.patches = [["encoder 0.1", 0], ["decoder.blocks.0", 0]]
            return view


def riddle_view(tokens):
    return RiddleView(*riddle_of(tuple(tokens)))


@functools.cache
def riddle_of(tokens):
    """A translator and its riddle: the word in question is the first one that some head changes."""
    sentence = " ".join(map(str, tokens))
    for seed in itertools.count():
        translator = untrained(tokens, seed)
        found = ablation_map(translator, sentence)
        before = found["base"]["tokens"]
        others = [one["tokens"] for *_, one in found["heads"] if one["tokens"][0] != before[0]]
        if others:
            return translator, [Riddle(sentence, before[0], others[0][0], sentence, sentence)]


SAMPLES = {
    "AttentionSteps": attention_steps,
    "AttentionView": attention_view,
    "GruView": gru_view,
    "KernelView": kernel_view,
    "BatchView": batch_view,
    "PatchView": patch_view,
    "PiecesView": pieces_view,
    "PositionView": position_view,
    "RiddleView": riddle_view,
    "BeamView": beam_view,
    "SamplingView": sampling_view,
    "SoftmaxView": softmax_view,
    "TranslatorView": translator_view,
}
WORDLESS = {"BatchView", "PositionView"}  # they show a text only where one points, or only the first nine
