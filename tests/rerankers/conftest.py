import string

import pytest

from spacy_ontolink.types import EntityText, Mention

SHAPE = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "initializer_range": 0.5,
}


def save_bert(folder, head="Model", **settings):
    """A folder with a random BERT that reads letters, 90 at most."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    folder.mkdir()
    letters = string.ascii_lowercase + string.digits + ":;"
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(f"##{letter}" for letter in letters)]
    (folder / "vocab.txt").write_text("\n".join(words))
    torch.manual_seed(0)
    config = transformers.BertConfig(vocab_size=len(words), max_position_embeddings=90, **SHAPE, **settings)
    getattr(transformers, f"Bert{head}")(config).eval().save_pretrained(folder)
    transformers.BertTokenizerFast(str(folder / "vocab.txt"), model_max_length=90).save_pretrained(folder)
    return folder


def save_roberta(folder):
    """A folder with a random RoBERTa that reads bytes, 94 at most."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    tokenizers = pytest.importorskip("tokenizers")
    made = tokenizers.Tokenizer(tokenizers.models.BPE())
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=320,
        special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"],
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    made.train_from_iterator(["body fat percentage milk yield egg", " fat milk egg yield body"] * 3, trainer)
    made.post_processor = tokenizers.processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    special = {"bos_token": "<s>", "eos_token": "</s>", "cls_token": "<s>", "sep_token": "</s>", "pad_token": "<pad>",
               "unk_token": "<unk>", "mask_token": "<mask>"}  # fmt: skip
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, model_input_names=["input_ids", "attention_mask"], **special
    )
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    config = transformers.RobertaConfig(
        vocab_size=len(tokenizer), max_position_embeddings=96, type_vocab_size=1, pad_token_id=1, **SHAPE
    )
    transformers.RobertaModel(config).eval().save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def models(tmp_path_factory):
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="session")
def bert(models):
    return save_bert(models / "bert")


@pytest.fixture(scope="session")
def roberta(models):
    return save_roberta(models / "roberta")


@pytest.fixture
def save_classifier(tmp_path):
    """Save a random BERT with a classifying head of some labels."""
    return lambda labels: save_bert(tmp_path / "classifier", "ForSequenceClassification", num_labels=labels)


@pytest.fixture
def mentions():
    return [
        Mention("BF", "pigs with much ", " were sold"),
        Mention("milk yield"),
        Mention("egg", "one ", "s a day, and so on for as long as it takes, day after day after day"),
        Mention("BF", "pigs with much ", " were sold"),
    ]


@pytest.fixture
def candidates():
    fat = EntityText("body fat percentage", ("fat percentage", "bf"), "how much of a body is fat", ("trait",))
    feeding = EntityText("breast feeding", ("bf",))
    milk = EntityText("milk yield", (), "", ("yield", "trait"))
    return [[fat, feeding, milk], [milk], [feeding, milk, fat, EntityText("egg")], [fat, feeding, milk]]
