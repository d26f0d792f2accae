"""Files of documents: text, JSONL with mentions and ``.spacy`` come in; JSONL, TSV, ``.spacy`` and a page go out."""

from .links import LINK_PATTERNS, link_pattern
from .reading import Tally, read_documents
from .records import GIVEN, SPANS_KEY, mention_records
from .repoint import repoint_aliases, repoint_rows
from .repoint_docs import repoint_docs
from .successors import Successors
from .writing import FORMATS, Format, document_writer

__all__ = [
    "FORMATS",
    "GIVEN",
    "LINK_PATTERNS",
    "SPANS_KEY",
    "Format",
    "Successors",
    "Tally",
    "document_writer",
    "link_pattern",
    "mention_records",
    "read_documents",
    "repoint_aliases",
    "repoint_docs",
    "repoint_rows",
]
