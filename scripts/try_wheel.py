"""Install a wheel into a new environment and use it from elsewhere: what people get is not the checkout.

``make dist`` runs it. Dependencies are those of the Python that runs this, so that nothing is downloaded twice.
"""

import json
import subprocess
import sys
import tempfile
import venv
import zipfile
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parents[1]
TERMS = [{"id": "T:1", "name": "milk yield", "synonyms": ["amount of milk"]}, {"id": "T:2", "name": "body fat"}]
# Two mistakes that a type checker finds if it sees the types of the package.
TYPED = "import spacy_ontolink\nkb: spacy_ontolink.KnowledgeBase = 1\nspacy_ontolink.normalise(2)\n"


def missing_files(wheel: Path) -> set[str]:
    """Return what the checkout has in its package, or among its configs, and the wheel has not."""
    listed = subprocess.run(["git", "ls-files", "spacy_ontolink", "configs"], cwd=ROOT, capture_output=True, text=True,
                            check=True).stdout.splitlines()  # fmt: skip
    there = set(zipfile.ZipFile(wheel).namelist())
    assert not [name for name in there if name.startswith("tests/")], "the wheel has tests in it"
    return {name if name.startswith("spacy_ontolink/") else f"spacy_ontolink/{name}" for name in listed} - there


def install(wheel: Path, folder: Path) -> Path:
    """Make an environment with the wheel and the packages of this Python, and return its folder of programs."""
    venv.create(folder, with_pip=True)
    programs = folder / ("Scripts" if sys.platform == "win32" else "bin")
    run(programs / "python", "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-deps", wheel)
    own = run(programs / "python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
    packages = [
        path for path in sys.path if path.endswith("-packages")
    ]  # whose own .pth files, the checkout's, are idle
    (Path(own) / "borrowed.pth").write_text("\n".join(packages), "utf-8")
    return programs


def run(*command: object, cwd: Path | None = None, code: int = 0) -> str:
    """Run a program; return what it printed."""
    ended = subprocess.run([str(part) for part in command], cwd=cwd, capture_output=True, text=True, check=False)
    assert ended.returncode == code, f"{command}: {ended.returncode}\n{ended.stdout}\n{ended.stderr}"
    return ended.stdout


def try_out(programs: Path, work: Path) -> None:
    """Use commands, configs, pages and types of what is installed."""
    python, ontolink = programs / "python", programs / "ontolink"
    home = run(python, "-c", "import spacy_ontolink; print(spacy_ontolink.__file__)", cwd=work).strip()
    assert Path(home).is_relative_to(programs.parent), f"{home} is not what was installed"
    assert run(ontolink, "--version", cwd=work).strip() == version("spacy-ontolink")
    assert "build" in run(ontolink, "--help", cwd=work)
    (work / "terms.jsonl").write_text("".join(json.dumps(term) + "\n" for term in TERMS), "utf-8")
    (work / "notes.txt").write_text("A high milk yield.\n", "utf-8")
    (work / "gold.jsonl").write_text(
        '{"text": "A high milk yield.", "mentions": [{"start": 7, "end": 17, "kb_ids": ["T:1"]}]}\n', "utf-8"
    )
    run(ontolink, "build", "terms.jsonl", "built", "--config", "light", cwd=work)
    assert "T:1" in run(ontolink, "link", "built", "notes.txt", "--mentions", "dictionary", cwd=work)
    run(ontolink, "evaluate", "built", "gold.jsonl", "--report", "report.html", cwd=work)
    run(ontolink, "explain", "built", "A high [[milk yield]].", "-o", "why.html", cwd=work)
    prompts = run(python, "-c", "from spacy_ontolink.prompts import template; print(*template.names())", cwd=work)
    assert {"aliases", "hypernym", "standard_name", "yes_no"} <= set(prompts.split()), prompts
    (work / "typed.py").write_text(TYPED, "utf-8")
    ours = (
        "--config-file",
        ROOT / "pyproject.toml",
        "--cache-dir",
        ROOT / ".mypy_cache",
    )  # spares it what lint has seen
    found = run(sys.executable, "-m", "mypy", *ours, "--python-executable", python, "typed.py", cwd=work, code=1)
    assert "[assignment]" in found and "[arg-type]" in found and found.count("error:") == 2, found


def main(wheel: Path) -> None:
    """Check the wheel's files, then use it."""
    if missing := missing_files(wheel):
        sys.exit(f"{wheel} lacks {', '.join(sorted(missing))}")
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder) / "work"
        work.mkdir()
        try_out(install(wheel.resolve(), Path(folder) / "venv"), work)
    print(f"{wheel.name}: installed and used, with its configs, prompts, pages and types")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
