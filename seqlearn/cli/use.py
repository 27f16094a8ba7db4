"""The commands that use a trained translator: translate, evaluate, view, gallery."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .devices import Device, use
from .errors import sentence_for_errors

if TYPE_CHECKING:
    from ..translator import Translator

Folder = Annotated[Path, typer.Argument(help="The folder of a translator that `seqlearn train` wrote.")]
Text = Annotated[str, typer.Argument(help="The sentence.")]
Out = Annotated[Path, typer.Option("--out", "-o", help="The file to write.")]
MOST_WORDS = 10  # how many unknown words are named at most


@sentence_for_errors
def translate(folder: Folder, text: Text, device: Device = "") -> None:
    """Translate a sentence."""
    translator = _load(folder, device)
    if unknown := translator.unknown(text):
        more = ", ..." if len(unknown) > MOST_WORDS else ""
        names = ", ".join(unknown[:MOST_WORDS]) + more
        typer.secho(f"not in the vocabulary, read as <unk>: {names}", fg="yellow", err=True)
    typer.echo(translator.translate(text))


@sentence_for_errors
def evaluate(folder: Folder, batch_size: Annotated[int, typer.Option(min=1)] = 256, device: Device = "") -> None:
    """Score a translator on the test part of its corpus, which training never saw."""
    from .corpora import corpus_and_split

    translator = _load(folder, device)
    if "data" not in translator.config:
        raise ValueError(f"{folder} does not say what it was trained on")
    try:
        corpus, split = corpus_and_split(translator.config["data"])
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"the configuration in {folder} does not describe a corpus ({error!r})") from None
    typer.echo(f"{corpus.name}: {len(split.test):,} held-out pairs")
    typer.echo(translator.evaluate(split.test, batch_size))


@sentence_for_errors
def view(folder: Folder, text: Text, out: Out, device: Device = "") -> None:
    """Draw where the model looks while it translates a sentence: an interactive page (.html), or a picture."""
    import matplotlib

    matplotlib.use("agg")  # no window
    from ..views import AttentionView, heatmap

    translator = _load(folder, device)
    text = text.encode("utf-8", "replace").decode()  # a shell may pass half a character
    translation = translator.translate(text)
    maps = [translator.attend(text, translation, kind) for kind in translator.attention_kinds or ["cross"]]
    if out.suffix.lower() == ".html":
        AttentionView(*maps).to_html(out)
    else:
        heatmap(maps[0], title=f"{text}\n{translation}").savefig(out, dpi=200)
    typer.echo(f"written to {out}")


@sentence_for_errors
def gallery(out: Out = Path("gallery.html")) -> None:
    """Write a page with all views of the course, on the Transformer that comes with it."""
    from ..views import gallery

    gallery.gallery(gallery.all_views(), out)
    typer.echo(f"written to {out}")


def _load(folder: Path, device: str) -> Translator:
    from ..translator import Translator

    use(device)
    return Translator.load(folder)
