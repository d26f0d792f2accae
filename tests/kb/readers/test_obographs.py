import json

import pytest

from spacy_ontolink.errors import OntologyError
from spacy_ontolink.kb.readers.obographs import read_obographs
from spacy_ontolink.kb.readers.report import ReadReport
from spacy_ontolink.types import Entity, Synonym

OBO = "http://purl.obolibrary.org/obo/"
OIO = "http://www.geneontology.org/formats/oboInOwl#"


@pytest.fixture
def read(tmp_path):
    def read(*graphs, strict=False):
        path = tmp_path / "t.json"
        path.write_text(json.dumps({"graphs": graphs}))
        read.report = ReadReport(path, strict)
        return {entity.id: entity for entity in read_obographs(path, read.report)}

    return read


def node(id, label=None, **meta):
    return {"id": OBO + id, "type": "CLASS", **({"lbl": label} if label else {}), "meta": meta}


def test_everything_said_about_a_node(read):
    meta = {
        "definition": {"val": "Share of fat.", "xrefs": ["X:2"]},
        "synonyms": [
            {"pred": "hasExactSynonym", "val": "BF", "synonymType": f"{OBO}OMO_0003000", "xrefs": []},
            {"pred": "hasBroadSynonym", "val": "fat"},
        ],
        "xrefs": [{"val": "X:1"}],
        "subsets": [f"{OBO}t#slim"],
        "basicPropertyValues": [
            {"pred": f"{OIO}hasAlternativeId", "val": "T:10"},
            {"pred": f"{OIO}hasOBONamespace", "val": "traits"},
            {"pred": "http://xmlns.com/foaf/0.1/depiction", "val": "http://example.org/a.png"},
        ],
    }
    edges = [
        {"sub": f"{OBO}T_1", "pred": "is_a", "obj": f"{OBO}T_0"},
        {"sub": f"{OBO}T_1", "pred": f"{OBO}BFO_0000050", "obj": f"{OBO}T_9"},
    ]
    part_of = {"id": f"{OBO}BFO_0000050", "type": "PROPERTY", "lbl": "part of"}
    entities = read({"nodes": [part_of, node("T_1", "fat percentage", **meta)], "edges": edges})
    assert entities == {
        "T:1": Entity(
            "T:1",
            "fat percentage",
            (Synonym("BF", "EXACT", "OMO:0003000"), Synonym("fat", "BROAD")),
            definition="Share of fat.",
            parents=("T:0",),
            alt_ids=("T:10",),
            xrefs=("X:1",),
            namespace="traits",
            types=("slim",),
        )
    }


def test_obsolete_nodes(read):
    values = [{"pred": f"{OBO}IAO_0100001", "val": f"{OBO}T_1"}, {"pred": f"{OIO}consider", "val": "T:3"}]
    entity = read({"nodes": [node("T_2", "a", deprecated=True, basicPropertyValues=values)]})["T:2"]
    assert entity == Entity("T:2", "a", obsolete=True, replaced_by=("T:1",), consider=("T:3",))


def test_graphs_are_put_together(read):
    edge = {"sub": f"{OBO}T_1", "pred": "is_a", "obj": f"{OBO}T_0"}
    entities = read({"nodes": [node("T_1")]}, {"nodes": [node("T_1", "one")], "edges": [edge]})
    assert entities == {"T:1": Entity("T:1", "one", parents=("T:0",))}


def test_malformed_parts_are_counted(read):
    nodes = [
        node("T_1", "one"),
        "T_2",
        {"type": "CLASS", "lbl": "no id"},
        node("T_3", "three", synonyms=[{"pred": "hasExactSynonym"}]),
        {"id": "T:4", "type": "CLASS", "lbl": 4},
        {"id": "T:5", "type": "CLASS", "lbl": "five", "meta": []},
        {"id": f"{OBO}T_6"},
    ]
    edges = [{"sub": f"{OBO}T_1", "pred": "is_a"}, {"sub": "T:77", "pred": "is_a", "obj": "T:1"}]
    assert set(read({"nodes": nodes, "edges": edges}, "no graph")) == {"T:1", "T:5"}
    assert read.report.counts == {"malformed node": 4, "malformed edge": 1, "malformed graph": 2}
    with pytest.raises(OntologyError, match="malformed node"):
        read({"nodes": nodes}, strict=True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"graphs": [{"nodes"', "line 1"),
        ("[]", "graphs"),
        ('{"graphs": 3}', "graphs"),
        ("\udcff", "utf-8"),
        ("[" * 99_999, "recursion"),
    ],
)
def test_other_files(tmp_path, text, message):
    path = tmp_path / "t.json"
    path.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(OntologyError, match=message):
        list(read_obographs(path, ReadReport(path)))
