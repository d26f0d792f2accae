"""Aliases for ``ontolink pairs``: entities are selected, a language model is asked, the filter judges."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import ConfigError, DataError, Errors, LLMError, Warnings, check_setting

if TYPE_CHECKING:
    from ..kb import KnowledgeBase
    from ..space import EntitySpace
    from ..training.alias_filter import Judged
    from ..training.alias_store import AliasStore
    from ..training.aliases import Alias, Generated
    from ..training.corpus import MentionFile
    from ..training.pairs import Recipe
    from ..training.selection import Selection
    from ..types import LLM, Encoder, Mention, Usage

ANSWERS, ALIASES, USAGE = "answers.jsonl", "aliases.jsonl", "usage.json"
BATCH = 16
"""Entities asked about at once, as many as a run that is killed or a model that gives up may lose the answers of."""
_log = logging.getLogger(__name__)


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
            ConfigError: The setting needs aliases and there is nothing to get them from, ``llm`` is no model, or
                ``domain`` is empty.
            DataError: There is no file of aliases.
        """
        from ..training.pairs import SETTINGS
        from .llms import FORMS, make_llm

        check_setting("domain", domain, bool(domain.strip()), 'words such as "animal science"')
        recipe = SETTINGS[setting]
        if recipe.generates and llm is None and aliases is None:
            others = ", ".join(name for name, other in SETTINGS.items() if not other.generates)
            raise ConfigError(Errors.NEEDS_LLM.format(setting=setting, forms=FORMS, others=others))
        if aliases is not None and not aliases.is_file():
            raise DataError(Errors.INPUT_MISSING.format(path=aliases))
        model = make_llm(llm) if recipe.generates and llm is not None else None
        return cls(recipe, model, aliases, domain, tau, seed, encoder)


@dataclass(slots=True)
class Gathered:
    """All aliases, judged, with what there is to report of them."""

    aliases: Sequence[Judged] = ()
    facts: dict[str, Any] = field(default_factory=dict)
    skipped: dict[str, int] = field(default_factory=dict)
    files: list[str] = field(default_factory=list)


def gather(space: EntitySpace, found: MentionFile, wanted: Wanted, out: Path) -> Gathered:
    """Select entities, get their aliases and judge them; write the judged aliases to a file.

    A language model that gives up costs only what it was not asked: the next run asks that.
    """
    from ..training.alias_filter import judge
    from ..training.alias_store import write_aliases
    from ..training.pair_report import alias_facts
    from ..training.selection import select
    from .console import step, track

    if not wanted.recipe.generates:
        return Gathered()
    kb, gathered = space.kb, Gathered()
    encoder = _encoder(wanted.encoder, space)  # before anything is asked, as its name may be wrong
    selection = select(space, track(_mentions(found, space), "Selecting entities"))
    given = _given(kb, wanted.aliases, gathered)
    own_names: list[str] = []
    if wanted.llm is not None:
        known = {alias.entity for alias in given}
        new = [number for number, id in _numbered(kb, selection) if id not in known]
        current = _Current(kb, gathered)
        for item in _ask(kb, new, wanted, out, found, gathered):
            if item.entity in kb and current(item):
                given.extend(item.aliases)
                own_names += [item.entity] if item.dropped.get("name") else []
    with step(f"Judging {len(given):,} aliases"):
        gathered.aliases = judge(kb, _distinct(given), encoder, tau=wanted.tau)
    write_aliases(out / ALIASES, gathered.aliases)
    gathered.files.append(ALIASES)
    chosen = {"by_name": selection.by_name, "by_retrieval": selection.by_retrieval}
    groups = {name: set(kb.ids_of(sorted(numbers))) for name, numbers in chosen.items()}
    gathered.facts |= {
        "selection": {**selection.facts(), "retriever": space.encoder.id},
        "aliases": {
            **alias_facts(kb, gathered.aliases, groups, own_names, wanted.tau),
            "filter": {"encoder": encoder.id, "tau": wanted.tau},
        },
    }
    return gathered


def _mentions(found: MentionFile, space: EntitySpace) -> Iterator[Mention]:
    """Yield the mentions to look up: each with its sentence, or where nobody reads that, those of one text in a row."""
    from ..types import Mention

    if not space.encoder.uses_context:
        yield from map(Mention, found.texts.elements())
        return
    for document in found:
        for one in document.mentions:
            start, end = one.start - one.sentence_start, one.end - one.sentence_start
            yield Mention(one.text, one.sentence[:start], one.sentence[end:])


class _Current:
    """Says whether an answer rests on the name and the definition that its entity has now; counts those that do not."""

    def __init__(self, kb: KnowledgeBase, gathered: Gathered) -> None:
        self._kb, self._skipped = kb, gathered.skipped

    def __call__(self, item: Generated) -> bool:
        from ..training.aliases import source_of

        same = item.entity not in self._kb or item.source == source_of(self._kb[item.entity])
        self._skipped["outdated_answers"] = self._skipped.get("outdated_answers", 0) + (not same)
        return same


def _numbered(kb: KnowledgeBase, selection: Selection) -> Iterator[tuple[int, str]]:
    return zip(selection.entities.tolist(), kb.ids_of(selection.entities), strict=True)


def _given(kb: KnowledgeBase, path: Path | None, gathered: Gathered) -> list[Alias]:
    """Read the aliases of a file that are of live entities."""
    from ..training.alias_filter import Judged
    from ..training.alias_store import read_aliases

    if path is None:
        return []
    items = read_aliases(path, _Current(kb, gathered))
    aliases = [item.alias if isinstance(item, Judged) else item for item in items]
    numbers = kb.numbers_of([alias.entity for alias in aliases])
    kept = [alias for alias, number in zip(aliases, numbers.tolist(), strict=True) if number >= 0]
    gathered.skipped["aliases_of_unknown_entities"] = len(aliases) - len(kept)
    return kept


def _distinct(aliases: Sequence[Alias]) -> list[Alias]:
    """Keep the first of the aliases of an entity that are equal."""
    from ..text import normalise

    return list({(alias.entity, normalise(alias.text)): alias for alias in reversed(aliases)}.values())[::-1]


def _ask(
    kb: KnowledgeBase, numbers: Sequence[int], wanted: Wanted, out: Path, found: MentionFile, gathered: Gathered
) -> AliasStore:
    """Ask about the entities that the folder has no answers for; a batch is on disk before the next one is asked."""
    from ..training.alias_store import AliasStore
    from ..training.aliases import settings_of
    from ..training.filling import AliasReport, fill
    from ..training.pair_report import llm_facts, usage_facts
    from .console import track

    llm: Any = wanted.llm
    settings: dict[str, Any] = {"domain": wanted.domain, "seed": wanted.seed}
    store, report = AliasStore(out / ANSWERS, settings_of(llm, **settings)), AliasReport()
    meter = Meter(llm, out / USAGE)
    asked = track(numbers, "Asking for aliases", len(numbers))
    try:
        for _ in fill(store, report, kb, asked, llm, batch_size=BATCH, **settings):
            meter.note()
    except LLMError as error:
        gathered.skipped["entities_not_asked"] = len(numbers) - report.answered - report.no_definition - report.failed
        _log.warning(Warnings.LLM_GAVE_UP.format(reason=error))
    finally:
        meter.note()
    gathered.skipped |= {
        "entities_without_definition": report.no_definition,
        "entities_without_answer": report.failed,
        "answers_without_alias": report.no_alias,
    }
    gathered.facts["llm"] = {
        "model": llm.id,
        "domain": wanted.domain,
        "seed": wanted.seed,
        "answers": len(store),
        "not_aliases": dict(report.dropped),
        **llm_facts(meter.total(), len(found), len(found.texts)),
        "this_run": usage_facts(llm.usage),
    }
    gathered.files.append(ANSWERS)
    return store


class Meter:
    """Adds up over several runs what a model was asked, in a small file beside the answers."""

    def __init__(self, llm: LLM, path: Path) -> None:
        from ..types import Usage

        self._llm, self._path, self._noted = llm, path, Usage()
        model, usage = self._saved() if path.is_file() else (None, Usage())
        self._before = usage if model == llm.id else Usage()

    def _saved(self) -> tuple[Any, Usage]:
        """Read the model and its tally; a damaged file costs the tally, not the run."""
        from ..types import Usage

        try:
            saved = json.loads(self._path.read_text(encoding="utf-8"))
            usage = Usage(**saved["usage"])
            if wrong := [value for value in usage if type(value) is not int or value < 0]:
                raise ValueError(f"{wrong[0]!r} is no count")
            return saved["model"], usage
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            _log.warning(Warnings.USAGE_LOST.format(path=self._path, reason=error))
            return None, Usage()

    def total(self) -> Any:
        """Return what was asked in this and the earlier runs."""
        from ..types import Usage

        return Usage(*(before + now for before, now in zip(self._before, self._llm.usage, strict=True)))

    def note(self) -> None:
        """Write it down, if it has changed."""
        from ..files import replacing, write_json

        if self._llm.usage != self._noted:
            self._noted = self._llm.usage
            with replacing(self._path) as path:
                write_json(path, {"model": self._llm.id, "usage": self.total()._asdict()})


def _encoder(name: str | None, space: EntitySpace) -> Encoder:
    """Return what judges aliases: the pipeline's own encoder, or another one, which is tried."""
    from ..encoders.lexical import make_lexical_encoder
    from ..encoders.sentence import make_sentence_encoder
    from ..types import Mention

    if name is None:
        return space.encoder
    encoder: Encoder = make_lexical_encoder() if name == "lexical" else make_sentence_encoder(name)
    encoder.fit(space.kb)
    encoder.encode_mentions([Mention(name)])
    return encoder
