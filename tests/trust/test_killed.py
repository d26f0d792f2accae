"""``kill -9`` at any moment: the old result still loads, the new one is absent or whole, and the next run cleans up."""

import signal

import forks
import pytest
from commands import COMMANDS

from spacy_ontolink import atomic

SPREAD, LAST = 2, 3
"""Moments over the whole of a run, and at its end, where one result takes the place of the other."""


def moments(total):
    return sorted({*range(1, total + 1, max(1, total // SPREAD)), *range(max(1, total - LAST + 1), total + 1)})


@pytest.mark.parametrize("command", [command for command in COMMANDS if command != "link"])
def test_what_is_there_is_whole(warm, files, saved, tmp_path, monkeypatch, command):
    monkeypatch.setattr(atomic, "_YOUNG", 0)
    (place := tmp_path / "place").mkdir()
    arguments, check = COMMANDS[command]
    out = place / "out"
    arguments = arguments(files, saved, out)
    ended = forks.run(arguments, forks.count_changes(place, tmp_path / "count"))
    assert ended.code == 0, ended.said
    total = int((tmp_path / "count").read_text())
    assert total > SPREAD
    for moment in moments(total):
        ended = forks.run(arguments, forks.die_before(moment, place))
        assert ended.code == -signal.SIGKILL, ended.said
        check(out)
    ended = forks.run(arguments)
    assert ended.code == 0, ended.said
    check(out)
    assert [path.name for path in place.iterdir()] == ["out"]
    assert not list(out.rglob(".*"))


@pytest.mark.parametrize("command", [command for command in ("build", "train", "pairs") if command in COMMANDS])
def test_without_an_old_result_there_is_none_or_a_whole_one(warm, files, saved, tmp_path, monkeypatch, command):
    monkeypatch.setattr(atomic, "_YOUNG", 0)
    arguments, check = COMMANDS[command]
    for number in (2, 6):
        out = tmp_path / str(number) / "out"
        out.parent.mkdir()
        given = [argument for argument in arguments(files, saved, out) if argument != "--overwrite"]
        ended = forks.run(given, forks.die_before(number, out.parent))
        assert ended.code == -signal.SIGKILL, ended.said
        assert command != "build" or not out.exists()
        check(out) if out.exists() else None
        ended = forks.run(given)  # goes on, or begins anew
        assert ended.code == 0, ended.said
        check(out)
        assert [path.name for path in out.parent.iterdir()] == ["out"]
