import json

import pytest

from spacy_ontolink.bulk.journal import Journal

ROWS = list(range(10))


def die(path, start, stop, times=1, retries=1):
    """Begin rows and never end them, as a process that is killed does."""
    for _ in range(times):
        journal = Journal(path, retries)
        journal._write("begin", start, stop)


def test_rows_that_were_ended_are_no_suspects(tmp_path):
    journal = Journal(tmp_path / "j", 0)
    with journal.working_on(0, 4):
        pass
    with pytest.raises(ValueError), journal.working_on(4, 8):
        raise ValueError
    again = Journal(tmp_path / "j", 0)
    assert again.deaths(0, 4) == again.deaths(4, 8) == 0
    assert again.batches(ROWS, 4) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]


def test_a_batch_that_killed_comes_first_and_then_one_by_one(tmp_path):
    die(tmp_path / "j", 4, 8)
    assert Journal(tmp_path / "j", 1).batches(ROWS, 4) == [[4, 5, 6, 7], [0, 1, 2, 3], [8, 9]]
    die(tmp_path / "j", 4, 8)
    journal = Journal(tmp_path / "j", 1)
    assert journal.deaths(4, 8) == 2
    assert journal.batches(ROWS, 4) == [[4], [5], [6], [7], [0, 1, 2, 3], [8, 9]]
    assert journal.killers(ROWS) == set()


def test_a_document_is_a_killer_only_if_it_killed_alone(tmp_path):
    die(tmp_path / "j", 4, 8, times=5)
    die(tmp_path / "j", 5, 6, times=1)
    journal = Journal(tmp_path / "j", 1)
    assert journal.killers(ROWS) == set()
    assert journal.batches(ROWS, 4)[0] == [5]  # the likeliest first
    die(tmp_path / "j", 5, 6, times=1)
    journal = Journal(tmp_path / "j", 1)
    assert journal.killers(ROWS) == {5}
    assert journal.batches(ROWS, 4) == [[4], [6], [7], [0, 1, 2, 3], [8, 9]]


def test_smaller_batches_keep_what_is_known(tmp_path):
    die(tmp_path / "j", 0, 8, times=2)
    assert Journal(tmp_path / "j", 1).batches(ROWS, 4) == [[n] for n in range(8)] + [[8, 9]]


def test_a_line_that_was_cut_spoils_no_other(tmp_path):
    die(tmp_path / "j", 0, 4)
    with (tmp_path / "j").open("a") as file:
        file.write("\n" + json.dumps(["begin", 4, 8])[:7])
    die(tmp_path / "j", 0, 4)
    journal = Journal(tmp_path / "j", 1)
    assert (journal.deaths(0, 4), journal.deaths(4, 8)) == (2, 0)


def test_close_forgets(tmp_path):
    die(tmp_path / "j", 0, 4)
    Journal(tmp_path / "j", 1).close()
    assert Journal(tmp_path / "j", 1).deaths(0, 4) == 0
