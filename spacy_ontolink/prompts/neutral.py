"""Text from ontologies and documents, made unable to act as a part of the prompt around it."""

from __future__ import annotations

import re

# Anything shaped like markup that a template or a tokenizer may treat as its own: <|im_end|>, </think>, <s>,
# <Document>:, [INST], [SEP], «<<SYS>>». A "<" before a digit or a space ("p < 0.05") is left as it is.
_TAG = re.compile(r"<(?=[|/!?A-Za-z_<\uff5c])")
_BRACKET = re.compile(r"\[(/?[A-Z]{3,})\]")
_SURROGATE = re.compile("[\ud800-\udfff]")


def neutral(text: str) -> str:
    """Put text on one line and take the edge off all that looks like a special token or a prompt's own markup.

    The look of the text stays: an opening angle bracket becomes a typographic one. A lone surrogate, which no tokenizer
    and no server takes, becomes the replacement character.
    """
    line = " ".join(_SURROGATE.sub("\ufffd", text).split())
    return _BRACKET.sub(r"(\1)", _TAG.sub("\u2039", line))
