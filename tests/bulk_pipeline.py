"""A pipeline with a component that is slow, raises, hangs or kills its process where a document says so.

As a script it is a driver of its own, which a test may kill: ``python bulk_pipeline.py OPTIONS…`` is ``ontolink bulk``.
"""

import json
import os
import sys
import time
from functools import partial

import pyarrow.parquet as pq

from spacy_ontolink.cli.bulk import open_pipeline
from spacy_ontolink.errors import ConfigError, LLMError, MissingExtraError, StateError


def obey(doc, pause):
    """Do what the text says, after a pause that makes documents take a while."""
    time.sleep(pause)
    if "raises" in doc.text:
        raise ValueError("cannot take this")
    if "kills" in doc.text:
        os._exit(9)
    if "hangs" in doc.text:
        time.sleep(600)
    for error in (ConfigError, StateError, MissingExtraError, OSError, MemoryError):
        if error.__name__ in doc.text:
            raise error("No document is to blame.")
    if "unanswered" in doc.text:
        raise LLMError("The model does not answer.")
    return doc


def open_obedient(pause, *arguments):
    """Open a pipeline as ``ontolink bulk`` does, but for documents that do harm; the pause ``dies`` does it at once."""
    if pause == "dies":
        os._exit(9)
    opened = open_pipeline(*arguments)

    def link(docs):
        return opened.link([obey(doc, pause) for doc in docs])

    return opened._replace(link=link)


def texts(number, **special):
    """Make texts with one mention each; ``special`` are words to add, by ``at_NUMBER``."""
    words = {int(name.removeprefix("at_")): word for name, word in special.items()}
    return [f"Number {n} has a fat percentage. {words.get(n, '')}" for n in range(number)]


def rows_of(out):
    """Read the mentions of a run."""
    rows = pq.read_table(out / "mentions").to_pylist()
    return sorted(rows, key=lambda row: (row["shard"], row["row"], row["start"]))


def failed_of(out):
    """Read the documents that a run has set aside."""
    paths = sorted((out / "failed").glob("*.jsonl"))
    return [json.loads(line) for path in paths for line in path.read_text("utf-8").splitlines()]


if __name__ == "__main__":
    import bulk_pipeline  # under its own name, by which other processes find it

    from spacy_ontolink.cli import main

    pause = sys.argv[1] if sys.argv[1] == "dies" else float(sys.argv[1])
    sys.modules["spacy_ontolink.cli.bulk"].open_pipeline = partial(bulk_pipeline.open_obedient, pause)
    main(["bulk", *sys.argv[2:]])
