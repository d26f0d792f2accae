import gzip
import io
import json

import pytest
import spacy
from spacy.tokens import Doc, DocBin, Span

from spacy_ontolink.components.spans import Answer, register_extensions, write_answers
from spacy_ontolink.documents import (
    GIVEN,
    SPANS_KEY,
    Successors,
    read_documents,
    repoint_aliases,
    repoint_docs,
    repoint_rows,
)
from spacy_ontolink.errors import DataError
from spacy_ontolink.kb import KnowledgeBase
from spacy_ontolink.types import Entity

OLD = KnowledgeBase.from_entities(
    [Entity("T:1", "fat"), Entity("T:2", "milk", alt_ids=("T:22",)), Entity("T:3", "egg"), Entity("T:4", "wool")]
)
NEW = KnowledgeBase.from_entities(
    [
        Entity("T:1", "fat", alt_ids=("T:2",)),
        Entity("T:3", "egg", obsolete=True, replaced_by=("T:5",)),
        Entity("T:5", "eggs"),
        Entity("T:6", "hair", obsolete=True),
    ]
)


@pytest.fixture
def follow():
    return Successors([(OLD, NEW)])


@pytest.mark.parametrize(
    ("id", "today"),
    [
        ("T:1", "T:1"),
        ("T:2", "T:1"),  # by alt id
        ("T:22", "T:1"),  # an alt id that only the old release knows
        ("T:3", "T:5"),  # by replacement
        ("T:4", ""),  # gone
        ("T:6", ""),  # obsolete without a replacement
        ("X:1", "X:1"),  # of another ontology
        ("NIL", "NIL"),
        ("", ""),
    ],
)
def test_where_ids_lead(follow, id, today):
    assert follow(id) == today
    moved, lost = today not in (id, ""), today == "" != id
    assert (follow.kept, sum(follow.moved.values()), sum(follow.lost.values())) == (not (moved or lost), moved, lost)


def test_several_ontologies():
    other = KnowledgeBase.from_entities([Entity("X:1", "x", alt_ids=("X:0",))])
    follow = Successors([(OLD, NEW), (other, other)])
    assert [follow(id) for id in ("X:0", "T:2", "Y:1")] == ["X:1", "T:1", "Y:1"]


def rows_of(tmp_path, follow, *rows, pairs=False, name="x.jsonl"):
    path, file, lost = tmp_path / name, io.StringIO(), io.StringIO()
    text = "".join(json.dumps(row) + "\n" for row in rows)
    with gzip.open(path, "wt") if name.endswith(".gz") else path.open("w") as out:
        out.write(text)
    repoint_rows(path, file, lost, follow, pairs)
    return [[json.loads(line) for line in io.StringIO(written.getvalue())] for written in (file, lost)]


MENTION = {"start": 0, "end": 3, "text": "fat", "label": "T"}
DOC = {"id": "a", "text": "fat egg wool milk", "mentions": []}


@pytest.mark.parametrize("name", ["x.jsonl", "x.jsonl.gz"])
def test_links_and_gold_ids(tmp_path, follow, name):
    mentions = [
        {**MENTION, "kb_ids": ["T:2", "T:1", "X:1"], "kb_id": "T:3", "score": 0.5},
        {**MENTION, "kb_ids": ["T:4"], "kb_id": "T:4", "note": {"deep": [1, None]}},
        {**MENTION, "kb_ids": "T:3", "kb_id": "NIL"},
    ]
    (row,), lost = rows_of(tmp_path, follow, {**DOC, "mentions": mentions}, name=name)
    assert row == {
        **DOC,
        "mentions": [
            {**MENTION, "kb_ids": ["T:1", "X:1"], "kb_id": "T:5", "score": 0.5},
            {**MENTION, "kb_ids": [], "kb_id": "", "note": {"deep": [1, None]}},
            {**MENTION, "kb_ids": ["T:5"], "kb_id": "NIL"},
        ],
    }
    assert lost == [{"line": 1, "start": 0, "end": 3, "text": "fat", "lost": "T:4"}] * 2
    assert (follow.dropped, follow.lost["T:4"]) == (0, 2)


def test_candidates_are_led_on_without_being_counted(tmp_path, follow):
    candidates = [{"id": id, "rank": n} for n, id in enumerate(("T:2", "T:4", "T:1", "T:3"))]
    (row,), lost = rows_of(
        tmp_path, follow, {**DOC, "mentions": [{**MENTION, "kb_id": "T:2", "candidates": candidates}]}
    )
    assert row["mentions"][0]["candidates"] == [{"id": "T:1", "rank": 0}, {"id": "T:5", "rank": 3}]
    assert not lost
    assert follow.moved == {("T:2", "T:1"): 1}


def test_pairs_without_an_entity_go(tmp_path, follow):
    alias = {"entity": "T:2", "text": "f"}
    mentions = [{**MENTION, "kb_ids": ["T:2"], "alias": alias, "gold": ["T:4"]}, {**MENTION, "kb_ids": ["T:4"]}]
    (row,), lost = rows_of(tmp_path, follow, {**DOC, "mentions": mentions}, pairs=True)
    assert row["mentions"] == [{**MENTION, "kb_ids": ["T:1"], "alias": {"entity": "T:1", "text": "f"}, "gold": []}]
    assert [about["lost"] for about in lost] == ["T:4", "T:4"]
    assert follow.dropped == 1


def pair(id, source="p1", fits=3, weight=1 / 3, **more):
    scope = {"p1": "NAME", "synonym": "EXACT", "p2": "ALIAS"}[source]
    return {**MENTION, "kb_ids": [id], "source": source, "matched": "fat", "scope": scope, "fits": fits,
            "weight": weight, **more}  # fmt: skip


def test_pairs_of_one_mention_whose_entities_are_merged_become_one(tmp_path, follow):
    mentions = [
        pair("T:2", "p2"), pair("T:1"), pair("T:4"), pair("X:1", start=9, fits=2, weight=1.0),
        pair("T:1", start=9, fits=2, weight=1.0),
    ]  # fmt: skip
    (row,), _ = rows_of(tmp_path, follow, {**DOC, "mentions": mentions}, pairs=True)
    assert row["mentions"] == [pair("T:1", fits=1, weight=1.0), *mentions[3:]]
    assert (follow.dropped, follow.united) == (1, 1)


@pytest.mark.parametrize(
    ("id", "source", "matched", "expected"),
    [
        ("T:2", "p1", "milk", ("synonym", "RELATED")),  # its own name is now an old name of fat
        ("T:2", "synonym", "fat", ("p1", "NAME")),
        ("T:3", "p1", "eggs", ("p1", "NAME")),
        ("T:2", "p2", "f", ("p2", "ALIAS")),
        ("T:1", "p1", "old name", ("p1", "NAME")),  # not led on: as it was
    ],
)
def test_a_pair_that_is_led_on_says_what_its_name_is_now(tmp_path, follow, id, source, matched, expected):
    mentions = [pair(id, source, 1, 1.0, matched=matched)]
    (row,), _ = rows_of(tmp_path, follow, {**DOC, "mentions": mentions}, pairs=True)
    assert [(one["source"], one["scope"]) for one in row["mentions"]] == [expected]


def test_a_pair_that_was_there_twice_stays_so(tmp_path, follow):
    (row,), _ = rows_of(tmp_path, follow, {**DOC, "mentions": [pair("T:2"), pair("T:2")]}, pairs=True)
    assert len(row["mentions"]) == 2 and follow.united == 0


def test_rows_about_a_lost_entity_go(tmp_path, follow):
    rows = [{"entity": "T:4", "text": "w"}, {"entity": "T:2", "text": "m"}, {"entity": "Z:1", "text": "z"}]
    kept, lost = rows_of(tmp_path, follow, *rows)
    assert [row["entity"] for row in kept] == ["T:1", "Z:1"]
    assert lost == [{"line": 1, "text": "w", "lost": "T:4"}]
    assert follow.dropped == 1


def test_what_is_no_id_stays(tmp_path, follow):
    row = {
        "entity": 4,
        "kb_ids": [1, 2],
        "kb_id": None,
        "gold": {"T:2": "T:2"},
        "text": "T:2",
        "candidates": ["T:2", {}],
    }
    assert rows_of(tmp_path, follow, row)[0] == [row]


@pytest.mark.parametrize("line", ["{oops", "[1]", '"T:1"'])
def test_bad_lines_are_named(tmp_path, follow, line):
    (tmp_path / "x.jsonl").write_text('{"text": "fine"}\n\n' + line + "\n")
    with pytest.raises(DataError, match=r"x\.jsonl, line 3: not "):
        repoint_rows(tmp_path / "x.jsonl", io.StringIO(), io.StringIO(), follow, False)


def test_half_a_surrogate_pair_passes(tmp_path, follow):
    path, file = tmp_path / "x.jsonl", io.StringIO()
    path.write_text('{"entity": "T:2", "raw": "\\ud83d β"}\n{"entity": "T:2", "raw": "β"}\n', "utf-8")
    repoint_rows(path, file, io.StringIO(), follow, False)
    assert file.getvalue() == '{"entity": "T:1", "raw": "\\ud83d \\u03b2"}\n{"entity": "T:1", "raw": "β"}\n'


def test_a_store_of_a_killed_run_ends_with_its_last_whole_line(tmp_path, follow):
    path, file = tmp_path / "x.jsonl", io.StringIO()
    path.write_text('{"entity": "T:1"}\n{"entity": "T:', "utf-8")
    repoint_aliases(path, file, io.StringIO(), follow, lambda id: [])
    assert file.getvalue() == '{"entity": "T:1"}\n'
    with pytest.raises(DataError, match="line 2"):
        repoint_rows(path, file, io.StringIO(), follow, False)


def test_a_broken_gzip_is_named(tmp_path, follow):
    (tmp_path / "x.jsonl.gz").write_bytes(b"nonsense")
    with pytest.raises(DataError, match="gzip"):
        repoint_rows(tmp_path / "x.jsonl.gz", io.StringIO(), io.StringIO(), follow, False)


def test_aliases_to_ask_again_and_lost_ones_are_left_out(tmp_path, follow):
    path, file, lost = tmp_path / "x.jsonl", io.StringIO(), io.StringIO()
    header = {"format": "aliases 1", "model": "m"}
    rows = [header, *({"entity": id, "aliases": [id]} for id in ("T:1", "T:2", "T:3", "T:4", "Z:1"))]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    ask = repoint_aliases(path, file, lost, follow, lambda id: {"T:5": ["renamed"]}.get(id, []))
    kept = [json.loads(line) for line in file.getvalue().splitlines()]
    # T:2 is T:1 now, which has aliases of its own.
    assert kept == [header, {"entity": "T:1", "aliases": ["T:1"]}, {"entity": "Z:1", "aliases": ["Z:1"]}]
    assert ask == {"T:5": ["renamed"]}
    assert json.loads(lost.getvalue()) == {"line": 5, "lost": "T:4"}


@pytest.fixture
def nlp():
    register_extensions()
    return spacy.blank("en")


def docs_of(tmp_path, nlp, follow, doc, pairs=False):
    DocBin(store_user_data=True, docs=[doc]).to_disk(tmp_path / "x.spacy")
    lost = io.StringIO()
    repoint_docs(tmp_path / "x.spacy", tmp_path / "out.spacy", lost, follow, pairs, nlp.vocab)
    (new,) = DocBin().from_disk(tmp_path / "out.spacy").get_docs(nlp.vocab)
    return new, [json.loads(line) for line in lost.getvalue().splitlines()]


@pytest.fixture
def doc(nlp):
    doc = nlp.make_doc("fat milk egg wool hair")
    ids = ("T:1", "T:2", "T:3", "T:4", "NIL")
    doc.ents = [Span(doc, n, n + 1, label="T", kb_id=id, span_id=n + 1) for n, id in enumerate(ids)]
    doc.spans["sc"] = [Span(doc, n, 5, label="T", kb_id=id, span_id=n + 7) for n, id in enumerate((*ids[1:], ""))]
    return doc


def test_entities_and_groups_of_a_spacy_file(tmp_path, nlp, follow, doc):
    new, lost = docs_of(tmp_path, nlp, follow, doc)
    assert [(ent.text, ent.kb_id_, ent.label_) for ent in new.ents] == [
        ("fat", "T:1", "T"), ("milk", "T:1", "T"), ("egg", "T:5", "T"), ("wool", "", "T"), ("hair", "NIL", "T"),
    ]  # fmt: skip
    assert [(span.start, span.kb_id_, span.id) for span in new.spans["sc"]] == [
        (0, "T:1", 7), (1, "T:5", 8), (2, "", 9), (3, "NIL", 10), (4, "", 11),
    ]  # fmt: skip
    assert lost == [
        {"document": 1, "start": 13, "end": 17, "text": "wool", "lost": "T:4"},
        {"document": 1, "start": 9, "end": 22, "text": "egg wool hair", "lost": "T:4"},
    ]
    assert isinstance(new, Doc)


def test_pairs_of_a_spacy_file_go(tmp_path, nlp, follow, doc):
    new, lost = docs_of(tmp_path, nlp, follow, doc, pairs=True)
    assert [span.kb_id_ for span in new.spans["sc"]] == ["T:1", "T:5", "NIL", ""]
    assert (len(new.ents), len(lost), follow.dropped) == (5, 2, 1)


def test_pairs_on_a_document_go_with_their_spans(tmp_path, nlp, follow):
    doc = nlp.make_doc("fat wool")
    ids = ("T:2", "T:4", "T:1")
    doc.spans[SPANS_KEY] = [Span(doc, 0, 1, kb_id=id) for id in ids]
    records = [{**MENTION, "label": "", "kb_ids": [id], "alias": {"entity": id, "text": "f"}} for id in ids]
    doc.user_data[GIVEN] = {"id": "a", "mentions": records}
    docs_of(tmp_path, nlp, follow, doc, pairs=True)
    (new,) = read_documents(tmp_path / "out.spacy", nlp)
    given = new.user_data[GIVEN]["mentions"]
    assert len(new.spans[SPANS_KEY]) == len(given) == 1
    assert [(mention["kb_ids"], mention["alias"]["entity"]) for mention in given] == [(["T:1"], "T:1")]
    assert (follow.dropped, follow.united) == (1, 1)
    assert (follow.dropped, follow.moved, follow.lost) == (1, {("T:2", "T:1"): 1}, {"T:4": 1})


def test_gold_ids_and_candidates_on_documents(tmp_path, nlp, follow, doc):
    columns = {"id": ["T:2", "T:4", "T:1", "T:3"], "name": ["m", "w", "f", "e"], "matched": ["m", "w", "f", "e"],
               "scope": ["NAME"] * 4, "scores": {"retriever": [4.0, 3.0, 2.0, 1.0]}}  # fmt: skip
    ents = list(doc.ents)
    write_answers([ents[1]], [Answer("T:2", columns)], group="", component="c", overwrite=True)
    doc.user_data[GIVEN] = {"id": "a", "mentions": [{**MENTION, "kb_ids": ["T:3", "T:4"]}]}
    new, _ = docs_of(tmp_path, nlp, follow, doc)
    assert new.ents[1]._.kb_ents == [("T:1", 4.0), ("T:5", 1.0)]
    assert [candidate["name"] for candidate in new.ents[1]._.ontolink] == ["m", "e"]
    assert list(new.user_data[GIVEN]["mentions"][0]["kb_ids"]) == ["T:5"]


def test_a_broken_spacy_file_is_named(tmp_path, nlp, follow):
    (tmp_path / "x.spacy").write_bytes(b"nonsense")
    with pytest.raises(DataError, match=r"x\.spacy is not a \.spacy file"):
        repoint_docs(tmp_path / "x.spacy", tmp_path / "out.spacy", io.StringIO(), follow, False, nlp.vocab)
