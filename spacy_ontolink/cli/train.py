"""``ontolink train``: models that learn from pairs of mentions and ids."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

WITH_SETTINGS = {"allow_extra_args": True, "ignore_unknown_options": True}
"""Lets a command take any setting of its config, such as ``--training.learning_rate 1e-5``."""

ConfigFile = Annotated[
    Path,
    typer.Argument(
        metavar="CONFIG",
        help="A .cfg, or the name of one of the library's (docs/training.md); --block.setting VALUE changes it.",
    ),
]
PairFiles = Annotated[
    list[Path] | None,
    typer.Option(metavar="FILE…", help="Pairs that 'ontolink pairs' writes, or a corpus of any format with gold ids."),
]
Output = Annotated[Path, typer.Option("--output", "-o", help="Folder to write the model to.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace a model, or begin anew instead of going on.")]

train = typer.Typer(rich_markup_mode=None, no_args_is_help=True, help="Train a retriever or a reranker on pairs.")


@train.command(context_settings=WITH_SETTINGS)
def retriever(
    context: typer.Context, config: ConfigFile, output: Output, pairs: PairFiles = None, overwrite: Overwrite = False
) -> None:
    """Train an encoder of names, or a bi-encoder.

    The folder is for 'ontolink build --encoder' and for configs. A training that was cut
    short goes on when the same command is given again.
    """
    from .configs import find_config
    from .train_retriever import train_retriever

    settings, files = split(context.args)
    train_retriever(find_config(config), [*(pairs or []), *files], output, settings, overwrite)


@train.command(context_settings=WITH_SETTINGS)
def reranker(
    context: typer.Context,
    config: ConfigFile,
    output: Output,
    pairs: PairFiles = None,
    pipeline: Annotated[
        Path | None, typer.Option(help="A saved pipeline that finds the candidates [default: data.pipeline]")
    ] = None,
    merge: Annotated[
        bool, typer.Option("--merge", help="Of a language model, save the whole with its adapter merged in.")
    ] = False,
    overwrite: Overwrite = False,
) -> None:
    """Train a reranker on the candidates of a saved pipeline.

    What is printed puts it into a pipeline's config. A training that was cut short goes on when the
    same command is given again.
    """
    from .configs import find_config
    from .train_reranker import train_reranker

    settings, files = split(context.args)
    given = [f"--data.pipeline={pipeline}"] if pipeline else []
    given += ["--model.merge=true"] if merge else []
    train_reranker(find_config(config), [*(pairs or []), *files], output, [*given, *settings], overwrite)


def split(arguments: Sequence[str]) -> tuple[list[str], list[Path]]:
    """Tell settings, an option and a value each, from files that follow the first one of ``--pairs``."""
    settings: list[str] = []
    files = []
    left = list(arguments)
    while left:
        argument = left.pop(0)
        if not argument.startswith("-"):
            files.append(Path(argument))
            continue
        settings.append(argument)
        if "=" not in argument and left and not left[0].startswith("--"):
            settings.append(left.pop(0))
    return settings, files
