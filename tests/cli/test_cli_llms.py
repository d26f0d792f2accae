import json

import pytest

from spacy_ontolink.cli.llms import MAX_NEW_TOKENS, make_llm
from spacy_ontolink.errors import ConfigError, OntolinkError
from spacy_ontolink.llms.cached import CachedLLM
from spacy_ontolink.types import Prompt


@pytest.mark.parametrize(
    ("given", "model", "endpoint"),
    [
        ("openai:llama3.2:3b@http://localhost:11434/v1", "llama3.2:3b", "http://localhost:11434/v1"),
        ("openai:org/a@b@http://localhost:1/v1/", "org/a@b", "http://localhost:1/v1"),
        ("openai:a@b", "a@b", "http://127.0.0.1:8000/v1"),
        ("openai:gemma", "gemma", "http://127.0.0.1:8000/v1"),
    ],
)
def test_a_server(given, model, endpoint):
    pytest.importorskip("openai")
    llm = make_llm(given)
    assert (llm.model, llm.endpoint, llm.max_new_tokens) == (model, endpoint, MAX_NEW_TOKENS)


def test_models_in_this_process(tmp_path):
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    with pytest.raises(OntolinkError, match=str(tmp_path / "none")):
        make_llm(f"transformers:{tmp_path / 'none'}").generate([Prompt("x")])


BLOCK = {"@ontolink_llms": "spacy-ontolink.OpenAI.v1", "model": "gemma", "endpoint": "http://127.0.0.1:1/v1"}
CONFIG = """
[llm]
@ontolink_llms = "spacy-ontolink.CachedLLM.v1"
path = "answers.sqlite"

[llm.llm]
@ontolink_llms = "spacy-ontolink.OpenAI.v1"
model = "gemma"
"""


@pytest.mark.parametrize("content", [BLOCK, {"llm": BLOCK}, {"name": "x", "any": BLOCK}])
def test_json_files(tmp_path, content):
    pytest.importorskip("openai")
    (tmp_path / "llm.json").write_text(json.dumps(content), "utf-8")
    assert make_llm(str(tmp_path / "llm.json")).model == "gemma"


def test_config_files_with_parts_in_parts(tmp_path):
    pytest.importorskip("openai")
    (tmp_path / "llm.cfg").write_text(CONFIG, "utf-8")
    llm = make_llm(str(tmp_path / "llm.cfg"))
    assert isinstance(llm, CachedLLM) and llm.llm.model == "gemma"


@pytest.mark.parametrize("given", ["gpt", "openai:", "openai: ", "claude:opus", "", "transformers"])
def test_other_words(given):
    with pytest.raises(ConfigError, match="is no language model; give one of: openai:MODEL@ENDPOINT, transformers:"):
        make_llm(given)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("llm.cfg", None, "there is no such file"),
        ("llm.json", "{", "llm.json does not describe a language model: Expecting"),
        ("llm.json", "[]", "no blocks in it have '@ontolink_llms'; one must"),
        ("llm.json", json.dumps({"a": BLOCK, "b": BLOCK}), "2 blocks in it"),
        ("llm.cfg", '[llm]\nmodel = "x"\n', "no blocks in it"),
        ("llm.cfg", 'model = "x"\n', "llm.cfg does not describe a language model: "),
        ("llm.cfg", "[llm]\nmodel = ${paths.x}\n", "llm.cfg does not describe a language model: "),
        ("llm.cfg", "[llm]\na = 1\na = 2\n", "llm.cfg does not describe a language model: "),
        ("llm.json", json.dumps({"@ontolink_llms": "none.v1"}), "none.v1"),
        ("llm.json", json.dumps({**BLOCK, "colour": 1}), "colour"),
        ("llm.json", json.dumps({**BLOCK, "timeout": -1}), "timeout = -1"),
    ],
)
def test_files_that_are_no_model(tmp_path, name, content, words):
    pytest.importorskip("openai")
    if content is not None:
        (tmp_path / name).write_text(content, "utf-8")
    with pytest.raises(ConfigError) as caught:
        make_llm(str(tmp_path / name))
    assert words in str(caught.value)
