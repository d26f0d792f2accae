import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from spacy_ontolink.cli.console import meter


@pytest.fixture
def given(corpus, tmp_path):
    """The corpus of gold mentions, as a folder of one shard."""
    (tmp_path / "in").mkdir()
    return corpus.rename(tmp_path / "in" / "corpus.jsonl").parent


def read(out):
    return pq.read_table(out / "mentions").to_pylist()


def test_bulk_links_what_link_does(ontolink, pipeline, given, tmp_path):
    out = tmp_path / "out"
    result = ontolink("bulk", pipeline, given, out, "--engine", "local", "--workers", 1, "-k", 2)
    assert result.code == 0, result.err
    assert "2 documents, 5 mentions (given): 4 linked, 1 NIL, 0 documents failed; " in result.err
    assert result.err.rstrip().endswith(f"-> {out / 'mentions'}")
    linked = ontolink("link", pipeline, given / "corpus.jsonl", "-k", 2)
    expected = [
        (row["id"], mention["start"], mention["end"], mention["kb_id"], [own["id"] for own in mention["candidates"]])
        for row in map(json.loads, linked.out.splitlines())
        for mention in row["mentions"]
    ]
    assert [
        (row["document"], row["start"], row["end"], row["kb_id"], [own["id"] for own in row["candidates"]])
        for row in read(out)
    ] == expected
    again = ontolink("bulk", pipeline, given, out, "--engine", "local", "-k", 2)
    assert "2 were done before" in again.err


def test_bulk_finds_mentions_in_parquet(ontolink, ner_pipeline, tmp_path):
    pq.write_table(pa.table({"abstract": ["A fat percentage.", "No."], "pmid": [7, 8]}), tmp_path / "a.parquet")
    out = tmp_path / "out"
    columns = ("--text-column", "abstract", "--id-column", "pmid")
    result = ontolink("bulk", ner_pipeline, tmp_path / "a.parquet", out, "--engine", "local", *columns)
    assert result.code == 0, result.err
    assert "2 documents, 1 mention (ner)" in result.err
    (row,) = read(out)
    assert (row["document"], row["row"], row["kb_id"], row["label"]) == ("7", 0, "T:1", "TRAIT")


def test_mentions_that_nobody_looks_up_are_no_nil(ontolink, make_pipeline, given, tmp_path):
    pipeline, out = make_pipeline(tmp_path / "narrow", "--labels", "TRAIT"), tmp_path / "out"
    result = ontolink("bulk", pipeline, given, out, "--engine", "local", "--workers", 1)
    assert "5 mentions (given): 4 linked, 0 NIL, 1 not looked up, 0 documents failed; " in result.err
    assert [row["kb_id"] for row in read(out) if row["label"] == ""] == [""]


def test_a_run_in_which_every_document_failed_is_no_success(ontolink, pipeline, tmp_path):
    (tmp_path / "a.jsonl").write_text('{"id": "1"}\nnot json\n')
    out = tmp_path / "out"
    result = ontolink("bulk", pipeline, tmp_path / "a.jsonl", out, "--engine", "local", "--workers", 1)
    assert result.code == 2
    *_, summary, line = result.err.splitlines()
    assert "2 documents failed" in summary
    assert "Not one of 2 document(s) was linked; the first failed with DataError: " in line


def test_what_the_first_run_has_decided_holds_for_all(ontolink, pipeline, given, tmp_path):
    out = tmp_path / "out"
    assert ontolink("bulk", pipeline, given, out, "--engine", "local", "--workers", 1).code == 0
    (given / "aaa.jsonl").write_text('{"id": "1", "text": "No mention."}\n')
    again = ontolink("bulk", pipeline, given, out, "--engine", "local", "--workers", 1)
    assert again.code == 0, again.err
    assert "3 documents, 5 mentions (given)" in again.err


def test_another_pipeline_is_refused(refused, ontolink, pipeline, ner_pipeline, given, tmp_path):
    out = tmp_path / "out"
    assert ontolink("bulk", pipeline, given, out, "--engine", "local", "--workers", 1).code == 0
    line = refused("bulk", ner_pipeline, given, out, "--engine", "local")
    assert "holds another run (pipeline was" in line
    assert "--overwrite" in line


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--mentions", "ner"], "has no component that finds entities"),
        (["--retries", "-1"], "--retries"),
        (["--engine", "local", "--gpus-per-worker", "1"], "is for --engine ray"),
        (["--text-column", "id"], "cannot be the column of two things"),
        (["--spans-key", "sc"], "is not a .spacy file"),
    ],
)
def test_what_cannot_be_done_is_refused_before_anything_is_written(
    refused, pipeline, given, tmp_path, options, expected
):
    assert expected in refused("bulk", pipeline, given, tmp_path / "out", *options)
    assert not (tmp_path / "out").exists()


def test_ray_that_is_not_there(refused, pipeline, given, tmp_path, monkeypatch):
    monkeypatch.setattr("spacy_ontolink.errors.importlib.util.find_spec", lambda package: None)
    line = refused("bulk", pipeline, given, tmp_path / "out", "--engine", "ray")
    assert "--engine ray needs the package 'ray'; install it with: pip install \"spacy-ontolink[ray]\"" in line


def test_progress_in_a_log(capsys, monkeypatch):
    clock = iter([0.0, 0.5, 40.0, 41.0, 100.0])
    monkeypatch.setattr("spacy_ontolink.cli.console.time.monotonic", lambda: next(clock))
    with meter("Linking", "documents") as report:
        report(100, 1_000_000, 100)
        report(2100, 1_000_000, 100)
        report(2200, 1_000_000, 100)
        report(5100, 1_000_000, 100)
    assert capsys.readouterr().err.splitlines() == [
        "Linking: 2,100 of 1,000,000 documents, 50.0 per second, 5 h 33 min left",
        "Linking: 5,100 of 1,000,000 documents, 50.0 per second, 5 h 32 min left",
    ]
