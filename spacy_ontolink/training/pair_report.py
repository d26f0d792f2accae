"""What a run of pseudo-labelling cost and what came of it: counts, accuracy where gold is known, one table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..kb import KnowledgeBase
from ..types import SCOPES, Usage
from .alias_filter import TAU, Judged, count
from .aliases import Alias
from .corpus import CorpusDocument, CorpusMention
from .pairs import SOURCES, Ambiguous, Matcher, Pair, Paired, make_pairs

PER_MENTION = (
    "estimated: one call for each mention, each with as many input tokens as the measured mean of the calls made here"
)
KINDS = ("name", "synonym", "new")
Resolve = Callable[[str], str | None]


class PairCounts:
    """Counts pairs as they pass by, and how many of them agree with the gold ids of their mentions.

    Attributes:
        mentions: Mentions seen; ``unmatched`` fit no entity, ``ambiguous`` several, ``paired`` have a pair.
        pairs: Pairs by source; ``scopes``: pairs by the scope of the name.
        judged, right: Pairs by source whose mention has gold ids, and those that agree with one of them.
        weight, right_weight: Sums of weights of those.
        unknown_gold: Judged pairs whose gold ids the knowledge base does not know; they count as wrong.
    """

    def __init__(self, resolve: Resolve) -> None:
        self._resolve, self._live = resolve, {"": ""}
        self.mentions = self.unmatched = self.ambiguous = self.paired = self.unknown_gold = 0
        self.pairs: Counter[str] = Counter()
        self.scopes: Counter[str] = Counter()
        self.judged: Counter[str] = Counter()
        self.right: Counter[str] = Counter()
        self.weight = self.right_weight = 0.0
        self.entities: set[str] = set()

    def watch(self, stream: Iterable[Paired]) -> Iterator[Paired]:
        """Count what passes."""
        for paired in stream:
            self.mentions += len(paired.fits)
            self.unmatched += sum(not found for found in paired.fits)
            self.ambiguous += sum(len(found) > 1 for found in paired.fits)
            self.paired += len({id(pair.mention) for pair in paired.pairs})
            for pair in paired.pairs:
                self._count(pair)
            yield paired

    def _count(self, pair: Pair) -> None:
        self.pairs[pair.source] += 1
        self.scopes[pair.scope] += 1
        self.entities.add(pair.entity)
        if not pair.mention.gold:
            return
        gold = self._gold(pair.mention)
        right = pair.entity in gold
        self.judged[pair.source] += 1
        self.right[pair.source] += right
        self.weight += pair.weight
        self.right_weight += right * pair.weight
        self.unknown_gold += not gold

    def _gold(self, mention: CorpusMention) -> set[str]:
        """Return the ids that the gold ids stand for today."""
        for id in mention.gold:
            if id not in self._live:
                self._live[id] = self._resolve(id) or ""
        return {self._live[id] for id in mention.gold} - {""}

    def accuracy(self) -> dict[str, Any] | None:
        """Return the share of right pairs, in all and by source; None where no pair has gold to be judged by."""
        judged, right = self.judged.total(), self.right.total()
        if not judged:
            return None
        return {
            "accuracy": right / judged,
            "right": right,
            "judged": judged,
            "weighted_accuracy": self.right_weight / self.weight,
            "with_unknown_gold": self.unknown_gold,
            "by_source": {
                source: {"accuracy": self.right[source] / n, "right": self.right[source], "judged": n}
                for source in SOURCES
                if (n := self.judged[source])
            },
        }

    def facts(self) -> dict[str, Any]:
        """Return the counts as plain values."""
        return {
            "total": self.pairs.total(),
            "by_source": {source: self.pairs[source] for source in SOURCES},
            "by_scope": {scope: self.scopes[scope] for scope in (*SCOPES, "ALIAS") if self.scopes[scope]},
            "mentions": self.paired,
            "share_of_mentions": share(self.paired, self.mentions),
            "ambiguous_mentions": self.ambiguous,
            "entities": len(self.entities),
        }


def count_pairs(stream: Iterable[Paired], resolve: Resolve) -> PairCounts:
    """Count pairs without keeping them."""
    counts = PairCounts(resolve)
    for _ in counts.watch(stream):
        pass
    return counts


def filter_effect(
    kb: KnowledgeBase,
    before: tuple[Iterable[CorpusDocument], Sequence[Alias]],
    after: tuple[Iterable[CorpusDocument], Sequence[Alias]],
    ambiguous: Ambiguous,
) -> dict[str, Any]:
    """Compare P_Gen with all aliases to P_Gen with those that the filter kept (Sci-ZSEL, table 3).

    Args:
        kb: The ontology.
        before: The documents, with the mentions that are to be paired if no alias is dropped, and all aliases.
        after: The same of the aliases that were kept.
        ambiguous: What becomes of mentions that fit several entities.
    """
    effect = {}
    for name, (documents, aliases) in (("before", before), ("after", after)):
        matcher = Matcher(kb, {"p1", "p2"}, aliases)
        counts = count_pairs(make_pairs(documents, matcher, "gen", ambiguous), kb.resolve)
        effect[name] = {"pairs": counts.pairs.total(), "accuracy": counts.accuracy()}
    return effect


def alias_facts(
    kb: KnowledgeBase,
    aliases: Sequence[Judged],
    groups: Mapping[str, Collection[str]],
    own_names: Collection[str] = (),
    tau: float = TAU,
) -> dict[str, Any]:
    """Return how many aliases equal their entity's name, a curated synonym of it, or neither; and what was kept.

    Args:
        kb: The ontology.
        aliases: All aliases with what the filter says of them.
        groups: Ids of entities by how they were selected (Sci-ZSEL, table 2).
        own_names: Ids of the entities whose own name was answered, too; that is no alias, and counts in
            ``equal_to`` only.
        tau: What the aliases were judged with; ``failed_condition`` counts what each condition is against, be it the
            reason that ``dropped`` counts or not.
    """
    kinds = _kinds(kb, aliases)
    of_entity = [(judged.alias.entity, kind) for judged, kind in zip(aliases, kinds, strict=True)]
    of_entity += [(id, "name") for id in own_names]
    everything: dict[str, Collection[str] | None] = {"all": None, **groups}
    kept = [kind for judged, kind in zip(aliases, kinds, strict=True) if judged.kept]
    against = count(aliases, tau)
    dropped = Counter(judged.reason for judged in aliases if not judged.kept)
    return {
        "total": len(aliases),
        "entities": len({judged.alias.entity for judged in aliases}),
        "kept": len(kept),
        "retained_share": share(len(kept), len(aliases)),
        "dropped": {reason: dropped[reason] for reason in ("anchor", "drift")},
        "failed_condition": {"anchor": against.anchor, "drift": against.drift, "both": against.both},
        "equal_to": {
            name: _kind_shares([kind for id, kind in of_entity if ids is None or id in ids])
            for name, ids in everything.items()
        },
        "kept_equal_to": _kind_shares(kept),
    }


def _kinds(kb: KnowledgeBase, aliases: Sequence[Judged]) -> list[str]:
    """Say of each alias whether it equals the entity's "name", a "synonym" of it, or is "new"."""
    kinds = ["new"] * len(aliases)
    owners = kb.numbers_of([judged.alias.entity for judged in aliases])
    numbers, positions = kb.exact_names([judged.alias.text for judged in aliases])
    for number, position in zip(numbers.tolist(), positions.tolist(), strict=True):
        if kb.name_owner[position] == owners[number] and kinds[number] == "new":
            kinds[number] = "name" if SCOPES[kb.name_scope[position]] == "NAME" else "synonym"
    return kinds


def _kind_shares(kinds: Sequence[str]) -> dict[str, Any]:
    counts = Counter(kinds)
    values = {
        kind: {"n": counts[kind], "share": share(counts[kind], len(kinds))} for kind in ("name", "synonym", "new")
    }
    return {"n": len(kinds), **values}


def llm_facts(usage: Usage, mentions: int, distinct: int) -> dict[str, Any]:
    """Return what the language model did, as it counted itself, beside an estimate for one call per mention."""
    counts = usage_facts(usage)
    tokens = counts["prompt_tokens"]
    mean = tokens / usage.calls if usage.calls and tokens is not None else None
    return {
        "calls": usage.calls,
        "failed": usage.failed,
        "answers_from_cache": usage.cached,
        "input_tokens": tokens,
        "output_tokens": counts["completion_tokens"],
        "input_tokens_per_call": mean,
        "one_call_per_mention": {
            "how": PER_MENTION,
            "calls": mentions,
            "input_tokens": None if mean is None else round(mean * mentions),
            "calls_for_distinct_texts": distinct,
            "input_tokens_for_distinct_texts": None if mean is None else round(mean * distinct),
        },
    }


def usage_facts(usage: Usage) -> dict[str, int | None]:
    """Return the counts; None for tokens where there were calls and the server counted none, as no prompt is empty."""
    known = bool(usage.prompt_tokens or not usage.calls)
    tokens = (usage.prompt_tokens, usage.completion_tokens) if known else (None, usage.completion_tokens or None)
    return {**usage._asdict(), "prompt_tokens": tokens[0], "completion_tokens": tokens[1]}


def share(part: int, whole: int) -> float | None:
    """Return a share, None of nothing."""
    return part / whole if whole else None
