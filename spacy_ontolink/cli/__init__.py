"""The ``ontolink`` command. Each of its commands imports what it needs when it runs, so that help is quick."""

from __future__ import annotations

import io
import logging
import os
import signal
import sys
from collections.abc import Sequence
from typing import Annotated, Any, NoReturn

import typer

from .. import __version__
from ..errors import OntolinkError
from .build import build
from .bulk import bulk
from .console import say
from .convert import convert
from .demo import demo
from .evaluate import evaluate
from .explain import explain
from .info import info
from .link import link
from .pairs import pairs
from .search import search
from .serve import serve
from .train import train
from .tune import tune
from .update import update

BAD_INPUT, INTERRUPTED = 2, 130

# typer may carry its own copy of click, so its classes are reached through typer.
_UsageError: Any = typer.BadParameter.__bases__[0]
app = typer.Typer(
    name="ontolink",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (build, update, link, bulk, evaluate, convert, pairs, tune, search, explain, serve, info, demo):
    app.command()(command)
app.add_typer(train, name="train")


@app.callback(invoke_without_command=True)
def ontolink(
    context: typer.Context, version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False
) -> None:
    """Give mentions of entities in text the ids of an ontology."""
    if version:
        typer.echo(__version__)
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit: 0 done, 2 with one sentence on standard error for input that cannot be used.

    An error that is not the user's keeps its traceback. An interrupt leaves nothing half-written.
    """
    _show_warnings()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # not every terminal can show every name
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    code: Any = 0
    try:
        code = app(args=None if arguments is None else list(arguments), prog_name="ontolink", standalone_mode=False)
    except _UsageError as error:
        command = error.ctx.command_path if error.ctx else "ontolink"
        _fail(f"{_missing_last(error) or error.format_message()} (see {command} --help)", BAD_INPUT)
    except OntolinkError as error:
        _fail(str(error), BAD_INPUT)
    except BrokenPipeError:  # the reader of our output has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    except OSError as error:  # a file that cannot be read or written, a full disk
        _fail(f"{error.strerror or error}: {error.filename or 'standard output, or a temporary file'}", BAD_INPUT)
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    sys.exit(code if isinstance(code, int) else 0)


def _missing_last(error: Any) -> str:
    """Name what is missing after an argument that takes several values: the parser says that these are."""
    missing = getattr(error, "param", None)
    if missing is None or missing.nargs != -1 or type(error).__name__ != "MissingParameter":
        return ""
    after = [one for one in error.ctx.command.params if one.param_type_name == "argument"]
    if missing is after[-1]:
        return ""
    return f"Missing argument '{after[-1].metavar}' after '{missing.metavar}': {after[-1].help.rstrip('.').lower()}"


def _fail(message: str, code: int) -> NoReturn:
    say(f"ontolink: {' '.join(message.split())}")
    sys.exit(code)


class _Warnings(logging.Handler):
    """Shows the library's warnings in the style of everything else on standard error."""

    def emit(self, record: logging.LogRecord) -> None:
        say(f"ontolink: {record.getMessage()}")


def _show_warnings() -> None:
    logger = logging.getLogger("spacy_ontolink")
    if not any(isinstance(handler, _Warnings) for handler in logger.handlers):
        logger.addHandler(_Warnings(logging.WARNING))
