import random

import numpy as np
import pytest

from spacy_ontolink.encoders.lexical import make_lexical_encoder
from spacy_ontolink.indexes.exact import ExactIndex
from spacy_ontolink.kb import KnowledgeBase
from spacy_ontolink.space import EntitySpace, Pooling
from spacy_ontolink.training.grids import folds
from spacy_ontolink.training.tuning import Pools
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


@pytest.fixture
def pools():
    """Views of 200 pools: the surface is right for half, the context for three quarters, and where surface is not."""
    rng = np.random.default_rng(0)
    right = np.zeros((200, 5), bool)
    right[:, 2] = True
    surface, context = (rng.normal(size=(200, 5)).astype(np.float32) for _ in range(2))
    surface[:100, 2] += 9
    context[50:, 2] += 4
    tie = np.tile(np.arange(5, dtype=np.int32), (200, 1))
    views = {"retriever": surface * 0, "surface": surface, "context": context}
    return Pools(views, np.ones((200, 5), bool), right, tie, folds([f"t{i}" for i in range(200)]))
