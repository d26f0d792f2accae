"""The files of a local language model: found at first use, saved as copies, checked when they are read back."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from ..errors import ConfigError, Errors, StateError
from ..files import REBUILD, read_json, replacing, safe_join, sha256, write_json
from ..models.folder import ModelFolder, find_model, may_be, plain_name

MANIFEST = "llm.json"
ADAPTER = "adapter_config.json"
Opener = Callable[[str], ModelFolder]


class Weights:
    """A model's files, and those of its adapter if it has one.

    Once read back from a saved folder they are those of that folder, which must stay.
    """

    def __init__(self, sources: dict[str, tuple[str, Opener]]) -> None:
        self._sources = sources
        self._parts: dict[str, ModelFolder] = {}
        self._saved_names: dict[str, str] = {}

    def __getitem__(self, part: str) -> ModelFolder:
        """Return the folder of a part, found (and for an uncached hub name: fetched) at first use.

        Raises:
            ConfigError: There is none, or its weights are pickled.
        """
        if part not in self._parts:
            name, opener = self._sources[part]
            self._parts[part] = opener(name)
        return self._parts[part]

    def __contains__(self, part: str) -> bool:
        return part in self._sources

    @property
    def revision(self) -> str:
        """A hash of the content of all parts."""
        return "+".join(self[part].revision for part in self._sources)

    def check(self) -> None:
        """Check that saved files are as they were saved.

        Raises:
            StateError: One is damaged or gone.
        """
        for part in self._parts if self._saved_names else ():
            if damaged := self[part].first_damaged():
                raise _damaged(damaged, "not as it was saved")

    def to_disk(self, path: Path) -> None:
        """Write a self-contained copy of all parts."""
        names = self._saved_names or {part: plain_name(name) for part, (name, _) in self._sources.items()}
        with replacing(Path(path)) as folder:
            for part in self._sources:
                (folder / part).mkdir(parents=True)
                self[part].copy_to(folder / part)
            parts = {part: {"name": names[part], "files": self[part].files} for part in self._sources}
            write_json(folder / MANIFEST, {"parts": parts})

    def from_disk(self, path: Path) -> None:
        """Take over saved parts.

        Raises:
            StateError: A file is missing, or they are another model's: a folder that is here and differs, or another
                hub name.
        """
        path = Path(path)
        parts, names = {}, {}
        try:
            for part, saved in read_json(path / MANIFEST)["parts"].items():
                files = {str(name): str(digest) for name, digest in saved["files"].items()}
                parts[part], names[part] = ModelFolder(safe_join(path, part), files), str(saved["name"])
        except (KeyError, AttributeError, TypeError) as error:
            raise _damaged(path / MANIFEST, f"no {error}") from error
        if parts.keys() != self._sources.keys():
            raise StateError(
                Errors.MISMATCH.format(path=path, what="the parts", saved=[*parts], given=[*self._sources])
            )
        for part, folder in parts.items():
            if missing := [name for name in folder.files if not (folder.path / name).is_file()]:
                raise _damaged(folder.path / missing[0], "missing")
            self._check_source(path, part, folder, names[part])
        self._parts, self._saved_names = parts, names

    def _check_source(self, path: Path, part: str, saved: ModelFolder, saved_name: str) -> None:
        """Refuse to pass a saved model off as another one that the constructor was given."""
        name, opener = self._sources[part]
        here = None if self._saved_names else self._parts.get(part)
        if here is None and os.path.exists(os.path.expanduser(name)):
            here = _open_or_none(opener, name)
        if here is not None and here.files != saved.files:
            ids = {"saved": saved.revision, "given": here.revision}
        elif here is None and not may_be(name, saved_name):
            ids = {"saved": saved_name, "given": name}
        else:
            return
        raise StateError(Errors.MISMATCH.format(path=path, what=f"the {part}", **ids))


def model_folder(model: str) -> ModelFolder:
    """Open a Hugging Face model: a folder, or a hub name."""
    return ModelFolder.open(find_model(model))


def adapter_folder(adapter: str) -> ModelFolder:
    """Open the folder of a LoRA adapter.

    Raises:
        ConfigError: It is none, or its weights are pickled.
    """
    path = Path(adapter).expanduser()
    if not (path / ADAPTER).is_file():
        raise ConfigError(Errors.ADAPTER_MISSING.format(path=adapter, name=ADAPTER))
    kept = [file for file in (path / ADAPTER, *sorted(path.glob("*.safetensors"))) if file.is_file()]
    if len(kept) < 2:
        found = "".join(f", only {file.name}" for file in sorted(path.glob("*.bin"))[:1])
        raise ConfigError(Errors.MODEL_PICKLED.format(path=path, found=found))
    return ModelFolder(path, {file.name: sha256(file) for file in kept})


def causal_weights(model: str, adapter: str | None) -> Weights:
    """Return the weights of a Hugging Face model and, perhaps, a LoRA adapter."""
    sources: dict[str, tuple[str, Opener]] = {"model": (model, model_folder)}
    if adapter is not None:
        sources["adapter"] = (adapter, adapter_folder)
    return Weights(sources)


def check_positions(folder: ModelFolder, max_length: int, max_new_tokens: int) -> None:
    """Check that a model can read what the settings let it.

    Raises:
        ConfigError: It cannot.
    """
    if folder.positions and max_length + max_new_tokens > folder.positions:
        numbers = {"max_length": max_length, "new": max_new_tokens, "own": folder.positions}
        raise ConfigError(Errors.LLM_TOO_SHORT.format(path=folder.path, **numbers))


def _open_or_none(opener: Opener, name: str) -> ModelFolder | None:
    try:
        return opener(name)
    except (ConfigError, OSError):  # whatever is there, it is not what the name meant when a pipeline was saved
        return None


def _damaged(path: Path, reason: object) -> StateError:
    return StateError(Errors.FILE_DAMAGED.format(path=path, reason=reason, rebuild=REBUILD))
