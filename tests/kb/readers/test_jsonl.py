import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_ontolink.errors import OntologyError
from spacy_ontolink.kb.readers import ReadReport, read_ontology
from spacy_ontolink.kb.readers.jsonl import read_jsonl
from spacy_ontolink.types import Entity, Synonym


def read(tmp_path: Path, *lines: object, strict: bool = False) -> tuple[list[Entity], ReadReport]:
    path = tmp_path / "toy.jsonl"
    path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines), "utf-8")
    report = ReadReport(path, strict)
    return list(read_jsonl(path, report)), report


def test_own_rows(tmp_path):
    row = {
        "id": "T:1",
        "name": "milk  yield",
        "synonyms": ["MY", {"text": "yield", "scope": "BROAD"}, {"name": "my", "scope": "related", "type": "short"}],
        "definition": None,
        "parents": ["T:3"],
        "alt_ids": [],
        "xrefs": ["DB:1", "DB:1"],
        "obsolete": True,
        "replaced_by": "T:2",
        "rank": 7,
    }
    entities, _ = read(tmp_path, row, "", {"id": 5, "name": "five"}, strict=True)
    synonyms = (Synonym("MY", "EXACT"), Synonym("yield", "BROAD"), Synonym("my", "RELATED", "short"))
    assert entities == [
        Entity("T:1", "milk yield", synonyms, parents=("T:3",), obsolete=True, replaced_by=("T:2",), xrefs=("DB:1",)),
        Entity("5", "five"),
    ]


def test_numbers_are_ids_wherever_ids_may_stand(tmp_path):
    row = {"id": 4, "name": 4004, "synonyms": [40, {"text": 44}], "parents": [1, "2"], "alt_ids": 5, "xrefs": [6]}
    entities, _ = read(tmp_path, row, strict=True)
    synonyms = (Synonym("40", "EXACT"), Synonym("44", "EXACT"))
    assert entities == [Entity("4", "4004", synonyms, parents=("1", "2"), alt_ids=("5",), xrefs=("6",))]


def test_concepts_of_scispacy(tmp_path):
    row = {"concept_id": "C1", "canonical_name": "milk yield", "aliases": ["MY"], "types": ["T1"], "definition": "d"}
    entities, _ = read(tmp_path, row, strict=True)
    assert entities == [Entity("C1", "milk yield", (Synonym("MY", "EXACT"),), definition="d", types=("T1",))]


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ('{"id": ', "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[1]", "not an object"),
        ({"name": "lost"}, "row without an id"),
        ({"id": "T:2", "name": ["x"]}, "'name' is no text"),
        ({"id": "T:2", "name": "x", "parents": 5.5}, "'parents' is no list"),
        ({"id": "T:2", "name": "x", "xrefs": [True]}, "'xrefs' holds something else"),
        ({"id": "T:2", "name": "x", "synonyms": [[5]]}, "malformed synonym"),
        ({"id": "T:2", "name": "x", "synonyms": [{"text": "y", "scope": "NEAR"}]}, "unknown synonym scope"),
        ({"id": "T:2", "name": "x", "obsolete": "no"}, "'obsolete' is neither"),
    ],
)
def test_a_bad_line_is_counted_with_its_number(tmp_path, line, kind):
    good = {"id": "T:1", "name": "milk yield"}
    entities, report = read(tmp_path, good, line, good)
    assert entities[0] == entities[-1] == Entity("T:1", "milk yield")
    assert report.counts.total() == 1
    assert report.first[0][0] == 2
    assert report.first[0][1].startswith(kind)
    with pytest.raises(OntologyError, match=rf"toy\.jsonl, line 2: {kind}"):
        read(tmp_path, good, line, good, strict=True)


def test_a_file_without_rows_is_refused(tmp_path):
    with pytest.raises(OntologyError, match="is not JSON Lines"):
        read(tmp_path, "once upon a time")


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just("\ud83d"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["text", "scope", "type"]), inner),
    max_leaves=5,
)
_FIELDS = st.sampled_from(
    "id name synonyms definition parents alt_ids xrefs obsolete replaced_by types namespace".split()
)


@settings(deadline=None)
@given(st.lists(st.dictionaries(_FIELDS, _VALUES).map(json.dumps) | st.text(max_size=9), max_size=4), st.booleans())
def test_no_rows_break_the_reader(tmp_path_factory, lines, strict):
    path = tmp_path_factory.mktemp("fuzz") / "x.jsonl"
    lines = ['{"id": "T:0", "name": "zero"}', *lines]
    path.write_text("\n".join(lines), "utf-8")
    try:
        read_ontology(path, strict=strict, format="jsonl")
    except OntologyError as error:
        assert str(path) in str(error)
