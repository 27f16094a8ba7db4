"""The command line: seqlearn train | translate | evaluate | view."""

from __future__ import annotations

import functools
import hashlib
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from .data.corpus import Corpus, Split

app = typer.Typer(
    help="Train a translator, translate with it, score it, look inside.", no_args_is_help=True, add_completion=False
)

Folder = Annotated[Path, typer.Argument(help="The folder of a translator that `seqlearn train` wrote.")]
Text = Annotated[str, typer.Argument(help="The sentence.")]
Device = Annotated[str, typer.Option(help="cpu, cuda or mps. [default: the best there is]")]


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


@app.command()
@sentence_for_errors
def train(
    out: Annotated[Path, typer.Option(help="The folder to write the translator to.")],
    corpus: Annotated[str, typer.Option(help="builtin, fra-eng, or a file of source<TAB>target lines.")] = "builtin",
    source: Annotated[str, typer.Option(help="A file with one source sentence a line (with --target).")] = "",
    target: Annotated[str, typer.Option(help="A file with one target sentence a line (with --source).")] = "",
    languages: Annotated[str, typer.Option(help="Of your own files, such as en-fr: how words are split.")] = "en-fr",
    data: Annotated[str, typer.Option(help="The folder that holds fra-eng. [default: $SEQLEARN_DATA]")] = "",
    skip_malformed: Annotated[
        bool, typer.Option("--skip-malformed", help="Leave malformed lines of your files out, and count them.")
    ] = False,
    reverse: Annotated[bool, typer.Option("--reverse", help="Translate in the other direction.")] = False,
    pairs: Annotated[int, typer.Option(help="How many pairs the built-in corpus writes.")] = 30_000,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Use this many pairs, drawn at random. [default: all]")
    ] = None,
    held_out: Annotated[
        float, typer.Option(help="The share of source sentences for each of valid and test.", show_default="1/30")
    ] = 1 / 30,
    model: Annotated[str, typer.Option(help="bahdanau, or seq2seq: without attention.")] = "bahdanau",
    score: Annotated[
        str | None, typer.Option(help="Of bahdanau's attention: additive, dot or bilinear. [default: additive]")
    ] = None,
    cell: Annotated[str | None, typer.Option(help="Of seq2seq: gru or lstm. [default: gru]")] = None,
    embed_size: Annotated[int, typer.Option(min=1, help="Size of the embeddings.")] = 128,
    hidden: Annotated[int, typer.Option(min=1, help="Size of each encoder direction.")] = 128,
    layers: Annotated[int, typer.Option(min=1, help="Stacked recurrent layers.")] = 1,
    dropout: Annotated[float, typer.Option(min=0, max=0.99, help="Share of activations dropped in training.")] = 0.1,
    tokens: Annotated[str, typer.Option(help="word, or bpe: pieces of words, for any script.")] = "word",
    vocab_size: Annotated[int, typer.Option(min=10, help="The most tokens of each side, with --tokens bpe.")] = 8000,
    max_length: Annotated[int, typer.Option(min=1, help="Leave out pairs with more tokens, and count them.")] = 256,
    min_freq: Annotated[
        int | None, typer.Option(min=1, help="Rarer words become <unk>. [default: builtin 1, else 2]")
    ] = None,
    epochs: Annotated[int, typer.Option(min=1, help="Times through the training data.")] = 4,
    lr: Annotated[float, typer.Option(min=0, help="Peak learning rate.")] = 3e-3,
    batch_size: Annotated[int, typer.Option(min=1, help="Pairs in a batch.")] = 64,
    seed: Annotated[int, typer.Option(help="Of split, weights and order.")] = 0,
    device: Device = "",
) -> None:
    """Train a translator and write it to a folder. The test part is kept for `seqlearn evaluate`."""
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
    from .translator import MODELS, Translator

    if model not in MODELS:
        raise ValueError(f"there is no model {model!r}; choose from {', '.join(MODELS)}")
    for option, value, owner in (("--score", score, "bahdanau"), ("--cell", cell, "seq2seq")):
        if value and model != owner:
            raise ValueError(f"{option} is an option of {owner}, not of {model}")
    if tokens not in TOKENS:
        raise ValueError(f"--tokens is one of {', '.join(TOKENS)}, not {tokens!r}")
    corpus = corpus if corpus in ("builtin", "fra-eng") else str(Path(corpus).resolve())
    described = {
        "corpus": corpus,
        "source": source and str(Path(source).resolve()),
        "target": target and str(Path(target).resolve()),
        "languages": languages.split("-"),
        "data": data and str(Path(data).resolve()),
        "skip_malformed": skip_malformed,
        "reverse": reverse,
        "pairs": pairs,
        "limit": limit,
        "held_out": held_out,
        "seed": seed,
    }
    chosen, split = _split(described)
    own = [
        path for path in ([described["source"], described["target"]] if source else [corpus]) if Path(path).is_file()
    ]
    described["sha256"] = {path: _sha256(path) for path in own}
    sizes = {"embed_size": embed_size, "num_hiddens": hidden, "num_layers": layers, "dropout": dropout}
    sizes |= {name: value for name, value in (("score", score), ("cell", cell)) if value}
    min_freq = min_freq or (1 if corpus == "builtin" and not source else 2)
    vocabs = {"min_freq": min_freq, "tokens": tokens, "vocab_size": vocab_size}
    translator = Translator.untrained(model, split, chosen.languages, **vocabs, seed=seed, **sizes)
    counts = ", ".join(f"{len(part):,} {name}" for name, part in zip(split._fields, split, strict=True))
    vocabs = f"{len(translator.source.vocab):,} and {len(translator.target.vocab):,} tokens"
    typer.echo(f"{chosen.name}: pairs {counts}; {vocabs}; on {translator.device}")
    options = {"epochs": epochs, "lr": lr, "batch_size": batch_size, "max_length": max_length, "seed": seed}
    with _writable(out):
        history = translator.fit(split, **options, after_epoch=[_report])
        if history.interrupted and not history.epochs:
            raise ValueError("stopped before the first epoch ended: nothing was written")
        translator.config |= {"data": described, **options, "epochs": history.epochs}
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
def view(
    folder: Folder,
    text: Text,
    out: Annotated[Path, typer.Option("--out", "-o", help="The picture to write (.png, .svg, .pdf).")],
    device: Device = "",
) -> None:
    """Draw where the model looks while it translates a sentence."""
    import matplotlib

    matplotlib.use("agg")
    from .views.plots import heatmap

    translator = _load(folder, device)
    text = text.encode("utf-8", "replace").decode()  # a shell may pass half a character
    attention = translator.attend(text)
    title = f"{text}\n{translator.target.tokenizer.detokenize(attention.query_tokens)}"
    heatmap(attention, title=title).savefig(out, dpi=150)
    typer.echo(f"written to {out}")


def _load(folder: Path, device: str):
    from .translator import Translator

    _use(device)
    return Translator.load(folder)
