import os

import pytest

from spacy_ontolink.cli.alias_mentions import Search
from spacy_ontolink.training.corpus import CorpusDocument, CorpusMention, MentionFile


@pytest.fixture
def found():
    with MentionFile() as file:
        yield file


def read(texts):
    yield CorpusDocument("a", "egg counts", (CorpusMention("a", 0, 10, "egg counts", 0, "egg counts"),))


def test_only_the_dictionary_has_to_look_again(found, tmp_path):
    corpus = tmp_path / "c.txt"
    corpus.write_text("egg counts", "utf-8")
    for how, texts, again in (("dictionary", ["egg counts"], True), ("dictionary", [], False), ("ner", ["x"], False)):
        with Search(found, how, corpus, read, tmp_path).including(texts, "aliases") as more:
            assert (more is not found, len(more)) == (again, again)
    assert [path.name for path in tmp_path.iterdir()] == ["c.txt"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes")
def test_a_pipe_is_read_once(found, tmp_path, caplog):
    os.mkfifo(tmp_path / "pipe")
    search = Search(found, "dictionary", tmp_path / "pipe", read, tmp_path)
    for _ in range(2):
        with search.including(["egg counts"], "aliases") as more:
            assert more is found
    assert caplog.text.count("can be read only once") == 1
