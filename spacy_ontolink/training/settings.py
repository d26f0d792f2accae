"""Settings of the training loop; needs no torch, so that a config can be checked before anything is loaded."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, Literal, get_args

from ..errors import check_setting
from ..models.devices import check_device
from ..models.part import LEAST

Schedule = Literal["cosine", "linear", "constant"]
DType = Literal["auto", "float32", "bfloat16"]
SCHEDULES, DTYPES = get_args(Schedule), get_args(DType)
_FREE = ("device", "checkpoint_minutes", "batch_size", "accumulate")  # a resumed run may change these


@dataclass(frozen=True)
class LoopSettings:
    """How to train.

    Attributes:
        epochs: Passes over the items.
        batch_size: Items in one call of ``Task.loss``.
        learning_rate: The highest rate, reached after warming up.
        warmup: Share of the training in which the rate rises from 0.
        schedule: How the rate falls afterwards, to 0 unless it is constant.
        weight_decay: Of AdamW, for matrices only.
        accumulate: Batches whose gradients make up one step.
        clip: The largest norm of a gradient; 0 leaves gradients as they are.
        dtype: What to compute in; "auto" is bfloat16 on a GPU that has it. Weights are float32 in any case.
        device: "auto", "cpu", "cuda" or the like.
        seed: Of all that is random.
        max_steps: Ends training early, the schedule with it; 0 is no limit.
        checkpoint_minutes: Time between checkpoints; there is one after every epoch, too.
    """

    block: ClassVar[str] = "training"

    epochs: int = 1
    batch_size: int = 32
    learning_rate: float = 2e-5
    warmup: float = 0.05
    schedule: Schedule = "cosine"
    weight_decay: float = 0.01
    accumulate: int = 1
    clip: float = 1.0
    dtype: DType = "auto"
    device: str = "auto"
    seed: int = 0
    max_steps: int = 0
    checkpoint_minutes: float = 10.0

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size", "accumulate"):
            check_setting(f"{self.block}.{name}", getattr(self, name), getattr(self, name) > 0, "a positive number")
        for name in ("weight_decay", "clip", "max_steps", "checkpoint_minutes", "seed"):
            check_setting(f"{self.block}.{name}", getattr(self, name), getattr(self, name) >= 0, "0 or more")
        check_setting(f"{self.block}.learning_rate", self.learning_rate, self.learning_rate > 0, "a number above 0")
        check_setting(f"{self.block}.warmup", self.warmup, 0 <= self.warmup < 1, "a share from 0 to below 1")
        schedules, dtypes = ("cosine", "linear", "constant"), ("auto", "float32", "bfloat16")
        check_setting(
            "training.schedule", self.schedule, self.schedule in schedules, '"cosine", "linear" or "constant"'
        )
        check_setting("training.dtype", self.dtype, self.dtype in dtypes, '"auto", "float32" or "bfloat16"')
        check_device(self.device)

    def fixed(self) -> dict[str, Any]:
        """Return the settings that must be equal for a run to be resumed."""
        return {name: value for name, value in asdict(self).items() if name not in _FREE}

    def rate(self, progress: float) -> float:
        """Return the learning rate when the share ``progress`` of the training is over."""
        if progress < self.warmup:
            return self.learning_rate * progress / self.warmup
        left = 1 - (progress - self.warmup) / (1 - self.warmup)
        shape = {"cosine": 0.5 - 0.5 * math.cos(math.pi * left), "linear": left, "constant": 1.0}
        return self.learning_rate * shape[self.schedule]


@dataclass(frozen=True)
class AlignmentSettings(LoopSettings):
    """How to train on the ontology's own names.

    Attributes:
        pairs_per_entity: The most names of an entity that are paired with another of its names in an epoch.
    """

    block: ClassVar[str] = "alignment"

    pairs_per_entity: int = 8

    def __post_init__(self) -> None:
        super().__post_init__()
        check_setting(
            "alignment.pairs_per_entity", self.pairs_per_entity, self.pairs_per_entity > 0, "a positive number"
        )


@dataclass(frozen=True)
class NamesModel:
    """A name encoder: one tower, a row for each name.

    Attributes:
        base: A sentence-transformers or Hugging Face folder or name.
        kind: Which of the retrievers this is.
        pooling: Of token vectors; null is what the model says, or the mean.
        max_length: The most tokens of a name; null is what the model says.
        temperature: Divides cosines in the loss.
        names: The most names of an entity that a mention is compared with in a batch; the best one counts.
    """

    base: str
    kind: Literal["names"] = "names"
    pooling: Literal["mean", "cls"] | None = None
    max_length: int | None = 64
    temperature: float = 0.05
    names: int = 2

    def __post_init__(self) -> None:
        check_setting("model.temperature", self.temperature, self.temperature > 0, "a number above 0")
        check_setting("model.names", self.names, self.names > 0, "a positive number")
        check_setting("model.max_length", self.max_length, (self.max_length or 3) > 2, "null or more than 2 tokens")


@dataclass(frozen=True)
class NgramsModel:
    """A name encoder that sums learned vectors of n-grams and words; it needs no model to start from.

    Attributes:
        base: A folder of such an encoder to go on from; null starts from the n-grams of the ontology's names.
        kind: Which of the retrievers this is.
        dimensions: Of its vectors; one to go on from has its own.
        dropout: Share of a name's n-grams that are left out in training.
        temperature: Divides cosines in the loss.
        names: The most names of an entity that a mention is compared with in a batch; the best one counts.
    """

    base: str | None = None
    kind: Literal["ngrams"] = "ngrams"
    dimensions: int = 256
    dropout: float = 0.0
    temperature: float = 0.1
    names: int = 2

    def __post_init__(self) -> None:
        check_setting("model.dimensions", self.dimensions, self.dimensions > 0, "a positive number")
        check_setting("model.dropout", self.dropout, 0 <= self.dropout < 1, "a share from 0 to below 1")
        check_setting("model.temperature", self.temperature, self.temperature > 0, "a number above 0")
        check_setting("model.names", self.names, self.names > 0, "a positive number")


@dataclass(frozen=True)
class TowersModel:
    """BLINK's bi-encoder: two towers, a row for each entity.

    Attributes:
        base: A bi-encoder's folder, or a transformer that both towers start from.
        kind: Which of the retrievers this is.
        mention_tokens: The most tokens of the mention and the text around it, special ones and markers included.
        entity_tokens: The same of the entity.
        similarity: Of the vectors in training: their dot product as in the paper, or their cosine, as when linking.
        temperature: Divides cosines in the loss; dot products are as they are.
    """

    base: str
    kind: Literal["bi-encoder"] = "bi-encoder"
    mention_tokens: int = 128
    entity_tokens: int = 128
    similarity: Literal["dot", "cosine"] = "dot"
    temperature: float = 0.05

    def __post_init__(self) -> None:
        check_setting("model.temperature", self.temperature, self.temperature > 0, "a number above 0")
        for name in ("mention_tokens", "entity_tokens"):
            check_setting(f"model.{name}", getattr(self, name), getattr(self, name) >= LEAST, f"{LEAST} or more")


@dataclass(frozen=True)
class SamplingSettings:
    """What a mention is told from.

    Attributes:
        strategy: What becomes of the neighbours of the right entity (Sci-ZSEL, Table 8).
        cap: The most random entities that make up for neighbours (H_cap).
    """

    strategy: Literal["BASE", "RM-PCS", "PC-POS"] = "PC-POS"
    cap: int = 30

    def __post_init__(self) -> None:
        check_setting("sampling.cap", self.cap, self.cap >= 0, "0 or more")


@dataclass(frozen=True)
class DataSettings:
    """What to learn from.

    Attributes:
        ontology: One or several ontology files, or the folder of a saved pipeline.
        pairs: Files of mentions with their ids, besides those of the command line.
        names: Files of annotated mentions that are taken as names of the ontology; a saved pipeline has its own.
        format: Of the ontology files; null tells it from their content.
        columns: Of ontology tables.
        lang: Language of the tokenizer that the pairs are read with; that of a saved pipeline is its own.
    """

    ontology: str | list[str]
    pairs: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    format: str | None = None
    columns: dict[str, str] | None = None
    lang: str = "en"
