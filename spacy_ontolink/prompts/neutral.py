"""Text from ontologies and documents, made unable to act as a part of the prompt around it."""

from __future__ import annotations

import re

# Anything shaped like markup that a template or a tokenizer may treat as its own: <|im_end|>, </think>, <s>,
# <Document>:, «<<SYS>>». A "<" before a digit or a space ("p < 0.05") is left as it is. Some tokenizers fold the
# full-width sign to the plain one.
_TAG = re.compile(r"[<\uff1c](?=[|/!?A-Za-z_<\uff1c\uff5c])")
# [INST], [SEP], [TOOL_CALLS], [gMASK], [|endofturn|], and the markers of this library's own encoders.
_BRACKET = re.compile(r"\[(/?[a-z]?[A-Z][A-Z_]{2,}|\|[^\[\]|]*\||M[se])\]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")  # a NUL ends a text for engines written in C


def neutral(text: str) -> str:
    """Put text on one line and take the edge off all that looks like a special token or a prompt's own markup.

    The look of the text stays: an opening angle bracket becomes a typographic one. A lone surrogate, which no tokenizer
    and no server takes, becomes the replacement character. Repeating it changes nothing.
    """
    line = " ".join(_CONTROL.sub(" ", _SURROGATE.sub("\ufffd", text)).split())
    return _BRACKET.sub(r"(\1)", _TAG.sub("\u2039", line))
