import pytest

from spacy_ontolink.training.corpus import CorpusDocument, CorpusMention, MentionFile

TEXT = "Fat rose. The milk 🐄 yield fell; \u2029yield rose."


def mention(start, end, sentence=(0, 9), **more):
    first, last = sentence
    return CorpusMention("a", start, end, TEXT[start:end], first, TEXT[first:last], **more)


def document(*mentions):
    return CorpusDocument("a", TEXT, mentions)


@pytest.fixture
def file(tmp_path):
    with MentionFile(tmp_path) as opened:
        yield opened


def test_what_is_written_is_read_again(file):
    documents = [
        document(mention(0, 3), mention(14, 26, (10, 35), label="TRAIT", gold=("T:1", "T:2"))),
        document(mention(0, 3)),
    ]
    file.write(documents[:1])
    file.write(documents[1:])
    assert list(file) == documents
    assert (len(file), file.documents, file.with_gold, file.blank) == (3, 2, 1, 0)
    assert file.texts == {"Fat": 2, "milk 🐄 yield": 1}


def test_two_readings_side_by_side_and_writing_after_reading(file):
    file.write([document(mention(0, 3)), document(mention(4, 8))])
    one, other = iter(file), iter(file)
    assert [next(one), next(other), next(other), next(one)] == [
        document(mention(0, 3)),
        document(mention(0, 3)),
        document(mention(4, 8)),
        document(mention(4, 8)),
    ]
    next(iter(file))
    file.write([document(mention(0, 3))])
    assert len(list(file)) == 3


def test_blank_mentions_and_empty_documents_are_counted_only(file):
    blank = CorpusMention("a", 33, 34, "\u2029", 10, TEXT[10:])
    file.write([document(blank), document(), document(blank, mention(0, 3))])
    assert (file.documents, file.blank, len(file)) == (3, 2, 1)
    assert list(file) == [document(mention(0, 3))]


def test_the_folder_stays_empty(tmp_path):
    with MentionFile(tmp_path) as file:
        file.write([document(mention(0, 3))])
        assert not list(tmp_path.iterdir())
