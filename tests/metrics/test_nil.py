from spacy_ontolink.metrics import evaluate_nil


def test_nil_by_hand():
    # right link; wrong link; link lost to NIL; NIL found; NIL missed
    result = evaluate_nil(
        [False, False, False, True, True], [False, False, True, True, False], [True, False, True, False, False]
    )
    assert result == {
        "n": 5, "n_nil": 2, "nil_precision": 0.5, "nil_recall": 0.5, "nil_f1": 0.5, "accuracy": 0.4,
    }  # fmt: skip


def test_nil_of_nothing():
    assert evaluate_nil([False], [False], [True])["nil_precision"] is None
    assert evaluate_nil([False], [False], [True])["nil_f1"] is None
    assert evaluate_nil([], [], [])["accuracy"] is None
