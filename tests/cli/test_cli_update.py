import json

import pytest
import spacy
from spacy.tokens import DocBin, Span
from toy import BF, TRAIT, below, obo, term

from spacy_ontolink.cli import BAD_INPUT
from spacy_ontolink.space import EntitySpace
from spacy_ontolink.training.alias_store import AliasStore
from spacy_ontolink.training.aliases import Alias, Generated, Settings
from spacy_ontolink.training.corpus import CorpusMention
from spacy_ontolink.training.pairs import Pair, read_pairs, to_record

FAMILIES = """[Term]
id: T:0
name: trait

[Term]
id: T:1
name: body fat percentage
synonym: "fat percentage" EXACT []
synonym: "BF" RELATED []
is_a: T:9

[Term]
id: T:2
name: milk yield
is_a: T:3

[Term]
id: T:3
name: yield trait
is_a: T:0

[Term]
id: T:9
name: part
"""

NEW = obo(
    term(
        "T:1",
        "percentage of body fat",
        'synonym: "body fat percentage" EXACT []',
        BF,
        'def: "Share of fat." []',
        below("T:0"),
    ),
    term("T:2", "milk yield", "alt_id: T:22", "alt_id: T:3", below("T:0")),
    TRAIT,
    term("T:5", "egg yield", below("T:0")),
)


@pytest.fixture
def new(tmp_path):
    path = tmp_path / "new.obo"
    path.write_text(NEW, "utf-8")
    return path


def linker(path, name="ontolink_retriever"):
    return spacy.load(path).get_pipe(name)


def files_beside(tmp_path):
    return {path.name for path in tmp_path.iterdir()} - {"new.obo"}


def lines(path):
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_links_to_the_new_release(ontolink, pipeline, new, tmp_path):
    result = ontolink("update", pipeline, new, tmp_path / "out")
    assert result.code == 0
    nlp = spacy.load(tmp_path / "out")
    doc = nlp.make_doc("The egg yields")
    doc.ents = [Span(doc, 1, 3, label="TRAIT")]
    assert [ent.kb_id_ for ent in nlp(doc).ents] == ["T:5"]
    assert nlp.get_pipe_config("ontolink_retriever")["built_from"] == ["new.obo"]
    assert linker(pipeline).kb.number_of("T:5") == -1
    assert files_beside(tmp_path) == {"out"}


def test_tells_what_changed(ontolink, pipeline, new, tmp_path):
    out = ontolink("update", pipeline, new, tmp_path / "out").out
    table = {line[2:22].strip(): line[22:].split(maxsplit=1) for line in out.splitlines()[1:]}
    assert out.startswith("ontolink_retriever: 4 entities before, 4 now\n")
    assert table == {
        "added": ["1", "T:5 egg yield"],
        "retired": ["0"],
        "merged": ["1", "T:3 → T:2 milk yield"],
        "renamed": ["1", "T:1 body fat percentage → percentage of body fat"],
        "names changed": [
            "2",
            "T:1 +body fat percentage (EXACT), −fat percentage (EXACT); T:2 −amount of milk (RELATED)",
        ],
        "re-parented": ["1", "T:2 +T:0, −T:3"],
        "definition changed": ["1", "T:1 percentage of body fat"],
        "touched": ["4", "T:1 percentage of body fat; T:2 milk yield; T:0 trait; …"],
        "encoded again": ["4", "100.0 % of the entities, by SynonymEncoder"],
    }


def test_report(ontolink, pipeline, new, tmp_path):
    assert ontolink("update", pipeline, new, tmp_path / "out", "--report", tmp_path / "r.json").code == 0
    report = json.loads((tmp_path / "r.json").read_text("utf-8"))
    part = report["components"]["ontolink_retriever"]
    assert (report["pipeline"], report["ontology"], report["files"]) == ("pipeline", ["new.obo"], {})
    assert part["old"]["entities"] == part["new"]["entities"] == 4
    assert part["counts"]["merged"] == len(part["changes"]["merged"]) == 1
    assert part["changes"]["redefined"] == [
        {"id": "T:1", "name": "percentage of body fat", "was": "", "now": "Share of fat."}
    ]
    assert part["touched"] == ["T:1", "T:2", "T:0", "T:5"]
    assert part["encoded"] == {"SynonymEncoder": {"entities": 4, "share": 1.0}}


def test_equals_a_new_build(ontolink, pipeline, new, tmp_path):
    assert ontolink("update", pipeline, new, tmp_path / "updated").code == 0
    assert ontolink("build", new, tmp_path / "built").code == 0
    encoder = "encoder/synonyms.safetensors", "encoder/encoder/lexical.safetensors"
    for name in ("rows.safetensors", "pooled_rows.safetensors", "row_table.safetensors", *encoder):
        pair = [tmp_path / folder / "ontolink_retriever" / "space" / name for folder in ("updated", "built")]
        assert pair[0].read_bytes() == pair[1].read_bytes()


def test_a_kept_idf_stays(ontolink, pipeline, new, tmp_path):
    result = ontolink("update", pipeline, new, tmp_path / "out", "--keep-idf")
    assert "encoded again" in result.out
    assert "75.0 % of the entities, by SynonymEncoder" in result.out
    assert linker(tmp_path / "out").space.encoder.id == linker(pipeline).space.encoder.id


def test_all_settings_stay(ontolink, toy, new, tmp_path):
    nlp = spacy.blank("de")
    nlp.add_pipe("entity_ruler").add_patterns([{"label": "TRAIT", "pattern": "fat percentage"}])
    tuned = {"ontology": str(toy), "k": 3, "pooling": 0.25, "name_pooling": 0.125, "weights": [0.5, 0.25, 0.25],
             "threshold": 0.1, "label_filters": {"TRAIT": {"branches": ["T:3"]}}}  # fmt: skip
    nlp.add_pipe("ontolink_retriever", "linker", config=tuned)
    nlp.add_pipe("ontolink_surface_rerank", config={"weights": [1.0, 0.5, 0.0], "pooling": 0.5})
    nlp.add_pipe("ontolink_fuse", config={"weights": {"retriever": 0.25, "surface": 0.75}})
    nlp.to_disk(tmp_path / "old")
    assert ontolink("update", tmp_path / "old", new, tmp_path / "out").code == 0
    old, updated = spacy.load(tmp_path / "old"), spacy.load(tmp_path / "out")
    assert (updated.lang, updated.pipe_names) == (old.lang, old.pipe_names)
    assert updated.get_pipe("entity_ruler").patterns == old.get_pipe("entity_ruler").patterns
    for name in old.pipe_names:
        before, after = old.get_pipe_config(name), updated.get_pipe_config(name)
        assert {**before, "built_from": None} == {**after, "built_from": None}
    assert tuple(updated.get_pipe("linker").space.pooling) == (0.125, 0.25)
    (ent,) = updated("Die fat percentage.").ents
    # The filter's branch, T:3, was merged into T:2.
    assert [id for id, _ in ent._.kb_ents] in ([], ["T:2"])


CONFIG = """
[paths]
ontology = null

[nlp]
lang = "en"
pipeline = ["linker"]

[components]

[components.linker]
factory = "ontolink_retriever"

[initialize]

[initialize.components]

[initialize.components.linker]

[initialize.components.linker.kb_loader]
@ontolink_readers = "spacy-ontolink.OntologyReader.v1"
path = ${paths.ontology}
format = "table"
stop_synonyms = ["unit"]

[initialize.components.linker.kb_loader.columns]
id = "Code"
name = "Label"
synonyms = "Others"
"""


@pytest.fixture
def table_pipeline(ontolink, tmp_path):
    """A pipeline whose reader has settings of its own."""
    (tmp_path / "own.cfg").write_text(CONFIG, "utf-8")
    (tmp_path / "v1.csv").write_text("Code,Label,Others\nX:1,fat,unit|grease\nX:2,milk,unit\n", "utf-8")
    assert ontolink("build", tmp_path / "v1.csv", tmp_path / "old", "--config", tmp_path / "own.cfg").code == 0
    return tmp_path / "old"


def test_the_reader_of_the_pipeline_is_asked(ontolink, table_pipeline, tmp_path):
    (tmp_path / "v2.csv").write_text("Code,Label,Others\nX:1,fat,unit|grease\nX:2,milk,unit\nX:3,egg,unit\n", "utf-8")
    assert ontolink("update", table_pipeline, tmp_path / "v2.csv", tmp_path / "out").code == 0
    nlp = spacy.load(tmp_path / "out")
    kb = nlp.get_pipe("linker").kb
    assert [kb[id].name for id in kb] == ["fat", "milk", "egg"]
    assert [name.text for name in kb["X:1"].synonyms] == ["grease"]
    block = nlp.config["initialize"]["components"]["linker"]["kb_loader"]
    assert (block["path"], block["stop_synonyms"]) == ("./v2.csv", ["unit"])
    assert str(tmp_path) not in (tmp_path / "out" / "config.cfg").read_text("utf-8")


def test_its_settings_cannot_be_given_again(refused, table_pipeline, tmp_path):
    line = refused("update", table_pipeline, tmp_path / "v1.csv", tmp_path / "out", "--strict")
    assert "--strict and the kb_loader of the pipeline exclude each other" in line


def test_reading_options_without_a_loader(ontolink, tmp_path):
    for version in ("1", "2"):
        (tmp_path / f"v{version}.csv").write_text("Code,Label\nX:1,fat\n" + f"X:{version}9,milk\n", "utf-8")
    columns = ("--columns", "id=Code,name=Label")
    assert ontolink("build", tmp_path / "v1.csv", tmp_path / "old", *columns).code == 0
    assert ontolink("update", tmp_path / "old", tmp_path / "v2.csv", tmp_path / "out", *columns).code == 0
    assert list(linker(tmp_path / "out").kb) == ["X:1", "X:29"]


def test_the_same_ontology_is_nothing_to_do(ontolink, pipeline, toy, tmp_path):
    result = ontolink("update", pipeline, toy, tmp_path / "out", "--report", tmp_path / "r.json")
    assert (result.code, result.out) == (0, "")
    assert "ontolink_retriever: nothing to do, this is the ontology that it has" in result.err
    assert f"{tmp_path / 'out'} was not written" in result.err
    assert files_beside(tmp_path) == {"r.json"}
    assert json.loads((tmp_path / "r.json").read_text("utf-8"))["components"] == {}


def test_another_ontology_is_refused_unless_forced(ontolink, refused, pipeline, tmp_path):
    other = tmp_path / "other.jsonl"
    other.write_text('{"id": "X:1", "name": "fat percentage"}\n', "utf-8")
    line = refused("update", pipeline, other, tmp_path / "out")
    assert "none of the ids of 'ontolink_retriever' (X there, T here)" in line
    assert files_beside(tmp_path) == {"other.jsonl"}
    assert ontolink("update", pipeline, other, tmp_path / "out", "--force").code == 0
    assert list(linker(tmp_path / "out").kb) == ["X:1"]


def test_one_of_several_retrievers(ontolink, refused, two_retrievers, new, tmp_path):
    assert "'second'" in refused("update", two_retrievers, new, tmp_path / "out")
    assert ontolink("update", two_retrievers, new, tmp_path / "out", "--component", "ontolink_retriever").code == 0
    assert list(linker(tmp_path / "out").kb) == ["T:1", "T:2", "T:0", "T:5"]
    assert list(linker(tmp_path / "out", "second").kb) == ["X:1", "X:2"]
    assert "no component 'third'" in refused("update", two_retrievers, new, tmp_path / "x", "--component", "third")


def test_both_of_two_retrievers_of_one_ontology(ontolink, pipeline, toy, new, tmp_path):
    nlp = spacy.load(pipeline)
    nlp.add_pipe("ontolink_retriever", "second", config={"ontology": str(toy), "name_pooling": 0.0})
    nlp.to_disk(tmp_path / "two")
    out = ontolink("update", tmp_path / "two", new, tmp_path / "out").out
    assert "\nsecond: 4 entities before, 4 now\n" in out
    assert linker(tmp_path / "out").kb.hash == linker(tmp_path / "out", "second").kb.hash


def test_a_filter_on_a_branch_that_is_gone(refused, toy, tmp_path):
    nlp = spacy.blank("en")
    nlp.add_pipe("ontolink_retriever", config={"ontology": str(toy), "filters": {"branches": ["T:3"]}})
    nlp.to_disk(tmp_path / "old")
    (tmp_path / "v2.obo").write_text(NEW.replace("alt_id: T:3\n", ""), "utf-8")
    line = refused("update", tmp_path / "old", tmp_path / "v2.obo", tmp_path / "out")
    assert "No branch 'T:3'" in line
    assert not (tmp_path / "out").exists()


def test_out_is_not_overwritten_by_accident(ontolink, refused, pipeline, new, tmp_path):
    assert ontolink("update", pipeline, new, tmp_path / "out").code == 0
    assert "--overwrite" in refused("update", pipeline, new, tmp_path / "out")
    assert ontolink("update", pipeline, new, tmp_path / "out", "--overwrite").code == 0


def test_a_pipeline_can_be_updated_in_place(ontolink, toy, new, tmp_path):
    assert ontolink("build", toy, tmp_path / "p").code == 0
    assert ontolink("update", tmp_path / "p", new, tmp_path / "p", "--overwrite").code == 0
    assert "T:5" in linker(tmp_path / "p").kb


@pytest.mark.parametrize("option", ["--links", "--pairs", "--aliases"])
def test_missing_files(refused, pipeline, new, tmp_path, option):
    assert "no.jsonl" in refused("update", pipeline, new, tmp_path / "out", option, tmp_path / "no.jsonl")
    assert "no.obo" in refused("update", pipeline, tmp_path / "no.obo", tmp_path / "out")
    assert files_beside(tmp_path) == set()


def test_links_pairs_and_aliases_are_led_on(ontolink, pipeline, new, corpus, tmp_path):
    pairs, aliases = tmp_path / "pairs.jsonl", tmp_path / "aliases.jsonl"
    mention = {"start": 0, "end": 3, "text": "fat", "label": ""}
    pairs.write_text(json.dumps({"id": "a", "text": "fat", "mentions": [{**mention, "kb_ids": ["T:3"]}]}) + "\n")
    aliases.write_text('{"format": "x"}\n{"entity": "T:3", "text": "y"}\n{"entity": "Z:9", "text": "z"}\n')
    result = ontolink(
        "update", pipeline, new, tmp_path / "out", "--links", corpus, "--pairs", pairs, "--aliases", aliases,
        "--report", tmp_path / "r.json",
    )  # fmt: skip
    assert result.code == 0
    first = lines(tmp_path / "out.corpus.jsonl")[0]["mentions"]
    assert [mention["kb_ids"] for mention in first] == [["T:1"], ["T:2"], ["X:1", "T:1"]]
    assert lines(tmp_path / "out.pairs.jsonl")[0]["mentions"][0]["kb_ids"] == ["T:2"]
    assert lines(tmp_path / "out.aliases.jsonl") == [{"format": "x"}, {"entity": "Z:9", "text": "z"}]
    assert lines(tmp_path / "out.aliases.ask.jsonl") == [{"entity": "T:2", "why": ["names_changed", "reparented"]}]
    files = json.loads((tmp_path / "r.json").read_text("utf-8"))["files"]
    assert files[str(aliases)]["ask_again"] == 1
    assert files[str(pairs)]["moved"] == {"T:3": {"to": "T:2", "times": 1}}
    assert f"{pairs} -> {tmp_path / 'out.pairs.jsonl'}: 0 ids as before, 1 led on, 0 lost" in result.err


def test_a_store_of_aliases_asks_for_what_is_touched(ontolink, tmp_path):
    (tmp_path / "v1.obo").write_text(FAMILIES, "utf-8")
    assert ontolink("build", tmp_path / "v1.obo", tmp_path / "old").code == 0
    store = AliasStore(tmp_path / "store.jsonl", Settings("m", "p", "animals", 0, 6, 20))
    store.append(Generated(id, (Alias(id, "x"),), raw="x", source="s") for id in ("T:1", "T:2", "T:3"))
    (tmp_path / "v2.obo").write_text(FAMILIES.replace("name: milk yield", "name: yield of milk"), "utf-8")
    result = ontolink(
        "update", tmp_path / "old", tmp_path / "v2.obo", tmp_path / "out", "--aliases", tmp_path / "store.jsonl"
    )  # fmt: skip
    assert result.code == 0
    led_on = AliasStore(tmp_path / "out.store.jsonl")
    assert (list(led_on.sources), led_on.settings) == (["T:1"], store.settings)
    assert [item.aliases[0].text for item in led_on] == ["x"]
    assert lines(tmp_path / "out.store.ask.jsonl") == [
        {"entity": "T:2", "why": ["renamed"]},
        {"entity": "T:3", "why": ["neighbours"]},
    ]


def test_pairs_can_be_read_afterwards(ontolink, pipeline, new, tmp_path):
    mention = CorpusMention("a", 0, 3, "fat", 0, "fat", "", ("T:1",))
    pairs = [Pair(mention, id, "p2", Alias(id, "fat"), "gen") for id in ("T:3", "T:1")]
    row = {"id": "a", "text": "fat", "mentions": [to_record(pair) for pair in pairs]}
    (tmp_path / "pairs.jsonl").write_text(json.dumps(row) + "\n", "utf-8")
    assert ontolink("update", pipeline, new, tmp_path / "out", "--pairs", tmp_path / "pairs.jsonl").code == 0
    found = list(read_pairs(tmp_path / "out.pairs.jsonl"))
    assert [(pair.entity, pair.alias.entity) for pair in found] == [("T:2", "T:2"), ("T:1", "T:1")]
    assert found[1] == pairs[1]


def test_lost_links_are_listed(ontolink, pipeline, corpus, tmp_path):
    (tmp_path / "v2.obo").write_text(NEW.replace("id: T:1\n", "id: T:77\n"), "utf-8")
    result = ontolink("update", pipeline, tmp_path / "v2.obo", tmp_path / "out", "--links", corpus)
    assert "2 lost" in result.err
    assert lines(tmp_path / "out.corpus.lost.jsonl") == [
        {"line": 1, "start": 0, "end": 14, "text": "Fat percentage", "lost": "T:1"},
        {"line": 1, "start": 35, "end": 37, "text": "BF", "lost": "T:1"},
    ]


def test_spacy_files_too(ontolink, pipeline, new, tmp_path):
    nlp = spacy.blank("en")
    doc = nlp("yield")
    doc.ents = [Span(doc, 0, 1, label="T", kb_id="T:3")]
    DocBin(docs=[doc]).to_disk(tmp_path / "x.spacy")
    assert ontolink("update", pipeline, new, tmp_path / "out", "--links", tmp_path / "x.spacy").code == 0
    (doc,) = DocBin().from_disk(tmp_path / "out.x.spacy").get_docs(nlp.vocab)
    assert doc.ents[0].kb_id_ == "T:2"


def test_files_of_one_name_are_refused(refused, pipeline, new, corpus, tmp_path):
    (tmp_path / "other").mkdir()
    other = tmp_path / "other" / corpus.name
    other.write_text("{}\n")
    line = refused("update", pipeline, new, tmp_path / "out", "--links", corpus, "--pairs", other)
    assert "would both be written to" in line


def test_nothing_is_half_written(refused, pipeline, new, tmp_path):
    (tmp_path / "bad.jsonl").write_text('{"kb_ids": ["T:3"]}\n{oops\n')
    line = refused(
        "update", pipeline, new, tmp_path / "out", "--links", tmp_path / "bad.jsonl", "--report", tmp_path / "r.json"
    )
    assert "bad.jsonl, line 2: not JSON" in line
    assert files_beside(tmp_path) == {"bad.jsonl"}


def test_nor_when_saving_fails(monkeypatch, ontolink, pipeline, new, corpus, tmp_path):
    def fail(self, path):
        raise OSError(28, "No space left on device", "rows")

    monkeypatch.setattr(EntitySpace, "to_disk", fail)
    before = files_beside(tmp_path)
    assert ontolink("update", pipeline, new, tmp_path / "out", "--links", corpus).code == BAD_INPUT
    assert files_beside(tmp_path) == before


def test_names_of_annotated_mentions_are_handed_on(ontolink, toy, new, tmp_path):
    names = tmp_path / "names.jsonl"
    names.write_text('{"text": "crop", "id": "T:3", "count": 2}\n{"text": "BF", "id": "T:1"}\n', "utf-8")
    assert ontolink("build", toy, tmp_path / "old", "--names", names).code == 0
    assert ontolink("update", tmp_path / "old", new, tmp_path / "out").code == 0
    kb = linker(tmp_path / "out").kb
    counted = [(id, name.text, name.count) for id in ("T:1", "T:2") for name in kb[id].synonyms if name.count]
    assert counted == [("T:1", "BF", 1), ("T:2", "crop", 2)]
    again = ontolink("update", tmp_path / "out", new, tmp_path / "same")
    assert "nothing to do" in again.err
