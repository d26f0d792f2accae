"""The order of the pages, and the check of the built site."""

import importlib.util
import re
from pathlib import Path

import pytest
import srsly

ROOT = Path(__file__).parents[2]
spec = importlib.util.spec_from_file_location("check_site", ROOT / "scripts" / "check_site.py")
check_site = importlib.util.module_from_spec(spec)
spec.loader.exec_module(check_site)


def pages_in(entries):
    for entry in entries:
        for value in entry.values() if isinstance(entry, dict) else [entry]:
            yield from pages_in(value) if isinstance(value, list) else [value]


def test_every_page_has_its_place():
    placed = list(pages_in(srsly.read_yaml(ROOT / "mkdocs.yml")["nav"]))
    there = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    assert sorted(placed) == sorted(there), "mkdocs.yml: the nav does not fit the pages in docs/"


def test_links_of_the_readme_lead_somewhere():
    links = re.findall(r"\]\((?!https?:)([^)#]*)", (ROOT / "README.md").read_text("utf-8"))
    assert len(links) > 20
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_pictures_are_small():
    sizes = {path.name: path.stat().st_size for path in (ROOT / "docs" / "pictures").iterdir()}
    assert {"pipeline.svg", "displacy.png", "explain.png", "report.png"} <= sizes.keys()
    assert max(sizes.values()) <= 150_000


@pytest.fixture
def site(tmp_path):
    def write(body, css=""):
        (tmp_path / "sub").mkdir(exist_ok=True)
        (tmp_path / "index.html").write_text(f"<html><body>{body}</body></html>")
        (tmp_path / "sub" / "other.html").write_text('<h1 id="here">There</h1><a href="../index.html#top">x</a>')
        (tmp_path / "style.css").write_text(css)
        return check_site.problems_of(tmp_path)

    return write


def test_a_sound_site(site):
    body = '<a id="top"></a><link rel="stylesheet" href="style.css"><link rel="canonical" href="https://example.org">'
    assert site(f'{body}<a href="sub/other.html#here">a</a><a href="https://example.org">b</a>') == []


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ('<script src="https://cdn.example.org/x.js"></script>', "loads https://cdn.example.org/x.js"),
        ('<link rel="stylesheet" href="//fonts.example.org/x.css">', "loads //fonts.example.org/x.css"),
        ('<img src="https://example.org/x.png">', "loads https://example.org/x.png"),
        ('<img srcset="https://example.org/x.png 2x">', "loads https://example.org/x.png"),
        ("<style>@import url(https://example.org/x.css);</style>", "loads https://example.org/x.css"),
        ('<p style="background: url(//example.org/x.png)">x</p>', "loads //example.org/x.png"),
        ('<video poster="https://example.org/x.png"></video>', "loads https://example.org/x.png"),
        ('<svg><image href="https://example.org/x.png"/></svg>', "loads https://example.org/x.png"),
        ('<meta http-equiv="refresh" content="0; url=https://example.org/">', "loads https://example.org/"),
        ('<a href="../../outside.html">x</a>', "outside.html is not"),
        ('<img src="missing.png">', "missing.png is not there"),
        ('<a href="sub/missing.html">x</a>', "sub/missing.html is not there"),
        ('<a href="sub/other.html#nowhere">x</a>', "#nowhere has no such anchor"),
    ],
)
def test_what_is_wrong_is_told(site, body, problem):
    found = site(f'<a id="top"></a>{body}')
    assert len(found) == 1
    assert problem in found[0]


def test_style_sheets_load_nothing_from_elsewhere(site):
    (found,) = site('<a id="top"></a>', css='@import "https://example.org/x.css"; a { background: url(here.png) }')
    assert found.endswith("loads https://example.org/x.css")


def test_no_site_is_no_sound_site(tmp_path):
    assert check_site.problems_of(tmp_path)
