"""The command `train`: its options, and what it does with them."""

from __future__ import annotations

import functools
import inspect
import io
import json
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import typer
from tqdm import tqdm

from ..data.corpus import Split
from ..data.download import cache_folder
from ..data.large.cache import LARGE, cached
from ..data.text import SPECIALS
from ..runtime.ownership import LOSSES_MARK, reading, signed, write
from ..runtime.threads import where_it_runs
from ..training.checkpoints import Checkpoints, Stopped
from ..training.history import History
from ..training.loop import Diverged
from ..training.processes import init_processes
from ..translator.translator import Translator
from .config import ONLY_GIVEN, as_toml, with_config
from .corpora import Description, corpus_and_split, describe, warn_of_few, with_checksums
from .devices import use
from .errors import printable, sentence_for_errors
from .logs import Board, after_epoch, board_in, log_of
from .options import OWN_FILES, Options, checked, parameters, refuse_without_effect, resumed
from .output import CHECKPOINTS, CURVE, RECORDS, RUN, check_apart, check_record, claimed, silence
from .signals import NAMES, stopping

NO_EPOCH = "no epoch was finished"


def train_command() -> Callable[..., None]:
    """`train`, with an option for each field of the groups in `options`, and for each setting of each model."""

    def command(ctx: Any, **values: Any) -> None:  # a context of typer; as many types as options
        """Put the options together, and train."""
        given = {name for name in values if ctx.get_parameter_source(name).name == "COMMANDLINE"}
        if values["resume"] is not None:
            if values["config"] is not None:
                raise ValueError("--resume goes on with the options in its folder: leave out --config")
            values = resumed(given, values)
        elif values["config"] is not None:
            values = with_config(given, values)
        if values["out"] is None:
            raise ValueError("where should the translator be written? Give --out FOLDER")
        refuse_without_effect(given, values)
        train(checked(values))

    context = inspect.Parameter("ctx", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    shown = {each.name: each for each in (context, *parameters())}
    command.__signature__ = inspect.Signature([*shown.values()])  # typer reads it
    command.__annotations__ = {name: each.annotation for name, each in shown.items()}
    return sentence_for_errors(command)


def train(options: Options) -> None:
    """Carry out the command. With several processes, only the first one writes and prints."""
    run, training, out = options.run, options.training, options.run.out
    assert out is not None, "the command has checked it"
    files = [run.config, options.data.corpus, *(getattr(options.data, name) for name in OWN_FILES if name != "cache")]
    check_apart(out, [Path(file) for file in files if file], [run.tensorboard, options.data.cache])
    use(run.device, run.threads)
    checkpoints = Checkpoints(
        out / CHECKPOINTS, every_minutes=run.checkpoint_minutes, every_updates=run.checkpoint_updates
    )
    processes = init_processes()
    with claimed(out, run.resume is not None, run.overwrite) if processes.first else silence():
        board = board_in(run.tensorboard) if run.tensorboard and processes.first else None
        processes.barrier()  # an error of the first process ends all, before any work
        stored = checkpoints.stored_texts()
        with reading(f"the description of the corpus in {checkpoints.folder}"):
            if stored:
                description: Description = json.loads(stored["data"])
            else:
                description = with_checksums(describe(options.data, training.seed))
            chosen, split = corpus_and_split(description)
        warn_of_few(split)
        given = {name: value for name, value in options.values.items() if name not in ONLY_GIVEN}
        checkpoints.texts = {"options": json.dumps(given), "data": json.dumps(description)}
        translator = _untrained(options, split, chosen.languages)
        _say_what_begins(chosen.name, split, translator, options.model.shared_vocab, processes.world_size)
        translator.config["data"] = description
        history = _fit(translator, split, out, options, checkpoints, board)
        if not processes.first:
            return
        translator.config["epochs"] = history.epochs
        translator.save(out)
        _write_records(None, history, out, options)  # once more: a crash may have come before those of the last epoch
        checkpoints.clear()
    _say_what_ended(history, training.epochs, out)


def _untrained(options: Options, split: Split, languages: tuple[str, str]) -> Translator:
    model = options.model
    translator = Translator.untrained(
        model.model,
        split,
        languages,
        min_freq=model.min_freq or 1,
        tokens=model.tokens,
        vocab_size=model.vocab_size,
        shared_vocab=model.shared_vocab,
        cased=bool(model.cased),
        seed=options.training.seed,
        **options.settings,
    )
    if min(len(translator.source.vocab), len(translator.target.vocab)) == len(SPECIALS):
        raise ValueError(f"--min-freq {model.min_freq} leaves no word in a vocabulary: give a smaller number")
    return translator


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


def _fit(
    translator: Translator, split: Split, out: Path, options: Options, checkpoints: Checkpoints, board: Board | None
) -> History:
    """Train. The best translator so far is always in the folder, whatever happens afterwards.

    Raises:
        typer.Exit: training was stopped by a signal. Its checkpoint is written, and a sentence says how to go on.
        Exception: training has failed. A note on the error says what there is in the folder.
    """
    training = options.training
    recipe = {
        "lr": training.lr,
        "epochs": training.epochs,
        "batch_size": training.batch_size,
        "max_length": options.model.max_length,
        "label_smoothing": training.label_smoothing,
        "accumulate": training.accumulate,
        "precision": training.precision,
        "seed": training.seed,
        "max_tokens": training.max_tokens,
        "patience": training.patience,
        "average_last": training.average,
    }
    translator.config |= {**recipe, "schedule": training.schedule, "warmup": training.warmup}
    ids = _written_ids(translator, split, options.data.cache, options.model.max_length)
    stored = checkpoints.stored_texts()
    finished = bool(stored) and json.loads(stored["state"])["epoch"] > 0
    best = f"the best of the epochs before is in {out}" if finished else NO_EPOCH

    def write_the_best(model: object, history: History) -> None:
        """Write the translator if the epoch that has just ended is the best so far."""
        nonlocal best
        if history.best_epoch == history.epochs - 1:
            translator.config["epochs"] = history.epochs
            translator.save(out)
        best = f"the best so far, of epoch {history.best_epoch + 1}, is in {out}"

    watched = [pair.source for pair in split.valid[:2]]
    report = functools.partial(_report, translator=translator, sources=watched)
    hooks = [report, write_the_best, functools.partial(_write_records, out=out, options=options)]
    hooks += [] if board is None else [after_epoch(board)]
    every = options.run.log_every
    with stopping(checkpoints) as signals:
        try:
            return translator.fit(
                split,
                **recipe,
                schedule=training.factor(),
                cache=ids,
                after_epoch=hooks,
                checkpoints=checkpoints,
                progress=every is None or sys.stderr.isatty(),
                log=log_of(every, board),
            )
        except Stopped:
            first = signals[0] if signals else signal.SIGTERM
            name = NAMES[first.name] if signals else "a signal to another process of this training"
            said = f"stopped by {name}; {best}. Go on with: seqlearn train --resume {out}"
            if init_processes().first:
                typer.secho(printable(said), fg="yellow", err=True)
            raise typer.Exit(128 + first) from None
        except Diverged as error:
            if best == NO_EPOCH and init_processes().first:
                checkpoints.clear()  # of weights that lead to NaN: they would only block the next try
            error.add_note(best)
            raise
        except BrokenPipeError as error:  # whoever reads what training says has ended: `seqlearn train ... | head`
            error.add_note(f"{best}. Go on with: seqlearn train --resume {out}")
            raise
        except Exception as error:  # out of memory, a disk that is full, another process that ended
            error.add_note(best)
            raise


def _write_records(model: object, history: History, out: Path, options: Options) -> None:
    """Write the options, the history (a line of JSON for each epoch) and the curve of the losses to the folder."""
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
    log = "".join(json.dumps({"epoch": number, **each}) + "\n" for number, each in enumerate(epochs, 1))
    figure, curve = loss_curves(history), io.BytesIO()
    figure.savefig(curve, format="svg", bbox_inches="tight", metadata={"Creator": LOSSES_MARK})
    plt.close(figure)  # pyplot keeps each figure otherwise
    run = signed(as_toml(options).encode())
    for name, content in {RUN: run, RECORDS: log, CURVE: signed(curve.getvalue())}.items():
        path = out / name
        write(path, content, functools.partial(check_record, path, options.run.overwrite))


def _report(model: object, history: History, translator: Translator, sources: Sequence[str]) -> None:
    for source, translation in zip(sources, translator.translate_all(sources), strict=True):
        tqdm.write(f"  {printable(source)}  ->  {printable(translation)}")
    tqdm.write(  # a line above the progress bar, not in the middle of it
        f"epoch {history.epochs}: loss {history.train_losses[-1]:.3f}, "
        f"validation {history.valid_losses[-1]:.3f}, {history.seconds[-1]:.0f} s"
    )
    sys.stdout.flush()  # somebody may read along in a file
