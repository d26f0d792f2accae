"""What tells a saved pipeline from any other."""

from __future__ import annotations

import hashlib
from pathlib import Path

from ..files import sha256


def fingerprint(pipeline: str) -> str:
    """Return a digest of the content of all files of a pipeline: a folder, or an installed package.

    What a pipeline names by its path or address, such as a model that it does not hold, is told by that name alone.
    """
    folder = Path(pipeline)
    if not folder.is_dir():
        from spacy.util import get_package_path

        folder = get_package_path(pipeline)
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            digest.update(f"{path.relative_to(folder).as_posix()} {sha256(path)}\n".encode())
    return digest.hexdigest()[:32]
