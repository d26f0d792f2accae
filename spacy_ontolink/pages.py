"""How every page begins: it opens without a network, and runs nothing but a script of its own."""

from __future__ import annotations

import base64
import hashlib
from html import escape

# Whatever an ontology or a text holds is escaped; should that ever fail, the browser still runs and fetches nothing.
_HEAD = """<!DOCTYPE html>
<html lang="{lang}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'{scripts}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
<h1>{title}</h1>
"""


def page_head(title: str, style: str, lang: str = "", script: str = "") -> str:
    """Return a page down to its heading.

    Args:
        title: Plain text.
        style: A style sheet of ours.
        lang: The language of the page; English if there is none.
        script: The code of the one script that may run.
    """
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    scripts = f"; script-src 'sha256-{digest}'" if script else ""
    return _HEAD.format(lang=escape(lang or "en"), scripts=scripts, title=escape(title), style=style)
