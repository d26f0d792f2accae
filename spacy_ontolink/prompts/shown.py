"""What a reranker is shown of a mention and of a candidate: the same settings in a pipeline and in training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..errors import check_setting
from .entity_text import Caps


@dataclass(frozen=True)
class Shown:
    """How much is shown.

    Attributes:
        n_context: Tokens to either side of a mention.
        n_sents: Sentences to either side to which these are confined; null for no limit.
        n_synonyms: The most synonyms of a candidate, those closest to the mention first.
        n_parents: The most parents.
        n_children: The most children.
        n_siblings: The most siblings.
        definition: Whether its definition is shown.

    Raises:
        ConfigError: A setting makes no sense.
    """

    block: ClassVar[str] = ""
    """What stands before a setting's name in messages."""

    n_context: int = 64
    n_sents: int | None = None
    n_synonyms: int = 8
    n_parents: int = 3
    n_children: int = 5
    n_siblings: int = 5
    definition: bool = True

    def __post_init__(self) -> None:
        for name in ("n_context", "n_synonyms", "n_parents", "n_children", "n_siblings"):
            value = getattr(self, name)
            check_setting(self.block + name, value, value >= 0, "a number, 0 or more")
        n_sents = self.n_sents
        check_setting(f"{self.block}n_sents", n_sents, n_sents is None or n_sents >= 0, "null, or a number, 0 or more")

    @property
    def caps(self) -> Caps:
        """What is shown of a candidate."""
        return Caps(self.n_synonyms, self.n_parents, self.n_children, self.n_siblings, self.definition)
