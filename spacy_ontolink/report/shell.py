"""What surrounds every page: it opens from a file without a network, and runs nothing but its own script."""

from __future__ import annotations

from html import escape
from importlib.resources import files
from pathlib import Path

from ..files import replacing
from ..pages import page_head
from ..plots import stylesheet

FOOT = "<footer>{footer}</footer>\n{script}</body>\n</html>\n"


def write_shell(
    path: Path, body: str, *, title: str, style: str, script: str = "", footer: str = "", lang: str = "en"
) -> None:
    """Write a page around a body that is markup already; ``style`` and ``script`` name files beside this one."""
    code = resource(script) if script else ""
    head = page_head(title, stylesheet() + resource("base.css") + resource(style), lang, code)
    foot = FOOT.format(footer=escape(footer), script=f"<script>{code}</script>\n" if code else "")
    with replacing(path) as file:
        # Every character that UTF-8 cannot hold was replaced when the text was read, but names come from elsewhere.
        file.write_text(head + body + foot, encoding="utf-8", errors="replace", newline="\n")


def resource(name: str) -> str:
    """Read a file of this package."""
    return (files(__package__) / name).read_text("utf-8")
