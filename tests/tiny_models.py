"""Causal models of a few thousand random weights, as fixtures: what tests of language models run on."""

import importlib.util
import warnings

import pytest

NEEDS_TORCH = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs torch (WITH_TORCH=1)")

CHAT = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n"
    "{% if enable_thinking is false %}<think>\n\n</think>\n\n{% endif %}{% endif %}"
)
WORDS = (
    "yes no milk yield body fat percentage egg number trait level synonyms parents children "
    "is the candidate what mention means in its sentence judge answer with or only user system assistant"
)
SHAPE = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": 512,
    "initializer_range": 0.2,
}


def save_tokenizer(folder, chat=CHAT):
    """A byte-level BPE tokenizer, trained on a few words, with Qwen's special tokens."""
    tokenizers = pytest.importorskip("tokenizers")
    transformers = pytest.importorskip("transformers")
    made = tokenizers.Tokenizer(tokenizers.models.BPE())
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=500,
        special_tokens=["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    made.train_from_iterator([WORDS, *WORDS.split(), *(f"{word} " for word in WORDS.split())] * 3, trainer)
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, eos_token="<|im_end|>", pad_token="<|endoftext|>"
    )
    tokenizer.chat_template = chat
    tokenizer.save_pretrained(folder)
    return tokenizer


def save_model(folder, kind, seed=0, chat=CHAT, **settings):
    """A folder with a tiny causal model of random weights."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    tokenizer = save_tokenizer(folder, chat)
    torch.manual_seed(seed)
    config = getattr(transformers, f"{kind}Config")(
        vocab_size=len(tokenizer),
        **(SHAPE | settings),
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
        bos_token_id=None,
    )
    transformers.AutoModelForCausalLM.from_config(config).eval().save_pretrained(folder)
    return folder


@pytest.fixture(scope="session", name="save_model")
def model_maker():
    """A function that makes folders with tiny models."""
    return save_model


@pytest.fixture(scope="session")
def qwen(tmp_path_factory):
    """A Qwen3 of three layers."""
    return save_model(tmp_path_factory.mktemp("models") / "qwen", "Qwen3")


@pytest.fixture(scope="session")
def adapter(qwen, tmp_path_factory):
    """A LoRA adapter for it that changes its answers."""
    torch = pytest.importorskip("torch")
    peft = pytest.importorskip("peft")
    transformers = pytest.importorskip("transformers")
    folder = tmp_path_factory.mktemp("models") / "adapter"
    torch.manual_seed(1)
    model = transformers.AutoModelForCausalLM.from_pretrained(qwen)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # peft uses what this version of transformers deprecates
        config = peft.LoraConfig(r=4, target_modules="all-linear", init_lora_weights=False)
        adapted = peft.get_peft_model(model, config)
    adapted.save_pretrained(folder)
    return folder
