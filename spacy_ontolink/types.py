"""The values that flow through the library and the contracts of its engines; readable in one sitting.

Shapes use these letters: ``B`` queries, ``N`` rows, ``E`` live entities of a KB, ``K`` candidates, ``D`` dimensions.
Entities are counted in *entity numbers*, ``0 … E-1`` in KB order; ``-1`` means "no entity".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from .kb import KnowledgeBase
    from .vectors import Vectors

Ints1d = npt.NDArray[np.int32]
Ints2d = npt.NDArray[np.int32]
Floats1d = npt.NDArray[np.float32]
Floats2d = npt.NDArray[np.float32]
Bools1d = npt.NDArray[np.bool_]

NIL = "NIL"
"""The id of a mention that was looked up and has no entity; an empty id means that nobody looked."""

Scope = Literal["NAME", "EXACT", "NARROW", "BROAD", "RELATED"]
"""How a name relates to its entity: its primary NAME, or the OBO scope of a synonym."""

SCOPES: tuple[Scope, ...] = ("NAME", "EXACT", "NARROW", "BROAD", "RELATED")
"""All scopes, the closest first; a KB stores a scope as its position here."""


@dataclass(frozen=True, slots=True)
class Synonym:
    """One more name of an entity, with its scope and (free) type, such as ``abbreviation``.

    ``count`` is how many annotated mentions gave it to the entity, where a knowledge base was told (``kb.annotated``).
    """

    text: str
    scope: Scope = "RELATED"
    type: str = ""
    count: int = 0


@dataclass(frozen=True, slots=True)
class Entity:
    """One entry of an ontology, as readers yield it and ``kb[id]`` returns it.

    ``parents`` are is-a parents. An obsolete entity is never a candidate: its id and names lead to ``replaced_by``.
    """

    id: str
    name: str
    synonyms: tuple[Synonym, ...] = ()
    definition: str = ""
    parents: tuple[str, ...] = ()
    alt_ids: tuple[str, ...] = ()
    obsolete: bool = False
    replaced_by: tuple[str, ...] = ()
    consider: tuple[str, ...] = ()
    xrefs: tuple[str, ...] = ()
    namespace: str = ""
    types: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Mention:
    """A stretch of text to be linked, with the text around it; encoders see nothing else of a document."""

    text: str
    left: str = ""
    right: str = ""


class EntityRows(NamedTuple):
    """What an encoder makes of a KB: ``N`` row vectors, and whose they are.

    ``owner[r]`` is the entity number of row ``r``, never decreasing. ``name[r]`` is the position of the row's text in
    the KB's name table (for one row per entity, its primary name). A definition's row follows that of the primary name,
    and repeats its position.
    """

    vectors: Vectors
    owner: Ints1d
    name: Ints1d


@dataclass(frozen=True, slots=True)
class Prompt:
    """What an LLM is asked: a chat of ``system`` (if any) and ``text``, through the model's own chat template.

    With a ``frame``, the model reads exactly ``frame[0] + text + frame[1]`` instead, the three parts tokenised apart
    and only ``text`` cut when too long: rerankers are trained on a template of their own.
    """

    text: str
    system: str = ""
    frame: tuple[str, str] | None = None


class Usage(NamedTuple):
    """What an LLM has done since it was made: calls answered and failed, answers from a cache, tokens."""

    calls: int = 0
    failed: int = 0
    cached: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0


class Reformulation(NamedTuple):
    """How an LLM puts a mention: its standard name and a broader term; "" where its answer was of no use."""

    standard_name: str = ""
    hypernym: str = ""


@dataclass(frozen=True, slots=True)
class EntityText:
    """What a reranker may read of a candidate; lists are capped, synonyms with those closest to the mention first."""

    name: str
    synonyms: tuple[str, ...] = ()
    definition: str = ""
    parents: tuple[str, ...] = ()
    children: tuple[str, ...] = ()
    siblings: tuple[str, ...] = ()


class Hits(NamedTuple):
    """The best ``K`` entities of each of ``B`` queries, best first: entity numbers, scores and matching rows, (B, K).

    A query with fewer than ``K`` entities is padded with entity -1, row -1 and score -inf.
    """

    entities: Ints2d
    scores: Floats2d
    rows: Ints2d


@runtime_checkable
class Reader(Protocol):
    """Reads an ontology file."""

    def __call__(self) -> KnowledgeBase: ...


@runtime_checkable
class Encoder(Protocol):
    """Turns mentions and entities into unit-norm vectors of one space, so that a dot product is a cosine.

    ``id`` names the model *and its state* (two encoders with one id give equal vectors); it goes into manifests, and
    rows made by an encoder of another id are refused. Constructors are cheap: weights load at first use.

    Two attributes are optional and spare work when an ontology is updated. ``by_name = True`` says that there is a row
    for each name, made of its text alone; otherwise an entity's rows may depend on the entity, its parents, children
    and siblings. ``parts`` gives, in the order of the blocks, the encoders that make one block each and their weights.
    """

    uses_context: bool
    """Whether the text around a mention changes its vector; if not, nobody needs to cut it out."""

    @property
    def id(self) -> str: ...

    def fit(self, kb: KnowledgeBase) -> None:
        """Learn what depends on the KB's names (for example idf). A pretrained encoder does nothing."""

    def encode_mentions(self, mentions: Sequence[Mention]) -> Vectors:
        """Encode mentions, (B, D). Blank text gives a zero vector."""

    def encode_entities(self, kb: KnowledgeBase, entities: Ints1d | None = None) -> EntityRows:
        """Encode all entities, or those whose numbers are given (ascending)."""

    def to_disk(self, path: Path) -> None:
        """Write all that ``from_disk`` needs into the folder ``path``; it must not reach outside it."""

    def from_disk(self, path: Path) -> Encoder:
        """Take over the state that ``to_disk`` wrote; returns self."""


@runtime_checkable
class Index(Protocol):
    """Finds the nearest rows, counting unique entities.

    A method ``introduce(kb, encoder)`` is optional: it is called with the knowledge base and the encoder's id before
    ``build`` and ``from_disk`` of an index that keeps more than vectors, such as ids for others to read.
    """

    def build(self, rows: EntityRows, n_entities: int) -> None:
        """Index ``rows``. The rows stay shared, not copied, where the engine allows it."""

    def search(self, queries: Vectors, k: int, allowed: Bools1d | None = None) -> Hits:
        """Find the best ``k`` *unique entities* per query; with ``allowed`` (E,), among those entities only.

        Only scores above 0 count. Ties are broken by row number, so results do not depend on batching.

        Raises:
            StateError: Nothing was built or opened yet.
        """

    def to_disk(self, path: Path) -> None: ...

    def from_disk(self, path: Path, rows: EntityRows, n_entities: int) -> Index:
        """Open what ``to_disk`` wrote, over the same rows; search settings are those of this object."""

    def describe(self) -> dict[str, object]:
        """Plain facts for the manifest: kind, parameters and, for approximate search, ``recall`` against exact."""


@runtime_checkable
class LLM(Protocol):
    """A large language model: greedy, seeded, in batches. Constructors are cheap: weights load at first use.

    One failed item costs that item only: its reason is logged (once per kind, with counts) and it is counted.
    """

    @property
    def id(self) -> str:
        """Names the model and all settings that change its answers; never a key, a user or a folder."""

    @property
    def usage(self) -> Usage: ...

    def generate(self, prompts: Sequence[Prompt]) -> list[str | None]:
        """Continue each prompt; None for an item that failed.

        Raises:
            LLMError: Nothing can come of any item: an unknown model, a refused key.
        """

    def choose(self, prompts: Sequence[Prompt], answers: Sequence[str]) -> Floats2d:
        """Return log-probabilities of the answers as the next token, (B, A); a row of NaN for an item that failed.

        Raises:
            LLMError: An answer is no single token of the model, or the backend did not report an answer's
                probability: a missing answer never counts as an improbable one. It has what was ``answered`` before.
        """

    def to_disk(self, path: Path) -> None:
        """Write what ``from_disk`` needs into the folder ``path``: local weights are copied, a server's are not."""

    def from_disk(self, path: Path) -> LLM: ...


@runtime_checkable
class Reformulator(Protocol):
    """Rewrites mentions, so that names that share no word with them can be found (PILOT, section 3.1)."""

    def reformulate(self, mentions: Sequence[Mention]) -> list[Reformulation]:
        """Rewrite each mention, read in its sentence; equal mentions are asked once."""

    def to_disk(self, path: Path) -> None: ...

    def from_disk(self, path: Path) -> Reformulator: ...


@runtime_checkable
class Reranker(Protocol):
    """Scores a mention's candidates by its context. Constructors are cheap: weights load at first use."""

    @property
    def id(self) -> str: ...

    def score(self, mentions: Sequence[Mention], candidates: Sequence[Sequence[EntityText]]) -> list[Floats1d]:
        """Score each mention's candidates, (K_i,): the higher the better, NaN for one that failed.

        Equal items are computed once. The context is cut to what the model can read, centred on the mention, which is
        never cut. Scores do not depend on how mentions are batched.
        """

    def to_disk(self, path: Path) -> None: ...

    def from_disk(self, path: Path) -> Reranker: ...
