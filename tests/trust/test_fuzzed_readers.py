"""Files that are anything but ontologies: an error of ours with the file in it, soon, in bounded memory."""

import gzip

import pytest
import seeds
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from signs import run_python

from spacy_ontolink.errors import OntologyError
from spacy_ontolink.kb.readers import read_ontology

CUTS = 25
FUZZ = settings(
    max_examples=25,
    deadline=5000,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
PIECES = [b"[Term]\n", b"id: T:1\n", b"\xff", b"\0", b"<", b">", b"&x;", b'"', b"{", b"}", b"[", b"]", b",", b"|",
          b"\t", b"\n", b"\r", b"\\", b"\\ud83d", b"\xed\xa0\xbd", b"9" * 5000, b"null", b"1e999", b"<!DOCTYPE a [",
          b"<![CDATA[", b"@", b".", b"\xe2\x80\xa8", b"\x0c", b"PK\x03\x04"]  # fmt: skip


@pytest.fixture(autouse=True)
def quiet(caplog):
    caplog.set_level("CRITICAL", "spacy_ontolink")


def read(path):
    """Read a file as far as it goes; the error, if there is one, must be ours and name it."""
    try:
        return read_ontology([path])
    except OntologyError as error:
        assert str(path) in str(error)


@st.composite
def mutations(draw):
    """A way to change bytes in a few places."""
    steps = draw(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 40), st.sampled_from([b"", *PIECES])), max_size=4))

    def change(data):
        for place, removed, piece in steps:
            at = int(place * len(data))
            data = data[:at] + piece + data[at + removed :]
        return data

    return change


@pytest.mark.parametrize("name", seeds.FILES)
def test_whole_files_are_read(tmp_path, name):
    (tmp_path / name).write_bytes(seeds.FILES[name])
    assert len(read(tmp_path / name)) > 0


@pytest.mark.parametrize("name", seeds.FILES)
def test_cut_files(tmp_path, name):
    data = seeds.FILES[name]
    for cut in range(0, len(data), max(1, len(data) // CUTS)):
        (tmp_path / name).write_bytes(data[:cut])
        read(tmp_path / name)


@pytest.mark.parametrize("name", seeds.FILES)
@FUZZ
@given(change=mutations())
def test_changed_files(tmp_path, name, change):
    (tmp_path / name).write_bytes(change(seeds.FILES[name]))
    read(tmp_path / name)


@pytest.mark.parametrize("release", seeds.FOLDERS)
@FUZZ
@given(change=mutations(), chance=st.randoms())
def test_changed_files_of_a_release(tmp_path, release, change, chance):
    files = seeds.FOLDERS[release]
    (tmp_path / release).mkdir(exist_ok=True)
    changed = chance.choice(sorted(files))
    for name, text in files.items():
        data = text.encode()
        (tmp_path / release / name).write_bytes(change(data) if name == changed else data)
    try:
        read_ontology([tmp_path / release])
    except OntologyError as error:
        assert release in str(error)


@FUZZ
@given(data=st.binary(max_size=400), name=st.sampled_from([*seeds.FILES, "a", "a.bin"]))
def test_any_bytes(tmp_path, data, name):
    (tmp_path / name).write_bytes(data)
    read(tmp_path / name)


def test_an_archive_of_a_version_that_there_is_not(tmp_path):
    data = bytearray(seeds.FILES["umls.zip"])
    data[data.index(b"PK\x01\x02") + 6] = 0xFF
    (tmp_path / "umls.zip").write_bytes(data)
    with pytest.raises(OntologyError, match=r"umls\.zip"):
        read_ontology([tmp_path / "umls.zip"])


# Bombs, in processes that may use little memory

LIMIT = 500 << 20
MEGABYTE = b"x" * (1 << 20)
BOMBS = {
    "line.obo.gz": (seeds.OBO.encode() + b"name: ", MEGABYTE),
    "line.jsonl.gz": (seeds.JSONL.encode() + b'{"id": "T:9", "name": "', MEGABYTE),
    "line.csv.gz": (seeds.TABLE.encode() + b'T:9;"', MEGABYTE),
    "text.json.gz": (b'{"graphs": [{"nodes": [{"id": "', MEGABYTE),
    "text.ttl.gz": (seeds.TURTLE.encode() + b'<a> skos:prefLabel "', MEGABYTE),
    "text.owl.gz": (seeds.OWL.encode().removesuffix(b"</rdf:RDF>\n") + b"<owl:Class><rdfs:label>", MEGABYTE),
    "deep.json": (b'{"graphs":' + b"[" * 500_000, b""),
    "deep.owl": (seeds.OWL.encode().removesuffix(b"</rdf:RDF>\n") + b"<a>" * 500_000, b""),
    "deep.ttl": (seeds.TURTLE.encode() + b"<a> skos:altLabel " + b"(" * 200_000, b""),
    "nested.owl": (
        b"<!DOCTYPE r [<!ENTITY a0 'ha'>"
        + b"".join(b"<!ENTITY a%d '%s'>" % (n, b"&a%d;" % (n - 1) * 10) for n in range(1, 12))
        + b"]>" + seeds.OWL.encode().partition(b"]>\n")[2].replace(b"body fat", b"&a11;"), b""),
}  # fmt: skip
WORK = """
import logging, resource, sys
import lxml.etree, pyarrow.ipc, scipy.sparse
from spacy_ontolink.errors import OntolinkError
from spacy_ontolink.kb.readers import read_ontology
logging.disable(logging.CRITICAL)
read_ontology([sys.argv[1]])  # all that is needed is loaded
size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize() + int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_AS, (size, size))
resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
for path in sys.argv[3:]:
    try:
        read_ontology([path])
        print("read", path)
    except OntolinkError as error:
        print("refused", error)
"""


def test_bombs_are_refused_in_bounded_memory(tmp_path):
    for name, (start, unit) in BOMBS.items():
        packed = gzip.compress(start) + gzip.compress(unit) * 600  # members that follow one another are one file
        (tmp_path / name).write_bytes(packed if name.endswith(".gz") else start)
    (tmp_path / "toy.obo").write_bytes(seeds.FILES["toy.obo"])
    done = run_python(WORK, tmp_path / "toy.obo", LIMIT, *(tmp_path / name for name in BOMBS))
    assert done.returncode == 0, done.stderr[-2000:]
    lines = done.stdout.splitlines()
    assert len(lines) == len(BOMBS)
    for name, line in zip(BOMBS, lines, strict=True):
        assert str(tmp_path / name) in line
        assert line.startswith("refused") or name == "deep.ttl"
