"""Files of links, pairs and aliases that go over to a new release of an ontology along with a pipeline."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..documents import Successors, repoint_aliases, repoint_docs, repoint_rows
from ..errors import ConfigError, Errors
from ..files import replacing
from .console import count

if TYPE_CHECKING:
    from spacy.language import Language

    from ..kb import KnowledgeBase
    from ..kb.diff import Diff
    from ..space import Updated


class Job(NamedTuple):
    """A file of links, pairs or aliases, and what is written beside OUT."""

    kind: str
    path: Path
    target: Path
    lost: Path
    ask: Path


def jobs_of(out: Path, paths: Mapping[str, Sequence[Path]]) -> list[Job]:
    """Name what will be written, ``OUT.NAME`` and so on; no two files, and no input, may have one name."""
    jobs: list[Job] = []
    taken = {path.resolve(): path for some in paths.values() for path in some}
    for kind, some in paths.items():
        for path in some:
            name = path.name.removesuffix(".gz")
            first, stem = out.with_name(f"{out.name}.{name}"), f"{out.name}.{Path(name).stem}"
            job = Job(kind, path, first, out.with_name(f"{stem}.lost.jsonl"), out.with_name(f"{stem}.ask.jsonl"))
            for target in (job.target, job.lost, *([job.ask] if kind == "aliases" else [])):
                if (other := taken.setdefault(target.resolve(), path)) is not path:
                    raise ConfigError(Errors.SAME_NAMES.format(one=other, other=path, path=target))
            jobs.append(job)
    return jobs


def lead_on(
    stack: ExitStack, job: Job, before: Mapping[str, KnowledgeBase], updates: Mapping[str, Updated], nlp: Language
) -> dict[str, Any]:
    """Write one file with its ids brought up to date, and the lists beside it; return what happened."""
    follow = Successors([(kb, updates[name].diff.new if name in updates else kb) for name, kb in before.items()])
    target = stack.enter_context(replacing(job.target))
    facts: dict[str, Any] = {"kind": job.kind, "written": str(job.target)}
    with stack.enter_context(replacing(job.lost)).open("w", encoding="utf-8") as lost:
        if job.kind == "aliases":
            diffs = [done.diff for done in updates.values()]
            with target.open("w", encoding="utf-8", newline="\n") as file:
                ask = repoint_aliases(job.path, file, lost, follow, partial(_why, diffs))
            with stack.enter_context(replacing(job.ask)).open("w", encoding="utf-8") as file:
                file.writelines(json.dumps({"entity": id, "why": why}) + "\n" for id, why in ask.items())
            facts["ask_again"] = len(ask)
        elif job.path.suffix == ".spacy":
            repoint_docs(job.path, target, lost, follow, job.kind == "pairs", nlp.vocab)
        else:
            with target.open("w", encoding="utf-8", newline="\n") as file:
                repoint_rows(job.path, file, lost, follow, job.kind == "pairs")
    moved = {old: {"to": new, "times": times} for (old, new), times in follow.moved.items()}
    counts = {"lost": dict(follow.lost), "dropped": follow.dropped, "united": follow.united}
    return {**facts, "kept": follow.kept, "moved": moved, **counts}


def _why(diffs: Sequence[Diff], id: str) -> list[str]:
    return [why for diff in diffs for why in diff.why_touched(id)]


def summary(told: Mapping[str, Any]) -> str:
    """Say what happened to a file in a few words."""
    moved = sum(row["times"] for row in told["moved"].values())
    parts = [f"{count(told['kept'], 'id')} as before", f"{moved:,} led on", f"{sum(told['lost'].values()):,} lost"]
    if told["dropped"]:
        parts.append(f"{told['dropped']:,} left out")
    if told["united"]:
        parts.append(f"{count(told['united'], 'pair')} the same as another now")
    if "ask_again" in told:
        parts.append(f"{count(told['ask_again'], 'entity', 'entities')} to ask again")
    return ", ".join(parts)
