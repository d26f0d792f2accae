"""Pointwise scoring with and without computing the candidates' common beginning once, in one run, one thread.

    python benchmarks/prefix.py

Needs the extra 'transformers'. A small Qwen3 shape with random weights and a tokenizer trained here on made-up text:
the time does not depend on what weights say. Each mention has a context of 150 tokens and 50 candidates with synonyms,
parents, children and siblings (40 to 80 tokens). Both ways read the same token ids, batched by length; they take turns
at each mention, so that noise hits both alike. CPU-seconds are the process's own.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import random
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from common import cpu_seconds, parser, save

from spacy_ontolink.llms.transformers import TransformersLLM, make_transformers_llm
from spacy_ontolink.models.devices import import_torch, quiet
from spacy_ontolink.types import Prompt

K, MENTIONS, CONTEXT, SEED = 50, 7, 150, 0
SHAPE = {
    "hidden_size": 256,
    "intermediate_size": 768,
    "num_hidden_layers": 6,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "head_dim": 32,
    "max_position_embeddings": 2048,
}
FRAME = (  # what Qwen3-Reranker reads around its body
    "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the Instruct provided. "
    'Note that the answer can only be "yes" or "no".<|im_end|>\n<|im_start|>user\n',
    "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n",
)
INSTRUCTION = (
    "One mention is marked with [[ ]]. Decide whether the entry stands for exactly what the mention means in this "
    "text: not for something broader, narrower or merely related."
)
SYLLABLES = "ba co di fer gen hyp lac mer neu os pro ren sis tic um ver".split()
PLAIN = "the of in and was with patients showed after a from increased level study during yes no".split()


def words_of(chance: random.Random) -> list[str]:
    """Make up technical words."""
    return ["".join(chance.choices(SYLLABLES, k=chance.randint(2, 4))) for _ in range(800)]


def tokenizer_in(folder: Path, words: list[str]) -> Any:
    """Train a byte-level BPE tokenizer that knows the words."""
    import tokenizers
    from transformers import PreTrainedTokenizerFast

    made = tokenizers.Tokenizer(tokenizers.models.BPE())
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=4000,
        special_tokens=["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    text = [*FRAME, INSTRUCTION, *PLAIN, *(f"{one} {two}" for one, two in zip(words, PLAIN * len(words), strict=False))]
    made.train_from_iterator(text * 3, trainer)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=made, eos_token="<|im_end|>", pad_token="<|endoftext|>")
    tokenizer.save_pretrained(folder)
    return tokenizer


def model_in(folder: Path, vocabulary: int) -> int:
    """Save a random model and return how many weights it has."""
    torch = import_torch()
    from transformers import Qwen3Config, Qwen3ForCausalLM

    torch.manual_seed(SEED)
    model = Qwen3ForCausalLM(Qwen3Config(vocab_size=vocabulary, tie_word_embeddings=True, **SHAPE))
    model.save_pretrained(folder)
    return int(model.num_parameters())


def prompts_of(chance: random.Random, words: list[str], tokenizer: Any) -> list[Prompt]:
    """Make up a mention in its context, and its K candidates."""

    def name() -> str:
        return " ".join(chance.choices(words, k=chance.randint(1, 3)))

    def names(low: int, high: int) -> str:
        return "; ".join(name() for _ in range(chance.randint(low, high)))

    context = tokenizer.decode(tokenizer(" ".join(chance.choices(PLAIN + words, k=CONTEXT)))["input_ids"][:CONTEXT])
    question = f"<Instruct>: {INSTRUCTION}\n<Query>: {context} [[{name()}]]\n<Document>: "
    prompts: list[Prompt] = []
    while len(prompts) < K:
        parts = f"synonyms: {names(1, 4)}) [parents: {names(1, 2)}] [children: {names(0, 3)}] [siblings: {names(1, 4)}]"
        candidate = f"{name()} ({parts}"
        if 40 <= len(tokenizer(candidate)["input_ids"]) <= 80:
            prompts.append(Prompt(question + candidate, frame=FRAME))
    return prompts


def main() -> None:
    """Measure and save."""
    parser(__doc__).parse_args()
    chance = random.Random(SEED)
    words = words_of(chance)
    with tempfile.TemporaryDirectory() as scratch, quiet():
        folder = Path(scratch)
        tokenizer = tokenizer_in(folder, words)
        weights = model_in(folder, len(tokenizer))
        import_torch().set_num_threads(1)
        made = {
            name: make_transformers_llm(str(folder), device="cpu", share_prefix=name == "shared")
            for name in ("shared", "plain")
        }
        rows = race(made, [prompts_of(chance, words, tokenizer) for _ in range(MENTIONS + 1)])
    for row in rows:
        sys.stderr.write(f"{row['what']}: {row['value']} {row.get('unit', '')}\n")
    facts = {"shape": SHAPE | {"vocab_size": len(tokenizer), "weights": weights}, "threads": 1}
    save("prefix", "python benchmarks/prefix.py", rows, seed=SEED, k=K, context=CONTEXT, **facts)


def race(made: dict[str, TransformersLLM], mentions: list[list[Prompt]]) -> list[dict[str, Any]]:
    """Score each mention in both ways, in turn; the first one is for warming up."""
    seconds: dict[str, list[float]] = {name: [] for name in made}
    difference, turn = 0.0, list(made)
    for prompts in mentions:
        scores = {}
        for name in turn:
            spent, scores[name] = cpu_seconds(
                lambda name=name, prompts=prompts: made[name].choose(prompts, ["yes", "no"])
            )
            seconds[name].append(spent)
        difference = max(difference, float(np.abs(scores["shared"] - scores["plain"]).max()))
        turn.reverse()
    shared, plain = (seconds[name][1:] for name in ("shared", "plain"))
    tokens = made["plain"].usage.prompt_tokens / made["plain"].usage.calls
    ratio = median(p / s for p, s in zip(plain, shared, strict=True))
    return [
        {"what": "tokens of a prompt, on average", "value": round(tokens)},
        {"what": "candidates per CPU-second, plain", "value": round(K / median(plain), 1)},
        {"what": "candidates per CPU-second, shared prefix", "value": round(K / median(shared), 1)},
        {"what": "plain against shared prefix, CPU-seconds", "value": round(ratio, 2), "unit": "x"},
        {"what": "greatest difference between log-probabilities", "value": float(f"{difference:.1e}")},
    ]


if __name__ == "__main__":
    main()
