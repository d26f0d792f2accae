"""Files of documents: corpora of many formats come in, and one becomes another; linked documents go out."""

from .conversion import convert_corpus
from .formats import FORMATS as CORPUS_FORMATS
from .formats import IdRules, format_of
from .halving import NO_ITEMS_FAULT, by_halves
from .inputs import Input, find_inputs, read_inputs
from .links import LINK_PATTERNS, link_pattern
from .reading import read_documents
from .records import GIVEN, SPANS_KEY, mention_records
from .repoint import repoint_aliases, repoint_rows
from .repoint_docs import repoint_docs
from .successors import Successors
from .tally import Tally
from .writing import FORMATS, Format, document_writer

__all__ = [
    "CORPUS_FORMATS",
    "FORMATS",
    "GIVEN",
    "LINK_PATTERNS",
    "NO_ITEMS_FAULT",
    "SPANS_KEY",
    "Format",
    "IdRules",
    "Input",
    "Successors",
    "Tally",
    "by_halves",
    "convert_corpus",
    "document_writer",
    "find_inputs",
    "format_of",
    "link_pattern",
    "mention_records",
    "read_documents",
    "read_inputs",
    "repoint_aliases",
    "repoint_docs",
    "repoint_rows",
]
