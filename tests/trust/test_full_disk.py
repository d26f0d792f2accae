"""A disk that is full: one clear sentence, nothing half-written or temporary left, and the old result as it was."""

from pathlib import Path

import forks
import pytest
from commands import COMMANDS

SIZES = (300, 1200)
"""Bytes that a file may have: enough for some of those that a command writes, never for all."""


def contents(folder):
    """All files below a folder, but for the log of a training, which tells of the one that failed."""
    files = {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    files.pop(Path("out/log.jsonl"), None)
    return files


@pytest.mark.parametrize("command", COMMANDS)
def test_nothing_is_half_written(warm, files, saved, tmp_path, command):
    arguments, check = COMMANDS[command]
    (place := tmp_path / "place").mkdir()
    arguments = arguments(files, saved, place / "out")
    for size in SIZES:
        check_refusal(forks.run(arguments, forks.fill_disk(size)), place)
        assert not contents(place)
    ended = forks.run(arguments)
    assert ended.code == 0, ended.said
    check(place / "out")
    before = contents(place)
    for size in SIZES:
        check_refusal(forks.run(arguments, forks.fill_disk(size)), place)
        assert contents(place) == before


def check_refusal(ended, place):
    *_, line = ended.said.splitlines()
    assert ended.code == 2, ended.said
    assert "Traceback" not in ended.said
    assert line.startswith(f"ontolink: {place / 'out'}")
    assert "File too large. What was there is as it was; make room" in line
