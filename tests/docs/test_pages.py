"""Every block of code in the README and the documentation runs, or is read where it says why it cannot run."""

import shutil
from pathlib import Path

import pytest

pytest.importorskip("markdown_it")
from page_blocks import (
    LANGUAGES,
    REASONS,
    ROOT,
    Page,
    blocks_of,
    check_command,
    check_config,
    check_options,
    commands_of,
    inline_commands_of,
    run_command,
)
from page_world import make_world

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
CODE = {path.relative_to(ROOT).as_posix(): blocks_of(path.read_text("utf-8")) for path in PAGES}


@pytest.fixture(scope="session")
def world(tmp_path_factory):
    """The folder that a reader of the pages has, with the pipeline that the README builds first."""
    folder = tmp_path_factory.mktemp("world")
    make_world(folder)
    return folder


@pytest.fixture
def page(world, tmp_path, monkeypatch):
    shutil.copytree(world, tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("ONTOLINK_CACHE", str(tmp_path / "cache"))
    return Page()


@pytest.mark.parametrize("name", [name for name, blocks in CODE.items() if blocks])
def test_blocks_say_what_they_are(name):
    for block in CODE[name]:
        assert block.language in LANGUAGES, f"{name}, line {block.line}: a block of '{block.language}'"
        assert block.reason is None or block.reason.split(",")[0] in REASONS, f"{name}, line {block.line}"


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("name", [name for name, blocks in CODE.items() if blocks])
def test_blocks_run(name, page):
    if any(word in block.text for block in CODE[name] for word in ("my-linker", "other-linker")):
        run_command(["build", "hp.obo", "my-linker"])
        shutil.copytree("my-linker", "other-linker")
    for block in CODE[name]:
        try:
            page.take(block)
        except Exception as error:
            raise AssertionError(f"{name}, line {block.line}: {type(error).__name__}: {error}") from error


@pytest.mark.parametrize("name", sorted(CODE.keys() - {"docs/benchmarks.md"}))  # where "ontolink lexical" is a method
def test_commands_in_running_text_exist(name):
    for call in inline_commands_of((ROOT / name).read_text("utf-8")):
        check_options(call.split()[1:])


def test_every_folder_of_pages_is_found():
    assert {"README.md", "docs/index.md", "docs/start/pipeline.md"} <= CODE.keys()
    assert sum(len(blocks) for blocks in CODE.values()) > 40


def test_marks_are_read():
    text = "<!-- not run: needs a GPU, a big one -->\n```bash\nx\n```\n\n- a\n\n  ```text\n  y\n  ```\n"
    first, second = blocks_of(text)
    assert (first.line, first.language, first.reason) == (2, "bash", "needs a GPU, a big one")
    assert (second.language, second.text, second.reason) == ("text", "y\n", None)
    assert blocks_of("<!-- prints -->\n\n```text\n1\n```\n")[0].prints
    assert blocks_of('```csv title="a.csv"\n1\n```\n')[0].title == "a.csv"


def test_commands_are_split_as_a_shell_does():
    script = "A=1 ontolink build 'a b' out  # and so on; never\n\nontolink link \\\n    x \"y z\" && ls\n# nothing\n"
    assert commands_of(script) == [["ontolink", "build", "a b", "out"], ["ontolink", "link", "x", "y z"], ["ls"]]


def test_wrong_blocks_fail(page):
    with pytest.raises(AssertionError, match="--no-such"):
        check_command(["build", "a.obo", "out", "--no-such"])
    with pytest.raises(AssertionError, match="no command"):
        check_command(["built", "a.obo", "out"])
    with pytest.raises(AssertionError, match="--no-such"):
        check_options(["tune", "--no-such"])
    assert inline_commands_of("Say `ontolink build`, or\n`ontolink tune --seed`.") == [
        "ontolink build",
        "ontolink tune --seed",
    ]
    with pytest.raises(AssertionError, match="no such settings"):
        check_config('[x]\n@ontolink_encoders = "spacy-ontolink.LexicalEncoder.v1"\nsizes = 3\n')
    for text in (
        "```bash\nls\n```",
        "```bash\nontolink build missing.obo out/\n```",
        "```python\nraise ValueError\n```",
        "<!-- not run: needs a GPU -->\n```python\na b\n```",
        "```json\n{\n```",
        "<!-- not run: takes minutes -->\n```bash\npython benchmarks/speed.py --no-such\n```",
        "<!-- not run: takes minutes -->\n```bash\nmake nothing\n```",
        '<!-- not run: takes minutes -->\n```bash\npip install ".[nothing]"\n```',
        "```python\nprint(1)\n```\n<!-- prints -->\n```text\n2\n```",
    ):
        with pytest.raises((AssertionError, ValueError, SyntaxError)):
            for block in blocks_of(text):
                page.take(block)


def test_the_world_is_made_of_small_files(world):
    assert all(path.stat().st_size < 20_000 for path in Path(world).rglob("*") if path.suffix in (".obo", ".jsonl"))
