import pytest

from spacy_ontolink.errors import ConfigError
from spacy_ontolink.registry import check_part
from spacy_ontolink.types import Index, Reader


class ExpensiveReader:
    paths = ()

    @property
    def expensive(self):
        raise RuntimeError("evaluated")

    def __call__(self):
        raise NotImplementedError


def test_a_part_is_checked_without_being_evaluated():
    reader = ExpensiveReader()
    assert check_part(reader, Reader, "kb_loader") is reader
    with pytest.raises(ConfigError, match="'index' must be a Index, but the config gives a ExpensiveReader"):
        check_part(reader, Index, "index")
    with pytest.raises(ConfigError, match="NoneType"):
        check_part(None, Index, "index")
