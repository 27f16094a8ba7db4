"""The command `train`: its options, and what it does with them."""

from __future__ import annotations

import functools
import inspect
import json
import shutil
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from tqdm import tqdm

from ..data.cache import LARGE, cached
from ..data.corpus import Split
from ..data.download import cache_folder
from ..data.text import SPECIALS, TOKENS
from ..models import MODELS, spec_of
from ..saving import MODEL
from ..threads import where_it_runs
from ..training.checkpoints import Checkpoints, Stopped
from ..training.history import History
from ..training.processes import join
from ..training.schedules import SCHEDULES, make_schedule
from ..translator import Translator
from .corpora import corpus_and_split, describe, with_checksums
from .devices import Device, Threads, use
from .errors import printable, sentence_for_errors
from .options import Options, chosen_settings, in_panel, model_options, rates, stored_options, without_effect
from .output import CHECKPOINTS, CURVE, LOG, claimed, silence
from .signals import NAMES, stopping


def train_command() -> Callable[..., None]:
    """`train`, with an option for each setting of each model, and with --resume."""
    signature = inspect.signature(train, eval_str=True)
    shared = [
        in_panel(each) for each in signature.parameters.values() if each.kind is not inspect.Parameter.VAR_KEYWORD
    ]

    @functools.wraps(train)
    def command(ctx: Any, **options: Any) -> None:  # a context of typer; as many types as options
        """Check how the options go together, and train."""
        given = {name for name in options if ctx.get_parameter_source(name).name == "COMMANDLINE"}
        if options["resume"] is not None:
            options = stored_options(given, options)
        elif options["out"] is None:
            raise ValueError("where shall the translator be written? Give --out FOLDER")
        if unused := without_effect(given, options):
            raise ValueError(unused)
        train(**options)

    context = inspect.Parameter("ctx", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    parameters = [context, *shared, *model_options()]
    command.__signature__ = signature.replace(parameters=parameters)  # pyright: ignore[reportAttributeAccessIssue]  typer reads it
    command.__annotations__ = {each.name: each.annotation for each in parameters}
    return sentence_for_errors(command)


def train(
    out: Annotated[
        Path | None, typer.Option(help="The folder to write the translator to: a new one, or that of a translator.")
    ] = None,
    resume: Annotated[
        Path | None, typer.Option(help="Go on with the training in this folder, after it was stopped.")
    ] = None,
    corpus: Annotated[str, typer.Option(help="builtin, fra-eng, or a file of source<TAB>target lines.")] = "builtin",
    source: Annotated[str, typer.Option(help="A file with one source sentence a line (with --target).")] = "",
    target: Annotated[str, typer.Option(help="A file with one target sentence a line (with --source).")] = "",
    languages: Annotated[
        str, typer.Option(help="The languages of your files: they decide how words are split.")
    ] = "en-fr",
    data: Annotated[str, typer.Option(help="The folder that holds fra-eng.", show_default="$SEQLEARN_DATA")] = "",
    skip_malformed: Annotated[
        bool, typer.Option("--skip-malformed", help="Leave malformed lines of your files out, and count them.")
    ] = False,
    reverse: Annotated[bool, typer.Option("--reverse", help="Translate in the other direction.")] = False,
    pairs: Annotated[int, typer.Option(help="How many pairs the built-in corpus writes.")] = 30_000,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Use this many pairs of the corpus, drawn at random.", show_default="all")
    ] = None,
    held_out: Annotated[
        float,
        typer.Option(
            help="The share of the corpus's source sentences for each of valid and test, if it has no file of its own.",
            show_default="1/30",
        ),
    ] = 1 / 30,
    valid: Annotated[
        str,
        typer.Option(
            help="A file of source<TAB>target lines to choose the best epoch by. Pairs of the corpus that share a "
            "source sentence with your held-out files are left out, and counted."
        ),
    ] = "",
    valid_source: Annotated[
        str, typer.Option(help="Instead of --valid: a file with one source sentence a line (with --valid-target).")
    ] = "",
    valid_target: Annotated[
        str, typer.Option(help="A file with one target sentence a line (with --valid-source).")
    ] = "",
    test: Annotated[str, typer.Option(help="A file of source<TAB>target lines that `seqlearn evaluate` scores.")] = "",
    test_source: Annotated[
        str, typer.Option(help="Instead of --test: a file with one source sentence a line (with --test-target).")
    ] = "",
    test_target: Annotated[str, typer.Option(help="A file with one target sentence a line (with --test-source).")] = "",
    cache: Annotated[
        str,
        typer.Option(
            help="A folder for the ids of a large corpus, which is not held in memory.",
            show_default=f"from {LARGE:,} pairs on, $SEQLEARN_CACHE or the system's cache folder",
        ),
    ] = "",
    model: Annotated[
        str, typer.Option(help="; ".join(f"{name}: {spec.help}" for name, spec in MODELS.items()) + ".")
    ] = "bahdanau",
    tokens: Annotated[str, typer.Option(help="word, or bpe: pieces of words, for any script.")] = "word",
    vocab_size: Annotated[int, typer.Option(min=10, help="The most tokens of each side, with --tokens bpe.")] = 8000,
    shared_vocab: Annotated[
        bool,
        typer.Option(
            "--shared-vocab",
            help="With --tokens bpe: one vocabulary for both sides. Then --tie also ties the encoder's embeddings.",
        ),
    ] = False,
    max_length: Annotated[int, typer.Option(min=1, help="Leave out pairs with more tokens on a side.")] = 256,
    min_freq: Annotated[
        int | None,
        typer.Option(min=1, help="Words that occur less often become <unk>.", show_default="builtin 1, else 2"),
    ] = None,
    epochs: Annotated[int, typer.Option(min=1, help="How many times training goes through its data.")] = 4,
    patience: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="End after this many epochs without a better validation loss. The schedule still counts all --epochs.",
            show_default="never",
        ),
    ] = None,
    average: Annotated[
        int,
        typer.Option(
            min=1,
            help="Validate and keep the mean of the weights at the ends of this many last epochs. "
            "Training goes on with its own weights.",
        ),
    ] = 1,
    lr: Annotated[float | None, typer.Option(min=0, help="Peak learning rate.", show_default=rates("lr"))] = None,
    schedule: Annotated[str, typer.Option(help=f"How the learning rate changes: {', '.join(SCHEDULES)}.")] = "linear",
    warmup: Annotated[
        float | None,
        typer.Option(help="Share of training in which the learning rate rises.", show_default=rates("warmup")),
    ] = None,
    label_smoothing: Annotated[
        float, typer.Option(min=0, max=0.99, help="Share of the probability that goes from the right token to all.")
    ] = 0.0,
    batch_size: Annotated[int, typer.Option(min=1, help="Pairs in a batch.")] = 64,
    accumulate: Annotated[int, typer.Option(min=1, help="Batches for each update.")] = 1,
    precision: Annotated[
        str | None, typer.Option(help="bf16, where the device has it.", show_default="float32")
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, max=2**63 - 1, help="The seed of split, weights and order of batches.")
    ] = 0,
    checkpoint_minutes: Annotated[float, typer.Option(help="Minutes between two checkpoints.")] = 10.0,
    checkpoint_updates: Annotated[
        int | None, typer.Option(min=1, help="Updates between two checkpoints.", show_default="by time alone")
    ] = None,
    device: Device = "",
    threads: Threads = None,
    **settings: Any,  # of the model: their types are those of its factory
) -> None:
    """Carry out the command. Of several processes the first one alone writes and speaks."""
    given = _as_json(locals())
    assert out is not None, "the command has checked it"
    description = describe(
        corpus=corpus, source=source, target=target, data=data, languages=languages, skip_malformed=skip_malformed,
        reverse=reverse, pairs=pairs, limit=limit, held_out=held_out, seed=seed,
        valid=(valid, valid_source, valid_target), test=(test, test_source, test_target),
    )  # fmt: skip
    use(device, threads)
    if tokens not in TOKENS:
        raise ValueError(f"--tokens is one of {', '.join(TOKENS)}, not {tokens!r}")
    spec = spec_of(model)
    settings = chosen_settings(spec, settings, shared_vocab)
    options = {
        "lr": spec.lr if lr is None else lr, "epochs": epochs, "batch_size": batch_size, "max_length": max_length,
        "label_smoothing": label_smoothing, "accumulate": accumulate, "precision": precision, "seed": seed,
        "patience": patience, "average": average,
    }  # fmt: skip
    rate = {"schedule": schedule, "warmup": spec.warmup if warmup is None else warmup}
    factor = make_schedule(*rate.values())
    checkpoints = Checkpoints(out / CHECKPOINTS, every_minutes=checkpoint_minutes, every_updates=checkpoint_updates)
    processes = join()
    with claimed(out) if processes.first else silence():
        processes.wait()  # an error of the first process ends all, before any work
        if resume is None and checkpoints.files:
            raise ValueError(
                f"{out} holds an unfinished training: go on with --resume {out}, or remove {out / CHECKPOINTS}"
            )
        stored = checkpoints.stored_texts()
        description = json.loads(stored["data"]) if stored else with_checksums(description)
        chosen, split = corpus_and_split(description)
        checkpoints.texts = {"options": json.dumps(given), "data": json.dumps(description)}
        min_freq = min_freq or (1 if corpus == "builtin" and not source else 2)
        vocabs = {"min_freq": min_freq, "tokens": tokens, "vocab_size": vocab_size, "shared_vocab": shared_vocab}
        translator = Translator.untrained(model, split, chosen.languages, **vocabs, seed=seed, **settings)
        if min(len(translator.source.vocab), len(translator.target.vocab)) == len(SPECIALS):
            raise ValueError(f"--min-freq {min_freq} leaves no word in a vocabulary: give a smaller number")
        _say_what_begins(chosen.name, split, translator, shared_vocab, processes.count)
        translator.config |= {"data": description, **options, **rate}
        ids = _written_ids(translator, split, cache, max_length)
        history = _fit(translator, split, out, checkpoints, {**options, "schedule": factor, "cache": ids})
        if not processes.first:
            return
        translator.config["epochs"] = history.epochs
        translator.save(out)
        _keep_records(None, history, out)  # once more: a crash may have come before those of the last epoch
        shutil.rmtree(out / CHECKPOINTS)
    _say_what_ended(history, epochs, out)


def _say_what_begins(name: str, split: Split, translator: Translator, shared_vocab: bool, processes: int) -> None:
    counts = ", ".join(f"{len(part):,} {kind}" for kind, part in zip(split._fields, split, strict=True))
    sizes = f"{len(translator.source.vocab):,} and {len(translator.target.vocab):,} tokens"
    sizes = f"{len(translator.source.vocab):,} tokens for both sides" if shared_vocab else sizes
    several = f", in {processes} processes" if processes > 1 else ""
    typer.echo(f"{printable(name)}: pairs {counts}; {sizes}; on {where_it_runs(translator.model)}{several}")


def _say_what_ended(history: History, epochs: int, out: Path) -> None:
    if history.epochs < epochs:
        said = f"no better validation loss since epoch {history.best_epoch + 1}"
        typer.echo(f"ended early, after epoch {history.epochs} of {epochs}: {said}")
    speed = sum(history.tokens) / max(sum(history.seconds), 1e-9)
    typer.echo(f"{speed:,.0f} tokens/s; best epoch {history.best_epoch + 1}; written to {printable(str(out))}")


def _written_ids(translator: Translator, split: Split, cache: str, max_length: int) -> Path | None:
    """The folder of the cache, with the ids of this training in it; None: the ids fit in memory.

    They are written here, where Ctrl-C still ends the program at once: training would first finish its update.
    """
    if not cache and len(split.train) < LARGE:
        return None
    folder = Path(cache) if cache else cache_folder() / "ids"
    typer.echo(f"the ids are in {folder}, not in memory")
    for pairs in (split.train, split.valid):
        cached(folder, pairs, translator.source, translator.target, max_length)
    return folder


def _fit(translator: Translator, split: Split, out: Path, checkpoints: Checkpoints, options: Options) -> History:
    """Train. The best translator so far is always in the folder, whatever happens afterwards.

    Raises:
        typer.Exit: training was stopped by a signal. Its checkpoint is written, and a sentence says how to go on.
        Exception: training has failed. A note on the error says what there is in the folder.
    """
    resumed = bool(checkpoints.files) and (out / MODEL).is_file()
    best = f"the best of the epochs before is in {out}" if resumed else "no epoch was finished"

    def keep_the_best(model: object, history: History) -> None:
        """Write the translator if the epoch that has just ended is the best so far."""
        nonlocal best
        if history.best_epoch == history.epochs - 1:
            translator.config["epochs"] = history.epochs
            translator.save(out)
        best = f"the best so far, of epoch {history.best_epoch + 1}, is in {out}"

    watched = [pair.source for pair in split.valid[:2]]
    report = functools.partial(_report, translator=translator, sources=watched)
    hooks = [report, keep_the_best, functools.partial(_keep_records, out=out)]
    with stopping(checkpoints) as signals:
        try:
            return translator.fit(split, **options, after_epoch=hooks, checkpoints=checkpoints)
        except Stopped:
            first = signals[0] if signals else signal.SIGTERM  # which may have come to another process alone
            said = f"stopped by {NAMES[first.name]}; {best}. Go on with: seqlearn train --resume {out}"
            if join().first:
                typer.secho(printable(said), fg="yellow", err=True)
            raise typer.Exit(128 + first) from None
        except Exception as error:  # NaN, out of memory, a disk that is full, another process that ended
            error.add_note(best)
            raise


def _as_json(options: Options) -> Options:
    """The options of a call, with the settings of the model among them, in types that JSON has."""
    flat = {**options, **options["settings"]}
    return {
        name: str(value) if isinstance(value, Path) else value for name, value in flat.items() if name != "settings"
    }


def _keep_records(model: object, history: History, out: Path) -> None:
    """Write the history to the folder: a line of JSON for each epoch, and the curve of the losses."""
    import matplotlib

    matplotlib.use("agg")  # no window
    from matplotlib import pyplot as plt

    from ..views import loss_curves

    kept = {
        "train_loss": history.train_losses,
        "valid_loss": history.valid_losses,
        "seconds": history.seconds,
        "tokens": history.tokens,
    }
    epochs = [dict(zip(kept, each, strict=True)) for each in zip(*kept.values(), strict=True)]
    lines = [json.dumps({"epoch": number, **each}) + "\n" for number, each in enumerate(epochs, 1)]
    (out / LOG).write_text("".join(lines), encoding="utf-8", newline="\n")
    figure = loss_curves(history)
    figure.savefig(out / CURVE, bbox_inches="tight")
    plt.close(figure)  # pyplot keeps each figure otherwise


def _report(model: object, history: History, translator: Translator, sources: Sequence[str]) -> None:
    for source, translation in zip(sources, translator.translate(sources), strict=True):
        tqdm.write(f"  {printable(source)}  ->  {printable(translation)}")
    tqdm.write(  # a line above the progress bar, not in the middle of it
        f"epoch {history.epochs}: loss {history.train_losses[-1]:.3f}, "
        f"validation {history.valid_losses[-1]:.3f}, {history.seconds[-1]:.0f} s"
    )
