"""Write parts.md, commands.md and modules.md of docs/reference from entry points, signatures and docstrings.

python scripts/reference.py            # writes them
python scripts/reference.py --check    # exit code 1 if they would change
"""

import ast
import inspect
import json
import re
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, get_type_hints

import griffe
import spacy
from typer.main import get_command

from spacy_ontolink.cli import app
from spacy_ontolink.kb.readers import OntologyReader

try:
    import tomllib
except ImportError:  # Python 3.10
    import tomli as tomllib

ROOT = Path(__file__).parent.parent
PAGES = ROOT / "docs" / "reference"
TITLES = {
    "spacy_factories": ("Components", "Added with `nlp.add_pipe(NAME, config=…)`."),
    "spacy_ontolink_readers": ("Readers", "`@ontolink_readers`: the `kb_loader` in `[initialize]`."),
    "spacy_ontolink_encoders": ("Encoders", "`@ontolink_encoders`: `encoder` of `ontolink_retriever`."),
    "spacy_ontolink_indexes": ("Indexes", "`@ontolink_indexes`: `index` of `ontolink_retriever`."),
    "spacy_ontolink_reformulators": ("Reformulators", "`@ontolink_reformulators`: of `ontolink_retriever`."),
    "spacy_ontolink_rerankers": ("Rerankers", "`@ontolink_rerankers`: `reranker` of `ontolink_context_rerank`."),
    "spacy_ontolink_llms": ("Language models", "`@ontolink_llms`: `llm` of rerankers, reformulators and `--llm`."),
    "spacy_scorers": ("Scorers", "`@scorers`: `scorer` of `ontolink_retriever`."),
}
"""The groups of entry points, in the order of the page: title, and where a config names them."""
GIVEN = {"nlp", "name"}
"""What spaCy gives to a factory; no settings."""
REQUIRED = inspect.Parameter.empty
OPENING = """\
# Components and parts

Written by `python scripts/reference.py` from entry points, signatures and docstrings. A setting without a default must
be given. In a config, `null` stands for None.
"""
COMMANDS = """\
# Command line

Written by `python scripts/reference.py` from the help texts. Every command has `--help`.
"""
MODULES = """\
# Modules

Written by `python scripts/reference.py`: the first line of every file of the package, by folder.
[Architecture](../architecture.md) says what the folders may import, and why things are as they are.
"""


class Setting(NamedTuple):
    """One setting of a part; ``default`` is ``REQUIRED`` if there is none."""

    name: str
    type: str
    default: Any
    meaning: str


class Part(NamedTuple):
    """What an entry point names."""

    group: str
    name: str
    purpose: str
    about: str
    settings: list[Setting]
    source: str


def entry_points() -> dict[str, dict[str, str]]:
    """Return the object that each name stands for, by group, as pyproject.toml has them."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return project["entry-points"]


def parts() -> Iterator[Part]:
    """Describe all that is registered, group by group."""
    groups = entry_points()
    if unknown := groups.keys() ^ TITLES.keys():
        raise SystemExit(f"scripts/reference.py: TITLES does not fit the entry points in {', '.join(sorted(unknown))}")
    for group in TITLES:
        for name, place in groups[group].items():
            module, _, function = place.partition(":")
            yield describe(group, name, getattr(import_module(module), function))


def describe(group: str, name: str, function: Callable[..., Any]) -> Part:
    """Read the signature and the docstring of the function that makes a part."""
    docstring = griffe.Docstring(inspect.getdoc(function) or "")
    purpose, meanings, source = "", {}, ""
    for section in docstring.parse("google", warnings=False):
        if section.kind is griffe.DocstringSectionKind.text and not purpose:
            purpose = section.value
        elif section.kind is griffe.DocstringSectionKind.parameters:
            meanings = {parameter.name: parameter.description for parameter in section.value}
        elif section.kind is griffe.DocstringSectionKind.admonition and section.value.kind == "source":
            source = section.value.description
    defaults = spacy.blank("en").get_factory_meta(name).default_config if group == "spacy_factories" else {}
    settings = [
        Setting(key, annotation(parameter), defaults.get(key, parameter.default), meanings.get(key, ""))
        for key, parameter in inspect.signature(function).parameters.items()
        if not (group == "spacy_factories" and key in GIVEN)
    ]
    return Part(group, name, purpose, about(function), settings, source)


def about(function: Callable[..., Any]) -> str:
    """Return what the class that a function makes says of itself, up to its sections; nothing of a reader's."""
    made = get_type_hints(function).get("return")
    if not inspect.isclass(made) or made is OntologyReader:  # which several functions make
        return ""
    return re.split(r"\n\n?(?=(?:Args|Attributes|Raises):)", inspect.getdoc(made) or "")[0]


def annotation(parameter: inspect.Parameter) -> str:
    """Write a type as a reader of configs knows it."""
    text = inspect.formatannotation(parameter.annotation)
    text = re.sub(r"\b(\w+\.)+(?=\w)", "", text.strip("'"))
    return "a block" if text in ("Any", "Callable[..., Any] | None", "Encoder", "LLM") else text


def shown(default: Any) -> str:
    """Write a default as JSON, and blocks by the names of their parts."""
    if default is REQUIRED:
        return "–"
    if isinstance(default, dict) and (names := list(named(default))):
        return " around ".join(f"`{name}`" for name in names)
    return f"`{json.dumps(list(default) if isinstance(default, tuple) else default)}`"


def named(block: dict[str, Any]) -> Iterator[str]:
    """Yield the names of registered functions in a block, the outer one first."""
    for key, value in block.items():
        if key.startswith("@"):
            yield value
        elif isinstance(value, dict):
            yield from named(value)


def cell(text: str) -> str:
    """Write a text so that it stays in its cell of a table."""
    return " ".join(plain(text).replace("|", "\\|").split())


def plain(text: str) -> str:
    """Write code as Markdown does."""
    return text.replace("``", "`")


def anchor(name: str) -> str:
    """Return the anchor of a part, which stays what it is whatever makes the page."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower())


def parts_page() -> str:
    """Write the page of all parts: an overview, and a table of settings each."""
    found = list(parts())
    lines = [OPENING]
    for group, (title, _) in TITLES.items():
        lines += [f"| {title} | what it does |", "|---|---|"]
        lines += [
            f"| [`{part.name}`](#{anchor(part.name)}) | {cell(first_line(part))} |"
            for part in found
            if part.group == group
        ]
        lines.append("")
    for group, (title, where) in TITLES.items():
        lines += [f"## {title}", "", where, ""]
        for part in found:
            if part.group == group:
                lines += section(part)
    return "\n".join(lines).rstrip() + "\n"


def first_line(part: Part) -> str:
    """Return the purpose of a part in one sentence, in the words of the class that does it."""
    return (part.about or part.purpose).partition("\n\n")[0].rstrip(".")


def section(part: Part) -> list[str]:
    """Write what is to be said of one part."""
    lines = [f"### {part.name} {{ #{anchor(part.name)} }}", "", plain(part.about or part.purpose), ""]
    if part.settings:
        lines += ["| setting | type | default | what |", "|---|---|---|---|"]
        lines += [
            f"| `{s.name}` | {cell(s.type)} | {cell(shown(s.default))} | {cell(s.meaning)} |" for s in part.settings
        ]
        lines.append("")
    if part.source:
        lines += [f"**In the papers:** {cell(part.source)}", ""]
    return lines


def commands_page() -> str:
    """Write the page of the command line from its help texts."""
    command = get_command(app)
    lines = [COMMANDS, command.help, ""]
    for name, sub in command.commands.items():
        for words, one in [
            (name, sub),
            *((f"{name} {inner}", two) for inner, two in getattr(sub, "commands", {}).items()),
        ]:
            lines += command_section(f"ontolink {words}", one)
    return "\n".join(lines).rstrip() + "\n"


def command_section(name: str, command: Any) -> list[str]:
    """Write what one command takes."""
    lines = [f"## {name}", "", paragraphs(command.help), ""]
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    options = [p for p in command.params if p.param_type_name == "option" and not getattr(p, "hidden", False)]
    if not getattr(command, "commands", None):
        usage = [metavar(p) for p in arguments]
        lines += ["```text", " ".join([name, *usage, "[OPTIONS]"]), "```", ""]
    if arguments or options:
        lines += ["| | default | what |", "|---|---|---|"]
        lines += [row(f"`{metavar(p)}`", p) for p in arguments]
        lines += [row(", ".join(f"`{name}`" for name in [*p.opts, *p.secondary_opts]), p) for p in options]
        lines.append("")
    return lines


def metavar(argument: Any) -> str:
    """Write the name of an argument, with dots if there may be several."""
    return (argument.metavar or argument.name.upper()).rstrip(".") + ("…" if argument.nargs == -1 else "")


def row(first: str, parameter: Any) -> str:
    """Write the row of an argument or option; a dash is for what must be given, and help texts may tell the default."""
    what, _, told = (parameter.help or "").partition("[default: ")
    default = parameter.default() if callable(parameter.default) else parameter.default
    if parameter.required:
        preset = "–"
    elif told or default is None or default is False or default in ((), []):
        preset = told.rstrip("]")
    else:
        preset = f"`{getattr(default, 'value', default)}`"
    return f"| {first} | {preset} | {cell(what)} |"


def paragraphs(text: str) -> str:
    """Join the lines of each paragraph of a help text."""
    return "\n\n".join(" ".join(block.split()) for block in (text or "").replace("\b", "").split("\n\n"))


def modules_page() -> str:
    """List the files of the package with the first line of each."""
    lines = [MODULES]
    package = ROOT / "spacy_ontolink"
    for folder in [package, *sorted(path.parent for path in package.rglob("*/__init__.py"))]:
        name = folder.relative_to(package.parent).as_posix()
        lines += [f"## {name}/", "", summary(folder / "__init__.py"), "", "| file | what |", "|---|---|"]
        files = sorted(path for path in folder.glob("*.py") if not path.name.startswith("__"))
        lines += [f"| `{path.stem}` | {cell(summary(path))} |" for path in files]
        lines.append("")
    return "\n".join(lines)


def summary(file: Path) -> str:
    """Return the first paragraph of a module's docstring."""
    text = ast.get_docstring(ast.parse(file.read_text("utf-8"))) or ""
    return " ".join(text.partition("\n\n")[0].replace("``", "`").split())


def pages() -> dict[Path, str]:
    """Write all pages that this script makes."""
    made = {"parts.md": parts_page, "commands.md": commands_page, "modules.md": modules_page}
    return {PAGES / name: make() for name, make in made.items()}


def main() -> None:
    """Write the pages, or with --check only tell whether they are as they should be."""
    stale = [path for path, text in pages().items() if not path.is_file() or path.read_text("utf-8") != text]
    if "--check" in sys.argv[1:]:
        for path in stale:
            print(f"{path.relative_to(ROOT)} is not what 'python scripts/reference.py' writes", file=sys.stderr)
        sys.exit(bool(stale))
    PAGES.mkdir(exist_ok=True)
    for path, text in pages().items():
        path.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
