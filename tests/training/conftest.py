import random

import pytest

from spacy_ontolink.encoders.lexical import make_lexical_encoder
from spacy_ontolink.indexes.exact import ExactIndex
from spacy_ontolink.kb import KnowledgeBase
from spacy_ontolink.space import EntitySpace, Pooling
from spacy_ontolink.types import Entity, Synonym

PARTS = "arm leg heart liver kidney eye ear skin bone brain".split()
SIGNS = "pain swelling weakness stiffness bleeding atrophy".split()
OTHERS = {"pain": "ache", "swelling": "oedema", "weakness": "paresis", "stiffness": "rigidity",
          "bleeding": "haemorrhage", "atrophy": "wasting"}  # fmt: skip


@pytest.fixture(scope="session")
def signs() -> KnowledgeBase:
    """Sixty signs, each with two synonyms, under the part of the body that they are of."""
    chance = random.Random(0)
    entities = [Entity(f"P:{place}", f"abnormal {part}") for place, part in enumerate(PARTS)]
    for place, part in enumerate(PARTS):
        for number, sign in enumerate(SIGNS):
            scope = chance.choice(["EXACT", "EXACT", "RELATED"])
            synonyms = (Synonym(f"{OTHERS[sign]} of the {part}", scope), Synonym(f"{part} {OTHERS[sign]}", "EXACT"))
            entities.append(Entity(f"S:{place}{number}", f"{sign} of the {part}", synonyms, parents=(f"P:{place}",)))
    return KnowledgeBase.from_entities(entities, name="signs")


@pytest.fixture(scope="session")
def space(signs) -> EntitySpace:
    return EntitySpace.build(signs, make_lexical_encoder(), ExactIndex(), Pooling(names=0.5))
