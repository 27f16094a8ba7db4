"""The commands that use a trained translator: translate, evaluate, view, gallery."""

from __future__ import annotations

import io
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..runtime.ownership import DRAWING, MARK, check_output, signed, write
from ..translator import DEFAULT_BEAM
from .devices import Device, Threads, use
from .errors import printable, sentence_for_errors
from .search import COLUMNS, MAX_SOURCE, BatchSize, Beam, MaxLength, MaxSource, Penalty, search_options

if TYPE_CHECKING:
    from ..analysis.roles import Head
    from ..translator.translator import Translator

INPUT, DATA, SCORING, OUTPUT = "Input", "Data", "Scoring", "Output"  # headings in the help
STANDARD_INPUT = "-"
AUTHOR = {".png": "Software", ".svg": "Creator", ".pdf": "Creator"}  # endings of pictures; how each names its maker
OWN = ("transformer", "bahdanau", "tatoeba")  # the translators that come with the course

Folder = Annotated[
    Path,
    typer.Argument(
        help="The folder that `seqlearn train` wrote; or transformer, bahdanau or tatoeba, which come with the course."
    ),
]
Text = Annotated[str, typer.Argument(help="The sentence.")]
Out = Annotated[Path, typer.Option("--out", "-o", help="The file to write.", rich_help_panel=OUTPUT)]
Overwrite = Annotated[
    bool,
    typer.Option("--overwrite", help="Replace the file if it is there already.", rich_help_panel=OUTPUT),
]


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
    beam: Beam = DEFAULT_BEAM,
    length_penalty: Penalty = None,
    max_length: MaxLength = None,
    max_source: MaxSource = MAX_SOURCE,
    batch_size: BatchSize = 64,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="Write to this file, when all lines are translated.",
            show_default="standard output, at once",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    overwrite: Overwrite = False,
    n_best: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Write this many translations of each line, best first, after the number of the line; at most --beam.",
            show_default="one, without a number",
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
    from ..runtime.threads import where_it_runs
    from . import lines

    if text is not None and file:
        raise ValueError("give a sentence or --file, not both")
    if n_best and n_best > beam:
        raise ValueError(f"--n-best {n_best} needs a beam at least as wide: add --beam {n_best}")
    options = search_options(beam, length_penalty, max_length)
    check = partial(check_output, out, [file], overwrite=overwrite) if out else None
    if check:
        check()
    if text is None or text == STANDARD_INPUT:
        lines.check_streams(file, out)
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
    with lines.output_to(out, check) as output:
        lines.translate_lines(
            translator, source, output, options, columns, batch_size=batch_size, max_source=max_source, chunk=chunk
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
    columns: Annotated[
        str, typer.Option(help=f"{COLUMNS} of --tsv.", show_default="1,2; a third may follow", rich_help_panel=DATA)
    ] = "",
    beam: Beam = DEFAULT_BEAM,
    length_penalty: Penalty = None,
    max_length: MaxLength = None,
    max_source: MaxSource = MAX_SOURCE,
    batch_size: BatchSize = 256,
    lowercase: Annotated[
        bool | None,
        typer.Option(
            help="Whether the scores ignore case. With --no-lowercase, translations are compared with the references "
            "exactly as they are written.",
            show_default="as trained: --no-lowercase after training with --cased",
            rich_help_panel=SCORING,
        ),
    ] = None,
    all_references: Annotated[
        bool,
        typer.Option(
            "--all-references",
            help="Compare with the references of all pairs that have the same source, and count each source once.",
            rich_help_panel=SCORING,
        ),
    ] = False,
    hypotheses: Annotated[
        Path | None,
        typer.Option(help="Write the translations to this file, one a line.", rich_help_panel=OUTPUT),
    ] = None,
    overwrite: Overwrite = False,
    json: Annotated[
        bool, typer.Option("--json", help="Print the scores as one JSON object.", rich_help_panel=OUTPUT)
    ] = False,
    device: Device = "",
    threads: Threads = None,
) -> None:
    """Score a translator on the test part of its corpus, which training never saw, or on files of yours.

    The references get the spelling that the training data had (without --cased:
    lower case, plain quotes and spaces) before translations are compared with them.
    sacreBLEU's signature says how the scores were counted.
    """
    from ..runtime.threads import where_it_runs
    from . import scoring

    scoring.check_files(source, target, tsv, columns)
    if hypotheses:
        check_output(hypotheses, [source, target, tsv], overwrite=overwrite)
    options = search_options(beam, length_penalty, max_length)
    translator = _load(folder, device, threads)
    chosen = scoring.to_score(translator, folder, source, target, tsv, columns)
    check = partial(check_output, inputs=[source, target, tsv, *chosen.files], overwrite=overwrite)
    if hypotheses:
        check(hypotheses)
    scoring.refuse_long_lines(translator, chosen, max_source)
    said = f"{printable(chosen.name)}: {len(chosen.pairs):,} {chosen.what}" + (f"; beam {beam}" if beam > 1 else "")
    typer.echo(f"{said}; on {where_it_runs(translator.model)}", err=json)
    translations = translator.translate_all([pair.source for pair in chosen.pairs], batch_size=batch_size, **options)
    if hypotheses:
        scoring.write_lines(hypotheses, translations, partial(check, hypotheses))
    scores = translator.evaluate(
        chosen.pairs, batch_size, translations=translations, lowercase=lowercase, all_references=all_references
    )
    typer.echo(scoring.as_json(scores, chosen, beam, length_penalty) if json else scores)


@sentence_for_errors
def view(folder: Folder, text: Text, out: Out, overwrite: Overwrite = False, device: Device = "") -> None:
    """Draw where the model looks while it translates a sentence: an interactive page (.html), or a picture.

    A Transformer of up to 5 million parameters translates other sentences in its page.
    The page of any other model shows this one sentence.
    """
    import matplotlib

    ending = out.suffix.lower()
    if ending != ".html" and ending not in AUTHOR:
        raise ValueError(f"{out}: the ending .html gives a page; .png, .svg or .pdf a picture")
    check = partial(check_output, out, kind=DRAWING, overwrite=overwrite)
    check()
    matplotlib.use("agg")  # no window
    translator = _load(folder, device)
    text = text.encode("utf-8", "replace").decode()  # a shell may pass half a character
    if ending == ".html":
        from ..analysis.roles import read_roles

        ours = folder == Path("transformer") and not folder.exists()
        content = _page(translator, text, read_roles() if ours else None).encode("utf-8", "backslashreplace")
    else:
        content = _picture(translator, text, ending)
    write(out, signed(content), check)
    typer.echo(printable(f"written to {out}"))


def _picture(translator: Translator, text: str, ending: str) -> bytes:
    """The heat maps of all heads of the first kind of attention that the model has."""
    from ..views import heatmap

    translation = translator.translate(text)
    kind = next(iter(translator.attention_kinds), "cross")
    figure, picture = heatmap(translator.attend(text, translation, kind), title=f"{text}\n{translation}"), io.BytesIO()
    figure.savefig(picture, format=ending[1:], dpi=200, metadata={AUTHOR[ending]: MARK})
    return picture.getvalue()


def _page(translator: Translator, text: str, roles: dict[Head, str] | None) -> str:
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
    intro = f"A {translator.name} model with {known} translates the sentence in the box."
    if first.page_model() is not None:
        intro += " The model is inside this page: type another sentence, change a word, ablate a head."
    title = f"“{text}” → “{first.translation}”"
    return gallery(views, title=title, intro=intro, heading="Inside a translation", together=True)


@sentence_for_errors
def gallery(out: Out = Path("gallery.html"), overwrite: Overwrite = False) -> None:
    """Write a page with all views of the course, on the Transformer that comes with it."""
    check = partial(check_output, out, kind=DRAWING, overwrite=overwrite)
    check()
    from ..views import gallery

    write(out, signed(gallery.gallery(gallery.all_views()).encode()), check)
    typer.echo(printable(f"written to {out}"))


def _load(folder: Path, device: str, threads: int | None = None) -> Translator:
    from ..training.checkpoints import Checkpoints
    from ..translator.saving import MODEL
    from ..translator.translator import Translator
    from .output import CHECKPOINTS

    use(device, threads)
    if not folder.exists() and str(folder) in OWN:
        return Translator.pretrained(str(folder))
    if not folder.exists():
        raise FileNotFoundError(
            f"there is no folder {folder}: give one that `seqlearn train` wrote, or {' or '.join(OWN)}"
        )
    if not (folder / MODEL).exists() and Checkpoints(folder / CHECKPOINTS).files:
        raise ValueError(
            f"{folder} holds a training that was stopped in its first epoch, and no translator yet: go on with "
            f"`seqlearn train --resume {folder}` first"
        )
    return Translator.load(folder)
