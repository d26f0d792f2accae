import json
import shutil
import string

import pytest


@pytest.fixture(scope="session")
def plain_model(tmp_path_factory):
    """A folder as Hugging Face's transformers write it: a random BERT of 16 dimensions that reads letters."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("sentence_transformers")
    folder = tmp_path_factory.mktemp("models") / "plain"
    folder.mkdir()
    letters = string.ascii_lowercase + string.digits
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(f"##{letter}" for letter in letters)]
    (folder / "vocab.txt").write_text("\n".join(words))
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(words),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=40,
        initializer_range=0.5,
    )
    transformers.BertModel(config).eval().save_pretrained(folder)
    transformers.BertTokenizerFast(str(folder / "vocab.txt"), model_max_length=40).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def cls_model(plain_model, tmp_path_factory):
    """The same model as a sentence-transformers folder that pools the [CLS] vector."""
    folder = tmp_path_factory.mktemp("models") / "cls"
    shutil.copytree(plain_model, folder)
    modules = [("", "Transformer"), ("1_Pooling", "Pooling")]
    described = [
        {"idx": number, "name": str(number), "path": path, "type": f"sentence_transformers.models.{name}"}
        for number, (path, name) in enumerate(modules)
    ]
    (folder / "modules.json").write_text(json.dumps(described))
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 20, "do_lower_case": False}))
    (folder / "1_Pooling").mkdir()
    pooling = {"word_embedding_dimension": 16, "pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling))
    return folder


@pytest.fixture(scope="session")
def other_model(plain_model, tmp_path_factory):
    """A model of the same dimensions with other weights."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    folder = tmp_path_factory.mktemp("models") / "other"
    shutil.copytree(plain_model, folder)
    torch.manual_seed(1)
    transformers.BertModel(transformers.BertConfig.from_pretrained(folder)).save_pretrained(folder)
    return folder
