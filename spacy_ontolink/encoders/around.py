"""What encoders that learn on top of another one share: what it reads, and a name for what was learned."""

from __future__ import annotations

import hashlib

from ..types import Encoder, Floats2d


class AroundEncoder:
    """Reads what the encoder inside reads, row by row."""

    encoder: Encoder

    @property
    def uses_context(self) -> bool:
        """Whether the encoder inside reads the text around a mention."""
        return getattr(self.encoder, "uses_context", False)

    @property
    def by_name(self) -> bool:
        """Whether rows depend on names alone."""
        return getattr(self.encoder, "by_name", False)


def digest_of(matrix: Floats2d) -> str:
    """Return a short digest of what was learned, for an encoder's id."""
    return hashlib.sha256(matrix.tobytes()).hexdigest()[:16]
