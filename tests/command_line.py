"""The command line as a fixture, for the tests of several folders; conftest.py imports it."""

from typing import NamedTuple

import pytest

from spacy_ontolink.cli import main


class Result(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def ontolink(capsys):
    """Run the command line in this process."""

    def run(*arguments):
        capsys.readouterr()
        with pytest.raises(SystemExit) as exit:
            main([str(argument) for argument in arguments])
        return Result(exit.value.code, *capsys.readouterr())

    return run
