import io
from dataclasses import replace

import pytest
from rich.console import Console

from spacy_ontolink.report import show


def shown(one, width=100):
    file = io.StringIO()
    show(one, Console(file=file, width=width, highlight=False, markup=False))
    return file.getvalue()


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_table_keeps_to_its_width(explained, calibration, width):
    one = explained("milk yields", "The milk yields fell.", surface={}, context={}, fused={"calibration": calibration})
    text = shown(one, width)
    assert max(map(len, text.splitlines())) <= width
    assert "The [[milk yields]] fell." in text
    probability = f"p {one.linked.probability:.3f}"
    for part in ("retriever", "surface", "context", "fused", "z +", probability, "T:2", "parents:"):
        assert part in text


def test_why_stands_below(explained):
    one = explained("fat percentage")
    text = " ".join(shown(one).split())
    assert text.endswith(" ".join(one.reasons + one.notes))
    assert "EXACT: fat percentage" in text
    assert "candidates" not in text  # all are shown


def test_texts_beside_and_what_was_left_out(explained):
    text = shown(explained("BFP", "The body fat percentage (BFP) rose; BFP fell.", k=1))
    assert "long form: body fat percentage" in text
    assert "1 of " in text


def test_a_long_text_is_cut(explained):
    text = shown(explained("milk yield", "x " * 300 + "milk yield" + " y" * 300))
    assert "…" in text
    assert len(text.split("[[")[0]) < 220


def test_no_escape_sequence_and_no_markup_gets_through(explained):
    one = explained("milk yield")
    evil = replace(one.candidates[0], name="\x1b[31m[bold]red")
    text = shown(replace(one, right="\x1b]0;title\x07", candidates=(evil,)))
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "[bold]red" in text


def test_nil_without_candidates(explained):
    text = shown(explained("≈≈≈"))
    assert "NIL: no entity" in text
    assert "candidate" not in text.split("NIL")[0]
