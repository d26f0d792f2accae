import json
import os
from collections import Counter

import pytest
import spacy
from bulk_pipeline import texts
from spacy.tokens import DocBin

from spacy_ontolink.bulk import Opened
from spacy_ontolink.bulk.journal import Journal
from spacy_ontolink.bulk.layout import Layout
from spacy_ontolink.bulk.worker import Worker
from spacy_ontolink.errors import ConfigError, DataError, LLMError, MissingExtraError, StateError
from spacy_ontolink.types import Usage


class Model:
    """Counts prompts, one for each document; those of the first ``down`` batches have no answer."""

    def __init__(self, open, down, deaf=""):
        self.nlp, self._link, self.key, _ = open()
        self.down, self.deaf, self.usage = down, deaf, Usage()

    def link(self, docs):
        self.down -= 1
        for doc in docs:
            failed = self.down >= 0 or (bool(self.deaf) and self.deaf in doc.text)
            self.usage = Usage(self.usage.calls + (not failed), self.usage.failed + failed)
        return self._link(docs)

    def __call__(self):
        return Opened(self.nlp, self.link, self.key, lambda: self.usage)


@pytest.fixture
def waits(monkeypatch):
    waits = []
    monkeypatch.setattr("spacy_ontolink.bulk.worker.time.sleep", waits.append)
    return waits


def test_every_mention_is_a_row(run, corpus):
    totals = run(corpus(a=texts(45), b=["nothing here", "milk yield, fat percentage"]))
    assert totals.counts == Counter(documents=47, linked=47)
    rows = run.rows()
    assert [row["row"] for row in rows] == [*range(45), 1, 1]
    assert rows[45] | {"candidates": [], "shard": ""} == {
        "shard": "", "row": 1, "document": "1", "start": 0, "end": 10, "mention": "milk yield", "label": "",
        "kb_id": "T:2", "name": "milk yield", "score": 1.0, "probability": None, "candidates": [],
    }  # fmt: skip
    assert rows[46]["candidates"][0] == {
        "id": "T:1", "name": "body fat percentage", "matched": "fat percentage", "score": 1.0,
    }  # fmt: skip
    assert run.failed() == []
    assert len(list((run.out / "mentions").iterdir())) == 4


def test_done_chunks_are_not_done_again(run, corpus):
    folder = corpus(a=texts(45))
    run(folder)
    before = {path: path.stat().st_mtime_ns for path in run.out.rglob("*.*") if path.name != ".lock"}
    totals = run(folder)
    assert run.calls == 3
    assert (totals.before, totals.counts["documents"]) == (45, 45)
    assert before == {path: path.stat().st_mtime_ns for path in before}


def test_a_chunk_without_receipt_is_done_again(run, corpus):
    folder = corpus(a=texts(45))
    run(folder)
    rows = run.rows()
    (receipt,) = (run.out / "receipts").glob("*20.json")
    receipt.unlink()
    (run.out / "mentions" / ".scratch").mkdir()  # what a writer that was killed leaves
    run(folder)
    assert run.calls == 4
    assert run.rows() == rows
    assert not (run.out / "mentions" / ".scratch").exists()


def test_new_shards_are_added(run, corpus):
    run(corpus(b=texts(5)))
    assert run(corpus(a=texts(5))).counts["documents"] == 10
    assert run.calls == 2


def test_settings_that_decide_the_output_may_not_change(run, corpus):
    folder = corpus(a=texts(5))
    run(folder)
    with pytest.raises(ConfigError, match=r"k was 5, is 3.*--overwrite"):
        run(folder, k=3)
    run(folder, batch_size=7, retries=0)
    assert run(folder, k=3, overwrite=True).before == 0


def test_changed_and_missing_inputs_are_refused(run, corpus):
    folder = corpus(a=texts(5), b=texts(5))
    run(folder)
    with pytest.raises(DataError, match=r"has results of .*b\.jsonl, which is not in the input"):
        run(folder / "a.jsonl")
    os.utime(folder / "a.jsonl", (1, 1))
    with pytest.raises(DataError, match=r"a\.jsonl is not what it was .*mtime_ns was"):
        run(folder)


def test_a_foreign_folder_is_left_alone(run, corpus):
    run.out.mkdir()
    (run.out / "mine.txt").write_text("")
    with pytest.raises(ConfigError, match="left alone"):
        run(corpus(a=texts(5)), overwrite=True)
    assert [path.name for path in run.out.iterdir()] == ["mine.txt"]


@pytest.mark.parametrize("foreign", ['{"lr": 0.1}', "[]", "not json", b"\xff"])
def test_a_folder_with_a_run_of_another_program_is_left_alone(run, corpus, foreign):
    (run.out / "shards").mkdir(parents=True)
    (run.out / "shards" / "x.bin").write_text("")
    (run.out / "run.json").write_bytes(foreign if isinstance(foreign, bytes) else foreign.encode())
    for overwrite in (False, True):
        with pytest.raises(ConfigError, match="left alone"):
            run(corpus(a=texts(5)), overwrite=overwrite)
    assert (run.out / "shards" / "x.bin").exists()


def test_overwrite_keeps_what_is_there_until_the_inputs_are_read(run, corpus, tmp_path):
    run(corpus(a=texts(5)))
    bad = tmp_path / "bad.parquet"
    bad.write_text("not Parquet")
    with pytest.raises(DataError, match="not a Parquet file"):
        run(bad, overwrite=True)
    assert len(run.rows()) == 5


def test_a_first_run_that_fails_does_not_block_the_folder(run, corpus, tmp_path):
    bad = tmp_path / "bad.parquet"
    bad.write_text("not Parquet")
    with pytest.raises(DataError, match="not a Parquet file"):
        run(bad)
    (run.out / ".run.json.abcdefgh").mkdir()  # of a writer that was killed
    assert run(corpus(a=texts(5)), k=3).counts["documents"] == 5
    assert not (run.out / ".run.json.abcdefgh").exists()


def test_workers_that_were_stopped_with_their_driver_have_not_died(run, corpus):
    folder = corpus(a=texts(5))

    def stopped(open, job, chunks):
        journal = Journal(Layout(run.out).journal(chunks[0]), 0)
        journal._write("begin", 0, 5)
        raise KeyboardInterrupt
        yield

    with pytest.raises(KeyboardInterrupt):
        run(folder, engine=stopped)

    def look(open, job, chunks):
        assert Journal(Layout(run.out).journal(chunks[0]), 0).deaths(0, 5) == 0
        yield from ()

    run(folder, engine=look)
    assert not Layout(run.out).stopped.exists()


def test_a_receipt_that_does_not_fit_is_refused(run, corpus):
    folder = corpus(a=texts(5))
    run(folder)
    (part,) = (run.out / "mentions").iterdir()
    part.write_bytes(b"cut short")
    with pytest.raises(StateError, match=r"is missing, or of another size.*Delete it"):
        run(folder)
    (receipt,) = (run.out / "receipts").iterdir()
    value = json.loads(receipt.read_text())
    receipt.write_text(json.dumps({**value, "pipeline": "other"}))
    with pytest.raises(StateError, match="it is of another pipeline"):
        run(folder)


@pytest.mark.parametrize("content", [b"[]", b"{}", b"\xff", b"7"])
@pytest.mark.parametrize("name", ["shards", "receipts"])
def test_records_of_odd_shape_are_refused_with_a_way_out(run, corpus, name, content):
    folder = corpus(a=texts(5))
    run(folder)
    (path,) = (run.out / name).iterdir()
    path.write_bytes(content)
    with pytest.raises((StateError, DataError), match=r"Delete it|--overwrite"):
        run(folder)
    path.unlink()
    assert run(folder).counts["documents"] == 5


def test_a_journal_of_odd_shape_is_as_good_as_none(run, corpus):
    folder = corpus(a=texts(5))

    def spoil(open, job, chunks):
        journal = Layout(run.out).journal(chunks[0])
        journal.parent.mkdir()
        journal.write_bytes(b'\n{}\n[]\n7\n\xff\n["begin", 1]\n["begin", "a", null]')
        yield from ()

    run(folder, engine=spoil)
    assert run(folder).counts == Counter(documents=5, linked=5)


def test_a_time_limit_may_be_long(run, corpus):
    assert run(corpus(a=texts(5)), timeout=1e12).counts["linked"] == 5


def test_half_a_letter_in_an_error_is_escaped(run, corpus):
    opened = run.open()

    def link(docs):
        raise ValueError("not \ud800")

    run.open = lambda: opened._replace(link=link)
    run(corpus(a=texts(1)))
    assert run.failed()[0]["error"] == "not \ud800"


def test_only_one_driver_at_a_time(run, corpus):
    pytest.importorskip("fcntl")
    folder = corpus(a=texts(5))
    errors = []

    def meanwhile(open, job, chunks):
        with pytest.raises(ConfigError, match="is writing to") as error:
            run(folder)
        errors.append(error)
        yield from ()

    run(folder, engine=meanwhile)
    assert errors


def test_documents_that_fail_are_set_aside(run, corpus):
    folder = corpus(a=texts(70, at_3="raises", at_41="raises"))
    with (folder / "a.jsonl").open("a") as file:
        file.write("not json\n")
    totals = run(folder, chunk_size=50)
    assert totals.counts == Counter(documents=71, linked=68, failed=3)
    assert [row["row"] for row in run.rows()] == [n for n in range(70) if n not in (3, 41)]
    failed = run.failed()
    assert [(line["row"], line["kind"]) for line in failed] == [
        (3, "ValueError"),
        (41, "ValueError"),
        (70, "DataError"),
    ]
    assert failed[0]["error"] == "cannot take this"
    assert failed[0]["text"] == "Number 3 has a fat percentage. raises"


def test_what_was_set_aside_may_be_an_input(run, corpus, tmp_path):
    run(corpus(a=texts(5, at_3="raises")))
    first, run.out = run.out, tmp_path / "second"
    for path in (first / "failed").iterdir():
        path.write_text(path.read_text().replace("raises", "is fine"))
    assert run(first / "failed").counts == Counter(documents=1, linked=1)
    assert run.rows()[0]["document"] == "3"


def test_a_model_that_does_not_answer_ends_the_run_and_condemns_nobody(run, corpus):
    folder = corpus(a=texts(45, at_25="unanswered"))
    with pytest.raises(LLMError, match="does not answer"):
        run(folder, retries=0)
    assert run.failed() == []
    assert len(run.rows()) == 20


@pytest.mark.parametrize("error", [ConfigError, StateError, MissingExtraError, OSError, MemoryError])
def test_an_error_that_is_no_documents_fault_ends_the_run_and_condemns_nobody(run, corpus, error):
    with pytest.raises(StateError if error is MemoryError else error, match=r"to blame|no memory left"):
        run(corpus(a=texts(45, at_25=error.__name__)))
    assert run.failed() == []
    assert len(run.rows()) == 20


def test_components_are_prepared_once_before_any_document(run, corpus, monkeypatch):
    calls = []
    opened = run.open()
    monkeypatch.setattr(opened.nlp.get_pipe("ontolink_retriever"), "prepare", lambda: calls.append(1))
    Worker(lambda: opened, run.job())
    assert calls == [1]


def test_a_killer_is_not_linked_after_another_batch_size(run, corpus):
    folder = corpus(a=texts(20))

    def die(open, job, chunks):
        journal = run.out / "journals" / f"{chunks[0].name}.jsonl"
        journal.parent.mkdir()
        journal.write_text('\n["begin", 5, 6]' * 3)
        yield from ()

    run(folder, engine=die)
    assert run(folder, batch_size=2).counts == Counter(documents=20, linked=19, failed=1)
    assert [line["row"] for line in run.failed()] == [5]
    assert 5 not in [row["row"] for row in run.rows()]


def test_what_an_unfinished_chunk_has_set_aside_does_not_stay(run, corpus):
    folder = corpus(a=texts(5))
    run(folder)
    (receipt,) = (run.out / "receipts").iterdir()
    receipt.unlink()
    (run.out / "failed").mkdir()
    (run.out / "failed" / f"{receipt.stem}.jsonl").write_text("{}\n")
    run(folder)
    assert run.failed() == []


def test_a_packed_document_that_kills_keeps_its_id_and_text(run, tmp_path):
    nlp = spacy.blank("en")
    docs = [nlp(text) for text in texts(3)]
    docs[1].user_data["id"] = "mine"
    path = tmp_path / "a.spacy"
    DocBin(store_user_data=True, docs=docs).to_disk(path)

    def die(open, job, chunks):
        journal = run.out / "journals" / f"{chunks[0].name}.jsonl"
        journal.parent.mkdir()
        journal.write_text('\n["begin", 1, 2]' * 3)
        yield from ()

    run(path, engine=die)
    run(path)
    (line,) = run.failed()
    assert (line["id"], line["text"], line["kind"]) == ("mine", docs[1].text, "Died")


def test_a_model_that_raises_is_asked_again(run, corpus, waits):
    with pytest.raises(LLMError):
        run(corpus(a=texts(5, at_2="unanswered")), retries=3)
    assert [wait for wait in waits if wait] == [1.0, 2.0, 4.0]


def test_a_batch_waits_for_the_server_of_its_model(run, corpus, waits):
    run.open = Model(run.open, down=2)
    assert run(corpus(a=texts(5))).counts == Counter(documents=5, linked=5)
    assert [wait for wait in waits if wait] == [1.0, 2.0]


def test_a_server_that_stays_away_ends_the_run(run, corpus, waits):
    folder = corpus(a=texts(45))
    run.open = Model(run.open, down=3)
    with pytest.raises(LLMError, match=r"answered none of 20 prompts.*run this again"):
        run(folder)
    assert run(folder).counts == Counter(documents=45, linked=45)


def test_a_prompt_that_is_never_answered_keeps_nobody(run, corpus, waits):
    run.open = Model(run.open, down=0, deaf="Number 3 ")
    assert run(corpus(a=texts(5))).counts == Counter(documents=5, linked=5, unanswered=1)


def test_a_chunk_that_kills_while_it_is_read_ends_the_run(run, corpus):
    folder = corpus(a=texts(5))

    def die(open, job, chunks):
        journal = run.out / "journals" / f"{chunks[0].name}.jsonl"
        journal.parent.mkdir()
        journal.write_text('\n["begin", -1, -1]' * 3)
        yield from ()

    run(folder, engine=die)
    with pytest.raises(StateError, match=r"rows 0 to 5: workers died 3 times while these were read"):
        run(folder)


def test_no_document_at_all(run, corpus):
    with pytest.raises(DataError, match="no document"):
        run(corpus(a=[]))
