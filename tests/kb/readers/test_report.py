from spacy_ontolink.kb import KnowledgeBase
from spacy_ontolink.kb.readers import read_ontology


def test_what_was_passed_over_in_a_file_is_known_to_the_kb(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("id,name\nA:1,one\n,nameless\nA:2,two,too,many\nA:3,three\n", "utf-8")
    kb = read_ontology(path)
    assert sum(kb.statistics()["problems"].values()) == 2
    assert sum(KnowledgeBase.from_bytes(kb.to_bytes()).statistics()["problems"].values()) == 2
