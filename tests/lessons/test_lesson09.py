"""The checks of lesson 09: right answers in other forms, and typical wrong ones, each with its own diagnosis."""

import contextlib
import functools
import io
import itertools
import json
import math
import re
from pathlib import Path
from types import SimpleNamespace

import nbformat
import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from answers import all_right, judged, said_by, variants
from seqlearn import Translator, pad
from seqlearn.exercises import checking, lesson09, own_transformer
from seqlearn.nn.transformer import SIZES, TransformerConfig, TransformerEncoderBlock

STORED = Path(__file__).parents[2] / "assets" / "experiments"


def apart(x, heads):
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)


def together(x):
    return x.transpose(1, 2).flatten(2)


def attend(q, k, v, mask, heads):
    d = q.shape[-1]
    q, k, v = apart(q, heads), apart(k, heads), apart(v, heads)
    scores = q @ k.transpose(-2, -1) / (d / heads) ** 0.5
    weights = scores.masked_fill(~mask, -math.inf).softmax(-1)
    return together(weights @ v)


attending = variants(attend)


PARTS, JOINED = "apart(q, heads), apart(k, heads), apart(v, heads)", "together(weights @ v)"
WRITTEN = "together((weights.mul_(mask).div_(weights.sum(-1, keepdim=True))) @ v)"
WRONG_ATTENTIONS = [
    (attending("~mask", "mask"), "upside down: `True` means *may be attended*"),
    (attending("~mask", "~mask if mask.all() else mask"), "upside down: `True` means *may be attended*"),
    (attending("~mask", "~(mask.all() & mask)"), "there is a NaN in your answer"),  # not upside down
    (attending("~mask", "~mask[..., :1, :]"), "sentence 0, query 1 should be"),  # one row for all queries
    (attending("-math.inf", "-20"), "hidden keys still get a little weight"),
    (attending("-math.inf", "-100"), "hidden keys still get a little weight"),
    (attending("~mask", "~mask.reshape(-1, 1, *mask.shape[-2:])"), "your code stopped with RuntimeError"),
    (lambda *args: attend(*args).detach(), "the gradient is cut off"),
    (attending("weights @ v", "weights.detach() @ v"), "the gradient is cut off"),
    (torch.no_grad()(attend), "the gradient is cut off"),
    (
        attending("scores.masked_fill(~mask, -math.inf).softmax(-1)", "scores.softmax(-1)", JOINED, WRITTEN),
        "the gradient stops: you wrote into a tensor",
    ),
    (attending(PARTS, "(x.unflatten(-1, (heads, -1)) for x in (q, k, v))"), "steps come before heads: exchange axes"),
    (attending(JOINED, "weights @ v"), "the heads are still apart"),
    (attending(JOINED, "(weights @ v).transpose(1, 2)"), "two axes: join them"),
    (attending(JOINED, "(weights @ v).sum(1)"), "and not be added or averaged"),
    (attending(JOINED, "(weights @ v).flatten(2)"), "you joined steps and size"),
    (attending(JOINED, "weights"), "these are the weights"),
    (lambda q, k, v, mask, heads: v, "one vector for each *query*"),
    (lambda *args: attend(*args).tolist(), "return a tensor"),
    (lambda *args: (attend(*args), 1), "of type tuple: this should be the answer (batch, queries, d).\n"),
    (lambda *args: attend(*args) + 1, "sentence 0, query 0 should be"),
    (attending("d = q", "q *= 2\n    d = q"), "`q` has changed"),
    (lambda q, k, v, mask, heads: q @ k, "your code stopped with RuntimeError"),
]


test_wrong_attentions = judged(lesson09.check_attend, "9.1", WRONG_ATTENTIONS)


def head_by_head(q, k, v, mask, heads):
    found, size = [], q.shape[-1] // heads
    for head, may in enumerate(mask.expand(len(q), heads, q.shape[1], k.shape[1]).unbind(1)):
        mine = slice(head * size, (head + 1) * size)
        scores = q[..., mine] @ k[..., mine].mT * size**-0.5
        found.append(scores.masked_fill(~may, -math.inf).softmax(-1) @ v[..., mine])
    return torch.cat(found, -1)


def with_einsum(q, k, v, mask, heads):
    q, k, v = (x.view(*x.shape[:2], heads, -1) for x in (q, k, v))
    scores = torch.einsum("bqhi,bkhi->bhqk", q, k) * q.shape[-1] ** -0.5
    weights = torch.where(mask, scores, -torch.inf).softmax(3)
    return torch.einsum("bhqk,bkhi->bqhi", weights, v).reshape(*q.shape[:2], -1)


def fused(q, k, v, mask, heads):
    return together(F.scaled_dot_product_attention(apart(q, heads), apart(k, heads), apart(v, heads), attn_mask=mask))


def with_added_infinity(q, k, v, mask, heads):
    hidden = torch.zeros(mask.shape).masked_fill(mask.logical_not(), float("-inf"))
    q, k, v = (torch.stack(x.chunk(heads, dim=2), dim=1) for x in (q / (q.shape[2] / heads) ** 0.5, k, v))
    return torch.cat((torch.softmax(q @ k.mT + hidden, dim=3) @ v).unbind(1), dim=2)


by_powers = attending(
    "scores.masked_fill(~mask, -math.inf).softmax(-1)", "F.normalize(scores.exp() * mask, p=1, dim=-1)"
)


def word_by_word(q, k, v, mask, heads):
    (batch, queries), size = q.shape[:2], q.shape[-1] // heads
    mask, answer = mask.expand(batch, heads, queries, k.shape[1]), torch.zeros_like(q)
    for b, h, i in itertools.product(range(batch), range(heads), range(queries)):
        mine, kept = torch.arange(h * size, (h + 1) * size), mask[b, h, i].nonzero()[:, 0]
        keys = k[b].index_select(0, kept).index_select(1, mine)
        weights = torch.softmax(keys @ q[b, i, mine] / size**0.5, 0)
        answer[b, i, mine] = weights @ v[b].index_select(0, kept).index_select(1, mine)
    return answer


test_right_attentions = all_right(
    lesson09.check_attend,
    "9.1",
    [own_transformer.attend, head_by_head, with_einsum, fused, with_added_infinity, by_powers, word_by_word],
)


def encoder_block(block, x, mask):
    y = block.ln1(x)
    x = x + block.attention(y, y, mask)
    return x + block.ffn(block.ln3(x))


encoding = variants(encoder_block)


def causal(steps):
    return torch.ones(steps, steps, dtype=torch.bool).tril()


test_wrong_encoder_blocks = judged(
    lesson09.check_encoder_block,
    "9.2",
    [
        (lambda block, x, mask: (x, x), "of type tuple: this should be the answer (of the shape of x).\n"),
        (encoding("y, mask", "y, ~mask"), "the mask is upside down"),
        (encoding("(y, y, mask)", "(y, y, mask).detach()"), "the gradient is cut off"),
        (torch.no_grad()(encoder_block), "the gradient is cut off"),
        (encoding("y, mask", "y, torch.ones_like(mask)"), "the attention got another mask"),
        (encoding("y, mask", "y, causal(3)"), "the attention got another mask"),
        (encoding("y, mask", "y, mask.float()"), "the mask should be torch.bool, and yours is torch.float32"),
        (encoding("y, mask", "y, None"), "your mask is of type nonetype"),
        (encoding("x = x + ", "x += "), "not `x += ...`"),
        (lambda block, x, mask: x.mean(-1), "(of the shape of x) should have shape (2, 3, 4)"),
        (lambda block, x, mask: x, "neither pre-norm nor a mistake"),
        (lambda block, x, mask: block.attention(x, x, x, mask), "your code stopped with TypeError"),
        (lambda block, x, mask: block.ln2(x).foo, "your code stopped with AttributeError"),
    ],
)


def in_two_steps(block, x, mask):
    y = block.ln1(x)
    y = block.attention(y, other=y, mask=mask) + x
    return torch.add(block.ffn(block.ln3(y)), y)


def in_one_line(block, x, mask):
    return (z := x + block.attention(*[block.ln1(x)] * 2, mask)) + block.ffn(block.ln3(z))


def as_a_list(block, x, mask):
    stream = [x]
    for norm, part in ((block.ln1, lambda y: block.attention(y, y, mask)), (block.ln3, block.ffn)):
        stream.append(part(norm(sum(stream))))
    return torch.stack(stream).sum(0)


test_right_encoder_blocks = all_right(
    lesson09.check_encoder_block, "9.2", [own_transformer.encoder_block, in_two_steps, in_one_line, as_a_list]
)


def test_the_packages_encoder_block_is_right(capsys):
    """The check's idea of pre-norm is that of the package, with its parts put in."""

    def answer(parts, x, mask):
        block = TransformerEncoderBlock(TransformerConfig(4, 8, 2, dropout=0.0))
        layers = {"self_attention": lambda q, k, v, mask: parts.attention(q, k, mask), "ffn": parts.ffn}
        for name, function in {**layers, "norm1": parts.ln1, "norm2": parts.ln3}.items():
            delattr(block, name)
            object.__setattr__(block, name, function)
        return block(x, mask)

    assert said_by(lesson09.check_encoder_block, answer, capsys) == "Exercise 9.2: right!\n"


def decoder_block(block, x, memory, real):
    y = block.ln1(x)
    x = x + block.attention(y, y, causal(x.shape[1]))
    z = block.ln2(x)
    x = x + block.cross(z, memory, real)
    return x + block.ffn(block.ln3(x))


decoding = variants(decoder_block)


def seeing(past):
    """The right block, with another mask of self-attention for n = 4 steps."""
    return decoding("causal(x.shape[1])", past)


test_wrong_decoder_blocks = judged(
    lesson09.check_decoder_block,
    "9.3",
    [
        (seeing("causal(4).flip(1)"), "this is no causal mask"),
        (seeing("causal(4).float()"), "the mask should be torch.bool, and yours is torch.float32"),
        (seeing("causal(5)"), "should have shape (steps, steps), here (4, 4); yours: (5, 5)"),
        (seeing("causal(4).expand(2, 4, 4)"), "yours: (2, 4, 4)"),
        (seeing("None"), "your mask is of type nonetype"),
        (lambda b, x, m, real: x + b.attention(x, x, real), "got the mask of the *source*"),
        (lambda b, x, m, real: x + b.attention(x, m, real), "the memory belongs into `block.cross`"),
        (decoding("z, memory", "z, z"), "keys and values from the target"),
        (decoding("z, memory", "memory, z"), "the queries come from the *target*"),
        (decoding("z, memory, real", "z, memory, ~real"), "the mask of cross-attention is upside down"),
        (decoding("z, memory, real", "z, memory, causal(x.shape[1])"), "its mask is `real`"),
        (decoding("z, memory, real", "z, memory, torch.ones_like(real)"), "hides the padding of the *source*"),
        (lambda b, x, m, real: x[:, -1], "(of the shape of x) should have shape (2, 4, 6)"),
        (lambda b, x, m, real: x.add_(1), "`x` has changed"),
        (lambda b, x, m, real: x, "not a mistake that this check knows"),
        (decoding("(z, memory, real)", "(z, memory, real).detach()"), "the gradient is cut off"),
        (torch.no_grad()(decoder_block), "the gradient is cut off"),
        (lambda b, x, m, real: b.cross(x), "your code stopped with TypeError"),
    ],
)


def mask_by_comparison(n):
    places = torch.arange(n)
    return (places[None] <= places[:, None])[None, None]


def mask_by_triu(n):
    return ~torch.triu(torch.ones(n, n), diagonal=1).bool()


def mask_entry_by_entry(n):
    return torch.tensor([[key <= query for key in range(n)] for query in range(n)])


test_right_decoder_blocks = all_right(
    lesson09.check_decoder_block,
    "9.3",
    [
        own_transformer.decoder_block,
        seeing("mask_by_comparison(x.shape[1])"),
        seeing("mask_by_triu(x.shape[1])"),
        seeing("mask_entry_by_entry(x.shape[1])"),
        seeing("torch.ones(x.shape[1], x.shape[1]).tril() > 0"),
    ],
)


def losing(find=slice(1, None), reduce=None, **options):
    """A loss; `reduce` gets the losses of the words, and which ones are real."""

    def shifted_loss(model, source, target, pad):
        logits, labels = model(source, target[:, :-1]), target[:, find]
        if reduce is None:
            return F.cross_entropy(logits.transpose(1, 2), labels, ignore_index=pad, **options)
        return reduce(F.cross_entropy(logits.transpose(1, 2), labels, reduction="none"), labels != pad)

    return shifted_loss


def of_nll(change):
    def shifted_loss(model, source, target, pad):
        logs = change(model(source, target[:, :-1]))
        return F.nll_loss(logs.flatten(0, 1), target[:, 1:].flatten(), ignore_index=pad)

    return shifted_loss


WRONG_LOSSES = [
    (lambda model, source, target, pad: model(source, target[:-1]).mean(), "you cut off a *sentence*"),
    (losing(reduction="none"), "the losses of single words"),
    (losing(reduce=lambda loss, real: (loss * real).flatten()), "the losses of single words"),
    (losing(reduce=lambda loss, real: (loss * real).sum(1)), "the losses of two sentences"),
    (lambda *args: losing()(*args).item(), "a plain number: return the tensor"),
    (lambda *args: losing()(*args).detach(), "the gradient is cut off"),
    (lambda *args: losing()(*args).clamp(max=21), "should be 102.7; yours is 21.0: use `F.cross_entropy`"),
    (of_nll(lambda logits: (logits.softmax(-1) + 1e-9).log()), "do not cut off large losses"),
    (lambda model, source, target, pad: model(target, source).mean(), "the model reads the whole `source`, then"),
    (losing(find=slice(None)), "your code stopped with"),
    (lambda *args: losing()(*args) + 0.5, "the answer should be"),
]


test_wrong_losses = judged(lesson09.check_shifted_loss, "9.4", WRONG_LOSSES)


def with_a_mask(model, source, target, pad):
    logs = model(source, target[:, :-1]).log_softmax(-1)
    picked = logs.gather(2, target[:, 1:].unsqueeze(2)).squeeze(2)
    real = target[:, 1:] != pad
    return -picked[real].mean()


def word_after_word(model, source, target, pad):
    logits, found = model(source, target[:, :-1]), []
    for row, words in zip(logits, target, strict=True):
        for step in range(1, len(words)):
            if words[step] != pad:
                found.append(torch.logsumexp(row[step - 1], 0) - row[step - 1, words[step]])
    return sum(found) / len(found)


def with_narrow(model, source, target, pad):
    steps = target.shape[1]
    logits = model(source, target.narrow(1, 0, steps - 1)).transpose(1, 2)
    return torch.nn.CrossEntropyLoss(ignore_index=pad)(logits, target.narrow(1, 1, steps - 1))


def reads_one_too_many(model, source, target, pad):
    """The last logits are thrown away: what was read last has no label."""
    logits = model(source, target)[:, :-1]
    return F.cross_entropy(logits.reshape(-1, 9), target[:, 1:].reshape(-1), ignore_index=pad)


RIGHT_LOSSES = [
    own_transformer.shifted_loss,
    losing(),
    losing(reduce=lambda loss, real: (loss * real).sum() / real.sum()),
    of_nll(lambda logits: logits.log_softmax(-1)),
    with_a_mask,
    word_after_word,
    with_narrow,
    reads_one_too_many,
]


test_right_losses = all_right(lesson09.check_shifted_loss, "9.4", RIGHT_LOSSES)


def over_everything(of):
    """The argmax runs over all positions and words of what `of` takes of the logits."""

    def greedy(model, source, bos, eos, longest):
        encoded, words = model.encode(source), [bos]
        while len(words) <= longest:
            word = int(of(model.decode(torch.tensor([words]), *encoded)).argmax())
            if word == eos:
                break
            words.append(word)
        return words[1:]

    return greedy


def from_nothing(model, source, bos, eos, longest):
    return model.decode(torch.tensor([[]]), *model.encode(source))


def writing(*, pick=lambda logits: int(logits.argmax()), stop=True, limit=True, read=lambda words: words):
    """Greedy search; the options pick another word, do not stop, or read other words."""

    def greedy(model, source, bos, eos, longest):
        encoded, words = model.encode(source), [bos]
        while not limit or len(words) <= longest:
            words.append(pick(model.decode(torch.tensor([read(words)]), *encoded)[0, -1]))
            if stop and words[-1] == eos:
                return words[1:-1]
        return words[1:]

    return greedy


def one_call(model, source, bos, eos, longest):
    return model.decode(torch.full((1, longest), bos), *model.encode(source))[0].argmax(-1).tolist()


WRONG_SEARCHES = [
    (writing(stop=False, limit=False), "your loop does not stop"),
    (writing(limit=False), "your loop does not stop"),
    (over_everything(lambda logits: logits), "over all positions and words. Take the last position first"),
    (over_everything(lambda logits: logits[0]), "over all positions and words. Take the last position first"),
    (over_everything(lambda logits: logits[-1]), "over all positions and words. Take the last position first"),
    (from_nothing, "the prefix is empty: begin with `[bos]`."),
    (writing(pick=lambda logits: logits.argmax()), "the ids in your list are tensors"),
    (writing(pick=lambda logits: float(logits.argmax())), "the words so far are a tensor of ids"),
    (writing(read=lambda words: words[-1:]), "the *whole* prefix in each step"),
    (writing(read=lambda words: words[:1]), "never reads the words that you wrote"),
    (writing(read=lambda words: words[::-1]), "from `<bos>` on"),
    (lambda *args: torch.tensor(writing()(*args)), "`.tolist()` makes one"),
    (lambda *args: str(writing()(*args)), "yours is of type str"),
    (lambda *args: [word + 0.0 for word in writing()(*args)], "which are whole numbers"),
    (lambda model, source, bos, eos, longest: writing()(model, source, bos, 2, longest), "it should write"),
    (lambda model, source, bos, eos, n: writing()(model, source, 1, eos, n), "here 7; yours begin with 1."),
    (lambda model, source, bos, eos, n: writing()(model, source, eos, eos, n), "here 7; yours begin with 4."),
    (lambda model, source, bos, eos, n: model.decode([bos], *model.encode(source)), "a tensor of ids, (1, words)"),
    (lambda model, source, bos, eos, n: model.decode(source, source, source), "the two things that `model.encode`"),
    (lambda model, source, bos, eos, n: model.encode(source[:, :1]), "`model.encode` reads the source"),
    (lambda model, source, *rest: model.decode(model.encode(source)), "your code stopped with TypeError"),
    (one_call, "it should write"),
]


test_wrong_searches = judged(lesson09.check_greedy, "9.5", WRONG_SEARCHES)


def test_after_three_tries_a_section_above_the_exercise_is_named(capsys):
    for _ in range(3):
        lesson09.check_greedy(one_call)
    assert 'Read "4. Write your own Transformer" again' in capsys.readouterr().out


def draws(model, source, bos, eos, longest):
    encoded, words = model.encode(source), [bos]
    while len(words) <= longest and words[-1] != eos:
        logits = model.decode(torch.tensor([words]), *encoded)[0, -1]
        words.append(int(torch.multinomial(logits.softmax(-1), 1)))
    return words[1:]


def draws_by_noise(model, source, bos, eos, longest):
    """Gumbel's way, under no name that says so."""
    model = SimpleNamespace(encode=model.encode, decode=lambda *all, ask=model.decode: ask(*all) + noise(ask(*all)))
    return ours()[-1](model, source, bos, eos, longest)


def noise(logits):
    return -(-torch.rand_like(logits).log()).log()


@pytest.mark.parametrize("search", [draws, draws_by_noise])
def test_a_search_that_draws(search, capsys):
    assert "You *draw* a word" in said_by(lesson09.check_greedy, search, capsys)


def with_cat(model, source, bos, eos, longest):
    target, (memory, real) = torch.full((1, 1), bos), model.encode(source)
    while target.shape[1] <= longest and target[0, -1] != eos:
        last = model.decode(target, memory, real)[:, -1:]
        target = torch.cat([target, last.argmax(-1)], dim=1)
    return [word for word in target[0].tolist() if word not in (bos, eos)]


def with_a_for_loop(model, source, bos, eos, longest):
    encoded, said = model.encode(source), ()
    for _ in range(longest):
        logits = model.decode(torch.tensor((bos, *said)).view(1, -1), *encoded)
        word = logits.softmax(-1)[:, -1].max(-1).indices.item()
        if word == eos:
            return list(said)
        said = (*said, word)
    return said


def by_recursion(model, source, bos, eos, longest, said=()):
    if len(said) == longest:
        return list(said)
    word = model(source, torch.tensor([[bos, *said]]))[0, -1].topk(1).indices.item()
    return list(said) if word == eos else by_recursion(model, source, bos, eos, longest, (*said, word))


def in_a_table(model, source, bos, eos, longest):
    """A table of padding, filled from the left; the whole table is read, and what stands behind does not matter."""
    model.eval()
    table = torch.full((1, longest + 1), bos)
    with torch.no_grad():
        for step in range(longest):
            table[0, step + 1] = model.decode(table, *model.encode(source))[0, step].argmax()
    written = table[0, 1:].tolist()
    return written[: written.index(eos)] if eos in written else written


test_right_searches = all_right(
    lesson09.check_greedy,
    "9.5",
    [own_transformer.greedy, writing(), with_cat, with_a_for_loop, by_recursion, in_a_table],
)


# ---- whose functions the model takes ----


def stubs():
    return [lambda *args: None for _ in own_transformer.STEPS]


def ours():
    return [getattr(own_transformer, name) for name in own_transformer.STEPS]


def test_who_is_stuck_goes_on_with_ours(capsys):
    my = lesson09.yours_or_ours(*stubs())
    assert [getattr(my, name) for name in own_transformer.STEPS] == ours()
    said = capsys.readouterr().out
    assert said.count("ours") == 5 and "yours" not in said and "not tried" not in said and said.count("\n") == 1


@pytest.mark.parametrize("place", range(5))
@pytest.mark.parametrize("kind", ["wrong", "crash", "stub"])
def test_what_passes_is_the_learners(place, kind, capsys):
    """The other four are; and no wrong try is counted."""
    written = ours()
    wrong = {"wrong": lambda *args: torch.zeros(1), "crash": lambda *args: 1 / 0, "stub": lambda *args: None}
    written[place] = wrong[kind]
    my = lesson09.yours_or_ours(*written)
    assert [getattr(my, name) for name in own_transformer.STEPS] == ours()
    said = capsys.readouterr().out
    assert said.count("yours") == 4 and f"{own_transformer.STEPS[place]}: ours" in said
    assert not checking._wrong_tries


def test_nothing_but_the_answers_changes_while_nbgrader_grades(monkeypatch, capsys):
    monkeypatch.setattr(checking, "GRADING", True)
    lesson09.yours_or_ours(*stubs())
    assert capsys.readouterr().out.count("ours") == 5


def test_what_a_learners_function_prints_is_not_printed_again(capsys):
    def noisy(*args):
        print("the shape of q is", args[0].shape)
        return fused(*args)

    assert lesson09.yours_or_ours(noisy, *stubs()[1:]).attend is noisy
    assert capsys.readouterr().out.startswith("attend: yours, encoder_block: ours")


def test_a_learners_function_is_taken():
    assert lesson09.yours_or_ours(fused, *ours()[1:]).attend is fused


# ---- the lesson's own cells ----

CELLS = nbformat.read(Path(__file__).parents[2] / "notebooks" / "09-transformer.ipynb", as_version=4).cells
SOLUTION = re.compile(r"<summary>Solution</summary>\s*```python\n(.*?)```", re.DOTALL)


def section_4():
    """The code cells of section 4, and the folded solutions by the source of their stubs."""
    first = next(n for n, cell in enumerate(CELLS) if cell.source.startswith("## 4. "))
    last = next(n for n, cell in enumerate(CELLS) if cell.source.startswith("## 5. "))
    solved = {
        CELLS[n - 2].source: found[1]
        for n, cell in enumerate(CELLS[:last])
        if (found := SOLUTION.search(cell.source)) and n > first
    }
    return [cell.source for cell in CELLS[first:last] if cell.cell_type == "code"], solved


def test_ours_are_the_folded_solutions():
    _, solved = section_4()
    code = Path(own_transformer.__file__).read_text("utf-8")
    assert len(solved) == 5 and [text for text in solved.values() if text.strip() not in code] == []


def test_the_stubs_have_the_parameters_of_the_solutions():
    for stub, solution in section_4()[1].items():
        assert stub.splitlines()[0] == solution.splitlines()[0] and "return None  # your code here" in stub


@functools.cache
def solved_lesson():
    """What the cells of sections 3 and 4 leave, with the folded solutions in the stubs; and what they print."""
    code, solved = section_4()
    before = [cell.source for cell in CELLS if cell.id in ("l09-02", "l09-43", "l09-44")]
    names: dict = {"__name__": "lesson"}
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        for source in [*before, *(solved.get(cell, cell) for cell in code)]:
            exec(source, names)
    return names, said.getvalue()


@pytest.mark.slow
def test_a_learners_own_transformer_is_the_packages():
    """The stored weights in the learner's classes: same logits to 1e-5, with padding or without; same translations."""
    names, said = solved_lesson()
    assert ", ".join(f"{step}: yours" for step in own_transformer.STEPS) in said and said.count("right!") == 5
    assert max(names["compared"].values()) < 1e-5
    yours, theirs, pairs = names["yours"], Translator.pretrained("transformer", "cpu"), names["parts"].test[:50]
    theirs.model.double().eval()
    for some in (pairs[start : start + 10] for start in range(0, 50, 10)):
        source, lengths = pad([theirs.source.encode(pair.source) for pair in some], 0)
        target, _ = pad([[1, *theirs.target.encode(pair.target)] for pair in some], 0)
        with torch.no_grad():
            one, other = yours(source, target), theirs.model(source, lengths, target)
        assert one.shape == other.shape and (one - other).abs().max() < 1e-5
    sentences, theirs = [pair.source for pair in pairs], Translator.pretrained("transformer", "cpu")
    assert names["translate"](yours, sentences) == theirs.translate_all(sentences)


@pytest.mark.slow
def test_the_learners_loss_is_that_of_the_trained_translator():
    names, _ = solved_lesson()
    yours, pairs = names["yours"], names["parts"].valid[:64]
    source, _ = pad([names["english"].encode(pair.source) for pair in pairs], 0)
    target, _ = pad([[1, *names["french"].encode(pair.target)] for pair in pairs], 0)
    with torch.no_grad():
        logits, loss = yours(source, target[:, :-1]), names["my"].shifted_loss(yours, source, target, 0)
    labels, logs = target[:, 1:], logits.log_softmax(-1)
    kept = [-logs[n, t, labels[n, t]] for n, t in (labels != 0).nonzero().tolist()]
    assert abs(float(loss) - float(sum(kept) / len(kept))) < 1e-5 and loss < 0.05


def runs(name, label):
    found = [json.loads(path.read_text(encoding="utf-8")) for path in sorted((STORED / name).glob("*.json"))]
    return [run for run in found if run["label"] == label]


def right_count(d, f):
    return 4 * d * d + 2 * d * f + f + 5 * d


test_wrong_counts = judged(
    lesson09.check_block_parameters,
    "9.6",
    [
        (lambda d, f: d + f, "for d = 7 and f = 10 it should be 381; yours: 17"),
        (lambda d, f: "many", "of type str"),
        (lambda d, f: float("nan"), "yours is nan"),
    ],
)


test_right_counts = all_right(
    lesson09.check_block_parameters,
    "9.6",
    [
        lambda d, f: float(4 * d**2 + d * f + f * d + f + d + 2 * (d + d)),
        lambda d, f: np.int64(right_count(d, f)),
        lambda d, f: sum(weight.numel() for weight in TransformerEncoderBlock(TransformerConfig(d, f, 1)).parameters()),
    ],
)


@pytest.mark.parametrize("size", SIZES)
def test_the_right_count_is_that_of_the_package(size, capsys):
    d, f = SIZES[size].num_hiddens, SIZES[size].ffn_num_hiddens
    with torch.device("meta"):
        block = TransformerEncoderBlock(SIZES[size])
    assert sum(weight.numel() for weight in block.parameters()) == right_count(d, f)
    assert said_by(lesson09.check_block_parameters, right_count, capsys) == "Exercise 9.6: right!\n"


def test_batch_norm_depends_on_the_batch_and_layer_norm_does_not():
    """As in more/09, with torch's own layers."""
    sentence, others = torch.randn(1, 3, 8), torch.randn(2, 3, 8)
    by_batch, by_layer = nn.BatchNorm1d(8), nn.LayerNorm(8)
    first, second = (torch.cat([sentence, other[None]]) for other in others)

    def ours(norm, batch):
        return norm(batch.transpose(1, 2)).transpose(1, 2)[0] if norm is by_batch else norm(batch)[0]

    assert not torch.allclose(ours(by_batch, first), ours(by_batch, second), atol=0.1)
    assert torch.equal(ours(by_layer, first), ours(by_layer, second))


def test_what_the_stored_runs_say_of_the_curriculum():
    """Four ways, equally many updates: it is the short sentences that cost, and not the way in which the rate falls."""
    ways = {
        (first, falls): runs("curriculum", f"{first}, rate falls {falls}")
        for first in ("all sentences", "short sentences first")
        for falls in ("in a line", "by stage")
    }
    assert all([run["seed"] for run in found] == [0, 1, 2] for found in ways.values())
    assert len({run["updates"] for found in ways.values() for run in found}) == 1
    everything, staged = (
        [run for (first, _), found in ways.items() if first.startswith(start) for run in found]
        for start in ("all", "short")
    )
    for epoch in range(4):
        assert max(run["valid bleu"][epoch] for run in staged) < min(run["valid bleu"][epoch] for run in everything)
    assert max(run["all"]["bleu"] for run in staged) < min(run["all"]["bleu"] for run in everything)
    assert max(run["tokens"] for run in staged) < 0.85 * min(run["tokens"] for run in everything)

    def bleu(*way):
        return [run["all"]["bleu"] for run in ways[way]]

    in_a_line, by_stage = (bleu("short sentences first", falls) for falls in ("in a line", "by stage"))
    assert all(0 < after - before < 1 for before, after in zip(in_a_line, by_stage, strict=True)), "a little better"
    in_a_line, by_stage = (bleu("all sentences", falls) for falls in ("in a line", "by stage"))
    assert all(abs(after - before) < 0.5 for before, after in zip(in_a_line, by_stage, strict=True)), "no difference"


def test_what_the_lesson_says_of_learning_by_heart():
    """more/09: d2l's losses are reached without dropout, most sources are known, and hardly any new one is right."""
    for label, reached_in_training in (("GRU with attention", False), ("Transformer", True)):
        found = runs("memorise", label)
        assert [run["seed"] for run in found] == [0, 1, 2]
        for run in found:
            published = run["published by d2l"]
            assert run["lowest possible"] / 10 < run["train losses without dropout"][-1] / 10 <= published
            assert (run["train losses"][-1] / 10 <= published) == reached_in_training
            assert run["trained right"]["right"] > 0.85 * run["trained right"]["sources"]
            assert run["new right"]["right"] < 0.15 * run["new right"]["sources"]
            assert run["new losses"][-1] > min(run["new losses"]) + 1


def test_no_sentence_of_the_corpus_is_stored():
    for path in (STORED / "memorise").glob("*.json"):
        texts = [value for value in json.loads(path.read_text(encoding="utf-8")).values() if isinstance(value, str)]
        assert len(texts) == 4, "label, model, torch and machine"
