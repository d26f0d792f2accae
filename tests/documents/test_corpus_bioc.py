import json

import pytest
from lxml import etree

from spacy_ontolink.documents import SPANS_KEY
from spacy_ontolink.documents.formats import bioc_json
from spacy_ontolink.errors import DataError

TITLE, ABSTRACT = "Famotidine & delirium", "The β-blocker cleared breast and ovarian cancer."
XML = f"""<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE collection SYSTEM "BioC.dtd">
<collection><source>PubMed</source><date>20260101</date><key>some.key</key><infon key="license">free</infon>
<document><id>7</id><infon key="journal">J</infon>
<passage><infon key="type">title</infon><offset>0</offset><text>{TITLE.replace("&", "&amp;")}</text>
<annotation id="3"><infon key="type">Chemical</infon><infon key="MESH">D015738</infon><location offset="0" length="10"/>
<text>Famotidine</text></annotation></passage>
<passage><infon key="type">abstract</infon><offset>22</offset><sentence><offset>22</offset><text>{ABSTRACT}</text>
<annotation id="4"><infon key="type">Disease</infon><infon key="identifier">MESH:D001943|MESH:D010051</infon>
<location offset="44" length="6"/><location offset="63" length="6"/><text>breast cancer</text></annotation></sentence>
<annotation id="5"><infon key="type">Disease</infon><infon key="identifier">-</infon><location offset="55" length="14"/>
<text>ovarian cancer</text></annotation></passage>
<relation id="R1"><infon key="type">CID</infon><node refid="3" role="Chemical"/>
<node refid="4" role="Disease"/></relation>
</document>
<document><id>8</id><passage><offset>0</offset><text/></passage></document>
</collection>
"""
DOCUMENT = {
    "id": "7", "infons": {"journal": "J"},
    "passages": [
        {"offset": 0, "infons": {"type": "title"}, "text": TITLE, "annotations": [
            {"id": "3", "infons": {"type": "Chemical", "MESH": "D015738"}, "text": "Famotidine",
             "locations": [{"offset": 0, "length": 10}]}]},
        {"offset": 22, "infons": {"type": "abstract"},
         "sentences": [{"offset": 22, "text": ABSTRACT, "annotations": [
             {"id": "4", "infons": {"type": "Disease", "identifier": "MESH:D001943|MESH:D010051"},
              "text": "breast cancer", "locations": [{"offset": 44, "length": 6}, {"offset": 63, "length": 6}]}]}],
         "annotations": [
            {"id": "5", "infons": {"type": "Disease", "identifier": "-"}, "text": "ovarian cancer",
             "locations": [{"offset": 55, "length": 14}]}]},
    ],
    "relations": [{"id": "R1", "infons": {"type": "CID"},
                   "nodes": [{"refid": "3", "role": "Chemical"}, {"refid": "4", "role": "Disease"}]}],
}  # fmt: skip
EMPTY = {"id": "8", "passages": [{"offset": 0, "text": ""}]}
COLLECTION = {
    "source": "PubMed", "date": "20260101", "key": "some.key", "infons": {"license": "free"},
    "documents": [DOCUMENT, EMPTY],
}  # fmt: skip


def annotated(text, *annotations, offset=0, **more):
    passage = {"offset": offset, "text": text, "annotations": list(annotations)}
    return {"id": "1", "passages": [passage], **more}


def annotation(start=0, length=4, text="Milk", **infons):
    return {"id": "1", "infons": infons, "text": text, "locations": [{"offset": start, "length": length}]}


def test_xml(rows, write):
    (first, second), tally = rows(write("corpus.xml", XML))
    assert first["text"] == f"{TITLE} {ABSTRACT}"
    chemical, disease, missing = first["mentions"]
    assert chemical == {
        "id": "3", "start": 0, "end": 10, "text": "Famotidine", "label": "Chemical", "kb_ids": ["MESH:D015738"],
        "infons": {"MESH": "D015738"},
    }  # fmt: skip
    assert (disease["start"], disease["end"], disease["text"]) == (44, 69, "breast cancer")
    assert disease["segments"] == [[44, 50], [63, 69]]
    assert disease["kb_ids"] == ["MESH:D001943", "MESH:D010051"] and disease["composite"] is True
    assert (missing["text"], missing["kb_ids"], missing["raw_id"]) == ("ovarian cancer", [], "-")
    assert [passage["infons"]["type"] for passage in first["passages"]] == ["title", "abstract"]
    assert first["relations"] == [
        {"type": "CID", "id": "R1", "args": [{"ref": "3", "role": "Chemical"}, {"ref": "4", "role": "Disease"}]}
    ]
    assert first["collection"] == {
        "source": "PubMed", "date": "20260101", "key": "some.key", "infons": {"license": "free"},
    }  # fmt: skip
    assert (second["id"], second["text"], second["mentions"]) == ("8", "", [])
    assert (tally.documents, tally.mentions, tally.differing, tally.noted) == (2, 3, 0, {})


@pytest.mark.parametrize(
    "content",
    [
        json.dumps(COLLECTION),
        json.dumps(COLLECTION, indent=1),
        json.dumps([COLLECTION]),
        json.dumps({"PubTator3": [DOCUMENT, EMPTY]}),
        json.dumps([DOCUMENT, EMPTY]),
        f"{json.dumps(DOCUMENT)}\n{json.dumps(EMPTY)}\n",
        "\ufeff" + json.dumps(COLLECTION, indent=2, ensure_ascii=False).replace("\n", "\r\n"),
    ],
    ids=["collection", "indented", "list of collections", "PubTator3", "list", "lines", "BOM and CRLF"],
)
@pytest.mark.parametrize("chunk", [7, 1 << 20])
def test_json_holds_the_same(rows, write, content, chunk, monkeypatch):
    monkeypatch.setattr(bioc_json, "_CHUNK", chunk)
    found, tally = rows(write("corpus.json", content))
    expected, _ = rows(write("corpus.xml", XML))
    if "source" not in content:
        expected = [{key: value for key, value in row.items() if key != "collection"} for row in expected]
    assert found == expected
    assert (tally.documents, tally.noted) == (2, {})


def test_the_file_is_never_held_whole(write, rows):
    from spacy_ontolink.documents.formats.source import open_source

    path = write("corpus.json", json.dumps({**COLLECTION, "documents": [annotated("Milk " * 50)] * 2000}))
    with open_source(path) as source:
        scanner = bioc_json._Scanner(source)
        held = [len(scanner._buffer) for _ in scanner.documents()]
    assert len(held) == 2000
    assert max(held) <= bioc_json._CHUNK
    assert rows(path)[1].documents == 2000


@pytest.mark.parametrize(
    ("infons", "ids"),
    [
        ({"identifier": "MESH:D1"}, ["MESH:D1"]),
        ({"Identifier": "D003924"}, ["MESH:D003924"]),
        ({"identifier": 7157, "type": "Gene"}, ["NCBIGene:7157"]),
        ({"identifier": ["HP:1", "HP:2"]}, ["HP:1", "HP:2"]),
        ({"identifier": "-", "MESH": "D003924"}, ["MESH:D003924"]),
        ({"NCBI Gene": "7157"}, ["NCBIGene:7157"]),
        ({"CUI": "C0011849"}, ["UMLS:C0011849"]),
        ({"MESH": "D003924", "OMIM": "125853"}, ["MESH:D003924", "OMIM:125853"]),
        ({"concept_id": "HP_0001250"}, ["HP:0001250"]),
        ({"note": "D003924"}, []),
        ({"identifier": None}, []),
    ],
)
def test_ids_stand_under_many_keys(rows, write, infons, ids):
    (row,), _ = rows(write("a.json", json.dumps(annotated("Milk", annotation(**infons)))))
    assert row["mentions"][0]["kb_ids"] == ids


@pytest.mark.parametrize("key", ["type", "Type", "label", "NE type"])
def test_labels_stand_under_several_keys(rows, write, key):
    (row,), _ = rows(write("a.json", json.dumps(annotated("Milk", annotation(**{key: "X"})))))
    assert row["mentions"][0]["label"] == "X"


def test_offsets_that_do_not_follow_are_told(docs, write, caplog):
    document = annotated("Milk", annotation())
    document["passages"].append({"offset": 0, "text": "Yield", "annotations": [annotation(0, 5, "Yield")]})
    document["passages"].append({"offset": 10**9, "text": "Fell", "annotations": [annotation(10**9, 4, "Fell")]})
    (doc,) = docs(write("a.json", json.dumps(document)))
    assert doc.text == "Milk Yield Fell"
    assert [span.text for span in doc.spans[SPANS_KEY]] == ["Milk", "Yield", "Fell"]
    assert "2 passage(s) whose offset does not follow from the one before" in caplog.text


def test_offsets_may_begin_anywhere(docs, write):
    (doc,) = docs(write("a.json", json.dumps(annotated("Milk yield", annotation(105, 5, "yield"), offset=100))))
    assert [span.text for span in doc.spans[SPANS_KEY]] == ["yield"]


def test_what_cannot_be_placed_is_counted(docs, write, caplog):
    nowhere = {"id": "2", "infons": {}, "text": "x", "locations": []}
    (doc,) = docs(
        write("a.json", json.dumps(annotated("Milk", annotation(), annotation(2, 9), nowhere, annotation(0, 2))))
    )
    assert [span.text for span in doc.spans[SPANS_KEY]] == ["Milk", "Milk"]
    assert "2 mention(s) left out" in caplog.text
    assert "1 mention(s) have another text" in caplog.text


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (json.dumps(COLLECTION)[:-1], "cut short"),
        (json.dumps(COLLECTION)[:600], "cut short"),
        (json.dumps(COLLECTION) + " and more", "'and more' where a document"),
        (json.dumps(COLLECTION) + "]", "closes nothing"),
        (json.dumps({"id": 1, "passages": {"a": 1}}), "line 1: 'passages' .* not a list"),
        (json.dumps(annotated("Milk", {"infons": 3, "locations": []})), "'infons' .* not an object"),
        (json.dumps(annotated("Milk", annotation("x"))), "'x' .* is no offset"),
        ('{"documents": [\n{"id": 1, "passages": [oops]}]}', "line 2: .* is not JSON"),
        (json.dumps(annotated("Milk")).encode().replace(b"Milk", b"M\xfclk"), "not UTF-8"),
        ('{"a": 1}', "neither BioC"),
        ("", "it is empty"),
    ],
)
def test_json_that_cannot_be_used(rows, write, content, reason):
    with pytest.raises(DataError, match=rf"a\.json.*{reason}"):
        rows(write("a.json", content))


BOMB = '<!DOCTYPE c [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>'


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (XML[:600], "line"),
        (XML.replace("</document>", "", 1), "line"),
        ("<html/>", "not the <collection>"),
        ("", "it is empty"),
        (f"{BOMB}<collection><document><id>&b;</id></document></collection>", "declares the XML entity"),
        ('<!DOCTYPE c [<!ENTITY x SYSTEM "/etc/passwd">]><collection><document><id>&x;</id></document></collection>',
         "declares the XML entity"),
        ('<!DOCTYPE c SYSTEM "x.dtd"><collection>\n<document><id>&x;</id></document></collection>', "line 2: .*'&x;'"),
    ],
)  # fmt: skip
def test_xml_that_cannot_be_used(rows, write, content, reason):
    with pytest.raises(DataError, match=rf"a\.xml.*{reason}"):
        rows(write("a.xml", content))


def test_xml_in_another_encoding(rows, write):
    content = '<?xml version="1.0" encoding="ISO-8859-1"?>' + XML.partition("?>")[2].replace("β", "ü")
    assert "ü-blocker" in rows(write("a.xml", content.encode("latin-1")))[0][0]["text"]


def test_xml_is_read_document_by_document(write, monkeypatch):
    from spacy_ontolink.documents import IdRules, Tally
    from spacy_ontolink.documents.formats import bioc_xml
    from spacy_ontolink.documents.formats.source import open_source

    documents = "".join(f"<document><id>{n}</id></document>\n" for n in range(3000))
    path = write("a.xml", f"<collection>{documents}</collection>")
    kept = []
    monkeypatch.setattr(bioc_xml, "_header", lambda parent: kept.append(parent) or {})
    with open_source(path) as source:
        sizes = [len(kept[-1]) for _ in bioc_xml.read_bioc_xml(source, IdRules(), Tally())]
    assert len(sizes) == 3000
    assert sizes[-1] < 1500  # the parser reads some documents ahead


def test_written_xml_is_valid_for_its_dtd(write, rows):
    from spacy_ontolink.documents import convert_corpus

    path = write("corpus.xml", XML)
    convert_corpus(path, path.with_name("out.xml"), "bioc-xml", None)
    tree = etree.parse(path.with_name("out.xml"), etree.XMLParser(load_dtd=False))
    assert [child.tag for child in tree.getroot()] == ["source", "date", "key", "infon", "document", "document"]
    assert rows(path.with_name("out.xml"))[0] == rows(path)[0]
