"""The form that all corpus formats come in and go out by: one plain dict per document, as a line of JSONL has it.

A row has ``id``, ``text`` and ``mentions``; each mention has ``start``, ``end``, ``text``, ``label`` and ``kb_ids``,
and, where its format says so, ``id``, ``raw_id``, ``composite``, ``segments``, ``individual`` and ``infons``. A row may
have ``passages``, ``relations``, ``attributes``, ``notes``, ``infons``, ``collection`` and whatever else a JSONL file
holds. A row without ``mentions`` comes from a format, or a line, that says nothing of them.
"""

from __future__ import annotations

import json
import re
import reprlib
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from ...components.spans import NIL
from ..tally import Place, Tally
from .ids import IdRules, spell

Row = dict[str, Any]
Segment = tuple[int, int]

_SURROGATE = re.compile("[\ud800-\udfff]")
_MOST_DIGITS = 18
OUTSIDE = "mention(s) left out, since they do not lie in the text"


def make_mention(
    text: str,
    segments: Sequence[Segment],
    claimed: str | None,
    label: str,
    raw_id: str | None,
    rules: IdRules,
    place: Place,
    tally: Tally,
) -> Row | None:
    """Make a mention of its fragments in the text; None, and a note, if they do not lie in it.

    Fragments with nothing but white space between them are one. What is then still in several is taken as the span from
    its first to its last character, and keeps its ``segments``. A text that differs in white space only is the same.

    Args:
        text: The document's text.
        segments: Start and end of each fragment.
        claimed: What the file says stands there, if it says so.
        label: Its label.
        raw_id: Its ids as the file has them, in one string; None if it has no place for them.
        rules: What ids are made of that.
        place: Where the file says so.
        tally: Counts mentions outside the text, and those of another text.
    """
    joined = join_segments(text, segments)
    if not joined:
        tally.note(OUTSIDE, place)
        return None
    start, end = joined[0][0], joined[-1][1]
    shown = " ".join(text[a:b] for a, b in joined)
    own = text[start:end] if len(joined) == 1 else shown
    mention: Row = {"start": start, "end": end, "text": own, "label": label, "kb_ids": []}
    # Some files give a discontinuous mention the text from its first to its last character.
    if claimed is not None and claimed.split() not in (shown.split(), text[start:end].split()):
        mention["text"] = claimed
        tally.differs(place, start, end)
    if len(joined) > 1:
        mention["segments"] = [list(segment) for segment in joined]
    if raw_id is not None:
        set_ids(mention, raw_id, rules)
    return mention


def set_ids(mention: Row, raw_id: str, rules: IdRules) -> None:
    """Give a mention the ids that a string of its file stands for, and the string where it says more than they."""
    ids, composite = rules.read(raw_id, mention["label"])
    mention["kb_ids"] = ids
    if composite:
        mention["composite"] = True
    if raw_id and raw_id != spell(ids, composite, mention["label"]):
        mention["raw_id"] = raw_id


def write_ids(mention: Row) -> str:
    """Return the ids of a mention in one string: as its file had them, where that is still read as the same ids."""
    raw_id, ids, composite = mention.get("raw_id"), gold_ids(mention["kb_ids"]), bool(mention.get("composite"))
    if isinstance(raw_id, str) and IdRules().read(raw_id, mention["label"]) == (ids, composite):
        return raw_id
    return spell(ids, composite, mention["label"])


def gold_ids(ids: Iterable[str]) -> list[str]:
    """Return the ids that name something, each once: ``NIL`` says that the mention has none."""
    return list(dict.fromkeys(id for id in ids if id not in ("", NIL)))


def offset(digits: str) -> int:
    """Return the number that decimal digits are; one of more digits than any text has characters is a very large one.

    Python refuses to read numbers of thousands of digits.
    """
    return int(digits) if len(digits) <= _MOST_DIGITS else sys.maxsize


def join_segments(text: str, segments: Iterable[Segment]) -> list[Segment]:
    """Order fragments and join those that overlap or have white space between them; empty if one is not in the text."""
    joined: list[Segment] = []
    for start, end in sorted(segments):
        if not 0 <= start < end <= len(text):
            return []
        if joined and not text[joined[-1][1] : start].strip():
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((start, end))
    return joined


def load_json(text: str) -> Any:
    """Read JSON; half a character, which JSON can hold but neither UTF-8 nor a tokeniser, becomes U+FFFD.

    Raises:
        ValueError: It is not JSON.
    """
    try:
        value = json.loads(text)
    except RecursionError as error:
        raise ValueError(str(error)) from error
    return _whole(value) if "\\u" in text else value


def _whole(value: Any) -> Any:
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, dict):
        return {_whole(key): _whole(own) for key, own in value.items()}
    return [_whole(own) for own in value] if isinstance(value, list) else value


def check_row(row: Row, place: Place, tally: Tally) -> Row:
    """Check the mentions of a row, and return it with all keys that a mention must have.

    Mentions with another text than their offsets show are counted.

    Raises:
        DataError: A mention cannot be used; the message says which and why.
    """
    mentions = row.get("mentions")
    if mentions is None:
        return {key: value for key, value in row.items() if key != "mentions"}
    if not isinstance(mentions, list):
        raise place.problem(f"'mentions' is {type(mentions).__name__}, not a list")
    checked = [_check_mention(mention, row["text"], place) for mention in mentions]
    for mention in checked:
        if "segments" not in mention and mention["text"] != row["text"][mention["start"] : mention["end"]]:
            tally.differs(place, mention["start"], mention["end"])
    return {**row, "mentions": checked}


def _check_mention(mention: Any, text: str, place: Place) -> Row:
    """Check a mention and return it with its gold ids as a list; other keys of it are kept."""
    try:
        start, end = mention["start"], mention["end"]
    except (TypeError, KeyError) as error:
        raise place.problem(f"a mention without 'start' and 'end': {mention!r}") from error
    shown = f"mention {reprlib.repr(start)}…{reprlib.repr(end)}"
    if type(start) is not int or type(end) is not int:
        raise place.problem(f"{shown}: 'start' and 'end' must be whole numbers without a decimal point")
    if not 0 <= start <= end <= len(text):
        raise place.problem(f"{shown} does not lie in a text of {len(text)} characters")
    if start == end:
        raise place.problem(f"{shown} has no characters; 'end' is the offset after its last one")
    ids = mention.get("kb_ids") or []
    ids = [ids] if isinstance(ids, str) else ids
    if not isinstance(ids, list) or not all(isinstance(id, str) for id in ids):
        raise place.problem(f"'kb_ids' of {shown} is not a list of ids: {ids!r}")
    own = mention.get("text")
    if not isinstance(own, str | None):
        raise place.problem(f"'text' of {shown} is no string: {reprlib.repr(own)}")
    return {
        **mention,
        "text": text[start:end] if own is None else own,
        "label": str(mention.get("label") or ""),
        "kb_ids": [id for id in (id.strip() for id in ids) if id],
    }
