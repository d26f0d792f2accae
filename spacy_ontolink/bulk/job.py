"""What is to be done, as plain values that go to every worker."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from spacy.language import Language
from spacy.tokens import Doc

from ..errors import ConfigError, Errors, check_setting
from ..types import Usage


class Opened(NamedTuple):
    """A pipeline that is ready to link.

    Attributes:
        nlp: Makes the documents.
        link: Runs the pipeline over them.
        key: The span group with their mentions; None if these are the entities.
        usage: Tells what its language models have done so far.
    """

    nlp: Language
    link: Callable[[Iterable[Doc]], Iterable[Doc]]
    key: str | None
    usage: Callable[[], Usage] = Usage


Mentions = Literal["given", "ner", "noun-chunks", "dictionary"]
Open = Callable[[], Opened]
"""Opens the pipeline. It goes to other processes, so it must be a function of a module, or a ``partial`` of one."""


@dataclass(frozen=True)
class Job:
    """A run.

    Attributes:
        out: The folder to write; with Ray, all nodes must see it under this name.
        pipeline: What tells the pipeline from any other, such as a digest of its files.
        mentions: Where mentions come from; ``given`` reads those of the shards.
        spans_key: Where ``.spacy`` shards have theirs; None for the entities.
        k: Candidates to write for each mention.
        text: The column of Parquet shards with the text.
        id: The one with the id, if it exists.
        chunk_size: Rows of a shard for each output part.
        batch_size: Documents that go through the pipeline together.
        retries: How often a batch, and then a document, that killed its worker is tried again, and how often a language
            model that does not answer is asked again.
        timeout: Seconds after which a batch counts as hanging, and its worker ends itself; 0 for never.

    Raises:
        ConfigError: A number makes no sense.
    """

    out: Path
    pipeline: str
    mentions: Mentions = "given"
    spans_key: str | None = None
    k: int = 5
    text: str = "text"
    id: str = "id"
    chunk_size: int = 2000
    batch_size: int = 64
    retries: int = 2
    timeout: float = 0.0

    def __post_init__(self) -> None:
        for name in ("k", "chunk_size", "batch_size"):
            value = getattr(self, name)
            check_setting(name, value, value > 0, "1 or more")
        for name in ("retries", "timeout"):
            value = getattr(self, name)
            check_setting(name, value, value >= 0, "0 or more")

        for column, names in Counter((self.text, self.id, "mentions")).items():
            if names > 1:
                raise ConfigError(Errors.BULK_SAME_COLUMN.format(column=column))

    @property
    def named_id(self) -> str | None:
        """The column of ids, if somebody has named one, which is then to be there."""
        return None if self.id == type(self).id else self.id

    @property
    def given(self) -> bool:
        """Whether mentions are those of the shards."""
        return self.mentions == "given"

    @property
    def settings(self) -> dict[str, Any]:
        """What decides the output; the rest may change when a run goes on."""
        names = ("mentions", "spans_key", "k", "text", "id", "chunk_size")
        return {name: getattr(self, name) for name in names}
