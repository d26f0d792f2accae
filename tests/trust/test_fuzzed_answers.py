"""Answers of language models, manifests, arrays and settings: whatever they hold, they are of use or refused."""

import json
import time

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from spacy.lang.en import English
from thinc.api import ConfigValidationError

from spacy_ontolink.encoders.lexical import LexicalEncoder
from spacy_ontolink.errors import OntolinkError, StateError
from spacy_ontolink.files import open_tensors, read_checked_json, write_checked_json, write_tensors
from spacy_ontolink.indexes.exact import ExactIndex
from spacy_ontolink.prompts.cleaning import MOST_WORDS, clean
from spacy_ontolink.prompts.name_lists import read_names
from spacy_ontolink.space import EntitySpace

FUZZ = settings(
    max_examples=60,
    deadline=5000,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
pieces = st.sampled_from(
    ["", "null", "None", "```json\n", "```", '["a", "b"', '{"names": ["fat yield"]}', "<think>", "</think>", "T:1",
     "body fat percentage", "milk yield", "1. one\n2. two\n", "- a\n- b", "I am sorry, ", "\\boxed{x}", "<|im_end|>",
     "42", "Share of fat in the body.", "Fettanteil", "(", ")", '"', "'", "[" * 500, "{" * 500, "\ud83d", "\0", ", ",
     ": ", "* ", "assistantfinal", "The standard name is ", "BF stands for "]
)  # fmt: skip
says = st.lists(pieces | st.text(max_size=10), max_size=12).map("".join)


@FUZZ
@given(answer=says | values.map(json.dumps))
def test_any_answer_gives_short_names(answer):
    found = read_names(answer, name="body fat percentage", definition="Share of fat in the body.", id="T:1")
    assert len(found.names) <= 4000
    for name in [*found.names, clean(answer, "BF")]:
        assert len(name.split()) <= MOST_WORDS
        assert "\n" not in name
        name.encode()
    assert "body fat percentage" not in found.names
    assert "T:1" not in found.names


@pytest.mark.parametrize(
    "piece", ["<think>", "</think>", "[", '{"a":', "```", "a, ", '"', "is the name ", "(", "1. ", "**"]
)
def test_answers_of_megabytes_take_no_time(piece):
    started = time.process_time()
    answer = piece * (1_000_000 // len(piece))
    read_names(answer)
    clean(answer, "BF")
    assert time.process_time() - started < 5


# Manifests


@pytest.fixture(scope="module")
def space(tmp_path_factory, traits):
    folder = tmp_path_factory.mktemp("fuzzed") / "space"
    EntitySpace.build(traits, LexicalEncoder(), ExactIndex()).to_disk(folder)
    return folder


def opened(folder):
    """Open a space, or be told of a file in it."""
    try:
        EntitySpace.from_disk(folder, LexicalEncoder(), ExactIndex())
    except StateError as error:
        assert str(folder) in str(error)


@FUZZ
@given(data=st.binary(max_size=60) | values.map(lambda value: json.dumps(value).encode()) | st.just(b"[" * 100_000))
def test_any_bytes_in_place_of_a_manifest(space, data):
    whole = (space / "manifest.json").read_bytes()
    try:
        (space / "manifest.json").write_bytes(data)
        with pytest.raises(StateError, match=r"manifest\.json"):
            EntitySpace.from_disk(space, LexicalEncoder(), ExactIndex())
    finally:
        (space / "manifest.json").write_bytes(whole)


@FUZZ
@given(data=st.data())
def test_any_value_in_a_manifest_with_a_right_checksum(space, data):
    manifest = read_checked_json(space / "manifest.json")
    whole = (space / "manifest.json").read_bytes()
    part = data.draw(st.sampled_from(sorted(manifest)))
    inner = manifest[part]
    if isinstance(inner, dict) and data.draw(st.booleans()):
        field = data.draw(st.sampled_from(sorted(inner)))
        manifest[part] = {**inner, field: data.draw(values)}
    else:
        manifest[part] = data.draw(values)
    try:
        write_checked_json(space / "manifest.json", manifest)
        opened(space)
    finally:
        (space / "manifest.json").write_bytes(whole)


@FUZZ
@given(header=values | st.dictionaries(st.just("a"), st.fixed_dictionaries(
    {"dtype": st.sampled_from(["F32", "BOOL", "X", 3, None, []]), "shape": values | st.lists(st.integers(), max_size=3),
     "data_offsets": values | st.lists(st.integers(), min_size=2, max_size=2)})))  # fmt: skip
def test_any_header_of_a_tensor_file(tmp_path, header):
    text = json.dumps(header).encode()
    (tmp_path / "a.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + bytes(64))
    try:
        open_tensors(tmp_path / "a.safetensors")
    except StateError as error:
        assert "a.safetensors" in str(error)


# Configs


@pytest.fixture(scope="module")
def blank():
    return English()


@FUZZ
@given(value=values, setting=st.sampled_from(
    ["k", "weights", "pooling", "name_pooling", "spans_key", "labels", "filters", "label_filters", "threshold",
     "overwrite", "batch_size", "abbreviations", "n_context", "n_sents", "encoder", "index", "ontology"]))  # fmt: skip
def test_any_setting_is_taken_or_refused(blank, setting, value):
    """By an error of ours, or by spaCy's check of types, which names the setting."""
    nlp = blank
    try:
        nlp.add_pipe("ontolink_retriever", config={setting: value})
        nlp.remove_pipe("ontolink_retriever")
    except OntolinkError as error:
        assert setting in str(error) or str(value) in str(error)
    except ConfigValidationError as error:
        assert setting in str(error)
    except ValueError as error:
        assert "E961" in str(error)  # not a number: no value of a config


def test_tensors_written_and_cut(tmp_path):
    write_tensors(tmp_path / "a.safetensors", {"a": np.arange(9.0), "b": np.zeros((0, 3), np.float16)})
    whole = (tmp_path / "a.safetensors").read_bytes()
    for cut in range(len(whole)):
        (tmp_path / "a.safetensors").write_bytes(whole[:cut])
        with pytest.raises(StateError, match=r"a\.safetensors"):
            open_tensors(tmp_path / "a.safetensors")
