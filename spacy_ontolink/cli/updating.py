"""The steps of ``ontolink update``: read the next release as the last one was read, and tell what changed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ConfigError, Errors
from ..text import shown

if TYPE_CHECKING:
    from spacy.language import Language

    from ..kb import KnowledgeBase
    from ..kb.diff import Diff
    from ..space import Updated

TITLES = {
    "added": "added",
    "retired": "retired",
    "merged": "merged",
    "renamed": "renamed",
    "names_changed": "names changed",
    "reparented": "re-parented",
    "redefined": "definition changed",
    "touched": "touched",
}
_SHOWN, _WIDE = 3, 60


def loader_block(nlp: Language, name: str) -> dict[str, Any] | None:
    """Return the block of the config that describes the reader of a retriever, if there is one."""
    block = nlp.config["initialize"]["components"].get(name, {}).get("kb_loader")
    return block if isinstance(block, dict) else None


def as_built(kb: KnowledgeBase, given: Mapping[str, Any], paths: Sequence[Path]) -> dict[str, Any]:
    """Complete settings of ``read_ontology`` with those that the release before was read with, where none are given.

    Options that belong to another format than that of the files are left out.
    """
    from ..kb.readers import FORMATS
    from ..kb.readers.options import options_of
    from ..kb.readers.sniff import sniff

    before = kb.facts.get("reading", {})
    format = given["format"] or (saved if (saved := before.get("format")) in FORMATS else None)
    known = {name for path in paths for name in options_of(sniff(path, format))}
    kept = {name: value for name, value in before.get("options", {}).items() if name in known}
    columns = given["columns"] or before.get("columns") or None
    return {**given, "format": format, "columns": columns, "options": {**kept, **given["options"]}}


def tell_kept(settings: Mapping[str, Any], given: Mapping[str, Any]) -> str:
    """Name the settings that are used though they were not given; "" if there are none."""
    kept = {name: value for name, value in settings["options"].items() if name not in given["options"]}
    parts = [f"--option {name}={_text(value)}" for name, value in kept.items()]
    if settings["columns"] and not given["columns"]:
        parts.append(f"--columns {','.join(f'{role}={column}' for role, column in settings['columns'].items())}")
    if settings["format"] and not given["format"]:
        parts.append(f"--format {settings['format']}")
    return " ".join(parts)


def _text(value: Any) -> str:
    return str(value) if isinstance(value, str | bool) else ",".join(value)


def read_release(
    nlp: Language, names: Sequence[str], paths: Sequence[Path], settings: Mapping[str, Mapping[str, Any]]
) -> dict[str, KnowledgeBase]:
    """Read ontology files for some retrievers, each as its ``kb_loader`` says, once for those that say the same.

    Names that mentions have given the entities of a retriever are given to their heirs.

    Args:
        nlp: The pipeline.
        names: The retrievers.
        paths: The files.
        settings: By retriever, those of the reader of one without ``kb_loader``.

    Raises:
        ConfigError: A reader cannot be made.
        OntologyError: The files cannot be read.
    """
    from spacy.util import registry

    from ..kb.annotated import add_names, names_of
    from ..kb.readers import make_ontology_reader

    path = _path_setting([str(path) for path in paths])
    kbs: dict[str, KnowledgeBase] = {}
    result = {}
    for name in names:
        block = loader_block(nlp, name) and nlp.config.interpolate()["initialize"]["components"][name]["kb_loader"]
        key = json.dumps(block or settings[name], sort_keys=True)
        if key not in kbs:
            try:
                made = registry.resolve({"kb_loader": {**block, "path": path}})["kb_loader"] if block else None
            except ValueError as error:
                reason = f"kb_loader of {name}: {error}"
                raise ConfigError(Errors.BAD_CONFIG.format(path="the pipeline", reason=reason)) from error
            kbs[key] = made() if made else make_ontology_reader(path, **settings[name])()
        known = [*names_of(nlp.get_pipe(name).kb)]
        result[name] = add_names(kbs[key], known) if known else kbs[key]
    return result


def note_files(nlp: Language, name: str, paths: Sequence[Path]) -> None:
    """Name the files, without their folders, in the ``kb_loader`` of a retriever that has one."""
    if block := loader_block(nlp, name):
        block["path"] = _path_setting([f"./{shown(path.name)}" for path in paths])


def _path_setting(paths: list[str]) -> str | list[str]:
    return paths[0] if len(paths) == 1 else paths


def check_same_ontology(name: str, old: KnowledgeBase, new: KnowledgeBase, path: Path) -> None:
    """Refuse to take another ontology for another release of the one that is there.

    Raises:
        ConfigError: None of the old ids leads to an entity of the new one.
    """
    if not any(new.resolve(id) for id in old):
        prefixes = [", ".join(prefix or "no prefix" for prefix in islice(kb.prefixes(), 5)) for kb in (old, new)]
        raise ConfigError(Errors.OTHER_ONTOLOGY.format(path=path, name=name, old=prefixes[0], new=prefixes[1]))


def changes(diff: Diff, kind: str, most: int | None = None) -> list[dict[str, Any]]:
    """Describe the entities of a kind of change, or the first ones, as plain values."""
    old, new = diff.old, diff.new
    if kind in ("retired", "merged"):
        place = np.flatnonzero((diff.heirs >= 0) == (kind == "merged"))[:most]
        gone = diff.gone[place]
        rows = [{"id": id, "name": n} for id, n in zip(old.ids_of(gone), old.names_of(gone), strict=True)]
        if kind == "merged":
            heirs = diff.heirs[place]
            for row, id, n in zip(rows, new.ids_of(heirs), new.names_of(heirs), strict=True):
                row |= {"into": id, "into_name": n}
        return rows
    numbers = np.flatnonzero(getattr(diff, kind))[:most]
    describe = _DETAILS.get(kind, lambda old, new, id: {})
    ids = zip(new.ids_of(numbers), new.names_of(numbers), strict=True)
    return [{"id": id, "name": n, **describe(old, new, id)} for id, n in ids]


def _renamed(old: KnowledgeBase, new: KnowledgeBase, id: str) -> dict[str, Any]:
    return {"was": old[id].name}


def _names(old: KnowledgeBase, new: KnowledgeBase, id: str) -> dict[str, Any]:
    return _exchange(*([f"{name.text} ({name.scope})" for name in kb[id].synonyms] for kb in (old, new)))


def _parents(old: KnowledgeBase, new: KnowledgeBase, id: str) -> dict[str, Any]:
    return _exchange(old.parents(id), new.parents(id))


def _definitions(old: KnowledgeBase, new: KnowledgeBase, id: str) -> dict[str, Any]:
    return {"was": old[id].definition, "now": new[id].definition}


_DETAILS: dict[str, Callable[[KnowledgeBase, KnowledgeBase, str], dict[str, Any]]] = {
    "renamed": _renamed,
    "names_changed": _names,
    "reparented": _parents,
    "redefined": _definitions,
}


def _exchange(old: Sequence[str], new: Sequence[str]) -> dict[str, Any]:
    return {"gained": [x for x in new if x not in old], "lost": [x for x in old if x not in new]}


def facts(updated: Updated) -> dict[str, Any]:
    """Gather all of an update for a report in JSON."""
    diff = updated.diff
    return {
        "old": {"hash": diff.old.hash, "entities": len(diff.old), "names": diff.old.n_names},
        "new": {"hash": diff.new.hash, "entities": len(diff.new), "names": diff.new.n_names},
        "counts": diff.counts(),
        "encoded": {part: {"entities": int(mask.sum()), "share": round(float(mask.mean()), 4)}
                    for part, mask in updated.encoded.items()},
        "changes": {kind: changes(diff, kind) for kind in TITLES if kind != "touched"},
        "touched": diff.new.ids_of(np.flatnonzero(diff.touched)),
    }  # fmt: skip


def layout(name: str, updated: Updated) -> str:
    """Lay an update out for people: each kind of change with its count and first entities, and what was encoded."""
    return "\n".join(_lines(name, updated))


def _lines(name: str, updated: Updated) -> Iterator[str]:
    diff = updated.diff
    yield f"{name}: {len(diff.old):,} entities before, {len(diff.new):,} now"
    for kind, count in diff.counts().items():
        shown = changes(diff, kind, _SHOWN)
        more = "; …" if count > len(shown) else ""
        yield f"  {TITLES[kind]:<20}{count:>9,}  {'; '.join(map(_example, shown))}{more}".rstrip()
    for part, mask in updated.encoded.items():
        yield f"  {'encoded again':<20}{int(mask.sum()):>9,}  {100 * mask.mean():.1f} % of the entities, by {part}"


def _example(row: Mapping[str, Any]) -> str:
    if "into" in row:
        return f"{row['id']} → {row['into']} {_short(row['into_name'])}"
    if "lost" in row:
        signs = [f"+{item}" for item in row["gained"]] + [f"−{item}" for item in row["lost"]]
        return f"{row['id']} {_short(', '.join(signs))}"
    if "was" in row and "now" not in row:
        return f"{row['id']} {_short(row['was'])} → {_short(row['name'])}"
    return f"{row['id']} {_short(row['name'])}"


def _short(text: str) -> str:
    return text if len(text) <= _WIDE else f"{text[: _WIDE - 1]}…"
