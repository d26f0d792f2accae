"""Turn entities into the tables of a knowledge base, column by column."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..errors import Errors, OntologyError, Warnings
from ..types import Entity, Ints1d
from . import hierarchy, lifecycle, names
from .collector import CHUNK, ENTITY_FIELDS, Collected, Collector, release_unused, select, strings
from .columns import Csr, Table, make_table
from .hashing import hash_texts

logger = logging.getLogger(__name__)


class Report(Protocol):
    """What a builder needs of a reader's report: it counts a problem, or raises in strict mode."""

    def problem(self, kind: str, detail: str, line: int | None = None) -> None: ...


class Built(NamedTuple):
    """The tables, and what happened on the way."""

    tables: dict[str, Table]
    n_live: int
    n_names: int
    problems: dict[str, int]
    stop_synonyms: dict[str, int]


class Builder:
    """Build the tables from a stream of entities; ``name`` is for messages.

    Problems go to ``report``; without one they are counted here and logged as one warning.
    """

    def __init__(self, name: str, stop_synonyms: bool | Sequence[str], report: Report | None) -> None:
        self.name, self.stop_synonyms, self.report = name or "ontology", stop_synonyms, report
        self.problems: Counter[str] = Counter()
        self.first = ""

    def _problem(self, kind: str, detail: str) -> None:
        self.problems[kind] += 1
        self.first = self.first or f"{kind} ({detail})"
        if self.report is not None:
            self.report.problem(kind, detail)

    def build(self, entities: Iterable[Entity]) -> Built:
        """Read all entities and build the tables.

        Raises:
            OntologyError: No live entity has a name, or most have none. In a strict report, the first problem.
        """
        collector = Collector(self._problem)
        for entity in entities:
            collector.add(entity)
        data = collector.finish()
        rows, kept, n_live = self._rows(data)
        self._check(data, n_live, collector.nameless)
        records = {column: select(data.records[column], kept) for column in ENTITY_FIELDS}
        ids, targets = self._ids(records, n_live)
        table = names.arrange(data, rows, n_live, targets)
        table, stopped = names.drop_stop_synonyms(table, n_live, self.stop_synonyms)
        n_names = int(np.searchsorted(table.owner, n_live))
        tables = {
            "entities": make_table("entities", {**records, "prefix": _prefixes(records["id"]),
                      "first_name": np.searchsorted(table.owner, np.arange(len(kept))).astype(np.int32)}),
            "names": table.to_table(),
            "hierarchy": self._hierarchy(records, ids, n_live),
            "ids": ids,
            "lookup": table.lookup(n_names),
        }  # fmt: skip
        self._log(stopped)
        release_unused()
        return Built(tables, n_live, n_names, dict(self.problems), stopped)

    def _check(self, data: Collected, n_live: int, nameless: Counter[str]) -> None:
        """Refuse an ontology without names; nameless terms of *other* ontologies, met in is-a links, are ordinary."""
        path = getattr(self.report, "path", None) or self.name
        live = select(data.records["id"], np.flatnonzero(~data.obsolete))
        prefixes = _prefixes(live).dictionary.to_pylist() if nameless else []
        own = sum(count for prefix, count in nameless.items() if prefix in prefixes or not n_live)
        if own > n_live:
            raise OntologyError(Errors.MOSTLY_NAMELESS.format(path=path, nameless=own, total=n_live + own))
        if not n_live:
            detail = f"{len(data.obsolete)} obsolete, {own} without a name"
            raise OntologyError(Errors.NO_ENTITIES.format(path=path, detail=detail))

    def _log(self, stopped: dict[str, int]) -> None:
        if self.report is None and self.problems:
            counts = ", ".join(f"{kind}: {count}" for kind, count in self.problems.most_common())
            total = self.problems.total()
            logger.warning(
                Warnings.SKIPPED_CLAUSES.format(path=self.name, total=total, counts=counts, first=self.first)
            )
        if stopped:
            examples = ", ".join(f"'{text}' ({count} entities)" for text, count in list(stopped.items())[:5])
            logger.info(Warnings.STOP_SYNONYMS.format(name=self.name, total=len(stopped), examples=examples))

    def _rows(self, data: Collected) -> tuple[Ints1d, np.ndarray, int]:
        """Give each record its row: live entities first; of records with one id, the first live one makes the row.

        Returns:
            The row of each record, the record of each row, and the number of live entities.
        """
        order = np.argsort(data.obsolete, kind="stable")
        codes = data.records["id"].dictionary_encode().indices.to_numpy()[order]
        _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
        places = np.sort(first)
        rows = np.empty(len(order), np.int32)
        rows[order] = np.searchsorted(places, first)[inverse]
        kept = order[places]
        # A second record with the same name is what merged ontologies look like, not a problem.
        own_name = names.primary_keys(data)
        again = own_name != own_name[kept[rows]]
        for id_ in strings(data.records["id"], np.flatnonzero(again & (own_name != 0))):
            self._problem("duplicate id with another name", id_)
        return rows, kept, int(np.count_nonzero(~data.obsolete[kept]))

    def _ids(self, records: dict[str, Any], n_live: int) -> tuple[Table, Csr]:
        """Make the id table, and find the live entities that stand for each obsolete one."""
        import pyarrow as pa

        own, alt = records["id"], records["alt_ids"]
        texts = pa.concat_arrays([own, alt.flatten()])
        row = np.concatenate([np.arange(len(own), dtype=np.int32), _list_owners(alt)])
        # The first claim on an id wins: own ids, then alt ids of live entities, then those of obsolete ones.
        codes = texts.dictionary_encode().indices.to_numpy()
        first = np.sort(np.unique(codes, return_index=True)[1])
        unique, unique_row = select(texts, first), row[first]

        targets = self._targets(records, unique, unique_row, n_live)
        number = unique_row.copy()
        retired = number >= n_live
        number[retired] = lifecycle.first_targets(targets)[number[retired] - n_live]
        blocks = [hash_texts(unique[start : start + CHUNK].to_pylist()) for start in range(0, len(unique), CHUNK)]
        hashes = np.concatenate(blocks)
        order = np.argsort(hashes, kind="stable")
        columns = {"hash": hashes[order], "text": select(unique, order), "row": unique_row[order],
                   "alt": (first >= len(own)).astype(np.uint8)[order], "number": number[order]}  # fmt: skip
        return make_table("ids", columns), targets

    def _targets(self, records: dict[str, Any], known: Any, known_row: np.ndarray, n_live: int) -> Csr:
        """Follow obsolete entities: first to what replaces them by name, then to what holds their id as an alt id."""
        own, alt, replaced = records["id"], records["alt_ids"], records["replaced_by"]
        found = _positions(replaced.flatten(), known)
        target, offsets = np.where(found < 0, -1, known_row[found]), replaced.offsets.to_numpy()
        # Lists of Python numbers, for obsolete entities only: they are few.
        successors = [target[offsets[row] : offsets[row + 1]].tolist() for row in range(n_live, len(own))]
        holder, held = _list_owners(alt), _positions(alt.flatten(), own)
        for place in np.flatnonzero((held >= n_live) & (held != holder)):
            successors[held[place] - n_live].append(int(holder[place]))
        targets = lifecycle.live_targets(successors, n_live)
        nowhere = np.flatnonzero(np.diff(targets.indptr) == 0).tolist()
        for retired in nowhere:
            if reason := lifecycle.why_nowhere(retired, successors, n_live):
                self._problem(reason, own[retired + n_live].as_py())
        if nowhere:
            logger.warning(Warnings.NO_REPLACEMENT.format(name=self.name, total=len(nowhere)))
        return targets

    def _hierarchy(self, records: dict[str, Any], ids: Table, n_live: int) -> Table:
        """Resolve the parents of live entities to live entities; those that lead nowhere are dropped and counted."""
        import pyarrow as pa

        given = records["parents"].slice(0, n_live)
        texts = given.flatten()
        child = _list_owners(given)
        found = _positions(texts, ids.array("text"))
        parent = np.where(found < 0, -1, ids.values("number")[found])
        own = records["id"]
        for place in np.flatnonzero(parent < 0):
            self._problem("dangling parent", f"{own[int(child[place])].as_py()} is_a {texts[int(place)].as_py()}")
        alive = parent >= 0
        parents, children = hierarchy.link(
            child[alive], parent[alive], n_live, lambda number: str(own[number].as_py()), self._problem
        )
        arrays = [
            pa.ListArray.from_arrays(pa.array(rows.indptr), pa.array(rows.indices)) for rows in (parents, children)
        ]
        return make_table("hierarchy", dict(zip(("parents", "children"), arrays, strict=True)))


def _list_owners(lists: Any) -> Ints1d:
    """Return the row of each item of a list array."""
    return np.repeat(np.arange(len(lists), dtype=np.int32), np.diff(lists.offsets.to_numpy()))


def _positions(texts: Any, known: Any) -> np.ndarray:
    """Return where each text stands among distinct known ones, or -1."""
    import pyarrow.compute as pc

    return np.asarray(pc.index_in(texts, value_set=known).fill_null(-1).to_numpy())


def _prefixes(ids: Any) -> Any:
    """Return the part of each id before the first colon (none: an empty prefix), as labels."""
    import pyarrow.compute as pc

    return pc.replace_substring_regex(ids, pattern=r"(?s)^([^:]*):.*$|^[^:]*$", replacement=r"\1").dictionary_encode()
