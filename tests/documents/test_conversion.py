"""A corpus goes into another format and comes back; what both can hold is the same."""

import json

import pytest
import spacy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spacy_ontolink.documents import GIVEN, SPANS_KEY, IdRules, Tally, convert_corpus, read_documents
from spacy_ontolink.documents.reading import read_corpus_rows
from spacy_ontolink.errors import ConfigError, DataError

NLP = spacy.blank("en")
IDS = st.sampled_from(["MESH:D003924", "OMIM:125853", "HP:0001250", "UMLS:C0011849", "NCBIGene:7157", "X:a b"])
SPACES = " \t\n\r\xa0\u2028"
CHARACTERS = st.characters(codec="utf-8", exclude_categories=["Cs"], exclude_characters="\x00")
FLAT = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Zl", "Zp"]), max_size=30)
FORMATS = ("jsonl", "spacy", "pubtator", "bioc-json", "bioc-xml", "brat")


@st.composite
def mentions(draw, text, segments=False):
    found = []
    for number in range(draw(st.integers(0, 3))):
        fragments = draw(st.integers(1, 2)) if segments else 1
        cuts = sorted(draw(st.sets(st.integers(0, len(text)), min_size=2 * fragments, max_size=2 * fragments)))
        parts = [(start, end) for start, end in zip(cuts[::2], cuts[1::2], strict=True)]
        if len(parts) > 1 and not text[parts[0][1] : parts[1][0]].strip():
            continue  # one, by the rules
        start, end = parts[0][0], parts[-1][1]
        ids = draw(st.lists(IDS, max_size=3, unique=True))
        mention = {"start": start, "end": end, "label": draw(st.sampled_from(["Disease", "Gene"])), "kb_ids": ids}
        mention["text"] = " ".join(text[a:b] for a, b in parts)
        if len(parts) > 1:
            mention["segments"] = [list(part) for part in parts]
        if len(ids) > 1 and draw(st.booleans()):
            mention["composite"] = True
        if draw(st.booleans()):
            mention["id"] = f"T{number + 1}"
        found.append(mention)
    return found


@st.composite
def documents(draw, texts, segments=False):
    text = draw(texts)
    enough = len(text) > 5
    row = {"text": text, "mentions": draw(mentions(text, segments)) if enough else []}
    named = [mention["id"] for mention in row["mentions"] if "id" in mention]
    if len(named) > 1:
        args = [{"ref": named[0], "role": "Arg1"}, {"ref": named[1], "role": "Arg2"}]
        row["relations"] = [{"id": "R7", "type": "CID", "args": args}]
    return row


def corpora(texts, segments=False):
    rows = st.lists(documents(texts, segments), min_size=1, max_size=3)
    return rows.map(lambda rows: [{"id": f"doc-{number}", **row} for number, row in enumerate(rows)])


def converted(tmp, rows, *targets):
    """Send rows through formats and back to JSONL."""
    path = tmp / "in.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    for number, to in enumerate((*targets, "jsonl")):
        out = tmp / f"out-{number}.{to}"
        convert_corpus(path, out, to, NLP, format=(("jsonl", *targets)[number]), overwrite=True)
        path = out
    return [row for _, row in read_corpus_rows(path, "jsonl", IdRules(), None, Tally())]


def assert_kept(before, after, but=()):
    """Everything that was there is there; a format may have given names to what had none."""
    assert [(row["id"], row["text"]) for row in after] == [(row["id"], row["text"]) for row in before]
    for old, new in zip(before, after, strict=True):
        key = lambda m: (m["start"], m["end"], m["label"], m["kb_ids"])  # noqa: E731
        for one, other in zip(sorted(old["mentions"], key=key), sorted(new["mentions"], key=key), strict=True):
            assert {k: other.get(k) for k in one if k not in but} == {k: one[k] for k in one if k not in but}
        if "relations" not in but:
            assert new.get("relations", []) == old.get("relations", [])


def case(texts, segments=False):
    def decorate(test):
        quick = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
        return quick(given(corpora(texts, segments))(test))

    return decorate


def without_blank_ends(row):
    """Leave out mentions, and fragments, that begin or end in white space: BRAT breaks them where their line ends."""
    kept = [mention for mention in row["mentions"] if all(
        row["text"][a:b].strip() == row["text"][a:b]
        for a, b in mention.get("segments", [(mention["start"], mention["end"])])
    )]  # fmt: skip
    return {**row, "mentions": kept, "relations": row.get("relations", []) if len(kept) == len(row["mentions"]) else []}


XML_TEXT = st.text(
    st.sampled_from("ab ab\n\t\u00df") | st.characters(codec="utf-8", exclude_categories=["Cs", "Cc", "Cn"]),
    min_size=6,
    max_size=40,
)


@case(st.text(CHARACTERS, max_size=40), segments=True)
def test_bioc_json_and_docbin_lose_nothing(tmp_path_factory, rows):
    assert_kept(rows, converted(tmp_path_factory.mktemp("x"), rows, "bioc-json"))
    assert_kept(rows, converted(tmp_path_factory.mktemp("x"), rows, "spacy"))


@case(XML_TEXT, segments=True)
def test_bioc_xml_loses_nothing(tmp_path_factory, rows):
    assert_kept(rows, converted(tmp_path_factory.mktemp("x"), rows, "bioc-xml"))


@case(XML_TEXT, segments=True)
def test_brat_loses_nothing(tmp_path_factory, rows):
    rows = [without_blank_ends(row) for row in rows]
    assert_kept(rows, converted(tmp_path_factory.mktemp("x"), rows, "brat"))


@case(FLAT)
def test_pubtator_loses_nothing(tmp_path_factory, rows):
    rows = [{**row, "relations": []} for row in rows]
    assert_kept(rows, converted(tmp_path_factory.mktemp("x"), rows, "pubtator"), but=("id",))


@case(FLAT)
def test_all_formats_one_after_another(tmp_path_factory, rows):
    rows = [{**without_blank_ends(row), "relations": []} for row in rows]
    formats = ("bioc-xml", "pubtator", "brat", "bioc-json", "spacy")
    assert_kept(rows, converted(tmp_path_factory.mktemp("x"), rows, *formats), but=("id",))


PUBTATOR = (
    "11|t|Milk yield.\n11|a|It fell in WD.\n11\t0\t4\tMilk\tFood\tD008892\n11\t23\t25\tWD\tDisease\tD001|-1\tW|D\n"
    "11\tCID\tD008892\tD001\tNovel\n\n12|t|Nothing\n12|a|\n\n"
)


@pytest.mark.parametrize("through", ["jsonl", "spacy", "bioc-json", "bioc-xml"])
def test_pubtator_comes_back_as_it_was(tmp_path, through):
    path = tmp_path / "a.pubtator"
    path.write_text(PUBTATOR, "utf-8")
    convert_corpus(path, tmp_path / f"b.{through}", through, NLP)
    convert_corpus(tmp_path / f"b.{through}", tmp_path / "c.pubtator", "pubtator", NLP, format=through)
    expected = PUBTATOR
    if through not in ("jsonl", "spacy"):
        expected = PUBTATOR.replace("\tW|D\n", "\n").replace("CID\tD008892", "CID\tMESH:D008892")
    assert (tmp_path / "c.pubtator").read_text("utf-8") == expected


BRAT = (
    "T1\tDisease 0 6;19 25\tBreast cancer\nT3\tDisease 30 38;39 60\tfamilial adenomatous polyposis\n"
    "N1\tReference T1 MESH:D001943\tMESH:D001943\nR1\tRelated Arg1:T1 Arg2:T3\nE1\tDisease:T3 Cause:T1\n"
    "*\tEquiv T1 T3\nA1\tNegation T3\nA2\tConfidence T3 L1\n#1\tAnnotatorNotes T3\tsee page 3\n"
)


@pytest.mark.parametrize("through", ["jsonl", "spacy"])
def test_brat_comes_back_as_it_was(tmp_path, through):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x.txt").write_text("Breast and ovarian cancer.\nNo familial\nadenomatous polyposis.\n", "utf-8")
    (tmp_path / "a" / "x.ann").write_text(BRAT, "utf-8")
    convert_corpus(tmp_path / "a", tmp_path / f"b.{through}", through, NLP)
    convert_corpus(tmp_path / f"b.{through}", tmp_path / "c", "brat", NLP)
    assert (tmp_path / "c" / "x.ann").read_text("utf-8") == BRAT
    assert (tmp_path / "c" / "x.txt").read_text("utf-8") == (tmp_path / "a" / "x.txt").read_text("utf-8")


@pytest.fixture
def jsonl(write):
    row = {"id": "a|b", "text": "Milk\nyield \x01", "meta": {"species": "cow"}, "mentions": [
        {"start": 0, "end": 10, "label": "A trait", "kb_ids": ["T:1", "T:2"], "weight": 2,
         "segments": [[0, 2], [5, 10]], "notes": []},
        {"start": 1, "end": 3, "label": "", "kb_ids": []},
    ], "relations": [{"type": "x", "args": [{"ref": "T:1"}]}]}  # fmt: skip
    return write("in.jsonl", [row])


@pytest.mark.parametrize(
    ("to", "notes"),
    [
        ("jsonl", []),
        ("spacy", []),
        ("pubtator", ["document(s) with 'meta'", "mention(s) with 'segments'", "mention(s) with 'weight'",
                      "document id(s) changed", "document(s) with line breaks", "relation(s) left out"]),
        ("bioc-json", ["document(s) with 'meta'", "mention(s) with 'weight'"]),
        ("bioc-xml", ["document(s) with 'meta'", "mention(s) with 'weight'", "text(s) with characters that XML"]),
        ("brat", ["document(s) with 'meta'", "mention(s) with 'weight'", "label(s) changed", "document id(s) changed",
                  "relation(s) left out"]),
    ],
)  # fmt: skip
def test_what_a_format_has_no_place_for_is_told(tmp_path, jsonl, to, notes, caplog):
    done = convert_corpus(jsonl, tmp_path / "out", to, NLP)
    told = [message for message in caplog.messages if str(tmp_path / "out") in message]
    assert len(told) == len(notes) == len(done.written.noted)
    for note in notes:
        assert any(note in message for message in told), note
    assert done.kinds == {"with several ids": 1, "composite": 0, "discontinuous": 1, "without id": 1}


@pytest.mark.parametrize("to", FORMATS)
@pytest.mark.parametrize(
    "keys",
    [
        {"relations": 5},
        {"relations": ["x"]},
        {"relations": [{"type": "x"}]},
        {"passages": [{"start": 0}]},
        {"passages": [{"start": 3, "end": 4}, {"start": 0, "end": 9}]},
        {"passages": {"0": "title"}},
        {"attributes": [{"id": "x", "type": "y", "ref": "z"}]},
        {"notes": "a note"},
        {"infons": ["x"], "collection": "x"},
    ],
)
def test_keys_of_the_same_name_may_be_something_else(tmp_path, write, to, keys):
    odd = {"id": 7, "segments": "0 4", "infons": "x", "individual": 1, "raw_id": ["x"], "composite": "yes"}
    same = {"start": 0, "end": 4, "id": "T1"}
    mentions = [{"start": 0, "end": 4, **odd}, {"start": 0, "end": 4, "segments": [[1, 2]]}, same, same]
    path = write("in.jsonl", [{"id": 3, "text": "Milk yield", "mentions": mentions, **keys}])
    convert_corpus(path, tmp_path / "out", to, NLP)
    tally = Tally()
    if to == "spacy":
        (doc,) = spacy.tokens.DocBin().from_disk(tmp_path / "out").get_docs(NLP.vocab)
        assert len(doc.spans[SPANS_KEY]) == 4
        return
    ((_, row),) = read_corpus_rows(tmp_path / "out", to, IdRules(), None, tally)
    assert [row["text"][mention["start"] : mention["end"]] for mention in row["mentions"]] == ["Milk"] * 4
    assert (row["id"], row["text"]) == ("3", "Milk yield")


def test_a_docbin_has_gold_ids_on_its_spans(tmp_path, jsonl):
    convert_corpus(jsonl, tmp_path / "out.spacy", "spacy", NLP)
    (doc,) = spacy.tokens.DocBin().from_disk(tmp_path / "out.spacy").get_docs(spacy.blank("en").vocab)
    assert [(span.text, span.kb_id_) for span in doc.spans[SPANS_KEY]] == [("Milk\nyield", "T:1"), ("Milk", "")]
    (again,) = read_documents(tmp_path / "out.spacy", NLP)
    assert again.user_data[GIVEN]["mentions"][0]["kb_ids"] == ["T:1", "T:2"]


def test_prefixes_change_ids_of_any_format(tmp_path, write):
    path = write("in.jsonl", [{"text": "Milk", "mentions": [{"start": 0, "end": 4, "kb_ids": ["17", "mesh:D1"]}]}])
    convert_corpus(path, tmp_path / "out.jsonl", "jsonl", NLP, rules=IdRules.of(["DB", "mesh:=MESH"]))
    (row,) = map(json.loads, (tmp_path / "out.jsonl").read_text("utf-8").splitlines())
    assert row["mentions"][0]["kb_ids"] == ["DB:17", "MESH:D1"]


def test_nothing_half_written(tmp_path, write):
    path = write("in.jsonl", '{"text": "Milk"}\noops\n')
    for to in FORMATS:
        with pytest.raises(DataError, match="line 2"):
            convert_corpus(path, tmp_path / "out", to, NLP)
    assert sorted(tmp_path.iterdir()) == [path]
    with pytest.raises(DataError, match="no document"):
        convert_corpus(write("empty.jsonl", ""), tmp_path / "out", "bioc-xml", NLP)
    assert not (tmp_path / "out").exists()


def test_folders_are_not_replaced_unasked(tmp_path, write, jsonl):
    notes = write("notes/a.txt", "precious")
    with pytest.raises(ConfigError, match="more than a BRAT corpus"):
        convert_corpus(jsonl, notes.parent, "brat", NLP, overwrite=True)
    convert_corpus(jsonl, tmp_path / "brat", "brat", NLP)
    with pytest.raises(ConfigError, match="--overwrite"):
        convert_corpus(jsonl, tmp_path / "brat", "brat", NLP)
    convert_corpus(jsonl, tmp_path / "brat", "brat", NLP, overwrite=True)
    assert notes.read_text("utf-8") == "precious"


@pytest.mark.parametrize("id", ["../x", "/etc/x", "a/../../x", ".", "", "a\\b", "a:b", "x\0y", "a//b", ".hidden"])
def test_ids_do_not_lead_out_of_the_folder(tmp_path, write, id):
    path = write("in.jsonl", [{"id": id, "text": "Milk", "mentions": []}, {"id": id, "text": "Yield", "mentions": []}])
    convert_corpus(path, tmp_path / "deep" / "out", "brat", NLP)
    files = [file for file in tmp_path.rglob("*") if file.is_file() and file != path]
    assert len(files) == 4
    assert all((tmp_path / "deep" / "out") in file.parents for file in files)
