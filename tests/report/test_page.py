import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from spacy_ontolink.documents import link_pattern
from spacy_ontolink.report import write_page

LINK = link_pattern("bioregistry")
VOID = {"meta", "link", "br", "img", "input"}


class Checker(HTMLParser):
    """Notes all tags, links and texts, and that every tag is closed."""

    def __init__(self):
        super().__init__()
        self.tags, self.open, self.links, self.texts = set(), [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.links += [value for key, value in attrs if key in ("href", "src")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


@pytest.fixture
def page(tmp_path):
    """Write explanations as a page; return its source and what a parser makes of it."""

    def page(*explanations, **settings):
        path = tmp_path / "out" / "page.html"
        write_page(path, explanations, LINK, **{"title": "Why", **settings})
        source = path.read_text("utf-8")
        checker = Checker()
        checker.feed(source)
        assert checker.open == []
        assert [file.name for file in path.parent.iterdir()] == ["page.html"]
        return source, checker

    return page


def test_a_page_shows_what_there_is(page, explained):
    one = explained("milk yields", "The milk yields fell.", surface={}, fused={"weights": {"retriever": 0.5}})
    source, seen = page(one, title="Why this", footer="toy: a → b", lang="de")
    text = " ".join("".join(seen.texts).split())
    for part in ("Why this", "The milk yields fell.", *one.reasons, "toy: a → b", "surface × 0.50", "z +"):
        assert part in text
    assert '<html lang="de">' in source
    assert "<mark>milk yields</mark>" in source
    assert seen.links.count(f"https://bioregistry.io/{one.id}") >= 2  # in the verdict and in the table
    assert text.count("parents:") == sum(bool(candidate.parents) for candidate in one.candidates)


def test_several_mentions_stand_one_after_another(page, explained):
    source, _ = page(explained("milk yield"), explained("≈≈≈"), explained("BF"))
    assert source.count("<section") == 3
    assert source.count('<section class="nil"') == 1
    assert source.count("<table") == 2


def test_nothing_of_an_ontology_or_a_text_becomes_markup(page, explained):
    one = explained("fat milk yields", "</title><img src=x onerror=alert(1)> fat milk yields {right} <!--")
    assert "T:5" in [candidate.id for candidate in one.candidates]
    source, seen = page(one, title="</title><script>", footer="<b>")
    assert not seen.tags & {"script", "img", "b"}
    assert "<script" not in source
    assert "&lt;script&gt;alert(&quot;fat&quot;)" in source
    assert "{right}" in source


def test_it_needs_no_network_and_runs_nothing(page, explained):
    source, seen = page(explained("milk yields"))
    assert "default-src 'none'" in source
    assert not seen.tags & {"script", "link", "img", "iframe", "object"}
    assert not re.search(r"url\(|@import|\son\w+=", source)
    assert "prefers-color-scheme: dark" in source
    assert 'name="viewport"' in source


def test_bars_lie_between_the_lowest_and_the_highest_score(page, explained):
    source, _ = page(explained("milk yields", surface={}, fused={}))
    widths = [int(width) for width in re.findall(r"--width:(-?\d+)%", source)]
    assert max(widths) == 100
    assert min(widths) >= 0


def test_a_surrogate_in_a_name_does_not_break_the_page(page, explained):
    from dataclasses import replace

    one = explained("milk yield")
    page(replace(one, right="\ud83d"))


def test_ranks_of_several_digits_stay_on_one_line(browser, explained, tmp_path):
    one = explained("milk yields")
    ranked = [replace(one.candidates[0], rank=rank) for rank in (1, 10, 100)]
    write_page(tmp_path / "page.html", [replace(one, candidates=tuple(ranked))], LINK, title="Why")
    page = browser.new_page(viewport={"width": 900, "height": 800})
    page.goto((tmp_path / "page.html").as_uri())
    lines = """cells => cells.map(cell => {
        const text = document.createRange()
        text.selectNodeContents(cell)
        return text.getClientRects().length
    })"""
    assert page.locator("td.rank").evaluate_all(lines) == [1, 1, 1]
    page.close()
