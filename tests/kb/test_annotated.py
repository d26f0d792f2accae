import json
import logging

import pytest

from spacy_ontolink.errors import DataError
from spacy_ontolink.kb import KnowledgeBase
from spacy_ontolink.kb.annotated import TRAIN, AnnotatedName, add_names, names_of, read_names
from spacy_ontolink.kb.readers import make_ontology_reader, read_ontology
from spacy_ontolink.types import Entity, Synonym

ENTITIES = [
    Entity("T:1", "cold", (Synonym("common cold", "EXACT"),)),
    Entity("T:2", "low temperature", (Synonym("Cold", "RELATED", "lay"),), alt_ids=("T:20",)),
    Entity("T:3", "chill", obsolete=True, replaced_by=("T:2",)),
]
NAMES = [AnnotatedName("cold", "T:2", 3), AnnotatedName("The  sniffles", "T:1", 2), AnnotatedName("COLD", "T:1")]


@pytest.fixture
def plain():
    return KnowledgeBase.from_entities(ENTITIES, name="toy")


@pytest.fixture
def kb(plain):
    return add_names(plain, NAMES)


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_new_names_are_exact_and_of_a_type_of_their_own(kb):
    assert Synonym("The sniffles", "EXACT", TRAIN, 2) in kb["T:1"].synonyms
    assert [kb.ids_of(kb.lookup(text)) for text in ("the sniffles", "common cold")] == [["T:1"], ["T:1"]]
    assert kb["T:1"].name == "cold"


def test_names_that_were_there_are_counted(kb):
    assert kb["T:2"].synonyms == (Synonym("Cold", "RELATED", "lay", 3), Synonym("chill", "RELATED", "obsolete"))
    assert kb.name_count.sum() == 6
    assert kb.statistics()["annotated_names"] == 3


def test_obsolete_entities_stay_as_they_were(plain, kb):
    assert kb["T:3"] == plain["T:3"]


def test_old_ids_lead_on_and_unknown_ones_are_counted(plain, caplog):
    with caplog.at_level(logging.WARNING, logger="spacy_ontolink"):
        kb = add_names(
            plain, [AnnotatedName("frost", "T:20"), AnnotatedName("frost", "T:3"), AnnotatedName("a", "X:1")]
        )
    assert Synonym("frost", "EXACT", TRAIN, 2) in kb["T:2"].synonyms
    assert kb.facts["problems"]["annotated with an unknown id"] == 1
    assert "X:1" in caplog.text
    assert "annotated with an unknown id" not in plain.facts["problems"]


def test_blank_names_are_passed_over(plain):
    assert add_names(plain, [AnnotatedName(" ", "T:1")]).n_names == plain.n_names


def test_without_names_the_content_is_the_same(plain):
    assert add_names(plain, []).hash == plain.hash


def test_names_survive_saving_and_can_be_handed_on(plain, kb, tmp_path):
    kb.to_disk(tmp_path / "kb")
    opened = KnowledgeBase.from_disk(tmp_path / "kb")
    assert opened.hash == kb.hash != plain.hash
    assert opened["T:1"] == kb["T:1"]
    assert KnowledgeBase.from_bytes(kb.to_bytes()).name_count.tolist() == kb.name_count.tolist()
    assert add_names(plain, names_of(opened)).hash == kb.hash


def test_adding_again_adds_up(kb):
    assert add_names(kb, [AnnotatedName("Cold", "T:2", 4)])["T:2"].synonyms[0].count == 7


def test_documents_and_lists_of_names_are_read(tmp_path):
    document = {"text": "a cold day", "mentions": [{"start": 2, "end": 6, "kb_ids": ["T:1", "T:2"]},
                                                   {"start": 7, "end": 10, "kb_ids": []}]}  # fmt: skip
    path = write(tmp_path / "names.jsonl", [document, {"text": "frost", "id": "T:2", "count": 5}, {"mentions": None}])
    assert [*read_names(path)] == [
        AnnotatedName("cold", "T:1"),
        AnnotatedName("cold", "T:2"),
        AnnotatedName("frost", "T:2", 5),
    ]


@pytest.mark.parametrize("row", [{"text": "a"}, [], {"text": "a", "id": 3}, {"mentions": [{"kb_ids": ["T:1"]}]}])
def test_other_files_are_refused_with_their_line(tmp_path, row):
    path = write(tmp_path / "odd.jsonl", [{"text": "frost", "id": "T:2"}, row])
    with pytest.raises(DataError, match="line 2"):
        [*read_names(path)]


def test_the_ontology_reader_takes_files_of_names(tmp_path):
    ontology = write(tmp_path / "o.jsonl", [{"id": "T:1", "name": "cold"}, {"id": "T:2", "name": "flu"}])
    names = write(tmp_path / "n.jsonl", [{"text": "cold", "id": "T:2"}])
    kb = make_ontology_reader(str(ontology), names=str(names))()
    assert kb["T:2"].synonyms == (Synonym("cold", "EXACT", TRAIN, 1),)
    assert read_ontology(ontology, names=[names]).hash == kb.hash != read_ontology(ontology).hash


def test_what_is_no_text_is_not_shown_whole(tmp_path):
    path = tmp_path / "linked.spacy"
    for content in (b"x\x9c\xed" + b"\xff" * 10_000, b"[" * 100_000, b'{"text": 1, "id": "%s"}' % (b"x" * 10_000)):
        path.write_bytes(content)
        with pytest.raises(DataError, match=r"linked\.spacy, line 1: neither a document") as raised:
            [*read_names(path)]
        assert len(str(raised.value)) < 400


def test_answers_are_no_names(tmp_path):
    rows = [{"text": "a cold", "mentions": [{"start": 2, "end": 6, "kb_id": "T:1"}]}]
    with pytest.raises(DataError, match=r"no mention in it to take for a name\. Each mention needs 'kb_ids'"):
        [*read_names(write(tmp_path / "linked.jsonl", rows))]
