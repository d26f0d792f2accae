"""An ontology with definitions and a language model that knows its answers."""

import numpy as np

from spacy_ontolink.kb import KnowledgeBase
from spacy_ontolink.types import Entity, Synonym, Usage

DEFINITIONS = {
    "T:0": "Any measurable characteristic of an animal.",
    "T:1": "The share of an animal's body mass that consists of adipose tissue.",
    "T:3": "A quantity of what an animal produces over time.",
    "T:2": "The quantity of the white fluid that a mammary gland secretes.",
    "T:5": "The quantity of ova that a hen lays over a period.",
    "T:6": "The colour of the outer side of the coat of hair.",
    "T:7": "The speed of walking on even ground.",
    "T:8": "",
    "T:9": "Horn length",
}


def make_ontology() -> KnowledgeBase:
    """Traits with definitions: T:2 and T:5 are siblings below T:3; T:8 has no definition, that of T:9 is its name."""
    entities = [
        Entity("T:0", "trait"),
        Entity("T:1", "body fat percentage", (Synonym("fat percentage", "EXACT"),), parents=("T:0",)),
        Entity("T:3", "yield trait", parents=("T:0",)),
        Entity("T:2", "milk yield", (Synonym("milk production", "EXACT"),), parents=("T:3",)),
        Entity("T:5", "egg yield", (Synonym("number of eggs", "NARROW"),), parents=("T:3",)),
        Entity("T:6", "coat colour", (Synonym("fur colour", "EXACT"), Synonym("coat color, outer", "EXACT"))),
        Entity("T:7", "gait speed"),
        Entity("T:8", "hoof hardness"),
        Entity("T:9", "horn length"),
    ]
    fields = Entity.__dataclass_fields__
    return KnowledgeBase.from_entities(
        [
            Entity(**{name: getattr(entity, name) for name in fields} | {"definition": DEFINITIONS[entity.id]})
            for entity in entities
        ],
        name="defined",
    )


class Names:
    """A language model that knows the answer to each definition; notes what it was asked."""

    def __init__(self, answers, id="names-1", fails_after=None):
        self.answers, self.id, self.fails_after = answers, id, fails_after
        self.prompts = []

    @property
    def usage(self):
        return Usage(len(self.prompts))

    def generate(self, prompts):
        if self.fails_after is not None and len(self.prompts) >= self.fails_after:
            raise KeyboardInterrupt
        self.prompts += prompts
        return [self._answer(prompt.text) for prompt in prompts]

    def _answer(self, text):
        return next((answer for id, answer in self.answers.items() if DEFINITIONS[id] in text), "I'm sorry.")

    def asked(self):
        """The ids asked about, in order."""
        return [id for prompt in self.prompts for id, text in DEFINITIONS.items() if text and text in prompt.text]

    def choose(self, prompts, answers):
        return np.zeros((len(prompts), len(answers)), np.float32)

    def to_disk(self, path):
        path.mkdir()

    def from_disk(self, path):
        return self


def make_llm():
    return Names(
        {
            "T:1": "fat content of the body, adiposity, BF%",
            "T:2": "dairy output, Milk-yield, yield trait, egg  yield, dairy output",
            "T:5": "",
            "T:7": None,
        }
    )
