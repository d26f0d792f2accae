"""The text around a mention, cut so that the mention stands in the middle of what a model can read."""

from __future__ import annotations

import re
from collections.abc import Callable

from ..types import Mention

# A word with the white space before it; scripts without spaces (Han, kana, Thai, Lao, Khmer) are cut at each character.
_UNSPACED = "\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"\s*(?:[{_UNSPACED}]|[^\s{_UNSPACED}]+)")


def count_words(text: str) -> int:
    """Count words, as ``centred`` cuts them."""
    return sum(1 for _ in _WORD.finditer(text))


def centred(mention: Mention, budget: int, length: Callable[[str], int] = len) -> Mention:
    """Cut the context, at borders of words, so that all of ``left + text + right`` fits into a budget.

    Both sides get the same room; what one side does not need goes to the other. The mention itself is never cut, even
    when it alone is too long; then it stands without context.

    Args:
        mention: A mention with any amount of context.
        budget: The most that is allowed, in units of ``length``.
        length: Counts characters by default; give ``count_words``, or a tokenizer's count.
    """
    if length(mention.left + mention.text + mention.right) <= budget:
        return mention
    room = max(budget - length(mention.text), 0)
    lefts, rights = _lefts(mention.left), _rights(mention.right)
    left = _most(lefts, room // 2, length)
    right = _most(rights, room - length(lefts[left]), length)
    left = _most(lefts, room - length(rights[right]), length)
    # Lengths of parts need not add up: a tokenizer may write one text in more tokens than its parts.
    while (left or right) and length(lefts[left] + mention.text + rights[right]) > budget:
        left, right = (left - 1, right) if left > right else (left, right - 1)
    return Mention(mention.text, lefts[left], rights[right])


class _Cuts:
    """The beginnings or ends of a text by number of words, made when asked for."""

    def __init__(self, text: str, borders: list[int], ends: bool) -> None:
        self.text, self.borders, self.ends = text, borders, ends

    def __len__(self) -> int:
        return len(self.borders)

    def __getitem__(self, n_words: int) -> str:
        border = self.borders[n_words]
        return self.text[border:] if self.ends else self.text[:border]


def _rights(text: str) -> _Cuts:
    return _Cuts(text, [0, *_borders(text, lambda match: match.end())], ends=False)


def _lefts(text: str) -> _Cuts:
    starts = _borders(text, lambda match: match.end() - len(match[0].lstrip()))
    return _Cuts(text, [len(text), *reversed(starts)], ends=True)


def _borders(text: str, border: Callable[[re.Match[str]], int]) -> list[int]:
    return [border(match) for match in _WORD.finditer(text)]


def _most(cuts: _Cuts, room: int, length: Callable[[str], int]) -> int:
    """Return the most words that fit, by bisection."""
    low, high = 0, len(cuts) - 1
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if length(cuts[middle]) <= room else (low, middle - 1)
    return low
