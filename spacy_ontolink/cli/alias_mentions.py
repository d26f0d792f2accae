"""Mentions of generated aliases: a dictionary that knows names only would pass over nearly all of them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import Warnings

if TYPE_CHECKING:
    from ..training.corpus import CorpusDocument, MentionFile

Reader = Callable[[Sequence[str]], Iterator["CorpusDocument"]]
_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Search:
    """The mentions of a corpus, and how to find those of some aliases, too.

    Attributes:
        found: Those that are found without aliases.
        how: Where they come from; only ``dictionary`` has to look again, as the others do not depend on names.
        corpus: The file.
        read: Reads it again, looking for some texts beside the names.
        folder: For temporary files.
    """

    found: MentionFile
    how: str
    corpus: Path
    read: Reader
    folder: Path
    _warned: bool = False

    @contextmanager
    def including(self, texts: Sequence[str], what: str) -> Iterator[MentionFile]:
        """Yield the mentions of names and of these texts; a file that can be read once only gives those of names."""
        from ..training.corpus import MentionFile
        from .console import track

        if self.how != "dictionary" or not texts:
            yield self.found
        elif not (self.corpus.is_file() or self.corpus.is_dir()):
            if not self._warned:
                _log.warning(Warnings.READ_ONCE.format(path=self.corpus))
            self._warned = True
            yield self.found
        else:
            with MentionFile(self.folder) as more:
                more.write(track(self.read(texts), f"Finding mentions (names, {what})"))
                yield more
