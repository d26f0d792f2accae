"""JSON nested deeper than Python goes: wherever it is read, that is as wrong as JSON that is cut."""

import ast
from pathlib import Path

import spacy_ontolink

PACKAGE = Path(spacy_ontolink.__file__).parent


def reads_json(node):
    """Whether a statement calls ``json.loads`` or ``json.load``."""
    calls = (inner.func for inner in ast.walk(node) if isinstance(inner, ast.Call))
    return any(ast.unparse(call) in ("json.loads", "json.load") for call in calls)


def expected(node):
    """The errors that a ``try`` or a ``suppress`` expects."""
    if isinstance(node, ast.Try):
        types = [handler.type for handler in node.handlers if handler.type]
    else:
        calls = [item.context_expr for item in node.items if isinstance(item.context_expr, ast.Call)]
        types = [each for call in calls if ast.unparse(call.func).endswith("suppress") for each in call.args]
    return {word for each in types for word in ast.unparse(each).strip("()").replace("|", ",").split(", ")}


def test_who_expects_bad_json_expects_deep_json():
    unready = [
        f"{path.relative_to(PACKAGE)}, line {node.lineno}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Try | ast.With) and any(map(reads_json, node.body))
        if "ValueError" in (errors := expected(node)) and not errors & {"RecursionError", "Exception"}
    ]
    assert not unready
