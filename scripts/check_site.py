"""Check a built site: nothing is loaded from elsewhere, and every file and anchor that a page names is there.

python scripts/check_site.py [site]
"""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADS = {
    ("script", "src"),
    ("img", "src"),
    ("source", "src"),
    ("source", "srcset"),
    ("iframe", "src"),
    ("link", "href"),
}
"""What a browser fetches by itself, rather than when a reader follows it."""
REFERENCES = {"canonical", "alternate", "next", "prev", "license", "author"}
"""Kinds of <link> that are not fetched."""
_URL = re.compile(r"url\(\s*['\"]?([^'\")]+)|@import\s+['\"]([^'\"]+)")


class Page(HTMLParser):
    """What a page loads, where it leads, and the anchors that it has."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.leads: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the addresses and anchors of a tag."""
        values = {name: value or "" for name, value in attrs}
        self.anchors.update(values[name] for name in ("id", "name") if name in values)
        for name, value in values.items():
            if (tag, name) in LOADS and not REFERENCES & set(values.get("rel", "").split()):
                self.loads.append(value)
            elif tag == "a" and name == "href":
                self.leads.append(value)


def problems_of(site: Path) -> list[str]:
    """Tell what is wrong in the pages and style sheets of a site."""
    pages = {path: Page(path) for path in sorted(site.rglob("*.html"))}
    problems = [] if pages else [f"{site} has no pages"]
    for path, page in pages.items():
        if path.name == "404.html":  # it stands at any address, so its own are absolute
            continue
        problems += [f"{path}: loads {load}" for load in page.loads if urlsplit(load).netloc]
        for address in [*page.loads, *page.leads]:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path.resolve()
            target = target / "index.html" if target.is_dir() else target
            if not target.is_file():
                problems.append(f"{path}: {address} is not there")
            elif (other := pages.get(Path(site / target.relative_to(site.resolve())))) and parts.fragment:
                if unquote(parts.fragment) not in other.anchors | {"", "__skip"}:
                    problems.append(f"{path}: {address} has no such anchor")
    for path in sorted(site.rglob("*.css")):
        found = (first or second for first, second in _URL.findall(path.read_text("utf-8")))
        problems += [f"{path}: loads {address}" for address in found if urlsplit(address).netloc]
    return problems


if __name__ == "__main__":
    found = problems_of(Path(sys.argv[1] if len(sys.argv) > 1 else "site"))
    print(*found, sep="\n", end="\n" if found else "")
    sys.exit(bool(found))
