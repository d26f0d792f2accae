"""Check a built site: nothing is loaded from elsewhere, and every file and anchor that a page names is there.

python scripts/check_site.py [site]
"""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADS = {"src", "srcset", "poster", "data", "background"}
"""Attributes that a browser fetches by itself, not when a reader follows them; of <link> and <image>, href as well."""
REFERENCES = {"canonical", "alternate", "next", "prev", "license", "author"}
"""Kinds of <link> that are not fetched."""
_URL = re.compile(r"url\(\s*['\"]?([^'\")]+)|@import\s+['\"]([^'\"]+)")


def addresses_in(style: str) -> list[str]:
    """Return what a style sheet loads, but for data that it holds itself."""
    return [one for pair in _URL.findall(style) if (one := pair[0] or pair[1]) and not one.startswith(("data:", "#"))]


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
            if tag == "a" and name == "href":
                self.leads.append(value)
            elif name == "srcset":
                self.loads += [one.split()[0] for one in value.split(",") if one.split()]
            elif name in LOADS or (name.endswith("href") and tag in {"link", "image", "use"}):
                self.loads += [] if REFERENCES & set(values.get("rel", "").split()) else [value]
            elif name == "style":
                self.loads += addresses_in(value)
        if tag == "meta" and values.get("http-equiv", "").lower() == "refresh" and "url=" in values.get("content", ""):
            self.loads.append(values["content"].partition("url=")[2])

    def handle_data(self, data: str) -> None:
        """Note what a style sheet inside the page loads."""
        if self.get_starttag_text() and str(self.get_starttag_text()).startswith("<style"):
            self.loads += addresses_in(data)


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
            elif not target.is_relative_to(site.resolve()):
                problems.append(f"{path}: {address} is not part of the site")
            elif (other := pages.get(Path(site / target.relative_to(site.resolve())))) and parts.fragment:
                if unquote(parts.fragment) not in other.anchors | {"", "__skip"}:
                    problems.append(f"{path}: {address} has no such anchor")
    for path in sorted(site.rglob("*.css")):
        problems += [f"{path}: loads {one}" for one in addresses_in(path.read_text("utf-8")) if urlsplit(one).netloc]
    return problems


if __name__ == "__main__":
    found = problems_of(Path(sys.argv[1] if len(sys.argv) > 1 else "site"))
    print(*found, sep="\n", end="\n" if found else "")
    sys.exit(bool(found))
