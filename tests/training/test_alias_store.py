import json

import pytest

from spacy_ontolink.errors import DataError, StateError
from spacy_ontolink.training.alias_filter import Judged
from spacy_ontolink.training.alias_store import AliasStore, read_aliases, write_aliases
from spacy_ontolink.training.aliases import Alias, Generated, Settings, answer_hash

SETTINGS = Settings("model-1", "prompt-1", "animals", 0, 12, 20)
TWO = ("fat content", "体脂率")


def generated(id, texts=TWO, raw="fat content, 体脂率", source="s1"):
    aliases = tuple(Alias(id, text, "model-1", "prompt-1", answer_hash(raw)) for text in texts)
    return Generated(id, aliases, "" if aliases else "no alias", {"name": 1}, raw, source)


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "folder" / "aliases.jsonl"
    AliasStore(path, SETTINGS).append([generated("T:1"), generated("T:2", (), "")])
    return path


def test_a_store_keeps_what_came(path):
    store = AliasStore(path)
    assert store.settings == SETTINGS and len(store) == 2 and "T:1" in store and "T:3" not in store
    assert list(store) == [generated("T:1"), generated("T:2", (), "")]
    assert list(store.aliases()) == list(generated("T:1").aliases)
    assert store.sources == {"T:1": "s1", "T:2": "s1"}


def test_nothing_is_kept_of_what_has_no_answer(tmp_path):
    store = AliasStore(tmp_path / "new.jsonl", SETTINGS)
    store.append([Generated("T:1", skipped="no answer"), Generated("T:2", skipped="no definition")])
    assert not store.path.exists() and list(store) == [] and len(store) == 0


def test_it_grows_and_the_last_answer_counts(path):
    store = AliasStore(path, SETTINGS)
    store.append([generated("T:3")])
    store.append([generated("T:1", ("BF",), "BF", "s2")])
    for opened in (store, AliasStore(path)):
        assert [item.entity for item in opened] == ["T:2", "T:3", "T:1"]
        assert [alias.text for alias in opened.aliases()] == [*TWO, "BF"] and opened.sources["T:1"] == "s2"


def test_every_cut_of_the_file_can_be_continued(path):
    whole = path.read_bytes()
    for length in range(len(whole) + 1):
        path.write_bytes(whole[:length])
        store = AliasStore(path, SETTINGS)
        n_whole = max(whole[:length].count(b"\n") - 1, 0)
        assert [item.entity for item in store] == ["T:1", "T:2"][:n_whole]
        store.append([generated("T:9")])
        store.append([generated("T:8")])
        for opened in (store, AliasStore(path)):
            assert [item.entity for item in opened] == [*["T:1", "T:2"][:n_whole], "T:9", "T:8"]


@pytest.mark.parametrize(
    ("field", "value"),
    [("model", "model-2"), ("prompt", "prompt-2"), ("domain", "plants"), ("seed", 1), ("max_words", 3)],
)
def test_answers_of_two_kinds_are_not_mixed(path, field, value):
    before = path.read_bytes()
    with pytest.raises(StateError, match=f"made with {field} .*but now it is {value!r}"):
        AliasStore(path, SETTINGS._replace(**{field: value}))
    assert path.read_bytes() == before


def test_two_runs_do_not_overwrite_each_other(path):
    first, second = AliasStore(path, SETTINGS), AliasStore(path, SETTINGS)
    first.append([generated("T:3")])
    with pytest.raises(StateError, match="changed by another run"):
        second.append([generated("T:4")])
    assert [item.entity for item in AliasStore(path)] == ["T:1", "T:2", "T:3"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no store"), (b"{}\n", "no store"), (b"[]\n", "no store"), (b'{"format": "x"}\n', "no store"),
        (b"\xff\n", "no store"),
    ],
)  # fmt: skip
def test_another_file_is_left_alone(tmp_path, content, message):
    path = tmp_path / "x.jsonl"
    path.write_bytes(content)
    with pytest.raises((StateError, DataError), match=message):
        AliasStore(path)
    assert path.read_bytes() == content


def test_damage_is_named_with_its_line(path):
    with path.open("ab") as file:
        file.write(b'{"entity": "T:3"}\n')
    with pytest.raises(StateError, match=r"line 4: no 'aliases' in it"):
        AliasStore(path)
    path.write_bytes(path.read_bytes().replace(b'{"entity": "T:3"}', b'{"entity": '))
    with pytest.raises(StateError, match=r"line 4: "):
        AliasStore(path)
    with pytest.raises(DataError, match="No such input file"):
        AliasStore(path.with_name("none"))


def test_lists_of_aliases(tmp_path):
    path = tmp_path / "list.jsonl"
    alias = Alias("T:1", "fat \ud83d content", "m", "p", "a")
    items = [alias, Judged(alias, 0.5, -1.0, "", False, "anchor"), Judged(alias, 0.95, 0.25, "T:2", True, "")]
    write_aliases(path, iter(items))
    assert read_aliases(path) == items
    path.write_text('{"entity": "T:1", "text": "BF"}\n')  # by hand
    assert read_aliases(path) == [Alias("T:1", "BF")]


def test_a_store_is_a_list_of_aliases(path):
    assert read_aliases(path) == list(generated("T:1").aliases)


@pytest.mark.parametrize(
    ("line", "message"),
    [("{", "line 2: "), ('{"entity": "T:1"}', "line 2: no 'text'"), ('{"entity": 1, "text": "x"}', "must be texts"),
     ("3", "line 2"), ("[" * 10**5, "line 2"), ('{"entity": "T:1", "text": "x", "kept": true}', "no 'anchor'")],
)  # fmt: skip
def test_a_bad_line_is_named(tmp_path, line, message):
    path = tmp_path / "list.jsonl"
    path.write_text(json.dumps({"entity": "T:1", "text": "x"}) + f"\n{line}\n")
    with pytest.raises(DataError, match=message):
        read_aliases(path)
    with pytest.raises(DataError, match="No such input file"):
        read_aliases(tmp_path / "none")


@pytest.mark.parametrize(
    ("key", "value"),
    [("entity", 3), ("entity", ["T:1"]), ("aliases", None), ("aliases", ["x", 1]), ("dropped", {"cap": "1"}),
     ("dropped", []), ("answer", None), ("source", {}), ("raw", None)],
)  # fmt: skip
def test_values_of_wrong_types_are_named(path, key, value):
    lines = path.read_text("utf-8").splitlines()
    lines[1] = json.dumps({**json.loads(lines[1]), key: value})
    path.write_text("\n".join(lines) + "\n", "utf-8")
    with pytest.raises(StateError, match=rf"aliases\.jsonl, line 2: '{key}' is "):
        AliasStore(path, SETTINGS)
