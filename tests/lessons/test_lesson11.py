"""The checks of lesson 11: right answers, typical wrong ones, and what the pictures of the lesson show."""

import functools
import itertools
from collections import Counter

import pytest
import torch

from answers import all_right, judged, variants
from seqlearn.analysis.edits import ablate, in_heads
from seqlearn.analysis.measures import choice_accuracy, rollout
from seqlearn.data.batches import pad
from seqlearn.data.grammar import noun_phrases, write_pairs
from seqlearn.data.grammar.lexicon import NAMES, NOUNS
from seqlearn.exercises import lesson11
from seqlearn.nn.recording import edit_attention
from seqlearn.translator.translator import Translator

pytestmark = pytest.mark.slow

# ---- 11.1 ----


def right_scores(weights, wanted):
    best = weights.argmax(-1)
    return torch.stack([torch.isin(best[:, row], torch.tensor(columns)) for row, columns in wanted]).float().mean(0)


def by_rule(rule):
    """Shares by a rule over (row of weights, wanted columns)."""
    return lambda weights, wanted: torch.tensor(
        [sum(float(rule(head[row], columns)) for row, columns in wanted) / len(wanted) for head in weights]
    )


def changes_wanted(weights, wanted):
    answer = right_scores(weights, wanted)
    wanted.pop()
    return answer


WRONG_SCORES = [
    (lambda weights, wanted: right_scores(weights[:2], wanted), "should have shape (3,); yours: (2,)"),
    (lambda weights, wanted: torch.stack([right_scores(weights, wanted)[i] for i in range(3)]), "your code stopped"),
    (lambda *args: right_scores(*args).mean(), "should have shape (3,); yours: ()"),
    (lambda *args: right_scores(*args).tolist(), "return a tensor; yours is of type list"),
    (lambda *args: torch.full((3,), 0.123), "the shares should be"),
    (changes_wanted, "`wanted` has changed"),
    (lambda weights, wanted: weights @ weights, "your code stopped with RuntimeError"),
]


test_wrong_scores = judged(lesson11.check_head_scores, "11.1", WRONG_SCORES)


def with_counts(weights, wanted):
    hits = [0] * len(weights)
    for head, maps in enumerate(weights):
        for row, columns in wanted:
            hits[head] += int(maps[row].argmax()) in columns
    return torch.tensor(hits) / len(wanted)


test_right_scores = all_right(
    lesson11.check_head_scores,
    "11.1",
    [right_scores, with_counts, by_rule(lambda row, columns: row[columns].max() == row.max())],
)


# ---- 11.2 ----


def right_rollout(weights):
    eye = torch.eye(weights.shape[-1], dtype=weights.dtype)
    total = eye
    for layer in weights:
        total = (layer.mean(0) + eye) / 2 @ total
    return total


def in_place(weights):
    weights += torch.eye(4)
    return weights.mean((0, 1))


def of_size_4(weights):
    total = torch.eye(4)
    for layer in weights:
        total = (layer.mean(0) + torch.eye(4)) / 2 @ total
    return total


WRONG_ROLLOUTS = [
    (of_size_4, "your code stopped with RuntimeError"),
    (lambda weights: 2 * right_rollout(weights), "should sum to 1"),
    (lambda weights: right_rollout(weights).roll(1, -1), "the first row should be"),
    (
        lambda weights: right_rollout(weights)[None],
        "the answer, (words, words), should have shape (4, 4); yours: (1, 4, 4)",
    ),
    (lambda weights: right_rollout(weights).tolist(), "return a tensor"),
    (in_place, "`weights` has changed"),
    (lambda weights: torch.eye(3) @ weights, "your code stopped with RuntimeError"),
]


test_wrong_rollouts = judged(lesson11.check_rollout, "11.2", WRONG_ROLLOUTS)


def by_the_package(weights):
    from seqlearn.analysis.attention_map import AttentionMap

    tokens = [str(place) for place in range(weights.shape[-1])]
    return rollout(AttentionMap(weights, tokens, tokens, "encoder")).weights[0, 0]


def with_a_product(weights):
    halved = [layer.mean(0) / 2 + torch.eye(layer.shape[-1]) / 2 for layer in weights]
    return functools.reduce(lambda total, layer: layer @ total, halved)


def in_double(weights):
    return right_rollout(weights.double())


test_right_rollouts = all_right(
    lesson11.check_rollout, "11.2", [right_rollout, by_the_package, with_a_product, in_double]
)


# ---- 11.3 ----


def last_of(may):
    return may & (may.flip(-1).cumsum(-1).flip(-1) == 1)


def right_edit(head, weights, may, *, rule=last_of):
    edited = weights.clone()
    edited[:, head] = rule(may[:, head]).to(weights.dtype)
    return edited


def last_place(may):
    return torch.ones_like(may).cumsum(-1) == may.shape[-1]


def first_of_empty_too(may):
    chosen_keys = last_of(may)
    chosen_keys[..., 0] |= ~may.any(-1)
    return chosen_keys


def second_last(may):
    to_come = may.flip(-1).cumsum(-1).flip(-1)
    return may & (to_come == to_come.max(-1, keepdim=True).values.clamp(max=2))


edited = variants(right_edit)
WRONG_EDITS = [
    (edited("weights.clone()", "weights"), "`weights` has changed"),
    (edited("weights.clone()", "torch.zeros_like(weights)"), "the other heads have become 0"),
    (lambda head, weights, may: last_of(may).float(), "only head 1 should change; other heads have changed, too.\n"),
    (lambda head, weights, may: right_edit(head, weights, may).bool(), "should be torch.float32; yours: torch.bool"),
    (edited("weights.clone()", "weights.float().clone()"), "should be torch.float64; yours: torch.float32"),
    (lambda head, *rest: right_edit(head, *rest, rule=last_place), "where nothing may be attended"),
    (lambda head, *rest: right_edit(head, *rest, rule=first_of_empty_too), "has got weight: its row stays 0"),
    (lambda head, *rest: right_edit(head, *rest, rule=lambda may: last_of(may) / last_of(may).sum(-1, True)), "a NaN"),
    (lambda head, *rest: right_edit(head, *rest, rule=second_last), "not on the *last* key"),
    (lambda head, *rest: right_edit(head, *rest, rule=lambda may: 0.5 * last_of(may)), "sums to 0.50"),
    (lambda head, weights, may: weights[:, head], "should have shape (2, 3, 4, 4); yours: (2, 4, 4)"),
    (lambda head, weights, may: 1.0, "return a tensor; yours is of type float"),
    (lambda head, weights, may: weights[head + 5], "your code stopped with IndexError"),
]


test_wrong_edits = judged(lesson11.check_look_at_last, "11.3", WRONG_EDITS)


def with_a_loop(head, weights, may):
    edited = weights.clone()
    for sentence, queries in enumerate(may[:, head].tolist()):
        for query, keys in enumerate(queries):
            edited[sentence, head, query] = 0
            if any(keys):
                edited[sentence, head, query, max(key for key, allowed in enumerate(keys) if allowed)] = 1
    return edited


def by_largest_place(head, weights, may):
    places = (may[:, head] * torch.arange(1, may.shape[-1] + 1)).amax(-1)  # 0: none
    edited = weights.clone()
    edited[:, head] = torch.nn.functional.one_hot(places, may.shape[-1] + 1)[..., 1:].to(weights.dtype)
    return edited


test_right_edits = all_right(lesson11.check_look_at_last, "11.3", [right_edit, with_a_loop, by_largest_place])


# ---- What the pictures show: stated anew, with other sentences where the lesson has made its choice ----

OTHER = dict(zip("le la il elle ils elles".split(), "la le elle il elles ils".split(), strict=True))
PEOPLE = {"person", "name"}
LAYERS = {"encoder": "encoder.blocks.{}.self_attention", "causal": "decoder.blocks.{}.self_attention"}
LAYERS["cross"] = "decoder.blocks.{}.cross_attention"


@pytest.fixture(scope="module")
def translator():
    return Translator.pretrained("transformer", "cpu")


def with_pronoun(translator, pairs, construction):
    return [
        pair
        for pair in pairs
        if pair.construction == construction
        and pair.antecedents
        and translator.source.tokenizer.tokenize(pair.source)[pair.antecedents[0].source] in ("it", "they", "them")
    ]


def question(attention, pair):
    """For encoder and cross: the row of the pronoun, the noun phrases before it, and the right one."""
    fact = pair.antecedents[0]
    before = [phrase for phrase in noun_phrases(attention.key_tokens) if phrase.noun < fact.source]
    columns = [[place for place in (phrase.article, phrase.noun) if place is not None] for phrase in before]
    row = fact.source if attention.kind == "encoder" else fact.target
    return row, columns, [phrase.noun for phrase in before].index(fact.source_noun)


def test_who_finds_the_antecedent(translator, parts):
    for name, least in (("object-pronoun", 0.84), ("because", 0.89)):
        pairs = with_pronoun(translator, parts.test, name)
        maps = translator.attend_all(pairs, "encoder")
        right = choice_accuracy(maps, [question(*each) for each in zip(maps, pairs, strict=True)])
        assert int(right.argmax()) == 7 and right[1, 3] > least
        maps = translator.attend_all(pairs, "cross")
        assert choice_accuracy(maps, [question(*each) for each in zip(maps, pairs, strict=True)]).max() < 0.6


def test_the_guessers_of_the_lesson(translator, parts):
    """Written anew: a guesser by number and kind of noun, and one by word, counted on train; on test, with a choice."""
    nouns = {form.lower(): (noun, number) for noun in (*NOUNS, *NAMES) for number, form in enumerate(noun.english)}

    def asked(pair):
        words, fact = translator.source.tokenizer.tokenize(pair.source), pair.antecedents[0]
        before = [phrase.noun for phrase in noun_phrases(words) if phrase.noun < fact.source]
        return words[fact.source], [words[position] for position in before], before.index(fact.source_noun)

    def fits(pronoun, word):
        kinds, number = set(nouns[word][0].kinds), nouns[word][1]
        return number == (pronoun != "it") and "place" not in kinds and not (pronoun == "it" and kinds & PEOPLE)

    meant, seen = Counter(), Counter()
    for name in ("object-pronoun", "because"):
        for pronoun, before, right in map(asked, with_pronoun(translator, parts.train, name)):
            seen.update((pronoun, word) for word in before)
            meant[pronoun, before[right]] += 1
    for name, n, with_choice, by_rule_all, by_word, by_rule_choice in (
        ("object-pronoun", 170, 58, 0.95, 0.95, 0.84),
        ("because", 204, 143, 0.61, 0.70, 0.46),
    ):
        questions = [asked(pair) for pair in with_pronoun(translator, parts.test, name)]
        rule = [
            max((i for i, word in enumerate(before) if fits(pronoun, word)), default=len(before) - 1) == right
            for pronoun, before, right in questions
        ]
        words = [
            max(range(len(before)), key=lambda i: (meant[pronoun, before[i]] / max(1, seen[pronoun, before[i]]), i))
            == right
            for pronoun, before, right in questions
        ]
        choice = [sum(fits(pronoun, word) for word in before) > 1 for pronoun, before, _ in questions]
        assert (len(questions), sum(choice)) == (n, with_choice)
        assert sum(rule) / n == pytest.approx(by_rule_all, abs=0.01)
        assert sum(words) / n == pytest.approx(by_word, abs=0.01)
        assert sum(itertools.compress(rule, choice)) / with_choice == pytest.approx(by_rule_choice, abs=0.01)


def without(translator, asked, heads, how=ablate):
    """The share of pronouns whose right form is likelier than the other gender's, with these heads edited."""
    source, lens = pad([translator.source.encode(pair.source) for pair, _ in asked], 0)
    vocab = translator.target.vocab
    target, _ = pad([[vocab.bos, *translator.target.encode(pair.target)] for pair, _ in asked], 0)
    edits = {}
    for kind, layer in {head[:2] for head in heads}:
        edits[LAYERS[kind].format(layer)] = in_heads(how, *[h for k, n, h in heads if (k, n) == (kind, layer)])
    with torch.inference_mode(), edit_attention(translator.model.eval(), edits):
        logits = translator.model(source, lens, target[:, :-1])
    marks = []
    for row, (_, place) in enumerate(asked):
        right = int(target[row, place + 1])
        (wrong,) = vocab.encode([OTHER[vocab.decode([right])[0]]])
        marks.append(bool(logits[row, place, right] > logits[row, place, wrong]))
    return sum(marks) / len(marks)


def asked_of(translator, parts, seed, count):
    known, tokenize = {pair.source for part in parts for pair in part}, translator.target.tokenizer.tokenize
    fresh = [pair for pair in write_pairs(count, seed=seed) if pair.source not in known]
    pairs = with_pronoun(translator, fresh, "object-pronoun")
    asked = [(pair, pair.antecedents[0].target) for pair in pairs]
    return [(pair, place) for pair, place in asked if tokenize(pair.target)[place] in OTHER][:600]


FIRST, SECOND = ("encoder", 1, 3), ("causal", 1, 0)
AT_ARTICLES = [("cross", 0, 1), ("cross", 0, 2)]
OTHER_CAUSAL = [("causal", *at) for at in itertools.product(range(2), range(4)) if at != (1, 0)]


def test_two_paths_on_other_sentences_than_the_lessons(translator, parts):
    asked = asked_of(translator, parts, seed=21, count=6_000)
    assert without(translator, asked, []) > 0.98
    assert 0.88 < without(translator, asked, [FIRST]) < 0.96
    assert without(translator, asked, [SECOND]) > 0.97
    assert without(translator, asked, [FIRST, SECOND]) < 0.62
    assert without(translator, asked, [FIRST, *OTHER_CAUSAL]) > 0.9
    assert without(translator, asked, [FIRST, *AT_ARTICLES]) < 0.6
    assert without(translator, asked, [FIRST, ("cross", 0, 0), ("cross", 0, 3)]) > 0.75


def test_the_second_path_looks_at_the_step_that_writes_the_article(translator, parts):
    """Asked when the noun phrase was read, causal 1.0 is poor; asked when it was about to be written, it is good."""
    pairs = with_pronoun(translator, parts.test, "object-pronoun")
    maps = translator.attend_all(pairs, "causal")
    questions = [in_french(*each) for each in zip(maps, pairs, strict=True)]
    assert choice_accuracy(maps, questions)[1, 0] < 0.6
    written = [(row, [[min(each) - 1] for each in columns], right) for row, columns, right in questions]
    shares = choice_accuracy(maps, written)
    assert int(shares.argmax()) == 4 and shares[1, 0] > 0.8


def in_french(attention, pair):
    """As `question`, for the causal maps: the row that writes the pronoun, the French noun phrases, the right one."""
    fact = pair.antecedents[0]
    before = [phrase for phrase in noun_phrases(attention.key_tokens, "fr") if phrase.noun <= fact.target]
    columns = [[place for place in (phrase.article, phrase.noun) if place is not None] for phrase in before]
    return fact.target, columns, [phrase.noun for phrase in before].index(fact.target_noun + 1)  # + 1: <bos>


def test_the_rule_for_noun_phrases_agrees_with_the_notes_of_the_corpus(translator, parts):
    facts = [(pair, fact) for pair in parts.train for fact in pair.antecedents]
    assert len(facts) == 12_382
    for pair, fact in facts:
        phrases = noun_phrases(translator.source.tokenizer.tokenize(pair.source))
        assert fact.source_article in [phrase.article for phrase in phrases if phrase.noun == fact.source_noun], pair


# ---- 11.5 ----


def experiment(
    parts=("choose", "measure"),
    least=0.2,
    control=True,
    pairs=True,
    alone=True,
    wrap=list,
    most=0.05,
    base=None,
    of_pairs=(),
    size=float,
):
    """An experiment, right or careless in one point."""

    def needed(right, heads, choose, measure, others):
        given = {"choose": choose, "measure": measure}

        def cost(group, sentences):
            return (base or right([], sentences)) - right(list(group), sentences)

        def fits(group):
            used = of_pairs if of_pairs and len(group) == 2 else parts
            return min(cost(group, given[part]) for part in used) >= least and (
                not control or (control is not True and len(group) == 2) or size(cost(group, others)) <= most
            )

        single = [{head} for head in heads if fits({head})]
        rest = [head for head in heads if not alone or {head} not in single]
        return wrap(single + [set(pair) for pair in itertools.combinations(rest, 2) if pairs and fits(pair)])

    return needed


def pairs_of(groups):
    return [group for group in groups if len(group) == 2]


def disjoint(groups):
    """No head in two groups."""
    return [group for place, group in enumerate(groups) if not any(group & other for other in groups[:place])]


EXPERIMENTS = [
    (experiment(), "right!"),
    (experiment(wrap=lambda groups: {frozenset(group) for group in groups}), "right!"),
    (experiment(wrap=lambda groups: [tuple(group) for group in groups] * 2), "right!"),
    (experiment(control=False), "without which everything breaks: ablated, it costs as much in `control`"),
    (experiment(parts=["choose"]), "what was chosen in `choose` has to hold in other sentences"),
    (experiment(least=0.05), "a head that costs less than 0.2"),
    (experiment(pairs=False), "misses a pair: each of the two costs nothing alone"),
    (experiment(alone=False), "names a pair in which one head alone costs 0.2"),
    (experiment(least=-1, pairs=False), "a head that costs nothing"),
    (experiment(least=0.5), "misses a head that costs 0.4 alone"),
    (experiment(least=0.3), "0.22 in `choose` (0.2 is enough)"),
    (experiment(least=0.11), "a head that costs less than 0.2"),
    (experiment(least=0.15), "a head that costs less than 0.2"),
    (experiment(least=0.25, pairs=False), "misses a head that costs 0.4 alone in `measure`, 0.22 in `choose`"),
    (experiment(least=0.39, pairs=False), "misses a head that costs 0.4 alone in `measure`, 0.22 in `choose`"),
    (experiment(most=0.3), "that costs 0.08 in `control`"),
    (experiment(most=0), "misses a head that costs 0.4"),
    (experiment(parts=["measure"]), "that costs nothing in `choose`"),
    (experiment(of_pairs=["measure"]), "a pair with a head that costs nothing in `choose`"),
    (experiment(of_pairs=["choose"]), "a pair with a head that costs nothing in `measure`"),
    (experiment(control="alone"), "a pair with a head without which everything breaks"),
    (experiment(base=0.95), "in one of our models"),
    (experiment(base=0.9), "in one of our models"),
    (experiment(size=abs), "less than nothing in `control`"),
    (experiment(wrap=lambda groups: [g for g in groups if len(g) == 1 or g == pairs_of(groups)[0]]), "in two pairs"),
    (experiment(wrap=lambda groups: [g for g in groups if len(g) == 2 or g == groups[0]]), "misses a head that costs"),
    (experiment(wrap=disjoint), "a head may stand in two pairs"),
    (lambda right, heads, *parts: experiment()(right, range(len(heads)), *parts), "take the heads of the list"),
    (lambda right, *given: right.groups(), "has no attribute"),
    (lambda right, heads, *parts: [(0, 0) for _ in [right([], parts[0])]], "a group has one or two of the heads"),
    (lambda right, heads, *parts: [], "`right` was never called"),
    (lambda right, heads, *parts: [0 for _ in [right([], parts[0])]], "a single head is a group, too; 0 is none"),
    (lambda right, heads, *parts: [{9} for _ in [right([], parts[0])]], "a group has one or two of the heads 0 to 3"),
    (lambda right, heads, *parts: [set(heads) for _ in [right([], parts[0])]], "yours is [0, 1, 2, 3]"),
    (lambda right, heads, *parts: right([], parts[0]), "return a list of groups, such as [{3}, {0, 2}]; yours is of"),
    (lambda right, heads, *parts: right([], parts[0][:2]), "asked about other sentences than the three lists"),
    (lambda right, heads, *parts: right(["1.3"], parts[0]), "asked about head '1.3'"),
    (lambda right, heads, *parts: [{"1.3"} for _ in [right([], parts[0])]], "return a list of groups"),
    (lambda right, heads, *parts: None, "not tried yet"),
]


@pytest.mark.parametrize(("answer", "diagnosis"), EXPERIMENTS)
def test_needed(answer, diagnosis, capsys):
    lesson11.check_needed(answer)
    said = capsys.readouterr().out
    assert said.startswith("Exercise 11.5: ") and diagnosis.lower() in said.lower(), said


def test_the_right_experiment_finds_the_needed_heads_alone_and_every_decoy_stands_somewhere():
    kinds = [kind for model in lesson11._ABLATED for kind in model.kinds]
    assert set(kinds) == {*lesson11._MISSED, *lesson11._SAID}
    lists = (lesson11._CHOOSE, lesson11._MEASURE, lesson11._CONTROL)
    for model in lesson11._ABLATED:
        found = experiment()(model, model.heads, *lists)
        assert set(map(frozenset, found)) == model.groups()
