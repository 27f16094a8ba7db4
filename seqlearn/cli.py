"""The command line: seqlearn train | translate | evaluate | view | gallery."""

from __future__ import annotations

import functools
import hashlib
import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from .data.corpus import Corpus, Split

HELP = "Train a translator, translate with it, score it, look inside."
app = typer.Typer(help=HELP, no_args_is_help=True, add_completion=False)

Folder = Annotated[Path, typer.Argument(help="The folder of a translator that `seqlearn train` wrote.")]
Text = Annotated[str, typer.Argument(help="The sentence.")]
Device = Annotated[str, typer.Option(help="cpu, cuda or mps.", show_default="the best there is")]
Out = Annotated[Path, typer.Option("--out", "-o", help="The file to write.")]
Count = int | None  # with a default that depends on other options

# The options of each model: what its factory calls them, and what they are unless given. None: as --size says.
_RECURRENT = {
    "embed_size": ("embed_size", 128), "hidden": ("num_hiddens", 128), "layers": ("num_layers", 1),
    "dropout": ("dropout", 0.1),
}  # fmt: skip
MODEL_OPTIONS = {
    "bahdanau": {**_RECURRENT, "score": ("score", "additive")},
    "seq2seq": {**_RECURRENT, "cell": ("cell", "gru")},
    "transformer": {
        "size": ("size", "tiny"), "width": ("num_hiddens", None), "ffn": ("ffn_num_hiddens", None),
        "heads": ("num_heads", None), "layers": ("num_layers", None), "dropout": ("dropout", 0.1),
        "norm": ("norm", "pre"), "positions": ("positions", "sinusoidal"),
    },
}  # fmt: skip
# How each model is trained unless told otherwise: peak learning rate, and share of training that warms up.
RATES = {"bahdanau": (3e-3, 0.0), "seq2seq": (3e-3, 0.0), "transformer": (2e-3, 0.1)}


def sentence_for_errors(function: Callable) -> Callable:
    """Show what the user can mend as one sentence, without a stack of frames."""

    @functools.wraps(function)
    def run(*args, **kwargs):
        try:
            with warnings.catch_warnings():
                warnings.showwarning = _show_warning
                return function(*args, **kwargs)
        except (ValueError, OSError) as error:  # ConnectionError and FileNotFoundError are OSErrors
            typer.secho(f"seqlearn: {error}", fg="red", err=True)
            raise typer.Exit(1) from None

    return run


def _show_warning(message, category, *args, **kwargs) -> None:
    """A warning of ours as one sentence; those of libraries, which a user cannot mend, not at all."""
    if category is UserWarning:
        typer.secho(f"seqlearn: {message}", fg="yellow", err=True)


def _use(device: str) -> None:
    import os

    from .devices import best_device

    if device:
        os.environ["SEQLEARN_DEVICE"] = device
    best_device()  # an unknown name is answered here, before any work


def _corpus(described: dict) -> Corpus:
    """The corpus that these options name: the same now and when a trained translator is scored."""
    from .data import corpus as corpora

    name, languages = described["corpus"], tuple(described["languages"])
    for path, digest in described.get("sha256", {}).items():
        if _sha256(path) != digest:
            raise ValueError(f"{path} is not what it was when the translator was trained: its test part is another one")
    skip = described.get("skip_malformed", False)
    if described["source"]:
        corpus = corpora.from_files(described["source"], described["target"], languages, skip)
    elif name == "builtin":
        corpus = corpora.builtin(described["pairs"])
    elif name == "fra-eng":
        corpus = corpora.fra_eng(described["data"] or None)
    else:
        corpus = corpora.from_tsv(name, languages, skip)
    if described["limit"]:
        corpus = corpus.limited(described["limit"])
    return corpus.reversed() if described["reverse"] else corpus


def _sha256(path: str) -> str:
    if not Path(path).is_file():
        raise FileNotFoundError(f"there is no file {path}")
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _split(described: dict) -> tuple[Corpus, Split]:
    corpus = _corpus(described)
    split = corpus.split(described["held_out"], described["held_out"], described["seed"])
    if not all(split):
        raise ValueError(
            f"{len(corpus)} pairs leave {len(split.train)} to train on, {len(split.valid)} to choose with and "
            f"{len(split.test)} to score: give more pairs, or a larger --held-out"
        )
    return corpus, split


def _sizes(model: str, given: dict) -> dict:
    """What the factory of this model is called with."""
    from .nn.transformer import SIZES

    own, every = MODEL_OPTIONS[model], set().union(*MODEL_OPTIONS.values())
    if foreign := [name for name in given if name in every - own.keys() and given[name] is not None]:
        raise ValueError(f"{model} has no {_dashed(foreign)}; it has {_dashed(own)}")
    chosen = {call: default if given[name] is None else given[name] for name, (call, default) in own.items()}
    sizes = {call: value for call, value in chosen.items() if value is not None}
    if model == "transformer":
        size, norm = sizes.pop("size"), sizes.pop("norm")
        if size not in SIZES:
            raise ValueError(f"--size is one of {', '.join(SIZES)}, not {size!r}")
        if norm not in ("pre", "post"):
            raise ValueError(f"--norm is pre or post, not {norm!r}")
        sizes = {**SIZES[size], **sizes, "norm_first": norm == "pre"}
    return sizes


def _dashed(names: Iterable[str]) -> str:
    return ", ".join(f"--{name.replace('_', '-')}" for name in names)


def _described(given: dict) -> dict:
    """The options that name a corpus, with whole paths: they hold in any folder. `_corpus` reads them."""
    names = ("corpus", "source", "target", "data", "skip_malformed", "reverse", "pairs", "limit", "held_out", "seed")
    described = {name: given[name] for name in names}
    for name in ("source", "target", "data"):
        described[name] = described[name] and str(Path(described[name]).resolve())
    if described["corpus"] not in ("builtin", "fra-eng"):
        described["corpus"] = str(Path(described["corpus"]).resolve())
    return described | {"languages": given["languages"].split("-")}


@app.command()
@sentence_for_errors
def train(
    out: Annotated[Path, typer.Option(help="The folder to write the translator to.")],
    corpus: Annotated[str, typer.Option(help="builtin, fra-eng, or a file of source<TAB>target lines.")] = "builtin",
    source: Annotated[str, typer.Option(help="A file with one source sentence a line (with --target).")] = "",
    target: Annotated[str, typer.Option(help="A file with one target sentence a line (with --source).")] = "",
    languages: Annotated[str, typer.Option(help="Of your own files, such as en-fr: how words are split.")] = "en-fr",
    data: Annotated[str, typer.Option(help="The folder that holds fra-eng.", show_default="$SEQLEARN_DATA")] = "",
    skip_malformed: Annotated[
        bool, typer.Option("--skip-malformed", help="Leave malformed lines of your files out, and count them.")
    ] = False,
    reverse: Annotated[bool, typer.Option("--reverse", help="Translate in the other direction.")] = False,
    pairs: Annotated[int, typer.Option(help="How many pairs the built-in corpus writes.")] = 30_000,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Use this many pairs, drawn at random.", show_default="all")
    ] = None,
    held_out: Annotated[
        float, typer.Option(help="The share of source sentences for each of valid and test.", show_default="1/30")
    ] = 1 / 30,
    model: Annotated[str, typer.Option(help="bahdanau, transformer, or seq2seq (no attention).")] = "bahdanau",
    score: Annotated[
        str | None, typer.Option(help="Of bahdanau's attention: additive, dot or bilinear.", show_default="additive")
    ] = None,
    cell: Annotated[str | None, typer.Option(help="Of seq2seq: gru or lstm.", show_default="gru")] = None,
    embed_size: Annotated[Count, typer.Option(min=1, help="Of bahdanau and seq2seq.", show_default="128")] = None,
    hidden: Annotated[Count, typer.Option(min=1, help="Of them: width of each direction.", show_default="128")] = None,
    size: Annotated[
        str | None, typer.Option(help="Of a transformer: tiny, small or base.", show_default="tiny")
    ] = None,
    width: Annotated[Count, typer.Option(min=1, help="Of a transformer.", show_default="by --size")] = None,
    ffn: Annotated[Count, typer.Option(min=1, help="Width of its feed-forward nets.", show_default="by --size")] = None,
    heads: Annotated[Count, typer.Option(min=1, help="Of its attention.", show_default="by --size")] = None,
    norm: Annotated[str | None, typer.Option(help="Of a transformer: pre or post.", show_default="pre")] = None,
    positions: Annotated[
        str | None, typer.Option(help="Of a transformer: sinusoidal, learned or rotary.", show_default="sinusoidal")
    ] = None,
    layers: Annotated[
        Count, typer.Option(min=1, help="On each side.", show_default="1; transformer: by --size")
    ] = None,
    dropout: Annotated[
        float | None,
        typer.Option(min=0, max=0.99, help="Share of activations dropped in training.", show_default="0.1"),
    ] = None,
    tokens: Annotated[str, typer.Option(help="word, or bpe: pieces of words, for any script.")] = "word",
    vocab_size: Annotated[int, typer.Option(min=10, help="The most tokens of each side, with --tokens bpe.")] = 8000,
    max_length: Annotated[int, typer.Option(min=1, help="Leave out pairs with more tokens, and count them.")] = 256,
    min_freq: Annotated[
        Count, typer.Option(min=1, help="Rarer words become <unk>.", show_default="builtin 1, else 2")
    ] = None,
    epochs: Annotated[int, typer.Option(min=1, help="Times through the training data.")] = 4,
    lr: Annotated[
        float | None, typer.Option(min=0, help="Peak learning rate.", show_default="0.003; transformer: 0.002")
    ] = None,
    schedule: Annotated[str, typer.Option(help="Of the rate: linear, cosine, constant or inverse-sqrt.")] = "linear",
    warmup: Annotated[
        float | None,
        typer.Option(help="Share of training in which the rate rises.", show_default="0; transformer: 0.1"),
    ] = None,
    label_smoothing: Annotated[
        float, typer.Option(min=0, max=0.99, help="Share of the probability that the right token gives to all.")
    ] = 0.0,
    batch_size: Annotated[int, typer.Option(min=1, help="Pairs in a batch.")] = 64,
    accumulate: Annotated[int, typer.Option(min=1, help="Batches in an update.")] = 1,
    precision: Annotated[
        str | None, typer.Option(help="bf16, where the device has it.", show_default="float32")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of split, weights and order.")] = 0,
    device: Device = "",
) -> None:
    """Train a translator and write it to a folder. The test part is kept for `seqlearn evaluate`."""
    given = dict(locals())  # all options by name
    if bool(source) != bool(target):
        raise ValueError("--source and --target go together")
    if not re.fullmatch("[A-Za-z]{2,8}-[A-Za-z]{2,8}", languages):
        raise ValueError(f"--languages is two codes with a hyphen, such as en-fr, not {languages!r}")
    if not corpus:
        raise ValueError("--corpus is empty: builtin, fra-eng, or a file")
    if out.is_file():
        raise ValueError(f"{out} is a file, not a folder")
    _use(device)
    from .data.text import TOKENS
    from .training.schedules import make_schedule
    from .translator import MODELS, Translator

    if model not in MODELS:
        raise ValueError(f"there is no model {model!r}; choose from {', '.join(MODELS)}")
    if tokens not in TOKENS:
        raise ValueError(f"--tokens is one of {', '.join(TOKENS)}, not {tokens!r}")
    sizes = _sizes(model, given)
    names = ("epochs", "batch_size", "max_length", "label_smoothing", "accumulate", "precision", "seed")
    options = {"lr": RATES[model][0] if lr is None else lr, **{name: given[name] for name in names}}
    rate = {"schedule": schedule, "warmup": RATES[model][1] if warmup is None else warmup}
    factor = make_schedule(*rate.values())
    described = _described(given)
    chosen, split = _split(described)
    own = [described[name] for name in (("source", "target") if source else ("corpus",))]
    described["sha256"] = {path: _sha256(path) for path in own if Path(path).is_file()}
    min_freq = min_freq or (1 if corpus == "builtin" and not source else 2)
    vocabs = {"min_freq": min_freq, "tokens": tokens, "vocab_size": vocab_size}
    translator = Translator.untrained(model, split, chosen.languages, **vocabs, seed=seed, **sizes)
    counts = ", ".join(f"{len(part):,} {name}" for name, part in zip(split._fields, split, strict=True))
    vocabs = f"{len(translator.source.vocab):,} and {len(translator.target.vocab):,} tokens"
    typer.echo(f"{chosen.name}: pairs {counts}; {vocabs}; on {translator.device}")
    with _writable(out):
        history = translator.fit(split, **options, schedule=factor, after_epoch=[_report])
        if history.interrupted and not history.epochs:
            raise ValueError("stopped before the first epoch ended: nothing was written")
        translator.config |= {"data": described, **options, **rate, "epochs": history.epochs}
        translator.save(out)
    speed = sum(history.tokens) / max(sum(history.seconds), 1e-9)
    typer.echo(f"{speed:,.0f} tokens/s; best epoch {history.best_epoch + 1}; written to {out}")


@contextmanager
def _writable(folder: Path) -> Iterator[None]:
    """Make the folder now: one that cannot be written is found before the work. Take it away if it stays empty."""
    there = folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield
    finally:
        if not there and not any(folder.iterdir()):
            folder.rmdir()


def _report(model, history) -> None:
    from tqdm import tqdm

    tqdm.write(  # a line above the progress bar, not in the middle of it
        f"epoch {history.epochs}: loss {history.train_losses[-1]:.3f}, "
        f"validation {history.valid_losses[-1]:.3f}, {history.seconds[-1]:.0f} s"
    )


@app.command()
@sentence_for_errors
def translate(folder: Folder, text: Text, device: Device = "") -> None:
    """Translate a sentence."""
    translator = _load(folder, device)
    unknown = translator.unknown(text)
    if unknown:
        more = ", ..." if len(unknown) > 10 else ""
        typer.secho(f"not in the vocabulary, read as <unk>: {', '.join(unknown[:10])}{more}", fg="yellow", err=True)
    typer.echo(translator.translate(text))


@app.command()
@sentence_for_errors
def evaluate(folder: Folder, batch_size: Annotated[int, typer.Option(min=1)] = 256, device: Device = "") -> None:
    """Score a translator on the test part of its corpus, which training never saw."""
    translator = _load(folder, device)
    if "data" not in translator.config:
        raise ValueError(f"{folder} does not say what it was trained on")
    corpus, split = _split(translator.config["data"])
    typer.echo(f"{corpus.name}: {len(split.test):,} held-out pairs")
    typer.echo(translator.evaluate(split.test, batch_size))


@app.command()
@sentence_for_errors
def view(folder: Folder, text: Text, out: Out, device: Device = "") -> None:
    """Draw where the model looks while it translates a sentence: a page to touch (.html), or a picture."""
    import matplotlib

    matplotlib.use("agg")  # no window
    from .views import AttentionView, heatmap

    translator = _load(folder, device)
    text = text.encode("utf-8", "replace").decode()  # a shell may pass half a character
    translation = translator.translate(text)
    maps = [translator.attend(text, translation, kind) for kind in translator.attention_kinds or ["cross"]]
    if out.suffix.lower() == ".html":
        AttentionView(*maps).to_html(out)
    else:
        heatmap(maps[0], title=f"{text}\n{translation}").savefig(out, dpi=150)
    typer.echo(f"written to {out}")


@app.command()
@sentence_for_errors
def gallery(out: Out = Path("gallery.html")) -> None:
    """Write a page with all views of the course, on the Transformer that comes with it."""
    from .views.gallery import all_views, gallery

    gallery(all_views(), out)
    typer.echo(f"written to {out}")


def _load(folder: Path, device: str):
    from .translator import Translator

    _use(device)
    return Translator.load(folder)
