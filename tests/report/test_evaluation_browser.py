"""The page of a run in a real browser, opened from a file; skipped where there is none."""

from pathlib import Path

import pytest
from made_outcomes import measured, outcome

from spacy_ontolink.documents import link_pattern
from spacy_ontolink.evaluation import Run, compare_runs
from spacy_ontolink.metrics import Resampling
from spacy_ontolink.report import write_evaluation

LINK = link_pattern("bioregistry")
HOSTILE = "<script>window.hacked = 1</script><img src=x onerror='window.hacked = 2'>"


@pytest.fixture
def opened(browser, tmp_path):
    """Write a page and open it; whatever it asks for or complains of fails the test."""
    contexts, problems = [], []

    def opened(outcomes, ranks=None, width=1280, scheme="light", script=True, **others):
        path = tmp_path / "report.html"
        write_evaluation(path, measured(outcomes, **others), outcomes, LINK, ranks)
        context = browser.new_context(
            viewport={"width": width, "height": 800}, color_scheme=scheme, java_script_enabled=script
        )
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: problems.append(message.text))
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("dialog", lambda dialog: problems.append(dialog.message))
        page.on("request", lambda request: problems.append(request.url) if request.url != path.as_uri() else None)
        page.goto(path.as_uri())
        return page

    yield opened
    for context in contexts:
        context.close()
    assert problems == []


def mixed():
    """Mentions of several kinds, told apart by their texts."""
    return [
        outcome(1, text="alpha", probability=0.9),
        outcome(12, text="beta", answer="T:1", label="CELL", overlap="LO", probability=0.2),
        outcome(0, text="gamma", answer="T:1", label="CELL", overlap="NO"),
        outcome(2, text="delta", answer="NIL", overlap="NO"),
        outcome(0, text="epsilon", gold=(), answer="NIL"),
        outcome(0, text="zeta", gold=("X:9",), leads=("",), answer="T:1", overlap="NO"),
    ]


def shown(page):
    return page.locator("#table mark").all_inner_texts()


def test_what_went_wrong_is_shown_first(opened):
    page = opened(mixed())
    assert shown(page) == ["beta", "gamma", "delta", "zeta"]
    assert page.inner_text("#count") == "4 of 6 mentions"
    assert page.locator("nav.pager").is_hidden()
    row = page.locator("#table tbody tr").first.inner_text()
    for part in ("the beta of cows", "d0 · CELL · LO", "name of T:2", "wrong entity", "T:1", "sibling", "2 steps", "12",
                 "0.750", "gold 0.500", "0.200"):  # fmt: skip
        assert part in row
    assert "unknown" in page.locator("#table tbody tr").last.inner_text()
    assert page.get_attribute("#table tbody a >> nth=0", "href") == "https://bioregistry.io/T:2"


def test_filters(opened):
    page = opened(mixed())
    page.locator("[name=verdict]").select_option(label="all")
    assert len(shown(page)) == 6
    page.locator("[name=search]").fill("LPH d0")
    assert shown(page) == ["alpha"]
    page.locator("[name=search]").fill("nowhere")
    assert (shown(page), page.inner_text("#count")) == ([], "0 of 6 mentions")
    page.get_by_role("button", name="Reset").click()
    assert shown(page) == ["beta", "gamma", "delta", "zeta"]
    page.locator("[name=relation]").select_option(label="sibling (2)")
    page.locator("[name=overlap]").select_option(label="NO (3)")
    assert shown(page) == ["gamma"]
    page.get_by_role("button", name="Reset").click()
    page.locator("[name=verdict]").select_option(label="not linked (1)")
    assert shown(page) == ["delta"]
    assert page.locator("[name=change]").is_hidden()


def test_ids_are_found_as_the_file_has_them(opened):
    page = opened([outcome(2, text="alpha", gold=("T:22",), leads=("T:2",), answer="T:1"), outcome(2, answer="T:1")])
    page.locator("[name=search]").fill("t:22")
    assert shown(page) == ["alpha"]
    assert "in the file: T:22" in page.inner_text("#table tbody")


def test_a_long_mention_is_cut(opened):
    page = opened([outcome(2, text="\U0001f9ec" * 5000 + "end", answer="T:1")])
    assert shown(page) == ["\U0001f9ec" * 200 + "…"]
    assert page.locator("#table details").get_attribute("open") is None
    page.locator("#table summary").click()
    assert page.locator("#table details").inner_text().endswith("end")
    page.locator("[name=search]").fill("\U0001f9ecend")
    assert len(shown(page)) == 1


def test_sorting(opened):
    page = opened(mixed())
    page.locator("[name=verdict]").select_option(label="all")
    head = page.get_by_role("columnheader", name="rank of gold")
    assert head.get_attribute("aria-sort") is None
    head.get_by_role("button").focus()
    page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "ascending"
    assert shown(page) == ["alpha", "delta", "beta", "gamma", "zeta", "epsilon"]  # then not found, then without gold
    page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "descending"
    assert shown(page) == ["gamma", "zeta", "beta", "delta", "alpha", "epsilon"]
    page.get_by_role("columnheader", name="probability").get_by_role("button").click()
    assert shown(page)[:2] == ["beta", "alpha"]
    page.get_by_role("columnheader", name="probability").get_by_role("button").click()
    assert shown(page)[:2] == ["alpha", "beta"]
    for _ in range(2):
        page.locator("#table th button").nth(1).click()
        assert shown(page)[-1] == "epsilon"
    assert page.locator("th[aria-sort]").count() == 1


def test_two_runs(opened):
    ranks = [2, 1, 0, 2, 0, 0]
    outcomes = mixed()
    rows = [one.to_json() | {"rank": rank} for one, rank in zip(outcomes, ranks, strict=True)]
    found = compare_runs(outcomes, Run("theirs", Path("run.json"), rows), Resampling(range(6), 100))
    page = opened(outcomes, found.ranks, comparison=found.facts)
    page.locator("[name=verdict]").select_option(label="all")
    page.locator("[name=change]").select_option("better")
    assert shown(page) == ["alpha"]
    assert "there 2" in page.inner_text("#table tbody")
    page.locator("[name=change]").select_option("worse")
    assert shown(page) == ["beta"]


def test_text_stays_text(opened):
    one = outcome(2, text=HOSTILE, left=HOSTILE, right=HOSTILE, label=HOSTILE, document=HOSTILE, answer="T:1")
    other = outcome(0, text="x", gold=(HOSTILE,), leads=("",), answer=HOSTILE, label="L")
    page = opened([one, other], pipeline=HOSTILE, data=HOSTILE)
    assert shown(page) == [HOSTILE, "x"]
    assert HOSTILE in page.inner_text("h1")
    page.locator("[name=label]").select_option(index=1)
    assert page.evaluate("window.hacked") is None
    assert page.locator("img").count() == 0


def test_ten_thousand_mentions_are_drawn_page_by_page(opened):
    page = opened(
        [outcome(number % 9, text=f"mention {number}", answer="T:1", number=number) for number in range(10_000)]
    )
    assert page.locator("#table tbody tr").count() == 100
    assert page.inner_text("#page") == "page 1 of 100"
    page.get_by_role("button", name="Next").click()
    assert shown(page)[0] == "mention 100"
    page.locator("[name=search]").fill("mention 9999")
    assert shown(page) == ["mention 9999"]
    page.locator("[name=search]").fill("")
    page.get_by_role("columnheader", name="rank of gold").get_by_role("button").click()
    assert shown(page)[:2] == ["mention 1", "mention 10"]
    assert page.locator("#table tbody tr").count() == 100


def test_on_a_phone_rows_are_cards(opened):
    page = opened(mixed(), width=390)
    assert page.locator("#table thead").is_hidden()
    assert (
        page.locator("#table tbody td >> nth=3").evaluate("cell => getComputedStyle(cell, '::before').content")
        == '"hierarchy"'
    )
    page.locator("[name=sort]").select_option(label="mention, descending")
    assert shown(page) == ["zeta", "gamma", "delta", "beta"]


LUMINANCE = """element => {
  const parts = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const light = (colour) => {
    const [r, g, b] = parts(colour).map((v) => v / 255)
      .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  let under = element;
  while (under && (parts(getComputedStyle(under).backgroundColor)[3] ?? 1) === 0) under = under.parentElement;
  const style = getComputedStyle(element);
  const inside = element.namespaceURI.endsWith("svg") ? style.fill : style.color;
  const [one, other] = [light(inside), light(getComputedStyle(under || document.body).backgroundColor)];
  return (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_all_is_within_the_screen_and_readable(opened, width, scheme):
    curve = {"views": ["retriever", "context"], "alpha": 0.5, "curve": [
        {"alpha": 0, "recall_at_1": 0.5}, {"alpha": 0.5, "recall_at_1": 0.6}]}  # fmt: skip
    long = [outcome(2, answer="T:1", text="x" * 200, document="d" * 150, label="L" * 80)]
    page = opened(mixed() + long, width=width, scheme=scheme, alpha_curve=curve)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("svg").count() == 4
    page_parts = ("h1", ".tile dt", ".tile b", "svg text", "figcaption p", ".numbers td", "summary", "footer", "select")
    for what in (*page_parts, "#table td", "#table small", "#table mark", "#table a", "#table .bad"):
        assert page.locator(what).first.evaluate(LUMINANCE) >= 4.5, what


def test_without_script_the_figures_are_there(opened):
    page = opened(mixed(), script=False)
    assert page.locator("svg").first.is_visible()
    assert "needs JavaScript" in page.inner_text("#mentions")
    assert page.locator("#table").is_hidden()
