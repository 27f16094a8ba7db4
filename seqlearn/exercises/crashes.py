"""A crash in a learner's function in three lines at most: the error, the learner's line with its shapes, the slip."""

from __future__ import annotations

import itertools
import linecache
import re
import sysconfig
from pathlib import Path
from types import FrameType

from torch import Tensor

EXERCISES = str(Path(__file__).parent)
LIBRARIES = (str(Path(__file__).parents[1]), *(sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")))
MOST_TENSORS = 4

REDUCTION = re.compile(r"\.?\b(sum|mean|amax|amin|var|std|norm|logsumexp)\(")
STUB = "keep the parameters of the function as the exercise gives them."
CLASSES = (
    "`cross_entropy` wants the classes on axis 1: flatten both, `logits.flatten(0, 1)` and `labels.flatten()`, "
    "or exchange two axes, `logits.transpose(1, 2)`."
)
EXCHANGED = "`cross_entropy` takes the logits first, and then the labels."
OTHER_TOKENS = (
    "there should be as many labels as rows of logits: take inputs and labels from the same tokens, shifted by one."
)
REVERSED = "`.T` reverses *all* axes: `.mT` or `.transpose(-2, -1)` exchanges the last two of a batch."
MASKS = "`&` and `|` join masks of the same queries and keys: do these two belong together?"
ONE_OFF = "one row of logits has no label, or one label no row: row t scores token t + 1, so shift one of the two."
IN_PLACE = "a tensor was changed in place (`+=`, `x[...] = ...`, a method that ends in `_`): make a new tensor."
NOT_FLOAT = "these are whole numbers or truth values: `.float()` makes numbers with decimals."

# What an error says -> the slip that is usually behind it. The first pattern that is found counts.
SLIPS: dict[str, str] = {
    r"^NotImplementedError: no message": "the stub still raises: replace its last line by your code.",
    r"got an unexpected keyword argument": "an argument by a name that this function does not know.",
    r"positional arguments? but \d+ |missing \d+ required positional": (
        "the number of arguments does not fit the parameters of the function that is called here."
    ),
    r"NoneType": "something is None: a function without `return`, or a method that changes in place.",
    r"name '\w+' is not defined": "a misspelt name, or a name of another cell: a function should use its parameters.",
    r"before assignment|not associated with a value": "a name is read before the function has given it a value.",
    r"Expected target size|to match target batch_size": CLASSES,
    r"multi-target not supported|Target -?\d+ is out of bounds": CLASSES,
    r"Dimension out of range": "this axis does not exist: axes count from 0; -1 is the last one.",
    r"out of bounds|out of range": "indices go from 0 to the size minus 1: is a range one too long?",
    r"too many indices": "more indices than axes: look at the shape.",
    r"shapes cannot be multiplied|Expected size for first two dimensions|size mismatch, got|inconsistent tensor size": (
        "`@` wants the last axis of the left side as long as the last but one of the right side: is a transpose "
        "missing, `.transpose(-2, -1)` or `.T`?"
    ),
    r"bitwise_xor|for \^": "`^` is no power in Python: the square of x is `x ** 2`.",
    r"shape of the mask": "a mask in `[...]` does not broadcast; `masked_fill(mask, value)` does.",
    r"expected sequence of length": "the rows differ in length: a tensor needs rows that are equally long.",
    r"expanded size of the tensor": "the place on the left of `=` has another size than what is put into it.",
    r"must match the size|not broadcastable|doesn't match the broadcast shape|must match the existing size": (
        "two shapes do not broadcast: give the smaller one an axis of size 1, with `keepdim=True` or `unsqueeze`."
    ),
    r"same dtype|expected scalar type|Found dtype|same type": (
        "two tensors differ in dtype: bring one to the other's, `x.to(y.dtype)`."
    ),
    r"without overflow|cannot be converted to type": (
        'this dtype cannot hold so large a number: `float("-inf")` fits into every float type.'
    ),
    r"can't be cast|not implemented for '(Long|Int|Bool)'": NOT_FLOAT,
    r"only .*floating.point|Could not infer dtype|either a floating point": NOT_FLOAT,
    r"boolean mask|only supports bool": "a mask is bool: make it by a comparison, such as `ids != pad`.",
    r"Boolean value of Tensor": "`if`, `and`, `or`, `not` want one truth value: for tensors write `&`, `|`, `~`.",
    r"with a bool tensor is not supported": "for masks write `~`, `&`, `|` in place of `-`.",
    r"nplace|in-place": IN_PLACE,
    r"does not require grad": "the gradient is cut off: no `item`, `detach` or `torch.no_grad()` on the way.",
    r"view size is not compatible": "after a transpose `view` cannot be used: `reshape` can.",
    r"is invalid for input of size": "the new shape has another number of entries than the tensor.",
    r"converted to (a )?(Python scalar|Scalar)": "one number is wanted here, and this tensor has several.",
    r"used as indices must be": "an index must hold whole numbers (or be a bool mask): `.long()`.",
    r"division by zero": "a count or a length is 0 here.",
    r"unpack": "another number of things comes back than there are names on the left.",
    r"has no attribute": "a misspelt method, or another type than you think.",
}


def explain_crash(error: BaseException) -> str:
    """What is told of a crash, 1 to 3 lines. It never raises, and never runs the learner's code."""
    try:
        return _explain(error)
    except Exception:  # a message about a crash must not be the next crash
        return f"your code stopped with {type(error).__name__}."


def _explain(error: BaseException) -> str:
    said = f"{type(error).__name__}: {_first_line(error)}"
    found = learners_frame(error)
    if found is None:
        if re.search(r"positional argument|keyword argument", said):
            return f"your code stopped with {said}\n  Perhaps: {STUB}"
        return f"the check could not use your answer, and stopped with {said}"
    frame, number = found
    line = linecache.getline(frame.f_code.co_filename, number, frame.f_globals).strip()
    tensors = _tensors(frame, line)
    shapes = ", ".join(f"{name} {tuple(tensor.shape)}" for name, tensor in tensors.items())
    slip = _slip(said, line, {name: tuple(tensor.shape) for name, tensor in tensors.items()})
    told = [f"your code stopped with {said}", f"  line {number} of your code"]
    told[1] += (f": `{line}`" if line else "") + (f", with {shapes}" if shapes else "")
    return "\n".join(told + [f"  Perhaps: {slip}"] * bool(slip))


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or ["no message"])[0]


def learners_frame(error: BaseException) -> tuple[FrameType, int] | None:
    """The innermost frame that is neither the check's, nor a library's, and the number of its line; else None."""
    found, step = None, error.__traceback__
    while step is not None:
        name = step.tb_frame.f_code.co_filename
        if not name.startswith((EXERCISES, *LIBRARIES)) and not name.startswith("<frozen"):
            found = step.tb_frame, step.tb_lineno
        step = step.tb_next
    return found


def _tensors(frame: FrameType, line: str) -> dict[str, Tensor]:
    """The tensors among the variables that the line names; without its text, among those that the function uses."""
    names = re.findall(r"[^\W\d]\w*", line) if line else frame.f_code.co_varnames
    known = {**frame.f_globals, **frame.f_locals}
    tensors = {name: known[name] for name in dict.fromkeys(names) if isinstance(known.get(name), Tensor)}
    return dict(itertools.islice(tensors.items(), MOST_TENSORS))


def _slip(said: str, line: str, shapes: dict[str, tuple[int, ...]]) -> str:
    """The usual reason for such an error."""
    general = next((slip for pattern, slip in SLIPS.items() if re.search(pattern, said)), "")
    sizes = re.search(r"input batch_size \((\d+)\) to match target batch_size \((\d+)\)", said)
    if sizes and (rows := sorted((int(sizes[1]), int(sizes[2]))))[0]:
        if rows[1] - rows[0] == 1:
            return ONE_OFF
        if rows[1] % rows[0]:  # both are flat: else one number would be a multiple of the other
            return OTHER_TOKENS
    if "transpose(1, 2)" in line and "Expected target size" in said:  # the classes are on axis 1
        return OTHER_TOKENS
    if "cross_entropy" in line and "log_softmax" in said:
        return EXCHANGED
    if "cannot be multiplied" in said and (told := _no_last_axis(line, shapes)):
        return told
    if any(len(shapes.get(name, ())) > 2 for name in re.findall(r"(\w+)\.T\b", line)):
        return REVERSED
    if line.startswith("assert") and "Boolean value of Tensor" in said:
        return "`assert` wants one truth value: `torch.allclose(a, b)`, or `(a == b).all()`."
    if re.search(r"must match the size|not broadcastable", said):
        if "@" in line and re.search(r"[\])]\.T\b", line):  # batches that do not fit, so more than two axes
            return REVERSED
        return _times(line, shapes) or _lost_axis(line, shapes) or (MASKS if re.search("[&|]", line) else general)
    return general


def _times(line: str, shapes: dict[str, tuple[int, ...]]) -> str:
    """`*` where the shapes would fit a matrix product."""
    for left, right in re.findall(r"(\w+) ?\* ?(\w+)", line):
        one, other = shapes.get(left, ()), shapes.get(right, ())
        if len(one) > 1 and len(other) > 1 and one[-1] == other[-2] and one[:-2] == other[:-2]:
            return f"`*` multiplies entry by entry; the matrix product is `@`: `{left} @ {right}`."
        if len(one) == 1 and len(other) == 2 and one[0] == other[0]:
            return (
                f"`*` multiplies entry by entry; the matrix product is `@`: `{left} @ {right}`. Or do you want "
                f"`{left}.unsqueeze(-1)`, with an axis of size 1?"
            )
    return ""


def _no_last_axis(line: str, shapes: dict[str, tuple[int, ...]]) -> str:
    """`@` of a batch of matrices and a batch of rows."""
    for left, right in re.findall(r"(\w+) ?@ ?(\w+)", line):
        one, other = shapes.get(left, ()), shapes.get(right, ())
        if len(one) == 3 and len(other) == 2 and other == (one[0], one[2]):
            return f"`{right}` needs a last axis of size 1, `{right}[:, :, None]`, to meet `{left}`."
    return ""


def _lost_axis(line: str, shapes: dict[str, tuple[int, ...]]) -> str:
    """A tensor that has the shape of another one, but for one axis."""
    for (small, one), (large, other) in itertools.permutations(shapes.items(), 2):
        lost = [axis for axis in range(len(other)) if other[:axis] + other[axis + 1 :] == one and one]
        if lost:
            axis = lost[-1] - len(other)
            return (
                f"`{small}` has the shape of `{large}` without the axis {axis}: keep that axis, with size 1, by "
                f"`keepdim=True`, or bring it back by `{small}.unsqueeze({axis})`."
            )
    if REDUCTION.search(line) and "keepdim" not in line:
        return "a sum, mean or maximum takes its axis away: `keepdim=True` keeps it, with size 1."
    return ""
