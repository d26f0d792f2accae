"""The generated reference: all that is registered, every setting explained, and nothing stale."""

import importlib.util
import re
from pathlib import Path

import pytest
from typer.main import get_command

from spacy_ontolink.cli import app

ROOT = Path(__file__).parent.parent
PAGES = ROOT / "docs" / "reference"

pytest.importorskip("griffe")
spec = importlib.util.spec_from_file_location("reference", ROOT / "scripts" / "reference.py")
reference = importlib.util.module_from_spec(spec)
spec.loader.exec_module(reference)
PARTS = list(reference.parts())
ENTRY_POINTS = [(group, name) for group, names in reference.entry_points().items() for name in names]
OF_THE_PAPERS = {
    "ontolink_retriever", "ontolink_surface_rerank", "ontolink_context_rerank", "ontolink_fuse",
    "spacy-ontolink.LLMReformulator.v1", "spacy-ontolink.YesNo.v1", "spacy-ontolink.CrossEncoder.v1",
    "spacy-ontolink.ReadAndSelect.v1", "spacy-ontolink.BiEncoder.v1",
}  # fmt: skip


def test_every_entry_point_has_a_section():
    assert {(part.group, part.name) for part in PARTS} == set(ENTRY_POINTS)
    page = (PAGES / "parts.md").read_text("utf-8")
    for _, name in ENTRY_POINTS:
        assert f"\n### {name} {{" in page


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
def test_every_setting_is_explained(part):
    assert part.purpose
    for setting in part.settings:
        assert setting.meaning, f"{part.name}: {setting.name} is not in the docstring"
        assert "_empty" not in setting.type, f"{part.name}: {setting.name} has no type"


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
def test_what_is_of_the_papers_says_where_it_stands(part):
    assert bool(re.search(r"section \d|appendix A", part.source)) or part.name not in OF_THE_PAPERS


def test_every_command_and_option_has_a_row():
    page = (PAGES / "commands.md").read_text("utf-8")
    for name, command in get_command(app).commands.items():
        for inner in getattr(command, "commands", {}) or [""]:
            assert f"\n## ontolink {f'{name} {inner}'.strip()}\n" in page
        for option in command.params:
            assert option.param_type_name == "argument" or f"`{option.opts[0]}`" in page


@pytest.mark.parametrize("path", reference.pages(), ids=lambda path: path.name)
def test_pages_are_as_the_script_writes_them(path):
    assert path.read_text("utf-8") == reference.pages()[path], "run: python scripts/reference.py"


def test_the_script_reads_docstrings_and_defaults():
    def make(llm: int, path: str | None = None, limits: tuple[int, ...] = (1, 2)) -> int:
        """Make a thing.

        Args:
            llm: What ``speaks``.
            limits: Two.

        Source:
            Somewhere, section 3.
        """

    part = reference.describe("spacy_ontolink_llms", "thing", make)
    assert part.purpose == "Make a thing."
    assert part.source == "Somewhere, section 3."
    assert [setting.meaning for setting in part.settings] == ["What ``speaks``.", "", "Two."]
    assert [reference.shown(setting.default) for setting in part.settings] == ["–", "`null`", "`[1, 2]`"]
    assert "| `path` | str \\| None | `null` |  |" in reference.section(part)
