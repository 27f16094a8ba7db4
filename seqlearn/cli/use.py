"""The commands that use a trained translator: translate, evaluate, view, gallery."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .devices import Device, Threads, use
from .errors import printable, sentence_for_errors
from .search import MAX_SOURCE, BatchSize, Beam, MaxLength, MaxSource, Penalty, search_options

if TYPE_CHECKING:
    from ..roles import Head
    from ..translator import Translator

INPUT, DATA, SCORING, OUTPUT = "Input", "Data", "Scoring", "Output"  # headings in the help
STANDARD_INPUT = "-"
OWN = ("transformer", "bahdanau")  # the translators that come with the course

Folder = Annotated[
    Path,
    typer.Argument(
        help="The folder that `seqlearn train` wrote; or transformer or bahdanau, which come with the course."
    ),
]
Text = Annotated[str, typer.Argument(help="The sentence.")]
Out = Annotated[Path, typer.Option("--out", "-o", help="The file to write.", rich_help_panel=OUTPUT)]


@sentence_for_errors
def translate(
    folder: Folder,
    text: Annotated[
        str | None, typer.Argument(help="The sentence. Without it, or with -: the lines of standard input.")
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(help="Translate the lines of this file (UTF-8, plain or gzip).", rich_help_panel=INPUT),
    ] = None,
    beam: Beam = 1,
    length_penalty: Penalty = None,
    max_length: MaxLength = None,
    max_source: MaxSource = MAX_SOURCE,
    batch_size: BatchSize = 64,
    n_best: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Write this many translations of each line, best first, after the number of the line; at most --beam.",
            show_default="one, no number",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    scores: Annotated[
        bool,
        typer.Option(
            "--scores",
            help="Add a column: the log-probability in nats; with --beam or --n-best divided by the length penalty.",
            rich_help_panel=OUTPUT,
        ),
    ] = False,
    alignments: Annotated[
        bool,
        typer.Option(
            "--alignments",
            help="Add a column: links source-target, such as 0-0 1-2, from the attention. They count tokens from 0.",
            rich_help_panel=OUTPUT,
        ),
    ] = False,
    show_tokens: Annotated[
        bool,
        typer.Option(
            "--show-tokens",
            help="Add two columns: the tokens of the line and of the translation, joined by spaces.",
            rich_help_panel=OUTPUT,
        ),
    ] = False,
    device: Device = "",
    threads: Threads = None,
) -> None:
    """Translate a sentence, or line by line.

    The output has one line for each line of the input, in the same order.
    An empty line stays empty. Columns are joined by tabs.
    """
    from ..threads import where_it_runs
    from . import lines

    if text is not None and file:
        raise ValueError("give a sentence or --file, not both")
    if n_best and n_best > beam:
        raise ValueError(f"--n-best {n_best} needs a beam at least as wide: add --beam {n_best}")
    options = search_options(beam, length_penalty, max_length)
    if text is None or text == STANDARD_INPUT:
        source, typed = lines.lines_of(file), file is None and sys.stdin.isatty()
    else:
        source, typed = lines.one_line(text), False
    translator = _load(folder, device, threads)
    if alignments:
        translator.check_attention()
    columns = lines.Columns(n_best, scores, alignments, show_tokens)
    chunk = 1 if typed else lines.BATCHES * batch_size
    if text is None and sys.stderr.isatty():
        typer.secho(f"on {where_it_runs(translator.model)}", err=True)
    if typed:
        typer.secho("Type a sentence on each line; an end of file (Ctrl-D) ends.", err=True)
    lines.translate_lines(
        translator, source, options, columns, batch_size=batch_size, max_source=max_source, chunk=chunk
    )


@sentence_for_errors
def evaluate(
    folder: Folder,
    source: Annotated[
        Path | None,
        typer.Option(help="Score this file, one source sentence a line (with --target).", rich_help_panel=DATA),
    ] = None,
    target: Annotated[
        Path | None, typer.Option(help="The references, one a line (with --source).", rich_help_panel=DATA)
    ] = None,
    tsv: Annotated[
        Path | None, typer.Option(help="Score this file of source<TAB>reference lines.", rich_help_panel=DATA)
    ] = None,
    beam: Beam = 1,
    length_penalty: Penalty = None,
    max_length: MaxLength = None,
    max_source: MaxSource = MAX_SOURCE,
    batch_size: BatchSize = 256,
    lowercase: Annotated[
        bool,
        typer.Option(
            help="Whether BLEU and chrF ignore case. A translator writes lower case only. So with --no-lowercase, "
            "which compares with the references exactly as they are written, every capital letter is an error.",
            rich_help_panel=SCORING,
        ),
    ] = True,
    hypotheses: Annotated[
        Path | None,
        typer.Option(help="Write the translations to this file, one a line.", rich_help_panel=OUTPUT),
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print the scores as one JSON object.", rich_help_panel=OUTPUT)
    ] = False,
    device: Device = "",
    threads: Threads = None,
) -> None:
    """Score a translator on the test part of its corpus, which training never saw, or on files of yours.

    The references get the spelling that the training data had (lower case,
    plain quotes and spaces) before translations are compared with them.
    sacreBLEU's signature says how the scores were counted.
    """
    from ..threads import where_it_runs
    from . import scoring

    scoring.check_files(source, target, tsv, hypotheses)
    options = search_options(beam, length_penalty, max_length)
    translator = _load(folder, device, threads)
    chosen = scoring.to_score(translator, folder, source, target, tsv)
    scoring.check_lengths(translator, chosen, max_source)
    said = f"{printable(chosen.name)}: {len(chosen.pairs):,} {chosen.what}" + (f"; beam {beam}" if beam > 1 else "")
    typer.echo(f"{said}; on {where_it_runs(translator.model)}", err=json)
    translations = translator.translate([pair.source for pair in chosen.pairs], batch_size, **options)
    if hypotheses:
        scoring.write_lines(hypotheses, translations)
    scores = translator.evaluate(chosen.pairs, batch_size, translations=translations, lowercase=lowercase)
    typer.echo(scoring.as_json(scores, chosen, beam, length_penalty) if json else scores)


@sentence_for_errors
def view(folder: Folder, text: Text, out: Out, device: Device = "") -> None:
    """Draw where the model looks while it translates a sentence: an interactive page (.html), or a picture."""
    import matplotlib

    if not out.suffix:
        raise ValueError(f"{out} has no ending: .html gives a page; .png, .svg or .pdf a picture")
    matplotlib.use("agg")  # no window
    translator = _load(folder, device)
    text = text.encode("utf-8", "replace").decode()  # a shell may pass half a character
    if out.suffix.lower() == ".html":
        from ..roles import read_roles

        ours = folder == Path("transformer") and not folder.exists()
        _write_page(translator, text, out, read_roles() if ours else None)
    else:
        from ..views import heatmap

        translation = translator.translate(text)
        kind = next(iter(translator.attention_kinds), "cross")
        heatmap(translator.attend(text, translation, kind), title=f"{text}\n{translation}").savefig(out, dpi=200)
    typer.echo(printable(f"written to {out}"))


def _write_page(translator: Translator, text: str, out: Path, roles: dict[Head, str] | None) -> None:
    """The translation, and all heads where there are several. A Transformer answers other sentences in the page."""
    from ..views import AttentionView, TranslatorView, View
    from ..views.gallery import gallery

    first = TranslatorView(translator, text)
    views: list[tuple[str, View]] = [
        ("What does the model look at?\nChoose a step, and see what else the model could have written.", first)
    ]
    if set(translator.attention_kinds) - {"cross"}:
        about = (
            "What do all heads look at?\nEvery head of every layer has its own map, of the same sentence. (A word that "
            "you force above is not forced here.)"
        )
        views.append((about, AttentionView.of(translator, text, roles)))
    known = f"{sum(weight.numel() for weight in translator.model.parameters()):,} parameters"
    intro = f"A {translator.config.get('model', 'model')} model with {known} translates the sentence in the box."
    if first.page_model() is not None:
        intro += " The model is inside this page: type another sentence, change a word, silence a head."
    gallery(views, out, f"“{text}” → “{first.translation}”", intro, "Inside a translation", together=True)


@sentence_for_errors
def gallery(out: Out = Path("gallery.html")) -> None:
    """Write a page with all views of the course, on the Transformer that comes with it."""
    from ..views import gallery

    gallery.gallery(gallery.all_views(), out)
    typer.echo(printable(f"written to {out}"))


def _load(folder: Path, device: str, threads: int | None = None) -> Translator:
    from ..translator import Translator

    use(device, threads)
    if not folder.exists() and str(folder) in OWN:
        return Translator.pretrained(str(folder))
    return Translator.load(folder)
