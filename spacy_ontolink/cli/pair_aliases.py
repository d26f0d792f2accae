"""Aliases for ``ontolink pairs``: entities are selected, a language model is asked, the filter judges."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import ConfigError, Errors

if TYPE_CHECKING:
    from ..space import EntitySpace
    from ..training.alias_filter import Judged
    from ..training.corpus import MentionFile
    from ..training.pairs import Recipe
    from ..types import LLM

ANSWERS, ALIASES = "answers.jsonl", "aliases.jsonl"


class Wanted(NamedTuple):
    """What the command line asks for."""

    recipe: Recipe
    llm: LLM | None
    aliases: Path | None
    domain: str
    tau: float
    seed: int
    encoder: str | None

    @classmethod
    def checked(
        cls, setting: str, llm: str | None, aliases: Path | None, *, domain: str, tau: float, seed: int,
        encoder: str | None,
    ) -> Wanted:  # fmt: skip
        """Check what can be checked before anything is read.

        Raises:
            ConfigError: The setting needs aliases and there is nothing to get them from, or ``llm`` is no model.
            DataError: There is no file of aliases.
        """
        from ..training.pairs import SETTINGS
        from .llms import FORMS, make_llm

        recipe = SETTINGS[setting]
        if recipe.generates and llm is None and aliases is None:
            others = ", ".join(name for name, other in SETTINGS.items() if not other.generates)
            raise ConfigError(Errors.NEEDS_LLM.format(setting=setting, forms=FORMS, others=others))
        model = make_llm(llm) if recipe.generates and llm is not None else None
        return cls(recipe, model, aliases, domain, tau, seed, encoder)


class Gathered(NamedTuple):
    """All aliases, judged, with what there is to report."""

    aliases: Sequence[Judged] = ()
    facts: dict[str, Any] = {}
    skipped: dict[str, int] = {}
    files: Sequence[str] = ()


def gather(space: EntitySpace, found: MentionFile, wanted: Wanted, out: Path) -> Gathered:
    """Select entities, get their aliases and judge them."""
    if not wanted.recipe.generates:
        return Gathered()
    raise NotImplementedError
