"""The public interface is what ``spacy_ontolink`` lists, for people, at run time and to type checkers alike."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import spacy_ontolink

ROOT = Path(__file__).parents[1]
SOURCE = (ROOT / "spacy_ontolink" / "__init__.py").read_text("utf-8")
LAZY = [name for name in spacy_ontolink.__all__ if name != "__version__"]


def declared():
    """The names that type checkers see, by the module that they come from."""
    (block,) = [node for node in ast.parse(SOURCE).body if isinstance(node, ast.If)]
    found = {}
    for node in block.body:
        for alias in node.names:
            assert alias.asname == alias.name  # re-exported on purpose
            found[alias.name] = node.module
    return found


def test_type_checkers_see_what_there_is():
    assert declared() == spacy_ontolink._HOME_OF
    assert spacy_ontolink.__all__ == ["__version__", *sorted(declared())]
    assert set(spacy_ontolink.__all__) <= set(dir(spacy_ontolink))


@pytest.mark.parametrize("name", LAZY)
def test_every_name_is_there(name):
    value = getattr(spacy_ontolink, name)
    home = __import__(f"spacy_ontolink.{declared()[name]}", fromlist=[name])
    assert value is getattr(home, name)
    assert value.__doc__


def test_another_name_is_not():
    with pytest.raises(AttributeError, match="no attribute 'Knowledge'"):
        spacy_ontolink.Knowledge  # noqa: B018


def run(code):
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_importing_the_package_imports_nothing():
    seen = run(
        "import sys; before = set(sys.modules); import spacy_ontolink; dir(spacy_ontolink); "
        "print(*sorted({name.partition('.')[0] for name in set(sys.modules) - before}))"
    )
    assert set(seen.split()) <= {"spacy_ontolink", "typing", "importlib", "collections", "functools"} | set(
        sys.stdlib_module_names
    )


def test_an_error_is_imported_without_spacy():
    assert run("import sys; from spacy_ontolink import ConfigError; print('spacy' in sys.modules)") == "False\n"


def project():
    toml = pytest.importorskip("tomllib", reason="needs Python 3.11")
    return toml.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def test_the_version_stands_in_one_place():
    assert "version" not in project() and "version" in project()["dynamic"]
    assert re.fullmatch(r"\d+\.\d+\.\d+(?:[-+.]?\w+)*", spacy_ontolink.__version__)
    assert f"\nversion: {spacy_ontolink.__version__}\n" in (ROOT / "CITATION.cff").read_text("utf-8")
    newest = re.search(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert newest[1] == spacy_ontolink.__version__


def required():
    """The extras that messages tell people to install, with the package that each is to bring, where it is told."""
    for path in (ROOT / "spacy_ontolink").rglob("*.py"):
        tree = ast.parse(path.read_text("utf-8"))
        constants = {node.targets[0].id: node.value for node in tree.body if isinstance(node, ast.Assign)
                     and isinstance(node.targets[0], ast.Name)}  # fmt: skip
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "require":
                package, extra = (constants.get(getattr(one, "id", ""), one) for one in node.args[:2])
                yield extra.value, getattr(package, "value", None)


def test_every_extra_that_a_message_names_exists_and_brings_the_package():
    extras = project()["optional-dependencies"]
    found = set(required())
    assert len(found) > 8 and {extra for extra, _ in found} <= extras.keys()
    for extra, package in found:
        listed = {re.split(r"[\[<>=]", one)[0].replace("-", "_") for one in extras[extra]}
        assert package is None or package.replace("llama_cpp", "llama_cpp_python") in listed


def test_every_extra_that_a_page_names_exists():
    pages = "".join(path.read_text("utf-8") for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
    groups = re.findall(r"\.\[([\w,]+)\]|spacy-ontolink\[([\w,]+)\]", pages)
    named = {one for group in groups for part in group for one in part.split(",") if one}
    assert named and named <= project()["optional-dependencies"].keys()
