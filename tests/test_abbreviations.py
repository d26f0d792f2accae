import pytest

from spacy_ontolink.abbreviations import expand, find_abbreviations, long_forms


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("We measured body fat percentage (BFP) in pigs.", {"BFP": "body fat percentage"}),
        ("BFP (body fat percentage) was high.", {"BFP": "body fat percentage"}),
        ("glucose-6-phosphate dehydrogenase (G6PD) deficiency", {"G6PD": "glucose-6-phosphate dehydrogenase"}),
        ("The gene adenomatous polyposis coli (APC; MIM 175100)", {"APC": "adenomatous polyposis coli"}),
        ("adenomatous polyposis coli [APC] and (APC) again", {"APC": "adenomatous polyposis coli"}),
        ("familial polyposis (FP [MIM 175100]) is", {"FP": "familial polyposis"}),
        (
            "patients with Duchenne or Becker muscular dystrophy (DMD or BMD) and",
            {"DMD": "Duchenne muscular dystrophy", "BMD": "Becker muscular dystrophy"},
        ),
        (
            "ataxia type 3 or Machado-Joseph disease (AT3 and MJD)",
            {"AT3": "ataxia type 3", "MJD": "Machado-Joseph disease"},
        ),
        ("pigs (cases and controls) and (Fig. 1 or 2)", {}),
        ("with attenuated adenomatous polyposis coli (AAPC)", {"AAPC": "attenuated adenomatous polyposis coli"}),
        ("malignant rhabdoid tumors (MRTs)", dict.fromkeys(("MRTs", "MRT"), "malignant rhabdoid tumors")),
        (
            "X-linked adrenoleukodystrophy (X-ALD), or childhood cerebral ALD (CCALD)",
            {
                "X-ALD": "X-linked adrenoleukodystrophy",
                "CCALD": "childhood cerebral adrenoleukodystrophy",
                "ALD": "adrenoleukodystrophy",
            },
        ),
        (
            "hyperparathyroidism-jaw tumor (HPT-JT)",
            {"HPT-JT": "hyperparathyroidism-jaw tumor", "JT": "jaw tumor", "HPT": "hyperparathyroidism"},
        ),
        ('Wilson disease ("WD") is', {"WD": "Wilson disease"}),
        ("the gene of myotonic dystrophy (DM) is", {"DM": "myotonic dystrophy"}),
        ("body weight (bw) was", {"bw": "body weight"}),
        ("as shown before (see) there", {}),
        ("in all cases (n = 12) and (p < 0.05)", {}),
        ("ácido úrico (ÁÚ) alto", {"ÁÚ": "ácido úrico"}),
        ("β-carotene level (βCL) rose", {"βCL": "β-carotene level"}),
        ("体脂肪（BFP）と", {}),
        ("The cat sat. Tall dogs (CTD)", {}),
        ("tumour necrosis factor (TNF) and tiny new fish (TNF)", {"TNF": "tumour necrosis factor"}),
        ("", {}),
        ("()[](", {}),
        (") oops ( milk yield (MY)", {"MY": "milk yield"}),
        ("(MY)", {}),
        ("lone \ud83d surrogate loss (\ud83dSL)", {}),
    ],
)
def test_finds_definitions(text, expected):
    assert long_forms(text) == expected


@pytest.mark.parametrize("text", ["x  'body fat  percentage'  (  BFP ) y", "see “BFP” (body fat percentage; BF)"])
def test_offsets_point_at_the_forms(text):
    (found,) = find_abbreviations(text)
    assert text[found.short_start :].startswith(found.short)
    assert text[found.long_start :].startswith(found.long)
    assert found.short == "BFP"


@pytest.mark.parametrize(
    ("mention", "expected"),
    [
        ("BFP", "body fat percentage"),
        ("BFPs", "body fat percentage"),
        ("low BFP", "low body fat percentage"),
        ("XBFP", None),
        ("bfp", None),
        ("body fat percentage (BFP)", "body fat percentage"),
        ("body fat percentage ( BFP ) loss", "body fat percentage loss"),
        ("body fat percentage in BFP pigs", None),
        ("", None),
    ],
)
def test_expands_short_forms_in_a_mention(mention, expected):
    assert expand(mention, {"BFP": "body fat percentage", "MY": r"milk \1 yield"}) == expected


@pytest.mark.parametrize("unit", ["(", "a (", "(AB)", "x", "(a b c ", "ab (AB) ", "A" * 9 + " (A) "])
def test_hostile_text_ends(unit):
    find_abbreviations(unit * 20_000 + " (XY)" + ")" * 20_000)
