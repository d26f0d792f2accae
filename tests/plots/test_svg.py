import re
from xml.etree import ElementTree

import pytest

from spacy_ontolink.plots.svg import BOTTOM, HEIGHT, LEFT, RIGHT, WIDTH, Axis, Plot, percent_axis


def drawn(plot):
    return ElementTree.fromstring(plot.markup())


def test_points_lie_where_the_axes_say():
    plot = Plot("p", Axis("x", 1, 100, [], log=True), Axis("y", 0, 2, []))
    plot.line([(1, 0), (10, 1), (100, 2)])
    (line,) = drawn(plot).iter("polyline")
    (x0, y0), (x1, y1), (x2, y2) = [tuple(map(float, point.split(","))) for point in line.get("points").split()]
    assert (x0, x2, y0) == (LEFT, WIDTH - RIGHT, HEIGHT - BOTTOM)
    assert x1 == pytest.approx((x0 + x2) / 2, abs=0.1)
    assert y1 == pytest.approx((y0 + y2) / 2, abs=0.1)


def test_what_lies_outside_is_drawn_at_the_edge():
    plot = Plot("p", Axis("x", 0, 1, []), percent_axis("y", 0.5, 1))
    plot.bar(0.5, 0.2, 0.1, "bar-pale", "low")
    (bar,) = drawn(plot).iter("rect")
    assert float(bar.get("height")) == 0


def test_text_is_escaped_and_the_plot_is_named():
    hostile = '</svg><script>alert("1")</script>'
    plot = Plot(hostile, Axis(hostile, 0, 1, [(0, hostile)]), percent_axis(hostile))
    plot.dots([(0, 0), (1, 1)], [hostile, ""])
    plot.rule(0.9, hostile)
    root = drawn(plot)
    assert (root.get("role"), root.get("aria-label")) == ("img", hostile)
    assert not list(root.iter("script"))
    assert sum(hostile in (text.text or "") for text in root.iter("text")) == 4
    assert next(title.text for title in root.iter("title")) == hostile


@pytest.mark.parametrize(
    ("low", "high", "marks"),
    [
        (0, 1, "0 20 40 60 80 100"),
        (0.7, 1, "70 80 90 100"),
        (0.703, 0.724, "71 72"),
        (0.69, 0.75, "69 70 71 72 73 74 75"),
    ],
)
def test_marks_in_percent(low, high, marks):
    found = " ".join(words for _, words in percent_axis("y", low, high).ticks)
    assert found == marks or len(found.split()) <= 7
    assert all(low - 1e-9 <= value <= high + 1e-9 for value, _ in percent_axis("y", low, high).ticks)


def test_no_colour_is_fixed():
    plot = Plot("p", percent_axis("x"), percent_axis("y"))
    plot.line([(0, 0), (1, 1)])
    plot.dots([(0.5, 0.5)], ["half"], [1.0])
    plot.whisker(0.5, 0.2, 0.8)
    assert not re.search(r"#[0-9a-f]{3}|rgb|style=|fill=", plot.markup())


def test_a_file_of_its_own():
    plot = Plot("<b>", percent_axis("x"), percent_axis("y"), {"series": "one", "second": "<two>"})
    plot.line([(0, 0), (1, 1)])
    plot.line([(0, 0), (1, 1)], "second")
    plot.level(0.5)
    root = ElementTree.fromstring(plot.file())
    space = {"svg": "http://www.w3.org/2000/svg"}
    assert {"<b>", "one", "<two>"} <= {text.text for text in root.findall("svg:text", space)}
    lines = root.findall("svg:polyline", space)
    assert [line.get("class") for line in lines] == ["series", "second", "series", "second"]  # the last are the legend
    tops = [float(line.get("points").split()[-1].split(",")[1]) for line in lines]
    assert tops[2] < tops[0]
    style = root.find("svg:style", space).text
    assert "prefers-color-scheme: dark" in style
    assert {".plot .second", ".plot polyline"} <= {rule.partition(" {")[0] for rule in style.splitlines()}
