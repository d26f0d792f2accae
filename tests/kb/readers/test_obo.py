import os
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_ontolink.errors import OntologyError
from spacy_ontolink.kb.readers import ReadReport, read_entities, read_ontology
from spacy_ontolink.kb.readers.obo import read_obo
from spacy_ontolink.types import Entity, Synonym

SHARED = Path(os.environ.get("ONTOLINK_SHARED_DATA") or Path(__file__).parents[4] / "shared" / "data") / "ontologies"
TOY = r"""format-version: 1.2
date: 03:02:2020 10:15
default-namespace: toy_ontology
synonymtypedef: abbreviation "short form"
synonymtypedef: dutch "Dutch name" EXACT

[Term]
id: T:1
name: body fat percentage ! of the whole body
def: "Share of fat\, \"lean\" or not\: in the body [%]." [DB:1 "a [b] \"c\"", url:http\://x] {comment="see {this}"}
synonym: "fat percentage" EXACT []
synonym: "BF" RELATED abbreviation [DB:2] {source="x ! y"} ! short
synonym: "vetpercentage" dutch []
synonym: "fatness" []
alt_id: T:11
alt_id: T:12
xref: DB:12 "twelve, \"12\""
xref: url:http\://example.org/a
subset: slim_a {since="1"} ! chosen
subset: slim_b
is_a: T:3 {is_inferred="true", source="a, b"} ! yield trait
relationship: part_of T:2 ! milk yield
intersection_of: T:2
creation_date: 2011-10-21T11:11:08Z

[Typedef]
id: part_of
name: part of
nonsense without meaning

[Term]
id: T:8
name: yield of milk
namespace: other
is_obsolete: true
replaced_by: T:1
replaced_by: T:3 ! yield trait
consider: T:4

[Instance]
id: T:99
name: somebody

[Term]
id: T:3
name: 5\,10-yield trait {source="DB:1"}
"""


def read(tmp_path: Path, text: str | bytes, strict: bool = False) -> tuple[list[Entity], ReadReport]:
    path = tmp_path / "toy.obo"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    report = ReadReport(path, strict)
    return list(read_obo(path, report)), report


def term(clauses: str) -> str:
    return f"format-version: 1.2\n\n[Term]\nid: T:1\n{clauses}\n"


def test_a_well_formed_file_is_read_whole_and_without_complaint(tmp_path):
    entities, _ = read(tmp_path, TOY, strict=True)
    assert entities == [
        Entity(
            "T:1",
            "body fat percentage",
            (
                Synonym("fat percentage", "EXACT"),
                Synonym("BF", "RELATED", "abbreviation"),
                Synonym("vetpercentage", "EXACT", "dutch"),
                Synonym("fatness", "RELATED"),
            ),
            definition='Share of fat, "lean" or not: in the body [%].',
            parents=("T:3",),
            alt_ids=("T:11", "T:12"),
            xrefs=("DB:12", "url:http://example.org/a"),
            namespace="toy_ontology",
            types=("slim_a", "slim_b"),
        ),
        Entity(
            "T:8",
            "yield of milk",
            obsolete=True,
            replaced_by=("T:1", "T:3"),
            consider=("T:4",),
            namespace="other",
        ),
        Entity("T:3", "5,10-yield trait", namespace="toy_ontology"),
    ]


@pytest.mark.parametrize(
    "change",
    [
        lambda text: "\ufeff" + text,
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("\n", "\r"),
        lambda text: text.replace("\n", "  \n"),
        lambda text: re.sub(r"(?m)^(\w+): ", r"\1:", text),
        lambda text: text.rstrip("\n"),
    ],
)
def test_byte_order_mark_line_ends_and_blanks_make_no_difference(tmp_path, change):
    entities, report = read(tmp_path, change(TOY))
    assert entities == read(tmp_path, TOY)[0]
    assert not report.counts


@pytest.mark.parametrize(
    ("clause", "kind"),
    [
        ('synonym: "BF" EXACT undeclared []', "undeclared synonym type"),
        ("xref: a book of 1987", "xref with a space"),
        ("creation_date: yesterday", "malformed date"),
        ("creation_date: 2011-13-41", "malformed date"),
        ("colour: blue", "unknown tag"),
        ("no clause at all", "line without a tag"),
        ('synonym: "BF EXACT []', "badly quoted synonym"),
        ("synonym: BF EXACT []", "badly quoted synonym"),
        ('synonym: "the "big" one" EXACT []', "badly quoted synonym"),
        ('synonym: "BF" EXACT', "synonym without a closed list"),
        ('synonym: "BF" exact []', "scope in small letters"),
        ('synonym: "" EXACT []', "empty synonym"),
        ('def: "endless [DB:1]', "badly quoted def"),
        ("is_a: T:3 yield trait", "text after an id"),
        ("is_a:", "clause without a value"),
        ("is_obsolete: perhaps", "is_obsolete is neither"),
        ("name: again", "second name"),
        ("id: T:5", "second id"),
    ],
)
def test_a_bad_clause_costs_no_more_than_itself_and_is_told_with_its_line(tmp_path, clause, kind):
    text = term(f'name: milk yield\n{clause}\nsynonym: "MY" EXACT []')
    (entity,), report = read(tmp_path, text)
    assert (entity.id, entity.name, entity.obsolete) == ("T:1", "milk yield", False)
    assert entity.synonyms[-1] == Synonym("MY", "EXACT")
    assert report.counts.total() == 1
    assert report.first[0][0] == 6
    assert report.first[0][1].startswith(kind)
    with pytest.raises(OntologyError, match=rf"toy\.obo, line 6: {kind}"):
        read(tmp_path, text, strict=True)


@pytest.mark.parametrize(
    ("clause", "synonym"),
    [
        ('synonym: "BF" EXACT undeclared []', Synonym("BF", "EXACT", "undeclared")),
        ('synonym: "BF EXACT []', Synonym("BF", "EXACT")),
        ("synonym: BF EXACT abbreviation [DB:1]", Synonym("BF", "EXACT", "abbreviation")),
        ('synonym: "the "big" one" BROAD []', Synonym('the "big" one', "BROAD")),
        ('synonym: "BF" NARROW', Synonym("BF", "NARROW")),
        ('synonym: "BF" exact []', Synonym("BF", "EXACT")),
        ('exact_synonym: "BF" []', Synonym("BF", "EXACT")),
        ("name: fat share", Synonym("fat share", "EXACT")),
        (r'synonym: "a\\b \"c\" \alpha" EXACT []', Synonym(r'a\b "c" \alpha', "EXACT")),
    ],
)
def test_a_synonym_is_read_as_it_was_meant(tmp_path, clause, synonym):
    (entity,), _ = read(tmp_path, term(f"name: milk yield\n{clause}"))
    assert entity.synonyms == (synonym,)


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ("<new term>", "<new term>"),
        (r"2\,3-\{x\}", "2,3-{x}"),
        ("poly{sugar}", "poly{sugar}"),
        ("acid {2-[a]}", "acid {2-[a]}"),
        ('acid {source="a {b} ! c", x="1"} ! note', "acid"),
        ("!Kung ancestry!", "!Kung ancestry!"),
        ("milk  \tyield\u00a0", "milk yield"),
        ("a: b", "a: b"),
    ],
)
def test_names_lose_comments_and_qualifiers_but_no_text_of_their_own(tmp_path, value, name):
    (entity,), report = read(tmp_path, term(f"name: {value}"))
    assert entity.name == name
    assert not report.counts


def test_latin_1_bytes_are_decoded_line_by_line(tmp_path):
    text = term('name: Ménière\nsynonym: "X" EXACT []').encode("latin-1") + "xref: DB:β\n".encode()
    (entity,), report = read(tmp_path, text)
    assert (entity.name, entity.xrefs) == ("Ménière", ("DB:β",))
    assert report.first == [(5, "not UTF-8, read as Latin-1", "name: Ménière")]


def test_a_term_without_id_is_passed_over(tmp_path):
    entities, report = read(tmp_path, "[Term]\nname: lost\n\n[Term]\nid: T:1\nname: found\n")
    assert [entity.id for entity in entities] == ["T:1"]
    assert report.first == [(1, "[Term] without an id", "lost")]


def test_a_file_without_frames_is_not_obo(tmp_path):
    with pytest.raises(OntologyError, match="is not OBO"):
        read(tmp_path, "once upon a time\n")


def test_frames_of_one_id_become_one_entity_of_the_knowledge_base(tmp_path):
    path = tmp_path / "twice.obo"
    path.write_text("[Term]\nid: T:1\nname: milk yield\n\n[Term]\nid: T:1\nname: yield of milk\n", "utf-8")
    kb = read_ontology(path)
    assert (len(kb), kb["T:1"].name, kb["T:1"].synonyms[0].text) == (1, "milk yield", "yield of milk")
    assert "duplicate id" in str(kb.facts["problems"])
    with pytest.raises(OntologyError, match="duplicate id"):
        read_ontology(path, strict=True)


def test_cycles_and_dangling_references_load(tmp_path):
    path = tmp_path / "cycles.obo"
    path.write_text(
        "[Term]\nid: T:5\nname: five\nis_a: T:6\nis_a: T:5\nis_a: T:99\n\n[Term]\nid: T:6\nname: six\nis_a: T:5\n\n"
        "[Term]\nid: T:8\nname: eight\nis_obsolete: true\nreplaced_by: T:9\n\n"
        "[Term]\nid: T:9\nname: nine\nis_obsolete: true\nreplaced_by: T:8\nconsider: T:5\n",
        "utf-8",
    )
    kb = read_ontology(path)
    assert list(kb) == ["T:5", "T:6"]
    assert kb.resolve("T:8") is None
    assert "T:5" not in kb.neighbours("T:5")


_CLAUSES = [
    "[Term]\n",
    "id: T:1\n",
    "name: ",
    'synonym: "',
    'def: "',
    "xref: ",
    "is_a: ",
    '" EXACT []',
    '{a="b"}',
    " ! ",
]
_PIECES = st.sampled_from([*_CLAUSES, *'\\"[]{}:\n\r\ufeff\0é'])


@settings(deadline=None)
@given(st.lists(_PIECES | st.text(max_size=4), max_size=30).map("".join), st.booleans())
def test_no_text_breaks_the_reader(tmp_path_factory, text, strict):
    path = tmp_path_factory.mktemp("fuzz") / "x.obo"
    path.write_bytes(b"[Term]\nid: T:0\nname: zero\n" + text.encode("utf-8", "surrogatepass"))
    try:
        read_ontology(path, strict=strict)
    except OntologyError as error:
        assert str(path) in str(error)


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_no_bytes_break_the_reader(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("fuzz") / "x.obo"
    path.write_bytes(data)
    try:
        read_ontology(path, format="obo")
    except OntologyError as error:
        assert str(path) in str(error)


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared data is not here (ONTOLINK_SHARED_DATA)")
@pytest.mark.parametrize("pattern", ["*.obo", "*.obo.gz", "old/*.obo", "odd/*.obo"])
def test_real_files_load(pattern):
    paths = sorted(SHARED.glob(pattern))
    assert paths
    for path in paths:
        report = ReadReport(path)
        entities = list(read_entities(path, report))
        assert len(entities) > 400
        assert not any("badly quoted" in kind for kind in report.counts)
