"""The values of OBO clauses: escapes, quotes, trailing qualifiers and comments, and what is often wrong with them."""

from __future__ import annotations

import re
from collections.abc import Callable

from .sources import tidy

Problem = Callable[[str, str], None]
"""Called with the kind and the detail of a problem."""

_ESCAPE = re.compile(r"\\([ntW]|[^\w\s])")
_ESCAPED = {"n": "\n", "t": "\t", "W": " "}
_QUOTED = re.compile(r'"([^"\\]*(?:\\.[^"\\]*)*)"')
# What ends the text of a badly quoted synonym, once its list of xrefs is gone.
_SCOPED = re.compile(r'"? ?\b((?:EXACT|NARROW|BROAD|RELATED)(?: [^\s\["]+)?)$')
_PAIR = r'[^\s={}",]+\s*=\s*(?:"[^"\\]*(?:\\.[^"\\]*)*"|[^\s"={},]*)'
_QUALIFIERS = re.compile(rf"\s\{{\s*(?:{_PAIR}(?:\s*,\s*{_PAIR})*\s*)?\}}(?:\s*!.*)?$")
_DATE = re.compile(
    r"(?:\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?"
    r"|(?:0[1-9]|[12]\d|3[01]):(?:0[1-9]|1[0-2]):\d{4}(?: \d\d:\d\d)?)$"
)


def unescape(text: str) -> str:
    r"""Resolve ``\n``, ``\t``, ``\W`` and escaped punctuation; a backslash before another letter is an ordinary one."""
    return _ESCAPE.sub(lambda match: _ESCAPED.get(match[1], match[1]), text) if "\\" in text else text


def plain(value: str) -> str:
    """Return an unquoted text without its trailing comment and qualifiers, unescaped and tidy."""
    if "}" in value:
        value = _QUALIFIERS.sub("", f" {value}").strip()
    if " ! " in value or value.startswith("! "):
        value = f" {value}".partition(" ! ")[0]
    return tidy(unescape(value))


def reference(value: str, problem: Problem, kind: str = "text after an id, passed over") -> str:
    """Return the id that a value begins with, without trailing qualifiers and comment; "" if there is none.

    With white space in it, an xref is kept whole, as is an id without a colon; of another only the first word is.
    """
    if " " in value or "\t" in value:
        value = f" {value}".partition(" !")[0].partition(" {")[0].strip()
        if len(words := value.split()) > 1:
            problem(kind, value)
            if ":" in words[0] and not kind.startswith("xref"):
                value = words[0]
    if not value:
        problem("clause without a value", "")
    return tidy(unescape(value))


def quoted(value: str, tag: str, problem: Problem) -> tuple[str, list[str]]:
    """Return the quoted text that a value begins with, unescaped, and the words between it and the list of xrefs.

    Text with a quote missing, or quotes inside, is read as it was meant, and counted.
    """
    match = _QUOTED.match(value)
    rest = value[match.end() :] if match else ""
    if match is None or (rest and rest[0] not in " \t[{!"):
        return _badly_quoted(value, tag, problem)
    head, bracket, tail = rest.partition("[")
    if not bracket or "]" not in tail:
        problem(f"{tag} without a closed list of xrefs", value)
        head = head.partition(" {")[0].partition(" !")[0]
    return tidy(unescape(match[1])), head.split()


def _badly_quoted(value: str, tag: str, problem: Problem) -> tuple[str, list[str]]:
    problem(f"badly quoted {tag}, read as it was meant", value)
    text = tidy(plain(value)).removeprefix('"')
    if text.endswith("]"):
        text = text[: text.rfind("[")].rstrip() if "[" in text else text
    words: list[str] = []
    if tag == "synonym" and (match := _SCOPED.search(text)):
        text, words = text[: match.start()], match[1].split()
    return text.removesuffix('"').rstrip(), words


def check_date(value: str, problem: Problem) -> None:
    """Count a date that is neither ISO 8601 nor OBO's ``dd:MM:yyyy HH:mm``; nothing else depends on dates."""
    if not _DATE.match(plain(value)):
        problem("malformed date", value)
