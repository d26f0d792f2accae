"""Which file of a pipeline spaCy was reading when it failed: its own errors seldom tell."""

from __future__ import annotations

import traceback
from pathlib import Path
from types import FrameType


def file_read_by(error: BaseException, folder: Path) -> Path | None:
    """Return the file or folder below ``folder`` that the innermost frames of an error were concerned with.

    All that reads files here has their names in variables, so the last frame that knows of one tells.
    """
    folder = folder.resolve()
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    for frame in reversed(frames):
        if found := [path for path in _paths(frame) if folder in path.resolve().parents]:
            return max(found, key=lambda path: len(path.parts))
    return None


def _paths(frame: FrameType) -> list[Path]:
    values = frame.f_locals
    paths = [Path(value) for value in values.values() if isinstance(value, str | Path) and _may_be_path(str(value))]
    folder, key = values.get("path"), values.get("key")  # as spaCy has them where it reads one file after the other
    if isinstance(folder, str | Path) and isinstance(key, str) and (Path(folder) / key).exists():
        paths.append(Path(folder) / key)
    return paths


def _may_be_path(text: str) -> bool:
    return 0 < len(text) < 1000 and "\n" not in text and "\0" not in text
