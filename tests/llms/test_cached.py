import copy
import itertools
import multiprocessing
import os
import pickle
import signal
import sqlite3
import threading

import numpy as np
import pytest

from spacy_ontolink.errors import ConfigError, LLMError, StateError
from spacy_ontolink.llms import cached
from spacy_ontolink.llms.cached import make_cached_llm
from spacy_ontolink.types import LLM, Prompt, Usage


class Echo:
    """Answers with the prompt, and notes what it was asked. "?…" fails."""

    def __init__(self, id="echo"):
        self.id, self.asked = id, []

    @property
    def usage(self):
        return Usage(calls=len(self.asked))

    def generate(self, prompts):
        self.asked += [prompt.text for prompt in prompts]
        return [None if prompt.text.startswith("?") else prompt.text.upper() for prompt in prompts]

    def choose(self, prompts, answers):
        self.asked += [prompt.text for prompt in prompts]
        rows = np.array([[len(prompt.text) + len(answer) for answer in answers] for prompt in prompts], np.float32)
        rows[[prompt.text.startswith("?") for prompt in prompts], 0] = np.nan
        return rows

    def to_disk(self, path):
        path.mkdir()
        (path / "echo").write_text(self.id)

    def from_disk(self, path):
        self.id = (path / "echo").read_text()
        return self


@pytest.fixture
def path(tmp_path):
    return tmp_path / "answers.sqlite"


@pytest.fixture
def llm(path):
    return make_cached_llm(Echo(), str(path))


def prompts(*texts):
    return [Prompt(text) for text in texts]


def test_what_was_asked_is_not_asked_again(llm, path):
    assert isinstance(llm, LLM) and llm.id == "echo"
    assert llm.generate(prompts("a", "b", "a")) == ["A", "B", "A"]
    assert llm.llm.asked == ["a", "b"] and llm.usage == Usage(calls=2)
    assert llm.generate(prompts("b", "c", "b")) == ["B", "C", "B"]
    assert llm.llm.asked == ["a", "b", "c"] and llm.usage == Usage(calls=3, cached=2)
    again = make_cached_llm(Echo(), str(path))
    assert again.generate(prompts("a", "b", "c")) == ["A", "B", "C"] and again.usage == Usage(cached=3)
    assert again.generate([]) == []


def test_choices_are_kept_too(llm, path):
    first = llm.choose(prompts("aa", "b", "aa"), ["yes", "no"])
    assert first.tolist() == [[5, 4], [4, 3], [5, 4]] and first.dtype == np.float32
    again = make_cached_llm(Echo(), str(path))
    assert again.choose(prompts("b", "aa", "b"), ["yes", "no"]).tolist() == [[4, 3], [5, 4], [4, 3]]
    assert again.llm.asked == []
    assert again.choose([], ["yes", "no"]).shape == (0, 2)


def test_all_that_changes_an_answer_is_in_the_key(llm, path):
    for prompt in [Prompt("a"), Prompt("a", "system"), Prompt("a", frame=("", "")), Prompt("a", frame=("<", ">"))]:
        llm.generate([prompt])
        llm.choose([prompt], ["yes", "no"])
        llm.choose([prompt], ["no", "yes"])
    assert len(llm.llm.asked) == 12
    other = make_cached_llm(Echo("other"), str(path))
    other.generate(prompts("a"))
    assert other.llm.asked == ["a"]


def test_failures_are_asked_again(llm):
    for _ in range(2):
        assert llm.generate(prompts("?", "a")) == [None, "A"]
        rows = llm.choose(prompts("?", "a"), ["yes", "no"])
        assert np.isnan(rows[0]).all() and rows[1].tolist() == [4, 3]
    assert llm.llm.asked == ["?", "a", "?", "a", "?", "?"]


class Refusing(Echo):
    """Answers up to the first "!…"."""

    def choose(self, prompts, answers):
        some = [*itertools.takewhile(lambda prompt: not prompt.text.startswith("!"), prompts)]
        rows = super().choose(some, answers)
        if len(some) < len(prompts):
            error = LLMError("a missing answer")
            error.answered = dict(zip(some, rows, strict=True))
            raise error
        return rows


@pytest.mark.parametrize("twice", [False, True])
def test_an_error_does_not_cost_what_was_answered_before(path, twice):
    model = Refusing()
    llm = make_cached_llm(make_cached_llm(model, f"{path}-inner") if twice else model, str(path))
    with pytest.raises(LLMError, match="a missing answer"):
        llm.choose(prompts("a", "?", "b", "!", "c"), ["yes", "no"])
    again = make_cached_llm(Echo(), str(path))
    assert np.isfinite(again.choose(prompts("a", "b"), ["yes", "no"])).all()
    assert again.llm.asked == [] and model.asked == ["a", "?", "b"]


@pytest.mark.parametrize("text", ["", "\ud83d", "\0", "line\r\n\u2028", "\U0001f600"])
def test_any_text_is_kept(path, text):
    for _ in range(2):
        assert make_cached_llm(Echo(), str(path)).generate(prompts(text)) == [text.upper()]


def test_many_prompts(llm):
    texts = [str(number) for number in range(3 * cached._MOST_KEYS)]
    assert llm.generate(prompts(*texts)) == texts
    assert llm.generate(prompts(*texts)) == texts
    assert len(llm.llm.asked) == len(texts)


class Killed(Echo):
    """Kills its process at the third chunk."""

    def generate(self, prompts):
        if len(self.asked) >= 3 * cached.CHUNK:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().generate(prompts)


def _ask(llm, texts):
    llm.generate(prompts(*texts))


def _run(*jobs):
    context = multiprocessing.get_context("fork")
    children = [context.Process(target=_ask, args=job) for job in jobs]
    for child in children:
        child.start()
    for child in children:
        child.join(60)
    return [child.exitcode for child in children]


def test_a_killed_run_resumes(path):
    texts = [str(number) for number in range(9 * cached.CHUNK)]
    assert _run((make_cached_llm(Killed(), str(path)), texts)) == [-signal.SIGKILL]
    llm = make_cached_llm(Echo(), str(path))
    assert llm.generate(prompts(*texts)) == texts
    assert llm.llm.asked == texts[3 * cached.CHUNK :]  # the second chunk was twice as large


def test_a_slow_model_is_asked_for_less_at_a_time(llm, monkeypatch):
    sizes = []
    generate = Echo.generate
    monkeypatch.setattr(Echo, "generate", lambda self, prompts: sizes.append(len(prompts)) or generate(self, prompts))
    monkeypatch.setattr(cached, "SOON", -2.0)
    monkeypatch.setattr(cached, "LATE", -1.0)
    texts = [str(number) for number in range(70)]
    assert llm.generate(prompts(*texts)) == texts
    assert sizes == [32, 16, 8, 4, 2, 1, 1, 1, 1, 1, 1, 1, 1]


def test_processes_share_the_file(llm):
    llm.generate(prompts("a"))  # a parent that has used it before it forks
    texts = [str(number) for number in range(300)]
    assert _run((llm, texts), (llm, texts[::-1]), (llm, texts[100:])) == [0, 0, 0]
    assert llm.generate(prompts("a", *texts)) == ["A", *texts]
    assert llm.llm.asked == ["a"]


def test_processes_may_make_the_file_together(llm):
    assert _run(*[(llm, [str(number)]) for number in range(6)]) == [0] * 6
    llm.generate(prompts(*"012345"))
    assert llm.llm.asked == []


def test_threads_share_the_object(llm):
    texts = [str(number) for number in range(100)]
    threads = [threading.Thread(target=_ask, args=(llm, texts)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert llm.generate(prompts(*texts)) == texts
    assert llm.usage.calls + llm.usage.cached == 5 * len(texts)


def test_copies(llm):
    llm.generate(prompts("a"))
    for other in (copy.deepcopy(llm), pickle.loads(pickle.dumps(llm))):
        other.generate(prompts("a"))
        assert other.llm.asked == ["a"]


def test_the_default_file_is_in_the_cache_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("ONTOLINK_CACHE", str(tmp_path / "deep" / "cache"))
    make_cached_llm(Echo()).generate(prompts("a"))
    assert (tmp_path / "deep" / "cache" / "answers.sqlite").is_file()


@pytest.mark.parametrize(
    "content", [b"no database at all, but longer than a header" * 9, b"SQLite format 3\0" + b"x" * 4096]
)
def test_a_damaged_file_is_named(path, content):
    path.write_bytes(content)
    with pytest.raises(StateError, match=r"answers\.sqlite is no cache of answers.*Delete it, or give another path"):
        make_cached_llm(Echo(), str(path)).generate(prompts("a"))
    assert path.read_bytes() == content


def test_a_page_damaged_in_the_middle_is_named(llm, path):
    llm.generate(prompts(*map(str, range(2000))))
    data = bytearray(path.read_bytes())
    data[4096:] = os.urandom(len(data) - 4096)
    path.write_bytes(data)
    with pytest.raises(StateError, match="no cache of answers"):
        llm.generate(prompts(*map(str, range(2000))))


def test_a_database_of_another_program_is_left_alone(path):
    with sqlite3.connect(path) as file:
        file.execute("CREATE TABLE bookmarks (url TEXT)")
    file.close()
    with pytest.raises(StateError, match="a database of another program"):
        make_cached_llm(Echo(), str(path)).generate(prompts("a"))


def test_a_newer_format_is_refused(llm, path):
    llm.generate(prompts("a"))
    file = sqlite3.connect(path)
    file.execute("PRAGMA user_version = 99")
    file.close()
    with pytest.raises(StateError, match="its format is 99, not 1"):
        llm.generate(prompts("a"))


def test_a_row_of_the_wrong_length_is_refused(llm, path):
    llm.choose(prompts("a"), ["yes", "no"])
    with sqlite3.connect(path) as file:
        file.execute("UPDATE answers SET answer = x'00'")
    file.close()
    with pytest.raises(StateError, match="1 bytes for 2 answers"):
        llm.choose(prompts("a"), ["yes", "no"])


def test_a_place_that_cannot_be_used_is_named(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(StateError, match=r"cannot be used: .* Give another path, or set ONTOLINK_CACHE"):
        make_cached_llm(Echo(), str(tmp_path / "file" / "answers.sqlite")).generate(prompts("a"))
    with pytest.raises(ConfigError, match="path = "):
        make_cached_llm(Echo(), str(tmp_path))
    with pytest.raises(ConfigError, match="'llm' must be a LLM"):
        make_cached_llm("gpt", None)


def test_answers_are_not_lost_when_they_cannot_be_kept(llm, path, caplog, monkeypatch):
    llm.generate(prompts("a"))
    monkeypatch.setattr(cached, "_WAIT", 0.05)
    other = sqlite3.connect(path)
    other.execute("BEGIN IMMEDIATE")
    assert llm.generate(prompts("a", "b")) == ["A", "B"]
    assert llm.generate(prompts("a", "c")) == ["A", "C"]
    other.rollback()
    other.close()
    assert caplog.text.count("cannot be written to (database is locked)") == 1


def test_saving_keeps_the_model_and_no_path(llm, tmp_path):
    llm.llm.id = "trained"
    llm.to_disk(tmp_path / "out")
    assert [file.read_text() for file in (tmp_path / "out").rglob("*") if file.is_file()] == ["trained"]
    other = make_cached_llm(Echo(), str(tmp_path / "b.sqlite"))
    assert other.from_disk(tmp_path / "out") is other and other.id == "trained"
