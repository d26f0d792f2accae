import os
import string
from pathlib import Path

import pytest
from command_line import ontolink  # noqa: F401  (a fixture)
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


@pytest.fixture(scope="session")
def bert(tmp_path_factory) -> Path:
    """A folder with a random BERT of 32 dimensions that reads letters, 90 at most, and learns well."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    folder = tmp_path_factory.mktemp("models") / "bert"
    folder.mkdir()
    letters = string.ascii_lowercase + string.digits + ":;"
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(f"##{letter}" for letter in letters)]
    (folder / "vocab.txt").write_text("\n".join(words))
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(words), hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64,
        max_position_embeddings=90, initializer_range=0.2,
    )  # fmt: skip
    transformers.BertModel(config).eval().save_pretrained(folder)
    transformers.BertTokenizerFast(str(folder / "vocab.txt"), model_max_length=90).save_pretrained(folder)
    return folder
