"""A disk cache around any language model, so that a run that was killed resumes and a repeated one costs nothing."""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ConfigError, Errors, LLMError, StateError, Warnings
from ..files import cache_folder, replacing
from ..registry import check_part, saves
from ..types import LLM, Floats1d, Floats2d, Prompt, Usage

FILE = "answers.sqlite"
FOLDER = "llm"
CHUNK, MOST = 32, 4096  # prompts asked before their answers are kept: at first, and at most
SOON, LATE = 5.0, 30.0  # seconds; a chunk that took less (more) than that is followed by a larger (smaller) one
_FORMAT = 1
_APPLICATION = 0x4F4E544F  # marks an SQLite file as ours
_MOST_KEYS = 500  # in one query; SQLite allows 999 at least
_WAIT = 60.0  # seconds to wait for another process that writes
_log = logging.getLogger(__name__)


class CachedLLM:
    """Keeps a model's answers in an SQLite file, under a hash of the model's id, the question and the prompt.

    Failures are not kept, so they are asked again. Connections last for one reading or writing, which makes the file
    safe for threads, for several processes and for forks.
    """

    def __init__(self, llm: LLM, path: str | None = None) -> None:
        self.llm = check_part(llm, LLM, "llm")
        if path is not None and (not path.strip() or Path(path).expanduser().is_dir()):
            wanted = "the name of a file, or null for one in the cache's folder"
            raise ConfigError(Errors.SETTING_VALUE.format(setting="path", given=path, wanted=wanted))
        self._path = Path(path).expanduser().absolute() if path is not None else None
        self._hits = 0
        self._told = False
        self._lock = threading.Lock()

    @property
    def id(self) -> str:
        """The id of the model itself: a cache changes no answer."""
        return self.llm.id

    @property
    def path(self) -> Path:
        """The file of answers; by default in the folder ``ONTOLINK_CACHE`` or in the user's cache."""
        return self._path or cache_folder() / FILE

    @property
    def usage(self) -> Usage:
        """What the model was asked, and how many prompts had an answer in the file."""
        return self.llm.usage._replace(cached=self._hits + self.llm.usage.cached)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=threading.Lock())

    def generate(self, prompts: Sequence[Prompt]) -> list[str | None]:
        """Continue each prompt, from the file where it was continued before."""

        def ask(some: Sequence[Prompt]) -> list[str | None]:
            return self.llm.generate(some)

        def dump(text: str) -> bytes:
            return text.encode("utf-8", "surrogatepass")

        keys = self._keys("generate", prompts, ())
        found = self._answer(prompts, keys, ask, dump, lambda blob: blob.decode("utf-8", "surrogatepass"))
        return [found.get(key) for key in keys]

    def choose(self, prompts: Sequence[Prompt], answers: Sequence[str]) -> Floats2d:
        """Return the log-probabilities of the answers, (B, A), from the file where they were asked before."""

        def ask(some: Sequence[Prompt]) -> Sequence[Floats1d]:
            return list(self.llm.choose(some, answers))

        def dump(row: Floats1d) -> bytes | None:
            return None if np.isnan(row).any() else np.asarray(row, "<f4").tobytes()

        def load(blob: bytes) -> Floats1d:
            if len(blob) != 4 * len(answers):
                raise ValueError(f"{len(blob)} bytes for {len(answers)} answers")
            return np.frombuffer(blob, "<f4").astype(np.float32)

        keys = self._keys("choose", prompts, answers)
        found = self._answer(prompts, keys, ask, dump, load)
        rows = np.full((len(prompts), len(answers)), np.nan, np.float32)
        for row, key in zip(rows, keys, strict=True):
            if key in found:
                row[:] = found[key]
        return rows

    def to_disk(self, path: Path) -> None:
        """Write the model; the answers stay where they are."""
        with replacing(Path(path)) as folder:
            folder.mkdir()
            self.llm.to_disk(folder / FOLDER)

    def from_disk(self, path: Path) -> CachedLLM:
        """Take over the model that ``to_disk`` wrote."""
        self.llm = self.llm.from_disk(Path(path) / FOLDER)
        return self

    def _keys(self, verb: str, prompts: Sequence[Prompt], answers: Sequence[str]) -> list[bytes]:
        """Hash everything that an answer depends on, (B,)."""
        common = [_FORMAT, self.llm.id, verb, list(answers)] if prompts else []
        questions = ([*common, prompt.system, prompt.text, prompt.frame] for prompt in prompts)
        return [hashlib.sha256(json.dumps(question).encode()).digest() for question in questions]

    def _answer(
        self,
        prompts: Sequence[Prompt],
        keys: Sequence[bytes],
        ask: Callable[[Sequence[Prompt]], Sequence[Any]],
        dump: Callable[[Any], bytes | None],
        load: Callable[[bytes], Any],
    ) -> dict[bytes, Any]:
        """Return an answer by key for all prompts but those that failed; each distinct new one is asked once.

        Raises:
            LLMError: As the model does; what it answered before is kept.
        """
        wanted = dict(zip(keys, prompts, strict=True))
        found = self._read(list(wanted), load) if wanted else {}
        with self._lock:
            self._hits += sum(key in found for key in keys)
        new = [key for key in wanted if key not in found]
        done, size = 0, CHUNK
        while done < len(new):
            chunk, start = new[done : done + size], time.monotonic()
            try:
                answers = dict(zip(chunk, ask([wanted[key] for key in chunk]), strict=True))
            except LLMError as error:
                self._write(_dumped({key: error.answered.get(wanted[key]) for key in chunk}, dump))
                raise
            kept = _dumped(answers, dump)
            found |= {key: answers[key] for key in kept}
            self._write(kept)
            done, seconds = done + len(chunk), time.monotonic() - start
            size = min(2 * size, MOST) if seconds < SOON else max(size // 2, 1) if seconds > LATE else size
        return found

    # The file

    def _read(self, keys: Sequence[bytes], load: Callable[[bytes], Any]) -> dict[bytes, Any]:
        found: dict[bytes, bytes] = {}
        with self._open() as file:
            for start in range(0, len(keys), _MOST_KEYS):
                chunk = keys[start : start + _MOST_KEYS]
                marks = ",".join("?" * len(chunk))
                # Nothing but question marks is put into the query.
                rows = file.execute(f"SELECT key, answer FROM answers WHERE key IN ({marks})", chunk)  # nosec B608
                found.update(rows.fetchall())
            try:
                return {key: load(blob) for key, blob in found.items()}
            except (ValueError, AttributeError, TypeError) as error:
                raise StateError(Errors.CACHE_DAMAGED.format(path=self.path, reason=error)) from error

    def _write(self, answers: Mapping[bytes, bytes]) -> None:
        """Keep answers; a full disk or a file that is locked for long does not cost those that were just gained."""
        if not answers:
            return
        try:
            with self._open() as file, file:
                file.executemany("INSERT OR IGNORE INTO answers VALUES (?, ?)", answers.items())
        except _Unusable as error:
            if not self._told:
                self._told = True
                _log.warning(Warnings.CACHE_UNWRITTEN.format(path=self.path, reason=error.reason))

    @contextlib.contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """Open the file, made if it is not there.

        Raises:
            StateError: It is damaged, another program's, or cannot be opened.
        """
        path = self.path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with contextlib.closing(sqlite3.connect(path, timeout=_WAIT)) as file:
                _prepare(file)
                yield file
        except (sqlite3.OperationalError, OSError) as error:
            raise _Unusable(path, error) from error
        except (sqlite3.DatabaseError, _ForeignError) as error:
            raise StateError(Errors.CACHE_DAMAGED.format(path=path, reason=error)) from error


def _dumped(answers: Mapping[bytes, Any], dump: Callable[[Any], bytes | None]) -> dict[bytes, bytes]:
    """Return the answers as they are kept, without failures."""
    dumped = {key: dump(answer) for key, answer in answers.items() if answer is not None}
    return {key: blob for key, blob in dumped.items() if blob is not None}


class _Unusable(StateError):
    def __init__(self, path: Path, reason: Exception) -> None:
        super().__init__(Errors.CACHE_UNUSABLE.format(path=path, reason=reason))
        self.reason = reason


class _ForeignError(Exception):
    """The file is another program's."""


def _prepare(file: sqlite3.Connection) -> None:
    """Mark a new file as ours and make the table; refuse one that is not ours.

    Raises:
        _ForeignError: It is of another program, or of another version of this library.
    """
    file.execute("PRAGMA synchronous = NORMAL")
    if _pragma(file, "application_id") != _APPLICATION:
        _retry(lambda: file.execute("PRAGMA journal_mode = WAL"))
        with file:  # another process may make the table at the same time
            file.execute("BEGIN IMMEDIATE")
            tables = file.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
            if _pragma(file, "application_id") != _APPLICATION:
                if tables:
                    raise _ForeignError("it is a database of another program")
                file.execute("CREATE TABLE answers (key BLOB PRIMARY KEY, answer BLOB NOT NULL) WITHOUT ROWID")
                file.execute(f"PRAGMA user_version = {_FORMAT}")
                file.execute(f"PRAGMA application_id = {_APPLICATION}")
    if (version := _pragma(file, "user_version")) != _FORMAT:
        raise _ForeignError(f"its format is {version}, not {_FORMAT}")


def _pragma(file: sqlite3.Connection, name: str) -> int:
    return int(file.execute(f"PRAGMA {name}").fetchone()[0])


def _retry(action: Callable[[], object], seconds: float = 10.0) -> None:
    """Repeat what does not wait for a lock by itself, as the change of the journal's mode."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            action()
            return
        except sqlite3.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)


@saves(as_null=("path",))
def make_cached_llm(llm: LLM, path: str | None = None) -> CachedLLM:
    """Keep the answers of ``llm`` on disk.

    Args:
        llm: Any language model.
        path: The file of answers. By default one for all models, in ``ONTOLINK_CACHE`` or the user's cache, which is
            what a saved pipeline goes back to.
    """
    return CachedLLM(llm, path)
