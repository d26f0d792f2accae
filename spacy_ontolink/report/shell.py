"""What surrounds every page: it opens from a file without a network, and runs nothing but its own script."""

from __future__ import annotations

import base64
import hashlib
from html import escape
from importlib.resources import files
from pathlib import Path

from ..files import replacing
from ..plots import stylesheet

# Whatever an ontology or a text holds is escaped; should that ever fail, the browser still runs and fetches nothing.
HEAD = """<!DOCTYPE html>
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
FOOT = "<footer>{footer}</footer>\n{script}</body>\n</html>\n"


def write_shell(
    path: Path, body: str, *, title: str, style: str, script: str = "", footer: str = "", lang: str = "en"
) -> None:
    """Write a page around a body that is markup already; ``style`` and ``script`` name files beside this one."""
    code = resource(script) if script else ""
    digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
    head = HEAD.format(
        lang=escape(lang or "en"),
        scripts=f"; script-src 'sha256-{digest}'" if code else "",
        title=escape(title),
        style=stylesheet() + resource("base.css") + resource(style),
    )
    foot = FOOT.format(footer=escape(footer), script=f"<script>{code}</script>\n" if code else "")
    with replacing(path) as file:
        # Every character that UTF-8 cannot hold was replaced when the text was read, but names come from elsewhere.
        file.write_text(head + body + foot, encoding="utf-8", errors="replace", newline="\n")


def resource(name: str) -> str:
    """Read a file of this package."""
    return (files(__package__) / name).read_text("utf-8")
