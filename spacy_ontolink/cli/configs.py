"""The configs that come with the library, found by their name wherever it is installed."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).parents[1]
_FOLDERS = (_PACKAGE / "configs", _PACKAGE.parent / "configs")
"""In the wheel, and in a checkout."""


def find_config(given: Path) -> Path:
    """Return the file that is meant: the given one, or if there is none the library's own of that name.

    Args:
        given: A path; ``light``, ``light.cfg`` and ``configs/light.cfg`` may all mean a config of the library.
    """
    if given.exists() or given.parent not in (Path(), Path("configs")):
        return given
    name = given.name if given.suffix == ".cfg" else f"{given.name}.cfg"
    return next((folder / name for folder in _FOLDERS if (folder / name).is_file()), given)
