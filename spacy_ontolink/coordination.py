"""Read coordinated mentions as the mentions they stand for: ``breast and ovarian cancer``, ``MEN types 1 and 2``."""

from __future__ import annotations

import re
from typing import NamedTuple

_JOINED = re.compile(r"\s*(?:,\s*)?(?<!\w)(?:and\s*/\s*or|as well as|and|or)(?!\w)\s*|\s*[/&+]\s*", re.IGNORECASE)
_LISTED = re.compile(r"\s*,\s*")
_MOST_PIECES = 5  # a longer list is a passage, not a mention
_MOST_SHARED = 4  # words


class Coordination(NamedTuple):
    """A mention cut where it is joined; pieces may share the last one's last words or the first one's first ones.

    Which words they share is open, so there are several readings: ``part`` writes one piece out.
    """

    pieces: tuple[tuple[str, ...], ...]

    @property
    def most_before(self) -> int:
        """How many first words the first piece could share with the others, leaving one to itself."""
        return min(len(self.pieces[0]) - 1, _MOST_SHARED)

    @property
    def most_after(self) -> int:
        """How many last words the last piece could share with the others, leaving one to itself."""
        return min(len(self.pieces[-1]) - 1, _MOST_SHARED)

    def part(self, number: int, before: int, after: int) -> str:
        """Write a piece out with the first piece's ``before`` first words and the last one's ``after`` last words."""
        last = len(self.pieces) - 1
        head = self.pieces[0][:before] if number else ()
        tail = self.pieces[last][len(self.pieces[last]) - after :] if number < last else ()
        return " ".join([*head, *self.pieces[number], *tail])


def coordination(text: str, last: int | None = None) -> Coordination | None:
    """Cut a mention at ``and``, ``or``, ``/``, ``&`` or ``+``, and at commas before these; None if it has none.

    A comma alone joins nothing: ontologies put words behind one, as in ``Tooth Agenesis, Selective, 6``.

    Args:
        text: The mention.
        last: How many of the last pieces to take; by default all, and none of a text with too many.
    """
    *listed, end = _JOINED.split(text)
    pieces = [piece for part in listed for piece in _LISTED.split(part)] + [end]
    words = tuple(tuple(piece.split()) for piece in pieces[-last if last else 0 :])
    return Coordination(words) if 1 < len(words) <= _MOST_PIECES and all(words) else None
