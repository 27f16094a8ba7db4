"""The checks of lesson 05: right answers in other forms, and typical wrong ones, each with its own diagnosis."""

import re
from pathlib import Path

import nbformat
import pytest
import torch
import torch.nn.functional as F

from answers import all_right, judged, variants
from seqlearn import Translator, pad
from seqlearn.exercises import checking, lesson05

CELLS = nbformat.read(Path(__file__).parents[2] / "notebooks" / "05-sequence-to-sequence.ipynb", as_version=4).cells


def stepped(
    decoder,
    token,
    state,
    context,
    *,
    inputs=lambda e, s, c: [e, c],
    dim=-1,
    old=lambda state: state,
    rated=lambda new: new,
    kept=lambda new: new,
):
    """The solution of 5.1, with a switch for each part of it that a wrong answer changes."""
    both = torch.cat(inputs(decoder.embedding(token), state, context), dim=dim)
    new = decoder.cell(both, old(state))
    return decoder.dense(rated(new)), kept(new)


def wrong(**switches):
    return lambda *args: stepped(*args, **switches)


def without_a_gradient(*args):
    with torch.no_grad():
        return stepped(*args)


def in_place_state(decoder, token, state, context):
    state *= 0.5
    return stepped(decoder, token, state, context)


def into_the_parameters(decoder, *args):
    decoder.dense.bias.data += 1
    return stepped(decoder, *args)


WRONG_DECODER_STEPS = {
    "logits alone": (lambda *args: stepped(*args)[0], "return two things: the logits and the new state"),
    "state alone": (lambda *args: stepped(*args)[1], "return two things: the logits and the new state"),
    "three things": (lambda *args: (*stepped(*args), args[3]), "return two things"),
    "exchanged": (lambda *args: stepped(*args)[::-1], "the logits come first: `return logits, state`.\n"),
    "no dense": (lambda *args: (stepped(*args)[1],) * 2, "yet. `decoder.dense` is missing: it makes the logits"),
    "one below the other": (wrong(dim=0), "you joined along the first axis: `dim=-1`"),
    "added": (wrong(inputs=lambda e, s, c: [e + c]), "or you added them: `torch.cat` puts them side by side"),
    "no context": (wrong(inputs=lambda e, s, c: [e]), "one of the two is missing"),
    "no token": (wrong(inputs=lambda e, s, c: [c]), "one of the two is missing"),
    "an id for an embedding": (
        lambda d, token, state, context: stepped(d, token, state, context, inputs=lambda *_: [token[:, None], context]),
        "the ids of the tokens went in without their embedding",
    ),
    "ids joined with the context": (
        lambda d, token, state, context: d.cell(torch.cat([token, context], -1), state),
        "the ids of the tokens went in without their embedding: look it up first",
    ),
    "columns of ids, one below the other": (
        lambda d, token, state, context: d.cell(torch.cat([token[:, None], context]), state),
        "the ids of the tokens went in without their embedding",
    ),
    "ids alone": (lambda d, token, state, context: d.cell(token, state), "without their embedding"),
    "two tensors for a list": (
        lambda d, token, state, context: d.cell(torch.cat(d.embedding(token), context), state),
        "`torch.cat` takes one list of tensors: `torch.cat([one, other], dim=-1)`",
    ),
    "two tensors for a list, by name": (
        lambda d, token, state, context: d.cell(torch.cat(d.embedding(token), context, dim=-1), state),
        "`torch.cat` takes one list of tensors",
    ),
    "two tensors and an axis": (
        lambda d, token, state, context: d.cell(torch.cat(d.embedding(token), context, -1), state),
        "`torch.cat` takes one list of tensors",
    ),
    "all three": (wrong(inputs=lambda e, s, c: [e, c, s]), "embedding and context side by side; yours: (2, 12)"),
    "no state": (
        lambda d, token, state, context: (d.dense(d.cell(torch.cat([d.embedding(token), context], -1))), state),
        "needs the state, too",
    ),
    "arguments of the cell exchanged": (
        lambda d, token, state, context: (d.cell(state, torch.cat([d.embedding(token), context], -1)), state),
        "the two arguments of `decoder.cell` are exchanged",
    ),
    "the best word": (
        lambda *args: (stepped(*args)[0].argmax(-1), stepped(*args)[1]),
        "return the logits of *all* words",
    ),
    "dense of both": (
        lambda d, token, state, context: (d.dense(torch.cat([state, context], -1)), state),
        "rates the words from the new state, which has 4 numbers here; you gave it 8",
    ),
    "one sentence": (lambda *args: [one[0] for one in stepped(*args)], "should have shape (2, 7); yours: (7,)"),
    "no axis for a batch of one": (
        lambda *args: [one.squeeze() for one in stepped(*args)],
        "should have shape (1, 6); yours: (6,). An axis of",
    ),
    "two times nothing": (lambda *args: (None, None), "this should be the logits, a number for each word."),
    "no gradient": (without_a_gradient, "no gradient flows"),
    "detached state": (wrong(kept=lambda new: new.detach()), "no gradient flows"),
    "old state cut off": (wrong(old=lambda state: state.detach()), "no gradient gets from the logits to the old state"),
    "context cut off": (wrong(inputs=lambda e, s, c: [e, c.detach()]), "from the logits to the context: no `detach`"),
    "embeddings cut off": (wrong(inputs=lambda e, s, c: [e.detach(), c]), "from the logits to the embeddings"),
    "logits cut off": (wrong(rated=lambda new: new.detach()), "no gradient gets from the logits to the old state"),
    "new state cut off": (
        wrong(kept=lambda new: new.detach().requires_grad_()),
        "gets from the new state to the old state",
    ),
    "in place": (in_place_state, "`state` has changed"),
    "parameters": (into_the_parameters, "the parameters of the decoder have changed"),
    "64 bits": (lambda *args: [one.double() for one in stepped(*args)], "the logits should be torch.float32"),
    "a crash": (
        lambda d, token, state, context: d.cell(torch.cat([d.embedding(token)[0], context], -1), state),
        "your code stopped with RuntimeError: Tensors must have same number of dimensions",
    ),
}


test_wrong_decoder_steps = judged(
    lesson05.check_decoder_step, "5.1", WRONG_DECODER_STEPS.values(), ids=WRONG_DECODER_STEPS
)


def cell_by_hand(decoder, token, state, context):
    both, cell = torch.hstack([decoder.embedding.weight[token], context]), decoder.cell
    of_word = (both @ cell.weight_ih.T + cell.bias_ih).chunk(3, -1)
    of_state = (state @ cell.weight_hh.T + cell.bias_hh).chunk(3, -1)
    reset, update = (torch.sigmoid(one + other) for one, other in zip(of_word[:2], of_state[:2], strict=True))
    state = (1 - update) * torch.tanh(of_word[2] + reset * of_state[2]) + update * state
    return F.linear(state, decoder.dense.weight, decoder.dense.bias), state


def sentence_by_sentence(decoder, token, state, context):
    both = torch.stack([torch.cat([decoder.embedding(one), other]) for one, other in zip(token, context, strict=True)])
    state = decoder.cell(both, state)
    return [torch.stack([decoder.dense(one) for one in state]), state]


def one_sentence_at_a_time(decoder, token, state, context):
    rows = [stepped(decoder, *(one[None] for one in row)) for row in zip(token, state, context, strict=True)]
    return tuple(torch.cat(each) for each in zip(*rows, strict=True))


def by_one_hot(decoder, token, state, context):
    table = decoder.embedding.weight
    both = torch.cat((F.one_hot(token, len(table)).float() @ table, context), 1)
    state = decoder.cell(input=both, hx=state)
    return state @ decoder.dense.weight.T + decoder.dense.bias, state


def into_one_tensor(decoder, token, state, context):
    embedded = F.embedding(token, decoder.embedding.weight)
    both = state.new_zeros(len(token), embedded.shape[1] + context.shape[1])
    both[:, : embedded.shape[1]], both[:, embedded.shape[1] :] = embedded, context
    return decoder.dense(new := decoder.cell(both, state)), new


RIGHT_DECODER_STEPS = [lesson05.decoder_step, stepped, cell_by_hand, sentence_by_sentence, by_one_hot, into_one_tensor]
RIGHT_DECODER_STEPS += [one_sentence_at_a_time]


test_right_decoder_steps = all_right(lesson05.check_decoder_step, "5.1", RIGHT_DECODER_STEPS)


def test_a_check_leaves_the_random_numbers_of_the_lesson_alone(capsys):
    before = torch.random.get_rng_state()
    lesson05.check_decoder_step(lesson05.decoder_step)
    assert torch.equal(torch.random.get_rng_state(), before)


def test_ours_is_the_folded_solution():
    names = [cell.id for cell in CELLS]
    text = CELLS[names.index("l05-y1c")].source
    solution = re.search(r"<summary>Solution</summary>\s*```python\n(.*?)```", text, re.DOTALL)[1]
    head, body = solution.strip().split("\n", 1)
    code = Path(lesson05.__file__).read_text("utf-8")
    assert head in code and body in code
    assert CELLS[names.index("l05-y1a")].source.splitlines()[0] == head


@pytest.mark.parametrize("answer", [lambda *args: None, lambda *args: 1 / 0, wrong(dim=0)])
def test_who_is_stuck_goes_on_with_our_step(answer, capsys):
    assert lesson05.yours_or_ours(answer).decoder_step is lesson05.decoder_step
    assert capsys.readouterr().out == "decoder_step: ours\n" and not checking._wrong_tries


@pytest.mark.parametrize("answer", RIGHT_DECODER_STEPS[1:])
def test_a_right_step_is_taken(answer, capsys):
    assert lesson05.yours_or_ours(answer).decoder_step is answer
    assert capsys.readouterr().out == "decoder_step: yours\n"


@pytest.fixture(scope="module")
def untrained(parts):
    """The untrained translator of section 3."""
    translator = Translator.untrained("seq2seq", parts, ("en", "fr"), num_hiddens=256, seed=5)
    translator.model.cpu().eval()
    return translator


@pytest.mark.slow
@pytest.mark.parametrize("answer", RIGHT_DECODER_STEPS)
def test_the_lessons_model_with_a_learners_step_is_the_packages(answer, parts, untrained):
    """The lesson's own cells around the step: same logits to 1e-5, same translations."""
    translator = untrained
    names = {"my": lesson05.yours_or_ours(answer), "translator": translator, "vocab": translator.target.vocab}
    assert names["my"].decoder_step is answer
    exec("import torch\nfrom torch import nn\nfrom torch.nn.utils.rnn import pack_padded_sequence", names)
    exec("from seqlearn import pad\nmodel = translator.model", names)
    sources = {cell.id: cell.source for cell in CELLS}
    for name in ("l05-22", "l05-261", "l05-281", "l05-y4"):
        exec(sources[name], names)
    sentences = [pair.source for pair in parts.test[:5]]
    source, lens = pad([translator.source.encode(text) for text in sentences], 0)
    target, _ = pad([[1, *translator.target.encode(pair.target)] for pair in parts.test[:5]], 0)
    with torch.no_grad():
        mine = names["all_steps"](target, names["encoder"](source, lens))
        theirs = translator.model(source, lens, target)
    assert (mine - theirs).abs().max() < 1e-5
    assert [names["write"](text, 12) for text in sentences] == translator.translate_all(sentences, max_length=12)


def right_loss(logits, labels, pad):
    """The solution of 5.3."""
    losses = -logits.log_softmax(-1).gather(-1, labels[..., None])[..., 0]
    real = labels != pad
    return (losses * real).sum() / real.sum()


def word_losses(logits, labels):
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="none").view(labels.shape)


def clamped(logits, labels, pad):
    chosen = logits.softmax(-1).gather(-1, labels[..., None])[..., 0]
    return -chosen.clamp(min=1e-9).log()[labels != pad].mean()


def naive_log(logits, labels, pad):
    powers = logits.exp()
    chosen = (powers / powers.sum(-1, keepdim=True)).gather(-1, labels[..., None])[..., 0]
    return -chosen.log()[labels != pad].mean()


def writes(logits, labels, pad):
    loss = right_loss(logits, labels, pad)
    logits.data.zero_()
    return loss


def only_logits_masked(logits, labels, pad):
    return F.cross_entropy(logits[labels != pad], labels)


def only_labels_masked(logits, labels, pad):
    return F.cross_entropy(logits.flatten(0, 1), labels[labels != pad])


WRONG_LOSSES = [
    (
        lambda logits, labels, pad: word_losses(logits, labels)[(labels != pad).cumprod(1).bool()].mean(),
        "for labels [[3, 1, 0], [0, 2, 3], [1, 0, 2]] with",
    ),
    (
        lambda logits, labels, pad: word_losses(logits, labels)[(labels != pad).sort(1, True)[0]].mean(),
        "for labels [[3, 1, 0], [0, 2, 3], [1, 0, 2]] with",
    ),
    (clamped, "are kept above 1e-09 or so, which hides large losses"),
    (naive_log, "with logits in the hundreds the loss is nan"),
    (lambda *args: right_loss(*args) + 1, "the loss should be"),
    (lambda *args: right_loss(*args).detach(), "no gradient flows"),
    (lambda *args: torch.tensor(right_loss(*args).item(), requires_grad=True), "no gradient flows"),
    (lambda logits, *args: right_loss(logits.detach(), *args).requires_grad_(), "no gradient flows"),
    (lambda *args: right_loss(*args).item(), "return a tensor: training asks it for its gradient"),
    (
        lambda logits, labels, pad: word_losses(logits, labels),
        "the whole batch, should have shape (); yours: (2, 5)",
    ),
    (writes, "`logits` has changed"),
    (lambda logits, labels, pad: F.cross_entropy(logits, labels), "wants the classes on axis 1: flatten both"),
    (only_logits_masked, "leave the padding out of both"),
    (only_labels_masked, "leave the padding out of both"),
    (
        lambda logits, labels, pad: word_losses(logits, labels)[labels != pad].clamp(max=20).mean(),
        "do not cut off large losses",
    ),
]


test_wrong_losses = judged(lesson05.check_masked_loss, "5.3", WRONG_LOSSES)


test_right_losses = all_right(
    lesson05.check_masked_loss,
    "5.3",
    [
        right_loss,
        lambda logits, labels, pad: F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=pad),
        lambda logits, labels, pad: word_losses(logits, labels)[labels != pad].mean(),
        lambda logits, labels, pad: right_loss(logits.double(), labels, pad),
        lambda logits, labels, pad: F.cross_entropy(logits.transpose(1, 2), labels, ignore_index=pad),
    ],
)


def right_greedy(step, bos, eos, limit, *, first=None, keep_eos=False, stop=True, carry=True, feed="chosen", pick=int):
    """The solution of 5.4, with a switch for each typical mistake."""
    tokens, token, state = [], bos if first is None else first, None
    while len(tokens) < limit:
        scores, after = step(token, state)
        state = after if carry else state
        chosen = pick(scores.argmax())
        if chosen == eos and stop:
            if keep_eos:
                tokens.append(chosen)
            break
        tokens.append(chosen)
        token = chosen if feed == "chosen" else bos
    return tokens


def until_the_limit(step, bos, eos, limit):
    tokens = right_greedy(step, bos, eos, limit, stop=False)
    return tokens[: tokens.index(eos)] if eos in tokens else tokens


def with_a_for_loop(step, bos, eos, limit):
    tokens, token, state = [], bos, None
    for _ in range(limit):
        scores, state = step(token, state)
        token = int(scores.argmax())
        if token == eos:
            break
        tokens.append(token)
    return tokens


def sampled(scores):
    return torch.multinomial(scores.softmax(-1), 1, generator=torch.Generator().manual_seed(0))


def worst(step, bos, eos, limit):
    return [int(step(bos, None)[0].argmin())]


looped, CALL = variants(with_a_for_loop), "step(token, state)"
WRONG_GREEDIES = [
    (lambda step, bos, eos, limit: right_greedy(step, bos, eos, max(limit, 1)), "limit"),
    (lambda *args: [args[1], *right_greedy(*args)], "your list starts with bos (1)"),
    (lambda *args: right_greedy(*args, keep_eos=True), "it does not belong in the list"),
    (lambda *args: right_greedy(*args, stop=False), "eos (2) ends the sentence: stop there"),
    (looped("for _ in range(limit)", "while token != 99", "if token == eos", "if token == 98"), "your loop never ends"),
    (
        looped("\n    return tokens", "", "break", "return tokens"),
        "nothing is returned when the limit is reached: put `return` after the loop",
    ),
    (lambda step, bos, eos, limit: right_greedy(step, bos, eos, 50), "with limit 7 there are 7 tokens at most"),
    (lambda step, bos, eos, limit: right_greedy(step, bos, eos, limit - 1), "you stop too early: 7 tokens"),
    (lambda *args: right_greedy(*args, carry=False), "has the state None again"),
    (looped(CALL, "step(token, state)[0], step(token, state)[1]"), "call `step` once a round, and pass on its state"),
    (
        looped(CALL, "(after := step(token, state))[0], after[1] if state is None else state"),
        "the same old state at each step",
    ),
    (lambda *args: right_greedy(*args, feed="bos"), "step number 2 was given bos (1) again"),
    (lambda *args: right_greedy(*args, first=args[2]), "start with step(bos, None); you called step(2, None)"),
    (lambda *args: right_greedy(*args, pick=lambda best: best), "use `int(scores.argmax())`"),
    (lambda *args: torch.tensor(right_greedy(*args)), "a list of tokens; yours is of type Tensor"),
    (worst, "the best tokens are [4, 3, 3, 5]; yours: [7]"),
    (looped("argmax", "argmin"), "which has the smallest score"),
    (
        looped("scores.argmax()", "sampled(scores)"),
        "the largest score was that of 4: greedy search takes the best token",
    ),
    (looped("argmax()", "topk(2).indices[1]"), "no sampling"),
    (looped("argmax", "max"), "`scores.max()` is its score"),
    (lambda step, *args: right_greedy(lambda *given: step(*given)[::-1], *args), "returns the scores first"),
    (lambda step, *args: right_greedy(lambda token, state: step(state, token), *args), "call step(token, state)"),
    (lambda step, *args: right_greedy(lambda token, state: step([token], state), *args), "you gave it list and"),
    (
        lambda *args: [token for token in right_greedy(*args, stop=False) if token != args[2]],
        "eos (2) ends the sentence: stop there",
    ),
    (until_the_limit, "eos (2) ends the sentence: stop there"),
    (lambda step, bos, eos, limit: right_greedy(step, bos, 2, limit), "eos (7) ends the sentence: stop there"),
    (lambda step, bos, eos, limit: step(bos), "your code stopped with TypeError"),
]


test_wrong_greedies = judged(lesson05.check_greedy, "5.4", WRONG_GREEDIES)


def numpy_tokens(step, bos, eos, limit):
    """Tokens of NumPy's type, and tensors that are fed back."""
    tokens, token, state = [], torch.tensor(bos), None
    while len(tokens) < limit:
        scores, state = step(token, state)
        token = scores.argmax()
        if token == eos:
            break
        tokens.append(scores.numpy().argmax())
    return tokens


def one_call_more(step, bos, eos, limit):
    tokens, state = [bos], None
    for _ in range(limit + 1):
        scores, state = step(tokens[-1], state)
        tokens.append(max(range(len(scores)), key=lambda place: scores[place]))
        if tokens[-1] == eos:
            break
    tokens = tokens[1:]
    return tokens[: tokens.index(eos)] if eos in tokens else tokens[:limit]


test_right_greedies = all_right(
    lesson05.check_greedy, "5.4", [right_greedy, with_a_for_loop, one_call_more, numpy_tokens]
)


def right_step(x, h, W, U):
    """The solution of 5.5."""
    r, z = (torch.sigmoid(W[i] @ x + U[i] @ h) for i in range(2))
    n = torch.tanh(W[2] @ x + r * (U[2] @ h))
    return (1 - z) * n + z * h


def in_place(x, h, W, U):
    answer = right_step(x, h, W, U)
    h.copy_(answer)
    return answer


written = variants(right_step)
WRONG_STEPS = [
    (written("r * (U[2] @ h)", "r * U[2] @ h"), "yet. brackets are missing: `r * U[2] @ h`"),
    (written("(1 - z) * n + z * h", "(1 - z) @ n + z @ h"), "one number came out: `@` of two vectors"),
    (lambda *args: args[1], "the new state should be ["),
    (lambda *args: right_step(*args)[None], "the new state should have shape (2,); yours: (1, 2)"),
    (lambda *args: right_step(*args).tolist(), "of type list"),
    (lambda x, h, W, U: torch.sigmoid(W[0] * x + U[0] * h), "the matrix product is `@`"),
    (in_place, "`h` has changed"),
    (lambda x, h, W, U: torch.tanh(W @ x + U @ h), "three vectors came out: take one matrix at a time"),
    (lambda x, h, W, U: torch.cat([W, U]) @ torch.cat([x, h]), "your code stopped with RuntimeError"),
]


test_wrong_gru_steps = pytest.mark.slow(judged(lesson05.check_gru_step, "5.5", WRONG_STEPS))


def by_torch(x, h, W, U):
    cell = torch.nn.GRUCell(len(x), len(h), bias=False)
    cell.load_state_dict({"weight_ih": W.flatten(0, 1), "weight_hh": U.flatten(0, 1)})
    return cell(x[None], h[None])[0]


test_right_gru_steps = pytest.mark.slow(
    all_right(
        lesson05.check_gru_step,
        "5.5",
        [right_step, by_torch, lambda *args: right_step(*(tensor.double() for tensor in args))],
    )
)
