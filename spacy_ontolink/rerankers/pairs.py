"""Mentions and their candidates as the rows that a cross-encoder reads."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ..models.marked import Arrays, EntityLine, MarkedTokenizer, Row, describe
from ..types import EntityText, Mention


def pair_rows(
    tokenizer: MarkedTokenizer, mentions: Sequence[Mention], candidates: Sequence[Sequence[EntityText]]
) -> list[list[Row]]:
    """Return a row for each mention and each of its candidates; equal texts are tokenised once."""
    own = list(dict.fromkeys(mentions))
    lines = list(dict.fromkeys(line_of(text) for texts in candidates for text in texts))
    first = dict(zip(own, tokenizer.mentions(own), strict=True))
    second = dict(zip(lines, tokenizer.entities(lines), strict=True))
    return [
        [tokenizer.row(first[mention], second[line_of(text)]) for text in texts]
        for mention, texts in zip(mentions, candidates, strict=True)
    ]


def mark_places(tokenizer: MarkedTokenizer, arrays: Arrays) -> npt.NDArray[np.int64]:
    """Return the positions of the mention's two markers in padded rows, (P, 2); text cannot act as a marker."""
    markers = (*tokenizer.start, *tokenizer.end)
    return np.stack([(arrays["input_ids"] == marker).argmax(1) for marker in markers], 1)


def line_of(text: EntityText) -> EntityLine:
    """Return the name of a candidate and what describes it."""
    return EntityLine(text.name, describe(text.definition, text.synonyms, text.parents))
