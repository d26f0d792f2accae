"""Find names by their normalised text, many at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..text import normalise
from ..types import Ints1d
from .columns import Table
from .hashing import hash_texts


def find_names(tables: Mapping[str, Table], texts: Sequence[str]) -> tuple[Ints1d, Ints1d]:
    """Return (number of the text, position of the name) of each match; per text, primary names come first."""
    hashes, positions = (tables["lookup"].values(column) for column in ("hash", "position"))
    wanted = [normalise(text) for text in texts]
    keys = hash_texts(wanted)
    starts = np.searchsorted(hashes, keys)
    counts = np.searchsorted(hashes, keys, side="right") - starts
    query = np.repeat(np.arange(len(texts), dtype=np.int32), counts)
    position = positions[np.arange(len(query)) + np.repeat(starts - (np.cumsum(counts) - counts), counts)]
    # Two texts may share a hash, so the names themselves are compared.
    found = tables["names"].take("text", position)
    same = [normalise(name) == wanted[number] for number, name in zip(query, found, strict=True)]
    keep = np.array(same, np.bool_)
    return query[keep], position[keep]
