"""The code blocks of a page of Markdown, and how each is run or, where it cannot be, at least read.

A block that cannot run stands below ``<!-- not run: REASON -->``, with one of ``REASONS``. A ``text`` block below
``<!-- prints -->`` is what the block before it prints, and one with ``title="FILE"`` is written to that file.
"""

import contextlib
import io
import json
import re
import shlex
import sys
from pathlib import Path
from typing import NamedTuple

import spacy
import typer
from confection import Config
from markdown_it import MarkdownIt
from spacy.util import registry
from typer.main import get_command

from spacy_ontolink.cli import app, main

try:
    import tomllib
except ImportError:  # Python 3.10
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
REASONS = (
    "needs the network",
    "needs a GPU",
    "needs a language model",
    "needs model weights",
    "needs other data",
    "needs another package",
    "needs another program",
    "takes minutes",
)
"""Why a block may not run; more may follow, after a comma."""
LANGUAGES = {"python", "bash", "json", "ini", "nginx", "text", "csv"}
_NOT_RUN = re.compile(r"<!-- not run: (.+?) -->\s*$")
_PRINTS = re.compile(r"<!-- prints -->\s*$")
_TITLE = re.compile(r'title="([^"]+)"')
_UsageError = typer.BadParameter.__bases__[0]


class Block(NamedTuple):
    """A fenced block: the line it begins in, its language, and what is said of it."""

    line: int
    language: str
    text: str
    reason: str | None = None
    prints: bool = False
    title: str | None = None


def blocks_of(page: str) -> list[Block]:
    """Return the fenced blocks of a page, also those in lists and tabs."""
    blocks, said = [], ""
    for token in MarkdownIt("commonmark").enable("table").parse(page):
        if token.type == "fence":
            language, _, rest = token.info.strip().partition(" ")
            reason, title = _NOT_RUN.search(said), _TITLE.search(rest)
            blocks.append(
                Block(
                    token.map[0] + 1,
                    language,
                    token.content,
                    reason and reason[1],
                    bool(_PRINTS.search(said)),
                    title and title[1],
                )
            )
        said = token.content if token.type == "html_block" else ""
    return blocks


def inline_commands_of(page: str) -> list[str]:
    """Return the calls of ``ontolink`` in running text, which may leave out arguments."""
    tokens = [child for token in MarkdownIt("commonmark").enable("table").parse(page) for child in token.children or ()]
    return [token.content for token in tokens if token.type == "code_inline" and token.content.startswith("ontolink ")]


class Page:
    """Runs the blocks of one page in order: one Python namespace, one folder (the working directory)."""

    def __init__(self) -> None:
        self.names = {"spacy": spacy, "nlp": spacy.load("my_ner_pipeline")}
        self.printed = ""

    def take(self, block: Block) -> None:
        """Run a block, or read it; raise whatever is wrong with it."""
        if block.prints:
            assert block.text.strip() == self.printed.strip(), f"prints {self.printed.strip()}"
        elif block.title:
            Path(block.title).write_text(block.text, "utf-8")
        elif block.language == "bash":
            self._keep(lambda: [self._command(words, block.reason) for words in commands_of(block.text)])
        elif block.language == "python":
            code = compile(block.text, f"line {block.line}", "exec")
            if block.reason is None:
                self._keep(lambda: exec(code, self.names))
        elif block.language == "json":
            check_json(block.text)
        elif block.language == "ini":
            check_config(block.text)

    def _keep(self, run) -> None:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            run()
        self.printed = out.getvalue()

    def _command(self, words: list[str], reason: str | None) -> None:
        if words[0] == "ontolink":
            check_command(words[1:])
        if reason is not None:
            check_words(words)
        elif words[0] == "curl":
            ask(words)
        else:
            assert words[0] == "ontolink", f"{words[0]} is not run here: say why in a comment above the block"
            if words[1] != "serve":  # which never ends
                run_command(words[1:])


def commands_of(text: str) -> list[list[str]]:
    """Split a shell script into commands of words, without variables set before them."""
    lexer = shlex.shlex(text.replace("\\\n", " "), posix=True, punctuation_chars="\n;&|")
    lexer.whitespace, lexer.whitespace_split, lexer.commenters = " \t", True, ""
    commands: list[list[str]] = [[]]
    comment = False
    for word in lexer:
        if set(word) <= set("\n;&|"):
            comment = comment and "\n" not in word
            commands.append([])
        elif not comment:
            comment = word.startswith("#")
            if not comment and not (not commands[-1] and re.match(r"[A-Z_]+=", word)):
                commands[-1].append(word)
    return [command for command in commands if command]


def find_command(words: list[str]) -> tuple[typer.core.TyperCommand, list[str], list[str]]:
    """Return the command that words call, its name, and the other words."""
    command, names = get_command(app), ["ontolink"]
    while getattr(command, "commands", None) and words and words[0] in command.commands:
        names.append(words[0])
        command, words = command.commands[words[0]], words[1:]
    assert len(names) > 1, f"there is no command ontolink {' '.join(words)}"
    return command, names, words


def check_command(words: list[str]) -> None:
    """Let ``ontolink`` read its arguments, without running anything."""
    command, names, words = find_command(words)
    try:
        command.make_context(" ".join(names), list(words))
    except _UsageError as error:
        raise AssertionError(f"{' '.join(names)}: {error.format_message()}") from error


def check_options(words: list[str]) -> None:
    """Check that a command and its options exist."""
    command, names, words = find_command(words)
    known = {name for option in command.params for name in option.opts} | {"--help"}
    for word in words:
        fine = not word.startswith("--") or word in known or command.context_settings.get("ignore_unknown_options")
        assert fine, f"{' '.join(names)} has no option {word}"


def run_command(words: list[str]) -> None:
    """Run ``ontolink``; what stands where a new pipeline goes is replaced."""
    if words[0] in ("build", "update", "tune") and any(Path(word).is_dir() for word in words[2:]):
        words = [*words, "--overwrite"]
    errors, standard_input = io.StringIO(), sys.stdin
    try:
        with contextlib.redirect_stderr(errors):
            main(words)
    except SystemExit as end:
        assert end.code == 0, f"ontolink {' '.join(words)}: {errors.getvalue()}"
    finally:
        sys.stdin = standard_input


def check_words(words: list[str]) -> None:
    """Check that what a command names is there: scripts and their options, extras, targets, variables."""
    if words[0].endswith("python") and len(words) > 1 and words[1].endswith(".py"):
        script = (ROOT / words[1]).read_text("utf-8") + (ROOT / "benchmarks" / "common.py").read_text("utf-8")
        for option in words[2:]:
            assert not option.startswith("--") or option.partition("=")[0] in script, f"{words[1]} has no {option}"
    elif words[0] == "make":
        makefile = (ROOT / "Makefile").read_text("utf-8")
        for target in words[1:]:
            name = target.partition("=")[0]
            assert re.search(rf"^{name}:|\$\({name}\)", makefile, re.MULTILINE), f"there is no make {target}"
    elif "pip" in words[:3] or words[0].endswith("pip"):
        extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
        for word in words:
            for extra in re.findall(r"^\.\[(.+)\]$", word):
                assert set(extra.split(",")) <= extras.keys(), f"there is no extra in {word}"
    elif words[:5] == ["python", "-m", "spacy", "project", "run"]:
        projects = [(path, path.read_text("utf-8")) for path in [ROOT / "project.yml", *ROOT.glob("projects/*/*.yml")]]
        assert any(f"\n  {words[5]}:" in text or f"- name: {words[5]}\n" in text for _, text in projects), words[5]
        for option in words[6:]:
            if option.startswith("--vars."):
                name = option.removeprefix("--vars.").partition("=")[0]
                assert any(f"\n  {name}:" in text for _, text in projects), f"there is no variable {name}"


def check_json(text: str) -> None:
    """Read one JSON value, or one a line."""
    try:
        json.loads(text)
    except json.JSONDecodeError:
        for line in text.splitlines():
            json.loads(line)


def check_config(text: str) -> None:
    """Check that every part in a piece of a config exists and has the settings that it is given."""

    def check(block: dict) -> None:
        for key, name in list(block.items()):
            if key.startswith("@"):
                function = registry.get(key[1:], name)
                parameters = function.__code__.co_varnames[: function.__code__.co_argcount]
                assert {other for other in block if other != key} <= set(parameters), f"{name} has no such settings"
            elif isinstance(name, dict):
                check(name)

    config = Config().from_str(whole(text), interpolate=False)
    assert config
    check(config)


def whole(text: str) -> str:
    """Put in the outer blocks that a piece of a config leaves out."""
    inner = re.findall(r"^\[([^\[\]]+)\]$", text, re.MULTILINE)
    names = [".".join(name.split(".")[:depth]) for name in inner for depth in range(1, name.count(".") + 1)]
    missing = [name for name in dict.fromkeys(names) if name not in inner]
    return "".join(f"[{name}]\n" for name in sorted(missing, key=lambda name: name.count("."))) + text


def ask(words: list[str]) -> None:
    """Send what curl would to the service of my-linker/, in this process."""
    from fastapi.testclient import TestClient

    from spacy_ontolink.cli.pipelines import load_pipeline
    from spacy_ontolink.cli.serve import make_service
    from spacy_ontolink.service.app import make_app
    from spacy_ontolink.service.settings import Limits

    (url,) = [word for word in words if word.startswith("http://127.0.0.1:8000")]
    path = url.removeprefix("http://127.0.0.1:8000")
    app = make_app(make_service(load_pipeline("my-linker"), "my-linker", None, Limits()), "my-linker")
    with TestClient(app, base_url="http://127.0.0.1:8000") as client:
        if "-d" in words:
            headers = dict([words[words.index("-H") + 1].split(": ")])
            answer = client.post(path, content=words[words.index("-d") + 1], headers=headers)
        else:
            answer = client.get(path)
    assert answer.status_code == 200, answer.text
    sys.stdout.write(answer.text)
