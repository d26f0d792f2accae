"""Tell the format of a corpus from its first bytes, and from its name where they leave it open."""

from __future__ import annotations

import json
import re
from pathlib import Path

from ...errors import ConfigError, DataError, Errors
from ..tally import STDIN, name_of
from .pubtator import TITLE_LINE

FORMATS = ("text", "jsonl", "spacy", "pubtator", "bioc-json", "bioc-xml", "brat")
"""What can be read; all but text can be written."""

_SUFFIXES = {".jsonl": "jsonl", ".ndjson": "jsonl", ".spacy": "spacy", ".pubtator": "pubtator", ".json": "bioc-json",
             ".xml": "bioc-xml"}  # fmt: skip
_TABLES = (".csv", ".tsv")
"""Names of what has columns and often a header, so that its lines are no documents."""
_ZLIB = b"\x78\x9c"
"""How a ``.spacy`` file begins, and no text in UTF-8 does."""
# Each part ends where it first can, so that a head that only begins like BioC is refused in one pass.
_BIOC_XML = re.compile(
    rb"\s*(?:<\?(?:(?!\?>).)*\?>\s*|<!--(?:(?!-->).)*-->\s*|<!DOCTYPE[^>\[]*(?:\[[^\]]*\]\s*)?>\s*)*<collection\b",
    re.DOTALL,
)
_BIOC_KEYS = re.compile(rb'"(?:documents|passages|PubTator3)"\s*:')


def check_format(format: str | None) -> None:
    """Refuse the name of a format that there is not.

    Raises:
        ConfigError: It is none of ``FORMATS``.
    """
    if format is not None and format not in FORMATS:
        raise ConfigError(Errors.SETTING_VALUE.format(setting="format", given=format, wanted=", ".join(FORMATS)))


def sniff_path(path: Path) -> str | None:
    """Return the format of what is more than one stream of text: a folder, a DocBin; None for everything else.

    Raises:
        DataError: It is a folder that is no BRAT corpus.
    """
    if path.is_dir():
        if next(path.rglob("*.ann"), None) is None:
            raise DataError(Errors.NO_ANNOTATIONS_IN.format(path=path))
        return "brat"
    if path.suffix == ".spacy":
        return "spacy"
    if path.suffix == ".ann" or (path.suffix == ".txt" and path.with_suffix(".ann").is_file()):
        return "brat"
    return None


def sniff_head(path: Path, head: bytes) -> str:
    """Return the format that a file's first bytes show; what shows none is text.

    Raises:
        DataError: It is named like XML, JSON or a table, but is of no format that can be read.
    """
    if path == STDIN and head.startswith(_ZLIB):
        raise DataError(Errors.SPACY_FROM_STDIN)
    head, suffix = head.lstrip(), suffix_of(path)
    if head.startswith(b"<") and _BIOC_XML.match(head):
        return "bioc-xml"
    if suffix == ".xml":
        raise _unread(path, "it is XML, but its root is not the <collection> of BioC" if head else "it is empty")
    first = head.partition(b"\n")[0]
    if head.startswith(b"{") and not _has_text(first) and _BIOC_KEYS.search(head):
        return "bioc-json"
    if suffix == ".json" or head.startswith(b"["):
        if _BIOC_KEYS.search(head):
            return "bioc-json"
        if suffix == ".json" and not _has_text(first):
            raise _unread(
                path, "it is JSON, but neither BioC nor one object with a 'text' per line" if head else "it is empty"
            )
    if suffix in (".jsonl", ".ndjson") or head.startswith(b"{"):
        return "jsonl"
    if TITLE_LINE.fullmatch(first.decode("utf-8", "replace").strip()) or suffix == ".pubtator":
        return "pubtator"
    if b"\0" in head:
        raise _unread(path, "it is binary, or text of another encoding than UTF-8: it has zero bytes")
    if suffix in _TABLES:
        raise _unread(path, "its name says that it is a table; --from text takes it as text, each line a document")
    return "text"


def suffix_of(path: Path) -> str:
    """Return the suffix of a name, in lower case and without that of gzip."""
    return Path(path.name.lower().removesuffix(".gz")).suffix


def format_of(output: Path) -> str | None:
    """Return the format that the name of an output tells."""
    return _SUFFIXES.get(suffix_of(output))


def _has_text(line: bytes) -> bool:
    """Whether a line is, or may begin, a document of JSONL."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return re.match(rb'\{\s*(?:"id"\s*:\s*(?:"[^"]*"|\d+)\s*,\s*)?"text"', line) is not None
    return isinstance(row, dict) and "text" in row


def _unread(path: Path, reason: str) -> DataError:
    return DataError(Errors.NOT_CORPUS.format(path=name_of(path), reason=reason, formats=", ".join(FORMATS)))
