import pytest

from spacy_ontolink.kb import KnowledgeBase
from spacy_ontolink.types import Entity, Synonym


@pytest.fixture
def toy_entities() -> list[Entity]:
    return [
        Entity("T:0", "trait", namespace="trait_ontology", types=("upper", "slim")),
        Entity(
            "T:1",
            "body fat percentage",
            (Synonym("fat percentage", "EXACT"), Synonym("BF", "RELATED", "abbreviation")),
            definition="Share of fat in the body.",
            parents=("T:0",),
            xrefs=("X:12",),
            namespace="trait_ontology",
        ),
        Entity("T:8", "yield of milk", (Synonym("MY"),), obsolete=True, replaced_by=("T:2",)),
        Entity("T:2", "milk yield", parents=("T:3",), alt_ids=("T:20", "T:21"), types=("slim",)),
        Entity("T:3", "yield trait", parents=("T:0",)),
        Entity("T:4", "β-carotene level", (Synonym("beta carotene level", "NARROW"),), parents=("T:0",)),
        Entity("T:7", "egg yield", parents=("T:3",)),
        Entity("X:9", "breast feeding", (Synonym("BF", "EXACT"),)),
    ]


@pytest.fixture
def toy(toy_entities: list[Entity]) -> KnowledgeBase:
    return KnowledgeBase.from_entities(toy_entities, name="toy")
