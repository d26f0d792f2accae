import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_ontolink.prompts.name_lists import read_names

DEFINITION = "The share of body mass that is fat, measured in a live animal."
TWO = ["body fat content", "BFP"]


def read(answer, **settings):
    return read_names(answer, name="body fat percentage", definition=DEFINITION, id="T:1", **settings)


@pytest.mark.parametrize(
    "answer",
    [
        "body fat content, BFP", "body fat content,BFP", " body fat content ,  BFP .\n", "body fat content; BFP",
        "body fat content | BFP", "body fat content\nBFP", "- body fat content\n- BFP", "1. body fat content\n2) BFP",
        "Names: body fat content, BFP", "**Names:** body fat content, BFP", "**body fat content**, **BFP**",
        "The names are body fat content, and BFP.", "Sure! Here are the names:\nbody fat content, BFP",
        '"body fat content", "BFP"', "“body fat content”, “BFP”", "['body fat content', 'BFP']",
        "```\nbody fat content, BFP\n```", "```text\nbody fat content, BFP", "body fat content、BFP",
        '```json\n["body fat content", "BFP"]\n```', '{"names": ["body fat content", "BFP"]}',
        '{"names": "body fat content, BFP"}', '[{"name": "body fat content"}, {"name": "BFP"}]',
        '{"name": "body fat content"}\n{"name": "BFP"}', '{"names": ["body fat content", "BFP", "share of f',
        '{"names": "body fat content, BFP", "why": "becau', '["body fat content",\n"BFP",',
        'Here is the JSON: {"names": ["body fat content", "BFP"]} as asked',
        "<think>BF, or fat? hm, fat, mass</think>body fat content, BFP",
        "body fat content, BFP <think>was that, perhaps, wr", "body fat content, BFP<|im_end|>",
        "body fat content (share of fat), BFP (abbreviation)".replace(" (share of fat)", ""),
        "- body fat content: the share of fat\n- BFP - an abbreviation of it",
        "body fat content, BFP\n\nExplanation: these are its names.", "body fat content, BFP, body (fat",
    ],
)  # fmt: skip
def test_the_names_are_found(answer):
    names = read(answer).names
    assert names[:2] == TWO and names[2:] in ([], ["body"])


@pytest.mark.parametrize(
    "answer",
    [
        "", " \n", "null", "none", "N/A", "[]", "{}", "{", '{"names": []}', '{"names": null}', '{"n": 3}', "42",
        "1, 2, 3", "<think>", "<think>body fat, adiposity", "I'm sorry, I cannot help.",
        "As an AI language model, I can't",
        DEFINITION, f'"{DEFINITION}"', f'{{"definition": "{DEFINITION}"}}', "the share of body mass that is fat",
        "T:1", "HP:0001250, MESH:D003920", "body fat percentage, Body-fat percentage, BODY FAT PERCENTAGE.",
        "This concept is called body fat, which is a measure, and it can be used in cows.",
        "Any characteristic that is related to fat, quantity, or its volume.", "word " * 13, "x" * 500, "\U0001f600",
    ],
)  # fmt: skip
def test_an_answer_of_no_use_gives_none(answer):
    assert read(answer).names == []


def test_what_is_dropped_is_counted_by_reason():
    answer = "fat share, 12, T:1, Fat-share, body  fat percentage, HP:0001250, " + "very " * 12 + "long, it is fat"
    names = read(answer)
    assert names.names == ["fat share"]
    assert names.dropped == {"useless": 1, "id": 2, "repeated": 1, "name": 1, "long": 1, "prose": 1}
    assert read(DEFINITION).dropped == {"definition": 1}
    assert read("null").dropped == {"useless": 1}


def test_the_limit_of_words():
    assert read("one two three, four", max_words=3).names == ["one two three", "four"]
    assert read("four, five, one two three", max_words=2).names == ["four", "five"]
    assert read("one two three, four", max_words=2).names == []  # as much prose as names


@pytest.mark.parametrize(
    "name",
    [
        "2,3-dihydroxybenzoic acid", "N,N-dimethylaniline", "1,25-dihydroxyvitamin D3", "Alzheimer's disease", "体脂率",
        "2-[4-(dimethylamino)phenyl]ethanol", "процент жира", "Körperfettanteil", "May-Hegglin anomaly",
        "angiotensin I amount", "drug-induced liver injury (acute, severe)", "milk fat/protein ratio", "p53", "A-T",
        "pain in the lower back", "lack of energy and interest",
    ],
)  # fmt: skip
def test_a_plain_name_stays_as_it_is(name):
    assert read(name).names == [name]
    assert read(f"fat share, {name}, BFP").names == ["fat share", name, "BFP"]


def test_commas_in_quotes_and_items_do_not_separate():
    names = ["diabetes mellitus, type 2", "NIDDM"]
    assert read('"diabetes mellitus, type 2", "NIDDM"').names == names
    assert read('["diabetes mellitus, type 2", "NIDDM"]').names == names
    assert read("1. diabetes mellitus, type 2\n2. NIDDM").names == names


def test_a_very_long_list_is_read_in_part():
    names = read(", ".join(f"name number {place}" for place in range(3000))).names
    assert names[:2] == ["name number 0", "name number 1"] and 100 < len(names) < 300


def test_lone_surrogates_are_replaced():
    assert read("fat \ud83d share").names == ["fat \ufffd share"]


PIECES = [
    "<think>",
    "</think>",
    "```",
    "{",
    '"',
    "[",
    "]",
    ",",
    "name",
    "is",
    ":",
    "**",
    "BF",
    "\n",
    "1.",
    "(",
    ")",
    "'",
]


@given(st.one_of(st.text(max_size=80), st.lists(st.sampled_from(PIECES)).map("".join)))
def test_any_text_gives_short_distinct_lines(answer):
    names = read(answer).names
    assert all("\n" not in name and 0 < len(name.split()) <= 12 for name in names)
    assert len({name.casefold() for name in names}) == len(names)


@pytest.mark.parametrize("piece", [*PIECES, "a, ", '["', "('", "the name is ", "«", "a(", '{"a":'])
def test_long_answers_take_no_time(piece):
    read(piece * 20_000)
