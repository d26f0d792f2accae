"""The model a part of a pipeline works with: found at first use, copied when saved, checked when opened again."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from ..errors import ConfigError, Errors, StateError
from ..files import REBUILD, read_checked_json, replacing, write_checked_json
from .folder import ModelFolder, find_model, may_be, plain_name

FOLDER = "model"

Settings: TypeAlias = dict[str, Any]
"""Plain values that change what a model answers, such as a maximal length."""


def open_model(name: str) -> ModelFolder:
    """Find and fingerprint a transformer; raises as ``find_model`` and ``ModelFolder.open`` do."""
    return ModelFolder.open(find_model(name))


def as_given(folder: ModelFolder, given: Settings) -> Settings:
    """Complete nothing: for settings that no model has by itself."""
    return given


class StoredModel:
    """A model under its name in the config until it is saved, and its copy in the part's folder afterwards.

    Nothing is read before the first use of ``folder``, ``settings`` or ``id``, and torch is never imported.
    """

    def __init__(
        self,
        kind: str,
        name: str,
        given: Mapping[str, Any],
        complete: Callable[[ModelFolder, Settings], Settings] = as_given,
        opener: Callable[[str], ModelFolder] = open_model,
    ) -> None:
        """Note what the config says.

        Args:
            kind: What it is a part of, such as ``sentence``: it begins the id and names the file of settings.
            name: A folder, or the name of a model on a hub.
            given: Settings as configured; None leaves one to the model.
            complete: Returns the settings with the model's own for those left to it, in the same order. It raises for
                a folder or a setting that the part cannot use.
            opener: Returns the folder of that name; another than ``open_model`` for what is no whole transformer.
        """
        self.kind, self.name = kind, name
        self._given, self._complete, self._open = dict(given), complete, opener
        self._folder: ModelFolder | None = None
        self._settings: Settings | None = None
        self._saved = False
        self._saved_name = ""

    @property
    def folder(self) -> ModelFolder:
        """The folder of the model, found (and for an uncached hub name: fetched) at first use.

        Raises:
            ConfigError: There is none, or it does not go with the settings.
        """
        if self._folder is None:
            folder = self._open(self.name)
            self._settings = self._complete(folder, self._given)
            self._folder = folder
        return self._folder

    @property
    def settings(self) -> Settings:
        """The settings in force: given, saved, or the model's own."""
        if self._settings is None:
            _ = self.folder
        return dict(self._settings or self._given)

    @property
    def id(self) -> str:
        """The model's kind, the revision of its files and the settings; equal wherever the folder is."""
        return self._id(self.folder, self.settings)

    def checked(self) -> ModelFolder:
        """Return the folder to load weights from; the files of a saved copy are compared with their checksums.

        Raises:
            StateError: A saved file is damaged or gone.
        """
        if self._saved and (damaged := self.folder.first_damaged()):
            raise _damaged(damaged, "not as it was saved")
        return self.folder

    def to_disk(self, path: Path) -> None:
        """Write settings and a self-contained copy of the model as the folder ``path``, whole or not at all."""
        name = self._saved_name or plain_name(self.name)
        record = {"id": self.id, "name": name, **self.settings, "files": self.folder.files}
        with replacing(Path(path)) as folder:
            (folder / FOLDER).mkdir(parents=True)
            self.folder.copy_to(folder / FOLDER)
            write_checked_json(folder / self._file, record)

    def from_disk(self, path: Path) -> None:
        """Take over a saved copy; its weights are read at first use, so the folder must stay.

        Raises:
            StateError: A file is missing, a setting was saved otherwise, or the config names another model: a folder
                that is here and differs, or another hub name. (A folder that is not here may be the one, since saved
                parts travel.)
        """
        path = Path(path)
        saved = read_checked_json(path / self._file)
        try:
            folder = ModelFolder(path / FOLDER, {str(name): str(digest) for name, digest in saved["files"].items()})
            settings = {setting: saved[setting] for setting in self._given}
            name = str(saved.get("name", ""))
        except (KeyError, AttributeError, TypeError) as error:
            raise _damaged(path / self._file, f"no {error}") from error
        for file in folder.files:
            if not (folder.path / file).is_file():
                raise _damaged(folder.path / file, "missing")
        for setting, value in settings.items():
            if (given := self._given[setting]) not in (None, value):
                raise StateError(Errors.MODEL_SETTING.format(path=path, setting=setting, saved=value, given=given))
        self._check_model(path, folder, settings, name)
        self._folder, self._settings, self._saved, self._saved_name = folder, settings, True, name

    def _check_model(self, path: Path, saved: ModelFolder, settings: Settings, name: str) -> None:
        """Refuse to pass a saved model off as another one that the config names."""
        made_with = self._folder if self._folder and not self._saved else self._local()
        if made_with is not None and made_with.files != saved.files:
            ids = {"saved": self._id(saved, settings), "given": self._id(made_with, settings)}
        elif made_with is None and name and not may_be(self.name, name):
            ids = {"saved": name, "given": self.name}
        else:
            return
        raise StateError(Errors.MISMATCH.format(path=path, what="the model", **ids))

    def _local(self) -> ModelFolder | None:
        """Open the folder or file of that name if it holds a model; unlike ``folder``, never look elsewhere."""
        try:
            return self._open(self.name) if os.path.exists(os.path.expanduser(self.name)) else None
        except (ConfigError, OSError):  # whatever it is, it is not what the name meant when a pipeline was saved
            return None

    def _id(self, folder: ModelFolder, settings: Settings) -> str:
        return ":".join([self.kind, f"{folder.label}@{folder.revision}", *map(str, settings.values())])

    @property
    def _file(self) -> str:
        return f"{self.kind}.json"


def _damaged(path: Path, reason: object) -> StateError:
    return StateError(Errors.FILE_DAMAGED.format(path=path, reason=reason, rebuild=REBUILD))
