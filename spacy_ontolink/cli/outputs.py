"""What is checked of the files that a command is to write, before it opens any."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations
from pathlib import Path

from ..errors import ConfigError, Errors

STDOUT = Path("-")


def check_file(option: str, path: Path) -> None:
    """Check that a file may be written there.

    Raises:
        ConfigError: It is standard output, or a folder, or would lie in a file.
    """
    if path == STDOUT:
        raise ConfigError(Errors.NO_STDOUT.format(option=option))
    if path.is_dir():
        raise ConfigError(Errors.OUTPUT_IS_FOLDER.format(path=path, option=option))
    above = next(folder for folder in path.resolve().parents if folder.exists())
    if not above.is_dir():
        raise ConfigError(Errors.OUTPUT_IN_FILE.format(path=path, parent=above, option=option))


def check_outputs(outputs: Mapping[str, Path], inputs: Iterable[Path]) -> None:
    """Check that files may be written, and that none takes the place of an input or of another.

    Args:
        outputs: The files by the name of their option.
        inputs: Files, and folders or pairs of BRAT, of which no file may be written.

    Raises:
        ConfigError: One may not.
    """
    for option, path in outputs.items():
        check_file(option, path)
        if any(_is_of(path, one) for one in inputs):
            raise ConfigError(Errors.OUTPUT_IS_INPUT.format(path=path))
    for (first, path), (second, other) in combinations(outputs.items(), 2):
        if _same(path, other):
            raise ConfigError(Errors.SAME_OUTPUT.format(path=path, first=first, second=second))


def _is_of(path: Path, input: Path) -> bool:
    """Whether a file is, or is a part of, an input."""
    if input.is_dir():
        return path.suffix in (".ann", ".txt") and input.resolve() in path.resolve().parents
    if input.suffix in (".ann", ".txt"):
        return any(_same(path, input.with_suffix(suffix)) for suffix in (".ann", ".txt"))
    return _same(path, input)


def _same(path: Path, other: Path) -> bool:
    """Whether two names are of one file; a device, such as ``/dev/null``, may be written to twice."""
    if path.exists() and other.exists():
        return path.is_file() and path.samefile(other)
    return path.resolve() == other.resolve()
