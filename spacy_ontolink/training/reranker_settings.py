"""Settings of rerankers in training; needs no torch, so that a config can be checked before anything is loaded."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from ..errors import check_setting
from ..models.part import LEAST
from ..prompts.shown import Shown


@dataclass(frozen=True)
class RerankerData:
    """What to learn from.

    Attributes:
        pipeline: A saved pipeline, whose retriever finds candidates and whose surface stage, if any, scores them.
        pairs: Files of mentions with their ids, besides those of the command line.
        component: The retriever, if the pipeline has several.
        limit: The most mentions, chosen at random; null for all.
    """

    pipeline: str
    pairs: list[str] = field(default_factory=list)
    component: str | None = None
    limit: int | None = None

    def __post_init__(self) -> None:
        check_setting("data.limit", self.limit, self.limit is None or self.limit > 0, "null, or a positive number")


@dataclass(frozen=True)
class YesNoModel:
    """A language model that judges by yes or no, with a LoRA adapter on all its linear layers (PILOT, section 4.3).

    Attributes:
        base: The language model, a folder or hub name; its own weights stay as they are.
        kind: Which of the rerankers this is.
        max_length: The most tokens of a prompt.
        rank: Of the adapter's matrices.
        alpha: The adapter's output counts alpha / rank.
        dropout: Rate of the adapter's input; the paper names none.
        merge: Save the whole model with the adapter merged in, not the adapter alone.
        instruction: See ``make_yes_no``.
        yes: The same.
        no: The same.
        template: The same.
        scoring_batch: Prompts scored at a time when hard negatives are mined.
    """

    base: str
    kind: Literal["yes-no"] = "yes-no"
    max_length: int = 512
    rank: int = 16
    alpha: float = 32.0
    dropout: float = 0.0
    merge: bool = False
    instruction: str | None = None
    yes: str = "yes"
    no: str = "no"
    template: Literal["qwen3-reranker", "chat"] = "qwen3-reranker"
    scoring_batch: int = 16

    def __post_init__(self) -> None:
        for name in ("max_length", "rank", "scoring_batch"):
            check_setting(f"model.{name}", getattr(self, name), getattr(self, name) > 0, "a positive number")
        check_setting("model.alpha", self.alpha, self.alpha > 0, "a number above 0")
        _check_rate(self.dropout)


@dataclass(frozen=True)
class CrossEncoderModel:
    """BLINK's cross-encoder (Sci-ZSEL, A.4.1 and A.5).

    Attributes:
        base: A transformer, which gets markers and a random head; or the folder of one that has them.
        kind: Which of the rerankers this is.
        mention_tokens: The most tokens of the mention and the text around it, special ones and markers included.
        entity_tokens: The same of the candidate.
        dropout: Rate of transformer and head.
        scoring_batch: Pairs scored at a time when hard negatives are mined.
    """

    base: str
    kind: Literal["cross-encoder"] = "cross-encoder"
    mention_tokens: int = 64
    entity_tokens: int = 128
    dropout: float = 0.2
    scoring_batch: int = 64

    def __post_init__(self) -> None:
        for name in ("mention_tokens", "entity_tokens"):
            check_setting(f"model.{name}", getattr(self, name), getattr(self, name) >= LEAST, f"{LEAST} or more")
        check_setting("model.scoring_batch", self.scoring_batch, self.scoring_batch > 0, "a positive number")
        _check_rate(self.dropout)


@dataclass(frozen=True)
class ReadAndSelectModel(CrossEncoderModel):
    """Read-and-select (Sci-ZSEL, A.4.1 and A.5); the settings are those of the cross-encoder."""

    kind: Literal["read-and-select"] = "read-and-select"  # type: ignore[assignment]
    mention_tokens: int = 256
    entity_tokens: int = 256


@dataclass(frozen=True)
class PoolSettings(Shown):
    """What a reranker is shown: as many candidates, and as much of each, as it will be shown in its pipeline.

    Attributes:
        k: Candidates per mention; null is what the retriever gives.
    """

    block: ClassVar[str] = "pool."

    k: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_setting("pool.k", self.k, self.k is None or self.k > 1, "null, or 2 and more")


def _check_rate(dropout: float) -> None:
    check_setting("model.dropout", dropout, 0 <= dropout < 1, "a rate from 0 to below 1")
