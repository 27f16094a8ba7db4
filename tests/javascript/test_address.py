"""A link keeps what a view shows: what may stand in it, and what not, is decided without a page."""

import functools
import json
import random
from urllib.parse import parse_qs, urlencode

import pytest
import traitlets
from views.samples import PLAIN, SAMPLES

from seqlearn.views.shared.page import safe_json
from seqlearn.views.stored import classes
from seqlearn.views.view import View

SCRIPT = """
import { Address } from "./shared/address.js";
import { STATES } from "./shared/link_states.js";
let [address, state] = [];
const bytes = ({ base64 }) => new DataView(Uint8Array.from(Buffer.from(base64, "base64")).buffer);
const open = (text, named) => {
  state = JSON.parse(text, (_, part) => (part?.base64 ? bytes(part) : part));
  address = new Address({ get: (name) => state[name] }, named);
  return address.start;
};
const wrong = (values) => { try { return address.wrong(values, address.names); } catch { return "damaged"; } };
const read = (links) => links.map((link) => {
  const { values, problem } = address.read(link);
  return { values, problem: problem || wrong(values) };
});
const writtenAnew = (values) => {
  const before = state;
  state = { ...state, ...values };
  const link = address.write();
  state = before;
  return [link, address.read(link).values];
};
"""
HOSTILE = "<img src=x onerror=alert(1)><script>alert(1)</script>"
NO_STATE = {  # answers, and what a view asks for by itself
    "AttentionView": {"result", "steps", "other"},
    "BeamView": {"trees"},
    "KernelView": {"answer"},
    "PatchView": {"result"},
    "SamplingView": {"written"},
    "TranslatorView": {"result", "mapped", "ablations"},
}

# ---- Every trait is checked -----------------------------------------------------------------------------------------


def own(kind):
    """The traits of a view that are not those of all views."""
    return set(kind.class_trait_names(sync=True)) - set(View.class_trait_names(sync=True))


def test_each_trait_is_kept_or_is_an_answer(node):
    """A new trait is a state that a link keeps (`STATES` in link_states.js), or stands in `NO_STATE` here."""
    states = dict(node("() => Object.entries(STATES).map(([view, { checks }]) => [view, Object.keys(checks)])"))
    assert set(states) == set(classes())
    for name, kind in classes().items():
        assert set(states[name]) == own(kind) - NO_STATE.get(name, set()), name


TRIED = [
    None, True, False, -1, 0, 1, 2, 3, 4, 5, 7, 12, 40, 999, 0.0, 0.1, 0.35, 0.5, 1.5, -2.5, 1e6, -1e300, "", "head",
    "layer", "rollout", "cell", "encoder", "cross", "gaussian", "boxcar", "random", "sorted", "key", HOSTILE, [], [0],
    [1], [-1], [99], [0, 0], [1, 2], [5, 99], [0, 0, 0], ["query", 0], ["query", 2], ["query", 99], ["key", 1],
    ["key", 40], ["pair", 1, 1], ["pair", 99, 0], ["pair", 0], ["Query", 0], [None], [[0, 0]], [[0, 0], [0, 1]],
    [[0, 0], [0, 0]], [[9, 9]], [["ablate", "encoder", 0, 0]], ["encoder 0 0"], ["encoder 0.0"], [True], {},
    {"length": 0}, [[[]]],
]  # fmt: skip


@functools.cache
def sample(name):
    """A view, and its state in a page."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("jaxtyping.config.jaxtyping_disable", True)
        view = SAMPLES[name](PLAIN)
    view.unobserve_all()  # whoever answers questions
    return view, safe_json(view.page_state(True))


@pytest.fixture
def opened(node):
    """Opens the page of a view, and gives the view and what its links may hold. The AttentionView has no model."""

    def start(name):
        view, state = sample(name)
        return view, node("open", state, {"view": name, "id": f"{name}-1", "live": name != "AttentionView"})

    return start


def given_to(view, values):
    """Gives the values of a link to a view, which takes all of them or raises an error; then it is as before."""
    before = {trait: getattr(view, trait) for trait in values}
    for given in (values, before):
        with view.hold_trait_notifications():
            for trait, value in given.items():
                setattr(view, trait, value)


@pytest.mark.parametrize("name", SAMPLES)
def test_what_a_link_may_set_python_may_set(node, opened, name):
    """For each trait of a view, values of all kinds: what the page takes, the class in Python takes as well."""
    view, first = opened(name)
    texts = {trait for trait, kind in view.traits(sync=True).items() if isinstance(kind, traitlets.Unicode)}
    taken = 0
    for trait, start in first.items():
        turned = [[*start[1:], start[0]], start[:-1], [*start, start[0]]] if isinstance(start, list) and start else []
        values = [*TRIED, *turned]
        written = [value if trait in texts and isinstance(value, str) else json.dumps(value) for value in values]
        links = [urlencode({"view": f"{name}-1", trait: value, "link": 1}) for value in written]
        for answer in node("read", links):
            if not answer["problem"] and answer["values"] != first:
                assert answer["values"] | {trait: start} == first, "nothing else changed"
                given_to(view, {trait: answer["values"][trait]})
                link, again = node("writtenAnew", answer["values"])
                assert again == answer["values"] and set(parse_qs(link, keep_blank_values=True)) >= {
                    "view",
                    trait,
                    "link",
                }
                taken += 1
    assert taken


# ---- An address is data ---------------------------------------------------------------------------------------------

GOOD = [
    "view=RiddleView-1&riddle=1&tried=%5B%22encoder%200%201%22%5D&link=1",
    "view=TranslatorView-1&sentence=The+cat+sleeps.&beam=2&prefix=%5B%22le%22%5D&step=1&link=1",
    'view=TranslatorView-1&sentence=The+cat+sleeps.&edits=[["ablate","encoder",0,1],["weight","cross",0,0,0,1,0.5]]'
    '&locked=["pair",1,2]&link=1',
    "view=PiecesView-1&joins=3&word=seat&link=1",
    "view=BatchView-1&order=sorted&batch_size=16&link=1",
    "view=SoftmaxView-1&scores=[1,2,3,-1.5]&mask=[true,true,false,false]&link=1",
    "view=KernelView-1&kernel=boxcar&width=0.5&locked=[3]&link=1",
    "view=AttentionSteps-1&step=4&locked=[1,1]&link=1",
    "view=GruView-1&unit=3&word=2&z=0.5&r=1&link=1",
    "view=PositionView-1&position=10&offset=-7&pair=4&link=1",
    "view=AttentionView-1&sentence=The+cat+sleeps.&kind=cross&layer=1&head=2&show=layer&threshold=0.3&zoom=head&link=1",
    'view=AttentionView-1&edits=[["ablate","encoder",1,3]]&overlay=[[0,1],[1,2]]&locked=["query",3]&link=1',
    'view=PatchView-1&patches=[["encoder 1.3",8]]&link=1',
    "view=BeamView-1&width=1&alpha=0.6&step=2&locked=[17,4]&probabilities=true&link=1",
    "view=SamplingView-1&temperature=3.1&top_k=7&top_p=0.8&link=1",
]
VALUES = [
    "", "null", "true", "-1", "1e999", "-1e308", "9007199254740993", "0.1", "NaN", "[]", "{}", "[[[[[[[[[]]]]]]]]]",
    '{"__proto__":{"polluted":1}}', '["__proto__"]', '[["ablate","__proto__",0,0]]', '"constructor"', "toString",
    HOSTILE, "javascript:alert(1)", '["pair",999,999]', '["query",-1]', "[1e9,1e9]", "[null]", '["encoder 9 9"]',
    '[["weight","encoder",0,0,500,500,2]]', '[["weight","cross",99,0,0,0,0.5]]', '[["encoder 1.3",100000]]', "a" * 600,
    "%00%01%ff", "\u202e\ud7ff\u2028", "[" * 3000, "0" * 3000, '{"length":3,"0":1}', "(a+)+$", "../../etc/passwd",
]  # fmt: skip


def damaged(dice, links):
    """An address that nobody's page has made."""
    good = dice.choice(links)
    names = [pair.partition("=")[0] for pair in good.split("&")]
    kind = dice.randrange(7)
    if kind == 0:
        return good[: dice.randrange(len(good))]
    if kind == 1:  # bytes
        letters = list(good)
        for _ in range(dice.randint(1, 8)):
            letters[dice.randrange(len(letters))] = chr(dice.choice([dice.randrange(32, 127), dice.randrange(0x800)]))
        return "".join(letters)
    if kind == 2:  # several values at once
        wrong = {name: dice.choice(VALUES) for name in names[1:-1] if dice.random() < 0.7}
        return urlencode({"view": names and good[5 : good.index("&")], **wrong, "link": 1})
    if kind == 3:  # traits that are none, or that no address has
        strangers = ("__proto__", "constructor", "data", "result", "told", "toString")
        more = {name: dice.choice(VALUES) for name in strangers}
        return good.replace("&link", f"&{urlencode(more)}&link")
    if kind == 4:
        return good.replace("link=1", f"link={dice.choice([0, 2, '1.0', 'x', '__proto__', 10**30])}")
    if kind == 5:
        view = dice.choice(["__proto__", "constructor", HOSTILE, "BeamView-99", "", "toString", "javascript:alert(1)"])
        return good.replace(good[: good.index("&")], urlencode({"view": view}))
    name = dice.choice(names[1:-1])  # one value, and the others as they were
    return "&".join(
        urlencode({name: dice.choice(VALUES)}) if pair.startswith(f"{name}=") else pair for pair in good.split("&")
    )


@pytest.mark.parametrize("name", SAMPLES)
def test_damaged_addresses_do_no_harm(node, opened, name):
    """What can be read in any of them, the class in Python takes."""
    view, first = opened(name)
    dice = random.Random(name)
    links = [damaged(dice, [link for link in GOOD if name in link]) for _ in range(500)]
    refused = 0
    for answer in node("read", links):
        refused += bool(answer["problem"])
        if not answer["problem"] and answer["values"] != first:
            given_to(view, answer["values"])
    assert refused > 100
    assert node("() => [{}.polluted ?? null, address.now()]") == [None, first]


@pytest.mark.parametrize(
    ("state", "why"),
    [
        ({"link": 2}, "This link is from another version of the page"),
        ({"link": ""}, "This link is damaged"),
        ({"beam": 3}, "This link is damaged"),
        ({"prefix": json.dumps(["le"] * 5000)}, "This link is too long"),
        ({"sentence": "the " * 200}, "The sentence in this link has 800 characters, and 500 is the most"),
        ({"view": "BeamView-1"}, "This link is damaged"),
        ({"beam": 1}, ""),
    ],
)
def test_a_link_that_cannot_be_opened_says_why(node, opened, state, why):
    opened("TranslatorView")
    (answer,) = node("read", [urlencode({"view": "TranslatorView-1", "link": 1} | state)])
    assert answer["problem"] == (f"{why}, so the page opens as it is." if why else "")
