"""Entity linking for spaCy: mentions in, ids of an ontology out.

What is named here is the public interface, along with the names of components and registered parts, the settings of
their configs and the command line. Each name is imported when it is first asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .cli.evaluate import measure as measure
    from .cli.evaluate import measure_all as measure_all
    from .components.spans import NIL as NIL
    from .documents import convert_corpus as convert_corpus
    from .documents import document_writer as document_writer
    from .documents import read_documents as read_documents
    from .errors import ConfigError as ConfigError
    from .errors import DataError as DataError
    from .errors import LLMError as LLMError
    from .errors import MissingExtraError as MissingExtraError
    from .errors import OntolinkError as OntolinkError
    from .errors import OntologyError as OntologyError
    from .errors import StateError as StateError
    from .errors import UnknownIdError as UnknownIdError
    from .errors import WriteError as WriteError
    from .evaluation import measures_of as measures_of
    from .evaluation import read_outcomes as read_outcomes
    from .kb import KnowledgeBase as KnowledgeBase
    from .kb.readers import read_entities as read_entities
    from .kb.readers import read_ontology as read_ontology
    from .report import chain_of as chain_of
    from .report import explain as explain
    from .space import EntitySpace as EntitySpace
    from .space import Pooling as Pooling
    from .text import normalise as normalise
    from .types import LLM as LLM
    from .types import Encoder as Encoder
    from .types import Entity as Entity
    from .types import EntityRows as EntityRows
    from .types import EntityText as EntityText
    from .types import Hits as Hits
    from .types import Index as Index
    from .types import Mention as Mention
    from .types import Prompt as Prompt
    from .types import Reader as Reader
    from .types import Reformulation as Reformulation
    from .types import Reformulator as Reformulator
    from .types import Reranker as Reranker
    from .types import Synonym as Synonym
    from .types import Usage as Usage
    from .vectors import Vectors as Vectors

__version__ = "0.1.0"

_HOMES = {
    "cli.evaluate": ("measure", "measure_all"),
    "components.spans": ("NIL",),
    "documents": ("convert_corpus", "document_writer", "read_documents"),
    "errors": ("ConfigError", "DataError", "LLMError", "MissingExtraError", "OntolinkError", "OntologyError",
               "StateError", "UnknownIdError", "WriteError"),
    "evaluation": ("measures_of", "read_outcomes"),
    "kb": ("KnowledgeBase",),
    "kb.readers": ("read_entities", "read_ontology"),
    "report": ("chain_of", "explain"),
    "space": ("EntitySpace", "Pooling"),
    "text": ("normalise",),
    "types": ("LLM", "Encoder", "Entity", "EntityRows", "EntityText", "Hits", "Index", "Mention", "Prompt", "Reader",
              "Reformulation", "Reformulator", "Reranker", "Synonym", "Usage"),
    "vectors": ("Vectors",),
}  # fmt: skip
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
__all__ = ["__version__", *sorted(_HOME_OF)]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{_HOME_OF[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
