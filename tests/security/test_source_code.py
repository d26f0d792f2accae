"""Nothing in the package runs what a file says: no pickles, no code from model folders, no shell, no evaluated text."""

import ast
import re
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "spacy_ontolink"
MODULES = sorted(PACKAGE.rglob("*.py"))
BANNED_MODULES = {"pickle", "_pickle", "marshal", "shelve", "dbm", "dill", "cloudpickle", "joblib", "subprocess", "pty",
                  "yaml", "xml"}  # fmt: skip
BANNED_CALLS = {"eval", "exec", "compile", "__import__"}
BANNED_METHODS = {("torch", "load"), ("torch", "save"), ("np", "load"), ("np", "save"), ("os", "system"),
                  ("os", "popen"), ("tempfile", "mktemp")}  # fmt: skip
BANNED_ANYWHERE = {"extract", "extractall", "unpack_archive", "read_pickle", "to_pickle"}
MUST_BE_FALSE = {"trust_remote_code", "shell", "allow_pickle", "load_dtd"}
MUST_BE_TRUE = {"use_safetensors", "local_files_only", "weights_only", "no_network"}


def faults(tree):
    """What a module does that it must not, with the line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name.partition(".")[0] for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [(node.module or "").partition(".")[0]]
        else:
            names = []
        yield from (f"line {node.lineno}: imports {name}" for name in names if name in BANNED_MODULES)
        if isinstance(node, ast.Attribute) and node.attr in BANNED_ANYWHERE:
            yield f"line {node.lineno}: .{node.attr}"
        if isinstance(node, ast.Call):
            yield from faults_of_call(node)
        if isinstance(node, ast.Dict):  # settings that are passed on as **options
            keys = [key.value if isinstance(key, ast.Constant) else None for key in node.keys]
            yield from faults_of_settings(zip(keys, node.values, strict=True))


def faults_of_call(node):
    function = node.func
    if isinstance(function, ast.Name) and function.id in BANNED_CALLS:
        yield f"line {node.lineno}: {function.id}()"
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
        if (function.value.id, function.attr) in BANNED_METHODS:
            yield f"line {node.lineno}: {function.value.id}.{function.attr}()"
    yield from faults_of_settings((keyword.arg, keyword.value) for keyword in node.keywords)


def faults_of_settings(settings):
    for name, value in settings:
        for names, wanted in ((MUST_BE_FALSE, False), (MUST_BE_TRUE, True)):
            if name in names and not (isinstance(value, ast.Constant) and value.value is wanted):
                yield f"line {value.lineno}: {name} is not {wanted}"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_no_file_is_run(path):
    assert list(faults(ast.parse(path.read_text("utf-8")))) == []


def test_whoever_loads_a_model_says_that_no_code_comes_along():
    sources = [path.read_text("utf-8") for path in MODULES]
    call = re.compile(r"(Auto\w+|auto)\.from_pretrained\(|[^:] SentenceTransformer\(")
    loading = [source for source in sources if call.search(source)]
    assert len(loading) >= 3
    for source in loading:
        for name, wanted in (("trust_remote_code", "False"), ("local_files_only", "True"), ("use_safetensors", "True")):
            assert re.search(rf'{name}"?[=:] ?{wanted}', source), name


@pytest.mark.parametrize(
    "source",
    [
        "import pickle",
        "from joblib import load",
        "import xml.etree.ElementTree as ET",
        "eval(text)",
        "torch.load(path, weights_only=True)",
        "np.load(path)",
        "archive.extractall(folder)",
        "load(path, trust_remote_code=True)",
        "load(path, trust_remote_code=asked)",
        "options = {'trust_remote_code': True}",
        "load(path, use_safetensors=False)",
        "run(command, shell=True)",
    ],
)
def test_the_check_sees_what_it_should(source):
    assert len(list(faults(ast.parse(source)))) == 1
