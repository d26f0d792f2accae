import subprocess
import sys

import pytest

import spacy_ontolink
from spacy_ontolink import cli
from spacy_ontolink.errors import DataError

COMMANDS = ["build", "link", "evaluate", "search", "explain", "info", "demo", "train"]
COMMANDS = ["build", "update", "link", "evaluate", "pairs", "tune", "search", "explain", "serve", "info", "demo"]


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"]])
def test_help_lists_the_commands(ontolink, arguments):
    result = ontolink(*arguments)
    assert result.code == 0
    for command in COMMANDS:
        assert f"  {command} " in result.out


@pytest.mark.parametrize("arguments", [["--help"], ["train", "--help"]])
def test_no_summary_is_cut(ontolink, monkeypatch, arguments):
    monkeypatch.setenv("COLUMNS", "80")
    result = ontolink(*arguments)
    assert "Commands:" in result.out
    assert "..." not in result.out.partition("Commands:")[2]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(ontolink, command):
    result = ontolink(command, "--help")
    assert result.code == 0
    assert result.out.startswith(f"Usage: ontolink {command}")


def test_version(ontolink):
    assert ontolink("--version").out.strip() == spacy_ontolink.__version__


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["bild"], ["bild", "ontolink --help"]),
        (["build", "--colour", "a", "b"], ["--colour", "ontolink build --help"]),
        (["build", "a.obo"], ["'OUT' after 'ONTOLOGY': folder to write", "ontolink build --help"]),
        (["build", "a.obo", "out", "--index", "flat"], ["exact", "hnsw", "ivf"]),
        (["build", "a.obo", "out", "--format", "rdf"], ["obo", "obographs", "owl", "table", "jsonl"]),
        (["link", "p", "i", "--mentions", "all"], ["given", "ner", "noun-chunks", "dictionary"]),
        (["link", "p", "i", "--format", "xml"], ["jsonl", "tsv", "spacy", "html"]),
        (["link", "p", "i", "-k", "0"], ["greater than or equal to 1"]),
        (["evaluate", "p"], ["DATA"]),
        (["update", "p", "a.obo"], ["'OUT' after 'ONTOLOGY'", "ontolink update --help"]),
    ],
)
def test_wrong_usage_is_one_line(refused, arguments, words):
    line = refused(*arguments)
    for word in words:
        assert word in line


def run_with(monkeypatch, error):
    def fail(**_):
        raise error

    monkeypatch.setattr(cli, "app", fail)


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (DataError("file.txt, line 3: odd\nvery odd"), 2, "ontolink: file.txt, line 3: odd very odd\n"),
        (PermissionError(13, "Permission denied", "/out"), 2, "ontolink: Permission denied: /out\n"),
        (KeyboardInterrupt(), 130, ""),
    ],
)
def test_errors_of_the_user(monkeypatch, ontolink, error, code, message):
    run_with(monkeypatch, error)
    assert ontolink() == (code, "", message)


def test_errors_of_the_library_keep_their_traceback(monkeypatch):
    run_with(monkeypatch, ValueError("a bug"))
    with pytest.raises(ValueError, match="a bug"):
        cli.main([])


def test_module_runs_and_help_loads_next_to_nothing():
    code = (
        "import sys, runpy; sys.argv = ['ontolink', '--help']\n"
        "try: runpy.run_module('spacy_ontolink', run_name='__main__')\n"
        "except SystemExit as exit: assert not exit.code\n"
        "loaded = {'spacy', 'numpy', 'scipy', 'sklearn', 'pyarrow', 'torch', 'faiss'} & set(sys.modules)\n"
        "assert not loaded, loaded"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert "link" in result.stdout
