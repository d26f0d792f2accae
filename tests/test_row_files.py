import mmap

import numpy as np
import pytest
import scipy.sparse as sp

from spacy_ontolink import row_files
from spacy_ontolink.errors import WriteError
from spacy_ontolink.row_files import RowFiles
from spacy_ontolink.vectors import Vectors, stack


def parts(sizes=(3, 0, 5, 2)):
    random = np.random.default_rng(0)
    return [
        Vectors(
            (
                sp.random(size, 20, 0.2, "csr", dtype=np.float32, rng=size),
                random.normal(size=(size, 4)).astype(np.float16),
            )
        )
        for size in sizes
    ]


def is_mapped(array):
    while array is not None and not isinstance(array, mmap.mmap):
        array = getattr(array, "base", None)
    return array is not None


@pytest.mark.parametrize("in_memory", [0, 200, 1 << 20])
def test_parts_come_below_one_another(monkeypatch, tmp_path, in_memory):
    monkeypatch.setattr(row_files, "IN_MEMORY", in_memory)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    rows = RowFiles()
    for part in parts():
        rows.append(part)
        assert list(tmp_path.iterdir()) == []  # so that a process that is killed leaves nothing
    made, expected = rows.finish(), stack(parts())
    assert is_mapped(made.blocks[0].data) == is_mapped(made.blocks[1]) == (in_memory < 1 << 20)
    assert list(tmp_path.iterdir()) == []
    for _ in range(2):
        np.testing.assert_array_equal(made.blocks[0].toarray(), expected.blocks[0].toarray())
        np.testing.assert_array_equal(made.blocks[1], expected.blocks[1])
        made.leave_pages()


def test_a_full_disk_is_named(monkeypatch, tmp_path):
    resource = pytest.importorskip("resource")
    monkeypatch.setattr(row_files, "IN_MEMORY", 0)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    limits, rows = resource.getrlimit(resource.RLIMIT_FSIZE), RowFiles()
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, limits[1]))
    try:
        with pytest.raises(WriteError, match=f"^{tmp_path} .TMPDIR names another folder. cannot be written"):
            rows.append(parts()[0])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_nothing_and_empty_rows(monkeypatch):
    monkeypatch.setattr(row_files, "IN_MEMORY", -1)
    assert RowFiles().finish() is None
    rows = RowFiles()
    rows.append(parts([0])[0])
    assert rows.finish().dims == (20, 4)
