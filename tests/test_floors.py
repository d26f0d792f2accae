"""The house keeps its floors: a module imports only from lower ones, stays short, and loads nothing heavy."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "spacy_ontolink"
MODULES = sorted(PACKAGE.rglob("*.py"))
FLOORS = {
    "types": 0, "errors": 0, "messages": 0, "registry": 0, "text": 0, "files": 0, "atomic": 0, "checksums": 0,
    "unpacking": 0, "forking": 0, "vectors": 0, "row_files": 0, "pages": 0, "coordination": 0,
    "kb": 1, "metrics": 1, "models": 1, "plots": 1,
    "encoders": 2, "indexes": 2, "llms": 2,
    "prompts": 3, "reformulate": 3, "space": 3, "rerankers": 3, "fusion": 3, "calibration": 3, "abbreviations": 3,
    "components": 4, "training": 4,
    "documents": 5, "evaluation": 5, "bulk": 5, "report": 5, "service": 5, "cli": 5, "__main__": 5,
}  # fmt: skip
SIBLINGS = [{"encoders", "indexes", "llms"}, {"components", "training"}]
HEAVY = {"torch", "faiss", "transformers", "vllm", "peft", "sentence_transformers", "ray"}
LONGEST = 300


def name_of(path):
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room_of(module):
    """The first name below the package: the file or folder that has a floor."""
    return module.split(".")[1] if "." in module else ""


def at_run_time(tree):
    """Every node but those under ``if TYPE_CHECKING``, which never run."""
    stack = [tree]
    while stack:
        node = stack.pop()
        yield node
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            stack.extend(node.orelse)
        else:
            stack.extend(ast.iter_child_nodes(node))


def at_top_level(tree):
    stack = [tree]
    while stack:
        node = stack.pop()
        yield node
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            continue
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            stack.extend(ast.iter_child_nodes(node))


def imported(node, path):
    """Absolute names of the modules that an import statement may load."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if not isinstance(node, ast.ImportFrom):
        return []
    if not node.level:
        base = node.module or ""
    else:
        package = name_of(path).split(".")
        if path.name != "__init__.py":
            package = package[:-1]
        package = package[: len(package) - node.level + 1]
        base = ".".join(package + ([node.module] if node.module else []))
    return [base, *(f"{base}.{alias.name}" for alias in node.names)]


def tree_of(path):
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def test_every_room_has_a_floor():
    rooms = {room_of(name_of(path)) for path in MODULES}
    assert rooms - {""} <= FLOORS.keys()


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_imports_go_down_only(path):
    room = room_of(name_of(path))
    if not room:  # the package's own __init__ imports nothing of it
        names = [name for node in at_run_time(tree_of(path)) for name in imported(node, path)]
        assert not [name for name in names if name.split(".")[0] == PACKAGE.name]
        return
    for node in at_run_time(tree_of(path)):
        for name in imported(node, path):
            other = room_of(name) if name.split(".")[0] == PACKAGE.name else room
            if other in ("", room) or other not in FLOORS:  # the package itself (its version), or a name in a module
                continue
            assert FLOORS[other] <= FLOORS[room], f"{name_of(path)}, line {node.lineno}: {name} is on a higher floor"
            for siblings in SIBLINGS:
                assert not {room, other} <= siblings, f"{name_of(path)}, line {node.lineno}: {name} is a sibling"


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_files_are_short(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= LONGEST


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_nothing_heavy_at_top_level(path):
    if room_of(name_of(path)) == "training":
        return
    names = {name.split(".")[0] for node in at_top_level(tree_of(path)) for name in imported(node, path)}
    assert not names & HEAVY


def test_the_checks_see_what_they_should():
    tree = ast.parse(
        "if TYPE_CHECKING:\n    import torch\ndef f():\n    import faiss\ntry:\n    import ray\nfinally:\n    pass"
    )
    path = PACKAGE / "kb" / "readers" / "obo.py"
    assert {name for node in at_top_level(tree) for name in imported(node, path)} == {"ray"}
    assert {name for node in at_run_time(tree) for name in imported(node, path)} == {"faiss", "ray"}
    up = ast.parse("from ...types import Entity\nfrom . import base").body
    assert imported(up[0], path) == ["spacy_ontolink.types", "spacy_ontolink.types.Entity"]
    assert imported(up[1], path) == ["spacy_ontolink.kb.readers", "spacy_ontolink.kb.readers.base"]
