import pytest
from naming import DEFINITIONS, Names, make_llm, make_ontology

from spacy_ontolink.errors import StateError
from spacy_ontolink.kb import KnowledgeBase
from spacy_ontolink.llms.cached import make_cached_llm
from spacy_ontolink.training.alias_store import AliasStore
from spacy_ontolink.training.aliases import settings_of
from spacy_ontolink.training.filling import AliasReport
from spacy_ontolink.training.filling import fill as fill_in
from spacy_ontolink.types import Entity


@pytest.fixture(scope="module")
def defined():
    return make_ontology()


@pytest.fixture
def llm():
    return make_llm()


def fill(path, kb, llm, **settings):
    settings = {"domain": "animals"} | settings
    store, report = AliasStore(path, settings_of(llm, **settings)), AliasReport()
    for _ in fill_in(store, report, kb, range(len(kb)), llm, batch_size=2, **settings):
        pass
    return store, report


def test_everything_is_counted(defined, llm, tmp_path):
    store, report = fill(tmp_path / "a.jsonl", defined, llm)
    assert report == AliasReport(
        entities=9, no_definition=2, failed=1, answered=6, no_alias=4, aliases=4,
        dropped={"name": 1, "neighbour": 2, "repeated": 1},
    )  # fmt: skip
    assert len(store) == 6 and len(list(store.aliases())) == 4


def test_a_run_asks_only_for_what_is_missing(defined, llm, tmp_path):
    path = tmp_path / "a.jsonl"
    fill(path, defined, llm)
    llm.prompts.clear()
    llm.answers["T:7"] = "walking speed"
    store, report = fill(path, defined, llm)
    assert llm.asked() == ["T:7"]  # what failed, but neither refusals nor empty answers
    assert (report.known, report.answered, report.failed, report.no_definition) == (6, 1, 0, 2)
    assert len(store) == 7


def test_a_killed_run_goes_on(defined, tmp_path):
    path = tmp_path / "a.jsonl"
    answers = dict.fromkeys(DEFINITIONS, "one name, another name")
    killed = Names(answers, fails_after=3)
    with pytest.raises(KeyboardInterrupt):
        fill(path, defined, killed)
    assert 0 < len(killed.prompts) == len(AliasStore(path)) < 7
    path.write_bytes(path.read_bytes() + b'{"entity": "T:6", "ali')  # and the disk was as quick as that
    again = Names(answers)
    fill(path, defined, again)
    assert sorted(killed.asked() + again.asked()) == sorted(set(DEFINITIONS) - {"T:8", "T:9"})

    whole = fill(tmp_path / "b.jsonl", defined, Names(answers))[0]
    assert path.read_bytes() == whole.path.read_bytes()


def test_another_model_or_prompt_is_not_mixed_in(defined, llm, tmp_path):
    path, own = tmp_path / "a.jsonl", tmp_path / "mine.txt"
    own.write_text("[user]\n$definition")
    fill(path, defined, llm)
    with pytest.raises(StateError, match="made with model 'names-1', but now it is 'names-2'"):
        fill(path, defined, Names({}, id="names-2"))
    for what, settings in [("prompt", {"prompt": str(own)}), ("domain", {"domain": "plants"}), ("seed", {"seed": 3})]:
        with pytest.raises(StateError, match=f"made with {what} "):
            fill(path, defined, llm, **settings)


def test_a_changed_definition_is_asked_again(defined, llm, tmp_path):
    path = tmp_path / "a.jsonl"
    fill(path, defined, llm)
    changed = KnowledgeBase.from_entities(
        [
            Entity("T:1", "body fat percentage", definition="Fat, whatever."),
            Entity("T:2", "milk amount", definition=DEFINITIONS["T:2"]),  # renamed
            Entity("T:5", "egg yield", definition=DEFINITIONS["T:5"]),
        ]
    )
    llm.prompts.clear()
    store, report = fill(path, changed, llm)
    assert [prompt.text.split("\n")[0] for prompt in llm.prompts] == [
        "Definition: Fat, whatever.", f"Definition: {DEFINITIONS['T:2']}"
    ]  # fmt: skip
    assert (report.known, report.answered) == (1, 2) and len(store) == 6
    assert [alias.text for alias in store.aliases() if alias.entity == "T:2"][:2] == ["dairy output", "Milk-yield"]


def test_a_cached_model_is_not_asked_twice(defined, llm, tmp_path):
    cached = make_cached_llm(llm, str(tmp_path / "cache.sqlite"))
    first = fill(tmp_path / "a.jsonl", defined, cached)[0]
    n_asked = len(llm.prompts)
    second = fill(tmp_path / "b.jsonl", defined, cached)[0]
    assert len(llm.prompts) == n_asked + 1  # the failure
    assert list(first) == list(second)
