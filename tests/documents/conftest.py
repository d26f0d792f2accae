import json

import pytest
import spacy

from spacy_ontolink.documents import IdRules, Tally, read_documents
from spacy_ontolink.documents.reading import read_corpus_rows


@pytest.fixture(scope="session")
def nlp():
    return spacy.blank("en")


@pytest.fixture
def write(tmp_path):
    """Write a file of text, bytes, or rows of JSONL, and return its path."""

    def put(name, content):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, list):
            content = "".join(json.dumps(row) + "\n" for row in content)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return put


@pytest.fixture
def rows():
    """Read a corpus as plain values; return them and what was counted."""

    def read(path, *prefixes, format=None):
        tally = Tally()
        return [row for _, row in read_corpus_rows(path, format, IdRules.of(prefixes), None, tally)], tally

    return read


@pytest.fixture
def docs(nlp):
    return lambda path: list(read_documents(path, nlp))
