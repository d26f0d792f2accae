import numpy as np
import pytest

from spacy_ontolink.errors import ConfigError
from spacy_ontolink.models.marked import MARKERS, EntityLine, MarkedTokenizer, Row, describe, in_buckets
from spacy_ontolink.types import Mention


class Words:
    """A tokenizer of words; odd numbers are ids of words, and nothing else about it matters."""

    is_fast, name_or_path, pad_token_id = True, "words", 0
    model_input_names = ("input_ids", "token_type_ids", "attention_mask")

    def __init__(self, markers=True):
        self.known = dict.fromkeys(["[PAD]", "[CLS]", "[SEP]", *(MARKERS if markers else ())], 0)
        self.known = {token: 2 * number for number, token in enumerate(self.known)}
        self.words = {}

    def get_vocab(self):
        return self.known

    def id_of(self, word):
        return self.words.setdefault(word, 2 * len(self.words) + 1)

    def __call__(self, text, second=None, add_special_tokens=True, split_special_tokens=False, **_):
        if add_special_tokens:
            return Example(second is not None)
        assert split_special_tokens
        return {"input_ids": [[self.id_of(word) for word in line.split()] for line in text]}

    def decode(self, ids):
        names = {number: token for token, number in [*self.known.items(), *self.words.items()]}
        return " ".join(names[number] for number in ids)


class Example(dict):
    """``[CLS] a [SEP]``, or ``[CLS] a [SEP] a [SEP]``."""

    def __init__(self, pair):
        super().__init__(input_ids=[2, 1, 4, 1, 4] if pair else [2, 1, 4],
                         token_type_ids=[0, 0, 0, 1, 1] if pair else [0, 0, 0])  # fmt: skip
        self.texts = [None, 0, None, 1, None] if pair else [None, 0, None]

    def sequence_ids(self, number):
        return self.texts


def window(text, left, right, room, markers=True):
    tokenizer = Words(markers)
    marked = MarkedTokenizer(tokenizer, room + 2, 20, pair=False)
    (ids,) = marked.mentions([Mention(text, left, right)])
    return tokenizer.decode(ids)


@pytest.mark.parametrize(
    ("left", "right", "room", "expected"),
    [
        ("", "", 10, "[Ms] m [Me]"),
        ("a b c ", " d e f", 9, "a b c [Ms] m [Me] d e f"),
        ("a b c ", " d e f", 7, "b c [Ms] m [Me] d e"),
        ("a b c ", " d e f", 8, "b c [Ms] m [Me] d e f"),
        ("a b c d e ", " f", 8, "b c d e [Ms] m [Me] f"),
        ("a ", " b c d e f", 8, "a [Ms] m [Me] b c d e"),
        ("a b c ", " d e f", 3, "[Ms] m [Me]"),
    ],
)
def test_a_window_is_centred_and_room_left_on_one_side_goes_to_the_other(left, right, room, expected):
    assert window("m", left, right, room) == expected


def test_a_mention_is_cut_only_when_it_alone_is_too_long():
    assert window("m n o p", "a ", " b", 6) == "[Ms] m n o p [Me]"
    assert window("m n o p q", "a ", " b", 6) == "[Ms] m n o p [Me]"


def test_a_very_long_context_is_cut_before_it_is_tokenised():
    long = " ".join(f"w{number}" for number in range(100_000))
    assert window("m", f"{long} ", f" {long}", 7) == "w99998 w99999 [Ms] m [Me] w0 w1"


def test_without_markers_the_mention_is_named_first():
    assert window("m", "a ", " b", 10, markers=False) == "m : a m b"
    assert window("m", "a b ", " c d", 6, markers=False) == "m : b m c d"
    assert window("m", "", "", 6, markers=False) == "m"
    assert window("m n o", "a ", " b", 6, markers=False) == "m n o"  # no room to say it twice


def entity(name, description, room, markers=True):
    tokenizer = Words(markers)
    marked = MarkedTokenizer(tokenizer, 20, room + 2, pair=False)
    return tokenizer.decode(marked.entities([EntityLine(name, description)])[0])


def test_an_entity_is_its_name_and_as_much_of_its_description_as_there_is_room_for():
    assert entity("a b", "c d e", 10) == "a b [ENT] c d e"
    assert entity("a b", "c d e", 5) == "a b [ENT] c d"
    assert entity("a b c d", "e", 4) == "a b c [ENT]"
    assert entity("a", "", 5) == "a [ENT]"
    assert entity("a", "b", 5, markers=False) == "a : b"
    assert entity("a", "", 5, markers=False) == "a"


def test_the_description_is_the_definition_or_the_synonyms_or_the_parents():
    assert describe("d", ["s"], ["p"]) == "d"
    assert describe("", ["s", "t"], ["p"]) == "s; t"
    assert describe("", [], ["p", "q"]) == "p; q"
    assert describe("", (), ()) == ""


def test_pairs_count_their_special_tokens_and_are_padded():
    marked = MarkedTokenizer(Words(), 8, 6, pair=True)
    (first,) = marked.mentions([Mention("m", "a b c d ", " e f g h")])
    (second,) = marked.entities([EntityLine("n", "o p q r s")])
    row = marked.row(first, second)
    assert len(first) + 2 == 8 and len(second) + 1 == 6
    assert (row.ids[0], row.ids[7], row.ids[-1]) == (2, 4, 4)
    assert row.types == (0,) * 8 + (1,) * 6
    arrays = marked.pad([row, Row((2, 4), (0, 0))])
    assert arrays["input_ids"].tolist()[1] == [2, 4] + [0] * 12
    assert arrays["attention_mask"].sum(1).tolist() == [14, 2]
    assert arrays["token_type_ids"][0].tolist() == list(row.types)


def test_buckets_hold_distinct_rows_of_like_length():
    rows = [Row((1,) * length, (0,) * length) for length in (5, 1, 3, 1, 4)]
    batches = []

    def compute(some):
        batches.append([len(row.ids) for row in some])
        return np.array([len(row.ids) for row in some], np.float32)

    assert in_buckets(rows, 2, compute, ()).tolist() == [5, 1, 3, 1, 4]
    assert batches == [[1, 3], [4, 5]]
    assert in_buckets([], 2, compute, (7,)).shape == (0, 7)


def test_a_slow_tokenizer_is_refused():
    slow = Words()
    slow.is_fast = False
    with pytest.raises(ConfigError, match="words cannot be loaded: its tokenizer has no fast form"):
        MarkedTokenizer(slow, 20, 20, pair=False)
