"""64-bit hashes of texts, equal on every machine, and search among them.

A column of sorted hashes finds a text in a few page reads; the text itself is then compared, so that two texts of one
hash cannot be mistaken for each other.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

Hashes = npt.NDArray[np.uint64]


def hash_texts(texts: Iterable[str]) -> Hashes:
    """Hash each text to 64 bits, (n,)."""
    digests = [blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest() for text in texts]
    return np.frombuffer(b"".join(digests), "<u8")


def equal_range(hashes: Hashes, key: np.uint64) -> tuple[int, int]:
    """Return where ``key`` starts and stops in a sorted column of hashes."""
    start = int(np.searchsorted(hashes, key))
    if start == len(hashes) or hashes[start] != key:
        return start, start
    return start, int(np.searchsorted(hashes, key, side="right"))
