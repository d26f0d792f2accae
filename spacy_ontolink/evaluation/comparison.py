"""This run against another one over the same mentions, mention by mention."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..documents import GIVEN
from ..documents.records import document_id
from ..errors import DataError, Errors
from ..metrics import Resampling, compare, mcnemar
from .measures import MEASURES, reached
from .outcomes import VERDICTS, Outcome, gold_of

if TYPE_CHECKING:
    from spacy.tokens import Doc

Row = dict[str, Any]
Key = tuple[str, int, int, str, frozenset[str]]

MOST_RANK = 2**31 - 1
"""The highest rank that a file may give: more entities no knowledge base has."""


@dataclass(frozen=True)
class Run:
    """An earlier run, as ``ontolink evaluate --output`` wrote it.

    Attributes:
        name: Its pipeline.
        path: Its file.
        rows: One for each mention, see ``Outcome.to_json``.
    """

    name: str
    path: Path
    rows: list[Row]


def read_run(path: Path) -> Run:
    """Read an earlier run.

    Raises:
        DataError: The file is missing, or does not say what became of each mention.
    """
    if not path.is_file():
        raise DataError(Errors.INPUT_MISSING.format(path=path))
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise DataError(Errors.NO_RUN.format(path=path, reason=f"not JSON ({error})")) from error
    rows = found.get("mentions") if isinstance(found, dict) else None
    if not isinstance(rows, list):
        reason = "it does not say what became of each mention"
        raise DataError(Errors.NO_RUN.format(path=path, reason=reason))
    for number, row in enumerate(rows, start=1):
        if not _is_row(row):
            reason = f"mention {number} of it lacks one of document, start, end, label, gold, rank and verdict"
            raise DataError(Errors.NO_RUN.format(path=path, reason=reason))
        if not 0 <= row["rank"] <= MOST_RANK:
            raise DataError(Errors.NO_RUN.format(path=path, reason=f"mention {number} of it has an impossible rank"))
    return Run(str(found.get("pipeline", "")) or path.stem, path, rows)


@dataclass(frozen=True)
class Comparison:
    """This run beside an earlier one.

    Attributes:
        facts: For each depth of recall, the MRR and the accuracy with ``NIL`` see ``metrics.compare``; ``mcnemar`` of
            the first candidate; what was drawn (``resampling``).
        ranks: The rank that the earlier run gave the first right candidate of each mention; 0 for none.
    """

    facts: dict[str, Any]
    ranks: list[int]


def compare_runs(outcomes: Sequence[Outcome], other: Run, resampling: Resampling) -> Comparison:
    """Compare a run with an earlier one.

    Args:
        outcomes: The mentions.
        other: The earlier run.
        resampling: Draws over the same mentions, those without a gold id included, for all that is compared.

    Raises:
        DataError: The earlier run is about other mentions, or other gold ids.
    """
    rows = _aligned(outcomes, other)
    given = np.array([bool(one.gold) for one in outcomes], bool)
    here, there = np.array([one.rank for one in outcomes], np.int64), np.array([row["rank"] for row in rows], np.int64)
    ours, theirs = reached(here), reached(there)
    found: dict[str, Any] = {
        name: compare(ours[:, column], theirs[:, column], resampling, given) for column, name in enumerate(MEASURES)
    }
    right = np.array([row["verdict"] in ("right", "nil") for row in rows], bool)
    found["accuracy"] = compare(np.array([one.is_right for one in outcomes], bool), right, resampling)
    facts = {
        "with": other.name,
        "file": other.path.name,
        "n": int(given.sum()),
        **found,
        "mcnemar": mcnemar(here[given] == 1, there[given] == 1),
        "resampling": resampling.facts(),
    }
    return Comparison(facts, there.tolist())


def check_run(docs: Iterable[Doc], other: Run) -> None:
    """Check, before anything is linked, that an earlier run is about the mentions of these documents.

    Raises:
        DataError: It is about other mentions, or other gold ids.
    """
    _check(
        [_key(document_id(doc), mention["start"], mention["end"], mention["label"], gold_of(mention))
         for doc in docs for mention in doc.user_data[GIVEN]["mentions"]],
        other,
    )  # fmt: skip


def _aligned(outcomes: Sequence[Outcome], other: Run) -> list[Row]:
    """Return the rows of the other run in the order of this one; documents may have come in another order."""
    ours = [_key(one.document, one.start, one.end, one.label, one.gold) for one in outcomes]
    _check(ours, other)
    places: dict[Key, list[Row]] = {}
    for row in reversed(other.rows):
        places.setdefault(_key_of(row), []).append(row)
    return [places[key].pop() for key in ours]


def _key(document: str, start: int, end: int, label: str, gold: Iterable[str]) -> Key:
    """Return what makes two mentions of two runs the same."""
    return document, start, end, label, frozenset(gold)


def _key_of(row: Row) -> Key:
    return _key(row["document"], row["start"], row["end"], row["label"], row["gold"])


def _check(ours: Sequence[Key], other: Run) -> None:
    theirs = [_key_of(row) for row in other.rows]
    if Counter(ours) != Counter(theirs):
        raise DataError(Errors.OTHER_MENTIONS.format(path=other.path, reason=_difference(ours, theirs)))


def _difference(ours: Sequence[Key], theirs: Sequence[Key]) -> str:
    """Say how two sets of mentions differ."""
    apart, bare = Counter(ours), Counter(key[:4] for key in ours)
    apart.subtract(theirs)
    bare.subtract(key[:4] for key in theirs)
    first = next(key for key, count in apart.items() if count)
    where = f"{first[1]}…{first[2]} in document {first[0]}"
    if not any(bare.values()):
        n = sum(count for count in apart.values() if count > 0)
        return f"the gold ids of {n:,} of its {len(theirs):,} mention(s) are others, such as those of {where}"
    only_here, only_there = (sum(max(0, sign * count) for count in bare.values()) for sign in (1, -1))
    return f"{only_here:,} mention(s) are only here and {only_there:,} only there, such as {where}"


def _is_row(row: Any) -> bool:
    return (
        isinstance(row, dict)
        and all(isinstance(row.get(key), str) for key in ("document", "label"))
        and all(type(row.get(key)) is int for key in ("start", "end", "rank"))
        and row.get("verdict") in VERDICTS
        and isinstance(row.get("gold"), list)
        and all(isinstance(id, str) for id in row["gold"])
    )
