"""How text is cut and written: above all the one normalisation that mentions and names share, to be compared alike."""

from __future__ import annotations

import re
import unicodedata

_GREEK_NAMES = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau upsilon phi "
    "chi psi omega"
).split()
_GREEK_LETTERS = "αβγδεζηθικλμνξοπρστυφχψω"
_TABLE: dict[int, str | None] = {
    ord(letter): f" {name} " for letter, name in zip(_GREEK_LETTERS, _GREEK_NAMES, strict=True)
}
_TABLE[ord("ς")] = " sigma "
# Soft hyphen, zero-width space/joiners, word joiner, BOM and direction marks carry no meaning of their own.
_TABLE.update(
    dict.fromkeys([0xAD, 0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF, *range(0x200E, 0x2010), *range(0x202A, 0x202F)])
)
# Every dash, hyphen and minus joins words; so does a space.
_TABLE.update(dict.fromkeys([0x2D, *range(0x2010, 0x2016), 0x2043, 0x2212, 0xFE58, 0xFE63, 0xFF0D], " "))
# Typographic quotes and primes to their ASCII form.
_TABLE.update({0x2018: "'", 0x2019: "'", 0x2032: "'", 0x201C: '"', 0x201D: '"', 0x2033: '"', 0x60: "'", 0xB4: "'"})

_ESCAPE = re.compile(r"\\([nWt]|[^\w\s])")
_BRIEF = 120  # characters
_SURROGATE = re.compile("[\ud800-\udfff]")
_FAST = re.compile(r"[a-z0-9]+(?: [a-z0-9]+)*")


def _unescape(match: re.Match[str]) -> str:
    return " " if match[1] in "nWt" else match[1]


def normalise(text: str) -> str:
    r"""Fold what should not make two names differ.

    NFKC (ligatures, full-width forms, composed accents), case, white space, dashes (as spaces), Greek letters (spelled
    out), soft hyphens and zero-width characters, typographic quotes, OBO escapes such as ``\,``. Lone surrogates become
    U+FFFD. The result is stable: normalising it again changes nothing.
    """
    if _FAST.fullmatch(text):
        return text
    while "\\" in text and (unescaped := _ESCAPE.sub(_unescape, text)) != text:
        text = unescaped
    if not text.isascii():
        text = _SURROGATE.sub("\ufffd", text)
        text = unicodedata.normalize("NFKC", text)
    return " ".join(unicodedata.normalize("NFKC", text.casefold()).translate(_TABLE).split())


def one_line(text: str) -> str:
    """Put text on one line; a lone surrogate, which no tokenizer and no server takes, becomes U+FFFD."""
    return " ".join(_SURROGATE.sub("\ufffd", text).split())


def printable(text: str, keep: str = "") -> str:
    """Replace by spaces what a terminal would obey, such as escape sequences in the names of an ontology.

    Args:
        text: Whatever a file says.
        keep: Characters that stay, such as line ends.
    """
    return "".join(character if character.isprintable() or character in keep else " " for character in text)


def shown(name: str) -> str:
    """Return the name of a file as text that can be written; bytes of it that are no UTF-8 are escaped."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def in_brief(error: Exception) -> str:
    """Return an error as text, without all of the bytes or values that it may be about."""
    return "not UTF-8" if isinstance(error, UnicodeError) else repr(error)[:_BRIEF]


def percent(value: float | None, unit: str = "") -> str:
    """Write a share as a percentage, by default without its sign."""
    return "–" if value is None else f"{100 * value:.1f}{unit}"
