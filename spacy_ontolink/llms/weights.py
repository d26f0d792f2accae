"""The files of a local language model and of its adapter: found at first use, saved as copies, checked when opened."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ..errors import ConfigError, Errors, StateError
from ..files import replacing, sha256
from ..models.folder import ModelFolder
from ..models.stored import StoredModel, open_model

PARTS = ("model", "adapter")
ADAPTER = "adapter_config.json"
Opener = Callable[[str], ModelFolder]


class Weights:
    """A model, and perhaps its adapter; once opened from a saved folder they are that folder's, which must stay."""

    def __init__(self, model: str, adapter: str | None = None, opener: Opener = open_model) -> None:
        self._parts = {"model": StoredModel("model", model, {}, opener=opener)}
        if adapter is not None:
            self._parts["adapter"] = StoredModel("adapter", adapter, {}, opener=adapter_folder)

    @property
    def model(self) -> ModelFolder:
        """The model's files, found (and for an uncached hub name: fetched) at first use.

        Raises:
            ConfigError: There are none, or they are pickled.
        """
        return self._parts["model"].folder

    @property
    def adapter(self) -> ModelFolder | None:
        """The adapter's files, if there is one."""
        return self._parts["adapter"].folder if "adapter" in self._parts else None

    @property
    def revision(self) -> str:
        """A hash of the content of both."""
        return "+".join(part.folder.revision for part in self._parts.values())

    def check(self) -> None:
        """Compare saved copies with their checksums.

        Raises:
            StateError: A saved file is damaged or gone.
        """
        for part in self._parts.values():
            part.checked()

    def to_disk(self, path: Path) -> None:
        """Write a self-contained copy of both as the folder ``path``, whole or not at all."""
        with replacing(Path(path)) as folder:
            folder.mkdir()
            for name, part in self._parts.items():
                part.to_disk(folder / name)

    def from_disk(self, path: Path) -> None:
        """Take over saved copies.

        Raises:
            StateError: A file is missing, or they are another model's: one that is here and differs, or another name;
                or there is an adapter on one side only.
        """
        path, given = Path(path), [*self._parts]
        saved = [name for name in PARTS if (path / name).is_dir()]
        if saved and saved != given:
            parts = {"saved": " and ".join(saved), "given": " and ".join(given)}
            raise StateError(Errors.MISMATCH.format(path=path, what="the parts", **parts))
        for name, part in self._parts.items():
            part.from_disk(path / name)


def adapter_folder(adapter: str) -> ModelFolder:
    """Open the folder of a LoRA adapter.

    Raises:
        ConfigError: It is none, or its weights are pickled.
    """
    path = Path(adapter).expanduser()
    if not (path / ADAPTER).is_file():
        raise ConfigError(Errors.ADAPTER_MISSING.format(path=adapter, name=ADAPTER))
    weights = sorted(path.glob("*.safetensors"))
    if not weights:
        found = "".join(f", only {file.name}" for file in sorted(path.glob("*.bin"))[:1])
        raise ConfigError(Errors.MODEL_PICKLED.format(path=path, found=found))
    return ModelFolder(path, {file.name: sha256(file) for file in (path / ADAPTER, *weights)})


def check_positions(folder: ModelFolder, max_length: int, max_new_tokens: int) -> None:
    """Check that a model can read what the settings let it.

    Raises:
        ConfigError: It cannot.
    """
    if folder.positions and max_length + max_new_tokens > folder.positions:
        numbers = {"max_length": max_length, "new": max_new_tokens, "own": folder.positions}
        raise ConfigError(Errors.LLM_TOO_SHORT.format(path=folder.path, **numbers))
