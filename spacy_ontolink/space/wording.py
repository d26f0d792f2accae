"""What the ontology's own synonyms say of words that differ: which ones matter, and which stand for one another."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize

from ..files import open_tensors, write_tensors
from ..kb import KnowledgeBase
from ..types import Floats1d, Floats2d, Ints1d, Ints2d
from .differences import BUCKETS, LOST, PLAIN, WordSet, WordSets, differences
from .entity_space import EntitySpace
from .retrieval import Query

_FILE = "wording.safetensors"
_NAMES, _LEAST = 3000, 50  # to learn from: at most, and at least
_POOL, _PER_ENTITY = 16, 8  # candidates of each, and names of a candidate to learn from
_SEEN = 3  # names that must meet a feature: what rarer words are worth, the plain ones learn for all unknown words
_PENALTY, _PENALTY_PLAIN, _STEPS = 0.5, 1e-3, 30
DEPTH = 16
"""Candidates whose words are compared: the first ones, since others hardly ever get to the first place."""


class Wording:
    """Says how probable each of a mention's candidates is, by the words in which it differs from their names.

    A log-linear model of ``differences``. It is learned from names of the ontology, each of which must be told, by the
    other names of its entity, from what the retriever finds near it: "width" for "depth" is another entity, "glandular
    crypt" for "crypt of Lieberkühn" is not.

    Attributes:
        kb: The hash of the knowledge base that it was learned from.
        weights: Of each feature, (BUCKETS,); None where there were too few names to learn from.
    """

    def __init__(self, kb: str, weights: Floats1d | None) -> None:
        self.kb, self.weights = kb, weights

    @classmethod
    def learn(cls, space: EntitySpace) -> Wording:
        """Learn from some thousand names, drawn by chance, but always the same ones."""
        kb, rows = space.kb, space.plain
        several = np.bincount(kb.name_owner, minlength=len(kb)) > 1
        of_names = np.flatnonzero(several[rows.owner] & (np.diff(rows.name, prepend=-1) != 0))
        drawn = np.random.default_rng(0).permutation(of_names)[:_NAMES]
        if len(drawn) < _LEAST:
            return cls(kb.hash, None)
        near = space.search(rows.vectors.take(drawn), _POOL).entities
        names, compared = _Names(kb), _Pairs()
        for text, own, entities in zip(
            kb.texts_of(rows.name[drawn]), rows.owner[drawn].tolist(), near.tolist(), strict=True
        ):
            wanted = names.sets(text)
            others = [name for name in names.of(own) if name != wanted][:_PER_ENTITY]
            if wanted and others:
                compared.add(wanted, others, True)
                for entity in entities:
                    if entity >= 0 and entity != own:
                        compared.add(wanted, names.of(entity)[:_PER_ENTITY], False)
                compared.close()
        return cls(kb.hash, compared.fit(names.sets))

    def scores(self, kb: KnowledgeBase, texts: Sequence[str], candidates: Ints2d) -> Floats2d:
        """Return log-probabilities of candidates, best ones first, (B, K); -inf where there is none.

        The words of ``DEPTH`` candidates are compared; those behind them are as probable as the least of these. All are
        multiplied by the share of the mention's characters that stand in words of the first candidate: what was found
        by other means than words, such as the vectors of a model, is not for words to judge.
        """
        table = np.where(candidates >= 0, np.float32(0), np.float32(-np.inf))
        if self.weights is None:
            return table
        names, compared, at = _Names(kb), _Pairs(), []
        for row, (text, own) in enumerate(zip(texts, candidates[:, :DEPTH].tolist(), strict=True)):
            words = names.sets(text)
            for place, entity in enumerate(own if words else ()):
                if entity >= 0:
                    compared.add(words, names.of(entity), False)
                    at.append((row, place))
        if at:
            row, place = np.transpose(at)
            features = differences(names.sets.vocabulary(), compared.mentions, compared.names)
            lost = np.minimum.reduceat(features[:, LOST].toarray().ravel(), compared.starts)
            share = np.zeros((len(table), 1), np.float32)
            share[row[place == 0], 0] = 1 - lost[place == 0]
            table[row, place] = np.logaddexp.reduceat(features @ self.weights, compared.starts)
            first = table[:, :DEPTH]
            total = np.logaddexp.reduce(first, axis=1, keepdims=True)
            least = np.where(np.isfinite(first), first, np.inf).min(axis=1, keepdims=True)
            table = np.where(np.arange(table.shape[1]) < DEPTH, table, np.where(candidates >= 0, least, -np.inf))
            table = np.subtract(table, total, out=table, where=np.isfinite(total))
            table = np.multiply(table, share, out=table, where=candidates >= 0)
        return np.asarray(table, np.float32)

    def of_queries(self, kb: KnowledgeBase, queries: Sequence[Query], candidates: Ints2d) -> Floats2d:
        """Return ``scores`` of queries: of the long form where a mention is an abbreviation."""
        return self.scores(kb, [(query.long_form or query.mention).text for query in queries], candidates)

    def to_disk(self, path: Path) -> None:
        """Write the weights that are not 0, and the hash."""
        path.mkdir(parents=True, exist_ok=True)
        weights = np.empty(0, np.float32) if self.weights is None else self.weights
        feature = np.flatnonzero(weights).astype(np.int32)
        hash_ = np.frombuffer(self.kb.encode(), np.uint8)
        write_tensors(path / _FILE, {"feature": feature, "weight": weights[feature], "kb": hash_})

    @classmethod
    def from_disk(cls, path: Path) -> Wording:
        """Open what ``to_disk`` wrote.

        Raises:
            StateError: It is missing or damaged.
        """
        arrays = open_tensors(path / _FILE)
        weights = np.zeros(BUCKETS, np.float32)
        weights[arrays["feature"]] = arrays["weight"]
        return cls(bytes(arrays["kb"]).decode(), weights if len(arrays["feature"]) else None)


class _Names:
    """The word sets of entities' names, each once: names often differ in the order of words only."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb, self._known = kb, dict[int, list[WordSet]]()
        self.sets = WordSets()

    def of(self, entity: int) -> list[WordSet]:
        """Return those of an entity."""
        found = self._known.get(entity)
        if found is None:
            first, stop = np.searchsorted(self._kb.name_owner, [entity, entity + 1]).tolist()
            found = self._known[entity] = list(dict.fromkeys(map(self.sets, self._kb.name_texts(first, stop))))
        return found


class _Pairs:
    """Pairs of a mention and a name, the names of a candidate one after the other, and the candidates of a mention."""

    def __init__(self) -> None:
        self.mentions: list[WordSet] = []
        self.names: list[WordSet] = []
        self.starts: list[int] = []
        self._right: list[bool] = []
        self._groups: list[int] = [0]

    def add(self, mention: WordSet, names: Sequence[WordSet], right: bool) -> None:
        """Take the names of a candidate in."""
        self.starts.append(len(self.mentions))
        self.mentions += [mention] * len(names)
        self.names += names
        self._right += [right] * len(names)

    def close(self) -> None:
        """Say that all candidates of a mention are there."""
        self._groups.append(len(self.mentions))

    def fit(self, sets: WordSets) -> Floats1d | None:
        """Return the weights that make the right names most probable, of all names of a mention's candidates."""
        starts = np.array(self._groups[:-1])
        if len(starts) < _LEAST:
            return None
        features = differences(sets.vocabulary(), self.mentions, self.names)
        group = np.repeat(np.arange(len(starts)), np.diff(self._groups))
        used = _met(features, group)
        features = features[:, used].tocsr()
        turned, right = features.T.tocsr(), np.array(self._right)
        penalty = np.where(used < PLAIN, _PENALTY_PLAIN, _PENALTY)

        def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
            scores = features @ weights.astype(np.float32)
            exp = np.exp(scores - np.maximum.reduceat(scores, starts)[group])
            every = np.add.reduceat(exp, starts)
            wanted = np.maximum(np.add.reduceat(exp * right, starts), np.finfo(np.float32).tiny)
            slope = turned @ (exp / every[group] - exp * right / wanted[group])
            value = float(np.log(every / wanted).sum()) + 0.5 * float(penalty @ weights**2)
            return value, slope + penalty * weights

        found = minimize(loss, np.zeros(len(used)), jac=True, method="L-BFGS-B", options={"maxiter": _STEPS})
        weights = np.zeros(BUCKETS, np.float32)
        weights[used] = found.x
        return weights


def _met(features: sp.csr_matrix, group: np.ndarray) -> Ints1d:
    """Return the features to learn: the plain ones, and those that enough of the names, numbered by row, meet."""
    of_name = np.repeat(group, np.diff(features.indptr)).astype(np.int64)
    met = np.unique(of_name * BUCKETS + features.indices)
    names = np.bincount(met % BUCKETS, minlength=BUCKETS)
    names[:PLAIN] = _SEEN
    return np.flatnonzero(names >= _SEEN).astype(np.int32)
