"""Corpora that were cut or changed: an error of ours with the file in it, or what could be read."""

import gzip

import pytest
import spacy
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from spacy.tokens import DocBin

from spacy_ontolink.documents import IdRules, Tally, read_documents
from spacy_ontolink.documents.reading import read_corpus_rows
from spacy_ontolink.errors import OntolinkError

BIOC = """<?xml version="1.0"?><collection><source/><date/><key/><document><id>1</id><passage><offset>0</offset>
<text>milk yield</text><annotation id="1"><infon key="type">T</infon><location offset="0" length="4"/>
<text>milk</text></annotation></passage></document></collection>"""
BIOC_JSON = """{"documents": [{"id": "1", "passages": [{"offset": 0, "text": "milk yield", "annotations": [{"id": "1",
"infons": {"type": "T"}, "locations": [{"offset": 0, "length": 4}], "text": "milk"}]}]}]}"""
ROW = '{"id": "1", "text": "milk yield", "mentions": [{"start": 0, "end": 4, "kb_ids": ["T:1"]}]}\n'
FILES = {
    "a.jsonl": ROW.encode() * 2,
    "a.jsonl.gz": gzip.compress(ROW.encode() * 2, mtime=0),
    "a.txt": b"one\ntwo\n",
    "a.pubtator": b"1|t|milk yield\n1|a|of cows\n1\t0\t4\tmilk\tTRAIT\tT:1\n\n",
    "a.xml": BIOC.encode(),
    "a.json": BIOC_JSON.encode(),
}
PIECES = [b"", b"\xff", b"\0", b"<", b">", b'"', b"{", b"}", b"[", b"]", b",", b"|", b"\t", b"\n", b"-1", b"9" * 5000,
          b"null", b"1e999", b"&x;", b"\\ud83d", b"[" * 3000]  # fmt: skip
FUZZ = settings(
    max_examples=40,
    deadline=5000,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def read(path):
    try:
        rows = [row for _, row in read_corpus_rows(path, None, IdRules.of(()), None, Tally())]
    except OntolinkError as error:
        assert str(path) in str(error)
        return None
    assert all(isinstance(row["text"], str) for row in rows)
    return rows


@pytest.mark.parametrize("name", FILES)
def test_cut_files(tmp_path, name):
    (tmp_path / name).write_bytes(FILES[name])
    assert read(tmp_path / name)
    for cut in range(0, len(FILES[name]), 3):
        (tmp_path / name).write_bytes(FILES[name][:cut])
        read(tmp_path / name)


@pytest.mark.parametrize("name", FILES)
@FUZZ
@given(steps=st.lists(st.tuples(st.floats(0, 1), st.integers(0, 20), st.sampled_from(PIECES)), max_size=4))
def test_changed_files(tmp_path, name, steps):
    data = FILES[name]
    for place, removed, piece in steps:
        at = int(place * len(data))
        data = data[:at] + piece + data[at + removed :]
    (tmp_path / name).write_bytes(data)
    read(tmp_path / name)


@FUZZ
@given(place=st.floats(0, 1), byte=st.integers(1, 255), cut=st.booleans())
def test_changed_spacy_files(tmp_path, place, byte, cut):
    nlp = spacy.blank("en")
    data = bytearray(DocBin(docs=[nlp.make_doc("milk yield")], store_user_data=True).to_bytes())
    at = int(place * (len(data) - 1))
    data[at] ^= byte
    (tmp_path / "a.spacy").write_bytes(data[:at] if cut else data)
    try:
        list(read_documents(tmp_path / "a.spacy", nlp))
    except OntolinkError as error:
        assert "a.spacy" in str(error)


def test_a_packed_bomb_is_refused(tmp_path):
    start = ROW.encode() + b'{"text": "'
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(start + b"x" * (80 << 20), 1))
    with pytest.raises(OntolinkError, match=r"a\.jsonl\.gz cannot be read: (a line of more|it unpacks to more)"):
        read_all = read_corpus_rows(tmp_path / "a.jsonl.gz", None, IdRules.of(()), None, Tally())
        list(read_all)
