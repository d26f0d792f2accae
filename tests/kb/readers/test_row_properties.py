"""Whatever stands in the rows, readers of releases neither fail nor lose a good row."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import composite

from spacy_ontolink.errors import OntologyError
from spacy_ontolink.kb.readers.report import ReadReport
from spacy_ontolink.kb.readers.rows import Row, read_rows
from spacy_ontolink.kb.readers.rrf import by_concept
from spacy_ontolink.kb.readers.snomed import read_snomed
from spacy_ontolink.kb.readers.umls import read_umls

CELLS = st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters="|\t\r\n"), max_size=8)
LINES = st.one_of(st.binary(max_size=60), st.lists(CELLS, max_size=20).map(lambda cells: "|".join(cells).encode()))
GOOD = b"C0000005|ENG|P|L1|PF|S1|Y|A1||||MSH|MH|D1|milk|0|N||"
few = settings(max_examples=150, deadline=None)


class Folder(TemporaryDirectory):
    """A folder of its own for each example, which a fixture would not give."""

    def __enter__(self):
        self.path = Path(super().__enter__())
        return self

    def write(self, name: str, data: bytes) -> Path:
        path = self.path / name
        path.write_bytes(data)
        return path


@composite
def cell_rows(draw, width=6):
    return draw(st.lists(st.lists(CELLS, min_size=width, max_size=width), max_size=8))


@few
@given(cell_rows(), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_rows_come_back_as_they_were_written(rows, end, closed):
    rows = [["C1", *row[1:-1], "end"] for row in rows]
    with Folder() as folder:
        path = folder.write("MRSTY.RRF", "".join("|".join(row) + "|" * closed + end for row in rows).encode())
        report = ReadReport(path)
        read = list(read_rows(path, report, 6, "|"))
        assert read == [Row(line, row) for line, row in enumerate(rows, 1)]
        assert not report.counts


@few
@given(st.lists(LINES, max_size=12), st.integers(0, 12))
def test_a_good_row_of_names_survives_any_others(lines, place):
    lines.insert(place, GOOD)
    with Folder() as folder:
        folder.write("MRCONSO.RRF", b"\n".join(lines))
        for name in ("MRSTY", "MRDEF", "MRREL", "MRCUI"):
            folder.write(f"{name}.RRF", b"\n".join(lines))
        report = ReadReport(folder.path)
        found = {entity.id: entity for entity in read_umls(folder.path, report)}
        assert found["C0000005"].name == "milk"
        assert all(line is None or 1 <= line <= 200 for line, _, _ in report.first)


@few
@given(st.lists(LINES.map(lambda line: line.replace(b"|", b"\t")), max_size=12))
def test_any_rows_of_snomed_are_read_or_counted(lines):
    header, good = b"id\teffectiveTime\tactive\tmoduleId\tdefinitionStatusId", b"100\t20260101\t1\t9\t9"
    with Folder() as folder:
        folder.write("sct2_Concept_Snapshot_X.txt", b"\n".join([header, good, *lines]))
        for name in ("sct2_Description_Snapshot_X", "sct2_Relationship_Snapshot_X", "der2_cRefset_LanguageSnapshot_X"):
            folder.write(f"{name}.txt", b"\n".join(lines))
        assert "100" in [entity.id for entity in read_snomed(folder.path, ReadReport(folder.path))]


@few
@given(st.lists(st.integers(0, 30), max_size=40))
def test_each_concept_is_one_group_in_order(numbers):
    rows = [Row(line, [f"C{number:07}"]) for line, number in enumerate(numbers, 1)]
    report = ReadReport("MRSTY.RRF")
    try:
        groups = list(by_concept(rows, report))
    except OntologyError:  # so many are out of order that the file is none
        assert 4 * report.counts["out of order"] > len(rows) or report.counts["out of order"] > 10
        return
    assert [cui for cui, _ in groups] == sorted({cui for cui, _ in groups})
    assert sum(len(group) for _, group in groups) + report.counts["out of order"] == len(rows)


def test_strict_raises_at_the_first_bad_row():
    with Folder() as folder:
        path = folder.write("MRSTY.RRF", b"C0000001|T1|A|name|AT1||\nC0000001|T1\n")
        with pytest.raises(OntologyError, match="line 2: wrong number of fields"):
            list(read_rows(path, ReadReport(path, strict=True), 6, "|"))
