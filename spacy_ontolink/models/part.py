"""What parts that read mentions and entities with a transformer have in common."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

from ..errors import check_setting
from .devices import check_device, pick_device, require_torch, runs_low
from .folder import ModelFolder
from .stored import Settings, StoredModel

LEAST = 16  # tokens: special tokens, markers, and room for a short mention

Part = TypeVar("Part", bound="TransformerPart")


class TransformerPart:
    """A part with a transformer: settings checked when made, weights loaded at first use, saved with its files.

    Attributes:
        kind: Begins the id and names the file of settings.
        what: What it is called in messages.
    """

    kind = ""
    what = ""

    def __init__(
        self, model: str, mention_tokens: int, entity_tokens: int, batch_size: int, device: str, dtype: str
    ) -> None:
        require_torch(self.what)
        check_device(device)
        check_setting("dtype", dtype, dtype in ("auto", "float32", "bfloat16"), '"auto", "float32" or "bfloat16"')
        check_setting("batch_size", batch_size, batch_size > 0, "a positive number")
        check_setting("mention_tokens", mention_tokens, mention_tokens >= LEAST, f"{LEAST} or more")
        check_setting("entity_tokens", entity_tokens, entity_tokens >= LEAST, f"{LEAST} or more")
        self.device, self.dtype, self.batch_size = device, dtype, batch_size
        lengths = {"mention_tokens": mention_tokens, "entity_tokens": entity_tokens}
        self.stored = StoredModel(self.kind, model, lengths, self._complete)
        self._loaded: Any = None

    @property
    def id(self) -> str:
        """The model's kind, the revision of its files, and the lengths; needs no torch."""
        return self.stored.id

    def load(self) -> Any:
        """Load the weights, if they are not loaded yet, and return what ``_open`` made of them.

        Raises:
            ConfigError: The folder cannot be loaded, or is of another kind.
            StateError: A saved folder is damaged or gone.
        """
        if self._loaded is None:
            self._loaded = self._open(self.stored.checked())
        return self._loaded

    def take(self, loaded: Any) -> None:
        """Compute with weights that are in training, in place of the folder's; ``loaded`` is what ``load`` returns."""
        self._loaded = loaded

    def to_disk(self, path: Path) -> None:
        """Write settings and a self-contained copy of the model's folder."""
        self.stored.to_disk(path)

    def from_disk(self: Part, path: Path) -> Part:
        """Take over a saved model; its weights are read and checked at first use, so the folder must stay.

        Raises:
            StateError: A file is missing, lengths were set otherwise, or it is another model than this one.
        """
        self.stored.from_disk(path)
        self._loaded = None
        return self

    def _place(self, network: Any) -> Any:
        """Move a network to the device, in the number type to compute in."""
        device = pick_device(self.device)
        return (network.bfloat16() if runs_low(self.dtype, device) else network).to(device)

    @staticmethod
    def _complete(folder: ModelFolder, given: Settings) -> Settings:
        """Refuse a folder that cannot be used with these settings; see ``StoredModel``."""
        raise NotImplementedError

    def _open(self, folder: ModelFolder) -> Any:
        """Load what the part computes with."""
        raise NotImplementedError
