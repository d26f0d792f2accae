"""Virtual environments of the peers, made as the header of each file asks (inline script metadata, PEP 723)."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

PEERS = Path(__file__).parent / "peers"
_HEADER = re.compile(r"(?m)^# /// script$\n((?:^#.*$\n)+?)^# ///$")
_PYTHON = re.compile(r'requires-python = "==([\d.]+)\.\*"')
_QUOTED = re.compile(r'"([^"]+)"')


class CannotInstall(Exception):
    """An environment could not be made; the message says why."""


def python_of(peer: Path, folder: Path) -> Path:
    """Return the interpreter that has what a peer's file asks for, made if need be; ours, if it asks for nothing.

    A file that asks for another Python version needs ``pythonX.Y`` on the PATH.

    Raises:
        CannotInstall: The version is not there, or pip failed.
    """
    header = _HEADER.search(peer.read_text("utf-8"))
    if header is None:
        return Path(sys.executable)
    home = folder / peer.stem
    python = home / "bin" / "python"
    if (home / "complete").exists():
        return python
    version = _PYTHON.search(header[1])
    base = _runnable(f"python{version[1]}") if version else sys.executable
    shutil.rmtree(home, ignore_errors=True)
    _run([base, "-m", "venv", str(home)])
    packages = _QUOTED.findall(header[1].partition("dependencies =")[2])
    _run([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages])
    (home / "complete").touch()
    return python


def _runnable(name: str) -> str:
    found = shutil.which(name)
    if not found or subprocess.run([found, "--version"], capture_output=True, check=False).returncode:
        raise CannotInstall(f"{name} is not installed")
    return found


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if "error" in line.lower()] or done.stderr.splitlines()
        raise CannotInstall(said[-1].strip() if said else f"exit code {done.returncode}")
