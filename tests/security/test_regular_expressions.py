"""No pattern of the package takes for ever on a text that was made for that."""

import importlib
import itertools
import pkgutil
import re
import signal

import pytest

import spacy_ontolink

UNITS = [
    " ", "a", "a ", "a b ", "A1", "1", "1 ", "0 1;", "(", "( ", "[", "[[", "{", " {", "<", "<? ?>", "<!-- -->",
    "\\", '"', '\\"', '"a"', '"a":', "''", "`", "*", "**", "_", "a_", "- ", "1. ", "\n", "\t", "# \n", "=",
    " a=b,", ",", "|", "a|", ";", ":", "/", "the ", "is ", "name is ", "no ", "é", "e\u0301", " EXACT", "!", "}",
]  # fmt: skip
BEFORE = ["", "a", " {", '"', "[", '{"', "<a", "- the "]
AFTER = ["", "\0", "x"]
TIMES = 40
"""Repetitions: few enough for any power of them that a program can bear, too many for a doubling with each."""
SECONDS = 60


def patterns():
    """The compiled patterns of all modules that can be imported here, by place."""
    found = {}
    for info in pkgutil.walk_packages(spacy_ontolink.__path__, "spacy_ontolink."):
        if info.name.endswith("__main__"):
            continue
        try:
            module = importlib.import_module(info.name)
        except ImportError:  # an extra that is not installed
            continue
        for name, value in vars(module).items():
            several = value if isinstance(value, list | tuple) else [value]
            flat = [part for one in several for part in (one if isinstance(one, tuple) else [one])]
            found.update({part: f"{info.name}.{name}" for part in flat if isinstance(part, re.Pattern)})
    return sorted(((place, pattern) for pattern, place in found.items()), key=lambda pair: (pair[0], str(pair[1])))


def attack(pattern):
    for before, unit, after in itertools.product(BEFORE, UNITS, AFTER):
        text = before + TIMES * unit + after
        given = text.encode() if isinstance(pattern.pattern, bytes) else text
        pattern.search(given)
        pattern.fullmatch(given)


class HangsError(Exception):
    pass


@pytest.fixture
def alarm():
    def ring(*_):
        raise HangsError

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(SECONDS)
    yield signal.alarm
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def test_every_pattern_ends(alarm):
    found = patterns()
    assert len(found) > 100
    for place, pattern in found:
        try:
            alarm(SECONDS)
            attack(pattern)
        except HangsError:
            pytest.fail(f"{place} does not end: {pattern.pattern!r}")


def test_the_attack_would_find_one(alarm):
    alarm(2)
    with pytest.raises(HangsError):
        attack(re.compile(r"(?:<\?.*?\?>\s*)*<root"))
