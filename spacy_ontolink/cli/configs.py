"""The configs that come with the library, found by their name wherever it is installed."""

from __future__ import annotations

from pathlib import Path

from ..errors import ConfigError, Errors

_PACKAGE = Path(__file__).parents[1]
_FOLDERS = (_PACKAGE / "configs", _PACKAGE.parent / "configs")
"""In the wheel, and in a checkout."""


def find_config(given: Path) -> Path:
    """Return the file that is meant: the given one, or if there is none the library's own of that name.

    Args:
        given: A path; ``light``, ``light.cfg`` and ``configs/light.cfg`` may all mean a config of the library.

    Raises:
        ConfigError: It is a name without folder, and neither a file nor one of the library's.
    """
    if (given.exists() and not given.is_dir()) or given.parent not in (Path(), Path("configs")):
        return given
    name = given.name if given.suffix == ".cfg" else f"{given.name}.cfg"
    own = {file.name: file for folder in reversed(_FOLDERS) for file in sorted(folder.glob("*.cfg"))}
    if name not in own:
        raise ConfigError(Errors.NO_CONFIG.format(given=given, names=", ".join(Path(one).stem for one in sorted(own))))
    return own[name]
