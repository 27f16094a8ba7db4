"""BeamView draws the tree of a search, searches again where a slider moves, and says what is wrong with it."""

import dataclasses
import itertools
import json
import math
import re

import pytest
import torch
import traitlets
from torch import nn
from views.refusals import keeps, refuses

from seqlearn.search.beam import beam_search
from seqlearn.search.exhaustive import exhaustive_search
from seqlearn.search.hypotheses import Hypothesis, Node, Tree
from seqlearn.search.lengths import gnmt
from seqlearn.search.sampling import greedy_search
from seqlearn.translator.translator import Translator
from seqlearn.views import BeamView
from seqlearn.views.beam.beam_data import tree_data

WORDS = ["<pad>", "<bos>", "<eos>", "the", "a", "cat", "dog", "sleeps"]
PAD, BOS, EOS, THE, A, CAT, DOG, SLEEPS = range(len(WORDS))
CHAIN = {  # greedy begins with "the", and every cat and dog that it can reach is less likely than "a dog"
    BOS: {THE: 0.55, A: 0.45},
    THE: {CAT: 0.4, DOG: 0.35, SLEEPS: 0.25},
    A: {DOG: 0.9, CAT: 0.1},
    CAT: {SLEEPS: 0.6, EOS: 0.4},
    DOG: {SLEEPS: 0.9, EOS: 0.1},
    SLEEPS: {EOS: 0.9, THE: 0.1},
}
IDS = {"bos": BOS, "eos": EOS, "forbidden": (PAD, BOS)}
SOURCE = torch.tensor([[3]]), torch.tensor([1])


class Chain(nn.Module):
    """A model whose next token depends on the last one only."""

    def __init__(self, probabilities):
        super().__init__()
        self.encoder, self.decoder = lambda source, lens: None, Decoder()
        self.decoder.log_probs = probabilities.log()


class Decoder(nn.Module):
    def init_state(self, memory):
        return self

    def select(self, rows):
        return self

    def forward(self, tokens, state):
        return self.log_probs[tokens], state


def chain():
    probabilities = torch.zeros(len(WORDS), len(WORDS))
    for word, following in CHAIN.items():
        probabilities[word, list(following)] = torch.tensor(list(following.values()))
    return Chain(probabilities)


def searcher(model, calls=None, **settings):
    def search(width, alpha):
        if calls is not None:
            calls.append((width, alpha))
        trees = []
        beam_search(model, *SOURCE, **IDS, width=width, length_penalty=gnmt(alpha), trace=trees, **settings)
        return trees[0]

    return search


def grown(given, best=(), alpha=0.0):
    """A tree of {tokens: (log-probability, fate)} for each step."""
    totals, steps = {(): 0.0}, []
    for length, nodes in enumerate(given, 1):
        totals |= {tokens: totals[tokens[:-1]] + log_prob for tokens, (log_prob, _) in nodes.items()}
        divisor = ((5 + length) / 6) ** alpha
        steps.append([Node(t, log_prob, totals[t], totals[t] / divisor, fate) for t, (log_prob, fate) in nodes.items()])
    return Tree(list(best), steps)


def by_hand(alpha=0.0):
    """Tokens 5 to 9; 2 is <eos>. The second of two beginnings wins."""
    given = [
        {(5,): (-0.5, "kept"), (6,): (-1.0, "kept"), (7,): (-2.0, "pruned")},
        {(6, 8): (-0.1, "kept"), (5, 8): (-0.7, "kept"), (5, 9): (-0.9, "pruned"), (6, 9): (-2.0, "pruned")}
        | {(6, 7): (-2.5, "pruned"), (5, 7): (-3.5, "pruned")},
        {(6, 8, 2): (-0.1, "complete"), (5, 8, 9): (-0.4, "beaten"), (5, 8, 2): (-0.9, "pruned")},
    ]
    return grown(given, [Hypothesis([6, 8], [-1.0, -0.1, -0.1], True)], alpha)


def paths(shown):
    """The tokens of each drawn node."""
    found = [()]
    for parent, token in zip(shown["nodes"]["parent"][1:], shown["nodes"]["token"][1:], strict=True):
        found.append((*found[parent], token))
    return found


def test_a_tree_by_hand():
    shown = tree_data(by_hand(), str)
    at = dict(zip(paths(shown), shown["nodes"]["row"], strict=True))
    assert at == {
        (): 0, (5,): 0, (6,): 1, (7,): 2,
        (5, 8): 0, (5, 9): 1, (6, 8): 2, (6, 9): 3,
        (5, 8, 9): 0, (5, 8, 2): 1, (6, 8, 2): 2,
    }  # fmt: skip
    assert shown["rows"] == 4
    numbers = {path: number for number, path in enumerate(paths(shown))}
    assert shown["best"] == [numbers[path] for path in [(6,), (6, 8), (6, 8, 2)]]
    assert shown["greedy"] == [numbers[path] for path in [(5,), (5, 8), (5, 8, 9)]]
    counted = [[step[name] for name in ("kept", "complete", "beaten", "pruned", "omitted")] for step in shown["steps"]]
    assert counted == [[2, 0, 0, 1, 0], [2, 0, 0, 4, 2], [0, 1, 1, 1, 0]]
    assert [step["penalty"] for step in shown["steps"]] == [1, 1, 1]
    bends = dict(zip(paths(shown), shown["nodes"]["bend"], strict=True))
    assert bends[6, 8] == bends[6, 9] < bends[5, 8] == bends[5, 9], "lines from a lower parent turn first"


def test_numbers_are_those_of_the_nodes():
    tree = by_hand(alpha=0.6)
    shown = tree_data(tree, lambda token: f"word {token}")
    nodes = {node.tokens: node for step in tree.steps for node in step}
    for i, path in enumerate(paths(shown)[1:], 1):
        mine = {name: column[i] for name, column in shown["nodes"].items()}
        assert mine["text"] == f"word {path[-1]}" and mine["fate"] == nodes[path].fate and mine["step"] == len(path)
        for name in ("log_prob", "total", "score"):
            assert mine[name] == pytest.approx(getattr(nodes[path], name), rel=1e-5)
    assert [step["penalty"] for step in shown["steps"]] == pytest.approx([1, (7 / 6) ** 0.6, (8 / 6) ** 0.6], rel=1e-5)
    assert shown["nodes"]["parent"][0] == -1 and shown["nodes"]["text"][0] == ""


def test_which_nodes_are_left_out():
    shown = paths(tree_data(by_hand(), str))
    assert (6, 7) not in shown and (5, 7) not in shown, "only the 2 likeliest of 4 pruned nodes"
    late = {(6, 7): (-0.1, "kept"), (6, 8): (-0.2, "pruned"), (6, 9): (-0.3, "pruned")}
    late |= {(5, 8): (-3.0, "pruned"), (5, 9): (-4.0, "pruned")}
    shown = tree_data(grown([{(5,): (-0.5, "kept"), (6,): (-0.6, "kept")}, late]), str)
    assert set(paths(shown)) == {(), (5,), (6,), (6, 7), (6, 8), (6, 9), (5, 8)}, "and greedy's, to where it ends"
    assert [paths(shown)[i] for i in shown["greedy"]] == [(5,), (5, 8)] and shown["steps"][1]["omitted"] == 1


@pytest.mark.parametrize("seed", range(12))
def test_no_lines_cross_and_all_rows_are_used_once(seed):
    torch.manual_seed(seed)
    model = Chain((2 * torch.randn(9, 9)).softmax(-1))
    width = seed % 5 + 1
    tree = searcher(model, max_length=12, refill=bool(seed % 2))(width, 0.5)
    shown = tree_data(tree, str)
    nodes, named = shown["nodes"], paths(shown)
    assert len(set(named)) == len(named)
    assert {node.tokens for step in tree.steps for node in step if node.fate != "pruned"} <= set(named)
    tallest = 0
    for number, step in enumerate(tree.steps, 1):
        column = sorted((i for i, at in enumerate(nodes["step"]) if at == number), key=lambda i: nodes["row"][i])
        rows = [nodes["row"][i] for i in column]
        assert len(set(rows)) == len(rows) and min(rows) >= 0 and max(rows) < shown["rows"]
        above = [nodes["row"][nodes["parent"][i]] for i in column]
        assert above == sorted(above), "lines do not cross"
        for one, two in itertools.pairwise(column):
            if nodes["parent"][one] == nodes["parent"][two]:
                assert nodes["total"][one] >= nodes["total"][two], "the likeliest child first"
        assert len(column) + shown["steps"][number - 1]["omitted"] == len(step)
        assert sum(shown["steps"][number - 1][fate] for fate in ("kept", "complete", "beaten", "pruned")) == len(step)
        tallest = max(tallest, len(column))
    assert shown["rows"] == tallest, "no more rows than nodes of a step"
    greedy = greedy_search(model, *SOURCE, **IDS, max_length=12)[0]
    tokens = [*greedy.tokens, *[EOS] * greedy.finished]
    assert [nodes["token"][i] for i in shown["greedy"]] == tokens[: len(shown["greedy"])] and shown["greedy"]
    if nodes["fate"][shown["greedy"][-1]] == "complete":
        assert len(tokens) == len(shown["greedy"])
    best = [nodes["token"][i] for i in shown["best"]]
    assert best[: len(tree.best[0].tokens)] == tree.best[0].tokens
    assert nodes["score"][shown["best"][-1]] == pytest.approx(tree.best[0].score, rel=1e-4)


@pytest.mark.slow
def test_greedy_loses_and_two_beams_win():
    view = BeamView(searcher(chain()), WORDS, width=1)
    text = lambda name: [view.trees[0]["nodes"]["text"][i] for i in view.trees[0][name]]  # noqa: E731
    assert text("best") == text("greedy") == ["the", "cat", "sleeps", "<eos>"]
    view.width = 2
    assert text("best") == ["a", "dog", "sleeps", "<eos>"] and text("greedy") == ["the", "cat", "sleeps", "<eos>"]
    (truth,) = exhaustive_search(chain(), *SOURCE, **IDS, max_length=6)
    assert [WORDS[token] for token in truth[0].tokens] == ["a", "dog", "sleeps"]
    assert view.tree.best[0].score == pytest.approx(truth[0].score) == pytest.approx(math.log(0.45 * 0.9**3))


def test_a_slider_searches_again_once():
    calls = []
    view = BeamView(searcher(chain(), calls), WORDS, alphas=(0, 1.5))
    assert calls == [(2, 0.0)] and view.step == 4
    view.width = 3
    view.alpha = 1.5
    assert calls == [(2, 0.0), (3, 0.0), (3, 1.5)]
    assert (view.trees[0]["width"], view.trees[0]["alpha"], len(view.trees)) == (3, 1.5, 1)
    assert view.trees[0]["steps"][3]["penalty"] == pytest.approx(1.5**1.5, rel=1e-4)
    view.alpha = 1.5 + 1e-12
    assert len(calls) == 3, "the same, up to rounding"


def test_steps_and_lock_when_the_tree_changes():
    trees = {1: by_hand(), 2: by_hand(), 3: by_hand()}
    trees[2].steps, trees[2].best = trees[2].steps[:2], []
    trees[3].steps[2] = [node for node in trees[3].steps[2] if node.tokens != (5, 8, 9)]
    view = BeamView(lambda width, alpha: trees[width], widths=(1, 2, 3), width=1)
    view.locked = [5, 8, 9]
    view.width = 2
    assert view.step == 2 and view.locked is None, "all steps stay all steps; the node is gone"
    view.locked = [5, 8]
    view.width = 3
    assert view.step == 3 and view.locked == [5, 8]
    view.step = 1
    view.width = 2
    assert view.step == 1
    view.locked = []
    assert view.locked == [], "the start can be locked, too"


def test_a_ready_tree_has_no_sliders():
    view = BeamView(by_hand(), step=1)
    assert view.data | {"questions": 0} == {"widths": [], "alphas": [], "typed": False, "questions": 0}
    assert view.step == 1 and view.sentence is None
    assert repr(view) == "BeamView(3 steps, 12 nodes)"
    view = BeamView(Tree([], by_hand().steps[:1]), lambda token: f"<{token}>")
    assert view.step == 1 and view.trees[0]["nodes"]["text"][1] == "<5>" and view.trees[0]["best"] == []


def test_what_is_wrong_changes_nothing():
    view = BeamView(searcher(chain()), WORDS)
    trees = view.trees
    for search in (lambda width, alpha: Tree([]), lambda width, alpha: [by_hand()], lambda width, alpha: 1 / 0):
        with pytest.raises((ValueError, TypeError, ZeroDivisionError)):
            BeamView(search)
    inner, view._search = view._search, lambda width, alpha: 1 / 0
    with pytest.raises(ZeroDivisionError), view.hold_trait_notifications():
        view.width, view.alpha = 4, 0.9
    assert (view.width, view.alpha, view.trees) == (2, 0.0, trees), "the numbers are those of the tree"
    view._search = inner
    view.width = 1
    assert view.tree.best[0].tokens == [THE, CAT, SLEEPS], "it still searches as before"


def broken(step, index, **changes):
    tree = by_hand(0.6)
    tree.steps[step][index] = dataclasses.replace(tree.steps[step][index], **changes)
    return tree


def other_best(tokens, log_probs):
    return Tree([Hypothesis(tokens, log_probs, True)], by_hand().steps)


test_one_sentence_for_a_wrong_tree = refuses(
    BeamView,
    [
        (Tree([]), "a tree without a node cannot be drawn"),
        (Tree([], [[], []]), "a tree without a node cannot be drawn"),
        (Tree([], [*by_hand().steps[:1], []]), "step 2 of the tree has no node"),
        (Tree([], by_hand().steps[:1] * 4000), "12,000 nodes is too large for a view, 10,000 is the most"),
        (Tree([], by_hand().steps[1:]), r"the node \(6, 8\) at step 1 has 2 tokens, not 1"),
        (broken(1, 0, tokens=(4, 8)), r"the node \(4, 8\) at step 2 has no parent"),
        (broken(1, 0, tokens=(7, 8)), r"\(7, 8\) at step 2 has a parent that is pruned, not kept"),
        (broken(1, 0, tokens=(5, 9)), "has a total of -1.1, which is not -0.5 [+] -0.1"),
        (Tree([], [by_hand().steps[0][:1] * 2]), r"the node \(5,\) at step 1 occurs twice"),
        (broken(0, 1, log_prob=math.nan), r"the node \(6,\) at step 1 has a log_prob of nan"),
        (broken(0, 1, total=-math.inf), "has a total of -inf"),
        (broken(2, 0, score=math.nan), r"the node \(6, 8, 2\) at step 3 has a score of nan"),
        (broken(2, 0, total=-1.0), "has a total of -1, which is not -1.1 [+] -0.1"),
        (broken(1, 2, score=-1.0), "has a score of -1, which is not its total -1.4 / 1.09"),
        (broken(1, 2, score=1.0), "has a score of 1, which is not its total"),
        (broken(0, 2, fate="lost"), "has the fate 'lost', which is none of kept, complete, beaten, pruned"),
        (other_best([6, 9], [-1.0, -2.0, -1.0]), r"the best hypothesis, \[6, 9\], is no complete node"),
        (other_best([6], [-1.0, -0.1]), "is no complete node"),
        (other_best([6, 8, 2, 2], [-1.0] * 5), "is no complete node"),
        (other_best([], []), "is no complete node"),
    ],
)


test_one_sentence_for_what_is_wrong = refuses(
    lambda **given: BeamView(**{"search": searcher(chain()), "decode": WORDS} | given),
    [
        ({"width": 0}, "a width is a whole number from 1, not 0"),
        ({"widths": (1, 2.5)}, "a width is a whole number from 1, not 2.5"),
        ({"alpha": -0.5}, "an alpha is finite and not below 0, not -0.5"),
        ({"alphas": (0, math.nan)}, "an alpha is finite and not below 0, not nan"),
        ({"decode": WORDS[:5]}, "the tree has a token 5, and the list of texts ends at 4"),
        ({"search": lambda width, alpha: []}, TypeError, "a search returns a Tree, the first of `trace`, not list"),
        ({"step": 9}, traitlets.TraitError, "step is 0 to 4, not 9"),
    ],
)


test_traits_are_checked = keeps(
    lambda: BeamView(searcher(chain()), WORDS),
    [
        ("width", 7, r"width is one of \[1, 2, 3, 4\], not 7"),
        ("alpha", 0.5, r"alpha is one of \[0.0, 0.3, .*\], not 0.5"),
        ("step", 5, "step is 0 to 4, not 5"),
        ("locked", [DOG], r"the tree has no node \(6,\)"),
    ],
)


def test_a_width_of_ones_own_is_on_the_slider():
    assert BeamView(searcher(chain()), WORDS, width=6, alpha=0.5).data["widths"] == [1, 2, 3, 4, 6]


def test_the_source_is_shown():
    view = BeamView(searcher(chain()), WORDS, source="the <b>cat</b> \ud800")
    assert view.sentence == view.trees[0]["sentence"] == "the <b>cat</b> �"


def test_a_sentence_that_is_typed(transformer):
    """The tree is that of a beam search; a sentence that cannot be searched leaves the former tree."""
    view = BeamView.of(transformer, "What big boxes!", alpha=0.6)
    assert view.data["typed"] and view.sentence == "What big boxes!"
    assert transformer.target.decode(view.tree.best[0].tokens) == transformer.translate(view.sentence, beam=2)
    view.sentence = "The girl sleeps."
    assert transformer.target.decode(view.tree.best[0].tokens) == transformer.translate("The girl sleeps.", beam=2)
    assert view.trees[0]["sentence"] == "The girl sleeps." and len(view.trees) == 1
    assert view.step == len(view.tree.steps), "all steps stay all steps"
    tree = view.tree
    for text, problem in [(" ", "There is nothing to translate"), ("the " * 101, "This sentence has 101 tokens")]:
        view.sentence = text
        assert view.tree is tree and view.trees[0]["sentence"] == "The girl sleeps."
        assert view.trees[1]["sentence"] == text and view.trees[1]["problem"].startswith(problem)
        assert [view.trees[1][name] for name in ("width", "alpha")] == [2, 0.6]
    shown, view.width = repr(view), 3
    assert repr(view) == shown and "width 2" in shown, "what was searched last"
    assert view.trees[1]["width"] == 3 and "This sentence has" in view.trees[1]["problem"]
    state = view.page_state(live=True)
    assert state["sentence"] == "The girl sleeps." and {one["sentence"] for one in state["trees"]} == {
        state["sentence"]
    }
    view.sentence = "The girl sleeps."
    assert len(view.trees) == 1 and view.trees[0]["width"] == 3


@pytest.mark.slow
def test_who_answers_in_a_page(transformer):
    view = BeamView.of(transformer, "The girl sleeps.")
    assert view.page_model() is not None and view.page_state(live=True)["data"]["typed"]
    assert not view.page_state()["data"]["typed"], "nobody answers"
    assert BeamView.of(Translator.pretrained("bahdanau", "cpu"), "The girl sleeps.").page_model() is None
    with pytest.raises(ValueError, match="There is nothing to translate"):
        BeamView.of(transformer, "")


def test_a_notebook_needs_no_other_search():
    calls = []
    view = BeamView(searcher(chain(), calls), WORDS)
    view._repr_mimebundle_()
    assert repr(view) == "BeamView(width 2, alpha 0, 4 steps, 14 nodes)" and len(calls) == 1


def test_a_page_has_the_trees_of_all_settings():
    calls = []
    view = BeamView(searcher(chain(), calls), WORDS, widths=(1, 2), alphas=(0, 0.6), alpha=0.6, step=2)
    shown = view.trees
    page = view.to_html()
    stored = re.search(r'id="state">(.*?)</script>', page, re.S)[1]
    state = json.loads(stored)
    assert [(tree["width"], tree["alpha"]) for tree in state["trees"]] == [(1, 0), (1, 0.6), (2, 0), (2, 0.6)]
    assert state["trees"][3] == json.loads(json.dumps(shown[0])) and (state["width"], state["step"]) == (2, 2)
    assert calls == [(2, 0.6), (1, 0.0), (1, 0.6), (2, 0.0), (2, 0.6)] and view.trees == shown, "only for the page"
    assert len(stored) < 7000, "characters of four small trees; the scripts are those of every page"
    assert (
        len(json.loads(re.search(r'id="state">(.*?)</script>', BeamView(by_hand()).to_html(), re.S)[1])["trees"]) == 1
    )
