import json
from types import SimpleNamespace

import pytest

from spacy_ontolink.cli.pair_aliases import Meter, _encoder, _mentions
from spacy_ontolink.encoders.lexical import LexicalEncoder
from spacy_ontolink.training.corpus import CorpusDocument, CorpusMention, MentionFile
from spacy_ontolink.types import Mention, Usage

TEXT = "A cow. The milk yield fell. Milk yield rose. The milk yield fell."


@pytest.mark.parametrize(
    ("uses_context", "expected"),
    [
        (False, [Mention("milk yield"), Mention("milk yield"), Mention("Milk yield")]),
        (True, [Mention("milk yield", "The ", " fell."), Mention("Milk yield", "", " rose."),
                Mention("milk yield", "The ", " fell.")]),
    ],
)  # fmt: skip
def test_the_retriever_reads_sentences_if_it_can(uses_context, expected):
    places = [(11, 7, 27), (28, 28, 44), (49, 45, 65)]
    mentions = tuple(CorpusMention("a", s, s + 10, TEXT[s : s + 10], f, TEXT[f:e]) for s, f, e in places)
    space = SimpleNamespace(encoder=SimpleNamespace(uses_context=uses_context))
    with MentionFile() as found:
        found.write([CorpusDocument("a", TEXT, mentions)])
        assert list(_mentions(found, space)) == expected


def test_usage_adds_up_over_runs_of_one_model(tmp_path):
    path, llm = tmp_path / "usage.json", SimpleNamespace(id="m", usage=Usage())
    meter = Meter(llm, path)
    meter.note()
    assert not path.exists()  # nothing was asked
    llm.usage = Usage(2, 1, 0, 20, 4)
    meter.note()
    again = Meter(SimpleNamespace(id="m", usage=Usage(1, 0, 3, 10, 2)), path)
    assert again.total() == Usage(3, 1, 3, 30, 6)
    again.note()
    assert json.loads(path.read_text("utf-8"))["usage"] == again.total()._asdict()
    assert Meter(SimpleNamespace(id="other", usage=Usage()), path).total() == Usage()


def test_encoders_that_judge(traits):
    own = object()
    space = SimpleNamespace(encoder=own, kb=traits)
    assert _encoder(None, space) is own
    lexical = _encoder("lexical", space)
    assert isinstance(lexical, LexicalEncoder) and len(lexical.encode_mentions([Mention("milk")])) == 1


@pytest.mark.parametrize(
    "content", ["", "{oops", "[1]", "{}", '{"model": "m", "usage": 3}', '{"model": "m", "usage": {"calls": "2"}}',
                '{"model": "m", "usage": {"walls": 2}}', '{"model": "m", "usage": {"calls": -2}}'],
)  # fmt: skip
def test_a_damaged_tally_begins_anew(tmp_path, caplog, content):
    path = tmp_path / "usage.json"
    path.write_text(content, "utf-8")
    meter = Meter(SimpleNamespace(id="m", usage=Usage(1, 0, 0, 10, 2)), path)
    assert meter.total() == Usage(1, 0, 0, 10, 2)
    (record,) = caplog.records
    assert "usage.json is damaged" in record.message and "ontolink build" not in record.message
    meter.note()
    assert json.loads(path.read_text("utf-8"))["usage"]["calls"] == 1
