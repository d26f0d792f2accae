"""A real llama.cpp server on loopback, on request: docs/development.md has the commands."""

import numpy as np
import pytest
from llama import llama_server, marks

from spacy_ontolink.errors import LLMError
from spacy_ontolink.llms.cached import make_cached_llm
from spacy_ontolink.llms.openai import make_openai_llm
from spacy_ontolink.reformulate import make_llm_reformulator
from spacy_ontolink.types import Mention, Prompt

pytest.importorskip("openai")
pytestmark = marks


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory):
    with llama_server(tmp_path_factory.mktemp("server")) as endpoint:
        yield endpoint


SHOTS = "Is London a city? yes\nIs fire cold? no\nIs ice hot? no\nIs iron a metal? yes\n"


def ask(text):
    """A question for a model that was not taught to chat."""
    return Prompt(text, frame=(SHOTS, ""))


def test_generate(endpoint):
    llm = make_openai_llm("gemma", endpoint, max_new_tokens=8, concurrency=2)
    raw = Prompt("What is the capital of France?", frame=("Question: ", "\nAnswer: The capital of France is"))
    chat = Prompt("What is the capital of France?", "You answer briefly.")
    first = llm.generate([chat, raw, Prompt("\ud83d <|x|>")])
    assert "Paris" in first[1] and None not in first
    assert llm.usage.calls == 3 and llm.usage.prompt_tokens > 20 and llm.usage.completion_tokens > 3
    assert llm.generate([raw, chat]) == [first[1], first[0]]


def test_choose(endpoint):
    llm = make_openai_llm("gemma", endpoint, concurrency=2)
    scores = llm.choose([ask("Is Paris a city?"), ask("Is snow warm?")], ["yes", "no"])
    assert scores.shape == (2, 2) and np.isfinite(scores).all() and (np.exp(scores).sum(1) <= 1.001).all()
    margins = scores[:, 0] - scores[:, 1]
    assert margins[0] > margins[1] and np.exp(scores).sum(1).min() > 0.5
    with pytest.raises(LLMError, match="'zebra' is not among the"):
        llm.choose([ask("Is Paris a city?")], ["yes", "zebra"])


def test_chats_report_probabilities_or_fail_alone(endpoint):
    llm = make_openai_llm("gemma", endpoint)
    try:
        scores = llm.choose([Prompt("Say yes or no: is Paris a city?")], ["yes"])
        assert scores.shape == (1, 1)  # NaN where the model, which cannot chat, ends at once
    except LLMError as error:
        assert "'yes' is not among the" in str(error)


def test_reformulate_and_resume(endpoint, tmp_path):
    mentions = [Mention("BF", "The body fat percentage (", ") of the cows was measured.")]
    answers = []
    for _ in range(2):
        llm = make_cached_llm(make_openai_llm("gemma", endpoint, max_new_tokens=16), str(tmp_path / "answers.sqlite"))
        answers.append(make_llm_reformulator(llm).reformulate(mentions))
    assert answers[0] == answers[1]
    assert llm.usage[:3] == (0, 0, 2)
