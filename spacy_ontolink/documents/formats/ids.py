"""Ids as corpora write them, and the CURIEs that they stand for: ``D003924`` is ``MESH:D003924``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from ...errors import ConfigError, Errors
from ...kb.readers.iris import compact_reference

MISSING = frozenset(
    {"", "-", "-1", ".", "?", "none", "null", "nan", "n/a", "na", "nil", "unknown", "cui-less", "cui_less"}
)

PREFIXES = {
    "mesh": "MESH", "omim": "OMIM", "mim": "OMIM", "umls": "UMLS", "cui": "UMLS", "umls_cui": "UMLS",
    "ncbi gene": "NCBIGene", "ncbigene": "NCBIGene", "entrez": "NCBIGene", "entrezgene": "NCBIGene",
    "entrez gene": "NCBIGene", "geneid": "NCBIGene", "gene": "NCBIGene",
    "ncbi taxonomy": "NCBITaxon", "ncbitaxon": "NCBITaxon", "taxonomy": "NCBITaxon", "taxon": "NCBITaxon",
    "tax": "NCBITaxon", "taxid": "NCBITaxon",
    "hp": "HP", "hpo": "HP", "mondo": "MONDO", "doid": "DOID", "chebi": "CHEBI", "go": "GO", "cl": "CL",
    "uberon": "UBERON", "pr": "PR", "so": "SO", "mp": "MP", "vt": "VT", "cmo": "CMO", "lpt": "LPT",
    "snomedct": "SNOMEDCT", "snomed ct": "SNOMEDCT", "snomed": "SNOMEDCT", "cellosaurus": "cellosaurus",
    "dbsnp": "dbSNP", "tmvar": "tmVar",
}  # fmt: skip
"""How corpora spell the prefixes of well-known vocabularies (in lower case), and how they are written here."""

# A MeSH id has 6 or 9 digits, a concept id of UMLS 7, so that C123456 and C1234567 are told apart.
_SHAPES = (
    (re.compile(r"[CDQ]\d{6}(?:\d{3})?"), "MESH"),
    (re.compile(r"C\d{7}"), "UMLS"),
    (re.compile(r"CVCL_\w{4}"), "cellosaurus"),
    (re.compile(r"rs\d+"), "dbSNP"),
)
_BY_LABEL = {"gene": "NCBIGene", "geneorgeneproduct": "NCBIGene", "species": "NCBITaxon", "organism": "NCBITaxon",
             "organismtaxon": "NCBITaxon"}  # fmt: skip
_CURIE = re.compile(r"([A-Za-z][\w. -]*):\s*(\S.*)", re.DOTALL)
_VARIANT = re.compile(r"(?:tmvar:)?[cgmnpr]?\|[A-Za-z]+\|", re.IGNORECASE)
_SPECIES_OF_GENE = re.compile(r"\(Tax:\d+\)$")
_SEPARATORS = re.compile(r"[|+;,]")
_ESCAPED = re.compile(r"\\([|+;,\\])")
_NEEDS_ESCAPE = re.compile(r"([|+;,\\])")
_PIECE = re.compile(r"((?:\\[|+;,\\]|[^|+;,])*)([|+;,]|\Z)")
_IRI = re.compile(r"[A-Za-z][\w.-]*://")
_PLAIN_ID = re.compile(r"[A-Za-z][A-Za-z_]*:[A-Za-z]*\d+|[A-Z]+_\d{4,}|[CD]\d{6,9}")


@dataclass(frozen=True)
class IdRules:
    """How ids in a corpus become CURIEs, beside what is known of well-known vocabularies.

    Attributes:
        bare: Prefix of ids without one; "" leaves them, unless their shape tells.
        by_label: The same for mentions of a label; it goes before ``bare``.
        renamed: Prefixes to write otherwise.
    """

    bare: str = ""
    by_label: Mapping[str, str] = field(default_factory=dict)
    renamed: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, options: Iterable[str]) -> IdRules:
        """Make rules of ``MESH`` (for bare ids), ``Gene=NCBIGene`` (of one label) and ``MeSH:=MESH`` (another prefix).

        Raises:
            ConfigError: One is none of these.
        """
        bare, by_label, renamed = "", {}, {}
        for option in options:
            what, equals, prefix = option.rpartition("=")
            prefix = prefix.strip().removesuffix(":")
            if not prefix or ":" in prefix or (equals and not what.strip()):
                raise ConfigError(Errors.BAD_PREFIX.format(option=option))
            if what.endswith(":"):
                renamed[what[:-1].strip().lower()] = prefix
            elif what:
                by_label[what.strip()] = prefix
            else:
                bare = prefix
        return cls(bare, by_label, renamed)

    def read(self, raw: str, label: str = "", prefix: str = "") -> tuple[list[str], bool]:
        """Return the ids that a string holds, and whether they are those of the parts of a composite mention.

        ``|``, ``+`` and ``,`` stand between the ids of parts, ``;`` between ids of which any is right; after a
        backslash they belong to an id. ``prefix`` is what the file itself says of ids without one.
        """
        raw = raw.strip()
        if _VARIANT.match(raw):  # has bars of its own
            return self.read_one(raw, label), False
        parts, separators = _parts(raw)
        ids = [self.curie(part, label, prefix) for part in parts if part.lower() not in MISSING]
        return list(dict.fromkeys(ids)), any(separator in "|+," for separator in separators)

    def read_one(self, raw: str, label: str = "") -> list[str]:
        """Return the id that a string is, where a format has one place for each, or none."""
        raw = raw.strip()
        if _VARIANT.match(raw):
            return [raw if raw[:6].lower() == "tmvar:" else f"tmVar:{raw}"]
        return [] if raw.lower() in MISSING else [self.curie(raw, label)]

    def curie(self, id: str, label: str = "", prefix: str = "") -> str:
        """Return one id as a CURIE."""
        id = _SPECIES_OF_GENE.sub("", id.strip())
        if "://" in id:
            return compact_reference(id)
        if match := _CURIE.fullmatch(id):
            own, local = match.groups()
            if _CURIE.fullmatch(local):  # a database, and an id that has its prefix: HPO:HP:0001250
                return self.curie(local, label)
            return f"{self._spell(own)}:{local}"
        if prefix := self.by_label.get(label) or self.bare or prefix:
            return f"{self._spell(prefix)}:{id}"
        for shape, known in _SHAPES:
            if shape.fullmatch(id):
                return f"{self._spell(known)}:{id}"
        if id.isdecimal() and (known := _BY_LABEL.get(label.replace(" ", "").lower(), "")):
            return f"{self._spell(known)}:{id}"
        if (curie := compact_reference(id)) != id:
            return self.curie(curie, label)
        return id

    def _spell(self, prefix: str) -> str:
        key = prefix.strip().lower()
        return self.renamed.get(key) or PREFIXES.get(key, prefix.strip())

    def applied(self, ids: Iterable[str], label: str) -> list[str]:
        """Return ids of a format of our own, changed only where the user's own rules say so."""
        return list(dict.fromkeys(self._own(id, label) for id in ids))

    def _own(self, id: str, label: str) -> str:
        prefix, colon, local = id.partition(":")
        if colon:
            renamed = self.renamed.get(prefix.lower())
            return f"{renamed}:{local}" if renamed else id
        prefix = self.by_label.get(label) or self.bare
        return f"{prefix}:{id}" if prefix else id


def _parts(raw: str) -> tuple[list[str], list[str]]:
    """Split a string at its separators; those of an IRI stay in it, unless an id or a blank is next to them."""
    pieces = _PIECE.findall(raw)
    parts, separators = [pieces[0][0]], []
    for (_, separator), (piece, _) in pairwise(pieces):
        if not separator:  # what is left is the end of the string
            break
        own = piece.strip()
        is_next = piece[:1].isspace() or own == "-1" or _IRI.match(own) or _PLAIN_ID.fullmatch(own)
        if "://" not in parts[-1] or is_next:
            parts.append(piece)
            separators.append(separator)
        else:
            parts[-1] += separator + piece
    return [_ESCAPED.sub(r"\1", part.strip()) for part in parts], separators


def spell(ids: Sequence[str], composite: bool, label: str) -> str:
    """Write ids in one string, as plainly as it is read as these very ids again (``IdRules.read``)."""
    mark = "|" if composite else ";"
    # A part without id tells that a single id is that of a part.
    absent = ["-1"] * (2 - len(ids)) if composite else []
    escaped = [_NEEDS_ESCAPE.sub(r"\\\1", id) for id in ids]
    tries = [between.join([*own, *absent]) for own in (ids, escaped) for between in (mark, f"{mark} ")]
    return next((text for text in tries if IdRules().read(text, label) == ([*ids], composite)), tries[2])


def are_ids(text: str) -> bool:
    """Whether a text, such as a note, holds nothing but ids whose vocabulary is plain to see."""
    parts = [part.strip() for part in _SEPARATORS.split(text)]
    return all(_PLAIN_ID.fullmatch(part) for part in parts)
