"""Training pairs whose entities were merged or are gone: one for each mention and entity, with what is true now."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from ..training.pairs import SOURCES
from .successors import Successors


def settle(old: Sequence[Any], new: Sequence[Any], follow: Successors) -> dict[int, Any]:
    """Put the pairs of one document right after their ids were led on; count those that are lost or one now.

    Pairs of a mention with entities that are one now become one, that of the first source. ``fits`` is less by the
    pairs that went, and a weight of one part in ``fits`` is so again. A pair that was led to another entity by a name
    gets the ``source`` and ``scope`` that this name has there; a name that nobody holds any more is a synonym, RELATED.

    Args:
        old: The mentions of a document as they were.
        new: The same with other ids; None for one that has none left.
        follow: Knows the new release; counts.

    Returns:
        What stays, by its place.
    """
    kept: dict[int, Any] = {}
    firsts: dict[tuple[Any, ...], int] = {}
    gone: Counter[Any] = Counter()
    for place, (before, after) in enumerate(zip(old, new, strict=True)):
        if after is None:
            if before is None:
                kept[place] = None
            else:
                follow.dropped += 1
                gone[_where(before)] += 1
            continue
        ids = _ids(after)
        if not ids:
            kept[place] = after
            continue
        after = after if _ids(before) == ids else _sourced(after, follow)
        first = firsts.setdefault((*_where(after), *ids), place)
        if _ids(old[first]) == _ids(before):  # the first one, or one that was there twice before
            kept[place] = after
            continue
        follow.united += 1
        gone[_where(after)] += 1
        if _rank(after) < _rank(kept[first]):
            kept[first] = after
    return {place: _fitted(item, gone[_where(item)]) for place, item in kept.items()}


def _where(item: Any) -> tuple[Any, Any]:
    return (item.get("start"), item.get("end")) if isinstance(item, dict) else (None, None)


def _ids(item: Any) -> tuple[str, ...]:
    ids = item.get("kb_ids") if isinstance(item, dict) else None
    if isinstance(ids, str):
        return (ids,)
    return tuple(ids) if isinstance(ids, list | tuple) and all(isinstance(id, str) for id in ids) else ()


def _rank(item: dict[str, Any]) -> int:
    source = item.get("source")
    return SOURCES.index(source) if source in SOURCES else len(SOURCES)


def _sourced(item: dict[str, Any], follow: Successors) -> dict[str, Any]:
    if item.get("source") not in ("p1", "synonym"):
        return item
    (id, *_), name = _ids(item), item.get("matched") or item.get("text")
    scope = (follow.scope(id, name) if isinstance(name, str) else "") or "RELATED"
    return {**item, "source": "p1" if scope == "NAME" else "synonym", "scope": scope}


def _fitted(item: Any, gone: int) -> Any:
    fits = item.get("fits") if isinstance(item, dict) else None
    if not gone or type(fits) is not int or fits < 2:
        return item
    now = max(1, fits - gone)
    weight = {"weight": 1.0 / now} if item.get("weight") == 1.0 / fits else {}
    return {**item, "fits": now, **weight}
