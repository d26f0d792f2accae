"""Files of documents: text, JSONL with mentions and ``.spacy`` come in; JSONL, TSV, ``.spacy`` and a page go out."""

from .links import LINK_PATTERNS, link_pattern
from .reading import Tally, read_documents
from .records import GIVEN, SPANS_KEY, mention_records
from .writing import FORMATS, Format, document_writer

__all__ = [
    "FORMATS",
    "GIVEN",
    "LINK_PATTERNS",
    "SPANS_KEY",
    "Format",
    "Tally",
    "document_writer",
    "link_pattern",
    "mention_records",
    "read_documents",
]
