import json

import pytest

from spacy_ontolink.errors import DataError
from spacy_ontolink.training.aliases import Alias
from spacy_ontolink.training.corpus import CorpusDocument, CorpusMention
from spacy_ontolink.training.pairs import SETTINGS, SOURCES, Matcher, Pair, make_pairs, read_pairs, to_record

EVERYTHING = frozenset(SOURCES)
ALIASES = [
    Alias("T:2", "Lactation  Output", "m", "p", "h1"),
    Alias("T:2", "milk-yield", "m", "p", "h1"),  # its own name
    Alias("T:5", "lactation output", "m", "p", "h2"),
    Alias("T:5", " ", "m", "p", "h2"),
    Alias("T:1", "bf", "m", "p", "h3"),  # its own synonym
]


def document(*texts, id="a"):
    text, mentions = "", []
    for mention in texts:
        mentions.append(CorpusMention(id, len(text), len(text) + len(mention), mention, 0, "?"))
        text += mention + " "
    return CorpusDocument(id, text, tuple(mentions))


def found(matcher, text):
    return [(match.entity, match.source) for match in matcher([text])[0]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("MILK\n yield", [("T:2", "p1")]),
        ("Beta-carotene level", [("T:4", "p1")]),
        ("fat percentage", [("T:1", "synonym")]),
        ("BF", [("X:9", "synonym"), ("T:1", "synonym")]),  # each once, though an alias fits, too; EXACT not first
        ("lactation output", [("T:2", "p2"), ("T:5", "p2")]),
        ("milk", []),
        (" ", []),
        ("", []),
    ],
)
def test_names_synonyms_and_aliases(traits, text, expected):
    assert sorted(found(Matcher(traits, EVERYTHING, ALIASES), text)) == sorted(expected)


def test_a_match_says_what_it_equals(traits):
    name, synonym, alias = (
        matches[0]
        for matches in Matcher(traits, EVERYTHING, ALIASES)(["milk-YIELD", "number of  eggs", "lactation output"])
    )
    assert (name.matched, name.scope, name.alias) == ("milk yield", "NAME", None)
    assert (synonym.matched, synonym.scope, synonym.alias) == ("number of eggs", "NARROW", None)
    assert (alias.matched, alias.scope, alias.alias) == ("Lactation  Output", "ALIAS", ALIASES[0])


@pytest.mark.parametrize(
    ("sources", "expected"),
    [
        ({"p1"}, {"milk yield": ["p1"], "BF": [], "lactation output": []}),
        ({"synonym"}, {"milk yield": [], "BF": ["synonym"] * 2, "lactation output": []}),
        ({"p2"}, {"milk yield": ["p2"], "BF": ["p2"], "lactation output": ["p2"] * 2}),
        ({"p1", "p2"}, {"milk yield": ["p1"], "BF": ["p2"], "lactation output": ["p2"] * 2}),
        (set(), {"milk yield": [], "BF": [], "lactation output": []}),
    ],
)
def test_sources_may_be_left_out(traits, sources, expected):
    matcher = Matcher(traits, sources, ALIASES)
    assert {text: [source for _, source in found(matcher, text)] for text in expected} == expected


def test_settings_are_the_papers():
    assert list(SETTINGS) == ["none", "gen-unfiltered", "gen", "synonym", "gen+synonym", "p1+synonym", "p2+synonym"]
    assert {name for name, recipe in SETTINGS.items() if recipe.generates} == {
        "gen-unfiltered", "gen", "gen+synonym", "p2+synonym"}  # fmt: skip
    assert [name for name, recipe in SETTINGS.items() if not recipe.filtered] == ["gen-unfiltered"]


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("keep", [("T:2", 1, 1.0), ("T:1", 2, 1.0), ("X:9", 2, 1.0)]),
        ("drop", [("T:2", 1, 1.0)]),
        ("split", [("T:2", 1, 1.0), ("T:1", 2, 0.5), ("X:9", 2, 0.5)]),
    ],
)
def test_a_mention_that_fits_several_entities(traits, rule, expected):
    matcher = Matcher(traits, {"p1", "synonym"})
    (paired,) = make_pairs([document("milk yield", "BF", "milk")], matcher, "p1+synonym", rule)
    assert sorted([(pair.entity, pair.fits, pair.weight) for pair in paired.pairs], key=lambda p: p[1:]) == expected
    assert [len(fit) for fit in paired.fits] == [1, 2, 0]
    assert {pair.setting for pair in paired.pairs} == {"p1+synonym"}


def test_a_mention_that_fits_one_entity_twice_is_not_ambiguous(traits):
    (paired,) = make_pairs([document("milk yield")], Matcher(traits, EVERYTHING, ALIASES), "gen", "drop")
    assert [(pair.source, pair.fits) for pair in paired.pairs] == [("p1", 1)]


def test_batches_change_nothing_and_documents_stream(traits, monkeypatch):
    matcher = Matcher(traits, EVERYTHING, ALIASES)
    documents = [document(*texts, id=str(n)) for n, texts in enumerate([["BF"], ["egg yield", "x"], [], ["BF"]])]
    whole = list(make_pairs(documents, matcher, "gen"))
    monkeypatch.setattr("spacy_ontolink.training.pairs.BATCH", 1)
    taken = []
    stream = make_pairs((taken.append(one) or one for one in documents), matcher, "gen")
    assert next(stream) == whole[0] and len(taken) == 1
    assert list(stream) == whole[1:]
    assert [paired.document for paired in whole] == documents


def test_records_are_read_again(tmp_path):
    mention = CorpusMention("a", 4, 14, "milk yield", 0, "The milk yield fell.", "TRAIT", ("T:2", "T:9"))
    pairs = [
        Pair(mention, "T:2", "p1", None, "gen", "milk yield", "NAME"),
        Pair(mention, "T:5", "p2", ALIASES[2], "gen", "lactation output", "ALIAS", 2, 0.5),
    ]
    row = {"id": "a", "text": "The milk yield fell.", "mentions": [to_record(pair) for pair in pairs]}
    (tmp_path / "pairs.jsonl").write_text(json.dumps(row) + "\n", "utf-8")
    assert list(read_pairs(tmp_path / "pairs.jsonl")) == pairs
    assert [record["kb_ids"] for record in row["mentions"]] == [["T:2"], ["T:5"]]
    assert "alias" not in row["mentions"][0] and row["mentions"][1]["alias"]["answer"] == "h2"


@pytest.mark.parametrize(
    "line", [b"text", b"[]", b"{}", b'{"id": "a", "text": "x", "mentions": [{"start": 0}]}', b"\xff\xfe", b"[" * 10**5]
)
def test_files_without_pairs_are_refused(tmp_path, line):
    path = tmp_path / "pairs.jsonl"
    path.write_bytes(b'{"id": "a", "text": "x", "mentions": []}\n' + line + b"\n")
    with pytest.raises(DataError, match=r"pairs\.jsonl, line 2: no pairs"):
        list(read_pairs(path))
    with pytest.raises(DataError, match="No such input file"):
        list(read_pairs(tmp_path / "other.jsonl"))
