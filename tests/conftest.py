import os
from pathlib import Path

import pytest
from tiny_models import adapter, model_maker, qwen  # noqa: F401  (fixtures)

from spacy_ontolink.kb import KnowledgeBase
from spacy_ontolink.types import Entity, Synonym

SHARED = Path(os.environ.get("ONTOLINK_SHARED_DATA") or Path(__file__).parents[2] / "shared" / "data")


@pytest.fixture
def shared_data() -> Path:
    """The real ontologies and corpora that some tests read; they are not part of this project."""
    if not SHARED.is_dir():
        pytest.skip("needs the shared data (set ONTOLINK_SHARED_DATA to its folder)")
    return SHARED


@pytest.fixture(scope="session")
def traits() -> KnowledgeBase:
    """A small ontology of traits with a hierarchy, shared names and several scopes."""
    return KnowledgeBase.from_entities(
        [
            Entity("T:0", "trait"),
            Entity("T:1", "body fat percentage", (Synonym("fat percentage", "EXACT"), Synonym("BF")), parents=("T:0",)),
            Entity("T:3", "yield trait", parents=("T:0",)),
            Entity("T:2", "milk yield", (Synonym("MY"),), parents=("T:3",)),
            Entity("T:4", "β-carotene level", (Synonym("beta carotene level", "EXACT"),), parents=("T:0",)),
            Entity("T:5", "egg yield", (Synonym("number of eggs", "NARROW"),), parents=("T:3",)),
            Entity("X:9", "breast feeding", (Synonym("BF", "EXACT"),)),
        ],
        name="traits",
    )
