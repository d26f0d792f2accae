"""Names of BRAT's files: the ids of documents, as far as files can have them."""

from __future__ import annotations

import hashlib
import re
from urllib.parse import unquote

# What some file system refuses, a dot that hides a file or leads out of the folder, and "%" where it would be decoded.
_UNFIT = re.compile(r'[\x00-\x1f\x7f\\:*?"<>|]|^\.|%(?=[0-9A-Fa-f]{2})')
_LIKE_A_FILE = re.compile(r"\.(?=(?:txt|ann)\Z)", re.IGNORECASE)
_MOST_BYTES, _MOST_IN_ALL = 200, 1000
"""Bytes of a part of a name, and of all of it; file systems take 255 and some thousands, with suffix and folder."""


def encode_name(id: str) -> str:
    """Return an id as the name of a file, in folders where it has slashes; ``%3A`` and the like replace the unfit.

    A part that is too long is cut, and gets a few digits that tell it from others that begin alike.
    """
    *folders, last = id.split("/")
    folders = [_LIKE_A_FILE.sub(_percent, _encode_part(folder)) for folder in folders]
    name = "/".join([*folders, _encode_part(last)])
    return name if len(name.encode()) <= _MOST_IN_ALL else _cut(id.replace("/", "_"), name)


def id_of(name: str) -> str:
    """Return the id that a name was made of, or the name, if it was not made of one."""
    id = unquote(name, errors="replace")
    return id if encode_name(id) == name else name


def _percent(match: re.Match[str]) -> str:
    return f"%{ord(match[0]):02X}"


def _encode_part(part: str) -> str:
    part = _UNFIT.sub(_percent, part) or "_"
    return part if len(part.encode()) <= _MOST_BYTES else _cut(part, part)


def _cut(shown: str, whole: str) -> str:
    digest = hashlib.sha256(whole.encode()).hexdigest()[:12]
    shown = _UNFIT.sub("_", shown)
    return f"{shown.encode()[: _MOST_BYTES - 13].decode(errors='ignore')}-{digest}"
