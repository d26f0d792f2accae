import datetime
import decimal
import gzip
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import spacy
from spacy.tokens import DocBin, Span

from spacy_ontolink.bulk import Job
from spacy_ontolink.bulk.reading import Record, Unreadable, look, peek, read_chunk
from spacy_ontolink.bulk.shards import Chunk, cut, find_shards
from spacy_ontolink.errors import ConfigError, DataError

LINES = [{"id": "a", "text": "Ä fat percentage."}, {"text": "Milk yield.", "mentions": [{"start": 0, "end": 4}]},
         {"id": "a", "text": "No more."}]  # fmt: skip


@pytest.fixture
def jsonl(tmp_path):
    path = tmp_path / "in" / "a.jsonl"
    path.parent.mkdir()
    first, *rest = (json.dumps(line, ensure_ascii=False) for line in LINES)
    path.write_text("\ufeff" + first + "\n\n" + "\n".join(rest), encoding="utf-8")
    return path


def job(tmp_path, **settings):
    return Job(tmp_path / "out", "", **settings)


def read(path, tmp_path, size=2, **settings):
    (shard,) = find_shards([str(path)], tmp_path / "out")
    return [own for chunk in cut(shard, size, "text") for own in read_chunk(chunk, job(tmp_path, **settings))]


def test_files_folders_and_patterns_name_shards_once(tmp_path, jsonl):
    folder = jsonl.parent
    for name in ("b.parquet", "sub/c.spacy", "d.jsonl.gz", "_e.jsonl", ".f.jsonl", "notes.txt"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(b"")
    everything = ["a.jsonl", "b.parquet", "d.jsonl.gz", "sub/c.spacy"]

    def found(*inputs):
        shards = find_shards([str(folder / input) for input in inputs], tmp_path / "out")
        return [shard.path.removeprefix(f"{folder}/") for shard in shards]

    assert found(".") == found("sub", ".", "a.jsonl") == everything
    assert found("[a-d].*") == everything[:3]
    assert found("**/*.spacy", "_e.jsonl") == ["_e.jsonl", "sub/c.spacy"]
    assert [shard.format for shard in find_shards([str(folder)], tmp_path / "out")] == [
        "jsonl", "parquet", "jsonl", "spacy",
    ]  # fmt: skip


def test_shards_of_one_name_have_keys_of_their_own(tmp_path):
    for folder in ("x", "y"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.jsonl").write_text("{}")
    one, other = find_shards([str(tmp_path)], tmp_path.parent / "out")
    assert one.key != other.key
    assert one.key.startswith("a-")


@pytest.mark.parametrize(
    ("name", "error", "match"),
    [("gone.jsonl", DataError, "No such input"), ("a.xml", ConfigError, "ontolink convert"),
     ("gone*", DataError, "no shard there"), ("empty", DataError, "no shard there")],
)  # fmt: skip
def test_what_is_no_input_is_refused(tmp_path, name, error, match):
    (tmp_path / "a.xml").write_text("<collection/>")
    (tmp_path / "empty").mkdir()
    with pytest.raises(error, match=match):
        find_shards([str(tmp_path / name)], tmp_path / "out")


def test_the_output_may_not_lie_in_the_input(tmp_path, jsonl):
    with pytest.raises(ConfigError, match="give another OUT"):
        find_shards([str(tmp_path)], tmp_path / "out")


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_lines_have_their_rows_whatever_the_chunk(tmp_path, jsonl, packed, size):
    if packed:
        path = jsonl.with_suffix(".jsonl.gz")
        path.write_bytes(gzip.compress(jsonl.read_bytes()))
    records = read(path if packed else jsonl, tmp_path, size)
    assert [record.row for record in records] == [0, 2, 3]
    assert [record.plain["id"] for record in records] == ["a", "3", "a"]
    assert [record.plain["text"] for record in records] == [line["text"] for line in LINES]
    assert records[1].plain["mentions"][0]["text"] == "Milk"


def test_mentions_that_are_not_wanted_are_not_looked_at(tmp_path, jsonl):
    jsonl.write_text('{"text": "x", "mentions": [{"start": 7}]}\n')
    assert [type(own) for own in read(jsonl, tmp_path, mentions="ner")] == [Record]
    assert [type(own) for own in read(jsonl, tmp_path)] == [Unreadable]


def test_a_line_that_cannot_be_read_keeps_nobody_from_the_rest(tmp_path, jsonl):
    jsonl.write_bytes(b'{"text": "a"}\n\xff\n{"no": "text"}\n{"text": "b"}\n[]\n')
    records = read(jsonl, tmp_path)
    assert [type(own) for own in records] == [Record, Unreadable, Unreadable, Record, Unreadable]
    assert "line 2: not UTF-8" in str(records[1].error)
    assert records[2].plain == {"raw": '{"no": "text"}\n'}


@pytest.mark.parametrize("size", [1, 3, 4, 7, 100])
def test_parquet_rows_across_row_groups(tmp_path, size):
    path = tmp_path / "a.parquet"
    table = pa.table({"abstract": [f"text {n}" for n in range(9)] + [None], "pmid": [*range(9), None]})
    pq.write_table(table, path, row_group_size=4)
    (shard,) = find_shards([str(path)], tmp_path / "out")
    own = job(tmp_path, text="abstract", id="pmid")
    records = [record for chunk in cut(shard, size, "abstract") for record in read_chunk(chunk, own)]
    assert [record.row for record in records] == list(range(10))
    assert [record.plain for record in records[:9]] == [{"text": f"text {n}", "id": str(n)} for n in range(9)]
    assert isinstance(records[9], Unreadable)
    assert "row" not in records[9].plain


def test_parquet_mentions(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": ["milk yield"], "mentions": [[{"start": 0, "end": 4, "label": "X"}]]}), path)
    (record,) = read(path, tmp_path)
    assert record.plain["mentions"] == [{"start": 0, "end": 4, "label": "X", "text": "milk", "kb_ids": []}]
    assert record.plain["id"] == "1"


def test_parquet_without_the_column(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"abstract": ["x"], "n": [1]}), path)
    (shard,) = find_shards([str(path)], tmp_path / "out")
    with pytest.raises(DataError, match="--text-column, one of: abstract, n"):
        cut(shard, 10, "text")
    with pytest.raises(DataError, match="'n' holds int64, not strings"):
        cut(shard, 10, "n")
    path.write_bytes(b"PAR1 or not")
    with pytest.raises(DataError, match="not a Parquet file"):
        cut(shard, 10, "text")


@pytest.fixture
def docbin(tmp_path):
    nlp = spacy.blank("en")
    docs = DocBin(store_user_data=True)
    for number in range(5):
        doc = nlp(f"number {number} of milk")
        doc.user_data["id"] = f"id{number % 2}"
        if number == 3:
            doc.spans["sc"] = [Span(doc, 3, 4, label="X")]
        docs.add(doc)
    docs.to_disk(tmp_path / "a.spacy")
    return tmp_path / "a.spacy"


def test_packed_documents_are_unpacked_one_by_one(tmp_path, docbin):
    nlp = spacy.blank("en")
    records = read(docbin, tmp_path, spans_key="sc")
    docs = [record.doc(nlp) for record in records]
    assert [doc.text for doc in docs] == [f"number {n} of milk" for n in range(5)]
    assert [doc.user_data["ontolink_given"]["id"] for doc in docs] == ["id0", "id1", "id0", "id1", "id0"]
    assert [span.text for doc in docs for span in doc.spans["ontolink"]] == ["milk"]


def test_peek(tmp_path, docbin, jsonl):
    nlp = spacy.blank("en")
    (packed,), (lines,) = (find_shards([str(path)], tmp_path / "out") for path in (docbin, jsonl))
    assert peek(packed, job(tmp_path), nlp) == (True, "sc")
    assert peek(packed, job(tmp_path), nlp, number=2) == (False, "sc")
    assert peek(lines, job(tmp_path), nlp) == (True, None)
    assert peek(lines, job(tmp_path), nlp, number=2) == (False, None)


def test_parquet_values_become_plain(tmp_path):
    path = tmp_path / "a.parquet"
    when = datetime.datetime(2020, 1, 1)
    ids = [b"PMID1", b"\xff"]
    pq.write_table(
        pa.table({"text": ["milk", "milk"], "id": ids, "mentions": [[{"start": when, "end": 3}], None]}), path
    )
    bad, fine = read(path, tmp_path)
    assert json.loads(json.dumps(bad.plain)) == {
        "text": "milk", "id": "PMID1", "mentions": [{"start": str(when), "end": 3}],
    }  # fmt: skip
    assert fine.plain["id"] == "\ufffd"
    numbers = pa.table(
        {"text": ["milk"], "id": [decimal.Decimal("1.5")], "mentions": [[{"start": float("nan"), "end": 1.0}]]}
    )
    pq.write_table(numbers, path)
    (bad,) = read(path, tmp_path)
    assert (bad.plain["id"], bad.plain["mentions"]) == ("1.5", [{"start": "nan", "end": 1.0}])


def test_a_parquet_text_that_is_not_utf_8_keeps_nobody_from_the_rest(tmp_path):
    path = tmp_path / "a.parquet"
    raw = pa.array([b"fine", b"\xff is not", b"fine"])
    pq.write_table(pa.Table.from_arrays([raw.view(pa.string())], ["text"]), path)
    records = read(path, tmp_path)
    assert [type(own) for own in records] == [Record, Unreadable, Record]
    assert records[1].plain == {"text": "\ufffd is not"}
    assert "line 2: column 'text' is not UTF-8" in str(records[1].error)


def test_a_damaged_page_sets_its_chunks_aside(tmp_path):
    path = tmp_path / "a.parquet"
    table = pa.table({"text": [f"text {n} " + "x" * n for n in range(20)]})
    pq.write_table(table, path, row_group_size=10, compression="zstd", use_dictionary=False, write_statistics=False)
    column = pq.ParquetFile(path).metadata.row_group(1).column(0)
    data = bytearray(path.read_bytes())
    data[column.data_page_offset : column.data_page_offset + column.total_compressed_size] = b"\xff" * (
        column.total_compressed_size
    )
    path.write_bytes(data)
    records = read(path, tmp_path, size=10)
    assert [type(own) for own in records] == [Record] * 10 + [Unreadable] * 10
    assert [own.row for own in records] == list(range(20))


def test_packed_documents_with_odd_notes_and_damaged_ones(tmp_path):
    nlp = spacy.blank("en")
    docs = [nlp("milk yield") for _ in range(3)]
    docs[0].user_data["ontolink_given"] = 3
    packed = DocBin(store_user_data=True, docs=docs)
    packed.user_data[1] = b"\xc1\xc1"
    packed.to_disk(tmp_path / "a.spacy")
    first, damaged, _ = read(tmp_path / "a.spacy", tmp_path)
    assert first.doc(nlp).user_data["ontolink_given"]["id"] == "1"
    with pytest.raises(DataError):
        damaged.doc(nlp)
    (shard,) = find_shards([str(tmp_path / "a.spacy")], tmp_path / "out")
    assert peek(shard, job(tmp_path), nlp) == (False, "sc")


def test_names_of_files_that_are_long_or_not_utf_8(tmp_path):
    path = tmp_path / ("ä" * 120 + ".jsonl")
    path.write_text("{}")
    (shard,) = find_shards([str(path)], tmp_path / "out")
    assert len(shard.key.encode()) < 170
    try:
        (tmp_path / "\udcff.jsonl").write_text("{}")
    except OSError:
        pytest.skip("this file system takes no such names")
    with pytest.raises(ConfigError, match="is not UTF-8"):
        find_shards([str(tmp_path)], tmp_path.parent / "out")


def test_an_empty_shard_decides_nothing(tmp_path, docbin, jsonl):
    nlp = spacy.blank("en")
    empty = tmp_path / "0.jsonl"
    empty.write_text("\n[]\n")
    shards = find_shards([str(empty), str(jsonl)], tmp_path / "out")
    assert peek(shards[0], job(tmp_path), nlp) is None
    assert look(shards, job(tmp_path), nlp) == (True, None)
    assert look([], job(tmp_path), nlp) == (False, None)


def test_a_group_that_no_document_has_is_refused(tmp_path, docbin):
    (shard,) = find_shards([str(docbin)], tmp_path / "out")
    with pytest.raises(DataError, match="no span group 'nosuch' in it; the groups are: sc"):
        peek(shard, job(tmp_path, spans_key="nosuch"), spacy.blank("en"))
    assert peek(shard, job(tmp_path, spans_key="sc"), spacy.blank("en"), number=2) == (False, "sc")


def test_a_pattern_leaves_the_output_out(tmp_path, jsonl):
    out = tmp_path / "out"
    (out / "failed").mkdir(parents=True)
    (out / "failed" / "x.jsonl").write_text("{}")
    (shard,) = find_shards([str(tmp_path / "**" / "*.jsonl")], out)
    assert shard.path == str(jsonl)
    assert find_shards([str(tmp_path / "*")], out) == [shard]
    with pytest.raises(ConfigError, match=r"x\.jsonl lies in the output folder"):
        find_shards([str(out / "failed" / "x.jsonl")], out)


def test_an_input_may_be_named_twice(tmp_path, jsonl):
    folder = str(jsonl.parent)
    assert len(find_shards([folder, folder, str(jsonl)], tmp_path / "out")) == 1


def test_links_are_followed_but_not_in_circles(tmp_path, jsonl):
    (tmp_path / "top").mkdir()
    (tmp_path / "top" / "linked").symlink_to(jsonl.parent)
    (jsonl.parent / "up").symlink_to(tmp_path / "top")
    (shard,) = find_shards([str(tmp_path / "top")], tmp_path / "out")
    assert shard.path == str(tmp_path / "top" / "linked" / "a.jsonl")


def test_columns_that_are_not_there_or_there_twice(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": ["x"], "pmid": [1]}), path)
    (shard,) = find_shards([str(path)], tmp_path / "out")
    with pytest.raises(DataError, match="no column 'pmdi' for the id; give --id-column, one of: text, pmid"):
        cut(shard, 10, "text", "pmdi")
    pq.write_table(pa.Table.from_arrays([pa.array(["x"])] * 2, ["text", "text"]), path)
    with pytest.raises(DataError, match="2 columns named 'text'"):
        cut(shard, 10, "text")
    with pytest.raises(ConfigError, match="'id' cannot be the column of two things"):
        job(tmp_path, text="id")


def test_chunks_go_through_plain_rows(jsonl, tmp_path):
    (shard,) = find_shards([str(jsonl)], tmp_path / "out")
    chunk = cut(shard, 2, "text")[1]
    assert Chunk.of_row(chunk.to_row()) == chunk
