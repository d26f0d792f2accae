import json
import shutil
from pathlib import Path

import pytest
from commands import COMMANDS
from signs import N_TEXTS, OTHER_PARTS, PARTS, make_pipeline, signs_obo

from spacy_ontolink.cli import main


@pytest.fixture(scope="session")
def files(tmp_path_factory) -> Path:
    """A folder with an ontology, another one of the same size, a newer release, and a corpus."""
    folder = tmp_path_factory.mktemp("trust")
    (folder / "signs.obo").write_text(signs_obo(PARTS))
    (folder / "others.obo").write_text(signs_obo(OTHER_PARTS))
    (folder / "newer.obo").write_text(signs_obo([*PARTS, "skin"]))
    texts = ["ache of the arm", "heart oedema", "pain of the eye"] * (N_TEXTS // 3)
    rows = [{"id": str(n), "text": text, "mentions": [{"start": 0, "end": len(text)}]} for n, text in enumerate(texts)]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ONTOLINK_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(scope="session")
def saved(files):
    """Saved pipelines of each kind, made when first asked for; by kind and ontology."""

    def save(kind="default", ontology="signs"):
        path = files / f"{kind}-{ontology}"
        if not path.exists():
            stages = ("ontolink_surface_rerank", "ontolink_fuse") if kind == "default" else ()
            make_pipeline(files / f"{ontology}.obo", kind, stages).to_disk(path)
        return path

    return save


@pytest.fixture(scope="session")
def warm(files, saved):
    """Run every command once in this process, so that what they import need not be imported by each of its forks."""
    for name, (arguments, check) in COMMANDS.items():
        out = files / f"warm-{name}"
        with pytest.raises(SystemExit) as exit:
            main([str(argument) for argument in arguments(files, saved, out)])
        assert exit.value.code == 0
        check(out)


@pytest.fixture
def copied(saved, tmp_path):
    """A copy of a saved pipeline, to be damaged."""

    def copy(kind="default", ontology="signs"):
        shutil.copytree(saved(kind, ontology), tmp_path / "copy", dirs_exist_ok=True)
        return tmp_path / "copy"

    return copy
