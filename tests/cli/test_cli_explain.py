import pytest
import spacy

from spacy_ontolink.cli.explain import parse_marks
from spacy_ontolink.errors import DataError


@pytest.fixture(scope="session")
def staged(pipeline, tmp_path_factory):
    """The saved pipeline with stages after its retriever."""
    nlp = spacy.load(pipeline)
    nlp.add_pipe("ontolink_surface_rerank")
    nlp.add_pipe("ontolink_fuse", config={"weights": {"retriever": 0.5, "surface": 0.5, "context": 0.0}})
    folder = tmp_path_factory.mktemp("staged") / "staged"
    nlp.to_disk(folder)
    return folder


@pytest.mark.parametrize(
    ("text", "clean", "mentions"),
    [
        ("A [[high fat]] milk.", "A high fat milk.", ["high fat"]),
        ("[[one]] and [[ two \n]]", "one and  two \n", ["one", "two"]),
        ("[[beta[1]]] a]b [c]", "beta[1] a]b [c]", ["beta[1]"]),
        ("[[[p53]]]", "[p53]", ["[p53]"]),
        ("[[é😀]]x", "é😀x", ["é😀"]),
    ],
)
def test_marks_are_taken_out(text, clean, mentions):
    found, places = parse_marks(text)
    assert found == clean
    assert [found[start:end] for start, end in places] == mentions


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("no mark", "No mention is marked"),
        ("", "No mention is marked"),
        ("a [[b", "no ']]' after it"),
        ("a b]]", "Character 4 of the text: ']]' has no '[['"),
        ("[[a [[b]]", "Character 5 of the text: '[[' follows"),
        ("[[a]] [[ ]]", "Character 10 of the text: nothing stands between"),
    ],
)
def test_marks_that_make_no_sense_are_refused(refused, pipeline, text, words):
    with pytest.raises(DataError, match=r"[Mm]ark"):
        parse_marks(text)
    assert words in refused("explain", pipeline, text)


def test_a_table_and_why(ontolink, staged):
    result = ontolink("explain", staged, "The [[percentage yields]] rose.", "-k", 2)
    assert result.code == 0
    assert result.err == ""
    for part in (
        "The [[percentage yields]] rose.", "T:1  body fat percentage", "EXACT: fat percentage", "parents: trait",
        "retriever", "surface", "fused", "× 0.50", "z +", "leads T:", "in the fused score (",
    ):  # fmt: skip
        assert part in result.out


def test_several_mentions_one_after_another(ontolink, staged):
    out = ontolink("explain", staged, "[[milk yield]] and [[body fat percentage]]").out
    assert out.index("[[milk yield]] and body") < out.index("is the name of T:2") < out.index("and [[body fat")


def test_a_page(ontolink, staged, tmp_path):
    page = tmp_path / "pages" / "why.html"
    result = ontolink("explain", staged, "The [[milk yield]] & [[≈≈≈]].", "--output", page, "--links", "obo")
    assert "\n2 mentions; " in result.err and result.err.rstrip().endswith(f" s -> {page}")
    assert result.code == 0
    source = page.read_text("utf-8")
    assert 'href="http://purl.obolibrary.org/obo/T_2"' in source
    assert "<mark>milk yield</mark> &amp; ≈≈≈." in source
    assert "staged: ontolink_retriever → ontolink_surface_rerank → ontolink_fuse" in source
    assert "NIL: no entity" in result.out


def test_a_page_never_replaces_a_folder(refused, staged, tmp_path):
    (tmp_path / "kept").mkdir()
    assert "is a folder" in refused("explain", staged, "[[milk]]", "-o", tmp_path / "kept")
    assert (tmp_path / "kept").is_dir()
    assert "{id}" in refused("explain", staged, "[[milk]]", "--links", "javascript:{id}")


def test_a_mention_within_a_token_is_widened(ontolink, pipeline):
    result = ontolink("explain", pipeline, "The [[milk]]ing of cows")
    assert "'milk' was widened to whole tokens: 'milking'" in result.err
    assert "The [[milking]] of cows" in result.out


def test_more_candidates_do_not_change_the_pool(ontolink, toy, tmp_path):
    nlp = spacy.blank("en")
    nlp.add_pipe("ontolink_retriever", config={"ontology": str(toy), "k": 2})
    nlp.to_disk(tmp_path / "two")
    out = ontolink("explain", tmp_path / "two", "[[yield of milk]]", "-k", 50).out
    assert " 2   T:" in out
    assert " 3   T:" not in out


def test_labels_decide(ontolink, toy, tmp_path):
    nlp = spacy.blank("en")
    nlp.add_pipe("ontolink_retriever", config={"ontology": str(toy), "labels": ["TRAIT"], "spans_key": "sc"})
    nlp.to_disk(tmp_path / "labels")
    assert "Not looked up" in ontolink("explain", tmp_path / "labels", "[[milk yield]]", "--label", "AGE").out
    assert "T:2" in ontolink("explain", tmp_path / "labels", "[[milk yield]]", "--label", "TRAIT").out
    assert "T:2" in ontolink("explain", tmp_path / "labels", "[[milk yield]]").out  # one that it links


def test_one_of_several_retrievers(ontolink, refused, two_retrievers):
    assert "--component: ontolink_retriever, second" in refused("explain", two_retrievers, "[[fat percentage]]")
    for component, id in (("ontolink_retriever", "T:1"), ("second", "X:1")):
        out = ontolink("explain", two_retrievers, "[[fat percentage]]", "--component", component).out
        assert f"synonym of {id}" in out or f"name of {id}" in out


def test_bytes_that_are_no_text(ontolink, pipeline):
    result = ontolink("explain", pipeline, "[[milk \udcff yield]]")
    assert result.code == 0
    assert "T:2" in result.out
