"""Mentions in context and candidates as lines of a prompt; nothing in them can act as a part of it."""

from __future__ import annotations

from ..prompts.neutral import neutral
from ..types import EntityText, Mention

SIDE = 400  # characters of context on either side of a mention


def in_context(mention: Mention) -> str:
    """Return the text around a mention, marked ``[[…]]``, and the mention once more behind it."""
    left, right = neutral(mention.left[-SIDE:]), neutral(mention.right[:SIDE])
    text = neutral(mention.text)
    marked = " ".join(part for part in (_unmarked(left), f"[[{text}]]", _unmarked(right)) if part)
    return f"{marked} (mention: {text})"


def render(text: EntityText) -> str:
    """Return a candidate on one line: name (synonyms: …): definition [parents: …] [children: …; …] [siblings: …]."""
    parts = [neutral(text.name)]
    if text.synonyms:
        parts.append(f"(synonyms: {', '.join(map(neutral, text.synonyms))})")
    if text.definition:
        parts.append(f"- {neutral(text.definition)}")
    for kind in ("parents", "children", "siblings"):
        if names := getattr(text, kind):
            parts.append(f"[{kind}: {'; '.join(map(neutral, names))}]")
    return " ".join(parts)


def _unmarked(text: str) -> str:
    return text.replace("[[", "[ [").replace("]]", "] ]")
