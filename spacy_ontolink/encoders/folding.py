"""Words that differ in spelling only, written alike: British and American, Roman numerals and digits, ordinals.

Mentions and names are folded alike, so a rule that bends a word that it was not meant for does no harm.
"""

from __future__ import annotations

import re

_SPELLING = re.compile(
    r"ae|oe|sulph|(?<=\w\w)(?:our|[bt]re(?!\w)|is(?=ation|ing|e[sd]?(?!\w)))"  # anaemia, tumour, fibre, generalised
)
_AMERICAN = {"ae": "e", "oe": "e", "sulph": "sulf", "our": "or", "tre": "ter", "bre": "ber", "is": "iz"}

_ROMAN = "i ii iii iv v vi vii viii ix - xi xii xiii xiv xv xvi xvii xviii xix xx".split()  # x is a chromosome
_ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth".split()
_VALUES = {word: str(value) for words in (_ROMAN, _ORDINALS) for value, word in enumerate(words, 1) if word != "-"}
_LONGEST_FIRST = sorted(_VALUES, key=len, reverse=True)
_NUMBER = re.compile(rf"(?<!\S)({'|'.join(_LONGEST_FIRST)})([a-d])?(?!\S)")  # a letter as in type IIb


def fold(words: str) -> str:
    """Fold normalised words that have single spaces between them."""
    words = _SPELLING.sub(lambda match: _AMERICAN[match[0]], words)
    return _NUMBER.sub(lambda match: f"{_VALUES[match[1]]} {match[2]}" if match[2] else _VALUES[match[1]], words)
