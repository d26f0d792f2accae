"""Aliases in files: a store that grows with every answer, so that a killed run goes on, and lists of aliases."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from ..errors import DataError, Errors, StateError
from ..files import replacing
from .alias_filter import Judged
from .aliases import NO_ALIAS, Alias, Generated, Settings, answer_hash

FORMAT = "spacy-ontolink aliases 1"
_KEYS: dict[str, Callable[[Any], bool]] = {
    "entity": lambda value: isinstance(value, str),
    "aliases": lambda value: isinstance(value, list) and all(isinstance(text, str) for text in value),
    "dropped": lambda value: isinstance(value, dict) and all(type(n) is int for n in value.values()),
    "answer": lambda value: isinstance(value, str),
    "source": lambda value: isinstance(value, str),
    "raw": lambda value: isinstance(value, str),
}
"""What a line has, and what each value must be."""
_JUDGEMENT = [each.name for each in fields(Judged) if each.name != "alias"]


class AliasStore:
    """One line per answered entity, appended as answers come; the first line says what they were made with.

    An entity that was answered again counts with its last line. A line that was cut, as the last one of a killed run
    may be, is cut off.

    Attributes:
        path: The file, made with the first answer.
        settings: What its answers were made with.
        sources: The ``source`` of each entity that has an answer (be it one without an alias).
    """

    def __init__(self, path: str | Path, settings: Settings | None = None) -> None:
        """Open a store, or begin one.

        Args:
            path: The file.
            settings: What answers will be made with; None takes what the file says.

        Raises:
            StateError: The file is no store, is damaged, or was made with other settings: they are not mixed.
        """
        self.path = Path(path)
        self.sources: dict[str, str] = {}
        self._places: dict[str, int] = {}
        self._end = self._size = 0
        saved = self._scan() if self.path.exists() else None
        if saved is None and settings is None:
            wrong = Errors.NO_ALIAS_STORE if self.path.exists() else Errors.INPUT_MISSING
            raise DataError(wrong.format(path=path))
        if saved is not None and settings is not None:
            for what, before, now in zip(Settings._fields, saved, settings, strict=True):
                if before != now:
                    raise StateError(Errors.OTHER_ALIASES.format(path=path, what=what, saved=before, given=now))
        self.settings: Settings = saved or settings  # type: ignore[assignment]

    def __len__(self) -> int:
        return len(self.sources)

    def __contains__(self, entity: object) -> bool:
        return entity in self.sources

    def __iter__(self) -> Iterator[Generated]:
        """Read what came of each entity, in the order of the file."""
        if not self._places:
            return
        with self.path.open("rb") as file:
            for place in sorted(self._places.values()):
                file.seek(place)
                yield self._parse(file.readline())

    def aliases(self) -> Iterator[Alias]:
        """Read all aliases."""
        for generated in self:
            yield from generated.aliases

    def append(self, generated: Iterable[Generated]) -> None:
        """Add answers, at once on disk; what was skipped for want of a definition or an answer is not kept.

        Raises:
            StateError: The file has grown or shrunk meanwhile.
        """
        lines = [(item, _line(_record(item))) for item in generated if item.raw is not None]
        if not lines:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab") as file:
            if file.tell() != self._size:  # another run has written to it
                raise StateError(Errors.STORE_IN_USE.format(path=self.path))
            file.seek(file.truncate(self._end))
            if not self._end:
                file.write(_line({"format": FORMAT, **self.settings._asdict()}))
            for item, line in lines:
                self.sources[item.entity], self._places[item.entity] = item.source, file.tell()
                file.write(line)
            self._end = self._size = file.tell()

    def _scan(self) -> Settings | None:
        """Note where each entity's line is; None for an empty file."""
        settings = None
        with self.path.open("rb") as file:
            self._size = self.path.stat().st_size
            for number, line in enumerate(file, 1):
                if not line.endswith(b"\n"):
                    break
                if settings is None:
                    settings = self._header(line)
                else:
                    record = self._object(line, number)
                    self._places[record["entity"]] = self._end
                    self.sources[record["entity"]] = record["source"]
                self._end += len(line)
        return settings

    def _header(self, line: bytes) -> Settings:
        try:
            record = json.loads(line)
            if record.pop("format") == FORMAT:
                return Settings(**record)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            pass
        raise StateError(Errors.NO_ALIAS_STORE.format(path=self.path))

    def _object(self, line: bytes, number: int = 0) -> dict[str, Any]:
        try:
            record = json.loads(line)
            if missing := _KEYS.keys() - record.keys():
                raise ValueError(f"no '{min(missing)}' in it")
            if wrong := [key for key, kind in _KEYS.items() if not kind(record[key])]:
                raise ValueError(f"'{wrong[0]}' is {json.dumps(record[wrong[0]])[:60]}")
        except (ValueError, AttributeError, RecursionError) as error:
            raise StateError(Errors.BAD_LINE.format(path=self.path, line=number, reason=error)) from error
        return dict(record)

    def _parse(self, line: bytes) -> Generated:
        record = self._object(line)
        entity, source = record["entity"], (self.settings.model, self.settings.prompt, record["answer"])
        aliases = tuple(Alias(entity, text, *source) for text in record["aliases"])
        skipped = "" if aliases else NO_ALIAS
        return Generated(entity, aliases, skipped, record["dropped"], record["raw"], record["source"])


def write_aliases(path: str | Path, aliases: Iterable[Alias | Judged]) -> None:
    """Write a list of aliases as JSON lines, whole or not at all, with the judgement of those that have one."""
    with replacing(Path(path)) as scratch, scratch.open("wb") as file:
        for item in aliases:
            judgement = {name: getattr(item, name) for name in _JUDGEMENT} if isinstance(item, Judged) else {}
            alias = item.alias if isinstance(item, Judged) else item
            file.write(_line(asdict(alias) | judgement))


def read_aliases(path: str | Path, holds: Callable[[Generated], bool] | None = None) -> list[Alias | Judged]:
    """Read the aliases of a store, or a list that ``write_aliases`` or a person wrote.

    A line of a list needs an ``entity`` and a ``text``; one with a judgement becomes a ``Judged``. Of a store, the
    answers that ``holds`` is false for are passed over; a list does not say what its aliases rest on.

    Raises:
        DataError: There is no such file, or a line is no alias.
        StateError: It is a store, but damaged.
    """
    path = Path(path)
    if not path.is_file():
        raise DataError(Errors.INPUT_MISSING.format(path=path))
    found: list[Alias | Judged] = []
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                record = json.loads(line)
                if number == 1 and "format" in record:
                    return [each for item in AliasStore(path) if not holds or holds(item) for each in item.aliases]
                found.append(_item(record))
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
                reason = f"no {error}" if isinstance(error, KeyError) else error
                raise DataError(Errors.BAD_LINE.format(path=path, line=number, reason=reason)) from error
    return found


def _item(record: dict[str, Any]) -> Alias | Judged:
    own = {each.name: record.get(each.name, "") for each in fields(Alias)}
    alias = Alias(**own | {"entity": record["entity"], "text": record["text"]})
    if not all(isinstance(getattr(alias, name), str) for name in own):
        raise ValueError("its fields must be texts")
    return Judged(alias, *(record[name] for name in _JUDGEMENT)) if "kept" in record else alias


def _record(item: Generated) -> dict[str, Any]:
    return {
        "entity": item.entity,
        "aliases": [alias.text for alias in item.aliases],
        "dropped": dict(item.dropped),
        "answer": answer_hash(item.raw or ""),
        "source": item.source,
        "raw": item.raw,
    }


def _line(record: Mapping[str, Any]) -> bytes:
    """Write one line; halves of surrogate pairs, which UTF-8 has no place for, are escaped."""
    try:
        return (json.dumps(record, ensure_ascii=False) + "\n").encode()
    except UnicodeEncodeError:
        return (json.dumps(record) + "\n").encode()
