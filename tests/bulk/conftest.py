import json
from functools import partial

import pytest
from bulk_pipeline import failed_of, open_obedient, rows_of
from toy import FAT, obo, term

from spacy_ontolink.bulk import Job, run_bulk
from spacy_ontolink.bulk.shards import find_shards
from spacy_ontolink.bulk.worker import Worker, attempt
from spacy_ontolink.cli import main

OBO = obo(
    term(*FAT),
    term("T:2", "milk yield"),
    name="",
)


@pytest.fixture(scope="session")
def pipeline(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bulk")
    (folder / "toy.obo").write_text(OBO, encoding="utf-8")
    with pytest.raises(SystemExit) as exit:
        main(["build", str(folder / "toy.obo"), str(folder / "pipeline")])
    assert exit.value.code == 0
    return folder / "pipeline"


@pytest.fixture
def corpus(tmp_path):
    """A folder of JSONL shards; called with texts by the name of their shard."""

    def write(**shards):
        folder = tmp_path / "in"
        folder.mkdir(exist_ok=True)
        for name, texts in shards.items():
            rows = [json.dumps({"id": f"{number % 7}", "text": text}) for number, text in enumerate(texts)]
            (folder / f"{name}.jsonl").write_text("".join(row + "\n" for row in rows), encoding="utf-8")
        return folder

    return write


class Bulk:
    """Runs in this process or in others."""

    def __init__(self, pipeline, out):
        self.out, self.calls = out, 0
        self.open = partial(open_obedient, 0.0, str(pipeline), "dictionary", 5, 64)

    def job(self, **settings):
        return Job(self.out, "fingerprint", **{"mentions": "dictionary", "chunk_size": 20, **settings})

    def __call__(self, *inputs, engine=None, overwrite=False, **settings):
        job = self.job(**settings)

        def inline(chunks):
            worker = Worker(self.open, job)
            for chunk in chunks:
                self.calls += 1
                yield attempt(worker, chunk)

        run = inline if engine is None else partial(engine, self.open, job)
        return run_bulk(find_shards(map(str, inputs), self.out), job, run, overwrite=overwrite)

    def rows(self):
        return rows_of(self.out)

    def failed(self):
        return failed_of(self.out)


@pytest.fixture
def run(pipeline, tmp_path):
    return Bulk(pipeline, tmp_path / "out")
